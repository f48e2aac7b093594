"""The page of a tournament's folder from a stranger, in a real browser: it turns to no server by itself."""

from __future__ import annotations

import base64
import select
import shutil
import socket
from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import local_http
import pytest
from foreign_pages import CONSTRUCTS, STYLES

from .test_browser import BROWSERS, FLAGS, page  # noqa: F401
from .test_web import folder, served, watched  # noqa: F401

pytestmark = pytest.mark.slow

SETTLED = 3_000
"""Milliseconds within which a browser turns to the servers that a page names."""
PICTURE = (
    "<svg xmlns='http://www.w3.org/2000/svg'><image href='URL'/><foreignObject>"
    "<link rel='preconnect' href='URL' xmlns='http://www.w3.org/1999/xhtml'/></foreignObject></svg>"
)
"""A picture that is to turn to a server. Such a page may hold pictures."""


@pytest.fixture
def profile(page: Any, tmp_path: Path) -> Iterator[Any]:  # noqa: F811
    """A browser with a profile that is kept, as users have one: without it, none connects to a server in advance."""
    path = next(filter(None, map(shutil.which, BROWSERS)))
    started = page.context.browser.browser_type
    opened = started.launch_persistent_context(str(tmp_path / "profile"), executable_path=path, args=FLAGS)
    yield opened
    opened.close()


class Servers:
    """A server for each construct, which sees whether something connects."""

    def __init__(self, number: int, stack: ExitStack):
        self._sockets = [stack.enter_context(socket.create_server(("127.0.0.1", 0))) for _ in range(number)]
        self.urls = [f"http://127.0.0.1:{one.getsockname()[1]}/" for one in self._sockets]

    def connected(self) -> list[int]:
        """The numbers of those to which something has connected."""
        ready, _, _ = select.select(self._sockets, [], [], 0)
        return [n for n, one in enumerate(self._sockets) if one in ready]


def page_of(construct: str, url: str) -> str:
    """A page with a construct for a server."""
    if construct == PICTURE:
        picture = base64.b64encode(PICTURE.replace("URL", url).encode()).decode()
        construct = f'<img src="data:image/svg+xml;base64,{picture}" alt="">'
    return f"<!doctype html>\n<title>Tournament</title>\n{construct.replace('URL', url)}"


def visit(profile: Any, addresses: Iterable[str]) -> None:
    """Looks at each page, and waits for what browsers do behind it."""
    windows = []
    for address in addresses:
        windows.append(profile.new_page())
        windows[-1].goto(address, wait_until="commit")
    windows[-1].wait_for_timeout(SETTLED)
    for window in windows:
        window.close()


def test_a_page_turns_to_no_server_by_itself(folder: Path, profile: Any) -> None:  # noqa: F811
    """Nothing on it connects to a server, though the same browser does so on such a page as it lies in its folder."""
    constructs = (*CONSTRUCTS, *STYLES, PICTURE)
    with ExitStack() as stack:
        servers = Servers(len(constructs), stack)
        pages = [page_of(construct, url) for construct, url in zip(constructs, servers.urls, strict=True)]
        for n, text in enumerate(pages):
            held = folder / f"t{n}"
            held.mkdir()
            (held / "tournament.json").write_text("{}")
            (held / "index.html").write_text(text)
        dashboard, _ = stack.enter_context(served(folder))
        visit(profile, (f"{dashboard}tournaments/t{n}/report" for n in range(len(pages))))
        assert [constructs[n] for n in servers.connected()] == []

        def as_it_lies(asked: local_http.Asked) -> local_http.Answer:
            number = asked.path[1:]
            return 200, {"content-type": "text/html"}, [pages[int(number)].encode() if number.isdigit() else b""]

        plain = stack.enter_context(local_http.answering(as_it_lies))
        by_themselves = [0, 4, 6]
        visit(profile, (f"{plain}/{n}" for n in by_themselves))
        assert servers.connected() == by_themselves
