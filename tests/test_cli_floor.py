"""The verbs that step in from outside: a question from the floor, an early end, and what comes of reopening."""

from __future__ import annotations

from pathlib import Path

import pytest
import scripted_replies
from conftest import Run, finish, place_finished_debate

from debate_orchestrator.core import rapporteur
from debate_orchestrator.core.events import BriefSent, Rejected, Reopened
from debate_orchestrator.core.fold import apply, fold
from debate_orchestrator.core.reply import Reply
from debate_orchestrator.engine import start
from debate_orchestrator.engine.debate import floor_question
from debate_orchestrator.formats import loader
from debate_orchestrator.prompting import replies
from debate_orchestrator.prompting.briefs import brief
from debate_orchestrator.providers import rehearse
from debate_orchestrator.reports.model import build_report
from debate_orchestrator.setup.answers import make_settings
from debate_orchestrator.storage.journal import JournalWriter, read
from debate_orchestrator.web import debate_list

J = "report.journal.jsonl"
WHY = "Why not next year?"


@pytest.fixture
def opened(debate: Run, answers: Path) -> Run:
    """A host-run debate whose first speech was given: the second opening is due, and its brief is laid."""
    scripted_replies.answer(debate("open", "--answers", "answers.yaml", "--json").json["turns"])
    debate("step", J)
    return debate


def brief_file(turn: str) -> str:
    return Path(f"report.turns/{turn}.brief.md").read_text(encoding="utf-8")


def test_a_question_reaches_the_next_briefs(opened: Run) -> None:
    """It is said to whom it went and which turns were briefed before it; briefs sent after it hold it."""
    ran = opened("floor", J, WHY, "--to", "b", "--to", "judge")
    assert ran.out.startswith(
        f"From the floor, to Researcher B and Judge: {WHY}\n"
        "These turns were briefed before the question and will not see it: "
    )
    assert "1.opening.b." in ran.out and f"Continue with `debate step {J}`." in ran.out
    finish(opened, opened("step", J, "--json").json, rounds=2)
    assert WHY not in brief_file("1.opening.b") and WHY not in brief_file("1.challenge.a")
    assert all(WHY in brief_file(turn) for turn in ("1.challenge.b", "1.verdict.judge", "2.rebuttal.b"))
    assert f"*From the floor:* {WHY}" in Path("report.md").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ((WHY, "--to", "c"), "one of a, b, judge"),
        ((WHY, "--to", "judge-1"), "one of a, b, judge"),
        ((" ",), "is not a question of 1 to 2,000 characters"),
        (("x" * 2001,), "is not a question of 1 to 2,000 characters"),
        ((WHY,), "question: it was put to Researcher B before and has not been heard yet."),
    ],
)
def test_questions_that_will_not_do(opened: Run, given: tuple[str, ...], said: str) -> None:
    """A question to a seat that is not there, an empty one, one that is too long, and one that waits to be heard are
    refused; nothing is written."""
    assert opened("floor", J, WHY, "--to", "b").code == 0
    before = Path(J).read_bytes()
    ran = opened("floor", J, *given)
    assert (ran.code, Path(J).read_bytes()) == (2, before)
    assert said in ran.err


def test_an_early_end(opened: Run) -> None:
    """The phase under way is finished, then the verdict is due; the report tells that it was ended early. While another
    process writes the journal, the keys of its terminal are named."""
    ran = opened("end", J)
    assert ran.out.startswith("Ended early, after Opening Statement of round 1. Due now: 1.opening.b.")
    step = opened("step", J, "--json").json
    scripted_replies.answer(step["turns"])
    assert [turn["turn"] for turn in opened("step", J, "--json").json["turns"]] == ["final.verdict.judge"]
    finish(opened, opened("step", J, "--json").json, rounds=2)
    report = Path("report.md").read_text(encoding="utf-8")
    assert "Ended early, after Opening Statement of round 1." in report
    assert opened("check", J).code == 0
    assert opened("replay", J).out.count("Ended early") == 1

    with JournalWriter(J):
        for ran in (opened("end", J), opened("floor", J, WHY)):
            assert ran.code == 2 and "Press f or e at the terminal where it runs" in ran.err


def test_a_finished_debate(debate: Run, answers: Path) -> None:
    """Neither is there anything to ask or to end when it is over. Where it is judged again, judges alone are asked."""
    place_finished_debate(debate)
    assert [debate("end", J).code, debate("floor", J, WHY).code] == [2, 2]
    debate("judge", J, "--judge", "host", "--output", "again.md")
    ran = debate("floor", "again.journal.jsonl", WHY, "--to", "a")
    assert ran.code == 2 and "the speeches are on record, so no side can answer it. Try: put it to the" in ran.err
    assert "to Judge" in debate("floor", "again.journal.jsonl", WHY).out


def test_a_decision_brief_that_is_off_the_schedule_breaks_nothing(here: Path) -> None:
    """The dissent record is asked for again, and the decision brief after it is there: reports, briefs, a search and
    questions from the floor work as before."""
    positions = {"a": "Tabs.", "b": "Spaces."}
    setup = {"topic": "Tabs?", "positions": positions, "rounds": 1, "cast": "anthropic:claude-opus-5-5"}
    opening = start.make_opened(make_settings(setup, loader.load("adversarial"), "o.md"))
    debate = fold([opening])
    with JournalWriter.create(here / "o.journal.jsonl", opening) as journal:
        while debate.due:
            turn = debate.due[0]
            reply = Reply(text=rehearse.reply_for(debate, turn), brief_digest="d", spec="host")
            outcome = replies.parse_reply(debate, turn, reply, None)
            if turn.phase.name == "dissent":
                outcome = Rejected(turn_id=turn.id, problems=("No.",), reply=reply, absent=True)
            for event in (BriefSent(turn_id=turn.id, brief_digest="d", spec="host"), outcome):
                debate = apply(debate, event)
                journal.append(event)
        journal.append(Reopened())
    reopened = apply(debate, Reopened())

    assert (left := set(debate.turns) - set(reopened.turns)) and left <= set(reopened.replies)
    assert rapporteur.decision_brief_problems(reopened) == rapporteur.decision_brief_problems(debate)
    assert rapporteur.unfixed_problems(reopened) == rapporteur.unfixed_problems(debate)
    assert all(brief(reopened, turn) for turn in reopened.turns.values())
    assert floor_question(reopened, "Why?").question == "Why?"
    assert build_report(read(here / "o.journal.jsonl").entries).status == "paused"
    first_words = " ".join(debate.replies["1.opening.a"].reply.text.split()[:3])
    assert debate_list.search(first_words)[0]
