"""Which URLs and IP addresses may be fetched: refuses bad URLs before any request, and addresses that are not public.

A URL is parsed once, here, by a strict pattern, and the connection uses the parts. No second parser could read it
differently.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address
from typing import NamedTuple
from urllib.parse import quote, urljoin

from debate_orchestrator.evidence.states import Blocked
from debate_orchestrator.util.errors import short_repr

IP = IPv4Address | IPv6Address
Allowed = Callable[[IP], bool]
"""Whether that IP address may be connected to."""

PORTS = frozenset({80, 443})
MAX_LENGTH = 2_000
"""Characters a URL may have."""
_USUAL = {"http": 80, "https": 443}
_FORM = re.compile(r"(https?)://([^/?#]*)([^?#]*)(\?[^#]*)?(?:#.*)?", re.IGNORECASE | re.DOTALL)
_HOST = re.compile(r"(\[[^\[\]]*\]|[^:\[\]]*)(?::([0-9]{1,5}))?")
_LABEL = re.compile(r"(?!-)[a-z0-9_-]{1,63}(?<!-)")
_NUMBER = re.compile(r"[0-9]+|0x[0-9a-f]*")
_QUAD = re.compile(r"[0-9]{1,3}(\.[0-9]{1,3}){3}")
_SEGMENT_SAFE = "/!$&'()*+,;=:@~%"
_INSIDE = {
    "localhost", "local", "localdomain", "internal", "intranet", "private", "corp", "home", "lan", "arpa", "onion",
    "i2p", "alt", "invalid", "test", "example",
}  # fmt: skip
"""Last labels of names that exist only inside a network, or nowhere (RFC 2606, 6761, 6762, 7686,
8375, 9476, and the .internal that ICANN set aside)."""


class Address(NamedTuple):
    """The parts of a URL that may be fetched."""

    scheme: str
    host: str
    """A name in ASCII, in lower case and with no dot at its end, or an IP address without brackets."""
    port: int
    target: str
    """Path and query in ASCII, as they are sent."""

    @property
    def ip(self) -> IP | None:
        """The IP address that the URL has as host; None if it has a name."""
        return _literal(self.host)

    @property
    def authority(self) -> str:
        """Host and port as the Host header has them."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port == _USUAL[self.scheme] else f"{host}:{self.port}"

    @property
    def origin(self) -> str:
        return f"{self.scheme}://{self.authority}"

    def __str__(self) -> str:
        return f"{self.origin}{self.target}"


def parse(url: str, ports: frozenset[int] = PORTS, allowed: Allowed | None = None) -> Address:
    """The parts of a URL. Raises Blocked, with the first reason, if it may not be fetched.

    `allowed` decides about an IP address in place of a name; by default it must be public.
    """
    _plain(url)
    found = _FORM.fullmatch(url)
    if not found:
        raise Blocked("it is not an http or https address")
    scheme, authority, path, query = found[1].lower(), found[2], found[3], found[4] or ""
    if "@" in authority:
        raise Blocked("it carries a user's name or password")
    parts = _HOST.fullmatch(authority)
    if not parts:
        raise Blocked("its host is not well formed")
    port = int(parts[2]) if parts[2] else _USUAL[scheme]
    if port not in ports:
        raise Blocked(f"port {port} is not a port that pages are served on")
    address = Address(scheme, _host(parts[1]), port, _target(path, query))
    ip = address.ip
    if ip is not None and not (allowed or public)(ip):
        raise Blocked(f"the host is {kind(ip)}")
    return address


def follow(base: Address, location: str, ports: frozenset[int] = PORTS, allowed: Allowed | None = None) -> Address:
    """The address that a redirect from `base` leads to. Raises Blocked as `parse`."""
    _plain(location)
    try:
        return parse(urljoin(str(base), location), ports, allowed)
    except ValueError:
        raise Blocked("the redirect does not lead to a web address") from None


def _plain(url: str) -> None:
    if len(url) > MAX_LENGTH:
        raise Blocked(f"it is longer than {MAX_LENGTH:,} characters")
    for char in url:
        if char == "\\" or char.isspace() or unicodedata.category(char) in ("Cc", "Cf", "Cs", "Co", "Cn"):
            raise Blocked(f"it holds {short_repr(char)}, which is not allowed in an address")


def _host(given: str) -> str:
    """The host to connect to. Raises Blocked if it is not valid, inside a network, or an unusual form of an address."""
    if given.startswith("["):
        try:
            ip = IPv6Address(given[1:-1])
        except ValueError:
            ip = None
        if ip is None or ip.scope_id is not None:
            raise Blocked("its host is not well formed")
        return str(ip)
    host = given.lower() if given.isascii() else _ascii(given)
    host = host.removesuffix(".")
    labels = host.split(".")
    if len(host) > 253 or not all(_LABEL.fullmatch(label) for label in labels):
        raise Blocked("its host is not well formed")
    if _NUMBER.fullmatch(labels[-1]):
        if not given.isascii() or _literal(host) is None or not _QUAD.fullmatch(given):
            raise Blocked("its host is an IP address in an unusual form")
        return host
    if len(labels) == 1 or labels[-1] in _INSIDE:
        raise Blocked("its host is a name inside a network")
    return host


def _ascii(host: str) -> str:
    import idna

    try:
        return idna.encode(host, uts46=True, std3_rules=True).decode("ascii").lower()
    except UnicodeError:  # idna.IDNAError among them
        raise Blocked("its host is not well formed") from None


def _literal(host: str) -> IP | None:
    try:
        return ip_address(host)
    except ValueError:
        return None


def _target(path: str, query: str) -> str:
    """Path and query as they are sent: every character that is not ASCII escaped, no `.` or `..` left to step over."""
    escaped = re.sub(r"%(?![0-9A-Fa-f]{2})", "%25", path)
    kept: list[str] = []
    segments = quote(escaped, safe=_SEGMENT_SAFE).split("/")[1:] or [""]
    for place, segment in enumerate(segments):
        step = segment.lower().replace("%2e", ".")
        if step not in (".", ".."):
            kept.append(segment)
            continue
        if step == ".." and kept:
            kept.pop()
        if place == len(segments) - 1:
            kept.append("")
    escaped = re.sub(r"%(?![0-9A-Fa-f]{2})", "%25", query)
    return f"/{'/'.join(kept)}{quote(escaped, safe=f'{_SEGMENT_SAFE}?[]')}"


def _networks(kinds: dict[str, str]) -> list[tuple[IPv4Network | IPv6Network, str]]:
    networks: list[tuple[IPv4Network | IPv6Network, str]] = []
    for words, text in kinds.items():
        networks += [(IPv6Network(line) if ":" in line else IPv4Network(line), words) for line in text.split()]
    return networks


_REFUSED = _networks(
    {
        "an unspecified address": "0.0.0.0/8 ::/128",
        "a loopback address": "127.0.0.0/8 ::1/128",
        "a private address": "10.0.0.0/8 172.16.0.0/12 192.168.0.0/16 fc00::/7 fec0::/10",
        "a link-local address": "169.254.0.0/16 fe80::/10",
        "an address shared inside a provider": "100.64.0.0/10",
        "a cloud's inner address": "168.63.129.16/32",
        "a multicast address": "224.0.0.0/4 ff00::/8",
        "an IPv4 address inside an IPv6 one": "::ffff:0:0/96 ::/96 64:ff9b::/96 64:ff9b:1::/48 2001::/32 2002::/16",
        "a reserved address": "192.0.0.0/24 192.0.2.0/24 192.88.99.0/24 198.18.0.0/15 198.51.100.0/24 203.0.113.0/24 "
        "240.0.0.0/4 2001::/23 2001:db8::/32 3fff::/20",
    }
)
"""By IANA's special-purpose registries, and one address of a public block that a cloud answers on from inside. Python's
own `is_global` differs between its versions, so nothing here rests on it."""
_PUBLIC6 = IPv6Network("2000::/3")
"""All of IPv6 that is given out to the public so far."""
_ISATAP = (0x00005EFE, 0x02005EFE)


def kind(ip: IP) -> str:
    """The kind of an address, as in "a loopback address"; "" if it is public."""
    for network, words in _REFUSED:
        if ip in network:
            return words
    if isinstance(ip, IPv6Address):
        if ip.scope_id is not None:
            return "a link-local address"
        if ip not in _PUBLIC6:
            return "a reserved address"
        if (int(ip) >> 32) & 0xFFFFFFFF in _ISATAP:
            return "an IPv4 address inside an IPv6 one"
    return ""


def public(ip: IP) -> bool:
    """Whether an address is public."""
    return not kind(ip)
