"""Documents with headings and in JSON: whose speeches are in them, and what is refused with its line."""

from __future__ import annotations

import json
from itertools import cycle
from typing import Any

import pytest
from corpus import for_each
from counting import calls
from hostile_texts import texts
from hypothesis import given
from hypothesis import strategies as st

from debate_orchestrator.engine.transcript_file import HOW_TO_WRITE, MAX_ROUNDS, MAX_SPEECHES, parse
from debate_orchestrator.util.errors import BadFile

FOUR = [("a", 1, "One."), ("b", 1, "Two."), ("a", 2, "Three."), ("b", 2, "Four.")]


def speeches(text: str) -> list[tuple[str, int, str]]:
    """Side, round and text of each speech in a document that is taken."""
    return [(speech.side, speech.round, speech.text) for speech in parse(text, "x.md").speeches]


def errors(text: str) -> str:
    """The complaints about a document that is refused, without the last one, which shows the form."""
    with pytest.raises(BadFile) as refused:
        parse(text, "x.md")
    *found, form = refused.value.problems
    assert form == f"x.md: {HOW_TO_WRITE}" and found and all(error.startswith("x.md: ") for error in found)
    return "\n".join(found)


def document(a: str, b: str, *, rounds: bool = True, words: str = "") -> str:
    """Four speeches under the headings of two sides; `words` are in the midst of the first one."""
    headings, parts = cycle((a, b)), ["# T"]
    for number, (_, round, text) in enumerate(FOUR):
        parts += [f"## Round {round}"] if rounds and number % 2 == 0 else []
        parts.append(next(headings) + text)
        parts += [words, "More."] if words and not number else []
    return "\n\n".join(parts) + "\n"


@pytest.mark.parametrize("rounds", [True, False], ids=["rounds", "no rounds"])
@pytest.mark.parametrize(
    ("a", "b"),
    [
        ("### Alice (Pro)\n\n", "### Bob (Con)\n\n"), ("### FOR\n", "### AGAINST\n"),
        ("#### The Affirmative\n", "#### The Negative\n"), ("### **Speaker A:**\n", "### **Speaker B:**\n"),
    ],
)  # fmt: skip
def test_the_form_with_headings(a: str, b: str, rounds: bool) -> None:
    """Headings name sides; without rounds, each exchange is one."""
    assert speeches(document(a, b, rounds=rounds)) == FOUR
    assert speeches(document(a, b, rounds=rounds).replace("\n", "\r\n")) == FOUR
    assert speeches(document(a, b, rounds=rounds).replace("Two.", "Two.\n\n---")) == FOUR


@for_each(
    [
        ("# Cats are better", "Cats are better"),
        ("# Debate\n\n**Topic:** Cats!", "Cats!"),
        ("Topic: Cats.", "Cats."),
        ("", None),
        ("# Vitamin (A)", "Vitamin (A)"),
    ]
)
def test_the_topic(above: str, topic: str | None) -> None:
    """The topic is what its own line says, or the title."""
    assert parse(f"{above}\n\n### Pro\n\nx\n\n### Con\n\ny", "x.md").topic == topic


def test_rounds() -> None:
    """Headings above the speakers' number the rounds; a note names the others. A line above a rule is a heading where
    it names a side, and a word of its speech otherwise."""
    text = (
        "# T\n\n## Introduction\n\n## **Round 1: Opening**\n\n## 1. Opening\n\n### Pro\n\n1\n\n### Pro\n\n2\n\n"
        "### Con\n\n3\n\n## Round 2 of 2\n\n### Con\n\n4\n"
    )
    found = parse(text, "x.md")

    assert [(one.side, one.round, one.text) for one in found.speeches] == [
        ("a", 1, "1"), ("a", 1, "2"), ("b", 1, "3"), ("b", 2, "4")
    ]  # fmt: skip
    assert parse(f"# Round 1\n{PRO_CON}# Round 2\n{PRO_CON}", "x.md").topic is None
    assert parse(f"# Round 3: Ban cars\n\n## Round 1\n{PRO_CON}", "x.md").topic == "Round 3: Ban cars"
    assert found.notes == ("Headings that judges did not read: 'Introduction', '1. Opening'.",)
    for before, after in (("## Round One", "## Closing Remarks"), ("### Opening Statements", "### Closing Statements")):
        assert parse(f"{before}\n{PRO_CON}{after}\n{PRO_CON}", "x.md").rounds == 2

    assert speeches(document("Ann (Pro)\n---\n", "Bo (Con)\n---\n")) == FOUR
    text = document("### Ann (Pro)\n\n", "### Bo (Con)\n\n", words="Bo (Con)\n---")
    assert "line 9: 'Bo (Con)' has text below it" in errors(text)


@pytest.mark.parametrize("headings", [("### Ann (Pro)\n\n", "### Bo (Con)\n\n")])
@pytest.mark.parametrize(
    "words",
    [
        "- For: it is cheap\n- Against: it is dear", "> **AGAINST:** as they said.\n> ### Bo",
        "1. **Con:** as they said.", "```\nAGAINST: y\n# Costs\n```", "    AGAINST: in code",
        "No: nothing else works.", "**Bo** is what they are, *Bo:* never.", "The others, AGAINST: it is said.",
        "| a |\n|---|\n| Bo: |", "Text\n---\nand more.",
        "#### Option (a)", "**Option (b):** it is dear.", "Dogs (con): never.", "**A:** it is cheap.",
        "Said Bo: never.", "As Bo said \u2014 no.", "Round 2: Bo was right.", "[Bo](https://example.org) is right.",
        "Two came\u2014Bo\u2014and left: so.",
        "Bo is right: never.", "**No.**", "#### Pros and cons", "No", "She said <b>so</b>: Bo (Con) is wrong.",
        "The cons: they are dear.", "\u10d1\u10dd: so.", "B\u4eba: so.", "Bo... so.",
        "No, Bo\u2014that is wrong.", "*No*\u2014that is wrong.", "**Opposition**\u2014to this.", "(No\u2014never.)",
        "Two came - Bo - and left: so.", "Of 24 dogs one barks, but Bo: never.", "Bo 3.5 is better.",
        "In 2024 Bo - my uncle - left.", "See Smith (2019), Bo: A Life.", "As I said (twice) Bo: no", "Version 3 - Bo",
        "To sum up: Bo - my uncle - left.", "At 10:32 Bo: no.", "PM Bo: no.", "Bo 3:16 is clear.", "Answer Bo: so.",
        "   <div>\nso\n</div>", ">\t<div>so\n\nmore", "<!-- a note\n\nof hers -->",
        "<div>\n#cheap\n</div>",
    ],
)  # fmt: skip
def test_words_stay_words(headings: tuple[str, str], words: str) -> None:
    """Code, quotations, lists and words that are not a heading of this document stay in their speech, to the letter."""
    found = speeches(document(*headings, words=words))

    assert found == [("a", 1, f"One.\n\n{words}\n\nMore."), *FOUR[1:]]
    own = f"{words}\n\n#### Cost\n\n**Cost:** it is cheap.\n\n**Summary**"
    assert speeches(document("### Ann (Pro)\n\n", "### Bo (Con)\n\n", words=own))[0][2] == f"One.\n\n{own}\n\nMore."


@for_each(["> ```\n> {}\n> ```", "- > {}", "> {}", "- {}", "| {} |\n|---|"])
def test_an_example_is_no_speech(words: str) -> None:
    """A heading in a list, a table or a quotation is a word of the speech that it is in."""
    example = words.format("### Bo (Con)")
    text = document("### Ann (Pro)\n\n", "### Bo (Con)\n\n", words=example)

    assert speeches(text) == [("a", 1, f"One.\n\n{example}\n\nMore."), *FOUR[1:]]


@for_each([
    "```\n{}\n```", "   ```\n{}\n   ```", " ~~~\n{}\n~~~~", "- ```\n  {}\n  ```", "<!--\n{}\n-->", "<!-- x\n\n{} -->",
    "<pre>\n\n{}\n</pre>", "<script>\n{}\n</script>", "<![CDATA[\n{}\n]]>", "    {}", "- x\n   {}",
])  # fmt: skip
def test_what_may_hide_a_speech_is_refused(words: str) -> None:
    """A heading of a speech in code, in HTML or below an item of a list is refused with its line, named or not."""
    for heading in ("### Bo (Con)", "### Con", "###\u00a0Con", "## Con"):
        example = words.format(heading)
        found = errors(document("### Ann (Pro)\n\n", "### Bo (Con)\n\n", words=example))
        line = 8 + example[: example.index(heading)].count("\n") + 1
        assert f"line {line}: " in found and "within a speech" in found


LABELS = [
    "###\u00a0Bo (Con)", "\t### Bo (Con)", "12:04 PM - Bo: It is so.", "[12/03/2024, 10:32:11 a.m.] Bo: It is so.",
    "Mar 12, 10:32 Bo: It is so.", "Bo [10:32]: It is so.", "Bo (Con) 10:32 AM",
    "Monday, 12 March 2024 10h32 | Bo: It is so.", "###Bo (Con)", "#### Bo (Con)", "#### Other (Con)", "#### Con",
    "#### Bo", "**Bo (Con):**", "**Bo (Con):** It is so.", "**Con**", "**Con:** It is so.", "_Con_",
    "[Against]: It is so.", "Bo (Con)", "Bo (Con) \u2014 It is so.", "Con, Bo: It is so.", "**(Con) Bo**",
    "[Bo](https://example.org) (Con): It is so.", "Bo\\: It is so.", "Bo: It is so.", "8o: It is so.",
    "Researcher B: It is so.", "<h3>Bo (Con)</h3>", "<h3>Bo &#40;Con&#41;</h3>", "<h3 title='x>y'>B<b>o</b></h3>",
    "**Bo&nbsp;(Con)**", "It is so.<br>Con: It is not.", "\uff03 Bo (Con)", "Bo\uff08Con\uff09\uff1a It is so.",
    "B\u200do (Con)", "B&#8203;o (Con)", "\u0412\u043e (\u0421\u043en)", "Bo\u2014I concede.", "Bo \u2015 I concede.",
    "[12:03] Bo: It is so.", "12:03 Bo: It is so.", "1. Bo: It is so.", "Reply: Bo: It is so.",
    "Round 2 - Bo: It is so.", "Bo\u2236 It is so.", "Bo\ua789 It is so.",
    *(f"Bo{colon} It is so." for colon in "\u02d0\u205a\u2025\u0903\ufe30"),
    *(f"B{letter}: It is so." for letter in "\u2c9f\u101d\u0ed0\u0d20\u10ff\u0b20\U0001042c\U000104c2"),
    *(f"{letter}o: It is so." for letter in "\ua4d0\u13f4\u15f7"), "\ua4d0\ua4f3: It is so.", "Bo\u05c3 It is so.",
    "B0: It is so.", "Bo (Speaker B): It is so.", "Bo, Team Con: It is so.", "Side B Bo: It is so.",
    "Bo (the opposition) - It is so.", "Bo [Researcher B]: It is so.", "Bo (Con side): It is so.",
    "\u0299\u1d0f: It is so.", "B\u00f2: It is so.", "B\u0585: It is so.", "**Bo (Con)** It is so.",
    "B\u0332o\u0332: It is so.", "[Bo] It is so.",
    *(f"B{letter}: It is so." for letter in "\u03c3\u0275\u25cb\u3007\u2d54"),
    *(f"{letter}o: It is so." for letter in "\u042c\u0432\u03d0\u0299"),
    *(f"Bo{colon} It is so." for colon in ("\u1361", "\u2982", "\u2806", "\ua6f4", "\u1804", ".:")),
    "B\u200ao: It is so.",
]  # fmt: skip


@for_each(LABELS)
def test_what_looks_like_a_heading_is_refused(line: str) -> None:
    """A line of a speech that a reader takes for a speaker's heading is refused with its line, whatever its signs, in
    markdown and in JSON."""
    refusal = errors(document("### Ann (Pro)\n\n", "### Bo (Con)\n\n", words=line))
    assert "line 9: " in refusal and "Begin a speech with ###, or quote the line after `>`." in refusal

    data = [entry("Ann", f"One.\r\n{line}\nMore.", side="pro"), entry("Bo", "Two.", side="con")]
    assert "speech 1, line 2: " in errors(json.dumps(data))


@for_each(["\u0411\u043e\u0433: x", "5\u20ac: x", "Box: x", "T\u30b7\u30e3: x", "\u0394t: x", "B\u00f8: x", "Bo, x: y"])
def test_other_words_before_a_colon_are_prose(line: str) -> None:
    """A word of another alphabet, or of two, that only has the length of a name is no heading."""
    for name in ("Bob", "Bo", "Su", "Tom"):
        parse(document("### Ann (Pro)\n\n", f"### {name} (Con)\n\n", words=line), "x.md")


@for_each(["Bo: x", "**Con:** x", "Con: x", "#### Option (a)", "Bo (Con): x", "**B**", "b", "Con\u2014x", "B\u2014x"])
def test_headings_are_those_of_the_transcript(line: str) -> None:
    """What names a speaker or a side depends on the headings that a transcript has."""

    def is_refused(a: str, b: str) -> bool:
        try:
            parse(document(f"### {a}\n\n", f"### {b}\n\n", words=line), "x.md")
        except BadFile:
            return True
        return False

    assert is_refused("Ann (Pro)", "Bo (Con)") == (line in ("Bo: x", "**Con:** x", "Bo (Con): x"))
    assert is_refused("Pro", "Con") == (line in ("**Con:** x", "Con: x"))
    assert is_refused("A", "B") == (line in ("**Con:** x", "#### Option (a)", "**B**", "b"))


PRO_CON = "### Pro\n\nx\n\n### Con\n\ny\n\n"


@for_each(
    [
        ("", "no heading names a speaker with a side"),
        ("FOR: x\n\nAGAINST: y\n", "line 1: 'FOR: x' is above"),
        ("**FOR:** x\n\n**AGAINST:** y\n", "'**FOR:** x' is above"),
        ("### Ann\n\nx\n\n### Bo\n\ny\n", "line 1: 'Ann' has text below it and names no side"),
        (f"{PRO_CON}### Moderator: Pro gave up\n", "line 9: 'Moderator: Pro gave up' names no side and no round"),
        (f"{PRO_CON}## Applause", "line 9: 'Applause' names no side and no round"),
        (f"# T\n{PRO_CON}# U\n{PRO_CON}", "line 10: 'U' names no side and no round"),
        (f"**Topic:** T\n**Topic:** U\n{PRO_CON}", "line 2: '**Topic:** U' is above"),
        (f"{PRO_CON}### Hepatitis (B)\n\nz", "'Hepatitis' and 'con' speak for the same side"),
        (f"### Ann (Pro)\n\nx\n\n{PRO_CON}", "'pro' and 'Ann' speak for the same side"),
        ("### Ann (~~Pro~~)\n\nx\n\n### Bo (\u00accon)\n\ny", "line 1: 'Ann (~~Pro~~)' has text below it"),
        (f"{PRO_CON}### Pro\n\n<think>x</think>", "line 9: 'Pro' says nothing"),
        (f"{PRO_CON}### Moderator\n\nz", "line 9: 'Moderator' has text below it"),
        (f"{PRO_CON}### Pro (Con)\n\nz", "line 9: 'Pro (Con)' has text below it"),
        (f"{PRO_CON}## Con\n\nz", "line 9: 'Con' has text below it"),
        ("### Pro\n\nx\n\n### Con\n\n### Pro\n\nz", "line 5: 'Con' says nothing"),
        ("### Pro\n\nx", "side A is the only side that speaks"),
        ("### Pro\n\nx\n\n### Con\n\n```\ny\n\n### Pro\n\nz", "line 7: this code block is never closed"),
        ("### Pro\n\nx\n\n### Con\n\n> ~~~\n> y\n\n### Pro\n\nz", "line 7: this code block is never closed"),
        (f"### Pro\n\n<!-- x\n\n{PRO_CON}", "line 3: this HTML hides what is below it"),
        ("### Pro\n\nx\n<br>\n### Con\n\ny\n\n<br>\n### Con\n\ny", "line 9: this HTML hides"),
        (document("### Pro\n", "### Con\n").replace("Round 2", "Round 1: Tea"), "round 1 begins a second time"),
        (document("### Pro\n", "### Con\n").replace("Round 2", "Round 4"), "in the rounds '1, 4'"),
        (f"{PRO_CON}## Round 1\n\n{PRO_CON}", "speech 1 is in no round, and others are"),
        (f"{PRO_CON}## Round 2\n\n{PRO_CON}", "speech 1 is in no round, and others are"),
        ("### Ann (Pro)\nx\n\n### Bob (Pro)\ny\n", "'Bob' and 'Ann' speak for the same side"),
        ("### Ann (Pro)\nx\n\n### Ann (Con)\ny\n", "'Ann' speaks for both sides"),
        ("### 🐱 (Pro)\nx\n🐶: I concede.\n\n### 🐶 (Con)\ny\n", "names a speaker without a letter or a digit"),
        ("### Ann (Pro)\nx\n\n### \uff21nn (Con)\ny\n", "look alike and speak for different sides"),
        ("### Ann (Pro)\nx\n\n### \u0410nn (Con)\ny\n", "look alike and speak for different sides"),
        ("### Ann (Pro)\nx\n\n### **ANN** (Con)\ny\n", "look alike and speak for different sides"),
        ("### Modern (Pro)\nx\n\n### M0dem (Con)\ny\n", "look alike and speak for different sides"),
        ("### Bob (Pro)\nx\n\n### 8ob (Con)\ny\n", "look alike and speak for different sides"),
        ("### Bob (Pro)\nx\n\n### \ua4d0o\u15f7 (Con)\ny\n", "look alike and speak for different sides"),
        ("### Carl (Pro)\nx\n\n### \u03f9arl (Con)\ny\n", "look alike and speak for different sides"),
        ("### Dan (Pro)\nx\n\n### D\u0251n (Con)\ny\n", "look alike and speak for different sides"),
        ("### Alice (Pro)\nx\n\n### A\u2223ice (Con)\ny\n", "look alike and speak for different sides"),
        ("### Al (Pro)\nx\n\n### \u00c1I (Con)\ny\n", "look alike and speak for different sides"),
        ("### Ann (Pro) (Con)\nx\n\n### Con\ny\n", "line 1: 'Ann (Pro) (Con)' has text below it"),
    ]
)
def test_what_is_refused(row: tuple[str, str]) -> None:
    """What is outside a speech, and headings that are not those of two sides, are refused with their line."""
    text, error = row
    assert error in errors(text)


def entry(speaker: str, text: str, **more: object) -> dict[str, object]:
    """A speech of a JSON document."""
    return {"speaker": speaker, "text": text, **more}


def test_json() -> None:
    """A JSON list names speakers, sides, rounds and phases as the headings do; texts stay to the letter."""
    entries = [
        entry("Alice", "One.", side="pro"),
        entry("Bob (Con)", "Two.\n"),
        entry("Alice (Pro)", "# Three"),
        entry("Bob", "4", side="con"),
    ]
    found = parse(json.dumps(entries), "x.json")
    numbered = [{"side": side, "round": n, "text": "x"} for n in (1, 2) for side in "ab"]

    assert [(one.side, one.round, one.text) for one in found.speeches] == [
        ("a", 1, "One."),
        ("b", 1, "Two.\n"),
        ("a", 2, "# Three"),
        ("b", 2, "4"),
    ]
    assert (found.topic, found.speakers) == (None, {"a": "Alice", "b": "Bob"})
    assert [(one.side, one.round) for one in parse(json.dumps(numbered), "x.json").speeches] == [
        (side, n) for n in (1, 2) for side in "ab"
    ]


@for_each(
    [
        ([], "no heading names a speaker"),
        ({"speeches": []}, "Input should be a valid list"),
        ([{"speaker": "Al (Pro)", "words": "x"}], "speech 1: text: Field required"),
        *(
            ([entry("Al (Pro)", text)], "speech 1: 'Al (Pro)' says nothing")
            for text in (" ", "\u200b", "[THINK]x[/THINK]")
        ),
        ([entry("Al (Pro)", "x"), entry("Bo", "y")], "speech 2: 'Bo' names no side"),
        ([entry("Al (Pro)", "x"), entry("Bo (Pro)", "y")], "'Bo' and 'Al' speak for the same side"),
        ([entry("A\u200dl (Pro)", "x"), entry("Al (Con)", "y")], "'Al' speaks for both sides"),
        ([entry("Al\n(Pro)", "x"), entry("\u0391l (Con)", "y")], "'Al' and '\u0391l' look alike"),
        ([entry("Pro", "x", round=1), entry("Con", "y")], "speech 2 is in no round, and others are"),
        ([entry("Pro", "x", round=1), entry("Con", "y", round=10**12)], "it has 1000000000000 rounds and 2 speeches."),
        ([entry("Pro", "x", round=2), entry("Con", "y", round=1)], "in the rounds '2, 1'"),
    ]
)
def test_json_that_is_refused(row: tuple[Any, str]) -> None:
    """An entry that does not fit is named by its number."""
    data, error = row
    assert error in errors(json.dumps(data))
    assert "it is not JSON" in errors('[{"text": "x"')
    assert "is too large" in errors('[{"round": ' + "9" * 5000)


def test_limits() -> None:
    """Fifty rounds and two hundred speeches are taken, and no more. Several errors are listed together, twenty at
    most."""

    def rounds(count: int) -> str:
        return "\n".join(f"## Round {number}\n### Pro\nx\n### Con\ny\n" for number in range(1, count + 1))

    assert parse(rounds(MAX_ROUNDS), "x.md").rounds == 50
    assert "51 rounds" in errors(rounds(51))
    assert "line 201: 'x' names no side" in errors("## x\n" * (MAX_SPEECHES + 1) + rounds(1))
    assert "at most 50 rounds and 200 speeches" in errors("## Round 1\n" + "### Pro\nx\n### Con\ny\n" * MAX_SPEECHES)

    text = PRO_CON + "### Moderator\n\nz\n\n" * 30

    assert len(errors(f"{PRO_CON}### Moderator\n\nz\n\n### Host\n\nz\n").split("\n")) == 2
    assert "10 more lines have such problems" in errors(text) and len(errors(text).split("\n")) == 21


def test_the_work_of_too_many_speeches_grows_with_their_number() -> None:
    """A transcript with too many headings is refused before what each of them takes, however many there are."""

    def refuse(count: int) -> None:
        assert f"it has {2 * count:,} speeches" in errors("### Ann (Pro)\nx\n### Bo (Con)\ny\n" * count)

    refuse(MAX_SPEECHES)
    some, more = (calls(lambda n=n: refuse(n)) for n in (200, 800))
    assert more < 5 * some

    def compare(count: int) -> None:
        headings = "".join(f"### {'n' * 40}{n:03} ({('Pro', 'Con')[n % 2]})\nx\n" for n in range(count))
        lines = "".join(f"{chr(0x5D0) * 40}{n}: x\n" for n in range(500, 900))
        assert "speak for the same side" in errors(headings + lines)

    some, more = (calls(lambda n=n: compare(n)) for n in (20, 160))
    assert more < 4 * some


LINES = st.sampled_from(
    [
        "# T", "## Round 1", "### Pro", "### Con", "**A:** x", "**B:** y", "Con: z", "", "---", "text", "```", "> q",
        "- z",
    ]
)  # fmt: skip


@given(st.lists(LINES | texts, max_size=16).map("\n".join))
def test_any_text_is_a_transcript_or_refused(text: str) -> None:
    """Every document is speeches of two sides with words in them, or is refused with the form to write in."""
    try:
        found = parse(text, "x.md").speeches
    except BadFile as refused:
        assert refused.problems[-1] == f"x.md: {HOW_TO_WRITE}"
    else:
        assert {speech.side for speech in found} == {"a", "b"} and all(speech.text.strip() for speech in found)


@pytest.mark.parametrize("kind", ["Report", "Transcript"])
def test_what_this_program_wrote_is_refused(kind: str) -> None:
    """Its journal is what can be judged again."""
    assert "Judge the journal of its debate instead" in errors(f"# Debate {kind}\n\n{PRO_CON}")
