"""Shapes of structured replies: the schema that is asked for, the check of an answer, and what each field may hold."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from typing import Any, get_args

import pytest
from core.folding import ADVERSARIAL, plainest_reply
from corpus import for_each
from hypothesis import given
from hypothesis import strategies as st

from debate_orchestrator.core.reply_check import MAX_TEXT_LENGTH, MAX_URL_LENGTH, beyond_targets, check
from debate_orchestrator.core.shape import Condition, Field, Shape, ShapeContext, json_schema

SHAPES = ADVERSARIAL.shapes
CONTEXT = ShapeContext(
    sides=("a", "b"),
    criteria=("argument_quality", "use_of_evidence", "directness_of_rebuttals"),
    min=1,
    max=10,
    rounds=3,
    strictness="strict",
    turns=("1.opening.a", "1.opening.b", "1.challenge.b"),
)
BALLOT: dict[str, Any] = {
    "scores": {
        "a": {"argument_quality": 7, "use_of_evidence": 6.5, "directness_of_rebuttals": 10},
        "b": {"argument_quality": 6, "use_of_evidence": 1, "directness_of_rebuttals": 5},
    },
    "strongest": {"a": "...", "b": "..."},
    "weakest": {"a": "...", "b": "..."},
    "winner": "a",
    "justification": "one sentence",
    "feedback": {"a": "...", "b": "..."},
    "unsupported_claims": [{"seat": "a", "claim": "..."}],
    "convergence": {"detected": True, "criteria": ["same claim", "only quibbles"], "side": "both"},
    "conceded": "b",
}
FINAL: dict[str, Any] = {
    "winner": "consensus",
    "converged_on": "the middle",
    "strength": "narrow",
    "justification": "3 to 5 sentences",
    "strongest_argument": {"seat": "a", "argument": "...", "why": "..."},
    "unresolved_questions": ["..."],
    "follow_up": "...",
}
DISSENT: dict[str, Any] = {
    "rows": [{"claim": "x", "a": "y", "b": "z", "status": "unresolved", "turns": ["1.opening.a", "1.challenge.b"]}]
}
VALID = [("ballot", BALLOT), ("final", FINAL), ("dissent", DISSENT)]
CALM = {"detected": False, "criteria": [], "side": None}
KNOWN = st.text() | st.sampled_from([*BALLOT, *FINAL])
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.sampled_from(["a", "tie", "consensus"]),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(KNOWN, inner, max_size=4),
    max_leaves=12,
)


def follows(schema: dict[str, Any], value: Any) -> bool:
    """Whether a value follows a schema, in the few words of JSON Schema that are used here."""
    if "anyOf" in schema:
        assert set(schema) <= {"anyOf", "description"}
        return any(follows(alternative, value) for alternative in schema["anyOf"])
    assert set(schema) <= {"type", "properties", "required", "additionalProperties", "enum", "items", "description"}
    if "enum" in schema:
        null = "null" in schema["type"]
        kinds = ("string", "boolean", ["string", "null"])
        assert schema["type"] in kinds, "every schema says its type"
        return value in schema["enum"] and (value is not None or null)
    types = schema["type"] if isinstance(schema["type"], list) else [schema["type"]]
    if "object" in types and isinstance(value, dict):
        properties = schema["properties"]
        assert (schema["required"], schema["additionalProperties"]) == (list(properties), False)
        return set(value) == set(properties) and all(follows(properties[name], value[name]) for name in value)
    if "array" in types and isinstance(value, list):
        return all(follows(schema["items"], item) for item in value)
    number = isinstance(value, int | float) and not isinstance(value, bool)
    is_a = {"string": isinstance(value, str), "boolean": isinstance(value, bool), "null": value is None}
    is_a |= {"number": number, "integer": number and isinstance(value, int)}
    return any(is_a.get(name, False) for name in types)


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The path of every value inside a value."""
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, item in inner:
        yield (*path, key)
        yield from places(item, (*path, key))


def put(value: Any, path: tuple[Any, ...], item: Any) -> Any:
    """A copy of a value with another item at a path."""
    made = copy.deepcopy(value)
    where = made
    for key in path[:-1]:
        where = where[key]
    where[path[-1]] = item
    return made


def drop(value: Any, path: tuple[Any, ...]) -> Any:
    made = put(value, path, None)
    where = made
    for key in path[:-1]:
        where = where[key]
    del where[path[-1]]
    return made


Place = tuple[str, tuple[Any, ...]]
DETECTED = ("convergence", "detected")
PLACES: list[Place] = [(name, path) for name, value in VALID for path in places(value)]
KEYS = [(name, path) for name, path in PLACES if isinstance(path[-1], str)]
PARENTS = [(name, path[:-1]) for name, path in PLACES]
LEAVES = [place for place in KEYS if place not in PARENTS]
WRONG: dict[str, Any] = {"true": True, "empty": "", "blank": " \n", "list": [], "items": ["?"], "object": {}}
WRONG |= {
    "nan": float("nan"),
    "inf": float("inf"),
    "-1": -1,
    "googols": 10**400,
    "too long": "x" * (MAX_TEXT_LENGTH + 1),
}
OF = dict(VALID)


@pytest.mark.parametrize(("name", "value"), VALID)
def test_what_is_asked_for_passes(name: str, value: dict[str, Any]) -> None:
    """A reply of the documented form has nothing to complain of, and follows the schema."""
    assert check(SHAPES[name], value, CONTEXT) == []
    assert follows(json_schema(SHAPES[name], CONTEXT), value)


@for_each(KEYS)
def test_a_missing_field_is_named(place: Place) -> None:
    """Whichever field is missing, the complaint names it or the record it should be in."""
    name, path = place
    said = check(SHAPES[name], drop(OF[name], path), CONTEXT)
    assert any(str(path[-1]) in one or str(path[-2]) in one for one in said), said


@for_each([("ballot", ()), ("ballot", ("scores",)), *PLACES])
def test_an_extra_field_is_named(place: Place) -> None:
    """A field that was not asked for is refused by its name, however deep it stands."""
    name, path = place
    where = OF[name]
    for key in path:
        where = where[key]
    if isinstance(where, dict):
        said = check(SHAPES[name], put(OF[name], (*path, "verbosity"), "high"), CONTEXT)
        assert len(said) == 1
        assert "verbosity" in said[0]


@for_each((*place, wrong) for place in LEAVES for wrong in WRONG if (place[1], wrong) != (DETECTED, "true"))
def test_a_wrong_value_is_named(given: tuple[str, tuple[Any, ...], str]) -> None:
    """A value of another type, out of range or too long is refused, and the complaint names its field in one line."""
    name, path, wrong = given
    said = check(SHAPES[name], put(OF[name], path, WRONG[wrong]), CONTEXT)
    assert any(str(path[-1]) in one for one in said), said
    assert all(len(one) < 300 and "\n" not in one for one in said)


def test_all_complaints_come_at_once() -> None:
    """Every field that is wrong is complained of in one go."""
    scores = put(BALLOT["scores"], ("a", "use_of_evidence"), 11)
    ballot = drop(BALLOT, ("feedback",)) | {"winner": "A", "scores": scores, "extra": 1, "conceded": "tie"}
    said = [one.partition(":")[0] for one in check(SHAPES["ballot"], ballot, CONTEXT)]
    assert said == ["feedback", "'extra'", "scores.a.use_of_evidence", "winner", "conceded"]


@for_each(
    [
        ({"detected": True, "criteria": [], "side": "a"}, ["convergence.criteria"]),
        ({"detected": True, "criteria": ["same claim"], "side": None}, ["convergence.side"]),
        ({"detected": True, "criteria": [], "side": None}, ["convergence.criteria", "convergence.side"]),
        ({"detected": False, "criteria": ["same claim"], "side": None}, ["convergence.criteria"]),
        ({"detected": False, "criteria": [], "side": "b"}, ["convergence.side"]),
        ({"detected": True, "criteria": ["same thing"], "side": "a"}, ["convergence.criteria"]),
        (CALM, []),
    ]
)
def test_what_depends_on_a_finding(change: dict[str, Any], named: list[str]) -> None:
    """Criteria and side are filled in with a finding of convergence, and empty without one."""
    said = check(SHAPES["ballot"], BALLOT | {"convergence": change}, CONTEXT)
    assert [one.partition(":")[0] for one in said] == named


@for_each(
    [
        (Condition(), True, True),
        (Condition(round="first"), True, False),
        (Condition(round="later"), False, True),
        (Condition(round="last"), False, True),
        (Condition(round=2), False, True),
        (Condition(rounds_at_least=3), False, False),
        (Condition(rounds_at_least=2, strictness="strict", round="first"), True, False),
        (Condition(strictness="lenient"), False, False),
    ]
)
def test_conditions(when: Condition, first: bool, later: bool) -> None:
    """All conditions that are given must hold; one on the round holds in no phase outside the rounds."""
    held = [when.holds(rounds=2, strictness="strict", round=n) for n in (1, 2, None)]
    assert held == [first, later, first and later and when.round is None]


@given(JSON, st.sampled_from(PLACES))
def test_what_passes_follows_the_schema(value: Any, place: tuple[str, tuple[Any, ...]]) -> None:
    """Whatever is in a field, a reply that the check takes also follows the schema that was asked for."""
    name, path = place
    changed = put(OF[name], path, value)
    assert check(SHAPES[name], changed, CONTEXT) or follows(json_schema(SHAPES[name], CONTEXT), changed)


def agreed(field: Field, on: bool) -> bool:
    """Whether a field, beside a flag `on`, can be filled in, and all that the check takes follows the schema."""
    shape: Shape = {"on": Field(kind="boolean"), "field": field}
    bare = field.model_copy(update={"only_if": {}, "optional": False})
    values = (plainest_reply({"field": bare}, CONTEXT)["field"], None, [], "", ["x"])
    taken = [one for one in ({"on": on, "field": value} for value in values) if not check(shape, one, CONTEXT)]
    return bool(taken) and all(follows(json_schema(shape, CONTEXT), one) for one in taken)


@for_each([{}, {"only_if": {"on": True}}, {"optional": True}, {"per_side": True}])
def test_schema_and_check_agree_on_fields_of_every_kind(how: dict[str, Any]) -> None:
    """A field of any kind, dependent, optional or for each side, can be filled in as both check and schema have it."""
    kinds = get_args(Field.model_fields["kind"].annotation)
    inner = {"x": Field(kind="text")}
    fields = {kind: Field(kind=kind, fields=inner if kind == "object" else {}, **how) for kind in kinds}
    assert [(kind, on) for kind in kinds for on in (True, False) if not agreed(fields[kind], on)] == []


CASE: Shape = {
    "refused": Field(kind="boolean"),
    "claim": Field(kind="text", max_words=5, unless={"refused": True}),
    "url": Field(kind="url", unless={"refused": True}),
    "turns": Field(kind="turns", unless={"refused": True, "claim": "none"}),
    "reason": Field(kind="text", only_if={"refused": True}),
    "notes": Field(kind="list", only_if={"refused": False}, unless={"claim": "none"}),
}
GOOD: dict[str, Any] = {
    "refused": False,
    "claim": "It is so.",
    "url": "https://example.org/a?b=c#d",
    "turns": ["1.opening.a"],
    "reason": None,
    "notes": [],
}
REFUSAL = {"refused": True, "claim": None, "url": None, "turns": [], "reason": "No.", "notes": []}


def wrong(value: Any, shape: Shape = CASE) -> list[str]:
    """The fields that are complained of."""
    said = check(shape, value, CONTEXT)
    assert not [one for one in said if "\n" in one or len(one) > 300]
    return [one.partition(":")[0] for one in said]


# Pages


NO_PAGES = [
    "", " ", "example.org", "www.example.org", "ftp://example.org", "javascript:alert(1)", "file:///etc/passwd", "https://",
    "data:text/html,x", "https:// example.org", "https://example.org/a b", "https://example.org\n", "https://e.org/\x00",
    "https://e.org/<script>", 'https://e.org/"', "https://e.org/`x`", "see https://example.org", None, 7, ["https://e.org"],
    "https://" + "x" * MAX_URL_LENGTH, "https://e.org/\x1b[1m", "https://e.org/\u2028x", "//example.org",
]  # fmt: skip


def test_what_is_no_page() -> None:
    """Whatever is not an address of a page, or holds what could end one, is refused, and what one looks like is
    said."""
    for url in NO_PAGES:
        said = check(CASE, GOOD | {"url": url}, CONTEXT)
        assert [one.partition(":")[0] for one in said] == ["url"], url
        assert (
            said[0] == f"url: it has {len(url):,} characters; write at most {MAX_URL_LENGTH:,}."
            if (isinstance(url, str) and len(url) > MAX_URL_LENGTH)
            else "the address of a page, such as https://example.org/page" in said[0]
        ), url


# Lengths


@for_each([
    (Field(kind="text", max_words=50), "", "it is empty; it must be a text of at most 50 words."),
    (Field(kind="text", max_words=1), " \n", "it is empty; it must be a text of at most 1 word."),
    (Field(kind="text", max_words=5), "x" * (MAX_TEXT_LENGTH + 1), "it has 20,001 characters; write at most 20,000."),
    (Field(kind="text"), 7, "7 is not a text."),
    (Field(kind="number", min=3), 2, "2 is not a number from 3 to 1,000,000."),
    (Field(kind="number", min=3), 2_000_000, "2000000 is not a number from 3 to 1,000,000."),
    (Field(kind="number", max=0.5), 1, "1 is not a number from -1,000,000 to 0.5."),
    (Field(kind="number", integer=True), -2_000_000, "-2000000 is not a whole number from -1,000,000 to 1,000,000."),
    (Field(kind="turn"), "1.x.a", "'1.x.a' is not the id of a turn in the transcript, which has none yet."),
    (Field(kind="turns"), ["x"], "['x'] is not a list of turn ids from the transcript, which has none yet."),
    (Field(kind="choices"), ["a"] * 101, "it has 101 items; write at most 100."),
    (Field(kind="list"), ["x"] * 101, "it has 101 items; write at most 100."),
    (Field(kind="list"), "x", "'x' is not a list."),
])  # fmt: skip
def test_problems_are_true(field: Field, value: Any, problem: str) -> None:
    """A problem names the limit that a value breaks, and none that it keeps."""
    without_turns = ShapeContext(**(CONTEXT.model_dump() | {"turns": ()}))
    assert check({"it": field}, {"it": value}, without_turns) == [f"it: {problem}"]


# What depends on what is beside it


def test_what_is_left_out_unless() -> None:
    """A field is filled in unless one beside it has a value that bars it; then it is empty, as nothing else will do."""
    assert (wrong(GOOD), wrong(REFUSAL)) == ([], [])
    assert wrong(REFUSAL | {"claim": "It is so.", "url": GOOD["url"], "turns": ["1.opening.a"]}) == [
        "claim",
        "url",
        "turns",
    ]
    assert wrong(GOOD | {"claim": None, "url": None, "turns": []}) == ["claim", "url", "turns"]


@pytest.mark.parametrize(("words", "problems"), [(15, 0), (16, 1)])
def test_a_text_may_be_half_as_long_again(words: int, problems: int) -> None:
    """A text is sent back for its length only beyond one and a half times the words that were asked for."""
    shape = {"why": Field(kind="text", target_words=10)}
    assert len([*beyond_targets(shape, {"why": "word " * words})]) == problems


def test_a_form_names_every_blank() -> None:
    """Also one in a list, by its number from 1."""
    shape = {"rows": Field(kind="list", fields={"claim": Field(kind="text"), "why": Field(kind="text")})}
    blank = {"rows": [{"claim": "x", "why": None}]}
    assert check(shape, blank, CONTEXT, is_form=True) == ["rows[1].why: this is blank. Try: fill it in."]
