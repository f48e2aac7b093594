"""Journals that are compared in tests: the same topic, debated and judged in several ways."""

from __future__ import annotations

from typing import Any

import debates
import puppets
import tellings

from debate_orchestrator.core.events import Event, Recording
from debate_orchestrator.reports.compare import ComparedRun, Comparison, compare, is_swapped
from debate_orchestrator.reports.model import ReportModel, build_report
from debate_orchestrator.reports.provenance import recorded_debate

SWAPPED = ("Indent with spaces.", "Indent with tabs.")


def told(digest: str, events: list[Event]) -> ReportModel:
    """The story of a journal with that digest."""
    *most, last = debates.entries(events)
    return build_report([*most, last._replace(hash=digest)])


def debated(digest: str, say: puppets.Say | None = None, **setup: Any) -> ReportModel:
    """An adversarial debate of two rounds, unless it is said otherwise."""
    return told(digest, debates.played(say, **{"rounds": 2, **setup}))


def for_b(turn: dict[str, Any]) -> str | dict[str, Any] | None:
    """Judges who are for B throughout."""
    if "verdict" not in turn["turn"]:
        return None
    return puppets.final("b") if turn["turn"].startswith("final") else puppets.ballot(5, 8)


def again(digest: str, source: str, root: str = "", **how: Any) -> ReportModel:
    """The judging of a debate that another journal holds; `root` is the debate where that is a judging too."""
    recording = recorded_debate(Recording(source="first.jsonl", digest=source, root=root))
    return debated(digest, **how).model_copy(update={"recorded": recording})


def kind(digest: str, name: str, **how: Any) -> ReportModel:
    return told(digest, tellings.events(name, topic="Tabs are better than spaces.", **how))


def compared(*stories: ReportModel) -> Comparison:
    return compare([(f"{n}.journal.jsonl", one) for n, one in enumerate(stories, start=1)])


def runs(*stories: ReportModel) -> list[ComparedRun]:
    return [ComparedRun(n, f"{n}.jsonl", one, is_swapped(stories[0], one)) for n, one in enumerate(stories, start=1)]
