"""The landing page."""

from starlette.requests import Request

from lib.machinery.deployment import Deployment
from lib.settings import Misconfigured


def landing_page(deployment: Deployment | Misconfigured, request: Request) -> str:
    """Render the page."""
    return f"<p>{type(deployment).__name__} {request.method}</p>"
