"""The permissions of the owner of a public site: offers and limits, read from YAML."""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Mapping
from typing import Annotated, Any

from pydantic import Field

from debate_orchestrator.core.reply import Usage
from debate_orchestrator.core.settings import DEFAULT_FORMAT, SETTINGS, Settings
from debate_orchestrator.core.state import DebateState
from debate_orchestrator.core.values import FrozenModel, formerly
from debate_orchestrator.engine import budget, format_check, start
from debate_orchestrator.formats.validation import key_path, validate
from debate_orchestrator.providers import cast_providers, pricing
from debate_orchestrator.setup import risks as setup_risks
from debate_orchestrator.setup.answers import make_settings
from debate_orchestrator.setup.risks import Risk
from debate_orchestrator.util import model_spec
from debate_orchestrator.util.errors import BadSettings, DebateError, short_repr, suggest

_NOT_OFFERED = ("topic", "positions", "output", "context", "cast", "origins", "format", "rounds", "insist", "max_cost")
"""Settings that an offer has a key of its own for, or that are the visitor's."""
_NAME = re.compile(r"[a-z0-9][a-z0-9-]{0,39}")
_MAX_COUNT = 1_000_000
Count = Annotated[int, Field(strict=True, ge=1, le=_MAX_COUNT)]
Dollars = Annotated[float, Field(strict=True, gt=0, le=_MAX_COUNT)]
Line = Annotated[str, Field(strict=True, max_length=500)]
Flag = Annotated[bool, Field(strict=True)]


class OfferFields(FrozenModel):
    """An offer as the owner's file has it, without the settings of its debates."""

    about: Line = ""
    """Its description for visitors."""
    cast: Any = None
    format: Line = DEFAULT_FORMAT
    rounds: Count = 3
    """The most that a visitor may ask for."""
    max_cost: Dollars | None = None
    """The maximum cost of one debate; None if its models cost nothing."""
    free: Flag = False
    """Whether its programs, whose price is unknown, cost nothing."""
    per_day: Count | None = None
    """Debates a day; None for no limit."""


class Offer(OfferFields):
    """A preset that visitors may choose: cast, format and limits."""

    name: str
    answers: dict[str, Any]
    """The keys of an answers file that are the owner's."""
    settings: Settings
    """The settings of a debate by it, with another topic and other positions, and the most rounds."""

    @property
    def models(self) -> tuple[str, ...]:
        """Everything in it that is called, each once."""
        return tuple(dict.fromkeys(filter(model_spec.makes_calls, model_spec.specs_of(self.answers["cast"]))))

    @property
    def rehearsal(self) -> bool:
        """Whether its debates are rehearsals."""
        return model_spec.is_rehearsal(self.answers["cast"])

    def permits(self, debate: DebateState) -> bool:
        """Whether it would open this debate: all is as it says but what visitors choose, and a lower cap."""
        opened, settings = debate.opened, self.settings
        offered = start.make_opened(start.as_rehearsal(settings) if self.rehearsal else settings)
        chosen = {
            name: getattr(opened.settings, name) for name in ("topic", "positions", "rounds", "output", "origins")
        }
        same_settings = offered.settings.model_copy(update={**chosen, "max_cost": opened.settings.max_cost})
        is_same_format = offered.format.model_dump_json() == opened.format.model_dump_json()
        is_shipped = offered.format.name == opened.format.name and not any(
            setup_risks.of_prompts(opened.format, opened.templates)
        )
        max_cost = settings.max_cost
        return (
            opened.settings == same_settings
            and debate.cast == opened.cast
            and opened.settings.rounds <= settings.rounds
            and (max_cost is None or (debate.max_cost is not None and debate.max_cost <= max_cost))
            and opened.earlier_debate is None
            and (is_shipped or (is_same_format and opened.templates == offered.templates))
        )


class SiteRules(FrozenModel):
    """The permissions of visitors."""

    model_config = formerly(max_cost_in_total="max_cost", screening="moderation")

    title: Line = "Debates"
    offers: dict[str, Offer] = {}
    debates_per_visitor: Count = 3
    debates_per_model: dict[str, Count] = {}
    """Model spec to the debates a day that may use it."""
    max_cost_per_day: Dollars | None = None
    max_cost_in_total: Dollars | None = None
    """For all debates together, in a day and in total; None if nothing costs money."""
    concurrency: Count = 4
    """Debates that run at the same time."""
    queue: Count = 20
    """Debates that may wait for their turn."""
    listed: Flag = True
    """Whether the front page shows the debates of others."""
    screening: Line = ""
    """A program that may refuse a topic; empty for none."""


def rehearsal() -> SiteRules:
    """The default permissions: rehearsals, which cost nothing."""
    about = "A rehearsal: it shows how a debate goes. Stand-ins speak, and no model is called."
    return parse_rules({"offers": {"rehearsal": {"about": about, "cast": {"a": "rehearse", "b": "rehearse"}}}})


def parse_rules(content: Mapping[str, Any]) -> SiteRules:
    """The rules that the values of a file make. Raises BadSettings with every problem."""
    rules, problems = validate(SiteRules, _without(content, keys=("offers",)), key_path)
    offers = _offers(content.get("offers"), problems)
    if rules is not None:
        specs = {spec for offer in offers.values() for spec in offer.models}
        for spec in rules.debates_per_model.keys() - specs:
            hint = suggest(spec, specs)
            problems.append(f"debates_per_model: {short_repr(spec)} is in none of the offers. {hint}".strip())
        if rules.max_cost_in_total is None and any(offer.max_cost for offer in offers.values()):
            problems.append("max_cost_in_total: there is none. These offers cost money: say how many dollars in total.")
    if rules is None or problems:
        raise BadSettings(problems)
    return rules.model_copy(update={"offers": offers})


def _without(fields: Mapping[str, Any], keys: Collection[str]) -> dict[str, Any]:
    return {key: value for key, value in fields.items() if key not in keys and value is not None}


def _offers(value: Any, problems: list[str]) -> dict[str, Offer]:
    if not isinstance(value, Mapping) or not value:
        problems.append("offers: there is none. Name at least one that visitors may choose.")
        return {}
    offers = {}
    for name, fields in value.items():
        if not isinstance(name, str) or not _NAME.fullmatch(name):
            problems.append(f"offers: {short_repr(name)} is not a name of lower-case letters, digits and hyphens.")
        elif not isinstance(fields, Mapping):
            problems.append(f"offers.{name}: {short_repr(fields)} is not a mapping.")
        elif offer := _offer(name, fields, problems):
            offers[name] = offer
    return offers


def _offer(name: str, content: Mapping[str, Any], problems: list[str]) -> Offer | None:
    """An offer whose debates could be opened as it is; None with its problems."""
    settings = {key: content[key] for key in SETTINGS if key in content and key not in _NOT_OFFERED}
    fields, field_problems = validate(
        OfferFields, _without(content, keys=settings), lambda keys: key_path(("offers", name, *keys))
    )
    problems += field_problems
    if fields is None:
        return None
    answers = settings | {name: getattr(fields, name) for name in ("format", "cast", "max_cost", "rounds")}
    try:
        trial_settings = _trial_settings(answers)
    except DebateError as error:
        problems += [f"offers.{name}.{problem}" for problem in error.problems]
        return None
    answers["cast"] = {seat: list(specs) for seat, specs in trial_settings.cast.items()}
    answers |= {"issues": trial_settings.issues, "brief": trial_settings.brief}  # off with a stand-in as rapporteur
    offer_problems = _money(trial_settings, free=fields.free)
    if people := sorted(
        {
            spec
            for spec in model_spec.specs_of(trial_settings.cast)
            if model_spec.occupant_kind(spec) in ("person", "host")
        }
    ):
        offer_problems.append(f"cast: {' and '.join(people)} can't take a seat in a public debate.")
    problems += [f"offers.{name}.{problem}" for problem in offer_problems]
    more = {"name": name, "about": fields.about or name, "answers": answers, "settings": trial_settings}
    return Offer.model_construct(**{**dict(fields), **more})


def _trial_settings(answers: Mapping[str, Any]) -> Settings:
    """The settings of a debate with these answers. Raises BadSettings if it could not be opened."""
    format = format_check.load(answers["format"])
    trial = {"topic": "Is this a topic?", "positions": {side: f"Position {side}." for side in format.sides}}
    stand_in = model_spec.REHEARSE
    cast = answers["cast"]
    seats = cast if isinstance(cast, Mapping) else {}
    rehearsed = bool(seats) and all(spec == stand_in for spec in seats.values())
    default_model = stand_in if rehearsed else model_spec.HOST
    settings = make_settings({**answers, **trial}, format, "debate.md", lambda seat: default_model)
    if problems := cast_providers.cast_problems(settings.cast) + cast_providers.key_problems(settings.cast):
        raise BadSettings(problems)
    return settings


def _money(settings: Settings, *, free: bool) -> list[str]:
    """The problem with the cap of one debate."""
    specs = {spec for specs in settings.cast.values() for spec in specs if model_spec.makes_calls(spec)}
    tokens = Usage(uncached_input=1_000_000, output=1_000_000)
    costly = sorted(spec for spec in specs if pricing.cost(spec, tokens) != 0.0)
    if free:
        priced = [spec for spec in costly if pricing.cost(spec, tokens) is not None]
        return [f"free: {', '.join(priced)} costs money."] if priced else []
    if costly and not settings.max_cost:
        names = ", ".join(map(model_spec.public_name, costly))
        return [f"max_cost: there is none. Say how many dollars one debate may cost ({names}), or `free: true`."]
    return budget.price_problems(settings.cast) if settings.max_cost is not None else []


def risks_of(content: Mapping[str, Any]) -> tuple[Risk, ...]:
    """The side effects of debates under the rules that the values of a file make, checked or not, and of the program
    that checks topics."""
    offers = content.get("offers")
    risks: dict[str, Risk] = {}
    for offer in offers.values() if isinstance(offers, Mapping) else ():
        if isinstance(offer, Mapping):
            risks |= {
                risk.digest: risk
                for risk in setup_risks.of_settings({name: offer.get(name) for name in ("cast", "format")})
            }
    for key in ("screening", "moderation"):
        if isinstance(program := content.get(key), str) and program:
            risk = Risk(kind="program", where=key, what=program, folder=os.getcwd())
            risks[risk.digest] = risk
    return tuple(risks.values())
