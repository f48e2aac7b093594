"""A document that somebody wrote down a debate in, in whatever shape: its headings and names, made into speeches.

A debate's shape is read from headings (`## Round 1`, `### Claude (Pro)`) or from paragraphs that begin with a name
(`**FOR:** ...`). What can't be told is a complaint, what had to be assumed a note, and no text is dropped.
"""

from __future__ import annotations

import re

from debate_orchestrator.errors import complaint, shown
from debate_orchestrator.reports import markup
from debate_orchestrator.transcripts import attribution
from debate_orchestrator.transcripts.attribution import Label
from debate_orchestrator.transcripts.speeches import Mark, Speech, Transcript, Walk

_BOLD = re.compile(r"(\*\*|__)(?P<label>[^*]{1,80}?)(?:[:：]\s*\1|\1\s*[:：])[ \t]*(?P<rest>.*)")
_BOLD_ALONE = re.compile(r"(\*\*|__)(?P<label>[^*]{1,80}?)\1[ \t]*(?P<rest>)")
_PLAIN = re.compile(r"(?P<label>[^:：*]{1,60})[:：](?:[ \t]+|$)(?P<rest>.*)")
_ABOUT = re.compile(
    r"(?:topic|motion|resolution|question|title|date|format|rounds?|participants?|speakers?|models?|debaters?|judges?"
    r"|strictness|judge strictness|rounds completed|winner|word limit|note|position|position [ab])",
    re.IGNORECASE,
)
_RULE = re.compile(r" {0,3}([-*_=])(?:[ \t]*\1){2,}[ \t]*")


class Document:
    """A document of whatever shape."""

    def __init__(self, text: str, name: str):
        text = re.sub("\r\n?", "\n", text)
        self.name, self.lines = name, text.split("\n")
        self.wrong: list[str] = []
        self.notes: list[str] = []
        self.blocks = [self._as_meant(block) for block in markup.outline(text)]
        self.heads = [(block, attribution.read(block.text)) for block in self.blocks if block.kind == "heading"]
        self.start = self._start()
        self.people = attribution.participants(self.lines[: self.start])

    def read(self) -> tuple[Transcript, list[str]]:
        marks = self._headed() or self._labelled()
        sides = self._sides([mark for mark in marks if mark.kind == "speaker"])
        speeches = self._speeches(marks, sides) if not self.wrong else []
        self._must_be_closed()
        above = attribution.participants(self.lines[: marks[0].first] if marks else [])
        topic = self.people.topic or above.topic or self._title()
        made = Transcript(
            topic=topic,
            positions=self.people.positions,
            speakers={side: name for side, name in sorted(self.people.names.items()) if attribution.side(name) is None},
            speeches=tuple(speeches),
            notes=tuple(self.notes),
        )
        return made, self.wrong

    def _refuse(self, line: int, got: str, expected: str, hint: str = "") -> None:
        self.wrong.append(complaint(f"{self.name}: line {line + 1}", got, expected, hint))

    def _as_meant(self, block: markup.Block) -> markup.Block:
        """A paragraph that a line of dashes right below makes a heading is one only where it names something."""
        underlined = block.kind == "heading" and not self.lines[block.first].lstrip().startswith("#")
        label = attribution.read(block.text)
        spoken = (found := _BOLD.fullmatch(block.text) or _PLAIN.fullmatch(block.text)) and found["rest"]
        named = not spoken and (label.round is not None or label.side is not None or (label.title and not label.name))
        title = block.first == 0 and block.level == 1
        return block._replace(kind="paragraph", level=0) if underlined and not (named or title) else block

    def _start(self) -> int:
        """The line with which the debate begins: the first that names a round or a side as a heading does, and
        in a document without such headings the first rule that nothing but short lines stand above."""
        named = [block.first for block, label in self.heads if label.round is not None or label.side is not None]
        named += [block.first for block in self.blocks if self._round(block) is not None]
        if named:
            return min(named)
        for block in self.blocks:
            if block.kind == "rule":
                above = [line for line in self.lines[: block.first] if line.strip()]
                return block.end if all(len(line.split()) <= 30 for line in above) else 0
        return 0

    def _round(self, block: markup.Block) -> Label | None:
        """What a paragraph of one line names that names a round and nothing else."""
        if block.kind != "paragraph" or "\n" in block.text or len(block.text) > attribution.LONGEST:
            return None
        label = attribution.read(block.text)
        return label if label.round is not None and not label.speaks and not label.title else None

    def _is_title(self, block: markup.Block, label: Label) -> bool:
        """Whether a heading is that of the whole document."""
        return block == self.heads[0][0] and not label.title and label.round is None

    def _known(self, label: Label) -> bool:
        return label.side is not None or attribution.key(label.name) in self.people.sides

    # Speakers named by headings

    def _headed(self) -> list[Mark]:
        """The marks of a document in which headings name the speakers; none in any other."""
        speaking = self._speaking()
        if not speaking:
            return []
        deepest = max(block.level for block in speaking)
        marks = [Mark(b.first, b.end, "round", label, b.text, 6) for b in self.blocks if (label := self._round(b))]
        for block, label in self.heads:
            kind = "speaker" if block in speaking else "round" if label.round is not None else "section"
            if kind != "section" or (block.level <= deepest and not self._is_title(block, label)):
                marks.append(Mark(block.first, block.end, kind, label, block.text, block.level))
        return sorted(marks)

    def _speaking(self) -> list[markup.Block]:
        """The headings that name a speaker: those with a side or a participant's name; where there is none, the
        highest ones below the rounds; where there are no rounds, names that come again at one level."""
        known = [block for block, label in self.heads if block.first >= self.start and self._known(label)]
        if len({self._who(attribution.read(block.text)) for block in known}) > 1:
            return known
        levels = [block.level for block, label in self.heads if label.round is not None]
        named = [(block, label) for block, label in self.heads if label.name and label.round is None]
        if levels:
            below = [block for block, _ in named if block.level > max(levels) and block.first >= self.start]
            top = min((block.level for block in below), default=0)
            return [block for block in below if block.level == top]
        for level in range(1, 7):
            here = [(block, attribution.key(label.name)) for block, label in named if block.level == level]
            names = [name for _, name in here]
            if here and all(names.count(name) > 1 for name in names):
                return [block for block, _ in here]
        return known

    # Speakers named where a paragraph begins

    def _labelled(self) -> list[Mark]:
        """The marks of a document in which paragraphs begin with their speaker's name."""
        found: list[Mark] = []
        for block in self.blocks:
            if block.kind == "paragraph" and block.first >= self.start:
                for n in range(block.first, block.end):
                    found += self._label(n, alone=n == block.first and block.end - block.first == 1)
        known = [mark for mark in found if self._known(mark.label)]
        others = [mark for mark in found if attribution.is_other(mark.label.name)]
        both = len({self._who(mark.label) for mark in known}) > 1
        speaking = sorted({*known, *others}) if both else found
        marks = [Mark(b.first, b.end, "round", label, b.text, 6) for b in self.blocks if (label := self._round(b))]
        rounds = [block.level for block, label in self.heads if label.round is not None]
        for block, label in self.heads:
            section = block.level <= max(rounds, default=6) and not self._is_title(block, label)
            if label.round is not None or section:
                kind = "round" if label.round is not None else "section"
                marks.append(Mark(block.first, block.end, kind, label, block.text, block.level))
        return sorted([*marks, *speaking]) if speaking else []

    def _label(self, n: int, *, alone: bool) -> list[Mark]:
        """The mark that a line of a paragraph is, if it is one."""
        line = self.lines[n].strip()
        found = _BOLD.fullmatch(line) or (_BOLD_ALONE.fullmatch(line) if alone else None)
        bold = found is not None
        found = found or _PLAIN.fullmatch(line)
        if found is None or _ABOUT.fullmatch(found["label"].strip()):
            return []
        label = attribution.read(found["label"])
        if not label.speaks or not (self._known(label) or attribution.is_other(label.name) or bold):
            return []
        return [Mark(n, n + 1, "speaker", label, found["label"].strip(), 7, found["rest"])]

    # Who they are, and what they say

    def _sides(self, speaking: list[Mark]) -> dict[str, str]:
        """Name to side, for every speaker; complains unless there are just two, on two sides."""
        seen: dict[str, list[Mark]] = {}
        for mark in speaking:
            seen.setdefault(self._who(mark.label), []).append(mark)
        sides = {who: side for who, marks in seen.items() if (side := self._side(marks)) is not None}
        by_side = {side: [who for who in seen if sides.get(who) == side] for side in "ab"}
        if len(by_side["a"]) == 1 and len(by_side["b"]) == 1 and len(seen) == 2:
            return self._named(seen, sides)
        if len(seen) == 2 and len(set(sides.values())) == len(sides):
            first, second = seen
            taken = sides.get(first) or ("a" if sides.get(second, "b") == "b" else "b")
            other = "b" if taken == "a" else "a"
            names = {taken: seen[first][0].text, other: seen[second][0].text}
            self.notes.append(
                f"{shown(names['a'])} is taken to argue for (side A), {shown(names['b'])} against (side B)."
            )
            return self._named(seen, {first: taken, second: other})
        self._refuse_speakers(seen)
        return {}

    def _who(self, label: Label) -> str:
        """What tells speakers apart: the side where it is known, otherwise the name."""
        return label.side or self.people.sides.get(attribution.key(label.name)) or f"={attribution.key(label.name)}"

    def _side(self, marks: list[Mark]) -> str | None:
        who = self._who(marks[0].label)
        return who if who in ("a", "b") else None

    def _named(self, seen: dict[str, list[Mark]], sides: dict[str, str]) -> dict[str, str]:
        """Enters the speakers' names; what tells them apart, to their side."""
        for who, marks in seen.items():
            name = next((mark.label.name for mark in marks if mark.label.name), None)
            if name is not None:
                self.people.names.setdefault(sides[who], name)
        return sides

    def _refuse_speakers(self, seen: dict[str, list[Mark]]) -> None:
        found = [f"{shown(marks[0].text, 40)} ({len(marks)})" for marks in seen.values()]
        more = f" and {len(found) - 10} more" if len(found) > 10 else ""
        got = f"these speakers: {', '.join(found[:10])}{more}" if found else "no speaker that is named"
        hint = (
            "Name them in headings (`### Claude (Pro)`), or begin their paragraphs with `**FOR:**` and `**AGAINST:**`."
        )
        self.wrong.append(complaint(self.name, got, "two speakers", hint))

    def _speeches(self, marks: list[Mark], sides: dict[str, str]) -> list[Speech]:
        walk = Walk(self._refuse)
        for mark, following in zip(marks, [*marks[1:], None], strict=True):
            until = following.first if following else len(self.lines)
            said = self._text(mark.end, until, mark.rest)
            if mark.kind == "speaker":
                walk.speak(mark, sides[self._who(mark.label)], said)
            else:
                walk.turn_page(mark, said)
        return walk.speeches()

    def _text(self, first: int, end: int, rest: str) -> str:
        """The lines of a speech, without the rule that may stand below it."""
        said = [rest, *self.lines[first:end]]
        while said and (not said[-1].strip() or (_RULE.fullmatch(said[-1]) and len(said) > 1)):
            said.pop()
        while said and not said[0].strip():
            said.pop(0)
        return "\n".join(said)

    def _must_be_closed(self) -> None:
        """Complains of a code block that goes on to the end: whoever spoke after it would be in it."""
        last = self.blocks[-1] if self.blocks else None
        if last is None or last.kind != "fence":
            return
        fence = re.match(r" {0,3}(`{3,}|~{3,})", self.lines[last.first])
        ends = self.lines[last.end - 1] if last.end <= len(self.lines) else ""
        if fence and (last.end - last.first < 2 or not re.fullmatch(rf" {{0,3}}{fence[1]}[`~]* *", ends)):
            self._refuse(last.first, "a code block that is never closed", f"a line {fence[1]} that closes it")

    def _title(self) -> str | None:
        """What the first heading says the debate is about."""
        for block, label in self.heads:
            if block.first >= self.start > 0 or label.round is not None or label.side is not None:
                return None
            said = re.sub(
                r"(?i)^(?:the )?(?:debate|topic|motion|resolution|transcript)\b(?: topic| transcript| on)?\W*",
                "",
                block.text,
            )
            return said.strip() or None
        return None
