"""How the time that a function takes grows with its text: run as a program, since a bad one may not come to an end.

`python linear.py NAME` prints, as JSON, the texts for which the function of that name takes more than it should where
the text is four times as long.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable

from core.folding import opened

from debate_orchestrator import replies, speech
from debate_orchestrator.core import hearing, prose, redaction
from debate_orchestrator.core.debate import Debate
from debate_orchestrator.core.exchange import Exchange
from debate_orchestrator.core.parts import Quotes
from debate_orchestrator.errors import DebateError
from debate_orchestrator.reports import markup
from debate_orchestrator.reports.html import excerpts
from debate_orchestrator.reports.html import speech as pages
from debate_orchestrator.screen.voices import Voice
from debate_orchestrator.transcripts import attribution, reading

SHORT = 16 * 1024
"""Characters; a quadratic function takes 16 times as long for four times as many."""
MOST = 8
"""How many times as long it may take."""
NOISE = 0.3
"""Seconds that do not count."""
NONCE = "0123456789abcdef"
PIECES = (
    *" \n\t\r<>\"'|`[](*_#-=.:1a“「\u0301\u200d\\&{◁",
    "< ", "> ", "- ", "* ", "1. ", "a ", "a\u200d", " \"", "\"a", "` ``", "\n```", "[a](", "[...]", "**a:** ", "Ab. ",
    "<think>", "\n<think>", "</think>", "\n</think>\n", "`<think>` ", "<thinking ", "<quote>", "</quote>", "<quote ",
    " a='b'", "<|channel|>", "<!--", "http://", "http://x ", NONCE, NONCE[:-1], "Ben ", "Ben: ", "Researcher A ",
    "1.opening.", " by ", " and ", "(a ", "\n|a|\n|-|\n", "## x\n\n", "> FOR: x\n\n", "FOR: a\n\n", "FOR:\n\n", "- x\n",
    "*It writes lines for the other side, which this format forbids.*\n",
)  # fmt: skip
"""What hostile texts are made of: each of these, over and over, alone and between two letters."""
DOCUMENTS = (
    "{}",
    "# Debate\n\n**FOR:** x {}\n\n**AGAINST:** y\n\n**FOR:** z\n\n**AGAINST:** w",
    "### FOR\n\n{}\n\nx\n\n### AGAINST\n\ny",
    "# Debate Report\n\n**Topic:** {}\n\n**A (Pro):** x\n\n**B (Con):** y\n\n## Debate Transcript\n\n## Round 1\n\n"
    "### Opening — A\n\n[A]\n\n{}\n\n### Opening — B\n\n[B]\n\nx\n",
    "# Debate\n\nParticipants: a {} b\n\n### FOR\n\nx\n\n### AGAINST\n\ny",
)  # fmt: skip


def stream(text: str) -> None:
    """A speech that comes in pieces, and is settled."""
    voice = Voice(Debate([opened()]).due()[0], "Opening", "", 0.0)
    voice.begin(0.0)
    for n in range(0, len(text), 16):
        voice.hear(text[n : n + 16])
    voice.settle(text)


def tried(function: Callable[[str], object], *forms: str) -> Callable[[str], None]:
    """The function on the text in each of those forms; a refusal is an answer."""

    def run(text: str) -> None:
        for form in forms:
            try:
                function(form.replace("{}", text))
            except DebateError:
                pass

    return run


def judge(text: str) -> None:
    """A transcript, read."""
    reading.read(text, "x")


FUNCTIONS: dict[str, Callable[[str], object]] = {
    "tame": speech.tame,
    "fenced": lambda text: speech.fenced(text, NONCE),
    "public": tried(redaction.public, "{}", "<think>x</think>{}", "x\n\n<think>{}"),
    "heard": lambda text: hearing.heard(text, None, private="secret", quotes=Quotes(), material=("so it is and so",)),
    "material": lambda text: hearing.heard("<quote>a b c d</quote>", None, quotes=Quotes(), material=(text,)),
    "lines for others": lambda text: hearing.writes_lines_for(text, ["Researcher A", "Ben"]),
    "last line": lambda text: prose.ends_with(f"{speech.tame(text)}\nX.", "X."),
    "exchange": lambda text: Exchange(opened().format).text(text),
    "structured": tried(lambda text: replies.structured("x", text), "{}", '{"a": "{}"}', "```json\n{}\n```"),
    "date": lambda text: opened(1).setup.model_copy(update={"topic": f"As of 1{text}"}).as_of,
    "markdown": markup.block,
    "markdown back": markup.unescaped,
    "line": markup.prose,
    "page": lambda text: pages.block(text, ("v_quote", "u_quote")),
    "excerpt": lambda text: excerpts.telling(pages.plainly(text)),
    "label": attribution.read,
    "participants": lambda text: attribution.participants(f"A: {text}".split("\n")),
    "transcript": tried(judge, *DOCUMENTS),
    "stream": stream,
}


def seconds(function: Callable[[str], object], text: str) -> float:
    """Of this process's own time, the less of two tries."""
    taken = []
    for _ in range(2):
        began = time.process_time()
        function(text)
        taken.append(time.process_time() - began)
        if taken[0] < NOISE:
            break
    return min(taken)


def slow(function: Callable[[str], object]) -> list[str]:
    """The texts for which it takes too long."""
    found = []
    for piece in PIECES:
        for left, right in (("", ""), ("x", "x")):
            short, long = (left + (piece * size)[:size] + right for size in (SHORT, 4 * SHORT))
            most = MOST * max(seconds(function, short), 0.01) + NOISE
            if (taken := seconds(function, long)) > most:
                found.append(f"{left}{piece!r}...{right}: {taken:.1f} s, at most {most:.1f} s")
    return found


if __name__ == "__main__":
    print(json.dumps(slow(FUNCTIONS[sys.argv[1]])))
