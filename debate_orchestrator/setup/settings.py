"""An answers file: what it may hold, checked with every complaint at once."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, get_args

from debate_orchestrator.core.events import MOST_JUDGES, Source
from debate_orchestrator.core.format import Format
from debate_orchestrator.core.phases import CLERK, EVERYBODY, JUDGE
from debate_orchestrator.core.values import Value
from debate_orchestrator.util import sanitize
from debate_orchestrator.util.errors import BadSettings, complaint, short_repr, suggest
from debate_orchestrator.util.model_spec import FETCH, HOST

LONGEST_LINE = 1_000
"""Characters that a topic or a position may have."""

MODERATOR = "moderator"
"""Who derives positions where nobody gives them; no seat of the debate itself."""
PATIENCE = 600.0
LONGEST_PATIENCE = 86_400
LARGEST_CAP = 1e9


class Settings(Value):
    """A settled setup, as an answers file gives it."""

    topic: str
    positions: dict[str, str] | None
    """None: to be derived."""
    rounds: int
    strictness: str
    output: str
    format: str
    """A shipped format's name, or where one of the user's own lies."""
    first: str
    feedback: bool
    context: tuple[str, ...]
    cast: dict[str, tuple[str, ...]]
    max_cost: float | None
    search: bool
    patience: float
    leader_first: bool
    mirror: bool
    quorum: int
    each_round: bool
    blind: bool
    one_agent: bool
    sources: dict[str, Source]


KEYS = (*(name for name in Settings.model_fields), "insist", "setup")
"""What may stand in an answers file; `setup` is the conversation that `debate ask` keeps there."""


def format_of(given: Mapping[str, Any], default: str) -> str:
    """The format that answers name. BadAnswers where what they say is no text."""
    value = given.get("format")
    if value is not None and not isinstance(value, str):
        raise BadSettings(complaint("format", short_repr(value), "a name, or the path of a folder"))
    return default if value is None else value


def settings_from(
    given: Mapping[str, Any], rules: Format, default_output: str, filler: Callable[[str], str] = lambda seat: HOST
) -> Settings:
    """The answers as they will be used, with the format's defaults; BadAnswers with all that is wrong. `filler`
    tells who fills a seat that nobody is named for."""
    wrong = [
        complaint(
            "answers",
            f"the key {short_repr(key)}",
            "one of " + ", ".join(KEYS),
            suggest(key, KEYS) or "Is it misspelt?",
        )
        for key in given
        if key not in KEYS
    ]
    checks = _Checks(given, rules, wrong, filler)
    made: dict[str, Any] = {
        "topic": checks.topic(),
        "positions": checks.positions(),
        "rounds": checks.rounds(),
        "strictness": checks.choice("strictness", tuple(rules.rubric.strictness), tuple(rules.rubric.strictness)[-1]),
        "output": checks.text("output", default_output),
        "format": format_of(given, rules.name),
        "first": checks.choice("first", rules.sides, rules.sides[0]),
        "feedback": checks.flag("feedback", True),
        "context": checks.texts("context"),
        "cast": checks.cast(),
        "max_cost": checks.cost(),
        "search": checks.flag("search", False),
        "patience": checks.patience(),
        "leader_first": checks.flag("leader_first", False),
        "one_agent": checks.flag("one_agent", False),
        "sources": checks.sources(),
    }
    made |= checks.voting(len(made["cast"].get(JUDGE, ())))
    if wrong:
        raise BadSettings(wrong)
    return Settings.model_validate(made)


def voting_settings(given: Mapping[str, Any], rules: Format, panel: int) -> dict[str, Any]:
    """How a panel of that size votes: mirror, quorum, each_round, blind; BadAnswers with all that is wrong."""
    wrong: list[str] = []
    made = _Checks(given, rules, wrong, lambda seat: HOST).voting(panel)
    if wrong:
        raise BadSettings(wrong)
    return made


class _Checks:
    """One method a kind of answer; what is wrong is added to `wrong`."""

    def __init__(self, given: Mapping[str, Any], rules: Format, wrong: list[str], filler: Callable[[str], str]):
        self.given, self.rules, self.wrong, self.filler = given, rules, wrong, filler

    def _refuse(self, key: str, expected: str, hint: str = "") -> None:
        got = short_repr(self.given[key]) if key in self.given else "nothing"
        self.wrong.append(complaint(key, got, expected, hint))

    def topic(self) -> str:
        topic = self.given.get("topic")
        if not isinstance(topic, str):
            hint = "Write `topic: ...`, or give --topic."
            self._refuse("topic", "the sentence to debate", hint)
            return ""
        return self._line("topic", topic)

    def _line(self, key: str, said: str) -> str:
        try:
            return message_line(key, said)
        except BadSettings as error:
            self.wrong += error.complaints
            return ""

    def positions(self) -> dict[str, str] | None:
        given = self.given.get("positions", "auto")
        if given == "auto":
            return None
        sides = self.rules.sides
        if isinstance(given, dict) and given and set(given) < set(sides):
            lacking = [side for side in sides if side not in given]
            flags = " and ".join(f"--position-{side}" for side in lacking)
            got = f"none for {' and '.join(lacking)}"
            hint = f"What is missing is {flags}, or positions.{lacking[0]} in the answers file."
            self.wrong.append(complaint("positions", got, "one for each side", hint))
            return None
        if not isinstance(given, dict) or set(given) != set(sides):
            self._refuse("positions", f"auto, or a mapping with {' and '.join(sides)}")
            return None
        if not all(isinstance(text, str) for text in given.values()):
            self._refuse("positions", "a sentence for each side")
            return None
        self.wrong += duplicate_positions(given)
        return {side: self._line(f"positions.{side}", given[side]) for side in sides}

    def rounds(self) -> int:
        limits = self.rules.rounds
        given = self.given.get("rounds", limits.default)
        most = limits.insist if self.flag("insist", False) else limits.most
        number = rounds(given, most)
        if number is None:
            self.wrong.append(rounds_complaint(given, self.rules))
        return number or limits.default

    def choice(self, key: str, options: tuple[str, ...], default: str) -> str:
        value = self.given.get(key, default)
        if value not in options:
            self._refuse(key, " or ".join(options))
            return default
        return str(value)

    def text(self, key: str, default: str) -> str:
        value = self.given.get(key, default)
        if not isinstance(value, str) or not value.strip() or not _is_text(value):
            self._refuse(key, "text")
            return default
        return value

    def flag(self, key: str, default: bool) -> bool:
        value = self.given.get(key, default)
        if not isinstance(value, bool):
            self._refuse(key, "true or false")
            return default
        return value

    def voting(self, panel: int) -> dict[str, Any]:
        return {
            "mirror": self.mirror(),
            "quorum": self.quorum(panel),
            "each_round": self.option("each_round", "each round", self.rules.each_round),
            "blind": self.option("blind", "blind", self.rules.decided_by == "swing"),
        }

    def mirror(self) -> bool:
        value = self.flag("mirror", self.rules.mirror)
        if value and not any(map(self.rules.votes, self.rules.phases())):
            self._refuse("mirror", "false, since nobody votes in this format")
        elif value and not self.rules.can_be_mirrored:
            self._refuse("mirror", "false, since one side alone speaks in this format")
        return value

    def option(self, key: str, option: str, default: bool) -> bool:
        """Whether an optional phase takes place, in a format that has it."""
        value = self.flag(key, default)
        if value and option not in self.rules.options:
            self._refuse(key, f"false, since the format {self.rules.name} leaves no such thing open")
        if not value and option == "blind" and self.rules.decided_by == "swing":
            self._refuse(key, "true, since the winner is told by the votes before and after")
        return value

    def quorum(self, panel: int) -> int:
        """How many judges' votes must count; more than half of the panel if nobody says."""
        default = majority(panel)
        value = self.given.get("quorum")
        if value is None:
            return default
        if isinstance(value, int) and value > max(panel, 1):
            self._refuse("quorum", f"at most as many as there are judges ({panel})")
            return default
        if isinstance(value, bool) or not isinstance(value, int) or value < 1:
            self._refuse("quorum", f"a whole number from 1 to {max(panel, 1)}, the size of the panel")
            return default
        return value

    def texts(self, key: str) -> tuple[str, ...]:
        value = self.given.get(key)
        value = [] if value is None else value
        if isinstance(value, str):
            value = [value]
        if not isinstance(value, list) or not all(isinstance(item, str) and item for item in value):
            self._refuse(key, "a list of files")
            return ()
        return tuple(value)

    def cast(self) -> dict[str, tuple[str, ...]]:
        value = self.given.get("cast") or {}
        if isinstance(value, str):
            value = {seat: value for seat in EVERYBODY if seat in self.rules.seated}
        seats = self.rules.seated
        if not isinstance(value, dict):
            self._refuse("cast", f"a mapping of {', '.join((*seats, MODERATOR))} to who fills them")
            return {}
        if unseated := [str(seat) for seat in value if seat not in (*seats, MODERATOR)]:
            got = f"somebody for {' and '.join(unseated)}"
            hint = "" if JUDGE in seats or JUDGE not in unseated else "`debate judge` judges a debate that is over."
            expected = f"only the seats of the format {self.rules.name}: {', '.join((*seats, MODERATOR))}"
            self.wrong.append(complaint("cast", got, expected, hint))
            return {}
        cast = {}
        for seat in (*seats, MODERATOR) if MODERATOR in value else seats:
            filled = None if seat in value else self._filled(seat)
            if seat not in value and filled is None:
                continue
            filler = value.get(seat, [filled] * self.rules.panel if seat == JUDGE else filled)
            fillers = filler if isinstance(filler, list) else [filler]
            most = MOST_JUDGES if seat == JUDGE else 1
            if not 1 <= len(fillers) <= most or not all(isinstance(one, str) and one.strip() for one in fillers):
                self.wrong.append(complaint(f"cast.{seat}", short_repr(filler), f"1 to {most} names such as {HOST}"))
            cast[seat] = tuple(str(one) for one in fillers)
        return cast

    def _filled(self, seat: str) -> str | None:
        """Who fills a seat that nobody is named for; None, with a complaint, where there is nobody."""
        if seat == CLERK:
            return FETCH
        try:
            return self.filler(seat)
        except BadSettings as error:
            self.wrong += [one for one in error.complaints if one not in self.wrong]
            return None

    def patience(self) -> float:
        value = self.given.get("patience", PATIENCE)
        if isinstance(value, bool) or not isinstance(value, int | float) or not 1 <= value <= LONGEST_PATIENCE:
            self._refuse("patience", f"seconds from 1 to {LONGEST_PATIENCE:,}")
            return PATIENCE
        return float(value)

    def cost(self) -> float | None:
        value = self.given.get("max_cost")
        if value is None:
            return None
        if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value < LARGEST_CAP:
            self._refuse("max_cost", "an amount in US dollars above 0, or nothing for no cap")
            return None
        return float(value)

    def sources(self) -> dict[str, Source]:
        """Where each answer came from: as noted in the file, else the file itself, else a default."""
        noted = self.given.get("sources") or {}
        known = get_args(Source)
        if not isinstance(noted, dict) or not all(one in known for one in noted.values()):
            self._refuse("sources", "a mapping of answers to user, file, flag, default or derived")
            return {}
        kept = ("topic", "positions", "rounds", "strictness", "output", "first", "format")
        return {key: noted.get(key, "file" if key in self.given else "default") for key in kept}


def majority(panel: int) -> int:
    """How many of a panel are more than half of it."""
    return panel // 2 + 1


def rounds(value: Any, most: int) -> int | None:
    """A number of rounds from 1 to `most`, written as a number; None for anything else."""
    if isinstance(value, bool) or not isinstance(value, int | str):
        return None
    text = str(value).strip()
    return int(text) if text.isascii() and text.isdigit() and len(text) < 4 and 1 <= int(text) <= most else None


def rounds_complaint(value: Any, rules: Format) -> str:
    """The complaint about a number of rounds that will not do."""
    limits = rules.rounds
    hint = f"More than {limits.most} tend to produce diminishing returns"
    hint += "; 4 or 5 is a good cap" if limits.most > 4 else ""
    if limits.insist > limits.most:
        beyond = " to ".join(str(n) for n in dict.fromkeys((limits.most + 1, limits.insist)))
        taken = "are" if limits.insist > limits.most + 1 else "is"
        hint += f", and {beyond} {taken} taken from somebody who insists (insist: true, or --insist)"
    expected = f"a whole number from 1 to {limits.most}" if limits.most > 1 else "1"
    return complaint("rounds", short_repr(value), expected, f"{hint}." if limits.most > 1 else "")


def duplicate_positions(positions: Mapping[str, str]) -> list[str]:
    """The complaint about positions that are the same but for case, blanks and full stops; none where they differ."""
    said = {sanitize.normalized(sanitize.one_line(text)).casefold().rstrip(" .") for text in positions.values()}
    if len(said) == len(positions):
        return []
    hint = "Two sides that say the same have nothing to debate."
    return [
        complaint("positions", f"{short_repr(next(iter(positions.values())))} for both sides", "two that differ", hint)
    ]


def message_line(key: str, said: str) -> str:
    if not sanitize.one_line(said) or not _is_text(said):
        raise BadSettings(
            complaint(key, short_repr(said), "a sentence", "It has no visible characters, or half a character.")
        )
    if len(said) > LONGEST_LINE:
        raise BadSettings(
            complaint(key, f"{len(said):,} characters", f"at most {LONGEST_LINE:,}", "Make it one sentence.")
        )
    return said


def _is_text(value: str) -> bool:
    """Whether a text can be written down and can name a file: no half surrogate pair, no NUL."""
    try:
        return b"\x00" not in value.encode()
    except UnicodeEncodeError:
        return False
