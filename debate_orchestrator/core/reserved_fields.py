"""The fields of structured replies that the engine and the reports rely on: their kinds, options and inner fields.

Every format is held to it when it is made or read, whether it
ships with the program or comes from a folder, a tournament's spec or a journal. A field of any other name may be
anything.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Literal, NamedTuple

from debate_orchestrator.core.phases import OUTCOMES
from debate_orchestrator.core.shape import Condition, Field, Shape

MARKS = ("held", "granted", "weakened", "not challenged", "not argued")
"""What the debate made of a consideration of the decision brief."""
_SIDES = "sides"
"""Stands among options for the sides of the format."""

Keys = tuple[str, ...]


class ReservedField(NamedTuple):
    """The rules for a field of a reserved name."""

    kind: str
    null: bool = False
    """Whether its value may be null."""
    left_out: bool = False
    """Whether a reply, or the record that it is in, may be without it."""
    per_side: bool = False
    options: tuple[str, ...] = ()
    """The only options that a choice may have; any if empty."""
    whole: bool = False
    """Whether a number must be a whole one."""
    items: Literal["texts", "records", ""] = ""
    """The kind of a list's items; any if empty."""
    fields: Mapping[str, ReservedField] = {}
    """The reserved fields of a record, or of each item of a list. Others may stand beside them."""


_TEXT = ReservedField("text")
_TEXTS = ReservedField("list", items="texts")
_SURE = ReservedField("number", whole=True)
_SIDE = ReservedField("choice", options=(_SIDES,))
_OF_A_CLAIM = ReservedField("text", left_out=True)

JUDGED: Mapping[str, ReservedField] = {
    "scores": ReservedField("scores"),
    "winner": ReservedField("choice", options=(_SIDES, *OUTCOMES)),
    "label": ReservedField("choice", null=True, left_out=True),
    "score": ReservedField("number", null=True, left_out=True),
    "probability": ReservedField("number", null=True, left_out=True),
    "convergence": ReservedField(
        "record",
        left_out=True,
        fields={
            "detected": ReservedField("flag", null=True),
            "side": ReservedField("choice", null=True, options=(_SIDES, "both")),
            "criteria": ReservedField("choices", null=True),
        },
    ),
    "feedback": ReservedField("text", left_out=True, per_side=True),
    "conceded": ReservedField("choice", null=True, left_out=True, options=(_SIDES,)),
    "dry": ReservedField("flag", null=True, left_out=True),
    "strength": ReservedField("choice", null=True, left_out=True),
    "rows": ReservedField(
        "list",
        items="records",
        fields={
            **dict.fromkeys(("claim", "a", "b"), _OF_A_CLAIM),
            "status": ReservedField("choice", null=True, left_out=True),
            "turns": ReservedField("turns", left_out=True),
        },
    ),
    "faults": ReservedField("list", left_out=True, items="records"),
    "sources": ReservedField("list", left_out=True),
    "unsupported_claims": ReservedField("list", left_out=True, fields={"seat": _SIDE, "claim": _TEXT}),
    "strongest": ReservedField("text", left_out=True, per_side=True),
    "weakest": ReservedField("text", left_out=True, per_side=True),
    "justification": ReservedField("text", left_out=True),
    "converged_on": ReservedField("text", null=True, left_out=True),
    "strongest_argument": ReservedField(
        "record", left_out=True, fields={"seat": _SIDE, "argument": _TEXT, "why": _TEXT}
    ),
    "unresolved_questions": ReservedField("list", left_out=True, items="texts"),
    "follow_up": ReservedField("text", null=True, left_out=True),
}
"""In a judge's replies."""
SPOKEN: Mapping[str, ReservedField] = {
    "refused": ReservedField("flag", null=True, left_out=True),
    "url": ReservedField("url", null=True, left_out=True),
    "quote": ReservedField("text", null=True, left_out=True),
}
"""In a side's."""
LOOKED_UP: Mapping[str, ReservedField] = {"checks": ReservedField("list", left_out=True, items="records")}
"""In a clerk's."""
REPORTED: Mapping[str, ReservedField] = {
    "cases": ReservedField("list", left_out=True, items="texts"),
    "issues": ReservedField("list", left_out=True, items="texts"),
    "unknowns": ReservedField("list", left_out=True, items="texts"),
    "findings": ReservedField("list", left_out=True),
}
"""In the rapporteur's."""
RECOMMENDED: Mapping[str, ReservedField] = {
    "recommendation": ReservedField(
        "record",
        fields={
            "do": _TEXT,
            "sure": _SURE,
            "why_not_more": _TEXT,
            "check_first": ReservedField("text", left_out=True),
            "sides_with": ReservedField("choice", null=True),
        },
    ),
    "by_case": ReservedField("list", fields={"if": _TEXT, "then": _TEXT, "sure": _SURE}),
    "why": ReservedField(
        "list",
        fields={
            "heading": ReservedField("text", left_out=True),
            "consideration": _TEXT,
            "side": ReservedField("choice", null=True, options=(_SIDES,)),
            "mark": ReservedField("choice", options=MARKS),
            "turns": ReservedField("turns"),
            "dissent_row": ReservedField("number", null=True, left_out=True, whole=True),
        },
    ),
    "would_change": _TEXTS,
    "do_next": _TEXTS,
    "trust": _TEXT,
    "best_case_against": ReservedField("text", left_out=True),
    "objections": ReservedField("list", left_out=True, fields={"heading": _TEXT, "text": _TEXT}),
    "not_argued": ReservedField("list", left_out=True, fields={"issue": _TEXT, "points_to": _TEXT}),
    "weighing": ReservedField("text", left_out=True),
    "changed": ReservedField("text", left_out=True),
}
"""In the rapporteur's reply with a `recommendation`, which is the decision brief."""


def reserved_field_problems(
    reserved: Mapping[str, ReservedField], shape: Shape, sides: Sequence[str], *, inner: bool = False
) -> Iterator[tuple[Keys, str]]:
    """The reasons why the engine and the reports can't rely on the fields of a shape, each with the keys that lead to
    the field. With `inner` the shape is that of a record: a field must be there unless it may be left out."""
    for key, rule in reserved.items():
        if (field := shape.get(key)) is not None:
            yield from (((key, *keys), problem) for keys, problem in _field_problems(key, rule, field, sides))
        elif inner and not rule.left_out:
            needed = ", ".join(name for name, rule in reserved.items() if not rule.left_out)
            yield (), f"got no {key!r}; expected a record of {needed}"


def _field_problems(name: str, rule: ReservedField, field: Field, sides: Sequence[str]) -> Iterator[tuple[Keys, str]]:
    if field.kind != rule.kind:
        yield ("kind",), f"got {field.kind!r}; expected {rule.kind!r}, by which debates are judged or told"
        return
    if field.per_side != rule.per_side:
        yield ("per_side",), f"expected {'one for each side' if rule.per_side else 'a single value'}"
    if field.per_issue:
        yield ("per_issue",), "expected a value that is not one for each issue"
    yield from _condition_problems(name, rule, field)
    known = [option for name in rule.options for option in (sides if name == _SIDES else [name])]
    if rule.options and (unknown := [option for option in field.of or sides if option not in known]):
        yield ("of",), f"{name!r} has the option {unknown[0]!r}; use only {', '.join(known)}"
    if rule.whole and not field.whole:
        yield ("whole",), f"{name!r} must be a whole number"
    if field.fields and rule.items == "texts":
        yield ("fields",), f"{name!r} must be a list of texts, without fields"
    elif not field.fields and rule.items == "records":
        yield ("fields",), f"{name!r} must be a list of records, with fields"
    inner = reserved_field_problems(rule.fields, field.fields, sides, inner=True)
    yield from ((("fields", *keys) if keys else (), problem) for keys, problem in inner)


def _condition_problems(name: str, rule: ReservedField, field: Field) -> Iterator[tuple[Keys, str]]:
    """Where a field may be null or absent, and must not be."""
    found = []
    if field.may_be_null and not rule.null:
        found += [key for key in ("optional", "only_if", "unless") if getattr(field, key)]
    if field.when != Condition() and not rule.left_out:
        found.append("when")
    if found:
        may = "be null; it may be left out by `when`" if rule.left_out else "depend on a condition: it is always needed"
        yield (found[0],), f"{name!r} can't {may}"
