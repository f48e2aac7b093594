"""Could anything that is debated have a name, a label, a tag or a letter of the sides?

Where it could, a mirrored debate keeps all names and swaps the order alone: no words around a name tell surely whether
it means the side that speaks or what it speaks of. And a short word for a side in a ballot is asked for again. So this
looks for much more than is swapped. A wrong yes costs little: judges then read the same names twice, or write `a`.
"""

from __future__ import annotations

import html
import re
from collections.abc import Collection, Iterable, Sequence

from debate_orchestrator.core.format import Format
from debate_orchestrator.core.mirror import tag_names_side
from debate_orchestrator.core.phases import Seat
from debate_orchestrator.util.sanitize import INVISIBLE, normalize_unicode

_WORD = r"A-Za-z0-9\u00c0-\u1fff"
"""What makes a letter a part of a word. Scripts without spaces (`方案A`) don't."""
_NO_NOUN = (
    r"(?:again|against|also|am|and|are|as|at|be|because|been|before|but|by|can|cannot|could|did|do|does|during|first|for|from|had|has|"
    r"have|he|her|here|his|how|however|if|in|into|is|it|itself|less|like|may|might|more|must|neither|never|no|nor|not|now|of|on|only|"
    r"or|our|per|rather|shall|she|should|since|so|still|than|that|the|then|there|therefore|they|this|though|thus|to|too|twice|"
    r"under|until|upon|versus|via|vs|was|we|were|when|where|whereas|which|while|who|whose|why|will|with|without|won|would|"
    r"yet|you)(?![\w-])"
)
"""Words that follow a name, and no article."""
_PAST = (
    r"(?:ate|beat|became|began|bent|bet|bit|blew|bore|bought|bound|bred|broke|brought|built|burnt|came|cast|caught|"
    r"chose|cost|crept|cut|dealt|drank|drew|drove|dug|fed|fell|felt|fled|flew|forbade|forgot|fought|found|froze|gave|"
    r"got|grew|heard|held|hid|hit|hurt|kept|knew|laid|lay|led|left|lent|let|lost|made|meant|met|misread|outdid|overcame|"
    r"paid|put|quit|ran|rang|read|rode|rose|said|sang|sank|sat|saw|sent|set|shook|shot|shrank|shut|slid|slept|sold|"
    r"sought|sped|spent|split|spoke|spread|stole|stood|stuck|struck|swam|swept|swore|taught|thought|threw|told|took|"
    r"tore|understood|went|wept|withdrew|woke|wore|wrote)(?![\w-])"
)
_ARTICLE = re.compile(
    # `A carbon tax`, at the beginning of a text, a paragraph, a sentence or an item of a list
    r"(?:\A|(?<=[.!?][ \n])|(?<=[.!?][\"”’)][ \n])|(?<=\n\n)|(?<=^[-*+>#] )|(?<=^## ))(?<![Vv]s\. )[\"“‘]?"
    rf"A(?= (?!(?i:{_NO_NOUN}|{_PAST})|[\w’'-]*(?:s|ed|ly)(?![\w’'-])|(?!one|once|eu)[aeio])[^\W\d_]{{2,}})"
    # `a carbon tax`, `a "fair" price`, anywhere
    rf"|(?:\A|(?<=[ \n]))a(?=[ \n](?!(?i:{_NO_NOUN}))[\"“‘«]?[^\W_])",
    re.MULTILINE,
)


def could_name_sides(format: Format, debated: Iterable[str]) -> bool:
    """Whether one of these texts could mean something by a name, tag or letter of the sides, now or in pages that are
    quoted later."""
    # Other names are words of the language, and pages will be quoted during the debate.
    return not format.numbers_sides or format.quotes_pages or _could_name(format, [*map(_plain, debated)])


def words_in_doubt(format: Format, debated: Iterable[str]) -> frozenset[str]:
    """The names and labels of the sides that could be debated in these texts; and the sides themselves, if a letter or
    a tag of either could be."""
    texts, seats = [*map(_plain, debated)], [format.seats[side] for side in format.sides]
    names, labels = {seat.name for seat in seats}, {seat.side for seat in seats if seat.side}
    found = {word for word in labels | (set() if format.numbers_sides else names) if _has_word(word, texts)}
    if _could_name(format, texts):
        found |= {*format.sides, *(names if format.numbers_sides and _has_word(_stem(format), texts) else ())}
    return frozenset(found)


def _could_name(format: Format, texts: Sequence[str]) -> bool:
    """Whether one of these plain texts could mean something by a tag, a letter or a numbered name of the sides."""
    seats = [format.seats[side] for side in (format.sides[0], format.sides[-1])]
    ends = {seat.name.split()[-1] for seat in seats} if format.numbers_sides else set()
    letters = {*format.sides, *(end for end in ends if not end.isdecimal())}
    tags = "|".join(map(_tag_pattern, seats))
    if any(_has_letter(letters, _ARTICLE.sub(" ", text)) or re.search(tags, text) for text in texts):
        return True
    return bool(ends) and _has_word(_stem(format), texts) and _has_letter({*letters, *ends}, "\n".join(texts))


def _stem(format: Format) -> str:
    """The words that the sides' names begin with, if they differ in a letter or a number alone."""
    return format.seats[format.sides[0]].name.rpartition(" ")[0]


def _has_word(word: str, texts: Iterable[str]) -> bool:
    """Whether a word stands in one of these plain texts, in any case, also in the plural and joined to others."""
    words = r"[\W_]+".join(map(re.escape, word.split()))
    pattern = rf"(?:(?<![^\W_])|(?<=[a-z])(?=[A-Z]))(?i:{words}s?)(?![^\W\d_])"
    return any(re.search(pattern, text) for text in texts)


def _plain(text: str) -> str:
    """A text as it is read: without entities and what is not drawn, and with single spaces and line ends."""
    text = INVISIBLE.sub("", normalize_unicode(html.unescape(text))).replace("\t", " | ")  # cells of a table
    return re.sub(r"\s+", lambda gap: "\n" * min(gap[0].count("\n"), 2) or " ", text.strip())


def _has_letter(letters: Collection[str], text: str) -> bool:
    """Whether one of the letters or numbers stands alone in a text, in either case, or joined to a word (`VendorA`)."""
    capital, small = (f"(?:{'|'.join(map(change, letters))})" for change in (str.upper, str.lower))
    pattern = rf"(?:(?<![A-Z0-9]){capital}|(?<![{_WORD}]){small})(?![{_WORD}])"
    with_number = rf"(?<![A-Z])(?![0-9]){capital}(?![A-Za-z\u00c0-\u1fff])"  # `F-35A`, `A1`
    return re.search(f"{pattern}|{with_number}", text) is not None


def _tag_pattern(seat: Seat) -> str:
    """The pattern of a tag, in any case and joined to a word too (`DeepSeekR1`); of one that names its side in brackets
    alone, with the bracket."""
    any_gap = r"[\W_]{0,2}0{0,3}".join(map(re.escape, seat.tag.replace(" ", "")))
    if not tag_names_side(seat):
        return rf"\[\s*(?i:{any_gap})(?![^\W_])"
    end = r"(?!\d)" if seat.tag[-1].isdecimal() else r"(?![^\W_])"  # `R1S` has `R1`
    return rf"(?:(?<![^\W_])(?i:{any_gap})|(?<=[a-z]){any_gap}){end}"
