"""A format may leave nothing but its transcript, which can be read, and read back."""

from __future__ import annotations

from typing import Any

import pytest
import reading
from core.folding import DECLINE, declined
from dealing import Deal, handfuls, hold
from hypothesis import given, settings
from nasty import SAID, heard, texts
from tellings import events, report, told

from debate_orchestrator import judging
from debate_orchestrator.core.debate import Debate
from debate_orchestrator.core.events import Declined
from debate_orchestrator.core.rules import Turn
from debate_orchestrator.reports import markup
from debate_orchestrator.reports.story import closing
from debate_orchestrator.transcripts.reading import read
from debate_orchestrator.transcripts.speeches import Transcript

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

This is 1.argument.a.

### Argument — Speaker B

This is 1.argument.b.

## Round 2

### Argument — Speaker A

This is 2.argument.a.

### Argument — Speaker B

This is 2.argument.b.

---

*Complete. Speaker A spoke first.*
"""


def back(script: Any = None, **how: Any) -> tuple[list[tuple[str, int, str]], Transcript]:
    """What was heard in a conversation (side, round, text), and what its transcript gives back."""
    made = events("conversation", script, **({"rounds": 2, "cast": CAST} | how))
    debate = Debate(made)
    said = [(turn.seat, turn.round or 0, _heard(debate, turn)) for turn in debate.settled()]
    return said, read(report("conversation", script, **({"rounds": 2, "cast": CAST} | how)), "talk.md")


def _heard(debate: Debate, turn: Turn) -> str:
    answer = debate.answers[turn.id]
    return answer.reply.text if isinstance(answer, Declined) else debate.hear(turn).text


def given_back(made: Transcript) -> list[tuple[str, int, str]]:
    return [(one.side, one.round, one.text) for one in made.speeches]


def test_the_transcript_and_nothing_else() -> None:
    """Topic, who argued what and who spoke, the rounds with every argument under its speaker, and how it was made."""
    assert report("conversation", rounds=2, cast=CAST) == WHOLE


def test_it_is_confirmed_as_one() -> None:
    """The closing line names a transcript, and no winner."""
    one = told("conversation", rounds=2)

    assert closing(one, "talk.md") == "Debate complete. Transcript written to talk.md. 2 rounds completed."
    assert closing(told("conversation", rounds=2, until="2.argument.a"), "talk.md") == (
        "Debate paused. Transcript so far written to talk.md."
    )


def test_it_is_read_back() -> None:
    """A transcript gives back its topic, positions, speakers and speeches."""
    said, made = back()

    assert given_back(made) == said
    assert (made.topic, made.positions) == ("Is it so?", {"a": "Yes.", "b": "No."})
    assert made.speakers == {"a": "anthropic:claude-sonnet-5-5", "b": "command:ask"}
    assert (made.notes, {one.title for one in made.speeches}) == ((), {"Argument"})


def test_it_can_be_judged() -> None:
    """Who spoke is known to the judging of a transcript, and is nobody's name in it."""
    _, made = back()
    opened, spoken = judging.of_transcript(made, "talk.md", "0" * 64, ("anthropic:claude-opus-5-5",))

    assert opened.course is not None
    assert opened.course.speakers == {"a": "anthropic:claude-sonnet-5-5", "b": "command:ask"}
    assert (opened.setup.topic, opened.setup.rounds, len(spoken)) == ("Is it so?", 2, 4)


def test_what_weakens_a_speech_is_told_and_read_back() -> None:
    """A refusal, and the words that nobody heard, are told in a line that is no part of the speech."""
    script = {"1.argument.a": "word " * 650, "1.argument.b": [declined("1.argument.b")]}
    text = report("conversation", script, rounds=2)
    said, made = back(script)

    assert "*Here the limit of 600 words was reached: 50 more, which nobody heard, are in the journal.*" in text
    assert "*Speaker B declined to argue. A refusal is no concession.*\n\nI DECLINE" in text
    assert given_back(made) == said
    assert [(one.cut, one.declined) for one in made.speeches] == [(True, False), (False, True), *[(False, False)] * 2]
    assert made.speeches[1].text == DECLINE


def test_one_that_is_not_finished() -> None:
    """A transcript so far says what it waits for, and is read back as far as it goes."""
    said, made = back(until="2.argument.b")

    assert "*Paused: waiting for 2.argument.b. Speaker A spoke first.*" in (
        report("conversation", rounds=2, until="2.argument.b")
    )
    assert given_back(made) == said


TURNS = [f"{n}.argument.{side}" for n in range(1, 7) for side in "ab"]


def must_be_genuine(deal: Deal) -> None:
    """A transcript has its own headings, and gives back the speeches of six rounds, to be told the same again."""
    hand = deal.hand()
    topic, script = hand(), {turn: hand() for turn in TURNS}
    made = report("conversation", script, topic=topic, rounds=6, cast=CAST)
    found = read(made, "talk.md")

    assert reading.headings(made) == [
        (1, "Debate Transcript"),
        *(
            heading
            for n in range(1, 7)
            for heading in [(2, f"Round {n}"), (3, "Argument — Speaker A"), (3, "Argument — Speaker B")]
        ),
    ]
    assert [(one.side, markup.block(one.text).strip()) for one in found.speeches] == [
        (turn[-1], markup.block(text).strip()) for turn, text in script.items()
    ]


@pytest.mark.parametrize("deal", handfuls(SAID))
def test_nobody_forges_a_transcript(deal: Deal) -> None:
    """Whatever is said and whatever it is about, the transcript and its speeches are what they were."""
    hold(must_be_genuine, deal)


@settings(max_examples=40)
@given(texts.filter(heard))
def test_any_speech_comes_back(text: str) -> None:
    """So does any text made of structure by chance: as one speech."""
    _, made = back({"2.argument.b": text})

    assert [(one.side, one.round) for one in made.speeches] == [("a", 1), ("b", 1), ("a", 2), ("b", 2)]


def test_somebody_elses_transcript() -> None:
    """A document of that title that is not ours is read as any other, with every word of it."""
    other = WHOLE.replace("## Round 2\n", "## Round 2\n\nThe hall was full.\n")
    simple = "# Debate Transcript\n\n**Topic:** T\n\n## Round 1\n\n### Alice (Pro)\n\nx\n\n### Bob (Con)\n\ny\n"

    assert [one.text for one in read(simple, "x.md").speeches] == ["x", "y"]
    with pytest.raises(Exception, match="speeches alone"):
        read(other, "x.md")
