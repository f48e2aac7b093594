"""The registry of providers: one entry for each kind.

To add an API, write one module with `problem(spec)` and `provider(spec, current, permissions)`, and add one
`ProviderEntry` to `_ENTRIES`. A kind that calls no server of models also needs a line in `model_spec._OCCUPANTS`.
An agent host has an entry without a module: nothing is called, and its turns stay due until `debate step` takes the
replies.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal, NamedTuple

from debate_orchestrator.core.phases import CLERK, RAPPORTEUR, SIDES_AND_JUDGE
from debate_orchestrator.util import model_spec
from debate_orchestrator.util.redact import add_variables


class Api(NamedTuple):
    """A server of models."""

    key_variables: tuple[str, ...]
    """Environment variables that may hold the key, best first."""
    url: str
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
    """The location of profiles: a variable, and the folder in the home folder without it."""
    list_path: str = "/v1/models"
    """The path of the list of models. A request for it also shows whether the server accepts the key."""
    list_fields: tuple[str, str] = ("data", "id")
    """The field with the list, and the field with a model's name in it."""
    list_key_header: str = "authorization"
    """The header that carries the key when the list is asked for."""
    default_model_name: Callable[[str], str] | None = None
    """Its names of the default models; None if it does not serve them."""
    batches: bool = False
    """Whether the vendor takes requests in batches, at a lower price."""
    thinking: int = 24_000
    """Tokens that a model may think for before it replies, where the table of prices does not say."""
    thinking_elsewhere: int = 8_000
    """The same for models of another server, which is likely to be smaller and slower."""
    prices: Literal["own", "vendor/model", "free", "none"] = "own"
    """The place of a model in the price table: `own`, under this kind; `vendor/model`, under the vendor that its
    name begins with. With `free` it costs nothing on the user's own machine; else, and with `none`, its price is
    unknown."""


class ProviderEntry(NamedTuple):
    kind: str
    example: str
    module: str = ""
    """Its module, relative to this package; empty for the host."""
    about: str = ""
    """The text of `debate models` about it without looking anything up; empty if it is not listed."""
    seats: tuple[str, ...] = ()
    """The seats that it may fill; empty if it may fill every seat."""
    seconds: float | None = None
    """Seconds that a turn is assumed to take; None if that follows from the length of the reply."""
    api: Api | None = None


_SEATS_OF_PEOPLE = (*SIDES_AND_JUDGE, RAPPORTEUR)
"""A person argues or judges, and is neither moderator nor clerk."""


def _openrouter_name(model: str) -> str:
    """claude-opus-5-5 as OpenRouter writes it: anthropic/claude-opus-5.5."""
    stem, _, minor = model.rpartition("-")
    return f"anthropic/{stem}.{minor}"


_ENTRIES = (
    ProviderEntry("anthropic", "anthropic:MODEL", ".anthropic", api=Api(
        ("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN"), "https://api.anthropic.com", "ANTHROPIC_BASE_URL",
        sdk_connects=True, other_servers=True, list_key_header="x-api-key", default_model_name=str, batches=True,
        profile=("ANTHROPIC_PROFILE", "ANTHROPIC_FEDERATION_RULE_ID"),
        profile_folder=("ANTHROPIC_CONFIG_DIR", ".config/anthropic"),
    )),
    ProviderEntry("openrouter", "openrouter:VENDOR/MODEL", ".anthropic", api=Api(
        ("OPENROUTER_API_KEY",), "https://openrouter.ai/api",
        list_path="/v1/key", default_model_name=_openrouter_name, prices="vendor/model",
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
        "a stand-in, which calls no model and costs nothing", seconds=0),
    ProviderEntry(model_spec.FETCH, "fetch", ".clerk", seats=(CLERK,), seconds=10),
    ProviderEntry(model_spec.OFFLINE, "offline", ".clerk", seats=(CLERK,), seconds=0),
)  # fmt: skip
ENTRIES: dict[str, ProviderEntry] = {}
"""Kind to its provider, in the order in which `debate models` lists them."""


def register(entry: ProviderEntry) -> None:
    """Adds a kind of provider. What its variables hold is redacted from then on."""
    ENTRIES[entry.kind] = entry
    if entry.api is not None:
        add_variables(entry.api.key_variables)


for _entry in _ENTRIES:
    register(_entry)


def provider_entry(spec: str) -> ProviderEntry | None:
    """The entry that a spec names; None if there is none."""
    return ENTRIES.get(model_spec.kind(spec))


def api_of(spec: str) -> Api | None:
    """The API of the model that a spec names; None if it names none of a server."""
    entry = provider_entry(spec)
    return None if entry is None else entry.api


def takes_batches(spec: str) -> bool:
    """Whether a spec names a model whose vendor takes batches; other servers of the same API need not."""
    api = api_of(spec)
    return api is not None and api.batches and "@" not in spec
