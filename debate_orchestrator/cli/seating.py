"""Persons in a debate's seats: whether there is a terminal for them, and how they are reached at it."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from debate_orchestrator.core.phases import JUDGE
from debate_orchestrator.providers.registry import Permissions, Personal, Provider
from debate_orchestrator.util import model_spec
from debate_orchestrator.util.errors import complaint

if TYPE_CHECKING:
    from debate_orchestrator.core.state import DebateState
    from debate_orchestrator.podium.person import Person

PERSON = ((model_spec.HUMAN, "you, or somebody beside you, at this terminal"),)
"""A person, as the setup conversation offers one for a seat."""
_AS_FILES = (
    "Seat `host` instead: `debate open` and `debate step` lay briefs out as files and take replies as files, which "
    "people can write by hand."
)


_INSTEAD = "Leave --events out: the journal gets the same events, a line each, as they happen, for a program to follow."


def unseated(cast: Mapping[str, Iterable[str]], *, terminal: bool | None = None, events: bool = False) -> list[str]:
    """A complaint where a person is to sit somewhere and no terminal is there to ask them at, or where `events` are
    told at that terminal: ballots that a judge must not see, and speeches before the person's own. `terminal` tells
    whether there is one, where that is known."""
    seats = [seat for seat, specs in cast.items() if model_spec.HUMAN in specs]
    if not seats:
        return []
    where = f"cast: {', '.join(seats)}"
    if not (at_terminal() if terminal is None else terminal):
        return [complaint(where, f"{model_spec.HUMAN}, and no terminal", "a terminal to ask at", _AS_FILES)]
    if events:
        got = f"{model_spec.HUMAN}, and --events at the same terminal"
        return [complaint(where, got, "a terminal that shows a person no more than their briefs do", _INSTEAD)]
    return []


def permitted(arguments: argparse.Namespace) -> Permissions:
    """What the flags of this command permit."""
    named = tuple(getattr(arguments, "command_env", None) or ())
    return Permissions(named, insecure=getattr(arguments, "insecure", False))


def at_terminal() -> bool:
    """Whether somebody can be asked: what they type comes from a terminal, and what they are told goes to one."""
    try:
        return all(os.isatty(stream.fileno()) for stream in (sys.stdin, sys.stderr))
    except (AttributeError, OSError, ValueError):
        return False


def person(seats: Mapping[str, Provider], drafts: str) -> Person | None:
    """Whoever is asked for the seats that persons sit in; None where there are none. What they write is kept in the
    folder `drafts`."""
    asking = [one for one in seats.values() if isinstance(one, Personal)]
    if not asking:
        return None
    from debate_orchestrator.podium.papers import Papers
    from debate_orchestrator.podium.person import Person
    from debate_orchestrator.podium.writing import here

    made = Person(here(), Papers(drafts))
    for one in asking:
        one.person = made
    return made


def judges_look_on(debate: DebateState) -> bool:
    """Whether a person is one of several judges, none of whom may see what the others gave."""
    panel = debate.cast.get(JUDGE, ())
    return model_spec.HUMAN in panel and len(panel) > 1
