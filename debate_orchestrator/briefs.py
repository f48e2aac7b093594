"""Turn and debate in, brief out: the words that are put before a seat.

Laid out so that what is sent only ever grows at its end, which is what prompt caches pay for: a
neutral system text shared by all seats; the motion; one block a turn, in agenda order; and last,
never repeated, the seat's role, its task and its own earlier ballots. Speech is only ever a value in
a template, and stands in blocks fenced by the debate's nonce.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any, Literal
from weakref import WeakKeyDictionary

from debate_orchestrator import formats, speech, templates
from debate_orchestrator.core.debate import Debate
from debate_orchestrator.core.events import Declined
from debate_orchestrator.core.rules import JUDGE, Turn
from debate_orchestrator.core.shapes import json_schema
from debate_orchestrator.core.values import Value
from debate_orchestrator.core.verdict import decimals, gap, percent, rounds_won, sums
from debate_orchestrator.errors import BadFormat, complaint


class Message(Value):
    """One message of a brief, in parts. All parts but a brief's very last are sent again, unchanged
    and in the same place, with the seat's later briefs."""

    role: Literal["user", "assistant"]
    parts: tuple[str, ...]


class Brief(Value):
    """What is put before a seat for one turn."""

    turn: str
    system: str
    messages: tuple[Message, ...]
    wants: Literal["text", "json"]
    json_schema: dict[str, Any] | None = None
    words: int | None = None
    """About how many words are asked for, where that is said."""
    search: bool = False
    """Whether whoever answers may search the web."""

    @property
    def digest(self) -> str:
        """The sha256 of everything that the seat is shown."""
        return hashlib.sha256(self.model_dump_json(exclude={"turn", "words", "search"}).encode()).hexdigest()


def brief(debate: Debate, turn: Turn, complaints: Sequence[str] = ()) -> Brief:
    """The brief of a turn that is due, with what was wrong with the last reply to it at its very end. (Made
    later, a judge's would hold what was counted since.)"""
    context = _context(debate, turn)
    dialogue = debate.format.history == "dialogue" and not turn.judging
    said: list[tuple[Literal["user", "assistant"], str]] = [("user", _render("shared/motion.md.j2", context))]
    for heard in debate.heard(turn):
        if dialogue and heard.seat == turn.seat:
            said.append(("assistant", speech.fenced(debate.reply(heard).text, debate.opened.nonce)))
            continue
        said.append(("user", _block(debate, heard, context)))
    own = debate.opened.templates
    last = _render(formats.task(debate.format, turn.phase), context, own)
    if complaints:
        again = {"complaints": complaints, "wants": "json" if context["schema"] else "text"}
        last = f"{last}\n\n{_render('shared/again.md.j2', again)}"
    said.append(("user", last))
    return Brief(
        turn=turn.id,
        system=_render(formats.systems(debate.format), context, own),
        messages=_merged(said),
        wants="json" if context["schema"] else "text",
        json_schema=context["schema"],
        words=turn.phase.words,
        search=context["search"],
    )


_blocks: WeakKeyDictionary[Debate, dict[str, str]] = WeakKeyDictionary()
"""Debate to the blocks of its settled turns, which never change once they are made."""


def _block(debate: Debate, heard: Turn, context: dict[str, Any]) -> str:
    """A speech as those who heard it find it in their transcript."""
    made = _blocks.setdefault(debate, {})
    if heard.id not in made:
        reply = debate.reply(heard)
        values = {"turn": heard, "text": reply.text, "reply": reply}
        values["declined"] = isinstance(debate.answers[heard.id], Declined)
        made[heard.id] = _render("shared/turn.md.j2", context | values)
    return made[heard.id]


def _merged(said: list[tuple[Literal["user", "assistant"], str]]) -> tuple[Message, ...]:
    messages: list[Message] = []
    for role, text in said:
        if messages and messages[-1].role == role:
            messages[-1] = Message(role=role, parts=(*messages[-1].parts, text))
        else:
            messages.append(Message(role=role, parts=(text,)))
    return tuple(messages)


def handout(brief: Brief, debate: Debate, turn: Turn, reply_name: str) -> str:
    """The brief as one self-contained file for an agent that reads nothing else; its reply belongs
    into the file `reply_name` beside it."""
    values = {"brief": brief, "turn": turn, "name": debate.format.name_of, "reply_name": reply_name}
    values |= {"nonce": debate.opened.nonce}
    return _render("shared/handout.md.j2", values) + "\n"


def propose(name: str, **values: Any) -> str:
    """A moderator's brief, from the template of that name, as one self-contained file."""
    return _render(f"moderator/{name}.md.j2", values) + "\n"


def _render(name: str | tuple[str, ...], values: dict[str, Any], own: Mapping[str, str] = {}) -> str:
    """The text of a template, or of the first of several that there is; those in `own` travel with the debate."""
    try:
        found = environment(own).select_template([name] if isinstance(name, str) else [*name])
        made = found.render(**_filters(values.get("nonce", "")), **values)
    except Exception as error:
        where = templates.place(error, own)
        if where is None:
            raise
        hint = "The installed prompts are not those of this debate." if where.startswith("prompts/") else ""
        raise BadFormat(complaint(where, templates.said(error), "a template that can be rendered", hint)) from None
    return made.strip("\n")


def _filters(nonce: str) -> dict[str, Any]:
    """The functions that templates use on speech; they close over the nonce, so none can be forgotten."""
    return {"fence": lambda text: speech.fenced(text, nonce)}


def environment(own: Mapping[str, str]) -> templates.Sandbox:
    """What renders the templates of prompts/, and those in `own` before them."""
    return _environment(tuple(sorted(own.items())))


@lru_cache(maxsize=16)
def _environment(own: tuple[tuple[str, str], ...]) -> templates.Sandbox:
    made = templates.Sandbox(dict(own))
    made.filters |= {
        "line": speech.one_line,
        "address": speech.address,
        "compact": lambda value: json.dumps(value, ensure_ascii=False),
        "json": lambda value: json.dumps(value, ensure_ascii=False, indent=1),
        "points": decimals,
    }
    return made


def names(debate: Debate) -> dict[str, templates.Names]:
    """The names that templates may use, under `debater` in a debater's brief and under `judge` in a judge's: those
    that there would be if the first turn due were theirs."""
    first, made = debate.due()[0], {}
    for role, seat in {"debater": debate.format.sides[0], JUDGE: JUDGE}.items():
        given = _context(debate, first.model_copy(update={"seat": seat})) | _filters("")
        made[role] = templates.Names(f"a {role}'s", frozenset(given))
    return made


def _context(debate: Debate, turn: Turn) -> dict[str, Any]:
    """Everything a template of this turn may name."""
    rules, setup = debate.format, debate.opened.setup
    heard = debate.heard(turn)
    shape = debate.shape(turn)
    common = {
        "turn": turn,
        "nonce": debate.opened.nonce,
        "topic": setup.topic,
        "positions": setup.positions,
        "sides": rules.sides,
        "name": rules.name_of,
        "label": lambda side: rules.seats[side].side,
        "tag": rules.tag_of,
        "context": setup.context if turn.role in rules.context_heard_by else (),
        "rounds": setup.rounds,
        "strictness_name": setup.strictness,
        "strictness": rules.rubric.strictness[setup.strictness],
        "lines": rules.lines,
        "labels": rules.labels,
        "words": turn.phase.words,
        "search": setup.search and not turn.judging and shape is None,
        "schema": json_schema(shape, debate.terms(turn)) if shape is not None else None,
    }
    return common | (_for_judge(debate, turn, heard) if turn.judging else _for_debater(debate, turn, heard))


def _for_debater(debate: Debate, turn: Turn, heard: list[Turn]) -> dict[str, Any]:
    other = next((side for side in debate.format.sides if side != turn.seat), turn.seat)
    theirs = [one for one in heard if one.seat == other]
    return {
        "other": other,
        "tells_rounds": debate.format.tells_rounds,
        "spoken": any(one.round == turn.round and one.phase.name == turn.phase.name for one in theirs),
        "target": theirs[-1] if theirs else None,
        "advice": debate.advice(turn.seat, turn.round or 0),
    }


def _for_judge(debate: Debate, turn: Turn, heard: list[Turn]) -> dict[str, Any]:
    rubric = debate.format.rubric
    results = debate.results_of(turn.seat)
    totals = sums(results, debate.format.sides)
    share = gap(totals)
    return {
        "scale": {"least": f"{rubric.least:g}", "most": f"{rubric.most:g}"},
        "criteria": {name: rubric.criteria[name] for name in debate.criteria},
        "convergence": rubric.convergence,
        "round_turns": [one.id for one in heard if one.round == turn.round],
        "declined": [one for one in heard if isinstance(debate.answers[one.id], Declined)],
        "ballots": [debate.answers[one.id] for one in debate.own_ballots(turn.seat)],
        "totals": totals,
        "won": rounds_won(results, debate.format.sides),
        "gap": None if share is None else percent(share),
        "played": len(results),
        "conceded": debate.conceded(),
        "persisted": bool(debate.persisted()),
    }
