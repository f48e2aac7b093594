"""Whose fault it is, how a command ends on it, and how a complaint reads."""

from __future__ import annotations

import pytest
from core.folding import many
from hypothesis import given
from hypothesis import strategies as st

from debate_orchestrator.util import errors
from debate_orchestrator.util.errors import DebateError, complaint, short_repr, suggest

CODES = {
    "BadSettings": 2, "BadFormat": 2, "BadFile": 2, "BadReply": 2, "OutOfTurn": 2, "BadJournal": 2, "DamagedJournal": 2,
    "LockedJournal": 2, "Paused": 3, "OverBudget": 3, "TransientError": 3, "ProviderFailed": 4, "JournalWriteError": 4,
}  # fmt: skip


@pytest.mark.parametrize(("name", "code"), CODES.items())
def test_exit_codes(name: str, code: int) -> None:
    """What the user can put right ends with 2, what can be resumed with 3, what failed for good with 4."""
    kind = getattr(errors, name)
    assert kind("said").exit_code == code
    assert issubclass(kind, errors.UserError) is (code == 2)
    assert issubclass(kind, errors.ExternalError) is (code != 2)


def test_every_error_is_in_the_tree() -> None:
    """The module's docstring draws every error there is."""
    kinds = [kind for kind in vars(errors).values() if isinstance(kind, type) and issubclass(kind, DebateError)]
    assert {kind.__name__ for kind in kinds} == {*CODES, "DebateError", "UserError", "ExternalError"}
    assert [kind.__name__ for kind in kinds if kind.__name__ not in (errors.__doc__ or "")] == []


@pytest.mark.parametrize(("given_", "kept"), [("one", ["one"]), (["one", "two"], ["one", "two"]), ((), [])])
def test_an_error_carries_all_its_complaints(given_: str | list[str], kept: list[str]) -> None:
    """Complaints come as a list, and are printed one a line."""
    error = errors.BadReply(given_)
    assert (error.complaints, str(error)) == (kept, "\n".join(kept))


def test_a_complaint_says_what_came_and_what_was_expected() -> None:
    """A complaint is one line: where, what came, what was expected, and what to try if there is something."""
    assert complaint("rounds", "'x'", "a number") == "rounds: got 'x'; expected a number."
    assert complaint("rounds", "'x'", "a number", "Try 3.") == "rounds: got 'x'; expected a number. Try 3."


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("ü\n\x1b[1m", "'\\xfc\\n\\x1b[1m'"),
        ("\ud800", "'\\ud800'"),
        (7, "7"),
        (None, "None"),
        ("x" * 70, "'" + "x" * 59 + "... (72 characters)"),
    ],
)
def test_shown(value: object, text: str) -> None:
    """A value is shown escaped and cut, with how long it was."""
    assert short_repr(value) == text


@many
@given(
    st.recursive(
        st.text() | st.binary() | st.integers() | st.floats(), lambda inner: st.lists(inner) | st.sets(st.text())
    )
)
def test_whatever_is_shown_is_harmless(value: object) -> None:
    """Whatever came, what is shown of it is one short line of printable characters."""
    assert short_repr(value).isprintable()
    assert len(short_repr(value)) < 100


@pytest.mark.parametrize(("word", "hint"), [("wrods", "Did you mean 'words'?"), ("zzz", ""), (5, "")])
def test_the_nearest_is_named(word: object, hint: str) -> None:
    """What is near is named, and nothing where nothing is."""
    assert suggest(word, ["words", "when"]) == hint


def test_a_secret_is_not_cut(monkeypatch: pytest.MonkeyPatch) -> None:
    """A secret that is longer than what is shown of a value leaves no beginning in a complaint."""
    key = "sk-" + "0123456789abcdef" * 8
    monkeypatch.setenv("MY_TOKEN", key)

    assert "sk-0" not in errors.short_repr(f"{key}") + errors.short_repr([f"x {key}"])
