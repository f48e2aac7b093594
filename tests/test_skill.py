"""The skill is valid, short, portable and true, and the plugin around it is whole."""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path

import pytest
from conftest import Run
from skills_ref import read_properties, validate

import debate_orchestrator

ROOT = Path(__file__).parent.parent
SKILL = ROOT / "skill" / "debate-orchestrator"
TEXT = (SKILL / "SKILL.md").read_text(encoding="utf-8")


def test_it_is_valid() -> None:
    """The open specification's validator has no complaint."""
    assert validate(SKILL) == []


def test_it_is_short_and_portable() -> None:
    """Under 100 lines, with only the specification's fields, and none of one host's substitutions."""
    fields = re.findall(r"^([a-z-]+):", TEXT.split("---")[1], re.MULTILINE)

    assert len(TEXT.splitlines()) < 100
    assert set(fields) <= {"name", "description", "license", "compatibility", "metadata", "allowed-tools"}
    assert [word for word in ("$ARGUMENTS", "${CLAUDE", "!`", "AskUserQuestion", "/tmp") if word in TEXT] == []


def test_its_description_says_when() -> None:
    """The description says when to trigger and when not, and chains to autoconference."""
    description = read_properties(SKILL).description

    assert "TRIGGER when" in description and "DO NOT TRIGGER when" in description
    assert "autoconference" in description
    assert len(description) <= 1024


def test_its_references_are_there() -> None:
    """Every file that the skill points to lies one level below it."""
    links = re.findall(r"\]\(([^)]+)\)", TEXT)

    assert len(links) == 3
    assert all((SKILL / link).is_file() and link.count("/") == 1 for link in links)
    assert {path.name for path in (SKILL / "references").iterdir()} == {link.partition("/")[2] for link in links}


def test_its_commands_are_the_products(debate: Run) -> None:
    """Every verb and flag that the skill and its references name exists."""
    pages = [TEXT, *(path.read_text(encoding="utf-8") for path in (SKILL / "references").glob("*.md"))]
    named = {verb for page in pages for verb in re.findall(r"debate (?!VERB)([a-z]+)(?= [<A-Zd-])", page)}
    flags = {flag for page in pages for flag in re.findall(r"`?debate[^`\n]*? (--[a-z-]+)", page)}
    helped = "".join(debate(verb, "--help").out for verb in named if verb != "orchestrator") + debate("--help").out

    assert {"ask", "open", "step"} <= named
    assert [flag for flag in flags if flag not in helped] == []


def test_it_names_every_question(debate: Run) -> None:
    """The reference on setup lists every key of the conversation."""
    from debate_orchestrator.util import resources

    page = (SKILL / "references" / "setup.md").read_text(encoding="utf-8")

    assert [key for key in resources.read_yaml("setup.yaml")["questions"] if f"`{key}`" not in page] == []


def test_the_plugin_carries_the_skill() -> None:
    """plugin.json names the skill's folder and the package's version, and the marketplace lists the plugin."""
    plugin = json.loads((ROOT / ".claude-plugin" / "plugin.json").read_text())
    market = json.loads((ROOT / ".claude-plugin" / "marketplace.json").read_text())

    assert plugin["version"] == debate_orchestrator.__version__
    assert [(ROOT / folder).resolve() for folder in plugin["skills"]] == [SKILL.resolve()]
    assert [(one["name"], one["source"]) for one in market["plugins"]] == [(plugin["name"], "./")]


@pytest.mark.parametrize("elsewhere", [False, True])
def test_the_launcher_says_how_to_get_the_command(tmp_path: Path, elsewhere: bool) -> None:
    """Where `debate` is installed the launcher runs it; where neither it nor a checkout is there, one line says
    how to get it."""
    script = tmp_path / "skills" / "debate-orchestrator" / "scripts" / "debate"
    script.parent.mkdir(parents=True)
    script.write_text((SKILL / "scripts" / "debate").read_text())
    bin_folder = tmp_path / "bin"
    bin_folder.mkdir()
    if not elsewhere:
        (bin_folder / "debate").write_text("#!/bin/sh\necho it ran: $*\n")
        (bin_folder / "debate").chmod(0o755)
    path = f"{bin_folder}:/usr/bin:/bin"
    ran = subprocess.run(
        ["sh", str(script), "--version"],
        env={"PATH": path, "HOME": str(tmp_path)},
        capture_output=True,
        check=False,
        timeout=60,
    )

    if elsewhere:
        assert (ran.returncode, ran.stdout) == (2, b"")
        assert b"pip install" in ran.stderr
    else:
        assert ran.stdout == b"it ran: --version\n"
