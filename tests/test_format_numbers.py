"""The numbers of a format: none makes the program build more than a reply may hold, in memory or in a schema."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import changed_formats
import journals
from conftest import Run
from core import folding
from corpus import for_each
from own_formats import FORMAT, write_format
from scripted_debates import shipped_format

from debate_orchestrator.core import shape_rules
from debate_orchestrator.core.format import Format
from debate_orchestrator.engine.budget import estimate_debate

WINNER = "    winner: {kind: choice, of: [a, b, tie, consensus]}\n"


def nested(depth: int, **limits: Any) -> dict[str, Any]:
    """A list of lists of ... lists of texts, each with the same limits."""
    field: dict[str, Any] = {"kind": "list", **limits}
    for _ in range(depth - 1):
        field = {"kind": "list", **limits, "fields": {"x": field}}
    return field


def per_issue(depth: int) -> dict[str, Any]:
    """Records within records, each of them for every issue."""
    inner = {"kind": "text"} if depth == 1 else per_issue(depth - 1)
    return {"kind": "record", "per_issue": True, "fields": {"x": inner}}


TOO_LARGE = [
    ({"kind": "list", "least": 1e9}, "has 1e+09 as `least`; it must be from 0 to 100"),
    ({"kind": "list", "most": 101}, "has 101 as `most`; it must be from 0 to 100"),
    ({"kind": "list", "least": -1}, "has -1 as `least`; it must be from 0 to 100"),
    ({"kind": "number", "most": 1e300}, "has 1e+300 as `most`; it must be from -1,000,000 to 1,000,000"),
    ({"kind": "number", "least": -1e300}, "has -1e+300 as `least`; it must be from -1,000,000 to 1,000,000"),
    ({"kind": "text", "words": 0}, "has a number of words in `words` that is not from 1 to 20,000"),
    ({"kind": "text", "asked_words": 10**30}, "has a number of words in `asked_words` that is not from 1 to 20,000"),
    (nested(4, least=100, most=100), "characters; at most 400,000"),
    (nested(2, least=100, optional=True), "final asks for replies of about"),
    (per_issue(3), "characters; at most 400,000"),
]


@for_each(TOO_LARGE, "field", "said")
def test_a_format_that_asks_for_too_much_is_refused(debate: Run, here: Path, field: dict[str, Any], said: str) -> None:
    """It is refused in one sentence, in a file and in a journal, before anything is played."""
    text = FORMAT.replace(WINNER, f"{WINNER}    extra: {json.dumps(field)}\n")
    ran = debate("formats", str(write_format(here / "mine", format_yaml=text)))

    assert ran.code == 2 and said in ran.err and "Traceback" not in ran.err
    assert ran.err.count("mine/format.yaml:") == 1


@for_each([field for field, _ in TOO_LARGE[::4]], "field")
def test_a_journal_whose_format_asks_for_too_much_is_refused(debate: Run, here: Path, field: dict[str, Any]) -> None:
    """No verb works with it."""
    event = folding.opened(1).model_dump(mode="json")
    event["format"]["shapes"]["final"]["extra"] = field
    Path("x.journal.jsonl").write_bytes(journals.line(1, journals.START, event))
    for verb in ("resume", "report", "check"):
        ran = debate(verb, "x.journal.jsonl")
        assert ran.code == 2 and "line 1 holds" in ran.err and "format: Value error, final" in ran.err, verb


def test_a_brief_after_no_speech_is_rehearsed_or_reported() -> None:
    """A format may have a decision brief and no speech; then a stand-in has none to name."""
    data = shipped_format("adversarial").model_dump(mode="json")
    for group in ("before", "round", "after"):
        data[group] = [phase for phase in data[group] if phase["reply"] != "text"]
    opened = folding.opened(1, rules=Format.model_validate(data), brief=True)
    assert "ZeroDivisionError" not in estimate_debate(opened).sentence()


def test_shipped_formats_are_far_from_the_bounds() -> None:
    """A format of one's own may ask for many times what the shipped ones do."""
    for name in changed_formats.SHIPPED:
        format = shipped_format(name)
        for shape in format.shapes.values():
            tenfold = {f"{n}{key}": field for n in range(10) for key, field in shape.items()}
            found = shape_rules.size_problem("x", tenfold, len(format.sides), len(format.rubric.criteria))
            assert found is None or "fields; at most 300" in found[1]
