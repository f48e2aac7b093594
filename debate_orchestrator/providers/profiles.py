"""Profiles of the Anthropic SDK: their secrets are redacted, and their tokens are sent nowhere unsafe.

A profile is a pair of JSON files that `ant auth login` and the like write. The SDK reads them; this module reads them
again, because a server may quote a token that was never in the environment.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass

from debate_orchestrator.providers.servers import ModelServer, is_loopback, unencrypted
from debate_orchestrator.util import redact
from debate_orchestrator.util.sanitize import one_line

_MAX_SIZE = 1_000_000
_TOKEN = re.compile(r"(?=.*\d)(?=.*[A-Za-z])[^\s:]{16,}")
"""What a secret looks like in a file of credentials, whatever its field is called."""


def learn_secrets(credentials: object) -> None:
    """Redacts from now on the secrets in the files behind these credentials. Read at every call: tokens rotate."""
    config = getattr(credentials, "config_path", None)
    identity_files = [os.environ.get("ANTHROPIC_IDENTITY_TOKEN_FILE")]
    if isinstance(config, Path):
        profile = _json(config)
        auth = profile.get("authentication") if isinstance(profile, dict) else None
        auth = auth if isinstance(auth, dict) else {}
        named = auth.get("credentials_path")
        default_file = config.parent.parent / "credentials" / config.name
        tokens = _json(Path(named).expanduser() if isinstance(named, str) and named else default_file)
        for name, value in [*_strings("", profile), *_strings("", tokens)]:
            if [*redact.secrets(name, value)] or _TOKEN.fullmatch(value):
                redact.add_secret(value)
        source = auth.get("identity_token")
        identity_files.append(source.get("path") if isinstance(source, dict) else None)
    for path in identity_files:
        if isinstance(path, str) and path:
            redact.add_secret(_text(Path(path).expanduser()))


def unsafe_route(credentials: object, server: ModelServer, url: str, *, insecure: bool) -> str | None:
    """Why the tokens of these credentials may not be sent: to `url`, or to the profile's own address, where they are
    renewed, they would go unencrypted to another machine or through a proxy. None if they may."""
    for address in dict.fromkeys((url, getattr(credentials, "resolved_base_url", None) or url)):
        if problem := unencrypted(server, address, insecure=insecure):
            return problem
        if is_loopback(address) and _proxied(address):
            shown = one_line(address)
            return f"A token for {shown} would go through a proxy. Try: add {urlsplit(address).hostname} to NO_PROXY."
    return None


def _proxied(url: str) -> bool:
    """Whether the environment sends plain http to that address through a proxy."""
    parts, proxies = urlsplit(url), getproxies()
    proxy = proxies.get("http") or proxies.get("all")
    return parts.scheme == "http" and bool(proxy) and not proxy_bypass(parts.hostname or "")


def _text(path: Path) -> str:
    """The text of a file; empty if it can't be read, which is for the SDK to report."""
    try:
        if not path.is_file():
            return ""
        with path.open(encoding="utf-8", errors="replace") as file:
            return file.read(_MAX_SIZE)
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
