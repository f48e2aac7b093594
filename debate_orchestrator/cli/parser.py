"""What can be asked for at the command line: every verb, its flags, its help and one example."""

from __future__ import annotations

import argparse
import difflib
import re
from collections.abc import Callable, Sequence
from typing import NoReturn

from debate_orchestrator import __version__
from debate_orchestrator.cli import parser_reading

_JSON = "print one JSON object on stdout"
_ALONE = "conversing.converse"
"""What answers where no verb is given."""


def parse(argv: list[str] | None) -> argparse.Namespace:
    """The command line, understood. KEY=VALUE and TURN=FILE may stand before and after flags, which
    argparse alone does not take."""
    whole = parser()
    arguments, rest = whole.parse_known_args(argv)
    unknown = [one for one in rest if one.startswith("-") or not hasattr(arguments, "given")]
    if unknown:
        own = getattr(arguments, "own", whole)
        flags = re.findall(r"(?<=[\[ ])--[a-z-]+", own.format_usage())
        own.error("; ".join(f"unrecognized argument: {one}{_meant(one.partition('=')[0], flags)}" for one in unknown))
    if arguments.verb != _ALONE and (mine := _mine(arguments)):
        whole.error(f"{mine} belongs after the verb")
    if arguments.verb == _ALONE:
        arguments.insecure, arguments.command_env = arguments.alone_insecure, arguments.alone_command_env
    if rest:
        arguments.given = [*arguments.given, *rest]
    return arguments


def _meant(said: str, names: Sequence[str]) -> str:
    """The name that was meant by one that there is not, as a question; empty where none is near."""
    begun = [name for name in names if len(said) > 3 and name.startswith(said)]
    near = begun if len(begun) == 1 else difflib.get_close_matches(said, names, 1, 0.75)
    return f", did you mean {near[0]}?" if near else ""


def _mine(arguments: argparse.Namespace) -> str:
    """The first option of the setup conversation that was given; empty where none was."""
    options = {"--answers": arguments.going_on, "--format": arguments.in_format, "--moderator": arguments.moderator}
    options |= {"--rehearse": arguments.rehearsing, "--insecure": arguments.alone_insecure}
    options["--command-env"] = arguments.alone_command_env
    return next((name for name, value in options.items() if value), "")


class _Parser(argparse.ArgumentParser):
    """Says what was meant by a verb that there is not."""

    def error(self, message: str) -> NoReturn:
        if found := re.match(r"argument VERB: invalid choice: (.*) \(choose from (.*)\)\Z", message, re.DOTALL):
            said, verbs = found[1].strip("'\""), found[2].replace("'", "").split(", ")
            message = f"there is no verb {said}; expected one of {', '.join(verbs)}{_meant(said, verbs)}"
        super().error(message)


def parser() -> argparse.ArgumentParser:
    """The whole command line; `verb` names the function that answers it."""
    made = _Parser(
        prog="debate",
        description="Guided debates between two opponents that will not agree too soon, judged round by round.",
        epilog="New here: `debate demo` replays a real debate. `debate VERB --help` has an example of each verb.",
        allow_abbrev=False,
    )
    made.add_argument("--version", action="version", version=f"debate-orchestrator {__version__}")
    made.set_defaults(verb=_ALONE)
    alone = made.add_argument_group("options of the setup conversation, which `debate` alone holds at a terminal")
    alone.add_argument(
        "--answers", dest="going_on", metavar="FILE", help="go on with that conversation, or begin it there"
    )
    alone.add_argument("--format", dest="in_format", metavar="NAME", help="the format; `debate formats` lists them")
    alone.add_argument("--moderator", metavar="WHO", help="who restates the topic and derives positions")
    alone.add_argument("--rehearse", dest="rehearsing", action="store_true", help="call no model, in the setup neither")
    _permissions(alone, "alone_")
    verbs = made.add_subparsers(title="verbs", metavar="VERB")

    def verb(name: str, function: str, about: str, example: str, *, json: bool = True) -> argparse.ArgumentParser:
        one = verbs.add_parser(
            name,
            help=about,
            description=about[0].upper() + about[1:] + ".",
            epilog=f"example: {example}",
            allow_abbrev=False,
        )
        one.set_defaults(verb=function, own=one)
        if json:
            one.add_argument("--json", action="store_true", help=_JSON)
        return one

    _setup(verb)
    _host(verb)
    _running(verb)
    _chair(verb)
    _judging(verb)
    _telling(verb)
    parser_reading.add(verb)
    return made


_Verb = Callable[..., argparse.ArgumentParser]


def _setup(verb: _Verb) -> None:
    answers = verb(
        "answers",
        "setup.answers",
        "print a commented answers file to start from",
        "debate answers > answers.yaml",
        json=False,
    )
    answers.add_argument("--from", dest="journal", metavar="JOURNAL", help="the answers that made this journal instead")

    ask = verb(
        "ask",
        "setup.ask",
        "take answers into FILE and print the next question of the setup conversation as JSON",
        'debate ask debate.yaml topic="Should we move to gRPC?"',
    )
    ask.add_argument("file", metavar="FILE", help="the answers file that is being made")
    ask.add_argument(
        "given", nargs="*", metavar="KEY=VALUE", help="an answer to a question that was put; KEY=- reads standard input"
    )
    ask.set_defaults(json=True)


def _host(verb: _Verb) -> None:
    opening = verb(
        "open",
        "hosting.open_debate",
        "write the journal, run nothing, print the turns now due",
        "debate open --answers debate.yaml --json",
    )
    _answers(opening)
    step = verb(
        "step",
        "hosting.step",
        "take the replies that are there and print the turns now due",
        "debate step debate-report.journal.jsonl --json",
    )
    step.add_argument("journal", metavar="JOURNAL")
    step.add_argument(
        "given", nargs="*", metavar="TURN=FILE", help="a reply that lies elsewhere; TURN=- reads standard input"
    )
    step.add_argument("--one-agent", action="store_true", help="record that one agent takes every turn")
    _trust(step)


def _running(verb: _Verb) -> None:
    run = verb(
        "run",
        "running.run",
        "run a whole debate with models, from an answers file or from flags, with no questions",
        'debate run --topic "Should we move to gRPC?" --rehearse',
    )
    _answers(run)
    run.add_argument("--rehearse", action="store_true", help="with stand-ins that call no model; briefs are kept")
    _permissions(run)
    _talk(run)
    resume = verb(
        "resume", "running.resume", "go on where a debate stopped", "debate resume debate-report.journal.jsonl"
    )
    resume.add_argument("journal", metavar="JOURNAL")
    resume.add_argument("--max-cost", metavar="USD", help="what calls may cost from now on, in all; none for no cap")
    _cast(resume)
    _permissions(resume)
    _trust(resume)
    _talk(resume)


def _chair(verb: _Verb) -> None:
    floor = verb(
        "floor",
        "chairing.floor",
        "put a question from the floor to a side or the judge, who hear it from their next turn on",
        'debate floor debate-report.journal.jsonl "What would it cost?" --to a --to judge',
    )
    floor.add_argument("journal", metavar="JOURNAL")
    floor.add_argument("question", metavar="QUESTION")
    floor.add_argument(
        "--to", metavar="SEAT", action="append", help="a, b or judge; may be repeated; all with turns left unless given"
    )
    close = verb(
        "close",
        "chairing.close",
        "end a debate early: the phase under way is finished, then the verdict is asked for",
        "debate close debate-report.journal.jsonl",
    )
    close.add_argument("journal", metavar="JOURNAL")


def _judging(verb: _Verb) -> None:
    judge = verb(
        "judge",
        "judging.judge",
        "judge a finished debate again, or one written down elsewhere, without debating again",
        "debate judge debate-report.journal.jsonl --judge anthropic:claude-opus-5-5",
    )
    judge.add_argument("source", metavar="JOURNAL|TRANSCRIPT.md")
    judge.add_argument("--judge", metavar="WHO", action="append", help="who judges; repeat for a panel")
    judge.add_argument("--output", metavar="PATH", help="a .md file, or a folder; by default beside the source")
    judge.add_argument("--strictness", metavar="MODE", help="lenient or strict; by default as it was debated")
    _panel(judge)
    _calls(judge)
    judge.add_argument("--topic", metavar="TEXT", help="what a transcript debates, where it does not say")
    judge.add_argument("--position-a", metavar="TEXT", help="what the side for it argues")
    judge.add_argument("--position-b", metavar="TEXT", help="what the side against it argues")
    _permissions(judge)
    _trust(judge)
    _talk(judge)

    judges = verb(
        "judges",
        "checking.judges",
        "tell how often judges fall for length, polish, sources, orders and the like; without --probe, list the probes",
        "debate judges --probe --judge anthropic:claude-opus-5-5 --max-cost 3",
    )
    judges.add_argument("--probe", action="store_true", help="put the probes before the judges, and write their card")
    judges.add_argument("--judge", metavar="WHO", action="append", help="who is checked; repeat for more, side by side")
    judges.add_argument("--times", metavar="N", help="how often each judge judges each version; once unless given")
    judges.add_argument(
        "--output", metavar="FOLDER", help="for card.md, card.json and journals; judge-check/ unless given"
    )
    judges.add_argument("--max-cost", metavar="USD", help="what all of it may cost, with what the folder has on record")
    _permissions(judges)
    judges.add_argument("--quiet", action="store_true", help="say nothing but errors and the card")


def _telling(verb: _Verb) -> None:
    report = verb(
        "report", "telling.report", "make the reports again", "debate report debate-report.journal.jsonl --to copy.html"
    )
    report.add_argument("journal", metavar="JOURNAL", nargs="?")
    report.add_argument(
        "--to", metavar="FILE", help="a .md, .html or .json file; .md and .html beside the journal unless given"
    )
    report.add_argument("--schema", action="store_true", help="print the JSON Schema of .json reports instead")
    replay = verb(
        "replay",
        "replaying.replay",
        "play a debate again at no cost: what was said, and the report",
        "debate replay debate-report.journal.jsonl --to again.md",
    )
    replay.add_argument("journal", metavar="JOURNAL")
    replay.add_argument("--to", metavar="FILE", help="write its report there: FILE.md or FILE.html")
    _pace(replay)
    demo = verb(
        "demo", "replaying.demo", "replay a real recorded debate; no key, no network", "debate demo --to demo-report.md"
    )
    demo.add_argument("--to", metavar="FILE", help="write its report there: FILE.md or FILE.html")
    demo.add_argument("--list", action="store_true", help="list the debates that ship with the package")
    demo.add_argument("--name", metavar="NAME", help="which of them to replay")
    _pace(demo)
    check = verb(
        "check",
        "telling.check",
        "tell whether a journal is whole, unchanged and complete, and its reports say what it says",
        "debate check debate-report.journal.jsonl debate-report.md",
    )
    check.add_argument("journal", metavar="JOURNAL")
    check.add_argument(
        "given", nargs="*", default=[], metavar="REPORT", help="a report of it; those beside the journal unless given"
    )
    models = verb("models", "listing.models", "tell who can be asked from here, and why others can't", "debate models")
    _insecure(models)
    _formats(verb)


def _formats(verb: _Verb) -> None:
    formats = verb(
        "formats",
        "formats.formats",
        "list the formats, show one unrolled, or copy one to make your own of it",
        "debate formats new town-hall --from adversarial",
    )
    formats.add_argument(
        "given",
        nargs="*",
        metavar="NAME",
        help="a shipped format, or the path of your own (./NAME), which is checked whole; or: new NAME",
    )
    formats.add_argument("--rounds", type=int, metavar="N", help="unroll for so many rounds")
    formats.add_argument("--strictness", metavar="MODE", help="unroll for this strictness")
    formats.add_argument("--from", dest="source", metavar="FORMAT", help="new: what to copy; adversarial unless given")
    formats.add_argument("--to", metavar="DIR", help="new: where the folder NAME is made; here unless given")


def _permissions(one: argparse._ActionsContainer, prefix: str = "") -> None:
    """What the user permits to models and programs that are called, and no answers file can."""
    _insecure(one, prefix)
    one.add_argument(
        "--command-env", dest=f"{prefix}command_env", metavar="NAME", action="append", type=_variable,
        help="an environment variable that command: programs get too, such as a key; may be repeated",
    )  # fmt: skip


def _variable(name: str) -> str:
    """The name of an environment variable; its value is not repeated where one was given too."""
    bare, given, _ = name.partition("=")
    if given:
        raise argparse.ArgumentTypeError(f"got a value too; expected a name alone: --command-env {bare}")
    return name


def _insecure(one: argparse._ActionsContainer, prefix: str = "") -> None:
    one.add_argument(
        "--insecure", dest=f"{prefix}insecure", action="store_true",
        help="send keys over plain http to other machines too, readable on the way",
    )  # fmt: skip


def _talk(one: argparse.ArgumentParser) -> None:
    """How much is said while it runs."""
    how = one.add_mutually_exclusive_group()
    how.add_argument("--quiet", action="store_true", help="say nothing but errors and the closing line")
    how.add_argument("--events", action="store_true", help="tell each event on stderr, one JSON object a line")


def _pace(one: argparse.ArgumentParser) -> None:
    one.add_argument("--quiet", action="store_true", help="say nothing but the closing line")
    pace = one.add_mutually_exclusive_group()
    pace.add_argument("--pace", metavar="WORDS", help="words a minute at a terminal; 600 unless given")
    pace.add_argument("--no-pace", action="store_true", help="print all of it at once")


def _answers(one: argparse.ArgumentParser) -> None:
    """The answers file and the flags that override it."""
    one.add_argument(
        "--answers", metavar="FILE", help="a YAML or JSON file, - for standard input; `debate answers` prints a sample"
    )
    one.add_argument("--topic", metavar="TEXT", help="the sentence to debate")
    one.add_argument("--position-a", metavar="TEXT")
    one.add_argument("--position-b", metavar="TEXT")
    one.add_argument("--rounds", metavar="N", help="1 to 6; 3 unless given")
    one.add_argument("--strictness", metavar="MODE", help="lenient or strict; strict unless given")
    one.add_argument("--output", metavar="PATH", help="a .md file, or a folder; debate-report.md unless given")
    one.add_argument("--format", metavar="NAME", help="`debate formats` lists them; the path of your own, as ./NAME")
    one.add_argument("--first", metavar="SIDE", help="who speaks first: a or b")
    one.add_argument("--context", metavar="FILE", action="append", help="material for both sides; may be repeated")
    _cast(one)
    _panel(one)
    one.add_argument("--search", action="store_true", help="debaters may search the web, where their provider can")
    _calls(one)
    one.add_argument("--insist", action="store_true", help="really have 7 or 8 rounds")
    one.add_argument("--one-agent", action="store_true", help="record that one agent takes every turn")
    _trust(one)


def _trust(one: argparse.ArgumentParser) -> None:
    """Consent to what a file does beyond the debate."""
    about = "let the file run programs, call servers by address, and use files outside this folder, as it says"
    one.add_argument("--trust", action="store_true", help=about)


def _cast(one: argparse.ArgumentParser) -> None:
    """Who fills the seats."""
    one.add_argument("--a", metavar="WHO", help="who argues A, such as anthropic:MODEL; `debate models` tells who can")
    one.add_argument("--b", metavar="WHO", help="who argues B")
    one.add_argument("--judge", metavar="WHO", action="append", help="who judges; repeat for a panel")


def _panel(one: argparse.ArgumentParser) -> None:
    """How judges vote."""
    one.add_argument(
        "--mirror",
        action=argparse.BooleanOptionalAction,
        help="every judge also votes on the debate with the sides exchanged; what flips is no vote",
    )
    one.add_argument("--quorum", metavar="N", help="judges whose votes must count; more than half unless given")
    one.add_argument(
        "--blind", action=argparse.BooleanOptionalAction, help="judges also vote before the first word is said"
    )
    one.add_argument(
        "--each-round",
        action=argparse.BooleanOptionalAction,
        help="judges vote after every round, in formats that leave that open",
    )


def _calls(one: argparse.ArgumentParser) -> None:
    """How calls are made, and what they may cost."""
    one.add_argument("--max-cost", metavar="USD", help="what calls may cost in all; the debate pauses before more")
    one.add_argument("--patience", metavar="SECONDS", help="how long a turn may be in trouble before a pause")
    one.add_argument("--leader-first", action="store_true", help="calls that share a cache wait for the first of them")
