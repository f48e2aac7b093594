"""Prices, cache rules and limits of models, read from `pricing.yaml`, and the cost of a call by them.

A model that is not in the table has no price: its cost is None, which means unknown and never nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache
from pathlib import Path

from pydantic import ValidationError

from debate_orchestrator.core.reply import Usage
from debate_orchestrator.core.values import FrozenModel
from debate_orchestrator.providers.registry import api_of
from debate_orchestrator.providers.servers import is_loopback, server
from debate_orchestrator.util import model_spec
from debate_orchestrator.util.data import read_mapping
from debate_orchestrator.util.errors import BadFile

_TABLE = Path(__file__).parent / "pricing.yaml"
_MILLION = 1_000_000
_CHARACTERS_PER_WORD = 6
"""Characters of a word in a speech, with its space."""


class LongPrice(FrozenModel):
    """Prices of a request with more than `above` tokens of input, US dollars per million."""

    above: int
    input: float
    output: float


class ModelPrice(FrozenModel):
    """One model. Prices are US dollars per million tokens."""

    input: float
    output: float
    cache_read_factor: float = 1.0
    """The price of a cached token, times the input price."""
    min_cacheable_tokens: int = 0
    """Tokens below which a prefix is not cached."""
    context: int | None = None
    max_output: int | None = None
    """Tokens that a reply may have."""
    thinking: int | None = None
    """Tokens that it may think for before it replies; None if the registry decides."""
    long: LongPrice | None = None

    def at_least(self, input: float, output: float) -> ModelPrice:
        """The prices of a model that costs at least so much, in requests of any length."""
        raised = {"input": max(self.input, input), "output": max(self.output, output)}
        long = self.long and self.long.model_copy(
            update={"input": max(self.long.input, input), "output": max(self.long.output, output)}
        )
        return self.model_copy(update={**raised, "long": long})


class Caching(FrozenModel):
    """The caching rules of the Messages API. Prices are times the input price, times are seconds from a request's
    start."""

    write_factor: float
    long_write_factor: float
    ttl: float
    max_breakpoints: int
    lookback_blocks: int


class Defaults(FrozenModel):
    """The models for seats for which none was named."""

    debater: str
    judge: str
    moderator: str


class PriceTable(FrozenModel):
    """The content of `pricing.yaml`."""

    date: str
    source: str
    characters_per_token: float
    searches: float
    """US dollars for a thousand."""
    batch: float
    """The price of tokens in a batch, times the usual one."""
    cache: Caching
    defaults: Defaults
    vendors: dict[str, dict[str, ModelPrice]]


@cache
def table() -> PriceTable:
    """The table of this installation. Raises BadFile if it is not valid."""
    try:
        return PriceTable.model_validate(read_mapping(_TABLE))
    except ValidationError as error:
        raise BadFile(f"pricing.yaml is not a valid table of models: {error}") from None


_declared: ContextVar[Mapping[str, ModelPrice]] = ContextVar("declared")
"""Prices that are given where the caller runs, by model spec."""


@contextmanager
def use_prices(prices: Iterable[tuple[str, float, float]]) -> Iterator[None]:
    """Model specs with US dollars per million tokens of input and output, which count within this context and the tasks
    that begin there, and nowhere else. They come from files, which anyone may have written: where a price is known
    already, the higher of both counts, so that no file weakens a cap."""
    by_spec: dict[str, ModelPrice] = {}
    for spec, input, output in prices:
        real = model_spec.without_rehearse(spec)
        price, known_price = ModelPrice(input=input, output=output), by_spec.get(real) or _table_price(real)
        if known_price is not None:
            price = known_price.at_least(input, output)
        by_spec[real] = price
    token = _declared.set(by_spec)
    try:
        yield
    finally:
        _declared.reset(token)


def models(kind: str) -> tuple[str, ...]:
    """The models with known prices that specs of this kind name directly."""
    return tuple(table().vendors.get(kind, ()))


def price_of(spec: str) -> ModelPrice | None:
    """The prices of the model that a spec names; None if they are unknown, as for a model that is served from
    elsewhere than its vendor. A rehearsed model is priced as the real one."""
    spec = model_spec.without_rehearse(spec)
    return _declared.get({}).get(spec) or _table_price(spec)


def _table_price(spec: str) -> ModelPrice | None:
    kind, model = model_spec.kind(spec), model_spec.rest(spec)
    api = api_of(spec)
    if api is None:
        return None
    if api.prices == "vendor/model":
        kind, _, model = model.partition("/")
        model = model.replace(".", "-")
    elif api.prices != "own":
        return None
    return table().vendors.get(kind, {}).get(model)


def is_free(spec: str) -> bool:
    """Whether calls of a model spec cost nothing: no model is called, or the server is on this machine, gets no key,
    and is asked for no model of a cloud. The environment counts, since it may name another server and hold a key."""
    if not model_spec.makes_calls(spec):
        return True
    api = api_of(spec)
    if api is None:
        return False
    model_server = server(spec)
    # Only the address that is called counts: its path may hold another one.
    names_server = model_spec.split_address(model_spec.rest(spec))[1] is not None
    if not names_server and (api.prices != "free" or "@" in spec):
        return False
    is_local = model_server.url is not None and is_loopback(model_server.url)
    return is_local and not model_server.has_key and not _is_passed_on(model_server.model)


def _is_passed_on(model: str) -> bool:
    """Whether a local Ollama passes the calls of a model on to ollama.com: its tag is `cloud` or ends so, in any case
    (https://docs.ollama.com/cloud). Every kind of spec can name that server by its address."""
    return any(part.endswith("cloud") for part in model.lower().split(":")[1:])


def cost(spec: str, usage: Usage | None, *, batch: bool = False) -> float | None:
    """US dollars of a call with this usage, alone or in a batch; None if its price or its usage is unknown."""
    if is_free(spec) and spec not in _declared.get({}):
        return 0.0
    model = price_of(spec)
    if model is None or usage is None:
        return None
    caching = table().cache
    rate = model.long if model.long is not None and usage.input > model.long.above else model
    cache_writes = usage.cache_write_5m * caching.write_factor + usage.cache_write_1h * caching.long_write_factor
    weighted_input = usage.uncached_input + usage.cached * model.cache_read_factor + cache_writes
    price = (weighted_input * rate.input + usage.output * rate.output) / _MILLION
    return price * (table().batch if batch else 1) + usage.searches * table().searches / 1000


def tokens(characters: int) -> int:
    """About how many tokens a text of so many characters has."""
    return -int(-characters // table().characters_per_token)


def tokens_of_words(words: int) -> int:
    """About how many tokens a speech of so many words has."""
    return tokens(_CHARACTERS_PER_WORD * words)
