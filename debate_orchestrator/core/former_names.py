"""Names that earlier versions had for fields and values: what was written then is read."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pydantic import AliasChoices, AliasGenerator, BaseModel, BeforeValidator, ConfigDict

from debate_orchestrator.util.redact import map_leaves

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


def under_first_names(value: Any) -> Any:
    """A value whose models are mappings of what differs from their defaults, each field under the first name that it
    had, in the order of these names: what a digest of it names stays the same when a field is renamed, moved or new."""
    if isinstance(value, BaseModel):
        first_names = {name: former for former, name in reversed(former_names(type(value)).items())}
        kept = {
            first_names.get(name, name): under_first_names(item)
            for name, item in value
            if item != type(value).model_fields[name].get_default(call_default_factory=True)
        }
        return dict(sorted(kept.items()))
    if isinstance(value, Mapping):
        return {key: under_first_names(item) for key, item in value.items()}
    return [under_first_names(item) for item in value] if isinstance(value, tuple | list) else value


def keys_of_today(data: Mapping[str, Any], names: Mapping[str, str]) -> dict[str, str]:
    """Keys of a mapping, which an earlier version may have written, to what they are called now. A mapping that has
    both names of a key keeps both, so that the former one is refused."""
    return {key: key if (name := names.get(key, key)) in data else name for key in data}
