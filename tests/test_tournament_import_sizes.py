"""A small file of judged debates takes little work and room, whatever its values are made of."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from conftest import Run
from contests import imported, ratings, row, write_rows

from debate_orchestrator.tournament import importing, report, rows, tables
from debate_orchestrator.tournament.importing import read_debates
from debate_orchestrator.tournament.rows import BallotRow, DebateRow, Rows
from debate_orchestrator.util.errors import BadFile

pytestmark = pytest.mark.usefixtures("few_draws")


def record(judges: int, motion: str = "M", **transcript: Any) -> str:
    """A line of DebateBench."""
    about = {"debate_id": "d", "topic": {"id": "t", "motion": motion}, "pro_model_id": "a", "con_model_id": "b"}
    panel = [{"judge_id": f"j{n}", "winner": "pro"} for n in range(judges)]
    return json.dumps({"transcript": about | transcript, "judges": panel}) + "\n"


@pytest.mark.parametrize("nested", [[1, 2], {"x": 1}])
def test_a_list_is_no_name(nested: Any) -> None:
    """A list or an object names no debate, judge or model: it is told, and taken as missing."""
    lines = [
        record(2, debate_id=nested),
        record(1, topic={"id": "t", "category": nested}),
        record(1, debate_id="e", pro_model_id=nested),
    ]
    judge = json.loads(record(1, debate_id="f"))
    judge["judges"][0]["judge_id"] = nested

    found = read_debates("".join([*lines, json.dumps(judge)]), "rows.jsonl", None)

    assert [(debate.id, debate.category, debate.pro) for debate in found.debates] == [
        ("d", "", "a"),
        ("e", "", None),
        ("f", "", "a"),
    ]
    assert "Lists and objects in place of a name, taken as missing: 4 (the first: line 1)." in found.notes
    assert "Rows without a debate, left out: 2 (the first: line 1)." in found.notes
    assert len(found.ballots) == 2


def test_a_list_is_no_number_and_no_winner(debate: Run, here: Path) -> None:
    """A list in place of a number or a winner is told for what it is, and not written out."""
    keys = {name: name for name in ("debate", "pro", "con", "judge", "winner", "score")}
    one = {"debate": "1", "pro": "a", "con": "b", "judge": "j", "winner": "pro", "score": 1, "points": [7] * 9}
    lines = [one, {**one, "debate": "2", "score": [7] * 9}, {**one, "debate": "3", "winner": {"pro": 7}}]
    Path("map.json").write_text(json.dumps({**keys, "scores": {"x": ["points", "points"]}}), encoding="utf-8")
    Path("rows.jsonl").write_text("\n".join(map(json.dumps, lines)), encoding="utf-8")

    ran = debate("tournament", "import", "rows.jsonl", "--map", "map.json", "--to", "t", "--json")

    told = "\n".join(ran.json["notes"])
    assert "`score` that is no number: 1 (the first: a list or an object, line 2)." in told
    assert "taken as missing: 1 (the first: a list or an object, line 3)." in told
    assert "Scores that are no numbers, whose dimension is left out of their ballot: 3" in told and "7" not in told


def test_judges_are_counted_while_they_are_read(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a round with more judges than are allowed no more ballots are made than that."""
    made: list[str] = []

    def ballot(**values: Any) -> BallotRow:
        made.append(values["judge"])
        return BallotRow(**values)

    monkeypatch.setattr(importing, "BallotRow", ballot)
    with pytest.raises(BadFile, match="the debate 'd' has more than the 1,000 judges of one round that are"):
        read_debates(record(1_500), "rows.jsonl", None)
    assert len(made) == 1_000


def test_judges_of_other_rounds_are_no_votes(debate: Run) -> None:
    """The votes on a debate are those after its last round: an earlier round may have more judges."""

    def judged(first: int, last: int) -> list[dict[str, Any]]:
        rounds = [1] * first + [2] * last
        return [row("d", "x", "y", "pro", judge=f"{n}", turn=number) for n, number in enumerate(rounds)]

    assert imported(debate, judged(250, 150))["ballots"] == 400
    assert ratings(debate)["elo"]

    write_rows(judged(150, 201))
    ran = debate("tournament", "import", "rows.csv", "--map", "map.yaml", "--to", "many")
    assert ran.code == 2 and "the debate 'd' has more than the 200 votes that are allowed" in ran.err


def test_the_texts_of_a_record_are_read_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """What the judges of a record share is put into one form once, and not for each of them."""
    seen: list[str] = []
    plain = importing._text
    monkeypatch.setattr(importing, "_text", lambda value: seen.append(value) or plain(value))

    found = read_debates(record(150, motion="Motion"), "rows.jsonl", None)

    assert seen.count("Motion") == 1 and seen.count("d") == 1
    assert len({id(ballot.debate) for ballot in found.ballots}) == 1


def test_a_case_is_put_into_words_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of the values of one kind that can't be read only the first is told, and only that one is made safe."""
    shown: list[object] = []
    monkeypatch.setattr(importing, "short_repr", lambda value: shown.append(value) or "shown")
    lines = [json.loads(record(1, debate_id=f"d{n}")) for n in range(20)]
    for line in lines[1:]:
        line["judges"][0]["winner"] = "someone else"
        line["judges"][0]["pro"] = line["judges"][0]["con"] = {"scores": {"clarity": "good"}}

    read_debates("\n".join(map(json.dumps, lines)), "rows.jsonl", None)

    assert sorted(map(str, shown)) == ["good", "someone else"]


def test_a_tournament_has_so_many_dimensions() -> None:
    """Judges with dimensions of their own are refused beyond a number of them, in a file of judges and in the rows of
    an import: tables have a row for each model and dimension."""

    def scored(dimensions: int) -> str:
        line = json.loads(record(dimensions))
        for n, judge in enumerate(line["judges"]):
            judge |= {side: {"scores": {f"s{n}": 1, f"t{n // 100}": 1}} for side in rows.SIDES}
        return json.dumps(line)

    found = read_debates(scored(198), "rows.jsonl", None)
    rows.load(rows.dump(found), "rows.jsonl")

    said = "rows.jsonl scores more than the 200 different dimensions that are allowed"
    with pytest.raises(BadFile, match=said):
        read_debates(scored(199), "rows.jsonl", None)
    late = BallotRow(debate="d", judge="late", winner="pro", round=0, final=False, scores={"u": (1, 1)})
    with pytest.raises(BadFile, match=said):
        rows.load(rows.dump(Rows(found.debates, [*found.ballots, late])), "rows.jsonl")


def test_a_name_is_made_safe_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """A name in many rows of a table is searched for formulas and hidden characters once."""
    seen: list[str] = []
    plain = tables.sanitize
    monkeypatch.setattr(tables, "sanitize", lambda text: seen.append(text) or plain(text))
    table = tables.Table("t", "T", "About.", ("model",), (("=a model seen once",),) * 50)

    assert tables.to_csv(table).count("'=a model seen once") == 50
    assert seen == ["=a model seen once"]


def test_a_csv_file_is_written_before_the_next_is_made(debate: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """The texts of all tables are never held at once, and each is written once."""
    imported(debate, [row("1", "x", "y", "pro"), row("2", "y", "x", "con")])
    done: list[str] = []
    make, write = report.to_csv, report.write_bytes_atomic
    monkeypatch.setattr(report, "to_csv", lambda table: done.append(f"made {table.name}") or make(table))

    def written(path: str, data: bytes, **more: Any) -> str | None:
        if path.endswith(".csv"):
            done.append(f"wrote {Path(path).stem}")
        return write(path, data, **more)

    monkeypatch.setattr(report, "write_bytes_atomic", written)
    report.write_report("t")

    names = [one.removeprefix("made ") for one in done if one.startswith("made ")]
    assert len(names) > 10
    assert done == [f"{what} {name}" for name in names for what in ("made", "wrote")]


@pytest.mark.parametrize(("one", "other"), [(-1, -2), (1, True), (0, False), (1, 1.0), (2, 2 + (2**61 - 1))])
def test_ballots_with_other_numbers_are_others(one: object, other: object) -> None:
    """Two ballots of a judge are the same where they hold the same numbers, and not where only the hashes are."""

    def told(*points: object) -> str:
        line = json.loads(record(1))
        judge = line["judges"][0]
        judges = [judge | {"pro": {"scores": {"x": n}}, "con": {"scores": {"x": 0}}} for n in points]
        return "\n".join(read_debates(json.dumps(line | {"judges": judges}), "rows.jsonl", None).notes)

    assert "that differ from the first, left out" in told(one, other)
    assert "Rows that stand twice" in told(one, one)


def by_id(debate_id: str) -> Iterator[str]:
    """The rows of an import with such a debate, as lines of its file."""
    yield DebateRow(id=debate_id, topic="t", pro="a", con="b", winner="pro").model_dump_json()
    yield BallotRow(debate=debate_id, judge="j", winner="pro").model_dump_json()


def test_the_id_of_a_debate_has_so_many_characters() -> None:
    """Every ballot names its debate, so that a long id is refused, in a file of judges and in the rows of an import."""
    read_debates(record(1, debate_id="x" * 1_000), "rows.jsonl", None)
    rows.load("\n".join(by_id("x" * 1_000)), "rows.jsonl")

    said = r"the id of the debate 'x+\.\.\. \(1003 characters\) has 1,001 characters, and at most 1,000"
    with pytest.raises(BadFile, match=said):
        read_debates(record(1, debate_id="x" * 1_001), "rows.jsonl", None)
    with pytest.raises(BadFile, match=said):
        rows.load("\n".join(by_id("x" * 1_001)), "rows.jsonl")


def test_a_label_has_so_many_characters(debate: Run) -> None:
    """A label is a name too."""
    write_rows([row("1", "x", "y", "pro", label="l" * 1_001)])
    ran = debate("tournament", "import", "rows.csv", "--map", "map.yaml", "--to", "t")

    assert ran.code == 2 and "a label whose name has 1,001 characters" in ran.err


def test_an_import_writes_no_more_than_is_read(debate: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """Rows that would make a file that no verb reads are refused, and nothing is written."""
    write_rows(row(f"d{n}", "x", "y", "pro") for n in range(100))
    monkeypatch.setattr(rows, "MAX_FILE_SIZE", 20_000, raising=False)
    ran = debate("tournament", "import", "rows.csv", "--map", "map.yaml", "--to", "t")

    assert ran.code == 2 and "rows.csv: its rows take more than the 20,000 bytes" in ran.err
    assert not Path("t").exists()


def test_tables_hold_the_id_of_a_debate_once() -> None:
    """Points and ballots refer to their debate by a number, and the tables that show it have its id."""
    scores = {f"s{n}": (1.0, 0.0) for n in range(20)}
    debate_id = "x" * 1_000
    ballots = [BallotRow(debate=debate_id, judge=f"j{n}", winner="pro", scores=scores) for n in range(100)]
    held = Rows([DebateRow(id=debate_id, topic="t", pro="a", con="b", winner="pro")], ballots)

    database = tables._database(held)
    pages, size = (database.execute(f"PRAGMA {name}").fetchone()[0] for name in ("page_count", "page_size"))
    database.close()

    assert pages * size < 500_000


@pytest.mark.parametrize("score", ["1_0", "١٠", "nan", "1" + "0" * 400])
def test_a_number_is_written_in_plain_digits(debate: Run, score: str) -> None:
    """Only the digits that every reader takes for the same number are one."""
    printed = imported(debate, [row("1", "x", "y", "pro", score="10"), row("2", "x", "y", "pro", score=score)])

    unread = [note for note in printed["notes"] if "`score` that is no number: 1" in note]
    assert bool(unread) == (score != "nan") and ratings(debate)["elo"]
    found = rows.load(Path("t/rows.jsonl").read_text(encoding="utf-8"), "rows.jsonl").ballots
    assert [ballot.score for ballot in found] == [10.0, None]
