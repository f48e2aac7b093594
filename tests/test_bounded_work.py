"""The work that hostile speeches and files take has limits."""

from __future__ import annotations

import json
from collections.abc import Callable
from itertools import count

import pytest
from counting import calls
from debates import told

from debate_orchestrator.core.reply_check import check
from debate_orchestrator.core.shape import Field, ShapeContext
from debate_orchestrator.engine import transcript_file
from debate_orchestrator.prompting import replies
from debate_orchestrator.reports import markdown, markup
from debate_orchestrator.reports.html import page, writer
from debate_orchestrator.util import sanitize, yaml
from debate_orchestrator.util.errors import MAX_LISTED, DebateError
from debate_orchestrator.util.redact import Redactor

PROSE = "It was **close**, but `f(x)` decided it; see the note. "


def as_long(piece: str, length: int = 12_000) -> str:
    """A text of that length, made of one piece."""
    return (piece * length)[:length]


@pytest.mark.parametrize("shown", [markup.block, markup.prose, writer.speech, writer.line])
def test_markup_takes_little_work(shown: Callable[[str], object]) -> None:
    """A speech of nothing but markup takes no more than a few times the calls of prose of the same length, in markdown
    and on a page."""
    prose = calls(lambda: shown(as_long(PROSE, 20_000)))

    for piece in ("![", "[", "[a](", "[a", "- a\n", "a|b\n-|-\n", "|a", "1. a\n\n"):
        hostile = as_long(piece, 20_000)
        assert calls(lambda hostile=hostile: shown(hostile)) < 5 * prose, piece


def test_a_report_parses_so_much_and_no_more(monkeypatch: pytest.MonkeyPatch) -> None:
    """Speeches that come after the characters that one report parses are shown as they were written, in each form."""
    monkeypatch.setattr(markup, "MAX_PARSED", 50_000)
    numbers = count()

    def say(turn: dict[str, str]) -> str | None:
        return f"**{next(numbers)}** " + "word " * 380 if turn["turn"].endswith((".a", ".b")) else None

    report = told(say, rounds=6)
    many = sum(turn.kind == "speech" for turn in report.turns)
    as_text, as_page = markdown.render(report), page.render(report)

    assert 15 < many - as_text.count("```text") < 26
    assert 15 < many - as_page.count('<pre class="whole">') < 26


def test_yaml_of_many_values_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """So many values and keys are read, and no more."""
    monkeypatch.setattr(yaml, "MAX_NODES", 1_000)

    assert len(yaml.load(f"topic: [{'a,' * 997}]")["topic"]) == 997
    with pytest.raises(yaml.InvalidYaml, match="more than 1,000 values and keys"):
        yaml.load(f"topic: [{'a,' * 2_000}]")


def test_unknown_fields_of_a_reply_are_told_up_to_a_number() -> None:
    """The complaint about a reply with many unknown fields names the first twenty."""
    shape = {"a": Field(kind="record", fields={"b": Field(kind="flag")})}
    context = ShapeContext(sides=("a", "b"), criteria=(), least=1, most=10, rounds=1, strictness="strict")
    found = check(shape, {**{f"k{n}": n for n in range(1_000)}, "a": {"b": True}}, context)

    assert len(found) == MAX_LISTED + 1


TRIED: dict[str, Callable[[str], object]] = {
    "made harmless": sanitize.sanitize,
    "fenced": lambda text: sanitize.fence(text, "0123456789abcdef"),
    "redacted": Redactor(["a-secret-of-some-length"]),
    "structured": lambda text: replies.parse_structured("x", '{"a": 1} ' + text),
    "markdown": markup.block,
    "page": lambda text: writer.speech(text, ()),
    "transcript": lambda text: transcript_file.parse(f"# T\n\n### Ann (Pro)\n\n{text}\n\n### Bo (Con)\n\ny", "x"),
    "json": lambda text: transcript_file.parse(json.dumps([{"speaker": text, "side": text, "text": text}]), "x"),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", TRIED)
def test_long_hostile_texts_come_to_an_end(name: str) -> None:
    """However long a text of one piece, over and over, each function comes to its end."""
    for piece in (
        "<",
        "> ",
        "- ",
        "[",
        "*",
        "_ ",
        "`",
        "\n",
        "a",
        '"a',
        "{",
        "<think>",
        "</think>\n",
        "```\n",
        "Bo: ",
        "%41",
    ):
        try:
            TRIED[name](as_long(piece, 200_000))
        except (DebateError, ValueError):
            pass
