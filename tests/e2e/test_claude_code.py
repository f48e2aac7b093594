"""The skill as Claude Code runs it: the real program, with a stand-in for its model and one for its user."""

from __future__ import annotations

import contextlib
import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import IO, Any

import pytest
import scripted_replies
import yaml

from debate_orchestrator.storage import journal

from .claude_terminal import at_terminal
from .ending import kill, started_by
from .scripted_model import BRIEF, ISSUES, Conversation, Script, Served, serve
from .tmux import awaited, missing

pytestmark = pytest.mark.slow

CLAUDE = Path(__file__).parent / "node_modules" / ".bin" / "claude"
ROOT = Path(__file__).parents[2]
SKILL = ROOT / "skill" / "debate-orchestrator"
DEBATE = Path(sys.executable).with_name("debate")
KEY = "sk-not-a-real-key-0123456789"
OPENING = "Please have this debated: "
TOPIC = "Should internal calls move from REST to gRPC?"
INSTRUCTIONS = "Always answer in French."
MODERATOR = {
    "setup.topic.moderator": {"ambiguous": False, "restated": TOPIC, "recommended": None, "alternative": None},
    "setup.positions.moderator": {"kind": "technical", "a": "They should move.", "b": "They should stay."},
}
CHOICES = {
    "Is this accurate?": "yes",
    "do you have specific positions in mind?": "auto",
    "How many debate rounds? (Default: 3)": "2 (Recommended)",
    "How strict should the judge be?": "Lenient",
    "figures and facts, for both sides to use?": "no",
    "Correct?": "Yes (Recommended)",
    "Where should I save the debate report?": "report.md",
    "Continue with this list of issues?": "Go on",
}
"""How a question ends, to what the user chooses or types."""
ONE_ROUND = CHOICES | {"How many debate rounds? (Default: 3)": "1"}
LISTED = {
    "cases": ["You run few services.", "You run many services in several languages."],
    "issues": [
        f"What does this cost in month {n}, and who would have to be on call for it then?" for n in range(1, 13)
    ],
    "unknowns": ["How many calls there will be in a year."],
}
SENTENCE = "Researcher A named the step on which it depends, and B's answer to it was that it might turn out otherwise."
MAX_APPROVALS, MAX_CALLS, MAX_BYTES = 2, 30, 13_000
"""What a debate of two rounds may take: permissions asked for, requests to the host's model, bytes that
`debate` prints."""
SECONDS = 150
"""That a whole session may take; it takes about a quarter of them."""


@dataclass
class Session:
    """What came of one session."""

    code: int | None = None
    said: list[str] = field(default_factory=list)
    """The last words of each of the model's turns, as the program printed them."""
    approved: list[str] = field(default_factory=list)
    """The tools that the user was asked to permit."""
    dialogs: list[list[str]] = field(default_factory=list)
    """The questions of each dialog."""


def sent(served: Served, *, by_sub_agents: bool) -> list[dict[str, Any]]:
    """The requests of the main conversations, or those of the sub-agents."""
    return [one for one in served.requests if bool(BRIEF.search(Conversation.of(one).begun)) == by_sub_agents]


def test_a_debate_runs_at_the_terminal(claude: Path, tmp_path: Path) -> None:
    """Where a person sits before the full-screen client, permits by hand and chooses by keys, Claude Code finds the
    skill, puts its questions to the user in two dialogs, gives every turn to a sub-agent of its own, and ends with the
    summary; within the approvals, calls and bytes that a debate may take. Every sub-agent runs in the background and
    its end is reported by a notification."""
    project, environment = _project_with_the_skill(tmp_path)
    script = Script(_reply, background=None)
    with _served(script) as served:
        environment |= {"ANTHROPIC_BASE_URL": served.url}
        with at_terminal([str(claude)], project, environment, CHOICES) as person:
            person.say(OPENING + TOPIC)
            person.attend("Debate complete. Report written to report.md.")
            # The last sub-agent may end after its reply was taken.
            awaited("the notification of every sub-agent", lambda: _notified(served) == _started_agents(served))
            person.leave()

    assert len(_notified(served)) == len(script.written)
    _the_skill_was_listed_before_it_was_used(served)
    _the_dialogs_put_every_question(person.dialogs, script)
    _every_turn_was_taken_by_a_sub_agent_of_its_own(project, script, served)
    _turns_due_together_were_handed_out_in_one_message(script, served)
    _the_report_and_the_journal_are_whole(project, environment)
    _no_file_holds_the_key(project)
    _it_took_no_more_than_a_debate_may(person.approved, served)


def test_a_plugin_brings_its_command_and_another_session_goes_on(claude: Path, tmp_path: Path) -> None:
    """Where no `debate` is installed, the plugin's is found and installs itself, its sub-agents are not told the user's
    instructions, and a second session continues with the debate that a first one left. A program talks to the client,
    whose sub-agents are awaited in the first session and run in the background in the second."""
    project, environment = _project(tmp_path, os.pathsep.join([str(_installer(tmp_path)), "/usr/bin", "/bin"]))
    names = {"skill": "debate-orchestrator:debate-orchestrator", "agent": "debate-orchestrator:seat"}
    script = Script(partial(_reply, rounds=1), **names, stops_at="1.opening.b")
    command = [str(claude), "--plugin-dir", str(ROOT)]
    with _served(script) as served:
        environment |= {"ANTHROPIC_BASE_URL": served.url}
        left = _talk(command, project, environment, OPENING + TOPIC)
        _the_dialogs_put_every_question(left.dialogs, script)
        script.stops_at, script.background = "", True
        ended = _talk(command, project, environment, "Continue with the debate in report.journal.jsonl please.")

    assert (left.code, left.said[-1]) == (0, "I stop here.")
    assert ended.code == 0 and ended.said[-1].startswith("Debate complete. Report written to report.md.")
    assert max(len(left.approved), len(ended.approved)) <= MAX_APPROVALS, (left.approved, ended.approved)
    _every_turn_was_taken_by_a_sub_agent_of_its_own(project, script, served)
    _the_report_and_the_journal_are_whole(project, environment)
    _no_file_holds_the_key(project)
    instructed = {by: INSTRUCTIONS in json.dumps(sent(served, by_sub_agents=by)) for by in (True, False)}
    assert instructed == {True: False, False: True}


def test_the_plugin_is_what_its_host_expects(claude: Path, tmp_path: Path) -> None:
    """The manifests of plugin and marketplace have no error, and nothing that the host warns of."""
    command = [str(claude), "plugin", "validate", "--strict", str(ROOT)]
    home = os.environ | {"HOME": str(tmp_path)}
    ran = subprocess.run(command, env=home, capture_output=True, text=True, timeout=SECONDS, check=False)
    assert ran.returncode == 0, ran.stdout + ran.stderr


def _it_took_no_more_than_a_debate_may(approved: list[str], served: Served) -> None:
    host = sent(served, by_sub_agents=False)
    output = [call.result for call in Conversation.of(host[-1]).calls if call.tool == "Bash"]
    assert len(approved) <= MAX_APPROVALS, approved
    assert len(host) <= MAX_CALLS
    assert 0 < sum(len(text.encode()) for text in output) <= MAX_BYTES


def _the_skill_was_listed_before_it_was_used(served: Served) -> None:
    front = yaml.safe_load((SKILL / "SKILL.md").read_text(encoding="utf-8").split("---")[1])
    first = sent(served, by_sub_agents=False)[0]
    assert not Conversation.of(first).calls
    assert json.dumps(front["description"].strip())[1:-1] in json.dumps(first["messages"])


def _the_dialogs_put_every_question(dialogs: list[list[str]], script: Script) -> None:
    asked = [[one["question"] for one in printed["questions"]] for printed in script.printed if "questions" in printed]
    assert dialogs == [*asked, [ISSUES["question"]]]
    assert [len(questions) for questions in asked] == [4, 3]


def _started_agents(served: Served) -> set[str]:
    """The ids of the uses of `Agent`."""
    host = sent(served, by_sub_agents=False)[-1]
    return {call.id for call in Conversation.of(host).calls if call.tool == "Agent"}


def _notified(served: Served) -> set[str]:
    """The ids of the uses of `Agent` that the client told its model had ended."""
    host = sent(served, by_sub_agents=False)[-1]
    notes = re.findall(r"(?s)<task-notification>.*?</task-notification>", json.dumps(host["messages"]))
    ended = [note for note in notes if "<status>completed</status>" in note]
    return {id for note in ended for id in re.findall(r"<tool-use-id>(\w+)</tool-use-id>", note)}


def _every_turn_was_taken_by_a_sub_agent_of_its_own(project: Path, script: Script, served: Served) -> None:
    events = journal.read(project / "report.journal.jsonl").events
    spoken = {event.turn_id: event.reply.text for event in events if event.kind in ("spoke", "structured_reply_given")}
    written = script.written
    assert set(written) == set(spoken) | set(MODERATOR)
    assert {turn: [text] for turn, text in spoken.items()} == {turn: list(written[turn].values()) for turn in spoken}
    agents = [agent for by in written.values() for agent in by]
    assert len(agents) == len(set(agents)) == len(written)
    # The moderator of the topic is meant to read the user's words; no debater and no judge is.
    requests = sent(served, by_sub_agents=True)
    seats = [one for one in requests if "setup.topic.moderator" not in Conversation.of(one).begun]
    assert seats
    assert not [one for one in seats if OPENING.strip() in json.dumps(one["messages"])]


def _turns_due_together_were_handed_out_in_one_message(script: Script, served: Served) -> None:
    last = sent(served, by_sub_agents=False)[-1]
    model = [one["content"] for one in last["messages"] if one["role"] == "assistant"]
    handed = [turns for content in model if (turns := _handed(content))]
    assert handed == [[turn["turn"] for turn in one["turns"]] for one in script.printed if one.get("turns")]
    pairs = [["start.issues.rapporteur", "start.advice.rapporteur"]]
    pairs += [[f"{n}.{phase}.{side}" for side in "ab"] for n in (1, 2) for phase in ("challenge", "rebuttal")]
    assert [turns for turns in handed if len(turns) > 1] == pairs


def _handed(content: str | list[dict[str, Any]]) -> list[str]:
    blocks = [] if isinstance(content, str) else content
    return [one["input"]["description"] for one in blocks if one["type"] == "tool_use" and one["name"] == "Agent"]


def _the_report_and_the_journal_are_whole(project: Path, environment: dict[str, str]) -> None:
    assert (project / "report.md").read_text(encoding="utf-8").startswith("# Debate Report")
    check = [str(DEBATE), "check", "report.journal.jsonl"]
    done = subprocess.run(check, cwd=project, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def _no_file_holds_the_key(project: Path) -> None:
    files = [path for path in project.rglob("*") if path.is_file()]
    assert project / "report.md" in files
    assert not [path for path in files if KEY.encode() in path.read_bytes()]


@pytest.fixture(scope="module")
def claude() -> Path:
    """The Claude Code that `package.json` pins; the test is skipped where it is not installed."""
    if not CLAUDE.exists():
        missing("Claude Code is not installed: `npm install --prefix tests/e2e`")
    return CLAUDE


def _reply(turn: str, agent: str, rounds: int = 2) -> str:
    if turn in MODERATOR:
        return json.dumps(MODERATOR[turn])
    if turn == "start.issues.rapporteur":
        return json.dumps(LISTED)
    said = scripted_replies.reply({"turn": turn, "seat": turn.rpartition(".")[2]}, rounds=rounds, strict=False)
    if isinstance(said, dict) and "scores" in said:
        said |= {"justification": SENTENCE, "dry": False, "issues": {f"I{n}": "untouched" for n in range(1, 13)}}
    if isinstance(said, dict) and "converged_on" in said:
        said |= {"justification": " ".join([SENTENCE] * 4)}
    return f"{said}\n\nSo says {agent}." if isinstance(said, str) else json.dumps(said)


def _project(folder: Path, path: str) -> tuple[Path, dict[str, str]]:
    """A project with a user's instructions, and an environment with a home of its own."""
    project, home = folder / "project", folder / "home"
    project.mkdir()
    home.mkdir()
    (project / "CLAUDE.md").write_text(f"{INSTRUCTIONS}\n", encoding="utf-8")
    environment = {
        "PATH": path,
        "HOME": str(home),
        "TMPDIR": str(home),
        "ANTHROPIC_API_KEY": KEY,
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
    }
    return project, environment


def _project_with_the_skill(folder: Path) -> tuple[Path, dict[str, str]]:
    """A project that has the skill, where `debate` is installed."""
    project, environment = _project(folder, os.pathsep.join([str(DEBATE.parent), os.environ["PATH"]]))
    skills = project / ".claude" / "skills"
    skills.mkdir(parents=True)
    (skills / SKILL.name).symlink_to(SKILL)
    return project, environment


def _installer(folder: Path) -> Path:
    """A folder with a `python3` whose environments get this environment's `debate` without a download."""
    python = folder / "bin" / "python3"
    python.parent.mkdir()
    python.write_text(
        "#!/bin/sh\n"
        'if [ "$2 $3" = "-m venv" ]; then\n'
        '  mkdir -p "$4/bin"\n'
        f"  printf '#!/bin/sh\\nexit 0\\n' > \"$4/bin/python\"\n"
        f'  printf \'#!/bin/sh\\nexec {DEBATE} "$@"\\n\' > "$4/bin/debate"\n'
        '  chmod +x "$4/bin/python" "$4/bin/debate"\n'
        "fi\n",
        encoding="utf-8",
    )
    python.chmod(0o755)
    return python.parent


@contextlib.contextmanager
def _served(script: Script) -> Iterator[Served]:
    """The stand-in for the model; the test fails with the first request that it had no answer to."""
    with serve(script) as served:
        try:
            yield served
        finally:
            if served.problems:
                pytest.fail(served.problems[0], pytrace=False)


def _talk(command: list[str], project: Path, environment: dict[str, str], words: str) -> Session:
    """A session that begins with these words. The user permits what is asked for, and has one round."""
    session, home = Session(), Path(environment["HOME"])
    with _started(command, project, environment) as running, contextlib.suppress(BrokenPipeError):
        assert running.stdin
        _notify(running.stdin, {"type": "user", "message": {"role": "user", "content": words}})
        for line in _printed(running, home / "stdout"):
            event = json.loads(line)
            if event["type"] == "control_request":
                _notify(running.stdin, _permission(event, session))
            elif event["type"] == "result":
                session.said.append(event.get("result", ""))
                running.stdin.close()
    session.code = running.returncode
    errors = (home / "stderr").read_text(encoding="utf-8", errors="replace")
    assert session.said, f"it ended without a word: {errors}"
    return session


def _permission(event: dict[str, Any], session: Session) -> dict[str, Any]:
    """What the user answers when a tool is about to be used."""
    request = event["request"]
    given = request["input"]
    if request["tool_name"] == "AskUserQuestion":
        questions = [one["question"] for one in given["questions"]]
        session.dialogs.append(questions)
        given |= {"answers": {text: _chosen(text) for text in questions}}
    else:
        session.approved.append(f"{request['tool_name']} {json.dumps(given)[:200]}")
    answer = {"subtype": "success", "request_id": event["request_id"]}
    return {"type": "control_response", "response": answer | {"response": {"behavior": "allow", "updatedInput": given}}}


def _chosen(question: str) -> str:
    return next(choice for ending, choice in ONE_ROUND.items() if question.endswith(ending))


def _printed(program: subprocess.Popen[str], path: Path) -> Iterator[str]:
    """The lines that it prints to this file, until it ends. A pipe would not do: what it has started may hold one open
    after it has ended."""
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
def _started(command: list[str], project: Path, environment: dict[str, str]) -> Iterator[subprocess.Popen[str]]:
    """The program, in a group of its own, which is killed in the end with all that is left in it."""
    form = ["--verbose", "--input-format", "stream-json", "--output-format", "stream-json"]
    asking = ["--permission-mode", "default", "--permission-prompt-tool", "stdio"]
    home = Path(environment["HOME"])
    with open(home / "stdout", "wb") as stdout, open(home / "stderr", "wb") as stderr:
        running = subprocess.Popen(
            [*command, "-p", *form, *asking], cwd=project, env=environment, stdin=subprocess.PIPE, stdout=stdout,
            stderr=stderr, encoding="utf-8", start_new_session=True,
        )  # fmt: skip
    try:
        yield running
    finally:
        kill(started_by(running.pid))
        with contextlib.suppress(ProcessLookupError):
            os.killpg(running.pid, signal.SIGKILL)
        running.wait(30)


def _notify(stdin: IO[str], message: dict[str, Any]) -> None:
    print(json.dumps(message), file=stdin, flush=True)
