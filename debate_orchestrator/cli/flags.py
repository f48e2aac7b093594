"""Groups of flags that several verbs share."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from debate_orchestrator.util.errors import short_repr
from debate_orchestrator.util.numbers import plain_integer, plain_number

if TYPE_CHECKING:
    from debate_orchestrator.core.format import Format
    from debate_orchestrator.providers.provider import Permissions


def add_json(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--json", action="store_true", help="print one JSON object on stdout")


def add_journal(parser: argparse.ArgumentParser, which: str = "") -> None:
    """The journal that `journals.find_journal` finds for a verb; `which` says what it is by default."""
    about = f"by default the newest of the folder{which and f' that {which}'}"
    parser.add_argument("journal", metavar="JOURNAL", nargs="?", help=about)


def add_waiting(parser: argparse.ArgumentParser, purpose: str) -> None:
    """Adds the option for how long a host's command waits for replies."""
    about = f"wait up to that many seconds (110 by default) for {purpose}, then go on"
    parser.add_argument("--wait", nargs="?", type=_seconds, const=110.0, metavar="SECONDS", help=about)


def add_schemas(parser: argparse.ArgumentParser) -> None:
    """Adds the option for how much of a turn is printed."""
    parser.add_argument("--schemas", action="store_true", help="print the schemas of replies; briefs hold them too")


def whole_number(text: str) -> int:
    """The value of a flag that takes a whole number."""
    number = plain_integer(text)
    if number is None:
        raise argparse.ArgumentTypeError(f"{short_repr(text)} is not a whole number, such as 3.")
    return number


def _seconds(text: str) -> float:
    seconds = plain_number(text)
    if seconds is not None and 0 <= seconds <= 86_400:
        return seconds
    raise argparse.ArgumentTypeError(f"{text!r} is not a number of seconds. Try: --wait at the end, or --wait=60.")


def add_answers(parser: argparse.ArgumentParser) -> None:
    """The answers file, the topic, and the flags over the file, for `answers_and_flags.settings_with_consent`."""
    parser.add_argument("words", metavar="TOPIC", nargs="?", help="the topic, in quotation marks")
    parser.add_argument(
        "--answers", metavar="FILE", help="a YAML or JSON file, - for standard input; `debate answers` prints a sample"
    )
    add_settings(parser)
    add_trust(parser)


def add_settings(parser: argparse.ArgumentParser, *names: str) -> None:
    """The flags of these settings, or else of all; `settings_from_flags` reads them."""
    from debate_orchestrator.setup.answers import types_of
    from debate_orchestrator.setup.setting_texts import SETTING_TEXTS

    for name in names or SETTING_TEXTS:
        texts, types = SETTING_TEXTS[name], types_of(name)
        flag = f"--{name.replace('_', '-')}"
        if bool in types:
            parser.add_argument(flag, action=argparse.BooleanOptionalAction, help=texts.help)
        elif texts.parts:
            if name == "cast":
                about = "one model for every seat that no other flag names"
                parser.add_argument("--model", metavar=texts.metavar, help=about)
            for part, about in texts.parts.items():
                action = "append" if part == "judge" else "store"
                parser.add_argument(texts.part_flag.format(part), metavar=texts.metavar, action=action, help=about)
        else:
            action = "append" if tuple in types else "store"
            parser.add_argument(flag, metavar=texts.metavar, action=action, help=texts.help)


def settings_from_flags(arguments: argparse.Namespace, *names: str) -> dict[str, Any]:
    """The values that the user gave by flags, by setting; only the settings in `names`, if any are named. Of a setting
    that is a mapping, such as `cast`, only the keys whose flags were given."""
    from debate_orchestrator.setup.answers import from_text
    from debate_orchestrator.setup.setting_texts import SETTING_TEXTS

    values: dict[str, Any] = {}
    for name in names or SETTING_TEXTS:
        if (setting_text := SETTING_TEXTS[name]).parts:
            attributes = {
                part: setting_text.part_flag.format(part)[2:].replace("-", "_") for part in setting_text.parts
            }
            texts = {part: getattr(arguments, attribute, None) for part, attribute in attributes.items()}
            value: Any = {part: text for part, text in texts.items() if text is not None}
        else:
            value = getattr(arguments, name, None)
        if value is not None and value != {}:
            values[name] = from_text(name, value) if isinstance(value, str) else value
    return values


def checked_settings(arguments: argparse.Namespace, format: Format, *names: str) -> dict[str, Any]:
    """The values of these settings that the user gave by flags. Raises BadSettings with every problem."""
    from debate_orchestrator.setup.answers import judging_settings

    values = settings_from_flags(arguments, *names)
    validated = judging_settings(values, format, 1)
    return {name: getattr(validated, name) for name in values}


def add_permissions(parser: argparse._ActionsContainer) -> None:
    """Adds the options that permit something to the called models and programs. No answers file can permit it."""
    add_insecure(parser)
    parser.add_argument(
        "--command-env",
        metavar="NAME",
        action="append",
        type=_variable,
        help="an environment variable that command: programs get too, such as a key; may be repeated",
    )


def add_insecure(parser: argparse._ActionsContainer) -> None:
    about = "send keys over plain http to other machines too, unencrypted"
    parser.add_argument("--insecure", action="store_true", help=about)


def _variable(name: str) -> str:
    """The name of an environment variable. If a value was given too, it may be a secret and is not repeated."""
    bare, equals, _ = name.partition("=")
    if equals:
        raise argparse.ArgumentTypeError(f"give the name alone, without a value: --command-env {bare}")
    return name


def permissions_of(arguments: argparse.Namespace) -> Permissions:
    """The permissions that the flags of `add_permissions` give; none for a verb without these flags."""
    from debate_orchestrator.providers.provider import Permissions

    variables = tuple(getattr(arguments, "command_env", None) or ())
    return Permissions(variables, insecure=getattr(arguments, "insecure", False))


def add_trust(parser: argparse.ArgumentParser) -> None:
    """Consent to what a file does besides the debate."""
    about = "let the file run programs, call servers by address, and use files outside this folder, as it says"
    parser.add_argument("--trust", action="store_true", help=about)


def add_progress(parser: argparse.ArgumentParser) -> None:
    """Adds the options for how much is printed while a debate runs."""
    group = parser.add_mutually_exclusive_group()
    group.add_argument("--quiet", action="store_true", help="print nothing but errors and the closing line")
    group.add_argument("--events", action="store_true", help="print each event on stderr, one JSON object a line")


def add_replay(parser: argparse.ArgumentParser) -> None:
    """Adds the options for the report of a replay and its speed."""
    from debate_orchestrator.reports.report_files import suffixes

    parser.add_argument("--to", metavar="FILE", help=f"write its report to a file that ends in {suffixes()}")
    parser.add_argument("--quiet", action="store_true", help="print nothing but the closing line")
    pace = parser.add_mutually_exclusive_group()
    pace.add_argument("--pace", metavar="WORDS", help="words per minute at a terminal; 600 by default")
    pace.add_argument("--no-pace", action="store_true", help="print all of it at once")
