"""The report that visitors read: the one that `debate report` writes, without what is the owner's.

Of a spec it shows no address, and of a program its name alone. What a server calls its model is left out: that may be a
file of the owner's.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from pydantic import BaseModel

from debate_orchestrator.core.state import DebateState
from debate_orchestrator.reports import report_files
from debate_orchestrator.reports.model import build_report
from debate_orchestrator.reports.reviews import gather_ballots
from debate_orchestrator.storage.journal_lines import Entry
from debate_orchestrator.storage.paths import DebateFiles
from debate_orchestrator.util import model_spec
from debate_orchestrator.web import debate_list


def report_html(path: str) -> str:
    """That report of a journal as HTML. Raises DebateError."""
    contents, debate = debate_list.load(path)
    ballots = gather_ballots(DebateFiles.of_journal(path).ballots, contents.entries)
    report = build_report(list(_without_models(contents.entries)), ballots, journal=path)
    report = report.model_copy(update={"run": report.run.model_copy(update={"models": {}})})
    return report_files.render_file(_replaced(report, _without_addresses(debate)), ".html")


def _without_models(entries: Iterable[Entry]) -> Iterator[Entry]:
    """The entries without the names that servers give their models. Each name is replaced by the spec for which it
    came first, so that the report still tells which seats have the same model."""
    specs: dict[str, str] = {}
    for entry in entries:
        reply = getattr(entry.event, "reply", None)
        if reply is None or reply.model is None:
            yield entry
        else:
            renamed = reply.model_copy(update={"model": specs.setdefault(reply.model, reply.spec)})
            yield entry._replace(event=entry.event.model_copy(update={"reply": renamed}))


def _without_addresses(debate: DebateState) -> dict[str, str]:
    """Every spec of a debate that has an address, the longest first, to the part before the address."""
    specs = [*model_spec.specs_of(debate.opened.cast), *model_spec.specs_of(debate.cast)]
    specs += [reply_event.reply.spec for reply_event in debate.replies.values()]
    public_specs = {}
    for spec in sorted({model_spec.real_spec(spec) for spec in specs}, key=len, reverse=True):
        model, address = model_spec.split_address(model_spec.rest(spec))
        if address is not None:
            public_specs[spec] = f"{model_spec.kind(spec)}:{model}"
    return public_specs


def _replaced(part: Any, replacements: Mapping[str, str]) -> Any:
    """A part of a report's model with other words for some in every text."""
    if isinstance(part, str):
        for old, new in replacements.items():
            part = part.replace(old, new)
        return part
    if isinstance(part, BaseModel):
        fields = {name: _replaced(getattr(part, name), replacements) for name in type(part).model_fields}
        return part.model_copy(update=fields)
    if isinstance(part, Mapping):
        return {_replaced(key, replacements): _replaced(value, replacements) for key, value in part.items()}
    if isinstance(part, list | tuple):
        items = [_replaced(item, replacements) for item in part]
        return part._make(items) if hasattr(part, "_make") else type(part)(items)
    return part
