"""Yours: how the doctor asks each system of record who may do what, without any effect.

Change it with `lib/backend`. The reading request must succeed with both credentials. The writing
one must be invalid for whoever sends it, so that even a credential that may write changes nothing:
here a body without a single field, and no key.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from lib.settings import Address, Settings


@dataclass(frozen=True, slots=True, kw_only=True)
class Probe:
    """One system. `reads` and `writes`: method and path."""

    system: str
    reads: str
    writes: str
    body: Mapping[str, object] = field(default_factory=dict[str, object])
    reading: Callable[[Settings], Address | None]
    writing: Callable[[Settings], Address | None]


PROBES = (
    Probe(
        system="backend",
        reads="GET /items?limit=1",
        writes="POST /items",
        reading=lambda settings: settings.read_backend,
        writing=lambda settings: settings.write_backend,
    ),
)
