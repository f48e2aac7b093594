"""Reports and pictures of a public site: each is made once, and no visitor holds up another."""

from __future__ import annotations

import asyncio
import threading

import pytest

from debate_orchestrator.web.public import renderings as kept_renderings
from debate_orchestrator.web.public.renderings import Renderings


def test_equal_requests_are_answered_by_one_rendering() -> None:
    """However many ask for it at once or later, it is made once; what has changed is made anew."""
    made: list[str] = []

    async def run() -> None:
        renderings = Renderings()
        asked = [renderings.get("a 1", lambda: made.append("a 1") or "A", f"visitor {n}") for n in range(50)]
        assert set(await asyncio.gather(*asked)) == {"A"}
        assert await renderings.get("a 1", lambda: "other", "x") == "A"
        assert await renderings.get("a 2", lambda: "B", "x") == "B"
        renderings.close()

    asyncio.run(run())
    assert made == ["a 1"]


def test_a_visitor_who_asks_for_many_holds_up_no_other() -> None:
    """While one visitor's renderings take their time, another's is made, and requests beside them are served."""
    gate, begun = threading.Event(), threading.Semaphore(0)

    def slow() -> str:
        begun.release()
        assert gate.wait(60)
        return "slow"

    async def run() -> None:
        renderings = Renderings()
        flood = [asyncio.ensure_future(renderings.get(n, slow, "one visitor")) for n in range(100)]
        await asyncio.to_thread(begun.acquire)
        async with asyncio.timeout(60):
            assert await renderings.get("mine", lambda: "quick", "another visitor") == "quick"
            assert await asyncio.to_thread(lambda: "beside") == "beside"
        assert not any(asked.done() for asked in flood)
        gate.set()
        assert set(await asyncio.gather(*flood)) == {"slow"}
        renderings.close()

    asyncio.run(run())


def test_a_page_that_two_want_waits_for_neither_of_them() -> None:
    """A page that stands behind another of the visitor who asked first is made for the one who has nothing else made,
    and once."""
    gate, made = threading.Event(), list[str]()

    def slow() -> str:
        assert gate.wait(60)
        return "slow"

    async def run() -> None:
        renderings = Renderings()
        first = asyncio.ensure_future(renderings.get("theirs", slow, "one visitor"))
        shared = asyncio.ensure_future(renderings.get("shared", lambda: made.append("once") or "A", "one visitor"))
        await asyncio.sleep(0.05)
        assert not shared.done()
        try:
            async with asyncio.timeout(5):
                assert await renderings.get("shared", lambda: "other", "another visitor") == "A"
                assert await shared == "A"
                assert await renderings.get("next", lambda: "B", "another visitor") == "B"
            assert not first.done()
        finally:
            gate.set()
        assert await first == "slow" and made == ["once"]
        renderings.close()

    asyncio.run(run())


def test_a_rendering_that_fails_is_tried_again() -> None:
    """What it raises reaches everyone who waits for it, and the next request starts anew."""

    def fails() -> str:
        raise ValueError("damaged")

    async def run() -> None:
        renderings = Renderings()
        asked = [renderings.get("a", fails, "x") for _ in range(3)]
        results = await asyncio.gather(*asked, return_exceptions=True)
        assert [str(error) for error in results] == ["damaged"] * 3
        assert await renderings.get("a", lambda: "A", "x") == "A"
        renderings.close()

    asyncio.run(run())


def test_renderings_are_kept_by_the_bytes_that_they_take(monkeypatch: pytest.MonkeyPatch) -> None:
    """A page with one character beyond the first 65,536 takes four bytes for each of its characters."""
    monkeypatch.setattr(kept_renderings, "_KEPT", 10_000)

    def made_again(page: str) -> list[int]:
        """Which of two such pages are made anew when they are asked for again."""
        made: list[int] = []

        async def run() -> None:
            renderings = Renderings()
            for number in (0, 1, 0):
                await renderings.get(number, lambda number=number: made.append(number) or page, "visitor")
            renderings.close()

        asyncio.run(run())
        return made

    assert made_again("x" * 4_000) == [0, 1]
    assert made_again("x" * 3_999 + "\N{OWL}") == [0, 1, 0]
