"""Model specs: the strings in a cast, `KIND:REST`, which name the model, program or person that fills a seat."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from itertools import count
from typing import Any, Literal
from urllib.parse import urlsplit

HOST, REPLAY, REHEARSE, COMMAND, HUMAN = "host", "replay", "rehearse", "command", "human"
FETCH, OFFLINE = "fetch", "offline"
"""The clerk that fetches the pages that the sides cite, and the one that checks nothing."""
MAX_COMMAND_LENGTH = 500
"""Characters that a program's command line may have, so that the person who is asked about it can read it."""

OccupantKind = Literal["model", "program", "host", "person", "recording", "stand-in", "clerk"]
"""The kind of occupant of a seat. A clerk only looks up pages."""
_OCCUPANTS: dict[str, OccupantKind] = {
    COMMAND: "program", HOST: "host", HUMAN: "person", REPLAY: "recording", REHEARSE: "stand-in",
    FETCH: "clerk", OFFLINE: "clerk",
}  # fmt: skip
"""Kind of spec to that of its occupant. Every other kind is a server of models."""
_RESELLERS = ("openrouter", "ollama")
"""Kinds that serve the models of many vendors. `vendor` says how each names the vendor of a model."""
_VENDORS = {
    "gpt-oss": "openai", "gemini": "google", "gemma": "google", "codegemma": "google", "medgemma": "google",
    "llama": "meta-llama", "codellama": "meta-llama", "meta-llama": "meta-llama", "mistral": "mistralai",
    "mixtral": "mistralai", "ministral": "mistralai", "magistral": "mistralai", "devstral": "mistralai",
    "codestral": "mistralai", "qwq": "qwen", "phi": "microsoft", "command": "cohere", "aya": "cohere",
    "granite": "ibm-granite", "kimi": "moonshotai", "glm": "z-ai", "nemotron": "nvidia", "olmo": "allenai",
    "hermes": "nousresearch", "nous": "nousresearch", "yi": "01-ai",
}  # fmt: skip
"""First word, or first two, of the name of an open model to its vendor, as `openrouter` names it; other names begin
with it."""
_PLACEHOLDER = re.compile(r"(?:default|local|model|none|unknown|[\W_])+", re.I)
"""A name by which a server tells nothing of the model that it runs, such as `default_model`."""
_FILE = re.compile(r"\\|\A[./~]|\.(?:gguf|ggml|bin|safetensors)\Z", re.I)


def kind(spec: str) -> str:
    """The part before the first colon, which names the provider."""
    return spec.partition(":")[0]


def rest(spec: str) -> str:
    """The part after the first colon."""
    return spec.partition(":")[2]


def occupant_kind(spec: str) -> OccupantKind:
    """The kind of occupant of a seat with this spec."""
    return _OCCUPANTS.get(kind(spec), "model")


def makes_calls(spec: str) -> bool:
    """Whether a turn of it is a call of a model or a program, which may cost money."""
    return occupant_kind(spec) in ("model", "program")


def specs_of(cast: Mapping[str, Any]) -> list[str]:
    """Every spec of a cast, seat by seat: of each a spec, or several in a list or a tuple."""
    return [str(spec) for specs in cast.values() for spec in (specs if isinstance(specs, list | tuple) else [specs])]


def is_rehearsal(cast: Mapping[str, Any]) -> bool:
    """Whether stand-ins have every seat of a cast, which has at least one."""
    return {kind(spec) for spec in specs_of(cast)} == {REHEARSE}


def is_stand_in(spec: str) -> bool:
    """Whether a stand-in takes the seat, whose words mean nothing."""
    return occupant_kind(spec) == "stand-in"


def split_address(rest: str) -> tuple[str, str | None]:
    """Model and server address of `MODEL@URL`; a model's name may contain an @ of its own."""
    match = re.search(r"@(?=https?://)", rest)
    return (rest[: match.start()], rest[match.end() :].rstrip("/")) if match else (rest, None)


def server(spec: str) -> str:
    """The server that answers the calls of a model: its kind, and of a server given by address also host and port."""
    _, address = split_address(rest(spec))
    return kind(spec) if address is None else f"{kind(spec)}@{urlsplit(address).netloc.lower()}"


def answered_spec(spec: str, name: str | None) -> str | None:
    """The spec of the model that answered, under the name that its server gives, with the same kind and address; None
    for a program, or if the name tells nothing."""
    if name is None or occupant_kind(spec) != "model" or _PLACEHOLDER.fullmatch(name):
        return None
    _, address = split_address(rest(spec))
    return f"{kind(spec)}:{name}" if address is None else f"{kind(spec)}:{name}@{address}"


def answered_name(spec: str, name: str | None) -> str | None:
    """The name of the model that answered by the word of its server, if it may mean the same at another server: no
    file, and no name that tells nothing."""
    return None if name is None or _FILE.search(name) or answered_spec(spec, name) is None else name


def vendor(spec: str) -> str:
    """The vendor of a seat's model, in lower case; empty if unknown, as of an address, a program or a person."""
    if kind(without_rehearse(spec)) != "ollama":
        return stated_vendor(spec)
    name = rest(without_rehearse(spec)).partition("@")[0].lower()
    family, *others = re.split(r"[\W\d_]", name.rpartition("/")[2])
    return _VENDORS.get("-".join([family, *others[:1]])) or _VENDORS.get(family, family)


def stated_vendor(spec: str) -> str:
    """As `vendor`, by the spec alone: of an open model the beginning of its name. The schedules of tournaments follow
    from it and are worked out anew each time, so it must never change."""
    spec, at_address, _ = without_rehearse(spec).partition("@")
    name = rest(spec).lower()
    if kind(spec) not in _RESELLERS:
        return kind(spec) if name and makes_calls(spec) and kind(spec) != COMMAND and not at_address else ""
    if kind(spec) == "openrouter":
        return name.partition("/")[0] if "/" in name else ""
    return re.split(r"[:/\d-]", name)[0]


def without_rehearse(spec: str) -> str:
    """The spec without `rehearse:` before it; `host` for `rehearse` alone, which names no model."""
    return (rest(spec) or HOST) if kind(spec) == REHEARSE else spec


def stand_in(spec: str) -> str:
    return f"{REHEARSE}:{without_rehearse(spec)}"


def unrehearsed_cast(cast: Mapping[str, Any]) -> dict[str, list[str]]:
    """The cast that a rehearsal stands in for, seat by seat; without seats for which it names no model."""
    cast_specs = {seat: specs_of({seat: cast[seat]}) for seat in cast}
    nameless = {REHEARSE, stand_in(HOST)}
    return {
        seat: [without_rehearse(spec) for spec in specs]
        for seat, specs in cast_specs.items()
        if not nameless & {*specs}
    }


def described(spec: str) -> str:
    """As `public_name`, but in words for a stand-in."""
    if kind(spec) != REHEARSE:
        return public_name(spec)
    return f"stand-in for {public_name(rest(spec))}" if rest(spec) not in ("", HOST) else "stand-in"


def public_name(spec: str) -> str:
    """A spec as a report names it. Of a program only the name is shown, since its arguments may hold anything."""
    if kind(spec) == REHEARSE and rest(spec):
        return stand_in(public_name(rest(spec)))
    if kind(spec) != COMMAND:
        return spec
    program = rest(spec).split()
    return f"{COMMAND}:{program[0].rpartition('/')[2]}" if program else spec


def public_names(specs: Iterable[str], named: Mapping[str, str] | None = None) -> dict[str, str]:
    """Each spec to a name of its own: its `public_name`, with a number where another program has it. `named` holds
    those that have a name already."""
    names = dict(named or {})
    taken, unused = set(names.values()), dict[str, Iterator[str]]()
    for spec in specs:
        if spec not in names:
            shown = public_name(spec)
            names[spec] = next(name for name in unused.setdefault(shown, _numbered(shown)) if name not in taken)
            taken.add(names[spec])
    return names


def _numbered(name: str) -> Iterator[str]:
    yield name
    yield from (f"{name} ({n})" for n in count(2))
