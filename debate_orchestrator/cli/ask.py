"""`debate ask`: one exchange of the setup conversation, for an agent host."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from typing import Any

from debate_orchestrator.cli import consent, flags
from debate_orchestrator.cli.output import print_errors, print_json, remark
from debate_orchestrator.cli.settings import questionnaire_of
from debate_orchestrator.host.setup import AskResult
from debate_orchestrator.host.setup import ask as ask_host
from debate_orchestrator.setup import risks
from debate_orchestrator.setup.session import Ask, Ready
from debate_orchestrator.util.data import LARGEST
from debate_orchestrator.util.errors import BadSettings

EXAMPLE = 'debate ask debate.yaml topic="Should we move to gRPC?"'


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", metavar="FILE", help="the answers file to fill")
    about = "an answer to a question that was asked; KEY=- reads standard input"
    parser.add_argument("given", nargs="*", metavar="KEY=VALUE", help=about)
    flags.add_json(parser)
    parser.set_defaults(json=True)


def run(arguments: argparse.Namespace) -> int:
    given: dict[str, str] = {}
    for pair in arguments.given:
        key, equals, value = pair.partition("=")
        if not equals:
            raise BadSettings(f'{pair!r} is not an answer. Try: KEY=VALUE, quoted as in topic="...".')
        given[key] = sys.stdin.read(LARGEST) if value == "-" else value
    result = ask_host(arguments.file, given, questionnaire_of(arguments.file), remark)
    lacking = consent.lacking(consent.of_file(arguments.file), risks.of_settings(result.settled))
    print_json(_as_json(arguments.file, result, lacking))
    print_errors(result.complaints)
    return 2 if result.complaints else 0


def _as_json(path: str, result: AskResult, lacking: Sequence[risks.Risk]) -> dict[str, Any]:
    """An exchange as JSON; `lacking` holds the risks that the user has still to agree to."""
    now, files = result.now, result.laid
    fields: dict[str, Any] = {"answers": path}
    if isinstance(now, Ready):
        fields |= {"status": "ready", "show": now.show.split("\n")}
    elif isinstance(now, Ask):
        choices = [{"value": value, "about": about} for value, about in now.choices] or None
        fields |= {"status": "ask", "question": {**now.model_dump(), "choices": choices}}
    elif files is not None:
        turn = {"turn": now.turn, "seat": "moderator", "title": f"Setup: {now.name}", "brief": files.brief}
        turn |= {"reply": files.reply, "wants": "json"}
        fields |= {"status": "propose", "turns": [turn | {"json_schema": now.json_schema}]}
    return fields | {
        "settled": result.settled,
        "sources": result.sources,
        "trust": [risk.model_dump() for risk in lacking],
        "complaints": list(result.complaints),
    }
