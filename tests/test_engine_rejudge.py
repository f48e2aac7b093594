"""A debate judged again: the opening that is made of a journal or a transcript, and what then goes on."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import puppets
import pytest
from debates import CONCEDE, DECLINE, answers, entries, one_agent, opening, played, saying
from journals import START, line, written
from speakers import Speaker

from debate_orchestrator.core import schedule, speech_rules, tally
from debate_orchestrator.core.costs import costs_of
from debate_orchestrator.core.events import Event, Opened, Rejected, Spoke
from debate_orchestrator.core.fold import CurrentState, apply, fold
from debate_orchestrator.core.state import DebateState
from debate_orchestrator.engine import rejudge
from debate_orchestrator.engine.loop import run_loop
from debate_orchestrator.providers import registry
from debate_orchestrator.reports import markdown
from debate_orchestrator.reports.model import build_report
from debate_orchestrator.storage.journal import JournalWriter, read
from debate_orchestrator.storage.paths import JOURNAL
from debate_orchestrator.util import resources
from debate_orchestrator.util.errors import BadJournal, BadSettings, OutOfTurn

NEW = ("speaker",)


def judged(path: Path, opened: Opened, speaker: Speaker) -> DebateState:
    """A judging of a journal, driven to its end: recordings speak, and `speaker` judges."""
    with JournalWriter.create(path, opened) as journal:
        debate = fold(journal.events)
        sides = fold([opened.with_settings(cast=opened.cast | {"judge": ("host",) * len(debate.judges)})])
        seats = registry.make_providers(CurrentState(sides)) | dict.fromkeys(debate.judges, speaker)
        return asyncio.run(run_loop(journal, CurrentState(debate), seats))


def speeches(debate: DebateState) -> list[tuple[str, str]]:
    turns = [turn for turn in schedule.settled(debate) if debate.shape(turn) is None]
    return [(turn.id, debate.reply(turn).text) for turn in turns]


def again(
    tmp_path: Path, events: list[Event], judges: tuple[str, ...] = NEW, **how: Any
) -> tuple[DebateState, Speaker]:
    """Those events, written down and judged again by a speaker."""
    old = tmp_path / f"old{JOURNAL}"
    written(old, events)
    speaker = Speaker(how.get("say", lambda brief: None), rounds=fold(events).rounds)
    opened = rejudge.of_journal(read(old).entries, str(old), judges, how.get("strictness"))[0]
    return judged(tmp_path / f"new{JOURNAL}", opened, speaker), speaker


def test_the_speeches_are_those_of_then(tmp_path: Path) -> None:
    """Every speech is given again, word for word, however often it was asked for; the new judges alone are asked."""
    first, *rest = played(rounds=2)
    spoke = next(event for event in rest if isinstance(event, Spoke))
    empty = spoke.reply.model_copy(update={"text": " "})
    events = [first, Rejected(turn=spoke.turn, complaints=("empty",), reply=empty), *rest]
    ballot = json.dumps(puppets.converging(rounds=2, conceded="a"))
    debate, speaker = again(tmp_path, events, say=lambda asked: ballot if asked.turn == "1.verdict.judge" else None)

    assert debate.complete
    assert speeches(debate) == speeches(fold(events))
    assert {asked.turn.rpartition(".")[2] for asked in speaker.briefs} == {"judge"}
    assert {line.seat for line in costs_of(debate).lines} <= {"judge"}


def test_a_judge_hears_what_a_live_one_hears(tmp_path: Path) -> None:
    """The brief of each ballot holds the speeches up to then, no later one, and nothing of the earlier ballots."""
    events = played(saying(_1_verdict_judge=puppets.ballot(3, 9, rounds=2, justification="OLD BALLOT")), rounds=2)
    _, speaker = again(tmp_path, events)
    texts = {one.turn: "".join(part for message in one.messages for part in message.parts) for one in speaker.briefs}

    assert "says in 1.rebuttal.b" in texts["1.verdict.judge"]
    assert "says in 2.constructive.a" not in texts["1.verdict.judge"]
    assert "says in 2.rebuttal.b" in texts["2.verdict.judge"]
    assert not [turn for turn, text in texts.items() if "OLD BALLOT" in text]


def test_the_course_is_kept(tmp_path: Path) -> None:
    """An intervention of then happens again, and what the panel decided is beside the new opening."""
    events = played(saying(_1_verdict_judge=puppets.converging(rounds=2)), rounds=2)
    debate, _ = again(tmp_path, events)
    second = tmp_path / f"new{JOURNAL}"
    opened = rejudge.of_journal(read(second).entries, str(second), ("speaker", "speaker"))[0]
    third = judged(tmp_path / f"third{JOURNAL}", opened, Speaker())
    root, head = (read(tmp_path / f"{name}{JOURNAL}").entries[-1].hash for name in ("old", "new"))
    recording, later = debate.opened.recording, third.opened.recording

    assert "1.divergence.b" in dict(speeches(debate)) and speeches(third) == speeches(debate)
    assert recording is not None and later is not None
    assert (recording.source, recording.interventions, recording.conceded) == (f"old{JOURNAL}", {1: ("b",)}, {})
    assert (recording.judges, recording.winner, recording.strength) == (("host",), "a", "narrow")
    assert recording.totals == {"a": 14.0, "b": 12.0}
    assert [(n, result.scores, result.winner) for n, result in recording.rounds.items()] == [
        (1, {"a": 7.0, "b": 6.0}, "a"),
        (2, {"a": 7.0, "b": 6.0}, "a"),
    ]
    assert [(one.digest, one.debated) for one in (recording, later)] == [(root, root), (head, root)]
    assert (later.judges, later.source, later.speakers) == (NEW, f"new{JOURNAL}", {"a": "host", "b": "host"})


def test_a_concession_by_ballot_is_kept(tmp_path: Path) -> None:
    """A debate that its ballots ended ends there again, and the report says why."""
    events = played(saying(_1_verdict_judge=puppets.ballot(conceded="b")), rounds=3)
    debate, _ = again(tmp_path, events)
    report = markdown.render(build_report(read(tmp_path / f"new{JOURNAL}").entries))

    assert debate.complete
    assert not [turn for turn, _ in speeches(debate) if turn.startswith("2.")]
    assert "It ended after round 1, where its judges held Researcher B to have given up." in report
    assert tally.verdict(debate) is not None and tally.conceded(debate) is None


def test_refusals_and_concessions_are_said_again(tmp_path: Path) -> None:
    """A refusal is a refusal again, and a concession in words ends the debate again."""
    debate, _ = again(tmp_path, played(saying(_1_opening_b=DECLINE, _1_rebuttal_a=f"Yes.\n\n{CONCEDE}"), rounds=2))

    assert debate.answers["1.opening.b"].kind == "declined"
    assert tally.conceded(debate) == "a"


@pytest.mark.parametrize(("before", "after"), [(1, 2), (3, 1), (3, 3)])
def test_panels_of_any_size(tmp_path: Path, before: int, after: int) -> None:
    """A debate may be judged again by another number of judges."""
    debate, _ = again(tmp_path, played(rounds=1, judges=before), ("speaker",) * after)
    recording = debate.opened.recording

    assert debate.complete and len(debate.judges) == after
    assert recording is not None and len(recording.judges) == before


def of_before(path: Path, say: puppets.Say) -> Path:
    """The journal of a debate of one round as it was written before the rules of hearing were on record."""
    first = opening(rounds=1).model_copy(update={"speech_rules": 1})
    debate, data, before = fold([first]), [first.model_dump(mode="json")], START
    while due := debate.due:
        for event in [event for turn in due for event in answers(debate, turn, say)]:
            debate = apply(debate, event)
            data.append(event.model_dump(mode="json"))
    del data[0]["speech_rules"]
    with path.open("wb") as file:
        for n, event in enumerate(data, start=1):
            file.write(made := line(n, before, event))
            before = json.loads(made)["hash"]
    return path


def test_an_older_journal_keeps_its_rules(tmp_path: Path) -> None:
    """Where a line in the middle conceded, and the marks of models were heard, they still do."""
    said = f"<think>Hm.</think> You are right.\n\n{CONCEDE}\n\nWell argued."
    path = of_before(tmp_path / f"old{JOURNAL}", saying(_1_opening_b=said))
    debate, entries = fold(read(path).events), read(path).entries
    assert (debate.complete, tally.conceded(debate), "1.verdict.judge" in debate.answers) == (True, "b", False)
    assert (
        "<think>Hm.</think> You are right." in speech_rules.visible(debate, schedule.turn(debate, "1.opening.b")).text
    )
    assert "conceded the debate" in markdown.render(build_report(entries))

    opened = rejudge.of_journal(entries, str(path), NEW)[0]
    again = judged(tmp_path / f"new{JOURNAL}", opened, Speaker(lambda brief: None, rounds=1))
    assert (again.complete, tally.conceded(again), again.opened.speech_rules) == (True, "b", 1)
    assert speeches(again) == speeches(debate)

    first, *rest = read(path).events
    assert isinstance(first, Opened)
    with pytest.raises(OutOfTurn):
        fold([first.model_copy(update={"speech_rules": 2}), *rest])


def test_what_weakens_the_speeches_is_told(tmp_path: Path) -> None:
    """One agent in every seat is told of in the new report too."""
    _, _ = again(tmp_path, one_agent(played(rounds=1)))
    told = markdown.render(build_report(read(tmp_path / f"new{JOURNAL}").entries))

    assert "In it one agent wore all hats" in told
    assert "the speeches are those on record" in told


def test_the_opening_is_new() -> None:
    """Seed, nonce and prompts are of today, and neither cap nor the moderator's paid reply is taken along."""
    events = played(rounds=1)
    first = events[0]
    assert isinstance(first, Opened)
    old = first.model_copy(update={"prompts": {}, "derived": _paid(events)}).with_settings(max_cost=1.0)
    opened = rejudge.of_journal(entries([old, *events[1:]]), "d/old.journal.jsonl", NEW)[0]

    assert (opened.setup.max_cost, opened.derived) == (None, ())
    assert opened.prompts == resources.digests("adversarial")
    assert opened.nonce != old.nonce and opened.seed != old.seed
    kept = {"cast": opened.cast, "max_cost": None}
    assert (opened.setup, opened.format) == (old.setup.model_copy(update=kept), old.format)
    assert opened.cast == {"a": ("replay:d/old.journal.jsonl",), "b": ("replay:d/old.journal.jsonl",), "judge": NEW}


def _paid(events: list[Event]) -> Any:
    return next(event.reply for event in events if isinstance(event, Spoke)).model_copy(update={"cost": 1.0})


def test_what_can_not_be_judged_so() -> None:
    """The strictness is one of the format's, a panel has one to nine judges, and the debate is finished."""
    finished = entries(played(rounds=1))
    assert rejudge.of_journal(finished, "old", NEW, "lenient")[0].setup.strictness == "lenient"
    for judges in ((), ("host",) * 10):
        with pytest.raises(BadSettings, match=r"1 to 9 judges[^$]*lenient or strict"):
            rejudge.of_journal(finished, "old", judges, "cruel")
    with pytest.raises(BadJournal, match=r"due: 2\.verdict\.judge.*`debate step x\.journal\.jsonl`"):
        rejudge.of_journal(entries(played(rounds=2, until="2.verdict.judge")), "x.journal.jsonl", NEW)


def test_where_the_report_goes(tmp_path: Path) -> None:
    """Beside its source, under the source's name and a number that is free, however often it was judged."""
    source = str(tmp_path / f"report{JOURNAL}")
    assert rejudge.output_path(source) == str(tmp_path / "report.judged.md")

    (tmp_path / f"report.judged{JOURNAL}").touch()
    (tmp_path / "report.judged-2.md").touch()
    (tmp_path / "report.judged-3.turns").mkdir()
    names = (f"report{JOURNAL}", "report.md", f"report.judged{JOURNAL}", f"report.judged-2{JOURNAL}")
    assert {rejudge.output_path(str(tmp_path / name)) for name in names} == {str(tmp_path / "report.judged-4.md")}
    assert rejudge.output_path("talk.md") == "talk.judged.md"
