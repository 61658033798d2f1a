"""The settings explored at each commit: two attempts at every class, with everyone who may meddle.

Three attempts, and everyone at once, are for `python -m tests.proof.explorer`.
"""

from dataclasses import replace
from typing import Any

from tests.proof.explorer.model import CLASSES, Setting

COMMIT: tuple[tuple[str, dict[str, Any]], ...] = (
    ("keyed", {}),
    ("keyed", {"sends": 2}),
    ("keyed", {"sweeps": 1}),
    ("keyed", {"operators": 1, "errs": True}),
    ("keyed", {"losses": 1}),
    ("keyed", {"losses": 1, "stranger": True}),
    ("sticky", {}),
    ("keyed_ask", {}),
    ("keyed_ask", {"losses": 1}),
    ("unique", {"sends": 2}),
    ("unique", {"sweeps": 1}),
    ("unique", {"operators": 1, "errs": True}),
    ("unique", {"losses": 1}),
    ("lookup", {}),
    ("lookup", {"sweeps": 1}),
    ("lookup", {"operators": 1, "errs": True}),
    ("lookup", {"losses": 1}),
    ("lookup", {"losses": 1, "stranger": True}),
    ("keyed", {"declares": "none"}),
    ("keyed", {"declares": "lookup", "sends": 2}),
    ("keyed_ask", {"declares": "lookup"}),
    ("lookup", {"declares": "none"}),
    ("lookup", {"declares": "keyed"}),
    ("none", {"declares": "keyed"}),
    ("none", {"sweeps": 1}),
    ("none", {"operators": 1, "errs": True}),
    ("none", {"losses": 1}),
    ("none", {"losses": 1, "stranger": True}),
)


def among(backend: str, **actors: Any) -> Setting:
    """Name a setting by its class, with one attempt unless it says more."""
    return replace(Setting(backend=CLASSES[backend], attempts=1), **actors)
