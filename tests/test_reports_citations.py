"""What was cited and looked up, pages that a search found, and what judges share with those they judge, are
reported."""

from __future__ import annotations

import reading
from corpus import for_each
from debates import play_events
from hostile_texts import NASTY
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from scripted_debates import FETCHED, Cast, check, checks, events, label, report, section

from debate_orchestrator.core.events import EarlierDebate, Opened, Spoke, StructuredReplyGiven
from debate_orchestrator.core.fold import fold
from debate_orchestrator.core.reply import FoundPage
from debate_orchestrator.reports import citations
from debate_orchestrator.reports.citations import Citation, SourceRating, is_after
from debate_orchestrator.reports.citations import evidence as evidence_of
from debate_orchestrator.reports.conflicts import conflicts_of_interest
from debate_orchestrator.reports.html.writer import HtmlWriter
from debate_orchestrator.reports.markdown import MarkdownWriter
from debate_orchestrator.reports.rich_text import Span, address
from debate_orchestrator.reports.safe_markdown import link


def cited(script: object = None, **how: object) -> tuple[Citation, ...]:
    """What was cited in a debate over a claim."""
    found = evidence_of(fold(events("claim", script, **how)))  # type: ignore[arg-type]
    return found.citations if found else ()


def test_what_was_found_stands_by_what_was_cited() -> None:
    """Each cited page has its turn, its state, and what is known of the page."""
    found = check(
        "1.argument.a", "near match", title="T", date="2020-01-02", passage="p", similarity=0.9, why="close", digest="d"
    )
    one, other = cited({"1.check.clerk": checks(found)})

    assert (one.turn, one.url, one.state, one.title, one.date) == (
        "1.argument.a",
        "https://example.org/so",
        "near match",
        "T",
        "2020-01-02",
    )
    assert (one.passage, one.similarity, one.why, one.sha256, one.archived) == ("p", 0.9, "close", "d", "")
    assert (other.turn, other.state, other.why) == ("1.argument.b", "not looked up", "")


def test_judges_weigh_the_source() -> None:
    """What each judge last said of a source is beside it."""
    row = {"turn": "1.argument.a", "credibility": "low", "why": "a blog"}
    script = {
        "1.verdict.judge-1": label("supported", 9, sources=[row]),
        "final.verdict.judge-1": label("supported", 9, sources=[row | {"credibility": "medium"}]),
        "final.verdict.judge-2": label("supported", 9, sources=[row]),
    }
    one, *_ = cited(script, panel=2, rounds=2, each_round=True)

    assert one.ratings == (
        SourceRating(judge="judge-1", credibility="medium", why="a blog"),
        SourceRating(judge="judge-2", credibility="low", why="a blog"),
    )


DATES = [
    ("2020-01-01", "2019", True), ("2019-12-31", "2019", False), ("2020", "2019", True),
    ("2026-01", "July 2025", True), ("2025-08-01", "July 2025", False), ("2025-08", "2025-07", True),
    ("2025-07-05", "2025-07-04", True), ("2025-07", "2025-07-04", False), ("2025-07-05", "July 4", False),
    ("last week", "2019", False), ("", "2019", False),
]  # fmt: skip


def test_what_is_later_than_the_topic() -> None:
    """A page is late where its date is after the time that the topic names, as far as both are given in numbers."""
    for dated, as_of, after in DATES:
        assert is_after(dated, as_of) is after, dated


FOUND = check(
    "1.argument.a",
    "near match",
    title="A *page* | on it",
    date="2020-05-01",
    passage="So it was.",
    similarity=0.934,
    why="the closest passage is 93% alike",
    digest="0123456789abcdef",
    archived="0123.html.txt",
)
WEIGHED = {"turn": "1.argument.a", "credibility": "low", "why": "a blog"}


def test_a_row_for_each_page() -> None:
    """Turn, page, state, what was found, where it is kept, and what the judge thinks of it. In the transcript a clerk's
    turn tells each state and why, and marks what is later than the topic."""
    script = {"1.check.clerk": checks(FOUND), "final.verdict.judge": label("misleading", 4, sources=[WEIGHED])}
    whole = report("claim", script, cast=FETCHED, topic="As of 2019, it is so.")
    made = section(whole, "Evidence")

    assert reading.tables(made) == [
        [
            ["Turn", "Page", "Quote", "What was found", "Kept as", "How judges weigh the source"],
            [
                "round 1, argument A",
                "https://example.org/so",
                "near match",
                "title “A *page* | on it”; dated 2020-05-01 (later than 2019); "
                "the nearest passage (93.4% alike): “So it was.”; “the closest passage is 93% alike”",
                "0123.html.txt, sha256 0123456789ab",
                "Judge: low, “a blog”",
            ],
            ["round 1, argument B", "https://example.org/so", "not looked up", "", "", ""],
        ]
    ]
    assert made.endswith(
        "Verified: 0 of 2; pages were fetched by the engine.\n\n"
        "The topic binds both sides to what was known as of 2019."
    )
    assert reading.links_within(made) == ["argument--debater-a", "argument--debater-b"]
    assert (
        "#### Evidence Check — Round 1\n\n[CLERK - ROUND 1 - EVIDENCE CHECK]\n\n"
        "- [round 1, argument A](#argument--debater-a): near match; “the closest passage is 93% alike” "
        "(dated later than the topic)\n" in whole
    )


def page(n: int = 1, quote: str = "it is so") -> FoundPage:
    return FoundPage(url=f"https://example.org/{n}", title=f"Page {n}", quote=quote)


def cited_pages(found: list[FoundPage]) -> str:
    return MarkdownWriter(str).line(citations.cited_pages(found))


def links(text: str) -> list[str]:
    """The address of every link that a reader of markdown finds."""
    tokens = reading.every(MarkdownIt("gfm-like", {"linkify": False}).parse(text))
    return [str(token.attrs["href"]) for token in tokens if token.type == "link_open"]


def test_what_is_cited_is_reported() -> None:
    """Cited pages are linked with their titles and hosts; of the others only the number is reported."""
    assert cited_pages([page(1), page(2, quote=""), page(3), page(3), page(4, quote="")]) == (
        "Pages cited from a search: [“Page 1”](https://example.org/1) (example.org), "
        "[“Page 3”](https://example.org/3) (example.org); 2 more were found."
    )


NO_LINKS = [
    "javascript:alert(1)", "JavaScript:alert(1)", "data:text/html,x", "file:///etc/passwd", "//example.org",
    "https://", "https://user@example.org", "https://[::1", "https://example.org/\nx", "https://example.org/\u202ex",
    "https://example.org/" + "x" * 3000, "",
]  # fmt: skip


def test_other_addresses_are_no_links() -> None:
    """Only pages of the web are linked, without users, breaks or anything hidden in their address."""
    for url in NO_LINKS:
        assert links(link(url, "A page")) == [], url
        assert link(url, "A page") == "“A page”", url
        assert links(link(url, "")) == [], url


def test_a_title_cannot_claim_another_host() -> None:
    """After a title that names some other place stands the host that the link leads to, in ASCII, as it is in an
    address that is shown whole."""
    made = link("https://evil.example/x", "https://good.example](https://good.example")

    assert links(made) == ["https://evil.example/x"]
    assert made.endswith("(evil.example)")
    for typed, host in (
        ("github.com\u2215x.evil.example", "github.xn--comx-id9a.evil.example"),
        ("g\u0456thub.com", "xn--gthub-n2e.com"),
        ("\u24d4vil\u3002example", "evil.example"),
    ):
        assert link(f"https://{typed}/é", "GitHub") == f"[“GitHub”](https://{host}/%C3%A9) ({host})"
        (span,) = address(f"https://{typed}:80/é")
        assert span.text == f"https://{host}:80/é"
        cited_page = (Span("GitHub", "page_title", target=f"https://{typed}"),)
        assert HtmlWriter({}).line(cited_page).endswith(f"</a> ({host})")
    for too_long in ("\u0456" * 64, f"g\u0456thub.com:{'0' * 300}443", "\u0456\ufe0f\ufe0e" * 22, "g%D1%96thub.com"):
        (span,) = address(f"https://{too_long}/é")
        cited_page = (Span("GitHub", "page_title", target=f"https://{too_long}"),)
        assert span.text.removesuffix("/é").isascii()
        assert {link(f"https://{too_long}/é", "GitHub"), str(HtmlWriter({}).line(cited_page))} == {"“GitHub”"}


@given(title=st.one_of(st.sampled_from(NASTY), st.text()), url=st.one_of(st.sampled_from(NASTY), st.text()))
def test_nothing_is_forged(title: str, url: str) -> None:
    """Whatever titles and addresses hold, the sentence stays in its place and forges nothing."""
    made = cited_pages(
        [
            FoundPage(url=f"https://example.org/{url}", title=title, quote="x"),
            FoundPage(url=url, title=title, quote="x"),
        ]
    )

    assert reading.forged(made) == []
    assert reading.between(made) == reading.BETWEEN


OPUS, SONNET, GPT = "anthropic:claude-opus-5-5", "anthropic:claude-sonnet-5-5", "openai:gpt-6"


def cast(a: str, b: str, *judges: str) -> Cast:
    return {"a": (a,), "b": (b,), "judge": judges}


def warned(a: str, b: str, *judges: str) -> tuple[str, ...]:
    """What is said of a debate of these."""
    return conflicts_of_interest(fold(events("adversarial", cast=cast(a, b, *judges), panel=len(judges))))


def test_the_same_model_program_or_vendor() -> None:
    """A judge that is the model, or of the vendor, of a debater, or of both, is named with it; the one warning does not
    hide the other. A program is called one, and its arguments, which may hold anything, are not reported."""
    assert warned(OPUS, OPUS, OPUS) == tuple(f"Judge is the same model as Researcher {x}: “{OPUS}”." for x in "AB")
    one = "command:/opt/bin/ask --key secret"
    assert warned(one, GPT, one) == ("Judge is the same program as Researcher A: “command:ask”.",)
    assert warned(f"{one}2", one, one) == ("Judge is the same program as Researcher B: “command:ask (2)”.",)
    assert warned(SONNET, GPT, OPUS) == ("Judge is a model of the same vendor as Researcher A: “anthropic”.",)
    assert warned(OPUS, SONNET, OPUS) == (
        f"Judge is the same model as Researcher A: “{OPUS}”.",
        "Judge is a model of the same vendor as Researcher B: “anthropic”.",
    )
    assert warned(f"rehearse:{OPUS}", SONNET, f"rehearse:{OPUS}") == ()  # a stand-in is no model
    for model, judge, vendor in (
        ("openrouter:anthropic/claude-opus-5.5", OPUS, "anthropic"),
        ("ollama:gpt-oss:20b", "openrouter:openai/gpt-6", "openai"),
        ("openrouter:google/gemini-3-pro", "ollama:gemma3", "google"),
        ("openrouter:meta-llama/llama-3.3-70b", "ollama:hf.co/bartowski/Llama-3.2-3B-GGUF:Q4", "meta-llama"),
        ("ollama:library/mistral-nemo", "openrouter:mistralai/mistral-large", "mistralai"),
        ("ollama:qwen3:8b", "ollama:hf.co/unsloth/Qwen3-8B-GGUF", "qwen"),
        ("ollama:kimi-k2", "openrouter:moonshotai/kimi-k2", "moonshotai"),
        ("ollama:meta-llama-3", "openrouter:meta-llama/llama-4", "meta-llama"),
        ("ollama:gemini-3-pro-preview", "openrouter:google/gemini-3-pro", "google"),
        ("ollama:hermes3", "openrouter:nousresearch/hermes-4", "nousresearch"),
        ("ollama:library/qwen3", "ollama:library/llama3", None),
        ("ollama:gpt4all", "openai:gpt-6", None),
        ("ollama:meta-math", "ollama:llama3", None),
        ("ollama:hf.co/bartowski/Llama-3.2-3B-GGUF", "ollama:hf.co/bartowski/gemma-3", None),
    ):
        told = f"Judge is a model of the same vendor as Researcher A: “{vendor}”."
        assert warned(model, "anthropic:other" if vendor != "anthropic" else GPT, judge) == ((told,) if vendor else ())


@for_each(
    [
        ("ollama:llama3:8b", "llama3:8b", "ollama:llama3:70b", "llama3:70b", "of the same vendor", "meta-llama"),
        ("openai:x@http://one", r"C:\models\a.gguf", "openai:y@http://two", r"C:\models\b.gguf", "", ""),
        ("openai:x@http://one", "default_model", "openai:y@http://two", "default_model", "", ""),
        ("openai:x@http://one", "small.gguf", "openai:y@http://two", "small.gguf", "", ""),
        ("openai:x@http://one", "default_model", "openai:y@http://one", "default_model", "", ""),
        ("openai:x@http://s", "a.gguf", "openai:y@http://s", "a.gguf", "the same model", "openai:a.gguf@http://s"),
        ("openai:x@http://one", OPUS, OPUS, "claude-opus-5-5", "", ""),
        ("openai:x@http://one", "anthropic:x", OPUS, None, "", ""),
        ("openai:q@http://one", "Qwen/Q3", "openai:q@http://two", "Qwen/Q3", "the same model", "Qwen/Q3"),
        ("openai:gpt-6@https://api.openai.com/v1", "gpt-6-1", "openai:gpt-6", "gpt-6-1", "the same model", "gpt-6-1"),
        ("openai:latest", "gpt-6", "openai:gpt-6", "gpt-6", "the same model", GPT),
        ("openrouter:auto", "google/gemini-3", "ollama:gemma3", "gemma3", "of the same vendor", "google"),
    ]
)
def test_a_servers_name_for_its_model(
    side: str, named_side: str, judge: str, named_judge: str | None, shared: str, what: str
) -> None:
    """It is read as a name of the server that gave it. A file's is compared with no other server's, and `default_model`
    is none."""
    debate_events, named = play_events(cast=cast(side, "host", judge), rounds=1), {side: named_side, judge: named_judge}
    for n, event in enumerate(debate_events):
        if isinstance(event, Spoke | StructuredReplyGiven):
            reply = event.reply.model_copy(update={"model": named.get(event.reply.spec)})
            debate_events[n] = event.model_copy(update={"reply": reply})
    conflicts = " ".join(conflicts_of_interest(fold(debate_events)))
    assert (shared in conflicts and f"“{what}”" in conflicts) if shared else not conflicts


def test_a_conflict_that_a_file_claims_is_its_word() -> None:
    """Anybody may have written the names of an earlier debate's speakers."""
    opened, *rest = events("adversarial", cast=cast("host", "host", OPUS))
    earlier = EarlierDebate(source="talk.md", digest="9", speakers={"a": OPUS, "b": SONNET})
    assert isinstance(opened, Opened)

    assert conflicts_of_interest(fold([opened.model_copy(update={"earlier_debate": earlier}), *rest])) == (
        f"Judge is the same model as Researcher A, by what “talk.md” says: “{OPUS}”.",
        "Judge is a model of the same vendor as Researcher B, by what “talk.md” says: “anthropic”.",
    )
