"""What a debate looks like while it goes: told each event and each piece of a speech, it keeps a terminal in step.

Banners, scores and interventions are those that are announced everywhere, word for word.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

from debate_orchestrator.core import transcript
from debate_orchestrator.core.events import (
    Answer,
    Asked,
    CallFailed,
    Declined,
    EndedEarly,
    Event,
    QuestionAsked,
    Rejected,
    Spoke,
    Voted,
)
from debate_orchestrator.core.phases import Turn, fill_label
from debate_orchestrator.core.state import DebateState
from debate_orchestrator.reports import wording
from debate_orchestrator.reports.announcements import Announcement, announcements
from debate_orchestrator.rostrum import WIDEST
from debate_orchestrator.screen import bars, remarks, status
from debate_orchestrator.screen.cells import Line, Span
from debate_orchestrator.screen.inquiry import Inquiry
from debate_orchestrator.screen.layout import paragraph
from debate_orchestrator.screen.terminal import Terminal
from debate_orchestrator.screen.voices import INDENT, Floor, Voice, columns
from debate_orchestrator.util import sanitize

BETWEEN = " │ "
"""What stands between the columns of speeches."""


class Live:
    """A debate on a terminal."""

    def __init__(
        self,
        debate: DebateState,
        terminal: Terminal,
        *,
        now: Callable[[], float] = time.monotonic,
        money: bool = True,
        sealed: bool = False,
    ):
        """`money` says whether what was spent is told; `sealed`, that nothing of ballots is told before the end, since
        one of several judges looks on."""
        self._sealed = sealed and not debate.complete
        self._under_seal: list[Line] = []
        self._debate, self._terminal, self._now, self._money = debate, terminal, now, money
        self._began = now()
        self._lines: list[Line] = []
        """Finished, and not printed yet."""
        self._floor: Floor | None = None
        self._forms: dict[str, Voice] = {}
        """Those who are asked for a structured reply, by turn: it is shown when it is whole, and counted before."""
        self._said = len(announcements(debate)) if debate.answers else 0
        self._spent = status.spent(debate) if money else []
        self._empty = False
        self.note = ""
        """What is going on besides, for the status: `paused`."""
        self.keys: Sequence[str] = ()
        """What the keys do now, for the status."""
        self.inquiry: Inquiry | None = None
        """The question from the floor that is being put."""
        if debate.answers:
            self._go_on()

    def on_event(self, debate: DebateState, event: Event) -> None:
        """An event has happened."""
        self._debate = debate
        match event:
            case Asked() | Spoke() | Declined() if self._known(debate.turn(event.turn)):
                self._recall(event)
            case Asked():
                self._voice(event.turn).begin(self._now())
            case Spoke() | Declined():
                self._settle(event)
            case Voted():
                before = len(self._lines)
                self._vote(event)
                if debate.turn(event.turn).judging:
                    self._seal(before)
            case Rejected() | CallFailed():
                self._lose(event)
            case QuestionAsked() | EndedEarly():
                self._put(paragraph(wording.announced(debate, event) or "", self._prose, style="alarm"))
        if self._floor is not None and self._floor.settled:
            self._clear_the_floor()
        if isinstance(event, Answer | Asked):
            self._announce()
        if self._sealed and debate.complete:
            self._sealed = False
            self._put(self._under_seal)
        if isinstance(event, Answer | CallFailed) and self._money:
            self._spent = status.spent(debate)
        self.paint()

    def hear(self, turn: Turn, piece: str) -> None:
        """A piece of an answer has come. It is shown when the screen is painted next."""
        if not self._known(turn):
            self._voice(turn.id).hear(piece)

    def say(self, text: str) -> None:
        """A word of the house's, above the status."""
        for line in text.split("\n"):
            self._put(paragraph(line, self._prose), gap=False)
        self.paint()

    @property
    def beside(self) -> bool:
        """Whether speeches of one stage are shown side by side now."""
        return columns(2, self._wide, self._between) > 0

    @property
    def has_status(self) -> bool:
        """Whether what is in the status can be seen."""
        return self._terminal.moves

    def leave(self) -> None:
        """The debate is over, or is left: whatever was heard is shown, and the status is taken away."""
        if self._floor is not None:
            self._floor.leave()
            self._clear_the_floor()
        self._put([])
        self.paint(closing=True)

    def paint(self, *, closing: bool = False) -> None:
        """Brings the terminal up to date."""
        below = [] if closing else self._status()
        room = max(0, self._terminal.size()[1] - len(below) - 1)
        still_open: list[Line] = []
        if self._floor is not None:
            finished, still_open = self._floor.rows(self._wide, room, self._between)
            self._put(finished, gap=False)
        self._terminal.paint(self._lines, [*still_open, *below])
        self._lines = []

    @property
    def _wide(self) -> int:
        """Cells of a line: the last column is left alone, since terminals treat it each in their way."""
        return max(2, self._terminal.size()[0] - 1)

    @property
    def _prose(self) -> int:
        return min(self._wide, WIDEST)

    @property
    def _between(self) -> str:
        return BETWEEN if self._terminal.moves else ""

    def _status(self) -> list[Line]:
        now = self._now()
        busy = [*(self._floor.voices if self._floor else ()), *self._forms.values()]
        writing = [
            status.writer(self._name(one.turn), one.words, now, one.since, one.until)
            for one in busy
            if one.asked and not one.settled
        ]
        parts = [*status.where(self._debate), *writing, status.clock(now - self._began), *self._spent]
        noted = [self.note] if self.note else []
        rule: Line = (Span("─" * self._wide, "dim"),)
        if self.inquiry is not None and self.inquiry.open:
            asking: list[Line] = [(Span(row, "bold"),) for row in self.inquiry.rows(self._wide)]
            return [rule, *status.lines(parts, noted, self._wide), *asking]
        return [rule, *status.lines(parts, [*noted, *self.keys], self._wide)]

    def _go_on(self) -> None:
        """Says where a debate goes on that has begun before."""
        turns = len(self._debate.answers)
        self._put(paragraph(f"{turns} turn{'s' * (turns != 1)} on record; here is what follows.", self._prose))
        *_, stage = self._debate.stages()
        if stage[0].round and not self._debate.complete:
            banner = fill_label(self._debate.format.labels.round, round=stage[0].round, rounds=self._debate.rounds)
            self._banner(Announcement("round", banner))

    def _voice(self, turn_id: str) -> Voice:
        """The voice of a turn; it comes with all that are due beside it."""
        if turn_id in self._forms:
            return self._forms[turn_id]
        for voice in self._floor.voices if self._floor else ():
            if voice.turn.id == turn_id:
                return voice
        turn = self._debate.turn(turn_id)
        stage = next(stage for stage in self._debate.stages() if turn in stage)
        if self._debate.shape(turn) is not None:
            return self._forms.setdefault(turn_id, self._new(turn))
        due = [one for one in stage if one == turn or one.id not in self._debate.answers]
        if self._floor is not None:
            self._floor.leave()
            self._clear_the_floor()
        self._announce()
        self._floor = Floor([self._new(one) for one in due])
        self._put([])
        return self._voice(turn_id)

    def _new(self, turn: Turn) -> Voice:
        rules = self._debate.format
        style = bars.style(self._debate, turn.seat) if turn.seat in rules.sides else "judge"
        heading, known = rules.heading_of(turn), self._debate.knows_marks
        return Voice(turn, heading, style, self._now(), rules.private, known=known)

    def _name(self, turn: Turn) -> str:
        return self._debate.format.name_of(turn.seat) + (", mirrored," if turn.mirrored else "")

    def _settle(self, event: Spoke | Declined) -> None:
        voice = self._voice(event.turn)
        if event.turn in self._forms:  # a structured reply was wanted, and declined
            self._fields(voice.turn)
            return
        voice.settle(event.reply.text, remarks.noted(self._debate, voice.turn, event))

    def _known(self, turn: Turn) -> bool:
        """Whether a turn was taken in an earlier debate, which is only judged again."""
        return self._debate.opened.course is not None and turn.speaking

    def _recall(self, event: Asked | Spoke | Declined) -> None:
        """A speech that was given before: that it was, and not what it says."""
        self._announce()
        if not isinstance(event, Asked):
            heading = self._debate.format.heading_of(self._debate.turn(event.turn))
            told = f"{heading}: as recorded, {sanitize.count_words(self._debate.public(event.reply.text)):,} words."
            self._put(paragraph(told, self._prose, style="dim"), gap=False)

    def _clear_the_floor(self) -> None:
        assert self._floor is not None
        finished, _ = self._floor.rows(self._wide, self._terminal.size()[1], self._between)
        self._put(finished, gap=False)
        self._floor = None

    def _vote(self, voted: Voted) -> None:
        form = self._forms.pop(voted.turn, None)
        turn = form.turn if form else self._debate.turn(voted.turn)
        ballot = voted.ballot
        if "scores" in ballot:
            self._heading(turn)
            self._put(bars.ballot(self._debate, voted, self._wide))
        elif rows := ballot.get("rows"):
            self._heading(turn)
            for n, row in enumerate(rows, start=1):
                said = f"{n}. {sanitize.one_line(row['claim'])} ({row['status']})"
                self._put(paragraph(said, self._prose, indent=INDENT), gap=n == 1)
        elif turn.speaking:  # what others reply in a shape is announced
            self._fields(turn)

    def _fields(self, turn: Turn) -> None:
        """A side's structured reply, as it is put before others."""
        self._forms.pop(turn.id, None)
        self._heading(turn)
        self._put(paragraph(transcript.entry(self._debate, turn).text, self._prose, indent=INDENT))

    def _heading(self, turn: Turn) -> None:
        self._put(paragraph(self._debate.format.heading_of(turn), self._prose, style="judge"))

    def _lose(self, event: Rejected | CallFailed) -> None:
        """A call, or an answer, that came to nothing."""
        voice, why = self._voice(event.turn), remarks.lost(event)
        until = self._now() + event.wait if isinstance(event, CallFailed) and event.wait is not None else None
        if event.turn not in self._forms:
            voice.break_off(why, until)
            return
        heading = self._debate.format.heading_of(voice.turn)
        if self._sealed and voice.turn.judging:
            before = len(self._lines)
            self._put(paragraph(f"{heading}: {why}", self._prose, style="alarm"))
            self._seal(before)
            why = remarks.lost_under_seal(self._debate, event)
        self._put(paragraph(f"{heading}: {why}", self._prose, style="alarm"))
        voice.wait(until)
        if event.turn in self._debate.answers:
            self._put(paragraph("No reply counts here.", self._prose, style="alarm"), gap=False)
            del self._forms[event.turn]

    def _announce(self) -> None:
        """Prints what is announced since the last time."""
        now = announcements(self._debate)
        for n, line in enumerate(now[self._said :]):
            before = len(self._lines)
            if line.kind == "reason":
                self._put(paragraph(line.text, self._prose, indent=INDENT), gap=False)
            elif line.kind in ("round", "final"):
                self._banner(line)
            else:
                style = "alarm" if line.heading else "bold" if line.kind in ("scores", "verdict") else ""
                self._put(paragraph(line.text, self._prose, style=style), gap=n == 0 or line.heading)
            if not line.heading:
                self._seal(before)
        self._said = len(now)

    def _seal(self, first: int) -> None:
        """Holds what tells of ballots back until the debate is over, where they are sealed."""
        if self._sealed:
            self._under_seal += self._lines[first:]
            del self._lines[first:]

    def _banner(self, line: Announcement) -> None:
        self._put(paragraph(line.text, self._prose, style="banner"))
        verdict = self._debate.verdict()
        if line.kind == "final" and verdict is not None:
            before = len(self._lines)
            self._put(bars.totals(self._debate, verdict, self._wide), gap=False)
            self._seal(before)
        else:
            self._put([])

    def _put(self, lines: Sequence[Line], *, gap: bool = True) -> None:
        """Finished lines; with a gap, after an empty one."""
        if gap and not self._empty:
            self._lines.append(())
            self._empty = True
        self._lines += lines
        if lines:
            self._empty = not lines[-1]
