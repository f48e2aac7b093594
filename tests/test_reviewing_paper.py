"""The form can be filled in by a reviewer who has nothing else, and read back."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from nasty import NASTY, texts
from reviewers import DIGEST, KINDS, debated, filled, kind, paper

from debate_orchestrator.cli.ballot import form_text, hint
from debate_orchestrator.reports.reviews import review_texts
from debate_orchestrator.util.data import parse_mapping_with_lines, read_mapping
from debate_orchestrator.util.sanitize import one_line


@pytest.mark.parametrize("name", KINDS)
def test_an_empty_form_lacks_its_answers_alone(name: str, tmp_path: Path) -> None:
    """The form of every format is YAML in which everything is there and nothing is answered."""
    asked = paper(kind(name))
    (tmp_path / "mine.yaml").write_text(form_text(asked, DIGEST, "r.journal.jsonl", "2026-02-04"), encoding="utf-8")
    said = asked.complaints(read_mapping(tmp_path / "mine.yaml"))

    assert said and all(": null is not " in one for one in said)


def test_a_form_filled_in_will_do() -> None:
    """Who writes behind each colon has a ballot."""
    asked = paper(debated(rounds=1))
    text = form_text(asked, DIGEST, "r.journal.jsonl", "2026-02-04", "ada")
    for key, said in (
        ("argument_quality", "7"),
        ("use_of_evidence", "6.5"),
        ("winner", "b"),
        ("why", "So."),
        ("after", "b"),
    ):
        text = re.sub(rf"^( *{key}:)", rf"\1 {said}", text, flags=re.MULTILINE)
    value, _ = parse_mapping_with_lines(text, "mine.yaml")

    assert asked.complaints(value) == []
    assert asked.ballot(value).final.winner == "b"


def test_it_has_what_is_needed() -> None:
    """Topic, positions, criteria with their scale, and the digest stand on it."""
    text = form_text(paper(debated(rounds=2)), DIGEST, "r.journal.jsonl", "2026-02-04")

    for part in ("Tabs are better than spaces.", "Indent with tabs.", "Indent with spaces.", DIGEST, "1 to 10"):
        assert part in text
    assert "directness_of_rebuttals, 1 to 10: Does the challenge" in text


SHORT = paper(debated(rounds=1))


@given(st.sampled_from(NASTY) | texts)
def test_hostile_topics_stay_comments(text: str) -> None:
    """Whatever a topic or a position says, the form asks the same."""
    asked = paper(debated(rounds=1, topic=text, positions=(text, text)))
    value, _ = parse_mapping_with_lines(form_text(asked, DIGEST, "r.journal.jsonl", "2026-02-04"), "mine.yaml")

    assert set(value) == set(filled(SHORT))
    assert value["journal"] == DIGEST


@given(st.sampled_from(NASTY) | texts)
def test_a_name_is_filled_in_as_it_is(text: str) -> None:
    """A name that is given stands in the form, and is read back as it was."""
    name = one_line(text)
    value, _ = parse_mapping_with_lines(form_text(SHORT, DIGEST, "r", "2026-02-04", name), "mine.yaml")

    assert (value["reviewer"] or "") == name


def test_hints_say_what_fits() -> None:
    """A hint names the choices, or the scale."""
    asked = paper(kind("claim"))

    assert hint(asked.final["score"], asked).startswith("0 to 10: ")
    assert hint(asked.final["label"], asked).startswith("supported, contradicted, misleading or needs more evidence")


def test_every_question_is_worded() -> None:
    """There is a question for each thing that a ballot of any format may ask."""
    known = set(review_texts().questions)

    for name in KINDS:
        asked = paper(kind(name))
        assert {f"{field}_final" for field in asked.final} <= known, name
        assert {field for shape in asked.rounds.values() for field in shape} <= known, name
