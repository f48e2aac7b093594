"""Positions on a topic, made without a model by plain rules.

"Should we move?" gives "We should move." and "We should not move.", "Do we need it?" gives "We need it." and "We do not
need it.". Any other statement, and any other question whose answer is yes or no, gives two sentences around it. A topic
that asks for more needs positions of the user's own.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence

from debate_orchestrator.core.phases import JUDGE
from debate_orchestrator.core.settings import MODERATOR
from debate_orchestrator.util import model_spec
from debate_orchestrator.util.sanitize import one_line

_SHOULD_OR_NEED = re.compile(
    r"(?:should (?P<asked>i|we|you|they) |(?P<stated>i|we|you|they) should |do (?P<needing>i|we|you|they) need )"
    r"(?P<what>[^?!,;:.]+)[?.]?",
    re.IGNORECASE,
)
_NEGATIVE = re.compile(
    r"\b(?:no|not|n?ever|none|nor|neither|nobody|nothing|any(?:one|body|thing)?|seldom|rarely|hardly|barely|scarcely)\b",
    re.IGNORECASE,
)
"""A word that a `not` makes something else of: `Should no teacher carry a gun?`"""
_YES_OR_NO = re.compile(
    r"(?:is|are|was|were|do|does|did|can|could|will|would|should|has|have|had|may|might|must|need)\b", re.IGNORECASE
)
"""The beginning of a question whose answer is yes or no."""
_CHOICE = re.compile(r"\b(?:or|vs|versus|whether)\b", re.IGNORECASE)
"""Words of a topic that names several options."""
_OR_NOT = re.compile(r",? or not ?\??\Z", re.IGNORECASE)
_NO_MODEL = (model_spec.REHEARSE, model_spec.HOST, model_spec.FETCH, model_spec.OFFLINE)
_PLACEHOLDERS = ("Placeholder for an answer", "Placeholder for another answer")
_QUESTION_MARKS = ("?", "？", "؟")


def plain_positions(topic: str, sides: Iterable[str]) -> dict[str, str]:
    """Side to its position: the first affirms, the second denies. It is empty if it is no yes-or-no question of two
    sides."""
    topic, sides = _OR_NOT.sub("?", one_line(topic)), tuple(sides)
    if not topic or _CHOICE.search(topic) or len(sides) != 2:
        return {}
    if _NEGATIVE.search(topic):
        return _around(topic, sides)
    if match := _SHOULD_OR_NEED.fullmatch(topic):
        who, what = (match["asked"] or match["stated"] or match["needing"]).capitalize(), match["what"].rstrip()
        verbs = ("need", "do not need") if match["needing"] else ("should", "should not")
        return {side: f"{who} {verb} {what}." for side, verb in zip(sides, verbs, strict=True)}
    return _around(topic, sides)


def _around(topic: str, sides: Sequence[str]) -> dict[str, str]:
    """The sentences around a topic that affirm and deny it; empty for a question whose answer is not yes or no."""
    if _YES_OR_NO.match(topic):
        return {side: f'The answer to "{topic}" is {word}.' for side, word in zip(sides, ("yes", "no"), strict=True)}
    if topic.endswith(_QUESTION_MARKS):
        return {}
    return dict(zip(sides, (f"It is right that: {topic}", f"It is not right that: {topic}"), strict=True))


def positions_for_transcript(topic: str, sides: Sequence[str]) -> dict[str, str]:
    """Side to its position in a debate that was held elsewhere: plain ones, else "an answer",
    since the option that a side argued for is not known."""
    return plain_positions(topic, sides) or _one_for_each(topic, sides, ("An answer", "Another answer"))


def _one_for_each(topic: str, sides: Sequence[str], words: Sequence[str]) -> dict[str, str]:
    """Side to words for a position that is not known. They have no letter, which could be an option of the topic."""
    return {side: f'{beginning} to "{one_line(topic)}"' for side, beginning in zip(sides, words, strict=False)}


def affirms(topic: str, position: str) -> bool:
    """Whether a position is the topic, or the plain position for it, but for case, spaces and the last full stop."""
    is_question = topic.strip().endswith(_QUESTION_MARKS)
    return _is_plain(topic, position, "a") or (not is_question and _words(position) == _words(topic))


def denies(topic: str, position: str) -> bool:
    """Whether a position surely says no to a topic: it is the plain position against it."""
    return _is_plain(topic, position, "b")


def _is_plain(topic: str, position: str, side: str) -> bool:
    plain = plain_positions(topic, "ab")
    wordings = (plain, _around(one_line(topic), "ab")) if plain else ()  # the latter in older journals
    return any(side in words and _words(position) == _words(words[side]) for words in wordings)


def _words(text: str) -> list[str]:
    return one_line(text).lower().rstrip(" .").split()


def positions_or_model(
    topic: str, cast: Mapping[str, Sequence[str]], sides: Iterable[str]
) -> tuple[dict[str, str], str]:
    """The positions, if they are made without a model, or else the spec of the model that derives them; both may be
    empty. That is the moderator, else the first judge or speaker that is not a person. Where it is a stand-in or a
    host, the positions are plain ones or, if none can be made, of the next model."""
    specs = [spec for role in (MODERATOR, JUDGE, *cast) for spec in cast.get(role, ()) if spec != model_spec.HUMAN]
    models = [spec for spec in specs if model_spec.kind(spec) not in _NO_MODEL]
    if models and models[0] == specs[0]:
        return {}, models[0]
    positions = positions_without_model(topic, sides, rehearsal=model_spec.is_rehearsal(cast))
    return positions, "" if positions or not models else models[0]


def positions_without_model(topic: str, sides: Iterable[str], *, rehearsal: bool) -> dict[str, str]:
    """Side to its plain position; in a `rehearsal`, in which positions mean nothing, to a placeholder if there is
    none."""
    sides = tuple(sides)
    placeholders = _one_for_each(topic, sides, _PLACEHOLDERS)
    return plain_positions(topic, sides) or (placeholders if rehearsal else {})


def has_placeholders(positions: Mapping[str, str]) -> bool:
    """Whether a position only stands for one in a rehearsal."""
    return any(position.startswith(_PLACEHOLDERS) for position in positions.values())


def without_former_placeholders(topic: str, positions: Mapping[str, str]) -> dict[str, str]:
    """The positions without those that journals of earlier versions have for one that is not known: they name the
    side by its letter."""
    words = ("An answer", _PLACEHOLDERS[0])
    return {
        side: text
        for side, text in positions.items()
        if text not in {f'{word} of {side.upper()} to "{one_line(topic)}"' for word in words}
    }
