"""The report, and a bare transcript, have the structure that was promised, for every way a debate can go."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest
import reading
import scripted_debates
import scripted_replies
from core.folding import opened, play
from debates import CONCEDE, DECLINE, LOOK_ALIKES, entries, opened_with_quotes, report, script_of

from debate_orchestrator.core.events import Event, Spoke
from debate_orchestrator.core.fold import fold
from debate_orchestrator.core.format import Format
from debate_orchestrator.core.reply import Reply
from debate_orchestrator.formats import loader
from debate_orchestrator.reports import markdown
from debate_orchestrator.reports.markdown import render
from debate_orchestrator.reports.model import ReportModel, build_report, summary_line
from debate_orchestrator.storage.journal_lines import Entry

HEAD = """\
# Debate Report
**Topic:** Tabs are better than spaces.
**Researcher A (Pro):** Indent with tabs.
**Researcher B (Con):** Indent with spaces.
**Rounds Completed:** {rounds} / {of}
**Judge Strictness:** {strictness}
**Date:** 2026-02-03
---
## Final Verdict
**Winner:** {winner}
**Strength:** {strength}
**Overall Scores:** {scores}
{final}---
## Debate Transcript
"""
FINAL = "**Strongest argument of the debate** (Researcher A): The argument from cost.\n"
TAGS = ("OPENING", "CONSTRUCTIVE", "CHALLENGE", "REBUTTAL")
PHASES = dict(zip(("Opening Statement", "Constructive", "Challenge", "Rebuttal"), TAGS, strict=True))
TAIL = """\
---
## Per-Round Score Summary
| Round | Researcher A Score | Researcher B Score | Winner |
|-------|-------------------|-------------------|--------|
{rows}---
## Dissent Record
| # | Disputed Claim | Status |
|---|---|---|
| C1 | It is cheaper. | Unresolved |
**C1** ({turns})
---
## Key Unresolved Questions
## Recommended Follow-Up
"""
TURNS = "round 1: [opening A](#opening-statement--researcher-a), [opening B](#opening-statement--researcher-b)"
COMPUTED = "| **Score, computed** | **7** | **6** |\n"
JUDGED = "\n---\n\n## How It Was Judged\n"
"""What follows the structure that is promised."""
PERSISTED = "Both researchers maintained convergence despite intervention — consensus finding protocol applies."


def head(**values: Any) -> str:
    """The lines before the transcript."""
    usual = {"rounds": 3, "of": 3, "strictness": "strict", "winner": "A", "strength": "narrow", "final": FINAL}
    return HEAD.format(**(usual | {"scores": "Researcher A: 21 | Researcher B: 18"} | values))


def tail(*rows: str, turns: str = TURNS) -> str:
    """The lines after the transcript."""
    return TAIL.format(rows="".join(f"| {row} |\n" for row in rows), turns=turns)


def spoken(n: int, *phases: str) -> str:
    """The lines of a round's speeches."""
    said = [
        f"#### {phase} — Researcher {side}\n[R{'AB'.index(side) + 1} - ROUND {n} - {PHASES[phase]}]\n"
        for phase in phases
        for side in "AB"
    ]
    return f"### Round {n}\n" + "".join(said)


def judged(n: int, scores: str = "A: 7 | B: 6 | Winner: A") -> str:
    """The lines of a round's verdict."""
    return f"#### Judge Verdict — Round {n}\n[JUDGE - ROUND {n} - VERDICT]\n{COMPUTED}**Scores:** {scores}\n"


def whole(n: int, scores: str = "A: 7 | B: 6 | Winner: A") -> str:
    """The lines of a whole round of a longer debate."""
    first = "Opening Statement" if n == 1 else "Constructive"
    return spoken(n, first, "Challenge", "Rebuttal") + judged(n, scores)


def outline(markdown_report: str) -> str:
    """The lines of a report that are the report's own (headings, rules, fields, tags, score and dissent tables), up
    to the sections that any format may have."""
    seed = markdown_report.partition(JUDGED)[0]
    own = ("#", "---", "**", "[", "| Round", "|---", "| 1", "| 2", "| 3", "| **", "| #", "| C1", "Both researchers")
    kept = [line.rstrip() for line in seed.split("\n") if line.startswith(own)]
    return "".join(f"{line}\n" for line in kept if line != "| --- | --- | --- |")


def forced(n: int, side: str = "B") -> str:
    """The lines of an intervention."""
    return (
        f"**[ANTI-CONVERGENCE INTERVENTION - ROUND {n}]**\n"
        f"#### Rebuttal — Researcher {side} [FORCED DIVERGENCE]\n"
        f"[R{'AB'.index(side) + 1} - ROUND {n} - REBUTTAL] [FORCED DIVERGENCE]\n"
    )


THREE = ("1 | 7 | 6 | A", "2 | 7 | 6 | A", "3 | 7 | 6 | A", "**Total** | **21** | **18** | **A**")


@pytest.mark.parametrize("strictness", ["strict", "lenient"])
def test_a_complete_debate(strictness: str) -> None:
    """A debate of three rounds has the promised headings, fields and tables, in their order and in these words."""
    made = report(strictness=strictness)

    assert outline(made) == head(strictness=strictness) + whole(1) + whole(2) + whole(3) + tail(*THREE)
    assert ("**Claims made without evidence:** none" in made) == (strictness == "strict")
    assert "\n\n*Complete. " in made
    assert "\n\n\n" not in made
    assert made.partition(JUDGED)[0].endswith("\n\n## Recommended Follow-Up\n\n> Measure the cost.\n")


def test_an_intervention() -> None:
    """An intervention and the divergence turn after it are after the verdict they answer."""
    made = report(script_of(_1_verdict_judge=scripted_replies.converging()), rounds=2)
    rows = ("1 | 7 | 6 | A", "2 | 7 | 6 | A", "**Total** | **14** | **12** | **A**")
    top = head(rounds=2, of=2, scores="Researcher A: 14 | Researcher B: 12")

    assert outline(made) == top + whole(1) + forced(1) + whole(2) + tail(*rows)
    assert "- **Convergence:** detected (same claim), moving: Researcher B" in made
    assert PERSISTED not in made


def test_a_concession() -> None:
    """A concession ends the debate as consensus, and is marked where it was made."""
    made = report(script_of(_1_rebuttal_b=f"You are right.\n\n{CONCEDE}"))
    top = head(rounds=0, winner="Consensus", strength="consensus", scores="none, since no round was scored")
    rows = ("**Total** | **none** | **none** | **Consensus**",)

    assert outline(made) == top + spoken(1, "Opening Statement", "Challenge", "Rebuttal") + tail(*rows)
    assert made.count("\n*With this, Researcher B conceded the debate.*\n") == 1
    assert "A side conceded its whole position" in made
    assert "the totals differ" not in made


def test_a_refusal() -> None:
    """A refusal is marked as one, quoted, and no concession; the debate goes on."""
    made = report(script_of(_1_opening_a=f"It would do harm.\n\n{DECLINE}"))

    degraded = f"**Degraded: Researcher A declined to argue in 1 turn.**\n{FINAL}"
    assert outline(made) == head(final=degraded) + whole(1) + whole(2) + whole(3) + tail(*THREE)
    refusal = "*Researcher A declined to argue. To decline is not to concede.*"
    assert f"{refusal}\n\n> It would do harm.\n>\n> {DECLINE}" in made
    assert "conceded" not in made.replace("consensus is declared or conceded", "")


def test_a_paused_debate() -> None:
    """A debate that waits says what it waits for, and claims no verdict."""
    made = report(until="2.challenge.a")
    undecided = "not decided yet"
    top = head(rounds=1, winner=undecided, strength=undecided, scores=undecided, final="")
    table = TAIL[TAIL.index("| # |") : TAIL.index("---\n## Key")].format(turns=TURNS)
    end = tail("1 | 7 | 6 | A").replace(table, "")

    assert outline(made) == top + whole(1) + spoken(2, "Constructive") + end
    assert "*Paused in round 2: waiting for Challenge — Researcher A, Challenge — Researcher B. " in made
    assert made.count("\n\nNot yet: the debate is not finished.\n") == 3
    assert "\n\n\n" not in made


def test_a_panel() -> None:
    """Each judge of a panel has a ballot and a final verdict in the report; one who is absent is named."""
    say = script_of(
        _1_verdict_judge_2=scripted_replies.ballot(4, 8, rounds=1),
        _final_verdict_judge_1=scripted_replies.final("b"),
        _final_verdict_judge_3="no ballot",
        _1_verdict_judge_3="no ballot",
    )
    made = report(say, rounds=1, judges=3)
    titles = [title for _, title in reading.headings(made)]

    assert [one for one in titles if "Verdict —" in one] == [f"Judge Verdict — Round 1 (Judge {n})" for n in (1, 2, 3)]
    assert [f"[JUDGE {n} - ROUND 1 - VERDICT]\n" in made for n in (1, 2, 3)] == [True] * 3
    assert "*Judge 3 cast no ballot that counts.*\n\n**Scores:** A: 5.5 | B: 7 | Winner: Tie\n" in made
    assert "**Judge 1** declared: B\n" in made
    assert "**Judge 2** declared: A\n" in made
    assert "*Judge 3 cast no final ballot that counts.*\n" in made
    assert "The judges do not agree on the winner." in made
    seed = made.partition(JUDGED)[0]
    assert seed.endswith("\n\n**Judge 1:** Measure the cost.\n\n**Judge 2:** Measure the cost.\n")


def test_links_lead_to_their_turns() -> None:
    """The dissent record links each turn to its own heading, also where headings recur."""
    turns = ["1.opening.b", "1.rebuttal.b", "1.divergence.b", "2.challenge.a", "2.rebuttal.b"]
    say = script_of(
        _1_verdict_judge=scripted_replies.converging(), _final_dissent_judge=scripted_replies.dissent(turns)
    )
    made = report(say, rounds=2)
    contents, *links = made.partition("*Contents:* ")[2].split("\n")
    titles = dict(zip(reading.fragments(made), [title for _, title in reading.headings(made)], strict=True))

    assert [titles[one] for one in reading.links_within("\n".join(links))] == [
        "Opening Statement — Researcher B",
        "Rebuttal — Researcher B",
        "Rebuttal — Researcher B [FORCED DIVERGENCE]",
        "Challenge — Researcher A",
        "Rebuttal — Researcher B",
    ]
    assert [titles[one] for one in reading.links_within(contents)] == [
        *("Final Verdict", "Debate Transcript", "Per-Round Score Summary"),
        *("Dissent Record", "Key Unresolved Questions", "Recommended Follow-Up", "How It Was Judged"),
    ]
    assert reading.links_within(made)[-1] == "rebuttal--researcher-b-1"


def spoken_by_both(name: str, title: str) -> dict[str, Any]:
    return {"name": name, "title": title, "tag": name.upper(), "seats": ["a", "b"]}


def bare() -> Format:
    """A format with speeches before and after its one kind of round, and the smallest ballots there can be."""
    data = loader.load("adversarial").model_dump()
    winner = {"kind": "choice", "options": ["a", "b", "tie"]}
    vote = {"name": "vote", "title": "Vote", "tag": "VOTE"}
    vote |= {"seats": ["judge"], "order": "simultaneous", "reply": "ballot"}
    end = {"name": "verdict", "title": "Final Verdict", "tag": "END", "seats": ["judge"], "reply": "final"}
    changes = {
        "before": [spoken_by_both("welcome", "Welcome")],
        "round": [spoken_by_both("speech", "Speech"), vote],
        "after": [spoken_by_both("farewell", "Farewell"), end],
        "shapes": {"ballot": {"scores": {"kind": "scores"}, "winner": winner}, "final": {"winner": winner}},
    }
    return Format.model_validate(data | changes)


def entries_of_bare_format() -> list[Entry]:
    """A whole debate of that format, of two rounds."""
    first = opened(2, rules=bare())
    debate = fold([first])
    debate, _ = play(debate)
    events: list[Event] = [first, *debate.replies.values()]
    return [Entry(n, "2026-02-03T04:05:06.789Z", event, "0" * 64) for n, event in enumerate(events, start=1)]


def test_every_speech_is_in_the_transcript() -> None:
    """Speeches before the first round and after the last are in the transcript, around the rounds."""
    lines = [
        line
        for line in render(build_report(entries_of_bare_format())).split("\n")
        if line.startswith(("### ", "#### "))
    ]

    assert [line.lstrip("# ").partition(" — ")[0] for line in lines] == [
        *("Before Round 1", "Welcome", "Welcome"),
        *("Round 1", "Speech", "Speech", "Vote"),
        *("Round 2", "Speech", "Speech", "Vote"),
        *("After the Last Round", "Farewell", "Farewell"),
    ]


CAST: dict[str, tuple[str, ...]] = {"a": ("anthropic:claude-sonnet-5-5",), "b": ("command:/opt/ask --key secret",)}
WHOLE = """\
# Debate Transcript

**Topic:** Is it so?\x20\x20
**Speaker A (For):** Yes.\x20\x20
**Speaker B (Against):** No.\x20\x20
**Spoken by:** Speaker A: anthropic:claude-sonnet-5-5; Speaker B: command:ask\x20\x20
**Rounds:** 2 / 2\x20\x20
**Date:** 2026-02-03

## Round 1

### Argument — Speaker A

> This is 1.argument.a.

### Argument — Speaker B

> This is 1.argument.b.

## Round 2

### Argument — Speaker A

> This is 2.argument.a.

### Argument — Speaker B

> This is 2.argument.b.

---

*Complete. Speaker A spoke first.*
"""


def test_the_transcript_and_nothing_else() -> None:
    """Topic, who argued what and who spoke, the rounds with every argument under its speaker, and how it was made."""
    assert scripted_debates.report("conversation", rounds=2, cast=CAST) == WHOLE


def test_the_summary_line_names_a_transcript() -> None:
    """It names no winner, and says where the debate is not finished."""
    finished, paused = (
        scripted_debates.report_model("conversation", rounds=2),
        scripted_debates.report_model("conversation", rounds=2, until="2.argument.a"),
    )

    assert summary_line(finished, "talk.md") == "Debate complete. Transcript written to talk.md. 2 rounds completed."
    assert summary_line(paused, "talk.md") == "Debate paused. Transcript so far written to talk.md."


@pytest.mark.parametrize("render", [markdown.render, markdown.render_for_review])
def test_what_was_found_of_quotes_stands_outside_of_a_speech(render: Callable[[ReportModel], str]) -> None:
    """No line of a speech, each of which begins with `>`, says what was found of a quote: a list below it does."""
    quotes = "<quote>tabs are one character</quote> <quote>no [file](https://e.example)</quote> "
    said = f"{quotes * 2}{LOOK_ALIKES} Found in the context files: “so it is”"
    reply = Reply(text=said, brief_digest="0" * 64, spec="host")
    events: list[Event] = [opened_with_quotes(), *(Spoke(turn_id=f"1.opening.{side}", reply=reply) for side in "ab")]
    lines = render(build_report(entries(events))).splitlines()

    assert [line for line in lines if "ound in the context files" in line and not line.startswith("> “tabs are")] == [
        "- Found in the context files: “tabs are one character”",
        r"- Not found in the context files: “no \[file\](https\://e.example)”",
    ] * 2
    assert not [line for line in lines if re.search("[vu]_quote", line) and not line.startswith("> ")]
    assert not [line for line in lines if "v_quote>tabs" in line or "v_quote>no" in line]
