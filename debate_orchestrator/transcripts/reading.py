"""A debate that was written down elsewhere: one markdown document in, its speeches with their speakers out.

Nothing is guessed in silence and no text is dropped: what can't be told is refused, with all complaints at once,
and what had to be assumed is noted. The text of a speech is never read for meaning. Reports of this package are
read back to the speeches that they tell; any other document is for `documents`.
"""

from __future__ import annotations

import re

from debate_orchestrator.core.values import Value
from debate_orchestrator.errors import BadFile, complaint, shown
from debate_orchestrator.reports import markup
from debate_orchestrator.transcripts.documents import Document
from debate_orchestrator.transcripts.speeches import Speech, Transcript

LARGEST = 2_000_000
"""Bytes that a transcript may have."""
MOST_ROUNDS = 50
MOST_SPEECHES = 200
_REPORT = "# Debate Report"
"""How a report of this package begins."""


def read(text: str, name: str) -> Transcript:
    """The transcript that a document holds. BadFile, with every complaint, where it is not told who says what;
    `name` is what complaints call the document."""
    text = re.sub("\r\n?", "\n", text)
    ours = text.lstrip("\n").split("\n", 1)[0].rstrip() == _REPORT
    made, wrong = _report(text, name) if ours else Document(text, name).read()
    if made.speeches and not wrong:
        wrong += _odd(made, name)
    if wrong:
        raise BadFile(wrong)
    return made


def _odd(made: Transcript, name: str) -> list[str]:
    """What is wrong with the speeches as a whole."""
    wrong = []
    if len(made.speeches) > MOST_SPEECHES or made.rounds > MOST_ROUNDS:
        got = f"{made.rounds} rounds with {len(made.speeches)} speeches"
        wrong.append(complaint(name, got, f"at most {MOST_ROUNDS} rounds and {MOST_SPEECHES} speeches"))
    if len({speech.side for speech in made.speeches}) != 2:
        wrong.append(complaint(name, "speeches of one side alone", "both sides"))
    rounds = [speech.round for speech in made.speeches]
    if rounds != sorted(rounds) or set(rounds) != set(range(1, made.rounds + 1)):
        told = ", ".join(str(n) for n in dict.fromkeys(rounds))
        wrong.append(complaint(name, f"the rounds {shown(told)}", "rounds in order, none of them empty"))
    return wrong


_LINE = re.compile(r"\*\*(.+?):\*\* (.*?) *")
_NAMED = re.compile(r"(.+) \([^()]*\)")
_TAG = re.compile(r"\[.+\]")
_CUT = "*Here a limit of length cut the speech short.*"


class _Person(Value):
    """A side as the head of a report tells it."""

    name: str
    position: str


def _report(text: str, name: str) -> tuple[Transcript, list[str]]:
    """The speeches that a report of this package tells, and what is wrong with it. What the report adds to a
    speech (its tag, and that a side declined, conceded or was cut short) is no part of the speech again."""
    lines, heads = text.split("\n"), [block for block in markup.outline(text) if block.kind == "heading"]
    topic, people = _head(lines[: heads[1].first] if len(heads) > 1 else lines)
    speeches, round, inside = [], 1, False
    for head, following in zip(heads, [*heads[1:], None], strict=True):
        if head.level == 2:
            inside = head.text == "Debate Transcript"
        elif inside and (opened := re.fullmatch(r"Round (\d{1,3})", head.text)):
            round = int(opened[1])
        elif inside and (found := _speaker(head.text, people)):
            side, title = found
            body = lines[head.end : following.first if following else len(lines)]
            speeches.append(_speech(side, title, round, people[side].name, _bare(body, following)))
    wrong = []
    if len(people) != 2:
        names = ", ".join(one.name for one in people.values()) or "none"
        wrong.append(complaint(name, f"a report with the sides {names}", "two of them at its head"))
    elif not speeches:
        wrong.append(complaint(name, "a report without a speech", "speeches under `## Debate Transcript`"))
    note = "The verdict that the report tells is left aside; `debate judge` its journal to see both side by side."
    positions = {side: one.position for side, one in people.items()}
    made = Transcript(topic=topic, positions=positions, speakers={}, speeches=tuple(speeches), notes=(note,))
    return made, wrong


def _head(lines: list[str]) -> tuple[str | None, dict[str, _Person]]:
    """The topic, and who argues what, from the head of a report."""
    topic, people = None, dict[str, _Person]()
    for line in lines:
        if (found := _LINE.fullmatch(line)) is None:
            continue
        if found[1] == "Topic":
            topic = markup.unliteral(found[2])
        elif (named := _NAMED.fullmatch(found[1])) and len(people) < 2:
            people["ab"[len(people)]] = _Person(name=named[1], position=markup.unliteral(found[2]))
    return topic, people


def _speaker(heading: str, people: dict[str, _Person]) -> tuple[str, str] | None:
    """The side and the title of a speech's heading: `Rebuttal — Researcher A [FORCED DIVERGENCE]`."""
    for side, one in people.items():
        if found := re.fullmatch(rf"(.+) — {re.escape(one.name)}(?: \[(.+)\])?", heading):
            return side, f"{found[1]} ({found[2].lower()})" if found[2] else found[1]
    return None


def _bare(lines: list[str], following: markup.Block | None) -> list[str]:
    """The lines below a speech's heading without those that are blank at either end, and the rule that closes the
    transcript."""
    lines = _stripped(lines)
    if following is not None and following.level == 2 and lines and lines[-1] == "---":
        lines = _stripped(lines[:-1])
    return lines


def _stripped(lines: list[str]) -> list[str]:
    full = [n for n, line in enumerate(lines) if line.strip()]
    return lines[full[0] : full[-1] + 1] if full else []


def _speech(side: str, title: str, round: int, name: str, lines: list[str]) -> Speech:
    if lines and _TAG.fullmatch(lines[0]):
        lines = _stripped(lines[1:])
    declined = bool(lines) and lines[0] == f"*{name} declined to argue. A refusal is no concession.*"
    lines = _stripped(lines[1:]) if declined else lines
    if lines and lines[-1] == f"*With this, {name} conceded the debate.*":
        lines = _stripped(lines[:-1])
    cut = bool(lines) and lines[-1] == _CUT
    lines = _stripped(lines[:-1]) if cut else lines
    said = markup.unescaped("\n".join(lines))
    return Speech(side=side, round=round, title=title, text=said, declined=declined, cut=cut)
