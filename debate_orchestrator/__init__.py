"""debate_orchestrator runs structured debates between two opponents and writes a decision document.

    import asyncio
    from debate_orchestrator import run

    result = asyncio.run(run({"topic": "Should we move to gRPC?", "rounds": 2}, rehearse=True))
    print(result.files.report)

Functions:

    run, resume, rejudge    run a debate, continue one, judge one again (coroutines)
    open_debate             write the journal of a new debate and run nothing (a coroutine)
    open_rejudging            write the journal of a debate that is judged again, and run nothing
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

if TYPE_CHECKING:  # `as` tells type checkers that a name is public
    from debate_orchestrator.core.events import Event as Event
    from debate_orchestrator.core.fold import fold as fold
    from debate_orchestrator.core.format import Format as Format
    from debate_orchestrator.core.settings import Settings as Settings
    from debate_orchestrator.core.state import DebateState as DebateState
    from debate_orchestrator.engine.library import DebateResult as DebateResult
    from debate_orchestrator.engine.library import find_risks as find_risks
    from debate_orchestrator.engine.library import load_format as load_format
    from debate_orchestrator.engine.library import open_debate as open_debate
    from debate_orchestrator.engine.library import open_rejudging as open_rejudging
    from debate_orchestrator.engine.library import read_journal as read_journal
    from debate_orchestrator.engine.library import rejudge as rejudge
    from debate_orchestrator.engine.library import render as render
    from debate_orchestrator.engine.library import resume as resume
    from debate_orchestrator.engine.library import run as run
    from debate_orchestrator.host.step import StepResult as StepResult
    from debate_orchestrator.host.step import step as step
    from debate_orchestrator.reports.model import ReportModel as ReportModel
    from debate_orchestrator.setup.risks import Risk as Risk
    from debate_orchestrator.storage.journal_lines import JournalContents as JournalContents
    from debate_orchestrator.util.errors import BadFile as BadFile
    from debate_orchestrator.util.errors import BadFormat as BadFormat
    from debate_orchestrator.util.errors import BadJournal as BadJournal
    from debate_orchestrator.util.errors import BadSettings as BadSettings
    from debate_orchestrator.util.errors import DamagedJournal as DamagedJournal
    from debate_orchestrator.util.errors import DebateError as DebateError
    from debate_orchestrator.util.errors import ExternalError as ExternalError
    from debate_orchestrator.util.errors import LockedJournal as LockedJournal
    from debate_orchestrator.util.errors import OverBudget as OverBudget
    from debate_orchestrator.util.errors import Paused as Paused
    from debate_orchestrator.util.errors import PermanentFailure as PermanentFailure
    from debate_orchestrator.util.errors import ProviderFailed as ProviderFailed
    from debate_orchestrator.util.errors import UserError as UserError

__version__ = "0.2.0"

_MODULES = {
    "core.events": "Event",
    "core.fold": "fold",
    "core.format": "Format",
    "core.settings": "Settings",
    "core.state": "DebateState",
    "engine.library": "DebateResult find_risks load_format open_debate open_rejudging read_journal rejudge render "
    "resume run",
    "host.step": "StepResult step",
    "reports.model": "ReportModel",
    "setup.risks": "Risk",
    "storage.journal_lines": "JournalContents",
    "util.errors": "BadFile BadFormat BadJournal BadSettings DamagedJournal DebateError ExternalError "
    "LockedJournal OverBudget Paused PermanentFailure ProviderFailed UserError",
}
_MODULE_OF_NAME = {name: module for module, names in _MODULES.items() for name in names.split()}
if not TYPE_CHECKING:
    __all__ = list(_MODULE_OF_NAME)


def __getattr__(name: str) -> Any:
    """Loads a public name on first use (PEP 562), so that importing the package stays cheap."""
    if name not in _MODULE_OF_NAME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(f"{__name__}.{_MODULE_OF_NAME[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_MODULE_OF_NAME})
