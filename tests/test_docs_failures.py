"""Every row of the table in docs/failures.md, with a real client and a real server: once, and if it lasts."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import scripted_replies
from conftest import STATED, CommandResult, Run
from messages_server import Server, serving

from debate_orchestrator.core.events import BriefSent, CallFailed, Declined, Rejected, Spoke
from debate_orchestrator.providers.limits import LIMITS
from debate_orchestrator.storage.journal import read

KEY = "sk-test-0123456789abcdef"
PAGE = (Path(__file__).parent.parent / "docs" / "failures.md").read_text(encoding="utf-8")
ROWS = [
    tuple(cell.strip() for cell in line.split("|")[1:4])
    for line in PAGE.partition("\n## Keys\n")[0].splitlines()
    if line.startswith("| ") and not line.startswith(("| what goes wrong", "| ---", "| **"))
]
AGAIN, STOPS = "asked again", "stops"
ANEW = ("asked again once, with the problem", "asked again up to three times, with the problems")


class Failure(NamedTuple):
    """How a row comes about."""

    response: dict[str, Any]
    turn: str = "1.opening.b"


def refused(status: int, message: str = "no", **more: Any) -> Failure:
    return Failure({"status": status, "message": f"{message} ({KEY})", **more})


def refused_option(status: int) -> Failure:
    return Failure({"status": status, "message": "output_config: unexpected"}, "1.verdict.judge")


def ballot(text: str | None, **more: Any) -> Failure:
    return Failure({"text": text, **more} if text is not None else more, "1.verdict.judge")


def wrong_ballot(**changes: Any) -> Failure:
    return ballot(json.dumps(scripted_replies.ballot(rounds=1, **changes)))


SCORES = {side: {"argument_quality": 11, "use_of_evidence": 5} for side in ("a", "b")}
FAILURES: dict[str, Failure] = {
    "too many requests (429), with `retry-after`": refused(429, headers={"retry-after": "1"}, kind="rate_limit_error"),
    "too many requests (429), without": refused(429, kind="rate_limit_error"),
    "overloaded (529)": refused(529, kind="overloaded_error"),
    "server error (5xx)": refused(503),
    "connection dropped": Failure({"close": True}),
    "no answer in time": Failure({"after": 0, "then": "stall"}),
    "bad key (401, 403), or one that is not a line of printable ASCII": refused(401, kind="authentication_error"),
    "unknown model or address (404)": refused(404, kind="not_found_error"),
    "no credit, or a spending limit (400, 402, 429)": refused(400, "Your credit balance is too low"),
    "transcript too long for the model (400, 413)": refused(400, "prompt is too long: 2000000 tokens"),
    "any other rejection of the request (400)": refused(400, "messages: odd"),
    "option of the request not supported (400, 404, 422)": refused_option(422),
    "option of the request not supported (500, or in an error event)": refused_option(500),
    "stream ends without its closing event": Failure({"after": 3, "then": "end"}),
    "the server gives its answer up (`abort`, `error`, `insufficient_system_resource` and the like)": Failure(
        {"text": "And so we see that", "stop": "abort"}
    ),
    "connection dropped in the stream": Failure({"after": 3, "then": "drop"}),
    "stream falls silent": Failure({"after": 3, "then": "stall"}),
    "nothing but pings": Failure({"after": 3, "then": "pings"}),
    "chunk that is not JSON": Failure({"after": 3, "then": "garbage"}),
    "event nested too deeply": Failure({"after": 3, "then": "nested"}),
    "answer longer than any reply may be": Failure({"after": 3, "then": "more"}),
    "speech of more than twice the words of its phase": Failure({"text": "and so on " * 1_000}),
    "ballot of more than 32,000 characters": ballot('{"winner": "a' + " " * 40_000),
    "error event": Failure({"after": 3, "then": "error"}),
    "a page instead of an answer": Failure({"html": True}),
    "empty speech": Failure({"text": ""}),
    "a debater declines to argue": Failure({"text": "", "stop": "refusal", "why": "I will not say that."}),
    "a judge declines": ballot("", stop="refusal", why="I will not judge that."),
    "speech cut at the token limit": Failure({"text": "And so we see that", "stop": "max_tokens"}),
    "ballot cut at the token limit": ballot(None, stop="max_tokens"),
    "ballot that is not JSON": ballot("A wins, 10 to 3."),
    "ballot that lacks fields": ballot('{"winner": "a"}'),
    "score out of range": wrong_ballot(scores=SCORES),
    "ballot that names no side": wrong_ballot(winner="nobody"),
}
APART = {"connection refused", "unknown host", "no key"}
"""Rows that come about without a server; they have tests of their own below."""


@pytest.fixture
def server(here: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    """A server, and an environment that names it and nothing else."""
    for name in ("ANTHROPIC_AUTH_TOKEN", "ANTHROPIC_PROFILE", "OPENROUTER_API_KEY", "OPENAI_API_KEY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("ANTHROPIC_API_KEY", KEY)
    with serving(Server()) as made:
        monkeypatch.setenv("ANTHROPIC_BASE_URL", made.url)
        yield made


def run(debate: Run, *flags: str, patience: float = 60) -> CommandResult:
    """A debate of one round, from flags alone."""
    return debate("run", *STATED, "--rounds=1", "--output=r.md", f"--retry-for={patience}", *flags)


def make_server_fail(server: Server, failure: Failure, times: int) -> None:
    """Has the server do that to the calls of the turn, so many times."""
    left = [times]

    def response(request: dict[str, Any], n: int) -> dict[str, Any] | None:
        words = {"1.opening.b": "# Your seat: Researcher B", "1.verdict.judge": "# Your task: Judge Verdict"}
        if words[failure.turn] not in request["messages"][-1]["content"][-1]["text"] or not left[0]:
            return None
        left[0] -= 1
        return failure.response

    server.problem = response


def events(kind: type, turn: str) -> list[Any]:
    """The events of that kind in the journal, of one turn."""
    return [event for event in read("r.journal.jsonl").events if isinstance(event, kind) and event.turn_id == turn]


def nothing_leaks(*said: str) -> None:
    """The key is in nothing that was printed or written."""
    written = [path.read_bytes() for path in Path(".").rglob("*") if path.is_file()]
    assert [text for text in said if KEY in text] == []
    assert [text for text in written if KEY.encode() in text] == []


def test_every_row_has_its_failure() -> None:
    """The table has the rows that are tried here, no more and no fewer."""
    assert [row[0] for row in ROWS if row[0] not in APART] == list(FAILURES)
    assert {row[0] for row in ROWS} == {*FAILURES, *APART}


FIRST = {row[1:]: row for row in reversed(ROWS) if row[0] in FAILURES}
"""For each way to treat a failure, the first row that says so."""


@pytest.mark.slow
@pytest.mark.parametrize("row", [row for row in ROWS if row[0] in FAILURES], ids=lambda row: row[0])
def test_once(row: tuple[str, str, str], debate: Run, server: Server) -> None:
    """A failure that comes once is treated as its row says, and where it passes the debate is judged whole."""
    failure = FAILURES[row[0]]
    make_server_fail(server, failure, 1)
    ran = run(debate, patience=4)
    asked, failures = events(BriefSent, failure.turn), events(CallFailed, failure.turn)
    nothing_leaks(ran.out, ran.err)
    if row[1] == STOPS:
        assert ran.code == int(row[2][-1])
        assert len(failures) == 1 and failures[0].wait is None
        assert "debate resume r.journal.jsonl" in ran.err
        ran = debate("resume", "r.journal.jsonl")
    elif row[1].startswith(ANEW):
        assert len(events(Rejected, failure.turn)) == 1
        assert len(asked) == 2 and asked[0].brief_digest != asked[1].brief_digest
    elif row[1].startswith(AGAIN):
        assert len(failures) == 1 and failures[0].wait is not None
        assert len(asked) == 2 and asked[0].brief_digest == asked[1].brief_digest
    assert ran.code == 0, ran.err
    assert "Winner: A (narrow)" in ran.out
    nothing_leaks(ran.out, ran.err)


@pytest.mark.slow
@pytest.mark.parametrize("row", [row for row in FIRST.values() if row[2]], ids=lambda row: row[0])
def test_if_it_lasts(row: tuple[str, str, str], debate: Run, server: Server) -> None:
    """A failure that lasts ends as its row says: saved and resumable; nothing goes on without a judge."""
    failure = FAILURES[row[0]]
    make_server_fail(server, failure, 1_000)
    ran = run(debate, patience=2)
    nothing_leaks(ran.out, ran.err)
    if row[1] == ANEW[1]:
        assert [event.absent for event in events(Rejected, failure.turn)] == [False] * 4
    assert f"exit {ran.code}" == row[2], ran.err
    assert "debate resume r.journal.jsonl" in ran.err
    assert events(Spoke, failure.turn) == []
    assert not Path("r.md").exists()
    before = len(server.requests)
    make_server_fail(server, failure, 0)
    again = debate("resume", "r.journal.jsonl")
    assert again.code == 0, again.err
    # The speech or ballot that was missing, and what comes after it.
    assert len(server.requests) - before == (3 if failure.turn == "1.verdict.judge" else 4)


def test_a_refusal_is_on_record(debate: Run, server: Server) -> None:
    """A debater's refusal is kept in its own words, told to the judge, and counts as no concession."""
    make_server_fail(server, FAILURES["a debater declines to argue"], 1)
    ran = run(debate)
    declines = events(Declined, "1.opening.b")

    assert [one.reply.text for one in declines] == ["I will not say that."]
    assert any("declined to argue in 1.opening.b" in str(one["messages"]) for one in server.requests)
    assert "Researcher B declined to argue" in Path("r.md").read_text(encoding="utf-8")
    assert "Consensus" not in ran.out


def test_a_cut_speech_is_marked(debate: Run, server: Server) -> None:
    """A speech that the token limit cut is heard and reported with a note."""
    make_server_fail(server, FAILURES["speech cut at the token limit"], 1)
    run(debate)

    assert "a limit of length cut the speech above short" in str(server.requests[-1]["messages"])
    assert "cut" in Path("r.md").read_text(encoding="utf-8")


def test_what_a_server_can_not_do_is_noted(debate: Run, server: Server) -> None:
    """Without structured output the same brief is asked for at once, from then on without; it costs no retry."""
    make_server_fail(server, FAILURES["option of the request not supported (400, 404, 422)"], 1)
    run(debate)
    asking = ["output_config" in request for request in server.requests]

    assert asking == [False, False, True, False, False, False]
    assert events(CallFailed, "1.verdict.judge") == []
    assert "structured output" in Path("r.md").read_text(encoding="utf-8")


@pytest.mark.slow
@pytest.mark.parametrize("url", ["http://127.0.0.1:9", "https://nowhere.invalid"], ids=["refused", "unknown host"])
def test_no_server_there(url: str, debate: Run, server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    """A refused connection and an unknown host are asked again, then paused; the server back, the debate goes on."""
    monkeypatch.setenv("ANTHROPIC_BASE_URL", url)
    ran = run(debate, patience=1)
    asked = events(BriefSent, "1.opening.a")
    monkeypatch.setenv("ANTHROPIC_BASE_URL", server.url)

    assert ran.code == 3
    assert len(asked) > 1
    assert debate("resume", "r.journal.jsonl").code == 0


def test_no_key(debate: Run, server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a key no debate begins, and the message says which variable is missing."""
    monkeypatch.delenv("ANTHROPIC_API_KEY")
    ran = run(debate, "--a=anthropic:m", "--b=anthropic:m", "--judge=anthropic:m")

    assert (ran.code, server.requests) == (2, [])
    assert "ANTHROPIC_API_KEY" in ran.err


def test_what_had_come_is_kept(debate: Run, server: Server) -> None:
    """Of an answer that broke off, the words and the tokens that had come are on record, and on the bill."""
    make_server_fail(server, FAILURES["connection dropped in the stream"], 1)
    run(debate)
    (broken,) = events(CallFailed, "1.opening.b")

    assert broken.reply is not None and broken.reply.usage is not None
    assert re.match(r"This is what", broken.reply.text)
    assert broken.reply.usage.input > 0


def test_the_limits_are_reported() -> None:
    """The limits in the page are those that are used."""
    mib, minutes = 1024 * 1024, 60
    expected = [
        f"{LIMITS.max_reply_chars:,} characters of text",
        f"{LIMITS.max_received_chars:,} with thinking",
        f"{LIMITS.max_response_bytes // mib} MiB of a response, {LIMITS.max_response_lines:,} lines",
        f"{LIMITS.max_event_bytes // mib} MiB of one event in it",
        f"{LIMITS.max_event_parts:,} lists, objects and commas",
        f"{LIMITS.max_nesting} levels of nesting",
        f"{LIMITS.max_error_bytes // 1024} KiB of the body",
        f"{LIMITS.first_token_seconds / minutes:g} minutes until the first word",
        f"{LIMITS.silence_seconds / minutes:g} minutes from one word",
        f"{LIMITS.total_seconds / minutes:g} minutes for a whole reply (3 ×, and never less); "
        f"{LIMITS.program_seconds / minutes:g} minutes for a program",
        f"{LIMITS.lookup_seconds:g} seconds and {LIMITS.max_listing_bytes:,} bytes",
    ]

    assert [one for one in expected if one not in PAGE] == []
