"""Credentials that the vendor's SDK finds by itself, in a profile on this machine or by federation: kept out of what is
shown, and off lines that others can read."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass

from debate_orchestrator import redaction
from debate_orchestrator.errors import complaint
from debate_orchestrator.providers import servers
from debate_orchestrator.speech import one_line

_LARGEST = 1_000_000
_TOKEN = re.compile(r"(?=.*\d)(?=.*[A-Za-z])[^\s:]{16,}")
"""What a secret looks like in a file of credentials, whatever its field is called."""


def learn(credentials: object) -> None:
    """Takes note of the secrets in the files that these credentials are read from, as they are now: they may rotate."""
    config = getattr(credentials, "config_path", None)
    identity = [os.environ.get("ANTHROPIC_IDENTITY_TOKEN_FILE")]
    if isinstance(config, Path):
        said = _json(config)
        auth = said.get("authentication") if isinstance(said, dict) else None
        auth = auth if isinstance(auth, dict) else {}
        named = auth.get("credentials_path")
        kept = Path(named).expanduser() if isinstance(named, str) and named else _beside(config)
        for name, value in [*_strings("", said), *_strings("", _json(kept))]:
            if [*redaction.secrets(name, value)] or _TOKEN.fullmatch(value):
                redaction.learn(value)
        source = auth.get("identity_token")
        identity.append(source.get("path") if isinstance(source, dict) else None)
    for path in identity:
        if isinstance(path, str) and path:
            redaction.learn(_text(Path(path).expanduser()))


def wrong_way(credentials: object, server: servers.Server, url: str) -> str | None:
    """A complaint where the tokens of these credentials would go readable to another machine or to a proxy: with the
    requests to `url`, or to the address in a profile, at which its tokens are renewed."""
    for one in dict.fromkeys((url, getattr(credentials, "resolved_base_url", None) or url)):
        if wrong := servers.in_the_clear(server, one):
            return wrong
        if servers.is_loopback(one) and _proxied(one):
            hint = f"Add {urlsplit(one).hostname} to NO_PROXY."
            return complaint("the server", f"a proxy for {one_line(one)}", "no proxy to this machine", hint)
    return None


def _proxied(url: str) -> bool:
    """Whether the environment sends plain http to that address through a proxy."""
    parts, proxies = urlsplit(url), getproxies()
    named = proxies.get("http") or proxies.get("all")
    return parts.scheme == "http" and bool(named) and not proxy_bypass(parts.hostname or "")


def _beside(config: Path) -> Path:
    """The file of credentials that belongs to a profile."""
    return config.parent.parent / "credentials" / config.name


def _text(path: Path) -> str:
    """What a file holds; nothing where it can't be read, which is the SDK's to tell."""
    try:
        if not path.is_file():
            return ""
        with path.open(encoding="utf-8", errors="replace") as file:
            return file.read(_LARGEST)
    except (OSError, ValueError):
        return ""


def _json(path: Path) -> Any:
    try:
        return json.loads(_text(path))
    except (ValueError, RecursionError):
        return None


def _strings(name: str, data: Any) -> Iterator[tuple[str, str]]:
    """Every text in plain data, with the name of its field."""
    if isinstance(data, str):
        yield name, data
    elif isinstance(data, dict):
        for key, value in data.items():
            yield from _strings(key, value)
    elif isinstance(data, list):
        for value in data:
            yield from _strings(name, value)
