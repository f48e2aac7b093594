"""From a topic and answers to the first event: plain positions, sound answers, material and prompts."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
from corpus import for_each

from debate_orchestrator import __version__
from debate_orchestrator.core import events
from debate_orchestrator.core.events import EVENT
from debate_orchestrator.core.fold import apply, fold
from debate_orchestrator.core.positions import (
    affirms,
    denies,
    plain_positions,
    positions_for_transcript,
)
from debate_orchestrator.core.settings import Settings
from debate_orchestrator.engine import start
from debate_orchestrator.formats import loader
from debate_orchestrator.setup import answers
from debate_orchestrator.setup.questions import SetupQuestions
from debate_orchestrator.setup.state import SetupProgress, SetupState
from debate_orchestrator.storage.journal_lines import SCHEMA
from debate_orchestrator.util import resources
from debate_orchestrator.util.errors import BadSettings

RULES = loader.load("adversarial")


SAID = {"a": "Tabs.", "b": "Spaces."}


def settled(**given: Any) -> Settings:
    base = {"topic": "Tabs are better.", "positions": SAID, "issues": False, "brief": False}
    return answers.make_settings(base | given, RULES, "debate-report.md")


def test_the_setup_is_what_was_answered() -> None:
    """Topic, positions and the rest are taken word for word, with where each came from. The resolved format, the
    digests of the templates and the versions are in the first event. Positions that are still to be derived can't be
    opened. No two debates have the same nonce, which is 16 hexadecimal digits."""
    given = settled(
        rounds=2, strictness="lenient", first="b", feedback=False, max_cost=2, cast={"judge": ["host", "host"]}
    )
    opened = start.make_opened(given)
    assert opened.settings == given and opened.cast["judge"] == ("host", "host")

    opened = start.make_opened(settled())
    assert (opened.format, opened.prompts) == (RULES, resources.digests("adversarial"))
    assert (opened.schema_version, opened.version) == (SCHEMA, __version__)
    assert EVENT.validate_json(opened.model_dump_json()) == opened

    with pytest.raises(BadSettings, match="positions: they are not derived yet"):
        start.make_opened(settled(positions="auto"))

    drawn = [start.make_opened(settled()) for _ in range(8)]
    assert len({one.nonce for one in drawn}) == len({one.seed for one in drawn}) == 8
    assert {len(one.nonce) for one in drawn} == {16}
    assert all(int(one.nonce, 16) >= 0 and 0 <= one.seed < 2**32 for one in drawn)


# Material


def test_context_is_kept_whole(here: Path) -> None:
    """The text of every file is in the first event, under its bare name. Files that are missing, binary or folders are
    reported all at once."""
    (here / "notes").mkdir()
    (here / "notes/latency.md").write_bytes(b"\xef\xbb\xbf# \xc3\xbc\r\n")
    (here / "empty.txt").touch()
    context = start.make_opened(settled(context=["notes/latency.md", "empty.txt"])).context
    assert [(one.name, one.text) for one in context] == [("latency.md", "# ü\r\n"), ("empty.txt", "")]

    (here / "photo").write_bytes(b"\xff\xd8")
    (here / "folder").mkdir()
    (here / "good").write_text("x")
    with pytest.raises(BadSettings) as refused:
        start.make_opened(settled(context=["missing", "photo", "good", "folder"]))
    pairs = zip(["missing", "photo", "folder"], refused.value.problems, strict=True)
    assert [one.startswith("context: ") and name in one for name, one in pairs] == [True, True, True]


@pytest.mark.parametrize(
    ("sizes", "fits"), [([0], True), ([1], False), ([-200_000, -200_000], True), ([-9, -200_000], False)]
)
def test_material_has_a_limit(here: Path, sizes: list[int], fits: bool) -> None:
    """All material together may have as many bytes as the limit says, not one more."""
    names = [f"{n}.txt" for n, _ in enumerate(sizes)]
    for name, size in zip(names, sizes, strict=True):
        (here / name).write_bytes(b"x" * (events.MAX_CONTEXT + size))
    if fits:
        assert len(start.make_opened(settled(context=names)).context) == len(names)
    else:
        with pytest.raises(BadSettings, match=r"context: .*400,000"):
            start.make_opened(settled(context=names))


def test_the_form_of_the_mirror_is_decided_once(tmp_path: Path) -> None:
    """When the debate is opened, by what is debated then, also if the format mirrors."""
    minutes = tmp_path / "minutes.md"
    minutes.write_text("The debater a left.", encoding="utf-8")
    for name, given, order_only in (
        ("question", {"topic": "Did Debater A do it?"}, True),
        ("question", {"context": [str(minutes)]}, True),
        ("panel", {"positions": {"a": "Yes.", "b": "No, Debater-B."}, "mirror": True}, True),
        ("panel", {"topic": "Did Debater A do it?"}, False),
        ("question", {}, False),
    ):
        made = answers.make_settings({"topic": "Is it so?", "positions": SAID, **given}, loader.load(name), "x.md")
        assert start.make_opened(made).mirror_order_only is order_only, given


# Prompts that changed


def test_prompts_that_changed_are_noted_once() -> None:
    """Templates that were changed, added or dropped since are named in order, until that is on record."""
    opened = start.make_opened(settled())
    assert start.changed_prompts(fold([opened])) is None
    first, second, *_ = sorted(opened.prompts)
    then = {name: digest for name, digest in opened.prompts.items() if name != second} | {
        first: "0" * 64,
        "gone.j2": "0",
    }
    debate = fold([opened.model_copy(update={"prompts": then})])
    note = start.changed_prompts(debate)
    assert note is not None
    assert note.note == "prompts changed"
    assert [one.split()[0] for one in note.detail.split(", ")] == sorted([first, second, "gone.j2"])
    debate = apply(debate, note)
    assert start.changed_prompts(debate) is None


@for_each(
    [
        {"a": "human", "b": "rehearse", "judge": "rehearse"},
        {"a": "command:cat", "b": "command:cat", "judge": "rehearse"},
        {"a": "host", "b": "host", "judge": "command:cat", "moderator": "rehearse"},
        {"a": "host", "b": "host", "judge": "host"},
        {"a": "human", "b": "human", "judge": "human"},
    ]
)
def test_positions_without_a_model(cast: dict[str, Any]) -> None:
    """Where a stand-in, a host or a person would derive them, the positions are plain ones."""
    given = answers.make_settings({"topic": "Should we move?", "cast": cast}, RULES, "debate-report.md")
    opened = asyncio.run(start.opened_with_positions(given))
    asked, paid = opened.settings, opened.moderator_replies

    assert asked.positions == {"a": "We should move.", "b": "We should not move."}
    assert asked.origins["positions"] == "default" and paid == ()


@pytest.mark.parametrize("judge", ["human", "rehearse", "host"])
def test_positions_are_worded_around_the_topic(judge: str) -> None:
    """Where no model could derive them and none are plain, people, stand-ins and hosts get sentences around the
    topic."""
    cast = {"a": judge, "b": judge, "judge": judge}
    given = answers.make_settings({"topic": "Pizza", "cast": cast}, RULES, "debate-report.md")
    asked = asyncio.run(start.opened_with_positions(given)).settings
    assert asked.positions == {"a": "It is right that: Pizza", "b": "It is not right that: Pizza"}


def test_a_question_that_is_not_yes_or_no() -> None:
    """In a rehearsal it gets filler for positions; where a person speaks, it is said how to give them."""
    given = settled(topic="Which CI should we use?", positions="auto", cast={"a": "rehearse", "b": "rehearse"})
    asked = asyncio.run(start.opened_with_positions(start.as_rehearsal(given))).settings
    assert asked.positions == {
        side: f'Placeholder for {words} answer to "Which CI should we use?"'
        for side, words in (("a", "an"), ("b", "another"))
    }

    person = given.model_copy(update={"cast": {"a": ("human",), "b": ("rehearse",), "judge": ("rehearse",)}})
    with pytest.raises(BadSettings, match=r"`positions:` in the answers file\.$"):
        asyncio.run(start.opened_with_positions(person))
    hosted = given.model_copy(update={"cast": {"a": ("host",), "b": ("host",), "judge": ("host",)}})
    with pytest.raises(BadSettings, match=r"answers file, or `debate ask FILE`"):
        asyncio.run(start.opened_with_positions(hosted))


@for_each(
    [
        ("Should we replace it?", "We should replace it.", "We should not replace it."),
        ("should i quit my job", "I should quit my job.", "I should not quit my job."),
        ("Should we move or not?", "We should move.", "We should not move."),
        ("We should move", "We should move.", "We should not move."),
        (
            "Should the old town move?",
            'The answer to "Should the old town move?" is yes.',
            'The answer to "Should the old town move?" is no.',
        ),
        ("Do we need a second car?", "We need a second car.", "We do not need a second car."),
        *(
            (topic, f'The answer to "{topic}" is yes.', f'The answer to "{topic}" is no.')
            for topic in (
                "Should our family get a dog?",
                "Should Anna take the job?",
                "Do we need any more people?",
                "Should no teacher carry a gun?",
                "Should we sell no guns?",
                "Should we ever lie?",
                "Should we seldom eat meat?",
                "Should they barely tax it?",
                "Do we need no rules?",
            )
        ),
        ("Pineapple on pizza", "It is right that: Pineapple on pizza", "It is not right that: Pineapple on pizza"),
    ]
)
def test_two_positions(row: tuple[str, str, str]) -> None:
    """A question whether to do something gives its answers; any other topic gives sentences around it."""
    topic, a, b = row
    assert plain_positions(topic, ("a", "b")) == {"a": a, "b": b}
    assert affirms(topic, a) and denies(topic, b) and not affirms(topic, b)
    assert topic[-1] != "?" or affirms(topic, f'The answer to "{topic}" is yes.'), "as older journals word it"


@for_each(["Should we merge or rebase?", "Rust vs Go for the gateway", "Rust, Go or Zig", "Which is the best?", ""])
def test_no_position_rather_than_a_wrong_one(topic: str) -> None:
    """Where the topic asks for more than yes or no there are no positions: the person words them."""
    assert plain_positions(topic, ("a", "b")) == {}


@for_each(
    [
        ("Should we move to gRPC?", "We should move to gRPC."),
        ("Is remote work a good idea?", 'The answer to "Is remote work a good idea?" is yes.'),
        ("Pineapple on pizza", "It is right that: Pineapple on pizza"),
        ("Should we buy or build?", 'An answer to "Should we buy or build?"'),
        ("Rust vs Go", 'An answer to "Rust vs Go"'),
        ("Which one?", 'An answer to "Which one?"'),
    ]
)
def test_the_side_for_a_topic(row: tuple[str, str]) -> None:
    """The side that was for the topic of a transcript affirms it; which option it was for is never guessed."""
    topic, first = row
    positions = positions_for_transcript(topic, ("a", "b"))
    assert positions["a"] == first and positions["b"] not in ("", first)


QUESTIONS = SetupQuestions(RULES)
GOOD = SetupState(
    answers={"topic": "T", "positions": {"a": "x", "b": "y"}, "output": "o.md"},
    origins={"output": "file"},
    progress=SetupProgress(topics=("T",), topic_ok=True, positions="own", positions_ok=True),
)


@for_each([{"topic": 7}, {"positions": {"a": "x", "c": "y"}}, {"cast": {"zzz": "host"}}])
def test_a_file_with_an_answer_that_can_not_be_taken(changes: dict[str, object]) -> None:
    """It is reported, with all others of the file. A null is not an answer, and what it confirmed is asked again."""
    (name,) = changes
    with pytest.raises(BadSettings) as refused:
        QUESTIONS.with_checked_answers(GOOD.model_copy(update={"answers": GOOD.answers | changes | {"quorum": "x"}}))
    assert [problem.partition(":")[0].partition(".")[0] for problem in refused.value.problems] == [name, "quorum"]

    without = QUESTIONS.with_checked_answers(GOOD.model_copy(update={"answers": GOOD.answers | {"positions": None}}))
    assert "positions" not in without.answers and not without.progress.positions_ok and without.progress.topic_ok
