"""The dashboard: the pages on which this user lists, starts, watches, steers, compares and searches debates; and the
form of a new debate, with every problem beside its field. `create_app` says which view answers which address."""

from __future__ import annotations

import secrets
import time
from collections.abc import Coroutine, Iterable, Mapping, Sequence
from typing import Any
from urllib.parse import quote, unquote

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Mount, Route, Router

from debate_orchestrator.core import schedule
from debate_orchestrator.core.fold import can_end_early
from debate_orchestrator.core.phases import JUDGE
from debate_orchestrator.engine import format_check, rejudge, start
from debate_orchestrator.engine.budget import estimate_debate
from debate_orchestrator.engine.debate import create_debate, floor_question
from debate_orchestrator.engine.library import find_risks
from debate_orchestrator.prompting.person_turns import human_seats
from debate_orchestrator.providers import discovery
from debate_orchestrator.providers.discovery import FoundModels
from debate_orchestrator.reports import ballot_filing
from debate_orchestrator.reports.compare import compare
from debate_orchestrator.reports.html import page as html_page
from debate_orchestrator.reports.model import build_report
from debate_orchestrator.setup import risks as risks_module
from debate_orchestrator.setup.answers import why_no_decision_brief
from debate_orchestrator.setup.risks import Risk
from debate_orchestrator.storage.paths import JOURNAL, DebateFiles
from debate_orchestrator.util import model_spec
from debate_orchestrator.util.coroutines import in_debate_pool_to_end
from debate_orchestrator.util.errors import BadSettings, DebateError
from debate_orchestrator.web import blocks, debate_list, pages, review_page, tournaments
from debate_orchestrator.web.debate_form import PreparedDebate, expected_cost, form_values, prepare, spec_label
from debate_orchestrator.web.guard import (
    DASHBOARD,
    AccessTokens,
    Guard,
    LinkedDebate,
    Scope,
    form,
    is_same_token,
    of_this_machine,
)
from debate_orchestrator.web.live import event_stream, message
from debate_orchestrator.web.pages import go_to, html_response, in_thread, standalone_page
from debate_orchestrator.web.review_page import Reviews
from debate_orchestrator.web.runs import ServedDebates, consent_already_given, must_be_among
from debate_orchestrator.web.seats import Seats

_MAX_COMPARED = 20
"""Debates side by side on one page."""
_LOOK_AGAIN_SECONDS = 60.0
"""Seconds after which models and programs are looked for again: a server of the user's own may have started."""
_MAX_FORM_SIZE = 2_000_000
"""Bytes of a form."""


class Dashboard:
    def __init__(self, tokens: AccessTokens, served_debates: ServedDebates):
        self._tokens, self._served_debates = tokens, served_debates
        self._address = f"{DASHBOARD}{tokens.dashboard}"
        self._models: FoundModels | None = None
        """The models that were found last."""
        self._models_found_at = 0.0

    def _html(self, template: str, code: int = 200, **values: Any) -> Response:
        values |= {
            "dashboard": self._address,
            "form_token": self._tokens.form,
            "submission_id": secrets.token_hex(16),
        }
        return html_response(template, code, **values)

    async def _page(self, template: str, code: int = 200, **values: Any) -> Response:
        """A page, which is made in a thread too."""
        return await in_thread(lambda: self._html(template, code, **values))

    def _address_of(self, journal: str) -> str:
        return f"{self._address}/debates/{quote(journal.removesuffix(JOURNAL), safe='')}"

    async def debates(self, request: Request) -> Response:
        rows = await in_thread(debate_list.list_debates)
        running = {row.name for row in rows if self._served_debates.running(f"{row.name}{JOURNAL}")}
        return await self._page("list.html.j2", rows=rows, running=running)

    async def search(self, request: Request) -> Response:
        """Searches all speeches for some words."""
        words = request.query_params.get("q", "")[:200]
        debates, more = await in_thread(lambda: debate_list.search(words))
        return await self._page("search.html.j2", words=words, found=debates, more=more)

    async def compare(self, request: Request) -> Response:
        names = [unquote(name) for name in request.query_params.getlist("debate")]  # as addresses have it
        if len(names) < 2:
            raise BadSettings("A comparison needs two debates at least.", hint="tick two of them in the list")
        if len(names) > _MAX_COMPARED:
            problem = f"{len(names)} debates are ticked, and a comparison shows {_MAX_COMPARED} at most."
            raise BadSettings(problem, hint="tick fewer, or run `debate compare`")

        def render_comparison() -> str:
            journals = [debate_list.journal_of(name) for name in names]
            loaded = [(path, *debate_list.load(path)) for path in journals]
            for _, _, debate in loaded:
                blocks.check_nothing_hidden(debate)
            reports = [(path, build_report(contents.entries, journal=path)) for path, contents, _ in loaded]
            return html_page.render_comparison(compare(reports))

        return await standalone_page(render_comparison)

    # A new debate

    async def new(self, request: Request) -> Response:
        """The form of a new debate; then what it would cost and do; then its start."""
        if self._models is None or time.monotonic() - self._models_found_at > _LOOK_AGAIN_SECONDS:
            self._models, self._models_found_at = await in_thread(discovery.find_models), time.monotonic()
        models = self._models
        if request.method != "POST":
            return await self._form(models, dict(request.query_params), [])
        form_data = await form(request, self._tokens.form, _MAX_FORM_SIZE)
        action, submission_id = form_data.pop("action", "cost"), form_data.pop("submission_id", "")
        if action in ("format", "back"):
            return await self._form(models, form_data, [])
        try:
            prepared = await in_thread(lambda: prepare(form_data, models))
            risks = await in_thread(lambda: find_risks(prepared.settings))
            if action == "start" and _has_consented(form_data, risks):

                def begin() -> Coroutine[Any, Any, str]:
                    return self._served_debates.open(prepared.settings, rehearse=prepared.rehearsal)

                return self._begun(await self._served_debates.forms.begin(submission_id, begin, form_data))
            values = await in_thread(lambda: _confirmation(prepared, risks, form_data))
            return await self._page("confirm.html.j2", **values, tried=action == "start")
        except DebateError as error:
            problems = error.problems
            # The same form may have been sent a moment before: then its debate has the files that this one wanted.
            if action == "start" and (earlier := self._served_debates.forms.earlier(submission_id, form_data)):
                try:
                    return self._begun(await earlier)
                except DebateError as earlier_error:
                    problems = earlier_error.problems
        return await self._form(models, form_data, problems)

    def _begun(self, journal: str) -> Response:
        return go_to(f"{self._address_of(journal)}#begun")  # by which the browser drops the form

    async def _form(self, models: FoundModels, form_data: Mapping[str, str], problems: list[str]) -> Response:
        values = await in_thread(lambda: form_values(models, form_data, problems))
        return await self._page("new.html.j2", 422 if values["problems"] else 200, **values)

    async def with_slash(self, request: Request) -> Response:
        """From the link of the dashboard without the slash at its end."""
        return go_to(f"{self._address}/")

    # One debate

    async def debate(self, request: Request) -> Response:
        """A debate: as it runs, or as far as it is."""
        name = request.path_params["name"]
        path = debate_list.journal_of(name)
        live, problems = self._served_debates.running(path), self._served_debates.problems(path)
        contents, debate = await in_thread(lambda: debate_list.load(path))
        body = ""
        if live is not None and live.current is not None:
            debate, body = live.current.state, live.page.html()
        running, pausing = live is not None, live is not None and live.pausing
        linked = LinkedDebate(name, contents.entries[0].hash)

        def page() -> Response:
            format = debate.format
            return self._html(
                "debate.html.j2",
                local=of_this_machine(request.headers["host"]),
                running=running,
                body=body or blocks.render_all(debate),
                status=blocks.status(debate, running=running, pausing=pausing, problems=problems),
                name=name,
                settings=debate.opened.settings,
                positions=blocks.positions(debate),
                state=debate,
                seats=[
                    (format.name_of(seat), f"/seat/{quote(name, safe='')}/{seat}/{self._tokens.seat(linked, seat)}")
                    for seat in human_seats(debate)
                ],
                hearers=[
                    (seat, format.name_of(seat) if seat in format.sides else "the judges")
                    for seat in schedule.seats_open_to_questions(debate)
                ],
                can_end_early=can_end_early(debate),
                hides_turns=bool(blocks.hidden_turns(debate)),
                can_be_judged_again=bool(debate.judges) and debate.complete,
                review=review_page.link(self._tokens, linked),
                reviewers=[
                    (reviewer, f"?{review_page.own_query(self._tokens, linked, reviewer)}", handed_in)
                    for reviewer, handed_in in ballot_filing.reviewers_begun(DebateFiles.of_journal(path).ballots)
                ],
            )

        return await in_thread(page)

    async def stream(self, request: Request) -> Any:
        """Streams the events of a debate."""
        served = self._served_debates.running(debate_list.journal_of(request.path_params["name"]))
        if served is None:
            return event_stream(None, lambda: [message("over", {})])
        return event_stream(served.page.viewers, served.messages_so_far)

    async def report(self, request: Request) -> Response:
        """The HTML report, as `debate report` writes it."""
        path = debate_list.journal_of(request.path_params["name"])
        _, debate = await in_thread(lambda: debate_list.load(path))
        blocks.check_nothing_hidden(debate)
        return await pages.report(path)

    async def act(self, request: Request) -> Response:
        """Handles the buttons of a debate."""
        name, action = request.path_params["name"], request.path_params["action"]
        path = debate_list.journal_of(name)
        form_data = await form(request, self._tokens.form, _MAX_FORM_SIZE)
        debate_address = self._address_of(path)
        match action:
            case "pause":
                if served := self._served_debates.running(path):
                    served.pause()
            case "continue":
                risks = await in_thread(lambda: find_risks(path))
                if not _has_consented(form_data, risks):
                    return await self._consent(f"{debate_address}/continue", form_data, {}, risks=risks)
                self._served_debates.start(path, lambda _, risks_found: must_be_among(risks, risks_found))
            case "question":
                text, to = form_data.get("question", "").strip(), form_data.get("to", "")
                await self._served_debates.record(
                    path, lambda debate: floor_question(debate, text, (to,) if to else ())
                )
            case "end":
                await self._served_debates.record(path, schedule.early_end)
            case "judge":
                return await self._judge(path, form_data)
            case _:
                raise HTTPException(404)
        return go_to(debate_address)

    async def _consent(
        self,
        address: str,
        form_data: Mapping[str, str],
        kept: Mapping[str, str],
        *,
        risks: tuple[Risk, ...] = (),
        judges: Sequence[str] = (),
        expected: str = "",
    ) -> Response:
        """The page that asks for consent to what a journal does besides the debate, or shows what judging it again is
        `expected` to take. It sends the form again, with the fields that are `kept`."""
        title = "Judge again" if expected else "Your consent"
        shown = {"address": address, "title": title, "tried": "risk" in form_data, "kept": kept, **_shown_risks(risks)}
        return await self._page("consent.html.j2", **shown, judges=judges, expected=expected)

    async def _judge(self, path: str, form_data: Mapping[str, str]) -> Response:
        """Judges a finished debate again, by the models that were named, once what it takes was shown."""
        judges = [line.strip() for line in form_data.get("judges", "").splitlines() if line.strip()]
        if not judges:
            raise BadSettings("judges: name a model, such as anthropic:claude-opus-5-5, or several, a line each.")
        contents, _ = await in_thread(lambda: debate_list.load(path))
        risks = risks_module.of_rejudging([entry.event for entry in contents.entries], rejudge.output_path(path))
        risks = (*risks, *find_risks({"topic": "", "cast": {"judge": judges}}))
        kept = {"judges": "\n".join(judges), "submission_id": form_data.get("submission_id", "")}
        address = f"{self._address_of(path)}/judge"
        if not _has_consented(form_data, risks):
            return await self._consent(address, form_data, kept, risks=risks)
        if any(map(model_spec.makes_calls, judges)) and form_data.get("shown") != "yes":
            kept |= {"shown": "yes", **{name: form_data[name] for name in ("agree", "risk") if name in form_data}}
            # The prompts that the expectation is made of were agreed to.
            expected = await in_thread(lambda: expected_rejudging(path, judges))
            return await self._consent(address, form_data, kept, judges=judges, expected=expected)

        def write_journal() -> DebateFiles:
            start.must_be_callable({JUDGE: tuple(judges)})
            rejudging, files = rejudge.checked_for_start(
                rejudge.rejudging_from_file(path, judges), None, lambda risks_found: must_be_among(risks, risks_found)
            )
            with create_debate(rejudging.opened, files, rejudging.speeches):
                return files

        async def run() -> str:
            files = await in_debate_pool_to_end(write_journal)
            self._served_debates.start(files.journal, consent_already_given)
            return files.journal

        journal = await self._served_debates.forms.begin(form_data.get("submission_id", ""), run, path, judges)
        return go_to(self._address_of(journal))


def _confirmation(prepared: PreparedDebate, risks: tuple[Risk, ...], form_data: Mapping[str, str]) -> dict[str, Any]:
    """The values of the page that confirms a new debate: its cost and its actions."""
    format = format_check.load(prepared.settings.format)
    return {
        "settings": prepared.settings,
        "sides": {side: format.name_of(side) for side in format.sides},
        "names": {seat: format.name_of(seat) for seat in prepared.settings.cast},
        "who": spec_label,
        "derives": not prepared.settings.positions,
        "rehearsal": prepared.rehearsal,
        "why_no_decision_brief": why_no_decision_brief(prepared.settings, format),
        "expected": expected_cost(prepared),
        "report": prepared.files.report,
        **_shown_risks(risks),
        "fields": {name: text for name, text in form_data.items() if name not in ("agree", "risk")},
    }


def _shown_risks(risks: tuple[Risk, ...]) -> dict[str, Any]:
    """Risks as a page shows them, and the digests by which its form agrees to them."""
    lines = [line.strip().removeprefix("- ") for line in risks_module.risk_lines(risks)]
    return {"risks": lines, "digests": [risk.digest for risk in risks]}


def _has_consented(form_data: Mapping[str, str], risks: tuple[Risk, ...]) -> bool:
    """Whether the form agrees to all of these risks: those that were shown on its page."""
    digests = {digest.strip() for digest in form_data.get("risk", "").split(",")}
    return not risks or (form_data.get("agree") == "yes" and {risk.digest for risk in risks} <= digests)


def expected_rejudging(path: str, judges: list[str]) -> str:
    """The estimate for judging a debate again, in a sentence. Raises BadSettings if the judges can't be used."""
    start.must_be_callable({JUDGE: tuple(judges)})
    rejudging = rejudge.rejudging_from_file(path, judges)
    return estimate_debate(rejudging.opened, rejudging.speeches).sentence()


_WITHOUT_DASHBOARD_TOKEN = ("/static/", "/seat/", "/review/")
"""Paths that do not need the token of the dashboard: seats and reviews have tokens of their own."""


def create_app(tokens: AccessTokens, hosts: Iterable[str], served_debates: ServedDebates | None = None) -> Guard:
    """The application for the debates of the working folder. `hosts` are the names under which it is asked for, with
    their ports; `served_debates` are ended with it."""
    served_debates = served_debates or ServedDebates()
    dashboard, seats = Dashboard(tokens, served_debates), Seats(tokens, served_debates)
    reviews = Reviews(tokens)
    dashboard_routes = [
        Route("/", dashboard.debates),
        Route("/new", dashboard.new, methods=["GET", "POST"]),
        Route("/search", dashboard.search),
        Route("/compare", dashboard.compare),
        Route("/tournaments", tournaments.list_tournaments),
        Route("/tournaments/{name}", tournaments.tournament),
        Route("/tournaments/{name}/report", tournaments.Reports().report),
        Route("/tournaments/{name}/debates/{debate}", tournaments.debate),
        Route("/debates/{name}", dashboard.debate),
        Route("/debates/{name}/stream", dashboard.stream),
        Route("/debates/{name}/report", dashboard.report),
        Route("/debates/{name}/{action}", dashboard.act, methods=["POST"]),
    ]
    routes = [
        Route(f"{DASHBOARD}{{key}}", dashboard.with_slash),
        Mount(f"{DASHBOARD}{{key}}", app=Router(dashboard_routes, redirect_slashes=False)),
        Route("/static/{name}", pages.static_file),
        Route("/review/{name}/{token}", reviews.review, methods=["GET", "POST"]),
        Route("/review/{name}/{token}/report", reviews.report),
        Route("/seat/{name}/{seat}/{token}", seats.seat, methods=["GET", "POST"]),
        Route("/seat/{name}/{seat}/{token}/stream", seats.stream),
        Route("/seat/{name}/{seat}/{token}/report", seats.report),
    ]

    def admit(scope: Scope) -> None:
        if not scope["path"].startswith(_WITHOUT_DASHBOARD_TOKEN) and not is_same_token(
            f"{DASHBOARD}{tokens.dashboard}", pages.dashboard_of(scope)
        ):
            raise HTTPException(401, "Open the dashboard with the link that `debate serve` printed at its start.")

    return Guard(pages.application(routes, pages.failed, served_debates.shutdown), hosts=hosts, admit=admit)
