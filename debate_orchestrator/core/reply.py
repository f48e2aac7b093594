"""A reply: what came back for a turn, with its tokens, its cost, the pages found, and how it ended."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, Field

from debate_orchestrator.core.settings import MAX_COST, MAX_COUNT
from debate_orchestrator.core.values import FREE_TEXT, FrozenModel, JournaledModel, Text

MAX_TEXT_LENGTH = 2_000_000
"""Characters of a reply or of a file that speakers may draw on: as many as a transcript may have that is judged."""


def short_enough(text: str) -> str:
    """Returns the text. Raises ValueError if it is longer than MAX_TEXT_LENGTH."""
    # Not a constraint of pydantic's: that refuses lone surrogates too, for which the journal has a message of its own.
    if len(text) > MAX_TEXT_LENGTH:
        raise ValueError(f"a text of {len(text):,} characters; at most {MAX_TEXT_LENGTH:,} are read")
    return text


Count = Annotated[int, Field(ge=0, le=MAX_COUNT)]


class Usage(JournaledModel):
    """Tokens as the provider counted them."""

    uncached_input: Count = 0
    """Input at the plain price."""
    cached: Count = 0
    """Input read from a cache."""
    cache_write_5m: Count = 0
    """Input written to a cache that keeps it for five minutes."""
    cache_write_1h: Count = 0
    """Input written to a cache that keeps it for an hour."""
    output: Count = 0
    searches: Count = 0
    """Searches of the web, which are not tokens and have a price of their own."""

    def __add__(self, other: Usage) -> Usage:
        sums = {name: getattr(self, name) + getattr(other, name) for name in Usage.model_fields}
        return Usage.model_construct(**sums)  # a sum may be larger than what one reply may have

    @property
    def input(self) -> int:
        return self.uncached_input + self.cached + self.cache_write_5m + self.cache_write_1h


class FoundPage(FrozenModel):
    """A page that a search really returned while a speech was written."""

    url: Text
    """Its address, as the search gave it."""
    title: Text = ""
    """Its title in the search; may be empty."""
    quote: Text = ""
    """The passage of it that the speech cites; empty for a page that was only found."""


class RecordedReading(FrozenModel):
    """How an earlier debate read a reply that `replay:` gives again: it is not read anew."""

    problems: Annotated[tuple[str, ...], FREE_TEXT] = ()
    """The reason that it could not be used; empty if it could."""
    data: Annotated[dict[str, Any] | None, FREE_TEXT] = None
    changes: Annotated[tuple[str, ...], FREE_TEXT] = ()
    short_words: Annotated[Mapping[str, str], FREE_TEXT] = Field(default={})
    """As in `StructuredReplyGiven`; None and empty for a speech."""
    declined: bool = False
    concedes: bool = False


def _refuse_in_journal(value: object) -> object:
    """Refuses a field that only `model_copy` sets, since reading it has no effect."""
    if value is not None:
        raise ValueError("a reply on record does not have this field")
    return value


EstimatedCost = Annotated[float | None, Field(default=None, ge=0, le=MAX_COST, exclude_if=lambda cost: cost is None)]
"""None if the price is unknown, and in journals of earlier versions."""


class Reply(JournaledModel):
    """The reply to a turn, verbatim."""

    text: Annotated[Text, AfterValidator(short_enough)]
    brief_digest: str
    """The digest of the brief that it replies to: `Brief.digest`."""
    spec: str
    """The model spec that the reply is from."""
    model: Annotated[str | None, FREE_TEXT] = None
    """The model that replied, as the provider says; None if it does not say."""
    usage: Usage | None = None
    stop_reason: Annotated[str | None, FREE_TEXT] = None
    """The way the reply ended, in the provider's own word."""
    ended: Literal["whole", "cut", "refused"] = "whole"
    """The meaning of that word: `cut` is cut short by a limit of tokens."""
    cost: float | None = Field(default=None, ge=0, le=MAX_COST)
    """US dollars, by the prices known when it was given; None if they are unknown."""
    estimated_cost: EstimatedCost = None
    """US dollars that a cap counts if `cost` is None."""
    by_call: bool = False
    """Whether a call of this program brought it, which may be paid for."""
    found_pages: tuple[FoundPage, ...] = ()
    dropped_pages: int = Field(default=0, ge=0, exclude_if=lambda count: not count)
    """The number of pages that a search found and the journal had no room for."""
    unsupported: tuple[str, ...] = ()
    """Requested features that the provider does not support: `structured output`, `search`."""
    received_chars: Annotated[int | None, Field(exclude=True), AfterValidator(_refuse_in_journal)] = None
    """Characters that came, with thinking; None if only the text is known. It is in no journal."""
    asked_code: Annotated[str | None, Field(exclude=True), AfterValidator(_refuse_in_journal)] = None
    """The reply code (see docs/judging.md) that the call asked for, if an earlier run made the call, perhaps on another
    machine, with another code than the current brief. It is in no journal."""
    recorded_reading: Annotated[RecordedReading | None, Field(exclude=True), AfterValidator(_refuse_in_journal)] = None
    """How the journal of its `replay:` source read this reply, if it is replayed. It is in no journal."""

    def without_words(self) -> Reply:
        return self.model_copy(update={"text": "", "found_pages": ()})

    def without_pages(self) -> Reply:
        return self.model_copy(update={"found_pages": (), "dropped_pages": len(self.found_pages)})
