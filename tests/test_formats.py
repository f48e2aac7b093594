"""Formats read from prompts/: what the shipped ones say, the stages that are shown of them, the bounds of their
numbers, and how what does not fit a model is reported."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any, Literal

import pytest
from conftest import Run
from core import folding
from core.folding import play_debate
from core.folding import stages_of as stages
from corpus import for_each
from own_formats import EXTENDING, FILES, FORMAT, write_format
from pydantic import model_validator
from scripted_debates import shipped_format

from debate_orchestrator.core.format import Format, InvalidFormat
from debate_orchestrator.core.values import FrozenModel
from debate_orchestrator.engine.budget import estimate_debate
from debate_orchestrator.formats import loader
from debate_orchestrator.formats.validation import key_path, validate
from debate_orchestrator.util import resources
from debate_orchestrator.util.errors import BadFormat

NAMES = resources.format_names()


@for_each(NAMES)
def test_every_shipped_format_loads(name: str) -> None:
    """Every format in prompts/ is well made, is called after its folder, and has a template for each phase."""
    made = loader.load(name)
    assert made.name == name
    assert all((resources.prompts() / loader.task_template(made, phase)).is_file() for phase in made.phases())


# One's own


def test_ones_own_is_read_again(here: Path) -> None:
    """A user's format is as its folder is now, however often it was loaded before."""
    folder = write_format(here / "mine")
    assert loader.load("./mine").title == "Small"
    (folder / "format.yaml").write_text(FILES["format.yaml"].replace("title: Small", "title: Smaller"))
    assert loader.load("./mine").title == "Smaller"


@for_each(NAMES)
def test_shipped_templates_are_not_copied(name: str) -> None:
    """Templates of a shipped format stay where they are, but for a line that leads to an inherited system text."""
    made, own = loader.load_with_templates(name)
    assert own.keys() <= {f"formats/{name}/system.md.j2"}
    assert loader.digests(made, own).keys() >= {loader.task_template(made, phase) for phase in made.phases()}


def test_ones_own_templates_are_copied(here: Path) -> None:
    """All templates of a user's folder are copied, by their paths in prompts/; shipped ones are not."""
    folder = write_format(here / "mine", format_yaml=EXTENDING)
    (folder / "opening.md.j2").write_text("Open.")
    made, own = loader.load_with_templates("./mine")
    names = {name for name in FILES if name.endswith(".j2")} | {"opening.md.j2", "system.md.j2"}
    assert own.keys() == {f"formats/mine/{name}" for name in names}
    assert own["formats/mine/system.md.j2"] == '{% include "shared/system.md.j2" %}'
    digests = loader.digests(made, own)
    assert digests["formats/mine/opening.md.j2"] == hashlib.sha256(b"Open.").hexdigest()
    assert resources.digests("adversarial").items() <= digests.items()


def test_an_inherited_system_text_is_led_to(here: Path) -> None:
    """A system text in the folder is the format's; else the nearest that it inherits; else the shared one."""
    folder = write_format(here / "mine")
    base = write_format(here / "base") / "system.md.j2"
    base.write_text("Hello.")
    draft = loader.read_source("./mine")
    inheriting = draft._replace(folders=(*draft.folders, loader.find("./base")))
    assert loader.own_templates(inheriting)["formats/mine/system.md.j2"] == '{% include "formats/base/system.md.j2" %}'
    (folder / "system.md.j2").write_text("Mine.")
    assert loader.own_templates(loader.read_source("./mine"))["formats/mine/system.md.j2"] == "Mine."


def _setting(name: str, chosen: bool) -> str:
    return f"unless {name}" if chosen else f"only if {name}"


@for_each([1, 2, 3, 8])
def test_the_stages_shown_are_those_played(rounds: int) -> None:
    """What is shown of a format before the first speech is what a debate of that size goes through."""
    shown = loader.stage_list(loader.load("adversarial"), rounds, "strict", _setting)
    plain = [tuple(ids) for _, how, ids in shown if "only" not in how and "unless" not in how]
    assert plain == stages(rounds, 1, "a")
    assert plain == [tuple(turn.id for turn in stage) for stage in play_debate(rounds, 1).stages]


def test_it_is_said_how_a_stage_comes_about() -> None:
    """Stages are reported by their round, in turn or at once, and what depends on a finding says so."""
    shown = loader.stage_list(loader.load("adversarial"), 2, "lenient", _setting)
    assert shown[0] == ("before", "alone, only if blind", ["start.blind.judge"])
    assert shown[1] == ("before", "alone, unless issues", ["start.issues.rapporteur"])
    assert shown[2] == ("before", "together with the previous turn, unless brief", ["start.advice.rapporteur"])
    shown = shown[3:]
    assert shown[0] == ("round 1", "in turn", ["1.opening.a"])
    assert shown[2] == ("round 1", "simultaneously", ["1.challenge.a", "1.challenge.b"])
    assert shown[5] == (
        "round 1",
        "only after convergence, for the sides it names",
        ["1.divergence.a", "1.divergence.b"],
    )
    assert shown[-5:-3] == [
        ("after", "alone", ["final.verdict.judge"]),
        ("after", "alone", ["final.dissent.judge"]),
    ]
    assert shown[-1] == ("after", "only after findings, unless brief", ["final.brief-revised.rapporteur"])


@for_each(["", ".", "..", "../formats/adversarial", "Adversarial", "adversarial/", "x\ny", "/tmp"])
def test_only_a_name_is_a_format(name: str) -> None:
    """A path or a name that is none is refused in one line, with the names there are."""
    with pytest.raises(BadFormat, match=r"adversarial.*`debate formats` lists them") as refused:
        resources.format_folder(name)
    assert "\n" not in refused.value.problems[0]


WINNER = "    winner: {kind: choice, options: [a, b, tie, consensus]}\n"


def nested(depth: int, **limits: Any) -> dict[str, Any]:
    """A list of lists of ... lists of texts, each with the same limits."""
    field: dict[str, Any] = {"kind": "list", **limits}
    for _ in range(depth - 1):
        field = {"kind": "list", **limits, "fields": {"x": field}}
    return field


def per_issue(depth: int) -> dict[str, Any]:
    """Records within records, each of them for every issue."""
    inner = {"kind": "text"} if depth == 1 else per_issue(depth - 1)
    return {"kind": "object", "per_issue": True, "fields": {"x": inner}}


TOO_LARGE = [
    ({"kind": "list", "min": 1e9}, "has 1e+09 as `min`; it must be from 0 to 100"),
    ({"kind": "list", "max": 101}, "has 101 as `max`; it must be from 0 to 100"),
    ({"kind": "list", "min": -1}, "has -1 as `min`; it must be from 0 to 100"),
    ({"kind": "number", "max": 1e300}, "has 1e+300 as `max`; it must be from -1,000,000 to 1,000,000"),
    ({"kind": "number", "min": -1e300}, "has -1e+300 as `min`; it must be from -1,000,000 to 1,000,000"),
    ({"kind": "text", "max_words": 0}, "max_words: 0 should be greater than or equal to 1."),
    ({"kind": "text", "target_words": 10**30}, "should be less than or equal to 20000."),
    ({"kind": "choice", "options": ["x"] * 101}, "extra.options: a list should be of at most 100 entries."),
    (nested(4, min=100, max=100), "characters; at most 400,000"),
    (nested(2, min=100, optional=True), "final asks for replies of about"),
    (per_issue(3), "characters; at most 400,000"),
]


@for_each(TOO_LARGE, "field", "said")
def test_a_format_that_asks_for_too_much_is_refused(debate: Run, here: Path, field: dict[str, Any], said: str) -> None:
    """It is refused in one sentence, before anything is played."""
    text = FORMAT.replace(WINNER, f"{WINNER}    extra: {json.dumps(field)}\n")
    ran = debate("formats", str(write_format(here / "mine", format_yaml=text)))

    assert ran.code == 2 and said in ran.err and "Traceback" not in ran.err
    assert ran.err.count("mine/format.yaml:") == 1


def test_a_brief_after_no_speech_is_rehearsed_or_reported() -> None:
    """A format may have a decision brief and no speech; then a stand-in has none to name."""
    data = shipped_format("adversarial").model_dump(mode="json")
    for group in ("before", "round", "after"):
        data[group] = [phase for phase in data[group] if phase["reply"] != "text"]
    opened = folding.opened(1, rules=Format.model_validate(data), brief=True)
    assert "ZeroDivisionError" not in estimate_debate(opened).sentence()


class Guest(FrozenModel):
    """A guest at a table."""

    name: str
    age: int | None = None
    diet: Literal["meat", "plants"] | int = "meat"


class Dinner(FrozenModel):
    """A model that does not hang together where a guest is called Zoe."""

    host: str
    guests: tuple[Guest, ...]
    seats: dict[str, Guest] = {}
    late: bool = False
    price: float = 1.5

    @model_validator(mode="after")
    def _hangs_together(self) -> Dinner:
        wrong = [(("guests", n), f"{one.name} comes") for n, one in enumerate(self.guests) if one.name == "Zoe"]
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


INVALID = [
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
    for changes, said in INVALID:
        problems = problems_of(**changes)
        assert [one for one in problems if said in one], problems
        assert len(problems) <= 2, changes


def test_what_does_not_hang_together() -> None:
    """Each is a problem of its own, at its own place."""
    guests = [{"name": "Zoe"}, {"name": "Bob"}, {"name": "Zoe"}]
    assert problems_of(guests=guests) == ["guests[0]: Zoe comes.", "guests[2]: Zoe comes."]


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
