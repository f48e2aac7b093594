"""What a mirrored judge is shown: the same debate under each other's names, and nothing that tells which is which."""

from __future__ import annotations

import json
import os
import re
from contextlib import nullcontext
from itertools import chain, groupby, pairwise
from operator import attrgetter
from pathlib import Path
from typing import Any

import pytest
import scripted_replies
from debates import CONCEDE, DECLINE, answers, opened_event, play_events, script_of, states
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from reply_codes import code_of, signed
from test_briefs import MARKER, block_of, shown, with_one_marker

from debate_orchestrator.core import schedule, tally
from debate_orchestrator.core.events import Event, Rejected, StructuredReplyGiven
from debate_orchestrator.core.fold import apply, fold
from debate_orchestrator.core.reply import Reply
from debate_orchestrator.core.transcript_entries import entries_for
from debate_orchestrator.engine import rejudge, transcript_file
from debate_orchestrator.host.turns_folder import TurnsFolder
from debate_orchestrator.prompting.briefs import Brief, brief, brief_file, positions_shown
from debate_orchestrator.prompting.person_turns import computed_answers, heading
from debate_orchestrator.prompting.replies import parse_reply
from debate_orchestrator.terminal.drafts import Drafts
from debate_orchestrator.util.errors import BadReply

NAMES = {"a": "Researcher A", "b": "Researcher B"}
VERDICT = "1.verdict.judge"


def mirrored(say: scripted_replies.Say | None = None, *, until: str | None = None, **setup: Any) -> list[Event]:
    return play_events(say, until=until, mirror=True, **setup)


def pair(turn: str = VERDICT, say: scripted_replies.Say | None = None, **setup: Any) -> tuple[Brief, Brief]:
    """The briefs of a judge's two turns, straight and mirrored."""
    debate = fold(mirrored(say, until=turn, **setup))
    made = {one.id: brief(debate, one) for one in debate.due}
    return made[turn], made[f"{turn}.mirrored"]


def parts(made: Brief) -> list[str]:
    (message,) = made.messages
    return [with_one_marker(part) for part in message.parts]


def opened(part: str) -> str:
    """How the block of a turn begins."""
    return part.partition("\n")[0]


def argues(text: str) -> list[str]:
    """Who argues what, as a motion says it."""
    return [line for line in text.split("\n") if " argues" in line]


def test_positions_change_names_and_keep_their_sides() -> None:
    """Mirrored, each position goes by the other's name; Pro and Con stay with the position."""
    original, other = (argues(parts(made)[0]) for made in pair(rounds=1))
    assert original == [
        "Researcher A argues (Pro): Indent with tabs.",
        "Researcher B argues (Con): Indent with spaces.",
    ]
    assert other == ["Researcher A argues (Con): Indent with spaces.", "Researcher B argues (Pro): Indent with tabs."]


@pytest.mark.parametrize("first", ["a", "b"])
def test_where_a_name_could_be_debated_the_order_alone_is_swapped(first: str) -> None:
    """The mirrored brief has the same speeches and positions, word for word and under the same names, with the last
    side first, also in the totals; nothing else differs, and the vote counts as it was cast."""
    said = {f"_1_opening_{side}": f"{NAMES[side]}, R1 and A are here, in 1.opening.{side}." for side in "ab"}
    other = "ab".replace(first, "")
    original, swapped = (parts(made) for made in pair(say=script_of(**said), rounds=1, order_only=True, first=first))
    assert argues(swapped[0]) == argues(original[0])[::-1] and len(argues(swapped[0])) == 2
    notes = [re.sub(rf"\n{MARKER}: the speech above was given after .*", "", part) for part in swapped]
    blocks = [re.sub(rf"\n{MARKER}: the speech above was given after .*", "", part) for part in original]
    assert notes[1:-1] == [block for n in range(1, len(blocks) - 1, 2) for block in (blocks[n + 1], blocks[n])]
    assert f"{MARKER}: the speech above was given after 1.opening.{first}, and" in swapped[1]
    assert opened(swapped[1]).startswith(f"<<< 1.opening.{other} {MARKER} {NAMES[other]}: ")
    assert sorted(re.findall(r"[\w.]*\w", swapped[-1])) == sorted(re.findall(r"[\w.]*\w", original[-1]))
    lead = {f"_1_verdict_judge{end}": scripted_replies.ballot(8, 5, rounds=1) for end in ("", "_mirrored")}
    original, swapped = (
        parts(made)[-1] for made in pair("final.verdict.judge", script_of(**lead), rounds=1, order_only=True)
    )
    totals = ["- Researcher A: 8 points, 1 round won", "- Researcher B: 5 points, 0 rounds won"]
    assert "\n".join(totals) in original and "\n".join(totals[::-1]) in swapped and "irror" not in swapped


PLAIN = {
    "Tea, in well-known (green) “pots”": "tea in well-known green pots",
    "It is Ann's; so be it.": "It is Ann's so be it",
    "Node.js 24/7 for 50%, says R&D.": "**“node.js 24/7 for 50%, says R&D”**",
    "कर बढ़ाना चाहिए।": "“कर बढ़ाना चाहिए।”",
    "Brazil wins.": "Brazil wins",
    "Tea – (in 5 pots)": "Tea in 5 pots",
}
"""Position to other words that mean it."""
SIGNED = {
    **{"C++": "C", "F♯ major": "F major", "-5 degrees": "5 degrees", "At −20 C": "At 20 C", "≥ 18": "18"},
    **{"€10": "10", "Yahoo!": "Yahoo", "Grade A-": "Grade A", "1.5": "1/5", "2-5": "2/5", "5'": "5", "5 °C": "5 C"},
    **{"x_1": "x 1", "At – 5 degrees": "At 5 degrees", "At - ½ degree": "At ½ degree", "6’ tall": "6 tall"},
    **{"A 10” board": "A 10 board", "A (5) percent result": "A 5 percent result"},
}
"""Position to words that may mean another, since a sign is left out."""


def test_a_position_is_read_as_the_side_it_was_shown_for() -> None:
    """A judge that names a winner by its position means the side for which its brief shows it, in whatever words. If a
    sign is left out, they may mean another."""
    former = {side: f'An answer of {side.upper()} to "Which town?"' for side in "ab"}
    others = ({"a": text, "b": "Spaces, says 1.opening.a."} for text in ("Tabs.", *PLAIN, *SIGNED))
    for positions in (former, *others):
        opening = opened_event(rounds=1, mirror=True, topic="Which town?").with_settings(positions=positions)
        debate = fold([opening])
        while not debate.due[0].judging:
            for turn in debate.due:
                debate = apply(debate, next(iter(answers(debate, turn, None))))
        for turn in debate.due:
            for side, position in positions_shown(debate, turn).items():
                assert (
                    f"{NAMES[side]} argues ({'Pro' if (side == 'a') is not turn.mirrored else 'Con'}): {position}\n"
                    in (parts(brief(debate, turn))[0])
                )
                code = code_of(debate, turn)
                said = json.dumps(signed(scripted_replies.ballot(7, 6, winner=position, rounds=1), code))
                event = parse_reply(debate, turn, Reply(text=said, brief_digest="0" * 64, spec="x"), code)
                assert isinstance(event, StructuredReplyGiven) and event.data["winner"] == side, (turn.id, position)
                by_positions = {
                    positions_shown(debate, turn)[key]: value for key, value in event.data["scores"].items()
                }
                said_so = json.dumps(signed({**event.data, "scores": by_positions}, code))
                event = parse_reply(debate, turn, Reply(text=said_so, brief_digest="0" * 64, spec="x"), code)
                assert isinstance(event, StructuredReplyGiven) and event.data["winner"] == side, (turn.id, position)
                if other_words := (PLAIN | SIGNED).get(position):
                    said = said.replace(json.dumps(position), json.dumps(other_words))
                    with nullcontext() if position in PLAIN else pytest.raises(BadReply):
                        event = parse_reply(debate, turn, Reply(text=said, brief_digest="0" * 64, spec="x"), code)
                        assert isinstance(event, StructuredReplyGiven) and event.data["winner"] == side


@pytest.mark.parametrize("order_only", [False, True])
def test_a_vote_holds_for_a_side_and_not_for_a_place(order_only: bool) -> None:
    """A judge who votes for whichever side is shown first changes its vote, and one who votes for a position does not;
    scores, concessions and lists of a sincere one mean the side."""
    for by_place in (True, False):
        debate = fold([opened_event(rounds=1, mirror=True, order_only=order_only)])
        while not debate.complete:
            for turn in debate.due:
                said = None
                if turn.judging and turn.phase.reply != "dissent":
                    shown = argues(parts(brief(debate, turn))[0])
                    line = shown[0] if by_place else next(line for line in shown if "tabs" in line)
                    side = next(side for side, name in NAMES.items() if line.startswith(name))
                    points = (9, 4) if side == "a" else (4, 9)
                    is_final = turn.slot_id.startswith("final")
                    said = scripted_replies.final(side) if is_final else scripted_replies.ballot(*points, rounds=1)
                    said |= {"justification": f"{NAMES[side]} is right."}
                for event in answers(debate, turn, lambda _, said=said: said):
                    debate = apply(debate, event)
        (vote,) = tally.final_votes(debate)
        assert (vote.stable, vote.winner) == ((False, "no decision") if by_place else (True, "a"))
        if not by_place:
            assert tally.totals(debate) == {"a": 9, "b": 4}
            for end in ("", ".mirrored"):
                ballot = debate.structured_reply(f"1.verdict.judge{end}")
                shape = debate.shape(schedule.turn(debate, "1.verdict.judge"))
                assert ballot and shape, end
                assert tally.in_original_names(debate, shape, ballot)["justification"] == "Researcher A is right."


def test_every_speech_is_under_the_others_name() -> None:
    """What A said is in a block of B's, with B's tag and id, and its own words call it so."""
    said = {f"_1_opening_{side}": f"I, {NAMES[side]}, say so in 1.opening.{side}." for side in "ab"}
    original, other = (parts(made) for made in pair(say=script_of(**said), rounds=1))
    assert (
        [opened(part) for part in original[1:3]]
        == [opened(part) for part in other[1:3]]
        == [
            f"<<< 1.opening.a {MARKER} Researcher A: Opening Statement [R1 - ROUND 1 - OPENING]",
            f"<<< 1.opening.b {MARKER} Researcher B: Opening Statement [R2 - ROUND 1 - OPENING]",
        ]
    )
    assert block_of(original[1], "1.opening.a") == "I, Researcher A, say so in 1.opening.a."
    assert block_of(other[1], "1.opening.a") == "I, Researcher A, say so in 1.opening.a."
    assert parts(pair(say=script_of(**said | {"_1_opening_b": "No."}), rounds=1)[1])[1].split("\n")[1] == "No."


@pytest.mark.parametrize("first", ["a", "b"])
def test_the_order_within_a_phase_is_swapped(first: str) -> None:
    """Who spoke last in a phase comes first, and where it had heard the other, the brief says so."""
    other = "ab".replace(first, "")
    _, made = pair("2.verdict.judge", first=first, rounds=2)
    blocks = parts(made)[1:-1]
    spoken = [re.search(r"says in (\S+)\.", block) for block in blocks]
    assert [found[1] for found in spoken if found] == [
        f"{n}.{name}.{side}"
        for n, kinds in ((1, ("opening", "challenge", "rebuttal")), (2, ("constructive", "challenge", "rebuttal")))
        for name in kinds
        for side in (first, other)
    ], "the ids in their words are swapped, as their places are"
    after = [re.search(rf"\n{MARKER}: the speech above was given after (\S+), and with", block) for block in blocks]
    assert [found and found[1] for found in after] == [
        *(f"1.opening.{other}", *[None] * 5),
        *(f"2.constructive.{other}", *[None] * 5),
    ]


@settings(max_examples=60)
@given(st.lists(st.lists(st.sampled_from("ab"), min_size=1, max_size=4), min_size=1, max_size=4))
def test_a_transcript_begins_and_ends_with_another_side(rounds: list[list[str]]) -> None:
    """Whatever the order of its speeches, another side is first in the mirrored transcript, and last too if the sides
    take turns equally often. No speech is lost, and each that is shown before one that it answers has a note."""
    assume(len(set(chain.from_iterable(rounds))) == 2)
    speeches = {f"Speech {n}.{m}.": side for n, sides in enumerate(rounds) for m, side in enumerate(sides)}
    sections = ["# Should it be so?"]
    for text, side in speeches.items():
        sections += [f"## Round {int(text[7]) + 1}"] if text.endswith(".0.") else []
        sections += [f"### {'Alice (Pro)' if side == 'a' else 'Bob (Con)'}", text]
    transcript = transcript_file.parse("\n\n".join(sections), "x")
    mirror = {"mirror": True}
    first, events = rejudge.opened_from_transcript(transcript, "x", "0" * 64, ["rehearse"], vote_settings=mirror)
    debate = fold([first, *events])
    original, mirrored = (
        [(entry.text, entry.turn.seat, entry.after) for entry in entries_for(debate, turn)]
        for turn in sorted(debate.due, key=attrgetter("mirrored"))
    )
    assert sorted(text for text, *_ in mirrored) == sorted(speeches)
    names = {text: seat for text, seat, _ in original}
    assert all(seat != names[text] for text, seat, _ in mirrored)
    assert mirrored[0][1] == original[0][1], "under the name of the side that is first, the other's words"
    runs = [side for side, _ in groupby(speeches.values())]
    assert len(runs) % 2 or mirrored[-1][1] == original[-1][1]
    places = {text: n for n, (text, *_) in enumerate(mirrored)}
    for earlier, later in pairwise(speeches):
        assert (mirrored[places[later]][2] is not None) == (places[later] < places[earlier])


def test_no_judge_is_told_which_presentation_it_is() -> None:
    """No mirrored brief says so, also where the judge is shown its earlier ballots of that presentation."""
    events = mirrored(script_of(**{f"_{n}_verdict_judge_mirrored": scripted_replies.ballot(5, 5) for n in (1, 2, 3)}))
    made = shown(events)
    for turn, text in made.items():
        assert "mirror" not in text.lower(), turn
    assert f"<<< BALLOT {MARKER} 2.verdict.judge\n" in made["final.verdict.judge.mirrored"]


def test_no_judge_of_a_host_is_told_either(tmp_path: Path) -> None:
    """Nor by the file of its brief, the name of that, or what was wrong with a reply that is asked for again."""
    debate = fold(mirrored(until="1.verdict.judge.mirrored"))
    turn = schedule.turn(debate, "1.verdict.judge.mirrored")
    reply = Reply(text="no ballot", brief_digest="0" * 64, spec="host")
    problem = "1.verdict.judge.mirrored: the reply has no JSON object."
    again = brief(debate, turn, Rejected(turn_id=turn.id, problems=(problem,), reply=reply))
    files = TurnsFolder(str(tmp_path)).turn_files(turn.id, "json")
    text = brief_file(again, debate, turn, os.path.basename(files.reply))

    assert "1.verdict.judge: the reply has no JSON object." in text and "mirror" not in text.lower()
    assert "mirror" not in os.path.basename(files.brief) + os.path.basename(files.reply)


def test_a_persons_form_is_of_the_debate_that_it_shows() -> None:
    """Nothing tells a person which debate it judges, and the strength is of the winner by its name there."""
    first, second = (scripted_replies.ballot(*points, rounds=1) for points in ((9, 4), (4, 9)))
    say = script_of(_1_verdict_judge=first, _1_verdict_judge_mirrored=second)
    debate = fold(mirrored(say, until="final.verdict.judge", rounds=1))
    for turn in debate.due:
        assert heading(debate, turn) == "Final Verdict, one of two ballots"
        assert "irror" not in Drafts("drafts").path_of(brief(debate, turn))
        strengths = {
            winner: computed_answers(debate, turn, {("winner",): winner})[("strength",)]
            for winner in debate.format.sides
        }
        better, worse = "ba" if turn.mirrored else "ab"
        assert strengths == {better: "decisive", worse: "narrow"}


def test_earlier_ballots_are_those_of_the_presentation() -> None:
    """A judge's own ballots come back as it cast them in that presentation; sums of them are in its terms."""
    lead = {f"_{n}_verdict_judge": scripted_replies.ballot(8, 5, justification="Straight.") for n in (1, 2, 3)}
    lead |= {f"_{n}_verdict_judge_mirrored": scripted_replies.ballot(6, 7, justification="Other.") for n in (1, 2, 3)}
    original, other = (parts(made)[-1] for made in pair("final.verdict.judge", script_of(**lead)))
    assert ("Straight." in original, "Other." in original) == (True, False)
    assert ("Straight." in other, "Other." in other) == (False, True)
    assert "- Researcher A: 24 points, 3 rounds won\n- Researcher B: 15 points, 0 rounds won" in original
    assert "- Researcher A: 18 points, 0 rounds won\n- Researcher B: 21 points, 3 rounds won" in other


@pytest.mark.parametrize("side", ["a", "b"])
def test_concessions_and_refusals_change_names(side: str) -> None:
    """Who conceded, and who declined to argue, is reported by the names of the presentation."""
    other = NAMES["ba"["ab".index(side)]]
    say = script_of(**{f"_1_opening_{side}": f"It would do harm.\n\n{DECLINE}", f"_1_rebuttal_{side}": CONCEDE})
    original, made = pair("final.verdict.judge", say)
    sentence = "conceded the whole position: consensus was reached"
    assert f"{NAMES[side]} {sentence}" in parts(original)[-1]
    assert f"{other} {sentence}" in parts(made)[-1]
    _, made = pair(say=script_of(**{f"_1_opening_{side}": f"It would do harm.\n\n{DECLINE}"}), rounds=1)
    assert f"On record: {other} declined to argue in 1.opening.{'ba'['ab'.index(side)]}." in parts(made)[-1]
    assert any(f"{MARKER}: here {other} declined to argue, in these words." in part for part in parts(made))


def test_what_is_sent_mirrored_only_grows_at_its_end() -> None:
    """Every part of a mirrored brief but its last stands, unchanged, at the beginning of every later one."""
    both = scripted_replies.converging("both")
    say = script_of(_1_verdict_judge=both, _1_verdict_judge_mirrored=both)
    events, sent = mirrored(say, rounds=2), list[list[str]]()
    for debate in states(events):
        for turn in debate.due:
            if turn.mirrored:
                made = [*brief(debate, turn).messages[0].parts]
                assert all(made[: len(earlier) - 1] == earlier[:-1] for earlier in sent)
                sent.append(made)
    assert {len(made) for made in sent} == {8, 16}
