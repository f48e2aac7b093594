"""The report as JSON holds all that there is to tell, in the published form, whatever the debate and what was said."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

import reviewers
import scripted_replies
from conftest import Run
from debates import hostile_script, report_model, script_of
from jsonschema import Draft202012Validator
from scripted_debates import FETCHED, check, checks, evidence
from scripted_debates import report_model as any_report_model
from shapes import SHAPES, again

from debate_orchestrator.reports import report_files
from debate_orchestrator.reports.json_report import SCHEMA, render
from debate_orchestrator.reports.model import ReportModel, build_report, summary_line

PUBLISHED = Path(__file__).parent.parent / "docs" / "report.schema.json"


@cache  # every worker reads this file, and one runs it
def published() -> dict[str, Any]:
    return json.loads(PUBLISHED.read_text(encoding="utf-8"))  # type: ignore[no-any-return]


@cache
def validator() -> Draft202012Validator:
    return Draft202012Validator(published())


def read(report: ReportModel) -> dict[str, Any]:
    """A report as a program reads it, which must be in the published form."""
    data = json.loads(render(report))
    assert [error.message for error in validator().iter_errors(data)] == []
    assert isinstance(data, dict)
    return data


def test_the_published_schema_is_that_of_the_model(debate: Run) -> None:
    """docs/report.schema.json and the model agree; `debate report --schema` prints it, whatever journal is named."""
    assert debate("report", "--schema").json == published()
    assert debate("report", "x.journal.jsonl", "--schema").json == published()


def test_the_schema_describes_and_requires_every_field() -> None:
    """Each field has a sentence or is of a described kind; what may be null says when. Fields may be added later."""
    whole = published()
    Draft202012Validator.check_schema(whole)
    for name, data in {"Report": whole, **whole["$defs"]}.items():
        assert set(data["required"]) == set(data["properties"]), name
        for field, about in data["properties"].items():
            text = about.get("description", "")
            assert text or "$ref" in about, f"{name}.{field}"
            assert {"type": "null"} not in about.get("anyOf", []) or "null" in text.lower(), f"{name}.{field}"
            assert "\n" not in text, name
    assert '"additionalProperties": false' not in json.dumps(whole)
    assert whole["properties"]["schema"]["const"] == SCHEMA


def test_every_shape_has_the_published_form() -> None:
    """Whole, paused, mirrored, judged again or rehearsed, in any format: it validates, and says what the model says."""
    for shape in SHAPES:
        report = SHAPES[shape]()
        data = read(report)

        assert json.loads(report_files.render_file(report, ".json")) | {"digest": ""} == data | {"digest": ""}, shape
        assert (data["status"], data["topic"], data["positions"]) == (report.status, report.topic, report.positions)
        assert [note["text"] for note in data["notes"]] == list(report.provenance), shape
        assert data["summary"] == summary_line(report, None), shape
        assert [turn["id"] for turn in data["turns"]] == [turn.id for turn in report.turns], shape
        cast_in = [turn for vote in data["votes"] for turn in vote["turns"]]
        ballots = [turn["id"] for turn in data["turns"] if turn["kind"] == "ballot"]
        assert set(ballots) <= set(cast_in) and len(cast_in) == len(set(cast_in)), shape


def test_it_is_ascii_and_begins_and_ends_as_promised() -> None:
    """It is indented, in printable ASCII; the form and the checksum have their places."""
    text = render(report_model(hostile_script("\x1b[2J\x85\u2028\u202e \U0001f600 é \x7f"), rounds=1))

    assert text.startswith('{\n  "schema": 2,\n  "document": "debate report",\n')
    assert text.endswith(f'"digest": "{"0" * 64}"\n}}\n')
    assert text.isascii() and text.replace("\n", "").isprintable() and "\\u001b[2J" in text


def test_numbers_are_not_rounded_and_the_undecided_is_null() -> None:
    """A round score is the mean itself; before the final vote there is no verdict."""
    ballot = scripted_replies.ballot()
    ballot["scores"]["a"] = {"argument_quality": 8, "use_of_evidence": 7, "directness_of_rebuttals": 7}
    data = read(report_model(script_of(_1_verdict_judge=ballot, _2_verdict_judge=ballot), rounds=2))
    paused = read(SHAPES["paused"]())

    assert data["rounds"][0]["scores"]["a"] == 22 / 3
    assert (data["verdict"]["totals"]["a"], data["verdict"]["gap"]) == (44 / 3, 2 / 11)
    assert paused["verdict"] is None
    assert [(one["completed"], one["winner"]) for one in paused["rounds"]] == [(True, "a"), (False, None)]


def test_evidence_recorded_debates_and_reviewers_are_reported() -> None:
    """A page that was kept has its hash; a re-judging names the first judging; ballots that don't count say why."""
    row = check("1.argument.a", archived="so.html", digest="1" * 64)
    script = {"1.argument.a": evidence(), "1.check.clerk": checks(row)}
    cited = read(any_report_model("claim", script, cast=FETCHED))["evidence"]["citations"][0]
    earlier_debate = read(again())["earlier_debate"]
    debate = reviewers.adversarial_entries(rounds=1)
    form = reviewers.review_form(debate)
    given = reviewers.gather_ballots(form, reviewers.ballot_for(form, "ada"), left_out=("x.yaml: no ballot.",))
    reviewed = read(build_report(debate, given))["reviewers"]

    assert (cited["archived"], cited["sha256"]) == ("so.html", "1" * 64)
    assert (earlier_debate["source"], earlier_debate["speakers"]) == ("old.journal.jsonl", {"a": "host", "b": "host"})
    assert (reviewed["count"], reviewed["left_out"]) == (1, ["x.yaml: no ballot."])
    assert read(SHAPES["rehearsed"]())["run"]["kind"] == "rehearsed"


def test_the_setup_is_reported_without_what_is_private() -> None:
    """Settings, prompts and the names of files are there; a program's arguments and the files' text are not. Programs
    of one name are numbered."""
    programs = [f"command:/opt/bin/speak --key secret{n}" for n in "123"]
    cast = {"a": (programs[0],), "b": (programs[1],), "judge": (programs[2],)}
    run = read(report_model(rounds=1, cast=cast, feedback=False))["run"]
    material = read(any_report_model("question", material="A secret passage."))["run"]

    names = {"a": ["command:speak"], "b": ["command:speak (2)"], "judge": ["command:speak (3)"]}
    assert {seat: run["cast"][seat] for seat in names} == names and run["settings"]["Feedback to the debaters"] == "off"
    assert all(len(digest) == 64 for digest in run["prompts"].values())
    assert material["context"] == ["passage.txt"]
    assert "secret" not in json.dumps([run, material])
