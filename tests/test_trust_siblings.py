"""What else comes along with a stranger's file: older rules, formats, ballots that are links, folders that are."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from conftest import Run, finish
from own_formats import written

from debate_orchestrator.core.events import Opened, Spoke
from debate_orchestrator.reports.reviews import gather_reviews, read_draft
from debate_orchestrator.storage.journal import JournalWriter, read
from debate_orchestrator.util.errors import BadFile

TYPED = ("--topic=T", "--position-a=It is so.", "--position-b=It is not so.", "--no-issues", "--no-brief", "--rounds=1")
SECRET = "aws_secret_access_key"


@pytest.fixture
def finished(debate: Run) -> str:
    """A journal of this user's own debate among hosts."""
    told = debate("open", *TYPED, "--json").json
    finish(debate, told, rounds=1)
    return str(told["journal"])


def test_older_rules_are_not_judged_by_unasked(debate: Run, finished: str) -> None:
    """A journal whose speeches are heard by the rules of an older version, otherwise than now, is not judged without
    consent; with it, the judging keeps those rules, and is gone on with unasked."""
    first, *events = read(finished).events
    assert isinstance(first, Opened)
    with JournalWriter.create("old.journal.jsonl", first.model_copy(update={"speech_rules": 1})) as journal:
        for event in events:
            if not isinstance(event, Spoke):
                journal.append(event)
                continue
            reply = event.reply.model_copy(update={"text": f"<think>Hm.</think>\n\n{event.reply.text}"})
            journal.append(event.model_copy(update={"reply": reply}))
    refused = debate("judge", "old.journal.jsonl", "--judge=rehearse")
    trusted = debate("judge", "old.journal.jsonl", "--judge=host", "--trust", "--output=again.md")
    resumed = debate("step", "again.journal.jsonl")

    assert refused.code == 2 and "an older version" in refused.err and "--trust" in refused.err
    assert trusted.code in (0, 3), trusted.err
    assert resumed.code == 0, resumed.err


def test_more_rounds_than_the_format_takes_are_not_judged_unasked(debate: Run) -> None:
    """A journal of more rounds than its format takes is not judged without consent, however it is heard."""
    assert debate("run", "--topic=Tabs are better.", "--rounds=2", "--rehearse", "--output=two.md", "--quiet").code == 0
    finished = "two.rehearsed.journal.jsonl"
    first = read(finished).events[0]
    assert isinstance(first, Opened)
    fewest = first.format.rounds.model_copy(update={"most": 1, "insist": 1, "fewest": 1, "default": 1})
    more = first.model_copy(update={"format": first.format.model_copy(update={"rounds": fewest})})
    with JournalWriter.create("long.journal.jsonl", more) as journal:
        for event in read(finished).events[1:]:
            journal.append(event)
    ran = debate("judge", "long.journal.jsonl", "--judge=rehearse")

    assert ran.code == 2 and "2 rounds, where its format takes 1" in ran.err and "--trust" in ran.err


def test_a_question_is_not_asked_in_a_strangers_words(debate: Run, here: Path) -> None:
    """`ask` reads no format from a path that the user has not agreed to: it asks as the usual format does, and says
    so. Once agreed to, that format is gone by."""
    written(here / "town")
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
    assert [one["kind"] for one in asked.json["trust"]] == ["format"]


def test_a_conversation_is_finished_by_the_format_in_force(debate: Run, here: Path) -> None:
    """A flag that names another format keeps the file's own from being read, to see whether it is finished, too."""
    Path("broken").mkdir()
    Path("broken/format.yaml").write_text(f"{SECRET}: 7\n")
    positions = "positions: {a: It is so., b: It is not so.}"
    Path("a.yaml").write_text(f"topic: T\n{positions}\nrounds: 1\nformat: ./broken\nsetup: {{topics: [T]}}\n")
    ran = debate("open", "--answers", "a.yaml", "--format", "adversarial")

    assert ran.code == 2
    assert SECRET not in ran.err and "format.yaml" not in ran.err


@pytest.mark.parametrize("said", ["[./town]", "{./town: 1}", "7"])
def test_a_format_is_text(debate: Run, here: Path, said: str) -> None:
    """A format that is no text is refused, and not made one."""
    Path("a.yaml").write_text(f"topic: T\npositions: {{a: It is so., b: It is not so.}}\nformat: {said}\n")
    for ran in (debate("open", "--answers", "a.yaml"), debate("ask", "a.yaml")):
        assert ran.code == 2
        assert "format: " in ran.err and "is not a name, or the path of a folder" in ran.err


@pytest.mark.parametrize("how", ["file", "folder", "draft"])
def test_ballots_are_no_links(debate: Run, here: Path, finished: str, how: str) -> None:
    """A ballot that is a link, or lies in a folder that is one, is not read: nothing of what it leads to is told."""
    elsewhere = here / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "x.yaml").write_text(f"{SECRET}: 7\n")
    folder = Path(finished.removesuffix(".journal.jsonl") + ".ballots")
    if how == "folder":
        folder.symlink_to(elsewhere)
    else:
        folder.mkdir()
        (folder / ("x.draft.yaml" if how == "draft" else "x.yaml")).symlink_to(elsewhere / "x.yaml")
    found = gather_reviews(str(folder), read(finished).entries)
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
