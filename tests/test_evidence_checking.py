"""Does a page hold what is quoted from it? From the address to the answer and the kept page, over real sockets."""

from __future__ import annotations

import hashlib
import importlib.util
from pathlib import Path
from typing import Any

import pytest
from evidence_site import ARTICLE, Site, answer, moved, packed, run

from debate_orchestrator.evidence import check as evidence_check
from debate_orchestrator.evidence.check import QuoteCheck, check
from debate_orchestrator.evidence.fetch import Kind
from debate_orchestrator.util.errors import BadFile

QUOTE = "The sea rose by 3.4 millimetres a year between 1993 and 2023"
DIGEST = hashlib.sha256(ARTICLE.encode()).hexdigest()


def checked(site: Site, quote: str = QUOTE, path: str = "/", folder: Path | None = None, **terms: Any) -> QuoteCheck:
    return run(check(site.url(path), quote, folder, site.fetcher(**terms)))


def test_a_quote_that_is_there(site: Site, tmp_path: Path) -> None:
    """A quote that its page holds is verified, with the page's title, date and digest, and the page is kept."""
    site.says["/moved"] = moved("/")
    found = checked(site, path="/moved", folder=tmp_path)

    assert found == QuoteCheck(
        url=site.url("/moved"),
        state="verified",
        similarity=1.0,
        title="Rising water",
        date="2024-03-05",
        digest=DIGEST,
        archived=f"{DIGEST[:24]}.html.txt",
        why="the page holds the quote word for word",
    )
    assert hashlib.sha256((tmp_path / found.archived).read_bytes()).hexdigest() == found.digest
    assert "Written for everybody" in (tmp_path / f"{DIGEST[:24]}.txt").read_text(encoding="utf-8")
    assert len(list(tmp_path.iterdir())) == 2


@pytest.mark.parametrize(("name", "host"), [("www.аррӏе.com", "www.xn--80ak6aa92e.com"), ("short.org", "other.org")])
def test_a_page_that_comes_from_another_host_than_is_seen(site: Site, name: str, host: str) -> None:
    """The host is named where the cited address does not show it: in letters that look like others, or redirected."""
    site.says["/moved"] = moved(site.url("/", "other.org"))
    url = site.url("/" if name.startswith("www") else "/moved", name)
    found = run(check(url, QUOTE, None, site.fetcher()))

    assert (found.state, found.url) == ("verified", url)
    assert found.why == f"the page holds the quote word for word; the page came from {host.removeprefix('www.')}"


def test_a_page_that_repeats_its_address(site: Site) -> None:
    """A search page that repeats what it was asked, also before a redirect, verifies nothing."""
    asked = "/?q=" + QUOTE.replace(" ", "+")
    site.says[asked] = answer(f"<p>No results for {QUOTE}.</p>")
    assert checked(site, path=asked).state == "near match"
    site.says[asked] = moved("/")
    assert checked(site, path=asked).state == "near match"
    site.says["/short"] = moved(asked)
    assert checked(site, path="/short").state == "near match"


def test_a_short_quote_is_not_even_fetched(site: Site) -> None:
    """A quote that could be anywhere is not looked for, and the page is not asked for."""
    found = checked(site, "the sea rose")

    assert (found.state, found.similarity) == ("not found", None)
    assert "too short to check" in found.why
    assert site.asked == []


@pytest.mark.parametrize(
    ("said", "state", "why"),
    [
        (answer(status=404), "unreachable", "404 Not Found"),
        (answer("x", "image/png"), "unreachable", "it is image/png, not text"),
        (packed(b"\0" * 6_000_000), "unreachable", "it is larger than 5 MB"),
        (moved("http://10.0.0.1/"), "blocked", "it is redirected to http://10.0.0.1/, which is refused: port 80"),
        (answer(b"%PDF-1.7", "application/pdf"), "not checked", "it is a PDF, which is not read here"),
        (answer("<body><div id=app></div><script>x</script>"), "not found", "the page shows no text without running"),
    ],
)
def test_what_comes_of_a_page(site: Site, said: bytes, state: str, why: str) -> None:
    """Each thing that can happen has its state, and says why."""
    site.says["/"] = said
    found = checked(site)

    assert found.state == state
    assert found.why.startswith(why)


def test_a_pdf_is_kept(site: Site, tmp_path: Path) -> None:
    """A PDF is not read, but kept for those who want to."""
    site.says["/"] = answer(b"%PDF-1.7 and so on", "application/pdf")
    found = checked(site, folder=tmp_path)

    assert [path.name for path in tmp_path.iterdir()] == [found.archived]
    assert (tmp_path / found.archived).read_bytes() == b"%PDF-1.7 and so on"


def test_a_page_that_breaks_its_reader(site: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A page that can't be read in time is not checked, though kept."""
    monkeypatch.setattr(evidence_check, "MAX_READING_SECONDS", 0.01)
    found = checked(site, folder=tmp_path)

    assert (found.state, found.why) == ("not checked", "it could not be read within 0.01 s")
    assert (tmp_path / found.archived).read_bytes() == ARTICLE.encode()


def test_a_folder_that_can_not_be_written(site: Site, tmp_path: Path) -> None:
    """A folder that is none is the user's to mend, and is reported as such."""
    (tmp_path / "file").write_text("", encoding="utf-8")
    with pytest.raises(BadFile):
        checked(site, folder=tmp_path / "file")


def test_without_the_extra_nothing_is_checked(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the extra is not installed the answer names it, and no request is made."""
    found = importlib.util.find_spec
    monkeypatch.setattr(evidence_check, "find_spec", lambda name: None if name == "rapidfuzz" else found(name))
    answered = checked(site)

    assert (answered.state, site.asked) == ("not checked", [])
    assert 'pip install "debate-orchestrator[evidence]"' in answered.why


BODY = b"<script>alert(1)</script>\r\n\x00\xff"
NAME = hashlib.sha256(BODY).hexdigest()[:24]


@pytest.mark.parametrize(("kind", "suffix"), [("html", ".html.txt"), ("plain", ".plain.txt"), ("pdf", ".pdf")])
def test_bytes_are_kept_as_they_came(tmp_path: Path, kind: Kind, suffix: str) -> None:
    """A page's bytes lie in a file that is named after their digest, with a suffix that nothing runs."""
    name = evidence_check.save_page(tmp_path / "made" / "on the way", BODY, kind)

    assert name == f"{NAME}{suffix}"
    kept = tmp_path / "made" / "on the way" / name
    assert kept.read_bytes() == BODY
    assert kept.stat().st_mode & 0o111 == 0
    assert evidence_check.digest(kept.read_bytes()).startswith(name.partition(".")[0])


def test_no_link_is_followed(tmp_path: Path) -> None:
    """A link that lies where a page is to be kept is replaced, and what it leads to stays as it is."""
    (tmp_path / "precious").write_text("as it was", encoding="utf-8")
    (tmp_path / f"{NAME}.html.txt").symlink_to(tmp_path / "precious")
    evidence_check.save_page(tmp_path, BODY, "html")

    assert (tmp_path / "precious").read_text(encoding="utf-8") == "as it was"
    assert (tmp_path / f"{NAME}.html.txt").read_bytes() == BODY
