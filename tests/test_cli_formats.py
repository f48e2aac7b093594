"""Formats on the command line: listed, copied, checked, and debated by, also when their folder is gone."""

from __future__ import annotations

from pathlib import Path

import pytest
from conftest import Run
from own_formats import FORMAT, write_format

SETUP = ["--topic=Tea is better.", "--position-a=Tea is.", "--position-b=Coffee is.", "--no-issues", "--no-brief"]
SETUP += ["--output=r.md"]


@pytest.fixture
def mine(here: Path) -> Path:
    """The small format in a folder here."""
    return write_format(here / "mine")


# Showing


def test_every_shipped_format_is_shown(debate: Run) -> None:
    """Each shipped format is listed and shown. A stage that an option leaves out, or asks for, names the flag for that,
    also where it is one turn."""
    assert debate("formats").out.startswith("adversarial: ")
    names = [listed["name"] for listed in debate("formats", "--json").json["formats"]]
    shown = {name: debate("formats", name) for name in names}

    assert {ran.code for ran in shown.values()} == {0}
    assert "only with --each-round" in shown["claim"].out

    lines = debate("formats", "adversarial").out.split("\n")

    for turn, flag in (("start.blind.judge", "only with --blind"), ("start.issues.rapporteur", "unless --no-issues")):
        assert [line for line in lines if line.startswith(f"  {turn} ") and line.endswith(flag)], turn


def test_ones_own_is_unrolled(debate: Run, mine: Path) -> None:
    """A format of the user's is shown like a shipped one: its turns, its rubric, how strict a judge may be."""
    ran = debate("formats", "./mine")
    assert ran.code == 0 and ran.err.startswith("Next: `debate run --format ./mine")
    assert ran.out.startswith("Small (mine)\n")
    assert "\nround 1\n  1.speech.a\n" in ran.out and "Rubric mine, 0 to 5:\n  wit: Is it funny" in ran.out
    output = debate("formats", "mine/format.yaml", "--json").json
    assert (output["format"]["name"], output["stages"][0]["turns"]) == ("mine", ["1.speech.a"])


def test_its_mistakes_are_reported(debate: Run, here: Path) -> None:
    """What is wrong is reported line by line, with exit code 2, and for programs in the JSON. No debate is opened by a
    format with a mistake; that and all other mistakes are reported at once."""
    write_format(here / "mine", format_yaml=FORMAT.replace("title: Small", "titel: Small"), vote_md_j2="{{ crteria }}")
    ran = debate("formats", "./mine", "--json")
    places = [one.split(": ")[0] for one in ran.json["complaints"]]
    assert (ran.code, ran.json["status"]) == (2, "error")
    assert places == ["./mine/format.yaml:2", "./mine/format.yaml:2", "./mine/vote.md.j2:1"]
    assert "debate: ./mine/format.yaml:2: titel: 'titel' is not a key here" in debate("formats", "./mine").err

    write_format(here / "other", speech_md_j2="{{ othr }}")
    ran = debate("open", "--format", "./other", *SETUP, "--rounds", "99")
    assert ran.code == 2
    assert "./other/speech.md.j2:1: no brief provides the name 'othr'" in ran.err
    assert "rounds: 99 is not" in ran.err
    assert not Path("r.journal.jsonl").exists()


# Copying


def test_a_copy_is_made_and_checked(debate: Run, here: Path) -> None:
    """`formats new` says what it made and what to do next, and the first of that finds nothing wrong."""
    ran = debate("formats", "new", "--from", "conversation", "town-hall")
    assert ran.code == 0
    assert ran.out.startswith("./town-hall/: format.yaml, rubric.yaml and 2 templates, from conversation.\n")
    commands = [line.strip() for line in ran.out.split("\n") if line.startswith("  debate")]
    assert commands[0] == "debate formats ./town-hall"
    assert [one.split('"')[0].strip() for one in commands[1:]] == [
        "debate run --format ./town-hall --topic",
        "debate open --format ./town-hall --topic",
    ]
    assert debate(*commands[0].split()[1:]).code == 0
    again = debate("formats", "new", "town-hall")
    assert (again.code, "already exists" in again.err) == (2, True)


# Debating


def test_a_format_is_made_of_its_own_files(debate: Run, here: Path) -> None:
    """A link in a format's folder is a mistake: a private file would become part of the prompts."""
    write_format(here / "mine")
    file = "speech.md.j2"
    (here / "mine" / file).rename(here / "private")
    (here / "mine" / file).symlink_to(here / "private")

    for command in (
        ("formats", "./mine"),
        ("open", "--format", "./mine", *SETUP),
        ("formats", "new", "x", "--from=./mine"),
    ):
        ran = debate(*command)
        assert ran.code == 2, command
        assert f"./mine/{file}: can't be read (a symbolic link)." in ran.err, command
    assert not list(here.glob("*.jsonl")) and not (here / "x").exists()
