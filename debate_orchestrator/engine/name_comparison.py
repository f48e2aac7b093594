"""Compares names as a reader sees them: without markup, and with letters and signs that look alike made the same."""

from __future__ import annotations

import html
import re
import unicodedata

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
_THIN_SPACE = re.compile("[\u2005-\u200a\u202f\u205f]")
"""A space that is too thin to part words."""
_WORD = re.compile(r"(?<!\S)\S*[A-Za-z]\S*")
"""A word with a plain letter."""
_ANY_LETTER = "\ua4d0"
"""Stands for any letter: one of Lisu, which looks like a Latin one itself."""


def visible_lines(line: str) -> list[str]:
    """The lines that a reader sees of one line, without markup."""
    lines = _TAG.sub("\n", _INLINE_MARKUP.sub("", line)).split("\n")
    return [normalize_unicode(INVISIBLE.sub("", _THIN_SPACE.sub("", html.unescape(text)))) for text in lines]


def words_of(text: str) -> str:
    """The words that a reader sees of a text, and the ends of its sentences, as they are compared."""
    visible = " ".join(visible_lines(text)).casefold().translate(LOOK_ALIKES)
    return " ".join(_WORDS.findall(visible))


def folded(name: str) -> str:
    """A name as it is compared with the names of speakers: without accents, and signs that look alike made the same."""
    letters = (char for char in normalize_unicode(name, "NFD") if not unicodedata.combining(char))
    plain = _WORD.sub(lambda word: "".join(map(_as_drawn, word[0])), "".join(letters))
    return words_of(plain).translate(_ALIKE).replace("rn", "m").rstrip(" .")


def _as_drawn(char: str) -> str:
    """A character of a word with plain letters. A letter, digit or sign that is none of them may look like any: no
    honest word has one (`Bo\u042c`). In a word of one alphabet alone all of them stay."""
    return char if char.isascii() or unicodedata.category(char)[0] not in "LNS" else _ANY_LETTER


def look_alike(name: str, other: str) -> bool:
    """Whether two names, as `folded`, look alike."""
    pairs = zip(name, other, strict=False)
    return len(name) == len(other) and all(first == second or _ANY_LETTER in (first, second) for first, second in pairs)
