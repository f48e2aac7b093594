"""The form that a reviewer fills in elsewhere: YAML with everything that is needed to fill it in, as comments."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator
from functools import cache
from typing import Any

from debate_orchestrator import library
from debate_orchestrator.core.shapes import Field, Shape
from debate_orchestrator.core.values import Value
from debate_orchestrator.reviewing.ballots import UNDECIDED, VERSION, WORDS, Paper
from debate_orchestrator.speech import one_line
from debate_orchestrator.talk import Wording

_WIDTH = 100


class Words(Value):
    """Everything in prompts/reviewing.yaml."""

    form: tuple[str, ...]
    seen_hint: str
    before_hint: str
    after_hint: str
    why_hint: str
    name_hint: str
    said: dict[str, str]
    held: str
    words: dict[str, str]
    questions: dict[str, Wording]


@cache
def words() -> Words:
    return Words.model_validate(library.mapping("reviewing.yaml"))


def form(paper: Paper, digest: str, journal: str, day: str, reviewer: str = "") -> str:
    """The empty form of a ballot on that debate, which `datafiles.read_mapping` reads."""
    from debate_orchestrator.datafiles import to_yaml

    said = words()
    held = _or([*paper.sides, UNDECIDED])
    lines = [*_head(paper, said, journal), f"ballot: {VERSION}", f"journal: {digest}"]
    name = to_yaml({"reviewer": reviewer}).strip() if reviewer else "reviewer:"
    lines += [f"{name}  # {said.name_hint}", f"date: {day}", f"seen: false  # {said.seen_hint}"]
    lines += [f"before:  # {said.before_hint.format(held=held)}"]
    lines += ["rounds:"] if paper.rounds else []
    for n, shape in paper.rounds.items():
        lines += [f"  {n}:", *(f"    {line}" for line in _fields(paper, shape))]
    lines += ["final:", *(f"  {line}" for line in _fields(paper, paper.final))]
    lines += [f"why:  # {said.why_hint.format(words=WORDS)}", f"after:  # {said.after_hint.format(held=held)}"]
    return "\n".join(lines) + "\n"


def _head(paper: Paper, said: Words, journal: str) -> Iterator[str]:
    rules, setup = paper.debate.format, paper.debate.opened.setup
    for one in said.form:
        yield from _comment(one.format(journal=one_line(journal)))
    yield "#"
    yield from _comment(f"Topic: {setup.topic}")
    for side in paper.sides:
        yield from _comment(f"{side}, {rules.name_of(side)}: {setup.positions[side]}")
    if any("scores" in shape for shape in (*paper.rounds.values(), paper.final)):
        yield "#"
        for name in paper.terms.criteria:
            yield from _comment(f"{name}, {scale(paper, name)}: {rules.rubric.criteria[name].about}")
    yield ""


def _comment(text: str) -> list[str]:
    lines = textwrap.wrap(one_line(text), _WIDTH, subsequent_indent="  ", break_on_hyphens=False)
    return [f"# {line}" for line in lines]


def _fields(paper: Paper, shape: Shape) -> Iterator[str]:
    for name, field in shape.items():
        if field.kind == "scores":
            yield "scores:"
            for side in paper.sides:
                yield f"  {side}:"
                yield from (f"    {one}:  # {scale(paper, one)}" for one in paper.terms.criteria)
        else:
            yield f"{name}:  # {one_line(hint(field, paper))}"


def scale(paper: Paper, criterion: str) -> str:
    """The scale of a criterion: `1 to 10`."""
    least, most = paper.terms.scale(criterion)
    return f"{least:g} to {most:g}"


def hint(field: Field, paper: Paper) -> str:
    """What a field may hold: `a, b or tie: who won the round`."""
    if field.kind == "number":
        bounded = field.least is not None and field.most is not None
        said = f"{field.least:g} to {field.most:g}" if bounded else "a number"
    else:
        said = _or(field.of or paper.sides)
    return f"{said}: {field.about}" if field.about else said


def _or(names: Any) -> str:
    *most, last = names
    return f"{', '.join(most)} or {last}" if most else str(last)


def empty(paper: Paper, digest: str, reviewer: str, day: str) -> dict[str, Any]:
    """A ballot of which nothing is filled in but what is known."""
    return {"ballot": VERSION, "journal": digest, "reviewer": reviewer, "date": day}
