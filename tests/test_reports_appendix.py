"""The particulars of a debate, as they stand on record."""

from __future__ import annotations

from debates import told as adversarial
from tellings import told


def test_the_cast_and_the_settings() -> None:
    """Every seat is told with who fills it, and what was settled before the first word with its value."""
    made = adversarial(rounds=2, first="b", feedback=False, judges=2).appendix

    assert made.cast == (("Researcher A", "host"), ("Researcher B", "host"), ("Judge", "host, host"))
    assert dict(made.settings) == {
        "Format": "adversarial",
        "Rounds asked for": "2",
        "Strictness": "strict",
        "Spoke first": "Researcher B",
        "Feedback to the debaters": "off",
        "Web search": "off",
        "Judges": "2",
        "Votes that must count": "1",
        "Sides exchanged for a second vote": "no",
        "A vote before the first word": "no",
    }
    assert (made.version, made.models) == ("0", ())
    assert all(len(digest) == 64 for _, digest in made.prompts)


def test_the_material_is_named() -> None:
    """Files that speakers could draw on are named, without what they hold."""
    made = told("question", material="A secret passage.").appendix

    assert made.context == ("passage.txt",)
    assert "secret" not in made.model_dump_json()


def test_a_program_is_named_without_its_arguments() -> None:
    """Of a program that speaks the name alone is told, since its arguments may hold anything."""
    cast = {"a": ("command:/opt/bin/speak --key secret",), "b": ("host",), "judge": ("host",)}

    assert ("Researcher A", "command:speak") in adversarial(rounds=1, cast=cast).appendix.cast
