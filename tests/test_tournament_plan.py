"""The spec and the schedule of a tournament: what follows from what, and what is refused."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from itertools import pairwise, product
from pathlib import Path
from typing import Any

import pytest
import small_tournaments
from corpus import for_each
from small_tournaments import HAIKU, JUDGES, OPUS, SONNET, spec_data

from debate_orchestrator.tournament import folder
from debate_orchestrator.tournament.plan import ScheduledDebate, estimate_tournament, make_schedule
from debate_orchestrator.tournament.spec import model_of
from debate_orchestrator.tournament.spec_file import parse_spec, sample
from debate_orchestrator.util.data import parse_mapping
from debate_orchestrator.util.errors import BadFile, BadSettings


def problems(**changes: Any) -> str:
    """What is said of a spec that can't be used."""
    with pytest.raises(BadSettings) as refused:
        make_schedule(parse_spec(spec_data(**changes)))
    return "\n".join(refused.value.problems)


def test_the_same_spec_makes_the_same_schedule() -> None:
    """A schedule depends on its spec alone; another tag or seed changes who judges, and the tag the debates' seeds."""
    first, again = make_schedule(small_tournaments.spec(6)), make_schedule(small_tournaments.spec(6))
    reseeded, renamed = (
        make_schedule(small_tournaments.spec(6, seed=5)),
        make_schedule(small_tournaments.spec(6, tag="other")),
    )

    assert first == again and len({debate.id for debate in first}) == 36
    assert [one.judges for one in first] != [one.judges for one in reseeded]
    assert [one.seed for one in first] == [one.seed for one in reseeded]
    assert not {one.seed for one in first} & {one.seed for one in renamed}


def test_swapped_sides_and_both_orders() -> None:
    """With swapped sides every pair meets both ways round on every topic, and `first: both` has each of these debates
    in both orders, if there are two."""
    held = make_schedule(small_tournaments.spec(2, first="both"))
    met = Counter((one.topic_id, one.pro, one.con, one.first) for one in held)

    assert len(held) == 3 * 2 * 2 * 2 and set(met.values()) == {1}
    assert {(topic, con, pro, first) for topic, pro, con, first in met} == set(met)
    assert (
        len(make_schedule(small_tournaments.spec(2, first="both", format="question"))) == 3 * 2 * 2
    )  # both speak at once


def test_balanced_sides_alternate(tmp_path: Path) -> None:
    """With balanced sides each model of a pair is pro on every other topic, whatever the order of the models. Balanced
    order is so on each side: a model speaks first in half of its debates as pro, and in half of those as con. A
    tournament that was planned before keeps its schedule, also where the spec is run again."""
    held = make_schedule(small_tournaments.spec(6, sides="balanced"))
    again = make_schedule(small_tournaments.spec(6, sides="balanced", models=[HAIKU, SONNET, OPUS]))
    of_pair = [one.pro for one in held if {one.pro, one.con} == {OPUS, HAIKU}]

    assert all(one != other for one, other in pairwise(of_pair)) and len(of_pair) == 6
    assert {(one.topic_id, one.pro, one.con) for one in held} == {(one.topic_id, one.pro, one.con) for one in again}

    for topics, repetitions in product(range(1, 10), range(1, 7)):
        spec = small_tournaments.spec(topics, repetitions=repetitions, sides="balanced", first="balanced")
        for counts in _places(make_schedule(spec)).values():
            assert counts.total() == topics * repetitions and max(counts.values()) - min(counts.values()) <= 1
            assert abs(2 * (counts[True, "pro"] + counts[False, "con"]) - counts.total()) <= 1

    made = folder.create(str(tmp_path / "t"), spec)
    path = tmp_path / "t" / "tournament.json"
    path.write_text(path.read_text("utf-8").replace(' "order_within_sides": true,\n', ""), "utf-8")
    for planned_before in (folder.load(made.folder), folder.create(made.folder, spec)):
        assert {len(+counts) for counts in _places(planned_before.schedule).values()} == {2}


def _places(schedule: Sequence[ScheduledDebate]) -> dict[tuple[str, str], Counter[tuple[bool, str]]]:
    """Each pair to how often its first model was pro or con, with pro or con first."""
    places = dict[tuple[str, str], Counter[tuple[bool, str]]]()
    for one in schedule:
        pair = min(one.pro, one.con), max(one.pro, one.con)
        no_debates = Counter(dict.fromkeys(product((True, False), ("pro", "con")), 0))
        places.setdefault(pair, no_debates)[one.pro == pair[0], one.first] += 1
    return places


def test_judges_are_spread() -> None:
    """Balanced panels use every judge equally often on each topic and in all, and the rest of those who may judge is
    the reserve."""
    held = make_schedule(small_tournaments.spec(4))
    by_topic = Counter((one.topic_id, judge) for one in held for judge in one.judges)

    assert set(by_topic.values()) == {4}
    assert all(set(one.judges) | set(one.reserve) == set(JUDGES) and len(one.judges) == 2 for one in held)


def test_debaters_do_not_judge_themselves() -> None:
    """A debater's own model is on no panel of its debates, nor in the reserve; with `exclude: vendor` no model of its
    vendor is. An open model's vendor is the first word of its name: schedules are worked out anew by later versions."""
    pool = [OPUS, SONNET, HAIKU, "openai:gpt-5.1"]
    held = make_schedule(small_tournaments.spec(3, judges={"from": pool, "panel": 1}))
    elsewhere = make_schedule(small_tournaments.spec(3, judges={"from": pool, "panel": 1, "exclude": "vendor"}))

    assert all(not {one.pro, one.con} & {*one.judges, *one.reserve} for one in held)
    assert {one.judges for one in elsewhere} == {("openai:gpt-5.1",)}
    pool = ["ollama:gpt-oss", "ollama:codegemma", "ollama:hf.co/google/gemma3", "ollama:qwen3"]
    judges = {"from": pool, "panel": 1, "exclude": "vendor"}
    open_models = small_tournaments.spec(models=["openai:gpt-5.1", "ollama:qwen2.5"], judges=judges)
    assert all({*one.judges, *one.reserve} == {*pool[:3]} for one in make_schedule(open_models))


def test_pairs_that_are_chosen() -> None:
    """Pairs may be listed, or be one model against all others."""
    listed = make_schedule(small_tournaments.spec(1, pairs=[[OPUS, HAIKU]], sides="fixed"))
    against = make_schedule(small_tournaments.spec(1, pairs={"against": HAIKU}, sides="fixed"))

    assert [(one.pro, one.con) for one in listed] == [(OPUS, HAIKU)]
    assert [(one.pro, one.con) for one in against] == [(HAIKU, OPUS), (HAIKU, SONNET)]


def test_topics_from_files(tmp_path: Path) -> None:
    """Topics come from CSV, JSON and YAML alike, with positions where they are given."""
    (tmp_path / "t.csv").write_text("id,motion,category,position_a,position_b\nx,Yes.,c,For.,Against.\n")
    (tmp_path / "t.json").write_text(
        '[{"id":"x","motion":"Yes.","category":"c","position_a":"For.","position_b":"Against."}]'
    )
    (tmp_path / "t.yaml").write_text("- {id: x, motion: Yes., category: c, position_a: For., position_b: Against.}\n")
    read = [
        parse_spec(spec_data(topics=0) | {"topics": f"t.{e}"}, str(tmp_path)).topics for e in ("csv", "json", "yaml")
    ]

    assert read[0] == read[1] == read[2]
    assert (read[0][0].position_a, read[0][0].position_b) == ("For.", "Against.")
    assert small_tournaments.spec(1).topics[0].position_b == "Against the motion: Motion 0 holds."


def test_lengths_of_phases() -> None:
    """Speeches are as long as the spec says, within what the format asks of a phase."""
    changed = small_tournaments.spec(
        lengths={"opening": {"target_words": 30, "max_words": 40, "max_tokens": 500}}
    ).loaded_format
    (opening,) = (phase for phase in changed.phases() if phase.name == "opening")
    assert (opening.target_words, opening.max_words, opening.max_tokens) == (30, 40, 500)
    assert "asks for at least 70 words and at most 60" in problems(
        format="question", lengths={"argument": {"max_words": 60}}
    )


def test_everything_wrong_is_said_at_once() -> None:
    """Every mistake of a spec is reported together, with the nearest key or name."""
    said = problems(
        modles=[1],
        models=["claude", OPUS, OPUS, "host"],
        judges={"from": JUDGES, "pannel": 3},
        sides="swaped",
        limits={"antropic": {"requests": 5}},
        lengths={"openning": {}},
        repetitions=0,
        max_cost=-1,
    )

    for expected in (
        "unknown key 'modles'. Did you mean 'models'?", "'claude' is not a model spec",
        f"'{OPUS}' is listed twice", "'host' can't take part", "Did you mean 'panel'?", "Did you mean 'swapped'?",
        "Did you mean 'anthropic'?", "Did you mean 'opening'?", "repetitions: 0 should be", "max_cost: -1 should be",
    ):  # fmt: skip
        assert expected in said


@for_each([
    ({"topics": [{"id": "x", "motion": "Y.", "category": "c"}] * 2}, "the topic id x occurs 2 times"),
    (
        {"topics": [{"id": n, "motion": m, "category": "c"} for n, m in (("x", "So."), ("y", "so"))]},
        "the topics x, y have the same text in motion",
    ),
    ({"topics": [{"id": "x", "motion": "Y.", "category": " "}]}, "topic 1 (x) has no category"),
    (
        {"topics": [{"id": "x", "motion": "Y.", "category": "c" * 101}]},
        "topic 1 (x): a category has at most 100 characters, and this one has 101",
    ),
    ({"topics": [{"id": "x", "motoin": "Y.", "category": "c"}]}, "Did you mean 'motoin'?"),
    ({"topics": "nowhere.csv"}, "nowhere.csv: can't be read"),
    ({"judges": {"from": [OPUS, SONNET], "panel": 1}}, "1 can't be drawn for " + OPUS),
    ({"judges": {"from": JUDGES, "panel": 2, "exclude": "vendor"}}, "0 of 3 judges are left without the debaters'"),
    ({"judges": {"from": JUDGES, "panel": 9}}, "Try: judges from elsewhere, a smaller `panel`, or"),
    ({"models": [OPUS, "openai:gpt-x"], "max_cost": 1}, "a cap can't be kept with openai:gpt-x"),
    ({"rounds": 40}, "rounds: 40 is not a whole number"),
    ({"pairs": [[OPUS, SONNET], [SONNET, OPUS]]}, "a pair is listed twice"),
    ({"pairs": [[OPUS, "anthropic:claude-haiku-5"]]}, f"Did you mean '{HAIKU}'?"),
    ({"repetitions": 1000, "topics": [
        {"id": f"x{n}", "motion": f"Y{n}.", "category": "c"} for n in range(50)
    ]}, "The schedule has 300,000 debates"),
])  # fmt: skip
def test_what_is_refused(changes: dict[str, Any], expected: str) -> None:
    """Each of these is refused in one sentence that names it."""
    values = {key: value for key, value in changes.items() if key != "topics"}
    base = spec_data(**values) | ({"topics": changes["topics"]} if "topics" in changes else {})
    with pytest.raises(BadSettings) as refused:
        make_schedule(parse_spec(base))

    assert expected in "\n".join(refused.value.problems)


def test_without_models() -> None:
    """A spec without models lacks their list: it is not told that nothing should be a list."""
    with pytest.raises(BadSettings) as refused:
        parse_spec({key: value for key, value in spec_data().items() if key != "models"})

    assert refused.value.problems[0] == "models: the list is missing."
    assert "nothing" not in str(refused.value)


def test_a_price_of_ones_own() -> None:
    """A model that is not in the price table can be given a price, and then a cap."""
    tuned = {"name": "tuned", "spec": "openai:tuned-1", "price": {"input": 1, "output": 2}}
    made = small_tournaments.spec(1, models=[OPUS, tuned], max_cost=5, rehearse=False)
    expected = estimate_tournament(made, make_schedule(made), 10)

    assert expected.unpriced_models == []
    assert next(load.cost.low for load in expected.models if load.cost and load.model == "openai:tuned-1") > 0


def test_what_a_tournament_takes() -> None:
    """The calls are counted exactly, the cost lies within its range, and the strictest limit decides on the time."""
    made = small_tournaments.spec(2, rehearse=False)
    held = make_schedule(made)
    free = estimate_tournament(made, held, 1000)
    slow = estimate_tournament(
        small_tournaments.spec(2, rehearse=False, limits={"anthropic": {"requests": 2}}), held, 1000
    )
    cost, low, high = free.cost

    assert free.calls == len(held) * (6 + 2) and 0 < low < cost < high
    assert slow.seconds == pytest.approx(free.calls / 2 * 60) and "requests per minute" in slow.bound
    assert free.bound == "12 concurrent debates"


def test_a_limit_of_a_provider_holds_for_each_server() -> None:
    """Calls to two servers go side by side, each within the limit, so they take the time of the one with more."""
    one, other = (f"openai:m@https://{name}.example.org/v1" for name in ("one", "two"))
    limits = {"openai": {"requests": 1}}
    apart = small_tournaments.spec(
        1, models=[one, other], judges={"from": [OPUS], "panel": 1}, rehearse=False, limits=limits
    )
    found = estimate_tournament(apart, make_schedule(apart), 1000)
    calls = {load.model: load.calls for load in found.models}

    assert found.seconds == pytest.approx(max(calls[one], calls[other]) * 60) and "requests per minute" in found.bound


def test_the_sample_is_good_as_it_is() -> None:
    """The spec that `new` writes can be planned: three models, four topics, both ways round."""
    made = parse_spec(parse_mapping(sample(), "sample"))

    assert len(make_schedule(made)) == 24


def test_unknown_names_are_reported_up_to_a_number() -> None:
    """A near name is looked for among the known ones for twenty unknown names, however many there are."""
    found = problems(limits={f"none{n}": {"requests": 1} for n in range(1_000)}).split("\n")

    assert len(found) == 21 and "there are more problems than these 20" in found[-1]


def test_a_full_tournament_takes_no_more_models(here: Path) -> None:
    """A model beyond the number that is allowed is refused before anything is written, and the folder stays usable."""
    models = [OPUS, SONNET, *(f"rehearse:openai:gpt-{n}" for n in range(198))]
    held = small_tournaments.tournament(topics=1, models=models, pairs=[[OPUS, SONNET]])
    with pytest.raises(BadSettings, match="at most 200 are allowed"):
        folder.add_model(held, model_of({"name": "late", "spec": "rehearse:openai:gpt-late"}))

    assert folder.load(held.folder).schedule == held.schedule


def test_a_frozen_spec_is_one_whose_debates_can_be_held() -> None:
    """A stranger's rules may allow any number of rounds. A debate of that many is refused with the spec, before a
    worker or a report opens one."""
    data, rounds = json.loads(json.dumps(folder.spec_data(small_tournaments.spec()), default=str)), 101
    data["rules"]["round_limits"] = {"default": 1, "max": rounds, "max_if_insisted": rounds}
    data["settings"]["rounds"] = rounds

    with pytest.raises(BadFile, match="x: rounds: 101 is not a whole number from 1 to 100"):
        folder.spec_from_data(data, "x")
