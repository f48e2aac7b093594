"""Finds the JSON object in a model's reply, and corrects its punctuation where that can't change the meaning.

A reply that is JSON as a whole is read as it is. In any other, private reasoning is left out first, and the rest must
hold one object.

A guess must never decide a debate. A writer may copy a text without escaping its quotation marks, and that text may
look like JSON. So a repair drops no bracket and no word but those of a comment that has neither marks nor braces, and
only the mark that is first in the object begins and ends texts. What it repairs: a comma that is missing at the end of
a line or is too many, single quotation marks, keys without marks or with an escaped underscore, Python's None, True and
False, and within texts line breaks, backslashes and quotation marks in places where no text may end. No text may hold
what could be a key of the object: it may have swallowed one that the writer wrote.

`with_backslashes` keeps commands of LaTeX whose backslash a model did not escape, also in valid JSON.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Any, Literal, NamedTuple, cast

from debate_orchestrator.core.private_text import public_text
from debate_orchestrator.prompting.reply_code import ReplyCode, plain_key
from debate_orchestrator.util.data import strict_json
from debate_orchestrator.util.errors import short_repr

_MAX_WORK, _WORK_OF_START, _WORK_OF_DEPTH = 2_000_000, 400, 20_000
"""Characters that are read in vain where an object is looked for; and for how many of them a place counts where none
begins, since an error counts the lines before it, and a text that is too deep."""
_LEFT_OUT = "text around the JSON object left out"
_OBJECT_NUMBER = re.compile(r"\0(\d+)\0")
_WHOLE_FENCE = re.compile(r"```(?:json)?[ \t]*\r?\n(.*)\r?\n```", re.DOTALL)
_BEGINS_OBJECT = re.compile(r"\{[^{}:]{0,200}:")
_BRACE_OR_KEY = re.compile(r"""[{}]|["']\s*+:""")
_END_OF_OBJECT = re.compile(r"""["'`]?\s*+,?\s*+\}""")
_GOES_ON = re.compile(r"""[,\[]\Z|[^{}"']["']\s*+:\Z""")
"""The end of JSON that goes on with a value."""
_FENCE_OR_COMMENT = re.compile(r"(?:(?:\A|\n)[ \t]*+```\w*+|//[^\n]*|/\*[^*]*\*/)\s*+\Z")
_MAX_COMMENT = 300
"""Characters before an object in which such a line is looked for."""
_BACKSLASH = r"(?<!\\)((?:\\\\)*+)\\(?={})"
_COMMAND = re.compile(_BACKSLASH.format(
    r"[bfr][A-Za-z]|(?:n(?:abla|atural|eq|[lg]eq(?:q|slant)?|gtr|otin|preceq|succeq|[vV][dD]ash|su[bp]seteq"
    r"|(?:left|right|leftright|Left|Right|Leftright)arrow)"
    r"|t(?:anh|binom|ext(?:bf|it|rm|sf|tt)?|frac|heta|herefore|hickapprox|ilde|imes|riangle))(?![A-Za-z])"
))  # fmt: skip
"""A backslash that its writer did not escape, before what begins a command of LaTeX: no one means a backspace, a form
feed or a carriage return before a letter, nor a line break or a tab before the rest of such a command."""
_COMMAND_OR_WORD = re.compile(_BACKSLASH.format(
    r"(?:n(?:cong|exists|less|mid|ot|parallel|sim|su[bp]set)|t(?:an|au|o|op)"
    r"|neg(?![).])|ne(?!\)|\.[g\s])|ni(?!\)|\.[e\s])|nu(?!\. ?a\.))(?![A-Za-z])"
))  # fmt: skip
"""One before a command whose rest may be a word. It is a command only in a text with a formula."""
_FORMULA = re.compile(r"\$[^$]+\$|\\(?:[(\[]|begin\{)")


class OnlyPrivateReasoning(ValueError):
    """A reply holds private reasoning and nothing else."""


class NotAlone(ValueError):
    """The object with the code does not count for what stands around or beside it, which the text says."""


class NoCode(ValueError):
    """No object in a reply has the code of its turn. The text is the field that lacks it, if it is one of the two."""


FoundObject = tuple[Any, list[str]]
"""A JSON value, and one short line for each change that was made to read it."""


class _Span(NamedTuple):
    """An object in a text."""

    start: int
    stop: int
    value: dict[str, Any] | None
    """None for one that is not strict JSON, such as one with a key that is written twice."""


def find_object(text: str, code: ReplyCode | None) -> FoundObject:
    """The JSON object of a reply: the one with the code, or the only one where no code is needed. A reply that is JSON
    of another type is returned as that value where no code is needed. Raises ValueError with the reason if there is no
    object, if there are several that differ, or if it can't be repaired without a guess; OnlyPrivateReasoning if
    nothing is left beside private reasoning, and NotAlone if the object with the code is in that or within another."""
    cleaned = text.replace("\0", "").strip()
    bare = _without_fence(cleaned)
    value, problem = _strict(bare)
    if isinstance(value, dict) and (code is None or code.is_held_by(value) or code.is_among_sorted(value)):
        return value, [] if bare == cleaned else ["code fence left out"]
    public, may_be_cut = _without_reasoning(cleaned, code)
    if may_be_cut:
        raise NotAlone("a tag of private reasoning stands around or beside the JSON object")
    if not _without_fence(public):
        raise OnlyPrivateReasoning("the reply has no text outside private reasoning")
    changes = [] if public == cleaned else ["private reasoning left out"]
    objects = _objects(public)
    with_code = [span for span in objects if (span.value if code is None else code.is_held_by(span.value))]
    if with_code and (found := _only(public, objects, with_code, code, cleaned)) is not None:
        return found, [*changes, _LEFT_OUT]
    part, is_alone = _faulty_object(public, objects, code)
    if part not in cleaned:
        raise ValueError("private reasoning is within the JSON object")
    if (repaired := _repaired(part)) is not None and (code is None or code.is_held_by(repaired)):
        is_valid = not _strict(part)[1]
        return repaired, [*changes, _LEFT_OUT if is_valid else "punctuation of the JSON repaired"]
    if not is_alone:
        raise NotAlone("the JSON object with the code stands within other braces")
    if code is not None and not part and _faulty_object(cleaned, _objects(cleaned), code)[0]:
        raise NotAlone("a tag of private reasoning stands around or beside the JSON object")
    value, problem = _strict(part or bare)
    if code is not None and not (part and problem):
        raise NoCode(code.missing_end(value))
    if problem:
        raise ValueError(problem)
    return value, []


def with_backslashes(text: str) -> tuple[str, list[str]]:
    """A model's reply with the backslashes escaped that it meant as such, and one short line if there are any."""
    escaped = _COMMAND.sub(r"\1\\\\", text)
    if _FORMULA.search(text):
        escaped = _COMMAND_OR_WORD.sub(r"\1\\\\", escaped)
    return escaped, [] if escaped == text else ["backslashes of LaTeX kept"]


def without_reasoning_around(text: str) -> str:
    """A structured reply without the private reasoning around its object. No character of it is NUL. A tag within an
    object that is valid JSON is a word of the object, so a number between NULs takes the place of the object while the
    tags are read. An object in private reasoning goes with it."""
    return _without_reasoning(text, None)[0]


def _without_reasoning(text: str, code: ReplyCode | None) -> tuple[str, bool]:
    """As `without_reasoning_around`, and whether what follows reasoning that no tag began may be the rest of an object
    with the code: its tag may be a word of that object."""
    marked, index, spans = "", 0, _objects(text)
    for number, span in enumerate(spans):
        marked += f"{text[index : span.start]}\0{number}\0"
        index = span.stop
    marked += text[index:]
    public, objects = public_text(marked, is_speech=False), [text[span.start : span.stop] for span in spans]
    end = re.search(code.text, public.text, re.IGNORECASE) if code and public.has_unpaired_tag else None
    may_be_cut = end is not None and _END_OF_OBJECT.match(public.text, end.end()) is not None
    return _OBJECT_NUMBER.sub(lambda match: objects[int(match[1])], public.text), may_be_cut


def _strict(text: str) -> tuple[Any, str]:
    """The value of a JSON text, or None with the reason that it is not JSON."""
    try:
        return strict_json(text), ""
    except ValueError as error:
        return None, str(error)


def _only(
    text: str, objects: list[_Span], with_code: list[_Span], code: ReplyCode | None, cleaned: str
) -> dict[str, Any] | None:
    """The object of those `with_code`, which must be the same; None if an object around them may hold them, such as a
    draft. Raises ValueError if the text may hold another one beside them, or if the `cleaned` reply does not contain an
    object as it is: its parts may then come from two objects."""
    if any(text[span.start : span.stop] not in cleaned for span in with_code):
        raise ValueError("private reasoning is within the JSON object")
    rest, first, last = _blanked(text, with_code), with_code[0], with_code[-1]
    if any(span.value != first.value for span in with_code) or (code is None and _BEGINS_OBJECT.search(rest)):
        raise ValueError("it holds JSON objects that differ")
    if code is None:
        return first.value
    places = [place.start() for place in re.finditer(code.text, rest, re.IGNORECASE)]
    if len(places) > 1 or any(place > text.find("{") for place in places):  # Prose may announce the code.
        raise ValueError("the code occurs again beside the object that has it, as in another object with faults")
    return first.value if _is_alone(text, objects, first.start, last.stop) else None


def _is_alone(text: str, objects: list[_Span], start: int, stop: int) -> bool:
    """Whether no other object can hold what stands between two places. One that does begins before it, with a brace
    or a key; and more of these follow, or a key, a comma or a bracket stands right before. What else is before it does
    not tell, since prose may hold code and quotations."""
    before = text[:start].rstrip()
    end = _FENCE_OR_COMMENT.sub("", before[-_MAX_COMMENT:]).rstrip()
    after = _blanked(text, [span for span in objects if span.start >= stop])[stop:].strip("` \n")
    if (end, after) == ("[", "]"):
        return True
    if (before and after.startswith((",", "]", "}"))) or (_BRACE_OR_KEY.search(before) and _BRACE_OR_KEY.search(after)):
        return False
    is_new_paragraph = "\n\n" in text[len(before) : start].replace("\r", "")
    signs = ('":', "':", ",", "[", "(") if is_new_paragraph else (":", ",", "[", "(")
    if before.count("{") > before.count("}") and end.endswith(signs):
        return False
    goes_on = not is_new_paragraph and any(_GOES_ON.search(line) for line in (before, end))
    return not goes_on or len(_BRACE_OR_KEY.findall(before)) < 2


def _objects(text: str) -> list[_Span]:
    """The objects in a text that are JSON and not part of another such object."""
    decoder, objects, start, end, work = json.JSONDecoder(), list[_Span](), text.find("{"), 0, 0
    while start >= 0 and work < _MAX_WORK:
        try:
            _, end = decoder.raw_decode(text, start)
            objects.append(_Span(start, end, _strict(text[start:end])[0]))
        except (ValueError, RecursionError) as error:  # also of a number with thousands of digits
            work += _WORK_OF_START + error.pos - start if isinstance(error, json.JSONDecodeError) else _WORK_OF_DEPTH
            end = start + 1
        start = text.find("{", end)
    return objects


def _blanked(text: str, spans: Sequence[_Span]) -> str:
    """The text with spaces in place of these."""
    for span in spans:
        text = f"{text[: span.start]}{' ' * (span.stop - span.start)}{text[span.stop :]}"
    return text


def _faulty_object(text: str, objects: list[_Span], code: ReplyCode | None) -> tuple[str, bool]:
    """The part of a text that may be its faulty object, and whether no other may hold it: from the first brace to the
    last; with a code, from the brace before the first code to that after the last, unless others may hold these."""
    first, last, is_alone = text.find("{"), text.rfind("}"), True
    if code is not None:
        places = [place.span() for place in re.finditer(code.text, text, re.IGNORECASE) if place.start() > first]
        if first < 0 or len(places) < 2:
            return "", True
        (begin, _), (_, end) = places[0], places[-1]
        around = next((span for span in objects if span.start < begin < span.stop), None)
        if around and not code.is_held_by(around.value):
            return text[around.start : around.stop], around.value is None or code.is_among(around.value)
        inner, after = text.rfind("{", 0, begin), text.find("}", end)
        is_alone = min(inner, after) < 0 or _is_alone(text, objects, inner, after + 1)
        if not is_alone and (inner, after) == (first, last):  # private reasoning took the rest of the other one
            return "", False
        first, last = (inner, after) if is_alone else (first, last)
    return text[first : last + 1] if 0 <= first < last else "", is_alone


def _without_fence(text: str) -> str:
    """The content of the code fence around a text, or the text itself if there is none."""
    fenced = _WHOLE_FENCE.fullmatch(text)
    return fenced[1].strip() if fenced else text


def _repaired(text: str) -> dict[str, Any] | None:
    """The object after a repair of its punctuation, or None. Raises ValueError if a text of it may have swallowed a
    field."""
    json_text = _repaired_json(text)
    value = None if json_text is None else _strict(json_text)[0]
    return value if isinstance(value, dict) else None


# Repairs

_CONSTANTS = {"None": "null", "True": "true", "False": "false", "null": "null", "true": "true", "false": "false"}
_SPACE = {mark: re.compile(rf"(?:\s++|(?://|\#)[^\n{{}}{mark}]*+(?=\n))*+") for mark in ('"', "'")}
"""White space, and comments without that mark up to the end of their lines."""
_TOKEN = re.compile(
    r"(?P<sign>[{}\[\]:,])|(?P<word>[^\W\d]\w*+)"
    r"|(?P<number>-?\d++(?:\.\d++)?+(?:[eE][+-]?\d++)?+)(?![\w.])"
)
_TO_ESCAPE = re.compile(r"""(?P<escaped>\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))|\\'|[\\"\x00-\x1f]""")
_WORD_OR_COLON = re.compile(r"""(?P<word>[^\W_]++)|\\["']\s*+:|(?P<colon>:)""")
"""A word, or a colon. One after an escaped quotation mark belongs to a quotation: no key ends with such a mark."""
_IN_NO_KEY = re.compile(r"""[\\"'{}\[\]:,\n]""")
_ESCAPED_UNDERSCORE = re.compile(r"\\(?=_)")
_KEY_LENGTH = 100
"""Characters that a key has at most."""
_WORDS_IN_KEY = 8
_AFTER_A_TEXT = re.compile(r"\s*[,:}\]]|[\s/]")


class _Token(NamedTuple):
    kind: Literal["sign", "word", "number", "text", ""]
    text: str
    """The token as it is written; of a text, the part between its marks."""
    after_break: bool = False
    """Whether a line ends between it and the token before."""

    def is_sign(self, signs: str) -> bool:
        return self.kind == "sign" and self.text in signs


_NOTHING = _Token("", "")


def _repaired_json(text: str) -> str | None:
    """The repaired object as JSON; None if more is at fault. Raises ValueError if a text may have swallowed a key."""
    mark = re.search("[\"']", text)
    tokens = _tokens(text, mark[0]) if mark else None
    if mark is None or tokens is None:
        return None
    pairs = list(zip(tokens, [*tokens[1:], _NOTHING], strict=True))
    keys = {plain_key(token.text) for token, after in pairs if after.is_sign(":")}
    for token, after in pairs:
        if token.kind == "text" and not after.is_sign(":") and (key := _key_within(token.text, mark[0], keys)):
            raise ValueError(f"a text with quotation marks holds the key {short_repr(key)}")
    return _joined(tokens)


def _tokens(text: str, mark: str) -> list[_Token] | None:
    """The tokens of an object whose texts are between such marks; None if something else is in it."""
    tokens, index = list[_Token](), 0
    while (start := _after_space(text, index, mark)) < len(text):
        after_break = "\n" in text[index:start]
        if text[start] == mark:
            end = _end_of_text(text, start + 1, mark)
            if end is None:
                return None
            tokens.append(_Token("text", _ESCAPED_UNDERSCORE.sub("", text[start + 1 : end]), after_break))
            index = end + 1
        elif token := _TOKEN.match(text, start):
            kind = cast(Literal["sign", "word", "number"], token.lastgroup)
            tokens.append(_Token(kind, token[0], after_break))
            index = token.end()
        else:
            return None
    return tokens


def _after_space(text: str, index: int, mark: str) -> int:
    space = _SPACE[mark].match(text, index)
    return space.end() if space else index


def _end_of_text(text: str, index: int, mark: str) -> int | None:
    """The place of the mark that ends this text: the first before punctuation, or before a line with a key."""
    key = re.compile(rf"{mark}[^{mark}\\\n]{{1,{_KEY_LENGTH}}}{mark}\s*+:")
    for place in re.compile(rf"\\.|{mark}", re.DOTALL).finditer(text, index):
        if place[0] == mark:
            after = _after_space(text, place.end(), mark)
            if text[after : after + 1] in set(",:]}") or ("\n" in text[place.end() : after] and key.match(text, after)):
                return place.start()
    return None


def _key_within(text: str, mark: str, keys: set[str]) -> str:
    """The first of `keys` that a text has before a colon, as JSON does; empty if there is none. A text without a
    quotation mark has swallowed none, unless it begins with what follows a text of JSON."""
    if mark not in text and not _AFTER_A_TEXT.match(text):
        return ""
    words = list[str]()
    for part in _WORD_OR_COLON.finditer(text):
        if part["word"]:
            words = [*words[1 - _WORDS_IN_KEY :], part["word"].casefold()]
        elif part["colon"]:
            ends = ("".join(words[n:]) for n in range(len(words)))
            if key := next((end for end in ends if end in keys), ""):
                return key
    return ""


def _joined(tokens: list[_Token]) -> str | None:
    """The tokens as JSON, commas corrected; None for a stray word, or a key with a mark or punctuation in it."""
    parts = list[str]()
    for before, token, after in zip([_NOTHING, *tokens], tokens, [*tokens[1:], _NOTHING], strict=False):
        is_key = after.is_sign(":") and token.kind in ("text", "word")
        if is_key and _IN_NO_KEY.search(token.text):
            return None
        if is_key and token.after_break and not before.is_sign("{[,:"):
            parts.append(",")
        if token.kind == "text":
            parts.append(f'"{_TO_ESCAPE.sub(_escaped, token.text)}"')
        elif token.kind == "word":
            json_word = json.dumps(token.text) if is_key else _CONSTANTS.get(token.text)
            if json_word is None:
                return None
            parts.append(json_word)
        elif not (token.is_sign(",") and after.is_sign("]}")):
            parts.append(token.text)
    return " ".join(parts)


def _escaped(match: re.Match[str]) -> str:
    """The JSON of an escape, or of a character that has to be escaped."""
    return match[0] if match["escaped"] else "'" if match[0] == "\\'" else json.dumps(match[0])[1:-1]
