"""Secrets of the environment, taken out of text before it is shown or kept.

What counts as a secret is the value of a variable that a key for a model is read from, every value in a
`..._CUSTOM_HEADERS`, and the password in any address, unless it is an ordinary word, a short number or a path. In a
variable whose name ends like a key's (`..._KEY`, `..._TOKEN`, `..._SECRET`, `..._PASSWORD` and the like) a value counts
that has the shape of a key: 16 characters or more that are no words, numbers and dates, or the beginning of a known
service's keys and no words behind it. Other variables do not count. A value of several lines or words is also looked
for by each of them. A secret is found as it stands and as it is usually written: with other white space or none,
escaped (see `decoding`), in hexadecimal, and in base64, also as part of something longer (`Basic ...`). A key for a
model may look like a path.
In the address of a server of models, what looks like a secret in the path or the query counts too.
"""

from __future__ import annotations

import base64
import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from functools import cached_property, lru_cache
from operator import is_
from typing import Any, TypeVar
from urllib.parse import unquote

from debate_orchestrator.util.decoding import MIN_LENGTH, WORK, FragmentSearch, Search, clean, merged

KEY = "[key]"
"""What stands in place of a secret."""
_MIN_KEY_LENGTH = 4
_MAX_HELD = 100_000
"""Characters held back from which on those that can't be seen are dropped: no text is laid out with so many."""
_CREDIT, _EARNED = 2_000_000, 20
"""The work (see `decoding.WORK`) that a stream may take at once, and what each of its characters adds to that: 0.3 s,
and 3 s for a million characters."""
_SHORT = 100
"""Characters of a text up to which it is likely to come again, such as the name of a model."""
_WORD = 16
"""Characters from which on even letters alone, or digits alone, are no ordinary text."""
_NAME = re.compile(
    r"(?:(?:\A|_)(?:PAT|JWT|AUTH)|_PWD|KEY|TOKEN|SECRET|SECRET_KEY_BASE|PASSWORD|PASSWD|PASSPHRASE|CREDENTIAL|COOKIE)"
    r"S?(?:_?\d+)?\Z",
    re.I,
)
"""Names of variables that may hold a secret. A few words end so too, such as MONKEY: what they hold has to look like a
key."""
_HEADERS = re.compile(r"_CUSTOM_HEADERS\Z", re.I)
_KEYS = re.compile(r"(?:ANTHROPIC|OPENAI|OPENROUTER|OLLAMA)_(?:API_KEY|AUTH_TOKEN)|DEBATE_KEY_\w+")
"""Names of variables that keys for models are read from. They hold before the registry of providers is imported, which
adds those of every other entry (see `add_variables`)."""
_SERVERS = re.compile(r"(?:ANTHROPIC|OPENAI)_BASE_URL|OLLAMA_HOST")
"""Names of variables that hold the address of a server of models, whose path and query may hold a key."""
_PROXY = re.compile(r"_proxy\Z", re.I)
_HOST = re.compile(r"\[|[^/:]*/|[^:]*:\d{0,5}/")
"""How an address goes on that has a host and a path, and no user."""
_BASIC = re.compile(r"\bbasic\s+([\w+/-]+={0,2})", re.I)
_PUBLIC = re.compile(
    r"sk-(?:[a-z]{2,12}(?:\d{2})?-|or-v\d+-){0,2}|gh[oprsu]_|github_pat_|xox[a-z]-|AKIA|AIza|glpat-|hf_"
    r"|sk_live_|npm_|gsk_|xai-|pypi-"
)
"""The beginning that all keys of a service share, as `sk-ant-api03-`: it tells nothing of the rest."""
_BEGINNING = re.compile(rf"(?:{_PUBLIC.pattern}|eyJ)(?=\S{{4}})")
"""The same of a key that is known by it, or of a JWT. Words and names of packages begin so too."""
_KEY_ALONE = re.compile(r"-----BEGIN [^-]+-----\s*\S|AKIA[A-Z2-7]{16}\Z")
"""What only keys begin with: `-----BEGIN PRIVATE KEY-----`, or `AKIA` before 16 letters and digits."""
_TOGETHER = re.compile(r"[A-Za-z0-9]+")
_PART = 6
"""Letters and digits of the shortest part of a value that counts as part of a key. Names have shorter parts that are no
words, as `a1b2c` in `build-x9q`."""
_WORDS = re.compile(r"[A-Z]{0,4}[a-z]*(?:[A-Z][a-z]+)*\d{0,4}[A-Za-z]{0,2}|[A-Z]+\d{0,4}|(?:[a-z]{3,}\d{1,2})+")
"""Letters and digits as they stand together in a name: `releaseNotes`, `v2`, `70B`, `node12rack07`."""
_NUMBER = re.compile(r"\d+(?:T\d+Z?)?", re.I)
"""A number, a date, or a date with its time."""
_BETWEEN = re.compile(r"""[\s,;"'{}]+|\\[nr]""")
"""What stands between the words of a value, of JSON too."""
_HEX = re.compile(r"(?=[^a-f]*[a-f])(?=\D*\d)[0-9a-f]{16,}|[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.I)
_SEPARATOR = re.compile(r"[-_./:\\@\s]")
_KINDS, _SYMBOLS = ("[a-z]", "[A-Z]", "[0-9]"), "[!#$%^&*+=~?]"
"""Characters of a password: three kinds that names have too, and those that are in few names."""
_DIGIT_FIRST = re.compile("[0-9][A-Za-z]")
"""What few names have."""
_OF_VERSIONS = {"+", "~"}
"""Of these, the ones that versions have: `1.4.2-rc1+Build5`."""
_LONG, _DIFFERENT = 24, 3
"""Characters from which on a password may lack one of the kinds, and how many different symbols it then has at least: a
version or a name of a file has one or two."""
_ORDINARY = re.compile(r"[A-Z]?[a-z]+|[A-Z]+|[\d.,:_-]+")
_PLAIN = re.compile(r"[A-Z]?[a-z]*|[A-Z]+|\d{1,4}")
"""A word, or a number as short as a year, in a part of a secret."""
_PATH = re.compile(r"(?:~|\.{1,2})?/")
_RANDOM = re.compile(r"(?<![^/])(?=[^/]*\d)(?=[^/]*[a-z])(?=[^/]*[A-Z])[^/]{20}")
"""A part that no path has, but a key in base64, which may begin with a slash."""
_Found = TypeVar("_Found")
_failures: list[str] = []
"""The kinds of the errors with which searches failed."""
_learned: set[str] = set()
_key_variables: set[str] = set()
_address_variables: set[str] = set()


def add_secret(value: str) -> None:
    """Takes note of a secret that is not in the environment, such as a token from a profile."""
    _learned.update(_told(value))


@lru_cache(maxsize=64)  # each request tells its credentials again
def _told(value: str) -> frozenset[str]:
    return frozenset(_counting(value))


def add_variables(keys: Iterable[str], addresses: Iterable[str] = ()) -> None:
    """Registers environment variables that keys for models, and addresses of their servers, are read from."""
    _key_variables.update(keys)
    _address_variables.update(addresses)
    _of_environment.cache_clear()
    _latest.clear()


def redact(text: str) -> str:
    """`text` with `[key]` in place of every secret."""
    return redactor()(text)


def truncate(text: str, max_length: int) -> str:
    """The first `max_length` characters of a text, redacted. What may be the beginning of a secret at the cut is left
    out: it would not be recognised any more."""
    return redact(text) if len(text) <= max_length else redactor().split(text[:max_length])[0]


def redact_fragments(text: str) -> str:
    """`redact`, which also hides parts of secrets, from `MIN_LENGTH` characters on. For text of libraries and servers:
    either may have cut what it quotes, so that a key is no longer whole. Parts of less than `_WORD` characters that may
    be ordinary words stay, and so does the beginning that all keys of a service share."""
    return redactor().without_fragments(text)


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


def redact_values(value: Any, redact: Redactor | None = None) -> Any:
    """Plain data with `[key]` in place of every secret in its texts; the same object where there is none."""
    redact = redact or redactor()
    return map_leaves(value, lambda leaf: redact(leaf) if isinstance(leaf, str) else leaf)


_latest: list[tuple[dict[Any, Any], set[str], int, Redactor]] = []
"""The environment, the learned secrets, their number and the redactor at the latest request for one."""


def redactor() -> Redactor:
    """What takes out the secrets that there are now. Work that goes over many texts gets one for all of them."""
    # CPython's `os.environ` decodes every variable each time that it is read, which took a tenth of a call's time. What
    # it holds is bytes.
    held = getattr(os.environ, "_data", os.environ)
    for known, learned, count, made in _latest:
        if learned is _learned and count == len(_learned) and known == held:
            return made
    made = _redactor_of(_of_environment(tuple(held.items())) | _learned)
    _latest[:] = [(dict(held), _learned, len(_learned), made)]
    return made


@lru_cache(maxsize=4)
def _of_environment(variables: tuple[tuple[str | bytes, str | bytes], ...]) -> frozenset[str]:
    # A line is redacted for each that is printed, and the environment hardly ever changes between two.
    decoded = [(os.fsdecode(name), os.fsdecode(value)) for name, value in variables]
    return frozenset(secret for name, value in decoded for secret in secrets(name, value))


def secrets(name: str, value: str) -> Iterator[str]:
    """The secrets that an environment variable holds."""
    if "://" in value or _PROXY.search(name):
        yield from _passwords(value)
    if _SERVERS.fullmatch(name) or name in _address_variables:
        words = re.split(r"[/?&=#;]", value.partition("://")[2])[1:]
        yield from filter(_looks_secret, {*words, *map(unquote, words)})
    if _KEYS.fullmatch(name) or name in _key_variables:
        yield from _counting(value, paths=False)
        if not _ordinary(key := value.strip(), _MIN_KEY_LENGTH, paths=False):
            yield key
    elif _HEADERS.search(name):
        for line in value.splitlines():
            header = line.partition(":")[2]
            yield from _counting(header)
            yield from _counting(re.sub("[=:]", " ", header))
    elif _NAME.search(name):
        yield from filter(_looks_secret, {value.strip(), *_BETWEEN.split(value)})


def _passwords(value: str) -> Iterator[str]:
    """The passwords in addresses, as they are written there and as they are sent, and users that look like a secret.
    A password may hold a `/`, `:` or `@`."""
    for address in re.split(r"://|\s", value):
        for end in {address.find("@", 0, (address + "/").find("/")), address.rfind("@")}:
            user, colon, password = address[: max(end, 0)].partition(":")
            if colon and not _HOST.match(address):
                for written in {password, unquote(password, errors="surrogateescape")}:
                    yield from _counting(written)
            if "/" not in user:
                yield from filter(_looks_secret, {user, unquote(user)})


@lru_cache(maxsize=1024)
def _looks_secret(value: str) -> bool:
    """Whether a value has the shape of a key: it begins like one of a known service and does not go on like a name; or
    it has 16 characters or more, and is hexadecimal, a UUID or a strong password, or as much of it is like no name."""
    if _KEY_ALONE.match(value):
        return True
    known = _BEGINNING.match(value) if len(value) >= MIN_LENGTH else None
    if known and not all(map(_WORDS.fullmatch, _SEPARATOR.split(value[known.end() :]))):
        return True
    if len(value) < _WORD or " " in value or _is_path(value):
        return False
    odd = [part for part in _TOGETHER.findall(value) if not _WORDS.fullmatch(part) and not _NUMBER.fullmatch(part)]
    if _HEX.fullmatch(value) or _is_password(value, wordless=bool(odd or _DIGIT_FIRST.search(value))):
        return True
    return sum(len(part) for part in odd if len(part) >= _PART) >= _WORD


def _is_password(value: str, *, wordless: bool) -> bool:
    """Whether a value is as mixed as a password that a program made, and neither several words, an address nor a
    version. `wordless` says whether anything in it is no word and no number."""
    if "://" in value or len(value.split()) > 1:
        return False
    kinds, symbols = sum(re.search(kind, value) is not None for kind in _KINDS), {*re.findall(_SYMBOLS, value)}
    if kinds == len(_KINDS):
        return bool(symbols if wordless else symbols - _OF_VERSIONS)
    return kinds == 2 and wordless and len(value) >= _LONG and len(symbols) >= _DIFFERENT


def _counting(value: str, *, paths: bool = True) -> Iterator[str]:
    """A value and each of its words, unless they are ordinary text; and the same of a password that it encodes: of
    `Basic dTpzZWNyZXQ=`, which encodes `u:secret`, also `secret` if that is not ordinary."""
    for word in {value.strip(), *re.split(r"[\s,;]+", value)}:
        if not _ordinary(word, paths=paths):
            yield word
    for encoded in _BASIC.findall(value):
        with suppress(ValueError):
            login = base64.b64decode(f"{encoded}==", b"-_" if set("-_") & set(encoded) else None)
            yield from _counting(login.decode("utf-8", "surrogateescape").partition(":")[2])


def _ordinary(value: str, shortest: int = MIN_LENGTH, *, paths: bool = True) -> bool:
    if len(value) < shortest or not any(map(str.isalnum, value)):
        return True
    if len(value) < _WORD and _ORDINARY.fullmatch(value):
        return True
    return paths and _is_path(value)


def _is_path(value: str) -> bool:
    return bool(_PATH.match(value)) and not _RANDOM.search(value)


@lru_cache(maxsize=16)
def _redactor_of(values: frozenset[str]) -> Redactor:
    return Redactor(spelling for value in values for spelling in spellings(value))


def spellings(secret: str) -> set[str]:
    """Every way in which a secret is looked for, besides escapes."""
    words = clean(secret, " ").split()
    written = {" ".join(words), "".join(words)}
    for text in (secret, *written):
        raw = text.encode("utf-8", "surrogateescape")
        written |= {raw.hex(), raw.hex().upper(), *_base64(raw)}
    written.add("+".join(words))  # as forms on the web are sent
    return {secret, *(text for text in written if len(text) >= MIN_LENGTH)}


def _base64(raw: bytes) -> Iterator[str]:
    """The base64 of a secret at each of the three places where it may begin in encoded data: only the characters that
    depend on the secret alone."""
    for before in range(3):
        whole = base64.b64encode(b"\0" * before + raw).decode()
        inner = whole[-(-8 * before // 6) : 8 * (before + len(raw)) // 6]
        yield inner
        yield inner.translate({ord("+"): "-", ord("/"): "_"})


def _parts(spelling: str, length: int) -> Iterator[str]:
    """The parts of a spelling of so many characters, behind the beginning that all keys of a service share."""
    public = _PUBLIC.match(spelling)
    starts = range(public.end() if public else 0, len(spelling) - length + 1)
    return (spelling[at : at + length] for at in starts)


def _is_plain(part: str) -> bool:
    """Whether a part of a secret may be of ordinary words: letters at random can't be told from them."""
    return all(_PLAIN.fullmatch(word) for word in _SEPARATOR.split(part))


def _found(searched: Iterable[Iterable[_Found]], everything: _Found) -> list[_Found]:
    """What was found by all searches. If one fails, which is an error in this program, that is `everything`: the text
    is hidden whole, and `redaction_failure` says so from then on."""
    try:
        return [found for by_one in searched for found in by_one]
    except Exception as error:
        _failures.append(type(error).__name__)
        return [everything]


def redaction_failure() -> str:
    """The kind of the first error with which a search for secrets failed in this process; empty while none has."""
    return _failures[0] if _failures else ""


class Redactor:
    """Takes certain strings out of texts, whatever hidden characters are in them and however they are escaped. Long
    ones are found with white space in them too, as where a line was wrapped."""

    def __init__(self, spellings: Iterable[str]):
        bare_of = {spelling: "".join(clean(spelling, "").split()) for spelling in spellings}
        long = {bare for bare in bare_of.values() if len(bare) >= _WORD}
        self._bare = bare_of.values()
        self._searches = (
            Search("", long),
            Search(" ", {spelling for spelling, bare in bare_of.items() if bare not in long}),
        )
        # Every brief of a debate holds the schema and all earlier speeches again.
        self._redacted = lru_cache(maxsize=4096)(self.once)
        self._cut_short = lru_cache(maxsize=1024)(self._cut)

    def __call__(self, text: str) -> str:
        return self._redacted(text)

    def once(self, text: str) -> str:
        """The same for a text that does not come again, such as a turn's own task: it is not kept."""
        return self._replaced(text, len(text))[0]

    @cached_property
    def _fragments(self) -> tuple[FragmentSearch, FragmentSearch]:
        short = {part for bare in self._bare for part in _parts(bare, MIN_LENGTH) if not _is_plain(part)}
        # A key may be of letters alone. So many of them are no ordinary text, in whatever words they are.
        long = {part for bare in self._bare for part in _parts(bare, _WORD)}
        return FragmentSearch(short), FragmentSearch(long, _WORD)

    def without_fragments(self, text: str) -> str:
        """The text without secrets and parts of them."""
        return self._replaced(text, len(text), *self._fragments)[0]

    def _replaced(self, text: str, stop: int, *more: FragmentSearch) -> tuple[str, int]:
        """The text up to a place, redacted, and that place, which is an earlier one where a secret goes beyond it."""
        pieces, end = list[str](), 0
        searches: tuple[Search | FragmentSearch, ...] = (*self._searches, *more)
        for first, last in merged(_found((search.spans(text) for search in searches), (0, len(text)))):
            if last > stop:
                stop = min(stop, first)
                break
            pieces += [text[end:first], KEY]
            end = last
        return "".join(pieces) + text[end:stop], stop

    def begun(self, text: str, *, half: bool = False) -> int:
        """The place in a text, if not its end, from which on it may be the beginning of something to be taken out, or
        is at least the larger `half` of it."""
        return min(_found((search.begun(text, half) for search in self._searches), 0), default=len(text))

    def split(self, text: str) -> tuple[str, str]:
        """The redacted beginning of a text, and its end as it is, which may become a secret as the text goes on."""
        redacted, at = self._replaced(text, self.begun(text))
        return redacted, text[at:]

    def cut(self, text: str) -> str:
        """`text`, of which the end is missing: what may be the larger half of a secret at its end is one."""
        return self._cut_short(text) if len(text) <= _SHORT else self._cut(text)

    def _cut(self, text: str) -> str:
        text = self(text)
        at = self.begun(text, half=True)
        return text[:at] + KEY if at < len(text) else text


class StreamRedactor:
    """Redacts a text that comes in pieces. Text that may be the beginning of a secret is held back until that is
    known, and so are pieces that come while the search has taken more work than the text so far allows. With `withheld`
    all is held back until the end, and for each piece an empty one is passed on."""

    def __init__(self, on_text: Callable[[str], None], *, withheld: bool = False):
        self._on_text, self._enough, self._withheld = on_text, 0, withheld
        self._credit, self._unseen = _CREDIT, 0
        self._held, self._length = list[str](), 0
        """The pieces that are held back, and their characters. Joined when they are looked at: adding to a text copies
        it each time."""
        self._renew()

    def _renew(self) -> None:
        self._learned, self._redact = len(_learned), redactor()

    def take(self, piece: str) -> None:
        """Takes the next piece, and passes on what is certainly no secret; an empty text if nothing is."""
        if len(_learned) != self._learned:  # with the request that this answers
            self._renew()
        if self._withheld:
            self._held.append(piece)
            self._on_text("")
            return
        self._credit += _EARNED * len(piece)
        self._held.append(piece)  # before all that may fail: nothing that came is lost
        # Nothing that can't be seen changes what is held, and of very much of it one space says as much.
        visible = clean(piece, "")
        self._unseen = 0 if visible else self._unseen + len(piece)
        if self._unseen > _MAX_HELD:
            self._held[-1] = piece = "" if self._held[-2:-1] == [" "] else clean(piece, " ")
        if not piece:
            self._held.pop()
        self._length += len(piece)
        sure = ""
        # It is looked at again only when it has doubled, so that the time for all pieces grows with their length.
        if self._length >= self._enough and self._credit > 0 and visible:
            before = WORK.done
            sure, left = self._redact.split("".join(self._held))
            self._credit -= WORK.done - before
            self._held, self._length = [left], len(left)
            self._enough = 2 * self._length
        self._on_text(sure)

    def end(self) -> None:
        """Tells what is left, if anything is."""
        self._renew()
        left, self._held, self._length = self._redact.cut("".join(self._held)), [], 0
        if left:
            self._on_text(left)
