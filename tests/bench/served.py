"""The tools that answer from memory behind uvicorn: `uvicorn tests.bench.served:app`."""

from tests.bench.memory import memory_app

app = memory_app()
