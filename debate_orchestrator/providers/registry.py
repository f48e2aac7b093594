"""The registry of providers: one entry each, and the functions that check a cast and make its providers.

To add an API, write one module with `problem(spec)` and `provider(spec, current, permissions)`, and add one
`ProviderEntry` to `_ENTRIES`. One that calls no API is also listed in `util.model_spec`. An agent host is not a
provider: it calls us, and its turns stay due until `debate step` takes the replies.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import lru_cache
from importlib import import_module
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Protocol, cast, runtime_checkable

from debate_orchestrator.core.events import Reply
from debate_orchestrator.core.fold import CurrentState
from debate_orchestrator.core.phases import CLERK, EVERYBODY, JUDGE, RAPPORTEUR, Turn, judges
from debate_orchestrator.core.state import DebateState
from debate_orchestrator.util import model_spec
from debate_orchestrator.util.errors import BadSettings, ExternalError, TransientError, short_repr, with_hint
from debate_orchestrator.util.redact import StreamRedactor, add_variables, redact, redactor

if TYPE_CHECKING:
    import asyncio

    from debate_orchestrator.prompting.briefs import Brief

Piece = Callable[[str], None]
"""Receives each piece of an answer as it comes; the first, which may be empty, when the answer has begun."""


class Api(NamedTuple):
    """A server of models."""

    keys: tuple[str, ...]
    """Environment variables that may hold the key, best first."""
    url: str
    """The base address."""
    url_variable: str = ""
    """The environment variable that replaces the address."""
    needs_key: bool = True
    sdk_connects: bool = False
    """Whether the vendor's SDK finds the address and the credentials in the environment by itself."""
    other_servers: bool = False
    """Whether `KIND:MODEL@URL` names another server that speaks the same API."""
    package: str = ""
    """The Python package that it needs, and the extra of this project that installs it."""
    profile: tuple[str, ...] = ()
    """Environment variables that name a profile of the vendor's SDK."""
    profile_folder: tuple[str, str] | None = None
    """Where profiles are: a variable, and the folder in the home folder without it."""
    list_path: str = "/v1/models"
    """What is asked for to see whether the key is taken, and which models there are."""
    list_fields: tuple[str, str] = ("data", "id")
    """The field with the list, and the field with a model's name in it."""
    list_key: str = "authorization"
    """The header that carries the key when the list is asked for."""
    defaults: Callable[[str], str] | None = None
    """How it names the models that are used by default; None if it does not serve them."""
    batches: bool = False
    """Whether the vendor takes requests in batches, at a lower price."""
    thinking: int = 24_000
    """Tokens that a model may think for before it answers, where the table of prices does not say."""
    thinking_elsewhere: int = 8_000
    """The same for models of another server, which is likely to be smaller and slower."""
    prices: Literal["own", "vendor/model", "free", "none"] = "own"
    """Which prices apply: those of the vendor named like the kind, those of the vendor that the model's name begins
    with, none since the server is the user's own, or unknown ones."""


class ProviderEntry(NamedTuple):
    """One kind of provider."""

    kind: str
    """The first word of its specs."""
    example: str
    """What its specs look like."""
    module: str = ""
    """Its module, relative to this package; empty for the host."""
    about: str = ""
    """What `debate models` says of it without looking anything up; empty if that is not listed."""
    seats: tuple[str, ...] = ()
    """The seats that it may fill; empty if it may fill every seat."""
    seconds: float | None = None
    """Seconds that a turn is assumed to take; None if that follows from the length of the answer."""
    api: Api | None = None


_SEATS_OF_PEOPLE = (*EVERYBODY, RAPPORTEUR, model_spec.REHEARSE)
"""A person argues or judges, and is neither moderator nor clerk."""


def _openrouter_name(model: str) -> str:
    """claude-opus-5-5 as OpenRouter writes it: anthropic/claude-opus-5.5."""
    stem, _, minor = model.rpartition("-")
    return f"anthropic/{stem}.{minor}"


_ENTRIES = (
    ProviderEntry("anthropic", "anthropic:MODEL", ".anthropic", api=Api(
        ("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN"), "https://api.anthropic.com", "ANTHROPIC_BASE_URL",
        sdk_connects=True, other_servers=True, list_key="x-api-key", defaults=str, batches=True,
        profile=("ANTHROPIC_PROFILE", "ANTHROPIC_FEDERATION_RULE_ID"),
        profile_folder=("ANTHROPIC_CONFIG_DIR", ".config/anthropic"),
    )),
    ProviderEntry("openrouter", "openrouter:VENDOR/MODEL", ".anthropic", api=Api(
        ("OPENROUTER_API_KEY",), "https://openrouter.ai/api",
        list_path="/v1/key", defaults=_openrouter_name, prices="vendor/model",
    )),
    ProviderEntry("openai", "openai:MODEL", ".openai", api=Api(
        ("OPENAI_API_KEY",), "https://api.openai.com/v1", "OPENAI_BASE_URL",
        sdk_connects=True, other_servers=True, package="openai", list_path="/models", batches=True,
    )),
    ProviderEntry("ollama", "ollama:MODEL", ".anthropic", api=Api(
        ("OLLAMA_API_KEY",), "http://127.0.0.1:11434", "OLLAMA_HOST",
        needs_key=False, other_servers=True, list_path="/api/tags", list_fields=("models", "name"), thinking=8_000,
        prices="free",
    )),
    ProviderEntry(model_spec.COMMAND, "command:PROGRAM ARGS", ".command",
        "any program: the brief on its standard input, the reply on its standard output", seconds=60),
    ProviderEntry(model_spec.HOST, "host", seconds=600,
        about="an agent host takes the turns: `debate open` and `debate step`"),
    ProviderEntry(model_spec.HUMAN, "human", ".human",
        "a person at the terminal: you write the speeches, or fill in the ballots, of that seat",
        seats=_SEATS_OF_PEOPLE, seconds=900),
    ProviderEntry(model_spec.REPLAY, "replay:JOURNAL", ".replay", "replays the replies of a journal", seconds=0),
    ProviderEntry(model_spec.REHEARSE, "rehearse", ".rehearse",
        "a stand-in, no model: `debate run --rehearse`", seconds=0),
    ProviderEntry(model_spec.FETCH, "fetch", ".clerk", seats=(CLERK,), seconds=10),
    ProviderEntry(model_spec.OFFLINE, "offline", ".clerk", seats=(CLERK,), seconds=0),
)  # fmt: skip
ENTRIES: dict[str, ProviderEntry] = {}
"""Kind to its provider, in the order in which `debate models` lists them."""


def register(entry: ProviderEntry) -> None:
    """Adds a kind of provider. What its variables hold is redacted from then on."""
    ENTRIES[entry.kind] = entry
    if entry.api is not None:
        add_variables(entry.api.keys, filter(None, [entry.api.url_variable]))


for _entry in _ENTRIES:
    register(_entry)


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

    async def reply(self, brief: Brief, on_text: Piece) -> Reply:
        """The answer to a brief, verbatim, from one call: the loop decides on retries. Raises TransientError where
        another call may succeed, Paused or ProviderFailed if the user has to change something first."""
        ...

    async def close(self) -> None:
        """Closes connections and ends processes. The provider may be used again, in another event loop."""
        ...


@runtime_checkable
class Personal(Protocol):
    """A provider that asks a person."""

    person: PersonInput | None
    """The person; None until the terminal or the browser provides one."""


class PersonInput(Protocol):
    """A person who takes turns."""

    one_at_a_time: bool
    """Whether turns that are due together are asked for one after the other, since all share a terminal."""

    async def answer(self, debate: DebateState, turn: Turn, brief: Brief) -> str:
        """A valid reply to the turn. Raises Paused if the person leaves."""
        ...

    def tidy(self, debate: DebateState) -> None:
        """Removes the drafts of turns that are on record."""
        ...


@runtime_checkable
class Queued(Protocol):
    """A provider whose calls wait until there is room for them, before their intent is written."""

    async def admitted(self, brief: Brief, stop: asyncio.Event) -> bool:
        """Returns when a call with this brief may be made; False if `stop` was set before."""
        ...

    def withdraw(self, brief: Brief) -> None:
        """Gives the room back of an admitted call that is not made."""
        ...


@runtime_checkable
class Batched(Protocol):
    """A provider of which some calls go into batches."""

    def in_batch(self, brief: Brief) -> bool:
        """Whether the call with this brief goes into a batch, at the price of one."""
        ...

    def under_way(self, brief: Brief) -> bool:
        """Whether this call is in a batch and its intent is on record."""
        ...


def queued(provider: Provider) -> Queued | None:
    """The provider, if its calls wait for room."""
    return cast(Queued, provider) if _has(type(provider), Queued) else None


def batched(provider: Provider) -> Batched | None:
    """The provider, if some of its calls go into batches."""
    return cast(Batched, provider) if _has(type(provider), Batched) else None


@lru_cache(maxsize=64)  # looking at a class takes long, and each call asks
def _has(kind: type, protocol: type) -> bool:
    return issubclass(kind, protocol)


class TakesBatches(Protocol):
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

    async def batch_results(self, batch: str) -> dict[str, Reply | TransientError]:
        """The replies of a batch that has ended, by the id of each call. An error stands for a call that was not
        answered."""
        ...

    async def close(self) -> None:
        """As `Provider.close`."""
        ...


@runtime_checkable
class Archiving(Protocol):
    """A provider that keeps the pages that it fetches."""

    archive: str | None
    """The folder for them; None keeps nothing."""


async def call_provider(provider: Provider, brief: Brief, on_text: Piece, *, watched: bool = True) -> Reply:
    """The provider's reply to a brief, or its error, with `[key]` in place of every secret. Unless it is `watched`,
    `on_text` gets the beginning of the answer as an empty text, and what came of an answer that failed in one piece.

    This is the only way in for text from a provider, which may quote a key that was sent to it; from here it goes to
    the screen and into the journal. Modules shorten what they quote with `faults.quote`, and what they keep with
    `redact.truncate`, never before redaction. The brief that goes out is without secrets too.
    """
    pieces = StreamRedactor(on_text, withheld=not watched)
    try:
        reply = await provider.reply(brief.redacted(), pieces.take)
    except BaseException as fault:
        pieces.end()
        if not isinstance(fault, ExternalError):
            raise
        fault.complaints[:] = map(redact, fault.complaints)
        fault.args = ("\n".join(fault.complaints),)
        if isinstance(fault, TransientError) and isinstance(fault.partial, Reply):
            fault.partial = _redacted(fault.partial)
        raise
    if watched:
        pieces.end()
    return _redacted(reply)


def _redacted(reply: Reply) -> Reply:
    """The reply without secrets. Any text of a reply that was cut may end in the larger half of a secret: that goes
    too."""
    return reply.with_text(redactor().cut)


def entry(spec: str) -> ProviderEntry | None:
    """The entry that a spec names; None if there is none."""
    return ENTRIES.get(model_spec.kind(spec))


def takes_batches(spec: str) -> bool:
    """Whether a spec names a model whose vendor takes batches; other servers of the same API need not."""
    known = entry(spec)
    return known is not None and known.api is not None and known.api.batches and "@" not in spec


def is_api(spec: str) -> bool:
    """Whether a spec names a model of a server, which reads the whole prompt before its first word."""
    known = entry(spec)
    return known is not None and known.api is not None


def cast_problems(cast: Mapping[str, tuple[str, ...]]) -> list[str]:
    """One sentence for every spec in a cast that can't fill its seat; what is wrong with several seats is said once."""
    seats: dict[str, list[str]] = {}
    for seat, specs in cast.items():
        for spec in dict.fromkeys(specs):
            if problem := _seat_problem(seat, spec):
                seats.setdefault(problem, []).append(seat)
    return [f"cast: {', '.join(dict.fromkeys(named))}: {problem}" for problem, named in seats.items()]


def _seat_problem(seat: str, spec: str) -> str | None:
    if spec == model_spec.HOST:
        return None
    if redact(spec) != spec:
        shown = short_repr(redact(spec))
        return f"{shown} contains a key, and a cast is written into journals. Try: set the key in the environment."
    real, known = entry(model_spec.unrehearsed(spec)), entry(spec)
    if real is not None and real.seats == (CLERK,):
        if seat != CLERK:
            return f"{short_repr(spec)} can only be the clerk: it looks up pages and does not speak."
        spec, known = model_spec.unrehearsed(spec), real
    elif real is not None and real.seats and seat not in real.seats:
        return f"{short_repr(spec)} can't fill this seat: a person argues or judges."
    if known is None or not known.module:
        from debate_orchestrator.providers import discovery  # late, since it reads ENTRIES

        usable = ", ".join(_usable(seat))
        return f"{short_repr(spec)} is not a model spec; use one of {usable}. Try: {discovery.meant(spec)}."
    problem: str | None = _module(known).problem(spec)
    return problem


def _usable(seat: str) -> list[str]:
    """What can be written in that place of a cast."""
    usable = [known for known in ENTRIES.values() if not known.seats or seat in known.seats]
    plain = sorted((known.kind for known in usable if known.seats or not known.module), key=list(ENTRIES).index)
    return [*plain, *(f"{known.kind}:..." for known in usable if known.kind not in plain)]


def missing(
    cast: Mapping[str, tuple[str, ...]], permissions: Permissions = NO_PERMISSIONS, *, may_sign_in: bool = False
) -> list[str]:
    """One sentence for every spec that can't be called as things are: its key is missing, or would be sent unencrypted.
    This is better said before the first call than in the middle of a debate. With `may_sign_in` a vendor whose own
    tool can sign in lacks nothing yet."""
    from debate_orchestrator.providers import servers  # late, since it reads ENTRIES

    problems = _unencrypted(cast, permissions)
    for spec in _api_specs(cast):
        server = servers.server(spec)
        later = may_sign_in and server.api.profile
        if server.needs_key and not later and servers.credentials(server.api) is None:
            other = ", or sign in with the vendor's own tool" if server.api.profile else ""
            hint = f"set {server.keys[0]}{other}; `debate models` lists what is reachable"
            problems.append(with_hint(f"{spec} needs a key.", hint))
    return problems


def _unencrypted(cast: Mapping[str, tuple[str, ...]], permissions: Permissions) -> list[str]:
    from debate_orchestrator.providers import servers

    specs = (spec for spec in _api_specs(cast) if not servers.spec_problem(spec))
    found = (servers.unencrypted(servers.server(spec), insecure=permissions.insecure) for spec in specs)
    return list(dict.fromkeys(filter(None, found)))


def _api_specs(cast: Mapping[str, tuple[str, ...]]) -> list[str]:
    """The specs in a cast that name servers of models, each once."""
    specs = dict.fromkeys(spec for specs in cast.values() for spec in specs)
    return [spec for spec in specs if (known := entry(spec)) is not None and known.api is not None]


def make_providers(
    current: CurrentState, archive: str | None = None, permissions: Permissions = NO_PERMISSIONS
) -> dict[str, Provider]:
    """The provider of every seat that has one; seats with the same spec share it. `archive` is the folder for pages
    that are fetched. BadSettings if the cast can't be used."""
    cast = current.state.cast
    if problems := cast_problems(cast) or _unencrypted(cast, permissions):
        raise BadSettings(problems)
    by_spec: dict[str, Provider] = {}
    by_seat: dict[str, Provider] = {}
    for role, specs in cast.items():
        seats = judges(len(specs)) if role == JUDGE else (role,)
        for seat, spec in zip(seats, specs, strict=True):
            if spec != model_spec.HOST:
                by_seat[seat] = by_spec[spec] = by_spec.get(spec) or make_provider(spec, current, permissions)
    for provider in by_spec.values():
        if isinstance(provider, Archiving):
            provider.archive = archive
    return by_seat


def make_provider(spec: str, current: CurrentState, permissions: Permissions = NO_PERMISSIONS) -> Provider:
    """The provider that a valid spec names."""
    provider: Provider = _module(ENTRIES[model_spec.kind(spec)]).provider(spec, current, permissions)
    return provider


def _module(known: ProviderEntry) -> Any:
    """The module of a provider, which imports its library only when it is called."""
    return import_module(known.module, __package__)
