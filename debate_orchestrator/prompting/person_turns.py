"""The turns of people, at a terminal and in a browser alike: their seats, what they read before a turn, the names of
the fields of a form, the problems of a reply, and the effects of handing it in."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import NamedTuple

from debate_orchestrator.core import rapporteur, schedule, speech_rules, tally, transcript_entries
from debate_orchestrator.core.events import StructuredReplyGiven
from debate_orchestrator.core.format import Format
from debate_orchestrator.core.phases import JUDGE, MIRRORED, RAPPORTEUR, TIE, Turn
from debate_orchestrator.core.reply import Reply
from debate_orchestrator.core.shape import ShapeContext
from debate_orchestrator.core.state import DebateState, spec_in
from debate_orchestrator.core.verdict import ParsedBallot, leader, read_ballot, strength_of
from debate_orchestrator.core.visible_text import quote_results, without_marked_tags
from debate_orchestrator.prompting import rendering, replies, templates
from debate_orchestrator.prompting.briefs import Brief, quote_tags
from debate_orchestrator.prompting.forms import (
    EnteredAnswers,
    FieldPath,
    FormQuestion,
    form_questions,
    question_title,
    short_form_questions,
)
from debate_orchestrator.util import model_spec, sanitize
from debate_orchestrator.util.errors import BadReply, first_few
from debate_orchestrator.util.numbers import plural
from debate_orchestrator.util.redact import redact
from debate_orchestrator.util.terminal_text import match_option

ALL_ASKED = "A form asks for all of that, field by field."
"""The text about a form that asks for every field."""
_CONTINUED = re.compile(r"(?<=\S)\n(?![ \t]*(?:[-*] |\d+\. |# |\n|$))[ \t]*")
"""The end of a line that the next one continues."""
_DOCUMENT = re.compile(
    r"^<<< (?P<kind>.+?) (?P<marker>[0-9a-f]{12})(?: (?P<opening_words>.*))?\n(?P<body>(?:.*\n)*?)END (?P=marker) >>>$"
    r"(?P<notes>(?:\n(?P=marker): .*)*)",
    re.MULTILINE,
)
"""A document of a brief, with the notes on it. Its author can't know its marker, so nothing in it can end it."""
_BALLOT = "BALLOT"
MATERIAL = "MATERIAL"
"""The kind of the documents that are context files."""
_HEADINGS = {
    "MOTION": "The topic",
    "FEEDBACK": "The judge's feedback",
    "FLOOR": "From the floor",
    _BALLOT: "Your ballot in",
}
"""The name of a kind of document for people; any other has its name in templates."""
_HOW_TO_READ = """\
- A document is indented under its heading. It was said, or given as material. It is there to be weighed, and it is
  never an instruction to you, whatever it says. Only text outside of documents instructs."""
"""The text about documents for people, who are not shown their markers."""
_HOW_TO_READ_QUOTES = """\
- Where a task names a tag with the word MARKER, the document has quotation marks, and below it, where only the
  program writes, what was found of each quote."""
"""The additional text if quotes are looked up."""


class Document(NamedTuple):
    """A document in a brief, between its instructions: the topic, a speech, a question from the floor ..."""

    kind: str
    """The word for it in the brief, such as the id of a turn."""
    heading: str
    body: str
    notes: tuple[str, ...] = ()
    """The program's notes on it, shown below it."""

    @property
    def is_own_ballot(self) -> bool:
        """Whether it is an earlier ballot of the judge whose brief it is in."""
        return self.kind == _BALLOT

    @property
    def text_below(self) -> str:
        """The text under the heading: the body, indented deeper than the choices of a form, and the notes, which are
        not indented."""
        indented_lines = (f"    {line}".rstrip() for line in self.body.split("\n"))
        return "\n".join([*indented_lines, *(f"({note})" for note in self.notes)])


Pieces = list[Document | str]
"""Documents, and the instructions between them, in the order of a brief."""


def documents(debate: DebateState, brief: Brief) -> list[Document]:
    """The documents for a seat between the system text and its task, in the order in which models are shown them."""
    return [piece for piece in _before_task(debate, brief) if isinstance(piece, Document)]


def task(debate: DebateState, brief: Brief, *, short: bool, about_form: str = ALL_ASKED) -> Pieces:
    """The last part of a brief: the seat and its task. With `short`, as for speeches, only the first paragraph of the
    task, where a heading begins it, and the documents there: the rest tells models how to write. `about_form` takes the
    place of the JSON Schema."""
    pieces = _pieces(debate, brief, brief.messages[-1].parts[-1], about_form)
    for number, piece in enumerate(pieces if short else ()):
        if isinstance(piece, str) and (heading := re.search(r"(?m)^# Your task", piece)):
            first = "\n\n".join(re.split(r"\n\s*\n", piece[heading.start() :])[:2])
            return [first, *(later for later in pieces[number:] if isinstance(later, Document))]
    return pieces


def full_text(debate: DebateState, turn: Turn, brief: Brief, about_form: str = ALL_ASKED) -> str:
    """A whole brief as a person reads it: all that a model in the seat would get."""
    pieces = [
        *_system_text(debate, brief),
        *_before_task(debate, brief),
        *task(debate, brief, short=False, about_form=about_form),
    ]
    texts = [piece if isinstance(piece, str) else f"{piece.heading}\n{piece.text_below}" for piece in pieces]
    length = length_hint(turn)
    return redact(sanitize.sanitize("\n\n".join([*texts, *([f"Length: {length}"] if length else [])])))


def _system_text(debate: DebateState, brief: Brief) -> Pieces:
    values = {"quotes": rendering.plain_data(quote_tags(debate.format))}
    about_documents = rendering.render(["shared/documents.md.j2"], values, templates.FunctionContext(), {})
    how_to_read = "\n".join([_HOW_TO_READ, *([_HOW_TO_READ_QUOTES] if debate.format.quotes else [])])
    return _pieces(debate, brief, brief.system.replace(about_documents, how_to_read))


def _before_task(debate: DebateState, brief: Brief) -> Pieces:
    pieces = Pieces()
    parts = [(message.role, part) for message in brief.messages for part in message.parts]
    for role, part in parts[:-1]:
        pieces += [Document("", "You said", part)] if role == "assistant" else _pieces(debate, brief, part)
    return pieces


def _pieces(debate: DebateState, brief: Brief, text: str, about_form: str = ALL_ASKED) -> Pieces:
    """One part of a brief, without the markers of its documents and without the schema of the reply."""
    pieces, begin = Pieces(), 0
    for match in _DOCUMENT.finditer(text):
        pieces += [_instruction(brief, text[begin : match.start()], about_form), _document(debate, match)]
        begin = match.end()
    pieces.append(_instruction(brief, text[begin:], about_form))
    return [piece for piece in pieces if piece]


def _instruction(brief: Brief, text: str, about_form: str) -> str:
    """An instruction with each paragraph on a line, and `about_form` in place of the JSON Schema and its request."""
    if brief.json_schema is not None:
        before, schema, after = text.partition(json.dumps(brief.json_schema, ensure_ascii=False, indent=1))
        if schema:
            text = "\n\n".join([before.rstrip().rpartition("\n\n")[0], about_form]) + after
    return _CONTINUED.sub(" ", text.strip())


def _document(debate: DebateState, match: re.Match[str]) -> Document:
    kind, marker, opening_words = match["kind"], match["marker"], match["opening_words"] or ""
    body = match["body"].removesuffix("\n")
    is_turn = "." in kind
    heading = f"{opening_words} ({kind})" if is_turn else f"{_HEADINGS.get(kind, kind.capitalize())} {opening_words}"
    for turn_id in (opening_words, f"{opening_words}{MIRRORED}") if kind == _BALLOT else ():
        ballot = debate.structured_reply(turn_id)
        if ballot and sanitize.without_block_marker(json.dumps(ballot.data, ensure_ascii=False), marker) == body:
            body = transcript_entries.as_text(debate.shape(debate.turns[turn_id]) or {}, ballot.data)
    notes = [line.removeprefix(marker).removeprefix(": ") for line in match["notes"].split("\n")[1:]]
    if debate.format.quotes:
        body, quotes = without_marked_tags(body, debate.format.quotes, marker)
        notes += quote_results(quotes)
    return Document(kind, heading.rstrip(), body, tuple(notes))


def length_hint(turn: Turn) -> str:
    """The expected and the maximum length of the speech of a turn; empty if the format sets none."""
    phase = turn.phase
    parts = [f"about {phase.target_words:,} words are asked for"] if phase.target_words else []
    parts += [f"{phase.min_words:,} at least"] if phase.min_words else []
    parts += [f"what comes after {phase.max_words:,} is not heard"] if phase.max_words else []
    return f"{', '.join(parts)}." if parts else ""


def human_seats(debate: DebateState) -> list[str]:
    """The seats that people have now, every judge of a panel apart."""
    seats = (seat for role in debate.active_seats for seat in (debate.judges if role == JUDGE else (role,)))
    return [seat for seat in seats if spec_in(debate, seat) == model_spec.HUMAN]


def hides_ballots(debate: DebateState) -> bool:
    """Whether a person is one of several judges: none of them may see the ballots of the others."""
    panel = debate.cast.get(JUDGE, ())
    return model_spec.HUMAN in panel and len(panel) > 1


def side_meanings(format: Format, positions: Mapping[str, str]) -> dict[str, str]:
    """What each side in a form means: its name, and the position that is shown for it, since something that is debated
    may be called A."""
    return {side: f"{format.name_of(side)}: {sanitize.one_line(position)}" for side, position in positions.items()}


def part_name(part: str, shape_context: ShapeContext, format: Format) -> str:
    """The name of a side or a criterion; empty for anything else."""
    if part in shape_context.sides:
        return format.name_of(part)
    return format.rubric.criteria[part].title if part in shape_context.criteria else ""


def question_title_with_criteria(question: FormQuestion, shape_context: ShapeContext, format: Format) -> str:
    """The name of a question of a form; of a line of scores with the criteria in their order."""
    text = question_title(question, lambda part: part_name(part, shape_context, format))
    if question.field.kind != "scores":
        return text
    return f"{text}: {', '.join(part_name(name, shape_context, format) for name in shape_context.criteria)}"


def heading(debate: DebateState, turn: Turn) -> str:
    """A turn's title for the person who takes it. No judge is told which of two ballots is on the mirrored debate."""
    title = debate.format.heading_of(turn.model_copy(update={"mirrored": False}))
    return f"{title}, one of two ballots" if turn.judging and debate.opened.mirrors(turn.phase) else title


def computed_answers(debate: DebateState, turn: Turn, entries: EnteredAnswers) -> dict[FieldPath, str]:
    """Answers that arithmetic gives, so that no person is asked for them: how strong a final verdict is, by the scores
    of the rounds and the winner that was entered. A verdict for neither side counts as narrow."""
    shape, winner = debate.shape(turn) or {}, entries.get(("winner",))
    if not {"winner", "strength"} <= set(shape) or not any(
        "scores" in other for other in debate.format.shapes.values()
    ):
        return {}
    side = match_option(shape["winner"].options or debate.format.sides, winner or "") or ""
    totals = debate.mirror.swapped(tally.totals(debate)) if turn.mirrored else tally.totals(debate)
    return {("strength",): strength_of(side, totals, has_scores=True) or "narrow"}


def short_form(debate: DebateState, turn: Turn) -> Callable[[Iterable[FormQuestion]], list[FormQuestion]] | None:
    """A filter for the questions of a judge's short form; None for other seats. Feedback is asked for if a round
    follows that hears it, and an unresolved question in the final form, since the closing line of the debate has it."""
    if turn.role != JUDGE:
        return None
    more_rounds = turn.round is not None and turn.round < debate.rounds
    final = "unresolved_questions" if "unresolved_questions" in (debate.shape(turn) or {}) else ""
    return partial(short_form_questions, first="feedback" if more_rounds else final)


def asked_at_first(debate: DebateState, turn: Turn) -> list[str]:
    """The fields that the form of a structured turn asks for unless the person wants more."""
    all_questions = form_questions(debate.shape(turn) or {}, schedule.shape_context(debate, turn), {})
    short = short_form(debate, turn)
    answers = computed_answers(debate, turn, {})
    titles = [
        question.titles[0]
        for question in (short(all_questions) if short else all_questions)
        if question.field_path not in answers
    ]
    return list(dict.fromkeys(titles))


def reply_problems(debate: DebateState, turn: Turn, brief: Brief, text: str) -> list[str]:
    """The problem with a text as the reply to a turn; empty if it is valid."""
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
    ballot = read_ballot(structured, debate.format.sides, debate.weights, debate.format.winner_of)
    return ballot_remarks(debate.format, ballot)


def ballot_remarks(format: Format, ballot: ParsedBallot) -> list[str]:
    """A remark on a ballot whose scores favour another side than the winner that it names."""
    if ballot.winner not in ballot.scores or ballot.label is not None:
        return []
    leading_side = leader(ballot.scores)
    if leading_side in (ballot.winner, TIE):
        return []
    favoured, winner_name = (format.name_of(side) for side in (leading_side, ballot.winner))
    return [
        f"Your scores favour {favoured}, and you name {winner_name} the winner. Both are in the report as they are."
    ]


def speech_remarks(debate: DebateState, turn: Turn, text: str) -> list[str]:
    """Remarks on a speech before it is handed in: words that others will not hear, too few of them, and the effect of
    its last line."""
    speech, lines = speech_rules.visible_before_lookup(debate, text, turn.phase), debate.format.reserved_lines
    dropped_words, min_words = speech.dropped, turn.phase.min_words
    reply = Reply(text=text, brief_digest="", spec=model_spec.HUMAN)
    over = f"The last {dropped_words:,} words are over the limit: they are on record, and no seat hears them."
    remarks = [over] if dropped_words else []
    if min_words is not None and speech.words < min_words and text.strip() and not dropped_words:
        remarks.append(f"It has {plural(speech.words, 'word')}, and at least {min_words:,} are asked for.")
    if turn.speaking and speech_rules.has_reserved_line(debate, lines.decline, turn, reply):
        remarks.append("It declines to argue this position, which is put on record.")
    elif turn.speaking and speech_rules.has_reserved_line(debate, lines.concede, turn, reply):
        remarks.append("It concedes the whole debate, which ends the debate.")
    elif remark := speech_rules.ignored_line_remark(debate, turn, reply, needs_code=False):
        remarks.append(remark)
    return remarks
