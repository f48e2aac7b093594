"""YAML as people expect it: what surprises is refused, and what is written reads back the same."""

from __future__ import annotations

import pytest

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


@pytest.mark.parametrize(
    "text",
    [
        'a: "\\UFFFFFFFF"',
        'a: "\\U00110000"',
        "[" * 1_500,
        "{a: " * 1_500,
        "- " * 1_500,
        "a: 1" + "0" * 5_000,
        "? [a]\n: b",
    ],
)
def test_a_text_that_python_can_not_hold(text: str) -> None:
    """A character that there is none of, nesting without end and other things that Python can't hold are no YAML, and
    no error of ours."""
    try:
        assert load(text) == {"a": "1" + "0" * 5_000}
    except InvalidYaml as error:
        assert str(error)
