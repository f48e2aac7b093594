"""The numbers of a format: none makes the program build more than a reply may hold, in memory or in a schema."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import changed_formats
import journals
import pytest
from conftest import Run
from core import folding
from hypothesis import given
from hypothesis import strategies as st
from own_formats import FORMAT, written
from pydantic import ValidationError
from scripted_debates import rules

from debate_orchestrator.core import schedule, shape_size
from debate_orchestrator.core.events import Event, Opened
from debate_orchestrator.core.fold import apply, fold
from debate_orchestrator.core.format import Format
from debate_orchestrator.core.json_schema import json_schema
from debate_orchestrator.core.reply_check import check
from debate_orchestrator.core.shape import Field, Shape, ShapeContext
from debate_orchestrator.engine import dry_run
from debate_orchestrator.engine.estimate import estimate
from debate_orchestrator.prompting import replies
from debate_orchestrator.prompting.fields import empty_form
from debate_orchestrator.providers import rehearse
from debate_orchestrator.providers.rehearse import Filler
from debate_orchestrator.util.errors import BadReply

ISSUES = tuple(f"I{n}" for n in range(1, 101))
TERMS = ShapeContext(
    sides=("a", "b"), criteria=("wit",), least=0, most=5, rounds=2, strictness="plain", turns=("1.a", "1.b"),
    issues=ISSUES,
)  # fmt: skip
WINNER = "    winner: {kind: choice, of: [a, b, tie, consensus]}\n"
MOST_VALUES = shape_size.MAX_VALUES + 2 * 500


def nested(depth: int, **limits: Any) -> dict[str, Any]:
    """A list of lists of ... lists of texts, each with the same limits."""
    field: dict[str, Any] = {"kind": "list", **limits}
    for _ in range(depth - 1):
        field = {"kind": "list", **limits, "fields": {"x": field}}
    return field


def branching(depth: int, options: int) -> dict[str, Any]:
    """A record in which one text each depends on an option, and the next such record stands in each alternative."""
    names = [f"o{n}" for n in range(options)]
    fields: dict[str, Any] = {"c": {"kind": "choice", "of": names}}
    fields |= {name: {"kind": "text", "only_if": {"c": name}} for name in names}
    return {"kind": "record", "fields": fields | ({"more": branching(depth - 1, options)} if depth > 1 else {})}


def per_issue(depth: int) -> dict[str, Any]:
    """Records within records, each of them for every issue."""
    inner = {"kind": "text"} if depth == 1 else per_issue(depth - 1)
    return {"kind": "record", "per_issue": True, "fields": {"x": inner}}


TOO_LARGE = [
    ({"kind": "list", "least": 1e9}, "has 1e+09 as `least`; it must be from 0 to 100"),
    ({"kind": "list", "most": 101}, "has 101 as `most`; it must be from 0 to 100"),
    ({"kind": "list", "least": -1}, "has -1 as `least`; it must be from 0 to 100"),
    ({"kind": "number", "most": 1e300}, "has 1e+300 as `most`; it must be from -1,000,000 to 1,000,000"),
    ({"kind": "number", "least": -1e300}, "has -1e+300 as `least`; it must be from -1,000,000 to 1,000,000"),
    ({"kind": "text", "words": 0}, "has a number of words in `words` that is not from 1 to 20,000"),
    ({"kind": "text", "asked_words": 10**30}, "has a number of words in `asked_words` that is not from 1 to 20,000"),
    (nested(4, least=100, most=100), "asks for 101,010,102 values in a reply with the fewest items; at most 3,000"),
    (nested(2, least=100, optional=True), "asks for 10,102 values in a reply with the fewest items; at most 3,000"),
    (per_issue(3), "asks for 2,010,101 values in a reply with the fewest items; at most 3,000"),
    (branching(5, 40), "has a JSON Schema of about "),
]


@pytest.mark.parametrize(("field", "said"), TOO_LARGE)
def test_a_format_that_asks_for_too_much_is_refused(debate: Run, here: Path, field: dict[str, Any], said: str) -> None:
    """It is refused in one sentence, in a file and in a journal, before anything is played."""
    text = FORMAT.replace(WINNER, f"{WINNER}    extra: {json.dumps(field)}\n")
    ran = debate("formats", str(written(here / "mine", format_yaml=text)))

    assert ran.code == 2 and said in ran.err and "Traceback" not in ran.err
    assert ran.err.count("mine/format.yaml:") == 1


@pytest.mark.parametrize("field", [field for field, _ in TOO_LARGE])
def test_a_journal_whose_format_asks_for_too_much_is_refused(debate: Run, here: Path, field: dict[str, Any]) -> None:
    """No verb works with it."""
    event = folding.opened(1).model_dump(mode="json")
    event["format"]["shapes"]["final"]["extra"] = field
    Path("x.journal.jsonl").write_bytes(journals.line(1, journals.START, event))
    for verb in ("resume", "report", "check"):
        ran = debate(verb, "x.journal.jsonl")
        assert ran.code == 2 and "line 1 holds" in ran.err and "format: Value error, final" in ran.err, verb


@pytest.mark.parametrize(
    ("place", "entries", "said"),
    [
        ("shapes", {f"s{n}": {} for n in range(251)}, "shapes has 251 entries; at most 250"),
        ("winner_of", {f"l{n}": "a" for n in range(101)}, "winner_of has 101 entries; at most 100"),
        ("context_heard_by", ["a"] * 6, "context_heard_by has 6 entries; at most 5"),
        ("seats", ["a"] * 6, "seats has 6 entries; at most 5"),
        ("heard_by", ["a"] * 6, "heard_by has 6 entries; at most 5"),
        ("refusals_heard_by", ["a"] * 6, "refusals_heard_by has 6 entries; at most 5"),
        ("convergence", {f"c{n}": "x" for n in range(101)}, "convergence has 101 entries; at most 100"),
    ],
)
def test_a_format_has_no_more_entries_than_a_debate_uses(place: str, entries: Any, said: str) -> None:
    """Lists and mappings that every brief looks through have a bound."""
    data = rules("adversarial").model_dump(mode="json")
    phase, rubric = data["round"][0], data["rubric"]
    holder = next(holder for holder in (phase, rubric, data) if place in holder)
    holder[place] = entries
    with pytest.raises(ValidationError, match=said):
        Format.model_validate(data)


def test_a_condition_on_very_many_options_is_refused(debate: Run, here: Path) -> None:
    """It is told in plain words, with its place."""
    options = json.dumps([f"o{n}" for n in range(101)])
    text = FORMAT.replace("    reply: final\n", f"    reply: final\n    when: {{option: {options}}}\n")
    ran = debate("formats", str(written(here / "mine", format_yaml=text)))

    assert ran.code == 2 and "when.option: a list should be a list that is not so long." in ran.err


def values(value: Any) -> int:
    """How many values there are in plain data, the mappings and lists that hold others included."""
    held = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return 1 + sum(map(values, held))


@pytest.mark.parametrize(
    "field",
    [
        nested(6),
        nested(2, least=50),
        nested(3, least=13),
        {"kind": "list", "least": 100, "fields": {f"f{n}": {"kind": "text"} for n in range(28)}},
        {"kind": "record", "per_issue": True, "fields": {f"f{n}": {"kind": "text"} for n in range(28)}},
        {"kind": "list", "fields": {f"f{n}": nested(4, least=2) for n in range(50)}},
    ],
)
def test_the_largest_replies_are_rehearsed(field: dict[str, Any]) -> None:
    """What a format may ask for at the most is filled in by a stand-in, within what a reply may hold."""
    shape = {"it": Field.model_validate(field)}
    assert shape_size.size_problem("final", shape, 2, 1) is None
    made = Filler(TERMS).reply(shape, "final.verdict.judge")

    assert check(shape, made, TERMS) == []
    assert values(made) <= MOST_VALUES
    assert len(json.dumps(made, indent=1)) <= replies.MAX_SIZE


@pytest.mark.parametrize(
    ("least", "most"), [(999_999, None), (None, -999_999), (-1_000_000, 1_000_000), (1_000_000, None), (0.5, None)]
)
def test_a_number_of_any_range_is_rehearsed(least: float | None, most: float | None) -> None:
    """A number at the end of what numbers may be is within it."""
    shape = {"it": Field(kind="number", least=least, most=most)}
    assert check(shape, Filler(TERMS).reply(shape, "final"), TERMS) == []


def opened_without_a_legal_number() -> Opened:
    """A debate whose last verdict wants a whole number where there is none."""
    data = rules("adversarial").model_dump(mode="json")
    data["shapes"]["final"]["extra"] = {"kind": "number", "whole": True, "least": 0.4, "most": 0.6}
    return folding.opened(1, rules=Format.model_validate(data))


def test_a_debate_that_stand_ins_can_not_play_is_not_estimated() -> None:
    """The estimate says in one sentence which turn no stand-in can take, and why."""
    made = estimate(opened_without_a_legal_number())
    assert made.calls == 0 and made.short() == "not estimated"
    assert made.sentence().startswith(
        "not estimated: a stand-in can't take the turn final.verdict.judge (final.verdict.judge: extra: 0.5 is not "
    )
    assert made.sentence().count("\n") == 0


def test_resuming_says_why_nothing_is_estimated(debate: Run, here: Path) -> None:
    """A verb that tells the estimate first goes on without one: here the turns are the host's."""
    journals.written(Path("x.journal.jsonl"), [opened_without_a_legal_number()])
    ran = debate("resume", "x.journal.jsonl", "--trust")
    assert "not estimated: a stand-in can't take the turn final.verdict.judge" in ran.err
    assert "Traceback" not in ran.err


def test_a_brief_after_no_speech_is_rehearsed_or_told() -> None:
    """A format may have a decision brief and no speech; then a stand-in has none to name."""
    data = rules("adversarial").model_dump(mode="json")
    for group in ("before", "round", "after"):
        data[group] = [phase for phase in data[group] if phase["reply"] != "text"]
    opened = folding.opened(1, rules=Format.model_validate(data), brief=True)
    assert "ZeroDivisionError" not in estimate(opened).sentence()


USUAL = (1, 2, 3, 5, 10, 50, 100)
ODD = (0, -1, 0.5, 2.5, 101, 1e6, 1_000_001, 1e9, 1e300, -1e300, 5e-324, 10**18, None)
_KEYS = (
    "least", "most", "words", "asked_words", "tokens", "least_words", "most_words", "weight", "panel", "default",
    "insist", "most_in_a_row", "rounds_at_least", "round",
)  # fmt: skip


def numbers(data: Any, chance: random.Random) -> Iterator[tuple[dict[str, Any], str]]:
    """Every place of a format's data in which a number may stand."""
    match data:
        case dict():
            for key, value in data.items():
                if key in _KEYS and (value is None or isinstance(value, int | float)):
                    yield data, key
                yield from numbers(value, chance)
        case list():
            for value in data:
                yield from numbers(value, chance)


def number(chance: random.Random) -> float | None:
    """A number that a format may have, more often than not."""
    return chance.choice(USUAL if chance.random() < 0.7 else ODD)


def spoil(data: dict[str, Any], chance: random.Random) -> None:
    """Changes one number of a format, or adds lists within lists, or values for every side and issue."""
    shape = chance.choice([*data["shapes"].values()] or [{}])
    if chance.random() < 0.6 or not shape:
        holder, key = chance.choice([*numbers(data, chance)])
        holder[key] = number(chance)
        return
    limits = {"least": number(chance), "most": number(chance)}
    depth = chance.randint(1, 5)
    field = chance.choice([nested(depth, **limits), branching(depth, 3), per_issue(min(depth, 2))])
    field |= {key: True for key in ("per_side", "per_issue", "optional") if chance.random() < 0.3}
    shape[f"extra{len(shape)}"] = {"kind": "record", "fields": {"x": field}} if chance.random() < 0.3 else field


@given(seed=st.integers(0, 2**32), name=st.sampled_from(changed_formats.SHIPPED), changes=st.integers(1, 3))
def test_any_numbers_are_refused_or_played(seed: int, name: str, changes: int) -> None:
    """Whatever the numbers of a format are, it is refused in sentences, or every reply, schema and form of a debate by
    it is within bounds, and what can't be played is told."""
    chance = random.Random(seed)
    data = rules(name).model_dump(mode="json")
    for _ in range(changes):
        spoil(data, chance)
    try:
        format = Format.model_validate(data)
        opened = dry_run.opened(format, {}, min(format.rounds.default, 3))
    except ValidationError as error:
        assert all(item["msg"] for item in error.errors())
        return
    debate, turns = fold([opened]), 0
    while (due := debate.due) and turns < 40:
        for turn in due:
            turns += 1
            if (shape := debate.shape(turn)) is not None:
                assert_bounded(shape, schedule.shape_context(debate, turn))
            try:
                event: Event = replies.parse_reply(debate, turn, folding.reply(rehearse.reply_for(debate, turn)), None)
            except BadReply as error:
                assert error.problems[0].startswith(turn.id)
                return
            debate = apply(debate, event)


def assert_bounded(shape: Shape, context: ShapeContext) -> None:
    """What is made of a shape is within bounds."""
    assert values(Filler(context).reply(shape, "x")) <= MOST_VALUES
    assert values(empty_form(shape, context)) <= MOST_VALUES
    assert len(json.dumps(json_schema(shape, context))) <= shape_size.MAX_SCHEMA_LENGTH


def test_shipped_formats_are_far_from_the_bounds() -> None:
    """A format of one's own may ask for many times what the shipped ones do."""
    for name in changed_formats.SHIPPED:
        format = rules(name)
        for shape in format.shapes.values():
            tenfold = {f"{n}{key}": field for n in range(10) for key, field in shape.items()}
            found = shape_size.size_problem("x", tenfold, len(format.sides), len(format.rubric.criteria))
            assert found is None or "fields; at most 300" in found[1]


def test_problems_are_not_looked_for_without_end() -> None:
    """A short reply of lists within lists could lack millions of fields; a few are told. What is asked of the items
    of a list is worked out once for all of them."""
    fields = {f"f{n}": Field(kind="text") for n in range(50)}
    shape = {"s": Field(kind="list", fields={"t": Field(kind="list", fields=fields)})}
    context = ShapeContext(sides=("a", "b"), criteria=(), least=1, most=10, rounds=1, strictness="strict")
    problems = check(shape, {"s": [{"t": [{}] * 100}] * 100}, context)

    assert 20 < len(problems) <= 20 + len(fields)
