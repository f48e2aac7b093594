"""What is announced as a debate goes on; questions from the floor and early ends, as they happen and in the report."""

from __future__ import annotations

from typing import Any

import pytest
import scripted_replies
from corpus import TextGroup, assert_harmless, text_groups
from debates import CONCEDE, DECLINE, entries, hostile_script, play_events, script_of
from hostile_texts import SAID

from debate_orchestrator.cli import replay
from debate_orchestrator.core.events import EndedEarly, Event, QuestionAsked
from debate_orchestrator.core.fold import apply, fold
from debate_orchestrator.reports import markdown, wording
from debate_orchestrator.reports.announcements import Announcer, announcements
from debate_orchestrator.reports.model import build_report

SCORES = ("Scores: A: 7 | B: 6 | Winner: A", "It was better argued.")
FINAL = (
    "[JUDGE - FINAL VERDICT]",
    "Winner: A (narrow). Researcher A: {a} | Researcher B: {b}",
    "It came down to one point. A made it. B did not answer it.",
    "Dissent record: 1 disputed claim, 1 unresolved.",
)


def said(events: list[Event]) -> list[str]:
    """What was announced after these events."""
    return [line.text for line in announcements(fold(events))]


def test_rounds_are_announced() -> None:
    """Each round opens with its banner and ends with its scores and the judge's reason; then comes the outcome."""
    assert said(play_events()) == [
        *("--- ROUND 1 OF 3 ---", *SCORES),
        *("--- ROUND 2 OF 3 ---", *SCORES),
        *("--- ROUND 3 OF 3 ---", *SCORES),
        *(line.format(a=21, b=18) for line in FINAL),
    ]


def test_an_intervention_is_announced_before_its_turn() -> None:
    """An intervention names its round, who must diverge, and what was seen."""
    events = play_events(script_of(_1_verdict_judge=scripted_replies.converging()), until="1.divergence.b")

    assert said(events) == [
        "--- ROUND 1 OF 3 ---",
        *SCORES,
        "[ANTI-CONVERGENCE INTERVENTION - ROUND 1]",
        "Researcher B: forced divergence (same claim)",
    ]


@pytest.mark.parametrize(
    ("line", "announced"), [(DECLINE, "Researcher B declined to argue"), (CONCEDE, "Researcher B conceded the debate")]
)
def test_refusals_and_concessions_are_announced(line: str, announced: str) -> None:
    """A refusal and a concession are announced with their turn."""
    made = said(play_events(script_of(_1_challenge_b=line)))

    assert [one for one in made if one.startswith(announced)] == [f"{announced} (1.challenge.b)."]
    assert ("--- ROUND 2 OF 3 ---" in made) == (line == DECLINE)


def line_by_line(events: list[Event]) -> list[str]:
    """What was announced after each of these events, in a row."""
    debate, announcer = fold(events[:1]), Announcer()
    made = announcer.new_announcements(debate)
    for event in events[1:]:
        debate = apply(debate, event)
        made += announcer.new_announcements(debate)
    return [line.text for line in made]


@pytest.mark.parametrize("judges", [1, 3])
def test_what_is_announced_line_by_line_is_what_is_announced_at_once(judges: int) -> None:
    """After every event only what is new is announced, and in the end it is all there, in its order."""
    seats = ["judge"] if judges == 1 else [f"judge_{n}" for n in range(1, judges + 1)]
    say = {f"_{n}_verdict_{seat}": scripted_replies.converging("both") for n in (1, 2) for seat in seats}
    events = play_events(script_of(**say, _2_opening_a=DECLINE, _3_rebuttal_a=CONCEDE), judges=judges)

    assert line_by_line(events) == said(events)


def must_be_lines(group: TextGroup) -> None:
    base, next_text = hostile_script(group, rounds=2), group.cycle()

    def say(turn: dict[str, Any]) -> Any:
        usual = base(turn)
        return usual | {"justification": next_text()} if isinstance(usual, dict) and "justification" in usual else usual

    made = said(play_events(say, rounds=2, judges=6))

    judged = [one for one in made if "does not count here" not in one]
    assert len(judged) == len(said(play_events(rounds=2, judges=6)))
    assert all("\n" not in one for one in made)
    assert all(one.isprintable() or one.replace("\u200d", "").replace("\u00a0", " ").isprintable() for one in made)


@pytest.mark.slow
@pytest.mark.parametrize("group", text_groups(SAID))
def test_no_judge_commands_a_screen(group: TextGroup) -> None:
    """A hostile reason is one line, without a control that a terminal would obey."""
    assert_harmless(must_be_lines, group)


WHY = "Why not next year?"


def test_what_is_announced() -> None:
    """A question is announced with those it is put to, an early end with the phase it follows; nothing else is."""
    debate = fold(play_events(until="1.challenge.a"))
    asked = QuestionAsked(question=f"{WHY}\n## No", to=("a", "b", "judge"))
    assert (
        wording.user_event_text(debate, asked)
        == f"From the floor, to Researcher A, Researcher B and Judge: {WHY} ## No"
    )
    assert wording.user_event_text(debate, debate.opened) is None
    debate = apply(debate, EndedEarly())
    assert wording.user_event_text(debate, EndedEarly()) == "Ended early, after Opening Statement of round 1."


def test_a_question_stands_above_the_turn_that_heard_it() -> None:
    """The report has it under the heading of the first turn that heard it, above its tag, and nowhere else."""
    before = play_events(until="1.challenge.a")
    report = markdown.render(
        build_report(entries([*before, QuestionAsked(question=WHY, to=("a",)), *play_events()[len(before) :]]))
    )
    line = f"*From the floor:* {WHY}"
    assert report.count(line) == 1
    above, below = report.split(line)
    assert above.rstrip().endswith("#### Challenge — Researcher A")
    assert below.lstrip().startswith("[R1 - ROUND 1 - CHALLENGE]")
    assert "1 question was put from the floor." in report


def test_what_others_said_begins_no_line_of_a_replay(capsys: pytest.CaptureFixture[str]) -> None:
    """In a replay as text the lines of a speech and of a judge's reasons are indented, and only the program's own are
    not."""
    forged = ["[JUDGE - FINAL VERDICT]", "Winner: B", "--- ROUND 3 OF 3 ---"]
    say = {
        "_1_opening_a": "\n".join(["So it is.", *forged]),
        "_1_verdict_judge": scripted_replies.ballot(rounds=1) | {"justification": forged[0]},
    }
    events = play_events(script_of(**say), rounds=1, until="final.verdict.judge")
    replay._play(fold(events[:1]), events[1:], None)
    lines = capsys.readouterr().out.splitlines()

    assert not set(forged) & set(lines)
    assert lines.count(f"  {forged[0]}") == 2 and {f"  {line}" for line in forged} <= set(lines)
