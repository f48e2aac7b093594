"""Printing: results on stdout, progress and errors on stderr, both sanitized and without secrets."""

from __future__ import annotations

import json
import os
import re
import sys
import warnings
from argparse import Namespace
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any, TextIO

from debate_orchestrator.util import resources
from debate_orchestrator.util.errors import short_repr, split_hint
from debate_orchestrator.util.messages import and_joined
from debate_orchestrator.util.redact import redact, redact_json
from debate_orchestrator.util.sanitize import one_line, sanitize, without_line_breaks
from debate_orchestrator.util.terminal_text import USUAL_SIZE, can_move_cursor, terminal_size, wrap

if TYPE_CHECKING:
    from debate_orchestrator.core.format import Format

_OTHER_FLAGS = {"insecure": "--insecure", "rehearse": "--rehearse"}
"""The flags that set no setting, by their names in Python."""
_verb = Namespace(arguments=Namespace())
"""The arguments of the verb that runs."""


class _Redacted:
    """A text stream that redacts what is written to it, and escapes characters that its encoding lacks."""

    def __init__(self, stream: TextIO):
        self._stream = stream

    def write(self, text: str) -> int:
        self._stream.write(_encodable(redact(text), self._stream))
        return len(text)

    def write_redacted(self, text: str) -> None:
        """Writes ASCII text that is without secrets."""
        self._stream.write(text)

    def writelines(self, lines: Iterable[str]) -> None:
        self.write("".join(lines))

    def __getattr__(self, name: str) -> Any:
        if name == "buffer":  # bytes would go past `write`
            raise AttributeError(name)
        return getattr(self._stream, name)


def redact_streams() -> None:
    """From here on this process prints no secret of the environment, in results, errors, logs or tracebacks. Warnings
    of libraries, which may quote a part of a secret, are hidden unless Python is told to show them."""
    if not sys.warnoptions:
        warnings.simplefilter("ignore")
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name) or open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115
        if not isinstance(stream, _Redacted):
            setattr(sys, name, _Redacted(stream))


def unwritten_output() -> OSError | None:
    """Flushes standard output; returns why what was printed can't be written, as on a full disk, and drops it."""
    try:
        sys.stdout.flush()
    except OSError as error:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return error
    return None


def at_terminal(stream: TextIO) -> bool:
    """Whether a person can be asked: standard input and `stream` are a terminal whose cursor can be moved."""
    try:
        return can_move_cursor(os.environ) and sys.stdin.isatty() and stream.isatty()
    except ValueError:  # one of them is closed
        return False


def print_json(value: dict[str, Any]) -> None:
    """Prints a JSON object with the version of its schema: in ASCII for any terminal, compact to save tokens."""
    _print_json(value, sys.stdout, separators=(",", ":"))


def print_json_line(value: dict[str, Any]) -> None:
    """Prints what happens in a run as one JSON object on a line of stderr, for a program."""
    with suppress(OSError):  # stderr can't be written to; the run goes on
        _print_json(value, sys.stderr)
        sys.stderr.flush()


def _print_json(value: dict[str, Any], stream: TextIO, **options: Any) -> None:
    text = redact_json(json.dumps({"schema": 1, **value}, allow_nan=False, **options), **options)
    write = stream.write_redacted if isinstance(stream, _Redacted) else stream.write
    write(f"{text}\n")


def print_result(*lines: str) -> None:
    """Prints a result for a person, on stdout. Each of the lines stays one, whatever names or values are in it."""
    _write(lines, sys.stdout)


def print_quoted(*lines: str) -> None:
    """Prints a result that quotes what was said, with its lines broken in a pipe too: it may end at a terminal, where
    the rest of a long line would look like a line of this program."""
    _write(lines, sys.stdout, always_wrap=True)


def print_document(text: str) -> None:
    """Prints a document on stdout: into a file or a pipe as it is, at a terminal with its lines broken."""
    print(_wrapped(sanitize(text), sys.stdout), end="")


def print_status(*lines: str, always_wrap: bool = False) -> None:
    """Prints progress or advice, each of the lines as one, on stderr, after the results before it where both go into
    one pipe; with `always_wrap`, lines are broken in a pipe too. If stderr can't be written to, the work goes on."""
    with suppress(OSError):
        sys.stdout.flush()
    with suppress(OSError):
        _write(lines, sys.stderr, always_wrap=always_wrap)


def next_step(text: str) -> None:
    """Prints the last line of a verb, on stderr: what to do next, as a command in backticks or a short sentence."""
    print_status(f"Next: {text}")


def print_outcome(arguments: Namespace, fields: dict[str, Any], *lines: str, next_text: str = "") -> int:
    """Prints how a verb ended: with --json as an object of these fields, otherwise as lines and what to do next.
    Returns the exit code 0."""
    if arguments.json:
        print_json(fields)
        return 0
    print_result(*lines)
    if next_text:
        next_step(next_text)
    return 0


def format_name(format: Format) -> str:
    """A format as an answers file names it; one of the user's own by the folder where it would be."""
    return format.name if format.name in resources.format_names() else f"./{format.name}"


def name_flags_of(arguments: Namespace) -> None:
    """From here on hints name the flags that these arguments of a verb come from, and no others."""
    _verb.arguments = arguments


def print_problems(problems: Iterable[str]) -> None:
    """Prints problems on stderr, a line each. One about a key of the answers file begins with the key's line. In the
    hints of others a setting in backquotes, alone or with its value, is printed as the verb's flag."""
    locations = getattr(_verb.arguments, "answer_locations", {})
    for problem in problems:
        sentence, hint = split_hint(str(problem))
        if location := _location(sentence, locations):
            sentence = f"{location}: {sentence}"
        else:
            sentence = sentence.replace(", or null for", ", or none for")
            hint = re.sub(r"`([\w.]+)(?:: ([^`]*))?`", _as_flag, hint)
        print_status(one_line(f"debate: {sentence}{hint}"))


def _location(sentence: str, locations: Mapping[str, str]) -> str:
    """The place of the key of the answers file that a sentence is about; empty if it is about none."""
    for key, location in locations.items():
        if sentence.startswith((f"{key}:", f"{key}.", f"{short_repr(key)} is not a key")):
            return location
    return ""


@contextmanager
def printing_problems(problems: Iterable[str]) -> Iterator[None]:
    try:
        yield
    finally:
        print_problems(problems)


def _as_flag(quoted: re.Match[str]) -> str:
    """The verb's flag for a setting in backquotes, with the value if it stands there; the same if there is none."""
    flag, value = _flag(quoted[1]), quoted[2]
    return f"{flag} {value}" if flag and value not in (None, "true") else flag or quoted[0]


def _flag(setting: str) -> str:
    """The verb's flags for a setting (`cast`) or a part (`cast.judge`); empty if it has none, or is on by default."""
    from debate_orchestrator.core.settings import Settings
    from debate_orchestrator.setup.setting_texts import SETTING_TEXTS

    if setting in _OTHER_FLAGS:
        return _OTHER_FLAGS[setting] if setting in _verb.arguments else ""
    name, _, part = setting.partition(".")
    text = SETTING_TEXTS.get(name)
    if text is None or Settings.model_fields[name].default is True or (part and part not in text.parts):
        return ""
    parts = [part] if part else [*text.parts]
    flags = [text.part_flag.format(key) for key in parts] or [f"--{name.replace('_', '-')}"]
    return and_joined([flag for flag in flags if flag[2:].replace("-", "_") in _verb.arguments])


def _write(lines: Iterable[str], stream: TextIO, *, always_wrap: bool = False) -> None:
    print(_wrapped("\n".join(map(without_line_breaks, lines)), stream, always_wrap=always_wrap), file=stream)


def _encodable(text: str, stream: TextIO) -> str:
    """`text` with escapes for the characters that the stream's encoding lacks."""
    name = stream.encoding or "utf-8"
    return text.encode(name, "backslashreplace").decode(name)


def _wrapped(text: str, stream: TextIO, *, always_wrap: bool = False) -> str:
    """Sanitized text without secrets, wrapped if it goes to a terminal, or always."""
    # Before the wrap: it could split a secret that has spaces, and escapes are wider than their characters.
    text = _encodable(sanitize(redact(text)), stream)
    if always_wrap and not stream.isatty():
        return wrap(text, USUAL_SIZE[0])
    return wrap(text, terminal_size(stream)[0], whole_paths=True) if stream.isatty() else text
