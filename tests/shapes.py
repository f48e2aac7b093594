"""Report models of every shape that a debate can have, each played in memory when it is asked for."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import scripted_replies
import test_reports_markdown
import test_reports_model
from debates import CONCEDE, DECLINE, answers, entries, play_events, script_of
from debates import report_model as adversarial
from scripted_debates import FETCHED, check, checks, evidence, label, refusal, report_model, shipped_format

from debate_orchestrator.core.events import Event
from debate_orchestrator.core.fold import apply, fold
from debate_orchestrator.engine import rejudge
from debate_orchestrator.reports.model import ReportModel, build_report
from debate_orchestrator.reports.report_files import FILE_TYPES
from debate_orchestrator.util import resources

REHEARSED = {seat: (f"rehearse:anthropic:{seat}",) for seat in ("a", "b", "judge")}
CLAIM = {
    "1.argument.a": evidence(),
    "1.argument.b": refusal("No."),
    "1.check.clerk": checks(check("1.argument.a", title="So", date="2026-01", similarity=0.875)),
    "final.verdict.judge": label("misleading", 4, sources=[{"turn": "1.argument.a", "credibility": "low", "why": "x"}]),
}
AHEAD = {side: dict.fromkeys(shipped_format("panel").rubric.criteria, points) for side, points in (("a", 4), ("b", 9))}
"""Scores of a panel's judge who has B ahead."""
INTERVENED = script_of(
    _1_verdict_judge=scripted_replies.converging("both"), _2_verdict_judge=scripted_replies.converging()
)


def again() -> ReportModel:
    """A debate of two rounds, judged again by another judge who sees it otherwise."""
    old, say = play_events(rounds=2), script_of(_final_verdict_judge=scripted_replies.final("b"))
    spoken = {turn: given.reply.text for turn, given in fold(old).replies.items() if "judge" not in turn}
    events: list[Event] = [rejudge.opened_from_journal(entries(old), "old.journal.jsonl", ("new:judge",))[0]]
    debate = fold(events)
    while debate.due:
        for turn in debate.due:
            for event in answers(debate, turn, lambda due: spoken.get(due["turn"]) or say(due)):
                debate = apply(debate, event)
                events.append(event)
    return build_report(entries(events))


SHAPES: dict[str, Callable[[], ReportModel]] = {
    "whole": lambda: adversarial(rounds=3),
    "quick": lambda: adversarial(rounds=1, strictness="lenient"),
    "paused": lambda: adversarial(until="2.rebuttal.b"),
    "just opened": lambda: adversarial(until="1.opening.a"),
    "panel of three": lambda: adversarial(rounds=2, judges=3),
    "no ballot that counts": lambda: adversarial(script_of(_1_verdict_judge="no", _final_verdict_judge="no"), rounds=1),
    "intervened": lambda: adversarial(INTERVENED, rounds=3),
    "conceded": lambda: adversarial(script_of(_2_constructive_b=f"Well.\n{CONCEDE}"), rounds=3),
    "declined": lambda: adversarial(script_of(_1_opening_b=DECLINE), rounds=1),
    "mirrored": lambda: report_model("adversarial", rounds=2, mirror=True),
    "mirrored panel that changes": lambda: report_model(
        "panel", {"final.verdict.judge-2": {"scores": AHEAD}}, panel=3, mirror=True, quorum=2
    ),
    "blind": lambda: report_model(
        "question", {"final.verdict.judge": {"winner": "b"}}, blind=True, material="It is so."
    ),
    "a judge alone": lambda: report_model("question-blind"),
    "no rounds of its own": lambda: build_report(test_reports_markdown.entries_of_bare_format()),
    "claim looked up": lambda: report_model("claim", CLAIM, cast=FETCHED, topic="As of 2019, it is so."),
    "claim, every round": lambda: report_model("claim", rounds=2, each_round=True, mirror=True),
    "rehearsed": lambda: report_model("adversarial", rounds=2, cast=REHEARSED),
    "paid for": lambda: build_report(entries(test_reports_model.paid())),
    "paid for, at an unknown price": lambda: build_report(entries(test_reports_model.paid(cost=None, usage=None))),
    "judged again": again,
    **{name: partial(report_model, name) for name in resources.format_names()},
}
"""What is special about a debate, to a function that makes its report model."""


def without_checksum(report: bytes) -> bytes:
    """A report in markdown without its last line."""
    match = FILE_TYPES[".md"].find_checksum(report)
    return report[: match.start()] + report[match.end() :] if match else report
