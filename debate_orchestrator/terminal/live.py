"""The live view of a debate: each event and each piece of a speech, shown as it comes, with scores as bars and a status
below.

Banners, scores and interventions are those of `reports.announcements`, word for word.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction

from rich.text import Text

from debate_orchestrator.core import events, rapporteur, schedule, speech_rules, tally, transcript_entries
from debate_orchestrator.core.costs import costs_of
from debate_orchestrator.core.phases import Turn, filled_announcement
from debate_orchestrator.core.state import DebateState, spec_in
from debate_orchestrator.core.verdict import Verdict, read_ballot
from debate_orchestrator.core.visible_text import quote_results, with_quotation_marks
from debate_orchestrator.core.winner import deciding_verdict
from debate_orchestrator.providers import registry
from debate_orchestrator.reports import wording
from debate_orchestrator.reports.announcements import Announcement, Announcer
from debate_orchestrator.terminal.display import (
    ALARM,
    INDENT,
    JUDGE_STYLE,
    SIDE_STYLES,
    Display,
    SpeechView,
    StageView,
    has_columns,
    pack,
    paragraph,
    text_width,
)
from debate_orchestrator.util import model_spec
from debate_orchestrator.util.numbers import decimals, plural
from debate_orchestrator.util.sanitize import count_words, one_line, without_line_breaks
from debate_orchestrator.util.terminal_text import MAX_WIDTH, padded, shortened, width_of

_STATUS_ROWS = 3


class LiveView:
    def __init__(
        self,
        debate: DebateState,
        display: Display,
        *,
        now: Callable[[], float] = time.monotonic,
        money: bool = True,
        ballots_hidden: bool = False,
    ):
        """`money` says whether costs are shown; `ballots_hidden`, that ballots are hidden until the debate is
        complete, since a judge of a panel watches."""
        self._debate, self.display, self._now, self._money = debate, display, now, money
        self._ballots_hidden = ballots_hidden and not debate.complete
        self._hidden_rows: list[Text] = []
        self._began = now()
        self._rows: list[Text] = []
        """Finished but not printed yet."""
        self._after_blank = False
        self._stage: StageView | None = None
        self._speeches: dict[str, SpeechView] = {}
        """By turn id, what is being written. The words of structured replies are counted but not shown."""
        self._announcer = Announcer()
        self._cost = _cost(debate) if money else []
        self.note = ""
        """An addition to the status: `paused`."""
        self.keys: Sequence[str] = ()
        """The current meaning of the keys, for the status."""
        if debate.replies:
            self._announcer.new_announcements(debate)
            self._continue()

    def on_event(self, debate: DebateState, event: events.Event) -> None:
        """Shows an event; `debate` is the state after it."""
        self._debate = debate
        match event:
            case events.BriefSent() | events.Spoke() | events.Declined() if self._is_of_earlier_debate(
                schedule.turn(debate, event.turn_id)
            ):
                self._add_recorded_speech(event)
            case events.Rejected() if self._is_of_earlier_debate(schedule.turn(debate, event.turn_id)):
                pass  # rejected, and replaced by another, in the debate that is judged again
            case events.BriefSent():
                self._speech(event.turn_id).begin(self._now())
            case events.Spoke() | events.Declined():
                speech = self._speech(event.turn_id)
                if debate.shape(speech.turn) is None:
                    visible = speech_rules.visible_speech(debate, speech.turn)
                    notes, found = _notes(debate, speech.turn, event), quote_results(visible.quotes)
                    speech.show_recorded(self._shown_text(speech.turn, visible.text), notes, found)
                else:  # a structured reply was wanted, and declined
                    self._add_side_reply(speech.turn)
            case events.StructuredReplyGiven():
                self._structured_reply(event)
            case events.Rejected() | events.CallFailed():
                self._add_failure(event)
            case events.QuestionAsked() | events.IssuesChanged() | events.EndedEarly():
                self._add_text(wording.user_event_text(debate, event) or "", ALARM)
        if self._stage is not None and self._stage.is_final:
            self._end_stage()
        if isinstance(event, events.ReplyEvent | events.BriefSent):
            self._announce()
        if self._ballots_hidden and debate.complete:
            self._ballots_hidden = False
            self._add_rows(self._hidden_rows)
        if isinstance(event, events.ReplyEvent | events.CallFailed) and self._money:
            self._cost = _cost(debate)
        self.paint()

    def on_text(self, turn: Turn, piece: str) -> None:
        """A piece of a reply has come. It is shown with the next paint."""
        if not self._is_of_earlier_debate(turn) and not self._is_stand_in(turn):
            self._speech(turn.id).add_piece(piece)

    def message(self, text: str) -> None:
        """Prints a message above the status."""
        self._add_text(without_line_breaks(text), gap=False)
        self.paint()

    def close(self) -> None:
        """The debate is complete, or is left: prints what was heard and removes the status."""
        self._end_stage()
        self._add_rows([])
        self.paint(closing=True)

    def paint(self, *, closing: bool = False) -> None:
        """Brings the terminal up to date."""
        height = self.display.size()[1] - 1
        status_rows = [] if closing else self._status()[:height]
        still_open: list[Text] = []
        if self._stage is not None:
            finished, still_open = self._stage.rows(self._width, height - len(status_rows))
            self._add_rows(finished, gap=False)
        self.display.paint(self._rows, [*still_open, *status_rows])
        self._rows = []

    @property
    def shows_columns(self) -> bool:
        """Whether two speeches of one stage would be shown beside each other now."""
        return has_columns(2, self._width)

    @property
    def _width(self) -> int:
        """Columns of a row: the last one is left empty, since terminals disagree on what follows a full row."""
        return max(2, self.display.size()[0] - 1)

    def _status(self) -> list[Text]:
        """The round and the phase, who writes and for how long, what it has cost, and what the keys do."""
        now, width = self._now(), self._width
        stage = self._debate.stages[-1]
        parts = [f"Round {stage[0].round} of {self._debate.rounds}"] if stage[0].round else []
        parts.append(", ".join(dict.fromkeys(one_line(turn.phase.title) for turn in stage)))
        writing = [speech for speech in self._speeches.values() if speech.attempts and not speech.is_final]
        parts += [self._activity(speech, now) for speech in writing]
        rows = pack([*parts, _clock(now - self._began), *self._cost], width, "dim")[:_STATUS_ROWS]
        notes = pack([note for note in (self.note, *self.keys) if note], width, "bold")
        return [*paragraph("─" * width, width, "dim"), *rows, *notes[:_STATUS_ROWS]]

    def _activity(self, speech: SpeechView, now: float) -> str:
        name = one_line(self._debate.format.name_of(speech.turn.seat))
        name += ", mirrored," if speech.turn.mirrored else ""
        if speech.retry_at is not None:
            return f"{name}: asked again in {max(0, speech.retry_at - now):.0f} s"
        if not speech.has_begun and registry.api_of(spec_in(self._debate, speech.turn.seat)):
            return f"{name}: reading the prompt, {_clock(now - speech.asked_at)}"
        if not speech.words:
            return f"{name} thinks, {_clock(now - speech.asked_at)}"
        return f"{name} writes, {plural(speech.words, 'word')}"

    def _continue(self) -> None:
        """Says where a debate goes on that was begun before."""
        self._add_text(f"{plural(len(self._debate.replies), 'turn')} on record; here is what follows.")
        stage = self._debate.stages[-1]
        if stage[0].round and not self._debate.complete:
            banner = filled_announcement(
                self._debate.format.announcements.round, round=stage[0].round, rounds=self._debate.rounds
            )
            self._banner(Announcement("round", banner))

    def _speech(self, turn_id: str) -> SpeechView:
        """The speech of a turn; all that are due beside it come with it."""
        if turn_id not in self._speeches:
            turn = schedule.turn(self._debate, turn_id)
            due = [turn]
            if self._debate.shape(turn) is None:
                stage = next(stage for stage in reversed(self._debate.stages) if turn in stage)
                due = [other for other in stage if other == turn or other.id not in self._debate.replies]
                self._end_stage()
                self._announce()
                self._add_rows([])
            speeches = list(map(self._new_speech, due))
            self._speeches |= {speech.turn.id: speech for speech in speeches}
            if self._debate.shape(turn) is None:
                self._stage = StageView(speeches, self._width)
        return self._speeches[turn_id]

    def _new_speech(self, turn: Turn) -> SpeechView:
        format = self._debate.format
        style = _side_style(self._debate, turn.seat) if turn.seat in format.sides else JUDGE_STYLE
        return SpeechView(turn, format.heading_of(turn), style, self._now(), format.private_tag)

    def _end_stage(self) -> None:
        """Prints what was heard in the stage under way."""
        if self._stage is None:
            return
        for speech in self._stage.speeches:
            speech.stop()
            self._speeches.pop(speech.turn.id)
        finished, _ = self._stage.rows(self._width, self.display.size()[1])
        self._add_rows(finished, gap=False)
        self._stage = None

    def _is_of_earlier_debate(self, turn: Turn) -> bool:
        """Whether a speech was given in an earlier debate, which is only judged again."""
        return self._debate.opened.earlier_debate is not None and turn.speaking

    def _is_stand_in(self, turn: Turn) -> bool:
        """Whether a stand-in takes a turn, whose words mean nothing."""
        return model_spec.is_stand_in(spec_in(self._debate, turn.seat))

    def _add_recorded_speech(self, event: events.BriefSent | events.Spoke | events.Declined) -> None:
        self._announce()
        if not isinstance(event, events.BriefSent):
            heading = self._debate.format.heading_of(schedule.turn(self._debate, event.turn_id))
            words = count_words(speech_rules.without_private_reasoning(self._debate, event.reply.text))
            self._add_text(f"{heading}: as recorded, {words:,} words.", "dim", gap=False)

    def _structured_reply(self, event: events.StructuredReplyGiven) -> None:
        self._speeches.pop(event.turn_id, None)
        turn = schedule.turn(self._debate, event.turn_id)
        is_dissent_record = self._debate.format.is_dissent_record(turn.phase)
        if turn.judging and "scores" in event.data:
            self._add_text(self._debate.format.heading_of(turn), JUDGE_STYLE, of_ballots=turn.judging)
            self._add_rows(ballot_rows(self._debate, event, self._width), of_ballots=turn.judging)
        elif is_dissent_record and (claims := event.data.get("rows")) and not self._is_stand_in(turn):
            self._add_text(self._debate.format.heading_of(turn), JUDGE_STYLE, of_ballots=turn.judging)
            for n, claim in enumerate(claims, start=1):
                status = (claim.get("status") or "no status").capitalize()  # a format may ask for none
                line = f"{n}. {status}: {one_line(claim.get('claim') or '')}"
                self._add_text(line, gap=n == 1, of_ballots=turn.judging)
        elif turn.speaking:  # other structured replies are announced
            self._add_side_reply(turn)

    def _add_side_reply(self, turn: Turn) -> None:
        """A side's structured reply, as other seats read it."""
        self._speeches.pop(turn.id, None)
        self._add_text(self._debate.format.heading_of(turn), JUDGE_STYLE)
        entry = transcript_entries.entry(self._debate, turn)
        self._add_text(self._shown_text(turn, entry.text), indent=INDENT)
        for line in quote_results(entry.quotes):
            self._add_text(line, gap=False)

    def _shown_text(self, turn: Turn, text: str) -> str:
        """The visible part of a speech: not the words of a stand-in, and no tag of a quote that was looked up."""
        text = with_quotation_marks(text, self._debate.format.checked_tags)
        return wording.filler_in_place(text) if self._is_stand_in(turn) else text

    def _add_failure(self, event: events.Rejected | events.CallFailed) -> None:
        """A call failed, or a reply does not count."""
        speech, why = self._speech(event.turn_id), _failure(self._debate, event)
        retry_at = self._now() + event.wait if isinstance(event, events.CallFailed) and event.wait is not None else None
        if self._debate.shape(speech.turn) is None:
            speech.break_off(why, retry_at)
            return
        heading = self._debate.format.heading_of(speech.turn)
        if rapporteur.is_hidden_advice(self._debate, speech.turn):
            why = _failure(self._debate, event, ballots_hidden=True)
        elif self._ballots_hidden and speech.turn.judging:
            self._add_text(f"{heading}: {why}", ALARM, of_ballots=True)
            why = _failure(self._debate, event, ballots_hidden=True)
        self._add_text(f"{heading}: {why}", ALARM)
        speech.reset_attempt(retry_at)
        if event.turn_id in self._debate.replies:
            self._add_text("No reply counts here.", ALARM, gap=False)
            del self._speeches[event.turn_id]

    def _announce(self) -> None:
        """Prints what was announced since the last time."""
        for n, line in enumerate(self._announcer.new_announcements(self._debate)):
            if line.kind == "reason":  # a judge's words: indented, so that they pass for no announcement
                self._add_text(line.text, indent=INDENT, gap=False, of_ballots=True)
            elif line.kind in ("round", "final"):
                self._banner(line)
            elif line.begins_part:
                self._add_text(line.text, ALARM)
            else:
                style = "bold" if line.kind in ("scores", "verdict") else ""
                self._add_text(line.text, style, gap=n == 0, of_ballots=line.kind != "issues")

    def _banner(self, line: Announcement) -> None:
        self._add_text(line.text, "bold")
        verdict = deciding_verdict(self._debate)
        if line.kind == "final" and verdict is not None:
            self._add_rows(totals_rows(self._debate, verdict, self._width), gap=False, of_ballots=True)
        else:
            self._add_rows([])

    def _add_text(
        self, text: str, style: str = "", *, indent: int = 0, gap: bool = True, of_ballots: bool = False
    ) -> None:
        rows = paragraph(text, text_width(self._width), style, indent=indent)
        self._add_rows(rows, gap=gap, of_ballots=of_ballots)

    def _add_rows(self, rows: Sequence[Text], *, gap: bool = True, of_ballots: bool = False) -> None:
        """Adds finished rows, with `gap` after an empty one. Rows `of_ballots` wait while ballots are hidden."""
        if of_ballots and self._ballots_hidden:
            self._hidden_rows += [*([Text()] if gap else []), *rows]
            return
        if gap and not self._after_blank:
            self._rows.append(Text())
            self._after_blank = True
        self._rows += rows
        if rows:
            self._after_blank = not rows[-1]


def _clock(seconds: float) -> str:
    """A duration: `42 s`, `3:05`, `1:02:03`."""
    minutes, rest = divmod(max(0, int(seconds)), 60)
    hours, minutes = divmod(minutes, 60)
    if hours:
        return f"{hours}:{minutes:02}:{rest:02}"
    return f"{minutes}:{rest:02}" if minutes else f"{rest} s"


def _cost(debate: DebateState) -> list[str]:
    """The cost of the calls so far; empty before the first call."""
    total = costs_of(debate).total
    if not total.calls:
        return []
    unknown = f" and {plural(total.unpriced_calls, 'call')} of unknown price" if total.unpriced_calls else ""
    return [f"${total.cost:.4f}{unknown}"]


_MAX_BAR_COLUMNS = 20
_NUMBER_COLUMNS = 6
"""Columns of a score at most, with the space before it: ` 66.67`."""


def bar(share: Fraction, width: int) -> str:
    """A bar filled up to that share, to an eighth of a column."""
    full, eighths = divmod(int(min(max(share, Fraction(0)), Fraction(1)) * width * 8 + Fraction(1, 2)), 8)
    return ("█" * full + " ▏▎▍▌▋▊▉"[eighths].strip()).ljust(width, "░")


def _side_style(debate: DebateState, side: str) -> str:
    return SIDE_STYLES[debate.format.sides.index(side) % len(SIDE_STYLES)]


def ballot_rows(debate: DebateState, event: events.StructuredReplyGiven, width: int) -> list[Text]:
    """A ballot with scores: each side's bar, and each criterion for both, with the sides as they are."""
    format, turn = debate.format, schedule.turn(debate, event.turn_id)
    fields = tally.in_original_names(debate, format.shapes[turn.phase.reply], event)
    scores = read_ballot(fields, format.sides, debate.weights, format.winner_of).scores
    criteria = (
        f"{format.rubric.criteria[name].title} "
        + " | ".join(decimals(Fraction(str(fields["scores"][side][name]))) for side in format.sides)
        for name in debate.criteria
    )
    return [
        *_bars(debate, scores, Fraction(str(format.rubric.max)), width),
        *paragraph("; ".join(criteria), min(width, MAX_WIDTH), "dim"),
    ]


def totals_rows(debate: DebateState, verdict: Verdict, width: int) -> list[Text]:
    """The totals of the whole debate as bars; no rows where nothing was scored."""
    scored = sum(bool(result.scores) for result in tally.scored_results(debate))
    maximum = scored * Fraction(str(debate.format.rubric.max))
    return _bars(debate, verdict.totals, maximum, width) if scored else []


def _bars(debate: DebateState, scores: Mapping[str, Fraction], maximum: Fraction, width: int) -> list[Text]:
    names = {side: one_line(debate.format.name_of(side)) for side in scores}
    room = width - _NUMBER_COLUMNS
    longest = max(1, min(max(map(width_of, names.values())), room // 2))
    length = max(1, min(_MAX_BAR_COLUMNS, room - longest - 1))
    rows: list[Text] = []
    for side, value in scores.items():
        name = padded(shortened(names[side], longest), longest)
        drawn = (bar(value / maximum, length), _side_style(debate, side))
        rows.append(Text.assemble(name, " ", drawn, (f" {decimals(value)}", "bold")))
    return rows


def _notes(debate: DebateState, turn: Turn, event: events.Spoke | events.Declined) -> str:
    """The note below a speech; empty if there is none."""
    notes = ["cut short by a limit of length"] if event.reply.ended == "cut" else []
    if isinstance(event, events.Spoke):
        dropped_words = speech_rules.visible_speech(debate, turn).dropped
        notes += [f"the last {dropped_words} words are over the limit, and no seat hears them"] if dropped_words else []
    return f"-- {'; '.join(notes)}." if notes else ""


def _failure(debate: DebateState, event: events.Rejected | events.CallFailed, *, ballots_hidden: bool = False) -> str:
    """Why a call failed, or a reply does not count; `ballots_hidden` leaves out problems, which may quote the reply."""
    if isinstance(event, events.CallFailed):
        return event.problem + ("" if event.wait is None else f" Asked again in {event.wait:.0f} s.")
    if not ballots_hidden:
        return f"a reply that can't be taken: {wording.problems_text(event)}"
    return "a reply that can't be taken." + ("" if event.turn_id in debate.replies else " It is asked for again.")
