"""Those who can be asked: one method, one file each, found by short name, loaded late.

An agent host is not here: nobody calls it, it calls us. Its seats have no provider, and their turns
stay due until `debate step` takes the replies.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module
from typing import TYPE_CHECKING, Protocol

from debate_orchestrator.core.rules import JUDGE, judges
from debate_orchestrator.errors import BadAnswers, complaint, shown

if TYPE_CHECKING:
    from debate_orchestrator.briefs import Brief
    from debate_orchestrator.core.events import Reply

HOST = "host"
_KINDS = {"replay": "debate_orchestrator.providers.replay"}
"""Short name to the module whose `provider(rest)` makes one."""


class Provider(Protocol):
    """Somebody who can be asked."""

    name: str
    """As in the cast; it is written beside every reply."""

    async def reply(self, brief: Brief) -> Reply:
        """The answer to a brief, verbatim; the loop notes which brief it answers and who gave it. Raises
        errors.Theirs where none can be had."""
        ...


def complaints(cast: Mapping[str, tuple[str, ...]]) -> list[str]:
    """What is wrong with a cast: every seat whose filler nobody here knows."""
    known = ", ".join([HOST, *(f"{kind}:..." for kind in _KINDS)])
    return [
        complaint(f"cast: {seat}", shown(spec), f"one of {known}")
        for seat, specs in cast.items()
        for spec in specs
        if spec != HOST and spec.partition(":")[0] not in _KINDS
    ]


def seated(cast: Mapping[str, tuple[str, ...]]) -> dict[str, Provider]:
    """The provider of every seat that has one. BadAnswers where a seat's filler is unknown."""
    if wrong := complaints(cast):
        raise BadAnswers(wrong)
    filled: dict[str, Provider] = {}
    for role, specs in cast.items():
        seats = judges(len(specs)) if role == JUDGE else (role,)
        filled |= {seat: _made(spec) for seat, spec in zip(seats, specs, strict=True) if spec != HOST}
    return filled


def _made(spec: str) -> Provider:
    kind, _, rest = spec.partition(":")
    make: Callable[[str], Provider] = import_module(_KINDS[kind]).provider
    return make(rest)
