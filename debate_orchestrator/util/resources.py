"""Where the words lie: finds prompts/, reads its files, and tells their digests.

In an installed package prompts/ lies inside the package; in a checkout it lies beside it. The inside
is looked at first, so that a stray `site-packages/prompts` can't win.
"""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

from debate_orchestrator.util.data import read_mapping
from debate_orchestrator.util.errors import BadFile, BadFormat, complaint, short_repr, suggest

_PACKAGE = Path(__file__).resolve().parent.parent


def folder(name: str) -> Path:
    """The shipped folder of that name (`prompts`, `examples`, `skill`); BadFile if this installation has none."""
    for place in (_PACKAGE / "_shipped" / name, _PACKAGE.parent / name):
        if place.is_dir():
            return place
    raise BadFile(complaint(name, "an installation without it", f"a folder {name}/", "Install the package again."))


def prompts() -> Path:
    return folder("prompts")


def read_yaml(name: str) -> dict[str, Any]:
    """A YAML file of prompts/, by its path there."""
    return read_mapping(prompts() / name)


def format_names() -> list[str]:
    """The formats that there are."""
    return sorted(path.parent.name for path in (prompts() / "formats").glob("*/format.yaml"))


def format_folder(name: str) -> Path:
    """The folder of a format; BadFormat, with the names there are, where it is unknown."""
    if name not in format_names():
        hint = f"{suggest(name, format_names())} `debate formats` lists them.".lstrip()
        raise BadFormat(complaint("format", short_repr(name), "one of " + ", ".join(format_names()), hint))
    return prompts() / "formats" / name


def digests(*format_names: str) -> dict[str, str]:
    """Every template that briefs of these formats may be made of, by its path in prompts/, with its sha256."""
    root = prompts()
    folders = [*map(format_folder, format_names), root / "shared"]
    used = [path for folder in folders for path in folder.glob("*.j2")]
    return {path.relative_to(root).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest() for path in sorted(used)}
