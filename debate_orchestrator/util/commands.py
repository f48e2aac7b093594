"""Commands that a message suggests, written so that a shell takes a file's name for nothing else."""

from __future__ import annotations

import os
import shlex


def command(verb: str, path: str | os.PathLike[str]) -> str:
    """`debate VERB PATH`, as it is typed. The verb may have several words, a flag for the path included."""
    name = os.fspath(path)
    return shlex.join(["debate", *verb.split(), f"./{name}" if name.startswith("-") else name])
