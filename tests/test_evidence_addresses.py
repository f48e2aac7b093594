"""What is refused of an address before any request is made, and which IP addresses are refused."""

from __future__ import annotations

import ipaddress
from collections.abc import Sequence

import pytest
from evidence_site import run
from hypothesis import given
from hypothesis import strategies as st

from debate_orchestrator.evidence import addresses
from debate_orchestrator.evidence.addresses import Address, parse
from debate_orchestrator.evidence.fetch import Fetcher
from debate_orchestrator.evidence.states import Blocked

HOSTILE = {
    "not an http": [
        "", "example.com", "//example.com/", "/etc/passwd", "file:///etc/passwd", "ftp://example.com/",
        "gopher://example.com:70/_GET", "dict://example.com:2628/", "ws://example.com/", "data:text/html,hello",
        "javascript:alert(1)", "http:example.com", "http:/example.com/", "blob:http://x.com/",
        "view-source:http://example.com/", "jar:http://example.com!/", "httpx://example.com/", "unix:///var/run/sock",
    ],
    "holds": [
        " ", " http://example.com/", "http://example.com/\n", "http://exam\tple.com/", "http://example.com/\r\nHost: x",
        "http://example.com\\@127.0.0.1/", "http:\\\\example.com\\", "http://example.com/\x00", "http://example\u200b.com/",
        "http://example.com/\u202egpj.exe", "http://example.com/a b", "http://example.com/\u00a0", "http://ex\ud800.com/",
        "http://127.0.0.1\u00ad.com/",
    ],
    "user's name": [
        "http://user@example.com/", "http://user:secret@example.com/", "http://example.com@127.0.0.1/",
        "http://@example.com/", "http://127.0.0.1%2f@x/", "http://example.com:80@127.0.0.1/", "http://:@example.com/",
    ],
    "port": [
        "http://example.com:22/", "http://example.com:25/", "http://example.com:6379/", "http://example.com:8080/",
        "https://example.com:8443/", "http://example.com:0/", "http://example.com:65536/", "http://example.com:99999/",
    ],
    "not well formed": [
        "http:///", "https:///example.com/", "http://?", "http://./", "http://.example.com/", "http://example..com/", "http://-example.com/",
        "http://example.com:/", "http://example.com:80:80/", "http://example.com:８０/", "http://exa%6dple.com/",
        "http://[::1/", "http://::1/", "http://[127.0.0.1]/", "http://[fe80::1%25eth0]/",
        "http://[v1.fe80::a]/", "http://exa$mple.com/", f"http://{'a' * 64}.com/", f"http://{'a.' * 130}com/",
        "http://example.com\uff0f.evil.com/", "http://*.example.com/", "http://[]/",
    ],
    "IP address in an unusual form": [
        "http://2130706433/", "http://0x7f000001/", "http://0x7f.0.0.1/", "http://0177.0.0.1/", "http://127.1/",
        "http://127.0.1/", "http://0/", "http://0x/", "http://017700000001/", "http://127.0.0.1./", "http://1.2.3/",
        "http://1.2.3.4.5/", "http://256.256.256.256/", "http://①②⑦.⓪.⓪.①/", "http://１２７.0.0.1/",
        "http://127。0。0。1/", "http://example.0x1/", "http://0xa9fea9fe/", "http://00000127.0.0.1/",
    ],
    "name inside a network": [
        "http://localhost/", "http://LOCALHOST/", "http://localhost./", "http://x.localhost/", "http://intranet/",
        "http://router.lan/", "http://printer.local/", "http://metadata.google.internal/", "http://wiki.corp/",
        "http://nas.home.arpa/", "http://x.onion/", "http://ｌｏｃａｌｈｏｓｔ/", "http://metadata/", "http://a.test/",
    ],
    "the host is": [
        "http://127.0.0.1/", "http://127.255.255.254/", "http://10.0.0.1/", "http://172.16.0.1/", "http://192.168.1.1/",
        "http://169.254.169.254/latest/meta-data/", "http://100.64.0.1/", "http://100.100.100.200/", "http://0.0.0.0/",
        "http://224.0.0.1/", "http://255.255.255.255/", "http://240.0.0.1/", "http://192.0.2.1/", "http://198.18.0.1/",
        "http://168.63.129.16/", "http://[::1]/", "http://[::]/", "http://[::ffff:127.0.0.1]/",
        "http://[::ffff:7f00:1]/", "http://[::127.0.0.1]/", "http://[64:ff9b::7f00:1]/", "http://[64:ff9b:1::a00:1]/",
        "http://[2002:7f00:1::]/", "http://[2001:0:0:0:0:0:80ff:fffe]/", "http://[fe80::1]/", "http://[fc00::1]/",
        "http://[fd00:ec2::254]/", "http://[ff02::1]/", "http://[fec0::1]/", "http://[2001:db8::1]/",
        "http://[2a00:1450::5efe:a00:1]/", "http://[::ffff:0:127.0.0.1]/", "http://[100::1]/", "http://[3fff::1]/",
    ],
    "longer than": [f"http://example.com/{'a' * 2000}"],
}  # fmt: skip
REFUSED = [(url, why) for why, urls in HOSTILE.items() for url in urls]


async def no_addresses(host: str) -> Sequence[str]:
    raise AssertionError(f"{host} was looked up")


def test_hostile_addresses_are_refused_before_any_connection() -> None:
    """An address that may not be asked for is refused, with the reason, before its name is even looked up."""
    for url, why in REFUSED:
        with pytest.raises(Blocked) as refusal:
            run(Fetcher(resolver=no_addresses).fetch(url))

        assert why in refusal.value.why, url


PLAIN_FORMS = [
    ("HTTP://Example.COM", "http://example.com/"),
    ("https://example.com:443/a?b=c#d", "https://example.com/a?b=c"),
    ("http://example.com:443/", "http://example.com:443/"),
    ("http://example.com./a", "http://example.com/a"),
    ("http://bücher.example.com/straße?q=ä b".replace(" ", "%20"),
     "http://xn--bcher-kva.example.com/stra%C3%9Fe?q=%C3%A4%20b"),
    ("http://example.com/a/../b/./c/%2e%2E/d", "http://example.com/b/d"),
    ("http://example.com/../../etc/passwd", "http://example.com/etc/passwd"),
    ("http://example.com/a/..", "http://example.com/"),
    ("http://example.com/100%/\"<>", "http://example.com/100%25/%22%3C%3E"),
    ("http://example.com?x=//y@z", "http://example.com/?x=//y@z"),
    ("http://8.8.8.8/", "http://8.8.8.8/"),
    ("http://[2606:4700:0:0::6810:84E5]/", "http://[2606:4700::6810:84e5]/"),
    ("http://example.com/#:~:text=never", "http://example.com/"),
]  # fmt: skip


def test_an_address_has_one_form() -> None:
    """What is let through is brought into one form, in ASCII, and that form is let through as it is."""
    for url, plain in PLAIN_FORMS:
        assert str(parse(url)) == plain, url
        assert str(parse(plain)) == plain, url


@pytest.mark.parametrize(
    ("location", "leads"),
    [
        ("/b", "https://example.com/b"),
        ("b?c", "https://example.com/a/b?c"),
        ("//other.org/x", "https://other.org/x"),
        ("http://other.org", "http://other.org/"),
        ("?q", "https://example.com/a/?q"),
        ("#there", "https://example.com/a/"),
        ("../../../x", "https://example.com/x"),
    ],
)
def test_a_redirect_leads_on(location: str, leads: str) -> None:
    """A redirect is read from where it stands."""
    assert str(addresses.follow(parse("https://example.com/a/"), location)) == leads


@pytest.mark.parametrize(
    "location",
    ["//127.0.0.1/", "http://10.0.0.1/", "file:///etc/passwd", "javascript:x", "//u@x.com", "\\\\localhost", "//[x"],
)
def test_a_redirect_is_refused_as_an_address_is(location: str) -> None:
    """Where a redirect leads is looked at like an address that was given."""
    with pytest.raises(Blocked):
        addresses.follow(parse("https://example.com/"), location)


@given(
    st.one_of(st.text(), st.text().map("http://{}".format), st.from_regex(r"https?://[^/]{1,20}/.*", fullmatch=True))
)
def test_any_text_is_an_address_or_refused(url: str) -> None:
    """Whatever is given is taken apart into plain parts that mean the same when they are read again, or refused."""
    try:
        address = parse(url)
    except Blocked as refusal:
        assert refusal.why
        return
    assert str(address).isascii() and str(address).isprintable()
    assert not set(str(address)) & set(' \\"<>')
    assert "@" not in address.authority
    assert parse(str(address)) == address


@given(st.text())
def test_any_location_is_an_address_or_refused(location: str) -> None:
    """Wherever a server says to look instead is an address, or refused."""
    try:
        address = addresses.follow(Address("http", "example.com", 80, "/"), location)
    except Blocked:
        return
    assert parse(str(address)) == address


@given(st.ip_addresses(v=4))
def test_what_python_calls_private_is_refused(ip: ipaddress.IPv4Address) -> None:
    """No address is let through that Python's own tables take for private, reserved or multicast."""
    if ip.is_private or ip.is_reserved or ip.is_multicast or ip.is_loopback or ip.is_link_local or ip.is_unspecified:
        assert not addresses.public(ip)


@given(st.ip_addresses(v=6))
def test_what_python_calls_private_is_refused_in_ipv6(ip: ipaddress.IPv6Address) -> None:
    """The same for the longer addresses."""
    if ip.is_private or ip.is_reserved or ip.is_multicast or ip.is_site_local or ip.is_link_local or ip.ipv4_mapped:
        assert not addresses.public(ip)


@given(st.ip_addresses(v=4))
def test_no_address_hides_in_a_longer_one(ip: ipaddress.IPv4Address) -> None:
    """An IPv4 address inside an IPv6 one is refused, whatever it is: mapped, compatible, translated, 6to4, Teredo."""
    number = int(ip)
    for shape in (0xFFFF << 32, 0, 0xFFFF << 48, 0x64FF9B << 96, 0x20010000 << 96):
        assert not addresses.public(ipaddress.IPv6Address(shape + number))
    assert not addresses.public(ipaddress.IPv6Address((0x2002 << 112) + (number << 80) + 1))


@pytest.mark.parametrize("ip", ["8.8.8.8", "1.1.1.1", "93.184.216.34", "2606:4700::1111", "2a00:1450:4001::200e"])
def test_public_addresses_are_let_through(ip: str) -> None:
    """An address that the public can reach is no private one."""
    assert addresses.kind(ipaddress.ip_address(ip)) == ""
