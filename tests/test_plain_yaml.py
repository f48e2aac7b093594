"""YAML and numbers as people expect them: what surprises is refused, and what is written reads back the same."""

from __future__ import annotations

import subprocess
import sys

import pytest
from conftest import Run
from corpus import for_each

from debate_orchestrator.cli import flags
from debate_orchestrator.cli.answers_and_flags import read_max_cost
from debate_orchestrator.setup.answers import from_text
from debate_orchestrator.util.errors import BadSettings
from debate_orchestrator.util.yaml import InvalidYaml, load, load_with_lines

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


@for_each(
    [
        'a: "\\UFFFFFFFF"',
        'a: "\\U00110000"',
        "[" * 1_500,
        "{a: " * 1_500,
        "- " * 1_500,
        "a: 1" + "0" * 5_000,
        "? [a]\n: b",
    ]
)
def test_a_text_that_python_can_not_hold(text: str) -> None:
    """A character that there is none of, nesting without end and other things that Python can't hold are no YAML, and
    no error of ours."""
    try:
        assert load(text) == {"a": "1" + "0" * 5_000}
    except InvalidYaml as error:
        assert str(error)


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


def test_a_character_that_is_refused_is_reported_with_its_line() -> None:
    """Lines are counted in characters, whatever is above."""
    with pytest.raises(InvalidYaml) as refused:
        load("ä: ü\nb: ö\nc: \x07\n")
    assert refused.value.line == 3


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
