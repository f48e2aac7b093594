"""The frozen base class of all values in the core."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Annotated, Any, Self

from pydantic import BaseModel, ConfigDict

FREE = "free text"
"""Marks a field whose strings are read by people and models, and by which nothing is found or decided."""
Text = Annotated[str, FREE]


class Value(BaseModel):
    """A frozen value that refuses fields it does not know."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    def with_text(self, change: Callable[[str], str]) -> Self:
        """The same value with `change` applied to its free text; names, ids and keys of mappings stay as they are."""
        found = {
            name: _changed(getattr(self, name), change, FREE in field.metadata)
            for name, field in type(self).model_fields.items()
        }
        update = {name: value for name, value in found.items() if value != getattr(self, name)}
        return self.model_copy(update=update) if update else self


def _changed(data: Any, change: Callable[[str], str], free: bool) -> Any:
    match data:
        case Value():
            return data.with_text(change)
        case str():
            return change(data) if free else data
        case Mapping():
            return {name: _changed(item, change, free) for name, item in data.items()}
        case list() | tuple():
            return type(data)(_changed(item, change, free) for item in data)
    return data
