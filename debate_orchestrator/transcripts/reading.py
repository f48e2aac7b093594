"""A debate that was written down elsewhere: one markdown document in, its speeches with their speakers out.

Nothing is guessed in silence and no text is dropped: what can't be told is refused, with all complaints at once,
and what had to be assumed is noted. The text of a speech is never read for meaning. Reports and transcripts of this
package are read back to the speeches that they tell; any other document is for `documents`.
"""

from __future__ import annotations

import re
from itertools import pairwise

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
_TRANSCRIPT = "# Debate Transcript"
"""How a transcript of this package begins, and others too."""


def read(text: str, name: str) -> Transcript:
    """The transcript that a document holds. BadFile, with every complaint, where it is not told who says what;
    `name` is what complaints call the document."""
    text = re.sub("\r\n?", "\n", text)
    first = text.lstrip("\n").split("\n", 1)[0].rstrip()
    told = _transcript(text) if first == _TRANSCRIPT else None
    if told is not None:
        made, wrong = told, list[str]()
    else:
        made, wrong = _report(text, name) if first == _REPORT else Document(text, name).read()
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


_LINE = re.compile(r"\*\*(.+?):\*\* (.*)")
_NAMED = re.compile(r"(.+?)(?: \([^()]*\))?")
_ABOUT = ("Topic", "Rounds", "Rounds Completed", "Judge Strictness", "Date", "Spoken by", "From the Floor")
"""What the head of a report tells besides the sides."""
_ROUND = re.compile(r"Round (\d{1,3})")
_TAG = re.compile(r"\[.+\]")
_SHORT = re.compile(
    r"\*Here (?:a limit of length cut the speech short"
    r"|the limit of \d+ words was reached: \d+ more, which nobody heard, are in the journal)\.\*"
)
_FORBIDDEN = "*It writes lines for the other side, which this format forbids.*"
_FLOOR = "*From the floor:* "
_ENDS = re.compile(r"\n---\n\n\*[^\n]+\*\n*(?:\n---\n\n\*Sealed by [^\n]+\*\n*)?\Z")
"""The line on how it was made, with which a transcript of this package ends, and its seal."""


class _Person(Value):
    """A side as the head of a report tells it."""

    called: str
    """As the head has it: `Researcher A (Pro)`."""
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
        elif inside and (opened := _ROUND.fullmatch(head.text)):
            round = int(opened[1])
        elif inside and (found := _speaker(head.text, people)):
            side, title = found
            body = lines[head.end : following.first if following else len(lines)]
            speeches.append(_speech(side, title, round, people[side].name, _untagged(_bare(body, following))))
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


def _transcript(text: str) -> Transcript | None:
    """The speeches that a bare transcript of this package tells; None where the document is somebody else's, of
    which this may not drop a word."""
    if (end := _ENDS.search(text)) is None:
        return None
    lines = text[: end.start()].split("\n")
    heads = [block for block in markup.outline("\n".join(lines)) if block.kind == "heading"]
    above = lines[heads[0].end : heads[1].first] if len(heads) > 1 else []
    topic, people = _head(above)
    known = all(found and found[1] in (*_ABOUT, *(one.called for one in people.values())) for found in _fields(above))
    if topic is None or len(people) != 2 or not known or any(lines[: heads[0].first]):
        return None
    speeches, round = list[Speech](), 1
    for head, following in pairwise([*heads[1:], None]):
        assert head is not None
        body = _stripped(lines[head.end : following.first if following else len(lines)])
        opened, found = _ROUND.fullmatch(head.text), _speaker(head.text, people)
        if opened and head.level == 2 and not body:
            round = int(opened[1])
        elif found and head.level == 3:
            speeches.append(_speech(found[0], found[1], round, people[found[0]].name, body))
        else:
            return None
    positions = {side: one.position for side, one in people.items()}
    return Transcript(topic=topic, positions=positions, speakers=_spoken_by(above, people), speeches=tuple(speeches))


def _fields(lines: list[str]) -> list[re.Match[str] | None]:
    """The lines of a head as fields; None for one that is none."""
    return [_LINE.fullmatch(line.rstrip(" ")) for line in lines if line.strip()]


def _spoken_by(lines: list[str], people: dict[str, _Person]) -> dict[str, str]:
    """Side to who spoke for it, as the head of a transcript tells."""
    said = next((found[2] for found in _fields(lines) if found and found[1] == "Spoken by"), "")
    a, b = (re.escape(people[side].name) for side in "ab")
    found = re.fullmatch(rf"{a}: (.+); {b}: (.+)", said)
    return {side: markup.unliteral(who) for side, who in zip("ab", found.groups(), strict=True)} if found else {}


def _head(lines: list[str]) -> tuple[str | None, dict[str, _Person]]:
    """The topic, and who argues what, from the head of a report."""
    topic, people = None, dict[str, _Person]()
    for line in lines:
        if (found := _LINE.fullmatch(line.rstrip(" "))) is None:
            continue
        if found[1] == "Topic":
            topic = markup.unliteral(found[2])
        elif found[1] not in _ABOUT and len(people) < 2 and (named := _NAMED.fullmatch(found[1])):
            position = markup.unliteral(found[2])
            people["ab"[len(people)]] = _Person(called=found[1], name=named[1], position=position)
    return topic, people


def _speaker(heading: str, people: dict[str, _Person]) -> tuple[str, str] | None:
    """The side and the title of a speech's heading: `Rebuttal — Researcher A [FORCED DIVERGENCE]`."""
    for side, one in people.items():
        if found := re.fullmatch(rf"(.+) — {re.escape(one.name)}(?: \[([^\[\]]+)\])?", heading):
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


def _untagged(lines: list[str]) -> list[str]:
    """The lines below a speech's tag. Only questions from the floor stand above it."""
    first = next((n for n, line in enumerate(lines) if line and not line.startswith(_FLOOR)), 0)
    return _stripped(lines[first + 1 :]) if lines and _TAG.fullmatch(lines[first]) else lines


def _speech(side: str, title: str, round: int, name: str, lines: list[str]) -> Speech:
    declined = bool(lines) and lines[0] == f"*{name} declined to argue. A refusal is no concession.*"
    lines = _stripped(lines[1:]) if declined else lines
    if lines and lines[-1] == f"*With this, {name} conceded the debate.*":
        lines = _stripped(lines[:-1])
    cut, end = False, len(lines)
    while end and (not lines[end - 1].strip() or lines[end - 1] == _FORBIDDEN or _SHORT.fullmatch(lines[end - 1])):
        end -= 1
        cut = cut or bool(_SHORT.fullmatch(lines[end]))
    said = markup.unescaped("\n".join(_stripped(lines[:end])))
    return Speech(side=side, round=round, title=title, text=said, declined=declined, cut=cut)
