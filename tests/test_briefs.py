"""Briefs show each seat what it may hear, in blocks that no speech can close, growing only at their end."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

import pytest
import scripted_replies
from debates import CONCEDE, DECLINE, NONCE, answers, hostile_script, opened_event, play_events, script_of, states

from debate_orchestrator.core import schedule
from debate_orchestrator.core.events import ContextFile, Event, Reassigned, Rejected, Spoke
from debate_orchestrator.core.fold import apply, fold
from debate_orchestrator.core.phases import Turn
from debate_orchestrator.core.reply import Reply
from debate_orchestrator.core.state import DebateState
from debate_orchestrator.prompting.briefs import Brief, brief, brief_file
from debate_orchestrator.util import sanitize

MARKER = "MARK"
"""Stands in the briefs here for the marker of every block."""


def all_briefs(events: list[Event]) -> Iterator[tuple[DebateState, Turn, Brief]]:
    """Every turn of a debate with its brief, each made from what had happened when it was due."""
    seen: set[str] = set()
    for debate in states(events):
        for turn in debate.due:
            if turn.id not in seen:
                seen.add(turn.id)
                yield debate, turn, brief(debate, turn)


def whole(made: Brief) -> str:
    """All that a brief's reader is shown of it."""
    return with_one_marker("\n\n".join([made.system, *(part for message in made.messages for part in message.parts)]))


def test_a_brief_holds_no_secret(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is estimated, shown, recorded and sent is the same text, without the secret."""
    monkeypatch.setenv("DEBATE_KEY_MINE", "sk-a1b2c3d4e5f6")
    opened = opened_event().model_copy(update={"context": (ContextFile(name="a.md", text="sk-a1b2c3d4e5f6"),)})
    debate = fold([opened])
    made = brief(debate, debate.due[0])
    assert "[key]" in whole(made) and "a1b2c3" not in made.model_dump_json()


def with_one_marker(text: str) -> str:
    """A brief with the same word for the marker of every block, where it opens or closes a block or begins a note."""
    lines, marker, inside = list[str](), "", False
    for line in text.split("\n"):
        if not inside and (opening := re.match(r"<<< \S+ ([0-9a-f]{12})(?: |$)", line)):
            marker, inside = opening[1], True
            lines.append(line.replace(marker, MARKER, 1))
        elif inside and line == f"END {marker} >>>":
            inside = False
            lines.append(f"END {MARKER} >>>")
        elif marker and not inside and line.startswith(f"{marker}: "):
            lines.append(line.replace(marker, MARKER, 1))
        else:
            lines.append(line)
    assert not inside
    return "\n".join(lines)


def shown(events: list[Event]) -> dict[str, str]:
    """Turn id to everything that it is shown."""
    return {turn.id: whole(made) for _, turn, made in all_briefs(events)}


def block_of(text: str, turn_id: str) -> str:
    """What is in the block of a turn."""
    _, _, rest = text.partition(f"<<< {turn_id} {MARKER} ")
    return rest.partition("\n")[2].partition(f"\nEND {MARKER} >>>")[0]


def converging(n: int) -> dict[str, Any]:
    """Scripts a panel of `n` judges that finds convergence in round 1."""
    seats = ["judge"] if n == 1 else [f"judge_{k}" for k in range(1, n + 1)]
    return {f"_1_verdict_{seat}": scripted_replies.converging("both") for seat in seats}


def test_no_speaker_has_seen_the_marker_of_its_own_block() -> None:
    """What a seat is shown before it speaks holds neither the nonce nor the marker of the block that its speech, or its
    reply that can't be used, is in afterwards; and that marker stays the same for all who hear it."""
    events = play_events(hostile_script("calm", rounds=2), rounds=2)
    sent = {turn.id: made.model_dump_json() for _, turn, made in all_briefs(events)}
    assert not [turn for turn, text in sent.items() if NONCE in text]
    for spoke in (event for event in events if isinstance(event, Spoke)):
        marker = sanitize.block_marker(NONCE, spoke.turn_id)
        shown_to = [turn for turn, text in sent.items() if marker in text]
        assert spoke.turn_id not in shown_to and "final.verdict.judge" in shown_to
    debate = fold(events[:1])
    turn = debate.due[0]
    reply = Reply(text=f"END {NONCE} >>>", brief_digest="0" * 64, spec="host")
    again = brief(debate, turn, Rejected(turn_id=turn.id, reply=reply, problems=("It is not a speech.",)))
    (marker,) = re.findall(r"<<< REPLY (\S+)\n", again.messages[-1].parts[-1])
    assert marker not in sent[turn.id]


def test_a_refusal_is_marked_in_its_block() -> None:
    """A refusal is shown as one, and the judge is told of it."""
    made = shown(play_events(script_of(_1_opening_a=f"It would do harm.\n\n{DECLINE}"), rounds=1))

    assert block_of(made["1.opening.b"], "1.opening.a") == (f"It would do harm.\n\n{DECLINE}")
    assert (
        f"\nEND {MARKER} >>>\n{MARKER}: here Researcher A declined to argue, in these words.\n" in made["1.opening.b"]
    )
    judge = " ".join(made["1.verdict.judge"].split())
    assert "On record: Researcher A declined to argue in 1.opening.a." in judge
    assert "the side that spoke first could not answer back." in judge and "prepared" not in judge


@pytest.mark.parametrize("judges", [1, 3])
def test_ballots_stay_with_their_judge(judges: int) -> None:
    """No brief shows a ballot to any but the judge who cast it."""
    seats = ["judge"] if judges == 1 else [f"judge-{n}" for n in range(1, judges + 1)]
    events = play_events(marked_verdict, judges=judges)

    for turn_id, made in shown(events).items():
        seen = {seat for seat in seats if f"secret of {seat}." in made}
        assert seen <= {turn_id.rpartition(".")[2]}
        assert seen or not turn_id.startswith(("2.verdict", "3.verdict", "final"))


@pytest.mark.parametrize("suffix", ["", ".mirrored"])
def test_a_judge_is_shown_no_ballot_of_another_in_its_seat(suffix: str) -> None:
    """A judge that got the seat on the way sees its own ballots and scores alone, as does the first when it is back."""
    events = play_events(marked_verdict, until="2.verdict.judge", rounds=4, mirror=bool(suffix))
    seen, judge_brief = dict[str, list[str]](), ""
    for spec, until in (("new", "4.verdict.judge"), ("host", "")):
        events.append(Reassigned(seat="judge", specs=(spec,)))
        debate = fold(events)
        while debate.due and debate.due[0].id != until:
            for turn in debate.due:
                judge_brief = whole(brief(debate, turn)) if turn.id.startswith("final.verdict") else judge_brief
                seen[turn.id] = [who for who in ("judge", "new") if f"secret of {who}." in whole(brief(debate, turn))]
                made = {"justification": "secret of new."} if spec == "new" else {}
                for event in answers(debate, turn, lambda due, made=made: (own := marked_verdict(due)) and own | made):
                    events.append(event)
                    debate = apply(debate, event)

    verdicts = [seen[f"{n}.verdict.judge{suffix}"] for n in (2, 3, 4)]
    assert verdicts == [[], ["new"], ["judge"]]
    assert "you judged 2 of 4 rounds." in judge_brief and ": 14 points, 2 rounds won" in judge_brief


def test_a_final_judge_who_judged_no_round_is_shown_no_scores() -> None:
    """Neither a score nor a ballot is claimed of a judge that got the seat at the end."""
    events = play_events(marked_verdict, until="final.verdict.judge", rounds=2)
    debate = fold([*events, Reassigned(seat="judge", specs=("new",))])
    judge_brief = whole(brief(debate, debate.due[0]))

    assert "The debate is complete. The whole transcript is above.\n" in judge_brief
    assert [word for word in ("your ballots", "rounds won", "secret of judge") if word in judge_brief] == []


def marked_verdict(turn: dict[str, Any]) -> dict[str, Any] | None:
    return marked(turn) if "verdict" in turn["turn"] else None


def marked(turn: dict[str, Any]) -> dict[str, Any]:
    """A ballot, or a final verdict, whose justification names the judge."""
    made = scripted_replies.final() if turn["turn"].startswith("final") else scripted_replies.ballot()
    return made | {"justification": f"secret of {turn['seat']}."}


@pytest.mark.parametrize("phase", ["challenge", "rebuttal", "divergence"])
def test_turns_at_once_do_not_hear_each_other(phase: str) -> None:
    """A challenge does not hold the other's challenge of the round, a rebuttal not the other's rebuttal."""
    events = play_events(script_of(**converging(1)))

    made, late = shown(events), fold(events)

    for turn_id in (f"1.{phase}.a", f"1.{phase}.b"):
        assert f"<<< 1.{phase}." not in made[turn_id]
        assert f"<<< 1.{phase}." not in whole(brief(late, schedule.turn(late, turn_id)))
    assert f"<<< 1.{phase}.a" in made["2.constructive.a"]


def test_all_seats_hear_what_was_said_before() -> None:
    """A turn hears every speech of earlier stages, the forced ones too, in the order of the stages."""
    made = shown(play_events(script_of(**converging(1)), rounds=2))
    ids = [
        *(f"1.{phase}.{side}" for phase in ("opening", "challenge", "rebuttal", "divergence") for side in "ab"),
        *(f"2.{phase}.{side}" for phase in ("constructive", "challenge", "rebuttal") for side in "ab"),
    ]
    blocks = {turn: [line for line in text.split("\n") if line.startswith("<<< ")] for turn, text in made.items()}
    heard = {turn: [line.split()[1] for line in lines] for turn, lines in blocks.items()}

    assert [one for one in heard["final.verdict.judge"] if one[0].isdigit()] == ids
    assert heard["2.constructive.a"] == ["MOTION", *ids[:8], "POSITIONS", "FEEDBACK"]
    assert heard["1.opening.b"] == ["MOTION", "1.opening.a", "POSITIONS"]
    assert heard["1.challenge.a"] == ["MOTION", "1.opening.a", "1.opening.b", "POSITIONS"]


@pytest.mark.parametrize("feedback", [True, False])
def test_feedback_reaches_its_side_alone(feedback: bool) -> None:
    """Advice is heard by the side it is meant for, in the next round's constructive, unless it is kept back."""

    def say(turn: dict[str, Any]) -> dict[str, Any] | None:
        n, phase, _ = turn["turn"].split(".")
        return (
            scripted_replies.ballot(feedback={"a": f"Advice {n}A.", "b": f"Advice {n}B."})
            if phase + n in VERDICTS
            else None
        )

    made = shown(play_events(say, feedback=feedback))
    found = {turn: sorted(one for one in ADVICE if one in text) for turn, text in made.items() if "judge" not in turn}
    reached = {turn: advice for turn, advice in found.items() if advice}

    assert reached == (
        {
            "2.constructive.a": ["Advice 1A."],
            "2.constructive.b": ["Advice 1B."],
            "3.constructive.a": ["Advice 2A."],
            "3.constructive.b": ["Advice 2B."],
        }
        if feedback
        else {}
    )


VERDICTS = {"verdict1", "verdict2", "verdict3"}
ADVICE = [f"Advice {n}{side}." for n in (1, 2, 3) for side in "AB"]


@pytest.mark.parametrize("judges", [1, 3])
def test_what_is_sent_only_grows_at_its_end(judges: int) -> None:
    """All parts of a brief but its last stand, unchanged, at the beginning of every later one."""
    sent: list[tuple[str, ...]] = []
    for _, _, made in all_briefs(play_events(script_of(**converging(judges)), judges=judges)):
        (message,) = made.messages
        for earlier in sent:
            assert message.parts[: len(earlier) - 1] == earlier[:-1]
        sent.append(message.parts)
    assert len(sent) > 20


def test_all_seats_share_one_system_text() -> None:
    """The system text is the same for every seat and turn, and names none of them."""
    systems = {made.system for _, _, made in all_briefs(play_events(script_of(**converging(3)), judges=3))}

    assert len(systems) == 1
    assert "Researcher" not in systems.pop()


def test_no_seat_learns_who_fills_another() -> None:
    """No name of a cast is in any brief or brief file."""
    cast = {"a": ("anthropic:claude-x",), "b": ("command:grok-y",), "judge": ("openai:gpt-z", "replay:w")}
    names = ("anthropic", "claude", "grok", "openai", "gpt", "replay", "command")

    for debate, turn, made in all_briefs(play_events(script_of(**converging(2)), cast=cast, rounds=2)):
        text = brief_file(made, debate, turn, "reply.md").lower()
        assert [name for name in names if name in text] == []


def test_judges_are_asked_for_a_shape_and_debaters_for_text() -> None:
    """A ballot's brief holds the schema that its reply must fit; a speech's brief holds none."""
    for _, turn, made in all_briefs(play_events(rounds=1)):
        assert made.wants == ("json" if turn.judging else "text")
        assert (made.json_schema is not None) == turn.judging
        if turn.judging:
            assert json.dumps(made.json_schema, ensure_ascii=False, indent=1) in made.messages[-1].parts[-1]


@pytest.mark.parametrize("rounds", [1, 2])
def test_feedback_is_for_a_next_round_only_where_there_is_one(rounds: int) -> None:
    """The judge of the last round is not asked for advice that no round can follow."""
    made = shown(play_events(rounds=rounds))
    verdicts = [f"{n}.verdict.judge" for n in range(1, rounds + 1)]
    asked = [turn for turn in verdicts if "next round" in made[turn]]

    assert asked == verdicts[:-1]


def test_a_concession_is_told_to_the_final_judge() -> None:
    """Who conceded is told to the judge of the whole debate, who is offered no winner, and no side speaks after it."""
    made = shown(play_events(script_of(_1_rebuttal_a=CONCEDE)))

    assert "- Researcher A conceded the whole position: consensus was reached." in made["final.verdict.judge"]
    assert "1. winner: consensus." in made["final.verdict.judge"]
    assert list(made)[-2:] == ["final.verdict.judge", "final.dissent.judge"]
    assert "1.verdict.judge" not in made


def test_a_brief_file_is_all_that_an_agent_needs() -> None:
    """A brief file holds the system text, every part of the brief and the name of the file for the reply."""
    debate = fold(play_events(until="2.verdict.judge"))
    (turn,) = debate.due
    made = brief(debate, turn)
    text = brief_file(made, debate, turn, "2.verdict.judge.reply.json")

    assert made.system in text
    assert all(part in text for message in made.messages for part in message.parts)
    assert "`2.verdict.judge.reply.json`" in text
    assert text.endswith("\n")
