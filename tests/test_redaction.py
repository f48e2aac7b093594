"""Secrets are found in text in each of their forms, and ordinary text is left as it is."""

from __future__ import annotations

import asyncio
import base64
import html
import json
import random
import re
import string
import unicodedata
from base64 import b64encode, urlsafe_b64encode
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any
from unittest.mock import Mock
from urllib.parse import quote, quote_plus, unquote

import pytest
from conftest import Run, stream_text
from core.folding import many
from corpus import for_each
from counting import calls
from debates import opened_event
from hypothesis import given
from hypothesis import strategies as st
from speakers import Speaker

from debate_orchestrator.core.events import CallFailed, Event, QuestionAsked, Spoke, StructuredReplyGiven
from debate_orchestrator.core.fold import fold
from debate_orchestrator.core.reply import Reply
from debate_orchestrator.prompting.briefs import Brief, Message
from debate_orchestrator.providers.call_errors import excerpt
from debate_orchestrator.providers.provider import OnPiece, call_provider
from debate_orchestrator.storage.journal import JournalWriter, read
from debate_orchestrator.util import yaml
from debate_orchestrator.util.errors import TransientError
from debate_orchestrator.util.redact import Redactor, StreamRedactor, redact, redact_json, redact_yaml, secrets
from debate_orchestrator.util.sanitize import sanitize
from debate_orchestrator.web.live import StreamedReply

KEY = 'sk-Ab "0/1+2\\3 é=&zQ7'


@pytest.fixture(autouse=True)
def one_key(monkeypatch: pytest.MonkeyPatch) -> None:
    """One variable of the environment holds the key, with a line break after it."""
    monkeypatch.setenv("DEBATE_KEY_MINE", f"{KEY}\n")


FORMS = [
    KEY, "".join(KEY.split()), json.dumps(KEY), json.dumps(KEY, ensure_ascii=False),
    quote(KEY), quote(KEY, safe=""), quote_plus(KEY), re.sub("%..", lambda escape: escape[0].lower(), quote(KEY)),
    KEY.encode().hex(), KEY.encode().hex().upper(),
    *(base64.b64encode(f"{user}{KEY}".encode()).decode() for user in ("", "u:", "me:", "you:")),
    *(base64.urlsafe_b64encode(f"{user}{KEY}".encode()).decode() for user in ("", "u:", "me:", "you:")),
    json.dumps(KEY).replace("/", "\\/"), json.dumps(json.dumps(KEY)), quote(quote(KEY)),
    "".join(f"%{byte:02X}" for byte in KEY.encode()), "".join(f"\\u{ord(char):04x}" for char in KEY),
    re.sub(r"([^\w\s])", r"\\\1", KEY), html.escape(KEY), "".join(f"&#{ord(char)};" for char in KEY),
    quote(KEY, safe="!*'()"), (" " * 12).join("".join(KEY.split())),
    f"sk-Ab\u200b{KEY[5:]}", "\n".join("".join(KEY.split())), f"{KEY[:9]}\n  {KEY[9:]}",
]  # fmt: skip


def test_every_form() -> None:
    """A key is taken out as it stands, escaped, percent-encoded, in hexadecimal, and wherever it is in base64; also
    where it comes one character at a time."""
    for form in FORMS:
        for made in (redact(f"before {form} after"), stream_text(*f"before {form} after")):
            assert made.startswith("before ") and made.endswith(" after") and "[key]" in made, form
            left = made.removeprefix("before ").removesuffix(" after").replace("[key]", "")
            assert len(left) <= 30 and "0/1+2" not in left, form


BEHIND_AN_ESCAPE = [
    ("deadbeef0123456789cafe42", "%{}"), ("deadbeef0123456789cafe42", r"\u00{}"), ("deadbeef0123456789cafe42", r"\x{}"),
    ("deadbeef0123456789cafe42", "&#x{}"), ("nvapi-AbCdEf0123456789xyzQ", r"\{}"), ("40d84f0123456789cafe42", "%4{}"),
]  # fmt: skip


@for_each(BEHIND_AN_ESCAPE, "key", "text")
def test_an_escape_before_a_key_takes_no_letter_of_it(monkeypatch: pytest.MonkeyPatch, key: str, text: str) -> None:
    """What only looks like an escape may end within the key, of which any characters are escaped; in a stream too."""
    monkeypatch.setenv("DEBATE_KEY_MINE", key)
    ways = (str, lambda char: f"%{ord(char):02x}", lambda char: f"\\x{ord(char):02X}", lambda char: f"&#{ord(char)};")
    chance = random.Random(key)
    for _ in range(40):
        written = "".join(chance.choice(ways)(char) for char in key)
        for made in (redact(f"so {text.format(written)} is"), stream_text(*f"so {text.format(written)} is")):
            assert "[key]" in made and len(made) < 20, written


LIKE_ESCAPES = [
    "p*ssw/ord@12345xY", "a`b\"c9876543210", "S3cr~~t<Pa$$w0rd>", "x%41y/z-0123456789", "x%2541y&z-0123456789",
    'q7&amp;w9"0123456789', "k\U0001f600y/p\u00e9ss*1234567", r"back\nslash/\x41-0123456",
]  # fmt: skip
ENCODERS: dict[str, Callable[[str], str]] = {
    "as it is": str, "JSON": json.dumps, "JSON in JSON": lambda key: json.dumps(json.dumps(key)), "HTML": html.escape,
    "an address": quote, "a whole address": partial(quote, safe=""), "a script's address": partial(quote, safe="!*'()"),
    "an address in an address": lambda key: quote(quote(key)), "HTML of JSON": lambda key: html.escape(json.dumps(key)),
    "entities": lambda key: "".join(f"&#{ord(char)}" for char in key) + " ", "repr": repr,
    "markdown": lambda key: re.sub(r"([!-/:-@[-`{-~])", r"\\\1", key),
    "bold letters": lambda key: f"{key[:9]}**{key[9:]}",
    "a hidden character": lambda key: json.dumps(f"{key[:9]}\U000e0100{key[9:]}"),
    "a hard break": lambda key: f"{key[:12]}\\\n{key[12:]}",
    "a percent-encoded end": lambda key: key[:9] + quote(key[9:]),
}  # fmt: skip


@for_each(ENCODERS, "encoder")
def test_keys_that_look_like_escapes(encoder: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A key with signs that escapes and emphasis are made of is taken out whole whichever of them were escaped, also
    where it comes one character at a time."""
    for key in LIKE_ESCAPES:
        monkeypatch.setenv("DEBATE_KEY_MINE", key)
        text = f"before {ENCODERS[encoder](key)} after"
        for redacted in (redact(text), stream_text(*text)):
            assert re.fullmatch(r"before (\W|quot)*\[key](\W|quot)* after", redacted), (key, text, redacted)


@pytest.mark.parametrize("gap", [" " * 3_000, "\u200b" * 3_000, "*" * 40, "\n" * 30_000])
def test_a_gap_within_a_key(gap: str) -> None:
    """However much that is not searched is within a key, no half of it is passed on."""
    heard: list[str] = []
    stream = StreamRedactor(heard.append)
    for piece in ("It is ", KEY[:9], *re.findall("(?s).{1,500}", gap), KEY[9:], " indeed."):
        stream.feed(piece)
    stream.end()
    assert "".join(heard) == redact(f"It is {KEY[:9]}{gap}{KEY[9:]} indeed.") == "It is [key] indeed."


IN_BASE64 = b64encode(KEY.encode()).decode()[: len(KEY.encode()) * 8 // 6]
"""What of it depends on the key alone."""


def test_nothing_that_is_replaced_for_a_reader_hides_a_key() -> None:
    """What `sanitize` changes or puts in place of something is passed over within a key, and so is all that is no
    character to read: controls, private ones, and those that Unicode does not assign."""
    planes = [*range(0x11_000), *range(0xE_0000, 0xE_1100), *range(0xF_FF00, 0x10_0100), *range(0x10_FF00, 0x11_0000)]
    shown = {char: sanitize(f"a{char}b")[1:-1] for char in map(chr, planes)}
    changed = {char for char in shown if shown[char] != char} - {"\u00ad"}
    hiding = changed | {shown[char] for char in changed} | {"\ufffc", "\u2800", "\u00ad"}
    hiding |= {char for char in shown if unicodedata.category(char)[0] == "C"}
    for key in (KEY, IN_BASE64, KEY.encode().hex()):
        assert redact(f"It is {key[:9]}{''.join(sorted(hiding))}{key[9:]} indeed.") == "It is [key] indeed."
    for char in ("\x00", "\x7f", "\x81", "\ufffe", "\ufffd", "\ufffc", "\u2800", "\ue000", "\b"):
        for hidden in (char, json.dumps(char)[1:-1], quote(char), f"&#{ord(char)};"):
            text = f"It is sk-Ab{hidden}{KEY[5:]} indeed."
            assert redact(text) == stream_text(*text) == "It is [key] indeed.", ascii(hidden)


@pytest.mark.parametrize("zeros", [1, 28, 29, 40, 5_000])
def test_zeros_before_the_number_of_a_character(zeros: int) -> None:
    """For any number of them in an escape of HTML, a key is found in each of its forms, in a stream too."""
    for form in (KEY, KEY.encode().hex(), IN_BASE64):
        for number in (f"#{'0' * zeros}{ord(form[9])};", f"#x{'0' * zeros}{ord(form[9]):X};"):
            for sign in ("&", "&amp;"):
                begin, end = f"It is {form[:9]}{sign}{number[:-2]}", f"{number[-2:]}{form[10:]} indeed."
                assert redact(begin + end) == stream_text(begin, end) == "It is [key] indeed.", (form, sign)


@for_each(["", "&#", "&#x", "&#0"])
def test_a_key_that_begins_with_zeros(begin: str) -> None:
    """They are the key's own, also where they look like those of an escape."""
    assert "c2d1e4" not in Redactor(["00a7f3c2d1e4b5a6"])(f"{begin}00a7f3c2d1e4b5a6")


def test_an_escape_is_read_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """However often it is in a text with a key, so that a long text of escapes takes little time."""
    unescape = Mock(wraps=html.unescape)
    monkeypatch.setattr(html, "unescape", unescape)
    escapes = "&plusmn;" * 5_000
    assert redact(f"{escapes}{KEY}{escapes}") == f"{escapes}[key]{escapes}"
    assert unescape.call_count <= 1


def test_json_stays_json(monkeypatch: pytest.MonkeyPatch) -> None:
    """The escape of a line break before most of a key is none; a key in a text or in a name is taken out."""
    monkeypatch.setenv("NVIDIA_API_KEY", "nvapi-Ab3dE5gH7jK9mN1p")
    value = {"text": "this is\nvapi-Ab3dE5gH7jK9mN1p, and nvapi-Ab3dE5gH7jK9mN1p"}

    assert json.loads(redact_json(json.dumps(value))) == {"text": "this is\nvapi-Ab3dE5gH7jK9mN1p, and [key]"}
    assert json.loads(redact_json('{"nvapi-Ab3dE5gH7jK9mN1p": 1}')) == {"[key]": 1}


NO_SECRETS = [
    ("OPENAI_API_KEY", "none"), ("OLLAMA_API_KEY", "ollama"), ("OPENAI_API_KEY", "not-needed"),
    ("A_KEY", "k-12345"), ("A_KEY", "true"), ("A_SECRET", "strategy"), ("DB_PASSWORD", "Disabled"),
    ("MAX_TOKENS", "100000000000"), ("SORT_KEY", "2026-01-02-10:11"), ("A_KEY", "--------------"),
    ("GOOGLE_APPLICATION_CREDENTIALS", "/home/me/.config/gcloud/key-2026.json"), ("A_KEY", "~/keys/id_25519"),
    ("A_KEY", "prod-db-main.eu-west-1"), ("A_TOKEN", "gpt-4o-mini-2024-07-18"), ("A_TOKEN", "claude-opus-5"),
    ("A_SECRET", "projects/my-project-123456/secrets/db/versions/12"), ("A_KEY", "https://sso.example/oauth2/v2.0"),
    ("TOKEN_FILE", "ghp_0123456789abcdefgh"), ("KEY_BINDINGS", "ctrl4a5b6c7d"), ("PWD", "7f1e2a3b4c5d4e7f8091"),
    ("REDIS_URL", "redis://default:password@cache-1:6379"), ("GIT_REMOTE", "ssh://deploy-user-1@git.example/x"),
    ("A_KEY", ""), ("A_KEY", " \n"), ("A_PASSWORD", "ask me at the meeting at 10"), ("KEY_ID", "AKIA0123456789AB"),
    ("A_TOKEN", "GitHub-macOS-OAuth2"), ("SORT_KEY", "2026-01-02T03:04:05Z"), ("TOKEN_LIMIT_POLICY", "max_tokens=4096"),
    ("CONNECTION", "Endpoint=sb://bus-1.example/;SharedAccessKeyName=RootManage;Signature=Researcher2026b"),
]  # fmt: skip


def test_what_is_no_secret(tmp_path: Path) -> None:
    """Short values, words, names, numbers, paths, and variables that are not named like keys blank nothing out."""
    (tmp_path / "9aZ0bY1cX8wV7uT6").touch()
    for name, value in (*NO_SECRETS, ("A_KEY", f"{tmp_path}/9aZ0bY1cX8wV7uT6")):
        assert list(secrets(name, value)) == [], name


SECRETS = [
    ("openai_api_key", "sk-1234567Ab9xQ", "sk-1234567Ab9xQ"), ("DEBATE_KEY_A_B", "sk-12345", "sk-12345"),
    ("OPENAI_API_KEY", "correcthorsebatterystaple", "correcthorsebatterystaple"),
    ("OPENAI_API_KEY", "Bearer sk-1234567", "sk-1234567"), ("GITHUB_PAT", "ghp_1a2b3c4d5e6f", "ghp_1a2b3c4d5e6f"),
    ("DB_PASSWD", "vT4!kq9#Zp2&mX7w", "vT4!kq9#Zp2&mX7w"), ("DB_PWD", "7f1e2a3b4c5d4e7f", "7f1e2a3b4c5d4e7f"),
    ("A_KEYS", "9x1q2w3e4r5t6y,1q9w8e7r6t5y", "1q9w8e7r6t5y"), ("DEPLOY_TOKEN_2", "1q9w8e7r6t5y", "1q9w8e7r6t5y"),
    ("PEM_KEY", "-----BEGIN A KEY-----\nMIIEvQ9b8A7zLk2xT5w\n", "MIIEvQ9b8A7zLk2xT5w"),
    ("GOOGLE_CREDENTIALS", '{"private_key": "-----BEGIN KEY-----\\nMIIEvQ9b8A7zLk2xT5w\\n-----END KEY-----\\n"}',
     "MIIEvQ9b8A7zLk2xT5w"),
    ("ANTHROPIC_CUSTOM_HEADERS", "x-gateway: gate-123\ny: 1", "gate-123"),
    ("DATABASE_URL", "postgres://me:pass-word-1@db/x", "pass-word-1"), ("A_PROXY", "http://u:p4ssword@p", "p4ssword"),
    ("GIT_REMOTE", "https://ghp_1a2b3c4d5e6f@git.example", "ghp_1a2b3c4d5e6f"),
    *((name, key, key) for name, key in (
        ("AWS_SECRET_ACCESS_KEY", "/FvafhdZ3xQm+7LpT9wK1sYb/Rc5Vn2Hj8Gd4U"), ("A_TOKEN", "glpat-ZtWE-yFlcDWg_Wlo_VU5"),
        *((name, "7f1e2a3b4c5d4e7f8091") for name in ("A_BEARER_TOKEN_BEDROCK", "SECRET_KEY_BASE", "APITOKEN_V2_PROD")),
    )),
    ("STORAGE", "Name=me;Pwd={Xk9-p;4rTW2y};Encrypt=True;", "Xk9-p;4rTW2y"),
    *(("STORAGE", f"Name=me;{field.replace('SAID', 'Xk9%2Bp4rTW2y')};A=b", "Xk9%2Bp4rTW2y") for field in (
        "AccountKey=SAID", "Password=a, SAID", "password = 'SAID'", "AccessSignature=sv=21&sig=SAID")),
    ("DATABASE_URL", "postgres://me:p%40ss%2Dword@host", "p@ss-word"), ("ALL_PROXY", "u:p4ssword@proxy:8", "p4ssword"),
]  # fmt: skip


def test_what_is_a_secret() -> None:
    """Keys for models, values of headers, passwords in addresses and values that look like keys are secrets."""
    for name, value, secret in SECRETS:
        assert secret in set(secrets(name, value)), name


def drawn(alphabet: str, size: int, prefix: str = "") -> str:
    """A key of so many characters, the same in every run."""
    return prefix + "".join(random.Random(f"{alphabet}{size}{prefix}").choices(alphabet, k=size))


BASE62, BYTES = string.ascii_letters + string.digits, random.Random(7).randbytes(32)
KEYS = [
    drawn(BASE62 + "-_", 95, "sk-ant-api03-"), drawn(BASE62, 48, "sk-proj-"), drawn(BASE62, 36, "ghp_"),
    "xoxb-" + drawn(string.digits, 12) + drawn(BASE62, 24), drawn(string.ascii_letters, 34, "hf_"),
    drawn(BASE62, 35, "AIza"), "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.c2lnbmF0dXJl", BYTES.hex(),
    "7f1e2a3b-4c5d-4e7f-8091-a2b3c4d5e6f7", b64encode(BYTES).decode(), urlsafe_b64encode(BYTES).decode().rstrip("="),
    drawn(BASE62, 20), drawn(string.ascii_letters, 32), "JBSWY3DPEHPK3PXP", "vT4!kq9#Zp2&mX7w",
]  # fmt: skip


@for_each(["APP_KEY", "myToken", "CLIENT_SECRET", "GITHUB_PAT", "PGPASSWORD"], "name")
def test_real_keys_stay_out(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A key of every form that services give out is taken out of text."""
    for key in KEYS:
        monkeypatch.setenv(name, key)
        assert redact(f"It is {key} indeed.") == "It is [key] indeed.", key


@many
@given(
    st.lists(
        st.sampled_from(["A word. ", KEY, KEY[:9], "é", quote(KEY), "s", "sk-", KEY[:9] + "\n" + KEY[9:]]), max_size=6
    ),
    st.data(),
)
def test_pieces(parts: list[str], data: st.DataObject) -> None:
    """However a text is cut into pieces, what is told of them is the text, redacted, and at no time a key."""
    text, pieces = "".join(parts), list[str]()
    while text:
        size = data.draw(st.integers(1, len(text)))
        pieces.append(text[:size])
        text = text[size:]

    assert stream_text(*pieces) == Redactor([KEY])("".join(parts))


@for_each(["", "*", " ", "\u200b", "a", "&#8203;", "%"], "filler")
def test_what_is_told_of_pieces_says_nothing_of_a_key(filler: str) -> None:
    """Each piece is told of, some words late. What is told, and the work for it, are the same whether the end of a text
    begins a key or not."""
    told, costs = dict[str, list[int]](), dict[str, int]()
    for begin in ("sk-AQ", KEY[:5], "sk-AQ", "sk-A#"):  # what is looked for is made once
        heard = list[str]()
        stream = StreamRedactor(heard.append)

        def feed(stream: StreamRedactor = stream, begin: str = begin) -> None:
            for piece in ("", "So it is, say all. " * 30, begin, *[filler] * 500, " and so on" * 30):
                stream.feed(piece)

        costs[begin], told[begin] = calls(feed), [*map(len, heard)]
    right = KEY[:5]
    for guess in ("sk-AQ", "sk-A#"):
        assert told[guess] == told[right] and abs(costs[guess] - costs[right]) < costs[right] / 50
    assert len(told[right]) == 504 and 250 < sum(told[right][:2]) < 570


@for_each(
    [
        ("Пароль2024-2025", "2024-2025"),
        ("2024-2025ключи", "2024-2025"),
        ("\udcff\udcfe2024-2025\udcfd", "2024-2025"),  # bytes that are no UTF-8
        ("2024*2025~~~~", "20242025"),
        ("%D0%B0password1%D0%B0", "password1"),
    ]
)
def test_a_part_of_a_secret_is_an_ordinary_text(secret: str, honest: str) -> None:
    """A word or a number is no secret where it is left of one without the characters that are not read."""
    redacted = Redactor(secrets("DB_PASSWORD", secret))

    assert redacted(f"In {honest} it grew.") == f"In {honest} it grew."
    quoted = secret.encode("utf-8", "surrogateescape")
    assert redacted(f"It is {quoted.decode('latin-1')}.") == redacted(f"It is {quoted.hex()}.") == "It is [key]."
    assert secret not in redacted(f"It is {secret}.") or not secret.isprintable()


@pytest.mark.parametrize("key", ["abПароль-é😀2024", "cdschlüssel∳2024"])
@pytest.mark.parametrize(
    "escaped",
    [
        quote,
        lambda char: "".join(rf"\x{byte:02X}" for byte in char.encode()),
        lambda char: json.dumps(char)[1:-1],
        lambda char: rf"\U{ord(char):08x}",
        lambda char: f"&#{ord(char)};",
        lambda char: f"&#x{ord(char):X};",
    ],
)
def test_a_key_of_other_letters_after_what_looks_like_an_escape(key: str, escaped: Callable[[str], str]) -> None:
    """It is found whichever of its characters is escaped."""
    redacted = Redactor([key])
    for place in range(2, len(key)):
        text = f"%{key[:place]}{escaped(key[place])}{key[place + 1 :]}"
        assert redacted(text) == "%[key]", text


PUBLIC = ["sk-ant-api03-" + "aB3dE5gH" * 12, "sk-proj-" + "aB3dE5gH" * 19, "eyJhbGciOiJIUzI1NiJ9." + "aB3dE5gH" * 9]


@pytest.mark.parametrize("key", PUBLIC)
@pytest.mark.parametrize("ended", ["whole", "cut"])
def test_the_public_beginning_of_a_key(key: str, ended: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """A reply that quotes how all keys of a vendor begin is passed on to its end, whatever signs of escapes are in it,
    and also if it is cut off."""
    monkeypatch.setenv("DEBATE_KEY_MINE", key)
    said = f"Half (50%) say that A&B\\C begins with {key[:8]}, as all know. And more was said."

    class Speaking(Speaker):
        async def reply(self, brief: Brief, on_text: OnPiece) -> Reply:
            for piece in said:
                on_text(piece)
            return Reply(text=said, brief_digest=brief.digest, spec="toy", ended=ended)

    asked = Brief(turn_id="1.opening.a", system="", messages=(Message(role="user", parts=("Speak.",)),), wants="text")
    heard: list[str] = []
    reply = asyncio.run(call_provider(Speaking(), asked, heard.append))
    assert reply.text == "".join(heard) == said


@pytest.mark.parametrize("length", [1, 8, 16])
def test_a_part_of_a_key_stays(length: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """A key is taken out whole or not at all, at the end of a reply too: those who write it and read it again would see
    which parts of a key they know."""
    monkeypatch.setenv("DEBATE_KEY_MINE", "sk-ant-0123456789")

    text = f"It is {'sk-ant-0123456789'[:length]}"
    assert stream_text(text) == redact(text) == excerpt(text) == text


def test_an_error_that_quotes_a_key(monkeypatch: pytest.MonkeyPatch) -> None:
    """What failed outside may quote it, in a provider that redacts nothing too."""
    monkeypatch.setenv("DEBATE_KEY_MINE", "sk-ant-0123456789")

    error = TransientError("It refused sk-ant-0123456789.", hint="another than sk-ant-0123456789")
    assert str(error) == "It refused [key]. Try: another than [key]." == error.problems[0]


def test_a_debate_about_ordinary_words(debate: Run, here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A whole debate about the words of the environment runs, and its journal and report have them as they were."""
    for name, value in NO_SECRETS:
        if name not in ("PWD", "OPENAI_API_KEY", "OLLAMA_API_KEY"):
            monkeypatch.setenv(name, value)
    Path("a.yaml").write_text("positions: {a: Move eu-west-1., b: Stay on us-latin1.}\nrounds: 1\noutput: r.md\n")
    topic = "Should prod-db-main.eu-west-1 move to Postgres?"
    ran = debate("run", "--answers=a.yaml", "--rehearse", f"--topic={topic}")

    files = [path for path in here.rglob("r.*") if path.is_file()]
    assert ran.code == 0, ran.err
    assert "[key]" not in ran.out + ran.err + "".join(map(Path.read_text, files))
    assert any(topic in path.read_text(encoding="utf-8") for path in files if path.suffix == ".md")


def test_structure_is_never_redacted(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A key that is spelled like a turn's id, a seat or a cast changes these nowhere in a journal."""
    reply = Reply(text="Not 1.opening.a!", brief_digest="0" * 64, spec="judge-1of2", model="judge-1of2", by_call=True)
    events: list[Event] = [
        opened_event(topic="Is 1.opening.a safe?", cast={"a": ("host",), "b": ("host",), "judge": ("judge-1of2",)}),
        Spoke(turn_id="1.opening.a", reply=reply),
        StructuredReplyGiven(turn_id="1.verdict.judge-1", data={"judge-1of2": "It is 1.opening.a."}, reply=reply),
        CallFailed(turn_id="1.opening.a", spec="judge-1of2", problem="1.opening.a: no", reply=reply),
        QuestionAsked(question="Why 1.opening.a?", to=("judge-1of2",)),
    ]  # fmt: skip
    monkeypatch.setenv("DEBATE_KEY_A", "1.opening.a")
    monkeypatch.setenv("DEBATE_KEY_B", "judge-1of2")
    with JournalWriter.create("j.jsonl", events[0]) as journal:  # type: ignore[arg-type]
        for event in events[1:]:
            journal.append(event)
    opened, spoke, voted, failed, raised = (one.model_dump() for one in read("j.jsonl").events)

    assert (opened["settings"]["topic"], opened["settings"]["cast"]["judge"]) == ("Is [key] safe?", ("judge-1of2",))
    assert (spoke["turn_id"], voted["turn_id"], raised["to"]) == ("1.opening.a", "1.verdict.judge-1", ("judge-1of2",))
    assert {"text": "Not [key]!", "spec": "judge-1of2", "model": "[key]"}.items() <= spoke["reply"].items()
    assert voted["data"] == {"judge-1of2": "It is [key]."}
    assert (failed["turn_id"], failed["problem"]) == ("1.opening.a", "[key]: no")
    assert raised["question"] == "Why [key]?"


def test_a_key_that_private_reasoning_parts_is_not_shown_in_a_browser() -> None:
    """It becomes whole only when the reasoning is left out, so its beginning is held back until that is known."""
    debate = fold([opened_event()])
    reply, shown = StreamedReply(debate, debate.due[0]), list[str]()
    parted = f"So: {KEY[:10]}<|start_thinking|>hm\n<|end_thinking|>\n{KEY[10:]}"
    for char in f"{parted} it is, and so on for as many words as a page shows {'late, ' * 40}.":
        reply.pieces.append(char)
        reply.take()
        shown.append(reply.shown)

    assert not any(KEY[:5] in text for text in shown)
    assert shown[-1] == "So: "


def test_a_very_long_secret_is_found_in_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    """A secret of many pages, such as a token with a whole configuration, is taken out whole, as it is and encoded."""
    secret = "".join(f"{number:05x}" for number in range(1_000_000, 1_005_000))
    monkeypatch.setenv("LONG_TOKEN", secret)
    for text in (secret, *(base64.b64encode(before + secret.encode()).decode() for before in (b"", b"x", b"xy"))):
        left = redact(f"before {text} after")
        assert left.startswith("before ") and left.endswith(" after")
        assert max(map(len, left[7:-6].split("[key]"))) <= 3  # characters of base64 that two parts of it share


def test_a_long_key_that_is_encoded_is_found_decoded(monkeypatch: pytest.MonkeyPatch) -> None:
    """Wherever it is parted for the search."""
    for begin in range(1_990, 2_001):
        key = f"{drawn(BASE62, begin)}%2B{drawn(BASE62, 2_100)}"
        monkeypatch.setenv("SAML_TOKEN", key)
        assert re.fullmatch(r"It is (\[key\])+ indeed.", redact(f"It is {unquote(key)} indeed.")), begin


def test_a_key_of_which_a_piece_ends_in_an_escape(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also with escapes within escapes, up to as many as are looked for in a whole text."""
    monkeypatch.setenv("DEBATE_KEY_MINE", KEYS[0])
    for depth in range(1, 5):
        written = "".join(f"%{ord(char):02X}" for char in KEYS[0])
        for _ in range(depth - 1):
            written = quote(written)
        for cut in range(1, len(written), 7):
            assert stream_text("So it is. ", written[:cut], f"{written[cut:]} indeed.") == "So it is. [key] indeed."


@pytest.mark.parametrize("key", ["****************1234", "aB``````````````9x4", r"k7\\\\\\\\\\\\9x!q2"])
def test_a_masked_key_takes_no_time(key: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Characters that markdown leaves out are in the key itself, and many more of them in a text."""
    monkeypatch.setenv("DEBATE_KEY_MINE", key)
    text = f"Is R&D worth it? {(key[:8] + key[5] * 60) * 20} /"
    assert redact(text) == stream_text(*text) == text


def test_an_apostrophe_that_yaml_doubles(monkeypatch: pytest.MonkeyPatch) -> None:
    """A key with an apostrophe is found in YAML too, where single quotes double it."""
    monkeypatch.setenv("DB_PASSWORD", "Tr0ub4'dor9x3Kq#7")
    text = yaml.dump({"topic": "Is it true: it is Tr0ub4'dor9x3Kq#7 now?"})
    assert "''" in text and yaml.load(redact_yaml(text)) == {"topic": "Is it true: it is [key] now?"}


def test_what_follows_a_key_is_not_passed_on_before_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    """However long a key is, a stream knows it by its first characters, and goes on when it is whole."""
    key = drawn(BASE62, 5_000, f"{drawn(BASE62, 47)}%3D")
    monkeypatch.setenv("DEBATE_KEY_MINE", key)
    in_hex, as_entities = lambda key: key.encode().hex(), lambda key: "".join(f"&#{ord(char)};" for char in key)
    for write in (str, quote, unquote, in_hex, as_entities):
        heard = list[str]()
        stream = StreamRedactor(heard.append)
        for piece in re.findall("(?s).{1,40}", f"{'So it is. ' * 60}{write(key)} {'It is so. ' * 60}"):
            stream.feed(piece)
        assert "".join(heard) == "So it is. " * 60
        stream.end()
        assert re.fullmatch(r"(So it is\. ){60}(\[key\])+ (It is so\. ){60}", "".join(heard))
