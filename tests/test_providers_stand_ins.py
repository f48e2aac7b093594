"""Seats without a model: a rehearsal, a recording, a person, and the clerk who looks up what the sides cite."""

from __future__ import annotations

import asyncio
import errno
import json
import shutil
import socket
from dataclasses import replace
from pathlib import Path
from typing import Any, NoReturn
from unittest.mock import Mock

import pytest
from core.folding import opened
from corpus import for_each
from debates import opened_event
from evidence_site import ARTICLE, Site
from human_turns import PEOPLE
from hypothesis import given
from hypothesis import strategies as st
from journals import line, write_journal
from speakers import Speaker, begun, driven, take_turns

from debate_orchestrator.core import schedule, tally
from debate_orchestrator.core.costs import costs_of
from debate_orchestrator.core.events import Noted, Opened, Spoke, StructuredReplyGiven
from debate_orchestrator.core.fold import CurrentState, apply, fold
from debate_orchestrator.core.phases import Turn
from debate_orchestrator.core.reply import Reply
from debate_orchestrator.core.reply_check import check
from debate_orchestrator.core.shape import Field, Shape, ShapeContext
from debate_orchestrator.core.state import DebateState
from debate_orchestrator.core.winner import why_nothing_decided
from debate_orchestrator.engine import rejudge
from debate_orchestrator.evidence import fetch
from debate_orchestrator.formats import loader
from debate_orchestrator.prompting import replies
from debate_orchestrator.prompting.briefs import Brief, brief
from debate_orchestrator.providers import cast_providers, rehearse
from debate_orchestrator.providers.cast_providers import cast_problems, make_provider, make_providers
from debate_orchestrator.providers.clerk import Clerk
from debate_orchestrator.providers.human import Human
from debate_orchestrator.providers.rehearse import Filler
from debate_orchestrator.reports.provenance import provenance_notes
from debate_orchestrator.storage.journal import JournalWriter, read
from debate_orchestrator.util.errors import BadJournal, BadSettings, Paused, ProviderFailed, TransientError

STAND_IN = "rehearse:anthropic:claude-opus-5-5"
CONTEXT = ShapeContext(
    sides=("a", "b"),
    criteria=("x", "y"),
    min=1,
    max=10,
    rounds=2,
    strictness="strict",
    turns=("1.o.a", "1.o.b"),
    scales={"y": (0, 1)},
)


def rehearsed(path: Path, judges: int = 1, **setup: object) -> DebateState:
    """A debate driven to its end with stand-ins in every seat."""
    cast = {"a": (STAND_IN,), "b": ("rehearse",), "judge": ("rehearse:host",) * judges}
    with JournalWriter.create(path, opened_event(cast=cast, **setup)) as journal:  # type: ignore[arg-type]
        debate = fold(journal.events)
        current = CurrentState(debate)
        return asyncio.run(take_turns(journal, current, make_providers(current)))


@pytest.mark.slow
@pytest.mark.parametrize(("rounds", "strictness", "judges"), [(1, "lenient", 1), (2, "strict", 3), (6, "strict", 1)])
def test_it_goes_through_a_whole_debate(tmp_path: Path, rounds: int, strictness: str, judges: int) -> None:
    """Every turn is settled at the first attempt, in the shape asked for, and nothing converges or is conceded."""
    debate = rehearsed(tmp_path / "j", judges, rounds=rounds, strictness=strictness)

    assert debate.complete and len(tally.results(debate)) == rounds
    assert not any(map(debate.rejected_replies, debate.turns)) and costs_of(debate).lines == ()
    assert {type(one) for one in debate.replies.values()} == {Spoke, StructuredReplyGiven}
    assert tally.conceding_side(debate) is None
    assert not any(tally.had_intervention(debate, n) for n in range(1, rounds + 1))


def test_it_says_what_it_is(tmp_path: Path) -> None:
    """Each speech says in its first sentence that it is a rehearsal of that turn, and is about as long as asked. It
    depends on the turn alone."""
    debate, again = (rehearsed(tmp_path / name, rounds=2) for name in ("one", "two"))
    speeches = [turn for turn in schedule.turns_taken(debate) if turn.phase.target_words]
    texts = [debate.reply(turn).text for turn in speeches]

    for turn, text in zip(speeches, texts, strict=True):
        first = text.partition(".\n")[0].split(". ")[0]
        assert "rehearsal" in first
        assert turn.id in first
        assert 0.9 * (turn.phase.target_words or 0) <= len(text.split()) <= (turn.phase.target_words or 0)
    assert len(set(texts)) == len(texts)
    assert texts == [again.reply(turn).text for turn in speeches]


def test_whom_it_cannot_stand_in_for() -> None:
    """It can't stand in for a model that could not be called, nor for a stand-in."""
    for spec, said in {
        "oracle:x": "'oracle:x' is not a model spec",
        "anthropic:": "'anthropic:' names no model",
        "rehearse:host": "'rehearse:host' is a rehearsal already",
    }.items():
        (found,) = cast_problems({"a": (f"rehearse:{spec}",)})
        assert found.startswith(f"cast: a: {said}")


PLAIN = st.one_of(
    st.builds(Field, kind=st.sampled_from(["text", "url", "boolean", "turns", "scores"])),
    st.builds(Field, kind=st.just("text"), max_words=st.integers(1, 60)),
    st.builds(Field, kind=st.sampled_from(["text", "choice", "turns", "list"]), per_side=st.booleans()),
    st.builds(Field, kind=st.sampled_from(["choice", "choices"]), options=st.sampled_from([(), ("x",), ("tie", "b")])),
    st.builds(Field, kind=st.just("number"), min=st.integers(-5, 5), max=st.integers(5, 9), integer=st.booleans()),
    st.builds(Field, kind=st.sampled_from(["text", "choice", "list"]), optional=st.just(True)),
)


@st.composite
def shapes(draw: st.DrawFn, depth: int = 2) -> Shape:
    """Shapes with fields that depend on others, before and after them, and with records within."""
    made: Shape = draw(st.dictionaries(st.sampled_from("pqrs"), PLAIN, min_size=1))
    made["seen"] = Field(kind="boolean")
    made["winner"] = Field(kind="choice", options=("a", "b", "tie"))
    wanted = draw(st.sampled_from([{"seen": False}, {"seen": True}, {"winner": "a"}]))
    made["why"] = Field(kind=draw(st.sampled_from(["text", "choices", "turns"])), only_if=wanted)
    made["last"] = Field(kind="text", only_if={"seen": False})
    made["case"] = Field(kind=draw(st.sampled_from(["text", "url", "list", "turns"])), unless=wanted)
    if depth:
        made["in"] = Field(kind=draw(st.sampled_from(["object", "list"])), fields=draw(shapes(depth - 1)))
    names = draw(st.permutations(list(made)))
    return {name: made[name] for name in names}


@given(shape=shapes())
def test_any_shape_is_filled(shape: Shape) -> None:
    """Whatever a format asks for, what is made passes its check; so does what is made again."""
    made = Filler(CONTEXT, {"winner": "a"}).reply(shape, "1.verdict.judge")

    assert check(shape, made, CONTEXT) == []
    assert made == Filler(CONTEXT, {"winner": "a"}).reply(shape, "1.verdict.judge")


@pytest.fixture
def recording(tmp_path: Path) -> Path:
    with begun(tmp_path / "recorded", judges=2) as journal:
        driven(journal, Speaker())
    return tmp_path / "recorded"


def replayed(recording: Path, journal_path: Path, opened: Opened) -> DebateState:
    """A debate opened so, in which the replies of every seat are those of a recording."""
    with JournalWriter.create(journal_path, opened) as journal:
        debate, seat = fold(journal.events), f"replay:{recording}"
        cast = {"a": (seat,), "b": (seat,), "judge": (seat,) * len(debate.judges)}
        current = CurrentState(replace(debate, cast=cast))
        return asyncio.run(take_turns(journal, current, make_providers(current)))


def test_it_answers_by_turn(recording: Path, tmp_path: Path) -> None:
    """A debate replayed into another journal has the same answers, turn by turn, and a rehearsal is one again."""
    rehearsed(tmp_path / "rehearsed", judges=2)
    names, why = ("rehearsed", "rehearsed-again"), "only stand-ins judged"
    for path, reason in ((recording, ""), *[(tmp_path / name, why) for name in names]):
        recorded = fold(read(path).events)
        again = replayed(path, tmp_path / f"{path.name}-again", recorded.opened)

        assert again.complete and why_nothing_decided(again) == reason
        assert not any("Reassigned" in note.text for note in provenance_notes(again))
        assert {turn: event.reply.text for turn, event in again.replies.items()} == {
            turn: event.reply.text for turn, event in recorded.replies.items()
        }


def test_a_mirrored_ballot_is_replayed_for_the_side_that_it_meant(tmp_path: Path) -> None:
    """Also if names were swapped in the recorded debate and the order alone is in this one, or the other way round."""
    for n, order_only in enumerate((False, True)):
        path = tmp_path / f"recorded{n}"
        with begun(path, mirror=True, topic="Is it A?" if order_only else "Is it so?") as journal:
            recorded = driven(journal, Speaker())
        assert recorded.mirror.order_only is order_only
        opened = recorded.opened.model_copy(update={"mirror_order_only": not order_only})
        again = replayed(path, tmp_path / f"again{n}", opened)
        ((vote,), (expected,)) = (tally.final_votes(debate) for debate in (again, recorded))
        assert (vote.original, vote.mirrored) == (expected.original, expected.mirrored) and vote.mirrored is not None
        assert tally.totals(again) == tally.totals(recorded)


def test_it_replays_the_debate_that_was_recorded(recording: Path) -> None:
    """A topic that holds the recorded one, a part of it, and swapped positions are refused before any turn, and a turn
    without a recording is named."""
    recorded = fold(read(recording).events).opened
    topic, (first, second) = recorded.settings.topic, recorded.settings.positions.values()
    for changed in ({"topic": f"{topic} So?"}, {"topic": topic[1:]}, {"positions": {"a": second, "b": first}}):
        other = CurrentState(fold([recorded.with_settings(**changed)]))
        with pytest.raises(BadSettings, match=r"of another topic, or of other positions\. Try: `debate answers"):
            make_provider(f"replay:{recording}", other)
    debate = fold([recorded])
    provider = make_provider(f"replay:{recording}", CurrentState(debate))
    asked = brief(debate, debate.due[0]).model_copy(update={"turn_id": "7.opening.a"})
    with pytest.raises(ProviderFailed, match=r"no recorded reply to 7\.opening\.a"):
        asyncio.run(provider.reply(asked, str))


@for_each(
    [({"version": "99.0"}, "upgrade debate-orchestrator: a newer version wrote it"), ({}, "read it with the")],
    "changes",
    "hint",
)
def test_a_recording_that_this_version_does_not_know(tmp_path: Path, changes: dict[str, str], hint: str) -> None:
    """That a newer version wrote it is said where its opening says so."""
    path = tmp_path / "recorded"
    path.unlink(missing_ok=True)
    data = write_journal(path, [opened_event().model_copy(update=changes)])
    path.write_bytes(data + line(2, read(path).entries[-1].hash, {"kind": "applauded"}))
    with pytest.raises(BadJournal, match=f"can't be replayed: it holds what this version does not know.*{hint}"):
        make_provider(f"replay:{path}", CurrentState(fold([opened_event()])))


def test_a_rejudging_has_the_speeches_of_the_debate_that_it_began_with(recording: Path, tmp_path: Path) -> None:
    """They are on record up to the line at which the re-judging began, even if the debate went on after it. Another
    debate under the same name is refused, but a recording of one may judge."""
    seat, other = f"replay:{recording}", tmp_path / "other"
    entries = read(recording).entries
    opened = rejudge.opened_from_journal(entries, str(recording), ("host", f"replay:{other}"))[0]
    with begun(other, judges=2) as journal:
        driven(journal, Speaker(lambda brief: None if "judge" in brief.turn_id else "Forged."))
    make_providers(CurrentState(fold([opened])))
    with JournalWriter(recording) as journal:
        journal.append(Noted(note="one agent"))
    providers = make_providers(CurrentState(fold([opened])))

    assert [seat for seat, provider in providers.items() if provider.name == f"replay:{other}"] == ["judge-2"]
    shutil.copy(other, recording)
    with pytest.raises(BadSettings, match=r"it is not the journal of the debate that is judged here\. Try: put"):
        make_provider(seat, CurrentState(fold([opened])))


class StandIn:
    """A person who says what a stand-in would."""

    one_at_a_time = True

    def __init__(self, leaves: str = "") -> None:
        self.asked: list[str] = []
        self.at_once = self.most = 0
        self.tidied = 0
        self._leaves = leaves

    async def reply(self, debate: DebateState, turn: Turn, brief: Brief) -> str:
        self.asked.append(turn.id)
        self.at_once += 1
        self.most = max(self.most, self.at_once)
        await asyncio.sleep(0.01)
        self.at_once -= 1
        if turn.id == self._leaves:
            raise Paused("left")
        return rehearse.reply_for(debate, turn)

    def remove_drafts(self, debate: DebateState) -> None:
        self.tidied += 1


def held(here: Path, person: StandIn) -> DebateState:
    """A debate with persons in all seats."""
    with JournalWriter.create(here / "r.jsonl", opened_event(rounds=2, cast=PEOPLE)) as journal:
        debate = fold(journal.events)
        current = CurrentState(debate)
        seats = cast_providers.make_providers(current)
        [human] = {id(one): one for one in seats.values()}.values()
        human.people = person
        try:
            asyncio.run(take_turns(journal, current, seats))
        except Paused:
            pass
        return fold(journal.events)


def test_a_debate_among_people(here: Path) -> None:
    """A whole debate is held by people, who are never asked two things at once; what is on record is who said it, and
    that it cost nothing."""
    person = StandIn()
    debate = held(here, person)

    assert debate.complete
    assert person.most == 1 and person.tidied == 1
    replies = [debate.reply(turn) for turn in schedule.turns_taken(debate)]
    assert {(one.spec, one.model, one.usage, one.cost, one.by_call) for one in replies} == {
        ("human", None, None, 0.0, False)
    }
    assert costs_of(debate).lines == ()
    others = fold([opened_event(rounds=2)])
    opening = schedule.turn(others, "1.opening.a")
    same = brief(others, opening).digest  # that any other provider would get
    assert debate.briefs_sent(opening.id)[0].brief_digest == debate.reply(opening).brief_digest == same


def test_a_person_who_leaves(here: Path) -> None:
    """What others said to the same stage is on record when a person leaves, and the turn that was left is due. Without
    a terminal to ask at, the error says what to do instead."""
    debate = held(here, StandIn(leaves="1.challenge.b"))
    (turn,) = debate.due

    assert turn.id == "1.challenge.b" and not debate.failed_calls(turn.id)[0].maybe_billed
    with pytest.raises(ProviderFailed, match="debate open"):
        asyncio.run(Human(CurrentState(debate)).reply(brief(debate, turn), str))


QUOTE = "The sea rose by 3.4 millimetres a year between 1993 and 2023"


def cited(*urls: str | None, quote: str = QUOTE) -> DebateState:
    """A debate on a claim in which the sides have cited these pages, and the clerk is due; None declines."""
    debate = fold([opened(2, rules=loader.load("claim"))])
    for url in urls:
        (turn,) = debate.due
        given = {"url": url, "quote": quote, "context": "A page.", "argument": "It shows so."}
        said = {"refused": False, "reason": None, **given}
        if url is None:
            said = {"refused": True, "reason": "It is not so.", **dict.fromkeys(given)}
        debate = apply(
            debate, replies.parse_reply(debate, turn, Reply(text=json.dumps(said), brief_digest="", spec="host"), None)
        )
    return debate


def checks(debate: DebateState, clerk: Clerk) -> list[dict[str, Any]]:
    """What the clerk says, after it was found to be what the format asks for."""
    (turn,) = debate.due
    made = asyncio.run(clerk.reply(brief(debate, turn), lambda piece: None))
    event = replies.parse_reply(debate, turn, made, None)
    assert isinstance(event, StructuredReplyGiven)
    found: list[dict[str, Any]] = event.data["checks"]
    return found


def test_pages_are_fetched_and_kept(site: Site, tmp_path: Path) -> None:
    """Each quote that was cited in the round is looked for on its page, and the pages are kept in the folder."""
    debate = cited(site.url("/"), site.url("/none"))
    clerk = Clerk("fetch", CurrentState(debate), site.fetcher)
    clerk.evidence_folder = str(tmp_path / "kept")

    first, second = checks(debate, clerk)

    assert (first["turn"], first["state"], first["title"]) == ("1.argument.a", "verified", "Rising water")
    assert (tmp_path / "kept" / first["archived"]).read_bytes() == ARTICLE.encode()
    assert (second["turn"], second["state"], second["archived"]) == ("1.argument.b", "unreachable", None)
    assert "404" in second["why"]


@pytest.mark.parametrize(
    "place", ["asyncio.create_subprocess_exec", "aiohappyeyeballs.start_connection", "socket.getaddrinfo", "os.open"]
)
def test_a_clerk_who_can_open_no_more_files(
    site: Site, tmp_path: Path, place: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing is on record of a page for which this process had no file left: the call is to be made again."""

    def fail(*_: object, **__: object) -> NoReturn:
        raise OSError(errno.EMFILE, "Too many open files")

    debate, resolver = cited(site.url("/"), None), fetch.system_addresses if place == "socket.getaddrinfo" else None
    clerk = Clerk("fetch", CurrentState(debate), lambda: site.fetcher(resolver))
    clerk.evidence_folder = str(tmp_path / "kept")
    if resolver:  # the system's resolver doesn't say why it found nothing
        monkeypatch.setattr(place, Mock(side_effect=socket.gaierror(socket.EAI_AGAIN, "Temporary failure")))
    with (
        monkeypatch.context() as patch,
        pytest.raises(TransientError, match=r"^The clerk can't.*`ulimit -n`") as raised,
    ):
        patch.setattr("os.open" if resolver else place, fail)
        checks(debate, clerk)

    assert raised.value.not_begun and not raised.value.maybe_billed
    if not resolver:
        assert checks(debate, clerk)[0]["state"] == "verified"


def test_this_machine_is_out_of_bounds(site: Site) -> None:
    """As it is cast, the clerk fetches nothing from this machine or its network: that is blocked. Offline it fetches
    nothing at all, and says that nothing was checked."""
    debate = cited(f"http://127.0.0.1:{site.port}/", "http://localhost/")
    for name, state in (("fetch", "blocked"), ("offline", "not checked")):
        clerk = make_provider(name, CurrentState(debate))
        assert isinstance(clerk, Clerk)
        assert [(one["turn"], one["state"]) for one in checks(debate, clerk)] == [
            ("1.argument.a", state),
            ("1.argument.b", state),
        ]
    assert site.asked == []


def test_a_clerk_is_no_speaker() -> None:
    """`fetch` and `offline` fill the clerk's seat and no other, and take nothing after their name."""
    for seat, spec, said in (
        ("clerk", "fetch:everything", "Try: fetch or offline"),
        ("judge", "fetch", "can only be the clerk"),
        ("a", "offline", "can only be the clerk"),
    ):
        (wrong,) = cast_problems({seat: (spec,)})
        assert said in wrong
    assert cast_problems({"clerk": ("fetch",)}) == cast_problems({"clerk": ("offline",)}) == []
