"""The kinds of providers: one entry and one short module make one, which server and key a cast means, and who can be
asked from here."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import local_http
import pytest
from conftest import Run
from corpus import for_each
from debates import opened_event
from hostile import sending

from debate_orchestrator.core.fold import CurrentState, fold
from debate_orchestrator.core.reply import Usage
from debate_orchestrator.engine.budget import price_problems
from debate_orchestrator.prompting.briefs import Brief, Message
from debate_orchestrator.providers import cast_providers, discovery, pricing, registry
from debate_orchestrator.providers.cast_providers import cast_problems
from debate_orchestrator.providers.discovery import misspelling_questions
from debate_orchestrator.providers.provider import Permissions, call_provider
from debate_orchestrator.providers.registry import ENTRIES
from debate_orchestrator.providers.servers import is_loopback, server, spec_problem, unencrypted
from debate_orchestrator.util import model_spec
from debate_orchestrator.util.errors import BadSettings, ProviderFailed

KEY = "sk-toy-0123456789abcdef"
ENTRY = registry.ProviderEntry(
    "toy", "toy:MODEL", "toy_provider", api=registry.Api(("TOY_API_KEY",), "https://toy.example", "TOY_URL")
)
BRIEF = Brief(
    turn_id="1.opening.a", system="Be fair.", messages=(Message(role="user", parts=("Speak.",)),), wants="text"
)


@contextmanager
def toy_server(answer: Callable[[], tuple[int, bytes]]) -> Iterator[tuple[str, list[str]]]:
    """A server that lists one model and gives this answer to each call; its address, and the keys it was sent."""
    keys: list[str] = []

    def respond(asked: local_http.Asked) -> local_http.Answer:
        keys.append(asked.headers.get("authorization", ""))
        listed = json.dumps({"data": [{"id": "small"}]}).encode()
        status, body = (200, listed) if asked.method == "GET" else answer()
        return status, {}, [body]

    with local_http.answering(respond) as url:
        yield url, keys


@pytest.fixture
def toy(here: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., Any]]:
    """The toy registered and priced; makes its one call to a server with that answer."""
    monkeypatch.setitem(ENTRIES, "toy", ENTRY)
    registry.register(ENTRY)
    table = Path(pricing.__file__).with_name("pricing.yaml").read_text(encoding="utf-8")
    (here / "prices.yaml").write_text(f"{table}  toy:\n    small: {{input: 1, output: 2}}\n", encoding="utf-8")
    monkeypatch.setattr(pricing, "_TABLE", here / "prices.yaml")
    pricing.table.cache_clear()
    monkeypatch.setenv("TOY_API_KEY", KEY)

    def call(status: int, body: bytes) -> Any:
        with toy_server(lambda: (status, body)) as (url, _):
            monkeypatch.setenv("TOY_URL", url)
            toy = cast_providers.make_provider("toy:small", CurrentState(fold([opened_event()])))
            return asyncio.run(call_provider(toy, BRIEF, lambda piece: None))

    yield call
    pricing.table.cache_clear()


def said(text: str) -> bytes:
    return json.dumps({"text": text, "input": 3_000, "output": 500}).encode()


def test_the_toy_is_discovered(toy: Callable[..., Any], debate: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """`debate models` lists it with its models, and says what is missing without its key."""
    with toy_server(lambda: (200, b"")) as (url, keys):
        monkeypatch.setenv("TOY_URL", url)
        (found,) = [one for one in debate("models", "--json").json["models"] if one["spec"] == "toy:MODEL"]
    monkeypatch.delenv("TOY_API_KEY")
    (without,) = [one for one in discovery.model_sources() if one.spec == "toy:MODEL"]

    assert (found["ready"], found["models"], keys) == (True, ["small"], [f"Bearer {KEY}"])
    assert (without.ready, without.about) == (False, "no key: set TOY_API_KEY")
    assert "TOY_API_KEY" in cast_providers.key_problems({"a": ("toy:small",)})[0]


def test_the_toy_is_priced(toy: Callable[..., Any]) -> None:
    """A call costs what the price table says of its vendor, and a cap on costs can be held."""
    reply = toy(200, said("Because."))

    assert (reply.text, reply.usage) == ("Because.", Usage(uncached_input=3_000, output=500))
    assert reply.cost == pytest.approx(0.004)
    assert price_problems({"a": ("toy:small",)}) == []
    assert len(price_problems({"a": ("toy:large",)})) == 1
    assert model_spec.vendor("toy:small") == "toy"


def test_the_toy_is_redacted(toy: Callable[..., Any], monkeypatch: pytest.MonkeyPatch) -> None:
    """A key that its server quotes is in no reply and in no error. Its variable is known as that of a key, so that a
    value that looks like no secret is one."""
    assert toy(200, said(f"It is {KEY}.")).text == "It is [key]."
    with pytest.raises(ProviderFailed) as refusal:
        toy(401, f"bad key {KEY}".encode())
    assert KEY not in str(refusal.value) and "TOY_API_KEY" in str(refusal.value)
    monkeypatch.setenv("TOY_API_KEY", "correct-horse-battery")
    monkeypatch.setenv("OTHER_API_KEY", "staple-horse-battery")
    assert toy(200, said("correct-horse-battery, staple-horse-battery")).text == "[key], staple-horse-battery"


def test_the_toy_sends_no_key_unencrypted(toy: Callable[..., Any], monkeypatch: pytest.MonkeyPatch) -> None:
    """The rules for keys hold for it: no plain http to another machine, unless the user permits it."""
    monkeypatch.setenv("TOY_URL", "http://toy.example")
    debate = fold([opened_event(cast={"a": ("toy:small",), "b": ("host",), "judge": ("host",)})])

    with pytest.raises(BadSettings, match="plain http"):
        cast_providers.make_providers(CurrentState(debate))
    assert set(cast_providers.make_providers(CurrentState(debate), permissions=Permissions(insecure=True))) == {"a"}


def test_entries_agree_with_the_words_of_a_cast() -> None:
    """A server of models is what has an API; every other kind has its occupant named."""
    assert {kind for kind, entry in ENTRIES.items() if entry.api} == {
        kind for kind in ENTRIES if model_spec.occupant_kind(f"{kind}:x") == "model"
    }


@for_each(
    [
        ("anthropic:claude-opsu-5-5", ["anthropic:claude-opus-5-5"]),
        ("rehearse:anthropic:claude-opsu-5-5", ["anthropic:claude-opus-5-5"]),
        ("anthropic:claude-opus-5-5", []),
        ("anthropic:claude-opus-5-9", []),
        ("anthropic:claude-verse-7", []),
        ("anthropic:claude-opsu-5-5@https://models.example", []),
        ("command:claude-opsu-5-5", []),
    ]
)
def test_a_near_miss(spec: str, asked: list[str]) -> None:
    """A vendor's model that is nearly a known one is asked about, once; a new version or family is not."""
    questions = misspelling_questions({"a": (spec,), "judge": (spec, spec)})

    assert [question.rpartition("Did you mean ")[2].rstrip("?") for question in questions] == asked


@for_each(
    [
        ("antropic:x", "Try: anthropic:x."),
        ("opus", "Try: anthropic:claude-opus-5-5."),
        ("gpt-5", "Try: openai:gpt-5."),
        ("claude-x", "Try: anthropic:claude-x."),
        ("claude-sonet-5-5", "Try: anthropic:claude-sonnet-5-5."),
        ("claude-sonnet-9", "Try: anthropic:claude-sonnet-9."),
        ("martian:x", "Try: PROVIDER:MODEL, as `debate models` lists them."),
    ]
)
def test_what_was_meant(spec: str, meant: str) -> None:
    """A spec of no known kind is refused with the one that was probably meant, once for all its seats."""
    (problem,) = cast_problems({"a": (spec,), "b": (spec,)})

    assert problem.startswith("cast: a, b: ") and problem.endswith(meant)


@for_each(
    [
        ("anthropic:claude-x", "claude-x", None, ("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN"), True),
        ("openai:gpt-x", "gpt-x", None, ("OPENAI_API_KEY",), True),
        ("anthropic:m@http://localhost:1/x/", "m", "http://localhost:1/x", ("DEBATE_KEY_LOCALHOST_1",), False),
        ("openai:m@v2@https://a.b-c.org/v1", "m@v2", "https://a.b-c.org/v1", ("DEBATE_KEY_A_B__C_ORG",), False),
        ("openrouter:v/m", "v/m", "https://openrouter.ai/api", ("OPENROUTER_API_KEY",), True),
        ("ollama:l3:8b", "l3:8b", "http://127.0.0.1:11434", ("OLLAMA_API_KEY",), False),
        ("ollama:l3@http://10.0.0.2:1", "l3", "http://10.0.0.2:1", ("DEBATE_KEY_10_0_0_2_1",), False),
    ],
    "spec",
    "model",
    "url",
    "keys",
    "needed",
)
def test_servers(
    spec: str, model: str, url: str | None, keys: tuple[str, ...], needed: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A spec names a model, an address, and the variables that may hold a key."""
    monkeypatch.delenv("OLLAMA_HOST", raising=False)
    assert spec_problem(spec) is None
    assert server(spec)[1:] == (model, url, keys, needed)


@for_each([("box:1", "http://box:1"), ("0.0.0.0", "http://127.0.0.1"), ("https://o/", "https://o")], "host", "url")
def test_ollama_is_where_its_variable_says(host: str, url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """OLLAMA_HOST is honoured as Ollama's own programs take it."""
    monkeypatch.setenv("OLLAMA_HOST", host)
    assert server("ollama:m").url == url


NO_SERVERS = """
anthropic: anthropic anthropic:m@http://u:p@x anthropic:m@http:///x anthropic:m@localhost:99
openrouter:v/m@http://x openai:@http://x openai:m@api.example.com/v1 openai:m@https://h/v1?api-key=sk-1
openai:m@https://h/v1#sk-1 openai:m@https://h/\x1b[1m openai:m@https://h/@http://localhost
openai:http://10.0.0.9:8080/v1 openai:m@hf://h/v1 openai:m@HTTP://h:1/v1 openai:m@https:/h/v1 openai:m@http//h/v1
openai:m@//h/v1 openai:m@localhost/v1 openai:m@[::1]:80/v1
"""


def test_what_is_no_server() -> None:
    """A spec without a model, with a user in its address or with an address where there is none to give is refused."""
    for spec in (*NO_SERVERS.split(), "anthropic:a b"):
        assert spec_problem(spec), spec


HOSTS = [
    ("localhost", True), ("LOCALHOST:80", True), ("127.0.0.1", True), ("127.8.9.1:1", True), ("[::1]:1", True),
    ("[0:0::0:1]", True), ("127.1", False),
    ("localhost.evil.example", False), ("127.0.0.1.evil.example", False),
    ("evil.example", False), ("localhost@evil.example", False), ("notlocalhost", False), ("128.0.0.1", False),
    ("[::2]", False), ("[::ffff:10.0.0.1]", False), ("10.127.0.1", False), ("0.0.0.0", False), ("", False),
    ("\uff11\uff12\uff17.0.0.1", False), ("evil.example\\.localhost", False), ("[::1", False),
    ("evil.example#@127.0.0.1", False), ("evil.example/127.0.0.1", False), ("127.0.0.1x", False),
]  # fmt: skip


def test_what_this_machine_is() -> None:
    """This machine is known however its address is written, and is not taken for a name that looks like it."""
    for host, loopback in HOSTS:
        assert is_loopback(f"http://{host}") is loopback, host


@for_each(["http://far", "HTTP://far", "ftp://far", "far:80", " http://far", "http:far"], "url")
def test_where_the_vendors_name_leads(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """An address of a gateway that is not https is refused, even without a key in the environment: the vendor's library
    may find one elsewhere."""
    monkeypatch.delenv("ANTHROPIC_API_KEY", raising=False)
    monkeypatch.setenv("ANTHROPIC_BASE_URL", url)
    assert "plain http" in str(unencrypted(server("anthropic:m"), insecure=False))
    assert unencrypted(server("anthropic:m"), insecure=True) is None
    monkeypatch.setenv("ANTHROPIC_BASE_URL", "HTTPS://far")
    assert unencrypted(server("anthropic:m"), insecure=False) is None


ODD_HOSTS = [
    "ap\u0131.example.com", "api\u00e9example.com", "api_example.com", "a_.b.com", "a_-b.com", "api.\u212aey.com",
    "example.com.8443", "example.8443:1", "10.0.0", "127.1", "2130706433", "10.0.0.256", "010.0.0.1", "a..b",
    "a.b.", "a.-b",
    "a-.b", "-a", "api%2eexample.com", "a.b\\.c", "[v1.a]", "a[::1]", "[::1]a", "[fe80::1%25eth0]", "[::1",
    "a.b:99999", "a.b:0", "a.b:\u0661", "a.b:x", "\uff41.com", "a.b\u3002c",
]  # fmt: skip


def test_a_host_that_is_not_plain() -> None:
    """A host that is neither a plain ASCII name nor an IP address is refused in a cast, and gets no key."""
    for host in ODD_HOSTS:
        spec = f"openai:m@https://{host}/v1"

        assert "http(s)://HOST" in str(spec_problem(spec)), host
        assert server(spec).key_variables == (), host


@for_each(
    [("openai:m", "OPENAI_BASE_URL"), ("anthropic:m", "ANTHROPIC_BASE_URL"), ("ollama:m", "OLLAMA_HOST")],
    "spec",
    "variable",
)
def test_an_address_with_a_user_is_refused_with_its_spec(
    spec: str, variable: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A user or a password in the address that a variable gives is refused when the cast is read, and not repeated."""
    for address in ("https://user:pass@example.com/v1", "http://user@127.0.0.1:1"):
        monkeypatch.setenv(variable, address)
        [problem] = cast_problems({"a": (spec,)})
        assert variable in problem and "user:" not in problem and "pass@" not in problem
        assert cast_problems({"a": (f"{spec}@https://example.com/a",)}) == []
    monkeypatch.setenv(variable, "https://example.com/a@b")
    assert cast_problems({"a": (spec,)}) == []


pytestmark = pytest.mark.usefixtures("no_models")


@pytest.fixture
def listing_server() -> Iterator[str]:
    """A server that lists models, and refuses the key `bad`."""

    def respond(asked: local_http.Asked) -> local_http.Answer:
        bad = "bad" in f"{asked.headers.get('x-api-key')} {asked.headers.get('authorization')}"
        body = {"models": [{"name": "llama\x1b[1m:8b"}, 7], "data": [{"id": "m-2"}, {"id": "m-1"}, None]}
        return 401 if bad else 200, {}, [json.dumps(body).encode()]

    with local_http.answering(respond) as url:
        yield url


def found(seat: str) -> discovery.ModelSource:
    return next(one for one in discovery.model_sources() if one.spec.startswith(seat))


def test_with_nothing_what_works_is_offered(debate: Run) -> None:
    """Each source that is not there says what is missing; a host and a recording are always there. Without any model
    `run` ends with exit code 2, and offers everything that works without a key."""
    sources = discovery.model_sources()
    about = {one.kind: one.about for one in reversed(sources)}
    assert {one.spec for one in sources if one.ready} >= {"host", "human", "replay:JOURNAL", "rehearse"}
    assert "ANTHROPIC_API_KEY" in about["anthropic"] and "OPENROUTER_API_KEY" in about["openrouter"]
    assert "127.0.0.1:9" in about["ollama"]

    ran = debate("run", "--topic=T", "--position-a=x", "--position-b=y", "--no-issues", "--no-brief")
    offers = ("ANTHROPIC_API_KEY", "ollama:", "command:", "debate open", "--rehearse", "debate demo", "debate models")
    assert ran.code == 2 and [offer for offer in offers if offer not in ran.err] == []
    assert ran.err.count("no model is named") == 1
    with pytest.raises(BadSettings):
        discovery.default("judge")


@pytest.mark.parametrize("variable", ["ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN"])
def test_a_key_is_tried(variable: str, listing_server: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A key is named and never shown, and the server is asked whether it takes it. One for a server that can't be
    reached is no way to fill a seat."""
    monkeypatch.setenv("ANTHROPIC_BASE_URL", listing_server)
    monkeypatch.setenv(variable, "good-key-1")
    good = found("anthropic")
    monkeypatch.setenv(variable, "bad-key-1")
    bad = found("anthropic")
    monkeypatch.setenv("ANTHROPIC_BASE_URL", "http://127.0.0.1:9")
    gone = found("anthropic")

    assert (good.ready, good.models) == (True, ("m-1", "m-2"))
    assert (bad.ready, "401" in bad.about) == (False, True)
    assert (gone.ready, "can't be reached" in gone.about) == (False, True)
    assert "key-1" not in f"{good} {bad} {gone}"


def test_defaults_come_from_what_is_there(listing_server: str, here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An Opus-level judge and capable debaters: by the vendor, else by OpenRouter. A local server's models are
    named and never chosen."""
    monkeypatch.setenv("OLLAMA_HOST", listing_server)
    with pytest.raises(BadSettings, match=r"llama.*Try: name them in `cast`"):
        discovery.default("judge")
    monkeypatch.setenv("OPENROUTER_API_KEY", "k")
    assert discovery.default("judge") == "openrouter:anthropic/claude-opus-5.5"
    (here / "nothing" / "configs").mkdir(parents=True)
    (here / "nothing" / "configs" / "default.json").write_text("{}", encoding="utf-8")
    assert discovery.default("judge") == "anthropic:claude-opus-5-5"
    assert discovery.default("a") == discovery.default("b") == "anthropic:claude-sonnet-5-5"


def test_programs_are_looked_up(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A program that reads a prompt is offered as a command, as it must be called."""
    monkeypatch.setenv("PATH", str(here))
    (here / "claude").write_text("#!/bin/sh\n", encoding="utf-8")
    (here / "claude").chmod(0o755)

    assert found("command:").spec == "command:claude -p"
    assert cast_problems({"a": ("command:claude -p",)}) == []


@pytest.mark.parametrize(
    "body",
    [
        b"[" * 200_000, b'{"models": [' + b'{"name":' * 900 + b"1" + b"}" * 900 + b"]}", b'{"models": 7}', b"\xff",
        b'{"models": [{"name": ' + b"[" * 500 + b"]" * 500 + b"}]}", b'{"models": [{"name": "\\ud800"}]}', b"9" * 5_000,
    ],
)  # fmt: skip
def test_an_odd_list(body: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever a server sends as its list, it is printed as text or not at all."""
    with sending(lambda: [body]) as server:
        monkeypatch.setenv("OLLAMA_HOST", server.url)
        entry = found("ollama")

    assert str(entry).encode() and all(isinstance(name, str) and name.isprintable() for name in entry.models)


def test_a_password_in_an_address_is_not_shown(
    debate: Run, listing_server: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The user, the password and the query of a server's address are printed by no verb, whatever word is there."""
    monkeypatch.setenv("OPENAI_API_KEY", "sk-x")
    for address in (
        f"http://ann:hunter@{listing_server.removeprefix('http://')}",
        "http://ann:hunter@127.0.0.1:1",
        f"{listing_server}/v1?key=hunter#hunter",
    ):
        monkeypatch.setenv("OLLAMA_HOST", address.removeprefix("http://"))
        monkeypatch.setenv("ANTHROPIC_API_KEY", "good")
        monkeypatch.setenv("ANTHROPIC_BASE_URL", address)
        monkeypatch.setenv("OPENAI_BASE_URL", address.replace("127.0.0.1", "example.org"))
        ran = debate("models")
        problems = [one for spec in ("anthropic:m", "openai:m", "ollama:m") for one in cast_problems({"a": (spec,)})]
        assert "hunter" not in f"{ran.out}{ran.err}{problems}"
