"""A debate so far as the blocks of a page: what was announced, each speech and each ballot, in their order."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from debate_orchestrator.core import rapporteur, schedule, transcript_entries
from debate_orchestrator.core.costs import costs_of
from debate_orchestrator.core.events import StructuredReplyGiven
from debate_orchestrator.core.fold import can_end_early
from debate_orchestrator.core.phases import CLERK, Turn
from debate_orchestrator.core.state import DebateState, Stage, spec_in
from debate_orchestrator.core.transcript_entries import TranscriptEntry
from debate_orchestrator.core.visible_text import quote_results, with_quotation_marks
from debate_orchestrator.core.winner import why_nothing_decided
from debate_orchestrator.prompting.person_turns import hides_ballots
from debate_orchestrator.reports import decision_brief, wording
from debate_orchestrator.reports.announcements import (
    Announcement,
    StageAnnouncements,
    stage_announcements,
)
from debate_orchestrator.reports.html import writer as html
from debate_orchestrator.reports.provenance import degradations
from debate_orchestrator.reports.rich_text import FieldText
from debate_orchestrator.util import model_spec
from debate_orchestrator.util.errors import DoesNotFit
from debate_orchestrator.util.log import log_error
from debate_orchestrator.web import pages

_FAILED = Announcement(
    "missing", "This part can't be shown: the server failed here. The journal has it.", severity="warning"
)


class Block(NamedTuple):
    """One part of the page of a debate under way."""

    id: str
    announcement: Announcement | None = None
    turn: Turn | None = None
    is_collapsed: bool = False
    """Whether its content is collapsed: of a decision brief that a revised one replaces."""


def blocks_of(debate: DebateState) -> list[Block]:
    """The blocks so far, in their order, without what is hidden."""
    return [block for stage in stage_announcements(debate) for block in _stage_blocks(debate, stage)]


def _stage_blocks(debate: DebateState, announcements: StageAnnouncements) -> Iterator[Block]:
    first = announcements.stage[0].id
    for k, line in enumerate(announcements.before):
        yield Block(f"before-{first}-{k}", announcement=line)
    if is_hidden(debate, announcements.stage):
        return
    for turn in announcements.stage:
        if turn.id in debate.replies and not rapporteur.is_hidden_advice(debate, turn):
            is_replaced = _is_replaced_decision_brief(debate, turn)
            yield Block(f"{'earlier' if is_replaced else 'turn'}-{turn.id}", turn=turn, is_collapsed=is_replaced)
    for k, line in enumerate(announcements.after):
        # A list of issues goes under the heading of its turn.
        if not (line.kind == "issues" and line.turn_id in debate.turns and _shows_issue_list(debate, line.turn_id)):
            yield Block(f"after-{first}-{k}", announcement=line)


def _is_replaced_decision_brief(debate: DebateState, turn: Turn) -> bool:
    """Whether a turn is a decision brief that a later one replaces."""
    last = rapporteur.decision_brief(debate)
    return last is not None and turn.id != last.turn_id and turn.phase.reply == debate.turns[last.turn_id].phase.reply


def _shows_issue_list(debate: DebateState, turn_id: str) -> bool:
    """Whether the block of a turn has a list of issues; a stand-in's has filler."""
    reply_event = debate.replies.get(turn_id)
    return isinstance(reply_event, StructuredReplyGiven) and not model_spec.is_stand_in(reply_event.reply.spec)


def is_hidden(debate: DebateState, stage: Stage) -> bool:
    """Whether a stage is hidden: a person still writes in it and must not hear it yet, or its ballots must not be
    seen by a person who is one of several judges."""
    if any(turn.id not in debate.replies and spec_in(debate, turn.seat) == model_spec.HUMAN for turn in stage):
        return True
    return stage[0].judging and hides_ballots(debate) and not debate.complete


def hidden_turns(debate: DebateState) -> set[str]:
    """The turns on record that a page may not show yet. A report leaves out the rapporteur's advice by itself."""
    turns_answered = ((turn, stage) for stage in debate.stages for turn in stage if turn.id in debate.replies)
    return {
        turn.id
        for turn, stage in turns_answered
        if is_hidden(debate, stage) and not rapporteur.is_hidden_advice(debate, turn)
    }


def check_nothing_hidden(debate: DebateState) -> None:
    """Raises DoesNotFit if a report would show hidden turns."""
    if hidden_turns(debate):
        problem = "This debate has turns on record that are held back while a person writes or judges."
        raise DoesNotFit(problem, hint="read its page, and the report once they are shown there")


def render_all(debate: DebateState) -> str:
    """The blocks so far as HTML."""
    return "".join(render_block(debate, block) for block in blocks_of(debate))


def render_block(debate: DebateState, block: Block) -> str:
    """The block as HTML. If rendering fails, the error is reported and a sentence takes the block's place."""
    try:
        return _render_block(debate, block)
    except Exception as error:
        log_error(error)
        return pages.render("block.html.j2", block=block, line=_FAILED, text=_FAILED.text)


def _render_block(debate: DebateState, block: Block) -> str:
    if block.turn is None:
        line = block.announcement
        return pages.render("block.html.j2", block=block, line=line, text=line.standalone_text(debate) if line else "")
    turn, format = block.turn, debate.format
    reply_event = debate.replies[turn.id]
    entry = transcript_entries.entry(debate, turn)
    values: dict[str, Any] = {"body": "", "scores": None, "fields": (), "quote_results": quote_results(entry.quotes)}
    if isinstance(reply_event, StructuredReplyGiven):
        values |= _structured(debate, turn, reply_event.data)
    else:
        values["body"] = html.text_of_others(with_quotation_marks(entry.text, format.checked_tags))
    heading = format.heading_of(turn)
    return pages.render("block.html.j2", block=block, line=None, side=side(debate, turn), heading=heading, **values)


def side(debate: DebateState, turn: Turn) -> str:
    return turn.seat if turn.seat in debate.format.sides else "judge"


def positions(debate: DebateState) -> list[tuple[str, str, str]]:
    """Each side, its name, and what it argues."""
    argued = debate.opened.settings.positions
    return [(side, debate.format.name_of(side), argued[side]) for side in debate.format.sides]


def article(debate: DebateState, entry: TranscriptEntry, heading: str, floor: Sequence[str] = ()) -> dict[str, Any]:
    """A turn as it is shown to a person who takes part: a speech as HTML, a structured reply as lines of text, above it
    the questions from the `floor` that it answers and whether its side declined, and below it what was found of its
    quotes."""
    text = with_quotation_marks(entry.text, debate.format.checked_tags)
    return {
        "id": entry.turn.id,
        "side": side(debate, entry.turn),
        "heading": heading,
        "declined": debate.format.name_of(entry.turn.seat) if entry.declined else "",
        "body": "" if entry.structured else html.text_of_others(text),
        "lines": [_line(line) for line in text.split("\n")] if entry.structured else [],
        "floor": floor,
        "quote_results": quote_results(entry.quotes),
    }


_MAX_DEPTH = 8
"""The deepest indentation that the style sheet knows."""


def _line(text: str) -> tuple[int, str]:
    """The depth of a line, of two spaces each, and its words. On the page its rows after the first are deeper than the
    line, so that no value passes for a field."""
    words = text.lstrip(" ")
    return min((len(text) - len(words)) // 2, _MAX_DEPTH), words


def _structured(debate: DebateState, turn: Turn, reply: Mapping[str, Any]) -> dict[str, Any]:
    """A structured reply as in a report: the scores of a ballot as rows with what they are out of, and its other fields
    with their titles; a speech or a finding as HTML."""
    shape_context, shape = schedule.shape_context(debate, turn), debate.shape(turn) or {}
    reply = rapporteur.with_user_issues(debate, turn, reply)
    issue_list, writer = rapporteur.issue_list(debate), html.HtmlWriter({}, debate.format.checked_tags)
    names = {side: debate.format.name_of(side) for side in shape_context.sides}
    field_text = FieldText(names, issue_list.issues if issue_list else None)
    if turn.role == CLERK:  # addresses, titles and passages are others' words, and the report quotes them
        found = {name: field for name, field in shape["checks"].fields.items() if name in ("turn", "state", "why")}
        shape = {"checks": shape["checks"].model_copy(update={"fields": found})}
    if not turn.judging:
        return {"body": writer.block(field_text.block(shape, reply))}
    without, convergence = {"scores", "refused"}, reply.get("convergence")
    if debate.rounds == 1 and convergence and not convergence["detected"]:
        without.add("convergence")  # one round does not show it
    parts = field_text.item_parts(shape, reply, without)
    fields = [
        (part.title, writer.items(part.items) if part.kind == "list" else writer.line(part.phrase))
        for part in parts
        if part.items or part.phrase
    ]
    scores, points = None, reply.get("scores")
    if isinstance(points, Mapping):
        criteria = debate.format.rubric.criteria
        rows = [
            (
                criteria[name].title,
                shape_context.scale(name)[1],
                [points[side].get(name) for side in shape_context.sides],
            )
            for name in shape_context.criteria
        ]
        scores = {"sides": [(side, debate.format.name_of(side)) for side in shape_context.sides], "rows": rows}
    return {"scores": scores, "fields": fields}


def outcome(debate: DebateState) -> list[str]:
    """The recommendation and the decision of a complete debate."""
    decision_text = wording.decision_line(debate)
    if why_nothing_decided(debate):
        return [text for text in (decision_text, wording.FILLER) if text]
    report = decision_brief.decision_brief_report(debate)
    return [
        *(note.text for note in degradations(debate)),
        *([decision_brief.recommendation_line(report)] if report else []),
        *([decision_text] if decision_text else []),
    ]


def status(debate: DebateState, *, running: bool, pausing: bool, problems: list[str]) -> str:
    stage = debate.stages[-1] if debate.stages else ()
    format = debate.format
    parts = [f"Round {stage[0].round} of {debate.rounds}"] if stage and stage[0].round and debate.due else []
    parts += [", ".join(dict.fromkeys(turn.phase.title for turn in stage))] if debate.due else []
    waiting = [format.name_of(turn.seat) for turn in debate.due if spec_in(debate, turn.seat) == model_spec.HUMAN]
    hosted = [turn.id for turn in debate.due if spec_in(debate, turn.seat) == model_spec.HOST]
    parts += [cost] if (cost := pages.money(costs_of(debate).total)) else []
    if debate.complete:
        word = "Writing the report" if running else "Complete"
    elif running:
        word = "Pausing after this turn" if pausing else "Running"
    else:
        word = "Paused"
    return pages.render(
        "status.html.j2",
        word=word,
        parts=parts,
        waiting=waiting if running else (),
        hosted=hosted if not running else (),
        outcome=outcome(debate) if debate.complete else (),
        can_end_early=can_end_early(debate),
        ended_early=wording.ended_early(debate) if debate.complete else None,
        ending_early=debate.ended_after is not None and not debate.complete,
        problems=problems,
        questions=[(question.question, wording.names(debate, question.to)) for question in debate.floor_questions],
    )
