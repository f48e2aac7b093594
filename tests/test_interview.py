"""The setup conversation: what is asked, in which order, and which answers are refused."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from debate_orchestrator.core.format import Format
from debate_orchestrator.core.phases import RoundLimits
from debate_orchestrator.formats import loader
from debate_orchestrator.setup import answers
from debate_orchestrator.setup.answers import block_lines, message_line
from debate_orchestrator.setup.questions import Questionnaire
from debate_orchestrator.setup.session import Propose, QuestionTexts, Ready, SetupQuestion, SetupState
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
        if isinstance(now, SetupQuestion):
            draft = interview.mark_asked(draft, now)
        take = interview.proposed if isinstance(value, dict) else interview.answer
        draft = take(draft, key, value)
    return draft


def question(interview: Questionnaire, draft: SetupState) -> SetupQuestion:
    now = interview.next(draft)
    assert isinstance(now, SetupQuestion)
    return now


TO_POSITIONS = (("topic", "tabs or spaces?"), ("topic", CLEAR), ("topic_ok", "yes"))
TO_ROUNDS = (*TO_POSITIONS, ("positions", "auto"), ("positions", PAIR), ("positions_ok", "yes"))
TO_READY = (*TO_ROUNDS, ("rounds", "3"), ("strictness", "strict"), ("output", "default"))


class TestOrder:
    def test_the_questions_are_word_for_word(self, interview: Questionnaire) -> None:
        """Each question is put word for word."""
        draft = SetupState()
        texts = []
        for answer in TO_READY:
            now = interview.next(draft)
            texts += [now.text] if isinstance(now, SetupQuestion) else []
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
    def test_seven_and_eight_ask_back_once(self, interview: Questionnaire) -> None:
        """More than six rounds are explained, and taken from a user who insists."""
        draft = said(interview, SetupState(), *TO_ROUNDS, ("rounds", "8"))
        asked = question(interview, draft)

        assert asked.key == "insist"
        assert "diminishing returns" in asked.text and "4 or 5" in asked.text
        assert question(interview, said(interview, draft, ("insist", "yes"))).key == "strictness"
        assert question(interview, said(interview, draft, ("insist", "no"))).key == "rounds"


class TestRefusals:
    def test_empty_and_automatic_answers(self, interview: Questionnaire) -> None:
        """An answer that was not given is refused, never assumed."""
        draft = said(interview, SetupState(), *TO_ROUNDS)
        for key in ("topic", "rounds", "strictness", "output", "position_a"):
            for answer in ("", "  ", "null", "No response", "undefined", "[]", "auto-selected"):
                with pytest.raises(BadSettings, match="not an answer that a person gave"):
                    interview.answer(draft, key, answer)

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

    @pytest.mark.parametrize(
        ("key", "text"),
        [("topic", "\u200b\u200b"), ("topic", "x" * 1001), ("position_a", "\u200b"), ("position_b", "3")],
    )
    def test_a_sentence_can_be_seen_and_is_not_too_long(self, interview: Questionnaire, key: str, text: str) -> None:
        """A topic or position without visible characters, longer than a sentence or a bare number is refused."""
        with pytest.raises(BadSettings, match=f"{key}: "):
            interview.answer(SetupState(), key, text)

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


RULES = loader.load("adversarial")
OWN = (*TO_POSITIONS, ("positions", "own"), ("position_a", "Tabs."), ("position_b", "Spaces."), ("positions_ok", "yes"))
REST = (("rounds", "8"), ("insist", "yes"), ("strictness", "strict"), ("output", "o.md"))
ORDER = [
    *("topic", "topic_ok", "positions", "position_a", "position_b", "positions_ok"),
    *("rounds", "insist", "strictness", "output"),
]


def interviewed(rules: Format = RULES) -> Questionnaire:
    return Questionnaire(QuestionTexts.model_validate(resources.read_yaml("setup.yaml")), rules, "debate-report.md")


def again(interview: Questionnaire, draft: SetupState, key: str, answer: str) -> SetupState:
    """The draft once an answered question was put and answered again."""
    return interview.answer(interview.mark_asked(draft, interview.question(draft, key)), key, answer)


def answered(interview: Questionnaire, draft: SetupState) -> list[str]:
    """The questions of a clear topic that have an answer, in the order in which they come."""
    return [key for key in ORDER if interview.current_answer(draft, key)]


class TestAnswersGivenAgain:
    def test_every_answered_question_can_be_put_again(self) -> None:
        """Each answered question is put as it was, and what stands as its answer changes nothing."""
        interview = interviewed()
        for draft in (said(interview, SetupState(), *OWN, *REST), said(interview, SetupState(), *TO_READY)):
            for key in answered(interview, draft):
                standing = interview.current_answer(draft, key)
                after = again(interview, draft, key, standing)
                assert (after.given, after.progress) == (draft.given, draft.progress.model_copy(update={"asked": {}}))

    def test_what_stands(self) -> None:
        """What stands is told for each question, and nothing where nothing was answered."""
        interview = interviewed()
        draft = said(interview, SetupState(), *OWN, *REST)
        standing = [interview.current_answer(draft, key) for key in answered(interview, draft)]

        assert standing == [CLEAR["restated"], "yes", "own", "Tabs.", "Spaces.", "yes", "8", "yes", "strict", "o.md"]
        assert {interview.current_answer(SetupState(), key) for key in interview.words.questions} == {""}
        framed = said(interview, SetupState(), ("topic", "x"), ("topic", MUDDY), ("framing", "2"))
        assert interview.current_answer(framed, "framing") == "alternative"


class TestGoingBack:
    def test_a_new_topic_keeps_ones_own_positions(self) -> None:
        """Positions of the user's own stay with another topic, to be confirmed again; so does every later answer."""
        interview = interviewed()
        draft = again(interview, said(interview, SetupState(), *OWN, *REST), "topic", "Is Vim better?")
        draft = said(interview, draft, ("topic", {**CLEAR, "restated": "Vim is better."}), ("topic_ok", "yes"))

        assert question(interview, draft).key == "positions_ok"
        assert draft.given["positions"] == {"a": "Tabs.", "b": "Spaces."}
        assert isinstance(interview.next(said(interview, draft, ("positions_ok", "yes"))), Ready)

    def test_a_new_topic_has_derived_positions_derived_anew(self) -> None:
        """Derived positions go with the topic; that they are to be derived is not asked again."""
        interview = interviewed()
        draft = again(interview, said(interview, SetupState(), *TO_READY), "topic", "Is Vim better?")
        now = interview.next(said(interview, draft, ("topic", {**CLEAR, "restated": "Vim."}), ("topic_ok", "yes")))

        assert isinstance(now, Propose)
        assert now.name == "positions"

    def test_other_positions_and_back(self) -> None:
        """Positions of the user's own are offered again after others were derived; derived ones are, to be edited."""
        interview = interviewed()
        own = said(interview, SetupState(), *OWN)
        derived = said(interview, again(interview, own, "positions", "auto"), ("positions", PAIR))
        back = again(interview, derived, "positions", "own")
        edited = again(interview, said(interview, SetupState(), *TO_ROUNDS), "positions", "own")

        assert [interview.current_answer(back, f"position_{side}") for side in "ab"] == ["Tabs.", "Spaces."]
        assert [interview.current_answer(edited, f"position_{side}") for side in "ab"] == [PAIR["a"], PAIR["b"]]

    def test_the_topic_as_stated(self) -> None:
        """Without a moderator the topic is taken as it was stated, and is then the user's own words."""
        interview = interviewed()
        stated = interview.as_stated(said(interview, SetupState(), ("topic", "Tabs  are fine")))
        draft = said(interview, stated, ("topic_ok", "yes"))

        assert draft.given == {"topic": "Tabs are fine"}
        assert draft.sources == {"topic": "user"}

    def test_the_topic_reworded(self) -> None:
        """Exact words replace a restatement and are confirmed again; the same words change nothing."""
        interview = interviewed()
        draft = said(interview, SetupState(), *TO_READY)
        other = interview.reworded(draft, "Tabs are best.")

        assert interview.reworded(draft, CLEAR["restated"]) == draft
        assert question(interview, other).text == "I'll frame the debate as: 'Tabs are best'. Is this accurate?"
        with pytest.raises(BadSettings):
            interview.reworded(draft, "\u200b")

    @given(st.lists(st.tuples(st.integers(0, 20), st.sampled_from(["yes", "no", "auto", "own", "3", "8", "strict"]))))
    def test_no_way_back_leads_astray(self, steps: list[tuple[int, str]]) -> None:
        """However often one goes back, there is always something next, and strictness and output stay."""
        interview = interviewed()
        draft = said(interview, SetupState(), *OWN, *REST)
        for place, answer in steps:
            keys = answered(interview, draft)
            try:
                draft = again(interview, draft, keys[place % len(keys)], answer) if keys else draft
            except BadSettings:
                continue
            assert isinstance(interview.next(draft), SetupQuestion | Propose | Ready)
            assert {"strictness", "output"} <= set(draft.given)


class TestFormats:
    def other(self, **changes: object) -> Format:
        a, b = RULES.seats["a"], RULES.seats["b"]
        seats = {**RULES.seats, "a": a.model_copy(update={"name": "Advocate", "side": ""})}
        seats["b"] = b.model_copy(update={"name": "Devil's Advocate", "side": "Against"})
        return RULES.model_copy(update={"seats": seats, **changes})

    def test_sides_have_the_formats_names(self) -> None:
        """Questions and block call the sides as the format does."""
        interview = interviewed(self.other())
        ready = interview.next(said(interview, SetupState(), *TO_READY))
        confirm = interview.question(said(interview, SetupState(), *TO_READY), "positions_ok")

        assert interview.question(SetupState(), "position_a").text == "What does Advocate argue?"
        assert interview.question(SetupState(), "position_b").text == "What does Devil's Advocate (Against) argue?"
        assert confirm.text == (
            "Advocate will argue: Tabs are better. Devil's Advocate will argue: Tabs are no better. Correct?"
        )
        assert isinstance(ready, Ready)
        assert "Advocate: Tabs are better.\nDevil's Advocate (Against): Tabs are no better.\n" in ready.show

    def test_one_round_is_not_asked_for(self) -> None:
        """A format with a single round asks nothing about rounds; the block says one."""
        interview = interviewed(self.other(rounds=RoundLimits(default=1, most=1, insist=1)))
        draft = said(interview, SetupState(), *TO_ROUNDS)

        assert question(interview, draft).key == "strictness"
        ready = interview.next(said(interview, draft, ("strictness", "strict"), ("output", "default")))
        assert isinstance(ready, Ready) and "Rounds: 1\n" in ready.show
        assert answers.settings_from(draft.given, interview.format, "o.md").rounds == 1

    def test_rounds_have_the_formats_limits(self) -> None:
        """Limits, default, cap and what a round is are the format's."""
        interview = interviewed(self.other(rounds=RoundLimits(default=2, most=3, insist=4), round=RULES.round[:1]))
        asked = question(interview, said(interview, SetupState(), *TO_ROUNDS))
        insist = question(interview, said(interview, SetupState(), *TO_ROUNDS, ("rounds", "4")))

        assert (asked.text, asked.help) == (
            "How many debate rounds? (Default: 2)",
            "1 to 3. Each round has: Opening Statement.",
        )
        assert "I suggest 3 rounds as a cap. Do you insist on 4?" in insist.text

    @pytest.mark.parametrize(
        ("rounds", "expected"),
        [
            (RoundLimits(default=1, most=1, insist=1), "rounds: '9' is not 1."),
            (RoundLimits(default=2, most=3, insist=3), "1 to 3. More than 3 tend to produce diminishing returns."),
            (RoundLimits(default=2, most=3, insist=4), "diminishing returns, and 4 can be had with insist: true"),
            (RoundLimits(), "4 or 5 is a good cap, and 7 to 8 can be had with insist: true"),
        ],
    )
    def test_complaints_have_the_formats_limits(self, rounds: RoundLimits, expected: str) -> None:
        """An invalid number is told the format's own limits."""
        assert expected in answers.value_problem("rounds", "9", self.other(rounds=rounds))


class TestTheSame:
    def test_sides_that_say_the_same_are_not_confirmed(self) -> None:
        """Yes to one position for both sides is refused; what was answered stays, and one changed is enough."""
        interview = interviewed()
        same = said(interview, SetupState(), *OWN[:-1], ("position_b", "tabs"))
        asked = interview.mark_asked(same, question(interview, same))
        with pytest.raises(BadSettings) as refusal:
            interview.answer(asked, "positions_ok", "yes")

        assert refusal.value.problems[0].startswith("positions: both sides argue 'Tabs.'")
        other = said(interview, same, ("position_b", "Spaces."), ("positions_ok", "yes"))
        assert question(interview, other).key == "rounds"

    def test_a_moderator_can_not_derive_one_twice(self) -> None:
        """Positions that are derived and are the same are refused, with what was expected."""
        interview = interviewed()
        draft = said(interview, SetupState(), *TO_POSITIONS, ("positions", "auto"))
        with pytest.raises(BadSettings, match="two positions that differ"):
            interview.proposed(draft, "positions", PAIR | {"b": PAIR["a"]})
