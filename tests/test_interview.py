"""The setup conversation: what is asked, in which order, and which answers are refused."""

from __future__ import annotations

from typing import Any

import pytest

from debate_orchestrator.formats import loader
from debate_orchestrator.setup.answers import block_lines, message_line
from debate_orchestrator.setup.questions import Questionnaire
from debate_orchestrator.setup.session import Ask, Propose, QuestionTexts, Ready, SetupState
from debate_orchestrator.util import resources
from debate_orchestrator.util.errors import BadSettings

CLEAR = {"ambiguous": False, "restated": "Tabs are better than spaces.", "recommended": None, "alternative": None}
MUDDY = {"ambiguous": True, "restated": None, "recommended": "Tabs win.", "alternative": "Spaces win."}
PAIR = {"kind": "technical", "a": "Tabs are better.", "b": "Tabs are no better."}


@pytest.fixture
def interview() -> Questionnaire:
    words = QuestionTexts.model_validate(resources.read_yaml("setup.yaml"))
    return Questionnaire(words, loader.load("adversarial"), "debate-report.md")


def said(interview: Questionnaire, draft: SetupState, *answers: tuple[str, Any]) -> SetupState:
    """The draft after these answers, each given to the question that was put; `topic` and `positions` of a
    moderator are given as dictionaries."""
    for key, value in answers:
        now = interview.next(draft)
        if isinstance(now, Ask):
            draft = interview.mark_asked(draft, now)
        take = interview.proposed if isinstance(value, dict) else interview.answer
        draft = take(draft, key, value)
    return draft


def question(interview: Questionnaire, draft: SetupState) -> Ask:
    now = interview.next(draft)
    assert isinstance(now, Ask)
    return now


TO_POSITIONS = (("topic", "tabs or spaces?"), ("topic", CLEAR), ("topic_ok", "yes"))
TO_ROUNDS = (*TO_POSITIONS, ("positions", "auto"), ("positions", PAIR), ("positions_ok", "yes"))
TO_READY = (*TO_ROUNDS, ("rounds", "3"), ("strictness", "strict"), ("output", "default"))


class TestOrder:
    def test_the_questions_come_in_order(self, interview: Questionnaire) -> None:
        """Topic, restatement, positions, confirmation, rounds, strictness, output; then the block."""
        draft, put = SetupState(), []
        for answer in TO_READY:
            now = interview.next(draft)
            put.append(now.key if isinstance(now, Ask) else now.turn if isinstance(now, Propose) else "")
            draft = said(interview, draft, answer)

        assert put == [
            "topic",
            "setup.topic.moderator",
            "topic_ok",
            "positions",
            "setup.positions.moderator",
            "positions_ok",
            "rounds",
            "strictness",
            "output",
        ]
        assert isinstance(interview.next(draft), Ready)

    def test_the_questions_are_word_for_word(self, interview: Questionnaire) -> None:
        """Each question is put word for word."""
        draft = SetupState()
        texts = []
        for answer in TO_READY:
            now = interview.next(draft)
            texts += [now.text] if isinstance(now, Ask) else []
            draft = said(interview, draft, answer)

        assert texts == [
            "What is the debate topic or question? Please state it as clearly and specifically as possible.",
            "I'll frame the debate as: 'Tabs are better than spaces'. Is this accurate?",
            "Should I assign the two positions, or do you have specific positions in mind?",
            "Researcher A will argue: Tabs are better. Researcher B will argue: Tabs are no better. Correct?",
            "How many debate rounds? (Default: 3)",
            "How strict should the judge be?",
            "Where should I save the debate report?",
        ]

    def test_the_block_is_word_for_word(self, interview: Questionnaire) -> None:
        """What was settled is shown as a fixed block."""
        ready = interview.next(said(interview, SetupState(), *TO_READY))

        assert isinstance(ready, Ready)
        assert ready.show == (
            "DEBATE SETUP CONFIRMED\n"
            "======================\n"
            "Topic: Tabs are better than spaces.\n"
            "Researcher A (Pro): Tabs are better.\n"
            "Researcher B (Con): Tabs are no better.\n"
            "Rounds: 3\n"
            "Judge Strictness: strict\n"
            "Output: debate-report.md\n"
            "\n"
            "Starting debate in 3... 2... 1..."
        )

    def test_sources_are_kept(self, interview: Questionnaire) -> None:
        """Where each answer came from is on record."""
        draft = said(interview, SetupState(), *TO_READY)

        assert draft.sources == {
            "topic": "derived",
            "positions": "derived",
            "rounds": "user",
            "strictness": "user",
            "output": "default",
        }

    def test_both_kinds_of_strictness_are_explained(self, interview: Questionnaire) -> None:
        """The question of strictness explains each choice."""
        asked = question(interview, said(interview, SetupState(), *TO_ROUNDS, ("rounds", "3")))

        assert [value for value, _ in asked.choices] == ["lenient", "strict"]
        assert all(len(about) > 80 for _, about in asked.choices)


class TestTopic:
    def test_an_ambiguous_topic_is_met_with_two_framings(self, interview: Questionnaire) -> None:
        """A topic without a clean pro and con is not debated before one of two framings is chosen."""
        draft = said(interview, SetupState(), ("topic", "indentation"), ("topic", MUDDY))

        assert question(interview, draft).text == (
            "This topic may not have a clean pro/con split. I recommend framing it as: Tabs win. Alternatively, we can "
            "frame it as Spaces win. Which would you prefer?"
        )
        assert said(interview, draft, ("framing", "alternative")).given["topic"] == "Spaces win."
        assert said(interview, draft, ("framing", "1")).given["topic"] == "Tabs win."

    def test_a_framing_of_ones_own_is_restated(self, interview: Questionnaire) -> None:
        """A framing that was not offered goes to the moderator again, with all that was said."""
        own = "Elastic tabstops win."
        now = interview.next(
            said(interview, SetupState(), ("topic", "indentation"), ("topic", MUDDY), ("framing", own))
        )

        assert isinstance(now, Propose)
        assert now.values["heard"] == ("indentation", own)

    def test_a_correction_is_restated_and_confirmed_again(self, interview: Questionnaire) -> None:
        """An answer other than yes or no corrects the restatement, which must then be confirmed again."""
        draft = said(interview, SetupState(), *TO_POSITIONS[:2], ("topic_ok", "only for Python"))

        assert isinstance(interview.next(draft), Propose)
        assert "topic" not in draft.given

    @pytest.mark.parametrize(("answer", "meant"), [("yse", "yes"), ("yess", "yes"), ("noo", "no")])
    def test_a_misspelt_yes_is_no_topic(self, interview: Questionnaire, answer: str, meant: str) -> None:
        """What is nearly yes or no is asked back about, and the topic stays."""
        draft = said(interview, SetupState(), *TO_POSITIONS[:1], ("topic", CLEAR))
        asked = interview.mark_asked(draft, question(interview, draft))
        with pytest.raises(BadSettings, match=f"Did you mean '{meant}'"):
            interview.answer(asked, "topic_ok", answer)

    def test_no_asks_for_the_topic_again(self, interview: Questionnaire) -> None:
        """A refused restatement begins the topic anew."""
        assert question(interview, said(interview, SetupState(), *TO_POSITIONS[:2], ("topic_ok", "no"))).key == "topic"

    def test_a_new_topic_keeps_later_answers(self, interview: Questionnaire) -> None:
        """Giving the topic again drops the positions derived from it, and no other answer."""
        draft = interview.answer(said(interview, SetupState(), *TO_READY), "topic", "Is Vim better than Emacs?")

        assert set(draft.given) == {"rounds", "strictness", "output"}


class TestPositions:
    def test_own_positions_are_verbatim_and_confirmed(self, interview: Questionnaire) -> None:
        """Positions of the user's own are taken as they are, and still confirmed."""
        own = (("positions", "own"), ("position_a", "Tabs  *rule*"), ("position_b", "No!"))
        draft = said(interview, SetupState(), *TO_POSITIONS, *own)

        assert draft.given["positions"] == {"a": "Tabs  *rule*", "b": "No!"}
        assert question(interview, draft).key == "positions_ok"

    def test_refused_pairs_are_told_to_the_moderator(self, interview: Questionnaire) -> None:
        """A pair that the user refused is not offered again."""
        draft = said(interview, SetupState(), *TO_ROUNDS[:-1], ("positions_ok", "no"), ("positions", "auto"))
        now = interview.next(draft)

        assert isinstance(now, Propose)
        assert now.values["rejected"] == ({"a": PAIR["a"], "b": PAIR["b"]},)

    def test_one_position_can_be_changed(self, interview: Questionnaire) -> None:
        """A derived position can be replaced; the pair is then confirmed again."""
        draft = said(interview, SetupState(), *TO_ROUNDS, ("position_b", "Spaces are better."))

        assert draft.given["positions"] == {"a": "Tabs are better.", "b": "Spaces are better."}
        assert question(interview, draft).key == "positions_ok"


class TestRounds:
    @pytest.mark.parametrize("answer", ["0", "9", "three", "-1", "2.5", "1e1", "٣", "99999999999"])
    def test_what_is_no_number_of_rounds(self, interview: Questionnaire, answer: str) -> None:
        """Rounds are a whole number from 1 to 6; the complaint explains and suggests 4 or 5."""
        with pytest.raises(BadSettings, match="diminishing returns; 4 or 5") as refused:
            said(interview, SetupState(), *TO_ROUNDS, ("rounds", answer))

        assert len(refused.value.complaints) == 1

    def test_seven_and_eight_ask_back_once(self, interview: Questionnaire) -> None:
        """More than six rounds are explained, and taken from a user who insists."""
        draft = said(interview, SetupState(), *TO_ROUNDS, ("rounds", "8"))
        asked = question(interview, draft)

        assert asked.key == "insist"
        assert "diminishing returns" in asked.text and "4 or 5" in asked.text
        assert question(interview, said(interview, draft, ("insist", "yes"))).key == "strictness"
        assert question(interview, said(interview, draft, ("insist", "no"))).key == "rounds"


class TestRefusals:
    @pytest.mark.parametrize("answer", ["", "  ", "null", "No response", "undefined", "[]", "auto-selected"])
    @pytest.mark.parametrize("key", ["topic", "rounds", "strictness", "output", "position_a"])
    def test_empty_and_automatic_answers(self, interview: Questionnaire, key: str, answer: str) -> None:
        """An answer that was not given is refused, never assumed."""
        with pytest.raises(BadSettings, match="not an answer that a person gave"):
            interview.answer(said(interview, SetupState(), *TO_ROUNDS), key, answer)

    @pytest.mark.parametrize("key", ["topic_ok", "framing", "positions_ok", "insist"])
    def test_confirmations_before_their_question(self, interview: Questionnaire, key: str) -> None:
        """A confirmation counts only after its question was put."""
        with pytest.raises(BadSettings, match="before its question was put"):
            interview.answer(SetupState(), key, "yes")

    def test_a_confirmation_outlives_other_answers(self, interview: Questionnaire) -> None:
        """A question stays put while other answers come in, as long as it would be put the same."""
        draft = said(interview, SetupState(), *TO_POSITIONS[:2])
        put = interview.mark_asked(draft, question(interview, draft))

        assert interview.answer(interview.answer(put, "rounds", "2"), "topic_ok", "yes").progress.topic_ok
        with pytest.raises(BadSettings, match="before its question was put"):
            interview.answer(interview.answer(put, "topic", "another"), "topic_ok", "yes")

    def test_a_confirmation_is_used_up(self, interview: Questionnaire) -> None:
        """A confirmation answers the question put last, and no later one."""
        draft = said(interview, SetupState(), *TO_READY)

        with pytest.raises(BadSettings, match="before its question was put"):
            interview.answer(draft, "topic_ok", "yes")

    def test_unknown_keys(self, interview: Questionnaire) -> None:
        """A misspelt key is told the keys there are."""
        with pytest.raises(BadSettings, match="The questions are topic, framing, topic_ok"):
            interview.answer(SetupState(), "topik", "x")

    @pytest.mark.parametrize(
        "work",
        [{}, {**CLEAR, "restated": ""}, {**CLEAR, "ambiguous": "perhaps"}, {**MUDDY, "recommended": None}, [], "x"],
    )
    def test_the_moderators_work_is_checked(self, interview: Questionnaire, work: Any) -> None:
        """A moderator's reply that is not in its shape is refused."""
        with pytest.raises(BadSettings, match=r"setup\.topic\.moderator"):
            interview.proposed(said(interview, SetupState(), TO_POSITIONS[0]), "topic", work)

    @pytest.mark.parametrize("topic", ["\u200b\u200b", "x" * 1001])
    def test_a_topic_is_a_visible_sentence(self, interview: Questionnaire, topic: str) -> None:
        """A topic without visible characters, or longer than a sentence may be, is refused."""
        with pytest.raises(BadSettings, match="topic: "):
            interview.answer(SetupState(), "topic", topic)


def test_issues_of_the_users_own_are_confirmed_as_text() -> None:
    """A list of the user's own stands in the block as its questions."""
    lines = block_lines({"issues": ("What does it cost?", "Who runs it?")}, loader.load("adversarial"))
    assert lines == ["List of issues: What does it cost?; Who runs it?"]


@pytest.mark.parametrize("key", ["topic", "position_a"])
def test_a_number_is_no_sentence(key: str) -> None:
    """The number of a choice, typed where a sentence is asked for, is refused."""
    with pytest.raises(BadSettings, match="'3' is not a sentence"):
        message_line(key, "3")
    assert message_line(key, "3 is enough.") == "3 is enough."
