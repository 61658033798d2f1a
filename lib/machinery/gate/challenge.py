"""The HTTP answers of the gate: 401, 403 and 503, and where to get a token. Pure.

Source: RFC 6750 §3 (challenges), RFC 9728 §3 and §5.1 (resource metadata); MCP 2026-07-28,
basic/authorization. Only what is configured or declared is named, quoted so that no value can
leave its place.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any
from urllib.parse import quote, urlsplit

from lib.contract import Scope
from lib.machinery.gate.auth import KEYS_RETRY_S, Refusal, Unauthenticated

WELL_KNOWN = "/.well-known/oauth-protected-resource"
METADATA_PATH = f"{WELL_KNOWN}/mcp"
# All that a quoted string may hold as it is: no quote, no backslash, nothing outside ASCII.
PLAIN = "".join(map(chr, range(0x20, 0x7F))).replace('"', "").replace("\\", "")

NOTHING_DONE = "This request executed nothing."
REFUSED = (
    "credential_refused",
    "The credential is not accepted here, now or later. Get one that was made for this server.",
)
SAID: Mapping[Refusal, tuple[str, str]] = MappingProxyType(
    {
        "missing": (
            "credential_missing",
            "Send `Authorization: Bearer <credential>`, with a credential made for this server.",
        ),
        "malformed": (
            "credential_malformed",
            "The Authorization header must be `Bearer`, one space and exactly one credential.",
        ),
        "expired": (
            "credential_expired",
            "The credential has expired. Get a new one and send the request again with it.",
        ),
        "not_yet_valid": (
            "credential_not_yet_valid",
            "The credential is not valid yet. Wait until it is, or check the issuer's clock.",
        ),
        "keys_unavailable": (
            "keys_unavailable",
            f"The issuer's keys cannot be fetched. Send it again in {KEYS_RETRY_S} seconds.",
        ),
    }
)


@dataclass(frozen=True, slots=True, kw_only=True)
class HttpRefusal:
    """Status, headers and JSON body of an answer that refuses."""

    status: int
    headers: dict[str, str]
    body: dict[str, Any]


def challenge(
    refused: Unauthenticated,
    *,
    metadata_url: str | None = None,
    scopes: Iterable[Scope],
) -> HttpRefusal:
    """Ask for a credential: 401; or 503 where one could not be checked.

    Args: metadata_url: None where only agent keys are configured.
          scopes: what the endpoint's tools need at most.
    """
    code, message = SAID.get(refused.reason, REFUSED)
    body = _body(code, f"{message} {NOTHING_DONE}")
    if refused.reason == "keys_unavailable":
        return HttpRefusal(status=503, headers={"Retry-After": str(KEYS_RETRY_S)}, body=body)
    # RFC 6750 §3.1: no error code where no credential was presented.
    error = None if refused.reason == "missing" else "invalid_token"
    headers = _bearer(error=error, resource_metadata=metadata_url, scope=" ".join(scopes))
    return HttpRefusal(status=401, headers=headers, body=body)


def refuse_scope(scopes: Iterable[Scope], *, metadata_url: str | None = None) -> HttpRefusal:
    """Name the scopes that the operation needs: 403.

    Args: scopes: all of them, also those that the grant has.
    """
    needed = " ".join(scopes)
    headers = _bearer(error="insufficient_scope", scope=needed, resource_metadata=metadata_url)
    message = (
        f"The credential is valid, but this operation needs the scopes: {needed}. Get a "
        f"credential that has all of them. {NOTHING_DONE}"
    )
    return HttpRefusal(status=403, headers=headers, body=_body("insufficient_scope", message))


def metadata_url(resource: str) -> str:
    """Tell where the metadata of a resource is served: well-known goes between host and path."""
    parts = urlsplit(resource)
    return f"{parts.scheme}://{parts.netloc}{WELL_KNOWN}{parts.path}"


def protected_resource_metadata(
    resource: str, issuer: str, *, scopes: Iterable[Scope]
) -> dict[str, Any]:
    """Describe the resource and who issues its tokens.

    Args: resource: the endpoint's URL, on an allowed host; never taken from a header unchecked.
          issuer: as configured to the letter, for clients compare it so.
          scopes: all that any tool needs.
    """
    return {
        "resource": resource,
        "authorization_servers": [issuer],
        "scopes_supported": list(scopes),
        "bearer_methods_supported": ["header"],
    }


def _bearer(**parameters: str | None) -> dict[str, str]:
    said = [f"{name}={_quoted(value)}" for name, value in parameters.items() if value is not None]
    return {"WWW-Authenticate": f"Bearer {', '.join(said)}"}


def _quoted(value: str) -> str:
    return f'"{quote(value, safe=PLAIN, errors="replace")}"'


def _body(code: str, message: str) -> dict[str, Any]:
    return {"error": {"code": code, "message": message}}
