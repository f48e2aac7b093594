"""What the owner of a public site permits: the casts that visitors may choose from, and every limit, read from YAML."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from debate_orchestrator.core.events import Usage
from debate_orchestrator.core.settings import DECLARED, Settings
from debate_orchestrator.engine import budget, format_check
from debate_orchestrator.engine.api import DEFAULT_FORMAT
from debate_orchestrator.providers import pricing, registry
from debate_orchestrator.setup.risks import Risk, of_settings
from debate_orchestrator.setup.settings import settings_from
from debate_orchestrator.util import model_spec
from debate_orchestrator.util.data import read_mapping
from debate_orchestrator.util.errors import BadSettings, DebateError, short_repr, suggest

_OWN = ("topic", "positions", "output", "context", "cast", "sources", "format", "rounds", "insist", "max_cost")
"""Settings that a cast has a key of its own for, or that are the visitor's."""
_NAME = re.compile(r"[a-z0-9][a-z0-9-]{0,39}")
_PEOPLE = (model_spec.HUMAN, model_spec.HOST)
_MOST = 1_000_000


class Cast(NamedTuple):
    """Who debates and judges, as the owner offers it."""

    name: str
    about: str
    """What visitors are told of it."""
    answers: Mapping[str, Any]
    """The keys of an answers file that are the owner's."""
    rounds: int
    """The most that a visitor may ask for."""
    max_cost: float
    """US dollars that one debate may cost; 0 where its models cost nothing."""
    per_day: int | None
    """Debates a day; None for no limit."""
    rehearsal: bool
    """Whether stand-ins have every seat."""

    @property
    def models(self) -> tuple[str, ...]:
        """Everything in it that is called, each once."""
        specs = (spec for specs in self.answers["cast"].values() for spec in specs)
        return tuple(dict.fromkeys(spec for spec in specs if model_spec.is_called(spec)))


class Rules(NamedTuple):
    """What visitors may do."""

    title: str
    casts: Mapping[str, Cast]
    per_visitor: int
    """Debates that one visitor may start in a day."""
    per_model: Mapping[str, int]
    """Model spec to the debates a day that may use it."""
    max_cost_per_day: float | None
    max_cost: float | None
    """US dollars for all debates together, in a day and in all; None where nothing costs money."""
    at_once: int
    """Debates that run at the same time."""
    queue: int
    """Debates that may wait for their turn."""
    listed: bool
    """Whether the front page shows the debates of others."""
    moderation: str
    """A program or Python function that may refuse a topic; empty for none."""
    limits: str
    """The PostgreSQL server that several processes count in; empty for this process's memory."""


def rehearsal() -> Rules:
    """What is permitted unless the owner says more: debates by stand-ins, which cost nothing."""
    about = "A rehearsal: it shows how a debate goes. Stand-ins speak, and no model is called."
    return parse_rules({"casts": {"rehearsal": {"about": about, "cast": {"a": "rehearse", "b": "rehearse"}}}})


def read_rules(path: str) -> Rules:
    """The rules in a file. Raises BadFile, or BadSettings with every problem."""
    return parse_rules(read_mapping(path))


def parse_rules(given: Mapping[str, Any]) -> Rules:
    """The rules that the values of a file make. Raises BadSettings with every problem."""
    values = _Values(given, "")
    casts = _casts(values)
    priced = any(cast.max_cost for cast in casts.values())
    rules = Rules(
        title=values.text("title", "Debates"),
        casts=casts,
        per_visitor=values.whole("debates_per_visitor", 3),
        per_model=_per_model(values, casts),
        max_cost_per_day=values.dollars("max_cost_per_day"),
        max_cost=values.dollars("max_cost"),
        at_once=values.whole("at_once", 4),
        queue=values.whole("queue", 20),
        listed=values.flag("listed", True),
        moderation=values.text("moderation", ""),
        limits=values.text("limits", ""),
    )
    if priced and rules.max_cost is None:
        values.problems.append("max_cost: there is none. These casts cost money: say how many dollars in all.")
    values.finish()
    return rules


def _casts(values: _Values) -> dict[str, Cast]:
    given = values.take("casts")
    if not isinstance(given, Mapping) or not given:
        values.problems.append("casts: there is none. Name at least one that visitors may choose.")
        return {}
    casts = {}
    for name, fields in given.items():
        if not isinstance(name, str) or not _NAME.fullmatch(name):
            values.problems.append(f"casts: {short_repr(name)} is not a name of small letters, digits and hyphens.")
        elif not isinstance(fields, Mapping):
            values.problems.append(f"casts.{name}: {short_repr(fields)} is not a mapping.")
        elif cast := _cast(name, fields, values.problems):
            casts[name] = cast
    return casts


def _cast(name: str, fields: Mapping[str, Any], problems: list[str]) -> Cast | None:
    """A cast whose debates could be opened as it is; None with its problems."""
    values = _Values(fields, f"casts.{name}.")
    about, free = values.text("about", name), values.flag("free", False)
    per_day = values.whole("per_day", None) if "per_day" in fields else None
    max_cost, rounds = values.dollars("max_cost"), values.whole("rounds", 3)
    answers = {key: values.take(key) for key in DECLARED if key in fields and key not in _OWN}
    answers |= {"format": values.text("format", DEFAULT_FORMAT), "cast": values.take("cast")}
    answers |= {"max_cost": max_cost, "rounds": rounds}
    try:
        settings = _tried(answers)
        answers["cast"] = {seat: list(specs) for seat, specs in settings.cast.items()}
        specs = [spec for specs in settings.cast.values() for spec in specs]
        if people := sorted({spec for spec in specs if model_spec.kind(spec) in _PEOPLE}):
            values.problems.append(f"{values.where}cast: {' and '.join(people)} can't take a seat in a public debate.")
        values.problems += [f"{values.where}{problem}" for problem in _money(settings, free=free)]
    except DebateError as error:
        values.problems += [f"{values.where}{problem}" for problem in error.complaints]
        specs = []
    problems += values.leftovers()
    rehearsed = bool(specs) and all(model_spec.kind(spec) == model_spec.REHEARSE for spec in specs)
    return Cast(name, about, answers, rounds, max_cost or 0.0, per_day, rehearsed) if specs else None


def _tried(answers: Mapping[str, Any]) -> Settings:
    """The settings of a debate with these answers. BadSettings if it could not be opened."""
    rules = format_check.load(answers["format"])
    trial = {"topic": "Is this a topic?", "positions": {side: f"Position {side}." for side in rules.sides}}
    stand_in = model_spec.REHEARSE
    cast = answers["cast"]
    seats = cast if isinstance(cast, Mapping) else {}
    rehearsed = bool(seats) and all(spec == stand_in for spec in seats.values())
    filler = stand_in if rehearsed else model_spec.HOST
    settings = settings_from({**answers, **trial}, rules, "debate.md", lambda seat: filler)
    if errors := registry.cast_problems(settings.cast) + registry.missing(settings.cast):
        raise BadSettings(errors)
    return settings


def _money(settings: Settings, *, free: bool) -> list[str]:
    """What is wrong with the cap of one debate."""
    specs = {spec for specs in settings.cast.values() for spec in specs if model_spec.is_called(spec)}
    tokens = Usage(fresh=1_000_000, output=1_000_000)
    costly = sorted(spec for spec in specs if pricing.cost(spec, tokens) != 0.0)
    if free:
        priced = [spec for spec in costly if pricing.cost(spec, tokens) is not None]
        return [f"free: {', '.join(priced)} costs money."] if priced else []
    if costly and not settings.max_cost:
        names = ", ".join(map(model_spec.public_name, costly))
        return [f"max_cost: there is none. Say how many dollars one debate may cost ({names}), or `free: true`."]
    return budget.unpriced_seats(settings.cast) if settings.max_cost is not None else []


def _per_model(values: _Values, casts: Mapping[str, Cast]) -> dict[str, int]:
    given = values.take("debates_per_model") or {}
    known = {spec for cast in casts.values() for spec in cast.models}
    if not isinstance(given, Mapping):
        values.problems.append(f"debates_per_model: {short_repr(given)} is not a mapping of models to numbers.")
        return {}
    for spec in given.keys() - known:
        hint = suggest(spec, known)
        values.problems.append(f"debates_per_model: {short_repr(spec)} is in none of the casts. {hint}".strip())
    counts = _Values(given, "debates_per_model.")
    found = {spec: counts.whole(spec, 0) for spec in given}
    values.problems += counts.problems
    return found


def risks_of(rules: Rules) -> tuple[Risk, ...]:
    """What the debates of these rules do beyond debating, and the program or function that moderates."""
    found: dict[str, Risk] = {}
    for cast in rules.casts.values():
        found |= {risk.digest: risk for risk in of_settings({**cast.answers, "topic": ""})}
    if rules.moderation:
        moderator = Risk(kind="program", where="moderation", what=rules.moderation)
        found[moderator.digest] = moderator
    return tuple(found.values())


class _Values:
    """The values of a mapping, checked one by one; what is wrong is gathered."""

    def __init__(self, given: Mapping[str, Any], where: str):
        self._left, self.where = dict(given), where
        self._known: list[str] = []
        self.problems: list[str] = []

    def take(self, key: str) -> Any:
        self._known.append(key)
        return self._left.pop(key, None)

    def _checked(self, key: str, default: Any, good: Callable[[Any], bool], wanted: str) -> Any:
        value = self.take(key)
        if value is None:
            return default
        if not good(value):
            self.problems.append(f"{self.where}{key}: {short_repr(value)} is not {wanted}.")
            return default
        return value

    def text(self, key: str, default: str) -> str:
        value = self._checked(key, default, lambda v: isinstance(v, str) and len(v) <= 500, "a line of text")
        return str(value)

    def flag(self, key: str, default: bool) -> bool:
        return bool(self._checked(key, default, lambda v: isinstance(v, bool), "true or false"))

    def whole(self, key: str, default: int | None) -> Any:
        wanted = f"a whole number from 1 to {_MOST:,}"
        return self._checked(key, default, lambda v: type(v) is int and 1 <= v <= _MOST, wanted)

    def dollars(self, key: str) -> float | None:
        def good(value: Any) -> bool:
            return type(value) in (int, float) and 0 < value <= _MOST

        value = self._checked(key, None, good, "an amount in US dollars above 0")
        return None if value is None else float(value)

    def leftovers(self) -> list[str]:
        """Every problem, with the keys that are known nowhere."""
        for key in self._left:
            known = suggest(key, self._known) or f"Keys: {', '.join(dict.fromkeys(self._known))}."
            self.problems.append(f"{self.where}{short_repr(key)} is no key here. {known}")
        return self.problems

    def finish(self) -> None:
        if self.leftovers():
            raise BadSettings(self.problems)
