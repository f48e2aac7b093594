"""A debate that was reopened: what it holds of turns that are off the schedule now stays usable."""

from __future__ import annotations

from pathlib import Path

from debate_orchestrator.core import rapporteur
from debate_orchestrator.core.events import CallIntended, Rejected, Reopened
from debate_orchestrator.core.fold import apply, fold
from debate_orchestrator.core.reply import Reply
from debate_orchestrator.engine import start
from debate_orchestrator.engine.debate import audience_question
from debate_orchestrator.formats import loader
from debate_orchestrator.prompting import replies
from debate_orchestrator.prompting.briefs import brief
from debate_orchestrator.providers import rehearse
from debate_orchestrator.reports.model import build_report
from debate_orchestrator.setup.answers import make_settings
from debate_orchestrator.storage.journal import JournalWriter, read
from debate_orchestrator.web import debate_list


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
            for event in (CallIntended(turn_id=turn.id, brief_digest="d", spec="host"), outcome):
                debate = apply(debate, event)
                journal.append(event)
        journal.append(Reopened())
    reopened = apply(debate, Reopened())

    assert (left := set(debate.turns) - set(reopened.turns)) and left <= set(reopened.replies)
    assert rapporteur.decision_brief_problems(reopened) == rapporteur.decision_brief_problems(debate)
    assert rapporteur.unfixed_problems(reopened) == rapporteur.unfixed_problems(debate)
    assert all(brief(reopened, turn) for turn in reopened.turns.values())
    assert audience_question(reopened, "Why?").question == "Why?"
    assert build_report(read(here / "o.journal.jsonl").entries).status == "paused"
    first_words = " ".join(debate.replies["1.opening.a"].reply.text.split()[:3])
    assert debate_list.search(first_words)[0]
