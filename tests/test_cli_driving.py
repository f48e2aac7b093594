"""What a run prints for a program, how a debate without a usable ballot or brief goes on, and the next command."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from conftest import STATED, Run
from corpus import for_each
from debates import opened_event, play_events
from journals import write_journal
from messages_server import Server, schema_of
from scripted_debates import report_model

from debate_orchestrator.cli import driving
from debate_orchestrator.core import schedule
from debate_orchestrator.core.events import BriefSent, Event, Opened, Rejected, Spoke
from debate_orchestrator.core.fold import fold
from debate_orchestrator.core.state import spec_in
from debate_orchestrator.reports.wording import next_command
from debate_orchestrator.storage.journal import read

POSITIONS = ("--topic", "Is it so?", "--position-a", "Yes.", "--position-b", "No.", "--no-issues", "--no-brief")


def outcome(name: str, script: Any = None, **how: Any) -> dict[str, Any]:
    """What is printed of a debate that went so."""
    made: dict[str, Any] = json.loads(json.dumps(driving.outcome(report_model(name, script, **how))))
    return {key: made[key] for key in made if key != "cost"}


def test_scores() -> None:
    """A debate with scores has a winner, its strength, rounds and totals; what its format has not is null. Where judges
    voted before, it has what each side gained."""
    assert outcome("adversarial") == {
        "winner": "a",
        "strength": "narrow",
        "label": None,
        "score": None,
        "probability": None,
        "votes": {"a": 1},
        "flips": None,
        "swing": None,
        "scores": {"1": {"a": 5.5, "b": 5.5}},
        "totals": {"a": 5.5, "b": 5.5},
        "missing": [],
        "rehearsed": False,
        "estimate": None,
        "why_nothing_decided": None,
    }

    script = {"start.blind.judge": {"winner": "b", "probability": 0.6}, "final.verdict.judge": {"winner": "a"}}
    made = outcome("question", script, blind=True)

    assert made["swing"] == {"a": 1, "b": -1}
    assert made["probability"] == 0.5


def test_a_rehearsal_has_no_winner(debate: Run) -> None:
    """Where only stand-ins judged, the outcome names no winner, as its report does; it says what the debate would
    take."""
    ran = debate("run", *POSITIONS, "--rounds", "1", "--output", "r.md", "--rehearse", "--json")
    again = debate("resume", "r.rehearsed.journal.jsonl", "--json")

    for output in (ran.json, again.json):
        assert (output["winner"], output["strength"], output["votes"]) == (None, None, None)
        assert (
            output["rehearsed"] is True
            and output["why_nothing_decided"] == "only stand-ins judged"
            and " calls, about " in output["estimate"]
        )


J = "r.journal.jsonl"
MODEL = "anthropic:claude-opus-5-5"
STAND_IN = f"rehearse:{MODEL}"


def test_a_debate_stops_and_goes_on_with_another_judge(debate: Run) -> None:
    """Without a usable ballot a run ends with exit 3 after four calls and without a report; `resume --judge` asks for
    what is missing and nothing else."""
    setup = (*STATED, "--rounds=1", "--output=r.md", "--quiet")
    ran = debate("run", *setup, "--a", STAND_IN, "--b", STAND_IN, "--judge", "command:echo A wins")
    speeches = [event for event in read(J).events if isinstance(event, Spoke)]

    assert ran.code == 3
    assert "with another judge" in ran.err and f"debate resume {J}" in ran.err
    assert sum(isinstance(event, Rejected) for event in read(J).events) == 4
    assert not Path("r.md").exists()
    assert debate("resume", J, "--judge", STAND_IN, "--quiet").code == 0
    assert [event for event in read(J).events if isinstance(event, Spoke)] == speeches
    assert "**Winner:**" in Path("r.md").read_text(encoding="utf-8")


BRIEF = "final.brief.rapporteur"
SETUP = ("--topic=T", "--position-a=Yes.", "--position-b=No.", "--rounds=1", "--output=r.md")


def test_a_debate_without_its_decision_brief_says_so(debate: Run) -> None:
    """Where no reply of the rapporteur can be used, the run, its closing line and its report say what is missing and
    why, and the line and `check` name the command that asks again. Both end with exit 3, since that work is left."""
    seats = ("--a", STAND_IN, "--b", STAND_IN, "--judge", STAND_IN, "--rapporteur", "command:echo no")
    ran = debate("run", *SETUP, *seats)

    assert ran.code == debate("check", J).code == 3
    (closing,) = [line for line in ran.out.splitlines() if line.startswith("Debate ")]
    why = "the reply has no JSON object with the code of this turn at both ends"
    missing = f"No decision brief: each of the 4 replies from Rapporteur was unusable: “{why}.”"
    assert f" {BRIEF}: the reply was rejected: {why}. " in " ".join(ran.err.split())
    for place in (closing, " ".join(ran.err.split()), Path("r.md").read_text(encoding="utf-8")):
        assert missing in place and "No list of issues: each of the 4 replies" in place
    asks = f"`debate resume {J}` asks for the decision brief again; with `--rapporteur MODEL` it asks another model."
    assert ran.err.endswith(f"Next: `debate resume {J}` asks for what is missing; then open r.html in a browser.\n")
    assert asks in closing and asks in debate("check", J).err
    assert missing in debate("check", J).out and missing in debate("check", J, "--json").json["missing"]


def test_one_model_that_is_named_replaces_the_judge_that_failed(debate: Run, plain_server: Server) -> None:
    """The dissent record of a panel is asked for again with another model for the judge that gave none, as the closing
    line advises; the other judges keep theirs."""
    plain_server.say = lambda request: "no" if "rows" in (schema_of(request) or {}).get("properties", ()) else None
    seats = ("--a", STAND_IN, "--b", STAND_IN, *("--judge", MODEL) * 3, "--no-issues", "--no-brief")
    ran = debate("run", *SETUP, *seats, "--rapporteur", STAND_IN)
    again = debate("resume", J, "--judge", "rehearse", "--json")

    assert "with `--judge MODEL` it asks another model." in ran.out
    assert again.code == 0, again.err
    assert fold(read(J).events).cast["judge"] == ("rehearse", MODEL, MODEL)
    assert debate("check", J, "--json").json["missing"] == []


def test_the_brief_is_written_when_it_is_asked_for_again(debate: Run) -> None:
    """A stand-in for the rapporteur that gave no usable reply writes the brief, and has it checked; the speeches stay,
    and the debate can't be reopened after that."""
    debate("run", *SETUP, "--a", STAND_IN, "--b", STAND_IN, "--judge", STAND_IN, "--rapporteur", "command:echo no")
    spoken = [event for event in read(J).events if isinstance(event, Spoke)]
    ran = debate("resume", J, "--rapporteur", STAND_IN, "--json")
    events = read(J).events
    asked = [event.turn_id for event in events if isinstance(event, BriefSent)]

    assert ran.code == 0 and "No decision brief" not in ran.json["summary"]
    missing = [sentence.partition(":")[0] for sentence in ran.json["missing"]]
    assert missing == ["No list of issues", "No advice before the debate"]
    assert [event for event in events if isinstance(event, Spoke)] == spoken
    assert schedule.turns_to_reopen(fold(events)) == [] and asked[-2:] == [BRIEF, "final.brief-check.rapporteur"]
    assert "## Decision Brief" in Path("r.md").read_text(encoding="utf-8")


# What verbs name as the next command: `step` for a host's turns, `resume` for others

SPACED = "a b.journal.jsonl"


def waiting(judges: tuple[str, ...], sides: str = "host", until: str = "1.verdict.judge-1") -> list[Event]:
    """A debate of one round that waits for that turn."""
    cast = {"a": (sides,), "b": (sides,), "judge": judges}
    opened, *events = play_events(rounds=1, until=until, cast=cast)
    assert isinstance(opened, Opened)
    return [opened, *events]


@for_each(
    [
        (("rehearse:", "rehearse:"), "resume"),
        (("host", "rehearse:"), "step"),
        (("rehearse:", "host"), "step"),
        (("rehearse:", "human"), "resume"),
        (("host", "human"), "resume"),
    ]
)
def test_who_fills_the_due_seats(judges: tuple[str, ...], verb: str) -> None:
    """One host on the panel is enough for `step`, which calls the models too and asks no person."""
    debate = fold(waiting(judges))

    assert [spec_in(debate, turn.seat) for turn in debate.due] == [*judges]
    assert next_command(debate, "a b.jsonl") == f"debate {verb} 'a b.jsonl'"


@pytest.mark.parametrize("verb", [("replay",), ("check",), ("judge", "--judge", "host"), ("ballot", "--form")])
def test_every_verb_names_it(debate: Run, here: Path, verb: tuple[str, ...]) -> None:
    """A verb that meets an unfinished debate names the command that finishes it, and no other."""
    write_journal(here / SPACED, [opened_event(rounds=1)])
    ran = debate(verb[0], SPACED, *verb[1:])

    assert f"`debate step '{SPACED}'`" in ran.err
    assert "debate resume" not in ran.err and "debate judge" not in ran.err
