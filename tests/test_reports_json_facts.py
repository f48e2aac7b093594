"""The form of JSON reports is published as a JSON Schema, which says all that a reader must know."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from conftest import Run
from jsonschema import Draft202012Validator

from debate_orchestrator.reports.json import facts

PUBLISHED = Path(__file__).parent.parent / "docs" / "report.schema.json"
FIELDS = [
    (name, field, about)
    for name, one in {"Report": facts.schema(), **facts.schema()["$defs"]}.items()
    for field, about in one["properties"].items()
]


def test_the_published_schema_is_that_of_the_models() -> None:
    """docs/report.schema.json and the models agree, to the last description."""
    assert json.loads(PUBLISHED.read_text(encoding="utf-8")) == facts.schema()


def test_it_is_printed(debate: Run) -> None:
    """`debate report --schema` prints it and needs no journal; without either there is nothing to tell."""
    ran, none = debate("report", "--schema"), debate("report")

    assert (ran.code, ran.json) == (0, facts.schema())
    assert (none.code, none.err.count("\n")) == (2, 1)
    assert "journal: got none" in none.err
    assert (
        debate("report", "--schema", "x.journal.jsonl").code == debate("report", "--schema", "--to", "x.json").code == 2
    )


def test_it_is_a_schema_with_a_name() -> None:
    """It is well-formed as draft 2020-12 has it, and names itself."""
    made = facts.schema()
    Draft202012Validator.check_schema(made)

    assert made["$schema"] == "https://json-schema.org/draft/2020-12/schema"
    assert made["$id"] == f"urn:debate-orchestrator:report:{facts.SCHEMA}"
    assert made["properties"]["schema"]["const"] == facts.SCHEMA


def wanting(about: dict[str, Any]) -> bool:
    """Whether what is said of a field does not do: there is no sentence nor a kind that has one, it may be null and
    does not say when, or it goes on over lines."""
    said = about.get("description", "")
    nullable = {"type": "null"} in about.get("anyOf", [])
    return not (said or "$ref" in about) or (nullable and "null" not in said.lower()) or "\n" in said


def test_every_field_is_described() -> None:
    """A field has a sentence, or is of a kind that has one; what may be null says when it is."""
    assert len(FIELDS) > 100
    assert [f"{model}.{field}" for model, field, about in FIELDS if wanting(about)] == []


def test_nothing_is_left_out_in_silence() -> None:
    """Every field of every object is required: what is not known is null, and there all the same."""
    for one in (facts.schema(), *facts.schema()["$defs"].values()):
        assert set(one["required"]) == set(one["properties"])


def test_fields_may_be_added() -> None:
    """The schema forbids no further fields, so that a reader of today takes a report of tomorrow."""
    text = json.dumps(facts.schema())
    assert '"additionalProperties": false' not in text


@pytest.mark.parametrize("other", [{}, {"schema": 1}, {"schema": 2, "document": "debate report"}, []])
def test_other_json_is_refused(other: Any) -> None:
    """What is no report does not validate."""
    assert not Draft202012Validator(facts.schema()).is_valid(other)
