"""People in the seats of a debate: whether there is a terminal to ask them at, and how they are reached."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from debate_orchestrator.cli.output import at_terminal
from debate_orchestrator.core.phases import JUDGE
from debate_orchestrator.providers.registry import Personal, Provider
from debate_orchestrator.setup.settings import host_problem
from debate_orchestrator.util.model_spec import HUMAN

if TYPE_CHECKING:
    from debate_orchestrator.core.state import DebateState
    from debate_orchestrator.terminal.turn import Person


def people_errors(
    cast: Mapping[str, Iterable[str]], *, terminal: bool | None = None, events: bool = False
) -> list[str]:
    """An error if people have seats and there is no terminal to ask them at, if the host has a seat beside them, or if
    `events` are printed at that terminal: they hold ballots that a judge must not see, and speeches that come before
    the person's own.

    `terminal` says whether there is one; None looks."""
    seats = ", ".join(seat for seat, models in cast.items() if HUMAN in models)
    if not seats:
        return []
    if not (at_terminal(sys.stderr) if terminal is None else terminal):
        return [
            f"cast: {seats}: a human needs a terminal, and there is none. Try: seat `host`. Then `debate open` and "
            "`debate step` write briefs to files and read replies from files, which people can write by hand."
        ]
    if problem := host_problem(cast):
        return [problem]
    if events:
        return [
            f"cast: {seats}: a human can't share the terminal with --events, which prints what they must not see yet. "
            "Leave --events out: the journal gets the same events as they happen, for a program to follow."
        ]
    return []


def connect_person(seats: Mapping[str, Provider], drafts: str) -> Person | None:
    """Gives every human seat the person at this terminal, whose unfinished replies are kept in the folder `drafts`.
    Returns that person; None if there is no such seat."""
    personal = [provider for provider in seats.values() if isinstance(provider, Personal)]
    if not personal:
        return None
    from debate_orchestrator.terminal.drafts import Drafts
    from debate_orchestrator.terminal.prompt import here
    from debate_orchestrator.terminal.turn import Person

    person = Person(here(), Drafts(drafts))
    for provider in personal:
        provider.person = person
    return person


def hides_ballots(debate: DebateState) -> bool:
    """Whether a person is one of several judges, so that the screen must not show the others' ballots."""
    panel = debate.cast.get(JUDGE, ())
    return HUMAN in panel and len(panel) > 1
