"""The page is whole, asks nobody for anything, and tells what the markdown report tells, in every format."""

from __future__ import annotations

import base64
import hashlib
import itertools
import re
from typing import Any

import page_reading
import pytest
from debates import CONCEDE, DECLINE, entries, played, saying
from debates import told as adversarial
from puppets import ballot, final
from tellings import FETCHED, check, checks, label, rules, told

from debate_orchestrator.core.events import Opened
from debate_orchestrator.reports.html.page import render
from debate_orchestrator.reports.model import ReportModel, build_report

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
    return told(name, rounds=1 if name in ("question-blind", "question-open") else 2, **(FORMATS[name] | how))


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
    """Every shipped format is told, whole and paused at the first turn, on a page that holds together."""
    story = of(name)
    page = must_be_whole(render(story))

    assert [turn.id for turn in story.turns if f"t-{turn.id}" not in page.ids] == []
    must_be_whole(render(of(name, until="1.argument.a")))


@pytest.mark.parametrize("name", FORMATS)
def test_every_word_of_the_markdown_report_is_there(name: str) -> None:
    """Speeches, tags of turns, positions and how it was made are on the page."""
    story = of(name)
    text = " ".join(page_reading.read(render(story)).text.split())

    for one in (story.topic, *story.positions.values(), *story.provenance):
        assert one == "Complete." or one in text
    for turn in story.turns:
        assert turn.kind == "record" or turn.tag in text
        assert turn.text is None or turn.text.split("\n")[0] in text


def test_nothing_from_outside() -> None:
    """The policy lets in the page's own style, known by its digest, and nothing else; there is no script and no style
    on any element."""
    page = render(adversarial(rounds=1))
    style = page.partition("<style>")[2].partition("</style>")[0]
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()

    assert f"content=\"default-src 'none'; style-src 'sha256-{digest}'; img-src data:; base-uri 'none'" in page
    assert "form-action 'none'\"" in page
    assert not re.search(r"<script|\sstyle=|\son\w+=|<link|@import|url\((?!#)|https?://(?!www\.w3\.org/2000/svg)", page)
    assert page.endswith("</html>\n")


def test_the_verdict_is_at_the_top() -> None:
    """Who prevailed, how firmly and by what score stands before everything else, with the judge's own words."""
    page = must_be_whole(render(adversarial(rounds=2)))
    head = page.text.partition("Every claim that was disputed")[0]

    assert [name for _, name in page.outline][1:4] == ["Verdict", "Dissent record", "Open questions"]
    for said in (
        "Researcher A prevailed",
        "narrow",
        "Researcher A: 14 | Researcher B: 12",
        "It came down to one point.",
    ):
        assert said in head


def test_rows_of_the_dissent_record_lead_to_their_turns() -> None:
    """A disputed claim is linked to the turns where it was made and contested."""
    page = render(adversarial(rounds=1))
    row = page.partition('class="where"')[2].partition("</td>")[0]

    assert re.findall(r'href="#([^"]*)"', row) == ["t-1.opening.a", "t-1.opening.b"]


def test_numbers_lead_to_their_ballots() -> None:
    """Each score of a round leads to the ballot that it comes from, and each vote of a panel to its own."""
    page = render(adversarial(rounds=2, judges=2))

    assert '<a href="#t-2.verdict.judge-1">7</a>' in page
    assert '<a href="#t-2.verdict.judge-2">A (A 7, B 6)</a>' in page
    assert '<a href="#t-final.verdict.judge-2">A</a>' in page


def test_what_happened_is_told_where_it_happened() -> None:
    """A refusal, a concession, an intervention and questions from the floor stand at their turns."""
    converged = ballot(7, 6, rounds=2) | {"convergence": {"detected": True, "criteria": ["same claim"], "side": "b"}}
    refused = render(adversarial(saying(_1_opening_a=DECLINE), rounds=1))
    conceded = render(adversarial(saying(_1_rebuttal_b=f"You are right.\n\n{CONCEDE}"), rounds=2))
    forced = render(adversarial(saying(_1_verdict_judge=converged), rounds=2))

    assert "</strong> Researcher A declined to argue. A refusal is no concession." in article(refused, "1.opening.a")
    assert "With this, Researcher B conceded the debate." in article(conceded, "1.rebuttal.b")
    assert forced.index("[ANTI-CONVERGENCE INTERVENTION - ROUND 1]</strong>") < forced.index('id="t-1.divergence.b"')


def article(page: str, turn: str) -> str:
    return page.partition(f'id="t-{turn}"')[2].partition("</article>")[0]


def test_questions_from_the_floor_stand_before_the_speech() -> None:
    """What a speaker was asked before a turn is told with it."""
    story = adversarial(rounds=1)
    first = story.rounds[0].speeches[0].model_copy(update={"floor": ("And the <cost>?",)})
    round = story.rounds[0].model_copy(update={"speeches": (first, *story.rounds[0].speeches[1:])})
    found = article(render(story.model_copy(update={"rounds": (round,)})), "1.opening.a")

    assert found.index("From the floor:") < found.index("And the &lt;cost&gt;?") < found.index("This is what a says")


def test_verdicts_of_every_kind() -> None:
    """A tie, a label, an answer and no decision are told as what they are."""
    pages = {
        "Researcher A prevailed narrowly": adversarial(rounds=1),
        "Neither side prevailed": adversarial(saying(_final_verdict_judge=final("tie")), rounds=1),
        "The verdict: misleading": told("claim", {"final.verdict.judge": label("misleading", 4)}),
        "Debater A's answer was chosen": told("question", {"final.verdict.judge": {"winner": "a"}}, mirror=False),
        "Nothing was decided": told("question", {"final.verdict.judge.mirrored": {"winner": "a"}}, mirror=True),
    }
    for said, story in pages.items():
        head = render(story).partition('class="decided">')[2].partition("</p>")[0]
        assert said in " ".join(page_reading.read(head).text.split())


def test_reasons_end_with_a_sentence() -> None:
    """The judge's reasons stand at the head of the page; where they are cut, a sentence ends."""
    long = "It came down to one point, in the end. " * 50
    short, cut = (
        render(adversarial(saying(_final_verdict_judge=final(justification=said)), rounds=1))
        .partition('<figure class="why">')[2]
        .partition("</figure>")[0]
        for said in (f"{long[:1500]} The lead is thin.", long)
    )

    assert "The lead is thin.</p>" in short and "more word" not in short
    assert "in the end.</p>" in cut
    assert '; 81 more words follow in the <a href="#t-final.verdict.judge">final ballot</a>' in cut


def test_what_to_do_next_ends_the_verdict() -> None:
    """The first two sentences of what is recommended stand in the verdict, with the number of open questions."""
    ballot = final(follow_up="Run both. Count the cost. Then write it down.", unresolved_questions=["Who?", "<When>?"])
    page = render(adversarial(saying(_final_verdict_judge=ballot), rounds=1))
    said = page.partition('<p class="next">')[2].partition("</p>")[0]

    assert "</strong> Run both. Count the cost. <span" in said
    assert (
        '<a href="#h-follow-up">Read on, 4 more words</a> · <a href="#h-questions">2 unresolved questions</a>' in said
    )
    assert page.index('<p class="next">') < page.index('id="dissent"')
    assert 'class="next"' not in render(told("question", mirror=False))


def test_the_ledger_and_the_appendix() -> None:
    """What was cited is told with what was found; the appendix has the cast, the prompts and the journal's hash."""
    rows = checks(check("1.argument.a"), check("1.argument.b", "not found"))
    page = must_be_whole(render(told("claim", {"1.check.clerk": rows}, cast=FETCHED)))

    assert "not found" in page.text and "Verified: 1 of 2" in page.text
    assert "0" * 64 in page.text
    assert "debate replay X.journal.jsonl" in page.text
    assert "formats/adversarial/opening.md.j2" in page_reading.read(render(adversarial(rounds=1))).text


def test_seats_of_a_format_of_ones_own() -> None:
    """Seats are named as their format names them, whatever those names hold."""
    seats = rules("panel").model_dump()["seats"]
    seats["a"]["name"] = "Speaker & One"

    assert "Speaker &amp; One" in render(told(rules("panel", seats=seats)))


def test_what_opened_a_debate_can_say_no_more_than_that() -> None:
    """A version and names of templates that are a stranger's reach the page as one line of plain text."""
    first, *rest = played(rounds=1)
    assert isinstance(first, Opened)
    odd = "1\x1b[2J\u202e\n<b>"
    made = first.model_copy(update={"version": odd, "prompts": {odd: odd}})
    text = render(build_report(entries([made, *rest])))

    assert not set("\x1b\u202e") & set(text)
    assert "<b>" not in text
