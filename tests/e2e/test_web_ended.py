"""Pages that stay open in a real browser after their server has ended, and another program takes its address."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import local_http
import pytest

from .test_browser import page  # noqa: F401
from .test_web import context, fill_in, folder, served, watched  # noqa: F401

pytestmark = pytest.mark.slow

PAGE = b"<title>Taken over</title><div data-changes data-turn='another'></div>"
EVENTS = b"""event: page
data: "<p>Taken over</p>"

event: status
data: "<p>Taken over</p>"

event: change
data: {}

event: over
data: {}

"""


def respond(asked: local_http.Asked) -> local_http.Answer:
    """What a program answers that wants the pages to load its own."""
    if asked.path.endswith("/stream"):
        return 200, {"content-type": "text/event-stream"}, [EVENTS]
    return 200, {"content-type": "text/html"}, [PAGE]


def test_a_page_takes_nothing_from_what_takes_its_address(folder: Path, context: Any) -> None:  # noqa: F811
    """The page of a seat and that of the dashboard say that their server has ended, load and show nothing of the other
    program's, and what was typed stays."""
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
    with local_http.answering(respond, server.hostname, server.port):
        for one in (window, person):
            one.get_by_text("The server of this page has ended").wait_for()
        assert [window.title(), person.title()] == titles
        assert "Taken over" not in window.inner_text("body") + person.inner_text("body")
        assert person.get_by_label("Your speech").input_value() == "Half of a speech"
        assert person.get_by_role("button", name="Hand it in").is_disabled()
