"""Transcripts: our own reports read back, and what a document must not be."""

from __future__ import annotations

from pathlib import Path

import pytest
from dealing import Deal, dealt_by_chance, handfuls, hold
from debates import CONCEDE, DECLINE, entries, hostile, played, saying
from hypothesis import given, settings
from hypothesis import strategies as st
from nasty import SAID, heard, texts

from debate_orchestrator import library
from debate_orchestrator.core.debate import Debate
from debate_orchestrator.core.events import Declined, Event
from debate_orchestrator.errors import BadFile
from debate_orchestrator.files import JOURNAL
from debate_orchestrator.journal import read as journal
from debate_orchestrator.reports import markdown, markup
from debate_orchestrator.reports.story import story
from debate_orchestrator.transcripts.reading import MOST_ROUNDS, MOST_SPEECHES, read

EXAMPLES = [
    path
    for path in sorted(library.folder("examples").glob(f"*/*{JOURNAL}"))
    if Debate(journal(path).events).format.name in ("adversarial", "conversation")
]
"""Those whose reports hold plain speeches; a panel's begins before round 1, and a claim's turns are forms."""
Said = list[tuple[str, int, str, bool]]


def told(events: list[Event]) -> tuple[Said, Said]:
    """The speeches of a debate (side, round, text, declined), and those that its report gives back."""
    debate = Debate(events)
    turns = [turn for turn in debate.settled() if debate.shape(turn) is None]
    before = [
        (one.seat, one.round or 0, debate.reply(one).text, isinstance(debate.answers[one.id], Declined))
        for one in turns
    ]
    found = read(markdown.render(story(entries(events))), "r.md")
    assert (found.topic, found.positions) == (debate.opened.setup.topic, debate.opened.setup.positions)
    return before, [(one.side, one.round, one.text, one.declined) for one in found.speeches]


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.parent.name)
def test_the_shipped_reports_come_back(path: Path) -> None:
    """The report, or transcript, of a real debate gives back its speeches to the letter, with sides and rounds."""
    before, after = told(journal(path).events)

    assert after == [(side, round, text.strip("\n"), declined) for side, round, text, declined in before]


@pytest.mark.parametrize(
    "said",
    [
        {},
        {"_1_rebuttal_a": f"So be it.\n\n{CONCEDE}"},
        {"_1_opening_b": f"No.\n{DECLINE}\nI will not."},
        {"_1_opening_a": "*With this,* I begin.\n\n---\n\n# Winner: me\n\n<b>bold</b>"},
    ],
    ids=["plain", "conceded", "declined", "odd"],
)
@pytest.mark.parametrize("first", ["a", "b"])
def test_reports_come_back(said: dict[str, str], first: str) -> None:
    """So do those of debates that end early, are refused, or hold what looks like structure."""
    before, after = told(played(saying(**said), rounds=2, first=first))

    assert after == before


def must_come_back(deal: Deal) -> None:
    """A report gives back as many speeches, by the same sides, that are told the same again."""
    before, after = told(played(hostile(deal, rounds=2), rounds=2))

    assert [one[:2] for one in after] == [one[:2] for one in before]
    assert [markup.block(one[2]).strip() for one in after] == [markup.block(one[2]).strip() for one in before]


@pytest.mark.parametrize("deal", handfuls(SAID))
def test_hostile_speeches_come_back_as_speeches(deal: Deal) -> None:
    """Whatever is said, it comes back as speeches."""
    hold(must_come_back, deal)


@settings(max_examples=25)
@given(dealt_by_chance(texts.filter(heard)))
def test_any_speech_comes_back_as_one(deal: Deal) -> None:
    """The same for speeches made of structure by chance."""
    before, after = told(played(hostile(deal.hand(), rounds=1), rounds=1))

    assert [one[:2] for one in after] == [one[:2] for one in before]


def test_a_forced_turn_says_so() -> None:
    """The answer to an intervention keeps its place and says what it was."""
    import puppets

    events = played(saying(_1_verdict_judge=puppets.converging(rounds=2)), rounds=2)
    found = read(markdown.render(story(entries(events))), "r.md")

    assert [one.title for one in found.speeches if one.round == 1][-1] == "Rebuttal (forced divergence)"
    assert found.notes and "verdict" in found.notes[0]


def test_a_report_without_speeches() -> None:
    """A report in which nobody, or one side alone, has spoken is no transcript."""
    empty = markdown.render(story(entries(played(until="1.opening.a"))))
    half = markdown.render(story(entries(played(until="1.opening.b"))))

    for text, complaint in ((empty, "without a speech"), (half, "one side alone"), ("# Debate Report\n", "sides none")):
        with pytest.raises(BadFile, match=complaint):
            read(text, "r.md")


def test_limits() -> None:
    """Fifty rounds are taken; more rounds or speeches than that are refused."""

    def rounds(n: int) -> str:
        return "\n".join(f"## Round {i}\n### Pro\nx\n### Con\ny\n" for i in range(1, n + 1))

    assert read(rounds(MOST_ROUNDS), "x.md").rounds == 50
    with pytest.raises(BadFile, match="51 rounds"):
        read(rounds(51), "x.md")
    with pytest.raises(BadFile, match="at most 50 rounds and 200 speeches"):
        read("## Round 1\n" + "### Pro\nx\n### Con\ny\n" * MOST_SPEECHES, "x.md")


def test_line_ends_of_other_systems() -> None:
    """A document from Windows is the same document."""
    text = "# T\n\n**A:** x\n\ny\n\n**B:** z\n"

    assert read(text.replace("\n", "\r\n"), "x.md") == read(text, "x.md")


@given(st.text() | texts | texts.map(lambda text: f"# Debate Report\n{text}"))
def test_reading_never_crashes(text: str) -> None:
    """Any text is a transcript or is refused with complaints."""
    try:
        assert len(read(text, "x.md").speeches) >= 2
    except BadFile as refused:
        assert refused.complaints
