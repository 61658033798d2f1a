"""Yours: one file per system of record. Knows URLs, bodies, codes; imports contract and httpx.

An adapter says what an answer proves, in the contract's errors (`wire.py` does it for HTTP).
"""

from dataclasses import dataclass

from lib.backend.items import Items
from lib.backend.wire import Address


@dataclass(frozen=True, slots=True, kw_only=True)
class Backend:
    """Every system of record, as the tools reach them; add yours as a field."""

    items: Items


def connect(*, read: Address | None = None, write: Address | None = None) -> Backend:
    """Build every system of record; what has no credential refuses before it sends."""
    return Backend(items=Items(read=read, write=write))
