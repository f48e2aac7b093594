"""Whatever speakers, judges, clerks and pages say, the report of any format keeps its own structure."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import pytest
import reading
from hypothesis import given, settings
from hypothesis import strategies as st
from nasty import HUGE, NASTY, SAID, alike, heard, texts
from tellings import FETCHED, Cast, check, checks, evidence, label, refusal, report, rules

from debate_orchestrator import speech

SCORES = {side: dict.fromkeys(rules("panel").rubric.criteria, 7) for side in "ab"}
PANEL = ("1", "2", "3")
Played = tuple[str, dict[str, Any], dict[str, Any]]
"""A format, what is said in it, and how it is played."""
Play = Callable[[str], Played]


def short(text: str) -> str:
    """A text as a field of few words holds it."""
    return " ".join(text.split(" ")[:20])


def claim(text: str) -> Played:
    """A claim in which everybody says it: sides, clerk, pages and judges."""
    one = short(text)
    row = check("1.argument.a", "near match", similarity=0.9)
    found = row | dict.fromkeys(("why", "title", "date", "passage", "digest", "archived", "url"), text)
    sources = [{"turn": "1.argument.a", "credibility": "low", "why": text}]
    vote = label("misleading", 4, summary=text, reasons=text, sources=sources)
    script: dict[str, Any] = {
        "1.argument.a": evidence(quote=one, context=one, argument=one),
        "1.argument.b": refusal(text),
        "1.check.clerk": checks(found),
        **{f"start.blind.judge-{n}": label("supported", 9, why=text) for n in PANEL},
        **{f"final.verdict.judge-{n}": vote for n in PANEL},
    }
    how = {"panel": 3, "blind": True, "cast": FETCHED | {"judge": ("host",) * 3}, "topic": f"As of 2019, {text}"}
    return "claim", script, how


def question(text: str) -> Played:
    """A question to which everybody says it, with faults that both ballots name."""
    faults = [
        {"seat": side, "turn": f"1.argument.{side}", "fault": "misused a quote", "what": text} for side in ("a", "b")
    ]
    vote = {"winner": "a", "probability": 0.75, "reasons": text, "faults": faults}
    script = {f"1.argument.{side}": f"<thinking>{text}</thinking>{text}" for side in ("a", "b")}
    if not heard(speech.tame(script["1.argument.a"]).split("</thinking>")[-1]):
        script = dict.fromkeys(script, text)
    script |= {f"final.verdict.judge{mirrored}": vote for mirrored in ("", ".mirrored")}  # type: ignore[dict-item]
    return "question", script, {"mirror": True, "material": text, "topic": text, "positions": (text, text)}


def panel(text: str) -> Played:
    """A panel that hears it from both sides, and says it."""
    decided = {"scores": SCORES, "decided": {"a": text, "b": text}}
    claims = {"unsupported_claims": [{"seat": "a", "claim": text}, {"seat": "b", "claim": text}]}
    script: dict[str, Any] = {
        "start.opening.a": text,
        "final.closing.b": text,
        **{f"final.verdict.judge-{n}": decided | claims for n in PANEL},
    }
    cast: Cast = {"a": ("host",), "b": ("host",), "judge": ("host",) * 3}
    return "panel", script, {"panel": 3, "blind": True, "cast": cast, "positions": (text, text)}


def own(made: str) -> tuple[Any, ...]:
    """What of a report is its own: headings, rules, links within, and the shape of every table after the transcript."""
    after = made.partition("\n## How It Was Judged\n")[2]
    tokens = list(reading.every(reading.parser().parse(made)))
    return (
        reading.headings(made),
        sum(token.type == "hr" for token in tokens),
        set(reading.links_within(made)),
        [[len(row) for row in table] for table in reading.tables(after)],
    )


@cache
def harmless(play: Play) -> tuple[Any, ...]:
    """What is a report's own where everybody says something harmless."""
    name, script, how = play("So it is, and has been.")
    return own(report(name, script, **how))


def must_be_genuine(play: Play, text: str) -> None:
    """A report in which all say `text` has the structure that it always has."""
    name, script, how = play(text)
    made = report(name, script, **how)

    assert own(made) == harmless(play)
    assert [one for one in reading.forged(made) if not one.startswith(("heading_open", "hr", "link to #"))] == []
    assert made == speech.tame(made)


@pytest.mark.parametrize("play", [claim, question, panel])
@pytest.mark.parametrize("text", SAID)
def test_nobody_forges_a_report(play: Play, text: str) -> None:
    """Claims with a clerk, questions in the mirror and panels keep their headings, rows and links."""
    must_be_genuine(play, text)


@settings(max_examples=10)
@given((texts | st.sampled_from(NASTY).flatmap(alike)).filter(heard), st.sampled_from([claim, question, panel]))
def test_nobody_forges_a_report_by_chance(text: str, play: Play) -> None:
    """Nor does any text that is put together from what markdown takes for structure."""
    must_be_genuine(play, text)


@pytest.mark.parametrize("name", ["hash", "backtick", "pipe", "table"])
def test_nobody_buries_a_report(name: str) -> None:
    """Texts as long as a field may be leave the structure as it was."""
    text = HUGE[name][:19_000]
    _, script, how = claim("x")
    script["1.check.clerk"] = checks(check("1.argument.a", title=text, passage=text, why=text))

    assert own(report("claim", script, **how))[:3] == own(report(*claim("x")[:2], **how))[:3]


def test_fragments_on_one_line_stay_apart() -> None:
    """What one text leaves open is not closed by another that stands on the same line."""
    one, two = "``", "` x `` <b>bold</b> `"
    row = {"seat": "a", "turn": "1.argument.a", "fault": "misused a quote", "what": two}
    found = check("1.argument.a", "near match", title=one, passage=two, why=two, similarity=0.9)
    sources = [{"turn": "1.argument.a", "credibility": "low", "why": two}]
    claims = {"1.check.clerk": checks(found), "final.verdict.judge": label("misleading", 4, sources=sources)}

    assert [one for one in reading.forged(report("claim", claims, cast=FETCHED)) if "html" in one] == []
    assert [
        one for one in reading.forged(report("question", {"final.verdict.judge": {"faults": [row]}})) if "html" in one
    ] == []
