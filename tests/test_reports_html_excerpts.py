"""Excerpts are the speaker's own words, in the speaker's order, cut where a sentence ends if they can be."""

from __future__ import annotations

import pytest
from hypothesis import given
from nasty import texts

from debate_orchestrator.reports.html.excerpts import LONGEST, excerpt, opening, shortened
from debate_orchestrator.util.sanitize import count_words, one_line

OWN = "That source counts desks, and no hearts at all."


@pytest.mark.parametrize(
    ("said", "line"),
    [
        ([f'B says: "Standing desks cut heart disease by a fifth." {OWN}'], OWN),
        ([f"“Standing desks cut heart disease. They do it by a fifth.” {OWN}"], OWN),
        (['The word "most" is doing all of the work in it.'], 'The word "most" is doing all of the work in it.'),
        (['A 24" screen is no desk, and a 27" screen is none.'], 'A 24" screen is no desk, and a 27" screen is none.'),
        (['"Nothing but what somebody else has said."'], '"Nothing but what somebody else has said."'),
        (["Yes."], "Yes."),
        ([], ""),
    ],
)
def test_the_words_of_somebody_else_are_passed_over(said: list[str], line: str) -> None:
    """A line is told in the speaker's own words, unless there are none."""
    assert excerpt(said).startswith(line)


def test_what_is_quoted_at_length_leaves_room() -> None:
    """What attacks a speech is told without its long quotes, which would fill the line; a case keeps its evidence."""
    said = ['B rests on this: "A claim that goes on for longer than anybody wishes. It is so." It does not follow.']

    assert excerpt(said, "attacks").startswith("B rests on this: “…”")
    assert excerpt(said).startswith('B rests on this: "A claim that')


@pytest.mark.parametrize(
    ("said", "line"),
    [
        ([f"I grant the mismatch of the two. {OWN}"], "I grant the mismatch of the two. That source"),
        (["I grant two points. The first of them is late. But it is no more than that.", OWN], "But it is no more"),
        (["I concede that it is late. Granted, it rains as well.", OWN], OWN),
        ([f"I grant the mismatch, but it proves nothing. {OWN}"], "I grant the mismatch, but it"),
        (["I grant the mismatch of the two.", "I accept the second too.", OWN], "I grant the mismatch of the two."),
        (["I grant all that was said."], "I grant all that was said."),
    ],
)
def test_what_an_answer_grants_is_passed_over(said: list[str], line: str) -> None:
    """An answer that opens by granting a point is told by what it says then, once it is plain that the grant ends."""
    assert excerpt(said, "answers").startswith(line)


def test_only_answers_skip_what_they_grant() -> None:
    """In any other speech what it grants is the start of it like anything else."""
    assert excerpt([f"I grant the mismatch of the two. {OWN}"]).startswith("I grant the mismatch of the two.")


def test_a_beginning_ends_with_a_sentence() -> None:
    """As many whole sentences as fit are kept, and the words that follow are counted."""
    said = "One is here. Two is longer than\nthat. Three words more."

    assert opening(said, 1000) == (one_line(said), 0)
    assert opening(said, 40) == ("One is here. Two is longer than that.", 3)
    assert opening(said, 1000, sentences=1) == ("One is here.", 8)
    assert opening("", 40) == ("", 0)


def test_a_sentence_that_is_too_long_is_cut_between_words() -> None:
    """Where not even one sentence fits, there is a mark where it is cut."""
    assert opening("word " * 20, 22) == ("word word word word…", 16)


@given(texts)
def test_no_word_is_lost_or_made_up(text: str) -> None:
    """A beginning is the beginning of the text, no longer than it may be, and what follows is counted."""
    kept, more = opening(text, 50)

    assert one_line(text).startswith(kept.removesuffix("…")) or one_line(text).startswith(kept)
    assert len(kept) <= 51
    assert more <= count_words(text)


def test_lines_are_cut_between_words() -> None:
    """What is too long ends with a whole word; a word that is too long is cut."""
    assert shortened("word " * 60) == ("word " * 31).strip() + " word" + "…" or shortened("word " * 60).endswith(
        "word…"
    )
    assert shortened("w" * 500) == "w" * LONGEST + "…"
    assert shortened("short") == "short"
