"""The folder between engine and host: a brief is written as a file, its reply is put beside it.

A reply in place counts only if the brief beside it is, to the byte, the brief that is due now. A brief holds
everything said before it, and the markers around each speech, which are made from the debate's nonce. So it can't
have been answered early. A journal that lost its tail to a crash takes up again the replies that still answer it.
"""

from __future__ import annotations

import errno
import itertools
import os
import re
import time
from collections.abc import Iterable
from contextlib import suppress
from typing import BinaryIO, NamedTuple

from debate_orchestrator.core.phases import id_hiding_mirrored
from debate_orchestrator.prompting.replies import MAX_SIZE, decode
from debate_orchestrator.setup.risks import is_outside_or_hidden
from debate_orchestrator.storage.files import make_folder, move_aside, redacted_bytes, write_atomic
from debate_orchestrator.util.data import error_text, is_link, name_of, read_regular
from debate_orchestrator.util.errors import BadFile, BadReply, Interrupted, with_hint
from debate_orchestrator.util.messages import Notify, ignore
from debate_orchestrator.util.redact import redact

_POLL_SECONDS = 0.3
"""The polling interval for replies, in seconds."""
_QUIET_SECONDS = 1.0
"""Seconds without a change after which a reply file is taken for whole."""

_PLAIN_NAME = re.compile(r"\w[\w.-]{0,99}")
"""Ids of turns by which a file may be named."""


class TurnFiles(NamedTuple):
    turn: str
    brief: str
    reply: str
    """Path where its reply belongs."""


class TurnsFolder:
    """The folder of a debate or a setup, made with the first brief. `notify` gets what the user should know."""

    def __init__(self, folder: str, notify: Notify = ignore):
        self.folder, self.notify = folder, notify

    def turn_files(self, turn_id: str, wants: str) -> TurnFiles:
        """The paths of a turn's brief and reply. The agent sees them."""
        stem = os.path.join(self.folder, id_hiding_mirrored(turn_id))
        return TurnFiles(turn_id, f"{stem}.brief.md", f"{stem}.reply.{'json' if wants == 'json' else 'md'}")

    def write_brief(self, turn_files: TurnFiles, brief: str) -> str | None:
        """Puts a brief in its place. A file that is there already is moved aside, since it may have been edited. So is
        a reply that was there before the brief, because it answers something else; the problem with it is returned.
        Raises BadFile if the brief can't be written."""
        if self._has_brief(turn_files, brief):
            return None
        make_folder(self.folder)
        problem = ""
        if os.path.lexists(turn_files.reply):
            kept_path = self._move_aside(turn_files.reply, "aside")
            problem = f"{turn_files.turn}: this reply was there before its brief, or answers an earlier one."
            problem = with_hint(f"{problem} It was kept as {kept_path}.", "answer the brief as it is now")
        try:
            if os.path.lexists(turn_files.brief):
                self._move_aside(turn_files.brief, "earlier")
            write_atomic(turn_files.brief, brief)
        except BadFile as error:
            error.problems += filter(None, [problem])
            raise
        return problem or None

    def collect(self, turn_files: TurnFiles, brief: str) -> str | None:
        """The reply to exactly this brief; None if there is none yet, or not all of it. Raises BadReply if it is not
        text."""
        if not self._has_brief(turn_files, brief) or not os.path.lexists(turn_files.reply):
            return None
        if is_being_written(turn_files.reply):
            return None
        return read_reply(turn_files.turn, turn_files.reply)

    def has_other_reply(self, turn_files: TurnFiles, stored: str) -> bool:
        """Whether the reply in place is not the one that was taken, and `stored` without secrets."""
        if is_link(self.folder) or not os.path.lexists(turn_files.reply):
            return False
        with suppress(BadReply):
            text = read_reply(turn_files.turn, turn_files.reply)
            return stored not in (text, redact(text))
        return False

    def reject(self, turn_files: TurnFiles, problems: list[str]) -> list[str]:
        """Moves a bad reply aside, so that another can come. The problems, with its new name and how to go on."""
        path = self._move_aside(turn_files.reply, "rejected")
        again = (
            f"It was kept as {name_of(path)}. Have the turn taken again, with its reply in {name_of(turn_files.reply)}."
        )
        return [*problems[:-1], f"{problems[-1]} {again}"]

    def new_file(self, turn_id: str) -> tuple[str, BinaryIO]:
        """A new file, with its path, for a reply that is in no other; agents read none of that ending as instructions.
        Raises BadFile or OSError if it can't be made."""
        stem = turn_id if _PLAIN_NAME.fullmatch(turn_id) else "unnamed"
        make_folder(self.folder)
        for n in itertools.count(1):
            path = os.path.join(self.folder, f"{stem}.reply.rejected-{n}.txt")
            with suppress(FileExistsError):
                return os.path.normpath(path), open(path, "xb")
        raise AssertionError

    def move_taken_aside(self, turn_files: TurnFiles) -> None:
        """Moves a brief and its reply, which was taken, aside, so that the same turn can be asked for again."""
        for path in (turn_files.reply, turn_files.brief):
            if os.path.lexists(path):
                self._move_aside(path, "taken")

    def _has_brief(self, turn_files: TurnFiles, brief: str) -> bool:
        if is_link(self.folder):
            return False
        try:
            return read_regular(turn_files.brief) == redacted_bytes(turn_files.brief, brief)
        except OSError:
            return False

    @staticmethod
    def _move_aside(path: str, label: str) -> str:
        try:
            return move_aside(path, label, first_ending="-1")
        except OSError as error:
            raise BadFile(f"{name_of(path)} can't be moved aside ({error_text(error)}).") from None


def awaited_reply_text(turn: str, reply: str) -> str:
    """The sentence for a turn whose reply, at that path, was not taken."""
    if os.path.lexists(reply):
        return f"{turn}: the reply at {reply} is still being written, and is left for the next call."
    return f"{turn}: no reply at {reply} yet."


def wait_for_replies(files_due: Iterable[TurnFiles], seconds: float) -> None:
    """Waits until these reply files are whole, or for that many seconds; not for turns without a brief file."""
    deadline = time.monotonic() + seconds
    replies = [turn_files.reply for turn_files in files_due if os.path.lexists(turn_files.brief)]
    while (seconds_left := deadline - time.monotonic()) > 0:
        if all((status := _status(path)) and status[0] and not is_being_written(path) for path in replies):
            return
        _sleep(min(_POLL_SECONDS, seconds_left))


def is_being_written(path: str) -> bool:
    """Whether a file changes, or is gone, within a second of its last change. Only a younger one is waited for."""
    before = _status(path)
    if before is None or (age := time.time() - before[1]) >= _QUIET_SECONDS:
        return False
    _sleep(_QUIET_SECONDS - max(age, 0.0))  # by another machine's clock a file may be from the future
    return _status(path) != before


def _status(path: str) -> tuple[int, float] | None:
    """Size in bytes and time of the last change of a file; None while there is none."""
    try:
        status = os.lstat(path)
    except OSError:
        return None
    return status.st_size, status.st_mtime


def _sleep(seconds: float) -> None:
    """An interrupt says that nothing is lost: what was accepted is saved before a wait."""
    try:
        time.sleep(seconds)
    except KeyboardInterrupt:
        raise Interrupted from None


def read_named_reply(turn_id: str, path: str, folder: str) -> str:
    """The text of a reply file that the host named, in the working folder or in that `folder`. Raises BadReply as
    `read_reply`, for a file elsewhere, and for one that is still being written."""
    if is_outside_or_hidden(path, folder):
        where = "not in the working folder"
        if folder != os.curdir:
            where = f"neither in the working folder nor in {name_of(folder)}"
        problem = f"{turn_id}: {name_of(path)} is not read, since it is hidden, or {where}."
        raise BadReply(problem, hint=f"copy it there, or hand it in on standard input with {turn_id}=-")
    if is_being_written(os.path.realpath(path)):
        raise BadReply(f"{turn_id}: {name_of(path)} is still being written.", hint="hand it in once it is whole")
    return read_reply(turn_id, path, in_place=False)


def read_reply(turn_id: str, path: str, *, in_place: bool = True) -> str:
    """The text of a reply file. One that is `in_place`, and that the host did not name, must be a regular file, and no
    link: a pipe would be waited for, and a link may lead to any file. Raises BadReply if it can't be read as text."""
    try:
        return decode(turn_id, read_regular(path, follow_symlinks=not in_place, maximum=MAX_SIZE))
    except (OSError, ValueError) as error:
        if getattr(error, "errno", 0) == errno.EFBIG:
            problem = f"{turn_id}: the reply is too large ({error_text(error)})."
            raise BadReply(problem, hint="shorten it") from None
        raise BadReply(f"{turn_id}: {name_of(path)} can't be read as a reply ({error_text(error)}).") from None
