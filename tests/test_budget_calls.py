"""Which calls a cap and a report count: each `CallIntended` has one outcome at most, whatever else a journal says."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from itertools import count
from typing import Any

import debates
import pytest
from hypothesis import given
from hypothesis import strategies as st

from debate_orchestrator.core import schedule
from debate_orchestrator.core.costs import costs_of
from debate_orchestrator.core.events import (
    CallFailed,
    CallIntended,
    Event,
    Reassigned,
    Rejected,
    Reopened,
    Spoke,
)
from debate_orchestrator.core.fold import CurrentState, apply, fold
from debate_orchestrator.core.phases import JUDGE, Turn
from debate_orchestrator.core.reply import Reply
from debate_orchestrator.core.state import DebateState
from debate_orchestrator.engine import start
from debate_orchestrator.engine.budget import Budget, SharedBudget
from debate_orchestrator.formats import loader
from debate_orchestrator.prompting import replies
from debate_orchestrator.providers import rehearse
from debate_orchestrator.setup.answers import make_settings
from debate_orchestrator.util import resources
from debate_orchestrator.util.errors import OutOfTurn

OPUS = "anthropic:claude-opus-5-5"
FIRST = "1.opening.a"


def call_intended(turn: str = FIRST, by: str = OPUS, estimate: float | None = 0.5) -> CallIntended:
    return CallIntended(turn_id=turn, brief_digest="d", spec=by, called=by == OPUS, estimated_cost=estimate)


def failed(n: int = 0, turn: str = FIRST, by: str = OPUS, *, billed: bool = False) -> CallFailed:
    return CallFailed(turn_id=turn, spec=by, problem=f"overloaded {n}", maybe_billed=billed)


def unusable(n: int, turn: str = FIRST, by: str = "host") -> Rejected:
    reply = Reply(text=f"x{n}", brief_digest="d", spec=by)
    return Rejected(turn_id=turn, problems=("No.",), reply=reply, absent=False)


def opened(events: Iterable[Event] = (), **setup: Any) -> DebateState:
    seated = {"a": (OPUS,), "b": (OPUS,), "judge": (OPUS,)}
    return fold([debates.opened_event(rounds=1, cast=seated, **setup), *events])


def committed(debate: DebateState) -> float:
    """What a cap counts, of this debate alone and as the only one under a shared cap."""
    alone, shared = Budget(CurrentState(debate)).committed(), SharedBudget(None)
    shared.budget("one", CurrentState(debate))
    assert shared.committed() == alone
    shared.end_budget("one")
    assert shared.committed() == alone
    return alone


def test_an_outcome_is_that_of_the_latest_intent_of_its_model() -> None:
    """What came of a call is its own: the call of a process that was killed before stays on the count, and so does a
    call of a model whose seat the host has taken since."""
    assert committed(opened([call_intended(estimate=0.7), call_intended(), failed()])) == pytest.approx(0.7)
    assert committed(opened([call_intended(estimate=0.1), call_intended(), failed(billed=True)])) == pytest.approx(0.6)
    assert committed(opened([call_intended(), call_intended(by="host"), unusable(0)])) == pytest.approx(0.5)
    assert committed(opened([call_intended(), failed(), failed(1)])) == 0.0


def test_a_brief_laid_out_for_the_host_is_no_call() -> None:
    """A seat is handed from the host to a model: its calls alone are counted, and none is of unknown price."""
    seated = {"a": ("host",), "b": (OPUS,), "judge": (OPUS,)}
    said = Reply(text="Tabs.", brief_digest="d", spec=OPUS, called=True, cost=0.25)
    taken = [call_intended(by="host", estimate=None)] * 4
    first = debates.opened_event(rounds=1, cast=seated)
    debate = fold([first, *taken, Reassigned(seat="a", specs=(OPUS,)), call_intended()])
    debate = apply(debate, Spoke(turn_id=FIRST, reply=said))
    total = costs_of(debate).total

    assert (total.calls, total.unpriced_calls, total.cost) == (1, 0, 0.25)
    assert committed(debate) == 0.25


class Bookkeeping:
    """A debate under way, and what its calls have cost by a count of its own: $1 for a reply, $0.50 for a call that
    was lost or is under way."""

    def __init__(self, debate: DebateState, data: st.DataObject):
        self.debate, self._draw = debate, data.draw
        self.paid, self.under_way, self._events = 0.0, Counter[str](), count()

    @property
    def expected(self) -> float:
        return self.paid + 0.5 * self.under_way.total()

    def go_on(self) -> bool:
        """Applies one event more; False if there is none."""
        if not self.debate.due:
            return schedule.turns_to_reopen(self.debate) != [] and self._draw(st.booleans()) and self._apply(Reopened())
        turn = self._draw(st.sampled_from(self.debate.due))
        kinds = ("sent", "host", "failed", "lost", "broken off", "unusable", "absent", "early end", *["reply"] * 6)
        kind = self._draw(st.sampled_from(kinds))
        if kind == "early end":
            return self._apply(schedule.early_end(self.debate)) or True
        if kind in ("sent", "host"):
            self.under_way[turn.id] += kind == "sent"
            return self._apply(call_intended(turn.id, OPUS if kind == "sent" else "host"))
        if self._draw(st.booleans()):
            self.under_way[turn.id] += 1
            self._apply(call_intended(turn.id))
        return self._ended(turn, kind)

    def _ended(self, turn: Turn, kind: str) -> bool:
        """Whatever came of a call, with or without its `CallIntended`."""
        known = self.under_way[turn.id] > 0
        kind = "failed" if kind == "lost" and not known else kind
        event = self._outcome(turn, kind)
        if event is not None and self._apply(event):
            self.under_way[turn.id] -= known
            self.paid += {"failed": 0.0, "lost": 0.5}.get(kind, 1.0)
        return True

    def _outcome(self, turn: Turn, kind: str) -> Event | None:
        text = rehearse.reply_for(self.debate, turn)
        reply = Reply(text=text, brief_digest=str(next(self._events)), spec=OPUS, called=True, cost=1.0)
        if kind in ("failed", "lost"):
            return failed(0, turn.id, billed=kind == "lost")
        if kind == "broken off":
            return failed(0, turn.id, billed=True).model_copy(update={"reply": reply})
        if kind in ("unusable", "absent"):
            absent = kind == "absent" and turn.judging and schedule.may_be_absent(self.debate, turn)
            return Rejected(turn_id=turn.id, problems=("No.",), reply=reply, absent=absent)
        return replies.parse_reply(self.debate, turn, reply, None, last=True)

    def _apply(self, event: Event) -> bool:
        before = self.debate
        try:
            self.debate = apply(before, event)
        except OutOfTurn:
            return False
        return self.debate is not before


@given(st.data(), st.sampled_from(sorted(resources.format_names())))
def test_a_cap_counts_every_call_of_any_debate(data: st.DataObject, name: str) -> None:
    """Whatever happens in a debate, with calls that are lost, phases that are left out and turns that are reopened, a
    cap counts each reply and each call that is lost or under way, and forgets none."""
    format = loader.load(name)
    judges = {"judge": [OPUS] * data.draw(st.integers(1, 3))} if JUDGE in format.active_seats() else {}
    setup: dict[str, Any] = {"topic": "Tabs?", "positions": {"a": "Tabs.", "b": "Spaces."}, "rounds": 1}
    setup["cast"] = dict.fromkeys(format.active_seats(), OPUS) | judges
    book = Bookkeeping(fold([start.make_opened(make_settings(setup, format, "o.md"))]), data)
    for _ in range(80):
        if not book.go_on():
            break
        assert Budget(CurrentState(book.debate)).committed() == pytest.approx(book.expected)
