"""Tournaments at the dashboard: a leaderboard with filters, of which every number leads to its debates."""

from __future__ import annotations

import asyncio
import os
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, Literal, NamedTuple, TypeVar
from urllib.parse import urlencode

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from debate_orchestrator.storage.paths import JOURNAL, DebateFiles
from debate_orchestrator.tournament.folder import DEBATES, SPEC, find_journals, is_imported, linked_parts, title
from debate_orchestrator.tournament.journal_rows import debate_id, read_rows
from debate_orchestrator.tournament.ratings import MIN_GAMES, elo, rate
from debate_orchestrator.tournament.report import render_page
from debate_orchestrator.tournament.rows import ROWS, DebateRow, Rows, Side, panel_winner
from debate_orchestrator.tournament.tables import all_tables
from debate_orchestrator.util.coroutines import in_own_thread
from debate_orchestrator.util.data import is_link
from debate_orchestrator.util.errors import BadFile
from debate_orchestrator.web import debate_list, pages
from debate_orchestrator.web.until_changed import file_version, until_changed

Result = Literal["won", "lost", "tied"]
RESULTS: tuple[Result, ...] = ("won", "lost", "tied")
DECIDED = "decided"
"""The filter that chooses every result."""
_Key = TypeVar("_Key")


class Filters(NamedTuple):
    """The chosen filters; an empty text chooses everything."""

    topic: str = ""
    category: str = ""
    judge: str = ""
    """Only debates that this judge voted on; those that are decided, decided by this judge alone."""
    model: str = ""
    opponent: str = ""
    side: str = ""
    """`pro` or `con`: the side that the model argued."""
    result: str = ""
    """Its result for the model: one of RESULTS, or DECIDED."""


class ModelDebate(NamedTuple):
    """A debate as one of its two models sees it."""

    debate: DebateRow
    model: str
    opponent: str
    side: Side
    result: Result | None
    """None if it was not decided."""


class ModelResults(NamedTuple):
    """A model's results in the chosen debates."""

    model: str
    rating: float | None
    """Elo over all decided debates that topic, category and judge choose; None if it has none."""
    won: int
    lost: int
    tied: int

    @property
    def games(self) -> int:
        return self.won + self.lost + self.tied

    @property
    def win_share(self) -> float | None:
        """The share of games won, a tie being half of one."""
        return (self.won + self.tied / 2) / self.games if self.games else None


def chosen_debates(rows: Rows, filters: Filters) -> list[DebateRow]:
    """The debates that topic, category and judge choose; if their panel decided them, with the winner by that judge's
    vote."""
    matches = [
        debate
        for debate in rows.debates
        if filters.topic in ("", debate.topic_id) and filters.category in ("", debate.category)
    ]
    if not filters.judge:
        return matches
    winners = [
        panel_winner(vote.winner for vote in rows.votes_by_debate[debate.id] if vote.judge == filters.judge)
        for debate in matches
    ]
    by_debate = zip(matches, winners, strict=True)
    return [
        debate.model_copy(update={"winner": debate.winner and winner})
        for debate, winner in by_debate
        if winner is not None
    ]


def model_debates(debate_rows: Iterable[DebateRow], filters: Filters) -> Iterator[ModelDebate]:
    """The debates that the filters choose, each once for each of its two models."""
    only_decided = filters.result == DECIDED
    chosen = filters._replace(result="") if only_decided else filters
    values = {name: value for name, value in chosen._asdict().items() if value and name in ModelDebate._fields}
    for debate in debate_rows:
        pro, con = debate.pro, debate.con
        if pro is None or con is None or pro == con:
            continue
        as_pro, as_con = _result(debate, "pro"), _result(debate, "con")
        for seen in (ModelDebate(debate, pro, con, "pro", as_pro), ModelDebate(debate, con, pro, "con", as_con)):
            if (seen.result or not only_decided) and all(getattr(seen, name) == values[name] for name in values):
                yield seen


def _result(debate: DebateRow, side: Side) -> Result | None:
    if not debate.complete or debate.rehearsed or debate.winner is None:
        return None
    return "tied" if debate.winner == "tie" else "won" if debate.winner == side else "lost"


def standings(debate_rows: Sequence[DebateRow], seen_by_models: Iterable[ModelDebate]) -> list[ModelResults]:
    """The models of these debates, the best first by Elo over the chosen debates."""
    ratings = {row.model: row.rating for row in elo(debate_rows)}
    results = _results((model_debate.model, model_debate) for model_debate in seen_by_models)
    of_models = [ModelResults(model, ratings.get(model), *counts) for model, counts in results.items()]
    return sorted(of_models, key=lambda one: (-(one.rating or 0.0), -(one.win_share or 0.0), one.model))


def head_to_head(seen_by_models: Iterable[ModelDebate]) -> dict[tuple[str, str], ModelResults]:
    """Model and opponent to how the model did against it."""
    results = _results(((model_debate.model, model_debate.opponent), model_debate) for model_debate in seen_by_models)
    return {pair: ModelResults(pair[0], None, *counts) for pair, counts in results.items()}


def _results(keyed: Iterable[tuple[_Key, ModelDebate]]) -> dict[_Key, list[int]]:
    counts: dict[_Key, Counter[Result | None]] = defaultdict(Counter)
    for key, model_debate in keyed:
        counts[key][model_debate.result] += 1
    return {key: [count[result] for result in RESULTS] for key, count in counts.items()}


def choices(rows: Rows) -> dict[str, list[str]]:
    """The choices of each filter, in alphabetical order."""
    models = {model for debate in rows.debates for model in (debate.pro, debate.con) if model is not None}
    options: dict[str, Iterable[str]] = {
        "topic": {debate.topic_id for debate in rows.debates},
        "category": {debate.category for debate in rows.debates if debate.category},
        "judge": {ballot.judge for ballot in rows.ballots if ballot.is_panel_vote},
        "model": models,
        "opponent": models,
        "side": {"pro", "con"},
        "result": (DECIDED, *RESULTS),
    }
    return {name: sorted(values) for name, values in options.items()}


_MAX_LISTED = 200
"""Debates of a page."""
_MAX_ROWS = 1_000
"""Rows of the leaderboard, and choices of a filter."""
_MAX_MODELS = 16
"""Models of the table of all pairs; with more it is not shown."""


def names() -> list[str]:
    """The tournaments of the working folder. A link is none of them, nor is a folder with a link for one of its parts:
    it may lead anywhere."""
    folders = (name for name in os.listdir() if os.path.isdir(name) and not is_link(name) and not name.startswith("."))
    return sorted(name for name in folders if _regular(os.path.join(name, SPEC)) and not linked_parts(name))


def _regular(path: str) -> bool:
    return os.path.isfile(path) and not is_link(path)


def _folder(request: Request) -> str:
    """The folder of a tournament; not found for any other name."""
    if (name := request.path_params["name"]) not in names() or not debate_list.has_address(name):
        raise HTTPException(404)
    return str(name)


def _folder_version(folder: str) -> tuple[object, ...]:
    """The versions of the files that the rows of a tournament are read from."""
    journals, _ = find_journals(folder)
    paths = [*(os.path.join(folder, name) for name in (SPEC, ROWS)), *journals]
    paths += [DebateFiles.of_journal(path).html_report for path in journals]
    return tuple((path, file_version(path)) for path in paths if os.path.lexists(path))


@until_changed(8, _folder_version)
def _read(folder: str) -> Rows:
    """The rows of a tournament; of its HTML reports only those with an address here."""
    rows = read_rows(folder)
    for number, debate in enumerate(rows.debates):
        name = os.path.basename(debate.html_report).removesuffix(".html")
        if debate.html_report and (debate.html_report != f"{DEBATES}/{name}.html" or _journal(folder, name) is None):
            rows.debates[number] = debate.model_copy(update={"html_report": ""})
    return rows


@until_changed(8, _folder_version)
def _report(folder: str) -> str:
    """The page of a tournament's report."""
    rows = _read(folder)
    ratings = rate(rows)
    return render_page(title(folder), rows, ratings, all_tables(rows, ratings), plots=(), minimum=MIN_GAMES)


def _list_entry(folder: str) -> tuple[str, str]:
    """The name of a tournament, or of its folder if it can't be read, and why it has no page, if so."""
    try:
        name = title(folder)
    except BadFile:
        name = folder
    return name, "" if debate_list.has_address(folder) else debate_list.without_address(folder)


def _values(folder: str, filters: Filters) -> dict[str, Any]:
    rows = _read(folder)
    debate_rows = chosen_debates(rows, filters)
    real_debates = [debate for debate in debate_rows if not debate.rehearsed]
    # A link from a number to its debates keeps the numbers.
    seen_by_models = list(model_debates(real_debates, filters._replace(result="")))
    ranking = standings(debate_rows, seen_by_models)
    models = [results.model for results in ranking]
    by_model = bool(filters.model or filters.opponent or filters.side or filters.result)
    chosen = model_debates(debate_rows, filters) if by_model else ()
    listed = list({seen.debate.id: seen.debate for seen in chosen}.values()) if by_model else debate_rows
    selected = filters._asdict()
    filter_options = {
        name: [value for n, value in enumerate(values) if n < _MAX_ROWS or value == selected[name]]
        for name, values in choices(rows).items()
    }
    filter_options["opponent"] = [model for model in filter_options["opponent"] if model != filters.model]

    def link(**changes: str) -> str:
        query = {name: value for name, value in (selected | changes).items() if value}
        return f"?{urlencode(query)}#debates"

    return {
        "title": title(folder),
        "filters": selected,
        "choices": filter_options,
        "standings": ranking[:_MAX_ROWS],
        "ranked": len(ranking),
        "only_rehearsed": bool(debate_rows) and not real_debates,
        "rated": not (filters.side or filters.model or filters.opponent),
        "models": models if len(models) <= _MAX_MODELS else [],
        "pairs": head_to_head(seen_by_models),
        "debates": listed[:_MAX_LISTED],
        "count": len(listed),
        "file_names": {}
        if is_imported(folder)
        else {row.id: name for row in listed[:_MAX_LISTED] if (name := _file_name(folder, row.id))},
        "notes": rows.all_notes(),
        "link": link,
    }


def _journal(folder: str, name: str) -> str | None:
    """The journal of a debate whose files have this name; None if there is none in the folder."""
    path = os.path.join(folder, DEBATES, f"{name}{JOURNAL}")
    is_plain_name = os.path.basename(f"{name}{JOURNAL}") == f"{name}{JOURNAL}"
    return path if is_plain_name and _regular(path) else None


def _file_name(folder: str, row_id: str) -> str | None:
    """The name of the files of the debate with this id; None if there is none in the folder."""
    name = row_id.replace("\\\\", "\\")
    path = _journal(folder, name)
    return name if path and debate_id(path, os.path.join(folder, DEBATES)) == row_id else None


# The views: a folder may come from someone else, so its figures are shown, and the page in it is not, but made again.


async def list_tournaments(request: Request) -> Response:
    return await _page(
        request, "tournaments.html.j2", lambda: {"found": [(name, *_list_entry(name)) for name in names()]}
    )


async def _page(request: Request, template: str, values: Callable[[], dict[str, Any]]) -> Response:
    dashboard = pages.dashboard_of(request.scope)
    return await pages.in_thread(lambda: pages.html_response(template, dashboard=dashboard, **values()))


async def tournament(request: Request) -> Response:
    """The leaderboard and the debates that the filters choose."""
    folder = _folder(request)
    filters = Filters(**{name: request.query_params.get(name, "")[:1_000] for name in Filters._fields})
    here = {"here": pages.address_of(request), "name": folder}
    return await _page(request, "tournament.html.j2", lambda: here | _values(folder, filters))


async def debate(request: Request) -> Response:
    """The report of one of its debates."""
    path = _journal(_folder(request), request.path_params["debate"].removesuffix(".html"))
    if path is None:
        raise HTTPException(404)
    return await pages.report(path)


class Reports:
    """The reports of tournaments, one made at a time."""

    def __init__(self) -> None:
        self._rating = asyncio.Lock()
        self._under_way: dict[str, asyncio.Task[str]] = {}

    async def report(self, request: Request) -> Response:
        """The page that `debate tournament report` writes, without its plots. All who ask while it is made wait for the
        same one: a rating can take half a minute."""
        folder = _folder(request)
        if folder not in self._under_way:
            self._under_way[folder] = asyncio.create_task(self._make(folder))
        page = await asyncio.shield(self._under_way[folder])
        return await pages.standalone_page(lambda: page)

    async def _make(self, folder: str) -> str:
        try:
            async with self._rating:
                return await in_own_thread(lambda: _report(folder))
        finally:
            del self._under_way[folder]
