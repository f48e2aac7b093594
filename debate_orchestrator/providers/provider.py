"""What a provider is: what the loop asks of it, what it may offer besides, and the one way in which it is called."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, cast, runtime_checkable

from debate_orchestrator.core.phases import Turn
from debate_orchestrator.core.reply import Reply
from debate_orchestrator.core.state import DebateState
from debate_orchestrator.util.errors import ExternalError, RedactionFailed, TransientError
from debate_orchestrator.util.redact import StreamRedactor, redact_fragments, redactor, search_failure

if TYPE_CHECKING:
    import asyncio

    from debate_orchestrator.prompting.briefs import Brief

OnPiece = Callable[[str], None]
"""Receives each piece of an answer as it comes; the first, which may be empty, when the answer has begun."""


class Permissions(NamedTuple):
    """What the user permits for one command, by flags alone: no file can."""

    command_env: tuple[str, ...] = ()
    """Environment variables that programs in a cast get besides the usual ones."""
    insecure: bool = False
    """Whether a key may be sent over plain http to another machine."""


NO_PERMISSIONS = Permissions()


class Provider(Protocol):
    """What answers briefs."""

    name: str
    """The spec from the cast; it is written beside every reply."""
    caches: bool
    """Whether calls with the same beginning get cheaper once the first of them has begun to answer."""

    async def reply(self, brief: Brief, on_text: OnPiece) -> Reply:
        """The answer to a brief, verbatim, from one call: the loop decides on retries. Raises TransientError where
        another call may succeed, Paused or ProviderFailed if the user has to change something first."""
        ...

    async def close(self) -> None:
        """Closes connections and ends processes. The provider may be used again, in another event loop."""
        ...


@runtime_checkable
class PersonProvider(Protocol):
    """A provider that asks a person."""

    person: PersonInput | None
    """The person; None until the terminal or the browser provides one."""


class PersonInput(Protocol):
    """A person who takes turns."""

    one_at_a_time: bool
    """Whether turns that are due together are asked for one after the other, since all share a terminal."""

    async def reply(self, debate: DebateState, turn: Turn, brief: Brief) -> str:
        """A valid reply to the turn. Raises Paused if the person leaves."""
        ...

    def tidy(self, debate: DebateState) -> None:
        """Removes the drafts of turns that are on record."""
        ...


@runtime_checkable
class QueuedProvider(Protocol):
    """A provider whose calls wait until there is room for them, before their intent is written."""

    async def admitted(self, brief: Brief, stop: asyncio.Event) -> bool:
        """Returns when a call with this brief may be made; False if `stop` was set before."""
        ...

    def withdraw(self, brief: Brief) -> None:
        """Gives the room back of an admitted call that is not made."""
        ...


@runtime_checkable
class BatchingProvider(Protocol):
    """A provider of which some calls go into batches."""

    def in_batch(self, brief: Brief) -> bool:
        """Whether the call with this brief goes into a batch, at the price of one."""
        ...

    def under_way(self, brief: Brief) -> bool:
        """Whether this call is in a batch and its intent is on record."""
        ...


def as_queued(provider: Provider) -> QueuedProvider | None:
    """The provider, if its calls wait for room."""
    return cast(QueuedProvider, provider) if _has(type(provider), QueuedProvider) else None


def as_batched(provider: Provider) -> BatchingProvider | None:
    """The provider, if some of its calls go into batches."""
    return cast(BatchingProvider, provider) if _has(type(provider), BatchingProvider) else None


@lru_cache(maxsize=64)  # looking at a class takes long, and each call asks
def _has(kind: type, protocol: type) -> bool:
    return issubclass(kind, protocol)


class BatchApi(Protocol):
    """A provider whose vendor takes batches. Errors are those of `Provider.reply`."""

    name: str

    def batch_body(self, brief: Brief) -> dict[str, Any]:
        """The body of the request for a brief."""
        ...

    async def create_batch(self, name: str, bodies: Mapping[str, dict[str, Any]]) -> str:
        """Creates a batch of these bodies, by the id of each call; returns the batch's id."""
        ...

    async def find_batches(self, name: str, size: int, since: float) -> list[str]:
        """The ids of batches that may be the one of this name and size, created after `since` (seconds since the
        epoch)."""
        ...

    async def batch_ended(self, batch: str) -> bool:
        """Whether a batch has all its results."""
        ...

    async def batch_results(self, batch: str, calls: Collection[str]) -> dict[str, Reply | TransientError]:
        """The replies of a batch that has ended to these calls, by the id of each. An error stands for a call that was
        not answered."""
        ...

    async def close(self) -> None:
        """As `Provider.close`."""
        ...


@runtime_checkable
class ArchivingProvider(Protocol):
    """A provider that keeps the pages that it fetches."""

    archive: str | None
    """The folder for them; None keeps nothing."""


async def call_provider(provider: Provider, brief: Brief, on_text: OnPiece, *, watched: bool = True) -> Reply:
    """The provider's reply to a brief, or its error, with `[key]` in place of every secret. If the call is not
    `watched`, `on_text` gets an empty text when the reply begins, and the whole partial text if the reply fails.

    This is the only way in for text from a provider, which may quote a key that was sent to it; from here it goes to
    the screen and into the journal. Modules shorten what they quote with `call_errors.quote`, and what they keep with
    `redact.truncate`, never before redaction. The brief that goes out is without secrets too.
    """
    pieces = StreamRedactor(on_text, withheld=not watched)
    try:
        request = brief.redacted()
        _check_search()
        reply = await provider.reply(request, pieces.take)
        if watched:
            pieces.end()
        redacted = _redacted(reply)
        _check_search()
        return redacted
    except BaseException as error:
        pieces.end()
        if not isinstance(error, ExternalError):
            raise
        error.problems[:] = map(redact_fragments, error.problems)
        error.args = ("\n".join(error.problems),)
        if isinstance(error, TransientError) and isinstance(error.partial, Reply):
            error.partial = _redacted(error.partial)
        raise


def _check_search() -> None:
    """Raises RedactionFailed once a search for secrets failed: a seat would answer a hidden text, or be blamed for
    its hidden reply, and asked again at a price."""
    if cause := search_failure():
        raise RedactionFailed(cause)


def _redacted(reply: Reply) -> Reply:
    """The reply without secrets. Any text of a reply that was cut may end in the larger half of a secret: that goes
    too."""
    return reply.with_text(redactor().cut)
