"""The work that hostile speeches and files take has limits."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest
from core.folding import opened, reply
from corpus import for_each
from counting import calls

from debate_orchestrator.core import verbatim, visible_text
from debate_orchestrator.core.debated_names import words_in_doubt
from debate_orchestrator.core.fold import fold
from debate_orchestrator.core.phases import QuoteRules
from debate_orchestrator.core.private_text import PrivateFilter, public_text
from debate_orchestrator.core.speech_rules import ends_with_line, ignored_line_remark
from debate_orchestrator.engine import transcript_file
from debate_orchestrator.engine.name_comparison import comparable_name
from debate_orchestrator.evidence import match
from debate_orchestrator.prompting import json_object, replies
from debate_orchestrator.prompting.reply_code import ReplyCode
from debate_orchestrator.reports import safe_markdown
from debate_orchestrator.reports.html import writer
from debate_orchestrator.util import escapes, sanitize, yaml
from debate_orchestrator.util.errors import DebateError
from debate_orchestrator.util.redact import Redactor, StreamRedactor, secrets

START = fold([opened()])


def as_long(piece: str, length: int = 12_000) -> str:
    """A text of that length, made of one piece."""
    return (piece * length)[:length]


def stream(text: str) -> None:
    """Takes secrets out of a reply that comes one character at a time."""
    redactor = StreamRedactor(lambda text: None)
    for char in f" s{text}":  # as a key begins
        redactor.feed(char)


def filter_reasoning(text: str) -> None:
    private = PrivateFilter()
    for char in text:
        private.feed(char)


def read_reserved_lines(text: str) -> None:
    ends_with_line(f"{text}x\n\nSo.", "So.")
    ignored_line_remark(START, START.due[0], reply(f"{text}x [CODE]."), needs_code=True)
    public_text(text)


MARKUP = ("![", "[a](", "- a\n", "a|b\n-|-\n", "\\")
GROWS: dict[Callable[[str], object], tuple[str, ...]] = {
    safe_markdown.quote_speech: MARKUP,
    safe_markdown.inline_markdown: MARKUP,
    writer.text_of_others: MARKUP,
    writer.line: MARKUP,
    stream: (" ", "%", "\\", "&", "\\_", "a%41&amp;"),
    filter_reasoning: ("<",),
    read_reserved_lines: ("\n", "** ", "`", "[x]", "~~~x\n", "</think>\n"),
}
"""What is done with a text, and the pieces that it is made of."""


@pytest.mark.timeout(60)
@for_each([(work, piece) for work, pieces in GROWS.items() for piece in pieces], "work", "piece")
def test_work_grows_with_the_text(work: Callable[[str], object], piece: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A text of one piece, over and over, that is four times as long takes some four times the calls; of escapes in a
    stream, less than two hundred a character."""
    for key in range(10):
        monkeypatch.setenv(f"DEBATE_KEY_H{key}", f"sk-proj-{key:02d}Zq9xT4mB7vK2nW8pL5rD1cF6hJ3gS0aY")
    work(piece * 8)  # what is looked for is made once
    some, more = (calls(lambda n=n: work(as_long(piece, n))) for n in (1_000, 4_000))
    assert more < 5 * some + 1_000 and some < 200_000


@pytest.mark.timeout(60)
def test_the_longest_reply_is_read_once() -> None:
    """Within patterns, too: twice the most that a reply may have comes to its end."""
    for piece in GROWS[read_reserved_lines]:
        read_reserved_lines(as_long(piece, 2 * replies.MAX_SIZE))
    filter_reasoning(as_long("<", 2 * replies.MAX_SIZE))
    assert "\\" in safe_markdown.quote_speech("\\" * 400_000)


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


def test_places_where_an_object_may_begin_are_tried_a_limited_number_of_times() -> None:
    """A reply of nothing but braces that is four times as long takes no more calls."""
    some, more = (calls(lambda n=n: json_object.without_reasoning_around("{" * n)) for n in (20_000, 80_000))
    assert more < 1.1 * some


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
    "markdown": safe_markdown.quote_speech,
    "line": safe_markdown.inline_markdown,
    "page": writer.text_of_others,
    "transcript": lambda text: transcript_file.parse(f"# T\n\n### Ann (Pro)\n\n{text}\n\n### Bo (Con)\n\ny", "x"),
    "json": lambda text: transcript_file.parse(json.dumps([{"speaker": text, "side": text, "text": text}]), "x"),
}


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
def test_a_long_run_of_hidden_characters_is_read_once() -> None:
    """A whole reply of soft hyphens comes to its end: nothing of it is shown but a hyphen that ends a line."""
    run = "\u00ad" * 256_000

    assert sanitize.sanitize(f"a{run}b{run}\u200b \nc{run} d") == "ab- \nc d"


@pytest.mark.timeout(60)
def test_a_long_line_of_a_transcript_is_read_once() -> None:
    """A line without a plain letter comes to its end where it may be the name of a speaker."""
    for piece in ("我们，", "5", ".../", "["):
        assert comparable_name(f"{as_long(piece, 200_000)} Ann").endswith("ann")
        transcript_file.parse(f"# T\n\n## Ann (Pro)\n\n{as_long(piece, 50_000)}\n\n## Bo (Con)\n\ny", "x")


@pytest.mark.timeout(60)
def test_a_long_run_of_brackets_is_read_once() -> None:
    """A line of opening brackets comes to its end. One with more than are parsed is shown as it was written."""
    assert safe_markdown.inline_markdown("x" + "[" * 64_000 + "`a`") == "x" + r"\[" * 64_000 + r"\`a\`"
    assert safe_markdown.inline_markdown("x" + "[" * 299 + " `a`") == "x" + r"\[" * 299 + " `a`"


@pytest.mark.timeout(60)
def test_what_is_looked_for_in_words_is_looked_for_once() -> None:
    """Material of capitals, as in genes, comes to its end; so does a reply with a long key and a text of many words."""
    assert not words_in_doubt(START.format, [as_long("CGT", 390_000)])
    words = f'{{"code": "BCDFGH", "{"a" * 60_000}x": 1, "why": "a "q" {"a " * 60_000}", "end_code": "BCDFGH"}}'
    assert json_object.find_object(words, ReplyCode(text="BCDFGH"))[1] == ["punctuation of the JSON repaired"]


PIECES = (
    *("<", "> ", "- ", "[", "*", "_ ", "`", "\n", "a", '"a', "{", "<think>", "</think>\n", "```\n", "Bo: ", "%41"),
    *("\u00ad", "\u00ad ", "\u200d", "\u0301", "&#0", "<think ", "<think\n", "<!--", "<pre>\n", "“"),
)


@pytest.mark.slow
@pytest.mark.timeout(60)
@pytest.mark.parametrize("name", TRIED)
def test_long_hostile_texts_come_to_an_end(name: str) -> None:
    """However long a text of one piece, over and over, each function comes to its end."""
    for piece in PIECES:
        try:
            TRIED[name](as_long(piece, 100_000))
        except (DebateError, ValueError):
            pass
