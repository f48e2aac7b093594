"""A setup conversation that is left: what is kept, and how it is continued, at a terminal or by a host."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from conftest import Run
from persons import (
    BACK,
    BEST,
    CTRL_C,
    CTRL_D,
    ERASE,
    GIVEN,
    SETUP,
    TOPIC,
    UP,
    run_setup,
    settled,
)  # fmt: skip

from debate_orchestrator.core.settings import MAX_JUDGES
from debate_orchestrator.setup.state import load
from debate_orchestrator.util.errors import BadSettings


class TestLeaving:
    @pytest.mark.parametrize("answered", [0, 2, len(SETUP)])
    def test_at_every_question(self, here: Path, answered: int) -> None:
        """Leaving at any question keeps what was answered, and it continues at the same question."""
        held = run_setup(*SETUP[:answered], (CTRL_C, CTRL_D)[answered % 2])
        again = run_setup(*([""] if answered else []), *SETUP[answered:], goes_on=True)

        assert held.ended == "left"
        assert settled(again) == GIVEN

    @pytest.mark.parametrize("left_at", range(1, 6))
    def test_at_every_seat(self, here: Path, left_at: int) -> None:
        """Leaving at any seat keeps those before it, and it continues at that seat; no other cast is proposed."""
        seats = ("seats", "human", "rehearse", "human", "rehearse", "no", "judge")
        held = run_setup(TOPIC, *seats[:left_at], CTRL_C)
        again = run_setup("", *seats[left_at:], CTRL_C, goes_on=True)
        answers = load(".debate-setup.yaml").answers

        assert held.ended == "left" and len(held.state.answers.get("cast", {})) == min(left_at - 1, 3)
        assert answers["cast"] | {"moderator": ""} == {
            "a": "human",
            "b": f"rehearse:{BEST['b']}",
            "judge": ["human", f"rehearse:{BEST['judge']}"],
            "moderator": "",
        }
        assert again.state.progress.seats_answered is None

    def test_at_a_seat_after_the_last(self, here: Path) -> None:
        """A file that says that more seats were answered than there are is not asked for one of them again."""
        run_setup(TOPIC, "seats", "human", CTRL_C)
        path = Path(".debate-setup.yaml")
        judges = [f"m:{number}" for number in range(MAX_JUDGES)]
        kept = yaml.safe_load(path.read_text())
        kept["cast"] = {"a": "human", "b": "human", "judge": judges}
        kept |= {"issues": False, "brief": False}  # no rapporteur, who would be asked for after them
        kept["setup"]["seats_answered"] = MAX_JUDGES + 3
        path.write_text(yaml.safe_dump(kept))

        held = run_setup("", CTRL_C, goes_on=True)
        assert held.state.answers["cast"]["judge"] == judges and held.state.progress.seats_answered is None

    def test_a_change_of_seats_that_is_taken_back(self, here: Path) -> None:
        """Back from the seats, where the cast is to be changed, leaves it as it was."""
        held = run_setup(*SETUP, "more", "cast", "seats", "human", BACK, BACK, BACK, CTRL_C)

        assert held.state.answers["cast"]["a"] == f"rehearse:{BEST['a']}"
        assert held.state.progress.seats_answered is None

    def test_between_two_positions(self, here: Path) -> None:
        """A position that was changed is kept when the person leaves at the next one."""
        run_setup(TOPIC, "rehearse", "edit", f"{ERASE}Tabs win.", CTRL_C)

        assert load(".debate-setup.yaml").answers["positions"]["a"] == "Tabs win."

    def test_a_half_typed_answer_comes_back(self, here: Path) -> None:
        """What was typed and not sent is among the earlier answers the next time."""
        run_setup("A long and winding thou" + CTRL_C)

        assert run_setup(UP + "ght").state.progress.topics == ("A long and winding thought",)


class TestFiles:
    def test_the_host_continues_with_it(self, debate: Run) -> None:
        """`debate ask` continues a conversation that was left at the terminal, and the terminal continues that."""
        run_setup(*SETUP[:2], file="setup.yaml")
        output = debate("ask", "setup.yaml").json
        held = run_setup("yes", "none", "yes", file="setup.yaml")

        assert output["question"]["key"] == "positions_ok"
        assert settled(held) == GIVEN
        assert load("setup.yaml").answers["cast"]["a"].startswith("rehearse:")

    def test_it_continues_the_hosts(self, debate: Run) -> None:
        """A conversation that a host began, with its moderator's work, continues at the terminal."""
        output = debate("ask", "setup.yaml", "topic=tabs?").json
        restated = {"ambiguous": False, "restated": "Tabs win.", "recommended": None, "alternative": None}
        Path(output["turns"][0]["reply"]).write_text(json.dumps(restated))
        debate("ask", "setup.yaml")

        assert run_setup("rehearse", "yes", file="setup.yaml").state.answers["topic"] == "Tabs win."

    def test_consent_is_asked_for_the_format_that_was_typed(self, here: Path) -> None:
        """Whether a file's recordings have pages looked up hangs on the format, also where it was typed."""
        Path("mine.yaml").write_text("topic: Tabs?\n")
        asked: list[tuple[Any, ...]] = []
        run_setup(file="mine.yaml", format="claim", require_consent=lambda *given: asked.append(given))

        assert [(path, name) for path, _, name, _ in asked] == [("mine.yaml", "claim")]

    def test_a_persons_answers_are_confirmed(self, here: Path) -> None:
        """Answers that a person wrote into a file count as said: what needs it is confirmed, nothing else is asked."""
        Path("mine.yaml").write_text(
            "topic: Tabs?\npositions: {a: Tabs., b: Spaces.}\nrounds: 1\nstrictness: strict\noutput: out.md\n"
            "cast: rehearse\nmax_cost: 2\ncontext: []\n"
        )
        held = run_setup("yes", "yes", file="mine.yaml")

        assert held.ended == "confirmed"
        assert held.state.answers["positions"] == {"a": "Tabs.", "b": "Spaces."} and held.state.answers["max_cost"] == 2
        assert "Settled so far: positions: Tabs. / Spaces." in held.text

    def test_one_with_an_answer_that_can_not_be_taken_stays(self, here: Path) -> None:
        """A setup that was kept and then edited wrongly is refused with every problem, and every byte of it stays."""
        run_setup(*SETUP, CTRL_C)
        path = Path(".debate-setup.yaml")
        path.write_text(path.read_text().replace("rounds: 3", "rounds: 99").replace("strictness: strict", "quorum: zz"))
        before = {file: file.read_bytes() for file in here.iterdir()}
        with pytest.raises(BadSettings) as refused:
            run_setup("yes", goes_on=True)

        assert [problem.partition(":")[0] for problem in refused.value.problems] == ["rounds", "quorum"]
        assert {file: file.read_bytes() for file in here.iterdir()} == before
