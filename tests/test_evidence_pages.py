"""A page's bytes become the text that a visitor would read, in a process that can do nothing else."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from corpus import for_each
from evidence_site import ARTICLE, run
from hypothesis import given
from hypothesis import strategies as st

from debate_orchestrator.evidence import Unreadable, check, pages
from debate_orchestrator.evidence.check import read_page
from debate_orchestrator.evidence.fetch import FetchedPage
from debate_orchestrator.evidence.pages import Page, decode, html_page, plain

PAGE = FetchedPage("http://page.example.org/", "html", "utf-8", ARTICLE.encode())
QUOTE = "The sea rose by 3.4 millimetres a year between 1993 and 2023"
SAID = {"state": "verified", "similarity": 1.0, "passage": "", "why": "so", "title": "", "date": "", "text": "t"}


@pytest.fixture
def stand_in(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Puts a program of the test's in place of the reader."""

    def put(code: str) -> None:
        program = tmp_path / "stand_in"
        program.write_text(f"#!{sys.executable}\nimport os, sys, time\n{code}\n", encoding="utf-8")
        program.chmod(0o755)
        monkeypatch.setattr(sys, "executable", str(program))

    return put


def test_a_reader_is_given_nothing_of_the_environment(stand_in: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """No key, no proxy and no home of the user who runs a debate is told to a reader."""
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-secret")
    said = json.dumps(SAID | {"text": "ENV"}).replace('"ENV"', "' + json.dumps(' '.join(os.environ)) + '")
    stand_in(f"import json; sys.stdin.read(); print('{said}')")
    known = set(run(read_page(PAGE, QUOTE)).text.split())

    assert known - {"LC_CTYPE", "__CF_USER_TEXT_ENCODING"} == {"PYTHONPATH", "PYTHONUTF8"}


def test_the_working_directory_is_not_believed(here: Path) -> None:
    """A module that lies in the working directory is not run in place of the reader."""
    for name in ("debate_orchestrator", "json", "rapidfuzz"):
        (here / f"{name}.py").write_text("raise SystemExit('run')", encoding="utf-8")

    assert run(read_page(PAGE, QUOTE)).state == "verified"


@pytest.mark.parametrize(
    "code",
    [
        "os.kill(os.getpid(), 9)",
        "sys.stdin.read(); raise MemoryError",
    ],
)
def test_a_reader_that_breaks_is_reported(stand_in: Any, code: str) -> None:
    """A reader that ends badly leaves the page unread, whether it has taken it or not."""
    stand_in(code)
    with pytest.raises(Unreadable, match="too large for the page reader"):
        run(read_page(PAGE._replace(body=b"x" * 4_000_000), QUOTE))


@pytest.mark.parametrize(
    "said",
    [
        "", "[]", json.dumps(SAID | {"state": "blocked"}), json.dumps(SAID | {"similarity": 2.0}),
        json.dumps(SAID | {"more": "x"}), json.dumps(SAID).replace("1.0", "NaN"),
    ],
)  # fmt: skip
def test_a_reader_that_makes_no_sense_is_not_believed(stand_in: Any, said: str) -> None:
    """What a reader says is looked at before it is believed."""
    stand_in(f"sys.stdin.read(); print({said!r})")
    with pytest.raises(Unreadable, match="an invalid result"):
        run(read_page(PAGE, QUOTE))


def test_what_a_reader_says_is_made_safe(stand_in: Any) -> None:
    """Lines that a reader says are single lines of bounded length, with nothing in them that moves a cursor."""
    said = json.dumps(SAID | {"title": "a\n\x1b[1mb" + "x" * 5_000, "why": "c\nd", "passage": "e\nf" + "y" * 50_000})
    stand_in(f"sys.stdin.read(); print({said!r})")
    found = run(read_page(PAGE, QUOTE))

    assert found.title.startswith("a ␛[1mb") and len(found.title) == 1_000
    assert found.why == "c d" and found.passage.startswith("e f") and len(found.passage) == 20_000


def test_a_reader_that_never_ends_is_ended(stand_in: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A reader that takes too long is ended, and its page unread."""
    monkeypatch.setattr(check, "MAX_READING_SECONDS", 1.0)
    stand_in(f"open({str(tmp_path / 'pid')!r}, 'w').write(str(os.getpid())); time.sleep(600)")
    with pytest.raises(Unreadable, match=r"could not be read within 1 s"):
        run(read_page(PAGE, QUOTE))

    assert gone(tmp_path / "pid")


def test_a_reader_ends_when_it_is_called_off(stand_in: Any, tmp_path: Path) -> None:
    """When a check is cancelled, its reader does not live on."""
    stand_in(f"open({str(tmp_path / 'pid')!r}, 'w').write(str(os.getpid())); time.sleep(60)")

    async def called_off() -> None:
        task = asyncio.create_task(read_page(PAGE, QUOTE))
        while not (tmp_path / "pid").exists() or not (tmp_path / "pid").read_text():
            assert not task.done(), "it has not begun"
            await asyncio.sleep(0.02)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    run(called_off())
    assert gone(tmp_path / "pid")


def gone(path: Path) -> bool:
    try:
        os.kill(int(path.read_text(encoding="utf-8")), 0)
    except ProcessLookupError:
        return True
    return False


def shut(code: str, where: Path) -> subprocess.CompletedProcess[str]:
    """What becomes of `code` in a process that is shut like a reader."""
    lines = [
        "import os, socket, subprocess, pathlib, resource",
        "from debate_orchestrator.util import confine as confinement",
    ]
    lines += ["from debate_orchestrator.evidence import reader_process as reader"]
    program = "\n".join([*lines, "confinement.confine(reader.MEMORY, cpu=reader.CPU, may_read_files=True)", code])
    command = [sys.executable, "-c", program]
    return subprocess.run(command, capture_output=True, check=False, text=True, cwd=where, timeout=60)


FORBIDDEN = (
    "socket.create_connection(('127.0.0.1', 9))",
    "socket.getaddrinfo('example.com', 80)",
    "os.execv('/bin/true', ['true'])",
    "os.posix_spawn('/bin/true', ['true'], {})",
    "open('made', 'w')",
    "open('here', 'a')",
    "os.open('made', os.O_CREAT | os.O_WRONLY)",
    "os.rename('here', 'there')",
)


def test_a_reader_can_do_nothing(tmp_path: Path) -> None:
    """Once it is shut, a process reaches no network, starts no other, and writes and moves no file, though it may read
    files. What else it can't do is shown of the process that renders templates."""
    (tmp_path / "here").write_text("as it was", encoding="utf-8")
    trial = """
for code in CODES:
    try:
        exec(code)
    except PermissionError as error:
        print("is not allowed" in str(error), code)
"""
    ran = shut(f"CODES = {FORBIDDEN!r}{trial}", tmp_path)

    assert ran.returncode == 0, ran.stderr
    assert ran.stdout.splitlines() == [f"True {code}" for code in FORBIDDEN]
    assert [(path.name, path.read_text(encoding="utf-8")) for path in tmp_path.iterdir()] == [("here", "as it was")]


@pytest.mark.skipif(sys.platform != "linux", reason="other systems do not hold a process to its memory")
def test_a_reader_has_little_memory(tmp_path: Path) -> None:
    """A process that is shut can't take all the memory there is."""
    ran = shut("bytearray(3_000_000_000)", tmp_path)

    assert ran.returncode == 1 and "MemoryError" in ran.stderr


def read(html: str) -> Page:
    return html_page(html.encode(), "utf-8")


def visible(html: str) -> str:
    return read(html).text


def test_a_page_is_read() -> None:
    """Title, date and text are made out."""
    page = read(ARTICLE)

    assert (page.title, page.date) == ("Rising water", "2024-03-05")
    assert "The sea rose by 3.4 millimetres a year" in page.text
    assert "“a wall is not an answer” — it is" in page.text


ENCODINGS = [
    ("größer".encode(), "utf-8", "größer"), ("größer".encode(), "", "größer"),
    ("größer".encode("latin-1"), "iso-8859-1", "größer"), ("größer".encode("latin-1"), "", "größer"),
    ("“größer”".encode("cp1252"), "iso-8859-1", "“größer”"),
    ("\ufeffgrößer".encode(), "iso-8859-1", "größer"), ("größer".encode("utf-16"), "utf-8", "größer"),
    ("川".encode("shift_jis"), "Shift_JIS", "川"), (b"gr\xff\xfe", "utf-8", "gr\ufffd\ufffd"),
    ("größer".encode(), "no-such-thing", "größer"), ("größer".encode(), "unicode_escape", "größer"),
    ("größer".encode(), "punycode", "größer"), (b"+AGE-", "utf-7", "+AGE-"), (b"6161", "hex", "6161"),
    ("川①".encode("cp932"), "Windows-31J", "川①"), ("川①".encode("cp932"), "x-sjis", "川①"),
    ("שלום".encode("iso8859-8"), "iso-8859-8-i", "שלום"), ("река".encode("mac-cyrillic"), "x-mac-cyrillic", "река"),
    ("朱镕基".encode("gbk"), "gb2312", "朱镕基"), ("똠방".encode("cp949"), "ks_c_5601-1987", "똠방"),
    ("𠮷".encode("gb18030"), "gbk", "𠮷"), ("“ağaç”".encode("cp1254"), "iso-8859-9", "“ağaç”"),
    ("ไทย".encode("cp874"), "windows-874", "ไทย"),
]  # fmt: skip
DECLARED = [
    ('<meta charset="koi8-r">', "koi8-r"), ("<!--><meta/charset=koi8-r>", "koi8-r"), ("<meta charset=utf-16>", "utf-8"),
    ("<META HTTP-EQUIV=Content-Type CONTENT='x; charset=koi8-r'>", "koi8-r"), (f"<!--{'-' * 2_048}-->", "utf-8"),
    ("<meta charset=x-unknown><meta charset=koi8-r><meta charset=utf-8>", "koi8-r"),
    *((f"{before}<meta charset=windows-1251>", "cp1251") for before in (
        "<!-- <meta charset=koi8-r> -->", "<title><meta charset=koi8-r></title>",
        "<meta name=description content='we use charset=koi8-r here'>", "<p title='<meta charset=koi8-r>'>",
        "<script>var a = '<meta charset=koi8-r>'</script>", """<meta content='A meta charset="koi8-r" in HTML'>""",
    )),
]  # fmt: skip


def test_encodings() -> None:
    """The encoding is that of its byte order mark, its server, its own word or its looks; odd ones are not believed."""
    for body, charset, text in ENCODINGS:
        assert decode(body, charset) == text, body
    for head, encoding in DECLARED:
        assert html_page(head.encode() + "река".encode(encoding), "").text == "река", head
    assert html_page("<meta charset=x-user-defined>größer".encode("cp1252"), "").text == "größer"
    assert plain("<meta charset=koi8-r> größer".encode(), "").text == "<meta charset=koi8-r> größer"


@for_each(
    [
        ('<meta name="date" content="2021-12-24">', "2021-12-24"),
        ('<meta property="article:published_time" content="2021-12-24T08:00:00+01:00">', "2021-12-24"),
        ('<time itemprop="datePublished" datetime="2021-12-24T08:00">', "2021-12-24"),
        (
            '<script type="application/ld+json">{"@type":"NewsArticle","datePublished":"2021-12-24"}</script>',
            "2021-12-24",
        ),
        ('<meta name="date" content="tomorrow">', ""),
        ("", ""),
    ]
)
def test_the_date_is_the_page_s_own(meta: str, date: str) -> None:
    """A date is what the page gives as the day of its publication, not any that it mentions."""
    body = "<p>It was on the fifth of the month that they came, as was said, to nobody's surprise at all.</p>" * 9
    page = read(f"<html><head><title>x</title>{meta}</head><body><article>{body}</article></body></html>")

    assert page.date == date


def test_a_title_is_one_safe_line() -> None:
    """A title is shown on one line, without anything that moves a cursor, and not too long."""
    page = read(f"<title>one\n\x1b]0;two\x07 \u202ethree {'x' * 900}</title><p>{'text and more text. ' * 50}</p>")

    assert page.title.startswith("one ") and "two" in page.title and "three xxx" in page.title
    assert page.title.isprintable() and len(page.title) <= 300


def test_deep_nesting_is_no_harm() -> None:
    """A page nested too deep says so; it is not read in part."""
    for tag in ("div", "b", "sup"):
        with pytest.raises(Unreadable, match="nested too deep"):
            visible(f"<p>{QUOTE}</p>" + f"<{tag}>" * 100_000 + "here")
        deep = PAGE._replace(body=(f"<{tag}>" * 100_000).encode())
        with pytest.raises(Unreadable, match="nested too deep"):
            run(read_page(deep, QUOTE))
        assert "here" in visible(f"<p>excessive depth<{tag} depth=<depth>" + f"<{tag}>" * 150 + "here")


@given(
    st.one_of(st.binary(max_size=400), st.text(max_size=400).map(lambda text: f"<p>{text}".encode("utf-8", "replace")))
)
def test_any_bytes_are_a_page(body: bytes) -> None:
    """Whatever comes is read as a page, and what is read is safe to show."""
    page = html_page(body, "")
    assert not set(page.text + page.title) & set(map(chr, [*range(9), *range(14, 32), 0x7F, 0x202E]))
    assert plain(body, "utf-16").title == ""
    assert len(pages.decode(body, "")) <= len(body)


SEEN = [
    ("<p>one</p>two<br>three", "one\ntwo\nthree"),
    ("a <b>b</b>old <i>way</i>", "a bold way"),
    ("not <i hidden>this</i>that", "not that"),
    ("not <i style=' DISPLAY : None '>this</i>that", "not that"),
    ("not <i style='visibility:hidden'>this</i>that", "not that"),
    ("still <i style='overflow:hidden;--x-display:none'>this</i>", "still this"),
    ("<script>x</script><style>x</style><template>x</template><noscript>x</noscript>y", "y"),
    ("he <del>never</del><s>did</s> it", "he [struck: never][struck: did] it"),
    ("a <img src=x> b <img alt=''> c <svg><text>d</text></svg>", "a [image] b c [image]"),
    ("a <input> b <input type=hidden> c <iframe>d</iframe>", "a [field] b c [object]"),
    ("a <meter>b</meter> <progress>c</progress> <i popover>d</i>e", "a [field] [field] e"),
    ("5 <math><mi>x</mi><mn>2</mn></math>", "5 [formula]"),
    ("10<sup>2</sup> and <b>10</b><sub>2</sub>", "10^2 and 10\u02c52"),
    ("n<sup>k</sup>, n<sub>k</sub>, x<sup>n+1</sup>, x<sup>n</sup>+1", "n^k, n\u02c5k, x^n+1^, x^n+1"),
    ("so<sup>[1]</sup> it is.<sup>2</sup> <a>10<sup>2</sup></a>", "so[1] it is.[2] 10^2"),
    ("CO<sub>2</sub>, m<sup>2</sup>, 1<sup>st</sup>", "CO2, m^2, 1st"),
    ('10<i style="vertical-align: text-top">6</i>, 10<i style="position:relative;top:-.5em">6</i>', "10^6, 10^6"),
    ("10<sup>2</sup><b>3</b>, <svg type=hidden></svg>", "10^2^3, [image]"),
    ('so. <p style="text-decoration: line-through">It is safe.</p>', "so.\n[struck: It is safe.]"),
    ("in 2019<sup><a href=#n>1</a></sup>. <sup>1</sup>5 million", "in 2019[1]. 1 5 million"),
    ("<table><tr><td>5<td>300</table>", "5\n\n300"),
    ("$5.<sup>99</sup> or 1,<sup>5</sup>", "$5.^99 or 1,^5"),
    ("10<sup><a href='/wiki/Exp'>6</a></sup>, so<sup><a href='/p#6'>6</a></sup>", "10^6, so[note 6]"),
    ("un<x-y>safe</x-y> <x-y>for</x-y><p>all", "unsafe\nfor\nall"),
    ("un<output>safe</output>, risk<x-y>-</x-y><x-y>free</x-y>", "unsafe, risk-free"),
    ("10<i style='top:-.5em;/* x: */POSITION:Relative'>6</i>", "10^6"),
    ("10<i style='transform:translateY(-1em)'>6</i>, not&#x3164;able", "10^6, not able"),
    ("a <i style='visibility: Hidden ! important; visibility: visible'>this</i>", "a"),
    ("a<dialog>b</dialog><dialog open>c</dialog>", "a\nc"),
    ("a<datalist><option>b</datalist><noframes>c</noframes><svg></svg><title>d</title>", "a[image]"),
    ("It was un&shy;<br>safe", "It was un-\nsafe"),
    ("<pre>one\ntwo\n\nthree 25\n300\tfour</pre>", "one two\nthree 25\n\n300\n\nfour"),
    ("<pre>an <b>RFC\n\n1. begins</b>\n2. ends</pre> a\n\tb", "an RFC\n1. begins\n2. ends\na b"),
]  # fmt: skip


@for_each(SEEN)
def test_what_is_seen_is_the_text(case: tuple[str, str]) -> None:
    """Blocks break lines, what is hidden is left out, what is not read or struck out leaves a mark, and raised figures
    are kept apart."""
    html, text = case
    assert visible(f"<body>{html}</body>") == text
