"""Secrets of the environment, taken out of text before it is shown or kept.

What counts as a secret is the value of a variable that a key for a model is read from, every value in a
`..._CUSTOM_HEADERS`, and the password in any address, unless it is an ordinary word, a short number or a path. In a
variable whose name ends like a key's (`..._KEY`, `..._TOKEN`, `..._SECRET`, `..._PASSWORD` and the like) only what
looks like a secret counts: it begins as the keys of known services do, or it is long and irregular, as no name is. A
value of several lines or words is also looked for by each of them. A secret is found as it stands and as it is
usually written: with other white space or none, escaped as in JSON or Python, percent-encoded, in hexadecimal, and in
base64, also as part of something longer (`Basic ...`).
"""

from __future__ import annotations

import base64
import json
import os
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cached_property, lru_cache
from typing import Any
from urllib.parse import quote, quote_plus

from debate_orchestrator.speech import tame

KEY = "[key]"
"""What stands in place of a secret."""
_SHORTEST = 8
_SHORTEST_KEY = 4
_WORD = 16
"""Characters from which on even letters alone, or digits alone, are no ordinary text."""
_NAME = re.compile(
    r"(?:(?:\A|_)(?:KEY|PAT|JWT|AUTH)|_PWD|APIKEY|TOKEN|SECRET|SECRET_KEY_BASE|PASSWORD|PASSWD|PASSPHRASE|CREDENTIAL"
    r"|COOKIE)S?(?:_?\d+)?\Z",
    re.I,
)
"""Names of variables that may hold a secret."""
_HEADERS = re.compile(r"_CUSTOM_HEADERS\Z", re.I)
_KEYS = re.compile(r"(?:ANTHROPIC|OPENAI|OPENROUTER|OLLAMA)_(?:API_KEY|AUTH_TOKEN)|DEBATE_KEY_\w+")
"""Names of variables that keys for models are read from."""
_USER = re.compile(r"://([^/\s@]+)@")
_BEGINS_LIKE_A_KEY = re.compile(
    r"(?:sk-|gh[oprsu]_|github_pat_|xox[a-z]-|AKIA|AIza|glpat-|hf_|eyJ)\S{4}|-----BEGIN [^-]+-----\s*\S"
)
_BETWEEN = re.compile(r"""[\s,;"'{}]+|\\[nr]""")
"""What stands between the words of a value, of JSON too."""
_HEX = re.compile(r"(?=[^a-f]*[a-f])(?=\D*\d)[0-9a-f]{16,}|[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.I)
_SEPARATOR = re.compile(r"[-_./:\\@\s]")
_SYMBOLS = re.compile(r"(?=.*[a-z])(?=.*[A-Z])(?=.*\d)(?=.*[!#$%^&*+=~?])(?!.*://)\S{16,}")
"""A strong password: letters of both cases, digits, and a character that is in no name."""
_RUN = re.compile(r"[A-Z]?[a-z]+|[A-Z]+|\d+|[^A-Za-z0-9]")
"""Characters of one class, as a word or a number has them."""
_ORDINARY = re.compile(r"[A-Z]?[a-z]+|[A-Z]+|[\d.,:_-]+")
_PATH = re.compile(r"(?:~|\.{1,2})?/")
_RANDOM = re.compile(r"(?=[^/]*\d)(?=[^/]*[a-z])(?=[^/]*[A-Z])[^/]{20}")
"""A part that no path has, but a key in base64, which may begin with a slash."""
_learned: set[str] = set()


def learn(value: str) -> None:
    """Takes note of a secret that is not in the environment, such as a token from a profile."""
    _learned.update(_counting(value))


def redact(text: str) -> str:
    """`text` with `[key]` in place of every secret."""
    return redactor()(text)


def redact_values(value: Any) -> Any:
    """Plain data with `[key]` in place of every secret in its texts."""
    if isinstance(value, str):
        return redact(value)
    if isinstance(value, dict):
        return {key: redact_values(one) for key, one in value.items()}
    return [redact_values(one) for one in value] if isinstance(value, list | tuple) else value


def redactor() -> Redactor:
    """What takes out the secrets that there are now. Work that goes over many texts gets one for all of them."""
    found = {one for name, value in os.environ.items() for one in secrets(name, value)}
    return _made(frozenset(found | _learned))


def secrets(name: str, value: str) -> Iterator[str]:
    """The secrets that an environment variable holds."""
    if "://" in value:
        for user in _USER.findall(value):
            _, colon, last = user.rpartition(":")
            yield from _counting(last) if colon else filter(_looks_secret, [last])
    if _KEYS.fullmatch(name):
        yield from _counting(value)
        if not _ordinary(key := value.strip(), _SHORTEST_KEY):
            yield key
    elif _HEADERS.search(name):
        for line in value.splitlines():
            yield from _counting(line.partition(":")[2])
    elif _NAME.search(name):
        yield from filter(_looks_secret, {value.strip(), *_BETWEEN.split(value)})


@lru_cache(maxsize=1024)
def _looks_secret(value: str) -> bool:
    """Whether it begins like a key of a known service, or is so irregular that it is no name, path or date."""
    if len(value) >= _SHORTEST and _BEGINS_LIKE_A_KEY.match(value):
        return True
    if len(value) < _WORD or " " in value:
        return False
    if _HEX.fullmatch(value) or _SYMBOLS.fullmatch(value):
        return True
    length = runs = 0
    for part in _SEPARATOR.split(value):
        found = _RUN.findall(part)
        if len(part) >= _SHORTEST and (len(found) * 3 >= len(part) or sum(map(str.isdigit, found)) >= 3):
            length, runs = length + len(part), runs + len(found)
    return length >= _WORD and runs >= 7


def _counting(value: str) -> Iterator[str]:
    """A value, and each of its words, as far as they are no ordinary text."""
    return (one for one in {value.strip(), *re.split(r"[\s,;]+", value)} if not _ordinary(one))


def _ordinary(value: str, shortest: int = _SHORTEST) -> bool:
    if len(value) < shortest or not any(map(str.isalnum, value)):
        return True
    if len(value) < _WORD and _ORDINARY.fullmatch(value):
        return True
    return bool(_PATH.match(value)) and not _RANDOM.search(value)


@lru_cache(maxsize=16)
def _made(values: frozenset[str]) -> Redactor:
    return Redactor(form for value in values for form in forms(value))


def forms(secret: str) -> set[str]:
    """Every way in which a secret is looked for."""
    made = {" ".join(secret.split()), "".join(secret.split())}
    for one in (secret, *made):
        raw = one.encode("utf-8", "surrogateescape")
        percent = {quote(raw), quote(raw, safe=""), quote_plus(raw)}
        made |= {json.dumps(one)[1:-1], json.dumps(one, ensure_ascii=False)[1:-1], ascii(one)[1:-1], repr(one)[1:-1]}
        made.add(repr(raw)[2:-1])
        made |= percent | {re.sub("%..", lambda found: found[0].lower(), said) for said in percent}
        made |= {raw.hex(), raw.hex().upper(), *_base64(raw)}
    return {secret, *(one for one in made if len(one) >= _SHORTEST)}


def _base64(raw: bytes) -> Iterator[str]:
    """What base64 makes of a secret wherever it begins in what is encoded: the characters that it alone decides."""
    for before in range(3):
        whole = base64.b64encode(b"\0" * before + raw).decode()
        inner = whole[-(-8 * before // 6) : 8 * (before + len(raw)) // 6]
        yield inner
        yield inner.translate({ord("+"): "-", ord("/"): "_"})


class Redactor:
    """Takes certain strings out of texts. A text that holds none of them is only searched. Long ones are found with
    white space in them too, as where a line was wrapped."""

    def __init__(self, forms: Iterable[str]):
        found = {bare if len(bare := "".join(one.split())) >= _WORD else one for one in forms}
        self._forms = sorted(found, key=len, reverse=True)
        self._reach = 2 * max(map(len, self._forms), default=0)
        """Characters at the end of a text in which something may begin that goes on after it."""

    @cached_property
    def _any(self) -> re.Pattern[str]:
        """What finds them; made when there is something to find."""
        return re.compile(
            "|".join((r"\s*" if len(one) >= _WORD else "").join(map(re.escape, one)) for one in self._forms)
        )

    def __call__(self, text: str) -> str:
        if not self._in(text):
            if text.isascii() or not self._in(tame(text)):
                return text
            text = tame(text)  # characters that are not seen stood within it
        return self._any.sub(KEY, text)

    def _in(self, text: str) -> bool:
        bare = "".join(text.split())
        return any(form in (bare if len(form) >= _WORD else text) for form in self._forms)

    def begun(self, text: str) -> int:
        """The place in a text, if not its end, from which on it may be the beginning of something to be taken out."""
        tail = max(0, len(text) - self._reach)
        whole = range(tail, len(text))
        bare = [at for at in whole if not text[at].isspace()]
        first = len(text)
        for form in self._forms:
            places: Sequence[int] = bare if len(form) >= _WORD else whole
            said = "".join(text[at] for at in places[-len(form) + 1 :])
            at = said.find(form[0])
            while at >= 0 and not form.startswith(said[at:]):
                at = said.find(form[0], at + 1)
            first = min(first, places[at - len(said)]) if at >= 0 else first
        return first

    def split(self, text: str) -> tuple[str, str]:
        """The beginning of a text that goes on, redacted, and as it is what may become a secret as the text goes on."""
        at = self.begun(text)
        made, end = [], 0
        for match in self._any.finditer(text) if self._in(text) else ():
            if match.end() > at:
                at = min(at, match.start())
                break
            made += [text[end : match.start()], KEY]
            end = match.end()
        return "".join(made) + text[end:at], text[at:]

    def cut(self, text: str) -> str:
        """`text`, of which the end is missing: what may be the larger half of a secret at its end is one."""
        text = self(text)
        at = self.begun(text)
        left = "".join(text[at:].split())
        half = any(form.startswith(left) and len(left) >= max(_SHORTEST, len(form) / 2) for form in self._forms)
        return text[:at] + KEY if half else text


class Pieces:
    """A text that comes in pieces, redacted: what may become a secret is held back until it is seen what it is."""

    def __init__(self, hear: Callable[[str], None]):
        self._hear, self._held = hear, ""
        self._renew()

    def _renew(self) -> None:
        self._learned, self._redact = len(_learned), redactor()

    def take(self, piece: str) -> None:
        """Takes the next piece, and tells what is sure by now; an empty text where nothing is."""
        if len(_learned) != self._learned:  # with the request that this answers
            self._renew()
        sure, self._held = self._redact.split(self._held + piece)
        self._hear(sure)

    def end(self) -> None:
        """Tells what is left, if anything is."""
        self._renew()
        left, self._held = self._redact.cut(self._held), ""
        if left:
            self._hear(left)
