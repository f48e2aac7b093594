"""Tournaments at the desk: a leaderboard with filters, of which every number leads to its debates."""

from __future__ import annotations

import asyncio
import os
from functools import lru_cache
from typing import Any
from urllib.parse import urlencode

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from debate_orchestrator.engine.api import render
from debate_orchestrator.storage.paths import JOURNAL
from debate_orchestrator.tournament import selection
from debate_orchestrator.tournament.folder import DEBATES, PAGE, SPEC, linked_parts
from debate_orchestrator.tournament.journal_rows import read_rows, title
from debate_orchestrator.tournament.rows import ROWS, Rows
from debate_orchestrator.tournament.selection import Filters
from debate_orchestrator.util.data import is_link, read_text
from debate_orchestrator.util.errors import BadFile
from debate_orchestrator.web.guard import desk_of
from debate_orchestrator.web.pages import html_response, own_page

_LISTED = 200
"""Debates of a page."""
_MOST_MODELS = 16
"""Models of the table of all pairs; with more it is not shown."""
_LARGEST_PAGE = 100_000_000


def names() -> list[str]:
    """The tournaments of the working folder. A link is none of them, nor is a folder with a link for one of its parts:
    it may lead anywhere."""
    folders = (name for name in os.listdir() if os.path.isdir(name) and not is_link(name) and not name.startswith("."))
    return sorted(name for name in folders if _regular(os.path.join(name, SPEC)) and not linked_parts(name))


def _regular(path: str) -> bool:
    return os.path.isfile(path) and not is_link(path)


def _folder(request: Request) -> str:
    """The folder of a tournament; not found for any other, whatever the name says."""
    if (name := request.path_params["name"]) not in names():
        raise HTTPException(404)
    return str(name)


def _rows(folder: str) -> Rows:
    """The rows of a tournament, read anew when a journal has changed."""
    files = [os.path.join(folder, name) for name in (SPEC, ROWS)]
    inner = os.path.join(folder, DEBATES)
    if os.path.isdir(inner):
        files += sorted(os.path.join(inner, name) for name in os.listdir(inner) if name.endswith((JOURNAL, ".html")))
    known = tuple((path, stat.st_mtime_ns, stat.st_size) for path in files if (stat := _stat(path)) is not None)
    return _read(folder, known)


def _stat(path: str) -> os.stat_result | None:
    try:
        return os.stat(path)
    except OSError:
        return None


@lru_cache(maxsize=8)
def _read(folder: str, known: tuple[tuple[str, int, int], ...]) -> Rows:
    return read_rows(folder)


async def listed(request: Request) -> Response:
    """The tournaments of the folder."""
    found = await asyncio.to_thread(lambda: [(name, title(name)) for name in names()])
    return html_response("tournaments.html.j2", desk=desk_of(request.url.path), found=found)


async def tournament(request: Request) -> Response:
    """The leaderboard and the debates that the filters choose."""
    folder = _folder(request)
    filters = Filters(**{name: request.query_params.get(name, "")[:1_000] for name in Filters._fields})
    values = await asyncio.to_thread(_values, folder, filters)
    desk = desk_of(request.url.path)
    return html_response("tournament.html.j2", desk=desk, here=request.url.path, name=folder, **values)


def _values(folder: str, filters: Filters) -> dict[str, Any]:
    rows = _rows(folder)
    chosen = selection.debates(rows, filters)
    every = filters._replace(result="")  # the numbers stay when one of them is followed to its debates
    played = list(selection.games(chosen, every))
    pairs = selection.head_to_head(played)
    standings = selection.standings(chosen, played)
    models = [standing.model for standing in standings]
    by_game = bool(filters.model or filters.opponent or filters.side or filters.result)
    found = selection.games(chosen, filters) if by_game else ()
    debates = list({game.debate.id: game.debate for game in found}.values()) if by_game else chosen

    choices = selection.choices(rows)
    choices["opponent"] = [model for model in choices["opponent"] if model != filters.model]

    def link(**changes: str) -> str:
        given = {name: value for name, value in filters._replace(**changes)._asdict().items() if value}
        return f"?{urlencode(given)}#debates"

    return {
        "title": title(folder),
        "filters": filters._asdict(),
        "choices": choices,
        "standings": standings,
        "rated": not (filters.side or filters.model or filters.opponent),
        "models": models if len(models) <= _MOST_MODELS else [],
        "pairs": pairs,
        "debates": debates[:_LISTED],
        "count": len(debates),
        "known": {debate.id for debate in rows.debates if _journal(folder, debate.id)},
        "notes": rows.all_notes(),
        "link": link,
        "report": _regular(os.path.join(folder, PAGE)),
    }


def _journal(folder: str, debate: str) -> str | None:
    """The journal of a debate that is known by its id; None where there is none in the folder."""
    path = os.path.join(folder, DEBATES, f"{debate}{JOURNAL}")
    inside = os.path.basename(f"{debate}{JOURNAL}") == f"{debate}{JOURNAL}"
    return path if inside and _regular(path) else None


async def report(request: Request) -> Response:
    """The page that `debate tournament report` wrote."""
    path = os.path.join(_folder(request), PAGE)
    if not _regular(path):
        raise HTTPException(404)
    try:
        return own_page(await asyncio.to_thread(read_text, path, _LARGEST_PAGE, follow=False))
    except BadFile:
        raise HTTPException(404) from None


async def debate(request: Request) -> Response:
    """The report of one of its debates."""
    path = _journal(_folder(request), request.path_params["debate"].removesuffix(".html"))
    if path is None:
        raise HTTPException(404)
    return own_page(await asyncio.to_thread(render, path, "html"))
