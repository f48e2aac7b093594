"""The list of issues and the decision brief as every report tells them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from typing import Any, Literal

from pydantic import Field

from debate_orchestrator.core import rapporteur, tally
from debate_orchestrator.core.phases import NO_DECISION, TIE
from debate_orchestrator.core.state import DebateState
from debate_orchestrator.core.winner import deciding_verdict
from debate_orchestrator.reports import wording
from debate_orchestrator.reports.parts import DisputedClaim, Part
from debate_orchestrator.util.messages import and_joined
from debate_orchestrator.util.numbers import plural
from debate_orchestrator.util.redact import map_leaves
from debate_orchestrator.util.sanitize import one_line, quoted, sanitize

MARK_TEXTS: dict[str, str] = {
    "held": "held when it was challenged",
    "granted": "granted by the other side",
    "weakened": "weakened by the other side",
    "not challenged": "not challenged",
    rapporteur.NOT_ARGUED: "not argued in the debate",
}
"""The meaning of each mark of a reason for a reader."""
RESOLVED, UNRESOLVED = "resolved by consensus", "unresolved"
"""The status of a row of the dissent record that is settled, and of one that is still wholly in dispute."""
_PART_PATH = re.compile(r"^([a-z_]+)(?:\[(\d+)\])?(?:\.(\w+))?(?=:)")
"""The path of a part of a decision brief, or of a field of it, at the head of a problem."""
_PART_NAMES = {
    "why": "Reason",
    "objections": "Objection",
    "by_case": "Case",
    "not_argued": "Issue not argued",
    "would_change": "Observation",
    "do_next": "Step",
}
"""The name of one item of a list of a decision brief."""
_SENTENCE_END = re.compile(r"[.!?…。！？][\"”’')\]*_`]*$")
"""The end of a text that ends in punctuation, inside quotation marks or brackets or before them."""
_SENTENCE = re.compile(
    r"(?:\S+\s+)*?(?![\"“‘'(\[*_]*(?:approx|ca|cf|Dr|Fig|Inc|Jr|Mrs?|Ms|Prof|Sr|St|vs|(?:[A-Za-z]{1,2}\.)+[A-Za-z])\.\s)"
    r"\S*[.!?…][\"”’')\]]*(?=\s+[\"“‘'(\[]*[^\W\d_a-z]|$)"
)
"""The first sentence of a text on one line, which does not end in an abbreviation."""
_CLAUSES = r".{20,%d}\w[”’')\]]*(?=[,;:–—]\s|\s[–—-]\s)"
"""The clauses at the beginning of a sentence that have at most so many characters together."""


_MAX_UNTOUCHED = 4
"""Issues that neither side dealt with, on page one."""


class IssueReport(Part):
    """One issue of the list."""

    id: str
    """`I1`, `I2`, ...: the first is the weightiest."""
    question: str
    """The question to be answered."""
    standing: str | None
    """The side that had the better of it by the judges' last ballots: a side, `even` or `untouched`; null if none
    says."""


class IssuesReport(Part):
    """The questions to be answered, drawn up before the first round."""

    cases: tuple[str, ...]
    """The kinds of decider for whom the answer may differ."""
    issues: tuple[IssueReport, ...]
    """The weightiest first."""
    round: int | None = None
    """The round whose ballots say how they stand; null if none does. Later ones were not judged."""
    unknowns: tuple[str, ...]
    """Facts that no one in the debate could measure."""
    by: Literal["rapporteur", "user"]
    """Who drew it up: the rapporteur, or the user."""
    changed: bool = False
    """Whether the user changed the rapporteur's list before the first round."""


class CaseReport(Part):
    """The advice for one case."""

    condition: str = Field(serialization_alias="if")
    """The condition that readers can check about their own situation."""
    then: str
    """The advice in that case."""
    sure: int
    """Percent."""


class ReasonReport(Part):
    """A reason that carries the recommendation."""

    heading: str = ""
    """Its subject, in a few words; may be empty."""
    consideration: str
    """The reason, in one to three sentences; the key is that of formats."""
    side: str | None
    """The side that put it forward; null if it is the rapporteur's own."""
    mark: str
    """How it fared in the debate: `held`, `granted`, `weakened`, `not challenged` or `not argued`."""
    turns: tuple[str, ...]
    """The turns that show it."""
    dissent_row: int | None
    """The row of the dissent record about it, from 1; null if none is."""
    unanswerable: bool = Field(default=False, exclude=True)
    """Whether the other side had no turn left in which it could answer it."""
    mark_problems: tuple[str, ...] = ()
    """Problems if the debate does not support the mark, a sentence each; empty if it does."""


class ObjectionReport(Part):
    """An objection to the recommendation."""

    heading: str
    """Its subject, in a few words; may be empty."""
    text: str
    """The objection, as its ablest advocate would put it."""


class IssueNotArgued(Part):
    """An issue that the debate left out. The rapporteur's own words."""

    issue: str
    """The question that was left out."""
    points_to: str
    """The direction in which it points."""


class DecisionBriefReport(Part):
    """The decision brief: what to do, in which case otherwise, how sure, and why."""

    turn: str
    """The turn in which it was written."""
    do: str
    """The default advice."""
    sure: int
    """The rapporteur's confidence, in percent."""
    sure_before: int | None = None
    """The same of its advice before the debate; null if there is none, or another model gave it."""
    why_not_more: str
    """The reason that the rapporteur is not surer."""
    check_first: str = ""
    """Things to find out before deciding; empty if the decision brief names none."""
    sides_with: str | None
    """The side whose position the advice comes closest to; null if it is neither's."""
    argued_better: str | None
    """The side that won the debate, which is another question; null if neither did."""
    differs: bool
    """Whether the advice goes against the side that argued better."""
    held_mirrored: bool | None
    """Whether the result held when judges saw the sides swapped; null if they did not."""
    judges_for: tuple[int, int] | None
    """The number of judges of the panel who voted for the result, or for the position that stands since the other side
    conceded, and the size of the panel; null for a single judge, without a decision, and where votes are equal."""
    by_case: tuple[CaseReport, ...]
    """In order of precedence; the last holds where none before it does."""
    weighing: str = ""
    """Why the reasons for it outweigh those against it; empty if the reasons say so themselves."""
    why: tuple[ReasonReport, ...]
    """The reasons that carry it, the weightiest first."""
    best_case_against: str
    """The strongest objection, as its ablest advocate would put it."""
    objections: tuple[ObjectionReport, ...]
    """All objections, the strongest first."""
    issues_not_argued: tuple[IssueNotArgued, ...]
    """Issues that the debate left out. A brief has them as `not_argued`."""
    would_change: tuple[str, ...]
    """Observations that would change the answer."""
    do_next: tuple[str, ...]
    """Steps, the first doable at once."""
    how_far_to_trust: str = Field(serialization_alias="trust")
    """How far to trust the decision brief: what rests on memory, what was checked, and what is weakest."""
    changed: str = ""
    """The changes that the debate made to the rapporteur's own advice; empty if there was none, or the decision brief
    does not say."""
    advice: str | None
    """The turn of that advice, which was given before the debate; null if there is none."""
    problems: tuple[str, ...] = Field(serialization_alias="shortcomings")
    """Statements of the brief against its own table or without support in the debate."""
    unfixed_problems: tuple[str, ...] = Field(serialization_alias="unfixed_shortcomings")
    """Those of the problems for which it was sent back to the rapporteur."""
    found_by_check: tuple[str, ...] = Field(default=(), serialization_alias="faults")
    """The problems that its check found in its first version."""
    revised: bool = False
    """Whether this version was written after the check."""


def issues_report(debate: DebateState) -> IssuesReport | None:
    """The list of issues; None if there is none (yet)."""
    issue_list = rapporteur.issue_list(debate)
    if issue_list is None:
        return None
    fields = {"cases": list(issue_list.cases), "issues": issue_list.issues, "unknowns": list(issue_list.unknowns)}
    visible = _sanitized(fields)
    standing = rapporteur.issue_standings(debate)
    return IssuesReport(
        cases=tuple(visible["cases"]),
        issues=tuple(
            IssueReport(id=name, question=question, standing=standing.get(name))
            for name, question in visible["issues"].items()
        ),
        unknowns=tuple(visible["unknowns"]),
        round=rapporteur.round_of_standings(debate),
        by="rapporteur" if debate.opened.settings.own_issues is None else "user",
        changed=debate.changed_issues is not None,
    )


def untouched_issues(report: IssuesReport | None) -> Iterator[str]:
    """The sentence on the issues that neither side dealt with, if there are any."""
    if report is None:
        return
    untouched = [issue for issue in report.issues if issue.standing == rapporteur.UNTOUCHED]
    named = [f"{issue.id} {quoted(wording.shorten(issue.question, 60))}" for issue in untouched[:_MAX_UNTOUCHED]]
    if more := len(untouched) - len(named):
        named.append(f"{more} more")
    if named:
        yield f"By the ballots of round {report.round}, neither side dealt with {and_joined(named)}."


def _sanitized(fields: Mapping[str, Any]) -> dict[str, Any]:
    """A structured reply with each of its texts sanitized. Quotes in it are not looked up: nothing here says so."""
    sanitized: dict[str, Any] = map_leaves(fields, lambda leaf: sanitize(leaf) if isinstance(leaf, str) else leaf)
    return sanitized


def decision_brief_report(debate: DebateState) -> DecisionBriefReport | None:
    """The decision brief; None if there is none (yet) that counts."""
    decision_brief = rapporteur.decision_brief(debate)
    if decision_brief is None or tally.is_left_out(debate, decision_brief):
        return None
    fields = _sanitized(decision_brief.data)
    advice, verdict = fields["recommendation"], deciding_verdict(debate)
    before, against = rapporteur.prior_advice(debate), _objections(fields)
    is_same_author = before is not None and before.reply.spec == decision_brief.reply.spec
    sure_before = before.data.get("sure") if before and is_same_author else None  # a format may ask for other fields
    winner = verdict.winner if verdict and verdict.winner in debate.format.sides else None
    sides_with = advice["sides_with"] if advice["sides_with"] in debate.format.sides else None
    return DecisionBriefReport(
        **{name: advice[name] for name in ("do", "sure", "check_first") if name in advice},
        **{
            name: fields[name]
            for name in ("weighing", "would_change", "do_next", *(["changed"] if before else []))
            if name in fields
        },
        turn=decision_brief.turn_id,
        how_far_to_trust=fields["trust"],
        why_not_more=full_stop(advice["why_not_more"]),
        sides_with=sides_with,
        argued_better=winner,
        differs=None not in (winner, sides_with) and winner != sides_with,
        held_mirrored=_held_mirrored(debate),
        judges_for=_judges_for(debate),
        by_case=tuple(CaseReport(condition=row["if"], then=row["then"], sure=row["sure"]) for row in fields["by_case"]),
        why=tuple(_reason(debate, row) for row in fields["why"]),
        best_case_against=against[0].text if against else "",
        objections=against,
        issues_not_argued=tuple(
            IssueNotArgued(**_row_fields(IssueNotArgued, row)) for row in fields.get("not_argued") or ()
        ),
        advice=before.turn_id if before else None,
        sure_before=sure_before if isinstance(sure_before, int) else None,
        problems=tuple(map(_in_words, rapporteur.decision_brief_problems(debate))),
        unfixed_problems=tuple(map(_in_words, rapporteur.unfixed_problems(debate))),
        found_by_check=tuple(_in_words(finding) for finding in _check_findings(debate)),
        revised=debate.turns_reached[decision_brief.turn_id].phase.triggered_by == "findings",
    )


def _check_findings(debate: DebateState) -> Iterator[str]:
    """What the check of a decision brief found; a format may ask for it in other fields than `where` and `problem`."""
    findings = [reply.data.get("findings") or () for reply in rapporteur.brief_phase_replies(debate)]
    for finding in _sanitized({"findings": [*chain.from_iterable(findings)]})["findings"]:
        parts = [finding.get("where"), finding.get("problem")] if isinstance(finding, dict) else [finding]
        yield one_line(": ".join(part for part in parts if isinstance(part, str)))


def _objections(fields: Mapping[str, Any]) -> tuple[ObjectionReport, ...]:
    """The objections to the recommendation. A format may ask for one text instead of a list."""
    if "objections" not in fields:
        return (ObjectionReport(heading="", text=fields["best_case_against"]),)
    return tuple(ObjectionReport(**_row_fields(ObjectionReport, objection)) for objection in fields["objections"] or ())


def _reason(debate: DebateState, row: Mapping[str, Any]) -> ReasonReport:
    """A reason, with those of its turns that are speeches: the others are not in the transcript."""
    speeches = [turn for turn in row["turns"] if turn in debate.turns and debate.turns[turn].speaking]
    problems = tuple(rapporteur.mark_problems(debate, row))
    dissent_row = row.get("dissent_row") if rapporteur.dissent_rows(debate) else None
    values = {"turns": tuple(speeches), "dissent_row": dissent_row, "mark_problems": problems}
    values |= {"unanswerable": row["mark"] == rapporteur.NOT_CHALLENGED and not rapporteur.can_be_answered(debate, row)}
    return ReasonReport(**_row_fields(ReasonReport, row) | values)


def _row_fields(part: type[Part], row: Mapping[str, Any]) -> dict[str, Any]:
    """The parts of a row that the report shows; a format may ask for more."""
    return {name: row[name] for name in part.model_fields if name in row}


def _in_words(problem: str) -> str:
    """A problem of the decision brief with words in place of its path."""

    def name_part(path: re.Match[str]) -> str:
        name, number, part = path.groups()
        place = name.replace("_", " ").capitalize()
        if number:
            place = f"{_PART_NAMES.get(name, place)} {number}"
        return f"{place}, {part.replace('_', ' ')}" if part else place

    return _PART_PATH.sub(name_part, problem)


def mark_text(reason: ReasonReport, dissent: Sequence[DisputedClaim]) -> str:
    """A reason's mark in words, as far as the debate supports it, and what became of the row of the dissent record
    about it: the beginning of a sentence."""
    if reason.mark_problems:
        return "Not supported by the debate"
    text = "no turn was left to answer it" if reason.unanswerable else MARK_TEXTS[reason.mark]
    number = reason.dissent_row or 0
    status = dissent[number - 1].status if 1 <= number <= len(dissent) else ""
    if status == RESOLVED and reason.mark not in ("held", "granted"):
        status = ""  # the dissent record does not say whether it was resolved for the reason, or against it
    row = f"; {'still in dispute' if status == UNRESOLVED else status} (C{number})" if status else ""
    return text.capitalize() + row


def check_sentences(decision_brief: DecisionBriefReport | None) -> Iterator[str]:
    """What the program found in a decision brief and what the check did, the last, a sentence each."""
    if decision_brief and decision_brief.problems:
        sent_back = len(decision_brief.unfixed_problems)
        again = f"; it was sent back for {sent_back} of them" if sent_back else ""
        yield f"The program found {plural(len(decision_brief.problems), 'problem')} in this brief{again}."
    if decision_brief and decision_brief.found_by_check:
        found = plural(len(decision_brief.found_by_check), "problem")
        draft = f"The check of the first draft found {found}, and the brief was revised."
        draft += " What of them still stands was not checked."
        yield draft if decision_brief.revised else f"The check of this brief found {found}; it was not revised."


def _held_mirrored(debate: DebateState) -> bool | None:
    cast_both_ways = [vote for vote in tally.final_votes(debate) if vote.is_cast_both_ways]
    return all(vote.stable for vote in cast_both_ways) if cast_both_ways else None


def _judges_for(debate: DebateState) -> tuple[int, int] | None:
    verdict, votes = deciding_verdict(debate), tally.final_votes(debate)
    if verdict is None or verdict.winner == NO_DECISION or len(votes) < 2:
        return None
    if verdict.winner == TIE and any(vote.winner in debate.format.sides for vote in votes):
        return None
    return sum(vote.winner in (verdict.winner, tally.unopposed_side(debate)) for vote in votes), len(votes)


def split_first_sentence(text: str) -> tuple[str, str]:
    line = one_line(text)
    first = _SENTENCE.match(line)
    return (first[0], line[first.end() :].strip()) if first else (line, "")


def first_sentence(text: str, maximum: int = 140, *, and_more: bool = False) -> str:
    """The first sentence of a text, or all that fit, with an ellipsis where more follows. Of one that is too long the
    first clauses are shown."""
    first, more = split_first_sentence(text)
    while and_more and more and len(first) + len((following := split_first_sentence(more))[0]) < maximum:
        first, more = f"{first} {following[0]}", following[1]
    if len(first) > maximum:
        clauses = re.match(_CLAUSES % (maximum - 2), first)
        return f"{clauses[0]} …" if clauses else wording.shorten(first, maximum)
    return f"{first} …" if more else first


def heading(text: str) -> str:
    """A heading that leads a paragraph, with a full stop after it."""
    return full_stop(one_line(text).rstrip(" :,;"))


def full_stop(text: str) -> str:
    """The text with a full stop after its last word, unless it ends in punctuation."""
    text = text.rstrip()
    return f"{text}." if text and not _SENTENCE_END.search(text) else text


def recommendation_line(decision_brief: DecisionBriefReport) -> str:
    return recommendation(decision_brief.sure, decision_brief.do)


def recommendation(sure: int, do: str) -> str:
    """The recommendation as a sentence. What was written is quoted: it is no finding of the program."""
    return f"Recommendation ({sure} % sure): {quoted(full_stop(do))}"
