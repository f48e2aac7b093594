"""`debate serve`: the debates of this folder in a browser, for this user or, as a public site, for visitors."""

from __future__ import annotations

import argparse
import signal
import sys
from typing import TYPE_CHECKING

from debate_orchestrator.cli import flags
from debate_orchestrator.cli.output import print_result, print_status
from debate_orchestrator.util import coroutines
from debate_orchestrator.util.signals import termination_signals
from debate_orchestrator.web import must_be_installed

if TYPE_CHECKING:
    from debate_orchestrator.web.public.rules import SiteRules

PORT = 8642


def add_arguments(parser: argparse.ArgumentParser) -> None:
    about = f"the port on this machine, {PORT} by default; 0 takes any that is free"
    parser.add_argument("--port", type=flags.whole_number, default=PORT, metavar="N", help=about)
    about = "a name under which a proxy passes requests on, with its port if it is not the usual one; may be repeated"
    parser.add_argument("--allowed-host", action="append", default=[], metavar="NAME", help=about)
    parser.add_argument("--no-browser", action="store_true", help="do not open a browser")
    about = "a site on which visitors start debates, within what FILE permits; without FILE, rehearsals alone"
    parser.add_argument("--public", nargs="?", const="", metavar="FILE", help=about)
    flags.add_trust(parser)


def run(arguments: argparse.Namespace) -> int:
    must_be_installed()
    from debate_orchestrator.web import server

    for signum in termination_signals():
        signal.signal(signum, signal.SIG_DFL)  # a service manager takes exit code 130 for a failure

    public = arguments.public is not None

    def ready(address: str) -> None:
        print_result(address)
        sys.stdout.flush()
        what = "Visitors' debates" if public else "The debates of this folder"
        print_status(f"{what} are served there, to this machine alone. Ctrl-C ends the server.")
        if not (arguments.no_browser or server.open_dashboard(address)):
            print_status("No browser could be opened. Open that link yourself.")

    def ending() -> None:
        coroutines.exit_in_time(130, lambda: print_status(_WORK_LEFT.format(coroutines.EXIT_SECONDS)))

    if public:
        rules = _rules(arguments.public, trusted=arguments.trust)
        server.serve_public(arguments.port, arguments.allowed_host, rules, ready, ending)
    else:
        server.serve(arguments.port, arguments.allowed_host, ready, ending)
    return 0


_WORK_LEFT = "debate: some work did not end within {:g} s and was given up."


def _rules(path: str, *, trusted: bool) -> SiteRules:
    """The rules for visitors, once the owner has agreed to their risks."""
    from debate_orchestrator.cli import consent
    from debate_orchestrator.util.data import read_mapping
    from debate_orchestrator.web.public import rules as rules_module

    if not path:
        return rules_module.rehearsal()
    content = read_mapping(path)
    # First the consent: a format that the file names is quoted and tried out once it is read.
    consent.require_consent(consent.source_of_file(path), rules_module.risks_of(content), trusted=trusted)
    return rules_module.parse_rules(content)
