"""The visible text of a tree of HTML: all that a visitor reads, in order, so that no word is missing from within it.

Each block is on a line of its own. An element that shows something other than text, such as an image, is replaced by
its name in brackets. Text that is struck out is put in brackets too. Otherwise the sentence around either would read as
another one. "[hidden]" replaces content that is left out, unless all browsers are known to show nothing there.
"""

from __future__ import annotations

import re
from typing import Any

from debate_orchestrator.evidence import match

_SILENT = {"annotation", "annotation-xml", "mphantom", "rp", "script", "style", "template"}
"""Elements that show nothing, the first three of them in formulas only."""
_UNREAD = {
    "audio": "audio", "bdo": "text", "canvas": "image", "cdata": "hidden", "datalist": "hidden", "iframe": "object",
    "img": "image", "input": "field", "meter": "meter", "noembed": "hidden", "noframes": "hidden",
    "noscript": "hidden", "object": "object", "optgroup": "field", "option": "field", "progress": "meter",
    "select": "field", "svg": "image", "textarea": "field", "title": "hidden", "video": "video",
}  # fmt: skip
"""Elements that show what is not read here, or whose end browsers find elsewhere, and what stands for them in the
text. `pages` makes a "cdata" of a section of character data."""
_MARKED_BEFORE = {"embed": "[object]", "image": "[image]"}
"""Elements that hold nothing in browsers, while the parser puts into them what follows."""
_DRAWS = {"cdata", "foreignobject", "image", "use"}
"""Parts of a drawing that may show words without holding them."""
_INLINE = {
    "a", "abbr", "acronym", "b", "bdi", "big", "cite", "code", "data", "del", "dfn", "em", "embed", "font", "i",
    "image", "ins", "kbd", "label", "link", "mark", "meta", "nobr", "output", "q", "rb", "rt", "ruby", "s", "samp",
    "small", "span", "strike", "strong", "sub", "sup", "time", "tt", "u", "var", "wbr",
}  # fmt: skip
_STRUCK = {"del", "s", "strike"}
_MATH = {
    "maction", "math", "menclose", "merror", "mfrac", "mi", "mmultiscripts", "mn", "mo", "mover", "mpadded", "mroot",
    "mrow", "ms", "mspace", "msqrt", "mstyle", "msub", "msubsup", "msup", "mtext", "munder", "munderover", "semantics",
}  # fmt: skip
"""Elements of a formula that stand in its line, in which blanks say nothing."""
_BREAKOUT = {
    "b", "big", "blockquote", "body", "br", "center", "code", "dd", "div", "dl", "dt", "em", "embed", "font", "h1",
    "h2", "h3", "h4", "h5", "h6", "head", "hr", "i", "img", "li", "listing", "menu", "meta", "nobr", "ol", "p", "pre",
    "ruby", "s", "small", "span", "strike", "strong", "sub", "sup", "table", "tt", "u", "ul", "var",
}  # fmt: skip
"""Elements that end a formula in browsers, which then show what follows (HTML, 13.2.6.5)."""
_HOLDING_HTML = _BREAKOUT | {"mi", "mn", "mo", "ms", "mtext"}
"""Elements in which those end none."""
_SIMPLE = (_INLINE | _MATH | {"img", "input", "rp"}) - {"a", "embed", "image", "nobr", "rb", "rt", "ruby", "wbr"}
"""Elements that end for every browser where they end for this reader, and hide what they hold if they are hidden."""
_JOINTS = {
    "mfrac": ("/",), "mmultiscripts": (" ",), "mover": ("^",), "mroot": ("^1/",), "msub": ("_",), "msubsup": ("_", "^"),
    "msup": ("^",), "munder": ("_",), "munderover": ("_", "^"),
}  # fmt: skip
"""What is written before the second and each later part of these; the last one counts for all that follow."""
_READING = re.compile("[\\s\u3040-\u30ff\u3100-\u312f\u31a0-\u31bf]*")
"""How a word is pronounced, in kana or bopomofo."""
_BLANKS = " \t\r\n\f"
_NEAR = 99
"""Pieces of text in which a neighbour is looked for."""
_BREAK = re.compile(r"[\r\n\f]+")
_BETWEEN_FIGURES = re.compile(r"(?<=\d)\n(?=\d)")
_GAP, _END_OF_RAISED, _END_OF_BARE, _OF_FRACTION = _MARKS = "\x00\x01\x02\x03"
"""A blank if a digit follows; a bar if what follows would run into a raised figure; a bar if it would go on as one
figure with it; and nothing, before the lowered part of a fraction.
Where a page itself holds these characters, they part its figures too."""
_MARKED = re.compile(f"[{_MARKS}]+")
_BLANK_OR_MARK = "".join(char for char in map(chr, range(0x3001)) if char.isspace()) + _MARKS
_SPACE = r"[ \t\r\n\f]*"
_DECLARATION = rf"{_SPACE}(?:(?!display|all)[a-z-]+{_SPACE}:[ \t\r\n\f\w#%.,-]*+)?"
_PLAINLY_HIDES = re.compile(
    rf"(?:{_DECLARATION};)*+{_SPACE}display{_SPACE}:{_SPACE}none{_SPACE}(?:!{_SPACE}important{_SPACE})?(?:;{_DECLARATION})*+",
    re.ASCII,
)
"""A style that hides its element in every browser: one `display: none`, and nothing that is hard to read or that may
undo it."""
_MAY_HIDE = re.compile(rf"(?<![\w-])(?:display{_SPACE}:{_SPACE}none|visibility{_SPACE}:{_SPACE}(?:hidden|collapse))")
_RAISES = re.compile(rf"vertical-align{_SPACE}:(?!{_SPACE}(?:baseline|middle))", re.IGNORECASE)


def take_text(tree: Any) -> str:
    """The visible text of a tree. What is not seen is taken out of the tree, so that no one else reads it; not the
    head, nor the data that give a date. Empty elements stay: to take out each would copy the text around it."""
    text = _VisibleText()
    waiting: list[tuple[Any, int]] = [(tree, -1)]
    unseen = []
    while waiting:
        node, place = waiting.pop()
        parent = node.getparent() if node is not tree else None
        if place >= 0:
            text.end(node, place)
        elif (mark := text.mark(node, parent)) is not None:
            unseen.append(node)
            text.pieces.append(mark)
        else:
            waiting.append((node, text.begin(node, parent)))
            waiting.extend((child, -1) for child in reversed(node))
            continue
        if parent is not None:
            text.add(node.tail, in_formula=text.in_formula and parent.tag in _MATH)
    for node in unseen:
        parent = node.getparent()
        in_head = parent is not None and parent.tag == "head"
        if not in_head and not (node.tag == "script" and node.get("type") == "application/ld+json"):
            node.clear(keep_tail=True)
            node.tag = "span"
    return str(text)


class _VisibleText:
    """A text that grows by the elements of a tree, in order."""

    def __init__(self) -> None:
        self.pieces: list[str] = []
        self.preformatted = 0
        """How many elements that keep their line breaks are open."""
        self.in_formula = False

    def __str__(self) -> str:
        text = _MARKED.sub(_parted, match.UNSEEN.sub("", "".join(self.pieces)))
        lines = (" ".join(line.split()) for line in text.splitlines())
        # Two figures below each other, as in the cells of a table, are not one.
        return _BETWEEN_FIGURES.sub("\n| ", "\n".join(line for line in lines if line))

    def add(self, text: str | None, *, in_formula: bool = False) -> None:
        if in_formula:
            text = (text or "").strip(_BLANKS)
        self.pieces.append(text or "" if self.preformatted else _BREAK.sub(" ", text or ""))

    def mark(self, node: Any, parent: Any) -> str | None:
        """What stands for an element that is left out; None for one that is read."""
        tag = node.tag
        within = parent.tag if parent is not None else ""
        if tag == "math" or (tag in _BREAKOUT and within not in _HOLDING_HTML):
            self.in_formula = tag == "math"
        style = (node.get("style") or "").lower()
        hides = node.get("hidden") is not None or _MAY_HIDE.search(style) is not None
        if not (hides or tag in _SILENT or tag in _UNREAD or _shows_its_template(node)):
            return None
        if self._shows_nothing(node, within, style):
            return ""
        self.in_formula = False
        if tag in _UNREAD:
            return f"[{_UNREAD[tag]}]"
        return "\n[hidden]\n" if _is_block(node) else "[hidden]"

    def _shows_nothing(self, node: Any, within: str, style: str) -> bool:
        """Whether all browsers are known to show nothing of an element that is left out."""
        tag = node.tag
        if tag in _UNREAD and (not _shows(node) or (within == "head" and tag in ("noscript", "title"))):
            return True
        if style and not _PLAINLY_HIDES.fullmatch(style):
            return False
        if tag in _SILENT and tag.startswith(("annotation", "mphantom")):
            return self.in_formula and not any(child.tag in _BREAKOUT or child.get("style") for child in node.iter())
        if tag in ("script", "style", "template"):
            return True
        is_plain = style or tag == "rp" or node.get("hidden", "until-found").lower() != "until-found"
        return bool(is_plain) and not _MATH & {tag, within} and all(child.tag in _SIMPLE for child in node.iter())

    def begin(self, node: Any, parent: Any) -> int:
        """Begins an element; returns its place, which `end` needs."""
        tag = node.tag
        self.preformatted += tag == "pre"
        if _is_block(node):
            self.pieces.append("\n")
        if parent is not None and parent.tag in _JOINTS:
            previous, joints = node.getprevious(), _JOINTS[parent.tag]
            if previous is not None:
                self.pieces.append(joints[0 if previous.getprevious() is None else -1])
            self.pieces.append("(" if _is_compound(node) else "")
        place = len(self.pieces)
        opening = _MARKED_BEFORE | {"mfrac": _GAP, "msqrt": "\u221a(", "mspace": " ", "q": '"', "rt": "("}
        self.pieces.append("[struck: " if tag in _STRUCK else opening.get(tag, ""))
        self.add(node.text, in_formula=self.in_formula and tag in _MATH)
        return place

    def end(self, node: Any, place: int) -> None:
        """Ends the element that began at a place. One that shows nothing is taken back, and so is a reading."""
        tag, parent = node.tag, node.getparent()
        if tag in _STRUCK or tag == "rt":
            inside = "".join(self.pieces[place + 1 :]).strip()
            if not inside or (tag == "rt" and _READING.fullmatch(inside)):
                del self.pieces[place:]
            else:
                self.pieces.append("]" if tag in _STRUCK else ")")
        elif _is_raised(node):
            self._keep_apart(node, place)
        elif tag == "math":
            self.in_formula = False
        self.pieces.append({"msqrt": ")", "q": '"'}.get(tag, _GAP if tag in _JOINTS else ""))
        if parent is not None and parent.tag in _JOINTS and _is_compound(node):
            self.pieces.append(")")
        if _is_block(node):
            self.pieces.append("\n")
        self.preformatted -= tag == "pre"

    def _keep_apart(self, node: Any, place: int) -> None:
        """Keeps raised and lowered figures apart from those that they stand beside: 10\u00b2 is not 102, and a note's
        number no digit."""
        within = range(place, min(len(self.pieces), place + _NEAR))
        first = next((index for index in within if self.pieces[index].strip(_BLANK_OR_MARK)), None)
        if first is None and len(self.pieces) <= place + _NEAR:
            return
        first = place if first is None else first
        back = range(place - 1, max(-1, place - 1 - _NEAR), -1)
        otherwise = "0" if place > _NEAR else ""  # what is far away is taken for a figure
        before = next((text for text in map(self._word_end, back) if text), otherwise)
        if before[-1:] in match.SLASHES and before and node.tag == "sub":
            self.pieces[place] = _OF_FRACTION + self.pieces[place]
            self.pieces.append(_END_OF_BARE)
            return
        if marked := match.needs_mark(before) and self._may_be_figure(first):
            self.pieces[first] = self.pieces[first].lstrip()
            note = node.tag == "sup" and (before[-1] in ".,;:!?" or _is_note(node))
            self.pieces[place] = ("[" if note else "_" if node.tag == "sub" else "^") + self.pieces[place]
            self.pieces.append("]" if note else "")
        self.pieces.append(_END_OF_RAISED if marked else _END_OF_BARE)

    def _may_be_figure(self, first: int) -> bool:
        """Whether what stands from a place on has a figure in it, or is long."""
        text = "".join(self.pieces[first : first + _NEAR])
        return len(self.pieces) > first + _NEAR or len(text) > 99 or any(char.isnumeric() for char in text)

    def _word_end(self, index: int) -> str:
        """What a piece ends with, without blanks; "\n" for the end of a line."""
        piece = self.pieces[index]
        return piece if piece == "\n" else piece[-99:].rstrip(_BLANK_OR_MARK)[-3:]


def _parted(marks: re.Match[str]) -> str:
    text, end = marks.string, marks.end()
    goes_on = match.GOES_ON if _END_OF_BARE in marks[0] else match.RUNS_ON if _END_OF_RAISED in marks[0] else None
    if goes_on and goes_on.match(text, end):
        return match.BAR
    return " " if _GAP in marks[0] and text[end : end + 1].isdecimal() else ""


def _is_raised(node: Any) -> bool:
    """Whether an element stands above or below its line."""
    return node.tag in ("sub", "sup") or (node.tag in _INLINE and _RAISES.search(node.get("style") or "") is not None)


def _is_block(node: Any) -> bool:
    return node.get("display") == "block" if node.tag in _MATH else node.tag not in _INLINE


def _shows(node: Any) -> bool:
    """Whether an element that is not read shows anything that may matter: an icon says nothing, nor does an image that
    its page calls decoration."""
    if node.tag == "svg":
        parts = [part for part in node.iter() if part.tag not in ("title", "desc")]
        texts = [part.text for part in parts] + [part.tail for part in parts[1:]]
        return any((text or "").strip() for text in texts) or any(part.tag in _DRAWS for part in parts)
    if node.tag == "img":
        return bool((node.get("alt") or "").strip()) or node.get("alt") is None
    if node.tag == "audio":
        return node.get("controls") is not None
    return bool(node.tag != "input" or (node.get("type") or "").lower() != "hidden")


def _shows_its_template(node: Any) -> bool:
    """Whether browsers may show a template's content in place of an element's own, as a declarative shadow root. The
    page itself and its head never do that."""
    modes = (child.get("shadowrootmode") for child in node if child.tag == "template")
    return node.tag not in ("html", "head") and any(mode is not None for mode in modes)


def _is_compound(node: Any) -> bool:
    """Whether a part of a formula has parts of its own."""
    while len(node) == 1:
        node = node[0]
    return len(node) > 1


def _is_note(raised: Any) -> bool:
    """Whether a raised number is a link to a note: it holds a link, or a link begins with it."""
    if raised.find(".//a") is not None:
        return True
    node, parent = raised, raised.getparent()
    while parent is not None and node.getprevious() is None and not (parent.text or "").strip():
        if parent.tag == "a":
            return True
        node, parent = parent, parent.getparent()
    return False
