"""Figures in quotes: read with all that makes them other figures, and verified only where they are whole."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from debate_orchestrator.evidence.match import compare, figures, is_cut, normalize_text


def state(quote: str, text: str) -> str:
    return compare(quote, text).state


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("in 1993 and 2023", ["1993", "2023"]),
        ("3.4 mm, 3,400 of 1'000", ["3.4", "3,400", "1'000"]),
        ("-5 and 3-5, covid-19", ["-5", "3-5", "19"]),
        (".5 percent, 0.5", [".5 percent", "0.5"]),
        ("5 million, 5-million, 5 billion people", ["5 million", "5-million", "5 billion"]),
        ("10^-6, 5 x 10⁶, 5e-3", ["10^-6", "5 x 10^6", "5e-3"]),
        ("5 %, 5 ± 3, 5 – 10, US$ 5, 5½, ٥٫٥", ["5%", "5±3", "5-10", "us$5", "5 1/2", "٥٫٥"]),
        ("5 – 10% − 3, a – 5, a −5, a − 5", ["5-10%\u22123", "5", "-5", "\u22125"]),
        ("1.2.3. and 4,", ["1.2.3", "4"]),
        ("none", []),
    ],
)
def test_figures_have_their_signs(text: str, found: list[str]) -> None:
    """Numbers are read with signs, separators and powers of ten."""
    assert figures(normalize_text(text).text) == found


ENDS = [
    ("it grew by 5 in may", "by 5", False), ("it grew by 50 in may", "by 5", True),
    ("it grew by 5.2 in may", "by 5", True), ("it grew by 5,000", "by 5", True),
    ("it grew by 5, we know", "by 5", False), ("it grew by 5.", "by 5", False),
    ("it grew by 5 000 people", "by 5", True), ("it grew by 5%", "by 5", True), ("it grew by 5 percent", "by 5", True),
    ("it grew by 5 million", "by 5", True), ("it grew by 5 millions", "by 5", True), ("it grew by 5-7", "by 5", True),
    ("it grew by 5^2", "by 5", True), ("of -5 percent", "5 percent", True), ("of 2.5 percent", "5 percent", True),
    ("of .5 percent", "5 percent", True), ("of 3-5 percent", "5 percent", True),
    ("of 1 005 people", "005 people", True), ("of £5 percent", "5 percent", True),
    ("of ~5 percent", "5 percent", True), ("the heart is long", "art is", True), ("art is longer", "is long", True),
    ("(art is long)", "art is long", False), ("in 2024 the 5 towns", "in 2024", False),
    ("in 2024 the 5 towns", "5 towns", False), ("they grew.[3] so", "grew", False), ("by 5.[3] so", "by 5", False),
    ("by 5[3] so", "by 5", False), ("on 3 may 2024, 5 towns", "2024", False), ("the 5 towns", "5", False),
    ("- 5 towns grew", "5 towns", False), ("by 5-10 towns", "by 5", True), ("by 5-10 towns", "10 towns", True),
    ("5 million towns", "million towns", True), ("of covid-19 as", "19 as", True), ("towns: 1, 2, 3", "2, 3", False),
]  # fmt: skip


def test_ends_inside_words_and_figures() -> None:
    """What begins or ends inside a word, a figure, a sign or a power of ten is cut off."""
    for text, part, cut in ENDS:
        start = text.index(part)

        assert (is_cut(text, start) or is_cut(text, start + len(part))) is cut, text


# What makes "5" another figure, and no word of a sentence.
BEHIND = [
    "0", ".5", ",000", " 000", "'000", "’000", "_000", "·5", "‧5", "．5", "٫5", "٬000", ":3",
    "/6", " / 6", "⁄6", "½", " ½", " 1/2",
    "²", "^2", "e6", "%", " %", "\u00a0%", "\u2009%", "％", "﹪", "٪", " ٪", "‰", "‱", " percent", " per cent", " pct",
    " Prozent", " pp", " °C", "°", "$", " €", " ₹", "k", " m", " mn", " mio",
    " mio.", " million", "-million", " millions",
    " Milliarden", " bn", " billion", " tn", " trillion", " lakh", " crore", " dozen",
    " hundred", " thousand", "万", " 億",
    "±3", " ± 3", " +/- 3", "-7", " - 7", "–7", " − 7", "～7", "〜7", "...7",
    "…7", "×10⁶", " × 10⁶", " x 10", "·10⁶", "÷6", " 百",
]  # fmt: skip
BEFORE = [
    "1", "1.", "1,00", "1 00", ".", "-", "−", "− ", "+", "±", "± ", "~", "≈ ", "<", "≥ ", "$", "$ ", "US$",
    "€ ", "£", "3-", "3 – ",
    "3/", "3 / ", "3 × ", "10^", "½ × ", "٥", "1⁄",
]  # fmt: skip


def test_no_figure_is_cut_whatever_its_script_and_signs() -> None:
    """A quote that ends or begins within a figure is never verified; one that has the whole figure always is."""
    for behind in BEHIND:
        page = f"The report says that the town grew by 5{behind} in the last of these years"
        assert state("The report says that the town grew by 5", page) == "not found", behind
        assert state(f"The report says that the town grew by 5{behind}", page) == "verified", behind
        assert state(page, f"Nobody knew. {page}. Now all do.") == "verified", behind
    for before in BEFORE:
        page = f"Of all that live there, {before}5 are from the town on the other bank"
        assert state("5 are from the town on the other bank", page) == "not found", before
        assert state(f"{before}5 are from the town on the other bank", page) == "verified", before


# What may make "5" another figure: of "grew by 5" it can't be decided whether it stands there.
MAY_GO_ON = [
    " tausend", " Tsd.", " mille", " milioni", " млн", " 만", " ล้าน", "〇", "十", " million", " percent",
    " times", " GB", " MM", " E6", "-fold", "-years", "-to-7", " to 10", " or 6", " of 10", " in 100",
    " in a hundred", " out of 10", " and 6", " and a half", " point 2", " with 6 zeros", "..7", "…7", " … 7",
    " . 2", " ,2", ", 000", "; 2", ". 2", " : 1", "∶1", ": 1", "⋅10", " ⋅ 10", "∙10", "•10", "=6", " ≠ 6",
    "→6", " ➔ 6", "ー7", "˙2", "。2", "、2", "⹁2", "|2", "\\2", "@2", "#2", "&2", "]2", "[2]0", "\"2", '" 2',
    '" pipes', "″2", "″", "’", "' tall", "**2", "!", "! 2", "\u0338", "\u20e0", "\u2800000", "\U000e0030",
    " apples", " cents", " USD", " (million)", " (2)", "\nmillion", "\n\nmillion", "%-points", " % points",
    " €c",
]  # fmt: skip
MAY_BEGIN_BEFORE = [
    "1 ", "1, ", "1. ", "1; ", "1: ", "½", "½ ", "五", "USD ", "EUR", "minus ", "not ", "under ", "of 3 to ",
    "1 in ", "1 of ", "to 6 and ", "– ", "was - ", "≦", "≳", "≲ ", "⩽", "➖", "&lt;", "ca. ", "no. ", "f(",
    "x(", "'", "#", "§ ", "/", "point.", "¬", "=", "\u2800",
]  # fmt: skip
# What is known to end a figure, and to stand before one.
ENDS_IT = [
    "", ".", ". The", '."', ".)", ". „The", "; the town", ": the town", ", sales fell", ", so", " – the town",
    "—the town", " -- sales", "?", "? The", ") last", "] last", '" said', "” said", "”, said", ")",
    " the town", " is", " was", " in the town", " at this", " since we", " when they", " die Stadt", " war",
    " la ville", " est", " el pueblo", " (the town", " “the town", ".[3] The town", "[3] the town", ".[3]",
    "。", "。その", ", ist", "؟", "\nThe town",
]  # fmt: skip
BEGINS_IT = [
    "", "(", "“", '"', "they say: ", "In town, ", "It was seen; ", "That was known. ", "Was it known? ",
    "the ", "these ", "was ", "at ", "die ", "sind ", "les ", "los ", "known.[3] ", "the (", "the “",
]  # fmt: skip


def test_a_figure_with_a_word_of_scale_may_go_on() -> None:
    """A quote that ends with a number and its scale is verified only where the page ends both."""
    for scale in ("percent", "per cent", "million", "bn", "dozen", "k", "%"):
        said = f"The report says that the town grew by 5 {scale}"
        for rest in (" points", "-points", " times", " or 6", " of 10", " apples"):
            assert state(said, f"{said}{rest} in the last of these years") != "verified", scale + rest
        for rest in (" in the last of these years", ". Nobody knew.", ", as all knew"):
            assert state(said, said + rest) == "verified", scale + rest


@pytest.mark.parametrize("behind", MAY_GO_ON)
def test_a_figure_that_may_go_on_is_not_verified(behind: str) -> None:
    """A quote that ends with a figure is verified only where the page is known to end it."""
    said = "The report says that the town grew by 5"
    for rest in ("", " in the last of these years", ". Nobody knew."):
        assert state(said, f"It is old. {said}{behind}{rest}") != "verified", rest


@pytest.mark.parametrize("before", MAY_BEGIN_BEFORE)
def test_a_figure_that_may_begin_before_is_not_verified(before: str) -> None:
    """A quote that begins with a figure is verified only where the page is known to begin it."""
    said = "5 are from the town on the other bank"
    for rest in ("", "Of all who live there "):
        assert state(said, f"{rest}{before}{said}.") != "verified", rest


@pytest.mark.parametrize("behind", ENDS_IT)
def test_a_figure_that_ends_is_verified(behind: str) -> None:
    """The end of a text or sentence, a bracket, a quotation mark, a dash and plain words end a figure of a quote."""
    for said in ("The report says that the town grew by 5", "This is what they have said of the year 2019",
                 "The report says that the town grew by 5%"):  # fmt: skip
        quote = '"(' if behind[:1] in ('"', "”", ")", "]") else ""
        found = compare(said, f"It is old. {quote}{said}{behind}")
        assert found.state == "verified", (said, found)


@pytest.mark.parametrize("before", BEGINS_IT)
def test_a_figure_that_begins_is_verified(before: str) -> None:
    """The beginning of a text or sentence, a bracket, a quotation mark and plain words begin a figure of a quote."""
    for said in ("5 are from the town on the other bank", "$5 was what they paid for the town"):
        assert state(said, f"{before}{said}.") == "verified", said


def test_what_can_t_be_decided_is_shown() -> None:
    """A quote whose figure may go on is a near match, which shows what stands beside the figure, and says why."""
    found = compare("the whole town has grown by 5", "They say that the whole town has grown by 5 tausend this year.")

    assert (found.state, found.similarity) == ("near match", 1.0)
    assert found.passage == "that the whole town has grown by 5 tausend"
    assert found.why.endswith("a figure at an end of the quote may be part of a longer one")


def test_signs_that_belong_to_other_figures_stay_there() -> None:
    """The currency sign of a price is none of the year before it; an equals sign and a bar of a table are doubtful."""
    price, year = "$10 million was paid for the town", "The whole town was sold in the year 2019"
    assert figures(f"in 2019 {price}") == ["2019", "$10 million"]
    assert state(f"in 2019 {price}", f"They know that in 2019 {price}") == "verified"
    for page, quote in ((f"In 2019 {price}", price), (f"{year} $10 million was paid", year),
                        ("| 5 towns on the other bank |", "5 towns on the other bank"),
                        ("n = 5 towns on the other bank", "5 towns on the other bank")):  # fmt: skip
        assert state(quote, page) == "near match", page


SAME_UNITS = ["5%", "5 %", "5\u00a0%", "5\u2009%", "5\u202f%", "5％", "5 ％"]
SAME_DEGREES = ["1.5°C", "1.5 °C", "1.5\u00a0°C", "1.5℃", "1.5 ℃"]
SAME_PRICES = ["€5", "€ 5", "€\u00a05"]


@pytest.mark.parametrize("same", [SAME_UNITS, SAME_DEGREES, SAME_PRICES, ["5€", "5 €", "5\u202f€"]])
def test_a_blank_beside_a_unit_does_not_matter(same: list[str]) -> None:
    """Blanks between a number and its percent, degree or currency sign are no difference."""
    for page in same:
        for quote in same:
            assert state(f"it grew by {quote} in all towns", f"They say it grew by {page} in all towns") == "verified"
            assert state(f"they say that it grew by {quote}", f"They say that it grew by {page}.") == "verified"


DIGITS = [
    "0123456789",
    "٠١٢٣٤٥٦٧٨٩",
    "०१२३४५६७८९",
    "๐๑๒๓๔๕๖๗๘๙",
    "၀၁၂၃၄၅၆၇၈၉",
    "០១២៣៤៥៦៧៨៩",
    "０１２３４５６７８９",
    "𝟎𝟏𝟐𝟑𝟒𝟓𝟔𝟕𝟖𝟗",
]


@given(st.integers(0, 10**9), st.integers(0, 10**9), st.sampled_from(DIGITS), st.sampled_from(["", *BEHIND]), st.data())
def test_only_the_very_figure_is_verified(one: int, other: int, digits: str, behind: str, data: st.DataObject) -> None:
    """In any script a sentence is verified where it stands, and not with its figure cut, changed or rescaled."""
    number, changed = (str(value).translate(str.maketrans("0123456789", digits)) for value in (one, other))
    begin, end = "The report says that the town grew by ", " in the last of these years"
    page = f"Nobody knew it. {begin}{number}{behind}{end}. Now all do."

    assert state(f"{begin}{number}{behind}{end}", page) == "verified"
    cut = data.draw(st.integers(1, len(number))) if behind else data.draw(st.integers(0, len(number) - 1))
    assert cut == 0 or state(f"{begin}{number[:cut]}", page) != "verified"
    assert one == other or state(f"{begin}{changed}{behind}{end}", page) == "not found"
    assert not behind or state(f"{begin}{number}{end}", page) == "not found"
