"""Finds the JSON object in a model's reply, and corrects its punctuation where that can't change the meaning.

A reply that is JSON as a whole is read as it is. In any other the object is what begins and ends with the code of the
turn, which the writer of the reply alone has (see `reply_code`); where no code is needed, what stands between the first
brace and the last. Private reasoning around it is left out; within it, a tag is a word.

A guess must never decide a debate. A reply may hold several such objects only if they are the same, and none may stand
within other braces, where it may be a draft. A writer may copy a text without escaping its quotation marks, and that
text may look like JSON. So a repair drops no bracket and no word but those of a comment that has neither marks nor
braces, and only the mark that is first in the object begins and ends texts. What it repairs: a comma that is missing at
the end of a line or is too many, single quotation marks, keys without marks or with an escaped underscore, Python's
None, True and False, and within texts line breaks, backslashes and quotation marks in places where no text may end. No
text may hold what could be a key of the object: it may have swallowed one that the writer wrote.

`with_backslashes` keeps commands of LaTeX whose backslash a model did not escape, also in valid JSON.
"""

from __future__ import annotations

import json
import re
from typing import Any, Literal, NamedTuple, cast

from debate_orchestrator.core.private_text import public_text
from debate_orchestrator.prompting.reply_code import ReplyCode, plain_key
from debate_orchestrator.util.data import strict_json
from debate_orchestrator.util.errors import short_repr

_MARK = re.compile(r"\0(\d+)\0")
"""Stands for an object with the code while the text around it is read."""
_WHOLE_FENCE = re.compile(r"```(?:json)?[ \t]*\r?\n(.*)\r?\n```", re.DOTALL)
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


def find_object(text: str, code: ReplyCode | None) -> FoundObject:
    """The JSON object of a reply: the one with the code, or the only one where no code is needed. A reply that is JSON
    of another type is returned as that value where no code is needed. Raises ValueError with the reason if there is no
    object, if there are several that differ, or if it can't be repaired without a guess; OnlyPrivateReasoning if
    nothing is left beside private reasoning, NotAlone if the object with the code is in that or within another, and
    NoCode if no object has the code."""
    cleaned = text.replace("\0", "").strip()
    bare = _without_fence(cleaned)
    value, problem = _strict(bare)
    if isinstance(value, dict) and (code is None or code.is_held_by(value) or code.is_among_sorted(value)):
        return value, [] if bare == cleaned else ["code fence left out"]
    marked, objects = _with_objects_marked(cleaned, code)
    public = public_text(marked, is_speech=False).text
    changes = [] if public == marked else ["private reasoning left out"]
    if not _without_fence(public):
        raise OnlyPrivateReasoning("the reply has no text outside private reasoning")
    if code is not None:
        found, change = _object_with_code(public, objects, code)
    elif 0 <= (start := public.find("{")) < (end := public.rfind("}")):
        found, change = _read(public[start : end + 1])
    elif problem:
        raise ValueError(problem)
    else:
        return value, []
    return found, [*changes, change]


def with_backslashes(text: str) -> tuple[str, list[str]]:
    """A model's reply with the backslashes escaped that it meant as such, and one short line if there are any."""
    escaped = _COMMAND.sub(r"\1\\\\", text)
    if _FORMULA.search(text):
        escaped = _COMMAND_OR_WORD.sub(r"\1\\\\", escaped)
    return escaped, [] if escaped == text else ["backslashes of LaTeX kept"]


def without_reasoning_around(text: str, code: ReplyCode | None) -> str:
    """A structured reply without the private reasoning around its object with the code."""
    marked, objects = _with_objects_marked(text.replace("\0", ""), code)
    return _MARK.sub(lambda mark: objects[int(mark[1])], public_text(marked, is_speech=False).text)


def _ends(code: ReplyCode) -> tuple[str, str]:
    """The patterns of the beginning and the end of an object with the code: a brace with the field that holds it, in
    any case, spacing and quotation marks, perhaps with a comment between them."""
    field, end_field = ("[\\W_]*".join(name.split("_")) for name in (code.field, code.end_field))
    gap = r"""(?:(?://|\#)[^\n{}"']*+|[^\w{}])*+"""
    return rf"\{{{gap}{field}[^\w{{}}]*+{code.text}\b", rf"\b{end_field}[^\w{{}}]*+{code.text}\b{gap}\}}"


def _with_objects_marked(text: str, code: ReplyCode | None) -> tuple[str, list[str]]:
    """A text with a mark in the place of each object with the code, also of one with faults, and these objects. One
    that is the only value of another takes that with it."""
    if code is None:
        return text, []
    objects, (begin, end) = list[str](), _ends(code)
    outer = r"(?P<outer>\{[^\w{}\[(]*+[\w -]{1,60}+[^\w{}\[(]*+)?"
    pattern = rf"(?is:{outer}{begin}(?:(?!{begin}).)*?{end}(?(outer)[^\w{{}}]*\}}))"

    def marked(match: re.Match[str]) -> str:
        objects.append(match[0])
        return f"\0{len(objects) - 1}\0"

    return re.sub(pattern, marked, text), objects


def _object_with_code(public: str, objects: list[str], code: ReplyCode) -> tuple[dict[str, Any], str]:
    """The object that the marks in a text stand for, and the change that was made to read it."""
    begin, end = (re.compile(pattern, re.IGNORECASE) for pattern in _ends(code))
    if not objects:
        has_begin, has_end = begin.search(public), end.search(public)
        raise NoCode("" if bool(has_begin) is bool(has_end) else code.end_field if has_begin else code.field)
    before, *pieces = _MARK.split(public)
    numbers, texts = pieces[::2], pieces[1::2]
    if not numbers:
        raise NotAlone("a tag of private reasoning stands around or beside the JSON object")
    goes_on = _has_open(texts[-1][::-1], "}") or texts[-1].lstrip("` \n").startswith(",")
    if _has_open(before, "{") or (before and goes_on):
        raise NotAlone("the JSON object with the code stands within other braces")
    codes_before, codes_after = (text.upper().count(code.text) for text in (before, " ".join(texts)))
    if codes_before > 1 or codes_after or end.search(before):  # prose may announce the code
        raise ValueError("the code occurs again beside the object that has it, as in another object with faults")
    (value, change), *others = [_read(objects[int(number)]) for number in numbers]
    if any(other != value for other, _ in others):
        raise ValueError("it holds JSON objects that differ")
    if not code.is_held_by(value):
        raise NoCode
    return value, change


def _has_open(text: str, opening: str) -> bool:
    """Whether a text opens a brace that it does not close; a text that is read backwards opens with the other one."""
    depth = 0
    for brace in re.findall("[{}]", text):
        depth = max(0, depth + (1 if brace == opening else -1))
    return depth > 0


def _read(text: str) -> tuple[dict[str, Any], str]:
    """The value of an object in a reply, and the change that was made to read it. Raises ValueError if it has a fault
    that can't be repaired, or a text of it may have swallowed a field."""
    value, problem = _strict(text)
    if not problem:
        return value, "text around the JSON object left out"
    json_text = _repaired_json(text)
    value = None if json_text is None else _strict(json_text)[0]
    if not isinstance(value, dict):
        raise ValueError(problem)
    return value, "punctuation of the JSON repaired"


def _strict(text: str) -> tuple[Any, str]:
    """The value of a JSON text, or None with the reason that it is not JSON."""
    try:
        return strict_json(text), ""
    except ValueError as error:
        return None, str(error)


def _without_fence(text: str) -> str:
    """The content of the code fence around a text, or the text itself if there is none."""
    fenced = _WHOLE_FENCE.fullmatch(text)
    return fenced[1].strip() if fenced else text


# Repairs

_CONSTANTS = {"None": "null", "True": "true", "False": "false", "null": "null", "true": "true", "false": "false"}
_SPACE = {mark: re.compile(rf"(?:\s++|(?://|\#)[^\n{{}}{mark}]*+(?=\n))*+") for mark in ('"', "'")}
"""White space, and comments without that mark up to the end of their lines."""
_TOKEN = re.compile(
    r"(?P<sign>[{}\[\]:,])|(?P<word>[^\W\d]\w*+)"
    r"|(?P<number>-?\d++(?:\.\d++)?+(?:[eE][+-]?\d++)?+)(?![\w.])"
)
_TO_ESCAPE = re.compile(r"""(?P<escaped>\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))|\\'|[\\"\x00-\x1f]""")
_QUOTED_COLON = re.compile(r"""\\["']\s*+:""")
"""A colon after an escaped quotation mark belongs to a quotation: no key ends with such a mark."""
_IN_NO_KEY = re.compile(r"""[\\"'{}\[\]:,\n]""")
_ESCAPED_UNDERSCORE = re.compile(r"\\(?=_)")
_KEY_LENGTH = 100
"""Characters that a key has at most."""
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
    keys = {plain_key(token.text) for token, after in pairs if after.is_sign(":")} - {""}
    any_key = re.compile(rf"\b(?:{'|'.join(' ?'.join(map(re.escape, key)) for key in keys) or '(?!)'}):")
    for token, after in pairs:
        if token.kind == "text" and not after.is_sign(":") and (key := _key_within(token.text, mark[0], any_key)):
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


def _key_within(text: str, mark: str, any_key: re.Pattern[str]) -> str:
    """The first key that a text has before a colon, as JSON does; empty if there is none. A text without a quotation
    mark has swallowed none, unless it begins with what follows a text of JSON."""
    if mark not in text and not _AFTER_A_TEXT.match(text):
        return ""
    words = re.sub(r"[\W_]+", lambda gap: ":" if ":" in gap[0] else " ", _QUOTED_COLON.sub(" ", text).casefold())
    key = any_key.search(words)
    return key[0].removesuffix(":") if key else ""


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
