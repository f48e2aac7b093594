"""Tournaments for tests: a small spec, and runs of it in a folder."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from zlib import crc32

from messages_server import schema_of

from debate_orchestrator.tournament import folder
from debate_orchestrator.tournament.folder import Tournament
from debate_orchestrator.tournament.run import TournamentRun
from debate_orchestrator.tournament.spec import Spec
from debate_orchestrator.tournament.spec_file import parse_spec

OPUS, SONNET, HAIKU = "anthropic:claude-opus-5-5", "anthropic:claude-sonnet-5-5", "anthropic:claude-haiku-5-5"
JUDGES = ["anthropic:claude-opus-5", "anthropic:claude-sonnet-5", "anthropic:claude-sonnet-4-6"]


def given(topics: int = 2, **changes: Any) -> dict[str, Any]:
    """The values of a spec file: three models, three judges of whom two judge, swapped sides."""
    rows = [{"id": f"t{n}", "motion": f"Motion {n} holds.", "category": "test"} for n in range(topics)]
    spec = {"tag": "test", "models": [OPUS, SONNET, HAIKU], "judges": {"from": JUDGES, "panel": 2}, "topics": rows}
    return {**spec, "rounds": 1, **changes}


def spec(topics: int = 2, *, rehearse: bool = True, **changes: Any) -> Spec:
    return parse_spec(given(topics, **changes), rehearse=rehearse)


def tournament(path: str | Path = "held", **changes: Any) -> Tournament:
    """A tournament in a folder, with nothing run yet."""
    return folder.create(str(path), spec(**changes))


def runner(held: Tournament, **options: Any) -> TournamentRun:
    """A run that has looked at the journals."""
    run = TournamentRun(held, **options)
    run.look()
    return run


def ran(held: Tournament, **options: Any) -> TournamentRun:
    """A run that was run to its end."""
    run = runner(held, **options)

    async def to_the_end() -> None:
        await run.run(asyncio.Event())

    asyncio.run(to_the_end())
    return run


def replied(request: dict[str, Any]) -> str | None:
    """What a server says to a request of the panel format: a ballot of the shape that is asked for, or a speech."""
    schema = schema_of(request)
    return None if schema is None else json.dumps(fitting(schema, request["model"]))


def fitting(schema: Mapping[str, Any], about: str) -> Any:
    """A value of a JSON Schema: null wherever that is allowed."""
    if "anyOf" in schema:
        return fitting(schema["anyOf"][-1], about)
    kinds = schema.get("type", "string")
    if None in schema.get("enum", ()) or "null" in (kinds if isinstance(kinds, list) else [kinds]):
        return None
    if "enum" in schema:
        return schema["enum"][crc32(about.encode()) % len(schema["enum"])]
    match kinds[0] if isinstance(kinds, list) else kinds:
        case "object":
            return {name: fitting(part, f"{about}, {name}") for name, part in schema.get("properties", {}).items()}
        case "array":
            return [fitting(schema["items"], about)]
        case "boolean":
            return False
        case "number" | "integer":
            return 5 + crc32(about.encode()) % 6
    return f"Words for {about}."


def statuses(run: TournamentRun) -> list[str]:
    """How the debates stand, in the order of the schedule."""
    return [run.standings[debate.id].status for debate in run.tournament.schedule]
