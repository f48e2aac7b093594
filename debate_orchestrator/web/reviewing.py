"""The page on which a reviewer judges a finished debate before seeing its verdict, in the steps and by the form
of `debate ballot`.
"""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from datetime import date
from typing import Any
from urllib.parse import quote, urlencode

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response

from debate_orchestrator.core import transcript_entries
from debate_orchestrator.prompting import forms
from debate_orchestrator.reports import review_files, reviews
from debate_orchestrator.reports.html import writer as html
from debate_orchestrator.reports.markdown import speeches_for_review
from debate_orchestrator.reports.model import build_report
from debate_orchestrator.reports.parts import TurnReport
from debate_orchestrator.reports.report_sections import judges_files
from debate_orchestrator.reports.reviews import NormalizedName, ReviewedDebate, normalized_name
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
    return urlencode({"as": reviewer, "key": tokens.reviewer(debate, reviews.stem_of(reviewer))})


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

    @staticmethod
    def _reviewed(path: str) -> ReviewedDebate:
        """The debate of a journal. Not found for one that is not finished."""
        contents, debate = debate_list.load(path)
        if not debate.complete:
            raise HTTPException(404)
        return ReviewedDebate.from_entries(path, contents.entries, debate)

    async def review(self, request: Request) -> Response:
        """The vote before reading; then the debate with the ballot; then that it was filed."""
        path, token = self._path(request), request.path_params["token"]
        if request.method == "POST":
            form_data = await form(request, token, _MAX_FORM_SIZE)
            if form_data.get("action") == "begin":
                return await self._begin(request, path, form_data)
            return await in_debate_pool_to_end(lambda: self._file(request, self._reviewed(path), form_data))
        return HTMLResponse(await in_thread(lambda: self._show(request, self._reviewed(path))))

    def _show(self, request: Request, reviewed: ReviewedDebate) -> str:
        name = self._reviewer(request, reviewed)
        if name and self._is_filed(reviewed, name):
            return self._page(request, reviewed, "filed", name=name)
        draft = review_files.read_draft(reviewed.folder, name, reviewed.digest) if name else {}
        if draft.get(review_files.READ_KEY):
            return self._reading(request, reviewed, draft, {}, [])
        return self._page(request, reviewed, "before", name=name)

    def _reviewer(self, request: Request, reviewed: ReviewedDebate) -> NormalizedName:
        """The reviewer whose review the address opens; empty if it has no token, or another reviewer's."""
        name, key = normalized_name(request.query_params.get("as", "")), one_line(request.query_params.get("key", ""))
        reviewer_key = self._tokens.reviewer(_linked(request, reviewed), reviews.stem_of(name))
        return name if name and is_same_token(reviewer_key, key) else NormalizedName("")

    def _own_address(self, request: Request, reviewed: ReviewedDebate, name: NormalizedName) -> str:
        return f"{address_of(request)}?{own_query(self._tokens, _linked(request, reviewed), name)}"

    def _is_filed(self, reviewed: ReviewedDebate, name: NormalizedName) -> bool:
        return reviews.is_filed(reviewed.folder, name, reviewed.form, reviewed.entries)

    async def _begin(self, request: Request, path: str, form_data: Mapping[str, str]) -> Response:
        """Takes the vote before reading, and leads to the reviewer's own address, also if the form comes again."""
        answers = [form_data.get(field, "") for field in ("reviewer", "seen", "before")]
        try:
            own_address = await self._forms.begin(
                form_data.get("form_key", ""),
                lambda: in_debate_pool_to_end(lambda: self._begun(request, self._reviewed(path), *answers)),
                path,
                answers,
            )
        except BadFile as error:
            values = {"name": one_line(answers[0]), "sent": form_data, "problems": error.problems}
            page = await in_thread(lambda: self._page(request, self._reviewed(path), "before", **values))
            return HTMLResponse(page, 422)
        return go_to(own_address)

    @quoting_as_typed()
    def _begun(self, request: Request, reviewed: ReviewedDebate, reviewer: str, was_seen: str, before: str) -> str:
        """Keeps the vote before reading, which is final from then on; returns the reviewer's own address. Raises
        BadFile with what is wrong."""
        ballot: dict[str, Any] = reviews.new_ballot(reviewed.digest, reviewer.strip(), date.today().isoformat())
        ballot |= {"seen": was_seen == "yes", "before": before or None}
        problems = reviewed.form.problems(ballot, only=("reviewer", "before"))
        problems += [] if was_seen in ("yes", "no") else ["Say whether you have seen the verdict."]
        problems += [] if before else ["Say which position you hold before you read."]
        if problems:
            raise BadFile(problems)
        name = normalized_name(reviewer)
        if not review_files.begin_review(reviewed.folder, ballot | {"reviewer": name, review_files.READ_KEY: True}):
            raise BadFile(
                f"There is a review by {name} already. If it is yours, open the address that you got when you "
                "began it, or ask the person who sent you this link for it. Otherwise sign with another name."
            )
        return self._own_address(request, reviewed, name)

    @quoting_as_typed()
    def _file(self, request: Request, reviewed: ReviewedDebate, form_data: Mapping[str, str]) -> Response:
        """Files the ballot, or shows what is wrong with it."""
        name = self._reviewer(request, reviewed)
        draft = review_files.read_draft(reviewed.folder, name, reviewed.digest) if name else {}
        if name and self._is_filed(reviewed, name):  # the form was sent twice
            return go_to(self._own_address(request, reviewed, name))
        if not draft.get(review_files.READ_KEY):
            problems = ["Begin with the vote before reading."]
            return HTMLResponse(self._page(request, reviewed, "before", name=name, problems=problems), 422)
        answers = forms.form_value(
            reviewed.form.parts(*_BALLOT_PARTS), reviewed.form.shape_context, form_fields.typed_answers(form_data)
        )
        if answers is None:
            problems = ["Some of it is missing: see below."]
            return HTMLResponse(self._reading(request, reviewed, draft, form_data, problems), 422)
        ballot = {key: value for key, value in draft.items() if key != review_files.READ_KEY} | answers
        ballot["why"] = one_line(ballot["why"])
        if "rounds" in ballot:
            ballot["rounds"] = {int(number): part for number, part in ballot["rounds"].items()}
        try:
            ballot = reviews.in_order(reviewed.form, ballot)
            reviews.checked_ballot(ballot, "ballot", reviewed.form, reviewed.entries)
            review_files.file_ballot(reviewed.folder, ballot)
        except BadFile as error:
            if self._is_filed(reviewed, name):  # at the same time
                return go_to(self._own_address(request, reviewed, name))
            problems = [problem.removeprefix("ballot: ") for problem in error.problems]
            return HTMLResponse(self._reading(request, reviewed, draft, form_data, problems), 422)
        return go_to(self._own_address(request, reviewed, name))

    def _reading(
        self,
        request: Request,
        reviewed: ReviewedDebate,
        draft: Mapping[str, Any],
        form_data: Mapping[str, str],
        problems: list[str],
    ) -> str:
        """The debate without votes, and the ballot below it."""
        form = reviewed.form
        empty_reason = {("why",): ""} if problems else {}  # an empty reason is a problem too
        answers, format = empty_reason | form_fields.typed_answers(form_data), form.debate.format

        def wording_of(question: forms.FormQuestion) -> tuple[str, str]:
            wording = reviews.question_text(form, question.field_path, question.about)
            return wording.text, wording.help

        return self._page(
            request,
            reviewed,
            "reading",
            name=draft["reviewer"],
            problems=problems,
            seen=bool(draft.get("seen")),
            **_debate(reviewed),
            criteria=form.criteria_shown,
            questions=form_fields.questions(
                reviewed.form.parts(*_BALLOT_PARTS),
                form.shape_context,
                format,
                form.debate.opened.settings.positions,
                answers,
                with_problems=bool(problems),
                wording_of=wording_of,
            ),
        )

    def _page(self, request: Request, reviewed: ReviewedDebate, step: str, **values: Any) -> str:
        debate, here = reviewed.form.debate, address_of(request)
        format, settings = debate.format, debate.opened.settings
        name = values.get("name", "")
        return render(
            "review.html.j2",
            step=step,
            here=here,
            own_query=own_query(self._tokens, _linked(request, reviewed), normalized_name(name)) if name else "",
            form_token=request.path_params["token"],
            form_key=secrets.token_hex(16),
            texts=reviews.review_texts(),
            topic=settings.topic,
            positions=[(side, format.name_of(side), settings.positions[side]) for side in reviewed.form.sides],
            draft=f"review {reviewed.digest[:16]} {name}",
            **{"sent": {}, "problems": [], **values},
        )

    async def report(self, request: Request) -> Response:
        path = self._path(request)

        def may_read() -> bool:
            reviewed = self._reviewed(path)
            name = self._reviewer(request, reviewed)
            return bool(name) and self._is_filed(reviewed, name)

        if not await in_thread(may_read):
            raise HTTPException(404)
        return await pages.report(path)


def _linked(request: Request, reviewed: ReviewedDebate) -> LinkedDebate:
    return LinkedDebate(request.path_params["name"], reviewed.entries[0].hash)


def _debate(reviewed: ReviewedDebate) -> dict[str, Any]:
    """What was said, under its headings, and the context files that the judges had: name, text as HTML, and a note."""
    debate, report = reviewed.form.debate, build_report(reviewed.entries, journal=reviewed.path)

    def article(turn: TurnReport) -> dict[str, Any]:
        return blocks.article(debate, transcript_entries.entry(debate, debate.turns[turn.id]), turn.heading, turn.floor)

    return {
        "parts": [
            # a turn with neither text nor fields brought no reply that can be used
            (heading, [article(turn) for turn in turns if turn.text is not None or turn.fields is not None])
            for heading, turns in speeches_for_review(report)
        ],
        "files": [(name, html.speech(text), note) for name, text, note in judges_files(report)],
    }
