"""Profiles of the Anthropic SDK, which `ant auth login` and the like write: their tokens are sent nowhere unsafe."""

from __future__ import annotations

from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass

from debate_orchestrator.providers.servers import ModelServer, is_loopback, unencrypted
from debate_orchestrator.util.sanitize import one_line


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
