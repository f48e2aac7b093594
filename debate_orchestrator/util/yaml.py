"""A strict YAML reader, and a writer whose output it reads back unchanged. Import it late: most verbs need no YAML.

Anchors, aliases and tags are refused. Values mean what people expect: `no` and `1:30` are text, and only `true` and
`false` are booleans. libyaml reads the text, and Python composes its nodes: deep nesting can crash libyaml's composer.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import yaml
from yaml.composer import Composer
from yaml.constructor import SafeConstructor
from yaml.parser import Parser
from yaml.reader import Reader
from yaml.resolver import Resolver
from yaml.scanner import Scanner

from debate_orchestrator.util.sanitize import visible_repr

try:
    from yaml.cyaml import CParser  # type: ignore[attr-defined]
except ImportError:  # PyYAML was built without libyaml

    class CParser(Reader, Scanner, Parser):  # type: ignore[no-redef]
        """The same in Python, eight times slower."""

        def __init__(self, text: str):
            Reader.__init__(self, text)
            Scanner.__init__(self)
            Parser.__init__(self)


MAX_NODES = 50_000
"""Values and keys of a text that is still read: each takes time and a kilobyte of memory."""


class _Loader(Composer, CParser, SafeConstructor, Resolver):
    """The safe loader without aliases, tags, dates, numbers in base 60 (`1:30`), and yes and no as booleans."""

    yaml_implicit_resolvers: dict[str, list[tuple[str, re.Pattern[str]]]] = {}

    def __init__(self, text: str, max_nodes: int):
        CParser.__init__(self, text)
        for part in (Composer, SafeConstructor, Resolver):
            part.__init__(self)
        self._nodes, self._max_nodes = 0, max_nodes

    def compose_node(self, parent: Any, index: Any) -> Any:
        event: Any = self.peek_event()
        self._nodes += 1
        if self._nodes > self._max_nodes:
            problem = f"it has more than {self._max_nodes:,} values and keys"
            raise yaml.MarkedYAMLError(problem=problem, problem_mark=event.start_mark)
        if isinstance(event, yaml.AliasEvent) or event.anchor or getattr(event, "tag", None):
            raise yaml.MarkedYAMLError(
                problem="anchors (&name), aliases (*name) and tags (!name) are not supported",
                problem_mark=event.start_mark,
            )
        return super().compose_node(parent, index)

    def construct_mapping(self, node: Any, deep: bool = False) -> Any:
        names = set()
        for key, _ in node.value:
            name = getattr(key, "value", None)
            if isinstance(name, str) and name in names:
                problem = f"the key {visible_repr(name)} appears twice"
                raise yaml.MarkedYAMLError(problem=problem, problem_mark=key.start_mark)
            names.add(name if isinstance(name, str) else id(key))
        return super().construct_mapping(node, deep)


_WHOLE = r"[-+]?(?:0|[1-9][0-9]{0,17})"
for _tag, _pattern, _first in (
    ("tag:yaml.org,2002:bool", r"^(?:true|True|false|False)$", "tTfF"),
    ("tag:yaml.org,2002:int", rf"^{_WHOLE}$", "-+0123456789"),
    ("tag:yaml.org,2002:float", rf"^{_WHOLE}\.[0-9]{{1,18}}(?:e[-+][0-9]{{1,3}})?$", "-+0123456789"),
    ("tag:yaml.org,2002:null", r"^(?:~|null|Null|NULL|)$", ["~", "n", "N", ""]),
):
    _Loader.add_implicit_resolver(_tag, re.compile(_pattern), list(_first))


class _Dumper(yaml.SafeDumper):
    """Quotes text that `_Loader` would read as anything but text."""

    yaml_implicit_resolvers = _Loader.yaml_implicit_resolvers


def _text(dumper: yaml.SafeDumper, text: str) -> yaml.ScalarNode:
    style = '"' if re.search("[\x85\u2028\u2029]", text) else None
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style=style)


_Dumper.add_representer(str, _text)


class InvalidYaml(ValueError):
    """A text is not valid YAML; `line` is the line of the mistake, if known."""

    def __init__(self, problem: str, line: int | None = None):
        self.line = line
        super().__init__(problem)


def load(text: str) -> Any:
    """The value that a YAML text holds. Raises InvalidYaml, with the place, if it is not valid."""
    return load_with_lines(text)[0]


def load_with_lines(text: str, max_nodes: int = MAX_NODES) -> tuple[Any, dict[tuple[str, ...], int]]:
    """The value of a YAML text of at most so many values and keys, and the line of every value in it (or of its key).
    Lines are found by the path of keys that leads to the value; positions in a list are written as digits. Raises
    InvalidYaml as `load`."""
    try:
        loader = _Loader(text, max_nodes)
        root = loader.get_single_node()
        return (None, {}) if root is None else (loader.construct_document(root), _lines(root))
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark
        where = f" (line {mark.line + 1}, column {mark.column + 1})" if mark is not None else ""
        raise InvalidYaml(f"{error.problem}{where}", mark.line + 1 if mark is not None else None) from None
    except yaml.YAMLError as error:
        position = getattr(error, "position", None)
        line = text.encode()[:position].count(b"\n") + 1 if isinstance(position, int) else None
        raise InvalidYaml(str(error), line) from None
    except UnicodeEncodeError as error:
        raise InvalidYaml("half a character (a surrogate)", text.count("\n", 0, error.start) + 1) from None
    except (ValueError, OverflowError):  # an escape such as "\\UFFFFFFFF"
        raise InvalidYaml("an escaped character that does not exist") from None
    except RecursionError:
        raise InvalidYaml("it is nested too deeply") from None


def _lines(root: yaml.Node) -> dict[tuple[str, ...], int]:
    waiting: list[tuple[tuple[str, ...], yaml.Node]] = [((), root)]
    lines = {keys: node.start_mark.line + 1 for keys, node in waiting}
    while waiting:
        keys, node = waiting.pop()
        if isinstance(node, yaml.MappingNode):
            inner = [(str(key.value), key, value) for key, value in node.value]
        elif isinstance(node, yaml.SequenceNode):
            inner = [(str(n), value, value) for n, value in enumerate(node.value)]
        else:
            continue
        lines |= {(*keys, name): node.start_mark.line + 1 for name, node, _ in inner}
        waiting += [((*keys, name), value) for name, _, value in inner]
    return lines


def dump(value: Mapping[str, Any], *, ascii_only: bool = False) -> str:
    """`value` as YAML that `load` reads back unchanged; with `ascii_only` it is safe on any terminal."""
    return str(yaml.dump(dict(value), Dumper=_Dumper, sort_keys=False, allow_unicode=not ascii_only, width=100))
