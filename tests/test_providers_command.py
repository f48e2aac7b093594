"""Programs as speakers, run as real processes under their supervisor: what is left of them, and to whom signals go."""

from __future__ import annotations

import asyncio
import os
import shlex
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from debates import opened_event

from debate_orchestrator.core.fold import CurrentState, fold
from debate_orchestrator.core.reply import Reply
from debate_orchestrator.prompting import replies
from debate_orchestrator.prompting.briefs import Brief, Message
from debate_orchestrator.providers import command
from debate_orchestrator.providers.cast_providers import cast_problems
from debate_orchestrator.providers.provider import NO_PERMISSIONS
from debate_orchestrator.util.errors import ProviderFailed, TransientError
from debate_orchestrator.util.sanitize import block_marker
from debate_orchestrator.web.public import site
from debate_orchestrator.web.public.site import ScreeningFailed, TopicScreener

NONCE = opened_event().nonce
SAID = (Message(role="user", parts=("The motion.", "B spoke.")), Message(role="assistant", parts=("Mine \ud800",)))
BRIEF = Brief(turn_id="1.rebuttal.a", system="Be fair.", messages=SAID, wants="text")
ECHO = "import sys; print(sys.stdin.read(), end='')"
LONG = BRIEF.model_copy(update={"system": "x" * 1_000_000})


@pytest.fixture
def program(tmp_path: Path) -> Callable[[str], str]:
    """Makes a program of a Python script; the spec that names it."""

    def made(script: str) -> str:
        (tmp_path / "a program.py").write_text(script, encoding="utf-8")
        return f"command:{sys.executable} '{tmp_path}/a program.py' --flag '$HOME *'"

    return made


def provider(spec: str, retry_for: float = 30.0) -> command.Command:
    debate = fold([opened_event().with_settings(retry_for=retry_for)])
    return command.provider(spec, CurrentState(debate), NO_PERMISSIONS)


def ask(spec: str, asked: Brief = BRIEF, on_text: Callable[[str], Any] = str, retry_for: float = 30.0) -> Reply:
    return asyncio.run(provider(spec, retry_for).reply(asked, on_text))


def gone(pid: int) -> bool:
    """Whether a process has ended, or is a zombie."""
    until = time.monotonic() + 5
    while time.monotonic() < until:
        try:
            state = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()[0]
        except (FileNotFoundError, ProcessLookupError):
            return True
        if state == "Z":
            return True
        time.sleep(0.02)
    return False


def open_files() -> set[str]:
    """Every file of this process that is open, with its number."""
    found = set()
    for number in os.listdir("/proc/self/fd"):
        with suppress(FileNotFoundError):  # the folder itself was open while it was read
            found.add(f"{number} {os.readlink(f'/proc/self/fd/{number}')}")
    return found


def test_a_reply(program: Callable[[str], str]) -> None:
    """A program reads the brief as one text and prints the reply, which is kept verbatim but for its last line
    break; what it cost and who answered is unknown. The text is self-contained: the system text, every part in its
    order, and what the seat said as its own. No shell expands the words of a command."""
    spec = program(ECHO)
    reply = ask(spec)
    code = block_marker(NONCE, BRIEF.turn_id, "earlier")

    assert reply.text == (
        f"Be fair.\n\n---\n\nThe motion.\n\nB spoke.\n\n<<< EARLIER {code} said by you\nMine \ufffd\nEND {code} >>>"
    )
    assert (reply.spec, reply.usage, reply.cost, reply.model, reply.ended) == (spec, None, None, None, "whole")
    assert ask(program("import json, sys; print(json.dumps(sys.argv[1:]))")).text == '["--flag", "$HOME *"]'


@pytest.mark.parametrize(
    ("script", "said"),
    [
        ("import sys; print('half of'); sys.exit('no\\n  luck')", r"answer: “no luck” \(exit code 1\)"),
        ("import os; os.write(1, b'half of'); os._exit(127)", "exit code 127"),
        ("import os; os.write(1, b'half of'); os.kill(os.getpid(), 9)", "it was ended by signal 9"),
        ("import os; os.write(1, b'half of \\xff')", "not UTF-8 at offset 8"),
    ],
)
def test_a_failure(program: Callable[[str], str], script: str, said: str) -> None:
    """A program that fails is asked again; what it had printed is kept."""
    with pytest.raises(TransientError, match=said) as failure:
        ask(program(script))

    partial = failure.value.partial
    assert isinstance(partial, Reply) and partial.text.startswith("half of")


def test_too_long() -> None:
    """A program has as long as the debate's retries, a second at least; what it had printed by then is kept."""
    with pytest.raises(TransientError, match="no end after 1 s") as failure:
        ask("command:sh -c 'echo half of; exec sleep 60'", retry_for=0.1)

    assert isinstance(failure.value.partial, Reply) and failure.value.partial.text == "half of"


def test_too_much(program: Callable[[str], str]) -> None:
    """A program that prints without end is ended once no reply could be so long."""
    with pytest.raises(TransientError, match="more than 262,144 bytes") as failure:
        ask(program("import sys\nwhile True: sys.stdout.write('x' * 9999)"))

    assert isinstance(failure.value.partial, Reply) and len(failure.value.partial.text) == replies.MAX_SIZE
    assert len(ask(program(f"print('x' * {replies.MAX_SIZE - 1})")).text) == replies.MAX_SIZE - 1


def test_secrets_stay_secret(program: Callable[[str], str], monkeypatch: pytest.MonkeyPatch) -> None:
    """No secret of the environment that a program is given gets into a complaint, whole or in part."""
    monkeypatch.setenv("DEBATE_COMMAND_ENV", "MY_API_KEY,DEPLOY_SECRET,LONG_TOKEN")
    monkeypatch.setenv("MY_API_KEY", "sk-very-s3cr3t")
    monkeypatch.setenv("DEPLOY_SECRET", "-----BEGIN KEY-----\nMIIEvQ9b8A7zLk2xT5w\n-----END KEY-----")
    monkeypatch.setenv("LONG_TOKEN", "sk-" + "t7" * 200)
    script = (
        "import os, sys; e = os.environ\n"
        "sys.exit(f\"{e['LONG_TOKEN']} {'.' * 150} {e['MY_API_KEY']} {e['DEPLOY_SECRET']} MIIEvQ9b8A7zLk2xT5w bad\")"
    )
    with pytest.raises(TransientError, match="bad") as failure:
        ask(program(script))
    message = str(failure.value)

    assert [one for one in ("sk-very", "MIIE", "t7t") if one in message] == []
    assert message.count("[key]") >= 3


FORKS = """
import os, signal, sys, time
{ignore}
child = os.fork()
open({pids!r}, "a").write(f"{{os.getpid()}}\\n")
print("begun", flush=True)
time.sleep(60)
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("ignore", "grace", "times"),
    [
        ("", 5, 1),
        ("signal.signal(signal.SIGTERM, signal.SIG_IGN)", 0.2, 1),
        ("signal.signal(signal.SIGTERM, signal.SIG_IGN)", 60, 2),
    ],
)
def test_nothing_is_left_when_it_is_called_off(
    program: Callable[[str], str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    ignore: str,
    grace: float,
    times: int,
) -> None:
    """When a turn is cancelled its program and what that started end, even where they would not, and no file stays
    open; cancelled once more, they end at once."""
    monkeypatch.setattr(command, "GRACE_SECONDS", grace)
    pids = tmp_path / "pids"
    speaker = provider(program(FORKS.format(ignore=ignore, pids=str(pids))))

    async def cancelled() -> None:
        begun = asyncio.Event()
        asking = asyncio.create_task(speaker.reply(LONG, lambda piece: begun.set()))
        async with asyncio.timeout(30):
            await begun.wait()
            while not pids.exists() or len(pids.read_text(encoding="utf-8").split()) < 2:
                await asyncio.sleep(0.01)
        before = open_files()
        for _ in range(times):
            asking.cancel()
            await asyncio.sleep(0.01)
        with pytest.raises(asyncio.CancelledError):
            await asking
        await asyncio.sleep(0)
        assert open_files() < before

    files = open_files()
    asyncio.run(cancelled())

    begun = [int(pid) for pid in pids.read_text(encoding="utf-8").split()]
    assert [pid for pid in begun if not gone(pid)] == []
    assert open_files() <= files  # others may close theirs meanwhile
    for pid in begun:
        with pytest.raises(ChildProcessError):  # no child of ours is left to be reaped
            os.waitpid(pid, os.WNOHANG)


ENDS_WITH_US = """
import sys
from test_providers_command import ask
ask(sys.argv[1], on_text=lambda piece: print(piece, flush=True))
"""


@pytest.mark.slow
@pytest.mark.parametrize("ignore", ["", "signal.signal(signal.SIGTERM, signal.SIG_IGN)"], ids=["plain", "stubborn"])
def test_nothing_outlives_us(program: Callable[[str], str], tmp_path: Path, ignore: str) -> None:
    """When our process is killed, so that it can do nothing any more, its program and all that this has started end,
    even where they ignore the request to."""
    pids = tmp_path / "pids"
    script = FORKS.format(ignore=ignore, pids=str(pids)).replace("child = os.fork()", "os.fork(); os.fork()")
    words = [sys.executable, "-c", ENDS_WITH_US, program(script)]
    with subprocess.Popen(words, stdout=subprocess.PIPE, cwd=Path(__file__).parent) as ours:
        until = time.monotonic() + 30
        while not pids.exists() or len(pids.read_text(encoding="utf-8").split()) < 4:
            assert time.monotonic() < until
            time.sleep(0.01)
        ours.kill()

    assert [pid for pid in map(int, pids.read_text(encoding="utf-8").split()) if not gone(pid)] == []


def test_what_can_not_be_run(tmp_path: Path) -> None:
    """A program that is missing, or can't be run, is reported before a debate is opened, and again if it goes later."""
    plain = tmp_path / "plain"
    plain.write_text("x", encoding="utf-8")
    wrong = ["command:", "command: ", "command:'", "command:\0", "command:no-such-program -x", f"command:{plain}"]

    assert [spec for spec in wrong if not command.problem(spec)] == []
    assert cast_problems({"a": (f"command:{sys.executable} -c 'x;y'",), "b": (wrong[-1],)})[0].startswith("cast: b")
    plain.chmod(0o755)  # it may be run, but is not a program
    for spec in ("command:no-such-program -x", f"command:{plain}", "command:\ud800"):
        with pytest.raises(ProviderFailed, match="can't be run"):
            ask(spec)


@pytest.mark.slow
@pytest.mark.parametrize("pipes", ["<&- >&- 2>&-", ""], ids=["closed", "held open"])
def test_a_reply_is_kept_while_children_are_ended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, pipes: str) -> None:
    """What a program has said to its end is its reply, also if the turn is cancelled while processes that it left
    running are ended, or hold its output open. Those end at once, not after their grace of minutes, and the
    cancellation comes where the turn next waits."""
    monkeypatch.setattr(command, "GRACE_SECONDS", 600)
    pid = tmp_path / "pid"
    line = f"(trap '' TERM; exec sleep 600) {pipes} & echo $! > {shlex.quote(str(pid))}; echo So it is."
    speaker, replies_made = provider(f"command:sh -c {shlex.quote(line)}"), list[Reply]()

    async def turn() -> None:
        replies_made.append(await speaker.reply(BRIEF, str))
        await asyncio.sleep(600)

    async def cancelled() -> None:
        asking = asyncio.create_task(turn())
        await asyncio.sleep(1)
        asking.cancel()
        with pytest.raises(asyncio.CancelledError):
            async with asyncio.timeout(60):
                await asking

    asyncio.run(cancelled())
    assert [reply.text for reply in replies_made] == ["So it is."]
    assert gone(int(pid.read_text(encoding="utf-8")))


def screen(command: str) -> str:
    return asyncio.run(TopicScreener(command).reason({"topic": "x", "positions": {}}))


def speak(command: str) -> str:
    return ask(f"command:{command}").text


@pytest.fixture
def signals(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The signals that are sent to groups, none of which may have lost its leader to be reaped."""
    sent, killpg = list[int](), os.killpg

    def checked(group: int, number: int) -> None:
        os.waitid(os.P_PID, group, os.WEXITED | os.WNOHANG | os.WNOWAIT)  # ChildProcessError once it is reaped
        sent.append(number)
        killpg(group, number)

    monkeypatch.setattr(os, "killpg", checked)
    return sent


@pytest.mark.parametrize("run", [screen, speak])
def test_no_group_gets_a_signal_whose_number_may_be_free(run: Callable[[str], str], signals: list[int]) -> None:
    """A group is ended before its leader is reaped: afterwards its number may be that of a stranger's group."""
    run("sh -c 'cat > /dev/null; echo So it is.'")
    assert signals


def test_what_a_child_prints_later_does_not_count() -> None:
    """All that a program printed until it ended is its output, and nothing that what it left running prints then."""
    heard = list[str]()
    script = (
        "import os, sys, time\n"
        "if os.fork():\n    print('x' * 50_000, flush=True); os._exit(0)\n"
        "time.sleep(0.3)\nwhile True: print('After.', flush=True); time.sleep(0.01)"
    )
    run = asyncio.run(ran([sys.executable, "-c", script], heard))

    assert run.code == 0 and run.stdout.strip(b"x") == b"\n" == "".join(heard).strip("x").encode()
    assert len(run.stdout) == 50_001


@pytest.mark.parametrize("says", ["echo bye", "yes | head -c 20000000", "yes | head -c 20000000 >&2"])
def test_what_a_child_prints_when_it_is_to_end_does_not_count(tmp_path: Path, says: str) -> None:
    """A child that the program left running is asked to end, and then killed. Whatever it prints then, the reply is as
    the program gave it."""
    asked = tmp_path / "asked"
    child = f"trap {shlex.quote(f'touch {asked}; {says}')} TERM; touch {tmp_path}/ready; sleep 60 & wait"
    line = f"echo ANSWER; ({child}) & until [ -e {tmp_path}/ready ]; do sleep 0.01; done"

    assert speak(f"sh -c {shlex.quote(line)}") == "ANSWER"
    assert asked.exists()


ENDS_ITS_SUPERVISOR = """
import os, signal, sys, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
print("Before.", flush=True)
supervisor, (reader, writer) = os.getppid(), os.pipe()
if child := os.fork():
    with open(sys.argv[1], "w") as pid:
        pid.write(str(child))
    os.write(writer, b"x")
    sys.exit()
os.read(reader, 1)
os.kill(supervisor, 9)
time.sleep(0.5)
print("After.", flush=True)
time.sleep(60)
"""


def test_what_kills_its_supervisor_ends_with_it(tmp_path: Path) -> None:
    """A child of a program that kills its supervisor does not live on; what it prints then does not count. A program
    that kills its whole group fails as after any signal."""
    pid, heard = tmp_path / "pid", list[str]()
    run = asyncio.run(ran([sys.executable, "-c", ENDS_ITS_SUPERVISOR, str(pid)], heard))

    assert gone(int(pid.read_text(encoding="utf-8")))
    assert run.stdout == b"Before.\n" and "".join(heard) == "Before.\n"
    with pytest.raises(TransientError, match="it was ended by signal 9"):
        speak(f"{sys.executable} -c {shlex.quote('import os; os.killpg(0, 9)')}")


async def ran(words: list[str], heard: list[str]) -> command.ProgramRun:
    run = command.ProgramRun(heard.append)
    await run.run(words, command.environment(), b"", 30)
    return run


@pytest.mark.parametrize("run", [screen, speak])
@pytest.mark.parametrize("pipes", ["<&- >&- 2>&-", ""], ids=["closed", "held open"])
def test_a_child_ends_with_its_program(
    run: Callable[[str], str], pipes: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A program has said all once it has ended: what it left running in its group is ended, after a little while where
    it holds the output open."""
    monkeypatch.setattr(command, "GRACE_SECONDS", 0.1)
    pid = tmp_path / "pid"
    run(f"sh -c {shlex.quote(f'sleep 60 {pipes} & echo $! > {shlex.quote(str(pid))}')}")

    assert gone(int(pid.read_text(encoding="utf-8")))


def test_a_screening_that_takes_too_long_is_ended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without an answer in time the program and its children end, and the debate does not start."""
    monkeypatch.setattr(site, "SCREENING_SECONDS", 0.5)
    pid = tmp_path / "pid"
    with pytest.raises(ScreeningFailed, match="no answer within"):
        screen(f"sh -c {shlex.quote(f'sleep 60 & echo $! > {shlex.quote(str(pid))}; wait')}")

    assert gone(int(pid.read_text(encoding="utf-8")))


def test_an_answer_counts_while_what_the_screening_left_is_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    """The time is only for the answer: a request goes on after one that came in time, though the time is over once
    what the program left running is ended."""
    monkeypatch.setattr(site, "SCREENING_SECONDS", 2.0)
    monkeypatch.setattr(command, "GRACE_SECONDS", 2.2)

    async def request() -> str:
        program = shlex.quote("(trap '' TERM; sleep 60) & echo Not here.; exit 1")
        reason = await TopicScreener(f"sh -c {program}").reason({"topic": "x", "positions": {}})
        await asyncio.sleep(0.1)
        return reason

    assert asyncio.run(request()) == "Not here."
