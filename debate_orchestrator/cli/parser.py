"""The argument parser of `debate`, built from the list of verbs.

To add a verb, add a line to `VERBS` and a module of that name beside this one. The module holds

    EXAMPLE: str                                            one command line, shown by `debate VERB --help`
    add_arguments(parser: argparse.ArgumentParser) -> None
    run(arguments: argparse.Namespace) -> int               the exit code
"""

from __future__ import annotations

import argparse
import difflib
import re
import sys
from collections.abc import Sequence
from importlib import import_module
from typing import NoReturn

from debate_orchestrator import __version__
from debate_orchestrator.cli import flags
from debate_orchestrator.cli.output import at_terminal

VERBS = {
    "answers": "print a commented answers file to start from",
    "ask": "take answers into FILE and print the next question of the setup conversation as JSON",
    "open": "write the journal, have models take the turns before the host's, print the turns now due",
    "step": "take the replies that are there and print the turns now due",
    "run": "run a whole debate with models, from an answers file or from flags, with no questions",
    "resume": "continue a debate where it stopped",
    "floor": "put a question from the floor to a side or the judge, who hear it from their next turn on",
    "close": "end a debate early: the phase under way is finished, then the verdict is asked for",
    "judge": "judge a finished debate again, or one written down elsewhere, without debating again",
    "report": "make the reports again",
    "replay": "play a debate again at no cost: what was said, and the report",
    "demo": "replay a real recorded debate; no key, no network",
    "check": "tell whether a journal is whole, unchanged and complete, and its reports say what it says",
    "models": "list the models and programs that can be called from here, and why others can't",
    "formats": "list the formats, show the turns of one, or copy one to make your own of it",
    "ballot": "judge a finished debate yourself, before you see the verdict; the report shows your ballot too",
    "compare": "set several debates of one topic, or several judgings of one debate, side by side",
    "serve": "start, watch, read and compare the debates of this folder in a browser, and take seats in them",
    "tournament": "plan, run, rate, report and import many debates",
    "worker": "run debates of tournaments that other machines queued in PostgreSQL",
    "probe": (
        "test how often judges fall for length, polish, sources, orders and the like; without --judge, list the probes"
    ),
}
"""Every verb, with its line in `debate --help`."""

_BEGINNING = ("run", "open")
"""Verbs that begin a debate, and so take a topic without its flag."""
_SETUP_FLAGS = ("--answers", "--format", "--moderator", "--rehearse", "--insecure", "--command-env")
"""The flags of the setup conversation."""
_SETUP_SWITCHES = ("--rehearse", "--insecure")
"""Those without a value."""


def parse(argv: list[str] | None) -> argparse.Namespace:
    """Parses a command line; `run` of the result is the function that answers it. Exits with code 2 and the verb's
    usage if there is an error."""
    argv = _with_verb(sys.argv[1:] if argv is None else list(argv))
    parser = build_parser(argv)
    before = _setup_flags_at_start(argv)
    if before and argv[before:] and argv[before] in VERBS:
        parser.error(f"{argv[0].partition('=')[0]} belongs after the verb")
    arguments, rest = parser.parse_known_args(argv)
    begins = getattr(arguments, "verb", "") in _BEGINNING
    if begins and arguments.topic is None and len(rest) == 1 and _is_topic(rest[0]):
        arguments.topic = rest.pop()
    # KEY=VALUE and TURN=FILE may stand before and after flags; argparse takes only one group of them.
    unknown = [word for word in rest if word.startswith("-") or not hasattr(arguments, "given")]
    if unknown:
        verb_parser = getattr(arguments, "verb_parser", parser)
        known = re.findall(r"(?<=[\[ ])--[a-z-]+", verb_parser.format_usage())
        problems = (
            f"unknown flag {word}{_suggestion(word.partition('=')[0], known)}"
            if word.startswith("-")
            else f"{word} is one argument too many"
            for word in unknown
            if word.startswith("-") or not any(other.startswith("-") for other in unknown)  # else it may be its value
        )
        verb_parser.error("; ".join(problems))
    if rest:
        arguments.given = [*arguments.given, *rest]
    if not hasattr(arguments, "verb"):
        arguments.run = import_module("debate_orchestrator.cli.converse").run
    return arguments


def _with_verb(argv: list[str]) -> list[str]:
    """A command line that begins with a topic or with `help`, as one that the parser knows: `debate "TOPIC"` is the
    setup conversation at a terminal, and `debate run --topic` elsewhere, or with flags of `run`."""
    before = _setup_flags_at_start(argv)
    if before and before < len(argv) and _is_topic(argv[before]):  # as in `debate --rehearse "TOPIC"`
        argv = [argv[before], *argv[:before], *argv[before + 1 :]]
    first = argv[0] if argv else ""
    if first in _BEGINNING and len(argv) > 1 and _is_topic(argv[1]):
        return [first, "--topic", *argv[1:]]
    if first == "help":
        return [*argv[1:2], "--help"]
    if first == "--topic" and len(argv) > 1:
        topic, rest = argv[1], argv[2:]
    elif first.startswith("--topic="):
        topic, rest = first.partition("=")[2], argv[1:]
    elif _is_topic(first):
        topic, rest = first, argv[1:]
    else:
        return argv
    flags = {word.partition("=")[0] for word in rest if word.startswith("-")}
    if at_terminal(sys.stdout) and flags <= {*_SETUP_FLAGS}:
        return [*rest, "--topic", topic]
    return ["run", "--topic", topic, *rest]


def _is_topic(word: str) -> bool:
    """Whether a word of a command line is a topic, which has a blank."""
    return " " in word.strip() and not word.startswith("-")


def _setup_flags_at_start(argv: Sequence[str]) -> int:
    """How many words of a command line, from its first, are flags of the setup conversation and their values."""
    at = 0
    while at < len(argv) and argv[at].partition("=")[0] in _SETUP_FLAGS:
        at += 1 if "=" in argv[at] or argv[at] in _SETUP_SWITCHES else 2
    return at


def build_parser(argv: Sequence[str]) -> argparse.ArgumentParser:
    """The parser for a command line. Only the verbs that are named in it get their arguments, since that imports
    their modules."""
    parser = _Parser(
        prog="debate",
        usage='debate ["TOPIC"] [options] | debate VERB ... | debate help [VERB]',
        description="Guided debates between two opponents that will not agree too soon, judged round by round.",
        epilog="New here: `debate demo` replays a real debate. `debate help VERB` has an example of each verb.",
        allow_abbrev=False,
    )
    parser.add_argument("--version", action="version", version=f"debate-orchestrator {__version__}")
    _add_setup_flags(parser)
    verbs = parser.add_subparsers(title="verbs", metavar="VERB", prog="debate")
    for name, summary in VERBS.items():
        verb = verbs.add_parser(
            name, help=summary, description=f"{summary[0].upper()}{summary[1:]}.", allow_abbrev=False
        )
        if name in argv:
            module = import_module(f"debate_orchestrator.cli.{name}")
            verb.epilog = f"example: {module.EXAMPLE}"
            verb.set_defaults(verb=name, verb_parser=verb, run=module.run)
            module.add_arguments(verb)
    return parser


def _add_setup_flags(parser: argparse.ArgumentParser) -> None:
    """The flags of `debate` without a verb."""
    group = parser.add_argument_group("options of the setup conversation, which `debate` alone holds at a terminal")
    group.add_argument("--topic", help=argparse.SUPPRESS)
    group.add_argument("--answers", metavar="FILE", help="continue the conversation in FILE, or begin it there")
    group.add_argument("--format", metavar="NAME", help="the format; `debate formats` lists them")
    group.add_argument("--moderator", metavar="MODEL", help="the model that restates the topic and derives positions")
    group.add_argument("--rehearse", action="store_true", help="call no model, not even in the setup")
    flags.add_permissions(group)


class _Parser(argparse.ArgumentParser):
    """Prints what is wrong first, and then where the usage is; suggests a verb for one that does not exist."""

    def error(self, message: str) -> NoReturn:
        given, chosen, known = message.rpartition(" (choose from ")
        if chosen and (asked := given.removeprefix("argument VERB: invalid choice: ")) != given:
            word, *verbs = (name.strip("'\" ") for name in (asked, *known.removesuffix(")").split(",")))
            if near := _suggestion(word, verbs):
                self.exit(2, f"{self.prog}: there is no verb {word}{near}\n")
            hint = f'. A topic is quoted: `debate "{word} ..."`' if self.prog == "debate" else ""
            message = f"there is no verb {word}; expected one of {', '.join(verbs)}{hint}"
        verb = self.prog.removeprefix("debate").strip()
        self.exit(2, f"debate: {message}\nTry: `debate {verb + ' ' if verb else ''}--help`.\n")


def _suggestion(word: str, names: Sequence[str]) -> str:
    """The name that was probably meant, as a question; empty if none is near. A short word has few letters to compare,
    so its first one must be right."""
    begun = [name for name in names if len(word) > 3 and name.startswith(word)]
    short = len(word) < 5
    alike = [name for name in names if not short or name[:1] == word[:1]]
    near = begun if len(begun) == 1 else difflib.get_close_matches(word, alike, 1, 0.6 if short else 0.75)
    return f", did you mean {near[0]}?" if near else ""
