"""Makes questions for a person of the shape of a structured reply, and a reply of the answers.

Answers are kept as they were typed, by the place of their field, and read again each time. A changed answer may change
which fields are asked for, and no answer is lost by that. `core.reply_check.check` decides whether the reply will do.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import groupby
from typing import Any, NamedTuple

from debate_orchestrator.core import transcript_entries
from debate_orchestrator.core.reply_check import check, in_words
from debate_orchestrator.core.shape import MAX_ITEMS, Field, Shape, ShapeContext, applies, empty_value, fields_asked
from debate_orchestrator.util.errors import BadReply, short_repr
from debate_orchestrator.util.numbers import plural
from debate_orchestrator.util.terminal_text import match_option

FieldPath = tuple[str, ...]
EnteredAnswers = Mapping[FieldPath, str]
"""Path of a field to what was typed there."""

WHETHER_ANY = "?"
"""Ends the path of a question that the shape does not have: whether there is anything, or one more, to be said."""
NOT_GIVEN = "(not given)"
"""Stands for a text that the schema wants and the person was not asked for."""
MAX_ASKED = 6
"""Questions of a ballot; the others are asked if the person wants more."""
_ENDING_KINDS = ("text", "url", "number", "choice", "turn")
"""Kinds of a first field whose emptiness ends a list of objects."""
_MISSING: Any = object()
_NUMBER = re.compile(r"[+-]?\d{1,15}(\.\d{1,15})?", re.ASCII)
_YES, _NO = ("yes", "y", "true"), ("no", "n", "false")


class FormQuestion(NamedTuple):
    field_path: FieldPath
    field: Field
    """The field asked for, alone: of one side, regardless of other entries. Of kind `scores` it is a line of numbers,
    and a choice for each issue is a line of choices."""
    about: str = ""
    may_be_empty: bool = False
    """Whether nothing at all is an answer."""
    ends: bool = False
    """Whether that ends a list."""
    lacking: int = 0
    """The number of items still missing if the list ends here."""
    titles: tuple[str, ...] = ()
    """The names of the parts of its path in the shape."""

    def options(self, shape_context: ShapeContext) -> tuple[str, ...]:
        match self.field.kind:
            case "choice" | "choices":
                return self.field.options or shape_context.sides
            case "turn" | "turns":
                return shape_context.turns
            case "boolean":
                return ("yes", "no")
        return ()

    @property
    def has_one_word_answer(self) -> bool:
        """Whether an answer is one word or a few numbers, and so quicker written again than edited."""
        return self.field.kind in ("number", "scores", "boolean", "choice", "turn") and not self.may_be_empty

    @property
    def default(self) -> str | None:
        """The value if the question is not asked; None if only the person can know."""
        if self.may_be_empty:
            return ""
        return {"boolean": "no", "text": NOT_GIVEN}.get(self.field.kind)


def form_questions(shape: Shape, shape_context: ShapeContext, entries: EnteredAnswers) -> list[FormQuestion]:
    questions, _ = _Form(shape_context, entries).object(shape, ())
    return [question._replace(titles=tuple(_titles(shape, question.field_path))) for question in questions]


def _titles(shape: Shape, field_path: FieldPath) -> Iterator[str]:
    """The names of the parts of a path: a field by its title, if it has one, and anything else by its name."""
    for part in field_path:
        field = shape.get(part)
        yield (field.title if field else "") or transcript_entries.title(part)
        shape = field.fields if field else shape


def form_value(shape: Shape, shape_context: ShapeContext, entries: EnteredAnswers) -> dict[str, Any] | None:
    """The entries as a structured reply; None while something is missing."""
    _, reply = _Form(shape_context, entries).object(shape, ())
    return None if reply is _MISSING else reply


def with_defaults(shape: Shape, shape_context: ShapeContext, entries: EnteredAnswers) -> dict[FieldPath, str]:
    full = dict(entries)
    while missing := {
        question.field_path: question.default
        for question in form_questions(shape, shape_context, full)
        if question.field_path not in full and question.default is not None
    }:
        full |= {field_path: text for field_path, text in missing.items() if text is not None}
    return full


_ASKED_ITEMS = re.compile(r"\b(\d+) (?:to|or) \d+ ")
"""How many items a field asks for: `3 to 7 situations`."""


def empty_form(shape: Shape, shape_context: ShapeContext) -> dict[str, Any]:
    """A structured reply to be filled in by hand: of a choice all its options, of a number null, of a text nothing. A
    field that only some values of another call for is null; a list has the fewest items that are asked for, and a list
    of objects one at least."""
    return {name: _empty(field, shape_context) for name, field in fields_asked(shape, shape_context).items()}


def _empty(field: Field, shape_context: ShapeContext) -> Any:
    if keys := field.keys(shape_context):
        return {key: _empty(field.single, shape_context) for key in keys}
    match field.kind:
        case _ if field.only_if:
            return empty_value(field)
        case "scores":
            return {side: dict.fromkeys(shape_context.criteria) for side in shape_context.sides}
        case "object":
            return empty_form(field.fields, shape_context)
        case "list":
            item = empty_form(field.fields, shape_context) if field.fields else ""
            asked = _ASKED_ITEMS.search(field.about)
            return [item] * max(int(asked[1]) if asked else 0, int(field.min or 0), 1 if field.fields else 0)
        case "choice" if not field.optional:
            return " | ".join((*(field.options or shape_context.sides), *(["null"] if field.unless else [])))
        case "boolean" if not field.optional:
            return False
        case "text" | "url" | "turn" if not field.optional:
            return ""
    return empty_value(field)


def short_form_questions(questions: Iterable[FormQuestion], first: str = "") -> list[FormQuestion]:
    """The questions of a short form: those that only the person can answer, then texts up to MAX_ASKED in total. Texts
    that stand alone come before those for each side, and those of the field `first` before other fields; a field is
    asked for every side or for none. All questions where only items of lists are asked for."""
    questions = list(questions)
    needed = [question for question in questions if question.default is None or question.field.per_issue]
    texts = [question for question in questions if question.default == NOT_GIVEN or question.field_path == (first, "1")]
    if all(any(part.isdigit() for part in question.field_path) for question in (*needed, *texts)):
        return questions
    texts.sort(key=lambda question: (len(question.field_path) > 1, question.field_path[0] != first))
    needed_paths = [question.field_path for question in needed]
    for _, of_field in groupby(
        texts, key=lambda question: (question.field_path[:-1] or question.field_path, question.field)
    ):
        field_paths = [question.field_path for question in of_field]
        needed_paths += field_paths if len(needed_paths) + len(field_paths) <= MAX_ASKED else []
    return [question for question in questions if question.field_path in needed_paths]


def parse_answer(question: FormQuestion, shape_context: ShapeContext, text: str) -> Any:
    """The value that an answer stands for. Raises BadReply, which says what is expected, if the answer is invalid."""
    text = text.strip()
    if not text and question.may_be_empty:
        return empty_value(question.field)
    if question.field.kind == "scores":
        return _scores(shape_context, text)
    if question.field.per_issue:
        return _by_issue(question, shape_context, text)
    if question.ends and question.field.kind == "text" and text.lower() in (*_YES, *_NO):
        raise BadReply(f"{short_repr(text)} is not an item of the list. Enter alone ends the list.")
    meaning = _meaning(question, shape_context, text)
    if question.field.kind == "boolean" and isinstance(meaning, str):
        raise BadReply("Answer yes or no.")
    alone = question.field.model_copy(update={"optional": False})
    if meaning is not _MISSING and not check({"it": alone}, {"it": meaning}, shape_context):
        return meaning
    problems = check({"it": alone}, {"it": text if meaning is _MISSING else meaning}, shape_context)
    raise BadReply(
        [problem.removeprefix("it: ") for problem in problems]
        or [f"Choose one of {', '.join(question.options(shape_context))}."]
    )


def has_valid_answer(question: FormQuestion, shape_context: ShapeContext, entries: EnteredAnswers) -> bool:
    return _answer_to(question, shape_context, entries) is not _MISSING


def _answer_to(question: FormQuestion, shape_context: ShapeContext, entries: EnteredAnswers) -> Any:
    """The value that was entered for a question; _MISSING if there is none, or an invalid one."""
    try:
        return parse_answer(question, shape_context, entries[question.field_path])
    except (KeyError, BadReply):
        return _MISSING


def answer_text(answer: Any) -> str:
    if isinstance(answer, bool):
        return "yes" if answer else "no"
    if isinstance(answer, Mapping):
        return " ".join(map(answer_text, answer.values()))
    if isinstance(answer, list):
        return ", ".join(map(answer_text, answer))
    return "" if answer is None else f"{answer:g}" if isinstance(answer, int | float) else str(answer)


def typed_hint(question: FormQuestion, shape_context: ShapeContext) -> str:
    """The kind of text that is expected; empty for a choice among options."""
    field = question.field
    match field.kind:
        case _ if field.per_issue:
            *most, last = options = question.options(shape_context)
            words, count = f"{', '.join(most)} or {last}", len(shape_context.issues)
            sample = ", ".join(options[n % len(options)] for n in range(count))
            return f"{plural(count, 'answer')}, one for each issue in this order: {words}; as in: {sample}"
        case "boolean":
            return "yes or no"
        case "scores":
            scales = {"{:g} to {:g}".format(*shape_context.scale(name)) for name in shape_context.criteria}
            sample = " ".join(f"{sum(shape_context.scale(name)) // 2:g}" for name in shape_context.criteria)
            return (
                f"{len(shape_context.criteria)} numbers in that order, {' and '.join(sorted(scales))}, as in: {sample}"
            )
        case "choice" | "turn" | "choices" | "turns":
            return ""
        case _:
            return in_words(field)


def hint(question: FormQuestion, shape_context: ShapeContext) -> str:
    """The kind of answer that is expected of a person at a terminal."""
    expected = typed_hint(question, shape_context)
    if question.field.per_issue:
        return f"{expected}; Enter alone skips the issues"
    if question.field.kind in ("choice", "turn"):
        expected = "one of them, by its number or its name"
    elif question.field.kind in ("choices", "turns"):
        expected = "one or more of them, by number or name, with commas between"
    if question.ends:
        return f"{expected}; Enter alone ends the list"
    return f"{expected}; Enter alone is for none" if question.may_be_empty else expected


def question_title(question: FormQuestion, name: Callable[[str], str]) -> str:
    """The path of a question as people read it: `Strongest: Researcher A`, `Disputed claims 1: Claim`. `name` gives
    the name of a side or a criterion, and nothing for other parts."""
    field_path, ending = question.field_path, ""
    if field_path[-1] == WHETHER_ANY:
        ending = " (one more?)" if field_path[-2].isdigit() else " (anything?)"
    parts = [
        f" {part}" if part.isdigit() else f": {name(part) or title}"
        for part, title in zip(field_path, question.titles, strict=True)
        if part != WHETHER_ANY
    ]
    return "".join(parts).removeprefix(": ") + ending


def _scores(shape_context: ShapeContext, text: str) -> dict[str, Any]:
    """A line of numbers as the scores of one side."""
    parts = [part for part in re.split(r"[\s,;/]+", text) if part]
    if len(parts) != len(shape_context.criteria):
        raise BadReply(
            f"{len(shape_context.criteria)} numbers are needed, one for each of: {', '.join(shape_context.criteria)}."
        )
    points = {name: _number(part) for name, part in zip(shape_context.criteria, parts, strict=True)}
    problems = check(
        {"scores": Field(kind="scores")}, {"scores": dict.fromkeys(shape_context.sides, points)}, shape_context
    )
    prefix = f"scores.{shape_context.sides[0]}."
    if of_one_side := [problem.removeprefix(prefix) for problem in problems if problem.startswith(prefix)]:
        raise BadReply(of_one_side)
    return points


def _by_issue(question: FormQuestion, shape_context: ShapeContext, text: str) -> dict[str, str]:
    """A line of choices as the answers on the issues."""
    parts, options = [part for part in re.split(r"[\s,;/]+", text) if part], question.options(shape_context)
    if len(parts) != len(shape_context.issues):
        problem = f"{len(shape_context.issues)} answers are needed, one for each issue; you gave {len(parts)}."
        raise BadReply(problem, hint="Enter alone to skip the issues")
    answers = {issue: match_option(options, part) for issue, part in zip(shape_context.issues, parts, strict=True)}
    invalid = [issue for issue, answer in answers.items() if answer is None]
    if invalid:
        raise BadReply(f"{', '.join(invalid)}: choose one of {', '.join(options)}.")
    return {issue: answer for issue, answer in answers.items() if answer is not None}


def _number(text: str) -> Any:
    if not _NUMBER.fullmatch(text):
        return text
    return float(text) if "." in text else int(text)


def _meaning(question: FormQuestion, shape_context: ShapeContext, text: str) -> Any:
    """The value that a text stands for; _MISSING where it stands for none of those that may be chosen."""
    match question.field.kind:
        case "number":
            return _number(text)
        case "boolean":
            return True if text.lower() in _YES else False if text.lower() in _NO else text
        case "choice" | "turn":
            option = match_option(question.options(shape_context), text)
            return _MISSING if option is None else option
        case "choices" | "turns":
            return _options(question.options(shape_context), text)
    return text


def _options(options: tuple[str, ...], text: str) -> Any:
    """The options that are listed with commas between them, or by number; each once."""
    if (only := match_option(options, text)) is not None:
        return [only]
    parts = [part.strip() for part in text.split(",")]
    words = [word for part in parts for word in (part.split() if re.fullmatch(r"[\d\s]+", part) else [part]) if word]
    matches = [match_option(options, word) for word in words]
    return _MISSING if not matches or None in matches else list(dict.fromkeys(matches))


# The questions of a shape, field by field

_Asked = tuple[list[FormQuestion], Any]
"""Questions, and the value that the answers amount to, or `_MISSING` where one is still missing."""


class _Form(NamedTuple):
    """Asks for fields by what was entered so far."""

    shape_context: ShapeContext
    entered: EnteredAnswers

    def object(self, shape: Shape, field_path: FieldPath, first: FormQuestion | None = None) -> _Asked:
        """The fields of an object; of an item of a list, its `first` question is given."""
        fields = fields_asked(shape, self.shape_context)
        asked: dict[str, _Asked] = {}

        def value_of(name: str) -> Any:
            """The value of a field, after those on which it depends."""
            if name in asked:
                return asked[name][1]
            asked[name] = [], None  # so that fields that depend on each other come to an end
            field, path = fields[name], (*field_path, name)
            siblings = {sibling: value_of(sibling) for sibling in (*field.only_if, *field.unless) if sibling in fields}
            if first is not None and first.field_path == path:
                asked[name] = self.answered(first)
            elif applies(field, siblings):
                asked[name] = self.field(field, path)
            else:
                asked[name] = [], _MISSING if _MISSING in siblings.values() else empty_value(field)
            return asked[name][1]

        values = {name: value_of(name) for name in fields}
        questions = [question for name in fields for question in asked[name][0]]
        return questions, _MISSING if _MISSING in values.values() else values

    def field(self, field: Field, field_path: FieldPath) -> _Asked:
        """A field that is to be filled in. An empty list of choices will not do where it depends on other fields."""
        if field.per_issue and field.kind == "choice":
            return self.answered(FormQuestion(field_path, field, field.about, may_be_empty=True))
        keys = field.keys(self.shape_context) or (self.shape_context.sides if field.kind == "scores" else ())
        questions = list[FormQuestion]()
        if field.optional and (keys or field.kind == "object"):
            whether_any = FormQuestion((*field_path, WHETHER_ANY), Field(kind="boolean"), field.about)
            questions, answer = self.answered(whether_any)
            if answer is not True:
                return questions, None if answer is False else _MISSING
        if not keys:
            must = bool(field.only_if or field.unless) and not field.optional
            more, value = self._one(field, field_path, must=must)
            return [*questions, *more], value
        single = field.single.model_copy(update={"optional": False})
        asked = {key: self._one(single, (*field_path, key), must=False) for key in keys}
        values = {key: value for key, (_, value) in asked.items()}
        questions += [question for of_key, _ in asked.values() for question in of_key]
        return questions, _MISSING if _MISSING in values.values() else values

    def _one(self, field: Field, field_path: FieldPath, *, must: bool) -> _Asked:
        """A field for one side, or for none; `must` says that an empty list of choices is invalid."""
        if field.kind == "object":
            return self.object(field.fields, field_path)
        if field.kind == "list":
            return self._list(field, field_path)
        bare = field.model_copy(update={"only_if": {}, "unless": {}})
        empty = field.optional or (field.kind == "choices" and not must)
        return self.answered(FormQuestion(field_path, bare, field.about, empty))

    def _list(self, field: Field, field_path: FieldPath) -> _Asked:
        """Item after item, until the first question of one is left empty; of objects that may well begin with nothing,
        until no further one is wanted."""
        questions, items = list[FormQuestion](), list[Any]()
        while len(items) < MAX_ITEMS:
            item_path = (*field_path, str(len(items) + 1))
            missing_count = max(0, int(field.min or 0) - len(items))
            question = self._first(field, item_path)._replace(lacking=missing_count)
            _, item = self.answered(question)
            if item is None or item is False or item is _MISSING:
                return [*questions, question], _MISSING if item is _MISSING else items
            if not field.fields or question.field_path[-1] == WHETHER_ANY:
                questions.append(question)
            if field.fields:
                of_item, item = self.object(field.fields, item_path, question)
                questions += of_item
            if item is _MISSING:
                return questions, _MISSING
            items.append(item)
        return questions, items

    def _first(self, field: Field, item_path: FieldPath) -> FormQuestion:
        """The first question of an item of a list. Leaving it empty ends the list. If the first field of an object may
        itself be left empty, a yes-or-no question comes instead: whether there is an item."""
        if not field.fields:
            return FormQuestion(item_path, Field(kind="text", optional=True), field.about, True, True)
        name, first = next(iter(fields_asked(field.fields, self.shape_context).items()), ("", field))
        if first.kind not in _ENDING_KINDS or first.optional or first.per_side or first.only_if or first.unless:
            return FormQuestion((*item_path, WHETHER_ANY), Field(kind="boolean"), field.about)
        about = "; ".join(part for part in (field.about, first.about) if part)
        return FormQuestion((*item_path, name), first, about, True, True)

    def answered(self, question: FormQuestion) -> _Asked:
        return [question], _answer_to(question, self.shape_context, self.entered)
