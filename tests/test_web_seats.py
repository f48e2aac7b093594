"""People in seats, each with a link of its own: they hear what their seat hears, and may reply in its turns alone."""

from __future__ import annotations

import json
import re
import shutil
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from human_turns import due
from web_visitor import PATIENCE, Visitor, plain, visiting, without_models

from debate_orchestrator import fold, read_journal
from debate_orchestrator.core import schedule
from debate_orchestrator.core.state import DebateState
from debate_orchestrator.prompting.replies import MAX_SIZE
from debate_orchestrator.web import debate_list, form_fields, runs

SETUP = {
    "topic": "Is a reason better than a claim?",
    "positions.a": "A reason is better.",
    "positions.b": "A claim is better.",
    "rounds": "1",
    "issues": "no",
    "brief": "no",
}
JOURNAL = "is-a-reason-better-than-a-claim.journal.jsonl"
SPEECH = "A claim alone convinces no one who doubts it, and a reason does. " * 11


@pytest.fixture
def visitor(here: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Visitor]:
    """A user at the dashboard of an empty folder, where no model can be called."""
    without_models(monkeypatch)
    with visiting() as visitor:
        yield visitor


@pytest.fixture
def stranger(visitor: Visitor) -> Iterator[Visitor]:
    """Another visitor of the same server, who has no link to the dashboard."""
    yield visitor.another()


def begun(visitor: Visitor, **people: str) -> tuple[str, dict[str, str]]:
    """The address of a debate with people in some seats, and the links of the seats by name."""
    address = visitor.started(**{**SETUP, **people})
    page = visitor.get(address).text
    return address, dict(reversed(pair) for pair in re.findall(r'<a href="(/seat/[^"]+)">([^<]+)</a>', page))


def turn_of(visitor: Visitor, link: str) -> str:
    """The turn that waits at a seat, once one does."""
    visitor.until(link, ": your turn")
    found = re.search(r'name="turn" value="([^"]+)"', visitor.get(link).text)
    assert found is not None
    return found[1]


def hand_in(visitor: Visitor, link: str, **fields: str) -> Any:
    """Hands in a reply from the page of a seat."""
    token = link.rpartition("/")[2]
    return visitor.send(link, {"turn": turn_of(visitor, link), **fields}, token=token)


def tick(page: Any) -> str:
    """What the box below the remarks of a page sends where it is ticked."""
    (value,) = re.findall(r'name="sure" value="(\w+)"', page.text)
    return str(value)


def state() -> DebateState:
    return fold(read_journal(JOURNAL).events)


def test_two_people_argue_from_two_browsers(visitor: Visitor, stranger: Visitor) -> None:
    """Each takes the turns of one seat by a link, and reads the report at last. While one waits, the page says that the
    speech was received and shows it, whose turn it is, and what the other side argues."""
    Path("numbers.md").write_text("<b>410</b> a month", encoding="utf-8")
    address, links = begun(visitor, **{"cast.a": "human", "cast.b": "human", "context": "numbers.md"})
    assert set(links) == {"Researcher A", "Researcher B"}
    link = links["Researcher A"]
    turn_of(stranger, link)
    page = stranger.get(link).text
    assert '<summary>Material file 1: “numbers.md”</summary>\n<div class="words">\n<p>&lt;b&gt;410' in page
    assert ": your turn" not in stranger.text(links["Researcher B"])
    assert hand_in(stranger, link, text=f"{SPEECH} {link[-4:]}").status_code == 303
    waiting = stranger.until(link, "Received: Opening Statement")
    assert SPEECH.strip() in waiting and "Round 1 of 1, Opening Statement: it is the turn of" in waiting
    assert f"argues: {SETUP['positions.b']}" in stranger.text(link)

    end = time.monotonic() + PATIENCE
    while not state().complete and time.monotonic() < end:
        for link in links.values():
            if ": your turn" in stranger.text(link):
                assert hand_in(stranger, link, text=f"{SPEECH} {link[-4:]}").status_code == 303
    visitor.until(address, "Complete")

    replies = {turn: answer.reply for turn, answer in state().replies.items() if turn[-2:] in (".a", ".b")}
    assert replies and {reply.spec for reply in replies.values()} == {"human"}
    assert stranger.get(f"{links['Researcher A']}/report").status_code == 200


def test_a_turn_that_was_taken_ends_no_draft_of_another_folder(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The pages of two debates of one name, in two folders, keep drafts in the same browser: each drops its own."""
    drafts, taken = [], []
    for folder in ("one", "two"):
        (here / folder).mkdir()
        monkeypatch.chdir(here / folder)
        with visiting() as owner:
            (link,) = begun(owner, **{"cast.a": "human"})[1].values()
            turn_of(owner, link)
            drafts += re.findall(r'data-draft="([^"]+)"', owner.get(link).text)
            hand_in(owner, link, text=SPEECH)
            owner.until(link, ": your speech")
            taken.append(json.loads(re.findall(r"data-taken='([^']+)'", owner.get(link).text)[0])[0])
    assert [[draft.startswith(one) for draft in drafts] for one in taken] == [[True, False], [False, True]]


def test_a_seat_hears_nothing_early(visitor: Visitor, stranger: Visitor) -> None:
    """While a person writes, what the other side says at the same time is shown neither to them nor at the dashboard:
    not on the page of the debate, in its report, beside another debate or by the search."""
    address, links = begun(visitor, **{"cast.a": "human"}, format="question")
    (link,) = links.values()
    turn_of(stranger, link)
    end = time.monotonic() + PATIENCE
    while "1.argument.b" not in state().replies:
        assert time.monotonic() < end, "the other side's argument is not on record"
        time.sleep(0.05)
    name, argument = address.rpartition("/")[2], state().replies["1.argument.b"].reply.text.split("\n")[0][:40]

    assert argument not in stranger.text(link) + visitor.text(address)
    assert "No places" in visitor.text(f"/search?q={quote(argument)}")
    for other in (f"/debates/{name}/report", f"/compare?debate={name}&debate={name}"):
        answer = visitor.get(other)
        assert answer.status_code == 409 and "held back" in plain(answer.text) and argument not in answer.text
    while not state().complete:
        if ": your turn" in stranger.text(link):
            assert hand_in(stranger, link, text=SPEECH).status_code == 303
    visitor.until(address, "Complete")
    assert "A claim alone convinces no one" in visitor.text(address) and argument in visitor.text(f"{address}/report")
    assert "No places" not in visitor.text(f"/search?q={quote(argument)}")


def test_a_person_judges_by_a_form(
    visitor: Visitor,
    stranger: Visitor,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A judge's ballot is asked for field by field; what is missing or wrong is said beside its field, and what was
    entered stays, as it was entered. Topic and positions stand at the top as the task has them, and nothing tells which
    debate is mirrored."""
    monkeypatch.setitem(globals(), "JOURNAL", "is-r1-right.journal.jsonl")
    monkeypatch.setenv("DB_PASSWORD", "hunter2hunter")
    address, links = begun(visitor, **{"topic": "Is R1 right?", "cast.judge": "human", "mirror": "yes"})
    (link,) = links.values()
    turn_of(stranger, link)
    labels = plain(stranger.get(link).text)

    assert "The side that gave up its whole position (Conceded) (may stay empty)" in labels
    assert labels.count("Judge mode: ") == 2 and "Honesty binds every seat." in labels  # the task, and the whole brief
    wrong = hand_in(
        stranger,
        link,
        **{"field/scores/a": "70 6", "field/winner": "hunter2hunter", "field/justification": "Side A gave a reason."},
    )

    assert wrong.status_code == 422 and "70 is not a number from 1 to 10" in plain(wrong.text)
    assert "'hunter2hunter' is not one of" in plain(wrong.text)
    assert "Side A gave a reason." in wrong.text and "Why, in one sentence (Justification)" in plain(wrong.text)
    positions = list[str]()
    while not state().complete:
        if ": your turn" not in (page := stranger.get(link).text):
            time.sleep(0.05)
            continue
        top, task = (re.search(rf"Researcher A argues{side}: (A \w+)", plain(page)) for side in ("", r" \(\w+\)"))
        assert top and task and top[1] == task[1] and "irrored" not in page
        assert set(re.findall(r"Is R(\w) right", plain(page))) == {"1"}
        assert ("one of two ballots" in page) is ("Dissent Record: your turn" not in page)
        positions.append(top[1])
        fields = dict.fromkeys(re.findall(r'<textarea id="(field/[^"]+)"', page), "Something was said.")
        fields |= dict.fromkeys(re.findall(r'<input id="(field/scores/[^"]+)"', page), "7 6")
        fields |= {"field/winner": "a", "field/strength": "narrow", "field/strongest_argument/seat": "a"}
        fields |= {name: "" for name in fields if re.search(r"/\d", name)}
        answer = hand_in(stranger, link, **fields)
        assert answer.status_code == 303, plain(answer.text)[-2500:]
    visitor.until(address, "Complete")
    assert any(answer.reply.spec == "human" for turn, answer in state().replies.items() if turn.endswith("judge"))
    assert positions == ["A reason"] * 5  # the order alone is swapped


def test_a_speech_that_is_not_taken_stays_with_its_writer(
    visitor: Visitor,
    stranger: Visitor,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """An empty speech is refused, and one of line breaks; the turn waits on. One that concedes the debate is handed in
    only once its writer has ticked that it is meant so: a tick below another remark is none. One that comes too late is
    on the page, from which it can be copied, as it was."""
    address, links = begun(visitor, **{"cast.a": "human"})
    (link,) = links.values()

    refused = hand_in(stranger, link, text=" ")
    assert refused.status_code == 422 and "Your speech is empty." in plain(refused.text)
    long = hand_in(stranger, link, text="word" + "\n" * 250_000 + "end", sure="yes")
    assert long.status_code == 422 and "characters in 2 words; at most 41,250 characters are taken." in long.text
    turn, conceding = turn_of(stranger, link), f"{SPEECH}\n\nI CONCEDE THE DEBATE."
    quoting = hand_in(stranger, link, text=f"{SPEECH} They say:\nI CONCEDE THE DEBATE.")
    assert "concedes the whole debate" not in quoting.text
    asked = hand_in(stranger, link, text=conceding, sure=tick(quoting))
    assert asked.status_code == 422 and "concedes the whole debate" in asked.text and "A claim alone" in asked.text
    assert turn == "1.opening.a" not in state().replies
    assert hand_in(stranger, link, text=conceding, sure=tick(asked)).status_code == 303
    monkeypatch.setenv("DB_PASSWORD", "hunter2hunter")
    fields = {"turn": turn, "text": "A better <b>opening</b> of hunter2hunter."}
    late = stranger.send(link, fields, token=link.rpartition("/")[2])
    assert late.status_code == 422 and runs.NOT_WAITING in plain(late.text)
    assert "A better &lt;b&gt;opening&lt;/b&gt; of hunter2hunter." in late.text
    visitor.until(address, "Complete")


@pytest.mark.parametrize("field", ["text", "field/justification"])
def test_a_reply_over_the_limit_is_not_read(
    visitor: Visitor,
    stranger: Visitor,
    monkeypatch: pytest.MonkeyPatch,
    field: str,
) -> None:
    """It is refused by its size alone, before anything is worked out from it, and the turn waits on."""
    _, links = begun(visitor, **{"cast.a" if field == "text" else "cast.judge": "human"})
    (link,) = links.values()
    turn = turn_of(stranger, link)
    for work in ("person_turns.speech_remarks", "_reply_text", "person_turns.reply_problems", "_reply_fields"):
        monkeypatch.setattr(f"debate_orchestrator.web.seats.{work}", lambda *_, **__: pytest.fail("it was read"))

    sent = {"turn": turn, field: "a " * (MAX_SIZE // 2) + "a"}
    answer = stranger.send(link, sent, token=link.rpartition("/")[2])

    assert answer.status_code == 413 and f"at most {MAX_SIZE:,}" in plain(answer.text)
    assert turn not in state().replies


@pytest.mark.parametrize("same", [True, False])
def test_a_reply_is_taken_once(visitor: Visitor, stranger: Visitor, same: bool) -> None:
    """Of two that are sent for one turn at the same time the first counts. The other is told that it does not, unless
    it is the same form once more: then its writer is told that the reply was received."""
    _, links = begun(visitor, **{"cast.a": "human"})
    (link,) = links.values()
    turn, token, codes = turn_of(stranger, link), link.rpartition("/")[2], list[int]()
    clients = [stranger, stranger.another()]

    def send(client: Visitor, more: str) -> None:
        codes.append(client.send(link, {"turn": turn, "text": f"{SPEECH}{more}"}, token=token).status_code)

    sending = [
        threading.Thread(target=send, args=(client, "" if same else more))
        for client, more in zip(clients, ("One.", "Two."), strict=True)
    ]
    for thread in sending:
        thread.start()
    for thread in sending:
        thread.join(PATIENCE)

    assert sorted(codes) == [303, 303 if same else 422]
    assert state().replies[turn].reply.text.startswith(SPEECH.strip())


def test_a_link_opens_its_seat_alone(visitor: Visitor, stranger: Visitor) -> None:
    """With the token of one seat neither another seat, nor another debate, a copy of this one or the dashboard can be
    opened; the answer does not tell whether the debate exists. A report is shown only when the debate is complete."""
    _, links = begun(visitor, **{"cast.a": "human", "cast.b": "human"})
    name, seat, token = links["Researcher A"].split("/")[2:]
    other = links["Researcher B"].rpartition("/")[2]

    for wrong in (
        f"/seat/{name}/b/{token}",
        f"/seat/{name}/judge/{token}",
        f"/seat/{name}/a/{other}",
        f"/seat/{name}/a/{'0' * 40}",
        f"/seat/nothing/a/{token}",
        f"/seat/{name}/{seat}/{token}/report",
    ):
        assert stranger.get(wrong).status_code == 404
    link = links["Researcher A"]
    shown = stranger.get(link)
    assert shown.status_code == 200 and visitor.dashboard not in shown.text
    shutil.copy(JOURNAL, "copy.journal.jsonl")
    assert stranger.get(link.replace(name, "copy")).status_code == 404
    assert stranger.get(f"/debates/{name}").status_code == 401
    assert stranger.get(f"/dashboard/{token}/debates/{name}").status_code == 401
    unsigned = stranger.send(link, {"turn": "1.opening.a", "text": SPEECH}, token=other)
    assert unsigned.status_code == 403 and "1.opening.a" not in state().replies


def test_a_stranger_is_told_nothing_of_a_journal(
    visitor: Visitor,
    stranger: Visitor,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Without the right token a journal that can't be read answers as one that is not there, and is not read."""
    begun(visitor, **{"cast.a": "human"})
    whole = Path(JOURNAL).read_text(encoding="utf-8")
    monkeypatch.setattr(debate_list, "load", None)
    for broken in ("A private diary.\n", whole.replace('"n":2', '"n":7')):
        Path("broken.journal.jsonl").write_text(broken, encoding="utf-8")
        for address in ("/seat/broken/a/x", "/seat/broken/a/x/stream", "/review/broken/x"):
            nothing, answer = (stranger.get(one) for one in (address.replace("broken", "nothing"), address))
            assert (answer.status_code, answer.text) == (404, nothing.text), (address, broken[:20])
            assert "diary" not in answer.text and "line 2" not in answer.text


def test_a_seat_reads_a_list_line_by_line(visitor: Visitor, stranger: Visitor) -> None:
    """A person who lists the issues has a link too. Who has heard the list sees a line for each issue."""
    whole_cast = dict.fromkeys(("cast.a", "cast.b", "cast.judge"), "human")
    _, links = begun(visitor, **whole_cast, issues="yes")
    listed = {f"field/issues/{n}": f"Who pays for part {n}?" for n in range(1, 9)}
    listed |= {f"field/cases/{n}": f"You run {n} services." for n in (1, 2)}
    assert hand_in(stranger, links["Rapporteur"], **listed).status_code == 303
    turn_of(stranger, links["Researcher A"])
    page = stranger.get(links["Researcher A"]).text

    assert re.search(r'<p class="line depth-\d">I1\. [^<]+</p>\s*<p class="line depth-\d">I2\. ', page)


def test_a_paused_seat_keeps_its_link(
    visitor: Visitor,
    stranger: Visitor,
    here: Path,
) -> None:
    """After a pause, and after a restart of the server, the same link leads to the same turn when it goes on."""
    address, links = begun(visitor, **{"cast.a": "human"})
    (link,) = links.values()
    turn = turn_of(stranger, link)
    visitor.send(f"{address}/pause")
    visitor.until(address, "Paused")
    late = stranger.send(link, {"turn": turn, "text": SPEECH}, token=link.rpartition("/")[2])
    assert late.status_code == 422 and "is kept in this browser" in late.text and turn not in state().replies

    with visiting() as again:
        assert "paused" in again.text(link)
        # The page of a paused seat still looks for changes, and no oftener than the stream tells the browser.
        assert f'data-changes="{link}/stream" data-turn="paused"' in again.get(link).text
        assert again.get(f"{link}/stream").text.count("retry: 5000\n") == 1
        assert again.send(f"{address}/continue").status_code == 303
        assert turn_of(again, link) == turn
        assert hand_in(again, link, text=SPEECH).status_code == 303
        again.until(address, "Complete")
    assert state().replies[turn].reply.text.strip() == SPEECH.strip()


def test_the_floor_and_an_early_end(visitor: Visitor, stranger: Visitor) -> None:
    """A question from the dashboard and an early end are on record, while the debate runs and while it is paused. The
    phase that a person has open is finished, with the other side's turn, and then judged."""
    address, links = begun(visitor, **{"cast.a": "human"}, rounds="3")
    link = links["Researcher A"]
    while turn_of(stranger, link) != "2.constructive.a":
        hand_in(stranger, link, text=SPEECH)

    assert visitor.send(f"{address}/question", {"question": "What would it cost?", "to": "b"}).status_code == 303
    assert "What would it cost?" in visitor.text(address)
    assert visitor.send(f"{address}/question", {"question": " ", "to": ""}).status_code == 409
    assert visitor.send(f"{address}/question", {"question": "Why?", "to": "nobody"}).status_code == 409
    visitor.send(f"{address}/pause")
    visitor.until(address, "Paused")
    closed = visitor.send(f"{address}/end")
    assert closed.status_code == 303, plain(closed.text)
    assert "Ended early: the verdict comes next." in visitor.text(address)
    assert [one.question for one in state().floor_questions] == ["What would it cost?"]

    visitor.send(f"{address}/continue")
    assert hand_in(stranger, link, text=f"{SPEECH} The second round.").status_code == 303
    visitor.until(address, "Complete")
    assert {"2.constructive.a", "2.constructive.b"} <= set(state().replies)
    assert state().ended_after == "2.constructive." and "The second round." in visitor.text(address)


def test_a_judge_chooses_for_each_issue() -> None:
    """Every issue has a field to choose in. All of them answered are taken; all left empty skip the issues; some left
    empty are complained about."""
    debate = due("1.verdict.judge", rounds=1, issues=("What does it cost?", "Who maintains it?"))
    shape, terms = debate.shape(debate.due[0]) or {}, schedule.shape_context(debate, debate.due[0])
    scores = {("scores", "a"): "7 6", ("scores", "b"): "5 5", ("winner",): "a"}
    answers = {("issues", "I1"): "a", ("issues", "I2"): "even"}
    whole = form_fields.value(shape, terms, scores | answers)
    skipped = form_fields.value(shape, terms, scores)
    half = scores | {("issues", "I1"): "a"}
    positions = {"a": "Vendor B", "b": "Vendor\nA"}
    questions = form_fields.questions(shape, terms, debate.format, positions, half, with_problems=True)
    asked = {field.name: field for field in questions}

    assert whole is not None and whole["issues"] == {"I1": "a", "I2": "even"}
    assert skipped is not None and skipped["issues"] is None
    assert [value for value, _ in asked["field/issues/I2"].options] == ["a", "b", "even", "untouched"]
    assert asked["field/winner"].options[:2] == (("a", "Researcher A: Vendor B"), ("b", "Researcher B: Vendor A"))
    empty = {name.removeprefix("field/") for name, field in asked.items() if field.may_be_empty}
    assert {"conceded", "justification"} <= empty and not {"winner", "scores/a", "issues/I1"} & empty
    assert not any(re.search(r"\bnull\b", field.label + field.about) for field in asked.values())
    assert asked["field/issues/I1"].value == "a" and "I2: choose one" in asked["field/issues/I2"].problem
    assert form_fields.value(shape, terms, half) is None
