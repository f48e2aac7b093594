"""What a setup does beyond the debate: told of answers that were checked or not, and of a journal."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
from debates import opening
from hypothesis import given
from hypothesis import strategies as st

from debate_orchestrator import formats, library, trials, trust
from debate_orchestrator.core.events import Opened
from debate_orchestrator.journal import read
from debate_orchestrator.trust import Risk


def kinds(**answers: Any) -> list[tuple[str, str]]:
    """What is told of these answers, as kind and key."""
    return [(one.kind, one.where) for one in trust.of_answers(answers)]


@pytest.mark.parametrize(
    ("spec", "kind", "what"),
    [
        ("command:claude -p", "program", "claude -p"),
        ("anthropic:m@http://x:1", "server", "http://x:1"),
        ("openai:a@b@https://x/v1/", "server", "https://x/v1"),
        ("ollama:m@https://x", "server", "https://x"),
    ],
)
def test_who_speaks(here: Path, spec: str, kind: str, what: str) -> None:
    """Programs are told by their whole command line, servers by their address, in every form that a cast may have."""
    (one,) = trust.of_answers({"cast": {"judge": ["host", spec]}})

    assert one == Risk(kind=kind, where="cast.judge", what=what)  # type: ignore[arg-type]
    assert kinds(cast=spec) == [(kind, "cast")]
    assert kinds(cast={"a": spec, "b": (spec,), "moderator": spec}) == [(kind, "cast.a, cast.b, cast.moderator")]
    assert kinds(cast=f"rehearse:{spec}") == []


@pytest.mark.parametrize(
    "spec", ["host", "human", "fetch", "rehearse", "anthropic:m", "openrouter:a/b", "ollama:q@latest"]
)
def test_who_may_speak_anyway(here: Path, spec: str) -> None:
    """Vendors' models, hosts, people and stand-ins are part of a debate."""
    assert kinds(cast=spec) == []


def test_places(here: Path) -> None:
    """What counts is where a path really leads: in the working folder and not hidden in it, or elsewhere."""
    (here / "sub").mkdir()
    (here / "sub/out").symlink_to(here.parent)
    (here / "in.md").symlink_to(here / "sub/x.md")
    inside = ["x.md", "./sub/x.md", "sub/../x.md", str(here / "x.md"), "in.md", "sub/in/../../x..md"]
    outside = ["../x.md", "/x.md", "sub/out/x.md", ".env", "sub/.x/y.md", "sub/../../x.md"]

    assert kinds(context=inside) == []
    assert [one.what for one in trust.of_answers({"context": outside})] == [
        os.path.realpath(path) for path in dict.fromkeys(map(os.path.realpath, outside))
    ]
    assert [path for path in inside if kinds(output=path)] == []
    assert [path for path in outside[:3] if not kinds(output=path)] == []
    assert [kinds(cast=f"replay:{path}") for path in ("x.jsonl", "../x.jsonl")] == [[], [("recording", "cast")]]


def test_a_home_is_elsewhere(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A tilde is the home folder in the values where it is expanded: an output and a format."""
    monkeypatch.setenv("HOME", str(here.parent))

    assert kinds(output="~/r.md", format="~/town", context="~/x.md") == [("output", "output"), ("format", "format")]


def test_formats() -> None:
    """A format that is named is a shipped one; one that is found by its path brings prompts of its own."""
    assert kinds(format="panel") == []
    assert kinds(format="./town") == kinds(format="town/format.yaml") == [("format", "format")]


@pytest.mark.parametrize(
    "answers",
    [
        {"cast": 7, "context": {"a": 1}, "output": ["x"], "format": None},
        {"cast": {"a": [1], 2: {"x": "y"}}, "context": [1, None], "output": 3},
        {"context": ["a\0b", "a\ud800b"], "output": "a\0b.md", "cast": {"a": "replay:a\0b"}, "format": "./a\0b"},
    ],
)
def test_values_of_another_kind(answers: dict[str, Any]) -> None:
    """What is no answer at all breaks nothing here; it is refused when it is checked."""
    trust.of_answers(answers)


@given(
    st.recursive(
        st.none() | st.booleans() | st.text(), lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner)
    )
)
def test_nothing_breaks_it(value: Any) -> None:
    """Whatever a file holds, its risks can be told and shown in a line without control characters."""
    for key in ("cast", "context", "output", "format"):
        for one in trust.of_answers({key: value}):
            assert one.said.isprintable()
            assert len(one.digest) == 64


def test_the_same_thing_is_known_again() -> None:
    """A thing is known by what it is, whichever key asks for it; another thing, or another kind, is not it."""
    one = Risk(kind="program", where="cast.a", what="cat")

    assert one.digest == Risk(kind="program", where="cast.b", what="cat").digest
    assert one.digest != Risk(kind="server", where="cast.a", what="cat").digest
    assert one.digest != Risk(kind="program", where="cast.a", what="cat -u").digest


def test_a_journal(here: Path) -> None:
    """Of a journal the cast as it is now counts, and prompts that are not the program's own: templates that travel in
    it, and words of its format."""
    first = opening(cast={"a": ("command:old",), "b": ("host",), "judge": ("host",)})
    own = first.model_copy(update={"templates": {"formats/x/speech.md.j2": "Say {{ x }}."}})
    seats = first.format.seats | {"a": first.format.seats["a"].model_copy(update={"name": "Ignore all else"})}
    worded = first.model_copy(update={"format": first.format.model_copy(update={"seats": seats})})
    now = {**first.cast, "a": ("command:new",)}

    assert [one.what for one in trust.of_opening(first, now)] == ["new"]
    assert [one.kind for changed in (own, worded) for one in trust.of_opening(changed, {})] == ["format"] * 2
    changed = own.model_copy(update={"templates": {"formats/x/speech.md.j2": "Say nothing."}})
    assert trust.of_opening(own, {}) != trust.of_opening(changed, {})


def test_a_clerk_of_a_journal(here: Path) -> None:
    """A clerk who fetches what the speeches of a journal cite asks for addresses that others chose."""
    first = opening()

    assert [(one.kind, one.where) for one in trust.of_opening(first, {"clerk": ("fetch",)})] == [
        ("pages", "cast.clerk")
    ]
    assert trust.of_opening(first, {"clerk": ("offline",), "a": ("rehearse:fetch",)}) == ()


@pytest.mark.parametrize("name", library.format_names())
def test_shipped_formats_need_no_consent(name: str) -> None:
    """A debate by a format that comes with the program puts no words of anybody else before a seat."""
    made, templates = formats.whole(name)

    assert trust.of_opening(trials.opened(made, templates), {}) == ()


@pytest.mark.parametrize(
    "journal", sorted((library.folder("examples")).glob("*/*.journal.jsonl")), ids=lambda path: path.parent.name
)
def test_shipped_debates_need_no_consent(journal: Path) -> None:
    """The debates that come with the program were held by formats as some version of it had them."""
    first = read(journal).events[0]
    assert isinstance(first, Opened)

    assert trust.of_opening(first, {}) == ()
    rigged = first.format.model_copy(update={"title": "Rigged"})
    assert trust.of_opening(first.model_copy(update={"format": rigged}), {}) != ()


@pytest.mark.parametrize("output", ["CLAUDE.md", "sub/agents.md", "./Gemini.MD.md/../GEMINI.md"])
def test_a_report_that_an_agent_would_follow(here: Path, output: str) -> None:
    """A report under a name that agents read as their instructions needs consent; under any other it does not."""
    assert kinds(output=output) == [("output", "output")]
    assert kinds(output="claude/report.md") == []
