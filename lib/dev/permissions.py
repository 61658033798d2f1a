"""Which commands the front passes on, for the read-write token and for the read-only one.

The engine's own categories say what a command is. Refused to both are commands that would hold or
change a shared connection, and the administrator's: Upstash's REST has none of them either.
Source: Upstash's documentation of its read-only token: reads, without SCAN and KEYS.
"""

from dataclasses import dataclass
from typing import Self

from lib.dev.resp import Command, Pool, Reply

# These change the state of a connection, which here belongs to everybody.
_CONNECTION = frozenset(
    "AUTH CLIENT HELLO QUIT RESET SELECT ASKING READONLY READWRITE MONITOR DEBUG CLUSTER "
    "MULTI EXEC DISCARD WATCH UNWATCH "
    "SUBSCRIBE PSUBSCRIBE SSUBSCRIBE UNSUBSCRIBE PUNSUBSCRIBE SUNSUBSCRIBE".lower().split()
)
_ALWAYS_READ = frozenset({"ping", "echo"})
_NEVER_READ = frozenset({"scan", "keys"})
# They pass where they do not wait for ever.
_MAY_WAIT = frozenset({"xread", "xreadgroup", "wait", "waitaof"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Permissions:
    """The names of commands, `config|set` for a subcommand."""

    reads: frozenset[str]
    unavailable: frozenset[str]

    @classmethod
    async def of(cls, pool: Pool) -> Self:
        """Ask the engine for its categories."""
        kinds = (b"read", b"dangerous", b"admin", b"blocking")
        replies = await pool.exchange([(b"ACL", b"CAT", kind) for kind in kinds])
        read, dangerous, admin, blocking = (_names(reply) for reply in replies)
        return cls(
            reads=(read - dangerous - _NEVER_READ) | _ALWAYS_READ,
            unavailable=admin | (blocking - _MAY_WAIT) | _CONNECTION,
        )

    def refusal(self, command: Command, *, is_read_only: bool) -> str | None:
        """Say why a command is refused; None lets it pass."""
        names = {name := _text(command[0]), "|".join(_text(part) for part in command[:2])}
        if names & self.unavailable or _waits(name, command):
            return f"ERR Command is not available: '{name.upper()}'"
        if is_read_only and not names & self.reads:
            return f"NOPERM this user has no permissions to run the '{name}' command"
        return None


def _names(reply: Reply) -> frozenset[str]:
    if not isinstance(reply, list):
        raise TypeError(f"ACL CAT answered {reply!r}")
    return frozenset(name.decode() for name in reply if isinstance(name, bytes))


def _text(part: bytes) -> str:
    return part.decode(errors="replace").lower()


def _waits(name: str, command: Command) -> bool:
    """Say whether XREAD waits at all, or WAIT without end."""
    if name in {"wait", "waitaof"}:
        return command[-1] == b"0"
    return name.startswith("xread") and b"BLOCK" in [part.upper() for part in command]
