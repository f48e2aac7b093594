"""A story holds what a report needs, and says in a line how the debate ended."""

from __future__ import annotations

import puppets
from debates import NONCE, entries, one_agent, played, saying, told

from debate_orchestrator.core.events import Noted
from debate_orchestrator.reports.model import build_report, closing_line


def test_the_closing_line() -> None:
    """A finished debate is confirmed in exactly the promised words."""
    assert closing_line(told(), "out/debate-report.md") == (
        "Debate complete. Report written to out/debate-report.md. Winner: A (narrow). 3 rounds completed. "
        "Key unresolved question: What does it cost in year two?"
    )


def test_the_closing_line_is_one_line() -> None:
    """A question that runs over several lines is told on one; where there is none, the line says so."""
    several = puppets.final(unresolved_questions=["What\n does\tit cost?"])
    none = puppets.final(unresolved_questions=[])

    assert closing_line(told(saying(_final_verdict_judge=several), rounds=1), "r").endswith(
        "question: What does it cost?"
    )
    assert closing_line(told(saying(_final_verdict_judge=none), rounds=1), "r").endswith(
        "Key unresolved question: none"
    )


def test_questions_of_a_panel_stand_once() -> None:
    """The questions of all final ballots are told in order, each once."""
    say = saying(_final_verdict_judge_2=puppets.final(unresolved_questions=["Who maintains it?", "When?"]))

    assert told(say, rounds=1, judges=2).questions == ("What does it cost in year two?", "Who maintains it?", "When?")


def test_convergence_that_persists_has_its_sentence() -> None:
    """Only convergence right after an intervention is told as persisting."""
    both = saying(_1_verdict_judge=puppets.converging(), _2_verdict_judge=puppets.converging())
    apart = saying(_1_verdict_judge=puppets.converging(), _3_verdict_judge=puppets.converging())

    assert told(both).persisted is not None
    assert [one.persisted for one in told(both).rounds] == [False, True, False]
    assert told(apart).persisted is None
    assert [one.intervened for one in told(apart).rounds] == [True, False, True]


def test_where_it_came_from_is_told() -> None:
    """A story says who filled the seats, who spoke first, and whether feedback was heard."""
    cast = {"a": ("one",), "b": ("two",), "judge": ("three", "four")}
    one = told(cast=cast, feedback=False, rounds=2)

    assert one.provenance == (
        "Complete.",
        "Researcher A: one; Researcher B: two; Judge: three, four.",
        "Researcher A spoke first.",
        "The judge's feedback is kept from the debaters.",
        "Sources are cited by the debaters and were not checked.",
    )


def test_what_was_noted_is_told_once() -> None:
    """A degraded debate and changed prompts are disclosed, each once."""
    events = one_agent(played(rounds=1))
    events += [Noted(note="prompts changed", detail="shared/turn.md.j2"), Noted(note="one agent")]
    said = build_report(entries(events)).provenance

    assert said[1] == "Degraded: one agent wore all hats, so the two sides are not independent."
    assert said[-1] == ("The prompts changed on the way, with a newer version of this program (shared/turn.md.j2).")
    assert len(set(said)) == len(said)


def test_no_secret_is_told() -> None:
    """The nonce that fences speech is no part of a story."""
    assert NONCE not in told(rounds=1).model_dump_json()


def test_a_round_that_was_not_judged_is_told() -> None:
    """A round whose ballots were all spoiled degrades the debate."""
    one = told(saying(_1_verdict_judge="none", _final_verdict_judge="none"), rounds=1)

    assert "Degraded: no ballot counts for round 1." in one.provenance
    assert closing_line(one, "r.md") == (
        "Debate complete. Report written to r.md. Winner: not decided, since no final ballot counts."
    )
