"""Every file and every name of the package that the documentation mentions is there."""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from functools import cache
from pathlib import Path

import pytest

from debate_orchestrator.core.events import Opened

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "debate_orchestrator"
SOURCES = sorted(PACKAGE.rglob("*.py"))
PAGES = [*sorted((ROOT / "docs").glob("*.md")), ROOT / "README.md"]
EXAMPLES = {"providers/toy.py", "cli/greet.py", "reports/text.py"}
"""Files that docs/development.md tells readers to write."""
_ENDINGS = {"md", "json", "jsonl", "yaml", "html", "csv", "py", "txt"}
"""What follows the dot in names of files, which may begin like a module."""
_PATH = re.compile(r"`((?:[\w-]+/)+[\w.-]+\.(?:py|ya?ml|md|j2))`")
_MEMBER = re.compile(r"`([a-z_]+)\.(\w+)(?:\([^`]*\))?`")
_SEE = re.compile(r"\(see `(\w+)`\)")


@cache
def nodes(path: Path) -> list[ast.AST]:
    """What a module is made of, read once for all that look at it."""
    return list(ast.walk(ast.parse(path.read_text(encoding="utf-8"))))


def docstrings(path: Path) -> str:
    """All docstrings of a module, of attributes too."""
    return "\n".join(
        node.value.value
        for node in nodes(path)
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)
    )


def defined(path: Path) -> set[str]:
    """The names that a module defines or imports."""
    names = set[str]()
    for node in nodes(path):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            names.add(node.name)
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            names.add(node.id)
        elif isinstance(node, ast.alias | ast.arg):
            names.add(node.asname or node.name if isinstance(node, ast.alias) else node.arg)
    return names


@pytest.fixture(scope="module")
def names() -> dict[Path, set[str]]:
    """The names of each module."""
    return {path: defined(path) for path in SOURCES}


@pytest.fixture(scope="module")
def members(names: dict[Path, set[str]]) -> dict[str, set[str]]:
    """What may follow `module.` or `package.`. `setup` is not among them: `setup.KEY` is a setting in a journal."""
    known = defaultdict[str, set[str]](set)
    for path, inside in names.items():
        known[path.stem] |= inside
        known[path.parent.name].add(path.stem)
    del known["setup"]
    return known


def missing(text: str, members: dict[str, set[str]]) -> set[str]:
    """The files and names that a text mentions and that are not there."""
    folders = {path.name for top in (ROOT, PACKAGE) for path in top.iterdir() if path.is_dir()}
    paths = {path for path in _PATH.findall(text) if path.partition("/")[0] in folders} - EXAMPLES
    absent = {path for path in paths if not (ROOT / path).is_file() and not (PACKAGE / path).is_file()}
    mentioned = [(module, name) for module, name in _MEMBER.findall(text) if module in members]
    return absent | {f"{module}.{name}" for module, name in mentioned if name not in _ENDINGS | members[module]}


def test_what_pages_mention_is_there(members: dict[str, set[str]]) -> None:
    """Paths and names in backticks on a page lead to files of the project and names of the package."""
    found = {page.name: missing(page.read_text(encoding="utf-8"), members) for page in PAGES}
    assert {page: absent for page, absent in found.items() if absent} == {}


def test_what_docstrings_mention_is_there(names: dict[Path, set[str]], members: dict[str, set[str]]) -> None:
    """Docstrings keep to the same, and what one says to see is defined in its own module."""
    for path in SOURCES:
        text = docstrings(path)
        assert missing(text, members) | (set(_SEE.findall(text)) - names[path] - set(members)) == set(), path


def test_the_journals_page_names_the_fields_of_its_first_event() -> None:
    """The row on `opened` in docs/journal.md names every field of that event, and no other."""
    page = (ROOT / "docs" / "journal.md").read_text(encoding="utf-8")
    row = next(line for line in page.splitlines() if line.startswith("| `opened` |"))

    assert set(re.findall(r"`([a-z_]+)`", row)) == {"opened", *Opened.model_fields} - {"kind"}
