"""A format is copied into a folder that stands alone, with its comments, and nothing is ever overwritten."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from own_formats import EXTENDING, RUBRIC, written

from debate_orchestrator.core.format import Format
from debate_orchestrator.engine import format_check
from debate_orchestrator.formats import loader
from debate_orchestrator.formats import source as source_module
from debate_orchestrator.formats.scaffold import copy_format
from debate_orchestrator.util import resources
from debate_orchestrator.util.data import read_mapping
from debate_orchestrator.util.errors import BadFile, BadFormat


def plain(made: Format) -> Format:
    """A format without what its folder gives it: its name, its rubric's, and where its templates lie."""
    data = made.model_dump() | {"name": "x"}
    data["rubric"]["name"] = "x"
    for group in source_module.GROUPS:
        for phase in data[group]:
            phase["template"] = (phase["template"] or phase["name"]).rpartition("/")[2]
    return Format.model_validate(data)


@pytest.mark.parametrize("name", resources.format_names())
def test_a_copy_is_what_it_was(here: Path, name: str) -> None:
    """The copy of a shipped format loads, has no mistake that the data show, and differs in its name alone."""
    taken = copy_format(name, "town-hall", "")
    draft = source_module.read_source(taken.shown_path)
    assert (taken.shown_path, draft.complaints) == ("./town-hall", [])
    assert draft.format is not None
    assert plain(draft.format) == plain(loader.load(name))
    assert not [phase for phase in draft.format.phases() if "/" in phase.template]
    assert sorted(taken.files) == sorted(os.listdir("town-hall"))
    assert read_mapping("town-hall/format.yaml").get("extends") is None


def test_its_comments_are_kept(here: Path) -> None:
    """The text of format.yaml is the shipped one, but for the rubric, which is beside it."""
    copy_format("adversarial", "town-hall", "")
    shipped = (resources.format_folder("adversarial") / "format.yaml").read_text("utf-8")
    assert Path("town-hall/format.yaml").read_text("utf-8") == shipped.replace(
        "rubric: research", "rubric: rubric.yaml"
    )
    rubric = (resources.prompts() / "judges/research.yaml").read_text("utf-8")
    assert Path("town-hall/rubric.yaml").read_text("utf-8") == rubric


def test_what_it_extends_is_worked_in(here: Path) -> None:
    """A copy of a format that extends another has the keys and templates of both, and needs neither."""
    own = EXTENDING + "# How it is put.\nlabels:\n  final: The End\nlines: {decline: No.}\nname: mine\n"
    folder = written(here / "mine", format_yaml=own)
    (folder / "system.md.j2").write_text('{% include "formats/adversarial/opening.md.j2" %}')
    source = source_module.read_source("./mine").format
    taken = copy_format("./mine", "copy", "deep/er")
    made = source_module.read_source(taken.shown_path).format
    text = Path(taken.shown_path, "format.yaml").read_text("utf-8")
    assert source is not None and made is not None
    assert (taken.shown_path, plain(made), made.rubric.name) == ("deep/er/copy", plain(source), "copy")
    assert "\ntitle: Short\n" in f"\n{text}" and "\nrubric: rubric.yaml\n" in text and "extends" not in text
    assert {"system.md.j2", "opening.md.j2", "speech.md.j2", "rubric.yaml"} <= set(taken.files)
    assert Path(taken.shown_path, "system.md.j2").read_text("utf-8") == '{% include "./opening.md.j2" %}'


def test_the_copy_of_a_copy(here: Path) -> None:
    """A user's format can be copied too: its own rubric comes along, and a name that it states is changed."""
    text = (written(here / "mine") / "format.yaml").read_text("utf-8")
    (here / "mine" / "format.yaml").write_text(f"name: mine\n{text}")
    copy_format("./mine", "other", "")
    assert format_check.find_mistakes("./other") == []
    assert Path("other/format.yaml").read_text("utf-8") == f"name: other\n{text}"
    assert Path("other/rubric.yaml").read_text("utf-8") == RUBRIC


def test_a_rubric_in_the_format_stays_there(here: Path) -> None:
    """A rubric that stands in format.yaml is copied with it, and needs no file."""
    folder = written(here / "mine")
    inline = "rubric:\n" + "".join(f"  {line}\n" for line in RUBRIC.splitlines())
    text = (folder / "format.yaml").read_text("utf-8").replace("rubric: rubric.yaml\n", inline)
    (folder / "format.yaml").write_text(text)
    taken = copy_format("./mine", "other", "")
    assert "rubric.yaml" not in taken.files
    assert source_module.read_source("./other").complaints == []


@pytest.mark.parametrize("there", ["file", "folder", "empty folder", "dangling link"])
def test_nothing_is_overwritten(here: Path, there: str) -> None:
    """Whatever is there already under that name stays as it is."""
    path = here / "town-hall"
    if there == "file":
        path.write_text("mine")
    elif there == "dangling link":
        path.symlink_to("nowhere")
    else:
        path.mkdir()
        (path / "format.yaml").write_text("mine") if there == "folder" else None
    before = sorted(str(one) for one in here.rglob("*"))
    with pytest.raises(BadFile, match=r"\./town-hall: a file or folder of this name already exists"):
        copy_format("adversarial", "town-hall", "")
    assert sorted(str(one) for one in here.rglob("*")) == before


@pytest.mark.parametrize("name", ["Town", "a b", "../x", "", "transcript", "a/b", "x" * 50, "a\nb"])
def test_names_that_will_not_do(here: Path, name: str) -> None:
    """A name that no format may have makes nothing."""
    with pytest.raises(BadFormat, match="formats new: "):
        copy_format("adversarial", name, "")
    assert os.listdir() == []


@pytest.mark.parametrize("source", ["nonsense", "./nowhere"])
def test_what_is_not_there_can_not_be_copied(here: Path, source: str) -> None:
    """An unknown source is told, and makes nothing."""
    with pytest.raises(BadFormat, match=r"^format: "):
        copy_format(source, "x", "")
    assert os.listdir() == []


def test_what_is_ill_made_is_not_copied(here: Path) -> None:
    """The mistakes of a source are told in place of a copy of them."""
    written(here / "mine", format_yaml="title: x\n")
    with pytest.raises(BadFormat, match="the key 'about' is missing"):
        copy_format("./mine", "x", "")


def test_where_nothing_can_be_made(here: Path) -> None:
    """A place that is no folder is told."""
    (here / "file").write_text("")
    with pytest.raises(BadFile, match="the folder can't be made"):
        copy_format("adversarial", "x", "file")
