"""Rows of a folder of journals: what each counts for, which is left out, and what a note says of it."""

from __future__ import annotations

import os
import shutil
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
import scripted_debates
import small_tournaments
from conftest import Run
from core import folding
from debates import opened_event, play_events
from journals import write_journal
from messages_server import Server
from small_tournaments import HAIKU, OPUS, SONNET

from debate_orchestrator.core.events import EndedEarly, Noted, Opened, Reassigned, Spoke
from debate_orchestrator.core.fold import apply, fold
from debate_orchestrator.core.reply import Reply
from debate_orchestrator.engine import rejudge
from debate_orchestrator.formats import loader
from debate_orchestrator.storage.journal import JournalWriter, read
from debate_orchestrator.tournament import rows as rows_module
from debate_orchestrator.tournament.journal_rows import read_rows
from debate_orchestrator.tournament.model_names import names_by_spec, numbering_notes
from debate_orchestrator.tournament.rows import Rows
from debate_orchestrator.util.errors import BadFile


@pytest.fixture(autouse=True)
def x(here: Path) -> None:
    """A folder of journals."""
    Path("x").mkdir()


def test_who_spoke_first_is_said_of_turns_alone(here: Path) -> None:
    """In a format in which both sides speak at once neither is first."""
    write_journal(Path("x/1.journal.jsonl"), scripted_debates.events("question"))
    write_journal(Path("x/2.journal.jsonl"), play_events(rounds=1))
    assert [row.first for row in read_rows("x").debates] == [None, "pro"]


def test_a_format_that_decides_otherwise_than_by_final_votes_is_noted(here: Path) -> None:
    """So are labels of several judges that stand for winners; a debate without a verdict is not."""
    opened, *others = play_events(rounds=1)
    formats = [opened.format.model_copy(update={"decided_by": by}) for by in ("votes", "swing")]
    plain, swing = (opened.model_copy(update={"format": made, "nonce": made.decided_by * 4}) for made in formats)
    for name, events in (
        ("1", [plain, *others]),
        ("2", [swing, *others]),
        ("3", scripted_debates.events("claim", panel=2)),
        ("4", scripted_debates.events("claim")),
        ("5", scripted_debates.events("claim", panel=2, until="1.argument.a", rounds=2)),
    ):
        write_journal(Path(f"x/{name}.journal.jsonl"), events)
    what = "In 2 debates the format decides by votes gained or by labels, not by the final votes"
    effect = "strengths, ranks and tables of votes go by the final votes."
    assert f"{what} (x/2.journal.jsonl is the first): {effect}" in read_rows("x").notes


def test_a_seat_counts_for_those_who_took_its_turns(here: Path) -> None:
    """A debate counts for the models that spoke and voted in it: not for one that got a seat after its last turn, and a
    side that two models spoke for counts for neither. A note says so, and where the user ended the rounds early."""
    *spoken, ballot, record = play_events(rounds=2, cast={"a": ("one",), "b": ("two",), "judge": ("three",)})
    given_away = [*spoken, Reassigned(seat="a", specs=("four",)), Reassigned(seat="judge", specs=("five",))]
    taken_over = [_by("four", event) if event.turn_id == "2.rebuttal.a" else event for event in spoken[1:]]
    write_journal(Path("x/1.journal.jsonl"), [*given_away, _by("five", ballot), _by("five", record)])
    other = spoken[0].model_copy(update={"nonce": "f" * 16})  # another debate, and no copy of the first
    write_journal(Path("x/2.journal.jsonl"), [other, *taken_over, ballot, record])
    first = spoken[0].model_copy(update={"nonce": "0" * 16})
    Path("y").mkdir()
    write_journal(Path("y/3.journal.jsonl"), [first, *play_events(rounds=2, until="1.rebuttal.a")[1:], EndedEarly()])
    read = read_rows("x")

    ended = "In 1 debate the user ended the rounds early (y/3.journal.jsonl is the first): it is shorter than planned."
    assert ended in read_rows("y").notes and not any("ended the rounds" in note for note in read.notes)
    assert [(row.pro, row.con) for row in read.debates] == [("one", "two"), (None, "two")]
    final = {row.debate: row.judge for row in read.ballots if row.final}
    assert final == {"1": "five", "2": "three"} and {row.judge for row in read.ballots if not row.final} == {"three"}
    assert (
        "In 1 debate a model took over a side from another (x/2.journal.jsonl is the first): that side counts for no "
        "model." in read.notes
    )


def test_the_rejudging_of_a_debate_without_a_judge_decides_it(here: Path) -> None:
    """A conversation counts with the votes of its first re-judging, which a note says; later ones are repeats, and
    those of stand-ins count nowhere."""
    first = opened_event(rounds=1, cast={"a": ("one",), "b": ("two",)})
    opened = first.model_copy(update={"format": loader.load("conversation")})
    speeches = [_by(spec, event) for spec, event in zip(("one", "two"), _speeches(opened), strict=True)]
    write_journal(Path("x/c.journal.jsonl"), [opened, *speeches])
    # the order of time is not that of their names
    for file, judge, winner in (("2", "rehearse:m", "a"), ("1", "first", "b"), ("0", "second", "a")):
        _judge_again(f"x/{file}.journal.jsonl", "x/c.journal.jsonl", judge, winner)
    rows = read_rows("x")

    assert [(row.pro, row.con, row.winner) for row in rows.debates] == [("one", "two", "con")]
    assert {(row.judge, row.judging_number) for row in rows.ballots} == {("first", 0), ("second", 1)}
    decided = "decided by the re-judging that was begun first: x/1.journal.jsonl of x/c.journal.jsonl."
    assert {note for note in rows.notes if "judg" in note} == {
        "A journal is left out: x/2.journal.jsonl: stand-ins argued the debate, or judge it again.",
        f"1 debate without a judge {decided}",
        "In 1 debate without a judge a later re-judging has another winner than the first: x/0.journal.jsonl of "
        "x/c.journal.jsonl.",
    }


def _judge_again(path: str, source: str, judge: str, winner: str = "a") -> list[Any]:
    """Judges a debate again; the events of its journal. Without a `winner` its ballots are any that fit."""
    ballots = {"final.verdict.judge": {"winner": winner}} if winner else {}
    entries = read(source).entries
    rejudging, spoken = rejudge.opened_from_journal(entries, source, (judge,))
    said = {entry.event.turn_id: entry.event for entry in entries if isinstance(entry.event, Spoke)}
    state, events = fold([rejudging, *spoken]), [rejudging, *spoken]
    while state.due:
        for turn in state.due:
            for event in folding.events(state, turn, ballots):
                events.append(said.get(turn.id) or _by(judge, event))
                state = apply(state, events[-1])
    write_journal(Path(path), events)
    return events


def _speeches(opened: Opened) -> list[Spoke]:
    turns = ("1.argument.a", "1.argument.b")
    return [Spoke(turn_id=turn, reply=Reply(text=f"In {turn}.", brief_digest="0" * 64, spec="x")) for turn in turns]


def test_journals_of_one_name_are_debates_of_their_own(debate: Run, here: Path) -> None:
    """Debates go by their paths in the folder, whatever bytes are in these, so that no two are taken for one. A copy
    of a journal counts once, also if it was continued: the complete one, or else the longest."""
    names = (b"x/alice/run", b"x/bob/run", b"x/bob/\xff\xfe", rb"x/bob/\xff\xfe")
    for n, folder_name in enumerate(map(os.fsdecode, names)):
        Path(folder_name).mkdir(parents=True)
        events = play_events(rounds=1, cast={"a": ("one",), "b": (f"m{n}",), "judge": ("three",)})
        write_journal(Path(folder_name, "debate.journal.jsonl"), events)
    copied = Path("x/alice/run/debate.journal.jsonl").read_text(encoding="utf-8").splitlines(keepends=True)
    Path("x/0.journal.jsonl").write_text("".join(copied[:-2]), encoding="utf-8")  # continued below
    Path("x/1.journal.jsonl").write_text("".join(copied[:-1]), encoding="utf-8")
    rows = read_rows("x")

    ids = ["alice/run/debate", "bob/run/debate", "bob/\\xff\\xfe/debate", r"bob/\\xff\\xfe/debate"]
    assert [(row.id, row.con) for row in rows.debates] == list(zip(ids, ("m0", "m1", "m2", "m3"), strict=True))
    assert Counter(row.debate for row in rows.ballots) == dict.fromkeys(ids, 2)
    copies = [note for note in rows.notes if "is a copy of x/alice/run/debate.journal.jsonl." in note]
    assert len(copies) == 2 and debate("tournament", "report", "x").code == 0
    lines = rows_module.dump(rows).splitlines()
    for text in ("\n".join([*lines, lines[0]]), "\n".join(lines[1:])):
        with pytest.raises(BadFile, match=r"rows.jsonl: (2 debates have the id|There are .* on the debate) 'alice/run"):
            rows_module.load(text, "rows.jsonl")

    with JournalWriter("x/1.journal.jsonl") as writer:  # without the last line of the others
        writer.append(Noted(note="one agent"))
    note = f"x/1.journal.jsonl differs after line {len(copied) - 1} from x/alice/run/debate.journal.jsonl."
    assert f"A journal is left out: {note}" in read_rows("x").notes


def test_votes_on_other_speeches_are_no_repeats(here: Path) -> None:
    """A journal that says that it judges a debate again counts as that only if it has its speeches and is complete; of
    each other a note says why it is left out."""
    events = play_events(rounds=1, cast={"a": ("one",), "b": ("two",), "judge": ("three",)})
    write_journal(Path("x/1.journal.jsonl"), events)
    again = Path("x/again.journal.jsonl")
    rejudging = _judge_again(str(again), "x/1.journal.jsonl", "four")
    assert {row.judging_number for row in read_rows("x").ballots} == {0, 1}
    with JournalWriter("x/1.journal.jsonl") as writer:  # it was judged before this line
        writer.append(Noted(note="one agent"))
    assert {row.judging_number for row in read_rows("x").ballots} == {0, 1}

    forged = [
        event.model_copy(update={"reply": event.reply.model_copy(update={"text": "Other words."})})
        if isinstance(event, Spoke)
        else event
        for event in rejudging
    ]
    for changed, why in (
        (forged, "its speeches are not those of x/1.journal.jsonl."),
        (rejudging[:-1], "its re-judging is not finished."),
    ):
        again.unlink()
        write_journal(again, changed)
        rows = read_rows("x")
        assert {row.judging_number for row in rows.ballots} == {0}
        assert f"A journal is left out: x/again.journal.jsonl: {why}" in rows.notes
    Path("x/1.journal.jsonl").rename("1.journal.jsonl")
    write_journal(Path("x/2.journal.jsonl"), play_events(rounds=1))
    problem = "the debate that it judges again is not in this folder, lacks lines that were judged, or is left out."
    assert f"A journal is left out: x/again.journal.jsonl: {problem}" in read_rows("x").notes


def test_who_judges_again_goes_by_the_judges_name(server: Server) -> None:
    """A spec that takes part as a judge and as a debater, each under a name of its own, judges again as that judge,
    whether it is on the panel of that debate or not."""
    judges = [{"name": "strict", "spec": SONNET}, {"name": "mild", "spec": HAIKU}]
    models = [OPUS, "anthropic:claude-opus-5", SONNET, HAIKU]
    values: dict[str, Any] = {"models": models, "pairs": [models[:2]], "sides": "fixed", "rehearse": False}
    held = small_tournaments.tournament(topics=1, judges={"from": judges, "panel": 1}, **values)
    small_tournaments.run_tournament(held)
    for n, judge in enumerate((SONNET, HAIKU)):
        _judge_again(f"held/debates/{n}.journal.jsonl", held.journal_path(held.schedule[0].id), judge, winner="")

    again = {(row.judge, row.judging_number) for row in read_rows("held").ballots if row.judging_number}
    assert again == {("strict", 1), ("mild", 2)}


@pytest.mark.parametrize("place", ["a", "judge", "topic"])
def test_a_name_that_no_table_takes(debate: Run, place: str) -> None:
    """A journal with one is left out, which is said, and the others count."""
    Path("t").mkdir()
    sides = {"a": ("one",), "b": ("two",), "judge": ("three", "three")}
    for n, name in enumerate(("short", "x" * 1_001), start=1):
        cast = {**sides, place: (name,) * len(sides[place])} if place in sides else sides
        events = scripted_debates.events("panel", {}, panel=2, cast=cast, topic=name if place == "topic" else "t")
        write_journal(Path(f"t/{n}.journal.jsonl"), events)
    ran = debate("tournament", "rate", "t")

    assert ran.code == 0 and "A journal is left out: t/2.journal.jsonl: " in ran.err, ran.err
    assert "at most 1000 characters" in ran.err and [row.id for row in read_rows("t").debates] == ["1"]


def test_journals_whose_names_differ_by_a_key_alone(debate: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """The tables, which show no key, would have two debates of one name: one is left out, which is said."""
    keys = ["sk-fakefakefakefakefakefake0001aaaa", "sk-ant-fakefakefakefakefake0002bbbb"]
    for variable, key in zip(("OPENAI_API_KEY", "ANTHROPIC_API_KEY"), keys, strict=True):
        monkeypatch.setenv(variable, key)
        Path("x", key).mkdir()
        opened, *others = play_events(rounds=1)
        write_journal(Path("x", key, "1.journal.jsonl"), [opened.model_copy(update={"nonce": key[-4:] * 4}), *others])
    ran = debate("tournament", "report", "x")
    assert ran.code == 0 and "the path of another journal differs from it by an API key alone." in ran.err, ran.err
    assert not any(key in ran.err + ran.out for key in keys) and len(read_rows("x").debates) == 1


def test_no_journal_is_passed_over(here: Path) -> None:
    """Journals beside a folder that is named `debates` count, and what is not read is named: folders that are links or
    can't be read, hidden journals, and journals in a folder of imported results or beside the debates of a tournament.
    What others wrote stands in quotation marks: names of several words, and notes of an import."""
    for n, name in enumerate(("x/1", "x/debates/2", "elsewhere/3", "x/own/4", "x/.Trash/5", "x/.6", "x/Note: All is")):
        cast = {"a": ("one",), "b": (f"m{n}",), "judge": ("three",)}
        Path(name).parent.mkdir(parents=True, exist_ok=True)
        write_journal(Path(f"{name}.journal.jsonl"), play_events(rounds=1, cast=cast))
    Path("x/link").symlink_to(Path("elsewhere").absolute())
    Path("x/Note: All is.journal.jsonl").write_text("well", encoding="utf-8")
    rows = read_rows("x")
    assert [row.id for row in rows.debates] == ["1", "debates/2", "own/4"]
    hidden = "2 journals left out, as a hidden file or in a hidden folder (x/.6.journal.jsonl is the first)."
    assert hidden in rows.notes
    assert any(note.startswith("A journal is left out: “x/Note: All is.journal.jsonl”") for note in rows.notes)
    note = "1 folder left out, as a symbolic link or since it can't be read (x/link is the first)."
    assert note in rows.notes

    Path("x/tournament.json").write_text("null", encoding="utf-8")
    assert any(
        note.startswith("Whether journals are of scheduled debates is not known:") for note in read_rows("x").notes
    )
    Path("x/tournament.json").write_text('{"imported": {"notes": ["All is ”well”."]}}', encoding="utf-8")
    Path("x/rows.jsonl").write_text(
        '{"kind":"debate","id":"d","topic":"t","pro":"P","con":"Q","winner":"pro"}\n', encoding="utf-8"
    )
    note = "4 journals left out (x/1.journal.jsonl is the first): the folder's results are imported."
    rows = read_rows("x")
    assert [row.id for row in rows.debates] == ["d"]
    assert {note, "The import noted: “All is 'well'.”", hidden} <= {*rows.notes}

    held = small_tournaments.tournament("held", topics=1, models=[OPUS, SONNET])
    small_tournaments.run_tournament(held)
    shutil.copy("x/1.journal.jsonl", "held/stray.journal.jsonl")
    rows = read_rows("held")
    assert {row.id for row in rows.debates} == {debate.id for debate in held.schedule}
    assert "A journal is left out: held/stray.journal.jsonl is not the journal of a scheduled debate." in rows.notes


def test_a_debate_that_is_added_takes_no_name_over(here: Path) -> None:
    """A program that was replaced by another judge keeps its name when a later debate has one of the same name.
    The note on such numbers names no program that the tournament names."""
    cast = {"a": ("one",), "b": ("two",), "judge": ("command:bot --b",)}
    *spoken, ballot, record = play_events(rounds=2, cast=cast)
    spoken = [_by("command:bot --b", event) if "judge" in getattr(event, "turn_id", "") else event for event in spoken]
    replaced = [*spoken, Reassigned(seat="judge", specs=("five",)), _by("five", ballot), _by("five", record)]
    write_journal(Path("x/1.journal.jsonl"), replaced)
    before = {ballot.judge for ballot in read_rows("x").ballots}
    write_journal(Path("x/2.journal.jsonl"), play_events(rounds=2, cast=cast | {"judge": ("command:bot --a",)}))

    assert before == {"command:bot", "five"}
    assert {ballot.judge for ballot in read_rows("x").ballots if ballot.debate == "1"} == before

    write_journal(Path("x/3.journal.jsonl"), play_events(rounds=2, cast=cast | {"judge": ("command:bot --c",)}))
    lines = {path: read(path).entries for path in (f"x/{n}.journal.jsonl" for n in (1, 2, 3))}
    (note,) = numbering_notes(names_by_spec(None, lines) | {"command:bot --a": "mine"}, lines)
    assert note.endswith(
        ": “command:bot” (first in x/1.journal.jsonl), “command:bot (3)” (first in x/3.journal.jsonl)."
    )


def test_a_vote_whose_second_ballot_is_by_another_model(here: Path) -> None:
    """It is one vote, of the model of the first ballot: its points are the mean of both, as in the debate's report. Of
    a vote that lacks one of its two ballots, first or second, a note says that it is left out."""
    criteria = scripted_debates.shipped_format("panel").rubric.criteria
    first, second = "final.verdict.judge", "final.verdict.judge.mirrored"
    script = {
        turn: {"scores": {side: dict.fromkeys(criteria, n) for side, n in zip("ab", points, strict=True)}}
        for turn, points in ((first, (8, 3)), (second, (3, 7)))
    }
    events = scripted_debates.events(
        "panel", script, mirror=True, cast={"a": ("x:a",), "b": ("x:b",), "judge": ("x:first",)}
    )
    at = next(n for n, event in enumerate(events) if getattr(event, "turn_id", "") == second)
    given = Reassigned(seat="judge", specs=("x:late",))
    write_journal(Path("x/1.journal.jsonl"), [*events[:at], given, *(_by("x:late", event) for event in events[at:])])
    found = read_rows("x")

    (vote,) = found.merged_ballots
    assert (vote.judge, {*vote.scores.values()}, vote.counted) == ("x:first", {(7.5, 3)}, True)
    notes = " ".join(found.all_notes())
    assert "0 of 1 votes that were cast twice changed" in notes and "only one" not in notes
    assert "In 1 debate another model cast a vote's second ballot" in notes
    for left in (0, 1):
        row = found.ballots[left].model_copy(update={"counted": False})
        assert "cast only one of the two ballots: 1." in " ".join(Rows(found.debates, [row]).all_notes())


def _by(spec: str, event: Any) -> Any:
    """The same event with a reply of another model."""
    return event.model_copy(update={"reply": event.reply.model_copy(update={"spec": spec})})
