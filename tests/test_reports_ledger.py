"""The report has a ledger of what was cited, where a clerk looks it up."""

from __future__ import annotations

from typing import Any

import reading
from tellings import FETCHED, check, checks, evidence, label, refusal, report, section, told

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


def evidence_text(script: Any, **how: Any) -> str:
    """What stands under the section's heading."""
    return section(report("claim", script, **({"cast": FETCHED} | how)), "Evidence")


def test_a_row_for_each_page() -> None:
    """Turn, page, state, what was found, where it is kept, and what the judge thinks of it."""
    script = {"1.check.clerk": checks(FOUND), "final.verdict.judge": label("misleading", 4, sources=[WEIGHED])}
    made = evidence_text(script, topic="As of 2019, it is so.")

    assert reading.tables(made) == [
        [
            ["Turn", "Page", "Quote", "What was found", "Kept as", "How judges weigh the source"],
            [
                "round 1, argument A",
                "https://example.org/so",
                "near match",
                "A *page* | on it; dated 2020-05-01 (later than 2019); "
                "the nearest passage (93.4% alike): “So it was.”; the closest passage is 93% alike",
                "0123.html.txt, sha256 0123456789ab",
                "Judge: low, a blog",
            ],
            ["round 1, argument B", "https://example.org/so", "not looked up", "", "", ""],
        ]
    ]
    assert made.endswith(
        "Verified: 0 of 2; pages were fetched by the engine.\n\n"
        "The topic binds both sides to what was known as of 2019."
    )
    assert reading.links_within(made) == ["argument--debater-a", "argument--debater-b"]


def test_columns_of_nothing_are_left_out() -> None:
    """A ledger in which nothing was found has no empty columns."""
    made = evidence_text({"1.check.clerk": checks(check("1.argument.a"), check("1.argument.b"))})

    assert reading.tables(made)[0][0] == ["Turn", "Page", "Quote"]
    assert "Verified: 2 of 2;" in made


def test_what_the_clerk_says_stands_in_its_turn() -> None:
    """In the transcript a clerk's turn tells each state and why, and marks what is later than the topic."""
    rows = checks(FOUND, check("1.argument.b"))
    made = report("claim", {"1.check.clerk": rows}, cast=FETCHED, topic="As of 2019, it is so.")

    assert (
        "#### Evidence Check — Round 1\n\n[CLERK - ROUND 1 - EVIDENCE CHECK]\n\n"
        "- [round 1, argument A](#argument--debater-a): near match; the closest passage is 93% alike "
        "(dated later than the topic)\n"
        "- [round 1, argument B](#argument--debater-b): verified\n" in made
    )


def test_nothing_was_cited() -> None:
    """Where both sides declined there is nothing to look up, and that is said."""
    script = {"1.argument.a": refusal("No."), "1.argument.b": refusal("No.")}

    assert evidence_text(script) == "Nothing was cited."
    assert "Nothing was cited to be looked up." in report("claim", script, cast=FETCHED)


def test_formats_without_a_clerk_have_none() -> None:
    """Where no clerk looks anything up there is no ledger."""
    assert "## Evidence" not in report("panel")
    assert told("panel").evidence is None


def test_an_address_that_is_no_page() -> None:
    """An address that may not be linked is shown, and leads nowhere."""
    made = evidence_text({"1.argument.a": evidence(url="https://user@example.org/|x")})

    assert "| https://user@example.org/\\|x |" in made
