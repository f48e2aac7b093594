"""A document that somebody wrote down a debate in, in whatever shape: its headings and names, made into speeches.

A debate's shape is read from headings (`## Round 1`, `### Claude (Pro)`) or from paragraphs that begin with a name
(`**FOR:** ...`). Which of them names the speakers is decided once, for the whole document: first headings, then bold
labels, and plain labels only where neither is there. What else looks like a label is the words of a speech, and a
note says so. What can't be told is a complaint, what had to be assumed a note, and no text is dropped.
"""

from __future__ import annotations

import re
from collections import Counter

from debate_orchestrator.errors import complaint, shown
from debate_orchestrator.reports import markup
from debate_orchestrator.transcripts import attribution, speeches
from debate_orchestrator.transcripts.attribution import ALONE, BOLD, PLAIN, Label
from debate_orchestrator.transcripts.speeches import PLAINLY, Mark, Speech, Transcript, Walk

HEADING = "heading"
MANY = 1_000
"""Speeches of a document that is refused for their number, so that nobody needs to look for more."""


class Document:
    """A document of whatever shape."""

    def __init__(self, text: str, name: str):
        text = re.sub("\r\n?", "\n", text)
        self.name, self.lines = name, text.split("\n")
        self.wrong: list[str] = []
        self.notes: list[str] = []
        self.blocks = [self._as_meant(block) for block in markup.outline(text)]
        self.heads = [(block, attribution.read(block.text)) for block in self.blocks if block.kind == "heading"]
        self._begin(sided=True)

    def read(self) -> tuple[Transcript, list[str]]:
        style, speaking = self._decided()
        self._must_not_begin_above(style, speaking)
        marks = self._marks(style, speaking)
        sides = self._sides(speaking) if not self.wrong else {}
        if not self.wrong:
            self._look_out(style, marks)
        said = self._speeches(marks, sides) if not self.wrong else []
        if self.blocks and (fence := speeches.left_open(self.lines, self.blocks[-1])):
            got = "a code block that is never closed"  # whoever spoke after it would be in it
            self._refuse(self.blocks[-1].first, got, f"a line {fence} that closes it")
        above = attribution.participants(self.lines[: marks[0].first] if marks else [])
        topic = self.people.topic or above.topic or self._title()
        made = Transcript(
            topic=topic,
            positions=self.people.positions,
            speakers={side: name for side, name in sorted(self.people.names.items()) if attribution.side(name) is None},
            speeches=tuple(said),
            notes=tuple(self.notes),
        )
        return made, self.wrong

    def _refuse(self, line: int, got: str, expected: str, hint: str = "") -> None:
        self.wrong.append(complaint(f"{self.name}: line {line + 1}", got, expected, hint))

    def _as_meant(self, block: markup.Block) -> markup.Block:
        """A paragraph that a line of dashes right below makes a heading is one only where it names something."""
        underlined = block.kind == "heading" and not self.lines[block.first].lstrip().startswith("#")
        label = attribution.read(block.text)
        spoken = (found := attribution.beginning(block.text)) and found.rest
        named = not spoken and (label.round is not None or label.side is not None or (label.title and not label.name))
        title = block.first == 0 and block.level == 1
        return block._replace(kind="paragraph", level=0) if underlined and not (named or title) else block

    def _begin(self, *, sided: bool) -> None:
        """Finds where the debate begins, and what stands above. `sided`: headings may name the sides."""
        self.start = self._start(sided)
        self.people = attribution.participants(self.lines[: self.start])
        told = [mark.label for block in self.blocks for style, mark in self._begun(block) if style == BOLD]
        attribution.introduce(self.people, [*(label for _, label in self.heads), *told])

    def _start(self, sided: bool) -> int:
        """The line with which the debate begins: the first that names a round or a side as a heading does, and in a
        document without such headings the first rule that nothing but short lines stand above."""
        named = [b.first for b, label in self.heads if label.round is not None or (sided and label.side is not None)]
        named += [block.first for block in self.blocks if self._round(block) is not None]
        if named:
            return min(named)
        for block in self.blocks:
            if block.kind == "rule":
                above = [line for line in self.lines[: block.first] if line.strip()]
                short = all(len(line.split()) <= 30 for line in above)
                return block.end if short and not self._one_spoke_above(block) else 0
        return 0

    def _one_spoke_above(self, rule: markup.Block) -> bool:
        """Whether a rule is one between speeches: a label stands above that comes again below, and another below."""
        found = [(block.first, told) for block in self.blocks if (told := self._begun(block))]
        above = {mark.text for first, told in found for _, mark in told if first < rule.first}
        below = {mark.text for first, told in found for _, mark in told if first > rule.first}
        return len(above & below) == 1 and bool(below - above)

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

    def _decided(self) -> tuple[str, list[Mark]]:
        """The one style in which this document names its speakers, and the lines that do."""
        at = {block.first for block in self._speaking()}
        heads = [Mark(b.first, b.end, "speaker", label, b.text, b.level) for b, label in self.heads if b.first in at]
        if self._both(heads):
            return HEADING, heads
        self._begin(sided=False)
        told = [one for block in self.blocks if block.first >= self.start for one in self._begun(block)]
        bold, alone, plain = ([mark for one, mark in told if one == style] for style in (BOLD, ALONE, PLAIN))
        plain = [mark for mark in plain if self._known(mark.label) or attribution.is_other(mark.label.name)]
        both = [(style, marks) for style, marks in ((BOLD, bold), (ALONE, alone)) if self._both(marks)]
        if len(both) == 2 or (both and len({self._of(mark) for mark in heads}) == 2):
            self._refuse_mixture([*(marks[0] for _, marks in both), *heads[:1]])
        if both:
            style, marks = both[0]
            return style, [m for m in marks if self._known(m.label) or attribution.is_other(m.label.name)]
        if heads:
            return HEADING, heads
        weak = next((marks for marks in (bold, alone) if len({self._of(m) for m in marks}) > 1), bold or alone)
        sided = [mark for mark in weak if self._known(mark.label)]
        if self._both(plain) and not sided:
            if len(weak) > 1 and plain[0].first <= weak[0].first:
                self._refuse_mixture([plain[0], weak[0]])
            if len(weak) < 2 or self.wrong:
                return PLAIN, plain
        elif sided and self._both([*sided, *plain]):
            self._refuse_mixture([sided[0], next(mark for mark in plain if self._of(mark) != self._of(sided[0]))])
        return (BOLD if weak is bold else ALONE, weak) if weak else (PLAIN, plain)

    def _both(self, marks: list[Mark]) -> bool:
        return len({self._of(mark) for mark in marks if self._known(mark.label)}) > 1

    def _refuse_mixture(self, marks: list[Mark]) -> None:
        got = " and ".join(f"{shown(mark.text, 40)} (line {mark.first + 1})" for mark in sorted(marks))
        self._refuse(
            min(marks).first,
            f"labels of several styles that may all name speakers: {got}",
            "speakers named in one style",
            "Put speakers in headings of one level, and put other words before whatever else looks like a label.",
        )

    def _must_not_begin_above(self, style: str, speaking: list[Mark]) -> None:
        """Complains where labels of another style begin above the first speaker, and are there again."""
        told = [
            mark
            for block in self.blocks
            for one, mark in self._begun(block)
            if one not in (style, PLAIN) or (one != style and mark.label.side)
        ]
        times, first = Counter(mark.text for mark in told), speaking[0].first if speaking else 0
        below = {mark.text for mark in told if mark.first > first}
        for mark in told:
            if mark.first < first and times[mark.text] > 1 and (mark.label.side or mark.text in below):
                self._refuse_mixture([mark, speaking[0]])
                return

    def _marks(self, style: str, speaking: list[Mark]) -> list[Mark]:
        """The speakers with the rounds and sections between them."""
        if not speaking:
            return []
        marks = [Mark(b.first, b.end, "round", label, b.text, 6) for b in self.blocks if (label := self._round(b))]
        rounds = [block.level for block, label in self.heads if label.round is not None]
        deepest = max([mark.level for mark in speaking] if style == HEADING else rounds, default=6)
        lines = {mark.first for mark in speaking}
        for block, label in self.heads:
            section = block.level <= deepest and not self._is_title(block, label)
            if block.first not in lines and (label.round is not None or section):
                kind = "round" if label.round is not None else "section"
                marks.append(Mark(block.first, block.end, kind, label, block.text, block.level))
        return sorted([*marks, *speaking])

    def _speaking(self) -> list[markup.Block]:
        """The headings that name a speaker: those of the highest level on which both sides or participants have
        theirs; where there is none, the highest ones below the rounds; where there are no rounds, names that come
        again at one level."""
        known = [(block, label) for block, label in self.heads if block.first >= self.start and self._known(label)]
        for level in range(1, 7):
            here = [block for block, label in known if block.level == level]
            if len({self._who(label) for block, label in known if block.level == level}) > 1:
                return here
        levels = [block.level for block, label in self.heads if label.round is not None]
        named = [(block, label) for block, label in self.heads if label.name and label.round is None]
        if levels:
            below = [block for block, _ in named if block.level > max(levels) and block.first >= self.start]
            top = min((block.level for block in below), default=0)
            return [block for block in below if block.level == top]
        for level in range(1, 7):
            here = [block for block, label in named if block.level == level]
            names = Counter(attribution.key(label.name) for block, label in named if block.level == level)
            if here and all(times > 1 for times in names.values()):
                return here
        return []

    def _begun(self, block: markup.Block) -> list[tuple[str, Mark]]:
        """The lines of a paragraph that begin with a label, each with the style it has."""
        made = []
        for n in range(block.first, block.end) if block.kind == "paragraph" else ():
            found = attribution.beginning(self.lines[n].strip())
            if found is None or attribution.is_about(found.text):
                continue
            label = attribution.read(found.text)
            if label.speaks and (found.style != ALONE or block.end - block.first == 1):
                made.append((found.style, Mark(n, n + 1, "speaker", label, found.text, 7, found.rest)))
        return made

    # What only looks like a label

    def _look_out(self, style: str, marks: list[Mark]) -> None:
        """Notes the lines that look like labels and are taken for words; complains where they can't be."""
        speaking = [mark for mark in marks if mark.kind == "speaker"]
        if len(speaking) > MANY:
            return
        who = {attribution.key(one): self._of(m) for m in speaking for one in m.called if one}
        lines, looks = {mark.first for mark in marks}, dict[str, list[int]]()
        for block in self.blocks:
            for n, text in speeches.semblances(block, self.lines, style, lines, who):
                if n < speaking[0].first:
                    continue
                looks.setdefault(text, []).append(n + 1)
                whom = who.get(attribution.key(text), "")
                told = attribution.beginning(self.lines[n]) if block.kind not in ("fence", "code_block") else None
                if block.kind != "paragraph" and whom and told and told.style == style:
                    hint = "Put an empty line above it, or more than a name before its colon."
                    self._refuse(n, f"{shown(text, 40)} in the same block as the lines above", "a paragraph", hint)
                elif block.kind in ("paragraph", "heading") and whom and speeches.is_missed(marks, n, self._of, whom):
                    got = f"{shown(text, 40)} in another style than the labels of this document, where it may be one"
                    self._refuse(n, got, f"a label like {shown(self.lines[speaking[0].first].strip(), 40)}, or none")
        if looks:
            self.notes.append(speeches.told(looks))
        self._tell_what_is_above(speaking)
        if style == PLAIN:
            self._must_be_plain(marks)

    def _tell_what_is_above(self, speaking: list[Mark]) -> None:
        """Notes what stands above the first speech and is more than a line about the debate."""
        texts = {mark.text for mark in speaking}
        for block in self.blocks:
            if block.end <= speaking[0].first and block.kind not in ("heading", "rule"):
                said = [mark.rest for _, mark in self._begun(block) if mark.text in texts or mark.label.side]
                sentence = any(one.endswith((".", "!", "?")) or len(one.split()) > 5 for one in said)
                if sentence or len(" ".join(self.lines[block.first : block.end]).split()) > 30:
                    self.notes.append(f"Line {block.first + 1} stands above the first speech and is taken for none.")

    def _must_be_plain(self, marks: list[Mark]) -> None:
        """Complains of plain labels that may as well be words, and notes that there are no better ones."""
        speaking = [mark for mark in marks if mark.kind == "speaker"]
        for fault in speeches.plainly(marks, self._of, set(self.people.sides)):
            self._refuse(*fault)
        for block in self.blocks:
            if self.start <= block.first and block.end <= speaking[0].first and self._is_said(block):
                self._refuse(block.first, "text above the first plain label", "labels from the first line on", PLAINLY)
        names = " and ".join(dict.fromkeys(shown(f"{mark.text}:", 40) for mark in speaking))
        self.notes.append(
            f"Speakers are told by plain labels alone: a line that begins with {names} is that speaker's."
        )

    def _is_said(self, block: markup.Block) -> bool:
        """Whether a block is more than a heading, a rule, a round's name or lines about the debate."""
        told = [attribution.semblance(line) for line in self.lines[block.first : block.end] if line.strip()]
        about = all(one is not None and one[1] and attribution.is_about(one[0]) for one in told)
        return not (block.kind in ("heading", "rule") or self._round(block) or about)

    # Who they are, and what they say

    def _sides(self, speaking: list[Mark]) -> dict[str, str]:
        """Name to side, for every speaker; complains unless there are just two, on two sides."""
        seen: dict[str, list[Mark]] = {}
        for mark in speaking:
            seen.setdefault(self._of(mark), []).append(mark)
        sides = {who: side for who, marks in seen.items() if (side := self._side(marks)) is not None}
        if len(seen) == 2 and not any(attribution.is_other(mark.label.name) for mark in speaking):
            first, second = seen
            for fault in speeches.misnamed(seen[first], seen[second]):
                self._refuse(*fault)
            if len(sides) == 2 or self.wrong:
                return self._named(seen, sides) if not self.wrong else {}
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

    def _of(self, mark: Mark) -> str:
        return self._who(mark.label)

    def _side(self, marks: list[Mark]) -> str | None:
        who = self._of(marks[0])
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
            said = speeches.bare([mark.rest, *self.lines[mark.end : until]])
            if mark.kind == "speaker":
                walk.speak(mark, sides[self._of(mark)], said)
            else:
                walk.turn_page(mark, said)
        return walk.speeches()

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
