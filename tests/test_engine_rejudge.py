"""A debate judged again: the opening that is made of a journal or a transcript, and what then goes on."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
import scripted_replies
from core.folding import play
from corpus import for_each
from debates import CONCEDE, DECLINE, answers, entries, opened_event, play_events, script_of
from journals import write_journal
from speakers import Speaker, take_turns

from debate_orchestrator.core import schedule, speech_rules, tally
from debate_orchestrator.core.costs import costs_of
from debate_orchestrator.core.events import (
    ContextFile,
    EarlierDebate,
    Event,
    Opened,
    QuestionAsked,
    Reassigned,
    Rejected,
    Spoke,
)
from debate_orchestrator.core.fold import CurrentState, apply, fold
from debate_orchestrator.core.format import Format
from debate_orchestrator.core.reply import Reply
from debate_orchestrator.core.shape import Field
from debate_orchestrator.core.state import DebateState
from debate_orchestrator.engine import rejudge
from debate_orchestrator.engine.transcript_file import parse
from debate_orchestrator.formats import loader
from debate_orchestrator.prompting.briefs import brief
from debate_orchestrator.providers import cast_providers
from debate_orchestrator.reports import markdown
from debate_orchestrator.reports.compare import has_speeches_of
from debate_orchestrator.reports.conflicts import conflicts_of_interest
from debate_orchestrator.reports.model import build_report
from debate_orchestrator.reports.provenance import earlier_debate_report, public_speakers
from debate_orchestrator.storage.journal import JournalWriter, read
from debate_orchestrator.storage.paths import JOURNAL
from debate_orchestrator.util import resources
from debate_orchestrator.util.errors import BadFile, BadJournal, BadSettings

NEW = ("speaker",)


def judged(path: Path, opened: Opened, speaker: Speaker) -> DebateState:
    """A re-judging of a journal, driven to its end: recordings speak, and `speaker` judges."""
    with JournalWriter.create(path, opened) as journal:
        debate = fold(journal.events)
        sides = fold([opened.with_settings(cast=opened.cast | {"judge": ("host",) * len(debate.judges)})])
        seats = cast_providers.make_providers(CurrentState(sides)) | dict.fromkeys(debate.judges, speaker)
        return asyncio.run(take_turns(journal, CurrentState(debate), seats))


def speeches(debate: DebateState) -> list[tuple[str, str]]:
    turns = [turn for turn in schedule.turns_taken(debate) if debate.shape(turn) is None]
    return [(turn.id, debate.reply(turn).text) for turn in turns]


def again(
    tmp_path: Path, events: list[Event], judges: tuple[str, ...] = NEW, **how: Any
) -> tuple[DebateState, Speaker]:
    """Those events, written down and judged again by a speaker."""
    tmp_path.mkdir(exist_ok=True)
    old = tmp_path / f"old{JOURNAL}"
    write_journal(old, events)
    speaker = Speaker(how.get("say", lambda brief: None), rounds=fold(events).rounds)
    opened = rejudge.opened_from_journal(read(old).entries, str(old), judges, how.get("strictness"))[0]
    return judged(tmp_path / f"new{JOURNAL}", opened, speaker), speaker


def test_the_speeches_are_those_of_then(tmp_path: Path) -> None:
    """Every speech is given again, word for word, however often it was asked for; the new judges alone are asked. A
    refusal is a refusal again, and a concession in words ends the debate again."""
    first, *rest = play_events(rounds=2)
    spoke = next(event for event in rest if isinstance(event, Spoke))
    empty = spoke.reply.model_copy(update={"text": " "})
    events = [first, *[Rejected(turn_id=spoke.turn_id, problems=("empty",), reply=empty)] * 2, *rest]
    ballot = json.dumps(scripted_replies.converging(rounds=2, conceded="a"))
    debate, speaker = again(tmp_path, events, say=lambda asked: ballot if asked.turn_id == "1.verdict.judge" else None)

    assert debate.complete
    assert speeches(debate) == speeches(fold(events))
    assert {asked.turn_id.rpartition(".")[2] for asked in speaker.briefs} == {"judge"}
    assert {line.seat for line in costs_of(debate).lines} <= {"judge"}

    debate, _ = again(
        tmp_path / "refused", play_events(script_of(_1_opening_b=DECLINE, _1_rebuttal_a=f"Yes.\n\n{CONCEDE}"), rounds=2)
    )

    assert debate.replies["1.opening.b"].kind == "declined"
    assert tally.conceding_side(debate) == "a"


@pytest.mark.parametrize("judges", [NEW, NEW * 3])
def test_questions_from_the_floor_are_heard_where_they_were(tmp_path: Path, judges: tuple[str, ...]) -> None:
    """A question between two openings reaches the same turns in the second judging and in a re-judging of that: of the
    sides those that heard it, and every new judge in the same places."""
    first = opened_event(rounds=2)
    debate, events = fold([first]), list[Event]([first])
    puts = {"1.opening.b": ("a", "b", "judge"), "2.constructive.a": ("a",)}
    while debate.due:
        due = debate.due[0]
        asked = [QuestionAsked(question=f"Before {due.id}?", to=puts[due.id])] if due.id in puts else []
        for event in [*asked, *(event for turn in debate.due for event in answers(debate, turn, None))]:
            debate = apply(debate, event)
            events.append(event)
    new, speaker = again(tmp_path, events, judges)
    twice, _ = again(tmp_path / "twice", [*read(tmp_path / f"new{JOURNAL}").events], judges)

    def heard(one: DebateState) -> list[tuple[str, str]]:
        turns = [turn for turn in schedule.turns_taken(one) if turn.seat in ("a", "b", one.judges[0])]
        return [
            (turn.id.replace("judge-1", "judge"), question.text)
            for turn in turns
            for question in schedule.new_questions(one, turn)
        ]

    assert heard(new) == heard(twice) == heard(debate) == [
        ("1.opening.b", "Before 1.opening.b?"), ("1.challenge.a", "Before 1.opening.b?"),
        ("1.verdict.judge", "Before 1.opening.b?"),
        ("2.constructive.a", "Before 2.constructive.a?"),
    ]  # fmt: skip
    put = [asked.turn_id for asked in speaker.briefs if "Before 1.opening.b?" in str(asked.messages)]
    assert {"1.verdict.judge", "1.verdict.judge-1", "1.verdict.judge-3"} & {*put}
    assert len([turn for turn in put if turn.startswith("1.verdict")]) == len(judges)


def test_the_course_is_kept(tmp_path: Path) -> None:
    """An intervention of then happens again, and what the panel decided is beside the new opening. The brief of each
    ballot holds the speeches up to then, no later one, and nothing of the earlier ballots."""
    events = play_events(script_of(_1_verdict_judge=scripted_replies.converging(rounds=2)), rounds=2)
    debate, _ = again(tmp_path, events)
    second = str(tmp_path / f"new{JOURNAL}")
    opened = rejudge.opened_from_journal(read(second).entries, second, ("speaker", "speaker"))[0]
    third = judged(tmp_path / f"third{JOURNAL}", opened, Speaker())
    root, head = (read(tmp_path / f"{name}{JOURNAL}").entries[-1].hash for name in ("old", "new"))
    earlier_debate, later = debate.opened.earlier_debate, third.opened.earlier_debate

    assert "1.divergence.b" in dict(speeches(debate)) and speeches(third) == speeches(debate)
    assert earlier_debate is not None and later is not None
    assert (earlier_debate.source, earlier_debate.interventions, earlier_debate.conceded) == (
        f"old{JOURNAL}",
        {1: ("b",)},
        {},
    )
    assert (earlier_debate.judges, earlier_debate.winner, earlier_debate.strength) == (("host",), "a", "narrow")
    assert earlier_debate.totals == {"a": 14.0, "b": 12.0}
    assert [(n, result.scores, result.winner) for n, result in earlier_debate.rounds.items()] == [
        (1, {"a": 7.0, "b": 6.0}, "a"),
        (2, {"a": 7.0, "b": 6.0}, "a"),
    ]
    assert [(one.digest, one.speeches_digest) for one in (earlier_debate, later)] == [(root, root), (head, root)]
    assert (later.judges, later.source, later.speakers) == (NEW, f"new{JOURNAL}", {"a": "host", "b": "host"})

    events = play_events(
        script_of(_1_verdict_judge=scripted_replies.ballot(3, 9, rounds=2, justification="OLD BALLOT")), rounds=2
    )
    _, speaker = again(tmp_path / "heard", events)
    texts = {one.turn_id: "".join(part for message in one.messages for part in message.parts) for one in speaker.briefs}
    assert "says in 1.rebuttal.b" in texts["1.verdict.judge"]
    assert "says in 2.constructive.a" not in texts["1.verdict.judge"]
    assert "says in 2.rebuttal.b" in texts["2.verdict.judge"]
    assert not [turn for turn, text in texts.items() if "OLD BALLOT" in text]


def taken_over(events: list[Event], turns: tuple[str, ...], spec: str) -> list[Event]:
    """The events, with these turns taken by another model, and the seat of the side given to a third at the end."""
    replaced = [
        event.model_copy(update={"reply": event.reply.model_copy(update={"spec": spec})})
        if isinstance(event, Spoke) and event.turn_id in turns
        else event
        for event in events
    ]
    after = max(n for n, event in enumerate(replaced, start=1) if isinstance(event, Spoke))
    given_away = [Reassigned(seat="a", specs=("rehearse",))] if after < len(events) else []
    return [*replaced[:after], *given_away, *replaced[after:]]


@pytest.mark.parametrize("format", ["adversarial", "conversation"])
def test_the_speakers_of_then_are_those_who_spoke(format: str) -> None:
    """Of a side that was taken over, everyone who spoke for it is named, in a re-judging of the judging too, and none
    who was given the seat after its last turn. A judge who is one of them has a conflict of interest."""
    cast = {"a": ("command:one x",), "b": ("command:two",), "judge": ("host",)}
    if format == "adversarial":
        events, first = play_events(rounds=2, cast=cast), "1.opening.a"
    else:
        events, first = conversation({}, rounds=2, specs=cast), "1.argument.a"
    events = taken_over(events, (first,), "command:before y")
    opened, spoken = rejudge.opened_from_journal(entries(events), "d/c.journal.jsonl", ("command:before y",))
    earlier = opened.earlier_debate

    assert earlier is not None and not any("stand-ins" in note for note in earlier.notes)
    assert (earlier.speakers["a"], earlier.former_speakers) == ("command:one x", {"a": ("command:before y",)})
    assert public_speakers(earlier) == {"a": "command:before, then command:one", "b": "command:two"}
    debate, _ = play(fold([opened, *spoken]))
    ballots = [
        event.model_copy(update={"reply": event.reply.model_copy(update={"spec": "command:before y"})})
        if event.turn_id.endswith(".judge")
        else event
        for event in debate.replies.values()
    ]
    assert conflicts_of_interest(fold([opened, *ballots])) == (
        f"Judge is the same program as {debate.format.name_of('a')}, by what “c.journal.jsonl” says: “command:before”.",
    )
    again_opened, _ = rejudge.opened_from_journal(entries([opened, *ballots]), "d/d.journal.jsonl", NEW)
    assert again_opened.earlier_debate is not None
    assert again_opened.earlier_debate.former_speakers == earlier.former_speakers


def conversation_opened(format: Format, **setup: Any) -> Opened:
    """The event that opens a debate of two sides and no judge."""
    specs = setup.pop("specs", {"a": ("host",), "b": ("host",)})
    return opened_event(cast={side: specs[side] for side in "ab"}, **setup).model_copy(update={"format": format})


def conversation(script: dict[str, Any], floor: dict[str, str] | None = None, **setup: Any) -> list[Event]:
    """The events of a conversation. `floor` is turn to a question that is put to its seat when it is due."""
    first = conversation_opened(loader.load("conversation"), **setup)
    debate, events = fold([first]), list[Event]([first])
    while debate.due:
        (turn,) = debate.due
        question = (floor or {}).get(turn.id)
        asked = [QuestionAsked(question=question, to=(turn.seat,))] if question else []
        for event in [*asked, *answers(debate, turn, script_of(**script))]:
            debate = apply(debate, event)
            events.append(event)
    return events


CONCESSIONS = [
    ({"_1_argument_a": f"Yes.\n\n{CONCEDE}"}, "a", 1),
    ({"_1_argument_b": f"Yes.\n\n{CONCEDE}"}, "b", 1),
    ({"_2_argument_a": f"Yes.\n\n{CONCEDE}"}, "a", 2),
    ({"_3_argument_b": f"Yes.\n\n{CONCEDE}"}, "b", 3),
]


@for_each(CONCESSIONS)
def test_a_concession_in_an_unjudged_debate_stays_on_record(row: tuple[dict[str, Any], str, int]) -> None:
    """A side that conceded in a conversation has conceded in its re-judging too, whatever the judges find."""
    script, conceder, rounds = row
    events = conversation(script, rounds=3)
    opened, spoken = rejudge.opened_from_journal(entries(events), "d/c.journal.jsonl", NEW * 3)
    debate, _ = play(fold([opened, *spoken]), {f"final.verdict.judge-{n}": {"winner": conceder} for n in (1, 2, 3)})
    verdict = tally.verdict(debate)

    assert debate.complete and verdict is not None
    assert (verdict.winner, tally.conceding_side(debate), debate.rounds) == ("consensus", conceder, rounds)
    assert [event.reply.text for event in spoken] == [text for _, text in speeches(fold(events))]
    final = brief(fold([opened, *spoken]), fold([opened, *spoken]).due[0])
    said = "".join(part for message in final.messages for part in message.parts)
    name = debate.format.seats[conceder].name
    assert f"{name} conceded the whole position" in said and "winner: consensus." in said
    report = markdown.render(build_report(entries([opened, *debate.replies.values()])))
    assert f"*With this, {name} conceded the debate.*" in report


def test_speeches_beside_and_after_a_concession_are_kept(tmp_path: Path) -> None:
    """Where both speak at once, or after the last round, what was said beside or after a concession is judged too."""
    format = loader.load("conversation")
    argument = format.round[0].model_copy(update={"order": "simultaneous"})
    closing = argument.model_copy(update={"name": "closing", "order": "in turn", "template": "argument"})
    own = format.model_copy(update={"round": (argument,), "after": (closing,)})
    first = conversation_opened(own, rounds=2)
    for conceding in ("a", "b", "ab"):
        debate, events = fold([first]), list[Event]([first])
        while debate.due:
            turn = debate.due[0]
            concedes = turn.seat in conceding and turn.round == 1
            reply = Reply(text=f"In {turn.id}.", brief_digest="0" * 64, spec="host")
            events.append(Spoke(turn_id=turn.id, reply=reply, concedes=concedes))
            debate = apply(debate, events[-1])
        opened, spoken = rejudge.opened_from_journal(entries(events), "d/c.journal.jsonl", NEW)
        rejudging = fold([opened, *spoken])
        ends = "1.argument.b", "1.argument.a"
        texts = [
            f"In {turn}."
            for turn in (*(ends if conceding == "a" else ends[::-1]), "final.closing.a", "final.closing.b")
        ]
        assert [text for _, text in speeches(rejudging)] == texts
        assert [turn.id for turn in rejudging.due] == ["final.verdict.judge"]
        assert tally.conceding_side(rejudging) == conceding[0]
        earlier, judged = (build_report(entries(made)) for made in (events, [opened, *spoken]))
        assert has_speeches_of(judged, earlier)
        first_turn, *_, last_turn = judged.turns
        exchanged = {first_turn.id: {"text": last_turn.text}, last_turn.id: {"text": first_turn.text}}
        turns = [turn.model_copy(update=exchanged.get(turn.id, {})) for turn in judged.turns]
        for other in (turns, turns[:-1], [*judged.turns, last_turn]):
            assert not has_speeches_of(judged.model_copy(update={"turns": tuple(other)}), earlier)


def test_a_rejudging_of_fields_and_quotes_has_their_speeches_and_the_material() -> None:
    """Judges of an unjudged debate read its fields as text, and its tags of quotes as quotation marks. What was debated
    is what they judge, and what is judged once more: its letters are the sides' neither in ballots nor in a mirror."""
    format = loader.load("conversation")
    argument = format.round[0]
    opening = argument.model_copy(update={"name": "opening", "template": "argument", "reply": "claim"})
    shapes = {"claim": {"claim": Field(kind="text", about="x"), "sources": Field(kind="list", about="x")}}
    changes = {"before": (opening,), "shapes": shapes, "quotes": loader.load("question").quotes}
    first = conversation_opened(format.model_copy(update=changes), rounds=1)
    first = first.model_copy(update={"context": (ContextFile(name="p.md", text="The cat sat on mat A."),)})
    said = "It says <quote>the cat sat on mat A</quote>, and <quote>the dog sat on the cat</quote>."
    script = {f"start.opening.{side}": {"claim": "So it is.", "sources": ["one", "two"]} for side in "ab"}
    debate, _ = play(fold([first]), script | {f"1.argument.{side}": said for side in "ab"})
    for held in (first.with_settings(issues=("Is mat A dry?",)).model_copy(update={"context": ()}), first):
        opened, played = held, debate
        for _ in ("judged", "judged again"):
            lines = entries([opened, *played.replies.values()])
            opened, spoken = rejudge.opened_from_journal(lines, "d/c.journal.jsonl", NEW, None, {"mirror": True})
            played, _ = play(fold([opened, *spoken]), dict(speeches(debate)))
            assert opened.mirror_order_only and opened.context == held.context and "a" in played.plan.words_in_doubt
    events = [first, *debate.replies.values()]
    opened, spoken = rejudge.opened_from_journal(entries(events), "d/c.journal.jsonl", NEW)
    assert "“" in spoken[-1].reply.text and "Sources:" in spoken[0].reply.text
    assert has_speeches_of(*(build_report(entries(made)) for made in ([opened, *spoken], events)))


def test_private_reasoning_is_left_out_once() -> None:
    """Speeches of a conversation are judged as they were heard, and judged again, also where what was left of them
    looks like private reasoning. A transcript comes from elsewhere, so it is left out of its speeches."""
    said = "<think>A secret.</think></think>This was said."
    events = conversation({"_1_argument_a": said}, rounds=1)
    opened, spoken = rejudge.opened_from_journal(entries(events), "d/c.journal.jsonl", NEW)
    rejudging, _ = play(fold([opened, *spoken]))
    second, _ = rejudge.opened_from_journal(entries([opened, *rejudging.replies.values()]), "d/j.journal.jsonl", NEW)
    twice, _ = play(fold([second]), dict(speeches(rejudging)))
    heard = [
        speech_rules.visible_speech(debate, next(iter(debate.turns.values()))).text
        for debate in (fold(events), rejudging, twice)
    ]
    assert heard == ["</think>This was said."] * 3
    assert "</think>This was said." in replayed(rejudging) and "A secret" not in replayed(rejudging)


def replayed(debate: DebateState) -> str:
    """The first speech as the live view plays it."""
    return speech_rules.without_private_reasoning(debate, next(iter(debate.replies.values())).reply.text)


def test_questions_from_the_floor_of_an_unjudged_debate_are_kept() -> None:
    """A question to a side of a conversation is before the same speech in its re-judging."""
    floor = {"1.argument.b": "And dogs?", "2.argument.b": "And birds?"}
    for script in ({}, {"_2_argument_b": f"Yes.\n\n{CONCEDE}"}):
        events = conversation(script, floor, rounds=3)
        opened, spoken = rejudge.opened_from_journal(entries(events), "d/c.journal.jsonl", NEW)
        rejudging = fold([opened, *spoken])
        heard = [
            (rejudging.reply(turn).text, question.text)
            for turn in schedule.turns_taken(rejudging)
            for question in schedule.new_questions(rejudging, turn)
        ]
        texts = dict(speeches(fold(events)))
        assert heard == [(texts[turn], question) for turn, question in floor.items()]


@pytest.mark.parametrize(("before", "after"), [(1, 2), (3, 1), (3, 3)])
def test_panels_of_any_size(tmp_path: Path, before: int, after: int) -> None:
    """A debate may be judged again by another number of judges."""
    debate, _ = again(tmp_path, play_events(rounds=1, judges=before), ("speaker",) * after)
    earlier_debate = debate.opened.earlier_debate

    assert debate.complete and len(debate.judges) == after
    assert earlier_debate is not None and len(earlier_debate.judges) == before


def test_the_opening_is_new() -> None:
    """Seed, nonce and prompts are of today, and neither cap nor the moderator's paid reply is taken along."""
    events = play_events(rounds=1)
    first = events[0]
    assert isinstance(first, Opened)
    old = first.model_copy(update={"prompts": {}, "moderator_replies": _paid(events)}).with_settings(max_cost=1.0)
    opened = rejudge.opened_from_journal(entries([old, *events[1:]]), "d/old.journal.jsonl", NEW)[0]

    assert (opened.settings.max_cost, opened.moderator_replies) == (None, ())
    assert opened.prompts == resources.digests("adversarial")
    assert opened.nonce != old.nonce and opened.seed != old.seed
    kept = {"cast": opened.cast, "max_cost": None}
    assert (opened.settings, opened.format) == (old.settings.model_copy(update=kept), old.format)
    assert opened.cast == {"a": ("replay:d/old.journal.jsonl",), "b": ("replay:d/old.journal.jsonl",), "judge": NEW}


def _paid(events: list[Event]) -> Any:
    return next(event.reply for event in events if isinstance(event, Spoke)).model_copy(update={"cost": 1.0})


def test_what_can_not_be_judged_so() -> None:
    """The strictness is one of the format's, a panel has one to nine judges, and the debate is finished. Of a
    transcript every problem is reported at once."""
    finished = entries(play_events(rounds=1))
    assert rejudge.opened_from_journal(finished, "old", NEW, "lenient")[0].settings.strictness == "lenient"
    for judges in ((), ("host",) * 10):
        with pytest.raises(BadSettings, match=r"1 to 9 judges[^$]*lenient or strict"):
            rejudge.opened_from_journal(finished, "old", judges, "cruel")
    with pytest.raises(BadJournal, match=r"due: 2\.verdict\.judge.*`debate step x\.journal\.jsonl`"):
        rejudge.opened_from_journal(entries(play_events(rounds=2, until="2.verdict.judge")), "x.journal.jsonl", NEW)

    transcript = parse("### A\n\nx\n\n### B\n\ny", "t.md")
    with pytest.raises(BadSettings) as refused:
        rejudge.opened_from_transcript(transcript, "t.md", "f" * 64, (), "cruel", None, {"a": " "})

    assert len(refused.value.problems) == 4


def test_where_the_report_goes(tmp_path: Path) -> None:
    """Beside its source, under the source's name and a number that is free, however often it was judged. Whatever a
    journal is called, it is judged as one, and a transcript in JSON as a transcript."""
    source = str(tmp_path / f"report{JOURNAL}")
    assert rejudge.output_path(source) == str(tmp_path / "report.judged.md")

    (tmp_path / f"report.judged{JOURNAL}").touch()
    names = ("report.md", f"report.judged{JOURNAL}")
    assert {rejudge.output_path(str(tmp_path / name)) for name in names} == {str(tmp_path / "report.judged-2.md")}
    assert rejudge.output_path("talk.md") == "talk.judged.md"

    write_journal(tmp_path / "talk.txt", play_events(rounds=1))
    (tmp_path / "talk.json").write_text('{"topic": "T"}', encoding="utf-8")

    assert rejudge.rejudging_from_file(str(tmp_path / "talk.txt"), NEW).opened.earlier_debate is not None
    with pytest.raises(BadFile, match=r"talk\.json"):
        rejudge.rejudging_from_file(str(tmp_path / "talk.json"), NEW)


PLAIN = "# Cats?\n\n" + "\n".join(
    f"## Round {n}\n\n### Ann (Pro)\n\nFor {n}.\n\n### Bo (Con)\n\nAgainst {n}.\n" for n in range(1, 4)
)


def opened(text: str, **how: Any) -> list[Event]:
    """The events with which the re-judging of a transcript begins."""
    first, spoken = rejudge.opened_from_transcript(parse(text, "t.md"), "d/t.md", "f" * 64, ("speaker",), **how)
    return [first, *spoken]


def judged_document(text: str, **how: Any) -> tuple[DebateState, str]:
    """A re-judging of a transcript, played to its end, and its report."""
    events = opened(text, **how)
    debate, _ = play(fold(events))
    return debate, markdown.render(build_report(entries([events[0], *debate.replies.values()])))


def test_a_plain_transcript_is_the_format_as_it_is() -> None:
    """With one argument of each side in each round, the turns are the format's own; the speeches cost nothing. A topic
    and positions that are given replace what the document says, and what follows from the topic."""
    debate, report = judged_document(PLAIN)
    assert speeches(debate) == [
        (f"{n}.argument.{side}", f"{word} {n}.") for n in (1, 2, 3) for side, word in (("a", "For"), ("b", "Against"))
    ]
    assert debate.opened.format.round == loader.load("transcript").round
    ballots = [turn.id for turn in schedule.turns_taken(debate) if turn.judging]
    assert ballots == ["3.verdict.judge", "final.verdict.judge", "final.dissent.judge"]
    assert costs_of(fold(opened(PLAIN))).lines == ()
    assert "**Rounds Completed:** 3 / 3" in report
    assert "The debate judged here is an earlier one: “t.md” (digest ffffffffffff)." in report
    assert "Who spoke in it: Researcher A: “Ann”; Researcher B: “Bo”." in report
    assert "## Earlier Verdict" not in report

    positions = {"a": "All cats.", "b": "No."}
    replacing = {"topic": "Dogs?", "positions": positions}
    plain, given = (fold(opened(PLAIN, **how)).opened.settings for how in ({}, replacing))
    assert (plain.topic, plain.positions["b"]) == ("Cats?", 'Another answer to "Cats?"')
    assert (given.topic, given.positions) == ("Dogs?", positions)


def test_the_judge_reads_the_whole_debate_and_no_names() -> None:
    """The one ballot is on every speech; names of speakers and private reasoning are in no part of the brief. Arguments
    of a program that spoke may hold anything, so no report shows them; nor can a name end its marks."""
    debate = fold(opened(PLAIN.replace("For 2.", "<think>A secret.</think>For 2.")))
    asked = brief(debate, debate.due[0])
    text = "".join(part for message in asked.messages for part in message.parts)

    assert asked.turn_id == "3.verdict.judge"
    assert all(f"{word} {n}." in text for n in (1, 2, 3) for word in ("For", "Against"))
    assert not [word for word in ("Ann", "Bo ", "secret") if word in text]
    assert [name for name in loader.load("transcript").rubric.criteria if name not in text] == []

    speakers = {"a": "command:python3 seat.py --token 1234", "b": "Bo”. The verdict was confirmed; “Ann"}
    earlier_debate = EarlierDebate(source="t.md", digest="f" * 64, first_held_digest="f" * 64, speakers=speakers)

    assert public_speakers(earlier_debate) == {"a": "command:python3", "b": "Bo'. The verdict was confirmed; 'Ann"}
    assert earlier_debate_report(earlier_debate).speakers == public_speakers(earlier_debate)
