"""The spec of a tournament as data: who debates what, who judges, and what that takes; and what can be wrong with it.

`spec_file` makes it of a YAML file.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal

from pydantic import Field

from debate_orchestrator.core.format import Format
from debate_orchestrator.core.phases import JUDGE, MOST_WORDS
from debate_orchestrator.core.settings import LARGEST_COST, MOST_JUDGES, Settings
from debate_orchestrator.core.values import Value
from debate_orchestrator.engine.budget import unpriced_seats
from debate_orchestrator.formats import loader
from debate_orchestrator.providers import pricing
from debate_orchestrator.setup.answers import settings_from
from debate_orchestrator.tournament.topics import Topic
from debate_orchestrator.util import model_spec, resources
from debate_orchestrator.util.errors import BadSettings, suggest, with_hint

Sides = Literal["balanced", "swapped", "random", "fixed"]
First = Literal["pro", "con", "balanced", "random", "both"]
Sample = Literal["balanced", "first"]
Exclude = Literal["none", "models", "vendor"]
MOST_REPETITIONS = 1_000


class Price(Value):
    """US dollars per million tokens."""

    input: float = Field(ge=0, le=LARGEST_COST)
    output: float = Field(ge=0, le=LARGEST_COST)


class Model(Value):
    """A model that debates or judges."""

    name: str
    spec: str
    price: Price | None = None
    """For models that are not in the price table."""


class Limits(Value):
    """What a provider allows. None where it is not known; then what its responses say counts."""

    requests: int | None = Field(default=None, ge=1)
    """Requests a minute."""
    input_tokens: int | None = Field(default=None, ge=1)
    """Tokens a minute, without those read from a cache."""
    output_tokens: int | None = Field(default=None, ge=1)
    tokens: int | None = Field(default=None, ge=1)
    """Tokens a minute of both kinds together."""
    at_once: int | None = Field(default=None, ge=1)
    """Calls at the same time."""


class StageBudget(Value):
    """How long the speeches of one phase may be."""

    words: int | None = Field(default=None, ge=1, le=MOST_WORDS)
    most_words: int | None = Field(default=None, ge=1, le=MOST_WORDS)
    tokens: int | None = Field(default=None, ge=1)


class Judges(Value):
    """The pool of judges and how panels are drawn from it."""

    pool: tuple[Model, ...] = Field(default=(), alias="from")
    panel: int = Field(ge=0, le=MOST_JUDGES)
    sample: Sample = "balanced"
    """`balanced` spreads judges over topics, pairs and debates; `first` takes the first of the pool that may judge."""
    exclude: Exclude = "models"
    """Who may not judge: the debaters' own models, or all models of their vendors."""
    mirror: bool = False
    """Whether every judge also votes with the sides exchanged."""


class Spec(Value):
    """A tournament, resolved: what `tournament.json` holds, and all that its schedule depends on."""

    tag: str
    models: tuple[Model, ...]
    judges: Judges
    topics: tuple[Topic, ...]
    pairs: tuple[tuple[str, str], ...]
    """Every pair of names once, the one that comes first in `fixed` sides first."""
    sides: Sides = "swapped"
    first: First = "pro"
    format: str
    repetitions: int = Field(default=1, ge=1, le=MOST_REPETITIONS)
    seed: int = 0
    max_cost: float | None = None
    limits: dict[str, Limits] = {}
    budgets: dict[str, StageBudget] = {}
    settings: dict[str, Any] = {}
    """Settings of every debate."""
    added: tuple[str, ...] = ()
    """Names of the models that were added later, in that order. Each meets all models before it."""
    rules: Format
    templates: dict[str, str] = {}
    """The templates of a format that is not shipped."""
    prompts: dict[str, str] = {}
    """Template to the sha256 of its text when the tournament began."""

    def model_named(self, name: str) -> Model:
        return next(model for model in (*self.models, *self.judges.pool) if model.name == name)

    @property
    def everyone(self) -> dict[str, tuple[str, ...]]:
        """All model specs, as a cast."""
        found = {"models": tuple(model.spec for model in self.models)}
        return found | {"judges": tuple(model.spec for model in self.judges.pool)}


def check(spec: Spec) -> list[str]:
    """What is wrong with a spec whose values are right one by one."""
    problems = []
    declare_prices(spec)
    if spec.max_cost is not None:
        problems += [
            problem.replace(" Leave the cap out", " Give a model a `price: {input, output}`, leave the cap out")
            for problem in unpriced_seats(spec.everyone)
        ]
    specs: dict[str, str] = {}
    for model in (*spec.models, *spec.judges.pool):
        if specs.setdefault(model.name, model.spec) != model.spec:
            problems.append(f"judges: {model.name} names {model.spec} here and {specs[model.name]} in models.")
    problems += _panel_problems(spec)
    problems += _setting_problems(spec)
    return problems


def declare_prices(spec: Spec) -> None:
    """Makes the prices that a spec gives known to this process."""
    for model in (*spec.models, *spec.judges.pool):
        if model.price is not None:
            pricing.declare(model.spec, model.price.input, model.price.output)


def with_budgets(rules: Format, budgets: Mapping[str, StageBudget]) -> Format:
    """A format whose phases have these lengths."""
    if not budgets:
        return rules
    changed = {
        part: tuple(
            phase.model_copy(update=budgets[phase.name].model_dump(exclude_none=True))
            if phase.name in budgets
            else phase
            for phase in getattr(rules, part)
        )
        for part in ("before", "round", "after")
    }
    return rules.model_copy(update=changed)


def is_shipped(spec: Spec) -> bool:
    """Whether debates go by a format that comes with this program, but for the lengths that the spec gives."""
    if spec.templates or spec.format not in resources.format_names():
        return False
    rules, templates = loader.load_with_templates(spec.format)
    return not templates and with_budgets(rules, spec.budgets) == spec.rules


def eligible(spec: Spec, pro: str, con: str) -> list[Model]:
    """The judges who may judge two models."""
    if spec.judges.exclude == "none":
        return list(spec.judges.pool)
    sides = [model_spec.real(spec.model_named(name).spec) for name in (pro, con)]
    vendors = {model_spec.vendor(side) for side in sides} - {""} if spec.judges.exclude == "vendor" else set()
    return [
        judge
        for judge in spec.judges.pool
        if model_spec.real(judge.spec) not in sides and model_spec.vendor(judge.spec) not in vendors
    ]


def unlisted(spec: Spec) -> list[str]:
    """A sentence on each model whose vendor's prices are known and which is not among them: it may be misspelt."""
    found = []
    for model in dict.fromkeys((*spec.models, *spec.judges.pool)):
        real = model_spec.real(model.spec)
        known = pricing.models(model_spec.kind(real))
        if known and "@" not in real and pricing.known(real) is None:
            near = suggest(model_spec.rest(real), known)
            found.append(f"{real} is not in the price table, so its cost is unknown. {near}".rstrip())
    return list(dict.fromkeys(found))


def pair_up(names: Sequence[str]) -> tuple[tuple[str, str], ...]:
    """Every pair of names once."""
    return tuple((one, other) for n, one in enumerate(names) for other in names[n + 1 :])


def _panel_problems(spec: Spec) -> Iterator[str]:
    if not spec.judges.panel:
        return
    for pair in spec.pairs:
        if len(may_judge := eligible(spec, *pair)) < spec.judges.panel:
            who = {"models": "the debaters' own models", "vendor": "the debaters' vendors"}
            without = f" without {who[spec.judges.exclude]}" if spec.judges.exclude != "none" else ""
            problem = (
                f"judges: a panel of {spec.judges.panel} can't be drawn for {pair[0]} against {pair[1]}: "
                f"{len(may_judge)} of {len(spec.judges.pool)} judges are left{without}."
            )
            yield with_hint(problem, "add judges from elsewhere, a smaller `panel`, or `exclude: models` or `none`")
            return


def _setting_problems(spec: Spec) -> Iterator[str]:
    """What is wrong with the settings of debates; topics are checked one by one, since each is a debate's topic."""
    for topic in spec.topics:
        try:
            debate_settings(spec, topic, spec.rules.sides[0], dict.fromkeys(spec.rules.sides, spec.models[0].spec))
        except BadSettings as error:
            yield from error.complaints


def debate_settings(
    spec: Spec, topic: Topic, first: str, seated: Mapping[str, str], panel: Sequence[str] = ()
) -> Settings:
    """The settings of one debate. `seated` gives each side's model spec; `panel` has those of the judges."""
    judges = list(panel) or [judge.spec for judge in spec.judges.pool[: spec.judges.panel]]
    cast: dict[str, Any] = {**seated, **({JUDGE: judges} if judges else {})}
    pro, con = spec.rules.sides
    given = {
        **spec.settings,
        "topic": topic.motion,
        "positions": {pro: topic.position_a, con: topic.position_b},
        "first": first,
        "cast": cast,
        "insist": True,
        "mirror": spec.judges.mirror,
        "format": spec.rules.name,
    }
    if JUDGE not in spec.rules.seats:
        del given["mirror"]
    return settings_from(given, spec.rules, "debate.md", lambda seat: (judges or [seated[pro]])[0])
