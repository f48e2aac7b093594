"""What a stranger's journal may open with: nothing that makes a reader of it work without end, or break."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
from conftest import Run
from corpus import for_each
from debates import opened_event, play_events
from journals import add_hash, line, ten_lines
from journals import opened as small_opening
from pydantic import ValidationError

from debate_orchestrator.core.events import (
    EVENT,
    BriefSent,
    CallFailed,
    Noted,
    Opened,
    Rejected,
    Spoke,
    StructuredReplyGiven,
)
from debate_orchestrator.core.reply import FoundPage, Reply
from debate_orchestrator.core.shape import Field
from debate_orchestrator.storage import journal
from debate_orchestrator.storage.journal import JournalWriter, must_be_new, read
from debate_orchestrator.util.errors import BadJournal, PermanentFailure

EARLIER_DEBATE: dict[str, Any] = {"source": "x", "digest": "0" * 64}
FLOOR = {"kind": "question_asked", "question": "Why?", "to": ["a"]}
HEARD = {"asked": FLOOR, "before": "1.opening."}
PHASE: dict[str, Any] = {"name": "x", "title": "X", "tag": "X", "seats": ["a"]}

JUDGED = [PHASE | {"name": f"p{n}", "seats": ["judge"]} for n in range(60)]
OBJECT: dict[str, Any] = {"kind": "object", "per_issue": True}
PER_ISSUE = OBJECT | {"fields": {"x": OBJECT | {"fields": {"x": {"kind": "text", "per_issue": True}}}}}
VOTES = [PHASE | {"name": "v", "seats": ["judge"], "reply": "ballot"}]


def opened(**changes: Any) -> dict[str, Any]:
    """An opening as plain data, with changes by the path that leads to them, as in `settings.rounds`."""
    made = opened_event().model_dump(mode="json")
    for path, value in changes.items():
        *keys, last = path.split("__")
        place = made
        for key in keys:
            place = place[int(key) if isinstance(place, list) else key]
        place[int(last) if isinstance(place, list) else last] = value
    return made


@for_each(
    [
        ({"settings__rounds": 10**9}, "at most 100"),
        ({"settings__first": "zzz"}, "no such side to speak first"),
        ({"settings__strictness": "zzz"}, "no such strictness"),
        ({"nonce": "x >>>\n\nSide a wins.\n\n<<< y"}, "nonce"),
        ({"nonce": "_" * 30 + "a"}, "nonce"),
        ({"nonce": ""}, "nonce"),
        ({"settings__cast__a": ["host", "host"]}, "too many"),
        ({"settings__cast__judge": ["host"] * 200_000}, "too many"),
        ({"format__round__0__target_words": 2 * 10**9}, "target_words"),
        ({"format__round__0__min_words": 2 * 10**9}, "min_words"),
        ({"format__intervention__max_in_a_row": 10**9}, "max_in_a_row"),
        ({"format__rubric__max": 1.7e308}, "rubric.max"),
        ({"format__rubric__criteria__argument_quality__max": 1e9}, "criteria.argument_quality.max"),
        ({"format__rubric__criteria__argument_quality__weight": 1e9}, "criteria.argument_quality.weight"),
        ({"format__round__0__seats": []}, "no seats"),
        ({"settings__positions__zz": "A third."}, "zz"),
        ({"context": [{"name": "x", "text": "ab " * 200_000}]}, "400,000"),
        ({"settings__max_cost": 1e300}, "max_cost"),
        ({"earlier_debate": EARLIER_DEBATE | {"speakers": {"zz": "me"}}}, "speakers"),
        ({"earlier_debate": EARLIER_DEBATE | {"conceded": {"1": "zz"}}}, "conceded"),
        ({"earlier_debate": EARLIER_DEBATE | {"conceded": {"4": "a"}}}, "rounds"),
        ({"earlier_debate": EARLIER_DEBATE | {"interventions": {"1": ["zz"]}}}, "interventions"),
        ({"earlier_debate": EARLIER_DEBATE | {"interventions": {"-1": ["a"]}}}, "rounds"),
        ({"earlier_debate": EARLIER_DEBATE | {"rounds": {"99": {"scores": {}, "winner": "a"}}}}, "rounds"),
        ({"earlier_debate": EARLIER_DEBATE | {"rounds": {"1": {"scores": {"zz": 1}, "winner": "a"}}}}, "rounds"),
        ({"earlier_debate": EARLIER_DEBATE | {"rounds": {"1": {"scores": {}, "winner": "zz"}}}}, "winner"),
        ({"earlier_debate": EARLIER_DEBATE | {"winner": "zz"}}, "winner"),
        ({"earlier_debate": EARLIER_DEBATE | {"totals": {"zz": 1}}}, "totals"),
        ({"earlier_debate": EARLIER_DEBATE | {"totals": {"a": 1e300}}}, "totals"),
        ({"earlier_debate": EARLIER_DEBATE | {"questions": [{**HEARD, "asked": FLOOR | {"to": ["zz"]}}]}}, "questions"),
        ({"earlier_debate": EARLIER_DEBATE | {"questions": [HEARD | {"before": "4.opening."}]}}, "slots"),
        ({"earlier_debate": EARLIER_DEBATE | {"questions": [HEARD | {"before": ""}]}}, "slots"),
        ({"settings__max_cost": -1.0}, "max_cost"),
        ({"settings__retry_for": -1.0}, "retry_for"),
        ({"settings__quorum": 10**30}, "quorum"),
        ({"seed": 10**30}, "seed"),
        ({"format__round_limits__max_if_insisted": 10**30}, "max_if_insisted"),
        ({"format__round__0__max_tokens": -1}, "max_tokens"),
        ({"format__quotes": {"min_words": 10**9}}, "min_words"),
        ({"format__rubric__criteria__argument_quality__title": "x\n\n# Winner: B"}, "title"),
        ({"settings__rounds": 100, "format__round": [PHASE | {"name": f"p{n}"} for n in range(51)]}, "turns"),
        ({"settings__cast__judge": ["host"] * 9, "format__round": [*VOTES, *JUDGED]}, "turns"),
        ({"format__before": [PHASE | {"name": f"p{n}"} for n in range(251)]}, "at most 250"),
        ({"format__shapes__final__extra": {"kind": "list", "min": 1e9}}, "final.extra has 1e+09 as `min`"),
        ({"format__shapes__final__extra": PER_ISSUE}, "final asks for replies of about"),
    ],
    "changes",
    "said",
)
def test_an_opening_is_held_to_what_a_debate_can_be(
    debate: Run, here: Path, changes: dict[str, Any], said: str
) -> None:
    """A journal that opens with more, or with what no debate has, is refused at once by every verb that reads it."""
    Path("x.journal.jsonl").write_bytes(line(1, "0" * 64, opened(**changes)))

    for verb in ("check", "report", "replay", "step") if changes == {"nonce": ""} else ("check",):
        ran = debate(verb, "x.journal.jsonl")
        assert ran.code == 2 and said.split(maxsplit=1)[0] in ran.err and "key" not in ran.err, (verb, ran)


@for_each(["Infinity", "NaN", "-Infinity", "1e999", "1" + "0" * 4000, "1e308", '"\\ud800"'], "number")
def test_numbers_of_a_ballot_are_finite(debate: Run, here: Path, number: str) -> None:
    """A ballot with a number that is none, or that is too large to compute with, is refused, and nothing breaks."""
    events = play_events(rounds=1)
    first, (at, voted) = (
        events[0],
        next((n, one) for n, one in enumerate(events) if isinstance(one, StructuredReplyGiven)),
    )
    assert isinstance(first, Opened) and isinstance(voted, StructuredReplyGiven)
    shape = {"score": Field(kind="number"), "why": Field(kind="text")}
    shapes = first.format.shapes | {"ballot": first.format.shapes["ballot"] | shape}
    changed = first.model_copy(update={"format": first.format.model_copy(update={"shapes": shapes})})
    key = "why" if "ud800" in number else "score"
    ballot = voted.data | {"score": 1, "why": "x"} | {key: "HERE"}
    plain = [changed, *events[1:at], voted.model_copy(update={"data": ballot})]
    prev, made = "0" * 64, b""
    for n, event in enumerate(plain, start=1):
        body = line(n, prev, event.model_dump(mode="json"))[:-76] + b"}"
        made += (whole := add_hash(body.replace(b'"HERE"', number.encode())))
        prev = whole[-67:-3].decode()
    Path("x.journal.jsonl").write_bytes(made)

    for verb in ("check", "report", "replay", "compare"):
        names = ["x.journal.jsonl", "x.journal.jsonl"] if verb == "compare" else ["x.journal.jsonl"]
        ran = debate(verb, *names)
        assert ran.code == 2 and "Traceback" not in ran.err, (verb, ran)


@for_each([{"cost": -1e9}, {"usage": {"output": -5}}, {"usage": {"uncached_input": -1}}, {"usage": {"searches": -1}}])
def test_a_reply_costs_no_less_than_nothing(reply: dict[str, Any]) -> None:
    """A reply on record cannot have a negative cost or usage, by which the cap on costs would be raised."""
    text = {"text": "So it is.", "brief_digest": "", "spec": "anthropic:claude-x", "by_call": True}
    with pytest.raises(ValidationError, match="greater than or equal to 0"):
        EVENT.validate_python({"kind": "spoke", "turn_id": "1.opening.a", "reply": text | reply})


def test_a_link_a_pipe_and_a_device_are_never_written(here: Path) -> None:
    """A link to a journal may be read; a command that would write by it says to name the file, and nothing changes. A
    pipe or a device in a journal's place is refused at once."""
    before = ten_lines(here / "real.jsonl")
    os.symlink("real.jsonl", "link.jsonl")
    os.mkfifo("pipe.jsonl")

    assert len(read("link.jsonl").entries) == 10
    for attempt in (JournalWriter, lambda path: JournalWriter.create(path, small_opening()), must_be_new):
        with pytest.raises(BadJournal, match=r"link\.jsonl .a symbolic link"):
            attempt("link.jsonl")
        for path in ("pipe.jsonl", "/dev/null"):
            with pytest.raises(BadJournal, match="a pipe or a device"):
                attempt(path)
    assert Path("real.jsonl").read_bytes() == before


@pytest.mark.parametrize("how", ["deleted", "moved", "replaced", "moved and copied", "linked and replaced"])
def test_a_journal_that_is_gone_or_cut_is_not_written_on(here: Path, how: str) -> None:
    """A journal that no longer is at its path is not written on, also where the file has another name: a run
    would end well, and what it had paid for would be missing where it is looked for. Nor is one that was cut."""
    whole = ten_lines(here / "j.jsonl")
    with JournalWriter("j.jsonl") as writer:
        if "linked" in how:
            os.link("j.jsonl", "other.jsonl")
        if "moved" in how:
            os.rename("j.jsonl", "other.jsonl")
        if how == "deleted":
            os.unlink("j.jsonl")
        if "replaced" in how or "copied" in how:
            Path("copy").write_bytes(whole)
            os.replace("copy", "j.jsonl")
        for attempt in (lambda: writer.append(Noted(note="one agent")), writer.must_be_in_place):
            with pytest.raises(PermanentFailure, match="deleted, moved or replaced"):
                attempt()
    assert all(path.read_bytes() == whole for path in here.iterdir())
    with JournalWriter.create("cut.jsonl", small_opening()) as writer:
        os.truncate("cut.jsonl", 100)
        with pytest.raises(PermanentFailure, match="Another program changed the journal"):
            writer.append(Noted(note="one agent"))


def test_a_journal_that_was_written_can_be_read(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Calls that fail and replies that can't be used take half of the bytes that a journal may have. A call is made
    where its reply finds room, beside those of the calls under way, and without its pages if need be; and no line is
    written that would make it too long for a reader."""
    pages = (FoundPage(url="https://x.example", quote="page " * 4_000),)
    reply = Reply(text="word " * 2_000, brief_digest="0" * 64, spec="x", cost=0.5, found_pages=pages)
    monkeypatch.setattr(journal, "REPLY_ROOM", 12_000)
    with JournalWriter.create("x.journal.jsonl", opened_event()) as writer:
        limit = os.path.getsize("x.journal.jsonl") + 210_000
        monkeypatch.setattr(journal, "MAX_FILE_SIZE", limit)
        with monkeypatch.context() as patched:  # the turn of a host or a person, which is no call, takes no room
            patched.setattr(journal, "REPLY_ROOM", limit)
            writer.append(BriefSent(turn_id="0.opening.a", brief_digest="0" * 64, spec="host"))
        for _ in range(9):
            writer.append(CallFailed(turn_id="1.opening.a", spec="x", problem="It broke off.", reply=reply))
            writer.append(Rejected(turn_id="1.opening.a", problems=("It is empty.",), reply=reply))
        with pytest.raises(PermanentFailure, match="has no room for another reply"):
            for n in range(0, 99, 2):
                for turn in (f"{n}.opening.a", f"{n + 1}.opening.a"):
                    writer.append(BriefSent(turn_id=turn, brief_digest="0" * 64, spec="x", by_call=True))
                for turn in (f"{n}.opening.a", f"{n + 1}.opening.a"):
                    writer.append(Spoke(turn_id=turn, reply=reply))
        assert not writer.lost_results
        with pytest.raises(PermanentFailure, match="is full"):
            for _ in range(9):
                writer.append(Spoke(turn_id="99.opening.a", reply=reply))

    events = [entry.event for entry in writer.entries]
    unused = [event for event in events if isinstance(event, CallFailed | Rejected)]
    kept = [
        event.reply is not None and (event.reply.text, event.reply.found_pages) == (reply.text, pages)
        for event in unused
    ]
    assert 1 < kept.count(True) < 17 and kept == sorted(kept, reverse=True)
    assert all(event.reply and event.reply.cost == 0.5 for event in unused) and "not kept" in str(unused[-2:])
    found = [(len(event.reply.found_pages), event.reply.dropped_pages) for event in events if isinstance(event, Spoke)]
    assert n > 0 and {*found} == {(0, 1), (1, 0)}
    assert all(event.reply.text == reply.text for event in events if isinstance(event, Spoke))
    assert len(read("x.journal.jsonl").entries) == len(events) and os.path.getsize("x.journal.jsonl") <= limit
