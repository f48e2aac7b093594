"""Checks which URLs and IP addresses may be fetched: refuses bad URLs before any request, and addresses that are not
public.

A URL is parsed once, here, and the connection uses the parts, so no second parser can read it differently.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable
from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network
from typing import NamedTuple
from urllib.parse import quote, unquote, urljoin, urlsplit

from debate_orchestrator.evidence import Blocked
from debate_orchestrator.util.errors import short_repr

IP = IPv4Address | IPv6Address
Allowed = Callable[[IP], bool]
"""Whether that IP address may be connected to."""

PORTS = frozenset({80, 443})
MAX_LENGTH = 2_000
"""Characters a URL may have."""
_DEFAULT_PORTS = {"http": 80, "https": 443}
_AUTHORITY = re.compile(r"(?:\[[^\[\]]*\]|[^\[\]:]*)(?::\d*)?")
"""A host, in brackets if it has colons, and perhaps a port: nothing that a parser could leave out."""
_NAME = re.compile(r"(?:(?!-)[a-z0-9_-]{1,63}(?<!-)\.)+(?![0-9]+\Z|0x)[a-z0-9-]{2,63}")
"""A host name. One that ends with a number is an IP address in an unusual form."""
_PRIVATE_DOMAINS = {
    "arpa", "corp", "example", "home", "internal", "intranet", "invalid", "lan", "local", "localdomain", "localhost",
    "onion", "private", "test",
}  # fmt: skip
"""Last labels of names that exist only inside a network, or nowhere."""


class ParsedUrl(NamedTuple):
    """A URL that may be fetched, in its parts."""

    scheme: str
    host: str
    """A name in ASCII and lower case, or an IP address without brackets."""
    port: int
    target: str
    """Path and query in ASCII, as they are sent."""

    @property
    def authority(self) -> str:
        """Host and port as the Host header has them."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port == _DEFAULT_PORTS[self.scheme] else f"{host}:{self.port}"

    @property
    def origin(self) -> str:
        return f"{self.scheme}://{self.authority}"

    def __str__(self) -> str:
        return f"{self.origin}{self.target}"


def parse(url: str, ports: frozenset[int] = PORTS, allowed: Allowed | None = None) -> ParsedUrl:
    """The parts of a URL. Raises Blocked, with the first reason, if it may not be fetched. `allowed` decides about an
    IP address in place of a name; by default it must be public."""
    _check_characters(url)
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        raise Blocked("it is not well formed") from None
    if parts.scheme not in _DEFAULT_PORTS or not parts.hostname:
        raise Blocked("it is not an http or https address")
    if "@" in parts.netloc:
        raise Blocked("it carries a user's name or password")
    if not _AUTHORITY.fullmatch(parts.netloc):
        raise Blocked("it is not well formed")
    port = _DEFAULT_PORTS[parts.scheme] if port is None else port
    if port not in ports:
        raise Blocked(f"port {port} is not a port that pages are served on")
    host = _host(parts.hostname)
    ip = literal(host)
    if ip is not None and not (allowed or public)(ip):
        raise Blocked("the host is not a public address")
    return ParsedUrl(parts.scheme, host, port, _target(parts.path, parts.query))


def follow(base: ParsedUrl, location: str, ports: frozenset[int] = PORTS, allowed: Allowed | None = None) -> ParsedUrl:
    """The address that a redirect from `base` leads to. Raises Blocked as `parse`."""
    _check_characters(location)
    try:
        return parse(urljoin(str(base), location), ports, allowed)
    except ValueError:
        raise Blocked("the redirect does not lead to a web address") from None


def literal(host: str) -> IP | None:
    """The IP address that a host is written as; None if it is a name."""
    try:
        return ip_address(host)
    except ValueError:
        return None


def _check_characters(url: str) -> None:
    if len(url) > MAX_LENGTH:
        raise Blocked(f"it is longer than {MAX_LENGTH:,} characters")
    for char in url:
        if char == "\\" or char.isspace() or unicodedata.category(char).startswith("C"):
            raise Blocked(f"it holds {short_repr(char)}, which is not allowed in an address")


def _host(name: str) -> str:
    """The host to connect to. Raises Blocked if it is not valid, or inside a network."""
    ip = literal(name)
    if ip is not None and "%" not in name:
        return str(ip)
    host = name.lower().removesuffix(".")
    if not host.isascii():
        import idna

        try:
            host = idna.encode(host, uts46=True, std3_rules=True).decode("ascii").lower()
        except UnicodeError:  # idna.IDNAError among them
            raise Blocked("its host is not well formed") from None
    if "." not in host or host.rpartition(".")[2] in _PRIVATE_DOMAINS:
        raise Blocked("its host is a name inside a network, or none")
    if len(host) > 253 or not _NAME.fullmatch(host):
        raise Blocked("its host is not well formed")
    return host


def _target(path: str, query: str) -> str:
    """Path and query as they are sent, without dot segments, and with every character escaped that is not ASCII."""
    path, query = (re.sub(r"%(?![0-9A-Fa-f]{2})", "%25", text) for text in (path or "/", query))
    path = _without_dot_segments(re.sub("%2e", ".", path, flags=re.IGNORECASE))
    return quote(path, safe="/!$&'()*+,;=:@~%") + ("?" + quote(query, safe="/!$&'()*+,;=:@~%?[]") if query else "")


def readings(target: str) -> set[str]:
    """A target as servers may read it: as it is sent; several slashes in a row as one; escaped slashes and backslashes
    as slashes too; and that without the parameters of segments (`;...`)."""
    path, mark, query = target.partition("?")
    paths = {path, re.sub("/+", "/", path)}
    for encoded in (path, re.sub(";[^/]*", "", path)):
        decoded = _without_dot_segments(re.sub(r"[/\\]+", "/", unquote(encoded, "latin-1")))
        paths.add(quote(decoded, safe="/!$&'()*+,;=:@~", encoding="latin-1"))
    return {reading + mark + query for reading in paths}


def _without_dot_segments(path: str) -> str:
    """A path without `.` and `..`, as browsers send it (RFC 3986, 5.2.4)."""
    segments = list[str]()
    for segment in path.split("/")[1:]:
        if segment == "..":
            del segments[-1:]
        elif segment != ".":
            segments.append(segment)
    return "/".join(["", *segments, *([""] if path.endswith(("/.", "/..")) else [])])


_REFUSED = [
    ip_network(network)
    for network in (
        "0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16", "172.16.0.0/12", "192.0.0.0/24",
        "192.0.2.0/24", "192.31.196.0/24", "192.52.193.0/24", "192.88.99.0/24", "192.168.0.0/16", "192.175.48.0/24",
        "198.18.0.0/15", "198.51.100.0/24", "203.0.113.0/24", "224.0.0.0/3",
        "168.63.129.16/32",  # public, and yet answered inside a cloud
        # within 2000::/3; two of them hold IPv4 addresses
        "2001::/23", "2001:db8::/32", "2002::/16", "2620:4f:8000::/48", "3fff::/20",
    )
]  # fmt: skip
"""By IANA's special-purpose registries. Python's own `is_global` differs between its versions."""
_PUBLIC_IPV6 = ip_network("2000::/3")
"""All of IPv6 that is given out to the public so far."""

_ISATAP = 0x0000_5EFE
"""What is before the IPv4 address that an ISATAP address holds, without the two bits that say whose number it is."""


def public(ip: IP) -> bool:
    if ip.version == 6 and (ip not in _PUBLIC_IPV6 or ip.scope_id is not None):
        return False
    if ip.version == 6 and int(ip) >> 32 & 0xFCFF_FFFF == _ISATAP:
        return False
    return not any(ip in network for network in _REFUSED)
