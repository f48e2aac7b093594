"""The state of a debate that is read from a journal. A journal may come from anyone, and what it holds must fit."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager

from debate_orchestrator.core.events import Event
from debate_orchestrator.core.fold import fold
from debate_orchestrator.core.state import DebateState
from debate_orchestrator.util.data import name_of
from debate_orchestrator.util.errors import DamagedJournal, DebateError, OutOfTurn


def stored_state(journal: str, events: Iterable[Event]) -> DebateState:
    """The state after the events of a journal; `journal` is its path. Raises DamagedJournal if they do not fit."""
    with as_damaged_journal(journal):
        return fold(events)


@contextmanager
def as_damaged_journal(journal: str = "") -> Iterator[None]:
    """Makes a DamagedJournal of what goes wrong while a journal is made into a state or a report. `journal` is its
    path, or empty where that is not known. What was raised is the `__cause__`: it may be an error in this program."""
    name = name_of(journal) if journal else "This journal"
    try:
        yield
    except OutOfTurn as error:
        problem = f"{name} can't be read: it has an event out of turn. {' '.join(error.problems)}"
        raise DamagedJournal(problem) from error
    except DebateError:
        raise
    except Exception as error:
        kind = type(error).__name__
        problem = f"{name} can't be read: its format is not one that this version can work with ({kind})."
        raise DamagedJournal(problem) from error
