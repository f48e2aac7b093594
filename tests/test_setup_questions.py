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
from debate_orchestrator.setup.questions import SetupQuestions
from debate_orchestrator.setup.setting_texts import block_lines
from debate_orchestrator.setup.state import ModeratorTask, Ready, SetupQuestion, SetupState
from debate_orchestrator.util.errors import BadSettings

CLEAR = {"ambiguous": False, "restated": "Tabs are better than spaces.", "recommended": None, "alternative": None}
MUDDY = {"ambiguous": True, "restated": None, "recommended": "Tabs win.", "alternative": "Spaces win."}
PAIR = {"kind": "technical", "a": "Tabs are better.", "b": "Tabs are no better."}


@pytest.fixture
def setup_questions() -> SetupQuestions:
    return SetupQuestions(loader.load("adversarial"))


def said(setup_questions: SetupQuestions, state: SetupState, *answers: tuple[str, Any]) -> SetupState:
    """The state after these answers, each given to the question that was put; `topic` and `positions` of a
    moderator are given as dictionaries."""
    for key, value in answers:
        now = setup_questions.next(state)
        if isinstance(now, SetupQuestion):
            state = setup_questions.mark_asked(state, now)
        take = setup_questions.with_proposal if isinstance(value, dict) else setup_questions.answer
        state = take(state, key, value)
    return state


def question(setup_questions: SetupQuestions, state: SetupState) -> SetupQuestion:
    now = setup_questions.next(state)
    assert isinstance(now, SetupQuestion)
    return now


TO_POSITIONS = (("topic", "tabs or spaces?"), ("topic", CLEAR), ("topic_ok", "yes"))
TO_ROUNDS = (*TO_POSITIONS, ("positions", "auto"), ("positions", PAIR), ("positions_ok", "yes"))
TO_READY = (*TO_ROUNDS, ("rounds", "3"), ("context", "no"), ("strictness", "strict"), ("output", "default"))


class TestOrder:
    def test_the_questions_are_word_for_word(self, setup_questions: SetupQuestions) -> None:
        """Each question is put word for word, and what was settled is shown as a fixed block."""
        state = SetupState()
        texts = []
        for answer in TO_READY:
            now = setup_questions.next(state)
            texts += [now.text] if isinstance(now, SetupQuestion) else []
            state = said(setup_questions, state, answer)

        assert texts == [
            "What is the debate topic or question? Please state it as clearly and specifically as possible.",
            "I'll frame the debate as: 'Tabs are better than spaces'. Is this accurate?",
            "Should I assign the two positions, or do you have specific positions in mind?",
            "Researcher A will argue: Tabs are better. Researcher B will argue: Tabs are no better. Correct?",
            "How many debate rounds? (Default: 3)",
            "Is there a file with your own figures and facts, for both sides to use?",
            "How strict should the judge be?",
            "Where should I save the debate report?",
        ]

        ready = setup_questions.next(said(setup_questions, SetupState(), *TO_READY))

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
    def test_an_ambiguous_topic_is_met_with_two_framings(self, setup_questions: SetupQuestions) -> None:
        """A topic without a clean pro and con is not debated before one of two framings is chosen. A refused
        restatement begins the topic again."""
        state = said(setup_questions, SetupState(), ("topic", "indentation"), ("topic", MUDDY))

        assert question(setup_questions, state).text == (
            "This topic may not have a clean pro/con split. I recommend framing it as: Tabs win. Alternatively, we can "
            "frame it as Spaces win. Which would you prefer?"
        )
        assert said(setup_questions, state, ("framing", "alternative")).answers["topic"] == "Spaces win."
        assert said(setup_questions, state, ("framing", "1")).answers["topic"] == "Tabs win."

        assert (
            question(setup_questions, said(setup_questions, SetupState(), *TO_POSITIONS[:2], ("topic_ok", "no"))).key
            == "topic"
        )

    @pytest.mark.parametrize(("answer", "meant"), [("yse", "yes"), ("yess", "yes"), ("noo", "no")])
    def test_a_misspelt_yes_is_no_topic(self, setup_questions: SetupQuestions, answer: str, meant: str) -> None:
        """What is nearly yes or no is asked back about, and the topic stays."""
        state = said(setup_questions, SetupState(), *TO_POSITIONS[:1], ("topic", CLEAR))
        asked = setup_questions.mark_asked(state, question(setup_questions, state))
        with pytest.raises(BadSettings, match=f"Did you mean '{meant}'"):
            setup_questions.answer(asked, "topic_ok", answer)


class TestPositions:
    def test_own_positions_are_verbatim_and_confirmed(self, setup_questions: SetupQuestions) -> None:
        """Positions of the user's own are taken as they are, and still confirmed. So is a pair of which a derived one
        is replaced. A pair that the user refused is not offered again."""
        own = (("positions", "own"), ("position_a", "Tabs  *rule*"), ("position_b", "No!"))
        state = said(setup_questions, SetupState(), *TO_POSITIONS, *own)

        assert state.answers["positions"] == {"a": "Tabs  *rule*", "b": "No!"}
        assert question(setup_questions, state).key == "positions_ok"

        state = said(setup_questions, SetupState(), *TO_ROUNDS, ("position_b", "Spaces are better."))

        assert state.answers["positions"] == {"a": "Tabs are better.", "b": "Spaces are better."}
        assert question(setup_questions, state).key == "positions_ok"

        state = said(setup_questions, SetupState(), *TO_ROUNDS[:-1], ("positions_ok", "no"), ("positions", "auto"))
        now = setup_questions.next(state)

        assert isinstance(now, ModeratorTask)
        assert now.values["unwanted_positions"] == ({"a": PAIR["a"], "b": PAIR["b"]},)


class TestRounds:
    def test_seven_and_eight_ask_back_once(self, setup_questions: SetupQuestions) -> None:
        """More than six rounds are explained, and taken from a user who insists."""
        state = said(setup_questions, SetupState(), *TO_ROUNDS, ("rounds", "8"))
        asked = question(setup_questions, state)

        assert asked.key == "insist"
        assert "diminishing returns" in asked.text and "4 or 5" in asked.text
        assert question(setup_questions, said(setup_questions, state, ("insist", "yes"))).key == "context"
        assert question(setup_questions, said(setup_questions, state, ("insist", "no"))).key == "rounds"


class TestRefusals:
    def test_empty_and_automatic_answers(self, setup_questions: SetupQuestions) -> None:
        """An answer that was not given is refused, never assumed. A misspelt key is told the one that was meant, and
        any other the keys there are."""
        state = said(setup_questions, SetupState(), *TO_ROUNDS)
        for key in ("topic", "rounds", "strictness", "output", "position_a"):
            for answer in ("", "  ", "null", "No response", "undefined", "[]", "auto-selected"):
                with pytest.raises(BadSettings, match="not an answer that a person gave"):
                    setup_questions.answer(state, key, answer)

        with pytest.raises(BadSettings, match="Did you mean 'topic'"):
            setup_questions.answer(SetupState(), "topik", "x")
        with pytest.raises(BadSettings, match="The questions are topic, framing, topic_ok"):
            setup_questions.answer(SetupState(), "zzz", "x")

    @pytest.mark.parametrize("key", ["topic_ok", "framing", "positions_ok", "insist"])
    def test_confirmations_before_their_question(self, setup_questions: SetupQuestions, key: str) -> None:
        """A confirmation counts only after its question was put."""
        with pytest.raises(BadSettings, match="before it was asked"):
            setup_questions.answer(SetupState(), key, "yes")

    def test_a_confirmation_outlives_other_answers(self, setup_questions: SetupQuestions) -> None:
        """A question stays put while other answers come in, as long as it would be put the same. A confirmation answers
        the question put last: repeated it changes nothing, and another one is not taken. It holds for no later
        question."""
        state = said(setup_questions, SetupState(), *TO_POSITIONS[:2])
        put = setup_questions.mark_asked(state, question(setup_questions, state))

        assert setup_questions.answer(setup_questions.answer(put, "rounds", "2"), "topic_ok", "yes").progress.topic_ok
        with pytest.raises(BadSettings, match="before it was asked"):
            setup_questions.answer(setup_questions.answer(put, "topic", "another"), "topic_ok", "yes")

        state = said(setup_questions, SetupState(), *TO_READY)

        assert setup_questions.answer(state, "topic_ok", "Yes") == state
        with pytest.raises(BadSettings, match=r"its question was answered\..*a new answer to topic"):
            setup_questions.answer(state, "topic_ok", "no")
        with pytest.raises(BadSettings, match="before it was asked"):
            setup_questions.answer(setup_questions.answer(state, "topic", "Another?"), "topic_ok", "yes")

    @pytest.mark.parametrize(
        ("key", "text"),
        [("topic", "\u200b\u200b"), ("topic", "x" * 1001), ("position_a", "\u200b"), ("position_b", "3")],
    )
    def test_a_sentence_can_be_seen_and_is_not_too_long(
        self, setup_questions: SetupQuestions, key: str, text: str
    ) -> None:
        """A topic or position without visible characters, longer than a sentence or a bare number is refused."""
        with pytest.raises(BadSettings, match=f"{key}: "):
            setup_questions.answer(SetupState(), key, text)

    @pytest.mark.parametrize(
        "work",
        [{}, {**CLEAR, "restated": ""}, {**CLEAR, "ambiguous": "perhaps"}, {**MUDDY, "recommended": None}, [], "x"],
    )
    def test_the_moderators_work_is_checked(self, setup_questions: SetupQuestions, work: Any) -> None:
        """A moderator's reply that is not in its shape is refused."""
        with pytest.raises(BadSettings, match=r"setup\.topic\.moderator"):
            setup_questions.with_proposal(said(setup_questions, SetupState(), TO_POSITIONS[0]), "topic", work)


def test_issues_of_the_users_own_are_confirmed_as_text() -> None:
    """A list of the user's own is in the block as its questions."""
    lines = block_lines({"issues": ("What does it cost?", "Who runs it?")}, loader.load("adversarial"))
    assert lines == ["List of issues: What does it cost?; Who runs it?"]


RULES = loader.load("adversarial")
OWN = (*TO_POSITIONS, ("positions", "own"), ("position_a", "Tabs."), ("position_b", "Spaces."), ("positions_ok", "yes"))
REST = (("rounds", "8"), ("insist", "yes"), ("context", "no"), ("strictness", "strict"), ("output", "o.md"))
ORDER = [
    *("topic", "topic_ok", "positions", "position_a", "position_b", "positions_ok"),
    *("rounds", "insist", "strictness", "output"),
]


def made_questions(rules: Format = RULES) -> SetupQuestions:
    return SetupQuestions(rules)


def again(setup_questions: SetupQuestions, state: SetupState, key: str, answer: str) -> SetupState:
    """The state once an answered question was put and answered again."""
    return setup_questions.answer(setup_questions.mark_asked(state, setup_questions.question(state, key)), key, answer)


def answered(setup_questions: SetupQuestions, state: SetupState) -> list[str]:
    """The questions of a clear topic that have an answer, in the order in which they come."""
    return [key for key in ORDER if setup_questions.current_answer(state, key)]


class TestAnswersGivenAgain:
    def test_every_answered_question_can_be_put_again(self) -> None:
        """Each answered question is put as it was, and what stands as its answer changes nothing. What stands is
        reported for each question, and nothing if nothing was answered."""
        setup_questions = made_questions()
        for state in (said(setup_questions, SetupState(), *OWN, *REST), said(setup_questions, SetupState(), *TO_READY)):
            for key in answered(setup_questions, state):
                standing = setup_questions.current_answer(state, key)
                after = again(setup_questions, state, key, standing)
                assert (after.answers, after.progress) == (
                    state.answers,
                    state.progress.model_copy(update={"asked": {}}),
                )

        setup_questions = made_questions()
        state = said(setup_questions, SetupState(), *OWN, *REST)
        standing = [setup_questions.current_answer(state, key) for key in answered(setup_questions, state)]

        assert standing == [CLEAR["restated"], "yes", "own", "Tabs.", "Spaces.", "yes", "8", "yes", "strict", "o.md"]
        assert {setup_questions.current_answer(SetupState(), key) for key in setup_questions.texts.questions} == {""}
        framed = said(setup_questions, SetupState(), ("topic", "x"), ("topic", MUDDY), ("framing", "2"))
        assert setup_questions.current_answer(framed, "framing") == "alternative"


class TestGoingBack:
    def test_a_new_topic_keeps_ones_own_positions(self) -> None:
        """Positions of the user's own stay with another topic, to be confirmed again; so does every later answer.
        Derived ones are derived again, without being asked for."""
        setup_questions = made_questions()
        state = again(setup_questions, said(setup_questions, SetupState(), *OWN, *REST), "topic", "Is Vim better?")
        state = said(setup_questions, state, ("topic", {**CLEAR, "restated": "Vim is better."}), ("topic_ok", "yes"))

        assert question(setup_questions, state).key == "positions_ok"
        assert state.answers["positions"] == {"a": "Tabs.", "b": "Spaces."}
        assert isinstance(setup_questions.next(said(setup_questions, state, ("positions_ok", "yes"))), Ready)

        setup_questions = made_questions()
        state = again(setup_questions, said(setup_questions, SetupState(), *TO_READY), "topic", "Is Vim better?")
        now = setup_questions.next(
            said(setup_questions, state, ("topic", {**CLEAR, "restated": "Vim."}), ("topic_ok", "yes"))
        )

        assert isinstance(now, ModeratorTask)
        assert now.name == "positions"

    def test_other_positions_and_back(self) -> None:
        """Positions of the user's own are offered again after others were derived; derived ones are, to be edited."""
        setup_questions = made_questions()
        own = said(setup_questions, SetupState(), *OWN)
        derived = said(setup_questions, again(setup_questions, own, "positions", "auto"), ("positions", PAIR))
        back = again(setup_questions, derived, "positions", "own")
        edited = again(setup_questions, said(setup_questions, SetupState(), *TO_ROUNDS), "positions", "own")

        assert [setup_questions.current_answer(back, f"position_{side}") for side in "ab"] == ["Tabs.", "Spaces."]
        assert [setup_questions.current_answer(edited, f"position_{side}") for side in "ab"] == [PAIR["a"], PAIR["b"]]

    @given(st.lists(st.tuples(st.integers(0, 20), st.sampled_from(["yes", "no", "auto", "own", "3", "8", "strict"]))))
    def test_no_way_back_leads_astray(self, steps: list[tuple[int, str]]) -> None:
        """However often one goes back, there is always something next, and strictness and output stay."""
        setup_questions = made_questions()
        state = said(setup_questions, SetupState(), *OWN, *REST)
        for place, answer in steps:
            keys = answered(setup_questions, state)
            try:
                state = again(setup_questions, state, keys[place % len(keys)], answer) if keys else state
            except BadSettings:
                continue
            assert isinstance(setup_questions.next(state), SetupQuestion | ModeratorTask | Ready)
            assert {"strictness", "output"} <= set(state.answers)


class TestFormats:
    def other(self, **changes: object) -> Format:
        a, b = RULES.seats["a"], RULES.seats["b"]
        seats = {**RULES.seats, "a": a.model_copy(update={"name": "Advocate", "label": ""})}
        seats["b"] = b.model_copy(update={"name": "Devil's Advocate", "label": "Against"})
        return RULES.model_copy(update={"seats": seats, **changes})

    def test_sides_have_the_formats_names(self) -> None:
        """Questions and block call the sides as the format does."""
        setup_questions = made_questions(self.other())
        ready = setup_questions.next(said(setup_questions, SetupState(), *TO_READY))
        confirm = setup_questions.question(said(setup_questions, SetupState(), *TO_READY), "positions_ok")

        assert setup_questions.question(SetupState(), "position_a").text == "What does Advocate argue?"
        assert (
            setup_questions.question(SetupState(), "position_b").text == "What does Devil's Advocate (Against) argue?"
        )
        assert confirm.text == (
            "Advocate will argue: Tabs are better. Devil's Advocate will argue: Tabs are no better. Correct?"
        )
        assert isinstance(ready, Ready)
        assert "Advocate: Tabs are better.\nDevil's Advocate (Against): Tabs are no better.\n" in ready.show

    def test_one_round_is_not_asked_for(self) -> None:
        """A format with a single round asks nothing about rounds; the block says one. Limits, default, cap and what a
        round is are the format's."""
        setup_questions = made_questions(self.other(round_limits=RoundLimits(default=1, max=1, max_if_insisted=1)))
        state = said(setup_questions, SetupState(), *TO_ROUNDS)

        assert question(setup_questions, state).key == "context"
        rest = (("context", "no"), ("strictness", "strict"), ("output", "default"))
        ready = setup_questions.next(said(setup_questions, state, *rest))
        assert isinstance(ready, Ready) and "Rounds: 1\n" in ready.show
        assert answers.make_settings(state.answers, setup_questions.format, "o.md").rounds == 1

        setup_questions = made_questions(
            self.other(round_limits=RoundLimits(default=2, max=3, max_if_insisted=4), round=RULES.round[:1])
        )
        asked = question(setup_questions, said(setup_questions, SetupState(), *TO_ROUNDS))
        insist = question(setup_questions, said(setup_questions, SetupState(), *TO_ROUNDS, ("rounds", "4")))

        assert (asked.text, asked.help) == (
            "How many debate rounds? (Default: 2)",
            "1 to 3. Each round has: Opening Statement.",
        )
        assert "I suggest 3 rounds as a cap. Do you insist on 4?" in insist.text

    @pytest.mark.parametrize(
        ("rounds", "expected"),
        [
            (RoundLimits(default=1, max=1, max_if_insisted=1), "rounds: '9' is not 1."),
            (RoundLimits(default=2, max=3, max_if_insisted=3), "1 to 3. More than 3 tend to produce diminishing ret"),
            (RoundLimits(default=2, max=3, max_if_insisted=4), "diminishing returns. Try: `insist: true` for 4."),
            (RoundLimits(), "4 or 5 is a good cap. Try: `insist: true` for 7 to 8."),
        ],
    )
    def test_complaints_have_the_formats_limits(self, rounds: RoundLimits, expected: str) -> None:
        """An invalid number is told the format's own limits."""
        assert expected in answers.value_problem("rounds", "9", self.other(round_limits=rounds))
        assert "diminishing" not in answers.value_problem("rounds", "0", self.other(round_limits=rounds))


class TestTheSame:
    def test_sides_that_say_the_same_are_not_confirmed(self) -> None:
        """Yes to one position for both sides is refused; what was answered stays, and one changed is enough. A
        moderator's are refused too, with what was expected."""
        setup_questions = made_questions()
        same = said(setup_questions, SetupState(), *OWN[:-1], ("position_b", "tabs"))
        asked = setup_questions.mark_asked(same, question(setup_questions, same))
        with pytest.raises(BadSettings) as refusal:
            setup_questions.answer(asked, "positions_ok", "yes")

        assert refusal.value.problems[0].startswith("positions: both sides argue 'Tabs.'")
        same = setup_questions.with_checked_answers(same)  # as a file holds them
        other = said(setup_questions, same, ("position_b", "Spaces."), ("positions_ok", "yes"))
        assert question(setup_questions, other).key == "rounds"

        setup_questions = made_questions()
        state = said(setup_questions, SetupState(), *TO_POSITIONS, ("positions", "auto"))
        with pytest.raises(BadSettings, match="two positions that differ"):
            setup_questions.with_proposal(state, "positions", PAIR | {"b": PAIR["a"]})


def test_what_a_file_is_refused_for_is_what_it_says(setup_questions: SetupQuestions) -> None:
    """Positions that can't be are quoted as they were written, without what is still to be asked for. A topic that was
    left empty is asked for."""
    for positions in ({"a": 5}, {"c": "x"}, {"a": "x", "c": "y"}):
        with pytest.raises(BadSettings) as refusal:
            setup_questions.with_checked_answers(SetupState(answers={"positions": positions}))
        assert refusal.value.problems[0].startswith(f"positions: {positions} is not auto, or a mapping")

    assert setup_questions.with_checked_answers(SetupState(answers={"topic": ""})).answers == {}
    assert setup_questions.with_checked_answers(SetupState(answers={"positions": {"a": "x"}})).answers
