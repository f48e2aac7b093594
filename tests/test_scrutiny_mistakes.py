"""Mistakes that somebody makes in a format of their own, each told by the line where it stands."""

from __future__ import annotations

from pathlib import Path

import pytest
from own_formats import FORMAT, spoiled

from debate_orchestrator.engine import format_check
from debate_orchestrator.util.errors import DebateError

YAML, RUBRIC, SPEECH, VOTE = "format.yaml", "rubric.yaml", "speech.md.j2", "vote.md.j2"
VOTED = FORMAT[FORMAT.index("    reply: ballot") : FORMAT.index(" convergence\n")]
SIGNS = "fields:\n        detected: {kind: flag}\n        criteria"
SCORES, WINNER, DIR = "scores: {kind: scores}", "winner: {kind: choice, of: [a, b, tie]}", "./mine"

MISTAKES = [
    # No YAML
    (YAML, "title: Small", "§title: Small: er", "mapping values are not allowed here"),
    (YAML, "title: Small", "title: Small\n§title: Smaller", "the key 'title' stands twice"),
    (YAML, "insist: 3}\nlabels", "insist: 3\n§labels", "expected ',' or '}', but got ':'"),
    (YAML, "title: Small", "title: §&x Small", "anchors (&name)"),
    (YAML, "title: Small", "§title: !!str Small", "tags (!name)"),
    (YAML, "title: Small", "title: Sma§ll\x07", "special characters are not allowed"),
    (RUBRIC, "most: 5", "§\tmost: 5", "that cannot start any token"),
    # Keys
    (YAML, "title: Small", "§titel: Small", "titel: got the key 'titel'; expected one of extends, title,"),
    (YAML, "title: Small", "§titel: Small", "Did you mean 'title'?"),
    (YAML, "title: Small", "§titel: Small", "got no 'title'; expected that key"),
    (YAML, "    words: 100", "    §word: 100", "round[0].word: got the key 'word'; expected one of name, title"),
    (YAML, "    words: 100", "    §word: 100", "Did you mean 'words'?"),
    (YAML, "side: Pro, ", "§sides: Pro, ", "seats.a.sides: got the key 'sides'; expected one of name, side, tag."),
    (YAML, SCORES, "scores: {kind: scores, §abuot: x}", "shapes.ballot.scores.abuot"),
    (YAML, "{kind: flag}", "{kind: flag, §per_sides: true}", "Did you mean 'per_side'?"),
    (YAML, "name: speech\n    title: Speech", "§name: speech", "round[0]: got no 'title'; expected that key"),
    (YAML, "labels:", "labels:\n  §last: x", "labels.last: got the key 'last'; expected one of round, intervention"),
    (YAML, "title: Small", "§name: smal\ntitle: Small", "name: got 'smal'; expected 'mine'"),
    (YAML, "  judge: {name: Jo, tag: J}", "  judge: {§name: Jo}", "seats.judge: got no 'tag'"),
    # Values
    (YAML, "words: 100", "§words: many", "round[0].words: got 'many'; expected a whole number"),
    (YAML, "words: 100", "§words: 0", "round[0].words: got 0; expected greater than or equal to 1"),
    (YAML, "order: at once", "§order: at onec", "expected 'in turn' or 'at once'. Did you mean 'at once'?"),
    (YAML, "title: Speech", "§title: 7", "round[0].title: got 7; expected text. Put it in quotes."),
    (YAML, "title: Speech", '§title: "Two\\nlines"', "expected a line of text"),
    (YAML, "tag: A}", '§tag: " "}', "seats.a.tag: got ' '"),
    (YAML, "seats: [a, b]", "§seats: a", "round[0].seats: got 'a'; expected a list"),
    (YAML, "seats: [a, b]", "§seats: []", "round[0].seats: phase 'speech' has no seats"),
    (YAML, "seats: [a, b]", "§seats: [a, a]", "round[0].seats: got a, a; expected each seat once"),
    (YAML, "name: speech", "§name: Speech One", "expected small letters, digits and hyphens, with a letter first"),
    (YAML, WINNER, "winner: {§kind: chioce}", "Did you mean 'choice'?"),
    (YAML, "rounds: {default: 1", "rounds: {§default: one", "rounds.default: got 'one'; expected a whole number"),
    (YAML, "rounds: {default: 1", "§rounds: {default: 3", "got default 3, most 2, insist 3; expected 1 or more"),
    (YAML, "insist: 3", "§insist: 3000", "at most 100"),
    (YAML, "title: Small", "title: Small\n§history: dialog", "expected 'transcript' or 'dialogue'. Did you"),
    (YAML, "seats:\n", "§tells_rounds: perhaps\nseats:\n", "tells_rounds: got 'perhaps'; expected true or false"),
    (YAML, "    words: 100", "    §when: {round: frist}", "expected 'first', 'later', 'last' or 'not last' or a whole"),
    (YAML, "    words: 100", "    §when: {round: 4}", "round[0].when.round: got 4; expected 1 to 3"),
    (YAML, "    words: 100", "    §when: {strictness: harsh}", "when.strictness: got 'harsh'; expected plain"),
    (YAML, "  concede: You win.", "  §concede: ''", "lines.concede: got ''; expected a line of text"),
    (YAML, "  decline: I will not.", "  §decline: You win.", "expected another line than the one that concedes"),
    (YAML, "{round} OF {rounds}", "§{round} OF {all}", "labels.round: got {all}; expected only {round} and {rounds}"),
    (YAML, '"[STOP - {round}]"', '§"[STOP - {round"', "expected braces in pairs"),
    # What does not hang together
    (YAML, "  b: {name", "  §c: {name", "'c' is no seat: there are a, b, judge"),
    (YAML, "seats: [a, b]", "seats: [a, §c]", "round[0].seats[1]: phase 'speech' seats 'c', which is no seat"),
    (YAML, "    words: 100", "    heard_by: [a, §jugde]", "phase 'speech' is heard by 'jugde', no seat"),
    (YAML, "reply: final", "§reply: finale", "wants the shape 'finale', which is not among the shapes"),
    (YAML, "name: vote", "§name: speech", "two phases are called 'speech'"),
    (YAML, "side: {kind: choice, of: [a, b, both], only_if: {d", "side: {kind: choice, §only_if: {x", "not beside it"),
    (YAML, VOTED, VOTED.replace("ballot", "final").replace("on:", "§on:"), "no phase of the round before it looks"),
    (YAML, "after:", "context_heard_by: [§c]\nafter:", "context_heard_by names 'c', no seat"),
    (YAML, SCORES, "scores: {§kind: flag}", "shapes.ballot.scores.kind: got 'flag'; expected 'scores'"),
    (YAML, WINNER, "winner: {§optional: true, kind: choice}", "one that is always filled in"),
    (YAML, WINNER, "winner: {kind: choice, §of: [pro, con, tie]}", "shape 'ballot' has the winner 'pro', no side"),
    (YAML, SIGNS, SIGNS.replace("fields", "§fields") + "s", "no 'criteria'; expected a record of detected, side"),
    (YAML, "detected: {kind: flag}", "detected: {§kind: text}", "detected.kind: got 'text'; expected 'flag'"),
    # The rubric
    (YAML, "rubric: rubric.yaml", "§rubric: rubrik.yaml", "a file in ./mine/. Did you mean 'rubric.yaml'?"),
    (YAML, "rubric: rubric.yaml", "§rubric: reserach", "expected one of answer, conversation, panel, research, a file"),
    (YAML, "rubric: rubric.yaml", "§rubric: 5", "rubric: got 5"),
    (YAML, "rubric: rubric.yaml\n", "rubric: §{least: 1, most: 2}\n", "rubric: got no 'strictness'"),
    (RUBRIC, "most: 5", "§most: lots", "rubric.most: got 'lots'; expected a number"),
    (RUBRIC, "most: 5", "§most: inf", "expected a finite number"),
    (RUBRIC, "least: 0", "§least: 5", "the rubric's scale must go from 0 or more to something larger"),
    (RUBRIC, "title: Wit, ", "§titel: Wit, ", "Did you mean 'title'?"),
    (RUBRIC, "criteria:\n  wit: {", "§criteria:\n  wit: {when: {strictness: plain}, ", "that always applies"),
    # Templates
    (YAML, "    words: 100", "    §template: speach", f"no template {DIR}/speach.md.j2; expected that file. Did you"),
    (YAML, "name: vote", "§name: voting", f"no template {DIR}/voting.md.j2"),
    (YAML, "template: speech", "§template: adversarial/opnening", "Did you mean 'adversarial/opening'?"),
    (SPEECH, "Speak", "§{% if %}Speak", "Expected an expression"),
    (SPEECH, "{% if target %}", "§{% fi target %}", "unknown tag 'fi'"),
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
    (SPEECH, "Speak", "§{{ 1 // 0 }}", "ZeroDivisionError"),
    (VOTE, "Vote.", "§{{ ballots[0].ballot.scors }}", "no attribute 'scors'"),
    ("end.md.j2", "totals.a", "§totals.c", "TypeError"),
]  # fmt: skip


def mistakes() -> list[str]:
    try:
        return format_check.find_mistakes("./mine")
    except DebateError as error:
        return error.complaints


@pytest.mark.parametrize(("file", "old", "new", "said"), MISTAKES)
def test_a_mistake_is_told_where_it_stands(here: Path, file: str, old: str, new: str, said: str) -> None:
    """What is wrong is told in a line that begins with the file and the line of the mistake."""
    line = spoiled(here / "mine", file, old, new)
    told = mistakes()
    assert [one for one in told if one.startswith(f"./mine/{file}:{line}: ") and said in one], told
    assert all("\n" not in one for one in told)
