"""Two positions from a topic, by a model, where they were not given: derived once, kept with what they cost."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
from conftest import Run
from messages_server import Server
from speakers import Speaker

from debate_orchestrator.core.costs import costs_of
from debate_orchestrator.core.events import Opened
from debate_orchestrator.core.fold import fold
from debate_orchestrator.core.reply import FoundPage, Reply
from debate_orchestrator.engine.budget import cost_before_call
from debate_orchestrator.engine.moderator import ModeratorLimits, billed_calls_sentence, propose
from debate_orchestrator.formats import loader
from debate_orchestrator.prompting.briefs import Brief
from debate_orchestrator.providers.provider import OnPiece
from debate_orchestrator.setup.questions import SetupQuestions
from debate_orchestrator.setup.state import SetupFile, SetupProgress, SetupState
from debate_orchestrator.storage.journal import read
from debate_orchestrator.util.errors import OverBudget, TransientError
from debate_orchestrator.util.numbers import plural

OPUS = "anthropic:claude-opus-5-5"
DERIVED = json.dumps({"kind": "technical", "a": "Tabs it is.", "b": "Spaces it is."})
MODELS = ("--a=anthropic:m", "--b=anthropic:m", "--judge=anthropic:n")
SETUP = ("--topic=Tabs?", "--rounds=1", "--output=r.md", *MODELS, "--no-issues", "--no-brief")


@pytest.fixture
def server(plain_server: Server, monkeypatch: pytest.MonkeyPatch) -> Server:
    monkeypatch.setattr("debate_orchestrator.engine.retry.INITIAL_WAIT", 0.05)
    plain_server.problem = lambda request, n: {"text": DERIVED} if deriving(request) else None
    return plain_server


def deriving(request: dict[str, Any]) -> bool:
    return "Derive the two positions" in json.dumps(request["messages"])


def opened() -> Opened:
    first = read("r.journal.jsonl").events[0]
    assert isinstance(first, Opened)
    return first


def test_positions_are_derived(debate: Run, server: Server) -> None:
    """The judge's model derives both positions; they are marked as derived, and the reply is on record."""
    ran = debate("run", *SETUP)
    setup, derived = opened().settings, opened().moderator_replies

    assert ran.code == 0, ran.err
    assert setup.positions == {"a": "Tabs it is.", "b": "Spaces it is."}
    assert setup.origins["positions"] == "derived"
    assert [(one.spec, one.text, one.by_call) for one in derived] == [("anthropic:n", DERIVED, True)]
    assert derived[0].usage is not None and derived[0].usage.input > 0
    assert 0 < ran.err.index("to derive the positions") < ran.err.index("Deriving the two positions"), ran.err
    assert "Tabs it is." in ran.err  # the setup that is shown holds what was derived
    assert "moderator" in Path("r.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("verb", ["run", "open"])
@pytest.mark.parametrize(("model", "called"), [("anthropic:n", True), ("rehearse", False)])
def test_calls_for_the_positions_are_in_the_estimate(
    debate: Run, server: Server, verb: str, model: str, called: bool
) -> None:
    """Where the moderator alone is called, the estimate says so, before the call; and not otherwise."""
    who = "rehearse" if verb == "run" else "host"
    cast = f"cast: {{a: {who}, b: {who}, judge: {who}, moderator: '{model}'}}"
    topic = "Which things matter most?" if called else "Should we move?"
    Path("a.yaml").write_text(f"topic: {topic}\n{cast}\nrounds: 1\n")
    ran = debate(verb, "--answers", "a.yaml", "--json")

    assert ran.code == 0, ran.err
    assert bool(server.requests) == called
    if called:
        assert f"1 or 2 calls of {model} to" in ran.err
        assert ran.err.index("to derive the positions; then no calls") < f"{ran.err}Deriving".index("Deriving")
    else:
        assert "first calls" not in ran.err


def test_a_reply_that_will_not_do_is_asked_for_again(debate: Run, server: Server) -> None:
    """Prose in place of positions is asked for once more, and both replies are on the bill."""
    said = iter(["I would rather not.", DERIVED])
    server.problem = lambda request, n: {"text": next(said)} if deriving(request) else None
    assert debate("run", *SETUP).code == 0
    assert [one.text for one in opened().moderator_replies] == ["I would rather not.", DERIVED]

    server.problem = lambda request, n: {"text": "No."} if deriving(request) else None
    ran = debate("run", *SETUP, "--output=other.md")
    assert ran.code == 4
    assert "2 replies" in ran.err and "--position-a" in ran.err
    assert ran.err.count("Try: ") == 1, "what the model may try is no advice to the user"
    assert not Path("other.journal.jsonl").exists()


def test_calls_that_broke_off_are_on_the_bill(debate: Run, server: Server) -> None:
    """A call for positions that breaks off may have been billed: the debate has it, with what had come, at an unknown
    price. One that the server refused costs nothing. Where no debate is opened, no journal names such calls, and the
    error does."""
    broken = {"text": DERIVED, "after": 3, "then": "end"}
    faults = iter([broken, {"status": 529}, {"close": 1}, {"text": DERIVED}])
    server.problem = lambda request, n: next(faults) if deriving(request) else None
    ran = debate("run", *(flag.replace("anthropic:n", OPUS) for flag in SETUP), "--retry-for=20")
    assert ran.code == 0, ran.err
    first, second, third = opened().moderator_replies

    assert DERIVED.startswith(first.text) and first.text and second.text == "" and third.text == DERIVED
    assert [one.cost for one in (first, second)] == [None, None] and first.by_call and second.by_call
    (line,) = [line for line in costs_of(fold(read("r.journal.jsonl").events)).lines if line.phase == "setup"]
    assert (line.calls, line.unpriced_calls) == (3, 2) and line.cost == third.cost

    server.problem, made = (lambda request, n: broken), len(server.requests)
    ran = debate("run", *SETUP, "--output=other.md", "--retry-for=1")
    calls = plural(len(server.requests) - made, "call")
    assert ran.code == 3 and f"{calls} of anthropic:n may have been billed." in ran.err


def test_a_moderator_of_its_own(debate: Run, server: Server) -> None:
    """A cast may name who derives; everything else is as without. Where the host has every seat, a topic that asks for
    more than yes or no needs positions, and the way to have them derived is named."""
    cast = "topic: T\nrounds: 1\noutput: r.md\ncast: {a: host, b: host, judge: host, moderator: anthropic:q}\n"
    Path("a.yaml").write_text(cast, encoding="utf-8")
    assert debate("run", "--answers", "a.yaml").code == 3  # the host is due
    assert [one.spec for one in opened().moderator_replies] == ["anthropic:q"]

    ran = debate("run", "--topic=Which CI?", "--a=host", "--b=host", "--judge=host")
    assert ran.code == 2 and "debate ask" in ran.err


def test_nothing_is_asked_that_could_not_be_opened(debate: Run, server: Server) -> None:
    """What would be refused afterwards is refused before the moderator is paid. Where the cap allows no call, to run it
    again is no way out."""
    Path("r.journal.jsonl").write_text("a journal of another debate\n", encoding="utf-8")
    there = debate("run", *SETUP)
    capped = debate("run", *SETUP, "--output=s.md", "--max-cost=1")
    unpaid = debate("run", *SETUP[:-1], "--output=t.md", "--judge=openrouter:v/m")

    assert (there.code, capped.code, unpaid.code) == (2, 2, 2)
    seats = [f"--{seat}={OPUS}" for seat in ("a", "b", "judge")]
    dear = debate("run", "--topic=Tabs?", "--rounds=1", *seats, "--output=u.md", "--max-cost=0.00001")
    assert dear.code == 3 and "Try: give --position-a and" in dear.err and "again" not in dear.err, dear.err
    assert server.requests == []


class Derives(Speaker):
    """A model that says and fails as it is told, one entry for each call, and whose replies have this cost."""

    name = OPUS

    def __init__(self, said: list[str | BaseException], cost: float | None):
        super().__init__(cost=cost)
        self.messages = said

    async def reply(self, brief: Brief, on_text: OnPiece) -> Reply:
        next_ = self.messages[len(self.briefs)]
        self.say = lambda brief: next_ if isinstance(next_, str) else ""
        reply = await super().reply(brief, on_text)
        if isinstance(next_, BaseException):
            raise next_
        return reply


def derived(
    provider: Derives, max_cost: float | None, paid: tuple[Reply, ...] = (), kept: list[Reply] | None = None
) -> str:
    """What is printed while this model derives positions under a cap, with what was paid before. `kept` gets
    replies."""
    notices: list[str] = []
    progress = SetupProgress(topics=("Tabs?",), topic_ok=True, positions="auto", nonce="0123456789abcdef", paid=paid)
    questions = SetupQuestions(loader.load("adversarial"), "r.md")
    limits = ModeratorLimits(1.0, max_cost, notices.append, asyncio.Event())
    state = SetupState(answers={"topic": "Tabs?"}, progress=progress)
    asyncio.run(propose(state, provider, questions, limits, [] if kept is None else kept))
    return "\n".join(notices)


@pytest.fixture
def price() -> float:
    """What one call for positions is expected to cost."""
    first = Derives([DERIVED], None)
    derived(first, None)
    price = cost_before_call(OPUS, first.briefs[0])
    assert price
    return price


@pytest.mark.parametrize("counted", [True, False], ids=["a cost", "an estimate"])
def test_a_cap_is_checked_before_each_attempt(price: float, counted: bool) -> None:
    """A reply that can't be used has taken what the second call would need, whether its tokens were counted or not."""
    provider = Derives(["No.", DERIVED], price if counted else None)
    with pytest.raises(OverBudget, match=r"max_cost: Deriving the two positions .* \$\d.* spent(?s:.*)\n1 call of "):
        derived(provider, price * 1.5)
    assert len(provider.briefs) == 1

    enough = Derives(["No.", DERIVED], price if counted else None)
    derived(enough, price * 2.5)
    assert len(enough.briefs) == 2


@pytest.mark.parametrize("came", [None, Reply(text="{", brief_digest="", spec=OPUS, cost=0.000001)])
def test_a_failed_call_counts_in_the_cap(price: float, came: Reply | None) -> None:
    """A call that may have been billed has taken what the next one would need; no other has."""
    billed, refused = TransientError("cut.", maybe_billed=True, partial=came), TransientError("overloaded.")
    provider, kept = Derives([billed, DERIVED], price), list[Reply]()
    with pytest.raises(OverBudget, match=r"with \$\d.* spent(?s:.*)\n1 call of .* may have been billed\."):
        derived(provider, price * 1.5, kept=kept)
    (failed,) = kept
    assert (failed.text, failed.cost, failed.spec, failed.by_call) == (came.text if came else "", None, OPUS, True)
    assert failed.estimated_cost == pytest.approx(price)

    enough, kept = Derives([refused, DERIVED], price), []
    derived(enough, price * 1.5, kept=kept)
    assert [one.text for one in kept] == [DERIVED]


@pytest.mark.parametrize("text", ["\x01\n 'é\U0001f600", "\n", " ", "a: "])
def test_long_replies_leave_room(text: str, here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What a server says in place of positions fills no file: its words are kept while there is room, and no pages. The
    calls are all on the bill, and the file of the answers can be read."""
    monkeypatch.setattr("debate_orchestrator.engine.retry.Retries.next_wait", lambda retries, failure: 0.0)
    pages = tuple(FoundPage(url=f"https://x.example/{n}", quote="\x01" * 9_000) for n in range(200))
    parts = [Reply(text=text * (20_000 // len(text)), brief_digest="", spec=OPUS, found_pages=pages)] * 8
    kept = list[Reply]()
    derived(Derives([*(TransientError("cut.", partial=part) for part in parts), DERIVED], None), None, kept=kept)
    assert (len(kept), kept[0].text, kept[-2].text) == (9, parts[0].text, "") and kept[0].dropped_pages == 200
    progress = SetupProgress(topics=("Tabs?",), topic_ok=True, nonce="0123456789abcdef", paid=tuple(kept))
    SetupFile("x.yaml").write(SetupState(answers={"topic": "Tabs?"}, progress=progress))
    assert SetupFile("x.yaml").load().progress.paid == tuple(kept)


def test_a_call_that_is_given_up_is_kept(price: float) -> None:
    """A second Ctrl-C cancels a call that may have been billed: what had come of it is kept."""
    kept = list[Reply]()
    with pytest.raises(asyncio.CancelledError):
        derived(Derives(["No.", asyncio.CancelledError()], None), None, kept=kept)
    assert billed_calls_sentence(kept) == [f"2 calls of {OPUS} may have been billed."]
    del kept[0]
    assert [(one.cost, one.estimated_cost, one.by_call) for one in kept] == [(None, pytest.approx(price), True)]
