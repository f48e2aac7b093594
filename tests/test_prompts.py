"""The words in prompts/ say what the rules need; templates are found, proofread, and told of by file and line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from corpus import for_each
from jinja2 import meta
from speakers import Speaker, begun, driven

from debate_orchestrator.formats import loader
from debate_orchestrator.prompting.rendering import shipped_sandbox
from debate_orchestrator.prompting.templates import (
    Sandbox,
    error_location,
    error_text,
    find_problems,
)
from debate_orchestrator.util import resources

ROOT = resources.prompts()


def flat(text: str) -> str:
    return " ".join(text.split())


@pytest.fixture(scope="module")
def briefs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Turn id to the task of a whole debate in which round 1 converges."""
    import scripted_replies

    def say(brief: object) -> str | None:
        return (
            json.dumps(scripted_replies.converging(rounds=2))
            if getattr(brief, "turn_id", "") == "1.verdict.judge"
            else None
        )

    speaker = Speaker(say)
    speaker.name = "host"  # as in the cast: a judge is shown its own ballots alone
    with begun(tmp_path_factory.mktemp("d") / "j") as journal:
        driven(journal, speaker)
    return {brief.turn_id: flat(brief.messages[-1].parts[-1]) for brief in speaker.briefs}


def test_every_template_is_used() -> None:
    """No template lies about unused: each is a phase's, or named by another or by the code. Only `arbiter` is there for
    formats of users, which may know a piece by its former name."""
    texts = [path.read_text(encoding="utf-8") for path in ROOT.rglob("*.j2")]
    code = [path.read_text(encoding="utf-8") for path in (ROOT.parent / "debate_orchestrator").rglob("*.py")]
    made = [loader.load(name) for name in resources.format_names()]
    named = {loader.task_template(one, phase) for one in made for phase in one.phases()}
    named |= {loader.system_templates(one)[0] for one in made}
    paths = [path for path in ROOT.rglob("*.j2") if path.parent.name != "moderator"]
    unused = [path for path in paths if path.relative_to(ROOT).as_posix() not in named]

    unnamed = [path.name for path in unused if not any(f"/{path.name}" in text for text in texts + code)]
    assert unnamed == ["arbiter.md.j2"]


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


def complaints(text: str, **others: str) -> list[str]:
    """Complaints about a template, without the name of its file."""
    own = {"formats/x/one.j2": text} | {f"formats/x/{name}.j2": said for name, said in others.items()}
    found = find_problems(Sandbox(own), own, {"topic", "other", "feedback"})
    return [one.removeprefix("formats/x/") for one in found]


# Finding


def test_own_templates_are_found_first() -> None:
    """One of a debate's own templates is taken before the one of prompts/; all others are those of prompts/."""
    own = Sandbox({"shared/motion.md.j2": "Mine."})
    assert own.get_template("shared/motion.md.j2").render() == "Mine."
    close = {"target_words": 5, "search": False, "lines": {"concede": "Yes.", "decline": "No."}}
    assert "About 5 words" in own.get_template("shared/debater-close.md.j2").render(close)
    assert {"shared/motion.md.j2", "shared/turn.md.j2", "moderator/topic.md.j2"} <= set(own.list_templates())


def test_a_neighbour_is_found_in_the_same_folder() -> None:
    """`./` means the folder of the template in which it stands, wherever that one was led to from."""
    own = {"formats/x/a.j2": '{% include "formats/y/b.j2" %}', "formats/y/b.j2": '{% include "./c.j2" %}'}
    own |= {"formats/x/c.j2": "wrong", "formats/y/c.j2": "right"}
    assert Sandbox(own).get_template("formats/x/a.j2").render() == "right"


# Places of errors


@for_each(
    [
        ("a\n{{ b.c }}", "formats/x/one.j2:2", "'b' is undefined"),
        ("a\n\n{{ 1 // 0 }}", "formats/x/one.j2:3", "ZeroDivisionError: "),
        ('{% include "nowhere.j2" %}', "formats/x/one.j2:1", "no template 'nowhere.j2'"),
        ("a\n{% if %}", "formats/x/one.j2:2", "Expected an expression"),
        (
            '\n{% include "shared/debater-close.md.j2" %}',
            "prompts/shared/debater-close.md.j2:5",
            "'target_words' is undefined",
        ),
        ('\n{% include "./two.j2" %}', "formats/x/two.j2:2", "'y' is undefined"),
        ("{{ ''.__class__.__mro__ }}", "formats/x/one.j2:1", "unsafe"),
    ]
)
def test_an_error_has_its_place(text: str, where: str, what: str) -> None:
    """What goes wrong in a template is placed by its file and line, included ones and those of prompts/ too."""
    own = {"formats/x/one.j2": text, "formats/x/two.j2": "\n{{ y }}"}
    with pytest.raises(Exception, match=r".") as raised:
        Sandbox(own).get_template("formats/x/one.j2").render()
    assert error_location(raised.value, own) == where
    assert what in error_text(raised.value)


# Names


@for_each(
    [
        "{{ topic }} {% for x in other %}{{ x }} {{ loop.index }}{% endfor %}",
        "{% set a = topic %}{{ a }} {{ range(3) }} {# {{ b }} #}{% raw %}{{ c }}{% endraw %}",
        "{% macro m(x) %}{{ x }} {{ varargs }}{% endmacro %}{{ m(topic) }}",
        '{% set mine = 1 %}{% include "./two.j2" %}',
        "{% include topic %}",
    ]
)
def test_names_that_a_brief_provides_or_a_template_sets(text: str) -> None:
    """What a brief has, and what a template or the one that includes it sets, may be used."""
    assert complaints(text, **({"two": "{{ mine }}{{ other }}"} if "two" in text else {})) == []


def test_names_that_no_brief_provides() -> None:
    """Each is reported once, at its first line, with the nearest or with all there are; also in a branch that is not
    taken."""
    one, two = complaints("{{ topic }}\n{% if false %}{{ othr }}{% endif %}\n{{ zzz }}\n{{ othr }}", two="{{ topic }}")
    assert one == "one.j2:2: no brief provides the name 'othr'. Did you mean 'other'?"
    assert two == "one.j2:3: no brief provides the name 'zzz'. Try: one of feedback, other, topic."


# Syntax


@for_each(
    [
        ("\n{{ topic | upperr }}", 2, "No filter named 'upperr'"),
        ("\n{% endif %}", 2, "unknown tag 'endif'"),
        ("{{ topic", 1, "unexpected end of template"),
        ("{% block a %}{% endblock %}\n{% block a %}{% endblock %}", 2, "block 'a' defined twice"),
        ("{% if topic %}" * 3000 + "{% endif %}" * 3000, 1, "nest"),
    ]
)
def test_what_is_no_template(text: str, line: int, what: str) -> None:
    """Broken syntax and unknown filters are reported by their line."""
    (one,) = complaints(text)
    assert one.startswith(f"one.j2:{line}: ")
    assert what in one


def test_shipped_templates_have_nothing_wrong() -> None:
    """Every template of prompts/ compiles, with filters that are there."""
    made = shipped_sandbox()
    texts = {name: (resources.prompts() / name).read_text("utf-8") for name in made.list_templates() if ".j2" in name}
    names = {name for text in texts.values() for name in meta.find_undeclared_variables(made.parse(text))}
    assert find_problems(made, texts, names) == []
