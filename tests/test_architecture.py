"""Import rules, allowed libraries and the size limit of modules."""

from __future__ import annotations

import ast
import re
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest
from corpus import for_each
from packaging.requirements import Requirement

ROOT = Path(__file__).parent.parent
PACKAGE = ROOT / "debate_orchestrator"
SOURCES = sorted(PACKAGE.rglob("*.py"))
TESTS = sorted((ROOT / "tests").rglob("*.py"))

PLACES = {
    "anthropic": ("providers/anthropic.py",),
    "openai": ("providers/openai.py",),
    "prompt_toolkit": ("terminal/asking.py",),
    "yaml": ("util/yaml.py",),
    "starlette": (
        "web/dashboard.py",
        "web/guard.py",
        "web/live.py",
        "web/pages.py",
        "web/public/visitor_limits.py",
        "web/public/views.py",
        "web/review_page.py",
        "web/seats.py",
        "web/tournaments.py",
    ),
    "uvicorn": ("web/server.py",),
    "h11": ("web/server.py",),
    "PIL": ("web/card.py",),
    "procrastinate": ("tournament/cluster/database.py", "tournament/cluster/jobs.py"),
    "psycopg": (
        "tournament/cluster/database.py",
        "tournament/cluster/shared.py",
    ),
    "psycopg_pool": ("tournament/cluster/database.py",),
    "jinja2": (
        "reports/html/page.py",
        "reports/markdown.py",
        "prompting/templates.py",
    ),
    "markdown_it": (
        "engine/transcript_file.py",
        "reports/markdown_parser.py",
        "reports/safe_markdown.py",
        "reports/html/writer.py",
    ),
    "markupsafe": (
        *("reports/html/page.py", "reports/html/writer.py", "reports/markdown.py", "tournament/report.py"),
        "web/pages.py",
    ),
    "numpy": ("tournament/ratings.py",),
    "scipy": ("tournament/ratings.py",),
    "vl_convert": ("tournament/report.py",),
    "fcntl": ("storage/files.py",),
    "termios": ("terminal/keys.py",),
    "rich": ("terminal/display.py", "terminal/live.py"),
    "lxml": ("evidence/pages.py", "evidence/reader_process.py"),
    "rapidfuzz": ("evidence/match.py", "evidence/reader_process.py"),
    "aiohttp": ("evidence/fetch.py", "providers/api.py"),
    "protego": ("evidence/fetch.py",),
    "idna": ("evidence/addresses.py",),
    "certifi": ("evidence/fetch.py",),
    "webencodings": ("evidence/pages.py", "evidence/reader_process.py"),
}
"""Library to the only files that may import it."""

PURE = {"asyncio", "os", "pathlib", "time", "datetime", "random", "secrets", "io", "socket", "subprocess", "jinja2"}


@cache
def parsed(path: Path) -> ast.Module:
    """What a file says, read once for all laws."""
    return ast.parse(path.read_text(encoding="utf-8"))


def statements(node: ast.AST) -> Iterator[ast.AST]:
    """All statements within a node, those within others too, without their expressions."""
    for name in ("body", "orelse", "finalbody", "handlers", "cases"):
        for child in getattr(node, name, ()):
            yield child
            yield from statements(child)


@cache
def functions(path: Path) -> list[ast.FunctionDef | ast.AsyncFunctionDef]:
    """All functions of a file, those within others too."""
    return [node for node in statements(parsed(path)) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)]


def named(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


@cache
def imported(path: Path) -> set[str]:
    """The top-level names that a file imports, wherever in it."""
    found: set[str] = set()
    for node in statements(parsed(path)):
        if isinstance(node, ast.Import):
            found |= {name.name.partition(".")[0] for name in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            found.add(node.module.partition(".")[0])
    return found


def test_imports_run_downhill() -> None:
    """The import contract holds, and every file has a declared place in it."""
    # In a process of its own: it disables every log that other tests of this process read.
    code = "import sys; from importlinter.cli import lint_imports; sys.exit(lint_imports(cache_dir=None))"
    ran = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=False, timeout=120
    )

    assert ran.returncode == 0, ran.stdout + ran.stderr


@for_each(PLACES)
def test_a_library_has_its_places(library: str) -> None:
    """An outside library is imported only where it has its place."""
    users = {path.relative_to(PACKAGE).as_posix() for path in SOURCES if library in imported(path)}

    assert users == set(PLACES[library])


def test_the_core_is_pure() -> None:
    """Nothing in the core touches files, network, clock, chance or asyncio."""
    core = sorted((PACKAGE / "core").glob("*.py"))

    assert core
    assert {named(path): imported(path) & PURE for path in core if imported(path) & PURE} == {}


def test_coroutines_are_run_in_one_way() -> None:
    """An event loop begins in `util/coroutines.py` alone, since a signal that raises inside a loop can hang it."""
    loops = re.compile(r"\basyncio\.(?:run|Runner)\(")
    held = (path for path in SOURCES if path.name != "__init__.py")  # the package's docstring shows users' code

    assert [named(path) for path in held if loops.search(path.read_text("utf-8"))] == [
        "debate_orchestrator/util/coroutines.py"
    ]


def test_the_core_names_no_command() -> None:
    """Nothing in the core names a verb or a flag of the command line."""
    commands = re.compile(r"`debate [a-z]|--[a-z{]|\bmetavar\b")
    core = sorted((PACKAGE / "core").glob("*.py"))

    assert core
    assert {named(path): found for path in core if (found := commands.findall(path.read_text("utf-8")))} == {}


def test_files_and_functions_can_be_read_whole() -> None:
    """No file is over 500 lines, and no function over 50."""
    lines = {named(path): len(path.read_text(encoding="utf-8").splitlines()) for path in [*SOURCES, *TESTS]}
    every = [(named(path), one) for path in [*SOURCES, *TESTS] for one in functions(path)]

    assert {name: count for name, count in lines.items() if count > 500} == {}
    assert [f"{name}: {one.name}" for name, one in every if (one.end_lineno or 0) - one.lineno >= 50] == []


def test_modules_say_what_they_are_for() -> None:
    """Every module opens with a docstring, and every test's docstring states its fact."""
    tests = [(path, one) for path in TESTS for one in functions(path) if one.name.startswith("test_")]

    assert [
        named(path) for path in [*SOURCES, *TESTS] if parsed(path).body and not ast.get_docstring(parsed(path))
    ] == []
    assert [f"{named(path)}: {one.name}" for path, one in tests if not ast.get_docstring(one)] == []


_FLAG = re.compile(r"(?<![\w`-])--[a-z]")
_COMMAND = re.compile(r"`debate [^`]*`?")
_NO_MESSAGES = ("--position-{}", "answers --from", "tournament resume --cluster URL")
"""The flags of a setting, as a table has them, and verbs, as `command` takes them."""


def test_flags_are_the_command_lines() -> None:
    """Below the command line no message speaks of flags, save in a whole command: it is read in the browser, too."""
    found = {}
    for path in (
        path for path in SOURCES if path.relative_to(PACKAGE).parts[0] != "cli" and "--" in path.read_text("utf-8")
    ):
        nodes = [*ast.walk(parsed(path))]
        docs = {id(node.value) for node in nodes if isinstance(node, ast.Expr)}
        texts = (node for node in nodes if isinstance(node, ast.Constant) and id(node) not in docs)
        messages = (node for node in texts if isinstance(node.value, str) and node.value not in _NO_MESSAGES)
        if lines := [node.lineno for node in messages if _FLAG.search(_COMMAND.sub("", node.value))]:
            found[named(path)] = lines

    assert found == {}


def test_the_lock_holds_what_is_needed() -> None:
    """The locked versions are those that pyproject.toml permits, of everything that it names, each with its hashes."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    named = [*project["dependencies"], *(one for extra in project["optional-dependencies"].values() for one in extra)]
    blocks = re.split(r"^(?=[a-z])", (ROOT / "requirements.lock").read_text(encoding="utf-8"), flags=re.MULTILINE)
    pinned = [re.match(r"([\w.-]+)==([\w.+-]+)", block) for block in blocks[1:]]
    locked = {found[1].replace("_", "-"): found[2] for found in pinned if found}

    assert all(found is not None for found in pinned) and all("--hash=sha256:" in block for block in blocks[1:])
    for one in map(Requirement, named):
        if one.name != project["name"]:
            assert one.specifier.contains(locked[one.name.lower().replace("_", "-")]), one.name


def test_importing_does_nothing() -> None:
    """Importing the package loads none of its rooms, `--help` loads none of the heavy libraries, and neither a public
    name nor what needs an extra or an SDK loads that."""
    code = (
        "import sys, debate_orchestrator\n"
        "assert [m for m in sys.modules if m.startswith('debate_orchestrator.')] == []\n"
        "from debate_orchestrator.cli import main\n"
        "try: main(['--help'])\n"
        "except SystemExit: pass\n"
        "heavy = {'anthropic', 'pydantic', 'jinja2', 'yaml', 'markdown_it', 'prompt_toolkit', 'rich', 'asyncio'}\n"
        "assert heavy & set(sys.modules) == set(), heavy & set(sys.modules)\n"
        "from debate_orchestrator import read_journal, load_format, run\n"
        "from debate_orchestrator.evidence import check\n"
        "from debate_orchestrator.providers import openai\n"
        "openai.problem('openai:x')\n"
        "heavy = {'anthropic', 'openai', 'prompt_toolkit', 'rich', 'rapidfuzz', 'lxml', 'certifi', 'protego'}\n"
        "assert heavy & set(sys.modules) == set(), heavy & set(sys.modules)\n"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, check=False, text=True, timeout=60)

    assert (ran.returncode, ran.stderr) == (0, "")


TOP = {
    ".ci", ".claude-plugin", ".codex-plugin", ".dockerignore", ".gitignore", "CHANGELOG.md", "Containerfile", "LICENSE",
    "README.md", "SECURITY.md", "agents", "bin", "debate_orchestrator", "docs", "examples", "prompts", "pyproject.toml",
    "requirements.lock", "skill", "tests",
}  # fmt: skip


def test_the_top_of_the_repository_holds_what_is_known() -> None:
    """What a test run leaves there is not committed."""
    if shutil.which("git") is None or not (ROOT / ".git").exists():
        pytest.skip("no git repository, as in an unpacked sdist")
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    assert {path.partition("/")[0] for path in listed.split("\0") if path} == TOP
