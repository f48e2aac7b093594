"""The worst texts for regular expressions, made from the expressions themselves: one that is new is tried by itself."""

from __future__ import annotations

import ast
import importlib
import pkgutil
import random
import re
import re._constants as ops  # type: ignore[import-not-found]
import re._parser as parser  # type: ignore[import-not-found]
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

import debate_orchestrator

BOUNDED = {
    "core.mirror._LINE_START",
    "evidence.match._BLANKS",
    "setup.plain_positions._AFTER_QUESTION",
    "setup.plain_positions._COMPARED",
    "setup.plain_positions._LAST_WORDS",
}
"""Patterns that may take long for a long text, and get a short one: the 40 characters before a letter, 9 before a
raised figure, a topic of 200."""
METHODS = "search|findall|finditer|sub|split|match|fullmatch"
_CALL = rf"re\.(compile|{METHODS})"
_FLAGS = {"compile": 1, "sub": 4, "split": 3}
"""Where a call of `re` has its flags, if not at the third place."""
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
    root, seen = Path(debate_orchestrator.__file__).parent, set[tuple[re.Pattern[Any], str]]()
    for info in pkgutil.walk_packages([str(root)], "debate_orchestrator."):
        module = importlib.import_module(info.name)
        source = Path(str(module.__file__)).read_text(encoding="utf-8")
        kept = list(_kept(vars(module), source))
        written = _written(vars(module), source, {pattern for _, pattern, _ in kept})
        for name, pattern, methods in (*kept, *written):
            label = f"{info.name.removeprefix('debate_orchestrator.')}.{name}"
            for method in sorted(methods):
                if label not in BOUNDED and (pattern, method) not in seen:
                    seen.add((pattern, method))
                    yield f"{label}.{method}", partial(applied, pattern, method), beginnings(pattern)


Found = Iterator[tuple[str, re.Pattern[Any], set[str]]]
"""Patterns with their names, and the methods that are called on them."""


def _kept(names: Mapping[str, Any], source: str) -> Found:
    """The patterns that a module or a class holds under a name, however deep in collections."""
    for name, value in names.items():
        used = set(re.findall(rf"\b{re.escape(name)}(?:\[\w+\])?\.({METHODS})\b", source)) or {"search"}
        for pattern in _patterns_in(value):
            yield name, pattern, used
        if isinstance(value, type) and value.__module__ == names.get("__name__"):
            yield from _kept(vars(value), source)


def _patterns_in(value: Any) -> Iterator[re.Pattern[Any]]:
    """A pattern, or those of a collection."""
    if isinstance(value, re.Pattern):
        yield value
    elif isinstance(value, dict | list | tuple | set | frozenset):
        for one in (*value, *value.values()) if isinstance(value, dict) else value:
            yield from _patterns_in(one)


def _written(names: dict[str, Any], source: str, kept: set[re.Pattern[Any]]) -> Found:
    """The patterns that stand in calls of `re` anywhere in a module, without those that it keeps, and without those
    that depend on what a function is given."""
    for node in ast.walk(ast.parse(source)):
        if not isinstance(node, ast.Call) or not (called := re.fullmatch(_CALL, ast.unparse(node.func))):
            continue
        method = called[1]
        flags = [one.value for one in node.keywords if one.arg == "flags"] + node.args[_FLAGS.get(method, 2) :]
        with suppress(NameError):
            given = ast.unparse(ast.List([node.args[0], *flags]))
            text, *flag = eval(given, dict(names))  # noqa: S307 -- the project's own source
            if method != "compile" or re.compile(text, *flag) not in kept:
                yield f"line {node.lineno}", re.compile(text, *flag), {method.replace("compile", "search")}
