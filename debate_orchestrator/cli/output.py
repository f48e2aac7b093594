"""Printing: results on stdout, progress and errors on stderr, both sanitized and without secrets."""

from __future__ import annotations

import errno
import json
import os
import re
import shutil
import sys
import warnings
from argparse import Namespace
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any, TextIO

from debate_orchestrator.storage.files import DISK_ERRORS
from debate_orchestrator.util import resources
from debate_orchestrator.util.messages import and_joined
from debate_orchestrator.util.redact import redact
from debate_orchestrator.util.sanitize import one_line, sanitize, unbroken
from debate_orchestrator.util.terminal_text import MAX_WIDTH, filled, moves

if TYPE_CHECKING:
    from debate_orchestrator.core.format import Format

_OTHER_FLAGS = {"insecure": "--insecure", "rehearse": "--rehearse"}
"""What is no setting and has a flag, by the name that it has in Python."""
_flags_of_verb: set[str] = set()
"""The flags of the verb that runs, by their names in the arguments."""


class OutputClosed(OSError):
    """The process was begun without the stream that something was printed to."""


class _Redacted:
    """A text stream that redacts what is written to it, and escapes characters that its encoding lacks."""

    def __init__(self, stream: TextIO, *, drop_if_full: bool):
        """With `drop_if_full`, as for stderr, a full disk or a closed stream drops the text and raises nothing."""
        self._stream = stream
        self._drop_if_full, self.lost = drop_if_full, ""
        """Why something could not be written; empty while all could."""

    def write(self, text: str) -> int:
        name = self._stream.encoding or "utf-8"
        with self._noted():
            self._stream.write(redact(text).encode(name, "backslashreplace").decode(name))
        return len(text)

    def flush(self) -> None:
        with self._noted():
            self._stream.flush()

    @contextmanager
    def _noted(self) -> Iterator[None]:
        """Notes that something could not be written since the disk is full or fails, or the stream was closed."""
        try:
            yield
        except OSError as error:
            if error.errno == errno.EBADF:
                error = OutputClosed(error.errno, f"standard {'error' if self._drop_if_full else 'output'} is closed")
            elif error.errno not in DISK_ERRORS:
                raise
            self.lost = self.lost or str(error.strerror)
            if not self._drop_if_full:
                raise error from None

    def writelines(self, lines: Iterable[str]) -> None:
        self.write("".join(lines))

    def __getattr__(self, name: str) -> Any:
        if name == "buffer":  # bytes would go past `write`
            raise AttributeError(name)
        return getattr(self._stream, name)


def open_streams() -> None:
    """Opens the null device in place of each standard stream that the process was begun without. Otherwise a file that
    is opened later would get its number. The device is opened for reading, so that printing to it fails."""
    while (descriptor := os.open(os.devnull, os.O_RDONLY)) <= 2:  # the lowest that is free
        os.set_inheritable(descriptor, True)
    os.close(descriptor)
    sys.stdin = sys.stdin or open(os.devnull, encoding="utf-8")  # noqa: SIM115
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:
            descriptor = os.open(os.devnull, os.O_RDONLY)
            setattr(sys, name, open(descriptor, "w", encoding="utf-8"))  # noqa: SIM115


def redact_streams() -> None:
    """From here on this process prints no secret of the environment: not in results, errors, usage messages, logs of
    libraries or tracebacks. Warnings of libraries are hidden, unless Python is told to show them: they may quote a part
    of a secret, which redaction can't find."""
    if not sys.warnoptions:
        warnings.simplefilter("ignore")
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if not isinstance(stream, _Redacted):
            setattr(sys, name, _Redacted(stream, drop_if_full=name == "stderr"))


def lost_output() -> str:
    """Flushes standard output and standard error. Returns why something that this process printed could not be written,
    as on a full disk or where one was closed; empty if all of it was."""
    for stream in (sys.stdout, sys.stderr):
        with suppress(ValueError):  # it was closed
            try:
                stream.flush()
            except OSError:
                # Python flushes once more at exit: it would tell the same fault again, and end with code 120.
                os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
    streams = (stream for stream in (sys.stdout, sys.stderr) if isinstance(stream, _Redacted))
    return next((stream.lost for stream in streams if stream.lost), "")


def at_terminal(shown: TextIO) -> bool:
    """Whether a person can be asked: standard input, and the stream on which questions are shown, are a terminal whose
    cursor can be moved."""
    try:
        return moves(os.environ) and sys.stdin.isatty() and shown.isatty()
    except ValueError:  # one of them is closed
        return False


def print_json(value: dict[str, Any]) -> None:
    """Prints one JSON object on stdout, with the version of its schema. It is ASCII, so that any terminal shows
    it, and compact, since agents pay for every character."""
    print(json.dumps({"schema": 1, **value}, ensure_ascii=True, separators=(",", ":")))


def print_json_line(value: dict[str, Any]) -> None:
    """Prints what happens in a run as one JSON object on a line of stderr, for a program."""
    with suppress(OSError):  # stderr was closed; the run goes on
        print(json.dumps({"schema": 1, **value}), file=sys.stderr, flush=True)


def say(*lines: str) -> None:
    """Prints a result for a person, on stdout. Each of the lines stays one, whatever names or values are in it."""
    _write(lines, sys.stdout)


def print_document(text: str) -> None:
    """Prints a document on stdout, without wrapping its lines."""
    print(sanitize(text), end="")


def print_status(*lines: str) -> None:
    """Prints progress or advice, each of the lines as one, on stderr, behind the results before it where both go into
    one pipe."""
    with suppress(OSError, ValueError):  # a pipe that was closed is told where results are printed
        sys.stdout.flush()
    _write(lines, sys.stderr)


def next_step(text: str) -> None:
    """Prints the closing line of a verb, on stderr: what to do next, as a command in backticks or a short sentence."""
    print_status(f"Next: {text}")


def format_name(format: Format) -> str:
    """A format as an answers file names it; one of the user's own by the folder where it would be."""
    return format.name if format.name in resources.format_names() else f"./{format.name}"


def name_flags_of(arguments: Namespace) -> None:
    """From here on hints name the flags that these arguments of a verb come from, and no others."""
    _flags_of_verb.clear()
    _flags_of_verb.update(vars(arguments))


def print_problems(problems: Iterable[str]) -> None:
    """Prints problems, one line each, on stderr; settings that a hint names in backquotes as the flags that give them,
    where the verb has such flags."""
    for problem in problems:
        said, tries, hint = str(problem).rpartition(" Try: ")
        hint = re.sub(r"`([\w.]+)`", lambda found: _flag(found[1]) or found[0], hint) if tries else hint
        print_status(one_line(f"debate: {said}{tries}{hint}"))


@contextmanager
def printing_problems(problems: Iterable[str]) -> Iterator[None]:
    """Prints problems behind the results, also where these can't be printed."""
    try:
        yield
    finally:
        print_problems(problems)


def _flag(setting: str) -> str:
    """The flags that the verb has of a setting (`cast`) or of a part of it (`cast.judge`); empty for a word that has no
    flag, and for a setting that is on by default, whose flag turns it off."""
    from debate_orchestrator.core.settings import Settings
    from debate_orchestrator.setup.answers import SETTING_TEXTS

    if setting in _OTHER_FLAGS:
        return _OTHER_FLAGS[setting] if setting in _flags_of_verb else ""
    name, _, part = setting.partition(".")
    text = SETTING_TEXTS.get(name)
    if text is None or Settings.model_fields[name].default is True or (part and part not in text.parts):
        return ""
    parts = [part] if part else [*text.parts]
    flags = [text.part_flag.format(own) for own in parts] or [f"--{name.replace('_', '-')}"]
    return and_joined([flag for flag in flags if flag[2:].replace("-", "_") in _flags_of_verb])


def _write(lines: Iterable[str], stream: TextIO) -> None:
    """Prints sanitized lines, at a terminal wrapped between words, with paths left whole."""
    text = redact("\n".join(map(unbroken, lines)))  # before the wrap, which could split a secret that has spaces
    if stream.isatty():
        width = min(shutil.get_terminal_size().columns, MAX_WIDTH)
        text = "\n".join(filled(line, width) for line in text.split("\n"))
    print(text, file=stream)
