"""What visitors are told of failures: what happened, what to try, and whether to try again. Details are the owner's."""

from __future__ import annotations

from typing import Any

from debate_orchestrator.util.errors import JournalWriteError, LockedJournal, OverBudget, Paused, with_hint
from debate_orchestrator.web.public.limits import ALL_COST, DAY_COST

VISITOR, TRIES, MODEL, CAST = "visitor:", "tries:", "model:", "cast:"
"""How the names of counters begin."""


class Refusal(Exception):
    """A debate that is not started: its HTTP status, and sentences by the field that they stand beside."""

    def __init__(self, status: int, problems: dict[str, list[str]], *, retry_after: float | None = None, **more: Any):
        super().__init__("; ".join(sentence for sentences in problems.values() for sentence in sentences))
        self.status, self.problems = status, problems
        self.retry_after = None if retry_after is None else max(1, round(retry_after))
        """Seconds after which the same form may be taken; None where something in it has to change."""


def explained(error: Exception) -> list[str]:
    """Why a debate stands still, without anything that the owner's errors name."""
    if isinstance(error, LockedJournal):
        return [with_hint("Another server of this site runs this debate.", "load this page again to follow it")]
    if isinstance(error, JournalWriteError):
        return ["This site can't save anything at the moment. What was said until now is kept."]
    if isinstance(error, OverBudget):
        hint = "start a debate with fewer rounds"
        return [with_hint("This debate has reached the most that one debate may cost. What was said is kept.", hint)]
    if isinstance(error, Paused):
        return ["A model did not answer in time. Nothing that was said is lost."]
    sentence = "A model can't be asked until the owner of this site has looked at it. What was said is kept."
    return [with_hint(sentence, "come back later, or start a debate with another cast")]


def given_up() -> str:
    """What a visitor can do once a debate that was interrupted is not tried again by itself."""
    return with_hint("It was tried several times, and is not tried again by itself.", "start the debate again later")


def limit_reached(name: str, per_visitor: int, seconds: float) -> Refusal:
    """The refusal of a debate because of a limit. `seconds` is how long the day still lasts in UTC."""
    tomorrow = "come back tomorrow; days begin at 00:00 UTC"
    another = "choose another cast, or come back tomorrow"
    if name.startswith(VISITOR):
        count = f"{per_visitor} debate{'s' * (per_visitor != 1)}"
        sentence = with_hint(f"Your network has started {count} today, and that is the most for one visitor.", tomorrow)
    elif name.startswith(TRIES):
        sentence = with_hint("Your network has tried too many topics today.", tomorrow)
    elif name.startswith((MODEL, CAST)):
        sentence = with_hint("The models of this cast have reached their limit of debates for today.", another)
    elif name == DAY_COST:
        sentence = with_hint("This site has reached its limit of costs for today.", another)
    else:
        assert name == ALL_COST
        hint = "choose a cast that costs nothing, if there is one; trying again won't help"
        return Refusal(503, {"": [with_hint("This site has reached its limit of costs.", hint)]})
    return Refusal(429, {"": [sentence]}, retry_after=seconds)


def queue_full(waiting: int, seconds: float | None) -> Refusal:
    """The refusal of a debate because too many wait already."""
    when = f"in about {minutes(seconds)}" if seconds else "in some minutes"
    wait = "One debate waits" if waiting == 1 else f"{waiting} debates wait"
    sentence = with_hint(f"{wait} already, and no more are taken now.", f"the same again {when}")
    return Refusal(503, {"": [sentence]}, retry_after=seconds or 300)


def minutes(seconds: float) -> str:
    """A time in words, for people who wait."""
    if seconds < 90:
        return "a minute"
    return f"{round(seconds / 60)} minutes" if seconds < 5_400 else f"{round(seconds / 3600)} hours"
