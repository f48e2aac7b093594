"""The page is whole, makes no request, and tells what the markdown report tells, in every format."""

from __future__ import annotations

import base64
import hashlib
import itertools
import re
from typing import Any

import page_reading
import pytest
from debates import CONCEDE, DECLINE, script_of
from debates import report_model as adversarial
from scripted_debates import FETCHED, check, checks, report_model
from scripted_replies import ballot, dissent, final

from debate_orchestrator.reports.html.page import render
from debate_orchestrator.reports.model import ReportModel
from debate_orchestrator.reports.parts import Note

FORMATS: dict[str, dict[str, Any]] = {
    "adversarial": {},
    "transcript": {},
    "conversation": {},
    "panel": {"panel": 3},
    "question": {"mirror": True, "blind": True},
    "question-blind": {},
    "question-consultancy": {},
    "question-open": {},
    "claim": {"each_round": True, "cast": FETCHED},
}


def of(name: str, **how: Any) -> ReportModel:
    return report_model(name, rounds=1 if name in ("question-blind", "question-open") else 2, **(FORMATS[name] | how))


def must_be_whole(page: str) -> page_reading.Page:
    """A page whose elements close, whose ids are there once, and all of whose links lead somewhere."""
    found = page_reading.read(page)
    assert found.odd == []
    assert len(set(found.ids)) == len(found.ids)
    assert {link[1:] for link in found.links if link.startswith("#")} <= set(found.ids)
    levels = [int(tag[1]) for tag, _ in found.outline]
    assert levels[0] == 1 and levels.count(1) == 1
    assert all(after <= before + 1 for before, after in itertools.pairwise(levels))
    labels = re.findall(r'aria-labelledby="([^"]*)"', page)
    assert {one for names in labels for one in names.split()} <= set(found.ids)
    return found


@pytest.mark.parametrize("name", FORMATS)
def test_every_format_has_its_page(name: str) -> None:
    """Every shipped format is reported, whole and paused at the first turn, on a page that holds together."""
    model = of(name)
    page = must_be_whole(render(model))

    assert [turn.id for turn in model.turns if f"t-{turn.id}" not in page.ids] == []
    must_be_whole(render(of(name, until="1.argument.a")))


@pytest.mark.parametrize("name", FORMATS)
def test_every_word_of_the_markdown_report_is_there(name: str) -> None:
    """Speeches, tags of turns, positions and how it was made are on the page."""
    model = of(name)
    text = " ".join(page_reading.read(render(model)).text.split())

    for one in (model.topic, *model.positions.values(), *model.provenance):
        assert one == "Complete." or one in text
    assert (
        model.transcript_only or page_reading.read(render(model)).text.count(model.topic) <= 3
    )  # motion, title and appendix
    for turn in model.turns:
        assert turn.kind == "record" or turn.id in text
        assert turn.text is None or turn.text.split("\n")[0] in text


def test_nothing_from_outside() -> None:
    """The policy lets in the page's own style, known by its digest, and nothing else."""
    page = render(adversarial(rounds=1))
    style = page.partition("<style>")[2].partition("</style>")[0]
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()

    assert f"content=\"default-src 'none'; style-src 'sha256-{digest}'; img-src data:; base-uri 'none'" in page
    assert "form-action 'none'\"" in page
    assert not re.search(r"<script|\sstyle=|\son\w+=|<link|@import|url\((?!#)|https?://(?!www\.w3\.org/2000/svg)", page)
    assert page.endswith("</html>\n")


def test_the_first_screen_comes_in_its_order() -> None:
    """What the debate is, its question, the answer, how firm, why, what is open, what to do and what was not checked
    are before everything else, in that order."""
    page = must_be_whole(render(adversarial(rounds=2)))
    head = page.text.partition("Each claim, what each side holds")[0]
    order = [
        *("Adversarial debate", "2 rounds", "1 judge", "Tabs are better than spaces.", "Indent with tabs."),
        *("Researcher A (Pro) argued better (narrow).", "A leads by 14.29%; at most 20 points each", "Why"),
        *("It came down to one point.", "Still in dispute", "C1 Unresolved: It is cheaper.", "Do next"),
        *("Measure the cost.", "Not checked", "No source that the debaters cite", "Researcher B (Con)"),
    ]
    text = " ".join(head.partition("Appendix")[2].split())
    places = [text.find(part) for part in order]

    assert [part for part, place in zip(order, places, strict=True) if place < 0] == []
    assert places == sorted(places)
    assert [name for _, name in page.outline][:2] == ["Tabs are better than spaces.", "Decision"]


def test_claims_and_turns_are_linked_both_ways() -> None:
    """A disputed claim has an id and leads to the turns where it was made, challenged and answered, with its outcome;
    those turns lead back to it."""
    turns = ["1.opening.b", "1.challenge.a", "1.rebuttal.b", "2.constructive.a"]
    page = render(adversarial(script_of(_final_dissent_judge=dissent(turns)), rounds=2))
    claim = page.partition('<li id="C1">')[2].partition("</li>")[0]
    path = " ".join(page_reading.read(claim.partition('<p class="path">')[2].partition("</p>")[0]).text.split())

    assert path == (
        "Made in round 1: opening B; round 2: constructive A, challenged in round 1: challenge A, "
        "answered in round 1: rebuttal B, in the end unresolved."
    )
    assert re.findall(r'href="#(t-[^"]*)"', claim) == [f"t-{n}" for n in (turns[0], turns[3], turns[1], turns[2])]
    assert all('href="#C1"' in article(page, turn) for turn in turns)
    assert 'href="#C1"' not in article(page, "2.rebuttal.a")


def test_what_happened_is_reported_where_it_happened() -> None:
    """A refusal, a concession, an intervention and questions from the floor are at their turns."""
    converged = ballot(7, 6, rounds=2) | {"convergence": {"detected": True, "criteria": ["same claim"], "side": "b"}}
    refused = render(adversarial(script_of(_1_opening_a=DECLINE), rounds=1))
    conceded = render(adversarial(script_of(_1_rebuttal_b=f"You are right.\n\n{CONCEDE}"), rounds=2))
    forced = render(adversarial(script_of(_1_verdict_judge=converged), rounds=2))

    assert "</strong> Researcher A declined to argue. To decline is not to concede." in article(refused, "1.opening.a")
    assert "With this, Researcher B conceded the debate." in article(conceded, "1.rebuttal.b")
    assert forced.index("[ANTI-CONVERGENCE INTERVENTION - ROUND 1]</strong>") < forced.index('id="t-1.divergence.b"')


def article(page: str, turn: str) -> str:
    return page.partition(f'id="t-{turn}"')[2].partition("</article>")[0]


def test_nothing_is_cut_without_a_way_to_open_it() -> None:
    """A long reason is on the first screen by its beginning, with how many words follow, and opens to all of it."""
    long = "It came down to one point, in the end. " * 50
    first, short = (
        render(adversarial(script_of(_final_verdict_judge=final(justification=text)), rounds=1)).partition(
            'id="dissent"'
        )[0]
        for text in (long, "The lead is thin.")
    )
    folded = first.partition('<details class="fold">')[2].partition("</details>")[0]

    assert "404 more words" in folded.partition("</summary>")[0]
    assert folded.count("It came down to one point, in the end.") == 5 + 50
    assert "The lead is thin." in short and "more words" not in short
    speech = article(render(adversarial(script_of(_1_opening_a=long), rounds=1)), "1.opening.a")
    assert speech.partition("</summary>")[2].count("in the end.") == 50


def test_a_folded_turn_tells_the_programs_words_from_a_sides() -> None:
    """What the program says of a turn has a mark, and the same words in a speech, or in a judge's reason, have none."""
    declined = render(adversarial(script_of(_1_opening_a=DECLINE, _1_opening_b="Declined to argue."), rounds=1))
    voted = render(adversarial(script_of(_final_verdict_judge=final(justification="Winner: B")), rounds=1))
    places = ((declined, "1.opening.a"), (declined, "1.opening.b"), (voted, "final.verdict.judge"))
    lines = [
        article(page, turn).partition("<summary>")[2].partition(' <span class="more-hint">')[0] for page, turn in places
    ]

    assert lines[:2] == [
        '<span class="line"><span class="by">Declined to argue.</span></span>',
        '<span class="line">Declined to argue.</span>',
    ]
    assert re.fullmatch(r'<span class="line"><span class="by">[^<]+</span> Winner: B</span>', lines[2])


@pytest.mark.parametrize("name", ["adversarial", "conversation"])
def test_a_note_is_shown_as_it_is(name: str) -> None:
    """A name in a note of the program's links nowhere and has no emphasis."""
    text = "Who spoke in it: “Ann [so](https://e.example/x) **Verified**”."
    report = of(name).model_copy(update={"notes": (Note(kind="cast", text=text, severity="warning"),)})
    page = render(report)
    assert page.count(text) == (2 if name == "adversarial" else 1)
    assert "e.example/x<" not in page and 'href="https://e.example' not in page


def test_the_evidence_and_the_appendix() -> None:
    """What was cited is reported with what was found; the appendix has the cast, the prompts and the journal's hash."""
    rows = checks(check("1.argument.a"), check("1.argument.b", "not found"))
    page = must_be_whole(render(report_model("claim", {"1.check.clerk": rows}, cast=FETCHED)))

    assert "not found" in page.text and "Verified: 1 of 2" in page.text
    assert "0" * 64 in page.text
    assert "debate replay X.journal.jsonl" in page.text
    assert "formats/adversarial/opening.md.j2" in page_reading.read(render(adversarial(rounds=1))).text
