"""Makes untrusted text safe to show to people and models.

Speech is kept verbatim in the journal and sanitized on its way out: into a prompt, a report, a terminal.
Whatever a text contains, after `sanitize` it moves no cursor, hides nothing and reorders nothing; after
`without_block_marker` it can't close the block it is in.
"""

from __future__ import annotations

import hashlib
import re
import unicodedata
import urllib.parse
from functools import lru_cache
from typing import Literal

# Unicode "Cf" and friends that hide or reorder text: bidi embeddings, overrides and isolates,
# the tags block, interlinear annotation, the byte order mark, soft hyphen, word joiner, spaces.
HIDDEN = (
    "\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180e\u200b\u200e\u200f\u202a-\u202e\u2060-\u206f"
    "\u3164\ufeff\uffa0\ufff0-\ufffb\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e00ff"
    "\U000e01f0-\U000e0fff"
)
# Joiners, and selectors of variants: nothing in plain ASCII needs any, and nowhere are more than two needed in a row.
JOINER = "[\u180b-\u180d\u180f\u200c\u200d\ufe00-\ufe0f\U000e0100-\U000e01ef]"
INVISIBLE = re.compile(f"[{HIDDEN}]|{JOINER}")
"""A character that is not seen."""
INVISIBLE_OR_PLACEHOLDER = re.compile(f"{INVISIBLE.pattern}|[\u2400-\u2421\u2800\ufffc\ufffd\U0001d159]")
"""Characters that a reader passes over in a word, although `str.isprintable` is true of them: a character that is not
seen, what is in place of another (the pictures, U+FFFD, U+FFFC), the Braille blank and the null notehead of music."""
_HIDING = re.compile(f"[{HIDDEN}]++((?=[ \t]*+\n))?")
"""A whole run of characters that hide or reorder text, with a group that matches at the end of a line. Such runs may be
long: each is matched once."""
_FILLERS = str.maketrans(dict.fromkeys("\u115f\u1160\u3164\uffa0", " "))
"""The fillers of Korean, which are drawn as a space."""
_NEEDLESS_JOINERS = re.compile(rf"(?<=[\x00-\x7f]){JOINER}+(?=[\x00-\x7f]|\Z)|(?<={JOINER}{{2}}){JOINER}+")
"""Joiners that change nothing: after plain ASCII unless other text follows, and after two in a row."""
# Unicode never assigns these, and XML forbids U+FFFE and U+FFFF.
NONCHARACTERS = "\ufdd0-\ufdef" + "".join(
    chr(plane + 0xFFFE) + chr(plane + 0xFFFF) for plane in range(0, 0x110000, 0x10000)
)
_CONTROL = re.compile(f"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff{NONCHARACTERS}]")
_BREAKS = re.compile("\r\n?|[\x85\u2028\u2029]")
_PLAIN_MARKS = frozenset(" .,;:!?()[]{}-\u2010\u2011\u2013\u2014%&/\\*#@_`~^\u00a7\u00b0\u2026\u00b7") | frozenset(
    "\u060c\u061b\u061f\u0964\u0965\u3001\u3002\uff08\uff09\uff0c\uff1a\uff1b\uff1f\uff01"  # Arabic, Hindi, Chinese
)
"""Punctuation that can't be taken for a quotation mark."""
_LETTERS_LIKE_MARKS = re.compile("[\u0674\u141d\u141f-\u1426\u144a\u144b\u16cc\ua78b\ua78c\ufc5e-\ufc63\ufe70-\ufe7e]")
"""Letters that look like quotation marks: the saltillo, strokes of the Canadian syllabics, a rune, a high hamza, and
Arabic marks that stand alone."""
_HEBREW = re.compile(
    "[\u05d0-\u05f2][\u05d0-\u05f2\ufb1e\u0300-\u036f\u0591-\u05c7\u180b-\u180f\u1ab0-\u1aff\u1dc0-\u1dff\u20d0-\u20ff\ufe00-\ufe2f"
    "\U000e0100-\U000e01ef]*"
)
"""A run of Hebrew letters with the marks on them."""
_ORNAMENTS = "\u275b\u275c\u275d\u275e\u2760\U0001f676\U0001f677\U0001f678"
"""Pictures of quotation marks."""
_MODIFIERS = re.compile(
    "[\u0640\u0e46\u0ec6\u17d7\u1843\u207f\u2090-\u209c\u3005\u303b\u309d\u309e\u30fc-\u30fe\ua015\ua4f8-\ua4fd\uff70]"
)
"""Modifier letters that can't: those that lengthen or repeat a letter or word, subscripts, and Lisu tones."""
_ACCENTS = re.compile("[\u0300-\u0304\u0306-\u030a\u030c]")
"""Marks above a letter that can't, whatever script the letter is of. No mark below one can."""
_BELOW = (1, 202, 220)
"""Combining classes of marks through and below a letter."""
LOOK_ALIKES = str.maketrans(
    "\u0430\u0432\u0435\u0451\u043a\u043c\u043d\u043e\u0440\u0441\u0442\u0443\u0445\u0455\u0456\u0458\u04bb\u04cf\u0501"
    "\u051b\u051d\u03b1\u03b2\u03b5\u03b6\u03b7\u03b9\u03ba\u03bc\u03bd\u03bf\u03c1\u03c4\u03c5\u03c7\u0131",
    "abe\u00ebkmhopctyxsijhldqwabezhikmnoptyxi",
)
"""Small letters of Cyrillic and Greek, and the Latin ones that they, or their capitals, look like."""
MAX_ADDRESS_LENGTH = 200
_MAX_LABEL_LENGTH, _MAX_HOST_LENGTH = 63, 260
"""Characters of a part of a host's name, and of a host with its port. To encode more would take long."""
_MAX_MARKS = 8


def few_combining_marks(text: str) -> str:
    """`text` with no more than 8 marks on a letter, ignoring undrawn characters between them, such as a joiner. No
    language needs as many; hundreds cover the text around the letter, and some fonts draw each with a width."""
    if text.isascii():
        return text
    characters, marks = list[str](), 0
    for char in text:
        invisible = INVISIBLE.match(char) is not None
        if not invisible:
            marks = marks + 1 if _is_mark(char) else 0
        if marks <= _MAX_MARKS:
            characters.append(char)
    return "".join(characters)


@lru_cache(maxsize=4096)
def _is_mark(char: str) -> bool:
    """Whether a character is drawn over the one before it."""
    first = unicodedata.normalize("NFKD", char)[0]
    return bool(unicodedata.combining(first)) or unicodedata.category(char) in ("Mn", "Me")


def without_quotation_marks(text: str) -> str:
    """One line of text to be put in quotation marks. Letters, digits, numbers' signs and plain punctuation stay; all
    else becomes one apostrophe, so that nothing in it looks as if it ended the quotation. Of its own result nothing
    becomes anything else."""
    characters, base = list[str](), ""
    for char in normalize_unicode(one_line(text), "NFC"):
        if unicodedata.category(char)[0] != "M":
            base = char if char in _PLAIN_MARKS or _is_letter_or_sign(char) else ""
        elif not (base.isalnum() and _fits(char, base)):
            base = ""
        characters.append(char if base else "'")  # nor does a mark stay behind what does not
    line = _HEBREW.sub(_without_yods_alone, "".join(characters))
    return sanitize(re.sub("['`]{2,}", "'", line))  # a joiner may stand before an apostrophe now


def _without_yods_alone(hebrew: re.Match[str]) -> str:
    """An apostrophe for yods that touch no other letter of Hebrew: two of them look like a quotation mark."""
    letters = re.sub("[^\u05d0-\u05f2]", "", hebrew[0]).replace("\u05f2", "\u05d9\u05d9")
    return "'" if len(letters) > 1 and set(letters) == {"\u05d9"} else hebrew[0]


def looks_like_quotation_mark(char: str) -> bool:
    """Whether a sign, or a letter, beyond ASCII may be taken for a quotation mark, as `without_quotation_marks` has it.
    Marks that are drawn over a letter are not."""
    category = unicodedata.category(char)
    is_picture = category == "So" and char not in _ORNAMENTS
    is_plain = char.isascii() or char in _PLAIN_MARKS or category[0] in "MZC" or is_picture
    return not (is_plain or _is_letter_or_sign(char))


def quoted(text: str) -> str:
    """One line of what others wrote in quotation marks, for a sentence of this program."""
    return f"“{without_quotation_marks(text)}”"


def visible_address(url: str) -> str:
    """An address with what is not seen in it, or is drawn as a space, in percent encoding: no word after it looks like
    one that is not part of it."""
    return "".join(char if _is_seen(char) else urllib.parse.quote(char, errors="replace") for char in url)


def with_ascii_host(url: str) -> str:
    """An address with its host as browsers look it up, in ASCII: other letters can look like those of another host. A
    name that is too long to look up is in percent encoding."""
    try:
        host = urllib.parse.urlsplit(url).netloc
    except ValueError:
        return url
    if len(host) > _MAX_HOST_LENGTH:
        return url.replace(host, urllib.parse.quote(host, safe="%:@[]", errors="replace"), 1)
    plain = normalize_unicode(host).replace("\u3002", ".")  # which ends a label in Chinese
    return url.replace(host, re.sub(r"[^.:@\[\]]+", _ascii_label, plain), 1)


def _ascii_label(label: re.Match[str]) -> str:
    if len(label[0]) > _MAX_LABEL_LENGTH:
        return urllib.parse.quote(label[0], safe="%", errors="replace")
    return label[0] if label[0].isascii() else f"xn--{label[0].lower().encode('punycode').decode()}"


def is_visible(char: str) -> bool:
    """Whether a character of a name is drawn, or is a plain space."""
    return char.isprintable() and not INVISIBLE_OR_PLACEHOLDER.match(char)


def visible_repr(value: object) -> str:
    """The `repr` of a value, with escapes for characters that can't be seen, or that look like the quotation mark at
    its end."""
    text = repr(value)
    if text.isascii():
        return text
    return "".join(
        char if is_visible(char) and not looks_like_quotation_mark(char) else ascii(char)[1:-1] for char in text
    )


def _is_seen(char: str) -> bool:
    return not (char.isspace() or INVISIBLE_OR_PLACEHOLDER.match(char)) and sanitize(char) == char


@lru_cache(maxsize=4096)
def _is_letter_or_sign(char: str) -> bool:
    """Whether a character is a letter, a digit, or a sign of arithmetic or money, and looks like no quotation mark."""
    category = unicodedata.category(char)
    if category == "Lm":
        return _MODIFIERS.match(char) is not None
    return (category[0] in "LN" or category in ("Sm", "Sc")) and not _LETTERS_LIKE_MARKS.match(char)


@lru_cache(maxsize=4096)
def _fits(mark: str, letter: str) -> bool:
    """Whether a mark belongs to the script of a letter, or to any letter. Others are drawn behind the letter, and some
    look like quotation marks there."""
    if _script(mark) == "COMBINING":
        return _ACCENTS.match(mark) is not None or unicodedata.combining(mark) in _BELOW
    return INVISIBLE.match(mark) is not None or _script(mark) == _script(letter)


def _script(char: str) -> str:
    """The first word of a character's name, which is its script: `ARABIC`."""
    return unicodedata.name(char, "").partition(" ")[0]


def normalize_unicode(text: str, form: Literal["NFC", "NFD", "NFKC", "NFKD"] = "NFKC") -> str:
    """`text` in a Unicode normalization form, with few combining marks: Unicode sorts those after a letter, which
    takes the square of their number."""
    return text if text.isascii() else unicodedata.normalize(form, few_combining_marks(text))


def sanitize(text: str) -> str:
    """`text` with line breaks made one kind, and with control and hidden characters made harmless.

    C0 controls become their visible pictures (ESC is shown as ␛), so that a reader sees they were
    there; other controls, lone surrogates and noncharacters become U+FFFD. Characters that only hide or reorder
    text are dropped. Those that are drawn as a space become one, and a soft hyphen that breaks a word becomes a
    hyphen. Joiners that scripts and emoji need are kept.
    """
    if text.replace("\n", "").isprintable() and (text.isascii() or not INVISIBLE.search(text)):
        return text  # most texts: to look is many times cheaper than to replace nothing
    text = _BREAKS.sub("\n", text)
    if not text.isascii():
        text = _NEEDLESS_JOINERS.sub("", _HIDING.sub(_drawn, text.translate(_FILLERS)))
    return _CONTROL.sub(_picture, text)


def _drawn(hiding: re.Match[str]) -> str:
    """What is drawn of a run of `_HIDING`: nothing, or the hyphen of a word that is broken at the end of a line."""
    return "-" if hiding[1] is not None and "\u00ad" in hiding[0] else ""


def _picture(match: re.Match[str]) -> str:
    code = ord(match[0])
    if code < 0x20:
        return chr(0x2400 + code)
    return "\u2421" if code == 0x7F else "\ufffd"


def one_line(text: str) -> str:
    """`text`, sanitized, on a single line with single spaces."""
    return " ".join(sanitize(text).split())


_STYLED = re.compile("[\u2102-\u24e9\U0001d400-\U0001f189\U0001fbf0-\U0001fbf9]")
_NEGATIVE_LETTER = re.compile("NEGATIVE (?:CIRCLED|SQUARED) LATIN CAPITAL LETTER ([A-Z])")


def plain_letters(text: str) -> str:
    """`text` with a plain letter in place of each whose only difference is a style: bold, italic, in a circle or a
    square. Beside the titles of a report they would look like its own. Only for what others said: a name in other
    letters is another name."""
    return text if text.isascii() else _STYLED.sub(_plain_letter, text)


def _plain_letter(styled: re.Match[str]) -> str:
    char = styled[0]
    if negative := _NEGATIVE_LETTER.fullmatch(unicodedata.name(char, "")):
        return negative[1]
    style, plain = unicodedata.decomposition(char), unicodedata.normalize("NFKC", char)
    is_styled = style.startswith("<font>") or (style.startswith(("<circle>", "<square>")) and plain.isalpha())
    is_one = len(plain) == 1 and plain.isalnum() and (plain.isascii() or char >= "\U0001d400")  # no ℏ, which is no ħ
    return plain if is_styled and is_one else char


def without_line_breaks(text: str) -> str:
    """`text`, sanitized, on a single line. It keeps the spaces of indents and columns."""
    return sanitize(text).replace("\n", " ")


def block_marker(nonce: str, *place: str) -> str:
    """The marker that opens and closes one block of a prompt. It follows from the debate's nonce, which no seat is
    shown, and from the block's place, so that the author of the text has not seen it."""
    return hashlib.sha256("\0".join((nonce, *place)).encode("utf-8", "surrogatepass")).hexdigest()[:12]


def without_block_marker(text: str, block_marker: str) -> str:
    return sanitize(text).replace(block_marker, "[...]")


def safe_url(url: str) -> str:
    """An address for a line of text: only its own parts, cut to a limit."""
    plain = "".join(
        char if char.isascii() and char.isprintable() and char not in ' <>"' else "%" for char in sanitize(url)
    )
    return plain if len(plain) <= MAX_ADDRESS_LENGTH else f"{plain[:MAX_ADDRESS_LENGTH]}..."


def count_words(text: str) -> int:
    """The number of words in `text`, counted between white space. Journals hold replies that were taken by this count,
    so that it stays as it is."""
    return len(text.split())
