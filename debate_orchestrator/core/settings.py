"""The settings of a debate: everything that a user may choose, each declared once.

A field of `Settings` with its `Setting` says what may be chosen; `setup/setting_texts.py` says how flags, the sample of
an answers file and the block that confirms a setup show it, and `setup/answers.py` makes settings of a mapping.
Whatever a user chooses is validated with the format in the context, as `Settings.model_validate(values,
context=format)`. A journal is read without one, since it may have been written under other limits. Code reads a setting
where it takes effect, as `debate.opened.settings.NAME`; docs/development.md says where that is.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Literal, get_args

from pydantic import Field, Strict, ValidationError, ValidationInfo, field_validator
from pydantic.fields import FieldInfo

from debate_orchestrator.core.format import Format
from debate_orchestrator.core.phases import DECISION_BRIEF, ISSUES, JUDGE, MAX_ROUNDS, PRE_DEBATE_VOTE
from debate_orchestrator.core.values import FREE_TEXT, JournaledModel, Text
from debate_orchestrator.util import sanitize
from debate_orchestrator.util.errors import short_repr, with_hint
from debate_orchestrator.util.numbers import plural

AnswerOrigin = Literal["user", "file", "flag", "default", "derived"]
"""The origin of an answer; `derived` is a moderator's work that the user confirmed or asked for."""
MODERATOR = "moderator"
"""The seat that derives the positions where none are given, before the debate. It has no turn in the debate."""
DEFAULT_FORMAT = "adversarial"
MAX_JUDGES = 9
MAX_ISSUES = 20
MAX_COST = 1e9
"""US dollars; a cap of as much or more could never be reached."""
MAX_COUNT = 10**12
MAX_TOPIC_LENGTH = 1_000
"""Characters that a topic or a position may have."""

_TIMES = (
    "jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?|oct(?:ober)?"
    "|nov(?:ember)?|dec(?:ember)?|spring|summer|autumn|fall|winter|the|of|in|early|mid|late|start|beginning|middle|end"
    r"|first|second|third|fourth|last|half|quarter|week|month|year|[qh][1-4]|bce?|ce|ad|\d{1,4}(?:st|nd|rd|th|s)?"
)
_DATED = re.compile(rf"\s*as of (?=[^,]*\d)((?:(?:{_TIMES})\b[ /-]*+)++(?:, ?\d{{4}})?) *,", re.IGNORECASE)
"""The beginning of a dated topic. Only words for a time count: the text after "as of" goes into the speakers' tasks."""


@dataclass(frozen=True)
class Setting:
    """The limits of a setting, beyond its type. Its texts are in `setup/setting_texts.py`."""

    expected: str | Callable[[Format], str] = "true or false"
    """The expected value, for an error message."""
    limits: tuple[float, float] | None = None
    """The smallest and the largest value that a user may choose."""
    format_default: Callable[[Format], Any] | None = None
    """Its default, where that depends on the format."""
    rejudge_group: Literal["", "votes", "calls"] = ""
    """What it is about, if it may change in a re-judging: how judges vote, or how models are called."""
    keeps_origin: bool = False
    """Whether the journal says where its value came from."""


_Switch = Annotated[bool, Strict()]


class Settings(JournaledModel):
    """The result of a setup, however it was filled; a journal begins with it. There `output` and `context` hold bare
    names, and `format` is `./NAME` for a format that was not shipped."""

    topic: Annotated[Text, Setting("a sentence", keeps_origin=True)]
    positions: Annotated[
        dict[str, str],
        FREE_TEXT,
        Setting(
            lambda format: f"auto, or a mapping with a sentence for {' and '.join(format.sides)}", keeps_origin=True
        ),
    ] = {}
    """Side to the position it argues; empty if they are to be derived."""
    insist: Annotated[_Switch, Setting()] = False
    """Whether the user wants more rounds than usual: up to the `max_if_insisted` of its format."""
    rounds: Annotated[
        int,
        Strict(),
        Field(ge=1, le=MAX_ROUNDS),
        Setting(
            lambda format: (
                f"a whole number from 1 to {min(format.round_limits.max, MAX_ROUNDS)}"
                if format.round_limits.max > 1
                else "1"
            ),
            format_default=lambda format: format.round_limits.default,
            keeps_origin=True,
        ),
    ]
    strictness: Annotated[
        str,
        Setting(
            lambda format: " or ".join(format.rubric.strictness),
            format_default=lambda format: tuple(format.rubric.strictness)[-1],
            keeps_origin=True,
        ),
    ]
    output: Annotated[str, FREE_TEXT, Setting("a name for a file or a folder", keeps_origin=True)] = "debate-report.md"
    format: Annotated[str, Setting("a name, or the path of a folder", keeps_origin=True)] = DEFAULT_FORMAT
    first: Annotated[
        str,
        Setting(
            lambda format: " or ".join(format.sides), format_default=lambda format: format.sides[0], keeps_origin=True
        ),
    ]
    """The side that speaks first."""
    feedback: Annotated[_Switch, Setting()] = True
    context: Annotated[tuple[str, ...], FREE_TEXT, Setting("a list of files")] = ()
    cast: Annotated[
        dict[str, tuple[str, ...]],
        Setting(lambda format: f"a mapping of {', '.join((*format.seats, MODERATOR))} to models"),
    ] = {}
    """Seat to its models; more than one judge makes a panel."""
    max_cost: Annotated[
        float | None,
        Field(ge=0, le=MAX_COST, strict=True),
        Setting("an amount in US dollars above 0, or null for no cap", rejudge_group="calls"),
    ] = None
    search: Annotated[_Switch, Setting()] = False
    retry_for: Annotated[
        float,
        Strict(),
        Field(ge=0),
        Setting("a number of seconds from 1 to 86,400", limits=(1, 86_400), rejudge_group="calls"),
    ] = 600.0
    """Seconds that a turn's calls may be silent, throttled or retried before the debate is paused."""
    share_cache: Annotated[_Switch, Setting(rejudge_group="calls")] = False
    """Whether calls that share a cached beginning wait until the first of them has begun to answer."""
    mirror: Annotated[_Switch, Setting(format_default=lambda format: format.mirror, rejudge_group="votes")] = False
    quorum: Annotated[
        int,
        Strict(),
        Field(ge=1, le=MAX_COUNT),
        Setting(
            "a whole number from 1 to the size of the panel",
            format_default=lambda format: None,
            rejudge_group="votes",
        ),
    ] = 1
    blind: Annotated[
        _Switch,
        Setting(format_default=lambda format: format.decided_by == "swing", rejudge_group="votes"),
    ] = False
    """Whether judges also cast a pre-debate vote: one before the first speech."""
    each_round: Annotated[_Switch, Setting(format_default=lambda format: format.each_round, rejudge_group="votes")] = (
        False
    )
    """Whether judges also vote after each round, in formats where that is optional."""
    until_no_new_ground: Annotated[_Switch, Setting()] = False
    """Whether the debate ends after a round in which most judges find no new ground: `dry` in their ballots."""
    issues: Annotated[
        Annotated[bool, Strict()] | tuple[str, ...],
        FREE_TEXT,
        Setting(
            "true, false or a list of questions",
            format_default=lambda format: ISSUES in format.optional_phases,
        ),
    ] = False
    """True: the rapporteur draws up the list of issues. False: there is none. A list: the user's own issues, the
    weightiest first."""
    brief: Annotated[_Switch, Setting(format_default=lambda format: DECISION_BRIEF in format.optional_phases)] = False
    """Whether the rapporteur writes the decision brief, page one of the report. Elsewhere a brief is a prompt."""
    one_agent: Annotated[_Switch, Setting()] = False
    """Whether it goes on record that one agent takes every turn, as reports then say. It has no other effect."""
    origins: dict[str, AnswerOrigin] = {}
    """Setting to where its value comes from, of those in SETTINGS_WITH_ORIGIN."""

    @property
    def as_of(self) -> str | None:
        """The time to which a dated topic binds both sides: `2019` in "As of 2019, ..."; None if it is not dated."""
        dated = _DATED.match(self.topic)
        return dated[1].strip() if dated and len(dated[1]) <= 40 else None

    @property
    def chosen_phases(self) -> tuple[str, ...]:
        """The optional phases that are asked for, by what they are `enabled_by`."""
        phases = {
            "each round": self.each_round,
            PRE_DEBATE_VOTE: self.blind,
            ISSUES: self.issues is True,
            DECISION_BRIEF: self.brief,
        }
        return tuple(name for name in phases if phases[name])

    @property
    def own_issues(self) -> tuple[str, ...] | None:
        """The list of issues that the user drew up; None if they drew up none."""
        return self.issues if isinstance(self.issues, tuple) else None

    @property
    def settings_on(self) -> tuple[str, ...]:
        """The settings that are on, by the names that the conditions (`when`) of fields in shapes have for them: also
        `issues` where the user gave the list, and `until no new ground`."""
        issues = () if self.own_issues is None else (ISSUES,)
        return (*self.chosen_phases, *issues, *(("until no new ground",) if self.until_no_new_ground else ()))

    @field_validator("*", mode="wrap")
    @classmethod
    def _validate_choice(cls, choice: Any, validate: Callable[[Any], Any], info: ValidationInfo) -> Any:
        """Raises ValueError with one plain sentence for each problem of a value that a user chose."""
        format, name = info.context, str(info.field_name)
        if format is None:
            return validate(choice)
        if name == "cast" and isinstance(choice, dict) and (problems := list(cast_problems(choice, format))):
            raise ValueError(*problems)
        if name == "quorum" and choice is None:
            choice = len(info.data.get("cast", {}).get(JUDGE, ())) // 2 + 1
        try:
            value = validate(choice)
        except ValidationError:
            raise ValueError(value_problem(name, choice, format)) from None
        if problems := list(_problems(name, value, info.data, format)):
            raise ValueError(*problems)
        return value


def with_keys_of_today(answers: Mapping[Any, Any]) -> dict[Any, Any]:
    """Answers, which a file of an earlier version may hold: it calls the origins of answers `sources`."""
    return {"origins" if key == "sources" else key: value for key, value in answers.items()}


def setting(info: FieldInfo) -> Setting | None:
    """The declared limits of a field of `Settings`; None if no user sets it."""
    return next((declared for declared in info.metadata if isinstance(declared, Setting)), None)


SETTINGS: dict[str, Setting] = {
    name: declared for name, info in Settings.model_fields.items() if (declared := setting(info)) is not None
}
"""Every setting by its name, in the order of an answers file."""
SETTINGS_WITH_ORIGIN = tuple(name for name, declared in SETTINGS.items() if declared.keeps_origin)
VOTE_SETTINGS = tuple(name for name, declared in SETTINGS.items() if declared.rejudge_group == "votes")
CALL_SETTINGS = tuple(name for name, declared in SETTINGS.items() if declared.rejudge_group == "calls")


def default_of(name: str, format: Format) -> Any:
    """The default of a setting in debates by a format; of a quorum, the one for a single judge."""
    format_default = SETTINGS[name].format_default
    default = format_default(format) if format_default else None
    return Settings.model_fields[name].default if default is None else default


# Problems of what a user chose


def value_problem(name: str, value: Any, format: Format, *, in_setup: bool = False) -> str:
    """What is wrong with a setting's value; with `in_setup` it says what to answer, else which setting to give."""
    if name == "origins":
        origins = ", ".join(get_args(AnswerOrigin))
        return (
            f"origins: {short_repr(value)} does not map names of settings to where their values come from ({origins})."
        )
    expected = SETTINGS[name].expected
    sentence = f"{name}: {short_repr(value)} is not {expected if isinstance(expected, str) else expected(format)}."
    if name != "rounds":
        return sentence
    is_word = isinstance(value, str) and not any(map(str.isdigit, value))
    if is_word:
        return f"{sentence} Give a number, such as 2."
    digits = str(value).strip()
    too_many = digits.isdecimal() and int(digits[:9]) > format.round_limits.max
    return f"{sentence}{_advice_on_rounds(format, in_setup=in_setup)}" if too_many else sentence


def _advice_on_rounds(format: Format, *, in_setup: bool) -> str:
    limits = format.round_limits
    if limits.max <= 1:
        return ""
    advice = f" More than {limits.max} tend to produce diminishing returns"
    advice += "; 4 or 5 is a good cap" if limits.max > 4 else ""
    if limits.max_if_insisted <= limits.max:
        return f"{advice}."
    beyond = " to ".join(str(n) for n in dict.fromkeys((limits.max + 1, limits.max_if_insisted)))
    return with_hint(f"{advice}.", f"{beyond}, if you insist" if in_setup else f"`insist: true` for {beyond}")


def line_problems(name: str, text: str) -> list[str]:
    """The problems of a topic or a position."""
    if not _is_text(text):
        return [f"{name}: {short_repr(text)} contains an invalid Unicode character."]
    if not sanitize.one_line(text):
        return [f"{name}: {short_repr(text)} is empty."]
    if len(text) > MAX_TOPIC_LENGTH:
        problem = f"{name}: it has {len(text):,} characters, and at most {MAX_TOPIC_LENGTH:,} are allowed."
        return [with_hint(problem, "make it one sentence")]
    return []


def duplicate_positions(positions: Mapping[str, str]) -> list[str]:
    """The problem of positions that are the same but for case, spaces and full stops; none if they differ."""
    texts = {sanitize.normalize_unicode(sanitize.one_line(text)).casefold().rstrip(" .") for text in positions.values()}
    if len(texts) == len(positions):
        return []
    text = short_repr(next(iter(positions.values())))
    return [with_hint(f"positions: both sides argue {text}.", "two positions that differ")]


def _problems(name: str, value: Any, others: Mapping[str, Any], format: Format) -> Iterator[str]:
    """The problems of a value of the right type; `others` are the valid ones of the settings before it."""
    limits = SETTINGS[name].limits if name in SETTINGS else None
    if limits and not limits[0] <= value <= limits[1]:
        yield value_problem(name, value, format)
    match name:
        case "topic":
            yield from line_problems("topic", value)
        case "positions":
            yield from _position_problems(value, format)
        case "rounds":
            if value > (format.round_limits.max_if_insisted if others.get("insist") else format.round_limits.max):
                yield value_problem(name, value, format)
        case "strictness" | "first":
            if value not in (format.sides if name == "first" else format.rubric.strictness):
                yield value_problem(name, value, format)
        case "output":
            if not value.strip() or not _is_text(value):
                yield value_problem(name, value, format)
        case "context":
            if not all(value):
                yield value_problem(name, list(value), format)
        case "max_cost":
            if value is not None and not 0 < value < MAX_COST:
                yield value_problem(name, value, format)
        case "quorum":
            if "cast" in others and value > (panel := max(1, len(others["cast"].get(JUDGE, ())))):
                yield f"quorum: {value} votes are more than the panel has: {plural(panel, 'judge')}."
        case "mirror" | "blind" | "each_round":
            yield from _voting_problems(name, value, format)
        case "issues" | "brief":
            yield from _rapporteur_problems(name, value, format)
        case "until_no_new_ground":
            if value and not format.can_say_no_new_ground:
                yield f"{name}: judges of {format.name} do not say when nothing new is left; give the rounds."


def _position_problems(positions: Mapping[str, str], format: Format) -> Iterator[str]:
    if not positions:
        return
    missing = [side for side in format.sides if side not in positions]
    if missing and set(positions) < set(format.sides):
        yield f"positions: none is given for {' and '.join(missing)}."
    elif set(positions) != set(format.sides):
        yield value_problem("positions", dict(positions), format)
    else:
        yield from duplicate_positions(positions)
        for side in format.sides:
            yield from line_problems(f"positions.{side}", positions[side])


def seats_of_cast(format: Format) -> tuple[str, ...]:
    """The seats that a cast may name, in the order of the format."""
    return (*format.active_seats(format.optional_phases), MODERATOR)


def cast_problems(cast: Mapping[Any, Any], format: Format) -> Iterator[str]:
    """The problems of a cast, whose values may have any type: seats that the format lacks, and specs of no model."""
    seats = seats_of_cast(format)
    if unknown_seats := [seat for seat in cast if seat not in seats]:
        sentence = (
            f"cast: the format {format.name} has no seat {short_repr(unknown_seats)[1:-1]}, only {', '.join(seats)}."
        )
        seats_meant = [seat for word in unknown_seats[:MAX_JUDGES] if (seat := _closest_seat(word, seats, format))]
        yield f"{sentence} Did you mean {short_repr(seats_meant)[1:-1]}?" if seats_meant else sentence
    for seat in filter(cast.__contains__, seats):
        entry = cast[seat]
        models, maximum = models_of_seat(entry), MAX_JUDGES if seat == JUDGE else 1
        if named_models(entry) != models or not 1 <= len(models) <= maximum:
            number = "one model" if maximum == 1 else f"1 to {maximum} models"
            specs = list(entry) if isinstance(entry, tuple) else entry
            yield f"cast.{seat}: {short_repr(specs)} is not {number}; a model is named like host or KIND:MODEL."


def _closest_seat(seat_word: object, seats: Sequence[str], format: Format) -> str:
    """The seat that a key names nearly, or by what its side is called; empty if it is like none."""
    word = str(seat_word).strip().lower()[:100]
    sides = {format.seats[side].label.lower(): side for side in format.sides}
    return sides.get(word) or "".join(difflib.get_close_matches(word, seats, 1))


def models_of_seat(entry: Any) -> tuple[Any, ...]:
    """The values that a cast gives for a seat: one, or each of a list."""
    return tuple(entry) if isinstance(entry, list | tuple) else (entry,)


def named_models(entry: Any) -> tuple[str, ...]:
    """The values that a cast gives for a seat, without those that can't name a model."""
    return tuple(model for model in models_of_seat(entry) if isinstance(model, str) and model.strip())


def _voting_problems(name: str, value: bool, format: Format) -> Iterator[str]:
    if name == "mirror":
        if value and not any(map(format.is_vote, format.phases())):
            yield f"mirror: there are no votes in the format {format.name}, so it must be false."
        elif value and not format.can_be_mirrored:
            yield f"mirror: only one side speaks in the format {format.name}, so it must be false."
    elif value and name.replace("_", " ") not in format.optional_phases:
        yield f"{name}: the format {format.name} has no such vote to choose, so it must be false."
    elif name == "blind" and not value and format.decided_by == "swing":
        yield "blind: the winner follows from the votes before and after the debate, so it must be true."


def _rapporteur_problems(name: str, value: Any, format: Format) -> Iterator[str]:
    if value and name not in format.optional_phases:
        yield f"{name}: the format {format.name} has no such phase, so it must be false."
    elif isinstance(value, tuple):
        if not 1 <= len(value) <= MAX_ISSUES:
            yield f"issues: there are {len(value)}; write 1 to {MAX_ISSUES} questions."
        for number, question in enumerate(value, start=1):
            yield from line_problems(f"issues.{number}", question)


def _is_text(value: str) -> bool:
    """Whether a text can be written down and can name a file: no half surrogate pair, no NUL."""
    try:
        return b"\x00" not in value.encode()
    except UnicodeEncodeError:
        return False
