"""Questions from the floor and early ends are told where they happened, and at the head of a report."""

from __future__ import annotations

from functools import cache

import pytest
from dealing import Deal, handfuls, hold
from debates import answers, entries, played
from nasty import NASTY

from debate_orchestrator.core.events import EndedEarly, Event, QuestionAsked
from debate_orchestrator.core.fold import apply, fold
from debate_orchestrator.engine.transcript_file import parse
from debate_orchestrator.reports import markdown, wording
from debate_orchestrator.reports.model import build_report

WHY = "Why not next year?"


def closed(until: str, *more: Event) -> list[Event]:
    """A debate that is ended early where a turn is due, after which `more` happens; to its end."""
    events: list[Event] = [*played(until=until), *more, EndedEarly()]
    debate = fold(events)
    while due := debate.due:
        for turn in due:
            for event in answers(debate, turn, None):
                debate = apply(debate, event)
                events.append(event)
    return events


def test_what_is_announced() -> None:
    """A question is announced with those it is put to, an early end with the phase it follows; nothing else is."""
    debate = fold(played(until="1.challenge.a"))
    asked = QuestionAsked(question=f"{WHY}\n## No", to=("a", "b", "judge"))
    assert wording.announced(debate, asked) == f"From the floor, to Researcher A, Researcher B and Judge: {WHY} ## No"
    assert wording.announced(debate, debate.opened) is None
    debate = apply(debate, EndedEarly())
    assert wording.announced(debate, EndedEarly()) == "Ended early, after Opening Statement of round 1."


def test_a_question_stands_above_the_turn_that_heard_it() -> None:
    """The report has it under the heading of the first turn that heard it, above its tag, and nowhere else."""
    before = played(until="1.challenge.a")
    report = markdown.render(
        build_report(entries([*before, QuestionAsked(question=WHY, to=("a",)), *played()[len(before) :]]))
    )
    line = f"*From the floor:* {WHY}"
    assert report.count(line) == 1
    above, below = report.split(line)
    assert above.rstrip().endswith("#### Challenge — Researcher A")
    assert below.lstrip().startswith("[R1 - ROUND 1 - CHALLENGE]")
    assert "1 question was put from the floor." in report


def test_reviewers_read_what_the_sides_were_asked() -> None:
    """The blind transcript has a question under the heading of the side that answers it, and none of the judges'."""
    before = played(until="1.challenge.a")
    asked = [QuestionAsked(question=WHY, to=("a", "judge")), QuestionAsked(question="Is # A *ahead*?", to=("judge",))]
    made = build_report(entries([*before, *asked, *played()[len(before) :]]))
    blind = markdown.render_blind(made)
    above, below = blind.split(f"*From the floor:* {WHY}\n\n")

    assert above.endswith("### Challenge — Researcher A\n\n")
    assert below.startswith("This is what a says in 1.challenge.a.")
    assert "ahead" in markdown.render(made) and "ahead" not in blind


def test_a_question_that_was_not_heard_is_told() -> None:
    """One that was put and not heard stands at the head, and says `yet` while it may still be."""
    events = [*played(until="1.challenge.a"), QuestionAsked(question=WHY, to=("a",))]
    assert f"has not been heard yet: {WHY}" in markdown.render(build_report(entries(events)))
    ended = closed("1.challenge.a", QuestionAsked(question=WHY, to=("a",)))
    assert f"A question from the floor, to Researcher A, was not heard: {WHY}" in markdown.render(
        build_report(entries(ended))
    )


def test_the_same_question_to_another_is_another() -> None:
    """One that was heard does not stand for one in the same words that was not."""
    before = played(until="final.verdict.judge")
    events = [QuestionAsked(question=WHY, to=("judge",)), *played()[len(before) :]]
    complete = played()
    first = played(until="1.challenge.a")
    report = markdown.render(
        build_report(
            entries([*first, QuestionAsked(question=WHY, to=("a",)), *complete[len(first) : len(before)], events[0]])
        )
    )
    assert f"A question from the floor, to Judge, has not been heard yet: {WHY}" in report
    assert "2 questions were put from the floor." in report


def test_an_early_end_is_told() -> None:
    """The report of a debate that was ended early says so, counts the rounds that were judged, and has its verdict."""
    report = markdown.render(build_report(entries(closed("2.challenge.a"))))
    assert "Ended early, after Constructive of round 2." in report
    assert "What was said in round 2 was not voted on by itself." in report
    assert "**Rounds Completed:** 1 / 3" in report
    assert "**Winner:** " in report and "Complete." in report


@cache
def small(until: str | None) -> tuple[Event, ...]:
    """A debate of two rounds, or its beginning."""
    return tuple(played(until=until, rounds=2))


@cache
def lines_with(questions: tuple[str, ...]) -> list[str]:
    """The lines by which a reader finds their way, in the report of a debate in which these were asked."""
    before, whole = small("1.challenge.a"), small(None)
    asked = [QuestionAsked(question=question[:2000], to=("a",)) for question in questions]
    report = markdown.render(build_report(entries([*before, *asked, *whole[len(before) :]])))
    return [line for line in report.split("\n") if line.startswith(("#", "[", "|", "---", "```", "<"))]


def must_stay_a_question(deal: Deal) -> None:
    assert lines_with(deal.texts) == lines_with((WHY,) * len(deal.texts))


@pytest.mark.parametrize("deal", handfuls(text for text in NASTY if text.strip()))
def test_a_question_can_not_forge_anything(deal: Deal) -> None:
    """Whatever questions hold, the report has the headings and the tags that it has with plain ones."""
    hold(must_stay_a_question, deal)


def test_a_report_with_a_question_is_read_back() -> None:
    """The speeches of a report that tells a question are those it has without: the question is no speaker's words."""
    before = played(until="1.challenge.a")
    plain = markdown.render(build_report(entries(played())))
    asked = markdown.render(
        build_report(entries([*before, QuestionAsked(question=WHY, to=("a",)), *played()[len(before) :]]))
    )
    assert parse(asked, "x").speeches == parse(plain, "x").speeches
