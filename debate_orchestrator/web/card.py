"""The picture of a debate that other sites show beside a link to it: topic, positions and result as a PNG."""

from __future__ import annotations

import io
import unicodedata
from bisect import bisect
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

from PIL import Image, ImageDraw, ImageFont

from debate_orchestrator.util.redact import redact, redact_values

SIZE = (1200, 630)
"""Pixels; what sites that show such pictures ask for."""
_MARGIN = 70
_PAPER, _INK, _SOFT = "#faf8f3", "#1d1c1a", "#5f5b53"
_SIDES = ("#1f5f99", "#a4461f")
_TOPIC_SIZES = (64, 56, 48, 42, 36)
_FOLDERS = ("/usr/share/fonts", "/usr/local/share/fonts", "/Library/Fonts", "/System/Library/Fonts")
_WIDE_FONTS = ("NotoSansCJK-Regular.ttc", "NotoSansCJKsc-Regular.otf", "WenQuanYiZenHei.ttf", "wqy-zenhei.ttc",
               "DroidSansFallbackFull.ttf", "PingFang.ttc", "Arial Unicode.ttf")  # fmt: skip
"""Fonts for text in the scripts of East Asia, the best first."""
_FONTS = ("DejaVuSans.ttf", "NotoSans-Regular.ttf", "LiberationSans-Regular.ttf", "Arial Unicode.ttf", "Arial.ttf")
_MAX_LENGTH = 400
"""Characters of a text that are looked at: more never fit."""


def draw(topic: str, positions: Sequence[tuple[str, str]], result: str, site: str) -> bytes:
    """The picture as PNG, without secrets. `positions` are the names of the sides with what they argue. Long texts are
    wrapped, set smaller, and cut at last."""
    topic, positions, result = redact(topic), redact_values(positions), redact(result)
    image = Image.new("RGB", SIZE, _PAPER)
    pen = ImageDraw.Draw(image)
    width = SIZE[0] - 2 * _MARGIN
    pen.rectangle((0, 0, SIZE[0] // 2, 14), fill=_SIDES[0])
    pen.rectangle((SIZE[0] // 2, 0, SIZE[0], 14), fill=_SIDES[1])
    size, lines = _fit_topic(pen, topic, width)
    top = _write(pen, lines, _MARGIN, 56, size, _INK, width)
    column = (width - 40) // 2
    for number, (name, position) in enumerate(list(positions)[:2]):
        x = _MARGIN + number * (column + 40)
        _write(pen, [_fit(pen, name, 24, column)], x, top + 26, 24, _SIDES[number], column)
        _write(pen, _wrap_lines(pen, position, 28, column, maximum=4), x, top + 62, 28, _INK, column)
    pen.line((_MARGIN, 508, SIZE[0] - _MARGIN, 508), fill=_SOFT, width=2)
    _write(pen, [_fit(pen, result, 32, width)], _MARGIN, 524, 32, _INK, width)
    _write(pen, [_fit(pen, site, 22, width)], _MARGIN, 578, 22, _SOFT, width)
    out = io.BytesIO()
    image.save(out, "PNG", optimize=True)
    return out.getvalue()


def _fit_topic(pen: ImageDraw.ImageDraw, topic: str, width: int) -> tuple[int, list[str]]:
    """The largest size in which the topic fits, with its lines."""
    for size in _TOPIC_SIZES:
        room = int(230 / (size * 1.25))
        if len(lines := _wrap_lines(pen, topic, size, width, maximum=room + 1)) <= room:
            return size, lines
    return size, _wrap_lines(pen, topic, size, width, maximum=5)


def _wrap_lines(pen: ImageDraw.ImageDraw, text: str, size: int, width: int, *, maximum: int) -> list[str]:
    """The lines of a text; what is left of it after the last of `maximum` lines becomes three dots."""
    lines = [""]
    for piece in _pieces(text[:_MAX_LENGTH]):
        if len(lines) > maximum:
            break
        if _length(pen, lines[-1] + piece.rstrip(), size) <= width:
            lines[-1] += piece
        elif _length(pen, piece.rstrip(), size) <= width:
            lines.append(piece)
        else:  # a word as long as a line
            for letter in piece:
                if _length(pen, lines[-1] + letter, size) > width:
                    lines.append("")
                lines[-1] += letter
    lines = [line.strip() for line in lines if line.strip()] or [""]
    if len(lines) > maximum or len(text) > _MAX_LENGTH:
        lines = [*lines[: maximum - 1], _fit(pen, f"{lines[:maximum][-1]} ...", size, width)]
    return lines


def _pieces(text: str) -> list[str]:
    """The places where a line may end: after spaces, and beside wide letters, since East Asian text has no spaces."""
    pieces = [""]
    for letter in text:
        wide = unicodedata.east_asian_width(letter) in "WF"
        if wide and pieces[-1]:
            pieces.append("")
        pieces[-1] += letter
        if wide or letter.isspace():
            pieces.append("")
    return [piece for piece in pieces if piece]


def _fit(pen: ImageDraw.ImageDraw, text: str, size: int, width: int) -> str:
    text = text[:_MAX_LENGTH]
    if _length(pen, text, size) <= width:
        return text

    def dotted(end: int) -> str:
        return f"{text[:end].rstrip('. ')}..."

    return dotted(bisect(range(1, len(text) + 1), float(width), key=lambda end: _length(pen, dotted(end), size)))


def _length(pen: ImageDraw.ImageDraw, text: str, size: int) -> float:
    return pen.textlength(text, font=_font(text, size))


def _write(
    pen: ImageDraw.ImageDraw, lines: Sequence[str], left: int, top: int, size: int, colour: str, width: int
) -> int:
    """Writes lines, from the right if they are read so. Returns where the next line would begin."""
    for line in lines:
        font = _font(line, size)
        x = left + width - pen.textlength(line, font=font) if _from_right(line) else left
        pen.text((x, top), line, fill=colour, font=font)
        top += round(size * 1.25)
    return top


def _from_right(text: str) -> bool:
    strong = (unicodedata.bidirectional(letter) for letter in text)
    return next((kind in ("R", "AL") for kind in strong if kind in ("L", "R", "AL")), False)


def _font(text: str, size: int) -> Any:
    """The font for a text. If none for its script is installed, its letters are drawn as boxes."""
    return _load_font(any(unicodedata.east_asian_width(letter) in "WF" for letter in text), size)


@cache
def _load_font(wide: bool, size: int) -> Any:
    names = (*_WIDE_FONTS, *_FONTS) if wide else _FONTS
    path = next((fonts[name] for name in names if name in (fonts := _installed())), None)
    return ImageFont.truetype(path, size) if path else ImageFont.load_default(size)


@cache
def _installed() -> dict[str, str]:
    """The fonts of this machine that are known here: name to path."""
    names = {*_WIDE_FONTS, *_FONTS}
    paths = (path for folder in _FOLDERS for path in Path(folder).rglob("*.[ot]t[fc]"))
    return {path.name: str(path) for path in paths if path.name in names}
