"""Mistakes that a user makes in a format of their own, each told by the line where it stands."""

from __future__ import annotations

from pathlib import Path

import pytest
from own_formats import FORMAT, spoiled

from debate_orchestrator.engine import format_check
from debate_orchestrator.util.errors import DebateError

YAML, RUBRIC, SPEECH, VOTE = "format.yaml", "rubric.yaml", "speech.md.j2", "vote.md.j2"
VOTED = FORMAT[FORMAT.index("    reply: ballot") : FORMAT.index(" convergence\n")]
SCORES, WINNER, DIR = "scores: {kind: scores}", "winner: {kind: choice, of: [a, b, tie]}", "./mine"

MISTAKES = [
    # No YAML
    (YAML, "title: Small", "§title: Small: er", "mapping values are not allowed here"),
    (YAML, "title: Small", "title: Small\n§title: Smaller", "the key 'title' appears twice"),
    (YAML, "insist: 3}\nlabels", "insist: 3\n§labels", "expected ',' or '}', but got ':'"),
    (YAML, "title: Small", "title: §&x Small", "anchors (&name)"),
    (YAML, "title: Small", "§title: !!str Small", "tags (!name)"),
    (YAML, "title: Small", "title: Sma§ll\x07", "special characters are not allowed"),
    (RUBRIC, "most: 5", "§\tmost: 5", "that cannot start any token"),
    # Keys
    (YAML, "title: Small", "§titel: Small", "titel: 'titel' is not a key here; use one of extends, title,"),
    (YAML, "title: Small", "§titel: Small", "the key 'title' is missing"),
    (YAML, "    words: 100", "    §word: 100", "round[0].word: 'word' is not a key here; use one of name, title"),
    (YAML, "{kind: flag}", "{kind: flag, §per_sides: true}", "Did you mean 'per_side'?"),
    (YAML, "name: speech\n    title: Speech", "§name: speech", "round[0]: the key 'title' is missing"),
    (YAML, "title: Small", "§name: smal\ntitle: Small", "name: 'smal' should be 'mine'"),
    (YAML, "  judge: {name: Jo, tag: J}", "  judge: {§name: Jo}", "seats.judge: the key 'tag' is missing"),
    # Values
    (YAML, "words: 100", "§words: many", "round[0].words: 'many' should be a whole number"),
    (YAML, "order: at once", "§order: at onec", "should be 'in turn' or 'at once'. Did you mean 'at once'?"),
    (YAML, "title: Speech", "§title: 7", "round[0].title: 7 should be text. Put it in quotes."),
    (YAML, "title: Speech", '§title: "Two\\nlines"', "should be a line of text"),
    (YAML, "seats: [a, b]", "§seats: [a, a]", "round[0].seats: A seat is named twice in a, a"),
    (YAML, WINNER, "winner: {§kind: chioce}", "Did you mean 'choice'?"),
    (YAML, "rounds: {default: 1", "§rounds: {default: 3", "default 3, most 2, insist 3: each must be at least"),
    (YAML, "insist: 3", "§insist: 3000", "from 1 to 100"),
    (YAML, "    words: 100", "    §when: {round: frist}", "should be 'first', 'later', 'last' or 'not last' or a"),
    (YAML, "    words: 100", "    §when: {round: 4}", "round[0].when.round: 4 should be 1 to 3"),
    (YAML, "    words: 100", "    §when: {strictness: harsh}", "when.strictness: 'harsh' should be plain"),
    (YAML, "  concede: You win.", "  §concede: ''", "lines.concede: '' should be one line of text"),
    (YAML, "  decline: I will not.", "  §decline: You win.", "is also the line that concedes"),
    (YAML, "{round} OF {rounds}", "§{round} OF {all}", "{all} can't be filled in; use only {round} and {rounds}"),
    (YAML, '"[STOP - {round}]"', '§"[STOP - {round"', "Double each brace"),
    # What does not hang together
    (YAML, "  b: {name", "  §c: {name", "'c' is not a seat: the seats are a, b, judge"),
    (YAML, "seats: [a, b]", "seats: [a, §c]", "round[0].seats[1]: phase 'speech' seats 'c', which is not a seat"),
    (YAML, "    words: 100", "    heard_by: [a, §jugde]", "phase 'speech' is heard by 'jugde', which is not a seat"),
    (YAML, "reply: final", "§reply: finale", "wants the shape 'finale', which is not among the shapes"),
    (YAML, "name: vote", "§name: speech", "two phases are called 'speech'"),
    (YAML, "side: {kind: choice, of: [a, b, both], only_if: {d", "side: {kind: choice, §only_if: {x", "a field beside"),
    (YAML, VOTED, VOTED.replace("ballot", "final").replace("on:", "§on:"), "no phase of the round before it looks"),
    (YAML, "after:", "context_heard_by: [§c]\nafter:", "context_heard_by names 'c', which is not a seat"),
    (YAML, SCORES, "scores: {§kind: flag}", "shapes.ballot.scores.kind: got 'flag'; expected 'scores'"),
    (YAML, WINNER, "winner: {§optional: true, kind: choice}", "can't depend on a condition"),
    (YAML, WINNER, "winner: {kind: choice, §of: [pro, con, tie]}", "has the winner 'pro', which is not a side"),
    # The rubric
    (YAML, "rubric: rubric.yaml", "§rubric: rubrik.yaml", "a file in ./mine/. Did you mean 'rubric.yaml'?"),
    (YAML, "rubric: rubric.yaml", "§rubric: reserach", "one of answer, conversation, panel, research, a file"),
    (YAML, "rubric: rubric.yaml\n", "rubric: §{least: 1, most: 2}\n", "rubric: the key 'strictness' is missing"),
    (RUBRIC, "most: 5", "§most: inf", "should be a finite number"),
    (RUBRIC, "least: 0", "§least: 5", "the rubric's scale must go from 0 or more to something larger"),
    (RUBRIC, "criteria:\n  wit: {", "§criteria:\n  wit: {when: {strictness: plain}, ", "that always applies"),
    # Templates
    (YAML, "    words: 100", "    §template: speach", f"no template {DIR}/speach.md.j2. Did you"),
    (YAML, "template: speech", "§template: adversarial/opnening", "Did you mean 'adversarial/opening'?"),
    (SPEECH, "Speak", "§{% if %}Speak", "Expected an expression"),
    (SPEECH, "{{ loop.index }} is {{ side }}.\n{% endfor %}", "§", "Unexpected end of template"),
    (SPEECH, "name(other)", "§name(othr)", "a debater's brief does not provide the name 'othr'. Did"),
    (SPEECH, "{{ name(other) }}", "§{{ name(othr) }}", "Did you mean 'other'?"),
    (SPEECH, "{% endfor %}", "{% endfor %}\n§{{ loop.index }}", "the name 'loop'"),
    (SPEECH, "Answer", "§{{ criteria }}", "a debater's brief does not provide the name 'criteria'."),
    (SPEECH, "positions[turn.seat] }}", "positions[turn.seat] | §lien }}", "no filter 'lien'"),
    (SPEECH, "{% if target %}", "§{% if target is definde %}", "there is no test 'definde'."),
    (SPEECH, "./seat.md.j2", "§./seet.md.j2", "no template './seet.md.j2'"),
    (SPEECH, "./seat.md.j2", "§shared/judge.md.j2", "which prompts/shared/judge.md.j2 uses"),
    ("seat.md.j2", "name(turn.seat)", "§nmae(turn.seat)", "Did you mean 'name'?"),
    ("system.md.j2", "", "All\n§{{ criteria }}", "a debater's brief does not provide"),
    ("unused.md.j2", "", "All\n§{{ critera }}", "no brief provides the name 'critera'. Did you mean 'criteria'?"),
    # Only a debate shows these
    (SPEECH, "Answer {{ target.id }}", "§{{ target.idd }}", "has no attribute 'idd'"),
    (SPEECH, "{{ positions[turn.seat] }}", "§{{ positions[turn.seat] + 1 }}", "TypeError"),
    (VOTE, "Vote.", "§{{ ballots[0].ballot.scors }}", "no attribute 'scors'"),
]  # fmt: skip


def mistakes() -> list[str]:
    try:
        return format_check.find_mistakes("./mine")
    except DebateError as error:
        return error.complaints


@pytest.mark.slow
@pytest.mark.parametrize(("file", "old", "new", "said"), MISTAKES)
def test_a_mistake_is_told_where_it_stands(here: Path, file: str, old: str, new: str, said: str) -> None:
    """What is wrong is told in a line that begins with the file and the line of the mistake."""
    line = spoiled(here / "mine", file, old, new)
    told = mistakes()
    assert [one for one in told if one.startswith(f"./mine/{file}:{line}: ") and said in one], told
    assert all("\n" not in one for one in told)
