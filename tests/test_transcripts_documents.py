"""Documents of many shapes: whose speeches are in them, and what is refused."""

from __future__ import annotations

import pytest
from dealing import for_each
from hypothesis import given
from hypothesis import strategies as st
from nasty import HUGE, NASTY, texts

from debate_orchestrator.transcripts.documents import Document
from debate_orchestrator.transcripts.speeches import Transcript


def made(text: str) -> Transcript:
    """What a document without faults holds."""
    found, wrong = Document(text, "x.md").read()
    assert wrong == []
    return found


def said(text: str) -> list[tuple[str, int, str]]:
    return [(one.side, one.round, one.text) for one in made(text).speeches]


FOUR = [("a", 1, "One."), ("b", 1, "Two."), ("a", 2, "Three."), ("b", 2, "Four.")]
HEADINGS = (
    "# T\n\n## Round 1\n\n### {a}\n\nOne.\n\n### {b}\n\nTwo.\n\n---\n\n"
    "## Round 2\n\n### {a}\n\nThree.\n\n### {b}\n\nFour.\n"
)
LABELS = "# T\n\n## Round 1\n\n{a} One.\n\n{b} Two.\n\n## Round 2\n\n{a} Three.\n\n{b} Four.\n"
BARE = "# T\n\n{a} One.\n\n{b} Two.\n\n{a} Three.\n\n{b} Four.\n"


@pytest.mark.parametrize(
    ("a", "b"),
    [
        ("FOR", "AGAINST"),
        ("Pro", "Con"),
        ("A", "B"),
        ("Speaker A", "Speaker B"),
        ("Claude (Pro)", "GPT-4o (Con)"),
        ("Opening Statement — Claude (For)", "Response — GPT-4o (Against)"),
        ("Claude", "GPT-4o"),
        ("**Claude:**", "**GPT-4o:**"),
    ],
)
def test_speakers_in_headings(a: str, b: str) -> None:
    """Sides and names in headings below the rounds name the speakers."""
    assert said(HEADINGS.format(a=a, b=b)) == FOUR


@pytest.mark.parametrize("document", [LABELS, BARE], ids=["rounds", "no rounds"])
@pytest.mark.parametrize(
    ("a", "b"),
    [
        ("**FOR:**", "**AGAINST:**"),
        ("**Pro**:", "**Con**:"),
        ("FOR:", "AGAINST:"),
        ("A:", "B:"),
        ("**Claude (Pro):**", "**GPT-4o (Con):**"),
        ("**Claude:**", "**GPT-4o:**"),
        ("__Claude:__", "__GPT-4o:__"),
        ("**FOR**\n\n\n", "**AGAINST**\n\n\n"),
    ],
)
def test_speakers_where_paragraphs_begin(document: str, a: str, b: str) -> None:
    """So do names at the beginning of paragraphs, with rounds and without."""
    found = said(document.format(a=a, b=b))
    assert [(side, round, text.strip()) for side, round, text in found] == FOUR


def test_names_that_the_head_gives_a_side() -> None:
    """A participant's side is taken from the list of participants; names are kept for the report."""
    head = "# T\n\n- **AGAINST:** Claude\n- **FOR:** GPT-4o\n\n"
    found = made(head + HEADINGS.format(a="Claude", b="GPT-4o").partition("\n\n")[2])

    assert [speech.side for speech in found.speeches] == ["b", "a", "b", "a"]
    assert found.speakers == {"a": "GPT-4o", "b": "Claude"}
    assert found.notes == ()


def test_names_without_a_side_are_noted() -> None:
    """Where nobody says who is for it, whoever speaks first is, and a note says so."""
    found = made(BARE.format(a="**Alice:**", b="**Bob:**"))

    assert found.speakers == {"a": "Alice", "b": "Bob"}
    assert found.notes == ("'Alice' is taken to argue for (side A), 'Bob' against (side B).",)


def test_one_known_side_tells_the_other() -> None:
    """Where one of two speakers has a side, the other has the other."""
    document = BARE.format(a="**Alice:**", b="**Bob (Pro):**")

    assert [side for side, _, _ in said(document)] == ["b", "a", "b", "a"]


def test_speeches_are_verbatim() -> None:
    """Paragraphs, lists, code, tables and deeper headings of a speech stay as they are written."""
    speech = (
        "Words.\n\n#### Evidence\n\n- a\n- b\n\n```\n## Round 9\n### Con\n```\n\n| a |\n|---|\n\n    code\n\n> ### Con"
    )
    found = said(f"## Round 1\n\n### Pro\n\n{speech}\n\n### Con\n\nx\n")

    assert found == [("a", 1, speech), ("b", 1, "x")]


def test_a_line_of_dashes_below_a_paragraph() -> None:
    """A paragraph with a line of dashes below is no heading, unless it names a round or a speaker."""
    found = said("Debate on cats\n===\n\nRound 1\n---\n\n**Pro:** One.\n---\n\n**Con:** Two\n---\nthree.\n")

    assert found == [("a", 1, "One."), ("b", 1, "Two\n---\nthree.")]
    assert made("Debate on cats\n===\n\n**Pro:** x\n\n**Con:** y").topic == "cats"


def test_unequal_and_repeated_speeches_are_kept() -> None:
    """A side may speak twice in a row, or once more than the other."""
    document = "## Round 1\n\n### Pro\n\n1\n\n### Pro\n\n2\n\n### Con\n\n3\n\n## Round 2\n\n### Pro\n\n4\n"

    assert said(document) == [("a", 1, "1"), ("a", 1, "2"), ("b", 1, "3"), ("a", 2, "4")]


def test_sections_are_titles() -> None:
    """Headings such as Opening Statements group speeches, and say what they are."""
    document = (
        "# T\n\n## Opening Statements\n\n### Pro\n\n1\n\n### Con\n\n2\n\n## Closing\n\n### Con\n\n3\n\n### Pro\n\n4\n"
    )
    found = made(document).speeches

    assert [(one.round, one.title) for one in found] == [
        (1, "Opening Statements"),
        (1, "Opening Statements"),
        (2, "Closing"),
        (2, "Closing"),
    ]


@pytest.mark.parametrize(
    ("document", "topic"),
    [
        ("# Cats are better\n\n**A:** x\n\n**B:** y", "Cats are better"),
        ("# Debate: Cats?\n\n**A:** x\n\n**B:** y", "Cats?"),
        ("# Debate\n\n**Motion:** Cats!\n\n**A:** x\n\n**B:** y", "Cats!"),
        ("Topic: Cats.\n\nA: x\n\nB: y\n\nA: z\n\nB: w", "Cats."),
        ("# Debate Transcript\n\n**A:** x\n\n**B:** y", None),
        ("## Round 1\n\n**A:** x\n\n**B:** y", None),
        ("**A:** x\n\n**B:** y", None),
    ],
)
def test_what_it_is_about(document: str, topic: str | None) -> None:
    """The topic is what its line says, or the title; a title that says nothing is none."""
    assert made(document).topic == topic


@pytest.mark.parametrize(
    ("document", "complaint"),
    [
        ("", "no speaker that is named"),
        ("Just text.", "no speaker that is named"),
        ("**FOR:** alone", "these speakers: 'FOR' (1)"),
        ("**A:** x\n\n**B:** y\n\n**Moderator:** z", "'Moderator' (1)"),
        ("**Ann:** x\n\n**Bob:** y\n\n**Cy:** z", "'Ann' (1), 'Bob' (1), 'Cy' (1)"),
        (HEADINGS.format(a="Ann", b="Bob") + "\n### Cy\n\nz", "'Cy' (1)"),
        (HEADINGS.format(a="Pro", b="Con") + "\n## Verdict\n\nPro won.", "the heading 'Verdict' amid the rounds"),
        (HEADINGS.format(a="Pro", b="Con").replace("Round 2", "Round 4"), "round 4 after round 1"),
        ("## Round 1\n\nHello all.\n\n### Pro\n\nx\n\n### Con\n\ny", "text under 'Round 1'"),
        ("### Pro\n\nx\n\n### Con\n\n### Pro\n\nz", "'Con' without a word"),
        ("### Pro\n\nx\n\n### Con\n\n```\ny\n\n### Pro\n\nz", "a code block that is never closed"),
        ("### Ann (Pro)\n\nx\n\n### Bob (Pro)\n\ny", "speaker"),
    ],
)
def test_what_can_not_be_told_is_refused(document: str, complaint: str) -> None:
    """Nothing is guessed and nothing dropped: the complaint says what was found, and where."""
    _, wrong = Document(document, "x.md").read()

    assert complaint in " ".join(wrong)
    assert all(one.startswith("x.md") and "; expected " in one for one in wrong)


@for_each(NASTY)
def test_hostile_text_stays_text(text: str) -> None:
    """Whatever a speech in a quotation holds, it is that speech and nobody else's."""
    quoted = "\n".join(f"> {line}" for line in text.replace("\r\n", "\n").replace("\r", "\n").split("\n"))
    found = said(f"## Round 1\n\n### Pro\n\nHe said:\n\n{quoted}\n\nx\n\n### Con\n\ny\n")

    assert found == [("a", 1, f"He said:\n\n{quoted}\n\nx"), ("b", 1, "y")]


LINES = st.sampled_from(
    ["# T", "## Round 1", "### Pro", "### Con", "**A:** x", "**B:** y", "Moderator: z", "", "---", "text", "```", "> q"]
)


@given(st.lists(LINES | texts, max_size=16).map("\n".join) | st.text())
def test_parsing_never_fails(text: str) -> None:
    """Any text is speeches of two sides or complaints."""
    found, wrong = Document(text, "x.md").read()

    assert wrong or {one.side for one in found.speeches} == {"a", "b"}
    assert wrong or all(one.text.strip() for one in found.speeches)


@given(st.lists(LINES, max_size=24))
def test_nothing_is_dropped(lines: list[str]) -> None:
    """Every line of text after the first speech began is in a speech, in a document that is taken."""
    numbered = [f"word{n:02}" if line == "text" else line for n, line in enumerate(lines)]
    found, wrong = Document("\n".join(numbered), "x.md").read()
    spoken = " ".join(one.text for one in found.speeches)
    lost = [line for line in numbered if line.startswith("word") and line not in spoken]
    kept = [line for line in numbered if line.startswith("word") and line in spoken]

    assert wrong or not kept or all(line < min(kept) for line in lost)


@for_each(HUGE)
def test_large_documents_are_read(name: str) -> None:
    """Text made to be slow is read all the same."""
    Document(f"**A:** x\n\n**B:** {HUGE[name][:30_000]}", "x.md").read()
