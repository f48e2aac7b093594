"""The setup conversation as a host carries it on, through `debate ask`."""

from __future__ import annotations

import errno
import json
import os
import sys
from collections.abc import Callable
from pathlib import Path
from threading import Timer
from typing import Any

import pytest
from conftest import Run, finish

from debate_orchestrator.host import setup
from debate_orchestrator.storage import files
from debate_orchestrator.util.data import read_mapping

RESTATED = {"ambiguous": False, "restated": "Tabs are better.", "recommended": None, "alternative": None}
PAIR = {"kind": "technical", "a": "Tabs are better.", "b": "Spaces are better."}


def ask(debate: Run, *given: str) -> Any:
    return debate("ask", "setup.yaml", *given).json


def moderate(output: dict[str, Any], work: dict[str, Any]) -> None:
    Path(output["turns"][0]["reply"]).write_text(json.dumps(work), encoding="utf-8")


def confirmed(debate: Run) -> Any:
    moderate(ask(debate, "topic=tabs or spaces?"), RESTATED)
    ask(debate)
    ask(debate, "topic_ok=yes")
    moderate(ask(debate, "positions=auto"), PAIR)
    ask(debate)
    ask(debate, "positions_ok=yes")
    ask(debate, "rounds=1", "context=no")
    ask(debate, "strictness=lenient")
    return ask(debate, "output=out")


def pipe(debate: Run, standard_input: Callable[[str], None], text: str, *given: str) -> Any:
    """What `ask` does with that on standard input."""
    standard_input(text)
    return debate("ask", "setup.yaml", *given)


def test_an_answer_from_standard_input_that_is_not_taken_is_kept(
    debate: Run, standard_input: Callable[[str], None]
) -> None:
    """Whether it is refused or the file can't be used; the command that hands it in again is reported."""
    ran = pipe(debate, standard_input, "Grüße. " * 500, "topic=-")
    kept = Path("setup.setup/topic.reply.rejected-1.txt")
    again = f"the answer on standard input was kept as {kept}. Try: `debate ask setup.yaml topic=- < {kept}`"
    assert ran.code == 2 and again in ran.json["complaints"][-1]
    assert kept.read_text(encoding="utf-8") == "Grüße. " * 500

    Path("setup.yaml").write_text("- no mapping", encoding="utf-8")
    ran = pipe(debate, standard_input, "Are tabs better?", "topic=-", "rounds")
    assert ran.code == 2 and "setup.setup/topic.reply.rejected-2.txt" in ran.err


def test_a_moderators_reply_comes_on_standard_input(debate: Run, standard_input: Callable[[str], None]) -> None:
    """It is taken as one in a file is, or kept as one."""
    pipe(debate, standard_input, "tabs or spaces?", "topic=-")
    ran = pipe(debate, standard_input, "{}", "setup.topic.moderator=-")
    kept = "setup.setup/setup.topic.moderator.reply.rejected-1.txt"
    assert ran.code == 2 and f"setup.topic.moderator={kept}` once it can" in ran.json["complaints"][-1]
    ran = pipe(debate, standard_input, json.dumps(RESTATED), "setup.topic.moderator=-")
    assert ran.json["question"]["key"] == "topic_ok" and ran.json["complaints"] == []


def test_ask_leads_from_topic_to_report(debate: Run) -> None:
    """The setup conversation makes an answers file that `open` takes, and the debate runs from it."""
    ready = confirmed(debate)
    output = debate("open", "--answers", "setup.yaml", "--no-issues", "--no-brief", "--json").json
    output = finish(debate, output, rounds=1, strict=False)

    assert ready["status"] == "ready"
    assert ready["show"][:2] == ["DEBATE SETUP CONFIRMED", "======================"]
    assert output["report"] == os.path.join("out", "debate-report.md")
    assert Path(output["report"]).is_file()


def test_ask_puts_questions_as_json(debate: Run) -> None:
    """A question comes with its key, text, choices, default and help. A bad answer is a complaint and exit code 2; the
    others of the same call are taken. The schema of a moderator's reply is in the brief, and in the output only with
    `--schemas`."""
    output = ask(debate)
    assert (output["schema"], output["status"], output["complaints"]) == (1, "ask", [])
    assert output["question"] == {
        "key": "topic",
        "text": "What is the debate topic or question? Please state it as clearly and specifically as possible.",
        "choices": None,
        "default": None,
        "help": "One sentence or question that two sides could honestly argue about.",
    }
    ran = debate("ask", "setup.yaml", "rounds=three", "strictness=strict", "topic_ok=yes", "topic=")
    assert (ran.code, len(ran.json["complaints"]), ran.json["question"]["key"]) == (2, 3, "topic")
    assert ran.json["settled"] == {"strictness": "strict"}
    (turn,) = ask(debate, "topic=tabs or spaces?")["turns"]
    assert "json_schema" not in turn and '"restated"' in Path(turn["brief"]).read_text(encoding="utf-8")
    assert "restated" in ask(debate, "--schemas")["turns"][0]["json_schema"]["properties"]


def test_an_unfinished_conversation_can_not_be_opened(debate: Run) -> None:
    """`open` refuses answers whose confirmation is missing, and says which question is open."""
    moderate(ask(debate, "topic=tabs", "rounds=1", "strictness=strict", "output=o.md"), RESTATED)
    ask(debate)
    ran = debate("open", "--answers", "setup.yaml", "--topic", "Tabs", "--json")

    assert ran.code == 2
    assert "the question `topic_ok` is open" in ran.json["complaints"][0]
    assert not Path("o.journal.jsonl").exists()


def test_a_file_that_a_person_wrote_is_kept(debate: Run, here: Path) -> None:
    """An answers file that `ask` did not write is kept byte for byte before the conversation goes on in its place. One
    with an answer that can't be taken is refused, and stays where it is."""
    written, wrong = "topic: Tabs are better.\nrounds: 2\n", "topic: Tabs are better.\nrounds: 99\n"
    Path("setup.yaml").write_text(written, encoding="utf-8")
    Path("wrong.yaml").write_text(wrong, encoding="utf-8")
    ran, refused = debate("ask", "setup.yaml"), debate("ask", "wrong.yaml")

    assert Path("setup.edited.yaml").read_text(encoding="utf-8") == written and "kept as setup.edited.yaml" in ran.err
    assert refused.code == 2 and "rounds: 99 is not" in refused.err and Path("wrong.yaml").read_text() == wrong


def test_a_key_that_is_typed_is_not_written(debate: Run, here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A key of the environment that an answer holds is in no file that ask writes: neither answers nor briefs."""
    key = "sk-ant-q7Zp0aXk93Lm"
    monkeypatch.setenv("ANTHROPIC_API_KEY", key)
    output = ask(debate, f"topic=is {key} a good key?")

    files = [one.read_text(encoding="utf-8") for one in here.rglob("*") if one.is_file()]
    assert Path(output["turns"][0]["brief"]).exists() and len(files) >= 2
    assert [one for one in files if key in one] == [] and any("is [key] a good key?" in one for one in files)
    assert ask(debate)["status"] == "propose"


def test_questions_come_ready_for_a_dialog(debate: Run) -> None:
    """Two dialogs ask for all: each question has a short header and, where it can be chosen, two to four options. With
    `--dialog` they are printed alone, in the same words; what is left out is printed without it."""
    moderate(ask(debate, "topic=tabs or spaces?"), RESTATED)
    first, dialog = ask(debate), ask(debate, "--dialog")
    assert dialog["questions"] == first["questions"]
    assert first.keys() - dialog.keys() == {"question", "settled", "needs_consent"}
    output = ask(debate, "topic_ok=Yes (Recommended)", "positions=Auto", "rounds=2 rounds", "context=No")
    moderate(output, PAIR)
    second = ask(debate)
    ready = ask(debate, "output=Default: notes.md", "positions_ok=yes", "strictness=lenient (default)")

    assert [one["key"] for one in first["questions"]] == ["topic_ok", "positions", "rounds", "context"]
    assert [one["key"] for one in second["questions"]] == ["positions_ok", "strictness", "output"]
    assert first["questions"][0]["question"] == first["question"]["text"]
    for asked in (*first["questions"], *second["questions"]):
        assert 0 < len(asked["header"]) <= 12 and 2 <= len(asked["options"]) <= 4
        assert all(option["label"] and option["description"] for option in asked["options"])
    assert ready["status"] == "ready" and "Output: notes.md" in ready["show"]
    assert {"Rounds: 2", "Judge Strictness: lenient"} <= {*ready["show"]}


def test_the_users_own_figures_are_asked_for(debate: Run, here: Path) -> None:
    """A file is taken if it can be read, and shown in the block; one elsewhere still needs consent when it is opened,
    and so does an output elsewhere, for which no folder is made. What a flag of `open` adds to a confirmed setup is
    shown again."""
    Path("ours.md").write_text("We deploy twice a day.", encoding="utf-8")
    Path("more, still.md").write_text("And it takes an hour.", encoding="utf-8")
    Path("../elsewhere.md").write_text("Theirs.", encoding="utf-8")
    confirmed(debate)
    asked = ask(debate, "context=yes")
    assert (asked["complaints"], asked["question"]["key"]) == ([], "context_files")
    for key, wrong, why in (
        ("context", "gone.md", "gone.md: can't be read"),
        ("context_files", "yes", "'yes' names no file. Try: its path."),
    ):
        assert why in ask(debate, f"{key}={wrong}")["complaints"][0]
    assert ask(debate, "context_files=ours.md")["status"] == "ready" == ask(debate, "context=no")["status"]
    ready = ask(debate, "context=ours.md, ../elsewhere.md")
    assert "Context: ours.md; ../elsewhere.md" in ready["show"] and [one["kind"] for one in ready["needs_consent"]] == [
        "context"
    ]
    assert debate("open", "--answers", "setup.yaml", "--json").code == 2
    far = ask(debate, "context=ours.md", "output=../far/away/")
    assert [one["kind"] for one in far["needs_consent"]] == ["output"] and not Path("../far").exists()
    ask(debate, "output=near/by/")
    opened = debate("open", "--answers", "setup.yaml", "--context", "more, still.md", "--json").json

    assert "Context: more, still.md" in opened["show"]
    assert "And it takes an hour." in Path(opened["turns"][0]["brief"]).read_text(encoding="utf-8")


def test_the_rapporteur_may_be_named(debate: Run, here: Path) -> None:
    """A user who wants another rapporteur says so in the conversation, without being asked; `judge` takes it back. An
    answer that names no model that can be called is refused as other answers are, and is not kept."""
    refused = ask(debate, "topic=tabs or spaces?", "rapporteur=garbage")
    ask(debate, "rapporteur=openai:gpt-5")
    named = read_mapping("setup.yaml")["cast"]
    ask(debate, "rapporteur=judge")

    assert "garbage" in " ".join(refused["complaints"]) and "cast" not in refused["settled"]
    assert (named, read_mapping("setup.yaml")["cast"]) == ({"rapporteur": "openai:gpt-5"}, {})


def test_a_second_debate_starts_afresh(debate: Run, here: Path) -> None:
    """Once a debate is open, its answers take no more but a new topic: that asks for everything again."""
    confirmed(debate)
    output = debate("open", "--answers", "setup.yaml", "--json").json
    before = Path("setup.yaml").read_text(encoding="utf-8")
    refused = debate("ask", "setup.yaml", "rounds=2")
    again = ask(debate, "topic=vim or emacs?")
    moderate(again, {**RESTATED, "restated": "Vim is better."})
    asked = ask(debate)

    assert refused.code == 2 and f"debate step {output['journal']}" in refused.json["complaints"][0]
    assert (again["status"], again["settled"]) == ("propose", {})
    assert [one["key"] for one in asked["questions"]] == ["topic_ok", "positions", "rounds", "context"]
    assert Path("setup.opened-1.yaml").read_text(encoding="utf-8") == before


def test_ready_is_said_of_what_opens(debate: Run, here: Path) -> None:
    """An output that was taken since is asked for again, and settings that can't be opened are an error."""
    confirmed(debate)
    Path("out", "debate-report.md").write_text("a report from elsewhere")
    taken = debate("ask", "setup.yaml")
    ready = ask(debate, "output=other.md")
    with open("setup.yaml", "a", encoding="utf-8") as file:
        file.write("first: c\n")
    wrong = debate("ask", "setup.yaml")

    assert (taken.code, taken.json["status"], taken.json["question"]["key"]) == (2, "ask", "output")
    assert ready["status"] == "ready"
    assert (wrong.code, wrong.json["status"]) == (2, "error") and "first" in wrong.json["complaints"][0]


def test_a_conversation_in_a_json_file_goes_on(debate: Run, here: Path) -> None:
    """`debate ask` writes JSON into a file of that name, and reads it back."""
    assert debate("ask", "talk.json", "topic=Should we move?", "--json").code == 0
    before = json.loads(Path("talk.json").read_text(encoding="utf-8"))
    assert debate("ask", "talk.json", "rounds=2", "--json").code == 0
    after = json.loads(Path("talk.json").read_text(encoding="utf-8"))
    assert before["setup"]["topics"] == ["Should we move?"] and after["rounds"] == 2
    assert not [*Path().glob("*edited*")]


def test_ask_waits_for_the_moderator(debate: Run, here: Path) -> None:
    """`--wait` returns with the next questions as soon as the moderator's reply is whole; without one it says so."""
    output = ask(debate, "topic=tabs or spaces?")
    early = ask(debate, "--wait=0.1")
    later = Timer(0.5, moderate, (output, RESTATED))
    later.start()
    answered = ask(debate, "--wait=60")
    later.join()

    assert early["awaited"] == ["setup.topic.moderator: no reply at setup.setup/setup.topic.moderator.reply.json yet."]
    assert (answered["status"], "awaited" in answered) == ("ask", False)


def test_a_wait_keeps_what_is_answered_before_and_during_it(
    debate: Run, here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An answer that is given with `--wait` is in the file while the moderator is waited for: an end loses none. What
    another call, or a person, writes into the file meanwhile is still in it afterwards."""
    ask(debate, "topic=tabs or spaces?")

    def waits(*_: object) -> None:
        text = Path("setup.yaml").read_text(encoding="utf-8")
        assert "rounds: 2" in text
        Path("setup.yaml").write_text(text.replace("rounds: 2", "rounds: 4"), encoding="utf-8")
        ask(debate, "strictness=lenient")

    monkeypatch.setattr(setup, "wait_for_replies", waits)
    ask(debate, "rounds=2", "--wait=9")
    kept = read_mapping("setup.yaml")
    assert (kept["rounds"], kept["strictness"]) == (4, "lenient")


def out_of_room(monkeypatch: pytest.MonkeyPatch, part: str) -> None:
    """From now on the disk is full for files with that part in their name."""
    write = files._temporary

    def written(target: Path, data: bytes, mode: int | None) -> str:
        if part in target.name:
            raise OSError(errno.ENOSPC, "No space left on device")
        return write(target, data, mode)

    monkeypatch.setattr(files, "_temporary", written)


def test_a_moderators_reply_outlasts_a_full_disk(debate: Run, here: Path) -> None:
    """One that is not the shape is complained of, and stays due. One that is stays in its place until the answers with
    it are saved, and the next ask takes it."""
    output = ask(debate, "topic=tabs or spaces?")
    moderate(output, {"ambiguous": "no"})
    unfit = debate("ask", "setup.yaml")
    assert (unfit.code, unfit.json["status"]) == (2, "propose") and "restated" in " ".join(unfit.json["complaints"])
    moderate(output, RESTATED)
    with pytest.MonkeyPatch.context() as patch:
        out_of_room(patch, "setup.yaml")
        stopped = debate("ask", "setup.yaml")
    kept = Path(output["turns"][0]["reply"]).exists()
    taken = ask(debate)

    assert stopped.code == 4 and "No space left" in stopped.err and kept
    assert taken["complaints"] == [] and taken["question"]["key"] == "topic_ok"


def test_a_stranger_does_not_learn_what_lies_elsewhere(
    debate: Run, here: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """Whether there is a file at an output elsewhere, which a file names, is not said before the user agreed to it, and
    no folder is made for it."""
    elsewhere = tmp_path_factory.mktemp("elsewhere")
    Path(elsewhere, "there.md").write_text("a report", encoding="utf-8")

    def asked_for(name: str) -> Any:
        Path("setup.yaml").write_text(f"topic: tabs?\noutput: {elsewhere}/{name}.md\n", encoding="utf-8")
        return debate("ask", "setup.yaml").json

    there, absent = asked_for("there"), asked_for("deep/absent")
    assert there["complaints"] == absent["complaints"] == [] and os.listdir(elsewhere) == ["there.md"]
    assert there["settled"]["output"] == f"{elsewhere}/there.md"


def test_a_strangers_answers_open_no_journal_elsewhere(
    debate: Run, here: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """A file that says that its debate is open elsewhere has no journal read there before the user agreed to it."""
    confirmed(debate)
    elsewhere = tmp_path_factory.mktemp("elsewhere")
    output = debate("open", "--answers", "setup.yaml", f"--output={elsewhere}/r.md", "--json").json
    answers = Path("setup.yaml").read_text(encoding="utf-8")
    assert "output: out" in answers
    Path("setup.yaml").write_text(answers.replace("output: out", f"output: {elsewhere}/r.md"), encoding="utf-8")
    opened: list[str] = []
    sys.addaudithook(lambda event, about: opened.append(str(about[0])) if event == "open" else None)
    before = debate("ask", "setup.yaml", "rounds=2")

    assert output["journal"] == f"{elsewhere}/r.journal.jsonl"
    assert [path for path in opened if path.startswith(str(elsewhere))] == []
    assert "is open" not in " ".join(before.json["complaints"])
