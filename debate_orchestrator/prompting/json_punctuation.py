"""Repairs the punctuation of a JSON object where that can't change what its writer meant.

A writer may copy a text without escaping its quotation marks, and that text may look like JSON. So a repair drops no
word and no bracket, and only the mark that is first in the object begins and ends texts. What it repairs: a comma
that is missing at the end of a line or is too many, single quotation marks, keys without marks, Python's None, True and
False, and within texts line breaks, backslashes and quotation marks in places where no text may end. No text may
hold what could be a key of the object: it may have swallowed one that the writer wrote.
"""

from __future__ import annotations

import json
import re
from typing import Literal, NamedTuple, cast

_CONSTANTS = {"None": "null", "True": "true", "False": "false", "null": "null", "true": "true", "false": "false"}
_SPACE = re.compile(r"\s*+")
_TOKEN = re.compile(
    r"(?P<sign>[{}\[\]:,])|(?P<word>[^\W\d]\w*+)"
    r"|(?P<number>-?\d++(?:\.\d++)?+(?:[eE][+-]?\d++)?+)(?![\w.])"
)
_TO_ESCAPE = re.compile(r"""(?P<escaped>\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))|\\'|[\\"\x00-\x1f]""")
_WORD_OR_COLON = re.compile(r"""(?P<word>[^\W_]++)|\\["']\s*+:|(?P<colon>:)""")
"""A word, or a colon. One after an escaped quotation mark belongs to a quotation: no key ends with such a mark."""
_IN_NO_KEY = re.compile(r"""[\\"'{}\[\]:,\n]""")
_KEY_LENGTH = 100
"""Characters that a key has at most."""
_WORDS_IN_KEY = 8


class _Token(NamedTuple):
    kind: Literal["sign", "word", "number", "text", ""]
    text: str
    """The token as it is written; of a text, the part between its marks."""
    after_break: bool = False
    """Whether a line ends between it and the token before."""

    def is_sign(self, signs: str) -> bool:
        return self.kind == "sign" and self.text in signs


_NOTHING = _Token("", "")


def repaired_json(text: str) -> str | None:
    """The repaired object as JSON; None if more is at fault. Raises ValueError if a text may have swallowed a key."""
    mark = re.search("[\"']", text)
    tokens = _tokens(text, mark[0]) if mark else None
    if mark is None or tokens is None:
        return None
    pairs = list(zip(tokens, [*tokens[1:], _NOTHING], strict=True))
    keys = {plain_key(token.text) for token, after in pairs if after.is_sign(":")}
    for token, after in pairs:
        if token.kind == "text" and not after.is_sign(":") and (key := _key_within(token.text, mark[0], keys)):
            raise ValueError(f"a text with quotation marks holds the key {key!r}")
    return _joined(tokens)


def _tokens(text: str, mark: str) -> list[_Token] | None:
    """The tokens of an object whose texts are between such marks; None if something else is in it."""
    tokens, index = list[_Token](), 0
    while (start := _after_space(text, index)) < len(text):
        after_break = "\n" in text[index:start]
        if text[start] == mark:
            end = _end_of_text(text, start + 1, mark)
            if end is None:
                return None
            tokens.append(_Token("text", text[start + 1 : end], after_break))
            index = end + 1
        elif token := _TOKEN.match(text, start):
            kind = cast(Literal["sign", "word", "number"], token.lastgroup)
            tokens.append(_Token(kind, token[0], after_break))
            index = token.end()
        else:
            return None
    return tokens


def _after_space(text: str, index: int) -> int:
    space = _SPACE.match(text, index)
    return space.end() if space else index


def _end_of_text(text: str, index: int, mark: str) -> int | None:
    """The place of the mark that ends this text: the first before punctuation, or before a line with a key."""
    key = re.compile(rf"{mark}[^{mark}\\\n]{{1,{_KEY_LENGTH}}}{mark}\s*+:")
    for place in re.compile(rf"\\.|{mark}", re.DOTALL).finditer(text, index):
        if place[0] == mark:
            after = _after_space(text, place.end())
            if text[after : after + 1] in set(",:]}") or ("\n" in text[place.end() : after] and key.match(text, after)):
                return place.start()
    return None


def _key_within(text: str, mark: str, keys: set[str]) -> str:
    """The first of `keys` that a text has before a colon, as JSON does; empty if there is none. A text that begins with
    a letter or a digit and has no quotation mark has not swallowed a key, since JSON continues after a text with a
    sign."""
    if text[:1].isalnum() and mark not in text:
        return ""
    words = list[str]()
    for part in _WORD_OR_COLON.finditer(text):
        if part["word"]:
            words = [*words[1 - _WORDS_IN_KEY :], part["word"].casefold()]
        elif part["colon"]:
            ends = ("".join(words[n:]) for n in range(len(words)))
            if key := next((end for end in ends if end in keys), ""):
                return key
    return ""


def plain_key(key: str) -> str:
    """A key in lower case, without spaces and punctuation."""
    return re.sub(r"[\W_]+", "", key).casefold()


def _joined(tokens: list[_Token]) -> str | None:
    """The tokens as JSON, commas corrected; None for a stray word, or a key with a mark or punctuation in it."""
    parts = list[str]()
    for before, token, after in zip([_NOTHING, *tokens], tokens, [*tokens[1:], _NOTHING], strict=False):
        is_key = after.is_sign(":") and token.kind in ("text", "word")
        if is_key and _IN_NO_KEY.search(token.text):
            return None
        if is_key and token.after_break and not before.is_sign("{[,:"):
            parts.append(",")
        if token.kind == "text":
            parts.append(f'"{_TO_ESCAPE.sub(_escaped, token.text)}"')
        elif token.kind == "word":
            json_word = json.dumps(token.text) if is_key else _CONSTANTS.get(token.text)
            if json_word is None:
                return None
            parts.append(json_word)
        elif not (token.is_sign(",") and after.is_sign("]}")):
            parts.append(token.text)
    return " ".join(parts)


def _escaped(match: re.Match[str]) -> str:
    """The JSON of an escape, or of a character that has to be escaped."""
    return match[0] if match["escaped"] else "'" if match[0] == "\\'" else json.dumps(match[0])[1:-1]
