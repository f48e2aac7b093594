"""From settings to the first event of a debate: checked, positions derived, everything resolved.

The format, the context files and the digests of the templates go into the journal's first line, so that the journal
stays complete when prompts/ changes. The nonce and the seed are drawn here, once.
"""

from __future__ import annotations

import asyncio
import os
import secrets
from collections.abc import Mapping, Sequence
from typing import Any

from debate_orchestrator import __version__
from debate_orchestrator.core.debated_names import could_name_sides
from debate_orchestrator.core.events import MAX_CONTEXT, MAX_FILES, ContextFile, Noted, Opened
from debate_orchestrator.core.fold import CurrentState, fold
from debate_orchestrator.core.format import Format
from debate_orchestrator.core.phases import DECISION_BRIEF, ISSUES, RAPPORTEUR
from debate_orchestrator.core.positions import has_placeholders, positions_or_model
from debate_orchestrator.core.reply import Reply
from debate_orchestrator.core.settings import Settings
from debate_orchestrator.core.state import DebateState, debated_texts
from debate_orchestrator.engine import budget
from debate_orchestrator.engine.budget import estimate_debate
from debate_orchestrator.engine.moderator import derive_positions
from debate_orchestrator.formats import loader
from debate_orchestrator.providers import cast_providers
from debate_orchestrator.providers.provider import NO_PERMISSIONS, Permissions
from debate_orchestrator.setup.answers import host_problem, without_stand_in_rapporteur
from debate_orchestrator.storage.journal import must_be_new
from debate_orchestrator.storage.journal_lines import SCHEMA
from debate_orchestrator.storage.paths import DebateFiles
from debate_orchestrator.util import model_spec
from debate_orchestrator.util.data import read_text
from debate_orchestrator.util.errors import BadFile, BadSettings, DebateError, short_repr, with_hint
from debate_orchestrator.util.messages import Notify, and_joined, ignore


def as_rehearsal(settings: Settings, *, people: bool = False) -> Settings:
    """The same settings with a stand-in in every seat, which calls no model; with `people`, they keep their seats, and
    no stand-in draws up issues or writes a decision brief for them."""
    unchanged = (model_spec.HUMAN,) if people else ()
    cast = {
        seat: tuple(spec if spec in unchanged else model_spec.stand_in(spec) for spec in specs)
        for seat, specs in settings.cast.items()
    }
    names = [name for name in (ISSUES, DECISION_BRIEF) if getattr(settings, name) is True]
    if left_out := without_stand_in_rapporteur(cast, names):
        del cast[RAPPORTEUR]
    return settings.model_copy(update={"cast": cast, **left_out})


def call_problems(
    cast: Mapping[str, tuple[str, ...]], *, people: bool, permissions: Permissions = NO_PERMISSIONS
) -> list[str]:
    """The reasons that a cast can't be called from here, one sentence each: a spec that can't be used, people who can't
    be asked, a key that is missing. `people` as for `people_problems`."""
    problems = cast_providers.cast_problems(cast) + people_problems(cast, people)
    return problems + cast_providers.key_problems(cast, permissions)


def people_problems(cast: Mapping[str, tuple[str, ...]], people: bool) -> list[str]:
    """The reason that the people in a cast can't be asked: there is no way to ask them unless `people` is true, and
    none beside an agent host, whose turns are taken by a step that asks no person."""
    seats = [seat for seat, specs in cast.items() if model_spec.HUMAN in specs]
    if seats and not people:
        host = and_joined([f"`cast.{seat}: host`" for seat in seats])
        hint = "`debate step` then writes briefs to files and reads replies from files, which people can write by hand"
        no_terminal = f"cast: {', '.join(seats)}: a human needs a terminal, and there is none."
        return [with_hint(no_terminal, f"{host}; {hint}")]
    problem = host_problem(cast)
    return [problem] if problem else []


def real_debate_problems(settings: Settings, *, people: bool, permissions: Permissions) -> list[str]:
    """The reasons that a debate can't be held though its rehearsal can. A missing key is none: it may come later."""
    cast = {seat: tuple(specs) for seat, specs in model_spec.unrehearsed_cast(settings.cast).items()}
    problems = cast_providers.cast_problems(cast) + people_problems(cast, people)
    problems += cast_providers.unencrypted_problems(cast, permissions)
    problems += budget.price_problems(cast) if settings.max_cost is not None else []
    try:
        _must_be_new(DebateFiles.named_by(settings.output))
    except DebateError as error:
        problems += error.problems
    return problems


def must_be_callable(cast: Mapping[str, tuple[str, ...]], *, people: bool = False) -> None:
    """Raises BadSettings, with every problem, if a cast can't be called from here."""
    if problems := call_problems(cast, people=people):
        raise BadSettings(problems)


def check_settings(
    settings: Settings,
    files: DebateFiles,
    *,
    people: bool = False,
    permissions: Permissions = NO_PERMISSIONS,
    more_problems: Sequence[str] = (),
) -> None:
    """Raises before anything is written or paid: BadSettings with every problem of `call_problems`, of the cap and
    `more_problems`, which the caller found; BadFile or BadJournal if a file is there already or a recording can't be
    read. The output's folder is made if nothing else is wrong."""
    problems = [*call_problems(settings.cast, people=people, permissions=permissions), *more_problems]
    problems += budget.price_problems(settings.cast) if settings.max_cost is not None else []
    if has_placeholders(settings.positions or {}) and not model_spec.is_rehearsal(settings.cast):
        problems.append("positions: these are a rehearsal's placeholders. Try: `positions: auto`, or your own.")
    try:
        opened = make_opened(with_placeholders(settings))
    except BadSettings as error:
        problems += error.problems
    if problems:
        raise BadSettings(problems)
    cast_providers.make_providers(CurrentState(fold([opened])), permissions=permissions)  # tells of a bad recording now
    DebateFiles.made_for(files.report)
    _must_be_new(files)


def _must_be_new(files: DebateFiles) -> None:
    must_be_new(files.journal)
    files.must_be_new(except_for=files.journal)  # an empty journal may be there


async def opened_with_positions(
    settings: Settings,
    notify: Notify = ignore,
    permissions: Permissions = NO_PERMISSIONS,
    stop: asyncio.Event | None = None,
    paid_replies: list[Reply] | None = None,
) -> Opened:
    """The event that opens a debate; positions that are missing and that `with_positions` can't make, a model derives.
    All else is read and checked before that call, and nothing is awaited after it. Once `stop` is set, no further call
    is made. Each reply that was paid for is added to `paid_replies`. Nothing is written. Raises what `with_positions`,
    `make_opened` and `derive_positions` raise."""
    settings, spec = with_positions(settings)
    opened = make_opened(with_placeholders(settings))
    if not spec:
        return opened
    provider = cast_providers.make_provider(spec, CurrentState(fold([opened])), permissions)
    replies = [] if paid_replies is None else paid_replies
    positions = await derive_positions(settings, provider, notify, stop or asyncio.Event(), replies)
    origins = {**settings.origins, "positions": "derived"}
    opened = with_mirror_form(opened.with_settings(positions=positions, origins=origins))
    return opened.model_copy(update={"moderator_replies": tuple(replies)})


def with_positions(settings: Settings) -> tuple[Settings, str]:
    """The settings with positions that were given, or made without a model, and an empty spec; or as they are, and the
    spec of the model that derives them. Raises BadSettings if there are none and no model can be called."""
    if settings.positions:
        return settings, ""
    positions, spec = _positions_or_model(settings)
    if spec:
        return settings, spec
    if not positions:
        no_model = "and no model of this cast can word its two sides."
        problem = f"positions: {short_repr(settings.topic)} is no yes-or-no question, {no_model}"
        hint = "`positions.a: '...'` `positions.b: '...'`, or `positions:` in the answers file"
        if any(model_spec.HOST in specs for specs in settings.cast.values()):
            hint += ", or `debate ask FILE`, which has an agent host word them"
        raise BadSettings(problem, hint=hint)
    origins = {**settings.origins, "positions": "default"}
    return settings.model_copy(update={"positions": positions, "origins": origins}), ""


def estimate_sentence(settings: Settings, deriving_model: str) -> str:
    """What a debate takes, in a sentence; `deriving_model` is the spec of the model that derives its positions first,
    if one does. Raises BadSettings for bad context files."""
    estimate = estimate_debate(make_opened(with_placeholders(settings)))
    return estimate.model_copy(update={"deriving_model": deriving_model}).sentence()


def deriving_model(settings: Settings) -> str:
    """The spec of the model that `opened_with_positions` calls for the positions; empty if it calls none."""
    return "" if settings.positions else _positions_or_model(settings)[1]


def _positions_or_model(settings: Settings) -> tuple[dict[str, str], str]:
    return positions_or_model(settings.topic, settings.cast, loader.load(settings.format).sides)


def with_placeholders(settings: Settings) -> Settings:
    """The settings with placeholders for positions that are still to be derived."""
    if settings.positions:
        return settings
    sides = loader.load(settings.format).sides
    return settings.model_copy(update={"positions": dict.fromkeys(sides, "not derived yet")})


def make_opened(
    settings: Settings,
    *,
    loaded: tuple[Format, dict[str, str]] | None = None,
    seed: int | None = None,
) -> Opened:
    """The event that opens a debate with these settings. `loaded` is the format and its own templates, and `seed` is
    the debate's, if they are known already. Raises BadSettings if positions are still to be derived, or with every
    context file that can't be read."""
    if not settings.positions:
        raise BadSettings("positions: they are not derived yet. Derive them with `debate ask`, or write them out.")
    context = _context(settings.context)
    format, templates = loaded or loader.load_with_templates(settings.format)
    # Bare names, since a journal may be passed on, and folder names are private.
    names = {"context": tuple(file.name for file in context), "format": format.name}
    names["output"] = os.path.basename(DebateFiles.named_by(settings.output).report)
    return new_opened(
        format,
        templates,
        settings=settings.model_copy(update=names),
        context=context,
        seed=secrets.randbits(32) if seed is None else seed,
    )


def notes_after_opened(settings: Settings, estimate: str = "") -> list[Noted]:
    """The notes that follow the first event: that one agent takes every turn, and in a rehearsal the `estimate` of
    what the real debate takes."""
    notes = [Noted(note="one agent")] if settings.one_agent else []
    return [*notes, Noted(note="estimate", detail=estimate)] if estimate else notes


def new_opened(format: Format, templates: Mapping[str, str], **values: Any) -> Opened:
    """The first event, made now: version, digests of the prompts, nonce and, unless it is given, seed are of today."""
    return with_mirror_form(
        Opened(
            schema_version=SCHEMA,
            version=__version__,
            format=format,
            prompts=loader.digests(format, templates),
            templates=dict(templates),
            nonce=secrets.token_hex(8),
            mark_rules=2,
            stand_in_findings_decide=False,
            **{"seed": secrets.randbits(32), **values},
        )
    )


def with_mirror_form(opened: Opened) -> Opened:
    """The event with the decision whether a mirrored debate keeps the sides' names, by all that is debated."""
    order_only = opened.settings.mirror and could_name_sides(opened.format, debated_texts(opened))
    return opened.model_copy(update={"mirror_order_only": order_only})


def context_problems(paths: object) -> list[str]:
    """The problems of the context files that answers name; none if the answer names no files."""
    names = [paths] if isinstance(paths, str) else paths
    if isinstance(names, list | tuple) and all(isinstance(name, str) for name in names):
        try:
            _context(tuple(names))
        except BadSettings as error:
            return error.problems
    return []


def _context(paths: tuple[str, ...]) -> tuple[ContextFile, ...]:
    if len(paths) > MAX_FILES:
        raise BadSettings(f"context: {len(paths):,} files were named, and at most {MAX_FILES} are read.")
    problems: list[str] = []
    files = []
    for path in paths:
        try:
            files.append(ContextFile(name=os.path.basename(path), text=read_text(path, MAX_CONTEXT)))
        except BadFile as error:
            problems += [f"context: {message}" for message in error.problems]
    total = sum(len(file.text.encode()) for file in files)
    if total > MAX_CONTEXT:
        problems.append(f"context: the files have {total:,} bytes in total, and at most {MAX_CONTEXT:,} are allowed.")
    if problems:
        raise BadSettings(problems)
    return tuple(files)


def changed_prompts(debate: DebateState) -> Noted | None:
    """A note for the journal if this installation's prompts are not those that the debate is known to use."""
    then, now = debate.opened.prompts, loader.digests(debate.format, debate.opened.templates)
    differing = sorted(name for name in now.keys() | then.keys() if now.get(name) != then.get(name))
    detail = ", ".join(f"{name} {now.get(name, 'gone')[:12]}" for name in differing) or "as it was opened"
    earlier = [note.detail for note in debate.notes if note.note == "prompts changed"] or ["as it was opened"]
    return None if detail == earlier[-1] else Noted(note="prompts changed", detail=detail)
