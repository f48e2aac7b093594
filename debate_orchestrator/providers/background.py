"""Imports of SDKs, which take seconds, in threads of their own: only a call that needs one waits for it."""

from __future__ import annotations

import asyncio
from concurrent.futures import Future
from importlib import import_module
from threading import Thread

_imports: dict[str, Future[None]] = {}
"""Module to its import, which is done when it has ended, well or not."""


def begin(module: str) -> Future[None]:
    """Begins to import a module, unless that was begun before. The thread does not keep the process alive."""
    if module not in _imports:
        ended: Future[None] = Future()
        ended.set_running_or_notify_cancel()  # a call that is cancelled leaves it to the others that wait
        _imports[module] = ended
        Thread(target=_import, args=(module, ended), name=f"import {module}", daemon=True).start()
    return _imports[module]


async def done(module: str) -> None:
    """Returns when the import of a module has ended, well or not: importing it again tells which."""
    await asyncio.wrap_future(begin(module))


def _import(module: str, ended: Future[None]) -> None:
    try:
        import_module(module)
    except Exception:
        pass
    finally:
        ended.set_result(None)
