"""A secret is found in text with colours of terminals or tags of HTML in it, and also within such markup."""

from __future__ import annotations

import json
import re
import re._parser as regex_parser
from collections.abc import Iterator
from itertools import pairwise

import pytest
from conftest import streamed
from core.folding import many
from corpus import for_each
from counting import redaction
from hypothesis import example, given
from hypothesis import strategies as st

from debate_orchestrator.util import decoding
from debate_orchestrator.util.redact import Redactor, StreamRedactor, redact, spellings
from debate_orchestrator.util.sanitize import sanitize

KEY = "sk-proj-Ab3dEf6hIj9lMn2pQr5tUv8xYz01"
MARKUP = (
    "\x1b[m", "\x1b[K", "\x1b[01;31m\x1b[K", "\x1b[38;2;255;0;0m", "\x9b31m", "\u241b[31m", "\ufffd31m", "\x1b(B",
    "\x1b]0;a title\x07", "\x1b]8;;https://h/x\x1b\\", "\x9d0;x\x9c", "\x1bPq\x1b\\", "\u241b]0;x\u2407", "\x1b=",
    "<b>", "</b>", "<wbr>", "<br/>", '<span style="color: red">', "<!-- so -->", "=\n", "=\r\n",
    "\\\n", "&shy;<wbr>", "\u200b<b>\x1b[m",
)  # fmt: skip

ESCAPES = ("\\u{:04x}", "\\x{:02x}", "%{:02x}", "&#{};", "&#x{:X};")


@pytest.fixture(autouse=True)
def one_key(monkeypatch: pytest.MonkeyPatch) -> None:
    """One variable of the environment holds the key, and no other secret was learned."""
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    monkeypatch.setattr("debate_orchestrator.util.redact._learned", set())


def test_markup_in_a_key() -> None:
    """Nothing of a key is left where markup is in it: once, as `grep` marks what it found, and between all letters."""
    for markup in MARKUP:
        for said in (f"{KEY[:9]}{markup}{KEY[9:]}", f"{KEY[:3]}{markup}{KEY[3:8]}{markup}{KEY[8:]}", markup.join(KEY)):
            shown = said if markup.startswith("\x9d") else sanitize(said)  # of which it leaves no trace
            for text in (f"It is {said}.", f"It is {shown}.", json.dumps(f"It is {said}.")[1:-1]):
                assert redact(text) == "It is [key]."
        assert streamed(*f"It is {markup.join(KEY)}.") == "It is [key].", markup


@for_each(["<a href={}>", "<b x='{}'>", "\x1b]0;{}\x07", "\x1b]8;;http://h/?{}\x1b\\", "\x1b[{}"])
def test_a_key_in_markup(around: str) -> None:
    """A key that stands in markup is found too, as is one behind a control character that markup may begin with."""
    assert redact(around.format(KEY)) == streamed(*around.format(KEY)) == around.format("[key]")
    for markup in "\x1b\x9b\x9d=":
        assert redact(f"{markup}{KEY}") == streamed(markup, *KEY) == f"{markup}[key]"
        assert redact(f"{KEY[:12]}\x1b{KEY[12:]}") == "[key]"


BEFORE = (
    "\x1b", "\x1b[", "\x1b[1", "\x1b[1;", "\x9b", "\\e", "\\033", "\\x1b[", "\u241b", "\u241b[", "\ufffd", "\x1b(",
    "\x1b]",
)  # fmt: skip


@for_each([(before, within) for before in BEFORE for within in ("\x1b[31m", "<i>", '<b class="x">', "=\n", "\u200b")])
def test_a_sequence_without_its_end_hides_no_key(around: tuple[str, str]) -> None:
    """It takes the first characters of a key with markup in it, and the key is found whole."""
    before, within = around
    for key in (KEY, "Qk3SmG3tfdpL6Tw2yE0KsZ9rVb7nHc4", "31dead77beef0123Ab3dEf6hIj9lMn2p"):
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("OPENAI_API_KEY", key)
            said = f"Echo: {before}{key[:20]}{within}{key[20:]} now."
            assert redact(said) == streamed(*said) == streamed(said[:20], said[20:]) == f"Echo: {before}[key] now."


@for_each([(first, then) for first in ESCAPES for then in ESCAPES])
def test_a_key_that_is_escaped_twice_and_coloured(escapes: tuple[str, str]) -> None:
    """Its letters come one by one, each between colours: what is an escape once it is decoded is waited for."""
    said = KEY
    for escape in escapes:
        said = "".join(escape.format(ord(letter)) for letter in said)
    said = "".join(f"\x1b[31m{letter}\x1b[0m" for letter in said)
    assert streamed(*said) == redact(said) == "\x1b[31m[key]\x1b[0m"


@for_each(["\x1b", "\x1b[", "\x1b[31;", "\x1b]0;a", "<", "<span class='", "="])
def test_a_text_that_ends_in_markup(open: str) -> None:
    """The larger half of a key is taken out at the end of a text that was cut within markup."""
    assert Redactor([KEY]).cut(f"It is {KEY[:25]}{open}") == "It is [key]"


@many
@given(
    st.lists(st.sampled_from(["sk-", "proj", "A", " ", "<", ">", "b", "\x1b", "[", "31", "m", "]", "\x07", "=", "\n"]))
)
def test_ordinary_text_is_left_alone(parts: list[str]) -> None:
    """Markup without a key comes through as it is, whole and in pieces."""
    text = "".join(parts)
    assert redact(text) == streamed(*parts) == text


@many
@given(
    st.lists(st.sampled_from([*MARKUP, "", "", ""]), min_size=len(KEY), max_size=len(KEY)),
    st.sets(st.integers(0, len(KEY) * 12)),
)
def test_any_mixture(pieces: list[str], cuts: set[int]) -> None:
    """However much markup is in a key, and however the text comes in pieces, nothing of the key is shown."""
    text = "".join(f"{one}{markup}" for one, markup in zip(KEY, [*pieces[:-1], ""], strict=True))
    whole = f"It is {text} it was."
    places = [0, *sorted(at for at in cuts if 0 < at < len(whole)), len(whole)]

    assert redact(whole) == streamed(*(whole[a:b] for a, b in pairwise(places))) == "It is [key] it was."


SIGNS = [
    "\x1b", "\\e", "\\x1b", "\\033", "\\u001b", "\u241b", "\ufffd", "\x9b", "\x90", "[", "]", "P", "<", "</", "b", ">",
    "=", "\\", "&", "%", "%2", "%3C", "%3c", "&#", "&#6", "&lt;", "&amp;", "\\u", "\\x", "\\x3c", "\x07", "\\a",
    "\x1b[1m", "<b>", " ", "\n", "=\n", "\\\n", "/", "!", "1", "m", ";", "q9Zt", "Lw", "q9ZtLw3R", "Rx", "3R",
    "\x1b[1m3R", "<b>3R",
]  # fmt: skip
"""What markup and escapes begin and end with, and parts of `SHORT`."""
SHORT = "q9ZtLw3Rx"


@many
@given(st.lists(st.sampled_from(SIGNS), max_size=14), st.sets(st.integers(0, 40)))
@example(["\\e", "&", "<"], set())
@example(["<b", "q9Zt", "\x1b[1m", "Lw", "\x1b[1m", "3Rx"], {11})
def test_any_text_of_signs(parts: list[str], cuts: set[int]) -> None:
    """However a text of such signs comes in pieces, no more of it is shown than of the whole; nor at a cut."""
    text, redactor = "".join(parts), Redactor([SHORT])
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("debate_orchestrator.util.redact.redactor", lambda: redactor)
        places = [0, *sorted(at for at in cuts if 0 < at < len(text)), len(text)]
        shown = streamed(*(text[a:b] for a, b in pairwise(places)))

    for told in (shown, redactor.cut(text)):
        kept = "(?s:.+)".join(map(re.escape, told.split("[key]")))
        assert re.fullmatch(kept, redactor(text))


def test_no_waiting_without_need() -> None:
    """A tag, or the beginning of one, keeps no ordinary text back."""
    heard: list[str] = []
    pieces = StreamRedactor(heard.append)
    for piece in ("If x <", "b and", " y> c, \x1b[", "31m it", " is."):
        pieces.take(piece)
    assert heard == ["If x <", "b and", " y> c, \x1b[", "31m it", " is."]


@for_each(["\u200b", " ", "\x1b[m", "<b>", "<", "="])
def test_pieces_that_show_nothing(piece: str) -> None:
    """A flood of pieces that show nothing, after the first letters of a key, is read a few times however many come."""
    pieces = [KEY[:3], *[piece] * 2_000, "!"]
    with redaction() as work:
        assert streamed(*pieces) == "".join(pieces)
    length = len("".join(pieces))
    assert sum(work.searched) <= 20 * length and sum(work.read) <= 40 * length


@for_each(["\x90", "\x98", "\x9d", "\x1b]", "\u241bP", "\\x1b]", "\\e_"])
def test_the_beginnings_of_many_sequences(opener: str) -> None:
    """A sequence of a terminal that has begun ends where another begins, so that a text of such beginnings is read
    once, and not again from each of them."""
    text = opener * 500
    sequence = re.compile(decoding._STRING)
    lengths = [len(found[0]) for at in range(len(text)) if (found := sequence.match(text, at))]

    assert 500 <= sum(lengths) <= 2 * len(text)


def test_a_run_of_backslashes_is_read_once() -> None:
    """No pattern gives backslashes back to try an escape with fewer of them: each place of a long run would be read as
    often as a run may be long, for each kind of escape."""
    patterns = [decoding._MARKUP, decoding._OPEN_MARKUP, decoding._INCOMPLETE, *decoding._ESCAPES.values()]
    tree = "".join(str(regex_parser.parse(pattern.pattern)) for pattern in patterns)

    assert tree.count("(POSSESSIVE_REPEAT, (1, 8, [(LITERAL, 92)]))") > 20
    assert "(MAX_REPEAT, (1, 8, [(LITERAL, 92)]))" not in tree


@pytest.mark.parametrize(("unit", "most"), [("\\%25", 60), ("%25", 36), ("\x9b%25", 32)])
def test_readings_of_one_text_share_what_was_worked_out(unit: str, most: int) -> None:
    """What a change to a text replaced is worked out once, for all readings that were made of it."""
    redactor, text = Redactor(spellings(KEY)), unit * 2_000
    with redaction() as work:
        redactor.split(text)

    assert len(text) <= sum(work.read) <= most * len(text)


def pictured(said: str) -> Iterator[str]:
    """A sanitized text as JSON, in which its pictures are escaped or not, and that as JSON again."""
    for inner in (True, False):
        once = json.dumps(said, ensure_ascii=inner)[1:-1]
        yield once
        for outer in (True, False):
            yield json.dumps(once, ensure_ascii=outer)[1:-1]


@pytest.mark.parametrize("begin", ["\x1b]8;;", "\x1bPq", "\x1b]0;t"])
@pytest.mark.parametrize("escape", ESCAPES)
def test_an_escape_right_behind_a_sequence(begin: str, escape: str) -> None:
    """The backslash that ends a sequence for terminals is one: the next one begins an escape of the key's next
    character. Where the text was escaped, both stand there twice."""
    said = f"{KEY[:9]}{begin}\x1b\\{escape.format(ord(KEY[9]))}{KEY[10:]}"
    for text in (
        said,
        json.dumps(said)[1:-1],
        json.dumps(json.dumps(said)[1:-1])[1:-1],
        said.replace("\x1b", "\u241b"),
        *pictured(said.replace("\x1b", "\u241b")),
    ):
        assert redact(text) == streamed(*text) == "[key]"
