"""Could a name, label, tag or letter of a side also be a word for something that is debated?

Where it could, a mirrored debate keeps all names and swaps the order alone: no words around a name tell surely whether
it means the side that speaks or what it speaks of. And a ballot that means a side by any word but a key, a position or
a name that can mean nothing else is asked for again. So this looks for much more than is swapped. A wrong yes costs
little: judges then read the same names twice, or write `a`.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterable
from functools import lru_cache

from debate_orchestrator.core.format import Format
from debate_orchestrator.core.mirror import tag_names_side
from debate_orchestrator.core.phases import Seat
from debate_orchestrator.util.sanitize import INVISIBLE, normalize_unicode

_WORD = re.compile(r"[A-Za-z\u00c0-\u1fff]+|\d+|[^\W\d_]")
"""Letters of one word, or a number. Scripts without spaces (`方案A`) end a word."""
_PART = re.compile(r"[A-Z]+(?![a-z\u00c0-\u1fff])|\d+|.[a-z\u00c0-\u1fff]*")
"""A part of a word that is joined of several: `iPhone15Pro`, `ProMax`, `VendorA`."""
_OTHER_PART = re.compile(r"(?<![A-Z])[A-Z]{2,}+(?=[a-z])|(?<=[A-Z]{2})[a-z]+")
"""What may be one instead: `PROfessional`."""
_AFTER_NAME = (
    r"(?:(?!one|once|eu)[aeio]|(?:"
    r"be|because|been|before|but|by|can|cannot|could|did|do|does|during|first|for|from|had|has|"
    r"have|he|her|here|his|how|however|less|like|may|might|more|must|neither|never|no|nor|not|"
    r"now|per|rather|shall|she|should|since|so|still|than|that|the|then|there|therefore|they|this|"
    r"though|thus|to|today|tomorrow|too|twice|under|until|upon|versus|via|vs|was|we|were|when|"
    r"where|whereas|which|while|who|whose|why|will|with|without|won|would|yet|you"
    r")(?:n[’']t)?(?![\w-]))"
)
"""The beginning of a word that can follow a name and can't follow an article."""
_SMALL_ARTICLE = rf"(?:\A|(?<=[ \n]))a(?=[ \n](?!(?i:{_AFTER_NAME}))[\"“‘«]?[^\W_])"
"""`a carbon tax`, `a "fair" price`, anywhere."""
_ARTICLE = (
    # `A carbon tax`, at the beginning of a text, a paragraph, a sentence or an item of a list
    r"(?m:(?:\A|(?<=[.!?][ \n])|(?<=[.!?][\"”’)][ \n])|(?<=\n\n)|(?<=^[-*+>#] )|(?<=^## ))(?<![Vv]s\. )[\"“‘]?"
    rf"A(?= (?!(?i:{_AFTER_NAME})|[\w’'-]*(?:s|ed|ly)(?![\w’'-]))[^\W\d_]{{2,}}))"
    rf"|{_SMALL_ARTICLE}"
)
_BEFORE_A = r"(?<!\w)(\w+)[ \n-][aA](?![\w’'])"
_BEFORE_NEXT_LETTER = r"(?<!\w)(\w+)[ \n-][^\w\s.!?]{0,2}(?<![’'&])[cdCD](?![\w’'&+#]|\.\w)"
"""The words right before a lone letter. Where `drug c` is debated, the `a` of `drug a` is no article."""
_MAX_SHORT = 300
"""Characters of a text in which a capital A is never taken for an article: `A variant`, as a position, may be one of
several variants."""


def could_name_sides(format: Format, debated: Iterable[str]) -> bool:
    """Whether one of these texts could mean something by a name, tag or letter of the sides, now or in pages that are
    quoted later."""
    if not format.sides_are_lettered or format.quotes_pages:
        return True  # its names are words of the language, or pages will be quoted during the debate
    return not words_in_doubt(format, debated).isdisjoint(format.sides)


def words_in_doubt(format: Format, debated: Iterable[str]) -> frozenset[str]:
    """The names and labels of the sides that could be debated in these texts; and the sides themselves, if a letter or
    a tag of one could be."""
    texts, seats = [*map(_plain, debated)], [format.seats[side] for side in format.sides]
    names = [seat.name.rsplit(maxsplit=1) if format.sides_are_lettered else (seat.name,) for seat in seats]
    ends = {end for _, *end_words in names for end in end_words}
    letters = {*format.sides, *(end for end in ends if not end.isdecimal())}
    has_name = any(_has_word(name[0], texts) for name in names)
    without_articles = texts if _has_lettered_kinds(texts) else [*map(_without_articles, texts)]
    has_letter = any(_has_word(letter, without_articles) for letter in letters)
    has_letter = has_letter or any(_has_tag(seat, texts) for seat in seats)
    has_letter = has_letter or (has_name and any(_has_word(end, texts) for end in {*letters, *ends} if ends))
    found = {seat.label for seat in seats if seat.label and _has_word(seat.label, texts)}
    found |= {seat.name for seat in seats if has_name and (has_letter or not ends)}
    return frozenset(found.union(format.sides if has_letter else ()))


def _has_word(word: str, texts: Iterable[str]) -> bool:
    """Whether a word, a letter or a number stands in one of these plain texts, in any case and joined to others, a
    letter also to a number (`Table 2a`); a word also in the plural."""
    forms = (f"{_parts(word)} ", f"{_parts(word)}s ") if len(word) > 1 else (f"{_parts(word)} ",)
    return any(form in f"{_parts(text)} " for text in texts for form in forms)


def _has_tag(seat: Seat, texts: Iterable[str]) -> bool:
    """Whether the tag of a side stands in one of these texts as a word, or after a bracket if it names its side so
    alone."""
    if tag_names_side(seat):
        return any(f"{_parts(seat.tag)} " in f"{_parts(text)} " for text in texts)
    bracketed = rf"\[\s*{re.escape(seat.tag)}(?![^\W_])"
    return any(re.search(bracketed, text, re.IGNORECASE) for text in texts)


@lru_cache(maxsize=16)
def _parts(text: str) -> str:
    """The parts of the words of a text in lower case, with a blank before each and numbers without leading zeros."""
    parts = (part for word in _WORD.findall(text) for part in (*_OTHER_PART.findall(word), *_PART.findall(word)))
    return " " + " ".join(part.lstrip("0") or "0" for part in parts).casefold()


def _plain(text: str) -> str:
    """A text as it is read: without entities and what is not drawn, and with single spaces and line ends."""
    text = INVISIBLE.sub("", normalize_unicode(html.unescape(text))).replace("\t", " | ")  # cells of a table
    return re.sub(r"\s+", lambda gap: "\n" * min(gap[0].count("\n"), 2) or " ", text.strip())


def _has_lettered_kinds(texts: Iterable[str]) -> bool:
    """Whether letters tell several of a kind apart: a lone C or D follows the same word as a lone A, in the singular or
    plural, as in `drug A` and `drug C`."""
    patterns, text = (_BEFORE_A, _BEFORE_NEXT_LETTER), "\n\n".join(texts)
    labelled, also = ({word.casefold().rstrip("s") for word in re.findall(each, text)} for each in patterns)
    return not labelled.isdisjoint(also)


def _without_articles(text: str) -> str:
    return re.sub(_ARTICLE if len(text) > _MAX_SHORT else _SMALL_ARTICLE, " ", text)
