"""The setup conversation: five questions to a debate, Enter at each, with all the ways back, out and on."""

from __future__ import annotations

import re
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from human_turns import Script
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from persons import (
    BACK,
    ERASE,
    GIVEN,
    NO_MODELS,
    SETUP,
    TOPIC,
    future_of,
    no_check,
    run_setup,
    settled,
    trusting,
)  # fmt: skip

from debate_orchestrator.cli.answers_and_flags import setup_questions
from debate_orchestrator.setup.state import SetupState, load
from debate_orchestrator.storage.paths import DebateFiles
from debate_orchestrator.terminal.asking import Quit
from debate_orchestrator.terminal.setup_conversation import SetupConversation
from debate_orchestrator.util.errors import BadSettings
from debate_orchestrator.util.terminal_text import Back, Postponed

ALL = (*SETUP, "yes")


class TestOrder:
    def test_from_the_first_question_to_the_last(self, here: Path) -> None:
        """The topic, who speaks, the positions, the context, then all that was settled and the last confirmation. A
        question mark tells what a question means, then the keys, and the question is put again."""
        held = run_setup("?", *ALL, estimates=True)
        order = [
            "What is the debate topic or question? Please state it as clearly and specifically as possible.",
            "The topic is what the two sides argue about",
            "Tab completes.",
            "Who argues, and who judges?",
            "Researcher A will argue: It is right that: Tabs are better than spaces. Researcher B will argue: It",
            "Is there a file with your own figures and facts, for both sides to use?",
            "DEBATE SETUP ====================== Topic: Tabs are better than spaces. Researcher A",
            "Begin the debate?",
            "A rehearsal calls no model. The same debate with models would take ",
            "Starting debate in 3... 2... 1...",
        ]
        places = [held.text.find(words) for words in order]

        assert held.ended == "confirmed"
        assert settled(held) == GIVEN
        assert -1 not in places and places == sorted(places)
        assert held.state.origins["topic"] == "user" and held.state.origins["positions"] == "default"
        made = held.conversation.settings()
        assert (made.topic, made.rounds, made.cast["judge"]) == (TOPIC, 3, ("rehearse:anthropic:claude-opus-5-5",))

    def test_positions_that_can_not_be_made_are_asked_for(self, here: Path) -> None:
        """Where a topic asks for more than yes or no and no model derives positions, the person words them: there is
        no default, so Enter does not take words of which they are not sure."""
        people = ("seats", "human", "human", "human", "no", "")
        held = run_setup("Which topping?", *people, "", "It belongs there.", "It does not.", "yes", "", "yes")

        assert held.ended == "confirmed" and "For: " not in held.text
        assert "Write the positions yourself." in held.text and "An answer is needed here." in held.text
        assert held.state.answers["positions"] == {"a": "It belongs there.", "b": "It does not."}

    def test_placeholders_of_a_rehearsal_are_no_answers(self, here: Path) -> None:
        """They are called placeholders, are not offered to be kept, and are dropped where models are to speak."""
        held = run_setup("Which topping?", "rehearse", "edit", "", "edit", "Salt.", "Pepper.", "yes", "", "yes")
        assert "These are placeholders" in held.text and "An answer is needed here." in held.text
        assert held.state.answers["positions"] == {"a": "Salt.", "b": "Pepper."}

        people = ("seats", "human", "human", "human", "no", "")
        held = run_setup("Which topping?", "rehearse", "yes", "", "more", "cast", *people, "Salt.", "Pepper.", "yes")
        assert held.state.answers["positions"] == {"a": "Salt.", "b": "Pepper."}


class TestContext:
    def test_a_page(self, here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """The text of a page is saved as a file here, which is the context."""
        from debate_orchestrator.evidence import check

        async def text(address: str) -> str:
            return "Ninety requests a second."

        monkeypatch.setattr(check, "_page_text", text)
        held = run_setup(*SETUP[:3], "https://example.org/numbers")

        assert held.state.answers["context"] == ["context-example.org.txt"]
        assert "Ninety requests" in Path("context-example.org.txt").read_text()


class TestBack:
    def test_to_the_question_before(self, here: Path) -> None:
        """Back puts the question before, and later answers stay; before the first there is none."""
        held = run_setup(*SETUP, "back", BACK, BACK, BACK, BACK, ERASE + "Cats are better than dogs.", "", "", "yes")

        assert "This is the first question." in held.text
        assert held.ended == "confirmed" and held.state.answers["topic"] == "Cats are better than dogs."
        assert held.state.answers["rounds"] == 3


class TestMore:
    @pytest.mark.slow
    @pytest.mark.parametrize(
        ("which", "answers", "key", "expected"),
        [
            ("rounds", ("2",), "rounds", 2),
            ("positions", ("edit", ERASE + "Tabs.", ERASE + "Spaces.", "yes"), "positions",
             {"a": "Tabs.", "b": "Spaces."}),
            ("topic", ("Spaces are better.", ""), "topic", "Spaces are better."),
            ("output", ("other.md",), "output", "other.md"),
            ("rounds", ("7", "yes"), "insist", True),
        ],
    )  # fmt: skip
    def test_one_answer(self, here: Path, which: str, answers: tuple[str, ...], key: str, expected: object) -> None:
        """Any answer can be changed before the debate begins, and only that one is asked for."""
        held = run_setup(*SETUP, "more", which, *answers, "yes")

        assert held.ended == "confirmed", held.text[-600:]
        assert held.state.answers[key] == expected

    @pytest.mark.slow
    @pytest.mark.parametrize(
        ("which", "answer", "expected"),
        [
            ("rounds", "9", "diminishing returns; 4 or 5 is a good cap"),
            ("strictness", "harsh", "Choose one of: 1 lenient, 2 strict."),
            ("output", ERASE + "there.md", "already exists"),
            ("topic", ERASE + "null", "An answer is needed here."),
        ],
    )
    def test_bad_answers(self, here: Path, which: str, answer: str, expected: str) -> None:
        """A bad answer is told what was expected, changes nothing, and the question is put again."""
        Path("there.md").write_text("# Debate Report\n")
        held = run_setup(*SETUP, "more", which, answer)

        assert expected in held.text
        assert settled(held) == GIVEN

    @pytest.mark.parametrize(("rounds", "expected", "notes"), [(["2"], 2, 0), (["8", "yes"], 1, 1), ([], 1, 0)])
    def test_another_format(self, here: Path, rounds: list[str], expected: int, notes: int) -> None:
        """With another format every answer stays that it takes too; one that it does not take is reported, and the
        default of a format is its own. A transcript's is none that can be held."""
        more = ("more", "rounds", *rounds) if rounds else ()
        keys = (*SETUP, *more, "more", "strictness", "lenient", "more", "format", "transcript", "panel", "yes")
        held = run_setup(script=Script(*keys))
        (listed,) = re.findall(r"Choose one of: (.*?)\.", held.text)

        assert held.ended == "confirmed" and held.state.answers["rounds"] == expected
        assert held.state.answers["format"] == "panel"
        assert " adversarial" in listed and "transcript" not in listed
        assert held.text.count("rounds: 8 is not") == notes
        assert {key: held.state.answers[key] for key in ("positions", "topic", "context")} == {
            key: GIVEN[key] for key in ("positions", "topic", "context")
        }
        assert held.state.answers["strictness"] == "lenient"

    def test_what_can_not_be_opened_is_not_begun(self, here: Path) -> None:
        """Where the debate could not be opened, that is reported before it begins, and an answer can be changed."""

        def check(state: SetupState) -> DebateFiles:
            if state.answers["rounds"] == 3:
                raise BadSettings(["one complaint", "another"])
            return DebateFiles.made_for(state.answers["output"])

        held = run_setup(script=Script(*SETUP, "yes", "", "rounds", "2", "yes"), check=check)

        assert "one complaint another" in held.text and "Choose one of: 1 more, 2 later." in held.text
        assert held.ended == "confirmed"


class TestOptions:
    @pytest.mark.slow
    @pytest.mark.parametrize("name", ["claim", "panel", "conversation", "question-consultancy", "question-open"])
    def test_every_format(self, here: Path, name: str) -> None:
        """A format is set up by the same conversation, with as many sides and judges as it has."""
        held = run_setup(*ALL, format=name)
        made, rules = held.conversation.settings(), held.conversation.setup_questions.format

        assert held.ended == "confirmed" and made.format == name
        assert set(made.cast) - {"rapporteur"} == set(rules.active_seats())
        assert len(made.cast.get("judge", ())) == (rules.judge_count if "judge" in rules.active_seats() else 0)


def test_every_question_has_a_meaning() -> None:
    """There is something to say on what each question means that can be put in a setup."""
    conversation = SetupConversation(Script(), setup_questions, future_of(NO_MODELS), no_check)
    kept_as = {"context_files": "context", "cast": "seat", "judge": "seat", "panel": "seat", "reword": "topic"}
    kept_as |= dict.fromkeys(("position_a", "position_b"), "position")
    names = (*conversation.setup_questions.texts.questions, *conversation.texts.questions)

    assert {kept_as.get(name, name) for name in names} == set(conversation.texts.meaning)


TYPED = ["", "yes", "no", "edit", "auto", "own", "1", "2", "3", "7", "9", "strict", "o.md", "out/", "x.pdf", "more"]
TYPED += ["rounds", "topic", "positions", "cast", "context", "format", "rehearse", "seats", "later", "?", "Tabs win."]
LASTING = ("strictness", "output", "cast")
"""Answers that nothing takes back."""


@pytest.mark.slow
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=25)
@given(st.lists(st.sampled_from(TYPED) | st.just(BACK) | st.text(max_size=8), max_size=25))
def test_no_answer_is_ever_lost(here: Path, typed: list[str]) -> None:
    """Whatever is answered, in whatever order, with whatever going back: the conversation breaks nowhere, what was
    answered stays, and what is kept is what was answered."""
    for path in here.glob(".debate-setup*"):
        path.unlink()
    script = Script("Tabs are better.", *(Back() if text == BACK else text for text in typed))
    conversation = SetupConversation(script, setup_questions, future_of(NO_MODELS), no_check)
    conversation.cost_outlook = lambda: ""  # type: ignore[method-assign]
    seen: list[SetupState] = []
    read: Callable[[Any], Any] = script._read

    async def watched(question: Any) -> str:
        seen.append(conversation.state)
        return await read(question)

    script._read = watched  # type: ignore[method-assign]
    try:
        conversation.welcome(None, None, None, "", trusting, lambda path, calls: True)
        conversation.run()
    except (Quit, Postponed):
        pass

    for before, after in pairwise(seen):
        for key in LASTING:
            assert key not in before.answers or key in after.answers, key
    on_disk = load(".debate-setup.yaml")
    assert on_disk.progress.topics == conversation.state.progress.topics
    assert on_disk.answers.get("cast") == conversation.state.answers.get("cast")
