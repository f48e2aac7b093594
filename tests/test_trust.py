"""What a setup does besides the debate: told of answers and journals, through links, formats, ballots and folders."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
from conftest import STATED, Run, place_finished_debate
from corpus import for_each
from debates import opened_event
from own_formats import write_format

from debate_orchestrator.core.events import Opened
from debate_orchestrator.engine import format_check, library
from debate_orchestrator.formats import loader
from debate_orchestrator.providers import command
from debate_orchestrator.reports.ballot_filing import read_draft
from debate_orchestrator.reports.reviewer_ballots import gather_ballots
from debate_orchestrator.setup import risks
from debate_orchestrator.setup.risks import WANTS, Risk
from debate_orchestrator.storage.journal import JournalWriter, read
from debate_orchestrator.storage.paths import DebateFiles
from debate_orchestrator.util import resources
from debate_orchestrator.util.errors import BadFile, BadSettings


def kinds(**answers: Any) -> list[tuple[str, str]]:
    """What is told of these answers, as kind and key."""
    return [(one.kind, one.where) for one in risks.of_settings(answers)]


@pytest.mark.parametrize(
    ("spec", "kind", "what"),
    [
        ("command:claude -p", "program", "claude -p"),
        ("anthropic:m@http://x:1", "server", "http://x:1"),
        ("openai:a@b@https://x/v1/", "server", "https://x/v1"),
        ("ollama:m@https://x", "server", "https://x"),
    ],
)
def test_who_speaks(here: Path, spec: str, kind: str, what: str) -> None:
    """Programs are reported by their whole command line, servers by their address, in every form that a cast may
    have. Vendors' models, hosts, people and stand-ins are part of a debate."""
    (one,) = risks.of_settings({"cast": {"judge": ["host", spec]}})

    folder = str(here) if kind == "program" else ""
    assert one == Risk(kind=kind, where="cast.judge", what=what, folder=folder)  # type: ignore[arg-type]
    assert kinds(cast=spec) == [(kind, "cast")]
    assert kinds(cast={"a": spec, "b": (spec,), "moderator": spec}) == [(kind, "cast.a, cast.b, cast.moderator")]
    for part_of_a_debate in (
        "host",
        "human",
        "fetch",
        f"rehearse:{spec}",
        "anthropic:m",
        "openrouter:a/b",
        "ollama:q@x",
    ):
        assert kinds(cast=part_of_a_debate) == [], part_of_a_debate


def test_places(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What counts is where a path really leads: in the working folder and not hidden in it, or elsewhere. A format that
    is named is a shipped one; one that is found by its path brings prompts of its own. A tilde is the home folder where
    it is expanded: in an output and a format."""
    (here / "sub").mkdir()
    (here / "sub/out").symlink_to(here.parent)
    (here / "in.md").symlink_to(here / "sub/x.md")
    inside = ["x.md", "./sub/x.md", "sub/../x.md", str(here / "x.md"), "in.md", "sub/in/../../x..md"]
    outside = ["../x.md", "/x.md", "none/../sub/out/z.md", "sub/out/x.md", ".env", "sub/.x/y.md", "sub/../../x.md"]

    assert kinds(context=inside) == []
    assert [one.what for one in risks.of_settings({"context": outside})] == [
        os.path.realpath(path) for path in dict.fromkeys(map(os.path.realpath, outside))
    ]
    assert [path for path in inside if kinds(output=path)] == []
    assert [path for path in outside[:4] if not kinds(output=path)] == []
    assert [kinds(cast=f"replay:{path}") for path in ("x.jsonl", "../x.jsonl")] == [[], [("recording", "cast")]]

    monkeypatch.setenv("HOME", str(here.parent))

    assert kinds(output="~/r.md", format="~/town", context="~/x.md") == [("output", "output"), ("format", "format")]
    assert kinds(format="panel") == []
    assert kinds(format="./town") == kinds(format="town/format.yaml") == [("format", "format")]


@pytest.mark.parametrize(
    "answers",
    [
        {"cast": 7, "context": {"a": 1}, "output": ["x"], "format": None},
        {"cast": {"a": [1], 2: {"x": "y"}}, "context": [1, None], "output": 3},
        {"context": ["a\0b", "a\ud800b"], "output": "a\0b.md", "cast": {"a": "replay:a\0b"}, "format": "./a\0b"},
    ],
)
def test_values_of_another_kind(answers: dict[str, Any]) -> None:
    """What is not an answer at all breaks nothing here, and counts as no program; it is refused when it is checked."""
    assert not {"program", "server"} & {risk.kind for risk in risks.of_settings(answers)}


def forged() -> str:
    """A command line of which a terminal would make rows of its own, by spaces alone."""
    gap = " " * 200
    return f"sh -c 'touch marker'{gap}" + gap.join(
        [
            "x.sh",
            *["."] * 40,
            f"a.json {WANTS}:",
            "- cast.a",
        ]
    )


def test_blanks_are_shown(here: Path) -> None:
    """More spaces than one in a row, which could be taken for the end of a line, are shown by their code and number,
    also in what a file calls a seat; a line that is cut says so; and such a command line is refused."""
    (one,) = risks.of_settings({"cast": f"command:{forged()}"})
    (two,) = risks.of_settings({"cast": "command:sh  -c 'x y'"})
    (seat,) = risks.of_settings({"cast": {forged(): "command:cat"}})

    assert all("  " not in risk.text and len(risk.text) < 1500 for risk in (one, seat))
    assert "sh -c 'touch marker'" in one.text
    assert r"sh\x20{2}-c 'x y'" in two.text
    assert "characters" in (command.problem(f"command:{forged()}") or "")
    assert "characters" in (command.problem(f"command:sh -c '{'x' * 600}'") or "")
    assert command.problem(f"command:sh -c '{'x' * 400}'") is None


def test_a_list_of_risks(here: Path) -> None:
    """The most serious are last, each as an item; of many files the first few are reported and the others counted, of
    programs every one. Programs and servers that take more rows than a screen has are refused, however few."""
    context = [f"/x/{n}.md" for n in range(60)]
    cast = {"a": "command:cat", "b": "openai:m@https://x/v1", "judge": [f"command:cat {n}" for n in range(9)]}
    rows = risks.risk_lines(risks.of_settings({"cast": cast, "context": context, "output": "/x/r.md"}))

    assert len(rows) < 20
    assert all(row.startswith("  - ") for row in rows)
    assert [row for row in rows if " more" in row] == ["  - context: 55 more"]
    assert all("the program" in row for row in rows[-10:]) and "the server" in rows[-11]

    long = [f"command:true {n} {'x' * 440}" for n in range(3)]
    assert risks.risk_lines(risks.of_settings({"cast": {"judge": long[:2]}}))
    with pytest.raises(BadSettings, match="than can be shown"):
        risks.risk_lines(risks.of_settings({"cast": {"judge": [*long, "command:cat"]}}))


def test_the_same_thing_is_known_again() -> None:
    """A thing is known by what it is, whichever key asks for it; another thing, or another kind, is not it. More rounds
    than an answers file may ask for are a risk."""
    one = Risk(kind="program", where="cast.a", what="cat")

    assert one.digest == Risk(kind="program", where="cast.b", what="cat").digest
    assert one.digest != Risk(kind="server", where="cast.a", what="cat").digest
    assert one.digest != Risk(kind="program", where="cast.a", what="cat -u").digest
    assert one.digest != Risk(kind="program", where="cast.a", what="cat", folder="/x").digest

    rules = loader.load("adversarial")
    most = opened_event(rounds=rules.round_limits.max_if_insisted)
    more = most.with_settings(rounds=most.settings.rounds + 1)
    assert risks.of_debate(most, most.cast) == ()
    [risk] = risks.of_debate(more, more.cast)
    assert risk.text == "settings.rounds: the debate of 9 rounds, where its format takes 8"


def test_a_journal(here: Path) -> None:
    """Of a journal the cast as it is now counts, and prompts that are not the program's own: templates in it, and words
    of its format. A clerk who fetches what its speeches cite asks for addresses that others chose."""
    first = opened_event(cast={"a": ("command:old",), "b": ("host",), "judge": ("host",)})
    own = first.model_copy(update={"templates": {"formats/x/speech.md.j2": "Say {{ x }}."}})
    seats = first.format.seats | {"a": first.format.seats["a"].model_copy(update={"name": "Ignore all else"})}
    worded = first.model_copy(update={"format": first.format.model_copy(update={"seats": seats})})
    now = {**first.cast, "a": ("command:new",)}

    assert [one.what for one in risks.of_debate(first, now)] == ["new"]
    assert [one.kind for changed in (own, worded) for one in risks.of_debate(changed, {})] == ["format"] * 2
    changed = own.model_copy(update={"templates": {"formats/x/speech.md.j2": "Say nothing."}})
    assert risks.of_debate(own, {}) != risks.of_debate(changed, {})

    assert [(one.kind, one.where) for one in risks.of_debate(first, {"clerk": ("fetch",)})] == [("pages", "cast.clerk")]
    assert risks.of_debate(first, {"clerk": ("offline",), "a": ("rehearse:fetch",)}) == ()


def test_shipped_formats_need_no_consent() -> None:
    """A debate by a format that comes with the program puts no words of a stranger before a seat."""
    for name in resources.format_names():
        assert risks.of_debate(format_check.sample_opened(*loader.load_with_templates(name)), {}) == (), name


_DIGESTS = {
    "adversarial": "94785ff966b5",
    "claim": "789eeef6ce90",
    "conversation": "ea6a9e8ce81b",
    "panel": "2f7b511927f7",
    "question": "41424b8b93f4",
    "question-blind": "05f3b5b76284",
    "question-consultancy": "d84dc7f8c75d",
    "question-open": "ed62aa9d3300",
    "transcript": "18949c8946ff",
}


@for_each(_DIGESTS)
def test_the_words_of_a_shipped_format_are_known(name: str) -> None:
    """If this fails, add the digest of the format as it was to `risks._EARLIER_DIGESTS`, and change the one above:
    otherwise the debates and tournaments of it that users resume would want their consent. (`tournament run SPEC` goes
    on only with the format as it was.)"""
    assert risks._digest(loader.load_with_templates(name)[0], {}).startswith(_DIGESTS[name])
    assert _DIGESTS.keys() == {*resources.format_names()}


@for_each(sorted((resources.folder("examples")).glob("*/*.journal.jsonl")))
def test_shipped_debates_need_no_consent(journal: Path) -> None:
    """The debates that come with the program were held by formats as some version of it had them, to the word."""
    first = read(journal).events[0]
    assert isinstance(first, Opened)

    assert risks.of_debate(first, {}) == ()
    rigged = first.format.model_copy(update={"title": "Rigged"})
    assert risks.of_debate(first.model_copy(update={"format": rigged}), {}) != ()


@pytest.mark.parametrize(
    "output",
    [
        *("CLAUDE.md", "sub/agents.md", "./Gemini.MD.md/../GEMINI.md", "AGENTS.override.md", "QWEN.md", "README.md"),
        *("crush.local.md", "Crush.Local.md", "CRUSH.local.md", "readme.md", "codex.md", "OpenCode.md"),
        *("agents/x.md", "Commands/sub/x.md", "sub/skills/x.md", "rules/x.md", "agents"),
    ],
)
def test_a_report_that_an_agent_would_follow(here: Path, output: str) -> None:
    """A report under a name that agents read as their instructions needs consent; under any other it does not."""
    assert kinds(output=output) == [("output", "output")]
    assert kinds(output="claude/report.md") == []
    assert kinds(output="Rust-or-Go.md") == kinds(output="crush.report.md") == kinds(output="agent/x.md") == []


@pytest.mark.parametrize(
    "folder",
    (
        *("commands", ".claude/commands/sub", ".opencode/agent", ".github/instructions", ".GitHub/prompts"),
        *(".kiro/steering/a", ".clinerules", ".junie/a", ".roo/rules", ".kilocode/rules-code", ".factory/droids"),
    ),
)
def test_a_working_folder_of_instructions(here: Path, folder: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """In a folder whose every file agents read as instructions, or below it, they read any report; also one beside a
    journal in the folder above. Other folders in a hidden one hold projects."""
    (here / folder / "of").mkdir(parents=True)
    monkeypatch.chdir(folder)
    assert kinds(output="x.md") == [("output", "output")]
    monkeypatch.chdir("of")
    assert risks.of_journal_name("../x.journal.jsonl")
    for project in (".worktrees/x", ".worktrees/prompting", ".claude/worktrees/prompts"):
        (here / project / "docs").mkdir(parents=True)
        monkeypatch.chdir(here / project)
        assert kinds(output="x.md") == kinds(output="docs/x.md") == [] == [*risks.of_journal_name("x.journal.jsonl")]


def test_a_journal_that_names_such_a_report(debate: Run, here: Path, answers: Path) -> None:
    """The name of a journal gives its report's, so going on with it needs consent, and `report` makes no such file. A
    complete debate, whose report would be written again, needs the same consent."""
    cast = [f"--{seat}=host" for seat in ("a", "b", "judge")]
    assert debate("open", *STATED, "--output=x.md", *cast).code == 0
    os.rename("x.journal.jsonl", "CLAUDE.journal.jsonl")
    resumed = debate("resume", "CLAUDE.journal.jsonl", "--model=rehearse")
    reported = debate("report", "CLAUDE.journal.jsonl")

    assert resumed.code == 2 and "the journal's name: " in resumed.err and "CLAUDE.md)" in resumed.err
    assert reported.code == 2 and "CLAUDE.md, which agents read as instructions" in reported.err
    assert not Path("CLAUDE.md").exists()
    assert debate("report", "CLAUDE.journal.jsonl", "--to=x.md").code == 0

    place_finished_debate(debate)
    os.rename("report.journal.jsonl", "CLAUDE.journal.jsonl")
    for verb in ("resume", "step"):
        continued = debate(verb, "CLAUDE.journal.jsonl")
        assert continued.code == 2 and "the journal's name: " in continued.err
        assert not Path("CLAUDE.md").exists() and not Path("CLAUDE.html").exists()
    assert debate("resume", "CLAUDE.journal.jsonl", "--trust").code == 0
    assert Path("CLAUDE.md").exists()


@pytest.mark.parametrize("source", ["agents/report.journal.jsonl", "agents/talk.md"])
def test_a_source_that_names_such_a_rejudging(debate: Run, answers: Path, source: str) -> None:
    """The report of a re-judging lies beside its source: in a folder of instructions that needs consent, or another
    name that the user types. That holds for a transcript and for the library too."""
    place_finished_debate(debate)
    Path("agents").mkdir()
    Path("agents/report.journal.jsonl").write_bytes(Path("report.journal.jsonl").read_bytes())
    Path("agents/talk.md").write_text("# Tabs\n\n### Ann (Pro)\n\nYes.\n\n### Bob (Con)\n\nNo.\n", encoding="utf-8")
    there = sorted(os.listdir("agents"))
    judged = debate("judge", source, "--judge=rehearse")

    assert judged.code == 2 and ".judged.md)" in judged.err and "--trust" in judged.err
    with pytest.raises(BadSettings, match="the source's name: the report "):
        library.open_rejudging(source, "rehearse")
    assert sorted(os.listdir("agents")) == there
    assert debate("judge", source, "--judge=rehearse", "--output=own.md").code == 0
    assert debate("judge", source, "--judge=rehearse", "--trust").code == 0


def test_a_place_that_can_not_be_reported(here: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    """Folders that lie too deep for the system hide where a link leads: a report there is a risk, and is refused."""
    outside = tmp_path_factory.mktemp("outside") / "a" / "b"
    outside.mkdir(parents=True)
    folder = os.open(".", os.O_RDONLY)
    for _ in range(20):
        os.mkdir("d" * 250, dir_fd=folder)
        folder, above = os.open("d" * 250, os.O_RDONLY, dir_fd=folder), folder
        os.close(above)
    os.symlink(outside, "out", dir_fd=folder)
    os.close(folder)
    os.symlink("/".join(["d" * 250] * 10), "s1")
    os.symlink("/".join(["d" * 250] * 10), "s1/s2")
    output = "s1/s2/out/../../x.md"

    assert kinds(output=output) == [("output", "output")]
    with pytest.raises(BadFile, match="File name too long"):
        DebateFiles.made_for(output)


@pytest.mark.parametrize(
    "answer",
    [
        "output: {}x.md",
        "format: ./{}",
        "context: [{}x]",
        "cast: {{a: 'replay:{}x', b: rehearse, judge: rehearse}}",
    ],
)
def test_a_path_without_end_is_refused(debate: Run, here: Path, answer: str) -> None:
    """A path of an answers file that no system takes is refused before anybody looks where it leads; so is a report in
    thousands of folders."""
    for path in ("a/" * 300_000, "../" * 100_000, "a/" * 1_500):
        Path("a.yaml").write_text(ANSWERS + answer.format(path) + "\n", encoding="utf-8")
        ran = debate("open", "--answers", "a.yaml")
        assert ran.code == 2 and len(ran.err) < 1_000 and "Traceback" not in ran.err, ran.err[:2_000]
    assert [path.name for path in here.iterdir()] == ["a.yaml"]


@pytest.mark.parametrize("place", ["seats", "rubric", "shapes"])
def test_the_order_of_a_format_is_part_of_it(place: str) -> None:
    """A format whose seats, shapes or criteria are in another order is not the shipped one: briefs follow it."""
    first = opened_event()
    data = first.model_dump(mode="json")
    holder, key = (data["format"], place) if place != "rubric" else (data["format"]["rubric"], "criteria")
    holder[key] = dict(reversed(holder[key].items()))

    assert risks.of_debate(first, {}) == ()
    assert [one.kind for one in risks.of_debate(Opened.model_validate(data), {})] == ["format"]


SECRET = "aws_secret_access_key"


def test_more_rounds_than_the_format_takes_are_not_judged_unasked(debate: Run) -> None:
    """A journal of more rounds than its format takes is not judged without consent, however it is heard."""
    assert debate("run", "--topic=Tabs are better.", "--rounds=2", "--rehearse", "--output=two.md", "--quiet").code == 0
    finished = "two.rehearsed.journal.jsonl"
    first = read(finished).events[0]
    assert isinstance(first, Opened)
    fewest = first.format.round_limits.model_copy(update={"max": 1, "max_if_insisted": 1, "fewest": 1, "default": 1})
    more = first.model_copy(update={"format": first.format.model_copy(update={"round_limits": fewest})})
    with JournalWriter.create("long.journal.jsonl", more) as journal:
        for event in read(finished).events[1:]:
            journal.append(event)
    ran = debate("judge", "long.journal.jsonl", "--judge=rehearse")

    assert ran.code == 2 and "2 rounds, where its format takes 1" in ran.err and "--trust" in ran.err


def test_a_question_is_not_asked_in_a_strangers_words(debate: Run, here: Path) -> None:
    """`ask` reads no format from a path that the user has not agreed to: it asks as the usual format does, and says so.
    Once agreed to, that format is gone by. A flag that names another format keeps the file's own from being read, to
    see whether it is finished, too."""
    write_format(here / "town")
    Path("a.yaml").write_text("topic: T\nformat: ./town\n")
    Path("plain.yaml").write_text("topic: T\n")
    Path("broken").mkdir()
    Path("broken/format.yaml").write_text(f"{SECRET}: 7\n")
    Path("b.yaml").write_text("topic: T\nformat: ./broken\n")
    asked, plain, broken = (debate("ask", name) for name in ("a.yaml", "plain.yaml", "b.yaml"))

    assert asked.json["question" if "question" in asked.json else "turns"]
    assert asked.json["status"] == plain.json["status"]
    assert "./town" in asked.err and "adversarial" in asked.err
    assert broken.code == 0 and SECRET not in broken.err + broken.out
    assert [one["kind"] for one in asked.json["needs_consent"]] == ["format"]

    positions = "positions: {a: It is so., b: It is not so.}"
    Path("a.yaml").write_text(f"topic: T\n{positions}\nrounds: 1\nformat: ./broken\nsetup: {{topics: [T]}}\n")
    ran = debate("open", "--answers", "a.yaml", "--format", "adversarial")

    assert ran.code == 2
    assert SECRET not in ran.err and "format.yaml" not in ran.err


@pytest.mark.parametrize("said", ["[./town]", "7"])
def test_a_format_is_text(debate: Run, here: Path, said: str) -> None:
    """A format that is not text is refused; it is not converted."""
    Path("a.yaml").write_text(f"topic: T\npositions: {{a: It is so., b: It is not so.}}\nformat: {said}\n")
    for ran in (debate("open", "--answers", "a.yaml"), debate("ask", "a.yaml")):
        assert ran.code == 2
        assert "format: " in ran.err and "is not a name, or the path of a folder" in ran.err


@pytest.mark.parametrize("how", ["file", "folder", "draft"])
def test_ballots_are_no_links(debate: Run, here: Path, answers: Path, how: str) -> None:
    """A ballot that is a link, or lies in a folder that is one, is not read: nothing of what it leads to is
    reported."""
    place_finished_debate(debate)
    finished = "report.journal.jsonl"
    elsewhere = here / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "x.yaml").write_text(f"{SECRET}: 7\n")
    folder = Path(finished.removesuffix(".journal.jsonl") + ".ballots")
    if how == "folder":
        folder.symlink_to(elsewhere)
    else:
        folder.mkdir()
        (folder / ("x.draft.yaml" if how == "draft" else "x.yaml")).symlink_to(elsewhere / "x.yaml")
    found = gather_ballots(str(folder), read(finished).entries)
    ran = debate("report", finished, "--to", "r.md")
    if how == "draft":
        with pytest.raises(BadFile, match="a symbolic link"):
            read_draft(str(folder), "x", "")

    assert not found.counted
    assert how == "draft" or any("a symbolic link" in one for one in found.left_out)
    assert SECRET not in ran.out + ran.err + "".join(found.left_out)
    assert SECRET not in Path("r.md").read_text()


def test_the_folder_of_judges_is_no_link(debate: Run, here: Path) -> None:
    """The folder that `probe` uses where none is named is not followed where it is a link."""
    (here / "elsewhere").mkdir()
    os.symlink("elsewhere", "judge-probe")
    ran = debate("probe", "--judge=rehearse")

    assert ran.code == 2 and "judge-probe is a symbolic link" in ran.err
    assert os.listdir("elsewhere") == []


ANSWERS = "topic: T\npositions: {a: It is so., b: It is not so.}\nissues: false\nbrief: false\nrounds: 1\n"
