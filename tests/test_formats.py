"""Formats read from prompts/: what the shipped ones say, and the agenda that is shown of them."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest
from core.folding import agenda as stages
from core.folding import play_debate
from corpus import for_each
from own_formats import EXTENDING, FILES, write_format

from debate_orchestrator.formats import loader
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
def test_shipped_templates_do_not_travel(name: str) -> None:
    """Templates of a shipped format stay where they are, but for a line that leads to an inherited system text."""
    made, travelling = loader.load_with_templates(name)
    assert travelling.keys() <= {f"formats/{name}/system.md.j2"}
    assert loader.digests(made, travelling).keys() >= {loader.task_template(made, phase) for phase in made.phases()}


def test_ones_own_templates_travel(here: Path) -> None:
    """All templates of a user's folder travel, by the path that they would have in prompts/; what is shipped is not."""
    folder = write_format(here / "mine", format_yaml=EXTENDING)
    (folder / "opening.md.j2").write_text("Open.")
    made, travelling = loader.load_with_templates("./mine")
    names = {name for name in FILES if name.endswith(".j2")} | {"opening.md.j2", "system.md.j2"}
    assert travelling.keys() == {f"formats/mine/{name}" for name in names}
    assert travelling["formats/mine/system.md.j2"] == '{% include "shared/system.md.j2" %}'
    digests = loader.digests(made, travelling)
    assert digests["formats/mine/opening.md.j2"] == hashlib.sha256(b"Open.").hexdigest()
    assert resources.digests("adversarial").items() <= digests.items()


def test_an_inherited_system_text_is_led_to(here: Path) -> None:
    """A system text in the folder is the format's; else the nearest that it inherits; else the shared one."""
    folder = write_format(here / "mine")
    base = write_format(here / "base") / "system.md.j2"
    base.write_text("Hello.")
    draft = loader.read_source("./mine")
    inheriting = draft._replace(folders=(*draft.folders, loader.find("./base")))
    assert (
        loader.carried_templates(inheriting)["formats/mine/system.md.j2"] == '{% include "formats/base/system.md.j2" %}'
    )
    (folder / "system.md.j2").write_text("Mine.")
    assert loader.carried_templates(loader.read_source("./mine"))["formats/mine/system.md.j2"] == "Mine."


def _setting(name: str, chosen: bool) -> str:
    return f"unless {name}" if chosen else f"only if {name}"


@for_each([1, 2, 3, 8])
def test_the_agenda_shown_is_the_one_played(rounds: int) -> None:
    """What is shown of a format before the first speech is what a debate of that size goes through."""
    shown = loader.stage_list(loader.load("adversarial"), rounds, "strict", _setting)
    plain = [tuple(ids) for _, how, ids in shown if "only" not in how and "unless" not in how]
    assert plain == stages(rounds, 1, "a")
    assert plain == [tuple(turn.id for turn in stage) for stage in play_debate(rounds, 1).stages]


def test_the_agenda_says_how_a_stage_comes_about() -> None:
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
        ("closing", "alone", ["final.verdict.judge"]),
        ("closing", "alone", ["final.dissent.judge"]),
    ]
    assert shown[-1] == ("closing", "only after findings, unless brief", ["final.brief-revised.rapporteur"])


@for_each(["", ".", "..", "../formats/adversarial", "Adversarial", "adversarial/", "x\ny", "/tmp"])
def test_only_a_name_is_a_format(name: str) -> None:
    """A path or a name that is none is refused in one line, with the names there are."""
    with pytest.raises(BadFormat, match=r"adversarial.*`debate formats` lists them") as refused:
        resources.format_folder(name)
    assert "\n" not in refused.value.problems[0]
