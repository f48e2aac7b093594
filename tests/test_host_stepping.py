"""A host-run debate at the command line: `open`, `step`, and what is refused on the way."""

from __future__ import annotations

import json
import re
from pathlib import Path
from threading import Timer
from typing import Any

import pytest
import scripted_replies
from conftest import Run, finish

from debate_orchestrator.core.fold import fold
from debate_orchestrator.host.turns_folder import TurnsFolder
from debate_orchestrator.reports.model import build_report
from debate_orchestrator.reports.report_files import render_file
from debate_orchestrator.storage.journal import read
from debate_orchestrator.util.errors import BadReply
from debate_orchestrator.web import blocks, debate_list

J = "report.journal.jsonl"


def test_open_prints_the_contract(opened: dict[str, Any]) -> None:
    """`open --json` prints the fields of the contract, the setup as confirmed and the first banner."""
    assert list(opened) == [
        "schema",
        "status",
        "journal",
        "show",
        "accepted",
        "complaints",
        "turns",
        "report",
        "summary",
    ]
    assert opened["schema"] == 1
    assert opened["show"][0] == "DEBATE SETUP CONFIRMED"
    assert opened["show"][-1] == "--- ROUND 1 OF 2 ---"
    assert opened["turns"] == [
        {
            "turn": "1.opening.a",
            "seat": "a",
            "title": "Opening Statement — Researcher A",
            "brief": "report.turns/1.opening.a.brief.md",
            "reply": "report.turns/1.opening.a.reply.md",
            "wants": "text",
        }
    ]


def test_a_debate_goes_to_its_report(debate: Run, opened: dict[str, Any]) -> None:
    """Stepping to the end writes the report and prints the closing line. A step after the last changes nothing and
    prints both again."""
    output = finish(debate, opened, rounds=2)

    assert output["report"] == "report.md"
    assert output["summary"] == (
        "Debate complete. Report written to report.md. Winner: A (narrow). 2 rounds completed. "
        "Key unresolved question: “What does it cost in year two?”"
    )
    assert Path("report.md").read_text(encoding="utf-8").startswith("# Debate Report\n")
    assert "in an unbroken chain" in debate("check", J).out

    before = Path(J).read_bytes()
    again = debate("step", J, "--json").json
    assert (again["status"], again["report"], again["summary"]) == ("done", output["report"], output["summary"])
    for verb in ("step", "resume"):
        shown = debate(verb, J)
        assert shown.code == 0 and shown.out.strip().endswith(output["summary"])
        assert f"{J} is finished" in shown.err and f"`debate judge {J} --judge MODEL`" in shown.err
    assert Path(J).read_bytes() == before


BAD_REPLIES: dict[str, tuple[bytes, str]] = {
    "empty": (b"", "the reply is empty"),
    "binary": (b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR\xff\xfe", "not UTF-8"),
    "wrapper after a BOM": (
        b"\xef\xbb\xbf\xef\xbb\xbf[Subagent hand-back]\n  So it is.\n",
        "wrapped in text of the host's own tools",
    ),
    "NUL bytes": (b"\0" * 1_000, "not text (a NUL byte at offset 0)"),
    "footer": (b"So it is.\n\nagentId: a1b2c3 (for resuming)\n", "wrapped in text of the host's own tools"),
    "footer of an old Mac": (
        b"So it is.\r\ragentId: a1b2c3 (for resuming)\r",
        "wrapped in text of the host's own tools",
    ),
    "5 MB": (b"x" * 5_000_000, "too large (more than 262,144 bytes)"),
}


def test_a_reply_that_will_not_do(debate: Run, opened: dict[str, Any]) -> None:
    """An invalid reply is refused with one problem, and kept. Nothing else changes, no announcement is shown twice, and
    the turn stays due."""
    before = Path(J).read_bytes()
    again = "Have the turn taken again, with its reply in report.turns/1.opening.a.reply.md."
    for n, (name, (data, expected)) in enumerate(BAD_REPLIES.items(), start=1):
        Path(opened["turns"][0]["reply"]).write_bytes(data)
        ran = debate("step", J, "--json")
        (complaint,) = ran.json["complaints"]
        assert ran.code == 2 and complaint.startswith("1.opening.a: ") and expected in complaint, name
        assert complaint.endswith(f"It was kept as report.turns/1.opening.a.reply.rejected-{n}.md. {again}"), name
        assert ([one["turn"] for one in ran.json["turns"]], ran.json["show"]) == (["1.opening.a"], []), name
        assert Path(J).read_bytes() == before, name


def test_a_short_speech_is_sent_back_once(debate: Run, here: Path) -> None:
    """A seat that has no more to say gets on by handing in the same again, after a brief that says so."""
    Path("page.txt").write_text("It may be so.", encoding="utf-8")
    Path("short.yaml").write_text(
        "{topic: Is it so?, format: question, positions: {a: Yes, b: No}, context: [page.txt], output: report.md}"
    )
    output = debate("open", "--answers", "short.yaml", "--json").json
    reply, brief = (Path(output["turns"][0][name]) for name in ("reply", "brief"))
    reply.write_text("It is so, says the page.")
    ran = debate("step", J, "--json")
    assert ran.code == 2 and "6 words; at least" in ran.json["complaints"][0]
    assert "This is asked for once." in brief.read_text(encoding="utf-8")

    reply.write_text("It is so, says the page.")
    assert [one["turn"] for one in debate("step", J, "--json").json["accepted"]] == [output["turns"][0]["turn"]]


def at_verdict(debate: Run, output: dict[str, Any]) -> dict[str, Any]:
    while output["turns"][0]["turn"] != "1.verdict.judge":
        scripted_replies.answer(output["turns"], rounds=2)
        output = debate("step", J, "--json").json
    return output


UNFIT_BALLOTS = {
    "A won.": "JSON",
    json.dumps(scripted_replies.ballot(winner="both")): "one of a, b, tie",
    json.dumps(scripted_replies.ballot()).replace("7", "NaN", 1): "NaN is not JSON",
}


def test_a_ballot_that_is_not_the_shape(debate: Run, opened: dict[str, Any]) -> None:
    """A ballot that is not the shape is refused, and nothing is guessed. An agent that reads only the next brief finds
    there what was wrong with the ballot before, and that ballot itself. The next one is taken."""
    output = at_verdict(debate, opened)
    due = output["turns"][0]
    first = Path(due["brief"]).read_text(encoding="utf-8")
    for ballot, expected in UNFIT_BALLOTS.items():
        scripted_replies.hand_in(due, ballot)
        ran = debate("step", J, "--json")
        assert ran.code == 2 and any(expected in one for one in ran.json["complaints"]), ballot
    for score in (11, 12):
        scripted_replies.hand_in(due, scripted_replies.ballot(a=score))
        ran = debate("step", J, "--json")
        assert ran.code == 2 and ran.json["complaints"][0] not in first

    brief = Path(due["brief"]).read_text(encoding="utf-8")
    assert "could not be used" not in first and brief.count("could not be used") == 1
    assert "a number from 1 to 10" in brief.partition("could not be used")[2]
    scores = [json.dumps(scripted_replies.ballot(a=score)["scores"]) for score in (11, 12)]
    assert [text in brief for text in scores] == [False, True]
    scripted_replies.hand_in(due, scripted_replies.ballot(rounds=2))
    assert debate("step", J, "--json").json["accepted"][0]["turn"] == "1.verdict.judge"
    assert "in an unbroken chain" in debate("check", J).out


def test_turns_that_are_not_due(debate: Run, opened: dict[str, Any]) -> None:
    """A reply to a turn that is not due is refused with the turns that are."""
    Path("speech.md").write_text("A speech.", encoding="utf-8")
    early = debate("step", J, "--json", "2.rebuttal.a=speech.md")
    taken = debate("step", J, "1.opening.a = speech.md")
    assert taken.code == 0 and "1.opening.a (2 words) it stands, though about 550 words are asked for" in taken.err
    same = debate("step", J, "--json", "1.opening.a=speech.md")
    Path("speech.md").write_text("Another speech.", encoding="utf-8")
    other = debate("step", J, "--json", "1.opening.a=speech.md")

    assert (early.code, same.code, other.code) == (2, 0, 2)
    assert "“2.rebuttal.a” is not due. Due now: 1.opening.a" in early.json["complaints"][0]
    assert same.json["accepted"] == []
    assert "this turn has a reply already" in other.json["complaints"][0]


def test_a_reply_before_its_brief_is_set_aside(debate: Run, opened: dict[str, Any]) -> None:
    """A reply that lay there before its brief did is kept aside, and the turn stays due."""
    Path("report.turns/1.opening.b.reply.md").write_text("Written too early.", encoding="utf-8")
    scripted_replies.answer(opened["turns"])
    ran = debate("step", J, "--json")

    assert ran.code == 2
    assert "this reply was there before its brief, or answers an earlier one" in ran.json["complaints"][0]
    assert [one["turn"] for one in ran.json["turns"]] == ["1.opening.b"]
    assert Path("report.turns/1.opening.b.reply.aside-1.md").read_text(encoding="utf-8") == "Written too early."


def test_one_agent_is_put_on_record(debate: Run, opened: dict[str, Any]) -> None:
    """`--one-agent` is recorded once, and the report says beside its result, as do summary, replay and
    dashboard, that one agent played both sides and the judge."""
    debate("step", J, "--one-agent")
    debate("step", J, "--one-agent")
    done = finish(debate, debate("step", J, "--json").json, rounds=2)

    assert Path(J).read_text(encoding="utf-8").count('"note":"one agent"') == 1
    degraded = "Degraded: one agent played both sides and the judge, so none of them is independent of the others."
    assert f"\n**{degraded}**\n" in Path("report.md").read_text(encoding="utf-8").partition("## Final Verdict")[2]
    page = Path("report.html").read_text(encoding="utf-8")
    assert f'<p class="notice">{degraded}</p>' in page.partition('<figure class="score-bar">')[0]
    assert f"<li>{degraded}</li>" not in page.partition('<ul class="weak">')[2].partition("</ul>")[0]
    assert degraded in done["summary"] and degraded in debate("replay", J, "--no-pace").out
    assert "degraded verdict" in debate_list.row("report").badges
    assert blocks.outcome(fold(entry.event for entry in read(J).entries))[0] == degraded


def test_a_line_counts_with_the_code_of_its_brief(debate: Run, opened: dict[str, Any]) -> None:
    """A speech whose line lacks the code of the brief is taken with a remark that says so; with it the side concedes,
    and no report or later brief shows the code."""
    (turn,) = opened["turns"]
    line = "I CONCEDE THE DEBATE."
    brief = Path(turn["brief"]).read_text(encoding="utf-8")
    (code,) = set(re.findall(rf"- {line} \[(\w+)\]", brief))
    Path("a.md").write_text(f"Dogs are loyal.\n\n{line} [BCDFGH]", encoding="utf-8")
    ran = debate("step", J, "--json", "1.opening.a=a.md")
    remark = f'"{line}" does not count here: it concedes only with the code of its turn.'
    assert ran.json["accepted"][0]["remark"] == remark
    assert f"Researcher A (1.opening.a): {remark}" in ran.json["show"]

    (turn,) = ran.json["turns"]
    scripted_replies.hand_in(turn, f"You are right.\n\n{line}")
    said = Path(turn["reply"]).read_text(encoding="utf-8")
    assert code not in said
    (own,) = re.findall(r"\[([A-Z]{6})\]$", said)
    ran = debate("step", J, "--json")
    assert "Researcher B conceded the debate (1.opening.b)." in ran.json["show"]
    report = build_report(read(J).entries)
    assert [turn.ignored_line_remark for turn in report.turns] == [remark, ""]
    assert all(render_file(report, suffix).count("with the code of its turn.") == 1 for suffix in (".md", ".html"))
    assert "remark" not in ran.json["accepted"][0]
    briefs = [Path(later["brief"]).read_text(encoding="utf-8") for later in ran.json["turns"]]
    assert briefs and all(line in text and own not in text for text in briefs)


def test_a_step_waits_for_every_reply(debate: Run, opened: dict[str, Any]) -> None:
    """`--wait` returns when all due replies are there, and after its seconds with those that are there: a reply is
    taken while its sibling is still missing, and only the sibling stays due."""
    output = opened
    while len(output["turns"]) == 1:
        scripted_replies.answer(output["turns"], rounds=2)
        output = debate("step", J, "--json", "--wait").json
    scripted_replies.answer(output["turns"][:1])
    late = debate("step", J, "--json", "--wait", "0.1")
    timer = Timer(0.5, scripted_replies.answer, (late.json["turns"],))
    timer.start()
    whole = debate("step", J, "--json", "--wait", "60").json
    timer.join()

    assert [one["turn"] for one in late.json["accepted"]] == ["1.challenge.a"]
    assert [one["turn"] for one in late.json["turns"]] == ["1.challenge.b"]
    assert late.json["awaited"] == ["1.challenge.b: no reply at report.turns/1.challenge.b.reply.md yet."]
    assert late.code == 0
    assert [one["turn"] for one in whole["accepted"]] == ["1.challenge.b"] and "awaited" not in whole


def test_no_brief_holds_a_key(debate: Run, opened: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    """A key of the environment that a speech holds is in no brief that is laid out after it."""
    key = "sk-ant-q7Zp0aXk93Lm"
    Path(opened["turns"][0]["reply"]).write_text(f"Our key is {key}.", encoding="utf-8")
    monkeypatch.setenv("ANTHROPIC_API_KEY", key)
    output = debate("step", J, "--json").json
    brief = Path(output["turns"][0]["brief"]).read_text(encoding="utf-8")
    scripted_replies.answer(output["turns"])

    assert key not in brief and "Our key is [key]." in brief
    assert [one["turn"] for one in debate("step", J, "--json").json["accepted"]] == ["1.opening.b"]


def test_a_ballot_is_filled_in_by_hand(debate: Run, opened: dict[str, Any]) -> None:
    """A judge's brief ends with an empty form of the reply: as it is it is refused, and filled in it counts. The schema
    comes with it only where `--schemas` asks for it."""
    output = at_verdict(debate, opened)
    (turn,) = output["turns"]
    assert "json_schema" not in debate("step", J, "--json").json["turns"][0]
    assert "scores" in debate("step", J, "--json", "--schemas").json["turns"][0]["json_schema"]["properties"]
    brief = Path(turn["brief"]).read_text(encoding="utf-8")
    form = json.loads(brief.rpartition("```json\n")[2].partition("```")[0])
    Path(turn["reply"]).write_text(json.dumps(form), encoding="utf-8")
    empty = debate("step", output["journal"], "--json")
    assert empty.code == 2 and "winner" in empty.err and not empty.json["accepted"]

    form["scores"] = {side: dict.fromkeys(form["scores"][side], 7) for side in form["scores"]}
    texts = {name: "Why." for name, value in form.items() if value == ""}
    sides = {name: {"a": "This.", "b": "That."} for name in ("strongest", "weakest", "feedback")}
    form |= {**texts, **sides, "winner": form["winner"].split(" | ")[2], "unsupported_claims": []}
    Path(turn["reply"]).write_text(json.dumps(form), encoding="utf-8")
    filled = debate("step", output["journal"], "--json")
    assert filled.code == 0, filled.err
    assert filled.json["accepted"][0]["turn"] == turn["turn"] and "Winner: Tie" in filled.json["show"][0]


def test_a_reply_can_not_be_replaced(debate: Run, opened: dict[str, Any]) -> None:
    """A file that holds another reply than the one that was taken is named; the one that was taken is not."""
    scripted_replies.answer(opened["turns"])
    taken = debate("step", J, "--json").json
    assert not any("has its reply" in line for line in taken["show"])
    Path(opened["turns"][0]["reply"]).write_text("Something else.\n", encoding="utf-8")
    again = debate("step", J, "--json")
    sentence = "1.opening.a has its reply; what is in report.turns/1.opening.a.reply.md now can't replace it."
    assert sentence in again.json["show"] and again.code == 0 and sentence in debate("step", J).out
    assert again.json["turns"] == taken["turns"]


def test_a_turns_folder_loses_nothing(here: Path) -> None:
    """Every reply that is set aside keeps a file of its own. What can't be read as a file is a complaint that names
    it."""
    folder = TurnsFolder("d.turns")
    laid = folder.turn_files("1.opening.a", "text")
    for n in range(3):
        folder.write_brief(laid, f"brief {n}")
        Path(laid.reply).write_text(f"speech {n}")
    folder.write_brief(laid, "the last brief")
    assert sorted(path.read_text() for path in Path("d.turns").glob("*aside*")) == ["speech 0", "speech 1", "speech 2"]
    Path(laid.reply).mkdir()
    with pytest.raises(BadReply, match=r"reply\.md can't be read as a reply \(Is a directory\)"):
        folder.collect(laid, "the last brief")
