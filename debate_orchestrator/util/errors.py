"""Everything that can go wrong, and whose fault it is.

    DebateError
    ├── UserError               what you gave will not do; exit code 2
    │   ├── BadSettings         the setup lacks something or holds something odd
    │   ├── BadFormat           a format, rubric or template is not well made
    │   ├── BadFile             a file can't be read or written as asked
    │   ├── BadReply            a reply is empty, binary, too long or not the shape
    │   ├── OutOfTurn           nobody asked for that turn now
    │   └── BadJournal          not a journal this version can go on with
    │       ├── DamagedJournal  a line was changed, or one is missing
    │       └── LockedJournal   somebody else is writing it
    └── ExternalError           the world outside failed; what was said so far is saved
        ├── Paused              work is left and can be resumed; exit code 3
        │   ├── OverBudget      a call would take the cost over its cap
        │   └── TransientError  a call got no answer, and another may: it is asked again for a while
        └── ProviderFailed      it will not work as it is; exit code 4
            └── JournalWriteError the journal can't take a line for now

Every one of them carries its complaints, all at once. A complaint says what came, what was
expected and what to try.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable

from debate_orchestrator.util.redact import redact


def complaint(where: str, got: str, expected: str, hint: str = "") -> str:
    """One complaint as one line: where it happened, what came, what was expected, what to try."""
    said = f"{where}: got {got}; expected {expected}."
    return f"{said} {hint}" if hint else said


def short_repr(value: object, most: int = 60) -> str:
    """`value` as it may stand in a complaint: escaped, and cut to about `most` characters. Secrets are taken out before
    the cut: what is left of one behind it would not be known any more."""
    text = ascii(value) if isinstance(value, str) else repr(value)
    text = redact(text) if len(text) > most else text
    return text if len(text) <= most else f"{text[:most]}... ({len(text)} characters)"


def suggest(word: object, known: Iterable[str]) -> str:
    """A hint that names what `word` may have been meant to be; empty where nothing is near."""
    near = difflib.get_close_matches(str(word), list(known), 1)
    return f"Did you mean {near[0]!r}?" if near else ""


class DebateError(Exception):
    """The root of everything this package raises on purpose."""

    exit_code = 4

    def __init__(self, complaints: str | Iterable[str]):
        self.complaints = [complaints] if isinstance(complaints, str) else list(complaints)
        super().__init__("\n".join(self.complaints))


class UserError(DebateError):
    exit_code = 2


class BadSettings(UserError): ...


class BadFormat(UserError): ...


class BadFile(UserError): ...


class BadReply(UserError): ...


class OutOfTurn(UserError): ...


class BadJournal(UserError): ...


class DamagedJournal(BadJournal): ...


class LockedJournal(BadJournal): ...


class ExternalError(DebateError): ...


class Paused(ExternalError):
    exit_code = 3


class OverBudget(Paused): ...


class TransientError(Paused):
    """A call got no answer that counts, though the next one may."""

    def __init__(
        self,
        complaints: str | Iterable[str],
        *,
        after: float | None = None,
        unsure: bool = False,
        partial: object = None,
        patience: float | None = None,
        tries: int | None = None,
    ):
        super().__init__(complaints)
        self.unsure = unsure
        """Whether the call may have been billed."""
        self.tries = tries
        """Calls after which it is likely not to pass; None where only time counts."""
        self.patience = patience
        """Seconds after which it is likely not to pass; None where only the debate's patience counts."""
        self.after = after
        """Seconds to wait, where the provider said so."""
        self.partial = partial
        """The events.Reply of what came before the answer broke off; it may have cost money."""


class ProviderFailed(ExternalError):
    exit_code = 4


class JournalWriteError(ProviderFailed):
    """The journal can't take a line for now, though it may once there is room on the disk."""

    def __init__(self, complaints: str | Iterable[str], why: str = ""):
        super().__init__(complaints)
        self.why = why
        """What keeps it from being written, in a few words."""
