"""What the end of a text may become is found from its last part alone, in an amount of work that has a bound."""

from __future__ import annotations

import json
import random
from urllib.parse import quote

import pytest
from core.folding import many
from corpus import for_each
from counting import redaction
from hypothesis import given
from hypothesis import strategies as st
from test_redaction_markup import SHORT, SIGNS

from debate_orchestrator.util import decoding
from debate_orchestrator.util.redact import Redactor, spellings

KEY = "sk-proj-Ab3dEf6hIj9lMn2pQr5tUv8xYz01"
NO_BOUND = 10**9


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
@pytest.mark.parametrize("before", ["It is so. ", "\x1b[1m\\x61<b>"])
def test_a_key_behind_a_long_text_is_found_at_its_end(form: str, before: str) -> None:
    """Wherever a written key is cut, as much of it is found behind a long text as when all of that is looked at, and
    fewer than eight of its characters are left."""
    redactor, written = Redactor([KEY]), FORMS[form]
    text = (before * 12_000)[: 12_000 // len(before) * len(before)] + " "
    for cut in range(len(written) // 9, len(written), len(written) // 5):
        cut_text = text + written[:cut]
        for half in (False, True):
            whole = begun(redactor, cut_text, half=half, end=NO_BOUND, crowd=NO_BOUND)
            assert begun(redactor, cut_text, half=half, end=1, crowd=decoding._MAX_CROWD) <= whole
        shown = redactor.without_fragments(redactor.cut(cut_text))[-len(written) - 100 :]
        read = [reading.text for bare in (False, True) for reading in decoding.readings(shown, "", bare=bare)]
        assert not any(KEY[at : at + 8] in one for one in read for at in range(8, len(KEY) - 8))
