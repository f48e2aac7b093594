"""Shapes of hundreds of fields, in a stranger's format: their work, and the length of what is said of a reply."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any
from unittest.mock import patch

import pytest
from core import test_decision as decision
from core.folding import debated
from counting import calls
from reply_codes import code_of

from debate_orchestrator.core import rapporteur
from debate_orchestrator.core.events import Rejected
from debate_orchestrator.core.reply import Reply
from debate_orchestrator.core.reply_check import beyond_limits, check
from debate_orchestrator.core.schedule import shape_context
from debate_orchestrator.core.shape import Condition, Field, Shape, ShapeContext, applies
from debate_orchestrator.core.transcript_entries import as_text
from debate_orchestrator.prompting import normalize as normalizing
from debate_orchestrator.prompting.briefs import MAX_FORMER_LENGTH, Brief, brief
from debate_orchestrator.prompting.normalize import normalize
from debate_orchestrator.prompting.replies import parse_reply
from debate_orchestrator.prompting.reply_code import ReplyCode, coded_shape, with_codes
from debate_orchestrator.reports.rich_text import FieldText
from debate_orchestrator.util.errors import MAX_LISTED, MAX_TOLD_LENGTH, BadReply, short_repr

CONTEXT = ShapeContext(
    sides=("a", "b"), criteria=(), least=1, most=10, rounds=1, strictness="strict", issues=("I1", "I2"), options=("x",)
)
CODE = ReplyCode(field="code", end_field="end_code", text="BCDFGH")
NO_SIDES: dict[str, frozenset[str]] = {"a": frozenset(), "b": frozenset()}
NOT_ASKED = Condition(option=tuple(f"o{n}" for n in range(95)))


def in_lists(fields: Shape) -> Shape:
    """A shape of lists in a list, whose items have these fields."""
    inner = {"inner": Field(kind="list", fields=fields)}
    return {"outer": Field(kind="list", fields={"middle": Field(kind="list", fields=inner)})}


def of_empty(outer: int, middle: int, inner: int) -> dict[str, Any]:
    """A reply of such a shape, with so many items in each list, and nothing in the innermost."""
    return {"outer": [{"middle": [{"inner": [{}] * inner}] * middle}] * outer}


def coded(value: Any) -> Any:
    """A reply with the code in every record."""
    if isinstance(value, list):
        return [coded(item) for item in value]
    return {"code": CODE.text, **{name: coded(item) for name, item in value.items()}}


Work = Callable[[Shape, Mapping[str, Any]], object]
WORK: dict[str, tuple[Condition, Work]] = {
    "check": (NOT_ASKED, lambda shape, value: check(shape, value, CONTEXT)),
    "limits": (NOT_ASKED, lambda shape, value: list(beyond_limits(shape, value))),
    "text": (NOT_ASKED, as_text),
    "report": (NOT_ASKED, lambda shape, value: [FieldText({}).row(shape["outer"].fields, {}) for _ in range(400)]),
    "read": (Condition(), lambda shape, value: normalize(shape, value, CONTEXT, NO_SIDES)),
    "read coded": (
        Condition(),
        lambda shape, value: normalize(shape, coded(value) | {"end_code": CODE.text}, CONTEXT, NO_SIDES, CODE),
    ),
}


@pytest.mark.parametrize("work", WORK)
def test_an_empty_record_takes_no_work_for_each_field_of_its_shape(work: str) -> None:
    """A reply may hold thousands of lists of one record with nothing in it, and a shape hundreds of fields: the one
    does not multiply the other."""
    when, done = WORK[work]
    value = of_empty(40, 10, 1)
    few, many = (wide(count, when) for count in (5, 280))

    assert 400 < calls(lambda: done(many, value)) < 1.5 * calls(lambda: done(few, value))


def wide(fields: int, when: Condition) -> Shape:
    """A shape of lists, each with so many fields."""
    shape = in_lists(own := {f"f{n}": Field(kind="text", when=when) for n in range(fields)})
    outer = shape["outer"]
    return {"outer": outer.model_copy(update={"fields": outer.fields | own})}


LONG = Field(kind="choice", of=tuple(f"{n} " + "x" * 190 for n in range(100)))
CONDITIONAL = Field(kind="flag", only_if={f"f{m} " + "x" * 190: True for m in range(200)})
STRANGE: dict[str, Shape] = {
    "lists of records": in_lists({f"f{n}": Field(kind="text") for n in range(280)}),
    "long names": in_lists({f"f{n} " + "x" * 190: Field(kind="text") for n in range(280)}),
    "long choices": in_lists({f"f{n}": LONG for n in range(280)}),
    "choices for each issue": in_lists({f"f{n}": LONG.model_copy(update={"per_issue": True}) for n in range(280)}),
    "conditions": in_lists(dict.fromkeys((f"f{n}" for n in range(280)), CONDITIONAL)),
}


@pytest.mark.parametrize("kind", ["choice", "choices"])
def test_a_value_that_is_no_option_takes_no_work_for_each_option(kind: Any) -> None:
    """A reply may hold thousands of values, and a choice a hundred options."""
    value = [{"x": "y" if kind == "choice" else ["y"] * 10}] * 40
    few, many = (in_lists({"x": Field(kind=kind, of=LONG.of[:count])}) for count in (3, 100))
    reply = {"outer": [{"middle": [{"inner": value}]}]}

    taken = [calls(partial(normalize, shape, reply, CONTEXT, NO_SIDES)) for shape in (few, many)]

    assert 400 < taken[1] < taken[0] + 20 * len(LONG.of)


def test_a_list_of_choices_is_read_by_its_options() -> None:
    """A phrase that two options share means neither; another name of a draw, and of a side, means one."""
    options = ("Yes", "yes!", "Maybe so", "tie", "a")
    sides = {"a": frozenset({"pro"}), "b": frozenset({"con"})}
    value = {"x": ["maybe SO", "YES", "a draw", "the Pro", "winner tie", "con", "Yes"]}

    read = normalize({"x": Field(kind="choices", of=options)}, value, CONTEXT, sides)

    assert read.value["x"] == ["Maybe so", "YES", "tie", "a", "tie", "con", "Yes"]


def test_a_record_without_its_codes_takes_no_work_for_each_of_them() -> None:
    """A record of words and decisions in turn has a code before each of the decisions; those that are missing are
    counted, and the first are named."""
    kinds: tuple[Any, Any] = ("text", "flag")
    few, many = (
        coded_shape(in_lists({f"f{n}": Field(kind=kinds[n % 2]) for n in range(count)}), CONTEXT, CODE)
        for count in (10, 280)
    )
    value = {"outer": [{"middle": [{"inner": [{}] * 100}] * 5}]}

    taken = [calls(partial(normalize, shape, value, CONTEXT, NO_SIDES, CODE)) for shape in (few, many)]
    read = normalize(few, value, CONTEXT, NO_SIDES, CODE)

    assert 500 < taken[1] < 1.5 * taken[0]
    assert read.problems[0].startswith("the code of the turn is missing in 3008 places: code, end_code, ")


def test_a_condition_takes_no_work_for_each_field_that_a_record_lacks() -> None:
    """A field may be left out because of hundreds of others, of which a record has one."""
    unless = {f"f{n}": True for n in range(1, 280)}
    few, many = (Field(kind="text", unless=dict(list(unless.items())[:count])) for count in (5, 279))

    assert 0 < calls(lambda: applies(many, {"f0": "It is so."})) <= calls(lambda: applies(few, {"f0": "It is so."}))


def test_what_is_changed_is_worded_for_the_first_changes_alone() -> None:
    """Thousands of values may be read as something else: these changes are counted."""
    shape = in_lists({"x": Field(kind="text")})

    def changes(count: int) -> list[str]:
        reply = {"outer": [{"middle": [{"inner": [{"x": ["y" * 100]}] * count}]}]}
        return normalize(shape, reply, CONTEXT, NO_SIDES).changes

    with patch.object(normalizing, "short_repr", wraps=short_repr) as shown:
        few, many = changes(40), changes(90)

    assert few == many[:40] and many[40:] == ["and 50 more changes"]
    assert shown.call_count == 2 * 80


@pytest.mark.parametrize("items", [{}, {"y" * 1000: 1}, {"f1": 1, "f2": "?"}, None, []], ids=repr)
@pytest.mark.parametrize("shape", STRANGE)
def test_problems_of_a_reply_are_short_together(shape: str, items: Any) -> None:
    """However many fields are missing or wrong, and however long their names and options are, whole sentences of a few
    thousand characters name the first problems. The last one says that there are more."""
    problems = check(STRANGE[shape], {"outer": [{"middle": [{"inner": [items] * 100}] * 100}] * 100}, CONTEXT)

    assert 2 < len(problems) <= MAX_LISTED + 1
    assert problems[-1] == f"the reply: there are more problems than these {len(problems) - 1}."
    assert sum(map(len, problems[:-1])) <= MAX_TOLD_LENGTH <= 8_000
    assert all(problem.endswith(".") for problem in problems)


@pytest.mark.parametrize("turn_id", ["start.advice.rapporteur", "1.verdict.judge", "final.brief.rapporteur"])
@pytest.mark.parametrize("moved", [False, True])
def test_a_brief_that_asks_again_grows_by_a_few_thousand_characters(turn_id: str, moved: bool) -> None:
    """A reply has a hundred records without a field, or with the last field first, in each of its lists. The brief that
    asks again has the beginning of that reply and the first of its problems."""
    debate = debated(until=turn_id, issues=True, brief=True)
    turn = next(turn for turn in debate.due if turn.id == turn_id)
    code, shape = code_of(debate), coded_shape(debate.shape(turn) or {}, shape_context(debate, turn), code_of(debate))
    lists = {name: field for name, field in shape.items() if field.kind == "list" and field.fields}
    made = with_codes(shape, {name: [dict.fromkeys(lists[name].fields if moved else ())] * 100 for name in lists}, code)
    turned = {name: [dict(reversed(item.items())) for item in made[name]] for name in lists}
    text = json.dumps({name: turned.get(name, value) for name, value in made.items()})
    reply = Reply(text=text, brief_digest="0" * 64, by="x")
    with pytest.raises(BadReply) as refused:
        parse_reply(debate, turn, reply, code)
    problems = refused.value.problems
    again = brief(debate, turn, Rejected(turn=turn_id, problems=tuple(problems), reply=reply), code)
    grown = length(again) - length(brief(debate, turn, None, code))

    assert len(lists) > 0 and len(problems) <= MAX_LISTED + 2
    assert problems[-1] == f"{turn_id}: there are more problems than these {len(problems) - 1}."
    assert grown <= min(len(text), MAX_FORMER_LENGTH) + MAX_TOLD_LENGTH + 1_000


def length(brief: Brief) -> int:
    return sum(len(part) for message in brief.messages for part in message.parts)


def test_a_reply_that_could_be_better_is_sent_back_with_its_first_problems() -> None:
    """The last sentence is still the one by which such a reply is known."""
    debate = debated(until="start.issues.rapporteur", issues=True, brief=True)
    problems = rapporteur.resend_problems(debate.due[0], [f"issues: problem {n}." for n in range(1_000)])

    assert len(problems) == MAX_LISTED + 2
    assert problems[-2:] == [f"{debate.due[0].id}: there are more problems than these {MAX_LISTED}.", rapporteur.ONCE]


def test_a_brief_for_another_draft_has_the_first_problems_of_the_last_one() -> None:
    """A decision brief of a hundred reasons, each with a mark that nothing bears out, has hundreds of problems."""
    fault = {"kind": "unclear", "where": "weighing", "problem": "It says nothing."}
    first = decision.brief(why=[decision.reason("held")] * 100)
    script = {"final.brief.rapporteur": first, "final.brief-check.rapporteur": {"findings": [fault]}}
    debate = decision.at("final.brief-revised.rapporteur", script)
    shown = brief(debate, debate.due[0]).messages[-1].parts[-1].rpartition("<<< FOUND")[2].partition("\nEND ")[0]

    assert len(rapporteur.decision_brief_problems(debate)) > 100
    assert shown.count("\n- ") == MAX_LISTED + 1 and "there are more problems than these 20." in shown
