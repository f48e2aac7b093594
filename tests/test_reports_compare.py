"""Debates side by side: what they have in common, where they differ, and which texts are called alike."""

from __future__ import annotations

from fractions import Fraction
from functools import cache, partial
from typing import Any

import debates
import puppets
import pytest
import reading
import scripted_debates
from corpus import Deal, dealt_by_chance, handfuls, hold
from counting import calls
from debates import hostile, saying
from hostile_texts import NASTY, SAID, heard, texts
from hypothesis import given, settings
from hypothesis import strategies as st
from scripted_debates import section

from debate_orchestrator.core.costs import CostLine, Costs
from debate_orchestrator.core.events import EarlierDebate, Event
from debate_orchestrator.reports import markdown
from debate_orchestrator.reports.compare import (
    ALIKE,
    MAX_TEXTS,
    ComparedRun,
    Comparison,
    compare,
    grouped,
    is_mirrored,
    likeness,
    words,
)
from debate_orchestrator.reports.model import ReportModel, build_report
from debate_orchestrator.reports.provenance import costs_report, earlier_debate_report

SWAPPED = ("Indent with spaces.", "Indent with tabs.")


def told(digest: str, events: list[Event]) -> ReportModel:
    """The story of a journal with that digest."""
    *most, last = debates.entries(events)
    return build_report([*most, last._replace(hash=digest)])


def debated(digest: str, say: puppets.Say | None = None, **setup: Any) -> ReportModel:
    """An adversarial debate of two rounds, unless it is said otherwise."""
    return told(digest, debates.played(say, **{"rounds": 2, **setup}))


def for_b(turn: dict[str, Any]) -> str | dict[str, Any] | None:
    """Judges who are for B throughout."""
    if "verdict" not in turn["turn"]:
        return None
    return puppets.final("b") if turn["turn"].startswith("final") else puppets.ballot(5, 8)


def again(digest: str, source: str, root: str = "", **how: Any) -> ReportModel:
    """The judging of a debate that another journal holds; `root` is the debate where that is a judging too."""
    earlier_debate = earlier_debate_report(EarlierDebate(source="first.jsonl", digest=source, root=root))
    return debated(digest, **how).model_copy(update={"earlier_debate": earlier_debate})


def kind(digest: str, name: str, **how: Any) -> ReportModel:
    return told(digest, scripted_debates.events(name, topic="Tabs are better than spaces.", **how))


def compared(*stories: ReportModel) -> Comparison:
    return compare([(f"{n}.journal.jsonl", one) for n, one in enumerate(stories, start=1)])


def runs(*stories: ReportModel) -> list[ComparedRun]:
    return [ComparedRun(n, f"{n}.jsonl", one, is_mirrored(stories[0], one)) for n, one in enumerate(stories, start=1)]


KINDS = ("adversarial", "panel", "question", "claim", "conversation", "transcript")


def dissenting(claim: str, *questions: str) -> puppets.Say:
    row = {"claim": claim, "a": "Yes.", "b": "No.", "status": "unresolved", "turns": ["1.opening.a"]}
    final = puppets.final(unresolved_questions=list(questions))
    return saying(_final_dissent_judge={"rows": [row]}, _final_verdict_judge=final)


def test_runs_stand_side_by_side() -> None:
    """Winners, strength, totals, rounds and judges of each run are told in tables."""
    made = compared(debated("1"), debated("2", for_b))
    text = markdown.render_comparison(made)

    assert made.winners == {1: "a", 2: "b"}
    assert "| 1 | A | narrow | 14 | 12 | 14.29% | A 2, B 0, Tie 0 | A 1 |" in text
    assert "| 2 | B | decisive | 10 | 16 | 37.5% | A 0, B 2, Tie 0 | B 1 |" in text
    assert "| 1 | A (A 7, B 6) | B (A 5, B 8) |" in section(text, "Rounds")
    assert "| 2 | Judge | host | B (A 5, B 8) | B (A 5, B 8) | B |" in section(text, "Judges")
    assert "- The verdict differs: A in run 1; B in run 2." in section(text, "Where They Differ")


def test_a_rehearsal_has_no_winner() -> None:
    """Stand-ins count as no models: their verdict, votes, agreement and disputed claims are in no comparison."""
    seats = {"a": ("rehearse:x:m",), "b": ("rehearse:x:m",), "judge": ("rehearse:x:m",)}
    made = compared(
        debated("1", dissenting("Tabs are read aloud.")), debated("2", cast=seats), debated("3", cast=seats)
    )
    text = markdown.render_comparison(made)

    assert made.winners == {1: "a", 2: None, 3: None}
    assert "| 2 | only stand-ins judged |" in text and "Run 2 is rehearsed: stand-ins spoke" in text
    assert "| 1 | A (A 7, B 6) | - | - |" in section(text, "Rounds")
    assert made.judges is not None and {row[0] for row in made.judges.rows} == {"1"}
    assert not made.differences and "pairs of votes" not in " ".join(made.agreement)


def test_a_paused_run_is_included_as_far_as_it_got() -> None:
    """A debate that is not finished is named as paused, and its rounds are compared."""
    made = compared(debated("1"), debated("2", until="2.challenge.a"))

    assert "Run 2 is paused after 1 of 2 rounds, and compared as far as it got." in made.notes
    assert made.winners == {1: "a", 2: None}
    assert made.rounds is not None and made.rounds.rows[0] == ("1", "A (A 7, B 6)", "A (A 7, B 6)")
    assert made.verdicts.rows[1][1] == "not decided"


def test_what_hangs_together_is_said() -> None:
    """A judging again names the run whose speeches it judges; the same journal twice is named too."""
    first = debated("1")
    made = compared(first, again("2", "1"), again("3", "9"), first)

    assert "Run 2 judges the speeches of run 1 again." in made.notes
    chain = compared(first, again("3", "2", root="1"))
    assert "Run 2 judges the speeches of run 1 again." in chain.notes
    assert [one for one in made.notes if one.startswith("Run 3 judges") and "not among these (first.jsonl)" in one]
    assert "Run 4 is the same journal as run 1." in made.notes


def test_what_differs_is_said_at_the_top() -> None:
    """Topics, formats, strictness and positions that differ are the first thing that is told."""
    made = compared(
        debated("1"),
        debated("2", topic="Vim or Emacs?"),
        kind("3", "claim"),
        debated("4", strictness="lenient", positions=("Tabs.", "Spaces.")),
        debated("5", positions=SWAPPED),
    )
    text = markdown.render_comparison(made)

    assert made.notes[0].startswith("The topics differ")
    for part in ("Run 2 debates: Vim or Emacs?", "The formats differ", "strictness differs: run 1 strict", "of run 4"):
        assert [one for one in made.notes if part in one], part
    assert "In run 5 the sides are exchanged; here it is told by the letters of run 1." in made.notes
    assert text.index("The topics differ") < text.index("## Runs")


def test_dissent_that_recurs_is_grouped_by_wording() -> None:
    """Claims in similar wording are told together with their runs; others are only counted."""
    made = compared(
        debated("1", dissenting("Tabs save bytes on disk.", "Who measures the bytes?")),
        debated("2", dissenting("On disk, tabs save many bytes.", "What of alignment?")),
        debated("3", dissenting("Editors agree on width.")),
    )
    text = section(markdown.render_comparison(made), "Dissent That Recurs")

    assert [(one.runs, one.likeness) for one in made.dissent] == [((1, 2), 0.8)]
    assert (made.dissent_alone, made.questions, made.questions_alone) == (1, (), 2)
    assert "- In runs 1, 2, in similar wording (0.8):\n  - Run 1 (unresolved): Tabs save bytes on disk.\n" in text
    assert "1 other disputed claim in a single run" in text


def test_costs_stand_beside_each_other() -> None:
    """What each run's calls cost is told, and unknown stays unknown."""
    paid = Costs(lines=(CostLine(seat="a", phase="opening", calls=3, cost=0.5),))
    free = Costs(lines=(CostLine(seat="a", phase="opening", calls=2, unknown=2),))
    one, other = (
        debated(str(n)).model_copy(update={"costs": costs_report(costs)}) for n, costs in ((1, paid), (2, free))
    )
    made = compared(one, other)

    assert made.costs is not None and made.costs.rows == (("1", "3", "$0.5000"), ("2", "2", "unknown"))
    assert compared(debated("1"), debated("2")).costs is None


@pytest.mark.slow
@pytest.mark.parametrize("one", KINDS)
@pytest.mark.parametrize("other", KINDS)
def test_any_two_formats_can_stand_side_by_side(one: str, other: str) -> None:
    """Whatever two formats vote on, what can be compared is, in tables as wide as their heads."""
    made = compared(kind("1", one), kind("2", other))
    text = markdown.render_comparison(made)

    assert text.startswith(markdown.COMPARED)
    for table in reading.tables(text):
        assert {len(row) for row in table} == {len(table[0])}
    assert made.model_dump(mode="json")["winners"]


def test_without_judges_no_side_has_won() -> None:
    """A bare conversation is told as one without a judge."""
    assert compared(debated("1"), kind("2", "conversation")).verdicts.rows[1][1] == "not judged"


@cache
def usual() -> list[tuple[int, str]]:
    """The headings of a comparison in which no text is hostile."""
    return reading.headings(markdown.render_comparison(compared(debated("1"), debated("2"))))


def must_be_whole(topic: str, deal: Deal) -> None:
    """A comparison of two debates in which the same was dealt has the usual headings, and nothing that runs."""
    made = compared(*(debated(name, hostile(deal, rounds=2), topic=topic) for name in "12"))
    shown = markdown.render_comparison(made)

    assert [one for one in reading.headings(shown) if one not in usual()] == []
    for _, title in usual()[1:]:
        assert reading.forged(section(shown, title)) == []


@pytest.mark.slow
@pytest.mark.parametrize("deal", handfuls(SAID))
def test_hostile_words_leave_the_comparison_whole(deal: Deal) -> None:
    """Whatever claims, questions and reasons hold, the headings are the usual ones and nothing runs."""
    hold(partial(must_be_whole, "Is it so?"), deal)


@pytest.mark.slow
@settings(max_examples=20)
@given(st.sampled_from(NASTY) | texts, dealt_by_chance(texts.filter(heard)))
def test_hostile_topics_leave_the_comparison_whole(topic: str, deal: Deal) -> None:
    """Nor does any topic change that."""
    must_be_whole(topic, deal)


said = st.lists(st.sampled_from(NASTY) | texts | st.text(max_size=40), max_size=12)


def test_likeness_is_the_share_of_common_words() -> None:
    """Words of content that both have, over those that either has; case, width and punctuation do not matter."""
    some, others = words("The queue IS fast, and cheap."), words("A ﬁne queue: cheap!")

    assert some == {"queue", "fast", "cheap"}
    assert likeness(some, others) == Fraction(2, 4)
    assert Fraction(1, 2) == ALIKE


@pytest.mark.parametrize(
    ("one", "other", "alike"),
    [
        ("Postgres scales to the load of most teams.", "Postgres scales to most teams' load", True),
        ("Postgres scales to the load of most teams.", "Postgres does not scale to the load of most teams.", True),
        ("Brokers cost more to run.", "Rust prevents memory bugs.", False),
        ("It is.", "It is not.", False),
        ("", "", False),
        ("它更便宜", "它更便宜", True),
    ],
)
def test_what_is_called_similar(one: str, other: str, alike: bool) -> None:
    """Reordered sentences are similar, others are not; what denies may be similar, since wording is no meaning."""
    assert (grouped([one, other]) == [[0, 1]]) is alike


@given(said)
def test_every_text_is_in_one_group(given_texts: list[str]) -> None:
    """Each text is in exactly one group, with one that it is similar to."""
    groups = grouped(given_texts)

    assert sorted(n for group in groups for n in group) == list(range(len(given_texts)))
    for first, *others in groups:
        assert all(likeness(words(given_texts[first]), words(given_texts[n])) >= ALIKE for n in others)


@given(st.lists(st.lists(st.sampled_from(["tab", "byte", "disk", "queue", "pen"]), max_size=4), max_size=12))
def test_a_text_joins_the_group_that_it_is_most_like(dealt: list[list[str]]) -> None:
    """Of groups that are as like, the first one; so would trying every group."""
    given_texts = [" ".join(chosen) for chosen in dealt]
    known, groups = [words(text) for text in given_texts], list[list[int]]()
    for n, own in enumerate(known):
        closest = max(groups, key=lambda group: likeness(known[group[0]], own), default=None)
        if closest is not None and likeness(known[closest[0]], own) >= ALIKE:
            closest.append(n)
        else:
            groups.append([n])

    assert grouped(given_texts) == groups


def test_grouping_takes_no_square_of_the_texts() -> None:
    """Texts without a word in common are not tried against each other."""
    some, more = (calls(lambda n=n: grouped([f"question{n} about{n}" for n in range(n)])) for n in (200, 800))

    assert more < 5 * some


def test_only_so_many_texts_are_compared_in_wording() -> None:
    """Of more, each run's first ones are compared, and that is said with their number."""
    asked = [" ".join(f"q{n}x{k}" for k in range(3)) for n in range(MAX_TEXTS)]
    one, other = (
        debated(n).model_copy(update={"questions": list(reversed(asked)) if n == "2" else asked}) for n in "12"
    )
    made = compared(one, other)

    half = MAX_TEXTS // 2
    said = f"Of {2 * MAX_TEXTS:,} questions only {MAX_TEXTS:,} are compared in wording, the first {half:,} of each run"
    assert any(note.startswith(said) for note in made.notes)
    assert not made.questions and made.questions_alone == 2 * MAX_TEXTS
    assert not any("in wording" in note for note in compared(debated("1"), debated("2")).notes)


@given(texts | st.text(max_size=60), texts | st.text(max_size=60))
def test_likeness_is_even_handed(one: str, other: str) -> None:
    """It is from 0 to 1, the same both ways, and 1 for a text and itself if it has a word."""
    some, others = words(one), words(other)

    assert 0 <= likeness(some, others) == likeness(others, some) <= 1
    assert likeness(some, some) == (1 if some else 0)
