"""Secrets of the environment, taken out of text before it is shown or written.

A secret is the value of a variable that a key for a model is read from, a value in a `..._CUSTOM_HEADERS`, the
password in an address, and the value of a variable named like a key (`..._TOKEN`) that is no name, number or path. It
is searched for as it is, in hexadecimal and in base64, in the text without white space and characters that are not
seen; then again where escapes of addresses, JSON, markdown and HTML stand for the characters that they mean.
"""

from __future__ import annotations

import base64
import html
import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import lru_cache
from operator import is_
from typing import Any, NamedTuple
from urllib.parse import unquote

from debate_orchestrator.util.sanitize import UNSEEN

KEY = "[key]"
"""What stands in place of a secret."""
_SHORTEST = 8
"""Characters of the shortest secret, and of the shortest form of one."""
_SHORTEST_NAMED = 12
"""The same where only the name of its variable says that it may be one."""
_SHORTEST_WORD = 16
"""The same for a key of letters alone."""
_KEYS = re.compile(r"(?:ANTHROPIC|OPENAI|OPENROUTER|OLLAMA)_(?:API_KEY|AUTH_TOKEN)|DEBATE_KEY_\w+")
"""Variables of keys for models, before the registry of providers is imported (see `add_variables`)."""
_NAMED_LIKE_KEYS = re.compile(
    r"(?:KEY|TOKEN|SECRET|PASSWORD|PASSWD|PASSPHRASE|CREDENTIAL|_PAT|_PWD|_JWT|_AUTH)S?(?:_?\d+)?\Z", re.I
)
_LOGIN = re.compile(r"(?:\A|://|\s)([^/\s:@]*)(?::([^/\s]*))?@")
"""User and password in an address."""
_PLACEHOLDERS = {"lm-studio", "no-key", "no-key-required", "not-needed", "not-required", "sk-no-key-required"}
"""What stands for a key where a server wants none."""
_WORD = r"(?:[A-Za-z]{1,20}\d{0,3}|\d+[a-z]{0,2})"
_ORDINARY = re.compile(
    rf"{_WORD}?(?:[-_.,:/@+ ]+{_WORD})*[-_.,:/ ]*|(?:~|\.{{1,2}})?/\S*|\w+://\S*|[A-Za-z]:\\\S*|.*\s.*", re.S
)
"""Names of hosts, models, files and versions (`eu-west-1`, `gpt-5.1`, `2026-01-02`), paths, addresses, sentences."""
_BETWEEN = re.compile(r"""[\s,;"'{}]+|\\n""")
"""What stands between the words of a value, of one in JSON too."""

_learned: set[str] = set()
_key_variables: set[str] = set()


def add_secret(value: str) -> None:
    """Redacts from now on a secret that is not in the environment, such as a token from a profile."""
    _learned.update(_keys_in(value))


def add_variables(keys: Iterable[str]) -> None:
    """Registers environment variables that keys for models are read from."""
    _key_variables.update(keys)
    _redactor_of.cache_clear()


def secrets(name: str, value: str) -> Iterator[str]:
    """The secrets that an environment variable holds."""
    if "://" in value or name.upper().endswith("_PROXY"):
        for user, password in _LOGIN.findall(value):
            yield from filter(_may_be_key, (password, unquote(password)))
            yield from filter(_looks_random, (user, unquote(user)))
    if _KEYS.fullmatch(name) or name in _key_variables:
        yield from _keys_in(value)
    elif name.upper().endswith("_CUSTOM_HEADERS"):
        for line in value.splitlines():
            yield from _keys_in(line.partition(":")[2])
    elif _NAMED_LIKE_KEYS.search(name):
        yield from filter(_looks_random, {value.strip(), *_BETWEEN.split(value)})


def _keys_in(value: str) -> Iterator[str]:
    """A value that holds a key, and each of its words, such as the key in `Bearer KEY`."""
    yield from filter(_may_be_key, {value.strip(), *_BETWEEN.split(value)})


def _may_be_key(value: str) -> bool:
    """Whether a value may be a key, and is neither a word nor what stands for a key."""
    is_word = value.isascii() and value.isalpha()
    return len(value) >= (_SHORTEST_WORD if is_word else _SHORTEST) and value not in _PLACEHOLDERS


def _looks_random(value: str) -> bool:
    return len(value) >= _SHORTEST_NAMED and not _ORDINARY.fullmatch(value)


def forms(secret: str) -> set[str]:
    """Every form in which a secret is searched for, without white space. Of base64 these are the characters that depend
    on the secret alone, at each of the three places where it may begin in what was encoded."""
    variants: set[str] = set()
    for text in {secret, _bare(secret)}:
        raw = text.encode("utf-8", "surrogateescape")
        # Escapes of addresses stand for bytes.
        variants |= {text, raw.decode("latin-1"), raw.hex(), raw.hex().upper()}
        variants |= {re.sub(r"\s", "+", variant) for variant in (text.strip(), raw.decode("latin-1").strip())}
        for before in range(3):
            encoded = base64.b64encode(b"\0" * before + raw).decode()
            inner = encoded[-(-8 * before // 6) : 8 * (before + len(raw)) // 6]
            variants |= {inner, inner.translate({ord("+"): "-", ord("/"): "_"})}
    return {variant for variant in map(_bare, variants) if len(variant) >= _SHORTEST}


def _bare(text: str) -> str:
    """`text` without white space and characters that are not seen."""
    text = "".join(text.split())
    return text if text.isascii() else UNSEEN.sub("", text)


_ESCAPE = re.compile(
    r"%(?P<byte>[0-9A-Fa-f]{2})|\\u(?P<code>[0-9A-Fa-f]{4})|\\x(?P<hex>[0-9A-Fa-f]{2})|\\(?P<blank>[nrt])"
    r"|\\(?P<sign>[!-/:-@\[-`{-~])|(?P<entity>&#?\w{1,31};)"
)
_EMPHASIS = re.compile(r"[*`]+|~~")
_UNFINISHED_ESCAPE = re.compile(r"(?:%[0-9A-Fa-f]?|\\(?:u[0-9A-Fa-f]{0,3}|x[0-9A-Fa-f]?)?|&#?\w{0,31})\Z")
_STEPS = (("%\\&", _ESCAPE), ("*`~", _EMPHASIS)) * 3
"""What is read as what it means, in this order, and the signs of which each has one; what is escaped may be escaped
twice more. Most texts have none of the signs, and to look for a sign takes no time."""
_MAX_ESCAPE = 6
"""Characters of the longest escape that is expected within a secret."""
_MAX_GAP = 500
"""Characters of white space within a secret that comes in pieces; in a whole text there is no limit."""


def _unescape(escape: re.Match[str]) -> str:
    """What an escape stands for; nothing where that is left out of the search."""
    if escape.re is _EMPHASIS:
        return ""
    if digits := escape["byte"] or escape["code"] or escape["hex"]:
        return _bare(chr(int(digits, 16)))
    if escape["entity"]:
        return _bare(html.unescape(escape[0]))
    return escape["sign"] or ""


class _Reading(NamedTuple):
    """A text as it is searched, with the place in the original text where each of its characters begins and ends."""

    text: str
    starts: list[int]
    stops: list[int]

    def unescape(self, pattern: re.Pattern[str]) -> _Reading:
        """The same with what its escapes of one kind stand for."""
        pieces, starts, stops, at = list[str](), list[int](), list[int](), 0
        for escape in pattern.finditer(self.text):
            first, end, characters = escape.start(), escape.end(), _unescape(escape)
            pieces += [self.text[at:first], characters]
            starts += self.starts[at:first] + [self.starts[first]] * len(characters)
            stops += self.stops[at:first] + [self.stops[end - 1]] * len(characters)
            at = end
        text = "".join([*pieces, self.text[at:]])
        return _Reading(text, starts + self.starts[at:], stops + self.stops[at:])


def _readings(text: str) -> Iterator[_Reading]:
    """A text without white space as it is, and as its escapes mean it."""
    places = [place for place, char in enumerate(text) if _bare(char)]
    reading = _Reading(_bare(text), places, [place + 1 for place in places])
    yield reading
    for signs, pattern in _STEPS:
        if any(sign in reading.text for sign in signs):
            reading = reading.unescape(pattern)
            yield reading


class Redactor:
    """Takes certain secrets out of texts."""

    def __init__(self, secrets: Iterable[str]):
        self._forms = sorted({variant for secret in secrets for variant in forms(secret)}, key=len, reverse=True)
        self._beginnings = {variant[:length] for variant in self._forms for length in range(1, len(variant))}
        self._longest = max(map(len, self._forms), default=0)

    def __call__(self, text: str) -> str:
        """`text` with `[key]` in place of every secret."""
        pieces, end = [], 0
        for start, stop in self._spans(text):
            if stop > end:
                pieces += [text[end:start], KEY] if start >= end else []
                end = stop
        return "".join([*pieces, text[end:]]) if pieces else text

    def _holds_one(self, text: str) -> bool:
        """Whether there is a secret in a text; most have none, and are read without places."""
        bare = _bare(text)
        if any(variant in bare for variant in self._forms):
            return True
        for signs, pattern in _STEPS:
            if any(sign in bare for sign in signs):
                bare = pattern.sub("" if pattern is _EMPHASIS else _unescape, bare)
                if any(variant in bare for variant in self._forms):
                    return True
        return False

    def _spans(self, text: str) -> list[tuple[int, int]]:
        """Where secrets begin and end in a text."""
        if not self._holds_one(text):
            return []
        spans = list[tuple[int, int]]()
        for reading in _readings(text):
            if present := [variant for variant in self._forms if variant in reading.text]:
                matches = re.finditer("|".join(map(re.escape, present)), reading.text)
                spans += [(reading.starts[match.start()], reading.stops[match.end() - 1]) for match in matches]
        return sorted(spans)

    def _unfinished(self, text: str) -> tuple[int, str]:
        """Where the longest end of a text begins that may go on as a secret, and that end as it is read; the length of
        the text and nothing if there is none."""
        begins = max(0, len(text) - _MAX_ESCAPE * self._longest - _MAX_GAP)
        tail = text[begins:]
        best = len(tail), ""
        for reading in _readings(tail):
            end = len(reading.text)
            if partial := _UNFINISHED_ESCAPE.search(reading.text):
                end = partial.start()
                best = min(best, (reading.starts[end], ""))
            for place in range(max(0, end - self._longest), end):
                if reading.text[place:end] in self._beginnings:
                    best = min(best, (reading.starts[place], reading.text[place:end]))
                    break
        return begins + best[0], best[1]

    def split(self, text: str) -> tuple[str, str]:
        """The redacted beginning of a text, and its end as it is, which may become a secret as the text goes on."""
        begins = self._unfinished(text)[0] if self._forms else len(text)
        begins = next((start for start, stop in self._spans(text) if start < begins < stop), begins)
        return self(text[:begins]), text[begins:]

    def cut(self, text: str) -> str:
        """`text`, which is cut off: if the larger part of a secret stands at its end, it is redacted too."""
        text = self(text)
        begins, end = self._unfinished(text) if self._forms else (len(text), "")
        variant = next((variant for variant in self._forms if variant.startswith(end)), "")
        return text[:begins] + KEY if _SHORTEST <= len(end) >= len(variant) / 2 else text


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
    """Plain data with every secret in its texts replaced by `[key]`; the same object if there is none."""
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
        self._redactor = self._redactor or redactor()
        self._held.append(piece)
        certain = ""
        if not self._withheld:
            certain, end = self._redactor.split("".join(self._held))
            self._held = [end]
        self._on_text(certain)

    def end(self) -> None:
        """Passes on what was held back."""
        text, self._held = redactor().cut("".join(self._held)), []
        if text:
            self._on_text(text)
