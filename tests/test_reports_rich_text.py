"""Structured replies are told as blocks and lists that stay what they are, whatever stands in them."""

from __future__ import annotations

from typing import Any

import pytest
import reading
from dealing import for_each
from hypothesis import given
from nasty import SAID, texts
from tellings import evidence, rules

from debate_orchestrator.core.schema import Field, Shape
from debate_orchestrator.reports import markup
from debate_orchestrator.reports.markdown import MarkdownWriter
from debate_orchestrator.reports.rich_text import FieldText

SEATS = {"a": "Debater A", "b": "Debater B", "judge": "Judge"}
FIELDS = FieldText(SEATS)
PEN = MarkdownWriter(lambda turn: f"[{turn}](#{turn.replace('.', '-')})")
EVIDENCE = rules("claim").shapes["evidence"]
ROW: Shape = {
    "seat": Field(kind="choice"),
    "turn": Field(kind="turn"),
    "fault": Field(kind="choice", of=("revised answer", "misused a quote")),
    "what": Field(kind="text"),
}

BALLOT: Shape = {
    "summary": Field(kind="text"),
    "decided": Field(kind="text", per_side=True),
    "sure": Field(kind="flag"),
    "share": Field(kind="number"),
    "signs": Field(kind="choices", of=("x", "y")),
    "turns": Field(kind="turns"),
    "page": Field(kind="url"),
    "best": Field(kind="record", fields=ROW),
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
        "**Evidence:** [https://example.org/so](https://example.org/so)\n\n> It is so.\n\n"
        "**Context:** A page on it.\n\nIt **follows**.\n\nAnd so it is."
    )


def test_a_list_in_a_speech() -> None:
    """A list among the fields of a speech is a list under its name."""
    shape = {"reasons": Field(kind="list"), "sure": Field(kind="flag")}

    assert PEN.block(FIELDS.block(shape, {"reasons": ["one", "two"], "sure": True})) == (
        "**Reasons:**\n\n- one\n- two\n\n**Sure:** yes"
    )


def test_an_address_that_is_none() -> None:
    """What is no page of the web is shown, and no link."""
    block = PEN.block(FIELDS.block(EVIDENCE, evidence(url="javascript:alert(1)")))

    assert "**Evidence:** javascript:alert(1)\n" in block
    assert reading.forged(block) == []


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
    told = "Debater B, [1.argument.b](#1-argument-b): misused a quote; It *says* so."

    assert PEN.points(FIELDS.points(BALLOT, value, {"winner"})) == [
        "- **Summary:** It *was* close.",
        "- **Decided, Debater A:** one",
        "- **Decided, Debater B:** two",
        "- **Sure:** no",
        "- **Share:** 0.5",
        "- **Signs:** x, y",
        "- **Turns:** [1.argument.a](#1-argument-a), [1.argument.b](#1-argument-b)",
        "- **Page:** [https://example.org/x](https://example.org/x)",
        f"- **Best:** {told}",
        "- **Notes:**",
        "  - first",
        "  - second",
        "- **Faults:**",
        f"  - {told}",
    ]


def test_records_within_records() -> None:
    """A record or a list inside a row is told in the row."""
    shape: Shape = {"who": Field(kind="record", fields=ROW), "all": Field(kind="list"), "why": Field(kind="text")}
    value = {"who": {"seat": "a", "fault": "revised answer"}, "all": ["x", "y"], "why": "so"}

    assert PEN.line(FIELDS.row(shape, value)) == "Seat: a; Fault: revised answer; x, y; so"


def stays(text: str) -> None:
    """Whatever is in the fields, a block stays in its place, and rows are as many items as there are."""
    block = PEN.block(FIELDS.block(EVIDENCE, evidence(quote=text, context=text, argument=text, url=text)))
    assert reading.between(block) == reading.BETWEEN
    assert reading.forged(block) == []
    two: Shape = {"what": Field(kind="text"), "why": Field(kind="text"), "of": Field(kind="list")}
    shape: Shape = {"rows": Field(kind="list", fields=two), "summary": Field(kind="text"), "last": Field(kind="text")}
    row = {"what": text, "why": text, "of": [text, text]}
    listed = "\n".join(PEN.points(FIELDS.points(shape, {"rows": [row, row], "summary": text, "last": "x"})))
    tokens = reading.parser().parse(listed)
    items = [token for token in tokens if token.type == "list_item_open"]
    assert reading.forged(listed) == []
    assert (len(items), {token.level for token in items}) == (5, {1, 3})


@pytest.mark.slow
@for_each(SAID)
def test_no_text_leaves_its_field(text: str) -> None:
    """A hostile text in any field forges nothing and begins no item."""
    stays(text)


@given(texts.filter(str.strip))
def test_no_text_leaves_its_field_by_chance(text: str) -> None:
    """Nor does any text made of what markdown takes for structure."""
    if markup.prose(text):
        stays(text)
