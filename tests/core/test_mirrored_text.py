"""A debate with its sides swapped: everything that says who is who changes places, and doing it twice leads back."""

from __future__ import annotations

import re
from typing import Any

import pytest
from core.folding import ADVERSARIAL, PLAIN, make_format, many, opened, play_debate
from corpus import for_each
from hostile_texts import alike
from hypothesis import given
from hypothesis import strategies as st
from journals import EARLIER

from debate_orchestrator.core import schedule, tally
from debate_orchestrator.core.debated_names import could_name_sides, words_in_doubt
from debate_orchestrator.core.events import ContextFile, EarlierDebate, IssuesChanged
from debate_orchestrator.core.fold import fold
from debate_orchestrator.core.format import Format
from debate_orchestrator.core.mirror import Mirror
from debate_orchestrator.core.shape import Field, Shape
from debate_orchestrator.engine.start import with_mirror_form
from debate_orchestrator.formats import loader
from debate_orchestrator.storage.journal import read
from debate_orchestrator.storage.paths import JOURNAL

RESEARCHERS = Mirror(ADVERSARIAL)


def named(first: str, second: str, tags: tuple[str, str] = ("A", "B"), **rules: Any) -> Mirror:
    """The swap of two sides of those names, in a format with these rules."""
    seats = {side: PLAIN["seats"][side] | {"name": name} for side, name in zip("ab", (first, second), strict=True)}
    seats = {side: seat | {"tag": tag} for (side, seat), tag in zip(seats.items(), tags, strict=True)}
    return Mirror(make_format(seats=seats | {"judge": PLAIN["seats"]["judge"]}, **rules))


PAIRS = {
    "researchers": RESEARCHERS,
    "quoted": named("Researcher A", "Researcher B", ("R1", "R2"), quotes={}),
    "letters": named("A", "B", ("X", "X")),
    "words": named("Pro", "Con"),
    "lengths": named("Ann Lee", "Bob", ("ANN", "B")),
    "odd": named("C++ (x)", "Dr. Ω-2", ("(1", "2)")),
    "case": named("anna", "Ben"),
    "same": named("Speaker", "Speaker"),
    "tags": named("Ann Lee", "Bob", ("LEFT SIDE", "R")),
    "words as tags": named("Ann Lee", "Bob", ("LEFT SIDE", "RIGHT")),
}
SAID = (
    *("Researcher A", "Researcher B", "RESEARCHER A", "researcher B", "Researcher\nB", "Researcher  A"),
    *("Researcher AB", "Pro", "CON", "pros", "Ann Lee", "Ann", "ANN LEE", "Bob", "Bob's", "C++ (x)", "Dr. Ω-2", "anna"),
    *("Anna", "Ben", "R1", "R2", "_", "R1-R2", "LEFT SIDE", "RIGHT", "LEFT", "R3", "r1"),
    *("`", "```", "~~~", "https://x.org/", ".com/", "/", "@", "|", "(", "=", " says", "'s", ",", " and "),
    *("model ", "an ", " = 0.9", "John ", "C", "P(", " model", " Smith", ". ", "<v_quote>", "</v_quote>", "\u00a0"),
    *("A", "B", "a", "b", "[R1 - ", "[R2 - ROUND 1 - OPENING]", "[X - Y]", "[ANN - END]", "[(1 - Z]", "2.rebuttal.a"),
    *("1.opening.b", "final.verdict.judge-1", "start.plan.b", "1.opening.a.b", "1.2.x.a", " ", "\n", ".", "-"),
)  # fmt: skip
texts = st.lists(st.sampled_from(SAID), max_size=12).map("".join) | st.sampled_from(SAID).flatmap(alike)


# Texts


OTHERS_NAMES = [
    ("Researcher A is right.", "Researcher B is right."),
    ("Researcher B's point, not Researcher A's", "Researcher A's point, not Researcher B's"),
    ("RESEARCHER A: as Researcher B said", "RESEARCHER B: as Researcher A said"),
    ("what a researcher a listener believes says", "what a researcher a listener believes says"),
    ("Researcher\nB and Researcher\u00a0A", "Researcher\nA and Researcher\u00a0B"),
    ("**Researcher A**, (Researcher B)", "**Researcher B**, (Researcher A)"),
    ("see 1.opening.a and 2.Rebuttal.B.", "see 1.opening.b and 2.Rebuttal.A."),
    (
        "`1.opening.a` of `Researcher A`, [R1 - X](https://x.org/A)",
        "`1.opening.b` of `Researcher B`, [R2 - X](https://x.org/A)",
    ),
    ("R1 is 0.5 points ahead, and in its Opening R2 misled.", "R2 is 0.5 points ahead, and in its Opening R1 misled."),
    ("The R1 argument: R2 = 0.91, as R1 says.", "The R2 argument: R2 = 0.91, as R2 says."),
    ("DeepSeek R1 is open. R1 costs little.", "DeepSeek R1 is open. R2 costs little."),
    ("The R1 evidence is thin, R2 was 0.91", "The R2 evidence is thin, R1 was 0.91"),
    ("The plan A proposed fails, and B concedes nothing.", "The plan B proposed fails, and A concedes nothing."),
    (
        "The old model A defends is worse than the one B defends.",
        "The old model B defends is worse than the one A defends.",
    ),
    ("The paper A cites was retracted; B checked it.", "The paper B cites was retracted; A checked it."),
    ("The model R1 offers, in a paper R2 cites", "The model R2 offers, in a paper R1 cites"),
    ("On this question A concedes; see plan B, A: 7.5, B: 6", "On this question B concedes; see plan B, B: 7.5, A: 6"),
    ("|A|B| for **A** and the A side, in its answer A", "|B|A| for **B** and the B side, in its answer B"),
    ("start.plan.a, final.closing.b", "start.plan.b, final.closing.a"),
    ("[R1 - ROUND 1 - OPENING]", "[R2 - ROUND 1 - OPENING]"),
    ("Treatment A harmed 2, treatment B 61: A is safe.", "Treatment B harmed 2, treatment A 61: B is safe."),
    ("A's support for it; B’s is none.", "B's support for it; A’s is none."),
    ("As R1 I say: [R2] is wrong, and (R1)'s case stands.", "As R2 I say: [R1] is wrong, and (R2)'s case stands."),
    ("R1-R2, R1/R2, R1: R2.", "R2-R1, R2/R1, R2: R1."),
    ("_Researcher A_ and __R2__; see _1.opening.a_", "_Researcher B_ and __R1__; see _1.opening.b_"),
    ("...R1 said so, as _A_ knows", "...R2 said so, as _B_ knows"),
    ("Researchers A and B", "Researchers B and A"),
    ("a point of B, on side A.", "a point of A, on side B."),
    ("A concedes it. B granted the cost, which A never had.", "B concedes it. A granted the cost, which B never had."),
    ('"A" and **B** ignore it: A only narrows it', '"B" and **A** ignore it: B only narrows it'),
]


def test_each_side_goes_by_the_others_name() -> None:
    """Names, in whatever letters and across a line's end, turn ids and tags are those of the other side."""
    for text, swapped in OTHERS_NAMES:
        assert (RESEARCHERS.text(text), RESEARCHERS.text(swapped)) == (swapped, text), text


UNNAMED = [
    "Researcher AB", "my Researcher Algorithm", "Pro and Con", "A/B test", "B-tree", "plan B", "Vitamin A is",
    "Researcher\n\nA new day", "It is so. A broker adds one rule.", "A shared queue", "A. First\nB. Second",
    "1.opening.c", "1.opening.judge", "version 1.2.b", "DeepSeek-R1", "R1.5", "R10", "R3", "best_R1_so_far",
    "plan_A is", "x.R1", "[JUDGE - FINAL VERDICT]", "final.verdict.judge-1", "The fit is good: R2 = 0.91.",
    "an adjusted R2 of .91", "Section B states that",
    "See https://deepseek.com/R1, x.org/A and x.org/1.opening.a?by=B.", "the file R1.csv", "deepseek-ai/R1",
    "the model R1 is cheap", "DeepSeek R1 is open.", "DeepSeek's R1", "R1-Zero", "The Canon R1 sells.",
    "`R1 = load(A)`", "`https://x.org/2.rebuttal.a`", "```\nMOV R1, R2\n```", "~~~\nA: Researcher\n~~~",
    "$A$, A$20, A@x.org", "groups A and B", "A, B and C are out", "John A. Smith", "as A. Smith (2020) shows",
    "She got an A.", "A family: four people.", "A family has four.", "A weekly: see it.",
    "A reply: none. A supply: short.", "A reply states that.", "A trusted ally has it.", "straight A's",
    "memory B cells", "P(A|B)", "A = 5, B = 7", "hepatitis B is rare", "in A minor",
]  # fmt: skip


def test_what_names_no_side_stays() -> None:
    """Words that are not a name, and those that belong to a position, such as Pro and Con, stay as they are."""
    for text in UNNAMED:
        assert RESEARCHERS.text(text) == text, text


@for_each(
    [
        ("A lost to B. B wrote that A lied.", "B lost to A. A wrote that B lied."),
        ("A even admits that B is right.", "B even admits that A is right."),
        ("A withdrew it. A likely wins.", "B withdrew it. B likely wins."),
        ("A narrowly: each broke one. B barely: it is late.", "B narrowly: each broke one. A barely: it is late."),
        ("A vs. B, or B vs. A", "B vs. A, or A vs. B"),
        ("Between Debater A/B, A beat B.", "Between Debater A/B, B beat A."),
        (
            "A doesn't. A lied. A proved nothing. A failed badly.",
            "B doesn't. B lied. B proved nothing. B failed badly.",
        ),
        ("A dropped C2. B left I2 open. **A** met **C1**.", "B dropped C2. A left I2 open. **B** met **C1**."),
        *[
            (articles, articles)
            for articles in (
                *("A lost cause. A vote is a vote.", "A European plan. A one-off. A dropped ball. A Nordic study."),
                *("A named weekly lead. A so-called “fix”.", "A Series B round. A fixed 10-year term."),
                *("A used Tesla costs less. A hosted Postgres.", "A fixed 30 % fee. A signed NDA. A closed “club”."),
            )
        ],
    ]
)
def test_letters_of_both_sides_in_a_sentence(text: str, mirrored: str) -> None:
    """Both are swapped where a verb or a word with a vowel follows; an article stays."""
    mirror = named("Debater A", "Debater B")
    assert mirror.text(text) == mirrored and mirror.text(mirrored) == text


ARGUED = "R1's figures are old. R2 has newer ones. I ask R1 for its source. " * 20


@for_each(
    [
        *("", "See CRS report R46795.", "It costs R500 million.", "They use R134a.", "Its reproduction number is R0."),
        *("DeepSeek R1 is open.", "An R2 = 0.91 is high.", "R1, R2 and R3 are met.", "`R9`", "https://a.org/R7"),
        "<v_quote>R3 is out</v_quote>",
    ]
)
def test_no_word_keeps_the_tags_of_a_speech(remark: str) -> None:
    """What else a speech says, and wherever it does, all that is said of a side in it is said of the other."""
    swapped = ARGUED.replace("R1", "R0").replace("R2", "R1").replace("R0", "R2")
    for before, after in (("", remark), (remark, "")):
        mirrored = RESEARCHERS.text(f"{before} {ARGUED}{after}")
        assert swapped in mirrored, mirrored


def test_a_tag_alone_names_its_side() -> None:
    """Speakers and judges use the tags that a brief shows, of any format. A letter, a number, and a position's
    word name no side."""
    for tags, text, mirrored in (
        (("LEFT SIDE", "RIGHT"), "RIGHT met LEFT SIDE; right?", "LEFT SIDE met RIGHT; right?"),
        (("1", "2"), "2 of them; [1 - END]", "2 of them; [2 - END]"),
        (("FOR", "AGAINST"), "vote FOR it; [FOR - END]", "vote FOR it; [AGAINST - END]"),
    ):
        sides = dict(zip("ab", ("For", "Against"), strict=True))
        seats = {
            seat: {"name": f"Team {seat}", "label": sides[seat], "tag": tag}
            for seat, tag in zip("ab", tags, strict=True)
        }
        mirror = Mirror(make_format(seats={**seats, "judge": PLAIN["seats"]["judge"]}))
        assert (mirror.text(text), mirror.text(mirrored)) == (mirrored, text)


VERBS = (
    *("delivered 98 of 100 orders", "harmed 61 patients", "reduced it by 30%", "cut costs", "took 3 days"),
    *("came first", "cost less", "worked well", "is safe", "can win", "also ran", "even won", "improves sleep"),
    *("doesn't ship", "hasn’t", "significantly reduced mortality", "neither cured nor harmed", "under load fails"),
    *("like placebo did so",),
)
COULD_NAME = [
    *("Researchers A and B", "Two researchers, A and C", "researcher “A”", "researcher (A)", "researcher #A"),
    *("**Researcher** A", "Researcher: A", "| Researcher | Cores |\n|---|---|\n| A | 14 |", "Researcher&nbsp;A"),
    *("Researcher\u200bA", "Researcher\u00adA", "Researcher\u2011A", "Researcher – A", "Researcher.A", "researcher_b"),
    *('build option "a"?', "choose “option a” now?", "build option **a** (the tram)?", "option a (x)", "option a – x"),
    *("option a < x", "a → c", "a = 5", "<b>a</b>", "«a»", "`a`", "A or C?", "vendor A?", "Is vendor A for us?"),
    *("Is vendor A\u00a0better?", "Should We Build A Bridge?", "vendor a or vendor c?", "vendor a?"),
    *("vendor a's price",),
    *("is a/b so?", "A variant", "Yes. A positive", "Vendor-A", "VendorA", "vendor_A", "vendor-a", "A/B", "drug A+"),
    *("A=1", "A-rated debt", "B was better", "Table 2a", "so a0 it"),
    *("Is Ａ good?", "We have: A tram, or none", "A\ttram", "is (b) so?", "hepatitis B", "A beat the others."),
    *("vendor\nA new", "方案A还是方案C", "4.beta.b", "Is the F-35A the better F-35?", "Is A4 a size?"),
    *("Is vitamin B12 safe?", "Choose option a over option c", "variant a today"),
    *("Drug a lowers the risk. Drug c does not.", "Drug a lowers the risk, drugs “c” and d don't."),
    *(f"{before}A {verb}" for before in ("", "- ", "So it is. ", "vendor\n") for verb in VERBS),
]
"""What is debated, with something that could be a side's name, whatever the format."""
NO_NAME = [
    *("Is it so?", "Plan AB is a plan", "Is it AB1 or 1AB?", "Is it worth a try or a look, as a team?"),
    *("Do cabs rob us?", 'It has a "fair" price.', "a carbon tax works", "Should researchers be paid more?"),
    *("a plan, (c) 2024", "a 20 °C day", "a vitamin D pill", "a list: see c), Appendix C, grade C and C. Weber"),
    *("It cost\na lot", "See R3, R10, XR1.", "We'd learn a language: C++ or C#", "a law of D.C. on R&D"),
    *(
        f"{text}\n\n{'So it is. ' * 30}"
        for text in (
            *("A carbon tax works.", "No. A tax on sugar works.", "# A plan", "- A new rule\n- A tram"),
            *("A European plan. A one-off.", "“A new rule.” A Plan for Cities"),
        )
    ),
]


def test_what_is_debated_could_have_a_sides_name() -> None:
    """A letter in any form, a tag and the stem of a name beside a letter, in the topic, a position, an issue or the
    material. So could words where names are words, and pages."""
    plain = opened(1).with_settings(positions={"a": "Yes.", "b": "No."}, mirror=True)
    placeholder = plain.with_settings(positions={side: f'An answer of {side.upper()} to "Is it so?"' for side in "ab"})
    of_tags = ("Is DeepSeek R1 good?", "DeepSeekR1?", "deepseek-r1?", "R2: all is kept.", "R**1**", "R01: fast.")
    of_tags += ("Is the Rivian R1S fast?",)
    for text in (*COULD_NAME, *of_tags, "every researcher a salary", *NO_NAME):
        for event in (
            plain.with_settings(topic=text),
            plain.with_settings(positions={"a": text, "b": "No."}),
            plain.with_settings(issues=(text,)),
            placeholder.model_copy(update={"context": (ContextFile(name="trial.md", text=text),)}),
        ):
            assert with_mirror_form(event).mirror_order_only is (text not in NO_NAME), text
    for name, texts, expected in (
        ("panel", COULD_NAME, True), ("question", COULD_NAME, True), ("panel", (*of_tags, *NO_NAME), False),
        ("question", ("every debater a break", "the debater b"), True), ("claim", NO_NAME, True),
    ):  # fmt: skip
        assert [text for text in texts if could_name_sides(loader.load(name), [text]) is not expected] == [], name
    assert could_name_sides(Format.model_validate(PLAIN), ["Is it so?"])
    named = Format.model_validate(PLAIN)
    by_text = {"Is it so?": set(), "Is ANNA right?": {"Anna", "Ben"}, "Annabel left": set(), "Is B?": {"a", "b"}}
    assert {text: words_in_doubt(named, [text]) for text in by_text} == by_text
    numbered = ({**PLAIN["seats"][side], "name": f"Speaker {n}"} for n, side in enumerate("ab", start=1))
    rules = make_format(seats={**dict(zip("ab", numbered, strict=True)), "judge": PLAIN["seats"]["judge"]})
    assert [could_name_sides(rules, [text]) for text in ("In 1 of 2", "Speakers 1 and 2")] == [False, True]
    assert not with_mirror_form(plain.with_settings(topic="A or B?", mirror=False)).mirror_order_only
    for fields, expected in (
        ({"issues_changed": IssuesChanged(issues=("Is vendor A quick?",))}, True),
        ({"speakers": {"a": "Candidate B", "b": "Ann"}, "speakers_by_author": True}, True),
        ({"speakers": {"a": "command:./a.sh", "b": "host"}}, False),
    ):
        earlier = EarlierDebate(source="x", digest="0", **fields)
        assert with_mirror_form(plain.model_copy(update={"earlier_debate": earlier})).mirror_order_only is expected


@many
@given(text=texts)
def test_where_the_order_alone_is_swapped_no_word_is(text: str) -> None:
    """Texts, sides, turns and ballots are the same; positions and totals are in the other order."""
    mirror = Mirror(ADVERSARIAL, order_only=True)
    assert (mirror.text(text), mirror.side("a"), mirror.turn_id("1.opening.a")) == (text, "a", "1.opening.a")
    assert list(mirror.swapped({"a": 1, "tie": 0, "b": 2}).items()) == [("b", 2), ("a", 1), ("tie", 0)]
    assert mirror.structured_reply(KINDS, GIVEN | {"why": text}) == GIVEN | {"why": text}


def test_short_names_keep_to_their_own_letters() -> None:
    """A name of one word that is a word in lower case, too, is found as a name only as it is written."""
    assert PAIRS["letters"].text("A has a point, B none; see 1.opening.a") == ("B has a point, A none; see 1.opening.b")
    assert PAIRS["words"].text("Pro: the pro of it, the con of it. CON!") == "Con: the pro of it, the con of it. PRO!"


def test_a_verified_quote_stays_as_its_source_has_it() -> None:
    """Names and letters in it are the source's, in code and at its borders too; an opening tag alone is not a quote.
    Where the format looks none up, a tag is a word."""
    text = "Anna: <v_quote>Anna beat Ben</v_quote>, <u_quote>Anna did</u_quote>, <v_quote>Anna"
    other = "Ben: <v_quote>{}</v_quote>, <u_quote>Ben did</u_quote>, <v_quote>Ben"
    for quotes, quoted in (({}, "Anna beat Ben"), (None, "Ben beat Anna")):
        mirror = Mirror(make_format(quotes=quotes))
        assert mirror.text(text) == other.format(quoted)
        assert mirror.text(mirror.text(text)) == text
    quote, mirror = "<v_quote>Researcher A, `R1` or\n\n~~~\n1.opening.a</v_quote>", PAIRS["quoted"]
    around = ("`{}` for X", "a ` {} by X ` ", "```\n{} X\n```\nX", "~~~ {}\nX", "~~~\n{}\n~~~ X", "`` {}`X")
    around += ("https://x.org/{}, X",)
    for text in (one.replace("{}", quote) for one in around):
        first, second = (text.replace("X", f"Researcher {side}") for side in "AB")
        assert (mirror.text(first), mirror.text(second)) == (second, first)


@pytest.mark.parametrize("pair", PAIRS)
@many
@given(text=texts)
def test_a_text_swapped_twice_is_what_it_was(pair: str, text: str) -> None:
    """Whatever a text holds, swapping the sides in it twice changes nothing."""
    assert PAIRS[pair].text(PAIRS[pair].text(text)) == text


# Sides, turns and values


def test_turns_are_the_others() -> None:
    """Every turn of a side is the other's, in id and seat, and its tag; a judge's is the judge's."""
    for turn in schedule.turns_taken(play_debate(2)):
        other = RESEARCHERS.turn(turn)
        assert RESEARCHERS.turn(other) == turn
        assert (other == turn) is turn.judging
        assert RESEARCHERS.text(ADVERSARIAL.tag_of(turn)) == ADVERSARIAL.tag_of(other)


# Ballots


KINDS: Shape = {
    "scores": Field(kind="scores"),
    "winner": Field(kind="choice", options=("a", "b", "tie")),
    "side": Field(kind="choice", optional=True),
    "all": Field(kind="choices"),
    "label": Field(kind="choice", options=("supported", "refuted")),
    "turns": Field(kind="turns"),
    "why": Field(kind="text"),
    "where": Field(kind="url"),
    "sure": Field(kind="boolean"),
    "share": Field(kind="number", per_side=True),
    "best": Field(kind="choice", per_side=True),
    "advice": Field(kind="text", per_side=True),
    "questions": Field(kind="list"),
    "inner": Field(
        kind="object", fields={"seat": Field(kind="choice"), "a": Field(kind="text"), "b": Field(kind="text")}
    ),
    "rows": Field(
        kind="list",
        fields={
            "a": Field(kind="object", fields={"turns": Field(kind="turns")}),
            "b": Field(kind="object", fields={"turns": Field(kind="turns")}),
            "notes": Field(
                kind="list", fields={"seat": Field(kind="choice"), "says": Field(kind="text", per_side=True)}
            ),
        },
    ),
}
ROW = {"a": {}, "b": {}, "notes": [{"seat": "b", "says": {"a": "Anna", "b": "Ben and Anna"}}]}
GIVEN: dict[str, Any] = {
    "scores": {"a": {"wit": 1}, "b": {"wit": 2}},
    "winner": "a",
    "side": None,
    "all": ["b", "a"],
    "label": "supported",
    "turns": ["1.speech.a", "1.speech.judge"],
    "why": "Anna was wittier than Ben in 1.speech.a.",
    "where": "https://example.org/Anna/1.speech.a",
    "sure": True,
    "share": {"a": 0.75, "b": 0.25},
    "best": {"a": "b", "b": "b"},
    "advice": {"a": "Anna, be brief.", "b": "Ben, be kind."},
    "questions": ["Who is Ben?"],
    "inner": {"seat": "a", "a": "Anna holds", "b": "Ben holds"},
    "rows": [ROW | {"a": {"turns": ["1.x.a"]}, "b": {"turns": ["1.x.b", "2.x.b"]}}],
}
SWAPPED: dict[str, Any] = {
    "scores": {"a": {"wit": 2}, "b": {"wit": 1}},
    "winner": "b",
    "side": None,
    "all": ["a", "b"],
    "label": "supported",
    "turns": ["1.speech.b", "1.speech.judge"],
    "why": "Ben was wittier than Anna in 1.speech.b.",
    "where": "https://example.org/Anna/1.speech.a",
    "sure": True,
    "share": {"a": 0.25, "b": 0.75},
    "best": {"a": "a", "b": "a"},
    "advice": {"a": "Anna, be kind.", "b": "Ben, be brief."},
    "questions": ["Who is Anna?"],
    "inner": {"seat": "b", "a": "Anna holds", "b": "Ben holds"},
    "rows": [
        {
            "a": {"turns": ["1.x.a", "2.x.a"]},
            "b": {"turns": ["1.x.b"]},
            "notes": [{"seat": "a", "says": {"a": "Anna and Ben", "b": "Ben"}}],
        }
    ],
}
ANNA = Mirror(Format.model_validate(PLAIN))


def test_every_kind_of_field_is_swapped() -> None:
    """Scores, choices, turns, texts, and whatever is told of either side, nested too, change places."""
    assert ANNA.structured_reply(KINDS, GIVEN) == SWAPPED
    assert ANNA.structured_reply(KINDS, SWAPPED) == GIVEN
    assert list(ANNA.structured_reply(KINDS, GIVEN)) == list(GIVEN)


MIRRORED = ("lighthouse-ledger", "rewrite-in-rust")
"""Debates of an earlier version in which judges also voted with the sides swapped."""
ARTICLES = {"A missing", "A man", "A rewrite", "A tenth"}
"""Every `A` in them that names no side, with the word after it."""


def said(name: str) -> list[str]:
    """All replies of a debate."""
    journal = EARLIER / f"{name}{JOURNAL}"
    debate = fold(read(journal).events)
    return [answer.reply.text for answer in debate.replies.values()]


@pytest.mark.parametrize("name", MIRRORED)
def test_no_side_keeps_its_letter(name: str) -> None:
    """In every speech and ballot of the mirrored debates each letter that names a side is swapped."""
    journal = EARLIER / f"{name}{JOURNAL}"
    mirror = fold(read(journal).events).mirror
    letter = re.compile(r"(?<![\w.&/+-])([AB])(?![\w&/+-]|\.\w)")
    swapped = 0
    for text in said(name):
        other = mirror.text(text)
        assert mirror.text(other) == text
        for before, after in zip(letter.finditer(text), letter.finditer(other), strict=True):
            following = " ".join(text[before.start() :].split()[:2])
            assert (before[1] == after[1]) is (following in ARTICLES), following
            swapped += before[1] != after[1]
    assert swapped > 15


def test_a_mirrored_ballot_names_the_right_side() -> None:
    """The mirrored judge of the lighthouse story wrote of A's support for drowning. Read back, it is B's."""
    journal = EARLIER / f"lighthouse-ledger{JOURNAL}"
    debate = fold(read(journal).events)
    ballot = debate.structured_reply("final.verdict.judge.mirrored")
    assert ballot is not None and "A's support for drowning (1.argument.a)" in str(ballot.data["reasons"])
    shape = debate.shape(schedule.turn(debate, ballot.turn_id))
    assert shape is not None
    reasons = tally.in_original_names(debate, shape, ballot)["reasons"]
    assert "B's support for drowning (1.argument.b)" in reasons
