"""Fields of shapes: pages, lengths, what is left out unless something else holds, and scales of one's own."""

from __future__ import annotations

import itertools
from typing import Any

import pytest
from core.folding import filled
from core.test_shapes import TERMS

from debate_orchestrator.core.schema import LONGEST_URL, Field, Shape, applies, check

CASE: Shape = {
    "refused": Field(kind="flag"),
    "claim": Field(kind="text", words=5, unless={"refused": True}),
    "url": Field(kind="url", unless={"refused": True}),
    "turns": Field(kind="turns", unless={"refused": True, "claim": "none"}),
    "reason": Field(kind="text", only_if={"refused": True}),
    "notes": Field(kind="list", only_if={"refused": False}, unless={"claim": "none"}),
}
GOOD: dict[str, Any] = {
    "refused": False,
    "claim": "It is so.",
    "url": "https://example.org/a?b=c#d",
    "turns": ["1.opening.a"],
    "reason": None,
    "notes": [],
}
REFUSAL = {"refused": True, "claim": None, "url": None, "turns": [], "reason": "No.", "notes": []}


def wrong(value: Any, shape: Shape = CASE) -> list[str]:
    """The fields that are complained of."""
    said = check(shape, value, TERMS)
    assert not [one for one in said if "\n" in one or len(one) > 300]
    return [one.partition(":")[0] for one in said]


# Pages


@pytest.mark.parametrize(
    "url",
    [
        "https://example.org", "http://example.org:8080/x", "HTTPS://EXAMPLE.ORG/Ä(1)", "https://[::1]/x",
        "https://example.org/a_b*c~d|e;f,g&h='i'", "https://user@example.org/%20", "https://" + "x" * (LONGEST_URL - 8),
    ],
    ids=range(7),
)  # fmt: skip
def test_what_is_a_page(url: str) -> None:
    """The address of a page is http or https, of any other kind of characters than those that end it."""
    assert wrong(GOOD | {"url": url}) == []


NO_PAGES = [
    "", " ", "example.org", "www.example.org", "ftp://example.org", "javascript:alert(1)", "file:///etc/passwd", "https://",
    "data:text/html,x", "https:// example.org", "https://example.org/a b", "https://example.org\n", "https://e.org/\x00",
    "https://e.org/<script>", 'https://e.org/"', "https://e.org/`x`", "see https://example.org", None, 7, ["https://e.org"],
    "https://" + "x" * LONGEST_URL, "https://e.org/\x1b[1m", "https://e.org/\u2028x", "//example.org",
]  # fmt: skip


def test_what_is_no_page() -> None:
    """Whatever is no address of a page, or holds what could end one, is refused, and what one looks like is said."""
    for url in NO_PAGES:
        said = check(CASE, GOOD | {"url": url}, TERMS)
        assert [one.partition(":")[0] for one in said] == ["url"], url
        assert "the address of a page, such as https://example.org/page" in said[0], url


# Lengths


@pytest.mark.parametrize(
    ("text", "fits"), [("a b c d e", True), (" a\nb\tc  d e ", True), ("a b c d e f", False), (" ", False)]
)
def test_texts_of_so_many_words(text: str, fits: bool) -> None:
    """A text that has a most words has no more, counted between white space, and at least one."""
    said = check(CASE, GOOD | {"claim": text}, TERMS)
    assert (not said) is fits
    assert fits or "text of at most 5 words" in said[0]


# What depends on what stands beside it


def test_what_is_left_out_unless() -> None:
    """A field is filled in unless one beside it has a value that bars it; then it is empty, as nothing else will do."""
    assert (wrong(GOOD), wrong(REFUSAL)) == ([], [])
    assert wrong(REFUSAL | {"claim": "It is so.", "url": GOOD["url"], "turns": ["1.opening.a"]}) == [
        "claim",
        "url",
        "turns",
    ]
    assert wrong(GOOD | {"claim": None, "url": None, "turns": []}) == ["claim", "url", "turns"]


@pytest.mark.parametrize("values", [{"refused": True}, {"claim": "none"}, {"refused": True, "claim": "none"}])
def test_any_value_that_bars_is_enough(values: dict[str, Any]) -> None:
    """One of the values named under `unless` is enough for a field to be left out."""
    field = CASE["turns"]
    assert not applies(field, GOOD | values)
    assert applies(field, GOOD)


@pytest.mark.parametrize(("refused", "claim"), [*itertools.product([True, False, None], ["none", "some"])])
def test_only_if_and_unless_both_hold(refused: bool | None, claim: str) -> None:
    """A field with both is filled in where all it needs holds and nothing bars it."""
    assert applies(CASE["notes"], {"refused": refused, "claim": claim}) is (refused is False and claim == "some")


@pytest.mark.parametrize(
    ("value", "said"),
    [
        (REFUSAL | {"url": "https://e.org"}, "url: 'https://e.org' must be null, since refused is true."),
        (REFUSAL | {"turns": ["1.opening.a"]}, "must be [], since refused is true."),
        (GOOD | {"reason": "No."}, "reason: 'No.' must be null, unless refused is true."),
        (GOOD | {"claim": "none", "notes": ["x"]}, "must be [], since claim is none."),
        (REFUSAL | {"notes": ["x"]}, "must be [], unless refused is false and claim is not none."),
        (
            GOOD | {"url": None},
            "url: null is not the address of a page, such as https://example.org/page, since",
        ),
    ],
)
def test_complaints_say_what_it_depends_on(value: dict[str, Any], said: str) -> None:
    """A complaint about what should be empty or filled in names the values beside it that say so."""
    assert any(said in one for one in check(CASE, value, TERMS)), check(CASE, value, TERMS)


@pytest.mark.parametrize("name", ["claim", "reason"])
def test_what_is_missing_says_when_it_may_be_empty(name: str) -> None:
    """A field that is not there at all is asked for, with when it may be empty."""
    (said,) = check(CASE, {key: value for key, value in GOOD.items() if key != name}, TERMS)
    assert said.startswith(f"{name}: this field is missing; it must be text of ")
    assert said.endswith("and null otherwise.")


def test_the_plainest_reply_passes() -> None:
    """A shape with fields that depend on each other can be filled in."""
    assert check(CASE, filled(CASE, TERMS), TERMS) == []


# Scales


def test_a_criterion_may_have_a_scale_of_its_own() -> None:
    """Marks are held to the scale of their criterion, and to the rubric's where it has none."""
    own = TERMS.model_copy(update={"scales": {"use_of_evidence": (0.0, 1.0)}})
    shape: Shape = {"scores": Field(kind="scores")}
    marks = {"argument_quality": 10, "use_of_evidence": 0.5, "directness_of_rebuttals": 1}
    assert check(shape, {"scores": {"a": marks, "b": marks}}, own) == []
    wild = {"argument_quality": 0.5, "use_of_evidence": 2, "directness_of_rebuttals": 1}
    said = check(shape, {"scores": {"a": marks, "b": wild}}, own)
    assert [one[one.index(" is not") :] for one in said] == [
        " is not a number from 1 to 10.",
        " is not a number from 0 to 1.",
    ]
    assert [own.scale(name) for name in own.criteria] == [(1, 10), (0, 1), (1, 10)]
