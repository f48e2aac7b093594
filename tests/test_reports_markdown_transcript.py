"""A format may leave nothing but its transcript, which can be read, and read back."""

from __future__ import annotations

from typing import Any

import pytest
import reading
from core.folding import DECLINE, declined
from corpus import Deal, handfuls, hold
from hostile_texts import SAID
from scripted_debates import events, report, told

from debate_orchestrator.core import schedule, speech_rules
from debate_orchestrator.core.events import Declined
from debate_orchestrator.core.fold import fold
from debate_orchestrator.core.phases import Turn
from debate_orchestrator.core.state import DebateState
from debate_orchestrator.engine import rejudge
from debate_orchestrator.engine.transcript_file import Transcript, parse
from debate_orchestrator.reports import markup
from debate_orchestrator.reports.model import summary_line

CAST: dict[str, tuple[str, ...]] = {"a": ("anthropic:claude-sonnet-5-5",), "b": ("command:/opt/ask --key secret",)}
WHOLE = """\
# Debate Transcript

**Topic:** Is it so?\x20\x20
**Speaker A (For):** Yes.\x20\x20
**Speaker B (Against):** No.\x20\x20
**Spoken by:** Speaker A: anthropic:claude-sonnet-5-5; Speaker B: command:ask\x20\x20
**Rounds:** 2 / 2\x20\x20
**Date:** 2026-02-03

## Round 1

### Argument — Speaker A

> This is 1.argument.a.

### Argument — Speaker B

> This is 1.argument.b.

## Round 2

### Argument — Speaker A

> This is 2.argument.a.

### Argument — Speaker B

> This is 2.argument.b.

---

*Complete. Speaker A spoke first.*
"""


def read_back(script: Any = None, **how: Any) -> tuple[list[tuple[str, int, str]], Transcript]:
    """What was heard in a conversation (side, round, text), and what its transcript gives back."""
    settings = {"rounds": 2, "cast": CAST} | how
    debate = fold(events("conversation", script, **settings))
    heard = [(turn.seat, turn.round or 0, _heard(debate, turn)) for turn in schedule.turns_taken(debate)]
    return heard, parse(report("conversation", script, **settings), "talk.md")


def _heard(debate: DebateState, turn: Turn) -> str:
    answer = debate.replies[turn.id]
    return answer.reply.text if isinstance(answer, Declined) else speech_rules.visible_speech(debate, turn).text


def speeches(transcript: Transcript) -> list[tuple[str, int, str]]:
    """Side, round and text of each speech."""
    return [(speech.side, speech.round, speech.text) for speech in transcript.speeches]


def test_the_transcript_and_nothing_else() -> None:
    """Topic, who argued what and who spoke, the rounds with every argument under its speaker, and how it was made."""
    assert report("conversation", rounds=2, cast=CAST) == WHOLE


def test_the_summary_line_names_a_transcript() -> None:
    """It names no winner, and says where the debate is not finished."""
    finished, paused = told("conversation", rounds=2), told("conversation", rounds=2, until="2.argument.a")

    assert summary_line(finished, "talk.md") == "Debate complete. Transcript written to talk.md. 2 rounds completed."
    assert summary_line(paused, "talk.md") == "Debate paused. Transcript so far written to talk.md."


def test_it_is_read_back_and_judged() -> None:
    """A transcript gives back its topic, positions, speakers and speeches, and its judging knows who spoke."""
    heard, transcript = read_back()
    opened, spoken = rejudge.opened_from_transcript(transcript, "talk.md", "0" * 64, ("anthropic:claude-opus-5-5",))

    assert speeches(transcript) == heard
    assert (transcript.topic, transcript.positions) == ("Is it so?", {"a": "Yes.", "b": "No."})
    assert transcript.speakers == {"a": "anthropic:claude-sonnet-5-5", "b": "command:ask"}
    assert transcript.notes == ()
    assert opened.earlier_debate is not None and opened.earlier_debate.speakers == transcript.speakers
    assert (opened.settings.topic, opened.settings.rounds, len(spoken)) == ("Is it so?", 2, 4)


def test_what_weakens_a_speech_is_told_and_read_back() -> None:
    """A refusal, and the words that were not heard, are told in a line that is no part of the speech."""
    script = {"1.argument.a": "word " * 650, "1.argument.b": [declined("1.argument.b")]}
    text = report("conversation", script, rounds=2)
    heard, transcript = read_back(script)

    assert "*Here the limit of 600 words was reached: 50 more, which were not heard, are in the journal.*" in text
    assert "*Speaker B declined to argue. A refusal is no concession.*\n\n> I DECLINE" in text
    assert speeches(transcript) == heard
    found = [(speech.cut, speech.declined) for speech in transcript.speeches]
    assert found == [(True, False), (False, True), (False, False), (False, False)]
    assert transcript.speeches[1].text == DECLINE


def test_one_that_is_not_finished() -> None:
    """A transcript so far says what it waits for, and is read back as far as it goes."""
    heard, transcript = read_back(until="2.argument.b")

    assert "*Paused: waiting for 2.argument.b. Speaker A spoke first.*" in (
        report("conversation", rounds=2, until="2.argument.b")
    )
    assert speeches(transcript) == heard


TURNS = [f"{n}.argument.{side}" for n in range(1, 7) for side in "ab"]


def must_be_genuine(deal: Deal) -> None:
    """A transcript has its own headings, and gives back the speeches of six rounds, to be told the same again."""
    hand = deal.hand()
    topic, script = hand(), {turn: hand() for turn in TURNS}
    text = report("conversation", script, topic=topic, rounds=6, cast=CAST)
    rounds = [(2, "Round"), (3, "Argument — Speaker A"), (3, "Argument — Speaker B")]

    assert [(level, heading.rstrip(" 123456")) for level, heading in reading.headings(text)] == [
        (1, "Debate Transcript"),
        *rounds * 6,
    ]
    assert [(speech.side, markup.quote_speech(speech.text)) for speech in parse(text, "talk.md").speeches] == [
        (turn[-1], markup.quote_speech(text)) for turn, text in script.items()
    ]


@pytest.mark.slow
@pytest.mark.parametrize("deal", handfuls(SAID))
def test_a_speech_can_not_forge_a_transcript(deal: Deal) -> None:
    """Whatever is said and whatever it is about, the transcript and its speeches are what they were."""
    hold(must_be_genuine, deal)
