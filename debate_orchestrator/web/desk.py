"""The desk: the pages on which this user lists, starts, watches, steers, compares and searches debates."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any
from urllib.parse import quote

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from debate_orchestrator.core import schedule
from debate_orchestrator.core.fold import can_end_early
from debate_orchestrator.engine import format_check
from debate_orchestrator.engine.api import find_risks, open_debate, open_judging
from debate_orchestrator.prompting.person_turns import human_seats
from debate_orchestrator.reports import review_files
from debate_orchestrator.reports.compare import compare
from debate_orchestrator.reports.html import page as html_page
from debate_orchestrator.reports.model import build_report
from debate_orchestrator.setup import risks as risks_module
from debate_orchestrator.setup.risks import Risk
from debate_orchestrator.storage.paths import JOURNAL, DebateFiles
from debate_orchestrator.util.errors import BadSettings, DebateError
from debate_orchestrator.web import blocks, folder, new_debate, reviewing
from debate_orchestrator.web.guard import DESK, Tokens, of_this_machine
from debate_orchestrator.web.live import EventStream, message
from debate_orchestrator.web.pages import form, go_to, html_response, own_page, report_page
from debate_orchestrator.web.runs import Runs, question


class Desk:
    """The views of the desk."""

    def __init__(self, tokens: Tokens, runs: Runs):
        self._tokens, self._runs = tokens, runs
        self._address = f"{DESK}{tokens.desk}"
        self._offered: list[new_debate.Offered] = []
        """What was found, once it was looked for."""

    def _page(self, template: str, code: int = 200, **values: Any) -> Response:
        return html_response(template, code, desk=self._address, form_token=self._tokens.form, **values)

    def _address_of(self, journal: str) -> str:
        """The address of the page of a debate."""
        return f"{self._address}/debates/{quote(journal.removesuffix(JOURNAL), safe='')}"

    async def debates(self, request: Request) -> Response:
        """The debates of the folder."""
        rows = await asyncio.to_thread(folder.listed)
        running = {row.name for row in rows if self._runs.running(f"{row.name}{JOURNAL}")}
        return self._page("list.html.j2", rows=rows, running=running)

    async def search(self, request: Request) -> Response:
        """Where some words stand in all speeches."""
        words = request.query_params.get("q", "")[:200]
        found = await asyncio.to_thread(folder.search, words)
        return self._page("search.html.j2", words=words, found=found)

    async def compare(self, request: Request) -> Response:
        """Some debates side by side."""
        names = request.query_params.getlist("debate")
        if len(names) < 2:
            raise BadSettings("A comparison needs two debates at least.", hint="tick two of them in the list")

        def compared() -> str:
            journals = [folder.journal_of(name) for name in names[:20]]
            loaded = [(path, *folder.load(path)) for path in journals]
            for _, _, state in loaded:
                blocks.must_hide_nothing(state)
            reports = [(path, build_report(contents.entries)) for path, contents, _ in loaded]
            return html_page.render_comparison(compare(reports))

        return own_page(await asyncio.to_thread(compared))

    # A new debate

    async def new(self, request: Request) -> Response:
        """The form of a new debate; then what it would cost and do; then its start."""
        if not self._offered:
            self._offered.append(await asyncio.to_thread(new_debate.look))
        offered = self._offered[0]
        if request.method != "POST":
            return self._form(dict(request.query_params), [])
        sent = await form(request, self._tokens.form)
        action = sent.pop("action", "cost")
        if action in ("format", "back"):
            return self._form(sent, [])
        try:
            prepared = await asyncio.to_thread(new_debate.prepare, sent, offered)
            risks = find_risks(prepared.settings)
            if action == "start" and _agreed(sent, risks):
                return await self._start(prepared)
            problem = "Tick the box to agree to what this debate does, or go back." if action == "start" else ""
            expected = await asyncio.to_thread(new_debate.expected, prepared)
            lines = risks_module.risk_lines(risks)
        except DebateError as error:
            return self._form(sent, error.complaints)
        fields = {name: text for name, text in sent.items() if name not in ("agree", "risk")}
        format = format_check.load(prepared.settings.format)
        return self._page(
            "confirm.html.j2",
            settings=prepared.settings,
            sides={side: format.name_of(side) for side in format.sides},
            names={seat: format.name_of(seat) for seat in prepared.settings.cast},
            who=new_debate.who,
            derives=prepared.derives,
            rehearsal=prepared.rehearsal,
            expected=expected,
            report=prepared.files.report,
            risks=[line.strip().removeprefix("- ") for line in lines],
            digests=[risk.digest for risk in risks],
            problem=problem,
            fields=fields,
        )

    def _form(self, sent: Mapping[str, str], complaints: list[str]) -> Response:
        """The form with what was sent, and every problem beside its field."""
        offered = self._offered[0]
        try:
            format = new_debate.chosen_format(sent)
        except DebateError as error:
            complaints, sent = error.complaints, {**sent, "format": new_debate.DEFAULT_FORMAT}
            format = new_debate.chosen_format(sent)
        fields = new_debate.more_fields(format)
        seats = {seat: new_debate.cast_options(seat, format, offered) for seat in new_debate.seats(format)}
        names = {"topic", "positions", "rounds", "format", "cast", *(field.name for field in fields)}
        names |= {f"cast.{seat}" for seat in seats} | {f"positions.{side}" for side in format.sides}
        problems = new_debate.by_field(complaints, names.__contains__)
        return self._page(
            "new.html.j2",
            422 if complaints else 200,
            sent=sent,
            format=format,
            formats=new_debate.formats(),
            seats=seats,
            chosen={seat: sent.get(f"cast.{seat}") or new_debate.default_of(seat, format, offered) for seat in seats},
            fields=fields,
            open=any(sent.get(field.name) or problems.get(field.name) for field in fields),
            problems=problems,
        )

    async def _start(self, prepared: new_debate.Prepared) -> Response:
        """Opens the debate and runs it. What was paid for its positions is on record, however the browser leaves."""
        opening = asyncio.ensure_future(open_debate(prepared.settings, rehearse=prepared.rehearsal, people=True))
        files = await asyncio.shield(opening)
        self._runs.start(files.journal)
        return go_to(self._address_of(files.journal))

    # One debate

    async def debate(self, request: Request) -> Response:
        """A debate: as it runs, or as far as it is."""
        path = folder.journal_of(request.path_params["name"])
        live = self._runs.running(path)
        contents, state = await asyncio.to_thread(folder.load, path)
        if live is not None and live.current is not None:
            state = live.current.state
        complaints = self._runs.complaints(path)
        running, stopping = live is not None, live is not None and live.stopping
        body = await asyncio.to_thread(lambda: [blocks.rendered(state, block) for block in blocks.outline(state)])
        format = state.format
        name, first = request.path_params["name"], contents.entries[0].hash
        files = DebateFiles.of_journal(path)
        return self._page(
            "debate.html.j2",
            name=name,
            local=of_this_machine(request.headers["host"]),
            setup=state.opened.setup,
            sides={side: format.name_of(side) for side in format.sides},
            state=state,
            running=running,
            stopping=stopping,
            body=body,
            status=blocks.status(state, running=running, stopping=stopping, complaints=complaints),
            seats=[
                (format.name_of(seat), f"/seat/{quote(name, safe='')}/{seat}/{self._tokens.seat(first, seat)}")
                for seat in human_seats(state)
            ],
            hearers=[
                (seat, format.name_of(seat) if seat in format.sides else "the judges")
                for seat in schedule.hearers(state)
            ],
            closable=can_end_early(state),
            held=bool(blocks.held_back(state)),
            judged=bool(state.judges) and state.complete,
            review=reviewing.link(self._tokens, name, first),
            reviewers=[
                (reviewer, f"?{reviewing.own_query(self._tokens, first, reviewer)}", filed)
                for reviewer, filed in await asyncio.to_thread(review_files.reviewers, files.ballots)
            ],
        )

    async def stream(self, request: Request) -> Any:
        """What happens in a debate, as it happens."""
        run = self._runs.running(folder.journal_of(request.path_params["name"]))
        if run is None:
            return EventStream(None, lambda: [message("over", {})])
        return EventStream(run.audience, run.first)

    async def report(self, request: Request) -> Response:
        """The finished page, as `debate report` writes it."""
        path = folder.journal_of(request.path_params["name"])
        _, state = await asyncio.to_thread(folder.load, path)
        blocks.must_hide_nothing(state)
        return await report_page(path)

    async def act(self, request: Request) -> Response:
        """What the buttons of a debate do."""
        name, action = request.path_params["name"], request.path_params["action"]
        path = folder.journal_of(name)
        sent = await form(request, self._tokens.form)
        here = self._address_of(path)
        match action:
            case "pause":
                if run := self._runs.running(path):
                    run.pause()
            case "continue":
                risks = await asyncio.to_thread(find_risks, path)
                if not _agreed(sent, risks):
                    return self._consent(f"{here}/continue", risks, sent)
                self._runs.start(path)
            case "question":
                text, to = sent.get("question", "").strip(), sent.get("to", "")
                self._runs.record(path, lambda debate: question(debate, text, to))
            case "close":
                self._runs.record(path, schedule.early_end)
            case "judge":
                return await self._judge(path, sent)
            case _:
                raise HTTPException(404)
        return go_to(here)

    def _consent(
        self, address: str, risks: tuple[Risk, ...], sent: Mapping[str, str], kept: Mapping[str, str] | None = None
    ) -> Response:
        """The page that asks for consent to what a journal does beyond the debate, and sends the form again."""
        lines = [line.strip().removeprefix("- ") for line in risks_module.risk_lines(risks)]
        digests = [risk.digest for risk in risks]
        return self._page(
            "consent.html.j2", address=address, risks=lines, digests=digests, tried="risk" in sent, kept=kept or {}
        )

    async def _judge(self, path: str, sent: Mapping[str, str]) -> Response:
        """Judges a finished debate again, by the models that were named."""
        judges = [line.strip() for line in sent.get("judges", "").splitlines() if line.strip()]
        if not judges:
            raise BadSettings("judges: name a model, such as anthropic:claude-opus-5-5, or several, a line each.")
        contents, _ = await asyncio.to_thread(folder.load, path)
        risks = risks_module.of_judging([entry.event for entry in contents.entries])
        risks = (*risks, *find_risks({"topic": "", "cast": {"judge": judges}}))
        if not _agreed(sent, risks):
            return self._consent(f"{self._address_of(path)}/judge", risks, sent, {"judges": "\n".join(judges)})
        files = await asyncio.to_thread(open_judging, path, judges, trust=True)
        self._runs.start(files.journal)
        return go_to(self._address_of(files.journal))


def _agreed(sent: Mapping[str, str], risks: tuple[Risk, ...]) -> bool:
    """Whether the form agrees to all of these risks: those that were shown on its page."""
    shown = {digest.strip() for digest in sent.get("risk", "").split(",")}
    return not risks or (sent.get("agree") == "yes" and {risk.digest for risk in risks} <= shown)
