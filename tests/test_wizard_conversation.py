"""The setup conversation from its first question to the last confirmation, with all the ways back, out and on."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from conftest import Run
from persons import BACK, CTRL_C, CTRL_D, ERASE, TO_CAST, Held, hold, kept

from debate_orchestrator.formats import loader
from debate_orchestrator.setup.session import SetupState, load
from debate_orchestrator.storage.paths import DebateFiles
from debate_orchestrator.util import resources
from debate_orchestrator.util.data import read_mapping
from debate_orchestrator.util.errors import BadSettings
from debate_orchestrator.wizard import conversation

ALL = (*TO_CAST, "rehearse", "yes")
GIVEN = {
    "topic": "Tabs are better than spaces.",
    "positions": {"a": "Tabs.", "b": "Spaces."},
    "rounds": 1,
    "strictness": "strict",
    "output": "out.md",
}


def settled(held: Held) -> dict[str, Any]:
    return {key: value for key, value in held.draft.given.items() if key != "cast"}


class TestOrder:
    def test_from_the_first_question_to_the_last(self, here: Path) -> None:
        """The questions come in their order and words, then who speaks, then the block and the last confirmation."""
        held = hold(*ALL)
        order = [
            "What is the debate topic or question? Please state it as clearly and specifically as possible.",
            "I'll frame the debate as: 'Tabs are better than spaces'. Is this accurate?",
            "Should I assign the two positions, or do you have specific positions in mind?",
            "What does Researcher A (Pro) argue?",
            "What does Researcher B (Con) argue?",
            "Researcher A will argue: Tabs. Researcher B will argue: Spaces. Correct?",
            "How many debate rounds? (Default: 3)",
            "How strict should the judge be?",
            "Where should I save the debate report?",
            "Who argues, and who judges?",
            "DEBATE SETUP CONFIRMED ====================== Topic: Tabs are better than spaces. Researcher A",
            "Begin the debate?",
            "Starting debate in 3... 2... 1...",
        ]
        places = [held.text.find(one) for one in order]

        assert held.ended == "confirmed"
        assert settled(held) == GIVEN
        assert -1 not in places and places == sorted(places)

    def test_the_answers_are_what_a_debate_takes(self, here: Path) -> None:
        """What was settled makes the answers of a debate."""
        held = hold(*ALL)
        answers = conversation.settled(held.draft, held.sitting.interview)

        assert (answers.topic, answers.rounds, answers.cast["judge"]) == (
            "Tabs are better than spaces.",
            1,
            ("rehearse:anthropic:claude-opus-5-5",),
        )

    def test_help_is_a_question_mark_away(self, here: Path) -> None:
        """A question mark tells what the question means, then the keys, and the question is put again."""
        held = hold("?", *TO_CAST)

        assert held.text.index("The topic is what the two sides argue about") < held.text.index("Tab completes.")
        assert "Tab completes." in held.text and "Alt-Enter" in held.text
        assert settled(held) == GIVEN

    def test_enter_begins(self, here: Path) -> None:
        """At the last question Enter alone begins, where the debate can be opened."""
        assert hold(*ALL[:-1], "").ended == "confirmed"


class TestBack:
    def test_to_the_question_before(self, here: Path) -> None:
        """Back puts the question before, and what is answered there counts; later answers stay."""
        held = hold(*TO_CAST, "back", BACK, "lenient")

        assert settled(held) == {**GIVEN, "strictness": "lenient"}
        assert held.sitting.interview.trail(held.draft)[-1] == "output"

    def test_all_the_way(self, here: Path) -> None:
        """One can go back to the very first question, and no answer is lost on the way."""
        held = hold(*TO_CAST, *[BACK] * 12, ERASE + "Cats are better than dogs.", "yes", "yes")

        assert "This is the first question." in held.text
        assert settled(held) == {**GIVEN, "topic": "Cats are better than dogs."}

    def test_the_same_answer_changes_nothing(self, here: Path) -> None:
        """What stands is taken again by Enter, and nothing that depends on it is asked again."""
        for steps in (1, 4, 9):
            held = hold(*TO_CAST, *[BACK] * steps, "")
            assert settled(held) == GIVEN
            assert held.text.count("Who argues, and who judges?") == 2

    def test_to_ones_own_positions(self, here: Path) -> None:
        """Positions of one's own survive another choice and come back for editing."""
        held = hold(*TO_CAST[:5], BACK, BACK, BACK, "auto", "", "", "yes")

        assert settled(held)["positions"] == {"a": "Tabs.", "b": "Spaces."}

    def test_from_the_last_confirmation(self, here: Path) -> None:
        """Back from the confirmation leads to who speaks."""
        held = hold(*TO_CAST, "rehearse", BACK, "anthropic:claude-opus-5-5", "yes")

        assert held.ended == "confirmed"
        assert held.draft.given["cast"]["judge"] == "anthropic:claude-opus-5-5"


class TestChange:
    @pytest.mark.slow
    @pytest.mark.parametrize(
        ("which", "answers", "key", "expected"),
        [
            ("rounds", ("2",), "rounds", 2),
            ("strictness", ("lenient",), "strictness", "lenient"),
            ("positions", ("edit", "", " Always.", "yes"), "positions", {"a": "Tabs.", "b": "Spaces. Always."}),
            ("topic", (ERASE + "Tabs win.", "yes", "yes"), "topic", "Tabs win."),
            ("output", (ERASE + "other.md",), "output", "other.md"),
            ("1", (ERASE + "Tabs win.", "yes", "yes"), "topic", "Tabs win."),
        ],
    )
    def test_one_answer(self, here: Path, which: str, answers: tuple[str, ...], key: str, expected: object) -> None:
        """Any answer can be changed before the debate begins, and only that one is asked for."""
        held = hold(*TO_CAST, "rehearse", "change", which, *answers, "yes")

        assert held.ended == "confirmed"
        assert settled(held) == {**GIVEN, key: expected}

    def test_the_format(self, here: Path) -> None:
        """The format can be changed; a transcript's is none that can be held."""
        held = hold(*TO_CAST, "rehearse", "change", "format", "transcript", "", "yes")

        assert held.draft.given["format"] == "adversarial"
        listed = held.text.partition("Which format?")[2].partition(">")[0]
        assert re.search(r"\d adversarial ", listed) and not re.search(r"\d transcript ", listed)

    def test_what_can_not_be_opened_is_not_begun(self, here: Path) -> None:
        """Where the debate could not be opened, that is told before it begins, and an answer can be changed."""

        def check(draft: SetupState) -> DebateFiles:
            if draft.given["rounds"] == 1:
                raise BadSettings(["one complaint", "another"])
            return DebateFiles.of_output(draft.given["output"])

        held = hold(*TO_CAST, "rehearse", "yes", "change", "rounds", "2", "yes", check=check)

        assert "one complaint another" in held.text
        assert "Choose one of: 1 change, 2 later." in held.text
        assert held.ended == "confirmed"


class TestLeaving:
    @pytest.mark.slow
    @pytest.mark.parametrize("key", [CTRL_C, CTRL_D])
    @pytest.mark.parametrize("answered", range(len(TO_CAST) + 1))
    def test_at_every_question(self, here: Path, answered: int, key: str) -> None:
        """Leaving at any question keeps what was answered, and it is gone on with at the same question."""
        held = hold(*TO_CAST[:answered], key)
        again = hold(*([""] if answered else []), *TO_CAST[answered:], goes_on=True)

        assert held.ended == "left"
        assert settled(again) == GIVEN

    def test_later(self, here: Path) -> None:
        """Who does not want to begin yet leaves with everything kept."""
        held = hold(*TO_CAST, "rehearse", "later")

        assert held.ended == "later"
        assert "`debate --answers .debate-setup.yaml`" in held.sitting.kept.leaving()
        assert hold("", "yes", goes_on=True).ended == "confirmed"

    def test_a_half_typed_answer_comes_back(self, here: Path) -> None:
        """What was typed and not sent is among the earlier answers the next time."""
        hold("A long and winding thou" + CTRL_C)

        assert hold("\x1b[A" + "ght").draft.talk.heard == ("A long and winding thought",)

    def test_another_conversation_beside_it(self, here: Path) -> None:
        """The one that was left can be left alone: another has its own file."""
        hold(*TO_CAST)
        before = kept()
        hold("no", "Cats are better.", goes_on=True)

        assert kept() == before
        assert read_mapping(".debate-setup-2.yaml")["setup"]["heard"] == ["Cats are better."]

    def test_nothing_answered_nothing_kept(self, here: Path) -> None:
        """Who leaves at once leaves nothing behind."""
        hold(CTRL_C)

        assert list(here.iterdir()) == []

    def test_a_folder_that_can_not_be_written(self, here: Path) -> None:
        """Where answers can't be kept, that is said once, and the conversation goes on."""
        (here / "file").write_text("")
        held = hold(*TO_CAST, file="file/draft.yaml")

        assert held.text.count("Your answers can't be kept") == 1
        assert settled(held) == GIVEN


class TestFiles:
    def test_the_host_goes_on_with_it(self, debate: Run) -> None:
        """`debate ask` goes on with a conversation that was left at the terminal, and the terminal with that."""
        hold(*TO_CAST[:7], file="setup.yaml")
        told = debate("ask", "setup.yaml", "strictness=strict").json
        held = hold("", "rehearse", "yes", file="setup.yaml")

        assert told["question"]["key"] == "output"
        assert settled(held) == {**GIVEN, "output": "debate-report.md"}
        assert load("setup.yaml").given["cast"]["a"].startswith("rehearse:")

    def test_it_goes_on_with_the_hosts(self, debate: Run) -> None:
        """A conversation that a host began, with its moderator's work, goes on at the terminal."""
        told = debate("ask", "setup.yaml", "topic=tabs?").json
        restated = {"ambiguous": False, "restated": "Tabs win.", "recommended": None, "alternative": None}
        Path(told["turns"][0]["reply"]).write_text(json.dumps(restated))
        debate("ask", "setup.yaml")

        assert hold("yes", file="setup.yaml").draft.given["topic"] == "Tabs win."

    def test_a_persons_answers_are_confirmed(self, here: Path) -> None:
        """Answers that a person wrote into a file count as said: what needs it is confirmed, nothing else is asked."""
        Path("mine.yaml").write_text(
            "topic: Tabs?\npositions: {a: Tabs., b: Spaces.}\nrounds: 1\nstrictness: strict\noutput: out.md\n"
            "cast: rehearse\nmax_cost: 2\n"
        )
        held = hold("yes", "yes", "yes", file="mine.yaml")

        assert held.ended == "confirmed"
        assert settled(held) == {**GIVEN, "topic": "Tabs?", "max_cost": 2}
        assert held.text.count("?") < 40

    @pytest.mark.slow
    @pytest.mark.parametrize(
        "text",
        [
            "rounds: three\nstrictness: 7\n",
            "topic: [1]\npositions: {a: 1}\noutput: {}\ncast: 3\n",
            "setup: {heard: [], topic_ok: true, positions_ok: true, positions: own, asked: topic_ok}\n",
            "topic: x\nsetup: {heard: [x], topic_ok: true, asked: positions_ok, proposal: {ambiguous: 7}}\n",
            "positions: [a]\nsetup: {heard: [x], topic_ok: true}\nrounds: 99\n",
            "cast: {a: 7, b: [], judge: {x: y}}\n",
        ],
    )
    def test_files_that_a_hand_has_spoiled(self, here: Path, text: str) -> None:
        """What makes no sense in a file is asked for again, and never breaks the conversation."""
        Path("odd.yaml").write_text(text)
        held = hold("Tabs?", "yes", "own", "A.", "B.", "yes", "1", "strict", "o.md", "rehearse", "yes", file="odd.yaml")

        assert held.ended in ("confirmed", "left")

    def test_what_was_settled_is_shown(self, here: Path) -> None:
        """Who goes on is shown what was settled."""
        hold(*TO_CAST)
        held = hold("", goes_on=True)

        assert "Settled so far: topic: Tabs are better than spaces. positions: Tabs. / Spaces. rounds: 1" in held.text


class TestOptions:
    def test_a_rehearsal_asks_nobody(self, here: Path) -> None:
        """With --rehearse no model is asked for anything, and nobody is asked who speaks."""
        held = hold(*TO_CAST, "yes", rehearse=True, moderates=False)

        assert held.ended == "confirmed"
        assert "Who argues, and who judges?" not in held.text

    def test_a_format_is_named(self, here: Path) -> None:
        """A format that was named sets the limits, and is kept."""
        held = hold("Tabs?", "yes", "own", "A.", "B.", "yes", "40", format="transcript")

        assert (held.draft.given["format"], held.draft.given["rounds"]) == ("transcript", 40)
        assert held.sitting.interview.rules == loader.load("transcript")

    @pytest.mark.slow
    @pytest.mark.parametrize("name", [name for name in resources.format_names() if name != "transcript"])
    def test_every_format(self, here: Path, name: str) -> None:
        """Every format is set up by the same conversation, with as many sides, rounds and judges as it has."""
        rules = loader.load(name)
        rounds = ["1"] if rules.rounds.insist > 1 else []
        positions = [f"Position {side}." for side in rules.sides]
        held = hold("T?", "yes", "own", *positions, "yes", *rounds, "strict", "out.md", "rehearse", "yes", format=name)
        answers = conversation.settled(held.draft, held.sitting.interview)

        assert held.ended == "confirmed"
        assert set(answers.cast) == set(rules.seated)
        assert len(answers.cast.get("judge", ())) == (rules.panel if "judge" in rules.seated else 0)

    @pytest.mark.slow
    @pytest.mark.parametrize("columns", [40, 80, 160])
    def test_every_width(self, here: Path, columns: int) -> None:
        """The whole conversation is held at 40, 80 and 160 columns."""
        held = hold(*ALL, columns=columns)

        assert held.ended == "confirmed"
