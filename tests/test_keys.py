"""Keys stay where they belong: in the environment, and in the requests of the server they are meant for."""

from __future__ import annotations

import asyncio
import base64
import json
import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from urllib.parse import quote

import local_http
import pytest
from conftest import MODEL_VARIABLES, CommandResult, Run
from debates import opened_event
from local_http import Listener, listening
from messages_server import Server, serving

from debate_orchestrator.core.fold import CurrentState, fold
from debate_orchestrator.prompting.briefs import Brief, Message
from debate_orchestrator.providers.cast_providers import cast_problems, make_provider
from debate_orchestrator.providers.command import environment
from debate_orchestrator.providers.provider import Permissions, call_provider
from debate_orchestrator.providers.servers import key_name
from debate_orchestrator.util.errors import TransientError
from debate_orchestrator.util.redact import redact

KEY = "sk-ant-0123/456+789=abcdef"
SETUP = (
    "--topic=T", "--position-a=It is so.", "--position-b=It is not so.", "--no-issues", "--no-brief", "--rounds=1",
    "--output=r.md", "--answers=a.yaml",
)  # fmt: skip
FAR = "http://models.example:8080"
BRIEF = Brief(turn_id="1.opening.a", system="", messages=(Message(role="user", parts=("Speak.",)),), wants="text")
FORMS = (
    KEY,
    quote(KEY, safe=""),
    base64.b64encode(KEY.encode()).decode(),
    base64.b64encode(f"user:{KEY}".encode()).decode(),
    base64.b64encode(f"users:{KEY}".encode()).decode(),
    KEY.encode().hex(),
)
TRACES = ("sk-ant-0123", quote(KEY, safe="")[-20:], *(form[8:-4] for form in FORMS[2:]))
"""Parts of what each form makes of the key."""


@pytest.fixture(autouse=True)
def bare(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An environment with no key, no server and no proxy."""
    proxies = ("http_proxy", "https_proxy", "all_proxy", "no_proxy")
    for name in (*MODEL_VARIABLES, *proxies, *map(str.upper, proxies), "DEBATE_COMMAND_ENV"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("ANTHROPIC_CONFIG_DIR", str(here / "nothing"))
    monkeypatch.setenv("OLLAMA_HOST", "127.0.0.1:9")
    Path("a.yaml").write_text("retry_for: 1\n", encoding="utf-8")


@pytest.fixture
def listener() -> Iterator[Listener]:
    with listening() as made:
        yield made


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    """A server that speaks the Messages API, to which the vendor's name leads."""
    with serving(Server()) as made:
        monkeypatch.setenv("ANTHROPIC_BASE_URL", made.url)
        yield made


def script(text: str) -> str:
    """The spec of a program with that text."""
    Path("speaks.py").write_text(text, encoding="utf-8")
    return f"command:{sys.executable} speaks.py"


def written() -> str:
    """All that lies in the working folder, but for the program."""
    files = (path for path in Path().rglob("*") if path.is_file() and path.name != "speaks.py")
    return "\n".join(path.read_text(encoding="utf-8") for path in files)


def leaks(ran: CommandResult, traces: tuple[str, ...] = TRACES) -> list[str]:
    """What is to be seen of the key in what was printed and written."""
    shown = f"{ran.out}\n{ran.err}\n{written()}"
    return [one for one in traces if one in shown]


# A key with white space about it


@pytest.mark.parametrize("key", [f"{KEY}\n", f"\t{KEY}\r\n"])
@pytest.mark.parametrize("vendor", ["ANTHROPIC", "OPENAI"])
def test_a_key_is_stripped(
    debate: Run, listener: Listener, monkeypatch: pytest.MonkeyPatch, vendor: str, key: str
) -> None:
    """White space around a key is not part of it: `models` sends the key without, and prints it in no form."""
    monkeypatch.setenv(f"{vendor}_API_KEY", key)
    monkeypatch.setenv(f"{vendor}_BASE_URL", listener.url)
    for flags in ((), ("--json",)):
        ran = debate("models", *flags)
        assert ran.code == 0
        assert leaks(ran) == []
    assert listener.said().count(KEY) == 2


@pytest.mark.parametrize("tail", ["", "\n"])
def test_an_echoed_refusal(debate: Run, server: Server, monkeypatch: pytest.MonkeyPatch, tail: str) -> None:
    """A server that quotes the key in its refusal, in whatever form, gets it neither onto a screen nor into a file."""
    monkeypatch.setenv("ANTHROPIC_API_KEY", f"{KEY}{tail}")
    server.problem = lambda request, n: {"status": 401, "message": f"no: {' '.join(FORMS)}", "kind": FORMS[1]}
    ran = debate("run", *SETUP, "--judge=anthropic:m", "--a=anthropic:m", "--b=anthropic:m")

    assert ran.code == 4 and "HTTP 401: “no: [key]" in ran.err
    assert leaks(ran) == []
    assert set(server.keys) == {f"Bearer {KEY}"}


# What a speaker says


@pytest.mark.parametrize("flag", ["--events", "--json", None])
def test_a_key_in_a_speech(debate: Run, server: Server, monkeypatch: pytest.MonkeyPatch, flag: str | None) -> None:
    """A key in a speech, also where it comes in two pieces, is in no journal, report or line that is printed."""
    monkeypatch.setenv("ANTHROPIC_API_KEY", KEY)
    text = f"{'This is said first. ' * 4}{'.' * 70} {' and '.join(FORMS)}. This is said last."
    server.problem = lambda request, n: {"text": text} if "output_config" not in request else None
    ran = debate("run", *SETUP, "--judge=anthropic:m", "--a=anthropic:m", "--b=anthropic:m", *([flag] if flag else []))

    assert ran.code == 0, ran.err
    assert leaks(ran) == []
    assert "[key] and [key]" in written() and "This is said last." in written()


def test_a_program_says_a_key(debate: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """A key that a program prints, as a speech or as the reason of its failure, is not kept."""
    monkeypatch.setenv("MY_TOKEN", KEY)
    for text in (f"print({FORMS!r})", f"import sys; print({KEY!r}, end=''); sys.exit({'x' * 9 + KEY!r})"):
        spec = script(text)
        ran = debate("run", *SETUP, f"--judge={spec}", f"--a={spec}", f"--b={spec}")
        assert ran.code != 2
        assert leaks(ran) == []
        assert "[key]" in written()
        for path in Path().glob("r.*"):
            path.unlink()


def test_a_key_that_only_a_report_would_join(debate: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """A key that emphasis or private reasoning parts in the journal is in no report either."""
    key = "sk_live_9f8e7d6c5b4a39281706"
    monkeypatch.setenv("MY_TOKEN", key)
    parted = (f"{key[:9]}**{key[9:12]}**{key[12:]}", f"{key[:9]}\n<think>x</think>\n{key[9:]}", key.replace("_", "\\_"))
    spec = script(f"print('We say so. ' + ' and '.join({parted!r}) + '\\n\\nThat is all.')")
    ran = debate("run", *SETUP, "--judge=host", f"--a={spec}", f"--b={spec}")
    assert ran.code == 3, ran.err
    assert debate("report", "r.journal.jsonl").code == 0
    for path in (Path("r.md"), Path("r.html")):
        shown = re.sub(r"<[^>]*>|[*>\s]", "", path.read_text(encoding="utf-8"))
        assert "Thatisall." in shown and key not in shown, path


def test_the_beginning_of_what_a_program_says_of_its_failure(debate: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a long standard error the end is reported, and no part of a key at its beginning."""
    monkeypatch.setenv("MY_TOKEN", KEY)
    spec = script(f"import sys; sys.stderr.write({KEY!r} + ' ' * (65_536 - 40) + 'failed.'); sys.exit(3)")
    ran = debate("run", *SETUP, f"--judge={spec}", f"--a={spec}", f"--b={spec}", "--retry-for=1")
    assert "failed." in ran.err and KEY[8:] not in ran.err + written()


@pytest.mark.parametrize("at", (4, 21))
def test_a_key_in_two_pieces(at: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """A key that comes in two pieces never reaches the live view."""
    monkeypatch.setenv("MY_TOKEN", KEY)
    pieces = (f"It is {KEY[:at]}", f"{KEY[at:]}, as they say.")
    spec = script(f"import time\nfor one in {pieces!r}: print(one, end='', flush=True); time.sleep(0.1)")
    heard: list[str] = []
    reply = asyncio.run(call_provider(make_provider(spec, CurrentState(fold([opened_event()]))), BRIEF, heard.append))

    assert len(heard) > 1
    assert "".join(heard) == reply.text == "It is [key], as they say."


def test_a_cast_of_ordinary_words(debate: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """A cast that names the model of a variable is taken; one that holds a provider's key is refused, since it is
    written into journals."""
    monkeypatch.setenv("MODEL_TOKEN", "claude-opus-5")
    monkeypatch.setenv("DEBATE_KEY_HERE", "gate-key-12")
    ran = debate("run", *SETUP, "--judge=host", "--a=host", "--b=command:say gate-key-12")

    assert cast_problems({"a": ("anthropic:claude-opus-5",)}) == []
    assert ran.code == 2 and "cast: b" in ran.err and "contains a key" in ran.err and "gate-key-12" not in ran.err
    assert not list(Path().glob("r.*"))


UNSENDABLE = ("Schl\u00fcssel-f\u00fcr-den-Server-4711", "sk-ant-0123\n456+789", "sk-ant-0123\t456+789")


@pytest.mark.parametrize("key", UNSENDABLE)
@pytest.mark.parametrize("kind", ["anthropic", "openai", "address"])
def test_a_key_that_can_not_be_sent(
    debate: Run, listener: Listener, monkeypatch: pytest.MonkeyPatch, kind: str, key: str
) -> None:
    """A key that is not one line of printable ASCII characters is refused at the first call, which is not made. The
    variable is named, and nothing of the key. Without a call the key does not matter."""
    spec = f"openai:m@{listener.url}/v1" if kind == "address" else f"{kind}:m"
    variable = key_name(listener.url) if kind == "address" else f"{kind.upper()}_API_KEY"
    monkeypatch.setenv(variable, key)
    monkeypatch.setenv(f"{kind.upper()}_BASE_URL", listener.url)
    cast = (f"--a={spec}", f"--b={spec}", f"--judge={spec}")
    ran = debate("run", *SETUP, *cast)

    assert ran.code == 4 and f"The key in {variable} can't be sent" in ran.err
    assert listener.said() == ""
    shown = ran.out + ran.err + written()
    assert [part for part in ("sk-ant-0123", "456+789", "Server-4711") if part in shown] == []
    assert kind == "address" or f"The key in {variable} can't be sent" in debate("models").out
    assert debate("run", *SETUP, *cast, "--rehearse").code == 0


def test_a_header_that_can_not_be_sent(debate: Run, server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    """The same of a value in a variable of headers."""
    monkeypatch.setenv("ANTHROPIC_API_KEY", KEY)
    monkeypatch.setenv("ANTHROPIC_CUSTOM_HEADERS", "x-gateway: gate\tkey-123")
    ran = debate("run", *SETUP, "--a=anthropic:m", "--b=anthropic:m", "--judge=anthropic:m")

    assert ran.code == 4 and "The header “x-gateway” can't be sent" in ran.err and "123" not in ran.err
    assert server.requests == []


@pytest.mark.parametrize("kind", ["anthropic", "openai"])
def test_no_cookie_is_kept(monkeypatch: pytest.MonkeyPatch, kind: str) -> None:
    """A cookie that a server sets is not sent back, so that none breaks the calls that follow."""
    seen: list[local_http.Asked] = []

    def answer(asked: local_http.Asked) -> local_http.Answer:
        seen.append(asked)
        return 500, {"content-length": "2", "set-cookie": 'a="\\001"', "Set-Cookie": "b=c; path=/"}, [b"no"]

    async def call_twice() -> None:
        provider = make_provider(f"{kind}:m", CurrentState(fold([opened_event()])))
        for _ in range(2):
            with pytest.raises(TransientError, match="HTTP 500"):
                await call_provider(provider, BRIEF, lambda piece: None)
        await provider.close()

    with local_http.answering(answer) as url:
        monkeypatch.setenv(f"{kind.upper()}_BASE_URL", url)
        monkeypatch.setenv(f"{kind.upper()}_API_KEY", KEY)
        asyncio.run(call_twice())
    assert ["cookie" in asked.headers for asked in seen] == [False, False]


def test_a_key_in_the_answers(debate: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """A key in a topic or in context is in no journal and in no brief."""
    monkeypatch.setenv("MY_TOKEN", KEY)
    cast = ("--judge=host", "--a=host", "--b=host")
    ran = debate("open", *SETUP, *cast, f"--topic=Is {KEY} safe?", "--json")

    assert ran.code == 0, ran.err
    assert leaks(ran) == []
    assert "Is [key] safe?" in written()


def process(*arguments: str, **environment: str) -> CommandResult:
    """Python with these arguments, as a process of its own."""
    ran = subprocess.run(
        [sys.executable, *arguments],
        capture_output=True, check=False, text=True, timeout=100, env={**os.environ, **environment},
    )  # fmt: skip
    return CommandResult(ran.returncode, ran.stdout, ran.stderr)


@pytest.mark.slow
def test_a_traceback(here: Path) -> None:
    """A fault of this program is reported with its traceback, causes and notes, and without keys."""
    code = (
        "import os\nfrom debate_orchestrator.cli import main, models\n"
        "def broken(arguments):\n    key = os.environ['MY_TOKEN']\n    error = ValueError(f'outer {key}')\n"
        "    error.add_note(f'noted {key}')\n    raise error from RuntimeError(repr({'authorization': key}))\n"
        "models.run = broken\nmain(['models'])\n"
    )
    ran = process("-c", code, MY_TOKEN=KEY)

    assert ran.code == 1
    assert all(one in ran.err for one in ("Traceback", "outer [key]", "noted [key]", "RuntimeError"))
    assert leaks(ran) == []


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["anthropic", "openai"])
def test_the_logs_of_a_library(listener: Listener, kind: str) -> None:
    """A library that is told to log all it does prints no key."""
    listener.status = 401
    environment = {
        "ANTHROPIC_LOG": "debug",
        "OPENAI_LOG": "debug",
        f"{kind.upper()}_API_KEY": KEY,
        f"{kind.upper()}_BASE_URL": listener.url,
        f"{kind.upper()}_CUSTOM_HEADERS": f"x-gateway: {KEY[::-1]}",
    }
    cast = [f"--{seat}={kind}:m" for seat in ("a", "b", "judge")]
    ran = process("-m", "debate_orchestrator", "run", *SETUP, *cast, **environment)

    assert ran.code == 4 and "DEBUG" in ran.err
    assert leaks(ran, (*TRACES, KEY[::-1])) == []
    assert KEY[::-1] in listener.said()


# Where a key goes


@pytest.mark.parametrize("status", [302, 307])
def test_models_follows_no_redirect(
    debate: Run, listener: Listener, monkeypatch: pytest.MonkeyPatch, status: int
) -> None:
    """A server that sends `models` on to another address leads no key there."""
    with listening() as other:
        listener.status, listener.headers = status, {"location": f"{other.url}/v1/models"}
        for name in ("ANTHROPIC", "OPENAI"):
            monkeypatch.setenv(f"{name}_API_KEY", KEY)
            monkeypatch.setenv(f"{name}_BASE_URL", listener.url)
        ran = debate("models", "--json")

    assert len(listener.heard) == 2
    assert other.heard == []
    output = [one for one in ran.json["models"] if one["spec"] in ("anthropic:MODEL", "openai:MODEL")]
    assert [one["ready"] for one in output] == [False, False]
    assert f"HTTP {status}" in output[0]["about"]


CLEAR = [
    ("anthropic:m", {"ANTHROPIC_BASE_URL": FAR, "ANTHROPIC_API_KEY": KEY}),
    ("anthropic:m", {"ANTHROPIC_BASE_URL": FAR, "ANTHROPIC_AUTH_TOKEN": KEY}),
    ("openai:m", {"OPENAI_BASE_URL": f"{FAR}/v1", "OPENAI_API_KEY": KEY}),
    ("ollama:m", {"OLLAMA_HOST": FAR, "OLLAMA_API_KEY": KEY}),
    (f"openai:m@{FAR}/v1", {"DEBATE_KEY_MODELS_EXAMPLE_8080": KEY}),
    (f"anthropic:m@{FAR}", {"DEBATE_KEY_MODELS_EXAMPLE_8080": KEY}),
    ("anthropic:m@http://127.0.0.1.models.example", {"DEBATE_KEY_127_0_0_1_MODELS_EXAMPLE": KEY}),
]


@pytest.mark.parametrize(("spec", "environment"), CLEAR)
def test_no_key_in_the_clear(
    debate: Run, listener: Listener, monkeypatch: pytest.MonkeyPatch, spec: str, environment: dict[str, str]
) -> None:
    """Where a key would go over plain http to another machine, nothing is sent at all, by a debate or by `models`."""
    for name, value in {**environment, "http_proxy": listener.url}.items():
        monkeypatch.setenv(name, value)
    cast = (f"--a={spec}", f"--b={spec}", f"--judge={spec}")
    ran = debate("run", *SETUP, *cast)
    output = debate("models")

    assert ran.code == 2 and "plain http" in ran.err and "--insecure" in ran.err
    assert leaks(ran) == leaks(output) == []
    assert KEY not in listener.said()
    assert "@" in spec or "ollama" in spec or "plain http" in output.out

    listener.status = 401
    ran = debate("run", *SETUP, *cast, "--insecure")
    assert ran.code == 4 and "--insecure" in ran.err and "plain http" in ran.err
    assert KEY in listener.said()
    assert leaks(ran) == []


@pytest.mark.parametrize("kind", ["anthropic", "openai"])
def test_no_proxy_for_this_machine(debate: Run, listener: Listener, monkeypatch: pytest.MonkeyPatch, kind: str) -> None:
    """Plain http to a server on this machine goes straight there, whatever proxy the environment names."""
    listener.status = 401
    monkeypatch.setenv(f"{kind.upper()}_API_KEY", KEY)
    monkeypatch.setenv(f"{kind.upper()}_BASE_URL", listener.url)
    with listening() as proxy:
        for name in ("http_proxy", "all_proxy"):
            monkeypatch.setenv(name, proxy.url)
        debate("run", *SETUP, f"--a={kind}:m", f"--b={kind}:m", f"--judge={kind}:m")
        debate("models")

    assert proxy.heard == []
    assert len(listener.heard) >= 2
    assert KEY in listener.said()


@pytest.mark.parametrize("kind", ["anthropic", "openai"])
def test_a_proxy_of_https_sees_no_key(
    debate: Run, listener: Listener, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    """A proxy that leads to a server by https is told its name, and no key."""
    monkeypatch.setenv(f"{kind.upper()}_API_KEY", KEY)
    monkeypatch.setenv(f"{kind.upper()}_BASE_URL", "https://models.example")
    monkeypatch.setenv("https_proxy", listener.url)
    listener.status = 403
    cast = (f"--a={kind}:m", f"--b={kind}:m", f"--judge={kind}:m")
    debate("models")
    debate("run", *SETUP, *cast)

    assert len(listener.heard) >= 2
    assert all(one.startswith("CONNECT models.example:443") for one in listener.heard)
    assert KEY not in listener.said()


# What a program is given

ENVIRONMENT = {
    "ANTHROPIC_API_KEY": KEY,
    "AWS_PROFILE": "work-profile",
    "SSH_AUTH_SOCK": "/run/agent",
    "LC_TIME": "C",
    "XDG_CONFIG_HOME": "/x/config",
    "CLAUDE_CONFIG_DIR": "/x/claude",
    "TZ": "UTC",
}
TELLS = "import json, os\nopen('given.json', 'w').write(json.dumps(dict(os.environ)))\nprint('It is so.')\n"


@pytest.fixture
def given(debate: Run, monkeypatch: pytest.MonkeyPatch) -> Callable[..., dict[str, str]]:
    """Runs a debate with a program; the environment that the program had."""
    for name, value in ENVIRONMENT.items():
        monkeypatch.setenv(name, value)

    def run(*flags: str) -> dict[str, str]:
        spec = script(TELLS)
        debate("run", *SETUP, f"--a={spec}", f"--b={spec}", f"--judge={spec}", *flags)
        got: dict[str, str] = json.loads(Path("given.json").read_text(encoding="utf-8"))
        for path in Path().glob("r.*"):
            path.unlink()
        return got

    return run


def test_the_environment_of_a_program(given: Callable[..., dict[str, str]]) -> None:
    """A program is given what it needs to run and to find its own configuration, and no key or agent of the user's."""
    got = given()

    assert {"PATH", "HOME", "LC_TIME", "XDG_CONFIG_HOME", "CLAUDE_CONFIG_DIR", "TZ"} <= set(got)
    assert not {"ANTHROPIC_API_KEY", "AWS_PROFILE", "SSH_AUTH_SOCK", "ANTHROPIC_CONFIG_DIR"} & set(got)
    assert KEY not in json.dumps(got)


def test_a_key_that_a_program_is_handed(monkeypatch: pytest.MonkeyPatch) -> None:
    """What a program gets in a variable named like a key is a secret, even if it looks like words; paths are none."""
    values = {"SMTP_PASSWORD_1": "gdsq hwgc suej tdvf", "HANDED_CREDENTIALS": "/srv/key.json", "A_REGION": "eu-west-1"}
    for name, value in values.items():
        monkeypatch.setenv(name, value)
    said = " ".join(values.values())
    assert redact(said) == said and environment(Permissions(tuple(values))).items() >= values.items()
    assert redact(said) == "[key] /srv/key.json eu-west-1"


@pytest.mark.slow
def test_what_the_user_names_is_given(given: Callable[..., dict[str, str]], monkeypatch: pytest.MonkeyPatch) -> None:
    """A variable that the user names, by a flag or in the environment, is given to programs too."""
    assert given("--command-env=ANTHROPIC_API_KEY")["ANTHROPIC_API_KEY"] == KEY
    assert "AWS_PROFILE" not in given("--command-env", "ANTHROPIC_API_KEY")
    monkeypatch.setenv("DEBATE_COMMAND_ENV", "AWS_PROFILE, ANTHROPIC_API_KEY")
    got = given("--command-env=SSH_AUTH_SOCK")
    assert {"AWS_PROFILE", "ANTHROPIC_API_KEY", "SSH_AUTH_SOCK"} <= set(got)
