"""The risks of a setup: the programs, servers and other files that it would use, and prompts that are not this
program's own.

A value that the user typed is the user's own. A value from an answers file or a journal may come from someone else:
what is listed here of it needs the user's consent, for which `cli.consent` asks.
"""

from __future__ import annotations

import hashlib
import itertools
import json
import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Literal

from debate_orchestrator.core.events import Event, Opened
from debate_orchestrator.core.format import Format
from debate_orchestrator.core.settings import Settings
from debate_orchestrator.core.values import FrozenModel, under_first_field_names
from debate_orchestrator.formats import loader
from debate_orchestrator.storage.paths import MAX_PATH_LENGTH, DebateFiles
from debate_orchestrator.util import model_spec, resources
from debate_orchestrator.util.data import is_link, real_path
from debate_orchestrator.util.errors import BadFile, BadSettings, short_repr
from debate_orchestrator.util.redact import truncate

Kind = Literal["program", "server", "recording", "context", "output", "format", "pages", "rounds", "calls", "ballot"]
_PHRASES: dict[Kind, str] = {
    "program": "the program",
    "server": "the server",
    "recording": "the recording",
    "context": "the file",
    "output": "the report",
    "format": "the prompts of",
    "rounds": "the debate of",
    "pages": "the pages at",
    "calls": "paid calls, before the price of the debate is shown, of",
    "ballot": "the ballot of",
}
_INSTRUCTIONS = frozenset(
    {"agent", "agents", "best_practices", "claude", "codex", "conventions", "copilot-instructions", "crush", "gemini"}
    | {"iflow", "knowledge", "opencode", "qwen", "readme", "replit", "skill", "warp"}
)
"""Names of files that agents read as instructions, in lower case; they match in any, as some file systems ignore case,
and with `_VARIANT`."""
_VARIANT = re.compile(r"(\.(local|override))?\.md\Z", re.IGNORECASE)
_INSTRUCTION_FOLDERS = frozenset({"agents", "commands", "output-styles", "rules", "skills"})
"""Folders whose every file agents read as instructions."""
_FOLDERS_IN_HIDDEN = _INSTRUCTION_FOLDERS | frozenset(
    {"agent", "chatmodes", "command", "droids", "guidelines", "instructions", "memories", "microagents", "modes"}
    | {"prompts", "steering", "workflows"}
)
"""Folders directly inside a hidden folder whose every file agents read as instructions, also with an ending after `-`:
`.github/prompts`, `.kiro/steering`, `.roo/rules-code`."""
_HIDDEN_FOLDERS = frozenset({".clinerules", ".junie"})
"""Hidden folders whose own files agents read as instructions."""


_SERIOUS: tuple[Kind, ...] = ("server", "program")
_MAX_SERIOUS_LENGTH = 1_500
"""Characters that the programs and servers of one question may take, so that none scrolls away."""
_MAX_SHOWN = 5
"""The number of another kind that are shown, if there are more."""


_EARLIER_DIGESTS = frozenset(
    {
        "45c46bdca2337c1beafbccb88abf1969d3a8d0cd8c8fb8239d109676168c040e",  # adversarial
        "e4c4c9b8e4e4ff00b4689870babc516dbb0cbb55ccd0d99832c676fa3bd67cde",  # adversarial
        "9f4bb6f11ba21af54ea97a26f169ca5f20a0936377e9cebcc8ee05933a4153f4",  # claim
        "dff9dc4720d1213fac29a5708bfa95466aa6f2689f865b61fcf104b77dcbda8a",  # conversation
        "ce460f13f7cdebc69618f9436ce9cbcbf54db6fc96dfbf7bdc749afd5e47b269",  # panel
        "7a4eede8a922b72848d11bb52c1d57278dd8d92a521c69522562e557bc1f8b78",  # panel
        "de868ef28aa2a937bd5d45de30f8df4ade2ba9504fc91bb0e74017bf6cda571c",  # question
        "13d41388d9ece59869572830e1265fe1d13bc43df2a35457cda4093e303f7dae",  # transcript
    }
)
"""The digests of formats as earlier versions shipped them, so that their journals need no consent; see `_digest`."""


WANTS = "wants to run programs, contact servers or use files outside this folder"
"""The description of a setup with risks, for messages."""


class Risk(FrozenModel):
    """One program, server, file or set of prompts that a setup wants to use."""

    kind: Kind
    """A `recording` is the journal that a `replay:` spec names, a `ballot` a journal of `debate probe`."""
    where: str
    """The keys of the setup that ask for it, as in `cast.a, cast.b`."""
    what: str
    """A whole command line, an address, or the path to which a file name really leads."""
    folder: str = ""
    """The folder in which a program runs: there it finds its files, modules and configuration."""

    @property
    def text(self) -> str:
        """The risk in words that are safe to show."""
        where = f" (in {_printable(self.folder)})" if self.folder else ""
        return f"{_printable(self.where)}: {_PHRASES[self.kind]} {_printable(self.what)}{where}"

    @property
    def digest(self) -> str:
        """Identifies a risk that the user has agreed to, regardless of the key that asks for it. A program is
        identified by its command line and its folder, a server or a file by its name and not by its content, and the
        prompts of a journal by their words."""
        identity = "\0".join(filter(None, (f"{self.kind} {self.what}", self.folder)))
        return hashlib.sha256(identity.encode("utf-8", "surrogatepass")).hexdigest()


def _printable(text: str) -> str:
    """A text that can't be mistaken for another, nor for rows of a list; cut if it is long."""
    maximum = model_spec.MAX_COMMAND_LENGTH
    escaped = _escaped(text)
    return escaped if len(escaped) <= maximum else f"{truncate(escaped, maximum)} [... {len(text):,} characters]"


def _escaped(text: str) -> str:
    """A text with escapes for look-alikes of ASCII letters, for what is not shown, and for spaces in a row."""
    if text.isascii() and text.isprintable() and "  " not in text:
        return text
    return re.sub(" {2,}", lambda run: f"\\x20{{{len(run[0])}}}", ascii(text))


def sort_risks(risks: Iterable[Risk]) -> list[Risk]:
    """The most serious last, where a question follows."""
    kinds = [kind for kind in _PHRASES if kind not in _SERIOUS] + [*_SERIOUS]
    return sorted(risks, key=lambda risk: kinds.index(risk.kind))


def risk_lines(risks: Iterable[Risk]) -> list[str]:
    """Items of a list for a person, in that order; of many files the first few are shown, and the others counted.
    Raises BadSettings if there is more than a person can look through."""
    in_order = sort_risks(risks)
    serious_risks = [risk for risk in in_order if risk.kind in _SERIOUS]
    if sum(
        len(_escaped(risk.what)) + len(risk.where) + len(risk.folder) for risk in serious_risks
    ) > _MAX_SERIOUS_LENGTH or any(len(risk.what) > model_spec.MAX_COMMAND_LENGTH for risk in serious_risks):
        raise BadSettings(
            "The setup uses more programs and servers than can be shown, so that no one could agree to it."
        )
    items = []
    for kind, group in itertools.groupby(in_order, key=lambda risk: risk.kind):
        risks_of_kind = list(group)
        shown_risks = risks_of_kind if kind in _SERIOUS else risks_of_kind[:_MAX_SHOWN]
        items += [f"  - {risk.text}" for risk in shown_risks]
        if more_count := len(risks_of_kind) - len(shown_risks):
            items.append(f"  - {kind}: {more_count:,} more")
    return items


def of_settings(
    settings: Settings | Mapping[str, Any], typed_format: str | None = None, *, remote: bool = False
) -> tuple[Risk, ...]:
    """The risks of settings, or of answers, checked or not: in these, values of another type are left out, since
    nothing comes of them. A `typed_format` takes the place of theirs and is not a risk, but its clerk may be one.
    In `remote` settings every recording is a risk, even in the working folder: another machine chose the path and
    learns the result, so it could probe the user's files."""
    values = dict(settings)
    risks = list(_of_cast(values.get("cast"), _real if remote else _outside))
    for path in _texts(values.get("context")):
        if target := _outside(path):
            risks.append(Risk(kind="context", where="context", what=target))
    if report := _report(values.get("output")):
        real = _real(report)
        if target := _outside(report) or (real if is_read_as_instructions(real) else ""):
            risks.append(Risk(kind="output", where="output", what=target))
    format = typed_format or values.get("format")
    if not typed_format and isinstance(format, str) and loader.is_path(format):
        risks.append(Risk(kind="format", where="format", what=_real(os.path.expanduser(format))))
    return _merge(risks)


def of_debate(opened: Opened, cast: Mapping[str, tuple[str, ...]]) -> tuple[Risk, ...]:
    """The risks of taking turns with that cast: of the cast, of the prompts, and more rounds than a user may choose."""
    risks = list(_of_cast(cast))
    for seat, specs in cast.items():
        if any(model_spec.kind(spec) == model_spec.FETCH for spec in specs):
            risks.append(Risk(kind="pages", where=f"cast.{seat}", what="every address that its speeches cite"))
    risks += of_prompts(opened.format, opened.templates)
    rounds, maximum = opened.settings.rounds, opened.format.round_limits.max_if_insisted
    if rounds > maximum:
        risks.append(
            Risk(kind="rounds", where="settings.rounds", what=f"{rounds} rounds, where its format takes {maximum}")
        )
    return _merge(risks)


def of_journal(path: str | os.PathLike[str], opened: Opened, cast: Mapping[str, tuple[str, ...]]) -> tuple[Risk, ...]:
    """The risks of taking turns in the debate of this journal: those of the debate, and those of its report."""
    return (*of_debate(opened, cast), *of_journal_name(path))


def of_journal_name(path: str | os.PathLike[str]) -> tuple[Risk, ...]:
    """The risk that agents read the report of this journal, by its name, as instructions; empty if there is none."""
    return _of_report(DebateFiles.of_journal(os.fspath(path)).report, "the journal's name")


def _of_report(report: str, where: str) -> tuple[Risk, ...]:
    return (Risk(kind="output", where=where, what=_real(report)),) if is_read_as_instructions(report) else ()


def of_prompts(format: Format, templates: Mapping[str, str]) -> Iterator[Risk]:
    """The risk of a format that does not come with this program, as journals and tournaments carry it: its words."""
    if not _is_shipped(format, templates):
        what = f"{format.name} in the journal ({_digest(format, templates)[:12]})"
        yield Risk(kind="format", where="format", what=what)


def of_rejudging(events: Sequence[Event], report: str = "") -> tuple[Risk, ...]:
    """The risks of judging an earlier debate again, or a transcript, which has no events: the prompts, more rounds than
    the format takes, and a `report` that is named after the source."""
    named = _of_report(report, "the source's name") if report else ()
    return (*of_debate(events[0], {}), *named) if events and isinstance(events[0], Opened) else named


def _is_shipped(format: Format, templates: Mapping[str, str]) -> bool:
    """Whether a format is a shipped one, word for word. Every word counts, since much of a format's data (criteria,
    strictness, what a field is about) is put into briefs, as its templates are."""
    if format.name in resources.format_names():
        shipped, shipped_templates = loader.load_with_templates(format.name)
        if templates == shipped_templates and format.model_dump_json() == shipped.model_dump_json():
            return True
    return _digest(format, templates) in _EARLIER_DIGESTS


def _digest(format: Format, templates: Mapping[str, str]) -> str:
    """A digest of templates and of what a format says beside the defaults, whose fields later versions may rename, move
    and add to; the order of its seats, shapes and criteria counts."""
    content = f"{json.dumps(under_first_field_names(format))}{sorted(templates.items())}"
    return hashlib.sha256(content.encode("utf-8", "surrogatepass")).hexdigest()


def _of_cast(cast: object, target_if_risky: Callable[[str], str] | None = None) -> Iterator[Risk]:
    """The risks of a cast. `target_if_risky` gives where the path of a recording leads if that is a risk, else an empty
    text; by default, one outside the working folder is."""
    target_if_risky = target_if_risky or _outside
    seats = cast if isinstance(cast, Mapping) else {"": cast}
    for seat, specs in seats.items():
        where = f"cast.{seat}" if seat else "cast"
        for spec in _texts(specs):
            kind, rest = model_spec.kind(spec), model_spec.rest(spec)
            address = model_spec.split_address(rest)[1]
            if kind == model_spec.COMMAND:
                yield Risk(kind="program", where=where, what=rest, folder=os.getcwd())
            elif kind == model_spec.REPLAY:
                if target := target_if_risky(rest):
                    yield Risk(kind="recording", where=where, what=target)
            elif address is not None and kind != model_spec.REHEARSE:
                yield Risk(kind="server", where=where, what=address)


def _report(output: object) -> str:
    """The path of the report that an output names; empty if nothing is written."""
    try:
        return DebateFiles.named_by(output).report if isinstance(output, str) else ""
    except (BadFile, ValueError):
        return ""


def is_read_as_instructions(path: str) -> bool:
    """Whether a report there may be taken for instructions to agents, or for a standard file of a repository
    (README.md): its name is in capitals, or one of those that are known, or it is in a folder of such files."""
    folder, name = os.path.split(_real(path))
    stem, here = _VARIANT.sub("", name), os.getcwd()
    names = folder.casefold().split(os.sep)
    nearest = {*os.path.relpath(folder, here).casefold().split(os.sep), os.path.basename(here).casefold(), names[-1]}
    return (
        stem.isupper()
        or stem.casefold() in _INSTRUCTIONS
        or not _INSTRUCTION_FOLDERS.isdisjoint(nearest)
        or not _HIDDEN_FOLDERS.isdisjoint(names)
        or any(
            above.startswith(".") and not _FOLDERS_IN_HIDDEN.isdisjoint({name, name.partition("-")[0]})
            for above, name in itertools.pairwise(names)
        )
    )


def is_outside_or_hidden(path: str, folder: str = os.curdir) -> bool:
    """Whether a file is neither in the working folder nor in this one, or is hidden there: an agent host may not hand
    it in unasked, since it goes to the models of the debate. A link in place of this folder may lead to any files."""
    return bool(_outside(path) and (is_link(folder) or _outside(path, folder)))


def _outside(path: str, folder: str = "") -> str:
    """The real target of a path, if it is outside a folder (by default the working folder), hidden in it, or unknown;
    otherwise empty."""
    _must_be_short(path)
    try:
        target = real_path(path)
    except OSError:
        return _real(path)
    except ValueError:  # no file can have that name: reading it fails with a message
        return ""
    parts = os.path.relpath(target, os.path.realpath(folder)).split(os.sep)
    return target if any(part.startswith(".") for part in parts) else ""


def _real(path: str) -> str:
    """The real target of a path; the path as it is written, if that is unknown."""
    _must_be_short(path)
    try:
        return os.path.realpath(path)
    except (OSError, ValueError):
        return os.path.join(os.getcwd(), path)


def _must_be_short(path: str) -> None:
    """Raises BadSettings for a path that no system takes: to look where it leads would take minutes."""
    if len(path) > MAX_PATH_LENGTH:
        raise BadSettings(f"{short_repr(path)} is not a path: it has more than {MAX_PATH_LENGTH:,} characters.")


def _texts(value: object) -> list[str]:
    values = value if isinstance(value, list | tuple) else [value]
    return [text for text in values if isinstance(text, str)]


def _merge(risks: list[Risk]) -> tuple[Risk, ...]:
    """Each thing once, with every key that asks for it."""
    keys: dict[str, list[str]] = {}
    for risk in risks:
        keys.setdefault(risk.digest, []).append(risk.where)
    by_digest = {risk.digest: risk for risk in risks}
    return tuple(
        by_digest[digest].model_copy(update={"where": ", ".join(dict.fromkeys(settings_keys))})
        for digest, settings_keys in keys.items()
    )
