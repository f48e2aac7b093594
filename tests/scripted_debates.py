"""Debates of any format, played from scripts: their report models, reports and announcements."""

from __future__ import annotations

from typing import Any

from core import folding
from core.folding import Script

from debate_orchestrator.core.events import ContextFile, Event
from debate_orchestrator.core.format import Format
from debate_orchestrator.formats import loader
from debate_orchestrator.reports import markdown
from debate_orchestrator.reports.model import ReportModel, build_report
from debate_orchestrator.storage.journal_lines import Entry

Cast = dict[str, tuple[str, ...]]
FETCHED: Cast = {"a": ("host",), "b": ("host",), "judge": ("host",), "clerk": ("fetch",)}
"""A claim's cast, in which pages are fetched."""


def shipped_format(name: str, **changes: Any) -> Format:
    """A shipped format, with changes to it."""
    made = loader.load(name)
    return Format.model_validate(made.model_dump() | changes) if changes else made


def events(
    made: Format | str,
    script: Script | None = None,
    *,
    rounds: int = 1,
    panel: int = 1,
    until: str = "",
    topic: str = "Is it so?",
    positions: tuple[str, str] = ("Yes.", "No."),
    material: str = "",
    cast: Cast | None = None,
    **setup: Any,
) -> list[Event]:
    """The events of a debate in which all goes by the script; every answer is by the one cast for the seat."""
    own = shipped_format(made) if isinstance(made, str) else made
    context = (ContextFile(name="passage.txt", text=material),) if material else ()
    opened = folding.opened(rounds, panel, rules=own, context=context, **setup)
    opened = opened.with_settings(
        topic=topic, positions=dict(zip("ab", positions, strict=True)), cast=cast or opened.cast
    )
    return folding.play_events(opened, script, until=until)


def entries(made: list[Event]) -> list[Entry]:
    return [Entry(n, "2026-02-03T04:05:06.789Z", event, "0" * 64) for n, event in enumerate(made, start=1)]


def report_model(made: Format | str, script: Script | None = None, **how: Any) -> ReportModel:
    """The report model of a debate played so."""
    return build_report(entries(events(made, script, **how)))


def report(made: Format | str, script: Script | None = None, **how: Any) -> str:
    """Its report."""
    return markdown.render(report_model(made, script, **how))


def label(name: str | None, score: int | None = None, **changes: Any) -> dict[str, Any]:
    """The fields of a claim's ballot."""
    return {"label": name, "score": score} | changes


def panel_scores(a: float, b: float) -> dict[str, Any]:
    """The fields of a panel's ballot, with one score for every criterion of each side."""
    criteria = shipped_format("panel").rubric.criteria
    return {"scores": {"a": dict.fromkeys(criteria, a), "b": dict.fromkeys(criteria, b)}}


def check(turn: str, state: str = "verified", **changes: Any) -> dict[str, Any]:
    """A row of what a clerk found."""
    keys = ("why", "title", "date", "passage", "similarity", "digest", "archived")
    return {"turn": turn, "url": "https://example.org/so", "state": state} | dict.fromkeys(keys) | changes


def checks(*rows: dict[str, Any]) -> dict[str, Any]:
    return {"checks": list(rows)}


def evidence(**changes: Any) -> dict[str, Any]:
    """The fields of a side's turn in a debate over a claim."""
    made = {"url": "https://example.org/so", "quote": "It is so.", "context": "A page on it.", "argument": "So it is."}
    return made | changes


def refusal(reason: str) -> dict[str, Any]:
    """The same of a side that declines."""
    return {"refused": True, "reason": reason} | dict.fromkeys(("url", "quote", "context", "argument"))


def section(text: str, title: str) -> str:
    """What is under a heading of the second level."""
    return text.partition(f"\n## {title}\n")[2].partition("\n## ")[0].removesuffix("\n---\n").strip("\n")
