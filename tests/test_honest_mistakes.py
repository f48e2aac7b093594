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
        (T + "cast:\n  a: host: b\n", 'quotes around a text that has a colon, as in key: "one thing: another"'),
        (T + "rounds: one\nfirst: c\n", "debate: a.yaml:2: rounds: 'one' is not a whole number from 1 to 6. Give"),
        (T + "rounds: 1\nfirst: c\n", "debate: a.yaml:3: first: 'c' is not a or b."),
        ("topic: Is it better to lease or to buy?\n", "is no yes-or-no question, and no model of this"),
        ('topic: "Tabs\nrounds: 3\n', "Try: end every quoted text with its quote."),
        ("topic Tabs\n", "a.yaml:1: the file holds a text, not a mapping of keys to values."),
        ("5\n", "a.yaml:1: the file holds a number, not a mapping"),
        (T + "positions:\na: x\nb: y\n", "a.yaml:3: 'a' is not a key of an answers file. Try: indent it with"),
        (T + "search: yes\n", "search: 'yes' is not true or false. Try: `search: true`, without quotes."),
        (T + "brief: 'false'\n", "brief: 'false' is not true or false. Try: `brief: false`, without quotes."),
        (T + "max_cost: '2'\n", "or null for no cap. Try: `max_cost: 2`, without quotes."),
        (T + "max_cost: $2\n", "or null for no cap. Try: `max_cost: 2`."),
        (T + "rounds: 7\n", "4 or 5 is a good cap. Try: `insist: true` for 7 to 8."),
        (T + "context: [missing.md]\n", "context: missing.md: can't be read (No such file or directory)"),
        (T + "max_cost: none\n", "or null for no cap. Try: `max_cost: null`.\n"),
        (T + "my key: 1\n", "a.yaml:2: 'my key' is not a key of an answers file."),
        (T + "for.mat: 1\n", "a.yaml:2: 'for.mat' is not a key of an answers file."),
        (T + "x:y: 1\n", "a.yaml:2: 'x:y' is not a key of an answers file."),
        (T + "5: 1\n", "a.yaml:2: '5' is not a key of an answers file."),
        (T + "max_cost: -1\n", "max_cost: -1 is not an amount in US dollars above 0"),
        (T + "cast: {a: 'martian:x'}\n", "cast: a: 'martian:x' is not a model spec; use one of anthropic:MODEL"),
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

    assert ran.code == 2 and ran.out == "" and expected in ran.err, ran.err
    assert [path.name for path in here.iterdir()] == ["a.yaml"]


@for_each(
    [
        (("tournament", "nw"), "invalid choice: 'nw' (choose from 'new', 'plan', 'run'"),
        (("ask",), "debate: the following arguments are required: FILE\n"),
        (("open", "Tabs are good.", "--rounds=7", "--max-cost=$2"), "Try: --insist for 7 to 8.\n"),
        (("open", "Tabs are good.", "--rounds=7", "--max-cost=$2"), "Try: --max-cost 2.\n"),
        (("run", "--topic", "Should we?", "--issues", "Is it fast?"), "'Is it fast?' belongs to no flag, and --topic"),
        (
            ("open", "Tabs are good.", "--max-cost=0"),
            "debate: max_cost: 0.0 is not an amount in US dollars above 0, or none",
        ),
        (("open", "Tabs are good.", "--output=/dev/x.md"), "output: can't write '/dev/x.md'"),
        (("floor", "a.journal.jsonl", "a", "For how long?"), "one argument too many; a seat is named as --to a\n"),
        (("serve", "."), ". is one argument too many; to work in that folder, change into it first\n"),
        (("run", "Tabs are good.", "--a", "openai:http://h/v1"), "MODEL@URL. A URL begins with http:// or https:// in"),
        (("report", "--schema", "--to", "a.json"), "writes no file. Try: `debate report --schema > FILE`.\n"),
        (("ask", "a.yaml", "tpic=Tabs are good."), "'tpic' is not a question of the setup. Did you mean 'topic'?"),
    ],
    "command",
    "expected",
)
def test_on_the_command_line(debate: Run, command: tuple[str, ...], expected: str) -> None:
    """A verb, an argument or a key that is misspelled or missing is named, with the right one."""
    ran = debate(*command)

    assert ran.code == 2 and expected in ran.err, ran.err
    assert "A topic is quoted" not in ran.err and "needs a key" not in ran.err


def test_about_a_debate_with_its_own_issues(debate: Run, here: Path, no_models: None) -> None:
    """A step that takes nothing shows no issue again. Of a file that is not there the nearest one is named, and of what
    can't be done now what can be done."""
    (here / "i.yaml").write_text("topic: Should we move?\nrounds: 1\nissues: [How much?]\noutput: cat.md\n")
    (here / "talk.md").write_text("A: Yes.\n", encoding="utf-8")

    assert "I1. How much?\n" in debate("open", "--answers", "i.yaml").out
    assert debate("step", "--json").json["show"] == []
    mistakes = {
        ("step", "cta.jornal.jsonl"): "No such file: 'cta.jornal.jsonl'. Did you mean 'cat.journal.jsonl'?\n",
        ("check", "cat"): "Did you mean 'cat.journal.jsonl'?\n",
        ("check", "tlk.md"): "Try: the path of a journal (.journal.jsonl) that is there.\n",
        ("open", "--answers", "ii.yaml"): "ii.yaml: there is no such file. Did you mean 'i.yaml'?\n",
        ("report", f"{'long' * 75}/x"): "Try: the path of a journal (.journal.jsonl) that is there.\n",
        ("judge", "tlk.md"): "No such file: 'tlk.md'. Did you mean 'talk.md'?\n",
        ("judge", "x/zzz.md"): "Try: the path of a journal (.journal.jsonl) or a transcript (.md) that is there.\n",
        ("step", "--issues", "I1"): "Try: another debate, with your list as `issues:` in its file.\n",
        ("open", "--answers", "i.yaml"): "Try: another output; or, if it is not finished, `debate resume cat.journal",
    }
    for command, expected in mistakes.items():
        ran = debate(*command)
        assert ran.code == 2 and expected in ran.err, ran.err


def test_in_an_import_map(debate: Run, here: Path) -> None:
    """A key that a map lacks is named after the file."""
    (here / "rows.csv").write_text("debate,pro\n1,x\n", encoding="utf-8")
    (here / "map.yaml").write_text("debate: debate\npro: pro\n", encoding="utf-8")

    assert "debate: map.yaml: the key 'judge' is missing." in (
        debate("tournament", "import", "rows.csv", "--map", "map.yaml", "--to", "t").err
    )
