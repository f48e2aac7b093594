"""Shapes of hundreds of fields, in a stranger's format: the length of what is said of a reply."""

from __future__ import annotations

from typing import Any

import pytest
from core import test_decision as decision
from corpus import for_each

from debate_orchestrator.core import rapporteur
from debate_orchestrator.core.reply_check import check
from debate_orchestrator.core.shape import Field, Shape, ShapeContext
from debate_orchestrator.prompting.briefs import brief
from debate_orchestrator.prompting.normalize import SideWords, normalize
from debate_orchestrator.util.errors import MAX_LISTED, MAX_PROBLEMS_LENGTH

CONTEXT = ShapeContext(
    sides=("a", "b"),
    criteria=(),
    min=1,
    max=10,
    rounds=1,
    strictness="strict",
    issues=("I1", "I2"),
    settings_on=("x",),
)


def in_lists(fields: Shape) -> Shape:
    """A shape of lists in a list, whose items have these fields."""
    inner = {"inner": Field(kind="list", fields=fields)}
    return {"outer": Field(kind="list", fields={"middle": Field(kind="list", fields=inner)})}


LONG = Field(kind="choice", options=tuple(f"{n} " + "x" * 190 for n in range(100)))
STRANGE: dict[str, Shape] = {
    "long names": in_lists({f"f{n} " + "x" * 190: Field(kind="text") for n in range(280)}),
    "long choices": in_lists({f"f{n}": LONG for n in range(280)}),
}


def test_a_list_of_choices_is_read_by_its_options() -> None:
    """A phrase that two options share means neither; another name of a draw, and of a side, means one."""
    options = ("Yes", "yes!", "Maybe so", "tie", "a")
    value = {"x": ["maybe SO", "YES", "a draw", "the Pro", "the tie", "con", "Yes"]}

    read = normalize({"x": Field(kind="choices", options=options)}, value, CONTEXT, SideWords({"pro": "a", "con": "b"}))

    assert read.value["x"] == ["Maybe so", "YES", "tie", "a", "tie", "con", "Yes"]


SIGNS = (
    *("¬{}", "≠ {}", "❌ {}", "✗ {}", "{} ✗", "⊘ {}", "∄{}", "! {}", "!{}", "-{}", "~{}", "~~{}~~", "{}?", "{}\u0336"),
    *("{}\u20e0", "{}…", "{} >", "*{}", "{}=b", f"{{}}{'.' * 2_000}", f"{'(' * 2_000}{{}}{')' * 2_000}"),
)


@for_each(SIGNS)
def test_a_sign_beside_an_option_is_asked_about(sign: str) -> None:
    """A sign may negate, strike or doubt what it stands by: with one no option, flag or side is read as meant."""
    shape = {"x": Field(kind="choice"), "y": Field(kind="choices", options=("a", "b")), "z": Field(kind="boolean")}
    shape |= dict.fromkeys(("o", "n"), Field(kind="choice", options=("a",), optional=True))
    shape["s"] = Field(kind="text", per_side=True)
    sides = {"a": "a", "pro": "a", "b": "b", "con": "b"}
    value = {
        "x": sign.format("Pro"), "y": [sign.format("A")], "z": sign.format("yes"), "o": sign.format("A"),
        "n": sign.format("none"), "s": {sign.format("A"): "So.", "b": "No."},
    }  # fmt: skip

    assert normalize(shape, value, CONTEXT, SideWords(sides)).value == value


@pytest.mark.parametrize("items", [{}, {"y" * 1000: 1}, None], ids=repr)
@pytest.mark.parametrize("shape", STRANGE)
def test_problems_of_a_reply_are_short_together(shape: str, items: Any) -> None:
    """However many fields are missing or wrong, and however long their names and options are, whole sentences of a few
    thousand characters name the first problems. The last one says that there are more."""
    problems = check(STRANGE[shape], {"outer": [{"middle": [{"inner": [items] * 100}] * 100}] * 100}, CONTEXT)

    assert 2 < len(problems) <= MAX_LISTED + 1
    assert problems[-1] == f"the reply: there are more problems than these {len(problems) - 1}."
    assert sum(map(len, problems[:-1])) <= MAX_PROBLEMS_LENGTH <= 8_000
    assert all(problem.endswith(".") for problem in problems)


def test_a_brief_for_another_draft_has_the_first_problems_of_the_last_one() -> None:
    """A decision brief of a hundred reasons, each with a mark that nothing supports, has hundreds of problems."""
    fault = {"kind": "unclear", "where": "weighing", "problem": "It says nothing."}
    first = decision.brief(why=[decision.reason("held")] * 100)
    script = {"final.brief.rapporteur": first, "final.brief-check.rapporteur": {"findings": [fault]}}
    debate = decision.at("final.brief-revised.rapporteur", script)
    shown = brief(debate, debate.due[0]).messages[-1].parts[-1].rpartition("<<< FOUND")[2].partition("\nEND ")[0]

    assert len(rapporteur.decision_brief_problems(debate)) > 100
    assert shown.count("\n- ") == MAX_LISTED + 1 and "there are more problems than these 20." in shown
