"""The verb `judge`: journals and transcripts judged again, with recordings and hosts as judges."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

import pytest
import scripted_replies
from conftest import STATED, Run, finish
from debates import play_events, script_of
from journals import write_journal

from debate_orchestrator.core import schedule
from debate_orchestrator.core.events import Reassigned
from debate_orchestrator.engine.debate import continue_debate
from debate_orchestrator.storage.journal import read

OLD, OTHER = "old.journal.jsonl", "other.journal.jsonl"
TALK = "# Cats?\n\n## Round 1\n\n### Ann (Pro)\n\nFor cats.\n\n### Bo (Con)\n\nAgainst cats.\n"


@pytest.fixture
def recorded(here: Path) -> Path:
    """A finished debate of two rounds, and a re-judging of it that can be played from."""
    write_journal(here / OLD, play_events(rounds=2))
    says = script_of(
        _1_verdict_judge=scripted_replies.ballot(2, 9, rounds=2), _final_verdict_judge=scripted_replies.final("b")
    )
    write_journal(here / OTHER, play_events(says, rounds=2))
    return here


def test_a_journal_is_judged_again(debate: Run, recorded: Path) -> None:
    """The other judge's verdict is beside the first, in a report and a journal of its own; the old ones are as
    they were. Judging twice, and judging a re-judging, overwrites nothing. A journal that is called something else is
    known by how it begins."""
    before = Path(OLD).read_bytes()
    ran = debate("judge", OLD, "--judge", f"replay:{OTHER}")
    report = Path("old.judged.md").read_text(encoding="utf-8")

    assert (ran.code, ran.out[:59]) == (0, "Debate complete. Report written to old.judged.md. Winner: B")
    assert "| Winner | A | B |" in report and "| Judges | host | " in report and "| Total, Researcher B | " in report
    assert f"“{OLD}” (digest {read(OLD).entries[-1].hash[:12]})" in report
    assert "--- ROUND 2 OF 2 ---" in ran.err
    assert Path(OLD).read_bytes() == before
    assert debate("check", "old.judged.journal.jsonl").code == 0

    Path("record").write_bytes(before)
    judge = ("--judge", f"replay:{OTHER}", "--quiet")
    again = [debate("judge", name, *judge, "--json").json for name in (OLD, "old.judged.journal.jsonl", "record")]
    assert [one["report"] for one in again] == ["old.judged-2.md", "old.judged-3.md", "record.judged.md"]
    assert {one["status"] for one in again} == {"done"}
    assert debate("judge", OLD, *judge, "--output", "old.judged.md").code == 2


def test_without_a_judge(debate: Run, recorded: Path, no_models: None) -> None:
    """Where no questions can be asked, the flags that this verb has are named, and no others. The report beside a
    journal is judged as the journal; one without a journal is told from a transcript."""
    ran = debate("judge", OLD)

    assert ran.code == 2
    assert "--judge" in ran.err and "rehearse for a stand-in" in ran.err
    assert "--a" not in ran.err and "--rehearse" not in ran.err

    debate("report", OLD)
    ran = debate("judge", "old.md", "--judge", "host")
    os.rename("old.md", "alone.md")
    alone = debate("judge", "alone.md", "--judge", "host")

    assert ran.code == 3 and "old.md is a report; using its journal old.journal.jsonl." in ran.err
    assert alone.code == 2 and "if this is a report, its journal alone.journal.jsonl is not there" in alone.err


def test_a_transcript_is_judged(debate: Run, here: Path) -> None:
    """A markdown document from elsewhere gets a ballot over all of it, a verdict and a dissent record. Its author's
    names are names: one that is called `rehearse:Ann` is no stand-in."""
    text = TALK.replace("Ann", "rehearse:Ann")
    Path("talk.md").write_text(text, encoding="utf-8")
    ran = debate("judge", "talk.md", "--judge", "host", "--strictness", "lenient", "--json")
    output = debate("step", "talk.judged.journal.jsonl", "--json", "--schemas").json
    asked = Path(output["turns"][0]["brief"]).read_text(encoding="utf-8")
    criteria = output["turns"][0]["json_schema"]["properties"]["scores"]["properties"]["a"]["required"]

    def say(turn: dict[str, str]) -> dict[str, object] | None:
        if turn["turn"] == "1.verdict.judge":
            ballot = scripted_replies.ballot(rounds=1, strict=False)
            scores = {"a": dict.fromkeys(criteria, 8), "b": dict.fromkeys(criteria, 4)}
            kept = {name: ballot[name] for name in ("strongest", "weakest", "winner", "justification")}
            return {**kept, "scores": scores}
        return scripted_replies.dissent(["1.argument.a"]) if "dissent" in turn["turn"] else None

    done = finish(debate, output, say)
    report = Path("talk.judged.md").read_text(encoding="utf-8")

    assert ran.code == 3
    assert "For cats." in asked and "Ann" not in asked
    assert "Winner: A (decisive)" in done["summary"] and "1 round completed" in done["summary"]
    assert hashlib.sha256(text.encode()).hexdigest()[:12] in report and "**Winner:** A" in report
    assert "Researcher A: “rehearse:Ann”; Researcher B: “Bo”" in report
    assert "Earlier Verdict" not in report


def test_a_host_judges(debate: Run, here: Path) -> None:
    """A re-judging that waits for its host says whose turn it is, and the command that takes it: that is no error."""
    write_journal(here / OLD, play_events())
    ran = debate("judge", OLD, "--judge", "host", "--output", "h.md")
    output = debate("judge", OLD, "--judge", "host", "--output", "i.md", "--json")

    assert (ran.code, output.code) == (3, 3) and "debate: " not in output.err
    assert ran.out == "h.journal.jsonl waits for 1.verdict.judge, which `host` takes: an agent host, or you.\n"
    assert "Next: `debate step h.journal.jsonl`" in ran.err and "debate: " not in ran.err
    assert (output.json["status"], output.json["journal"], output.json["due"]) == (
        "waiting", "i.journal.jsonl", ["1.verdict.judge"]
    )  # fmt: skip
    other_speaker = debate("resume", "h.journal.jsonl", "--a", "rehearse")
    assert other_speaker.code == 2 and "the speeches of a are replayed" in other_speaker.err
    assert debate("resume", "h.journal.jsonl", "--model", "rehearse").code == 0


def test_the_person_who_judges_a_transcript(debate: Run, here: Path) -> None:
    """Of a re-judging that is interrupted the ballots alone count as its replies, and the estimate tells of no other
    seats. `resume` puts a person before a ballot though the speeches are of no seat that can be called, and so does a
    host's cast that is changed to a person."""
    Path("talk.md").write_text(TALK, encoding="utf-8")
    debate("judge", "talk.md", "--judge", "host")
    with continue_debate("talk.judged.journal.jsonl", ignore_consent) as session:
        assert schedule.seats_left(session.state) == {"judge"}
        assert session.saved_message.startswith("0 replies saved.")
        session.record(Reassigned(seat="judge", specs=("human",)))
    step = debate("step", "talk.judged.journal.jsonl")
    ran = debate("resume", "talk.judged.journal.jsonl")
    rejudging = debate("judge", "talk.md", "--judge", "human")
    by_model = debate("judge", "talk.md", "--judge", "command:cat")

    hint = "and there is none. Try: --judge host; `debate step` then writes briefs"
    assert (step.code, ran.code, rejudging.code) == (2, 2, 2)
    assert "at a terminal with `debate resume talk.judged.journal.jsonl`, or seat the host" in step.err
    assert hint in ran.err and hint in rejudging.err
    assert "can't be in one debate" not in ran.err
    assert "calls, about" in by_model.err and "what the other seats take" not in by_model.err


def ignore_consent(*_: object) -> None:
    """Consents to everything."""


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        ((OLD, "--judge", "openrouter:v/m"), "OPENROUTER_API_KEY"),
        ((OLD, "--judge", "host", "--strictness", "cruel"), "lenient or strict"),
        ((OLD, "--judge", "host", "--topic", "Cats?"), "the topic can be given for a transcript alone"),
        (("poem.md", "--judge", "host"), "line 1: 'Roses are red.' is above"),
        (("untitled.md", "--judge", "host"), "it has no topic"),
        (("begun.journal.jsonl", "--judge", "host"), "`debate step begun.journal.jsonl` to finish it"),
    ],
)
def test_mistakes(debate: Run, recorded: Path, arguments: tuple[str, ...], problem: str) -> None:
    """Every mistake is reported in a line, with exit code 2, as JSON too, and leaves nothing behind."""
    Path("poem.md").write_text("Roses are red.\n", encoding="utf-8")
    Path("untitled.md").write_text("### A\n\nx\n\n### B\n\ny\n", encoding="utf-8")
    write_journal(recorded / "begun.journal.jsonl", play_events(until="2.opening.a", rounds=2)[:4])
    before = sorted(path.name for path in recorded.iterdir())
    ran, output = debate("judge", *arguments), debate("judge", *arguments, "--json")

    assert (ran.code, output.code) == (2, 2)
    assert problem in ran.err and problem in " ".join(output.json["complaints"])
    assert sorted(path.name for path in recorded.iterdir()) == before


@pytest.mark.parametrize("format", ["conversation", "question-blind", "question-consultancy", "question-open"])
def test_a_debate_of_one_side_or_none_is_judged_again(debate: Run, here: Path, format: str) -> None:
    """Also where a side has no seat, or no judge had one. No side is told to be reassigned: the speeches are those on
    record."""
    assert debate("run", *STATED, "--rehearse", f"--format={format}", "--rounds=1", "--output=d.md").code == 0
    ran = debate("judge", "d.rehearsed.journal.jsonl", "--judge=rehearse:anthropic:m", "--output=again.md")
    assert ran.code == 0, ran.err
    assert "Reassigned" not in Path("again.md").read_text(encoding="utf-8")


def test_what_can_not_be_judged_is_refused(debate: Run, here: Path) -> None:
    """The placeholders of a rehearsal stand for no answer. A debate on a side's name is mirrored in order alone."""
    debate("run", "Which town?", "--rehearse", "--rounds", "1", "--output", "re.md", "--quiet")
    ran = debate("judge", "re.rehearsed.journal.jsonl", "--judge", "host")
    assert ran.code == 2 and "its positions are a rehearsal's placeholders" in ran.err
    Path("talk.md").write_text(TALK, encoding="utf-8")
    swapped = ("judge", "talk.md", "--judge=rehearse", "--mirror", "--output=order.md", "--topic")
    assert debate(*swapped, "Was Researcher A right?").code == 0
    shown = Path("order.md").read_text(encoding="utf-8")
    assert "Rehearsed in part: stand-ins spoke for Judge." in shown
    assert "with the sides swapped in order; their names stayed. A vote" in shown
    assert "*Cast with the order of the sides swapped.*" in shown and "shown here with the names" not in shown
