"""The visible text of a tree of HTML: all that a visitor reads, in order, so that no word is missing from within it.

Blocks stand on lines of their own. What shows something that is no text of the page, such as an image, is named in
brackets, and so is text that is struck out: a sentence around either is not what it would be without it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

_SILENT = {
    "annotation", "annotation-xml", "datalist", "head", "mphantom", "noembed", "noframes", "noscript", "rp", "script",
    "style", "template", "title",
}  # fmt: skip
_UNREAD = {
    "audio": "audio", "canvas": "image", "embed": "object", "iframe": "object", "img": "image", "input": "field",
    "meter": "meter", "object": "object", "progress": "meter", "select": "field", "svg": "image", "textarea": "field",
    "video": "video",
}  # fmt: skip
"""Elements that show what is not read here, and what they are called in the text."""
_INLINE = {
    "a", "abbr", "acronym", "b", "bdi", "bdo", "big", "cite", "code", "data", "del", "dfn", "em", "font", "i",
    "ins", "kbd", "label", "link", "mark", "meta", "nobr", "output", "q", "rb", "rt", "ruby", "s", "samp", "small",
    "span", "strike", "strong", "sub", "sup", "time", "tt", "u", "var", "wbr",
}  # fmt: skip
_STRUCK = {"del", "s", "strike"}
_MATH = {
    "maction", "math", "menclose", "merror", "mfrac", "mi", "mmultiscripts", "mn", "mo", "mover", "mpadded", "mroot",
    "mrow", "ms", "mspace", "msqrt", "mstyle", "msub", "msubsup", "msup", "mtext", "munder", "munderover", "semantics",
}  # fmt: skip
"""Elements of a formula that stand in its line, in which blanks say nothing."""
_JOINTS = {
    "mfrac": ("/",), "mmultiscripts": (" ",), "mover": ("^",), "mroot": ("^1/",), "msub": ("_",), "msubsup": ("_", "^"),
    "msup": ("^",), "munder": ("_",), "munderover": ("_", "^"),
}  # fmt: skip
"""What is written before the second and each later part of these; the last one counts for all that follow."""
_READING = re.compile("[\\s\u3040-\u30ff\u3100-\u312f\u31a0-\u31bf]*")
"""How a word is pronounced, in kana or bopomofo."""
_BLANKS = " \t\r\n\f"
_BREAK = re.compile(r"[\r\n\f]+")
_BETWEEN_FIGURES = re.compile(r"(?<=\d)\n(?=\d)")
_GAP = "\x00"
"""A blank if a digit follows. No text of a tree holds this character."""
_GAPS = re.compile(f"{_GAP}+")
_BEFORE_FIGURE = re.compile(rf"{_GAP}(?=\d)")
_COMMENT = re.compile(r"/\*.*?(?:\*/|\Z)", re.DOTALL)
_ESCAPED = r"\\(?:\r\n|.)"
_STYLE_TOKEN = re.compile(
    rf"""{_COMMENT.pattern}|(?<![\w\\-])url\((?![ \t\r\n\f]*["'])(?:[^)\\]|{_ESCAPED})*+\)?|"""
    rf""""(?:[^"\\\n\r\f]|{_ESCAPED})*+"?|'(?:[^'\\\n\r\f]|{_ESCAPED})*+'?|{_ESCAPED}|[;()\[\]{{}}]""",
    re.DOTALL | re.IGNORECASE,
)
"""What decides in a style where a declaration ends; a semicolon in a comment, a string, an address or brackets ends
none. A string ends with its line, and an address without quotes with its bracket, whatever stands in it."""
_ANY = r"inherit|initial|unset|revert|revert-layer|var\(.*\)"
_SHOWING = {
    "display": re.compile(
        r"none|inline|contents|list-item|flow-root|run-in|(-webkit-|-ms-)?(inline-)?(block|flex|flexbox|grid|table|box)|"
        rf"table-[a-z-]+|ruby[a-z-]*|(block|inline) [a-z-]+|{_ANY}",
        re.DOTALL,
    ),
    "visibility": re.compile(rf"visible|hidden|collapse|{_ANY}", re.DOTALL),
}
"""The properties that hide an element, and their values: browsers ignore a declaration with another one."""


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
        elif not isinstance(node.tag, str) or node.tag in _SILENT or node.tag in _UNREAD or _is_hidden(node):
            unseen.append(node)
            text.leave_out(node)
        else:
            waiting.append((node, text.begin(node, parent)))
            waiting.extend((child, -1) for child in reversed(node))
            continue
        if parent is not None:
            text.add(node.tail, in_formula=parent.tag in _MATH)
    for node in unseen:
        if node.tag != "head" and not (node.tag == "script" and node.get("type") == "application/ld+json"):
            node.clear(keep_tail=True)
            node.tag = "span"
    return str(text)


class _VisibleText:
    """A text that grows by the elements of a tree, in order."""

    def __init__(self) -> None:
        self.pieces: list[str] = []
        self.preformatted = 0
        """How many elements that keep their line breaks are open."""

    def __str__(self) -> str:
        text = _BEFORE_FIGURE.sub(" ", _GAPS.sub(_GAP, "".join(self.pieces))).replace(_GAP, "")
        lines = (" ".join(line.split()) for line in text.splitlines())
        # Two figures below each other, as in the cells of a table, are not one.
        return _BETWEEN_FIGURES.sub("\n| ", "\n".join(line for line in lines if line))

    def add(self, text: str | None, *, in_formula: bool = False) -> None:
        if in_formula:
            text = (text or "").strip(_BLANKS)
        self.pieces.append(text or "" if self.preformatted else _BREAK.sub(" ", text or ""))

    def leave_out(self, node: Any) -> None:
        """Names what shows something that is no text."""
        if node.tag in _UNREAD and _shows(node) and not _is_hidden(node):
            self.pieces.append(f"[{_UNREAD[node.tag]}]")

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
        opening = {"mfrac": _GAP, "msqrt": "\u221a(", "mspace": " ", "q": '"', "rt": "("}
        self.pieces.append("[struck: " if tag in _STRUCK else opening.get(tag, ""))
        self.add(node.text, in_formula=tag in _MATH)
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
        elif tag in ("sub", "sup"):
            self._keep_apart(node, place)
        self.pieces.append({"msqrt": ")", "q": '"'}.get(tag, _GAP if tag in _JOINTS else ""))
        if parent is not None and parent.tag in _JOINTS and _is_compound(node):
            self.pieces.append(")")
        if _is_block(node):
            self.pieces.append("\n")
        self.preformatted -= tag == "pre"

    def _keep_apart(self, node: Any, place: int) -> None:
        """Keeps raised and lowered figures apart from those that they stand behind: 10\u00b2 is not 102, and a note's
        number no digit."""
        first = next((index for index in range(place, len(self.pieces)) if self.pieces[index].strip()), None)
        if first is None:
            return
        before = next((piece for piece in map(self._without_blanks, range(place - 1, -1, -1)) if piece), "")
        if not before[-1:].isdigit():
            return
        self.pieces[first] = inside = self.pieces[first].lstrip()
        if not inside[0].isdigit() and inside[0] not in "+-\u2212":
            return
        note = node.tag == "sup" and _is_note(node)
        self.pieces[place] = "[" if note else "^" if node.tag == "sup" else "_"
        self.pieces.append("]" if note else _GAP)

    def _without_blanks(self, index: int) -> str:
        return self.pieces[index].rstrip(" ")


def _is_block(node: Any) -> bool:
    return node.get("display") == "block" if node.tag in _MATH else node.tag not in _INLINE


def _shows(node: Any) -> bool:
    """Whether an element that is not read shows anything that may matter: an icon says nothing, nor does an image that
    its page calls decoration."""
    if node.tag == "svg":
        return any("".join(text.itertext()).strip() for text in node.iter("text", "foreignobject"))
    if node.tag == "img":
        return bool((node.get("alt") or "").strip()) or node.get("alt") is None
    if node.tag == "audio":
        return node.get("controls") is not None
    return bool(node.tag != "input" or (node.get("type") or "").lower() != "hidden")


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


def _is_hidden(node: Any) -> bool:
    """Whether an element hides itself, by the attribute `hidden` or by its own style, which outranks that."""
    values, important = {"display": "none" if node.get("hidden") is not None else ""}, set[str]()
    for declaration in _declarations(node.get("style") or ""):
        name, _, text = _COMMENT.sub(" ", declaration).lower().partition(":")
        value, bang, _ = map(str.strip, text.partition("!"))
        name = name.strip()
        if name in _SHOWING and _SHOWING[name].fullmatch(value) and (bang or name not in important):
            values[name] = value
            important |= {name} if bang else set()
    return values["display"] == "none" or values.get("visibility") in ("hidden", "collapse")


def _declarations(style: str) -> Iterator[str]:
    """The declarations of a style attribute, such as "color: red"."""
    begin = depth = 0
    for token in _STYLE_TOKEN.finditer(style):
        if token[0] == ";" and not depth:
            if begin < token.start():
                yield style[begin : token.start()]
            begin = token.end()
        depth = max(0, depth + (token[0] in "([{") - (token[0] in ")]}"))
    yield style[begin:]
