"""The page on which a reviewer judges a finished debate before seeing its verdict, in the steps and by the form
of `debate ballot`.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterable, Mapping
from datetime import date
from typing import Any
from urllib.parse import quote, urlencode

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response

from debate_orchestrator.core import transcript_entries
from debate_orchestrator.prompting import forms
from debate_orchestrator.reports import ballot_filing, reviewer_ballots
from debate_orchestrator.reports.html import writer as html
from debate_orchestrator.reports.markdown import speeches_for_review
from debate_orchestrator.reports.model import build_report
from debate_orchestrator.reports.parts import TurnReport
from debate_orchestrator.reports.report_sections import judges_files
from debate_orchestrator.reports.reviewer_ballots import NormalizedName, ReviewedDebate, normalized_name
from debate_orchestrator.util.coroutines import in_debate_pool_to_end
from debate_orchestrator.util.errors import BadFile, quoting_as_typed
from debate_orchestrator.util.sanitize import one_line
from debate_orchestrator.web import blocks, debate_list, form_fields, pages
from debate_orchestrator.web.guard import AccessTokens, LinkedDebate, form, is_same_token
from debate_orchestrator.web.pages import address_of, go_to, in_thread, render
from debate_orchestrator.web.runs import FormSubmissions

_MAX_FORM_SIZE = 100_000
"""Bytes of a form, in which the longest field is a reason of a sentence."""
_BALLOT_PARTS = ("rounds", "final", "why", "after")
"""The questions after reading the debate."""


def link(tokens: AccessTokens, debate: LinkedDebate) -> str:
    return f"/review/{quote(debate.name, safe='')}/{tokens.review(debate)}"


def own_query(tokens: AccessTokens, debate: LinkedDebate, reviewer: NormalizedName) -> str:
    """The part added to that link for one reviewer, who continues there where they left."""
    return urlencode({"as": reviewer, "key": tokens.reviewer(debate, reviewer_ballots.stem_of(reviewer))})


class Reviews:
    """The views of reviewers. The token in the address opens the review of one debate and nothing else. The link that
    reviewers are sent only begins a review; the token that a review gets then opens this one, and no other has it."""

    def __init__(self, tokens: AccessTokens):
        self._tokens, self._forms = tokens, FormSubmissions()

    def _path(self, request: Request) -> str:
        """The journal of a link. Not found for any other token."""
        params = request.path_params
        path = debate_list.journal_of_link(params["name"], self._tokens.review, params["token"])
        if path is None:
            raise HTTPException(404)
        return path

    async def review(self, request: Request) -> Response:
        """The vote before reading; then the debate with the ballot; then that it was filed."""
        path = self._path(request)
        if request.method != "POST":
            return await in_thread(lambda: _Review(self._tokens, request, path).show())
        form_data = await form(request, request.path_params["token"], _MAX_FORM_SIZE)
        if form_data.get("action") == "begin":
            return await self._begin(request, path, form_data)
        return await in_debate_pool_to_end(lambda: _Review(self._tokens, request, path).file(form_data))

    async def _begin(self, request: Request, path: str, form_data: Mapping[str, str]) -> Response:
        """Takes the vote before reading, and leads to the reviewer's own address, also if the form comes again."""
        answers = [form_data.get(field, "") for field in ("reviewer", "seen", "before")]

        async def begin() -> str:
            return await in_debate_pool_to_end(lambda: _Review(self._tokens, request, path).begin(*answers))

        try:
            return go_to(await self._forms.begin(form_data.get("submission_id", ""), begin, path, answers))
        except BadFile as error:
            values = {"name": one_line(answers[0]), "sent": form_data, "problems": error.problems}
            return await in_thread(lambda: _Review(self._tokens, request, path).page("before", **values))

    async def report(self, request: Request) -> Response:
        path = self._path(request)
        if not await in_thread(lambda: _Review(self._tokens, request, path).is_filed()):
            raise HTTPException(404)
        return await pages.report(path)


class _Review:
    """A request for the page of a review, and the answers to it."""

    def __init__(self, tokens: AccessTokens, request: Request, path: str):
        """Raises HTTPException for a debate that is not finished."""
        contents, debate = debate_list.load(path)
        if not debate.complete:
            raise HTTPException(404)
        self._tokens, self._request, self._debate = tokens, request, debate
        self._reviewed = ReviewedDebate.from_entries(path, contents.entries, debate)
        self._linked = LinkedDebate(request.path_params["name"], contents.entries[0].hash)
        name, key = normalized_name(request.query_params.get("as", "")), one_line(request.query_params.get("key", ""))
        is_own = name and is_same_token(tokens.reviewer(self._linked, reviewer_ballots.stem_of(name)), key)
        self._name = name if is_own else NormalizedName("")
        """The reviewer whose review the address opens; empty if it has no token, or another reviewer's."""

    def is_filed(self) -> bool:
        reviewed = self._reviewed
        return bool(self._name) and reviewer_ballots.is_filed(
            reviewed.folder, self._name, reviewed.form, reviewed.entries
        )

    def show(self) -> Response:
        if self.is_filed():
            return self.page("filed")
        draft = self._draft()
        return self._reading(draft, {}, []) if draft.get(ballot_filing.WAS_READ_KEY) else self.page("before")

    def _draft(self) -> dict[str, Any]:
        return ballot_filing.read_draft(self._reviewed.folder, self._name, self._reviewed.head) if self._name else {}

    def _own_address(self, name: NormalizedName) -> str:
        return f"{address_of(self._request)}?{own_query(self._tokens, self._linked, name)}"

    @quoting_as_typed()
    def begin(self, reviewer: str, was_seen: str, before: str) -> str:
        """Keeps the vote before reading, which is final from then on; returns the reviewer's own address. Raises
        BadFile with what is wrong."""
        reviewed = self._reviewed
        ballot: dict[str, Any] = reviewer_ballots.new_ballot(reviewed.head, reviewer.strip(), date.today().isoformat())
        ballot |= {"seen": was_seen == "yes", "before": before or None}
        problems = reviewed.form.problems(ballot, only=("reviewer", "before"))
        problems += [] if was_seen in ("yes", "no") else ["Say whether you have seen the verdict."]
        problems += [] if before else ["Say which position you hold before you read."]
        if problems:
            raise BadFile(problems)
        name = normalized_name(reviewer)
        if not ballot_filing.begin_review(
            reviewed.folder, ballot | {"reviewer": name, ballot_filing.WAS_READ_KEY: True}
        ):
            raise BadFile(
                f"There is a review by {name} already. If it is yours, open the address that you got when you "
                "began it, or ask the person who sent you this link for it. Otherwise sign with another name."
            )
        return self._own_address(name)

    @quoting_as_typed()
    def file(self, form_data: Mapping[str, str]) -> Response:
        """Files the ballot, or shows what is wrong with it."""
        reviewed, draft = self._reviewed, self._draft()
        if self.is_filed():  # the form was sent twice
            return go_to(self._own_address(self._name))
        if not draft.get(ballot_filing.WAS_READ_KEY):
            return self.page("before", problems=["Begin with the vote before reading."])
        answers = forms.form_value(
            reviewed.form.parts(*_BALLOT_PARTS), reviewed.form.shape_context, form_fields.typed_answers(form_data)
        )
        if answers is None:
            return self._reading(draft, form_data, ["Some of it is missing: see below."])
        ballot = {key: value for key, value in draft.items() if key != ballot_filing.WAS_READ_KEY} | answers
        ballot["why"] = one_line(ballot["why"])
        if "rounds" in ballot:
            ballot["rounds"] = {int(number): part for number, part in ballot["rounds"].items()}
        try:
            ballot = reviewer_ballots.in_order(reviewed.form, ballot)
            reviewer_ballots.checked_ballot(ballot, "ballot", reviewed.form, reviewed.entries)
            ballot_filing.file_ballot(reviewed.folder, ballot)
        except BadFile as error:
            if not self.is_filed():  # else by the same form, at the same time
                problems = [problem.removeprefix("ballot: ") for problem in error.problems]
                return self._reading(draft, form_data, problems)
        return go_to(self._own_address(self._name))

    def _reading(self, draft: Mapping[str, Any], form_data: Mapping[str, str], problems: list[str]) -> Response:
        """The debate without votes, and the ballot below it."""
        form, report = self._reviewed.form, build_report(self._reviewed.entries, journal=self._reviewed.path)
        empty_reason = {("why",): ""} if problems else {}  # an empty reason is a problem too

        def wording_of(question: forms.FormQuestion) -> tuple[str, str]:
            wording = reviewer_ballots.question_text(form, question.field_path, question.about)
            return wording.text, wording.help

        return self.page(
            "reading",
            name=draft["reviewer"],
            problems=problems,
            seen=bool(draft.get("seen")),
            parts=[(heading, self._articles(turns)) for heading, turns in speeches_for_review(report)],
            files=[(name, html.text_of_others(text), note) for name, text, note in judges_files(report)],
            criteria=form.criteria_shown,
            questions=form_fields.questions(
                form.parts(*_BALLOT_PARTS),
                form.shape_context,
                self._debate.format,
                self._debate.opened.settings.positions,
                empty_reason | form_fields.typed_answers(form_data),
                with_problems=bool(problems),
                wording_of=wording_of,
            ),
        )

    def _articles(self, turns: Iterable[TurnReport]) -> list[dict[str, Any]]:
        """The turns as they are shown, but for those without a reply that can be used."""
        return [
            blocks.article(
                self._debate,
                transcript_entries.entry(self._debate, self._debate.turns[turn.id]),
                turn.heading,
                turn.floor,
            )
            for turn in turns
            if turn.text is not None or turn.fields is not None
        ]

    def page(self, step: str, **values: Any) -> Response:
        """The page of a step. With `problems`, the form was not taken."""
        values = {"name": self._name, "sent": {}, "problems": [], **values}
        name = values["name"]
        page = render(
            "review.html.j2",
            step=step,
            here=address_of(self._request),
            own_query=own_query(self._tokens, self._linked, normalized_name(name)) if name else "",
            form_token=self._request.path_params["token"],
            submission_id=secrets.token_hex(16),
            texts=reviewer_ballots.review_texts(),
            topic=self._debate.opened.settings.topic,
            positions=blocks.positions(self._debate),
            draft=f"review {self._reviewed.head[:16]} {name}",
            **values,
        )
        return HTMLResponse(page, 422 if values["problems"] else 200)
