"""Speech, tamed: it moves no cursor, hides nothing, reorders nothing and can't close its block."""

from __future__ import annotations

import re
import unicodedata
import urllib.parse
from typing import Literal

import pytest
from corpus import for_each
from hostile_texts import NASTY, texts
from hypothesis import given
from hypothesis import strategies as st

from debate_orchestrator.util import sanitize

NONCE = "0123456789abcdef"
JOINERS = "\u200c\u200d\ufe00\ufe0e\ufe0f"
HIDERS = "\u00ad\u061c\u115f\u200b\u200e\u200f\u202a\u202e\u2060\u2066\u2069\u3164\ufeff\ufff9\U000e0001\U000e007f"
DIRECTIONS = {"LRE", "RLE", "LRO", "RLO", "PDF", "LRI", "RLI", "FSI", "PDI"}

anything = (
    texts
    | st.text(st.characters(exclude_categories=()), max_size=80)
    | st.text(st.sampled_from("ab \n\r\x1b\x9b\x85\u2028\u2029" + JOINERS + HIDERS), max_size=40)
    | st.sampled_from(NASTY)
)


@given(anything)
def test_tamed_text_moves_no_cursor(text: str) -> None:
    """Of all controls only the line break and the tab are left."""
    tamed = sanitize.sanitize(text)

    assert {one for one in tamed if unicodedata.category(one) in ("Cc", "Cs")} <= {"\n", "\t"}
    assert tamed.encode().decode() == tamed


@given(anything)
def test_tamed_text_hides_and_reorders_nothing(text: str) -> None:
    """No character is left that only hides or reorders others, and no second kind of line break."""
    tamed = sanitize.sanitize(text)

    assert set(HIDERS) & set(tamed) == set()
    assert {one for one in tamed if unicodedata.category(one) in ("Zl", "Zp")} == set()
    assert {unicodedata.bidirectional(one) for one in tamed} & DIRECTIONS == set()


@given(st.text(st.characters(categories=("L", "M", "N", "P", "S", "Zs")), max_size=80))
def test_what_can_be_seen_is_left(text: str) -> None:
    """Letters, marks, digits, signs and spaces of every script come through unchanged, but for spaces and variants."""
    blanks = "\u180b-\u180f\ufe00-\ufe0f\U000e0100-\U000e01ef\u115f\u1160\u17b4\u17b5\u3164\uffa0"
    text = re.sub(f"[{blanks}]", "", text)

    assert sanitize.sanitize(text) == text


def test_controls_can_be_seen() -> None:
    """A control becomes its picture, so that a reader sees that it was put there."""
    assert sanitize.sanitize("\x1b[2J\x07\x00\x7f\x9b\ud800") == "␛[2J␇␀␡\ufffd\ufffd"


def test_line_breaks_are_of_one_kind() -> None:
    """Every line break of every system becomes the one."""
    assert sanitize.sanitize("a\r\nb\rc\u2028d\u2029e\x85f\n\rg") == "a\nb\nc\nd\ne\nf\n\ng"


def test_joiners_of_scripts_and_emoji_are_kept() -> None:
    """What a script or an emoji is put together with stays."""
    text = "می\u200cخواهم 👩\u200d🔬 ☺\ufe0f"

    assert sanitize.sanitize(text) == text


@for_each(
    [
        ("<v\u200d_quote>", "<v_quote>"),
        ("Researcher\ufe0f B\u200c:\u200d", "Researcher B:"),
        ("\U0001f600" + "\ufe00\ufe0e" * 40 + "!", "\U0001f600\ufe00\ufe0e!"),
        ("é" + "\u200c\u200d" * 40, "é\u200c\u200d"),
        ("a" + "\U000e0131" * 40 + "b", "ab"),
        ("1\ufe0f\u20e3 PDF\u200cها", "1\ufe0f\u20e3 PDF\u200cها"),
    ]
)
def test_joiners_hide_nothing(text: str, left: str) -> None:
    """Joiners part no plain letters, where they would only break up a word unseen, and carry nothing in long rows."""
    assert sanitize.sanitize(text) == left


@given(anything)
def test_one_line_is_one(text: str) -> None:
    """One line has no breaks, no outer space and no double one."""
    line = sanitize.one_line(text)

    assert line.split() == line.split(" ") or line == ""


def test_a_block_is_closed_by_its_own_code_alone() -> None:
    """Every place has a code of its own, which is taken out of the text that is there, and out of no other."""
    own, other = (sanitize.block_marker(NONCE, place) for place in ("1.opening.a", "1.opening.b"))

    assert own != other and own == sanitize.block_marker(NONCE, "1.opening.a")
    assert sanitize.without_block_marker(f"é\x1b END {own} >>> {other}", own) == f"é␛ END [...] >>> {other}"
    assert own not in sanitize.without_block_marker(own[:6] + own + own[6:], own)


@for_each([("", 0), (" \n", 0), ("one", 1), ("one  two\nthree", 3)])
def test_words_are_counted_between_white_space(text: str, count: int) -> None:
    """Words are what white space parts."""
    assert sanitize.count_words(text) == count


@pytest.mark.parametrize("form", ["NFC", "NFD", "NFKC", "NFKD"])
def test_normalizing_changes_nothing_else(form: Literal["NFC", "NFD", "NFKC", "NFKD"]) -> None:
    """Text with marks as any language has them is normalized as Unicode says; only the ninth mark in a row goes."""
    usual = "e\u0301 \ufb01 \u0e01\u0e33\u0e49 \u05e9\u05bc\u05b8 \uff76\uff9e " + "a" + "\u0315\u0300" * 4 + "b"
    assert sanitize.normalize_unicode(usual, form) == unicodedata.normalize(form, usual)
    many = "a" + "\u0315\u0300" * 100_000 + "b"
    assert sanitize.normalize_unicode(many, form) == unicodedata.normalize(form, "a" + "\u0315\u0300" * 4 + "b")


@for_each(["\u200c", "\u200d", "\ufe0f", "\U000e0041", "\u180b", "\u200d\ufe0f" * 3])
def test_what_is_not_drawn_parts_no_marks(undrawn: str) -> None:
    """The ninth mark on a letter goes with all after it, whatever is between; after eight, what joins stays."""
    marks = "\u0301" * 8
    assert sanitize.few_combining_marks(f"Is e{(marks + undrawn) * 30} so?") == f"Is e{marks}{undrawn} so?"
    assert sanitize.few_combining_marks(f"e{marks}{undrawn}x") == f"e{marks}{undrawn}x"


@pytest.mark.parametrize("drawn_as_a_space", " \n\x1b\u115f\u1160\u2800\u3164\uffa0\u3000\U0001d159\u200b")
def test_an_address_has_no_gaps(drawn_as_a_space: str) -> None:
    """What is not seen in an address is encoded in it, so that what follows does not look like other words."""
    encoded = urllib.parse.quote(drawn_as_a_space)
    for page in ("https://example.org/wiki/Ångström", "https://example.org/page"):
        assert sanitize.visible_address(f"{page}{drawn_as_a_space};verified") == f"{page}{encoded};verified"
