"""A public site: visitors start debates within what its owner permits, wait in a queue, and read what came of them."""

from __future__ import annotations

import asyncio
import errno
import json
import os
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest
from corpus import for_each
from debates import play_events
from journals import write_journal
from public_site import HOST, PAID, REHEARSAL, TOPIC, PublicVisitor, rules, visiting_public
from web_visitor import plain

from debate_orchestrator import read_journal
from debate_orchestrator.core.events import Opened, Reassigned
from debate_orchestrator.engine.debate import record_between_runs
from debate_orchestrator.util.data import parse_mapping
from debate_orchestrator.util.errors import (
    BadSettings,
    JournalWriteError,
    LockedJournal,
    OverBudget,
    ProviderFailed,
    TransientError,
)
from debate_orchestrator.web import card, live
from debate_orchestrator.web.public.queue import StartQueue
from debate_orchestrator.web.public.rules import parse_rules, risks_of
from debate_orchestrator.web.public.site import public_reasons
from debate_orchestrator.web.public.views import Views, create_app


@pytest.fixture
def visitor(here: Path) -> Iterator[PublicVisitor]:
    """A visitor of a site on which stand-ins debate."""
    with visiting_public() as visitor:
        yield visitor


def test_a_burst_of_streams_keeps_to_the_limit(visitor: PublicVisitor, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of streams that one address opens at the same time ten are sent, and when they end their places are free."""
    path, app = visitor.started() + "/stream", create_app(visitor.site, [HOST])
    monkeypatch.setattr(Views, "_stream", lambda views, path, *count: live.event_stream(live.Viewers(), list, *count))

    async def statuses() -> list[int]:
        sent, all_answered = list[int](), asyncio.Event()

        async def send(message: Any) -> None:
            if message["type"] == "http.response.start":
                sent.append(message["status"])
                if len(sent) == 30:
                    all_answered.set()

        async def ask() -> None:
            headers = [(b"host", HOST.encode()), (b"x-forwarded-for", b"203.0.113.7")]
            scope = {"type": "http", "method": "GET", "path": path, "query_string": b"", "headers": headers}
            await app(scope | {"scheme": "https", "root_path": ""}, asyncio.Event().wait, send)

        asking = [asyncio.create_task(ask()) for _ in range(30)]
        await asyncio.wait_for(all_answered.wait(), 30)
        for task in asking:
            task.cancel()
        await asyncio.wait(asking)
        return sorted(sent)

    for _ in range(2):
        assert asyncio.run(statuses()) == [200] * 10 + [429] * 20


def opened(name: str) -> Opened:
    """The first event of a debate of the folder."""
    (path,) = Path().glob(f"{name.removeprefix('/d/')}.public*.journal.jsonl")
    event = read_journal(path).events[0]
    assert isinstance(event, Opened)
    return event


def speaking(folder: Path, body: str) -> str:
    """The spec of a program that speaks."""
    program = folder / "speaker.py"
    program.write_text(f"import sys, time\nsys.stdin.read()\n{textwrap.dedent(body)}\n", encoding="utf-8")
    return f"command:{sys.executable} -IS {program}"


def spoken_by(spec: str, **more: Any) -> dict[str, Any]:
    """An offer in which a program speaks for both sides."""
    return {"about": "A program", "cast": {"a": spec, "b": spec, "judge": "rehearse"}, "free": True, **more}


def test_a_site_that_ends_takes_no_form(visitor: PublicVisitor) -> None:
    """A visitor is told to try again, and keeps what the form holds."""
    visitor.client.portal.call(visitor.site.served_debates.forms.end, 0.0)  # type: ignore[union-attr]
    answer = visitor.start()
    assert answer.status_code == 503 and answer.headers["retry-after"] == "120"
    assert "This site ends now" in plain(answer.text) and TOPIC["topic"] in answer.text


def test_a_debate_from_the_front_page_to_its_report(visitor: PublicVisitor) -> None:
    """A stranger's topic becomes a debate with an address of its own, that is listed, read and reported, and that says
    it is a rehearsal. No program, address, file or cap can be named: nothing but the visitor's own fields is read. No
    file and no counter of the site holds the visitor's address."""
    others = ("format", "cast.a", "other.a", "output", "context", "max_cost", "judge")
    path = visitor.started(**dict.fromkeys(others, "command:touch stolen"))

    shown = visitor.until(path, "Complete")
    assert "Should we move to gRPC?" in shown and "A rehearsal" in shown
    assert "Should we move to gRPC?" in visitor.text("/")
    assert "Should we move to gRPC?" in visitor.text(f"{path}/report")
    setup = opened(path).settings
    assert "stolen" not in setup.model_dump_json() and not Path("stolen").exists()
    assert setup.rounds == 1 and setup.positions["a"] == "We should move to gRPC."
    assert visitor.address not in repr(vars(visitor.site.limits))
    for file in (file for file in Path().rglob("*") if file.is_file()):
        assert visitor.address not in file.read_text(encoding="utf-8")


FAULTS = [
    ({"topic": " "}, "topic", "Write a question or a claim"),
    ({"topic": "x" * 301}, "topic", "301 characters, and at most 300"),
    ({"rounds": "4"}, "rounds", "1 to 3 rounds"),
    ({"rounds": "1e1"}, "rounds", "1 to 3 rounds"),
    ({"offer": "other"}, "offer", "no such"),
    ({"position.a": "Yes."}, "position.b", "Say what this side argues"),
    (
        {"position.a": "hunter2hunter", "position.b": "hunter2hunter"},
        "position.a",
        "Both sides argue &#39;hunter2hunter&#39;",
    ),
]


def test_what_will_not_do_is_not_started(visitor: PublicVisitor, monkeypatch: pytest.MonkeyPatch) -> None:
    """What was typed stays, and the sentence is at its field, also if it is a key, so that no guess is told from
    another."""
    monkeypatch.setenv("DB_PASSWORD", "hunter2hunter")
    for sent, field, message in FAULTS:
        answer = visitor.start({**TOPIC, **sent})
        assert answer.status_code == 422, (sent, plain(answer.text))
        assert message in answer.text.partition(f'id="problem-{field}-1">')[2].partition("<")[0], sent
    assert list(Path().iterdir()) == []


def test_a_page_holds_no_secret(visitor: PublicVisitor, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is in a journal from before it was a secret is not shown."""
    started = visitor.start({**TOPIC, "topic": "Should Summer-2026-Paris! be a password?"})
    assert started.status_code == 303 and "Summer-2026-Paris!" in visitor.get(started.headers["location"]).text
    monkeypatch.setenv("DB_PASSWORD", "Summer-2026-Paris!")
    page = visitor.get(started.headers["location"]).text
    assert "Should [key] be a password?" in page and "Summer-2026-Paris!" not in page


def test_positions_follow_from_the_topic(here: Path) -> None:
    """A question of yes or no, and a claim, need no positions; for others the visitor is asked for them."""
    with visiting_public(rules(offers={"one": spoken_by("command:true")})) as visitor:
        for topic, position in (
            ("Is remote work what most teams want?", 'The answer to "Is remote work what most teams want?" is yes.'),
            ("城市中心应该禁止私家车", "It is right that: 城市中心应该禁止私家车"),
        ):
            answer = visitor.start({**TOPIC, "topic": topic})
            assert opened(answer.headers["location"]).settings.positions["a"] == position
        answer = visitor.start({**TOPIC, "topic": "Which database should we choose for this?"})
        assert answer.status_code == 422 and "what each side is to argue" in answer.text


def test_other_debates_of_the_folder_are_not_shown(visitor: PublicVisitor) -> None:
    """Only debates that visitors started are found: not the owner's, whatever the address says."""
    path = visitor.started()
    visitor.until(path, "Complete")
    (journal,) = Path().glob("*.public.rehearsed.journal.jsonl")
    Path("private.journal.jsonl").write_bytes(journal.read_bytes())
    Path("link.public.journal.jsonl").symlink_to("private.journal.jsonl")
    name = path.removeprefix("/d/")

    for other in ("private", "link", f"{name}.public", "..%2fprivate", f"../{name}", f"{name}%00", "%2e%2e"):
        for end in ("", "/report", "/stream", "/card.png"):
            assert visitor.get(f"/d/{other}{end}").status_code == 404, (other, end)
    assert visitor.text("/").count("Should we move to gRPC?") == 1


def test_the_days_of_a_visitor(here: Path) -> None:
    """A visitor starts so many debates a day, others go on; the answer says what to try and when. A proxy adds to the
    visitor's header, or a header of its own below it: whatever the visitor writes there, it is the same visitor."""
    with visiting_public(rules(debates_per_visitor=2)) as visitor:
        visitor.started()
        visitor.started()
        refused = visitor.start()
        assert refused.status_code == 429 and 0 < int(refused.headers["retry-after"]) <= 86_400
        assert "has started 2 debates today" in plain(refused.text) and "come back tomorrow" in refused.text
        for spoofed in ("10.0.0.1", "10.0.0.2, 10.0.1.2"):
            headers = [("x-forwarded-for", spoofed), *visitor.headers.items(), ("origin", f"https://{HOST}")]
            assert visitor.client.post("/start", data=TOPIC, headers=headers).status_code == 429, spoofed
        visitor.address = "203.0.113.8"
        visitor.started()


def test_the_days_of_a_model_and_a_cast(here: Path) -> None:
    """When a model or an offer has had its debates for today, another offer can still be chosen."""
    first = {**spoken_by("command:false"), "about": "First", "cast": {"a": "command:false", "b": "command:false",
                                                                     "judge": "rehearse"}}  # fmt: skip
    offers = {"first": first, "second": REHEARSAL, "third": {**REHEARSAL, "per_day": 1}}
    with visiting_public(rules(offers=offers, debates_per_model={"command:false": 1})) as visitor:
        visitor.started(offer="first")
        visitor.started(offer="third")
        for offer in ("first", "third"):
            refused = visitor.start({**TOPIC, "offer": offer})
            assert refused.status_code == 429 and "choose another offer" in refused.text
        visitor.started(offer="second")


def test_a_program_may_refuse_a_topic(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A program gets the topic on standard input and refuses with a reason, which the visitor reads, with the topic as
    typed, be there a key in it or not; it runs without a shell, and where it fails nothing is started."""
    monkeypatch.setenv("DB_PASSWORD", "hunter2hunter zebra7crossing")
    program = here / "moderate.py"
    program.write_text(
        "import json, sys; topic = json.load(sys.stdin)['topic']\n"
        "if 'crash' in topic: sys.exit(3)\n"
        "if 'gossip' in topic: print('No <b>gossip</b> by zebra7crossing:', topic); sys.exit(1)\n",
        encoding="utf-8",
    )
    with visiting_public(rules(screening=f"{sys.executable} {program}")) as visitor:
        visitor.started()
        refused = visitor.start({"topic": "Is gossip; touch hunter2hunter good?"})
        assert "No <b>gossip</b> by [key]: Is gossip; touch hunter2hunter good?" in plain(refused.text)
        assert refused.status_code == 422 and "No <b>" not in refused.text
        failed = visitor.start({"topic": "Should we crash?"})
        assert failed.status_code == 503 and failed.headers["retry-after"]
        assert str(program) not in failed.text and "ended with 3" in visitor.log[-1]
        assert len(list(Path().glob("*.journal.jsonl"))) == 1


def test_the_topic_check_is_not_asked_without_end(here: Path) -> None:
    """Refused topics count nowhere as debates, but a visitor can't have ever more of them looked at."""
    with visiting_public(rules(moderation="sh -c 'echo asked >>asked; exit 1'", debates_per_visitor=1)) as visitor:
        codes = [visitor.start().status_code for _ in range(12)]
    assert codes == [422] * 10 + [429] * 2
    assert Path("asked").read_text(encoding="utf-8").count("asked") == 10


@pytest.mark.slow
def test_debates_wait_for_their_turn(here: Path) -> None:
    """With one debate at once, the next one waits, says how many are before it, starts by itself, and one more than
    may wait is refused with when to try again. Once debates have ended, a place in the queue has a time: that of the
    usual debate, for each batch before it."""
    wait = f"import os\nwhile not os.path.exists({str(here / 'go')!r}): time.sleep(0.05)"
    speaker = speaking(here, f"{wait}\nprint('A reason is given here, and another one.')")
    with visiting_public(rules(offers={"slow": spoken_by(speaker)}, concurrency=1, queue=2)) as visitor:
        first, second, third = (visitor.started() for _ in range(3))
        assert visitor.text(second).count("your debate is next") == 1 and "about" not in visitor.text(second)
        assert "1 debate before this one" in visitor.text(third)
        full = visitor.start()
        assert full.status_code == 503 and "2 debates wait already" in plain(full.text) and full.headers["retry-after"]
        (here / "go").touch()
        for path in (first, second, third):
            visitor.until(path, "Complete")
        (here / "go").unlink()
        visitor.started()
        assert "your debate is next · about a minute" in visitor.text(visitor.started())
        one = visitor.site.queue.wait_seconds(1)
        assert one is not None and one > 0 and visitor.site.queue.wait_seconds(3) == 3 * one
        (here / "go").touch()


@for_each(
    [
        (TransientError("secret", maybe_billed=True), "gave no answer that could be used"),
        (OverBudget("secret"), "Try: start a debate with fewer rounds"),
        (LockedJournal("secret"), "Try: load this page again"),
        (JournalWriteError("secret"), "What was saved until now is kept"),
        (ProviderFailed("secret"), "Try: come back later"),
        (RuntimeError("secret"), "Try: come back later"),
    ]
)
def test_every_failure_says_what_to_do(error: Exception, words: str) -> None:
    """A visitor learns whether to wait, to try again or to change something, and nothing that the error names."""
    reasons = " ".join(public_reasons(error))

    assert words in reasons and "secret" not in reasons


@pytest.mark.slow
def test_a_debate_goes_on_in_the_next_server(here: Path) -> None:
    """A debate that waited or ran when its server ended is complete after the next one has begun."""
    speaker = speaking(here, "time.sleep(0.1); print('A reason is given here, and another one.')")
    permitted = rules(offers={"slow": spoken_by(speaker)}, concurrency=1)
    with visiting_public(permitted) as visitor:
        paths = [visitor.started(), visitor.started()]
    with visiting_public(permitted) as visitor:
        for path in paths:
            visitor.until(path, "Complete")


def test_only_what_an_offer_permits_goes_on(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The next server continues a debate, by an own format or with a clerk too, if an offer would open it (models,
    prompts, rounds, cap) and the costs are within the caps. Any other it leaves; its log and the page say so."""
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-ant-for-this-test-alone")
    queued: list[str] = []
    monkeypatch.setattr(StartQueue, "add", lambda queue, path: queued.append(path))
    (own := here / "short" / "format.yaml").parent.mkdir()
    own.write_text("extends: adversarial\ntitle: Short\n", encoding="utf-8")
    offers = {
        "plain": (free := spoken_by("command:true")),
        "own": (own_offer := {**free, "format": "./short", "cast": {**free["cast"], "rapporteur": "rehearse"}}),
        "claim": {**free, "format": "claim", "rounds": 1},
        "paid": {**PAID, "max_cost": 1.0},
    }
    with visiting_public(rules(offers=offers, max_cost_in_total=1.0)) as visitor:
        for offer in offers:
            visitor.started(offer=offer, rounds="1" if offer == "claim" else "2")
    offer_of = dict(zip(queued, offers, strict=True))

    def continued(**changes: Any) -> set[str]:
        queued.clear()
        with visiting_public(rules(**{"max_cost_in_total": 1.0, **changes})) as visitor:
            left, told = offer_of.keys() - set(queued), "so it is not continued"
            assert [told in line for line in visitor.log] == [True] * len(left)
            pages = {path: visitor.get(f"/d/{path.partition('.')[0]}").text for path in offer_of}
            assert {path for path, page in pages.items() if told in page and 'http-equiv="refresh"' not in page} == left
        return {offer_of[path] for path in queued}

    assert continued(offers=offers) == set(offers)
    assert continued() == set()
    del offers["own"]  # each start of a server plays a debate of it through, which takes a second
    assert continued(offers={**offers, "plain": spoken_by("command:false")}) == set(offers) - {"plain"}
    assert continued(offers={**offers, "plain": {**free, "rounds": 1}}) == set(offers) - {"plain"}
    assert continued(offers={**offers, "plain": {**free, "mirror": True}}) == set(offers) - {"plain"}
    assert continued(offers={**offers, "paid": {**PAID, "max_cost": 0.5}}) == set(offers) - {"paid"}
    assert continued(offers={**offers, "paid": {**PAID, "max_cost": 2.0}}) == set(offers)
    assert continued(offers=offers, max_cost_in_total=0.5) == set(offers) - {"paid"}
    record_between_runs(next(iter(offer_of)), lambda debate: Reassigned(seat="judge", specs=("openai:gpt-5.1",)))
    assert continued(offers=offers) == set(offers) - {"plain"}
    own.write_text("extends: adversarial\ntitle: Shorter\n", encoding="utf-8")
    assert continued(offers={**offers, "own": own_offer}) == set(offers) - {"plain"}


def test_failures_are_reported_without_what_is_the_owners(here: Path) -> None:
    """A visitor reads what happened and what to try; the owner's log has the error, the page nothing of it."""
    program = here / "speaker"
    program.write_text('#!/bin/sh\nrm "$0"\necho A reason is given.\n', encoding="utf-8")
    program.chmod(0o755)
    with visiting_public(rules(offers={"broken": spoken_by(f"command:{program} --key sk-owner")})) as visitor:
        path = visitor.started()
        shown = visitor.until(path, "the owner of this site has looked at it")
        assert "come back later, or start a debate with another offer" in shown
        for page in (path, f"{path}/report", "/"):
            assert str(here) not in visitor.get(page).text and "sk-owner" not in visitor.get(page).text
        assert any(str(program) in line for line in visitor.log)


def test_a_debate_goes_on_when_there_is_room_again(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the disk is full before a call, the debate stops without a call, says so, and goes on by itself."""
    monkeypatch.setattr("debate_orchestrator.web.public.queue.RETRY_SECONDS", (1.0, 1.0, 1.0, 1.0))
    write, full = os.pwrite, [True]

    def written(handle: int, data: bytes, at: int) -> int:
        if full[0] and b'"kind":"brief_sent"' in data:
            raise OSError(errno.ENOSPC, "full")
        return write(handle, data, at)

    monkeypatch.setattr(os, "pwrite", written)
    with visiting_public() as visitor:
        path = visitor.started()
        assert "can't save anything at the moment" in visitor.until(path, "goes on by itself in about")
        full[0] = False
        visitor.until(path, "Complete")


@pytest.mark.slow
def test_a_paused_debate_goes_on_by_itself(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """After a failure that may pass, the page says when the debate goes on, and it does. After the last try the page no
    longer says that the visitor need not do anything, but what they can do."""
    monkeypatch.setattr("debate_orchestrator.web.public.queue.RETRY_SECONDS", (1.0,))
    Path("down").touch()
    speaker = speaking(here, "import os\nif os.path.exists('down'): sys.exit(5)\nprint('A reason is given here.')")
    with visiting_public(rules(offers={"flaky": spoken_by(speaker, retry_for=1.0)})) as visitor:
        path = visitor.started()
        assert "you need not do anything" in visitor.until(path, "goes on by itself in about")
        Path("down").unlink()
        visitor.until(path, "Complete")
        Path("down").touch()
        path = visitor.started()
        shown = visitor.until(path, "is not tried again by itself. Try: start the debate again later")
        assert "Not finished" in shown and "A model gave no answer that could be used" in shown
        assert "need not" not in shown and "goes on by itself" not in shown
        assert 'http-equiv="refresh"' not in visitor.get(path).text  # nothing would be new, and a reader be interrupted


GOOD: dict[str, Any] = {"offers": {"one": REHEARSAL}}


@for_each(
    [
        ({}, "offers: there is none"),
        ({"offers": {"Big Offer": REHEARSAL}}, "not a name of lower-case"),
        ({"offers": {"one": {"cast": {"a": "human", "b": "rehearse"}}}}, "human can't take a seat"),
        ({"offers": {"one": {"cast": {"a": "nobody:x", "b": "rehearse"}}}}, "offers.one.cast"),
        ({"offers": {"one": {**REHEARSAL, "rounds": 99}}}, "offers.one.rounds"),
        ({"offers": {"one": {**REHEARSAL, "topic": "x"}}}, "offers.one.topic: 'topic' is not a key here"),
        ({"offers": {"one": PAID}}, "offers.one.max_cost: there is none"),
        ({"offers": {"one": {**PAID, "max_cost": 0.5}}}, "max_cost_in_total: there is none"),
        ({"offers": {"one": {**PAID, "free": True}}, "max_cost_in_total": 1}, "costs money"),
        ({**GOOD, "concurrency": 0}, "concurrency: 0 should be greater"),
        ({**GOOD, "listed": "yes"}, "listed: 'yes' should be true or false"),
        ({**GOOD, "que": 3}, "Did you mean 'queue'"),
        ({**GOOD, "limits_database": "postgresql://db/limits"}, "limits_database"),
        ({**GOOD, "debates_per_model": {"openai:x": 3}}, "is in none of the offers"),
    ],
    "given",
    "message",
)
def test_rules_are_checked_before_anything_is_served(
    given: dict[str, Any], message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is wrong in the owner's file is said in a sentence that names the key."""
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-ant-for-this-test-alone")
    with pytest.raises(BadSettings) as refused:
        parse_rules(given)
    assert message in str(refused.value)


def test_the_documented_file_is_good(monkeypatch: pytest.MonkeyPatch) -> None:
    """The example in docs/public.md says what its comments say."""
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-ant-for-this-test-alone")
    page = (Path(__file__).parents[1] / "docs" / "public.md").read_text(encoding="utf-8")
    content = parse_mapping(page.partition("```yaml\n")[2].partition("```")[0], "site.yaml")
    permitted = parse_rules(content)

    assert (permitted.max_cost_in_total, permitted.max_cost_per_day, permitted.debates_per_visitor) == (50.0, 5.0, 3)
    assert permitted.offers["rehearsal"].rehearsal and permitted.offers["quick"].max_cost == 0.4
    assert risks_of(content) == () and len(risks_of({"moderation": "true"})) == 1  # a former name


def test_a_site_with_programs_needs_consent(debate: Any, here: Path) -> None:
    """A file that names programs is not served before the owner has agreed to them in this folder, that of the topics'
    check too. Until then nothing of a format that it names is read."""
    Path("other").mkdir()
    Path("other/format.yaml").write_text("password: hunter2\n", encoding="utf-8")
    offer = spoken_by("command:true --loud", format="./other")
    Path("site.yaml").write_text(json.dumps({"offers": {"one": offer}, "screening": "true --hard"}), encoding="utf-8")

    ran = debate("serve", "--public", "site.yaml", "--no-browser", "--port", "0")

    assert ran.code == 2 and "true --loud" in ran.err and "--trust" in ran.err and "password" not in ran.err
    assert f"screening: the program true --hard (in {here})" in ran.err
    assert "password: " in debate("serve", "--public", "site.yaml", "--no-browser", "--port", "0", "--trust").err


def test_a_page_can_be_sent_to_others(visitor: PublicVisitor) -> None:
    """The page names its permanent address, a title and a picture for sites that show links."""
    topic = 'Is "less" <more> [so](https://evil.example "x") *big*?'
    path = visitor.started(topic=topic, **{"position.a": 'It "is" <b>more</b>.', "position.b": "No."})
    visitor.until(path, "Complete")
    page = visitor.get(path).text

    assert f'<link rel="canonical" href="https://{HOST}{path}">' in page
    assert f'<meta property="og:image" content="https://{HOST}{path}/card.png">' in page
    assert 'content="Is &#34;less&#34; &lt;more&gt; [so](https://evil.example &#34;x&#34;) *big*?"' in page
    picture = visitor.get(f"{path}/card.png")
    assert picture.headers["content-type"] == "image/png" and picture.content.startswith(b"\x89PNG")
    assert "x-robots-tag" not in picture.headers
    # Beside a link, nothing passes for the result of a debate that was only rehearsed.
    assert '<meta property="og:description" content="A rehearsal: no model spoke.">' in page
    assert "A rehearsal: no model spoke." in visitor.text("/") and "Winner" not in visitor.text("/")
    # Whether it was one is decided by who spoke, and not by the name of its file.
    write_journal(Path("held.public.rehearsed.journal.jsonl"), play_events(rounds=1))
    assert "A rehearsal" not in visitor.text("/d/held") and "Winner" in visitor.text("/d/held")


def test_a_picture_takes_no_font_of_the_working_folder(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """That folder holds debates that may come from others, and a font is a program."""
    fonts, used = [here / "fonts" / "deep" / card._FONTS[0], here / card._FONTS[0]], Mock()
    for font in fonts:
        font.parent.mkdir(parents=True, exist_ok=True)
        font.touch()
    monkeypatch.setattr(card, "_FOLDERS", (str(here / "fonts"),))
    monkeypatch.setattr(card, "_installed", card._installed.__wrapped__)
    monkeypatch.setattr("PIL.ImageFont.truetype", used)
    card._load_font.__wrapped__(False, 20)
    used.assert_called_once_with(str(fonts[0]), 20)


def test_a_site_may_list_nothing(here: Path) -> None:
    """Where the owner says so, debates are found by their links alone, and search engines are told to stay away."""
    with visiting_public(rules(listed=False)) as visitor:
        path = visitor.started()
        visitor.until(path, "Complete")
        assert path not in visitor.get("/").text
        for page in (path, f"{path}/report", f"{path}/card.png"):
            answer = visitor.get(page)
            assert (answer.status_code, answer.headers["x-robots-tag"]) == (200, "noindex")
