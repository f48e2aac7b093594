"""A secret is found in text whatever its characters are written as, and whatever that can't be seen is between them."""

from __future__ import annotations

import base64
import html
import json
from itertools import pairwise
from pathlib import Path
from urllib.parse import quote

import pytest
from conftest import Run, streamed
from core.folding import many
from debates import opened_event
from hypothesis import given
from hypothesis import strategies as st

from debate_orchestrator.cli import output
from debate_orchestrator.core.events import Spoke
from debate_orchestrator.core.fold import fold
from debate_orchestrator.core.private_text import without_private
from debate_orchestrator.core.reply import Reply
from debate_orchestrator.providers import servers
from debate_orchestrator.storage.journal import JournalWriter
from debate_orchestrator.terminal.speeches import SpeechView
from debate_orchestrator.util.redact import StreamRedactor, redact, secrets
from debate_orchestrator.util.sanitize import one_line, sanitize

KEY = "q7/Zk+Lw3/Rt9PxV1&mBc5+Jd8HsY2aT4="
HIDDEN = ["\u200b", "\u00ad", "\ufeff", "\u200d", "\u2060", "\U000e0041", "\u00ad\u200c", "", "", ""]
ESCAPES = [
    lambda one: one,
    lambda one: f"\\u{ord(one):04x}",
    lambda one: f"\\\\u{ord(one):04X}",
    lambda one: f"\\u{{{ord(one):x}}}",
    lambda one: f"\\x{ord(one):02x}",
    lambda one: f"%{ord(one):02X}",
    lambda one: f"%25{ord(one):02x}",
    lambda one: f"%5Cu{ord(one):04x}",
    lambda one: f"&#{ord(one)};",
    lambda one: f"&#x{ord(one):X};",
    lambda one: f"&amp;#x{ord(one):x};",
    lambda one: f"\\{one}" if not one.isalnum() else one,
    lambda one: f"\\\\\\{one}" if not one.isalnum() else one,
]


@pytest.fixture(autouse=True)
def one_key(monkeypatch: pytest.MonkeyPatch) -> None:
    """One variable of the environment holds the key."""
    monkeypatch.setenv("DEBATE_KEY_MINE", KEY)


def test_a_plain_key_beside_a_hidden_one() -> None:
    """A key that stands once as it is and once with a hidden character in it is taken out both times."""
    for between in filter(None, HIDDEN):
        assert redact(f"{KEY} or {KEY[:9]}{between}{KEY[9:]}?") == "[key] or [key]?"


@pytest.mark.parametrize("at", [1, 9, len(KEY) - 1])
def test_a_hidden_character_in_a_stream(at: int) -> None:
    """A key with a hidden character in it is held back by the filter of a stream, in one piece or in several."""
    for pieces in ((f"{KEY[:at]}\u200b{KEY[at:]}",), (KEY[:at], "\u200b", KEY[at:]), (f"{KEY[:at]}\u200b", KEY[at:])):
        assert streamed("It is ", *pieces, ".") == "It is [key]."


@pytest.mark.parametrize("size", range(4, 41))
def test_a_key_of_several_words(size: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """A key with spaces in it is found whatever its length, as it stands, on several lines, and in a stream."""
    key = "red fox 7 jumps up over 9 dogs, and more so."[: size - 1] + "Z"
    monkeypatch.setenv("DEBATE_KEY_MINE", key)

    assert redact(f"<{key}> <{key.replace(' ', chr(10))}>") == "<[key]> <[key]>"
    assert streamed("<", *key, ">") == "<[key]>"


ENCODED = {
    "PHP": KEY.replace("/", "\\/"),
    "twice PHP": json.dumps(KEY.replace("/", "\\/"))[1:-1],
    ".NET": KEY.replace("+", "\\u002B"),
    "Go": KEY.replace("&", "\\u0026"),
    "HTML": KEY.replace("+", "&#43;").replace("=", "&#61;").replace("/", "&#x2F;"),
    "named HTML": KEY.replace("&", "&amp;").replace("+", "&plus;").replace("/", "&sol;").replace("=", "&equals;"),
    "percent": "".join(f"%{ord(one):02X}" for one in KEY),
    "percent in part": KEY.replace("7", "%37").replace("Z", "%5a"),
    "percent twice": quote(quote(KEY, safe="")),
    "hexadecimal escapes": "".join(f"\\x{ord(one):02x}" for one in KEY),
    "JSON in percent": quote("".join(f"\\u{ord(one):04x}" for one in KEY)),
    "percent in HTML": html.escape(quote(KEY, safe="")).replace("%", "&percnt;"),
    "octal": "".join(f"\\{ord(one):03o}" for one in KEY),
    "short octal": "".join(f"\\{ord(one):o}" for one in KEY),
    "octal of a shell": "".join(f"\\0{ord(one):03o}" for one in KEY),
    "Perl": "".join(f"\\x{{{ord(one):x}}}" for one in KEY),
    "padded braces": "".join(f"\\u{{{ord(one):08x}}}" for one in KEY),
    "padded HTML": "".join(f"&#{ord(one):09d};" for one in KEY),
    "padded hexadecimal HTML": "".join(f"&#x{ord(one):08X};" for one in KEY),
    "CSS": "".join(f"\\{ord(one):x} " for one in KEY),
    "PHP's base64": base64.b64encode(f"user:{KEY}>>>???".encode()).decode().replace("/", "\\/"),
    "base64 in percent": quote(base64.b64encode(KEY.encode()).decode(), safe=""),
}


def test_escapes() -> None:
    """A key is found in the escapes of any language, in a whole text and in a stream, character by character."""
    for said in ENCODED.values():
        for made in (redact(f"It is ({said})."), streamed(*f"It is ({said}).")):
            assert made.startswith("It is (") and made.endswith(").") and "[key]" in made, said
            assert len(made) < len("It is ([key]).") + 20, said


@pytest.mark.slow
@many
@given(
    st.lists(st.tuples(st.sampled_from(ESCAPES), st.sampled_from(HIDDEN)), min_size=len(KEY), max_size=len(KEY)),
    st.sets(st.integers(0, len(KEY) * 10)),
    st.sampled_from(["", " ", "It is ", "100% of it: ", "R&D: ", "C:\\dir: ", f"{KEY} ", "a \\", "\u200b"]),
)
def test_any_mixture(written: list[tuple], cuts: set[int], before: str) -> None:  # type: ignore[type-arg]
    """A key is left out whatever each of its characters is written as."""
    text = "".join(f"{escape(one)}{between}" for one, (escape, between) in zip(KEY, written, strict=True))
    whole = f"{before}{text} it was."
    places = [0, *sorted(at for at in cuts if 0 < at < len(whole)), len(whole)]
    heard = streamed(*(whole[a:b] for a, b in pairwise(places)))

    assert sanitize(heard) == sanitize(redact(whole))
    shown = sanitize(heard).removeprefix(sanitize(before.replace(KEY, "[key]")).rstrip("\\"))
    assert shown.removeprefix("\\") in ("[key] it was.", "[key]= it was.")


@many
@given(
    st.lists(
        st.sampled_from([*"abcqQ7 /%&\\#u04;\n+=é\u200b你", "%41", "&amp;", "\\n", "\\u0041", "100% "]), max_size=80
    ),
    st.integers(1, 9),
)
def test_ordinary_text_is_left_alone(parts: list[str], size: int) -> None:
    """Text without a key comes through as it is, its escapes and hidden characters too, whole and in pieces."""
    text = "".join(parts)
    assert redact(text) == text
    assert streamed(*(text[at : at + size] for at in range(0, len(text), size))) == text


def test_no_waiting_without_need() -> None:
    """A piece of ordinary text is told at once, but for an escape at its end that is not complete."""
    heard: list[str] = []
    pieces = StreamRedactor(heard.append)
    for piece in ("It is 50", "% of R", "&D.", " \\", "n so"):
        pieces.take(piece)
    assert heard == ["It is 50", "% of R", "&D.", " ", "\\n so"]


@pytest.mark.parametrize("key", [f"\ufeff{KEY}", f"{KEY}\u200b", f"{KEY[:5]}\u200b{KEY[5:]}"])
def test_a_key_pasted_with_a_hidden_character(key: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A key that was pasted with a hidden character is found with it and without it."""
    monkeypatch.setenv("DEBATE_KEY_MINE", key)

    assert sanitize(redact(f"{key} {KEY}")) == "[key] [key]"
    assert servers.key("DEBATE_KEY_MINE") == KEY


ADDRESSES = [
    ("http://me:p%40ssW0rd-123%21zz@127.0.0.1:8981", ["p@ssW0rd-123!zz", "p%40ssW0rd-123%21zz"]),
    ("http://me:p%2fssW0rd-123@h", ["p/ssW0rd-123"]),
    ("http://me:pa/ss@W0rd-123@h:1/x", ["pa/ss@W0rd-123"]),
    ("http://me:pa:ss:W0rd-123@h", ["pa:ss:W0rd-123"]),
    ("http://a:first-pw-1@h,http://b:second-pw-2@h", ["first-pw-1", "second-pw-2"]),
    ("me:pass-w0rd-1@proxy:3128", ["pass-w0rd-1"]),
]


@pytest.mark.parametrize(("address", "passwords"), ADDRESSES)
def test_passwords_of_addresses(address: str, passwords: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """The password of an address is found as it is written there, decoded, and in the header that is made of it."""
    monkeypatch.setenv("HTTPS_PROXY", address)
    for password in passwords:
        header = base64.b64encode(f"me:{password}".encode()).decode()
        made = redact(f"login {password} (Basic {header}) refused")
        assert made.startswith("login [key] (Basic ") and made.endswith(") refused")
        assert "[key]" in made.partition("Basic")[2] and header[8:-4] not in made


@pytest.mark.parametrize(
    "value",
    ["https://host:8080/library/a@sha256-0123", "https://h/x?at=12:30-abcdefgh@zone", "http://[::1]:8080/path-1@x"],
)
def test_addresses_without_a_password(value: str) -> None:
    """A port, or what stands in the path of an address, is no password."""
    assert list(secrets("SITE_URL", value)) == []


def test_keys_in_the_address_of_a_server() -> None:
    """A key in the path or the query of the address of a server of models is a secret; the rest of it is none."""
    address = "https://gateway-01.example.org:8443/v1/team-a/{}/chat?version=2026-01-02&code={}"
    found = set(secrets("OPENAI_BASE_URL", address.format("9f86d081884c7d659a2feaa0c55ad015", "sk-one%2Btwo-3")))

    assert found == {"9f86d081884c7d659a2feaa0c55ad015", "sk-one%2Btwo-3", "sk-one+two-3"}
    assert set(secrets("SITE_URL", address.format("9f86d081884c7d659a2feaa0c55ad015", "sk-one%2Btwo-3"))) == set()


def test_secrets_in_headers() -> None:
    """Of a header of one's own a server may quote a cookie's value, or a password in plain that went encoded."""
    encoded = base64.b64encode(b"me:open-Sesame-1").decode()
    found = set(secrets("OPENAI_CUSTOM_HEADERS", f"Cookie: session=s3cr3t-1a\nAuthorization: Basic {encoded}"))

    assert {"s3cr3t-1a", "open-Sesame-1", encoded} <= found


def test_a_key_that_looks_like_a_path() -> None:
    """In a variable that holds nothing but a key, one that begins with a slash is a key."""
    assert "/k3/abcdef+1x" in set(secrets("OPENAI_API_KEY", "/k3/abcdef+1x"))


def test_a_flood_of_what_does_not_count() -> None:
    """White space without end within what may become a key is neither lost nor looked through again for each piece."""
    made = streamed(KEY[:9], *["      "] * 3000, "!")
    assert made == f"{KEY[:9]}{'      ' * 3000}!"


SPLIT = f"It is {KEY[:10]}\n<thinking>hm</thinking>\n{KEY[10:]}, as they say."


def test_private_working_within_a_key(here: Path) -> None:
    """A key that is whole once private working is left out of a reply is in no journal, whatever the tag of that."""
    tag = opened_event().format.private or "note"
    for name, said in (("known", SPLIT), ("own", SPLIT.replace("thinking", tag).replace("\n", ""))):
        opened = opened_event()
        rules = opened.format.model_copy(update={"private": tag})
        with JournalWriter.create(f"{name}.jsonl", opened.model_copy(update={"format": rules})) as journal:
            reply = Reply(text=f"First.\n\n{said}", brief_digest="0" * 64, by="host", called=False)
            kept = journal.append(Spoke(turn="1.opening.a", reply=reply)).event
        assert isinstance(kept, Spoke)
        assert KEY not in "".join(without_private(kept.reply.text, tag).split())
        assert "[key]" in kept.reply.text and "as they say." in kept.reply.text


def test_private_working_within_a_key_on_the_screen() -> None:
    """While a reply streams, a key with private working in it is not shown, and all around it is."""
    voice = SpeechView(fold([opened_event()]).due[0], "Opening", "", 0.0)
    voice.begin(0.0)
    shown = ""
    for piece in f"First.\n\n{SPLIT} And this is all that they say.":
        voice.hear(piece)
        shown = "".join(row.plain for row in voice.rows(60, 1000)[0])
        assert KEY[12:] not in "".join(shown.split())
    assert "[key]" in shown and "as they say." in shown and "all that they say" in shown


def test_the_rest_is_shown_when_a_stream_breaks_off() -> None:
    """What was held back of a stream is shown when it is left, but for the larger half of a key."""
    voice = SpeechView(fold([opened_event()]).due[0], "Opening", "", 0.0)
    voice.begin(0.0)
    voice.hear(f"It is {KEY[:6]}")
    voice.stop()
    assert f"It is {KEY[:6]}" in "".join(row.plain for row in voice.rows(60, 1000)[0])


def test_a_key_from_a_ballot_in_the_report(debate: Run, here: Path) -> None:
    """A judge who writes a key in escapes, once as it is and once with a hidden character, gets it into no file."""
    escaped = "".join(f"\\u{ord(one):04x}" for one in KEY)
    hidden = f"{escaped[:60]}\\u200b{escaped[60:]}"
    topic = f"Is {KEY} or {KEY[:9]}\u200b{KEY[9:]} safe?"
    Path("notes.md").write_text(f"A key: {KEY}, and again {KEY[:9]}\u200b{KEY[9:]}.", encoding="utf-8")
    ran = debate(
        "open", f"--topic={topic}", "--position-a=Yes.", "--position-b=No.", "--no-issues", "--no-brief",
        "--rounds=1", "--output=r.md",
        "--context=notes.md", "--a=host", "--b=host", "--judge=host", "--json",
    )  # fmt: skip
    assert ran.code == 0, ran.err
    assert json.loads(f'"{hidden}"') != KEY and sanitize(json.loads(f'"{hidden}"')) == KEY
    for reply in (f"It is {KEY} and {KEY[:9]}\u200b{KEY[9:]}.", f"It is {escaped} and {hidden}."):
        turn = ran.json["turns"][0]
        Path(turn["reply"]).write_text(reply + " And so on." * 9, encoding="utf-8")
        ran = debate("step", "r.journal.jsonl", "--json")
        assert ran.code == 0, ran.err
    taken = "".join(path.read_text("utf-8") for path in here.rglob("*") if path.suffix in (".jsonl", ".html"))
    taken += "".join(path.read_text("utf-8") for path in here.rglob("*.brief.md"))
    assert "[key]" in taken
    assert KEY not in sanitize(taken) and escaped[:90] not in taken


CONTROLS = [*map(chr, (*range(0x09), *range(0x0B, 0x0D), *range(0x0E, 0x20), *range(0x7F, 0x85), *range(0x86, 0xA0)))]
CONTROLS += ["\ud800", "\ufdd0", "\uffff", "\U0001ffff"]
"""All that is shown as a picture, and one of each kind that is shown as U+FFFD."""


@pytest.mark.parametrize("char", CONTROLS)
def test_a_key_with_controls_in_it_after_they_were_made_visible(char: str, capsys: pytest.CaptureFixture[str]) -> None:
    """What was sanitized before secrets are looked for hides no key: not in what the program says, nor where each of
    a key's characters is followed by a control, nor where that is escaped in JSON."""
    text = f"It is {KEY[:9]}{char}{KEY[9:]}."
    within = f"It is {char.join(KEY)}."

    for shown in (text, within):
        assert redact(sanitize(shown)) == redact(json.dumps(sanitize(shown))[1:-1]) == "It is [key]."
        assert redact(one_line(shown)) == "It is [key]."
    output.say(text)
    output.print_status(f"debate: {text}")
    output.print_problems([text])
    assert capsys.readouterr() == ("It is [key].\n", "debate: It is [key].\ndebate: It is [key].\n")
