"""Those who can be asked: one method, one file each, found by short name, loaded late.

An agent host is not here: nobody calls it, it calls us. Its seats have no provider, and their turns
stay due until `debate step` takes the replies.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

from debate_orchestrator.core.events import Reply
from debate_orchestrator.core.phases import CLERK, EVERYBODY, JUDGE, Turn, judges
from debate_orchestrator.core.state import DebateState
from debate_orchestrator.providers import servers
from debate_orchestrator.util import model_spec
from debate_orchestrator.util.errors import BadSettings, ExternalError, TransientError, complaint, short_repr
from debate_orchestrator.util.redact import StreamRedactor, redact, redactor

if TYPE_CHECKING:
    from debate_orchestrator.prompting.briefs import Brief


_KEYED = ("openai", "openrouter")
"""Kinds whose key is in the environment or nowhere; Anthropic's may be in a profile of its own."""
_ROOM = "debate_orchestrator.providers"
_PERSONS = (*(f"cast: {seat}" for seat in EVERYBODY), f"cast: {model_spec.REHEARSE}")
"""Where a person may sit, or be stood in for."""
_KINDS = {
    "anthropic": "anthropic",
    "ollama": "anthropic",
    "openrouter": "anthropic",
    "openai": "openai",
    "command": "command",
    "fetch": "clerk",
    "offline": "clerk",
    "human": "human",
    "rehearse": "rehearse",
    "replay": "replay",
}
"""Short name to the module that knows it: `complaint(spec)` says what is wrong with what a cast says, and
`provider(spec, debate)` makes one. Importing such a module loads no library."""

Piece = Callable[[str], None]
"""Is told each piece of an answer as it comes; the first, which may be empty, when the answer has begun."""


class Provider(Protocol):
    """Somebody who can be asked."""

    name: str
    """As in the cast; it is written beside every reply."""
    caches: bool
    """Whether calls that begin alike are cheaper once the first of them has begun to answer."""

    async def reply(self, brief: Brief, on_text: Piece) -> Reply:
        """The answer to a brief, verbatim; the loop notes which brief it answers and who gave it. One call:
        whether there is another is the loop's to say. Raises errors.Trouble where another may succeed,
        Paused or Failed where none will before somebody has done something."""
        ...

    async def close(self) -> None:
        """Lets go of connections and processes. It may be asked again, in another event loop."""
        ...


@runtime_checkable
class Personal(Protocol):
    """A provider that asks a person, once somebody has said how to reach one."""

    person: Person | None
    """Who is asked; None is nobody."""


class Person(Protocol):
    """A person who can be asked to take turns."""

    async def answer(self, debate: DebateState, turn: Turn, brief: Brief) -> str:
        """What they say in that turn, as a reply that will do. Raises errors.Paused where they leave before."""
        ...

    def tidy(self, debate: DebateState) -> None:
        """What was kept for them of turns that are on record is put away."""
        ...


@runtime_checkable
class Archiving(Protocol):
    """A provider that keeps what it finds beside the journal."""

    archive: str | None
    """The folder for it; None keeps nothing."""


async def call_provider(provider: Provider, brief: Brief, on_text: Piece) -> Reply:
    """What a provider answers to a brief, or the fault that it raises, without the secrets of the environment: what is
    said may quote a key that was sent, and goes from here to the screen and into the journal. None is in the brief that
    it gets, either."""
    pieces = StreamRedactor(on_text)
    try:
        reply = await provider.reply(brief.redacted(), pieces.take)
    except ExternalError as fault:
        fault.complaints[:] = map(redact, fault.complaints)
        fault.args = ("\n".join(fault.complaints),)
        if isinstance(fault, TransientError) and isinstance(fault.partial, Reply):
            fault.partial = _redacted(fault.partial)
        raise
    finally:
        pieces.end()
    return _redacted(reply)


def _redacted(reply: Reply) -> Reply:
    """A reply without secrets, nor the larger part of one where it was cut."""
    made = reply.with_text(redactor())
    return made.model_copy(update={"text": redactor().cut(made.text)})


def complaints(cast: Mapping[str, tuple[str, ...]]) -> list[str]:
    """What is wrong with a cast: every seat whose filler nobody here knows."""
    return [said for seat, specs in cast.items() for spec in specs for said in _complaints(f"cast: {seat}", spec)]


def _complaints(where: str, spec: str) -> list[str]:
    kind = model_spec.kind(spec)
    if spec == model_spec.HOST:
        return []
    if redact(spec) != spec:
        hint = "A cast is written into journals: have the program read its key from a file or from its environment."
        return [complaint(where, short_repr(redact(spec)), "a name without a key in it", hint)]
    looks_up = model_spec.kind(model_spec.real(spec)) in (model_spec.FETCH, model_spec.OFFLINE)
    if looks_up and where != f"cast: {CLERK}":
        return [complaint(where, short_repr(spec), "somebody who can speak", f"{spec} fills the clerk's seat alone.")]
    if model_spec.real(spec) == model_spec.HUMAN and where not in _PERSONS:
        return [
            complaint(where, short_repr(spec), "somebody else", "A person argues or judges, and does nothing besides.")
        ]
    if looks_up:
        spec, kind = model_spec.real(spec), model_spec.FETCH  # who stands in for a clerk has the same to be said of it
    if kind not in _KINDS:
        hint = "`debate models` tells what is reachable."
        hint = f"Is it anthropic:{spec}?" if spec.startswith("claude-") else hint
        return [complaint(where, short_repr(spec), f"one of {', '.join(_known(where))}", hint)]
    said: str | None = _module(kind).complaint(spec)
    return [f"{where}: {said}"] if said else []


def _known(where: str) -> list[str]:
    """What can be written in that place of a cast."""
    barred = (
        {model_spec.HUMAN} if where == f"cast: {CLERK}" else {model_spec.HUMAN, model_spec.FETCH, model_spec.OFFLINE}
    )
    persons = [model_spec.HUMAN] if where in _PERSONS else []
    return [model_spec.HOST, *persons, *(f"{kind}:..." for kind in _KINDS if kind not in barred)]


def missing(cast: Mapping[str, tuple[str, ...]]) -> list[str]:
    """A complaint for every filler that can't be asked from here as it is, for want of a key or of a safe way to send
    one: better told before the first call than at the seat's first turn."""
    fillers = dict.fromkeys(spec for specs in cast.values() for spec in specs if model_spec.kind(spec) in _KEYED)
    missing = [(spec, servers.server(spec)) for spec in fillers]
    return _readable(cast) + [
        complaint(spec, "no key", f"one in {one.keys[0]}", "`debate models` tells what is reachable.")
        for spec, one in missing
        if one.needs_key and one.key() is None
    ]


def _readable(cast: Mapping[str, tuple[str, ...]]) -> list[str]:
    """A complaint for every server that a key would be sent to readable on the way."""
    kinds = ("anthropic", "openai")
    fillers = (spec for specs in cast.values() for spec in specs if _KINDS.get(model_spec.kind(spec)) in kinds)
    wrong = [
        servers.in_the_clear(servers.server(spec)) for spec in dict.fromkeys(fillers) if not servers.cannot_reach(spec)
    ]
    return list(dict.fromkeys(filter(None, wrong)))


def make_providers(debate: DebateState, archive: str | None = None) -> dict[str, Provider]:
    """The provider of every seat that has one; seats with the same filler share it. `archive` is the folder for
    pages that are looked up. BadAnswers where a seat's filler is unknown."""
    if wrong := complaints(debate.cast) or _readable(debate.cast):
        raise BadSettings(wrong)
    made: dict[str, Provider] = {}
    filled: dict[str, Provider] = {}
    for role, specs in debate.cast.items():
        seats = judges(len(specs)) if role == JUDGE else (role,)
        for seat, spec in zip(seats, specs, strict=True):
            if spec != model_spec.HOST:
                filled[seat] = made[spec] = made.get(spec) or maker(spec)(spec, debate)
    for provider in made.values():
        if isinstance(provider, Archiving):
            provider.archive = archive
    return filled


def maker(spec: str) -> Callable[[str, DebateState], Provider]:
    """What makes the provider that a cast names."""
    make: Callable[[str, DebateState], Provider] = _module(model_spec.kind(spec)).provider
    return make


def _module(kind: str) -> Any:
    return import_module(f"{_ROOM}.{_KINDS[kind]}")
