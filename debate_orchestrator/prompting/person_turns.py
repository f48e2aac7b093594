"""The turns of people, at a terminal and in a browser alike: their seats, what they read before a turn, the names of
the fields of a form, the problems of a reply, and the effects of handing it in."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import NamedTuple

from debate_orchestrator.core import rapporteur, schedule, speech_rules, tally, transcript_entries
from debate_orchestrator.core.events import StructuredReplyGiven
from debate_orchestrator.core.format import Format
from debate_orchestrator.core.phases import JUDGE, MIRRORED, RAPPORTEUR, TIE, Turn
from debate_orchestrator.core.reply import Reply
from debate_orchestrator.core.shape import ShapeContext
from debate_orchestrator.core.state import DebateState, spec_in
from debate_orchestrator.core.verdict import leader, read_ballot, strength_of
from debate_orchestrator.prompting import replies
from debate_orchestrator.prompting.briefs import Brief, common_values
from debate_orchestrator.prompting.fields import (
    Entered,
    FieldPath,
    FormQuestion,
    form_questions,
    label,
    short_form_questions,
)
from debate_orchestrator.util import model_spec, sanitize
from debate_orchestrator.util.errors import BadReply, first_few
from debate_orchestrator.util.terminal_text import match_option

ALL_ASKED = "A form asks for all of that, field by field."
"""What is said of a form that asks for every field."""
_CONTINUED = re.compile(r"(?<=\S)\n(?![ \t]*(?:[-*] |\d+\. |# |\n|$))[ \t]*")
"""The end of a line that the next one continues."""


class Document(NamedTuple):
    """What a person reads before a turn: the topic, a speech, a question from the floor ..."""

    heading: str
    body: str
    is_own_ballot: bool = False


def documents(debate: DebateState, turn: Turn) -> Iterator[Document]:
    """All that a seat is shown before a turn, in the order in which models are shown it."""
    values, format = common_values(debate, turn), debate.format
    positions = (f"{format.name_of(side)} argues: {position}" for side, position in values["positions"].items())
    yield Document("The topic", "\n".join([f"Topic: {values['topic']}", *positions]))
    if values["own_issues"] and values["issues"]:
        yield Document("The list of issues", "\n".join(f"{n}. {q}" for n, q in values["issues"]["issues"].items()))
    for file in values["context"]:
        yield Document(f"Material: {file.name}", file.text)
    for entry in transcript_entries.entries_for(debate, turn):
        taken = entry.turn
        heading = f"{format.name_of(taken.seat)}: {taken.phase.title} {format.tag_of(taken)} ({taken.id})"
        yield Document(heading, "\n".join([entry.text, *_notes(entry)]))
    if turn.seat in format.sides:
        for feedback in tally.feedback(debate, turn.seat, turn.round or 0):
            yield Document("The judge's feedback", feedback)
    for earlier in schedule.own_ballot_turns(debate, turn) if turn.role == JUDGE else ():
        ballot = debate.structured_reply(earlier.id)
        text = transcript_entries.as_text(debate.shape(earlier) or {}, ballot.data) if ballot else ""
        yield Document(f"Your ballot in {earlier.id.removesuffix(MIRRORED)}", text, is_own_ballot=True)
    if turn.role == RAPPORTEUR:
        rows = enumerate(rapporteur.dissent_rows(debate), start=1)
        listed = {
            "The dissent record": [f"{n}. {row['claim']} ({row['status']})" for n, row in rows],
            "What the program found in the decision brief": rapporteur.decision_brief_problems(debate),
        }
        yield from (Document(heading, "\n".join(lines)) for heading, lines in listed.items() if lines)
    if questions := values["floor"]:
        yield Document("From the floor", "\n".join(f"- {question['question']}" for question in questions))


def _notes(entry: transcript_entries.TranscriptEntry) -> list[str]:
    """Remarks on a speech that its hearers are told."""
    notes = ["This seat declined to argue here."] if entry.declined else []
    notes += [f"It was given after {entry.after}, and with knowledge of it."] if entry.after else []
    notes += ["A limit of length cut it short."] if entry.cut or entry.dropped else []
    notes += ["It writes lines for the other side, which is a fault."] if entry.other_lines else []
    notes += [f"Its author found {page.url}" for page in entry.found]
    return [f"({note})" for note in notes]


def task(debate: DebateState, turn: Turn, brief: Brief, *, short: bool, form: str = ALL_ASKED) -> str:
    """What a brief says to do now, without the documents, which `documents` has. With `short`, as for speeches, only
    the first paragraph: the others tell models how to write. `form` stands in place of the JSON Schema."""
    text, code = brief.messages[-1].parts[-1], sanitize.block_code(debate.opened.nonce, turn.id, "task")
    if brief.json_schema is not None:
        before, schema, after = text.partition(json.dumps(brief.json_schema, ensure_ascii=False, indent=1))
        if schema:
            text = "\n\n".join([before.rstrip().rpartition("\n\n")[0], form]) + after
    text = re.sub(rf"(?ms)^<<< [^\n]* {code}.*?^END {code} >>>$", "", text)
    sections = (section for section in re.split(r"(?m)^(?=# )", text) if section.startswith("# Your task"))
    paragraphs = [re.split(r"\n\s*\n", section.strip()) for section in sections]
    shown = (paragraph for section in paragraphs for paragraph in (section[:2] if short else section))
    return "\n\n".join(_CONTINUED.sub(" ", paragraph) for paragraph in shown)


def length_hint(turn: Turn) -> str:
    """How long the speech of a turn should be, and how long it may be; empty where the format sets none."""
    phase = turn.phase
    parts = [f"about {phase.words:,} words are asked for"] if phase.words else []
    parts += [f"{phase.least_words:,} at least"] if phase.least_words else []
    parts += [f"what comes after {phase.most_words:,} is not heard"] if phase.most_words else []
    return f"{', '.join(parts)}." if parts else ""


def human_seats(debate: DebateState) -> list[str]:
    """The seats that people have now, every judge of a panel apart."""
    seats = (seat for role in debate.active_seats for seat in (debate.judges if role == JUDGE else (role,)))
    return [seat for seat in seats if spec_in(debate, seat) == model_spec.HUMAN]


def hides_ballots(debate: DebateState) -> bool:
    """Whether a person is one of several judges: none of them may see the ballots of the others."""
    panel = debate.cast.get(JUDGE, ())
    return model_spec.HUMAN in panel and len(panel) > 1


def part_name(part: str, shape_context: ShapeContext, format: Format) -> str:
    """What a side or a criterion is called; empty for anything else."""
    if part in shape_context.sides:
        return format.name_of(part)
    return format.rubric.criteria[part].title if part in shape_context.criteria else ""


def question_label(question: FormQuestion, shape_context: ShapeContext, format: Format) -> str:
    """What a question of a form is about; of a line of scores with the criteria in their order."""
    text = label(question, lambda part: part_name(part, shape_context, format))
    if question.field.kind != "scores":
        return text
    return f"{text}: {', '.join(part_name(name, shape_context, format) for name in shape_context.criteria)}"


def computed_answers(debate: DebateState, turn: Turn, entries: Entered) -> dict[FieldPath, str]:
    """Answers that arithmetic gives, so that no person is asked for them: how firm a final verdict is, by the scores of
    the rounds and the winner that was entered. A verdict for neither side counts as narrow."""
    shape, winner = debate.shape(turn) or {}, entries.get(("winner",))
    if not {"winner", "strength"} <= set(shape) or not any(
        "scores" in other for other in debate.format.shapes.values()
    ):
        return {}
    side = match_option(shape["winner"].of or debate.format.sides, winner or "") or ""
    return {("strength",): strength_of(side, tally.totals(debate), has_scores=True) or "narrow"}


def short_form(debate: DebateState, turn: Turn) -> Callable[[Iterable[FormQuestion]], list[FormQuestion]] | None:
    """What picks the questions of a judge's short form; None for other seats. Feedback is asked for where a round
    follows that hears it, and an unresolved question in the final form, since the closing line of the debate has it."""
    if turn.role != JUDGE:
        return None
    more_rounds = turn.round is not None and turn.round < debate.rounds
    final = "unresolved_questions" if "unresolved_questions" in (debate.shape(turn) or {}) else ""
    return partial(short_form_questions, first="feedback" if more_rounds else final)


def asked_at_first(debate: DebateState, turn: Turn) -> list[str]:
    """The fields that the form of a structured turn asks for unless the person wants more."""
    every = form_questions(debate.shape(turn) or {}, schedule.shape_context(debate, turn), {})
    short = short_form(debate, turn)
    answers = computed_answers(debate, turn, {})
    titles = [
        question.titles[0] for question in (short(every) if short else every) if question.field_path not in answers
    ]
    return list(dict.fromkeys(titles))


def reply_problems(debate: DebateState, turn: Turn, brief: Brief, text: str) -> list[str]:
    """What is wrong with a text as the reply to a turn; empty if it is valid."""
    reply = Reply(text=text, brief_digest=brief.digest, spec=model_spec.HUMAN)
    try:
        replies.parse_reply(debate, turn, reply, brief.code)
    except BadReply as error:
        return [problem.removeprefix(f"{turn.id}: ") for problem in error.problems]
    return []


def form_remarks(debate: DebateState, turn: Turn, text: str) -> list[str]:
    """Remarks on a valid structured reply before it is handed in: the problems that the report will show with a list or
    a decision brief, and a ballot whose scores favour another side than its winner."""
    try:
        event = replies.parse_reply(debate, turn, Reply(text=text, brief_digest="", spec=model_spec.HUMAN), None)
    except BadReply:
        return []
    structured = event.data if isinstance(event, StructuredReplyGiven) else {}
    if turn.role == RAPPORTEUR:
        problems = rapporteur.quality_problems(debate, turn, structured)
        return [*first_few(problems, "the reply"), "The report shows what you leave as it is."] if problems else []
    if not turn.judging or "scores" not in structured or "winner" not in structured:
        return []
    reading = read_ballot(structured, debate.format.sides, debate.weights, debate.format.winner_of)
    ahead = leader(reading.scores)
    if reading.winner not in reading.scores or ahead in (reading.winner, TIE):
        return []
    favoured, winner_name = (debate.format.name_of(side) for side in (ahead, reading.winner))
    return [
        f"Your scores favour {favoured}, and you name {winner_name} the winner. Both stand in the report as they are."
    ]


def speech_remarks(debate: DebateState, turn: Turn, text: str) -> list[str]:
    """Remarks on a speech before it is handed in: words that others will not hear, and the effect of its last line."""
    dropped_words, lines = speech_rules.visible_as_quoted(debate, text, turn.phase).dropped, debate.format.lines
    reply = Reply(text=text, brief_digest="", spec=model_spec.HUMAN)
    over = f"The last {dropped_words:,} words are over the limit: they are on record, and no seat hears them."
    remarks = [over] if dropped_words else []
    if turn.speaking and speech_rules.says(debate, lines.decline, turn, reply):
        remarks.append("It declines to argue this position, which is put on record.")
    elif turn.speaking and speech_rules.says(debate, lines.concede, turn, reply):
        remarks.append("It concedes the whole debate, which ends the debate.")
    elif ignored := speech_rules.ignored_line(debate, turn, reply):
        remarks.append(lines.advice(ignored.line))
    return remarks
