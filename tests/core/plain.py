"""The smallest format there is, to be changed into others."""

from __future__ import annotations

from typing import Any

from debate_orchestrator.core.format import Format

PLAIN: dict[str, Any] = {
    "name": "plain",
    "title": "Plain",
    "about": "",
    "seats": {
        "a": {"name": "Anna", "side": "Pro", "tag": "A"},
        "b": {"name": "Ben", "side": "Con", "tag": "B"},
        "judge": {"name": "Jo", "tag": "J"},
    },
    "round": [{"name": "speech", "title": "Speech", "tag": "SPEECH", "seats": ["a", "b"]}],
    "after": [{"name": "end", "title": "End", "tag": "END", "seats": ["judge"], "order": "at once", "reply": "final"}],
    "shapes": {
        "ballot": {
            "scores": {"kind": "scores"},
            "winner": {"kind": "choice", "of": ["a", "b", "tie"]},
            "convergence": {
                "kind": "record",
                "fields": {
                    "detected": {"kind": "flag"},
                    "criteria": {"kind": "choices", "of": ["same"], "only_if": {"detected": True}},
                    "side": {"kind": "choice", "of": ["a", "b", "both"], "only_if": {"detected": True}},
                },
            },
            "conceded": {"kind": "choice", "optional": True},
        },
        "final": {"winner": {"kind": "choice", "of": ["a", "b", "tie"]}},
    },
    "rubric": {
        "name": "plain",
        "least": 0,
        "most": 5,
        "criteria": {"wit": {"title": "Wit", "about": ""}},
        "strictness": {"strict": {"about": "", "judge": "", "debaters": ""}},
    },
    "labels": dict.fromkeys(("round", "intervention", "divergence", "persisted", "final"), "-"),
    "lines": {"concede": "You win.", "decline": "No."},
}
"""The smallest format: both speak in turn, and a judge says in the end who won."""
BALLOT = {"name": "vote", "title": "Vote", "tag": "VOTE", "seats": ["judge"], "order": "at once", "reply": "ballot"}


def rules(**changes: Any) -> Format:
    """The plain format with changes."""
    return Format.model_validate(PLAIN | changes)


def phase(name: str, *seats: str, **how: Any) -> dict[str, Any]:
    return {"name": name, "title": name.title(), "tag": name.upper(), "seats": seats, **how}
