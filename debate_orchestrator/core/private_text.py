"""Private working, left out of a reply: a model's thoughts before and between what it says to others.

A format may name a tag of its own and tell its speakers so. That tag is private wherever it stands.

Models also have thinking tags of their own (`<think>`, `[THINK]`, `<|channel|>analysis`, ...). A speech about such
models may mention them, so these rules tell a tag from a mention:

- A token (`<|...|>`) counts wherever it stands.
- Another tag counts at the beginning of a line, even after markdown or a label; after a sentence; and, if it is a
  closing tag, at the end of a line.
- A closing tag without an opening one makes all the text before it private, since some templates open the working
  themselves. The same holds if the opening tag stands within a sentence.
- Within other words, in a code fence, or in backticks or quotation marks that close right after it, a tag is a mention.
- A fence that holds a closing tag may be part of the working. The reading that leaves out more is taken.
- An open tag makes the rest of the text private: leaving out too much is safer than showing too much.

While a reply streams, working without an opening tag is recognized only when it is closed.
"""

from __future__ import annotations

import re
from collections import Counter
from functools import lru_cache

from debate_orchestrator.core.reserved_line import Fence
from debate_orchestrator.util.sanitize import JOINER, sanitize

_NAMES = (
    r"(?:\w{1,16}:|ant|longcat_)?(?:think(?:ing)?|thoughts?(?:[_-]process)?|reasoning|reflection|analysis"
    r"|scratch[_-]?pad|(?:inner|internal)[_-]monologue|chain[_-]of[_-]thought)"
)
_TURN = r"<\|(?:start|begin)\|>\s{0,8}assistant\s{0,8}"
_HEAD = rf"(?:{_TURN})?<\|channel\|>\s{{0,8}}"
_HEADER = r"(?:(?:[^<>\n]|<\|constrain\|>){0,80}<\|message\|>)?"
_KNOWN = (
    # Claude, DeepSeek, Qwen, GLM, Seed, Hermes and many more
    ("tag", rf"<\s{{0,8}}{_NAMES}(?:\s[^<>]{{0,200}})?>", rf"<\s{{0,8}}/\s{{0,8}}{_NAMES}\s{{0,8}}>"),
    # Kimi
    ("kimi", r"◁\s{0,8}think(?:ing)?\s{0,8}▷", r"◁\s{0,8}/\s{0,8}think(?:ing)?\s{0,8}▷"),
    # Magistral
    ("square", r"(?-i:\[THINK(?:ING)?\])", r"(?-i:\[/THINK(?:ING)?\])"),
    # gpt-oss, Solar
    (
        "channel",
        rf"{_HEAD}(?:analysis|commentary)\b{_HEADER}|<\|(?:think|message)\|>",
        rf"(?:<\|end\|>\s{{0,8}})?(?:{_HEAD}final\b{_HEADER}|{_TURN}<\|content\|>)|<\|end\|>",
    ),
    # Gemma
    ("half", r"<\|channel>\s{0,8}(?:thought|thinking|analysis)\b", r"<channel\|>"),
    # Command, OpenThinker, Apertus
    (
        "token",
        r"<\|(?:start_thinking|begin_of_thought|inner_prefix)\|>",
        r"<\|(?:end_thinking|end_of_thought|inner_suffix)\|>",
    ),
)
"""The tags that models are known to use: a kind, what opens working of that kind, and what closes it."""
_END = "_end"
_OWN = "own"
_PARTIAL = (
    rf"<\s{{0,8}}/?\s{{0,8}}(?:[\w:-]{{0,32}}|{_NAMES}(?:\s[^<>]{{0,200}})?)",
    r"◁\s{0,8}/?\s{0,8}\w{0,8}\s{0,8}",
    r"\[/?[A-Z]{0,8}",
    r"(?:<\|(?:start|begin|channel|constrain|end)\|>[^<>\n]{0,80}){0,4}(?:<(?:\|\w{0,20}\|?)?)?",
    r"<(?:\|channel>\s{0,8}\w{0,8}|channel\|)",
)
"""The beginning of a text that may become one of these tags."""
_WAITING = re.compile(rf"(?s:.?)(?:\r|{JOINER}){{1,50}}\Z")
"""What may be half of a line break, or hide in a tag, depending on what follows."""
_LOOK = 4
"""Characters after a tag that tell whether it stands in a sentence."""
_SENTENCE_BEGINS = re.compile(r"(?<!\n\d)(?<!\n\d\d)(?<!  \d)[.!?…。！？][\"'”’»)\]*_]{0,4}\s{0,3}\Z")
_MARKUP = r"(?:</?\w{1,20}>|[\W_])*+"
_LINE_BEGINS = re.compile(rf"{_MARKUP}(?:\d{{1,9}}[.)]{_MARKUP})?(?:\w{{1,30}}(?: \w{{1,30}}){{0,2}}\W?:{_MARKUP})?\Z")
_SENTENCE_GOES_ON = re.compile(r"\s{1,3}[^\W\d_A-Z]|[,;:.!?)/|]")
_LINE_ENDS = re.compile(r"[^\w\n.,;:!?<]*(?:\n|\Z)")
_TOKENS = {"channel", "half", "token"}
_BARE = re.compile(r"(?:analysis|commentary)\s*\Z", re.IGNORECASE)
"""What makes `<|message|>` open working where the token before it was lost."""
_QUOTING = re.compile(r"(?P<code>`)|(?P<opening>“|(?<![^\s(\[])\")|(?P<closing>[”\"])")
"""What begins or ends code or a quotation."""
_QUOTED = re.compile(r"[`\"'“‘«「]\Z"), re.compile(r"[`\"'”’»」]")
_OWN_WORDS = re.compile(r"^(?![ \t]*>).*\w", re.MULTILINE)
"""A line that is not a quotation."""
_LINE = 300
"""Characters of a line that tell whether it opens or closes a code fence."""


class PrivateFilter:
    """Takes a reply in pieces, as it comes, and gives what of it is for others."""

    def __init__(self, tag: str = "", *, model_tags: bool = True, fences: bool = True):
        """`tag` is the format's own; `model_tags` says whether the tags that models use count too; `fences`, whether a
        code fence shows them as text."""
        self._tags, self._partial = _patterns(tag, model_tags)
        self._fences = fences
        self._raw = self._last = self._rest = ""
        """What waits for the piece after it; the character before that; and the text after that which may be part
        of a tag."""
        self._kind = ""
        """The kind of private working that is open."""
        self._amid = False
        """Whether it was opened within a sentence, which may be working itself then."""
        self._nested: Counter[str] = Counter()
        """How many tags that open working of a kind stood in such working, each of which may be closed as well."""
        self.found = False
        """Whether anything was private."""
        self.ends_private = False
        """Whether nothing was said behind what was private."""
        self.passed = False
        """Whether a tag in a code fence was taken for a mention."""
        self.restarts = 0
        """How often all that had been given turned out to be private."""
        self.unopened = 0
        """How many tags closed working that nothing in the text had opened."""
        self._reset()

    def _reset(self) -> None:
        """Nothing was said so far."""
        self._before, self._line, self._fence = "\n\n", "", Fence()
        self._quoting: Counter[str] = Counter()
        """How often code and quotations begin and end on this line."""
        self._silent = True

    def feed(self, piece: str) -> str:
        """The part of the text so far that is for others and was not given before. Where `restarts` has grown, all that
        was given before is private after all."""
        raw = self._raw + piece
        waiting = _WAITING.search(raw, max(0, len(raw) - 60))
        raw, self._raw = (raw[: waiting.start()], waiting[0]) if waiting else (raw, "")
        clean = sanitize(self._last + raw)[len(self._last) :]
        self._last = clean[-1:] or self._last
        return self._take(clean, closed=False)

    def whole(self, text: str) -> str:
        """What of a whole reply, sanitized already, is for others."""
        public = self._take(text, closed=True)
        self._fence.read(self._line)
        return public

    @property
    def in_code(self) -> bool:
        """Whether a code fence is open."""
        return bool(self._fence)

    def _take(self, piece: str, *, closed: bool) -> str:
        window = self._rest + piece
        partial = None if closed else self._partial.search(window, max(0, len(window) - 600))
        stop = partial.start() if partial else len(window)
        public, at = list[str](), 0
        for tag in self._tags.finditer(window):
            if tag.start() >= stop or (not closed and tag.end() + _LOOK > len(window)):
                stop = min(stop, tag.start())
                break
            public.append(self._take_text(window[at : tag.start()]))
            at = tag.end()
            self._take_tag(tag, public)
        stop = max(at, stop)
        public.append(self._take_text(window[at:stop]))
        self._rest = window[stop:]
        return "".join(public)

    def _take_tag(self, tag: re.Match[str], public: list[str]) -> None:
        """Takes a tag: it opens or closes private working, or is part of the speech."""
        name = str(tag.lastgroup)
        kind, closes = name.removesuffix(_END), name.endswith(_END)
        if self._kind:
            if closes and kind == self._kind:
                self._kind = ""
                if self._amid:
                    self._restart(public)
                public.append(self._take_text("\n"))
            elif kind == self._kind:
                self._nested[kind] += 1
        elif kind != _OWN and not self._counts(tag, kind, closes=closes):
            public.append(self._take_text(tag[0]))
        else:
            self.found = self.ends_private = True
            if closes:
                self.unopened += 1
                self._restart(public)
            else:
                self._kind = kind

    def _restart(self, public: list[str]) -> None:
        """All that was said so far turns out to be private."""
        public.clear()
        self._reset()
        self.restarts += 1

    def _counts(self, tag: re.Match[str], kind: str, *, closes: bool) -> bool:
        """Whether a tag that models use is meant as one here."""
        before, after = self._before, tag.string[tag.end() : tag.end() + _LOOK]
        if tag[0].lower() == "<|message|>" and not _BARE.search(before):
            return False
        self._amid = False
        if self._silent:
            return True
        if self._fences and self._fence:
            self.passed = True
            return False
        begins, ends = _opens_line(self._line), bool(_LINE_ENDS.match(after))
        if begins and ends:
            return True
        if self._is_quoted(before, after):
            return False
        if closes and self._nested[kind]:
            self._nested[kind] -= 1
            return True
        sentence, goes_on = _SENTENCE_BEGINS.search(before), bool(_SENTENCE_GOES_ON.match(after))
        self._amid = not (begins or closes) and (goes_on or not sentence)
        return (
            begins
            or kind in _TOKENS
            or (closes and (ends or after[:1].isalnum()))
            or bool(sentence and not (closes and goes_on))
        )

    def _is_quoted(self, before: str, after: str) -> bool:
        """Whether a tag stands in code or in a quotation that began on its line and ends behind it."""
        begun, (left, right) = self._quoting, _QUOTED
        within = begun["code"] % 2 or begun["opening"] > begun["closing"] or left.search(before)
        return bool(within and right.match(after))

    def _take_text(self, text: str) -> str:
        """Notes text that is not a tag; what of it is for others."""
        if self._kind or not text:
            return ""
        first, *lines = text.split("\n")
        self._line = (self._line + first)[:_LINE]
        for line in lines:
            self._fence.read(self._line)
            self._line = line[:_LINE]
        if lines:
            self._quoting.clear()
        last = f"\n{lines[-1]}" if lines else f"{self._before[-1]}{first}"
        for found in _QUOTING.finditer(last, 1):
            self._quoting[str(found.lastgroup)] += 1
        self._before = (self._before + text[-16:])[-16:]
        self._silent = self._silent and text.isspace()
        self.ends_private = self.ends_private and text.isspace()
        return text


@lru_cache(maxsize=1)  # a line of nothing but tags is asked about at each of them
def _opens_line(before: str) -> bool:
    """Whether what stands behind this part of a line stands at its beginning."""
    return _LINE_BEGINS.match(before) is not None


@lru_cache(maxsize=64)
def _patterns(tag: str, model_tags: bool) -> tuple[re.Pattern[str], re.Pattern[str]]:
    """Two patterns: one finds the tags of private working, the other what may begin such a tag at the end of a text."""
    tags, partial = (_KNOWN, _PARTIAL) if model_tags else ((), ())
    if tag:
        closing = rf"<\s{{0,64}}/\s{{0,64}}{tag}\b(?:\s{{0,64}}>|[^<>\n]{{0,200}}>)?"
        tags = ((_OWN, rf"<\s{{0,64}}{tag}\b", closing), *tags)
        partial = (rf"<\s{{0,64}}(?:/\s{{0,64}})?(?:\w{{0,41}}|{tag}\b[^<>\n]{{0,200}})", *partial)
    either = "|".join(f"(?P<{kind}>{opening})|(?P<{kind}{_END}>{closing})" for kind, opening, closing in tags)
    found = re.compile(rf"(?=[<◁\[])(?:{either or '(?!)'})", re.IGNORECASE)  # most characters begin none of them
    return found, re.compile(rf"(?:{'|'.join(partial) or '(?!)'})\Z", re.IGNORECASE)


def without_private(text: str, tag: str = "", *, model_tags: bool = True) -> str:
    """What of a reply, sanitized already, is meant for others; the text as it is where nothing in it is private. `tag`
    is the format's own; `model_tags` says whether those that models use count too."""
    if _patterns(tag, model_tags)[0].search(text) is None:
        return text
    kept, public = _read(text, tag, model_tags)
    return public.strip() if kept.found else text


def may_be_quoting(text: str, tag: str = "", *, model_tags: bool = True) -> bool:
    """Whether the tags in a reply, sanitized already, may be words about them: it ends with private working, or one
    that was closed without being opened leaves but one line of the speech's own."""
    kept, public = _read(text, tag, model_tags)
    above = public.strip().rpartition("\n")[0]
    return kept.ends_private or bool(kept.restarts and not _OWN_WORDS.search(above))


def closes_private(text: str) -> bool:
    """Whether a tag in a text, sanitized already, closes private working that was opened before the text."""
    return _patterns("", True)[0].search(text) is not None and bool(_read(text, "", True)[0].unopened)


def _read(text: str, tag: str, model_tags: bool) -> tuple[PrivateFilter, str]:
    """What of a whole reply is for others, and the filter that found it."""
    kept = PrivateFilter(tag, model_tags=model_tags)
    public = kept.whole(text)
    if kept.passed:  # the fence may be part of the working
        bare = PrivateFilter(tag, model_tags=model_tags, fences=False)
        less = bare.whole(text)
        if kept.in_code or bare.restarts > kept.restarts:
            return bare, less
    return kept, public
