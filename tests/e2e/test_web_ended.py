"""Pages that stay open in a real browser after their server has ended, and another program takes its address."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import local_http
import pytest
from public_server import served_public

from .test_browser import page  # noqa: F401
from .test_web import context, fill_in, folder, let_go, served, watched  # noqa: F401
from .test_web_public import spoken

pytestmark = pytest.mark.slow

PAGE = b"<title>Taken over</title><div data-changes data-turn='another'></div>"
FRAGMENT = (
    rb"<meta http-equiv='refresh' content='0;url=/own'><base href='/own/'><link rel='stylesheet' href='/own'>"
    rb"<p id='taken'>Taken over<meta http-equiv='refresh' content='0;url=/own'></p><form action='/own'></form>"
)
EVENTS = b"""event: page
data: "%(fragment)s"

event: status
data: "%(fragment)s"

event: change
data: {}

event: over
data: {}

""" % {b"fragment": FRAGMENT}


def respond(asked: local_http.Asked) -> local_http.Answer:
    """What a program answers that wants the pages to load its own."""
    if asked.path.endswith("/stream"):
        return 200, {"content-type": "text/event-stream"}, [EVENTS]
    return 200, {"content-type": "text/html"}, [PAGE]


def refuse(asked: local_http.Asked) -> local_http.Answer:
    """What a program answers that has no such page."""
    return 404, {"content-type": "text/html"}, [PAGE]


def keep_silent(asked: local_http.Asked) -> local_http.Answer:
    """What a program answers that keeps a stream open and sends nothing."""
    if asked.path.endswith("/stream"):
        return 200, {"content-type": "text/event-stream"}, (time.sleep(0.2) or b"" for _ in range(100))
    return respond(asked)


@pytest.mark.parametrize(
    ("answer", "shown"),
    [
        (keep_silent, "Connection lost"),
        (respond, "The server of this page has ended"),
        (refuse, "This page no longer follows the debate"),
    ],
)
def test_a_page_takes_nothing_from_what_takes_its_address(
    folder: Path,  # noqa: F811
    context: Any,  # noqa: F811
    answer: Callable[[local_http.Asked], local_http.Answer],
    shown: str,
) -> None:
    """The page of a seat and that of the dashboard say that their server has ended, load and show nothing of the other
    program's, send it nothing, and what was typed stays."""
    with served(folder) as (address, _):
        window = context.new_page()
        fill_in(window, address, people="a")
        window.get_by_role("button", name="Start the debate").click()
        link = window.get_by_role("link", name="Researcher A").get_attribute("href")
        person = context.new_page()
        person.goto(address.partition("/dashboard/")[0] + link)
        person.get_by_label("Your speech").type("Half of a speech")
        titles = [window.title(), person.title()]
    server = urlsplit(address)
    assert server.hostname is not None and server.port is not None
    with local_http.answering(answer, server.hostname, server.port):
        for one in (window, person):
            one.get_by_text(shown).wait_for()
        assert [window.title(), person.title()] == titles
        assert "Taken over" not in window.inner_text("body") + person.inner_text("body")
        assert person.get_by_label("Your speech").input_value() == "Half of a speech"
        assert person.get_by_role("button", name="Hand it in").is_disabled()


@pytest.mark.parametrize(
    ("path", "label", "button"),
    [
        ("", "Search all speeches", "Search"),
        ("new", "What is to be debated?", "Next: what it takes"),
        ("tournaments", "Search all speeches", "Search"),
        ("nowhere", "Search all speeches", "Search"),
    ],
)
def test_a_form_is_sent_to_its_own_server_alone(
    folder: Path,  # noqa: F811
    context: Any,  # noqa: F811
    path: str,
    label: str,
    button: str,
) -> None:
    """A page that follows nothing asks for its server before it sends a form: another program gets nothing of what was
    typed, which stays, and so it does where nothing answers."""
    window, asked = context.new_page(), list[str]()

    def note(request: local_http.Asked) -> local_http.Answer:
        asked.append(request.path)
        return respond(request)

    with served(folder) as (address, _):
        window.goto(f"{address}{path}")
        window.get_by_label(label).fill("Half a thought")
        title = window.title()
    server = urlsplit(address)
    assert server.hostname is not None and server.port is not None
    window.get_by_role("button", name=button, exact=True).click()
    window.get_by_text("The server does not answer").wait_for()
    with local_http.answering(note, server.hostname, server.port):
        window.get_by_role("button", name=button, exact=True).click()
        window.get_by_text("The server of this page has ended").wait_for()
        assert window.get_by_role("button", name=button, exact=True).is_disabled()
    assert asked == [f"{server.path}proof"]
    assert (window.title(), window.get_by_label(label).input_value()) == (title, "Half a thought")


class SlowProofs:
    """The proofs that a window asks for, each answered when a test says so, and the forms that it sends, none of which
    reaches the server."""

    def __init__(self, window: Any):
        self.asked: list[Any] = []
        self.sent: list[str] = []
        window.route("**/*", self._note)
        self._window = window

    def _note(self, route: Any) -> None:
        if route.request.method == "POST":
            self.sent.append(route.request.post_data)
            route.fulfill(status=204)
        elif route.request.url.endswith("/proof"):
            self.asked.append(route)
        else:
            route.continue_()

    def answer(self) -> None:
        """Answers the newest, and lets the page go on."""
        self._window.wait_for_timeout(300)
        self.asked[-1].continue_()
        self._window.wait_for_timeout(500)


@pytest.fixture
def confirming(folder: Path, context: Any) -> Iterator[tuple[Any, SlowProofs]]:  # noqa: F811
    """The page before a debate is started, whose button counts."""
    with served(folder) as (address, _):
        window = context.new_page()
        fill_in(window, address, people="a")
        window.get_by_role("button", name="Start the debate").wait_for()
        yield window, SlowProofs(window)


def test_clicks_while_the_server_is_slow_send_a_form_once(confirming: tuple[Any, SlowProofs]) -> None:
    """The page says that it waits, asks for one proof, and sends the button that was clicked."""
    window, proofs = confirming
    for _ in range(3):
        window.get_by_role("button", name="Start the debate").click()
    window.wait_for_timeout(1_000)
    assert len(proofs.asked) == 1 and not proofs.sent
    assert window.get_by_text("Waiting for the server").is_visible()
    proofs.answer()
    assert [form.count("action=start") for form in proofs.sent] == [1]
    assert not window.get_by_text("Waiting for the server").count()


def test_a_form_that_the_browser_refuses_is_not_sent_later_without_a_proof(
    confirming: tuple[Any, SlowProofs],
) -> None:
    """A field that has to be filled in is emptied while the proof is on its way: the next click asks again."""
    window, proofs = confirming
    form = "document.querySelector('form[data-clears]')"
    window.evaluate(f"{form}.insertAdjacentHTML('beforeend', '<input id=needed name=needed required value=x>')")
    window.get_by_role("button", name="Start the debate").click()
    window.locator("#needed").fill("")
    proofs.answer()
    assert len(proofs.asked) == 1 and not proofs.sent
    window.locator("#needed").fill("y")
    window.get_by_role("button", name="Start the debate").click()
    window.wait_for_timeout(500)
    assert len(proofs.asked) == 2 and not proofs.sent


def test_a_button_that_is_held_meanwhile_sends_nothing(confirming: tuple[Any, SlowProofs]) -> None:
    """As the buttons are when a stream breaks off. Without its button a form says something else."""
    window, proofs = confirming
    window.get_by_role("button", name="Start the debate").click()
    window.evaluate("disableButtons(true)")
    proofs.answer()
    assert not proofs.sent
    assert window.get_by_text("nothing was sent").is_visible()
    window.evaluate("disableButtons(false)")
    window.get_by_role("button", name="Start the debate").click()
    proofs.answer()
    assert [form.count("action=start") for form in proofs.sent] == [1]


def test_a_server_that_stays_silent_is_waited_for_so_long(confirming: tuple[Any, SlowProofs]) -> None:
    """After ten seconds the page says that it does not answer, and what comes later sends nothing."""
    window, proofs = confirming
    window.get_by_role("button", name="Start the debate").click()
    window.get_by_text("The server does not answer").wait_for(timeout=20_000)
    assert window.get_by_role("button", name="Start the debate").is_enabled()
    assert len(proofs.asked) == 1 and not proofs.sent
    window.get_by_role("button", name="Start the debate").click()
    proofs.answer()
    assert [form.count("action=start") for form in proofs.sent] == [1]


def test_what_is_put_into_a_public_page_leads_nowhere(folder: Path, context: Any) -> None:  # noqa: F811
    """A public page, whose visitors need no key, can't tell another server from its own. What that sends as part of
    the debate neither loads another page nor changes where links and forms of this one lead."""
    with served_public(folder, {"offers": {"slow": {**spoken(folder), "rounds": 1}}}) as server:
        window = context.new_page()
        window.goto(f"http://127.0.0.1:{server.port}/")
        window.get_by_label("What is to be debated?").fill("Should we wait?")
        window.get_by_role("button", name="Start the debate").click()
        window.locator(".writing", has_text="First comes").first.wait_for()
        title, address = window.title(), window.url
    with local_http.answering(respond, "127.0.0.1", server.port):
        window.locator("#debate", has_text="Taken over").wait_for()
        window.wait_for_timeout(1_000)
        assert (window.title(), window.url) == (title, address)
        assert window.locator("main :is(meta, base, link, form)").count() == 0
    let_go(folder)


def test_the_page_of_a_strangers_tournament_leads_nowhere_else(folder: Path, context: Any) -> None:  # noqa: F811
    """A link to another site, which might open a window and replace the page, is text. Links within the page work."""
    tournament = folder / "t"
    tournament.mkdir()
    (tournament / "tournament.json").write_text('{"imported": {}}', encoding="utf-8")
    with local_http.answering(respond) as elsewhere, served(folder) as (address, _):
        links = (
            f'<a target="w" rel="opener" href="{elsewhere}">window</a> <a href="{elsewhere}">plain</a>'
            ' <a href="#there">inside</a> <p id="there">There</p>'
        )
        (tournament / "index.html").write_text(links, encoding="utf-8")
        window = context.new_page()
        window.goto(f"{address}tournaments/t/report")
        assert [link.inner_text() for link in window.locator("a").all()] == ["inside"]
        window.get_by_text("window").click()
        window.get_by_text("plain").click()
        window.get_by_text("inside").click()
        window.wait_for_url("**/tournament/t/**#there")
        assert context.pages == [window]
