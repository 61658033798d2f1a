"""Imports with the garbage collector at rest: what a module defines stays, so looking is lost work.

Most of a cold start is the import of the SDK and of pydantic, whose classes are many thousand
objects; the collector would walk them again and again.
Source: `gc.freeze` of the standard library; `tests/bench` measures what it saves.
"""

import gc
import sys
from collections.abc import Generator
from contextlib import contextmanager


@contextmanager
def loading(module: str) -> Generator[None]:
    """Let the collector rest while `module` is imported, and never look at what came of it.

    Where it is imported already this does nothing: freezing would keep a caller's garbage.
    """
    if module in sys.modules or not gc.isenabled():
        yield
        return
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()
        gc.enable()
