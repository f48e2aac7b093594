"""What does not fit a model is reported with its place, what came, what was expected, and what it may have been."""

from __future__ import annotations

from typing import Any, Literal

from corpus import for_each
from pydantic import model_validator

from debate_orchestrator.core.format import InvalidFormat
from debate_orchestrator.core.values import FrozenModel
from debate_orchestrator.formats.validation import key_path, validate


class Guest(FrozenModel):
    """A guest at a table."""

    name: str
    age: int | None = None
    diet: Literal["meat", "plants"] | int = "meat"


class Dinner(FrozenModel):
    """A model that does not hang together where a guest is called Nobody."""

    host: str
    guests: tuple[Guest, ...]
    seats: dict[str, Guest] = {}
    late: bool = False
    price: float = 1.5

    @model_validator(mode="after")
    def _hangs_together(self) -> Dinner:
        wrong = [(("guests", n), f"{one.name} comes") for n, one in enumerate(self.guests) if one.name == "Nobody"]
        wrong += [(("late",), f"{self.host} is late")] if self.late else []
        if wrong:
            raise InvalidFormat(wrong)
        return self


GOOD: dict[str, Any] = {"host": "Ann", "guests": [{"name": "Bob"}]}


def problems_of(**changes: Any) -> list[str]:
    made, problems = validate(Dinner, GOOD | changes, key_path)
    assert made is None
    return problems


def test_what_fits_is_made() -> None:
    """Data that fit make the value, without a complaint."""
    made, problems = validate(Dinner, GOOD, key_path)
    assert (made, problems) == (Dinner.model_validate(GOOD), [])


MISFITS = [
    ({"hots": "Ann"}, "hots: 'hots' is not a key here. Did you mean 'host'?"),
    ({"guests": [{"nam": "Bob"}]}, "guests[0]: the key 'name' is missing."),
    ({"guests": "Bob"}, "guests: 'Bob' should be a list."),
    ({"guests": [{"name": "Bob", "age": "old"}]}, "guests[0].age: 'old' should be a whole number."),
    ({"guests": [{"name": "Bob", "age": 1.5}]}, "guests[0].age: 1.5 should be a whole number."),
    ({"guests": [{"name": 5}]}, "guests[0].name: 5 should be text. Put it in quotes."),
    ({"guests": [{"name": "B", "diet": "plant"}]}, "guests[0].diet: 'plant' should be 'meat' or 'plants' or"),
    ({"guests": [{"name": "B", "diet": "plant"}]}, "or a whole number. Did you mean 'plants'?"),
    ({"guests": ["Bob"]}, "guests[0]: 'Bob' should be a mapping of keys to values."),
    ({"seats": []}, "seats: [] should be a mapping of keys to values."),
    ({"seats": {"top": {"name": None}}}, "seats.top.name: nothing should be text."),
    ({"seats": {"top": {"name": "B", "agee": 1}}}, "seats.top.agee: 'agee' is not a key here. Did you mean 'age'?"),
    ({"seats": {"top": {"name": "B", "price": 1}}}, "'price' is not a key here. Try: one of name, age, diet."),
    ({"guests": [{"name": "B", "host": 1}]}, "guests[0].host: 'host' is not a key here. Try: one of name, age, diet."),
    ({"seats": {1: {"name": "B"}}}, "should be a key that is text"),
    ({"late": "perhaps"}, "late: 'perhaps' should be true or false."),
    ({"price": "much"}, "price: 'much' should be a number."),
    ({"host": {"a": ["long"] * 20}}, "host: a mapping should be text."),
]


def test_a_value_that_does_not_fit() -> None:
    """Each wrong value is reported once, in words of everyday, with what it may have been."""
    for changes, said in MISFITS:
        problems = problems_of(**changes)
        assert [one for one in problems if said in one], problems
        assert len(problems) <= 2, changes


def test_what_does_not_hang_together() -> None:
    """Each misfit is a complaint of its own, at its own place."""
    nobodies = [{"name": "Nobody"}, {"name": "Bob"}, {"name": "Nobody"}]
    assert problems_of(guests=nobodies) == ["guests[0]: Nobody comes.", "guests[2]: Nobody comes."]


def test_what_hangs_on_a_wrong_value_is_not_reported() -> None:
    """Nothing is said of what depends on a value that is missing or wrong itself."""
    assert problems_of(guests=[{}], late="perhaps") == [
        "guests[0]: the key 'name' is missing.",
        "late: 'perhaps' should be true or false.",
    ]
    assert problems_of(guests=3, late=True) == ["guests: 3 should be a list."]


@for_each([((), ""), (("round", 0, "words"), "round[0].words"), (("a\nb",), r"'a\nb'"), (("x" * 500,), "characters")])
def test_how_keys_are_written(keys: tuple[str | int, ...], said: str) -> None:
    """Keys are written with dots and brackets, on one line, and cut where they are long."""
    written = key_path(keys)
    assert said in written
    assert "\n" not in written and len(written) < 120
