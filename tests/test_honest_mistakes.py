"""Mistakes that people make in their first files and commands: each gets one sentence that says what to try."""

from __future__ import annotations

from pathlib import Path

from conftest import Run
from corpus import for_each

T = "topic: Tabs are good.\n"


@for_each(
    [
        ("topic: Tabs\npositions:\n\ta: x\n", "indent with spaces, not with tabs."),
        ("topic: Tabs\n\trounds: 1\n", "Try: indent with spaces, not with tabs."),
        ("topic: Tabs\nrounds 3\n", "Try: write every line as `key: value`; a colon may be missing on"),
        (T + "  rounds: 3\n", "; or indent line 2 as the lines that it belongs with"),
        (T + "cast:\n  a: host\n   b: host\n", "; or indent line 4 as the lines that it belongs with"),
        (T + "cast:\n  a: host\n b: host\n", "Try: indent line 4 as the lines that it belongs with"),
        (T + "context:\n  - a\n - b\n", "Try: indent line 4 as the lines that it belongs with"),
        (T + "cast:\n  a: host: b\n", "Try: put quotes around a text that has a colon"),
        ('topic: "Tabs\nrounds: 3\n', "Try: end every quoted text with its quote."),
        ("topic Tabs\n", "a.yaml:1: the file holds a text, not a mapping of keys to values."),
        ("5\n", "a.yaml:1: the file holds a number, not a mapping"),
        (T + "positions:\na: x\nb: y\n", "a.yaml:3: 'a' is not a key of an answers file. Try: indent it with"),
        (T + "search: yes\n", "search: 'yes' is not true or false. Try: `search: true`, without quotes."),
        (T + "brief: 'false'\n", "brief: 'false' is not true or false. Try: `brief: false`, without quotes."),
        (T + "max_cost: '2'\n", "or null for no cap. Try: `max_cost: 2`, without quotes."),
        (T + "max_cost: $2\n", "or null for no cap. Try: `max_cost: 2`."),
        (T + "rounds: 7\n", "Try: `insist: true` for 7 to 8."),
        (T + "issues: Is it fast?\n", "is not true, false or a list of questions. Try: issues: ['Is it fast?']."),
        (T + "cast: {A: host, jugde: host, pro: host}\n", "moderator. Did you mean 'a', 'judge', 'a'?"),
        (T + "positions: {pro: x y., con: y z.}\n", "for a and b. Try: `a` for Pro and `b` for Con."),
        (T + "first: con\n", "first: 'con' is not a or b. Try: `a` for Pro and `b` for Con."),
        (T + "positions: auto\nsetup: 5\n", "a.yaml does not hold a setup conversation as `debate ask` keeps it."),
        (T + "positions: 5\nsetup: {positions_ok: true}\n", "positions: 5 is not auto, or a mapping with a sentence"),
        (T + "cast: {a: anthropic}\n", "cast: a: 'anthropic' names no model. Try: anthropic:MODEL or"),
    ],
    *("file", "expected"),
)  # fmt: skip
def test_in_an_answers_file(debate: Run, here: Path, no_models: None, file: str, expected: str) -> None:
    """What is wrong stands with its line or key, and with what to write instead; nothing is written."""
    (here / "a.yaml").write_text(file, encoding="utf-8")

    ran = debate("open", "--answers", "a.yaml")

    assert ran.code == 2 and expected in ran.err, ran.err
    assert [path.name for path in here.iterdir()] == ["a.yaml"]


@for_each(
    [
        (("tournament", "nw"), "invalid choice: 'nw' (choose from 'new', 'plan', 'run'"),
        (("ask",), "debate: the following arguments are required: FILE\n"),
        (("open", "Tabs are good.", "--rounds=7", "--max-cost=$2"), "Try: --insist for 7 to 8.\n"),
        (("open", "Tabs are good.", "--rounds=7", "--max-cost=$2"), "Try: --max-cost 2.\n"),
        (("ask", "a.yaml", "tpic=Tabs are good."), "'tpic' is not a question of the setup. Did you mean 'topic'?"),
    ],
    "command",
    "expected",
)
def test_on_the_command_line(debate: Run, command: tuple[str, ...], expected: str) -> None:
    """A verb, an argument or a key that is misspelled or missing is named, with the right one."""
    ran = debate(*command)

    assert ran.code == 2 and expected in ran.err, ran.err
    assert "A topic is quoted" not in ran.err


def test_in_an_import_map(debate: Run, here: Path) -> None:
    """A key that a map lacks is named after the file."""
    (here / "rows.csv").write_text("debate,pro\n1,x\n", encoding="utf-8")
    (here / "map.yaml").write_text("debate: debate\npro: pro\n", encoding="utf-8")

    assert "debate: map.yaml: the key 'judge' is missing." in (
        debate("tournament", "import", "rows.csv", "--map", "map.yaml", "--to", "t").err
    )
