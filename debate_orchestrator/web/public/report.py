"""The report of a public site: the one that `debate report` writes, without what is the owner's alone."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pydantic import BaseModel

from debate_orchestrator.core.state import DebateState
from debate_orchestrator.reports import report_files
from debate_orchestrator.reports.model import build_report
from debate_orchestrator.reports.reviews import gather_reviews
from debate_orchestrator.storage.paths import DebateFiles
from debate_orchestrator.util import model_spec
from debate_orchestrator.web import folder


def report(path: str) -> str:
    """The report of a journal as HTML. It is the one that `debate report` writes, but for the addresses of the owner's
    model servers, which it leaves out."""
    contents, debate = folder.load(path)
    reviews = gather_reviews(DebateFiles.of_journal(path).ballots, contents.entries)
    return report_files.rendered(
        _replaced(build_report(contents.entries, reviews), _without_addresses(debate)), ".html"
    )


def _without_addresses(debate: DebateState) -> dict[str, str]:
    """Every spec of a debate that has an address, the longest first, to what stands before that."""
    specs = [*model_spec.specs_of(debate.opened.cast), *model_spec.specs_of(debate.cast)]
    specs += [reply_event.reply.by for reply_event in debate.replies.values()]
    addressed = {}
    for spec in sorted({model_spec.unrehearsed(spec) for spec in specs}, key=len, reverse=True):
        model, address = model_spec.split_address(model_spec.rest(spec))
        if address is not None:
            addressed[spec] = f"{model_spec.kind(spec)}:{model}"
    return addressed


def _replaced(part: Any, replacements: Mapping[str, str]) -> Any:
    """A part of a report's model with other words for some in every text."""
    if isinstance(part, str):
        for words, others in replacements.items():
            part = part.replace(words, others)
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
