"""Whatever speakers, judges, clerks and pages say, the report of any format keeps its own structure."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, partial
from typing import Any

import pytest
import reading
from dealing import Deal, Hand, deals, dealt_by_chance, hold
from hypothesis import given, settings
from hypothesis import strategies as st
from nasty import HUGE, NASTY, SAID, alike, heard, texts
from tellings import FETCHED, Cast, check, checks, evidence, label, refusal, report, rules

from debate_orchestrator.util import sanitize

SCORES = {side: dict.fromkeys(rules("panel").rubric.criteria, 7) for side in "ab"}
PANEL = ("1", "2", "3")
Played = tuple[str, dict[str, Any], dict[str, Any]]
"""A format, what is said in it, and how it is played."""
Play = Callable[[Hand], Played]


def short(text: str) -> str:
    """A text as a field of few words holds it."""
    return " ".join(text.split(" ")[:20])


def claim(hand: Hand) -> Played:
    """A claim in which everybody says what they are dealt: sides, clerk, pages and judges."""
    row = check("1.argument.a", "near match", similarity=0.9)
    found = row | {name: hand() for name in ("why", "title", "date", "passage", "digest", "archived", "url")}

    def vote() -> dict[str, Any]:
        sources = [{"turn": "1.argument.a", "credibility": "low", "why": hand()}]
        return label("misleading", 4, summary=hand(), reasons=hand(), sources=sources)

    script: dict[str, Any] = {
        "1.argument.a": evidence(quote=short(hand()), context=short(hand()), argument=short(hand())),
        "1.argument.b": refusal(hand()),
        "1.check.clerk": checks(found),
        **{f"start.blind.judge-{n}": label("supported", 9, why=hand()) for n in PANEL},
        **{f"final.verdict.judge-{n}": vote() for n in PANEL},
    }
    how = {"panel": 3, "blind": True, "cast": FETCHED | {"judge": ("host",) * 3}, "topic": f"As of 2019, {hand()}"}
    return "claim", script, how


def question(hand: Hand) -> Played:
    """A question to which everybody says what they are dealt, with faults that both ballots name."""

    def vote() -> dict[str, Any]:
        named = [(side, f"1.argument.{side}") for side in ("a", "b")]
        faults = [{"seat": side, "turn": turn, "fault": "misused a quote", "what": hand()} for side, turn in named]
        return {"winner": "a", "probability": 0.75, "reasons": hand(), "faults": faults}

    script: dict[str, Any] = {}
    for side in ("a", "b"):
        whole, aloud = f"<thinking>{hand()}</thinking>", hand()
        apart = heard(sanitize.sanitize(whole + aloud).split("</thinking>")[-1])
        script[f"1.argument.{side}"] = whole + aloud if apart else aloud
    script |= {f"final.verdict.judge{mirrored}": vote() for mirrored in ("", ".mirrored")}
    return "question", script, {"mirror": True, "material": hand(), "topic": hand(), "positions": (hand(), hand())}


def panel(hand: Hand) -> Played:
    """A panel that hears it from both sides, and says it."""

    def vote() -> dict[str, Any]:
        claims = [{"seat": side, "claim": hand()} for side in ("a", "b")]
        return {"scores": SCORES, "decided": {"a": hand(), "b": hand()}, "unsupported_claims": claims}

    script: dict[str, Any] = {
        "start.opening.a": hand(),
        "final.closing.b": hand(),
        **{f"final.verdict.judge-{n}": vote() for n in PANEL},
    }
    cast: Cast = {"a": ("host",), "b": ("host",), "judge": ("host",) * 3}
    return "panel", script, {"panel": 3, "blind": True, "cast": cast, "positions": (hand(), hand())}


def own(made: str) -> tuple[Any, ...]:
    """What of a report is its own: headings, rules, links within, and the shape of every table after the transcript."""
    after = made.partition("\n## How It Was Judged\n")[2]
    tokens = list(reading.every(reading.parsed(made)))
    return (
        reading.headings(made),
        sum(token.type == "hr" for token in tokens),
        set(reading.links_within(made)),
        [[len(row) for row in table] for table in reading.tables(after)],
    )


@cache
def harmless(play: Play) -> tuple[Any, ...]:
    """What is a report's own where everybody says something harmless."""
    name, script, how = play(Deal(("So it is, and has been.",)).hand())
    return own(report(name, script, **how))


def must_be_genuine(play: Play, deal: Deal) -> None:
    """A report in which all say what they are dealt has the structure that it always has."""
    name, script, how = play(deal.hand())
    made = report(name, script, **how)

    assert own(made) == harmless(play)
    assert [one for one in reading.forged(made) if not one.startswith(("heading_open", "hr", "link to #"))] == []
    assert made == sanitize.sanitize(made)


@pytest.mark.parametrize("play", [claim, question, panel])
@pytest.mark.parametrize("deal", deals(SAID))
def test_nobody_forges_a_report(play: Play, deal: Deal) -> None:
    """Claims with a clerk, questions in the mirror and panels keep their headings, rows and links."""
    hold(partial(must_be_genuine, play), deal)


@settings(max_examples=20)
@given(
    dealt_by_chance((texts | st.sampled_from(NASTY).flatmap(alike)).filter(heard)),
    st.sampled_from([claim, question, panel]),
)
def test_nobody_forges_a_report_by_chance(deal: Deal, play: Play) -> None:
    """Nor does any text that is put together from what markdown takes for structure."""
    must_be_genuine(play, deal)


@pytest.mark.parametrize("names", [("hash", "backtick", "pipe"), ("table", "hash", "backtick")])
def test_nobody_buries_a_report(names: tuple[str, ...]) -> None:
    """Texts as long as a field may be leave the structure as it was."""
    plain = Deal(("x",))
    _, script, how = claim(plain.hand())
    title, passage, why = (HUGE[name][:19_000] for name in names)
    script["1.check.clerk"] = checks(check("1.argument.a", title=title, passage=passage, why=why))

    assert own(report("claim", script, **how))[:3] == own(report(*claim(plain.hand())[:2], **how))[:3]


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
