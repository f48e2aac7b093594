"""What the dashboard has for readers, in a real browser: a review on a phone, and a tournament by its numbers."""

from __future__ import annotations

import shutil
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
import small_tournaments
from messages_server import Server

from debate_orchestrator.util import resources

from .window import PHONE, follow, looked_at, on_a_phone, served

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("watched")]


def test_a_review_on_a_phone(folder: Path, context: Any, page: Any) -> None:
    """From the link of the dashboard to the report: what is missing is shown at the ballot and not above the debate,
    what was typed survives a reload, axe finds nothing, and every page fits."""
    shutil.copy(resources.folder("examples") / "friday-deploys" / "debate-report.journal.jsonl", folder)
    with served(folder) as (address, _):
        dashboard = context.new_page()
        dashboard.goto(address)
        dashboard.goto(f"{address}debates/debate-report")
        dashboard.get_by_text("Have it reviewed").click()
        link = dashboard.get_by_role("link", name="this link").get_attribute("href")
        phone = on_a_phone(page, address.partition("/dashboard/")[0] + link)
        looked_at(phone)
        phone.get_by_label("Your name").fill("Ada")
        phone.get_by_label("I have not").check()
        phone.get_by_label("Neither, so far").check()
        phone.get_by_role("button", name="Read the debate").click()
        phone.wait_for_url("**as=Ada*")
        looked_at(phone)
        phone.set_viewport_size({"width": PHONE, "height": 844})
        phone.get_by_label("What decided it").fill("It answered the other.")
        phone.reload()
        assert phone.get_by_label("What decided it").input_value() == "It answered the other."
        phone.get_by_role("button", name="Hand in the ballot").click()
        missing = phone.get_by_text("Some of it is missing")
        missing.wait_for()
        assert 0 <= missing.bounding_box()["y"] < 844
        looked_at(phone)
        for side in ("A", "B"):
            phone.get_by_label(f"Round 1, Researcher {side}").fill("7 6")
        phone.get_by_label("Who won round 1?").select_option("a")
        phone.get_by_label("Who won the debate?").select_option("a")
        phone.get_by_label("which position do you hold?").select_option("a")
        phone.get_by_role("button", name="Hand in the ballot").click()
        phone.get_by_role("link", name="See the report").click()
        phone.wait_for_url("**/report?as=Ada&key=*")
        assert "Ada" in phone.inner_text("body")
        phone.context.close()


def test_a_tournament_by_its_numbers(folder: Path, context: Any, server: Server) -> None:
    """From the list to the leaderboard, from a number to its debates, and from one of these to its report."""
    with ThreadPoolExecutor(1) as pool:  # the browser has the event loop of this thread
        pool.submit(
            lambda: small_tournaments.run_tournament(
                small_tournaments.tournament(folder / "held", topics=1, rehearse=False)
            )
        ).result()
    with served(folder) as (address, _):
        window = context.new_page()
        window.goto(address)
        follow(window, window.get_by_role("link", name="Tournaments"))
        looked_at(window)
        follow(window, window.get_by_role("link", name="test"))
        looked_at(window)
        won = window.get_by_role("region", name="Leaderboard").locator("tbody a").first
        count = int(won.inner_text())
        follow(window, won)
        assert window.locator("#debates + p").inner_text().startswith(f"{count} debate")
        looked_at(window)
        window.get_by_role("link", name="Motion 0 holds.").first.click()
        window.wait_for_url("**/debates/*.html")
        assert "Motion 0 holds." in window.inner_text("body")
        assert context.said == []
