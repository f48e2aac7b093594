"""debate_orchestrator runs structured debates between two opponents and writes a decision document.

    import asyncio
    from debate_orchestrator import run

    result = asyncio.run(run({"topic": "Should we move to gRPC?", "rounds": 2}, rehearse=True))
    print(result.files.report)

Functions:

    run, resume, rejudge    run a debate, continue one, judge one again (coroutines)
    open_debate             write the journal of a new debate and run nothing (a coroutine)
    open_judging            write the journal of a debate that is judged again, and run nothing
    step                    hand in replies of your own and get the turns now due
    read_journal            read and verify a journal
    fold                    the state that events add up to
    render                  the report of a journal as markdown, HTML or JSON
    load_format             the rules of one kind of debate
    find_risks              programs, servers and files that settings or a journal would use

docs/library.md shows each of them. Importing this package loads none of its modules; each name is loaded on first use.
The way through the code, from `debate run` to its report:

    cli.run                 the verb; `run` below begins in engine.library instead
    cli.answers_and_flags   settings from an answers file and flags; setup.answers makes them of a mapping
    core.settings           the settings
    engine.start            settings into the first event
    cli.consent             asks for the user's consent; no verb may take turns without it
    engine.debate           the journal is created or continued, the due turns taken until none is, the report written
    cli.driving             what the command line shows meanwhile; cli.controls has its keys and Ctrl-C
    engine.turn             one turn: prompting.briefs, a provider, prompting.replies, an event
    core.fold, core.state   what the events add up to; core.schedule says which turns are due
    reports.model           the report model, from which every type of report file is rendered
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from debate_orchestrator.core.events import Event
    from debate_orchestrator.core.fold import fold
    from debate_orchestrator.core.format import Format
    from debate_orchestrator.core.settings import Settings
    from debate_orchestrator.core.state import DebateState
    from debate_orchestrator.engine.library import (
        DebateResult,
        find_risks,
        load_format,
        open_debate,
        open_judging,
        read_journal,
        rejudge,
        render,
        resume,
        run,
    )
    from debate_orchestrator.host.step import StepResult, step
    from debate_orchestrator.reports.model import ReportModel
    from debate_orchestrator.setup.risks import Risk
    from debate_orchestrator.storage.journal_lines import JournalContents
    from debate_orchestrator.util.errors import (
        BadFile,
        BadFormat,
        BadJournal,
        BadSettings,
        DamagedJournal,
        DebateError,
        ExternalError,
        LockedJournal,
        OverBudget,
        Paused,
        PermanentFailure,
        ProviderFailed,
        UserError,
    )

__version__ = "0.2.0"

_MODULE_OF_NAME = {
    "BadFile": "util.errors",
    "BadFormat": "util.errors",
    "BadJournal": "util.errors",
    "BadSettings": "util.errors",
    "DamagedJournal": "util.errors",
    "DebateError": "util.errors",
    "DebateResult": "engine.library",
    "DebateState": "core.state",
    "Event": "core.events",
    "ExternalError": "util.errors",
    "Format": "core.format",
    "JournalContents": "storage.journal_lines",
    "LockedJournal": "util.errors",
    "OverBudget": "util.errors",
    "Paused": "util.errors",
    "PermanentFailure": "util.errors",
    "ProviderFailed": "util.errors",
    "ReportModel": "reports.model",
    "Risk": "setup.risks",
    "Settings": "core.settings",
    "StepResult": "host.step",
    "UserError": "util.errors",
    "find_risks": "engine.library",
    "fold": "core.fold",
    "load_format": "engine.library",
    "open_debate": "engine.library",
    "open_judging": "engine.library",
    "read_journal": "engine.library",
    "rejudge": "engine.library",
    "render": "engine.library",
    "resume": "engine.library",
    "run": "engine.library",
    "step": "host.step",
}

__all__ = [
    "BadFile",
    "BadFormat",
    "BadJournal",
    "BadSettings",
    "DamagedJournal",
    "DebateError",
    "DebateResult",
    "DebateState",
    "Event",
    "ExternalError",
    "Format",
    "JournalContents",
    "LockedJournal",
    "OverBudget",
    "Paused",
    "PermanentFailure",
    "ProviderFailed",
    "ReportModel",
    "Risk",
    "Settings",
    "StepResult",
    "UserError",
    "find_risks",
    "fold",
    "load_format",
    "open_debate",
    "open_judging",
    "read_journal",
    "rejudge",
    "render",
    "resume",
    "run",
    "step",
]


def __getattr__(name: str) -> Any:
    """Loads a public name on first use (PEP 562), so that importing the package stays cheap."""
    if name not in _MODULE_OF_NAME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(f"{__name__}.{_MODULE_OF_NAME[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
