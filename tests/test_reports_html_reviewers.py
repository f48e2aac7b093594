"""Reviewers on the page: beside the judges, and with words that stay words."""

from __future__ import annotations

import page_reading
from hypothesis import given, settings
from nasty import alike
from reviewers import debated, filled, gathered, paper

from debate_orchestrator.reports.html.page import render
from debate_orchestrator.reports.model import build_report

MADE = debated(rounds=1)
ASKED = paper(MADE)


def page(name: str, why: str, left_out: str = "x.yaml: no ballot.") -> page_reading.Page:
    ballot = gathered(ASKED, filled(ASKED, name, why=why), left_out=(left_out,))
    return page_reading.read(render(build_report(MADE, ballot)))


def test_reviewers_have_their_section() -> None:
    """The page tells who reviewed the debate, what they held, why, and which ballots were not counted."""
    found = page("ada", "It answered the other.")

    assert ("h2", "Reviewers") in found.outline
    for said in ("ada", "It answered the other.", "1 of 1 reviewer agrees with the panel on A", "x.yaml: no ballot."):
        assert said in found.text
    assert ("h2", "Reviewers") not in page_reading.read(render(build_report(MADE))).outline


PLAIN = page("ada", "so")


@settings(max_examples=25)
@given(alike("ada"), alike("so"))
def test_words_of_reviewers_build_nothing(name: str, why: str) -> None:
    """Whatever a reviewer is called and says, the page has the headings, addresses and landmarks that it has else."""
    ballot = gathered(ASKED, filled(ASKED), left_out=(why,))
    counted = ballot.counted[0].model_copy(update={"reviewer": name, "why": why})
    found = page_reading.read(render(build_report(MADE, ballot.model_copy(update={"counted": (counted,)}))))

    assert (found.outline, found.ids, found.landmarks) == (PLAIN.outline, PLAIN.ids, PLAIN.landmarks)
