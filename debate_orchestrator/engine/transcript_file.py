"""Reads a debate that was written down elsewhere: one document in, its topic and speeches out.

Each speech is below a heading that names its side:

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
from collections import Counter
from collections.abc import Iterator
from functools import cache
from itertools import pairwise
from typing import NamedTuple

from markdown_it import MarkdownIt
from markdown_it.rules_block.html_block import HTML_SEQUENCES
from markdown_it.token import Token
from pydantic import Field, TypeAdapter, ValidationError

from debate_orchestrator.core.private_text import public_text
from debate_orchestrator.core.values import FrozenModel
from debate_orchestrator.engine.name_comparison import (
    as_drawn,
    comparable_name,
    joined_words,
    look_alike,
    names_look_alike,
    visible_lines,
    words_of,
)
from debate_orchestrator.util.data import read_regular, read_text, strict_json
from debate_orchestrator.util.errors import BadFile, short_repr
from debate_orchestrator.util.sanitize import one_line, sanitize

MAX_SIZE = 2_000_000
"""Bytes in a transcript."""
MAX_ROUNDS = 50
MAX_SPEECHES = 200
HOW_TO_WRITE = (
    "Write each speech below a heading of its own, which names its speaker and side each time: `# Topic`, "
    "`## Round 1`, `### Alice (Pro)`, "
    'the speech, `### Bob (Con)`, the speech; or as JSON: [{"speaker": "Alice", "side": "pro", "text": "..."}, ...].'
)
_MAX_LISTED = 20
_OWN_REPORT = re.compile(r"\s*# Debate (?:Report|Transcript)\s*\n")
"""The beginning of a report or a transcript of this program."""


class TranscriptSpeech(FrozenModel):
    side: str
    """`a` argues for the topic, `b` against it."""
    round: int
    text: str
    declined: bool = False
    concedes: bool = False
    """Whether it is on record that it concedes the debate. No line of a document does."""
    cut: bool = False
    """Whether a limit of length cut it short."""


class Transcript(FrozenModel):
    """A debate as it was written down."""

    topic: str | None
    positions: dict[str, str] = {}
    """Side to position, as far as the document gives them."""
    speakers: dict[str, str]
    """Side to the name of its speaker, as far as the document gives them."""
    speeches: tuple[TranscriptSpeech, ...]
    notes: tuple[str, ...] = ()
    """Notes to readers of the report about the document, in sentences."""

    @property
    def rounds(self) -> int:
        return max(speech.round for speech in self.speeches)


def read(path: str) -> tuple[Transcript, str]:
    """The transcript in a file, and the sha256 of its bytes. Raises BadFile as `parse`, or if it can't be read."""
    transcript = parse(read_text(path, MAX_SIZE), path)
    return transcript, hashlib.sha256(read_regular(path, follow_symlinks=True)).hexdigest()


def is_report(path: str) -> bool:
    """Whether a file begins as this program's reports do; False for one that can't be read."""
    try:
        data = read_regular(path, follow_symlinks=True, maximum=MAX_SIZE)
    except (OSError, ValueError):
        return False
    return _OWN_REPORT.match(data.decode("utf-8-sig", "replace")) is not None


def parse(text: str, name: str) -> Transcript:
    """The transcript in a document, which is JSON where it begins like JSON and markdown otherwise. Raises BadFile with
    every problem and the form to write in; `name` is what the messages call the document."""
    problems: list[str] = []
    if _OWN_REPORT.match(text):
        problems.append("it was written by this program. Judge the journal of its debate instead.")
        transcript = Transcript(topic=None, speakers={}, speeches=())
    elif re.match(r"\s*(?:\{|\[\s*[\]{])", text):
        transcript = _parse_json(text, problems)
    else:
        transcript = _parse_markdown(sanitize(text), problems)
    problems = problems or list(_speech_problems(transcript))
    if problems:
        hidden = len(problems) - _MAX_LISTED
        more = [f"{hidden} more lines have such problems."] if hidden > 0 else []
        raise BadFile([f"{name}: {problem}" for problem in (*problems[:_MAX_LISTED], *more, HOW_TO_WRITE)])
    return transcript


def _too_many(actual: str) -> str:
    """The problem of a transcript that is too long."""
    return f"it has {actual}. A transcript has at most {MAX_ROUNDS} rounds and {MAX_SPEECHES} speeches."


def _speech_problems(transcript: Transcript) -> Iterator[str]:
    speeches = transcript.speeches
    if not speeches:
        yield "no heading names a speaker with a side."
        return
    if len(speeches) > MAX_SPEECHES or transcript.rounds > MAX_ROUNDS:
        yield _too_many(f"{transcript.rounds} rounds and {len(speeches)} speeches")
    if len({speech.side for speech in speeches}) < 2:
        yield f"side {speeches[0].side.upper()} is the only side that speaks. A debate has speeches of both sides."
    rounds = [speech.round for speech in speeches]
    if 0 in rounds:
        yield f"speech {rounds.index(0) + 1} is in no round, and others are in one. Give all speeches a round, or none."
    elif rounds != sorted(rounds) or rounds[0] != 1 or len({*rounds}) != transcript.rounds:
        actual = short_repr(", ".join(str(number) for number in dict.fromkeys(rounds)))
        yield f"its speeches are in the rounds {actual}. Number rounds from 1, in order, with a speech in each."


def _numbered(speeches: list[TranscriptSpeech]) -> tuple[TranscriptSpeech, ...]:
    """Speeches, if none has a round, with them: a round begins where the first speaker speaks again after the other."""
    if any(speech.round for speech in speeches):
        return tuple(speeches)
    numbered, number, seats = list[TranscriptSpeech](), 1, set[str]()
    for speech in speeches:
        if speech.side == speeches[0].side and len(seats) > 1:
            number, seats = number + 1, set()
        seats.add(speech.side)
        numbered.append(speech.model_copy(update={"round": number}))
    return tuple(numbered)


# Who speaks

_FOR = ("a", "pro", "for", "yes", "affirmative", "aff", "proposition", "proponent", "government")
_AGAINST = ("b", "con", "contra", "against", "no", "negative", "neg", "opposition", "opponent")
_SIDES = dict.fromkeys(_FOR, "a") | dict.fromkeys(_AGAINST, "b")
_SIDE = re.compile(r"(?:the )?(speaker |debater |researcher |side |team )?(\w+)(?: side| team)?")
_NAME_AND_SIDE = re.compile(r"(.*\S) ?\(([^()]*)\)")
_IN_BRACKETS = re.compile(r"\(([^()]*)\)")


class _Speaker(NamedTuple):
    side: str
    name: str
    side_words: str
    """The words that name the side, as they are compared."""

    @property
    def heading(self) -> str:
        """The words of a heading that names both, as they are compared."""
        return f"{words_of(self.name)} {self.side_words}".strip()


def _side(phrase: str) -> str | None:
    """The side that a phrase such as `Pro` or `Speaker A` names."""
    match = _SIDE.fullmatch(words_of(phrase))
    return _SIDES.get(match[2]) if match else None


def _speaker(heading: str) -> _Speaker | None:
    """The side that a heading such as `Alice (Pro)` or `Pro` names; None if it names no side, or both."""
    heading = re.sub("[*`]", "", heading).strip().removesuffix(":")
    match = _NAME_AND_SIDE.fullmatch(heading)
    name, phrase = (match[1], match[2]) if match else ("", heading)
    side, sides_in_name = _side(phrase), {_side(part) for part in (name, *_IN_BRACKETS.findall(name))}
    denied = re.search(r"[~\u00ac]|<(?:del|s|strike)\b", phrase, re.IGNORECASE)
    return None if side is None or denied or sides_in_name - {None, side} else _Speaker(side, name, words_of(phrase))


def _names(speakers: list[_Speaker], problems: list[str]) -> dict[str, str]:
    """Side to the name of its speaker. Names without words, names of both sides that look alike, and two names for one
    are problems; where a heading has no name, the words for its side are one."""
    names: dict[str, str] = {}
    for side, name in dict.fromkeys((speaker.side, speaker.name or speaker.side_words) for speaker in speakers):
        if names.setdefault(side, name) != name:
            two_names = f"{short_repr(name, 40)} and {short_repr(names[side], 40)}"
            problems.append(f"{two_names} speak for the same side. Call each speaker the same everywhere.")
        letters = comparable_name(name).replace(" ", "")
        if not letters:  # a line of a speech that begins with such a name could not be told
            problems.append(f"{short_repr(name, 40)} names a speaker without a letter or a digit. Use a name in words.")
        other = next((other for key, other in names.items() if key != side), "")
        if letters and other == name:
            problems.append(f"{short_repr(name, 40)} speaks for both sides.")
        elif letters and other and names_look_alike(other, name):
            two_names = f"{short_repr(other, 40)} and {short_repr(name, 40)}"
            problems.append(f"{two_names} look alike and speak for different sides. Call them by different names.")
    return dict(sorted((speaker.side, speaker.name) for speaker in speakers if speaker.name))


# What a line looks like

_HEADING_END = re.compile(r":|\s[-\u2013\u2014]+\s")
_PLAIN_BEGINNING = re.compile(r"\s*(?:[^\W_]|[\"'\u2018-\u201e\u00ab])")
_QUOTED = re.compile(r"\s*(?:[>|]|[-+*]\s)")
"""The beginning of a line of a quotation, a table or a list."""

_NAME_END = re.compile(
    "[:\u2806\u2982\ua6f4\u02d0\u02f8\u205a\u2236\ua4fd\ua789\u05c3]|(?<=[a-z0-9\ua4d0])[\u1361\u17c8\u1804\u0589\u0703\u0704\u0903\u0a83\u16ec\u1803\u1809]"
    "|(?<!\\.)\\.\\.(?!\\.)|[\u2012-\u2015\u2e3a\u2e3b]|\\s[-~]+\\s"
    "|[\\s\\[(,](?:\\d{4}-\\d\\d-|\\d{1,2}:|\\d{1,2}/\\d{1,2}/)[\\d:./, -]{1,20}(?:[ap]\\.?m\\.?)?[\\])]?"
    "(?=\\s*(?:[:\u2012-\u2015]|-\\s|$))"
)
"""What may end a name: a colon, a character that looks like one (normalization turns some of these into `..`), a dash,
or a time before any of them."""
_BEFORE_NAME = re.compile(
    r"\W*(?:(?:(?:jan|feb|ma[ry]|apr|ju[nl]|aug|sep|oct|nov|dec|\w{2,6}day)\w*\W{1,3})?\d\w*(?:\W{1,3}[ap]\.?m\b)?"
    r"|(?:round|part|turn|speech|reply|response|answer|rebuttal)(?=\W{1,3}\d|\s?[:.)\u2010-\u2015-]))\W+"
)
"""A number, of a time or a date perhaps, or a word such as `Reply` before the name in a heading."""
_MAX_BEFORE_NAME, _MAX_NAME = 60, 300
"""Characters of a line in which the name in a heading begins, and of that name where it does not begin the line."""
_BOXED_NAME = re.compile(r"\s*(?:\[([^\[\]]+)\](?![(\[])|([*_]{1,3})([^*_()]*\([^*_()]*\))\2)")
"""A name in brackets, or a name and a side in bold letters, that words may follow."""


class _SpeakerHeadings(NamedTuple):
    """The speakers' headings of a transcript, as they are compared. Made once for all its speeches."""

    names: set[str]
    whole: set[str]
    """The names, and the names with their sides."""
    side_words: set[str]
    comparable_names: set[str]
    after_name: set[str]
    """What may follow a name, as `comparable_name` gives it: nothing, or a space and the words of a side."""

    @classmethod
    def of(cls, speakers: list[_Speaker]) -> _SpeakerHeadings:
        first: dict[str, str] = {}  # a second name of a side is refused
        speakers = [who for who in speakers if not who.name or first.setdefault(who.side, who.name) == who.name]
        names = {words for speaker in speakers if (words := words_of(speaker.name))}
        whole = names | {speaker.heading for speaker in speakers}
        side_words = {speaker.side_words for speaker in speakers}
        after_name = {"", *(f" {comparable_name(words)}" for words in side_words)}
        return cls(names, whole, side_words, {comparable_name(name) for name in first.values()} - {""}, after_name)


def _begins_with_name(line: str, speaker_headings: _SpeakerHeadings) -> bool:
    """Whether a line begins with the name of a speaker and a colon or a dash of any kind, perhaps after a time or a
    number, or with that name in brackets, or in bold letters with a side."""
    return any(
        look_alike(line_beginning[: len(name)], name)
        and any(look_alike(line_beginning[len(name) :], rest) for rest in speaker_headings.after_name)
        for form in dict.fromkeys((line, as_drawn(line)))
        for line_beginning in _line_beginnings(form)
        for name in speaker_headings.comparable_names
    )


def _line_beginnings(line: str) -> Iterator[str]:
    """The beginnings of the lines that a reader sees of one, up to what may end a name, and a name in brackets."""
    for text in visible_lines(line):
        yield comparable_name(_NAME_END.split(text, maxsplit=1)[0])
        end = 0
        while before := _BEFORE_NAME.match(text, end, _MAX_BEFORE_NAME):
            end = before.end()
            yield comparable_name(_NAME_END.split(text[end : end + _MAX_NAME], maxsplit=1)[0])
    if boxed := _BOXED_NAME.match(line):
        yield comparable_name(boxed[1] or boxed[3])


def _lines_like_headings(text: str, speaker_headings: _SpeakerHeadings) -> Iterator[tuple[int, str]]:
    """The lines of a speech, with their numbers from 0, that look like a speaker's heading: up to a colon or a dash or
    their end they name a speaker of the transcript, with a side or alone, or a side, or another name with a side in
    brackets. Lines of lists, tables and quotations don't."""

    @cache
    def is_like_one(line: str) -> bool:
        marked = not _PLAIN_BEGINNING.match(line)
        line_beginnings = enumerate(_HEADING_END.split(visible, maxsplit=1)[0] for visible in visible_lines(line))
        return any(
            _is_speaker_heading(line_beginning, marked or index > 0, speaker_headings)
            for index, line_beginning in line_beginnings
        )

    for number, line in enumerate(sanitize(text).split("\n")):
        if (
            line.strip()
            and not _QUOTED.match(line)
            and (is_like_one(line) or _begins_with_name(line, speaker_headings))
        ):
            yield number, line.strip()


def _is_speaker_heading(line_beginning: str, marked: bool, speaker_headings: _SpeakerHeadings) -> bool:
    """Whether the beginning of a visible line is a speaker's heading. A word that may mean a side is one only where
    the line is `marked` by punctuation, and a single letter only if the headings of the transcript call a side so."""
    words = joined_words(line_beginning)
    if words in speaker_headings.whole:
        return True
    for name in speaker_headings.names:
        rest = (words.removeprefix(f"{name} "), words.removesuffix(f" {name}"))
        if any(part != words and _side(part) for part in rest):
            return True
    if (side := _SIDE.fullmatch(words)) and side[2] in _SIDES:
        return bool(side[1]) or (marked and (len(words) > 1 or words in speaker_headings.side_words))
    speaker = _speaker(line_beginning.strip(" #")) if marked and "(" in line_beginning else None
    return speaker is not None and (len(speaker.side_words) > 1 or speaker.side_words in speaker_headings.side_words)


def _heading_problems(place: str, first: int, text: str, speaker_headings: _SpeakerHeadings, advice: str) -> list[str]:
    """A problem for each line of a speech that looks like a speaker's heading; `place` is before its number, from
    `first`."""
    return [
        f"{place}line {first + number}: {short_repr(line, 40)} looks like a speaker's heading within a speech. {advice}"
        for number, line in _lines_like_headings(text, speaker_headings)
    ]


# Markdown

_HEADING_LINE = re.compile(r"^ {0,3}#{1,6}[ \t]", re.MULTILINE)
_TOPIC = re.compile(r"(?:\*\*)?topic:(?:\*\*)?\s+(\S.*)", re.IGNORECASE)
_HORIZONTAL_RULE = re.compile(r" {0,3}([-*_])(?:[ \t]*\1){2,}[ \t]*")
_ROUND = re.compile(r"\W*round\W+(\d{1,3})\b.*", re.IGNORECASE)


class _Heading(NamedTuple):
    line: int
    """Its index in the document."""
    end: int
    """The index of the first line below it."""
    level: int
    text: str


@cache
def _parser() -> MarkdownIt:
    parser = MarkdownIt("commonmark")
    parser.core.ruler.enableOnly(["normalize", "block"])
    return parser


def _headings(text: str, problems: list[str]) -> list[_Heading]:
    """The headings outside code, HTML, lists and quotations. A line above a rule is one only where it names a
    side. Code and HTML that are never closed would hide every heading below them: that is a problem."""
    headings, tokens = list[_Heading](), _parser().parse(f"{text}\n")
    for token, following in pairwise([*tokens, Token("", "", 0)]):
        if token.map is None:
            continue
        location = f"line {token.map[0] + 1}"
        if token.type == "heading_open" and not token.level:
            if token.markup.startswith("#") or _speaker(following.content):
                first, end = token.map
                headings.append(_Heading(first, end, int(token.tag[1:]), following.content))
        elif token.type == "fence" and token.map[1] - token.map[0] < token.content.count("\n") + 2:
            problems.append(f"{location}: this code block is never closed. Close it with a line {token.markup}.")
        elif token.type == "html_block" and _hides_headings(token.content.lstrip()):
            problems.append(f"{location}: this HTML hides what is below it. Close it, and leave a line empty.")
    return headings


def _hides_headings(block: str) -> bool:
    """Whether a block of HTML has no end, or, where only a blank line ends it, has lines of a heading."""
    end = next(end for begin, end, _ in HTML_SEQUENCES if begin.search(block.split("\n", maxsplit=1)[0]))
    return _HEADING_LINE.search(block) is not None if end.search("") else not end.search(block)


def _parse_markdown(text: str, problems: list[str]) -> Transcript:
    lines = text.split("\n")
    headings = _headings(text, problems)
    levels_and_sides = {(heading.level, who.side) for heading in headings if (who := _speaker(heading.text))}
    sides = Counter(level for level, _ in levels_and_sides)
    level = max(sides, key=lambda level: (sides[level], -level), default=6)  # a title may end in `(A)`
    headings = [heading for heading in headings if heading.level <= level]  # deeper ones belong to a speech
    topic = _read_above(lines[: headings[0].line if headings else len(lines)], 0, problems)
    speeches, number, unread = list[TranscriptSpeech](), 0, list[str]()
    speakers = [speaker for heading in headings if heading.level == level and (speaker := _speaker(heading.text))]
    if len(speakers) > MAX_SPEECHES:  # before the work that each takes
        problems.append(_too_many(f"{len(speakers):,} speeches"))
        return Transcript(topic=topic, speakers={}, speeches=())
    speaker_headings = _SpeakerHeadings.of(speakers)
    advice = f"Begin a speech with {'#' * level}, or quote the line after `>`."
    titles = [heading.text for heading in headings if heading.level == 1]
    has_round_titles = len(titles) > 1 and all(map(_ROUND.fullmatch, titles))
    for heading, following in pairwise([*headings, _Heading(len(lines), len(lines), 1, "")]):
        location, name = f"line {heading.line + 1}", short_repr(heading.text, 40)
        body = lines[heading.end : following.line]
        speaker = _speaker(heading.text) if heading.level == level else None
        if speaker is not None:
            speech = _speech(body)
            speeches.append(TranscriptSpeech(side=speaker.side, round=number, text=speech))
            problems += _heading_problems("", heading.end + 1, "\n".join(body), speaker_headings, advice)
            problems += [] if public_text(speech).text.strip() else [f"{location}: {name} says nothing."]
        elif heading is headings[0] and heading.level == 1 and not has_round_titles:
            topic = _read_above(body, heading.end, problems) or topic or heading.text
        elif any(map(str.strip, body)):
            problems.append(f"{location}: {name} has text below it and names no side.")
        elif match := _ROUND.fullmatch(heading.text):
            number = int(match[1])
            if any(speech.round == number for speech in speeches):
                problems.append(f"{location}: round {number} begins a second time. A file holds one debate.")
        elif heading.level == 1 or heading is headings[-1] or len(unread) == MAX_SPEECHES:
            problems.append(f"{location}: {name} names no side and no round. Leave it out. A file holds one debate.")
        else:
            unread.append(name)
    notes = (f"Headings that judges did not read: {', '.join(dict.fromkeys(unread))}.",) if unread else ()
    return Transcript(topic=topic, speakers=_names(speakers, problems), speeches=_numbered(speeches), notes=notes)


def _read_above(lines: list[str], first: int, problems: list[str]) -> str | None:
    """The topic that a line such as `**Topic:** ...` above the debate gives. Any other text there is a problem; `first`
    is the index of the first of these lines."""
    topic = None
    for number, line in enumerate(lines, start=first + 1):
        if topic is None and (match := _TOPIC.fullmatch(line.strip())):
            topic = match[1]
        elif line.strip():
            problem = f"line {number}: {short_repr(line.strip(), 40)} is above the first heading that names a side."
            problems.append(f"{problem} Only a title and a line `**Topic:** ...` may be there.")
            break
    return topic


def _speech(lines: list[str]) -> str:
    """The text of these lines, without blank ones around them and rules below them."""
    while lines and (not lines[-1].strip() or _HORIZONTAL_RULE.fullmatch(lines[-1])):
        lines.pop()
    return "\n".join(lines).strip("\n")


# JSON


class _Entry(FrozenModel):
    """A speech in a JSON document."""

    speaker: str = ""
    side: str = ""
    round: int | None = Field(None, ge=1)
    phase: str = ""
    """Not shown to judges: a title can tell them too much."""
    text: str


def _entries(text: str, problems: list[str]) -> list[_Entry]:
    try:
        data = strict_json(text)
        if isinstance(data, list) and len(data) > MAX_SPEECHES:
            problems.append(_too_many(f"{len(data):,} speeches"))
            return []
        return TypeAdapter(list[_Entry]).validate_python(data)
    except ValidationError as error:
        for detail in error.errors()[: _MAX_LISTED + 1]:
            location = [f"speech {index + 1}" if isinstance(index, int) else index for index in detail["loc"]]
            problems.append(": ".join([*location, f"{detail['msg']}."]))
    except (ValueError, RecursionError) as error:
        problems.append(f"it is not JSON: {short_repr(str(error), 120)}.")
    return []


def _parse_json(text: str, problems: list[str]) -> Transcript:
    speakers, speeches, entries = list[_Speaker](), list[TranscriptSpeech](), _entries(text, problems)
    for number, entry in enumerate(entries, start=1):
        name, side = one_line(entry.speaker), one_line(entry.side)
        heading = f"{name} ({side})" if name and side else name or side
        if (speaker := _speaker(heading)) is None:
            problems.append(f"speech {number}: {short_repr(heading, 40)} names no side.")
            continue
        if not public_text(sanitize(entry.text)).text.strip():
            problems.append(f"speech {number}: {short_repr(heading, 40)} says nothing.")
        speakers.append(speaker)
        speeches.append(TranscriptSpeech(side=speaker.side, round=entry.round or 0, text=entry.text))
    speaker_headings = _SpeakerHeadings.of(speakers)
    advice = "Write each speech as an object of its own, or quote the line after `>`."
    for number, entry in enumerate(entries, start=1):
        problems += _heading_problems(f"speech {number}, ", 1, entry.text, speaker_headings, advice)
    return Transcript(topic=None, speakers=_names(speakers, problems), speeches=_numbered(speeches))
