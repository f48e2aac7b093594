"""The user's consent to what a file does beyond the debate: asked for at a terminal, and elsewhere given by --trust.

What was agreed to is remembered in the user's state folder, for that answers file or journal alone. Each record holds
digests of what was agreed to, so that a file which asks for other things later is asked about again.
"""

from __future__ import annotations

import hashlib
import os
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

from debate_orchestrator.cli.given import STANDARD_INPUT, STDIN
from debate_orchestrator.cli.output import remark
from debate_orchestrator.cli.seating import at_terminal
from debate_orchestrator.core.state import DebateState
from debate_orchestrator.setup import risks as risks_module
from debate_orchestrator.setup.risks import Risk
from debate_orchestrator.storage.files import write_atomic
from debate_orchestrator.storage.journal import Entry, JournalWriter
from debate_orchestrator.storage.paths import state_folder
from debate_orchestrator.util.data import name_of, real_path
from debate_orchestrator.util.errors import BadFile, BadSettings, complaint

Ask = Callable[[str, Sequence[Risk]], bool]
"""Shows a person what a file of that name does beyond the debate; whether they agree."""


class Origin(NamedTuple):
    """The file that values come from."""

    name: str
    key: str
    """What it is remembered by; empty where it can't be told from another."""


def of_file(path: str) -> Origin:
    """An answers file, known by where it lies."""
    return Origin(STDIN, "") if path == STANDARD_INPUT else Origin(name_of(path), _key("answers", path))


def of_journal(journal: JournalWriter) -> Origin:
    """A journal, known by its first line and where it lies: a copy of it may come from elsewhere."""
    return of_entries(journal.path, journal.entries)


def of_entries(path: str, entries: Sequence[Entry]) -> Origin:
    """The journal at a path that holds these entries."""
    return Origin(name_of(path), _key(f"journal {entries[0].hash}", path))


def _key(kind: str, path: str) -> str:
    """What a file there is remembered by; empty where it can't be told where it lies."""
    try:
        return f"{kind} {real_path(path)}"
    except OSError:
        return ""


def agree(origin: Origin, risks: Sequence[Risk], *, trusted: bool, ask: Ask | None = None) -> None:
    """Returns when the user agrees to all of these risks, and remembers it. BadAnswers, with each of them, where the
    user does not, or where there is no terminal to `ask` at and it is not `trusted`."""
    if not lacking(origin, risks):
        return
    if not trusted and (ask or at_terminal()):
        if not (ask or _ask)(origin.name, risks):
            raise BadSettings(f"{origin.name} was not trusted, and nothing was done.")
    elif not trusted:
        said = f"a setup that reaches beyond the debate ({'; '.join(one.said for one in risks_module.ordered(risks))})"
        otherwise = "leave it" if origin.key.startswith("journal") else "change it there, or give other values as flags"
        hint = f"If you trust all of it, add --trust; otherwise {otherwise}."
        raise BadSettings(complaint(origin.name, said, "your consent", hint))
    remember(origin, risks)


def agree_to_answers(path: str, given: Mapping[str, Any], *, trusted: bool, ask: Ask | None = None) -> None:
    """As `agree`, to answers that the file at a path gave."""
    agree(of_file(path), risks_module.of_answers(given), trusted=trusted, ask=ask)


def remember_answers(path: str, given: Mapping[str, Any], before: str = "") -> None:
    """Remembers answers that are in the file at a path and were all agreed to, or typed by the user. What was agreed to
    of the file `before`, where they lay until now, is forgotten if that is gone: another may come to lie there."""
    if before and not os.path.lexists(before) and (record := _record(of_file(before))):
        with suppress(OSError):
            record.unlink()
    remember(of_file(path), risks_module.of_answers(given))


def agree_to_debate(
    journal: JournalWriter, debate: DebateState, typed: Mapping[str, tuple[str, ...]] = {}, *, trusted: bool
) -> None:
    """As `agree`, to going on with a journal's debate; seats that are `typed` now need no consent."""
    if not debate.due():
        return
    from_file = {seat: who for seat, who in debate.cast.items() if seat not in typed}
    agree(of_journal(journal), risks_module.of_going_on(debate.opened, from_file), trusted=trusted)
    remember(of_journal(journal), risks_module.of_going_on(debate.opened, debate.cast | dict(typed)))


def lacking(origin: Origin, risks: Sequence[Risk]) -> list[Risk]:
    """The risks that were not agreed to yet."""
    known = _known(origin) if risks else set()
    return [one for one in risks if one.digest not in known]


def remember(origin: Origin, risks: Iterable[Risk]) -> None:
    """Remembers that the user agreed to these; where that can't be written, they will be asked about again."""
    agreed, record = {one.digest for one in risks}, _record(origin)
    if record is None or agreed <= (known := _known(origin)):
        return
    try:
        record.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        write_atomic(record, "".join(f"{digest}\n" for digest in sorted(agreed | known)))
    except (OSError, BadFile):
        pass


def _known(origin: Origin) -> set[str]:
    record = _record(origin)
    try:
        return set(record.read_text(encoding="ascii").split()) if record else set()
    except (OSError, ValueError):
        return set()


def _record(origin: Origin) -> Path | None:
    """The file that holds what was agreed to; None where nothing can be remembered."""
    folder, name = state_folder(), hashlib.sha256(origin.key.encode("utf-8", "surrogatepass")).hexdigest()
    return folder / "trusted" / name if folder and origin.key else None


def _ask(name: str, risks: Sequence[Risk]) -> bool:
    items = risks_module.told(risks)
    remark(f"{name} reaches beyond the debate:")
    for item in items:
        remark(item)
    print("Do you trust it with that? [y/N] ", end="", file=sys.stderr, flush=True)
    return sys.stdin.readline().strip().lower() in ("y", "yes")
