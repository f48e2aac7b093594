"""The picture of a debate: of one size, whatever the topic is written in, and with all of a topic that fits."""

from __future__ import annotations

import io

import pytest
from PIL import Image, ImageDraw

from debate_orchestrator.web import card

LONG = "Should every city of more than a hundred thousand people ban private cars from its centre by 2035, " * 3
TOPICS = {
    "empty": "",
    "short": "Tabs or spaces?",
    "long": LONG,
    "one word": "x" * 1000,
    "arabic": "هل ينبغي للمدن أن تحظر السيارات في مراكزها؟ " * 4,
    "hebrew and latin": "האם כדאי לעבור ל-gRPC עכשיו?",
    "chinese": "城市中心应该禁止私家车吗?" * 10,
    "korean": "도시 중심부에서 자동차를 금지해야 합니까?",
    "emoji": "🚗 or 🚲? 👩‍👩‍👧‍👦",
    "controls": "a\u202eb\u0000c\u0301\u0301\u0301",
}


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
    lines = card._wrapped(pen, TOPICS[name], 40, 600, most=3)

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
