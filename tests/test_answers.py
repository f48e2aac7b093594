"""An answers file settled: defaults, sources, and every complaint at once."""

from __future__ import annotations

from typing import Any

import pytest
from core.folding import BALLOT, ONE_SIDED, PLAIN, make_format, many, phase
from corpus import for_each
from hypothesis import given
from hypothesis import strategies as st

from debate_orchestrator.core.format import Format
from debate_orchestrator.core.settings import MAX_TOPIC_LENGTH, Settings
from debate_orchestrator.formats import loader
from debate_orchestrator.setup import answers
from debate_orchestrator.setup.answers import KEYS
from debate_orchestrator.util.errors import BadSettings, DebateError

RULES = loader.load("adversarial")
BASE: dict[str, Any] = {
    **{"topic": "Tabs are better.", "positions": {"a": "Tabs.", "b": "Spaces."}},
    **{"issues": False, "brief": False},
}


def settle(**given: Any) -> Settings:
    return answers.make_settings(BASE | given, RULES, "debate-report.md")


def problems(given: dict[str, Any]) -> list[str]:
    """What is wrong with answers, by the keys that the complaints begin with."""
    with pytest.raises(BadSettings) as refused:
        answers.make_settings(given, RULES, "debate-report.md")
    assert not [one for one in refused.value.problems if "\n" in one or len(one) > 500]
    return [one.partition(":")[0] for one in refused.value.problems]


def test_defaults() -> None:
    """What is not answered is three strict rounds, a first, feedback on, all seats at the host, no cap. Positions that
    are auto, or not given, are to be derived."""
    made = settle()
    assert (made.topic, made.positions) == (BASE["topic"], BASE["positions"])
    assert (made.rounds, made.strictness, made.output, made.format) == (3, "strict", "debate-report.md", "adversarial")
    assert (made.first, made.feedback, made.context, made.max_cost, made.one_agent) == ("a", True, (), None, False)
    assert made.cast == {"a": ("host",), "b": ("host",), "judge": ("host",)}

    assert settle(positions="auto").positions == {}
    assert answers.make_settings({"topic": "x"}, RULES, "x.md").positions == {}


def test_a_whole_answers_file() -> None:
    """Everything that may be answered is taken as it was given. Positions that are the same but for case, spaces and a
    full stop are not two sides."""
    cast = {"a": "anthropic:x", "b": "y", "judge": ["u", "v", "w"]}
    made = settle(
        rounds=5, strictness="lenient", output="out/", first="b", feedback=False, context=["n.md"], cast=cast,
        max_cost=2.5, one_agent=True, insist=True, setup={"heard": ["x"]}, format="adversarial",
    )  # fmt: skip
    assert (made.rounds, made.strictness, made.output, made.first, made.feedback) == (5, "lenient", "out/", "b", False)
    assert (made.context, made.max_cost, made.one_agent) == (("n.md",), 2.5, True)
    assert made.cast == {"a": ("anthropic:x",), "b": ("y",), "judge": ("u", "v", "w")}

    [said] = refused(RULES, positions={"a": "Use tabs.", "b": "use  TABS"})
    assert said == "positions: both sides argue 'Use tabs.'. Try: two positions that differ."


@pytest.mark.parametrize("rounds", [7, 8, "8"])
def test_seven_and_eight_rounds_are_insisted_on(rounds: Any) -> None:
    """Seven and eight rounds are taken from a user who insists; others are told why not."""
    assert settle(rounds=rounds, insist=True).rounds == int(rounds)
    with pytest.raises(BadSettings, match="diminishing returns; 4 or 5 is a good cap"):
        settle(rounds=rounds)


NO_ROUNDS = [0, -1, 9, 10**30, "three", "", "3.0", "٣", "³", "0x3", 2.5, 3.0, True, None, [3], {"a": 3}, "9" * 5000]


def test_what_is_no_number_of_rounds() -> None:
    """No insistence makes another number, or no number, a number of rounds."""
    for rounds in NO_ROUNDS:
        for insist in [True, False]:
            assert problems(BASE | {"rounds": rounds, "insist": insist}) == ["rounds"], (rounds, insist)


@for_each(["topik", "Topic", "round", "", "judge", 5, None, True, "x\ny\x1b"])
def test_unknown_keys(key: Any) -> None:
    """A key that is none is named, with the one that was probably meant or its place, or else with all of them."""
    hint = f"Did you mean '|Try: indent it|The keys are {', '.join(KEYS)}"
    with pytest.raises(BadSettings, match=rf"^[^\n]* is not a key of an answers file\. ({hint})[^\n]*$"):
        answers.make_settings(BASE | {key: 1}, RULES, "x.md")


REFUSED: dict[str, list[Any]] = {
    "topic": [None, "", "  \n", "\u200b\u202e", 7, ["x"], True, "x" * (MAX_TOPIC_LENGTH + 1), "x \ud800"],
    "output": ["x \ud800"],
    "max_cost": [0, -0.5, True, "2", [2], 10**400, float("nan"), float("inf")],
    "context": [5, {"a": 1}, [1], [""], [None], True, 0, False],
    "origins": [5, ["user"], {"topic": "me"}, {"topic": None}, {"topic": [1]}, {"topic": {}}],
}


def test_what_is_no_answer() -> None:
    """A topic is a sentence that can be seen, of at most a thousand characters; a cap is a number of dollars above
    nothing that could be reached; material is a list of names; a source, a choice, a flag or a path is one that there
    is. Text that can't be written as UTF-8 is refused before anything is made of it."""
    for key, values in REFUSED.items():
        for value in values:
            assert problems(BASE | {key: value}) == [key], (key, str(value)[:80])

    for key in ["strictness", "first", "output", "feedback", "insist", "one_agent"]:
        for value in [None, "", [], {}, 7, ["strict"], "\x00"]:
            assert set(problems(BASE | {key: value})) == {key}, (key, value)


@for_each([
    ({"a": "x"}, ["positions"]), ({"a": "x", "b": "y", "c": "z"}, ["positions"]), ("own", ["positions"]),
    (None, ["positions"]), (["x", "y"], ["positions"]), ({"a": 1, "b": "x"}, ["positions"]),
    ({"a": "", "b": "x"}, ["positions.a"]), ({"a": "\u200b", "b": "y" * 1001}, ["positions.a", "positions.b"]),
])  # fmt: skip
def test_what_are_no_positions(positions: Any, named: list[str]) -> None:
    """Positions are one sentence for each side."""
    assert problems(BASE | {"positions": positions}) == named


@for_each([
    (None, {}), ("host", {}), ({}, {}), ("x:y", dict.fromkeys(("a", "b", "judge"), ("x:y",))),
    ({"judge": ["x", "y"]}, {"judge": ("x", "y")}), ({"a": ["x"]}, {"a": ("x",)}),
    ({"judge": "x"}, {"judge": ("x",)}), ({"judge": ["host"] * 9}, {"judge": ("host",) * 9}),
])  # fmt: skip
def test_who_fills_the_seats(cast: Any, seats: dict[str, tuple[str, ...]]) -> None:
    """A cast is one name for all, or a name for a seat, or names for the judge; others are the host's."""
    assert settle(cast=cast).cast == dict.fromkeys(("a", "b", "judge"), ("host",)) | seats


NO_CASTS = [
    ({"c": "x"}, "cast"), (["x"], "cast"), (7, "cast"), ({1: "x"}, "cast"), ({"a": ["x", "y"]}, "cast.a"),
    ({"judge": []}, "cast.judge"), ({"judge": ["x"] * 10}, "cast.judge"), ({"b": ""}, "cast.b"),
    ({"b": 7}, "cast.b"), ({"judge": ["x", None]}, "cast.judge"),
    ({"a": {"x": 1}}, "cast.a"), ({"a": None}, "cast.a"),
]  # fmt: skip


def test_what_is_no_cast() -> None:
    """A debater is one name, a panel up to nine, and no other seat can be filled; all that is wrong is reported at
    once."""
    for cast, named in NO_CASTS:
        assert problems(BASE | {"cast": cast}) == [named], cast
    several = {"c": "x", "a": ["x", "y"], "b": [["x"]], "judge": ["x", 5], "rapporteur": []}
    shipped = loader.load("adversarial")
    assert len(refused(shipped, cast={"a": None, "judge": [5]})) == 2
    for who in ([], ["x", "y"], 5):
        (problem,) = refused(shipped, cast={"rapporteur": who}, issues=False, brief=False)
        assert problem.startswith("cast.rapporteur: [")
    assert [one.partition(":")[0] for one in refused(shipped, cast=several)] == [
        "cast", "cast.a", "cast.b", "cast.judge", "cast.rapporteur",
    ]  # fmt: skip


def test_blank_answers_are_one_problem() -> None:
    """What was left blank is named in one sentence, and the other problems beside it; null is an answer where it means
    that there is none."""
    blank = {"topic": None, "rounds": None, "issues": None, "positions": {"a": "x", "b": None}, "cast": {"judge": None}}
    assert refused(RULES, **blank, strictness="stern", max_cost=None, quorum=None, context=None, format=None) == [
        "topic, rounds, issues, positions.b, cast.judge: these are blank. Try: fill them in, or remove the line of a "
        "setting to take its default.",
        "strictness: 'stern' is not lenient or strict.",
    ]
    assert refused(RULES, topic=None) == ["topic: this is blank. Try: fill it in."]


# Origins


@pytest.mark.parametrize("key", ["origins", "sources"])
def test_origins_are_recorded(key: str) -> None:
    """Where an answer came from is the file or a default, unless the file itself says, perhaps as earlier versions
    did."""
    stated = {"topic": "user", "positions": "derived", "strictness": "flag", "other": "user"}
    made = settle(rounds=2, **{key: stated})
    assert made.origins == {
        "topic": "user", "positions": "derived", "rounds": "file", "strictness": "flag", "output": "default",
        "first": "default", "format": "default",
    }  # fmt: skip


ANY = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text() | st.sampled_from(["a", "b", "judge"]), inner)
    ),
    max_leaves=5,
)


@many
@given(st.dictionaries(st.sampled_from(KEYS), ANY))
def test_any_answers_are_settled_or_refused(given: dict[str, Any]) -> None:
    """Whatever an answers file holds, it is settled or refused with complaints, and nothing else is raised."""
    try:
        made = answers.make_settings(BASE | given, RULES, "x.md")
    except DebateError as error:
        assert error.problems
    else:
        assert 1 <= made.rounds <= 8
        assert set(made.cast) - {"rapporteur"} == {"a", "b", "judge"}


# Mirrors, quorums, and what a format leaves open

SPEECH = phase("speech", "a", "b")
OPEN = make_format(before=[BALLOT | {"enabled_by": "blind"}], round=[SPEECH, BALLOT | {"enabled_by": "each round"}])
NUMBERED = {side: PLAIN["seats"][side] | {"name": f"Speaker {n}"} for n, side in enumerate("ab", start=1)}
SILENT = make_format(seats={side: PLAIN["seats"][side] for side in "ab"}, after=[], judged_by_format="plain")
ALONE = make_format(**ONE_SIDED)


def settled(made: Format, **given: Any) -> Settings:
    positions = {side: f"It is {side}." for side in made.sides}
    return answers.make_settings({"topic": "x", "positions": positions, **given}, made, "x.md")


def refused(made: Format, **given: Any) -> list[str]:
    with pytest.raises(BadSettings) as found:
        settled(made, **given)
    return found.value.problems


def test_what_is_left_open_is_off_unless_asked_for() -> None:
    """Nothing is mirrored, and no vote is blind or comes after each round, unless the user asks by true or false, and
    nothing else, or the format does."""
    made = settled(OPEN)
    assert (made.mirror, made.each_round, made.blind) == (False, False, False)
    numbered = make_format(seats=PLAIN["seats"] | NUMBERED, before=OPEN.before, round=OPEN.round)
    asked = settled(numbered, mirror=True, each_round=True, blind=True)
    assert (asked.mirror, asked.each_round, asked.blind) == (True, True, True)
    would = numbered.model_copy(update={"mirror": True, "each_round": True})
    assert (settled(would).mirror, settled(would).each_round) == (True, True)
    assert (settled(would, mirror=False).mirror, settled(would, each_round=False).each_round) == (False, False)

    for key in ["mirror", "each_round", "blind"]:
        for value in ["yes", 1, None, [], "true"]:
            assert [one.partition(":")[0] for one in refused(OPEN, **{key: value})] == [key], (key, value)


@for_each(
    [
        (RULES, "each_round", "the format adversarial has no such vote to choose"),
        (SILENT, "blind", "the format plain has no such vote to choose"),
        (SILENT, "mirror", "there are no votes in the format plain"),
        (ALONE, "mirror", "only one side speaks in the format plain"),
    ]
)
def test_what_a_format_does_not_have_is_refused(made: Format, key: str, why: str) -> None:
    """What a format has no place for can't be asked for, and the complaint says why; to say no to it is harmless."""
    assert refused(made, **{key: True}) == [f"{key}: {why}, so it must be false."]
    assert getattr(settled(made, **{key: False}), key) is False


def test_a_swing_needs_its_blind_vote() -> None:
    """Where the winner follows from the votes before and after, judges vote before it, and no setting turns that off.
    In a format without judging the judge's seat is not filled, and can't be; its quorum means nothing."""
    made = OPEN.model_copy(update={"decided_by": "swing"})
    assert settled(made).blind
    assert refused(made, blind=False) == [
        "blind: the winner follows from the votes before and after the debate, so it must be true."
    ]

    silent = settled(SILENT)
    assert (set(silent.cast), silent.quorum) == ({"a", "b"}, 1)
    [said] = refused(SILENT, cast={"a": "host", "judge": "host"})
    assert said.startswith("cast: the format plain has no seat 'judge', only a, b")
    assert said.endswith("Try: `debate judge` to judge a debate that is over.")


@for_each([(1, 1), (2, 2), (3, 2), (4, 3), (5, 3), (9, 5)])
def test_a_quorum_is_more_than_half_unless_it_is_set(panel: int, quorum: int) -> None:
    """How many judges must vote for there to be a decision is more than half of the panel, or what is asked for."""
    cast = {"judge": ["host"] * panel}
    assert settle(cast=cast).quorum == quorum
    assert settle(cast=cast, quorum=None).quorum == quorum
    assert [settle(cast=cast, quorum=n).quorum for n in (1, panel)] == [1, panel]


@for_each([0, -1, "2", 2.0, True, [2]])
def test_what_is_no_quorum(quorum: Any) -> None:
    """A quorum is from one judge to the whole panel."""
    (said,) = refused(RULES, quorum=quorum, cast={"judge": ["host"] * 3})
    assert "is not a whole number from 1 to the size of the panel." in said


def test_a_clerk_fetches_unless_another_is_named() -> None:
    """A clerk's seat is filled by the fetcher of pages, whatever fills the others; another may be named."""
    case = {"url": {"kind": "url"}, "quote": {"kind": "text"}}
    shapes = PLAIN["shapes"] | {
        "case": case,
        "checks": {"checks": {"kind": "list", "fields": {"turn": {"kind": "turn"}}}},
    }
    steps = [
        phase("case", "a", "b", reply="case", heard_by=["a", "b", "judge", "clerk"]),
        phase("c", "clerk", reply="checks"),
    ]
    made = make_format(seats=PLAIN["seats"] | {"clerk": {"name": "C", "tag": "C"}}, shapes=shapes, round=steps)
    assert settled(made).cast["clerk"] == ("fetch",)
    assert settled(made, cast="anthropic:x").cast == dict.fromkeys(("a", "b", "judge"), ("anthropic:x",)) | {
        "clerk": ("fetch",)
    }
    assert settled(made, cast={"clerk": "offline"}).cast["clerk"] == ("offline",)
    assert refused(made, cast={"clerk": ["fetch", "fetch"]})[0].startswith("cast.clerk: ")
    assert problems(BASE | {"cast": {"clerk": "fetch"}}) == ["cast"]


@for_each([("y", True), ("Yes", True), ("true", True), ("n", False), ("NO", False), ("maybe", "maybe")])
def test_yes_and_no(text: str, value: bool | str) -> None:
    """A switch is set by yes, no or their first letters, in any case; other text stays as it is, to be refused."""
    assert answers.from_text("search", text) == value
