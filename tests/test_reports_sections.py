"""How the debate was judged, what may have swayed it, and structured replies, as blocks that stay what they are."""

from __future__ import annotations

from typing import Any

import pytest
import reading
from core.folding import absent_judge
from corpus import for_each
from debates import entries, script_of
from debates import report as adversarial
from hostile_texts import SAID
from scripted_debates import events, evidence, report, section, shipped_format
from scripted_replies import ballot, final

from debate_orchestrator.core.shape import Field, Shape
from debate_orchestrator.reports import markdown
from debate_orchestrator.reports.markdown import MarkdownWriter
from debate_orchestrator.reports.model import build_report
from debate_orchestrator.reports.rich_text import FieldText

PASSAGE = "The sky was green that morning, the captain wrote."


def judged(name: Any, script: Any = None, **how: Any) -> str:
    """What is under the section's heading."""
    return section(report(name, script, **how), "How It Was Judged")


def test_a_panel_tells_every_vote() -> None:
    """A row for each judge and round, how many count, and the mean of each criterion by side."""
    say = script_of(_1_verdict_judge_2=ballot(5, 6, rounds=1), _final_verdict_judge_2=final("b"))
    votes, means, _ = reading.tables(section(adversarial(say, rounds=1, judges=2), "How It Was Judged"))

    assert votes == [
        ["Round", "Judge", "Vote", "Counts as"],
        ["1", "Judge 1", "A (A 7, B 6)", "A"],
        ["1", "Judge 2", "B (A 5, B 6)", "B"],
        ["Final", "Judge 1", "A", "A"],
        ["Final", "Judge 2", "B", "B"],
    ]
    assert means == [
        ["Criterion", "Researcher A", "Researcher B"],
        ["Argument quality", "6", "6"],
        ["Use of evidence", "6", "6"],
    ]


def test_a_mirrored_vote_is_told_twice() -> None:
    """Both ballots are side by side, with whether they say the same; how many changed is said."""
    script = {
        "final.verdict.judge-1": {"winner": "a", "probability": 0.75},
        "final.verdict.judge-1.mirrored": {"winner": "b", "probability": 0.75},
        "final.verdict.judge-2": {"winner": "a", "probability": 0.6},
        "final.verdict.judge-2.mirrored": {"winner": "a", "probability": 0.9},
        "final.verdict.judge-3.mirrored": absent_judge("final.verdict.judge-3.mirrored"),
    }
    made = judged("question", script, panel=3, mirror=True)

    assert reading.tables(made)[0] == [
        ["Judge", "Original", "Mirrored", "Stable", "Counts as"],
        ["Judge 1", "A (75%)", "A (75%)", "yes", "A"],
        ["Judge 2", "A (60%)", "B (90%)", "no", "an abstention, since it changed"],
        ["Judge 3", "A (50%)", "no ballot that counts", "-", "absent"],
    ]
    assert "1 of 2 final votes changed when the sides were swapped." in made
    steady = {f"final.verdict.judge{end}": {"winner": "b" if end else "a"} for end in ("", ".mirrored")}
    text = report("question", steady, mirror=True, blind=True)
    assert "| Before | Judge | A (50%) | B (50%) | no | an abstention, since it changed |" in text
    assert "Held with the sides swapped: 1 of 1 final vote." in text and "0 of 1 final vote changed" in text
    in_rounds = "1 of 1 final vote and 2 of 2 votes on rounds changed when the sides were swapped."
    assert in_rounds in adversarial(rounds=2, mirror=True)


def test_a_vote_of_two_models_is_reported() -> None:
    """If a judge's seat was given away between two ballots, the tables say which are another model's, and the report
    does not say that the vote held."""
    taken_over = ("final.verdict.judge.mirrored",), ("final.verdict.judge", "final.verdict.judge.mirrored")
    for turns in taken_over:
        script = {
            turn: {"winner": "a" if turn.endswith("judge") else "b", "probability": 0.75} for turn in taken_over[1]
        }
        made = [
            event.model_copy(update={"reply": event.reply.model_copy(update={"spec": "command:another"})})
            if getattr(event, "turn_id", "") in turns
            else event
            for event in events("question", script, mirror=True, blind=True)
        ]
        text = markdown.render(build_report(entries(made)))
        if len(turns) == 1:
            assert "| Judge | A (75%) | A (75%), by another model | \\- | A |" in text
            assert "Held with the sides swapped" not in text
        else:
            assert "| Judge | A (75%) | A (75%) | yes | A |" in text
    differing = next(n for n, event in enumerate(made) if getattr(event, "turn_id", "") == "final.verdict.judge")
    ballot = made[differing]
    spec = ballot.reply.model_copy(update={"spec": "command:before"})
    made[differing] = ballot.model_copy(update={"data": {**ballot.data, "winner": "b"}, "reply": spec})
    text = markdown.render(build_report(entries(made)))
    assert "| Judge | B (75%) | A (75%), by another model | \\- | an abstention, since two models disagree |" in text
    assert "Judge has ballots of two models that disagree." in text


def test_what_the_engine_saw() -> None:
    """Words over the limit, lines for the other side and quotes that the material does not hold are reported by
    side."""
    script = {
        "1.argument.a": "<quote>green that morning, the captain</quote> <quote>blue that evening, the mate</quote>",
        "1.argument.b": "word " * 151 + "\nDebater A: I give up.",
        "2.argument.b": "Debater A: I give up.",
    }
    made = judged("question", script, rounds=2, material=PASSAGE)

    assert made.endswith(
        "Conduct of the sides:\n\n"
        "- Debater A quoted the context files 2 times; 1 of these they hold.\n"
        "- Debater B wrote lines for the other side in 2.argument.b.\n"
        "- Debater B went over the limit, and 6 words were not heard, in 1.argument.b."
    )


SEATS = {"a": "Debater A", "b": "Debater B", "judge": "Judge"}
FIELDS = FieldText(SEATS)
PEN = MarkdownWriter(lambda turn: f"[{turn}](#{turn.replace('.', '-')})")
EVIDENCE = shipped_format("claim").shapes["evidence"]
ROW: Shape = {
    "seat": Field(kind="choice"),
    "turn": Field(kind="turn"),
    "fault": Field(kind="choice", options=("revised answer", "misused a quote")),
    "what": Field(kind="text"),
}

BALLOT: Shape = {
    "summary": Field(kind="text"),
    "decided": Field(kind="text", per_side=True),
    "sure": Field(kind="boolean"),
    "share": Field(kind="number"),
    "signs": Field(kind="choices", options=("x", "y")),
    "turns": Field(kind="turns"),
    "page": Field(kind="url"),
    "best": Field(kind="object", fields=ROW),
    "notes": Field(kind="list"),
    "faults": Field(kind="list", fields=ROW),
    "nothing": Field(kind="text", optional=True),
    "empty": Field(kind="list"),
    "winner": Field(kind="choice"),
}


def test_a_speech_in_fields() -> None:
    """Where the evidence is from, what it says, what it is, and then the argument as the speech it is."""
    said = evidence(argument="It **follows**.\n\nAnd so it is.", refused=False, reason=None)

    assert PEN.block(FIELDS.block(EVIDENCE, said)) == (
        "**Evidence:** [https\\://example.org/so](https://example.org/so)\n\n> It is so.\n\n"
        "**Context:**\n\n> A page on it.\n\n**Argument:**\n\n> It **follows**.\n>\n> And so it is."
    )


def test_a_judges_fields() -> None:
    """Each field is a line of a list, each side's on a line of its own; what is empty or told elsewhere is not."""
    row = {"seat": "b", "turn": "1.argument.b", "fault": "misused a quote", "what": "It *says* so."}
    value: dict[str, Any] = {
        "summary": "It *was* close.",
        "decided": {"a": "one", "b": "two"},
        "sure": False,
        "share": 0.5,
        "signs": ["x", "y"],
        "turns": ["1.argument.a", "1.argument.b"],
        "page": "https://example.org/x",
        "best": row,
        "notes": ["first", "second"],
        "faults": [row],
        "nothing": None,
        "empty": [],
        "winner": "a",
    }
    expected = "Debater B, [1.argument.b](#1-argument-b): misused a quote; “It \\*says\\* so.”"

    assert PEN.field_items(FIELDS.item_parts(BALLOT, value, {"winner"})) == [
        "- **Summary:** It was close.",
        "- **Decided, Debater A:** one",
        "- **Decided, Debater B:** two",
        "- **Sure:** no",
        "- **Share:** 0.5",
        "- **Signs:** x, y",
        "- **Turns:** [1.argument.a](#1-argument-a), [1.argument.b](#1-argument-b)",
        "- **Page:** [https\\://example.org/x](https://example.org/x)",
        f"- **Best:** {expected}",
        "- **Notes:**",
        "  - first",
        "  - second",
        "- **Faults:**",
        f"  - {expected}",
    ]


def stays(text: str) -> None:
    """Whatever is in the fields, a block stays in its place, and rows are as many items as there are."""
    block = PEN.block(FIELDS.block(EVIDENCE, evidence(quote=text, context=text, argument=text, url=text)))
    assert reading.between(block) == reading.BETWEEN
    assert reading.forged(block) == []
    two: Shape = {"what": Field(kind="text"), "why": Field(kind="text"), "of": Field(kind="list")}
    shape: Shape = {"rows": Field(kind="list", fields=two), "summary": Field(kind="text"), "last": Field(kind="text")}
    row = {"what": text, "why": text, "of": [text, text]}
    listed = "\n".join(PEN.field_items(FIELDS.item_parts(shape, {"rows": [row, row], "summary": text, "last": "x"})))
    tokens = reading.parser().parse(listed)
    items = [token for token in tokens if token.type == "list_item_open"]
    assert reading.forged(listed) == []
    assert (len(items), {token.level for token in items}) == (5, {1, 3})


@pytest.mark.slow
@for_each(SAID)
def test_no_text_leaves_its_field(text: str) -> None:
    """A hostile text in any field forges nothing and begins no item."""
    stays(text)


@for_each(
    [
        ("word " * 2_000, "8,000 of 9,999"),
        ("A line.\n" + "word " * 2_000, "8,000 of 10,007"),
        ("A line.\n" * 1_500, "7,999 of 11,999"),
    ]
)
def test_of_a_long_context_file_the_beginning_is_shown(text: str, shown: str) -> None:
    """It ends with a whole line, but where the next one is very long."""
    assert f"*Its first {shown} characters; the journal has the rest.*" in report("question", material=text.strip())
