"""Private working, left out of a reply: a model's thoughts before and between what it says to others.

Two kinds of marks set it apart. A format may name a tag of its own and tell its speakers so: that tag is private
wherever it stands. Besides, models have marks of their own (`<think>`, `[THINK]`, `<|channel|>analysis`, ...), which a
speech about such models may mention. So these count only

- where a reply begins with one, after white space; it need not be closed;
- where one begins a line, or stands alone on it, but not in the middle of a sentence and not in a code fence;
- for a closing mark alone, as templates leave it that open the working themselves: where it begins or ends a line,
  again not within a sentence or a code fence, or anywhere once there was working of its kind. All before it is private.

A mark that closes what was only mentioned in the same paragraph is a mention too. While a reply streams, working
without an opening mark is known for what it is only when it is closed.

What is left open is private to its end: a speaker who leaves a mark open says too little rather than too much.
"""

from __future__ import annotations

import re
from collections import Counter
from functools import lru_cache

from debate_orchestrator.core.prose import Fence
from debate_orchestrator.speech import JOINER, tame

_NAMES = r"(?:\w{1,16}:)?(?:think(?:ing)?|thoughts?|reasoning|reflection|scratchpad)"
_HEAD = r"(?:<\|start\|>\s{0,8}assistant\s{0,8})?<\|channel\|>\s{0,8}"
_KNOWN = (
    rf"(?P<tag><\s{{0,8}}{_NAMES}(?:\s[^<>]{{0,200}})?>)",
    rf"(?P<tag_end><\s{{0,8}}/\s{{0,8}}{_NAMES}\s{{0,8}}>)",
    r"(?P<kimi>◁\s{0,8}think\s{0,8}▷)",
    r"(?P<kimi_end>◁\s{0,8}/\s{0,8}think\s{0,8}▷)",
    r"(?P<square>(?-i:\[THINK\]))",
    r"(?P<square_end>(?-i:\[/THINK\]))",
    rf"(?P<channel>{_HEAD}(?:analysis|commentary)\b[^<>\n]{{0,80}}<\|message\|>)",
    rf"(?P<channel_end>(?:<\|end\|>\s{{0,8}})?{_HEAD}final\b[^<>\n]{{0,80}}<\|message\|>|<\|end\|>)",
    r"(?P<token><\|(?:start_thinking|begin_of_thought)\|>)",
    r"(?P<token_end><\|(?:end_thinking|end_of_thought)\|>)",
)
"""The marks that models are known to use, by kind: those of Claude, DeepSeek, Qwen and many more; of Kimi; of
Magistral; of gpt-oss; of Command and others."""
_END = "_end"
_OWN = "own"
_PARTIAL = (
    rf"<\s{{0,8}}/?\s{{0,8}}(?:[\w:]{{0,32}}|{_NAMES}(?:\s[^<>]{{0,200}})?)",
    r"◁\s{0,8}/?\s{0,8}\w{0,5}\s{0,8}",
    r"\[/?[A-Z]{0,5}",
    r"(?:<\|(?:start|channel|end)\|>[^<>\n]{0,80}){0,3}(?:<(?:\|\w{0,20}\|?)?)?",
)
"""What may be the beginning of one of these."""
_WAITING = re.compile(rf"(?s:.?)(?:\r|{JOINER}){{1,50}}\Z")
"""What may be half of a line break, or hide in a mark, depending on what follows."""
_LOOK = 4
"""Characters after a mark that tell whether it stands in a sentence."""
_AMID_BEFORE = re.compile(r"[\w,]\n?[ ]{0,3}\Z")
_AMID_AFTER = re.compile(r"[ ]{0,2}\n?[ ]?(?:[^\W\d_A-Z]|[,;:.!?)/|–—-])")
_LINE_BEGINS = re.compile(r"\n {0,3}\Z")
_LINE_ENDS = re.compile(r"[ \t]*(?:\n|\Z)")
_LINE = 300
"""Characters of a line that tell whether it opens or closes a code fence."""


class PrivateFilter:
    """Takes a reply in pieces, as it comes, and gives what of it is for others."""

    def __init__(self, tag: str = "", *, known: bool = True, fences: bool = True):
        """`tag` is the format's own; `known` says whether the marks that models use count too; `fences`, whether a
        code fence shows them as text."""
        self._marks, self._partial = _patterns(tag, known)
        self._fences = fences
        self._raw = self._last = self._rest = ""
        """What waits for the piece after it; the character before that; and the text after that which may be part
        of a mark."""
        self._kind = ""
        """The kind of private working that is open."""
        self._had: set[str] = set()
        self.found = False
        """Whether anything was private."""
        self.restarts = 0
        """How often all that had been given turned out to be private."""
        self._forget()

    def _forget(self) -> None:
        """Nothing was said so far."""
        self._before, self._line, self._fence = "\n\n", "", Fence()
        self._silent, self._passed = True, False
        self._mentioned: Counter[str] = Counter()
        """How many marks that open working were only mentioned in this paragraph, and not closed."""

    def feed(self, piece: str) -> str:
        """What of the text so far is for others, and was not given before. Where `restarts` has grown, whatever was
        given before is private after all."""
        raw = self._raw + piece
        waiting = _WAITING.search(raw, max(0, len(raw) - 60))
        raw, self._raw = (raw[: waiting.start()], waiting[0]) if waiting else (raw, "")
        tamed = tame(self._last + raw)[len(self._last) :]
        self._last = tamed[-1:] or self._last
        return self._take(tamed, closed=False)

    def whole(self, text: str) -> str:
        """What of a whole reply, tame already, is for others."""
        said = self._take(text, closed=True)
        self._fence.read(self._line)
        return said

    @property
    def doubtful(self) -> bool:
        """Whether a mark was passed over in a code fence that is never closed."""
        return self._passed and bool(self._fence)

    def _take(self, piece: str, *, closed: bool) -> str:
        window = self._rest + piece
        partial = None if closed else self._partial.search(window, max(0, len(window) - 600))
        stop = partial.start() if partial else len(window)
        said, at = list[str](), 0
        for mark in self._marks.finditer(window):
            if mark.start() >= stop or (not closed and mark.end() + _LOOK > len(window)):
                stop = min(stop, mark.start())
                break
            said.append(self._aloud(window[at : mark.start()]))
            at = mark.end()
            self._meet(mark, said)
        stop = max(at, stop)
        said.append(self._aloud(window[at:stop]))
        self._rest = window[stop:]
        return "".join(said)

    def _meet(self, mark: re.Match[str], said: list[str]) -> None:
        """Takes a mark: it opens or closes private working, or is part of what is said."""
        name = str(mark.lastgroup)
        kind, closes = name.removesuffix(_END), name.endswith(_END)
        if self._kind:
            if closes and kind == self._kind:
                self._kind = ""
                said.append(self._aloud("\n"))
        elif kind != _OWN and not self._counts(mark, kind, closes=closes):
            said.append(self._aloud(mark[0]))
        else:
            self.found = True
            self._had.add(kind)
            if closes:
                said.clear()
                self._forget()
                self.restarts += 1
            else:
                self._kind = kind

    def _counts(self, mark: re.Match[str], kind: str, *, closes: bool) -> bool:
        """Whether a mark that models use is meant as one here."""
        before, after = self._before, mark.string[mark.end() : mark.end() + _LOOK]
        if self._silent:
            return True
        if self._fences and self._fence:
            self._passed = True
            return False
        if before.endswith("`") and after.startswith("`"):
            return False
        begins, ends = bool(_LINE_BEGINS.search(before)), bool(_LINE_ENDS.match(after))
        if begins and ends:
            return True
        if closes and self._mentioned[kind]:
            self._mentioned[kind] -= 1
            return False
        if closes and kind in self._had:
            return True
        amid = _AMID_BEFORE.search(before) and _AMID_AFTER.match(after)
        if (begins or (closes and ends)) and not amid:
            return True
        self._mentioned[kind] += not closes
        return False

    def _aloud(self, text: str) -> str:
        """Notes text that is no mark; what of it is for others."""
        if self._kind or not text:
            return ""
        first, *lines = text.split("\n")
        self._line = (self._line + first)[:_LINE]
        for line in lines:
            self._fence.read(self._line)
            self._passed = self._passed and bool(self._fence)
            if not self._line.strip():
                self._mentioned.clear()
            self._line = line[:_LINE]
        self._before = (self._before + text[-16:])[-16:]
        self._silent = self._silent and text.isspace()
        return text


@lru_cache(maxsize=64)
def _patterns(tag: str, known: bool) -> tuple[re.Pattern[str], re.Pattern[str]]:
    """What finds the marks of private working, and what may be the beginning of one at the end of a text."""
    marks, partial = (_KNOWN, _PARTIAL) if known else ((), ())
    if tag:
        own = (
            rf"(?P<{_OWN}><\s{{0,64}}{tag}\b)",
            rf"(?P<{_OWN}{_END}><\s{{0,64}}/\s{{0,64}}{tag}\b(?:\s{{0,64}}>|[^<>\n]{{0,200}}>)?)",
        )
        marks = (*own, *marks)
        partial = (rf"<\s{{0,64}}(?:/\s{{0,64}})?(?:\w{{0,41}}|{tag}\b[^<>\n]{{0,200}})", *partial)
    found = re.compile("|".join(marks) or "(?!)", re.IGNORECASE)
    return found, re.compile(rf"(?:{'|'.join(partial) or '(?!)'})\Z", re.IGNORECASE)


def public(text: str, tag: str = "", *, known: bool = True) -> str:
    """What of a reply, tame already, is meant for others; the text as it is where nothing in it is private. `tag` is
    the format's own mark; `known` says whether those that models use count too."""
    kept = PrivateFilter(tag, known=known)
    said = kept.whole(text)
    if kept.doubtful:  # the fence may be part of the working
        kept = PrivateFilter(tag, known=known, fences=False)
        said = kept.whole(text)
    return said.strip() if kept.found else text
