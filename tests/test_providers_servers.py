"""Which server a cast means, and which key it may get."""

from __future__ import annotations

import pytest
from corpus import for_each

from debate_orchestrator.providers import casting
from debate_orchestrator.providers.servers import is_loopback, server, spec_problem, unencrypted


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


NO_SERVERS = [
    "anthropic:",
    "anthropic",
    "anthropic:a b",
    "openai:@http://x",
    "anthropic:m@http://u:p@x",
    "openrouter:v/m@http://x",
    "anthropic:m@http:///x",
    "anthropic:m@localhost:99",
    "openai:m@api.example.com/v1",
    "openai:m@https://h/v1?api-key=sk-1",
    "openai:m@https://h/v1#sk-1",
    "openai:m@https://h/\x1b[1m",
    "openai:m@https://h/@http://localhost",
]


def test_what_is_no_server() -> None:
    """A spec without a model, with a user in its address or with an address where there is none to give is refused."""
    for spec in NO_SERVERS:
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


@pytest.mark.parametrize(
    ("spec", "variable"),
    [("openai:m", "OPENAI_BASE_URL"), ("anthropic:m", "ANTHROPIC_BASE_URL"), ("ollama:m", "OLLAMA_HOST")],
)
@pytest.mark.parametrize("address", ["https://user:pass@example.com/v1", "http://user@127.0.0.1:1"])
def test_an_address_with_a_user_is_refused_with_its_spec(
    spec: str, variable: str, address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A user or a password in the address that a variable gives is refused when the cast is read, and not repeated."""
    monkeypatch.setenv(variable, address)
    [problem] = casting.cast_problems({"a": (spec,)})
    assert variable in problem and "user:" not in problem and "pass@" not in problem
    assert casting.cast_problems({"a": (f"{spec}@https://example.com/a",)}) == []
    monkeypatch.setenv(variable, "https://example.com/a@b")
    assert casting.cast_problems({"a": (spec,)}) == []
