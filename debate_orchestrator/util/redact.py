"""Secrets of the environment, taken out of text before it is shown or kept.

A secret is the value of a variable that a key for a model is read from, a value in a `..._CUSTOM_HEADERS`, the
password in an address, and the value of a variable named like a key (`..._TOKEN`) that is no name, number or path. Each
is looked for in a fixed set of forms: as it is, without white space, escaped as in JSON and in addresses, in
hexadecimal and in base64. White space and hidden characters may stand between the characters of a long form.
"""

from __future__ import annotations

import base64
import json
import os
import re
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import lru_cache
from operator import is_
from typing import Any
from urllib.parse import quote, quote_plus, unquote

from debate_orchestrator.util.sanitize import UNSEEN

KEY = "[key]"
"""What stands in place of a secret."""
_SHORTEST = 8
"""Characters of the shortest secret, and of the shortest form of one."""
_SHORTEST_NAMED = 12
"""The same where only the name of its variable says that it may be one."""
_LONG = 16
"""Characters from which on letters alone may be a key, and a form is found with white space in it."""
_KEYS = re.compile(r"(?:ANTHROPIC|OPENAI|OPENROUTER|OLLAMA)_(?:API_KEY|AUTH_TOKEN)|DEBATE_KEY_\w+")
"""Variables that keys for models are read from. These hold before the registry of providers is imported, which adds
those of its other entries (see `add_variables`)."""
_HEADERS = re.compile(r"_CUSTOM_HEADERS\Z", re.I)
_NAMED_LIKE_KEYS = re.compile(
    r"(?:KEY|TOKEN|SECRET|PASSWORD|PASSWD|PASSPHRASE|CREDENTIAL|_PAT|_PWD|_JWT|_AUTH)S?(?:_?\d+)?\Z", re.I
)
_PROXY = re.compile(r"_PROXY\Z", re.I)
_LOGIN = re.compile(r"(?:\A|://|\s)([^/\s:@]*)(?::([^/\s]*))?@")
"""User and password in an address."""
_WORD_ALONE = re.compile(r"[A-Za-z]*")
_PLACEHOLDERS = {"lm-studio", "no-key", "no-key-required", "not-needed", "not-required", "sk-no-key-required"}
"""What stands for a key where a server wants none."""
_PATH = re.compile(r"(?:~|\.{1,2})?/\S*|\w+://\S*|[A-Za-z]:\\\S*")
_WORD = r"(?:[A-Za-z]{1,20}\d{0,3}|\d+[a-z]{0,2})"
_NAME = re.compile(rf"{_WORD}?(?:[-_.,:/@+ ]+{_WORD})*[-_.,:/ ]*")
"""Words and numbers as names of hosts, models, files and versions have them: `eu-west-1`, `gpt-5.1`, `2026-01-02`."""
_BETWEEN = re.compile(r"""[\s,;"'{}]+|\\n""")
"""What stands between the words of a value, of one in JSON too."""
_GAP = rf"(?:\s|{UNSEEN.pattern})*"

_learned: set[str] = set()
_key_variables: set[str] = set()


def add_secret(value: str) -> None:
    """Takes note of a secret that is not in the environment, such as a token from a profile."""
    _learned.update(_told(value))


def add_variables(keys: Iterable[str]) -> None:
    """Registers environment variables that keys for models are read from."""
    _key_variables.update(keys)
    _redactor_of.cache_clear()


def secrets(name: str, value: str) -> Iterator[str]:
    """The secrets that an environment variable holds."""
    if "://" in value or _PROXY.search(name):
        for user, password in _LOGIN.findall(value):
            yield from (text for text in (password, unquote(password)) if _may_be_told(text))
            yield from (text for text in (user, unquote(user)) if _looks_random(text))
    if _KEYS.fullmatch(name) or name in _key_variables:
        yield from _told(value)
    elif _HEADERS.search(name):
        for line in value.splitlines():
            yield from _told(line.partition(":")[2])
    elif _NAMED_LIKE_KEYS.search(name):
        yield from filter(_looks_random, {value.strip(), *_BETWEEN.split(value)})


def _told(value: str) -> Iterator[str]:
    """What is known to be a secret, and each of its words, such as the key in `Bearer KEY`."""
    yield from filter(_may_be_told, {value.strip(), *_BETWEEN.split(value)})


def _may_be_told(value: str) -> bool:
    """Whether a value may be a key, and is neither a word nor what stands for a key."""
    word = len(value) < _LONG and _WORD_ALONE.fullmatch(value)
    return len(value) >= _SHORTEST and not word and value not in _PLACEHOLDERS


def _looks_random(value: str) -> bool:
    """Whether a value is no name, number, path or sentence."""
    return len(value) >= _SHORTEST_NAMED and not any(
        pattern.fullmatch(value) for pattern in (_NAME, _PATH, re.compile(r".*\s.*", re.S))
    )


_IN_HTML = {ord(char): f"\\u{ord(char):04x}" for char in "<>&+'"}
_JSON_ESCAPES: tuple[dict[int, str], ...] = ({}, {ord("/"): "\\/"}, _IN_HTML, {ord("/"): "\\/", **_IN_HTML})
"""What writers of JSON escape beyond what they must: PHP's, Go's, and those that write into pages."""


def forms(secret: str) -> set[str]:
    """Every form in which a secret is looked for. Of base64 these are the characters that depend on the secret alone,
    at each of the three places where it may begin in what was encoded."""
    found = {secret, quote_plus(secret)}
    for text in {secret, _bare(secret)}:
        raw = text.encode("utf-8", "surrogateescape")
        quoted = {quote(raw), quote(raw, safe=""), quote(raw, safe="!*'()"), quote_plus(raw)}  # as browsers do it too
        found |= {text, raw.hex(), raw.hex().upper(), *quoted}
        found |= {re.sub("%..", lambda escape: escape[0].lower(), text) for text in quoted}
        escaped = {json.dumps(text, ensure_ascii=ascii_only)[1:-1] for ascii_only in (True, False)}
        found |= {form.translate(escapes) for form in escaped for escapes in _JSON_ESCAPES}
        for before in range(3):
            whole = base64.b64encode(b"\0" * before + raw).decode()
            inner = whole[-(-8 * before // 6) : 8 * (before + len(raw)) // 6]
            found |= {inner, inner.translate({ord("+"): "-", ord("/"): "_"})}
    return {form for form in found if len(form) >= _SHORTEST}


def _bare(text: str) -> str:
    """`text` without white space and hidden characters."""
    text = "".join(text.split())
    return text if text.isascii() else UNSEEN.sub("", text)


class Redactor:
    """Takes certain secrets out of texts."""

    def __init__(self, secrets: Iterable[str]):
        found = {form for secret in secrets for form in forms(secret)}
        self._short = {form for form in found if len(form) < _LONG}
        self._long = {_bare(form) for form in found - self._short}
        self._sorted = sorted({_bare(form) for form in found})
        self._first = {form[0] for form in self._sorted}
        self._longest = max(map(len, self._sorted), default=0)

    def __call__(self, text: str) -> str:
        """`text` with `[key]` in place of every secret."""
        pattern = self._pattern(text)
        return pattern.sub(KEY, text) if pattern else text

    def _pattern(self, text: str) -> re.Pattern[str] | None:
        """What matches the secrets that are in a text; None if there are none. To look whether a form is in the text is
        many times faster than a search with a pattern of all forms."""
        bare = _bare(text)
        found = [form for form in self._short if form in text] + [form for form in self._long if form in bare]
        if not found:
            return None
        found.sort(key=len, reverse=True)
        return re.compile("|".join((_GAP if form in self._long else "").join(map(re.escape, form)) for form in found))

    def _begun(self, text: str) -> int:
        """Where the longest end of a text begins that the next piece may make a secret; its length if there is none."""
        tail = _bare(text[-max(4 * self._longest, min(40 * self._longest, 50_000)) :])  # gaps may be wide
        for start in range(max(0, len(tail) - self._longest), len(tail)):
            if tail[start] in self._first and self._next_form(tail[start:]):
                at, left = len(text), len(tail) - start
                while left:
                    at -= 1
                    left -= len(_bare(text[at]))
                return at
        return len(text)

    def _next_form(self, begun: str) -> str:
        """A form that is longer than its beginning `begun`; empty if there is none."""
        at = bisect_left(self._sorted, begun + "\0")
        form = self._sorted[at] if at < len(self._sorted) else ""
        return form if form.startswith(begun) else ""

    def split(self, text: str) -> tuple[str, str]:
        """The redacted beginning of a text, and its end as it is, which may become a secret as the text goes on."""
        at, pattern = self._begun(text), self._pattern(text)
        for found in pattern.finditer(text) if pattern else ():
            if found.start() < at < found.end():
                at = found.start()
        return self(text[:at]), text[at:]

    def cut(self, text: str) -> str:
        """`text`, of which the end is missing: what may be the larger half of a secret at its end is one."""
        text = self(text)
        at = self._begun(text)
        half = _bare(text[at:])
        return text[:at] + KEY if _SHORTEST <= len(half) >= len(self._next_form(half)) / 2 else text


def redactor() -> Redactor:
    """What takes out the secrets that there are now."""
    return _redactor_of(tuple(os.environ.items()), frozenset(_learned))


@lru_cache(maxsize=4)
def _redactor_of(variables: tuple[tuple[str, str], ...], learned: frozenset[str]) -> Redactor:
    return Redactor({secret for name, value in variables for secret in secrets(name, value)} | learned)


def redact(text: str) -> str:
    """`text` with `[key]` in place of every secret."""
    return redactor()(text)


def truncate(text: str, max_length: int) -> str:
    """The first `max_length` characters of a text, redacted before it is cut: half a secret would not be recognised."""
    return redact(text)[:max_length]


def map_leaves(data: Any, change: Callable[[Any], Any]) -> Any:
    """Plain data with `change` applied to all in it that is no mapping, list or tuple; the same object where that
    changes nothing."""
    if isinstance(data, Mapping):
        values = {key: map_leaves(item, change) for key, item in data.items()}
        return data if all(item is data[key] for key, item in values.items()) else values
    if isinstance(data, list | tuple):
        items = [map_leaves(item, change) for item in data]
        return data if all(map(is_, items, data)) else type(data)(items)
    changed = change(data)
    return data if changed is data or changed == data else changed


def redact_values(value: Any) -> Any:
    """Plain data with `[key]` in place of every secret in its texts; the same object where there is none."""
    redact = redactor()
    return map_leaves(value, lambda leaf: redact(leaf) if isinstance(leaf, str) else leaf)


class StreamRedactor:
    """Redacts a text that comes in pieces. An end that may be the beginning of a secret is held back until that is
    known. With `withheld` all is held back until the end, and for each piece an empty one is passed on."""

    def __init__(self, on_text: Callable[[str], None], *, withheld: bool = False):
        self._on_text, self._withheld, self._held = on_text, withheld, list[str]()
        self._redactor: Redactor | None = None

    def take(self, piece: str) -> None:
        """Takes the next piece, and passes on what is certainly no secret; an empty text if nothing is."""
        # The first piece answers a request, with which a secret may have been learned.
        redactor_now = self._redactor = self._redactor or redactor()
        self._held.append(piece)
        sure = ""
        if not self._withheld:
            sure, left = redactor_now.split("".join(self._held))
            self._held = [left]
        self._on_text(sure)

    def end(self) -> None:
        """Tells what is left, if anything is."""
        left, self._held = redactor().cut("".join(self._held)), []
        if left:
            self._on_text(left)
