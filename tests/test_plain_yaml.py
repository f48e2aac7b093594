"""YAML as people expect it: what surprises is refused, and what is written reads back the same."""

from __future__ import annotations

from typing import Any

import pytest
from core.folding import many
from hypothesis import given
from hypothesis import strategies as st

from debate_orchestrator.util.yaml import InvalidYaml, dump, load, load_with_lines

PLAIN = st.recursive(
    st.none() | st.booleans() | st.integers(-(10**17), 10**17) | st.text(st.characters(exclude_categories=["Cs"])),
    lambda some: st.lists(some, max_size=3) | st.dictionaries(st.text("abc", min_size=1), some, max_size=3),
    max_leaves=8,
)


@many
@given(st.dictionaries(st.text("abc", min_size=1), PLAIN))
def test_there_and_back(value: dict[str, Any]) -> None:
    """Whatever is written reads back as it was, in ASCII too."""
    assert load(dump(value)) == value
    assert load(dump(value, ascii_only=True)) == value


@pytest.mark.parametrize(
    ("text", "line"),
    [("a: 1\na: 2", 2), ("a:\n  - [", 2), ("a: x\n\nb: &y 1", 3), ("a\nb: \x07", 2), ("a: 1\n\tb: 2", 2)],
)
def test_what_is_refused_has_its_line(text: str, line: int) -> None:
    """Text that is no YAML is refused with the line on which it stops being that."""
    with pytest.raises(InvalidYaml) as refused:
        load(text)
    assert refused.value.line == line


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


@many
@given(st.dictionaries(st.text("abc", min_size=1), PLAIN, min_size=1))
def test_all_that_is_read_has_a_line(value: dict[str, Any]) -> None:
    """Whatever a text holds, every key and item of it has a line within the text."""
    text = dump(value)
    found = load_with_lines(text)[1]
    assert {(key,) for key in value} | {()} <= set(found)
    assert all(1 <= line <= text.count("\n") for line in found.values())


def test_nothing_has_no_lines() -> None:
    """An empty text holds nothing that could have a line."""
    assert load_with_lines("# nothing\n") == (None, {})


@pytest.mark.parametrize(
    "text",
    [
        'a: "\\UFFFFFFFF"',
        'a: "\\U00110000"',
        "[" * 5_000,
        "{a: " * 5_000,
        "- " * 5_000,
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
