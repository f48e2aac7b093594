"""The rules for the shapes of a format: how large they may be, and what fields with a reserved name have to be.

Every format is held to them when it is made or read, whether it ships with the program or comes from a folder, a
tournament's spec or a journal. The engine and the reports rely on reserved fields; a field of any other name may be
anything.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Literal, NamedTuple

from debate_orchestrator.core.phases import NEITHER_SIDE, NO_NEW_GROUND
from debate_orchestrator.core.shape import MAX_DEPTH, MAX_FIELDS, MAX_ITEMS, MAX_NUMBER, Condition, Field, Shape

MARKS = ("held", "granted", "weakened", "not challenged", "not argued")
"""The marks for what became of a reason in the debate."""
_SIDES = "sides"
"""An option that is replaced by the sides of the format."""

Keys = tuple[str | int, ...]
"""The keys that lead to a part of a format."""
LocatedProblem = tuple[Keys, str]
"""A part of a format, and what is wrong with it."""


class ReservedField(NamedTuple):
    kind: str
    nullable: bool = False
    """Whether its value may be null."""
    may_be_left_out: bool = False
    """Whether a reply, or the object that it is in, may be without it."""
    per_side: bool = False
    options: tuple[str, ...] = ()
    """The only options that a choice may have; any if empty."""
    integer: bool = False
    """Whether a number must be a whole one."""
    items: Literal["texts", "objects", ""] = ""
    """The kind of a list's items; any if empty."""
    side_reading: Literal["whole names", "who won", ""] = ""
    """How a side is read in a choice: by its key or its whole name alone, or also by words such as `A won`; if empty,
    by any word for it."""
    fields: Mapping[str, ReservedField] = {}
    """The reserved fields of an object, or of each item of a list. Others may be beside them."""


_TEXT = ReservedField("text")
_TEXTS = ReservedField("list", items="texts")
_SURE = ReservedField("number", integer=True)
_SIDE = ReservedField("choice", options=(_SIDES,))
_CLAIM_TEXT = ReservedField("text", may_be_left_out=True)

JUDGE_FIELDS: Mapping[str, ReservedField] = {
    "scores": ReservedField("scores"),
    "winner": ReservedField("choice", options=(_SIDES, *NEITHER_SIDE), side_reading="who won"),
    "label": ReservedField("choice", nullable=True, may_be_left_out=True),
    "score": ReservedField("number", nullable=True, may_be_left_out=True),
    "probability": ReservedField("number", nullable=True, may_be_left_out=True),
    "convergence": ReservedField(
        "object",
        may_be_left_out=True,
        fields={
            "detected": ReservedField("boolean", nullable=True),
            "side": ReservedField("choice", nullable=True, options=(_SIDES, "both")),
            "criteria": ReservedField("choices", nullable=True),  # the signs of convergence
        },
    ),
    "feedback": ReservedField("text", may_be_left_out=True, per_side=True),
    "conceded": ReservedField(
        "choice", nullable=True, may_be_left_out=True, options=(_SIDES,), side_reading="whole names"
    ),
    NO_NEW_GROUND: ReservedField("boolean", nullable=True, may_be_left_out=True),
    "strength": ReservedField("choice", nullable=True, may_be_left_out=True),
    "rows": ReservedField(
        "list",
        items="objects",
        fields={
            **dict.fromkeys(("claim", "a", "b"), _CLAIM_TEXT),
            "status": ReservedField("choice", nullable=True, may_be_left_out=True),
            "turns": ReservedField("turns", may_be_left_out=True),
        },
    ),
    "faults": ReservedField("list", may_be_left_out=True, items="objects"),
    "sources": ReservedField("list", may_be_left_out=True),
    "unsupported_claims": ReservedField("list", may_be_left_out=True, fields={"seat": _SIDE, "claim": _TEXT}),
    "strongest": ReservedField("text", may_be_left_out=True, per_side=True),
    "weakest": ReservedField("text", may_be_left_out=True, per_side=True),
    "justification": ReservedField("text", may_be_left_out=True),
    "converged_on": ReservedField("text", nullable=True, may_be_left_out=True),
    "strongest_argument": ReservedField(
        "object", may_be_left_out=True, fields={"seat": _SIDE, "argument": _TEXT, "why": _TEXT}
    ),
    "unresolved_questions": ReservedField("list", may_be_left_out=True, items="texts"),
    "follow_up": ReservedField("text", nullable=True, may_be_left_out=True),
}
DECIDING_FIELDS = frozenset({"scores", "winner", "label", "score", "probability", "convergence", "conceded"})
"""Fields that decide a debate: one that is not asked for is reported, and never left out."""
SIDE_FIELDS: Mapping[str, ReservedField] = {
    "refused": ReservedField("boolean", nullable=True, may_be_left_out=True),
    "url": ReservedField("url", nullable=True, may_be_left_out=True),
    "quote": ReservedField("text", nullable=True, may_be_left_out=True),
}
CLERK_FIELDS: Mapping[str, ReservedField] = {"checks": ReservedField("list", may_be_left_out=True, items="objects")}
RAPPORTEUR_FIELDS: Mapping[str, ReservedField] = {
    "cases": ReservedField("list", may_be_left_out=True, items="texts"),
    "issues": ReservedField("list", may_be_left_out=True, items="texts"),
    "unknowns": ReservedField("list", may_be_left_out=True, items="texts"),
    "findings": ReservedField("list", may_be_left_out=True),
}
DECISION_BRIEF_FIELDS: Mapping[str, ReservedField] = {
    "recommendation": ReservedField(
        "object",
        fields={
            "do": _TEXT,
            "sure": _SURE,
            "why_not_more": _TEXT,
            "check_first": ReservedField("text", may_be_left_out=True),
            "sides_with": ReservedField("choice", nullable=True),
        },
    ),
    "by_case": ReservedField("list", fields={"if": _TEXT, "then": _TEXT, "sure": _SURE}),
    "why": ReservedField(
        "list",
        fields={
            "heading": ReservedField("text", may_be_left_out=True),
            "consideration": _TEXT,
            "side": ReservedField("choice", nullable=True, options=(_SIDES,)),
            "mark": ReservedField("choice", options=MARKS),
            "turns": ReservedField("turns"),
            "dissent_row": ReservedField("number", nullable=True, may_be_left_out=True, integer=True),
        },
    ),
    "would_change": _TEXTS,
    "do_next": _TEXTS,
    "trust": _TEXT,
    "best_case_against": ReservedField("text", may_be_left_out=True),
    "objections": ReservedField("list", may_be_left_out=True, fields={"heading": _TEXT, "text": _TEXT}),
    "not_argued": ReservedField("list", may_be_left_out=True, fields={"issue": _TEXT, "points_to": _TEXT}),
    "weighing": ReservedField("text", may_be_left_out=True),
    "changed": ReservedField("text", may_be_left_out=True),
}
"""Reserved fields of the decision brief, which is the rapporteur's reply with a `recommendation`."""


def reserved_field_problems(
    reserved: Mapping[str, ReservedField], shape: Shape, sides: Sequence[str], *, inner: bool = False
) -> Iterator[LocatedProblem]:
    """The reasons why the engine and the reports can't rely on the fields of a shape, each with the keys that lead to
    the field. With `inner` the shape is that of an object: a field must be there unless it may be left out."""
    for key, rule in reserved.items():
        if (field := shape.get(key)) is not None:
            yield from (((key, *keys), problem) for keys, problem in _field_problems(key, rule, field, sides))
        elif inner and not rule.may_be_left_out:
            needed = ", ".join(name for name, rule in reserved.items() if not rule.may_be_left_out)
            yield (), f"got no {key!r}; expected an object of {needed}"


def _field_problems(name: str, rule: ReservedField, field: Field, sides: Sequence[str]) -> Iterator[LocatedProblem]:
    if field.kind != rule.kind:
        yield ("kind",), f"is {field.kind!r} but must be {rule.kind!r}: judging and reports rely on this field"
        return
    if field.per_side != rule.per_side:
        yield ("per_side",), f"expected {'one for each side' if rule.per_side else 'a single value'}"
    if field.per_issue:
        yield ("per_issue",), "expected a value that is not one for each issue"
    yield from _condition_problems(name, rule, field)
    options = [option for name in rule.options for option in (sides if name == _SIDES else [name])]
    if rule.options and (unknown := [option for option in field.options or sides if option not in options]):
        yield ("options",), f"{name!r} has the option {unknown[0]!r}; use only {', '.join(options)}"
    if rule.integer and not field.integer:
        yield ("integer",), f"{name!r} must be a whole number"
    if field.fields and rule.items == "texts":
        yield ("fields",), f"{name!r} must be a list of texts, without fields"
    elif not field.fields and rule.items == "objects":
        yield ("fields",), f"{name!r} must be a list of objects, with fields"
    inner = reserved_field_problems(rule.fields, field.fields, sides, inner=True)
    yield from ((("fields", *keys) if keys else (), problem) for keys, problem in inner)


def _condition_problems(name: str, rule: ReservedField, field: Field) -> Iterator[LocatedProblem]:
    """The problem with a field that may be null or absent, and must not be."""
    keys = []
    if field.may_be_null and not rule.nullable:
        keys += [key for key in ("optional", "only_if", "unless") if getattr(field, key)]
    if field.when != Condition() and not rule.may_be_left_out:
        keys.append("when")
    if keys:
        may = (
            "be null; it may be left out by `when`"
            if rule.may_be_left_out
            else "depend on a condition: it is always needed"
        )
        yield (keys[0],), f"{name!r} can't {may}"


# Sizes


MAX_SHAPE_SIZE = 400_000
"""About how many characters the JSON Schema of a reply, or the reply with the fewest items, may have: an item or more
in each list. The schemas of the shipped formats have 10,000."""
_FIELD_SIZE = 80
"""About how many characters a field has in either, besides its name, its description and its options."""


def size_problem(name: str, shape: Shape, sides: int, criteria: int) -> LocatedProblem | None:
    """The sentence on a shape whose schema, checks or smallest reply would be too deep or too large. The numbers depend
    on the format's sides and its rubric's criteria."""
    if problem := _problem_within(shape, ("shapes", name), name, 1):
        return problem
    if (count := _field_count(shape)) > MAX_FIELDS:
        return ("shapes", name), f"{name} has {count:,} fields; at most {MAX_FIELDS}"
    if (size := _size(shape, max(1, sides), max(1, criteria))) > MAX_SHAPE_SIZE:
        return ("shapes", name), f"{name} asks for replies of about {size:,} characters; at most {MAX_SHAPE_SIZE:,}"
    return None


def _problem_within(shape: Shape, where: Keys, shape_name: str, depth: int, sides: int = 1) -> LocatedProblem | None:
    for key, field in shape.items():
        field_keys, name = (*where, key), f"{shape_name}.{key}"
        if depth > MAX_DEPTH:
            return field_keys, f"{name} is nested too deeply: at most {MAX_DEPTH} levels"
        if problem := _limit_problem(field, sides):
            return (*field_keys, *problem[0]), f"{name} {problem[1]}"
        if inner := _problem_within(
            field.fields, (*field_keys, "fields"), name, depth + 1, sides * (1 + field.per_side)
        ):
            return inner
    return None


def _field_count(shape: Shape) -> int:
    """The number of fields, those per side counted twice."""
    return sum((1 + field.per_side) * (1 + _field_count(field.fields)) for field in shape.values())


def _size(shape: Shape, sides: int, criteria: int) -> int:
    """The size that `MAX_SHAPE_SIZE` limits. Lists multiply along their nestings, and so do values for each side or
    issue."""
    total = 0
    for key, field in shape.items():
        size = _FIELD_SIZE + len(key) + len(field.description) + sum(len(option) + 4 for option in field.options)
        size *= sides * criteria if field.kind == "scores" else 1
        items = max(1, round(field.min or 0)) if field.kind == "list" else 1
        keys = sides if field.per_side else MAX_ITEMS if field.per_issue else 1
        total += keys * (size + items * (_size(field.fields, sides, criteria) or _FIELD_SIZE))
    return total


def _limit_problem(field: Field, sides: int) -> LocatedProblem | None:
    """The first problem of a field by itself: the keys that lead to it, and the rest of a sentence that begins with the
    field's name. None if it has none."""
    if len(set(field.options)) < len(field.options):
        return ("options",), "has an option twice"
    if field.per_side and sides > 1:
        return (), "is per_side inside a field that is per_side"
    low, high = (0, MAX_ITEMS) if field.kind == "list" else (-MAX_NUMBER, MAX_NUMBER)
    for key, limit in (("min", field.min), ("max", field.max)):
        if limit is not None and not low <= limit <= high:
            return (key,), f"has {limit:g} as `{key}`; it must be from {low:,} to {high:,}"
    return None
