"""What the end of a text may become is found from its last part alone, in an amount of work that has a bound."""

from __future__ import annotations

import json
import random
import re
from itertools import cycle, islice, product
from urllib.parse import quote

import pytest
from conftest import streamed
from core.folding import many
from corpus import for_each
from counting import calls, redaction
from hypothesis import given
from hypothesis import strategies as st
from test_redaction_markup import SHORT, SIGNS

from debate_orchestrator.util import decoding, redact
from debate_orchestrator.util.redact import Redactor, StreamRedactor, spellings

KEY = "sk-proj-Ab3dEf6hIj9lMn2pQr5tUv8xYz01"
NO_BOUND = 10**9


@pytest.fixture(autouse=True)
def one_key(monkeypatch: pytest.MonkeyPatch) -> None:
    """One variable of the environment holds the key."""
    monkeypatch.setenv("OPENAI_API_KEY", KEY)


def begun(redactor: Redactor, text: str, *, half: bool, end: int, crowd: int) -> int:
    """Where a key may have begun, with these two bounds on what is looked at."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(decoding, "_END_LENGTH", end)
        patch.setattr(decoding, "_MAX_CROWD", crowd)
        return redactor.begun(text, half=half)


def hostile(size: int) -> str:
    """Beginnings of markup in escapes, which may each be markup or not as the text goes on."""
    return "".join(random.Random(5).choices([*SIGNS[:35], "&#60;", "&#92;", "%1b", "%253c", "\\x9d"], k=size))


@for_each([(before, size) for before in ("&", "so it is ", "<a") for size in (200, 400)])
def test_the_work_at_the_end_of_a_long_text_has_a_bound(hostile_text: tuple[str, int]) -> None:
    """However many ways there are to read the end of a text, few times its length is read to look for what begins."""
    before, size = hostile_text
    text = (before * 100_000)[:100_000] + hostile(size)
    redactor = Redactor(spellings(KEY))
    with redaction() as work:
        redactor.begun(text)
    assert 0 < sum(work.read) <= 20 * len(text)


BACKSLASHES = ("<a" * 100)[:156] + "\\" * 300
"""An end that may be read in very many ways."""


@for_each(["%E2%80%8B", "%3Ca%3E", "\\\\u200b"])
def test_the_ways_to_read_a_long_end_are_counted_before_they_are_read(unit: str) -> None:
    """Where all of a text is escapes of nothing, so that all of it is its end, it is read a few times too."""
    text, redactor = unit * (100_000 // len(unit)) + BACKSLASHES, Redactor(spellings(KEY))
    with redaction() as work:
        redactor.begun(text)
    assert 0 < sum(work.read) <= 30 * len(text)


@for_each([(BACKSLASHES, 60), ("\\e]<a" * 100 + "\\" * 376, 40), ("&", 20_000), ("x1b=", 10_000)])
def test_the_work_for_a_stream_grows_with_its_length(flood: tuple[str, int]) -> None:
    """Pieces after which the end may be read in very many ways, and pieces of few characters, wait for others: the
    stream's text is read no more often than `redact` says, and once as a whole."""
    piece, number = flood
    with redaction() as work:
        streamed(*[piece] * number)
    with redaction() as whole:
        redact.redactor().cut(piece * number)
    done, once = (sum(counted.read) + 100 * len(counted.read) for counted in (work, whole))

    assert once > 0 and done <= 3_000_000 + 20 * number * len(piece) + 3 * once


def test_a_stream_of_words_waits_for_nothing() -> None:
    """A speech of the usual length is told piece by piece, in as many pieces as it came in."""
    heard: list[str] = []
    stream = StreamRedactor(heard.append)
    for piece in ["So", " it", " is", ",", " x", " <", " y", " &", " z", ".\n"] * 300:
        stream.take(piece)
    assert len(list(filter(None, heard))) >= 2_400


@many
@given(
    st.lists(st.one_of(st.sampled_from(SIGNS), st.sampled_from([KEY, KEY[:9], KEY[9:], " ", "so"])), max_size=14),
    st.lists(st.integers(1, 12), min_size=1, max_size=9),
    st.integers(-3_000, 3_000),
    st.integers(0, 200),
)
def test_a_stream_out_of_credit_tells_nothing_of_a_key(
    parts: list[str], sizes: list[int], credit: int, earned: int
) -> None:
    """However little work a stream may take, and however its text is cut into pieces, nothing is lost, and no eight
    letters of a key are told but where the whole text, redacted, has them."""
    text, redactor, heard = "".join(parts), Redactor([KEY]), list[str]()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(redact, "redactor", lambda: redactor)
        patch.setattr(redact, "_CREDIT", credit)
        patch.setattr(redact, "_EARNED", earned)
        stream, at = StreamRedactor(heard.append), 0
        for size in islice(cycle(sizes), len(text)):
            stream.take(text[at : at + size])
            at += size
        stream.end()

    kept = "(?s:.+)".join(map(re.escape, "".join(heard).split("[key]")))
    assert re.fullmatch(kept, redactor(text))
    assert not any(
        KEY[at : at + 8] in "".join(heard) for at in range(8, len(KEY) - 7) if KEY[at : at + 8] not in redactor(text)
    )


def test_blanks_behind_much_that_waits_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    """Blanks are dropped where very many come in a row, and not because much text that is seen waits before them."""
    monkeypatch.setattr(redact, "_CREDIT", -(10**9))
    pieces = ["so it is", "\n", " ", "\n"] * 12_000

    assert streamed(*pieces) == "".join(pieces)


@many
@given(st.lists(st.sampled_from(SIGNS), max_size=14), st.booleans())
def test_fewer_readings_find_no_less(parts: list[str], half: bool) -> None:
    """With few readings, what may have begun is found where it is with all of them, or a text is held from an earlier
    place."""
    text, redactor = "".join(parts), Redactor([SHORT])
    unbounded = begun(redactor, text, half=half, end=NO_BOUND, crowd=NO_BOUND)
    assert begun(redactor, text, half=half, end=NO_BOUND, crowd=10) <= unbounded


FORMS = {
    "as it is": KEY, "JSON": "".join(f"\\u{ord(one):04x}" for one in KEY), "colours": "\x1b[1m".join(KEY),
    "percent": "".join(f"%{ord(one):02x}" for one in KEY), "tags": "<b class='x'>".join(KEY),
    "percent twice": quote("".join(f"%{ord(one):02x}" for one in KEY)),
    "points": "".join(f"&#{ord(one)};" for one in KEY),
    "JSON twice": json.dumps("".join(f"\\u{ord(one):04x}" for one in KEY))[1:-1], "lines": "=\n".join(KEY),
    "hidden": "\u200b".join(KEY), "hidden in escapes": ("&#8203;" * 9).join(KEY), "spaces": (" " * 400).join(KEY),
    "colours in escapes": ("\\u001b[1m" * 40).join(KEY),
}  # fmt: skip


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("before", ["It is so. ", pytest.param("\x1b[1m\\x61<b>", marks=pytest.mark.slow)])
def test_a_key_behind_a_long_text_is_found_at_its_end(form: str, before: str) -> None:
    """Wherever a written key is cut, as much of it is found behind a long text as when all of that is looked at, and
    fewer than eight of its characters are left."""
    redactor, written = Redactor([KEY]), FORMS[form]
    text = (before * 4_000)[: 4_000 // len(before) * len(before)] + " "
    for cut in range(len(written) // 9, len(written), len(written) // 5):
        cut_text = text + written[:cut]
        for half in (False, True):
            whole = begun(redactor, cut_text, half=half, end=NO_BOUND, crowd=NO_BOUND)
            assert begun(redactor, cut_text, half=half, end=1, crowd=decoding._MAX_CROWD) <= whole
        shown = redactor.without_fragments(redactor.cut(cut_text))[-len(written) - 100 :]
        read = [reading.text for bare in (False, True) for reading in decoding.readings(shown, "", bare=bare)]
        assert not any(KEY[at : at + 8] in one for one in read for at in range(8, len(KEY) - 8))


def test_parts_of_keys_in_a_row_are_traced_back_once() -> None:
    """A text of nothing but parts of a key takes a few calls for each character to be blanked out."""
    redactor, text = Redactor([KEY]), f"{KEY[8:30]} " * 200
    redactor.without_fragments("x")

    assert redactor.without_fragments(text).replace("[key]", "").split() == []
    assert calls(lambda: redactor.without_fragments(text)) < 6 * len(text)


UNSEEN = ["\n", " ", "\t", "\u200b", "\xa0", "\ufeff", "\x00", "\u0301", "\r\n", " \u200b\n", "x", ""]
"""What a piece may be made of that can't be seen, or can."""


@pytest.mark.parametrize(
    ("held", "units"), [(100_000, ["\n", " \u200b\n"]), (1_000, UNSEEN)], ids=["as it is", "few characters"]
)
def test_an_answer_may_begin_in_any_way(monkeypatch: pytest.MonkeyPatch, held: int, units: list[str]) -> None:
    """However a text begins, and however long that is, in a stream it is what it is in one piece: what can't be seen
    is kept as well, unless more characters of it come in a row than may be held: 100,000."""
    if held == 100_000:
        assert held == redact._MAX_HELD
    monkeypatch.setattr(redact, "_MAX_HELD", held)
    for unit, length in product(units, (1, 100, held - 1, held, held + 1, held * 5 // 2)):
        first = (unit * length)[:length]
        for rest in ([], ["so it is"], [first, "so"], ["so", first, "it is"], ["", first]):
            pieces = [first, *rest]
            heard, text = streamed(*pieces), "".join(pieces)
            assert decoding.clean(heard, " ").strip() == decoding.clean(text, " ").strip(), (unit, length, rest)
            assert heard == text or max(map(len, re.findall(r"[^a-z]+", text))) > held, (unit, length, rest)
