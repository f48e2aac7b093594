"""Names that earlier versions had for fields and values: what was written then is read, and keeps its digests."""

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


RENAMED = BeforeValidator(lambda value: _renamed(value, _FORMER_VALUES))
"""Annotates a field some of whose values had other names in earlier versions: it reads those too."""


def formerly(**former_names: str) -> ConfigDict:
    """The configuration of a model some of whose fields had other names in earlier versions: it reads those too."""

    def names_read(name: str) -> str | AliasChoices:
        return AliasChoices(name, former_names[name]) if name in former_names else name

    return ConfigDict(alias_generator=AliasGenerator(validation_alias=names_read))


def former_names(kind: type[BaseModel]) -> dict[str, str]:
    """Former names of a model's fields, to their names now."""
    return {
        str(former): name
        for name, field in kind.model_fields.items()
        if isinstance(field.validation_alias, AliasChoices)
        for former in field.validation_alias.choices[1:]
    }


def keys_of_today(data: Mapping[str, Any], names: Mapping[str, str]) -> dict[str, str]:
    """Keys of a mapping, which an earlier version may have written, to what they are called now. A mapping that has
    both names of a key keeps both, so that the former one is refused."""
    return {key: key if (name := names.get(key, key)) in data else name for key in data}


def former_data(value: BaseModel, **options: Any) -> Any:
    """A value dumped under the names that earlier versions wrote, for digests that have to stay what they were."""
    return _in_former_names(value, value.model_dump(mode="json", **options))


def _in_former_names(value: Any, data: Any) -> Any:
    if isinstance(value, BaseModel):
        former = {name: key for key, name in former_names(type(value)).items()}
        renamed = {}
        for name, field in type(value).model_fields.items():
            if (key := field.serialization_alias or name) in data:
                item = _in_former_names(getattr(value, name), data[key])
                former_values = {new: old for old, new in _FORMER_VALUES.items()} if RENAMED in field.metadata else {}
                renamed[former.get(name, key)] = _renamed(item, former_values)
        return renamed
    if isinstance(data, dict):
        return {key: _in_former_names(value[key], item) for key, item in data.items()}
    if isinstance(data, list):
        return [_in_former_names(item, item_data) for item, item_data in zip(value, data, strict=True)]
    return data
