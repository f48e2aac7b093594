"""The folder between engine and host: a brief is written as a file, its reply is put beside it.

A reply in place counts only if the brief beside it is, to the byte, the brief that is due now. A brief
holds the debate's nonce and everything said before it, so it can't have been answered early, and a
journal that lost its tail to a crash takes up again the replies that still answer it.
"""

from __future__ import annotations

import errno
import os
import re
import time
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from difflib import get_close_matches
from typing import NamedTuple

from debate_orchestrator.core.events import BriefSent, Event
from debate_orchestrator.core.fold import fold
from debate_orchestrator.core.phases import Turn
from debate_orchestrator.engine.retry import Interrupted
from debate_orchestrator.prompting.briefs import brief, brief_file
from debate_orchestrator.prompting.replies import MAX_SIZE, decode
from debate_orchestrator.prompting.reply_code import code_for
from debate_orchestrator.storage import reply_secret
from debate_orchestrator.storage.files import make_folder, move_aside, write_atomic
from debate_orchestrator.util import model_spec
from debate_orchestrator.util.data import error_text, is_link, read_regular
from debate_orchestrator.util.errors import BadFile, BadReply, with_hint
from debate_orchestrator.util.messages import Tell, ignore
from debate_orchestrator.util.sanitize import one_line

_POLL_SECONDS = 0.3
"""Seconds between two looks for a reply. A file that did not change between them is taken for whole."""
_BRIEF = ".brief.md"
"""How the names of briefs end."""
_MAX_EARLIER = 8
"""Briefs of a turn that are made again to tell whether a file holds one of them. Any other file is kept."""
_ASIDE = re.compile(r"\.(aside|refused|taken|edited)(-\d+)?(\.[^.]*)?$")
"""How the names of files end that were moved aside."""
_REPLY = re.compile(r"(.+)\.reply\.(?:md|json)")
"""The names of replies, with their turns."""


class TurnFiles(NamedTuple):
    """The files of one turn."""

    turn: str
    brief: str
    """Path of the brief."""
    reply: str
    """Path where its reply belongs."""


class TurnsFolder:
    """The folder of one debate, or of one setup conversation. It is made when the first brief is written. `tell` gets
    a sentence for the user, such as which brief was moved aside."""

    def __init__(self, folder: str, tell: Tell = ignore):
        self.folder, self.tell = folder, tell

    def turn_files(self, turn_id: str, wants: str) -> TurnFiles:
        """The paths of a turn's brief and reply."""
        stem = os.path.join(self.folder, turn_id)
        return TurnFiles(turn_id, f"{stem}{_BRIEF}", f"{stem}.reply.{'json' if wants == 'json' else 'md'}")

    def write_brief(self, turn_files: TurnFiles, brief: str, earlier: Iterable[str] = ()) -> str | None:
        """Puts a brief in its place. An `earlier` brief of this turn is replaced; any other file there is moved aside,
        since it may have been edited. A reply that was there before the brief answers something else: it is moved aside
        too, and the problem with it is returned.
        Raises BadFile if the brief can't be written."""
        if self._has_brief(turn_files, brief):
            return None
        make_folder(self.folder)
        aside = self._move_aside(turn_files.reply, "aside") if os.path.lexists(turn_files.reply) else None
        if kept := write_atomic(turn_files.brief, brief, ours=lambda data: data in map(_encoded, earlier)):
            self.tell(f"{turn_files.brief} was not the brief that is due now: kept as {kept}.")
        if aside is None:
            return None
        problem = f"{turn_files.turn}: this reply was there before its brief, or answers an earlier one."
        return with_hint(f"{problem} It was kept as {aside}.", "answer the brief as it is now")

    def collect(self, turn_files: TurnFiles, brief: str) -> str | None:
        """The reply in place to exactly this brief; None if there is none. Raises BadReply if it is not text."""
        if not self._has_brief(turn_files, brief) or not os.path.lexists(turn_files.reply):
            return None
        return read_reply(turn_files.turn, turn_files.reply, found=True)

    def missing_replies(self, awaited: Iterable[TurnFiles]) -> list[str]:
        """A sentence for each of these places, which have no reply; it names a file that is probably the reply under
        another name."""
        expected = {turn_files.turn: os.path.basename(turn_files.reply) for turn_files in awaited}
        found = self._misnamed(expected)
        return [
            f"{turn}: no reply at {os.path.join(self.folder, name)} yet."
            + (f" There is {one_line(found[turn])}; rename it to {name} if it is the reply." if turn in found else "")
            for turn, name in expected.items()
        ]

    def _misnamed(self, expected: Mapping[str, str]) -> dict[str, str]:
        """Turn to the file whose name is close to that of its reply, of the files that are neither briefs, nor replies
        to other turns, nor moved aside."""
        names = self._names()
        other_turns = {name.removesuffix(_BRIEF) for name in names if name.endswith(_BRIEF)} - expected.keys()
        replies = {f"{turn}.reply.{suffix}" for turn in other_turns for suffix in ("md", "json")}
        strays = [name for name in names if not (name.endswith(_BRIEF) or name in replies or _ASIDE.search(name))]
        found: dict[str, str] = {}
        for name in strays:
            (near, *_) = get_close_matches(name.casefold(), map(str.casefold, expected.values()), 1) or [""]
            found |= {turn: name for turn, wanted in expected.items() if wanted.casefold() == near}
        return found

    def _names(self) -> list[str]:
        """The names of the files in the folder; none where it can't be read."""
        try:
            return sorted(os.listdir(self.folder))
        except OSError:
            return []

    def reject(self, turn_files: TurnFiles, problems: list[str]) -> list[str]:
        """Moves a reply that can't be taken aside, so that another can be awaited in its place. Returns the problems
        with its new name, and how to go on."""
        kept = self._move_aside(turn_files.reply, "refused")
        return [*problems[:-1], f"{problems[-1]} It was kept as {kept}: correct it and save it as {turn_files.reply}."]

    def set_aside(self, turns: Container[str]) -> dict[str, str]:
        """Moves the replies to turns that are not taken any more aside, but in a folder that a link leads to; turn to
        the new path of its last reply."""
        names = [] if is_link(self.folder) else self._names()
        replies = {name: found[1] for name in names if (found := _REPLY.fullmatch(name)) and found[1] in turns}
        return {turn: self._move_aside(os.path.join(self.folder, name), "aside") for name, turn in replies.items()}

    def move_taken_aside(self, turn_files: TurnFiles) -> None:
        """Moves a brief and its reply, which was taken, aside, so that the same turn can be asked for again."""
        for path in (turn_files.reply, turn_files.brief):
            if os.path.lexists(path):
                self._move_aside(path, "taken")

    def _has_brief(self, turn_files: TurnFiles, brief: str) -> bool:
        if is_link(self.folder):
            return False
        try:
            return read_regular(turn_files.brief) == _encoded(brief)
        except OSError:
            return False

    @staticmethod
    def _move_aside(path: str, why: str) -> str:
        try:
            return move_aside(path, why, first="-1")
        except OSError as error:
            raise BadFile(f"{path} can't be moved aside ({error_text(error)}).") from None


def _encoded(brief: str) -> bytes:
    return brief.encode("utf-8", "backslashreplace")


def wait_for_replies(awaited: Iterable[TurnFiles], seconds: float) -> None:
    """Waits until each of these reply files is there and whole, or for that many seconds. Turns without a brief file
    are not waited for. An interrupt says that nothing is lost: what was accepted is saved before a wait."""
    end, before = time.monotonic() + seconds, list[tuple[int, int] | None]()
    with_brief = [turn_files for turn_files in awaited if os.path.lexists(turn_files.brief)]
    while with_brief:
        now = [_written(turn_files.reply) for turn_files in with_brief]
        left = end - time.monotonic()
        if left <= 0 or (all(now) and now == before):
            return
        before = now
        try:
            time.sleep(min(_POLL_SECONDS, left))
        except KeyboardInterrupt:
            raise Interrupted from None


def _written(path: str) -> tuple[int, int] | None:
    """Size in bytes and time of the last change of a file; None while there is none, or an empty one."""
    try:
        status = os.lstat(path)
    except OSError:
        return None
    return (status.st_size, status.st_mtime_ns) if status.st_size else None


def read_reply(turn_id: str, path: str, *, found: bool = False) -> str:
    """The text of a reply file. One that was merely `found` in its place must be a regular file, and no link: a pipe
    would be waited for, and a link may lead to any file. Raises BadReply if it can't be read or is not text."""
    try:
        return decode(turn_id, read_regular(path, follow=not found, maximum=MAX_SIZE))
    except (OSError, ValueError) as error:
        if getattr(error, "errno", 0) == errno.EFBIG:
            problem = f"{turn_id}: the reply has {error_text(error)}, and at most {MAX_SIZE:,} are allowed."
            raise BadReply(problem, hint="shorten it") from None
        raise BadReply(f"{turn_id}: {path} can't be read as a reply ({error_text(error)}).") from None


def earlier_briefs(events: Sequence[Event], turn: Turn, reply_name: str) -> Iterator[str]:
    """The brief files of a turn that were sent last, the newest first. They differ where a reply was rejected, a
    question was put or the list of issues was changed in between.

    A journal holds the digests of the briefs, so each is made again in the state in which it was sent, with the last
    reply that was rejected or without it. The work for one grows with the journal: at most `_MAX_EARLIER` are made.
    """
    sent: dict[str, tuple[int, BriefSent]] = {}
    for n in range(len(events) - 1, 0, -1):
        event = events[n]
        if isinstance(event, BriefSent) and event.turn == turn.id:
            sent.setdefault(event.brief_digest, (n, event))
        if len(sent) == _MAX_EARLIER:
            break
    for digest, (n, event) in sent.items():
        then = fold(events[: n + 1])
        code = code_for(then, turn, model_spec.unrehearsed(event.by), reply_secret.secret)
        for former in (*then.rejected.get(turn.id, ())[-1:], None):
            made = brief(then, turn, former, code).redacted()
            if made.digest == digest:
                yield brief_file(made, then, turn, reply_name)
