"""The sandbox that renders templates over plain data, and the check of their syntax and names beforehand.

One of a debate's own templates is found before one of prompts/. `./piece.md.j2` is a neighbour in the same
folder. Problems are reported as `FILE:LINE`.

A template may come from a stranger, in a format's folder or in a journal. All that it can reach is listed here: plain
data, a few functions over it (`functions`), a few methods of text and mappings (`METHODS`), and the Jinja filters that
only make text. Every other call is refused. The worker of `rendering` imports this module in a process without files,
network and environment, so it may import nothing that needs them.
"""

from __future__ import annotations

import json
import os
import posixpath
import traceback
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from fractions import Fraction
from functools import wraps
from types import MappingProxyType, NoneType
from typing import Any, NamedTuple

from jinja2 import (
    ChoiceLoader,
    DictLoader,
    Environment,
    FileSystemLoader,
    StrictUndefined,
    Template,
    TemplateError,
    TemplateNotFound,
    TemplateSyntaxError,
    Undefined,
    meta,
    nodes,
)
from jinja2.environment import TemplateModule
from jinja2.runtime import BlockReference, Context, LoopContext, Macro, TemplateReference
from jinja2.sandbox import ImmutableSandboxedEnvironment, safe_range
from jinja2.utils import Namespace
from pydantic_core import to_json

from debate_orchestrator.util import resources, sanitize
from debate_orchestrator.util.errors import join_names, short_repr, suggest, with_hint
from debate_orchestrator.util.numbers import decimals

SUFFIX = ".j2"
METHODS: Mapping[type, frozenset[str]] = MappingProxyType(
    {
        dict: frozenset({"get", "items", "keys", "values"}),
        str: frozenset(
            {"capitalize", "endswith", "join", "lower", "lstrip", "replace", "rstrip", "split", "splitlines"}
            | {"startswith", "strip", "title", "upper"}
        ),
    }
)
"""The methods that a template may call on a value of each type."""
_GLOBALS = ("dict", "namespace")
# Left out: `attr` reaches past the data, `random` makes a brief that can't be reproduced, and the filters for HTML are
# of no use in a prompt.
_FILTERS = (
    "abs", "batch", "capitalize", "center", "count", "d", "default", "dictsort", "first", "float", "format",
    "groupby", "indent", "int", "items", "join", "last", "length", "list", "lower", "map", "max", "min",
    "reject", "rejectattr", "replace", "reverse", "round", "select", "selectattr", "slice", "sort", "string",
    "sum", "title", "trim", "truncate", "unique", "upper", "wordcount", "wordwrap",
)  # fmt: skip
_JINJAS = (LoopContext, Macro, TemplateReference)
"""Callables that Jinja itself gives to a template: `loop` and macros."""
_LOOP = frozenset({"changed", "cycle", "depth", "depth0", "first", "index", "index0", "last", "length"}) | {
    "nextitem", "previtem", "revindex", "revindex0"
}  # fmt: skip


_LAZY = ("batch", "items", "map", "reject", "rejectattr", "reverse", "select", "selectattr", "slice", "unique")
"""Jinja's filters that return a generator, which as text would be an address in memory."""
_PLAIN = (str, int, float, list, tuple, dict, range, NoneType, Undefined)
"""Types that may be printed; printing Undefined raises, with the name."""


def _as_list(lazy: Callable[..., Any]) -> Callable[..., Any]:
    """The filter, returning a list instead of a generator."""

    @wraps(lazy)  # keeps the attribute by which Jinja passes its context
    def eager(*arguments: Any, **keywords: Any) -> Any:
        value = lazy(*arguments, **keywords)
        return value if isinstance(value, str) else list(value)

    return eager


def _finalize(value: Any) -> Any:
    if not isinstance(value, _PLAIN):
        raise TypeError(f"can't print a {type(value).__name__}: only plain values can be printed")
    return value


def _methods(value: object) -> frozenset[str]:
    return next((names for kind, names in METHODS.items() if isinstance(value, kind)), frozenset())


class Function:
    """A function or method that templates may call; it hides the attributes of the one it wraps."""

    __slots__ = ("_call",)

    def __init__(self, call: Callable[..., Any]):
        self._call = call

    def __call__(self, *arguments: Any, **keywords: Any) -> Any:
        return self._call(*arguments, **keywords)

    def __repr__(self) -> str:
        return "<function>"


def _without_address(value: Any) -> Any:
    """A value that Jinja gives; a block as a function, since as text it would be an address in memory."""
    return Function(value) if isinstance(value, BlockReference) else value


class FunctionContext(NamedTuple):
    """The values that the functions in a brief refer to."""

    marker: str = ""
    """The marker of the blocks of the part of a brief that is rendered."""
    names: Mapping[str, str] = MappingProxyType({})
    """Seat to its display name."""
    side_labels: Mapping[str, str] = MappingProxyType({})
    """Side to `Pro` or `Con`."""


def functions(context: FunctionContext) -> dict[str, Function]:
    """The functions that templates may call. `unmarked` already has the marker, so no template can forget it."""
    unmarked = Function(lambda text: sanitize.without_block_marker(text, context.marker))
    return {
        "fence": unmarked,  # its former name
        "label": Function(lambda side: context.side_labels[side]),
        "name": Function(lambda seat: context.names[seat]),
        "tag": Function(lambda turn: turn["tag"]),
        "unmarked": unmarked,
    }


class _Texts(DictLoader):
    """Loads templates from their texts by path. Tracebacks name the path."""

    def get_source(self, environment: Environment, template: str) -> Any:
        text, _, current = super().get_source(environment, template)
        return text, template, current


class _Template(Template):
    """A template that is imported afresh each time. Jinja would keep the module, and a `namespace` in it would take
    what one brief says to another seat, or to another debate."""

    def _get_default_module(self, ctx: Context | None = None) -> TemplateModule:
        self._module = None
        return super()._get_default_module(ctx)


class _Context(Context):
    """Gives `super` of a block as a function."""

    def super(self, name: str, current: Callable[..., Any]) -> Any:
        return _without_address(super().super(name, current))


class Sandbox(ImmutableSandboxedEnvironment):
    """Renders templates, which can do nothing but make text: those in `own_templates` and those of prompts/.
    `shipped` holds the texts of prompts/ in a process that can't read its files."""

    template_class, context_class = _Template, _Context

    def __init__(self, own_templates: Mapping[str, str], shipped: Mapping[str, str] | None = None):
        prompts = FileSystemLoader(resources.prompts()) if shipped is None else _Texts(shipped)
        super().__init__(
            loader=ChoiceLoader([_Texts(own_templates), prompts]),
            undefined=StrictUndefined,
            autoescape=False,
            finalize=_finalize,
            auto_reload=False,  # else each brief asks the file system for the time of each of its templates
        )
        self.globals = {name: self.globals[name] for name in _GLOBALS}
        self.globals["range"] = Function(safe_range)  # as text, it would be an address in memory
        self.filters = {name: self.filters[name] for name in _FILTERS}
        self.filters |= {name: _as_list(self.filters[name]) for name in _LAZY}
        self.filters |= {
            "line": sanitize.one_line,
            "address": sanitize.safe_url,
            "compact": lambda value: json.dumps(value, ensure_ascii=False),
            "json": lambda value: to_json(value, indent=1).decode(),  # `json` indents thirty times slower
            "points": _points,
        }

    def getattr(self, obj: Any, attribute: str) -> Any:
        """`obj.attribute`: a listed method, else the item of a mapping, else undefined."""
        if attribute in _methods(obj):
            return Function(getattr(obj, attribute))
        if isinstance(obj, dict) and attribute in obj:
            return obj[attribute]
        if isinstance(obj, LoopContext) and attribute in _LOOP:
            return getattr(obj, attribute)
        if isinstance(obj, TemplateReference | TemplateModule | Namespace) and not attribute.startswith("_"):
            return _without_address(super().getattr(obj, attribute))
        return self._unreachable(obj, attribute)

    def getitem(self, obj: Any, argument: Any) -> Any:
        """`obj[argument]`, which is also what filters such as `map(attribute=...)` look up."""
        if isinstance(obj, dict | list | tuple | str):
            try:
                return obj[argument]
            except (LookupError, TypeError):
                pass
        return self.getattr(obj, argument) if isinstance(argument, str) else self.undefined(obj=obj, name=argument)

    def _unreachable(self, obj: Any, attribute: str) -> Any:
        if isinstance(obj, Undefined):
            return obj[attribute]  # raises, with the name that is undefined
        if not hasattr(obj, attribute):
            return self.undefined(obj=obj, name=attribute)
        return self.unsafe_undefined(obj, attribute)

    def is_safe_callable(self, obj: Any) -> bool:
        """Whether a template may call this: only functions that it is given here. An undefined name raises an error."""
        if isinstance(obj, (Function, Undefined, *_JINJAS)):
            return True
        if any(obj is function for function in self.globals.values()):
            return True
        owner, name = getattr(obj, "__self__", None), getattr(obj, "__name__", "")
        return name in (_LOOP if isinstance(owner, LoopContext) else _methods(owner))

    def render(self, names: Sequence[str], values: Mapping[str, Any], context: FunctionContext) -> str:
        """The text of the first of these templates that exists, over plain data."""
        return self.select_template([*names]).render(**functions(context), **values).strip("\n")

    def join_path(self, template: str, parent: str) -> str:
        if not template.startswith("./"):
            return template
        return posixpath.join(posixpath.dirname(parent), template[2:])


def _points(value: float) -> str:
    # Sums of scores are fractions with small denominators, which can be recovered exactly from a float.
    return decimals(Fraction(value).limit_denominator(1_000_000))


def shown_path(template: str, own_templates: Iterable[str]) -> str:
    """A template's path for messages: a shipped one begins with `prompts/`."""
    return template if template in own_templates else f"prompts/{template}"


def error_location(error: BaseException, own_templates: Iterable[str]) -> str | None:
    """The file and line of the template in which an error happened; None if it was in none."""
    root = f"{resources.prompts()}{os.sep}"
    if isinstance(error, TemplateSyntaxError) and error.name:
        return f"{shown_path(error.name, own_templates)}:{error.lineno}"
    for frame in reversed(traceback.extract_tb(error.__traceback__)):
        if frame.filename.endswith(SUFFIX):
            template = frame.filename.removeprefix(root).replace(os.sep, "/")
            return f"{shown_path(template, own_templates)}:{frame.lineno}"
    if isinstance(error, TemplateNotFound):
        return shown_path(str(error.name), own_templates)
    return None


def error_text(error: BaseException) -> str:
    """An error as one line of text, without its full stop."""
    text = " ".join(str(error).split()).removesuffix(".")
    if isinstance(error, TemplateNotFound):
        return f"no template {short_repr(str(error.name))}"
    name = "" if isinstance(error, TemplateError) else f"{type(error).__name__}: "
    return f"{name}{text if text.isprintable() and len(text) <= 160 else short_repr(text, 120)}"


def find_problems(environment: Environment, own_templates: Mapping[str, str], names: Collection[str]) -> list[str]:
    """The problems with the syntax of these templates, path to text, and the variables in them that are not in `names`,
    the ones that briefs provide. Other problems show only when it is rendered."""
    problems: list[str] = []
    trees: dict[str, nodes.Template] = {}
    for path, text in own_templates.items():
        try:
            environment.compile(text, path)
            trees[path] = environment.parse(text, path)
        except TemplateSyntaxError as error:
            problems.append(f"{path}:{error.lineno}: {error_text(error)}.")
        except RecursionError:
            problems.append(f"{path}:1: the template is nested too deeply.")
    # A template may use what the one that includes it has set.
    known_names = {*names, *(name for tree in trees.values() for name in _first_lines(tree, stored=True))}
    for path, tree in trees.items():
        lines = _first_lines(tree, stored=False)
        for name in sorted(meta.find_undeclared_variables(tree) - known_names, key=lambda name: lines[name]):
            problem = f"{path}:{lines[name]}: no brief provides the name {short_repr(name)}."
            suggestion = suggest(name, sorted(known_names))
            problems.append(
                f"{problem} {suggestion}" if suggestion else with_hint(problem, f"one of {join_names(sorted(names))}")
            )
    return problems


def _first_lines(tree: nodes.Template, *, stored: bool) -> dict[str, int]:
    """The names that a template sets, or reads, with the first line of each."""
    lines: dict[str, int] = {}
    for node in tree.find_all(nodes.Name):
        if (node.ctx != "load") is stored:
            lines[node.name] = min(node.lineno, lines.get(node.name, node.lineno))
    return lines
