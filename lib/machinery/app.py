"""The ASGI application: routes, and what they share. One function serves them all.

Source: DESIGN §2. No lifespan is needed: nothing connects before a request asks for it. Starlette
alone, for FastAPI would add a seventh to a cold start and route nothing more (docs/PERFORMANCE.md);
an application of yours, of either kind, is mounted beside it: `app.mount("/hooks", yours)`.
"""

from collections.abc import Sequence
from dataclasses import asdict
from functools import partial
from http import HTTPStatus
from secrets import compare_digest
from typing import cast

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from lib.contract import Tool
from lib.machinery.builtins import builtin_queries
from lib.machinery.catalogue import catalogue_of
from lib.machinery.deployment import Ambient, Deployment, deploy
from lib.machinery.endpoint import (
    PATHS,
    McpEndpoint,
    misconfigured,
    refusal_of,
    resource_url,
    unwelcome,
)
from lib.machinery.gate.challenge import METADATA_PATH, protected_resource_metadata
from lib.settings import Misconfigured, Settings


def create_app(
    settings: Settings | Misconfigured, tools: Sequence[Tool], ambient: Ambient
) -> Starlette:
    """Build the application of one deployment.

    Raises: DeclarationError: a tool contradicts itself; at import, before anything is deployed.
    """
    deployment = deploy(settings, catalogue_of(tools, builtin_queries()), ambient)
    pages = {
        "/": landing,
        "/healthz": health,
        "/api/cron/reconcile": reconcile,
        METADATA_PATH: resource_metadata,
    }
    app = Starlette(
        routes=[
            *(Route(path, McpEndpoint(deployment, path)) for path in PATHS),
            *(Route(path, partial(page, deployment)) for path, page in pages.items()),
        ],
        exception_handlers={HTTPException: not_served},
    )
    app.router.redirect_slashes = False
    return app


async def landing(deployment: Deployment | Misconfigured, request: Request) -> Response:
    """Show what this server offers and how to connect, or what it lacks."""
    from lib.machinery.pages.landing import landing_page

    return landing_page(deployment, request)


async def health(deployment: Deployment | Misconfigured, _request: Request) -> Response:
    """Say that the process answers; nothing is asked of the store."""
    is_ready = isinstance(deployment, Deployment)
    environment = deployment.settings.vercel_env
    return JSONResponse({"status": "ok", "configured": is_ready, "environment": environment})


async def resource_metadata(deployment: Deployment | Misconfigured, request: Request) -> Response:
    """Describe the resource to an OAuth client (RFC 9728)."""
    refusal = unwelcome(request.headers, deployment.settings.hosts)
    if refusal is not None:
        return refusal_of(*refusal)
    if isinstance(deployment, Misconfigured):
        return misconfigured(deployment)
    issuer = deployment.settings.auth_issuer
    if issuer is None:
        raise HTTPException(404)
    resource = resource_url(request.scope, request.headers)
    scopes = deployment.scopes("/mcp")
    return JSONResponse(protected_resource_metadata(resource, issuer, scopes=scopes))


async def reconcile(deployment: Deployment | Misconfigured, request: Request) -> Response:
    """Run the sweeper once."""
    if isinstance(deployment, Misconfigured):
        return misconfigured(deployment)
    secret = deployment.settings.cron_secret
    if secret is None:
        return refusal_of(503, "cron_secret_missing", "Set CRON_SECRET to let the sweeper run.")
    given = request.headers.get("authorization", "")
    if not compare_digest(given.encode(), f"Bearer {secret}".encode()):
        return refusal_of(401, "unauthorized", "The sweeper needs its secret.")
    if not deployment.reach.has_commands:
        return JSONResponse({"looked": 0, "settled": 0, "in_doubt": 0, "left": 0})
    return await _swept(deployment)


async def not_served(_request: Request, fault: Exception) -> Response:
    """Answer for a path or a method that is not here."""
    known = cast("HTTPException", fault)  # it is asked about no other
    code = HTTPStatus(known.status_code).name.lower()
    return JSONResponse({"error": {"code": code}}, known.status_code, known.headers)


async def _swept(deployment: Deployment) -> Response:
    from lib.machinery.runner.reconcile import Sweeper
    from lib.machinery.runner.store import StoreSilentError

    deadline = deployment.deadline()
    sweeper = Sweeper(
        store=await deployment.store(),
        deadline=deadline,
        find=deployment.catalogue.find_command,
        new_id=deployment.ambient.new_id,
    )
    try:
        return JSONResponse(asdict(await sweeper.run()))
    except StoreSilentError:
        return refusal_of(
            503, "store_unavailable", "The store did not answer; nothing was changed."
        )
