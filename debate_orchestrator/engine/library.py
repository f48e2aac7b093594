"""The functions that `debate_orchestrator` offers to Python programs."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from debate_orchestrator.core.events import Event, Noted, Opened
from debate_orchestrator.core.format import Format
from debate_orchestrator.core.phases import JUDGE
from debate_orchestrator.core.settings import Settings
from debate_orchestrator.core.state import DebateState
from debate_orchestrator.engine import format_check, start
from debate_orchestrator.engine import rejudge as rejudge_module
from debate_orchestrator.engine.budget import estimate_debate, price_problems
from debate_orchestrator.engine.debate import (
    DebateSession,
    OnJournal,
    RequireConsent,
    continue_debate,
    create_debate,
    create_paid_debate,
    drive,
    finish,
    limit_changes,
    reopening,
    seat_providers,
)
from debate_orchestrator.engine.turn import OnEvent, OnText, RunOptions
from debate_orchestrator.providers import discovery
from debate_orchestrator.reports import report_files
from debate_orchestrator.reports.model import ReportModel, report_of
from debate_orchestrator.setup import risks
from debate_orchestrator.setup.answers import format_of, judging_settings, make_settings
from debate_orchestrator.storage.journal import read
from debate_orchestrator.storage.journal_lines import JournalContents, state_of_events
from debate_orchestrator.storage.paths import REPORT, DebateFiles
from debate_orchestrator.util import model_spec
from debate_orchestrator.util.data import name_of
from debate_orchestrator.util.errors import BadSettings, ExternalError
from debate_orchestrator.util.messages import ignore

PathLike = str | os.PathLike[str]


class DebateResult(NamedTuple):
    files: DebateFiles
    """The paths of its journal, its report and the report as a page."""
    state: DebateState
    """The state after its events: `state.replies`, `state.complete`, ..."""
    report: ReportModel
    """The report model, from which every type of report file is rendered."""


async def run(
    settings: Settings | Mapping[str, Any],
    *,
    rehearse: bool = False,
    on_event: OnEvent | None = None,
    on_text: OnText | None = None,
) -> DebateResult:
    """Run a debate from its settings to its report.

    Args:
        settings: a mapping with the keys of an answers file, or `Settings`. A seat without a model gets the best one
            for which a key is set.
        rehearse: let stand-ins take all seats. No model is called, and the files get `.rehearsed` into their names.
        on_event: called with the state and each event, after it is on disk.
        on_text: called with the turn and each piece of a reply, as it arrives.

    Raises:
        BadSettings: the settings have problems; all of them are in `problems`.
        BadFile: the output can't be written, or there is a report already.
        Paused: the debate is saved, and `resume` can go on: a provider is overloaded, the cap is reached
            (`OverBudget`), or a seat waits for the host.
        PermanentFailure: something must be repaired first (`ProviderFailed`: at a provider). Replies are saved.
    """
    default_model = discovery.default_as_if_keyed if rehearse else discovery.default
    with await create(_settings(settings, default_model), rehearse=rehearse) as session:
        return await _run(session, on_event, on_text)


async def resume(
    journal: PathLike,
    *,
    max_cost: float | None = None,
    retry_for: float | None = None,
    trust: bool = False,
    on_event: OnEvent | None = None,
    on_text: OnText | None = None,
) -> DebateResult:
    """Continue a debate from its journal. If the debate is complete but a turn has no usable reply, that turn
    is asked again, and its calls are billed. If nothing is missing, only the report is written again.

    Args:
        max_cost: a new cap in US dollars; None keeps the old one.
        retry_for: seconds that a turn's calls may be silent or retried from now on; None keeps what they were.
        trust: consent to what the journal makes this program do besides the debate: run commands, call servers by
            address, read files elsewhere, send prompts that did not ship with this package.
        on_event, on_text: as in `run`.

    Raises:
        BadSettings: the journal needs your consent (`trust`), or a cap can't be kept.
        BadJournal: the file is not a journal, was changed (`DamagedJournal`) or is in use (`LockedJournal`).
        Paused, PermanentFailure: as in `run`.
    """
    limits = {"max_cost": max_cost, "retry_for": retry_for}
    limits = {name: value for name, value in limits.items() if value is not None}

    def changes(debate: DebateState) -> list[Event]:
        judging_settings(limits, debate.format, 1)
        if max_cost is not None and (problems := price_problems(debate.cast)):
            raise BadSettings(problems)
        return [*reopening(debate), *limit_changes(debate, limits)]

    with continue_debate(journal, consent_if_trusted(trust), changes) as session:
        return await _run(session, on_event, on_text)


async def rejudge(
    source: PathLike,
    judges: str | Sequence[str],
    *,
    output: str | None = None,
    strictness: str | None = None,
    topic: str | None = None,
    positions: Mapping[str, str] | None = None,
    trust: bool = False,
    on_event: OnEvent | None = None,
    on_text: OnText | None = None,
) -> DebateResult:
    """Judge a finished debate again, or one that was written down elsewhere. The result has a journal and a report of
    its own; the source is not changed.

    Args:
        source: a journal, or a transcript as docs/transcripts.md describes it.
        judges: a model spec, or one for each judge of a panel.
        output: where the report goes; by default beside `source`.
        strictness: how strictly to judge; by default as before.
        topic, positions: for a transcript that lacks them.
        trust: consent to prompts in the journal that did not ship with this package.
        on_event, on_text: as in `run`.

    Raises:
        BadSettings: an argument has a problem, or the journal needs your consent.
        BadJournal: the journal can't be read, or its debate is not finished.
        Paused, PermanentFailure: as in `run`.
    """
    rejudging, files = _rejudging(os.fspath(source), judges, output, strictness, topic, positions, trust)
    with create_debate(rejudging.opened, files, rejudging.speeches) as session:
        return await _run(session, on_event, on_text)


def open_rejudging(
    source: PathLike,
    judges: str | Sequence[str],
    *,
    output: str | None = None,
    strictness: str | None = None,
    trust: bool = False,
) -> DebateFiles:
    """Write the journal of a re-judging as `rejudge` runs it, and ask for no ballot yet: `resume` does."""
    rejudging, files = _rejudging(os.fspath(source), judges, output, strictness, None, None, trust)
    with create_debate(rejudging.opened, files, rejudging.speeches):
        return files


def _rejudging(
    path: str,
    judges: str | Sequence[str],
    output: str | None,
    strictness: str | None,
    topic: str | None,
    positions: Mapping[str, str] | None,
    trust: bool,
) -> tuple[rejudge_module.Rejudging, DebateFiles]:
    """A re-judging that may be written down, and the paths that its files will have."""
    panel = (judges,) if isinstance(judges, str) else tuple(judges)
    start.must_be_callable({JUDGE: panel})
    rejudging = rejudge_module.rejudging_from_file(path, panel, strictness, topic, positions)
    return rejudge_module.checked_for_start(rejudging, output, lambda risks: _must_be_trusted(path, risks, trust))


async def open_debate(
    settings: Settings | Mapping[str, Any],
    *,
    rehearse: bool = False,
    people: bool = False,
) -> DebateFiles:
    """Write the journal of a new debate and ask for no turn yet, for a program that replies with `step`. A seat without
    a model is filled by the host, which is that program.

    Args:
        settings, rehearse: as in `run`.
        people: whether the caller can ask the people in the seats that are filled by `human`.

    Raises:
        BadSettings, BadFile: as in `run`.
        Paused, ProviderFailed: positions were to be derived, and the moderator's model failed.
    """
    hosted = _settings(settings, lambda seat: model_spec.HOST)
    with await create(hosted, rehearse=rehearse, people=people) as session:
        return session.files


def read_journal(path: PathLike) -> JournalContents:
    """The `entries` (number, time in UTC, event, hash) and `events` of a journal, verified, and in `torn_bytes` how
    many bytes an interrupted write left at the end. Raises BadJournal if the file is none, or of a newer version, and
    DamagedJournal if a line was changed, is missing, or follows a bad one."""
    return read(path)


def render(journal: PathLike, file_type: str = "markdown") -> str:
    """The report of a journal as "markdown", "html" or "json"; of an unfinished debate it says so. Nothing is written.
    Raises BadSettings if there is no such type, and BadJournal as `read_journal`."""
    suffixes = {entry.name: suffix for suffix, entry in report_files.FILE_TYPES.items()}
    if file_type not in suffixes:
        raise BadSettings(f"file_type: {file_type!r} is not {', '.join(suffixes)}.")
    path = os.fspath(journal)
    return report_files.render_file(report_of(path, read(path).entries), suffixes[file_type])


def load_format(name: str) -> Format:
    """The seats, phases, reply shapes and rubric of a shipped format, by its name, or of one in a folder, which is
    checked whole. Raises BadFormat with each problem, its file and line."""
    return format_check.load(name)


def find_risks(source: Settings | Mapping[str, Any] | PathLike) -> tuple[risks.Risk, ...]:
    """The actions that need consent in a debate with these settings, or from the journal at this path: run programs,
    call servers by address, use files elsewhere, send prompts that did not ship with this package. Nothing is done.
    `text` of each risk is a line for a person. Raises BadJournal as `read_journal`."""
    if isinstance(source, Settings | Mapping):
        return risks.of_settings(source)
    debate = state_of_events(os.fspath(source), read(source).events)
    return risks.of_journal(source, debate.opened, debate.cast)


def consent_if_trusted(trust: bool) -> RequireConsent:
    """Consent to the risks of a journal if the caller trusts it. Raises BadSettings, with every risk, if not."""
    return lambda journal, risks: _must_be_trusted(journal.path, risks, trust)


def _must_be_trusted(path: str, risks_found: Sequence[risks.Risk], trust: bool) -> None:
    if risks_found and not trust:
        risks_text = "; ".join(risk.text for risk in risks.sort_risks(risks_found))
        raise BadSettings(f"{name_of(path)}: this journal {risks.WANTS} ({risks_text}). Pass trust=True to agree.")


async def create(
    settings: Settings,
    *,
    rehearse: bool = False,
    people: bool = False,
    stop: asyncio.Event | None = None,
    on_journal: OnJournal = ignore,
) -> DebateSession:
    """The new debate of `open_debate`, before its journal is closed. Once `stop` is set, no further call is made to
    derive positions, and the one under way is awaited."""
    files = DebateFiles.made_for(settings.output)
    if rehearse:
        settings, files = start.as_rehearsal(settings), files.with_suffix(".rehearsed")
    start.check_settings(settings, files, people=people)

    def notes(opened: Opened) -> list[Noted]:
        return start.notes_after_opened(settings, estimate_debate(opened).sentence() if rehearse else "")

    return await create_paid_debate(start.opened_with_positions(settings, stop=stop), files, notes, on_journal)


async def _run(session: DebateSession, on_event: OnEvent | None, on_text: OnText | None) -> DebateResult:
    """Runs what can be run, and writes the report when no turn is left."""
    if session.state.due:
        start.must_be_callable(session.state.cast)
    try:
        options = RunOptions(on_event=on_event or ignore, on_text=on_text)
        await drive(session, seat_providers(session, on_event=options.on_event), options)
    except ExternalError as error:
        raise session.with_saved(error) from error
    report, _ = finish(session)
    return DebateResult(session.files, session.state, report)


def _settings(settings: Settings | Mapping[str, Any], default_model: Callable[[str], str]) -> Settings:
    if isinstance(settings, Settings):
        return settings
    return make_settings(settings, format_check.load(format_of(settings)), REPORT, default_model)
