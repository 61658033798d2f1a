"""The MCP endpoint: who may reach it at all, then one session manager per request.

Stateless, JSON answers, both protocol eras; nothing runs when the answer is out.
Source: MCP 2026-07-28 basic/transports/streamable-http; python-sdk #2474, #3121 (why one manager
per request, and why GET is answered here).
"""

import re
from dataclasses import dataclass
from datetime import UTC, datetime

from starlette.datastructures import Headers
from starlette.requests import ClientDisconnect
from starlette.responses import JSONResponse, Response
from starlette.types import Message, Receive, Scope, Send

from lib.machinery.caller import CALLER, Caller, audit_stranger
from lib.machinery.deployment import Deployment
from lib.machinery.gate.audit import Origin
from lib.machinery.gate.auth import Unauthenticated
from lib.machinery.gate.challenge import HttpRefusal, challenge, metadata_url, refuse_scope
from lib.machinery.gate.decide import Endpoint
from lib.settings import LOOPBACK, Misconfigured, host_name

PATHS: tuple[Endpoint, ...] = ("/mcp", "/mcp/readonly")
MAX_BODY_BYTES = 1 << 20
REQUEST_ID = re.compile(r"[A-Za-z0-9:_-]{1,128}")


class McpEndpoint:
    """One MCP route as an ASGI application."""

    def __init__(self, deployment: Deployment | Misconfigured, path: Endpoint) -> None:
        """Serve `path` of a deployment, or say what it lacks."""
        self.deployment = deployment
        self.path: Endpoint = path

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        headers, deployment = Headers(scope=scope), self.deployment
        exchange = _Exchange(scope, receive, send, headers)
        refusal = unwelcome(headers, deployment.settings.hosts)
        if refusal is not None:
            self._audit_unwelcome(exchange, code=refusal[1])
            await exchange.answer(refusal_of(*refusal))
        elif scope["method"] != "POST":
            # A stateless GET stream would stay open, and be billed, until maxDuration.
            await exchange.answer(Response(status_code=405, headers={"Allow": "POST"}))
        elif isinstance(deployment, Misconfigured):
            await exchange.answer(misconfigured(deployment))
        else:
            await self._serve(exchange, deployment)

    def _audit_unwelcome(self, exchange: "_Exchange", *, code: str) -> None:
        if isinstance(self.deployment, Deployment):  # another one has no clock, and serves nobody
            origin = _origin(exchange, self.path, self.deployment)
            audit_stranger(self.deployment.deadline(), origin, reason=code)

    async def _serve(self, exchange: "_Exchange", deployment: Deployment) -> None:
        deadline = deployment.deadline()
        known = await deployment.authenticator.authenticate(
            ", ".join(exchange.headers.getlist("authorization")) or None,
            now=datetime.fromtimestamp(deadline.clock.wall(), UTC),
        )
        origin = _origin(exchange, self.path, deployment)
        if isinstance(known, Unauthenticated):
            audit_stranger(deadline, origin, reason=known.reason)
            url, scopes = _metadata_url(exchange, deployment), deployment.scopes(self.path)
            await exchange.answer(_http(challenge(known, metadata_url=url, scopes=scopes)))
            return
        caller = Caller(deployment=deployment, grant=known, deadline=deadline, origin=origin)
        await _dispatch(exchange, caller)
        if caller.lacks_scope is not None:
            url = _metadata_url(exchange, deployment)
            await exchange.answer(_http(refuse_scope(caller.lacks_scope, metadata_url=url)))


@dataclass(frozen=True, slots=True)
class _Exchange:
    scope: Scope
    receive: Receive
    send: Send
    headers: Headers

    async def answer(self, response: Response) -> None:
        await response(self.scope, self.receive, self.send)


async def _dispatch(exchange: _Exchange, caller: Caller) -> None:
    server = caller.deployment.server
    from mcp.server.streamable_http_manager import StreamableHTTPSessionManager

    async def send(message: Message) -> None:
        # The SDK cannot answer 403 for a tool; what it says then is dropped.
        if caller.lacks_scope is None:
            await exchange.send(message)

    manager = StreamableHTTPSessionManager(
        app=server,
        stateless=True,
        json_response=True,
        max_request_body_size=MAX_BODY_BYTES,
    )
    CALLER.set(caller)
    try:
        async with manager.run():
            await manager.handle_request(exchange.scope, _whole(exchange.receive), send)
    except* ClientDisconnect:
        pass  # it hung up before it had asked for anything: nothing was done, nobody listens


def _metadata_url(exchange: _Exchange, deployment: Deployment) -> str | None:
    if deployment.settings.auth_issuer is None:
        return None
    return metadata_url(resource_url(exchange.scope, exchange.headers))


def _whole(receive: Receive) -> Receive:
    """Give up on a body that will never be whole, before the SDK takes it for a fault of ours."""
    has_more = True

    async def received() -> Message:
        nonlocal has_more
        message = await receive()
        if has_more and message["type"] == "http.disconnect":
            raise ClientDisconnect
        has_more = has_more and message.get("more_body", False)
        return message

    return received


def resource_url(scope: Scope, headers: Headers) -> str:
    """Name the MCP endpoint as its caller reached it; the host was checked before."""
    host = headers["host"]
    is_plain = scope["scheme"] == "http" and host_name(host) in LOOPBACK
    return f"{'http' if is_plain else 'https'}://{host}/mcp"


def misconfigured(deployment: Misconfigured) -> Response:
    """Name every setting fault; never a value."""
    faults = [{"variable": each.variable, "problem": each.problem} for each in deployment.faults]
    error = {"code": "misconfigured", "faults": faults}
    return JSONResponse({"error": error}, status_code=503)


def unwelcome(headers: Headers, hosts: frozenset[str]) -> tuple[int, str, str] | None:
    """Refuse a Host that is not ours, and an Origin from elsewhere: status, code and sentence."""
    if host_name(headers.get("host", "")) not in hosts:
        text = "This host name is not served here; ALLOWED_HOSTS can add it."
        return 421, "host_not_allowed", text
    scheme, _, host = headers.get("origin", "").partition("://")
    if "origin" in headers and (scheme not in {"http", "https"} or host_name(host) not in hosts):
        return 403, "origin_not_allowed", "Requests from this origin are refused."
    return None


def refusal_of(status: int, code: str, message: str) -> Response:
    """Refuse with a code and one sentence."""
    return JSONResponse({"error": {"code": code, "message": message}}, status_code=status)


def _http(refusal: HttpRefusal) -> Response:
    return JSONResponse(refusal.body, status_code=refusal.status, headers=refusal.headers)


def _origin(exchange: _Exchange, path: Endpoint, deployment: Deployment) -> Origin:
    peer, named = exchange.scope.get("client"), exchange.headers.get("x-vercel-id", "")
    return Origin(
        endpoint=path,
        client=peer and peer[0],
        request_id=named if REQUEST_ID.fullmatch(named) else deployment.ambient.new_id(),
        deployment_id=deployment.settings.vercel_deployment_id,
    )
