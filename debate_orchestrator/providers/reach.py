"""Who can be asked from here: which keys, servers and commands there are, and what to do where there are none.

Looking costs nothing: keys are only named, servers are asked for their list of models, programs are looked
up. Who fills a seat that nobody was named for is decided by what is there.
"""

from __future__ import annotations

import http.client
import json
import os
import queue
import shutil
import threading
import urllib.error
import urllib.request
from concurrent.futures import ThreadPoolExecutor
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from debate_orchestrator import models
from debate_orchestrator.core.rules import JUDGE
from debate_orchestrator.core.values import Value
from debate_orchestrator.errors import BadAnswers, complaint
from debate_orchestrator.providers import servers
from debate_orchestrator.providers.limits import LIMITS
from debate_orchestrator.redaction import redact
from debate_orchestrator.speech import one_line

_SECONDS = LIMITS.lookup
_LONGEST = LIMITS.listing
_KEPT = 1_000
"""Names of models that are kept of one server's list."""
_PROGRAMS = {"claude": "claude -p", "llm": "llm", "codex": "codex exec -", "gemini": "gemini"}
"""Programs that read a prompt and print an answer, with the command that makes them do so."""
_ALWAYS = {
    "command:PROGRAM ARGS": "any program: the brief on its standard input, the reply on its standard output",
    "anthropic:MODEL@URL": "any server that speaks the Messages API; openai:MODEL@URL for Chat Completions",
    "host": "an agent host takes the turns: `debate open` and `debate step`",
    "human": "a person at the terminal: you write the speeches, or fill in the ballots, of that seat",
    "replay:JOURNAL": "says again what was recorded",
    "rehearse": "a stand-in that calls nobody: `debate run --rehearse`",
}
_OTHERWISE = (
    "Set ANTHROPIC_API_KEY; or name who speaks with --a, --b and --judge (ollama:MODEL for a server of your own, "
    "command:PROGRAM for any program); or have an agent host speak (`debate open`); or see how it goes with no model: "
    "--rehearse, or `debate demo`. `debate models` tells what was found."
)


_OTHER_JUDGES = (
    "Set ANTHROPIC_API_KEY; or name who judges with --judge: ollama:MODEL for a server of your own, command:PROGRAM "
    "for any program, human for yourself, host for an agent host, rehearse for a stand-in. `debate models` tells what "
    "was found."
)


class Reach(Value):
    """One way to fill a seat."""

    seat: str
    """How a cast names it."""
    ready: bool
    about: str
    """What was found, or what is missing."""
    models: tuple[str, ...] = ()
    """What the server says it has, as far as it is kept."""
    more: int = 0
    """How many more the server lists."""


def found() -> list[Reach]:
    """Every way there is, looked up at once."""
    ways = (_anthropic, _openrouter, _openai, _ollama)
    with ThreadPoolExecutor(len(ways)) as pool:
        asked = [pool.submit(way) for way in ways]
        return [*(one.result() for one in asked), *_programs(), *map(_always, _ALWAYS)]


def judge() -> str:
    """Who judges a debate that is over, where nobody was named. Raises as `default`."""
    return default(JUDGE, "Name a model: --judge.", _OTHER_JUDGES)


def default(seat: str, name_one: str = "Name a model: --a, --b and --judge.", otherwise: str = _OTHERWISE) -> str:
    """Who fills a seat that nobody was named for: an Opus-level judge and capable debaters, from the first
    provider there is that has such models. BadAnswers, with what does work, where there is none."""
    chosen = models.table().defaults
    name = {JUDGE: chosen.judge, "moderator": chosen.moderator}.get(seat, chosen.debater)
    if _anthropic_credentials():
        return f"anthropic:{name}"
    if servers.key("OPENROUTER_API_KEY"):
        return f"openrouter:anthropic/{_dotted(name)}"
    ways = [f"{one.seat} ({', '.join(one.models[:3])})" for one in (_openai(), _ollama()) if one.ready]
    if ways:
        got = f"nobody, though there is {' and '.join(ways)}"
        raise BadAnswers(complaint("cast", got, "somebody to ask", name_one))
    raise BadAnswers(complaint("cast", "nobody, and no key or server was found", "somebody to ask", otherwise))


def best(seat: str) -> str:
    """Who would fill a seat at best, whether it can be had here or not: for a rehearsal."""
    try:
        return default(seat)
    except BadAnswers:
        return unlimited(seat)


def unlimited(seat: str) -> str:
    """Who would fill a seat if everybody could be had."""
    chosen = models.table().defaults
    return f"anthropic:{chosen.judge if seat == JUDGE else chosen.debater}"


def _dotted(name: str) -> str:
    """A model's name as OpenRouter writes it: claude-opus-5.5."""
    stem, _, last = name.rpartition("-")
    return f"{stem}.{last}"


def _anthropic_credentials() -> str | None:
    """Where credentials for the vendor's SDK are; None where there are none."""
    for name in ("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "ANTHROPIC_PROFILE", "ANTHROPIC_FEDERATION_RULE_ID"):
        if servers.key(name):
            return name
    folder = os.environ.get("ANTHROPIC_CONFIG_DIR")
    profiles = (Path(folder) if folder else Path.home() / ".config" / "anthropic") / "configs"
    return "a profile on this machine" if any(profiles.glob("*.json")) else None


def _anthropic() -> Reach:
    seat = "anthropic:MODEL"
    where = _anthropic_credentials()
    if where is None:
        return Reach(seat=seat, ready=False, about="no key: set ANTHROPIC_API_KEY, or sign in with a profile")
    server = servers.server("anthropic:x")
    url = server.address or "https://api.anthropic.com"
    key = server.key()
    if wrong := servers.in_the_clear(server):
        return Reach(seat=seat, ready=False, about=wrong)
    if key is None:
        return Reach(seat=seat, ready=True, about=f"credentials: {where}")
    headers = {"x-api-key": key, "anthropic-version": "2023-06-01"}
    return _listed(seat, f"{where} is set, for {servers.without_user(url)}", f"{url.rstrip('/')}/v1/models", headers)


def _openrouter() -> Reach:
    seat = "openrouter:VENDOR/MODEL"
    if not (key := servers.key("OPENROUTER_API_KEY")):
        return Reach(seat=seat, ready=False, about="no key: set OPENROUTER_API_KEY")
    headers = {"Authorization": f"Bearer {key}"}
    return _listed(seat, "OPENROUTER_API_KEY is set", "https://openrouter.ai/api/v1/key", headers)


def _openai() -> Reach:
    seat = "openai:MODEL"
    if find_spec("openai") is None:
        return Reach(seat=seat, ready=False, about='not installed: pip install "debate-orchestrator[openai]"')
    if not (key := servers.key("OPENAI_API_KEY")):
        return Reach(seat=seat, ready=False, about="no key: set OPENAI_API_KEY, or name a server: openai:MODEL@URL")
    server = servers.server("openai:x")
    if wrong := servers.in_the_clear(server):
        return Reach(seat=seat, ready=False, about=wrong)
    url = server.address or "https://api.openai.com/v1"
    return _listed(seat, "OPENAI_API_KEY is set", f"{url.rstrip('/')}/models", {"Authorization": f"Bearer {key}"})


def _ollama() -> Reach:
    url = servers.without_user(str(servers.server("ollama:x").url))
    answer, _ = _in_time(f"{url}/api/tags", {})
    if not isinstance(answer, dict) or "models" not in answer:
        return Reach(seat="ollama:MODEL", ready=False, about=f"no server answers at {url}")
    names, more = _names(answer, "models", "name")
    about = f"a server answers at {url}" + ("" if names else ", and has no model: `ollama pull` one")
    return Reach(seat="ollama:MODEL", ready=bool(names), about=about, models=names, more=more)


def _programs() -> list[Reach]:
    return [
        Reach(seat=f"command:{command}", ready=True, about=f"{name} is installed")
        for name, command in _PROGRAMS.items()
        if shutil.which(name)
    ]


def _always(seat: str) -> Reach:
    return Reach(seat=seat, ready=True, about=_ALWAYS[seat])


def _listed(seat: str, about: str, url: str, headers: dict[str, str]) -> Reach:
    """A server that has a key, asked whether it takes it."""
    answer, wrong = _in_time(url, headers)
    if wrong is not None and wrong[0] in (401, 403):
        return Reach(seat=seat, ready=False, about=f"{about}, but the server refuses it (HTTP {wrong[0]})")
    if wrong is not None and 300 <= wrong[0] < 400:
        return Reach(seat=seat, ready=False, about=f"{about}, but the server points elsewhere (HTTP {wrong[0]})")
    if wrong is not None and wrong[0] == 0:
        return Reach(seat=seat, ready=False, about=f"{about}, but the server can't be reached: {wrong[1]}")
    names, more = _names(answer, "data", "id")
    return Reach(seat=seat, ready=True, about=about, models=tuple(sorted(names)), more=more)


def _names(answer: Any, key: str, name: str) -> tuple[tuple[str, ...], int]:
    """The first names in a server's list, whatever else it holds, and how many more there are."""
    listed = answer.get(key) if isinstance(answer, dict) else None
    found = listed if isinstance(listed, list) else []
    named = [one[name] for one in found if isinstance(one, dict) and isinstance(one.get(name), str)]
    return tuple(redact(one_line(one)) for one in named[:_KEPT]), max(0, len(named) - _KEPT)


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    """A redirect is an error: the key would go along."""

    def redirect_request(self, *_: Any) -> None:
        return None


def _opener(url: str) -> urllib.request.OpenerDirector:
    """What opens an address: it follows no redirect, and to this machine it takes no proxy."""
    direct = url.lower().startswith("http://") and servers.is_loopback(url)
    return urllib.request.build_opener(_NoRedirect, *([urllib.request.ProxyHandler({})] if direct else []))


def _get(url: str, headers: dict[str, str]) -> tuple[Any, tuple[int, str] | None]:
    """The JSON at an address, and what went wrong: the HTTP status, or 0, and why."""
    url = servers.without_user(url)  # urllib takes no user, and would repeat the password in its complaint
    try:
        with _opener(url).open(urllib.request.Request(url, headers=headers), timeout=_SECONDS) as answer:
            return json.loads(answer.read(_LONGEST)), None
    except urllib.error.HTTPError as error:
        return None, (error.code, "")
    except (OSError, ValueError, RecursionError, http.client.HTTPException) as error:
        return None, (0, one_line(str(getattr(error, "reason", error))))


def _in_time(url: str, headers: dict[str, str]) -> tuple[Any, tuple[int, str] | None]:
    """As `_get`, within the time of a look-up: the limit of a socket counts from one byte to the next, and resolving a
    name has none. A thread that takes longer is left behind, and holds up nothing."""
    made: queue.SimpleQueue[tuple[Any, tuple[int, str] | None]] = queue.SimpleQueue()
    threading.Thread(target=lambda: made.put(_get(url, headers)), daemon=True).start()
    try:
        return made.get(timeout=LIMITS.lookup)
    except queue.Empty:
        return None, (0, f"no whole answer within {LIMITS.lookup:g} s")
