"""A format is looked over whole: everything that is wrong is reported at once, in order, and nothing ever breaks."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from conftest import Run
from own_formats import EXTENDING, FORMAT, spoil_format, write_format

from debate_orchestrator.core.format import Format
from debate_orchestrator.engine import format_check
from debate_orchestrator.formats import loader
from debate_orchestrator.formats.validation import key_path
from debate_orchestrator.prompting import briefs
from debate_orchestrator.util import resources
from debate_orchestrator.util.errors import BadFormat, DebateError


@pytest.mark.slow
@pytest.mark.parametrize("name", resources.format_names())
def test_shipped_formats_are_well_made(name: str) -> None:
    """No shipped format has a mistake that would be reported of a user's, and every debate by it can be played and
    reported."""
    assert format_check.find_problems(name) == []


def test_a_good_format_loads(here: Path) -> None:
    """A format without mistakes is loaded from its folder, or by its file, and is called after the folder."""
    write_format(here / "mine")
    assert format_check.find_problems("./mine") == []
    assert format_check.load("mine/format.yaml").name == "mine"


def test_everything_comes_at_once(here: Path) -> None:
    """Mistakes in the data, in what hangs together, in the rubric and in templates are reported in one go, in order."""
    text = FORMAT.replace("target_words: 100", "target_word: 100").replace("reply: final", "reply: finale")
    write_format(
        here / "mine",
        format_yaml=text,
        rubric_yaml="min: 0\n",
        speech_md_j2="{{ othr }}\n{{ topik }}",
        vote_md_j2="{% if %}",
    )
    with pytest.raises(BadFormat) as refused:
        format_check.load("./mine")
    places = [one.split(": ")[0] for one in refused.value.problems]
    yaml, rubric = "./mine/format.yaml", "./mine/rubric.yaml"
    lines = [f"{yaml}:24", *[f"{rubric}:1"] * 2, *[f"./mine/speech.md.j2:{n}" for n in (1, 2)], "./mine/vote.md.j2:1"]
    assert places == lines


def test_what_is_inherited_is_reported_where_it_stands(here: Path) -> None:
    """A value of the extended format that does not go with the user's is reported by that format's file and line."""
    decline = "I DECLINE TO ARGUE THIS POSITION."
    write_format(here / "mine", format_yaml=f"{EXTENDING}lines: {{concede: {decline}}}\n")
    base = (resources.format_folder("adversarial") / "format.yaml").read_text("utf-8").split("\n")
    line = next(n for n, said in enumerate(base, start=1) if said.startswith("  decline:"))
    (found,) = format_check.find_problems("./mine")
    assert found.startswith(f"prompts/formats/adversarial/format.yaml:{line}: reserved_lines.decline: '{decline[:5]}")


@pytest.mark.slow
def test_extending_is_enough(here: Path) -> None:
    """A format that is nothing but what it changes is whole: its templates are those of the one that it extends. One of
    these that can't be taken by a seat is found by a rehearsal."""
    (here / "mine").mkdir()
    (here / "mine" / "format.yaml").write_text(EXTENDING)
    made = format_check.load("./mine")
    assert (made.name, made.title, made.round_limits.max) == ("mine", "Short", 2)
    assert made.round[0].template == "adversarial/opening"

    asking = "before:\n  - name: opening\n    title: Question\n    tag: Q\n    seats: [judge]\n"
    (here / "mine" / "format.yaml").write_text(EXTENDING + asking)
    found = format_check.find_problems("./mine")
    assert "is undefined" in found[0] and ".md.j2:" in found[0]


@pytest.mark.parametrize("given", ["./nowhere", "nowhere/format.yaml", ".", "~nobody/x", "x.yaml", "/", "a\0/b"])
def test_where_no_format_is(here: Path, given: str) -> None:
    """A path without a format.yaml is reported as such."""
    with pytest.raises(BadFormat, match=r"^format: .* is not a folder with a format\.yaml in it"):
        format_check.load(given)


NEVER, NEVER_JUDGED = (f"seats: [{seats}]\n    when: {{rounds_at_least: 2}}" for seats in ("a, b", "judge"))
ADVERSARIAL = loader.load("adversarial")


def problems_of(folder: Path, **files: str) -> list[str]:
    """Complaints about the small format with other texts in some files."""
    draft = loader.read_source(str(write_format(folder, **files)))
    assert draft.format is not None
    return format_check.dry_run_problems(draft.format, loader.own_templates(draft), key_path)


def changed_format(**changes: Any) -> Format:
    return Format.model_validate(ADVERSARIAL.model_dump() | changes)


@pytest.mark.parametrize(
    ("limits", "plain", "edge_cases"),
    [
        ({"default": 1, "max": 1, "max_if_insisted": 1}, [1], [1]),
        ({"default": 1, "max": 3, "max_if_insisted": 3}, [1, 2, 3], [1, 2]),
        ({"default": 4, "max": 50, "max_if_insisted": 60}, [1, 2, 4, 60], [1, 4]),
    ],
)
def test_the_debates_that_are_tried(limits: dict[str, int], plain: list[int], edge_cases: list[int]) -> None:
    """Plain debates of few rounds, the default and the largest number; edge cases of one round and of several."""
    tried = format_check.dry_runs(changed_format(round_limits=limits))
    assert [rounds for rounds, scenario in tried if scenario == format_check.PLAIN] == plain
    assert [rounds for rounds, scenario in tried if scenario == format_check.EDGE_CASES[0]] == edge_cases


@pytest.mark.slow
def test_every_brief_is_rendered(monkeypatch: pytest.MonkeyPatch) -> None:
    """In the trials of a format each of its templates is rendered, those that answer convergence too."""
    seen: set[str] = set()
    render = briefs._render

    def spy(name: Any, *rest: Any) -> str:
        seen.update([name] if isinstance(name, str) else name)
        return render(name, *rest)

    monkeypatch.setattr(briefs, "_render", spy)
    made = changed_format(round_limits={"default": 1, "max": 2, "max_if_insisted": 2})
    assert format_check.dry_run_problems(made, {}, key_path) == []
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
    (one,) = problems_of(tmp_path / "mine", speech_md_j2=f"\n{said}")
    assert one.startswith(
        "formats/mine/speech.md.j2:2: the template can't be rendered: 'str object' has no attribute 'x'"
    ), where


def test_what_a_judge_is_told_in_some_debates_alone(tmp_path: Path) -> None:
    """A judge's template that fails only after a refusal, a concession or an intervention in vain is found out."""
    said = [
        f"{{% if {name} %}}{{{{ topic.x }}}}{{% endif %}}" for name in ("persisted", "conceded", "declined", "ballots")
    ]
    found = problems_of(tmp_path / "mine", **{"end.md.j2": "\n".join(said)})

    places = {one.partition(": the template can't be rendered: 'str object' has no attribute 'x'")[0] for one in found}
    assert places == {f"formats/mine/end.md.j2:{n}" for n in (1, 2, 3, 4)}


def test_a_debate_that_the_engine_can_not_go_on_with(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A ballot that the engine breaks at is reported with the turn, at the shape."""

    def count(ballot: object, *rest: object) -> None:
        raise KeyError("scores")

    monkeypatch.setattr("debate_orchestrator.core.tally.read_ballot", count)
    (one,) = problems_of(tmp_path / "mine")
    assert one.startswith("shapes.ballot: a ") and "stops at 1.vote.judge" in one


def test_a_report_that_can_not_be_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What breaks the report of a whole debate is reported at the shapes, as it was raised."""

    def broken(*_: Any) -> Any:
        raise KeyError("scores")

    monkeypatch.setattr("debate_orchestrator.reports.decision_brief.issues_report", broken)
    (one, *_) = problems_of(tmp_path / "mine")
    assert one.startswith("shapes: a plain debate of 1 round (plain) can't be reported (KeyError: 'scores')")


def test_a_format_without_a_turn(tmp_path: Path) -> None:
    """A format in which no seat ever has a turn is reported, and breaks nothing."""
    never = FORMAT[: FORMAT.index("round:\n  - name")] + FORMAT[FORMAT.index("shapes:") :] + "round: []\n"
    (one,) = problems_of(tmp_path / "mine", format_yaml=never)
    assert one == "round: a plain debate of 1 round (plain) has no turns."
    assert "There are no phases" in format_check.find_problems(str(tmp_path / "mine"))[0]


YAML, RUBRIC, SPEECH, VOTE = "format.yaml", "rubric.yaml", "speech.md.j2", "vote.md.j2"
VOTED = FORMAT[FORMAT.index("    reply: ballot") : FORMAT.index(" convergence\n")]
SCORES, WINNER, DIR = "scores: {kind: scores}", "winner: {kind: choice, options: [a, b, tie]}", "./mine"

MISTAKES = [
    # No YAML
    (YAML, "title: Small", "§title: Small: er", "mapping values are not allowed"),
    (RUBRIC, "max: 5", "§\tmax: 5", "found a tab character"),
    # Keys
    (YAML, "title: Small", "§titel: Small", "the key 'title' is missing"),
    (YAML, "    target_words: 100", "    §target_word: 100", "round[0].target_word: 'target_word' is not a key"),
    (YAML, "  a: {name", "  a: {§words: 5, name", "'words' is not a key here. Try: one of name, label, tag."),
    (YAML, "title: Small", "§template: speech\ntitle: Small", "'template' is not a key here. Try: one of name, title"),
    (YAML, "name: speech\n    title: Speech", "§name: speech", "round[0]: the key 'title' is missing"),
    (YAML, "title: Small", "§name: smal\ntitle: Small", "name: 'smal' should be 'mine'"),
    (YAML, "  judge: {name: Jo, tag: J}", "  judge: {§name: Jo}", "seats.judge: the key 'tag' is missing"),
    # Values
    (YAML, "target_words: 100", "§target_words: many", "round[0].target_words: 'many' should be a whole number"),
    (YAML, "title: Speech", '§title: "Two\\nlines"', "should be a line of text"),
    (YAML, "seats: [a, b]", "§seats: [a, a]", "round[0].seats: A seat is named twice in a, a"),
    (YAML, "round_limits: {default: 1", "§round_limits: {default: 3", "default 3, max 2, max_if_insisted 3: each must"),
    (YAML, "max_if_insisted: 3", "§max_if_insisted: 3000", "from 1 to 100"),
    (YAML, "    target_words: 100", "    §when: {round: 4}", "round[0].when.round: 4 should be 1 to 3"),
    (YAML, "    target_words: 100", "    §when: {strictness: harsh}", "when.strictness: 'harsh' should be plain"),
    (YAML, "  concede: You win.", "  §concede: ''", "lines.concede: '' should be one line of text"),
    (YAML, "  concede: You win.", '  §concede: "***"', "lines.concede: '***' has no letter and no digit"),
    (YAML, "  decline: I will not.", "  §decline: You win.", "is also the line that concedes"),
    (YAML, "{round} OF {rounds}", "§{round} OF {all}", "{all} can't be filled in; use only {round} and {rounds}"),
    # What does not hang together
    (YAML, "  b: {name", "  §c: {name", "'c' should be a seat: a, b, judge"),
    (YAML, "seats: [a, b]", "seats: [a, §c]", "'c' should be a seat: a, b, judge"),
    (YAML, "both], only_if: {d", "both], §only_if: {x", "a field beside"),
    (YAML, VOTED, VOTED.replace("ballot", "final").replace("trigg", "§trigg"), "no phase of the round before it"),
    (YAML, WINNER, "winner: {§optional: true, kind: choice}", "can't depend on a condition"),
    # The rubric
    (YAML, "rubric: rubric.yaml", "§rubric: rubrik.yaml", "a file in ./mine/. Did you mean 'rubric.yaml'?"),
    (YAML, "rubric: rubric.yaml", "§rubric: reserach", "one of answer, conversation, panel, research, a file"),
    (YAML, "rubric: rubric.yaml\n", "rubric: §{min: 1, max: 2}\n", "rubric: the key 'strictness' is missing"),
    # Templates
    (YAML, "    target_words: 100", "    §template: speach", f"no template {DIR}/speach.md.j2. Did you"),
    (YAML, "template: speech", "§template: adversarial/opnening", "Did you mean 'adversarial/opening'?"),
    (SPEECH, "Speak", "§{% if %}Speak", "Expected an expression"),
    (SPEECH, "name(other)", "§name(othr)", "no brief provides the name 'othr'. Did you mean 'other'?"),
    ("seat.md.j2", "name(turn.seat)", "§nmae(turn.seat)", "Did you mean 'name'?"),
    ("system.md.j2", "", "All\n§{{ criteria }}", "'criteria' is undefined"),
    ("unused.md.j2", "", "All\n§{{ critera }}", "no brief provides the name 'critera'. Did you mean 'criteria'?"),
    # Only a debate shows these
    (SPEECH, "Answer {{ target.id }}", "§{{ target.idd }}", "has no attribute 'idd'"),
    (VOTE, "Vote.", "§{{ ballots[0].ballot.scors }}", "no attribute 'scors'"),
]  # fmt: skip


def mistakes() -> list[str]:
    try:
        return format_check.find_problems("./mine")
    except DebateError as error:
        return error.problems


@pytest.mark.slow
@pytest.mark.parametrize(("file", "old", "new", "said"), MISTAKES)
def test_a_mistake_is_reported_where_it_stands(here: Path, file: str, old: str, new: str, said: str) -> None:
    """What is wrong is reported in a line that begins with the file and the line of the mistake."""
    line = spoil_format(here / "mine", file, old, new)
    found = mistakes()
    assert [one for one in found if one.startswith(f"./mine/{file}:{line}: ") and said in one], found
    assert all("\n" not in one for one in found)


def test_trials_have_an_end(debate: Run, here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A format whose trials take too long is told so, and no longer tried."""
    monkeypatch.setattr(format_check, "MAX_SECONDS", 0)
    write_format(here / "mine")
    ran = debate("formats", "./mine")

    assert ran.code == 2 and "dry runs of this format take more than 0 s" in ran.err


def test_templates_that_compute_long_are_named(debate: Run, here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The rehearsals end where its templates take too long together; the one that takes the most is named."""
    monkeypatch.setattr(format_check, "MAX_TEMPLATE_SECONDS", 0.3)
    write_format(here / "mine")
    slow = next(iter(sorted((here / "mine").glob("*.j2"))))
    rows = "{%- for j in range(2000) -%}{%- if i == j + 5000 -%}x{%- endif -%}{%- endfor -%}"
    loop = f"{{%- for i in range(1000) -%}}{rows}{{%- endfor -%}}"
    slow.write_text(f"{loop}{slow.read_text(encoding='utf-8')}", encoding="utf-8")
    ran = debate("formats", "./mine")

    assert ran.code == 2 and "templates of this format take more than 0.3 s, and this one takes the most" in ran.err
    assert f"./mine/{slow.name}: " in ran.err
