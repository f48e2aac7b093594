"""Model specs that are probably misspelt, and what was probably meant."""

from __future__ import annotations

import difflib
import re
from collections.abc import Mapping

from debate_orchestrator.providers import pricing, registry
from debate_orchestrator.util import model_spec

_ALONE = (model_spec.HUMAN, model_spec.HOST, model_spec.REHEARSE)
"""Specs that are a kind alone."""


def meant(spec: str) -> str:
    """What to write in place of a spec of no known kind: its kind spelt right, or the vendor's model of that name."""
    name = model_spec.rest(spec)
    if name and (kinds := difflib.get_close_matches(model_spec.kind(spec), registry.ENTRIES, 1, 0.75)):
        return f"{kinds[0]}:{name}"
    if not name and (seats := difflib.get_close_matches(spec, _ALONE, 1, 0.75)):
        return seats[0]
    for vendor, named_alike in {"anthropic": r"claude-.*", "openai": r"gpt-\w[\w.-]*"}.items():
        if (near := _near(vendor, spec)) or re.fullmatch(named_alike, spec):
            return f"{vendor}:{near or spec}"
    family = [model for model in pricing.models("anthropic") if spec.lower() in model.split("-")]
    return f"anthropic:{family[0]}" if family and spec.isalpha() else "`debate models` lists what is reachable"


def misspelt(cast: Mapping[str, tuple[str, ...]]) -> list[str]:
    """A question for every model in a cast that is spelt nearly like a known one of the same vendor. A model that
    differs from a known one in its version alone may be newer than the price list, and is not asked about."""
    found = []
    for spec in dict.fromkeys(model_spec.real(spec) for specs in cast.values() for spec in specs):
        kind, (name, address) = model_spec.kind(spec), model_spec.split_address(model_spec.rest(spec))
        if registry.is_api(spec) and address is None and (near := _near(kind, name)):
            found.append(f"{spec} is not among the known models of {kind}. Did you mean {kind}:{near}?")
    return found


def _near(kind: str, name: str) -> str:
    """The known model that is spelt nearly like this one; empty where there is none, or only another version."""
    known = pricing.models(kind)
    near = difflib.get_close_matches(name, known, 1, 0.85) if name not in known else []
    return near[0] if near and _without_version(near[0]) != _without_version(name) else ""


def _without_version(name: str) -> str:
    """The words of a model's name: without its numbers, dates and what joins them."""
    return "-".join(re.findall(r"[a-z]+", name.lower()))
