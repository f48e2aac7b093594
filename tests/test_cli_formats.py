"""Formats on the command line: listed, copied, checked, and debated by, also when their folder is gone."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from conftest import Run, finish
from own_formats import FORMAT, written

from debate_orchestrator.core.fold import fold
from debate_orchestrator.storage.journal import read

SETUP = ["--topic=Tea is better.", "--position-a=Tea is.", "--position-b=Coffee is.", "--no-issues", "--no-brief"]
SETUP += ["--output=r.md"]


@pytest.fixture
def mine(here: Path) -> Path:
    """The small format in a folder here."""
    return written(here / "mine")


# Showing


def test_formats_are_listed(debate: Run) -> None:
    """Every shipped format is listed; for programs with its title."""
    assert debate("formats").out.startswith("adversarial: ")
    listed = debate("formats", "--json").json["formats"]
    assert {"name": "adversarial", "title": "Adversarial debate"}.items() <= listed[0].items()


def test_what_an_option_decides_is_shown_with_its_flag(debate: Run) -> None:
    """A stage that an option leaves out, or asks for, names the flag for that, also where it is one turn."""
    lines = debate("formats", "adversarial").out.split("\n")

    for turn, flag in (("start.blind.judge", "only with --blind"), ("start.issues.rapporteur", "unless --no-issues")):
        assert [line for line in lines if line.startswith(f"  {turn} ") and line.endswith(flag)], turn


def test_every_shipped_format_is_shown(debate: Run) -> None:
    """Each shipped format is shown; of one in which a vote on each round is an option, with the flag for it."""
    names = [listed["name"] for listed in debate("formats", "--json").json["formats"]]
    shown = {name: debate("formats", name) for name in names}

    assert {ran.code for ran in shown.values()} == {0}
    assert "only with --each-round" in shown["claim"].out


def test_ones_own_is_unrolled(debate: Run, mine: Path) -> None:
    """A format of the user's is shown like a shipped one: its turns, its rubric, how strict a judge may be."""
    ran = debate("formats", "./mine")
    assert ran.code == 0 and ran.err.startswith("Next: `debate run --format ./mine")
    assert ran.out.startswith("Small (mine)\n")
    assert "\nround 1\n  1.speech.a\n" in ran.out and "Rubric mine, 0 to 5:\n  wit: Is it funny" in ran.out
    told = debate("formats", "mine/format.yaml", "--json").json
    assert (told["format"]["name"], told["agenda"][0]["turns"]) == ("mine", ["1.speech.a"])


def test_its_mistakes_are_told(debate: Run, here: Path) -> None:
    """What is wrong is told line by line, with exit code 2, and for programs in the JSON."""
    written(here / "mine", format_yaml=FORMAT.replace("title: Small", "titel: Small"), vote_md_j2="{{ crteria }}")
    ran = debate("formats", "./mine", "--json")
    places = [one.split(": ")[0] for one in ran.json["complaints"]]
    assert (ran.code, ran.json["status"]) == (2, "error")
    assert places == ["./mine/format.yaml:2", "./mine/format.yaml:2", "./mine/vote.md.j2:1"]
    assert debate("formats", "./mine").err.startswith("debate: ./mine/format.yaml:2: titel: 'titel' is not a key here")


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (["a", "b"], "`debate formats` takes one name"),
        (["new"], "name the folder: `debate formats new NAME`"),
        (["--from", "adversarial"], "Try: `debate formats new NAME --from ...`"),
        (["./nowhere"], "a folder with a format.yaml in it. `debate formats new NAME` makes one"),
        (["mine"], "Try: ./mine for the folder here"),
    ],
)
def test_what_formats_does_not_take(debate: Run, mine: Path, given: list[str], said: str) -> None:
    """Names and flags that do not go together are told, and nothing is made."""
    ran = debate("formats", *given)
    assert ran.code == 2
    assert said in ran.err
    assert [path.name for path in mine.parent.iterdir()] == ["mine"]


def test_a_folder_without_its_path(debate: Run, mine: Path) -> None:
    """A run that names a folder here as if it were a shipped format is told its path, too."""
    ran = debate("run", "--topic", "Should we move?", "--format", "mine", "--rehearse")
    assert ran.code == 2 and "format: there is no format 'mine' that ships. Try: ./mine for the folder here." in ran.err


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


def test_a_copy_is_told_to_programs(debate: Run, here: Path) -> None:
    """With --json the folder, the files and what comes next are told."""
    told = debate("formats", "new", "x-y", "--to", "some where", "--json").json
    assert (told["format"], told["folder"], told["from"]) == ("x-y", "some where/x-y", "adversarial")
    assert {"format.yaml", "rubric.yaml", "opening.md.j2"} <= set(told["files"])
    assert told["next"][0] == "debate formats 'some where/x-y'"


# Debating


def test_it_is_debated_by_though_the_folder_is_gone(debate: Run, mine: Path) -> None:
    """A debate by a user's format goes on to its report from the journal alone, with the user's own words."""
    told = debate("open", "--format", "./mine", *SETUP, "--rounds", "2", "--json")
    assert told.code == 0, told.err
    first = Path(told.json["turns"][0]["brief"]).read_text()
    assert "You are Anna in round 1.\nSpeak for Tea is. against Ben." in first
    shutil.rmtree(mine)
    done = finish(debate, told.json, say=_said)
    assert done["status"] == "done"
    opened = fold(read("r.journal.jsonl").events).opened
    assert (opened.format.name, opened.prompts.keys() >= opened.templates.keys()) == ("mine", True)
    assert "formats/mine/speech.md.j2" in opened.templates
    checked = debate("check", "r.journal.jsonl", "--json")
    assert (checked.code, checked.json["prompts"]) == (0, "as recorded")
    assert debate("report", "r.journal.jsonl", "--to", "again.md").code == 0
    assert Path("again.md").read_text() == Path("r.md").read_text()


def _said(turn: dict[str, object]) -> object:
    """Replies in the small format's shapes."""
    if ".vote." in str(turn["turn"]):
        calm = {"detected": False, "criteria": [], "side": None}
        return {"scores": {"a": {"wit": 4}, "b": {"wit": 2}}, "winner": "a", "convergence": calm}
    return {"winner": "a"} if turn["wants"] == "json" else None


def test_it_is_named_in_an_answers_file(debate: Run, mine: Path, answers: Path) -> None:
    """The path stands in an answers file like a name, seen from the working directory."""
    answers.write_text(answers.read_text().replace("strictness: strict", "format: ./mine"))
    assert debate("open", "--answers", "answers.yaml", "--trust", "--json").code == 0
    given = debate("answers", "--from", "report.journal.jsonl").out
    assert "\nformat: ./mine\n" in given
    assert "\nstrictness: plain\n" in given


def test_its_mistakes_stop_a_debate_before_it_begins(debate: Run, here: Path) -> None:
    """Nothing is opened by a format with a mistake; that and all other mistakes are told at once."""
    written(here / "mine", speech_md_j2="{{ othr }}")
    ran = debate("open", "--format", "./mine", *SETUP, "--rounds", "99")
    assert ran.code == 2
    assert "./mine/speech.md.j2:1: no brief provides the name 'othr'" in ran.err and "rounds: 99 is not" in ran.err
    assert not Path("r.journal.jsonl").exists()


def test_an_inherited_format_is_judged_again(debate: Run, here: Path) -> None:
    """A debate by a format that extends another is judged again by other judges, from its journal alone."""
    folder = here / "mine"
    folder.mkdir()
    # Debates of one round alone: every command that reads a format of the user's tries all sizes that it permits.
    (folder / "format.yaml").write_text("extends: panel\nrounds: {default: 1, most: 1, insist: 1}\n")
    (folder / "system.md.j2").write_text("Hello from the system.")
    seats = [f"--{seat}=rehearse" for seat in ("a", "b", "judge")]
    ran = debate("run", "--format", "./mine", *SETUP, "--rounds=1", *seats, "--quiet")
    assert ran.code == 0, ran.err
    shutil.rmtree(folder)
    assert debate("judge", "r.rehearsed.journal.jsonl", "--judge", "rehearse", "--quiet").code == 0
    assert "Hello from the system." in Path("r.rehearsed.judged.turns/final.verdict.judge.brief.md").read_text()
    then, now = (fold(read(f"{name}.journal.jsonl").events).opened for name in ("r.rehearsed", "r.rehearsed.judged"))
    assert (then.templates, then.prompts) == (now.templates, now.prompts)
    assert {"formats/mine/system.md.j2", "formats/panel/opening.md.j2"} <= then.prompts.keys()
    assert "formats/mine/opening.md.j2" not in then.prompts


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("adversarial", ["Rounds: 3 by default, 1 to 6, to 8 with --insist.", "Judges: 1 unless"]),
        ("panel", ["Judges: 3 unless others are named (--judge, once for each)."]),
        ("question", ["Every judge also votes with the sides exchanged, and a vote that flips is no vote"]),
        ("conversation", ["It has no judge; `debate judge` judges what was said, separately."]),
    ],
)
def test_who_decides_is_told(debate: Run, name: str, told: list[str]) -> None:
    """A format that is shown says how many rounds it may have, how many judges vote and how."""
    out = debate("formats", name).out

    assert all(line in out for line in told)
    assert ("Judges: " in out) == (name != "conversation")


@pytest.mark.parametrize("file", ["speech.md.j2", "rubric.yaml", "format.yaml"])
def test_a_format_is_made_of_its_own_files(debate: Run, here: Path, file: str) -> None:
    """A link that leads out of a format's folder is a mistake: a private file would become part of the prompts."""
    written(here / "mine")
    (here / "mine" / file).rename(here / "private")
    (here / "mine" / file).symlink_to(here / "private")

    for command in (
        ("formats", "./mine"),
        ("open", "--format", "./mine", *SETUP),
        ("formats", "new", "x", "--from=./mine"),
    ):
        ran = debate(*command)
        assert ran.code == 2, command
        assert f"./mine/{file}: this link leads out of the format's folder" in ran.err, command
    assert not list(here.glob("*.jsonl")) and not (here / "x").exists()
