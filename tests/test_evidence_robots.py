"""What a robots.txt allows this program to fetch."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from debate_orchestrator.evidence.fetch import LARGEST_ROBOTS, RobotsRules

GROUPS = """
# a comment
User-agent: somebody-else
Disallow: /

User-Agent: Another
user-agent: Debate-Orchestrator/9.9
Crawl-delay: 10
Disallow: /private   # and why
Allow: /private/open
disallow: /*.pdf$

User-agent: *
Disallow: /everybody
"""


@pytest.mark.parametrize(
    ("target", "allowed"),
    [
        ("/", True),
        ("/everybody", True),
        ("/private", False),
        ("/private/x", False),
        ("/privately", False),
        ("/private/open/x", True),
        ("/a/b.pdf", False),
        ("/a/b.pdf?x", True),
        ("/a/b.pdfs", True),
    ],
)
def test_the_group_that_names_this_program_counts(target: str, allowed: bool) -> None:
    """The group with this program's name holds, in whatever case and version, and that for all does not."""
    assert RobotsRules(GROUPS).allow(target) is allowed


def test_all_are_meant_where_none_is_named() -> None:
    """Without a group of its name this program keeps to what is said to all programs."""
    rules = RobotsRules(
        "User-agent: *\nDisallow: /everybody\n\nUser-agent: x\nDisallow: /\n\nUser-agent: *\nDisallow: /too"
    )

    assert [rules.allow(target) for target in ("/", "/everybody/x", "/too")] == [True, False, False]


@pytest.mark.parametrize(
    ("lines", "target", "allowed"),
    [
        ("Disallow: /a\nAllow: /a", "/a", True),
        ("Disallow: /a/b\nAllow: /a", "/a/b/c", False),
        ("Allow: /a/*/c\nDisallow: /a/", "/a/b/c", True),
        ("Disallow: *", "/x", False),
        ("Disallow: /*?id=*&x", "/p?id=3&x", False),
        ("Disallow: /a*$", "/abc", False),
        ("Disallow: /$", "/a", True),
        ("Disallow: /$", "/", False),
        ("Disallow: /a*b*b$", "/ab", True),
        ("Disallow:", "/x", True),
        ("Disallow: /stra%C3%9Fe", "/stra%c3%9fe/1", False),
        ("Disallow: /straße", "/stra%C3%9Fe/1", False),
        ("Disallow: /%7Ejoe", "/~joe/", False),
        ("nonsense\n: : :\nSitemap: http://x/", "/x", True),
    ],
)
def test_rules_fit_as_the_standard_says(lines: str, target: str, allowed: bool) -> None:
    """The longest rule that fits decides; stars, ends and escapes are read as RFC 9309 reads them."""
    assert RobotsRules(f"\ufeffUser-agent: *\n{lines}\n").allow(target) is allowed


@pytest.mark.parametrize("text", ["", "\n\n", "Disallow: /", "<html>no robots here</html>", "User-agent: *"])
def test_no_rules_allow_everything(text: str) -> None:
    """Where nothing is said to this program or to all, everything may be asked for."""
    assert RobotsRules(text).allow("/anything?at=all")


@given(st.text())
def test_any_text_may_stand_in_other_groups(text: str) -> None:
    """Any text in the group of another program leaves the rules for this one as they are."""
    rules = RobotsRules(
        f"User-agent: other\nDisallow: {text}\n{text}\n\nUser-agent: debate-orchestrator\nDisallow: /private\n"
    )

    assert not rules.allow("/private/page?x=1")


def test_a_path_may_begin_with_two_slashes() -> None:
    """The first part of such a path is not taken for a host."""
    assert not RobotsRules("User-agent: *\nDisallow: //h").allow("//h/a")


def test_a_pattern_can_not_run_for_ever() -> None:
    """A pattern of many stars, which would keep a regular expression busy for years, is done at once."""
    rules = RobotsRules("User-agent: *\nDisallow: /" + "*a" * 5_000 + "$")
    begun = time.process_time()

    assert rules.allow("/" + "a" * 4_000 + "b")
    assert time.process_time() - begun < 5


@pytest.mark.parametrize(
    "piece", ["\n", "\r\n", "\t\n", " ", "user-agent", "user-agent ", "user-agent:\n", "user-agent: a"]
)
def test_no_text_takes_long_to_read(piece: str) -> None:
    """As long a robots.txt as is read is read at once, whatever it is made of."""
    text = (piece * LARGEST_ROBOTS)[: LARGEST_ROBOTS // 2]
    begun = time.process_time()

    assert not RobotsRules(f"{text}\nUser-agent: *\nDisallow: /a\n").allow("/a/b")
    assert time.process_time() - begun < 5
