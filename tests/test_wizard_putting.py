"""The interview's questions, put to a person: defaults, bad answers, editing in place, and what is remembered."""

from __future__ import annotations

from pathlib import Path

import pytest
from persons import BACK, ERASE, TO_CAST, Held, hold

from debate_orchestrator.wizard.putting import _question
from debate_orchestrator.wizard.saving import Lately

TOPIC = ("Tabs are better than spaces.",)
TO_POSITIONS = (*TOPIC, "yes")
TO_ROUNDS = (*TO_POSITIONS, "own", "Tabs.", "Spaces.", "yes")
TO_STRICTNESS = (*TO_ROUNDS, "1")
TO_OUTPUT = (*TO_STRICTNESS, "lenient")


def given(held: Held, key: str) -> object:
    return held.draft.given.get(key)


class TestEveryQuestion:
    @pytest.mark.slow
    @pytest.mark.parametrize(
        ("before", "answer", "key", "expected", "source"),
        [
            (TO_POSITIONS[:1], "yes", "topic", "Tabs are better than spaces.", "user"),
            (TO_ROUNDS, "", "rounds", 3, "default"),
            (TO_ROUNDS, "default", "rounds", 3, "default"),
            (TO_ROUNDS, "2", "rounds", 2, "user"),
            (TO_STRICTNESS, "1", "strictness", "lenient", "user"),
            (TO_STRICTNESS, "s", "strictness", "strict", "user"),
            (TO_OUTPUT, "", "output", "debate-report.md", "default"),
            (TO_OUTPUT, "mine.md", "output", "mine.md", "user"),
        ],
    )
    def test_answers(
        self, here: Path, before: tuple[str, ...], answer: str, key: str, expected: object, source: str
    ) -> None:
        """Each question takes its answer, by Enter alone where it has a default, and keeps where it came from."""
        held = hold(*before, answer)

        assert given(held, key) == expected
        assert held.draft.sources[key] == source

    @pytest.mark.slow
    @pytest.mark.parametrize(
        ("before", "answer", "told"),
        [
            ((), "", "An answer is needed here."),
            ((), "null", "An answer is needed here."),
            ((), "x" * 1001, "at most 1,000"),
            (TOPIC, "", "An answer is needed here."),
            (TO_POSITIONS, "both", "Choose one of: 1 auto, 2 own."),
            (TO_POSITIONS, "", "Choose one of: 1 auto, 2 own."),
            ((*TO_POSITIONS, "own"), "\u200b", "no visible characters"),
            (TO_ROUNDS[:-1], "perhaps", "Choose one of: 1 yes, 2 no, 3 edit."),
            (TO_ROUNDS, "three", "a whole number from 1 to 6"),
            (TO_ROUNDS, "9", "diminishing returns; 4 or 5 is a good cap"),
            ((*TO_ROUNDS, "7"), "maybe", "Choose one of: 1 yes, 2 no."),
            (TO_STRICTNESS, "harsh", "Choose one of: 1 lenient, 2 strict."),
            (TO_OUTPUT, "report.pdf", "a file that ends in .md, or a folder"),
            (TO_OUTPUT, "/proc/nowhere/x.md", "can't write"),
        ],
    )
    def test_bad_answers(self, here: Path, before: tuple[str, ...], answer: str, told: str) -> None:
        """A bad answer is told what was expected, changes nothing, and the question is put again."""
        good, bad = hold(*before), hold(*before, answer)

        assert told in bad.text
        assert bad.draft.given == good.draft.given
        assert bad.sitting.interview.next(bad.draft) == good.sitting.interview.next(good.draft)

    def test_seven_rounds_ask_back(self, here: Path) -> None:
        """More than six rounds are taken from somebody who insists."""
        assert hold(*TO_ROUNDS, "7", "yes").draft.given["insist"] is True
        assert "rounds" not in hold(*TO_ROUNDS, "7", "no").draft.given

    def test_a_folder_is_made_and_told(self, here: Path) -> None:
        """A folder that was not there is made, and that is said; one that was is not."""
        assert "The folder out/ was made." in hold(*TO_OUTPUT, "out/").text
        assert Path("out").is_dir()
        assert "was made" not in hold(*TO_OUTPUT, "out/").text

    def test_a_report_that_is_there_is_not_overwritten(self, here: Path) -> None:
        """An output that another debate has is refused, and another one asked for."""
        Path("mine.md").write_text("# Debate Report\n")
        held = hold(*TO_OUTPUT, "mine.md", ERASE + "other.md")

        assert "is there already" in held.text
        assert given(held, "output") == "other.md"


class TestEditing:
    def test_the_topic_is_edited_in_place(self, here: Path) -> None:
        """The topic that was restated can be edited; it is then confirmed in exactly those words."""
        held = hold(*TOPIC, "edit", " For Python.", "yes")

        assert given(held, "topic") == "Tabs are better than spaces. For Python."
        assert "I'll frame the debate as: 'Tabs are better than spaces. For Python'. Is this accurate?" in held.text
        assert held.draft.sources["topic"] == "user"

    def test_a_correction_in_words(self, here: Path) -> None:
        """Where no model restates, whatever is said instead of yes is the topic, to be confirmed."""
        assert given(hold(*TOPIC, "Tabs win.", "yes"), "topic") == "Tabs win."
        assert "topic" not in hold(*TOPIC, "Tabs win.").draft.given

    def test_no_asks_for_it_again(self, here: Path) -> None:
        """A topic that was not meant is stated again."""
        assert given(hold(*TOPIC, "no", "Cats are better.", "yes"), "topic") == "Cats are better."

    def test_positions_are_edited_in_place(self, here: Path) -> None:
        """Positions can be edited before they are confirmed; back leaves those that were not reached as they were."""
        both = hold(*TO_ROUNDS[:-1], "edit", " Always.", " Never.", "yes")
        one = hold(*TO_ROUNDS[:-1], "edit", " Always.", BACK, "yes")

        assert given(both, "positions") == {"a": "Tabs. Always.", "b": "Spaces. Never."}
        assert given(one, "positions") == {"a": "Tabs. Always.", "b": "Spaces."}

    @pytest.mark.parametrize("how", [("own", "Tabs.", "Spaces."), ("auto", "", "")])
    def test_positions_that_were_refused_are_gone(self, here: Path, how: tuple[str, ...]) -> None:
        """No at the confirmation asks again, and one's own positions begin empty."""
        held = hold(*TO_POSITIONS, *how, "no", "own", "Cats.", "Dogs.", "yes")

        assert given(held, "positions") == {"a": "Cats.", "b": "Dogs."}

    def test_back_in_a_line_that_is_edited(self, here: Path) -> None:
        """`back` typed behind what stands is no part of a position unless Enter says so once more; where something
        stands, the key that goes back is named."""
        once = hold(*TO_ROUNDS[:-1], "edit", " back", BACK, "yes")
        twice = hold(*TO_ROUNDS[:-1], "edit", "back", "", BACK, "yes")

        assert given(once, "positions") == {"a": "Tabs.", "b": "Spaces."}
        assert given(twice, "positions") == {"a": "Tabs.back", "b": "Spaces."}
        assert "To go back, press Shift-Tab." in once.text
        assert "Enter keeps it. Shift-Tab goes back.)" in once.text

    def test_each_position_has_a_line(self, here: Path) -> None:
        """The positions that are to be confirmed stand below one another, with the question below them."""
        sitting = hold(*TO_ROUNDS[:-1]).sitting
        ask = sitting.interview.question(sitting.draft, "positions_ok")

        assert _question(sitting, ask).text.split("\n") == [
            "Researcher A will argue: Tabs.",
            "Researcher B will argue: Spaces.",
            "Correct?",
        ]


class TestUnaided:
    def test_plain_positions_are_marked(self, here: Path) -> None:
        """Where no model derives positions, plain ones are proposed, called so, and kept as a default."""
        held = hold(*TO_POSITIONS, "auto", "", "", "yes")

        assert "No model is asked, so positions can't be derived." in held.text
        assert "plain proposals that nobody derived" in held.text
        assert given(held, "positions") == {
            "a": "For: Tabs are better than spaces",
            "b": "Against: Tabs are better than spaces",
        }
        assert held.draft.sources["positions"] == "default"

    def test_a_question_gets_statements(self, here: Path) -> None:
        """A question whether we should do something is answered by two plain statements."""
        held = hold("Should we replace it?", "yes", "auto", "", "", "yes")

        assert given(held, "positions") == {"a": "We should replace it.", "b": "We should not replace it."}
        assert held.draft.sources["positions"] == "default"

    def test_edited_ones_are_the_users(self, here: Path) -> None:
        """A plain position that was edited is the user's own, and so is the pair."""
        held = hold(*TO_POSITIONS, "auto", ERASE + "Tabs.", "", "yes")

        assert given(held, "positions") == {"a": "Tabs.", "b": "Against: Tabs are better than spaces"}
        assert held.draft.sources["positions"] == "user"


def test_answers_are_remembered_for_other_days(here: Path) -> None:
    """Topics, positions and outputs are remembered; choices and numbers that mean little are not."""
    hold(*TO_CAST, "rehearse")

    assert Lately().of("topic") == ("Tabs are better than spaces.",)
    assert Lately().of("position") == ("Tabs.", "Spaces.")
    assert Lately().of("output") == ("out.md",)
    assert Lately().of("strictness") == ()
