"""A reviewer's ballot, its form, and which ballots count: a person who was not there reads the debate and judges it by
the judges' own rubric.

It asks what the debate's judges are asked to vote on, on the same scale and round by round, and two things more:
which position the reviewer held before reading, and which after. Its votes are read as a judge's are: `B` is the side
b, and nothing is guessed.

`debate-report.ballots/ada.yaml`, beside the journal, is the ballot of a reviewer called ada, `ada.draft.yaml` one that
is not finished. A ballot counts for the journal as it stood when it was cast, known by the digest of its last line.
"""

from __future__ import annotations

import hashlib
import hmac
import os
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from datetime import date
from functools import cache
from typing import Any, NamedTuple, NewType, Self

from debate_orchestrator.core import reply_check, schedule
from debate_orchestrator.core.phases import TIE, Slot
from debate_orchestrator.core.shape import Field, Shape, ShapeContext, fields_asked
from debate_orchestrator.core.state import DebateState
from debate_orchestrator.core.values import FrozenModel
from debate_orchestrator.core.verdict import ParsedBallot, read_ballot
from debate_orchestrator.prompting import reply_code
from debate_orchestrator.prompting.normalize import normalize
from debate_orchestrator.prompting.replies import side_words
from debate_orchestrator.setup.state import QuestionText
from debate_orchestrator.storage.journal_lines import Entry, state_of_events
from debate_orchestrator.storage.paths import DebateFiles
from debate_orchestrator.util import resources
from debate_orchestrator.util.data import is_link, name_of, parse_mapping_with_lines, read_text
from debate_orchestrator.util.errors import BadFile, short_repr, with_hint
from debate_orchestrator.util.redact import REPLACEMENT, redact
from debate_orchestrator.util.sanitize import (
    INVISIBLE,
    normalize_unicode,
    one_line,
    plain_letters,
    without_quotation_marks,
)

VERSION = 1
"""The version of the format of ballot files."""
NO_POSITION = "undecided"
FINAL = 0
"""The number of the ballot on the debate as a whole among those on rounds."""
MAX_NAME_LENGTH = 80
MAX_REASON_WORDS = 80
"""The most that the reason may have."""
_VOTED = ("scores", "label", "score", "winner", "probability")
"""Fields of a judge's vote that a reviewer is asked for too: those that are counted."""


NormalizedName = NewType("NormalizedName", str)
"""A reviewer's name as it is compared with others and as reports write it, which `normalized_name` makes. A name is
normalized where it comes in: typed, in an address, or read from a file."""


class ReviewerBallot(FrozenModel):
    model_config = {**FrozenModel.model_config, "arbitrary_types_allowed": True}

    reviewer: NormalizedName
    date: str
    seen: bool
    """Whether the reviewer says to have known the verdict before."""
    before: str | None
    """The position held before reading: a side or `undecided`; None if that was not asked."""
    after: str | None
    rounds: dict[int, ParsedBallot]
    final: ParsedBallot
    """Its vote on the debate as a whole; if judges only score, the side that scores better wins."""
    why: str


class ReviewForm:
    """The questions of a ballot on one debate."""

    def __init__(self, debate: DebateState):
        format = debate.format
        self.debate = debate
        self.sides = format.sides
        self.shape_context = ShapeContext(
            sides=format.sides,
            criteria=debate.criteria,
            min=format.rubric.min,
            max=format.rubric.max,
            rounds=debate.rounds,
            strictness=debate.opened.settings.strictness,
            scales={name: format.rubric.scale(name) for name in debate.criteria},
        )
        reached = {turn.round for turn in schedule.turns_taken(debate)}
        slots = [slot for slot in debate.plan.slots if format.is_vote(slot.phase)]
        self._side_words = side_words(debate)
        self.rounds: dict[int, Shape] = {}
        """Round to what is asked about it; only rounds that were held and that judges vote on."""
        for n in sorted(n for n in reached if n is not None):
            if shape := self._fields_asked(slot for slot in slots if slot.round == n):
                self.rounds[n] = shape
        self.final = self._fields_asked(slot for slot in slots if slot.after_rounds) or {
            "winner": Field(kind="choice", options=(*format.sides, TIE), about="who won the debate")
        }

    def _fields_asked(self, slots: Iterable[Slot]) -> Shape:
        fields: Shape = {}
        for slot in slots:
            fields |= fields_asked(self.debate.format.shapes[slot.phase.reply], self.shape_context)
        return {name: fields[name] for name in _VOTED if name in fields}

    @property
    def shape(self) -> Shape:
        """A whole ballot."""
        position = Field(kind="choice", options=(*self.sides, NO_POSITION), optional=True)
        rounds = {str(n): Field(kind="object", fields=shape) for n, shape in self.rounds.items()}
        return {
            "ballot": Field(kind="choice", options=(str(VERSION),), about="the version of this form"),
            "journal": Field(kind="text", about="the digest of the journal's last line"),
            "reviewer": Field(kind="text", about="your name"),
            "date": Field(kind="text", about="the day, as 2026-02-03"),
            "seen": Field(kind="boolean", about="whether you knew the verdict before you filled this in"),
            "before": position.model_copy(update={"about": "the position you held before you read the debate"}),
            **({"rounds": Field(kind="object", title="Round", fields=rounds)} if rounds else {}),
            "final": Field(kind="object", fields=self.final, about="the debate as a whole"),
            "why": Field(kind="text", max_words=MAX_REASON_WORDS, about="why, in one sentence"),
            "after": position.model_copy(update={"about": "the position you hold now"}),
        }

    @property
    def criteria_shown(self) -> list[tuple[str, str, str]]:
        """Title, scale and meaning of each criterion; empty if nothing is scored."""
        criteria = self.debate.format.rubric.criteria
        names = self.shape_context.criteria if self.has_scores else ()
        return [(criteria[name].title, self.scale(name), one_line(criteria[name].about)) for name in names]

    @property
    def has_scores(self) -> bool:
        return any("scores" in shape for shape in (*self.rounds.values(), self.final))

    def scale(self, criterion: str) -> str:
        """The scale of a criterion: `1 to 10`."""
        low, high = self.shape_context.scale(criterion)
        return f"{low:g} to {high:g}"

    def parts(self, *names: str) -> Shape:
        """Some parts of a ballot, of which everything has to be answered, as a person who is asked for them does."""
        whole = self.shape
        return {name: whole[name].model_copy(update={"optional": False}) for name in names if name in whole}

    def problems(self, value: Mapping[str, Any], where: str = "", only: Collection[str] = ()) -> list[str]:
        """Every problem of a value as a ballot on this debate; with `only`, those of these fields."""
        shape, values = self.shape, self.normalized(value)
        if only:
            shape = {name: field for name, field in shape.items() if name in only}
            values = {name: item for name, item in values.items() if name in only}
        problems_found = reply_check.check(shape, values, self.shape_context, where, is_form=True)
        name, day = values.get("reviewer"), values.get("date")
        if isinstance(name, str) and (problem := name_problem(name, f"{where}reviewer")):
            problems_found.append(problem)
        if isinstance(day, str) and not _is_day(day):
            problems_found.append(with_hint(f"{where}date: {short_repr(day)} is not a date.", "2026-02-03"))
        return problems_found

    def normalized(self, value: Mapping[str, Any]) -> dict[str, Any]:
        """A ballot with its votes as they are meant, and with everything else as it is. No word that was written stands
        for an answer that may be left out."""
        values = {"before": None, "after": None, **_as_json(value)}
        values |= {name: None for name in ("before", "after") if values[name] == ""}
        named = [name for name, field in self.shape.items() if values.get(name) is not None and field.kind != "text"]
        shape = self.parts(*named)
        votes = {name: values[name] for name in shape}
        return {**values, **normalize(shape, votes, self.shape_context, self._side_words).value}

    def ballot(self, value: Mapping[str, Any]) -> ReviewerBallot:
        values = self.normalized(value)
        parts = {int(n): part for n, part in values.get("rounds", {}).items()}
        return ReviewerBallot(
            reviewer=normalized_name(values["reviewer"]),
            date=values["date"],
            seen=values["seen"],
            before=values["before"],
            after=values["after"],
            rounds={n: self._read(part) for n, part in sorted(parts.items())},
            final=self._read(values["final"]),
            why=values["why"],
        )

    def _read(self, part: Mapping[str, Any]) -> ParsedBallot:
        return read_ballot(part, self.sides, self.debate.weights, self.debate.format.winner_of)


def _as_json(value: Any) -> Any:
    """A value as JSON would have it: a round's number is a key, and so a text; so is the form's version."""
    if not isinstance(value, Mapping):
        return value
    converted = {str(key): _as_json(item) for key, item in value.items()}
    if isinstance(converted.get("ballot"), int) and not isinstance(converted["ballot"], bool):
        converted["ballot"] = str(converted["ballot"])
    return converted


def name_problem(name: str, field: str) -> str | None:
    """The reason that a ballot can't be signed with this name, which was given in that field; None if it can."""
    if (
        0 < len(normalized_name(name)) <= MAX_NAME_LENGTH
        and one_line(name) == " ".join(name.split())
        and "\n" not in name
    ):
        return None
    return f"{field}: {short_repr(name)} is not a name on one line of at most {MAX_NAME_LENGTH} characters."


def _is_day(day: str) -> bool:
    try:
        return date.fromisoformat(day).isoformat() == day
    except ValueError:
        return False


class ReviewTexts(FrozenModel):
    """Everything in prompts/reviewing.yaml."""

    form: tuple[str, ...]
    seen_hint: str
    before_hint: str
    after_hint: str
    why_hint: str
    name_hint: str
    messages: dict[str, str]
    positions_heading: str
    words: dict[str, str]
    questions: dict[str, QuestionText]


@cache
def review_texts() -> ReviewTexts:
    return ReviewTexts.model_validate(resources.read_yaml("reviewing.yaml"))


def question_text(form: ReviewForm, field_path: tuple[str, ...], about: str) -> QuestionText:
    final, of_round = field_path[0] == "final", field_path[0] == "rounds"
    name = field_path[1] if final else field_path[2] if of_round else field_path[0]
    format = form.debate.format
    about = one_line(about)
    values = {
        "topic": one_line(form.debate.opened.settings.topic),
        "words": MAX_REASON_WORDS,
        "round": field_path[1] if of_round else FINAL,
        "side": format.name_of(field_path[-1])
        if field_path[-1] in form.sides
        else field_path[-1].replace("_", " ").capitalize(),
        "criteria": ", ".join(format.rubric.criteria[criterion].title for criterion in form.shape_context.criteria),
        "about": about[:1].upper() + about[1:] or name.capitalize(),
    }
    text = review_texts().questions[f"{name}_final" if final else name]
    return text.model_copy(update={"text": text.text.format(**values), "help": text.help.format(**values)})


def in_order(form: ReviewForm, ballot: Mapping[str, Any]) -> dict[str, Any]:
    """A ballot as it is filed: its parts in a fixed order, with null for parts that do not apply."""
    rounds = {n: _with_nulls(form.rounds[n], part) for n, part in ballot.get("rounds", {}).items() if n in form.rounds}
    parts: dict[str, Any] = {"rounds": rounds} if "rounds" in ballot else {}
    parts |= {"final": _with_nulls(form.final, ballot["final"])} if "final" in ballot else {}
    return {name: parts.get(name, ballot[name]) for name in form.shape if name in ballot}


def _with_nulls(shape: Shape, part: Mapping[str, Any]) -> dict[str, Any]:
    left_out = (name for name, field in shape.items() if name not in part and (field.only_if or field.unless))
    return {**part, **dict.fromkeys(left_out)}


def new_ballot(digest: str, reviewer: str, day: str) -> dict[str, Any]:
    """An empty ballot, with only the debate, the reviewer and the date filled in."""
    return {"ballot": VERSION, "journal": digest, "reviewer": reviewer, "date": day}


SUFFIX, DRAFT = ".yaml", ".draft.yaml"
MAX_BALLOTS, MAX_FOLDER_SIZE = 1_000, 1_000_000
"""Ballots that are read of one folder, and the bytes that they have together."""
MAX_SIZE, _MAX_NODES = 64_000, 2_000
"""Bytes of a ballot, and its values and keys: a hundred times what most have. A folder may come from a stranger."""
_PORTABLE_NAME = re.compile(r"(?!.*-[0-9a-f]{8}$)[a-z0-9][a-z0-9_-]{0,40}")
"""Names that can be a file's on any system, and do not end as the files of other names do."""
_DIGITS = 8
"""Hexadecimal digits of a digest in a file's name."""


class ReviewedDebate(NamedTuple):
    path: str
    entries: Sequence[Entry]
    form: ReviewForm
    folder: str

    @classmethod
    def from_entries(cls, path: str, entries: Sequence[Entry], debate: DebateState) -> Self:
        return cls(path, entries, ReviewForm(debate), DebateFiles.of_journal(path).ballots)

    @property
    def head(self) -> str:
        """The hash of the journal's last line, which the ballots on it name."""
        return self.entries[-1].hash


class GatheredBallots(FrozenModel):
    """The ballots beside a journal."""

    counted: tuple[ReviewerBallot, ...] = ()
    left_out: tuple[str, ...] = ()
    """The reasons that others do not count: one problem each, which begins with the file's name."""


class BallotFolder(NamedTuple):
    files: tuple[tuple[str, dict[str, Any] | BadFile], ...] = ()
    """Name to the ballot, or to the reason that it can't be read."""
    left_out: tuple[str, ...] = ()
    """The reason that no more files were read."""

    def gather(self, entries: Sequence[Entry]) -> GatheredBallots:
        """The ballots that count for a journal, by the names of their files, and why others don't."""
        if not self.files:
            return GatheredBallots(left_out=self.left_out)
        counted: list[ReviewerBallot] = []
        left_out: list[str] = []
        form = ReviewForm(state_of_events("", [entry.event for entry in entries]))
        for name, value in self.files:
            try:
                counted.append(_ballot_of_file(name, value, form, entries))
            except BadFile as error:
                left_out += error.problems
        return GatheredBallots(counted=tuple(counted), left_out=(*left_out, *self.left_out))


NO_BALLOTS = BallotFolder()


def read_ballots(folder: str, *, with_drafts: bool = False) -> BallotFolder:
    """The ballots in a folder, read once for all that is made of them; `with_drafts`, those that have been begun too.
    However many and large the files are, no more are read than take a few seconds. Problems stand in the report, and
    name the folder without the one that it is in."""
    folder_name = name_of(os.path.basename(folder))
    if is_link(folder):
        return BallotFolder(left_out=(f"{folder_name}: the folder of the ballots can't be a symbolic link.",))
    try:
        names = sorted(
            name for name in os.listdir(folder) if name.endswith(SUFFIX) and (with_drafts or not name.endswith(DRAFT))
        )
    except OSError:
        return NO_BALLOTS
    files: list[tuple[str, dict[str, Any] | BadFile]] = []
    size_left = MAX_FOLDER_SIZE
    for name in names[:MAX_BALLOTS]:
        try:
            text = _read_text(os.path.join(folder, name))
            size_left -= len(text.encode())
            if size_left < 0:
                break
            files.append((name, parse_ballot(text, name_of(name))))
        except BadFile as error:
            files.append((name, error))
    if len(files) == len(names):
        return BallotFolder(tuple(files))
    problem = f"{folder_name}: {len(names):,} ballots are too many; the first {len(files):,} are read."
    return BallotFolder(tuple(files), (problem,))


def gather_ballots(folder: str, entries: Sequence[Entry]) -> GatheredBallots:
    """Every ballot in a folder that counts for a journal, and why others don't."""
    return read_ballots(folder).gather(entries)


def is_filed(folder: str, reviewer: NormalizedName, form: ReviewForm, entries: Sequence[Entry]) -> bool:
    """Whether a folder has the ballot of that reviewer and it counts. No other file is read."""
    path = ballot_path(folder, reviewer)
    name = os.path.basename(path)
    with suppress(BadFile):
        value = parse_ballot(_read_text(path), name)
        ballot = _ballot_of_file(name, value, form, entries)
        return not is_link(folder) and ballot.reviewer == _without_secrets(reviewer)
    return False


def _read_text(path: str) -> str:
    """The text of a ballot or a draft. Raises BadFile, with its name without the folder, if it can't be read."""
    try:
        return read_text(path, MAX_SIZE, follow_symlinks=False)
    except BadFile as error:
        name = os.path.basename(path)
        raise BadFile([text.replace(name_of(path), name_of(name), 1) for text in error.problems]) from None


def parse_ballot(text: str, where: str) -> dict[str, Any]:
    """The content of a ballot or a draft. Raises BadFile, with `where`, if it is no mapping or has too many values."""
    return parse_mapping_with_lines(text, where, _MAX_NODES)[0]


def _ballot_of_file(
    name: str, value: dict[str, Any] | BadFile, form: ReviewForm, entries: Sequence[Entry]
) -> ReviewerBallot:
    """The ballot that a file of that name holds. Raises BadFile if it does not count."""
    if isinstance(value, BadFile):
        raise value
    ballot = checked_ballot(value, name_of(name), form, entries)
    if not is_file_of(name, value["reviewer"]):
        raise BadFile(
            f"{name_of(name)}: the ballot of {short_repr(ballot.reviewer)} must be called "
            f"{stem_of(ballot.reviewer)}{SUFFIX}.",
            hint="`debate ballot JOURNAL --take FILE`, which gives it its name",
        )
    return ballot


def checked_ballot(value: Mapping[str, Any], where: str, form: ReviewForm, entries: Sequence[Entry]) -> ReviewerBallot:
    """The ballot that a value is. Raises BadFile with everything that is wrong with it, and if it was not cast on the
    journal as it stands."""
    digest = value.get("journal")
    problems = form.problems(value, f"{where}: ")
    if isinstance(digest, str) and digest.strip() and digest != entries[-1].hash:
        problem = (
            f"{where}: journal: this is a ballot on another journal or an earlier state of this one, whose digest is "
            f"{entries[-1].hash[:16]}..."
        )
        problems.append(with_hint(problem, "`debate ballot JOURNAL --form`, and hand it in again"))
    if problems:
        raise BadFile(problems)
    return form.ballot(value)


def normalized_name(typed_name: str) -> NormalizedName:
    """A reviewer's name as it is compared: `O'Brien` for `O’Brien`, of which only what is seen counts. A normalized
    name stays as it is."""
    return NormalizedName(without_quotation_marks(INVISIBLE.sub("", plain_letters(one_line(typed_name)))))


def _without_secrets(name: NormalizedName) -> NormalizedName:
    """The name under which a ballot is filed, as it is once read."""
    return normalized_name(redact(name))


def stem_of(name: NormalizedName) -> str:
    """A reviewer's file name without suffix: the name if it is plain, else what is left of it and a digest."""
    return _stem(name)


def _stem(name: str) -> str:
    if _PORTABLE_NAME.fullmatch(name):
        return name
    folded = normalize_unicode(name, "NFKD").encode("ascii", "ignore").decode().lower()
    slug = re.sub(r"[^a-z0-9]+", "-", folded).strip("-")[:40].strip("-")
    digits = hashlib.sha256(normalize_unicode(name, "NFC").encode()).hexdigest()[:_DIGITS]
    return f"{slug or 'reviewer'}-{digits}"


def is_file_of(name: str, typed_name: str, suffix: str = SUFFIX) -> bool:
    """Whether the ballot that names this reviewer, or with `DRAFT` the draft, is in a file of that name. Earlier
    versions made it of the name with its quotation marks."""
    stems = (stem_of(normalized_name(typed_name)), _stem(plain_letters(one_line(typed_name))))
    if (
        REPLACEMENT in typed_name
    ):  # any digits: those of `ballot_path`, of which the name that was typed can't be told any more
        return any(re.fullmatch(re.escape(stem[:-_DIGITS]) + "[0-9a-f]{8}" + re.escape(suffix), name) for stem in stems)
    return name in (stem + suffix for stem in stems)


def draft_path(folder: str, reviewer: NormalizedName) -> str:
    """The path of a reviewer's draft."""
    return os.path.join(folder, stem_of(reviewer) + DRAFT)


def ballot_path(folder: str, name: NormalizedName) -> str:
    """The path of a reviewer's ballot. A name that holds a key is filed without it, and its file is told from those of
    other names with the same rest by a digest that only this user can work out: no name is refused for another's."""
    secret = reply_code.secret()  # if it can't be read, that is so for every name
    stem = stem_of(filed_name := _without_secrets(name))
    if filed_name != name:
        text = b"ballot\0" + normalize_unicode(name, "NFC").encode()
        stem = stem[:-_DIGITS] + hmac.new(secret, text, "sha256").hexdigest()[:_DIGITS]
    return os.path.join(folder, stem + SUFFIX)
