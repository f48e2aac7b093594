"""Briefs of formats of one's own: rendered from the templates that travel with the debate."""

from __future__ import annotations

from pathlib import Path

import pytest
from own_formats import EXTENDING, written

from debate_orchestrator.core.fold import fold
from debate_orchestrator.core.state import DebateState
from debate_orchestrator.engine import dry_run
from debate_orchestrator.formats import loader, source
from debate_orchestrator.prompting import briefs
from debate_orchestrator.util.errors import BadFormat


def debate(folder: Path) -> DebateState:
    """A debate by the format in that folder, which is not needed any more."""
    draft = source.read_source(str(folder))
    assert draft.format is not None
    return fold([dry_run.opened(draft.format, loader.carried_templates(draft))])


def first(folder: Path) -> briefs.Brief:
    made = debate(folder)
    return briefs.brief(made, made.due[0])


def test_what_travels_is_rendered(tmp_path: Path) -> None:
    """The task is the user's template, with what it includes; the system text is the shared one."""
    made = first(written(tmp_path / "mine"))
    assert made.messages[-1].parts[-1].startswith("You are Anna in round 1.\nSpeak for Anna has a point. against Ben.")
    assert made.system.startswith("You take part in a structured debate.")


def test_a_system_text_of_ones_own(tmp_path: Path) -> None:
    """A system.md.j2 in the format's folder stands in place of the shared one."""
    assert first(written(tmp_path / "mine", **{"system.md.j2": "Hello, {{ topic }}\n"})).system == (
        "Hello, Whether a stand-in has a point."
    )


def test_what_is_inherited_is_rendered_as_it_is_there(tmp_path: Path) -> None:
    """A format that only extends another puts the same briefs before the seats."""
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "format.yaml").write_text("extends: adversarial\n")
    base = fold([dry_run.opened(*loader.load_with_templates("adversarial"))])
    assert first(tmp_path / "mine") == briefs.brief(base, base.due[0])


def test_an_error_is_told_by_template_and_line(tmp_path: Path) -> None:
    """A template that can't be rendered is told by its path and line, one of prompts/ as such."""
    with pytest.raises(BadFormat, match=r"^formats/mine/speech\.md\.j2:2: the template .*: 'topicc' is undefined\."):
        first(written(tmp_path / "mine", speech_md_j2="\n{{ topicc }}"))
    with pytest.raises(BadFormat, match=r"^prompts/shared/judge\.md\.j2:\d+: .* The installed prompts are not"):
        first(written(tmp_path / "mine", speech_md_j2='{% include "shared/judge.md.j2" %}'))


def test_a_template_that_is_gone_is_told(tmp_path: Path) -> None:
    """A debate whose templates neither travel nor are shipped any more says which is missing."""
    made = debate(written(tmp_path / "mine", format_yaml=EXTENDING))
    phase = made.format.round[0].model_copy(update={"template": "adversarial/gone"})
    turn = made.due[0].model_copy(update={"phase": phase})
    with pytest.raises(BadFormat, match=r"^prompts/formats/adversarial/gone\.md\.j2: .* no template 'formats/"):
        briefs.brief(made, turn)


def test_an_error_of_ours_is_not_told_as_a_template_s(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What goes wrong outside of templates is not taken for a user's mistake."""
    monkeypatch.setattr(briefs, "_names", lambda debate: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        first(written(tmp_path / "mine"))


def test_the_names_that_briefs_provide(tmp_path: Path) -> None:
    """The names are those of the briefs that are made: what both have, what a debater has, what a judge has."""
    names = briefs.names(debate(written(tmp_path / "mine")))
    debater, judge = names["debater"].given, names["judge"].given
    assert {"topic", "turn", "positions", "fence", "nonce", "schema"} <= debater & judge
    assert {"other", "target", "advice"} <= debater - judge
    assert {"ballots", "totals", "criteria"} <= judge - debater
    assert [names[role].whose for role in ("debater", "judge")] == ["a debater's", "a judge's"]
