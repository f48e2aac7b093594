"""Debates in a browser: routes, views and live streams over the public API. It decides nothing about debates."""

from __future__ import annotations

from importlib.util import find_spec

from debate_orchestrator.util.errors import BadSettings


def must_be_installed() -> None:
    """Raises BadSettings where the extra is not installed. It is called before other modules here are imported."""
    if any(find_spec(name) is None for name in ("uvicorn", "starlette", "PIL")):
        hint = 'pip install "debate-orchestrator[web]"'
        raise BadSettings("`debate serve` needs the extra `web`.", hint=hint)
