"""Texts are made alike where their difference says nothing, and only there."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from debate_orchestrator.evidence.match import cut_after, cut_before, figures, fold, marked, weight

DROPPED = [
    ("A Wall", "a wall"), ("a  wall\n\tis", "a wall is"), ("a\u00a0wall\u2009is", "a wall is"),
    ("“a wall”", '"a wall"'), ("«a wall»", '"a wall"'), ("„a wall“", '"a wall"'), ("it’s", "it's"),
    ("well\u2010known", "well-known"), ("1993–2023", "1993-2023"), ("a wall — is", "a wall - is"),
    ("a wall—is", "a wall -- is"), ("en\u00adgi\u00adneer", "engineer"), ("en\u200bgi\u2060neer\ufeff", "engineer"),
    ("ﬁnal oﬃce", "final office"), ("e\u0301te\u0301", "été"), ("３．４", "3.4"), ("m²", "m2"), ("H₂O", "h2o"),
    ("STRASSE", "straße"), ("経済 成長\nは", "経済成長は"), ("ｶﾞｽ", "ガス"),
]  # fmt: skip


def test_what_says_nothing_is_dropped() -> None:
    """Case, spaces, kinds of quotes and dashes, invisible characters and encodings make no difference."""
    for one, other in DROPPED:
        assert fold(one).text == fold(other).text, one


KEPT = [
    ("10²", "102"), ("10⁻⁶", "10-6"), ("3½", "31/2"), ("2019¹", "20191"), ("5①", "51"), ("-5", "5"), ("1.5", "15"),
    ("1,5", "1.5"), ("resign", "re-sign"), ("can't", "cant"), ("5%", "5"), ("resume", "résumé"),
]  # fmt: skip


def test_what_says_something_stays() -> None:
    """Figures, signs, separators, accents and hyphens make a difference."""
    for one, other in KEPT:
        assert fold(one).text != fold(other).text, one


@given(st.text(), st.text())
def test_folding_is_settled(text: str, other: str) -> None:
    """Any text can be made alike; nothing is left to be made alike in the result but for its spaces."""
    folded = fold(text).text
    assert folded == " ".join(folded.split())
    assert fold(f"{text} \n {other}").text == " ".join(f"{folded} {fold(other).text}".split())


@given(st.lists(st.text(min_size=1, max_size=8), max_size=12), st.data())
def test_the_source_is_found_again(words: list[str], data: st.DataObject) -> None:
    """Any stretch of whole words leads back to words that, made alike, hold it."""
    folded = fold(" ".join(words))
    tokens = folded.text.split()
    if not tokens:
        return
    first = data.draw(st.integers(0, len(tokens) - 1))
    last = data.draw(st.integers(first, len(tokens) - 1))
    start = len(" ".join(tokens[:first])) + (1 if first else 0)
    stretch = " ".join(tokens[first : last + 1])

    assert stretch in fold(folded.original(start, start + len(stretch))).text


@pytest.mark.parametrize(
    ("text", "without"),
    [
        ("It grew.[3] It fell[12][13] again.[a]", "it grew. it fell again."),
        ("So it was.[citation needed] And is[note 3].", "so it was. and is."),
        ("An array[1234] of [words]", "an array[1234] of [words]"),
    ],
)
def test_reference_marks_can_be_left_out(text: str, without: str) -> None:
    """What encyclopedias set into their sentences can be left out; other brackets stay."""
    assert fold(text, marks=False).text == without
    assert marked(text) is (without != fold(text).text)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("in 1993 and 2023", ["1993", "2023"]),
        ("3.4 mm, 3,400 of 1'000", ["3.4", "3,400", "1'000"]),
        ("-5 and 3-5, covid-19", ["-5", "3", "5", "19"]),
        (".5 percent, 0.5", [".5", "0.5"]),
        ("5 million, 5-million, 5 billion people", ["5 million", "5-million", "5 billion"]),
        ("10^-6", ["10", "-6"]),
        ("1.2.3. and 4,", ["1.2.3", "4"]),
        ("none", []),
    ],
)
def test_figures_have_their_signs(text: str, found: list[str]) -> None:
    """Numbers are read with signs, separators and powers of ten."""
    assert figures(fold(text).text) == found


ENDS = [
    ("it grew by 5 in may", "by 5", False), ("it grew by 50 in may", "by 5", True),
    ("it grew by 5.2 in may", "by 5", True), ("it grew by 5,000", "by 5", True),
    ("it grew by 5, we know", "by 5", False), ("it grew by 5.", "by 5", False),
    ("it grew by 5 000 people", "by 5", True), ("it grew by 5%", "by 5", True), ("it grew by 5 percent", "by 5", True),
    ("it grew by 5 million", "by 5", True), ("it grew by 5 millions", "by 5", False), ("it grew by 5-7", "by 5", True),
    ("it grew by 5^2", "by 5", True), ("of -5 percent", "5 percent", True), ("of 2.5 percent", "5 percent", True),
    ("of .5 percent", "5 percent", True), ("of 3-5 percent", "5 percent", True),
    ("of 1 005 people", "005 people", True), ("of £5 percent", "5 percent", False),
    ("of ~5 percent", "5 percent", True), ("the heart is long", "art is", True), ("art is longer", "is long", True),
    ("(art is long)", "art is long", False),
]  # fmt: skip


def test_ends_inside_words_and_figures() -> None:
    """What begins or ends inside a word, a figure, a sign or a power of ten is cut off."""
    for text, part, cut in ENDS:
        start = text.index(part)

        assert (cut_before(text, start) or cut_after(text, start + len(part))) is cut, text


def test_wide_scripts_weigh_double() -> None:
    """A character of a script that says more with one counts for two; spaces do not count."""
    assert [weight("a b c"), weight("経 済"), weight("경 제")] == [3, 4, 4]
