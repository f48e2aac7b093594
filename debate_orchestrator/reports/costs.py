"""What a debate cost, by seat and phase, as reports tell it."""

from __future__ import annotations

from debate_orchestrator.core.costs import CostLine, Costs
from debate_orchestrator.reports.parts import DOLLAR_DECIMALS, CostReport, CostsReport, TokenCounts


def costs_report(costs: Costs) -> CostsReport | None:
    if not costs.lines:
        return None
    return CostsReport(
        lines=tuple(cost_report(line, line.seat, line.phase) for line in costs.lines),
        seats=tuple(cost_report(line, seat, None) for seat, line in costs.of_seats().items()),
        total=cost_report(costs.total, None, None),
    )


def cost_report(line: CostLine, seat: str | None, phase: str | None) -> CostReport:
    known = round(line.cost, DOLLAR_DECIMALS)
    return CostReport(
        seat=seat,
        phase=phase,
        calls=line.calls,
        usd=None if line.unknown else known,
        usd_known=None if line.unknown == line.calls else known,
        calls_unknown=line.unknown,
        tokens=TokenCounts.of(line.usage),
    )
