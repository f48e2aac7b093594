"""The folder between engine and host: a brief is laid out as a file, its reply is put beside it.

A reply in place counts only if the brief beside it is, to the byte, the brief that is due now. A brief
holds the debate's nonce and everything said before it, so nobody can have answered it early, and a
journal that lost its tail to a crash takes up again the replies that still answer it.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Callable
from typing import NamedTuple

from debate_orchestrator.datafiles import (
    is_link,
    make_folder,
    move_aside,
    read_regular,
    reason,
    write_whole,
)
from debate_orchestrator.errors import BadFile, BadReply, complaint
from debate_orchestrator.replies import LARGEST, decode


class Laid(NamedTuple):
    """One turn on the desk."""

    turn: str
    brief: str
    """Path of the brief."""
    reply: str
    """Path where its reply belongs."""


class Desk:
    """The folder of one debate, or of one setup conversation. It is made when something is laid there. `tell` is told
    a sentence for those who look on, such as which brief was moved aside."""

    def __init__(self, folder: str, tell: Callable[[str], None] = lambda said: None):
        self.folder, self.tell = folder, tell

    def place(self, turn_id: str, wants: str) -> Laid:
        """Where a turn's brief and reply lie."""
        stem = os.path.join(self.folder, turn_id)
        return Laid(turn_id, f"{stem}.brief.md", f"{stem}.reply.{'json' if wants == 'json' else 'md'}")

    def lay(self, laid: Laid, brief: str) -> str | None:
        """Puts a brief in its place; another one there is moved aside, since someone may have edited it. A reply that
        was there before it answers something else: it is moved aside too, and the complaint about it is returned.
        BadFile where the brief can't be written."""
        if self._is_laid(laid, brief):
            return None
        make_folder(self.folder)
        aside = self._move_aside(laid.reply, "aside") if os.path.lexists(laid.reply) else None
        if kept := write_whole(laid.brief, brief, ours=lambda _: False):
            self.tell(f"{laid.brief} was not the brief that is due now: kept as {kept}.")
        if aside is None:
            return None
        hint = f"It was kept as {aside}. Have the brief answered as it is now."
        return complaint(laid.turn, "a reply to another brief, or from before there was one", "an answer to this", hint)

    def collect(self, laid: Laid, brief: str) -> str | None:
        """The reply in place to exactly this brief; None where there is none. BadReply where it is no text."""
        if not self._is_laid(laid, brief) or not os.path.lexists(laid.reply):
            return None
        return read_reply(laid.turn, laid.reply, found=True)

    def spend(self, laid: Laid) -> None:
        """Puts away a reply that was taken, so that the same turn can be asked for again with another brief."""
        if os.path.lexists(laid.reply):
            self._move_aside(laid.reply, "taken")

    def _is_laid(self, laid: Laid, brief: str) -> bool:
        if is_link(self.folder):
            return False
        try:
            return read_regular(laid.brief) == brief.encode("utf-8", "backslashreplace")
        except OSError:
            return False

    @staticmethod
    def _move_aside(path: str, why: str) -> str:
        try:
            return move_aside(path, why, first="-1")
        except OSError as error:
            raise BadFile(complaint(path, reason(error), "a reply that can be moved aside")) from None


def read_reply(turn_id: str, path: str, *, found: bool = False) -> str:
    """The text of a reply file; BadReply where it can't be read or is no text. One that was merely `found` in its
    place must be a regular file, and no link: a pipe would be waited for, and a link may lead to any file."""
    try:
        return decode(turn_id, read_regular(path, follow=not found, most=LARGEST))
    except (OSError, ValueError) as error:
        if getattr(error, "errno", 0) == errno.EFBIG:
            got = f"a reply of {reason(error)}"
            raise BadReply(complaint(turn_id, got, f"at most {LARGEST:,}", "Shorten it.")) from None
        raise BadReply(complaint(turn_id, f"{path}: {reason(error)}", "a file with the reply")) from None
