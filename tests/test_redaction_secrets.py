"""Secrets are found in text however they are written, and ordinary text is left as it is."""

from __future__ import annotations

import base64
import json
import os
import sys
import tracemalloc
from collections.abc import Iterator
from urllib.parse import quote, quote_plus

import pytest
from conftest import Run, streamed
from core.folding import many
from counting import calls, redaction
from hypothesis import given
from hypothesis import strategies as st

from debate_orchestrator.core.reply import Reply
from debate_orchestrator.prompting.briefs import Brief
from debate_orchestrator.util import decoding
from debate_orchestrator.util.redact import (
    Redactor,
    StreamRedactor,
    add_secret,
    redact,
    redaction_failure,
    secrets,
    spellings,
)

KEY = 'sk-Ab "0/1+2\\3 é=&z'


@pytest.fixture(autouse=True)
def one_key(monkeypatch: pytest.MonkeyPatch) -> None:
    """One variable of the environment holds the key, with a line break behind it."""
    monkeypatch.setenv("DEBATE_KEY_MINE", f"{KEY}\n")


FORMS = [
    KEY, f" {KEY}\n", "".join(KEY.split()), json.dumps(KEY), json.dumps(KEY, ensure_ascii=False), repr(KEY),
    ascii(KEY), repr(f"{KEY}\n"), repr(KEY.encode()),
    quote(KEY), quote(KEY, safe=""), quote_plus(KEY), quote(KEY, safe="").lower(),
    KEY.encode().hex(), KEY.encode().hex().upper(), str({"authorization": f"Bearer {KEY}"}),
    *(base64.b64encode(f"{user}{KEY}".encode()).decode() for user in ("", "u:", "me:", "you:")),
    *(base64.b64encode(f"{user}{KEY}\n".encode()).decode() for user in ("", "u:", "me:")),
    *(base64.urlsafe_b64encode(f"{user}{KEY}".encode()).decode() for user in ("", "u:", "me:", "you:")),
    f"sk-Ab\u200b{KEY[5:]}", "\n".join("".join(KEY.split())), f"{KEY[:9]}\n  {KEY[9:]}",
]  # fmt: skip


def test_every_form() -> None:
    """A key is taken out as it stands, escaped, percent-encoded, in hexadecimal, and wherever it is in base64."""
    for form in FORMS:
        made = redact(f"before {form} after")

        assert made.startswith("before ") and made.endswith(" after") and "[key]" in made, form
        left = made.removeprefix("before ").removesuffix(" after").replace("[key]", "")
        assert len(left) <= 34 and "0/1+2" not in left, form


NO_SECRETS = [
    ("OPENAI_API_KEY", "none"), ("OLLAMA_API_KEY", "ollama"), ("OPENAI_API_KEY", "k-1"), ("A_KEY", "k-12345"),
    ("A_KEY", "true"), ("A_TOKEN", "test"), ("A_SECRET", "strategy"),
    ("DB_PASSWORD", "Disabled"), ("MAX_TOKENS", "100000000"), ("KEY_DATE", "2026-01-02"), ("A_KEY", "--------"),
    ("GOOGLE_APPLICATION_CREDENTIALS", "/home/me/.config/gcloud/key-2026.json"), ("A_KEY", "~/keys/id_25519"),
    ("A_KEY", "./some/where-123"), ("TOKEN_FILE", "sk-this-is-a-file-1"), ("KEYCLOAK_URL", "https://sso.example"),
    ("EDITOR", "vim-with-options-1"), ("PATH", "/bin:/usr/bin"), ("A_KEY", ""), ("A_KEY", " \n"),
]  # fmt: skip


def test_what_is_no_secret() -> None:
    """Short values, words, numbers, paths, and variables that are not named like secrets blank nothing out."""
    for name, value in NO_SECRETS:
        assert list(secrets(name, value)) == [], name


SECRETS = [
    ("openai_api_key", "sk-1234567", "sk-1234567"), ("DEBATE_KEY_A", "k-12", "k-12"),
    ("DEBATE_KEY_A_B", "sk-1234567", "sk-1234567"),
    ("GITHUB_PAT", "ghp_12345678", "ghp_12345678"), ("DEBATE_KEY_A", "gate-key-1", "gate-key-1"),
    ("OPENAI_API_KEY", "correcthorsebatterystaple", "correcthorsebatterystaple"),
    ("DB_PASSWD", "vT4!kq9#Zp2&mX7w", "vT4!kq9#Zp2&mX7w"), ("DB_PWD", "7f1e2a3b4c5d4e7f", "7f1e2a3b4c5d4e7f"),
    ("AWS_SECRET_ACCESS_KEY", "/wJalrXUtnFEMIK7MDENGbPxRfiCY", "/wJalrXUtnFEMIK7MDENGbPxRfiCY"),
    ("A_KEYS", "sk-1234567,sk-7654321", "sk-7654321"), ("A_TOKEN", "Bearer sk-1234567", "sk-1234567"),
    ("PEM_KEY", "-----BEGIN A KEY-----\nMIIEvQ9b8A7zLk2xT5w\n", "MIIEvQ9b8A7zLk2xT5w"),
    ("ANTHROPIC_CUSTOM_HEADERS", "x-gateway: gate-123\ny: 1", "gate-123"),
    ("DATABASE_URL", "postgres://me:pass-word@db/x", "pass-word"), ("A_PROXY", "http://u:p4ssword@p", "p4ssword"),
    ("GIT_REMOTE", "https://ghp_12345678@git.example", "ghp_12345678"),
    ("HTTPS_PROXY", "http://tok3nUs3r-a1B2c3D4e5:@proxy:8", "tok3nUs3r-a1B2c3D4e5"),
    ("OPENAI_BASE_URL", "https://ghp_12345678:x@host/v1", "ghp_12345678"),
    ("OPENAI_BASE_URL", "https://sk%2D1234567:x-oauth@host", "sk-1234567"),
    ("ALL_PROXY", "sk-1234567:x@proxy:8", "sk-1234567"),
]  # fmt: skip


def test_what_is_a_secret() -> None:
    """Keys for models, values of headers and passwords in addresses are secrets."""
    for name, value, secret in SECRETS:
        assert secret in set(secrets(name, value)), name


@pytest.mark.slow
@many
@given(
    st.lists(
        st.sampled_from(["A word. ", KEY, KEY[:9], "é", quote(KEY), "s", "sk-", KEY[:9] + "\n" + KEY[9:]]), max_size=6
    ),
    st.data(),
)
def test_pieces(parts: list[str], data: st.DataObject) -> None:
    """However a text is cut into pieces, what is told of them is the text, redacted, and at no time a key."""
    text = "".join(parts)
    heard: list[str] = []
    pieces = StreamRedactor(heard.append)
    while text:
        size = data.draw(st.integers(1, len(text)))
        pieces.take(text[:size])
        text = text[size:]
    pieces.end()

    whole = "".join(heard)
    expected = redact("".join(parts))
    assert whole in (expected, Redactor(spellings(KEY)).cut(expected))
    assert KEY[:12] not in whole


def test_pieces_do_not_wait_for_ordinary_text() -> None:
    """What can be no part of a key is told at once, and each piece is told of, even if nothing of it is sure."""
    heard: list[str] = []
    pieces = StreamRedactor(heard.append)
    for piece in ("", "It is so", "; sk-A", "nd so on"):
        pieces.take(piece)
    assert heard == ["", "It is so", "; ", "sk-And so on"]


def test_half_a_key() -> None:
    """A text that breaks off within a key loses what there is of it, and keeps a beginning that many words have."""
    cut = Redactor(["sk-ant-0123456789"]).cut

    assert cut("It is sk-ant-0123") == "It is [key]"
    assert cut("It is sk-ant") == "It is sk-ant"
    assert cut("sk-ant-0123456789 is it") == "[key] is it"


@pytest.mark.parametrize("key", ["a b-1 c d e f g", "pass phrase of mine 1", "a-b-c-1234567890-d-e-f"])
def test_white_space(key: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A secret with spaces in it is found as it stands and without them; a long one also where a line is wrapped."""
    monkeypatch.setenv("DEBATE_KEY_A", key)

    assert redact(f"<{key}> <{''.join(key.split())}>") == "<[key]> <[key]>"
    if len("".join(key.split())) >= 16:
        wrapped = "\n".join(key[at : at + 7] for at in range(0, len(key), 7))
        assert redact(f"<{wrapped}>") == "<[key]>"


def test_many_secrets_in_one_piece() -> None:
    """A long piece full of secrets is looked through as a whole, and not again from each of them."""
    redactor = Redactor(form for n in range(5) for form in spellings(f"sk-0123-abcd-456{n}"))
    text = "it is sk-0123-abcd-4560, " * 1_000
    with redaction() as work:
        sure, left = redactor.split(text)

    assert sure + redactor.cut(left) == redactor(text)
    assert 0 < sum(work.searched) <= 8 * len(text)


def test_a_secret_that_is_learned_while_pieces_come(monkeypatch: pytest.MonkeyPatch) -> None:
    """A token that becomes known after the first piece is held back and taken out of those that follow."""
    monkeypatch.setattr("debate_orchestrator.util.redact._learned", set())
    heard: list[str] = []
    pieces = StreamRedactor(heard.append)
    pieces.take("It is: ")
    add_secret("oat-from-a-profile-1")
    for one in "oat-from-a-profile-1, as they say.":
        pieces.take(one)
    pieces.end()

    assert "".join(heard) == "It is: [key], as they say."


@pytest.mark.parametrize("unit", ["%20", "\\u200b", "&nbsp;"])
def test_escapes_of_nothing_cost_no_more_than_their_length(unit: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Escapes of white space after the first letters of a key hide it, and are read a few times however many come."""
    key = "sk-proj-Ab3dEf6hIj9lMn2pQr5tUv8x"
    monkeypatch.setenv("OPENAI_API_KEY", key)
    pieces = ["s", *[unit] * 320, *key[1:], " end"]

    with redaction() as work:
        assert streamed(*pieces) == "[key] end"
    length = len("".join(pieces))
    assert sum(work.searched) <= 30 * length and sum(work.read) <= 100 * length


@pytest.mark.slow
@pytest.mark.parametrize("unit", ["%5c", "%5cx5c", "\\x5c", "&#92;u005c", "&#92;u005c<a "])
def test_escapes_that_come_one_character_at_a_time(unit: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is held back of repeated escapes is searched again only when it has grown: the characters that are read
    for each that comes stay few."""
    monkeypatch.setenv("OPENAI_API_KEY", "sk-proj-Ab3dEf6hIj9lMn2pQr5tUv8x")
    text = (unit * 4_000)[:4_000]

    with redaction() as work:
        assert streamed(*text) == text
    assert sum(work.searched) <= 20 * len(text)
    assert len(work.read) <= 10 * len(text) and sum(work.read) <= 400 * len(text)


@pytest.mark.parametrize("before", ["\\", "%", "&", "C:\\"])
@pytest.mark.parametrize(
    "key",
    [
        "n3wP@ss/9x#Q7-zz",
        "t/7kQ9+x25zZ-b4Lm",
        "u002bfE9/x25kQzz7",
        "x41b7/Zk+Lw3Rt9Px",
        "053/Zk+Lw3Rt9PxV1",
        "lt;9/Zk+Lw3Rt9PxV",
    ],
)
def test_an_escape_that_takes_the_beginning_of_a_key(key: str, before: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A character before an escaped key that makes an escape of its first letters hides no more than these."""
    monkeypatch.setenv("DEBATE_KEY_MINE", key)
    for text in ("".join(f"\\u{ord(one):04x}" if one in "/@#+" else one for one in key), quote(key, safe="")):
        shown: list[str] = []
        stream = StreamRedactor(shown.append)
        for piece in f"{before}{text} end":
            stream.take(piece)
        stream.end()
        for made in (redact(f"{before}{text} end"), "".join(shown)):
            assert "[key]" in made and len(made) <= len(f"{before}[key] end") + 5


def test_the_environment_is_looked_through_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """A line is redacted without looking for secrets in every variable again; one that changes is found at once."""
    for number in range(200):
        monkeypatch.setenv(f"SOME_{number}_TOKEN", f"https://me:Ab3dEf6hIj9lMn2p{number}@example.org")
    redact("x")

    assert calls(lambda: redact("x")) < 2 * calls(lambda: list(os.environ.items()))
    monkeypatch.setenv("SOME_7_TOKEN", "sk-another-Ab3dEf6hIj9l")
    assert redact("it is sk-another-Ab3dEf6hIj9l") == "it is [key]"


def test_a_brief_that_was_changed_is_redacted_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """A brief without secrets is not looked through twice. A copy of it with a secret is."""
    monkeypatch.setenv("OPENAI_API_KEY", "tr0ub4dor-and-3-more")
    first = Brief(turn="1.opening.a", system="said: xkcd-936-horse", messages=(), wants="text").redacted()
    assert first.redacted() is first
    assert first.model_copy(update={"system": "it is tr0ub4dor-and-3-more"}).redacted().system == "it is [key]"

    monkeypatch.setenv("OPENAI_API_KEY", "xkcd-936-horse")
    assert first.redacted().system == "said: [key]"


@pytest.mark.slow
@pytest.mark.parametrize("piece", [" " * 10_000, "\u200b" * 10_000, "\n \u200b" * 3_000])
def test_what_cannot_be_seen_takes_no_memory(piece: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of white space and hidden characters without end little is held, and a key with them in it is found."""
    key = "sk-proj-Ab3dEf6hIj9lMn2pQr5tUv8x"
    monkeypatch.setenv("OPENAI_API_KEY", key)
    shown: list[str] = []
    stream = StreamRedactor(shown.append)
    stream.take(f"so: {key[:20]}")
    tracemalloc.start()
    try:
        for _ in range(2_500_000 // sys.getsizeof(piece)):
            stream.take(piece[:1] + piece[1:])  # a text of its own, which takes memory if it is held
        assert tracemalloc.get_traced_memory()[0] < 1_000_000
    finally:
        tracemalloc.stop()
    stream.take(f"{key[20:]} end")
    stream.end()

    assert "".join(shown) == "so: [key] end"


@pytest.mark.parametrize("step", ["spans", "begun"])
def test_a_text_that_cannot_be_searched_is_hidden(step: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the search for keys fails, by a mistake in the program, the text is hidden, and that it failed is known."""

    def fail(*terms: object) -> None:
        raise IndexError

    monkeypatch.setattr(f"debate_orchestrator.util.decoding.Search.{step}", fail)
    monkeypatch.setattr("debate_orchestrator.util.redact._failures", [])
    redactor = Redactor(["q9ZtLw3Rx"])

    assert redactor.cut("so it is") == "[key]"
    assert redactor.split("so it is")[0] in ("", "[key]")
    assert step == "begun" or redactor("so it is") == redactor.without_fragments("so it is") == "[key]"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("debate_orchestrator.util.redact.redactor", lambda: redactor)
        assert streamed("so ", "it is").replace("[key]", "") == ""
    assert redaction_failure() == "IndexError"


@pytest.mark.parametrize("answered", [False, True])
def test_a_failed_search_ends_the_run(answered: bool, debate: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where a brief or a reply can't be searched, it is hidden, no seat is asked again, and one sentence says whose
    mistake it is and what is saved."""
    search, asked = decoding.Search.spans, list[str]()

    def fail(self: decoding.Search, text: str) -> Iterator[tuple[int, int]]:
        if "It is so." in text if answered else len(text) > 300:
            raise IndexError
        return search(self, text)

    async def reply(self: object, brief: Brief, on_text: object) -> Reply:
        asked.append(brief.turn)
        return Reply(text="It is so.", brief_digest=brief.digest, by="rehearse")

    monkeypatch.setattr("debate_orchestrator.util.redact._failures", [])
    monkeypatch.setattr("debate_orchestrator.providers.rehearse.Rehearsal.reply", reply)
    monkeypatch.setattr(decoding.Search, "spans", fail)
    ran = debate("run", "Motion one holds.", "--rehearse", "--format", "adversarial", "--no-issues", "--no-brief",
                 "--position-a", "It does.", "--position-b", "It does not.", "--rounds", "1")  # fmt: skip

    assert ran.code == 4 and len(set(asked)) == len(asked) and bool(asked) == answered
    assert ran.err.count("The search for keys in a text failed (IndexError), by a mistake in this program") == 1
    assert "What came before is saved. Try: report it" in ran.err and "It is so." not in ran.out + ran.err
