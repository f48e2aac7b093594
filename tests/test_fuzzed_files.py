"""Files of values that no one meant: whatever type stands at a key, every door ends with sentences, never in a crash.

Answers files go through `run`, `open`, `ask`, the setup conversation, the library and the browser; a tournament's
spec, a format's folder and an import map through the verbs that read them. No model can be called here, and a file
that is refused leaves nothing behind.
"""

from __future__ import annotations

import asyncio
import json
import math
from collections.abc import Iterator
from copy import deepcopy
from datetime import date
from pathlib import Path
from typing import Any

import own_formats
import pytest
from conftest import Ran, Run
from contests import MAP, row, write_rows
from contests import given as spec_given
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from persons import CTRL_C, hold
from test_web_dashboard import visitor  # noqa: F401

from debate_orchestrator import open_debate
from debate_orchestrator.setup.answers import KEYS
from debate_orchestrator.util.data import parse_mapping
from debate_orchestrator.util.errors import DebateError

HERE = settings(suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
"""One folder and one `debate` serve all examples of a property; each example clears the folder first."""

WORDS = (
    "",
    " ",
    "a",
    "b",
    "judge",
    "auto",
    "none",
    "yes",
    "host",
    "human",
    "martian:x",
    "anthropic:x",
    "1",
    "x\x00",
    "\ud800",
)
SCALARS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-3, 12),
    st.sampled_from((10**30, -(10**30), 1e400, math.nan, 0.5, -0.0)),
    st.sampled_from(WORDS),
    st.text(max_size=6),
    st.just(date(2026, 1, 1)),
)
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.one_of(
        st.lists(inner, max_size=4),
        st.dictionaries(
            st.sampled_from(("a", "b", "judge", "rapporteur", "moderator", "clerk", "x", "1")), inner, max_size=4
        ),
    ),
    max_leaves=8,
)
CASTS = st.dictionaries(
    st.sampled_from(("a", "b", "judge", "rapporteur", "moderator", "clerk", "jugde")),
    st.one_of(st.sampled_from(("host", "human")), st.lists(SCALARS | st.just("host"), max_size=3), VALUES),
    max_size=5,
)
BASE: dict[str, Any] = {
    "topic": "Tabs are better than spaces.",
    "positions": {"a": "Tabs.", "b": "Spaces."},
    "output": "report.md",
    "context": [],
    "cast": {"a": "host", "b": "host", "judge": ["host", "host"], "rapporteur": "host", "moderator": "host"},
}
CONVERSATION = {"topics": ["Tabs are better."], "topic_ok": True, "positions": "own", "positions_ok": True}
PROGRESS = st.dictionaries(st.sampled_from((*CONVERSATION, "proposal", "own", "rejected", "asked", "paid")), VALUES)
KINDS = st.one_of(
    st.just({}), st.just({"setup": CONVERSATION}), PROGRESS.map(lambda progress: {"setup": CONVERSATION | progress})
)
KEYS_OF_FILES = st.one_of(st.sampled_from((*KEYS, "speed")), st.sampled_from((1, None, True)))


@st.composite
def answers_files(draw: Any) -> dict[Any, Any]:
    """The values of an answers file: a good one in which something is wrong at any depth, and more keys."""
    base = draw(st.sampled_from((BASE, BASE | {"issues": False, "brief": False}, {})))
    given = changed(base, draw) if base else {}
    return given | draw(st.dictionaries(KEYS_OF_FILES, VALUES, max_size=2)) | draw(KINDS)


ANSWERS = answers_files()


def flow(value: Any) -> str:
    """A value as YAML in one line."""
    if isinstance(value, dict):
        return f"{{{', '.join(f'{flow(key)}: {flow(item)}' for key, item in value.items())}}}"
    if isinstance(value, list):
        return f"[{', '.join(map(flow, value))}]"
    if isinstance(value, float) and not math.isfinite(value):
        return ".nan" if math.isnan(value) else ".inf"
    return value.isoformat() if isinstance(value, date) else json.dumps(value)


def written(path: str, data: Any) -> None:
    """Writes a file in which these values stand."""
    Path(path).write_text(flow(data), encoding="utf-8")


def cleared() -> None:
    """Leaves nothing in the working folder."""
    for path in sorted(Path().rglob("*"), reverse=True):
        path.rmdir() if path.is_dir() and not path.is_symlink() else path.unlink()


def files() -> set[str]:
    return {str(path) for path in Path().rglob("*")}


def refused(ran: Ran, before: set[str]) -> None:
    """A file was refused as a user's mistake: sentences on stderr, nothing on disk."""
    assert ran.code in (0, 2, 3), (ran.code, ran.err)
    if ran.code == 2:
        assert "Traceback" not in ran.err
        assert ran.err.strip().endswith((".", "?", "!", "`")), ran.err
        assert files() == before, files() - before


def changed(tree: Any, draw: Any) -> Any:
    """A tree of values in which one to three values, at any depth, are others."""
    tree = deepcopy(tree)
    for _ in range(draw(st.integers(1, 3))):
        places = list(spots(tree))
        holder, key = places[draw(st.integers(0, len(places) - 1))]
        holder[key] = draw(VALUES)
    return tree


def spots(tree: Any) -> Iterator[tuple[Any, Any]]:
    """Every place of a tree at which a value stands: what holds it, and its key there."""
    pairs = tree.items() if isinstance(tree, dict) else enumerate(tree) if isinstance(tree, list) else ()
    for key, value in pairs:
        yield tree, key
        yield from spots(value)


@pytest.mark.usefixtures("no_models")
class TestAnswers:
    @HERE
    @given(answers=ANSWERS, verb=st.sampled_from(("open", "run")), trust=st.booleans())
    def test_in_a_file(self, debate: Run, answers: dict[str, Any], verb: str, trust: bool) -> None:
        """They are opened, and with `debate run` left to their host, or refused."""
        cleared()
        written("answers.yaml", answers)

        ran = debate(verb, "--answers", "answers.yaml", *(["--trust"] if trust else []))

        refused(ran, {"answers.yaml"})
        assert ran.code != (3 if verb == "open" else 0)

    @HERE
    @given(answers=ANSWERS, topic=st.booleans())
    def test_in_a_conversation_with_a_host(self, debate: Run, answers: dict[str, Any], topic: bool) -> None:
        """`debate ask` asks again for what it can't take, and says what that was."""
        cleared()
        written("answers.yaml", answers)

        ran = debate("ask", "answers.yaml", *(["topic=Tabs are good."] if topic else []))

        assert ran.code in (0, 2), ran.err
        assert ran.code == 0 or ran.json["complaints"], ran.err
        again = debate("ask", "answers.yaml")
        assert again.code in (0, 2), again.err

    @HERE
    @given(
        answers=ANSWERS,
        rehearse=st.booleans(),
        keys=st.lists(
            st.sampled_from(("", "", "", "yes", "more", "cast", "rapporteur", "topic", "format", "judge")), max_size=9
        ),
    )
    def test_at_a_terminal(self, here: Path, answers: dict[str, Any], rehearse: bool, keys: list[str]) -> None:
        """The setup conversation asks for what it can't take, or refuses the file whole."""
        cleared()
        written("answers.yaml", answers)

        try:
            held = hold(*keys, CTRL_C, file="answers.yaml", rehearse=rehearse)
        except DebateError as error:
            assert error.problems
            return
        assert held.ended in ("left", "confirmed", "later")

    @HERE
    @given(
        answers=ANSWERS.map(lambda answers: {key: answers[key] for key in answers if key != "setup"}),
        rehearse=st.booleans(),
    )
    def test_in_a_program(self, here: Path, answers: dict[str, Any], rehearse: bool) -> None:
        """The library raises an error of its own, and opens nothing."""
        cleared()
        try:
            asyncio.run(open_debate(answers, rehearse=rehearse))
        except DebateError as error:
            assert error.problems and not files(), files()


@pytest.mark.usefixtures("no_models")
class TestOtherFiles:
    @HERE
    @given(data=st.data())
    def test_a_tournaments_spec(self, debate: Run, data: st.DataObject) -> None:
        """`debate tournament plan` plans it or refuses it."""
        cleared()
        spec = changed(
            spec_given()
            | {
                "pairs": "round robin",
                "sides": "swapped",
                "seed": 1,
                "limits": {"anthropic:x": {"requests": 1}},
                "budgets": {},
                "max_cost": 3,
            },
            data.draw,
        )
        written("spec.yaml", spec)

        ran = debate("tournament", "plan", "spec.yaml")

        refused(ran, {"spec.yaml"})

    @HERE
    @given(data=st.data())
    def test_a_format(self, debate: Run, data: st.DataObject) -> None:
        """`debate formats FOLDER` shows it or refuses it."""
        cleared()
        own_formats.written(Path("mine"))
        name = data.draw(st.sampled_from(("format.yaml", "rubric.yaml")))
        written(f"mine/{name}", changed(parse_mapping(own_formats.FILES[name], name), data.draw))

        refused(debate("formats", "./mine"), files())

    @HERE
    @given(data=st.data())
    def test_an_import_map(self, debate: Run, data: st.DataObject) -> None:
        """`debate tournament import` takes the rows or refuses the map."""
        cleared()
        write_rows([row("d1", "x", "y", "pro", p=1, c=2)])
        written("map.yaml", changed(MAP | {"scores": {"wit": ["p", "c"]}}, data.draw))

        refused(debate("tournament", "import", "rows.csv", "--map", "map.yaml", "--to", "t"), {"rows.csv", "map.yaml"})
