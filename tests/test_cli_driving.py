"""What a run prints for a program: what was decided, in the terms of its format, and how the votes fell."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from conftest import Run
from core.folding import absent
from tellings import events, label

from debate_orchestrator.cli import driving
from debate_orchestrator.core.fold import fold

POSITIONS = ("--topic", "Is it so?", "--position-a", "Yes.", "--position-b", "No.", "--no-issues", "--no-brief")


def outcome(name: str, script: Any = None, **how: Any) -> dict[str, Any]:
    """What is printed of a debate that went so."""
    made: dict[str, Any] = json.loads(json.dumps(driving.outcome(fold(events(name, script, **how)))))
    return {key: made[key] for key in made if key != "cost"}


def test_scores() -> None:
    """A debate with scores has a winner, its strength, rounds and totals; what its format has not is null."""
    assert outcome("adversarial") == {
        "winner": "a",
        "strength": "narrow",
        "label": None,
        "score": None,
        "probability": None,
        "votes": {"a": 1},
        "flips": None,
        "blind": None,
        "scores": {"1": {"a": 5.5, "b": 5.5}},
        "totals": {"a": 5.5, "b": 5.5},
    }


def test_labels() -> None:
    """A claim has its label and score, and no strength."""
    made = outcome("claim", {"final.verdict.judge": label("misleading", 4)})

    assert (made["label"], made["score"], made["winner"]) == ("misleading", 4.0, "tie")
    assert (made["strength"], made["totals"], made["scores"]) == (None, None, {})


def test_a_label_without_a_score() -> None:
    """A label that has no score has none here, and counts for neither side."""
    made = outcome("claim", {"final.verdict.judge": label("needs more evidence")})

    assert (made["label"], made["score"], made["winner"]) == ("needs more evidence", None, "no decision")


def test_flips() -> None:
    """Votes that changed in the mirror are counted, and where none is left nothing is decided."""
    made = outcome("question", {"final.verdict.judge.mirrored": {"winner": "a"}}, mirror=True)

    assert (made["winner"], made["votes"], made["flips"]) == ("no decision", {}, {"changed": 1, "of": 1})
    assert made["probability"] is None


def test_what_was_held_before() -> None:
    """The votes before the first word stand with what each side gained since."""
    script = {"start.blind.judge": {"winner": "b", "probability": 0.6}, "final.verdict.judge": {"winner": "a"}}
    made = outcome("question", script, blind=True)
    labelled = outcome("claim", {"start.blind.judge": label("misleading", 4)}, blind=True)

    assert made["blind"] == {"votes": {"b": 1}, "labels": None, "swing": {"a": 1, "b": -1}}
    assert made["probability"] == 0.5
    assert labelled["blind"]["labels"] == ["misleading"]


def test_nothing_decided() -> None:
    """Where no ballot counts, or there is no judge, nothing was decided."""
    for made in (
        outcome("question", {"final.verdict.judge": absent("final.verdict.judge")}),
        outcome("conversation"),
    ):
        assert (made["winner"], made["votes"], made["totals"]) == (None, None, None)


def test_every_format_is_run_to_its_end(debate: Run) -> None:
    """A rehearsal of each format ends with its outcome as JSON and its report written."""
    for name in ("claim", "question", "panel", "conversation"):
        ran = debate("run", *POSITIONS, "--format", name, "--output", f"{name}.md", "--rehearse", "--json")

        assert ran.code == 0, ran.err
        assert {"winner", "label", "votes", "flips", "blind", "cost"} <= set(ran.json), name
        assert ran.json["report"] == f"{name}.rehearsed.md", name


def test_own_briefs_are_replaced_in_silence(debate: Run) -> None:
    """A judge's program that answers in prose is asked again with another brief, also by `resume`. None of these briefs
    is called edited; one that a person changed is kept, and its new name is printed."""
    cast = ("--a", "rehearse", "--b", "rehearse", "--judge", "command:echo I think A won.")
    ran = debate("run", *POSITIONS, *cast, "--rounds", "1", "--output", "r.md")
    brief = Path("r.turns/1.verdict.judge.brief.md")
    refused = brief.read_text(encoding="utf-8")
    again = debate("resume", "r.journal.jsonl")
    assert ran.code == again.code == 3 and "could not be used" in refused
    assert "the reply is not JSON: 'I think A won.'" in ran.err
    assert "was not the brief" not in ran.err + again.err and not [*brief.parent.glob("*edited*")]

    brief.write_text("My notes.", encoding="utf-8")
    assert "kept as r.turns/1.verdict.judge.brief.edited.md" in debate("resume", "r.journal.jsonl").err
