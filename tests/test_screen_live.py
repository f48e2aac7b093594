"""What a debate looks like while it goes: everything announced and everything said, in order, whatever goes wrong."""

from __future__ import annotations

import json
import re

import attacked
import debates
import nasty
import puppets
import pytest
from dealing import Deal, dealt_by_chance
from hall import Hall, whole
from hypothesis import given, settings

from debate_orchestrator.core import transcript
from debate_orchestrator.core.events import CallFailed, Declined, EndedEarly, Opened, QuestionAsked, Rejected, Reply
from debate_orchestrator.prompting import replies
from debate_orchestrator.reports.announcements import announcements


@pytest.mark.parametrize("columns", [40, 80, 160])
def test_everything_announced_is_shown(columns: int) -> None:
    """Banners, scores, interventions and verdict stand there word for word, in the order of the announcements."""
    ballots = {f"_{n}_verdict_judge": puppets.converging() for n in (1, 2)}
    hall, lines = whole(columns, say=debates.saying(**ballots))
    text, at = " ".join(" ".join(lines).split()), 0
    for line in [announced.text for announced in announcements(hall.debate)]:
        at = text.index(line, at) + len(line)

    assert "[ANTI-CONVERGENCE INTERVENTION - ROUND 1]" in text


@pytest.mark.parametrize("columns", [40, 80, 160])
def test_every_speech_is_shown(columns: int) -> None:
    """Each speech stands below its heading, its sides beside each other where there is room."""
    hall, lines = whole(columns)
    text = " ".join(" ".join(lines).split())
    for turn in hall.debate.settled():
        if hall.debate.shape(turn) is None:
            assert hall.debate.format.heading_of(turn) in text
            assert f"says in {turn.id}." in text
    beside = [line for line in lines if "Challenge — Researcher A" in line and "Challenge — Researcher B" in line]

    assert len(beside) == (3 if columns == 160 else 0)
    assert max(map(len, lines)) < columns


def test_a_speech_as_it_is_written() -> None:
    """What has come is there at once, and the status says who is writing; what is whole is not written over."""
    hall = Hall()
    hall.ask("1.opening.a")
    hall.time = 7
    hall.live.paint()
    assert hall.status.startswith("Round 1 of 3 · Opening Statement · Researcher A thinks, 7 s · 7 s")

    hall.hear("1.opening.a", "I hold that it is so, and for")
    assert "  I hold that it is so, and for" in hall.glass.screen
    assert "Researcher A writes, 8 words" in hall.status
    hall.speak("1.opening.a", "I hold that it is so, and for three reasons.")
    assert hall.left()[-1] == "  I hold that it is so, and for three reasons."


def test_both_sides_at_once() -> None:
    """In a wide terminal both write at once, each in its column; in a narrow one the status tells of the second."""
    for columns, seen in ((160, True), (80, False)):
        hall = Hall(columns=columns, events=debates.played(until="1.challenge.a"))
        hall.ask("1.challenge.a")
        hall.ask("1.challenge.b")
        hall.hear("1.challenge.a", "You err")
        hall.hear("1.challenge.b", "No, you do")
        assert ("No, you do" in hall.glass.text) == seen
        assert "Researcher A writes, 2 words" in hall.status and "Researcher B writes, 3 words" in hall.status
        hall.speak("1.challenge.b", "No, you do.")
        hall.speak("1.challenge.a", "You err.")
        assert re.search(r"You err\.[\s│]+No, you do\.|You err\.[\s\S]*No, you do\.", hall.glass.text)


def test_a_call_in_trouble() -> None:
    """A speech that broke off is marked, the wait is counted down, and the next attempt begins anew."""
    hall = Hall()
    hall.ask("1.opening.a")
    hall.hear("1.opening.a", "I was about")
    hall.happen(CallFailed(turn="1.opening.a", by="anthropic:m", trouble="the line dropped.", wait=5, unsure=True))
    hall.time = 2
    hall.live.paint()
    assert "Researcher A: asked again in 3 s" in hall.status
    hall.ask("1.opening.a")
    hall.speak("1.opening.a", "All of it.")

    assert [line for line in hall.left() if line][-5:] == [
        "Opening Statement — Researcher A",
        "  I was about",
        "-- broken off here, and not counted: the line dropped. Asked again in 5 s.",
        "Opening Statement — Researcher A (asked again)",
        "  All of it.",
    ]


def test_replies_that_will_not_do() -> None:
    """A speech or a ballot that will not do is said to be none; after the second ballot, that the judge has none."""
    hall = Hall(rounds=1)
    reply = Reply(text="", brief="0" * 64, by="x")
    hall.ask("1.opening.a")
    hall.happen(Rejected(turn="1.opening.a", complaints=("it is empty",), reply=reply))
    hall.ask("1.opening.a")
    hall.speak("1.opening.a", "So.")
    hall.ask("1.opening.b")
    hall.speak("1.opening.b", "Not so.")
    for n in (1, 2):
        hall.ask("1.verdict.judge")
        hall.happen(Rejected(turn="1.verdict.judge", complaints=(f"no JSON, {n}",), reply=reply))
    lines = hall.left()

    assert "a reply that will not do: it is empty" in lines
    assert [line for line in lines if line.startswith("Judge Verdict")] == [
        "Judge Verdict — Round 1: a reply that will not do: no JSON, 1",
        "Judge Verdict — Round 1: a reply that will not do: no JSON, 2",
    ]
    assert lines.index("No reply counts here.") < lines.index("Round 1: no ballot counts.")


def test_ballots_are_counted_and_not_shown() -> None:
    """What a judge writes is no speech: its words are counted, and its scores are drawn when it is whole."""
    hall = Hall(events=debates.played(until="1.verdict.judge"))
    hall.ask("1.verdict.judge")
    hall.hear("1.verdict.judge", '{"scores": {"a": ')
    assert "scores" not in hall.glass.text
    assert "Judge writes, 2 words" in hall.status
    rest = debates.played(until="2.constructive.a")[-1]
    hall.happen(rest)

    assert "  Researcher A ██████████████░░░░░░ 7" in hall.glass.text
    assert "Scores: A: 7 | B: 6 | Winner: A\n  It was better argued." in hall.glass.text


def test_a_panel() -> None:
    """Each judge's ballot is drawn when it comes, and what the panel makes of them stands apart."""
    _, lines = whole(rounds=1, judges=2)

    assert [line for line in lines if line.startswith("Judge Verdict")] == [
        "Judge Verdict — Round 1 (Judge 1)",
        "Judge Verdict — Round 1 (Judge 2)",
    ]
    assert lines[lines.index("Scores: A: 7 | B: 6 | Winner: A") - 1] == ""


def test_a_mirrored_judge() -> None:
    """A ballot on the mirrored debate is told as such, and in the terms of the sides as they are."""
    first = debates.opening(rounds=1)
    first = first.model_copy(update={"setup": first.setup.model_copy(update={"mirror": True})})
    hall = Hall(events=[first])
    for side in "ab":
        hall.ask(f"1.opening.{side}")
        hall.speak(f"1.opening.{side}", "So.")
    for turn in hall.debate.due():
        hall.ask(turn.id)
    assert "Judge, mirrored, thinks" in hall.status
    for turn in hall.debate.due():
        text = json.dumps(puppets.ballot(*((4, 8) if turn.mirrored else (8, 4)), rounds=1))
        hall.happen(replies.parse_reply(hall.debate, turn, Reply(text=text, brief="0" * 64, by="x")))
    text = hall.glass.text

    assert "Judge Verdict — Round 1, Mirrored" in text
    assert text.count("  Researcher A ████████████████░░░░ 8") == 2


def test_what_there_is_to_say_of_a_speech() -> None:
    """That a speech was cut short, or refused, is told below it."""
    hall = Hall()
    hall.ask("1.opening.a")
    hall.speak("1.opening.a", "I would say mo", ended="cut")
    hall.ask("1.opening.b")
    hall.happen(Declined(turn="1.opening.b", reply=Reply(text="I won't.", brief="0" * 64, by="x")))
    lines = hall.left()

    assert "-- cut short by a limit of length." in lines
    assert lines[-1] == "Researcher B declined to argue (1.opening.b)."


def test_going_on() -> None:
    """A debate that has begun before is not shown again: where it stands is told, and what follows is shown."""
    hall = Hall(events=debates.played(until="2.challenge.a"))
    hall.ask("2.challenge.a")
    lines = hall.left()

    assert lines[1:4] == ["9 turns on record; here is what follows.", "", "--- ROUND 2 OF 3 ---"]
    assert "Opening" not in " ".join(lines)


def test_leaving_in_the_middle() -> None:
    """What was heard when the debate was left is there, and the status is not."""
    hall = Hall()
    hall.live.keys, hall.live.note = ["r resume", "q quit"], "paused"
    hall.ask("1.opening.a")
    hall.hear("1.opening.a", "I was about")
    assert hall.status.endswith("\npaused · r resume · q quit")
    lines = hall.left()

    assert lines[-3:] == ["  I was about", "", "-- left here, before its end."]
    assert "quit" not in " ".join(lines)


def test_a_word_of_the_house() -> None:
    """What is said from outside stands above the status."""
    hall = Hall()
    hall.live.say("Stopping.\nSoon.")

    assert hall.glass.text.startswith("Stopping.\nSoon.\n──")


@pytest.mark.parametrize("name", ["claim", "conversation", "panel", "question", "question-consultancy"])
def test_other_formats(name: str) -> None:
    """Every format is shown: its speeches and structured replies below their headings, and all that is announced."""
    hall = Hall(events=[attacked.opened(lambda place: f"Words for {place}.", name)])
    while due := hall.debate.due():
        for turn in due:
            hall.ask(turn.id)
        for turn in due:
            hall.happen(attacked.answer(hall.debate, turn, lambda place: f"Words for {place}."))
    text, at = " ".join(" ".join(hall.left()).split()), 0
    for line in [announced.text for announced in announcements(hall.debate)]:
        at = text.index(line, at) + len(line)
    for turn in hall.debate.settled():
        if turn.speaking:
            assert hall.debate.format.heading_of(turn) in text
            assert " ".join(transcript.entry(hall.debate, turn).text.split()) in text


def test_private_working() -> None:
    """What a format keeps private is not shown, neither while it is written nor afterwards."""
    hall = Hall(events=[attacked.opened(lambda place: "Words.", "question")])
    turn = hall.debate.due()[0]
    while not turn.speaking:
        hall.ask(turn.id)
        hall.happen(attacked.answer(hall.debate, turn, lambda place: "Words."))
        turn = hall.debate.due()[0]
    hall.ask(turn.id)
    for piece in ("\n<thin", "king>my weak", " spot</think", "ing>\nI hold ", "<em>that</em> it", " is so."):
        hall.hear(turn.id, piece)
        assert "weak" not in hall.glass.text and "<thin" not in hall.glass.text
    hall.speak(turn.id, "\n<thinking>my weak spot</thinking>\nI hold <em>that</em> it is so.")
    lines = hall.left()

    assert "  I hold <em>that</em> it is so." in lines
    assert not any("on record is not" in line or "weak" in line for line in lines)


def test_names_are_no_orders() -> None:
    """What a recording from elsewhere calls its seats and phases moves no cursor either."""
    events = debates.played(rounds=1)
    first = events[0]
    assert isinstance(first, Opened)
    evil, rules = "\x1b[2J\u202eEvil\x07\n", first.format
    seats = {seat: one.model_copy(update={"name": evil + seat}) for seat, one in rules.seats.items()}
    phases = tuple(phase.model_copy(update={"title": evil + phase.title}) for phase in rules.round)
    made = rules.model_copy(update={"seats": seats, "round": phases})
    hall = Hall(events=[first.model_copy(update={"format": made})])
    hall.ask("1.opening.a")
    assert "␛[2JEvil␇" in hall.status
    hall.happen(*events[1:])

    assert "␛[2JEvil␇ a ███" in hall.glass.text


@settings(max_examples=25)
@given(dealt_by_chance(nasty.alike("word")))
def test_whatever_is_said_nothing_is_forged(deal: Deal) -> None:
    """No speech and no judge's word moves a cursor or begins a line where the house speaks."""
    events = debates.played(debates.hostile(deal, rounds=1), rounds=1)
    hall = Hall(events=events[:1], columns=100)
    hall.happen(*events[1:])
    known = {
        *(line.text for line in announcements(hall.debate)),
        *(hall.debate.format.heading_of(turn) for turn in hall.debate.settled()),
    }
    flush = [line for line in hall.left() if line and not line.startswith(" ")]

    assert [line for line in flush if line not in known and not any(line in one for one in known)] == []


def test_the_dissent_record_is_read_out() -> None:
    """What stayed in dispute is there claim by claim, each with its status, before its count."""
    _, lines = whole(rounds=1)
    at = lines.index("  1. It is cheaper. (unresolved)")

    assert lines[at - 2] == "Dissent Record"
    assert "Dissent record: 1 disputed claim, 1 unresolved." in lines[at:]


def test_what_comes_from_the_floor() -> None:
    """A question and an early end are announced where they happen, in one line each, whatever the question holds."""
    hall = Hall()
    hall.ask("1.opening.a")
    hall.happen(QuestionAsked(question="Why?\n\x1b[2J--- ROUND 3 OF 3 ---", to=("b",)))
    hall.speak("1.opening.a", "So it is.")
    hall.happen(EndedEarly())
    lines = hall.left()

    assert "From the floor, to Researcher B: Why? ␛[2J--- ROUND 3 OF 3 ---" in lines
    assert "Ended early, after Opening Statement of round 1." in lines
