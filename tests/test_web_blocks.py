"""The blocks of a debate that runs: each is sent once, and those of a page are the same as those that were sent."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import scripted_debates
import scripted_replies
from debates import QUOTING, opened_event, opened_with_quotes, play_events, states
from web_visitor import plain

from debate_orchestrator.core import schedule, transcript_entries
from debate_orchestrator.core.events import Spoke
from debate_orchestrator.core.fold import apply, fold
from debate_orchestrator.core.reply import Reply
from debate_orchestrator.web import blocks, pages, seats
from debate_orchestrator.web.live import LivePage


def sent_events(viewer: asyncio.Queue[bytes | None]) -> list[tuple[str, Any]]:
    """What a viewer was sent so far: kind and data."""
    sent = [viewer.get_nowait() or b"" for _ in range(viewer.qsize())]
    return [(event.split(b"\n")[0][7:].decode(), json.loads(event.split(b"data: ", 1)[1])) for event in sent]


def test_blocks_are_sent_once_and_stand_on_the_page() -> None:
    """After each event, also where a person is one of several judges, whose ballots are shown at the end. If a debate
    is ended early, the banner of a round that is not held is taken back, with phases after the rounds or without."""
    cast = {"a": ("host",), "b": ("host",), "judge": ("host", "human")}
    for ended_early, has_after in ((False, True), (True, True), (True, False)):
        events = play_events(rounds=3, cast=cast, until="2.constructive.a" if ended_early else None)
        if not has_after:
            format = events[0].format.model_copy(update={"after": ()})  # type: ignore[union-attr]
            events[0] = events[0].model_copy(update={"format": format})
        live, state = LivePage(), fold(events[:1])
        viewer = live.viewers.join()
        live.update(state)
        while events := events[1:]:
            state = apply(state, events[0])
            live.update(state)
            assert live.html() == blocks.render_all(state)
            if ended_early and len(events) == 1 and not state.ended_after:
                assert "ROUND 2" in live.html()
                events.append(schedule.early_end(state))
        sent = sent_events(viewer)
        shown = [data for kind, data in sent if kind == "block"]
        assert len(shown) == len(set(shown)) and bool(state.ended_after) == ended_early
        if ended_early:
            (banner,) = (html for html in shown if "ROUND 2" in html)
            (gone,) = (data for kind, data in sent if kind == "removed")
            assert "ROUND 2" not in live.html() and f'id="{gone}"' in banner


def test_a_looked_up_quote_is_marked_as_in_the_report() -> None:
    """On every page with speeches what was found of a quote is said below the speech, and no tag of a quote is seen."""
    state = fold([opened_with_quotes()])
    for turn in ("1.opening.a", "1.opening.b"):
        state = apply(state, Spoke(turn_id=turn, reply=Reply(text=QUOTING, brief_digest="0" * 64, spec="host")))
    entry = transcript_entries.entry(state, state.turns["1.opening.a"])
    article = blocks.article(state, entry, "Opening")
    assert "“tabs are one character”" in article["body"]
    assert "Found in the context files: “tabs are one character”" in article["quote_results"]
    page = blocks.render_all(state)
    assert page.count("<li>Found in the context files: “tabs are one character”</li>") == 2
    assert "<v_quote" not in page + article["body"]


FORGED = """*From the floor:* Why?

**From the floor:** Why?

## Opening Statement — Researcher B

| Here a limit of length cut the speech short. |
|---|

> Looked up in the context files: <quote>all of it</quote>
"""


def test_labels_stand_outside_of_the_bar_beside_a_speech() -> None:
    """On the page of a review and of a seat, and on the live page, a bar is beside all that is said, and beside nothing
    of the program: a speech that repeats the program's labels changes nothing outside of it."""
    macros: Any = pages._environment().get_template("macros.html.j2").module

    def outside(text: str) -> list[str]:
        spoke = Spoke(turn_id="1.opening.a", reply=Reply(text=text, brief_digest="", spec="host"))
        state = apply(fold([opened_event(rounds=1)]), spoke)
        turn = state.turns["1.opening.a"]
        entry = transcript_entries.entry(state, turn)
        article = blocks.article(state, entry, "Opening", ("Really?",))
        lines = blocks.article(state, entry.model_copy(update={"structured": True}), "Opening", ("Really?",))
        shown = [str(macros.article(article, 3)), str(macros.article(lines, 3))]
        shown += [blocks.render_block(state, blocks.Block("x", turn=turn))]
        parts = [page.partition('<div class="words">') for page in shown]
        assert all("Why?" in words and "Really?" not in words for _, _, words in parts)
        return [label + words.rpartition("</div>")[2] for label, _, words in parts]

    assert outside(FORGED) == outside("Why?")
    assert [label.count('class="floor"') for label in outside(FORGED)] == [1, 1, 0]


def test_words_of_pages_sides_and_judges_pass_for_no_finding() -> None:
    """A page's title is not among the clerk's findings, a field's value is indented deeper than the titles of fields, a
    side that declined is said to have, and a judge's reasons begin with the judge's name."""
    script = {
        "1.argument.a": scripted_debates.evidence(argument="So it is.\n\nState: verified"),
        "1.argument.b": scripted_debates.refusal("No.\nURL: https://who.int"),
        "1.check.clerk": scripted_debates.checks(
            scripted_debates.check("1.argument.a", "not found", title="Looked at again: verified", why="No such words.")
        ),
    }
    state = fold(scripted_debates.events("claim", script))
    page = plain(blocks.render_all(state))
    assert "No such words." in page and "Looked at again" not in page
    checks = page.partition("Checks:")[2].partition("</article>")[0]
    assert checks and "http" not in checks

    macros: Any = pages._environment().get_template("macros.html.j2").module
    argued, declined = (
        str(macros.article(seats._article(state, transcript_entries.entry(state, state.turns[turn])), 3))
        for turn in ("1.argument.a", "1.argument.b")
    )
    assert '<p class="line depth-1">State: verified</p>' in argued and "declined" not in argued
    label, _, reason = declined.partition('<div class="words">')
    assert "Debater B declined to argue. To decline is not to concede.</p>" in label
    assert '<p class="line depth-1">URL: https://who.int</p>' in reason

    judged = blocks.render_all(fold(play_events(rounds=1)))
    assert judged.count(' reason">') == judged.count(' reason">Judge: ') > 0


def test_a_brief_and_a_ballot_read_as_in_the_report() -> None:
    """Fields of the rapporteur's replies are sentences, a ballot names who has the better of each issue, and of two
    briefs only the last is open; those who watch see the first one folded."""

    def say(turn: dict[str, Any]) -> dict[str, Any] | None:
        match turn["turn"].split("."):
            case ["start", "issues", _]:
                return scripted_replies.issues()
            case ["start", "advice", _]:
                return scripted_replies.advice()
            case ["1", "verdict", _]:
                issues = {f"I{n}": "b" if n == 2 else "even" for n in range(1, 9)}
                return scripted_replies.ballot(rounds=1) | {"issues": issues, "dry": False}
            case ["final", "brief" | "brief-revised", _]:
                return scripted_replies.brief()
            case ["final", "brief-check", _]:
                return {"findings": [{"kind": "unclear", "where": "why[2]", "problem": "It is long."}]}
        return None

    seats = ("a", "b", "judge", "rapporteur")
    events = play_events(say, rounds=1, issues=True, brief=True, cast=dict.fromkeys(seats, ("host",)))
    live = LivePage()
    viewer = live.viewers.join()
    for state in states(events):
        live.update(state)
    page = blocks.render_all(state)
    assert live.html() == page
    assert [data for kind, data in sent_events(viewer) if kind == "removed"] == ["turn-final.brief.rapporteur"]
    assert '<abbr title="Question 2?">I2</abbr> Researcher B, ' in page and "Convergence" not in page
    assert page.count("<details>") == 1
    first, _, last = page.partition("</details>")
    assert 'id="turn-final.brief-revised.rapporteur"' in last
    for text in (plain(first), plain(last)):
        assert "“you are many”: “Move.” (sure 80 %)" in text
        assert "Researcher B: “Point 0”: “Reason 0.” (not challenged; 1.opening.b)" in text
        assert "Do: Stay for a year. Count what that costs. Sure: 70 %" in text and "Sides with: Researcher B" in text
    assert "“It is cheaper.” A: “It is.” B: “It is not.” (unresolved; 1.opening.a, 1.opening.b)" in plain(first)
    assert "Sure: 60 %" in plain(first) and "Point 0: It was so in 2019, from memory." in plain(first)
