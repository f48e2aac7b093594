"""What a robots.txt lets this program ask for."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from debate_orchestrator.evidence.robots import Rules, parse

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
    """The group with this program's name holds, in whatever case and version, and that for everybody does not."""
    assert parse(GROUPS).allow(target) is allowed


def test_everybody_is_meant_where_nobody_is_named() -> None:
    """Without a group of its name this program keeps to what is said to everybody."""
    rules = parse("User-agent: *\nDisallow: /everybody\n\nUser-agent: x\nDisallow: /\n\nUser-agent: *\nDisallow: /too")

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
        ("nonsense\nDisallow /x\n: : :\nSitemap: http://x/", "/x", True),
    ],
)
def test_rules_fit_as_the_standard_says(lines: str, target: str, allowed: bool) -> None:
    """The longest rule that fits decides; stars, ends and escapes are read as RFC 9309 reads them."""
    assert parse(f"\ufeffUser-agent: *\n{lines}\n").allow(target) is allowed


@pytest.mark.parametrize("text", ["", "\n\n", "Disallow: /", "<html>no robots here</html>", "User-agent: *"])
def test_no_rules_allow_everything(text: str) -> None:
    """Where nothing is said to this program or to everybody, everything may be asked for."""
    assert parse(text) == Rules()
    assert parse(text).allow("/anything?at=all")


@given(st.text(), st.text())
def test_any_text_is_a_robots_txt(text: str, path: str) -> None:
    """Whatever a host says and whatever is asked for, there is an answer."""
    assert parse(f"User-agent: *\nDisallow: {text}\n{text}").allow(f"/{path}") in (True, False)


def test_a_pattern_can_not_run_for_ever() -> None:
    """A pattern of many stars, which would keep a regular expression busy for years, is done at once."""
    rules = parse("User-agent: *\nDisallow: /" + "*a" * 5_000 + "$")
    begun = time.process_time()

    assert rules.allow("/" + "a" * 4_000 + "b")
    assert time.process_time() - begun < 5
