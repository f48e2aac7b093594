"""Shows manipulated debates to judges, and measures which manipulations change their ballots.

A case is a sample debate with one probe applied (filler, polish, injected instructions to the judge), judged beside its
original. Every ballot is an ordinary re-judging with a journal of its own,
`FOLDER/JUDGE/DEBATE.PROBE.SIDE.REPEAT.journal.jsonl`. An interrupted run therefore loses nothing, and the next one asks
only for the ballots that are missing.
"""

from __future__ import annotations

import asyncio
import hashlib
import os
import re
from collections.abc import Callable, Sequence
from contextlib import suppress
from glob import escape, glob
from string import Template
from typing import Annotated, NamedTuple, TypeVar

from pydantic import Field, ValidationError

from debate_orchestrator.core import tally
from debate_orchestrator.core.costs import Costs, costs_of
from debate_orchestrator.core.events import (
    BriefSent,
    CallFailed,
    Declined,
    Event,
    Opened,
    Rejected,
    Spoke,
    StructuredReplyGiven,
)
from debate_orchestrator.core.fold import CurrentState
from debate_orchestrator.core.state import DebateState
from debate_orchestrator.core.values import FrozenModel
from debate_orchestrator.engine import rejudge
from debate_orchestrator.engine.budget import CostEstimate, SharedBudget, committed_cost_of, estimate_debate
from debate_orchestrator.engine.debate import continue_debate, create_debate, drive
from debate_orchestrator.engine.transcript_file import Transcript, TranscriptSpeech
from debate_orchestrator.engine.turn import OnEvent, RunOptions
from debate_orchestrator.formats import loader
from debate_orchestrator.providers import cast_providers
from debate_orchestrator.providers.provider import NO_PERMISSIONS, Permissions
from debate_orchestrator.reports.probe_scorecard import (
    NO_BALLOT,
    PENDING,
    SIDES,
    Data,
    Probe,
    Side,
    other,
    outcome,
    summary,
)
from debate_orchestrator.storage import journal
from debate_orchestrator.storage.files import make_folder
from debate_orchestrator.storage.journal_lines import Entry, state_of_events
from debate_orchestrator.storage.paths import JOURNAL, DebateFiles
from debate_orchestrator.util import model_spec, resources
from debate_orchestrator.util.data import read_mapping
from debate_orchestrator.util.errors import BadFile, BadJournal, ExternalError, UserError
from debate_orchestrator.util.messages import ignore

CONCURRENCY = 6  # ballots under way at the same time, of all judges together
_CALLS = (BriefSent, StructuredReplyGiven, Rejected, CallFailed)

_T = TypeVar("_T")
_BySide = Annotated[dict[Side, _T], Field(min_length=2)]
_Model = TypeVar("_Model", bound=FrozenModel)
_Paragraphs = tuple[str, str, str]


class SampleDebate(FrozenModel):
    """A debate of two rounds, whose speeches have three paragraphs each."""

    name: str
    title: str
    topic: str
    positions: _BySide[str]
    speeches: _BySide[tuple[_Paragraphs, _Paragraphs]]
    sources: _BySide[str]  # made up, for the probe that cites one


class ProbeCase(NamedTuple):
    """A sample debate as a judge reads it: changed by a probe (what the docs call a case), or the original."""

    debate: SampleDebate
    probe: Probe | None = None
    side: Side | None = None  # the changed side; None if neither or both are changed
    texts: tuple[str, ...] = ()  # templates of that side's speeches

    @property
    def name(self) -> str:
        """`bus-fares.original`, `bus-fares.padded.a`."""
        return ".".join([self.debate.name, self.probe.name if self.probe else "original", *(self.side or "")])

    @property
    def transcript(self) -> Transcript:
        swapped = self.probe is not None and self.probe.expect == "swapped"
        source = {side: other(side) if swapped else side for side in SIDES}
        positions = {str(side): self.debate.positions[source[side]] for side in SIDES}
        speeches = [
            TranscriptSpeech(side=side, round=n + 1, text=self._text(source[side], n)) for n in (0, 1) for side in SIDES
        ]
        return Transcript(topic=self.debate.topic, positions=positions, speakers={}, speeches=tuple(speeches))

    def _text(self, side: Side, n: int) -> str:
        first, second, third = paragraphs = self.debate.speeches[side][n]
        speech, source = "\n\n".join(paragraphs), self.debate.sources[side]
        if side != self.side:
            return speech
        name = loader.load(rejudge.FORMAT).name_of
        words = {"speech": speech, "first": first, "second": second, "third": third, "source": source}
        words |= {"seat": side, "name": name(side), "other_seat": other(side), "other_name": name(other(side))}
        return Template(self.texts[n]).substitute(words)


class BallotTask(NamedTuple):
    """One ballot wanted of a judge, and the path of its journal."""

    judge: str
    case: ProbeCase
    repeat: int
    path: str


def load() -> list[ProbeCase]:
    """Every debate of prompts/probes: the originals, then each with every probe applied, once to each side if the probe
    changes one side. Raises BadFile with every mistake in the first file that has any."""
    folder = resources.prompts() / "probes"
    probes = [_validate(Probe, name, fields) for name, fields in read_mapping(folder / "probes.yaml").items()]
    files = sorted((folder / "debates").glob("*.yaml"))
    debates = [_validate(SampleDebate, path.stem, read_mapping(path)) for path in files]
    return [ProbeCase(debate) for debate in debates] + [
        ProbeCase(debate, probe, side, probe.texts[n % len(probe.texts)] if side else ())
        for probe in probes
        for n, debate in enumerate(debates)
        for side in (SIDES if probe.texts else (None,))
    ]


def _validate(model: type[_Model], name: str, fields: object) -> _Model:
    try:
        return model.model_validate({"name": name, **fields} if isinstance(fields, dict) else fields)
    except ValidationError as error:
        mistakes = [(".".join([name, *map(str, item["loc"])]), item["msg"]) for item in error.errors()]
        raise BadFile([f"prompts/probes: {where}: {message}." for where, message in mistakes]) from None


def make_opened(case: ProbeCase, spec: str) -> tuple[Opened, list[Spoke | Declined]]:
    """The first event of the re-judging of a case, and its speeches as the events that follow."""
    transcript = case.transcript
    digest = hashlib.sha256(transcript.model_dump_json().encode()).hexdigest()
    opened, speeches = rejudge.opened_from_transcript(transcript, case.name, digest, (spec,))
    # A final verdict and a dissent record would cost twice as much again and show no more than the ballot does.
    return opened.model_copy(update={"format": opened.format.model_copy(update={"after": ()})}), speeches


class ProbeRun:
    """The ballots of some judges on all cases, in one folder."""

    def __init__(
        self,
        cases: Sequence[ProbeCase],
        judges: Sequence[str],
        folder: str,
        repeats: int = 1,
        max_cost: float | None = None,
        permissions: Permissions = NO_PERMISSIONS,
    ):
        """Reads the ballots that are there. Raises BadFile if one is on other debates, BadJournal if one can't be
        read."""
        self.earlier_journals: dict[str, list[Entry]] = {}
        """The ballots that had been asked for before, by the path of their journal."""
        self._judges, self._shared_budget = judges, SharedBudget(max_cost)
        self._permissions = permissions
        self._debates: dict[str, CurrentState] = {}  # by the path of their journal
        self.tasks = [
            BallotTask(spec, case, repeat, os.path.join(folder, _names(spec)[1], f"{case.name}.{repeat}{JOURNAL}"))
            for repeat in range(1, repeats + 1)
            for case in cases
            for spec in judges
        ]
        for task in self.tasks:
            self._read(task)
        found = glob(os.path.join(escape(folder), "*", f"*{JOURNAL}")) if max_cost is not None else []
        for path in {*found}.difference(task.path for task in self.tasks):  # of other judges and repeats
            self._shared_budget.count(path, committed_cost_of(filter(None, journal.read_unverified(path))))

    def _read(self, task: BallotTask) -> None:
        try:
            return journal.must_be_new(task.path)
        except BadJournal:
            entries = journal.read(task.path, follow_symlinks=False).entries
        debate = _checked_debate(task, [entry.event for entry in entries])
        if isinstance(entries[-1].event, _CALLS):
            self.earlier_journals[task.path] = entries
        self._debates[task.path] = current = CurrentState(debate)
        self._shared_budget.budget(task.path, current)
        if debate.complete:
            self._shared_budget.end_budget(task.path)

    def pending(self) -> list[BallotTask]:
        finished_paths = {path for path, current in self._debates.items() if current.state.complete}
        return [task for task in self.tasks if task.path not in finished_paths]

    def estimate(self) -> CostEstimate:
        """The estimate for the missing ballots. A stand-in counts as the judge it stands for."""
        expected = [
            estimate_debate(*make_opened(task.case, task.judge), prices_stand_ins=True) for task in self.pending()
        ]
        return CostEstimate(
            costs=Costs(lines=tuple(line for estimated in expected for line in estimated.costs.lines)),
            unpriced_specs=tuple(dict.fromkeys(spec for estimated in expected for spec in estimated.unpriced_specs)),
            seconds=sum(estimated.seconds for estimated in expected) / CONCURRENCY,
            not_estimated_because=next(filter(None, (estimated.not_estimated_because for estimated in expected)), ""),
        )

    async def run(
        self,
        stop: asyncio.Event,
        on_event: OnEvent = ignore,
        on_begin: Callable[[journal.JournalWriter], None] = ignore,
    ) -> list[ExternalError]:
        """Asks for the missing ballots, until `stop` is set; the errors of those that could not be had. `on_begin` gets
        the journal of each before its judge is asked. A judge that fails is asked no more."""
        limit, errors = asyncio.Semaphore(CONCURRENCY), dict[str, ExternalError]()

        async def ask(task: BallotTask) -> None:
            async with limit:
                if stop.is_set() or task.judge in errors:
                    return
                try:
                    await self._ask(task, stop, on_event, on_begin)
                except ExternalError as error:
                    errors.setdefault(task.judge, error)
                except BaseException:
                    stop.set()  # no judge's fault, such as a locked journal: nothing more is asked
                    raise

        for ballot_or_error in await asyncio.gather(*map(ask, self.pending()), return_exceptions=True):
            if isinstance(ballot_or_error, BaseException):
                raise ballot_or_error
        return list(errors.values())

    async def _ask(
        self,
        task: BallotTask,
        stop: asyncio.Event,
        on_event: OnEvent,
        on_begin: Callable[[journal.JournalWriter], None],
    ) -> None:
        """Asks for one ballot. If the disk stays full, the ballot is lost and counts as missing."""
        opened, speeches = make_opened(task.case, task.judge)
        make_folder(os.path.dirname(task.path))
        if task.path in self._debates:
            session = continue_debate(task.path, ignore)  # the user agreed to the judges of the whole run
        else:
            session = create_debate(opened, DebateFiles.of_journal(task.path))
        try:
            with session:
                _checked_debate(task, session.journal.events)  # it may have changed since
                self._debates[task.path] = session.current
                on_begin(session.journal)
                for event in speeches:
                    session.record(event)
                session.journal.sync()
                budget = self._shared_budget.budget(task.path, session.current)
                providers = cast_providers.make_providers(session.current, permissions=self._permissions)
                # A judge without a usable ballot is a result here, and no reason to stop.
                options = RunOptions(on_event=on_event, stop=stop, budget=budget, required_judges="none")
                await drive(session, providers, options)
                if session.state.complete:
                    self._shared_budget.end_budget(task.path)
        finally:
            if session.journal.lost_results:
                self._debates.pop(task.path, None)
                with suppress(UserError):  # another program changed the file
                    self._read(task)

    def scorecard(self) -> Data:
        """The result of the ballots so far, in the shape that `reports.probe_scorecard` describes."""
        cases = [task.case for task in self.tasks]
        probes = list(dict.fromkeys(case.probe for case in cases if case.probe))
        return {
            "status": "stopped" if self.pending() else "done",
            "confidence": 0.95,
            "debates": {case.debate.name: case.debate.title for case in cases},
            "probes": [probe.model_dump() for probe in probes],
            "judges": [self._judge_result(spec, probes) for spec in self._judges],
        }

    def _judge_result(self, spec: str, probes: Sequence[Probe]) -> Data:
        tasks = [task for task in self.tasks if task.judge == spec]
        states = {path: current.state for path, current in self._debates.items()}
        debates = {(task.case.name, task.repeat): states.get(task.path) for task in tasks}
        results = {
            key: (tally.result(debate, debate.rounds) or NO_BALLOT) if debate and debate.complete else PENDING
            for key, debate in debates.items()
        }
        cases = [
            {"probe": case.probe.name, "debate": case.debate.name, "side": case.side, "repeat": repeat}
            | outcome(case.probe, case.side, results[ProbeCase(case.debate).name, repeat], results[case.name, repeat])
            for _, case, repeat, _ in tasks
            if case.probe
        ]
        cost = Costs(lines=tuple(costs_of(debate).total for debate in debates.values() if debate)).total
        name, folder = _names(spec)
        return {
            "judge": name,
            "folder": folder,
            "stand_in": model_spec.is_stand_in(spec),
            "calls": cost.calls,
            "calls_of_unknown_price": cost.unpriced_calls,
            "usd": cost.cost,
            "probes": [summary(probe, cases) for probe in probes],
            "cases": cases,
        }


def _checked_debate(task: BallotTask, events: Sequence[Event]) -> DebateState:
    """The debate of a ballot's journal. Raises BadFile unless it begins with the ballot's speeches and its judge
    is still the one that the user named."""
    debate, (opened, speeches) = state_of_events(task.path, events), make_opened(task.case, task.judge)
    random_fields = debate.opened.model_dump(include={"seed", "nonce", "version"})
    expected = [opened.model_copy(update=random_fields), *speeches]
    if [*events[: len(expected)]] != expected[: len(events)] or debate.cast != opened.cast:
        problem = f"{task.path} is a ballot on other debates or prompts than today's."
        raise BadFile(f"{problem} Name another output, or move the folder away.")
    return debate


def _names(spec: str) -> tuple[str, str]:
    """The name of a judge in a scorecard, and of its folder. A digest stands for the arguments of a program, often
    secret."""
    name = model_spec.public_name(spec)
    digest = hashlib.sha256(spec.encode("utf-8", "surrogatepass")).hexdigest()[:8]
    slug = re.sub("[^A-Za-z0-9]", "-", name)[:60].strip("-")
    return name if name == spec else f"{name} ({digest})", f"{slug}-{digest}"
