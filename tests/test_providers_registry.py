"""One entry and one short module make a provider, shown with a toy API; misspelt specs are told what was meant."""

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

from debate_orchestrator.core.fold import CurrentState, fold
from debate_orchestrator.core.reply import Usage
from debate_orchestrator.engine.budget import unpriced_seats
from debate_orchestrator.prompting.briefs import Brief, Message
from debate_orchestrator.providers import casting, discovery, pricing, registry
from debate_orchestrator.providers.discovery import misspelling_questions
from debate_orchestrator.providers.provider import Permissions, call_provider
from debate_orchestrator.providers.registry import ENTRIES
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
            toy = casting.make_provider("toy:small", CurrentState(fold([opened_event()])))
            return asyncio.run(call_provider(toy, BRIEF, lambda piece: None))

    yield call
    pricing.table.cache_clear()


def said(text: str) -> bytes:
    return json.dumps({"text": text, "input": 3_000, "output": 500}).encode()


def test_the_toy_is_discovered(toy: Callable[..., Any], debate: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """`debate models` lists it with its models, and says what is missing without its key."""
    with toy_server(lambda: (200, b"")) as (url, keys):
        monkeypatch.setenv("TOY_URL", url)
        (found,) = [one for one in debate("models", "--json").json["models"] if one["seat"] == "toy:MODEL"]
    monkeypatch.delenv("TOY_API_KEY")
    (without,) = [one for one in discovery.model_sources() if one.spec == "toy:MODEL"]

    assert (found["ready"], found["models"], keys) == (True, ["small"], [f"Bearer {KEY}"])
    assert (without.ready, without.about) == (False, "no key: set TOY_API_KEY")
    assert "TOY_API_KEY" in casting.key_problems({"a": ("toy:small",)})[0]


def test_the_toy_is_priced(toy: Callable[..., Any]) -> None:
    """A call costs what the price table says of its vendor, and a cap on costs can be held."""
    reply = toy(200, said("Because."))

    assert (reply.text, reply.usage) == ("Because.", Usage(uncached_input=3_000, output=500))
    assert reply.cost == pytest.approx(0.004)
    assert unpriced_seats({"a": ("toy:small",)}) == []
    assert len(unpriced_seats({"a": ("toy:large",)})) == 1
    assert model_spec.vendor("toy:small") == "toy"


def test_the_toy_is_redacted(toy: Callable[..., Any]) -> None:
    """A key that its server quotes is in no reply and in no error."""
    assert toy(200, said(f"It is {KEY}.")).text == "It is [key]."
    with pytest.raises(ProviderFailed) as refusal:
        toy(401, f"bad key {KEY}".encode())
    assert KEY not in str(refusal.value) and "TOY_API_KEY" in str(refusal.value)


def test_a_plain_key_of_the_toy_is_redacted(toy: Callable[..., Any], monkeypatch: pytest.MonkeyPatch) -> None:
    """Its variable is known as that of a key, so that a value that looks like no secret is one."""
    monkeypatch.setenv("TOY_API_KEY", "correct-horse-battery")
    monkeypatch.setenv("OTHER_API_KEY", "staple-horse-battery")
    assert toy(200, said("It is correct-horse-battery, or staple-horse-battery.")).text == (
        "It is [key], or staple-horse-battery."
    )


def test_the_toy_sends_no_key_unencrypted(toy: Callable[..., Any], monkeypatch: pytest.MonkeyPatch) -> None:
    """The rules for keys hold for it: no plain http to another machine, unless the user permits it."""
    monkeypatch.setenv("TOY_URL", "http://toy.example")
    debate = fold([opened_event(cast={"a": ("toy:small",), "b": ("host",), "judge": ("host",)})])

    with pytest.raises(BadSettings, match="plain http"):
        casting.make_providers(CurrentState(debate))
    assert set(casting.make_providers(CurrentState(debate), permissions=Permissions(insecure=True))) == {"a"}


def test_entries_agree_with_the_words_of_a_cast() -> None:
    """What has an API or is a program is called and may cost money; nothing else is."""
    assert {kind for kind, entry in ENTRIES.items() if entry.api or kind == "command"} == {
        kind for kind in ENTRIES if model_spec.is_called(f"{kind}:x")
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
    (problem,) = casting.cast_problems({"a": (spec,), "b": (spec,)})

    assert problem.startswith("cast: a, b: ") and problem.endswith(meant)
