"""A public site as strangers meet it: on a phone, by keyboard, by day and by night; the friend who gets the link."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from public_server import served_public

from .window import PHONE, held_speaker, let_go, looked_at, on_a_phone

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("watched")]

REHEARSAL = {"offers": {"rehearsal": {"about": "A rehearsal", "cast": {"a": "rehearse", "b": "rehearse"}}}}


def test_a_stranger_on_a_phone(folder: Path, context: Any, page: Any) -> None:
    """From the address alone to a debate on one's own topic, its link copied and opened by a friend who has never been
    there, and the report; axe finds nothing, every page fits, and no page complains."""
    with served_public(folder, REHEARSAL) as server:
        home = f"http://127.0.0.1:{server.port}/"
        window = context.new_page()
        window.set_viewport_size({"width": PHONE, "height": 844})
        window.goto(home)
        looked_at(window)
        window.get_by_label("What is to be debated?").fill("Should cities ban cars from their centres?")
        window.get_by_role("button", name="Start the debate").click()
        window.get_by_text("Complete", exact=True).wait_for()
        looked_at(window)
        assert 'centres?" is yes.' in window.inner_text("main")
        context.grant_permissions(["clipboard-read", "clipboard-write"])
        window.get_by_role("button", name="Send this page").click()
        window.get_by_text("The address is copied").wait_for()
        link = window.evaluate("navigator.clipboard.readText()")
        friend = on_a_phone(page, link)
        assert "Should cities ban cars" in friend.inner_text("h1")
        card = friend.locator("meta[property='og:image']").get_attribute("content")
        assert friend.request.get(card).headers["content-type"] == "image/png"
        friend.get_by_role("link", name="Read the report").click()
        friend.wait_for_url("**/report")
        assert "Should cities ban cars" in friend.inner_text("body")
        friend.context.close()
        assert context.said == []


def test_by_keyboard_alone(folder: Path, context: Any) -> None:
    """Tab and Enter are enough: a topic that asks for more opens the field that it needs, with a sentence beside it."""
    with served_public(folder, {"offers": {"one": {**spoken(folder), "rounds": 1}}}) as server:
        let_go(folder)
        window = context.new_page()
        window.goto(f"http://127.0.0.1:{server.port}/")
        for _ in range(10):
            window.keyboard.press("Tab")
            if window.evaluate("document.activeElement.id") == "topic":
                break
        window.keyboard.type("Which is better, tea or coffee?")
        for _ in range(10):
            window.keyboard.press("Tab")
            if window.evaluate("document.activeElement.textContent").strip() == "Start the debate":
                break
        window.keyboard.press("Enter")
        window.get_by_text("what each side is to argue").wait_for()
        looked_at(window)
        assert window.get_by_label("What is to be debated?").input_value() == "Which is better, tea or coffee?"
        window.get_by_label("The first side").focus()
        window.keyboard.type("Tea is better.")
        window.keyboard.press("Tab")
        window.keyboard.type("Coffee is better.")
        window.keyboard.press("Control+Enter")
        window.get_by_role("button", name="Start the debate").press("Enter")
        window.get_by_text("Complete", exact=True).wait_for()
        # A refused form is answered with the status 422, which browsers print as an error of the network.
        assert [said for said in context.said if "422" not in said] == []


def spoken(folder: Path) -> dict[str, Any]:
    """An offer in which a program holds its speeches until it is let go."""
    program = held_speaker(folder)
    settings = {"issues": False, "brief": False, "free": True}
    return {"about": "Slow", "cast": {"a": program, "b": program, "judge": "rehearse"}, **settings}


KEY = "k7-Wq9!xZ2pL0v"


def seen(window: Any, is_seen: bool) -> None:
    """Brings a tab to the front, or puts it behind another, as far as its page can tell."""
    window.evaluate(
        """isSeen => {
        Object.defineProperty(document, "hidden", {value: !isSeen, configurable: true});
        document.dispatchEvent(new Event("visibilitychange"));
    }""",
        is_seen,
    )


def test_waiting_and_watching(folder: Path, context: Any) -> None:
    """A second debate waits, says so, and begins on the page that is open; that of the third says that it is
    next. Words are there before a speech is whole, with a key in the environment too. However many tabs of a browser
    follow a debate, those that are not seen keep none from loading, and each shows what happened when it is seen
    again. One that is one too many for the server tries again."""
    offers = {"slow": {**spoken(folder), "rounds": 1}}
    with served_public(folder, {"offers": offers, "concurrency": 1}, OPENAI_API_KEY=KEY) as server:
        home = f"http://127.0.0.1:{server.port}/"
        windows = [context.new_page() for _ in range(3)]
        for number, window in enumerate(windows):
            window.goto(home)
            window.get_by_label("What is to be debated?").fill(f"Should we wait {number} times?")
            window.get_by_role("button", name="Start the debate").click()
            window.wait_for_url("**/d/*")
        windows[1].get_by_text("your debate is next").wait_for()
        windows[0].locator(".writing", has_text="First comes").first.wait_for()
        looked_at(windows[1])
        windows[2].get_by_text("1 debate before this one").wait_for()
        tabs = [context.new_page() for _ in range(7)]
        for tab in tabs:
            tab.goto(windows[0].url)
            tab.locator(".writing", has_text="First comes").first.wait_for()
            seen(tab, False)
        refused = context.browser.new_context().new_page()
        refused.route("**/stream", lambda route: route.fulfill(status=429))
        refused.goto(windows[0].url)
        refused.get_by_text("Connection lost, trying again.").wait_for()
        refused.context.close()
        seen(tabs[0], True)
        tabs[0].locator(".writing", has_text="First comes").first.wait_for()
        let_go(folder, "0")
        for tab in (tabs[0], tabs[6]):
            seen(tab, True)
            tab.get_by_text("Complete", exact=True).wait_for()
        windows[0].get_by_text("Complete", exact=True).wait_for()
        windows[1].locator(".writing", has_text="First comes").first.wait_for()
        windows[2].get_by_text("your debate is next").wait_for()
        let_go(folder, "1")
        windows[1].get_by_text("Complete", exact=True).wait_for()
        assert context.said == []
