"""The skill as Claude Code runs it: the real program, with a stand-in for its model."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any, NamedTuple

import puppets
import pytest
import yaml

from debate_orchestrator.storage import journal

from .ending import kill, started_by
from .npm import program
from .scripted_model import BRIEF, Conversation, Script, serve

pytestmark = pytest.mark.slow

VERSION = "2.1.329"
SKILL = Path(__file__).parents[2] / "skill" / "debate-orchestrator"
DEBATE = Path(sys.executable).with_name("debate")
KEY = "sk-not-a-real-key-0123456789"
OPENING = "Please have this debated: "
TOPIC = "Should internal calls move from REST to gRPC?"
MODERATOR = {
    "setup.topic.moderator": {"ambiguous": False, "restated": TOPIC, "recommended": None, "alternative": None},
    "setup.positions.moderator": {"kind": "technical", "a": "They should move.", "b": "They should stay."},
}
TOOLS = "Skill,Bash(debate:*),Agent,Read,Write"
SECONDS = 120
"""That the whole conversation may take; it takes about a quarter of them."""


class Ran(NamedTuple):
    """What came of one run."""

    rounds: int
    project: Path
    code: int
    said: list[str]
    """The last words of each of the model's turns, as the program printed them."""
    script: Script
    requests: list[dict[str, Any]]

    def sent(self, *, by_sub_agents: bool) -> list[dict[str, Any]]:
        """The requests of the main conversation, or those of the sub-agents."""
        return [one for one in self.requests if bool(BRIEF.search(Conversation.of(one).begun)) == by_sub_agents]


def test_a_debate_runs_from_the_users_words_to_the_report(claude: Path, tmp_path: Path) -> None:
    """Claude Code finds the skill, puts its questions to the user, gives every turn to a sub-agent of its own, and
    ends with the summary."""
    ran = _debate(claude, tmp_path, rounds=2)
    assert ran.code == 0
    assert ran.said[-1].startswith("Debate complete. Report written to report.md.")
    _the_skill_was_listed_before_it_was_used(ran)
    _each_question_was_put_word_for_word(ran)
    _every_turn_was_taken_by_a_sub_agent_of_its_own(ran)
    _turns_due_together_were_handed_out_in_one_message(ran)
    _the_report_and_the_journal_are_whole(ran)
    _no_file_holds_the_key(ran)


def _the_skill_was_listed_before_it_was_used(ran: Ran) -> None:
    front = yaml.safe_load((SKILL / "SKILL.md").read_text(encoding="utf-8").split("---")[1])
    first = ran.sent(by_sub_agents=False)[0]
    assert not Conversation.of(first).calls
    assert json.dumps(front["description"].strip())[1:-1] in json.dumps(first["messages"])


def _each_question_was_put_word_for_word(ran: Ran) -> None:
    assert ran.said[:-1] == [one["question"]["text"] for one in ran.script.printed if one["status"] == "ask"]


def _every_turn_was_taken_by_a_sub_agent_of_its_own(ran: Ran) -> None:
    events = journal.read(ran.project / "report.journal.jsonl").events
    told = {event.turn: event.reply.text for event in events if event.kind in ("spoke", "voted")}
    written = ran.script.written
    assert set(written) == set(told) | set(MODERATOR)
    assert {turn: [text] for turn, text in told.items()} == {turn: list(written[turn].values()) for turn in told}
    agents = [agent for by in written.values() for agent in by]
    assert len(agents) == len(set(agents)) == len(written)
    # The moderator of the topic is meant to read the user's words; no debater and no judge is.
    seats = [one for one in ran.sent(by_sub_agents=True) if "setup.topic.moderator" not in Conversation.of(one).begun]
    assert seats
    assert not [one for one in seats if OPENING.strip() in json.dumps(one["messages"])]


def _turns_due_together_were_handed_out_in_one_message(ran: Ran) -> None:
    last = ran.sent(by_sub_agents=False)[-1]
    model = [one["content"] for one in last["messages"] if one["role"] == "assistant"]
    handed = [turns for content in model if (turns := _handed(content))]
    assert handed == [[turn["turn"] for turn in one["turns"]] for one in ran.script.printed if one.get("turns")]
    rounds = range(1, ran.rounds + 1)
    pairs = [[f"{n}.{phase}.{side}" for side in "ab"] for n in rounds for phase in ("challenge", "rebuttal")]
    assert [turns for turns in handed if len(turns) > 1] == pairs


def _handed(content: str | list[dict[str, Any]]) -> list[str]:
    blocks = [] if isinstance(content, str) else content
    return [one["input"]["description"] for one in blocks if one["type"] == "tool_use" and one["name"] == "Agent"]


def _the_report_and_the_journal_are_whole(ran: Ran) -> None:
    assert (ran.project / "report.md").read_text(encoding="utf-8").startswith("# Debate Report")
    check = [str(DEBATE), "check", "report.journal.jsonl"]
    done = subprocess.run(check, cwd=ran.project, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def _no_file_holds_the_key(ran: Ran) -> None:
    files = [path for path in ran.project.rglob("*") if path.is_file()]
    assert ran.project / "report.md" in files
    assert not [path for path in files if KEY.encode() in path.read_bytes()]


@pytest.fixture(scope="module")
def claude() -> Path:
    """The pinned Claude Code, from this user's cache; the test is skipped where it can't be had."""
    return program("@anthropic-ai/claude-code", VERSION, "claude")


def _debate(claude: Path, folder: Path, rounds: int) -> Ran:
    """A debate from the user's first words to the summary, in a project and a home of its own."""
    project, home = folder / "project", folder / "home"
    home.mkdir()
    skills = project / ".claude" / "skills"
    skills.mkdir(parents=True)
    (skills / SKILL.name).symlink_to(SKILL)

    def reply(turn: str, agent: str) -> str:
        if turn in MODERATOR:
            return json.dumps(MODERATOR[turn])
        seat = turn.rpartition(".")[2]
        said = puppets.reply({"turn": turn, "seat": seat}, rounds=rounds, strict=False)
        return f"{said}\n\nSo says {agent}." if isinstance(said, str) else json.dumps(said)

    script = Script(reply)
    with serve(script) as served:
        user = [f"{OPENING}{TOPIC}", "yes", "auto", "yes", str(rounds), "lenient", "report.md"]
        code, said, errors = _talk(claude, project, home, served.url, user)
    if served.problems:
        pytest.fail(served.problems[0], pytrace=False)
    assert len(said) == len(user), f"it ended after {said}: {errors}"
    return Ran(rounds, project, code, said, script, served.requests)


def _talk(claude: Path, project: Path, home: Path, url: str, user: list[str]) -> tuple[int, list[str], str]:
    """Says the user's words one after the other, each when the model has ended its turn; the exit code, what the
    model ended its turns with, and what stood on stderr."""
    said: list[str] = []
    with _started(claude, project, home, url) as program, contextlib.suppress(BrokenPipeError):
        assert program.stdin
        _tell(program.stdin, user[0])
        for line in _printed(program, home / "stdout"):
            event = json.loads(line)
            if event["type"] != "result":
                continue
            said.append(event.get("result", ""))
            if len(said) < len(user):
                _tell(program.stdin, user[len(said)])
            else:
                program.stdin.close()
    return program.returncode, said, (home / "stderr").read_text(encoding="utf-8", errors="replace")


def _printed(program: subprocess.Popen[str], path: Path) -> Iterator[str]:
    """The lines that it prints to this file, until it ends. A pipe would not do: whoever it has started may hold one
    open after it has ended."""
    end, rest = time.monotonic() + SECONDS, ""
    with open(path, encoding="utf-8") as printed:
        while time.monotonic() < end:
            ended = program.poll() is not None
            *lines, rest = (rest + printed.read()).split("\n")
            yield from lines
            if ended:
                return
            time.sleep(0.02)


@contextlib.contextmanager
def _started(claude: Path, project: Path, home: Path, url: str) -> Iterator[subprocess.Popen[str]]:
    """The program, in a group of its own, which is killed in the end with all that is left in it."""
    environment = {
        "PATH": os.pathsep.join([str(DEBATE.parent), os.environ["PATH"]]),
        "HOME": str(home),
        "TMPDIR": str(home),
        "ANTHROPIC_API_KEY": KEY,
        "ANTHROPIC_BASE_URL": url,
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
    }
    form = ["--verbose", "--input-format", "stream-json", "--output-format", "stream-json"]
    command = [str(claude), "-p", *form, "--allowedTools", TOOLS]
    with open(home / "stdout", "wb") as stdout, open(home / "stderr", "wb") as stderr:
        program = subprocess.Popen(
            command, cwd=project, env=environment, stdin=subprocess.PIPE, stdout=stdout, stderr=stderr,
            encoding="utf-8", start_new_session=True,
        )  # fmt: skip
    try:
        yield program
    finally:
        kill(started_by(program.pid))
        with contextlib.suppress(ProcessLookupError):
            os.killpg(program.pid, signal.SIGKILL)
        program.wait(30)


def _tell(stdin: IO[str], words: str) -> None:
    print(json.dumps({"type": "user", "message": {"role": "user", "content": words}}), file=stdin, flush=True)
