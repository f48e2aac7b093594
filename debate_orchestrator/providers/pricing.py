"""What is known of models, as data: prices, cache rules, limits; and what a call costs by them.

The table is `pricing.yaml`, with its date and source. A model that is not in it has no price here, and
then a cost is None, which means unknown and never nothing.
"""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

from pydantic import ValidationError

from debate_orchestrator.core.events import Usage
from debate_orchestrator.core.values import Value
from debate_orchestrator.util import model_spec
from debate_orchestrator.util.data import read_mapping
from debate_orchestrator.util.errors import BadFile, complaint

_TABLE = Path(__file__).parent / "pricing.yaml"
_MILLION = 1_000_000
_LOCAL = re.compile(r"@https?://(localhost|127(\.\d{1,3}){3}|\[::1\])(?=[:/]|$)")
"""A server on this machine, and not one whose name only begins like it."""


class Long(Value):
    """Prices of a request whose input is longer than `above` tokens."""

    above: int
    input: float
    output: float


class ModelPrice(Value):
    """One model. Prices are US dollars per million tokens."""

    input: float
    output: float
    read: float
    """The price of a cached token, times the input price."""
    least: int
    """Tokens below which a beginning is not cached."""
    context: int
    most_output: int
    long: Long | None = None


class Caching(Value):
    """How the provider caches; prices are times the input price, times are seconds from a request's start."""

    write: float
    write_hour: float
    keeps: float
    keeps_hour: float
    breakpoints: int
    lookback: int


class Defaults(Value):
    """Who fills a seat where nobody is named."""

    debater: str
    judge: str
    moderator: str


class PriceTable(Value):
    """Everything that `pricing.yaml` says."""

    date: str
    source: str
    characters_per_token: float
    searches: float
    """US dollars for a thousand."""
    cache: Caching
    defaults: Defaults
    models: dict[str, ModelPrice]


@cache
def table() -> PriceTable:
    """The table of this installation."""
    try:
        return PriceTable.model_validate(read_mapping(_TABLE))
    except ValidationError as error:
        raise BadFile(complaint("pricing.yaml", str(error), "a table of models")) from None


def known(spec: str) -> ModelPrice | None:
    """What is known of the model that a cast names (`anthropic:claude-opus-5-5`); None where it is not in the
    table, or is served from elsewhere than its vendor. A rehearsed model is priced as the real one."""
    spec = model_spec.real(spec)
    kind, rest = model_spec.kind(spec), model_spec.rest(spec)
    if kind == "openrouter":
        vendor, _, rest = rest.partition("/")
        kind, rest = vendor, rest.replace(".", "-")
    return table().models.get(rest) if kind == "anthropic" else None


def free(spec: str) -> bool:
    """Whether what a cast names costs nothing: nobody is called, or a server of one's own is."""
    own = model_spec.kind(spec) == "ollama" and "@" not in spec
    return own or not model_spec.is_called(spec) or bool(_LOCAL.search(spec))


def cost(spec: str, usage: Usage) -> float | None:
    """US dollars of a call with this usage; None where no price is known."""
    if free(spec):
        return 0.0
    model = known(spec)
    if model is None:
        return None
    rules = table().cache
    dear = model.long if model.long is not None and usage.input > model.long.above else model
    read = usage.fresh + usage.cached * model.read + usage.written * rules.write + usage.written_hour * rules.write_hour
    return (read * dear.input + usage.output * dear.output) / _MILLION + usage.searches * table().searches / 1000


def tokens(text: str) -> int:
    """About how many tokens a text has."""
    return -int(-len(text) // table().characters_per_token)
