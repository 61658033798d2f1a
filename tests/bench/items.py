"""What every server here answers from memory."""

from typing import Any

ITEM: dict[str, Any] = {"id": "a1", "name": "Lamp", "quantity": 3, "version": 1}
