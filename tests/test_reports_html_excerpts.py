"""Excerpts are the beginning of a text in its own words, cut where a sentence ends if they can be."""

from __future__ import annotations

import pytest
from dealing import for_each
from debates import DECLINE, saying
from debates import told as adversarial
from hypothesis import given
from nasty import NASTY, texts
from tellings import FETCHED, check, checks, evidence, told

from debate_orchestrator.reports.html.page import LONGEST, gist, opening, shortened
from debate_orchestrator.reports.html.writer import HtmlWriter
from debate_orchestrator.reports.model import ReportModel
from debate_orchestrator.reports.wording import Scales
from debate_orchestrator.util.sanitize import count_words, one_line


def line(story: ReportModel, turn_id: str) -> str:
    """A turn of a debate in a line."""
    return gist(next(turn for turn in story.turns if turn.id == turn_id), HtmlWriter({}, []), story.judging.scales)


def test_a_beginning_ends_with_a_sentence() -> None:
    """As many whole sentences as fit are kept, and the words that follow are counted."""
    text = "One is here. Two is longer than\nthat. " + "And three has many more words. " * 6

    assert opening(text, 40) == ("One is here. Two is longer than that.", 36)
    assert opening("1. First of all. 2. Then the rest of it, " + "at length " * 20, 20)[0] == "1. First of all."
    assert opening("", 40) == ("", 0)


def test_a_text_is_not_cut_for_a_few_words() -> None:
    """A text that is only a little longer than a line is kept whole."""
    text = "A sentence of some length stands here. " * 5 + "And a short one."
    assert opening(text) == (text, 0)


def test_a_sentence_that_is_too_long_is_cut_between_words() -> None:
    """Where not even one sentence fits, there is a mark where it is cut."""
    assert opening("word " * 40, 22) == ("word word word word…", 36)


@given(texts)
def test_no_word_is_lost_or_made_up(text: str) -> None:
    """A beginning is the beginning of the text, and what follows is counted."""
    kept, more = opening(text, 50)

    assert one_line(text).startswith(kept.removesuffix("…")) or one_line(text).startswith(kept)
    assert (more > 0) <= (kept != one_line(text))
    assert more <= count_words(text)


def test_lines_are_cut_between_words() -> None:
    """What is too long ends with a whole word; a word that is too long is cut."""
    assert shortened("word " * 60) == ("word " * 40).strip() + "…"
    assert shortened("w" * 500) == "w" * LONGEST + "…"
    assert shortened("short") == "short"


@pytest.mark.parametrize(
    ("text", "begins"),
    [
        ("# Case\n\n**Yes.** This is what I mean.", "Yes. This is what I mean."),
        (
            'B says: "It is so, and so it will be." It does not follow.',
            'B says: "It is so, and so it will be." It does',
        ),
        ("```\ncode alone\n```", "``` code alone ```"),
    ],
)
def test_a_speech_in_a_line(text: str, begins: str) -> None:
    """A speech's line is its beginning without markup, and with what it quotes."""
    assert line(adversarial(saying(_1_opening_a=text), rounds=1), "1.opening.a").startswith(begins)


def test_other_turns_in_a_line() -> None:
    """A refusal, a ballot, what a clerk found and a speech in fields each have their line."""
    script = {
        "1.argument.a": evidence(argument="It follows from the page alone."),
        "1.check.clerk": checks(check("1.argument.a"), check("1.argument.b")),
    }
    claim = told("claim", script, cast=FETCHED)

    assert line(adversarial(saying(_1_opening_a=DECLINE), rounds=1), "1.opening.a") == "Declined to argue."
    assert line(adversarial(rounds=1), "1.verdict.judge").startswith("A (A 7, B 6). ")
    assert line(claim, "1.argument.a") == "It follows from the page alone."
    assert line(claim, "1.check.clerk") == "2 verified"


@for_each(NASTY)
def test_hostile_speech_has_a_line(text: str) -> None:
    """Hostile speech has one line like any other, which is not too long."""
    turn = adversarial(rounds=1).turns[0].model_copy(update={"text": text})
    made = gist(turn, HtmlWriter({}, []), Scales())
    assert "\n" not in made
    assert len(made) <= LONGEST + 81
