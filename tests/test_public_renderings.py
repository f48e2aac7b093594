"""Reports and pictures of a public site: each is made once, and no visitor holds up another."""

from __future__ import annotations

import asyncio
import gc
import io
import threading

import pytest
from PIL import Image, ImageDraw

from debate_orchestrator.web import card
from debate_orchestrator.web import renderings as kept_renderings
from debate_orchestrator.web.renderings import Renderings


def test_equal_requests_are_answered_by_one_rendering() -> None:
    """However many ask for it at once or later, it is made once; what has changed is made anew."""
    made: list[str] = []

    async def run() -> None:
        renderings = Renderings()
        asked = [renderings.get("a 1", lambda: made.append("a 1") or "A", f"visitor {n}") for n in range(50)]
        assert set(await asyncio.gather(*asked)) == {b"A"}
        assert await renderings.get("a 1", lambda: "other", "x") == b"A"
        assert await renderings.get("a 2", lambda: "B", "x") == b"B"
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
            assert await renderings.get("mine", lambda: "quick", "another visitor") == b"quick"
            assert await asyncio.to_thread(lambda: "beside") == "beside"
        assert not any(asked.done() for asked in flood)
        gate.set()
        assert set(await asyncio.gather(*flood)) == {b"slow"}
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
                assert await renderings.get("shared", lambda: "other", "another visitor") == b"A"
                assert await shared == b"A"
                assert await renderings.get("next", lambda: "B", "another visitor") == b"B"
            assert not first.done()
        finally:
            gate.set()
        assert await first == b"slow" and made == ["once"]
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
        assert await renderings.get("a", lambda: "A", "x") == b"A"
        renderings.close()

    asyncio.run(run())


def test_renderings_are_kept_by_the_bytes_that_they_take(monkeypatch: pytest.MonkeyPatch) -> None:
    """A page with characters beyond ASCII takes more than one byte for each of them."""
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
    assert made_again("\N{OWL}" * 4_000) == [0, 1, 0]


LONG_TOPIC = "Should every city of more than a hundred thousand people ban private cars from its centre by 2035, " * 3
TOPICS = {
    "empty": "",
    "short": "Tabs or spaces?",
    "long": LONG_TOPIC,
    "one word": "x" * 1000,
    "arabic": "هل ينبغي للمدن أن تحظر السيارات في مراكزها؟ " * 4,
    "hebrew and latin": "האם כדאי לעבור ל-gRPC עכשיו?",
    "chinese": "城市中心应该禁止私家车吗?" * 10,
    "korean": "도시 중심부에서 자동차를 금지해야 합니까?",
    "emoji": "🚗 or 🚲? 👩‍👩‍👧‍👦",
    "controls": "a\u202eb\u0000c\u0301\u0301\u0301",
}


@pytest.mark.slow
@pytest.mark.parametrize("name", TOPICS)
def test_every_topic_can_be_drawn(name: str) -> None:
    """A picture of 1200 by 630 pixels, small enough to be sent, with more on it than paper."""
    topic = TOPICS[name]
    data = card.draw(topic, [("Researcher A", topic), ("Researcher B", topic)], topic, topic)

    picture = Image.open(io.BytesIO(data))
    assert picture.format == "PNG" and picture.size == (1200, 630) and len(data) < 300_000
    ink = sum(pixel != (250, 248, 243) for pixel in picture.crop((0, 40, 1200, 500)).get_flattened_data())
    assert bool(ink) == bool(topic) or name == "empty"


@pytest.mark.parametrize("name", ["long", "one word", "chinese", "arabic"])
def test_lines_fit(name: str) -> None:
    """No line is wider than its column, none is lost before the last one, and what is cut says so."""
    pen = ImageDraw.Draw(Image.new("RGB", card.SIZE))
    lines = card._wrapped(pen, TOPICS[name], 40, 600, maximum=3)

    assert len(lines) == 3 and lines[-1].endswith("...")
    assert all(pen.textlength(line, font=card._font(line, 40)) <= 600 for line in lines)
    start = "".join(lines[:2]).replace(" ", "")
    assert TOPICS[name].replace(" ", "").startswith(start)


def test_letters_read_from_the_right_stand_at_the_right() -> None:
    """A Hebrew topic ends at the right margin, a Latin one begins at the left."""
    for topic, column in (("שלום", (900, 1130)), ("Peace", (70, 300))):
        picture = Image.open(io.BytesIO(card.draw(topic, [], "", "")))
        boxes = picture.crop((0, 40, 1200, 200)).point(lambda value: 255 if value < 128 else 0).convert("L").getbbox()
        assert boxes is not None and column[0] <= boxes[0] and boxes[2] <= column[1], (topic, boxes)


def test_a_failure_that_no_request_waits_for_is_not_reported() -> None:
    """A visitor left while the page was made, which then failed."""
    gate, begun, told = threading.Event(), threading.Event(), list[str]()

    def failing() -> str:
        begun.set()
        assert gate.wait(60)
        raise ValueError("no page")

    async def run() -> None:
        asyncio.get_running_loop().set_exception_handler(lambda _, context: told.append(context["message"]))
        renderings = Renderings()
        asked = asyncio.ensure_future(renderings.get("a", failing, "x"))
        await asyncio.to_thread(begun.wait)
        asked.cancel()
        await asyncio.wait([asked])
        gate.set()
        await renderings.ended()
        renderings.close()

    asyncio.run(run())
    gc.collect()
    assert told == []
