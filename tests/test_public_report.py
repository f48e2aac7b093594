"""What a public page shows of the owner's models, servers, programs and files: their names, and nothing else."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import chat_server
import debates
import journals
import pytest
from public_site import rules, visiting_public
from web_visitor import plain

from debate_orchestrator.core.events import Noted, Spoke, StructuredReplyGiven
from debate_orchestrator.core.fold import fold
from debate_orchestrator.core.state import spec_in
from debate_orchestrator.reports.report_files import read_checksum
from debate_orchestrator.web.live import Viewers


def test_visitors_are_not_told_where_the_owners_servers_are(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No page and no report of a debate has the address of a model server; the report names its model, and carries the
    checksum of what it says."""
    monkeypatch.setenv("OPENAI_API_KEY", "k")
    speech = chat_server.chunks([{"content": "A reason is given here, and another one. " * 10}])
    with chat_server.answering(lambda body: speech) as server:
        address = server.url.removesuffix("/v1")
        other = f"openai:small@{server.url}/"
        cast = {"a": f"openai:small@{server.url}", "b": other, "judge": "rehearse"}
        about = {"about": "A server", "cast": cast, "issues": False, "brief": False, "free": True}
        with visiting_public(rules(offers={"own": about})) as visitor:
            path = visitor.started()
            visitor.until(path, "Complete")
            report = visitor.get(f"{path}/report").text
            shown = [visitor.get(page).text for page in ("/", path, f"{path}/stream")] + [report]

    assert address not in "".join(shown) and "Researcher A: openai:small; Researcher B: openai:small; " in report
    checksum = read_checksum(report.encode(), ".html")
    assert checksum is not None and checksum.fits


def streamed_text(monkeypatch: pytest.MonkeyPatch) -> list[dict[str, Any]]:
    """What viewers are sent from now on of speeches that are being written, soon after it comes."""
    monkeypatch.setattr("debate_orchestrator.web.live._FLUSH_SECONDS", 0.01)
    speeches = list[dict[str, Any]]()

    def broadcast(viewers: Viewers, kind: str, data: Any) -> None:
        speeches.extend([data] if kind == "text" else [])

    monkeypatch.setattr(Viewers, "broadcast", broadcast)
    return speeches


def test_each_attempt_of_a_speech_is_a_text_of_its_own(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Words of a call that broke off do not stay before those of the next one, whose private reasoning is recognised
    though they ended within a line, or within private reasoning that was never closed."""
    private, closing = "<think>PRIVATE: hide it.", "</think>\n"
    broken, endless = (chat_server.chunks([{"content": text}], stop=None)[:-14] for text in ("And cars take", private))

    def whole() -> Iterator[bytes]:
        for event in re.findall(
            b"(?s).+?\n\n", chat_server.chunks([{"content": private}, {"content": f"{closing}Yes."}])
        ):
            yield event
            time.sleep(0.1)  # until viewers are sent it

    speeches, shown = streamed_text(monkeypatch), [""]
    with chat_server.scripted(broken, endless, whole()) as server:
        cast = {"a": f"openai:small@{server.url}", "b": "rehearse", "judge": "rehearse"}
        about = {"about": "A server", "cast": cast, "issues": False, "brief": False, "free": True}
        with visiting_public(rules(offers={"own": about})) as visitor:
            visitor.until(visitor.started(), "Complete")
    for data in speeches:
        if data["heading"].endswith("Researcher A"):
            shown.append(shown[-1][: data["start"]] + data["text"])
    assert list(filter(None, shown)) == ["And cars take", "Yes."]


@pytest.mark.parametrize("key", [None, "k7-Wq9!xZ2pL0v"])
def test_visitors_see_words_as_they_are_written(here: Path, monkeypatch: pytest.MonkeyPatch, key: str | None) -> None:
    """With a key in the environment the last ones come late, whatever they are."""
    if key:
        monkeypatch.setenv("OPENAI_API_KEY", key)
    speeches, first = streamed_text(monkeypatch), "First words are said. " * 20
    Path("speaks.sh").write_text(f"echo '{first}'; sleep 0.4; echo And the last ones.", encoding="utf-8")
    program = f"command:sh {Path('speaks.sh').resolve()}"
    cast = {"a": program, "b": program, "judge": "rehearse"}
    about = {"about": "A program", "cast": cast, "issues": False, "brief": False, "free": True}
    with visiting_public(rules(offers={"own": about})) as visitor:
        visitor.until(visitor.started(), "Complete")
    assert any(data["heading"].endswith("Researcher B") for data in speeches)
    longest = max((data["text"].strip() for data in speeches if data["text"] in first + "\n"), key=len)
    assert 200 < len(longest) < len(first) - 50 if key else longest == first.strip()


def test_a_public_page_shows_nothing_that_is_the_owners(here: Path) -> None:
    """Of a debate by private servers and programs, no page has an address, a path, an argument, or what a server calls
    its model, which may be a file; it still tells that a judge is the model of a side. What was said stays."""
    file, server = "/srv/owner/small-q4.gguf", "http://10.0.0.5:8000/v1"
    cast = {
        "a": (f"openai:small@{server}/",),
        "b": ("command:/home/owner/prog --key sk-owner",),
        "judge": (f"openai:large@{server}/", "command:/home/owner/judge.sh", "ollama:tiny"),
    }
    said = "The file /srv/public/list.txt lists what holds: every server of 10.1.2.3 is old."
    events = debates.play_events(debates.script_of(_1_opening_a=said), cast=cast, rounds=1, judges=3)
    debate = fold(events)
    for n, event in enumerate(events):
        if isinstance(event, Spoke | StructuredReplyGiven):
            spec = spec_in(debate, debate.turns[event.turn_id].seat)
            model = None if spec.startswith("command:") else file
            reply = event.reply.model_copy(update={"spec": spec, "model": model, "by_call": True})
            events[n] = event.model_copy(update={"reply": reply})
    events.insert(1, Noted(note="estimate", detail=f"3 calls of {cast['a'][0]}"))
    journals.write_journal(Path("x.public.journal.jsonl"), events)

    with visiting_public() as visitor:
        pages = {page: visitor.get(page).text for page in ("/", "/d/x", "/d/x/stream", "/d/x/report")}

    for page, text in pages.items():
        for private in ("/srv/owner", "small-q4", "10.0.0.5", ":8000", "/home", "sk-owner"):
            assert private not in text, (page, private)
    report = plain(pages["/d/x/report"])
    assert (
        "Researcher A: openai:small; Researcher B: command:prog; Judge: openai:large, command:judge.sh, ollama"
        in report
    )
    assert "Judge 1 is the same model as Researcher A." in report
    assert "/srv/public/list.txt" in report and "10.1.2.3" in plain(pages["/d/x"])
