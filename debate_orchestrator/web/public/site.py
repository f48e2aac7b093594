"""The debates of a public site: started for visitors within its rules, found by their addresses, run in a queue."""

from __future__ import annotations

import asyncio
import math
import os
import re
import secrets
import statistics
import time
from collections import deque
from collections.abc import Callable, Collection, Mapping
from contextlib import suppress
from functools import partial
from typing import Any

from debate_orchestrator.core.costs import costs_of
from debate_orchestrator.core.settings import Settings
from debate_orchestrator.core.state import DebateState
from debate_orchestrator.engine import format_check
from debate_orchestrator.engine.api import find_risks, open_debate
from debate_orchestrator.setup.answers import make_settings
from debate_orchestrator.setup.plain_positions import worded_positions
from debate_orchestrator.storage.paths import JOURNAL
from debate_orchestrator.util.data import is_link
from debate_orchestrator.util.errors import DebateError, JournalWriteError, OverBudget, Paused
from debate_orchestrator.util.numbers import plural
from debate_orchestrator.util.sanitize import few_combining_marks, one_line
from debate_orchestrator.web import folder
from debate_orchestrator.web.live import Viewers
from debate_orchestrator.web.log import Seldom
from debate_orchestrator.web.open_files import bounds, is_out_of_files
from debate_orchestrator.web.public import visitors
from debate_orchestrator.web.public.limits import Costs, LimitsUnavailable, VisitorCounts, today
from debate_orchestrator.web.public.moderation import ModerationFailed, TopicScreener
from debate_orchestrator.web.public.rules import Offer, SiteRules, risks_of
from debate_orchestrator.web.public.visitors import MODEL, OFFER, TRIES, VISITOR, FormError, not_started
from debate_orchestrator.web.repeated_forms import RepeatedForms
from debate_orchestrator.web.runs import Run, Runs, consent_already_given

SUFFIXES = (".public", ".public.rehearsed")
"""What stands between the address of a public debate and `.journal.jsonl`. No other debate of the folder is shown."""
MAX_TOPIC_LENGTH = 300
"""Characters of a topic or a position."""
_NAME = re.compile(r"[a-z0-9]+(?:-[a-z0-9]+)*")
_FIELDS = frozenset({"topic", "position.a", "position.b", "offer", "rounds"})
_PLACES = {"topic": "topic", "positions": "position.a", "rounds": "rounds"}
"""Setting to the field of the form that it comes from."""
_TRIES = 10
"""Topics that a visitor may have checked, for each debate that they may start in a day."""
_MAX_STARTING = 40
"""Debates that are being started at the same time, most of them waiting for the check of their topic; fewer where few
connections may be open."""

CHARGE_SECONDS = 60.0
"""Seconds until limits that can't be looked up are asked again to count what a debate costs."""

Log = Callable[[str], None]


class Site:
    """The debates of the working folder that visitors have started."""

    def __init__(self, rules: SiteRules, visitor_counts: VisitorCounts, log: Log):
        """`log` gets what the owner should know, a line each. BadSettings where the moderation can't be loaded."""
        self.rules, self.visitor_counts = rules, visitor_counts
        self.topic_screener = TopicScreener(rules.moderation)
        forms = RepeatedForms(self.topic_screener.drop)
        self.runs = Runs(visitors.public_reasons, log, remember=False, forms=forms)
        self.queue = StartQueue(self.runs, rules.at_once, rules.queue, self._ended)
        self.log = log
        self._seldom = Seldom()
        self._starting: set[str] = set()
        """The pseudonyms of visitors for whom a debate is being started."""
        self._owed: dict[str, tuple[str, float]] = {}
        """What debates are to count for: name to day and US dollars."""
        self._charging: asyncio.Task[None] | None = None
        self._ending = asyncio.Event()

    # Starting

    async def start(self, sent: Mapping[str, str], address: str) -> str:
        """Opens the debate of a form that was sent from an address, and has it run. Returns its name.
        Raises FormError."""
        offer, answers = self._answers(sent)
        self._must_have_room()
        try:
            return await self._start(offer, answers, address)
        except (LimitsUnavailable, ModerationFailed) as error:
            self.tell(error)
            hint = "the same again in some minutes"
            raise not_started(503, "No debate can be started at the moment.", hint, 120) from None

    def tell(self, failure: DebateError) -> None:
        """Tells the owner of a failure, once a minute for each kind at most, since every request of a visitor may
        repeat it. The kind is the type of the error that caused it, whose text may quote the visitor, or else the text
        of the failure."""
        kind = type(failure.__cause__).__name__ if failure.__cause__ else str(failure)
        if self._seldom.first(kind):
            self.log(str(failure))

    def _must_have_room(self) -> None:
        if self.queue.full:
            raise visitors.queue_full(self.rules.queue, self.queue.wait_seconds(1))

    async def _start(self, offer: Offer, answers: dict[str, Any], address: str) -> str:
        name = f"{folder.slug(answers['topic'])}-{secrets.token_hex(5)}"
        settings = _settings(answers, f"{name}{SUFFIXES[0]}.md")
        day, visitor = await self._day_and_visitor(address)
        again = "the same again in some seconds"
        if visitor in self._starting:
            raise not_started(429, "One of your network is being started already.", again, 10)
        if len(self._starting) >= min(_MAX_STARTING, bounds().connections // 4):
            raise not_started(503, "Too many debates are being started at the moment.", again, 20)
        self._starting.add(visitor)
        try:
            await self._moderate(name, day, visitor, offer, answers)
            self._must_have_room()  # no place is kept meanwhile: one visitor's topics would keep others out
            self.queue.starting += 1
            try:
                return await self._open(name, settings, offer, address)
            finally:
                self.queue.starting -= 1
        finally:
            self._starting.discard(visitor)

    async def _open(self, name: str, settings: Settings, offer: Offer, address: str) -> str:
        day, visitor = await self._day_and_visitor(address)  # it may be another day by now
        await self._admit(name, day, visitor, offer)
        opening = asyncio.ensure_future(open_debate(settings, rehearse=offer.rehearsal, unsaved=self.runs.unsaved))
        try:
            files = await asyncio.shield(opening)
        except Exception as error:
            self._charge(name, day, 0.0)
            if not isinstance(error, DebateError):
                raise
            self.log(f"{name}: {error}")
            sentence = "The debate could not be opened, and trying again won't help until the owner has looked at it."
            raise FormError(500, {"": [sentence]}) from None
        if offer.max_cost:
            self._charge(name, day, offer.max_cost)
        self.queue.add(files.journal)
        return name

    async def _day_and_visitor(self, address: str) -> tuple[str, str]:
        day = await self.visitor_counts.today()
        return day, visitors.pseudonym(await self.visitor_counts.day_key(day), address)

    async def _moderate(self, name: str, day: str, visitor: str, offer: Offer, answers: dict[str, Any]) -> None:
        """Raises FormError for a topic that the owner's check refuses, and for a visitor who tries or has started too
        many."""
        if not self.rules.moderation:
            return
        tries = {f"{TRIES}{visitor}": _TRIES * self.rules.debates_per_visitor}
        started = {f"{VISITOR}{visitor}": self.rules.debates_per_visitor}
        if reached := await self.visitor_counts.admit(name, day, tries, 0.0, self.rules, started):
            raise visitors.limit_reached(reached, self.rules.debates_per_visitor)
        request = {"topic": answers["topic"], "positions": answers["positions"], "offer": offer.name}
        if reason := await self.topic_screener.reason(request):
            raise FormError(422, {"topic": [reason]})

    async def _admit(self, name: str, day: str, visitor: str, offer: Offer) -> None:
        counters = {f"{VISITOR}{visitor}": self.rules.debates_per_visitor}
        counters |= {f"{OFFER}{offer.name}": offer.per_day} if offer.per_day is not None else {}
        counters |= {
            f"{MODEL}{spec}": most for spec, most in self.rules.debates_per_model.items() if spec in offer.models
        }
        if reached := await self.visitor_counts.admit(name, day, counters, offer.max_cost or 0.0, self.rules):
            raise visitors.limit_reached(reached, self.rules.debates_per_visitor)

    def _answers(self, sent: Mapping[str, str]) -> tuple[Offer, dict[str, Any]]:
        """The offer that a form chooses, and the answers that it makes; nothing but the visitor's own fields is taken
        from it. Raises FormError with what is invalid, by field."""
        problems: dict[str, list[str]] = {}
        if unknown := sent.keys() - _FIELDS:
            raise FormError(400, {"": [f"This form has fields that are not known here: {len(unknown)}."]})
        offer = self.rules.offers.get(sent.get("offer", "") or next(iter(self.rules.offers)))
        if offer is None:
            raise FormError(422, {"offer": ["There is no such offer here. Choose one of the list."]})
        rounds = sent.get("rounds", "") or str(min(offer.rounds, 2))
        if not re.fullmatch(r"[1-9]\d?", rounds) or int(rounds) > offer.rounds:
            problems["rounds"] = [f"This offer has 1 to {plural(offer.rounds, 'round')}."]
        texts = {
            field: few_combining_marks(one_line(sent.get(field, ""))).strip()
            for field in ("topic", "position.a", "position.b")
        }
        for field, text in texts.items():
            if len(text) > MAX_TOPIC_LENGTH:
                problems[field] = [f"It has {len(text)} characters, and at most {MAX_TOPIC_LENGTH} are taken."]
        if not texts["topic"]:
            problems["topic"] = ["Write a question or a claim, in one sentence."]
        format = format_check.load(offer.answers["format"])
        positions = {side: text for side in format.sides if (text := texts.get(f"position.{side}", ""))}
        if positions and len(positions) < len(format.sides):
            problems["position.a" if "a" not in positions else "position.b"] = ["Say what this side argues, too."]
        elif not positions and texts["topic"] and not problems:
            positions = worded_positions(texts["topic"], format.sides, rehearsal=offer.rehearsal)
            if not positions:
                sentence = "It is not clear from the topic what each side is to argue. Say it here, in a sentence each."
                problems["position.a"] = [sentence]
        if problems:
            raise FormError(422, problems)
        answers = {**offer.answers, "topic": texts["topic"], "positions": positions, "rounds": int(rounds)}
        _settings(answers, "debate.md")
        return offer, answers

    # Finding

    def journal(self, name: str) -> str | None:
        """The journal of the public debate of that name; None where there is none, whatever the name says."""
        if not _NAME.fullmatch(name) or len(name) > 200:
            return None
        paths = (f"{name}{suffix}{JOURNAL}" for suffix in SUFFIXES)
        return next((path for path in paths if os.path.isfile(path) and not is_link(path)), None)

    def names(self) -> list[str]:
        """The public debates of the folder, the newest first."""
        named = [name for name in folder.names() if name.endswith(SUFFIXES)]
        return [_public_name(name) for name in named]

    # Running

    def go_on(self) -> None:
        """Queues the debates that are not complete, in the order in which they were last written."""
        agreed = {risk.digest for risk in risks_of(self.rules)}
        for name in reversed(self.names()):
            path = self.journal(name)
            try:
                if path and not (loaded := folder.load(path))[1].complete:
                    if {risk.digest for risk in find_risks(path)} <= agreed:
                        # The server that opened it may have ended before it could say so.
                        self._charge(name, loaded[0].entries[0].at[:10], charged(loaded[1]))
                        self.queue.add(path)
                    else:
                        self.log(f"{path}: it does more than the offers of this site, so it is not gone on with.")
            except (DebateError, OSError) as error:
                self.log(f"{path}: {error}")

    async def shutdown(self) -> None:
        """Ends all debates; the next server of the folder goes on with them."""
        self.queue.close()
        await self.runs.shutdown()
        self._ending.set()
        if self._charging is not None:
            await asyncio.gather(self._charging, return_exceptions=True)
        while self._owed:
            name, _ = self._owed.popitem()
            self.log(f"{name}: what it has left of its cap stays reserved.")

    def _ended(self, run: Run) -> None:
        """Gives back what was reserved for a complete debate and not spent."""
        if run.current is not None and run.current.state.complete:
            name = _public_name(run.path.removesuffix(JOURNAL))
            self._charge(name, today(), charged(run.current.state))

    def _charge(self, name: str, day: str, dollars: float) -> None:
        """Has a debate count for so many US dollars, as soon as the limits can be looked up."""
        self._owed[name] = day, dollars
        if self._charging is None or self._charging.done():
            self._charging = asyncio.ensure_future(self._charge_all())

    async def _charge_all(self) -> None:
        while self._owed:
            name, (day, dollars) = next(iter(self._owed.items()))
            try:
                await self.visitor_counts.charge(name, day, dollars)
            except LimitsUnavailable as error:
                self.tell(error)
                if self._ending.is_set():
                    return
                with suppress(TimeoutError):
                    await asyncio.wait_for(self._ending.wait(), CHARGE_SECONDS)
            else:
                if self._owed[name] == (day, dollars):  # it may have ended meanwhile
                    del self._owed[name]


def _public_name(name: str) -> str:
    """The name that a debate has in addresses of the site, by that of its report."""
    return name.removesuffix(".rehearsed").removesuffix(SUFFIXES[0])


def charged(debate: DebateState) -> float:
    """The US dollars that a debate counts for: its cost, or its whole cap if the cost is not known for sure."""
    total, cap = costs_of(debate).total, debate.max_cost or 0.0
    return total.cost if debate.complete and not total.unknown else max(total.cost, cap)


def spent_before(names: Collection[str] | None = None) -> Costs:
    """What the public debates of these names have cost or may still cost; by default, all of the folder."""
    found = {}
    for name in folder.names():
        if name.endswith(SUFFIXES) and (names is None or _public_name(name) in names):
            try:
                contents, debate = folder.load(f"{name}{JOURNAL}")
            except (DebateError, OSError):
                continue
            found[_public_name(name)] = contents.entries[0].at[:10], charged(debate)
    return found


def _settings(answers: Mapping[str, Any], output: str) -> Settings:
    """The settings of a debate. Raises FormError with what is wrong in the visitor's words."""
    given = {key: value for key, value in answers.items() if value not in (None, {})}
    format = format_check.load(given["format"])
    try:
        return make_settings({**given, "output": output}, format, output)
    except DebateError as error:
        problems: dict[str, list[str]] = {}
        for sentence in error.problems:  # the owner's part was checked before, and what it names is the owner's
            field, _, problem = sentence.partition(": ")
            if place := _PLACES.get(field.partition(".")[0]):
                problems.setdefault(place, []).append(f"{problem[:1].upper()}{problem[1:]}")
        other = "These settings can't be taken. Try: another topic or offer."
        raise FormError(422, problems or {"": [other]}) from None


RETRY_SECONDS = (60.0, 300.0, 900.0, 3600.0)
"""Seconds until a debate that was paused by a failure goes on, after the first failure, the second, and so on."""
_DURATIONS = 50
"""Debates whose time is remembered, to say how long others wait."""


def _may_pass(failure: Exception) -> bool:
    """Whether a debate that has ended so may go on later by itself."""
    passing = isinstance(failure, Paused | JournalWriteError) and not isinstance(failure, OverBudget)
    return passing or is_out_of_files(failure)


class StartQueue:
    """Runs at most `concurrency` debates, in the order in which they came; at most `most` others wait."""

    def __init__(self, runs: Runs, concurrency: int, most: int, ended: Callable[[Run], None]):
        """`ended` is called with each run that has ended, unless the server ends."""
        self._runs, self._concurrency, self._most, self._on_end = runs, concurrency, most, ended
        self._waiting: dict[str, Viewers] = {}
        self._running: set[str] = set()
        self._retries: dict[str, int] = {}
        self._timers: dict[str, asyncio.TimerHandle] = {}
        self._durations: deque[float] = deque(maxlen=_DURATIONS)
        self._closed = False
        self.starting = 0
        """Debates that are being opened, and have their place already."""

    @property
    def full(self) -> bool:
        return len(self._waiting) + self.starting >= self._most + max(0, self._concurrency - len(self._running))

    def add(self, path: str) -> None:
        """Runs a debate as soon as there is room."""
        if path not in self._waiting and path not in self._running:
            self._waiting[path] = Viewers()
        self._fill()

    def viewers(self, path: str) -> Viewers | None:
        """Those who wait for a debate to begin; None where it does not wait."""
        return self._waiting.get(path)

    def place(self, path: str) -> int:
        """Its place among those that wait, from 1; 0 where it does not wait. Threads may ask too."""
        return next((n for n, waiting in enumerate(list(self._waiting), start=1) if waiting == path), 0)

    def wait_seconds(self, place: int) -> float | None:
        """About how long a place in the queue takes; None before any debate has ended here."""
        if not self._durations:
            return None
        return math.ceil(place / self._concurrency) * statistics.median(self._durations)

    def retry_seconds(self, path: str) -> float | None:
        """Seconds until a debate that failed goes on; None where it does not."""
        timer = self._timers.get(path)
        return None if timer is None else max(0.0, timer.when() - asyncio.get_running_loop().time())

    def given_up(self, path: str) -> bool:
        """Whether a debate has failed as often as it is tried."""
        tries_left = self._retries.get(path, 0) < len(RETRY_SECONDS)
        return not (tries_left or path in self._timers or path in self._waiting or path in self._running)

    def close(self) -> None:
        """Starts nothing more."""
        self._closed = True
        for timer in self._timers.values():
            timer.cancel()
        for viewers in self._waiting.values():
            viewers.close()

    def _fill(self) -> None:
        moved = False
        while self._waiting and len(self._running) < self._concurrency and not self._closed:
            path = next(iter(self._waiting))
            waited = self._waiting.pop(path)
            self._running.add(path)
            began, run = time.monotonic(), self._runs.start(path, consent_already_given)
            run.task.add_done_callback(partial(self._ended, run, began))
            waited.broadcast("over", {})  # pages then load the debate itself
            waited.close()
            moved = True
        if moved:
            for viewers in self._waiting.values():
                viewers.broadcast("moved", {})

    def _ended(self, run: Run, began: float, task: object) -> None:
        self._running.discard(run.path)
        if self._closed:
            return
        if run.failure is None:
            self._retries.pop(run.path, None)
            self._durations.append(time.monotonic() - began)
        elif _may_pass(run.failure):
            self._retry(run.path)
        self._on_end(run)
        self._fill()

    def _retry(self, path: str) -> None:
        tried = self._retries.get(path, 0)
        if tried < len(RETRY_SECONDS):
            self._retries[path] = tried + 1
            self._timers[path] = asyncio.get_running_loop().call_later(RETRY_SECONDS[tried], self._again, path)

    def _again(self, path: str) -> None:
        self._timers.pop(path, None)
        self.add(path)
