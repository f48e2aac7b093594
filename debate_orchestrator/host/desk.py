"""The folder between engine and host: a brief is laid out as a file, its reply is put beside it.

A reply in place counts only if the brief beside it is, to the byte, the brief that is due now. A brief
holds the debate's nonce and everything said before it, so nobody can have answered it early, and a
journal that lost its tail to a crash takes up again the replies that still answer it.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import NamedTuple

from debate_orchestrator.datafiles import write_whole
from debate_orchestrator.errors import BadReply, complaint
from debate_orchestrator.replies import LARGEST, decode


class Laid(NamedTuple):
    """One turn on the desk."""

    turn: str
    brief: str
    """Path of the brief."""
    reply: str
    """Path where its reply belongs."""


class Desk:
    """The folder of one debate, or of one setup conversation. It is made when something is laid there."""

    def __init__(self, folder: str):
        self.folder = folder

    def place(self, turn_id: str, wants: str) -> Laid:
        """Where a turn's brief and reply lie."""
        stem = os.path.join(self.folder, turn_id)
        return Laid(turn_id, f"{stem}.brief.md", f"{stem}.reply.{'json' if wants == 'json' else 'md'}")

    def lay(self, laid: Laid, brief: str) -> str | None:
        """Puts a brief in its place. A reply that was there before it answers something else: it is moved
        aside, and the complaint about it is returned."""
        if self._is_laid(laid, brief):
            return None
        aside = self._move_aside(laid.reply) if os.path.exists(laid.reply) else None
        write_whole(laid.brief, brief)
        if aside is None:
            return None
        hint = f"It was kept as {aside}. Have the brief answered as it is now."
        return complaint(laid.turn, "a reply to another brief, or from before there was one", "an answer to this", hint)

    def collect(self, laid: Laid, brief: str) -> str | None:
        """The reply in place to exactly this brief; None where there is none. BadReply where it is no text."""
        if not self._is_laid(laid, brief) or not os.path.exists(laid.reply):
            return None
        return read_reply(laid.turn, laid.reply)

    def spend(self, laid: Laid) -> None:
        """Puts away a reply that was taken, so that the same turn can be asked for again with another brief."""
        if os.path.exists(laid.reply):
            self._move_aside(laid.reply, "taken")

    def _is_laid(self, laid: Laid, brief: str) -> bool:
        try:
            return Path(laid.brief).read_bytes() == brief.encode("utf-8", "backslashreplace")
        except OSError:
            return False

    @staticmethod
    def _move_aside(path: str, why: str = "aside") -> str:
        stem, ending = os.path.splitext(path)
        n = 1
        while os.path.exists(aside := f"{stem}.{why}-{n}{ending}"):
            n += 1
        os.rename(path, aside)
        return aside


def read_reply(turn_id: str, path: str) -> str:
    """The text of a reply file; BadReply where it can't be read or is no text."""
    try:
        with open(path, "rb") as file:
            size = os.fstat(file.fileno()).st_size
            if size > LARGEST:
                raise BadReply(complaint(turn_id, f"a reply of {size:,} bytes", f"at most {LARGEST:,}", "Shorten it."))
            return decode(turn_id, file.read(LARGEST + 1))
    except OSError as error:
        raise BadReply(complaint(turn_id, f"{path}: {error.strerror}", "a file with the reply")) from None
