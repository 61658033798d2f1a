"""The application where its host listens to everything at INFO, as Vercel's runtime does."""

import logging

logging.basicConfig(level=logging.INFO)

from api.index import app  # noqa: E402  the host sets the level before it imports us

__all__ = ["app"]
