"""A quote is verified only where its words can be read: for pages and for material alike, in ten scripts."""

from __future__ import annotations

import random
import unicodedata
from collections.abc import Callable
from itertools import pairwise, product

import pytest
from corpus import for_each
from hostile_texts import AROUND_MARKS
from hypothesis import given
from hypothesis import strategies as st

from debate_orchestrator.core.phases import QuoteRules
from debate_orchestrator.core.private_text import PublicText
from debate_orchestrator.core.visible_text import Quote, make_visible, quote_results
from debate_orchestrator.evidence.match import compare
from debate_orchestrator.util.sanitize import sanitize, without_quotation_marks

SENTENCES = {
    "Latin": "the minister's new drug was naïvely called safe for all children",
    "Cyrillic": "новый препарат был признан безопасным для всех детей страны",
    "Greek": "το νέο φάρμακο θεωρήθηκε ασφαλές για όλα τα παιδιά",
    "Arabic": "كان الدواء الجديد آمنا لجميع الأطفال في هذه الدراسة",
    "Hebrew": "התרופה החדשה של צה״ל נמצאה בטוחה לכל הילדים במחקר",
    "Hindi": "सरकार ने कहा कि इस साल का दान बहुत कम रहा",
    "Korean": "새로운 약은 모든 어린이에게 안전한 것으로 밝혀졌다",
    "Thai": "ยา|ใหม่|นี้|ถือว่า|ปลอดภัย|สำหรับ|เด็ก|ทุก|คน",
    "Chinese": "新|药|在|试验|中|被|认为|对|所有|儿童|都是|安全",
    "Japanese": "新しい|薬|は|すべて|の|子ども|に|とって|安全|であると|認められた",
}
OTHER_WORDS = {
    "Latin": "not", "Cyrillic": "не", "Greek": "δεν", "Arabic": "ليس", "Hebrew": "לא", "Hindi": "नहीं", "Korean": "안",
    "Thai": "ไม่", "Chinese": "不", "Japanese": "ない",
}  # fmt: skip
SYMBOLS = (
    "🅝🅞🅣", "🅽🅾🆃", "🄽🄾🅃", "ⓝⓞⓣ", "⒩⒪⒯", "🇳🇴", "⛔", "¬", "≠", "<", ">", "=", "+", "±", "~", "|", "^", "&", "@",
    "%", "§", "$", "€", "\ue000", "\U0010fffd", "\U000e1fff", "\ufffd", "⠝⠕⠞", "[900]", "[n]", "[citation needed]", "7",
    "<s>", "𝐧𝐨𝐭", "ｎｏｔ", "ʼ", "ˣ", "\u06dd",
)  # fmt: skip
"""What a reader sees between two words, and could read as one."""
Change = Callable[[list[str], int, str], list[str]]
"""Changes the word at a place, or what is before it."""


def with_word(word: str) -> Change:
    return lambda words, at, _: [*words[:at], word, *words[at:]]


CHANGES: dict[str, Change] = {
    "word changed": lambda words, at, other: [*words[:at], other, *words[at + 1 :]],
    "word added": lambda words, at, other: [*words[:at], other, *words[at:]],
    "word added in capitals and brackets": lambda words, at, other: [*words[:at], f"[{other.upper()}]", *words[at:]],
    "word removed": lambda words, at, _: [*words[:at], *words[at + 1 :]],
    "words exchanged": lambda words, at, _: [*words[:at], words[at + 1], words[at], *words[at + 2 :]],
    "mark added": lambda words, at, _: [*words[:at], f"{words[at]}\u0323", *words[at + 1 :]],
    "enclosing mark added": lambda words, at, _: [*words[:at], f"{words[at]}\u20e0", *words[at + 1 :]],
    "letter replaced": lambda words, at, _: [*words[:at], f"{words[at][:-1]}\u0561", *words[at + 1 :]],
    "letter removed": lambda words, at, _: [*words[:at], words[at][1:], *words[at + 1 :]],
    "struck out": lambda words, at, _: [*words[:at], f"~~{words[at]}~~", *words[at + 1 :]],
    "struck out once": lambda words, at, _: [*words[:at], f"~{words[at]}~", *words[at + 1 :]],
    "deleted": lambda words, at, _: [*words[:at], f"<del>{words[at]}</del>", *words[at + 1 :]],
    "other word struck out": lambda words, at, other: [*words[:at], f"~~{other}~~", *words[at:]],
    **{f"{symbol} added": with_word(symbol) for symbol in SYMBOLS},
}


def is_verified(quote: str, text: str, least: int = 4) -> tuple[bool, bool]:
    """Whether a page, and a context file, hold a quote."""
    heard = make_visible(
        PublicText(sanitize(f"<quote>{quote}</quote>")),
        None,
        quotes=QuoteRules(min_words=least),
        context_texts=[text],
    ).quotes
    return compare(quote, text).state == "verified", [one.verified for one in heard] == [True]


def words_of(script: str) -> tuple[list[str], str]:
    """The words of a sentence, and what is between them."""
    between = "" if "|" in SENTENCES[script] else " "
    return SENTENCES[script].split("|" if not between else None), between


@pytest.mark.parametrize("script", SENTENCES)
def test_no_change_that_a_reader_sees_is_verified(script: str) -> None:
    """A word, mark, sign or symbol that is changed, added, removed or disguised, in the quote or in the text."""
    words, between = words_of(script)
    whole, chance = between.join(words), random.Random(script)
    least = QuoteRules().min_words if between else 1
    for name, change in CHANGES.items():
        at = chance.randrange(2, len(words) - 2)
        changed = between.join(change(words, at, OTHER_WORDS[script]))
        texts = [(changed, f"{whole}."), (whole, f"{changed}.")]
        if not between and "[" in name:  # this is there as a reference mark of the text does
            del texts[1]
        for quote, text in texts:
            assert compare(quote, text).state != "verified", (name, quote, text)
            quotes = QuoteRules(min_words=least)
            heard = make_visible(
                PublicText(sanitize(f"<quote>{quote}</quote>")), None, quotes=quotes, context_texts=[text]
            ).quotes
            assert not any(one.verified for one in heard), (name, quote, text)


@for_each(SENTENCES)
def test_typography_makes_no_difference(script: str) -> None:
    """Spaces, line ends, the kinds of marks and dashes, emphasis, unseen characters and encodings make none."""
    words, between = words_of(script)
    whole = between.join(words)
    forms = [
        whole, unicodedata.normalize("NFD", whole), "\u200b".join(words) if not between else "\u2009".join(words),
        between.join([f"**{words[0]}**", f"_{words[1]}_", *words[2:]]) if between else whole,
        f"{whole[0]}\u00ad{whole[1:4]}\u2060{whole[4:]}", whole.replace("'", "\u2019").replace("\u05f4", '"'),
    ]  # fmt: skip
    for form in forms:
        for quote, text in ((form, f"{whole}."), (whole, f"{form}.")):
            assert is_verified(quote, text, least=1) == (True, True), (quote, text)
    wrapped = "\n".join(words)
    for quote in (f"\u201c{whole}.\u201d", f"\u00ab\u00a0{whole}\u00a0\u00bb", f"\u2026 {whole},", wrapped):
        assert compare(quote, f"{whole}.").state == "verified", quote
    assert is_verified(whole, wrapped, least=1) == (False, True)
    marked = [f"{between.join(words[:4])}{mark}{between}{between.join(words[4:])}" for mark in ("[3]", "[a][note 12]")]
    assert [compare(whole, text).state for text in marked] == ["verified", "verified"], marked
    assert [compare(text, text).state for text in marked] == ["verified", "verified"], marked
    assert [compare(text, whole).state for text in marked] != ["verified", "verified"], marked


FORMULAS = [
    ("was -(5) million", "was 5 million"), ("-'5' percent", "5 percent"), ("was (1,234) million", "was 1,234 million"),
    ("n*2 steps", "n**2 steps"), ("5**n steps", "5*n steps"), ("5**n steps", "5n steps"), ("10**-6 g", "10-6 g"),
    ("is \u2212q here", "is q here"), ("sales \u2212 cost", "sales / cost"), ("sales \u2212 cost", "sales cost"),
    ("n steps", "n! steps"), ("5 steps", "5! steps"), ('6" long', "6' long"), ('6" long', "6 long"),
    ("f' of x", "f of x"), ("class A* is", "class A is"), ("5 mW there", "5 MW there"), ("told us so", "told US so"),
    ("12\n345 cases", "12 345 cases"), ("a -\n5 percent", "a -5 percent"), ("3\n\n500 people", "3 500 people"),
    ("gain\n> cost holds", "gain cost holds"), ("2000 million were", "2000 were"),
    ("2 *n + m* 3", "2 n + m 3"),
    ("(\u975e)\u5b89\u5168 is", "\u5b89\u5168 is"),
]  # fmt: skip
"""What is there, and what is quoted of it."""


def test_no_sign_or_block_is_left_out() -> None:
    """Signs of formulas, brackets, units and the ends of cells and paragraphs are part of a quote, in both ways."""
    for there, quoted in FORMULAS:
        for text, quote in ((there, quoted), (quoted, there)):
            if quote.split() == text.split() and "\n" in quote:
                continue  # a quote may be broken into lines anywhere
            passage = "The report of the year says {} in all of the towns"
            page, asked = f"There. {passage.format(text)}.", passage.format(quote)
            assert is_verified(asked, page) == (False, False), (asked, page)
            assert is_verified(passage.format(quote), f"{passage.format(quote)}.")[1] or "\n" in quote, quote


ENDS = [
    ("measured in the year by us all.\n> 5 % of them died", "Measured in the year by us all.\n\n5 % of them died."),
    ("we saw few losses in it.\n> Half of them died", "We saw few losses in it.\n\nHalf of them died."),
    ("5 % of the patients died of it", "We saw few losses.\n> 5 % of the patients died of it."),
    ("the rate of growth in it is \u00bd", "The rate of growth in it is \u00bd million people."),
    ("safe drugs are sold here by us", "In it un\u00ac\nsafe drugs are sold here by us."),
    ("the value of the bonds ... \u2260 ... the profit of it", "The value of the bonds, and the profit of it."),
    ("In the year the fund lost 5", "In the year the fund lost 5 million dollars."),
    ("7 percent of the people were asked", "Only 1.5 to 7 percent of the people were asked."),
    ("the rating of the state was A", "The rating of the state was A-"),
    ("the blood of the man was O", "The blood of the man was O-."),
    ("the derivative of the term is f", "The derivative of the term is f' of x."),
    ("5 degrees is the mean of the day", "- 5 degrees is the mean of the day"),
    ("- 5 degrees is the mean of the day", "5 degrees is the mean of the day"),
    ("- 5 degrees is the mean of the day", "* 5 degrees is the mean of the day"),
    ("the sales of the year were 5", "The sales of the year were 5\nMillion euros, that is"),
    ("MW of power are used in all", "mW of power are used in all of it"),
    ("\u53bb\u5e74\u7684\u4e8f\u635f\u4e00\u5171\u662f5",
     "\u53bb\u5e74\u7684\u4e8f\u635f\u4e00\u5171\u662f5\u4e07\u5143\u3002"),
    ("we saw that the toxic: drug A", "We saw that the toxic:\n\ndrug A"),
    ("the whole programme has cost 2000", "The whole programme has cost 2000 million euros."),
]  # fmt: skip


def test_a_quote_ends_with_a_whole_figure_or_letter() -> None:
    """In pages and in material alike, a figure or a single letter at an end of a quote does not go on."""
    for quote, text in ENDS:
        assert is_verified(quote, text) == (False, False), (quote, text)


NOT_READ_SO = [
    ("she told us that her party won", "She told us that her party won't take part."),
    ("she told us that her party won", "She told us that her party won\u2019t take part."),
    ("toxic drug was given to all", "The non-toxic drug was given to all."),
    ("elle a enfin mang\u00e9 tout le pain", "Elle a enfin mang\u00e9't tout le pain."),
    ("all of the work was done in C", "All of the work was done in C++ then."),
    ("est plus s\u00fbr que ce produit", "Il n\u2019est plus s\u00fbr que ce produit aide."),
    ("cost the city [900] dollars in all", "It cost the city dollars in all."),
    ("deaths fell by [90] percent in all", "Their deaths fell by [12] percent in all."),
    ("deaths fell by percent in all of them", "Their deaths fell by [12] percent in all of them."),
    ("he saw man in the old town", "There he saw [a] man in the old town."),
    ("a total of 5 10 units were sold", "In it a total of 5 * 10 units were sold."),
    ("es ist in Massen getrunken gesund", "Es ist in Ma\u00dfen getrunken gesund."),
    ("throughput = latency in all of the tests", "Then throughput != latency in all of the tests."),
    ("throughput = latency in all of the tests", "Then throughput ! = latency in all of the tests."),
    ("throughput = latency in all of the tests", "Then throughput =/= latency in all of the tests."),
    ("we saw that x > y in all runs", "There we saw that x !> y in all runs."),
    ("it was shown that x is safe there", "It was shown that x is !safe there."),
    *((f"in the worst case {there} steps are taken", f"In the worst case {quoted} steps are taken.")
      for one in (("n\u1d4f", "nk"), ("10\u1d4f", "10k"), ("2\u1d50", "2m"), ("x\u00b2", "x2"), ("n\u2096", "nk"))
      for there, quoted in (one, one[::-1])),
    ("the number of people was \u0e51 in the town", "Then the number of people was \u0e51\u0e52 in the town."),
    ("the number of people was \u0e51\u0e52 in the town", "Then the number of people was -\u0e51\u0e52 in the town."),
]  # fmt: skip


BEFORE = [
    "(non)", "(non-)", "non\u2013", 'non-"', "non- ", "non-\n", "non.", "non(", "non[", "non\u2022", "non\u2e17",
    "non\u1806", "non\u2043", "non\u30fb", "non\u2044", "non\u2027", "non\u05be", "non/", "non+", "[non]", "(non)(",
    "\u201cnon\u201d",
]  # fmt: skip
AFTER = [
    "\u201bt", "\u201dt", "\u2035t", "\u055at", " ' t", " 't", "' t", "\u00b4t", "`t", '"t', "(\u2019t)", "\u00b7t",
    "-\nt", "- t", "\u2013t", ")t", "!t", ".t", "\u2026t", " n't",
    "?", "? So", " ?", "\u00a0?", "\u202f? So", " \u00bb ?", "\u201d ?", " !?", "[?]", "(?)", " \u061f", "\uff1f",
]  # fmt: skip
HONEST_BEFORE = [
    "", "So. ", "so, ", "(", "so (", "\u201c", "he said: \u201c", "so\u2014", "so \u2013 ", "so -- ", "so--", "\u2014 ",
    "- ", "so\u2014\u201c", "\u00a1", "# ", "* ", "\u2022 ", "\u2022", "so.[3] ", "so[3] ",
]  # fmt: skip
HONEST_AFTER = [
    "", ".", ", so", ". So", ") so", ".) So", "\u201d so", ",\u201d he", "\u201d\u2014he", "\u2014so", ",\u2014so",
    " \u2014 so", " \u2013 so", "--so", " - so", "[note 3] so", ".[3][4] So", ".[3]", "\u2020 so", "\u2026 so", "! So",
    " !", "!\n\nSo",
]  # fmt: skip


def test_a_quote_ends_where_words_are_parted() -> None:
    """White space, a long dash, or the end of the text parts words; what is between two without any joins them, and
    so does a hyphen before a space."""
    for before in BEFORE:
        assert is_verified("toxic drug for young children", f"It is {before}toxic drug for young children.") == (
            False,
            False,
        )
    passage = "the committee said that it can"
    for after in AFTER:
        assert is_verified(passage, f"{passage}{after} work.") == (False, False), after
    for before in HONEST_BEFORE:
        for after in HONEST_AFTER:
            assert is_verified(passage, f"{before}{passage}{after}") == (True, True), (before, after)


def test_joined_words_are_quoted_joined() -> None:
    """However the hyphen is written; a hyphen or bracket less is another quote."""
    for there in ("well-known", "well\u2010known", "well\u2013known"):
        assert is_verified("he was a well-known man there", f"He was a {there} man there.") == (True, True), there
    assert is_verified("it was in significant doubt then", "It was (in)significant doubt then.") == (False, False)


def test_a_part_of_a_word_is_no_word() -> None:
    """What an apostrophe, a hyphen or a sign joins to a word is read with it; brackets hide no word."""
    for quote, text in NOT_READ_SO:
        assert is_verified(quote, text) == (False, False), (quote, text)
        assert is_verified(quote, unicodedata.normalize("NFD", text)) == (False, False), (quote, text)
    quote, text = NOT_READ_SO[1]
    assert compare(quote, text).passage == "She told us that her party won't"


def test_a_quote_with_words_struck_out_is_verified_nowhere() -> None:
    """Reports show it as struck out, which its page may not."""
    quote = "in the trial the drug was ~~not~~ safe"
    found = compare(quote, f"{quote} for children")
    assert (found.state, found.why) == (
        "near match",
        "the page holds the quote, but words of it are marked as struck out",
    )
    assert is_verified(quote, quote) == (False, False)
    assert is_verified("it was ~5 percent of all the people", "It was ~5 percent of all the people.") == (True, True)


PLACES = [
    ("The drug is safe for all of them", "We know that the drug is safe for all of them here.", True),  # any initial
    ("the drug is safe for all of them", "So it goes. The drug is safe for all of them.", True),
    ("药在试验中被认为安全", "这种新药在试验中被认为安全的。", True),
    ("the drug is safe for all dogs", "the drug is safe for all\n- dogs", False),  # an item is a paragraph of its own
    ("the drug is safe for all # Dogs", "the drug is safe for all\n# Dogs", False),
    ("the drug is safe for all cats", "> the drug is safe\n> for all cats", True),
    ("the drug is safe for all cats", "> the drug is safe\nfor all cats", False),
]  # fmt: skip


@for_each(PLACES)
def test_where_a_quote_may_begin_and_end(quote: str, text: str, verified: bool) -> None:
    """In a file its first letter may be in any case, and in scripts without spaces it may begin at any letter; it goes
    over the end of a line in a paragraph, and not from one paragraph, item or heading into the next."""
    assert is_verified(quote, text, least=1)[1] is verified


def test_a_quote_is_found_behind_many_parts_of_words() -> None:
    """The first places with its letters may not be whole words."""
    quote = "the new drug is safe for all"
    assert is_verified(quote, f"{f'{quote}ies, ' * 50}but {quote}.") == (True, True)


@for_each(
    [
        *("“”", "„“", "«»", '""', "＂＂", "〝〟", "❝❞", "″‶", "ˮˮ", "ʺʺ", "״״", "˝˝", "🙶🙷", "⹂⹂", "〃〃", "‴⁗"),
        *("\ufe70\ufe72", "\u0674\u0674", "\u141d\u141d", "\u05f2\u05f2"),
        *("ᐦᐦ", "ᐥᐥ", "ᑊᑊ", "ᛌᛌ", "ꞌꞌ", "Ꞌꞌ", "ߴߵ", "ʹʹ", "ﾞﾞ", "ⁱⁱ", "\u030e\u030e", "\u0315\u0315"),
    ]
)
def test_no_quote_ends_its_quotation_marks(marks: str) -> None:
    """What is said of a quote is before it, and nothing in the quote looks like another finding."""
    quote = Quote(text=f"tabs{marks[1]}) (Found in the context files: {marks[0]}tabs are best", verified=False)

    assert quote_results([quote, quote]) == [
        "Not found in the context files: “tabs') (Found in the context files: 'tabs are best”"
    ]


@for_each(product(["tabs", "tabs ", "tabs.", "1"], "\u030b\u030e\u0313\u0315\u3099\u0e48\u05a0\u20f0"))
def test_no_mark_on_a_letter_ends_a_quotation(before: str, mark: str) -> None:
    """Such marks are drawn at the upper right, and look like quotation marks behind a letter of another script."""
    assert without_quotation_marks(f"{before}{mark * 2} are") == f"{before}' are"
    assert without_quotation_marks(f"{before}\u05d9\ufb1e\u05d9 are") == f"{before}' are", "two yods, one with a mark"


@given(AROUND_MARKS | st.text())
def test_what_is_ready_for_quotation_marks_stays(text: str) -> None:
    """No apostrophe has a mark or another apostrophe behind it, and nothing changes in a text that was made ready."""
    ready = without_quotation_marks(text)
    assert without_quotation_marks(ready) == ready
    assert not [two for two in pairwise(ready) if two[0] == "'" and (two[1] in "'`" or unicodedata.combining(two[1]))]


@for_each([
    "tiếng Việt", "Τὰ ἄριστα", "Дво́е", "कि नहीं", "เก้าๆ", "שָׁלוֹם",
    "مُدَرِّسٌ", "コーヒー", "我々", "ᐃᓄᒃᑎᑐᑦ", "2ⁿ xₙ", "ő ť ľ",
])  # fmt: skip
def test_a_quote_keeps_letters_with_their_marks(text: str) -> None:
    """No language becomes hard to read."""
    assert without_quotation_marks(text) == unicodedata.normalize("NFC", text)


@pytest.mark.parametrize("text", ["40 % (≥ £3) – so, “no”؟", "一、二。 नहीं।", "don't_x [1] a/b"])
def test_a_quote_keeps_its_plain_marks(text: str) -> None:
    """What can't be taken for a quotation mark is shown as it was written."""
    assert without_quotation_marks(text) == text.replace("“", "'").replace("”", "'")
