"""The live view shows everything that is announced, said and scored, in order, whatever goes wrong."""

from __future__ import annotations

import re
from typing import Any

import attacked
import debates
import hostile_texts
import pytest
import scripted_replies
from corpus import TextGroup, random_text_groups
from fake_terminal import Shown, whole
from hypothesis import given, settings

from debate_orchestrator.core import schedule
from debate_orchestrator.core.events import (
    CallFailed,
    Declined,
    EndedEarly,
    QuestionAsked,
    Spoke,
    StructuredReplyGiven,
)
from debate_orchestrator.core.fold import fold
from debate_orchestrator.core.reply import Reply
from debate_orchestrator.reports.announcements import announcements
from debate_orchestrator.terminal import live
from debate_orchestrator.terminal.display import SIDE_STYLES


@pytest.mark.parametrize("columns", [40, 80, 160])
def test_everything_is_shown(columns: int) -> None:
    """All announcements are there word for word, in their order, and every speech below its heading: both sides
    beside each other where there is room."""
    ballots = {f"_{n}_verdict_judge": scripted_replies.converging() for n in (1, 2)}
    shown, lines = whole(columns, say=debates.script_of(**ballots))
    text, at = " ".join(" ".join(lines).split()), 0
    for line in announcements(shown.debate):
        at = text.index(line.text, at) + len(line.text)
    assert "[ANTI-CONVERGENCE INTERVENTION - ROUND 1]" in text

    for turn in schedule.turns_taken(shown.debate):
        if shown.debate.shape(turn) is None:
            assert shown.debate.format.heading_of(turn) in text
            assert f"says in {turn.id}." in text
    beside = [line for line in lines if "Challenge — Researcher A" in line and "Challenge — Researcher B" in line]
    assert len(beside) == (3 if columns == 160 else 0)
    assert max(map(len, lines)) < columns


def test_a_speech_as_it_is_written() -> None:
    """What has come is there at once, and the status says who is writing; what is whole is not written over. What was
    heard when the debate was left is there, and the status is not."""
    shown = Shown()
    shown.live.keys, shown.live.note = ["r resume", "q quit"], "paused"
    shown.ask("1.opening.a")
    shown.time = 7
    shown.live.paint()
    assert shown.status.startswith("Round 1 of 3 · Opening Statement · Researcher A thinks, 7 s · 7 s")

    shown.on_text("1.opening.a", "I hold that it is so, and for")
    assert "  I hold that it is so, and for" in shown.terminal.screen
    assert "Researcher A writes, 8 words" in shown.status
    assert shown.status.endswith("\npaused · r resume · q quit")
    shown.speak("1.opening.a", "I hold that it is so, and for three reasons.")
    shown.ask("1.opening.b")
    shown.on_text("1.opening.b", "I was about")
    lines = shown.close()

    assert "  I hold that it is so, and for three reasons." in lines
    assert lines[-3:] == ["  I was about", "", "-- left here, before its end."]
    assert "quit" not in " ".join(lines)


def test_what_a_stand_in_says_is_folded() -> None:
    """Of a stand-in's speech it is shown how long it is, and no word; of a model's beside it, all."""
    shown = Shown(columns=200, cast={"a": ("rehearse:anthropic:m",), "b": ("anthropic:m",), "judge": ("anthropic:m",)})
    for side in ("a", "b"):
        shown.ask(f"1.opening.{side}")
        shown.on_text(f"1.opening.{side}", "word0 ")
        shown.speak(f"1.opening.{side}", " ".join(f"word{n}" for n in range(300)))
    text = " ".join(" ".join(shown.close()).split())
    assert "(300 words of filler, which the report has.)" in text
    assert text.count("word24 ") == text.count("word299") == 1


def test_a_call_in_trouble() -> None:
    """A speech that broke off is marked, the wait is counted down, and the next attempt begins anew. Where nothing had
    come, nothing is called broken off."""
    shown = Shown()
    shown.ask("1.opening.a")
    shown.happen(CallFailed(turn_id="1.opening.a", spec="anthropic:m", problem="HTTP 529.", wait=1))
    assert "\nHTTP 529. Asked again in 1 s." in shown.terminal.text
    shown.ask("1.opening.a")
    shown.on_text("1.opening.a", "I was about")
    shown.happen(
        CallFailed(turn_id="1.opening.a", spec="anthropic:m", problem="the line dropped.", wait=5, maybe_billed=True)
    )
    shown.time = 2
    shown.live.paint()
    assert "Researcher A: asked again in 3 s" in shown.status
    shown.ask("1.opening.a")
    shown.speak("1.opening.a", "All of it.")

    assert [line for line in shown.close() if line][-5:] == [
        "Opening Statement — Researcher A (asked again)",
        "  I was about",
        "-- broken off here, not counted: the line dropped. Asked again in 5 s.",
        "Opening Statement — Researcher A (asked again)",
        "  All of it.",
    ]


def test_ballots_are_counted_and_not_shown() -> None:
    """What a judge writes is not a speech: its words are counted, and its scores are drawn when it is whole."""
    shown = Shown(events=debates.play_events(until="1.verdict.judge"))
    shown.ask("1.verdict.judge")
    shown.on_text("1.verdict.judge", '{"scores": {"a": ')
    assert "scores" not in shown.terminal.text
    assert "Judge writes, 2 words" in shown.status
    rest = debates.play_events(until="2.constructive.a")[-1]
    shown.happen(rest)

    assert "Researcher A ██████████████░░░░░░ 7" in shown.terminal.text
    assert "Scores: A: 7 | B: 6 | Winner: A\n  It was better argued." in shown.terminal.text


def test_notes_on_a_speech() -> None:
    """That a speech was cut short, is over the limit, or was declined, is noted below it."""
    shown = Shown()
    shown.ask("1.opening.a")
    shown.speak("1.opening.a", "I would say mo" + " word" * 3_000, ended="cut")
    shown.ask("1.opening.b")
    shown.happen(Declined(turn_id="1.opening.b", reply=Reply(text="I won't.", brief_digest="0" * 64, spec="x")))
    lines = shown.close()
    noted = " ".join(" ".join(lines).split())
    assert "-- cut short by a limit of length; the last" in noted
    assert "words are over the limit, and no seat hears them." in noted
    assert lines[-1] == "Researcher B declined to argue (1.opening.b)."


def test_going_on() -> None:
    """A debate that has begun before is not shown again: where it stands is reported, and what follows is shown."""
    shown = Shown(events=debates.play_events(until="2.challenge.a"))
    shown.ask("2.challenge.a")
    lines = shown.close()

    assert lines[1:4] == ["9 turns on record; here is what follows.", "", "--- ROUND 2 OF 3 ---"]
    assert "Opening" not in " ".join(lines)


def test_private_reasoning() -> None:
    """What a format keeps private is not shown, neither while it is written nor afterwards."""
    shown = Shown(events=[attacked.opened(lambda place: "Words.", "question")])
    turn = shown.debate.due[0]
    while not turn.speaking:
        shown.ask(turn.id)
        shown.happen(attacked.answer(shown.debate, turn, lambda place: "Words."))
        turn = shown.debate.due[0]
    shown.ask(turn.id)
    for piece in ("\n<thin", "king>my weak", " spot</think", "ing>\nI hold ", "<em>that</em> it", " is so."):
        shown.on_text(turn.id, piece)
        assert "weak" not in shown.terminal.text and "<thin" not in shown.terminal.text
    shown.speak(turn.id, "\n<thinking>my weak spot</thinking>\nI hold <em>that</em> it is so.")
    lines = shown.close()

    assert "  I hold &lt;em>that&lt;/em> it is so." in lines
    assert not any("on record is not" in line or "weak" in line for line in lines)


@pytest.mark.slow
@settings(max_examples=25)
@given(random_text_groups(hostile_texts.alike("word")))
def test_whatever_is_said_nothing_is_forged(group: TextGroup) -> None:
    """No speech and no judge's word moves a cursor or begins a line where the house speaks, but after the number of a
    claim."""

    def at_the_margin(said: Any) -> list[str]:
        events = debates.play_events(debates.hostile_script(said, rounds=1), rounds=1)
        shown = Shown(events=events[:1], columns=100)
        shown.happen(*events[1:])
        return [re.sub(r"^(\d+\. ).*", r"\1", line) for line in shown.close() if line and not line.startswith(" ")]

    assert at_the_margin(group) == at_the_margin("Some words.")


def test_what_comes_from_the_floor() -> None:
    """A question and an early end are announced where they happen, in one line each, whatever the question holds."""
    shown = Shown()
    shown.ask("1.opening.a")
    shown.happen(QuestionAsked(question="Why?\n\x1b[2J--- ROUND 3 OF 3 ---", to=("b",)))
    shown.speak("1.opening.a", "So it is.")
    shown.happen(EndedEarly())
    lines = shown.close()

    assert "From the floor, to Researcher B: Why? ␛[2J--- ROUND 3 OF 3 ---" in lines
    assert "Ended early, after Opening Statement of round 1." in lines


def voted(upto: int | None = None, *, hidden: bool = True, say: scripted_replies.Say | None = None) -> list[str]:
    """The lines of a debate of two rounds and two judges, up to some of its events."""
    first, *events = debates.play_events(say, rounds=2, judges=2)
    shown = Shown(events=[first], ballots_hidden=hidden)
    shown.happen(*events[:upto])
    return [line for line in shown.close() if line]


def test_hidden_ballots() -> None:
    """Where a judge of a panel watches, no score, winner or reason is shown as long as a vote is due; speeches and
    rounds are. When the debate is complete everything is shown, once."""
    before, opened = voted(-2), "\n".join(voted(-2, hidden=False))
    assert "--- ROUND 2 OF 2 ---" in before and "  This is what b says in 2.rebuttal.b." in before
    for secret in ("Judge Verdict", "Scores:", "Winner", "It was better argued.", "█"):
        assert secret not in "\n".join(before)
        assert secret in opened
    assert sorted(voted()) == sorted(voted(hidden=False))


def test_a_ballot() -> None:
    """Each side has its name, its bar in its own colour and its score; below stands every criterion for both."""
    said = debates.script_of(_1_verdict_judge=scripted_replies.ballot(8, 6.5))
    debate = fold(debates.play_events(said, until="2.constructive.a"))
    voted = debate.structured_reply("1.verdict.judge")
    assert voted is not None
    rows = live.ballot_rows(debate, voted, 80)
    assert [row.plain for row in rows] == [
        "Researcher A ████████████████░░░░ 8",
        "Researcher B █████████████░░░░░░░ 6.5",
        "Argument quality 8 | 6.5; Use of evidence 8 | 6.5; Directness of rebuttals 8 |",
        "        6.5",
    ]
    assert [row.spans[0].style for row in rows[:2]] == list(SIDE_STYLES)


def test_no_judges_reason_passes_for_scores() -> None:
    """Bars, criteria and totals begin further left than what a judge writes, and a claim follows its status."""
    reason, record = "Researcher B ███████████████████░ 19", scripted_replies.dissent()
    voted, decided = (
        scripted_replies.ballot(rounds=3, justification=reason),
        scripted_replies.final(justification=reason),
    )
    record["rows"][0]["claim"] = "It is cheaper. (resolved by consensus)"
    said = debates.script_of(_1_verdict_judge=voted, _final_verdict_judge=decided, _final_dissent_judge=record)
    _, lines = whole(80, say=said)
    assert "1. Unresolved: It is cheaper. (resolved by consensus)" in lines
    drawn = [line for line in lines if "Researcher B █" in line]

    assert [line for line in drawn if line.startswith(" ")] == [f"  {reason}"] * 2
    assert len(drawn) == 6 and all(line.endswith((" 6", " 18")) for line in drawn if not line.startswith(" "))


@pytest.mark.parametrize(
    ("is_record", "data", "shown_claims"),
    [
        (
            True,
            {"rows": [{"claim": "It is.", "status": None}, {"claim": "It is."}]},
            ["1. No status: It is.", "2. No status: It is."],
        ),
        (False, {"rows": ["It is."]}, []),
        (False, {"scores": ["It is."]}, []),
    ],
)
def test_fields_of_other_formats(is_record: bool, data: dict[str, Any], shown_claims: list[str]) -> None:
    """A format may leave out the status of a claim, or let a judge leave it out. Only a judge's vote has scores, and
    only the record after the rounds has claims; any other reply is announced."""
    made = debates.play_events(rounds=1, brief=True, cast=dict.fromkeys(("a", "b", "judge", "rapporteur"), ("host",)))
    number = next(
        n
        for n, event in enumerate(made)
        if isinstance(event, StructuredReplyGiven) and ("rows" in event.data or not is_record)
    )
    shown = Shown(events=made[:1])
    shown.happen(*made[1:number])
    shown.live.on_event(shown.debate, made[number].model_copy(update={"data": data}))

    assert [line for line in shown.close() if "It is." in line] == shown_claims


def test_what_was_found_of_quotes_stands_below_a_speech() -> None:
    """At the terminal only rows that begin further left than all speech say what was found of a quote."""
    shown = Shown(events=[debates.opened_with_quotes()])
    shown.ask("1.opening.a")
    quotes = "<quote>tabs are one character</quote> <quote>no  file</quote>"
    shown.speak("1.opening.a", f"{quotes} {debates.LOOK_ALIKES}\nFound in the context files: “so {'it is ' * 40}”")
    rows = shown.close()
    found = [row for row in rows if "ound in the context files" in row]
    assert [row for row in found if not row.startswith("  ")] == [
        "Found in the context files: “tabs are one character”",
        "Not found in the context files: “no file”",
    ]
    assert len(found) == 3
    text = " ".join(" ".join(rows).split())
    assert "“tabs are one character” “no file”" in text
    assert "_quote>tabs are one" not in text


def test_a_streamed_speech_says_nothing_of_its_quotes() -> None:
    """Before a speech is recorded, and where it breaks off or is left, nothing says that a quote was found."""
    for ends in ("breaks off", "is left"):
        shown = Shown(events=[debates.opened_with_quotes()])
        shown.ask("1.opening.a")
        for piece in (debates.QUOTING[:60], debates.QUOTING[60:], "\n\nSo it is, and so on."):
            shown.on_text("1.opening.a", piece)
            assert "ound in the context files" not in shown.terminal.text
        if ends == "breaks off":
            shown.happen(CallFailed(turn_id="1.opening.a", spec="anthropic:m", problem="The line broke."))
        text = " ".join(" ".join(shown.close()).split())
        assert f"{debates.QUOTING} So it is" in text
        assert "ound in the context files" not in text


@pytest.mark.parametrize("line", [debates.CONCEDE, debates.DECLINE])
def test_the_code_of_a_reserved_line_is_not_shown(line: str) -> None:
    """A recorded speech is shown as others hear it: a line that counts is there without its code."""
    shown = Shown()
    shown.ask("1.opening.a")
    made = Reply(text=f"It is so.\n\n{line} [BCDFGH]", brief_digest="0" * 64, spec="anthropic:m")
    spoken = Spoke(turn_id="1.opening.a", reply=made, concedes=True)
    shown.happen(spoken if line == debates.CONCEDE else Declined(turn_id="1.opening.a", reply=made))
    text = "\n".join(shown.close())
    assert f"It is so.\n\n  {line}\n" in text
    assert "BCDFGH" not in text
