"""What a caller wants done: a command, and the names it leads to.

Source: PROTOCOL §2.
"""

from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel

from lib.contract import Command, Principal
from lib.machinery.runner.record import Operation


@dataclass(frozen=True, slots=True, kw_only=True)
class Intent:
    """One command as asked for, its arguments validated."""

    command: Command[Any, Any]
    arguments: BaseModel
    principal: Principal
    operation: Operation
    fingerprint: str
