"""Every file and every name of the package that the documentation mentions is there."""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from pathlib import Path

import pytest

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


def docstrings(path: Path) -> str:
    """All docstrings of a module, of attributes too."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    return "\n".join(
        node.value.value
        for node in ast.walk(tree)
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)
    )


def defined(path: Path) -> set[str]:
    """The names that a module defines or imports."""
    names = set[str]()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            names.add(node.name)
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            names.add(node.id)
        elif isinstance(node, ast.alias | ast.arg):
            names.add(node.asname or node.name if isinstance(node, ast.alias) else node.arg)
    return names


NAMES = {path: defined(path) for path in SOURCES}
MEMBERS = defaultdict[str, set[str]](set)
"""What may follow `module.` or `package.`. `setup` is not among them: `setup.KEY` is a setting in a journal."""
for _path, _names in NAMES.items():
    MEMBERS[_path.stem] |= _names
    MEMBERS[_path.parent.name].add(_path.stem)
del MEMBERS["setup"]
TEXTS = [(page, page.read_text(encoding="utf-8")) for page in PAGES] + [(path, docstrings(path)) for path in SOURCES]


@pytest.mark.parametrize(("page", "text"), TEXTS, ids=[str(page.relative_to(ROOT)) for page, _ in TEXTS])
def test_what_is_mentioned_is_there(page: Path, text: str) -> None:
    """A path in backticks that begins with a folder of ours is a file, from the top or within the package;
    `module.name` is a name in a module of ours; what a docstring says to see is defined in its own module."""
    folders = {path.name for top in (ROOT, PACKAGE) for path in top.iterdir() if path.is_dir()}
    paths = {path for path in _PATH.findall(text) if path.partition("/")[0] in folders} - EXAMPLES
    missing = {path for path in paths if not (ROOT / path).is_file() and not (PACKAGE / path).is_file()}

    for module, name in _MEMBER.findall(text):
        if module in MEMBERS and name not in _ENDINGS | MEMBERS[module]:
            missing.add(f"{module}.{name}")
    if page in NAMES:
        missing |= set(_SEE.findall(text)) - NAMES[page] - set(MEMBERS)
    assert not missing
