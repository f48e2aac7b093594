"""Secrets of the environment, taken out of text before it is shown or written.

A secret is the value of a variable that a key for a model is read from, a value in a `..._CUSTOM_HEADERS`, the
password in an address or in a connection string, and the value of a variable named like a key (`..._TOKEN`) that is not
a name, number or path.
It is searched for as it is, in hexadecimal and in base64, in the text without white space and characters that are not
seen; then again where escapes of addresses, JSON, markdown and HTML stand for the characters that they mean.
"""

from __future__ import annotations

import base64
import json
import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from functools import cached_property, lru_cache
from operator import is_
from typing import Any
from urllib.parse import unquote

from debate_orchestrator.util.escapes import (
    MAX_NESTED,
    DecodedText,
    decoded_texts,
    escaped_key,
    has_escapes,
    searchable,
)

REPLACEMENT = "[key]"
"""The text that replaces a secret."""
_SHORTEST = 8
"""Characters of the shortest secret, and of the shortest form of one."""
_SHORTEST_NAMED = 12
"""The same where only the name of its variable says that it may be one."""
_SHORTEST_WORD = 16
"""The same for a key of letters alone."""
_KEYS = re.compile(r"(?:ANTHROPIC|OPENAI|OPENROUTER|OLLAMA)_(?:API_KEY|AUTH_TOKEN)|DEBATE_KEY_\w+")
"""Variables of keys for models, before the registry of providers is imported (see `add_variables`)."""
_WORDS = "KEY|TOKEN|SECRET|PASSWORD|PASSWD|PASSPHRASE|CREDENTIAL"
_WHICH = "PROD|PRODUCTION|STAGING|DEV|TEST|LIVE|CI|OLD|NEW|BASE|BEDROCK"
_NAMED_LIKE_KEYS = re.compile(rf"(?:{_WORDS}|_PAT|_PWD|_JWT|_AUTH)S?(?:_?V?\d++|_(?:{_WHICH}))*\Z", re.I)
"""Names that end in such a word, or in one and which key of several it is."""
_LOGIN = re.compile(r"(?:\A|://|\s)([^/\s:@]*)(?::([^/\s]*))?@")
"""User and password in an address."""
_FIELD = re.compile(rf"""(?:\A|;)\s*\w*(?:{_WORDS}|PWD|ACCESSSIGNATURE)\s*=\s*("[^"]*|'[^']*|{{[^}}]*|[^;]*)""", re.I)
"""A field of a connection string, as in `;AccountKey=KEY` and `;Password="KEY"`."""
_PLACEHOLDERS = {"lm-studio", "no-key", "no-key-required", "not-needed", "not-required", "sk-no-key-required"}
"""The placeholder for a key if a server wants none."""
_WORD = r"(?:[A-Za-z]{1,20}\d{0,3}|\d+(?:[a-z]{0,2}|T\d+|Z))"
_MIXED_CASE = r"(?!.*[a-z][A-Z]+[a-z](?![a-z]))"
"""Not where the case of letters changes other than in `GitHub`, `eBay` and `macOS`."""
_NAMES = rf"{_MIXED_CASE}(?:~|{_WORD})?(?:[-_.,:/@+ ]+{_WORD})*[-_.,:/ ]*"
_ORDINARY = re.compile(rf"{_NAMES}|\w+://\S*|[A-Za-z]:\\\S*|.*\s.*", re.S)
"""Names of hosts, models, files and versions (`eu-west-1`, `gpt-5.1`, `2026-01-02`), paths of such names, addresses,
sentences."""
_BETWEEN = re.compile(r"""[\s,;"'{}]+|\\n""")
"""The text between the words of a value, also of one in JSON."""
_BETWEEN_PARTS = re.compile(rf"(?:[:=&]|{_BETWEEN.pattern})+")
"""The same, and the text between names and values within a word, as in `session=KEY`."""

_FIRST_COMMENTS = re.compile(r"(?:(?:#.*)?\n)*")
"""The comments with which a YAML file begins."""

_learned: set[str] = set()
_key_variables: set[str] = set()


def add_secret(value: str) -> None:
    """Redacts from now on a secret that is not in the environment, such as a token from a profile."""
    _learned.update(_keys_in(value))


def add_variables(keys: Iterable[str]) -> None:
    """Registers environment variables that keys for models are read from."""
    if new := {*keys} - _key_variables:
        _key_variables.update(new)
        _redactor_of.cache_clear()


def add_program_variables(names: Iterable[str]) -> None:
    """Registers those of the environment variables given to a program which are named like keys, and hold no path: the
    program may print them."""
    add_variables(
        name for name in names if _NAMED_LIKE_KEYS.search(name) and not _is_path(os.environ.get(name, "").strip())
    )


def secrets(name: str, value: str) -> Iterator[str]:
    """The secrets that an environment variable holds."""
    if "://" in value or name.upper().endswith("_PROXY"):
        for user, password in _LOGIN.findall(value):
            yield from filter(_may_be_key, (password, unquote(password)))
            yield from filter(_looks_random, (user, unquote(user)))
    if ";" in value:
        for field in _FIELD.findall(value):
            yield from _random_in(field.strip("\"'{ "))
    if _KEYS.fullmatch(name) or name in _key_variables:
        yield from _keys_in(value)
    elif name.upper().endswith("_CUSTOM_HEADERS"):
        for line in value.splitlines():
            yield from _keys_in(line.partition(":")[2])
    elif _NAMED_LIKE_KEYS.search(name):
        yield from _random_in(value)


def _keys_in(value: str) -> Iterator[str]:
    """A value that holds a key, and each of its words, such as the key in `Bearer KEY` or in `session=KEY`."""
    yield from filter(_may_be_key, {value.strip(), *_BETWEEN.split(value)})
    yield from _random_in(value)


def _random_in(value: str) -> Iterator[str]:
    """What looks like a key of a value, its words, and the parts of these words."""
    yield from filter(_looks_random, {value.strip(), *_BETWEEN.split(value), *_BETWEEN_PARTS.split(value)})


def _may_be_key(value: str) -> bool:
    """Whether a value may be a key, and is neither a word nor what stands for a key."""
    is_word = value.isascii() and value.isalpha()
    return len(value) >= (_SHORTEST_WORD if is_word else _SHORTEST) and value not in _PLACEHOLDERS


def _looks_random(value: str) -> bool:
    return len(value) >= _SHORTEST_NAMED and not _ORDINARY.fullmatch(value) and not _is_path(value)


def _is_path(value: str) -> bool:
    """Whether a value is a path of plain names, or one that exists: a key in base64 may begin with a slash."""
    if not value.startswith(("/", "~/", "./", "../")):
        return False
    return bool(_ORDINARY.fullmatch(value)) or os.path.lexists(os.path.expanduser(value))


def encoded_forms(secret: str) -> set[str]:
    """Every form in which a secret is searched for. Of base64 these are the characters that depend on the secret alone,
    at each of the three places where it may begin in the encoded bytes."""
    encoded, read, unspaced = set[str](), set[str](), "".join(secret.split())
    for text in (secret, unspaced):
        raw = text.encode("utf-8", "surrogateescape")
        as_latin = raw.decode("latin-1")  # as a server quotes it that reads headers as Latin-1
        read |= {searchable(text), "".join(as_latin.split()), searchable(as_latin)}
        read.add(searchable(re.sub(r"\s", "+", text.strip())))
        read.add(searchable(f"&#{text}")[2:])  # zeros at its beginning count as those of the escape
        if max(text, default="") <= "\xff":
            read.add(text)  # as the escapes of its bytes in Latin-1 mean it
        encoded |= {raw.hex(), raw.hex().upper()}
        for before in range(3):
            padded = base64.b64encode(b"\0" * before + raw).decode()
            inner = padded[-(-8 * before // 6) : 8 * (before + len(raw)) // 6]
            encoded |= {inner, inner.translate({ord("+"): "-", ord("/"): "_"})}
    # A text is read as its escapes mean it, where a secret may hold what looks like an escape.
    read = {reading for text in read for reading in decoded_texts(text)}
    # What is left of a secret without a quarter of its characters may be a word or a number that any text may have.
    read = {form for form in read if 4 * len(form) > 3 * len(unspaced) or not _ORDINARY.fullmatch(form)}
    return {form for form in encoded | read if len(form) >= _SHORTEST}


_WINDOW, _OVERLAP = 100_000, 20_000
"""Characters of a text that are read with their places at once, for which memory is needed; and how many of them are
read again with the next ones."""
_PART = 2_000
"""Characters of a long secret that are searched for as one."""
_BEGINNING = 48
"""Characters of a form of a secret by which a stream knows it."""
_MAX_UNFINISHED = 40
"""Characters of an escape at the end of a stream that are not yet its last."""


def _parts(form: str) -> list[str]:
    """A form of a secret in parts, of which the last is the longest: the time to search for one grows with the square
    of its length."""
    count = max(1, len(form) // _PART)
    return [form[_PART * n : _PART * (n + 1) if n < count - 1 else None] for n in range(count)]


class Redactor:
    """Takes certain secrets out of texts."""

    def __init__(self, secrets: Iterable[str], max_length: int | None = None):
        """With `max_length`, takes out what begins with so many characters of a form of a secret."""
        self._secrets = [*secrets]
        forms = {form[:max_length] for secret in self._secrets for form in encoded_forms(secret)}
        self._forms = sorted({part for form in forms for part in _parts(form)}, key=len, reverse=True)
        keys = (key[:max_length] for secret in self._secrets if len(key := searchable(secret)) >= _SHORTEST)
        self._keys = {part for key in keys for part in _parts(key)}
        self._begins: dict[str, list[str]] = {}
        """The forms by their first `_SHORTEST` characters."""
        for form in self._forms:
            self._begins.setdefault(form[:_SHORTEST], []).append(form)

    @cached_property
    def _escaped_keys(self) -> list[re.Pattern[str]]:
        return [*map(escaped_key, self._keys)]

    def _holds_escaped(self, text: str) -> bool:
        return has_escapes(text) and any(key.search(text) for key in self._escaped_keys)

    def __call__(self, text: str) -> str:
        """`text` with `[key]` in place of every secret."""
        while spans := self._spans(text):
            pieces, end = [], 0
            for start, stop in spans:
                if stop > end:
                    pieces += [text[end:start], REPLACEMENT] if start >= end else []
                    end = stop
            text = "".join([*pieces, text[end:]])
        return text

    def _spans(self, text: str) -> list[tuple[int, int]]:
        """The start and end of each secret in a text; of a long one perhaps only some of them, but none only if there
        is none."""
        decoded = decoded_texts(searchable(text)) if self._forms else ()
        if not any(self._holds_form(reading) or self._holds_escaped(reading) for reading in decoded):
            return []  # most texts, which are read without places
        if len(text) > _WINDOW:
            spans = [
                (start + first, start + stop)
                for start in range(0, len(text), _WINDOW - _OVERLAP)
                for first, stop in self._spans(text[start : start + _WINDOW])
            ]
            if spans:
                return sorted(spans)
        spans, reading = [], DecodedText.of(text)
        for _ in range(MAX_NESTED + 1):
            for variant in (reading, reading.plain()):
                if present := [form for form in self._forms if form in variant.text]:
                    matches = re.finditer("|".join(map(re.escape, present)), variant.text)
                    spans += [(variant.starts[match.start()], variant.stops[match.end() - 1]) for match in matches]
            if not has_escapes(reading.text):
                break
            for match in (match for key in self._escaped_keys for match in key.finditer(reading.text)):
                spans.append((reading.starts[match.start()], reading.stops[match.end() - 1]))
            reading = reading.unescape()
        return sorted(spans)

    def _holds_form(self, text: str) -> bool:
        """Whether a secret is in a reading of a text. Its places or the forms are gone through, whichever are fewer."""
        if len(text) > len(self._forms):
            return any(form in text for form in self._forms)
        begins = {text[place : place + _SHORTEST] for place in range(len(text) - _SHORTEST + 1)}
        return any(form in text for begin in begins & self._begins.keys() for form in self._begins[begin])

    @cached_property
    def _beginnings(self) -> Redactor:
        return Redactor(self._secrets, _BEGINNING)

    def split(self, text: str) -> tuple[str, str, bool]:
        """The redacted beginning of a text that goes on, its end as it is, and whether a secret begins that end."""
        if not self._forms:
            return text, "", False
        # This does not depend on what the end of the text is: otherwise those who write it, and see when it is shown,
        # could find out a secret letter by letter.
        place = _start_of_end(text, len(self._forms[0][:_BEGINNING]) + _MAX_UNFINISHED)
        secret_from = min((start for start, _ in self._beginnings._spans(text)), default=len(text))
        held_from = min(place, secret_from)
        return self(text[:held_from]), text[held_from:], secret_from <= place < len(text)


def _start_of_end(text: str, length: int) -> int:
    """The place where the last `length` characters begin, in the reading of the text in which that is earliest. The
    last reading is that of a secret whose characters are escaped once more."""
    place, reading = len(text), DecodedText.of(text)
    for _ in range(MAX_NESTED + 2):
        place = min([place, *reading.starts[-length:][:1], *reading.plain().starts[-length:][:1]])
        if not has_escapes(reading.text):
            break
        reading = reading.unescape()
    return place


def redactor(typed: str = "") -> Redactor:
    """The redactor of all known secrets, but for those in what its reader has `typed`: they are no news to the reader,
    who would learn otherwise that a guess is one."""
    # The environment as it is held, where Python lets it be seen: decoding it would take longer than most searches.
    variables: Mapping[str, str] | Mapping[bytes, bytes] = getattr(os.environ, "_data", os.environ)
    return _redactor_of(tuple(variables.items()), frozenset(_learned), typed)


@lru_cache(maxsize=4)
def _redactor_of(
    variables: tuple[tuple[str | bytes, str | bytes], ...], learned: frozenset[str], typed: str
) -> Redactor:
    named = [(os.fsdecode(name), os.fsdecode(value)) for name, value in variables]
    known = {secret for name, value in named for secret in secrets(name, value)} | learned
    return Redactor(secret for secret in known if not typed or Redactor([secret])(typed) == typed)


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
    """JSON text with `[key]` in place of every secret, which is still JSON: an escape and the letters after it are no
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
    """YAML text with `[key]` in place of every secret, which says the same otherwise. If there is one, comments are
    lost but for those at the beginning."""
    redacted, as_said = redact(text), text.replace("''", "'")  # in single quotation marks one apostrophe is two
    if redacted == text and redact(as_said) == as_said:
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
        return {_redacted(name): redact_all(item) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [redact_all(item) for item in value]
    return _redacted(value)


def _redacted(value: Any) -> Any:
    text = str(value)
    return value if isinstance(value, bool | None) or redact(text) == text else redact(text)


class StreamRedactor:
    """Redacts a text that comes in pieces. Its last words are held back, whatever they are, and so is all that follows
    the beginning of a secret, until the text ends. With `withheld` all is held back until then, and for each piece an
    empty one is passed on."""

    def __init__(self, on_text: Callable[[str], None], *, withheld: bool = False):
        self._on_text, self._withheld, self._held = on_text, withheld, list[str]()
        self._redactor: Redactor | None = None
        self._size, self._next_size = 0, 0

    def feed(self, piece: str) -> None:
        """Takes the next piece, and passes on what is certainly no secret; an empty text if nothing is."""
        # The first piece answers a request, with which a secret may have been learned.
        self._redactor = self._redactor or redactor()
        self._held.append(piece)
        self._size += len(piece)
        certain = ""
        # What is held back is read again once it has grown by a quarter, so that reading it takes linear time.
        if not self._withheld and self._size >= self._next_size:
            certain, end, self._withheld = self._redactor.split("".join(self._held))
            self._held, self._size, self._next_size = [end], len(end), len(end) * 5 // 4
        self._on_text(certain)

    def end(self) -> None:
        """Passes on what was held back."""
        text, self._held = redact("".join(self._held)), []
        if text:
            self._on_text(text)
