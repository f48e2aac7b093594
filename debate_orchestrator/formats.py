"""Formats read from prompts/: YAML in, `core.rules.Format` out, with every complaint at once."""

from __future__ import annotations

from functools import cache
from typing import Any

from pydantic import ValidationError

from debate_orchestrator import library
from debate_orchestrator.core.rules import Format, Phase, calendar, judges
from debate_orchestrator.datafiles import read_mapping
from debate_orchestrator.errors import BadFormat, complaint, shown


@cache
def load(name: str) -> Format:
    """The format of that name, resolved: its rubric is in it. BadFormat where it is unknown or ill made."""
    folder = library.format_folder(name)
    data = read_mapping(folder / "format.yaml")
    rubric = str(data.get("rubric"))
    path = library.prompts() / "judges" / f"{rubric}.yaml"
    if not path.is_file():
        raise BadFormat(complaint(f"{name}/format.yaml: rubric", shown(rubric), "a file in prompts/judges/"))
    data |= {"name": name, "rubric": {"name": rubric, **read_mapping(path)}}
    try:
        made = Format.model_validate(data)
    except ValidationError as error:
        raise BadFormat([_said(name, item) for item in error.errors()]) from None
    missing = [phase.name for phase in made.phases() if not (folder / template(phase)).is_file()]
    if missing:
        raise BadFormat([complaint(f"{name}: phase {one}", "no template", f"a file {one}.md.j2") for one in missing])
    return made


def template(phase: Phase) -> str:
    """The file, in the format's folder, of the task that a phase sets."""
    return f"{phase.template or phase.name}.md.j2"


def _said(name: str, item: Any) -> str:
    where = ".".join(str(part) for part in item["loc"])
    return complaint(f"{name}/format.yaml: {where or 'the format'}", shown(item.get("input")), item["msg"])


def agenda(made: Format, rounds: int, strictness: str, panel: int = 1) -> list[tuple[str, str, list[str]]]:
    """The format unrolled for so many rounds: for each stage the part it belongs to, how it comes about, and
    its turn ids. Phases that answer something found are shown as conditional."""
    stages: list[tuple[str, str, list[str]]] = []
    for slot in calendar(made, rounds, strictness, made.options):
        part = f"round {slot.round}" if slot.round is not None else "closing" if slot.closing else "before"
        taken = slot.stages(made.sides, judges(panel))
        how = "alone" if sum(len(seats) for seats in taken) < 2 else str(slot.phase.order)
        how = f"only on {slot.phase.on}, those it names" if slot.phase.on else how
        how = f"{how}, only if asked for ({slot.phase.option})" if slot.phase.option else how
        stages += [(part, how, [slot.turn_id(seat) for seat in seats]) for seats in taken]
    return stages
