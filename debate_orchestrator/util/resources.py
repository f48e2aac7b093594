"""The files that ship with the package: prompts/, examples/ and skill/, and the digests of templates.

An installed package has them inside, a checkout beside the package. The inside is looked at first, so that a stray
`site-packages/prompts` can't win.
"""

from __future__ import annotations

import hashlib
import os
from functools import cache
from pathlib import Path
from typing import Any

from debate_orchestrator.util.data import read_mapping
from debate_orchestrator.util.errors import BadFile, BadFormat, short_repr, suggest

_PACKAGE = Path(__file__).resolve().parent.parent


@cache
def folder(name: str) -> Path:
    """The shipped folder of that name (`prompts`, `examples`, `skill`). Raises BadFile if this installation has
    none."""
    for place in (_PACKAGE / "_shipped" / name, _PACKAGE.parent / name):
        if place.is_dir():
            return place
    raise BadFile(f"This installation has no folder {name}/.", hint="install the package again")


def prompts() -> Path:
    return folder("prompts")


def read_yaml(name: str) -> dict[str, Any]:
    """A YAML file of prompts/, by its path there."""
    return read_mapping(prompts() / name)


def format_names() -> list[str]:
    return sorted(path.parent.name for path in (prompts() / "formats").glob("*/format.yaml"))


@cache
def format_folder(name: str) -> Path:
    """The folder of a shipped format. Raises BadFormat, with the known names, if there is none of that name."""
    shipped = prompts() / "formats"
    if name not in os.listdir(shipped) or not (shipped / name / "format.yaml").is_file():
        problem = f"format: there is no format {short_repr(name)}. {suggest(name, format_names())}".rstrip()
        raise BadFormat(problem, hint=f"one of {', '.join(format_names())}; `debate formats` lists them")
    return shipped / name


def digests(*format_names: str) -> dict[str, str]:
    """The sha256 of every template that briefs of these formats may use, by its path in prompts/."""
    folders = {f"formats/{name}": format_folder(name) for name in format_names} | {"shared": prompts() / "shared"}
    by_path = {f"{place}/{name}": digest for place, path in folders.items() for name, digest in _in_folder(path)}
    return dict(sorted(by_path.items()))


@cache
def _in_folder(path: Path) -> tuple[tuple[str, str], ...]:
    """Name and sha256 of each template in a folder, read once: a process also renders what it read first."""
    templates = [file for file in path.iterdir() if file.suffix == ".j2"]
    return tuple((file.name, hashlib.sha256(file.read_bytes()).hexdigest()) for file in templates)
