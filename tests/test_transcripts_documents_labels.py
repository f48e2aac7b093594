"""Whose words are whose: one style of labels in a document, and what only looks like a label."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from debate_orchestrator.transcripts.documents import Document
from debate_orchestrator.transcripts.speeches import Transcript

STYLES = {
    "headings": ("### Ann (Pro)\n\n", "### Bo (Con)\n\n"),
    "names in headings": ("### Ann\n\n", "### Bo\n\n"),
    "bold": ("**FOR:** ", "**AGAINST:** "),
    "colon outside": ("**Pro**: ", "**Con**: "),
    "bold names": ("**Ann:** ", "**Bo:** "),
    "bold names with sides": ("**Ann (Pro):** ", "**Bo (Con):** "),
    "bold alone": ("**FOR**\n\n", "**AGAINST**\n\n"),
    "plain": ("FOR: ", "AGAINST: "),
    "plain letters": ("A: ", "B: "),
    "plain roles": ("Speaker A: ", "Speaker B: "),
}
SAID = [("a", "One."), ("b", "Two."), ("a", "Three."), ("b", "Four.")]
Said = list[tuple[str, str]]


def document(style: str, speeches: list[tuple[str, list[str]]], rounds: bool) -> str:
    """A well-formed document; each speech has its paragraphs."""
    a, b = STYLES[style]
    parts = ["# T"]
    for n, (side, paragraphs) in enumerate(speeches):
        parts += [f"## Round {n // 2 + 1}"] if rounds and n % 2 == 0 else []
        parts.append((a if side == "a" else b) + "\n\n".join(paragraphs))
    return "\n\n".join(parts) + "\n"


def read(text: str) -> tuple[Transcript, list[str]]:
    return Document(text, "x.md").read()


def taken(text: str) -> tuple[Said, str]:
    """The speeches of a document that is taken, and its notes."""
    found, wrong = read(text)
    assert wrong == []
    return [(one.side, one.text.strip()) for one in found.speeches], " ".join(found.notes)


def with_words(style: str, words: str, side: str) -> str:
    """A document in which one speech of a side has these words as a paragraph of their own in its midst."""
    speeches = [
        (one, [text, words, "More."] if text == {"a": "One.", "b": "Two."}[side] else [text]) for one, text in SAID
    ]
    return document(style, speeches, rounds=True)


@pytest.mark.parametrize("rounds", [True, False], ids=["rounds", "no rounds"])
@pytest.mark.parametrize("style", STYLES)
def test_every_style_is_read(style: str, rounds: bool) -> None:
    """Every style, well formed, gives each speech to its speaker."""
    found, notes = taken(document(style, [(side, [text]) for side, text in SAID], rounds))

    assert found == SAID
    assert "looks like" not in notes
    assert ("plain labels" in notes) == style.startswith("plain")


@pytest.mark.parametrize(
    ("side", "words"),
    [
        ("a", "No: nothing else works."),
        ("b", "Yes: some die."),
        ("b", "For: example, cats."),
        ("a", "B: the second reason."),
        ("a", "AGAINST: that is what they call it."),
        ("b", "_No:_ never."),
        ("a", "- For: it is cheap\n- Against: it is dear"),
        ("a", "> **AGAINST:** as they said."),
        ("b", "1. **FOR:** as they said."),
        ("a", "```\n**AGAINST:** x\nAGAINST: y\n```"),
        ("b", "    FOR: in code"),
        ("a", "#### No\n\nNever."),
        ("a", "**Cost:** it is cheaper."),
        ("a", "**AGAINST** is what they are."),
        ("b", "Moderator: that is what we need."),
    ],
)
def test_words_that_look_like_labels_stay_words(side: str, words: str) -> None:
    """Another style than that of the document, a list, a quotation, code and a bold word name no speaker; a note
    says in which line they stand."""
    text = with_words("bold", words, side)
    found, notes = taken(text)
    line = text[: text.index(words)].count("\n") + (2 if words.startswith("```") else 1)

    assert [one for one, _ in found] == ["a", "b", "a", "b"]
    assert (side, f"{'One.' if side == 'a' else 'Two.'}\n\n{words}\n\nMore.") in found
    assert "is taken for words of a speech" in notes
    assert str(line) in notes


def test_words_of_one_side_are_never_the_others() -> None:
    """The document in which this was found: three lines, all in the speech in which they stand, and all noted."""
    text = (
        "# T\n\n**FOR:** We must.\n\nNo: nothing else works.\n\n**AGAINST:** We must not.\n\nYes: some die.\n\n"
        "For: example, cats.\n"
    )
    found, notes = taken(text)

    assert found == [
        ("a", "We must.\n\nNo: nothing else works."),
        ("b", "We must not.\n\nYes: some die.\n\nFor: example, cats."),
    ]
    assert "'No' (line 5), 'Yes' (line 9), 'For' (line 11)" in notes


def test_a_name_that_is_mentioned() -> None:
    """A speaker's name with a colon, in a document of bold names or of headings, is a word of whoever says it."""
    for style in ("bold names", "bold names with sides", "names in headings", "headings"):
        found, notes = taken(with_words(style, "Bo: he says that two is more.", "a"))

        assert found[0] == ("a", "One.\n\nBo: he says that two is more.\n\nMore.")
        assert "'Bo' (line " in notes


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        (
            "**FOR:** x\n\n**No:** y\n\n**AGAINST:** z\n",
            "line 5: got 'AGAINST', which may be the side that line 3 calls 'No'",
        ),
        ("**FOR:** x\n\n**AGAINST:** y\n\n**For:** z\n\n**FOR:** w\n", "line 5: got 'For', which may be the side"),
        ("### Ann (Pro)\nx\n\n### No\ny\n\n### Bo (Con)\nz\n\n### Bo (Con)\nw\n", "line 4: got 'No', which may be"),
        ("**Ann (Pro):** x\n\n**No:** y\n", "'Ann (Pro)' (line 1) and 'No' as speakers"),
        ("**Ann:** x\n\n**No:** y\n\n**Ann:** z\n", "'Ann' (line 1) and 'No' as speakers"),
        ("**Ann:** x\n\n**Bob (Pro):** y\n\n**No:** z\n", "as speakers"),
        ("**FOR:** x\n\n**Cost:** y\n", "'FOR' (line 1) and 'Cost' as speakers"),
        ("**Host:** x\n\n**FOR:** y\n", "these speakers: 'Host' (1), 'FOR' (1)"),
        ("**Ann:** x\n\n**Bo:** y\n\n**Cost:** z\n", "'Cost' (1)"),
    ],
)
def test_a_speaker_has_one_name(text: str, complaint: str) -> None:
    """A side that is called in two ways, or by a word that is no pair of the other's, is refused with its line."""
    assert complaint in " ".join(read(text)[1])


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        (
            "**FOR:** x\n\nAGAINST: y\n",
            "line 1: got labels of several styles that may all name speakers: 'FOR' (line 1)",
        ),
        ("**FOR:** x\n\n**AGAINST:** y\n\n**FOR**\n\nz\n\n**AGAINST**\n\nw\n", "labels of several styles"),
        (
            "**FOR:** x\n\n**AGAINST:** y\n\n### For\n\nz\n\n### Against\n\nw\n\n**FOR:** v\n",
            "labels of several styles",
        ),
        ("A: x\n\nB: y\n\n**Cost:** z\n\n**Gain:** w\n\nA: v\n\nB: u\n", "'A' (line 1) and 'Cost' (line 5)"),
        ("**FOR:** x\n\n**AGAINST:** y\n\n**FOR:** z\n\nAGAINST: w\n", "line 7: got 'AGAINST' in another style"),
        ("**FOR:** x\n\nAGAINST: y\n\n**FOR:** z\n\n**AGAINST:** w\n", "line 3: got 'AGAINST' in another style"),
        ("A: x\n\nB: y\n\nA: z\n\nB: w\n\n### For\n\nv\n\n### Against\n\nu\n", "'A' (line 1) and 'For' (line 9)"),
        ("A: x\n\nB: y\n\nA: z\n\n**Pro:** v\n\n**Con:** u\n\nB: w\n", "'A' (line 1) and 'Pro' (line 7)"),
        ("**FOR:** x\n\n- y\n**AGAINST:** z\n\n**AGAINST:** w\n", "line 4: got 'AGAINST' in the same block as"),
        ("**FOR:** x\n\n> y\n**AGAINST:** z\n\n**AGAINST:** w\n", "line 4: got 'AGAINST' in the same block as"),
    ],
)
def test_styles_that_can_not_be_told_apart_are_refused(text: str, complaint: str) -> None:
    """Where labels of two styles may both be meant, the complaint gives their lines."""
    assert complaint in " ".join(read(text)[1])


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("A: x\n\nB: y\n", "line 1: got the plain label 'A' just once"),
        ("A: x\n\nB: y\n\nA: z\n", "line 3: got the plain label 'B' just once"),
        ("Well.\n\nA: x\n\nB: y\n\nA: z\n\nB: w\n", "line 1: got text above the first plain label"),
        (
            "FOR: x\n\nAGAINST: y\n\nFOR: z\n\nFor: u\n\nAGAINST: w\n",
            "line 7: got 'For', which may be the side that line 1",
        ),
        ("FOR: x\n\nNo: u\n\nAGAINST: y\n\nFOR: z\n\nAGAINST: w\n", "line 3: got 'No', which may be the side"),
        ("A: x\n\nB: u\n\nB: y\n\nA: z\n\nB: w\n", "line 5: got the plain label 'B' again"),
        ("Speaker A: x\n\nB: y\n\nSpeaker a: z\n\nB: w\n", "line 5: got 'Speaker a', which may be the side"),
        ("A: x\n\nB: y\n\nModerator: u\n\nA: z\n\nB: w\n", "'Moderator' (1)"),
    ],
)
def test_plain_labels_are_taken_only_where_they_are_all(text: str, complaint: str) -> None:
    """Plain labels begin the debate, come again, are written one way and take turns; the complaint has the line."""
    assert complaint in " ".join(read(text)[1])


def test_plain_names_of_participants() -> None:
    """A name of the list of participants may be a plain label, even once; a side's word amid names is refused."""
    head = "# T\n\n- Ann (FOR)\n- Bo (AGAINST)\n\n---\n\n"

    assert taken(f"{head}Ann: x\n\nCost: y\n\nBo: z\n")[0] == [("a", "x\n\nCost: y"), ("b", "z")]
    assert "'Cost' (line 10)" in taken(f"{head}Ann: x\n\nCost: y\n\nBo: z\n")[1]
    assert "line 12: got 'Bo', which may be the side that line 10 calls 'No'" in " ".join(
        read(f"{head}Ann: x\n\nNo: y\n\nBo: z\n")[1]
    )


def test_rules_between_speeches() -> None:
    """A rule below the first speech doesn't make it a part of the head; what stands above a head's rule is noted."""
    text = "**FOR:** One.\n\n---\n\n**AGAINST:** Two.\n\n---\n\n**FOR:** Three.\n\n---\n\n**AGAINST:** Four.\n"
    head = "**FOR:** It is so.\n\n**AGAINST:** It is not.\n\n---\n\n**FOR:** One.\n\n**AGAINST:** Two.\n"

    assert taken(text)[0] == SAID
    assert taken(head)[0] == SAID[:2]
    assert "Line 1 stands above the first speech and is taken for none." in taken(head)[1]
    assert "Line 3 stands above" in taken(f"# T\n\n{'word ' * 40}\n\n**FOR:** One.\n\n**AGAINST:** Two.\n")[1]


WORDS = st.sampled_from(
    [
        *("No: x", "Yes: x", "For: x", "Against: x", "B: x", "A: x", "Pro: x", "Bo: x", "FOR: x", "AGAINST: x"),
        *("**Note:** x", "**Cost:** x", "**No:** x", "**Yes**", "_No:_ x", "- For: x", "> **AGAINST:** x"),
        *("Moderator: x", "```\n**AGAINST:** x\n```", "    AGAINST: x", '"No": x', "Speaker B — x", "#### No\n\nx"),
        *("Cost: x", "1. B: x", "### No\n\nx", "- x\nB: y", "For\n---\n\nx", "Words.\nNo: x"),
    ]
)
PARAGRAPHS = st.lists(WORDS | st.sampled_from(["Words.", "More words: these."]), max_size=3)
OWN = {style: {label.strip().lstrip("#").strip() for label in labels} for style, labels in STYLES.items()}


def is_label(style: str, words: str) -> bool:
    """Whether words begin, to the letter, as a label of the document does, so that no reader could tell them apart."""
    return any(words.startswith(own) for own in OWN[style])


@given(st.sampled_from(sorted(STYLES)), st.lists(PARAGRAPHS, min_size=4, max_size=4), st.booleans())
def test_no_speech_changes_hands(style: str, inserted: list[list[str]], rounds: bool) -> None:
    """Whatever stands at the beginning of paragraphs, every speech keeps its speaker and its words, with a note where
    something looked like a label, or the document is refused."""
    kept = [[one for one in some if not is_label(style, one)] for some in inserted]
    speeches = [(side, [text, *some]) for (side, text), some in zip(SAID, kept, strict=True)]
    found, wrong = read(document(style, speeches, rounds))
    sided = [one for some in kept for one in some if one.startswith(("No:", "Yes:", "For:", "B:", "A:", "Pro:"))]

    assert wrong or [(one.side, one.text.strip()) for one in found.speeches] == [
        (side, "\n\n".join(some)) for side, some in speeches
    ]
    assert wrong or not sided or "looks like a speaker's label" in " ".join(found.notes)


@given(st.sampled_from(["plain", "plain letters", "plain roles"]), st.integers(0, 3), st.booleans(), st.booleans())
def test_a_plain_label_to_the_letter(style: str, at: int, other: bool, rounds: bool) -> None:
    """One paragraph more that begins with a plain label to the letter breaks the turns, and is refused or is told by
    the note that plain labels are all there is."""
    label = STYLES[style][other]
    speeches = [(side, [text, f"{label}x"] if n == at else [text]) for n, (side, text) in enumerate(SAID)]
    found, wrong = read(document(style, speeches, rounds))

    assert any("again" in one for one in wrong) or "plain labels alone" in " ".join(found.notes)


@pytest.mark.parametrize(("first", "later"), [("**Ann (for):** ", "**Ann:** "), ("### Ann (Pro)\n\n", "### Ann\n\n")])
def test_a_name_is_introduced_once(first: str, later: str) -> None:
    """A speaker who is named with a side at first is that speaker by the name alone from then on."""
    others = [label.replace("Ann", "Bo").replace("for", "against").replace("Pro", "Con") for label in (first, later)]
    said, _ = taken(f"# T\n\n{first}One.\n\n{others[0]}Two.\n\n{later}Three.\n\n{others[1]}Four.\n")

    assert said == SAID
