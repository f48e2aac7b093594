"""The transcript of a debate as one seat reads it: an entry for each speech, as others hear it, in the order shown.

A judge may be shown the debate mirrored. Then each two sides that speak one after the other change places and, unless
these stay, names. If the order no longer shows after which speech another was given, the entry says so.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import chain, groupby, pairwise, zip_longest
from operator import attrgetter
from typing import Any

from debate_orchestrator.core import rapporteur, schedule, speech_rules
from debate_orchestrator.core.events import Spoke, StructuredReplyGiven
from debate_orchestrator.core.phases import CLERK, Turn
from debate_orchestrator.core.reply import FoundPage
from debate_orchestrator.core.shape import Field, Shape, present_fields
from debate_orchestrator.core.state import DebateState
from debate_orchestrator.core.visible_text import VisibleText


class TranscriptEntry(VisibleText):
    """A speech, or what a clerk found, as others read it. The text of a structured reply is its fields, a line each."""

    turn: Turn
    """As it is called there: a mirrored judge sees A's turns as B's."""
    structured: bool = False
    """Whether its text is that of fields."""
    declined: bool = False
    cut: bool = False
    """Whether a limit of tokens cut it short."""
    found: tuple[FoundPage, ...] = ()
    other_lines: bool = False
    """Whether it writes lines for the other side, which is a violation."""
    after: str | None = None
    """The turn after which it was given, where the order does not tell."""


def entries_for(debate: DebateState, for_turn: Turn) -> list[TranscriptEntry]:
    """The entries that the seat of a turn has heard before it, in the order in which they are shown."""
    turns = schedule.turns_heard(debate, for_turn)
    if not for_turn.mirrored:
        return [entry(debate, turn) for turn in turns]
    return [mirrored for group in _groups(turns) for mirrored in _mirrored(debate, group)]


def _groups(turns: Iterable[Turn]) -> list[list[Turn]]:
    """The turns in groups within which sides change places: by phase, if that gives each side another to change with;
    else all are one."""
    by_phase = groupby(turns, key=attrgetter("round", "after_rounds", "phase.title", "phase.triggered_by"))
    phases = [list(group) for _, group in by_phase]
    return phases if all(len(_runs(phase)) % 2 == 0 for phase in phases) else [[*chain.from_iterable(phases)]]


def _runs(turns: Iterable[Turn]) -> list[list[Turn]]:
    """The turns in which the sides speak, those that one side has in a row together."""
    return [list(run) for _, run in groupby((turn for turn in turns if turn.speaking), key=attrgetter("seat"))]


def _mirrored(debate: DebateState, turns: Sequence[Turn]) -> list[TranscriptEntry]:
    """The turns of one group, mirrored: of each two sides that speak in turn the second is shown first, under the
    other's name; other seats stay in place."""
    runs = _runs(turns)
    pairs = zip_longest(runs[1::2], runs[::2], fillvalue=list[Turn]())
    speeches = [*chain.from_iterable(chain.from_iterable(pairs))]
    after = {
        turn.id: debate.mirror.turn_id(earlier.id)
        for earlier, turn in pairwise(chain.from_iterable(runs))
        if speeches.index(turn) < speeches.index(earlier) and earlier in schedule.turns_heard(debate, turn)
    }
    swapped = iter(speeches)
    in_order = [next(swapped) if turn.speaking else turn for turn in turns]
    return [entry(debate, turn, mirrored=True).model_copy(update={"after": after.get(turn.id)}) for turn in in_order]


def entry(debate: DebateState, turn: Turn, *, mirrored: bool = False) -> TranscriptEntry:
    """One speech, or what a clerk found."""
    reply_event, reply, mirror = debate.replies[turn.id], debate.reply(turn), debate.mirror
    spoke, structured = isinstance(reply_event, Spoke), isinstance(reply_event, StructuredReplyGiven)
    if isinstance(reply_event, StructuredReplyGiven):
        visible = _structured(debate, turn, reply_event.data, mirrored=mirrored)
    else:
        visible = speech_rules.visible_speech(debate, turn)
        visible = visible.model_copy(update={"text": mirror.text(visible.text)}) if mirrored else visible
    if mirrored:
        quotes = (
            quote if quote.verified else quote.model_copy(update={"text": mirror.text(quote.text)})
            for quote in visible.quotes
        )
        visible = visible.model_copy(update={"quotes": tuple(quotes)})
    return TranscriptEntry(
        **dict(visible),
        turn=mirror.turn(turn) if mirrored else turn,
        structured=structured,
        declined=speech_rules.has_declined(debate, turn.id),
        cut=spoke and reply.ended == "cut",
        found=reply.found_pages if spoke else (),
        other_lines=speech_rules.writes_for_the_other(debate, turn),
    )


_PAGE_FIELDS = frozenset({"url", "title", "date", "passage", "digest", "archived"})
"""Names of fields in which a clerk says what it found on a page; in the others it says so in its own words."""


def _structured(debate: DebateState, turn: Turn, data: Mapping[str, Any], *, mirrored: bool) -> VisibleText:
    """A structured reply as it is heard."""
    shape = debate.shape(turn) or {}
    fields, quotes = speech_rules.visible_fields(debate, rapporteur.with_user_issues(debate, turn, data))
    if mirrored:
        source_fields = _PAGE_FIELDS if turn.seat == CLERK else frozenset({"quote"} if "url" in shape else ())
        fields = debate.mirror.structured_reply(shape, fields, source_fields)
    text = as_text(shape, fields)
    return VisibleText(text=text, words=len(text.split()), quotes=quotes)


def as_text(shape: Shape, value: Mapping[str, Any]) -> str:
    """A structured reply as people read it: each field that is filled in begins a line. All other lines of a field are
    indented under it, so that no text can pass for a field, or for an item of a list."""
    return "\n".join(_fields(shape, value))


def _fields(shape: Shape, value: Mapping[str, Any]) -> list[str]:
    values = {
        name: value[name]
        for name in present_fields(shape, value)
        if name != "refused" and value[name] not in (None, [])
    }
    return [
        line
        for name, field_value in values.items()
        for line in _labelled_lines(f"{title(name)}: ", _value_lines(shape[name], field_value))
    ]


_TITLES = {"url": "URL", "dry": "No new ground left"}
"""Names of fields that people would not understand or write so."""


def title(name: str) -> str:
    """The name of a field as people read it: `Unsupported claims`, `URL`."""
    return _TITLES.get(name) or name.replace("_", " ").capitalize()


def _labelled_lines(label: str, lines: Sequence[str]) -> list[str]:
    """Lines after a label, set in from the second on."""
    return [f"{label}{lines[0]}".rstrip(), *(f"  {line}".rstrip() for line in lines[1:])] if lines else []


def _value_lines(field: Field, value: Any) -> list[str]:
    """The value of a field, in lines; the first one is empty if they begin under its label."""
    if (field.per_side or field.per_issue) and isinstance(value, Mapping):
        single = field.single
        return [
            "",
            *(
                line
                for key, item_value in value.items()
                for line in _labelled_lines(f"{key}: ", _value_lines(single, item_value))
            ),
        ]
    if field.kind == "object":
        return ["", *_fields(field.fields, value)]
    if field.kind == "scores":
        scores = {side: ", ".join(f"{name} {n:g}" for name, n in points.items()) for side, points in value.items()}
        return ["; ".join(f"{side}: {points}" for side, points in scores.items())]
    if field.kind == "list":
        items = [_fields(field.fields, item) if field.fields else _lines(item) for item in value]
        heads = [f"{field.id_prefix}{n}. " if field.id_prefix else "- " for n in range(1, len(items) + 1)]
        return ["", *(line for head, item in zip(heads, items, strict=True) for line in _labelled_lines(head, item))]
    if isinstance(value, list):
        return [", ".join(map(str, value))]
    if isinstance(value, bool):
        return ["yes" if value else "no"]
    return [f"{value:g}"] if isinstance(value, float) else _lines(value)


def _lines(text: Any) -> list[str]:
    return str(text).strip().split("\n")
