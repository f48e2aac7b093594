"""The work that hostile speeches and files take has limits."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest
from core.folding import opened, reply
from counting import calls

from debate_orchestrator.core import verbatim, visible_text
from debate_orchestrator.core.fold import fold
from debate_orchestrator.core.phases import QuoteRules
from debate_orchestrator.core.private_text import PrivateFilter, public_text
from debate_orchestrator.core.speech_rules import ends_with_line, ignored_line_remark
from debate_orchestrator.engine import transcript_file
from debate_orchestrator.evidence import match
from debate_orchestrator.prompting import replies
from debate_orchestrator.reports import markup
from debate_orchestrator.reports.html import writer
from debate_orchestrator.util import escapes, sanitize, yaml
from debate_orchestrator.util.errors import DebateError
from debate_orchestrator.util.redact import Redactor, StreamRedactor, secrets

START = fold([opened()])


def as_long(piece: str, length: int = 12_000) -> str:
    """A text of that length, made of one piece."""
    return (piece * length)[:length]


@pytest.mark.parametrize("shown", [markup.quote_speech, markup.inline_markdown, writer.speech, writer.line])
@pytest.mark.parametrize("piece", ["![", "[a](", "- a\n", "a|b\n-|-\n"])
def test_the_work_of_markup_grows_with_the_text(shown: Callable[[str], object], piece: str) -> None:
    """A speech of nothing but markup that is four times as long takes some four times the calls, in markdown and on a
    page."""
    some, more = (calls(lambda n=n: shown(as_long(piece, n))) for n in (1_000, 4_000))

    assert more < 5 * some + 1_000


def test_white_space_in_a_stream_costs_no_more_than_its_length(monkeypatch: pytest.MonkeyPatch) -> None:
    """White space that may be within a key is passed on after some hundred characters."""
    monkeypatch.setenv("DEBATE_KEY_MINE", "sk-a1B2c3D4e5F6g7H8")

    def take(pieces: int) -> None:
        stream = StreamRedactor(lambda text: None)
        for piece in [" s", *[" "] * pieces]:
            stream.feed(piece)

    some, more = (calls(lambda n=n: take(n)) for n in (1_000, 4_000))
    assert more < 5 * some


def test_a_piece_of_a_stream_costs_the_same_however_many_keys_there_are(monkeypatch: pytest.MonkeyPatch) -> None:
    """A reply that comes one character at a time is passed on at once, in less than a hundred calls a character."""

    def take() -> None:
        stream = StreamRedactor(lambda text: None)
        for piece in "A word and the next one. " * 20:
            stream.feed(piece)

    counts = []
    for n in (1, 40):
        for key in range(n):
            monkeypatch.setenv(f"DEBATE_KEY_H{key}", f"sk-proj-{key:02d}Zq9xT4mB7vK2nW8pL5rD1cF6hJ3gS0aY")
        take()  # what is looked for is made once
        counts.append(calls(take))
    assert counts[1] < 1.2 * counts[0] < 50_000


@pytest.mark.parametrize("piece", ["%", "\\", "&", "\\_", "a%41&amp;"])
def test_escapes_in_a_stream_cost_little_more_than_other_text(piece: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A reply of nothing but escapes, one character at a time, takes less than two hundred calls a character."""
    for key in range(10):
        monkeypatch.setenv(f"DEBATE_KEY_H{key}", f"sk-proj-{key:02d}Zq9xT4mB7vK2nW8pL5rD1cF6hJ3gS0aY")

    def take(text: str) -> None:
        stream = StreamRedactor(lambda text: None)
        for char in text:
            stream.feed(char)

    take(piece * 8)  # what is looked for is made once
    some, more = (calls(lambda n=n: take(as_long(piece, n))) for n in (1_000, 4_000))
    assert some < 200_000 and more < 5 * some


def test_first_characters_of_keys_beside_escapes_end_the_search_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where a text does not go on as a key, the rest of the key is not looked through."""
    monkeypatch.setenv("DEBATE_KEY_MINE", "sk-a1B2c3D4e5F6g7H8" * 2)
    monkeypatch.setenv("DEBATE_KEY_LONG", "sk-a1B2c3D4e5F6g7H8" * 20)

    def take() -> None:
        stream = StreamRedactor(lambda text: None)
        for char in as_long("s&", 200):
            stream.feed(char)

    take()  # what is looked for is made once
    assert calls(take) < 200_000


def test_yaml_of_many_values_is_refused() -> None:
    """So many values and keys are read, and no more."""
    value, _ = yaml.load_with_lines(f"topic: [{'a,' * 997}]", 1_000)
    assert len(value["topic"]) == 997
    with pytest.raises(yaml.InvalidYaml, match="more than 1,000 values and keys"):
        yaml.load_with_lines(f"topic: [{'a,' * 2_000}]", 1_000)
    with pytest.raises(yaml.InvalidYaml, match="more than 50,000 values and keys"):
        yaml.load(f"topic: [{'a,' * 50_000}]")


def test_a_quote_is_looked_for_once_in_a_text(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where its words stand a thousand times, but never whole, a text four times as long takes no more calls; and a
    page is looked through at a limited number of places for each part of a quote."""
    part, texts = (
        verbatim.comparable_quote("a a a a"),
        [verbatim.SearchedText("a-" * n + "a a a a-") for n in (1_000, 4_000)],
    )
    some, more = (calls(lambda text=text: text.find(part)) for text in texts)
    assert more == some

    monkeypatch.setattr(verbatim, "MAX_PLACES", 10)
    page, one = "x 5 abcdefghi jklmnopqrs 6 y " * 1_000, "5 abcdefghi jklmnopqrs 6"
    some, more = (calls(lambda quote=quote: match.compare(quote, page)) for quote in (one, " ... ".join([one] * 50)))
    assert more < 60 * some


TRIED: dict[str, Callable[[str], object]] = {
    "made harmless": sanitize.sanitize,
    "redacted": Redactor(["a-secret-of-some-length"]),
    "structured": lambda text: replies.parse_structured("x", '{"a": 1} ' + text),
    "read": lambda text: list(escapes.decoded_texts(escapes.searchable(text))),
    "reserved": lambda text: ends_with_line(f"{text}\n\nSo. [CODE]", "So.", "CODE"),
    "visible": lambda text: visible_text.make_visible(
        public_text(sanitize.sanitize(text)),
        None,
        quotes=QuoteRules(tag="q", verified="v", unverified="u", min_words=1),
        context_texts=["a b"],
    ),
    "markdown": markup.quote_speech,
    "line": markup.inline_markdown,
    "page": writer.speech,
    "transcript": lambda text: transcript_file.parse(f"# T\n\n### Ann (Pro)\n\n{text}\n\n### Bo (Con)\n\ny", "x"),
    "json": lambda text: transcript_file.parse(json.dumps([{"speaker": text, "side": text, "text": text}]), "x"),
}


@pytest.mark.timeout(60)
@pytest.mark.parametrize("piece", ["\n", "** ", "`", "[x]", "~~~x\n", "</think>\n"])
def test_a_long_speech_is_read_once(piece: str) -> None:
    """What of a long text of one piece is public, and whether it ends with a reserved line, is found out in work that
    grows with the text, in calls and within patterns: six times the most that a reply may have comes to its end."""

    def read(length: int) -> None:
        ends_with_line(as_long(piece, length) + "x\n\nSo.", "So.")
        ignored_line_remark(START, START.due[0], reply(as_long(piece, length) + "x [CODE]."), needs_code=True)
        public_text(as_long(piece, length))

    some, more = (calls(lambda n=n: read(n)) for n in (1_000, 4_000))
    assert more < 5 * some
    read(6 * replies.MAX_SIZE)


@pytest.mark.timeout(60)
@pytest.mark.parametrize(
    "piece", ["PASS PHRASE ", "Pass-Phrase-", "aBCd-", "PASSphrase", "1T2-", ";KEY='", "; ", "_KEY_", "1"]
)
def test_a_variable_is_read_once(piece: str) -> None:
    """Whether a long value is a key, and a long name that of one, is found out in work that grows with it."""
    for value in (as_long(piece), f"{as_long(piece)}!"):
        for name in ("A_KEY", value, f"A_KEY_{value}_X"):
            assert len({*secrets(name, value)}) < 3


@pytest.mark.timeout(60)
def test_a_speech_of_backslashes_is_quoted_once() -> None:
    """Dollar signs are looked for in work that grows as the speech does."""
    some, more = (calls(lambda n=n: markup.quote_speech("\\" * n)) for n in (1_000, 4_000))
    assert more < 5 * some
    assert "\\" in markup.quote_speech("\\" * 400_000)


@pytest.mark.timeout(60)
def test_a_reply_that_comes_in_characters_is_read_once() -> None:
    """What begins no tag, a character at a time, is not read again with each character."""

    def feed(length: int) -> None:
        private = PrivateFilter()
        for _ in range(length):
            private.feed("<")

    some, more = (calls(lambda n=n: feed(n)) for n in (1_000, 4_000))
    assert more < 5 * some
    feed(4 * replies.MAX_SIZE)


@pytest.mark.timeout(60)
def test_a_long_run_of_hidden_characters_is_read_once() -> None:
    """A whole reply of soft hyphens comes to its end: nothing of it is shown but a hyphen that ends a line."""
    run = "\u00ad" * 256_000

    assert sanitize.sanitize(f"a{run}b{run}\u200b \nc{run} d") == "ab- \nc d"


@pytest.mark.timeout(60)
def test_a_long_run_of_brackets_is_read_once() -> None:
    """A line of opening brackets comes to its end. One with more than are parsed is shown as it was written."""
    assert markup.inline_markdown("x" + "[" * 64_000 + "`a`") == "x" + r"\[" * 64_000 + r"\`a\`"
    assert markup.inline_markdown("x" + "[" * 299 + " `a`") == "x" + r"\[" * 299 + " `a`"


@pytest.mark.slow
@pytest.mark.timeout(60)
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
        "\u00ad",
        "\u00ad ",
        "\u200d",
        "\u0301",
        "&#0",
        "<think ",
        "<think\n",
        "<!--",
        "<pre>\n",
        "“",
    ):
        try:
            TRIED[name](as_long(piece, 100_000))
        except (DebateError, ValueError):
            pass
