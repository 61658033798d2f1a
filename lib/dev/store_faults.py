"""Faults that only the store's wire has, and which of its requests they hit.

To be planned with `lib.dev.faulty.Faults.plan`; the faults of any wire are in `lib/dev/faults.py`.
"""

import json
from itertools import count

from lib.dev.faults import Replaced
from lib.dev.faulty import Match
from lib.dev.rest import NotAskedError, read
from lib.dev.wire import Request, answer_of

MAX_REQUESTS = "ERR max requests limit exceeded. Limit: 500000, Usage: 500000."
OVER_CAPACITY = "ERR DB capacity quota exceeded. Limit: 268435456 bytes"


def naming(command: str) -> Match:
    """Match the requests in which some command has this name: `naming("EVAL")`."""

    def matches(request: Request) -> bool:
        path, query = request.path.encode(), request.query.encode()
        try:
            asked = read(request.method, path, query, request.body)
        except NotAskedError:
            return False
        return command.upper() in asked.names

    return matches


def nth(number: int, match: Match) -> Match:
    """Match only the `number`-th request, from 1, of those that `match`."""
    seen = count(1)
    return lambda request: match(request) and next(seen) == number


def engine_error(text: str) -> Replaced:
    """Answer with an error of the engine or of a quota; nothing is executed."""
    return _replaced(400, {"error": text})


def too_many_requests() -> Replaced:
    """Answer 429 in the form that has no `error`; nothing is executed."""
    return _replaced(429, {"message": "Too Many Requests"})


def _replaced(status: int, content: dict[str, str]) -> Replaced:
    return Replaced("before", answer_of(status, "application/json", json.dumps(content).encode()))
