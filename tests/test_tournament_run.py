"""Runs of tournaments: resumed, capped, judged by the reserve, and in folders that are not as they were left."""

from __future__ import annotations

import json
import re
import shutil
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
import small_tournaments
from conftest import Run
from corpus import for_each
from journals import EARLIER, reply_of, write_journal
from messages_server import Server
from small_tournaments import JUDGES, OPUS, runner, statuses

from debate_orchestrator.cli.tournament import running
from debate_orchestrator.cli.tournament.progress import Progress, status_line
from debate_orchestrator.core.events import (
    BriefSent,
    ContextFile,
    EarlierDebate,
    Event,
    Noted,
    Opened,
    Reassigned,
    Spoke,
    StructuredReplyGiven,
)
from debate_orchestrator.core.reply import Reply
from debate_orchestrator.engine.debate import continue_debate
from debate_orchestrator.formats import loader
from debate_orchestrator.providers.anthropic import Messages
from debate_orchestrator.storage.journal import JournalWriter, read
from debate_orchestrator.tournament import folder
from debate_orchestrator.tournament.cluster.database import VERSION
from debate_orchestrator.tournament.folder import Tournament
from debate_orchestrator.tournament.journal_rows import read_rows
from debate_orchestrator.tournament.ratings import rate
from debate_orchestrator.tournament.run import DebateStatus, TournamentRun
from debate_orchestrator.util.errors import BadFile, BadSettings

PAIR: dict[str, Any] = {
    "topics": 1,
    "pairs": [small_tournaments.spec_data()["models"][:2]],
    "sides": "fixed",
    "rehearse": False,
}


def asked_of(request: dict[str, Any], model: str = "") -> bool:
    """Whether a request is to that model, or else for a ballot."""
    return f"anthropic:{request['model']}" == model if model else "output_config" in request


def events_of(held: Tournament, place: int = 0) -> list[Event]:
    return read(held.journal_path(held.schedule[place].id)).events


def test_every_debate_has_a_journal(here: Path) -> None:
    """A run holds every debate of the schedule, each with the models, judges, first speaker and seed that stand
    there. Another run has nothing to do."""
    held = small_tournaments.tournament(topics=1, first="balanced")
    run = small_tournaments.run_tournament(held, concurrency=3)

    assert set(statuses(run)) == {"complete"}
    for debate in held.schedule:
        opened = read(held.journal_path(debate.id)).events[0]
        assert isinstance(opened, Opened) and opened.seed == debate.seed
        assert opened.cast["a"] == (f"rehearse:{debate.pro}",)
        assert opened.cast["judge"] == tuple(f"rehearse:{name}" for name in debate.judges)
        assert opened.settings.first == {"pro": "a", "con": "b"}[debate.first]
    assert runner(held).pending() == []


def test_changed_prompts_are_noted(here: Path) -> None:
    """A debate that continues with other prompts than it began with says so in its journal; one that begins does
    not."""
    held = small_tournaments.tournament(topics=1)
    first = held.schedule[0]
    opened = held.make_opened(first)
    began = opened.model_copy(update={"prompts": opened.prompts | {"gone.j2": "0" * 64}})
    JournalWriter.create(held.journal_path(first.id), began).close()
    small_tournaments.run_tournament(held)

    notes = [[event.detail for event in events_of(held, n) if isinstance(event, Noted)] for n in (0, 1)]
    assert notes == [["gone.j2 gone"], []]


def test_a_judge_who_fails_is_replaced(server: Server) -> None:
    """A judge whose replies can't be used gives way to one of the reserve, the panel is whole, and no debater is asked
    twice."""
    held = small_tournaments.tournament(**PAIR)
    bad = held.schedule[0].judges[0]
    server.say = lambda request: "no ballot" if asked_of(request, bad) else small_tournaments.replied(request)
    run = small_tournaments.run_tournament(held)
    events = events_of(held)
    recast = [event for event in events if isinstance(event, Reassigned)]
    asked = Counter(event.turn_id for event in events if isinstance(event, BriefSent))

    assert statuses(run) == ["complete"]
    assert [event.specs for event in recast] == [(held.schedule[0].reserve[0], held.schedule[0].judges[1])]
    assert sum(isinstance(event, StructuredReplyGiven) for event in events) == 2
    assert {turn: count for turn, count in asked.items() if count > 1} == {"final.verdict.judge-1": 5}


def test_a_judge_whose_server_refuses_is_replaced(server: Server) -> None:
    """So does one whose call is refused for good; where the reserve is used up, the transcript stays, and a later run
    pays for the ballots alone."""
    held = small_tournaments.tournament(**PAIR)
    refused = {"status": 404, "message": "no such model"}
    server.problem = lambda request, n: refused if asked_of(request) else None
    run = small_tournaments.run_tournament(held)
    speeches = sum(isinstance(event, Spoke) for event in events_of(held))
    server.problem = lambda request, n: None
    before = len(server.requests)
    again = small_tournaments.run_tournament(held)

    assert statuses(run) == ["stopped"] and "no such model" in run.statuses[held.schedule[0].id].why[0]
    assert statuses(again) == ["complete"] and speeches == 6 and len(server.requests) - before == 2


def test_ballots_are_asked_for_again(server: Server) -> None:
    """A debate of which no ballot can be used stays undone; once judges answer, `retry_undecided` and a plain run
    complete it without another speech."""
    held = small_tournaments.tournament(**PAIR, judges={"from": JUDGES[:1], "panel": 1})
    server.say = lambda request: "no ballot" if asked_of(request) else small_tournaments.replied(request)
    run = small_tournaments.run_tournament(held)
    server.say = small_tournaments.replied
    again = small_tournaments.run_tournament(held, retry_undecided=True)

    assert statuses(run) == ["stopped"] and statuses(again) == ["complete"]
    assert sum(isinstance(event, Spoke) for event in events_of(held)) == 6


@pytest.mark.slow
def test_a_cap_over_all_debates(server: Server) -> None:
    """The cap holds for all debates together, debates that have begun come before new ones, and a higher cap goes on
    without paying twice. What was paid for a debate whose journal can't be used counts too, or what it may have been
    where a line can't be read."""
    held = small_tournaments.tournament(topics=2, rehearse=False, max_cost=0.05)
    run = small_tournaments.run_tournament(held, concurrency=2)
    spent = sum(debate_status.cost for debate_status in run.statuses.values())
    begun = sum(debate_status.cost > 0 for debate_status in run.statuses.values())
    journals = {path: path.read_bytes() for path in Path(held.folder, "debates").glob("*.journal.jsonl")}
    for path, data in journals.items():
        path.write_bytes(data.replace(b'"at":"2', b'"at":"1', 1))
    assert small_tournaments.runner(held).budget.committed_cost() == pytest.approx(spent)
    for n, path in enumerate(journals):
        path.write_bytes(b"\0" * 500 + b"\n" * (n % 2))
    unread = small_tournaments.runner(held)
    assert unread.budget.committed_cost() > spent
    progress = Progress().numbers(unread)
    assert status_line(progress).split(" · ")[2] == f"about ${progress.usd:.2f} of $0.05"
    assert sum("Its calls may have cost $0." in one.why[-1] for one in unread.statuses.values() if one.why) == begun
    whys = [why for one in unread.statuses.values() for why in one.why]
    assert any(
        "is not a debate's journal. Try: move it away, and the whole debate is held again" in why for why in whys
    )
    for path, data in journals.items():
        path.write_bytes(data)
    raised = folder.write(held.folder, held.spec.model_copy(update={"max_cost": None}))
    again = small_tournaments.run_tournament(raised)

    assert 0 < spent <= 0.05 and begun <= 3
    assert any("exceeds the cap of $0.05" in why for one in run.statuses.values() for why in one.why)
    assert set(statuses(again)) == {"complete"}
    calls = sum(isinstance(event, BriefSent) for n in range(len(held.schedule)) for event in events_of(raised, n))
    assert calls == len(held.schedule) * 8 == len(server.requests)


def test_limits_hold_for_all_debates(server: Server) -> None:
    """No more calls are under way than a limit permits, whatever the number of debates."""
    server.whole = 0.05
    held = small_tournaments.tournament(topics=1, rehearse=False, limits={"anthropic": {"concurrency": 3}})
    small_tournaments.run_tournament(held, concurrency=12)

    assert server.most_at_once == 3


@pytest.mark.slow
def test_a_refusal_is_shared(server: Server) -> None:
    """After a refusal for load, no debate calls that model until the provider's wait is over."""
    server.problem = lambda request, n: {"status": 429, "headers": {"retry-after": "1"}} if n < 8 else None
    held = small_tournaments.tournament(topics=2, rehearse=False)
    run = small_tournaments.run_tournament(held, concurrency=12)
    failed = sum(getattr(event, "kind", "") == "call_failed" for n in range(12) for event in events_of(held, n))

    assert set(statuses(run)) == {"complete"} and failed == run.limiters.throttled == 8


def test_a_model_that_is_gone_is_not_asked_for_ever(server: Server) -> None:
    """After a few debates in which a model fails for good, no more are begun with it, and the others are held."""
    server.problem = lambda request, n: {"status": 404} if asked_of(request, OPUS) else None
    held = small_tournaments.tournament(topics=2, rehearse=False)
    run = small_tournaments.run_tournament(held, concurrency=1)
    without = [run.statuses[one.id].status for one in held.schedule if OPUS not in (one.pro, one.con)]

    assert set(without) == {"complete"} and sum(asked_of(request, OPUS) for request in server.requests) <= 4
    assert any("no more are begun" in why for one in run.statuses.values() for why in one.why)


def test_journals_that_are_not_as_they_were(here: Path) -> None:
    """A damaged journal and one of another tournament are reported and left as they are; a half copied one is gone on
    with, one that another process holds is left to it, and all others are held."""
    held, other = small_tournaments.tournament(topics=1), small_tournaments.tournament("other", topics=1, tag="other")
    small_tournaments.run_tournament(held)
    small_tournaments.run_tournament(other)
    paths = [Path(held.journal_path(debate.id)) for debate in held.schedule]
    lines = paths[0].read_bytes().splitlines(keepends=True)
    paths[0].write_bytes(b"".join([*lines[:3], lines[3].replace(b"brief_sent", b"taken"), *lines[4:]]))
    paths[1].write_bytes(Path(other.journal_path(other.schedule[1].id)).read_bytes())
    paths[2].write_bytes(b"".join(lines[:0]) + paths[2].read_bytes()[:-700])
    paths[3].write_bytes(paths[3].read_bytes()[:500])
    paths[4].write_bytes(b"".join(paths[4].read_bytes().splitlines(keepends=True)[:5]))
    with JournalWriter(paths[4]):
        run = small_tournaments.run_tournament(held)

    assert statuses(run)[:5] == ["unusable", "unusable", "complete", "complete", "locked"]
    assert set(statuses(run)[5:]) == {"complete"}
    assert "was changed" in run.statuses[held.schedule[0].id].why[0]
    assert "another debate than the schedule's" in run.statuses[held.schedule[1].id].why[0]


@pytest.mark.slow
def test_a_template_that_fails_stops_its_own_debates(debate: Run, here: Path) -> None:
    """A prompt that can't be made on one topic stops the debates on it, and the closing lines name one of them; all
    others are held, at once and where the run goes on."""
    loader.copy_format("panel", "mine", "")
    with Path("mine/rebuttal.md.j2").open("a", encoding="utf-8") as template:
        template.write("{% if 'Motion 0' in positions|string %}{{ 1 // (rounds - rounds) }}{% endif %}\n")
    held = small_tournaments.tournament(topics=2, format="./mine")
    run = small_tournaments.run_tournament(held, concurrency=1)
    failed = [one for one in held.schedule if one.topic_id == "t0"]
    Path(held.journal_path(held.schedule[-1].id)).unlink()
    ran = debate("tournament", "resume", held.folder, "--trust", "--no-reports", "--json")

    for found in (statuses(run), statuses(runner(held))):
        assert Counter(found)["complete"] == len(held.schedule) - len(failed)
    assert all(run.statuses[one.id].status == "unusable" for one in failed)
    assert ran.code == 4 and list(ran.json["problems"]) == [one.id for one in failed]
    assert "the template can't be rendered" in ran.err and failed[0].id in ran.err, ran.err


def test_reports_of_debates_are_written_where_they_are_not_up_to_date(debate: Run, here: Path) -> None:
    """A file that is not a report under the name of a debate's report is told of and left; the others are written. A
    report of a journal that went on is made again, an edited one is kept aside, and no other is touched."""
    held = small_tournaments.tournament(topics=1)
    in_the_way = Path(held.folder, "debates", f"{held.schedule[0].id}.md")
    in_the_way.write_text("mine", encoding="utf-8")
    ran = debate("tournament", "resume", held.folder)

    assert ran.code == 2 and f"{in_the_way}' is not a report" in ran.err, ran.err
    assert len(list(Path(held.folder, "debates").glob("*.html"))) == len(held.schedule) - 1
    assert in_the_way.read_text(encoding="utf-8") == "mine" and "6 debates complete" in ran.out

    in_the_way.unlink()
    assert debate("tournament", "resume", held.folder).code == 0
    pages = {path: (path.read_bytes(), path.stat().st_mtime_ns) for path in Path(held.folder, "debates").glob("*.html")}
    for scheduled in held.schedule[:2]:
        journal = Path(held.journal_path(scheduled.id))
        lines = journal.read_bytes()
        journal.write_bytes(b"".join(lines.splitlines(keepends=True)[:8]))
        assert debate("report", str(journal)).code == 0
        journal.write_bytes(lines)
    edited = Path(held.folder, "debates", f"{held.schedule[1].id}.html")
    edited.write_text(edited.read_text(encoding="utf-8").replace("<title>", "<title>My "), encoding="utf-8")
    Path(held.journal_path(held.schedule[2].id).replace(".journal.jsonl", ".md")).unlink()
    again = debate("tournament", "resume", held.folder)

    assert len(list(Path(held.folder, "debates").glob("*[0-9a-f].md"))) == len(held.schedule)
    assert {path: path.read_bytes() for path in pages} == {path: data for path, (data, _) in pages.items()}
    assert sum(path.stat().st_mtime_ns == written for path, (_, written) in pages.items()) == len(pages) - 2
    assert again.code == 0 and again.err.count("is kept as") == 1 and edited.with_suffix(".edited.html").exists()


def test_a_strangers_seat_is_refused(debate: Run, here: Path) -> None:
    """No one from outside the tournament is put into a seat of a debate of its own, and a journal in which that was
    done is not continued. That holds for judges of its pool who may not judge it, since they debate in it."""
    judges_spec = {"from": [OPUS, *JUDGES], "panel": 2}
    held = small_tournaments.tournament(**PAIR | {"rehearse": True, "judges": judges_spec})
    own, copy = Path(held.journal_path(held.schedule[0].id)), "copy.journal.jsonl"
    with JournalWriter.create(own, held.make_opened(held.schedule[0])):
        pass
    shutil.copy(own, copy)
    seated = [
        debate("resume", path, *seat)
        for path in (str(own), copy)
        for seat in (("--a", "rehearse"), ("--judge", "rehearse"))
    ]
    judges = [flag for name in held.schedule[0].judges for flag in ("--judge", held.spec.model_named(name).spec)]
    assert [ran.code for ran in seated] == [2, 2, 0, 2], [ran.err for ran in seated]  # the last is complete
    assert "would be left out of the tournament in held. Try: a judge of its pool" in seated[1].err
    debater = held.spec.model_named(held.schedule[0].pro).spec
    refused = debate("resume", str(own), "--judge", debater, "--judge", debater)
    assert refused.code == 2 and "a judge of its pool who may judge this debate" in refused.err, refused.err
    with pytest.raises(BadSettings, match=r"The models of .* are those of the tournament in held"):
        continue_debate(own, lambda *_: None, lambda state: [Reassigned(seat="judge", specs=("rehearse",))])
    assert len(read(own).events) == 1 and debate("resume", str(own), *judges).code == 0
    own.unlink()
    with JournalWriter.create(held.journal_path(held.schedule[0].id), held.make_opened(held.schedule[0])) as journal:
        journal.append(Reassigned(seat="judge", specs=("command:touch marker", "rehearse:anthropic:claude-opus-5")))
    run = small_tournaments.run_tournament(held)

    assert statuses(run) == ["unusable"] and not Path("marker").exists()
    gave = "gave a seat to a model that the schedule does not let judge that debate."
    assert gave in run.statuses[held.schedule[0].id].why[0]


def test_programs_with_other_arguments_are_other_models(here: Path) -> None:
    """They are told apart by their names in the tournament, and by a number in a mere folder of journals, although
    reports show no arguments. A note says which number is whose, save of journals that are left out."""
    rules = {**PAIR, "pairs": "round robin", "sides": "swapped", "rehearse": True}
    for name in ("other", "held"):
        models = [{"name": word, "spec": f"command:cat {word} {name}"} for word in ("strong", "weak")]
        held = small_tournaments.tournament(name, **{**rules, "models": models})
        small_tournaments.run_tournament(held)
    left_out = next(Path("other", "debates").glob("*.jsonl"))
    shutil.copy(left_out, Path(held.folder, "debates", "0.journal.jsonl"))
    named = read_rows(held.folder)
    Path(held.folder, "debates", "0.journal.jsonl").unlink()
    assert not any("are numbered" in note for note in named.notes)
    named, bare = (read_rows(name) for name in (held.folder, str(Path(held.folder, "debates"))))

    assert {row.pro for row in named.debates} == {"stand-in for strong", "stand-in for weak"}
    assert {row.pro for row in bare.debates} == {"stand-in for command:cat", "stand-in for command:cat (2)"}
    (note,) = (note for note in bare.notes if "different arguments or paths are numbered" in note)
    assert "“command:cat” (first in " in note and "“command:cat (2)” (first in " in note
    assert not any("are numbered" in note for note in named.notes)


def test_names_of_a_schedule(here: Path) -> None:
    """A spec may stand twice in a tournament: each seat goes by the name that the schedule gives it."""
    models = [{"name": name, "spec": OPUS} for name in ("calm", "bold")]
    twins = [{"name": name, "spec": OPUS} for name in ("jo", "al")]
    judges = {"from": twins, "panel": 2, "exclude": "none"}
    changes = {"models": models, "judges": judges, "pairs": "round robin", "sides": "swapped", "rehearse": True}
    held = small_tournaments.tournament(**PAIR | changes)
    run = small_tournaments.run_tournament(held)
    rows = read_rows(held.folder)

    assert {status.winner for status in run.statuses.values()} == {None}
    assert {(row.pro, row.con) for row in rows.debates} == {
        ("stand-in for calm", "stand-in for bold"),
        ("stand-in for bold", "stand-in for calm"),
    }
    judges_scheduled = {f"stand-in for {judge}" for scheduled in held.schedule for judge in scheduled.judges}
    assert {row.judge for row in rows.ballots} == judges_scheduled
    assert {row.winner for row in rows.debates} == {None}  # only stand-ins judged


@for_each(
    [
        ("{", "not valid JSON"),
        ('{"schema": 2}', "has schema 2"),
        ('{"schema": 1, "imported": {}}', "imported results"),
        ('{"schema": 1, "tag": 5}', "tag: 5 should be text"),
    ],
    "text",
    "expected",
)
def test_folders_that_are_not_as_they_were(here: Path, text: str, expected: str) -> None:
    """A folder whose spec was changed is refused with what to do."""
    (here / "tournament.json").write_text(text)
    with pytest.raises(BadFile, match=expected):
        folder.load(str(here))


def test_a_folder_of_an_earlier_version(here: Path) -> None:
    """Keys that had other names are read, so that the debates of such a tournament can be resumed."""
    Path("held").mkdir()
    Path("held/tournament.json").write_bytes((EARLIER / "night-trains.tournament.json").read_bytes())
    held = folder.load("held")
    assert (held.spec.lengths["opening"].max_words, held.spec.limits["anthropic"].concurrency) == (450, 100)
    assert held.spec.settings["until_no_new_ground"]
    # By which its consent is kept, and a database knows it: no name of today is in it.
    assert (VERSION, folder.identity(held.spec)) == (13, "e316eb5a575a1537")
    assert [debate.id for debate in held.schedule] == ["night-trains-9b695f74e2a93346", "night-trains-ba473d98e35da9d6"]
    spec = Path("held/tournament.json")
    spec.write_text(spec.read_text().replace('"at_once": 100', '"concurrency": 5, "at_once": 100'))
    with pytest.raises(BadFile, match="'at_once' is not a key here"):
        folder.load("held")


def test_a_journal_belongs_by_what_its_schedule_decides(here: Path) -> None:
    """Debates that an earlier version opened, by the rules that it had, are not held again and count. One that was
    opened otherwise in anything that the schedule decides is of another debate. Where none is left, no stand-in is
    said to have spoken."""
    held = small_tournaments.tournament(topics=1, tag="own")
    small_tournaments.run_tournament(held)
    for n, debate in enumerate(held.schedule):
        opened, *rest = events_of(held, n)
        earlier = {"version": "0.1.9", "speech_rules": 1, "mark_rules": 1, "mirror_order_only": True}
        Path(held.journal_path(debate.id)).unlink()
        write_journal(Path(held.journal_path(debate.id)), [opened.model_copy(update=earlier), *rest])
    assert set(statuses(runner(held))) == {"complete"} and len(read_rows("held").debates) == len(held.schedule)

    opened = held.make_opened(held.schedule[0])
    for name, value in {
        "settings": opened.settings.model_copy(update={"rounds": 2}),
        "format": opened.format.model_copy(update={"title": "x"}),
        "seed": opened.seed + 1,
        "context": (ContextFile(name="x", text="x"),),
        "templates": {"x": "x"},
        "moderator_replies": (reply_of("x"),),
        "earlier_debate": EarlierDebate(source="x", digest="0" * 64),
    }.items():
        with pytest.raises(BadFile, match="another debate than the schedule's"):
            held.must_belong(held.schedule[0], [opened.model_copy(update={name: value})])
    for debate in held.schedule:
        Path(held.journal_path(debate.id)).unlink()
    write_journal(Path(held.journal_path(held.schedule[0].id)), [opened.model_copy(update={"seed": 1})])
    assert rate(read_rows("held")).why_unranked == "No model is ranked: no debate between two models is decided."


@pytest.mark.slow
def test_a_folder_is_enough_elsewhere(here: Path) -> None:
    """The folder holds all that a run needs: format, prompts' digests and topics. A format of one's own may be gone."""
    loader.copy_format("panel", "mine", "")
    held = small_tournaments.tournament(topics=1, format="./mine")
    shutil.rmtree("mine")
    loaded = folder.load("held")

    assert loaded.schedule == held.schedule and set(statuses(small_tournaments.run_tournament(loaded))) == {"complete"}
    assert set(json.loads(Path("held/tournament.json").read_text())) >= {"tag", "models", "prompts", "version", "rules"}


def test_a_mistake_of_the_program_stops_one_debate(
    debate: Run, server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An error that is not a fault of a server stops the debate that it came up in, with its kind and its place, and
    the others are held; it is not tried again in the same run, whose exit code tells of it, and the next one goes
    on."""
    held = small_tournaments.tournament(topics=1, rehearse=False)
    reply, failing = Messages.reply, [1]

    async def fails(self: Messages, *terms: Any) -> Reply:
        if failing:
            failing.clear()
            raise LookupError("what a server said")
        return await reply(self, *terms)

    monkeypatch.setattr(Messages, "reply", fails)
    ran = debate("tournament", "resume", held.folder, "--no-reports", "--json")
    run = runner(held)

    assert Counter(statuses(run)) == {"complete": len(held.schedule) - 1, "stopped": 1}
    assert ran.code == 4 and all(why in ran.err for (why,) in ran.json["problems"].values())
    assert re.search(r"An error in this program stopped it: LookupError in test_tournament_run.py, line \d+\.", ran.err)
    assert set(statuses(small_tournaments.run_tournament(held))) == {"complete"}


def test_all_problems_of_a_debate_are_reported(here: Path) -> None:
    """The reason why debates are left is reported whole, with what to try, and once for all that share it."""
    run = TournamentRun(small_tournaments.tournament(topics=1))
    ids = [debate.id for debate in run.tournament.schedule]
    shared = DebateStatus("stopped", why=("The list can't be read.", "A batch is under way. Try: resume later."))
    other = DebateStatus("stopped", why=("The list can't be read.", "Another thing."))
    run.statuses = {**dict.fromkeys(ids, shared), ids[0]: other}
    problems = running._leftover_error(run, len(ids), "all is saved. Go on.").problems

    count = len(ids) - 1
    assert problems == [
        f"The list can't be read. A batch is under way. Try: resume later. ({count} debates, such as {ids[1]})",
        f"{ids[0]}: The list can't be read. Another thing.",
        f"{len(ids)} debates left. All is saved. Go on.",
    ]
