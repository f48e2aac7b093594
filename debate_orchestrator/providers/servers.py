"""What a cast says of a model's server, understood: which model, where, and which variable holds its key.

`anthropic:MODEL` and `openai:MODEL` are the vendors', as their own environment variables say;
`KIND:MODEL@URL` is any server that speaks the same way; `ollama:MODEL` and `openrouter:VENDOR/MODEL` are
short for two of them. An address comes from an answers file, and that may come from a stranger: so a
vendor's key is never sent to an address from a cast, but only a key that is named after the host. No key is sent
over plain http to another machine, wherever the address comes from, unless the user permits it.
"""

from __future__ import annotations

import ipaddress
import json
import os
import re
import socket
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass

from debate_orchestrator.providers.permissions import permissions
from debate_orchestrator.util import errors, model_spec, redact
from debate_orchestrator.util.errors import complaint
from debate_orchestrator.util.sanitize import HIDDEN, JOINER, one_line

NO_KEY = "none"
"""What is sent where a server of one's own wants something and nothing is known."""
_UNSEEN = re.compile(f"[{HIDDEN}]|{JOINER}")
_LABEL = r"[a-z0-9](?:[a-z0-9-]*[a-z0-9])?"
_AUTHORITY = re.compile(
    rf"(?:\[(?P<v6>[\da-f:.]+)\]|(?P<host>{_LABEL}(?:\.{_LABEL})*))(?::(?P<port>\d{{0,5}}))?", re.ASCII | re.IGNORECASE
)
KINDS = ("anthropic", "openai", "ollama", "openrouter")
_VENDORS = {"anthropic": ("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN"), "openai": ("OPENAI_API_KEY",)}


class Server(NamedTuple):
    """Where a model answers."""

    kind: str
    model: str
    url: str | None
    """None where the vendor's library knows it."""
    keys: tuple[str, ...]
    """Environment variables that may hold the key."""
    needs_key: bool
    """Whether it is of no use to ask without one."""

    def key(self, environment: Mapping[str, str] = os.environ) -> str | None:
        """The key, if one is set."""
        return next((value for name in self.keys if (value := key(name, environment))), None)

    @property
    def address(self) -> str | None:
        """Where requests go; None where the vendor's library knows it."""
        return self.url or os.environ.get(f"{self.kind.upper()}_BASE_URL") or None


def without_user(url: str) -> str:
    """An address as it may be shown: in one line, without a user and a password."""
    return re.sub("//.*@", "//", one_line(url))


def key(name: str, environment: Mapping[str, str] = os.environ) -> str | None:
    """The key in an environment variable, without hidden characters and the white space about it; None where there is
    none."""
    return _UNSEEN.sub("", environment.get(name, "")).strip() or None


def server(spec: str) -> Server:
    """The server that a well-made spec names; see `complaint`."""
    kind = model_spec.kind(spec)
    model, url = model_spec.split_address(model_spec.rest(spec))
    if url is not None:
        return Server(kind, model, url, (key_name(url),) if _place(url) else (), needs_key=False)
    if kind == "ollama":
        return Server(kind, model, _ollama(), ("OLLAMA_API_KEY",), needs_key=False)
    if kind == "openrouter":
        return Server(kind, model, "https://openrouter.ai/api", ("OPENROUTER_API_KEY",), needs_key=True)
    return Server(kind, model, None, _VENDORS[kind], needs_key=True)


def key_names(spec: str) -> tuple[str, ...]:
    """The environment variables that may hold the key for a spec; none where it names no server."""
    return server(spec).keys if model_spec.kind(spec) in KINDS and cannot_reach(spec) is None else ()


def cannot_reach(spec: str) -> str | None:
    """What is wrong with a spec of this kind; None where nothing is."""
    kind, _, rest = spec.partition(":")
    model, url = model_spec.split_address(rest)
    expected = f"{kind}:MODEL" if kind == "openrouter" else f"{kind}:MODEL or {kind}:MODEL@URL"
    if not model or not model.isprintable() or " " in model:
        return errors.complaint("the model", errors.short_repr(model), expected)
    if url is None and re.search(r"@[\w.-]+(:\d+|\.\w+)(/|$)", model):
        hint = "Write http:// or https:// before the host."
        return errors.complaint("the model", errors.short_repr(model), expected, hint)
    if kind == "openrouter" and url is not None:
        return errors.complaint("the server", errors.short_repr(url), expected)
    return _address(url) if url is not None else None


def _address(url: str) -> str | None:
    """What is wrong with an address in a cast. It is written into journals and reports, so it holds no secret."""
    expected = "http(s)://HOST[:PORT][/PATH]"
    try:
        parts = urlsplit(url)
    except ValueError:
        return errors.complaint("the server", errors.short_repr(url), expected)
    bare = f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}"
    if not url.isprintable() or " " in url or _place(bare) is None:
        hint = "Write a host in ASCII letters, digits, dots and dashes (any other in its xn-- form), or an IP address."
        return errors.complaint("the server", errors.short_repr(url), expected, hint)
    if "@" in parts.netloc or parts.query or parts.fragment:
        hint = f"A key belongs into the environment, as {key_name(bare)}."
        return errors.complaint("the server", "an address with a user or a query", expected, hint)
    return None


def in_the_clear(server: Server, url: str | None = None) -> str | None:
    """A complaint where a key would be sent readable to another machine, and the user does not permit that: to `url`,
    where a request goes there, or else to the server's address. The
    vendor's library finds credentials where no variable of ours tells of them, so that its address is always safe."""
    url = url or server.address
    needless = server.url is not None and server.key() is None
    if url is None or needless or permissions().insecure or url.lower().startswith("https://") or is_loopback(url):
        return None
    hint = f"The key in {server.keys[0]} would be readable on the way. Use https, or permit it with --insecure."
    return errors.complaint("the server", f"plain http to {without_user(url)}", "https for a server with a key", hint)


def is_loopback(url: str) -> bool:
    """Whether an address is of this machine: `localhost`, 127.0.0.0/8 and ::1, however a resolver takes them to be
    written, but no name that merely begins or ends like one."""
    try:
        host = urlsplit(url).hostname or ""
        if host == "localhost":
            return True
        number = re.fullmatch(r"[\da-fx.]+", host, re.ASCII)  # as in 127.1 or 0x7f000001
        found = ipaddress.ip_address(socket.inet_aton(host) if number else host)
    except (ValueError, OSError):
        return False
    mapped = found.ipv4_mapped if isinstance(found, ipaddress.IPv6Address) else None
    return (mapped or found).is_loopback


def key_name(url: str) -> str:
    """The environment variable that holds the key of a server named by its address: its host and, where the address
    has one, its port. A dot is written `_` and a dash `__`; an IPv6 address is written in full behind one more `_`,
    with `_` for its colons. No two places share a variable. ValueError where no key is kept for the host."""
    if (place := _place(url)) is None:
        raise ValueError(f"no plain host in {errors.short_repr(url)}")
    host, port = place
    written = f"_{host.replace(':', '_')}" if ":" in host else host.replace("-", "__").replace(".", "_")
    return f"DEBATE_KEY_{written.upper()}" + (f"_{port}" if port is not None else "")


def _place(url: str) -> tuple[str, int | None] | None:
    """Host and port of an address; None unless the host is a plain ASCII name or an IP address. A name does not end in
    a number, which would be taken for an IPv4 address, and in the name of a variable for a port."""
    try:
        found = _AUTHORITY.fullmatch(urlsplit(url).netloc)
        if found is None:
            return None
        port = int(found["port"]) if found["port"] else None
        if port is not None and not 0 < port < 2**16:
            return None
        if found["v6"]:
            return ipaddress.IPv6Address(found["v6"]).exploded, port
        host = found["host"].lower()
        if host.rpartition(".")[2].isdigit():
            ipaddress.IPv4Address(host)
    except ValueError:
        return None
    return host, port


def _ollama() -> str:
    host = os.environ.get("OLLAMA_HOST") or "127.0.0.1:11434"
    return (host if "://" in host else f"http://{host}").rstrip("/").replace("//0.0.0.0", "//127.0.0.1")


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
            if [*redact.secrets(name, value)] or _TOKEN.fullmatch(value):
                redact.add_secret(value)
        source = auth.get("identity_token")
        identity.append(source.get("path") if isinstance(source, dict) else None)
    for path in identity:
        if isinstance(path, str) and path:
            redact.add_secret(_text(Path(path).expanduser()))


def wrong_way(credentials: object, server: Server, url: str) -> str | None:
    """A complaint where the tokens of these credentials would go readable to another machine or to a proxy: with the
    requests to `url`, or to the address in a profile, at which its tokens are renewed."""
    for one in dict.fromkeys((url, getattr(credentials, "resolved_base_url", None) or url)):
        if wrong := in_the_clear(server, one):
            return wrong
        if is_loopback(one) and _proxied(one):
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
