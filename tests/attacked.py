"""Debates of any format in which chosen texts stand wherever a stranger's words can stand, with all their briefs."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from core import folding
from core.folding import ballot_event, plainest_reply, reply

from debate_orchestrator.core import schedule
from debate_orchestrator.core.events import ContextFile, Opened, QuestionAsked, ReplyEvent, Spoke
from debate_orchestrator.core.fold import apply, fold
from debate_orchestrator.core.phases import CLERK, JUDGE, Turn
from debate_orchestrator.core.reply import FoundPage
from debate_orchestrator.core.speech_rules import visible_text
from debate_orchestrator.core.state import DebateState
from debate_orchestrator.formats import loader
from debate_orchestrator.prompting.briefs import Brief, brief, brief_file

Texts = Callable[[str], str]
"""A place to the text that is there, asked in the order in which texts come to stand somewhere. Places are `topic`,
`position`, `file`, `name` (a file's), `page` (that a search found), `question` (from the floor), `speech of a`, and the
fields of structured replies: `reply of a: quote`, `clerk: checks`, `judge: feedback`."""


class Put(NamedTuple):
    """A brief, as it was put before a seat."""

    debate: DebateState
    turn: Turn
    brief: Brief
    brief_file: str
    heard: list[Turn]
    """What its reader has heard."""


def opened(texts: Texts, name: str, *, rounds: int = 1, judges: int = 1, whole: bool = True, **rules: Any) -> Opened:
    """The opening of a debate, with everything that its format leaves open if it is to be `whole`: mirrored, judged
    each round and cast a pre-debate vote."""
    made = loader.load(name).model_copy(update=rules)
    opening = folding.opened(
        min(rounds, made.round_limits.max),
        judges,
        rules=made,
        context=tuple(ContextFile(name=texts("name"), text=texts("file")) for _ in range(2)),
        mirror=whole and any(map(made.is_vote, made.phases())),
        each_round=whole and "each round" in made.optional_phases,
        blind=whole and "blind" in made.optional_phases,
    )
    return opening.with_settings(topic=texts("topic"), positions={side: texts("position") for side in made.sides})


def put(texts: Texts, opening: Opened) -> Iterator[Put]:
    """Every brief of a debate in which every seat says what `texts` tells."""
    debate = fold([opening])
    while due := debate.due:
        for turn in due:
            made = brief(debate, turn)
            yield Put(debate, turn, made, brief_file(made, debate, turn, "reply"), schedule.turns_heard(debate, turn))
        for turn in due:
            debate = apply(debate, answer(debate, turn, texts))
        if seats := {turn.seat: "" for turn in debate.due if turn.speaking and not turn.after_rounds}:
            question = QuestionAsked(question=f"So: {texts('question')}"[:2_000], to=tuple(seats))
            debate = apply(debate, question)


def answer(debate: DebateState, turn: Turn, texts: Texts) -> ReplyEvent:
    """What is said in a turn."""
    shape = debate.shape(turn)
    if shape is not None:
        role = turn.role if turn.role in (JUDGE, CLERK) else f"reply of {turn.seat}"
        ballot = plainest_reply(
            shape, schedule.shape_context(debate, turn), texts=lambda field: texts(f"{role}: {field}")
        )
        return ballot_event(turn.id, ballot)
    said = _spoken(debate, turn, texts(f"speech of {turn.seat}"))
    page = FoundPage(url=texts("page"))
    return Spoke(turn_id=turn.id, reply=reply(said).model_copy(update={"found_pages": (page,)}))


def _spoken(debate: DebateState, turn: Turn, said: str) -> str:
    """A speech of which something is heard; any other would be asked for again."""
    return said if visible_text(debate, said, turn.phase).text.strip() else f"calm {said}"
