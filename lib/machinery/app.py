"""The ASGI application: routes, and what they share. One function serves them all.

Source: DESIGN §2. No lifespan is needed: nothing connects before a request asks for it.
"""

from collections.abc import Sequence
from dataclasses import asdict
from secrets import compare_digest
from typing import Any

from fastapi import FastAPI, Request
from fastapi.responses import JSONResponse, Response
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
) -> FastAPI:
    """Build the application of one deployment.

    Raises: DeclarationError: a tool contradicts itself; at import, before anything is deployed.
    """
    catalogue = catalogue_of(tools, builtin_queries())
    deployment = deploy(settings, catalogue, ambient)
    app = FastAPI(docs_url=None, redoc_url=None, openapi_url=None, redirect_slashes=False)
    app.router.routes.extend(Route(path, McpEndpoint(deployment, path)) for path in PATHS)
    routes = Routes(deployment)
    for path, answer in routes.table().items():
        app.router.routes.append(Route(path, answer, methods=["GET"]))
    return app


class Routes:
    """What is not MCP."""

    def __init__(self, deployment: Deployment | Misconfigured) -> None:
        """Serve a deployment, or say what it lacks."""
        self.deployment = deployment

    def table(self) -> dict[str, Any]:
        """Name each path and what answers it."""
        return {
            "/": self.landing,
            "/healthz": self.health,
            "/api/cron/reconcile": self.reconcile,
            METADATA_PATH: self.resource_metadata,
        }

    async def landing(self, request: Request) -> Response:
        """Show what this server offers and how to connect, or what it lacks."""
        from lib.machinery.pages.landing import landing_page

        return landing_page(self.deployment, request)

    async def health(self, _request: Request) -> Response:
        """Say that the process answers; nothing is asked of the store."""
        platform = self.deployment.settings
        is_ready = isinstance(self.deployment, Deployment)
        return JSONResponse(
            {"status": "ok", "configured": is_ready, "environment": platform.vercel_env}
        )

    async def resource_metadata(self, request: Request) -> Response:
        """Describe the resource to an OAuth client (RFC 9728)."""
        deployment = self.deployment
        refusal = unwelcome(request.headers, deployment.settings.hosts)
        if refusal is not None:
            return refusal
        if isinstance(deployment, Misconfigured):
            return misconfigured(deployment)
        issuer = deployment.settings.auth_issuer
        if issuer is None:
            return JSONResponse({"error": {"code": "not_found"}}, status_code=404)
        resource = resource_url(request.scope, request.headers)
        scopes = deployment.scopes("/mcp")
        return JSONResponse(protected_resource_metadata(resource, issuer, scopes=scopes))

    async def reconcile(self, request: Request) -> Response:
        """Run the sweeper once."""
        deployment = self.deployment
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


async def _swept(deployment: Deployment) -> Response:
    from lib.machinery.runner.reconcile import Sweeper
    from lib.machinery.runner.store import StoreSilentError

    deadline = deployment.deadline()
    sweeper = Sweeper(
        store=await deployment.store(),
        deadline=deadline,
        limits=deployment.limits(),
        find=deployment.catalogue.find_command,
        new_id=deployment.ambient.new_id,
    )
    try:
        return JSONResponse(asdict(await sweeper.run()))
    except StoreSilentError:
        return refusal_of(
            503, "store_unavailable", "The store did not answer; nothing was changed."
        )
