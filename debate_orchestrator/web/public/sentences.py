"""Messages for visitors of a public site about debates that are not started, and about failures: what happened, what to
try, and whether to try again. Details are the owner's."""

from __future__ import annotations

from debate_orchestrator.util.errors import JournalWriteError, LockedJournal, OverBudget, Paused, with_hint
from debate_orchestrator.util.numbers import plural
from debate_orchestrator.web.public.visitor_limits import ALL_COST, DAY_COST, TRIES, VISITOR, seconds_to_midnight


class FormError(Exception):
    """A debate that is not started: its HTTP status, and sentences by the field that they are beside."""

    def __init__(self, status: int, problems: dict[str, list[str]], *, retry_after: float | None = None):
        super().__init__(" ".join(sentence for sentences in problems.values() for sentence in sentences))
        self.status, self.problems = status, problems
        self.retry_after = None if retry_after is None else max(1, round(retry_after))
        """Seconds after which the same form may be taken; None if something in it has to change."""


def public_reasons(error: Exception) -> list[str]:
    """The reason that a debate is paused, without the files, keys and addresses that the errors name to the owner."""
    if isinstance(error, LockedJournal):
        return [with_hint("Another server of this site runs this debate.", "load this page again to follow it")]
    if isinstance(error, JournalWriteError):
        return ["This site can't save anything at the moment. What was saved until now is kept."]
    if isinstance(error, OverBudget):
        hint = "start a debate with fewer rounds"
        return [with_hint("This debate has reached the most that one debate may cost. What was said is kept.", hint)]
    if isinstance(error, Paused):
        return ["A model did not answer in time. Nothing that was said is lost."]
    sentence = "A model can't be asked until the owner of this site has looked at it. What was said is kept."
    return [with_hint(sentence, "come back later, or start a debate with another offer")]


def not_started(status: int, sentence: str, hint: str, retry_after: float | None = None) -> FormError:
    """The error for a debate that is not started for a reason that is in none of the fields."""
    return FormError(status, {"": [with_hint(sentence, hint)]}, retry_after=retry_after)


def limit_reached(name: str, per_visitor: int) -> FormError:
    """The error for a debate that is not started because of a limit."""
    if name == ALL_COST:
        hint = "choose an offer that costs nothing, if there is one; trying again won't help"
        return not_started(503, "This site has reached its limit of costs.", hint)
    hint = "choose another offer, or come back tomorrow"
    if name == DAY_COST:
        sentence = "This site has reached its limit of costs for today."
    elif name.startswith((VISITOR, TRIES)):
        hint = "come back tomorrow; days begin at 00:00 UTC"
        debates = plural(per_visitor, "debate")
        sentence = f"Your network has started {debates} today, and that is the most for one visitor."
        if name.startswith(TRIES):
            sentence = "Your network has tried too many topics today."
    else:
        sentence = "The models of this offer have reached their limit of debates for today."
    return not_started(429, sentence, hint, seconds_to_midnight())


def queue_full(waiting: int, seconds: float | None) -> FormError:
    """The error for a debate that is not started because too many wait already."""
    when = f"in about {minutes(seconds)}" if seconds else "in some minutes"
    wait = "One debate waits" if waiting == 1 else f"{waiting} debates wait"
    return not_started(503, f"{wait} already, and no more are taken now.", f"the same again {when}", seconds or 300)


def minutes(seconds: float) -> str:
    """A time in words, for people who wait."""
    if seconds < 90:
        return "a minute"
    return f"{round(seconds / 60)} minutes" if seconds < 5_400 else f"{round(seconds / 3600)} hours"
