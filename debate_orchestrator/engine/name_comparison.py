"""Compares names as a reader sees them: without markup, and with letters and signs that look alike made the same."""

from __future__ import annotations

import html
import re
import unicodedata
from functools import lru_cache

from debate_orchestrator.util.sanitize import INVISIBLE, LOOK_ALIKES, normalize_unicode

_INLINE_MARKUP = re.compile(
    r"</?(?:a|abbr|b|big|cite|code|em|font|i|ins|kbd|label|mark|q|s|small|span|strong|sub|sup|tt|u|var)\b"
    r"""(?:"[^"<]*+"|'[^'<]*+'|[^<>"'])*+>"""
    r"|<!--[^<>]*-->|\]\([^()]*\)|\]\[[^\[\]]*\]|[*_`~\\]",
    re.IGNORECASE,
)
"""Tags, addresses of links, and invisible characters that separate no words."""
_TAG = re.compile(r"""<(?:"[^"<]*+"|'[^'<]*+'|[^<>"'])*+>|<[^<>]*>""")
_WORDS = re.compile(r"[^\W_]+|[.!?]")
_ALIKE = str.maketrans("ᴀʙᴄᴅᴇꜰɢʜɪᴊᴋʟᴍɴᴏᴘʀꜱᴛᴜᴠᴡʏᴢɡɩօոսհյ01i|2345789", "abcdefghljklmnoprstuvwyzglonuhjolllzeastbg")
"""Small capitals, letters of Armenian and digits, and the letters that they look like; `i` and `l` are one."""
_SHAPED_LIKE_LATIN = frozenset({"LISU", "CHEROKEE", "COPTIC", "DESERET", "OSAGE", "CANADIAN"})
"""Scripts, by the first word of the names of their letters, of which many letters look like Latin ones."""
_COMPARED = frozenset({"LATIN", "CYRILLIC", "GREEK", "ARMENIAN", "DIGIT", ""})
"""Scripts whose letters are compared by tables of those that look alike."""
_THIN_SPACE = re.compile("[\u2005-\u200a\u202f\u205f]")
"""A space that is too thin to part words."""
_SHAPES = "\u2200-\u2235\u2237-\u22ff\u2336-\u237a\u25a0-\u25ff\u3007"
"""Signs of mathematics, APL and geometry, which look like letters in a word (`A\u2223ice`)."""
_WORD = re.compile(rf"[\w\u0300-\u036f{_SHAPES}]+")
_OF_ANOTHER_ALPHABET = re.compile(
    "(?![\ua789\ua78a])[\u01c0-\u01c3\u0250-\u02af\u0370-\u058f\u1c80-\u1c8f\u1d00-\u1dbf\u1f00-\u1fff\u2c60-\u2c7f"
    f"\ua640-\ua69f\ua720-\ua7ff\uab30-\uab6f{_SHAPES}]"
)
"""A letter of Greek, Cyrillic, Armenian or phonetics, or one of `_SHAPES`."""
_ANY_LETTER = "\ua4d0"
"""What is compared as if it looked like any letter: one of Lisu (see `_SHAPED_LIKE_LATIN`)."""


def visible_lines(line: str) -> list[str]:
    """The lines that a reader sees of one line: without markup, in lower case, look-alike ones made the same."""
    lines = _TAG.sub("\n", _INLINE_MARKUP.sub("", line)).split("\n")
    return [
        normalize_unicode(INVISIBLE.sub("", html.unescape(text))).casefold().translate(LOOK_ALIKES) for text in lines
    ]


def words_of(text: str) -> str:
    """The words that a reader sees of a text, and the ends of its sentences, as they are compared."""
    return joined_words(" ".join(visible_lines(text)))


def joined_words(visible_text: str) -> str:
    """The same of what `visible_lines` gave."""
    return " ".join(_WORDS.findall(visible_text))


def as_drawn(line: str) -> str:
    """A line in which disguises are undone: in a word with Latin letters, a letter of another alphabet or a shape
    matches any letter (`Bo\u042c`), and thin spaces are removed. A word of one alphabet stays."""
    if line.isascii():
        return line
    return _WORD.sub(
        lambda word: _OF_ANOTHER_ALPHABET.sub(_ANY_LETTER, word[0]) if re.search("[A-Za-z]", word[0]) else word[0],
        _THIN_SPACE.sub("", line),
    )


def comparable_name(name: str) -> str:
    """A name as it is compared with the names of speakers: without accents, and signs that look alike made the same."""
    letters = (char for char in normalize_unicode(name, "NFD") if not unicodedata.combining(char))
    return words_of("".join(letters)).translate(_ALIKE).replace("rn", "m").rstrip(" .")


def names_look_alike(name: str, other: str) -> bool:
    """Whether two names of speakers look alike, whatever their spaces."""
    first, second = (
        {comparable_name(form).replace(" ", "") for form in (text, as_drawn(text))} for text in (name, other)
    )
    return any(look_alike(form, other_form) for form in first for other_form in second)


def look_alike(name: str, other: str) -> bool:
    """Whether two names, as `comparable_name` gives them, look alike. Beside Latin letters one of a script that
    is seldom mixed with them may look like any of them (`ꓐob`), and so may all of a name in a script shaped like
    Latin."""
    if name == other or len(name) != len(other) or (name.isascii() and other.isascii()):
        return name == other
    pairs = [pair for pair in zip(name, other, strict=True) if pair != (" ", " ")]
    scripts = {_strange_script(*pair) for pair in pairs if pair[0] != pair[1]}
    is_mixed = any(char == other_char and char.isascii() for char, other_char in pairs)
    return "" not in scripts and (is_mixed or scripts <= _SHAPED_LIKE_LATIN)


@lru_cache(maxsize=4096)
def _strange_script(char: str, other: str) -> str:
    """The script of a letter that may look like the Latin one that it is compared with; empty if there is none."""
    strange = char if other.isascii() else other
    script = unicodedata.name(strange, "").partition(" ")[0]
    may_be = (char + other).isalnum() and char.isascii() != other.isascii()
    return script if may_be and script not in _COMPARED and unicodedata.east_asian_width(strange) not in "WF" else ""
