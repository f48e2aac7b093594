"""The interface of providers: what every provider must implement, what it may add, and the function that calls it."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from debate_orchestrator.core.phases import Turn
from debate_orchestrator.core.reply import Reply
from debate_orchestrator.core.state import DebateState
from debate_orchestrator.util.errors import ExternalError, TransientError
from debate_orchestrator.util.redact import StreamRedactor, redactor

if TYPE_CHECKING:
    import asyncio

    from debate_orchestrator.prompting.briefs import Brief

OnPiece = Callable[[str], None]
"""Receives each piece of a reply as it comes; the first, which may be empty, when the reply has begun."""


class Permissions(NamedTuple):
    """The user's permissions for one command, by flags alone: no file can give them."""

    command_env: tuple[str, ...] = ()
    """Environment variables that programs in a cast get besides the usual ones."""
    insecure: bool = False
    """Whether a key may be sent over plain http to another machine."""


NO_PERMISSIONS = Permissions()


class Provider:
    """A provider replies to briefs."""

    name: str
    """The spec from the cast; it is written beside every reply."""
    caches = False
    """Whether calls with the same beginning get cheaper once the first of them has begun to reply."""
    people: People | None = None
    """The people who take the turns of human seats; None until the terminal or the browser provides one."""
    evidence_folder: str | None = None
    """The folder for pages that are fetched; None keeps nothing."""

    async def reply(self, brief: Brief, on_text: OnPiece) -> Reply:
        """The reply to a brief, verbatim, from one call: the loop decides on retries. Raises TransientError where
        another call may succeed, Paused or ProviderFailed if the user has to change something first."""
        raise NotImplementedError

    async def close(self) -> None:
        """Closes connections and ends processes. The provider may be used again, in another event loop."""

    async def acquire(self, brief: Brief, stop: asyncio.Event) -> bool:
        """Waits until the rate limits have room for a call with this brief, and takes it, before its `BriefSent` is
        written; False if `stop` is set first, and nothing is taken."""
        return not stop.is_set()

    def release(self, brief: Brief) -> None:
        """Gives back what `acquire` took for a call that is not made."""

    def in_batch(self, brief: Brief) -> bool:
        """Whether the call with this brief goes into a batch, at the price of one."""
        return False

    def is_recorded_in_batch(self, brief: Brief) -> bool:
        """Whether this call is in a batch and its `BriefSent` is on record."""
        return False


class People(Protocol):
    """The people who take the turns of human seats, at a terminal or in a browser."""

    one_at_a_time: bool
    """Whether turns that are due together are asked for one after the other, since all share a terminal."""

    async def reply(self, debate: DebateState, turn: Turn, brief: Brief) -> str:
        """A valid reply to the turn. Raises Paused if the person leaves."""
        ...

    def remove_drafts(self, debate: DebateState) -> None:
        """Removes the drafts of turns that are on record."""
        ...


class BatchApi(Protocol):
    """A provider whose vendor accepts batches. Its methods raise the same errors as `Provider.reply`."""

    name: str

    def batch_body(self, brief: Brief) -> dict[str, Any]: ...

    async def upload_batch(self, bodies: Mapping[str, dict[str, Any]]) -> str:
        """Sends the bodies of a batch, by the id of each call, where the vendor wants them beforehand, at no cost.
        Returns the id of their file; empty if there is none."""
        ...

    async def create_batch(self, bodies: Mapping[str, dict[str, Any]], file: str) -> str:
        """Creates the batch that was uploaded; returns its id."""
        ...

    async def batch_ended(self, batch: str) -> bool: ...

    async def batch_results(self, batch: str, calls: Collection[str]) -> dict[str, Reply | TransientError]:
        """The replies of a batch that has ended, by the id of each of `calls`, which are all those that the batch has.
        An error stands for a call of which the provider says that it has no reply. A call whose reply is not whole is
        left out. Raises TransientError if the results are not whole, or are those of another batch."""
        ...

    async def close(self) -> None: ...


async def call_provider(provider: Provider, brief: Brief, on_text: OnPiece, *, watched: bool = True) -> Reply:
    """The provider's reply to a brief, or its error, with `[key]` in place of every secret. If the call is not
    `watched`, `on_text` gets an empty text when the reply begins, and the whole partial text if the reply fails.

    This is the only way in for text from a provider, which may quote a key that was sent to it; from here it goes to
    the screen and into the journal. Modules shorten what they quote with `call_errors.quote`, and what they keep with
    `redact.truncate`, never before redaction.
    """
    pieces = StreamRedactor(on_text, withheld=not watched)
    try:
        reply = await provider.reply(brief, pieces.feed)
    except BaseException as error:
        pieces.end()
        if isinstance(error, ExternalError) and isinstance(error.partial, Reply):
            error.partial = error.partial.with_text(redactor())
        raise
    if watched:
        pieces.end()
    return reply.with_text(redactor())
