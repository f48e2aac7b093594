"""The application of a public site and its pages: the form and the list, one debate as it runs, its report, its card.
There is no dashboard behind it.

The report is the one that `debate report` writes, without what is the owner's: of a spec it shows no address, and of a
program its name alone. What a server calls its model is left out: that may be a file of the owner's.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterable, Mapping
from contextlib import AbstractContextManager
from typing import Any

from pydantic import BaseModel
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from debate_orchestrator.core.state import DebateState
from debate_orchestrator.reports import report_files
from debate_orchestrator.reports.conflicts import conflicts_of_interest
from debate_orchestrator.reports.model import build_report
from debate_orchestrator.reports.provenance import is_whole_rehearsal
from debate_orchestrator.reports.reviewer_ballots import gather_ballots
from debate_orchestrator.storage.paths import JOURNAL, DebateFiles
from debate_orchestrator.util import model_spec
from debate_orchestrator.util.errors import DebateError, Paused, with_hint
from debate_orchestrator.util.sanitize import one_line
from debate_orchestrator.web import blocks, card, debate_list, live, pages
from debate_orchestrator.web.guard import Guard, form, is_https
from debate_orchestrator.web.pages import go_to, html_response, in_thread, png, standalone_page
from debate_orchestrator.web.public import site
from debate_orchestrator.web.public.site import MAX_TOPIC_LENGTH, FormError, Site, not_started
from debate_orchestrator.web.until_changed import debate_version, until_changed


@until_changed(64, debate_version)
def report_html(path: str) -> str:
    """That report of a journal as HTML. Raises DebateError."""
    contents, debate = debate_list.load(path)
    ballots = gather_ballots(DebateFiles.of_journal(path).ballots, contents.entries)
    report = build_report(contents.entries, ballots, journal=path)
    conflicts = conflicts_of_interest(debate, with_servers_names=False)
    updates = {
        "run": report.run.model_copy(update={"models": {}}),
        "judging": report.judging.model_copy(update={"conflicts": conflicts}),
    }
    report = report.model_copy(update=updates)
    return report_files.render_file(_replaced(report, _without_addresses(debate)), ".html")


def _without_addresses(debate: DebateState) -> dict[str, str]:
    """Every spec of a debate that has an address, the longest first, to the part before the address."""
    specs = [*model_spec.specs_of(debate.opened.cast), *model_spec.specs_of(debate.cast)]
    specs += [reply_event.reply.spec for reply_event in debate.replies.values()]
    public_specs: dict[str, str] = {}
    for spec in map(model_spec.without_rehearse, specs):
        model, address = model_spec.split_address(model_spec.rest(spec))
        if address is not None:
            public_spec = f"{model_spec.kind(spec)}:{model}"
            public_specs |= {spec: public_spec, f"{public_spec}@{address}": public_spec}  # it may end in a slash
    return dict(sorted(public_specs.items(), key=lambda item: len(item[0]), reverse=True))


def _replaced(part: Any, replacements: Mapping[str, str]) -> Any:
    """A part of a report's model with other words for some in every text."""
    if isinstance(part, str):
        for old, new in replacements.items():
            part = part.replace(old, new)
        return part
    if isinstance(part, BaseModel):
        fields = {name: _replaced(getattr(part, name), replacements) for name in type(part).model_fields}
        return part.model_copy(update=fields)
    if isinstance(part, Mapping):
        return {_replaced(key, replacements): _replaced(value, replacements) for key, value in part.items()}
    if isinstance(part, list | tuple):
        items = [_replaced(item, replacements) for item in part]
        return part._make(items) if hasattr(part, "_make") else type(part)(items)
    return part


_MAX_FORM_SIZE = 20_000
"""Bytes of a visitor's form."""
_MAX_LISTED = 20
"""Debates that the front page shows."""
_GIVEN_UP = "It was tried several times, and is not tried again by itself.", "start the debate again later"
"""The message to visitors about a debate that was interrupted and has used up its tries, and a hint."""


class Views:
    """The views of a public site."""

    def __init__(self, site: Site):
        self._site = site

    async def home(self, request: Request) -> Response:
        """The form of a new debate, and the debates of others."""
        return await self._home(request, {}, None)

    async def start(self, request: Request) -> Response:
        """Starts a debate, or says beside the fields why not and whether to try again. Visitors have no session that
        another site could use, so the form needs no token: its origin was checked."""
        visitor = self._site.limits.visitor(request.scope)
        form_data = await form(request, None, _MAX_FORM_SIZE)
        submission_id = form_data.pop("submission_id", "")
        try:
            name = await self._site.served_debates.forms.begin(
                submission_id, lambda: self._site.start(form_data, visitor), visitor, form_data
            )
        except FormError as error:
            return await self._home(request, form_data, error)
        except Paused:
            ends = not_started(
                503, "This site ends now, and may be back in some minutes.", "the same again in some minutes", 120
            )
            return await self._home(request, form_data, ends)
        return go_to(f"/d/{name}")

    async def _home(self, request: Request, form_data: dict[str, str], error: FormError | None) -> Response:
        rules = self._site.rules

        def build() -> Response:
            return html_response(
                "public/home.html.j2",
                error.status if error else 200,
                site=rules.title,
                rules=rules,
                most_rounds=max(offer.rounds for offer in rules.offers.values()),
                longest=MAX_TOPIC_LENGTH,
                sent=form_data,
                problems=error.problems if error else {},
                submission_id=secrets.token_hex(16),
                rows=self._recent() if rules.listed else [],
                base=_base(request),
            )

        response = await in_thread(build)
        if error and error.retry_after is not None:
            response.headers["retry-after"] = str(error.retry_after)
        return response

    def _recent(self) -> list[tuple[str, str, str]]:
        """The newest debates: name, topic, and what was decided or how far they are."""
        rows = []
        for name in self._site.names()[:_MAX_LISTED]:
            if path := self._site.journal(name):
                try:
                    debate = debate_list.row(path.removesuffix(JOURNAL))
                except (DebateError, OSError):
                    continue
                rows.append((name, debate.topic, self._progress_line(path, debate)))
        return rows

    def _progress_line(self, path: str, debate: debate_list.ListedDebate) -> str:
        if debate.complete:
            return debate.outcome
        if self._site.served_debates.running(path):
            return "running now"
        return "waiting for its turn" if self._site.queue.queue_position(path) else "not finished"

    # One debate

    def _journal(self, request: Request) -> str:
        path = self._site.journal(request.path_params["name"])
        if path is None:
            raise HTTPException(404)
        return path

    async def debate(self, request: Request) -> Response:
        """A debate: as it waits, as it runs, or as it was decided."""
        path, base, name = self._journal(request), _base(request), request.path_params["name"]
        served, queue_fields = self._site.served_debates.running(path), self._queue_fields(path)
        running = (served.current.state, served.page.html()) if served and served.current else None
        is_waiting = served is not None or queue_fields["queue_position"] > 0

        def page() -> Response:
            debate, body = running or _as_written(path)
            settings, complete = debate.opened.settings, debate.complete
            outcome = debate_list.outcome(debate) if complete else ""
            described = outcome or "; ".join(settings.positions.values())
            return html_response(
                "public/debate.html.j2",
                site=self._site.rules.title,
                name=name,
                base=base,
                settings=settings,
                topic=one_line(settings.topic),
                described=one_line(described)[:300],
                positions=blocks.positions(debate),
                state=debate,
                live=is_waiting and not complete,
                reloads=not (is_waiting or complete or queue_fields["given_up"]),
                status=served.status(debate) if served else _status(queue_fields, complete=complete),
                outcome=outcome,
                rehearsal=is_whole_rehearsal(debate),
                body=body,
            )

        return self._with_robots_tag(await in_thread(page))

    def _with_robots_tag(self, response: Response) -> Response:
        """An answer of one debate, which search engines leave out where the owner lists none."""
        if not self._site.rules.listed:
            response.headers["x-robots-tag"] = "noindex"
        return response

    def _queue_fields(self, path: str) -> dict[str, Any]:
        """What the page of a debate that does not run says of it beyond its journal: its place in the queue (0 if it
        does not wait) and about how long that is, when it is tried again, why it stopped, and that it is given up. What
        is not so is empty."""
        queue = self._site.queue
        queue_position, retry = queue.queue_position(path), queue.retry_seconds(path)
        wait = queue.wait_seconds(queue_position) if queue_position else None
        return {
            "queue_position": queue_position,
            "wait": site.minutes(wait) if wait is not None else "",
            "retry": site.minutes(retry) if retry is not None else "",
            "problems": self._site.served_debates.problems(path),
            "given_up": with_hint(*_GIVEN_UP) if queue.given_up(path) else self._site.not_continued.get(path, ""),
        }

    async def stream(self, request: Request) -> Response:
        """Streams the events of a debate; its place in the queue while it waits."""
        path, limits = self._journal(request), self._site.limits
        return self._stream(path, limits.stream(limits.visitor(request.scope)))

    def _stream(self, path: str, count: AbstractContextManager[None]) -> Response:
        served = self._site.served_debates.running(path)
        if served is not None:
            return live.event_stream(served.page.viewers, served.messages_so_far, count)
        viewers = self._site.queue.viewers(path)

        def first() -> list[bytes]:
            if viewers is None or self._site.queue.viewers(path) is not viewers:  # it began meanwhile: pages load it
                return [live.message("over", {})]
            return [live.message("status", _status(self._queue_fields(path), complete=False))]

        return live.event_stream(viewers, first, count)

    async def report(self, request: Request) -> Response:
        path = self._journal(request)
        return self._with_robots_tag(await standalone_page(lambda: report_html(path)))

    async def card(self, request: Request) -> Response:
        """The picture that other sites show beside a link to the debate."""
        path = self._journal(request)
        picture = await in_thread(lambda: _card(path, self._site.rules.title))
        return self._with_robots_tag(png(picture))


@until_changed(64)
def _as_written(path: str) -> tuple[DebateState, str]:
    """A debate that does not run, and its blocks as HTML."""
    debate = debate_list.load(path)[1]
    return debate, blocks.render_all(debate)


def _status(queue_fields: Mapping[str, Any], *, complete: bool) -> str:
    return pages.render("public/status.html.j2", complete=complete, **queue_fields)


def _base(request: Request) -> str:
    """The prefix of addresses of this site; the guard has checked the host."""
    return f"{'https' if is_https(request.scope) else 'http'}://{request.headers['host']}"


@until_changed(64)
def _card(path: str, site: str) -> bytes:
    debate = debate_list.load(path)[1]
    positions = [
        (debate.format.name_of(side), one_line(debate.opened.settings.positions.get(side, "")))
        for side in debate.format.sides
    ]
    result = debate_list.outcome(debate) if debate.complete else "Not decided yet"
    return card.draw(one_line(debate.opened.settings.topic), positions, result, site)


def create_app(site: Site, hosts: Iterable[str]) -> Guard:
    """The application for the public debates of the working folder. `hosts` are the names under which it is asked for,
    with their ports; the debates of `site` are ended with it."""
    views = Views(site)

    async def failed(request: Request, error: DebateError | HTTPException) -> Response:
        status, title = 500, "This did not work"
        problem = "This can't be shown until the owner of this site has looked at it."
        if isinstance(error, DebateError):
            site.log(str(error))
        elif error.status_code == 404:
            status, title, problem = 404, "Not found", "There is no such page. Its debate may have been removed."
        else:
            status, problem = error.status_code, error.detail
        return html_response("error.html.j2", status, site=site.rules.title, title=title, problems=[problem])

    routes = [
        Route("/", views.home),
        Route("/start", views.start, methods=["POST"]),
        Route("/static/{name}", pages.static_file),
        Route("/d/{name}", views.debate),
        Route("/d/{name}/stream", views.stream),
        Route("/d/{name}/report", views.report),
        Route("/d/{name}/card.png", views.card),
    ]
    app = pages.application(routes, failed, site.shutdown, site.queue_unfinished)
    return Guard(app, hosts=hosts, admit=site.limits.check_pace)
