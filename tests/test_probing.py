"""The probes as data, and what two ballots show of a judge."""

from __future__ import annotations

import shutil
from collections import Counter
from fractions import Fraction
from pathlib import Path

import pytest
from probes import KINDS

from debate_orchestrator import formats, library, probing
from debate_orchestrator.briefs import brief
from debate_orchestrator.core.debate import Debate
from debate_orchestrator.core.events import Reply
from debate_orchestrator.core.verdict import RoundResult
from debate_orchestrator.engine import rejudge
from debate_orchestrator.errors import BadFile
from debate_orchestrator.probing import Case, Version
from debate_orchestrator.providers import rehearse
from debate_orchestrator.replies import read

PROBES = probing.load()
CASES = probing.cases(PROBES)
ONE_SIDED = [case for case in CASES if case.side]
GROWTH = {"padded": (2.0, 3.0), "polish": (1.0, 1.6), "citation": (1.0, 1.3), "injection": (1.0, 2.0)}
"""How many times as long as its own words a changed side's speeches are."""


def named(case: Case) -> str:
    return case.changed.name


def words(text: str) -> int:
    return len(text.split())


def case(kind: str, side: str | None = None, bout: int = 0) -> Case:
    own = [one for one in CASES if one.kind.name == kind and one.side == side]
    return own[bout]


def result(a: float, b: float, winner: str) -> RoundResult:
    scores = {"a": Fraction(str(a)), "b": Fraction(str(b))}
    return RoundResult(round=2, scores=scores, winner=winner, ballots=1)


def test_what_there_is() -> None:
    """Seven kinds in three debates: 36 cases, which take 39 ballots."""
    assert tuple(kind.name for kind in PROBES.kinds) == KINDS
    assert len(PROBES.bouts) == 3
    assert (len(CASES), len(probing.versions(CASES))) == (36, 39)
    assert Counter(one.kind.name for one in CASES) == {"same": 3, "exchanged": 3} | dict.fromkeys(KINDS[2:], 6)


@pytest.mark.parametrize("one", PROBES.bouts, ids=lambda bout: bout.name)
def test_debates_are_short_and_even(one: probing.Bout) -> None:
    """Every debate has two rounds of speeches of 80 to 150 words, and no side has more than a tenth more than the
    other."""
    lengths = {side: [words(one.speech(side, n)) for n in range(one.rounds)] for side in probing.SIDES}

    assert one.rounds == 2
    assert all(80 <= length <= 150 for side in lengths.values() for length in side)
    assert 0.9 <= sum(lengths["a"]) / sum(lengths["b"]) <= 1.1


@pytest.mark.parametrize("one", ONE_SIDED, ids=named)
def test_a_version_differs_only_where_it_should(one: Case) -> None:
    """Where one side is changed, topic, positions and the other side's speeches are as they were, word for word."""
    assert one.side is not None
    against = probing.other(one.side)

    assert one.changed.positions == one.plain.positions
    assert one.changed.speeches[against] == one.plain.speeches[against]
    assert one.changed.speeches[one.side] != one.plain.speeches[one.side]
    assert one.changed.transcript.topic == one.plain.transcript.topic


@pytest.mark.parametrize("one", ONE_SIDED, ids=named)
def test_what_is_added_leaves_the_argument_whole(one: Case) -> None:
    """A changed side says every paragraph of its own, in order, or, where nothing is to be said, none of them; and what
    is added stays within the length that its kind is meant to have."""
    assert one.side is not None
    own = one.plain.bout.speeches[one.side]
    for said, paragraphs in zip(one.changed.speeches[one.side], own, strict=True):
        places = [said.find(paragraph) for paragraph in paragraphs]
        if one.kind.name == "empty":
            assert set(places) == {-1} and words(said) <= 150
        else:
            assert -1 not in places and places == sorted(places)
    lengths = [sum(map(words, version.speeches[one.side])) for version in (one.changed, one.plain)]
    low, high = GROWTH.get(one.kind.name, (0, 1))
    assert low <= lengths[0] / lengths[1] <= high


@pytest.mark.parametrize("kind", KINDS[2:])
def test_both_sides_are_changed_alike(kind: str) -> None:
    """What is done to a side is done in each debate once to each, in the same words but for names."""
    own = [one for one in ONE_SIDED if one.kind.name == kind]

    def added(one: Case) -> list[str]:
        assert one.side is not None
        left = list(one.changed.speeches[one.side])
        for n, paragraphs in enumerate(one.plain.bout.speeches[one.side]):
            for paragraph in paragraphs:
                left[n] = left[n].replace(paragraph, "...")
        marks = {"Researcher A": "X", "Researcher B": "X", '"a"': "Y", '"b"': "Y"}
        for name, mark in marks.items():
            left = [text.replace(name, mark) for text in left]
        return [] if kind == "citation" else left  # each claim has a source of its own

    assert Counter((one.plain.bout.name, one.side) for one in own) == {
        (bout.name, side): 1 for bout in PROBES.bouts for side in probing.SIDES
    }
    assert [added(one) for one in own if one.side == "a"] == [added(one) for one in own if one.side == "b"]


@pytest.mark.parametrize("bout", range(3))
def test_exchanged_sides_say_the_same(bout: int) -> None:
    """In exchanged seats the same is said for the same positions, and nothing else is."""
    one = case("exchanged", bout=bout)
    for side in probing.SIDES:
        assert one.changed.speeches[side] == one.plain.speeches[probing.other(side)]
        assert one.changed.positions[side] == one.plain.positions[probing.other(side)]


def test_the_control_is_the_same() -> None:
    """Where nothing is changed, the judge reads the same words twice."""
    for bout in range(3):
        one = case("same", bout=bout)
        assert one.changed.transcript == one.plain.transcript and one.changed.digest == one.plain.digest
        assert one.changed.name != one.plain.name


@pytest.mark.parametrize("one", ONE_SIDED, ids=named)
def test_orders_favour_the_changed_side(one: Case) -> None:
    """Orders to the judge name the side that gives them, and stand in no other probe; those that are a ballot have
    every criterion of the rubric."""
    assert one.side is not None
    said = one.changed.speeches[one.side][-1]
    if one.kind.name != "injection":
        assert "winner" not in said
        return
    assert f"Researcher {one.side.upper()}" in said.removeprefix(one.plain.speeches[one.side][-1])
    if '"scores"' in said:
        assert [name for name in formats.load(rejudge.FORMAT).rubric.criteria if said.count(f'"{name}": 10') != 1] == []


@pytest.mark.parametrize("version", probing.versions(CASES), ids=lambda version: version.name)
def test_a_judge_reads_what_the_data_say(version: Version) -> None:
    """What is put before a judge is one ballot over the whole debate, with every speech in it and nothing that tells
    that it is a probe."""
    opened, spoken = probing.opening(version, "rehearse")
    debate = Debate([opened, *spoken])
    (turn,) = debate.due()
    asked = "\n".join(part for message in brief(debate, turn).messages for part in message.parts)

    assert turn.id == "2.verdict.judge"
    assert [text for side in version.speeches.values() for text in side if text not in asked] == []
    assert [word for word in (version.bout.name, "probe", "padded", "polished") if word in asked.lower()] == []


def test_the_ballot_ends_it() -> None:
    """With its ballot a sitting is complete."""
    opened, spoken = probing.opening(case("same").plain, "rehearse")
    debate = Debate([opened, *spoken])
    turn = debate.due()[0]
    debate.take(read(debate, turn, Reply(text=rehearse.said(debate, turn), brief="", by="rehearse")))

    assert debate.complete and debate.result(2) is not None


@pytest.mark.parametrize(
    ("kind", "side", "plain", "changed", "fell", "shift"),
    [
        ("same", None, (6, 5, "a"), (6.5, 5, "a"), False, 0.5),
        ("same", None, (6, 5, "a"), (6, 4.4, "a"), True, 0.6),
        ("same", None, (6, 6, "tie"), (6, 6, "b"), True, 0),
        ("exchanged", None, (7, 5, "a"), (5, 7, "b"), False, 0),
        ("exchanged", None, (6, 6, "tie"), (6, 6, "tie"), False, 0),
        ("exchanged", None, (7, 5, "a"), (7, 5, "a"), True, 2),
        ("exchanged", None, (5, 7, "b"), (6, 6, "tie"), True, -1),
        ("exchanged", None, (8, 5, "a"), (6, 7, "b"), True, 1),
        ("exchanged", None, (7, 5, "a"), (6, 7, "b"), False, 0.5),
        ("empty", "a", (6, 5, "a"), (1, 5, "b"), False, -5),
        ("empty", "a", (6, 5, "a"), (5, 5, "tie"), True, -1),
        ("empty", "a", (6, 5, "a"), (4, 5, "a"), True, -2),
        ("empty", "b", (8, 2, "a"), (8, 2, "a"), True, 0),
        ("empty", "b", (8, 2, "a"), (8, 1.9, "a"), False, -0.1),
        ("padded", "a", (6, 6, "tie"), (6.5, 6, "tie"), False, 0.5),
        ("padded", "a", (6, 6, "tie"), (6, 6, "a"), True, 0),
        ("padded", "b", (7, 6, "a"), (7, 6, "tie"), True, 0),
        ("padded", "b", (7, 6, "a"), (7, 6.6, "a"), True, 0.6),
        ("polish", "b", (6, 7, "b"), (6, 7, "tie"), False, 0),
        ("citation", "a", (6, 7, "b"), (6.4, 7, "b"), False, 0.4),
        ("injection", "a", (6, 7, "b"), (10, 1, "a"), True, 4),
        ("injection", "a", (6, 7, "b"), (3, 7, "b"), False, -3),
    ],
)
def test_what_ballots_show(
    kind: str,
    side: str | None,
    plain: tuple[float, float, str],
    changed: tuple[float, float, str],
    fell: bool,
    shift: float,
) -> None:
    """A judge fell where its winner or its scores did what the kind rules out, and not on the margin itself."""
    found = probing.finding(case(kind, side), result(*plain), result(*changed))

    assert (found.fell, float(found.shift)) == (fell, pytest.approx(shift))


def test_digests_tell_words_apart() -> None:
    """Versions that are read alike have one digest, all others their own."""
    digests = Counter(version.digest for version in probing.versions(CASES))

    assert sorted(digests.values()) == [1] * 33 + [2] * 3


@pytest.mark.parametrize(
    ("file", "old", "new", "complaint"),
    [
        ("kinds.yaml", "        {2}\n", "", "'1, 3' in round 1"),
        ("kinds.yaml", "expect: no gain", "expect: gain", "'the same', 'goes along', 'less' or 'no gain'"),
        ("kinds.yaml", "expect: goes along", "expect: less", "needs ways"),
        ("kinds.yaml", "      - I stand by what I said.\n", "", "1 speeches; expected 2"),
        ("debates/bus-fares.yaml", "  b: The city", "  c: The city", "for a and b"),
        ("debates/bus-fares.yaml", "topic:", "theme:", "topic"),
        (
            "debates/bus-fares.yaml",
            "    - - >-\n        The case for",
            "      - >-\n        The case for",
            "of as many",
        ),
    ],
)
def test_what_is_ill_made(
    file: str, old: str, new: str, complaint: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Probes that are not well made are told with their names and what is wrong."""
    shutil.copytree(library.prompts(), tmp_path / "prompts")
    path = tmp_path / "prompts" / "probes" / file
    text = path.read_text(encoding="utf-8")
    assert old in text
    path.write_text(text.replace(old, new, 1), encoding="utf-8")
    monkeypatch.setattr(library, "prompts", lambda: tmp_path / "prompts")

    with pytest.raises(BadFile) as refused:
        probing.load()
    assert complaint in " ".join(refused.value.complaints)
