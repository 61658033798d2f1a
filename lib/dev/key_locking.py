"""Upstash's script flag `allow-key-locking`, which no other engine knows, and its rule.

With the flag a script locks the keys it declares instead of the whole database, so it may touch no
other. The flag is taken out of the first line, and the rule is put in front of the second: the
script's `redis` asks the engine which keys a command has before the command runs. Line numbers in
errors stay right. A digest is that of the script as it was sent; scripts are remembered for this.
Source: Upstash's documentation, "Key-based locking".
"""

import hashlib

from lib.dev.resp import Command, Reply

_FLAG = b"allow-key-locking"
_GUARD = b" ".join(
    line.strip()
    for line in b"""
    local redis, server = (function(engine)
      local declared = {}
      for _, key in ipairs(KEYS) do declared[key] = true end
      local function refusal(name, ...)
        if string.upper(tostring(name)):find("^FLUSH") then
          return engine.error_reply("ERR " .. name .. " is not allowed in Lua scripts when 'allow-key-locking' flag is set")
        end
        local keys = engine.pcall("COMMAND", "GETKEYS", name, ...)
        if type(keys) ~= "table" or keys.err then return nil end
        for _, key in ipairs(keys) do
          if not declared[key] then
            return engine.error_reply("ERR Dynamic keys are not allowed in Lua scripts when 'allow-key-locking' flag is set")
          end
        end
      end
      local function call(...)
        local refused = refusal(...)
        if refused then error(refused) end
        return engine.call(...)
      end
      local function pcall(...) return refusal(...) or engine.pcall(...) end
      return setmetatable({call = call, pcall = pcall}, {__index = engine}), nil
    end)(redis);
    """.split(b"\n")  # noqa: E501 - the messages are one line each
)


class Scripts:
    """The flagged scripts seen so far: the digest a client knows, and the one the engine knows."""

    def __init__(self) -> None:
        self._sent: dict[bytes, bytes] = {}
        self._known_as: dict[bytes, bytes] = {}

    def to_engine(self, command: Command) -> Command:
        """Put a command into the form that the engine takes."""
        match tuple(part.upper() for part in command[:2]):
            case (b"EVAL" | b"EVAL_RO", _):
                return (command[0], self._guarded(command[1]), *command[2:])
            case (b"EVALSHA" | b"EVALSHA_RO", _):
                return (command[0], self._digest(command[1]), *command[2:])
            case (b"SCRIPT", b"LOAD") if len(command) > 2:  # noqa: PLR2004 - SCRIPT LOAD source
                return (*command[:2], self._guarded(command[2]), *command[3:])
            case (b"SCRIPT", b"EXISTS"):
                return (*command[:2], *(self._digest(digest) for digest in command[2:]))
            case _:
                return command

    def from_engine(self, command: Command, reply: Reply) -> Reply:
        """Give back the digest of the script as it was sent."""
        if isinstance(reply, bytes) and command[0].upper() == b"SCRIPT":
            return self._known_as.get(reply, reply)
        return reply

    def _digest(self, sent: bytes) -> bytes:
        return self._sent.get(sent.lower(), sent)

    def _guarded(self, script: bytes) -> bytes:
        first, _, rest = script.partition(b"\n")
        words = first.split()
        flags = [word for word in words if word.startswith(b"flags=")]
        names = flags[0].removeprefix(b"flags=").split(b",") if flags else []
        if not first.startswith(b"#!") or _FLAG not in names:
            return script
        left = b",".join(name for name in names if name != _FLAG)
        kept = [word for word in words if not word.startswith(b"flags=")]
        guarded = b" ".join([*kept, *([b"flags=" + left] if left else [])]) + b"\n" + _GUARD + rest
        self._remember(script, guarded)
        return guarded

    def _remember(self, script: bytes, guarded: bytes) -> None:
        sent, known_as = (
            hashlib.sha1(source, usedforsecurity=False).hexdigest().encode()
            for source in (script, guarded)
        )
        self._sent[sent] = known_as
        self._known_as[known_as] = sent
