"""Stand-ins for a host's agents: they answer every turn that is due, from fixed words, in the shape asked for."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import reply_codes

Say = Callable[[dict[str, Any]], str | dict[str, Any] | None]
"""A waiting turn to its reply; None leaves it to the stand-ins."""


def ballot(a: float = 7, b: float = 6, *, rounds: int = 3, strict: bool = True, **changes: Any) -> dict[str, Any]:
    """A ballot of the adversarial format in which every criterion has the side's points."""
    criteria = ["argument_quality", "use_of_evidence"] + (["directness_of_rebuttals"] if rounds > 1 else [])
    both = {"a": "for A", "b": "for B"}
    made: dict[str, Any] = {
        "scores": {"a": dict.fromkeys(criteria, a), "b": dict.fromkeys(criteria, b)},
        "strongest": both,
        "weakest": both,
        "winner": "a" if a > b else "b" if b > a else "tie",
        "justification": "It was better argued.",
        "feedback": {"a": "Advice meant for A.", "b": "Advice meant for B."},
        "convergence": {"detected": False, "criteria": [], "side": None},
        "conceded": None,
    }
    if strict:
        made["unsupported_claims"] = []
    return made | changes


def converging(side: str = "b", **changes: Any) -> dict[str, Any]:
    """A ballot that finds convergence."""
    return ballot(convergence={"detected": True, "criteria": ["same claim"], "side": side}, **changes)


def final(winner: str = "a", **changes: Any) -> dict[str, Any]:
    """A final verdict."""
    return {
        "winner": winner,
        "converged_on": "the middle" if winner == "consensus" else None,
        "strength": "consensus" if winner == "consensus" else "narrow",
        "justification": "It came down to one point. A made it. B did not answer it.",
        "strongest_argument": {"seat": "a", "argument": "The argument from cost.", "why": "Nobody answered it."},
        "unresolved_questions": ["What does it cost in year two?", "Who maintains it?"],
        "follow_up": "Measure the cost.",
    } | changes


def dissent(turns: list[str] | None = None) -> dict[str, Any]:
    """A dissent record of one row."""
    row = {"claim": "It is cheaper.", "a": "It is.", "b": "It is not.", "status": "unresolved"}
    return {"rows": [row | {"turns": turns or ["1.opening.a", "1.opening.b"]}]}


def issues(count: int = 8) -> dict[str, Any]:
    """A list of issues."""
    questions = [f"Question {n}?" for n in range(1, count + 1)]
    return {"cases": ["You are few.", "You are many."], "issues": questions, "unknowns": []}


def advice() -> dict[str, Any]:
    """The rapporteur's advice before the debate."""
    return {
        "advice": "Move at once.",
        "sure": 60,
        "by_case": [{"if": "you are few", "then": "Stay."}, {"if": "you are many", "then": "Move."}],
        "considerations": [{"heading": f"Point {n}", "text": "It was so in 2019, from memory."} for n in range(4)],
        "objections": [{"heading": f"Doubt {n}", "text": "It may be otherwise."} for n in range(2)],
        "would_change": ["More than 10 incidents a month.", "Fewer than two who can run it."],
        "do_next": ["This week: count incidents; under 10 is a pass.", "Next week: try it."],
        "trust": "All of it is from memory.",
    }


def brief(**changes: Any) -> dict[str, Any]:
    """A brief that its own table and the record support; it follows the side that lost."""
    why = [
        {
            "heading": f"Point {n}",
            "consideration": f"Reason {n}.",
            "side": "b",
            "mark": "not challenged",
            "turns": ["1.opening.b"],
            "dissent_row": None,
        }
        for n in range(4)
    ]
    do = "Stay for a year. Count what that costs."
    cases = [("you are many", "Move.", 80), ("you are new", "Wait.", 75), ("you must move", "Move soon.", 70)]
    against = {"Cost": "Waiting costs more each month.", "Skills": "People who know it leave."}
    return {
        "recommendation": {"do": do, "sure": 70, "why_not_more": "the load is unknown", "check_first": "the load"}
        | {"sides_with": "b"},
        "by_case": [dict(zip(("if", "then", "sure"), case, strict=True)) for case in cases],
        "weighing": "What speaks for it is certain.",
        "why": why,
        "objections": [{"heading": heading, "text": text} for heading, text in against.items()],
        "would_change": ["More than 10 incidents a month.", "Fewer than two who can run it."],
        "do_next": ["This week: count last month's incidents.", "Next month: look again."],
        "trust": "Nothing was checked.",
        "changed": "The debate turned the advice round.",
    } | changes


def reply(turn: dict[str, Any], *, rounds: int = 3, strict: bool = True) -> str | dict[str, Any]:
    """What a stand-in says to a waiting turn."""
    match turn["turn"].split("."):
        case ["start", "issues", *_]:
            return issues()
        case ["start", "advice", *_]:
            return advice()
        case ["final", "verdict", *_]:
            return final()
        case ["final", "dissent", *_]:
            return dissent()
        case ["final", "brief-check", *_]:
            return {"findings": []}
        case ["final", "brief" | "brief-revised", *_]:
            return brief()
        case [_, "verdict", *_]:
            return ballot(rounds=rounds, strict=strict)
    return f"This is what {turn['seat']} says in {turn['turn']}.\n\nAnd this is **why**."


def answer(turns: list[dict[str, Any]], say: Say | None = None, *, root: Path = Path("."), **terms: Any) -> None:
    """Puts a reply beside every brief."""
    for turn in turns:
        said = say(turn) if say else None
        said = reply(turn, **terms) if said is None else said
        hand_in(turn, said, root)


def hand_in(turn: dict[str, Any], reply: str | dict[str, Any], root: Path = Path(".")) -> None:
    """Puts a reply with the code of its brief beside the brief."""
    brief = (root / turn["brief"]).read_text(encoding="utf-8")
    (root / turn["reply"]).write_text(reply_codes.coded(brief, reply), encoding="utf-8")
