"""What others hear of a speech: nothing private, no tag that a speaker forged, and no word lost but those dropped."""

from __future__ import annotations

import re
from typing import Any

import pytest
from core.folding import many
from corpus import for_each
from hostile_texts import PIECES, alike, texts
from hypothesis import assume, given
from hypothesis import strategies as st

from debate_orchestrator.core import visible_text
from debate_orchestrator.core.phases import Phase, QuoteRules
from debate_orchestrator.core.private_text import public_text, with_code_blanked
from debate_orchestrator.core.verbatim import SearchedText, comparable_quote, paragraphs
from debate_orchestrator.core.visible_text import (
    Quote,
    VisibleText,
    cut_to_length,
    make_visible,
    writes_lines_for,
)
from debate_orchestrator.util.sanitize import count_words, sanitize

PHASE = Phase(name="speech", title="Speech", tag="SPEECH", seats=("a", "b"))
QUOTES = QuoteRules()
MATERIAL = (
    "The quick brown fox jumps over the lazy dog.\n\nIt wasn't “late” - not in 1999 - and nobody\n  minded the co-op.",
    "Another file, with 3,000 ducks in it.",
)
TAGS = ("thinking", "quote", "v_quote", "u_quote")
WRITTEN_TAGS = [
    f"{left}{name}{right}" for name in TAGS for left, right in (("<", ">"), ("</", ">"), ("< / ", " >"), ("<", ""))
]
tagged = st.lists(st.sampled_from([*WRITTEN_TAGS, *PIECES]) | texts, max_size=14).map("".join)
"""Speeches that are full of tags, whole and broken."""


def on_text(
    text: str, most: int | None = None, *, context_texts: tuple[str, ...] = MATERIAL, **how: Any
) -> VisibleText:
    """What is heard of a speech in a format with private reasoning and quotes."""
    phase = PHASE.model_copy(update={"max_words": most})
    public = public_text(sanitize(text), "thinking")
    return make_visible(public, phase, **{"quotes": QUOTES, "context_texts": context_texts} | how)


def bare(text: str) -> list[str]:
    """The words of a text, without the tags of quotes."""
    return re.sub(r"</?\w*quote>", " ", text).split()


# Private reasoning


WITH_WORKING = [
    ("<thinking>SECRET</thinking>So.", "So."),
    ("So.\n<thinking>\nSECRET\n\nSECRET\n</thinking>\nAnd so.", "So.\n\n\nAnd so."),
    ("<THINKING>SECRET</Thinking> So.", "So."), ('<thinking style="a > b" >SECRET</thinking>So.', "So."),
    ("< thinking >SECRET< / thinking >So.", "So."), ("<thinking\nkind=x>SECRET</thinking\n>So.", "So."),
    ("<thinking>SECRET<thinking>SECRET</thinking>SECRET</thinking>So.", "So."),
    ("<thinking>I open <thinking> here: SECRET</thinking>So.", "So."), ("SECRET</thinking>So.", "So."),
    ("SECRET </thinking\nSo.", "So."), ("<thinking>SECRET</thinking>SECRET</thinking>So.", "So."),
    ("So.<thinking>SECRET", "So."), ("So. <thinking SECRET", "So."), ("So. <thinking/> SECRET", "So."),
    ("So. <thinking>SECRET</thinkin> SECRET", "So."), ("<thin\u200bking>SECRET</thinking\u2060>So.", "So."),
    ("<\u202ethinking>SECRET</thinking>So.", "So."), ("<thinking>SECRET</thinking>", ""), ("<thinking>SECRET", ""),
]  # fmt: skip


def test_private_reasoning_is_never_heard() -> None:
    """What is in the format's tag, however it is written, nested, hidden or left open, is not heard."""
    for text, said in WITH_WORKING:
        made = on_text(text)
        assert "SECRET" not in made.text, text
        assert (made.text.split(), made.had_private) == (said.split(), True), text


@many
@given(st.lists(st.tuples(tagged.filter(lambda text: "thinking" not in text), tagged), min_size=1, max_size=4))
def test_no_working_leaks_from_any_speech(said: list[tuple[str, str]]) -> None:
    """Whatever is around it, reasoning between the tags is not heard; only in a closed code fence are they no tags."""
    text = "".join(f"{aloud}<thinking>{working}SECRET</thinking>" for aloud, working in said)
    assume(with_code_blanked(sanitize(text)) == sanitize(text))
    assert "SECRET" not in on_text(text).text


# Quotes


def quotes(text: str, **how: Any) -> list[bool]:
    """Whether each quote of a speech is heard as verified, as its tag and as its record tell."""
    made = on_text(text, **how)
    found = [match == "v" for match in re.findall(r"<([vu])_quote>", made.text)]
    assert found == [one.verified for one in made.quotes]
    return found


IN_THE_MATERIAL = [
    "quick brown fox jumps", "The quick brown fox jumps", "quick **brown** fox\njumps", "It wasn’t “late” - not in",
    'it wasn\'t "late" – not in', "It wasnʼt „late‟ — not in", "and nobody minded the co‐op",
    "and nobody\u00a0minded the co-op", "and nobody min\u00added\u200b the \u202eco-op", "ﬁle, with 3,000 ducks",
    "“the  lazy dog. It wasn't”",
]  # fmt: skip


def test_what_the_material_says_is_verified() -> None:
    """A quote is in the material word for word, whatever its kinds of marks, dashes and spaces."""
    for quote in IN_THE_MATERIAL:
        assert quotes(f"He said <quote>{quote}</quote>.") == [True], quote


NOT_IN_THE_MATERIAL = [
    "", " \n ", "...!?", "quick brown fox", "quick fox jumps over the", "quick brown fox jump", "uick brown fox jumps",
    "quick brown [...] fox hopped", "minded the co-op. Another file", "and nobody minded the co op",
    "It was late not in",    "with 3000 ducks in it",
    "with 3,000 bucks in it",
]  # fmt: skip


def test_what_the_material_does_not_say_is_not() -> None:
    """Too few words, part of a word, left out or changed words, and words of two files are not a quote of either."""
    for quote in NOT_IN_THE_MATERIAL:
        assert quotes(f"He said <quote>{quote}</quote>.") == [False], quote


@for_each(
    [
        ("our sales grew by 5", "Our sales grew by 5.2 million."),
        ("5 mg is safe for all", "A dose of 0.5 mg is safe for all."),
        ("we made a profit of 7", "We made a profit of -7,000,000 euros."),
        ("a distance of 102 km", "A distance of 10² km."),
        ("a distance of 10 2 km", "A distance of 10² km."),
        ("it has a weight of 10", "It has a weight of 10⁻⁶ g."),
        ("a lead of 51 2 points", "A lead of 5½ points."),
        ("we made a profit of 7", "We made a profit of 7 000 000 euros."),
        ("000 euros were made here", "In all 7 000 euros were made here."),
        ("a profit of 7 000 000 euros", "A profit of -7 000 000 euros."),
        ("a profit of 7 euros", "A profit of \u22127 euros."),
        ("a profit of -7 euros", "A profit of 7 euros."),
        ("a profit of 5 euros", "A profit of .5 euros."),
        ("a rate of 1.5e+6 per hour", "A rate of 1.5e-6 per hour."),
        ("a profit of $5 million", "A profit of -$5 million."),
        ("a profit of EUR 5 million", "A profit of \u2212EUR 5 million."),
        ("a profit of 5 euros", "A profit of \u2212\u00a05 euros."),
        ("a profit of 5 euros", "A profit of -**5** euros."),
        ("a profit of >5 euros", "A profit of <5 euros."),
        ("a height of 52 in all", "A height of 5\u20322 in all."),
        ("000 in all were there", "In it 1\u066c000 in all were there."),
        ("a share of 5 in all", "A share of 5% in all."),
        ("a share of 5\u2030 in all", "A share of 5% in all."),
        ("a share of about 5", "A share of about 5 - 7 percent."),
        *(("a profit of 5 euros", f"A profit of {sign}5 euros.") for sign in "\u00b1\u223c\u2a7d\u221a\u2260\u2796"),
    ]
)
def test_a_part_of_a_figure_is_none(quote: str, document: str) -> None:
    """A figure is one word with all that is beside it."""
    assert quotes(f"<quote>{quote}</quote>", context_texts=(document,)) == [False]
    assert quotes(f"<quote>{document}</quote>", context_texts=(document,)) == [True]


def test_the_sign_of_a_figure_is_not_left_out() -> None:
    """Brackets and marks around a figure may make another number of it; a full stop after it does not."""
    for quote in ("a profit of 5 euros", "a profit of (5) euros", "a profit of -5 euros"):
        assert quotes(f"<quote>{quote}</quote>", context_texts=("There is a profit of -(5) euros.",)) == [False]
    assert quotes("<quote>it was done in 2019</quote>", context_texts=("It was done in 2019. Then",)) == [True]


def test_vowels_are_letters() -> None:
    """In scripts that write vowels as combining marks, words that differ in them differ."""
    hindi = ("यह किताब बहुत अच्छी है",)
    assert quotes("<quote>यह किताब बहुत अच्छी</quote>", context_texts=hindi) == [True]
    assert quotes("<quote>यह कताब बहुत अच्छी</quote>", context_texts=hindi) == [False]


@for_each([
        "<v_quote>{}</v_quote>", "<V_QUOTE>{}</V_QUOTE>", "< v_quote >{}< / v_quote >", "<v_qu\u200bote>{}",
        "<v_qu\u043ete>{}</v_qu\u043ete>", "＜v＿quote＞{}＜/v＿quote＞", "<quote\n>{}</quote\t>", "<u_quote>{}",
    ])  # fmt: skip
def test_only_checking_sets_tags(form: str) -> None:
    """Every `<` of a speaker that begins no plain tag of a quote is escaped, so that no program takes it for a tag."""
    for context_texts in (MATERIAL, ()):
        made = on_text(form.replace("{}", "the quick brown fox jumps"), context_texts=context_texts)
        assert "<" not in made.text
        assert made.quotes == ()


@pytest.mark.parametrize("context_texts", [(), ("",)])
def test_without_material_nothing_is_looked_up(context_texts: tuple[str, ...]) -> None:
    """Where there is nothing to look in, quotes stay as they are."""
    made = on_text("<QUOTE>a b c d</quote> 1 < 2", context_texts=context_texts)
    assert (made.text, made.quotes) == ("<quote>a b c d</quote> 1 &lt; 2", ())


def test_a_format_names_its_tags() -> None:
    """A format's own tags are used and no others."""
    own = QuoteRules(tag="cite", verified="found", unverified="missing")
    made = on_text("<cite>quick brown fox jumps</cite><quote>x</quote><cite>a b c d</cite>", quotes=own)
    assert made.text == "<found>quick brown fox jumps</found>&lt;quote>x&lt;/quote><missing>a b c d</missing>"
    assert made.quotes == (Quote(text="quick brown fox jumps", verified=True), Quote(text="a b c d", verified=False))


@many
@given(tagged, st.integers(0, 20) | st.none())
def test_verified_means_that_the_material_has_it(text: str, most: int | None) -> None:
    """Whatever was said, and wherever it was cut, what is heard as verified is in the material."""
    made = on_text(text, most)
    between = re.findall(r"<v_quote>(.*?)</v_quote>", made.text, re.DOTALL)
    assert made.text.count("<v_quote>") == len(between)
    sources = [SearchedText(paragraphs(file)) for file in MATERIAL]
    quoted = [comparable_quote(one) for one in between]
    assert all(any((place := source.find(part)) and place.whole for source in sources) for part in quoted)
    assert quoted == [comparable_quote(one.text) for one in made.quotes if one.verified]


# Length


def test_what_comes_after_the_limit_is_not_heard() -> None:
    """The first words are heard, up to the limit, as they stand; how many came after them is reported."""
    assert cut_to_length("one  two\n\nthree four ", 3) == ("one  two\n\nthree", 1)
    assert [cut_to_length("one two ", n) for n in (None, 2, 3, 0)] == [
        ("one two ", 0),
        ("one two ", 0),
        ("one two ", 0),
        ("", 2),
    ]
    assert (on_text("one two three", 2).words, on_text("one two three", 2).dropped) == (2, 1)
    assert on_text("<thinking>one two</thinking>three four", 2).dropped == 0


def test_a_quote_that_is_cut_ends_there() -> None:
    """A quote that the limit cuts is closed, and is looked up as far as it is heard."""
    text = "He said <quote>the quick brown fox jumps over the moon</quote> and left."
    assert on_text(text, 6).text == "He said <v_quote>the quick brown fox</v_quote>"
    assert on_text(text, 5).text == "He said <u_quote>the quick brown</u_quote>"
    assert on_text(text, 30).text.startswith("He said <u_quote>")
    assert on_text(text, 6, context_texts=()).text == "He said <quote>the quick brown fox</quote>"
    assert on_text(text, 2).text == "He said"


@many
@given(tagged | alike("word"), st.integers(0, 30) | st.none())
def test_no_word_is_lost_but_those_dropped(text: str, most: int | None) -> None:
    """Words heard and words dropped add up to those that were meant for others, in their order."""
    whole, made = on_text(text), on_text(text, most)
    assert made.words == count_words(made.text)
    assert made.words + made.dropped == whole.words
    assert whole.dropped == 0
    assert most is None or made.words <= most
    assert bare(made.text) == bare(whole.text)[: len(bare(made.text))]


# Lines for the other side


@for_each(
    ["Ben: I give up.", "So.\n\n**Ben**: So it is.", "> Ben: no", "so\r\n  ben : x", "[Ben]: x", "__Ben__ : x", "BEN:",
     "1. Ben: x", "12) **Ben** : x", "a. Ben: x", "#1 Ben: x", "Round 1. Ben: x", "10:20 Ben: x", "Ben, rebuttal: x",
     "Ben, Opening Statement: x", "Ben (to the judge): x", "Ben (R1) (aside): x", "[10:20] 2) **Ben**, reply 2: x",
     "*Ben* [aside]: x", "Ben\uff1a x", "Ben\ua789 x", "\u0412\u0435n: x",
     "[12/03/2024, 10:32:11 AM] Ben: x", "12:04 p.m. - Ben: x"]
)  # fmt: skip
def test_lines_for_the_other(text: str) -> None:
    """A line that begins with the other's name and a colon, marked up or not, is written for the other."""
    assert writes_lines_for(sanitize(text), ["Ben"])


@for_each(["Debater A: x", "Debater  A: x", "**Debater\u00a0A**: x"])
def test_spaces_within_the_name_of_the_other(text: str) -> None:
    """However the words of a name are apart, a reader sees the name."""
    assert writes_lines_for(sanitize(text), ["Debater A"])


@for_each(
    ["Ben said: no", "As for Ben: no", "Benny: x", "Ben\n: x", "1. Ben (no", "Anna: x", ": x", "Ben, no", "a Ben: x",
     "Ben, hear me: x", "Ben - not I - said so", "Round 1 was of Ben: x", "In 2020 Ben: x", "Ben, opening the door: x"]
)  # fmt: skip
def test_what_is_no_line_for_the_other(text: str) -> None:
    """To name the other, or to write one's own name, is none; and where there is no other, no line is."""
    assert not writes_lines_for(text, ["Ben"])
    assert not writes_lines_for(text, [])


def test_quotes_are_looked_up_as_far_as_a_speech_needs(monkeypatch: pytest.MonkeyPatch) -> None:
    """So many quotes of a speech are looked up; those after them are heard as unverified."""
    looked: list[str] = []
    find = visible_text._is_quoted
    monkeypatch.setattr(visible_text, "_is_quoted", lambda quote, *given: looked.append(quote) or find(quote, *given))
    made = on_text("<quote>the quick brown fox</quote> " * 1000)

    assert len(looked) == 200
    assert [quote.verified for quote in made.quotes] == [True] * 200 + [False] * 800
    assert made.text.count("<u_quote>") == 800
