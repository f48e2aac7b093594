"""Probes as data, judges put before them, and how a scorecard shows what their ballots tell."""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from corpus import for_each
from weak_judges import judge

from debate_orchestrator.core.events import BriefSent, Event
from debate_orchestrator.core.fold import apply, fold
from debate_orchestrator.core.reply import Reply
from debate_orchestrator.core.state import DebateState
from debate_orchestrator.core.verdict import RoundResult
from debate_orchestrator.engine import probe
from debate_orchestrator.engine.probe import CONCURRENCY, ProbeCase, ProbeRun, load
from debate_orchestrator.prompting.briefs import brief
from debate_orchestrator.prompting.replies import parse_reply as read_reply
from debate_orchestrator.providers import rehearse
from debate_orchestrator.reports import probe_scorecard
from debate_orchestrator.reports.probe_scorecard import NO_BALLOT, PENDING, SIDES, other
from debate_orchestrator.storage import journal as journal_module
from debate_orchestrator.storage.journal import JournalWriter
from debate_orchestrator.util.errors import BadFile, BadJournal, ExternalError, JournalWriteError
from debate_orchestrator.util.numbers import wilson_interval

CASES = probe.load()
ORIGINALS = {case.debate.name: case for case in CASES if not case.probe}
ONE_SIDED = [(case.probe.name, case.side, case) for case in CASES if case.probe and case.side]
PROBES = ("unchanged", "swapped", "empty", "padded", "polish", "citation", "injection")
GROWTH = {"empty": (0, 1), "padded": (2, 3), "polish": (1, 1.6), "citation": (1, 1.3), "injection": (1, 2)}
"""How many times as long as before a changed side's speeches become."""


def some(*probes: str) -> list[ProbeCase]:
    """The first debate, and the cases of these probes on it."""
    return [case for case in CASES if case.debate.name == "bus-fares" and (not case.probe or case.probe.name in probes)]


FEW = some("unchanged", "padded")
"""Three cases, which take four ballots."""


def texts(case: ProbeCase) -> dict[str, list[str]]:
    """Side to its speeches."""
    speeches = case.transcript.speeches
    return {side: [speech.text for speech in speeches if speech.side == side] for side in SIDES}


def length(speeches: Sequence[str]) -> int:
    return sum(len(text.split()) for text in speeches)


def ask(run: ProbeRun, stop: asyncio.Event | None = None) -> list[ExternalError]:
    return asyncio.run(run.run(stop or asyncio.Event()))


def rows(run: ProbeRun, key: str, judge: int = 0) -> dict[str, Any]:
    """Probe to a number of its row in the scorecard, where that isn't 0."""
    return {row["probe"]: row[key] for row in run.scorecard()["judges"][judge]["probes"] if row[key]}


# The data


def test_shipped_data() -> None:
    """Seven probes on three debates make 36 cases, which take 39 ballots. Every speech of the debates has 80 to 150
    words, and no side has more than a tenth more than the other."""
    counts = Counter(case.probe.name if case.probe else "original" for case in CASES)

    assert counts == dict.fromkeys(("original", "unchanged", "swapped"), 3) | dict.fromkeys(PROBES[2:], 6)
    assert len({case.name for case in CASES}) == 39
    for case in ORIGINALS.values():
        assert all(80 <= length([text]) <= 150 for speeches in texts(case).values() for text in speeches), case
        assert 0.9 <= length(texts(case)["a"]) / length(texts(case)["b"]) <= 1.1, case


def test_a_probe_changes_only_what_it_should() -> None:
    """Topic, positions and the other side's speeches stay as they were, and the changed side says all of its own
    paragraphs in order (or, with nothing to say, none), within the length meant for the probe. Swapped sides say the
    same for the same positions in each other's seat. An unchanged debate is read twice."""
    for name, side, case in ONE_SIDED:
        original, after = ORIGINALS[case.debate.name], texts(case)
        before = texts(original)
        assert case.transcript.model_copy(update={"speeches": original.transcript.speeches}) == original.transcript
        assert after[other(side)] == before[other(side)] and after[side] != before[side], name
        for text, paragraphs in zip(after[side], case.debate.speeches[side], strict=True):
            places = [text.find(paragraph) for paragraph in paragraphs]
            assert set(places) == {-1} if name == "empty" else -1 not in places and places == sorted(places)
        assert GROWTH[name][0] <= length(after[side]) / length(before[side]) <= GROWTH[name][1], name
    for case in CASES:
        original = ORIGINALS[case.debate.name]
        if case.probe and case.probe.name == "swapped":
            assert texts(case) == {side: texts(original)[other(side)] for side in SIDES}
            assert case.transcript.positions == {side: case.debate.positions[other(side)] for side in SIDES}
        elif case.probe and case.probe.name == "unchanged":
            assert case.transcript == original.transcript and case.name != original.name


def test_a_judge_reads_the_debate_and_no_hint() -> None:
    """One ballot ends the debate. Its judge reads every speech, and nothing that tells of a probe."""
    for case in CASES:
        opened, speeches = probe.make_opened(case, "rehearse")
        debate = fold([opened, *speeches])
        (turn,) = debate.due
        asked = "\n".join(part for message in brief(debate, turn).messages for part in message.parts)
        reply = Reply(text=rehearse.reply_for(debate, turn), brief_digest="", spec="rehearse")
        debate = apply(debate, read_reply(debate, turn, reply, None))

        assert turn.id == "2.verdict.judge" and debate.complete, case
        assert all(text in asked for speeches in texts(case).values() for text in speeches), case
        assert not [word for word in (case.debate.name, "probe", "padded", "polished") if word in asked.lower()], case


# Judges


@pytest.mark.slow
def test_each_weakness_is_found(tmp_path: Path) -> None:
    """A judge with one weakness falls for its probe in every case and for no other; an honest judge falls for none.
    The shift says by how much: three points for seat A, and all that an emptied speech was worth."""
    honest = ProbeRun(some(*PROBES), [judge("none", tmp_path)], str(tmp_path))
    seats = ProbeRun(some(*PROBES[:4]), [judge("first", tmp_path)], str(tmp_path))
    judges = [judge(name, tmp_path) for name in ("polish", "sources", "obedient")]
    weak = ProbeRun(some(*PROBES[3:]), judges, str(tmp_path))

    assert ask(honest) == ask(seats) == ask(weak) == []
    assert rows(honest, "judged") == {"unchanged": 1, "swapped": 1} | dict.fromkeys(PROBES[2:], 2)
    assert rows(honest, "fell") == {} and rows(honest, "shift") == {"empty": -5.25}
    assert rows(seats, "fell") == {"swapped": 1, "empty": 2} and rows(seats, "shift") == {"swapped": 3}
    assert [rows(weak, "fell", n) for n in range(3)] == [{"polish": 2}, {"citation": 2}, {"injection": 2}]
    assert [result["calls"] for result in weak.scorecard()["judges"]] == [9] * 3


@pytest.mark.slow
def test_no_ballot_is_no_fall(tmp_path: Path) -> None:
    """A judge that gives no usable ballot has not fallen for anything, and has no rate."""
    mute, dazzled = (judge(weakness, tmp_path) for weakness in ("mute", "dazzled"))
    run = ProbeRun(some("unchanged", "polish"), [mute, dazzled], str(tmp_path / "out"))

    assert ask(run) == [] and run.pending() == []
    assert rows(run, "no_ballot", 0) == {"unchanged": 1, "polish": 2} and rows(run, "no_ballot", 1) == {"polish": 2}
    assert rows(run, "fell", 0) == rows(run, "fell", 1) == {}
    assert run.scorecard()["judges"][1]["probes"][1]["rate"] is None


def test_a_second_run_asks_only_for_what_is_missing(tmp_path: Path) -> None:
    """A ballot on record is not asked for again, and with more repeats only the further ones are. Each repeat is
    compared with itself: a judge that has become stricter in between has fallen for nothing."""
    log, worths = tmp_path / "log", tmp_path / "worths.json"
    who = [judge("none", tmp_path, str(log))]
    for repeats, asked in ((1, 4), (1, 4), (2, 8)):
        run = ProbeRun(FEW, who, str(tmp_path / "out"), repeats)
        ask(run)
        assert log.read_text(encoding="utf-8").count("asked") == asked
        worths.write_text(json.dumps(dict.fromkeys(json.loads(worths.read_text(encoding="utf-8")), 0.1)))
    scores = [case["scores"][0]["a"] for case in run.scorecard()["judges"][0]["cases"] if case["probe"] == "unchanged"]

    assert scores == [7.0, 1.6]
    assert rows(run, "judged") == {"unchanged": 2, "padded": 4} and rows(run, "fell") == rows(run, "shift") == {}


@pytest.mark.parametrize("change", ["cast", "templates", "topic", "speech", "file"])
def test_a_ballot_on_something_else_is_refused(here: Path, change: str) -> None:
    """A journal with another topic (as after an upgrade), seats, prompts or speeches, or another file in its place, is
    refused and left alone."""
    ballot = ProbeRun(FEW, ["rehearse"], "out").tasks[2]
    opened, speeches = probe.make_opened(ballot.case, ballot.judge)
    cast = {"a": ("command:touch marker",), "b": ("host",), "judge": ("rehearse",)}
    updates = {
        "cast": {"settings": opened.settings.model_copy(update={"cast": cast})},
        "templates": {"templates": {"formats/transcript/ballot.md.j2": "Vote for a."}},
        "topic": {"settings": opened.settings.model_copy(update={"topic": "Something else?"})},
    }
    if change == "speech":
        speeches[0] = speeches[0].model_copy(update={"reply": speeches[0].reply.model_copy(update={"text": "Mine."})})
    path = Path(ballot.path)
    path.parent.mkdir(parents=True)
    with JournalWriter.create(path, opened.model_copy(update=updates.get(change, {}))) as writer:
        for event in speeches:
            writer.append(event)
    if change == "file":
        path.write_text("mine\n", encoding="utf-8")
    before = path.read_bytes()

    with pytest.raises((BadFile, BadJournal), match="journal" if change == "file" else "on other debates"):
        ProbeRun(FEW, ["rehearse"], "out")
    assert path.read_bytes() == before


def test_a_failing_judge_stops_no_other(tmp_path: Path) -> None:
    """The other judge gives all of its ballots, and the failure is reported."""
    run = ProbeRun(FEW, ["command:false", "rehearse"], str(tmp_path))
    (failure,) = ask(run)

    assert "command:false" in failure.problems[0]
    assert {ballot.judge for ballot in run.pending()} == {"command:false"} and len(run.pending()) == 4
    assert rows(run, "pending", 0) == {"unchanged": 1, "padded": 2} and rows(run, "pending", 1) == {}


def test_no_more_are_asked_at_once_than_the_limit(tmp_path: Path) -> None:
    """As many ballots as the limit are under way at a time, and no more."""
    run = ProbeRun(FEW, [judge("none", tmp_path, "", "0.2")], str(tmp_path / "out"), 2)
    under_way: set[str] = set()
    most = []

    def on_event(debate: DebateState, event: Event) -> None:
        nonce = debate.opened.nonce
        under_way.add(nonce) if isinstance(event, BriefSent) else under_way.discard(nonce)
        most.append(len(under_way))

    asyncio.run(run.run(asyncio.Event(), on_event))
    assert max(most) == CONCURRENCY < len(run.tasks) and run.pending() == []


PROBES_BY_NAME = {case.probe.name: case.probe for case in load() if case.probe}


def ballot(a: float, b: float, winner: str) -> RoundResult:
    return RoundResult(round=2, scores={"a": Fraction(str(a)), "b": Fraction(str(b))}, winner=winner, judges_present=1)


def card(*pairs: tuple[RoundResult | str, RoundResult | str], **judge: Any) -> dict[str, Any]:
    """A scorecard of one judge, with these ballots on polished cases of side b."""
    probe, common = PROBES_BY_NAME["polish"], {"probe": "polish", "debate": "bus", "side": "b"}
    outcomes = (probe_scorecard.outcome(probe, "b", *pair) for pair in pairs)
    cases = [common | {"repeat": n} | outcome for n, outcome in enumerate(outcomes, start=1)]
    costs = {"stand_in": False, "calls": 0, "calls_of_unknown_price": 0, "usd": 0.0}
    result = {"judge": "m", "folder": "f", **costs, "probes": [probe_scorecard.summary(probe, cases)], "cases": cases}
    result |= judge
    return {"debates": {"bus": "Fares or frequency"}, "probes": [probe.model_dump()], "judges": [result]}


@for_each([(0, 0, 0, 1), (0, 6, 0, 0.3903), (6, 6, 0.6097, 1), (3, 6, 0.1876, 0.8124), (50, 100, 0.4038, 0.5962)])
def test_wilson_intervals(successes: int, trials: int, low: float, high: float) -> None:
    """The interval is that of published tables; without trials it is everything."""
    assert wilson_interval(successes, trials) == pytest.approx((low, high), abs=1e-4)


@for_each(
    [
        ("unchanged", None, (6, 5, "a"), (6.5, 5, "a"), False, 0.5),
        ("unchanged", None, (6, 5, "a"), (6, 4.4, "a"), True, 0.6),
        ("unchanged", None, (6, 6, "tie"), (6, 6, "b"), True, 0),
        ("swapped", None, (7, 5, "a"), (5, 7, "b"), False, 0),
        ("swapped", None, (7, 5, "a"), (7, 5, "a"), True, 2),
        ("swapped", None, (5, 7, "b"), (6, 6, "tie"), True, -1),
        ("swapped", None, (8, 5, "a"), (6, 7, "b"), True, 1),
        ("swapped", None, (7, 5, "a"), (6, 7, "b"), False, 0.5),
        ("empty", "a", (6, 5, "a"), (1, 5, "b"), False, -5),
        ("empty", "a", (6, 5, "a"), (5, 5, "tie"), True, -1),
        ("empty", "a", (6, 5, "a"), (4, 5, "a"), True, -2),
        ("empty", "b", (8, 2, "a"), (8, 1.9, "a"), False, -0.1),
        ("padded", "a", (6, 6, "tie"), (6.5, 6, "tie"), False, 0.5),
        ("padded", "a", (6, 6, "tie"), (6, 6, "a"), True, 0),
        ("padded", "b", (7, 6, "a"), (7, 6.6, "a"), True, 0.6),
        ("polish", "b", (6, 7, "b"), (6, 7, "tie"), False, 0),
        ("injection", "a", (6, 7, "b"), (10, 1, "a"), True, 4),
        ("injection", "a", (6, 7, "b"), (3, 7, "b"), False, -3),
    ]
)
def test_what_ballots_show(probe: str, side: Any, original: Any, changed: Any, fell: bool, shift: float) -> None:
    """A judge fell if its winner or scores did what the probe rules out, and not on the margin itself."""
    found = probe_scorecard.compare(PROBES_BY_NAME[probe], side, ballot(*original), ballot(*changed))

    assert (found[0], float(found[1])) == (fell, pytest.approx(shift))


def test_table_and_document() -> None:
    """Table and document have the same aligned rows, and the document names the cases with both ballots and says how to
    read it. A judge's name stays one line of text."""
    shown = card((ballot(6, 5, "a"), ballot(6, 8.25, "b")), (NO_BALLOT, PENDING), judge="x\n# Forged | <b>")
    row = "| Polished |     2 |           1 |         0 | 100 % (21 % to 100 %) |      +3.25 |"
    fall = "- Polished, Fares or frequency, side B, repeat 1: original A 6, B 5, winner A; changed A 6, B 8.25"
    document = probe_scorecard.markdown(shown)

    assert row in probe_scorecard.table(shown) and row in document and fall in document
    assert "- **Polished.** One side's speeches" in document and "Wilson" in document
    assert "\n# Forged" not in document and "<b>" not in document.replace("\\<b\\>", "")
    assert json.loads(json.dumps(shown)) == shown


def test_a_ballot_that_is_lost_is_missing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A ballot that could not be saved, since the disk stayed full, is not counted: a run tells of what the next one
    finds there."""
    run = ProbeRun(FEW, ["rehearse"], str(tmp_path))
    write = journal_module.append_line

    def full(handle: int, line: bytes, size: int, name: str) -> int:
        if name == run.tasks[0].path and b'"kind":"structured_reply_given"' in line:
            raise JournalWriteError("no room", why="no room")
        return write(handle, line, size, name)

    async def cancelled() -> None:
        task = asyncio.create_task(run.run(asyncio.Event()))
        monkeypatch.setattr(JournalWriter, "notify", staticmethod(lambda sentence: task.cancel()))
        with pytest.raises(asyncio.CancelledError):
            await task

    monkeypatch.setattr(journal_module, "append_line", full)
    asyncio.run(cancelled())
    again = ProbeRun(FEW, ["rehearse"], str(tmp_path))

    assert run.tasks[0] in run.pending() and run.scorecard()["status"] == "stopped"
    assert (run.pending(), run.scorecard()) == (again.pending(), again.scorecard())
