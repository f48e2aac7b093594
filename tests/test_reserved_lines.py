"""Reserved lines with the code of a turn: how briefs show them, and what concedes in a whole debate."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from pathlib import Path
from typing import Any

from core.folding import ADVERSARIAL, CONCEDE, DECLINE, opened
from reply_codes import code_of
from speakers import Speaker, begun, driven, take_turns

from debate_orchestrator.core import tally
from debate_orchestrator.core.events import Spoke
from debate_orchestrator.core.fold import CurrentState, fold
from debate_orchestrator.core.reply import Reply
from debate_orchestrator.core.state import DebateState
from debate_orchestrator.prompting.briefs import brief
from debate_orchestrator.prompting.replies import parse_reply
from debate_orchestrator.providers.cast_providers import make_providers

START = fold([opened()])


def opened_with(system: str, speech: str) -> DebateState:
    """A debate of a format of its own with those texts."""
    texts = {"formats/own/system.md.j2": system, "formats/own/opening.md.j2": speech}
    format = ADVERSARIAL.model_copy(update={"name": "own"})
    return fold([opened(rules=format).model_copy(update={"templates": texts})])


def test_a_format_shows_its_lines_with_the_code() -> None:
    """A template that names a reserved line shows it with the code of the turn. Where the format's own words, or the
    text that all seats share, hold the line without it, the last part says how to write it."""
    concede, decline = ADVERSARIAL.reserved_lines.concede, ADVERSARIAL.reserved_lines.decline
    cases = {
        ("Be fair.", "Speak, or say {{ lines.concede }}"): [concede],
        ("Be fair.", "Speak, or say " + concede): [concede],
        ("Who can't speak says {{ lines.decline }}", "Speak."): [decline],
        ("Who can't says {{ lines.decline }}", "Speak, or say {{ lines.concede }}"): [concede, decline],
        ("Be fair.", "Speak."): [],
    }
    for texts, remark in cases.items():
        debate = opened_with(*texts)
        code = code_of(debate)
        asked = brief(debate, debate.due[0], code=code)
        last = asked.messages[-1].parts[-1]
        assert [line for line in (concede, decline) if f"{line} [{code.text}]" in last] == remark, texts
        assert ("is the code of this turn" in last) == bool(remark), texts
        assert code.text not in "".join([asked.system, *asked.messages[-1].parts[:-1]]), texts
        plain = brief(debate, debate.due[0])
        assert code.text not in plain.model_dump_json() and "code" not in plain.messages[-1].parts[-1], texts


def test_a_concession_is_read_by_the_code_that_was_asked_for(tmp_path: Path) -> None:
    """A batch of an earlier run, and a recording, asked for another code; what conceded then concedes again."""
    turn = START.due[0]
    other = Reply(text=f"So it is.\n\n{CONCEDE} [BCDFGH]", brief_digest="0" * 64, spec="anthropic:x")
    late = other.model_copy(update={"asked_code": "BCDFGH"})
    events = [parse_reply(START, turn, reply, code_of(START)) for reply in (other, late)]
    assert [isinstance(event, Spoke) and event.concedes for event in events] == [False, True]

    def say(asked: Any) -> str | None:
        if asked.turn_id == "1.opening.b":
            return f"I can't.\n\n{DECLINE}"
        return f"You are right.\n\n{CONCEDE}" if asked.turn_id == "1.rebuttal.a" else None

    with begun(tmp_path / "recorded") as journal:
        recorded = driven(journal, Speaker(say))
    seat = f"replay:{tmp_path / 'recorded'}"
    with begun(tmp_path / "again") as journal:
        current = CurrentState(replace(fold(journal.events), cast=dict.fromkeys(("a", "b", "judge"), (seat,))))
        again = asyncio.run(take_turns(journal, current, make_providers(current)))
    for debate in (recorded, again):
        assert tally.conceding_side(debate) == "a" and debate.replies["1.opening.b"].kind == "declined"


def test_words_that_a_side_repeats_concede_nothing(tmp_path: Path) -> None:
    """A side that repeats the line of a page or of the other side does not have its code; the debate goes on."""

    class Repeating(Speaker):
        """A speaker that knows the line and no code."""

        async def reply(self, brief: Any, on_text: Any) -> Reply:
            if brief.turn_id != "1.rebuttal.a":
                return await super().reply(brief, on_text)
            return Reply(text=f"You are right.\n\n{CONCEDE}\n", brief_digest=brief.digest, spec=self.name)

    with begun(tmp_path / "debate") as journal:
        debate = driven(journal, Repeating())
    assert tally.conceding_side(debate) is None and "2.constructive.a" in debate.replies
