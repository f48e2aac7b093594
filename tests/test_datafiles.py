"""YAML and JSON files and numbers: read as people mean them, refused where strangers might harm, written whole."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from conftest import CommandResult, Run
from core.folding import many
from corpus import for_each
from hypothesis import given
from hypothesis import strategies as st
from waiting import ended

from debate_orchestrator.cli import flags
from debate_orchestrator.cli.answers_and_flags import read_max_cost
from debate_orchestrator.host.turns_folder import read_reply
from debate_orchestrator.setup.answers import from_text
from debate_orchestrator.storage.files import write_atomic, write_over
from debate_orchestrator.util.data import (
    MAX_SIZE,
    read_mapping,
    read_mapping_with_lines,
    read_text,
    to_yaml,
)
from debate_orchestrator.util.errors import BadFile, BadReply, BadSettings
from debate_orchestrator.util.yaml import load_with_lines


def read(text: str | bytes, name: str = "x.yaml", folder: Path | None = None) -> dict[str, Any]:
    """What a file of that text holds."""
    path = (folder or Path.cwd()) / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode("utf-8", "surrogatepass"))
    return read_mapping(path)


@pytest.fixture
def refused(here: Path) -> Any:
    """What is complained of when a file of that text is read."""

    def complained(text: str | bytes, name: str = "x.yaml") -> str:
        with pytest.raises(BadFile) as error:
            read(text, name)
        (said,) = error.value.problems
        assert len(said) < 500 and "\n" not in said
        return said

    return complained


# What words mean


@for_each([
    "no", "yes", "on", "off", "n", "No", "TRUE", "1:30", "12:30:45", "2024-05-01", "2024-05-01 10:00:00", "1_000",
    "0x10", "0o17", "0b1", ".5", "5.", "1e3", "1.5e3", ".inf", "-.inf", ".nan", "=", "<<", "nil", "1.2.3", "a: b",
    "123456789012345678901", "+-1", "--1",
], "word")  # fmt: skip
def test_words_stay_words(here: Path, word: str) -> None:
    """What only a computer would take for a flag, a number, a time or a date is the word that was written."""
    value = word if ": " not in word else f"'{word}'"
    assert read(f"a: {value}\n") == {"a": word}


@for_each([
    ("true", True), ("False", False), ("7", 7), ("-7", -7), ("+7", 7), ("1.50", 1.5), ("-0.5", -0.5),
    ("null", None), ("~", None), ("", None), ("'7'", "7"), ('"true"', "true"), ("[a, 1, no]", ["a", 1, "no"]),
    ("{b: 2}", {"b": 2}),
    (">-\n  two\n  lines", "two lines"), ("|\n  kept\n  as is\n", "kept\nas is\n"),
], "text", "value")  # fmt: skip
def test_plain_values(here: Path, text: str, value: Any) -> None:
    """Flags, plain numbers, nothing, lists, mappings and blocks of text are what they look like."""
    made = read(f"a: {text}\n")
    assert (made, type(made["a"])) == ({"a": value}, type(value))


# What is refused


@for_each([
    "a: &x [1]\nb: *x", "a: *x", "&x a: 1", "a: &x {b: *x}", "<<: *x", "a: !!str 5", "a: !!int '1:30'",
    "a: !!python/object/apply:os.system [x]", "a: !own 1", "!!map {a: 1}", "a: ! x",
    "%TAG ! tag:yaml.org,2002:\n---\na: !int 7", "a: &a [x, x]\nb: &b [*a, *a]\nc: &c [*b, *b]\n",
], "text")  # fmt: skip
def test_anchors_aliases_and_tags(refused: Any, text: str) -> None:
    """Anchors, aliases and tags are refused, known tags too, with the line they are in."""
    said = refused(text)
    assert "(line " in said and ("anchors (&name)" in said or "tags (!name)" in said), said


@for_each(["[" * 100_000, '{"a":' * 100_000, '{"a":' * 5000 + "1" + "}" * 5000], "text")
def test_nesting_without_end(refused: Any, text: str) -> None:
    """However deep a file is nested, it is refused and nothing breaks."""
    assert "nest" in refused(text, "x.yaml") and "nest" in refused(text, "x.json")


@for_each(
    [
        ("a: 1\na: 2", "a"),
        ("b: {c: 1, c: 2}", "c"),
        ("a: 1\n'a': 2", "a"),
        ("1: a\n'1': b", "1"),
        ("’: 1\n’: 2", r"\u2019"),
    ],
    "text",
    "key",
)
def test_a_key_stands_once(refused: Any, text: str, key: str) -> None:
    """A key that occurs twice, at any depth and however quoted, is named with its place."""
    assert f"the key '{key}' appears twice (line " in refused(text)


@for_each([
    "a: [1", "a: 'x", "a: b: c", "\ta: 1", "a: 1\n---\nb: 2", "a: \x00", "a: \x1b[1m", "? [1]\n: 2", "{a: 1}}",
    "@: 1", "%", 'a: "\\UFFFFFFFF"', 'a: "\\U00110000"', "? [a]\n: b", "{a: " * 1_500, "- " * 1_500,
], "text")  # fmt: skip
def test_what_is_no_yaml(refused: Any, text: str) -> None:
    """What is not well formed is refused in one line with the file's name."""
    assert re.search(r"x\.yaml:\d+: not valid YAML", refused(text))


@for_each(
    [("", "is empty"), ("# x\n", "is empty"), ("- a", "a list"), ("word", "a text"), ("7", "a number")], "text", "kind"
)
def test_only_a_mapping_will_do(refused: Any, text: str, kind: str) -> None:
    """A file of anything but keys and values is refused."""
    assert f"{kind}, not a mapping" in refused(text)


@for_each(['{"a": NaN}', '{"a": 1e999}', "[1]", "null", "{'a': 1}", '{"a": 1,}', "a: 1", '{"a": "\\ud800"}'], "text")
def test_json_files_are_json(refused: Any, text: str) -> None:
    """A file that ends in .json is read as strictly as a reply."""
    assert "x.json: " in refused(text, "x.json")


@for_each(
    [(b"a: \xff", "offset 3"), ("a: 1".encode("utf-16"), "offset 0"), (b"x" * (MAX_SIZE + 1), "1,000,000")],
    "data",
    "why",
)
def test_what_is_no_text(refused: Any, data: bytes, why: str) -> None:
    """Bytes that are not UTF-8, or too many of them, are refused."""
    assert why in refused(data)


@pytest.mark.parametrize("name", ["missing", "folder", "a\0b", "a\ud800b", "x" * 5000])
def test_what_can_not_be_read(here: Path, name: str) -> None:
    """A file that is missing, a folder or no name at all is a complaint."""
    (here / "folder").mkdir()
    with pytest.raises(BadFile):
        read_text(name, 10)


# There and back

VALUE = st.recursive(
    st.none() | st.booleans() | st.integers(-(10**17), 10**17) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(min_size=1), inner, max_size=3),
    max_leaves=6,
)


@many
@given(st.dictionaries(st.text(min_size=1), VALUE, max_size=3))
def test_yaml_there_and_back(tmp_path_factory: pytest.TempPathFactory, value: dict[str, Any]) -> None:
    """Whatever text is written as YAML is read back to the letter."""
    assert read(to_yaml(value), folder=tmp_path_factory.getbasetemp()) == value


# Writing


def test_a_file_is_written_whole(here: Path) -> None:
    """The text is in the file to the letter, its folders are made, and nothing else is left behind."""
    write_atomic("deep/er/x.md", "ü\r\n\ud800\n")
    assert (here / "deep/er/x.md").read_bytes() == b"\xc3\xbc\r\n\\ud800\n"
    assert [path.name for path in (here / "deep/er").iterdir()] == ["x.md"]


@pytest.mark.parametrize("path", ["folder", "file/x", "x" * 300, "a\0b"])
def test_what_can_not_be_written(here: Path, path: str) -> None:
    """Where a file can't be written, what was there stays as it was, and nothing is left behind."""
    (here / "folder").mkdir()
    (here / "file").write_text("old")
    with pytest.raises(BadFile, match="name another output"):
        write_atomic(path, "new")
    assert sorted(one.name for one in here.iterdir()) == ["file", "folder"]
    assert ((here / "file").read_text(), list((here / "folder").iterdir())) == ("old", [])


# With lines


@for_each(
    [
        ("a: 1\nb: [\n", 3, "not valid YAML"),
        ("- a\n", 1, "not a mapping"),
        ("", 1, "is empty"),
        ('a: "\\ud800"', 1, "invalid Unicode character"),
        ("ä: ü\nb: ö\nc: \x07\n", 3, "not valid YAML"),
    ],
    "text",
    "line",
    "said",
)
def test_what_is_no_mapping_is_reported_with_its_line(tmp_path: Path, text: str, line: int, said: str) -> None:
    """A file that can't be read so is refused by its path and line."""
    path = tmp_path / "x.yaml"
    path.write_text(text)
    with pytest.raises(BadFile, match=said) as refused:
        read_mapping_with_lines(path)
    assert refused.value.problems[0].startswith(f"{path}:{line}: ")


def test_only_ones_own_is_written_over(tmp_path: Path) -> None:
    """`write_over` replaces nothing but a file that begins as such files do; an empty one counts as new."""
    path = tmp_path / "x.md"
    path.touch()
    write_over(path, "# Mine\n1", b"# Mine", "one of mine")
    write_over(path, "# Mine\n2", b"# Mine", "one of mine")
    assert path.read_text() == "# Mine\n2"

    path.write_text("# Your")
    for there in (path, tmp_path, "a\x00b"):
        with pytest.raises(BadFile, match=r"one of mine|Can't write"):
            write_over(there, "# Mine", b"# Mine", "one of mine")
    assert path.read_text() == "# Your"


WITH = {"judge": ["--judge", "host"]}
"""What a verb needs besides the file."""


@pytest.mark.parametrize("name", ["pipe", "/dev/zero", "/proc/self/environ"])
def test_regular_files_alone_are_read(here: Path, name: str) -> None:
    """A pipe does not block, a device is not read for ever, and what the kernel makes up is not a file: each is
    told."""
    os.mkfifo("pipe")
    for read in (
        lambda: read_text(name, 9),
        lambda: read_mapping(name),
        lambda: read_mapping_with_lines(name),
        lambda: write_over(name, "", b"#", "mine"),
    ):
        refused = ended(read)
        assert isinstance(refused, BadFile)
        said = refused.problems[0]
        assert "(a pipe or a device, or a file of the system)." in said and name in said


@pytest.mark.parametrize("name", ["x.jsonl", "x.md", "x"])
def test_no_verb_waits_for_a_pipe(debate: Run, here: Path, name: str) -> None:
    """A pipe in the place of a journal, a transcript or a reply is refused at once by every verb that reads one."""
    for pipe in (name, "other"):
        os.mkfifo(pipe)
    for verb in ("check", "report", "replay", "step", "resume", "judge", "compare"):
        refused = ended(lambda verb=verb: debate(verb, name, *WITH.get(verb, ["other"] * (verb == "compare"))))
        assert isinstance(refused, CommandResult) and refused.code == 2 and name in refused.err, (verb, refused)
    refused = ended(lambda: read_reply("1.opening.a", name))
    assert isinstance(refused, BadReply)


def test_a_journal_has_a_largest_size(debate: Run, here: Path) -> None:
    """A sparse file of a size that no debate has is refused before it is read, in one sentence."""
    with open("x.journal.jsonl", "wb") as file:
        file.truncate(2**40)
    for verb in ("check", "report", "step", "judge"):
        ran = debate(verb, "x.journal.jsonl", *WITH.get(verb, []))
        assert (ran.code, len(ran.err.splitlines())) == (2, 1) and "more than 268,435,456 bytes" in ran.err, (verb, ran)


# Lines, and numbers

TEXT = """\
# A comment.
a: 1
b:
  c: [x,
    y]
  "d": {e: 2, 3: f}
g:
  - h: 4
    i:
      - 5
      -
        - 6
"""


LINES_OF_KEYS = [
    *[("", 2), ("a", 2), ("b", 3), ("b c", 4), ("b c 0", 4), ("b c 1", 5), ("b d", 6), ("b d e", 6), ("b d 3", 6)],
    *[("g", 7), ("g 0", 8), ("g 0 h", 8), ("g 0 i", 9), ("g 0 i 0", 10), ("g 0 i 1", 12), ("g 0 i 1 0", 12)],
]


def test_everything_has_a_line() -> None:
    """Each key is on the line where it stands, and each item of a list where it begins."""
    for keys, line in LINES_OF_KEYS:
        assert load_with_lines(TEXT)[1][tuple(keys.split())] == line, keys


def test_without_libyaml() -> None:
    """Where PyYAML has no libyaml, the parser in Python reads the same, and refuses the same."""
    code = (
        "import sys; sys.modules['yaml.cyaml'] = None\n"
        "from debate_orchestrator.util import yaml\n"
        "print(yaml.load('a: [1, no]'))\n"
        "try: yaml.load('a: &b 1')\n"
        "except yaml.InvalidYaml as error: print(error)"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, timeout=60)
    assert ran.stdout.splitlines()[0] == "{'a': [1, 'no']}" and "anchors" in ran.stdout, ran.stderr


ODD = ("1_0", "١٠", "nan")


@pytest.mark.parametrize("text", ODD)
def test_other_digits_are_no_number(text: str) -> None:
    """What Python takes for a number besides is refused, in a cap and every setting."""
    with pytest.raises(BadSettings, match="must be"):
        read_max_cost(text)
    assert from_text("max_cost", text) == from_text("retry_for", text) == text


@for_each(
    [
        ("tournament", "plan", "spec.yaml", "--seed"),
        ("tournament", "rate", "t", "--min-games"),
        ("serve", "--port"),
        ("step", "x", "--wait"),
    ],
    "command",
)
def test_flags_take_no_other_digits(debate: Run, command: tuple[str, ...]) -> None:
    """A flag that takes a number refuses them before anything is done."""
    ran = debate(*command, ODD[1])

    assert ran.code == 2 and command[-1] in ran.err and "not a" in ran.err


@for_each([("2", 2.0), (" 2.50 ", 2.5), ("1e1", 10.0), (".5", 0.5), ("+3.", 3.0)])
def test_plain_numbers_are_taken(text: str, value: float) -> None:
    """Decimals, signs, exponents and spaces around a number are its usual forms."""
    assert read_max_cost(text) == from_text("max_cost", text) == value
    assert flags.whole_number(" -7 ") == -7
