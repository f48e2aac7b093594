"""`debate serve`: the debates of this folder in a browser."""

from __future__ import annotations

import argparse
import sys

from debate_orchestrator.cli.output import remark, say

EXAMPLE = "debate serve"
PORT = 8642


def add_arguments(parser: argparse.ArgumentParser) -> None:
    about = f"the port on this machine, {PORT} by default; 0 takes any that is free"
    parser.add_argument("--port", type=int, default=PORT, metavar="N", help=about)
    about = "a name under which a proxy passes requests on, with its port if it is not the usual one; may be repeated"
    parser.add_argument("--host", action="append", default=[], metavar="NAME", help=about)
    parser.add_argument("--no-browser", action="store_true", help="do not open a browser")


def run(arguments: argparse.Namespace) -> int:
    from debate_orchestrator.web.server import serve

    def ready(address: str) -> None:
        say(address)
        sys.stdout.flush()
        remark("The debates of this folder are served there, to this machine alone. Ctrl-C ends the server.")
        if not arguments.no_browser:
            from debate_orchestrator.web.browser import open_desk

            if not open_desk(address):
                remark("No browser could be opened. Open that link yourself.")

    serve(arguments.port, arguments.host, ready)
    return 0
