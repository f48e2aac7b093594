"""Text is redacted before it is cut: a key of which a cut leaves only a part is neither shown nor kept."""

from __future__ import annotations

import asyncio
import base64
import shlex
import sys
from collections.abc import AsyncIterator, Callable

import httpx2
import pytest
from corpus import for_each
from debates import opened_event

from debate_orchestrator.core.fold import CurrentState, fold
from debate_orchestrator.core.reply import FoundPage, Reply
from debate_orchestrator.evidence import pages, reader
from debate_orchestrator.prompting.briefs import Brief, Message
from debate_orchestrator.providers import api, call_errors, command
from debate_orchestrator.providers.anthropic import MessagesReply
from debate_orchestrator.providers.bounded_body import LimitedBody
from debate_orchestrator.providers.limits import LIMITS
from debate_orchestrator.providers.openai import CompletionsReply
from debate_orchestrator.providers.provider import NO_PERMISSIONS, OnPiece, Provider, call_provider
from debate_orchestrator.util.errors import TransientError, short_repr
from debate_orchestrator.util.redact import truncate

KEY = "sk-proj-Ab3dEf6hIj9lMn2pQr5tUv8xYz01"
ESCAPED = "".join(f"\\u{ord(one):04x}" for one in KEY)
BRIEF = Brief(turn="1.opening.a", system="Be fair.", messages=(Message(role="user", parts=("x",)),), wants="text")
FORMS_OF_OTHERS = (KEY.encode().hex(), base64.b64encode(KEY.encode()).decode(), ESCAPED[8 * 6 :])
Cut = Callable[[str, int], str]
"""What is told of a text when a cut leaves so many characters of a key that it holds."""


@pytest.fixture(autouse=True)
def one_key(monkeypatch: pytest.MonkeyPatch) -> None:
    """One variable of the environment holds the key."""
    monkeypatch.setenv("OPENAI_API_KEY", KEY)


def up_to(most: int, key: str, left: int) -> str:
    """A text with a key in it, of which a cut behind `most` characters leaves so many. A line drops the blanks."""
    return f"no{' ' * (most - left - 2)}{key} is bad"


class Stream(httpx2.AsyncByteStream):
    """The body of a response, which may break off."""

    def __init__(self, *pieces: bytes, broken: bool = False):
        self._pieces, self._broken = pieces, broken

    async def __aiter__(self) -> AsyncIterator[bytes]:
        for piece in self._pieces:
            yield piece
        if self._broken:
            raise httpx2.ReadError("gone")


async def body(stream: Stream) -> str:
    """What is read of an error's body, as it is quoted."""
    read = b"".join([piece async for piece in LimitedBody(stream, "", LIMITS, whole=False)])
    return call_errors.quote(read.decode("utf-8", "replace"))


def long_body(key: str, left: int) -> str:
    return asyncio.run(body(Stream(up_to(LIMITS.error, key, left).encode())))


def broken_body(key: str, left: int) -> str:
    return asyncio.run(body(Stream(b"no ", key[:left].encode(), broken=True)))


def completions(key: str, left: int) -> str:
    answer, named = CompletionsReply(), up_to(api.MAX_FIELD_LENGTH, key, left)
    answer.take({"model": named, "choices": [{"finish_reason": named}]})
    reply = answer.reply("openai:x")
    assert reply.model and reply.stop_reason
    return f"{reply.model}\n{reply.stop_reason}"


def messages(key: str, left: int) -> str:
    answer, named = MessagesReply(), up_to(api.MAX_FIELD_LENGTH, key, left)
    answer.take({"type": "message_start", "message": {"model": named}})
    answer.take({"type": "message_delta", "delta": {"stop_reason": named, "stop_details": {"explanation": named}}})
    answer.endings = {str(answer.stop_reason): "refused"}
    reply = answer.reply("anthropic:claude-opus-5-5")
    assert reply.model and reply.stop_reason and reply.text
    return f"{reply.model}\n{reply.stop_reason}\n{reply.text}"


def program(key: str, left: int) -> str:
    """The complaint about a program of whose standard error only the end is kept."""
    end = f"{' ' * (command._STDERR_KEPT - left - 4)}bad\n"
    script = f"import sys; sys.stdin.read(); sys.stderr.write('x' * 999 + {key!r} + {end!r}); sys.exit(1)"
    made = command.provider(
        f"command:{sys.executable} -c {shlex.quote(script)}", CurrentState(fold([opened_event()])), NO_PERMISSIONS
    )
    with pytest.raises(TransientError, match="bad") as failure:
        asyncio.run(made.reply(BRIEF, str))
    return str(failure.value).partition("exit code")[2]


def page(key: str, left: int) -> str:
    """The title of a page, which the reader cuts, and why it can't be read."""
    title = pages.html_page(f"<title>{'x' * (300 - left)}{key}</title><p>x".encode(), "utf-8")[0].title
    told = reader.PageReading(
        state="near match", similarity=0.9, passage=f"So it is {key[:left]} ... [...] and {key[:left]} ...",
        why="x" * (1_000 - left) + key, title=title, date="", text="",
    )  # fmt: skip
    found = reader._checked(told.model_dump_json().encode(), "http://h/")
    assert found.title and found.why and found.passage.startswith("So it is ")
    return f"{found.title}\n{found.why}\n{found.passage}"


WHOLE_TEXTS: dict[str, Cut] = {
    "a long body of an error": long_body,
    "a broken body of an error": broken_body,
    "what Chat Completions names": completions,
    "what the Messages API names": messages,
    "a quotation": lambda key, left: call_errors.quote(f"{'x' * (300 - left)}{key}"),
    "the end of a quotation": lambda key, left: call_errors.quote(f"{key}{'x' * (300 - left)}", end=True),
    "a value in an error": lambda key, left: short_repr(f"{'x' * (59 - left)}{key}" + "y" * 60),
    "any text": lambda key, left: truncate(f"{'x' * (99 - left)}{key}", 99),
}


@pytest.mark.parametrize("left", [len(KEY) - 1, 20, 12, 6])
@pytest.mark.parametrize("place", WHOLE_TEXTS)
def test_nothing_of_a_key_is_left(place: str, left: int) -> None:
    """Where the whole text is there before the cut, nothing of a key is told, however much of it the cut leaves."""
    told = WHOLE_TEXTS[place](KEY, left)

    assert told
    assert [part for part in (KEY[:6], KEY[-6:]) if part in told] == []


@pytest.mark.parametrize("left", [len(ESCAPED) - 1, len(ESCAPED) - 5, 90])
@pytest.mark.parametrize(
    "place", ["a long body of an error", "a broken body of an error", "what the Messages API names"]
)
def test_nothing_of_an_escaped_key_is_left(place: str, left: int) -> None:
    """The same holds for a key in escapes, one of which the cut may go through."""
    assert ESCAPED[:30] not in WHOLE_TEXTS[place](ESCAPED, left)


@pytest.mark.parametrize("left", [len(KEY) - 1, 20, 6])
def test_the_end_of_what_a_program_says(left: int) -> None:
    """Of what a program says on its standard error the end is kept, and no end of a key with it."""
    assert KEY[-6:] not in program(KEY, left)


@pytest.mark.parametrize("left", [len(KEY) - 1, 20])
def test_what_a_reader_of_pages_has_cut(left: int) -> None:
    """The reader knows no key, so that the larger half of one at the end of what it has cut is taken for one."""
    told = page(KEY, left)

    assert KEY[:8] not in told
    assert told.count("[key]") == 4


class Fixed(Provider):
    """A provider with one reply."""

    name = "toy:x"

    def __init__(self, reply: Reply):
        self._reply = reply

    async def reply(self, brief: Brief, on_text: OnPiece) -> Reply:
        return self._reply


def test_whatever_a_provider_has_cut() -> None:
    """The larger half of a key at the end of any text of a reply is taken out, should a provider have cut it."""
    half = f"It is {KEY[:-1]}"
    page = FoundPage(url="http://h/", title=half, quote=half)
    reply = Reply(text=half, brief_digest="", by="toy:x", model=half, stop_reason=half, found_pages=(page,))
    kept = asyncio.run(call_provider(Fixed(reply), BRIEF, str))

    assert KEY[:6] not in kept.model_dump_json()
    assert (kept.text, kept.model, kept.stop_reason, kept.found_pages[0].title) == ("It is [key]",) * 4


class Failing(Fixed):
    """A provider whose answer breaks off after two pieces."""

    async def reply(self, brief: Brief, on_text: OnPiece) -> Reply:
        on_text(f"It is {KEY[:9]}")
        on_text(f"{KEY[9:]} and")
        raise TransientError("it broke off")


@pytest.mark.parametrize(("watched", "pieces"), [(True, ["It is ", "[key] and"]), (False, ["It is [key] and"])])
def test_an_answer_that_breaks_off_is_told_without_secrets(*, watched: bool, pieces: list[str]) -> None:
    """What came of an answer is told without a key that came in two pieces, also where it is told at the end alone."""
    heard: list[str] = []
    with pytest.raises(TransientError):
        asyncio.run(
            call_provider(Failing(Reply(text="", brief_digest="", by="x")), BRIEF, heard.append, watched=watched)
        )

    assert [piece for piece in heard if piece] == pieces
    assert len(heard) > 1 or not watched


async def failed(error: TransientError) -> str:
    """What is told of a call that fails in this way."""

    class Failing(Provider):
        name = "openai:x"

        async def reply(self, brief: Brief, on_text: OnPiece) -> Reply:
            raise error

    with pytest.raises(TransientError) as raised:
        await call_provider(Failing(), BRIEF, lambda text: None)
    return str(raised.value)


def test_a_library_has_cut_what_it_quotes() -> None:
    """Of a key that was cut before it was seen, at either end, fewer than eight characters are told, in any form."""
    secret = KEY.removeprefix("sk-proj-")
    for form, unit in zip((secret, *FORMS_OF_OTHERS), (1, 1, 1, 6), strict=True):
        for first in range(0, len(form) - 16 * unit + 1, unit):
            part = form[first : first + 16 * unit]
            for told in (call_errors.quote(f"got {part}..."), asyncio.run(failed(TransientError(f"got {part}...")))):
                assert "[key]" in told, part
                assert not any(part[at : at + 8 * unit] in told for at in range(0, 9 * unit, unit)), part


@for_each(["qwmzkdrtvbnlxhjgpfsyuqiweoa", "correct-horse-battery-staple-and-more", "QWMZKDRTVBNLXHJGPFSY"])
def test_a_key_of_letters_alone_is_hidden_where_it_was_cut(key: str) -> None:
    """Sixteen letters of a key are no ordinary text, also where they are of one case or make words; fewer may be."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("OPENAI_API_KEY", key)
        told = call_errors.quote(f"Incorrect API key provided: {key[:-1]}*")
        assert "[key]" not in call_errors.quote(f"Which {key[:15]}?")
    assert told == "Incorrect API key provided: [key]*"


def test_words_and_the_beginning_of_a_service_stay(monkeypatch: pytest.MonkeyPatch) -> None:
    """What many keys share is told, since it helps to find the right one; so are the words in a password."""
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-ant-api03-Q8rT2vXz9LmN4kPw7")
    monkeypatch.setenv("DATABASE_URL", "postgres://me:staging-Password-for-debates@db/x")
    words = "keys begin with sk-ant-api03- or sk-proj-; the staging Password for debates is not in staging-debates"

    assert call_errors.quote(words) == words
    assert call_errors.quote("begins with sk-ant-api03-Q8rT2vXz9") == "begins with sk-ant-api03-[key]"
