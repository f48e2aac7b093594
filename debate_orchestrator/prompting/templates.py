"""Templates: found by their path, proofread, and rendered over plain data.

A template that travels with a debate is found before one of prompts/. `./piece.md.j2` is a neighbour in the
same folder. What is wrong with a template is told as `FILE:LINE`.

A template may come from a stranger, in a format's folder or in a journal. What it can reach is listed here: plain data,
a few functions over it (`functions`), a few methods of text and mappings (`METHODS`), and those of Jinja's filters that
only make text. Anything else that could be called is refused. This file imports nothing that a process without files,
network and environment could not do with: `template_worker` renders strangers' templates in one.
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
from jinja2.sandbox import ImmutableSandboxedEnvironment
from jinja2.utils import Namespace

from debate_orchestrator.util import resources, sanitize
from debate_orchestrator.util.errors import complaint, short_repr, suggest
from debate_orchestrator.util.numbers import decimals

ENDING = ".j2"
_LEADING = (nodes.Include, nodes.Extends, nodes.Import, nodes.FromImport)
_ABSENT = ("defined", "undefined", "default", "d")
"""Tests and filters by which a template asks for a name that may not be there."""


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
_GLOBALS = ("dict", "namespace", "range")
# Left out: `attr` reaches past the data, `random` makes a brief that can't be made again, and those for HTML are for
# pages.
_FILTERS = (
    "abs", "batch", "capitalize", "center", "count", "d", "default", "dictsort", "first", "float", "format",
    "groupby", "indent", "int", "items", "join", "last", "length", "list", "lower", "map", "max", "min",
    "reject", "rejectattr", "replace", "reverse", "round", "select", "selectattr", "slice", "sort", "string",
    "sum", "title", "trim", "truncate", "unique", "upper", "wordcount", "wordwrap",
)  # fmt: skip
_JINJAS = (BlockReference, LoopContext, Macro, TemplateReference)
"""What Jinja itself lends to a template: `loop`, macros, blocks."""
_LOOP = frozenset({"changed", "cycle", "depth", "depth0", "first", "index", "index0", "last", "length"}) | {
    "nextitem", "previtem", "revindex", "revindex0"
}  # fmt: skip


_LAZY = ("batch", "items", "map", "reject", "rejectattr", "reverse", "select", "selectattr", "slice", "unique")
"""Filters of Jinja's that make a list only when it is read; as text they would be a place in memory."""
_PLAIN = (str, int, float, list, tuple, dict, range, NoneType, Undefined)
"""What may be put out; putting out what is undefined says so."""


def _read_out(lazy: Callable[..., Any]) -> Callable[..., Any]:
    """A filter that makes its list at once."""

    @wraps(lazy)  # and so marked as what Jinja passes its context to
    def made(*given: Any, **named: Any) -> Any:
        value = lazy(*given, **named)
        return value if isinstance(value, str) else list(value)

    return made


def _put_out(value: Any) -> Any:
    if not isinstance(value, _PLAIN):
        raise TypeError(f"a {type(value).__name__} is put out, which is no plain value")
    return value


def _methods(value: object) -> frozenset[str]:
    return next((names for kind, names in METHODS.items() if isinstance(value, kind)), frozenset())


class Function:
    """A function of ours, or a method, that templates may call."""

    __slots__ = ("_call",)

    def __init__(self, call: Callable[..., Any]):
        self._call = call

    def __call__(self, *given: Any, **named: Any) -> Any:
        return self._call(*given, **named)

    def __repr__(self) -> str:
        return "<function>"


class FunctionContext(NamedTuple):
    """What the functions of a brief know."""

    nonce: str = ""
    names: Mapping[str, str] = MappingProxyType({})
    """Seat to what it is called."""
    labels: Mapping[str, str] = MappingProxyType({})
    """Side to `Pro` or `Con`."""


def functions(terms: FunctionContext) -> dict[str, Function]:
    """The functions that templates may call. `fence` closes over the nonce, so that none can be forgotten."""
    return {
        "fence": Function(lambda text: sanitize.fence(text, terms.nonce)),
        "label": Function(lambda side: terms.labels[side]),
        "name": Function(lambda seat: terms.names[seat]),
        "tag": Function(lambda turn: turn["tag"]),
    }


class TemplateFiles(FileSystemLoader):
    """Finds a template among those that travel with a debate, else in prompts/."""

    def __init__(self, own: Mapping[str, str], shipped: Mapping[str, str] | None = None):
        super().__init__(resources.prompts() if shipped is None else ())
        self.own, self.shipped = dict(own), shipped

    def get_source(self, environment: Environment, template: str) -> tuple[str, str, Callable[[], bool]]:
        if template in self.own:
            return self.own[template], template, lambda: True
        if self.shipped is None:
            return super().get_source(environment, template)
        if template not in self.shipped:
            raise TemplateNotFound(template)
        return self.shipped[template], template, lambda: True

    def list_templates(self) -> list[str]:
        return sorted({*self.own, *(super().list_templates() if self.shipped is None else self.shipped)})


class Sandbox(ImmutableSandboxedEnvironment):
    """Renders templates, those in `own` and those of prompts/, which may do nothing but make text. `shipped` holds the
    texts of prompts/ where its files can't be read."""

    def __init__(self, own: Mapping[str, str], shipped: Mapping[str, str] | None = None):
        super().__init__(
            loader=TemplateFiles(own, shipped), undefined=StrictUndefined, autoescape=False, finalize=_put_out
        )
        self.globals = {name: self.globals[name] for name in _GLOBALS}
        self.filters = {name: self.filters[name] for name in _FILTERS}
        self.filters |= {name: _read_out(self.filters[name]) for name in _LAZY}
        self.filters |= {
            "line": sanitize.one_line,
            "address": sanitize.safe_url,
            "compact": lambda value: json.dumps(value, ensure_ascii=False),
            "json": lambda value: json.dumps(value, ensure_ascii=False, indent=1),
            "points": _points,
        }

    def getattr(self, obj: Any, attribute: str) -> Any:
        """What `obj.attribute` is: a method that is listed, else the item of a mapping, else undefined."""
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
        """What `obj[argument]` is; what filters such as `map(attribute=...)` look up, too."""
        if isinstance(obj, dict | list | tuple | str | TemplateReference):
            try:
                return obj[argument]
            except (LookupError, TypeError):
                pass
        return self.getattr(obj, argument) if isinstance(argument, str) else self.undefined(obj=obj, name=argument)

    def _unreachable(self, obj: Any, attribute: str) -> Any:
        if isinstance(obj, Undefined):
            return obj[attribute]  # raises, and says what was undefined
        if not hasattr(obj, attribute):
            return self.undefined(obj=obj, name=attribute)
        return self.unsafe_undefined(obj, attribute)

    def is_safe_callable(self, obj: Any) -> bool:
        """Whether a template may call this: what it is lent, and nothing that it came by."""
        if isinstance(obj, (Function, *_JINJAS)) or any(obj is one for one in self.globals.values()):
            return True
        owner, name = getattr(obj, "__self__", None), getattr(obj, "__name__", "")
        return name in (_LOOP if isinstance(owner, LoopContext) else _methods(owner))

    def rendered(self, names: Sequence[str], values: Mapping[str, Any], terms: FunctionContext) -> str:
        """The text of the first of these templates that there is, over plain data."""
        return self.select_template([*names]).render(**functions(terms), **values).strip("\n")

    def join_path(self, template: str, parent: str) -> str:
        if not template.startswith("./"):
            return template
        return posixpath.join(posixpath.dirname(parent), template[2:])


def _points(value: float) -> str:
    # Sums of scores are fractions of small numbers; a float holds enough of one to find it again.
    return decimals(Fraction(value).limit_denominator(1_000_000))


def told(template: str, own: Iterable[str]) -> str:
    """A template's path as it is told: those of prompts/ from there on."""
    return template if template in own else f"prompts/{template}"


def error_location(error: BaseException, own: Iterable[str]) -> str | None:
    """The file and line of the template in which something went wrong; None where it was in none."""
    root = f"{resources.prompts()}{os.sep}"
    if isinstance(error, TemplateSyntaxError) and error.name:
        return f"{told(error.name, own)}:{error.lineno}"
    for frame in reversed(traceback.extract_tb(error.__traceback__)):
        if frame.filename.endswith(ENDING):
            return f"{told(frame.filename.removeprefix(root).replace(os.sep, '/'), own)}:{frame.lineno}"
    if isinstance(error, TemplateNotFound):
        return told(str(error.name), own)
    return None


def error_text(error: BaseException) -> str:
    """What went wrong, in a line."""
    text = " ".join(str(error).split()).removesuffix(".")
    if isinstance(error, TemplateNotFound):
        return f"no template {short_repr(str(error.name))}"
    name = "" if isinstance(error, TemplateError) else f"{type(error).__name__}: "
    return f"{name}{text if text.isprintable() and len(text) <= 160 else short_repr(text, 120)}"


class KnownNames(NamedTuple):
    """The names that a brief provides, and whose brief it is."""

    whose: str
    given: frozenset[str]


class TemplateCheck:
    """A template, parsed: what it leads to, which names it uses, and what is wrong with it."""

    def __init__(self, environment: Environment, name: str, text: str):
        self.name = name
        self.wrong: list[tuple[int, str, str, str]] = []
        """Line, what came, what was expected, a hint."""
        self.leads: list[tuple[str, int]] = []
        """The templates that are rendered within it with its names, and where."""
        self.uses: dict[str, int] = {}
        """The names that it takes from a brief, and where first."""
        self.asks: set[str] = set()
        """Those that it can do without."""
        self.sets: set[str] = set()
        self._environment = environment
        try:
            self._read(environment.parse(text, name))
            if not self.wrong:
                environment.compile(text, name)
        except TemplateSyntaxError as error:
            self.wrong.append((error.lineno, error_text(error), "a template", ""))
        except RecursionError:
            self.wrong.append((1, "nesting without end", "a template", ""))

    def _read(self, tree: nodes.Template) -> None:
        for kind, word, known in (
            (nodes.Filter, "filter", self._environment.filters),
            (nodes.Test, "test", self._environment.tests),
        ):
            for node in tree.find_all(kind):
                if node.name is not None and node.name not in known:
                    hint = suggest(node.name, known)
                    self.wrong.append(
                        (node.lineno, f"the {word} {short_repr(node.name)}", f"a {word} that there is", hint)
                    )
                if node.name in _ABSENT and isinstance(node.node, nodes.Name):
                    self.asks.add(node.node.name)
        for leading in tree.find_all(_LEADING):
            self._follow(leading)
        self.sets = {node.name for node in tree.find_all(nodes.Name) if node.ctx != "load"}
        if not self.wrong:
            free = meta.find_undeclared_variables(tree)
            lines: dict[str, int] = {}
            for name, line in _free(tree, frozenset()):
                lines.setdefault(name, line)
            self.uses = {name: lines.get(name, 1) for name in sorted(free, key=lambda one: (lines.get(one, 1), one))}

    def _follow(self, node: Any) -> None:
        """Notes where a template leads, and complains where nothing is there."""
        given = [node.template] if isinstance(node.template, nodes.Const) else getattr(node.template, "items", [])
        names = [one.value for one in given if isinstance(one, nodes.Const) and isinstance(one.value, str)]
        paths = [self._environment.join_path(name, self.name) for name in names]
        there = set(self._environment.list_templates())
        found = [path for path in paths if path in there]
        if isinstance(node, nodes.Include | nodes.Extends):
            self.leads += [(path, node.lineno) for path in found[:1]]
        if names and len(names) == len(given) and not found and not getattr(node, "ignore_missing", False):
            hint = suggest(paths[0], there)
            self.wrong.append(
                (node.lineno, f"no template {' or '.join(map(short_repr, names))}", "one that there is", hint)
            )


def _free(node: nodes.Node, bound: frozenset[str]) -> Iterator[tuple[str, int]]:
    """The names that are read where nothing around them has set them, with their lines, in order."""
    if isinstance(node, nodes.Name):
        if node.ctx == "load" and node.name not in bound:
            yield node.name, node.lineno
        return
    if isinstance(node, nodes.For):
        yield from _free(node.iter, bound)
        inner = bound | {"loop"} | {one.name for one in _stored(node.target)}
        for one in [*node.body, *([node.test] if node.test else [])]:
            yield from _free(one, inner)
        for one in node.else_:
            yield from _free(one, bound)
        return
    if isinstance(node, nodes.Macro | nodes.CallBlock):
        bound = bound | {one.name for one in node.args} | {"caller", "varargs", "kwargs"}
    if isinstance(node, nodes.With):
        for one in node.values:
            yield from _free(one, bound)
        bound = bound | {inner.name for one in node.targets for inner in _stored(one)}
    for one in node.iter_child_nodes(exclude=("values",) if isinstance(node, nodes.With) else None):
        yield from _free(one, bound)


def _stored(target: nodes.Node) -> list[nodes.Name]:
    return [target] if isinstance(target, nodes.Name) else list(target.find_all(nodes.Name))


class EntryTemplate(NamedTuple):
    """A template of which briefs are made."""

    kinds: list[KnownNames]
    """The names that each kind of these briefs provides."""
    where: str
    """The place that has it so, for one that is not the user's."""


def find_mistakes(environment: Environment, own: Mapping[str, str], roots: Mapping[str, EntryTemplate]) -> list[str]:
    """Everything that is wrong with the templates in `own`, which are the user's, and with how the others in
    `roots` are used, as far as there are any of that name. What no brief is made of may use the names of any."""
    there = set(environment.list_templates())
    roots = {name: root for name, root in roots.items() if name in there}
    proofs: dict[str, TemplateCheck] = {}

    def proof(name: str) -> TemplateCheck:
        if name not in proofs:
            source, _, _ = environment.loader.get_source(environment, name)  # type: ignore[union-attr]
            proofs[name] = TemplateCheck(environment, name, source)
        return proofs[name]

    said: dict[str, None] = {}
    reached: set[str] = set()
    everybodys = frozenset().union(*(names.given for root in roots.values() for names in root.kinds))
    looked_at = [(name, names, root.where) for name, root in roots.items() for names in root.kinds]
    for name, names, where in looked_at:
        said |= dict.fromkeys(_unnamed(name, names, where, proof, own, reached, everybodys))
    for name in own:
        said |= dict.fromkeys(complaint(f"{name}:{line}", *rest) for line, *rest in proof(name).wrong)
        if name not in reached:
            said |= dict.fromkeys(_unnamed(name, KnownNames("any", everybodys), name, proof, own, reached, everybodys))
    return list(said)


def _unnamed(
    root: str,
    names: KnownNames,
    where: str,
    proof: Callable[[str], TemplateCheck],
    own: Iterable[str],
    reached: set[str],
    everybodys: frozenset[str],
) -> Iterator[str]:
    """Complaints about names that a template, or one it leads to, uses and no such brief provides; what the
    user's own do not lead to is told at `where`."""
    waiting = [(root, names.given, where)]
    seen: set[str] = set()
    while waiting:
        name, given, where = waiting.pop()
        if name in seen:
            continue
        seen.add(name)
        one = proof(name)
        given = given | one.sets
        for used, line in one.uses.items():
            if used in given or (used in one.asks and used in everybodys):
                continue
            at = f"{name}:{line}" if name in own else where
            got = f"the name {short_repr(used)}" + ("" if name in own else f", which {told(name, own)} uses")
            hint = suggest(used, given if name in own else names.given)
            hint = "Another's has it." if used in everybodys else hint
            hint = hint or f"There are {', '.join(sorted(names.given))}."
            yield complaint(at, got, f"a name that {names.whose} brief provides", hint)
        waiting += [(path, given, f"{name}:{line}" if name in own else where) for path, line in one.leads]
    reached |= seen
