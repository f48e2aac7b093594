"""The earlier verdict of a debate that is judged again, beside the one of now."""

from __future__ import annotations

from typing import Any

import puppets
from debates import answers, entries, opened_event, play_events, script_of

from debate_orchestrator.core.events import Event
from debate_orchestrator.core.fold import apply, fold
from debate_orchestrator.engine import rejudge
from debate_orchestrator.reports import markdown
from debate_orchestrator.reports.model import ReportModel, build_report
from debate_orchestrator.reports.verdict_text import earlier_verdict


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


def compared(told: ReportModel) -> list[tuple[str, ...]]:
    """The comparison in plain words."""
    found = earlier_verdict(told)
    assert found is not None
    return [tuple("".join(run.text for run in cell) for cell in row) for row in found.rows]


def test_a_debate_that_was_held_has_none() -> None:
    """Only a debate that is judged again has an earlier verdict."""
    assert earlier_verdict(build_report(entries(play_events(rounds=1)))) is None
    assert "Earlier Verdict" not in markdown.render(build_report(entries([opened_event()])))


def test_both_stand_side_by_side() -> None:
    """Judges, winner, strength and totals are told as they were and as they are."""
    says = script_of(
        _1_verdict_judge=puppets.ballot(3, 9, rounds=2),
        _2_verdict_judge=puppets.ballot(6, 6, rounds=2),
        _final_verdict_judge=puppets.final("b"),
    )

    assert compared(again(play_events(rounds=2), says)) == [
        ("Judges", "host", "new:judge"),
        ("Winner", "A", "B"),
        ("Strength", "narrow", "decisive"),
        ("Total, Researcher A", "14", "9"),
        ("Total, Researcher B", "12", "15"),
    ]
