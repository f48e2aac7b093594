"""No text of others stands unquoted among the program's words: in no type of report, in no announcement."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from core.folding import rejected_event
from others_words import MARK, among_own_words, in_html, in_json, in_markdown, marked
from reviewers import ballot_for, gather_ballots, review_form
from scripted_debates import FETCHED, Cast, check, checks, entries, events

from debate_orchestrator.core.events import EarlierDebate, EndedEarly, Event, QuestionAsked, Spoke
from debate_orchestrator.core.fold import fold
from debate_orchestrator.core.reply import FoundPage
from debate_orchestrator.reports import json_report, markdown
from debate_orchestrator.reports.announcements import announcements
from debate_orchestrator.reports.compare import compare
from debate_orchestrator.reports.html import page
from debate_orchestrator.reports.model import build_report, summary_line
from debate_orchestrator.storage import journal
from debate_orchestrator.util.sanitize import quoted

EXAMPLES = Path(__file__).parent.parent / "examples"
MODEL = "openai:llama@http://127.0.0.1:9/v1"
CALLED: Cast = dict.fromkeys(("a", "b", "judge", "rapporteur"), (MODEL,))
PAGES = (FoundPage(url="https://blog.example/q", title="x", quote="y"), FoundPage(url="https://u@b.example", title="x"))


def searched(made: list[Event]) -> list[Event]:
    """The same with pages found for each speech, one of which can't be linked."""
    return [
        event.model_copy(update={"reply": event.reply.model_copy(update={"found_pages": PAGES})})
        if isinstance(event, Spoke)
        else event
        for event in made
    ]


def adversarial() -> list[Event]:
    first, *others = searched(
        events("adversarial", rounds=2, cast=CALLED, brief=True, issues=("Is it dear?",), mirror=True)
    )
    return [first, QuestionAsked(question="Is it?", to=("a",)), *others]


def unheard_question() -> list[Event]:
    made = events("adversarial", rounds=2, until="2.constructive.a", material="So it is.")
    return [*made, QuestionAsked(question="Is it?", to=("a",)), EndedEarly()]


def unusable_brief() -> list[Event]:
    """A debate in which what a model wrote is in the problem of its reply."""
    turn = "final.brief.rapporteur"
    problem = f"{turn}: recommendation: '{MARK.format(n=1)}' is not a JSON object. Try: write one."
    rejected = rejected_event(turn).model_copy(update={"problems": (problem,)})
    script = {turn: [rejected] * 3 + [rejected.model_copy(update={"absent": True})]}
    return events("adversarial", script, brief=True, issues=False)


def claim() -> list[Event]:
    found = dict.fromkeys(("why", "title", "date", "passage", "digest", "archived"), "x")
    sources = [{"turn": "1.argument.a", "credibility": "low", "why": "x"}]
    judges = {f"final.verdict.judge-{n}": {"label": "misleading", "score": 4, "sources": sources} for n in (1, 2, 3)}
    looked_up = {"1.check.clerk": checks(*(check(f"1.argument.{side}", **found) for side in "ab"))}
    return events("claim", judges | looked_up, panel=3, cast=FETCHED | {"judge": ("host",) * 3})


def question() -> list[Event]:
    fault = {"seat": "a", "turn": "1.argument.a", "fault": "misused a quote", "what": "x"}
    return events("question", {"final.verdict.judge": {"winner": "a", "faults": [fault]}}, material="So it is.")


def judged_again() -> list[Event]:
    first, *others = events("transcript", rounds=2)
    named = {"speakers": {"a": "x", "b": "y"}, "former_speakers": {"a": ("z",)}, "judges": ("x", "y"), "notes": ("x",)}
    return [first.model_copy(update={"earlier_debate": EarlierDebate(source="x", digest="0" * 64, **named)}), *others]


def panel() -> list[Event]:
    return searched(events("panel", panel=3, mirror=True, cast=CALLED | {"judge": (MODEL,) * 3}))


def conversation() -> list[Event]:
    return searched(events("conversation", rounds=6))


def example(name: str) -> Callable[[], list[Event]]:
    path = EXAMPLES / name / "debate-report.journal.jsonl"
    return lambda: [entry.event for entry in journal.read(str(path)).entries]


MADE: dict[str, Callable[[], list[Event]]] = {
    **{name: example(name) for name in ("rust-or-harden", "standing-desks", "free-transit")},
    **{
        made.__name__: made
        for made in (adversarial, unheard_question, unusable_brief, claim, question, judged_again, panel, conversation)
    },
}


def unquoted(made: list[Event]) -> Iterator[str]:
    """Every place at which a report of a debate has a text of others among the program's words."""
    written, marks = marked(made)
    lines = entries(written)
    report = build_report(lines)
    framed = marks.of_sides(*report.arguing_sides)
    both = compare([("a.jsonl", report), ("b.jsonl", report)])
    yield from (f"md: {line}" for line in in_markdown(markdown.render(report), framed))
    yield from (f"review: {line}" for line in in_markdown(markdown.render_for_review(report), framed))
    yield from (f"html: {line}" for line in in_html(page.render(report), framed))
    yield from (f"json: {line}" for line in in_json(json.loads(json_report.render(report))))
    yield from (f"compare md: {line}" for line in in_markdown(markdown.render_comparison(both)))
    yield from (f"compare html: {line}" for line in in_html(page.render_comparison(both)))
    yield from (f"compare json: {line}" for line in in_json(both.model_dump(mode="json")))
    texts = [announcement.text for announcement in announcements(fold(written))]
    texts.append(summary_line(report, "x.md"))
    yield from (f"announced: {text}" for text in texts if among_own_words(text))


@pytest.mark.parametrize("name", MADE)
def test_texts_of_others_are_quoted(name: str) -> None:
    """A text of others fills a line, a cell, or the rest of one after a title, or else it is in quotation marks; what a
    side wrote in a field is in a frame."""
    assert list(unquoted(MADE[name]())) == []


def test_what_reviewers_wrote_is_quoted() -> None:
    """The same of what reviewers sign with and give as reasons."""
    lines = entries(adversarial())
    ballot = ballot_for(review_form(lines), MARK.format(n=1)) | {"why": MARK.format(n=2)}
    report = build_report(lines, gather_ballots(review_form(lines), ballot))

    assert re.search("zq2", markdown.render(report))
    assert [*in_markdown(markdown.render(report)), *in_html(page.render(report))] == []


def test_a_name_that_a_server_states_stays_in_its_quotation_marks() -> None:
    """The program's own sentences keep no markup: there is none in them but that of a name in quotation marks."""
    report = build_report(entries(panel()))
    name = quoted("a ![x y]*(https://evil.example/x.png)* `y` [y](https://evil.example)")
    judging = report.judging.model_copy(update={"conflicts": (f"Judge is the same model as Researcher A: {name}.",)})
    text = markdown.render(report.model_copy(update={"judging": judging}))

    assert "is the same model as" in text and not re.search(r"!\[|\]\(https://evil|`y`", text)
