"""The words in prompts/: every template is used, renders, and says what the rules need it to say."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from speakers import Speaker, begun, driven

from debate_orchestrator.formats import loader
from debate_orchestrator.setup.session import QuestionTexts
from debate_orchestrator.util import resources

ROOT = resources.prompts()


def flat(text: str) -> str:
    return " ".join(text.split())


@pytest.fixture(scope="module")
def briefs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Turn id to the task of a whole debate in which round 1 converges."""
    import puppets

    def say(brief: object) -> str | None:
        return json.dumps(puppets.converging(rounds=2)) if getattr(brief, "turn", "") == "1.verdict.judge" else None

    speaker = Speaker(say)
    with begun(tmp_path_factory.mktemp("d") / "j") as journal:
        driven(journal, speaker)
    return {brief.turn: flat(brief.messages[-1].parts[-1]) for brief in speaker.briefs}


def test_every_template_is_used() -> None:
    """No template lies about unused: each is a phase's, or named by another or by the code."""
    texts = [path.read_text(encoding="utf-8") for path in ROOT.rglob("*.j2")]
    code = [path.read_text(encoding="utf-8") for path in (ROOT.parent / "debate_orchestrator").rglob("*.py")]
    made = [loader.load(name) for name in resources.format_names()]
    named = {loader.task_template(one, phase) for one in made for phase in one.phases()}
    named |= {loader.system_templates(one)[0] for one in made}
    paths = [path for path in ROOT.rglob("*.j2") if path.parent.name != "moderator"]
    unused = [path for path in paths if path.relative_to(ROOT).as_posix() not in named]

    assert [path.name for path in unused if not any(f"/{path.name}" in text for text in texts + code)] == []


def test_words_are_the_interviews() -> None:
    """The interview's wording is complete: every key that the conversation asks for has its question, and so has the
    rapporteur, for whom it does not ask."""
    words = QuestionTexts.model_validate(resources.read_yaml("setup.yaml"))

    assert list(words.questions) == [
        "topic",
        "framing",
        "topic_ok",
        "positions",
        "position_a",
        "position_b",
        "positions_ok",
        "rounds",
        "insist",
        "strictness",
        "output",
        "rapporteur",
    ]


@pytest.mark.parametrize(
    ("turn", "demands"),
    [
        ("1.opening.a", ["core thesis", "three strongest arguments", "Do not answer Researcher B in advance"]),
        ("1.opening.b", ["You have heard Researcher A's opening statement", "your own case"]),
        ("2.constructive.a", ["Round 2: advance your position", "new in this debate", "Advice meant for A."]),
        ("2.constructive.b", ["You have heard Researcher A's constructive", "Advice meant for B."]),
        ("1.challenge.a", ["single weakest claim", "(turn 1.opening.b)", "Quote that claim exactly"]),
        ("2.challenge.b", ["(turn 2.constructive.a)"]),
        ("1.rebuttal.b", ["(turn 1.challenge.a)", "grant the specific point", "New evidence is welcome"]),
        ("1.divergence.b", ["The judge has stepped in", "deepest flaw", "another frame", "economic against technical"]),
        ("1.verdict.judge", ["from 1 to 10", "strongest and the weakest", "2 to 3 sentences", "only quibbles"]),
        ("1.verdict.judge", ["Judge mode: strict", "made without evidence", "common ground", "conceded"]),
        ("final.verdict.judge", ["Researcher A: 14 points, 2 rounds won", "3 to 5 sentences", "follow_up"]),
        ("final.dissent.judge", ["resolved by consensus", "the ids of the turns"]),
    ],
)
def test_a_task_demands_what_it_must(briefs: dict[str, str], turn: str, demands: list[str]) -> None:
    """Each phase's task names its target and makes its demands."""
    assert [one for one in demands if one.lower() not in briefs[turn].lower()] == []


def test_debaters_are_told_the_reserved_lines(briefs: dict[str, str]) -> None:
    """Every debater's brief says how to concede and how to decline; no judge's does."""
    for turn, text in briefs.items():
        assert ("I CONCEDE THE DEBATE." in text) == ("judge" not in turn)
        assert ("I DECLINE TO ARGUE THIS POSITION." in text) == ("judge" not in turn)


def test_the_names_are_neutral() -> None:
    """No word in prompts/ names a model or a vendor."""
    words = "".join(path.read_text(encoding="utf-8").lower() for path in Path(ROOT).rglob("*") if path.is_file())

    assert [name for name in ("claude", "gpt", "gemini", "anthropic", "openai", "llama") if name in words] == []
