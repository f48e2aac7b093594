"""A toy report file type: the topic, the status and a checksum as plain text. The example of docs/development.md."""

from __future__ import annotations

from debate_orchestrator.reports.model import ReportModel


def render(report: ReportModel) -> str:
    """The report as text, without its checksum."""
    return f"DEBATE: {report.topic}\n{report.status}\n"
