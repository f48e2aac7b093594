"""Which addresses are refused before a request, and a connection that goes where was checked and nowhere else."""

from __future__ import annotations

import ipaddress
import shutil
import socket
import ssl
import subprocess
import threading
from collections.abc import Sequence
from pathlib import Path

import pytest
from corpus import for_each
from evidence_site import ARTICLE, HERE, NAME, Names, Site, answer, here, moved, run
from hypothesis import given
from hypothesis import strategies as st

from debate_orchestrator.evidence import Blocked, NotFetched, Unreachable, addresses, fetch
from debate_orchestrator.evidence.addresses import parse, public
from debate_orchestrator.evidence.fetch import Fetcher

NOT_PUBLIC = "the host resolves to an address that is not public"


@for_each(
    [
        *((answers, Blocked, NOT_PUBLIC) for answers in (["127.0.0.1"], ["93.184.216.34", "192.168.0.1"])),
        *((answers, Blocked, NOT_PUBLIC) for answers in (["::ffff:93.184.216.34"], ["2606:4700::1%eth0"])),
        *((answers, Unreachable, "the host has no address") for answers in ([], ["nonsense"], ["127.1"])),
    ]
)
def test_what_a_name_may_lead_to(answers: Sequence[str], error: type[NotFetched], why: str) -> None:
    """A name with any address that is not public is refused, though others of its addresses are. One without
    addresses, or with what is not an address, leads nowhere."""
    with pytest.raises(error, match=why):
        run(fetch.resolve(NAME, Names(answers), public))


def test_a_second_answer_is_checked_too(site: Site) -> None:
    """A name that is public at first and private afterwards is refused when it is connected to again."""
    site.says["/"] = moved("/again")
    site.says["/again"] = answer(ARTICLE)
    with pytest.raises(Blocked, match=NOT_PUBLIC):
        run(site.fetcher(Names([HERE], [HERE], ["127.0.0.2"])).fetch(site.url("/")))

    assert site.targets == ["/"]


def test_the_socket_goes_where_it_was_checked(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    """The socket is opened by number: neither the name nor anything else is resolved on the way."""
    opened: list[str] = []

    def asked(host: str, *_: object, **__: object) -> list[object]:
        opened.append(host)
        raise socket.gaierror(-2, "it should not be asked")

    monkeypatch.setattr(socket, "getaddrinfo", asked)
    run(site.fetcher().fetch(site.url("/")))

    assert opened == []
    assert {one.headers["host"] for one in site.asked} == {f"{NAME}:{site.port}"}


def test_another_address_is_tried(site: Site) -> None:
    """Where the first of a host's addresses does not answer, the next does."""
    fetcher = Fetcher(
        resolver=Names(["127.0.0.9", HERE]), allowed=lambda ip: ip.is_loopback, ports=frozenset({site.port})
    )

    assert run(fetcher.fetch(site.url("/"))).body == ARTICLE.encode()


def test_a_port_without_a_listener() -> None:
    """A port without a listener is unreachable, and said so."""
    with socket.create_server((HERE, 0)) as closed:
        port = closed.getsockname()[1]
    fetcher = Fetcher(resolver=Names(), allowed=here, ports=frozenset({port}))
    with pytest.raises(Unreachable, match="the host does not answer"):
        run(fetcher.fetch(f"http://{NAME}:{port}/"))


def test_certificates_and_names_are_checked() -> None:
    """TLS as it is used here takes no certificate that is not vouched for, nor one of another name."""
    context = fetch.default_tls()

    assert (context.verify_mode, context.check_hostname) == (ssl.CERT_REQUIRED, True)
    assert context.cert_store_stats()["x509_ca"] > 50


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A certificate for the site's name that it has signed itself, with its key."""
    if not (openssl := shutil.which("openssl")):
        pytest.skip("there is no openssl to make a certificate with")
    path = tmp_path_factory.mktemp("certificate") / "site.pem"
    subject = ["-subj", f"/CN={NAME}", "-addext", f"subjectAltName=DNS:{NAME}"]
    made = ["-newkey", "rsa:2048", "-nodes", "-days", "2", "-keyout", str(path), "-out", str(path.with_name("own.pem"))]
    subprocess.run([openssl, "req", "-x509", *made, *subject], check=True, capture_output=True, timeout=60)
    path.write_bytes(path.read_bytes() + path.with_name("own.pem").read_bytes())
    return path


@pytest.mark.parametrize(
    ("name", "trusted", "ends"),
    [(NAME, True, "200"), (NAME, False, "certificate"), ("other.example.org", True, "certificate")],
)
def test_a_certificate_must_be_vouched_for(certificate: Path, name: str, trusted: bool, ends: str) -> None:
    """A host whose certificate is untrusted or another's, is unreachable; with a good one it answers."""
    served = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    served.load_cert_chain(certificate)
    tls = ssl.create_default_context(cafile=str(certificate)) if trusted else None
    with socket.create_server((HERE, 0)) as listening:
        port = listening.getsockname()[1]

        def listen() -> None:
            for _ in range(2):
                line, _ = listening.accept()
                try:
                    with served.wrap_socket(line, server_side=True) as safe:
                        safe.recv(4096)
                        safe.sendall(answer(ARTICLE, "text/plain"))
                except OSError:
                    return

        threading.Thread(target=listen, daemon=True).start()
        fetcher = Fetcher(resolver=Names(), allowed=here, ports=frozenset({port}), tls=tls)
        if ends == "200":
            assert run(fetcher.fetch(f"https://{name}:{port}/")).body == ARTICLE.encode()
            return
        with pytest.raises(Unreachable, match=ends):
            run(fetcher.fetch(f"https://{name}:{port}/"))


HOSTILE = {
    "not an http": [
        "", "example.com", "//example.com/", "/etc/passwd", "file:///etc/passwd", "javascript:alert(1)",
        "http:example.com", "http:/example.com/", "jar:http://example.com!/", "unix:///var/run/sock", "http:///",
    ],
    "holds": [
        " http://example.com/", "http://example.com/\r\nHost: x", "http://exam\tple.com/",
        "http://example.com\\@127.0.0.1/", "http://example\u200b.com/", "http://ex\ud800.com/",
    ],
    "user's name": [
        "http://user:secret@example.com/", "http://example.com@127.0.0.1/", "http://@example.com/",
        "http://127.0.0.1%2f@x/",
    ],
    "port": ["http://example.com:22/", "http://example.com:6379/", "https://example.com:8443/", "http://example.com:0/"],
    "not well formed": [
        "http://example..com/", "http://-example.com/", "http://example.com:99999/", "http://example.com:80:80/",
        "http://exa%6dple.com/", "http://[::1/", "http://[v1.fe80::a]/", "http://exa$mple.com/",
        f"http://{'a' * 64}.com/", f"http://{'a.' * 130}com/", "http://example.com\uff0f.evil.com/",
        "http://0x7f.0.0.1/", "http://0177.0.0.1/", "http://127.1/", "http://127.0.0.1./", "http://1.2.3.4.5/",
        "http://[2606:4700::1]x/", "http://x[2606:4700::1]/", "http://[2606:4700::1].x:80/",
        "http://256.256.256.256/", "http://①②⑦.⓪.⓪.①/", "http://127。0。0。1/", "http://example.0x1/",
    ],
    "name inside a network": [
        "http://localhost/", "http://LOCALHOST./", "http://x.localhost/", "http://intranet/", "http://router.lan/",
        "http://metadata.google.internal/", "http://nas.home.arpa/", "http://x.onion/", "http://ｌｏｃａｌｈｏｓｔ/",
        "http://2130706433/", "http://0x7f000001/", "http://0/", "http://[fe80::1%25eth0]/",
    ],
    "not a public address": [
        "http://127.0.0.1/", "http://10.0.0.1/", "http://172.16.0.1/", "http://192.168.1.1/", "http://0.0.0.0/",
        "http://169.254.169.254/latest/meta-data/", "http://100.64.0.1/", "http://224.0.0.1/", "http://255.255.255.255/",
        "http://192.0.2.1/", "http://168.63.129.16/", "http://[::1]/", "http://[::]/", "http://[::ffff:127.0.0.1]/",
        "http://[::127.0.0.1]/", "http://[64:ff9b::7f00:1]/", "http://[2002:7f00:1::]/", "http://[fe80::1]/",
        "http://[2001:0:0:0:0:0:80ff:fffe]/", "http://[fd00:ec2::254]/", "http://[ff02::1]/", "http://[2001:db8::1]/",
        "http://[100::1]/", "http://192.175.48.1/", "http://192.31.196.1/", "http://[2620:4f:8000::1]/",
        "http://[2606:4700::5efe:127.0.0.1]/", "http://[2606:4700::200:5efe:10.0.0.1]/",
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


@given(st.ip_addresses(v=4))
def test_what_python_calls_private_is_refused(ip: ipaddress.IPv4Address) -> None:
    """No address is let through that Python's own tables take for private, reserved or multicast."""
    if ip.is_private or ip.is_reserved or ip.is_multicast or ip.is_loopback or ip.is_link_local or ip.is_unspecified:
        assert not addresses.public(ip)
