"""The earlier verdict of a debate that is judged again, beside the one of now."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import puppets
import pytest
from debates import answers, entries, opened_event, played, saying
from hostile_texts import HTML
from reading import headings, tables
from scripted_debates import told

from debate_orchestrator.core import tally
from debate_orchestrator.core.events import Event
from debate_orchestrator.core.fold import apply, fold
from debate_orchestrator.engine import rejudge
from debate_orchestrator.reports import markdown
from debate_orchestrator.reports.model import ReportModel, build_report
from debate_orchestrator.reports.rich_text import Phrase
from debate_orchestrator.reports.verdict_text import earlier_verdict
from debate_orchestrator.util.numbers import decimals


def again(old: list[Event], say: puppets.Say | None = None, **how: Any) -> ReportModel:
    """The story of a judging of those events, in which the judge says what `say` tells."""
    made = rejudge.opened_from_journal(entries(old), "old.journal.jsonl", ("new:judge",))[0]
    if how:
        assert made.earlier_debate is not None
        made = made.model_copy(update={"earlier_debate": made.earlier_debate.model_copy(update=how)})
    replayed = {turn: answer.reply.text for turn, answer in fold(old).replies.items() if "judge" not in turn}

    def both(turn: dict[str, Any]) -> Any:
        return replayed.get(turn["turn"]) or (say(turn) if say else None)

    debate, events = fold([made]), [made]

    while due := debate.due:
        for turn in due:
            for event in answers(debate, turn, both):
                debate = apply(debate, event)
                events.append(event)
    return build_report(entries(events))


def compared(told: ReportModel) -> SimpleNamespace | None:
    """The comparison in plain words."""
    found = earlier_verdict(told)
    if found is None:
        return None
    return SimpleNamespace(
        verdicts=tuple(tuple(map(words, row)) for row in found.verdicts.rows),
        rounds=tuple(tuple(map(words, row)) for row in found.rounds.rows) if found.rounds else (),
        agreement=words(found.agreement),
    )


def words(said: Phrase) -> str:
    return "".join(run.text for run in said)


def test_a_debate_that_was_held_has_none() -> None:
    """Only a debate that is judged again has an earlier verdict."""
    assert earlier_verdict(build_report(entries(played(rounds=1)))) is None
    assert "Earlier Verdict" not in markdown.render(build_report(entries([opened_event()])))


def test_both_stand_side_by_side() -> None:
    """Judges, winner, strength, totals and every round are told as they were and as they are."""
    says = saying(
        _1_verdict_judge=puppets.ballot(3, 9, rounds=2),
        _2_verdict_judge=puppets.ballot(6, 6, rounds=2),
        _final_verdict_judge=puppets.final("b"),
    )
    found = compared(again(played(rounds=2), says))

    assert found is not None
    assert found.verdicts == (
        ("Judges", "host", "new:judge"),
        ("Winner", "A", "B"),
        ("Strength", "narrow", "decisive"),
        ("Total, Researcher A", "14", "9"),
        ("Total, Researcher B", "12", "15"),
    )
    assert found.rounds == (("1", "7", "6", "A", "3", "9", "B"), ("2", "7", "6", "A", "6", "6", "Tie"))
    assert found.agreement == (
        "The two judgings differ in the winner (A then, B now), the strength (narrow then, decisive now), "
        "the winner of round 1 (A then, B now), the winner of round 2 (A then, Tie now)."
    )


def test_where_they_agree() -> None:
    """Two judgings may agree to the point, or in all but the scores."""
    same = compared(again(played(rounds=1)))
    close = compared(again(played(rounds=1), saying(_1_verdict_judge=puppets.ballot(8, 7, rounds=1))))

    assert same is not None and same.agreement.endswith("every round, to the point.")
    assert close is not None and close.agreement.endswith("they differ in the scores alone.")


def test_an_undecided_verdict() -> None:
    """A panel none of whose ballots counted had decided nothing, and the table says so."""
    found = compared(again(played(saying(_1_verdict_judge="no", _final_verdict_judge="no"), rounds=1)))

    assert found is not None
    assert found.verdicts[1] == ("Winner", "not decided", "A")
    assert found.rounds == (("1", "-", "-", "-", "7", "6", "A"),)


def test_scores_are_shown_as_they_were() -> None:
    """A score that is no decimal is rounded as its own report rounded it."""
    old = played(saying(_1_verdict_judge=puppets.ballot(6.675, 5.005, rounds=1)), rounds=1)
    result = tally.result(fold(old), 1)
    found = compared(again(old))

    assert found is not None and result is not None
    assert found.rounds[0][1:3] == tuple(decimals(points) for points in result.scores.values())


def test_the_section_is_the_last() -> None:
    """The report ends with it, after all that every report has, and its tables are whole."""
    text = markdown.render(again(played(rounds=2)))

    assert headings(text)[-1] == (2, "Earlier Verdict")
    assert [len(row) for row in tables(text)[-2]] == [3] * 6
    assert [len(row) for row in tables(text)[-1]] == [7] * 3
    assert "This is a judging of a recorded debate: old.journal.jsonl" in text


def test_without_scores() -> None:
    """A format without scores has winners to compare, and no totals, strength or rounds."""
    earlier_debate = again(played(rounds=1)).earlier_debate
    one = told("question", {"final.verdict.judge": {"winner": "b"}}).model_copy(
        update={"earlier_debate": earlier_debate}
    )
    found = compared(one)

    assert found is not None
    assert found.verdicts == (("Judges", "host", "host"), ("Winner", "A", "B"))
    assert found.rounds == ()
    assert found.agreement == "The two judgings differ in the winner (A then, B now)."
    agreed = compared(told("question").model_copy(update={"earlier_debate": earlier_debate}))
    assert agreed is not None and agreed.agreement == "The two judgings agree on the winner."


@pytest.mark.slow
def test_hostile_words_stay_in_their_cells() -> None:
    """What an earlier record calls its judges or its winner forges nothing."""
    for text in HTML:
        told = markdown.render(again(played(rounds=1), judges=(text,), winner=f"{text} | x", strength=text))

        assert headings(told)[-1] == (2, "Earlier Verdict"), text
        assert [len(row) for row in tables(told)[-2]] == [3] * 6, text
