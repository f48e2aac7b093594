"""A connection goes to the address that was checked, and to no other; with https to the host that was meant."""

from __future__ import annotations

import shutil
import socket
import ssl
import subprocess
import threading
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
from evidence_site import ARTICLE, HERE, NAME, Names, Site, answer, here, moved, run, serving

from debate_orchestrator.evidence import connection
from debate_orchestrator.evidence.addresses import Address, public
from debate_orchestrator.evidence.fetch import Fetcher
from debate_orchestrator.evidence.states import Blocked, Unreachable

PAGE = Address("http", NAME, 80, "/")


@pytest.fixture
def site() -> Iterator[Site]:
    with serving() as site:
        site.says["/"] = answer(ARTICLE)
        yield site


@pytest.mark.parametrize(
    ("answers", "kind"),
    [
        (["127.0.0.1"], "a loopback address"),
        (["10.1.2.3"], "a private address"),
        (["93.184.216.34", "192.168.0.1"], "a private address"),
        (["93.184.216.34", "::1"], "a loopback address"),
        (["::ffff:93.184.216.34"], "an IPv4 address inside an IPv6 one"),
        (["fe80::1%eth0"], "a link-local address"),
        (["2606:4700::1%eth0"], "a link-local address"),
        (["0.0.0.0"], "an unspecified address"),
    ],
)
def test_one_private_answer_is_enough(answers: Sequence[str], kind: str) -> None:
    """A name with any address that is not public is refused, though others of its addresses are."""
    with pytest.raises(Blocked, match=f"the host resolves to {kind}"):
        run(connection.resolve(PAGE, Names(answers), public))


@pytest.mark.parametrize("answers", [[], ["nonsense"], ["127.1"]])
def test_an_answer_that_is_none(answers: Sequence[str]) -> None:
    """A name without addresses, or with what is no address, leads nowhere."""
    with pytest.raises(Unreachable, match=r"the host (has|resolves to)"):
        run(connection.resolve(PAGE, Names(answers), public))


def test_an_unknown_name() -> None:
    """Where the resolver knows no address, the host is unreachable."""

    async def nothing(host: str) -> Sequence[str]:
        raise socket.gaierror(-2, "unknown")

    with pytest.raises(Unreachable, match="the host has no address"):
        run(Fetcher(resolver=nothing).fetch("http://example.com/"))


def test_the_system_resolves_for_a_fetcher_that_is_told_nothing() -> None:
    """The system's resolver gives addresses as text; a name for this machine is looked up, and then refused."""
    assert HERE in run(connection.system("localhost"))
    with pytest.raises(Blocked, match="a loopback address"):
        run(connection.resolve(Address("http", "localhost", 80, "/"), connection.system, public))


def test_each_connection_asks_once(site: Site) -> None:
    """A name is resolved once for each connection, so that there is no second answer to go to."""
    names = Names()
    run(site.fetcher(names).fetch(site.url("/")))

    assert names.asked == [NAME, NAME]  # for robots.txt, and for the page
    assert len(site.asked) == 2


def test_a_second_answer_is_checked_too(site: Site) -> None:
    """A name that is public at first and private afterwards is refused when it is connected to again."""
    site.says["/"] = moved("/again")
    site.says["/again"] = answer(ARTICLE)
    with pytest.raises(Blocked, match="the host resolves to a loopback address") as refusal:
        run(site.fetcher(Names([HERE], [HERE], ["127.0.0.2"])).fetch(site.url("/")))

    assert refusal.value.at == site.url("/again")
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


def test_tls_names_the_host_that_is_meant() -> None:
    """With https the server is told the host's name, though the socket goes to a number."""
    heard: list[bytes] = []
    with socket.create_server((HERE, 0)) as listening:
        port = listening.getsockname()[1]

        def listen() -> None:
            line, _ = listening.accept()
            heard.append(line.recv(4096))
            line.close()

        hearing = threading.Thread(target=listen, daemon=True)
        hearing.start()
        fetcher = Fetcher(resolver=Names(), allowed=here, ports=frozenset({port}))
        with pytest.raises(Unreachable):
            run(fetcher.fetch(f"https://{NAME}:{port}/"))
        hearing.join(5)

    assert NAME.encode() in heard[0]


def test_certificates_and_names_are_checked() -> None:
    """TLS as it is used here takes no certificate that is not vouched for, nor one of another name."""
    context = connection.trust()

    assert (context.verify_mode, context.check_hostname) == (ssl.CERT_REQUIRED, True)
    assert context.cert_store_stats()["x509_ca"] > 50


@pytest.fixture
def certificate(tmp_path: Path) -> Path:
    """A certificate for the site's name that it has signed itself, with its key."""
    if not (openssl := shutil.which("openssl")):
        pytest.skip("there is no openssl to make a certificate with")
    path = tmp_path / "site.pem"
    subject = ["-subj", f"/CN={NAME}", "-addext", f"subjectAltName=DNS:{NAME}"]
    made = ["-newkey", "rsa:2048", "-nodes", "-days", "2", "-keyout", str(path), "-out", str(tmp_path / "own.pem")]
    subprocess.run([openssl, "req", "-x509", *made, *subject], check=True, capture_output=True, timeout=60)
    path.write_bytes(path.read_bytes() + (tmp_path / "own.pem").read_bytes())
    return path


@pytest.mark.parametrize(
    ("name", "trusted", "ends"),
    [(NAME, True, "200"), (NAME, False, "certificate"), ("other.example.org", True, "certificate")],
)
def test_a_certificate_must_be_vouched_for(certificate: Path, name: str, trusted: bool, ends: str) -> None:
    """A host whose certificate is untrusted or another's, is unreachable; with a good one it answers."""
    served = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    served.load_cert_chain(certificate)
    trust = ssl.create_default_context(cafile=str(certificate)) if trusted else None
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
        fetcher = Fetcher(resolver=Names(), allowed=here, ports=frozenset({port}), trust=trust)
        if ends == "200":
            assert run(fetcher.fetch(f"https://{name}:{port}/")).body == ARTICLE.encode()
            return
        with pytest.raises(Unreachable, match=ends):
            run(fetcher.fetch(f"https://{name}:{port}/"))
