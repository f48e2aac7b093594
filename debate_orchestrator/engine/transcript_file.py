"""Reads a debate that was written down elsewhere: one document in, its topic and speeches out.

Each speech stands below a heading that names its side:

    # Cats are better than dogs
    ## Round 1
    ### Alice (Pro)
    They clean themselves.
    ### Bob (Con)
    Dogs come when they are called.

JSON is a list of objects with `speaker`, `side`, `round` and `text`. Anything else is refused: who speaks is never
guessed.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator
from itertools import pairwise
from typing import NamedTuple

from pydantic import Field, TypeAdapter, ValidationError

from debate_orchestrator.core.values import FrozenModel
from debate_orchestrator.util.data import read_regular, read_text, strict_json
from debate_orchestrator.util.errors import BadFile, short_repr
from debate_orchestrator.util.sanitize import normalized, sanitize

MAX_SIZE = 2_000_000
"""Bytes in a transcript."""
MAX_ROUNDS = 50
MAX_SPEECHES = 200
HOW_TO_WRITE = (
    "Write each speech below a heading that names its speaker and side: `# Topic`, `## Round 1`, `### Alice (Pro)`, "
    'the speech, `### Bob (Con)`, the speech; or as JSON: [{"speaker": "Alice", "side": "pro", "text": "..."}, ...].'
)
_MAX_LISTED = 20
_OWN = re.compile(r"\s*# Debate (?:Report|Transcript)\s*\n")
"""How a report or a transcript of this program begins."""


class TranscriptSpeech(FrozenModel):
    """One speech, verbatim."""

    side: str
    """`a` argues for the topic, `b` against it."""
    round: int
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
    """The transcript in a document, which is JSON where it begins like JSON and markdown otherwise.

    Raises BadFile with every problem and the form to write in; `name` is what the messages call the document.
    """
    problems: list[str] = []
    if _OWN.match(text):
        problems.append("it was written by this program. Judge the journal of its debate instead.")
        transcript = Transcript(topic=None, positions={}, speakers={}, speeches=())
    elif re.match(r"\s*(?:\{|\[\s*[\]{])", text):
        transcript = _parse_json(text, problems)
    else:
        transcript = _parse_markdown(sanitize(text), problems)
    problems = problems or list(_whole(transcript))
    if problems:
        hidden = len(problems) - _MAX_LISTED
        more = [f"{hidden} more lines have such problems."] if hidden > 0 else []
        raise BadFile([f"{name}: {problem}" for problem in (*problems[:_MAX_LISTED], *more, HOW_TO_WRITE)])
    return transcript


def _whole(transcript: Transcript) -> Iterator[str]:
    """What is wrong with the speeches as a whole."""
    speeches = transcript.speeches
    if not speeches:
        yield "no heading names a speaker with a side."
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


# Who speaks

_FOR = ("a", "pro", "for", "yes", "affirmative", "aff", "proposition", "proponent", "government")
_AGAINST = ("b", "con", "contra", "against", "no", "negative", "neg", "opposition", "opponent")
_SIDES = dict.fromkeys(_FOR, "a") | dict.fromkeys(_AGAINST, "b")
_SIDE = re.compile(r"(?:the )?(?:speaker |debater |researcher |side |team )?(\w+)(?: side| team)?")
_NAME_AND_SIDE = re.compile(r"(.*\S) ?\(([^()]*)\)")
_BETWEEN = re.compile(r" [—–-] |: ")
_ROUND = re.compile(r"round (\d{1,3})(?: ?(?:of|/) ?\d{1,3})?", re.IGNORECASE)


class _Label(NamedTuple):
    """What a heading says: `Alice (Pro)`, `Opening — Alice`, `Round 2: Closing`."""

    side: str | None
    name: str
    round: int | None


def _key(name: str) -> str:
    """What two spellings of one name have in common."""
    return " ".join(re.findall(r"\w+", normalized(name).casefold())) or name


def _side_word(phrase: str) -> str | None:
    """The side that a phrase such as `Pro` or `Speaker A` names."""
    match = _SIDE.fullmatch(_key(phrase))
    return _SIDES.get(match[1]) if match else None


class _Speakers:
    """Who speaks for which side. A name has to come with its side once."""

    def __init__(self) -> None:
        self.names: dict[str, str] = {}
        """Side to name."""
        self.called: dict[str, str] = {}
        """The key of everything that a side is called, to that side."""

    def label(self, heading: str) -> _Label:
        """Reads a heading. One that names both sides names none."""
        sides, name, number = set[str](), "", None
        for part in _BETWEEN.split(re.sub("[*`]", "", heading).strip().removesuffix(":")):
            named, round_name = _NAME_AND_SIDE.fullmatch(part), _ROUND.fullmatch(part.strip("- "))
            if round_name:
                number = int(round_name[1])
            elif named and (side := _side_word(named[2])):
                name = named[1]
                sides |= {side, _side_word(name) or side}
            elif side := self.called.get(_key(part)) or _side_word(part):
                sides.add(side)
        if len(sides) > 1:
            return _Label(None, "", None)
        return _Label(sides.pop() if sides else None, name, number)

    def introduce(self, label: _Label, heading: str) -> str | None:
        """Takes a label that names a side. Returns what is wrong if the side or the name is taken."""
        assert label.side is not None
        for key in {_key(label.name), _key(heading)} if label.name else {_key(heading)}:
            if self.called.setdefault(key, label.side) != label.side:
                return f"{short_repr(label.name or heading, 40)} speaks for both sides."
        earlier = self.names.setdefault(label.side, label.name) if label.name else ""
        if earlier and _key(earlier) != _key(label.name):
            found = f"{short_repr(label.name, 40)} and {short_repr(earlier, 40)}"
            return f"{found} speak for the same side. Call each speaker the same everywhere."
        return None


# Markdown

_HEADING = re.compile(r"(#{1,6})[ \t]+(.*)")
_FENCE = re.compile(r"(`{3,}(?=[^`]*$)|~{3,})")
_FIELD = re.compile(r"(?:\*\*)?([^*:]{1,80}):(?:\*\*)?\s+(\S.*)")
_TOPIC = re.compile(r"topic|motion|resolution|question", re.IGNORECASE)
_RULE = re.compile(r" {0,3}([-*_])(?:[ \t]*\1){2,}[ \t]*")


class _Section(NamedTuple):
    line: int
    """The line of the heading, from 1."""
    level: int
    heading: str
    lines: tuple[str, ...]

    @property
    def text(self) -> str:
        """The lines without blank ones around them and rules below them."""
        lines = list(self.lines)
        while lines and (not lines[-1].strip() or _RULE.fullmatch(lines[-1])):
            lines.pop()
        first = next((number for number, line in enumerate(lines) if line.strip()), 0)
        return "\n".join(lines[first:])


def _outside_code(lines: list[str], problems: list[str]) -> Iterator[int]:
    """The numbers of the lines that are in no fenced code. A fence that is never closed would hide every heading below
    it: that is a problem."""
    fence, first = "", 0
    for number, line in enumerate(lines):
        if fence:
            if re.fullmatch(rf" {{0,3}}{fence[0]}{{{len(fence)},}}[ \t]*", line):
                fence = ""
        elif match := _FENCE.match(line):
            fence, first = match[1], number
        else:
            yield number
    if fence:
        problems.append(f"line {first + 1}: this code block is never closed. Close it with a line {fence}.")


def _headings(lines: list[str], problems: list[str]) -> list[tuple[int, int, str]]:
    """Line, level and text of each heading."""
    matches = ((number, _HEADING.fullmatch(lines[number])) for number in _outside_code(lines, problems))
    return [(number, len(heading[1]), heading[2].rstrip("#").rstrip()) for number, heading in matches if heading]


def _sections(lines: list[str], headings: list[tuple[int, int, str]], deepest: int) -> list[_Section]:
    """The document, divided at its headings down to a level."""
    chosen = [heading for heading in headings if heading[1] <= deepest]
    return [
        _Section(number + 1, level, heading, tuple(lines[number + 1 : following[0]]))
        for (number, level, heading), following in pairwise([*chosen, (len(lines), 1, "")])
    ]


def _parse_markdown(text: str, problems: list[str]) -> Transcript:
    lines, speakers = text.split("\n"), _Speakers()
    headings = _headings(lines, problems)
    title = headings.pop(0)[2] if headings and headings[0][1] == 1 and not speakers.label(headings[0][2]).side else None
    start = headings[0][0] if headings else len(lines)
    topic, positions = _read_above(lines[:start], speakers, problems)
    levels = [level for _, level, heading in headings if speakers.label(heading).side]
    sections, speeches = _sections(lines, headings, levels[0] if levels else 6), list[TranscriptSpeech]()
    number = 0
    for section in sections:
        label, name = speakers.label(section.heading), short_repr(section.heading, 40)
        number = number if label.round is None else label.round
        if label.side is not None and section.level == levels[0]:
            if problem := speakers.introduce(label, section.heading):
                problems.append(f"line {section.line}: {problem}")
            elif not section.text:
                problems.append(f"line {section.line}: {name} says nothing.")
            speeches.append(TranscriptSpeech(side=label.side, round=number, text=section.text))
        elif section.text:
            problems.append(f"line {section.line}: {name} has text below it and names no side.")
    speeches = speeches if any(speech.round for speech in speeches) else _numbered(speeches)
    return Transcript(
        topic=topic or title,
        positions=positions,
        speakers=dict(sorted(speakers.names.items())),
        speeches=tuple(speeches),
    )


def _read_above(lines: list[str], speakers: _Speakers, problems: list[str]) -> tuple[str | None, dict[str, str]]:
    """Reads fields such as `**Topic:** ...` and `**Alice (Pro):** ...` above the debate: its topic and positions."""
    topic, positions = None, dict[str, str]()
    for number, line in enumerate(lines, start=1):
        if not line.strip() or line.startswith("# "):
            continue
        field = _FIELD.fullmatch(line.strip())
        label = speakers.label(field[1]) if field else None
        if field and _TOPIC.fullmatch(field[1]):
            topic = field[2]
        elif field and label and label.side and label.name:
            positions[label.side] = field[2]
            problem = speakers.introduce(label, field[1])
            problems += [f"line {number}: {problem}"] if problem else []
        elif not field or (label and label.side):
            problem = f"{short_repr(line.strip(), 40)} stands above the first heading that names a side."
            advice = "Only a title and lines such as `**Topic:** ...` may stand there."
            problems.append(f"line {number}: {problem} {advice}")
            break
    return topic, positions


# JSON


class _Entry(FrozenModel):
    """A speech in a JSON document."""

    speaker: str = ""
    side: str = ""
    round: int | None = Field(None, ge=1)
    phase: str = ""
    """Not shown to judges: a title can tell them too much."""
    text: str = Field(pattern=r"\S")


def _entries(text: str, problems: list[str]) -> list[_Entry]:
    try:
        data = strict_json(text)
        if isinstance(data, list) and len(data) > MAX_SPEECHES:
            problems.append(f"it has {len(data):,} speeches. A transcript has at most {MAX_SPEECHES} speeches.")
            return []
        return TypeAdapter(list[_Entry]).validate_python(data)
    except ValidationError as error:
        for detail in error.errors()[: _MAX_LISTED + 1]:
            where = [f"speech {at + 1}" if isinstance(at, int) else at for at in detail["loc"]]
            problems.append(": ".join([*where, f"{detail['msg']}."]))
    except (ValueError, RecursionError) as error:
        problems.append(f"it is not JSON: {short_repr(str(error), 120)}.")
    return []


def _parse_json(text: str, problems: list[str]) -> Transcript:
    speakers, speeches = _Speakers(), list[TranscriptSpeech]()
    for number, entry in enumerate(_entries(text, problems), start=1):
        both = entry.speaker and entry.side
        heading = f"{entry.speaker} ({entry.side})" if both else entry.speaker or entry.side
        label = speakers.label(heading)
        problem = speakers.introduce(label, heading) if label.side else f"{short_repr(heading, 40)} names no side."
        if problem:
            problems.append(f"speech {number}: {problem}")
        speeches.append(TranscriptSpeech(side=label.side or "a", round=entry.round or 0, text=entry.text))
    if len({speech.round > 0 for speech in speeches}) > 1:
        problems.append("some speeches have a round and others have none.")
    elif speeches and not speeches[0].round:
        speeches = _numbered(speeches)
    return Transcript(topic=None, positions={}, speakers=speakers.names, speeches=tuple(speeches))
