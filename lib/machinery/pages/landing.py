"""The landing page: what this server offers, and how to connect to it.

A visitor shows no key, and what a key does not reach is told to its holder as a number only
(`list_toolsets`); so a deployment shows numbers here. Names and descriptions appear where the
developer looks at his own machine: in development, over loopback.
Source: DESIGN §2, §7.
"""

from collections.abc import Sequence
from html import escape
from itertools import groupby
from typing import assert_never

from starlette.requests import Request
from starlette.responses import HTMLResponse

from lib.contract import Command, Query, Tool
from lib.machinery.deployment import Deployment
from lib.machinery.endpoint import resource_url
from lib.machinery.gate.challenge import METADATA_PATH
from lib.machinery.pages.checklist import checklist_page
from lib.machinery.pages.connect import (
    CLIENTS,
    KEY_PLACEHOLDER,
    NAME,
    URL_PLACEHOLDER,
    snippet,
)
from lib.machinery.pages.frame import badge, code, definitions, document, listing
from lib.settings import LOOPBACK, Misconfigured, Settings, host_name

ENDINGS = (
    "Every command ends in one of three ways, and says in which: it happened, once; it did not "
    "happen; or it is in doubt, until a retry with the same key, or a person, finds out."
)


def landing_page(deployment: Deployment | Misconfigured, request: Request) -> HTMLResponse:
    """Answer `/`: the landing page, or the checklist while something is missing."""
    if isinstance(deployment, Misconfigured):
        return checklist_page(deployment)
    settings = deployment.settings
    host = host_name(request.headers.get("host", ""))
    is_own_machine = settings.kind == "development" and host in LOOPBACK
    # A Host header is shown only where it is one of this deployment's own names.
    url = resource_url(request.scope, request.headers) if host in settings.hosts else None
    body = [
        f"<h1>{NAME.capitalize()}</h1>\n<p>An MCP server. {ENDINGS}</p>",
        f"{badge(settings.kind)}\n<p>{_standing(deployment)}</p>",
        f"<h2>What it offers</h2>\n{_offer(deployment, with_names=is_own_machine)}",
        f"<h2>Endpoints</h2>\n{_endpoints(settings)}",
        f"<h2>Connect</h2>\n{_connect(url)}",
    ]
    return document(NAME.capitalize(), "\n".join(body))


def _standing(deployment: Deployment) -> str:
    match kind := deployment.settings.kind:
        case "production":
            return "Commands change the real systems behind this server."
        case "development":
            return "Here commands change whatever systems this machine was given."
        case "preview" if deployment.reach.has_commands:
            return "Queries read the real systems; commands change scratch systems only."
        case "preview":
            return (
                "Queries read the real systems. Every command is withheld: this preview holds no "
                "credential that could write. Where Vercel protects it, a client also needs the "
                "bypass secret."
            )
        case _:
            assert_never(kind)


def _offer(deployment: Deployment, *, with_names: bool) -> str:
    # Stable, so each toolset keeps the listing order.
    tools = sorted(deployment.catalogue.tools, key=lambda tool: tool.toolset)
    withheld = "" if deployment.reach.has_commands else ", withheld here"
    parts: list[str] = []
    for toolset, group in groupby(tools, key=lambda tool: tool.toolset):
        members = list(group)
        queries = [tool for tool in members if isinstance(tool, Query)]
        commands = [tool for tool in members if isinstance(tool, Command)]
        label = f"Commands, each under an idempotency key{withheld}"
        parts.append(f"<h3>{escape(toolset)}</h3>")
        parts.append(_kind("Queries, which change nothing", queries, with_names=with_names))
        parts.append(_kind(label, commands, with_names=with_names))
    if not with_names:
        parts.append(
            "<p><small>A client that shows a key sees the names and descriptions that the key "
            f"reaches; {code('list_toolsets')} tells it how many it does not, and why.</small></p>"
        )
    return "\n".join(parts)


def _kind(label: str, tools: Sequence[Tool], *, with_names: bool) -> str:
    count = f"<p>{label}: {len(tools)}</p>"
    if not tools or not with_names:
        return count if tools else ""
    return f"{count}\n{definitions([(tool.name, tool.description) for tool in tools])}"


def _endpoints(settings: Settings) -> str:
    rows = [
        ("POST /mcp", "Queries and commands, as far as your key reaches."),
        ("POST /mcp/readonly", "Read-only: queries and nothing else, whatever your key reaches."),
    ]
    links = ["/healthz", *([METADATA_PATH] if settings.auth_issuer is not None else [])]
    shown = " and ".join(f'<a href="{link}">{link}</a>' for link in links)
    return f"{definitions(rows)}\n<p>To look at in a browser: {shown}.</p>"


def _connect(url: str | None) -> str:
    advice = (
        f"<p>Put your own key, or access token, for {code(KEY_PLACEHOLDER)}. To be sure that "
        f"nothing is changed, put {code('/mcp/readonly')} for {code('/mcp')}.</p>"
    )
    parts = [advice]
    if url is None:
        parts.append(
            f"<p>You came by a host name that {code('/mcp')} refuses. Put one of this server's own "
            f"names for {code('YOUR-HOST')}, or add yours to {code('ALLOWED_HOSTS')}.</p>"
        )
    for client, where in CLIENTS.items():
        parts.append(f"<h3>{client} <small>{where}</small></h3>")
        parts.append(listing(snippet(client, url or URL_PLACEHOLDER)))
    return "\n".join(parts)
