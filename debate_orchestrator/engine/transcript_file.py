"""Reads a debate that was written down elsewhere: one document in, its topic and speeches out.

Each speech stands below a heading that names its speaker and side:

    # Cats are better than dogs
    ## Round 1
    ### Alice (Pro)
    They clean themselves.
    ### Bob (Con)
    Dogs come when they are called.

Where no heading does, bold labels do: `**Alice (Pro):** They clean themselves.` JSON is a list of objects with
`speaker`, `side`, `round`, `phase` and `text`. Reports and transcripts that this package wrote are read back. The
reader never guesses who speaks: a line that may be another speaker's label is a problem, with its number.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator
from itertools import pairwise
from typing import Any, NamedTuple

from pydantic import Field, TypeAdapter, ValidationError

from debate_orchestrator.core.values import FrozenModel
from debate_orchestrator.engine.transcript_labels import ROUND, Label, Speakers, key_of, read_label, side_word
from debate_orchestrator.reports import markup, speech_notes
from debate_orchestrator.util.data import read_regular, read_text, strict_json
from debate_orchestrator.util.errors import BadFile, short_repr
from debate_orchestrator.util.sanitize import sanitize

MAX_SIZE = 2_000_000
"""Bytes in a transcript."""
MAX_ROUNDS = 50
MAX_SPEECHES = 200
ARGUMENT = "Argument"
"""The title of a speech that has none of its own."""
HOW_TO_WRITE = (
    "Write each speech below a heading that names its speaker and side: `# Topic`, `## Round 1`, `### Alice (Pro)`, "
    'the speech, `### Bob (Con)`, the speech; or as JSON: [{"speaker": "Alice", "side": "pro", "text": "..."}, ...].'
)
MAX_MARKERS = 100_000
"""Lines, list and quotation markers, and borders of cells in a transcript in markdown."""
_MARKERS = re.compile(r"[\n>|]|(?:[-+*]|\d[.)])(?=\s)")
_MAX_LISTED = 20


class TranscriptSpeech(FrozenModel):
    """One speech, verbatim."""

    side: str
    """`a` argues for the topic, `b` against it."""
    round: int
    title: str = ARGUMENT
    text: str
    declined: bool = False
    cut: bool = False
    """Whether a limit of length cut it short."""


class Transcript(FrozenModel):
    """A debate as it was written down."""

    topic: str | None
    positions: dict[str, str]
    """Side to position, as far as the document gives them."""
    speakers: dict[str, str]
    """Side to the name of its speaker, as far as the document gives them."""
    speeches: tuple[TranscriptSpeech, ...]
    notes: tuple[str, ...] = ()
    """What a reader of the report should know about the document, in sentences."""

    @property
    def rounds(self) -> int:
        return max(speech.round for speech in self.speeches)


def read(path: str) -> tuple[Transcript, str]:
    """The transcript in a file, and the sha256 of its bytes. Raises BadFile as `parse`, or if it can't be read."""
    transcript = parse(read_text(path, MAX_SIZE), path)
    return transcript, hashlib.sha256(read_regular(path, follow=True)).hexdigest()


def parse(text: str, name: str) -> Transcript:
    """The transcript in a document, which is JSON where it begins with a brace and markdown otherwise.

    Raises BadFile with every problem and the form to write in; `name` is what the messages call the document.
    """
    problems, is_json = list[str](), re.match(r"\s*(?:\{|\[\s*[\]{])", text)
    text = text if is_json else sanitize(text)
    parse_document = _parse_json if is_json else _parse_own if _own_kind(text) else _parse_markdown
    if not is_json and (markers := len(_MARKERS.findall(text))) > MAX_MARKERS:
        found = f"it has {markers:,} lines, list and quotation markers, and borders of cells"
        raise BadFile(f"{name}: {found}. A transcript has at most {MAX_MARKERS:,}.")
    transcript = parse_document(text, problems)
    if problems := problems or list(_whole(transcript)):
        hidden = len(problems) - _MAX_LISTED
        problems = [
            *problems[:_MAX_LISTED],
            *([f"{hidden} more lines have such problems."] if hidden > 0 else []),
            HOW_TO_WRITE,
        ]
        raise BadFile([f"{name}: {problem}" for problem in problems])
    return transcript


def _whole(transcript: Transcript) -> Iterator[str]:
    """What is wrong with the speeches as a whole."""
    speeches = transcript.speeches
    if not speeches:
        yield "no line names a speaker with a side."
        return
    if len(speeches) > MAX_SPEECHES or transcript.rounds > MAX_ROUNDS:
        found = f"it has {transcript.rounds} rounds and {len(speeches)} speeches"
        yield f"{found}. A transcript has at most {MAX_ROUNDS} rounds and {MAX_SPEECHES} speeches."
    if len({speech.side for speech in speeches}) < 2:
        yield f"side {speeches[0].side.upper()} is the only side that speaks. A debate has speeches of both sides."
    rounds = [speech.round for speech in speeches]
    if rounds != sorted(rounds) or len(set(rounds)) != transcript.rounds:
        found = short_repr(", ".join(str(number) for number in dict.fromkeys(rounds)))
        yield f"its speeches are in the rounds {found}. Number rounds from 1, in order, with a speech in each."


def _numbered(speeches: list[TranscriptSpeech]) -> list[TranscriptSpeech]:
    """Speeches without rounds, with them: a round begins where the first speaker speaks again after the other."""
    numbered, number, heard = list[TranscriptSpeech](), 1, set[str]()
    for speech in speeches:
        if speech.side == speeches[0].side and len(heard) > 1:
            number, heard = number + 1, set()
        heard.add(speech.side)
        numbered.append(speech.model_copy(update={"round": number}))
    return numbered


# Markdown


class _Labelled(NamedTuple):
    """A line that says what follows it."""

    first: int
    """Its line, from 0."""
    end: int
    """The line after it."""
    level: int
    """1 to 6 for a heading, `_BOLD_LEVEL` for a bold label, 0 for a line that names a round."""
    text: str
    label: Label
    rest: str = ""
    """What follows a bold label on its own line."""


_BOLD = re.compile(r"\*\*([^*]{1,80}?)(?:[:：]\s*\*\*|\*\*\s*[:：]|\*\*$)[ \t]*(.*)")
_BOLD_LEVEL = 7
_LOOKS_LIKE = re.compile(
    r"(?:<[^<>]{1,80}>|[\\#*_\[\]`~\s])*+(\w[^:：*#<]{0,79}?)(?:</[^<>]{1,80}>|[\\*_\]`~ ])*+(?:[:：]|[—–-] |\Z)"
)
_FIELD = re.compile(r"(?:[-*] )?(?:\*\*)?([^*:]{1,80}):(?:\*\*)?\s+(\S.*)")
_TOPIC = re.compile(r"topic|motion|resolution|question", re.IGNORECASE)
_TITLE = re.compile(r"(?:the )?(?:debate|topic|motion|resolution|transcript)\b(?: topic| transcript| on)?\W*", re.I)
_RULE = re.compile(r" {0,3}([-*_])(?:[ \t]*\1){2,}[ \t]*")
_CODE = ("fence", "code_block")


def _parse_markdown(text: str, problems: list[str]) -> Transcript:
    lines, blocks = text.split("\n"), markup.outline(text)
    labelled = [line for block in blocks for line in _labelled(block, lines)]
    headings = [line for line in labelled if line.level != _BOLD_LEVEL]
    bold = [line for line in labelled if line.level == _BOLD_LEVEL]
    starts = [line.first for line in headings if line.level != 1 or line.label.round is not None or line.label.side]
    start = min(starts or [line.first for line in bold if line.label.side], default=len(lines))
    reader = _Reader(lines, problems)
    reader.read_above(blocks, start)
    levels = [line.level for line in headings if line.first >= start and reader.speakers.side_of(line.label)]
    reader.level = levels[0] if levels else _BOLD_LEVEL
    kept = [line for line in headings if line.level <= reader.level] + (bold if not levels else [])
    reader.read_speeches(sorted(line for line in kept if line.first >= start))
    reader.find_look_alikes(blocks)
    speakers, speeches = reader.speakers.names(), tuple(reader.speeches)
    return Transcript(topic=reader.topic, positions=reader.positions, speakers=speakers, speeches=speeches)


def _labelled(block: markup.MarkdownBlock, lines: list[str]) -> Iterator[_Labelled]:
    """The labels in a block: a heading with `#`, a paragraph that is the name of a round, lines with a bold label."""
    bare = block.text.strip(" -—*_:")
    if block.kind == "heading" and lines[block.first].lstrip().startswith("#"):
        yield _Labelled(block.first, block.end, block.level, block.text, read_label(block.text))
    elif block.kind == "paragraph" and ROUND.fullmatch(bare):
        yield _Labelled(block.first, block.end, 0, block.text, read_label(bare))
    elif block.kind == "paragraph":
        for number in range(block.first, block.end):
            if found := _BOLD.fullmatch(lines[number].strip()):
                yield _Labelled(number, number + 1, _BOLD_LEVEL, found[1], read_label(found[1]), found[2])


class _Reader:
    """Reads a document from top to bottom and collects its speeches."""

    def __init__(self, lines: list[str], problems: list[str]):
        self.lines, self.problems = lines, problems
        self.speakers = Speakers()
        self.topic: str | None = None
        self.positions: dict[str, str] = {}
        self.level = _BOLD_LEVEL
        """The level of the headings that name speakers."""
        self.speeches: list[TranscriptSpeech] = []
        self.places: list[tuple[int, int, str]] = []
        """The first line of each speech, the line after it, and its side."""

    def add_problem(self, line: int, problem: str) -> None:
        self.problems.append(f"line {line + 1}: {problem}")

    def read_above(self, blocks: list[markup.MarkdownBlock], start: int) -> None:
        """Takes topic, positions and names from a title and fields such as `**Topic:** ...` above the debate."""
        for block in blocks:
            if block.first < start and block.level == 1:
                self.topic = self.topic or _TITLE.sub("", block.text, count=1) or None
            for number in range(block.first, min(block.end, start)) if block.kind not in ("heading", "rule") else ():
                line = self.lines[number].strip()
                field = _FIELD.fullmatch(line)
                label = read_label(field[1]) if field else Label()
                if field and _TOPIC.fullmatch(field[1]):
                    self.topic = field[2]
                elif field and label.name and label.side:
                    self.positions[label.side] = field[2]
                    self._introduce(label, number)
                elif line and (not field or label.side):
                    problem = f"{short_repr(line, 40)} stands above the first heading or bold label that names a side."
                    self.add_problem(
                        number, f"{problem} Only a title and lines such as `**Topic:** ...` may stand there."
                    )
                    return

    def read_speeches(self, labelled: list[_Labelled]) -> None:
        numbered = any(line.label.round is not None for line in labelled)
        number, section, title = 0, 0, ""
        for line, following in pairwise([*labelled, None]):
            assert line is not None
            end, found = following.first if following else len(self.lines), short_repr(line.text, 40)
            text = _without_rules([line.rest, *self.lines[line.end : end]])
            number = number if line.label.round is None else line.label.round
            side = self.speakers.side_of(line.label)
            if side is not None and line.level == self.level:
                self._introduce(line.label, line.first)
                if not text:
                    self.add_problem(line.first, f"{found} says nothing.")
                own_title = self.speakers.title(line.label) or title or ARGUMENT
                round = number if numbered else max(section, 1)
                self.speeches.append(TranscriptSpeech(side=side, round=round, title=own_title, text=text))
                self.places.append((line.end, end, side))
            elif line.level == self.level and line.label.round is None:
                self.add_problem(line.first, f"{found} names neither a round nor a side.")
            elif side is not None or text:
                self.add_problem(line.first, f"{found} has text below it and names no speaker as the other labels do.")
            else:
                title = self.speakers.title(line.label)
                section += not self.speeches or self.speeches[-1].round == section
        if not numbered and section < 2:
            self.speeches = _numbered(self.speeches)

    def _introduce(self, label: Label, line: int) -> None:
        if problem := self.speakers.introduce(label):
            self.add_problem(line, problem)

    def find_look_alikes(self, blocks: list[markup.MarkdownBlock]) -> None:
        """Finds lines in a speech that may be labels of the other side, and code that is never closed: it would
        hide every label after it."""
        code = {number for block in blocks if block.kind in _CODE for number in range(block.first, block.end)}
        for first, end, side in self.places:
            for number in range(first, end):
                line = self.lines[number].strip()
                if number not in code and self._side_it_looks_like(line[:200]) not in (None, side):
                    problem = f"{short_repr(line, 40)} may be the other speaker's label, or words of this speech."
                    self.add_problem(
                        number, f"{problem} Make it a label like the others, or begin it with another word."
                    )
        if blocks and blocks[-1].kind == "fence":
            first, end = blocks[-1].first, blocks[-1].end
            fence = re.match(r" {0,3}(`{3,}|~{3,})", self.lines[first])
            last = self.lines[end - 1] if first < end - 1 < len(self.lines) else ""
            if fence and not re.fullmatch(rf" {{0,3}}{fence[1]}[`~]* *", last):
                self.add_problem(first, f"this code block is never closed. Close it with a line {fence[1]}.")

    def _side_it_looks_like(self, line: str) -> str | None:
        """A side that is called as the line begins, or that a heading or bold words at its beginning name."""
        if found := _LOOKS_LIKE.match(line):
            side, label = self.speakers.sides.get(key_of(found[1])), read_label(found[1])
            if side or key_of(label.word) != side_word(label.word):  # a word alone may begin a sentence: `No: ...`
                return side or label.side
        titled = re.match(r"#{1,6} +(.+)", line) or _BOLD.fullmatch(line)
        return self.speakers.side_of(read_label(titled[1])) if titled else None


def _without_rules(lines: list[str]) -> str:
    """The text of a speech without blank lines around it and rules below it."""
    while lines and (not lines[-1].strip() or _RULE.fullmatch(lines[-1])):
        lines.pop()
    first = next((number for number, line in enumerate(lines) if line.strip()), 0)
    return "\n".join(lines[first:])


# JSON


class _Entry(FrozenModel):
    """A speech in a JSON document."""

    speaker: str = ""
    side: str = ""
    round: int | None = Field(None, ge=1)
    phase: str = ""
    text: str = Field(pattern=r"\S")


def _too_many(read: Any) -> str | None:
    """What is wrong with the length of a JSON document or of its entries, before each of them is looked at."""
    if isinstance(read, list) and len(read) > MAX_SPEECHES:
        return f"it has {len(read):,} speeches. A transcript has at most {MAX_SPEECHES} speeches."
    maximum = 2 * len(_Entry.model_fields)
    if any(isinstance(entry, dict) and len(entry) > maximum for entry in (read if isinstance(read, list) else [read])):
        return f"a speech has more than {maximum} fields. Its fields are: {', '.join(_Entry.model_fields)}."
    return None


def _parse_json(text: str, problems: list[str]) -> Transcript:
    speakers, speeches, entries = Speakers(), list[TranscriptSpeech](), list[_Entry]()
    try:
        read = strict_json(text)
        if problem := _too_many(read):
            problems.append(problem)
        else:
            entries = TypeAdapter(list[_Entry]).validate_python(read)
    except ValidationError as error:
        for detail in error.errors():
            where = [f"speech {at + 1}" if isinstance(at, int) else at for at in detail["loc"]]
            problems.append(": ".join([*where, f"{detail['msg']}."]))
    except (ValueError, RecursionError) as error:
        problems.append(f"it is not JSON: {short_repr(str(error), 120)}.")
    for number, entry in enumerate(entries, start=1):
        label = read_label(
            f"{entry.speaker} ({entry.side})" if entry.speaker and entry.side else entry.speaker or entry.side
        )
        side = speakers.side_of(label)
        if side is None or (problem := speakers.introduce(label)):
            found = short_repr(entry.side or entry.speaker, 40)
            problems.append(f"speech {number}: {problem if side else f'{found} names no side.'}")
        title = entry.phase or speakers.title(label) or ARGUMENT
        speeches.append(TranscriptSpeech(side=side or "a", round=entry.round or 0, title=title, text=entry.text))
    if len({speech.round > 0 for speech in speeches}) > 1:
        problems.append("some speeches have a round and others have none.")
    elif speeches and not speeches[0].round:
        speeches = _numbered(speeches)
    return Transcript(topic=None, positions={}, speakers=speakers.names(), speeches=tuple(speeches))


# Reports and transcripts of this package

_FACTS = ("Topic", "Rounds", "Rounds Completed", "Judge Strictness", "Date", "Spoken by", "From the Floor")
_OWN_FIELD = re.compile(r"\*\*(.+?):\*\* (.*)")
_OWN_END = re.compile(r"\n---\n\n\*[^\n]+\*\n*(?:\n---\n\n\*(?:Made|Sealed) by [^\n]+\*\n*)?\Z")
"""The line on how a transcript was made, and its checksum."""
_TAG = re.compile(r"\A(?:\*From the floor:\* [^\n]*\n+)*\[([^\n]+)\](?:\n+|\Z)")
"""Questions from the floor, and the line that names who spoke: `[NAME]`, or `[NAME - ROLE]`."""
_DECLINED = re.compile(rf"\*{speech_notes.DECLINED}\*(?:\n+|\Z)")
_CUT = re.compile(rf"\*{speech_notes.CUT}\*")
_ADDED = re.compile(rf"\*{speech_notes.ADDED}\*")
_LEFT_ASIDE = "The report's verdict is not read. To see both verdicts side by side, use `debate judge` on its journal."


def _own_kind(text: str) -> str:
    """`Report` or `Transcript` where this package wrote the document; empty otherwise."""
    first = text.lstrip("\n").partition("\n")[0].rstrip()
    if first == "# Debate Report" and "\n## Debate Transcript\n" in text:
        return "Report"
    return "Transcript" if first == "# Debate Transcript" and _OWN_END.search(text) else ""


def _parse_own(text: str, problems: list[str]) -> Transcript:
    """The speeches in a report, or in a transcript, where all text is in speeches."""
    report = _own_kind(text) == "Report"
    lines = (text if report else _OWN_END.sub("", text, count=1)).split("\n")
    _, *headings = [block for block in markup.outline("\n".join(lines)) if block.kind == "heading"]
    above = [_OWN_FIELD.fullmatch(line.rstrip()) for line in lines[: headings[0].first if headings else None]]
    fields = {found[1]: markup.unliteral(found[2]) for found in above if found}
    sides = dict(zip("ab", (field for field in fields if field not in _FACTS), strict=False))
    names = {side: re.sub(r" \([^()]*\)$", "", field) for side, field in sides.items()}
    heading_of = re.compile(rf"(.+) — ({'|'.join(map(re.escape, names.values()))})(?: \[([^\[\]]+)\])?")
    speeches, number, inside = list[TranscriptSpeech](), 1, not report
    tags, others, budget = {""}, list[tuple[str, str]](), markup.ParseBudget()
    for heading, following in pairwise([*headings, None]):
        assert heading is not None
        body = _without_rules(lines[heading.end : following.first if following else len(lines)])
        tag = found[1].partition(" - ")[0] if report and (found := _TAG.match(body)) else ""
        if heading.level == 2 and report:
            inside = heading.text == "Debate Transcript"
        elif inside and (round := re.fullmatch(r"Round (\d{1,3})", heading.text)) and (report or not body):
            number = int(round[1])
        elif inside and (found := heading_of.fullmatch(heading.text)):
            title = f"{found[1]} ({found[3].lower()})" if found[3] else found[1]
            side = next(side for side in names if names[side] == found[2])
            tags.add(tag)
            text = _TAG.sub("", body, count=1) if report else body
            speeches.append(_own_speech(side, number, title, text, budget))
        elif not report or (body and (inside or heading_of.fullmatch(heading.text))):
            name = short_repr(heading.text, 40)
            others.append((tag, f"line {heading.first + 1}: {name} stands over text that is no speech."))
    problems += [problem for tag, problem in others if tag in tags]
    pattern = "; ".join(rf"{re.escape(name)}: (.+)" for name in names.values())
    spoken = re.fullmatch(pattern, fields.get("Spoken by", ""))
    return Transcript(
        topic=fields.get("Topic"),
        positions={side: fields[field] for side, field in sides.items()},
        speakers=dict(zip("ab", spoken.groups(), strict=False)) if spoken else {},
        speeches=tuple(speeches),
        notes=(_LEFT_ASIDE,) if report else (),
    )


def _own_speech(side: str, number: int, title: str, text: str, budget: markup.ParseBudget) -> TranscriptSpeech:
    """A speech without the lines that tell how it ended."""
    declined, cut = _DECLINED.match(text), False
    lines = text[declined.end() if declined else 0 :].split("\n")
    while lines and (not lines[-1].strip() or _CUT.fullmatch(lines[-1]) or _ADDED.fullmatch(lines[-1])):
        cut = bool(_CUT.fullmatch(lines.pop())) or cut
    spoken = markup.unescaped("\n".join(lines), budget)
    return TranscriptSpeech(side=side, round=number, title=title, text=spoken, declined=declined is not None, cut=cut)
