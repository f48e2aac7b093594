"""A form asks for what its shape wants and nothing else, and what it amounts to passes the shape's own check."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from debate_orchestrator.core.reply_check import check
from debate_orchestrator.core.shape import Field, Shape, ShapeContext, json_schema
from debate_orchestrator.formats import loader
from debate_orchestrator.prompting import forms
from debate_orchestrator.prompting.forms import WHETHER_ANY, FieldPath, FormQuestion
from debate_orchestrator.util.errors import BadReply

CONTEXT = ShapeContext(
    sides=("a", "b"), criteria=("depth", "wit"), min=1, max=10, rounds=2, strictness="strict",
    turns=("1.opening.a", "1.opening.b"), scales={"wit": (0, 1)},
)  # fmt: skip
KINDS = ("text", "url", "boolean", "number", "choice", "choices", "list", "object", "scores", "turn", "turns")


def leaf(kind: str, *, empty: bool = False, **more: Any) -> FormQuestion:
    return FormQuestion(("x",), Field(kind=kind, optional=empty, **more), "", empty)  # type: ignore[arg-type]


@st.composite
def shapes(draw: st.DrawFn, depth: int = 2) -> Shape:
    """Shapes of every kind of field, some of which depend on a flag or a choice beside them."""
    made: Shape = {"sure": Field(kind="boolean"), "who": Field(kind="choice", options=("a", "b", "tie"))}
    names = draw(st.lists(st.sampled_from(["claim", "why", "scores", "rows", "part"]), unique=True, max_size=4))
    for name in names:
        kind = draw(st.sampled_from([one for one in KINDS if depth or one != "object"]))
        more: dict[str, Any] = {"optional": draw(st.booleans()), "per_side": draw(st.booleans())}
        if kind in ("object", "scores"):
            more["per_side"] = False
        if kind == "object" or (kind == "list" and depth and draw(st.booleans())):
            more["fields"] = draw(shapes(depth=depth - 1))
        if kind == "number":
            more |= {"min": 0, "max": 5, "integer": draw(st.booleans())}
        if kind == "text" and draw(st.booleans()):
            more["max_words"] = 3
        if draw(st.booleans()):
            more["only_if"] = {"sure": draw(st.booleans())}
        elif draw(st.booleans()):
            more["unless"] = {"who": draw(st.sampled_from(["a", "tie"]))}
        made[name] = Field(kind=kind, **more)
    order = draw(st.permutations(list(made)))
    return {name: made[name] for name in order}


SHORT = ("", "yes", "no", "1", "2", "3", "7.5", "0", "a", "TIE", "1, 2", "99", "-1", "ti", "1 2", "\n")
LONG = (
    "1.opening.a",
    "1.opening.b,1.opening.a",
    "https://example.org/x",
    "http://no url",
    "a word",
    "7 0.5",
    "one too many",
)
SAID = st.sampled_from(SHORT + LONG)


def unanswered(shape: Shape, entered: Mapping[FieldPath, str]) -> list[FormQuestion]:
    """The questions that have no valid answer."""
    questions = forms.form_questions(shape, CONTEXT, entered)
    return [question for question in questions if not forms.has_valid_answer(question, CONTEXT, entered)]


@given(st.data(), shapes())
def test_what_was_filled_in_will_do(data: st.DataObject, shape: Shape) -> None:
    """However a form is filled in, in whatever order answers are changed: when nothing is missing, the check of the
    shape has nothing to say; and whatever answer is taken alone is one that the check lets pass."""
    entered: dict[FieldPath, str] = {}
    for _ in range(60):
        questions = forms.form_questions(shape, CONTEXT, entered)
        missing = unanswered(shape, entered)
        again = not missing or data.draw(st.integers(0, 20)) == 0
        question = data.draw(st.sampled_from(questions)) if again else missing[0]
        said = data.draw(SAID)
        try:
            forms.parse_answer(question, CONTEXT, said)
        except BadReply as error:
            assert error.problems
            continue
        entered[question.field_path] = said
        if (value := forms.form_value(shape, CONTEXT, entered)) is not None:
            assert check(shape, value, CONTEXT) == []
            assert not unanswered(shape, entered)


@given(shapes(), st.data())
def test_a_form_can_be_filled_in(shape: Shape, data: st.DataObject) -> None:
    """Every form comes to an end: there is an answer to each of its questions."""
    good = {"text": "word", "url": "https://example.org/", "boolean": "no", "number": "1", "choice": "1", "turn": "1"}
    good |= {"choices": "1", "turns": "1", "scores": "1 1"}
    entered: dict[FieldPath, str] = {}
    while missing := unanswered(shape, entered):
        question = missing[0]
        yes = (
            data.draw(st.booleans())
            and len(question.field_path) < 12
            and question.field_path[-2:-1] in ((), ("1",), ("rows",))
        )
        said = "yes" if question.field.kind == "boolean" and yes else good[question.field.kind]
        said = "" if question.may_be_empty and (question.ends or question.field.kind == "text") and not yes else said
        forms.parse_answer(question, CONTEXT, said)
        entered[question.field_path] = said

    value = forms.form_value(shape, CONTEXT, entered)
    assert value is not None
    assert check(shape, value, CONTEXT) == []


def test_every_shape_that_ships_has_a_form() -> None:
    """The first questions of every shipped shape are in the order of its fields, and all of it can be asked for."""
    for name in ("adversarial", "panel", "claim", "question"):
        for shape in loader.load(name).shapes.values():
            assert forms.form_questions(shape, CONTEXT, {}), name


TYPED_ANSWERS = [
    (leaf("text"), "  two words ", "two words"),
    (leaf("url"), "https://example.org/a", "https://example.org/a"),
    (leaf("boolean"), "Y", True),
    (leaf("boolean"), "no", False),
    (leaf("number", min=1, max=10), "7.5", 7.5),
    (leaf("number", integer=True), "7", 7),
    (leaf("choice"), "b", "b"),
    (leaf("choice", options=("a", "b", "tie")), "3", "tie"),
    (leaf("choice", options=("a", "b", "tie")), "T", "tie"),
    (leaf("choice", options=("held", "granted")), "G", "granted"),
    (leaf("choice", options=("3", "2")), "3", "3"),
    (leaf("choices", options=("same claim", "yes, but")), "2", ["yes, but"]),
    (leaf("choices", options=("same claim", "yes, but")), "yes, but", ["yes, but"]),
    (leaf("choices", options=("one", "two", "three")), "1 3, one", ["one", "three"]),
    (leaf("turn"), "2", "1.opening.b"),
    (leaf("turns"), "1.opening.b, 1", ["1.opening.b", "1.opening.a"]),
    (leaf("choice", empty=True), "", None),
    (leaf("text", empty=True), " ", None),
    (leaf("choices", empty=True), "", []),
    (leaf("turns", empty=True), "", []),
]


def test_what_an_answer_means() -> None:
    """Answers are taken by name, by number, and by a beginning that is the only one."""
    for question, text, value in TYPED_ANSWERS:
        assert forms.parse_answer(question, CONTEXT, text) == value, question


REFUSED_ANSWERS = [
    (leaf("text"), "  ", "^it is empty; it must be a text.$"),
    (leaf("text", max_words=2), "one two three", "^it has 3 words; write at most 2.$"),
    (leaf("url"), "example.org", "the address of a page"),
    (leaf("boolean"), "perhaps", "yes or no"),
    (leaf("number", min=1, max=10), "11", "a number from 1 to 10"),
    (leaf("number", min=1, max=10), "7,5", "a number from 1 to 10"),
    (leaf("number", min=1, max=10), "1e1", "a number from 1 to 10"),
    (leaf("number", integer=True), "7.5", "a whole number"),
    (leaf("choice"), "c", "one of a, b"),
    (leaf("choice", options=("same", "some")), "s", "one of same, some"),
    (leaf("choice"), "", "one of a, b"),
    (leaf("choices", options=("one", "two")), "one, three", "any of one, two"),
    (leaf("turn"), "9.opening.a", "the id of a turn"),
    (leaf("turns"), "", "a list of turn ids"),
]


def test_what_will_not_do() -> None:
    """What is invalid is reported, with what is expected."""
    for question, text, said in REFUSED_ANSWERS:
        with pytest.raises(BadReply, match=said):
            forms.parse_answer(question, CONTEXT, text)


def places(shape: Shape, **entered: str) -> list[str]:
    given = {tuple(name.split("__")): text for name, text in entered.items()}
    return ["/".join(question.field_path) for question in forms.form_questions(shape, CONTEXT, given)]


def test_fields_that_depend_on_others() -> None:
    """A field that depends on another is asked for as soon as that is known, wherever it stands, and no more when it
    is changed; what was entered there meanwhile comes back with it."""
    shape: Shape = {"why": Field(kind="text", only_if={"sure": True}), "sure": Field(kind="boolean")}

    assert places(shape) == ["sure"]
    assert places(shape, sure="yes") == ["why", "sure"]
    entered: dict[FieldPath, str] = {("sure",): "yes", ("why",): "So."}
    assert forms.form_value(shape, CONTEXT, entered) == {"why": "So.", "sure": True}
    assert forms.form_value(shape, CONTEXT, entered | {("sure",): "no"}) == {"why": None, "sure": False}
    assert forms.form_value(shape, CONTEXT, entered | {("sure",): "yes"}) == {"why": "So.", "sure": True}


def test_scores() -> None:
    """The scores of a side are one line of numbers, each on its own scale; what is wrong is reported by criterion."""
    shape: Shape = {"scores": Field(kind="scores")}
    first, second = forms.form_questions(shape, CONTEXT, {})

    assert (first.field_path, second.field_path) == (("scores", "a"), ("scores", "b"))
    assert forms.parse_answer(first, CONTEXT, "7, 0.5") == {"depth": 7, "wit": 0.5}
    assert forms.form_value(shape, CONTEXT, {first.field_path: "7 1"}) is None
    with pytest.raises(BadReply, match=r"^wit: 7 is not a number from 0 to 1"):
        forms.parse_answer(second, CONTEXT, "7 7")
    with pytest.raises(BadReply, match="2 numbers are needed, one for each of: depth, wit"):
        forms.parse_answer(second, CONTEXT, "7")


def test_a_short_form_asks_what_only_a_person_knows() -> None:
    """Of a shipped ballot at most six questions are asked, scores and choices among them; completed with defaults, it
    is a reply that the schema takes."""
    for name, reply in (("adversarial", "ballot"), ("adversarial", "final"), ("panel", "ballot"), ("claim", "final")):
        shape = loader.load(name).shapes.get(reply)
        if shape is None:
            continue
        every = forms.form_questions(shape, CONTEXT, {})
        asked = forms.short_form_questions(every)
        entered = {
            question.field_path: {"scores": "7 1", "text": "So."}.get(question.field.kind, "1") for question in asked
        }
        full = forms.with_defaults(shape, CONTEXT, entered)

        assert len(asked) <= forms.MAX_ASKED, name
        assert all(question in asked for question in every if question.default is None), name
        value = forms.form_value(shape, CONTEXT, full)
        assert value is not None and check(shape, value, CONTEXT) == [], name


def test_lists() -> None:
    """A list ends with an empty item, one of records where its first field is left empty; of records that may begin
    with nothing, when no further one is wanted."""
    texts: Shape = {"open": Field(kind="list")}
    pairs: Shape = {"rows": Field(kind="list", fields={"claim": Field(kind="text"), "sure": Field(kind="boolean")})}
    rows: Shape = {"rows": Field(kind="list", fields={"claim": Field(kind="text", optional=True)})}

    assert places(texts, open__1="one") == ["open/1", "open/2"]
    assert forms.form_value(texts, CONTEXT, {("open", "1"): "one", ("open", "2"): ""}) == {"open": ["one"]}
    assert places(pairs) == places(pairs, rows__1__claim="") == ["rows/1/claim"]
    assert places(pairs, rows__1__claim="So.") == ["rows/1/claim", "rows/1/sure"]
    one = {("rows", "1", "claim"): "So.", ("rows", "1", "sure"): "no", ("rows", "2", "claim"): ""}
    assert forms.form_value(pairs, CONTEXT, one) == {"rows": [{"claim": "So.", "sure": False}]}
    gate = f"rows__1__{WHETHER_ANY}"
    assert places(rows) == [f"rows/1/{WHETHER_ANY}"]
    assert places(rows, **{gate: "yes"}) == [f"rows/1/{WHETHER_ANY}", "rows/1/claim"]
    filled = {gate: "yes", "rows__1__claim": "It is."}
    assert places(rows, **filled)[-1] == f"rows/2/{WHETHER_ANY}"
    assert forms.form_value(rows, CONTEXT, {("rows", "1", WHETHER_ANY): "no"}) == {"rows": []}


def test_titles_of_questions() -> None:
    """A place is read as people do, with sides and criteria by their names."""
    shapes = loader.load("adversarial").shapes
    names = {"a": "Researcher A", "b": "Researcher B"}

    def labels(shape: Shape, entered: Mapping[FieldPath, str] = MappingProxyType({})) -> list[str]:
        return [
            forms.question_title(question, lambda part: names.get(part, ""))
            for question in forms.form_questions(shape, CONTEXT, entered)
        ]

    claim = {("unsupported_claims", "1", "seat"): "a", ("unsupported_claims", "1", "claim"): "So."}
    assert {"Scores: Researcher A", "Unsupported claims 1: Side"} <= {*labels(shapes["ballot"])}
    assert "Unsupported claims 2: Side" in labels(shapes["ballot"], claim)
    assert "Disputed claims 1: Claim" in labels(shapes["dissent"])
    assert {"Disputed claims 1: Researcher A"} <= {*labels(shapes["dissent"], {("rows", "1", "claim"): "So."})}
    assert "Strongest argument: Side" in labels(shapes["final"])
    extra = {"extra": Field(kind="object", optional=True, fields={"why": Field(kind="text")})}
    assert labels(extra) == ["Extra (anything?)"]


def test_a_field_is_called_as_its_format_says() -> None:
    """A field without a title of its own goes by its name, whatever a shipped format calls a field of that name, and
    what it is about is shown whole."""
    about = "what the p-value shows; null hypothesis kept or not"
    shape = {
        "rounds": Field(kind="text", about=about),
        "seat": Field(kind="text", title="Chair", about="who sits there", null_when="if none does", optional=True),
    }
    first, second = forms.form_questions(shape, CONTEXT, {})

    assert [forms.question_title(question, lambda part: "") for question in (first, second)] == ["Rounds", "Chair"]
    assert (first.about, second.about) == (about, "who sits there")
    described = json_schema(shape, CONTEXT)["properties"]
    assert [described[name]["description"] for name in shape] == [about, "who sits there; null if none does"]
