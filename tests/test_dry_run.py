"""A format is tried out in debates of every size, calm and not, and whatever goes wrong in them is told."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from own_formats import FILES, FORMAT, written

from debate_orchestrator.core.format import Format
from debate_orchestrator.engine import dry_run, format_check
from debate_orchestrator.formats import loader, source
from debate_orchestrator.formats.validation import key_path
from debate_orchestrator.prompting import briefs

NEVER, NEVER_JUDGED = (f"seats: [{seats}]\n    when: {{rounds_at_least: 2}}" for seats in ("a, b", "judge"))
ADVERSARIAL = loader.load("adversarial")


def told(folder: Path, **files: str) -> list[str]:
    """Complaints about the small format with other texts in some files."""
    draft = source.read_source(str(written(folder, **files)))
    assert draft.format is not None
    return dry_run.find_problems(draft.format, loader.carried_templates(draft), key_path)


def changed(**changes: Any) -> Format:
    return Format.model_validate(ADVERSARIAL.model_dump() | changes)


@pytest.mark.parametrize(
    ("limits", "tried"),
    [
        ({"default": 1, "most": 3, "insist": 3}, [1, 2, 3]),
        ({"default": 3, "most": 6, "insist": 8}, [1, 2, 3, 4, 5, 6, 8]),
        ({"default": 3, "most": 50, "insist": 60}, [1, 2, 3, 4, 5, 6, 7, 8, 50, 60]),
    ],
)
def test_the_sizes_that_are_tried(limits: dict[str, int], tried: list[int]) -> None:
    """Every number of rounds that is few, and the largest there may be."""
    assert dry_run.sizes(changed(rounds=limits)) == tried


def test_sizes_that_a_condition_tells_apart() -> None:
    """A number that a phase, a criterion or a field depends on is tried, and the one below it."""
    data = ADVERSARIAL.model_dump()
    data["rounds"] = {"default": 1, "most": 9, "insist": 90}
    data["round"][2]["when"]["rounds_at_least"] = 20
    data["rubric"]["criteria"]["argument_quality"]["when"]["rounds_at_least"] = 30
    data["shapes"]["dissent"]["rows"]["fields"]["claim"]["when"]["rounds_at_least"] = 40
    data["round"][3]["when"]["round"] = 50
    assert dry_run.sizes(Format.model_validate(data))[9:] == [19, 20, 29, 30, 39, 40, 49, 50, 90]


def test_every_brief_is_rendered(monkeypatch: pytest.MonkeyPatch) -> None:
    """In the trials of a format each of its templates is rendered, those that answer convergence too."""
    seen: set[str] = set()
    render = briefs._render

    def spy(name: Any, *rest: Any) -> str:
        seen.update([name] if isinstance(name, str) else name)
        return render(name, *rest)

    monkeypatch.setattr(briefs, "_render", spy)
    made = changed(rounds={"default": 1, "most": 2, "insist": 2})
    assert dry_run.find_problems(made, {}, key_path) == []
    assert {loader.task_template(made, phase) for phase in made.phases()} <= seen


@pytest.mark.slow
@pytest.mark.parametrize(
    ("said", "where"),
    [
        ("{% if turn.phase.on %}{{ topic.x }}{% endif %}", "an intervention"),
        ("{% if context %}{{ topic.x }}{% endif %}", "material"),
        ("{% if search %}{{ topic.x }}{% endif %}", "a search"),
        ("{% if turn.round == 2 and spoken %}{{ topic.x }}{% endif %}", "a later round"),
        ("{% if rounds == 3 %}{{ topic.x }}{% endif %}", "the most rounds of who insists"),
    ],
)
def test_what_is_rendered_in_some_debates_alone(tmp_path: Path, said: str, where: str) -> None:
    """A template that fails only with an intervention, with material or in some round is found out."""
    (one,) = told(tmp_path / "mine", speech_md_j2=f"\n{said}")
    assert one.startswith(
        "formats/mine/speech.md.j2:2: the template can't be rendered: 'str object' has no attribute 'x'"
    ), where


@pytest.mark.parametrize("said", ["declined", "conceded", "persisted", "ballots"])
def test_what_a_judge_is_told_in_some_debates_alone(tmp_path: Path, said: str) -> None:
    """A judge's template that fails only after a refusal, a concession or an intervention in vain is found out."""
    (one,) = told(tmp_path / "mine", **{"end.md.j2": f"{{% if {said} %}}{{{{ topic.x }}}}{{% endif %}}"})
    assert one.startswith("formats/mine/end.md.j2:1: the template can't be rendered: 'str object' has no attribute 'x'")


def test_a_panel_is_tried_too(tmp_path: Path) -> None:
    """A template that fails for the second judge alone is found out."""
    said = "{{ schema | json }}{% if turn.seat == 'judge-2' %}{{ 1 / 0 }}{% endif %}"
    assert "ZeroDivisionError" in told(tmp_path / "mine", vote_md_j2=said)[0]


def test_the_same_mistake_is_told_once(tmp_path: Path) -> None:
    """However many briefs a mistake is in, it is one complaint; another in the same file is another."""
    said = "{% if rounds == 1 %}\n{{ topic.x }}\n{% else %}\n{{ topic.y }}\n{% endif %}"
    places = [one.split(": ")[0] for one in told(tmp_path / "mine", speech_md_j2=said)]
    assert places == ["formats/mine/speech.md.j2:2", "formats/mine/speech.md.j2:4"]


def test_a_debate_that_the_engine_can_not_go_on_with(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A ballot that the engine breaks at is told with the turn, at the shape."""

    def count(ballot: object, *rest: object) -> None:
        raise KeyError("scores")

    monkeypatch.setattr("debate_orchestrator.core.tally.read_ballot", count)
    (one,) = told(tmp_path / "mine")
    assert one.startswith("shapes.ballot: a ") and "stops at 1.vote.judge" in one


def test_a_report_that_can_not_be_told(tmp_path: Path) -> None:
    """A dissent record without what the report shows of it is told at the shapes."""
    odd = FORMAT.replace(
        "after:\n", "after:\n  - {name: rows, title: Rows, tag: ROWS, seats: [judge], reply: rows, template: vote}\n"
    )
    odd += "  rows:\n    rows: {kind: list, fields: {claim: {kind: text}}}\n"
    (one,) = told(tmp_path / "mine", format_yaml=odd)
    assert one.startswith("shapes: a calm debate of 1 round (plain) can't be reported (")


def test_a_format_without_a_turn(tmp_path: Path) -> None:
    """A format in which no seat ever has a turn is told, and breaks nothing."""
    never = FORMAT[: FORMAT.index("round:\n  - name")] + FORMAT[FORMAT.index("shapes:") :] + "round: []\n"
    (one,) = told(tmp_path / "mine", format_yaml=never)
    assert one == "round: a calm debate of 1 round (plain) has no turns."
    assert "There are no phases" in format_check.find_mistakes(str(tmp_path / "mine"))[0]


def test_the_small_format_can_be_debated_by(tmp_path: Path) -> None:
    """Nothing goes wrong in a format that is well made."""
    assert told(tmp_path / "mine") == []
    assert told(tmp_path / "other", **{"system.md.j2": "Hello, {{ name(turn.seat) }}."}) == []
    assert set(FILES) >= {"format.yaml"}


def test_trials_without_a_turn_end_in_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The time for all trials is held where they have no turn to play, too."""
    monkeypatch.setattr(dry_run, "SECONDS", 0)
    assert (
        "more than 0 s"
        in told(
            tmp_path / "mine",
            format_yaml=FORMAT.replace("seats: [a, b]", NEVER).replace("seats: [judge]", NEVER_JUDGED),
        )[0]
    )


def test_a_format_with_nothing_due_in_one_round_is_looked_over(tmp_path: Path) -> None:
    """A format in which no seat has a turn in one round is complained of like any other."""
    text = FORMAT.replace("seats: [a, b]", NEVER).replace("seats: [judge]", NEVER_JUDGED)
    assert any(
        "has no turns" in one for one in format_check.find_mistakes(str(written(tmp_path / "mine", format_yaml=text)))
    )
