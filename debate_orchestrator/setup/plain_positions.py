"""Plain positions on a topic, made without a model. "Should we move?" gives "We should move." and the opposite.

The subject of a question is only found where that is certain: after a pronoun, or before a verb that can hardly be
anything else. Any other topic is kept whole, as in "For: ...", since a wrong position is worse than none.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import NamedTuple

from debate_orchestrator.util.sanitize import one_line


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_SHOULD = re.compile(r"should\s+([^?]+)\?", re.IGNORECASE)
_PRONOUNS = _words("i we you they he she it everyone everybody")
_VERBS = _words(
    "abolish adopt allow be become choose continue create deploy develop eliminate ensure forbid give go have impose"
    " introduce invest keep legalise legalize make migrate move prefer prohibit provide receive regulate reject remain"
    " remove replace require rewrite teach write"
)
"""Verbs that hardly ever end a subject."""
_NOUNS_TOO = _words("ban build pay permit stop switch use")
"""Verbs that a subject may well end with: taken after a name or a plural alone."""
_DETERMINERS = _words("a an the this that these those our my your their his her its every each any no")
_UNSURE = _words("or not to that which who whom whose what where when while if and/or")
"""Words with which it is not sure what is asked, or where its subject ends."""


_STATED = {"a": "{who} should {what}.", "b": "{who} should not {what}."}
_PLAIN = {"a": "For: {topic}", "b": "Against: {topic}"}


def plain_positions(topic: str, sides: Iterable[str]) -> dict[str, str]:
    """Side to its plain position."""
    topic = one_line(topic).rstrip(".")
    asked = shoulds(topic)
    texts, values = (_PLAIN, {"topic": topic}) if asked is None else (_STATED, asked._asdict())
    return {side: texts[side].format(**values) for side in sides}


class Asked(NamedTuple):
    """What a question asks about."""

    who: str
    what: str


def shoulds(question: str) -> Asked | None:
    """Who should do what, by a question such as "Should we move?"; None for any other, and where that is not sure."""
    found = _SHOULD.fullmatch(question.strip())
    words = found[1].split() if found else []
    plain = [word.strip(",;:").lower() for word in words]
    if "or" in plain or "not" in plain:
        return None
    end = _end(words, plain)
    if not 0 < end < len(words) or _UNSURE & {*plain[:end]} or plain[end] in ("and", "of", "in", *_UNSURE):
        return None
    who = " ".join(words[:end])
    return Asked(who[:1].upper() + who[1:], " ".join(words[end:]).rstrip(" .!"))


def _end(words: list[str], plain: list[str]) -> int:
    """How many words the subject has; 0 where that is not sure."""
    if len(words) < 2:
        return 0
    alone = plain[0] not in _DETERMINERS and (words[0][0].isupper() or plain[0].endswith("s"))
    if plain[0] in _PRONOUNS or (alone and plain[1] in _NOUNS_TOO and not _VERBS & {*plain[2:]}):
        return 1
    end = next((n for n, word in enumerate(plain) if word in _VERBS), 0)
    return 0 if end and (plain[end - 1] in _DETERMINERS or _NOUNS_TOO & {*plain[:end]}) else end
