"""Private reasoning, left out of a reply: a model's thoughts before and between what it says to others.

A format may name a tag of its own and tell its speakers so. That tag is private everywhere, to the end of the
text if it is not closed.

Models also have tags of their own (`<think>`, `[THINK]`, `<|channel|>analysis`, ...), which a speech may mention:

- A pair counts where it begins a line or follows the end of a sentence. A pair of tokens (`<|...|>`) counts anywhere.
- An opening tag that is never closed counts only where nothing was said before it: then all of the text is private.
- A closing tag alone counts where it begins or ends a line that is not a block quote. It makes all before it private,
  since some templates open the reasoning themselves.
- In a closed code fence none counts. Reasoning ends at its closing tag, also in code: its fences pair with none
  outside.
- A pair of tags of the form `<think>` has one name.
- At the start of a reply, reasoning that a server or a command marks in words (`analysis...assistantfinal`,
  `Thinking... ...done thinking.`) counts like a pair.

The tokens with which models end a message, and the tag around a whole answer, are left out too.

All this is about speeches. Around the object of a structured reply every tag counts, wherever it stands: an object that
may be a draft is asked for again. Within its texts tags are words: only a pair with which a text begins is left out,
once, when the reply is read.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import NamedTuple

from debate_orchestrator.util.sanitize import sanitize

_PREFIX = r"(?:\w{1,16}:|ant|longcat_)?"
_NAMES = (
    r"(?:think(?:ing)?|thoughts?(?:[_-]process)?|reasoning|reflection|analysis"
    r"|scratch[_-]?pad|(?:inner|internal)[_-]monologue|chain[_-]of[_-]thought)"
)
_TURN = r"<\|(?:start|begin)\|>\s{0,8}assistant\s{0,8}"
_CHANNEL = rf"(?:{_TURN})?<\|channel\|>\s{{0,8}}"
_HEADER = r"(?:(?:[^<>\n]|<\|constrain\|>){0,80}<\|message\|>)?"
_MODEL_TAGS = (
    # Claude, DeepSeek, Qwen, GLM, Seed, Hermes and many more
    (
        "tag",
        rf"<\s{{0,8}}{_PREFIX}(?P<name>{_NAMES})(?:\s[^<>]{{0,200}})?>",
        rf"<\s{{0,8}}/\s{{0,8}}{_PREFIX}{_NAMES}\s{{0,8}}>",
    ),
    # llama.cpp's command
    ("command", r"(?-i:\[Start thinking\])(?=\r?\n)", r"(?-i:\[End thinking\])(?!\S)"),
    # Kimi
    ("kimi", r"◁\s{0,8}think(?:ing)?\s{0,8}▷", r"◁\s{0,8}/\s{0,8}think(?:ing)?\s{0,8}▷"),
    # Magistral
    ("square", r"(?-i:\[THINK(?:ING)?\])", r"(?-i:\[/THINK(?:ING)?\])"),
    # gpt-oss, Solar
    (
        "channel",
        rf"{_CHANNEL}(?:analysis|commentary)\b{_HEADER}|<\|think\|>",
        rf"(?:<\|end\|>\s{{0,8}})?(?:{_CHANNEL}final\b{_HEADER}|{_TURN}<\|content\|>)|<\|end\|>",
    ),
    # Gemma
    ("one_bar", r"<\|channel>\s{0,8}(?:thought|thinking|analysis)\b", r"<channel\|>"),
    # Command, OpenThinker, Apertus
    (
        "token",
        r"<\|(?:start_thinking|begin_of_thought|inner_prefix)\|>",
        r"<\|(?:end_thinking|end_of_thought|inner_suffix)\|>",
    ),
)
"""The tags that models are known to use: a kind, what opens reasoning of that kind, and what closes it."""
_TOKEN_KINDS = {"channel", "one_bar", "token", "command"}
"""Kinds whose tags are special tokens of a model, or marks of a command, which count anywhere."""
_END_OF_MESSAGE = re.compile(
    r"(?:(?:\A|\s*\n)[ \t]*+(?:\[ Prompt: [^\n]{1,80} t/s \]|Exiting\.\.\.|Token usage: \d[^\n]{1,80} total"
    r"|={10}|(?:Prompt|Generation): \d+ tokens, [\d.]+ tokens-per-sec|Peak memory: [\d.]+ GB)[ \t]*+(?=\n|\Z)"
    r"|\s*+(?:<[|｜](?!\w*(?:think|thought|inner|channel|message|start|begin|constrain))[\w▁]{1,40}[|｜]>"
    r"|<(?:seed:)?eos>|<end_of_turn>|<turn\|>|</(?:s|longcat_s)>|\[(?:end of text|\|endofturn\|)\]|\[e~\[))+\s*+\Z",
    re.IGNORECASE,
)
"""The tokens with which models end a message, where a server shows them, and what the commands of llama.cpp, Docker and
MLX print behind one."""
_REASONING_IN_WORDS = re.compile(
    r"\s*(?:(?:(?:assistant)?(?:analysis|commentary)(?=[^\s:]).*?)?assistantfinal"
    r"|Thinking\.\.\.\r?\n.*?\n\.\.\.done thinking\.(?!\S)|Thinking:\n.*?\n\n--\n\n"
    r"|Here(?:'s| is) my thought process:.*?Here(?:'s| is) my response:)",
    re.DOTALL,
)
"""What is left of the channels of gpt-oss where a server drops the tokens; what `ollama run` and `docker model run`
print; the words of Granite."""
_OPEN_REASONING_IN_WORDS = re.compile(r"\s*(?:analysis(?=[^\s:.,])|Thinking\.\.\.\r?\n).*", re.DOTALL)
"""The same without its end. A speech may begin so."""
_MAY_OPEN_REASONING = re.compile(
    r"\s*(?:analysis(?=[^\s:.,])|Thinking(?:\.\.\.|:)\r?\n|Here(?:'s| is) my thought process:).*", re.DOTALL
)
"""What is not shown while it is written: its end may yet come."""
_RULE_BEFORE_ANSWER = re.compile(r"\s*={10}\r?\n")
"""What MLX' command prints before an answer."""
_ANSWER = re.compile(
    r"\s*<(?:(answer|response)>(?!.*<\1>)(?P<text>.*)</\1>|\|(?:START_RESPONSE|begin_of_solution)\|>(?P<rest>.*))\s*",
    re.DOTALL,
)
"""The answer of Hunyuan, ERNIE, Command, OpenThinker, and of models that are trained like R1."""
_FORMAT_TAG, _END = "own", "_end"
_FENCE = re.compile(r" {0,3}(`{3,}(?=[^`]*\Z)|~{3,})(.*)", re.DOTALL)
_TAG_START = re.compile(r"(?:\n|[.!?…。！？][*_\"'”’»)\]]{0,3})[ \t]*\Z")
"""The end of the text before a tag that begins a line, or follows the end of a sentence."""
_MAX_PAIRINGS = 20
"""The maximum number of times the code fences of a text are paired again after private reasoning that contains one."""
_CONTEXT_LENGTH = 40
"""Characters beside a tag, and at the beginning of its line, that are looked at."""
_UNFINISHED = re.compile(r"(?:[<◁\[][^\n▷\]]{0,300}|<[^<>]{0,300})\Z")
"""The end of a text that may be the beginning of a tag, which may be broken over lines."""


class PublicText(NamedTuple):
    """The part of a reply that is meant for others: without private reasoning, but not yet cut to a limit of words as
    `VisibleText` is."""

    text: str
    had_private: bool = False
    """Whether private reasoning was left out of it."""
    has_unpaired_tag: bool = False
    """Whether a closing tag without an opening one made all before it private, or private reasoning begins after other
    text and is never closed; then it is part of `text`."""


def public_text(text: str, tag: str = "", *, is_speech: bool = True) -> PublicText:
    """The part of a sanitized reply that is meant for others; `tag` is the format's own. In what is no speech every tag
    counts."""
    public = _scan(text, tag, is_complete=True, is_speech=is_speech)
    return public._replace(text=public.text.strip()) if public.had_private else public


def without_end_of_message(text: str) -> str:
    """A text without the tokens that end a message."""
    end = _END_OF_MESSAGE.search(text, max(0, len(text) - 300))
    return text[: end.start()] if end else text


def without_leading_pair(text: str, tag: str = "") -> str:
    """A text of a structured reply, sanitized already, without the pair of tags with which it begins."""
    tags = _tags(tag)
    opening = tags.either.match(text, len(text) - len(text.lstrip()))
    if opening is None or str(opening.lastgroup).endswith(_END):
        return text
    closing = tags.closing_of(opening).search(text, opening.end())
    return text[closing.end() :].strip() if closing else text


class PrivateFilter:
    """Takes a reply piece by piece, and returns the part of each piece that is meant for others."""

    def __init__(self, tag: str = "") -> None:
        """`tag` is the format's own."""
        self._tag, self._pieces, self._public = tag, list[str](), ""
        self._length = self._scan_at = 0
        self.restarts = 0
        """The number of times that returned text turned out to be private."""

    def feed(self, piece: str) -> str:
        """Adds a piece and returns the new public text. If `restarts` grew, what was returned before was private: drop
        it. The return value is then all public text so far."""
        self._pieces.append(piece)
        self._length += len(piece)
        if self._length < self._scan_at:
            return ""
        self._scan_at = self._length + self._length // 20  # a long text is not read again for every word
        self._pieces = ["".join(self._pieces)]
        text = sanitize(self._pieces[0])
        unfinished = _UNFINISHED.search(text, max(0, len(text) - 300))
        complete = text[: unfinished.start()] if unfinished else text
        before, self._public = self._public, _scan(complete, self._tag, is_complete=False).text
        if self._public.startswith(before):
            return self._public[len(before) :]
        self.restarts += 1
        return self._public


def _scan(text: str, tag: str, *, is_complete: bool, is_speech: bool = True) -> PublicText:
    """The text without its private reasoning; while it is incomplete, also without all that follows an open tag."""
    text = without_end_of_message(text)
    if rule := _RULE_BEFORE_ANSWER.match(text):
        text = text[rule.end() :]
    is_open = _OPEN_REASONING_IN_WORDS if is_complete else _MAY_OPEN_REASONING
    in_words = _REASONING_IN_WORDS.match(text) or (None if is_speech and is_complete else is_open.match(text))
    tags, public, at = _tags(tag), list[str](), in_words.end() if in_words else 0
    position, private, has_unopened = at, bool(in_words), False
    unclosed, outside_code, pairings = set[str](), with_code_blanked(text) if is_speech else text, 0
    while match := tags.either.search(outside_code, position):
        position, name = match.end(), str(match.lastgroup)
        kind = name.removesuffix(_END)
        if name.endswith(_END):
            is_end = match[0].casefold() == "<|end|>"  # of any message, not only of reasoning
            if not is_end and (kind == _FORMAT_TAG or not is_speech or _stands_alone(text, match)):
                has_unopened = bool(text[: match.start()].strip())
                public, at, private = [], position, True
            continue
        opened = (match["name"] or kind).casefold()
        if opened in unclosed or not (
            kind in {_FORMAT_TAG, *_TOKEN_KINDS}
            or not is_speech
            or _begins(text[max(at, match.start() - _CONTEXT_LENGTH) : match.start()])
        ):
            continue
        closing = tags.closing_of(match).search(text, position)
        is_word = is_complete and kind != _FORMAT_TAG and "".join((*public, text[at : match.start()])).strip()
        if closing is None and is_word and (is_speech or _closed_by_another(tags, text, position)):
            unclosed.add(opened)
            continue
        public += [text[at : match.start()], "\n"] if closing else [text[at : match.start()]]
        at = position = closing.end() if closing else len(text)
        private = True
        if is_speech and pairings < _MAX_PAIRINGS and re.search("```|~~~", text[match.start() : at]):
            outside_code, pairings = " " * at + with_code_blanked(text[at:]), pairings + 1
    spoken = "".join((*public, text[at:]))
    if answer := _ANSWER.fullmatch(spoken):
        spoken = answer["rest"] if answer["text"] is None else answer["text"]
    return PublicText(spoken, private, bool(unclosed) or has_unopened)


def _closed_by_another(tags: _Tags, text: str, position: int) -> bool:
    """Whether the last tag of a text, from a position on, closes reasoning that a template may have opened."""
    later = [tag for tag in tags.either.finditer(text, position) if tag[0].casefold() != "<|end|>"]
    return bool(later) and str(later[-1].lastgroup).endswith(_END) and _stands_alone(text, later[-1])


def _code_blocks(text: str) -> list[tuple[int, int]]:
    """The start and end of each closed code fence of a text."""
    blocks, opening, start, index = list[tuple[int, int]](), "", 0, 0
    for line in text.split("\n") if "```" in text or "~~~" in text else ():
        fence = _FENCE.fullmatch(line)
        if fence and not opening:
            opening, start = fence[1], index
        elif fence and fence[1].startswith(opening) and not fence[2].strip(" \t"):
            blocks.append((start, index + len(line)))
            opening = ""
        index += len(line) + 1
    return blocks


def with_code_blanked(text: str) -> str:
    """The text with spaces for its code blocks, in which no tag counts."""
    parts, index = list[str](), 0
    for start, end in _code_blocks(text):
        parts += [text[index:start], " " * (end - start)]
        index = end
    return "".join((*parts, text[index:]))


def _begins(before: str) -> bool:
    """Whether a tag after this text begins a line, or follows the end of a sentence."""
    return not before.strip() or _TAG_START.search(before) is not None


def _stands_alone(text: str, tag: re.Match[str]) -> bool:
    """Whether a tag begins or ends a line that is not a block quote."""
    line_start = text.rfind("\n", 0, tag.start()) + 1
    before = text[line_start : min(line_start + _CONTEXT_LENGTH, tag.start())].strip()
    after = text[tag.end() : tag.end() + _CONTEXT_LENGTH].partition("\n")[0].strip()
    return not before or (not after and not before.startswith(">"))


class _Tags(NamedTuple):
    either: re.Pattern[str]
    """A pattern for a tag that opens or closes private reasoning."""
    closing: dict[str, re.Pattern[str]]

    def closing_of(self, opening: re.Match[str]) -> re.Pattern[str]:
        """A pattern for the end of the reasoning that a tag opens."""
        name = opening["name"]
        return _closing_named(name.casefold()) if name else self.closing[str(opening.lastgroup)]


@lru_cache(maxsize=64)
def _closing_named(name: str) -> re.Pattern[str]:
    """A pattern for the end of the reasoning that a tag of this name opens."""
    return re.compile(rf"<\s{{0,8}}/\s{{0,8}}{_PREFIX}{re.escape(name)}\s{{0,8}}>", re.IGNORECASE)


@lru_cache(maxsize=64)
def _tags(tag: str) -> _Tags:
    tags: tuple[tuple[str, str, str], ...] = _MODEL_TAGS
    if tag:
        closing = rf"<\s{{0,64}}/\s{{0,64}}{tag}\b(?:\s{{0,64}}>|[^<>\n]{{0,200}}>)?"
        tags = ((_FORMAT_TAG, rf"<\s{{0,64}}{tag}\b", closing), *tags)
    either = "|".join(f"(?P<{kind}>{opens})|(?P<{kind}{_END}>{closes})" for kind, opens, closes in tags)
    return _Tags(
        re.compile(rf"(?=[<◁\[]\s{{0,64}}[^\s<◁\[])(?:{either})", re.IGNORECASE),
        {kind: re.compile(closes, re.IGNORECASE) for kind, _, closes in tags},
    )
