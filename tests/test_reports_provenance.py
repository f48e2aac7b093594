"""A story says how its debate was made, and first of all what weakens it."""

from __future__ import annotations

import pytest
import tellings
from debates import DECLINE, entries, played, saying, told

from debate_orchestrator.core.events import Reassigned, Spoke
from debate_orchestrator.core.fold import fold
from debate_orchestrator.reports.announcements import announcements
from debate_orchestrator.reports.model import build_report, closing_line

REAL = "anthropic:claude-opus-5-5"
STAND_IN = f"rehearse:{REAL}"
ALL = {"a": (STAND_IN,), "b": ("rehearse",), "judge": (STAND_IN, STAND_IN)}


def test_a_rehearsal_says_so_first() -> None:
    """A rehearsal is told as one before anything else, in the report, in the closing line and as it runs."""
    events = played(rounds=1, cast=ALL)
    one = build_report(entries(events))

    assert one.provenance[:2] == ("Rehearsed: stand-ins spoke, and no model was called.", "Complete.")
    assert closing_line(one, "r.md") == (
        "Debate rehearsed. Report written to r.md. "
        "What stand-ins wrote in it is filler: its verdict and its advice mean nothing."
    )
    assert [line.text for line in announcements(fold(events))][:2] == [
        "Rehearsal: stand-ins speak for Researcher A, Researcher B, Judge 1, Judge 2, and what they say means nothing.",
        "--- ROUND 1 OF 1 ---",
    ]


def test_a_rehearsal_in_part() -> None:
    """Where a model was called too, the seats that were rehearsed are named."""
    one = told(rounds=1, cast={"a": (REAL,), "b": (REAL,), "judge": (REAL, STAND_IN)})

    assert one.provenance[0] == "Rehearsed in part: stand-ins spoke for Judge 2."
    assert one.run.rehearsed and closing_line(one, "r.md").startswith("Debate rehearsed in part. Report")


def test_people_are_told() -> None:
    """Which seats people had is told, also of those that were given to another on the way; people are no stand-ins."""
    cast = {"a": ("human",), "b": (STAND_IN,), "judge": ("human", STAND_IN)}
    one, alone = told(rounds=1, cast=cast), told(rounds=1, cast=dict.fromkeys(("a", "b", "judge"), ("human",)))

    assert "A person argued as Researcher A." in one.provenance and "A person judged as Judge 1." in one.provenance
    assert one.provenance[0] == "Rehearsed in part: stand-ins spoke for Researcher B, Judge 2."
    assert "A person argued as Researcher A and as Researcher B." in alone.provenance
    assert not any("person" in said for said in told(rounds=1).provenance)


@pytest.mark.parametrize("who", ["host", REAL])
def test_a_real_debate_is_no_rehearsal(who: str) -> None:
    """A debate in which there are no stand-ins is told as before."""
    one = told(rounds=1, cast={"a": (who,), "b": (who,), "judge": (who,)})

    assert (one.run.rehearsed, one.provenance[0]) == (False, "Complete.")
    assert closing_line(one, None).startswith("Debate complete. Winner: ")


def test_refusals_degrade() -> None:
    """A side that declined to argue is named with the number of its turns."""
    one = told(saying(_1_opening_a=DECLINE, _2_rebuttal_a=DECLINE, _2_challenge_b=DECLINE))

    assert [said for said in one.provenance if said.startswith("Degraded")] == [
        "Degraded: Researcher A declined to argue in 2 turns.",
        "Degraded: Researcher B declined to argue in 1 turn.",
    ]


def test_a_change_of_cast_is_told() -> None:
    """Who spoke for a seat is told from the replies, in order, wherever more than one did."""
    first, *rest = played(rounds=2, cast={"a": ("one",), "b": ("two",), "judge": ("three",)})
    own = [one for one in rest if isinstance(one, Spoke) and one.turn.endswith(".a")]
    by = ["x", *["y"] * (len(own) - 1)]
    replies = [one.reply.model_copy(update={"by": who}) for one, who in zip(own, by, strict=True)]
    spoke = [one.model_copy(update={"reply": said}) for one, said in zip(own, replies, strict=True)]
    changed = {event.turn: event for event in spoke}
    events = [first, *(changed.get(getattr(event, "turn", ""), event) for event in rest)]
    said = build_report(entries(events)).provenance

    assert "Reassigned on the way: Researcher A was x, then y." in said
    assert not any("Researcher B was" in one for one in said)


def test_a_rehearsal_that_became_real_stays_one() -> None:
    """A debate in which stand-ins spoke is told as rehearsed in part, no matter who spoke in the end."""
    first, *rest = played(rounds=1, cast=ALL)
    changes = [Reassigned(seat=seat, who=tuple(REAL for _ in who)) for seat, who in ALL.items()]
    events = [first, rest[0], *changes, *rest[1:]]
    one = build_report(entries(events))

    assert one.provenance[0] == ("Rehearsed in part: stand-ins spoke for Researcher A, Researcher B, Judge 1, Judge 2.")
    assert announcements(fold(events))[0] == announcements(fold(events[:2]))[0]


def test_what_was_not_to_be_had_is_told_once() -> None:
    """What a provider could not do is told once for each seat."""
    events = [
        event.model_copy(update={"reply": event.reply.model_copy(update={"lacked": ("search", "structured output")})})
        if isinstance(event, Spoke) and event.turn.endswith(".a")
        else event
        for event in played(rounds=2)
    ]
    said = build_report(entries(events)).provenance

    assert [one for one in said if one.startswith("Not available")] == [
        "Not available from the provider of Researcher A: search, structured output."
    ]


@pytest.mark.parametrize(
    ("name", "how", "said"),
    [
        ("question", {}, "Both spoke at once."),
        ("panel", {}, "Debater A spoke first."),
        ("panel", {"first": "b"}, "Debater B spoke first."),
        ("question-consultancy", {}, "Only Debater A argued, without an opponent."),
        ("question-blind", {}, "Neither side argued: the judge decides without a debate."),
        ("question", {"material": "x"}, "Material given to the debaters, and not to the judge: passage.txt."),
        ("adversarial", {"material": "x"}, "Material given to the debaters: passage.txt."),
        ("question-open", {"material": "x"}, "Material given to the judge: passage.txt."),
        ("question-blind", {"material": "x"}, "Material that no seat was given: passage.txt."),
    ],
)
def test_who_spoke_and_who_read(name: str, how: dict[str, object], said: str) -> None:
    """Who spoke before whom, and who was given the material, is told as the format has it."""
    assert said in tellings.told(name, **how).provenance  # type: ignore[arg-type]


def test_sources_that_were_not_checked() -> None:
    """Every report of a judged debate says that its sources were not checked."""
    said = "Sources are cited by the debaters and were not checked."

    assert said in tellings.told("panel").provenance
    assert said in tellings.told("question").provenance
    assert said in tellings.told("panel", strictness="lenient").provenance
    assert said not in tellings.told("question", material="x").provenance
    assert said not in tellings.told("conversation").provenance
    assert said not in tellings.told("claim").provenance


def test_advice_is_told_only_where_there_is_any() -> None:
    """Formats whose judges give no advice say nothing of feedback."""
    assert any("feedback" in one for one in tellings.told("adversarial", rounds=2).provenance)
    assert not any("feedback" in one for one in tellings.told("claim", rounds=2, each_round=True).provenance)


def test_a_seat_that_takes_no_turn() -> None:
    """Who is cast is told of the seats that take a turn."""
    cast = {"a": ("one",), "judge": ("two",)}

    assert "Debater A: one; Judge: two." in tellings.told("question-consultancy", cast=cast).provenance
