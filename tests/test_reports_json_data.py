"""The report as JSON holds all that there is to tell, in the published form, whatever the debate and what was said."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
import reviewers
import test_reports_markdown_hostile_formats as hostile_formats
from dealing import Deal, deals, dealt_by_chance, hold
from debates import DECLINE, hostile, saying, told
from hypothesis import given, settings
from jsonschema import Draft202012Validator
from nasty import SAID, heard, texts
from shapes import SHAPES, again
from tellings import FETCHED, check, checks, evidence
from tellings import told as any_told

from debate_orchestrator import __version__
from debate_orchestrator.reports import forms
from debate_orchestrator.reports.json import facts
from debate_orchestrator.reports.json.data import render, report
from debate_orchestrator.reports.model import ReportModel, build_report, closing_line

SCHEMA = Draft202012Validator(facts.schema())


def read(story: ReportModel) -> dict[str, Any]:
    """The report of a story as a program reads it, which must be in the published form."""
    made = json.loads(render(story))
    assert [error.message for error in SCHEMA.iter_errors(made)] == []
    assert isinstance(made, dict)
    return made


@pytest.mark.parametrize("shape", SHAPES)
def test_every_shape_has_the_published_form(shape: str) -> None:
    """Whole, paused, mirrored, judged again or rehearsed, in any format: it validates, sealed or not, and says what
    the story says."""
    one = SHAPES[shape]()
    made, sealed = read(one), json.loads(forms.rendered(one, ".json"))

    assert SCHEMA.is_valid(sealed)
    assert sealed | {"digest": ""} == made | {"digest": ""}
    assert (made["status"], made["topic"], made["positions"]) == (one.status, one.topic, one.positions)
    assert (made["provenance"], made["summary"]) == (list(one.provenance), closing_line(one, None))
    assert (made["journal"]["head"], made["journal"]["lines"]) == (one.digest, one.lines)
    assert {turn.id for turn in one.every} <= {turn["id"] for turn in made["turns"]}
    assert made["run"]["cast"] == {seat: list(who) for seat, who in one.run.cast.items()}
    assert (made["conceded"], made["judging"]["kin"]) == (one.conceded, list(one.judging.kin))
    assert made["verdict"] is None if one.verdict is None else made["verdict"]["remarks"] == list(one.verdict.remarks)
    assert facts.Report.model_validate(made) == report(one)


def test_it_is_pretty_plain_and_ended() -> None:
    """It is indented, one value a line, in printable ASCII, and ends with a newline."""
    text = render(told(hostile("\x1b[2J\x85\u2028\u202e \U0001f600 é \x7f"), rounds=1))

    assert text.endswith("\n}\n")
    assert text.startswith('{\n  "schema": 1,\n  "document": "debate report",\n  "status": "complete",\n')
    assert text.isascii() and text.replace("\n", "").isprintable()
    assert "\\u001b[2J" in text


def test_the_beginning_of_what_is_told() -> None:
    """Who debated what, how and when stands at its head."""
    made = read(told(rounds=2))

    assert made["names"] == {"a": "Researcher A (Pro)", "b": "Researcher B (Con)"}
    assert made["seats"] == {"a": "Researcher A", "b": "Researcher B", "judge": "Judge"}
    assert (made["rounds_asked"], made["rounds_completed"], made["strictness"]) == (2, 2, "strict")
    assert (made["date"], made["as_of"], made["version"]) == ("2026-02-03", None, __version__)
    assert made["run"]["kind"] == "host" and made["run"]["cast"]["judge"] == ["host"]
    assert made["format"]["name"] == "adversarial"
    assert list(made["format"]["criteria"]) == ["argument_quality", "use_of_evidence", "directness_of_rebuttals"]


def test_the_transcript() -> None:
    """Every turn stands in the order of the debate with who took it, where, and what others heard."""
    made = read(told(saying(_1_opening_b=DECLINE), rounds=1))
    turns = {turn["id"]: turn for turn in made["turns"]}

    assert list(turns) == [
        "1.opening.a",
        "1.opening.b",
        "1.verdict.judge",
        "final.verdict.judge",
        "final.dissent.judge",
    ]
    assert [turn["kind"] for turn in made["turns"]] == ["speech", "speech", "ballot", "ballot", "record"]
    first, refusal, last = turns["1.opening.a"], turns["1.opening.b"], turns["final.verdict.judge"]
    assert (first["seat"], first["round"], first["phase"]) == ("a", 1, "opening")
    assert first["words"] == len(first["text"].split()) and not first["declined"]
    assert refusal["declined"] and not refusal["concedes"]
    assert (last["round"], last["phase"], last["text"], last["fields"]) == (None, "verdict", None, None)


def test_what_the_floor_asked_is_told() -> None:
    """Questions that a speaker had been put stand beside the turn that heard them."""
    one = told(rounds=1)
    spoke = one.told[0].speeches[0].model_copy(update={"floor": ("And in winter?",)})
    round = one.told[0].model_copy(update={"speeches": (spoke, *one.told[0].speeches[1:])})
    made = read(one.model_copy(update={"told": (round,)}))

    assert [turn["floor"] for turn in made["turns"]][:2] == [["And in winter?"], []]


def test_the_end_of_what_is_told() -> None:
    """Dissent with its turns, open questions and what to do next are there, and null or empty before they are."""
    made, paused = read(told(rounds=2)), read(SHAPES["paused"]())

    assert [row["claim"] for row in made["dissent"]] == ["It is cheaper."]
    assert made["dissent"][0]["positions"] == {"a": "It is.", "b": "It is not."}
    assert made["dissent"][0]["turns"][0] == "1.opening.a" and made["dissent"][0]["status"] == "unresolved"
    assert made["unresolved_questions"] == ["What does it cost in year two?", "Who maintains it?"]
    assert [one["judge"] for one in made["follow_up"]] == ["judge"] and made["follow_up"][0]["text"]
    assert (paused["dissent"], paused["unresolved_questions"], paused["follow_up"]) == (None, [], [])


def test_what_was_cited() -> None:
    """A claim's citations have what a clerk found and what judges think; what was not found is null."""
    made = read(SHAPES["claim looked up"]())["evidence"]

    assert made["looked_up_by"] == "pages were fetched by the engine"
    (one,) = made["citations"]
    assert (one["turn"], one["state"], one["title"], one["similarity"]) == ("1.argument.a", "verified", "So", 0.875)
    assert (one["date"], one["late"], one["passage"], one["sha256"]) == ("2026-01", True, None, None)
    assert one["weighed"] == [{"judge": "judge", "credibility": "low", "why": "x"}]
    assert read(told(rounds=1))["evidence"] is None


def test_what_was_kept_of_a_page_is_named() -> None:
    """The file that keeps a page, and its hash, stand with the page."""
    row = check("1.argument.a", archived="so.html", digest="1" * 64)
    one = any_told("claim", {"1.argument.a": evidence(), "1.check.clerk": checks(row)}, cast=FETCHED)
    first = read(one)["evidence"]["citations"][0]

    assert (first["archived"], first["sha256"]) == ("so.html", "1" * 64)


def test_a_structured_speech_has_fields() -> None:
    """Where sides speak in fields, those are told, and what a clerk found is a finding."""
    turns = {turn["id"]: turn for turn in read(SHAPES["claim looked up"]())["turns"]}

    assert turns["1.argument.a"]["kind"] == "speech" and turns["1.argument.a"]["fields"]["quote"] == "It is so."
    assert turns["1.check.clerk"]["kind"] == "finding" and turns["1.check.clerk"]["fields"]["checks"]


def test_rehearsed_and_judged_again_say_so() -> None:
    """A rehearsal is one by kind and by flag; a second judging names the debate it judges."""
    rehearsed, judged = read(SHAPES["rehearsed"]()), read(again())

    assert (rehearsed["run"]["kind"], rehearsed["run"]["rehearsed"]) == ("rehearsed", True)
    assert judged["recorded"]["source"] == "old.journal.jsonl" and judged["verdict"]["winner"] == "b"
    assert judged["recorded"]["speakers"] == {"a": "host", "b": "host"}


def test_what_weakens_a_record_is_told() -> None:
    """Of a debate that is judged again, what weakens its record stands with it."""
    one = again()
    assert one.course is not None
    course = one.course.model_copy(update={"notes": ("Its end is missing.",)})

    assert read(one.model_copy(update={"course": course}))["recorded"]["notes"] == ["Its end is missing."]


def test_reviewers_whose_ballots_do_not_count_are_named() -> None:
    """Whose ballot was not counted, and why, is told beside those that were."""
    debate = reviewers.debated(rounds=1)
    asked = reviewers.paper(debate)
    given = reviewers.gathered(asked, reviewers.filled(asked, "ada"), left_out=("x.yaml: no ballot.",))
    made = read(build_report(debate, given))["reviewers"]

    assert (made["count"], made["left_out"]) == (1, ["x.yaml: no ballot."])


def said(made: Any) -> set[str]:
    """Every text in a report."""
    if isinstance(made, dict):
        return {text for one in made.values() for text in said(one)}
    if isinstance(made, list):
        return {text for one in made for text in said(one)}
    return {made} if isinstance(made, str) else set()


def must_come_back(deal: Deal) -> None:
    """What was said in a debate of two rounds is in its report, to the character."""
    hand = deal.hand()
    topic, positions = hand(), (hand(), hand())
    one = told(hostile(deal), rounds=2, topic=topic, positions=positions)
    made = read(one)

    assert [turn["text"] for turn in made["turns"] if turn["kind"] == "speech"] == [
        turn.text for turn in one.every if not turn.votes
    ]
    assert made["topic"] == topic and made["positions"] == dict(zip("ab", positions, strict=True))
    assert [ballot["fields"] for ballot in made["ballots"]] == [turn.ballot for turn in one.every if turn.votes]
    assert re.search(r"[^\x20-\x7e\n]", render(one)) is None


@pytest.mark.parametrize("deal", deals(SAID))
def test_hostile_text_comes_back_as_it_was(deal: Deal) -> None:
    """Whatever is said, in speeches and in every field of a ballot, is given back to the character."""
    hold(must_come_back, deal)


@pytest.mark.parametrize("play", [hostile_formats.claim, hostile_formats.question, hostile_formats.panel])
@settings(max_examples=15)
@given(deal=dealt_by_chance(texts.filter(heard)))
def test_hostile_text_in_any_format(play: hostile_formats.Play, deal: Deal) -> None:
    """Clerks, pages, panels and sides may say what they like."""
    name, script, how = play(deal.hand())
    one = any_told(name, script, **how)

    assert {turn.text for turn in one.every if turn.text} <= said(read(one))
