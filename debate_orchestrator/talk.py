"""What a setup conversation is made of: its words, what was said so far, and what it needs next."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field

from debate_orchestrator.core.events import NONCE, Reply, Source
from debate_orchestrator.core.shapes import Shape
from debate_orchestrator.core.values import Value


class Wording(Value):
    """One question as prompts/ words it."""

    text: str
    help: str = ""
    choices: dict[str, str] = {}
    default: bool = False


class Words(Value):
    """Everything in prompts/interview.yaml."""

    questions: dict[str, Wording]
    quick: str
    """What one round is, where a format's further rounds have challenges and rebuttals."""
    each: str
    """What a round is in other formats."""
    argues: str
    """Who argues what, in a sentence."""
    automatic: tuple[str, ...]
    confirmed: str
    beyond: str
    """A line of the confirmed block for what reaches beyond the debate."""
    side: str
    """A side's line of the confirmed block."""
    shapes: dict[str, Shape]


class Talk(Value):
    """What was said on the way, so that the conversation can go on in another process."""

    heard: tuple[str, ...] = ()
    """What the user called the topic, corrections last."""
    proposal: dict[str, Any] | None = None
    """The moderator's restatement or framings of what was heard."""
    topic_ok: bool = False
    positions: Literal["auto", "own"] | None = None
    own: dict[str, str] = {}
    """Positions that were put aside when others were wanted, to be offered again for editing."""
    rejected: tuple[dict[str, str], ...] = ()
    positions_ok: bool = False
    asked: str | None = None
    """The question that was put last."""
    nonce: str = Field(default="", pattern=rf"{NONCE}|^$")
    """What fences speech in the moderator's briefs; drawn by whoever drives the conversation."""
    paid: tuple[Reply, ...] = ()
    """The replies of a moderator that was called, since they may have cost money."""


class Draft(Value):
    """The answers so far."""

    given: dict[str, Any] = {}
    """Settled answers, by their key in an answers file."""
    sources: dict[str, Source] = {}
    talk: Talk = Talk()


class Ask(Value):
    """A question for the user."""

    key: str
    text: str
    choices: tuple[tuple[str, str], ...]
    """Value and what it means; empty for a free answer."""
    default: str | int | None
    help: str


class Propose(Value):
    """Work for the moderator: `topic` or `positions`."""

    name: Literal["topic", "positions"]
    values: dict[str, Any]
    """What its brief is made of."""
    json_schema: dict[str, Any]

    @property
    def turn(self) -> str:
        return f"setup.{self.name}.moderator"


class Ready(Value):
    """Nothing is left to ask."""

    show: str


def talked(draft: Draft, **changes: Any) -> Draft:
    """The draft with changes of what was said on the way."""
    return draft.model_copy(update={"talk": draft.talk.model_copy(update=changes)})


def given(draft: Draft, source: Source, **values: Any) -> Draft:
    """The draft with these answers."""
    sources = draft.sources | dict.fromkeys(values, source)
    return draft.model_copy(update={"given": draft.given | values, "sources": sources})


def dropped(draft: Draft, *keys: str) -> Draft:
    """The draft without those answers."""
    return draft.model_copy(update={"given": {key: value for key, value in draft.given.items() if key not in keys}})


def sound(draft: Draft, sides: tuple[str, ...]) -> Draft:
    """The draft without what a hand has put into its file that is of no kind the conversation keeps: it is asked
    for again."""
    topic, positions = draft.given.get("topic"), draft.given.get("positions", {})
    if "topic" in draft.given and not isinstance(topic, str):
        draft = dropped(draft, "topic")
    if not (isinstance(positions, dict) and all(key in sides and isinstance(positions[key], str) for key in positions)):
        draft = talked(dropped(draft, "positions"), positions_ok=False)
    if "output" in draft.given and not isinstance(draft.given["output"], str):
        draft = dropped(draft, "output")
    if draft.talk.topic_ok and "topic" not in draft.given:
        draft = talked(draft, topic_ok=False)
    if draft.talk.positions_ok and set(draft.given.get("positions", {})) != set(sides):
        draft = talked(draft, positions_ok=False)
    return draft
