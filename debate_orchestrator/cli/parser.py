"""The argument parsers of `debate`: one for each verb, and one for the setup conversation, which has none.

To add a verb, add a line to `VERBS` and a module of that name beside this one. The module holds

    add_arguments(parser: argparse.ArgumentParser) -> None
    run(arguments: argparse.Namespace) -> int               the exit code
"""

from __future__ import annotations

import argparse
import difflib
import os
import sys
import textwrap
from collections.abc import Iterable
from importlib import import_module
from typing import NamedTuple, NoReturn

from debate_orchestrator import __version__
from debate_orchestrator.cli import flags
from debate_orchestrator.cli.output import at_terminal, print_status
from debate_orchestrator.storage.paths import JOURNAL
from debate_orchestrator.util.errors import FORMER_NAMES, short_repr
from debate_orchestrator.util.sanitize import one_line


class Verb(NamedTuple):
    """A verb of the command line."""

    summary: str
    """Its line in `debate --help`."""
    example: str
    """One command line, which `debate VERB --help` shows."""


VERBS = {
    "answers": Verb("print a commented answers file to start from", "debate answers > answers.yaml"),
    "ask": Verb(
        "take answers into FILE and print the next question of the setup conversation as JSON",
        'debate ask debate.yaml topic="Should we move to gRPC?"',
    ),
    "open": Verb(
        "write the journal, run the models' turns up to the first turn of the host, and print that turn",
        "debate open --answers debate.yaml --json",
    ),
    "step": Verb(
        "take the replies that are there and print the turns now due",
        "debate step debate-report.journal.jsonl --json",
    ),
    "run": Verb(
        "run a whole debate with models, from an answers file or from flags, with no questions",
        'debate run "Should we move to gRPC?" --rehearse',
    ),
    "resume": Verb("continue a debate where it stopped", "debate resume debate-report.journal.jsonl"),
    "floor": Verb(
        "put a question from the floor to a side or the judge, who hear it from their next turn on",
        'debate floor debate-report.journal.jsonl "What would it cost?" --to a --to judge',
    ),
    "end": Verb(
        "end a debate early: the phase under way is finished, then the verdict is asked for",
        "debate end debate-report.journal.jsonl",
    ),
    "judge": Verb(
        "judge a finished debate again, or judge a transcript",
        "debate judge debate-report.journal.jsonl --judge anthropic:claude-opus-5-5",
    ),
    "report": Verb("make the reports again", "debate report debate-report.journal.jsonl --to copy.html"),
    "replay": Verb(
        "play a debate again at no cost: what was said, and the report",
        "debate replay debate-report.journal.jsonl --to again.md",
    ),
    "demo": Verb("replay a real recorded debate; no key, no network", "debate demo --to demo-report.md"),
    "check": Verb(
        "check whether a journal is undamaged and its debate complete, and whether its reports match it",
        "debate check debate-report.journal.jsonl debate-report.md",
    ),
    "models": Verb("list the models and programs that can be called from here, and why others can't", "debate models"),
    "formats": Verb(
        "list the formats, show the turns of one, or copy one to make your own of it",
        "debate formats new town-hall --from adversarial",
    ),
    "ballot": Verb(
        "judge a finished debate yourself, before you see the verdict; the report shows your ballot too",
        "debate ballot debate-report.journal.jsonl --as ada",
    ),
    "compare": Verb(
        "set several debates of one topic, or several judgings of one debate, side by side",
        "debate compare first.journal.jsonl second.journal.jsonl --to comparison.md",
    ),
    "serve": Verb(
        "start, watch, read and compare the debates of this folder in a browser, and take seats in them",
        "debate serve",
    ),
    "tournament": Verb("plan, run, rate, report and import many debates", "debate tournament new spring.yaml"),
    "worker": Verb(
        "run debates of tournaments that other machines queued in PostgreSQL",
        "debate worker postgresql://debates@db.example/debates",
    ),
    "probe": Verb(
        "test how often judges fall for length, polish, sources, injected instructions and more, or list these probes",
        "debate probe --judge anthropic:claude-opus-5-5 --max-cost 3",
    ),
}
_TEXTS = {"words": "topic", "question": "question"}
"""Arguments of several words, and what they are called."""
_WITH_VERBS = ("tournament",)
"""Verbs that have verbs of their own; argparse can't mix their arguments and flags in any order."""


def parse(argv: list[str] | None) -> argparse.Namespace:
    """Parses a command line; `run` of the result is the function that answers it. Exits with code 2 and the verb's
    usage if there is an error. `debate "TOPIC"` is the setup conversation at a terminal, and `debate run "TOPIC"`
    elsewhere or with other flags."""
    argv = list(sys.argv[1:] if argv is None else argv)
    if argv[:1] == ["help"]:
        if (verb := "".join(argv[1:2])) and verb not in VERBS and not verb.startswith("-"):
            _setup_parser().error(f"there is no verb {verb}{_suggestion(verb, VERBS)}")
        argv = [*argv[1:2], "--help"]
    if argv and argv[0] in VERBS:
        return _parse_verb(argv[0], argv[1:])
    parser = _setup_parser()
    arguments, rest = parser.parse_known_args(argv)
    if arguments.words in VERBS:
        parser.error(f"{argv[0].partition('=')[0]} belongs after the verb")
    if arguments.words and not _is_topic(arguments.words) and (arguments.topic is None or arguments.words == argv[0]):
        if os.path.isfile(arguments.words):
            verb = "report FILE" if arguments.words.endswith(JOURNAL) else "run --answers FILE"
            parser.error(f"{arguments.words} is a file, and no verb. Did you mean `debate {verb}`?")
        suggestion = _suggestion(arguments.words, VERBS) or '. A topic is quoted, as in `debate "TOPIC"`'
        parser.error(f"there is no verb {arguments.words}{suggestion}")
    if (arguments.words or arguments.topic) and (rest or not at_terminal(sys.stdout)):
        return _parse_verb("run", argv)
    _check_all_known(parser, rest)
    arguments.topic = arguments.words or arguments.topic
    arguments.run = import_module("debate_orchestrator.cli.converse").run
    return arguments


def _parse_verb(name: str, argv: list[str]) -> argparse.Namespace:
    module, verb = import_module(f"debate_orchestrator.cli.{name}"), VERBS[name]
    parser = _Parser(
        prog=f"debate {name}",
        description=f"{verb.summary[0].upper()}{verb.summary[1:]}.",
        epilog=f"example: {verb.example}",
        allow_abbrev=False,
    )
    parser.set_defaults(verb=name, verb_parser=parser, run=module.run)
    module.add_arguments(parser)
    parse_known = parser.parse_known_args if name in _WITH_VERBS else parser.parse_known_intermixed_args
    arguments, rest = parse_known(argv)
    _check_all_known(arguments.verb_parser, rest)
    if words := getattr(arguments, "words", None):
        if arguments.topic is not None:
            parser.error(f"{short_repr(words)} belongs to no flag, and --topic gives the topic already")
        if not _is_topic(words):
            parser.error(f"{words} is not a topic: write a sentence. An answers file goes with --answers")
        arguments.topic = words
    return arguments


def _is_topic(word: str) -> bool:
    return " " in word.strip()


def _check_all_known(parser: argparse.ArgumentParser, rest: list[str]) -> None:
    """Exits if arguments are left that the parser does not know."""
    unknown = [word for word in rest if word.startswith("-")]
    names = [name for name in parser._option_string_actions if name.startswith("--")]
    if unknown:
        parser.error("; ".join(f"unknown flag {word}{_suggestion(word.partition('=')[0], names)}" for word in unknown))
    if rest:
        hint = f"; a name is given as --name {rest[0]}" if "--name" in names else ""
        text = next((action.dest for action in parser._actions if action.dest in _TEXTS), "")
        if text and not _is_topic(rest[0]):
            hint = f". Put the {_TEXTS[text]} in quotation marks"
        elif text == "question":
            hint = "; a seat is named as --to a"
        elif os.path.isdir(rest[0]):
            hint = "; to work in that folder, change into it first"
        parser.error(f"{rest[0]} is one argument too many{hint}")


def _setup_parser() -> argparse.ArgumentParser:
    """The parser of `debate` without a verb, whose help lists the verbs."""
    lines = (
        textwrap.fill(verb.summary, 98, initial_indent=f"    {name:12}", subsequent_indent=" " * 16)
        for name, verb in VERBS.items()
    )
    parser = _Parser(
        prog="debate",
        usage='debate ["TOPIC"] [options] | debate VERB ... | debate help [VERB]',
        description="Structured debates between two opponents that will not agree too soon, judged round by round.",
        epilog="\n".join(
            (
                "verbs:",
                *lines,
                "",
                "New here: `debate demo` replays a real debate. `debate help VERB` has an example of each verb.",
            )
        ),
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument("--version", action="version", version=f"debate-orchestrator {__version__}")
    group = parser.add_argument_group("options of the setup conversation, used by `debate` without a verb")
    group.add_argument("words", metavar="TOPIC", nargs="?", help="the topic, in quotation marks")
    group.add_argument("--topic", help=argparse.SUPPRESS)
    group.add_argument("--answers", metavar="FILE", help="continue the setup in FILE, or begin it there")
    group.add_argument("--format", metavar="NAME", help="the format; `debate formats` lists them")
    group.add_argument("--moderator", metavar="MODEL", help="the model that restates the topic and derives positions")
    group.add_argument("--rehearse", action="store_true", help="call no model, not even in the setup")
    flags.add_permissions(group)
    return parser


class _Parser(argparse.ArgumentParser):
    """Prints what is wrong first, and then where the usage is."""

    def error(self, message: str) -> NoReturn:
        # It quotes words of the command line, such as the names of files that a shell put there.
        print_status(one_line(f"debate: {message}"), f"Try: `{self.prog} --help`.")
        self.exit(2)


def _suggestion(word: str, names: Iterable[str]) -> str:
    """The name that was probably meant, as a question: that of today for a former one, or the nearest; empty if there
    is none. Dashes do not count: otherwise `--x` would be like `--a`."""
    letters = {name.replace("-", ""): name for name in names}
    word = FORMER_NAMES.get(word.removeprefix("--").replace("-", "_"), word)
    matches = difflib.get_close_matches(word.replace("-", "").replace("_", ""), letters, 1)
    return f", did you mean {letters[matches[0]]}?" if matches else ""
