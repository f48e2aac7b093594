"""The debates of a public site: started for visitors within its rules, found by their addresses, run in a queue.

Messages for visitors say what happened, what to try, and whether to try again. Details are the owner's. A program of
the owner may be asked about each topic.
"""

from __future__ import annotations

import asyncio
import json
import os
import re
import secrets
import shlex
import shutil
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Any

from debate_orchestrator.core.costs import costs_of
from debate_orchestrator.core.events import Opened
from debate_orchestrator.core.positions import positions_without_model
from debate_orchestrator.core.settings import Settings
from debate_orchestrator.core.state import DebateState
from debate_orchestrator.engine import format_check
from debate_orchestrator.engine.budget import committed_cost_of
from debate_orchestrator.engine.library import open_debate
from debate_orchestrator.providers.command import NotRun, ProgramRun, environment
from debate_orchestrator.setup.answers import make_settings
from debate_orchestrator.storage.journal import read_unverified
from debate_orchestrator.storage.journal_lines import state_of_events
from debate_orchestrator.storage.paths import JOURNAL
from debate_orchestrator.util.coroutines import running_timeout
from debate_orchestrator.util.data import is_link
from debate_orchestrator.util.errors import (
    BadSettings,
    DebateError,
    ExternalError,
    JournalWriteError,
    LockedJournal,
    OverBudget,
    Paused,
    quoting_as_typed,
    with_hint,
)
from debate_orchestrator.util.numbers import plural
from debate_orchestrator.util.redact import redactor
from debate_orchestrator.util.sanitize import few_combining_marks, one_line
from debate_orchestrator.web import debate_list
from debate_orchestrator.web.public.queue import StartQueue
from debate_orchestrator.web.public.rules import Offer, SiteRules
from debate_orchestrator.web.public.visitor_limits import (
    ALL_COST,
    DAY_COST,
    MODEL,
    OFFER,
    SCREENED,
    VISITOR,
    Charge,
    VisitorLimits,
    seconds_to_midnight,
    today,
)
from debate_orchestrator.web.runs import ServedDebate, ServedDebates


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
        return ["A model gave no answer that could be used. Nothing that was said is lost."]
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
    elif name.startswith((VISITOR, SCREENED)):
        hint = "come back tomorrow; days begin at 00:00 UTC"
        debates = plural(per_visitor, "debate")
        sentence = f"Your network has started {debates} today, and that is the most for one visitor."
        if name.startswith(SCREENED):
            sentence = "Your network has tried too many topics today."
    else:
        sentence = "The models of this offer have reached their limit of debates for today."
    return not_started(429, sentence, hint, seconds_to_midnight())


def not_continued(limit: str | None) -> str:
    """The reason for visitors that a debate of an earlier server is not continued: a limit of costs, or that no offer
    permits it."""
    if limit is None:
        sentence, hint = "This site no longer offers such a debate", "start it again with one of the offers"
    elif limit == DAY_COST:
        sentence = "If this debate went on, the costs could exceed this site's limit for today"
        hint = "start it again tomorrow"
    else:
        sentence = "If this debate went on, the costs could exceed this site's limit"
        hint = "start it again with an offer that costs nothing, if there is one"
    return with_hint(f"{sentence}, so it is not continued.", hint)


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


SCREENING_SECONDS = 20.0
"""Seconds that the answer may take, with the wait for those that are asked for before it."""
_CONCURRENCY = 4
"""Topics that are screened at the same time."""
_MAX_REASON_LENGTH = 500
"""Characters of a reason that are shown."""
_UNEXPLAINED = "This topic is not debated on this site."


class ScreeningFailed(ExternalError):
    """The screening gave no answer, so the debate must not be started."""


class TopicScreener:
    """Runs the program of a `screening` setting. It gets the `topic`, `positions` and `offer` as one JSON object on
    standard input, accepts with exit code 0 and refuses with 1; the first line that it prints is the reason."""

    def __init__(self, command: str):
        """Raises BadSettings where the command line names no program; an empty one accepts every topic."""
        try:
            self._command = shlex.split(command)
        except ValueError as error:
            raise BadSettings(f"screening: the command line can't be read ({error}).") from None
        if self._command and shutil.which(self._command[0]) is None:
            raise BadSettings(f"screening: there is no program {self._command[0]!r}.")
        self._limit = asyncio.Semaphore(_CONCURRENCY)

    async def reason(self, request: Mapping[str, Any]) -> str:
        """The reason that a topic is refused; empty if it is accepted. Raises ScreeningFailed."""
        if not self._command:
            return ""
        try:
            async with running_timeout(SCREENING_SECONDS) as waiting:
                await self._limit.acquire()
                seconds_left = SCREENING_SECONDS - waiting.elapsed()
            try:
                output = await self._output(json.dumps(request).encode(), seconds_left)
            finally:
                self._limit.release()
        except TimeoutError:
            raise ScreeningFailed(f"screening: no answer within {SCREENING_SECONDS:g} s.") from None
        if output is None:
            return ""
        redact = redactor("\n".join([request["topic"], *request["positions"].values()]))
        return one_line(redact(output).strip().partition("\n")[0])[:_MAX_REASON_LENGTH] or _UNEXPLAINED

    async def _output(self, request: bytes, seconds: float) -> str | None:
        """What the program prints as it refuses; None if it accepts."""
        run = ProgramRun()
        try:
            await run.run(self._command, environment(), request, seconds, stderr=False)
        except NotRun as failure:
            raise ScreeningFailed(f"screening: the program can't be run ({failure.error}).") from None
        code = run.code
        if code not in (0, 1):
            raise ScreeningFailed(f"screening: the program ended with {code}; 0 accepts and 1 refuses.")
        return run.stdout.decode("utf-8", "replace") if code else None


SUFFIXES = (".public", ".public.rehearsed")
"""The text between the address of a public debate and `.journal.jsonl`. No other debate of the folder is shown."""
MAX_TOPIC_LENGTH = 300
"""Characters of a topic or a position."""
_NAME = re.compile(r"[a-z0-9]+(?:-[a-z0-9]+)*")
_FORM_FIELDS = {"topic": "topic", "positions": "position.a", "rounds": "rounds"}
"""Setting to the field of the form that it comes from."""
_SCREENED_PER_DEBATE = 10
"""Topics that a visitor may have checked, for each debate that they may start in a day."""

Log = Callable[[str], None]


class Site:
    """The debates of the working folder that visitors have started."""

    def __init__(self, rules: SiteRules, log: Log):
        """`log` gets what the owner should know, a line each. Raises BadSettings where the program that screens topics
        can't be used."""
        self.rules, self.log = rules, log
        self.limits = VisitorLimits(
            rules, earlier_charges(max((one.max_cost or 0.0 for one in rules.offers.values()), default=0.0))
        )
        self._topic_screener = TopicScreener(rules.screening)
        self.served_debates = ServedDebates(public_reasons, log)
        self.not_continued: dict[str, str] = {}
        """Journal to the reason, for visitors, that this server does not continue its debate."""
        self.queue = StartQueue(self.served_debates, rules.concurrency, rules.queue, self._ended)

    # Starting

    async def start(self, form_data: Mapping[str, str], visitor: str) -> str:
        """Opens the debate of a visitor's form, and has it run. Returns its name. Raises FormError."""
        offer, answers = self._answers(form_data)
        name = f"{debate_list.slug(answers['topic'])}-{secrets.token_hex(5)}"
        settings = _settings(answers, f"{name}{SUFFIXES[0]}.md")
        self._must_have_room()
        await self._screen(visitor, offer, answers)
        self._must_have_room()  # no place is kept meanwhile: one visitor's topics would keep others out
        self._admit(name, visitor, offer)
        self.queue.starting += 1
        try:
            files = await open_debate(settings, rehearse=offer.rehearsal)
        except DebateError as error:
            self.limits.charge(name, 0.0, ended=True)
            self.log(f"{name}: {error}")
            sentence = "The debate could not be opened, and trying again won't help until the owner has looked at it."
            raise FormError(500, {"": [sentence]}) from None
        finally:
            self.queue.starting -= 1
        self.queue.add(files.journal)
        return name

    def _must_have_room(self) -> None:
        if self.queue.full:
            raise queue_full(self.rules.queue, self.queue.wait_seconds(1))

    async def _screen(self, visitor: str, offer: Offer, answers: dict[str, Any]) -> None:
        """Raises FormError for a topic that the owner's check refuses, and for a visitor who tries or has started too
        many."""
        if not self.rules.screening:
            return
        maximum = self.rules.debates_per_visitor
        self._must_be_below({f"{SCREENED}{visitor}": _SCREENED_PER_DEBATE * maximum, f"{VISITOR}{visitor}": maximum})
        self.limits.count(f"{SCREENED}{visitor}")
        request = {"topic": answers["topic"], "positions": answers["positions"], "offer": offer.name}
        try:
            reason = await self._topic_screener.reason(request)
        except ScreeningFailed as error:
            self.log(str(error))
            hint = "the same again in some minutes"
            raise not_started(503, "No debate can be started at the moment.", hint, 120) from None
        if reason:
            raise FormError(422, {"topic": [reason]})

    def _admit(self, name: str, visitor: str, offer: Offer) -> None:
        """Counts a debate, and reserves its cap. Raises FormError where a limit is reached."""
        counters = {f"{VISITOR}{visitor}": self.rules.debates_per_visitor}
        counters |= {f"{OFFER}{offer.name}": offer.per_day} if offer.per_day is not None else {}
        counters |= {
            f"{MODEL}{spec}": maximum for spec, maximum in self.rules.debates_per_model.items() if spec in offer.models
        }
        self._must_be_below(counters, offer.max_cost)
        self.limits.count(*counters)
        if offer.max_cost:
            self.limits.charge(name, offer.max_cost)

    def _must_be_below(self, counters: dict[str, int], cost: float | None = None) -> None:
        if reached := self.limits.exceeded_limit(counters, cost):
            raise limit_reached(reached, self.rules.debates_per_visitor)

    @quoting_as_typed()
    def _answers(self, form_data: Mapping[str, str]) -> tuple[Offer, dict[str, Any]]:
        """The offer that a form chooses, and the answers that it makes; nothing but the visitor's own fields is taken
        from it. Raises FormError with what is invalid, by field."""
        problems: dict[str, list[str]] = {}
        offer = self.rules.offers.get(form_data.get("offer", "") or next(iter(self.rules.offers)))
        if offer is None:
            raise FormError(422, {"offer": ["There is no such offer here. Choose one of the list."]})
        rounds = form_data.get("rounds", "") or str(min(offer.rounds, 2))
        if not re.fullmatch(r"[1-9]\d?", rounds) or int(rounds) > offer.rounds:
            problems["rounds"] = [f"This offer has 1 to {plural(offer.rounds, 'round')}."]
        texts = {
            field: few_combining_marks(one_line(form_data.get(field, ""))).strip()
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
            positions = positions_without_model(texts["topic"], format.sides, rehearsal=offer.rehearsal)
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
        """The journal of the public debate of that name; None if there is none."""
        if not _NAME.fullmatch(name) or len(name) > 200:
            return None
        paths = (f"{name}{suffix}{JOURNAL}" for suffix in SUFFIXES)
        return next((path for path in paths if os.path.isfile(path) and not is_link(path)), None)

    def names(self) -> list[str]:
        """The public debates of the folder, the newest first."""
        return [_public_name(name) for name in debate_list.names() if name.endswith(SUFFIXES)]

    # Running

    def queue_unfinished(self) -> None:
        """Queues the debates that are not complete and still permitted, in the order in which they were last
        written."""
        for name in reversed(self.names()):
            path = self.journal(name)
            try:
                if path and not (debate := debate_list.load(path)[1]).complete:
                    if not any(offer.permits(debate) for offer in self.rules.offers.values()):
                        self.log(f"{path}: no offer of this site permits this debate, so it is not continued.")
                        self.not_continued[path] = not_continued(None)
                    elif debate.max_cost and (limit := self.limits.exceeded_limit({}, charge_of(debate), name)):
                        problem = f"{path}: if it went on, the costs could exceed {limit}, so it is not continued."
                        self.log(with_hint(problem, "start this site again tomorrow") if limit == DAY_COST else problem)
                        self.not_continued[path] = not_continued(limit)
                    else:
                        if debate.max_cost:
                            self.limits.charge(name, charge_of(debate))
                        self.queue.add(path)
            except (DebateError, OSError) as error:
                self.log(f"{path}: {error}")

    async def shutdown(self) -> None:
        """Ends all debates; the next server of the folder continues them."""
        self.queue.close()
        await self.served_debates.shutdown()

    def _ended(self, served: ServedDebate) -> None:
        """Charges what a debate has cost in place of what was reserved for it. One that stopped may have cost more, and
        may still cost something if it is tried again."""
        if served.current is not None:
            name, ended = _public_name(served.path.removesuffix(JOURNAL)), self.queue.retry_seconds(served.path) is None
            self.limits.charge(name, charge_of(served.current.state), ended=ended)


def _public_name(name: str) -> str:
    """The name that a debate has in addresses of the site, by that of its report."""
    return name.removesuffix(".rehearsed").removesuffix(SUFFIXES[0])


def charge_of(debate: DebateState) -> float:
    """The US dollars that a debate counts for: its cost, or its whole cap if the cost is not known for sure."""
    total, max_cost = costs_of(debate).total, debate.max_cost or 0.0
    return total.cost if debate.complete and not total.unpriced_calls else max(total.cost, max_cost)


def earlier_charges(max_cost: float) -> dict[str, Charge]:
    """The cost of the folder's public debates so far, and what they may still cost, by their names. `max_cost` is the
    highest cap of a debate."""
    charges = {}
    for name in debate_list.names():
        if name.endswith(SUFFIXES[0]):  # a rehearsal costs nothing
            path = f"{name}{JOURNAL}"
            try:
                contents, debate = debate_list.load(path)
            except (DebateError, OSError):
                if os.path.lexists(path):  # else it was removed meanwhile
                    charges[_public_name(name)] = _charge_of_unusable(path, max_cost)
                continue
            before_today = [entry.event for entry in contents.entries if entry.at[:10] < today()]
            earlier = costs_of(state_of_events("", before_today)).total.cost if before_today else 0.0
            charges[_public_name(name)] = Charge(charge_of(debate), earlier, contents.entries[-1].at[:10])
    return charges


def _charge_of_unusable(path: str, max_cost: float) -> Charge:
    """What a debate counts for whose journal can't be used, on the day on which it was changed: its cap, or what the
    calls cost that can be read if that is more. A cap that can't be read may be the highest one."""
    events = [event for event in read_unverified(path) if event is not None]
    caps = [event.settings.max_cost or 0.0 for event in events if isinstance(event, Opened)]
    try:
        day = datetime.fromtimestamp(os.lstat(path).st_mtime, UTC).date().isoformat()
    except (OSError, ValueError):
        day = today()
    return Charge(max(committed_cost_of(events), *(caps or [max_cost])), last_day=min(day, today()))


def _settings(answers: Mapping[str, Any], output: str) -> Settings:
    """The settings of a debate. Raises FormError with what is wrong in the visitor's words."""
    values = {key: value for key, value in answers.items() if value not in (None, {})}
    format = format_check.load(values["format"])
    try:
        return make_settings({**values, "output": output}, format, output)
    except DebateError as error:
        problems: dict[str, list[str]] = {}
        for sentence in error.problems:  # the owner's part was checked before, and what it names is the owner's
            field, _, problem = sentence.partition(": ")
            if form_field := _FORM_FIELDS.get(field.partition(".")[0]):
                problems.setdefault(form_field, []).append(f"{problem[:1].upper()}{problem[1:]}")
        sentence_without_field = "These settings can't be taken. Try: another topic or offer."
        raise FormError(422, problems or {"": [sentence_without_field]}) from None
