"""A structured value as the fields of a form: a judge's ballot, a reviewer's, or any other reply with a shape."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

from debate_orchestrator.core.format import Format
from debate_orchestrator.core.shape import Shape, ShapeContext
from debate_orchestrator.prompting import forms
from debate_orchestrator.prompting.person_turns import question_title_with_criteria, side_meanings
from debate_orchestrator.util.errors import BadReply

_PREFIX = "field/"
"""The prefix of the names of these fields, so that no other field of the form is taken for one."""


class ReplyField(NamedTuple):
    name: str
    label: str
    about: str
    hint: str
    options: tuple[tuple[str, str], ...]
    """Values to choose from, with their meanings; empty if text is wanted."""
    several: bool
    """Whether more than one may be chosen."""
    long: bool
    """Whether it takes a text of several lines."""
    may_be_empty: bool
    """Whether the form can be handed in without it."""
    value: str
    problem: str


def questions(
    shape: Shape,
    shape_context: ShapeContext,
    format: Format,
    positions: Mapping[str, str],
    typed_answers: Mapping[forms.FieldPath, str],
    *,
    with_problems: bool,
    computed: Mapping[forms.FieldPath, str] = MappingProxyType({}),
    wording_of: Callable[[forms.FormQuestion], tuple[str, str]] | None = None,
) -> list[ReplyField]:
    """The fields, as far as they are known from the `typed_answers`, and `with_problems` of these if wanted, with
    the `positions` that are shown for the sides. What is `computed` is not asked for. `wording_of` gives the label of a
    field and what it is about, where the shape's own words do not fit."""
    meanings = side_meanings(format, positions)
    reply_fields: list[ReplyField] = []
    in_lines = _with_issue_lines(typed_answers, shape_context)
    full = forms.with_defaults(shape, shape_context, {**in_lines, **computed})
    for question in forms.form_questions(shape, shape_context, full):
        if question.field_path in computed:
            continue
        label, about = wording_of(question) if wording_of is not None else _wording(question, shape_context, format)
        field = ReplyField(
            name=_PREFIX + "/".join(question.field_path),
            label=label,
            about=about,
            hint=_hint(question, shape_context),
            options=tuple((option, meanings.get(option, option)) for option in question.options(shape_context)),
            several=question.field.kind in ("choices", "turns"),
            long=question.field.kind == "text",
            may_be_empty=question.default is not None,
            value=typed_answers.get(question.field_path, ""),
            problem=_problem(question, shape_context, in_lines) if with_problems else "",
        )
        reply_fields += (
            _of_each_issue(field, question, shape_context, typed_answers) if question.field.per_issue else [field]
        )
    return reply_fields


def _wording(question: forms.FormQuestion, shape_context: ShapeContext, format: Format) -> tuple[str, str]:
    """The label of a field and what it is about: what is asked for, before the name that problems have for it."""
    name = question_title_with_criteria(question, shape_context, format)
    if not question.about or question.field.kind == "scores" or question.field.per_issue:
        return name, question.about
    return f"{question.about[0].upper()}{question.about[1:]} ({name})", ""


def _of_each_issue(
    field: ReplyField,
    question: forms.FormQuestion,
    shape_context: ShapeContext,
    typed_answers: Mapping[forms.FieldPath, str],
) -> Iterator[ReplyField]:
    """A field to choose in for every issue, in place of a line of choices."""
    for issue in shape_context.issues:
        is_last_issue = issue == shape_context.issues[-1]
        yield field._replace(
            name=f"{field.name}/{issue}",
            label=f"{field.label}: {issue}",
            hint="choose one, or leave all issues empty",
            may_be_empty=False,
            value=typed_answers.get((*question.field_path, issue), ""),
            problem=field.problem if is_last_issue else "",
        )


def _with_issue_lines(
    typed_answers: Mapping[forms.FieldPath, str], shape_context: ShapeContext
) -> dict[forms.FieldPath, str]:
    """The typed values, with the choices for all issues as the line of choices that a form has for them."""
    lines = {
        field_path: text for field_path, text in typed_answers.items() if field_path[-1] not in shape_context.issues
    }
    for field in {field_path[:-1] for field_path in typed_answers.keys() - lines.keys()}:
        lines[field] = " ".join(typed_answers.get((*field, issue), "-") for issue in shape_context.issues)
    return lines


def _hint(question: forms.FormQuestion, shape_context: ShapeContext) -> str:
    takes_several = question.field.kind in ("choices", "turns")
    expected = forms.typed_hint(question, shape_context) or ("choose one or more" if takes_several else "choose one")
    if question.ends:
        return f"{expected}; leave it empty to end the list"
    return f"{expected}; leave it empty for none" if question.may_be_empty else expected


def _problem(
    question: forms.FormQuestion, shape_context: ShapeContext, typed_answers: Mapping[forms.FieldPath, str]
) -> str:
    """The problem with an answer; empty if it is valid, or if none is needed."""
    if question.field_path not in typed_answers and question.default is not None:
        return ""
    text = typed_answers.get(question.field_path, "")
    try:
        forms.parse_answer(question, shape_context, text)
    except BadReply as error:
        return " ".join(error.problems) if text else "An answer is needed here."
    return ""


def value(
    shape: Shape, shape_context: ShapeContext, typed_answers: Mapping[forms.FieldPath, str]
) -> dict[str, Any] | None:
    """The structured value that was typed; None while something is missing."""
    return forms.form_value(
        shape,
        shape_context,
        forms.with_defaults(shape, shape_context, _with_issue_lines(typed_answers, shape_context)),
    )


def typed_answers(form_data: Mapping[str, str]) -> dict[forms.FieldPath, str]:
    """The typed values by the paths of their fields. An empty field counts as not answered."""
    fields_by_name = {name: text for name, text in form_data.items() if name.startswith(_PREFIX) and text.strip()}
    return {tuple(name.removeprefix(_PREFIX).split("/")): text for name, text in fields_by_name.items()}
