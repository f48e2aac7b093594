"""The command line: the only place that writes reports, prints errors and sets exit codes. It decides nothing.

`parser` says what can be asked for; each verb is a function of a module beside it, imported
when it is called, so that `--help` loads none of them.
"""

from __future__ import annotations

import errno
import os
import sys
from importlib import import_module


def main(argv: list[str] | None = None) -> None:
    """Runs one verb and exits: 0 done, 2 your mistake, 3 stopped with work left, 4 a provider failed for
    good, 130 interrupted."""
    from debate_orchestrator.cli.output import complain, remark, without_secrets
    from debate_orchestrator.cli.parser import parse

    without_secrets()
    arguments = parse(argv)
    insecure = getattr(arguments, "insecure", False)
    try:
        if insecure:
            remark("debate: --insecure: keys may go over plain http, where anyone on the way can read them.")
        module, _, name = arguments.verb.rpartition(".")
        code = getattr(import_module(f"debate_orchestrator.cli.{module}"), name)(arguments)
        sys.stdout.flush()
    except KeyboardInterrupt as interrupt:
        complain([str(interrupt) or "interrupted; every reply that was accepted is saved."])
        code = 130
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        code = 141  # as a shell reports a process that a closed pipe ended
    except Exception as error:
        code = _failed(error, json=getattr(arguments, "json", False))
    sys.exit(code)


def _failed(error: Exception, *, json: bool) -> int:
    from debate_orchestrator.cli.output import complain, print_json
    from debate_orchestrator.util.errors import DebateError

    if isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EIO):
        complain([f"Can't write the output ({error.strerror or 'an error'}). Try: make room on the disk."])
        return 4
    if not isinstance(error, DebateError):
        raise error
    if json:
        print_json({"status": "error", "complaints": error.complaints})
    complain(error.complaints)
    return exit_code(error)


def exit_code(error: Exception) -> int:
    """The code with which a verb ends on an error: 2 the user's mistake, 3 work left, 4 failed for good."""
    from debate_orchestrator.util.errors import Paused, UserError

    for kind, code in ((UserError, 2), (Paused, 3)):
        if isinstance(error, kind):
            return code
    return 4
