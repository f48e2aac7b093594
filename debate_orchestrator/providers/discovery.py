"""Discovers what can fill a seat here: which keys, servers and programs are found, and the defaults that follow from
them.

Looking costs nothing: keys are only named, servers are asked for their list of models, programs are looked up.
"""

from __future__ import annotations

import difflib
import http.client
import json
import re
import shutil
import urllib.error
import urllib.request
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from importlib.util import find_spec
from typing import Any, NamedTuple

from debate_orchestrator.core.phases import JUDGE, SIDES_AND_JUDGE
from debate_orchestrator.core.values import FrozenModel
from debate_orchestrator.providers import pricing, registry, servers
from debate_orchestrator.providers.call_errors import excerpt, quote
from debate_orchestrator.providers.limits import LIMITS
from debate_orchestrator.providers.provider import NO_PERMISSIONS, Permissions
from debate_orchestrator.providers.registry import ENTRIES, ProviderEntry
from debate_orchestrator.util import model_spec
from debate_orchestrator.util.coroutines import in_daemon_thread
from debate_orchestrator.util.errors import BadSettings, ProviderFailed

_MAX_KEPT_MODELS = 1_000
"""Names of models that are kept of one server's list."""
_MAX_NAME_LENGTH = 300
_PROGRAMS = {"claude": "claude -p", "llm": "llm", "codex": "codex exec -", "gemini": "gemini"}
"""Programs that read a prompt and print a reply, and the command that makes each do so."""
_OTHER_SERVERS = "any server that speaks the Messages API; openai:MODEL@URL for Chat Completions"
_HINT = (
    "`debate models` lists what was found. Try: set ANTHROPIC_API_KEY; or name who speaks with `{setting}`: "
    "ollama:MODEL for a server of your own, command:PROGRAM for any program, human for yourself, host for an agent "
    "host, rehearse for a stand-in."
)
_HINT_TO_BEGIN = " Or begin with no model: `debate open` for an agent host, `rehearse`, or `debate demo`."
_MAX_LISTED_MODELS = 3
"""Models of one server of the user's own that are choices."""


class ModelSource(FrozenModel):
    """A server, a program or another kind of spec that can fill a seat."""

    spec: str
    """Its name in a cast."""
    ready: bool
    about: str
    """The findings, or what is missing."""
    models: tuple[str, ...] = ()
    more: int = 0
    """The number of further models that the server lists."""

    @property
    def kind(self) -> str:
        return model_spec.kind(self.spec)

    @property
    def specs(self) -> tuple[str, ...]:
        """What it gives to a cast: a program, the models that its server lists, or else those that are known. Empty
        for a form that has to be filled in."""
        if self.spec.endswith(":MODEL"):
            return tuple(f"{self.kind}:{name}" for name in self.models or pricing.models(self.kind))
        return () if "PROGRAM" in self.spec or self.kind != model_spec.COMMAND else (self.spec,)


def model_sources(permissions: Permissions = NO_PERMISSIONS) -> list[ModelSource]:
    """Everything that can fill a seat; all servers are asked at once. Takes up to `LIMITS.lookup_seconds` seconds."""
    apis = [entry for entry in ENTRIES.values() if entry.api is not None]
    with ThreadPoolExecutor(len(apis)) as pool:
        lookups = [pool.submit(_server, api, permissions) for api in apis]
        sources = [lookup.result() for lookup in lookups]
    sources += _installed()
    examples = {entry.example: entry.about for entry in ENTRIES.values() if entry.about}
    examples["anthropic:MODEL@URL"] = _OTHER_SERVERS
    return [*sources, *(ModelSource(spec=spec, ready=True, about=about) for spec, about in examples.items())]


def _installed() -> list[ModelSource]:
    return [
        ModelSource(spec=f"command:{command}", ready=True, about=f"{name} is installed")
        for name, command in _PROGRAMS.items()
        if shutil.which(name)
    ]


def variable_to_set(spec: str) -> str:
    """The variable that has to hold a key before this model can be called; empty if nothing is missing."""
    if registry.api_of(spec) is None or servers.spec_problem(spec):
        return ""
    server = servers.server(spec)
    return server.key_variables[0] if server.needs_key and servers.credentials_source(server.api) is None else ""


def default(seat: str, setting: str = "cast") -> str:
    """The model for a seat for which none was named: an Opus-level judge and capable debaters, from the first provider
    with credentials that serves them. Raises BadSettings, with what does work, if there is none."""
    if model := _default_if_found(seat):
        return model
    entries_without_default = (
        entry for entry in ENTRIES.values() if entry.api is not None and entry.api.default_model_name is None
    )
    ready = [source for source in (_server(entry, NO_PERMISSIONS) for entry in entries_without_default) if source.ready]
    if ready:
        sources = " and ".join(f"{source.spec} ({', '.join(source.models[:3])})" for source in ready)
        raise BadSettings(f"cast: no model is named, though there is {sources}. Try: name them in `{setting}`.")
    hint = _HINT.format(setting=setting) + (_HINT_TO_BEGIN if setting == "cast" else "")
    raise BadSettings(f"cast: no model is named, and no key or server was found. {hint}")


def default_as_if_keyed(seat: str) -> str:
    """The model for a seat in a rehearsal: the default, or the one that would be it if there were a key."""
    return _default_if_found(seat) or f"anthropic:{_default_model(seat)}"


def _default_if_found(seat: str) -> str | None:
    """The default model for a seat; None without credentials of a provider that serves it."""
    for entry in ENTRIES.values():
        if entry.api is not None and entry.api.default_model_name is not None and servers.credentials_source(entry.api):
            return f"{entry.kind}:{entry.api.default_model_name(_default_model(seat))}"
    return None


class FoundModels(NamedTuple):
    """The models and programs that can be called from here."""

    sources: tuple[ModelSource, ...]
    default: dict[str, str]
    """Seat to the model that fills it by default; empty without a key."""
    default_as_if_keyed: dict[str, str]
    """Seat to the model that would be the default with a key."""
    permissions: Permissions = NO_PERMISSIONS

    def needing_no_key(self) -> list[tuple[str, str]]:
        """The models that need no key, with descriptions: installed programs, and the models of Ollama."""
        sources = [source for source in self.sources if source.ready and source.kind in (model_spec.COMMAND, "ollama")]
        sources.sort(key=lambda source: source.kind != model_spec.COMMAND)
        return [(spec, source.about) for source in sources for spec in source.specs[:_MAX_LISTED_MODELS]]

    def callable_models(self, maximum: int) -> dict[str, str]:
        """The models that can be called, each with a description: installed programs, and at most `maximum` models of
        every API whose key or server was found."""
        return {
            spec: source.about if source.kind == model_spec.COMMAND else source.kind
            for source in self.sources
            if source.ready
            for spec in source.specs[:maximum]
        }

    def has_any(self) -> bool:
        return bool(
            self.default or self.needing_no_key() or any(source.ready and source.models for source in self.sources)
        )

    def names(self) -> tuple[str, ...]:
        """Every model that was found or is known, as a cast names it; and how the others begin."""
        names = [name for source in self.sources for name in source.specs or (source.spec,)]
        return tuple(dict.fromkeys(name for name in names if " " not in name))


def find_models(permissions: Permissions = NO_PERMISSIONS) -> FoundModels:
    """Looks for models and programs. It takes some seconds where a server is slow to answer."""
    default = {seat: model for seat in SIDES_AND_JUDGE if (model := _default_if_found(seat))}
    return FoundModels(
        tuple(model_sources(permissions)),
        default,
        {seat: default_as_if_keyed(seat) for seat in SIDES_AND_JUDGE},
        permissions,
    )


def _default_model(seat: str) -> str:
    defaults = pricing.table().defaults
    return {JUDGE: defaults.judge, "moderator": defaults.moderator}.get(seat, defaults.debater)


def _server(entry: ProviderEntry, permissions: Permissions) -> ModelSource:
    """The findings for one API: its library, its key, and its server, which is asked for its models."""
    api, spec = entry.api, entry.example
    assert api is not None

    def unready(about: str) -> ModelSource:
        return ModelSource(spec=spec, ready=False, about=about)

    if api.package and find_spec(api.package) is None:
        return unready(f'not installed: pip install "debate-orchestrator[{api.package}]"')
    credentials_in = servers.credentials_source(api)
    if credentials_in is None and api.needs_key:
        alternative = f", or name a server: {spec}@URL" if api.other_servers else ""
        alternative = ", or sign in with a profile" if api.profile else alternative
        return unready(f"no key: set {api.key_variables[0]}{alternative}")
    server = servers.server(f"{entry.kind}:x")
    if api.needs_key and (unencrypted := servers.unencrypted(server, insecure=permissions.insecure)):
        return unready(unencrypted)
    try:
        key = server.key() if api.needs_key else None
    except ProviderFailed as error:
        return unready(str(error))
    if key is None and api.needs_key:
        return ModelSource(spec=spec, ready=True, about=f"credentials: {credentials_in}")
    url = servers.without_secrets((server.address or api.url).rstrip("/"))
    headers = (
        {} if key is None else {api.list_key_header: f"Bearer {key}" if api.list_key_header == "authorization" else key}
    )
    listing, problem = _get_in_time(f"{url}{api.list_path}", headers | {"anthropic-version": "2023-06-01"})
    names, more = _names(listing, *api.list_fields)
    if not api.needs_key:
        if not isinstance(listing, dict) or api.list_fields[0] not in listing:
            return unready(f"no server answers at {url}")
        about = f"a server answers at {url}" + ("" if names else f", and has no model: `{entry.kind} pull` one")
        return ModelSource(spec=spec, ready=bool(names), about=about, models=names, more=more)
    about = f"{credentials_in} is set, for {url}"
    if problem:
        return unready(f"{about}, but the server {problem}")
    return ModelSource(spec=spec, ready=True, about=about, models=tuple(sorted(names)), more=more)


def _names(listing: Any, key: str, name: str) -> tuple[tuple[str, ...], int]:
    """The first names in a server's list, and how many more there are. What is too long for a name is none."""
    entries = listing.get(key) if isinstance(listing, dict) else None
    items = entries if isinstance(entries, list) else []
    values = (item.get(name) for item in items if isinstance(item, dict))
    names = [text for text in values if isinstance(text, str) and len(text) <= _MAX_NAME_LENGTH]
    return tuple(map(excerpt, names[:_MAX_KEPT_MODELS])), max(0, len(names) - _MAX_KEPT_MODELS)


def _get(url: str, headers: dict[str, str]) -> tuple[Any, str]:
    """The listing at an address, and what is wrong with its server. Another status than these says nothing about its
    models."""
    try:
        with servers.opener(url).open(
            urllib.request.Request(url, headers=headers), timeout=LIMITS.lookup_seconds
        ) as response:
            return json.loads(response.read(LIMITS.max_listing_bytes)), ""
    except urllib.error.HTTPError as error:
        words = "refuses it" if error.code in (401, 403) else "points elsewhere" if 300 <= error.code < 400 else ""
        return None, words and f"{words} (HTTP {error.code})"
    except (OSError, ValueError, RecursionError, http.client.HTTPException) as error:
        return None, f"can't be reached: {quote(getattr(error, 'reason', error))}"


def _get_in_time(url: str, headers: dict[str, str]) -> tuple[Any, str]:
    """As `_get`, within the time of a look-up. A socket's own limit starts again with every byte, and resolving a name
    has none; so a thread that takes longer is left behind."""
    try:
        return in_daemon_thread(lambda: _get(url, headers)).result(LIMITS.lookup_seconds)
    except TimeoutError:
        return None, f"can't be reached: no complete answer within {LIMITS.lookup_seconds:g} s"


def corrected_spec(spec: str) -> str:
    """A suggestion for a spec of no known kind: its kind spelt right, or the vendor's model of that name."""
    kind, name = model_spec.kind(spec), model_spec.rest(spec)
    kinds = [entry.kind for entry in ENTRIES.values() if name or entry.example == entry.kind]
    if matches := difflib.get_close_matches(kind, kinds, 1, 0.75):
        return f"{matches[0]}:{name}" if name else matches[0]
    if near_model := _closest_model("anthropic", spec):
        return f"anthropic:{near_model}"
    for beginning, vendor in (("claude-", "anthropic"), ("gpt-", "openai")):
        if spec.startswith(beginning):
            return f"{vendor}:{spec}"
    defaults = pricing.table().defaults
    for model in (defaults.judge, defaults.debater, *pricing.models("anthropic")):
        if spec.lower() in model.split("-"):
            return f"anthropic:{model}"
    return "PROVIDER:MODEL, as `debate models` lists them"


def misspelling_questions(cast: Mapping[str, tuple[str, ...]]) -> list[str]:
    """A question for every model in a cast that is spelt nearly like a known one of the same vendor. A model that
    differs from a known one in its version alone may be newer than the price list, and is not asked about."""
    questions = []
    for spec in dict.fromkeys(model_spec.without_rehearse(spec) for specs in cast.values() for spec in specs):
        kind, (name, address) = model_spec.kind(spec), model_spec.split_address(model_spec.rest(spec))
        if registry.api_of(spec) and address is None and (closest := _closest_model(kind, name)):
            questions.append(f"{spec} is not among the known models of {kind}. Did you mean {kind}:{closest}?")
    return questions


def _closest_model(kind: str, name: str) -> str:
    """The known model that is spelt nearly like this one; empty if there is none, or only another version."""
    models = pricing.models(kind)
    matches = difflib.get_close_matches(name, models, 1, 0.85) if name not in models else []
    return matches[0] if matches and _without_version(matches[0]) != _without_version(name) else ""


def _without_version(name: str) -> str:
    """The words of a model's name: without its numbers, dates and what joins them."""
    return "-".join(re.findall(r"[a-z]+", name.lower()))
