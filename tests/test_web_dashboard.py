"""The dashboard in a browser: start, watch, read, compare, judge again and search, with the messages of the
terminal."""

from __future__ import annotations

import json
import os
import re
import shutil
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
import scripted_debates
from conftest import Run
from debates import play_events
from journals import write_journal
from messages_server import Server
from web_visitor import Visitor, plain, visiting, without_models

from debate_orchestrator import fold, read_journal, render
from debate_orchestrator.core.events import Opened, Reassigned
from debate_orchestrator.engine.budget import estimate_debate
from debate_orchestrator.engine.library import find_risks
from debate_orchestrator.setup.risks import Risk
from debate_orchestrator.setup.setting_texts import SETTING_TEXTS
from debate_orchestrator.storage.paths import DebateFiles
from debate_orchestrator.web import dashboard, debate_form, debate_list

SETUP = {"topic": "Should we move to gRPC?", "rounds": "1"}
NAME = "should-we-move-to-grpc.rehearsed"
PEOPLE = dict.fromkeys(("cast.a", "cast.b", "cast.judge"), "human") | {"issues": "no", "brief": "no"}


@pytest.fixture
def visitor(here: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Visitor]:
    """A user at the dashboard of an empty folder, where no model can be called."""
    without_models(monkeypatch)
    with visiting() as visitor:
        yield visitor


def started(visitor: Visitor, **more: str) -> str:
    """The address of a debate that was started and is complete."""
    visitor.until(address := visitor.started(**more), "Complete")
    return address


def test_a_form_that_comes_twice_starts_one_debate(visitor: Visitor, monkeypatch: pytest.MonkeyPatch) -> None:
    """What the page that confirms a debate sends once leads to the first debate, at the same time and later; a new page
    starts another, and a refused start may be tried again."""

    def confirmed() -> dict[str, str]:
        found = re.search(
            r'name="submission_id" value="(\w{32})"', visitor.send("/new", {**SETUP, "action": "cost"}).text
        )
        assert found
        return {**SETUP, "action": "start", "submission_id": found[1]}

    first = confirmed()
    assert visitor.send("/new", {**first, "rounds": "none"}).status_code == 422
    with ThreadPoolExecutor(3) as clicks:
        answers = [click.result() for click in [clicks.submit(visitor.send, "/new", first) for _ in range(3)]]
    assert {answer.status_code for answer in answers} == {303}, [plain(answer.text)[-1500:] for answer in answers]
    assert len({answer.headers["location"] for answer in answers}) == 1
    visitor.until(answers[0].headers["location"], "Complete")
    assert visitor.send("/new", first).headers["location"] == answers[0].headers["location"]
    with monkeypatch.context() as patch:  # the second is checked when the first has its files, but was under way before
        patch.setattr(debate_list, "unused_files", lambda *_: DebateFiles.named_by(f"{NAME}.md"))
        assert visitor.send("/new", first).headers["location"] == answers[0].headers["location"]
    assert len(list(Path().glob("*.journal.jsonl"))) == 1
    visitor.until(visitor.send("/new", confirmed()).headers["location"], "Complete")
    assert len(list(Path().glob("*.journal.jsonl"))) == 2


STAND_INS = {f"other.{seat}": "rehearse" for seat in ("a", "b", "judge", "rapporteur")}


def test_a_rehearsal_says_what_the_real_debate_takes(visitor: Visitor) -> None:
    """Of which models, also where its stand-ins name none: they stand for the default ones. What can't be known is
    not told as a debate without calls."""

    def answered(**sent: str) -> str:
        page = visitor.send("/new", {**SETUP, **sent, "action": "cost"}).text
        (cost,) = re.findall(r'<strong id="cost">([^<]*)</strong>', page)
        return str(cost)

    chosen, nameless = answered(), answered(**STAND_INS)
    models = "anthropic:claude-sonnet-5-5 and anthropic:claude-opus-5-5"
    real = rf"nothing: it is a rehearsal\. The real debate, with {models}: "
    first = r"1 or 2 calls of \S+ to derive the positions; then "
    assert re.match(rf"{real}{first}\d+ calls, .*about \$\d", chosen)
    assert nameless == chosen
    given = answered(**{"positions.a": "We should.", "positions.b": "We should not."})
    assert re.match(rf"{real}\d+ calls, .*about \$\d", given)
    hosted = answered(**{f"other.{seat}": "rehearse:host" for seat in ("a", "b", "judge", "rapporteur")})
    assert hosted.endswith("What the real debate takes is not known: its stand-ins name no model")


def test_a_rejudging_says_what_it_takes_before_a_model_is_called(visitor: Visitor, server: Server) -> None:
    """*Judge again* by a model shows what `debate judge` shows before it begins, and calls no model until then."""
    address = started(visitor)
    judges, before = "anthropic:claude-opus-5-5", len(server.requests)
    unknown = visitor.send(f"{address}/judge", {"judges": "nothing:x"})
    shown = visitor.send(f"{address}/judge", {"judges": judges})
    fields = dict(re.findall(r'type="hidden" name="(\w+)" value="([^"]*)"', shown.text))
    journals = len(list(Path().glob("*.journal.jsonl")))
    asked = len(server.requests) - before

    assert unknown.status_code == 409 and "nothing:x" in plain(unknown.text)
    assert (shown.status_code, journals, asked) == (200, 1, 0)
    judged = visitor.send(f"{address}/judge", fields).headers["location"]
    visitor.until(judged, "Complete")
    opened = read_journal(f"{judged.rpartition('/')[2]}.journal.jsonl").events[0]
    assert estimate_debate(opened).sentence() in plain(shown.text) and judges in plain(shown.text)
    assert {request["model"] for request in server.requests[before:]} == {"claude-opus-5-5"}


def test_a_debate_from_the_form_to_its_report(visitor: Visitor) -> None:
    """An empty folder leads to the form, the form to what the debate takes, and its start to a page that says what was
    decided, a stream that is over, and the very report that `render` makes."""
    assert "Start a debate" in visitor.text("/")

    before = visitor.send("/new", {**SETUP, "action": "cost"})
    assert before.status_code == 200 and "nothing: it is a rehearsal" in before.text
    with_person = visitor.send("/new", {**SETUP, "cast.a": "human", "action": "cost"})
    assert "nothing: no model is called" in with_person.text
    assert "no decision brief: they would come from a stand-in" in with_person.text
    assert "would come from a stand-in" not in before.text
    assert os.listdir() == []
    # All mistakes are told at once, also those that are found only where the others are right.
    wrong = {**PEOPLE, "topic": "What should we eat?", "rounds": "9", "context": "numbrs.md", "max_cost": "lots"}
    problems = plain(visitor.send("/new", {**SETUP, **wrong, "action": "cost"}).text)
    for found in ("rounds: ", "context: ", "max_cost: ", "and no model of this cast can word its two sides"):
        assert problems.count(found) == 1
    form = visitor.get("/new").text
    assert "1 to 6, or up to 8 with “More rounds than usual” below." in form
    assert form.index('name="context"') < form.index("<summary>More") and "Share cache" not in form
    Path("numbers.md").write_text("410 a month", encoding="utf-8")
    assert "Context “numbers.md”" in plain(visitor.send("/new", {**SETUP, "context": "numbers.md"}).text)
    Path("numbers.md").unlink()

    address = started(visitor)

    assert address == visitor.at(f"/debates/{NAME}")
    assert visitor.get(f"{address}/report").text == render(f"{NAME}.journal.jsonl", "html")
    assert Path(f"{NAME}.html").read_text(encoding="utf-8") == visitor.get(f"{address}/report").text
    assert "Should we move to gRPC?" in visitor.text("/")
    shown = visitor.text(address)
    for said in ("ROUND 1 OF 1", "Opening Statement — Researcher A", "Argument quality", "FINAL VERDICT"):
        assert said in shown
    assert debate_list.outcome(fold(read_journal(f"{NAME}.journal.jsonl").events)) == "A rehearsal: no model spoke."
    standing = visitor.get(address).text.partition('id="status"')[2].partition("</div>")[0]
    assert "No winner: only stand-ins judged." in plain(standing)
    late = visitor.get(f"{address}/stream")
    assert late.headers["content-type"].startswith("text/event-stream") and late.text == ("event: over\ndata: {}\n\n")


def test_positions_are_worked_out_without_a_model(visitor: Visitor) -> None:
    """A topic of any form that can be affirmed or denied needs no positions, with stand-ins, with people, and where a
    person argues against the stand-in of a model; a rehearsal takes any topic, as at the command line."""
    sent = {**SETUP, "topic": "Remote work", "issues": "no", "brief": "no", "action": "cost"}
    of_model = "rehearse:anthropic:claude-opus-4-5"
    for seats in ({}, PEOPLE, {"cast.a": "human", "other.b": of_model, "other.judge": of_model}):
        shown = visitor.send("/new", {**sent, **seats})
        assert shown.status_code == 200 and "argues It is right that: Remote work" in plain(shown.text)
        assert ("nothing: no model is called" in shown.text) == bool(seats)
    shown = visitor.send("/new", {**sent, "topic": "What should we eat?"})
    assert shown.status_code == 200 and 'Placeholder for an answer to "What should we eat?"' in plain(shown.text)


def test_the_end_early_control_follows_the_debate(visitor: Visitor) -> None:
    """It is on the page of a debate that runs, hidden until a speech is made; the status says when it can be shown."""
    for seat, can_end in (("a", False), ("b", True)):
        address = visitor.started(**{f"cast.{seat}": "human"}, rounds="3")
        visitor.until(address, f"Waiting for Researcher {seat.upper()}")
        page = visitor.get(address).text
        assert ("<details data-end-early hidden>" in page, "data-can-end-early" in page) == (not can_end, can_end)


FAULTS = [
    ({"topic": ""}, "topic", "is empty"),
    ({"rounds": "99"}, "rounds", "rounds: 99 is not a whole number from 1 to 6"),
    ({"positions.a": "Yes."}, "positions", "positions: none is given for b"),
    ({"other.a": "nobody:x"}, "cast.a", "nobody:x"),
    ({"max_cost": "-1"}, "max_cost", "max_cost: -1.0 is not an amount"),
]


def test_a_problem_stands_beside_its_field(visitor: Visitor) -> None:
    """What is invalid is said in the words of the terminal, beside the field; what was typed stays, and nothing is
    written. Positions that no model can derive are asked for in the form."""
    for sent, field, message in FAULTS:
        answer = visitor.send("/new", {**SETUP, "feedback": "no", **sent, "action": "start"})
        beside = re.search(rf'id="problem-{re.escape(field)}-1">([^<]*)<', answer.text)
        assert answer.status_code == 422 and beside is not None, field
        assert message in beside[1].replace("&#39;", "'") and '<option value="no" selected>' in answer.text, field
    answer = visitor.send("/new", {**SETUP, **PEOPLE, "topic": "What should we eat?", "action": "start"})
    assert answer.status_code == 422 and "no model of this cast" in plain(answer.text)
    assert "debate ask" not in answer.text and os.listdir() == []


def test_a_new_setting_is_in_the_form(visitor: Visitor, monkeypatch: pytest.MonkeyPatch) -> None:
    """A setting for which the form has no words of its own is labelled by its help."""
    monkeypatch.setattr(debate_form, "_WORDS", {})

    assert SETTING_TEXTS["mirror"].help in plain(visitor.get("/new").text)


def test_other_formats_have_their_own_form(visitor: Visitor) -> None:
    """The form asks for what the chosen format has, and keeps what was typed before. It offers the rapporteur's seat
    where the format has one, with the judge's model as usual; the debate has the one that was chosen."""
    forms = [
        visitor.send("/new", {**SETUP, "format": name, "action": "format"}).text for name in ("adversarial", "panel")
    ]
    addresses = [started(visitor, format="panel"), started(visitor, **{"cast.rapporteur": "rehearse:openai:gpt-5"})]
    panel, usual = (fold(read_journal(f"{address.rpartition('/')[2]}.journal.jsonl").events) for address in addresses)

    assert '<option value="panel" selected>' in forms[1] and "Should we move to gRPC?" in forms[1]
    assert ["the first judge&#39;s model, or a side" in form for form in forms] == [True, False]
    assert panel.format.name == "panel"
    assert usual.cast["rapporteur"] == ("rehearse:openai:gpt-5",) != usual.cast["judge"]


POSITIONS = {"positions.a": "Yes.", "positions.b": "No."}


def test_programs_need_consent(visitor: Visitor) -> None:
    """A debate that runs a program starts only when its command line was shown and the box was ticked. To continue with
    one, whose journal may be a stranger's, the user agrees on a page that shows it."""
    program = {"other.a": "command:false --loud", **POSITIONS}
    shown = visitor.send("/new", {**SETUP, **program, "action": "cost"})
    refused = visitor.send("/new", {**SETUP, **program, "action": "start", "agree": "yes"})
    assert "the program false --loud" in shown.text
    assert refused.status_code == 200 and "Tick the box" in refused.text and os.listdir() == []
    address = visitor.started(**program, agree="yes", risk=visitor.risks(**program))
    visitor.until(address, "Paused")
    journal = Path("should-we-move-to-grpc.journal.jsonl").read_bytes()
    asked = visitor.send(f"{address}/continue")
    assert asked.status_code == 200 and "the program false --loud" in asked.text
    assert Path("should-we-move-to-grpc.journal.jsonl").read_bytes() == journal


@pytest.mark.slow
def test_what_was_agreed_to_is_what_runs_and_is_judged(visitor: Visitor, monkeypatch: pytest.MonkeyPatch) -> None:
    """A journal that names another program, or brings prompts of its own, by the time that it is opened is not
    continued or judged again, and the page says why."""
    journals = []
    for name in ("one", "other"):
        fields = {"topic": name, "other.a": f"command:sh -c 'touch {name}; exit 1'", **POSITIONS}
        risks = visitor.risks(**fields)
        address = visitor.started(**fields, agree="yes", risk=risks)
        visitor.until(address, "Paused")
        Path(name).unlink()
        journals.append((address, risks, Path(f"{address.rpartition('/')[2]}.journal.jsonl")))
    (address, risks, journal), (_, _, other) = journals
    Path("own").mkdir()
    Path("own/format.yaml").write_text("extends: panel\ntitle: Another\n", encoding="utf-8")
    complete, risks_of_own = started(visitor), visitor.risks(format="./own")
    by_own = started(visitor, format="./own", agree="yes", risk=risks_of_own).rpartition("/")[2]

    def look_and_swap(source: str | dict[str, str]) -> tuple[Risk, ...]:
        found = find_risks(source)
        if isinstance(source, str):
            shutil.copy(other, journal)
        else:  # the judges that are named for a complete debate
            shutil.copy(f"{by_own}.journal.jsonl", f"{NAME}.journal.jsonl")
        return found

    monkeypatch.setattr(dashboard, "find_risks", look_and_swap)
    sent = visitor.send(f"{address}/continue", {"agree": "yes", "risk": risks})
    said = visitor.until(address, "Paused") if sent.status_code == 303 else plain(sent.text)
    assert "has changed since you agreed" in said and not Path("other").exists()
    assert journal.read_bytes() == other.read_bytes()

    there = sorted(os.listdir())
    sent = visitor.send(f"{complete}/judge", {"judges": "rehearse"})
    assert sent.status_code == 409 and "has changed since you agreed" in plain(sent.text)
    assert sorted(os.listdir()) == there


def test_a_search_looks_at_what_is_heard(here: Path) -> None:
    """Of a structured reply its fields are searched and shown as others read them, not as its data."""
    write_journal(here / "one.journal.jsonl", scripted_debates.events("claim"))
    hits, _ = debate_list.search("argument: so it is")
    assert [hit.turn for hit in hits] == ["1.argument.a", "1.argument.b"]
    assert all("URL: https://example.org/so" in hit.before and "{" not in hit.before + hit.after for hit in hits)


PART = "Rehearsed in part: stand-ins spoke for Researcher A."
WHOLE = "Rehearsed: stand-ins spoke, and no model was called."


@pytest.mark.parametrize(
    ("cast", "spoke", "badges", "sentence"),
    [
        (("rehearse", "two", "three"), ("one", "two", "three"), (), ""),
        (("one", "two", "three"), ("rehearse", "two", "three"), ("with stand-ins",), PART),
        (("one", "two", "rehearse"), ("rehearse", "rehearse", "rehearse"), ("a rehearsal",), WHOLE),
    ],
)
def test_stand_ins_are_those_that_spoke(
    debate: Run, here: Path, cast: tuple[str, ...], spoke: tuple[str, ...], badges: tuple[str, ...], sentence: str
) -> None:
    """Whatever the cast named at first, or names now: in the list, in `check`, and as the debate is played again."""
    seats = ("a", "b", "judge")
    first, *rest = play_events(rounds=1, cast={seat: (spec,) for seat, spec in zip(seats, spoke, strict=True)})
    assert isinstance(first, Opened)
    opened = first.with_settings(cast={seat: (spec,) for seat, spec in zip(seats, cast, strict=True)})
    given = [[Reassigned(seat=seat, specs=(who,)) for seat, who in zip(seats, by, strict=True)] for by in (spoke, cast)]
    write_journal(here / "d.journal.jsonl", [opened, *given[0], *rest[:-2], *given[1][:2], *rest[-2:]])
    checked, replayed = debate("check", "d.journal.jsonl"), debate("replay", "d.journal.jsonl", "--no-pace")

    assert debate_list.row("d").badges == badges
    assert sentence in checked.out and ("tand-ins" in checked.out) == bool(sentence)
    assert ("tand-ins speak for" in replayed.out) == ("tand-ins speak for Researcher A" in replayed.out) == bool(badges)
    assert ("judges it again" in replayed.err) != bool(badges)


@pytest.mark.slow
def test_compare_search_and_judge_again(visitor: Visitor, monkeypatch: pytest.MonkeyPatch) -> None:
    """Debates are compared side by side, found by what was said, and judged again by others. A second debate of a topic
    has a name of its own. A page that can't show everything says so."""
    first, second = started(visitor), started(visitor, rounds="2")
    names = [address.rpartition("/")[2] for address in (first, second)]
    assert names == [NAME, NAME.replace("grpc", "grpc-2")]

    compared = visitor.text(f"/compare?debate={names[0]}&debate={names[1]}")
    assert all(name in compared for name in names)
    assert visitor.get(f"/compare?debate={names[0]}").status_code == 409
    many = visitor.get("/compare?" + "&".join([f"debate={names[0]}"] * 21))
    assert many.status_code == 409 and "21 debates are ticked" in many.text

    found = visitor.get("/search?q=an%20assumption%20that%20BOTH%20sides").text
    assert found.count("<mark>") >= 2 and f"/debates/{names[0]}#turn-1.opening.a" in found
    assert re.search(r"[\w.] <mark>an assumption that both sides</mark> \w", found, re.IGNORECASE)
    assert visitor.get("/search?q=sides%20assumption").text.count("<mark>") >= 2
    assert "No places in" in visitor.text("/search?q=assumption%20zebra")
    assert "No places in" in visitor.text("/search?q=zebra")
    monkeypatch.setattr(debate_list, "_MAX_FOUND", 2)
    assert "more than 2 places" in visitor.text("/search?q=the")

    judged = visitor.send(f"{first}/judge", {"judges": "rehearse\nrehearse"}).headers["location"]
    visitor.until(judged, "Complete")
    assert len(fold(read_journal(f"{judged.rpartition('/')[2]}.journal.jsonl").events).judges) == 2
    listed = visitor.text("/")
    assert listed.count("· a re-judging · a rehearsal") == 1 and listed.count("· a rehearsal") == 3
    assert listed.count(f"also judged in {judged.rpartition('/')[2]}") == 1


def test_hostile_words_stay_words(visitor: Visitor) -> None:
    """Markup in a topic, a position and a search runs nowhere."""
    evil = '<script>alert(1)</script>"><img src=x onerror=alert(1)>'
    address = started(visitor, topic=f"Is {evil} fine?", **{"positions.a": evil, "positions.b": f"Not {evil}"})
    pages = [visitor.get(one).text for one in ("/", address, f"/search?q={evil}", f"{address}/report")]
    form = visitor.send("/new", {**SETUP, "topic": evil, "rounds": "99", "action": "cost"}).text

    for page in (*pages, form):
        assert "<script>alert" not in page and "<img src=x" not in page


def test_journals_that_can_not_be_shown(visitor: Visitor) -> None:
    """Files whose names are not text, have a line break or lead elsewhere in an address, and a damaged journal, are
    listed with their trouble, and keep no other from being listed, found and compared."""
    address = started(visitor)
    journal, names = Path(f"{NAME}.journal.jsonl").read_bytes(), (b"\xff", b"a\xed\xa0\x80", b"a\nb", b"", b".", b"..")
    for name in names:
        Path(os.fsdecode(name + b".journal.jsonl")).write_bytes(journal)
    Path("bad.journal.jsonl").write_text(json.dumps({"n": 1}) + "\n", encoding="utf-8")

    page = visitor.text("/")
    assert "Should we move to gRPC?" in page and page.count("address can't contain") == len(names)
    assert "bad" in page and visitor.get("/debates/bad").status_code == 409
    assert visitor.get("/search?q=assumption").text.count(f"/debates/{NAME}#") >= 2
    assert visitor.get(address).status_code == 200
    assert visitor.get("/debates/%ff").status_code == 404
    assert visitor.get("/compare?debate=%ff&debate=%ff").status_code == 404


def test_the_list_is_in_the_order_of_its_dates(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Which journal was written last does not count; one that can't be read comes last."""
    opened = {"a": "2026-02-01 10:00", "b": "2026-02-03 10:00", "c": "2026-02-02 10:00"}
    for name in (*opened, "damaged"):
        Path(f"{name}.journal.jsonl").write_text("damaged", encoding="utf-8")

    def row(name: str) -> debate_list.ListedDebate:
        if name == "damaged":
            raise OSError("damaged")
        return debate_list.ListedDebate(name, name, "", opened[name], "", "")

    monkeypatch.setattr(debate_list, "row", row)
    assert [row.name for row in debate_list.list_debates()] == ["b", "c", "a", "damaged"]
