"""From a cast to its providers: which specs can fill which seats, what they lack, and the provider of every seat."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import Any

from debate_orchestrator.core.fold import CurrentState
from debate_orchestrator.core.phases import CLERK, JUDGE, judge_seats
from debate_orchestrator.providers import servers
from debate_orchestrator.providers.provider import NO_PERMISSIONS, Permissions, Provider
from debate_orchestrator.providers.registry import ENTRIES, ProviderEntry, api_of, provider_entry
from debate_orchestrator.util import model_spec
from debate_orchestrator.util.errors import BadSettings, short_repr, with_hint
from debate_orchestrator.util.redact import redact


def cast_problems(cast: Mapping[str, tuple[str, ...]]) -> list[str]:
    """One sentence for every spec that can't fill its seat; a problem of several seats is reported once."""
    seats: dict[str, list[str]] = {}
    for seat, specs in cast.items():
        for spec in dict.fromkeys(specs):
            if problem := spec_problem(spec, seat):
                seats.setdefault(problem, []).append(seat)
    return [f"cast: {', '.join(dict.fromkeys(specs_in_seat))}: {problem}" for problem, specs_in_seat in seats.items()]


def spec_problem(spec: str, seat: str = "") -> str | None:
    """The reason that a spec can't fill a seat, or any seat if none is named; None if it can."""
    if spec == model_spec.HOST:
        return None
    if redact(spec) != spec:
        safe_spec = short_repr(redact(spec))
        return f"{safe_spec} contains a key, and a cast is written into journals. Try: set the key in the environment."
    if not spec.isprintable():  # a person reads it before money is spent
        return f"{short_repr(spec)} is not a model spec: it has a line break or another unprintable character."
    real_entry, entry = provider_entry(model_spec.without_rehearse(spec)), provider_entry(spec)
    if real_entry is not None and real_entry.seats == (CLERK,):
        if seat and seat != CLERK:
            return f"{short_repr(spec)} can only be the clerk: it looks up pages and does not speak."
        spec, entry = model_spec.without_rehearse(spec), real_entry
    elif real_entry is not None and real_entry.seats and seat and seat not in real_entry.seats:
        return f"{short_repr(spec)} can't fill this seat: a person argues or judges."
    if entry is None or not entry.module:
        from debate_orchestrator.providers import discovery  # late: most casts are spelt right

        fitting = [
            candidate for candidate in ENTRIES.values() if not (candidate.seats and seat) or seat in candidate.seats
        ]
        usable = ", ".join(candidate.example for candidate in fitting)
        return f"{short_repr(spec)} is not a model spec; use one of {usable}. Try: {discovery.corrected_spec(spec)}."
    problem: str | None = _module(entry).problem(spec)
    return problem


def key_problems(
    cast: Mapping[str, tuple[str, ...]], permissions: Permissions = NO_PERMISSIONS, *, may_sign_in: bool = False
) -> list[str]:
    """One sentence for every spec that can't be called as things are: its key is missing, or would be sent unencrypted.
    This is better said before the first call than in the middle of a debate. With `may_sign_in` a vendor whose own
    tool can sign in lacks nothing yet."""
    problems = unencrypted_problems(cast, permissions)
    for spec in _api_specs(cast):
        server = servers.server(spec)
        can_sign_in = may_sign_in and server.api.profile
        if server.needs_key and not can_sign_in and servers.credentials_source(server.api) is None:
            sign_in_hint = ", or sign in with the vendor's own tool" if server.api.profile else ""
            hint = f"set {server.key_variables[0]}{sign_in_hint}; `debate models` lists what is reachable"
            problems.append(with_hint(f"{spec} needs a key.", hint))
    return problems


def unencrypted_problems(cast: Mapping[str, tuple[str, ...]], permissions: Permissions) -> list[str]:
    """One sentence for every spec whose key would be sent unencrypted."""
    found = (servers.unencrypted(servers.server(spec), insecure=permissions.insecure) for spec in _api_specs(cast))
    return list(dict.fromkeys(filter(None, found)))


def _api_specs(cast: Mapping[str, tuple[str, ...]]) -> list[str]:
    """The specs in a cast that name a model of a server, each once."""
    specs = dict.fromkeys(spec for specs in cast.values() for spec in specs)
    return [spec for spec in specs if api_of(spec) is not None and servers.spec_problem(spec) is None]


def make_providers(
    current: CurrentState, evidence_folder: str | None = None, permissions: Permissions = NO_PERMISSIONS
) -> dict[str, Provider]:
    """The provider of every seat that has one; seats with the same spec share it. Pages that are fetched are kept in
    `evidence_folder`. Raises BadSettings if the cast can't be used."""
    cast = current.state.cast
    if problems := cast_problems(cast) or unencrypted_problems(cast, permissions):
        raise BadSettings(problems)
    by_spec: dict[str, Provider] = {}
    by_seat: dict[str, Provider] = {}
    for role, specs in cast.items():
        seats = judge_seats(len(specs)) if role == JUDGE else (role,)
        for seat, spec in zip(seats, specs, strict=True):
            if spec != model_spec.HOST:
                by_seat[seat] = by_spec[spec] = by_spec.get(spec) or make_provider(spec, current, permissions)
    for provider in by_spec.values():
        provider.evidence_folder = evidence_folder
    return by_seat


def make_provider(spec: str, current: CurrentState, permissions: Permissions = NO_PERMISSIONS) -> Provider:
    provider: Provider = _module(ENTRIES[model_spec.kind(spec)]).provider(spec, current, permissions)
    return provider


def _module(entry: ProviderEntry) -> Any:
    """The module of a provider, which imports its library only when it is called."""
    return import_module(entry.module, __package__)
