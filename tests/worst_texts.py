"""The worst texts for regular expressions, made from the expressions themselves: one that is new is tried by itself."""

from __future__ import annotations

import importlib
import pkgutil
import random
import re
import re._constants as ops  # type: ignore[import-not-found]
import re._parser as parser  # type: ignore[import-not-found]
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import debate_orchestrator

PACKAGES = ("providers", "evidence", "util", "prompting", "engine", "core")
"""Those whose patterns see what servers, programs, pages and speakers send."""
BOUNDED = {"core.mirror._LINE_START"}
"""Patterns that may take long for a long text, and get a short one: the 40 characters before a letter."""
METHODS = "search|findall|finditer|sub|split|match|fullmatch"
MOST, SAMPLES = 60, 4
"""Characters of a beginning, and texts that are made at random from one pattern besides its shortest."""
CATEGORIES = {ops.CATEGORY_DIGIT: "1", ops.CATEGORY_SPACE: " ", ops.CATEGORY_NOT_WORD: "-"}


def character(items: list[tuple[Any, Any]], pick: Callable[[list[str]], str]) -> str:
    """One that a class in brackets takes."""
    if items[0][0] is ops.NEGATE:
        return next(char for char in "a 1-\u4e2d\n" if re.fullmatch(_negated(items), char))
    chars = {ops.LITERAL: chr, ops.RANGE: lambda ends: chr(ends[0]), ops.CATEGORY: lambda one: CATEGORIES.get(one, "a")}
    return pick([chars[op](value) for op, value in items])


def _negated(items: list[tuple[Any, Any]]) -> str:
    """The class again as it is written."""
    names = {ops.CATEGORY_DIGIT: r"\d", ops.CATEGORY_SPACE: r"\s", ops.CATEGORY_WORD: r"\w"}
    names |= {ops.CATEGORY_NOT_DIGIT: r"\D", ops.CATEGORY_NOT_SPACE: r"\S", ops.CATEGORY_NOT_WORD: r"\W"}
    written = ""
    for op, value in items[1:]:
        if op is ops.CATEGORY:
            written += names[value]
        else:
            ends = value if op is ops.RANGE else (value, value)
            written += "-".join(re.escape(chr(end)) for end in ends)
    return f"[^{written}]"


def text_of(tree: Any, chance: random.Random | None) -> str:
    """A text that a pattern takes, or nearly: what stands beside it is not looked at. Without `chance` a short one."""
    pick: Callable[[list[Any]], Any] = chance.choice if chance else lambda ones: ones[0]
    made = ""
    for op, value in tree:
        if op in (ops.MAX_REPEAT, ops.MIN_REPEAT, ops.POSSESSIVE_REPEAT):
            least, most, inner = value
            many = least if chance is None else min(max(least, chance.randint(0, 3)), most)
            made += "".join(text_of(inner, chance) for _ in range(min(many, MOST)))
        elif op is ops.BRANCH:
            made += text_of(pick(value[1]), chance)
        elif op is ops.SUBPATTERN:
            made += text_of(value[-1], chance)
        elif op is ops.ATOMIC_GROUP:
            made += text_of(value, chance)
        elif op is ops.IN:
            made += character(value, pick)
        elif op in (ops.LITERAL, ops.NOT_LITERAL, ops.ANY):
            made += chr(value) if op is ops.LITERAL else "ab"[value == ord("a")]
    return made


def beginnings(pattern: re.Pattern[Any]) -> set[str]:
    """How texts begin that a pattern takes."""
    written = pattern.pattern if isinstance(pattern.pattern, str) else pattern.pattern.decode("latin-1")
    tree = parser.parse(written, pattern.flags & (re.IGNORECASE | re.MULTILINE | re.DOTALL | re.VERBOSE))
    texts = [text_of(tree, chance) for chance in (None, *map(random.Random, range(SAMPLES)))]
    return {text[:size] for text in texts for size in range(1, min(len(text), MOST) + 1)}


def applied(pattern: re.Pattern[Any], method: str, text: str) -> None:
    """Uses a pattern on a text to its end."""
    given: Any = text if isinstance(pattern.pattern, str) else text.encode("latin-1", "replace")
    if method == "sub":
        pattern.sub(given[:0], given)
    else:
        found = getattr(pattern, method)(given)
        if method == "finditer":
            list(found)


def patterns() -> Iterator[tuple[str, Callable[[str], None], set[str]]]:
    """Each pattern of a module, in each way in which that module uses it: its name, the use, and its beginnings."""
    root = Path(debate_orchestrator.__file__).parent
    for info in pkgutil.walk_packages([str(root)], "debate_orchestrator."):
        if info.name.split(".")[1] not in PACKAGES:
            continue
        module = importlib.import_module(info.name)
        source = Path(str(module.__file__)).read_text(encoding="utf-8")
        for name, value in vars(module).items():
            several = value.values() if isinstance(value, dict) else value if isinstance(value, tuple) else (value,)
            used = set(re.findall(rf"\b{name}(?:\[\w+\])?\.({METHODS})\b", source)) or {"search"}
            label = f"{info.name.removeprefix('debate_orchestrator.')}.{name}"
            for pattern in several:
                if isinstance(pattern, re.Pattern) and label not in BOUNDED:
                    for method in sorted(used):
                        yield f"{label}.{method}", partial(applied, pattern, method), beginnings(pattern)
