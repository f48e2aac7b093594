"""Whether a text holds a quote: word for word, nearly, or not, however it is written; never with other figures."""

from __future__ import annotations

import random
from urllib.parse import quote_plus

from corpus import for_each
from hypothesis import example, given
from hypothesis import strategies as st

from debate_orchestrator.core.verbatim import comparable, paragraphs
from debate_orchestrator.evidence import match
from debate_orchestrator.evidence.match import NEAR, compare, why_unusable
from debate_orchestrator.evidence.pages import plain

TEXT = (
    "Nobody expected it. The sea rose by 3.4 millimetres a year between 1993 and 2023, say those who measure it from "
    "above — “a wall is not an answer”, the engineers hold, and it costs 5 million euros a kilometre. In the north, "
    "where the land itself is rising, people hardly notice what happens elsewhere. Some of them have moved inland."
)


def state(quote: str, text: str = TEXT) -> str:
    return compare(quote, text).state


VERIFIED = [
    "The sea rose by 3.4 millimetres a year between 1993 and 2023",
    "the sea rose by 3.4\u00a0millimetres a\nyear between 1993 and 2023",
    '"The sea rose by 3.4 millimetres a year between 1993 and 2023."',
    "“The sea rose by 3.4 millimetres a year between 1993 and 2023”.",
    "'a wall is not an answer', the engineers hold".replace("'", '"'),
    "from above - \"a wall is not an answer\"",
    "… people hardly notice what happens elsewhere …",
    "The sea rose by 3.4 millimetres a year [...] people hardly notice what happens elsewhere",
    "The sea rose by 3.4 millimetres a year … people hardly notice what happens elsewhere",
    "The sea rose by 3.4 millimetres a year. . . . people hardly notice what happens elsewhere",
    "The sea rose by 3.4 millimetres a year (...) people hardly notice what happens elsewhere",
    "it costs 5 million euros a kilo\u00admetre",
]  # fmt: skip


NEARLY = [
    ("The sea has risen by 3.4 millimetres a year between 1993 and 2023",
     "The sea rose by 3.4 millimetres a year between 1993 and 2023"),
    ("where the land itself is arising, people hardly notice what happens elswhere",
     "where the land itself is rising, people hardly notice what happens elsewhere"),
    ("people hardly ever notice what happens elsewhere", "people hardly notice what happens elsewhere"),
    ("the engineers hold, and it costs 5 million Euro a kilometre",
     "the engineers hold, and it costs 5 million euros a kilometre"),
]  # fmt: skip
NOT_THERE = [
    "it is quite true that people hardly notice what happens elsewhere",
    "where the land rises nobody notices what is happening elsewhere",
    "The sea is expected to rise by 3.4 millimetres a year between 1993 and 2023",
    "nothing of the kind was ever said by anybody at all",
]
CHANGED_FIGURES = [
    ("The sea rose by 3.5 millimetres a year between 1993 and 2023", "“3.4”, “1993”, “2023” where the quote has “3.5”"),
    ("The sea rose by -3.4 millimetres a year between 1993 and 2023", "has “-3.4”,"),
    ("The sea rose by 3.4 millimetres a year between 1993 and 202", "“202”"),
    ("the engineers hold, and it costs 50 million euros a kilometre", "“5” where the quote has “50”"),
    ("people hardly notice what happens elsewhere 7", "none where the quote has “7”"),
]


@for_each(
    [
        *((quote, "verified", "", "the page holds the quote word for word") for quote in VERIFIED),
        *((quote, "near match", passage, "") for quote, passage in NEARLY),
        *((quote, "not found", "", "the closest passage is only") for quote in NOT_THERE),
        *((quote, "not found", "", why) for quote, why in CHANGED_FIGURES),
    ]
)
def test_what_is_there(quote: str, state: str, passage: str, why: str) -> None:
    """A quote that is in the text is verified, whatever its typography; an ellipsis leaves something out. One with a
    word changed is a near match, shown with the passage as it is in the text. A paraphrase, a quote with words of its
    own and an invention are not found, however near they come. Another figure makes it no match, however alike the
    rest is, and the figures are reported."""
    found = compare(quote, TEXT)

    assert (found.state, found.passage) == (state, passage)
    assert why in found.why
    assert found.similarity is not None and (found.similarity == 1) is (state == "verified")
    assert (found.similarity >= NEAR) is (quote not in NOT_THERE)


def test_a_figure_says_nothing_of_its_own() -> None:
    """What has a digit in it counts as a figure, and may have been written to look like words of the program."""
    sentence = (
        "the rate of accidents on these roads fell by {} per cent in the first year of the new limit, and stayed there"
    )
    found = compare(sentence.format("4;\u2800verified:\u2800100\u2800%"), sentence.format("5"))

    assert found.why == "the closest passage has other figures: “5” where the quote has “4;'verified:'100'%”"


@example(0, 0, ".")
@given(st.integers(0, 10**9), st.integers(0, 10**9), st.sampled_from(["", "-", ".", "0", "1", "1,", "2."]))
def test_no_figure_passes_for_another(there: int, quoted: int, before: str) -> None:
    """Whatever number a quote has, it is verified only where that very number stands."""
    page = f"According to the last count, the number of those who came was {there} in the whole town."
    quote = f"the number of those who came was {before}{quoted} in the whole town"

    assert (state(quote, page) != "not found") is (f"{before}{quoted}" == str(there))


SHORT_QUOTES = ["", " ", "...", "the sea", "the sea rose", "a b c d e f g", "The sea rose by",
    "the sea ... rose by ... 3.4 ...", '"the sea rose by"', "経済成長率が"]  # fmt: skip


def test_short_quotes_are_never_verified() -> None:
    """Less than four words, or than twenty characters, could be anywhere and are not looked for."""
    for quote in SHORT_QUOTES:
        assert why_unusable(quote), quote
        assert compare(quote, f"{TEXT} {quote} {quote}") == ("not found", None, "", why_unusable(quote)), quote


def test_long_quotes_are_not_looked_for() -> None:
    """A quote of a book's length is refused."""
    quote = "the sea rose " * 200

    assert "too long" in why_unusable(quote)
    assert state(quote, quote) == "not found"


def test_parts_stand_in_order() -> None:
    """What an ellipsis parts must be in the order of the quote, and once for each time it is quoted."""
    first, last = "Nobody expected it. The sea rose by", "people hardly notice what happens elsewhere"

    assert state(f"{first} ... {last}") == "verified"
    assert state(f"{last} ... {first}") == "not found"
    assert state(f"{last} ... {last}") == "not found"


def test_a_quote_in_a_long_page_is_found() -> None:
    """In a page as long as a book, what is there is found where it stands, exact or nearly."""
    words = TEXT.split()
    chance = random.Random(7)
    book = " ".join(chance.choice(words) for _ in range(10_000))
    page = f"{book} This sentence stands in the very middle of it, alone. {book}"

    assert state("this sentence stands in the very middle of it", page) == "verified"
    found = compare("this sentence stood in the very middle of it", page)
    assert (found.state, found.passage) == ("near match", "This sentence stands in the very middle of it")


@given(st.text(max_size=300), st.text(max_size=300))
def test_any_texts_can_be_compared(quote: str, text: str) -> None:
    """Whatever is quoted of whatever, there is an answer, and it is safe."""
    for one in (quote, f"four words are enough {quote}"):
        found = compare(one, text)
        assert found.state in ("verified", "near match", "not found")
        assert found.similarity is None or 0 <= found.similarity <= 1
        assert found.why
        assert bool(found.passage) is (found.state == "near match")


def test_a_hostile_text_is_compared_in_time() -> None:
    """A text that repeats itself for ever does not keep the search busy for ever."""
    assert match.compare("a a a a a a a a a a a a a a a a a a a a 5", "a " * 20_000).state == "not found"


ALIKE = [
    ("a  wall\tis", "a wall is"), ("a\u00a0wall\u2009is", "a wall is"), ("“a wall”", '"a wall"'), ("it’s", "it's"),
    ("well\u2010known", "well-known"), ("1993–2023", "1993-2023"), ("a wall — is", "a wall - is"),
    ("safe--she", "safe—she"), ("en\u00adgi\u200bneer", "engineer"), ("ﬁnal oﬃce", "final office"),
    ("e\u0301te\u0301", "été"), ("H₂O", "H2O"), ("10⁻⁶", "10^-6"), ("m²", "m^2"), ("nₖ", "n\u02c5k"), ("−5", "-5"),
    ("経済 成長 は", "経済成長は"), ("a **bold** `word`", "a bold word"), ("_so it is_", "so it is"),
    ("So it is.\nThen", "So it is. Then"),
]  # fmt: skip
UNLIKE = [
    ("A Wall", "a wall"), ("10²", "102"), ("m²", "m2"), ("nᵏ", "nk"), ("nₖ", "nk"), ("nᵏ", "nₖ"), ("xⁿ⁺¹", "xⁿ+1"),
    ("10²5", "10²⁵"), ("Maßen", "Massen"), ("C#", "C"), ("10⁻⁶", "10-6"), ("3½", "31/2"), ("5①", "51"), ("-5", "5"),
    ("1.5", "15"), ("1,5", "1.5"), ("resign", "re-sign"), ("can't", "cant"), ("5%", "5"), ("resume", "résumé"),
    ("<5", "5"), ("$5", "5"), ("array[12]", "array"), ("AT&T", "AT T"), ("ⓝ", "n"), ("(5)", "5"), ("-(5)", "-5"),
    ("5**n", "5*n"), ("5*n", "5n"), ("n*2", "n**2"), ("10**-6", "10-6"), ("−q", "q"), ("r − c", "r / c"),
    ("r − c", "r c"), ("2 *n* m", "2 n m"),
    ("n!", "n"), ('6"', "6'"), ("f'", "f"), ("A*", "A"), ("5 mW", "5 MW"), ("US", "us"), ("12\n345", "12 345"),
    ("-\n5 percent", "-5 percent"), ("Cats\nDogs", "Cats Dogs"), ("a, b", "a b"), ("*2* n", "2 n"),
]  # fmt: skip


def test_what_makes_a_difference() -> None:
    """Spaces, kinds of marks and dashes, emphasis and encodings make none; every other character does."""
    for one, other in ALIKE:
        assert comparable(one) == comparable(other), one
    for one, other in UNLIKE:
        assert comparable(one) != comparable(other), one


NOT_AT_THE_END = [
    "0", ".5", ",000", " 000", "’000", "·5", "٫5", ":3", "/6", " / 6", "½", "²", "^2", "e6", "%", " %", "‰", "°C", " €",
    "k", " million", " percent", " per cent", " dozen", "万", "±3", " ± 3", "-7", " - 7", "–7",
    " × 10⁶", " 100", "th", " crores", " mln", " (million)", ", 000", "‱", "\nmillion", " apples",
    ". 000",
]  # fmt: skip
NOT_AT_THE_BEGINNING = [
    "1",
    "1.",
    "1,00",
    ".",
    "-",
    "−",
    "+",
    "± ",
    "<",
    "≥ ",
    "$",
    "€ ",
    "3-",
    "3 – ",
    "3/",
    "3 × ",
    "10^",
    "1 ",
    "− ",
    "0. ",
    "⁻",
    "minus ",
    "minus\n",
    "0. \n",
]


OTHER_FIGURES = [
    (".5", "5"), ("-.5", "5"), ("1.5e-6", "1.5e+6"), ("-$5 million", "$5 million"), ("5 - 7", "5"),
    ("\u2212US$5 million", "US$5 million"), ("\u2212EUR 5 million", "EUR 5 million"), ("- 5", "5"),
    ("\u2212\u00a05", "5"), ("-**5**", "5"), ("\u00b15", "5"), ("5\u20322", "52"), ("5\u20322", "5 2"),
    ("5\u2032", "5"), ("<5", ">5"), ("<5", "5"), ("5%", "5\u2030"), ("5%", "5"), ("5 %", "5"), ("3\u00b75", "3 5"),
    ("3\u066b5", "5"), ("1\u066c000", "000"), ("5\u00a2", "5"), ("5\u2031", "5"), ("5:2", "5/2"), ("10'30", "1030"),
    *((f"{sign}5", "5") for sign in "\u223c\u226a\u2a7d\u2213\u221a\u2260\u2796\u20ac"),
]  # fmt: skip


def test_what_stands_beside_a_figure_belongs_to_it() -> None:
    """A sign or letter beside a digit, also over a space, makes another figure; brackets and quotation marks too."""
    for there, quoted in OTHER_FIGURES:
        page = f"The report finds a change of {there} in one year of trade."
        assert state(f"a change of {quoted} in one year of trade", page) != "verified", (there, quoted)
        assert state(f"a change of {there} in one year of trade", page) == "verified", there
    for there in ("(5)", "\u201c5\u201d", "5,", "**5**"):
        page = f"The report finds a change of {there} in one year of trade."
        assert state("a change of 5 in one year of trade", page) != "verified", there


def test_a_quote_ends_with_whole_figures() -> None:
    """A quote is not verified where the figure at one of its ends is a part of a longer one."""
    for behind in NOT_AT_THE_END:
        page = f"The report says that the town grew by 5{behind} in the last of these years"
        assert state("The report says that the town grew by 5", page) != "verified", behind
        if "\n" not in behind:
            assert state(page, f"Nobody knew. {page}. Now all do.") == "verified", behind
    for before in NOT_AT_THE_BEGINNING:
        page = f"Of all that live there, {before}5 are from the town on the other bank"
        assert state("5 are from the town on the other bank", page) != "verified", before


@for_each(["", ".", ".[3]", "; sales fell", "%. Sales fell", ".5. Sales fell", "000.[3] So"])
def test_a_figure_may_end_a_quote(behind: str) -> None:
    """A figure that is whole may be the end of a quote."""
    quoted = behind.partition(". ")[0].partition(".[")[0].partition(";")[0].removesuffix(".")
    page = f"It was seen that the town grew by 5{behind}"
    assert state(f"it was seen that the town grew by 5{quoted}", page) == "verified"


def test_a_figure_may_begin_a_text_or_a_sentence() -> None:
    """A year before a word may be a number of something; a figure at the beginning may not go on before it."""
    assert state("they say that it cost 2000", "They say that it cost 2000 million") == "near match"
    assert state("they say that it cost 2000", "They say that it cost 2000, but no more.") == "verified"
    for before in ("", "There! ", "There; "):
        page = f"{before}5 are from the town on the other bank"
        assert state("5 are from the town on the other bank", page) == "verified", before


OTHER_AT_THE_EDGE = [
    ("the reform would kill 10 people in that country", "The reform would kill 10[6] people in that country."),
    ("it would cost each household about 100 there", "It would cost each household about 100.[6] there."),
    ("organic bananas from Peru now cost just $5", "Organic bananas from Peru now cost just $5.^99 per kilo."),
    ("vaccines cause autism in healthy children.", "Vaccines cause autism in healthy children?"),
    ("vaccines cause autism in healthy children.", "Vaccines cause autism in healthy children \U0001f914\u2026?"),
    ("the value 10\u00a63 was measured in the lab", "The value 10\u00a63 was measured in the lab."),
    ("the cost is [*image*] in every single year", "The cost is [image] in every single year."),
    ("it is [struck: not] safe for all children", "It is [struck: not] safe for all children."),
    ("5 percent of the patients died of it", "Less than approx. 5 percent of the patients died of it."),
    ("die Zahl der Toten in Berlin war im 19.", "Die Zahl der Toten in Berlin war im 19. Jahrhundert klein."),
    ("it shows that no one of the patients died", "It show[s] that no one of the patient[s] died."),
    ("it was seen that there were \u00be of a million", "It was seen that there were \u00bd of a million."),
]


def test_what_goes_on_at_the_edge_is_not_verified() -> None:
    """A raised part of a figure, an abbreviation, an ordinal, a question mark or a letter in brackets makes it another
    quote; of figures another is not a match at all. What the reader of pages wrote is no word of the page."""
    for quote, page in OTHER_AT_THE_EDGE:
        assert state(quote, page) != "verified", quote
    assert state(*OTHER_AT_THE_EDGE[-1]) == "not found"
    assert state("it was found there in 1993 by the town", "It was found there in 1993[3] by the town.") == "verified"


def test_cells_of_a_plain_text_are_apart() -> None:
    """A quote goes from no cell that a tab ends into the next."""
    assert (
        state("the drug is safe for all the children", paragraphs("The drug is safe\tfor all the children"))
        != "verified"
    )
    assert (
        state("the drug is safe for all the children", paragraphs("\tThe drug is safe for\nall the children"))
        == "verified"
    )


def test_a_soft_hyphen_that_breaks_a_word_is_a_hyphen() -> None:
    """It is drawn at the end of a line, so that neither half of the word is a word of a quote."""
    for hyphen in ("\u00ad\n", "\u00ad\u200b \r\n", "-\n"):
        page = plain(
            f"It was quite un{hyphen}safe for the children there and risk{hyphen}free now.".encode(), "utf-8"
        ).text
        assert state("safe for the children there", page) != "verified", page
        assert state("it was quite un", page) != "verified", page
        assert state("safe for the children there and risk", page) != "verified", page


HARDLY = "people hardly notice what happens elsewhere"
ECHOES = [
    (HARDLY, f"?q={HARDLY.replace(' ', '+')}&n=1", ""),
    (HARDLY, f"?q={HARDLY.replace(' ', '%20')}&n=1", ""),
    (HARDLY, f"?q={HARDLY.title()}&n=1", ""),
    ("for people hardly notice what happens elsewhere. Search", "?q=people+hardly+notice+what+happens+elsewhere", ""),
    ("people hardly notice it people hardly notice it", "?q=people+hardly+notice+it", ""),
    (HARDLY, "?in=what+happens+else&q=people+hardly+notice+what", ""),
    (HARDLY, "?q=people%2520hardly%2520notice%2520what", ""),
    ("er ist f\u00fcr den R\u00fccktritt des Ministers", "", "latin-1"),
    ("\u90e8\u957f\u6628\u5929\u56e0\u4e3a\u53d7\u8d3f\u627f\u8ba4\u4e86\u5168\u90e8", "", "gbk"),
    (
        "\u90e8\u957f\u6628\u5929\u56e0\u4e3a\u53d7\u8d3f\u627f\u8ba4\u4e86\u5168\u90e8",
        "?q=\u90e8\u957f\u6628\u5929\u56e0\u4e3a\u53d7\u8d3f",
        "",
    ),
]


def test_an_address_that_echoes_a_run_of_the_words_proves_nothing() -> None:
    """A page may repeat what its address asks for. A quote may take in words of the page around the echo; parameters,
    charsets and two encodings hide none. What is after `#` is not sent."""
    for quote, query, charset in ECHOES:
        asked = query or f"?q={quote_plus(quote.encode(charset, 'ignore'))}"
        found = compare(quote, f"You searched {quote} again", ("", f"https://x.example/{asked}"))
        assert found.state == "near match" and "the address holds words of it too" in found.why, (quote, asked)
    for address in ("people-hardly-notice?n=1", f"a#:~:text={HARDLY}"):
        assert compare(HARDLY, TEXT, (f"https://x.example/{address}",)).state == "verified", address


CLAIM = "vaccines cause autism in most young children"
DISGUISED = [
    "?q=vac%3Cb%3Ecines+cau%3Cb%3Ese+aut%3Cb%3Eism+in+mo%3Cb%3Est+yo%3Cb%3Eung+child%3Cb%3Eren",
    "?q=vac%3Cb+id=x%3Ecines+cau%3C/b%3Ese+aut%3Ci%3Eism+in+most+yo%3Cb%3Eung+children",
    "?q=%26%23118%3Baccines+%26%2399%3Bause+%26%2397%3Butism+%26%23105%3Bn+most+%26%23121%3Boung+%26%2399%3Bhildren",
    "?q=%2526%2523118%253Baccines+%2526%252399%253Bause+%2526%252397%253Butism+most+%2526%2523121%253Boung+children",
    "?q=vacines+couse+autizm+im+moost+yung+childrin", "?q=vaccines+x+cause+x+autism+x+in+x+most+x+young+x+children",
    "?a=vaccines+cause+autism&b=in+most+young&c=children",
    "?a=vacc&b=ines+cau&c=se+aut&d=ism+in+mo&e=st+young+children",
    "children/young/most/autism/cause/vaccines",
    "?q=vac%E2%80%8Bcines+ca%C2%ADuse+autism+in+mo%E2%80%8Bst+young+children",
    "?q=v.a.c.c.i.n.e.s+c.a.u.s.e+a.u.t.i.s.m+in+most+young+children",
    "?q=%F0%9D%90%AFaccines+cause+%EF%BD%81utism+most+young+children",
]  # fmt: skip
PLAIN = [
    "vaccines-and-autism", "2024/05/vaccines-cause-autism-claim-examined", "health/childrens-vaccines-12345678?page=2",
    "?id=0123456789abcdef0123456789abcdef&session=fedcba9876543210&lang=en", "wiki/MMR_vaccine_and_autism",
]  # fmt: skip


def test_an_address_that_holds_most_of_the_words_proves_nothing() -> None:
    """Tags, entities, slips of spelling, another order and more parameters hide no word that a site may put right."""
    for asked in DISGUISED:
        found = compare(CLAIM, f"You searched: {CLAIM}", (f"https://x.example/{asked}",))
        assert found.state == "near match", asked
    for address in PLAIN:
        assert compare(CLAIM, f"They say that {CLAIM}.", (f"https://x.example/{address}",)).state == "verified", address


def test_a_doubtful_end_or_part_is_shown() -> None:
    """A figure that may go on, and a part that is too short, make a near match, with the words beside them."""
    assert compare("the engineers hold, and it costs 5", TEXT).passage.endswith("it costs 5 million")
    found = compare("Nobody ... people hardly notice what happens elsewhere", TEXT)
    assert (found.state, found.similarity) == ("near match", 1.0)
    assert found.passage.startswith("Nobody expected [...]")
