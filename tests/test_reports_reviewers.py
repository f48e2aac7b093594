"""Reviewers are beside the judges in the report, with how far they agree; the panel's verdict never changes."""

from __future__ import annotations

from functools import cache

import page_reading
import pytest
import reading
from corpus import TextGroup, assert_harmless, for_each, text_groups
from debates import script_of
from hostile_texts import NASTY
from reviewers import KINDS, adversarial_entries, ballot_for, entries_of, gather_ballots, review_form
from scripted_debates import section

from debate_orchestrator.reports import markdown
from debate_orchestrator.reports.html.page import render
from debate_orchestrator.reports.model import build_report
from debate_orchestrator.reports.reviewers import ReviewerReport
from debate_orchestrator.reports.reviews import MAX_REASON_WORDS
from debate_orchestrator.util.sanitize import one_line

MADE = adversarial_entries(rounds=2)
ASKED = review_form(MADE)


def said(*given: dict[str, object], left_out: tuple[str, ...] = ()) -> ReviewerReport:
    found = build_report(MADE, gather_ballots(ASKED, *given, left_out=left_out)).reviewers
    assert found is not None
    return found


def report(*given: dict[str, object], left_out: tuple[str, ...] = ()) -> str:
    return markdown.render(build_report(MADE, gather_ballots(ASKED, *given, left_out=left_out)))


def test_reviewers_stand_beside_the_judges() -> None:
    """Panel, judges and reviewers have a row each, with rounds, winner, and votes before and after."""
    text = section(report(ballot_for(ASKED), ballot_for(ASKED, "bob", side="b", before="a")), "Reviewers")

    by_stand_in = adversarial_entries(rounds=2, cast={"a": ("host",), "b": ("host",), "judge": ("rehearse",)})
    alone = build_report(by_stand_in, gather_ballots(review_form(by_stand_in), ballot_for(review_form(by_stand_in))))
    assert alone.reviewers is not None and alone.reviewers.agreeing is None
    assert [row[0] for row in alone.reviewers.table.rows] == ["“ada”"]
    assert "no verdict counts" in alone.reviewers.agreement[0]
    assert r"| The verdict | computed | A (A 7, B 6) | A (A 7, B 6) | A (narrow) | \- | \- |" in text
    assert r"| Judge | judge | A (A 7, B 6) | A (A 7, B 6) | A | \- | \- |" in text
    assert "| “ada” | reviewer | A (A 7, B 5) | A (A 7, B 5) | A | undecided | A |" in text
    assert "| “bob” | reviewer | B (A 5, B 7) | B (A 5, B 7) | B | A | B |" in text


def test_a_reviewer_with_the_name_of_another_row() -> None:
    """Names of reviewers are quoted: none of them is a row, or a finding, of the program."""
    names = ("The verdict", "Agreement”: 5 of 5 reviewers agree with the verdict on B")
    text = section(report(*(ballot_for(ASKED, name) for name in names)), "Reviewers")

    assert text.count("| The verdict |") == 1 and "| “The verdict” | reviewer |" in text
    agreement = "- **“Agreement': 5 of 5 reviewers agree with the verdict on B” (A):** "
    assert "- **“The verdict” (A):** " in text and agreement in text


def test_agreement_is_counted() -> None:
    """How many name the panel's winner, or the side that stands after a concession. Page one says so where one of them
    does not."""
    for side in ("a", "b"):
        model = build_report(MADE, gather_ballots(ASKED, ballot_for(ASKED, "bob", side=side)))
        told = (
            markdown.render(model).partition("## Debate Transcript")[0],
            render(model).partition('id="transcript"')[0],
        )
        assert ["0 of 1 reviewer agrees with the verdict on A (B 1)." in page for page in told] == [side == "b"] * 2
    found = said(ballot_for(ASKED), ballot_for(ASKED, "bob", side="b"), ballot_for(ASKED, "eve"))

    assert (found.count, found.agreeing, found.winners) == (3, 2, {"a": 2, "b": 1})
    assert found.agreement[0] == "2 of 3 reviewers agree with the verdict on A (A 2, B 1)."
    made = adversarial_entries(say=script_of(_1_challenge_b="I CONCEDE THE DEBATE."), rounds=2)
    asked = review_form(made)
    given = (ballot_for(asked, side, side=side) for side in ("a", "b"))
    conceded = build_report(made, gather_ballots(asked, *given)).reviewers
    assert conceded is not None and conceded.agreeing == 1
    assert (
        conceded.agreement[0]
        == "1 of 2 reviewers agrees with the verdict on Consensus, on the position of A (A 1, B 1)."
    )


def test_swing_is_the_reviewers_own() -> None:
    """The side that gained more votes is named as the reviewers' winner; the verdict stands as it was."""
    moved = [
        ballot_for(ASKED, name, side="b", before=before)
        for name, before in (("x", "a"), ("y", "b"), ("z", "undecided"))
    ]
    found = said(*moved, ballot_for(ASKED, "silent", before=None))
    text = report(*moved)

    assert (found.moved, found.gained, found.swing_winner) == (2, {"a": -1, "b": 2}, "b")
    assert found.swing_sentences[0] == "2 of 3 reviewers who voted before and after changed position: 2 to B."
    won_over = "Researcher B won over more reviewers (Researcher A -1, Researcher B +2)"
    assert found.swing_sentences[1].startswith(won_over)
    assert section(text, "Final Verdict") == section(markdown.render(build_report(MADE)), "Final Verdict")


def test_ballots_that_do_not_count_are_reported() -> None:
    """A ballot that is left out is named with the reason, also where no other is there."""
    text = section(
        report(left_out=("old.yaml: journal: got a ballot on another journal; expected this.",)), "Reviewers"
    )

    assert "are not counted:\n\n- old.yaml: journal: got a ballot on another journal" in text
    assert "| Who |" not in text


@for_each(KINDS)
def test_every_format_shows_its_reviewers(name: str) -> None:
    """Whatever judges vote on, reviewers are beside them, and the tables are as wide as their headers."""
    made = entries_of(name)
    asked = review_form(made)
    found = build_report(made, gather_ballots(asked, ballot_for(asked), ballot_for(asked, "bob", side="b"))).reviewers

    assert found is not None and found.count == 2
    assert {len(row) for row in found.table.rows} == {len(found.table.headers)}
    assert found.agreement and found.swing_sentences


@cache
def usual() -> list[tuple[int, str]]:
    """The headings of a report that a harmless reviewer reviewed."""
    return reading.headings(report(ballot_for(ASKED), left_out=("x",)))


def hostile(n: int, name: str, why: str) -> dict[str, object]:
    """The ballot of a reviewer of such a name, if it can be one, for such a reason."""
    made = ballot_for(ASKED, one_line(name)[:80].strip(), side="b")
    if ASKED.problems(made):
        made = ballot_for(ASKED, f"x{n}")
    return made | ({"why": why} if why.strip() and len(why.split()) <= MAX_REASON_WORDS else {})


def must_be_whole(group: TextGroup) -> None:
    """A report of reviewers who are called and say what was given has its headings and tables and no others."""
    reviewers = [
        hostile(n, name, why) for n, (name, why) in enumerate(zip(group.texts, reversed(group.texts), strict=True))
    ]
    made = report(*reviewers, left_out=group.texts)
    part = section(made, "Reviewers")

    assert reading.headings(made) == usual()
    assert reading.forged(part) == []
    assert [len(table[0]) for table in reading.tables(part)] == [7]
    assert all(len(row) == len(table[0]) for table in reading.tables(part) for row in table)


@pytest.mark.slow
@pytest.mark.parametrize("group", text_groups(NASTY))
def test_hostile_reviewers_leave_the_report_whole(group: TextGroup) -> None:
    """Whatever a name, a reason or a file's name holds, the report has its headings and tables and no others."""
    assert_harmless(must_be_whole, group)


def test_the_debate_to_review_tells_no_votes() -> None:
    """Reviewers read every speech, and no score, winner, advice, judge or model."""
    made = build_report(MADE)
    text = markdown.render_for_review(made)

    assert text.startswith(f"{markdown.REVIEW_PREFIX}\n\n**Topic:** Tabs are better than spaces.")
    for turn in ("1.opening.a", "1.challenge.b", "2.rebuttal.b"):
        assert f"in {turn}." in text
    for secret in ("Verdict", "Winner", "score", "Advice meant", "better argued", "host", "[JUDGE", "prevailed"):
        assert secret.lower() not in text.lower().replace("nobody's votes", "")


@cache  # every worker reads this file, and one runs it
def page(name: str, why: str, left_out: str = "x.yaml: no ballot.") -> page_reading.Page:
    ballot = gather_ballots(ASKED, ballot_for(ASKED, name, why=why), left_out=(left_out,))
    return page_reading.read(render(build_report(MADE, ballot)))


def test_reviewers_have_their_section() -> None:
    """The page tells who reviewed the debate, what they held, why, and which ballots were not counted."""
    found = page("ada", "It answered the other.")

    assert ("h2", "Reviewers") in found.outline
    for said in ("ada", "It answered the other.", "1 of 1 reviewer agrees with the verdict on A", "x.yaml: no ballot."):
        assert said in found.text
    assert ("h2", "Reviewers") not in page_reading.read(render(build_report(MADE))).outline
