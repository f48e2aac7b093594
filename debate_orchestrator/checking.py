"""Judges, checked: every version of every probe put before each of them, and their ballots read back from journals.

Each ballot has a journal of its own, `FOLDER/JUDGE/DEBATE.KIND.SIDE.TIME.journal.jsonl`, and comes from the ordinary
loop. So what was answered is there however a check ends, and the next one asks only for what is not.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Sequence
from typing import NamedTuple

from debate_orchestrator import casts, journal, probing, providers, scorecards
from debate_orchestrator.calls import Watch, record
from debate_orchestrator.core.bill import Bill, Line, bill
from debate_orchestrator.core.debate import Debate
from debate_orchestrator.core.events import Opened
from debate_orchestrator.core.rules import JUDGE
from debate_orchestrator.core.verdict import RoundResult
from debate_orchestrator.datafiles import make_folder
from debate_orchestrator.drive import drive
from debate_orchestrator.errors import BadFile, BadJournal, OverCap, Theirs, complaint
from debate_orchestrator.estimate import Estimate, estimate
from debate_orchestrator.files import JOURNAL
from debate_orchestrator.journal import Writer
from debate_orchestrator.probing import Probes, Version
from debate_orchestrator.scorecards import Card, Sheet
from debate_orchestrator.spending import Fund
from debate_orchestrator.unsaved import Unsaved

AT_ONCE = 6
"""Ballots that are awaited at the same time, of all judges together."""


class Sitting(NamedTuple):
    """One ballot: a judge, what it reads, and which time it does."""

    judge: str
    version: Version
    time: int
    path: str
    """Of its journal."""


class Check:
    """Some judges before the probes, in one folder."""

    def __init__(self, probes: Probes, judges: Sequence[str], times: int, folder: str, max_cost: float | None = None):
        """Reads what is on record there. BadFile where that was made with other words, BadJournal where a journal
        can't be read."""
        self._probes, self._judges, self._times = probes, tuple(judges), times
        self._cases = probing.cases(probes)
        self._debates: dict[str, Debate] = {}
        """A sitting's journal to the debate in it."""
        self._fund = Fund(max_cost)
        self._failed: dict[str, Theirs] = {}
        self.sittings = [
            Sitting(judge, one, time, os.path.join(folder, scorecards.folder(judge), f"{one.name}.{time}{JOURNAL}"))
            for time in range(1, times + 1)
            for one in probing.versions(self._cases)
            for judge in self._judges
        ]
        for sitting in self.sittings:
            self._recall(sitting)

    def _recall(self, one: Sitting) -> None:
        """Takes up what is on record of a sitting."""
        try:
            journal.must_be_new(one.path)
            return
        except BadJournal:
            debate = Debate(journal.read(one.path).events)
        course, expected = debate.opened.course, probing.opening(one.version, one.judge)[0]
        parts = ("format", "templates", "setup", "hearing")
        same = debate.cast == expected.cast and all(
            getattr(debate.opened, one) == getattr(expected, one) for one in parts
        )
        if course is None or course.digest != one.version.digest or not same:
            hint = "Name another --output, or move it away."
            raise BadFile(complaint(one.path, "a ballot on other words", "one on the probes and prompts of now", hint))
        self._debates[one.path] = debate
        self._fund.purse(one.path, debate)
        if debate.complete:
            self._fund.settle(one.path)

    def left(self) -> list[Sitting]:
        """The ballots that are still to be had."""
        return [one for one in self.sittings if one.path not in self._debates or not self._debates[one.path].complete]

    def estimate(self) -> Estimate:
        """What those are expected to take."""
        expected = [estimate(*probing.opening(one.version, one.judge)) for one in self.left()]
        return Estimate(
            bill=Bill(lines=tuple(line for one in expected for line in one.bill.lines)),
            unknown=tuple(dict.fromkeys(who for one in expected for who in one.unknown)),
            seconds=sum(one.seconds for one in expected) / AT_ONCE,
            waits=False,
            searches=False,
        )

    async def run(
        self, stop: asyncio.Event, watch: Watch | None = None, unsaved: Unsaved | None = None
    ) -> list[Theirs]:
        """Asks for the ballots that are left, until there are none or `stop` is set; what kept it from having them
        all. A judge that fails is asked no more, and the others go on. A judge whose call does not fit under the cap
        beside those under way is asked once more when they are over."""
        room, short, broken = asyncio.Semaphore(AT_ONCE), dict[str, Theirs](), asyncio.Event()

        async def sit(one: Sitting) -> None:
            async with room:
                if stop.is_set() or broken.is_set() or one.judge in self._failed or one.judge in short:
                    return
                try:
                    await self._sit(one, stop, watch, unsaved)
                except OverCap as error:
                    short.setdefault(one.judge, error)
                except Theirs as error:
                    self._failed.setdefault(one.judge, error)
                except BaseException:
                    broken.set()  # no judge's fault: nobody else is asked
                    raise

        before = -1
        while len(self.left()) != before:
            before = len(self.left())
            short.clear()
            for ended in await asyncio.gather(*map(sit, self.left()), return_exceptions=True):
                if isinstance(ended, BaseException):
                    raise ended
            if not short:
                break
        return [*self._failed.values(), *short.values()]

    async def _sit(self, one: Sitting, stop: asyncio.Event, watch: Watch | None, unsaved: Unsaved | None) -> None:
        opened, spoken = probing.opening(one.version, one.judge)
        with self._journal(one, opened) as written:
            self._debates[one.path] = debate = Debate(written.events)
            for event in spoken:
                record(written, debate, event)
            written.sync()
            purse = self._fund.purse(one.path, debate)
            await drive(written, debate, providers.seated(debate), watch, stop=stop, purse=purse, unsaved=unsaved)
            if debate.complete:
                self._fund.settle(one.path)

    def _journal(self, one: Sitting, opened: Opened) -> Writer:
        make_folder(os.path.dirname(one.path))
        if one.path in self._debates:
            return Writer(one.path)
        return Writer.create(one.path, opened)

    def card(self) -> Card:
        """What the ballots on record add up to."""
        names = scorecards.names(self._judges)
        return Card(self._probes, self._times, tuple(self._sheet(judge, names[judge]) for judge in self._judges))

    def _sheet(self, judge: str, name: str) -> Sheet:
        own = [one for one in self.sittings if one.judge == judge and one.path in self._debates]
        given: dict[tuple[str, int], RoundResult | None] = {}
        paid = Line(seat=JUDGE, phase="all")
        for one in own:
            debate = self._debates[one.path]
            paid += bill(debate).total
            if debate.complete:
                given[one.version.name, one.time] = debate.result(debate.rounds)
        found = scorecards.outcomes(self._cases, self._times, given)
        return Sheet(
            judge=name,
            folder=scorecards.folder(judge),
            stands_in=casts.kind(judge) == casts.REHEARSE,
            lines=scorecards.lines(self._probes.kinds, found),
            outcomes=found,
            paid=paid,
        )
