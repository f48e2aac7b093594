"""What the server lets in: its own names, this user's browser, forms of its own that are not too large or slow."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient
from web_visitor import HOST, TOKENS, Visitor, visiting

from debate_orchestrator.web import guard
from debate_orchestrator.web.dashboard import create_app
from debate_orchestrator.web.guard import LinkedDebate, load_access_tokens

FORM = "application/x-www-form-urlencoded"


@pytest.fixture
def visitor(here: Path) -> Iterator[Visitor]:
    """A user at the dashboard of an empty folder."""
    with visiting() as visitor:
        yield visitor


def test_the_desk_needs_the_link_that_was_printed(here: Path) -> None:
    """Without its token, nothing but static files is served, and no debate can be started. A page of another name can't
    be pointed at this machine to read what is here."""
    with visiting(enter=False) as stranger:
        for host in ("evil.example", "127.0.0.1", "127.0.0.1:1", "", "evil.example@127.0.0.1:8642"):
            assert stranger.get("/static/page.css", host=host).status_code == 421, host
        for address in ("/", "/tournaments", "/tournaments/t", "/debates/x/report"):
            assert stranger.get(address).status_code == 401, address
        assert stranger.send("/new", {"topic": "x", "action": "start"}).status_code == 401
        ended = stranger.get(f"/dashboard/{'0' * 32}/")  # as the link of a server that has ended
        assert ended.status_code == 401 and "the link that `debate serve` printed" in ended.text
        assert stranger.get(f"/dashboard/{TOKENS.dashboard[:-1]}/new").status_code == 401
        assert stranger.get(f"/seat/../dashboard/{TOKENS.dashboard}0/").status_code == 401
        assert stranger.get("/static/page.css").status_code == 200


def test_forms_of_other_sites_are_refused(visitor: Visitor) -> None:
    """A form from another site, or one without the token of this server's forms, does nothing."""
    data = {"form_token": TOKENS.form, "topic": "Is this right?", "action": "start"}
    other_origins = ("https://evil.example", "null", "http://127.0.0.1:9999", f"https://{HOST}", f"file://{HOST}")
    for headers in (*({"origin": origin} for origin in other_origins), {"sec-fetch-site": "cross-site"}):
        assert visitor.client.post(visitor.at("/new"), data=data, headers=headers).status_code == 403
    assert visitor.send("/new", {"topic": "Is this right?"}, token="0" * 40).status_code == 403
    assert visitor.client.post(visitor.at("/new"), json=data).status_code == 415
    assert visitor.client.put("/new").status_code == 405
    assert list(Path().iterdir()) == []


def test_large_forms_are_refused(visitor: Visitor) -> None:
    """A form over the limit is refused before it is read, whatever it says of its size; so are thousands of fields."""
    large = b"x" * (2_000_000 + 1)
    assert visitor.client.post(visitor.at("/new"), content=large, headers={"content-type": FORM}).status_code == 413
    parts = iter([large[: len(large) // 2], large[len(large) // 2 :]])
    assert visitor.client.post(visitor.at("/new"), content=parts, headers={"content-type": FORM}).status_code == 413
    assert visitor.send("/new", {f"f{n}": "" for n in range(600)}).status_code == 400
    bad = visitor.client.post(
        visitor.at("/new"), content=f"form_token={TOKENS.form}&topic=%ff", headers={"content-type": FORM}
    )
    assert bad.status_code == 400


def test_slow_forms_are_refused(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A form that does not arrive in time holds nothing."""
    monkeypatch.setattr(guard, "_FORM_SECONDS", 0.05)
    headers = {"host": HOST, "content-type": FORM}
    pairs = [(name.encode(), value.encode()) for name, value in headers.items()]
    path = f"/dashboard/{TOKENS.dashboard}/new"
    scope = {"type": "http", "method": "POST", "path": path, "headers": pairs, "query_string": b""}
    sent: list[Any] = []

    async def receive() -> Any:
        await asyncio.sleep(60)

    async def send(message: Any) -> None:
        sent.append(message)

    asyncio.run(create_app(TOKENS, [HOST])(scope, receive, send))

    assert sent[0]["status"] == 408


def test_names_lead_to_debates_of_this_folder_alone(visitor: Visitor, tmp_path: Path) -> None:
    """Neither a path nor a link leads out of the folder."""
    outside = tmp_path.parent / "secret.journal.jsonl"
    outside.write_text("{}\n", encoding="utf-8")
    Path("link.journal.jsonl").symlink_to(outside)

    for name in ("..%2Fsecret", "%2e%2e%2fsecret", "secret%00", "%2Fetc%2Fpasswd", "link"):
        for address in (f"/debates/{name}", f"/debates/{name}/report", "/static/..%2fguard.py", f"/seat/{name}/a/0"):
            assert visitor.get(address).status_code in (404, 405), address


def test_pages_run_no_script_of_others(visitor: Visitor) -> None:
    """Every page says that scripts and styles come from files of this server alone, and has none within it."""
    for address in ("/", "/new", "/search?q=x", "/nothing", "/debates/none"):
        answer = visitor.get(address)
        policy = answer.headers["content-security-policy"]
        assert "default-src 'none'" in policy and "script-src 'self'" in policy and "unsafe" not in policy, address
        assert "frame-ancestors 'none'" in policy and answer.headers["x-content-type-options"] == "nosniff", address
        assert " style=" not in answer.text and "<style" not in answer.text and " onclick" not in answer.text, address
        assert answer.text.count("<script") == answer.text.count('<script src="/static/page.js"'), address


def test_a_proxy_speaks_https(here: Path) -> None:
    """A form for the name of a proxy comes from that name by https: a page of that name that came without it may be a
    stranger's. No address with a slash too many or too few sends a token over http."""
    host, dashboard = "debate.example.org", f"/dashboard/{TOKENS.dashboard}"
    fields = {"form_token": TOKENS.form, "action": "format"}
    links = (f"/seat/d/a/{'0' * 40}/", f"/review/d/{'0' * 40}/", "/static/page.js/")
    with TestClient(create_app(TOKENS, [host]), base_url=f"http://{host}", follow_redirects=False) as client:
        for scheme, status in (("http", 403), ("https", 200)):
            headers = {"origin": f"{scheme}://{host}"}
            assert client.post(f"{dashboard}/new", data=fields, headers=headers).status_code == status
        for address in (dashboard, f"{dashboard}/new/", f"{dashboard}/debates/d/", *links):
            answer = client.get(address, headers={"x-forwarded-proto": "https"})
            assert answer.status_code == (303 if address == dashboard else 404), address
            assert answer.headers.get("location", "/").startswith("/"), address


def test_links_of_seats_outlive_the_server_and_the_desk_does_not(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A person keeps the link of a seat over a restart; the dashboard has another key each time. Another user has
    others."""
    monkeypatch.setenv("XDG_STATE_HOME", str(here / "state"))
    first = load_access_tokens()

    debate = LinkedDebate("name", "x")
    assert load_access_tokens().seat(debate, "a") == first.seat(debate, "a")
    assert load_access_tokens().dashboard != first.dashboard and load_access_tokens().form != first.form
    assert first.seat(debate, "a") not in (first.seat(debate, "b"), first.seat(LinkedDebate("name", "y"), "a"))
    (here / "copy").mkdir()
    monkeypatch.chdir(here / "copy")
    assert load_access_tokens().seat(debate, "a") != first.seat(debate, "a")
    monkeypatch.chdir(here)
    monkeypatch.setenv("XDG_STATE_HOME", str(here / "other"))
    assert load_access_tokens().seat(debate, "a") != first.seat(debate, "a")
