"""The report tells what the calls cost, after everything else, and only where a model was called."""

from __future__ import annotations

from typing import Any

import pytest
from debates import entries, played, report

from debate_orchestrator.core.costs import CostLine, Costs
from debate_orchestrator.core.events import Event, Spoke, Usage, Voted
from debate_orchestrator.reports import markdown
from debate_orchestrator.reports.model import ReportModel, build_report
from debate_orchestrator.reports.provenance import cost_report, costs_report
from debate_orchestrator.reports.sections import cost_table, money

SECTION = "## Calls and Cost"
USAGE = Usage(fresh=1000, cached=20, written=300, written_hour=40, output=5)


def paid(cost: float | None = 0.25, usage: Usage | None = USAGE, **setup: Any) -> list[Event]:
    """The events of a debate whose every answer was paid for."""
    changed = {"usage": usage, "cost": cost, "called": True}
    return [
        event.model_copy(update={"reply": event.reply.model_copy(update=changed | {"by": _by(event.turn)})})
        if isinstance(event, Spoke | Voted)
        else event
        for event in played(rounds=1, **setup)
    ]


def _by(turn: str) -> str:
    """Who took a turn: no two seats share a model."""
    return f"command:{turn.rpartition('.')[2]}"


def told(events: list[Event]) -> str:
    """The report of a debate."""
    return markdown.render(build_report(entries(events)))


def billed(*lines: CostLine, **changes: Any) -> ReportModel:
    """A story with that bill."""
    costs = costs_report(Costs(lines=lines))
    return build_report(entries(played(rounds=1))).model_copy(update={"costs": costs, **changes})


def test_it_is_told() -> None:
    """A row for each seat and phase, their sum, and what the prices are."""
    _, section = told(paid()).split(f"\n\n{SECTION}\n")

    assert section == (
        "\n| Seat | Phase | Calls | Input, fresh | Read from cache | Written to cache | Output | Cost |\n"
        "| --- | --- | --- | --- | --- | --- | --- | --- |\n"
        "| Researcher A | opening | 1 | 1,000 | 20 | 340 | 5 | $0.2500 |\n"
        "| Researcher B | opening | 1 | 1,000 | 20 | 340 | 5 | $0.2500 |\n"
        "| Judge | verdict | 2 | 2,000 | 40 | 680 | 10 | $0.5000 |\n"
        "| Judge | dissent | 1 | 1,000 | 20 | 340 | 5 | $0.2500 |\n"
        "| **Total** | | 5 | 5,000 | 100 | 1,700 | 25 | $1.2500 |\n"
        "\n*Prices are those known when each answer was given.*\n"
    )


def test_it_is_last() -> None:
    """What the calls cost follows the report, which is otherwise the same."""
    made, same = told(paid()), report(rounds=1)

    assert made.split(f"\n---\n\n{SECTION}\n")[0].rstrip("\n") == same.rstrip("\n")


def test_no_model_was_called() -> None:
    """A debate of the host's agents has no such section."""
    assert cost_table(build_report(entries(played(rounds=1)))) is None
    assert SECTION not in report(rounds=1)


def test_the_unknown_is_told() -> None:
    """An unknown price is unknown in its row and in the sum, and a sentence says so; it is never $0."""
    made = cost_table(build_report(entries(paid(cost=None, usage=None))))

    assert made is not None
    assert {row[-1] for row in (*made.rows, made.total)} == {"unknown"}
    assert {row[3:-1] for row in made.rows} == {("–",) * 4}
    assert "The price of 5 calls is unknown and in none of the sums." in made.notes
    assert "A dash stands where tokens were not counted." in made.notes


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ({"calls": 2, "cost": 0.00004}, "$0.0000"),
        ({"calls": 2, "cost": 1234.5}, "$1234.5000"),
        ({"calls": 2}, "$0"),
        ({"calls": 2, "unknown": 2}, "unknown"),
        ({"calls": 3, "cost": 0.5, "unknown": 2}, "$0.5000, and 2 unknown"),
        ({"calls": 3, "unknown": 2}, "$0, and 2 unknown"),
    ],
)
def test_money(line: dict[str, Any], said: str) -> None:
    """What is known is told to four places, with the number of calls beside it that have no known price."""
    assert money(cost_report(CostLine(seat="a", phase="opening", **line), None, None)) == said


def test_searches_have_a_column_where_there_were_any() -> None:
    """Searches of the web are told where there were any."""
    usage = USAGE.model_copy(update={"searches": 3})
    made = cost_table(billed(CostLine(seat="a", phase="opening", calls=1, usage=usage)))

    assert made is not None
    assert made.heads[-2:] == ("Searches", "Cost")
    assert (made.rows[0][-2], made.total[-2]) == ("3", "3")
    assert {len(row) for row in (made.heads, *made.rows, made.total)} == {9}


def test_the_moderator_has_a_row() -> None:
    """What was asked for before the debate is told under its own seat."""
    made = cost_table(billed(CostLine(seat="moderator", phase="setup", calls=1, cost=0.5)))

    assert made is not None
    assert made.rows[0][:2] == ("Moderator", "setup")


def test_a_rehearsal_says_why_it_is_free() -> None:
    """A rehearsal's costs of nothing are explained."""
    run = build_report(entries(played(rounds=1))).run.model_copy(update={"rehearsed": True})
    made = cost_table(billed(CostLine(seat="a", phase="opening", calls=1), run=run))

    assert made is not None
    assert made.notes[-1] == "A stand-in calls no model and costs nothing."
