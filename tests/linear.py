"""Gives functions long texts: run as a program, since one that looks through its text again and again does not end.

`python linear.py NAME ...` prints each function (each regular expression for the name `patterns`) and, before it is
tried, each long text that it has to come to the end of. Where that takes more than `LIMIT` seconds, the program ends
there, and says on standard error where it stood.

What a short text takes only chooses the long texts. A text that seems to take the square of its length comes again,
so long that it would take `HANGING` seconds if it did; in proportion to its length it is done in a few.
"""

from __future__ import annotations

import faulthandler
import re
import sys
import time
from collections.abc import Callable

import worst_texts
from core.folding import opened

from debate_orchestrator.core import private_text, reserved_line, visible_text
from debate_orchestrator.core.fold import fold
from debate_orchestrator.core.mirror import Mirror
from debate_orchestrator.core.phases import Quotes
from debate_orchestrator.core.settings import duplicate_positions
from debate_orchestrator.engine import transcript_file
from debate_orchestrator.evidence import addresses, match, pages, visible
from debate_orchestrator.evidence.fetch import RobotsRules
from debate_orchestrator.evidence.states import NotFetched
from debate_orchestrator.prompting import replies
from debate_orchestrator.prompting.reply_code import ReplyCode
from debate_orchestrator.providers import call_errors
from debate_orchestrator.reports import compare, markup, reviews
from debate_orchestrator.reports.html import page, writer
from debate_orchestrator.terminal.speeches import SpeechView
from debate_orchestrator.util import sanitize
from debate_orchestrator.util.errors import DebateError
from debate_orchestrator.util.redact import Redactor, StreamRedactor
from debate_orchestrator.web import sent_form

LIMIT, HANGING = 60, 900
SHORT, LONG = 1024, 4 * 1024
"""Characters of the two texts that choose."""
LONGER = 6 * 1024, 24 * 1024
"""The same for a pattern, which takes less for each character."""
MOST = 8
"""How many times as long a text that is four times as long takes, from which on it is tried; a square takes sixteen."""
LEAST, NOISE = 0.0002, 0.001
"""Seconds that any short text may take, and seconds that do not count. A square with a step of 0.3 ns takes longer."""
SECRET = "x<>\"'|`[](*_#-=.:1a&{x/1a\\ %41 &x"
NONCE = "0123456789abcdef"
ANY = re.compile(".*", re.DOTALL)
PIECES = (
    "[ - ", " - ]x", *" \n\t\r<>\"'|`[](*_#-=.:1a“「\u0301\u200d\\&{◁",
    "\u0315\u0300", "\uff9e\u0334", "\u0f73",
    "< ", "> ", "- ", "* ", "1. ", "a ", "a\u200d", " \"", "\"a", "` ``", "\n```", "[a](", "[...]", "**a:** ", "Ab. ",
    "<think>", "\n<think>", "</think>", "\n</think>\n", "`<think>` ", "<thinking ", "<quote>", "</quote>", "<quote ",
    " a='b'", "<|channel|>", "<!--", "http://", "http://x ", NONCE, NONCE[:-1], "Ben ", "Ben: ", "Researcher A ",
    "1.opening.", " by ", " and ", "(a ", "<a b=\"c\" ", "\n|a|\n|-|\n", "## x\n\n", "> FOR: x\n\n", "FOR: a\n\n",
    "FOR:\n\n", "- x\n", " - ", "\x1b[1m", "\x1b]", "\x90", "\x9dx", "%90", "\\u0090", "<b", "=\n", "<b>x</b>",
    "/*", "a: b; ", "a=b&", "+", "\r\n--x", "; name=\"a\"", "<sup>1", "<p style='display: none'>",
    "\na*:", "allow: /*a\n", "\\u0061", "%61", "&#97;", "&#1;", "%25", "&amp;", SECRET, SECRET[:-1],
    "*It writes lines for the other side, which this format forbids.*\n",
)  # fmt: skip
"""What hostile texts are made of: each of these, over and over, alone and between two letters."""
DOCUMENTS = (
    "{}",
    "# {}\n\n**{}:** x\n\n### Ann (Pro)\n\n{}\n\n### Bo (Con)\n\ny",
    "# Debate\n\n**FOR:** x {}\n\n**AGAINST:** y\n\n**FOR:** z\n\n**AGAINST:** w",
    "# Debate Report\n\n**Topic:** {}\n\n**A (Pro):** x\n\n**B (Con):** y\n\n## Debate Transcript\n\n## Round 1\n\n"
    "### Opening — A\n\n[A]\n\n{}\n\n### Opening — B\n\n[B]\n\nx\n",
    "# Debate Report\n\n**Topic:** x\n\n**A (Pro):** x\n\n**B (Con):** y\n\n## Debate Transcript\n\n## Round 1\n\n"
    "### Opening — A\n\n[{}\n\nx\n\n### Opening — B\n\n[B]\n\nx\n",
)  # fmt: skip


def stream(text: str) -> None:
    """A speech that comes in pieces, and is settled."""
    voice = SpeechView(fold([opened()]).due[0], "Opening", "", 0.0)
    voice.begin(0.0)
    for n in range(0, len(text), 32):
        voice.hear(text[n : n + 32])
    voice.show_recorded(text)


def redacted_pieces(text: str) -> None:
    """A text that comes in pieces after the beginning of a secret."""
    pieces, redactor = StreamRedactor(len), Redactor([SECRET])
    pieces._redactor = redactor
    pieces.take(SECRET[:20])
    for n in range(0, len(text), 32):
        pieces.take(text[n : n + 32])


def tried(function: Callable[[str], object], *spellings: str) -> Callable[[str], None]:
    """The function on the text in each of those spellings; a refusal is an answer."""

    def run(text: str) -> None:
        for form in spellings:
            try:
                function(form.replace("{}", text))
            except (DebateError, NotFetched, ValueError):
                pass

    return run


def form_in_parts(text: str) -> None:
    """The fields of a form in parts."""
    sent_form._fields(sent_form._parts(text.encode(), "multipart/form-data; boundary=x"), ANY, encoded=False)


def form_in_pairs(text: str) -> None:
    """The fields of a form in percent-encoding."""
    sent_form._fields(sent_form._pairs(text.encode()), ANY, encoded=True)


FUNCTIONS: dict[str, Callable[[str], object]] = {
    "tame": sanitize.sanitize,
    "fenced": lambda text: sanitize.fence(text, NONCE),
    "marks": sanitize.few_combining_marks,
    "normalized": sanitize.normalized,
    "address": tried(addresses.parse, "{}", "http://{}/", "http://x/{}"),
    "quoted": call_errors.quote,
    "style": lambda text: (visible._PLAINLY_HIDES.fullmatch(text), visible._MAY_HIDE.search(text)),
    "fetched page": tried(lambda text: pages.html_page(text.encode(), ""), "{}", "<p style='{}'>x", "<p>1<sup>{}"),
    "encoding": tried(lambda text: pages.decoded(text.encode(), ""), "{}", "<meta charset={}"),
    "robots": tried(lambda text: RobotsRules(text).allow("/x"), "{}", "user-agent: {}", "user-agent: *\ndisallow: {}"),
    "evidence": lambda text: match.compare("so it is said to be and so it is", text),
    "quote of evidence": lambda text: match.compare(text, "so it is said to be and so it is"),
    "form in parts": tried(
        form_in_parts, "{}", '--x\r\na; name="{}"\r\n\r\n\r\n--x--', '--x\r\na; name="a"\r\n\r\n{}\r\n--x--'
    ),
    "form in pairs": tried(form_in_pairs, "{}", "a={}", "{}=a"),
    "public": tried(private_text.without_private, "{}", "<think>x</think>{}", "x\n\n<think>{}"),
    "heard": lambda text: visible_text.make_visible(
        text, None, private="secret", quotes=Quotes(), context_texts=("so it is and so",)
    ),
    "material": lambda text: visible_text.make_visible(
        "<quote>a b c d</quote>", None, quotes=Quotes(), context_texts=(text,)
    ),
    "quote": lambda text: visible_text.make_visible(
        f"<quote>{text}</quote>", None, quotes=Quotes(), context_texts=("so it is",)
    ),
    "wording": compare.words,
    "normalized quote": match.normalize_text,
    "positions": lambda text: duplicate_positions({"a": text, "b": "x"}),
    "file name": reviews.stem_of,
    "lines for others": lambda text: visible_text.writes_lines_for(text, ["Researcher A", "Ben"]),
    "last line": lambda text: reserved_line.ends_with_line(f"{sanitize.sanitize(text)}\nX.", "X."),
    "exchange": lambda text: Mirror(opened().format).text(text),
    "structured": tried(lambda text: replies.parse_structured("x", text), "{}", '{"a": "{}"}', "```json\n{}\n```"),
    "with a code": tried(
        lambda text: replies._found("x", text, ReplyCode(field="code", end_field="end_code", text="BCDFGH")),
        '{"code": "BCDFGH", "end_code": "BCDFGH"} {}',
        '{"code": "BCDFGH", "a": "{}", "end_code": "BCDFGH",}',
        "BCDFGH {}",
    ),
    "date": lambda text: opened(1).settings.model_copy(update={"topic": f"As of 1{text}"}).as_of,
    "markdown": markup.block,
    "markdown back": markup.unescaped,
    "line": markup.prose,
    "page": lambda text: page.excerpt(" ".join(writer.speech(text, ("v_quote", "u_quote")).paragraphs)),
    "beginning": lambda text: page.excerpt(text, 400),
    "transcript": tried(lambda text: transcript_file.parse(text, "x"), *DOCUMENTS),
    "stream": stream,
    "redacted": Redactor([SECRET]),
    "redacted pieces": redacted_pieces,
}


def seconds(function: Callable[[str], object], text: str) -> float:
    """What it takes of this process's own time; the program ends where that is too long."""
    faulthandler.dump_traceback_later(LIMIT, exit=True)
    began = time.process_time()
    function(text)
    taken = time.process_time() - began
    faulthandler.cancel_dump_traceback_later()
    return taken


def try_longer(function: Callable[[str], object], piece: str, edge: str, short: int = SHORT, long: int = LONG) -> None:
    """Tries it with a text of these pieces between those edges, and with a longer one if it seems to take too long."""

    def text(size: int) -> str:
        return f"{edge}{(piece * size)[:size]}{edge}"

    taken = seconds(function, text(long))
    if taken <= MOST * LEAST + NOISE:
        return
    most = MOST * max(seconds(function, text(short)), LEAST) + NOISE
    if taken > most and (taken := min(seconds(function, text(long)) for _ in range(2))) > most:
        size = int(long * (HANGING / taken) ** 0.5)
        print(f"  {size:,} characters: {piece!r} between {edge!r}", flush=True)
        seconds(function, text(size))


if __name__ == "__main__":
    if sys.argv[1:] == ["patterns"]:
        for name, function, pieces in worst_texts.patterns():
            print(name, flush=True)
            for piece in pieces:
                for edge in ("", "\0x"):
                    try_longer(function, piece, edge, *LONGER)
        sys.argv[1:] = []
    for name in sys.argv[1:]:
        print(name, flush=True)
        for piece in PIECES:
            for edge in ("", "x"):
                try_longer(FUNCTIONS[name], piece, edge)
    print("done")
