"""What a tournament reads is small enough for the work that it takes, or is refused in one sentence."""

from __future__ import annotations

import csv
import io
import json
import math
import sqlite3
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from conftest import Run
from contests import HAIKU, OPUS, SONNET, imported, row, spec, tournament, write_rows
from corpus import for_each
from counting import calls

from debate_orchestrator.formats import validation
from debate_orchestrator.tournament import bradley_terry, folder, importing, plan, ratings, rows, spec_file
from debate_orchestrator.tournament.bradley_terry import fit
from debate_orchestrator.tournament.ratings import Ratings
from debate_orchestrator.tournament.rows import BallotRow, DebateRow, Rows
from debate_orchestrator.tournament.spec import model_of
from debate_orchestrator.tournament.tables import Table, all_tables, to_csv
from debate_orchestrator.util.errors import BadFile, BadSettings, suggest


def votes(models: int, judges: int = 1) -> tuple[list[DebateRow], list[BallotRow]]:
    """A debate for each two models, and a vote on it."""
    debates = [
        DebateRow(id=f"d{n}", topic=f"t{n % 2}", pro=f"m{2 * n}", con=f"m{2 * n + 1}", winner="pro")
        for n in range(models // 2)
    ]
    return debates, [BallotRow(debate=one.id, judge=f"j{n % judges}", winner="pro") for n, one in enumerate(debates)]


@pytest.mark.parametrize(("models", "judges", "which"), [(1_002, 1, "1,002 models"), (2, 5_001, "5,001 judges")])
def test_so_many_models_and_judges_are_rated(models: int, judges: int, which: str) -> None:
    """Strengths of more models, or of more judges, than are fitted are refused before anything is fitted."""
    debates, ballots = votes(models)
    ballots += [BallotRow(debate="d0", judge=f"j{n}", winner="con") for n in range(1, judges)]

    with pytest.raises(BadFile, match=f"{which} are too many"):
        fit(debates, ballots)


def import_fails(debate: Run) -> str:
    """What is said of rows.csv and map.yaml, which are refused."""
    ran = debate("tournament", "import", "rows.csv", "--map", "map.yaml", "--to", "t")
    assert ran.code == 2 and not Path("t").exists()
    return str(ran.err)


def test_a_debate_has_so_many_votes(debate: Run) -> None:
    """Each vote on a debate is compared with each other, so rows of more judges are refused."""
    write_rows(row("d", "x", "y", "pro", judge=f"j{n}") for n in range(201))

    assert "the debate 'd' has more than the 200 votes that are allowed" in import_fails(debate)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"scores": {f"s{n}": ["id", "id"] for n in range(101)}}, "101 dimensions, and at most 100"),
        ({"scores": {"s" * 101: ["id", "id"]}}, "with names of 100 characters"),
        ({"judge": ".".join("a" * 33)}, "too long or too deep"),
        ({"judge": "a" * 501}, "too long or too deep"),
    ],
)
def test_a_map_names_so_much(debate: Run, change: dict[str, Any], said: str) -> None:
    """Every row is read by the whole map, so its dimensions, and the length and depth of its paths, are limited."""
    write_rows([row("1", "x", "y", "pro")])
    known = json.loads(Path("map.yaml").read_text(encoding="utf-8"))
    Path("map.yaml").write_text(json.dumps(known | change), encoding="utf-8")

    assert said in import_fails(debate)


def test_an_import_has_so_many_scores(debate: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """A map may read one column as many dimensions, so scores are counted while rows are read, and no row is taken
    beyond the number that is allowed."""
    scores = {f"s{n}": ["when", "when"] for n in range(4)}
    write_rows(row(f"d{n}", "x", "y", "pro", when=n) for n in range(1_000))
    known = json.loads(Path("map.yaml").read_text(encoding="utf-8"))
    Path("map.yaml").write_text(json.dumps({**known, "scores": scores}), encoding="utf-8")
    taken: list[int] = []
    debate_of = importing._Collector._debate
    monkeypatch.setattr(
        importing._Collector, "_debate", lambda self, *given: taken.append(1) or debate_of(self, *given)
    )

    monkeypatch.setattr(importing, "MAX_SCORES", 40, raising=False)
    assert "rows.csv has more than the 40 scores that are allowed" in import_fails(debate)
    assert len(taken) == 10
    monkeypatch.setattr(importing, "MAX_SCORES", 4_000)
    assert debate("tournament", "import", "rows.csv", "--map", "map.yaml", "--to", "read").code == 0


def test_what_was_read_is_not_kept_twice() -> None:
    """Of each row that was read only a digest is kept, to tell a row that stands twice from one that differs."""
    collector = importing._Collector("rows.csv", has_time=False)
    values = {"debate": "d", "pro": "x", "con": "y", "judge": "j", "winner": "pro", "motion": "M" * 100_000}
    collector.take(importing.JudgeRow(2, values, values, {}, {}))

    assert len(repr(collector._seen)) < 1_000


def test_columns_that_are_not_mapped_are_not_read(debate: Run) -> None:
    """Rows of a file with many columns take the work of the columns that are mapped; too many are refused."""
    write_rows([row("1", "x", "y", "pro")])
    lines = Path("rows.csv").read_text(encoding="utf-8").splitlines()

    def write(columns: int) -> None:
        names = ",".join(f"c{n}" for n in range(columns))
        Path("rows.csv").write_text(f"{lines[0]},{names}\n{lines[1]}\n", encoding="utf-8")

    write(9_000)
    assert debate("tournament", "import", "rows.csv", "--map", "map.yaml", "--to", "read").code == 0
    write(10_001)
    assert "10,010 columns, and at most 10,000 are allowed" in import_fails(debate)


def test_missing_columns_are_told_up_to_a_number(debate: Run) -> None:
    """Of many columns that a map names and a file lacks, the first twenty are told."""
    write_rows([row("1", "x", "y", "pro")])
    known = json.loads(Path("map.yaml").read_text(encoding="utf-8"))
    scores = {f"s{n}": [f"pro{n}", f"con{n}"] for n in range(50)}
    Path("map.yaml").write_text(json.dumps({**known, "scores": scores}), encoding="utf-8")

    told = import_fails(debate)
    assert told.count("has no column") == 20 and "more problems than these 20" in told


def test_topics_have_so_many_columns(tmp_path: Path) -> None:
    """A file of topics with too many columns is refused; of fewer, only those of a topic are read."""
    path = tmp_path / "topics.csv"

    def read(columns: int) -> object:
        names = ",".join(f"c{n}" for n in range(columns))
        path.write_text(f"id,motion,category,{names}\n" + "".join(f"t{n},M {n}.,c\n" for n in range(50)))
        return spec_file.read_topics(str(path), "")

    assert "has 203 columns, and at most 200 are allowed" in str(read(200))
    assert calls(lambda: read(190)) < 1.2 * calls(lambda: read(1))


def unknown_limits(many: int) -> dict[str, Any]:
    return {"limits": {f"none{n}": {"requests": 1} for n in range(many)}}


def unknown_pairs(many: int) -> dict[str, Any]:
    return {"pairs": [[f"x{n}", f"y{n}"] for n in range(many)]}


@pytest.mark.parametrize("unknown", [unknown_limits, unknown_pairs])
def test_unknown_names_are_told_up_to_a_number(unknown: Callable[[int], dict[str, Any]]) -> None:
    """A near name is looked for among the known ones for twenty unknown names, however many there are."""
    with pytest.raises(BadSettings) as refused:
        spec(**unknown(1_000))

    assert len(refused.value.problems) == 21
    assert "there are more problems than these 20" in refused.value.problems[-1]


@pytest.mark.parametrize("models", [str, lambda n: {"name": f"m{n}", "spec": "rehearse"}])
def test_models_are_counted_before_they_are_paired(models: Callable[[int], Any]) -> None:
    """A spec of twice as many models as too many takes twice the work: none of them are paired."""

    def refused(many: int) -> None:
        with pytest.raises(BadSettings) as error:
            spec(models=[models(n) for n in range(many)])
        assert f"models: {many:,} are too many; at most 200 are allowed." in error.value.problems

    refused(201)
    assert calls(lambda: refused(1_600)) < 3 * calls(lambda: refused(800))


def test_a_near_word_is_looked_for_among_so_many() -> None:
    """A suggestion takes a bounded number of known words, none of them very long."""
    words = [f"word{n}" for n in range(1_000)]
    assert suggest("last", [*words, "lest"]) == "" and suggest("lost", [*words[1:], "lest"]) != ""
    assert suggest("a" * 201, ["a" * 200]) == suggest("a" * 200, ["a" * 201]) == ""


def test_a_schedule_draws_so_many_judges(monkeypatch: pytest.MonkeyPatch) -> None:
    """Debates times judges are limited, since a schedule names all who may judge each debate."""
    monkeypatch.setattr(plan, "MAX_DRAWN", 35)

    assert len(plan.make_schedule(spec(topics=1))) * 3 == 18
    with pytest.raises(BadSettings, match="12 debates with 3 judges to draw from, 36 in all, and at most 35"):
        plan.make_schedule(spec(topics=2))


def test_a_schedule_has_so_many_bytes(monkeypatch: pytest.MonkeyPatch) -> None:
    """A schedule repeats names and motions in the line of each debate, so it is measured before any line is made."""
    largest = len(folder.schedule_text(plan.make_schedule(spec(topics=1))))
    monkeypatch.setattr(plan, "MAX_BYTES", 2 * largest)

    assert len(plan.make_schedule(spec(topics=1))) == 6
    monkeypatch.setattr(plan, "_scheduled", None)
    with pytest.raises(BadSettings, match=r"The schedule would take [\d,]+ bytes, and at most [\d,]+ are allowed"):
        plan.make_schedule(spec(topics=3))


@pytest.mark.parametrize("panel", [1, 2])
def test_debates_of_one_shape_are_estimated_once(monkeypatch: pytest.MonkeyPatch, panel: int) -> None:
    """What a debate sends depends on its models only so far as their caches differ, so one estimate serves all casts
    that are alike, each at its own prices."""
    models = [f"openai:m{n}" for n in range(12)]
    judges = {"from": [f"openai:j{n}" for n in range(6)], "panel": panel}
    told = spec(models=models, judges=judges, rehearse=False)
    schedule = plan.make_schedule(told)
    estimated: list[object] = []
    estimate = plan.estimate
    monkeypatch.setattr(plan, "estimate", lambda *given, **more: estimated.append(1) or estimate(*given, **more))
    found = plan.estimate_tournament(told, schedule, 10)

    assert len(estimated) == 1 and not found.sampled
    assert {load.model for load in found.loads} == {*models, *judges["from"]} and found.calls == len(schedule) * (
        6 + panel
    )


def test_estimates_take_so_much_work(monkeypatch: pytest.MonkeyPatch) -> None:
    """Cost classes are estimated as long as the tokens of their briefs are few enough; the rest follows from them."""
    models = ["openai:m1", "rehearse:openai:m2", "anthropic:claude-opus-5-5", "anthropic:claude-haiku-4-5"]
    told = spec(models=models, rehearse=False)
    schedule = plan.make_schedule(told)
    estimated: list[object] = []
    estimate = plan.estimate
    monkeypatch.setattr(plan, "estimate", lambda *given, **more: estimated.append(1) or estimate(*given, **more))

    whole = plan.estimate_tournament(told, schedule, 10)
    all_classes = len(estimated)
    monkeypatch.setattr(plan, "MAX_WORK", 1)
    part = plan.estimate_tournament(told, schedule, 10)
    assert all_classes > 2 and not whole.sampled
    assert len(estimated) == all_classes + 1 and part.sampled and part.calls == whole.calls


@pytest.mark.parametrize("pool", [[OPUS], [OPUS, SONNET, HAIKU]])
def test_casts_that_are_not_estimated_are_billed_to_their_own_models(
    monkeypatch: pytest.MonkeyPatch, pool: list[str]
) -> None:
    """What a cast takes that follows from another is counted seat by seat, so that each model has its own calls, also
    where a model debates and judges in one of the casts and not in the other."""
    judges = {"from": pool, "panel": 1, "exclude": "none"}
    told = spec(6, models=[OPUS, SONNET, HAIKU], sides="fixed", judges=judges, rehearse=False)
    schedule = plan.make_schedule(told)
    whole = plan.estimate_tournament(told, schedule, 10)
    monkeypatch.setattr(plan, "MAX_WORK", 1)
    part = plan.estimate_tournament(told, schedule, 10)

    outputs = {load.model: (load.calls, load.usage.output) for load in whole.loads}
    assert part.sampled and {load.model: (load.calls, load.usage.output) for load in part.loads} == outputs
    assert part.cost()[0] == pytest.approx(whole.cost()[0], rel=0.1)


@for_each([("a" * 60, "\u6f22" * 59), ("\u6f22" * 50, "a" * 40), ("x", "y")])
def test_the_bytes_of_a_schedule_are_not_underrated(names: tuple[str, str]) -> None:
    """What is measured is no less than what is written, whatever the names are made of."""
    told = spec(models=[f"openai:{name}" for name in names])
    schedule = plan.make_schedule(told)
    assert plan._most_bytes(told, len(schedule)) >= sum(len(plan.schedule_line(line).encode()) for line in schedule)


def test_pairs_of_many_judges_are_not_compared(monkeypatch: pytest.MonkeyPatch) -> None:
    """The table of pairs of judges would be far larger than the rows; it is left out, and a note says so."""
    debates = [DebateRow(id=f"d{n}", topic="t", pro="x", con="y", winner="pro") for n in range(2)]
    panels = [BallotRow(debate=f"d{n % 2}", judge=f"j{n}", winner="pro") for n in range(8)]
    compared, note = Rows(debates, panels), "12 pairs of judges voted on the same debates, and at most 11 are compared"
    monkeypatch.setattr(rows, "MAX_PAIRS", 12)
    assert len(judge_agreement(compared)) == 12 and not any(note in said for said in compared.all_notes())

    monkeypatch.setattr(rows, "MAX_PAIRS", 11)
    assert judge_agreement(compared) == () and any(note in said for said in compared.all_notes())


def judge_agreement(compared: Rows) -> tuple[tuple[Any, ...], ...]:
    """The rows of the table that compares judges pair by pair."""
    tables = all_tables(compared, Ratings([], None, ()))
    return next(table.rows for table in tables if table.name == "judge_agreement")


def test_judges_of_many_debates_are_compared_by_their_counts() -> None:
    """Kappa is worked out of how often two judges gave each two labels: ten times the debates take no more calls for
    each two judges."""

    def taken(many: int) -> int:
        debates = [DebateRow(id=f"d{n}", topic="t", pro="x", con="y", winner="pro") for n in range(many)]
        panels = [BallotRow(debate=one.id, judge=f"j{n}", winner="pro") for one in debates for n in range(30)]
        compared = Rows(debates, panels)
        return calls(lambda: judge_agreement(compared))

    assert taken(100) - taken(10) < 90 * math.comb(30, 2)


@pytest.mark.parametrize(("many", "judges"), [(40, 4), (4, 40)])
def test_intervals_take_so_much_work(monkeypatch: pytest.MonkeyPatch, many: int, judges: int) -> None:
    """The likelihood is evaluated for the draws of the bootstrap as long as the work allows, whatever takes it: then
    there are no intervals."""
    debates = [DebateRow(id=f"d{n}", topic=f"t{n}", pro=f"m{n}", con=f"m{n + 1}", winner="pro") for n in range(many)]
    ballots = [BallotRow(debate=one.id, judge=f"j{n}", winner="pro") for one in debates for n in range(judges)]
    once, evaluated, most_of_a_draw = many * judges + many + 1 + 2 * judges + 3, 0, 60
    loss = bradley_terry._Layout._loss

    def counted(*arguments: Any) -> Any:
        nonlocal evaluated
        evaluated += 1
        return loss(*arguments)

    monkeypatch.setattr(bradley_terry._Layout, "_loss", counted)

    def evaluations(allowed: float) -> int:
        nonlocal evaluated
        evaluated = 0
        monkeypatch.setattr(bradley_terry, "_MAX_WORK", allowed)
        found = fit(debates, ballots)
        assert found is not None and found.draws == 0 and found.strengths[0].low is None
        assert any(note.startswith("There are no intervals: with so many votes") for note in ratings._fit_notes(found))
        return evaluated

    assert bradley_terry._MAX_WORK <= 4e7
    fitted = evaluations(-1)
    assert 0 < evaluations(10 * once) - fitted < 10 + most_of_a_draw


def test_scores_of_many_rounds_are_compared_in_linear_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each score is compared with that of the round before, and no other is looked at."""
    debate, steps = DebateRow(id="d", topic="t", pro="x", con="y", winner="pro"), 0

    class Counted(sqlite3.Connection):
        """Counts each 1,000 steps of SQLite's virtual machine."""

        def __init__(self, *arguments: Any, **options: Any):
            super().__init__(*arguments, **options)
            self.set_progress_handler(self.count, 1_000)

        def count(self) -> None:
            nonlocal steps
            steps += 1

    monkeypatch.setattr(sqlite3, "connect", partial(sqlite3.connect, factory=Counted))

    def taken(rounds: int) -> int:
        nonlocal steps
        steps = 0
        ballots = (BallotRow(debate="d", judge="j", winner=None, round=n, score=1.0) for n in range(rounds))
        all_tables(Rows([debate], ballots), Ratings([], None, ()))
        return steps

    assert 0 < taken(2_000) < 3 * taken(1_000)


def test_who_may_judge_is_looked_up_once_for_each_model(monkeypatch: pytest.MonkeyPatch) -> None:
    """The vendor of a spec is worked out once for each model and judge of a spec, and not again for each pair."""
    models = [f"anthropic:claude-{n}" for n in range(12)]
    found = spec(models=models, judges={"from": [f"openai:gpt-{n}" for n in range(9)], "panel": 1, "exclude": "vendor"})
    counted: list[str] = []
    monkeypatch.setattr(
        "debate_orchestrator.util.model_spec.vendor", lambda spec: counted.append(spec) or spec.partition(":")[0]
    )

    assert len(plan.make_schedule(found)) == 12 * 11 * 2
    assert len(counted) <= 12 + 2 * 9


@pytest.mark.parametrize("begin", ["=", "+", "-", "@", "\t=", "\r=", "\uff1d", "\uff0b", "\uff0d", "\uff20"])
def test_no_cell_of_a_table_is_a_formula(begin: str) -> None:
    """A text that a spreadsheet would take for a formula has an apostrophe before it; numbers stay as they are."""
    made = to_csv(Table("x", "X", "", ("name", "figure"), ((f"{begin}1+1", -1.5), ("plain", -2))))

    assert list(csv.reader(io.StringIO(made, newline="")))[1:] == [
        [f"'{begin}1+1".replace("\r", " ").replace("\t", " "), "-1.5"],
        ["plain", "-2"],
    ]


@pytest.mark.parametrize(
    ("cell", "expected"),
    [("a\x1b[31mred", "a\u241b[31mred"), ("\ufeff=1+1", "'=1+1"), (" =1+1", "' =1+1"), ("a\u202eb", "ab")],
)
def test_a_cell_holds_no_hidden_characters(cell: str, expected: str) -> None:
    """A table holds nothing that steers a terminal or hides the beginning of a formula."""
    made = to_csv(Table("x", "X", "", ("name",), ((cell,),)))

    assert list(csv.reader(io.StringIO(made, newline="")))[1:] == [[expected]]


@pytest.mark.parametrize(
    ("cell", "expected"),
    [
        ("x;=cmd|'/C calc'!A0;y", "x;'=cmd|'/C calc'!A0;y"),
        ("x\t=1\n=2\x0b=3\u2028=4", "x =1 =2 =3 =4"),
        ("x; =1, +2;y", "x;' =1,' +2;y"),
        ('x;"=1"', 'x;\'"=1"'),
    ],
)
def test_no_part_of_a_cell_is_a_formula(cell: str, expected: str) -> None:
    """A spreadsheet that divides a row at semicolons or tabs too finds no cell that is a formula."""
    made = to_csv(Table("x", "X", "", ("name", "other"), (("first", cell), (cell, "last"))))

    assert list(csv.reader(io.StringIO(made, newline="")))[1:] == [["first", expected], [expected, "last"]]
    for delimiter in ",;\t":
        cells = [one for row in csv.reader(io.StringIO(made, newline=""), delimiter=delimiter) for one in row]
        assert not [one for one in cells if one.strip(' "').startswith(("=", "+", "-", "@"))]


def test_names_add_no_lines_to_the_ratings(debate: Run, here: Path) -> None:
    """A model whose name holds a line break has one line of each table."""
    imported(debate, [row("d1", "one\n1.  winner", "two", "pro"), row("d2", "two", "one\n1.  winner", "con")])
    ran = debate("tournament", "rate", "t", "--min-games", "1")

    assert ran.code == 0 and "one 1. winner" in ran.out and "\n1.  winner" not in ran.out, ran.out


def test_a_full_tournament_takes_no_more_models(here: Path) -> None:
    """A model beyond the number that is allowed is refused before anything is written, and the folder stays usable."""
    models = [OPUS, SONNET, *(f"rehearse:openai:gpt-{n}" for n in range(198))]
    held = tournament(topics=1, models=models, pairs=[[OPUS, SONNET]])
    with pytest.raises(BadSettings, match="at most 200 are allowed"):
        folder.add_model(held, model_of({"name": "late", "spec": "rehearse:openai:gpt-late"}))

    assert folder.load(held.folder).schedule == held.schedule


def test_a_changed_format_is_told_once(here: Path) -> None:
    """A format whose rules and templates are both others is named in one sentence."""
    held = tournament()
    templates = {"speech.j2": "Other words."}
    changed = held.spec.model_copy(
        update={"loaded_format": held.spec.loaded_format.model_copy(update={"title": "Other"}), "templates": templates}
    )
    with pytest.raises(BadSettings) as refused:
        folder.create(held.folder, changed)

    assert "\n".join(refused.value.problems).count("format: its content has changed.") == 1


def test_of_many_wrong_values_the_first_are_worked_out(monkeypatch: pytest.MonkeyPatch) -> None:
    """A spec of thousands of wrong models is refused without a search for what each of them may mean."""
    looked = list[str]()
    monkeypatch.setattr(validation, "suggest", lambda word, _: looked.append(word) or "")
    wrong = folder.frozen(spec()) | {"models": [{"nam": f"m{n}"} for n in range(5_000)]}

    with pytest.raises(BadFile, match=r"models\[0\]: the key 'name' is missing") as caught:
        folder.unfrozen(wrong, "x")

    assert "and 14,900 more" in str(caught.value) and len(looked) <= validation.MAX_LISTED


@pytest.mark.parametrize("rounds", [101, 10_000])
def test_a_frozen_spec_is_one_whose_debates_can_be_held(rounds: int) -> None:
    """A stranger's rules may allow any number of rounds. A debate of that many is refused with the spec, before a
    worker or a report opens one."""
    data = json.loads(json.dumps(folder.frozen(spec()), default=str))
    data["rules"]["rounds"] = {"default": 1, "most": rounds, "insist": rounds}
    data["settings"]["rounds"] = rounds

    with pytest.raises(BadFile, match=f"x: no debate can be held: {rounds} rounds; at most 100"):
        folder.unfrozen(data, "x")


def test_a_model_is_added_once() -> None:
    """Each time that it stands there, it would meet all models before it once more."""
    twice = folder.frozen(spec()) | {"added": [spec().models[1].name] * 2}
    with pytest.raises(BadFile, match="added: a model is listed twice"):
        folder.unfrozen(json.loads(json.dumps(twice, default=str)), "x")


def test_topics_of_one_motion_are_listed_up_to_a_number() -> None:
    """Of the topics that have the same motion only the first are named."""
    topics = [{"id": f"t{n}", "motion": "M.", "category": "c"} for n in range(2_000)]
    (problem,) = spec_file.read_topics(topics, "")[1]

    assert problem.startswith("topics: the topics t0, t1, ") and problem.endswith(" more have the same motion.")
    assert len(problem) < 1_000
