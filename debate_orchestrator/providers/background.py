"""Imports of SDKs, which take seconds, in threads of their own: only a call that needs one waits for it."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from importlib import import_module
from threading import Thread

_POLL = 0.02
"""Seconds between two looks at whether an import is done."""
_imports: dict[str, Thread] = {}
"""Module to the thread that imports it."""


def begin(module: str) -> Thread:
    """Begins to import a module, unless that was begun before. The thread does not keep the process alive."""
    if module not in _imports:
        _imports[module] = Thread(target=_import, args=(module,), name=f"import {module}", daemon=True)
        _imports[module].start()
    return _imports[module]


async def done(module: str) -> None:
    """Returns when the import of a module has ended, well or not: importing it again tells which."""
    thread = begin(module)
    while thread.is_alive():
        await asyncio.sleep(_POLL)


def _import(module: str) -> None:
    with suppress(Exception):
        import_module(module)
