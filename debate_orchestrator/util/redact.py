"""Secrets of the environment, taken out of text before it is shown or written.

A secret is the value of a variable that a key for a model is read from, a value in a `..._CUSTOM_HEADERS`, the
password in an address, and the value of a variable named like a key (`..._TOKEN`) that is not a name, number or path.
It is searched for as it is, in hexadecimal and in base64, in the text without white space and characters that are not
seen; then again where escapes of addresses, JSON, markdown and HTML stand for the characters that they mean.
"""

from __future__ import annotations

import base64
import html
import json
import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from functools import cached_property, lru_cache
from operator import is_
from typing import Any, NamedTuple
from urllib.parse import unquote

from debate_orchestrator.util.escaped_key import EscapedKey
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

_FIRST_COMMENTS = re.compile(r"(?:(?:#.*)?\n)*")
"""The comments with which a YAML file begins."""

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
    """Every form in which a secret is searched for. Of base64 these are the characters that depend on the secret alone,
    at each of the three places where it may begin in what was encoded."""
    variants: set[str] = set()
    for text in {secret, "".join(secret.split())}:
        raw = text.encode("utf-8", "surrogateescape")
        variants |= {_bare(text), "".join(raw.decode("latin-1").split()), raw.hex(), raw.hex().upper()}
        variants |= {_bare(re.sub(r"\s", "+", text.strip())), text.encode("latin-1", "ignore").decode("latin-1")}
        for before in range(3):
            padded = base64.b64encode(b"\0" * before + raw).decode()
            inner = padded[-(-8 * before // 6) : 8 * (before + len(raw)) // 6]
            variants |= {inner, inner.translate({ord("+"): "-", ord("/"): "_"})}
    # A text is read as its escapes mean it, where a secret may hold what looks like an escape.
    variants = {reading for variant in variants for reading in _readings(variant)}
    return {form for form in variants if len(form) >= _SHORTEST}


_UNSEARCHED = re.compile(f"{UNSEEN.pattern}|[\u2400-\u2421]")
"""What is not searched: characters that are not seen, and the pictures that stand for control characters."""


def _bare(text: str) -> str:
    """`text` as it is searched: without white space and characters that are not seen, the others as the bytes of their
    UTF-8, each as one character. So an escape of a byte and one of a character stand for the same."""
    text = "".join(text.split())
    return text if text.isascii() else _UNSEARCHED.sub("", text).encode("utf-8", "surrogatepass").decode("latin-1")


_ESCAPE = re.compile(
    r"(?:%[0-9A-Fa-f]{2})+|(?:\\x[0-9A-Fa-f]{2})+|\\u[dD][89abAB][0-9A-Fa-f]{2}\\u[dD][c-fC-F][0-9A-Fa-f]{2}"
    r"|\\(?:u[0-9A-Fa-f]{4}|U000[01][0-9A-Fa-f]{4}|[nrtfv]|[!-/:-@\[-`{-~])"
    r"|&(?:#\d{1,31}|#[xX][0-9A-Fa-f]{1,31}|\w{1,31}(?=;));?"
)
_UNFINISHED_ESCAPE = re.compile(
    r"(?:(?:%[89A-Fa-f][0-9A-Fa-f]){1,3}%?[0-9A-Fa-f]?|(?:\\x[89A-Fa-f][0-9A-Fa-f]){1,3}(?:\\(?:x[0-9A-Fa-f]?)?)?|%[0-9A-Fa-f]?|\\(?:u[0-9A-Fa-f]{0,3}|u[dD][89abAB][0-9A-Fa-f]{2}(?:\\(?:u[0-9A-Fa-f]{0,3})?)?"
    r"|U[0-9A-Fa-f]{0,7}|x[0-9A-Fa-f]?)?|&#?\w{0,31})\Z"
)
_LONGEST_UNFINISHED = 64
"""Characters of the longest escape that is not finished."""
_EMPHASIS = {ord(sign): None for sign in "*`~\\"}
"""What markdown leaves out: its emphasis, and a backslash before the end of a line."""
_MAX_NESTED = 3
"""How often what is escaped may be escaped again."""
_SHORT_ESCAPE = 16
"""Characters of the longest escape whose meaning is kept."""
_WINDOW, _OVERLAP = 100_000, 20_000
"""Characters of a text that are read with their places at once, for which memory is needed; and how many of them are
read again with the next ones."""
_AS_READ = re.compile(r"[!-$'-)+-\[\]-_a-}]*")
"""Text of ASCII without signs of escapes and of emphasis."""
_SHORT_TEXT = 1_000
"""Characters of a text in which each place is looked at, not each secret."""
_MAX_HELD = 20_000
"""Characters of a stream that are held back as what may become a secret. A longer end is held until the stream ends."""


def _unescape(match: re.Match[str]) -> str:
    """What an escape stands for; nothing where that is left out of the search."""
    return _meaning(match[0]) if match.end() - match.start() <= _SHORT_ESCAPE else _meaning.__wrapped__(match[0])


@lru_cache(maxsize=20_000)
def _meaning(escape: str) -> str:
    """As `_unescape`. A text that is full of escapes has the same ones again and again."""
    if escape[0] == "&":
        return _bare(html.unescape(escape))
    if escape[0] == "%" or escape[1] == "x":
        raw = bytes.fromhex(re.sub(r"%|\\x", "", escape))
        try:
            return _bare(raw.decode())
        except UnicodeDecodeError:  # characters of another encoding, or not all of a character
            return raw.decode("latin-1")
    if escape[1] in "uU":
        codes = "".join(chr(int(code, 16)) for code in re.split(r"\\[uU]", escape)[1:])
        return _bare(codes.encode("utf-16-be", "surrogatepass").decode("utf-16-be", "surrogatepass"))
    return "" if escape[1] in "nrtfv" else escape[1]


def _has_escapes(text: str) -> bool:
    """Whether there may be an escape in a text. Most have none, and to look for a sign takes no time."""
    return "%" in text or "\\" in text or "&" in text


def _readings(bare: str) -> Iterator[str]:
    """A bare text as it is, and as its escapes mean it, each also without the signs of emphasis."""
    for _ in range(_MAX_NESTED + 1):
        yield bare
        if (plain := bare.translate(_EMPHASIS)) != bare:
            yield plain
        if not _has_escapes(bare) or (unescaped := _ESCAPE.sub(_unescape, bare)) == bare:
            return
        bare = unescaped


class _Reading(NamedTuple):
    """A reading of a text, with the place in the original text where each of its characters begins and ends."""

    text: str
    starts: list[int]
    stops: list[int]

    @classmethod
    def of(cls, text: str) -> _Reading:
        """The bare text."""
        if text.isascii():
            seen = [place for place, char in enumerate(text) if not char.isspace()]
            return cls("".join(text.split()), seen, [place + 1 for place in seen])
        places = range(len(text))
        reading = cls(text, [*places], [place + 1 for place in places])
        return reading._substitute((place, place + 1, _bare(text[place])) for place in places)

    def plain(self) -> _Reading:
        """The same without the signs of emphasis."""
        if self.text.translate(_EMPHASIS) == self.text:
            return self
        return self._substitute(
            (place, place + 1, "") for place, sign in enumerate(self.text) if ord(sign) in _EMPHASIS
        )

    def unescape(self) -> _Reading:
        """The same as its escapes mean it."""
        return self._substitute((match.start(), match.end(), _unescape(match)) for match in _ESCAPE.finditer(self.text))

    def _substitute(self, pieces: Iterable[tuple[int, int, str]]) -> _Reading:
        texts, starts, stops, at = list[str](), list[int](), list[int](), 0
        for first, end, meaning in pieces:
            texts += [self.text[at:first], meaning]
            starts += self.starts[at:first] + [self.starts[first]] * len(meaning)
            stops += self.stops[at:first] + [self.stops[end - 1]] * len(meaning)
            at = end
        text = "".join([*texts, self.text[at:]])
        return _Reading(text, starts + self.starts[at:], stops + self.stops[at:])

    def up_to(self, end: int) -> _Reading:
        """The first `end` characters."""
        return _Reading(self.text[:end], self.starts[:end], self.stops[:end])


class Redactor:
    """Takes certain secrets out of texts."""

    def __init__(self, secrets: Iterable[str]):
        secrets = list(secrets)
        self._forms = sorted({form for secret in secrets for form in forms(secret)}, key=len, reverse=True)
        self._keys = {bare for secret in secrets if len(bare := _bare(secret)) >= _SHORTEST}
        self._begins: dict[str, list[str]] = {}
        """The forms that begin with some characters, by each of their first ones up to `_SHORTEST`."""
        for form in self._forms:
            for length in range(1, _SHORTEST + 1):
                self._begins.setdefault(form[:length], []).append(form)

    @cached_property
    def _escaped_keys(self) -> list[EscapedKey]:
        return [*map(EscapedKey, self._keys)]

    def _holds_escaped(self, text: str) -> bool:
        return _has_escapes(text) and any(key.whole.search(text) for key in self._escaped_keys)

    def __call__(self, text: str) -> str:
        """`text` with `[key]` in place of every secret."""
        while spans := self._spans(text):
            pieces, end = [], 0
            for start, stop in spans:
                if stop > end:
                    pieces += [text[end:start], KEY] if start >= end else []
                    end = stop
            text = "".join([*pieces, text[end:]])
        return text

    def _spans(self, text: str) -> list[tuple[int, int]]:
        """Where secrets begin and end in a text; of a long one perhaps only some of them, but none only if there is
        none."""
        readings = _readings(_bare(text)) if self._forms else ()
        if not any(self._holds_form(reading) or self._holds_escaped(reading) for reading in readings):
            return []  # most texts, which are read without places
        if len(text) > _WINDOW:
            spans = [
                (start + first, start + stop)
                for start in range(0, len(text), _WINDOW - _OVERLAP)
                for first, stop in self._spans(text[start : start + _WINDOW])
            ]
            if spans:
                return sorted(spans)
        spans, reading = [], _Reading.of(text)
        for _ in range(_MAX_NESTED + 1):
            for variant in (reading, reading.plain()):
                if present := [form for form in self._forms if form in variant.text]:
                    matches = re.finditer("|".join(map(re.escape, present)), variant.text)
                    spans += [(variant.starts[match.start()], variant.stops[match.end() - 1]) for match in matches]
            if not _has_escapes(reading.text):
                break
            for match in (match for key in self._escaped_keys for match in key.whole.finditer(reading.text)):
                spans.append((reading.starts[match.start()], reading.stops[match.end() - 1]))
            reading = reading.unescape()
        return sorted(spans)

    def _holds_form(self, text: str) -> bool:
        """Whether a secret stands in a reading of a text. In a short one, such as a piece of a stream, few are looked
        for."""
        if len(text) > _SHORT_TEXT:
            return any(form in text for form in self._forms)
        begins = {text[place : place + _SHORTEST] for place in range(len(text) - _SHORTEST + 1)}
        return any(form in text for begin in begins & self._begins.keys() for form in self._begins[begin])

    def _begun(self, text: str) -> int:
        """Where the longest suffix of a text begins that is the beginning of a secret but not the whole secret; the
        length of the text if there is none."""
        for place in range(max(0, len(text) - len(self._forms[0]) + 1), len(text)):
            for form in self._begins.get(text[place : place + _SHORTEST], ()):
                if len(form) > len(text) - place and form.startswith(text[place:]):
                    return place
        return len(text)

    def _unfinished(self, text: str) -> tuple[int, str]:
        """Where the longest suffix of a text begins that may continue as a secret, and that suffix without escapes; the
        length of the text and an empty text if there is none."""
        bare = "".join(text.split())
        if _AS_READ.fullmatch(bare):  # most pieces of a stream: there is one reading
            place = self._begun(bare)
            if place == len(bare):
                return len(text), ""
            return [at for at, char in enumerate(text) if not char.isspace()][place], bare[place:]
        best, reading = (len(text), ""), _Reading.of(text)
        for _ in range(_MAX_NESTED + 1):
            if partial := _UNFINISHED_ESCAPE.search(reading.text, max(0, len(reading.text) - _LONGEST_UNFINISHED)):
                best = min(best, (reading.starts[partial.start()], ""))
                reading = reading.up_to(partial.start())
            for key in self._escaped_keys if _has_escapes(reading.text) else ():
                if (place := key.begun(reading.text)) < len(reading.text):
                    best = min(best, (reading.starts[place], reading.text[place:]))
            for variant in (reading, reading.plain()):
                place = self._begun(variant.text)
                if place < len(variant.text):
                    best = min(best, (variant.starts[place], variant.text[place:]))
            if not _has_escapes(reading.text):
                break
            reading = reading.unescape()
        return best

    def split(self, text: str) -> tuple[str, str]:
        """The redacted beginning of a text, and its end as it is, which may become a secret as the text goes on."""
        begins = self._unfinished(text)[0] if self._forms else len(text)
        begins = next((start for start, stop in self._spans(text) if start < begins < stop), begins)
        return self(text[:begins]), text[begins:]

    def cut(self, text: str) -> str:
        """`text`, which is cut off: if the larger part of a secret stands at its end, it is redacted too."""
        text = self(text)
        tail = text[-_MAX_HELD:]
        begins, end = self._unfinished(tail) if self._forms else (len(tail), "")
        form = next((form for form in self._forms if form.startswith(end)), "")
        return text[: len(text) - len(tail) + begins] + KEY if _SHORTEST <= len(end) >= len(form) / 2 else text


def redactor() -> Redactor:
    """What takes out the secrets that there are now."""
    # The environment as it is held, where Python lets it be seen: decoding it would take longer than most searches.
    variables: Mapping[str, str] | Mapping[bytes, bytes] = getattr(os.environ, "_data", os.environ)
    return _redactor_of(tuple(variables.items()), frozenset(_learned))


@lru_cache(maxsize=4)
def _redactor_of(variables: tuple[tuple[str | bytes, str | bytes], ...], learned: frozenset[str]) -> Redactor:
    named = [(os.fsdecode(name), os.fsdecode(value)) for name, value in variables]
    return Redactor({secret for name, value in named for secret in secrets(name, value)} | learned)


def redact(text: str) -> str:
    """`text` with `[key]` in place of every secret."""
    return redactor()(text)


def truncate(text: str, max_length: int) -> str:
    """The first `max_length` characters of a text, redacted before it is cut: half a secret would not be recognised."""
    return redact(text)[:max_length]


def map_leaves(data: Any, change: Callable[[Any], Any]) -> Any:
    """Plain data with `change` applied to all in it that is not a mapping, list or tuple; the same object where that
    changes nothing."""
    if not isinstance(data, str):  # most are texts, and to ask for a mapping takes long
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


def redact_json(text: str, **options: Any) -> str:
    """JSON text with `[key]` in place of every secret, which is still JSON: an escape and the letters behind it are no
    secret if only both together look like one. `options` are those of `json.dumps` that made the text."""
    redacted = redact(text)
    if redacted == text:
        return text
    try:
        json.loads(redacted)
    except ValueError:
        with suppress(ValueError):  # what was no JSON before stays redacted as text
            redacted = json.dumps(redact_all(json.loads(text)), **options) + text[len(text.rstrip()) :]
    return redacted


def redact_yaml(text: str) -> str:
    """YAML text with `[key]` in place of every secret, which says the same otherwise. Where there is one, comments are
    lost but for those at the beginning."""
    redacted = redact(text)
    if redacted == text:
        return text
    from debate_orchestrator.util import yaml  # late: most texts hold no secret

    with suppress(ValueError):  # what was no YAML before stays redacted as text
        value = yaml.load(text)
        # In YAML `[key]` would be a list.
        redacted = redact(_FIRST_COMMENTS.match(text)[0]) + yaml.dump(redact_all(value))  # type: ignore[index]
    return redacted


def redact_all(value: Any) -> Any:
    """As `redact_values`, in the names of mappings and in numbers too."""
    if isinstance(value, dict):
        return {redact(name): redact_all(item) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [redact_all(item) for item in value]
    return value if isinstance(value, bool | None) or redact(str(value)) == str(value) else redact(str(value))


class StreamRedactor:
    """Redacts a text that comes in pieces. An end that may be the beginning of a secret is held back until that is
    known. With `withheld` all is held back until the end, and for each piece an empty one is passed on."""

    def __init__(self, on_text: Callable[[str], None], *, withheld: bool = False):
        self._on_text, self._withheld, self._held = on_text, withheld, list[str]()
        self._redactor: Redactor | None = None
        self._size, self._next_size = 0, 0

    def take(self, piece: str) -> None:
        """Takes the next piece, and passes on what is certainly no secret; an empty text if nothing is."""
        # The first piece answers a request, with which a secret may have been learned.
        self._redactor = self._redactor or redactor()
        certain = ""
        for start in range(0, len(piece), _MAX_HELD):
            part = piece[start : start + _MAX_HELD]
            self._held.append(part)
            self._size += len(part)
            # What is held back is read again once it has grown by a quarter, so that reading it takes linear time.
            if not self._withheld and self._size >= self._next_size:
                safe, end = self._redactor.split("".join(self._held))
                certain += safe
                self._held, self._size = [end], len(end)
                self._next_size = self._size * 5 // 4
                self._withheld = self._size > _MAX_HELD
        self._on_text(certain)

    def end(self) -> None:
        """Passes on what was held back."""
        text, self._held = redactor().cut("".join(self._held)), []
        if text:
            self._on_text(text)
