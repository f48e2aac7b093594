"""Reads the spec of a tournament from a YAML file, with every problem at once and the nearest key or name for each."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, get_args

from debate_orchestrator.core.format import Format
from debate_orchestrator.core.phases import JUDGE, MOST_WORDS
from debate_orchestrator.core.settings import DECLARED, LARGEST_COST, MOST_JUDGES
from debate_orchestrator.engine import format_check
from debate_orchestrator.formats import loader
from debate_orchestrator.formats.source import is_path
from debate_orchestrator.providers import registry
from debate_orchestrator.tournament.spec import (
    MOST_REPETITIONS,
    Exclude,
    First,
    Judges,
    Limits,
    Model,
    Price,
    Sample,
    Sides,
    Spec,
    StageBudget,
    check,
    pair_up,
    with_budgets,
)
from debate_orchestrator.tournament.topics import read_topics
from debate_orchestrator.util import model_spec
from debate_orchestrator.util.errors import BadSettings, DebateError, short_repr, suggest, with_hint

ROUND_ROBIN = "round robin"
DEFAULT_FORMAT = "panel"
MOST_MODELS = 200
_OWN = ("topic", "positions", "output", "context", "cast", "sources", "first", "format", "max_cost", "insist",
        "one_agent", "mirror")  # fmt: skip
DEBATE_SETTINGS = tuple(name for name in DECLARED if name not in _OWN)
"""Settings of a debate that a spec may have too."""
_OFF_BY_DEFAULT = {name: False for name in ("issues", "brief") if name in DECLARED}
"""Settings that are for a person with a decision to make, and off in a tournament unless the spec says otherwise."""
LIMITS = ("requests", "input_tokens", "output_tokens", "tokens", "at_once")
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
KEYS = ("tag", "models", "judges", "topics", "pairs", "sides", "first", "format", "repetitions", "seed", "max_cost",
        "limits", "budgets", *DEBATE_SETTINGS)  # fmt: skip


def sample() -> str:
    """A commented spec to start from, which is good as it is."""
    return (Path(__file__).parent / "sample.yaml").read_text(encoding="utf-8")


def parse_spec(given: Mapping[str, Any], folder: str = "", *, rehearse: bool = False) -> Spec:
    """The spec that the values of a file make; paths in it are relative to `folder`. BadSettings with every problem.

    With `rehearse` a stand-in takes the place of every model.
    """
    problems = [_unknown_key(key) for key in given if key not in KEYS]
    rules, templates, prompts = _format(given.get("format", DEFAULT_FORMAT), folder, problems)
    rules = with_budgets(rules, budgets := _budgets(given.get("budgets"), rules, problems))
    models = _models("models", given.get("models"), problems, rehearse=rehearse)
    judges = _judges(given.get("judges"), rules, problems, rehearse=rehearse)
    topics, topic_problems = read_topics(given.get("topics"), folder)
    problems += topic_problems
    pairs = _pairs(given.get("pairs", ROUND_ROBIN), [model.name for model in models], problems)
    values: dict[str, Any] = {
        "tag": _tag(given.get("tag", "tournament"), problems),
        "sides": _choice("sides", given.get("sides", "swapped"), Sides, problems),
        "first": _choice("first", given.get("first", "pro"), First, problems),
        "repetitions": _whole("repetitions", given.get("repetitions", 1), 1, MOST_REPETITIONS, problems),
        "seed": _whole("seed", given.get("seed", 0), -(2**53), 2**53, problems),
        "max_cost": _cap(given.get("max_cost"), problems),
        "limits": _limits(given.get("limits"), [*models, *judges.pool], problems),
        "settings": _OFF_BY_DEFAULT | {name: given[name] for name in DEBATE_SETTINGS if name in given},
    }
    if not problems:
        values |= {"models": models, "judges": judges, "topics": topics, "pairs": pairs, "budgets": budgets}
        spec = Spec(**values, format=rules.name, rules=rules, templates=templates, prompts=prompts)
        problems += check(spec)
        if not problems:
            return spec
    raise BadSettings(list(dict.fromkeys(problems)))


def frozen_problems(spec: Spec) -> list[str]:
    """What is wrong with a spec that was read from a tournament's folder. The folder may be a stranger's, so its values
    are held to what those of a file are held to."""
    problems = [
        f"settings: {short_repr(name)} is no setting of a tournament. {suggest(name, DEBATE_SETTINGS)}".rstrip()
        for name in spec.settings
        if name not in DEBATE_SETTINGS
    ]
    given = spec.model_dump(mode="json", by_alias=True, exclude_none=True)
    _models("models", list(map(_as_given, spec.models)), problems, rehearse=False)
    judges = {**given["judges"], "from": list(map(_as_given, spec.judges.pool))}
    _judges(judges if JUDGE in spec.rules.seats or spec.judges.pool else None, spec.rules, problems, rehearse=False)
    problems += read_topics(given["topics"], "")[1]
    names = [model.name for model in spec.models]
    _pairs([list(pair) for pair in spec.pairs], names, problems)
    problems += [f"added: {short_repr(name)} is no name in models." for name in spec.added if name not in names]
    _tag(spec.tag, problems)
    _whole("seed", spec.seed, -(2**53), 2**53, problems)
    _cap(spec.max_cost, problems)
    _limits(given["limits"], [*spec.models, *spec.judges.pool], problems)
    _budgets(given["budgets"], spec.rules, problems)
    return list(dict.fromkeys(problems or check(spec)))


def _as_given(model: Model) -> dict[str, Any]:
    """A frozen model as a file has it, where one without a name of its own is called by its spec."""
    unnamed = model.name == model.spec or _rehearsed(model.name) == model.spec
    return model.model_dump(exclude={"name"} if unnamed else None, exclude_none=True)


def _unknown_key(key: object) -> str:
    return f"spec: {short_repr(key)} is no key of a tournament. {suggest(key, KEYS) or 'Keys: ' + ', '.join(KEYS)}"


def _format(given: Any, folder: str, problems: list[str]) -> tuple[Format, dict[str, str], dict[str, str]]:
    """A format with its templates and the digests of all prompts; the default one beside a problem."""
    given = in_folder(given, folder)
    try:
        if not isinstance(given, str):
            raise BadSettings(f"format: {short_repr(given)} is not a name, or the path of a folder.")
        format_check.load(given)
        rules, templates = loader.load_with_templates(given)
    except DebateError as error:
        problems += error.complaints
        rules, templates = loader.load_with_templates(DEFAULT_FORMAT)
    return rules, templates, loader.digests(rules, templates)


def in_folder(format: Any, folder: str) -> Any:
    """A format as a spec in that folder names it: paths are relative to the spec."""
    if not (isinstance(format, str) and is_path(format)):
        return format
    return os.path.join(folder or ".", os.path.expanduser(format))


def _budgets(given: Any, rules: Format, problems: list[str]) -> dict[str, StageBudget]:
    phases = dict.fromkeys(phase.name for phase in (*rules.before, *rules.round, *rules.after))
    found = {}
    for name, value in _mapping("budgets", given, problems).items():
        if name not in phases:
            known = suggest(name, phases) or f"Phases: {', '.join(phases)}."
            problems.append(f"budgets: {short_repr(name)} is no phase of the format {rules.name}. {known}")
            continue
        fields = _mapping(f"budgets: {name}", value, problems)
        if unknown := [key for key in fields if key not in StageBudget.model_fields]:
            problems.append(f"budgets: {name}: {short_repr(unknown[0])} is not words, most_words or tokens.")
            continue
        numbers = {
            key: _whole(f"budgets: {name}: {key}", amount, 1, MOST_WORDS if key != "tokens" else 128_000, problems)
            for key, amount in fields.items()
        }
        found[name] = StageBudget(**numbers)
    return found


def _models(where: str, given: Any, problems: list[str], *, rehearse: bool) -> tuple[Model, ...]:
    least = 2 if where == "models" else 1
    if not isinstance(given, list) or len(given) < least:
        hint = "a list such as [anthropic:claude-sonnet-5-5, openai:gpt-5.1]"
        problems.append(with_hint(f"{where}: {short_repr(given)} is no list of at least {least}.", hint))
        return ()
    if len(given) > MOST_MODELS:
        problems.append(f"{where}: {len(given)} are too many; at most {MOST_MODELS} are allowed.")
        return ()
    found = [model for one in given if (model := _model(where, one, problems)) is not None]
    names = [model.name for model in found]
    problems += [f"{where}: {name} stands twice." for name in dict.fromkeys(names) if names.count(name) > 1]
    if rehearse:
        found = [model.model_copy(update={"spec": _rehearsed(model.spec)}) for model in found]
    return tuple(found)


def model_of(given: Any) -> Model:
    """The model that a line of a spec names. BadSettings with every problem."""
    problems: list[str] = []
    model = _model("models", given, problems)
    if problems or model is None:
        raise BadSettings(problems)
    return model


def _rehearsed(spec: str) -> str:
    return spec if model_spec.is_stand_in(spec) else model_spec.stand_in(spec)


def _model(where: str, given: Any, problems: list[str]) -> Model | None:
    """One model; None with a problem."""
    fields = {"name": given, "spec": given} if isinstance(given, str) else given
    if not isinstance(fields, dict) or not isinstance(fields.get("spec"), str):
        problems.append(f"{where}: {short_repr(given)} is no model spec, and no mapping with name and spec.")
        return None
    if unknown := [key for key in fields if key not in Model.model_fields]:
        near = suggest(unknown[0], Model.model_fields) or "Keys: name, spec, price."
        problems.append(f"{where}: {short_repr(unknown[0])} is no key of a model. {near}")
        return None
    spec, name, before = fields["spec"], fields.get("name", fields["spec"]), len(problems)
    if isinstance(given, dict) and "name" in given and not (isinstance(name, str) and _NAME.fullmatch(name)):
        problems.append(f"{where}: {short_repr(name)} is no name: letters, digits, dots, - and _, at most 64.")
    if model_spec.kind(spec) in (model_spec.HOST, model_spec.HUMAN, model_spec.FETCH, model_spec.OFFLINE):
        problems.append(f"{where}: {short_repr(spec)} can't take part, since a tournament calls its models.")
    else:
        wrong = registry.cast_problems({"a": (spec,)})
        problems += [f"{where}: {problem.removeprefix('cast: a: ')}" for problem in wrong]
    price = _price(where, fields.get("price"), problems)
    return Model(name=name, spec=spec, price=price) if len(problems) == before else None


def _price(where: str, given: Any, problems: list[str]) -> Price | None:
    if given is None:
        return None
    if isinstance(given, dict) and set(given) == {"input", "output"} and all(map(_is_amount, given.values())):
        return Price(**given)
    wanted = "{input: 3, output: 15}, in US dollars per million tokens"
    problems.append(with_hint(f"{where}: {short_repr(given)} is no price.", wanted))
    return None


def _is_amount(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value < LARGEST_COST


def _judges(given: Any, rules: Format, problems: list[str], *, rehearse: bool) -> Judges:
    default = {"from": (), "panel": 0}
    if JUDGE not in rules.seats:
        if given is not None:
            problems.append(f"judges: the format {rules.name} has no judge. Leave this key out.")
        return Judges.model_validate(default)
    if isinstance(given, list):
        given = {"from": given}
    if not isinstance(given, dict):
        hint = "judges: {from: [anthropic:claude-opus-5-5], panel: 1}"
        problems.append(with_hint("judges: there are none.", hint))
        return Judges.model_validate(default)
    known = ("from", "panel", "sample", "exclude", "mirror")
    problems += [
        f"judges: {short_repr(key)} is none of {', '.join(known)}. {suggest(key, known)}".rstrip()
        for key in given
        if key not in known
    ]
    mirror = given.get("mirror", rules.mirror)
    if not isinstance(mirror, bool):
        problems.append(f"judges: mirror: {short_repr(mirror)} is not true or false.")
    values = {
        "from": _models("judges", given.get("from"), problems, rehearse=rehearse),
        "panel": _whole("judges: panel", given.get("panel", rules.panel), 1, MOST_JUDGES, problems),
        "sample": _choice("judges: sample", given.get("sample", "balanced"), Sample, problems),
        "exclude": _choice("judges: exclude", given.get("exclude", "models"), Exclude, problems),
        "mirror": mirror,
    }
    return Judges.model_validate(default if problems else values)


def _pairs(given: Any, names: Sequence[str], problems: list[str]) -> tuple[tuple[str, str], ...]:
    if given == ROUND_ROBIN:
        return pair_up(names)
    if isinstance(given, dict) and list(given) == ["against"]:
        one, found = given["against"], [(given["against"], other) for other in names if other != given["against"]]
        problems += _unknown_names([one], names)
        return tuple(found)
    if not (isinstance(given, list) and given and all(isinstance(pair, list) and len(pair) == 2 for pair in given)):
        hint = "`round robin`, a list such as [[x, y], [x, z]], or {against: x} for x against all others"
        problems.append(with_hint(f"pairs: {short_repr(given)} is no list of pairs.", hint))
        return ()
    problems += _unknown_names([name for pair in given for name in pair], names)
    for pair in given:
        if pair[0] == pair[1]:
            problems.append(f"pairs: {short_repr(pair[0])} can't debate itself.")
    once = {frozenset(map(str, pair)) for pair in given}
    if len(once) < len(given):
        problems.append("pairs: a pair stands twice. (x, y) and (y, x) are the same pair; `sides` decides who is pro.")
    return tuple((str(one), str(other)) for one, other in given)


def _unknown_names(given: Sequence[Any], names: Sequence[str]) -> list[str]:
    unknown = dict.fromkeys(str(name) for name in given if name not in names)
    return [f"pairs: {short_repr(name)} is no name in models. {suggest(name, names)}".rstrip() for name in unknown]


def _limits(given: Any, models: Sequence[Model], problems: list[str]) -> dict[str, Limits]:
    """Limits by the kind of provider, or by the name or spec of a model."""
    known = [*registry.ENTRIES, *(model.name for model in models), *(model_spec.real(one.spec) for one in models)]
    found = {}
    for key, value in _mapping("limits", given, problems).items():
        if key not in known:
            problems.append(
                f"limits: {short_repr(key)} is no provider and no model here. {suggest(key, known)}".rstrip()
            )
        fields = _mapping(f"limits: {key}", value, problems)
        if unknown := [name for name in fields if name not in LIMITS]:
            near = suggest(unknown[0], LIMITS) or f"Limits a minute: {', '.join(LIMITS)}."
            problems.append(f"limits: {key}: {short_repr(unknown[0])} is no limit. {near}")
            continue
        numbers = {
            name: _whole(f"limits: {key}: {name}", amount, 1, 10**12, problems) for name, amount in fields.items()
        }
        found[key] = Limits(**numbers)
    return found


def _mapping(where: str, given: Any, problems: list[str]) -> dict[str, Any]:
    if given is None:
        return {}
    if not isinstance(given, dict):
        problems.append(f"{where}: {short_repr(given)} is no mapping.")
        return {}
    return {str(key): value for key, value in given.items()}


def _tag(given: Any, problems: list[str]) -> str:
    if isinstance(given, str) and _NAME.fullmatch(given):
        return given
    problems.append(f"tag: {short_repr(given)} is no name: letters, digits, dots, - and _, at most 64.")
    return ""


def _choice(where: str, given: Any, choices: Any, problems: list[str]) -> str:
    allowed = get_args(choices)
    if given in allowed:
        return str(given)
    near = suggest(given, allowed)
    problems.append(f"{where}: {short_repr(given)} is none of {', '.join(allowed)}. {near}".rstrip())
    return str(allowed[0])


def _whole(where: str, given: Any, least: int, most: int, problems: list[str]) -> int:
    if isinstance(given, int) and not isinstance(given, bool) and least <= given <= most:
        return given
    problems.append(f"{where}: {short_repr(given)} is not a whole number from {least:,} to {most:,}.")
    return least


def _cap(given: Any, problems: list[str]) -> float | None:
    if given is None:
        return None
    if _is_amount(given) and given > 0:
        return float(given)
    problems.append(f"max_cost: {short_repr(given)} is not {DECLARED['max_cost'].wanted}.")
    return None
