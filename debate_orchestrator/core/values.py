"""The frozen base classes of all values in the core, and the names that earlier versions had for fields and values,
which are still read."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from fractions import Fraction
from functools import lru_cache
from typing import Annotated, Any, ForwardRef, Self, get_args

from pydantic import (
    AfterValidator,
    AliasChoices,
    AliasGenerator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    PlainSerializer,
)
from pydantic_core import PydanticCustomError

from debate_orchestrator.util.redact import map_leaves

FREE_TEXT = "free text"
"""Annotates a field whose strings are for people and models to read; no code searches or compares them."""
Text = Annotated[str, FREE_TEXT]
Number = Annotated[Fraction, PlainSerializer(float, return_type=float)]
"""An exact number; a float in JSON."""
NOT_ONE_LINE = "not_a_line"
"""The type of pydantic's error for a string that is not a line of the kind that its field asks for."""


def line_of_text(max_length: int, without: str = "") -> AfterValidator:
    """Validates a line of text that prompts, forms and reports show as it is written. `without` is a pattern of the
    markdown and HTML that it must not have."""
    expected = f"a line of text, of at most {max_length} characters{', without markdown or HTML' if without else ''}"

    def check(text: str) -> str:
        if not text.isprintable() or len(text) > max_length or (without and re.search(without, text)):
            raise PydanticCustomError(NOT_ONE_LINE, "{expected}", {"expected": expected})
        return text

    return AfterValidator(check)


DisplayName = Annotated[Text, line_of_text(80, without=r"[<>\[\]`*_|\\#~]")]
"""A name of a seat, a phase or a field. It heads speeches in prompts and reports, and appears in forms."""
PrintableKey = Annotated[str, line_of_text(200, without=r"<(?=[A-Za-z/!?])|[\[\]`|\\]")]
"""An option of a choice, or a key by which a format names what it has several of: criteria, fields, shapes. It has no
beginning of HTML, links, images, code and tables. A lone character, as in `C#` or `<50%`, is not one."""

_FORMER_VALUES = {
    "flag": "boolean",
    "record": "object",
    "at once": "simultaneous",
    "until dry": "until no new ground",
    "transcript": "speeches only",
}


def _renamed(data: Any, names: Mapping[str, str]) -> Any:
    return map_leaves(data, lambda leaf: names.get(leaf, leaf) if isinstance(leaf, str) else leaf)


READS_FORMER_VALUES = BeforeValidator(lambda value: _renamed(value, _FORMER_VALUES))
"""Annotates a field some of whose values had other names in earlier versions: it reads those too."""


def formerly(**former_names: str | tuple[str, ...]) -> ConfigDict:
    """The configuration of a model some of whose fields had other names in earlier versions: it reads those too. The
    first one that journals have comes first, which a later renaming must keep."""

    def names_read(name: str) -> str | AliasChoices:
        former = former_names.get(name, ())
        return AliasChoices(name, *([former] if isinstance(former, str) else former)) if former else name

    return ConfigDict(alias_generator=AliasGenerator(validation_alias=names_read))


def former_names(kind: type[BaseModel]) -> dict[str, str]:
    """Former names of a model's fields, to their names now."""
    return {
        str(former): name
        for name, field in kind.model_fields.items()
        if isinstance(field.validation_alias, AliasChoices)
        for former in field.validation_alias.choices[1:]
    }


def under_first_field_names(value: Any) -> Any:
    """A value as plain data for a digest. Fields that have their default are left out; the others have the first name
    that they had, in the order of these names. So the digest stays the same when a field is renamed, moved or added."""
    if isinstance(value, BaseModel):
        first_names = {name: former for former, name in reversed(former_names(type(value)).items())}
        kept = {
            first_names.get(name, name): under_first_field_names(item)
            for name, item in value
            if item != type(value).model_fields[name].get_default(call_default_factory=True)
        }
        return dict(sorted(kept.items()))
    if isinstance(value, Mapping):
        return {key: under_first_field_names(item) for key, item in value.items()}
    return [under_first_field_names(item) for item in value] if isinstance(value, tuple | list) else value


def keys_of_today(data: Mapping[str, Any], names: Mapping[str, str]) -> dict[str, str]:
    """Keys of a mapping, which an earlier version may have written, to what they are called now. A mapping that has
    both names of a key keeps both, so that the former one is refused."""
    return {key: key if (name := names.get(key, key)) in data else name for key in data}


class FrozenModel(BaseModel):
    """A frozen value that refuses fields it does not know. The docstring below a field is also its description in the
    schema of JSON reports."""

    model_config = ConfigDict(
        frozen=True,
        extra="forbid",
        allow_inf_nan=False,
        serialize_by_alias=True,
        json_schema_serialization_defaults_required=True,
    )

    def with_text(self, change: Callable[[str], str]) -> Self:
        """The same value with `change` applied to its free text; names, ids and keys of mappings stay as they are."""
        update = {}
        for name, is_free_text in _fields(type(self)):
            value = getattr(self, name)
            changed = _change_texts(value, change, is_free_text)
            if changed is not value:
                update[name] = changed
        return self.model_copy(update=update) if update else self


class JournaledModel(FrozenModel):
    """Values that are written to journals."""

    model_config = formerly(
        brief_digest="brief",
        by_call="called",
        cache_write_1h="written_hour",
        cache_write_5m="written",
        data="ballot",
        earlier_debate="recording",
        ended_after="closed_after",
        first_held_digest="root",
        found_pages="found",
        maybe_billed="unsure",
        moderator_replies="derived",
        origins="sources",
        problem="trouble",
        problems="complaints",
        settings="setup",
        spec="by",
        specs="who",
        stop_reason="stop",
        turn_id="turn",
        uncached_input="fresh",
        unsupported="lacked",
        until_no_new_ground="until_dry",
    )


@lru_cache(maxsize=256)
def _fields(kind: type[FrozenModel]) -> tuple[tuple[str, bool], ...]:
    """The names of a value's fields that may hold free text, and whether each is free text itself."""
    fields = kind.model_fields.items()
    return tuple(
        (name, FREE_TEXT in field.metadata)
        for name, field in fields
        if FREE_TEXT in field.metadata or _holds_values(field.annotation)
    )


def _holds_values(annotation: Any) -> bool:
    """Whether something of that type may hold a value."""
    if isinstance(annotation, type) and not get_args(annotation):
        return annotation is object or issubclass(annotation, FrozenModel)
    return annotation is Any or isinstance(annotation, ForwardRef) or any(map(_holds_values, get_args(annotation)))


def _change_texts(data: Any, change: Callable[[str], str], is_free_text: bool) -> Any:
    """Data with its free text changed; the same object where nothing has changed."""

    def changed(leaf: Any) -> Any:
        if isinstance(leaf, FrozenModel):
            return leaf.with_text(change)
        return change(leaf) if is_free_text and isinstance(leaf, str) else leaf

    return map_leaves(data, changed)
