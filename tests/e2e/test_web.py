"""The served folder in a real browser: a debate from an empty folder, a phone and a wide screen, two people in two
seats."""

from __future__ import annotations

import re
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import local_http
import pytest

from .window import STARTING, begin, fill_in, held_speaker, let_go, looked_at, on_a_phone, seat_link, served

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("watched")]


@contextmanager
def another_server() -> Iterator[tuple[str, list[str]]]:
    """The address of a server on another port of the same host, and what it was sent in the heads of requests."""
    heads: list[str] = []

    def respond(asked: local_http.Asked) -> local_http.Answer:
        heads.append("\n".join([f"{asked.method} {asked.path}", *(": ".join(one) for one in asked.headers.items())]))
        return 200, {"set-cookie": "seen=1"}, [b"<title>Another server</title>"]

    with local_http.answering(respond) as url:
        yield url, heads


def status_of(address: str, **headers: str) -> int:
    """The HTTP status that a program is answered with."""
    try:
        with urllib.request.urlopen(urllib.request.Request(address, headers=headers)) as answer:
            return int(answer.status)
    except urllib.error.HTTPError as error:
        return error.code


def test_from_an_empty_folder_to_a_report(folder: Path, context: Any) -> None:
    """With the keyboard alone: the dashboard, the form, what it takes, the debate, its report. Every page fits a phone
    and a wide screen, axe finds nothing, and no page complains."""
    with served(folder) as (address, _):
        window = context.new_page()
        window.goto(address)
        looked_at(window)
        window.get_by_role("link", name="Start a debate").focus()
        window.keyboard.press("Enter")
        window.wait_for_url("**/new")
        looked_at(window)
        window.get_by_label("What is to be debated?").focus()
        window.keyboard.type("Should we move to gRPC?")
        window.get_by_label("Rounds", exact=True).fill("99")
        window.get_by_role("button", name="Next: what it takes").press("Enter")
        window.get_by_text("rounds: 99 is not a whole number").wait_for()
        looked_at(window)
        window.get_by_label("Rounds", exact=True).fill("1")
        window.keyboard.press("Enter")
        window.get_by_text("it is a rehearsal").wait_for()
        looked_at(window)
        window.get_by_role("button", name="Start the debate").press("Enter")
        window.get_by_text("Complete").wait_for()
        looked_at(window)
        with window.context.expect_page() as opened:
            window.get_by_role("link", name="Read the report").press("Enter")
        opened.value.wait_for_url("**/report")
        assert "Should we move to gRPC?" in opened.value.inner_text("h1")
        window.goto(address)
        looked_at(window)
        # A problem in the form is answered with the status 422, which browsers print as an error of the network.
        assert [said for said in context.said if "422" not in said] == []


def test_speeches_are_seen_while_they_are_written(dashboard: tuple[Path, str], context: Any) -> None:
    """Words are on the page before the speech is whole, in two windows; a pause holds the debate, and it goes on."""
    folder, address = dashboard
    program = held_speaker(folder)
    window, other = context.new_page(), context.new_page()
    fill_in(window, address, program=program, to="ab")
    window.get_by_text("It wants to run programs, contact servers or use files outside this folder").wait_for()
    looked_at(window)
    window.get_by_label("I trust it with that").check()
    window.get_by_role("button", name="Start the debate").click()
    window.wait_for_url("**/debates/*")
    other.goto(window.url)
    for one in (window, other):
        one.locator(
            ".writing",
            has_text="First comes a claim, \U0001f389\U0001f389\U0001f389 as long as pages show at once, a second,",
        ).first.wait_for()
    window.get_by_role("button", name="Pause").click()
    let_go(folder)
    window.get_by_role("button", name="Continue").wait_for()
    assert "Paused" in window.inner_text("#status")
    looked_at(window)
    assert context.said == []


def test_a_killed_server_goes_on(folder: Path, context: Any) -> None:
    """A server that was killed in the middle of a debate loses no turn: it goes on in the next one. A page that is
    still open says that the connection is lost."""
    program = held_speaker(folder)
    with served(folder) as (address, server):
        port = int(re.findall(r":(\d+)/", address)[0])
        window = context.new_page()
        begin(window, address, program=program, to="a")
        window.locator(".writing", has_text="First").wait_for()
        server.kill()
        server.wait(STARTING)
    let_go(folder)
    with served(folder, port) as (address, _):
        window.get_by_text("Connection lost").wait_for()
        window.goto(address)
        window.get_by_role("link", name="Is a reason better").click()
        window.get_by_role("button", name="Continue").click()
        window.get_by_label("I trust it with that").check()
        window.get_by_role("button", name="Continue").click()
        window.get_by_text("Complete").wait_for()
        assert "First comes a claim" in window.inner_text("#debate")


def test_two_people_in_two_browsers(dashboard: tuple[Path, str], context: Any, page: Any) -> None:
    """Each takes a seat by a link, one of them on a phone whose page is loaded again: what was typed is still there,
    the turn comes without a click, no draft is left once it is taken, and the report is theirs to read."""
    _, address = dashboard
    window = context.new_page()
    begin(window, address, people="ab")
    looked_at(window)
    first, second = people = [on_a_phone(page, seat_link(window, f"Researcher {side}")) for side in "AB"]
    first.get_by_label("Your speech").type("A claim alone convinces no one who doubts it, and a reason does. ")
    looked_at(first)
    first.reload()
    assert "A claim alone" in first.get_by_label("Your speech").input_value()
    first.get_by_role("button", name="Hand it in").click()
    second.get_by_label("Your speech").fill("A claim can be tested, and a reason only ever sounds good. ")
    second.get_by_role("button", name="Hand it in").click()
    for person in people:
        person.get_by_role("link", name="Read the report").click()
        person.wait_for_url("**/report")
        assert person.evaluate("Object.keys(localStorage)") == []
        assert "A claim alone convinces no one" in person.content()
        person.context.close()
    assert context.said == []


def test_a_waiting_page_says_whose_turn_it_is(dashboard: tuple[Path, str], context: Any) -> None:
    """Also when the turn passes from one person to another while the page is open."""
    _, address = dashboard
    window, judge, speaker = (context.new_page() for _ in range(3))
    begin(window, address, people=("a", "b", "judge"), program="rehearse")  # and no rapporteur
    judge.goto(seat_link(window, "Judge"))
    speaker.goto(seat_link(window, "Researcher A"))
    judge.get_by_text("it is the turn of Researcher A.").wait_for()
    speaker.get_by_label("Your speech").fill("A claim alone convinces no one who doubts it, and a reason does. ")
    speaker.get_by_role("button", name="Hand it in").click()
    judge.get_by_text("it is the turn of Researcher B.").wait_for()
    assert context.said == []


def test_a_server_on_another_port_learns_nothing_that_opens_the_desk(folder: Path, context: Any) -> None:
    """A page of the dashboard leads to a server on another port of this host, as a link in a speech does: nothing that
    the browser sends there, by a link, a frame or a script, opens the dashboard."""
    with served(folder) as (address, _), another_server() as (other, heads):
        window = context.new_page()
        window.goto(address)
        dashboard = window.url
        window.evaluate(
            """(other) => { const link = document.createElement("a"); link.href = other + "/link"; link.id = "out";
            link.textContent = "out"; document.body.append(link); }""",
            other,
        )
        window.locator("#out").click()
        window.wait_for_url(f"{other}/**")
        assert window.evaluate("document.referrer") == ""
        window.goto(f"{other}/typed")
        context.new_page().goto(other.replace("127.0.0.1", "localhost"))
        assert len(heads) >= 3

        secrets = re.findall(r"[0-9a-f]{32,}", f"{address} {dashboard}")
        assert secrets and not [secret for secret in secrets if secret in "".join(heads)]
        cookies = {line.partition(": ")[2] for head in heads for line in head.splitlines() if line.startswith("cookie")}
        server = address.split("/")[2]
        for cookie in cookies:
            assert status_of(f"http://{server}/", cookie=cookie) == 401
            assert status_of(f"http://{server}/new", cookie=cookie) == 401
        assert window.goto(dashboard).status == 200


def test_the_browser_is_opened_without_a_secret_in_its_arguments(folder: Path, context: Any) -> None:
    """Other users of the machine see the arguments of every process. A browser gets a file that this user alone can
    read, and that leads to the dashboard."""
    kept, browser = folder.parent / "arguments", folder.parent / "browser"
    browser.write_text(f'#!/bin/sh\necho "$@" > {kept}.new; mv {kept}.new {kept}\n', encoding="utf-8")
    browser.chmod(0o700)
    with served(folder, browser=f"{browser} %s") as (address, _):
        end = time.monotonic() + STARTING
        while not kept.exists():
            assert time.monotonic() < end, "no browser was opened"
            time.sleep(0.02)
        argument = kept.read_text(encoding="utf-8").strip()
        (secret,) = re.findall(r"[0-9a-f]{32,}", address)
        assert secret not in argument and argument.startswith("file://")
        page = Path(argument.removeprefix("file://"))
        assert page.stat().st_mode & 0o777 == 0o600
        window = context.new_page()
        window.goto(argument)
        window.wait_for_url("http://**")
        window.get_by_role("link", name="Start a debate").wait_for()
