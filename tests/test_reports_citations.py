"""What was cited is told with what was found of it, and by whom."""

from __future__ import annotations

import pytest
from core.folding import absent
from tellings import FETCHED, check, checks, events, label, refusal, told

from debate_orchestrator.core.fold import fold
from debate_orchestrator.reports.citations import evidence, is_after, looked_up_by, summary
from debate_orchestrator.reports.parts import Citation, SourceRating

BOTH = {"1.check.clerk": checks(check("1.argument.a"), check("1.argument.b", "not found", why="nothing is close"))}


def cited(script: object = None, **how: object) -> tuple[Citation, ...]:
    """What was cited in a debate over a claim."""
    found = evidence(fold(events("claim", script, **how)))  # type: ignore[arg-type]
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


def test_who_declines_cites_nothing() -> None:
    """A refusal is no citation, and a debate of refusals alone says nothing of evidence."""
    script = {"1.argument.a": refusal("No."), "1.argument.b": refusal("No.")}

    assert [one.turn for one in cited({"1.argument.b": refusal("No.")})] == ["1.argument.a"]
    assert summary(fold(events("claim", script))) == ""


def test_judges_weigh_the_source() -> None:
    """What each judge last said of a source stands beside it."""
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
    ("2025-08-01", "July 2025", True), ("2025-07-31", "July 2025", False), ("2025-08", "July 2025", True),
    ("2025-07-05", "4 July 2025", True), ("2025-07-04", "July 4th 2025", False), ("2025-07-05", "2025-07-04", True),
    ("2025-07-05", "July 4", False), ("2020-01-01", "the market crash of 2019", True),
    ("2019-03-01", "the market crash of 2019", False), ("2019-10-01", "Sept 2019", True), ("last week", "2019", False),
    ("2020-13-45", "2019", False), ("2020-01-01", "2019-13", False), ("2020-01-01", "31 February 2019", False),
    ("", "2019", False),
]  # fmt: skip


def test_what_is_later_than_the_topic() -> None:
    """A page is late only where its whole date is surely after the time that the topic names."""
    for dated, as_of, after in DATES:
        assert is_after(dated, as_of) is after, dated


def test_late_pages_are_marked() -> None:
    """A page that is younger than the topic allows is marked; without a dated topic none is."""
    script = {"1.check.clerk": checks(check("1.argument.a", date="2020-05-01"), check("1.argument.b", date="2018"))}

    assert [one.late for one in cited(script, topic="As of 2019, it is so.")] == [True, False]
    assert [one.late for one in cited(script)] == [False, False]


@pytest.mark.parametrize(
    ("clerk", "script", "said"),
    [
        ("fetch", BOTH, "Of 2 quotes cited, 1 was verified: pages were fetched by the engine."),
        (
            "host",
            BOTH,
            "Of 2 quotes cited, 1 was verified: an agent of the host said so, and the engine fetched nothing.",
        ),
        (
            "anthropic:m",
            BOTH,
            "Of 2 quotes cited, 1 was verified: anthropic:m said so, and the engine fetched nothing.",
        ),
        (
            "offline",
            {"1.check.clerk": checks(check("1.argument.a", "not checked"), check("1.argument.b", "not checked"))},
            "2 quotes cited, and none of them was checked: the clerk is offline.",
        ),
        (
            "fetch",
            {"1.argument.b": refusal("No."), "1.check.clerk": checks(check("1.argument.a", "not found"))},
            "Of 1 quote cited, none was verified: pages were fetched by the engine.",
        ),
        (
            "rehearse",
            {"1.argument.b": refusal("No."), "1.check.clerk": absent("1.check.clerk")},
            "1 quote cited, and it was not checked: a stand-in looks nothing up.",
        ),
    ],
)
def test_how_much_was_verified_and_by_whom(clerk: str, script: dict[str, object], said: str) -> None:
    """The provenance says how many quotes were verified, and who says so."""
    made = told("claim", script, cast=FETCHED | {"clerk": (clerk,)})  # type: ignore[arg-type]

    assert said in made.provenance
    assert "Sources are cited by the debaters and were not checked." not in made.provenance


def test_who_will_look() -> None:
    """Before anything was looked up, no citation has a result."""
    debate = fold(events("claim", until="1.check.clerk", cast=FETCHED))

    assert looked_up_by(debate) == "it has not been looked up yet"
