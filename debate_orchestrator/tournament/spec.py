"""The spec of a tournament: who debates what and who judges, and what can be wrong with it."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from functools import cache
from typing import Annotated, Any, Literal

from pydantic import Field, ValidationError

from debate_orchestrator.core.format import Format
from debate_orchestrator.core.phases import JUDGE
from debate_orchestrator.core.settings import MAX_COST, MAX_COUNT, MAX_JUDGES, SETTINGS, Settings
from debate_orchestrator.core.shape import MAX_WORDS
from debate_orchestrator.core.values import FrozenModel, Text, formerly
from debate_orchestrator.engine import start
from debate_orchestrator.engine.budget import price_problems
from debate_orchestrator.formats import loader
from debate_orchestrator.formats.validation import key_path, validate
from debate_orchestrator.providers import cast_providers, pricing, registry
from debate_orchestrator.setup.answers import make_settings
from debate_orchestrator.tournament.rows import MAX_NAME_LENGTH
from debate_orchestrator.util import model_spec, resources
from debate_orchestrator.util.errors import BadFormat, BadSettings, first_few, short_repr, suggest, with_hint
from debate_orchestrator.util.redact import redact

Sides = Literal["balanced", "swapped", "random", "fixed"]
First = Literal["pro", "con", "balanced", "random", "both"]
Sample = Literal["balanced", "first"]
Exclude = Literal["none", "models", "vendor"]
MAX_MODELS, MAX_REPETITIONS, MAX_TOKENS, MAX_SEED, MAX_CATEGORY_LENGTH = 200, 1_000, 128_000, 2**53, 100
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
_NO_NAME = "must be a name of at most 64 letters, digits, dots, - and _, which begins with a letter or digit"
_NOT_OFFERED = ("topic", "positions", "output", "context", "cast", "origins", "first", "format", "max_cost", "insist",
        "one_agent", "mirror")  # fmt: skip
DEBATE_SETTINGS = tuple(name for name in SETTINGS if name not in _NOT_OFFERED)


class Price(FrozenModel):
    """US dollars per million tokens."""

    input: float = Field(ge=0, lt=MAX_COST, strict=True)
    output: float = Field(ge=0, lt=MAX_COST, strict=True)


class Participant(FrozenModel):
    """A model that debates or judges in the tournament."""

    name: str
    """Its spec, if it has no name of its own; that of the real model, if a stand-in took its place."""
    spec: str
    """Its model spec."""
    price: Price | None = None


_Amount = Annotated[int | None, Field(ge=1, le=MAX_COUNT, strict=True)]


class RateLimits(FrozenModel):
    """The limits of a provider, each None if it is not known; then the limit that its responses state counts."""

    requests: _Amount = None
    input_tokens: _Amount = None
    """Tokens per minute, without those read from a cache."""
    output_tokens: _Amount = None
    tokens: _Amount = None
    """Tokens per minute of both kinds together."""
    concurrency: _Amount = None
    """Calls at the same time."""


class Topic(FrozenModel):
    """A topic that is debated by every pair of models."""

    id: str
    motion: Text
    category: Annotated[str, Field(max_length=MAX_CATEGORY_LENGTH)]
    position_a: Text
    position_b: Text


class PhaseLengths(FrozenModel):
    model_config = formerly(target_words="words", max_words="most_words", max_tokens="tokens")

    target_words: int | None = Field(default=None, ge=1, le=MAX_WORDS, strict=True)
    max_words: int | None = Field(default=None, ge=1, le=MAX_WORDS, strict=True)
    max_tokens: int | None = Field(default=None, ge=1, le=MAX_TOKENS, strict=True)


class Judges(FrozenModel):
    """The pool of judges and how panels are drawn from it; the pool is empty if the format has no judge."""

    pool: tuple[Participant, ...] = Field(default=(), alias="from")
    panel_size: int = Field(alias="panel", ge=0, le=MAX_JUDGES, strict=True)
    sample: Sample = "balanced"
    """How panels are drawn: `balanced` spreads judges over topics, pairs and debates; `first` takes the first of
    the pool that may judge."""
    exclude: Exclude = "models"
    """The models that may not judge: the debaters' own, or all of their vendors."""
    mirror: bool = Field(default=False, strict=True)
    """Whether every judge also votes with the sides swapped."""


class TournamentSpec(FrozenModel):
    """A tournament, resolved: what `tournament.json` holds, and all that its schedule depends on."""

    tag: str
    """The name of the tournament, which is part of the id of every debate."""
    models: tuple[Participant, ...]
    judges: Judges
    topics: tuple[Topic, ...]
    pairs: tuple[tuple[str, str], ...]
    """Every pair of names once, the one that comes first in `fixed` sides first."""
    sides: Sides = "swapped"
    first: First = "pro"
    order_within_sides: bool = False
    """Whether a balanced order of speaking is balanced within each side, too; False in tournaments that were planned
    before it was."""
    format: str
    repetitions: int = Field(default=1, ge=1, le=MAX_REPETITIONS, strict=True)
    seed: int = Field(default=0, ge=-MAX_SEED, le=MAX_SEED, strict=True)
    max_cost: float | None = Field(default=None, gt=0, lt=MAX_COST, strict=True)
    limits: dict[str, RateLimits] = {}
    """By the kind of provider, or by the name or spec of a model."""
    lengths: dict[str, PhaseLengths] = {}
    """The maximum length of speeches, by phase."""
    settings: dict[str, Any] = {}
    added: tuple[str, ...] = ()
    """Names of the models that were added later, in that order. Each meets all models before it."""
    loaded_format: Format = Field(alias="rules")
    """The whole format, which is called `rules` on disk."""
    templates: dict[str, str] = {}
    """The templates of a format that is not shipped."""
    prompts: dict[str, str] = {}
    """Template to the sha256 of its text when the tournament began."""

    def model_named(self, name: str) -> Participant:
        return next(model for model in (*self.models, *self.judges.pool) if model.name == name)

    @property
    def whole_cast(self) -> dict[str, tuple[str, ...]]:
        specs = {"models": tuple(model.spec for model in self.models)}
        return specs | {"judges": tuple(model.spec for model in self.judges.pool)}


def spec_from_values(
    data: Mapping[str, Any], problems: Sequence[str] = (), *, rehearse: bool = False
) -> TournamentSpec:
    """The spec that the values of a `tournament.json` make, with stand-ins for all models if it is to `rehearse`. The
    values come from a user's file, or from a folder that anyone may have made. Raises BadSettings with every problem,
    after those that are known already."""
    if data.get("models") is None:
        problems, data = [*problems, "models: the list is missing."], {**data, "models": []}
    spec, spec_problems = validate(TournamentSpec, data, lambda keys: key_path(keys) or "spec")
    loaded_format = spec.loaded_format if spec else data.get("rules")
    spec_problems = [*problems, *spec_problems, *_model_problems(data), *_name_problems(data)]
    if isinstance(loaded_format, Format):
        spec_problems += _format_problems(data, loaded_format)
    if spec is not None and not spec_problems:
        update: dict[str, Any] = {}
        if isinstance(data.get("rules"), Format):  # that of a folder has its lengths, or its debates began without them
            update["loaded_format"] = changed = with_lengths(spec.loaded_format, spec.lengths)
            spec_problems += validate(Format, changed.model_dump(), lambda keys: f"lengths: {key_path(keys)}")[1]
        if rehearse:
            judges = spec.judges.model_copy(update={"pool": tuple(map(stand_in, spec.judges.pool))})
            update |= {"models": tuple(map(stand_in, spec.models)), "judges": judges}
        spec = spec.model_copy(update=update)
        spec_problems += [] if spec_problems else check(spec)
    if spec is None or spec_problems:
        raise BadSettings(list(dict.fromkeys(spec_problems)))
    return spec


def model_of(line: Any) -> Participant:
    """The model that a line of a spec names. Raises BadSettings with every problem."""
    data = as_model(line)
    if not isinstance(data, dict):
        raise BadSettings(f"models: {short_repr(line)} must be a model spec, or a mapping with name and spec.")
    model, problems = validate(Participant, data, lambda keys: f"models: {key_path(keys)}")
    problems += _problems_of(data) if model else []
    if model is None or problems:
        raise BadSettings(problems)
    return model


def as_model(line: Any) -> Any:
    """A model as `tournament.json` has it, from the line of a spec; what is neither text nor a mapping as it is."""
    if isinstance(line, str):
        return {"name": line, "spec": line}
    return {"name": line.get("spec", ""), **line} if isinstance(line, dict) else line


def stand_in(model: Participant) -> Participant:
    is_stand_in = model_spec.is_stand_in(model.spec)
    return model if is_stand_in else model.model_copy(update={"spec": model_spec.stand_in(model.spec)})


def _models(value: Any) -> list[dict[str, Any]]:
    """The models of a list that have a name and a spec, whatever else is in it."""
    models = [model for model in value if isinstance(model, dict)] if isinstance(value, list) else []
    return [model for model in models if isinstance(model.get("name"), str) and isinstance(model.get("spec"), str)]


def _pool(data: Mapping[str, Any]) -> list[dict[str, Any]]:
    judges = data.get("judges")
    return _models(judges.get("from")) if isinstance(judges, dict) else []


def _problems_of(model: Mapping[str, str]) -> list[str]:
    name, spec = model["name"], model["spec"]
    if len(spec) > MAX_NAME_LENGTH:
        return [f"{short_repr(spec)}: at most {MAX_NAME_LENGTH:,} characters are allowed."]
    problems = []
    if name not in (spec, model_spec.without_rehearse(spec)) and not _NAME.fullmatch(name):
        problems.append(f"{short_repr(name)} {_NO_NAME}.")
    if model_spec.occupant_kind(spec) in ("host", "person", "clerk"):
        return [*problems, f"{short_repr(spec)} can't take part, since a tournament calls its models."]
    problem = cast_providers.spec_problem(spec, "a")
    return [*problems, problem] if problem else problems


def _model_problems(data: Mapping[str, Any]) -> Iterator[str]:
    """Models that can't take part, and too few or too many of them."""
    pools = {"models": _models(data.get("models")), "judges": _pool(data)}
    if not isinstance(model_list := data.get("models"), list) or len(model_list) < 2:
        yield with_hint("models: there are fewer than two.", "[anthropic:claude-sonnet-5-5, openai:gpt-5.1]")
    for key, models in pools.items():
        if len(models) > MAX_MODELS:
            yield f"{key}: {len(models):,} are too many; at most {MAX_MODELS} are allowed."
        for model in models[:MAX_MODELS]:
            yield from (f"{key}: {problem}" for problem in _problems_of(model))
        counts = Counter(model["name"] for model in models)
        duplicates = (f"{key}: {short_repr(name)} is listed twice." for name, count in counts.items() if count > 1)
        yield from first_few(duplicates, key)


def _name_problems(data: Mapping[str, Any]) -> Iterator[str]:
    """Names that can't be used, or that name nothing."""
    if isinstance(tag := data.get("tag"), str) and not _NAME.fullmatch(tag):
        yield f"tag: {short_repr(tag)} {_NO_NAME}."
    models, pairs = _models(data.get("models")), data.get("pairs")
    names = [model["name"] for model in models]
    pairs = [pair for pair in pairs if isinstance(pair, list) and len(pair) == 2] if isinstance(pairs, list) else []
    yield from _unknown("pairs", [name for pair in pairs for name in pair], names, "a name in models")
    self_pairs = (f"pairs: {short_repr(one)} can't debate itself." for one, other in pairs if one == other)
    yield from first_few(self_pairs, "pairs")
    if len({frozenset(map(str, pair)) for pair in pairs}) < len(pairs):
        yield "pairs: a pair is listed twice. (x, y) and (y, x) are the same pair; `sides` decides who is pro."
    yield from _unknown("added", data.get("added"), names, "a name in models")
    if isinstance(added := data.get("added"), list) and len(set(map(str, added))) < len(added):
        yield "added: a model is listed twice."
    whole_cast = [*models, *_pool(data)]
    limit_names = [*registry.ENTRIES, *(model["name"] for model in whole_cast)]
    limit_names += [model_spec.without_rehearse(model["spec"]) for model in whole_cast]
    yield from _unknown("limits", data.get("limits"), limit_names, "a provider or a model of this tournament")
    yield from _unknown("settings", data.get("settings"), DEBATE_SETTINGS, "a setting of a tournament")


def _format_problems(data: Mapping[str, Any], loaded_format: Format) -> Iterator[str]:
    phases = dict.fromkeys(phase.name for phase in (*loaded_format.before, *loaded_format.round, *loaded_format.after))
    yield from _unknown("lengths", data.get("lengths"), phases, f"a phase of the format {loaded_format.name}")
    if JUDGE not in loaded_format.seats and _pool(data):
        yield f"judges: the format {loaded_format.name} has no judge. Leave this key out."
    judges = data.get("judges")
    if (
        JUDGE in loaded_format.seats
        and isinstance(judges, dict)
        and not (judges.get("from") and judges.get("panel") != 0)
    ):
        yield with_hint("judges: there are none.", "judges: {from: [anthropic:claude-opus-5-5], panel: 1}")


def _unknown(key: str, value: Any, known_names: Iterable[str], expected: str) -> Iterator[str]:
    """A sentence on each name that is not known, with the nearest that is."""
    names = dict.fromkeys(known_names)

    def problems() -> Iterator[str]:
        for name in dict.fromkeys(map(str, value)) if isinstance(value, list | dict) else ():
            if name not in names:
                suggestion = suggest(name, names) or (f"Known: {', '.join([*names][:20])}." if names else "")
                yield f"{key}: {short_repr(name)} must be {expected}. {suggestion}".rstrip()

    return first_few(problems(), key)


def check(spec: TournamentSpec) -> list[str]:
    """The problems of a spec whose values are each valid."""
    text = spec.model_dump_json(by_alias=True)
    if redact(text) != text and (problems := list(first_few(_secret_problems(json.loads(text), ()), "spec"))):
        return problems
    problems = [] if spec.pairs else ["pairs: there are none, so no debate can be held."]
    if spec.max_cost is not None:
        with declared_prices(spec):
            unpriced = price_problems(spec.whole_cast)
        problems += [
            problem.replace(" Leave the cap out", " Give a model a `price: {input, output}`, leave the cap out")
            for problem in unpriced
        ]
    specs: dict[str, str] = {}
    for model in (*spec.models, *spec.judges.pool):
        if specs.setdefault(model.name, model.spec) != model.spec:
            problems.append(f"judges: {model.name} names {model.spec} here and {specs[model.name]} in models.")
    problems += _panel_problems(spec)
    problems += first_few(_setting_problems(spec), "topics")
    return problems or _opening_problems(spec)


def _secret_problems(value: Any, keys: tuple[str | int, ...]) -> Iterator[str]:
    """A sentence on each text, and each name, in plain data that has a secret: it would be taken out where the data are
    written, and they would say something else when they are read."""
    if isinstance(value, dict):
        for name, item in value.items():
            yield from _secret_problems(name, keys)
            yield from _secret_problems(item, (*keys, name))
    elif isinstance(value, list):
        for n, item in enumerate(value):
            yield from _secret_problems(item, (*keys, n))
    elif isinstance(value, str) and redact(value) != value:
        yield (
            f"{key_path(keys) or 'spec'}: {short_repr(redact(value))} contains a key, and a spec is written into "
            "files. Take it out, or unset the variable of the environment that holds it."
        )


def declared_prices(spec: TournamentSpec) -> AbstractContextManager[None]:
    """The context in which the prices that a spec gives count: for its own plan and debates alone, since a process may
    look at someone else's tournament, and a worker runs several at once."""
    models = (*spec.models, *spec.judges.pool)
    return pricing.use_prices(
        (model.spec, model.price.input, model.price.output) for model in models if model.price is not None
    )


def with_lengths(loaded_format: Format, lengths: Mapping[str, PhaseLengths]) -> Format:
    if not lengths:
        return loaded_format
    changes = {name: length.model_dump(exclude_none=True) for name, length in lengths.items()}
    changed = {
        part: tuple(phase.model_copy(update=changes.get(phase.name)) for phase in getattr(loaded_format, part))
        for part in ("before", "round", "after")
    }
    return loaded_format.model_copy(update=changed)


def is_shipped(spec: TournamentSpec) -> bool:
    """Whether debates go by a format that comes with this program, but for the lengths that the spec gives."""
    if spec.templates or spec.format not in resources.format_names():
        return False
    loaded_format, templates = loader.load_with_templates(spec.format)
    shipped = with_lengths(loaded_format, spec.lengths)
    return not templates and shipped.model_dump_json() == spec.loaded_format.model_dump_json()  # the order counts too


def may_judge(spec: TournamentSpec, pro: str, con: str) -> list[Participant]:
    """The judges of the pool who may judge two models, by their names."""
    if spec.judges.exclude == "none":
        return list(spec.judges.pool)
    debaters = [_identity(spec.model_named(name).spec) for name in (pro, con)]
    specs = {model for model, _ in debaters}
    vendors = {vendor for _, vendor in debaters if vendor and spec.judges.exclude == "vendor"}
    judges = []
    for judge in spec.judges.pool:
        model, vendor = _identity(judge.spec)
        if model not in specs and vendor not in vendors:
            judges.append(judge)
    return judges


@cache
def _identity(model: str) -> tuple[str, str]:
    """The spec of the model itself, and its vendor."""
    real = model_spec.without_rehearse(model)
    return real, model_spec.stated_vendor(real)


def price_notes(spec: TournamentSpec) -> list[str]:
    """A sentence on each model whose vendor's prices are known and which is not among them: it may be misspelt."""
    notes = []
    with declared_prices(spec):
        for model in dict.fromkeys((*spec.models, *spec.judges.pool)):
            real = model_spec.without_rehearse(model.spec)
            prices = pricing.models(model_spec.kind(real))
            if prices and "@" not in real and pricing.price_of(real) is None:
                suggestion = suggest(model_spec.rest(real), prices)
                notes.append(f"{real} is not in the price table, so its cost is unknown. {suggestion}".rstrip())
    return list(dict.fromkeys(notes))


def _panel_problems(spec: TournamentSpec) -> Iterator[str]:
    for pair in spec.pairs if spec.judges.panel_size else ():
        if (judge_count := len(may_judge(spec, *pair))) < spec.judges.panel_size:
            sources = {"models": "the debaters' own models", "vendor": "the debaters' vendors"}
            without = f" without {sources[spec.judges.exclude]}" if spec.judges.exclude != "none" else ""
            problem = (
                f"judges: a panel of {spec.judges.panel_size} can't be drawn for {pair[0]} against {pair[1]}: "
                f"{judge_count} of {len(spec.judges.pool)} judges are left{without}."
            )
            yield with_hint(problem, "judges from elsewhere, a smaller `panel`, or another `exclude`")
            return


def _setting_problems(spec: TournamentSpec) -> Iterator[str]:
    """The problems of the settings of debates; topics are checked one by one, since each is a debate's topic."""
    for topic in spec.topics:
        try:
            _settings_on(spec, topic)
        except BadSettings as error:
            yield from error.problems


def _opening_problems(spec: TournamentSpec) -> list[str]:
    """Problems that keep every debate of a spec from being opened, such as rules that make too many turns."""
    try:
        start.make_opened(
            _settings_on(spec, spec.topics[0]), loaded=(spec.loaded_format, spec.templates), seed=spec.seed
        )
    except BadFormat as error:
        return error.problems
    except ValidationError as error:
        reasons = " ".join(str(item["msg"]).removeprefix("Value error, ") for item in error.errors())
        return [f"no debate can be held: {reasons}."]
    return []


def _settings_on(spec: TournamentSpec, topic: Topic) -> Settings:
    """The settings of a debate on a topic in which one model argues both sides."""
    return debate_settings(
        spec, topic, spec.loaded_format.sides[0], dict.fromkeys(spec.loaded_format.sides, spec.models[0].spec)
    )


def debate_settings(
    spec: TournamentSpec, topic: Topic, first: str, side_specs: Mapping[str, str], panel: Sequence[str] = ()
) -> Settings:
    """The settings of one debate. `side_specs` gives each side's model spec; `panel` has those of the judges."""
    judges = list(panel) or [judge.spec for judge in spec.judges.pool[: spec.judges.panel_size]]
    cast: dict[str, Any] = {**side_specs, **({JUDGE: judges} if judges else {})}
    pro, con = spec.loaded_format.sides
    values = {
        **spec.settings,
        "topic": topic.motion,
        "positions": {pro: topic.position_a, con: topic.position_b},
        "first": first,
        "cast": cast,
        "insist": True,
        "mirror": spec.judges.mirror,
        "format": spec.loaded_format.name,
    }
    if JUDGE not in spec.loaded_format.seats:
        del values["mirror"]
    return make_settings(values, spec.loaded_format, "debate.md", lambda seat: (judges or [side_specs[pro]])[0])
