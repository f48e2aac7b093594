"""What a person types into a form of the dashboard or a seat, in a real browser: it is kept until it was taken."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from .window import begin, fill_in, follow, looked_at, on_a_phone, seat_link

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("watched")]


def test_a_pause_takes_nothing_that_is_typed(dashboard: tuple[Path, str], context: Any, page: Any) -> None:
    """The page of a person whose debate is paused says so by itself, and shows the turn again when it goes on, with
    what was typed. The page of a debate is not loaded again over a question."""
    _, address = dashboard
    window = context.new_page()
    fill_in(window, address, people="a")
    assert "a person, in a browser" in window.inner_text("main")
    follow(window, window.get_by_role("button", name="Start the debate"))
    person = on_a_phone(page, seat_link(window, "Researcher A"))
    person.get_by_label("Your speech").type("Half of a speech")
    other = context.new_page()
    other.goto(window.url)
    other.get_by_text("Question from the floor").click()
    other.get_by_label("The question").fill("What would it cost?")
    window.get_by_role("button", name="Pause").click()
    person.get_by_text("The debate is paused").wait_for()
    looked_at(person)
    other.get_by_text("The debate has ended, or is paused").wait_for()
    assert other.get_by_label("The question").input_value() == "What would it cost?"
    window.get_by_role("button", name="Continue").click()
    person.get_by_label("Your speech").wait_for()
    assert person.get_by_label("Your speech").input_value() == "Half of a speech"
    person.context.close()
    assert context.said == []


def test_a_browser_that_keeps_nothing_loses_no_speech(dashboard: tuple[Path, str], context: Any, page: Any) -> None:
    """Where its storage is blocked or full, the page says so. What was handed in and was not taken yet, or came too
    late, is on its page alone: a pause, and the next turn, do not load another page over it, until its person asks."""
    _, address = dashboard
    window = context.new_page()
    begin(window, address, people="a")
    person = on_a_phone(page, "about:blank")
    person.add_init_script("Storage.prototype.setItem = () => { throw new DOMException('full'); };")
    person.goto(seat_link(window, "Researcher A"))
    person.get_by_label("Your speech").fill("An hour of writing. " * 1500)
    assert "This browser can't keep what you type" in person.inner_text("[data-kept]")
    person.get_by_role("button", name="Hand it in").click()
    person.get_by_label("Hand it in like this").wait_for()
    assert "This browser can't keep what you type" in person.inner_text("[data-kept]")
    window.get_by_role("button", name="Pause").click()
    person.get_by_text("The debate has moved on").wait_for()
    assert "An hour of writing" in person.get_by_label("Your speech").input_value()
    looked_at(person)
    person.evaluate("document.querySelector('form[data-draft]').submit()")
    person.get_by_label("What you wrote, which was not taken").wait_for()
    window.get_by_role("button", name="Continue").click()
    person.get_by_text("The debate has moved on").wait_for()
    assert "An hour of writing" in person.get_by_label("What you wrote, which was not taken").input_value()
    person.get_by_role("link", name="Load the page again").click()
    person.get_by_label("Your speech").wait_for()
    person.context.close()


SEVERAL = """<!doctype html><script src="/static/page.js" defer></script><form data-draft="ballot">
<select name="winner"><option value="">-</option><option value="a">A</option><option value="b">B</option></select>
<select name="best" multiple><option>1</option><option>2</option><option>3</option></select>
<textarea name="why"></textarea><p data-kept>Kept.</p></form>"""
"""A form with a choice of one, a choice of several and a text."""


def test_choices_are_kept_and_a_second_tab_is_told_of(dashboard: tuple[Path, str], context: Any) -> None:
    """What was chosen is there again after a reload. A tab whose draft another tab has replaced says so."""
    server = dashboard[1].partition("/dashboard/")[0]
    context.route("**/several", lambda route: route.fulfill(body=SEVERAL, content_type="text/html"))
    first, second = context.new_page(), context.new_page()
    first.goto(f"{server}/several")
    first.locator("[name='winner']").select_option("b")
    first.locator("[name='best']").select_option(["1", "3"])
    first.reload()
    first.locator("[name='why']").fill("It answered the other.")
    first.reload()
    second.goto(f"{server}/several")
    for tab in (first, second):
        kept = tab.eval_on_selector_all("option:checked, textarea", "all => all.map((one) => one.value)")
        assert kept == ["b", "1", "3", "It answered the other."]
        assert tab.inner_text("[data-kept]") == "Kept."
    second.locator("[name='why']").fill("x")
    first.get_by_text("This form is open in another tab too").wait_for()
    assert second.inner_text("[data-kept]") == "Kept."


def test_a_draft_that_was_not_handed_in_stays(dashboard: tuple[Path, str], context: Any, page: Any) -> None:
    """Where another device hands in the turn, what was typed here is shown to be copied, until it is removed. So it is
    where it was sent from here too, and came too late."""
    _, address = dashboard
    window = context.new_page()
    begin(window, address, "2", people="a", program="rehearse")
    link = seat_link(window, "Researcher A")
    laptop, phone = (on_a_phone(page, link) for _ in range(2))
    speech = "A claim alone convinces no one who doubts it, and a reason does. "
    for person in (laptop, phone):
        person.get_by_label("Your speech").wait_for()
    laptop.get_by_label("Your speech").fill("An hour of writing.")
    phone.get_by_label("Your speech").fill(speech)
    phone.get_by_role("button", name="Hand it in").click()
    left, own = (person.get_by_label("What you typed in this browser") for person in (laptop, phone))
    left.wait_for()
    for person in (laptop, phone):
        person.get_by_role("heading", name=": your turn").wait_for()
    looked_at(laptop)
    assert left.input_value() == "An hour of writing." and own.count() == 0
    laptop.get_by_role("button", name="Remove it").click()
    laptop.context.route("**/stream", lambda route: route.abort())
    laptop.reload()
    assert left.count() == 0
    assert laptop.evaluate("Object.keys(localStorage)") == phone.evaluate("Object.keys(localStorage)") == []
    laptop.get_by_label("Your speech").fill("Another hour.")
    phone.get_by_label("Your speech").fill(speech)
    follow(phone, phone.get_by_role("button", name="Hand it in"))
    laptop.get_by_role("button", name="Hand it in").click()
    laptop.get_by_label("What you wrote, which was not taken").wait_for()
    laptop.wait_for_load_state()  # its script keeps what was not taken
    laptop.goto(link)
    assert left.input_value() == "Another hour."
    for person in (laptop, phone):
        person.context.close()


def test_the_form_of_a_debate_is_kept_until_it_has_begun(dashboard: tuple[Path, str], context: Any) -> None:
    """A start that the server does not take loses nothing of the form, its choices among it; one that it takes leaves
    nothing of it, and the form of the next debate stays when the page of this one is loaded again."""
    _, address = dashboard
    window, other = context.new_page(), context.new_page()
    fill_in(window, address, "2", people="a")
    context.route("**/new", lambda route: route.abort())
    window.get_by_role("button", name="Start the debate").click()
    window.wait_for_url("chrome-error:**")
    context.unroute("**/new")
    window.goto(f"{address}new")
    names = ("topic", "rounds", "cast.a")
    kept = [window.locator(f"[name='{name}']").input_value() for name in names]
    assert kept == ["Is a reason better than a claim?", "2", "human"]
    follow(window, window.get_by_role("button", name="Next: what it takes"))
    follow(window, window.get_by_role("button", name="Start the debate"))
    other.goto(f"{address}new")
    assert other.locator("[name='topic']").input_value() == ""
    other.locator("[name='topic']").fill("What comes next?")
    window.reload()
    other.reload()
    assert other.locator("[name='topic']").input_value() == "What comes next?"
