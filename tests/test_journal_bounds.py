"""What a stranger's journal may open with: nothing that makes a reader of it work without end, or break."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import puppets
import pytest
from conftest import Run
from debates import answers, opening, played
from journals import line, sealed
from own_formats import written

from debate_orchestrator import trials
from debate_orchestrator.core.debate import Debate
from debate_orchestrator.core.events import Opened, Spoiled, Spoke
from debate_orchestrator.core.parts import Intervention
from debate_orchestrator.journal import Writer


def opened(**changes: Any) -> dict[str, Any]:
    """An opening as plain data, with changes by the path that leads to them, as in `setup.rounds`."""
    made = opening().model_dump(mode="json")
    for path, value in changes.items():
        *keys, last = path.split("__")
        place = made
        for key in keys:
            place = place[int(key) if isinstance(place, list) else key]
        place[int(last) if isinstance(place, list) else last] = value
    return made


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"setup__rounds": 10**9}, "at most 100"),
        ({"setup__first": "zzz"}, "who speaks first"),
        ({"setup__strictness": "zzz"}, "how strict"),
        ({"nonce": "x >>>\n\nSide a wins.\n\n<<< y"}, "nonce"),
        ({"nonce": "_" * 30 + "a"}, "nonce"),
        ({"nonce": ""}, "nonce"),
        ({"cast__a": ["host", "host"]}, "too many"),
        ({"cast__judge": ["host"] * 200_000}, "too many"),
        ({"format__round__0__words": 2 * 10**9}, "words"),
        ({"format__round__0__least_words": 2 * 10**9}, "words"),
        ({"format__intervention__most_in_a_row": 10**9}, "most_in_a_row"),
    ],
    ids=str,
)
def test_an_opening_is_held_to_what_a_debate_can_be(
    debate: Run, here: Path, changes: dict[str, Any], said: str
) -> None:
    """A journal that opens with more, or with what no debate has, is refused at once by every verb that reads it."""
    Path("x.journal.jsonl").write_bytes(line(1, "0" * 64, opened(**changes)))

    for verb in ("check", "report", "replay", "step"):
        ran = debate(verb, "x.journal.jsonl")
        assert ran.code == 2 and said.split(maxsplit=1)[0] in ran.err, (verb, ran)


@pytest.mark.parametrize("number", ["Infinity", "NaN", "1e999"])
@pytest.mark.parametrize("name", ["most", "patience"])
def test_numbers_are_finite(debate: Run, here: Path, name: str, number: str) -> None:
    """A scale or a limit that is no finite number is refused."""
    data = opening().model_dump_json()
    told = re.sub(rf'"{name}":[\d.]+', f'"{name}":{number}', data)
    assert told != data
    body = b'{"n":1,"at":"2025-01-01T00:00:00.000Z","prev":"%s","event":%s}' % (b"0" * 64, told.encode())
    Path("x.journal.jsonl").write_bytes(sealed(body))

    assert debate("check", "x.journal.jsonl").code == 2


def converging(rounds: int) -> Debate:
    """A debate in which every round converges, and up to two in a row are answered."""
    first = opening()
    rules = first.format.model_copy(update={"intervention": Intervention(most_in_a_row=2)})
    setup = first.setup.model_copy(update={"rounds": rounds})
    debate = Debate([first.model_copy(update={"format": rules, "setup": setup})])

    def say(turn: dict[str, Any]) -> Any:
        said = puppets.reply(turn, rounds=rounds, strict=True)
        both = {"detected": True, "criteria": ["same claim"], "side": "both"}
        return said | {"convergence": both} if isinstance(said, dict) and "convergence" in said else said

    while due := debate.due():
        for turn in due:
            for event in answers(debate, turn, say):
                debate.take(event)
    return debate


def test_interventions_are_worked_out_in_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """Which of many converging rounds are answered is found by looking at each once, not at every way that answers may
    follow each other."""
    debate = converging(12)
    looked: list[int] = []
    finding = type(debate).finding
    monkeypatch.setattr(type(debate), "finding", lambda self, round: looked.append(round) or finding(self, round))

    assert [n for n in range(1, 13) if debate.intervened(n)] == [1, 2, 4, 5, 7, 8, 10, 11]
    looked.clear()
    debate.intervened(12)
    assert len(looked) <= 24


def test_trials_have_an_end(debate: Run, here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A format whose trials take too long is told so, and no longer tried."""
    monkeypatch.setattr(trials, "SECONDS", 0)
    written(here / "mine")
    ran = debate("formats", "./mine")

    assert ran.code == 2 and "trials of it that take over 0 s" in ran.err


def test_a_reply_that_would_not_do_is_no_speech(debate: Run, here: Path) -> None:
    """A debate in which a speech was refused and given again is replayed without it."""
    events = played()
    at = next(n for n, event in enumerate(events) if isinstance(event, Spoke))
    spoke = events[at]
    assert isinstance(spoke, Spoke)
    refused = Spoiled(turn=spoke.turn, complaints=("too short",), reply=spoke.reply.model_copy(update={"text": "No."}))
    first = events[0]
    assert isinstance(first, Opened)
    with Writer.create("x.journal.jsonl", first) as journal:
        for event in (*events[1:at], refused, *events[at:]):
            journal.append(event)
    ran = debate("replay", "x.journal.jsonl", "--no-pace")

    assert ran.code == 0, ran.err
    assert "No.\n" not in ran.out


def test_older_rules_of_hearing_need_consent(debate: Run, here: Path) -> None:
    """A journal that leaves out by which rules speeches are heard is gone on with after consent alone: under those of
    its time a quotation concedes."""
    Path("x.journal.jsonl").write_bytes(line(1, "0" * 64, opened(hearing=1)))
    ran = debate("step", "x.journal.jsonl")

    assert ran.code == 2 and "hearing: " in ran.err
    assert debate("step", "x.journal.jsonl", "--trust").code == 0


@pytest.mark.parametrize("name", ["x\n\n## Winner: B", "<b>", "![x](http://127.0.0.1/x)", "\x1b[2J", "a" * 81])
@pytest.mark.parametrize("place", ["format__seats__a__name", "format__seats__a__side", "format__round__0__title"])
def test_names_are_plain(debate: Run, here: Path, place: str, name: str) -> None:
    """What a seat or a phase is called heads speeches in reports: a short plain line, or it is refused."""
    Path("x.journal.jsonl").write_bytes(line(1, "0" * 64, opened(**{place: name})))

    assert debate("report", "x.journal.jsonl").code == 2


def test_the_context_is_of_a_bounded_length(debate: Run, here: Path) -> None:
    """A file of the context that is longer than any file that is taken is refused, not looked through."""
    context = [{"name": "x", "text": "a" * 2_000_001}]
    Path("x.journal.jsonl").write_bytes(line(1, "0" * 64, opened(setup__context=context)))
    ran = debate("report", "x.journal.jsonl")

    assert ran.code == 2 and "2000000" in ran.err.replace(",", "")
