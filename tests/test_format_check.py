"""A format is looked over whole: everything that is wrong is told at once, in order, and nothing ever breaks."""

from __future__ import annotations

import os
import re
import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from own_formats import EXTENDING, FORMAT, written

from debate_orchestrator.engine import format_check
from debate_orchestrator.util import resources
from debate_orchestrator.util.errors import BadFormat, DebateError

PLACED = re.compile(r"^\S+/[\w.-]+:\d+: ")
LINES = FORMAT.splitlines(keepends=True)
JUNK = [
    "", "x", " ", "\t", "-", ": ", "0", "99999999999999999999", "null", "[", "{a: b}", "'", "&a", "\x00", "\u2028",
    "no",
]  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("name", resources.format_names())
def test_shipped_formats_are_well_made(name: str) -> None:
    """No shipped format has a mistake that is told of a user's, and every debate by it can be played and told."""
    assert format_check.find_mistakes(name) == []


def test_a_good_format_loads(here: Path) -> None:
    """A format without mistakes is loaded from its folder, or by its file, and is called after the folder."""
    written(here / "mine")
    assert format_check.find_mistakes("./mine") == []
    assert format_check.load("mine/format.yaml").name == "mine"


def test_everything_comes_at_once(here: Path) -> None:
    """Mistakes in the data, in what hangs together, in the rubric and in templates are told in one go, in order."""
    text = FORMAT.replace("words: 100", "word: 100").replace("reply: final", "reply: finale")
    written(here / "mine", format_yaml=text, rubric_yaml="least: 0\n", speech_md_j2="{{ othr }}", vote_md_j2="{% if %}")
    with pytest.raises(BadFormat) as refused:
        format_check.load("./mine")
    places = [one.split(": ")[0] for one in refused.value.complaints]
    yaml, rubric = "./mine/format.yaml", "./mine/rubric.yaml"
    lines = [f"{yaml}:24", *[f"{rubric}:1"] * 2, "./mine/speech.md.j2:1", "./mine/vote.md.j2:1"]
    assert places == lines


def test_what_hangs_together_is_told_beside_wrong_values(here: Path) -> None:
    """A key that is misspelt in one place does not hide a shape that is missing in another."""
    text = FORMAT.replace("words: 100", "word: 100").replace("reply: final", "reply: finale")
    told = format_check.find_mistakes(str(written(here / "mine", format_yaml=text)))
    assert ["'word'" in told[0], "'finale'" in told[1], len(told)] == [True, True, 2]


def test_what_is_inherited_is_told_where_it_stands(here: Path) -> None:
    """A value of the extended format that does not go with the user's is told by that format's file and line."""
    decline = "I DECLINE TO ARGUE THIS POSITION."
    written(here / "mine", format_yaml=f"{EXTENDING}lines: {{concede: {decline}}}\n")
    base = (resources.format_folder("adversarial") / "format.yaml").read_text("utf-8").split("\n")
    line = next(n for n, said in enumerate(base, start=1) if said.startswith("  decline:"))
    (told,) = format_check.find_mistakes("./mine")
    assert told.startswith(f"prompts/formats/adversarial/format.yaml:{line}: lines.decline: '{decline[:5]}")


@pytest.mark.slow
def test_extending_is_enough(here: Path) -> None:
    """A format that is nothing but what it changes is whole: its templates are those of the one that it extends."""
    (here / "mine").mkdir()
    (here / "mine" / "format.yaml").write_text(EXTENDING)
    made = format_check.load("./mine")
    assert (made.name, made.title, made.rounds.most) == ("mine", "Short", 2)
    assert made.round[0].template == "adversarial/opening"


@pytest.mark.slow
def test_an_inherited_template_is_told_where_it_is_used(here: Path) -> None:
    """A shipped template that can't be taken by a seat is told at the phase that gives it to that seat."""
    asking = "before:\n  - name: opening\n    title: Question\n    tag: Q\n    seats: [judge]\n"
    (here / "mine").mkdir()
    (here / "mine" / "format.yaml").write_text(EXTENDING + asking)
    told = format_check.find_mistakes("./mine")
    for name, file in (("other", "shared/debater"), ("spoken", "formats/adversarial/opening")):
        assert any(
            one.startswith("./mine/format.yaml:6: before[0]: ") and repr(name) in one and f"prompts/{file}.md.j2" in one
            for one in told
        ), name


@pytest.mark.parametrize("given", ["./nowhere", "nowhere/format.yaml", ".", "~nobody/x", "x.yaml", "/", "a\0/b"])
def test_where_no_format_is(here: Path, given: str) -> None:
    """A path without a format.yaml is told as such."""
    with pytest.raises(BadFormat, match=r"^format: .* is not a folder with a format\.yaml in it"):
        format_check.load(given)


@st.composite
def changed(draw: st.DrawFn) -> str:
    """The small format with lines dropped, doubled, moved, cut or with junk in them."""
    lines = list(LINES)
    for _ in range(draw(st.integers(1, 3))):
        n = draw(st.integers(0, len(lines) - 1))
        how = draw(st.sampled_from(["drop", "double", "indent", "dedent", "swap", "value", "junk", "cut"]))
        line = lines[n]
        at = draw(st.integers(0, len(line)))
        junk = draw(st.sampled_from(JUNK))
        head, colon, _ = line.partition(": ")
        lines[n] = {
            "drop": "",
            "double": line * 2,
            "indent": f"  {line}",
            "dedent": line.removeprefix("  "),
            "swap": lines[(n + 1) % len(lines)],
            "value": f"{head}{colon}{junk}\n",
            "junk": line[:at] + junk + line[at:],
            "cut": f"{line[:at]}\n",
        }[how]
    return "".join(lines)


@pytest.mark.slow
@settings(max_examples=12)
@given(changed() | st.text(max_size=60).map(lambda junk: FORMAT[:200] + junk + FORMAT[200:]))
def test_whatever_is_written_loads_or_is_told(text: str) -> None:
    """However a format.yaml is changed, it loads, or each complaint about it is one line with its file and line."""
    with tempfile.TemporaryDirectory() as folder:
        path = written(Path(folder) / "mine")
        (path / "format.yaml").write_bytes(text.encode("utf-8", "surrogatepass"))
        try:
            told = format_check.find_mistakes(os.fspath(path))
        except DebateError as error:
            told = error.complaints
            assert told
        assert [one for one in told if not PLACED.match(one) or "\n" in one] == []


def test_unknown_keys_are_told_up_to_a_hundred(here: Path) -> None:
    """Of a thousand unknown keys a hundred are complained of."""
    written(here / "mine", format_yaml=FORMAT + "".join(f"z{n}: 1\n" for n in range(1000)))
    assert sum(": 'z" in one and "is not a key here" in one for one in format_check.find_mistakes("./mine")) == 100
