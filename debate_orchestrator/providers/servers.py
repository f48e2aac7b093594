"""Servers of models: which model, which address and which key a spec means, and where a key may be sent.

The address in a cast may come from a stranger's answers file. So a vendor's key never goes to such an address: it gets
only the key in the variable that is named after its host. No key goes over plain http to another machine, wherever the
address comes from, unless the user permits it.
"""

from __future__ import annotations

import ipaddress
import os
import re
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlsplit
from urllib.request import HTTPRedirectHandler, OpenerDirector, ProxyHandler, build_opener

from debate_orchestrator.providers.registry import Api, api_of
from debate_orchestrator.util import model_spec
from debate_orchestrator.util.errors import ProviderFailed, short_repr
from debate_orchestrator.util.sanitize import INVISIBLE, one_line

NO_KEY = "none"
"""The text sent as a key if the API wants one and the server has none."""
_LABEL = r"[a-z0-9](?:[a-z0-9-]*[a-z0-9])?"
_AUTHORITY = re.compile(
    rf"(?:\[(?P<v6>[\da-f:.]+)\]|(?P<host>{_LABEL}(?:\.{_LABEL})*))(?::(?P<port>\d{{0,5}}))?", re.ASCII | re.IGNORECASE
)


class ModelServer(NamedTuple):
    api: Api
    model: str
    url: str | None
    """The address; None if the vendor's SDK knows it."""
    key_variables: tuple[str, ...]
    needs_key: bool
    """Whether a call without a key is useless."""

    def key(self) -> str | None:
        """The key, if one is set. Raises ProviderFailed as `key`."""
        return next((value for name in self.key_variables if (value := key(name))), None)

    @property
    def has_key(self) -> bool:
        return any(map(is_set, self.key_variables))

    @property
    def address(self) -> str | None:
        """The address for requests; None if the vendor's SDK knows it."""
        return self.url or os.environ.get(self.api.url_variable) or None


def without_secrets(url: str) -> str:
    """An address that is safe to show: one line, without user, password and query."""
    scheme, slashes, rest = re.split("[?#]", one_line(url), maxsplit=1)[0].partition("//")
    return scheme + slashes + rest.rpartition("@")[2]


def key(name: str) -> str | None:
    """The key in an environment variable, without hidden characters and the white space about it; None if there is
    none. Raises ProviderFailed if it has characters that no header of a request can hold."""
    value = _value(name)
    if not (value.isascii() and value.isprintable()):
        problem = f"The key in {name} can't be sent: it is not one line of printable ASCII characters."
        raise ProviderFailed(problem, hint=f"set {name} again, as the vendor shows the key")
    return value or None


def is_set(name: str) -> bool:
    """Whether an environment variable holds a key, also one that can't be sent."""
    return bool(_value(name))


def _value(name: str) -> str:
    return INVISIBLE.sub("", os.environ.get(name, "")).strip()


def credentials_source(api: Api) -> str | None:
    """The source of credentials for an API: the variable that holds them, or a profile; None if there are none."""
    if name := next(filter(is_set, (*api.key_variables, *api.profile)), None):
        return name
    if api.profile_folder is None:
        return None
    variable, folder = api.profile_folder
    profiles = Path(os.environ.get(variable) or Path.home() / folder) / "configs"
    return "a profile on this machine" if any(profiles.glob("*.json")) else None


def server(spec: str) -> ModelServer:
    """The server that a valid spec of an API names; see `spec_problem`."""
    api = api_of(spec)
    assert api is not None
    model, url = model_spec.split_address(model_spec.rest(spec))
    if url is not None:
        return ModelServer(api, model, url, (key_name(url),) if _host_and_port(url) else (), needs_key=False)
    return ModelServer(api, model, None if api.sdk_connects else _base_url(api), api.key_variables, api.needs_key)


def _base_url(api: Api) -> str:
    """The address of an API, which its variable may give as HOST:PORT too, and as the address that it listens on."""
    url = os.environ.get(api.url_variable) or api.url
    return (url if "://" in url else f"http://{url}").rstrip("/").replace("//0.0.0.0", "//127.0.0.1")


def key_names(spec: str) -> tuple[str, ...]:
    """The environment variables that may hold the key for a spec; none if it names no server."""
    return server(spec).key_variables if api_of(spec) and spec_problem(spec) is None else ()


_HALF_ADDRESS = re.compile(
    r"https?[:：]//|@(\w*[:：]?//|\w+:/|https?[:;.]|\[|localhost\b|[\w.-]+(:\d+|\.\w+)(/|$))", re.IGNORECASE
)
"""What shows that a model's name contains a mistyped address."""


def spec_problem(spec: str) -> str | None:
    """The reason that a spec of an API names no model of a server; None if it does."""
    api, kind = api_of(spec), model_spec.kind(spec)
    takes_address = api is not None and api.other_servers
    model, url = model_spec.split_address(model_spec.rest(spec))
    hint = f"Try: {kind}:MODEL or {kind}:MODEL@URL." if takes_address else f"Try: {kind}:MODEL."
    if not model:
        return f"{short_repr(spec)} names no model. {hint}"
    if not model.isprintable() or " " in model:
        return f"{short_repr(model)} is not the name of a model. {hint}"
    if url is None and _HALF_ADDRESS.search(model):
        what = "A URL begins with http:// or https:// in small letters." if takes_address else ""
        return f"{short_repr(model)} has part of an address in the model's name. {hint} {what}".rstrip()
    if url is not None and not takes_address:
        return f"{kind} takes no address, and got {short_repr(url)}. {hint}"
    return _userinfo_problem(server(spec)) if url is None else _address_problem(url)


def _userinfo_problem(server: ModelServer) -> str | None:
    """The reason that the address in a variable can't be used: it holds a user and a password. Returns None if it
    can."""
    if "@" not in (server.address or "").partition("://")[2].partition("/")[0]:
        return None
    hint = f"Try: take them out, and put a key into {' or '.join(server.key_variables)}."
    return f"The address in {server.api.url_variable} holds a user or a password. {hint}"


def _address_problem(url: str) -> str | None:
    """Why an address is not allowed in a cast, which is written into journals and reports; None if it is."""
    shape = "http(s)://HOST[:PORT][/PATH]"
    try:
        parts = urlsplit(url)
    except ValueError:
        return f"{short_repr(url)} is not an address of the form {shape}."
    bare = f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}"
    if not url.isprintable() or " " in url or _host_and_port(bare) is None:
        hint = "Try: a host in ASCII letters, digits, dots and dashes (others in their xn-- form), or an IP address."
        return f"{short_repr(url)} is not an address of the form {shape}. {hint}"
    if "@" in parts.path:
        return f"The path in {short_repr(url)} holds an @. Try: an address of the form {shape}."
    if "@" in parts.netloc or parts.query or parts.fragment:
        return f"The address holds a user or a query, where {shape} is expected. Try: put a key into {key_name(bare)}."
    return None


def unencrypted(server: ModelServer, url: str | None = None, *, insecure: bool) -> str | None:
    """The reason that no key may be sent to `url`, or else to the server's address: it would go over plain http to
    another machine, and the user does not permit that (`insecure`). Returns None if it may be sent. The SDK of a vendor
    may find credentials outside the environment variables, so its address is always checked."""
    url = url or server.address
    no_key = server.url is not None and not server.has_key
    if url is None or no_key or insecure or url.lower().startswith("https://") or is_loopback(url):
        return None
    variable = server.key_variables[0]
    return (
        f"The key in {variable} would be readable on its way over plain http to {without_secrets(url)}. "
        "Try: an https address, or `insecure` to permit it."
    )


def is_loopback(url: str) -> bool:
    """Whether an address is of this machine: `localhost`, 127.0.0.0/8 or ::1."""
    try:
        host = urlsplit(url).hostname or ""
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


class _NoRedirect(HTTPRedirectHandler):
    """Makes a redirect an error: the key would go along."""

    def redirect_request(self, *_: Any) -> None:
        return None


def opener(url: str) -> OpenerDirector:
    """An opener for an address with a key: it follows no redirect, and uses no proxy for plain http to this machine."""
    direct = url.lower().startswith("http://") and is_loopback(url)
    return build_opener(_NoRedirect, *([ProxyHandler({})] if direct else []))


def key_name(url: str) -> str:
    """The environment variable for the key of a server at an address, named after its host and, if given, its port. A
    dot is written `_` and a dash `__`. An IPv6 address is written in full after one more `_`, with `_` for its colons.
    No two servers share a variable. Raises ValueError if the host may have no key."""
    if (host_and_port := _host_and_port(url)) is None:
        raise ValueError(f"no plain host in {short_repr(url)}")
    host, port = host_and_port
    name = f"_{host.replace(':', '_')}" if ":" in host else host.replace("-", "__").replace(".", "_")
    return f"DEBATE_KEY_{name.upper()}" + (f"_{port}" if port is not None else "")


def _host_and_port(url: str) -> tuple[str, int | None] | None:
    """Host and port of an address; None unless the host is a plain ASCII name or an IP address. A name must not end in
    a number: a resolver would take it for an IPv4 address, and `key_name` for one with a port."""
    try:
        match = _AUTHORITY.fullmatch(urlsplit(url).netloc)
        if match is None:
            return None
        port = int(match["port"]) if match["port"] else None
        if port is not None and not 0 < port < 2**16:
            return None
        if match["v6"]:
            return ipaddress.IPv6Address(match["v6"]).exploded, port
        host = match["host"].lower()
        if host.rpartition(".")[2].isdigit():
            ipaddress.IPv4Address(host)
    except ValueError:
        return None
    return host, port
