"""The two queries every server has: what became of a key, and what a grant reaches.

Source: DESIGN §4, §7 (one decision); PROTOCOL §3 (read, by which nothing is decided).
"""

from typing import TYPE_CHECKING, Annotated, Any, assert_never

from pydantic import BaseModel, Field

from lib.contract import Call, Command, OperationId, Query, Scope, Unaskable
from lib.machinery.caller import CALLER, Caller
from lib.machinery.gate.decide import Denied
from lib.machinery.inputs import MAX_KEY_CHARS, InputError, key_problems

if TYPE_CHECKING:
    from lib.machinery.runner.record import Seen

TOOLSET = "settle"
UNKNOWN = "Nothing is known under this key. That does not prove that nothing happened."
SILENT = "The store did not answer, so nothing is known now. Try again."


class GetOperation(BaseModel):
    """The key of one of the caller's own commands."""

    idempotency_key: Annotated[
        str, Field(min_length=1, max_length=MAX_KEY_CHARS, description="The command's key")
    ]


class KnownOperation(BaseModel):
    """What is known of an operation; null where it is not."""

    known: bool
    operation_id: str | None = None
    tool: str | None = None
    outcome: str | None = None
    side_effect: str | None = None
    recorded: bool | None = None
    result: Any = None
    error: dict[str, str] | None = None
    attempts: int | None = None
    age_s: float | None = None
    retry: dict[str, Any] | None = None


class Nothing(BaseModel):
    """No arguments."""


class Toolset(BaseModel):
    """One toolset, as far as a grant reaches it, and why not further."""

    name: str
    queries: list[str]
    commands: list[str]
    withheld: int
    needs: list[Scope]
    reason: str | None


class Toolsets(BaseModel):
    """All toolsets, and how many tools are withheld in all."""

    toolsets: list[Toolset]
    withheld: int


def builtin_queries() -> tuple[Query[Any, Any], ...]:
    """Declare the built-in queries."""
    return (
        Query(
            name="get_operation",
            toolset=TOOLSET,
            description="Tell what became of one of your own commands, by its idempotency key. "
            "It changes nothing and finds nothing out; repeating the command does.",
            arguments=GetOperation,
            result=KnownOperation,
            perform=get_operation,
        ),
        Query(
            name="list_toolsets",
            toolset=TOOLSET,
            description="Tell which tools your credential reaches here, how many it does not, "
            "and what is missing.",
            arguments=Nothing,
            result=Toolsets,
            perform=list_toolsets,
        ),
    )


async def get_operation(arguments: GetOperation, call: Call) -> KnownOperation:
    """Look up the caller's own operation; another principal's looks like an unknown one."""
    from lib.machinery.queries import QueryError
    from lib.machinery.runner.record import Seen, Unreadable, operation
    from lib.machinery.runner.store import StoreSilentError

    problems = key_problems(arguments.idempotency_key)
    if problems:
        raise InputError(*problems)
    deployment = CALLER.get().deployment
    environment = deployment.settings.vercel_env
    name = operation(environment, call.principal, arguments.idempotency_key)
    try:
        held = await (await deployment.reading_store()).read(name.id)
    except StoreSilentError:
        raise QueryError(SILENT) from None
    match held:
        case None:
            return KnownOperation(known=False)
        case Unreadable():
            raise QueryError("The record of this key cannot be read; a person has to look.")
        case Seen():
            command = deployment.catalogue.find_command(held.record.tool)
            return _known(held, name.id, command)
        case _:
            assert_never(held)


def note(query: Query[Any, Any], value: dict[str, Any]) -> str | None:
    """Put in words what a model must not misread."""
    return UNKNOWN if query.perform is get_operation and not value["known"] else None


def _known(
    seen: "Seen", operation_id: OperationId, command: Command[Any, Any] | None
) -> KnownOperation:
    from lib.machinery.envelope import envelope, words
    from lib.machinery.runner.record import guarantee, narrowed
    from lib.machinery.runner.transitions import told

    # A tool that is not here any more can neither send nor ask.
    declared = Unaskable() if command is None else command.backend
    record = narrowed(seen.record, guarantee(declared))
    said = envelope(words(told(record, seen.age_ms), operation_id), operation_id)
    del said["this_call"]
    return KnownOperation(
        known=True,
        tool=record.tool,
        attempts=record.epoch,
        age_s=(record.elapsed_ms + seen.age_ms) / 1000,
        **said,
    )


async def list_toolsets(_arguments: Nothing, _call: Call) -> Toolsets:
    """Sort every tool by toolset into reached and withheld."""
    caller = CALLER.get()
    names = dict.fromkeys(tool.toolset for tool in caller.deployment.catalogue.tools)
    toolsets = [_toolset(name, caller) for name in names]
    return Toolsets(toolsets=toolsets, withheld=sum(each.withheld for each in toolsets))


def _toolset(name: str, caller: Caller) -> Toolset:
    tools = [tool for tool in caller.deployment.catalogue.tools if tool.toolset == name]
    verdicts = [(tool, caller.may(tool)) for tool in tools]
    denied = [verdict for _, verdict in verdicts if isinstance(verdict, Denied)]
    reached = [tool for tool, verdict in verdicts if not isinstance(verdict, Denied)]
    reasons = {verdict.reason for verdict in denied}
    needs = {scope for verdict in denied for scope in verdict.scopes} - caller.grant.scopes
    return Toolset(
        name=name,
        queries=[tool.name for tool in reached if isinstance(tool, Query)],
        commands=[tool.name for tool in reached if isinstance(tool, Command)],
        withheld=len(denied),
        needs=sorted(needs),
        reason=next((each for each in ("preview", "readonly", "scope") if each in reasons), None),
    )
