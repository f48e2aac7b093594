"""Private working, left out of a reply: a model's thoughts before and between what it says to others.

A format may name a tag of its own and tell its speakers so. That tag is private wherever it stands.

Models also have tags of their own (`<think>`, `[THINK]`, `<|channel|>analysis`, ...), which a speech may mention:

- A tag in a code fence, or in a code span or quotation that closes on its line, is a mention. So is one in a sentence.
- A token (`<|...|>`) that opens counts anywhere else, and another tag at the beginning of a line or after a sentence.
- A closing tag or token without an opening one makes all the text before it private: some templates open the working
  themselves. It counts as the first thing on its line and at the end of a line of words; anywhere else it is a mention.
- An open tag makes the rest of the text private: leaving out too much is safer than showing too much.
"""

from __future__ import annotations

import re
from functools import lru_cache

from debate_orchestrator.core.reserved_line import Fence
from debate_orchestrator.util.sanitize import JOINER, sanitize

_NAMES = (
    r"(?:\w{1,16}:|ant|longcat_)?(?:think(?:ing)?|thoughts?(?:[_-]process)?|reasoning|reflection|analysis"
    r"|scratch[_-]?pad|(?:inner|internal)[_-]monologue|chain[_-]of[_-]thought)"
)
_TURN = r"<\|(?:start|begin)\|>\s{0,8}assistant\s{0,8}"
_CHANNEL = rf"(?:{_TURN})?<\|channel\|>\s{{0,8}}"
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
        rf"{_CHANNEL}(?:analysis|commentary)\b{_HEADER}|<\|think\|>|(?:(?<=analysis)|(?<=commentary))<\|message\|>",
        rf"(?:<\|end\|>\s{{0,8}})?(?:{_CHANNEL}final\b{_HEADER}|{_TURN}<\|content\|>)|<\|end\|>",
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
_TOKENS = {"channel", "half", "token"}
_END, _OWN = "_end", "own"
_UNFINISHED = re.compile(r"[<◁\[][^\n▷\]]{0,300}\Z")
"""The end of a text that may be the beginning of a tag."""
_WAITING = re.compile(rf"(?s:.?)(?:\r|{JOINER}){{1,50}}\Z")
"""What may be half of a line break, or hide in a tag, depending on what follows."""
_LOOK = 4
"""Characters after a tag that tell whether it stands in a sentence."""
_LINE = 2_000
"""Characters of a line that tell whether a tag stands at its beginning, in code or in a quotation."""
_BEGINS = re.compile(r"(?:</?\w{1,20}>|[\W_])*+(?:\d{1,9}[.)]\s+)?(?:[\w ]{1,40}\W?:\W*+)?\Z")
"""A line so far that holds nothing, or markup, or a label such as `assistant:`."""
_SENTENCE_ENDS = re.compile(r"[.!?…。！？]\W{0,4}\Z")
_LINE_ENDS = re.compile(r"[ \t]{0,3}(?:\n|\Z)")
_SPEECH = re.compile(r"(?![ \t]*>).*\w")
"""A line with words that is no block quote."""
_QUOTED_AFTER = re.compile(r"[`\"'”’»]")
_OWN_WORDS = re.compile(r"^(?![ \t]*>).*\w", re.MULTILINE)
"""A line that is not a quotation."""


class PrivateFilter:
    """Takes a reply in pieces, as it comes, and gives what of it is for others."""

    def __init__(self, tag: str = "", *, model_tags: bool = True, fences: bool = True):
        """`tag` is the format's own; `model_tags` says whether the tags that models use count too; `fences`, whether a
        tag in a code fence is a mention."""
        self._fences = fences
        self._tags = _pattern(tag, model_tags)
        self._raw = self._last = self._rest = ""
        """What waits for the piece after it; the character before that; and the text after that which may be part
        of a tag."""
        self._kind = ""
        """The kind of private working that is open."""
        self.found = False
        """Whether anything was private."""
        self.ends_private = False
        """Whether nothing was said behind what was private."""
        self.restarts = 0
        """How often all that had been given turned out to be private."""
        self._line, self._fence = "", Fence()

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
        unfinished = None if closed else _UNFINISHED.search(window, max(0, len(window) - 300))
        stop = unfinished.start() if unfinished else len(window)
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
                public.append(self._take_text("\n"))
        elif kind != _OWN and not self._counts(tag, kind, closes=closes):
            public.append(self._take_text(tag[0]))
        else:
            self.found = self.ends_private = True
            if closes:
                public.clear()
                self._line, self._fence = "", Fence()
                self.restarts += 1
            else:
                self._kind = kind

    def _counts(self, tag: re.Match[str], kind: str, *, closes: bool) -> bool:
        """Whether a tag that models use is meant as one here."""
        line, after = self._line, tag.string[tag.end() : tag.end() + _LOOK]
        quoted = line.count("`") % 2 or line.count('"') % 2 or line.count("“") > line.count("”")
        if self._fences and self._fence:
            return False
        if closes:
            return not line.strip() or bool(not quoted and _LINE_ENDS.match(after) and _SPEECH.match(line))
        if quoted and _QUOTED_AFTER.match(after):
            return False
        return bool(kind in _TOKENS or _BEGINS.match(line) or _SENTENCE_ENDS.search(line[-6:]))

    def _take_text(self, text: str) -> str:
        """Notes text that is not a tag; what of it is for others."""
        if self._kind or not text:
            return ""
        first, *lines = text.split("\n")
        self._line = (self._line + first)[:_LINE]
        for line in lines:
            self._fence.read(self._line)
            self._line = line[:_LINE]
        self.ends_private = self.ends_private and text.isspace()
        return text


@lru_cache(maxsize=64)
def _pattern(tag: str, model_tags: bool) -> re.Pattern[str]:
    """What finds the tags of private working."""
    tags = _KNOWN if model_tags else ()
    if tag:
        closing = rf"<\s{{0,64}}/\s{{0,64}}{tag}\b(?:\s{{0,64}}>|[^<>\n]{{0,200}}>)?"
        tags = ((_OWN, rf"<\s{{0,64}}{tag}\b", closing), *tags)
    either = "|".join(f"(?P<{kind}>{opening})|(?P<{kind}{_END}>{closing})" for kind, opening, closing in tags)
    return re.compile(rf"(?=[<◁\[])(?:{either or '(?!)'})", re.IGNORECASE)  # most characters begin none of them


def without_private(text: str, tag: str = "", *, model_tags: bool = True) -> str:
    """What of a reply, sanitized already, is meant for others; the text as it is where nothing in it is private. `tag`
    is the format's own; `model_tags` says whether those that models use count too."""
    if _pattern(tag, model_tags).search(text) is None:
        return text
    kept, public = _read(text, tag, model_tags)
    return public.strip() if kept.found else text


def may_be_quoting(text: str, tag: str = "", *, model_tags: bool = True) -> bool:
    """Whether the tags in a reply, sanitized already, may be words about them: it ends with private working, or one
    that was closed without being opened leaves but one line of the speech's own."""
    kept, public = _read(text, tag, model_tags)
    above = public.strip().rpartition("\n")[0]
    return kept.ends_private or bool(kept.restarts and not _OWN_WORDS.search(above))


def _read(text: str, tag: str, model_tags: bool) -> tuple[PrivateFilter, str]:
    """What of a whole reply is for others, and the filter that found it. A fence that is left open is part of the
    working: it shows no tag as code."""
    for fences in (True, False):
        kept = PrivateFilter(tag, model_tags=model_tags, fences=fences)
        public = kept.whole(text)
        if not kept.in_code:
            break
    return kept, public
