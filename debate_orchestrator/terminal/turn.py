"""A person takes a turn at the terminal: reads the brief, writes a speech or fills in a form, and hands it in.

While one of their turns is due, nothing else is shown there, so they hear no more than any other speaker.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Collection, Iterator, Mapping
from typing import TYPE_CHECKING, NamedTuple

from debate_orchestrator.core import rapporteur, schedule, speech_rules, transcript_entries
from debate_orchestrator.core.events import BriefSent, Event
from debate_orchestrator.core.phases import Turn
from debate_orchestrator.core.state import DebateState
from debate_orchestrator.engine.turn import OnEvent
from debate_orchestrator.prompting.briefs import Brief, positions_shown
from debate_orchestrator.prompting.forms import FieldPath, FormQuestion, hint
from debate_orchestrator.prompting.person_turns import (
    ALL_ASKED,
    Document,
    asked_at_first,
    computed_answers,
    documents,
    form_remarks,
    full_text,
    heading,
    hides_ballots,
    human_seats,
    length_hint,
    part_name,
    question_title_with_criteria,
    reply_problems,
    short_form,
    side_meanings,
    speech_remarks,
    task,
)
from debate_orchestrator.terminal.asking import LINE_KEYS, TEXT_KEYS, Asker, Line, Question, Quit
from debate_orchestrator.terminal.drafts import Drafts, DraftWriter
from debate_orchestrator.terminal.form import Form
from debate_orchestrator.util.data import name_of
from debate_orchestrator.util.errors import Paused
from debate_orchestrator.util.numbers import plural
from debate_orchestrator.util.redact import redact
from debate_orchestrator.util.sanitize import count_words, one_line, sanitize
from debate_orchestrator.util.terminal_text import Back

if TYPE_CHECKING:
    from debate_orchestrator.terminal.keys import TerminalControl


class PersonTurn(NamedTuple):
    debate: DebateState
    turn: Turn
    brief: Brief
    asker: Asker
    drafts: Drafts

    def full_text(self) -> str:
        debate, turn, brief = self.debate, self.turn, self.brief
        return f"{_heading(debate, turn)}\n\n{full_text(debate, turn, brief, _about_form(debate, turn))}\n"

    def problems(self, text: str) -> list[str]:
        return reply_problems(self.debate, self.turn, self.brief, text)


class SpeechEditor:
    """The speech of one turn, while it is being written."""

    def __init__(self, person_turn: PersonTurn):
        self._person_turn, self._asker = person_turn, person_turn.asker
        self._text = person_turn.drafts.read_speech(person_turn.brief)
        self._writer = DraftWriter[str](lambda text: person_turn.drafts.save_speech(person_turn.brief, text))

    async def run(self) -> str:
        """The speech as it is handed in, valid. Raises Quit, with all that was written kept."""
        if self._text.strip():
            words = self._count_words(self._text)[0]
            self._asker.show(Line(f"What you had written is here again: {words:,} words.", True))
        while True:
            await self._write()
            if await self._hand_in():
                return self._text

    async def _write(self) -> None:
        question = Question(
            initial_text=self._text,
            multiline=True,
            private=True,
            status=self._status,
            on_change=self._writer.write_soon,
            shows={"brief": self._person_turn.full_text},
        )
        self._asker.show("", f"Write your speech: {TEXT_KEYS}.")
        try:
            self._text = await self._asker.ask(question)
        finally:
            self._writer.write_now()

    async def _hand_in(self) -> bool:
        """Whether it is valid, and meant so."""
        if problems := self._person_turn.problems(self._text):
            self._asker.show("", *(Line(problem, True) for problem in problems))
            return False
        lines = (*self._remarks(), "Enter hands it in; e and Enter continues with it.")
        question = Question(lines=lines, can_go_back=True, private=True, shows={"brief": self._person_turn.full_text})
        while True:
            try:
                answer = (await self._asker.ask(question)).lower()
            except Back:
                return False
            if answer in ("", "y", "yes"):
                return True
            if answer in ("e", "edit", "n", "no"):
                return False

    def _remarks(self) -> list[str]:
        """Notes to read before the speech is handed in: its length, and the effect of its last line."""
        words, turn = self._count_words(self._text)[0], self._person_turn.turn
        length = f"{plural(words, 'word')}. {length_hint(turn).capitalize()}".rstrip()
        return [length, *speech_remarks(self._person_turn.debate, turn, self._text)]

    def _count_words(self, text: str) -> tuple[int, int]:
        """The number of words, and the number over the limit."""
        visible = speech_rules.visible_before_lookup(self._person_turn.debate, text, self._person_turn.turn.phase)
        return visible.words + visible.dropped, visible.dropped

    def _status(self, text: str) -> str:
        words, dropped_words = self._count_words(text)
        phase = self._person_turn.turn.phase
        target = f" of about {phase.target_words:,}" if phase.target_words else ""
        excess_text = (
            f", {dropped_words:,} too many"
            if dropped_words
            else f" ({phase.max_words:,} at most)"
            if phase.max_words
            else ""
        )
        return " · ".join(filter(None, (f"{words:,} words{target}{excess_text}", self._writer.problem)))


class TurnForm(Form):
    """The form of one turn, while it is being filled in. A judge is asked six questions at most, unless they want
    more."""

    def __init__(self, person_turn: PersonTurn):
        debate, turn, brief, drafts = person_turn.debate, person_turn.turn, person_turn.brief, person_turn.drafts
        writer = DraftWriter[Mapping[FieldPath, str]](lambda values: drafts.save_form(brief, values))
        shape, shape_context = debate.shape(turn) or {}, schedule.shape_context(debate, turn)
        super().__init__(person_turn.asker, shape, shape_context, writer, drafts.read_form(brief))
        self.choose_short_form = short_form(debate, turn)
        self._person_turn = person_turn
        entries = transcript_entries.entries_for(debate, turn)
        meanings = {entry.turn.id: debate.format.heading_of(entry.turn) for entry in entries}
        meanings |= debate.format.rubric.convergence
        self._side_meanings = side_meanings(debate.format, positions_shown(debate, turn))
        self._meanings = meanings | self._side_meanings

    async def run(self) -> str:
        """The reply as it is handed in, valid. Raises Quit, with all that was entered kept."""
        if self.answers:
            self.asker.show(Line("What you had entered is here again.", True))
        self.asker.show("", f"Fill in the form: ? explains a question, {LINE_KEYS}.")
        person_turn = self._person_turn
        await self.fill_in(
            lambda: person_turn.problems(self._text()),
            remarks=lambda: form_remarks(person_turn.debate, person_turn.turn, self._text()),
        )
        return self._text()

    def _text(self) -> str:
        return json.dumps(self.reply(), ensure_ascii=False, indent=1)

    def name(self, part: str) -> str:
        return part_name(part, self.shape_context, self._person_turn.debate.format)

    def answer_text(self, question: FormQuestion) -> str:
        text = super().answer_text(question)
        meaning = self._side_meanings.get(text) if question.field.kind == "choice" else None
        return f"{text}, {meaning}" if meaning else text

    def computed(self, answers: Mapping[FieldPath, str]) -> Mapping[FieldPath, str]:
        return computed_answers(self._person_turn.debate, self._person_turn.turn, answers)

    def prompt_for(self, question: FormQuestion) -> Question:
        """A question with its explanation and its options."""
        options, expected = question.options(self.shape_context), hint(question, self.shape_context)
        is_last_round = (
            question.field_path[0] == "feedback" and self._person_turn.turn.round == self._person_turn.debate.rounds
        )
        note = "no round follows this one, so it is only in the report" if is_last_round else ""
        about = "; ".join(filter(None, (question.about, note)))
        title = question_title_with_criteria(question, self.shape_context, self._person_turn.debate.format)
        takes_several = question.field.kind in ("choices", "turns")
        rows = [f"  {n} {option}  {self._meanings.get(option, '')}".rstrip() for n, option in enumerate(options, 1)]
        rows = self._issues() if question.field.per_issue else rows
        choices = tuple((option, self._meanings.get(option, "")) for option in options)
        keys = f"Keys: Enter sends the answer; {LINE_KEYS}."
        return Question(
            title,
            lines=(about, *(rows if takes_several or question.field.per_issue else ()), f"({expected})"),
            choices=() if takes_several or question.may_be_empty else choices,
            words=options,
            explanation=("", f"{title}: {about or 'A part of your ballot'}.", f"What it takes: {expected}.", keys),
            private=True,
            status=lambda typed: self._status(question, typed),
            shows={"brief": self._person_turn.full_text, "entered": lambda: "\n".join(self.view()) + "\n"},
        )

    def _issues(self) -> list[str]:
        debate, issue_list = self._person_turn.debate, rapporteur.issue_list(self._person_turn.debate)
        renamed: Callable[[str], str] = debate.mirror.text if self._person_turn.turn.mirrored else str
        return (
            [f"  {name}. {one_line(renamed(text))}" for name, text in issue_list.issues.items()] if issue_list else []
        )

    def _status(self, question: FormQuestion, text: str) -> str:
        words, maximum = count_words(text), question.field.max_words
        length = (
            f"{words} words" + (f" of at most {maximum}" if maximum else "") if question.field.kind == "text" else ""
        )
        return " · ".join(filter(None, (self.progress_text(question), length, self.writer.problem)))


class TerminalPeople:
    """The people at one terminal, in every seat that they fill."""

    one_at_a_time = True

    def __init__(self, asker: Asker, drafts: Drafts):
        self._asker, self._drafts = asker, drafts
        self._on_quit: Callable[[], None] = lambda: None
        self.has_quit = False
        self._due_turn_ids: set[str] = set()
        self._seat: str | None = None
        """The seat that had the keyboard last."""
        self._has_written = False
        """Whether something can be seen that was written in the stage under way."""
        self._documents_read: dict[bool, set[Document]] = {False: set(), True: set()}
        """What was read, apart for the mirrored debate, which is read in another order."""

    @property
    def is_in_other_program(self) -> bool:
        """Whether they are in an editor or a pager, so that an interrupt is not meant for the debate."""
        return self._asker.is_in_other_program

    def quit(self) -> None:
        """Quits the debate: ends the question that is being asked."""
        self.has_quit = True
        self._asker.quit()

    def remove_drafts(self, debate: DebateState) -> None:
        self._drafts.remove_drafts(debate)

    def begin_watching(
        self, on_quit: Callable[[], None], control: TerminalControl | None, next_listener: OnEvent
    ) -> OnEvent:
        """Prepares for a debate that runs: `on_quit` is called when the person wants to quit, and `control` lends the
        terminal as long as a turn of theirs is due. Returns a listener for the events of the debate, which passes
        them to `next_listener`."""
        self._on_quit = on_quit

        def on_event(debate: DebateState, event: Event) -> None:
            if isinstance(event, BriefSent) and not self._due_turn_ids:
                self.remove_drafts(debate)
                self._due_turn_ids = {turn.id for turn in debate.due if turn.seat in human_seats(debate)}
                if self._due_turn_ids and control is not None:
                    control.lend()
            next_listener(debate, event)
            if self._due_turn_ids and not (self._due_turn_ids - set(debate.replies)):
                self._due_turn_ids = set()
                if self._has_written and hides_ballots(debate) and len(human_seats(debate)) > 1:
                    self._asker.clear()  # another judge may look on now
                self._has_written = False
                if control is not None:
                    control.take_back()

        return on_event

    async def reply(self, debate: DebateState, turn: Turn, brief: Brief) -> str:
        """The reply that they hand in for a turn. Raises Paused if they quit before."""
        person_turn = PersonTurn(debate, turn, brief, self._asker, self._drafts)
        try:
            if self.has_quit:
                raise Quit
            await self._call(person_turn)
            self._show(person_turn)
            self._has_written = True
            return await (SpeechEditor(person_turn) if debate.shape(turn) is None else TurnForm(person_turn)).run()
        except Quit:
            if not self.has_quit and any(due.seat not in human_seats(debate) for due in debate.due):
                waiting = "Waiting for replies that are already paid for; press Ctrl-C again to drop them."
                self._asker.show("", waiting)
            self.has_quit = True
            self._on_quit()
            note = " What was written is kept, and offered again when the debate is resumed (`debate resume`)."
            has_draft = os.path.exists(self._drafts.path_of(brief))
            raise Paused(
                f"{turn.id_hiding_mirrored}: left before it was handed in.{note if has_draft else ''}"
            ) from None

    async def _call(self, person_turn: PersonTurn) -> None:
        """Calls the person of a seat to the keyboard, if several share it; nothing that another wrote is seen."""
        seats = human_seats(person_turn.debate)
        if len(seats) > 1 and person_turn.turn.seat != self._seat:
            if self._has_written:
                self._asker.clear()
            name = person_turn.debate.format.name_of(person_turn.turn.seat)
            question = Question(f"{name}, take the keyboard.", ("Press Enter when you have it.",), private=True)
            await self._asker.ask(question)
            self._documents_read = {False: set(), True: set()}
        self._seat = person_turn.turn.seat

    def _show(self, person_turn: PersonTurn) -> None:
        """Shows the brief, with what is new to them in full."""
        read = self._documents_read[person_turn.turn.mirrored]
        self._asker.show(Line(""), *readable(person_turn, read))
        read.update(documents(person_turn.debate, person_turn.brief))
        for path in self._drafts.earlier_drafts(person_turn.brief):
            self._asker.show(f"An earlier draft for this turn is not offered; it is in {name_of(path)}.")


def readable(person_turn: PersonTurn, known_documents: Collection[Document]) -> list[Line]:
    """The text that a person reads before a turn: who they are, the documents, the task, the length. Documents in
    `known_documents` are only counted."""
    debate, turn = person_turn.debate, person_turn.turn
    lines = [Line(_heading(debate, turn), True)]
    if turn.seat in debate.format.sides:
        position = sanitize(debate.opened.settings.positions[turn.seat])
        lines += [Line(f"You argue: {position}")]
    known_count = 0
    for document in documents(debate, person_turn.brief):
        if document in known_documents:
            known_count += 1
        else:
            lines += [Line(""), *_document_lines(document)]
    if known_count:
        lines += [Line(""), Line(f"({plural(known_count, 'document')} that you have read before: F2 shows them)")]
    lines += _task_lines(person_turn)
    lines_hint = ", with the lines that concede the debate or decline the position" if turn.speaking else ""
    return [*lines, Line(f"F2 shows every document and the whole task{lines_hint}.")]


def _task_lines(person_turn: PersonTurn) -> Iterator[Line]:
    """The task and the length. Of the person's own ballots, which others at the terminal need not see, only the
    heading."""
    debate, turn, brief = person_turn.debate, person_turn.turn, person_turn.brief
    for piece in task(debate, brief, short=debate.shape(turn) is None, about_form=_about_form(debate, turn)):
        yield Line("")
        if isinstance(piece, Document):
            yield from [Line(f"({piece.heading}: F2 shows it)")] if piece.is_own_ballot else _document_lines(piece)
            continue
        for line in redact(sanitize(piece)).split("\n"):
            yield Line(line.lstrip("# "), True) if line.startswith("# ") else Line(line)
    if length := length_hint(turn):
        yield from (Line(""), Line(f"Length: {length}"))


def _about_form(debate: DebateState, turn: Turn) -> str:
    if debate.shape(turn) is None or short_form(debate, turn) is None:
        return ALL_ASKED
    return f"A form asks for these: {', '.join(asked_at_first(debate, turn))}. `more` at its end asks for the rest."


def _heading(debate: DebateState, turn: Turn) -> str:
    return f"{heading(debate, turn)}. {debate.format.name_of(turn.seat)}, it is your turn."


def _document_lines(document: Document) -> Iterator[Line]:
    yield Line(redact(sanitize(document.heading)), True)
    yield from map(Line, redact(sanitize(document.text_below)).split("\n"))
