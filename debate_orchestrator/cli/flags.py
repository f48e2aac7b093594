"""Groups of flags that several verbs share."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from debate_orchestrator.providers.registry import Permissions


def add_json(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--json", action="store_true", help="print one JSON object on stdout")


def add_waiting(parser: argparse.ArgumentParser, awaited: str) -> None:
    """How long a host's command waits for replies."""
    about = f"wait for {awaited}, up to that many seconds (110 unless given), and take what is there then"
    parser.add_argument("--wait", nargs="?", type=_seconds, const=110.0, metavar="SECONDS", help=about)


def add_schemas(parser: argparse.ArgumentParser) -> None:
    """How much is printed of a turn."""
    parser.add_argument("--schemas", action="store_true", help="print the schemas of replies; briefs hold them too")


def _seconds(text: str) -> float:
    try:
        if 0 <= (seconds := float(text)) <= 86_400:
            return seconds
    except ValueError:
        pass
    raise argparse.ArgumentTypeError(f"{text!r} is not a number of seconds. Try: --wait at the end, or --wait=60.")


def add_settings(parser: argparse.ArgumentParser) -> None:
    """The answers file, and the flags that override it; `settings.read_settings` reads them."""
    parser.add_argument(
        "--answers", metavar="FILE", help="a YAML or JSON file, - for standard input; `debate answers` prints a sample"
    )
    parser.add_argument("--topic", metavar="TEXT", help="the sentence to debate")
    parser.add_argument("--position-a", metavar="TEXT", help="what side A argues")
    parser.add_argument("--position-b", metavar="TEXT", help="what side B argues")
    parser.add_argument("--rounds", metavar="N", help="1 to 6; 3 by default")
    parser.add_argument("--insist", action="store_true", help="allow 7 or 8 rounds")
    parser.add_argument("--strictness", metavar="MODE", help="lenient or strict; strict by default")
    parser.add_argument("--output", metavar="PATH", help="a .md file, or a folder; debate-report.md by default")
    parser.add_argument("--format", metavar="NAME", help="`debate formats` lists them; the path of your own, as ./NAME")
    parser.add_argument("--first", metavar="SIDE", help="who speaks first: a or b")
    parser.add_argument("--context", metavar="FILE", action="append", help="material for both sides; may be repeated")
    add_cast(parser)
    add_panel(parser)
    parser.add_argument("--search", action="store_true", help="debaters may search the web if their provider can")
    add_calls(parser)
    parser.add_argument("--one-agent", action="store_true", help="record that one agent takes every turn")
    add_trust(parser)


def add_cast(parser: argparse.ArgumentParser) -> None:
    """The models of the seats."""
    parser.add_argument(
        "--a", metavar="MODEL", help="the model that argues A, such as anthropic:NAME; `debate models` lists models"
    )
    parser.add_argument("--b", metavar="MODEL", help="the model that argues B")
    parser.add_argument("--judge", metavar="MODEL", action="append", help="the judge; repeat for a panel")


def add_panel(parser: argparse.ArgumentParser) -> None:
    """How judges vote."""
    switch = argparse.BooleanOptionalAction
    mirror = "every judge also votes on the debate with the sides exchanged; a vote that flips is no vote"
    parser.add_argument("--mirror", action=switch, help=mirror)
    parser.add_argument("--quorum", metavar="N", help="judges whose votes must count; more than half by default")
    parser.add_argument("--blind", action=switch, help="judges also vote before the first word is said")
    each_round = "judges vote after every round, in formats that leave that open"
    parser.add_argument("--each-round", action=switch, help=each_round)


def add_calls(parser: argparse.ArgumentParser) -> None:
    """How models are called, and what that may cost."""
    parser.add_argument("--max-cost", metavar="USD", help="what calls may cost in all; the debate pauses before more")
    parser.add_argument("--retry-for", metavar="SECONDS", help="how long a failing turn is retried before a pause")
    parser.add_argument(
        "--share-cache", action="store_true", help="calls that share a prompt cache wait for the first of them"
    )


def add_permissions(parser: argparse._ActionsContainer, prefix: str = "") -> None:
    """What the user permits to the models and programs that are called. No answers file can permit it."""
    add_insecure(parser, prefix)
    parser.add_argument(
        "--command-env",
        dest=f"{prefix}command_env",
        metavar="NAME",
        action="append",
        type=_variable,
        help="an environment variable that command: programs get too, such as a key; may be repeated",
    )


def add_insecure(parser: argparse._ActionsContainer, prefix: str = "") -> None:
    about = "send keys over plain http to other machines too, readable on the way"
    parser.add_argument("--insecure", dest=f"{prefix}insecure", action="store_true", help=about)


def _variable(name: str) -> str:
    """The name of an environment variable. If a value was given too, it may be a secret and is not repeated."""
    bare, equals, _ = name.partition("=")
    if equals:
        raise argparse.ArgumentTypeError(f"give the name alone, without a value: --command-env {bare}")
    return name


def permitted(arguments: argparse.Namespace) -> Permissions:
    """What the flags of `add_permissions` permit; nothing for a verb that has none of them."""
    from debate_orchestrator.providers.registry import Permissions

    named = tuple(getattr(arguments, "command_env", None) or ())
    return Permissions(named, insecure=getattr(arguments, "insecure", False))


def add_trust(parser: argparse.ArgumentParser) -> None:
    """Consent to what a file does beyond the debate."""
    about = "let the file run programs, call servers by address, and use files outside this folder, as it says"
    parser.add_argument("--trust", action="store_true", help=about)


def add_progress(parser: argparse.ArgumentParser) -> None:
    """How much is printed while a debate runs."""
    group = parser.add_mutually_exclusive_group()
    group.add_argument("--quiet", action="store_true", help="print nothing but errors and the closing line")
    group.add_argument("--events", action="store_true", help="print each event on stderr, one JSON object a line")


def add_replay(parser: argparse.ArgumentParser) -> None:
    """Where the report of a replay goes, and how fast it plays."""
    parser.add_argument("--to", metavar="FILE", help="write its report there: FILE.md or FILE.html")
    parser.add_argument("--quiet", action="store_true", help="print nothing but the closing line")
    pace = parser.add_mutually_exclusive_group()
    pace.add_argument("--pace", metavar="WORDS", help="words a minute at a terminal; 600 by default")
    pace.add_argument("--no-pace", action="store_true", help="print all of it at once")
