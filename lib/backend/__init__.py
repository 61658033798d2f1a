"""Yours: one file per system of record. Knows URLs, bodies, codes; imports contract and httpx.

An adapter says what an answer proves, in the contract's errors (`wire.py` does it for HTTP).
"""

from dataclasses import dataclass

from lib.backend.items import Items


@dataclass(frozen=True, slots=True, kw_only=True)
class Backend:
    """Every system of record, as the tools reach them; add yours as a field."""

    items: Items
