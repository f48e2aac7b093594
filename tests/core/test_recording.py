"""A debate that is judged again: its recording fixes who speaks, and the new ballots decide the rest."""

from __future__ import annotations

from typing import Any

from core.folding import CONCEDE, absent, converging, marks, opened, play

from debate_orchestrator.core import schedule, tally
from debate_orchestrator.core.events import Recording
from debate_orchestrator.core.fold import fold
from debate_orchestrator.core.phases import Phase
from debate_orchestrator.core.schema import Condition
from debate_orchestrator.core.state import DebateState


def again(rounds: int = 3, judges: int = 1, script: Any = None, *, until: str = "", **recording: Any) -> DebateState:
    """A debate with that recording, played to its end or until a turn is due."""
    made = opened(rounds, judges).model_copy(
        update={"recording": Recording(source="old", digest="0" * 64, **recording)}
    )
    debate = fold([made])
    debate, _ = play(debate, script, until=until)
    return debate


def ids(debate: DebateState) -> list[str]:
    return [turn.id for turn in schedule.settled(debate)]


def test_what_was_debated_is_the_root_of_its_judgings() -> None:
    """The root stands for the speeches; what was judged does in a journal that notes no root."""
    assert Recording(source="old", digest="d" * 64, root="e" * 64).debated == "e" * 64
    assert Recording.model_validate({"source": "old", "digest": "d" * 64}).debated == "d" * 64


def test_an_old_intervention_takes_place_whatever_is_found_now() -> None:
    """The side that answered an intervention then answers it now, though no judge sees it converge."""
    debate = again(2, interventions={1: ("b",)})

    assert debate.complete
    assert [turn for turn in ids(debate) if "divergence" in turn] == ["1.divergence.b"]
    assert (tally.intervened(debate, 1), tally.diverging_sides(debate, 1), tally.finding(debate, 1).detected) == (
        True,
        ("b",),
        False,
    )


def test_a_new_finding_calls_no_side_to_speak() -> None:
    """Convergence that only the new panel sees is on record, and is answered by no turn."""
    debate = again(2, script={"1.verdict.judge": converging("a")})

    assert debate.complete
    assert not [turn for turn in ids(debate) if "divergence" in turn]
    assert tally.finding(debate, 1).sides == ("a",)


def test_a_new_finding_after_an_old_intervention_is_flagged() -> None:
    """Convergence right after an intervention that took place is flagged for the final verdict, as it is live."""
    debate = again(3, script={"2.verdict.judge": converging()}, interventions={1: ("a", "b")})

    assert tally.persisted(debate) == (2,)


def test_an_old_concession_by_ballot_ends_it_where_it_ended() -> None:
    """Where the old ballots ended the debate it ends, after the new panel has voted in that round."""
    debate = again(3, conceded={1: "b"})

    assert debate.complete
    assert [turn for turn in ids(debate) if not turn.startswith(("1.", "final."))] == []
    assert "1.verdict.judge" in ids(debate)


def test_an_old_concession_is_no_finding_of_the_new_panel() -> None:
    """The verdict of a panel that saw neither side give up is not turned into consensus by what another one saw."""
    debate = again(3, script={"final.verdict.judge": {"winner": "a"}}, conceded={1: "b"})
    verdict = tally.verdict(debate)

    assert tally.conceded(debate) is None
    assert verdict is not None and verdict.winner == "a"


def test_a_concession_that_both_panels_see_is_one() -> None:
    """What the new ballots find too ends as it would have ended live."""
    debate = again(3, script={"1.verdict.judge": {"conceded": "b"}}, conceded={1: "b"})
    verdict = tally.verdict(debate)

    assert tally.conceded(debate) == "b"
    assert verdict is not None and verdict.winner == "consensus"


def test_a_concession_that_only_the_new_panel_sees_ends_nothing() -> None:
    """The debate went on, so it goes on; and no consensus is made of it."""
    debate = again(2, script={"1.verdict.judge": {"conceded": "b"}})

    assert "2.constructive.a" in ids(debate)
    assert tally.conceded(debate) is None


def test_a_sides_own_words_still_concede() -> None:
    """A debater's own line ends the debate again: it was said."""
    debate = again(3, script={"1.rebuttal.a": f"Well.\n\n{CONCEDE}"})

    assert tally.conceded(debate) == "a"
    assert not [turn for turn in ids(debate) if turn.startswith("2.")]


def test_the_whole_new_panel_votes_before_it_ends() -> None:
    """With a panel of another size, at once or in turn, every judge has the turn that the old end left them."""
    at_once = again(2, 3, conceded={1: "a"})
    assert [turn for turn in ids(at_once) if turn.startswith("1.verdict")] == [
        f"1.verdict.judge-{n}" for n in (1, 2, 3)
    ]

    base = opened(2, 2)
    phases = tuple(_in_turn(phase) if phase.name == "verdict" else phase for phase in base.format.round)
    made = base.model_copy(
        update={
            "format": base.format.model_copy(update={"round": phases}),
            "recording": Recording(source="old", digest="0" * 64, conceded={1: "a"}),
        }
    )
    debate = fold([made])
    debate, _ = play(debate)
    assert debate.complete
    assert {"1.verdict.judge-1", "1.verdict.judge-2"} <= set(ids(debate))


def _in_turn(phase: Phase) -> Phase:
    return phase.model_copy(update={"order": "in turn"})


def test_an_absent_panel_changes_no_agenda() -> None:
    """Where no new ballot counts, the old recording is gone through all the same."""
    script = {"1.verdict.judge": absent("1.verdict.judge"), "2.verdict.judge": marks()}
    debate = again(2, script=script, interventions={1: ("a",)})

    assert debate.complete and tally.unjudged(debate, 1)
    assert "1.divergence.a" in ids(debate)


def test_without_a_course_nothing_is_fixed() -> None:
    """A debate that is held decides by its own ballots."""
    debate = fold([opened(2)])
    debate, _ = play(debate, {"1.verdict.judge": converging("a")})

    assert (tally.intervened(debate, 1), tally.diverging_sides(debate, 1)) == (True, ("a",))


def test_a_round_may_be_told_by_its_number() -> None:
    """A phase may be for one round alone."""
    assert [Condition(round=2).holds(rounds=3, strictness="strict", round=n) for n in (None, 1, 2, 3)] == [
        False,
        False,
        True,
        False,
    ]


def test_a_round_without_ballots_is_not_judged() -> None:
    """Which rounds get scored follows from the phases."""
    base = opened(3)
    last = tuple(
        phase.model_copy(update={"when": Condition(round="last")}) if phase.name == "verdict" else phase
        for phase in base.format.round
    )
    debate = fold([base.model_copy(update={"format": base.format.model_copy(update={"round": last})})])

    assert [tally.is_judged(debate, n) for n in (1, 2, 3)] == [False, False, True]
    debate, _ = play(debate)
    assert not tally.unjudged(debate, 1)
