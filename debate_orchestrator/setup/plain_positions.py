"""Positions on a topic, made without a model. "Should we move?" gives "We should move." and the opposite.

These plain ones are only made where a pattern fits for sure: wrong positions are worse than stiff ones. For any other
topic the positions are sentences around it, where it can be affirmed or denied.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence

from debate_orchestrator.core.phases import JUDGE
from debate_orchestrator.core.settings import MODERATOR
from debate_orchestrator.util import model_spec
from debate_orchestrator.util.sanitize import one_line

Pair = tuple[str, str]
"""The positions of the first and the second side."""

_WHO = (
    r"(?P<who>i|we|you|they|he|she|everyone|everybody"
    r"|(?:the|this|that|our|my|your|their) [\w-]+(?= (?:adopt|allow|become|choose|continue|create|hire|introduce|keep|"
    r"learn|migrate|move|remain|remove|replace|require|rewrite)\b))"
)
"""Subjects whose end is sure: a pronoun, or a determiner and one word before a verb that is hardly ever a noun."""
_QUESTION = re.compile(rf"should {_WHO} (?P<what>[^?!,;:]+?)\??", re.IGNORECASE)
_STATEMENT = re.compile(rf"{_WHO} should (?P<what>[^?!,;:.]+?)\.?", re.IGNORECASE)
_COMPARISON = re.compile(
    r"(?P<who>[\w-]+(?: [\w-]+){0,2}) (?P<verb>is|are) (?P<what>(?:more )?\w+ than [^?!,;:.]+?)\.?", re.IGNORECASE
)
_TWO_VERBS = re.compile(r"should (?P<who>i|we|you|they) (?P<first>[\w-]+) or (?P<second>[\w-]+)\??", re.IGNORECASE)
_OPTION = r"[\w.+#/-]+(?: [\w.+#/-]+){0,2}?"
_TWO_OPTIONS = re.compile(
    rf"(?P<first>{_OPTION}) (?:or|vs\.?|versus) (?P<second>{_OPTION})(?P<end> (?:for|in|on|at|with) [^?!,;:]+?)?[?.]?",
    re.IGNORECASE,
)
_MORE_THAN_A_NAME = re.compile(
    r"\b(?:or|not|no|never|only|nobody|nothing|is|are|was|were|do|does|did|can|could|will|would|should|must|may|might|"
    r"has|have|had|i|we|you|he|she|it|they|me|us|to|that|which|who|what|when|where|while|if|how|why|whether)\b",
    re.IGNORECASE,
)
"""Words of a sentence, which two options that are named alike do not have."""
_YES_OR_NO = re.compile(
    r"(?:is|are|was|were|do|does|did|can|could|will|would|should|has|have|had|may|might|must|need)\b(?!.*\bor\b)",
    re.IGNORECASE,
)
"""How a question begins whose answer is yes or no."""
_OR_NOT = re.compile(r",? or not ?\??\Z", re.IGNORECASE)
_QUESTION_MARKS = ("?", "？", "؟")


def plain_positions(topic: str, sides: Iterable[str]) -> dict[str, str]:
    """Side to its plain position; empty if none can be made for sure."""
    topic = _OR_NOT.sub("?", one_line(topic))
    return dict(zip(sides, _should(topic) or _comparison(topic) or _choice(topic) or (), strict=False))


def worded_positions(topic: str, sides: Iterable[str], *, rehearsal: bool = False) -> dict[str, str]:
    """Side to its position, for where no model derives them: plain where that can be made, otherwise a sentence around
    the topic. Empty if the topic asks for more than yes or no, or there are not two sides; a `rehearsal`, in which
    positions mean nothing, always has some."""
    sides = tuple(sides)
    if found := plain_positions(topic, sides):
        return found
    if pair := _around(one_line(topic)) if len(sides) == 2 else None:
        return dict(zip(sides, pair, strict=True))
    return _answers(topic, sides) if rehearsal else {}


def positions_for_and_against(topic: str, sides: Sequence[str]) -> dict[str, str]:
    """Side to its position, where the first of two sides is known to be for the topic and the second against it. Which
    of two options either argues for is not known: there they only give an answer each."""
    pair = _for_and_against(topic)
    return dict(zip(sides, pair, strict=True)) if pair else _answers(topic, sides)


def affirms(topic: str, position: str) -> bool:
    """Whether a position surely says yes to a topic: it is the topic word for word; or a question's own words, with the
    verb that begins it further back, as in "We should move"; or a sentence around the topic that is made here. Case,
    blanks and the last full stop do not count."""
    topic = _OR_NOT.sub("?", one_line(topic))
    asked, own = _plain_words(topic), _plain_words(position)
    if _YES_OR_NO.match(topic):
        verb, *rest = asked
        at = own.index(verb) if verb in own else 0
        stated = at > 0 and [*own[:at], *own[at + 1 :]] == rest
    else:
        stated = own == asked and not topic.endswith(_QUESTION_MARKS)
    pair = _around(topic)
    return stated or (pair is not None and own == _plain_words(pair[0]))


def denies(topic: str, position: str) -> bool:
    """Whether a position surely says no to a topic: it is the opposite that is made here, or what affirms the topic
    with a "not" in it, as in "It does not rain"."""
    pair, said = _for_and_against(topic), " ".join(_plain_words(position))
    if pair is not None and said == " ".join(_plain_words(pair[1])):
        return True
    without = said.replace(" does not ", " ", 1)
    if without != said and not one_line(topic).endswith(_QUESTION_MARKS):
        # "It rains" has an s that "It does not rain" lacks.
        one, other = ([word.removesuffix("s") for word in _plain_words(text)] for text in (without, topic))
        return one == other
    without = said.replace(" not ", " ", 1)
    return without != said and affirms(topic, without)


def _plain_words(text: str) -> list[str]:
    return one_line(text).lower().rstrip(" .!?。？؟").split()


def positions_or_model(
    topic: str, cast: Mapping[str, Sequence[str]], sides: Iterable[str]
) -> tuple[dict[str, str], str]:
    """The positions, where they are made without a model, or else the spec of the model that derives them; both empty
    where there is neither.

    The moderator derives them, otherwise the first judge or speaker that is no person. A stand-in and a host derive
    nothing: in their place the positions are plain ones, or else the next model derives them.
    """
    roles = (MODERATOR, JUDGE, *cast)
    specs = [spec for role in roles for spec in cast.get(role, ()) if spec != model_spec.HUMAN]
    models = [spec for spec in specs if model_spec.kind(spec) not in (model_spec.REHEARSE, model_spec.HOST)]
    if not models:
        return worded_positions(topic, sides, rehearsal=model_spec.is_rehearsal(cast)), ""
    if specs[0] != models[0] and (plain := plain_positions(topic, sides)):
        return plain, ""
    return {}, models[0]


def _should(topic: str) -> Pair | None:
    """The positions on "Should we move?" and "We should move."."""
    found = _QUESTION.fullmatch(topic) or _STATEMENT.fullmatch(topic)
    if found is None:
        return None
    what, negated = re.subn(r"\Anot ", "", found["what"], flags=re.IGNORECASE)
    if re.search(r"\b(?:or|not|never|only|whether)\b|\. |\A(?:and|of|in)\b", what, re.IGNORECASE):
        return None
    who = _capital(found["who"])
    pair = f"{who} should {what.rstrip(' .')}.", f"{who} should not {what.rstrip(' .')}."
    return pair[::-1] if negated else pair


def _comparison(topic: str) -> Pair | None:
    """The positions on "Tabs are better than spaces."."""
    found = _COMPARISON.fullmatch(topic)
    if found is None or _MORE_THAN_A_NAME.search(found["who"]):
        return None
    who, verb, what = _capital(found["who"]), found["verb"], found["what"]
    return f"{who} {verb} {what}.", f"{who} {verb} not {what}."


def _choice(topic: str) -> Pair | None:
    """The positions on "Should we merge or rebase?", "X or Y?" and "X vs Y for Z"."""
    if found := _TWO_VERBS.fullmatch(topic):
        who = _capital(found["who"])
        return f"{who} should {found['first']}.", f"{who} should {found['second']}."
    found = _TWO_OPTIONS.fullmatch(topic)
    if found is None or _MORE_THAN_A_NAME.search(f"{found['first']} {found['second']}"):
        return None
    choice = f"The better choice{found['end'] or ''} is"
    return f'{choice} "{found["first"]}".', f'{choice} "{found["second"]}".'


def _for_and_against(topic: str) -> Pair | None:
    """Positions that affirm and deny a topic; None where it asks for more than yes or no."""
    topic = _OR_NOT.sub("?", one_line(topic))
    return None if _choice(topic) else _should(topic) or _comparison(topic) or _around(topic)


def _around(topic: str) -> Pair | None:
    """Sentences around a topic that affirm and deny it; None where it asks for more than yes or no."""
    if not topic:
        return None
    if _YES_OR_NO.match(topic):
        return f'The answer to "{topic}" is yes.', f'The answer to "{topic}" is no.'
    if topic.endswith(_QUESTION_MARKS):
        return None
    return f"It is right that: {topic}", f"It is not right that: {topic}"


def _answers(topic: str, sides: Iterable[str]) -> dict[str, str]:
    return {side: f'An answer of {side.upper()} to "{one_line(topic)}"' for side in sides}


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]
