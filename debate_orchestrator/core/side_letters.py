"""Whether a capital letter in a speech names a side (`B concedes it`) or is a word or a label (`A broker`, `plan B`).

What surrounds the letter decides, not which letter it is. So a text in which sides are exchanged is read as before.
"""

from __future__ import annotations

import re

_NEAR = 40
"""Characters on either side that are looked at."""
_LABEL = re.compile(
    r"\b(?:appendix|class|column|exhibit|figure|grade|group|hepatitis|item|level|list|model|option|part|phase|plan|"
    r"programme|program|question|row|sample|scenario|schedule|section|series|stage|step|table|team|tier|type|variant|"
    r"version|vitamin)\s+\Z",
    re.IGNORECASE,
)
"""A noun before the letter that makes it a label."""
_WITHIN = re.compile(r"[a-z0-9)\]’”\"'%][,;]?(?:[^\S\n]+|[^\S\n]*\n[^\S\n]*)[\"“‘'(\[*_]*\Z")
"""The end of what stands before a letter within a sentence."""
_LINE_START = re.compile(r"(?:^|\n)[\s>*_#(-]*\Z")
_POSSESSIVE = re.compile(r"['’]s\b")
_SPACED = re.compile(r"[*_]*\s+([A-Za-z']+)(?:\s+([a-z]+))?")
_FUNCTION_WORDS = frozenset(
    re.findall(
        r"[a-z]+",
        """again alone also and are as asks at bases but calls came can cannot could did does drew fell for
        from gave had had has himself however in instead is itself knew may meant merely might must
        never nor now of on once or ought said saw shall should showed simply since so spoke still
        than that then therefore though thus to took told was went were where whereas which while
        who whose will with won would wrote yet""",
    )
)
"""Words that follow a name and no article."""
_PLURAL_LIKE = frozenset(
    re.findall(
        r"[a-z]+",
        """always alas arms bias canvas communications economics gas goods lens means news operations perhaps politics
    sales savings series species sports systems ties""",
    )
)
"""Words in -s that may follow an article."""
_VERB_IN_S = re.compile(r"[a-z]+[^aiosu']s")
_VERB_IN_OS = re.compile(r"(?:does|goes|echoes|vetoes|[a-z]*(?:argu|valu|continu|pursu|rescu)es|says|betrays|plays)")
_PAST = re.compile(r"(?:[a-z]+ed|found|held|kept|left|lost|made|put|ran|read|set)")
_OBJECTS = frozenset(
    re.findall(
        "[a-z]+",
        """a about all an any for from her his how it its my no nothing on one only our that the their them this to two
        us what whether why with your""",
    )
)
"""Words that follow a verb in the past, and not a participle before its noun."""


def names_a_side(found: re.Match[str]) -> bool:
    """Whether the letter that was found in a text names a side. The match has it as its group `letter`."""
    start, end = found.span("letter")
    before, after = found.string[max(0, start - _NEAR) : start], found.string[end : end + _NEAR]
    if _LABEL.search(before):
        return False
    if _POSSESSIVE.match(after):
        return True
    spaced = _SPACED.match(after)
    if spaced is None:
        return not (_LINE_START.search(before) and after[:1] in (".", ")"))
    word, next_word = spaced[1], spaced[2] or ""
    if _WITHIN.search(before) and word.islower():
        return True
    return _follows_a_name(word, next_word)


def _follows_a_name(word: str, next_word: str) -> bool:
    """Whether a word at the start of a sentence, after the letter, follows a name: articles have a noun after them."""
    if word in _FUNCTION_WORDS:
        return True
    if _PAST.fullmatch(word):
        return next_word in _OBJECTS
    verb = next_word if word.endswith("ly") else word
    return verb not in _PLURAL_LIKE and bool(_VERB_IN_S.fullmatch(verb) or _VERB_IN_OS.fullmatch(verb))
