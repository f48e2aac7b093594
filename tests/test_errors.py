"""Errors: which class is whose fault, the exit code for each, and how a complaint reads."""

from __future__ import annotations

import pytest
from core.folding import many
from corpus import for_each
from hypothesis import given
from hypothesis import strategies as st

from debate_orchestrator.cli import exit_code
from debate_orchestrator.util import errors
from debate_orchestrator.util.errors import (
    BadReply,
    DebateError,
    TransientError,
    short_repr,
    split_hint,
    suggest,
    with_hint,
)

CODES = {
    "BadSettings": 2, "BadFormat": 2, "BadFile": 2, "BadReply": 2, "ReplyCouldBeBetter": 2,
    "DoesNotFit": 2, "BadJournal": 2, "DamagedJournal": 2,
    "LockedJournal": 2, "NewerJournal": 2, "UnknownEvent": 2, "Paused": 3, "OverBudget": 3, "TransientError": 3,
    "PermanentFailure": 4, "ProviderFailed": 4, "JournalWriteError": 4, "DiskFull": 4, "ReplyPending": 3,
}  # fmt: skip


def test_exit_codes() -> None:
    """A user's mistake ends with 2, work that can be resumed with 3, a lasting failure with 4, be it outside or in the
    program."""
    assert {name: exit_code(getattr(errors, name)("problem")) for name in CODES} == CODES
    assert {name for name in CODES if not issubclass(getattr(errors, name), errors.ExternalError)} == {
        name for name, code in CODES.items() if code == 2
    }


def test_every_error_is_in_the_tree() -> None:
    """The module's docstring shows every error class, and each has a known exit code."""
    names = {
        kind.__name__ for kind in vars(errors).values() if isinstance(kind, type) and issubclass(kind, DebateError)
    }

    assert names == {*CODES, "DebateError", "UserError", "ExternalError"}
    assert [name for name in names if name not in (errors.__doc__ or "")] == []


def test_an_error_carries_all_its_complaints() -> None:
    """Complaints come as a list, are printed one a line, and a hint is added to the last."""
    assert BadReply("one").problems == ["one"]
    assert BadReply(()).problems == []
    assert str(BadReply(["One.", "Two."], hint="do three")) == "One.\nTwo. Try: do three."
    assert TransientError("Busy.", hint="wait.", after=2).problems == ["Busy. Try: wait."]


@for_each(
    [
        ("Käse 日本", "'Käse 日本'"),
        ("ü\n\x1b[1m", "'ü\\n\\x1b[1m'"),
        ("a\u202eb\u200b\u3164\u034f\ufe0f", r"'a\u202eb\u200b\u3164\u034f\ufe0f'"),
        (["Käse\u3164"], r"['Käse\u3164']"),
        ("x’). Winner: B", r"'x\u2019). Winner: B'"),
        ("\ud800", "'\\ud800'"),
        (None, "None"),
        ("x" * 70, "'" + "x" * 59 + "...' (72 characters)"),
        ("'" * 70, '"' + "'" * 59 + '..." (72 characters)'),
        (["x" * 70], "['" + "x" * 58 + "... (74 characters)"),
    ]
)
def test_a_value_is_escaped_and_cut(value: object, text: str) -> None:
    """A value in a message is escaped and cut, with its length."""
    assert short_repr(value) == text


@many
@given(
    st.recursive(
        st.text() | st.binary() | st.integers() | st.floats(), lambda inner: st.lists(inner) | st.sets(st.text())
    )
)
def test_any_value_is_shown_harmlessly(value: object) -> None:
    """Any value becomes one short line of printable characters."""
    assert short_repr(value).isprintable()
    assert len(short_repr(value)) < 100


def test_a_hint_is_what_comes_last() -> None:
    """A problem's hint is taken from its end: a value that it quotes may hold the same words."""
    problem = "x: 'Do not. Try: the other' is no number."

    assert split_hint(with_hint(problem, "write one")) == (problem, " Try: write one.")
    assert split_hint("It is so.") == ("It is so.", "")


@pytest.mark.parametrize(
    ("word", "hint"),
    [("wrods", "Did you mean 'words'?"), ("budgets", "Did you mean 'lengths'?"), ("at_once", ""), ("zzz", ""), (5, "")],
)
def test_suggest(word: object, hint: str) -> None:
    """The word of today for a former one is suggested, or else the closest; nothing if there is neither."""
    assert suggest(word, ["words", "when", "judges", "lengths"]) == hint


def test_a_secret_is_not_cut(monkeypatch: pytest.MonkeyPatch) -> None:
    """A secret that is longer than the cut leaves no beginning of it in a message."""
    key = "sk-" + "0123456789abcdef" * 8
    monkeypatch.setenv("MY_TOKEN", key)

    assert "sk-0" not in short_repr(f"{key}") + short_repr([f"x {key}"])
