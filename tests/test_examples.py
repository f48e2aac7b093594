"""The shipped debates: whole, unchanged, and told the same today."""

from __future__ import annotations

import html
import json
import re
from pathlib import Path
from typing import Any

import pytest
from corpus import for_each
from journals import EARLIER
from pydantic import ValidationError

from debate_orchestrator.core.events import EVENT, Opened
from debate_orchestrator.core.fold import fold
from debate_orchestrator.core.format import Format
from debate_orchestrator.core.settings import with_keys_of_today
from debate_orchestrator.reports.decision_brief import first_sentence
from debate_orchestrator.reports.model import ReportModel, build_report
from debate_orchestrator.reports.report_files import render_file
from debate_orchestrator.reports.verdict_text import open_claims
from debate_orchestrator.setup import risks
from debate_orchestrator.storage.journal import read
from debate_orchestrator.storage.paths import JOURNAL, DebateFiles
from debate_orchestrator.util import resources
from debate_orchestrator.util.data import read_mapping
from debate_orchestrator.util.numbers import decimals, percent

EARLIER_JOURNALS = sorted(EARLIER.glob(f"*{JOURNAL}"))
EXAMPLES = sorted(resources.folder("examples").glob(f"*/*{JOURNAL}"))


def outcome(report: ReportModel) -> str:
    """What was decided, in a few words; nothing if the format decides nothing."""
    verdict = report.verdict
    if verdict is None:
        return "not judged"
    if verdict.label is not None:
        return f"{verdict.label}, {'no score' if verdict.claim_score is None else decimals(verdict.claim_score)}"
    if verdict.probability is not None:
        return f"{verdict.winner.upper()}, {percent(verdict.probability)}"
    return f"{verdict.winner.upper()}, {verdict.strength}" if verdict.strength else verdict.winner


def test_the_page_lists_them_all() -> None:
    """examples/README.md names every debate with its format and its outcome."""
    page = (resources.folder("examples") / "README.md").read_text(encoding="utf-8")
    for path in EXAMPLES:
        report = build_report(read(path).entries)
        name = fold(read(path).events).format.name
        row = next(line for line in page.split("\n") if f"]({path.parent.name}/debate-report.md)" in line)
        assert row.startswith(f"| {name} |"), path
        assert row.endswith(f"| {report.rounds_asked} | {outcome(report)} |"), path


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.parent.name)
class TestExample:
    def test_is_told_the_same(self, path: Path) -> None:
        """The debate is complete; the report beside its journal is what that tells, to the byte, and so is its page."""
        beside, report = DebateFiles.of_journal(str(path)), build_report(read(path).entries)
        assert read(path).torn_bytes == 0 and report.status == "complete"

        assert Path(beside.report).read_text(encoding="utf-8") == render_file(report, ".md")
        assert Path(beside.html_report).read_text(encoding="utf-8") == render_file(report, ".html")

    def test_page_one_is_short(self, path: Path) -> None:
        """It is about as long as the docs say, and shows what the debate changed and what each side holds, at
        most a sentence of each, or clauses of a long one."""
        report = build_report(read(path).entries)
        if (brief := report.shown_decision_brief) is None:
            return
        held = [text for _, claim in open_claims(report)[0] for text in claim.positions.values()]
        decision = render_file(report, ".html").partition('<section id="decision"')[2].partition("</section>")[0]
        markdown = render_file(report, ".md").partition("## Decision Brief")[2].partition("### How Far")[0]
        for whole, text in [
            (brief.changed, first_sentence(brief.changed, 300, and_more=True)),
            *((text, first_sentence(text)) for text in held),
        ]:
            assert text in html.unescape(decision) and text in html.unescape(markdown)
            cut = text.removesuffix(" …")
            assert cut == whole or re.match(r"[,;:]\s|\s[–—-]\s", whole.removeprefix(cut)) or cut[-1] in ".!?", text
        assert len(re.sub("<[^>]+>", " ", decision).split()) < 1250

    def test_its_answers_are_its_own(self, path: Path) -> None:
        """The answers file beside the journal is the setup that the journal opened with."""
        given = read_mapping(path.parent / "answers.yaml")
        setup = fold(read(path).events).opened.settings

        assert (given["topic"], given["positions"]) == (setup.topic, setup.positions)
        assert (given["rounds"], given["strictness"]) == (setup.rounds, setup.strictness)


def _first(path: Path) -> dict[str, Any]:
    opening: dict[str, Any] = json.loads(path.read_text(encoding="utf-8").splitlines()[0])["event"]
    return opening


EARLIER_FORM = [path for path in (*EARLIER_JOURNALS, *EXAMPLES) if "cast" in _first(path)]
"""Those whose setup was not one model yet."""


@pytest.mark.parametrize("path", EARLIER_JOURNALS, ids=lambda path: path.name)
def test_journals_that_were_shipped_once_are_still_reported(path: Path) -> None:
    """Journals of an earlier version verify to the last line, are complete, and are reported as markdown and as a
    page."""
    reading = read(path)
    assert reading.torn_bytes == 0 and fold(reading.events).complete
    report = build_report(reading.entries)
    assert all(report.topic.split("?")[0] in render_file(report, form) for form in (".md", ".html"))


@for_each([*EARLIER_JOURNALS, *EXAMPLES])
def test_formats_that_were_shipped_once_need_no_consent(path: Path) -> None:
    """To continue with a debate by a format as an earlier version shipped it asks for no consent to its prompts. It is
    read under its former names, and written under those of today."""
    opened = read(path).events[0]
    assert isinstance(opened, Opened)
    assert _first(path)["format"].keys() - type(opened.format).model_fields.keys()
    assert Format.model_validate(opened.format.model_dump(mode="json")) == opened.format
    assert "format" not in {risk.where for risk in risks.of_debate(opened, opened.cast)}


@for_each(EARLIER_FORM)
def test_openings_of_earlier_versions_are_read(path: Path) -> None:
    """What earlier versions wrote beside the setup, by former names, is found in the settings."""
    raw, opened = _first(path), read(path).events[0]
    assert isinstance(opened, Opened)
    setup = opened.settings.model_dump(mode="json")

    assert setup["cast"] == raw["cast"] and setup["max_cost"] == raw.get("max_cost")
    assert (setup["retry_for"], setup["share_cache"]) == (raw.get("patience", 600), raw.get("leader_first", False))
    assert setup["format"] == raw["format"]["name"]
    kept = with_keys_of_today({name: value for name, value in raw["setup"].items() if name != "context"})
    assert kept.items() <= setup.items()
    assert [file.model_dump() for file in opened.context] == raw["setup"].get("context", [])
    assert setup["context"] == [file.name for file in opened.context]
    assert EVENT.validate_json(opened.model_dump_json()) == opened


@for_each([{"mood": "new"}, {"cast": 5}, {"patience": -1}, {"max_cost": "much"}])
def test_what_no_version_wrote_is_refused(changes: dict[str, object]) -> None:
    """An opening of an earlier version is held to the same types and limits, and to the fields that it had."""
    raw = _first(EARLIER_FORM[0])
    with pytest.raises(ValidationError):
        EVENT.validate_python(raw | changes)
