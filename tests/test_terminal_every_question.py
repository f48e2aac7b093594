"""Keys at the questions that a person can meet: none ends in an error, and no text is lost."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from human_turns import HAND_IN, due, run, taken
from persons import BACK, CTRL_C, ENTER, ERASE, SETUP, TOPIC, run_setup, typing
from reviewers import DIGEST, adversarial_entries, review_form

from debate_orchestrator.core import schedule
from debate_orchestrator.core.state import DebateState
from debate_orchestrator.prompting.briefs import brief
from debate_orchestrator.reports.reviewer_ballots import ReviewForm, new_ballot, review_texts
from debate_orchestrator.terminal.asking import Quit
from debate_orchestrator.terminal.drafts import Drafts
from debate_orchestrator.terminal.form import ReviewBallotForm, ask_name
from debate_orchestrator.terminal.turn import SpeechEditor, TerminalPeople
from debate_orchestrator.util.errors import Paused

KEYS = {"back": BACK, "back in words": ERASE + "back" + ENTER, "explain": "?" + ENTER, "leave": CTRL_C}
SPEECH = ("Tabs are one key, and that is enough of a reason for me." + HAND_IN, "e" + ENTER, HAND_IN)
BALLOT = tuple(answer + ENTER for answer in ("7 7 7", "6 6 6", "a", "It was.", "none", "none"))
REVIEW = ("ada", "no", "undecided", "here", "7 6", "5 5", "a", "a", "a", "It answered.")
CAST = ("seats", "rehearse", "rehearse", "rehearse", "no")
at_each_key = pytest.mark.parametrize("key", KEYS)


def places(count: int, key: str) -> range:
    """The numbers of the questions at which a key is pressed: each key has its turn at one after the other."""
    return range(list(KEYS).index(key), count, len(KEYS))


def take_turn(debate: DebateState, turn: str, keys: tuple[str, ...], folder: Path) -> None:
    """A person takes a turn, where several share the keyboard."""
    at = schedule.turn(debate, turn)
    with typing(*keys) as (terminal, _):
        person = TerminalPeople(terminal, Drafts(str(folder / "r.drafts")))
        with pytest.raises(Paused):
            run(person.reply(debate, at, brief(debate, at)))


def review(form: ReviewForm, keys: tuple[str, ...]) -> None:
    """A reviewer gives a name and fills in a ballot."""
    with typing(*keys) as (terminal, _):

        async def ask() -> None:
            name = await ask_name(terminal, review_texts())
            given = new_ballot(DIGEST, name, "2026-02-04")
            await ReviewBallotForm(terminal, review_texts(), form, given, lambda: None, lambda fields: None).run()

        with pytest.raises(Quit):
            asyncio.run(ask())


@pytest.mark.slow
@at_each_key
def test_a_turn(key: str, tmp_path: Path) -> None:
    """A key at the call to the keyboard, at any question of a speech or ballot, and before it is handed in."""
    for turn, typed in (("1.opening.a", SPEECH), ("1.verdict.judge", BALLOT)):
        debate = due(turn)
        for n in places(len(typed) + 2, key):
            take_turn(debate, turn, (*(ENTER, *typed)[:n], KEYS[key]), tmp_path / f"{turn}{n}")


@pytest.mark.slow
@at_each_key
def test_a_review(key: str) -> None:
    """A key at a reviewer's name, at any question, and before the ballot is filed."""
    form = review_form(adversarial_entries(rounds=1))
    for n in places(len(REVIEW) + 1, key):
        review(form, (*REVIEW[:n], KEYS[key] + CTRL_C))


@pytest.mark.slow
@at_each_key
def test_the_setup(here: Path, key: str) -> None:
    """A key at any question of the setup."""
    for typed in (SETUP, (TOPIC, *CAST), (*SETUP, "more", "rounds")):
        for n in places(len(typed) + 1, key):
            assert run_setup(*typed[:n], KEYS[key] + CTRL_C).ended in ("left", "later")


def test_a_speech_is_kept(tmp_path: Path) -> None:
    """Going back from a speech has nowhere to go: the speech stays, and is continued."""
    with typing("Tabs are" + BACK, " one key." + HAND_IN + ENTER) as (terminal, screen):
        assert run(SpeechEditor(taken("1.opening.a", terminal, tmp_path)).run()) == "Tabs are one key."
    assert "No question comes before this one." in screen.text
