"""Tournaments at the dashboard: the list of those in the folder, their reports, and the reports of their debates.

A tournament's folder may be a stranger's, so the HTML file in it is not shown: the report is made anew."""

from __future__ import annotations

import os
from functools import lru_cache

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from debate_orchestrator.storage.paths import JOURNAL
from debate_orchestrator.tournament.folder import DEBATES, SPEC, linked_parts
from debate_orchestrator.tournament.journal_rows import read_rows, title
from debate_orchestrator.tournament.ratings import MIN_GAMES, rate
from debate_orchestrator.tournament.report import render_page
from debate_orchestrator.tournament.rows import ROWS
from debate_orchestrator.tournament.tables import all_tables
from debate_orchestrator.util.data import is_link
from debate_orchestrator.util.errors import BadFile
from debate_orchestrator.web import folder as debates
from debate_orchestrator.web import pages


def names() -> list[str]:
    """The tournaments of the working folder. A link is none of them, nor is a folder with a link for one of its parts:
    it may lead anywhere."""
    folders = (name for name in os.listdir() if os.path.isdir(name) and not is_link(name) and not name.startswith("."))
    return sorted(name for name in folders if _is_regular(os.path.join(name, SPEC)) and not linked_parts(name))


def _is_regular(path: str) -> bool:
    return os.path.isfile(path) and not is_link(path)


def _folder(request: Request) -> str:
    """The folder of a tournament; not found for any other, whatever the name says."""
    if (name := request.path_params["name"]) not in names() or not debates.has_address(name):
        raise HTTPException(404)
    return str(name)


async def tournament_list(request: Request) -> Response:
    """The tournaments of the folder. One that can't be read goes by the name of its folder, and its report says why."""

    def entry(name: str) -> tuple[str, str, str]:
        try:
            shown = title(name)
        except BadFile:
            shown = name
        return name, shown, "" if debates.has_address(name) else debates.without_address(name)

    return await pages.in_thread(
        lambda: pages.html_response(
            "tournaments.html.j2",
            dashboard=pages.dashboard_of(request.scope),
            tournaments=[entry(name) for name in names()],
        )
    )


async def report(request: Request) -> Response:
    """The report that `debate tournament report` writes, without its plots."""
    folder = _folder(request)
    return pages.standalone_page(await pages.in_thread(lambda: _report(folder, _version(folder))))


def _version(folder: str) -> tuple[tuple[str, int, int], ...]:
    """How the files that a tournament's report is made of are now."""
    files = [os.path.join(folder, name) for name in (SPEC, ROWS)]
    inner = os.path.join(folder, DEBATES)
    if os.path.isdir(inner):
        files += sorted(os.path.join(inner, name) for name in os.listdir(inner) if name.endswith((JOURNAL, ".html")))
    return tuple((path, *debates.written(path)) for path in files if os.path.lexists(path))


@lru_cache(maxsize=8)
def _report(folder: str, version: object) -> str:
    rows = read_rows(folder)
    ratings = rate(rows)
    return render_page(title(folder), rows, ratings, all_tables(rows, ratings), drawn=(), minimum=MIN_GAMES)


async def debate(request: Request) -> Response:
    """The report of one of its debates."""
    file = f"{request.path_params['debate'].removesuffix('.html')}{JOURNAL}"
    path = os.path.join(_folder(request), DEBATES, file)
    if os.path.basename(file) != file or not _is_regular(path):
        raise HTTPException(404)
    return await pages.report(path, debates.version(path))
