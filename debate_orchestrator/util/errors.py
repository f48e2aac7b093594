"""The exceptions that this package raises on purpose, sorted by whose fault they are.

    DebateError
    ├── UserError               what the user gave can't be used
    │   ├── BadSettings         the setup lacks something, or holds something wrong
    │   ├── BadFormat           a format, rubric or template is not valid
    │   ├── BadFile             a file can't be read or written as asked
    │   ├── BadReply            a reply is empty, binary, too long or of the wrong shape
    │   │   └── ReplyCouldBeBetter  a reply could be used, and a better one is asked for once
    │   ├── DoesNotFit          the debate's state does not admit it: a turn that is not due, a change too late
    │   └── BadJournal          not a journal that this version can continue
    │       ├── DamagedJournal  a line was changed, or one is missing or does not fit those before it
    │       ├── UnknownEvent    this version can't read one of its events, and nothing says that a newer one wrote it
    │       ├── NewerJournal    a newer version wrote it
    │       └── LockedJournal   another process is writing it
    └── ExternalError           something outside failed; everything up to then is saved
        ├── Paused              work is left, and the debate can be resumed
        │   ├── OverBudget      a call would take the cost over its cap
        │   ├── ReplyPending   a call goes on at the provider, and a later run takes its reply
        │   └── TransientError  a call got no reply, and another attempt may get one: it is retried for a while
        └── PermanentFailure    it will fail again until the cause is removed
            ├── ProviderFailed  a model, a program or a person gave no reply that can be used
            ├── JournalWriteError the disk is full or the journal can't be written for now
            └── DiskFull        the same of any other file; also a BadFile, for what goes on without the file

Every error carries all its problems at once. A problem is one plain sentence on what is wrong, then, where there is
one, what to try: `Try: name another output.` The command line maps these classes to exit codes.
"""

from __future__ import annotations

import difflib
from collections.abc import Collection, Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from itertools import islice

from debate_orchestrator.util.redact import redact
from debate_orchestrator.util.sanitize import visible_repr

MAX_KNOWN, MAX_WORD_LENGTH = 1_000, 200
"""Known words that `suggest` compares with, and characters that a word may have."""
MAX_LISTED = 20
"""Problems of one kind that are listed."""
MAX_PROBLEMS_LENGTH = 8_000
"""Characters of the problems of one kind that are listed; a first one that is longer is listed alone."""
MAX_NAMES_LENGTH = 500
"""Characters of the names that a problem lists."""


def with_hint(problem: str, hint: str) -> str:
    """One problem: a whole sentence, and what to try, as in `name another output`, where there is a hint."""
    return f"{problem} Try: {hint.removesuffix('.')}." if hint else problem


def split_hint(problem: str) -> tuple[str, str]:
    """A problem's sentence, and from ` Try: ` on what to try, if it says that. The sentence may quote the words."""
    sentence, tries, hint = problem.rpartition(" Try: ")
    return (sentence, tries + hint) if tries else (problem, "")


def without_hint(problem: str) -> str:
    """A problem's sentence alone, without its hint."""
    return split_hint(problem)[0]


def blank_problem(names: Collection[str], where: str = "", or_else: str = "") -> str:
    """The problem of fields that were left blank, all in one sentence."""
    are, them = ("this is", "it") if len(names) == 1 else ("these are", "them")
    return with_hint(f"{where}{join_names(names)}: {are} blank.", f"fill {them} in{or_else}")


_quotes_as_typed: ContextVar[bool] = ContextVar("_quotes_as_typed", default=False)


@contextmanager
def quoting_as_typed() -> Iterator[None]:
    """While it lasts, `short_repr` takes no secrets out: its messages go to the visitor who typed what they quote, and
    who would see otherwise which guess is a secret."""
    token = _quotes_as_typed.set(True)
    try:
        yield
    finally:
        _quotes_as_typed.reset(token)


def short_repr(value: object, max_length: int = 60) -> str:
    """`value` for a message, as `visible_repr`, cut to about `max_length` characters."""
    text = visible_repr(value)
    # Redact before the cut: the remains of a secret after it would not be recognised any more.
    text = redact(text) if len(text) > max_length and not _quotes_as_typed.get() else text
    end = text[-1] if isinstance(value, str | bytes) else ""  # the quotation mark
    return text if len(text) <= max_length else f"{text[:max_length]}...{end} ({len(text)} characters)"


FORMER_NAMES = {"at_once": "concurrency", "budgets": "lengths", "turn": "round", "until_dry": "until_no_new_ground"}
"""Keys of files that earlier versions read, and what they are called now."""


def suggest(word: object, known_words: Iterable[str]) -> str:
    """`Did you mean 'x'?` for the known word that `word` is a former name of, or the closest one; empty if none is
    close. It looks at no more than `MAX_KNOWN` words, and at none that is longer than `MAX_WORD_LENGTH`."""
    words = [text for text in islice(known_words, MAX_KNOWN) if len(text) <= MAX_WORD_LENGTH]
    if (new_name := FORMER_NAMES.get(str(word))) in words:
        return f"Did you mean {new_name!r}?"
    matches = difflib.get_close_matches(str(word), words, 1) if len(str(word)) <= MAX_WORD_LENGTH else []
    return f"Did you mean {matches[0]!r}?" if matches else ""


def join_names(names: Collection[str], between: str = ", ") -> str:
    """Names as a sentence has them: up to `MAX_NAMES_LENGTH` characters, and how many more there are."""
    parts, length = list[str](), 0
    for name in names:
        length += len(between) + len(name)
        if parts and length > MAX_NAMES_LENGTH:
            break
        parts.append(name)
    more_count = len(names) - len(parts)
    return between.join(parts) + (f" and {more_count:,} more" if more_count else "")


def first_few(problems: Iterable[str], where: str) -> Iterator[str]:
    """The first `MAX_LISTED` problems, or fewer if they are longer than `MAX_PROBLEMS_LENGTH` together. Where there are
    more, a sentence says so, and they are not looked for."""
    length = 0
    for count, problem in enumerate(problems):
        length += len(problem)
        if count == MAX_LISTED or (count and length > MAX_PROBLEMS_LENGTH):
            yield f"{where}: there are more problems than {f'these {count}' if count > 1 else 'this one'}."
            return
        yield problem


class DebateError(Exception):
    """Base class of all errors that this package raises on purpose. `hint` is added to the last problem."""

    def __init__(self, problems: str | Iterable[str], *, hint: str = ""):
        self.problems = [problems] if isinstance(problems, str) else list(problems)
        if hint:
            self.problems[-1] = with_hint(self.problems[-1], hint)
        super().__init__("\n".join(self.problems))


def reason(error: Exception) -> str:
    """Why what a format asks for can't be done, in a line: an error's first problem, or its kind and message."""
    if isinstance(error, DamagedJournal) and isinstance(error.__cause__, Exception):
        error = error.__cause__  # there is no journal, and the user has to know what is wrong with the format
    if isinstance(error, DebateError):
        return error.problems[0]
    text = " ".join(str(error).split())
    return f"{type(error).__name__}: {text if text.isprintable() and len(text) < 160 else short_repr(text, 120)}"


class UserError(DebateError): ...


class BadSettings(UserError): ...


class BadFormat(UserError): ...


class BadFile(UserError): ...


class BadReply(UserError): ...


class ReplyCouldBeBetter(BadReply): ...


class DoesNotFit(UserError): ...


class BadJournal(UserError): ...


class DamagedJournal(BadJournal): ...


class UnknownEvent(BadJournal):
    def __init__(self, problem: str):
        super().__init__(problem, hint="read it with the version that wrote it, or restore it from a copy")


class NewerJournal(BadJournal):
    def __init__(self, problem: str):
        super().__init__(problem, hint="upgrade debate-orchestrator: a newer version wrote it")


class LockedJournal(BadJournal): ...


class ExternalError(DebateError):
    """What failed may quote a key that was sent to it, which its problems have as `[key]`."""

    def __init__(self, problems: str | Iterable[str], *, hint: str = ""):
        problems = [problems] if isinstance(problems, str) else problems
        super().__init__(map(redact, problems), hint=redact(hint))

    maybe_billed = False
    """Whether it is the failure of a call that may have been billed, as every call of which a part came may have."""
    partial: object = None
    """The Reply (core/reply.py) of what came before the answer of such a call broke off."""


class Paused(ExternalError): ...


class OverBudget(Paused): ...


class ReplyPending(Paused):
    """A call goes on at the provider, and a later run takes its reply."""


class TransientError(Paused):
    """A call brought no whole reply, and another attempt may bring one."""

    def __init__(
        self,
        problems: str | Iterable[str],
        *,
        hint: str = "",
        after: float | None = None,
        maybe_billed: bool = False,
        not_begun: bool = False,
        partial: object = None,
        retry_for: float | None = None,
        tries: int | None = None,
    ):
        super().__init__(problems, hint=hint)
        self.maybe_billed = maybe_billed or partial is not None
        self.not_begun = not_begun
        """Whether the call was surely not begun: the server said so, was not there, or was never asked."""
        self.tries = tries
        """Number of calls after which success is unlikely; None if only time counts."""
        self.retry_for = retry_for
        """Seconds after which success is unlikely; None if only the debate's own limit counts."""
        self.after = after
        """Seconds to wait before the next attempt, if the provider said so."""
        self.partial = partial


class PermanentFailure(ExternalError): ...


class ProviderFailed(PermanentFailure): ...


class JournalWriteError(PermanentFailure):
    """The journal can't be written now, but may be once there is room on the disk."""

    def __init__(self, problems: str | Iterable[str], why: str = "", *, hint: str = ""):
        super().__init__(problems, hint=hint)
        self.why = why


class DiskFull(PermanentFailure, BadFile):
    """A file can't be written since the disk is full or fails. The same name will do once there is room."""


class Interrupted(KeyboardInterrupt):
    """An interrupt of a verb. Its text is the last line that the user reads: what is saved."""

    def __init__(self, message: str = ""):
        super().__init__(f"interrupted; {message or saved_but_for(0)}")


def saved_but_for(lost_count: int) -> str:
    """Says that every reply is saved but for `lost_count` of them, each of which was named before."""
    if not lost_count:
        return "every reply that was accepted is saved."
    return f"{lost_count:,} {'reply' if lost_count == 1 else 'replies'} lost, as named above. Every other one is saved."
