"""Finds the JSON object in a model's reply, and mends its punctuation where that can't change the meaning.

A repair guesses, and a guess must never decide a debate. So a repaired object counts only if its words are those of the
reply, in the same order, and if it has no bracket that the reply lacks: only the punctuation may be mended. The
codes in the object show which of its fields its writer wrote (`reply_code`). A truncated object or a key that stands
twice is no reply, and neither is a `!a` read as `a`.
"""

from __future__ import annotations

import json
import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import accumulate, islice
from typing import Any, NamedTuple

from debate_orchestrator.core.private_text import closes_private, without_private
from debate_orchestrator.prompting.reply_code import ReplyCode, holds_code
from debate_orchestrator.util.data import strict_json
from debate_orchestrator.util.errors import short_repr

MAX_REPAIRED_LENGTH = 8_000
"""Characters of an object that is repaired; a longer one must be JSON as it stands."""
MAX_REPAIRED_TOGETHER = 2 * MAX_REPAIRED_LENGTH
"""Characters of the objects with the code of one reply that are repaired."""
_MAX_NESTED, _MAX_BARE_KEYS, _MAX_STRAY_QUOTES = 32, 100, 200
"""Brackets that are open at once, keys without quotes, and quotation marks within texts, of an object to repair."""
_MAX_STARTS = 200
"""Opening braces of a text from which an object is looked for."""
_NEAREST = 5
"""Opening braces before a code from which its object is looked for besides."""
_MAX_PLACES = 20
"""Places of a code whose object is looked for so."""
_MAX_OWN = 8
"""Objects with the code, first drafts among them; and as many more that are repaired."""

_WHOLE_FENCE = re.compile(r"```(?:json)?[ \t]*\r?\n(.*)\r?\n```", re.DOTALL)
_ESCAPED_SPACE = re.compile(r"\\[nrtbf]")
_BRACE = re.compile(r"[{}]")
_BRACKET = re.compile(r"[][{}()]")
_BARE_KEY = re.compile(r"[{,]\s{0,20}[^\W\d]\w{0,80}\s{0,20}:")
_BEHIND_BRACE = re.compile(r"\{[^{}]*")
_KEY_END = re.compile(r"""(?<!\w)(\w*)["'”’]?\s{0,20}:""")
_FIRST_KEY = re.compile(r"""\{\s{0,100}["'“”‘’]?(\w{1,80})["'“”‘’]?\s{0,20}(?::|\Z)""")
_NO_WORD = re.compile(r"\W")
_STRAY_QUOTE = re.compile(r"""(?<![\s{[,:\\])["'](?!\s{0,20}[,:\]}])""")
_ESCAPED_SIGN = re.compile(r"""\\(["'/\\])""")
_WORD = re.compile(r"""\w+|[^\w\s"'“”‘’,:{}\[\]]""")
"""A word, or a character that a repair of the punctuation may not drop."""
_AROUND = "text around the JSON object left out"
_FENCED = "code fence left out"
_PRIVATE = "private working left out"
_REPAIRED = "punctuation of the JSON repaired"
_QUOTED_LINE = re.compile(r"^[ \t]{0,9}>.*$", re.MULTILINE)


class OnlyPrivateWorking(ValueError):
    """A reply holds private working and nothing else."""


Found = tuple[Any, list[str]]
"""A JSON value, and one short line for each change that was made to read it."""


def find_object(text: str) -> Found:
    """The JSON object of a reply. A reply that is JSON of another type is returned as that value.

    Raises ValueError with the reason if there is no object, if there are several that differ, or if it can't be
    repaired without a guess; OnlyPrivateWorking if nothing is left beside private working.
    """
    bare = _without_fence(text.strip())
    try:
        value, reason = strict_json(bare), None
        if isinstance(value, dict):
            return value, _changes(text, bare)
    except ValueError as error:
        value, reason = None, error
    public = _public(text, bare)
    for part in _outermost(public):
        # A part that does not stand in the reply was joined by leaving out what stands between tags: no one wrote it.
        if part in text and (read := _strict_or_repaired(part)) is not None:
            rest = public.replace(part, " ")
            if any(other.value not in ({}, read[0]) for other in _strict_objects(rest)) or _has_key(rest, read[0]):
                raise ValueError("it holds JSON objects that differ")
            return read[0], [*_changes(text, part, public), *read[1]]
    if reason is not None:
        raise reason
    return value, []


def _has_key(text: str, value: Mapping[str, Any]) -> bool:
    """Whether a text has a brace with the end of one of the keys of an object behind it, as another such object has,
    which may have faults."""
    ends = {_NO_WORD.split(key)[-1].casefold() for key in value} - {""}  # a key may end in a sign, which is no word
    return any(
        key[1].casefold() in ends for behind in _BEHIND_BRACE.finditer(text) for key in _KEY_END.finditer(behind[0])
    )


def find_with_code(text: str, code: ReplyCode) -> dict[str, Found]:
    """The JSON objects of a reply that hold the code at both ends, by the text that each is written as; empty if there
    are no such objects. Objects in private working do not count. Quoted tags of private working are ignored: see
    `_is_private`.

    Raises ValueError if one of them can't be repaired without a guess; OnlyPrivateWorking if all are in private
    working, or nothing else is in the reply.
    """
    text = text.strip()
    strict = _strict_objects(text, near=code.text)
    own = [part for part in strict if holds_code(part.value, code)]
    rest = text
    for part in own:
        rest = rest[: part.start] + " " * (part.stop - part.start) + rest[part.stop :]
    if len(own) > _MAX_OWN:
        raise ValueError("it holds too many objects with the code")
    found: dict[tuple[int, int], tuple[str, Found]] = {}
    for part in own:  # after the first object that counts, identical ones are harmless; a differing one is an error
        if found or not _is_private(rest[: part.start], rest[part.stop :]):
            found[part.start, part.stop] = text[part.start : part.stop], (part.value, [])
    public = without_private(rest)
    found |= (repaired := _repaired_with_code(rest, public, code))
    begun, _ = min(found, default=(0, 0))
    outside = rest
    for first, last in repaired:
        outside = outside[:first] + " " * (last - first) + outside[last:]
    if found and code.text.casefold() in outside[begun:].casefold():
        raise ValueError("the code stands behind the object that has it, too, as in another object with faults")
    if found and _is_begun_again(outside, max(found)[1], strict, code):
        raise ValueError("behind the object with the code stands the beginning of another one, which has faults")
    if found and _has_another(text, own, [value for _, (value, _) in found.values()], begun):
        raise ValueError("it holds objects with the code that differ, and tags of private working between them")
    left = f"{public}\n{rest[begun:]}" if found else rest
    for text_of_part, _ in repaired.values():
        left = left.replace(text_of_part, " ")
    if (start := _start_with_code(left, code)) is not None:
        ended = code.end_field.casefold() in left[start:].casefold()
        ends_early = f"the object with the code ends before its {code.end_field}"
        raise ValueError(_problem(left[start:]) if ended else ends_early)
    if not found and (own or not public.strip()):
        raise OnlyPrivateWorking("the reply is private working alone")
    return {part: (value, [*_changes(text, part, text), *changes]) for part, (value, changes) in found.values()}


def _is_begun_again(text: str, end: int, whole: Sequence[_Part], code: ReplyCode) -> bool:
    """Whether an object that is not JSON begins behind a place of a text with the field of the code, as the writer's
    own do: what stands before it is a draft then. The `whole` objects without the code are quoted and decide nothing,
    and so is a damaged one that begins with another field or stands on a quoted line."""
    unquoted = _QUOTED_LINE.sub(lambda line: " " * len(line[0]), text)
    begun = (first for first in _FIRST_KEY.finditer(unquoted, end) if first[1].casefold() == code.field.casefold())
    return any(not any(part.start <= first.start() < part.stop for part in whole) for first in begun)


def _has_another(text: str, own: Sequence[_Part], found: Sequence[Any], begun: int) -> bool:
    """Whether an object with the code differs from those that count, of which the first begins at `begun`. One in
    private working that the reply begins with may differ. A tag elsewhere may be a speaker's, and hides no object."""
    first = min((part.start for part in own), default=0)
    opened = not without_private(f"{_QUOTED_LINE.sub('', text[:first])}{{}}").strip()
    others = [part.value for part in own if part.start > begun or not opened]
    return any(value != other for value in found for other in others)


def _start_with_code(text: str, code: ReplyCode) -> int | None:
    """Where an object with the code begins in a text; None if none does. The code is looked for first: a pattern with
    it would be compiled for every turn."""
    if code.text.casefold() not in text.casefold():
        return None
    begun = re.search(rf"\{{[^{{}}]*{code.field}[^{{}}\w]*{code.text}", text, re.IGNORECASE)
    return begun.start() if begun else None


def _repaired_with_code(rest: str, public: str, code: ReplyCode) -> dict[tuple[int, int], tuple[str, Found]]:
    """The objects with the code that are JSON once their punctuation is repaired: the place of each, to its text and
    its values. `public` is the `rest` of a reply without private working. A text that is in `public` but not in `rest`
    was joined from two parts when the working between them was left out. Its writer wrote no such object, so it is
    skipped."""
    parts = dict.fromkeys((*_balanced(rest), *_outermost(rest), *_outermost(public)))
    coded = [part for part in parts if part.casefold().count(code.text.casefold()) > 1][:_MAX_OWN]
    found: dict[tuple[int, int], tuple[str, Found]] = {}
    left = MAX_REPAIRED_TOGETHER
    for part in coded:
        at = rest.find(part)
        if at < 0 or len(part) > min(left, MAX_REPAIRED_LENGTH) or _is_private(rest[:at], rest[at + len(part) :]):
            continue
        left -= len(part)
        read = _strict_or_repaired(part)
        if read is not None and holds_code(read[0], code):
            found[at, at + len(part)] = (part, read)
    return found


def _is_private(before: str, after: str) -> bool:
    """Whether what stands between two texts is private working: a tag behind it closes working that was open there,
    or the reply begins with working that is never closed. Tags on quoted lines are a speaker's."""
    before, after = (_QUOTED_LINE.sub("", part) for part in (before, after))
    return closes_private(after) or not without_private(f"{before}{{}}").strip()


def _public(text: str, bare: str) -> str:
    """A reply without private working, unless it is in the braces of one object."""
    public = bare if bare.startswith("{") and bare.endswith("}") else without_private(text.strip())
    if text.strip() and not _without_fence(public):
        raise OnlyPrivateWorking("the reply is private working alone")
    return public


def _changes(text: str, part: str, public: str = "") -> list[str]:
    """A line for each piece that was left out around a part of a text. `public` is the text without private working."""
    whole = text.strip()
    bare = _without_fence(whole)
    if part == bare:
        return [] if bare == whole else [_FENCED]
    changes = [_PRIVATE] if public not in (bare, whole) else []
    return changes + ([_AROUND] if part != _without_fence(public) else [])


def _without_fence(text: str) -> str:
    """What is inside the code fence around a text, or the text itself if there is none."""
    fenced = _WHOLE_FENCE.fullmatch(text)
    return fenced[1].strip() if fenced else text


def _outermost(text: str) -> list[str]:
    """The parts of a text that may be its object: what its only code fence holds, then all between the outer braces."""
    pieces = text.split("```")  # in turn outside and inside of a fence
    fenced = [inside for inside in pieces[1:-1:2] if "{" in inside]
    parts = [*fenced, text] if len(fenced) == 1 else [text]
    return [part[part.find("{") : part.rfind("}") + 1] for part in parts if "{" in part and "}" in part]


def _balanced(text: str) -> list[str]:
    """The longest parts of a text between braces that belong together, whatever quotation marks say."""
    opened, spans = list[int](), list[tuple[int, int]]()
    for brace in _BRACE.finditer(text):
        if brace[0] == "{":
            opened.append(brace.start())
        elif opened:
            start = opened.pop()
            while spans and spans[-1][0] > start:
                spans.pop()
            spans.append((start, brace.end()))
    return [text[start:end] for start, end in spans]


def _strict_or_repaired(text: str) -> tuple[dict[str, Any], list[str]] | None:
    try:
        value = strict_json(text)
        return (value, []) if isinstance(value, dict) else None
    except ValueError:
        repaired = _repaired(text) if _is_repairable(text) else None
        return None if repaired is None else (repaired, [_REPAIRED])


def _problem(text: str) -> str:
    """What is wrong with a text that begins with the object with the code and has its end."""
    part = text[: text.rfind("}") + 1] or text
    twice = list[str]()

    def note_twice(pairs: list[tuple[str, Any]]) -> None:
        twice.extend(key for key, times in Counter(key for key, _ in pairs).items() if times > 1)

    try:
        json.JSONDecoder(object_pairs_hook=note_twice).raw_decode(part)
        if twice:
            return f"the key {short_repr(twice[0])} is written twice in one object"
    except (ValueError, RecursionError):
        pass
    return "a key of it stands twice, a bracket is wrong, or a text holds quotation marks that are not escaped"


def _is_repairable(text: str) -> bool:
    """Whether a repair takes little work: it takes the square of a text that is long, deep, or made of bare words and
    quotation marks."""
    if len(text) > MAX_REPAIRED_LENGTH:
        return False
    steps = (1 if bracket in "[{(" else -1 for bracket in _BRACKET.findall(text))
    nested = accumulate(steps, lambda before, step: max(0, before + step), initial=0)
    return (
        max(nested) <= _MAX_NESTED
        and len(_BARE_KEY.findall(text)) <= _MAX_BARE_KEYS
        and len(_STRAY_QUOTE.findall(text)) <= _MAX_STRAY_QUOTES
    )


def _repaired(text: str) -> dict[str, Any] | None:
    """The object that a text is after a repair of its punctuation; None if more would have to change."""
    from json_repair import repair_json

    try:
        value = repair_json(text, return_objects=True, skip_json_loads=True, strict=True)
        written = json.dumps(value, ensure_ascii=False)
        if not isinstance(value, dict) or any(text.count(bracket) != written.count(bracket) for bracket in "{}[]"):
            return None
        return dict(strict_json(written)) if _words(text) == _words(written) else None
    except Exception:  # the text is hostile and the library no validator: whatever it raises, there is no object
        return None


def _words(text: str) -> list[str]:
    """The words and signs of a JSON text, without regard to case and to the punctuation of JSON."""
    plain = _ESCAPED_SIGN.sub(r"\1", _ESCAPED_SPACE.sub(" ", text)).casefold()
    return ["null" if word == "none" else word for word in _WORD.findall(plain)]


class _Part(NamedTuple):
    """An object in a text that is JSON as it stands."""

    start: int
    stop: int
    value: dict[str, Any]


def _strict_objects(text: str, near: str = "") -> list[_Part]:
    """The objects in a text that are JSON as they stand, and not part of another. They begin at the first braces, or at
    those before one of the first places of a text that they are looked for `near`."""
    found: list[_Part] = []
    decoder, end = json.JSONDecoder(), 0
    braces = [match.start() for match in re.finditer(r"\{", text)]
    starts = set(braces[:_MAX_STARTS])
    places = re.finditer(re.escape(near), text, re.IGNORECASE) if near and len(braces) > len(starts) else ()
    for place in islice(places, _MAX_PLACES):
        last = bisect_left(braces, place.start())
        starts.update(braces[max(0, last - _NEAREST) : last])
    for start in sorted(starts):
        if start < end:
            continue
        try:
            _, stop = decoder.raw_decode(text, start)
            found.append(_Part(start, stop, strict_json(text[start:stop])))
            end = stop
        except (ValueError, RecursionError):
            continue
    return found
