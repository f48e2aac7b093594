"""Opens the desk in the user's browser without showing its key to other users of the machine."""

from __future__ import annotations

import html
import threading
import webbrowser
from contextlib import suppress
from pathlib import Path
from urllib.parse import urlsplit

from debate_orchestrator.storage.files import write_atomic
from debate_orchestrator.storage.paths import state_folder
from debate_orchestrator.util.errors import BadFile

_PAGE = """\
<!doctype html>
<meta charset="utf-8">
<meta name="referrer" content="no-referrer">
<meta http-equiv="refresh" content="0; url={address}">
<title>Debates</title>
<p><a href="{address}">Open the desk</a></p>
"""
_SECONDS = 60.0
"""Seconds in which the browser has to read that page."""


def open_desk(address: str) -> bool:
    """Opens an address with a key; False where no browser can be opened. Every user of a machine can read the arguments
    of its processes, so the browser is given a file that leads to the address, and that only this user can read."""
    folder = state_folder()
    if folder is None:
        return False
    page = folder / "serve" / f"desk-{urlsplit(address).port}.html"
    try:
        write_atomic(page, _PAGE.format(address=html.escape(address)), mode=0o600)
    except (OSError, BadFile):
        return False
    forget = threading.Timer(_SECONDS, _remove, [page])
    forget.daemon = True
    forget.start()
    return webbrowser.open(page.as_uri())


def _remove(page: Path) -> None:
    with suppress(OSError):
        page.unlink()
