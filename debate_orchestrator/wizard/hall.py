"""Who can be asked from here, looked up once, beside the conversation."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

from debate_orchestrator.core.format import Format
from debate_orchestrator.core.phases import CLERK, EVERYBODY, JUDGE
from debate_orchestrator.providers import discovery, pricing
from debate_orchestrator.providers.registry import NO_PERMISSIONS, Permissions
from debate_orchestrator.setup.settings import MODERATOR
from debate_orchestrator.util import model_spec
from debate_orchestrator.util.errors import BadSettings
from debate_orchestrator.wizard.beside import beside

Choice = tuple[str, str]
"""Somebody who may fill a seat, and what that means."""
Cast = dict[str, Any]
"""Seat to who fills it, or to a list of judges, as an answers file has it."""
EXAMPLES = {"vendor": "anthropic:MODEL", "local": "ollama:MODEL", "key": "ANTHROPIC_API_KEY"}
_LISTED = 3
"""Models of one server that are choices; Tab completes the others."""


def seats(rules: Format) -> tuple[str, ...]:
    """The seats of a format that a person chooses somebody for."""
    return tuple(seat for seat in rules.seated if seat != CLERK)


def filled(rules: Format, who: Callable[[str], str]) -> Cast:
    """The cast in which `who` tells who fills each seat, with as many judges as the format has."""
    return {
        seat: [who(seat)] * rules.panel if seat == JUDGE and rules.panel > 1 else who(seat) for seat in seats(rules)
    }


class Hall(NamedTuple):
    """Who can be asked."""

    ways: tuple[discovery.Available, ...]
    usual: dict[str, str]
    """Seat to who fills it where nobody is named; empty where nobody can."""
    best: dict[str, str]
    """Seat to who would at best, whether that can be had here or not."""
    permissions: Permissions = NO_PERMISSIONS

    @property
    def moderator(self) -> str | None:
        return self.usual.get(MODERATOR)

    def ready(self) -> list[Choice]:
        """Everybody who can be asked without another word: programs, and models of a server of one's own."""
        programs = [way for way in self.ways if way.ready and model_spec.kind(way.seat) == model_spec.COMMAND]
        found = [(way.seat, way.about) for way in programs if "PROGRAM" not in way.seat]
        for way in self.ways:
            if way.ready and way.seat == EXAMPLES["local"]:
                found += [(way.seat.replace("MODEL", name), way.about) for name in way.models[:_LISTED]]
        return found

    def anybody(self) -> bool:
        """Whether there is somebody to call."""
        return bool(self.usual or self.ready() or any(way.ready and way.models for way in self.ways))

    def names(self) -> tuple[str, ...]:
        """Every model that was found or is known, as a cast names it; and how the others begin."""
        names: list[str] = []
        for way in self.ways:
            known = pricing.models(model_spec.kind(way.seat)) if way.seat.endswith(":MODEL") else ()
            names += [f"{model_spec.kind(way.seat)}:{name}" for name in way.models or known]
            names += [] if way.models or known or " " in way.seat else [way.seat]
        return tuple(dict.fromkeys(names))


def look(permissions: Permissions = NO_PERMISSIONS) -> Hall:
    """Looks round. It takes some seconds where a server is slow to answer."""
    ways = beside(partial(discovery.available, permissions))
    try:
        usual = {seat: discovery.default(seat) for seat in (*EVERYBODY, MODERATOR)}
    except BadSettings:
        usual = {}
    best = {seat: usual.get(seat) or discovery.unlimited(seat) for seat in EVERYBODY}
    return Hall(tuple(ways.result()), usual, best, permissions)
