"""Formats as they are written: found, read, laid over what they extend, and copied; nothing is ever overwritten."""

from __future__ import annotations

import json
import os
import re
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from corpus import for_each
from own_formats import EXTENDING, FILES, FORMAT, RUBRIC, write_format

from debate_orchestrator.core.fold import fold
from debate_orchestrator.core.format import Format
from debate_orchestrator.core.values import FrozenModel, formerly, under_first_field_names
from debate_orchestrator.engine import format_check
from debate_orchestrator.formats import loader
from debate_orchestrator.formats.loader import copy_format
from debate_orchestrator.prompting import briefs, rendering
from debate_orchestrator.setup import risks
from debate_orchestrator.util import resources
from debate_orchestrator.util.data import read_mapping
from debate_orchestrator.util.errors import BadFile, BadFormat

INLINE = "{min: 1, max: 2, criteria: {x: {title: X, about: x}}, strictness: {s: {about: s, judge: s, debaters: s}}}"


@pytest.fixture
def shelf(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The folder of shipped formats, to which some may be added."""
    prompts = tmp_path / "prompts"
    shutil.copytree(resources.prompts(), prompts)
    monkeypatch.setattr(resources, "prompts", lambda: prompts)
    for kept in (loader._shipped, resources.format_folder, rendering.shipped_sandbox):
        kept.cache_clear()
    yield prompts / "formats"
    for kept in (loader._shipped, resources.format_folder, rendering.shipped_sandbox):
        kept.cache_clear()


def problems(text: str, folder: Path, **files: str) -> list[str]:
    return loader.read_source(str(write_format(folder, format_yaml=text, **files))).problems


# Finding


@pytest.mark.parametrize("given", ["./mine", "mine/", "mine/format.yaml", "../{here}/mine", "{cwd}/mine", "~/mine"])
def test_a_path_is_a_format(here: Path, given: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A folder with a format.yaml, or that file, is a format by whatever path leads there."""
    monkeypatch.setenv("HOME", str(here))
    write_format(here / "mine")
    draft = loader.read_source(given.format(here=here.name, cwd=here))
    assert (draft.name, draft.shipped, draft.problems) == ("mine", False, [])


@for_each(["adversarial", "x", "X Y", "rubric"])
def test_a_bare_name_is_no_path(name: str) -> None:
    """Without a separator, a leading dot or tilde, or .yaml at its end, it is a shipped format's name."""
    assert not loader.is_path(name)


def test_a_folder_of_its_own_name_does_not_hide_a_shipped_format(here: Path) -> None:
    """A folder here that has a shipped format's name is not what that name means."""
    write_format(here / "adversarial")
    assert loader.read_source("adversarial").shipped


def test_a_shipped_folder_is_the_shipped_format() -> None:
    """The path of a shipped format is that format, by its name."""
    draft = loader.read_source(str(resources.format_folder("adversarial")))
    assert (draft.shipped, draft.name, draft.problems) == (True, "adversarial", [])


@pytest.mark.parametrize(("name", "said"), [("transcript", "of a shipped format"), ("My Format", "lower-case letters")])
def test_what_a_format_may_be_called(here: Path, name: str, said: str) -> None:
    """A user's format has a plain name that no shipped format has."""
    with pytest.raises(BadFormat, match=said) as refused:
        problems(FORMAT, here / name)
    assert refused.value.problems[0].startswith(f"{here / name}/format.yaml:1: the folder's name: {name!r}")


# Extending


def test_keys_are_replaced_and_four_go_deeper(here: Path) -> None:
    """A key replaces the extended format's, and so does its former name, but four are merged by their keys."""
    own = "panel: 2\nlabels: {final: The End, persisted: Still}\nseats: {a: {name: Anna, tag: A}}\n"
    own += (
        "lines: {decline: No.}\nshapes: {final: {winner: {kind: choice}}}\nafter: []\nintervention: {max_in_a_row: 2}\n"
    )
    made, base = (
        loader.read_source(str(write_format(here / "mine", format_yaml=EXTENDING + own))).format,
        loader.load("adversarial"),
    )
    assert made is not None
    assert (made.seats["a"].name, made.seats["a"].label, made.seats["b"]) == ("Anna", "", base.seats["b"])
    assert made.announcements == base.announcements.model_copy(update={"final": "The End", "converged_again": "Still"})
    assert made.judge_count == 2
    assert (made.reserved_lines.concede, made.reserved_lines.decline) == (base.reserved_lines.concede, "No.")
    assert (list(made.shapes["final"]), made.shapes["ballot"]) == (["winner"], base.shapes["ballot"])
    assert (made.after, made.round_limits.max_if_insisted, made.rubric) == ((), 8, base.rubric)
    texts = "labels: {persisted: x, converged_again: y}\n"
    for both in ("judge_count: 1\npanel: 3\n", "labels: {final: x}\nannouncements: {}\n", texts):
        with pytest.raises(BadFormat, match=r"'(panel|labels|persisted)' is not a key here"):
            loader.load(str(write_format(here / "both" / "mine", format_yaml=EXTENDING + both)))


def test_former_names_are_read(here: Path) -> None:
    """A folder whose keys and kinds have the names of an earlier version is the same format, in templates too."""
    names = {"max_if_insisted": "insist", "max": "most", "min": "least", "announcements": "labels", "options": "of"}
    names |= {"converged_again": "persisted", "target_words": "words", "triggered_by": "on", "simultaneous": "at once"}
    names |= {
        "object": "record",
        "boolean": "flag",
        "enabled_by": "option",
        "setting": "option",
        "id_prefix": "numbered",
    }
    names |= {"judged_by_format": "judged_by", "speeches only": "transcript", "judges: first": "voters: first"}
    kept = (
        FORMAT + "  list: {points: {kind: list, id_prefix: P, when: {setting: [issues]}, fields: {x: {kind: text}}}}\n"
    )
    kept += "report: speeches only\njudged_by_format: mine\n"
    order = "    order: simultaneous\n"
    kept = kept.replace(order, f"{order}    enabled_by: each round\n    judges: first judge\n", 1)
    text, rubric, speech = kept, RUBRIC, "{{ words }} {{ turn.phase.words }} {{ labels.persisted }}"
    for name, former in names.items():
        text, rubric = (re.sub(rf"\b{name}\b", former, file) for file in (text, rubric))
    folder = str(write_format(here / "former" / "mine", format_yaml=text, rubric_yaml=rubric, speech_md_j2=speech))
    assert loader.load(folder) == loader.load(str(write_format(here / "mine", format_yaml=kept)))
    assert not format_check.find_problems(folder)


def test_what_a_digest_names_outlives_a_renaming() -> None:
    """A field that is renamed or moved, and a new one at its default, leave what is agreed to as it was; a value does
    not."""

    class Before(FrozenModel):
        words: int = 0
        about: str = ""
        parts: tuple[FrozenModel, ...] = ()

    class Now(FrozenModel):
        model_config = formerly(max_words=("words", "most_words"))

        about: str = ""
        rounds: int = 1
        parts: tuple[FrozenModel, ...] = ()
        max_words: int = 0

    before = Before(words=5, about="x", parts=(Before(words=2),))
    kept, changed = (Now(max_words=5, about="x", parts=(Now(max_words=words),)) for words in (2, 3))
    assert json.dumps(under_first_field_names(kept)) == json.dumps(under_first_field_names(before))
    assert risks._digest(kept, {}) == risks._digest(before, {}) != risks._digest(changed, {})  # type: ignore[arg-type]
    assert under_first_field_names(changed) == {"about": "x", "parts": [{"words": 3}], "words": 5}


def test_templates_are_inherited_by_their_path(here: Path) -> None:
    """A template that the folder lacks is the extended format's; one that it has is its own."""
    folder = write_format(here / "mine", format_yaml=EXTENDING)
    (folder / "opening.md.j2").write_text("Open.")
    made = loader.read_source(str(folder)).format
    assert made is not None
    assert [phase.template for phase in made.round[:3]] == ["", "adversarial/constructive", "adversarial/challenge"]
    assert made.after[0].template == "adversarial/final-verdict"


@pytest.mark.parametrize("base", ["advers", 5, "./mine", "mine"])
def test_what_can_not_be_extended(here: Path, base: object) -> None:
    """Only shipped formats can be extended, and the nearest is named."""
    found = problems(f"extends: {base}\n", here / "mine")
    assert found[0].startswith(f"{here}/mine/format.yaml:1: extends: {base!r} is not a shipped format; use one of")
    assert ("Did you mean 'adversarial'?" in found[0]) == (base == "advers")


def test_shipped_formats_extend_each_other(shelf: Path) -> None:
    """A chain goes on to the next: keys and templates come from the nearest that has them."""
    write_format(shelf / "middle", format_yaml=f"{EXTENDING}about: In the middle.\n")
    (shelf / "last").mkdir()
    (shelf / "last" / "format.yaml").write_text("extends: middle\ntitle: Last\n")
    (shelf / "middle" / "opening.md.j2").write_text("Open.")
    made = loader.load("last")
    assert (made.title, made.about, made.round_limits.max) == ("Last", "In the middle.", 2)
    assert [phase.template for phase in made.round[:2]] == ["middle/opening", "adversarial/constructive"]
    assert {"formats/middle/opening.md.j2", "formats/adversarial/challenge.md.j2"} <= set(loader.digests(made, {}))


def test_a_shipped_format_inherits_a_system_text(shelf: Path) -> None:
    """Where a shipped format has a system text of its own, those that extend it have it too, and it is on record."""
    write_format(shelf / "base", **{"system.md.j2": "Hello."})
    (shelf / "last").mkdir()
    (shelf / "last" / "format.yaml").write_text("extends: base\n")
    for name in ("base", "last"):
        made, own_templates = loader.load_with_templates(name)
        debate = fold([format_check.sample_opened(made, own_templates)])
        assert briefs.brief(debate, debate.due[0]).system == "Hello."
        assert "formats/base/system.md.j2" in loader.digests(made, own_templates)


def test_no_format_extends_itself(shelf: Path) -> None:
    """A circle is a mistake, told where it closes."""
    for name, base in (("one", "two"), ("two", "one")):
        (shelf / name).mkdir()
        (shelf / name / "format.yaml").write_text(f"extends: {base}\n")
    with pytest.raises(BadFormat, match=r"prompts/formats/two/format\.yaml:1: extends: 'one' extends this"):
        loader.load("one")


# The rubric


@pytest.mark.parametrize(
    ("said", "name"), [("research", "research"), ("rubric.yaml", "mine"), ("hard.yaml", "hard"), (INLINE, "mine")]
)
def test_a_rubric_is_named_or_given(here: Path, said: str, name: str) -> None:
    """A rubric is a shipped one by name, a file beside the format, or is in it; it has a name in each case."""
    text = FORMAT.replace("rubric: rubric.yaml", f"rubric: {said}")
    draft = loader.read_source(str(write_format(here / "mine", format_yaml=text, **{"hard.yaml": RUBRIC})))
    assert draft.format is not None
    assert draft.format.rubric.name == name


@pytest.mark.parametrize("said", ["../rubric.yaml", "none.yaml", "[a]"])
def test_a_rubric_that_is_not_there(here: Path, said: str) -> None:
    """A rubric elsewhere, or that is none, is refused with the line that names it."""
    write_format(here)
    with pytest.raises(BadFile, match=r"format\.yaml:\d+: rubric: .* should be "):
        problems(FORMAT.replace("rubric: rubric.yaml", f"rubric: {said}"), here / "mine")


# Templates of one's own


def test_templates_that_can_not_be_read(here: Path) -> None:
    """Templates that are not text, or are too large in all, are reported by their names."""
    folder = write_format(here / "mine")
    (folder / "bad.md.j2").write_bytes(b"\xff")
    for n in range(3):
        (folder / f"{n}.md.j2").write_text("x" * (loader.MAX_TEMPLATES // 2))
    found = loader.read_source("./mine").problems
    assert [one.split(": ")[0] for one in found] == ["./mine/bad.md.j2", "./mine/"]


def test_templates_with_names_that_will_not_do(here: Path) -> None:
    """A template with an odd name is reported on one line; what an editor hides is left alone."""
    folder = write_format(here / "mine")
    for name in ("a\nb.md.j2", "a b.md.j2", ".#speech.md.j2"):
        (folder / name).write_text("x")
    found = loader.read_source("./mine").problems
    assert [one.partition(" should have")[0] for one in found] == [
        r"./mine/: the template 'a\nb.md.j2'",
        "./mine/: the template 'a b.md.j2'",
    ]


def test_everything_has_a_place(here: Path) -> None:
    """A value is placed by its file and line, whatever is missing in it by what it should be in."""
    draft = loader.read_source(str(write_format(here / "mine")))
    home = os.path.join(here, "mine")
    assert draft.where(("round", 1, "reply")) == f"{home}/format.yaml:30: round[1].reply"
    assert draft.where(("round", 1, "words")) == f"{home}/format.yaml:25: round[1].words"
    assert draft.where(("rubric", "criteria", "wit")) == f"{home}/rubric.yaml:4: rubric.criteria.wit"
    assert draft.where(()) == f"{home}/format.yaml:2"
    assert set(draft.texts) == {name for name in FILES if name.endswith(".j2")}


def unnamed(made: Format) -> Format:
    """A format without what its folder gives it: its name, its rubric's, and where its templates lie."""
    data = made.model_dump() | {"name": "x"}
    data["rubric"]["name"] = "x"
    for section in loader.SECTIONS:
        for phase in data[section]:
            phase["template"] = (phase["template"] or phase["name"]).rpartition("/")[2]
    return Format.model_validate(data)


@pytest.mark.parametrize("name", resources.format_names())
def test_a_copy_is_what_it_was(here: Path, name: str) -> None:
    """The copy of a shipped format loads, has no mistake that the data show, and differs in its name alone."""
    taken = copy_format(name, "town-hall", "")
    draft = loader.read_source(taken.shown_path)
    assert (taken.shown_path, draft.problems) == ("./town-hall", [])
    assert draft.format is not None
    assert unnamed(draft.format) == unnamed(loader.load(name))
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
    rubric = (resources.prompts() / "rubrics/research.yaml").read_text("utf-8")
    assert Path("town-hall/rubric.yaml").read_text("utf-8") == rubric


def test_what_it_extends_is_worked_in(here: Path) -> None:
    """A copy of a format that extends another has the keys and templates of both, and needs neither."""
    own = EXTENDING + "# How it is put.\nlabels:\n  final: The End\nlines: {decline: No.}\nname: mine\n"
    folder = write_format(here / "mine", format_yaml=own)
    (folder / "system.md.j2").write_text('{% include "formats/adversarial/opening.md.j2" %}')
    source = loader.read_source("./mine").format
    taken = copy_format("./mine", "copy", "deep/er")
    made = loader.read_source(taken.shown_path).format
    text = Path(taken.shown_path, "format.yaml").read_text("utf-8")
    assert source is not None and made is not None
    assert (taken.shown_path, unnamed(made), made.rubric.name) == ("deep/er/copy", unnamed(source), "copy")
    assert "\ntitle: Short\n" in f"\n{text}" and "\nrubric: rubric.yaml\n" in text and "extends" not in text
    assert {"system.md.j2", "opening.md.j2", "speech.md.j2", "rubric.yaml"} <= set(taken.files)
    assert Path(taken.shown_path, "system.md.j2").read_text("utf-8") == '{% include "./opening.md.j2" %}'


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


@pytest.mark.parametrize("source", ["nonsense", "./nowhere"])
def test_what_is_not_there_can_not_be_copied(here: Path, source: str) -> None:
    """An unknown source is reported, and makes nothing."""
    with pytest.raises(BadFormat, match=r"^format: "):
        copy_format(source, "x", "")
    assert os.listdir() == []
