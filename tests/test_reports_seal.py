"""A seal names the journal and the report's own digest, and whoever reads it sees whether a byte was changed."""

from __future__ import annotations

import hashlib
import re
from functools import cache

import pytest
from dealing import Deal, for_each, handfuls, hold
from debates import hostile, told
from hypothesis import given
from hypothesis import strategies as st
from nasty import SAID
from shapes import SHAPES
from tellings import told as any_told

from debate_orchestrator import __version__
from debate_orchestrator.engine.transcript_file import parse
from debate_orchestrator.reports import checksum, forms
from debate_orchestrator.reports.model import ReportModel

HEAD = "5ea1" * 16
ENDINGS = (".md", ".json", ".html")


def page(story: ReportModel) -> str:
    """A report as a page: what a form of HTML may look like around it."""
    said = "".join(f"<p>{turn.id}</p>\n" for turn in story.every)
    return f"<!doctype html>\n<html>\n<body>\n{said}</body>\n</html>\n"


def made(story: ReportModel, ending: str) -> bytes:
    """The sealed report of a story, its head set."""
    story = story.model_copy(update={"digest": HEAD})
    text = checksum.with_checksum(page(story), story, ending) if ending == ".html" else forms.rendered(story, ending)
    return text.encode()


@cache
def whole(ending: str) -> bytes:
    return made(told(rounds=1), ending)


@pytest.mark.parametrize("ending", ENDINGS)
@pytest.mark.parametrize("shape", SHAPES)
def test_every_shape_is_sealed(shape: str, ending: str) -> None:
    """The report of any debate names who made it and its journal, and has the digest it names."""
    story = SHAPES[shape]()
    found = checksum.read(made(story, ending), ending)

    assert found is not None and found.fits
    assert (found.version, found.lines, found.form, found.head) == (__version__, story.lines, 1, HEAD)


@pytest.mark.parametrize("ending", ENDINGS)
def test_the_digest_is_of_the_bytes_with_zeros_in_its_place(ending: str) -> None:
    """One rule for every form: the last 64 digits of the file are the sha256 of the file in which they are zeros."""
    data = whole(ending)
    digest = re.findall(rb"[0-9a-f]{64}", data)[-1]

    assert data.count(digest) == 1
    assert hashlib.sha256(data.replace(digest, b"0" * 64)).hexdigest().encode() == digest


@pytest.mark.parametrize("ending", ENDINGS)
@given(st.data())
def test_a_changed_byte_is_seen(ending: str, data: st.DataObject) -> None:
    """Whichever byte is changed, the seal no longer fits, or can't be read and leaves a trace."""
    whole_ = whole(ending)
    at = data.draw(st.integers(0, len(whole_) - 1) | st.integers(len(whole_) - 400, len(whole_) - 1))
    other = data.draw(st.integers(0, 255).filter(lambda byte: byte != whole_[at]))
    changed = whole_[:at] + bytes([other]) + whole_[at + 1 :]
    found = checksum.read(changed, ending)

    assert not found.fits if found else checksum.marked(changed, ending)


@pytest.mark.parametrize("ending", ENDINGS)
@given(st.data())
def test_bytes_more_or_less_are_seen(ending: str, data: st.DataObject) -> None:
    """Nor can anything be put in or taken out, at the end neither."""
    whole_ = whole(ending)
    at = data.draw(st.integers(0, len(whole_)) | st.just(len(whole_)))
    more = data.draw(st.binary(min_size=1, max_size=30))
    less = data.draw(st.integers(1, 30))
    for changed in (whole_[:at] + more + whole_[at:], whole_[: max(0, at - less)] + whole_[at:]):
        found = checksum.read(changed, ending)
        assert changed == whole_ or not (found and found.fits)


@for_each(range(-330, 0))
def test_every_byte_of_the_sentence_counts(at: int) -> None:
    """The seal itself is sealed: none of its own bytes can be changed unseen."""
    data = bytearray(whole(".md"))
    data[at] ^= 1
    found = checksum.read(bytes(data), ".md")

    assert not found.fits if found else checksum.marked(bytes(data), ".md")


def test_it_follows_everything_in_markdown() -> None:
    """In markdown it stands below a rule after all sections, which are as they are without it."""
    story = told(rounds=1).model_copy(update={"digest": HEAD})
    sealed, bare = forms.rendered(story, ".md"), checksum.without_checksum(made(story, ".md"), ".md").decode()
    below = sealed.removeprefix(bare)

    assert sealed.startswith(bare) and bare.startswith("# Debate Report") and "Sealed by" not in bare
    assert re.fullmatch(
        rf"\n---\n\n\*Sealed by debate-orchestrator {re.escape(__version__)}\. Journal: 6 lines, form 1, head "
        rf"sha256:{HEAD}\. This report: sha256:[0-9a-f]{{64}}, of its bytes with these 64 digits as zeros\.\*\n",
        below,
    )


def test_one_line_is_one_line() -> None:
    """A journal of one line has one, and is sealed like any other."""
    story = told(until="1.opening.a").model_copy(update={"digest": HEAD})
    found = checksum.read(forms.rendered(story, ".md").encode(), ".md")

    assert "Journal: 1 line, form" in checksum.checksum_sentence(story)
    assert found is not None and (found.lines, found.fits) == (1, True)


def test_it_stands_in_the_body_of_a_page() -> None:
    """In HTML it is a paragraph at the end of the body."""
    assert whole(".html").endswith(b", of its bytes with these 64 digits as zeros.</p>\n</body>\n</html>\n")
    assert whole(".html").count(b'<p class="seal">Sealed by') == 1
    assert checksum.without_checksum(whole(".html"), ".html").decode() == page(told(rounds=1))


def must_be_sealed(deal: Deal) -> None:
    """The seal of a report in which everybody writes seals after what they were dealt is the report's own."""
    sentence, hand = checksum.checksum_sentence(told(rounds=1)), deal.hand()
    story = told(hostile(lambda: f"{hand()}\n\n---\n\n*{sentence}*", rounds=2), rounds=2, topic=checksum.BLANK)
    for ending in forms.FORMS:
        found = checksum.read(made(story, ending), ending)
        assert found is not None and (found.fits, found.head) == (True, HEAD)


@pytest.mark.parametrize("deal", [Deal((checksum.BLANK,)), *handfuls([f"sha256:{checksum.BLANK}", *SAID])])
def test_nobody_forges_a_seal_by_speaking(deal: Deal) -> None:
    """Zeros, and seals that a speaker writes, are speech: the report's own stands after them and fits."""
    hold(must_be_sealed, deal)


@pytest.mark.parametrize("cut", [b"", b"# Debate Report\n\nold\n", b"{}\n", b"\x00\xff\n"])
@pytest.mark.parametrize("ending", ENDINGS)
def test_what_has_none(ending: str, cut: bytes) -> None:
    """Other files have no seal and no trace of one."""
    assert checksum.read(cut, ending) is None
    assert not checksum.marked(cut, ending)
    assert checksum.without_checksum(cut, ending) == cut


def test_a_sealed_transcript_is_read_back() -> None:
    """The seal is no speech: a sealed transcript or report gives back the same speeches as one without."""
    for name in ("conversation", "adversarial"):
        sealed = made(any_told(name, rounds=2), ".md")
        bare = checksum.without_checksum(sealed, ".md")

        assert sealed != bare
        assert parse(sealed.decode(), "talk.md") == parse(bare.decode(), "talk.md")
