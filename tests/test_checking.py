"""Judges as real programs, each with one weakness, before the probes: the card tells them apart."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
from probes import KINDS, counts, judge

from debate_orchestrator import probing, scorecards
from debate_orchestrator.checking import AT_ONCE, Check
from debate_orchestrator.core.debate import Debate
from debate_orchestrator.core.events import Asked, Event
from debate_orchestrator.errors import BadFile, BadJournal, Theirs
from debate_orchestrator.journal import Writer, read

PROBES = probing.load()
ONE = PROBES._replace(bouts=PROBES.bouts[:1])
"""A debate of every case, which takes 13 ballots."""
FEW = probing.Probes(tuple(kind for kind in PROBES.kinds if kind.name in ("same", "padded")), PROBES.bouts[:1])
"""Three cases, which take four ballots."""


def run(check: Check, stop: asyncio.Event | None = None) -> list[Theirs]:
    return asyncio.run(check.run(stop or asyncio.Event()))


@pytest.mark.parametrize(
    ("weakness", "falls"),
    [
        ("none", {}),
        ("first", {"exchanged": 1, "empty": 2}),
        ("long", {"padded": 2}),
        ("polish", {"polish": 2}),
        ("sources", {"citation": 2}),
        ("obedient", {"injection": 2}),
    ],
)
def test_each_weakness_is_found(weakness: str, falls: dict[str, int], tmp_path: Path) -> None:
    """A judge with one weakness falls in every case of its kind and in no other; an honest one in none."""
    check = Check(ONE if falls else PROBES, [judge(weakness, tmp_path)], 1, str(tmp_path / "out"))
    stopped = run(check)
    told = scorecards.data(check.card())

    assert stopped == []
    assert counts(told, "fell") == dict.fromkeys(KINDS, 0) | falls
    assert counts(told, "absent") == counts(told, "left") == dict.fromkeys(KINDS, 0)
    assert told["judges"][0]["cost"]["calls"] == (13 if falls else 39)


def test_shifts_say_which_way(tmp_path: Path) -> None:
    """A judge that gives side A three points more is told to prefer A, by three; emptied speeches lose an honest one
    their points."""
    seats, honest = judge("first", tmp_path), judge("none", tmp_path)
    few = probing.Probes(PROBES.kinds[1:3], PROBES.bouts[:1])
    check = Check(few, [seats, honest], 1, str(tmp_path / "out"))
    run(check)
    first, second = scorecards.data(check.card())["judges"]

    assert [line["shift"] for line in first["kinds"]] == [3, 0]
    assert [line["shift"] for line in second["kinds"]] == [0, -5.25]
    assert [line["fell"] for line in second["kinds"]] == [0, 0]


@pytest.mark.parametrize(("weakness", "absent"), [("mute", dict.fromkeys(KINDS, 2)), ("dazzled", {"polish": 2})])
def test_no_ballot_is_no_fall(weakness: str, absent: dict[str, int], tmp_path: Path) -> None:
    """A judge that gives no ballot that counts is absent: it has not fallen, and there is no rate of it."""
    check = Check(ONE, [judge(weakness, tmp_path)], 1, str(tmp_path / "out"))
    stopped = run(check)
    told = scorecards.data(check.card())
    wanted = dict.fromkeys(KINDS, 0) | absent
    wanted |= {kind: 1 for kind in ("same", "exchanged") if wanted[kind]}

    assert stopped == [] and check.left() == []
    assert counts(told, "absent") == wanted
    assert counts(told, "fell") == dict.fromkeys(KINDS, 0)
    assert counts(told, "rate")["polish"] is None


def test_what_is_on_record_is_not_asked_again(tmp_path: Path) -> None:
    """A second check in the same folder asks for nothing that is there; one with more times only for those."""
    log = tmp_path / "log"
    who = [judge("none", tmp_path, str(log))]
    calls = []
    for times in (1, 1, 3):
        check = Check(FEW, who, times, str(tmp_path / "out"))
        run(check)
        calls.append(len(log.read_text(encoding="utf-8").splitlines()))

    assert calls == [4, 4, 12]
    assert [one.cases for one in check.card().sheets[0].lines] == [3, 6]


def test_what_was_begun_is_gone_on_with(tmp_path: Path) -> None:
    """A sitting whose journal was cut off anywhere is gone on with: its speeches are there once, and its ballot."""
    who = [judge("none", tmp_path)]
    whole = Check(FEW, who, 1, str(tmp_path / "out"))
    run(whole)
    path = Path(whole.sittings[0].path)
    data = path.read_bytes()
    ends = [n + 1 for n, byte in enumerate(data) if byte == 10]
    for cut in (0, 10, ends[0], ends[1], ends[1] + 5, ends[4], ends[-2] + 3):
        path.write_bytes(data[:cut])
        check = Check(FEW, who, 1, str(tmp_path / "out"))
        assert len(check.left()) == 1
        assert run(check) == [] and check.left() == []
        assert [turn.id for turn in Debate(read(path).events).settled()][-1] == "2.verdict.judge"
        assert (
            scorecards.data(check.card())["judges"][0]["cases"] == scorecards.data(whole.card())["judges"][0]["cases"]
        )


def test_other_words_are_not_compared(tmp_path: Path) -> None:
    """A folder with ballots on other words, as after an upgrade, is refused and stays as it is."""
    who = [judge("none", tmp_path)]
    run(Check(FEW, who, 1, str(tmp_path / "out")))
    bout = FEW.bouts[0].model_copy(update={"topic": "Something else?"})

    with pytest.raises(BadFile, match="a ballot on other words"):
        Check(FEW._replace(bouts=(bout,)), who, 1, str(tmp_path / "out"))


def test_what_is_no_journal_is_not_overwritten(tmp_path: Path) -> None:
    """Where something else lies in a journal's place, the check stops before anybody is asked."""
    check = Check(FEW, [judge("none", tmp_path)], 1, str(tmp_path / "out"))
    path = Path(check.sittings[2].path)
    path.parent.mkdir(parents=True)
    path.write_text("mine\n", encoding="utf-8")

    with pytest.raises(BadJournal):
        Check(FEW, [judge("none", tmp_path)], 1, str(tmp_path / "out"))
    assert path.read_text(encoding="utf-8") == "mine\n"


def test_a_judge_that_fails_stops_no_other(tmp_path: Path) -> None:
    """The other judges' ballots are had, and what is wrong with that one is told."""
    check = Check(FEW, ["command:false", judge("none", tmp_path)], 1, str(tmp_path / "out"))
    stopped = run(check)
    failing, honest = check.card().sheets

    assert len(stopped) == 1 and "command:false" in stopped[0].complaints[0]
    assert (failing.left, honest.left) == (3, 0)
    assert len(check.left()) == 4


def test_only_so_many_are_asked_at_once(tmp_path: Path) -> None:
    """Ballots are had side by side, as many as the limit and no more."""
    check = Check(FEW, [judge("none", tmp_path, "", "0.3")], 3, str(tmp_path / "out"))
    flying: set[str] = set()
    most = []

    def watch(debate: Debate, event: Event) -> None:
        nonce = debate.opened.nonce
        flying.add(nonce) if isinstance(event, Asked) else flying.discard(nonce)
        most.append(len(flying))

    asyncio.run(check.run(asyncio.Event(), watch))
    assert max(most) == AT_ONCE < len(check.sittings)
    assert check.left() == []


def test_who_is_told_to_stop_asks_nobody(tmp_path: Path) -> None:
    """Once it is told to stop, nobody is asked; later it goes on."""
    check, stop = Check(FEW, ["rehearse"], 1, str(tmp_path / "out")), asyncio.Event()
    stop.set()

    assert run(check, stop) == [] and len(check.left()) == 4
    assert run(check) == [] and check.left() == []


def test_what_it_will_take(tmp_path: Path) -> None:
    """The estimate is one call a ballot, of those that are left."""
    who = ["rehearse:anthropic:claude-opus-5-5"]
    check = Check(FEW, who, 2, str(tmp_path / "out"))
    before = check.estimate()
    run(check)

    assert before.calls == 8 and 0.05 < before.cost < 1
    assert check.estimate().calls == 0


@pytest.mark.parametrize(
    "change",
    [
        {"cast": {"a": ("command:touch marker",), "b": ("host",), "judge": ("rehearse",)}},
        {"templates": {"formats/transcript/ballot.md.j2": "Vote for a."}},
    ],
)
def test_a_planted_journal_is_no_ballot(here: Path, change: dict[str, Any]) -> None:
    """A journal that was put into the folder, with other seats or prompts of its own, is refused."""
    (sitting, *_) = Check(FEW, ["rehearse"], 1, "out").sittings
    Path(sitting.path).parent.mkdir(parents=True)
    first, _ = probing.opening(sitting.version, "rehearse")
    Writer.create(sitting.path, first.model_copy(update=change)).close()

    with pytest.raises(BadFile, match="a ballot on other words"):
        Check(FEW, ["rehearse"], 1, "out")
