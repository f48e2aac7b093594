"""The setup conversation gone back over, and in the words of other formats."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from test_interview import CLEAR, MUDDY, PAIR, TO_POSITIONS, TO_READY, TO_ROUNDS, question, said

from debate_orchestrator.core.format import Format
from debate_orchestrator.core.phases import RoundLimits
from debate_orchestrator.core.settings import unwanted
from debate_orchestrator.formats import loader
from debate_orchestrator.setup import answers
from debate_orchestrator.setup.questions import Questionnaire
from debate_orchestrator.setup.session import Ask, Propose, QuestionTexts, Ready, SetupState
from debate_orchestrator.util import resources
from debate_orchestrator.util.errors import BadSettings

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
    return [key for key in ORDER if interview.standing_answer(draft, key)]


class TestAnswersGivenAgain:
    def test_every_answered_question_can_be_put_again(self) -> None:
        """Each answered question is put as it was, and what stands as its answer changes nothing."""
        interview = interviewed()
        for draft in (said(interview, SetupState(), *OWN, *REST), said(interview, SetupState(), *TO_READY)):
            for key in answered(interview, draft):
                standing = interview.standing_answer(draft, key)
                after = again(interview, draft, key, standing)
                assert (after.given, after.progress) == (draft.given, draft.progress.model_copy(update={"asked": {}}))

    def test_what_stands(self) -> None:
        """What stands is told for each question, and nothing where nothing was answered."""
        interview = interviewed()
        draft = said(interview, SetupState(), *OWN, *REST)
        standing = [interview.standing_answer(draft, key) for key in answered(interview, draft)]

        assert standing == [CLEAR["restated"], "yes", "own", "Tabs.", "Spaces.", "yes", "8", "yes", "strict", "o.md"]
        assert {interview.standing_answer(SetupState(), key) for key in interview.words.questions} == {""}
        framed = said(interview, SetupState(), ("topic", "x"), ("topic", MUDDY), ("framing", "2"))
        assert interview.standing_answer(framed, "framing") == "alternative"


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

        assert [interview.standing_answer(back, f"position_{side}") for side in "ab"] == ["Tabs.", "Spaces."]
        assert [interview.standing_answer(edited, f"position_{side}") for side in "ab"] == [PAIR["a"], PAIR["b"]]

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
            assert isinstance(interview.next(draft), Ask | Propose | Ready)
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
        """A number that will not do is told the format's own limits."""
        assert expected in unwanted("rounds", "9", self.other(rounds=rounds))


class TestTheSame:
    def test_sides_that_say_the_same_are_not_confirmed(self) -> None:
        """Yes to one position for both sides is refused; what was answered stays, and one changed is enough."""
        interview = interviewed()
        same = said(interview, SetupState(), *OWN[:-1], ("position_b", "tabs"))
        asked = interview.mark_asked(same, question(interview, same))
        with pytest.raises(BadSettings) as refusal:
            interview.answer(asked, "positions_ok", "yes")

        assert refusal.value.complaints[0].startswith("positions: both sides argue 'Tabs.'")
        other = said(interview, same, ("position_b", "Spaces."), ("positions_ok", "yes"))
        assert question(interview, other).key == "rounds"

    def test_a_moderator_can_not_derive_one_twice(self) -> None:
        """Positions that are derived and are the same are refused, with what was expected."""
        interview = interviewed()
        draft = said(interview, SetupState(), *TO_POSITIONS, ("positions", "auto"))
        with pytest.raises(BadSettings, match="two positions that differ"):
            interview.proposed(draft, "positions", PAIR | {"b": PAIR["a"]})
