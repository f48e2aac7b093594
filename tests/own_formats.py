"""A small format of a user's own, to be written to a folder, changed and spoiled."""

from __future__ import annotations

from pathlib import Path

POINTER = "§"
"""Stands in a change where a complaint should point; it is taken out before anything is written."""

FORMAT = """\
# A small format, in which both speak and a judge says who was better.
title: Small
about: Both speak, and a judge says who was better.
rubric: rubric.yaml
seats:
  a: {name: Anna, label: Pro, tag: A}
  b: {name: Ben, label: Con, tag: B}
  judge: {name: Jo, tag: J}
round_limits: {default: 1, max: 2, max_if_insisted: 3}
announcements:
  round: "ROUND {round} OF {rounds}"
  intervention: "[STOP - {round}]"
  divergence: "[FORCED]"
  converged_again: They still agree.
  final: "[END]"
reserved_lines:
  concede: You win.
  decline: I will not.
round:
  - name: speech
    title: Speech
    tag: SPEECH
    seats: [a, b]
    target_words: 100
  - name: vote
    title: Vote
    tag: VOTE
    seats: [judge]
    order: simultaneous
    reply: ballot
  - name: forced
    title: Another Speech
    tag: FORCED
    seats: [a, b]
    order: simultaneous
    triggered_by: convergence
    template: speech
after:
  - name: end
    title: End
    tag: END
    seats: [judge]
    reply: final
shapes:
  ballot:
    scores: {kind: scores}
    winner: {kind: choice, options: [a, b, tie]}
    convergence:
      kind: object
      fields:
        detected: {kind: boolean}
        criteria: {kind: choices, options: [same], only_if: {detected: true}}
        side: {kind: choice, options: [a, b, both], only_if: {detected: true}}
  final:
    winner: {kind: choice, options: [a, b, tie, consensus]}
"""
RUBRIC = """\
min: 0
max: 5
criteria:
  wit: {title: Wit, about: Is it funny}
strictness:
  plain: {about: Plainly., judge: Judge plainly., debaters: Be plain.}
"""
SPEECH = """\
{% include "./seat.md.j2" %}
Speak for {{ positions[turn.seat] }} against {{ name(other) }}.
{% if target %}Answer {{ target.id }}.{% endif %}
{% for side in sides %}{{ loop.index }} is {{ side }}.
{% endfor %}
"""
FILES = {
    "format.yaml": FORMAT,
    "rubric.yaml": RUBRIC,
    "seat.md.j2": "You are {{ name(turn.seat) }} in round {{ turn.round }}.\n",
    "speech.md.j2": SPEECH,
    "vote.md.j2": '{% include "shared/judge.md.j2" %}\nVote.\n{{ schema | json }}\n',
    "end.md.j2": "{{ totals.a | points }} to {{ totals.b | points }}: who was better?\n",
}
EXTENDING = "# As the adversarial one.\nextends: adversarial\ntitle: Short\nrounds: {default: 1, max: 2}\n"
"""A format.yaml that is nothing but what it changes."""


def write_format(folder: Path, **changes: str) -> Path:
    """The small format in a folder, with other texts for some files (`speech_md_j2="..."`)."""
    named = {name.replace(".", "_"): name for name in FILES}
    files = FILES | {named.get(name, name): text for name, text in changes.items()}
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in files.items():
        (folder / name).write_text(text, encoding="utf-8")
    return folder


def pointed_at(text: str) -> tuple[str, int]:
    """A text without its pointer, and the line where that stood; 0 if there was none."""
    before, found, _ = text.partition(POINTER)
    return text.replace(POINTER, ""), before.count("\n") + 1 if found else 0


def spoil_format(folder: Path, file: str, old: str, new: str) -> int:
    """Writes the small format with a change in one file; the line of the pointer in the change."""
    text = FILES.get(file, "")
    assert text.count(old) >= 1, old
    text, line = pointed_at(text.replace(old, new, 1))
    assert line, "a change must say where its complaint should point"
    write_format(folder)
    (folder / file).write_text(text, encoding="utf-8")
    return line
