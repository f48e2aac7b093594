"""The sandbox that renders templates over plain data, and the checks that find problems in them beforehand.

A template that travels with a debate is found before one of prompts/. `./piece.md.j2` is a neighbour in the same
folder. Mistakes are reported as `FILE:LINE`.

A template may come from a stranger, in a format's folder or in a journal. All that it can reach is listed here: plain
data, a few functions over it (`functions`), a few methods of text and mappings (`METHODS`), and the Jinja filters that
only make text. Every other call is refused. `template_worker` imports this module in a process without files,
network and environment, so it may import nothing that needs them.
"""

from __future__ import annotations

import json
import os
import posixpath
import traceback
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
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
    TemplateError,
    TemplateNotFound,
    TemplateSyntaxError,
    Undefined,
    meta,
    nodes,
)
from jinja2.environment import TemplateModule
from jinja2.runtime import BlockReference, LoopContext, Macro, TemplateReference
from jinja2.sandbox import ImmutableSandboxedEnvironment, safe_range
from jinja2.utils import Namespace
from pydantic_core import to_json

from debate_orchestrator.util import resources, sanitize
from debate_orchestrator.util.errors import short_repr, suggest, with_hint
from debate_orchestrator.util.numbers import decimals

SUFFIX = ".j2"
_LEADING = (nodes.Include, nodes.Extends, nodes.Import, nodes.FromImport)
_ABSENT = ("defined", "undefined", "default", "d")
"""Tests and filters with which a template uses a name that may be missing."""


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
_JINJAS = (BlockReference, LoopContext, Macro, TemplateReference)
"""Callables that Jinja itself gives to a template: `loop`, macros, blocks."""
_LOOP = frozenset({"changed", "cycle", "depth", "depth0", "first", "index", "index0", "last", "length"}) | {
    "nextitem", "previtem", "revindex", "revindex0"
}  # fmt: skip


_LAZY = ("batch", "items", "map", "reject", "rejectattr", "reverse", "select", "selectattr", "slice", "unique")
"""Jinja's filters that return a generator, which as text would be an address in memory."""
_PLAIN = (str, int, float, list, tuple, dict, range, NoneType, Undefined)
"""Types that may be printed; printing Undefined raises, with the name."""


def _read_out(lazy: Callable[..., Any]) -> Callable[..., Any]:
    """The filter, returning a list instead of a generator."""

    @wraps(lazy)  # keeps the attribute by which Jinja passes its context
    def eager(*given: Any, **named: Any) -> Any:
        value = lazy(*given, **named)
        return value if isinstance(value, str) else list(value)

    return eager


def _put_out(value: Any) -> Any:
    if not isinstance(value, _PLAIN):
        raise TypeError(f"a {type(value).__name__} is put out, which is no plain value")
    return value


def _methods(value: object) -> frozenset[str]:
    return next((names for kind, names in METHODS.items() if isinstance(value, kind)), frozenset())


class Function:
    """A function or method that templates may call; it hides the attributes of the one it wraps."""

    __slots__ = ("_call",)

    def __init__(self, call: Callable[..., Any]):
        self._call = call

    def __call__(self, *given: Any, **named: Any) -> Any:
        return self._call(*given, **named)

    def __repr__(self) -> str:
        return "<function>"


class FunctionContext(NamedTuple):
    """What the functions in a brief refer to."""

    nonce: str = ""
    names: Mapping[str, str] = MappingProxyType({})
    """Seat to its display name."""
    labels: Mapping[str, str] = MappingProxyType({})
    """Side to `Pro` or `Con`."""


def functions(context: FunctionContext) -> dict[str, Function]:
    """The functions that templates may call. `fence` already has the nonce, so no template can forget it."""
    return {
        "fence": Function(lambda text: sanitize.fence(text, context.nonce)),
        "label": Function(lambda side: context.labels[side]),
        "name": Function(lambda seat: context.names[seat]),
        "tag": Function(lambda turn: turn["tag"]),
    }


class _Texts(DictLoader):
    """Loads templates from their texts by path. Tracebacks name the path."""

    def get_source(self, environment: Environment, template: str) -> Any:
        text, _, current = super().get_source(environment, template)
        return text, template, current


class Sandbox(ImmutableSandboxedEnvironment):
    """Renders templates, which can do nothing but make text: those in `own` and those of prompts/.

    `shipped` holds the texts of prompts/ in a process that can't read its files.
    """

    def __init__(self, own: Mapping[str, str], shipped: Mapping[str, str] | None = None):
        prompts = FileSystemLoader(resources.prompts()) if shipped is None else _Texts(shipped)
        super().__init__(
            loader=ChoiceLoader([_Texts(own), prompts]),
            undefined=StrictUndefined,
            autoescape=False,
            finalize=_put_out,
            auto_reload=False,  # else each brief asks the file system for the time of each of its templates
        )
        self.globals = {name: self.globals[name] for name in _GLOBALS}
        self.globals["range"] = Function(safe_range)  # as text, it would be an address in memory
        self.filters = {name: self.filters[name] for name in _FILTERS}
        self.filters |= {name: _read_out(self.filters[name]) for name in _LAZY}
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
            found = super().getattr(obj, attribute)
            return Function(found) if isinstance(found, BlockReference) else found
        return self._unreachable(obj, attribute)

    def getitem(self, obj: Any, argument: Any) -> Any:
        """`obj[argument]`, which is also what filters such as `map(attribute=...)` look up."""
        if isinstance(obj, dict | list | tuple | str | TemplateReference):
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
        """Whether a template may call this: only what it is given here, whatever else it gets hold of."""
        if isinstance(obj, (Function, *_JINJAS)) or any(obj is function for function in self.globals.values()):
            return True
        owner, name = getattr(obj, "__self__", None), getattr(obj, "__name__", "")
        return name in (_LOOP if isinstance(owner, LoopContext) else _methods(owner))

    def rendered(self, names: Sequence[str], values: Mapping[str, Any], context: FunctionContext) -> str:
        """The text of the first of these templates that exists, over plain data."""
        return self.select_template([*names]).render(**functions(context), **values).strip("\n")

    def join_path(self, template: str, parent: str) -> str:
        if not template.startswith("./"):
            return template
        return posixpath.join(posixpath.dirname(parent), template[2:])


def _points(value: float) -> str:
    # Sums of scores are fractions with small denominators, which can be recovered exactly from a float.
    return decimals(Fraction(value).limit_denominator(1_000_000))


def shown_path(template: str, own: Iterable[str]) -> str:
    """A template's path for messages: a shipped one begins with `prompts/`."""
    return template if template in own else f"prompts/{template}"


def error_location(error: BaseException, own: Iterable[str]) -> str | None:
    """The file and line of the template in which an error happened; None if it was in none."""
    root = f"{resources.prompts()}{os.sep}"
    if isinstance(error, TemplateSyntaxError) and error.name:
        return f"{shown_path(error.name, own)}:{error.lineno}"
    for frame in reversed(traceback.extract_tb(error.__traceback__)):
        if frame.filename.endswith(SUFFIX):
            return f"{shown_path(frame.filename.removeprefix(root).replace(os.sep, '/'), own)}:{frame.lineno}"
    if isinstance(error, TemplateNotFound):
        return shown_path(str(error.name), own)
    return None


def error_text(error: BaseException) -> str:
    """An error as one line of text, without its full stop."""
    text = " ".join(str(error).split()).removesuffix(".")
    if isinstance(error, TemplateNotFound):
        return f"no template {short_repr(str(error.name))}"
    name = "" if isinstance(error, TemplateError) else f"{type(error).__name__}: "
    return f"{name}{text if text.isprintable() and len(text) <= 160 else short_repr(text, 120)}"


class KnownNames(NamedTuple):
    """The names that a brief provides to its templates, and whose brief it is, as in "a judge's"."""

    whose: str
    given: frozenset[str]


class TemplateCheck:
    """A parsed template: which templates it includes, which names it uses, and its mistakes."""

    def __init__(self, environment: Environment, name: str, text: str):
        self.name = name
        self.mistakes: list[tuple[int, str]] = []
        """Line, and a sentence on what is wrong there."""
        self.leads: list[tuple[str, int]] = []
        """The templates that it includes or extends, with the lines."""
        self.uses: dict[str, int] = {}
        """The names that it takes from a brief, with the line of the first use."""
        self.asks: set[str] = set()
        """Those of them that may be missing, since it tests for them."""
        self.sets: set[str] = set()
        self._environment = environment
        try:
            self._read(environment.parse(text, name))
            if not self.mistakes:
                environment.compile(text, name)
        except TemplateSyntaxError as error:
            self.mistakes.append((error.lineno, f"{error_text(error)}."))
        except RecursionError:
            self.mistakes.append((1, "the template is nested too deeply."))

    def _read(self, tree: nodes.Template) -> None:
        for kind, word, known in (
            (nodes.Filter, "filter", self._environment.filters),
            (nodes.Test, "test", self._environment.tests),
        ):
            for node in tree.find_all(kind):
                if node.name is not None and node.name not in known:
                    problem = f"there is no {word} {short_repr(node.name)}. {suggest(node.name, known)}"
                    self.mistakes.append((node.lineno, problem.rstrip()))
                if node.name in _ABSENT and isinstance(node.node, nodes.Name):
                    self.asks.add(node.node.name)
        for leading in tree.find_all(_LEADING):
            self._follow(leading)
        self.sets = {node.name for node in tree.find_all(nodes.Name) if node.ctx != "load"}
        if not self.mistakes:
            free = meta.find_undeclared_variables(tree)
            lines: dict[str, int] = {}
            for name, line in _free(tree, frozenset()):
                lines.setdefault(name, line)
            self.uses = {name: lines.get(name, 1) for name in sorted(free, key=lambda name: (lines.get(name, 1), name))}

    def _follow(self, node: Any) -> None:
        """Notes which template an include, import or extends leads to, or that there is none."""
        given = [node.template] if isinstance(node.template, nodes.Const) else getattr(node.template, "items", [])
        names = [node.value for node in given if isinstance(node, nodes.Const) and isinstance(node.value, str)]
        paths = [self._environment.join_path(name, self.name) for name in names]
        known = set(self._environment.list_templates())
        found = [path for path in paths if path in known]
        if isinstance(node, nodes.Include | nodes.Extends):
            self.leads += [(path, node.lineno) for path in found[:1]]
        if names and len(names) == len(given) and not found and not getattr(node, "ignore_missing", False):
            problem = f"there is no template {' or '.join(map(short_repr, names))}. {suggest(paths[0], known)}"
            self.mistakes.append((node.lineno, problem.rstrip()))


def _free(node: nodes.Node, bound: frozenset[str]) -> Iterator[tuple[str, int]]:
    """The names that are read without being set around it, with their lines, in order."""
    if isinstance(node, nodes.Name):
        if node.ctx == "load" and node.name not in bound:
            yield node.name, node.lineno
        return
    if isinstance(node, nodes.For):
        yield from _free(node.iter, bound)
        inner = bound | {"loop"} | {name.name for name in _stored(node.target)}
        for child in [*node.body, *([node.test] if node.test else [])]:
            yield from _free(child, inner)
        for child in node.else_:
            yield from _free(child, bound)
        return
    if isinstance(node, nodes.Macro | nodes.CallBlock):
        bound = bound | {argument.name for argument in node.args} | {"caller", "varargs", "kwargs"}
    if isinstance(node, nodes.With):
        for value in node.values:
            yield from _free(value, bound)
        bound = bound | {name.name for target in node.targets for name in _stored(target)}
    for child in node.iter_child_nodes(exclude=("values",) if isinstance(node, nodes.With) else None):
        yield from _free(child, bound)


def _stored(target: nodes.Node) -> list[nodes.Name]:
    return [target] if isinstance(target, nodes.Name) else list(target.find_all(nodes.Name))


class EntryTemplate(NamedTuple):
    """A template that briefs are rendered from, as opposed to one that others include."""

    kinds: list[KnownNames]
    """The names that each kind of these briefs provides."""
    where: str
    """The place to name in messages if the template is not the user's own."""


def find_problems(environment: Environment, own: Mapping[str, str], roots: Mapping[str, EntryTemplate]) -> list[str]:
    """Every mistake in the templates in `own`, which are the user's, and in how they use the shipped ones.

    `roots` are the templates that briefs are rendered from, by name; names without a template are passed over. A
    template that no root leads to may use the names of any brief.
    """
    existing = set(environment.list_templates())
    roots = {name: root for name, root in roots.items() if name in existing}
    checks: dict[str, TemplateCheck] = {}

    def check(name: str) -> TemplateCheck:
        if name not in checks:
            source, _, _ = environment.loader.get_source(environment, name)  # type: ignore[union-attr]
            checks[name] = TemplateCheck(environment, name, source)
        return checks[name]

    problems: dict[str, None] = {}  # an ordered set: two briefs may find the same mistake
    reached: set[str] = set()
    any_brief = frozenset().union(*(names.given for root in roots.values() for names in root.kinds))
    for name, root in roots.items():
        for names in root.kinds:
            problems |= dict.fromkeys(_unknown_names(name, names, root.where, check, own, reached, any_brief))
    for name in own:
        problems |= dict.fromkeys(f"{name}:{line}: {problem}" for line, problem in check(name).mistakes)
        if name not in reached:
            names = KnownNames("no", any_brief)
            problems |= dict.fromkeys(_unknown_names(name, names, name, check, own, reached, any_brief))
    return list(problems)


def _unknown_names(
    root: str,
    names: KnownNames,
    where: str,
    check: Callable[[str], TemplateCheck],
    own: Iterable[str],
    reached: set[str],
    any_brief: frozenset[str],
) -> Iterator[str]:
    """Problems with names that a template, or one it leads to, uses and no such brief provides.

    A mistake in a shipped template is the user's if one of theirs includes it, and is then reported at that line, or
    else at `where`. Adds the templates that are reached to `reached`.
    """
    waiting = [(root, names.given, where)]
    seen: set[str] = set()
    while waiting:
        name, given, where = waiting.pop()
        if name in seen:
            continue
        seen.add(name)
        template = check(name)
        given = given | template.sets
        for used, line in template.uses.items():
            if used in given or (used in template.asks and used in any_brief):
                continue
            at, user = (f"{name}:{line}", "") if name in own else (where, f", which {shown_path(name, own)} uses")
            subject = "no brief provides" if names.whose == "no" else f"{names.whose} brief does not provide"
            problem = f"{at}: {subject} the name {short_repr(used)}{user}."
            if used in any_brief:
                yield f"{problem} Another brief does."
            elif near := suggest(used, given if name in own else names.given):
                yield f"{problem} {near}"
            else:
                yield with_hint(problem, f"one of {', '.join(sorted(names.given))}")
        waiting += [(path, given, f"{name}:{line}" if name in own else where) for path, line in template.leads]
    reached |= seen
