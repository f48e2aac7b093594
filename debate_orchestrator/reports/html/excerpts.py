"""Short passages out of long ones: a speech in a line, the beginning of a text in whole sentences."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from typing import Literal

from debate_orchestrator.util import sanitize

Purpose = Literal["", "attacks", "answers"]
"""What a speech does to another, if it does."""
LONGEST = 160
"""Characters of a line."""
_FEWEST = 4
"""Words of a sentence that tells something."""
_SHORT = 60
"""Characters of a line that has room for the sentence after it."""
_NEAR = 4
"""Sentences among which a thesis is looked for."""
_BRIEF = 8
"""Words of a quote that is kept where it stands in a sentence."""
_SENTENCE = re.compile(r"\S.*?(?:[.!?…][\"”’')\]]*(?=\s+[\"“‘'(\[]*[^\W\d_a-z])|$)")
_QUOTED = re.compile(r'“[^“”]*”|(?<!\w)"(?=\S).{0,1000}?"(?!\w)')
_THESIS = re.compile(
    r"\b(?:my (?:thesis|case|claim|position|answer|point)|i (?:argue|hold|maintain|claim|submit))\b", re.IGNORECASE
)
_GRANTS = re.compile(
    r"(?:(?:i|we) (?:fully |readily |also )?(?:grant|concede|accept|acknowledge|admit)|granted)\b", re.I
)
_TURNS = re.compile(r"\b(?:but|yet|however|though|although|still|nonetheless|nevertheless|only|while)\b", re.I)
_TURNED = re.compile(r"(?:but|yet|however|still|even so|nonetheless|nevertheless|none of|neither)\b", re.I)


def excerpt(paragraphs: Sequence[str], purpose: Purpose = "") -> str:
    """A speech in a line: the first sentence of its paragraphs that tells something in the speaker's own words; its
    thesis, if it soon names one. What attacks or answers another speech quotes it: its long quotes are left out with
    a mark. What answers may open with what it grants: that is passed over as far as its second paragraph, or a
    sentence before that which says "but". Empty where there is nothing to tell."""
    own = [list(_own(paragraph, whole=not purpose)) for paragraph in paragraphs]
    every = [sentence[0] for paragraph in paragraphs for sentence in _SENTENCE.finditer(paragraph)]
    found = [sentence for sentences in own for sentence in sentences]
    found = found or [sentence for sentence in every if len(sentence.split()) >= _FEWEST] or every
    if not found:
        return ""
    if purpose == "answers":
        found = found[_granted(own) :]
    theses = [n for n, sentence in enumerate(found[:_NEAR]) if _THESIS.search(sentence)]
    first = theses[0] if theses else 0
    line = found[first]
    return shortened(f"{line} {found[first + 1]}" if len(line) < _SHORT and found[first + 1 :] else line)


def _granted(own: Sequence[Sequence[str]]) -> int:
    """With how many sentences a speech does nothing but grant a point. A sentence that only follows may be part of
    what is granted, so that it takes a turn of phrase or a paragraph to end it; 0 where neither comes soon."""
    first, *rest = [sentences for sentences in own if sentences] or [()]
    if not first or not _GRANTS.match(first[0]) or _TURNS.search(first[0]):
        return 0
    turned = next((n for n, sentence in enumerate(first) if _TURNED.match(sentence)), None)
    if turned is not None:
        return turned
    return len(first) if rest and not _GRANTS.match(rest[0][0]) else 0


def _own(paragraph: str, *, whole: bool) -> Iterator[str]:
    """The sentences of a paragraph that tell something outside quotation marks, with long quotes whole or left out."""
    brief = paragraph if whole else _QUOTED.sub(_brief, paragraph)
    edges = [edge for quote in _QUOTED.finditer(brief) for edge in quote.span()]  # in order: no two quotes overlap
    for sentence in _SENTENCE.finditer(brief):
        words = (word.start() + sentence.start() for word in re.finditer(r"\S+", sentence[0]))
        if sum(bisect_right(edges, word) % 2 == 0 for word in words) >= _FEWEST:
            yield sentence[0]


def _brief(quote: re.Match[str]) -> str:
    return quote[0] if len(quote[0].split()) <= _BRIEF else "“…”"


def opening(text: str, most: int, sentences: int | None = None) -> tuple[str, int]:
    """The beginning of a text on one line, as many whole sentences as fit, and how many words follow it. A first
    sentence that does not fit by itself is cut between words."""
    line = sanitize.one_line(text)
    ends = [sentence.end() for sentence in _SENTENCE.finditer(line)][:sentences]
    fitting = [end for end in ends if end <= most]
    if fitting:
        return line[: fitting[-1]], sanitize.count_words(line[fitting[-1] :])
    kept = shortened(line, most)
    return kept, sanitize.count_words(line[len(kept.removesuffix("…")) :]) if kept != line else 0


def shortened(text: str, most: int = LONGEST) -> str:
    """A text that is no longer than it may be, cut between words."""
    if len(text) <= most:
        return text
    whole = text[:most].rpartition(" ")[0]
    return f"{(whole or text[:most]).rstrip(' ,;:–—-')}…"
