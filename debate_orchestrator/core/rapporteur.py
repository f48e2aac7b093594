"""The texts of the rapporteur: the list of issues, its advice before the debate, and the decision brief, with the
check of that brief against the record."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

from debate_orchestrator.core import tally
from debate_orchestrator.core.events import StructuredReplyGiven
from debate_orchestrator.core.phases import AFTER_ROUNDS, BEFORE_ROUNDS, DECISION_BRIEF, ISSUES, JUDGE, Phase, Turn
from debate_orchestrator.core.reply_check import beyond_targets
from debate_orchestrator.core.shape import Shape, present_fields
from debate_orchestrator.core.state import DebateState
from debate_orchestrator.core.values import FrozenModel
from debate_orchestrator.util.errors import short_repr
from debate_orchestrator.util.numbers import plural
from debate_orchestrator.util.sanitize import count_words, quoted

UNTOUCHED = "untouched"
"""A ballot's word for an issue that neither side has dealt with."""
OTHERWISE = "otherwise"
"""The condition of a last case that a decision brief may have: it repeats the recommendation."""
NOT_ARGUED = "not argued"
"""The mark of a reason that no side put forward: it is the rapporteur's own."""
NOT_CHALLENGED = "not challenged"
"""The mark of a reason that the other side did not answer, or could not."""
_NUMBER = re.compile(r"^\s*I?\d{1,2}[.:)]\s+")
"""A number that was written before a question."""
_WORD_TOLERANCE = 1.1
"""A whole decision brief longer than this many times the words asked for is sent back."""


class IssueList(FrozenModel):
    """The questions that a careful decider needs answered."""

    cases: tuple[str, ...] = ()
    """The kinds of decider for whom the answer may differ."""
    issues: Mapping[str, str]
    """Id to question, the weightiest first: I1, I2, ..."""
    unknowns: tuple[str, ...] = ()
    """Facts that no one in the debate can measure."""


def issue_list(debate: DebateState) -> IssueList | None:
    """The list of issues of a debate, the user's own or the rapporteur's; None if there is none (yet)."""
    user_issues = debate.opened.settings.own_issues
    if user_issues is not None:
        return IssueList(issues=_numbered(user_issues))
    reply = next(_replies(debate, ISSUES), None)
    if reply is None or not reply.data.get("issues"):
        return None
    cases, unknowns = (tuple(reply.data.get(name) or ()) for name in ("cases", "unknowns"))
    return IssueList(cases=cases, issues=_numbered(debate.changed_issues or reply.data["issues"]), unknowns=unknowns)


def is_changed_list(debate: DebateState, turn: Turn) -> bool:
    """Whether a turn drew up the list of issues, and the user changed it."""
    return debate.changed_issues is not None and turn.phase.enabled_by == ISSUES


def with_user_issues(debate: DebateState, turn: Turn, fields: Mapping[str, Any]) -> dict[str, Any]:
    """A structured reply as others hear it: the rapporteur's list with the issues that the user changed."""
    changed = {"issues": list(debate.changed_issues or ())} if is_changed_list(debate, turn) else {}
    return {**fields, **changed}


def without_number(question: str) -> str:
    """An issue without the number or id that was written before it."""
    return _NUMBER.sub("", question)


def _numbered(questions: Sequence[str]) -> dict[str, str]:
    return {f"I{n}": without_number(question) for n, question in enumerate(questions, start=1)}


def _replies(debate: DebateState, setting: str) -> Iterator[StructuredReplyGiven]:
    """The rapporteur's replies in the phases that this setting enables, in order."""
    sections = debate.plan.sections
    for slot in (*sections.get(BEFORE_ROUNDS, ()), *sections.get(AFTER_ROUNDS, ())):
        if slot.phase.enabled_by == setting and JUDGE not in slot.phase.seats:
            for seat in slot.phase.seats:
                if (reply := debate.structured_reply(slot.turn_id(seat))) is not None:
                    yield reply


def round_of_standings(debate: DebateState) -> int | None:
    """The last round, of those not left out, whose ballots say who has the better of the issues; None without one."""
    return max((n for n in debate.judged_rounds if tally.issue_rulings(debate, n)), default=None)


def issue_standings(debate: DebateState) -> dict[str, str]:
    """Issue to who has the better of it by the ballots of that round: a side, `even` or `untouched`. In a panel, by
    most judges; if they are divided, `even`. It is empty if no ballot says."""
    if (last_round := round_of_standings(debate)) is None or (issues := issue_list(debate)) is None:
        return {}
    rulings_by_judge = tally.issue_rulings(debate, last_round)
    leaders = {}
    for issue in issues.issues:
        on_issue = (rulings[issue] for rulings in rulings_by_judge if isinstance(rulings.get(issue, 0), str | None))
        (leader, highest_count), *others = Counter(on_issue).most_common() or [("", 0)]
        if leader:
            leaders[issue] = "even" if others and others[0][1] == highest_count else leader
    return leaders


def untouched_issues(debate: DebateState) -> tuple[str, ...]:
    """The issues that neither side has dealt with so far, the weightiest first."""
    return tuple(issue for issue, standing in issue_standings(debate).items() if standing == UNTOUCHED)


def brief_phase_replies(debate: DebateState, *, left_out: bool = False) -> Iterator[StructuredReplyGiven]:
    """The rapporteur's advice, its decision briefs and their check, in order. With `left_out`, those that a
    stand-in wrote beside real judges, or else all others."""
    return (reply for reply in _replies(debate, DECISION_BRIEF) if tally.is_left_out(debate, reply) == left_out)


def prior_advice(debate: DebateState) -> StructuredReplyGiven | None:
    """The reply in which the rapporteur gave its advice before the debate; None if there is none (yet), or it
    is left out."""
    replies = brief_phase_replies(debate)
    return next((reply for reply in replies if not debate.turns_reached[reply.turn_id].after_rounds), None)


def is_hidden_advice(debate: DebateState, turn: Turn) -> bool:
    """Whether a turn is the rapporteur's advice in a debate under way: a person who sees it may hold a seat."""
    return turn.phase.enabled_by == DECISION_BRIEF and not turn.after_rounds and not debate.complete


def decision_brief(debate: DebateState) -> StructuredReplyGiven | None:
    """The reply with the last decision brief that is not left out, or else with the last; None without one (yet)."""
    for left_out in (False, True):
        if written := [
            reply for reply in brief_phase_replies(debate, left_out=left_out) if "recommendation" in reply.data
        ]:
            return written[-1]
    return None


def decision_brief_findings(debate: DebateState) -> list[Any]:
    return [finding for reply in _replies(debate, DECISION_BRIEF) for finding in reply.data.get("findings") or ()]


def dissent_rows(debate: DebateState) -> list[Mapping[str, Any]]:
    """The rows of the dissent record; none of one that a stand-in wrote beside real judges."""
    replies = [reply for reply in _dissent_replies(debate) if not tally.is_left_out(debate, reply)]
    return [row for reply in replies for row in reply.data.get("rows") or ()]


def _dissent_replies(debate: DebateState) -> list[StructuredReplyGiven]:
    slots = [slot for slot in debate.plan.sections.get(AFTER_ROUNDS, ()) if JUDGE in slot.phase.seats]
    replies = (debate.structured_reply(slot.turn_id(judge)) for slot in slots for judge in debate.judges)
    return [reply for reply in replies if reply is not None and "rows" in reply.data]


def quality_problems(debate: DebateState, turn: Turn, reply: Mapping[str, Any]) -> list[str]:
    """Reasons to have a reply of the rapporteur that has its shape written again, a sentence each: lists that are too
    short or too long, and claims of a decision brief that its own table or the record contradicts."""
    shape = debate.shape(turn) or {}
    problems = list(beyond_targets(shape, reply))
    if "recommendation" not in reply:
        return problems
    sides_with, conceded = reply["recommendation"].get("sides_with"), tally.deciding_conceders(debate)
    if conceded == (sides_with,):
        problems.append(f"recommendation.sides_with: it is the position of {sides_with.upper()}, who conceded it.")
    problems += [*_table_problems(reply), *_length_problems(shape, turn.phase, reply)]
    for number, reason in enumerate(reply.get("why") or (), start=1):
        named = f" Its heading: {quoted(reason['heading'])}." if reason.get("heading") else ""  # many count from 0
        problems += [f"why[{number}]: {problem}{named}" for problem in mark_problems(debate, reason)]
    return problems


def _table_problems(reply: Mapping[str, Any]) -> Iterator[str]:
    """A sentence for each row of the table of cases that only repeats the recommendation, or has another percentage."""
    *cases, last = reply.get("by_case") or ({"if": ""},)
    if any(_repeats_recommendation(case) for case in cases):
        yield f'by_case: the row "{OTHERWISE}" is the recommendation itself; leave it out.'
    elif _repeats_recommendation(last) and last["sure"] != reply["recommendation"]["sure"]:
        numbers = f"{last['sure']:g} % sure and the recommendation {reply['recommendation']['sure']:g} %"
        yield f'by_case: the row "{OTHERWISE}" is {numbers}; they are one and the same advice.'


def _repeats_recommendation(case: Mapping[str, Any]) -> bool:
    """Whether a row of the table repeats the recommendation."""
    return str(case["if"]).strip(" .").casefold() == OTHERWISE


def _length_problems(shape: Shape, phase: Phase, reply: Mapping[str, Any]) -> Iterator[str]:
    repeated = sum(count_words(case["then"]) for case in reply.get("by_case") or () if _repeats_recommendation(case))
    words = _words(shape, {**reply, "changed": ""}) - repeated  # the report shows `changed` further down
    if phase.target_words and words > _WORD_TOLERANCE * phase.target_words:
        yield f"the reply: it has {words} words; write at most {phase.target_words}, and drop what carries least."


def _words(shape: Shape, data: Mapping[str, Any]) -> int:
    words = 0
    for name in present_fields(shape, data):
        field, values = shape[name], data[name]
        for value in values if isinstance(values, list) else [values]:
            if isinstance(value, Mapping):
                words += _words(field.fields, value)
            elif isinstance(value, str) and field.kind in ("text", "list"):
                words += count_words(value)
    return words


def decision_brief_problems(debate: DebateState) -> list[str]:
    """The problems of the latest decision brief; empty if there is none (yet)."""
    decision_brief_reply = decision_brief(debate)
    if decision_brief_reply is None:
        return []
    return quality_problems(debate, debate.turns_reached[decision_brief_reply.turn_id], decision_brief_reply.data)


def was_sent_back(debate: DebateState, turn: Turn) -> bool:
    """Whether a reply to the turn was sent back for its quality, not because it could not be used."""
    return any(reply.could_be_better for reply in debate.rejected_replies(turn.id))


def unfixed_problems(debate: DebateState) -> list[str]:
    """The problems of the decision brief that the rapporteur was told of and did not fix."""
    decision_brief_reply = decision_brief(debate)
    replies = debate.rejected_replies(decision_brief_reply.turn_id) if decision_brief_reply else ()
    earlier_problems = {_place_and_kind(problem.partition(": ")[2]) for reply in replies for problem in reply.problems}
    return [problem for problem in decision_brief_problems(debate) if _place_and_kind(problem) in earlier_problems]


def _place_and_kind(problem: str) -> str:
    """The beginning of a problem, such as `why[2]: it is marked held no side`: earlier versions worded it otherwise."""
    return re.sub(r"(: [^:;,.]*)(?:\W+(?:and |but )?(\w+ \w+))?.*", r"\1 \2", problem)


def mark_problems(debate: DebateState, reason: Mapping[str, Any]) -> list[str]:
    """A sentence for each way in which a reason's turns, or its dissent row, contradict its mark."""
    return [*_citation_problems(debate, reason), *_dissent_problems(debate, reason)]


def _citation_problems(debate: DebateState, reason: Mapping[str, Any]) -> Iterator[str]:
    side, mark = reason["side"], reason["mark"]
    if mark == NOT_ARGUED:
        if side is not None or reason["turns"]:
            yield f"it is marked {mark}, so side is null and no turn is cited; otherwise give it another mark."
        return
    if side is None:
        yield f"it is marked {mark}, and no side is named that put it forward."
        return
    other_side, cited = _other(debate, side), set(reason["turns"])
    side_name, other_name = side.upper(), other_side.upper()
    challenges = _challenges(debate, side, other_side)
    if mark not in (possible := marks_possible(debate, side)):
        why = _why_impossible(debate, mark, side, challenged=bool(challenges))
        yield f"it is marked {mark}, but {why}. The mark can only be: {' or '.join(possible or (NOT_ARGUED,))}."
    elif mark == "not challenged":
        if not any(turn.rpartition(".")[2] == side for turn in cited):
            yield f"it is marked {mark}, and no turn of {side_name} is cited, where {side_name} would have said it."
    elif mark == "held":
        if not cited & _answering_turns(debate, other_side, side, cited & challenges):
            where = f"cite where {other_name} challenged it and where {side_name} answered, after that"
            yield f"it is marked held: {where}."
    elif not cited & challenges:
        effect = "granted it" if mark == "granted" else "shook it"
        turn_of_other = f"turn of {other_name} is cited in which {other_name} had heard {side_name} and {effect}"
        yield f"it is marked {mark}, and no {turn_of_other}."


def _why_impossible(debate: DebateState, mark: str, side: str, *, challenged: bool) -> str:
    """The reason that no reason of a side can have a mark."""
    side_name, other_name = side.upper(), _other(debate, side).upper()
    if mark == NOT_CHALLENGED:
        return f"{side_name} conceded its whole position"
    if not challenged:
        return f"{other_name} had no turn in which it could answer {side_name}"
    return f"{side_name} had no turn in which it could answer a challenge of {other_name}"


def marks_possible(debate: DebateState, side: str) -> tuple[str, ...]:
    """The marks that a reason of a side can have: they follow from the turns after it, and from concessions."""
    other_side = _other(debate, side)
    challenges = _challenges(debate, side, other_side)
    challenged_marks = ("granted", "weakened") if challenges else ()
    held_marks = ("held",) if _answering_turns(debate, other_side, side, challenges) else ()
    unchallenged_marks = () if side in tally.deciding_conceders(debate) else (NOT_CHALLENGED,)
    return (*held_marks, *challenged_marks, *unchallenged_marks)


def _challenges(debate: DebateState, side: str, other_side: str) -> set[str]:
    """The speeches in which `other_side` could challenge a reason of `side`; by earlier rules, all of its speeches."""
    if debate.opened.mark_rules == 1:
        return {turn.id for turn in debate.turns.values() if turn.speaking and turn.seat == other_side}
    return _answering_turns(debate, side, other_side)


def can_be_answered(debate: DebateState, reason: Mapping[str, Any]) -> bool:
    """Whether the other side had a turn left for an answer after those that a reason cites."""
    side = reason["side"]
    return side is None or bool(_answering_turns(debate, side, _other(debate, side), reason["turns"]))


def _other(debate: DebateState, side: str) -> str:
    return next((name for name in debate.format.sides if name != side), side)


def _answering_turns(debate: DebateState, side: str, other_side: str, among: Collection[str] | None = None) -> set[str]:
    """The speeches in which `other_side` could answer `side`, having heard a speech of `side` before (one of `among`,
    if given)."""
    has_heard, answering = False, set()
    for stage in debate.stages:
        answering |= {turn.id for turn in stage if has_heard and turn.speaking and turn.seat == other_side}
        has_heard = has_heard or any(
            turn.speaking
            and turn.seat == side
            and other_side in turn.phase.heard_by
            and (among is None or turn.id in among)
            for turn in stage
        )
    return answering


def _dissent_problems(debate: DebateState, reason: Mapping[str, Any]) -> Iterator[str]:
    """A sentence if the row of the dissent record that a reason names contradicts its mark. If the other side
    had no turn left to answer the point, the row proves no challenge: the sides only said different things. A row of a
    stand-in, which briefs of earlier versions name, proves nothing."""
    number, rows, mark, side = reason.get("dissent_row"), dissent_rows(debate), reason["mark"], reason["side"]
    if number is None or any(tally.is_left_out(debate, reply) for reply in _dissent_replies(debate)):
        return
    if not 1 <= number <= len(rows):
        yield f"dissent_row {number:g}: the dissent record has {plural(len(rows), 'row')}."
        return
    row = rows[int(number) - 1]
    status, cited_turn_ids = row.get("status"), {*reason["turns"], *(row.get("turns") or ())}
    where = f"row {number:g} of the dissent record ({short_repr(row.get('claim'), 80)})"
    if side is not None and mark == NOT_CHALLENGED:
        if _answering_turns(debate, side, _other(debate, side), cited_turn_ids):
            yield f"it is marked {mark}, and {where} says that it was disputed: {status}."
    elif mark in (NOT_CHALLENGED, NOT_ARGUED):
        yield f"it is marked {mark}, and {where} says that it was disputed: {status}."
    elif mark == "granted" and status == "unresolved":
        yield f"it is marked granted, and {where} says that it is unresolved: that is held or weakened."
    elif mark == "held" and status == "resolved by consensus":
        yield f"it is marked held, and {where} says that both agree on it: that is granted."
