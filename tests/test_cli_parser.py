"""What is not a verb or a flag is met with the one that was meant."""

from __future__ import annotations

import pytest
from conftest import Run

from debate_orchestrator.cli.parser import parse


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (["run", "--judgge=x"], "debate run: error: unrecognized argument: --judgge=x, did you mean --judge?"),
        (["run", "--max-csot=2"], "debate run: error: unrecognized argument: --max-csot=2, did you mean --max-cost?"),
        (["step", "x", "--jsn"], "debate step: error: unrecognized argument: --jsn, did you mean --json?"),
        (
            ["run", "--judgge", "x", "--topci", "y", "--zzz", "--pos", "z"],
            "debate run: error: unrecognized argument: --judgge, did you mean --judge?; unrecognized argument: x; "
            "unrecognized argument: --topci, did you mean --topic?; unrecognized argument: y; "
            "unrecognized argument: --zzz; unrecognized argument: --pos; unrecognized argument: z",
        ),
        (["report", "x", "y"], "debate report: error: unrecognized argument: y"),
        (["report", "x", "--zzzzzz"], "debate report: error: unrecognized argument: --zzzzzz"),
    ],
)
def test_a_flag_that_there_is_not(debate: Run, given: list[str], expected: str) -> None:
    """The verb's own usage is shown, and the flag that is nearest, where one is near."""
    ran = debate(*given)

    assert ran.code == 2
    assert ran.err.startswith(f"usage: debate {given[0]} ")
    assert ran.err.splitlines()[-1] == expected


def test_a_verb_that_there_is_not(debate: Run) -> None:
    """All verbs are named, and the nearest is asked for, where one is near."""
    near, far = debate("reprot", "x"), debate("qqqq")

    assert near.code == far.code == 2
    assert "there is no verb reprot; expected one of answers, ask, open" in near.err
    assert near.err.rstrip().endswith(", did you mean report?")
    assert "there is no verb qqqq" in far.err and "did you mean" not in far.err


def test_a_flag_of_the_setup_belongs_after_the_verb(debate: Run) -> None:
    """What only the conversation takes is not silently lost before a verb."""
    assert "--format belongs after the verb" in debate("--format", "panel", "formats").err


def test_what_a_user_permits() -> None:
    """The conversation and every verb that calls somebody take what the user permits, each for itself."""
    flags = ["--insecure", "--command-env=A", "--command-env=B"]
    for verb in ([], ["run"], ["resume", "j"], ["judge", "j"], ["probe"]):
        given = parse([*verb, *flags])
        assert (given.insecure, given.command_env) == (True, ["A", "B"])
        assert not parse(verb).insecure and parse(verb).command_env is None
    assert parse(["models", "--insecure"]).insecure


def test_what_is_permitted_belongs_after_the_verb(debate: Run) -> None:
    """A permission before a verb is not silently lost."""
    assert "--insecure belongs after the verb" in debate("--insecure", "run").err
    assert "--command-env belongs after the verb" in debate("--command-env=A", "run").err
