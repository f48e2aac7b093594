"""The skill is valid, short, portable and true, and the plugin around it is whole."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
import yaml
from conftest import Run
from skills_ref import read_properties, validate

import debate_orchestrator

ROOT = Path(__file__).parent.parent
SKILL = ROOT / "skill" / "debate-orchestrator"
TEXT = (SKILL / "SKILL.md").read_text(encoding="utf-8")


def test_it_is_valid_short_and_portable() -> None:
    """The open specification's validator has no complaint. It has under 100 lines, only the specification's fields, and
    none of one host's substitutions; every file that it points to lies one level below it. The description says when
    to trigger and when not, and chains to autoconference."""
    fields = re.findall(r"^([a-z-]+):", TEXT.split("---")[1], re.MULTILINE)
    links = re.findall(r"\]\(([^)]+)\)", TEXT)
    description = read_properties(SKILL).description

    assert validate(SKILL) == [] and len(TEXT.splitlines()) < 100
    assert set(fields) <= {"name", "description", "license", "compatibility", "metadata", "allowed-tools"}
    assert [word for word in ("$ARGUMENTS", "${CLAUDE", "!`", "AskUserQuestion", "/tmp") if word in TEXT] == []
    assert len(links) == 3 and all((SKILL / link).is_file() and link.count("/") == 1 for link in links)
    assert {path.name for path in (SKILL / "references").iterdir()} == {link.partition("/")[2] for link in links}
    assert "TRIGGER when" in description and "DO NOT TRIGGER when" in description
    assert "autoconference" in description and len(description) <= 1024


def test_its_commands_are_the_products(debate: Run) -> None:
    """Every verb and flag that the skill and its references name exists."""
    pages = [TEXT, *(path.read_text(encoding="utf-8") for path in (SKILL / "references").glob("*.md"))]
    named = {verb for page in pages for verb in re.findall(r"debate (?!VERB)([a-z]+)(?= [<A-Zd-])", page)}
    flags = {flag for page in pages for flag in re.findall(r"`?debate[^`\n]*? (--[a-z-]+)", page)}
    helped = "".join(debate(verb, "--help").out for verb in named if verb != "orchestrator") + debate("--help").out

    assert {"ask", "open", "step"} <= named
    assert [flag for flag in flags if flag not in helped] == []


def test_no_permitted_prefix_is_a_consent(debate: Run) -> None:
    """A rule `debate VERB:*` permits every flag of the verb, so none of these verbs has one by which a user agrees."""
    verbs = re.findall(r"Bash\(debate ([a-z]+):\*\)", TEXT)
    assert "step" in verbs and [verb for verb in verbs if "--trust" in debate(verb, "--help").out] == []


def test_no_permitted_prefix_reaches_other_files(debate: Run, here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """None of these verbs makes a file outside the working folder, a hidden one, or one that a shell, a tool or an
    agent reads; none reads a reply from elsewhere, and none raises the user's cap."""
    home = here.parent / "home"
    (home / ".claude").mkdir(parents=True)
    (home / "private.md").write_text("private words")
    (here / "link.yaml").symlink_to(home / "x.yaml")
    (here / "into").symlink_to(home)
    (here / ".env").write_text("private words")
    before = sorted([*here.rglob("*"), *home.rglob("*")])
    names = [".profile", "x.yaml", ".claude/commands/x.md", "private.md", "r.journal.jsonl"]
    names = [str(home / name) for name in names] + ["link.yaml", "into/x.yaml", ".x.yaml", ".git/x.yaml", "Makefile"]
    for name in [*names, "CLAUDE.md", "x.md", "x.sh", "CLAUDE.yaml", "agents.json", "commands/x.yaml", "../x.yml", ""]:
        told = debate("ask", name, "topic=Is tea good; touch ~/x").json["complaints"]
        assert len(told) == 1 and "debate.yaml" in told[0], (name, told)
        for verb in (("step", name), ("floor", name, "Is it?"), ("end", name)):
            assert debate(*verb, "--json").code == 2, (verb, name)
    assert sorted([*here.rglob("*"), *home.rglob("*")]) == before

    (due,) = debate("ask", "new/folder/x.yml", "topic=Is tea good?").json["turns"]
    setup = ("--topic=T", "--position-a=It is so.", "--position-b=No.", "--rounds=1", "--max-cost=0.5")
    journal = debate("open", *setup, "--a=host", "--b=host", "--judge=host", "--json").json["journal"]
    briefed = Path(journal).read_bytes()
    for path in (str(home / "private.md"), "into/private.md", ".env", f"{journal}/../../home/private.md"):
        told = debate("step", journal, f"1.opening.a={path}", "--json").json["complaints"]
        assert "not read" in told[0] and "1.opening.a=-" in told[0], (path, told)
        told = debate("ask", "new/folder/x.yml", f"{due['turn']}={path}").json["complaints"]
        assert "not read" in told[0], (path, told)
    linked = Path(journal.replace(".journal.jsonl", ".turns"))
    linked.rename("moved")
    linked.symlink_to(home)
    told = debate("step", journal, f"1.opening.a={linked}/private.md", "--json").json["complaints"]
    assert "1.opening.a=-" in told[0], told
    linked.unlink()
    Path("moved").rename(linked)
    for cap in ("0.6", "none"):
        told = debate("step", journal, f"--max-cost={cap}", "--json").json["complaints"]
        assert f"debate resume {journal} --max-cost {cap}" in told[0], told
    assert Path(journal).read_bytes() == briefed
    assert debate("step", journal, "--max-cost=0.4", "--json").code == 0 and Path(journal).read_bytes() != briefed


def test_it_names_every_question(debate: Run) -> None:
    """The reference on setup lists every key of the conversation."""
    from debate_orchestrator.util import resources

    page = (SKILL / "references" / "setup.md").read_text(encoding="utf-8")

    assert [key for key in resources.read_yaml("setup.yaml")["questions"] if f"`{key}`" not in page] == []


def test_the_plugins_carry_the_skill() -> None:
    """The manifests for Claude Code and Codex agree, have the package's version, and name what is there: the skill, and
    the agent for a turn. The marketplace lists the plugin."""
    claude, codex, market = (
        json.loads((ROOT / path).read_text())
        for path in (".claude-plugin/plugin.json", ".codex-plugin/plugin.json", ".claude-plugin/marketplace.json")
    )
    assert claude["version"] == debate_orchestrator.__version__
    assert [claude[key] for key in ("name", "version", "description")] == [
        codex[key] for key in ("name", "version", "description")
    ]
    assert [(ROOT / folder).resolve() for folder in claude["skills"]] == [SKILL.resolve()]
    assert (ROOT / codex["skills"] / SKILL.name).resolve() == SKILL.resolve()
    assert [(one["name"], one["source"]) for one in market["plugins"]] == [(claude["name"], "./")]
    assert [(ROOT / agent).is_file() for agent in claude["agents"]] == [True]
    front = yaml.safe_load((ROOT / "agents" / "seat.md").read_text(encoding="utf-8").split("---")[1])
    assert (front["name"], front["tools"], front["omitClaudeMd"]) == ("seat", "Read, Write", True)
    assert f"{claude['name']}:{front['name']}" in TEXT


INSTALLED = "#!/bin/sh\necho it ran: $*\n"


def launched(script: Path, folder: Path, *, python: str = "", home: str = "") -> subprocess.CompletedProcess[str]:
    """A run of a launcher with a PATH of `bin` in the folder and the plugin's own `bin` before the system's."""
    (folder / "bin").mkdir(exist_ok=True)
    if python:
        (folder / "bin" / "python3").write_text(python)
        (folder / "bin" / "python3").chmod(0o755)
    environment = {"PATH": f":.:{ROOT / 'bin'}:{folder / 'bin'}:/usr/bin:/bin", "HOME": home or str(folder)}
    command, pip = ["sh", str(script), "--version"], {"PIP_NO_INDEX": "1"}
    return subprocess.run(
        command, cwd=folder, env=environment | pip, capture_output=True, text=True, check=False, timeout=60
    )


@pytest.mark.parametrize("name", ["bin/debate", "skill/debate-orchestrator/scripts/debate"])
def test_the_launcher_runs_the_installed_command(tmp_path: Path, name: str) -> None:
    """Where `debate` is installed a launcher runs it, also after the plugin's own on the PATH and through a link."""
    link = tmp_path / "link"
    link.symlink_to((ROOT / name).parent)
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "debate").write_text(INSTALLED)
    (tmp_path / "bin" / "debate").chmod(0o755)

    assert launched(link / "debate", tmp_path).stdout == "it ran: --version\n"


PYTHON = """#!/bin/sh
if [ "$2 $3" = "-m venv" ]; then
  mkdir -p "$4/bin"
  printf '#!/bin/sh\\n[ "$2" = -c ] && exec test -x "${{0%%/*}}/debate"\\n%s\\n' '{pip}' > "$4/bin/python"
  printf '#!/bin/sh\\necho it ran: $*\\n' > "$4/debate"
  chmod +x "$4/bin/python" "$4/debate"
elif [ "$2" = -c ]; then echo cpython-311; fi
"""
"""A `python3` whose environments have this pip."""


def test_the_launcher_tells_what_it_installs(tmp_path: Path) -> None:
    """The first run installs the checkout and says so on stderr alone, also through a link, past a command that does
    not start and where pip's settings say `user`; the second runs it in silence, as does a command of the user's that
    starts the launcher. It is installed again where the Python that it was installed for is gone, and beside that for
    another Python of a machine with the same home."""
    python = PYTHON.format(pip='case "$*" in *--no-user*) mv "${0%/*}/../debate" "${0%/*}/debate";; esac')
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "debate").write_text("#!/gone/python\n")
    (tmp_path / "bin" / "debate").chmod(0o755)
    (tmp_path / "one").symlink_to(ROOT / "bin" / "debate")
    (tmp_path / "two").symlink_to(SKILL / "scripts" / "debate")
    first, second = launched(tmp_path / "one", tmp_path, python=python), launched(tmp_path / "two", tmp_path)
    [environment] = (link for link in (tmp_path / ".cache" / "debate-orchestrator").iterdir() if link.is_symlink())
    (environment / "bin" / "python").unlink()
    (environment / "bin" / "python").symlink_to("/gone")
    third = launched(ROOT / "bin" / "debate", tmp_path, python=python)
    (environment / "bin" / "python").rename(tmp_path / "python")  # on the other machine it does not start
    other = launched(ROOT / "bin" / "debate", tmp_path, python=python.replace("311", "312"))
    (tmp_path / "python").rename(environment / "bin" / "python")
    back = launched(ROOT / "bin" / "debate", tmp_path, python="#!/bin/sh\nexit 1\n")
    (tmp_path / "bin" / "debate").write_text(f"#!/bin/sh\nexec sh '{ROOT}/bin/debate' \"$@\"\n")
    by_wrapper = launched(ROOT / "bin" / "debate", tmp_path)

    assert (other.stderr.splitlines()[-1], back.stderr) == ("debate: installed", "")
    assert environment.is_symlink() and (environment / "bin" / "python").exists()
    assert {ran.stdout for ran in (first, second, third, other, back, by_wrapper)} == {"it ran: --version\n"}
    assert first.stderr.splitlines()[0].startswith("debate: installing the command, once")
    assert first.stderr.splitlines()[-1] == "debate: installed"
    assert second.stderr == ""


def test_the_launcher_says_what_to_do_when_it_fails(tmp_path: Path) -> None:
    """Where neither the command nor a checkout is there, one line says how to get it. If the installation fails, the
    last line says what to do, and the next run tries again."""
    script = tmp_path / "skills" / "debate-orchestrator" / "scripts" / "debate"
    script.parent.mkdir(parents=True)
    script.write_text((SKILL / "scripts" / "debate").read_text())
    ran = launched(script, tmp_path)
    assert (ran.returncode, ran.stdout) == (2, "")
    assert "pip install" in ran.stderr and ran.stderr.count("\n") == 1

    python = PYTHON.format(pip="echo no network; exit 1")
    runs = [launched(ROOT / "bin" / "debate", tmp_path, python=python) for _ in range(2)]

    (tmp_path / "file").touch()
    no_home = launched(ROOT / "bin" / "debate", tmp_path, home=str(tmp_path / "file"))
    assert no_home.returncode == 2 and "can't be written. Set XDG_CACHE_HOME" in no_home.stderr
    for ran in runs:
        assert (ran.returncode, ran.stdout) == (2, "")
        *_, reason, advice = ran.stderr.splitlines()
        assert reason == "no network"
        assert f"pip install '{ROOT}'" in advice and "Check the network" in advice


@pytest.mark.slow
def test_the_launcher_runs_nothing_of_the_working_folder(tmp_path: Path) -> None:
    """Python's own modules and pip are not taken from the working folder, and no command of it is run."""
    payload = f"open({str(tmp_path / 'ran')!r}, 'a').write(__file__)\n"
    for name in ("venv.py", "logging.py", "pip/__init__.py", "pip/__main__.py", "ensurepip/__init__.py"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(payload)
    (tmp_path / "debate").write_text(f"#!/bin/sh\necho ran > '{tmp_path / 'ran'}'\n")
    (tmp_path / "debate").chmod(0o755)
    ran = launched(ROOT / "bin" / "debate", tmp_path, python=f'#!/bin/sh\nexec {sys.executable} "$@"\n')

    assert "installing the command failed" in ran.stderr
    assert not (tmp_path / "ran").exists()


def test_two_launchers_that_install_at_once(tmp_path: Path) -> None:
    """Two first calls don't touch each other's installation: both run the command, and one installation is left."""
    python = PYTHON.format(pip='sleep 1; mv "${0%/*}/../debate" "${0%/*}/debate"')
    with ThreadPoolExecutor() as pool:
        runs = [*pool.map(lambda _: launched(ROOT / "bin" / "debate", tmp_path, python=python), range(2))]

    assert [ran.stdout for ran in runs] == ["it ran: --version\n"] * 2
    assert len([*(tmp_path / ".cache" / "debate-orchestrator").iterdir()]) == 2
