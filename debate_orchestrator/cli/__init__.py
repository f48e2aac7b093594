"""The command line: `main` runs one verb, prints its errors and sets the exit code.

`parser.VERBS` lists the verbs. Each verb is the module of its name: its `add_arguments` and its `run`. It is imported
when it is asked for, so that `debate --help` loads none of them. `converse` is `debate` without a verb. The other
modules here are what verbs share: `flags`, `output`, `consent`, `driving` and so on.
"""

from __future__ import annotations

import atexit
import gc
import os
import signal
import sys
from argparse import Namespace
from contextlib import suppress

from debate_orchestrator.util.signals import (
    Interrupts,
    handled_by,
    in_main_thread,
    interrupt_signals,
    termination_signals,
)

GC_THRESHOLDS = (10_000, 20, 50)
"""Thresholds of the garbage collector. What a command imports stays: collecting less often starts faster, and runs many
debates faster."""


def main(argv: list[str] | None = None) -> None:
    """Runs one verb and exits: 0 done, 2 the user's mistake, 3 work left, 4 a provider failed for good, 130
    interrupted."""
    interrupts, code = Interrupts(), 130
    signums = [*interrupt_signals(), *termination_signals()]
    if argv is None and in_main_thread():  # this process ends with the verb
        interrupts.is_loading = True
        gc.set_threshold(*GC_THRESHOLDS)
        atexit.register(gc.freeze)  # the last collection, when the interpreter ends, then has nothing to go through
        for signum in signums:
            signal.signal(signum, lambda *_: os._exit(130))  # without the traceback that Python would print
        # At its very end Python restores the defaults, with which a signal would take the exit code's place.
        atexit.register(lambda: [signal.signal(signum, signal.SIG_IGN) for signum in signums])
    with (
        suppress(KeyboardInterrupt),
        handled_by(interrupts, signums),
    ):  # one may come before the verb begins, or after it
        code = _main(argv, interrupts)
        interrupts.is_ending = True
    sys.exit(code)


def _main(argv: list[str] | None, interrupts: Interrupts) -> int:
    """Runs a verb with its streams made safe, and returns the exit code."""
    from debate_orchestrator.cli.output import redact_streams, unwritten_output

    redact_streams()
    code = _run(argv, interrupts)
    if (error := unwritten_output()) and code == 0:
        return _report_failure(error, as_json=False)
    return code


def _run(argv: list[str] | None, interrupts: Interrupts) -> int:
    """Runs a verb, prints its errors and returns the exit code."""
    from debate_orchestrator.cli.output import name_flags_of, print_problems, print_status
    from debate_orchestrator.cli.parser import parse

    arguments = Namespace()
    try:
        arguments = parse(argv)
        interrupts.is_loading = False
        name_flags_of(arguments)
        if getattr(arguments, "insecure", False):
            print_status("debate: --insecure: keys may go over plain http, where others on the network can read them.")
        code: int = arguments.run(arguments)
        return code
    except SystemExit as usage:  # of argparse: what was asked for is printed, or what is wrong with the command line
        return int(usage.code or 0)
    except KeyboardInterrupt as interrupt:
        interrupts.is_ending = True  # another signal would cut the line off
        print_problems([str(interrupt) or "interrupted."])
        interrupts.is_ending = False
        return 130
    except Exception as error:
        return _report_failure(error, as_json=getattr(arguments, "json", False))


def _report_failure(error: Exception, *, as_json: bool) -> int:
    """Prints an error of this program and returns its exit code. Any other error is a bug and is raised again."""
    from debate_orchestrator.cli.output import print_json, print_problems
    from debate_orchestrator.storage.files import DISK_ERRORS
    from debate_orchestrator.util.errors import DebateError

    if isinstance(error, BrokenPipeError):
        return 141  # as a shell reports a process that a closed pipe ended
    if isinstance(error, OSError) and error.errno in DISK_ERRORS:
        why = error.strerror or "unknown error"
        print_problems([f"Can't write the output ({why}). Try: send it to a file on a disk that has room."])
        return 4
    if not isinstance(error, DebateError):
        raise error
    if as_json:
        with suppress(OSError):  # where stdout is on a full disk too, stderr says the same
            print_json({"status": "error", "complaints": error.problems})
    print_problems(error.problems)
    return exit_code(error)


def exit_code(error: Exception) -> int:
    """The code with which a verb ends on an error: 2 the user's mistake, 3 work left, 4 failed for good."""
    from debate_orchestrator.util.errors import ExternalError, Paused, UserError

    for kind, code in ((Paused, 3), (ExternalError, 4), (UserError, 2)):
        if isinstance(error, kind):
            return code
    return 4
