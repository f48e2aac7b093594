"""What a stranger's file may do: nothing besides the debate before the user has seen it and agreed."""

from __future__ import annotations

import json
import os
import re
import shutil
from pathlib import Path
from typing import Any

import pytest
from conftest import STATED, Run
from debates import opened_event
from messages_server import Server
from own_formats import write_format
from viewer import watching

from debate_orchestrator.core.events import Reassigned
from debate_orchestrator.setup.risks import WANTS
from debate_orchestrator.storage.journal import JournalWriter

SETUP = "topic: T\npositions: {a: It is so., b: It is not so.}\nrounds: 1\nissues: false\nbrief: false\nretry_for: 1\n"
TYPED = (*STATED, "--rounds=1")
J = "debate-report.journal.jsonl"
TOUCHES = "command:sh -c 'touch marker; exit 1'"
"""A program that leaves a file where it was run."""
KEY = "sk-a-users-own-key"


def answers(text: str, name: str = "a.yaml") -> str:
    """An answers file with these lines beside a complete setup; its name."""
    Path(name).write_text(SETUP + text, encoding="utf-8")
    return name


def journal(path: str = "r.journal.jsonl", spec: str = TOUCHES, **setup: object) -> str:
    """The journal of a debate that was opened elsewhere, with this cast."""
    first = opened_event(rounds=1, retry_for=1.0, cast={"a": (spec,), "b": (spec,), "judge": (spec,)})
    JournalWriter.create(path, first.model_copy(update=setup)).close()
    return path


# Answers files, without a terminal


@pytest.mark.parametrize(("verb", "positions"), [("run", "positions: auto\n"), ("open", "")])
def test_a_program_is_not_run(debate: Run, verb: str, positions: str) -> None:
    """A program in an answers file's cast is not run, not to derive positions either; its whole command line is shown,
    with the flag that agrees to it."""
    text = SETUP.replace("positions: {a: It is so., b: It is not so.}\n", positions) if positions else SETUP
    Path("a.yaml").write_text(f'{text}cast: "{TOUCHES}"\n')
    ran = debate(verb, "--answers", "a.yaml")

    assert ran.code == 2
    assert "sh -c 'touch marker; exit 1'" in ran.err and "--trust" in ran.err
    assert ran.err.count("\n") == 1
    assert os.listdir() == ["a.yaml"]


def test_nothing_is_sent_elsewhere(debate: Run, plain_server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    """A server named by its address in an answers file hears nothing, and the environment is never material, not even
    where the file is trusted."""
    monkeypatch.setenv("ANTHROPIC_API_KEY", KEY)
    answers(f'context: [/proc/self/environ]\ncast: "anthropic:m@{plain_server.url}"\n')
    refused, trusted = debate("run", "--answers", "a.yaml"), debate("run", "--answers", "a.yaml", "--trust")

    assert (refused.code, trusted.code) == (2, 2)
    assert plain_server.url in refused.err and "/environ" in refused.err
    assert plain_server.requests == []
    assert os.listdir() == ["a.yaml"]


@pytest.mark.parametrize("name", ["../outside/private.md", "notes/private.md", ".env"])
def test_material_from_outside(debate: Run, here: Path, outside: Path, name: str) -> None:
    """Material that an answers file names must lie in the working folder, wherever links and dots lead, and must not be
    hidden in it; with consent it is read."""
    (here / "notes").symlink_to(outside)
    (here / ".env").write_text("private words")
    name = name.replace("../outside", os.path.relpath(outside))
    answers(f"context: ['{name}']\ncast: rehearse\n")
    refused = debate("run", "--answers", "a.yaml")

    assert refused.code == 2
    assert os.path.realpath(name) in refused.err and "--trust" in refused.err
    assert not list(here.glob("*.jsonl"))
    assert debate("run", "--answers", "a.yaml", "--trust").code == 0


@pytest.mark.parametrize("output", ["{outside}/new/report.md", ".config/x.md", "link/r.md"])
def test_a_report_elsewhere(
    debate: Run, here: Path, outside: Path, output: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An answers file does not choose a place outside the working folder, or a hidden one: no folder is made there."""
    monkeypatch.setenv("HOME", str(outside))
    (here / "link").symlink_to(outside)
    before = sorted(outside.iterdir()), sorted(here.parent.iterdir())
    answers(f"output: '{output.format(outside=outside)}'\ncast: rehearse\n")
    ran = debate("run", "--answers", "a.yaml")

    assert ran.code == 2
    assert "output" in ran.err and "--trust" in ran.err
    assert (sorted(outside.iterdir()), sorted(here.parent.iterdir())) == before
    assert sorted(os.listdir()) == ["a.yaml", "link"]


@pytest.mark.parametrize("flags", [(), ("--trust",)])
@pytest.mark.parametrize("there", ["notes.md", "notes.html"])
def test_nothing_is_written_over(debate: Run, flags: tuple[str, ...], there: str) -> None:
    """A file that is there is reported before the debate, also where an empty journal lies beside it."""
    Path(there).write_text("mine")
    Path("notes.journal.jsonl").touch()
    answers("output: notes.md\ncast: rehearse:host\n")
    ran = debate("open", "--answers", "a.yaml", "--a=host", *flags)

    assert ran.code == 2
    assert there in ran.err
    assert Path(there).read_text() == "mine"
    assert Path("notes.journal.jsonl").read_bytes() == b""


def test_a_format_of_its_own(debate: Run, here: Path, outside: Path) -> None:
    """A format given by its path brings prompts along: it is neither read nor tried out without consent. One message
    names every such thing, in the machine's form too."""
    write_format(here / "town")
    answers("format: ./town\ncast: rehearse\n")
    refused = debate("run", "--answers", "a.yaml")
    trusted = debate("run", "--answers", "a.yaml", "--trust")

    assert refused.code == 2
    assert str(here / "town") in refused.err and "--trust" in refused.err
    assert trusted.code == 0, trusted.err

    answers(
        f"context: [{outside}/private.md]\noutput: {outside}/r.md\n"
        'cast: {a: "command:one -x", b: "openai:m@https://elsewhere.example/v1", judge: ["command:two", ollama:q]}\n'
    )
    ran = debate("open", "--answers", "a.yaml", "--json")
    (said,) = ran.json["complaints"]

    assert ran.code == 2
    for thing in (f"{outside}/private.md", f"{outside}/r.md", "one -x", "https://elsewhere.example/v1", "two"):
        assert thing in said
    assert "ollama" not in said
    assert said.startswith("a.yaml: ")


def test_plain_answers_ask_nothing(debate: Run, here: Path) -> None:
    """A file with models, hosts and stand-ins, with material and output in the working folder, is taken as it is."""
    Path("notes.md").write_text("notes")
    os.makedirs("deep")
    cast = "{a: host, b: anthropic:m, judge: [ollama:q, host]}"
    answers(f"context: [notes.md, ./deep/../notes.md]\noutput: deep/r.md\nformat: adversarial\ncast: {cast}\n")

    assert debate("open", "--answers", "a.yaml", "--b=host", "--judge=host").code == 0
    rehearsal = ("run", "--answers", "a.yaml", "--rehearse", "--output=s.md")
    ran = debate(*rehearsal)
    assert ran.code == 0 and "without --rehearse is the real debate" in ran.err
    answers("cast: {a: 'command:cat', b: 'command:cat', judge: 'command:cat'}\n")
    ran = debate(*rehearsal)
    assert (
        ran.code == 0 and "Next: the same command without --rehearse, and with --trust, is the real debate." in ran.err
    )


# What a host and the setup block show


def test_ask_shows_what_needs_consent(debate: Run, outside: Path) -> None:
    """When all is settled, `ask` lists what is still to be agreed to, and the block shows it: an output that was
    answered there too, since who answered is not known."""
    answers('strictness: strict\ncast: {a: "command:cat -u"}\n')
    said = {"topic_ok": "yes", "positions_ok": "yes", "context": "no"}
    debate("ask", "a.yaml", "topic=T")
    output = debate("ask", "a.yaml", f"output={outside}/r.md").json
    while output["status"] != "ready":
        if output["status"] == "propose":
            Path(output["turns"][0]["reply"]).write_text(
                '{"ambiguous": false, "restated": "T", "recommended": null, "alternative": null}'
            )
            output = debate("ask", "a.yaml").json
        else:
            output = debate("ask", "a.yaml", f"{output['question']['key']}={said[output['question']['key']]}").json
    block = "\n".join(output["show"])

    assert "cat -u" in block and str(outside / "r.md") in block
    listed = {(one["kind"], one["where"], one["what"]) for one in output["needs_consent"]}
    assert listed == {("program", "cast.a", "cat -u"), ("output", "output", str(outside / "r.md"))}
    assert debate("open", "--answers", "a.yaml", "--a=host").code == 2
    assert debate("open", "--answers", "a.yaml", "--trust").code == 0


# Journals


def test_a_trusted_journal_is_not_asked_about_again(debate: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """Consent is remembered for the journal and for the user who gave it alone. Where it can't be, that is said."""
    path = journal()
    ran = debate("resume", path, "--trust")
    assert ran.code != 2 and "remembered" not in ran.err
    assert Path("marker").exists()
    os.unlink("marker")

    assert debate("step", path).code != 2
    assert Path("marker").exists()
    monkeypatch.setenv("XDG_STATE_HOME", str(Path("another").resolve()))
    assert debate("resume", path).code == 2
    Path("another/debate-orchestrator").mkdir(parents=True, exist_ok=True)
    Path("another/debate-orchestrator/trusted").write_text("in the way")
    assert "could not be remembered" in debate("resume", path, "--trust").err


def test_a_seat_that_is_recast(debate: Run) -> None:
    """What flags put in the place of the journal's cast need not be agreed to."""
    path = journal()
    ran = debate("resume", path, "--a=rehearse", "--b=rehearse", "--judge=rehearse")

    assert ran.code == 0, ran.err
    assert not Path("marker").exists()


@pytest.mark.slow
@pytest.mark.parametrize("verb", ["resume", "step", "judge"])
def test_templates_of_a_journal(debate: Run, here: Path, verb: str) -> None:
    """Prompts in a stranger's journal are not sent without consent; for one's own debate no question is
    asked."""
    write_format(here / "town")
    flags = [f"--{seat}=rehearse" for seat in ("a", "b", "judge")] if verb == "judge" else []
    ran = debate("run" if flags else "open", *TYPED, "--format=./town", "--output=r.md", *flags)
    assert ran.code == 0, ran.err
    path = "r.rehearsed.journal.jsonl" if Path("r.rehearsed.journal.jsonl").exists() else "r.journal.jsonl"
    more = ("--judge=rehearse",) if verb == "judge" else ("--a=rehearse",) if verb == "resume" else ()
    here.joinpath("sent").mkdir()
    Path("sent/r.journal.jsonl").write_bytes(Path(path).read_bytes())
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_STATE_HOME", str(here / "another"))
        refused = debate(verb, "sent/r.journal.jsonl", *more)
    own = debate(verb, path, *more)

    assert refused.code == 2
    assert "small" in refused.err.lower() or "town" in refused.err
    assert "--trust" in refused.err
    assert own.code in (0, 3), own.err


@pytest.mark.slow
def test_a_program_is_trusted_in_one_folder(debate: Run, here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A program may load files of the folder that it is run in, however it is written: consent to it holds in that
    folder alone. A copy of one's own journal, and one's answers file run elsewhere, are asked about."""
    for name in ("mine", "theirs"):
        (here / name).mkdir()
    (here / "theirs/bot.py").write_text("open('marker', 'w')")
    monkeypatch.chdir("mine")
    Path("bot.py").write_text("raise SystemExit(1)")
    assert debate("run", *TYPED, "--a=command:sh -c 'python3 bot.py'", "--b=host", "--judge=host").code == 3
    Path("../theirs", J).write_bytes(b"".join(Path(J).read_bytes().splitlines(keepends=True)[:2]))
    assert debate("resume", J).code == 3
    copied = debate("resume", f"../theirs/{J}")
    monkeypatch.chdir("../theirs")
    there, from_there = debate("resume", J), debate("resume", f"../mine/{J}")

    assert (copied.code, there.code, from_there.code) == (2, 2, 2)
    assert f"in {here / 'theirs'}" in there.err
    assert not Path("marker").exists()


def test_consent_given_at_a_terminal(debate: Run, here: Path) -> None:
    """A yes goes on, and is remembered for that file: the same things are not asked about again, others are."""
    answers(f'cast: "{TOUCHES}"\n')
    with watching("run", "--answers", "a.yaml", columns=120) as viewer:
        viewer.see_text("[y/N]")
        viewer.press("y\r")
        assert viewer.see_end() == 3
    assert Path("marker").exists()
    assert debate("open", "--answers", "a.yaml", "--output=s.md").code == 3
    answers('cast: "command:sh -c false"\n')
    assert debate("open", "--answers", "a.yaml", "--output=t.md").code == 2


def test_a_question_can_not_be_forged(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every row of what a file asks for is indented below the question's first line, and the last one is the
    program's, however the file words it."""
    monkeypatch.delenv("COLUMNS", raising=False)  # test runners set it, and it would replace the terminal's own width
    words = f"x.sh done a.json {WANTS}: - cast.a, cast.b, cast.judge: the program claude -p"
    answers(f'context: [{", ".join(f"/x/{n}.md" for n in range(60))}]\ncast: "command:sh -c {words} {"y" * 170}"\n')
    with watching("run", "--answers", "a.yaml", columns=60, rows=40) as viewer:
        viewer.see_text("[y/N]")
        rows = viewer.glass.text.split("\n")
        begin = next(n for n, row in enumerate(rows) if row.startswith("  - "))
        end = next(n for n, row in enumerate(rows) if row.startswith("Do you") and n > begin)
        listed = [row for row in rows[begin:end] if row]
        assert [row for row in listed if not row.startswith(("  - ", "    "))] == []
        items = [row for row in listed if row.startswith("  - ")]
        assert any("more" in item for item in items[:-1]) and "the program sh -c x.sh" in items[-1]
        viewer.press("n\r")
        assert viewer.see_end() == 2


def test_more_than_can_be_shown(debate: Run, here: Path) -> None:
    """A file that names more programs than a screen can show, or a longer one, is refused at a terminal without a
    question."""
    for cast in (
        f"{{a: rehearse, b: rehearse, judge: {[f'command:cat {n} {200 * chr(120)}' for n in range(9)]}}}",
        f"'command:cat {'x' * 600}'",
    ):
        answers(f"cast: {cast}\n")
        with watching("run", "--answers", "a.yaml", columns=120) as viewer:
            assert viewer.see_end() == 2
            assert "[y/N]" not in viewer.glass.text and "than can be shown" in viewer.glass.text


# Every verb on a stranger's journal, with a program in each place of its cast

THEIRS = "r.journal.jsonl"
CASTS = {
    "a": (TOUCHES,),
    "b": (TOUCHES,),
    "judge": (TOUCHES, "host"),
    "second judge": ("rehearse", TOUCHES),
    "rapporteur": (TOUCHES,),
}
"""Whose seats a stranger gave away, and to whom."""
TAKES_TURNS = (
    f"step {THEIRS}",
    f"step {THEIRS} --json --one-agent",
    f"resume {THEIRS}",
    f"resume {THEIRS} --retry-for=1",
    f"resume {THEIRS} --a=rehearse --b=rehearse",
    f"resume {THEIRS} --judge=host --judge=rehearse",
)
"""What asks for consent, unless its flags give the seat away."""
READS = (
    f"report {THEIRS}",
    f"report {THEIRS} --to r.json",
    f"check {THEIRS}",
    f"replay {THEIRS}",
    f"compare {THEIRS} copy.journal.jsonl",
    f"answers --from {THEIRS}",
    f"floor {THEIRS} Why?",
)
"""What never takes a turn of the journal's cast."""


def stranger(debate: Run, seat: str, cast: tuple[str, ...], *, held: bool) -> None:
    """The journal of a debate that was begun elsewhere, at its first turns or with everything said but the verdict;
    then that cast took a seat."""
    waiting = ("judge", "rapporteur") if held else ("b", "judge") if seat == "b" else ("a", "b", "judge")
    filled = {role: "host" if role in waiting else "rehearse" for role in ("a", "b", "judge")}
    flags = [*(f"--{role}={spec}" for role, spec in filled.items()), f"--judge={filled['judge']}"]
    flags += [] if seat == "rapporteur" else ["--no-brief"]
    ran = debate("run", *STATED[:3], "--rounds=1", "--no-issues", "--output=r.md", "--retry-for=1", *flags)
    assert ran.code == 3, ran.err
    with JournalWriter(THEIRS) as journal:
        journal.append(Reassigned(seat=seat.rsplit(maxsplit=1)[-1], specs=cast))


@pytest.mark.parametrize(
    ("seat", "held"),
    [
        ("a", False),
        ("second judge", True),
        *(
            pytest.param(*case, marks=pytest.mark.slow)
            for case in (("b", False), ("judge", True), ("rapporteur", False))
        ),
    ],
)
def test_no_verb_runs_a_program_unasked(
    debate: Run, monkeypatch: pytest.MonkeyPatch, here: Path, seat: str, held: bool
) -> None:
    """Neither a verb nor a flag that gives another seat away is consent to the program in a seat; --trust is."""
    monkeypatch.setenv("XDG_STATE_HOME", str(here / "who held it"))
    stranger(debate, seat, CASTS[seat], held=held)
    before = Path(THEIRS).read_bytes()
    monkeypatch.setenv("XDG_STATE_HOME", str(here / "who got it"))
    for verb in TAKES_TURNS + READS:
        shutil.rmtree("r.turns", ignore_errors=True)
        Path(THEIRS).write_bytes(before)
        Path("copy.journal.jsonl").write_bytes(before)
        ran = debate(*verb.split())
        assert not Path("marker").exists(), verb
        assert "touch" not in "".join((ran.out + ran.err).split("`")[1::2]), verb  # commands to paste
        if verb in READS or f"--{seat.rsplit(maxsplit=1)[-1]}=" in verb:
            assert ran.code in (0, 3), verb
        else:
            assert ran.code == 2 and "touch marker" in ran.err and "--trust" in ran.err, verb

    Path(THEIRS).write_bytes(before)
    debate("resume", THEIRS, "--trust")
    due = ("judge", "second judge", "rapporteur") if held else ("a", "b", "rapporteur")
    assert Path("marker").exists() == (seat in due)


MODEL = "anthropic:claude-opus-5-5"
JUDGED = f"judge r.rehearsed.journal.jsonl --judge={MODEL}"
PAYS = ("open --answers a.json", f"step {THEIRS}", "run --answers a.json", f"resume {THEIRS}", JUDGED)
"""What calls models that a file names, or for it."""


def dear_files(debate: Run) -> None:
    """Answers and a debate that name a dear model for every seat; in the debate a first turn is taken."""
    seats = ("a", "b", "judge")
    positions = {"a": "Tabs win.", "b": "Spaces win."}
    given = {"topic": "Tabs or spaces?", "positions": positions, "rounds": 1, "issues": False, "brief": False}
    Path("a.json").write_text(json.dumps(given | {"output": "new.md", "cast": dict.fromkeys(seats, MODEL)}))
    Path("b.json").write_text(json.dumps(given | {"output": "r.md", "cast": dict.fromkeys(seats, "host")}))
    due = debate("open", "--answers", "b.json", "--json").json["turns"]
    Path(due[0]["reply"]).write_text("Tabs are shorter, and each reader sets their width.")
    with JournalWriter(THEIRS) as journal:
        for seat in seats:
            journal.append(Reassigned(seat=seat, specs=(MODEL,)))


@pytest.mark.parametrize(
    ("verb", "flags"), [(PAYS[0], "--json"), (PAYS[1], ""), (PAYS[2], ""), (PAYS[3], "--json"), (PAYS[4], "")]
)
def test_what_it_takes_is_reported_before_the_first_call(
    debate: Run, server: Server, capfd: pytest.CaptureFixture[str], verb: str, flags: str
) -> None:
    """Every verb that calls models says first what they take; on stdout stands nothing of it."""
    dear_files(debate)
    if verb == JUDGED:
        debate("run", *STATED, "--rounds=1", "--output=r.md", "--model=rehearse")
    printed: list[str] = []

    def refused(request: dict[str, Any], n: int) -> dict[str, Any]:
        printed.append(capfd.readouterr().err)
        return {"status": 401}

    server.problem = refused
    ran = debate(*verb.split(), *flags.split())

    assert ran.code == 4, ran.err
    assert re.search(r"^\d+ calls?, about .*, about \$\d", printed[0], re.MULTILINE), printed
    assert "prices of" not in ran.out


@pytest.mark.parametrize("flags", ["--quiet", "--events"])
def test_who_asks_for_silence_has_it(debate: Run, server: Server, flags: str) -> None:
    """With --quiet stderr holds errors alone, and with --events JSON alone."""
    dear_files(debate)
    server.problem = lambda request, n: {"status": 401}

    assert "prices of" not in debate("run", "--answers", "a.json", flags).err


def test_a_step_that_calls_no_model_tells_no_price(debate: Run, answers: Path, here: Path) -> None:
    """Where all seats are the host's there is nothing to pay from here."""
    assert " calls, " not in debate("open", "--answers", "answers.yaml").err
    assert " calls, " not in debate("step").err


def test_a_step_takes_a_cap(debate: Run, server: Server) -> None:
    """`step --max-cost` limits what a stranger's journal may cost, as `resume` does, and refuses what it can't hold. A
    cap that is there it only lowers."""
    dear_files(debate)
    ran = debate("step", THEIRS, "--max-cost=0.0001")

    assert ran.code == 3 and "exceeds the cap of $0.00" in ran.err and not server.requests
    assert "max_cost: 'much' is not an amount in US dollars" in debate("step", THEIRS, "--max-cost=much").err
    with JournalWriter(THEIRS) as journal:
        journal.append(Reassigned(seat="b", specs=("anthropic:unheard-of",)))
    assert "can lower the cap on costs, not raise it" in debate("step", THEIRS, "--max-cost=3").err
    ran = debate("step", THEIRS, "--max-cost=0.00005")
    assert ran.code == 2 and "a cap can't be kept with anthropic:unheard-of" in ran.err
