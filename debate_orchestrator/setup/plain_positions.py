"""Positions on a topic, made without a model. "Should we move?" gives "We should move." and the opposite.

These plain ones are only made where the grammar is certain: of a question with "should" whose subject ends where a list
of words says so, of a statement with one verb, and of a choice between two things that are named alike. For any other
topic the positions are sentences around it, where it can be affirmed or denied.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence

from debate_orchestrator.core.phases import JUDGE
from debate_orchestrator.core.settings import MODERATOR
from debate_orchestrator.util import model_spec
from debate_orchestrator.util.sanitize import one_line


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_SHOULD = re.compile(r"should\s+([^?]+)\??", re.IGNORECASE)
_OR_NOT = re.compile(r",? or not ?\??\Z", re.IGNORECASE)
_OPTIONS = re.compile(r"([^?!,;:]+?)\s+(?:or|vs\.?|versus)\s+([^?!,;:.]+)\??", re.IGNORECASE)
_MOST_OPTION_WORDS = 3
_AFTER_QUESTION = re.compile(r"(?:which|what)\b[^,:]*[,:]\s*(\S.*?)\s+or\s+(\S.*?)\s*\??", re.IGNORECASE)
_MOST_SUGGESTED = 200
"""Characters of a topic whose options are looked for: the time for the next three takes the square of them."""
_COMPARED = re.compile(
    r"(?:is|are)\s+(\S.*?)\s+or\s+(\S.*?)\s+(?:the\s+)?(?:best|better|cheaper|faster|right|safer|simpler)\b.*",
    re.IGNORECASE,
)
_LAST_WORDS = re.compile(r".*?(\S+)\s+or\s+(\S+?)\s*\??", re.IGNORECASE)
"""Where the two options of a question stand."""
_PRONOUNS = _words("i we you they he she it everyone everybody")
_VERBS = _words(
    "abandon abolish acquire adopt allow be become choose consolidate continue create deploy deprecate develop"
    " discontinue eliminate encourage enforce ensure expand forbid give go have hire"
    " implement impose introduce invest join keep learn legalise legalize"
    " maintain make migrate move postpone prefer prohibit provide reduce receive regulate reject remain remove replace"
    " require retire rewrite teach write"
)
"""Verbs that hardly ever end a subject."""
_NOUNS_TOO = _words("ban build pay permit stop switch use")
"""Verbs that a subject may well end with: taken after a name or a plural alone, and after a determiner and one word
where what follows is no noun that the verb could belong to."""
_GROUPS = _words("city company country department government group organisation organization school state team")
"""Who may do something, so that a verb follows."""
_WITH_OBJECT = _words("adopt build buy choose develop hire keep lease rebuild refactor rent replace rewrite use")
"""Verbs that take the object of another one, as in "buy or build the tool"."""
_DETERMINERS = _words("a an the this that these those our my your their his her its every each any no")
_PREPOSITIONS = _words("as at by for from in inside on over to under with within without")
_UNSURE = _words("or not to that which who whom whose what where when while if and/or")
"""Words with which it is not sure what is asked, or where its subject ends."""
_NEGATIVE = _words("no nobody none nothing neither nor never not few only hardly")
"""Words of a subject that can't be negated by a `not` behind its verb."""
_CLAUSE = _words("is are was were do does did can could will would should must may might has have had me us how why")
"""Words of a clause, which two options that are named alike do not have."""
_SECOND_QUESTION = re.compile(r",\s*(?:and|but|if|so|when|how)\b", re.IGNORECASE)
_SPLITS = re.compile(r"[,;:?!]|\b(?:or|and|but|because|unless|although|whether|if|than that)\b", re.IGNORECASE)
"""What may join a second sentence to a statement."""


Pair = tuple[str, str]
"""The positions of the first and the second side."""


_YES_OR_NO = re.compile(
    r"(?:is|are|was|were|do|does|did|can|could|will|would|should|has|have|had|may|might|must|need)\b(?!.*\bor\b)",
    re.IGNORECASE,
)
"""How a question begins whose answer is yes or no."""
_QUESTION_MARKS = ("?", "？", "؟")


def plain_positions(topic: str, sides: Iterable[str]) -> dict[str, str]:
    """Side to its plain position; empty if none can be made for sure."""
    topic = _OR_NOT.sub("?", one_line(topic))
    pair = of_should(topic) or _of_choice(topic) or _of_options(topic) or _of_statement(topic)
    return dict(zip(sides, pair or (), strict=False))


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


def _for_and_against(topic: str) -> Pair | None:
    """Positions that affirm and deny a topic; None where it asks for more than yes or no."""
    topic = _OR_NOT.sub("?", one_line(topic))
    is_choice = _of_choice(topic) or _of_options(topic)
    return None if is_choice else of_should(topic) or _of_statement(topic) or _around(topic)


def affirms(topic: str, position: str) -> bool:
    """Whether a position surely says yes to a topic: it is the topic word for word, or what is made here of the topic
    for its first side. Case, blanks and the last full stop do not count. Words in common show nothing: "We can move"
    and "We can't move" have most of them."""
    pair, own = _for_and_against(topic), _word_for_word(position)
    is_motion = not own.endswith(_QUESTION_MARKS) and own == _word_for_word(topic)
    return is_motion or (pair is not None and own == _word_for_word(pair[0]))


def _word_for_word(text: str) -> str:
    return " ".join(text.split()).rstrip(" .!。").lower()


def _answers(topic: str, sides: Iterable[str]) -> dict[str, str]:
    return {side: f'An answer of {side.upper()} to "{one_line(topic)}"' for side in sides}


def _around(topic: str) -> Pair | None:
    """Sentences around a topic that affirm and deny it; None where it asks for more than yes or no."""
    if not topic:
        return None
    if _YES_OR_NO.match(topic):
        return f'The answer to "{topic}" is yes.', f'The answer to "{topic}" is no.'
    if topic.endswith(_QUESTION_MARKS):
        return None
    return f"It is right that: {topic}", f"It is not right that: {topic}"


def suggested_positions(topic: str) -> Pair | None:
    """Positions for a person to look at, of a question that names two options in plain words but asks more than the
    grammar here is sure of; None where the options can't be told."""
    topic = one_line(topic)
    if len(topic) > _MOST_SUGGESTED:
        return None
    found = _AFTER_QUESTION.fullmatch(topic) or _COMPARED.fullmatch(topic)
    if found is None and (found := _LAST_WORDS.fullmatch(topic)) and not _are_alike(found[1], found[2]):
        return None
    options = [found[1].split(), found[2].split()] if found else []
    words = {word.lower() for option in options for word in option}
    if not options or words & (_UNSURE | _NEGATIVE | _PRONOUNS | _CLAUSE):
        return None
    if not all(re.fullmatch(r"[\w.+#/-]+", word) for word in words) or max(map(len, options)) > _MOST_OPTION_WORDS:
        return None
    first, second = (" ".join(option) for option in options)
    return f"Choose {first}, not {second}.", f"Choose {second}, not {first}."


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


def _of_choice(topic: str) -> Pair | None:
    """The positions on "Should we X or Y?", where both are verbs, or things that one verb and one ending go with."""
    found = _SHOULD.fullmatch(topic.strip())
    words = found[1].split() if found else []
    plain = [word.lower() for word in words]
    if plain.count("or") != 1 or plain[0] not in _PRONOUNS or _NEGATIVE & {*plain} or re.search("[,;:]", topic):
        return None
    at = plain.index("or")
    first, second = words[1:at], words[at + 1 :]
    verbs = _VERBS | _NOUNS_TOO | _WITH_OBJECT
    if not first or not second:
        return None
    if len(first) == len(second) == 1:  # what stands alone behind the subject is a verb
        choices = first, second
    elif first[0].lower() not in verbs:
        return None
    elif second[0].lower() in verbs:
        alone = len(first) == 1 and len(second) > 1
        if alone and not {first[0].lower(), second[0].lower()} <= _WITH_OBJECT:
            return None
        choices = [*first, *(second[1:] if alone else [])], second
    elif len(first) == 2 and _are_alike(first[1], second[0]) and (len(second) == 1 or plain[at + 2] in _PREPOSITIONS):
        choices = [*first, *second[1:]], [first[0], *second]
    else:
        return None
    a, b = (f"{_capital(words[0])} should {' '.join(choice)}." for choice in choices)
    return a, b


def _are_alike(first: str, second: str) -> bool:
    """Whether two options are surely things, names or plurals: another word may be a verb, as in "hire now or wait"."""
    return all(word[0].isupper() for word in (first, second)) or all(word.endswith("s") for word in (first, second))


def _of_options(topic: str) -> Pair | None:
    """The positions on "X vs Y for Z" and "X or Y"."""
    found = _OPTIONS.fullmatch(topic.strip().rstrip("."))
    if found is None:
        return None
    first, rest = found[1].split(), found[2].split()
    at = next((n for n, word in enumerate(rest) if word.lower() in _PREPOSITIONS), len(rest))
    second, ending = rest[:at], rest[at:]
    used = {word.lower() for word in (*first, *rest)}
    if not second or used & (_UNSURE | _NEGATIVE | _PRONOUNS | _CLAUSE | {"vs", "vs.", "versus"}):
        return None
    if max(len(first), len(second)) > _MOST_OPTION_WORDS:
        return None
    choice = " ".join(["The better choice", *ending, "is"])
    # A capital at the beginning of a topic may be that of a name or not: what is quoted can keep it.
    mark = '"' if _capital(first[0].lower()) == first[0] and not second[0][0].isupper() else ""
    return f"{choice} {mark}{' '.join(first)}{mark}.", f"{choice} {mark}{' '.join(second)}{mark}."


def _of_statement(topic: str) -> Pair | None:
    """The positions on "We should move." and "X is better than Y.": the statement, and its negation."""
    statement = topic.strip().rstrip(".").rstrip()
    found = re.fullmatch(r"(\S+(?: \S+){0,6}?) (should|is|are)( not)? (\S.*)", statement)
    if found is None or _SPLITS.search(statement) or ". " in statement:
        return None
    who, verb, negated, what = found.groups()
    if {*who.lower().split()} & (_NEGATIVE | _UNSURE | _words("is are do does should must why how there")):
        return None
    if {*what.lower().split()} & (_NEGATIVE | _words("should must is are that which who")):
        return None
    positions, denied = f"{_capital(who)} {verb} {what}.", f"{_capital(who)} {verb} not {what}."
    return (denied, positions) if negated else (positions, denied)


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]


def of_should(topic: str) -> Pair | None:
    """The positions on "Should we move?"; None where it is not sure who should do what."""
    found = _SHOULD.fullmatch(topic.strip())
    words = found[1].split() if found else []
    plain = [word.strip(",;:").lower() for word in words]
    if "or" in plain or "not" in plain or _SECOND_QUESTION.search(topic):
        return None
    end = _end(words, plain)
    if not 0 < end < len(words) or _UNSURE & {*plain[:end]} or plain[end] in ("and", "of", "in", *_UNSURE, *_NEGATIVE):
        return None
    who, what = _capital(" ".join(words[:end])), " ".join(words[end:]).rstrip(" .!")
    return f"{who} should {what}.", f"{who} should not {what}."


def _end(words: list[str], plain: list[str]) -> int:
    """How many words the subject has; 0 if that is not sure."""
    if len(words) < 2:
        return 0
    alone = plain[0] not in _DETERMINERS and (words[0][0].isupper() or plain[0].endswith("s"))
    if plain[0] in _PRONOUNS or (alone and plain[1] in _NOUNS_TOO and not _VERBS & {*plain[2:]}):
        return 1
    if _group_does(words, plain):
        return 2
    end = next((n for n, word in enumerate(plain) if word in _VERBS), 0)
    return 0 if end and (plain[end - 1] in _DETERMINERS or _NOUNS_TOO & {*plain[:end]}) else end


def _group_does(words: list[str], plain: list[str]) -> bool:
    """Whether a question is like "our team use Rust": a determiner and one word, a verb, and its object."""
    if len(words) < 4 or plain[0] not in _DETERMINERS or plain[2] not in _NOUNS_TOO or _VERBS & {*plain[3:]}:
        return False
    return plain[1] in _GROUPS or plain[3] in _DETERMINERS or words[3][0].isupper()
