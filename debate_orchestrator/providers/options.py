"""Options of a request that not every server takes: their variants, best first, and which of them one server does not
support.

A server that does not support an option names it in its error, with 400 or 422 as a rule. The next variant is then
tried at once: the server answered before it did anything. With 500, or within a stream, it may be the error of another
server behind it, which did; the call then fails, and is made again with the next variant.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

_ABOUT_OPTIONS = {200, 400, 404, 422, 500}
"""Statuses of errors that may be about an option; 200 is an error within a stream. Others are about keys, credit and
load, or are of a gateway, and may name an option all the same: OpenRouter's 402 names `max_tokens` where credit is
low, and the page of a gateway has any words."""
_LOCATION = re.compile(r"""['"]loc['"]: ?[(\[]([^()\[\]]*)""")
"""The place where pydantic found an invalid field. The rest of its error may repeat the whole request."""
_UNSPECIFIC = (
    "requested parameters", "unsupported parameter", "unrecognized request argument", "extra_forbidden",
    "extra inputs are not permitted", "extra fields not permitted", "unknown field", "unknown name",
)  # fmt: skip
"""Words that say that some field of a request is not supported, without a known name."""


class Option(NamedTuple):
    """Something to ask of a server."""

    name: str
    """As `Reply.unsupported` has it."""
    variants: tuple[Mapping[str, Any], ...]
    """The fields of a request that ask for it, best first. Every server takes the last ones."""
    error_words: tuple[str, ...]
    """Words of an error which says that it is not supported, in lower case."""
    equivalent_variants: int = 1
    """The number of first variants with the same effect; with a later one, the reply lacks something."""
    is_reported: bool = True
    """Whether a reply without it says so."""


class UnsupportedOptions:
    """Options that a server does not support: option name to how many of its variants."""

    def __init__(self) -> None:
        self._variants: Counter[str] = Counter()

    def request(self, base: Mapping[str, Any], options: Sequence[Option]) -> dict[str, Any]:
        """The body of a request, with each option in the best variant that the server may support."""
        body = dict(base)
        for option in options:
            body |= option.variants[self._variant(option)]
        return body

    def learn(self, options: Sequence[Option], status: int, error: str) -> bool:
        """Whether an error says that an option is not supported, so that another request may succeed at once."""
        if status not in _ABOUT_OPTIONS:
            return False
        candidates = [option for option in options if self._variant(option) < len(option.variants) - 1]
        lowered = error.lower()
        about = " ".join(_LOCATION.findall(lowered)) or lowered
        matches = [option for option in candidates if any(word in about for word in option.error_words)]
        if not matches and any(word in lowered for word in _UNSPECIFIC):
            matches = candidates
        if not matches:
            return False
        self._variants[matches[0].name] += 1
        return True

    def lacking(self, options: Sequence[Option]) -> tuple[str, ...]:
        """The names of the options that the server can't fulfil, in order of the alphabet."""
        return tuple(
            sorted(
                option.name
                for option in options
                if option.is_reported and self._variant(option) >= option.equivalent_variants
            )
        )

    def _variant(self, option: Option) -> int:
        """The variant in which an option is asked for: a later brief may have fewer variants of it."""
        return min(self._variants[option.name], len(option.variants) - 1)
