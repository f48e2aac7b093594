"""Judged debates from elsewhere are counted exactly, and what can't be read is said."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from conftest import Run
from corpus import for_each
from journals import EARLIER
from small_tournaments import import_rows, ratings, row, table, write_rows

from debate_orchestrator.tournament import rows
from debate_orchestrator.tournament.journal_rows import read_rows
from debate_orchestrator.util.errors import BadFile

pytestmark = pytest.mark.usefixtures("few_draws")

SCORES = {"clarity": ("clarity_pro", "clarity_con"), "reasoning": ("reasoning_pro", "reasoning_con")}


def judged(*points: object) -> dict[str, object]:
    """Points in the columns of `SCORES`: clarity of pro and con, reasoning of pro and con."""
    return dict(zip((column for pair in SCORES.values() for column in pair), points, strict=True))


def notes(printed: Any) -> str:
    return "\n".join(printed["notes"])


def refusal(debate: Run) -> str:
    """What is said of rows.csv and map.yaml, of which nothing is imported."""
    ran = debate("tournament", "import", "rows.csv", "--map", "map.yaml", "--to", "new")
    assert ran.code == 2 and not Path("new").exists()
    return str(ran.err)


def test_winners_are_read_in_each_form(debate: Run) -> None:
    """A winner may be a side in any case, a draw, or a side's model, and a name in two Unicode forms is one model."""
    winners = ("pro", "CON", "Draw", "Modèle é", "b")
    import_rows(debate, [row(f"d{n}", "Mode\u0300le é", "b", winner) for n, winner in enumerate(winners)])

    found = {one["model"]: one for one in ratings(debate)["elo"]}

    assert {name: (one["won"], one["lost"], one["tied"]) for name, one in found.items()} == {
        "Modèle é": (2, 2, 1),
        "b": (2, 2, 1),
    }


def test_a_map_keeps_its_keys(debate: Run) -> None:
    """The column of rounds is `round` in a map, in what is kept of the map, and in a note on what can't be read."""
    printed = import_rows(debate, [row("d1", "a", "b", "pro", round=1), row("d2", "a", "b", "pro", round="last")])

    assert "`round` that is not a whole number: 1 (the first: 'last', line 3)." in printed["notes"]
    assert json.loads(Path("t/tournament.json").read_text())["imported"]["map"]["round"] == "round"


def test_scores_decide_where_no_column_has_the_winner(debate: Run) -> None:
    """Without a column of winners, the mean over the criteria decides; a criterion without a number on a side is left
    out of both, and never becomes a number."""
    points = [(7, 6, 7, 6), (7, 6, 6, 7), ("n/a", 6, 5, 6), (9, "lots", 5, 6), ("", "", "nan", "inf")]
    write_rows([row(f"d{n}", "a", "b", "", **judged(*of_row)) for n, of_row in enumerate(points, start=1)], SCORES)
    columns = json.loads(Path("map.yaml").read_text(encoding="utf-8"))
    del columns["winner"]
    Path("map.yaml").write_text(json.dumps(columns), encoding="utf-8")
    printed = debate("tournament", "import", "rows.csv", "--map", "map.yaml", "--to", "t", "--json").json

    assert [one["winner"] for one in table("debates")] == ["pro", "tie", "con", "con", ""]
    assert table("winner_counts") == [
        {"winner": "pro", "count": "1"},
        {"winner": "con", "count": "2"},
        {"winner": "tie", "count": "1"},
        {"winner": "no decision", "count": "1"},
    ]
    lots = "Scores that are not numbers, whose criterion is left out of their ballot: 2 (the first: 'lots', line 5)"
    assert lots in (notes(printed))
    assert "Missing votes: 1 (the first: line 6)." in notes(printed)


def test_rows_that_stand_twice_count_once(debate: Run) -> None:
    """A row that is repeated counts once, and a second ballot that differs is left out, which is said with the first
    line. A second import to the same folder is refused."""
    same = row("d1", "a", "b", "pro")
    printed = import_rows(debate, [same, same, {**same, "winner": "con"}, row("d2", "a", "b", "con")])

    assert (printed["debates"], printed["ballots"]) == (2, 2)
    assert "Second ballots of a judge on one debate, left out (map `repeat` if they are repeats): 2" in notes(printed)
    assert "(the first: line 3, debate 'd1')." in notes(printed)
    assert [(one["won"], one["lost"]) for one in ratings(debate)["elo"]] == [(1, 1), (1, 1)]

    ran = debate("tournament", "import", "rows.csv", "--map", "map.yaml", "--to", "t")
    assert ran.code == 2 and "t holds a tournament already" in ran.err


def test_repeats_count_by_their_numbers(debate: Run) -> None:
    """The least number of a judge and debate, not the first row, is the panel's judging, whatever numbers others have.
    What is no number counts after the numbers of its judge and debate, in order; a note says so."""
    for later, first in (
        [["1"], ["0"]],
        [["2"], ["1.0"]],
        [["1"], [""]],
        [["20260102"], ["20260101"]],
        [["1"], ["00", "0"]],
        [[str(rows.MAX_COUNT), "x"], ["3"]],
    ):
        other = row("d2", "a", "b", "pro", "j2", repeat="1")
        ballots = [other, *(row("d1", "a", "b", "con", repeat=repeat) for repeat in later)]
        ballots += [row("d1", "a", "b", "pro", repeat=repeat) for repeat in first]
        import_rows(debate, ballots)
        assert [(one["model"], one["won"]) for one in ratings(debate)["elo"]] == [("a", 2), ("b", 0)], first
    note = "`repeat` that is not 0, 1, 2 ..., numbered after those by order of rows"
    for words in (["first", "second"], ["", "second"], ["?"], ["-1"], ["1.5"]):
        ballots = [row("d1", "a", "b", winner, repeat=n) for winner, n in (("con", 1), ("pro", 0))]
        ballots += [
            row("d2", "a", "b", winner, repeat=word) for winner, word in zip(("pro", "con"), words, strict=False)
        ]
        bad = [word for word in words if word]
        assert f"{note}: {len(bad)} (the first: '{bad[0]}', line" in notes(import_rows(debate, ballots))
        assert [(one["model"], one["won"]) for one in ratings(debate)["elo"]] == [("a", 2), ("b", 0)], words


def test_rows_of_a_debate_that_contradict_each_other(debate: Run) -> None:
    """The first row counts, and a note says where another differs; a first speaker that is no side is unknown."""
    first = row("d1", "a", "b", "pro", topic="x", category="y", motion="z")
    other = row("d1", "a", "b", "pro", "j2", topic="x2", category="y2", motion="z2", first="Con")
    found = notes(import_rows(debate, [first, other, row("d2", "a", "b", "con", first="both")]))
    for key, value in {"topic": "x2", "category": "y2", "motion": "z2", "first": "con"}.items():
        kind = f"Rows with another `{key}` than an earlier row of their debate, which counts"
        assert f"{kind}: 1 (the first: '{value}', line 3, debate 'd1')." in found
    assert "`first` that is neither pro nor con, taken as unknown: 1 (the first: 'both', line 4)." in found
    assert [(debate.topic_id, debate.first) for debate in read_rows("t").debates] == [("x", "pro"), ("t1", None)]


def test_unreadable_winners_are_said(debate: Run) -> None:
    """A winner that is nothing known is taken as missing and said; where none can be read, nothing is written."""
    printed = import_rows(debate, [row("d1", "a", "b", "banana"), row("d2", "a", "b", "pro")])
    assert "taken as missing: 1 (the first: 'banana', line 2)" in notes(printed)

    write_rows([row("d1", "a", "b", "banana")])
    assert "no row has a winner that can be read" in refusal(debate)


def test_an_abstention_is_no_vote(debate: Run) -> None:
    """A ballot that says so is none, whatever its scores; nor is one that names no winner, or one whose winner can be
    read in two ways."""
    words = ("abstain", "Invalid", "no decision", "con", "pro", "", "none", "nan")
    printed = import_rows(
        debate, [row(f"d{n}", "con", "b", word, **judged(9, 1, 9, 1)) for n, word in enumerate(words)], SCORES
    )

    assert [one["winner"] for one in table("debates")] == ["", "", "", "", "pro", "", "", ""]
    assert "Ballots that name no winner, which are no votes whatever their scores: 3 (the first: line 7)" in notes(
        printed
    )
    assert "which are no votes whatever their scores: 3 (the first: line 2)" in notes(printed)
    assert "and for another too, taken as missing: 1 (the first: 'con', line 5)" in notes(printed)


def test_a_judge_votes_once(debate: Run) -> None:
    """A judge's ballot without a round is on the whole debate; one after the last round is then none. No row stands for
    two votes of one judge."""
    ballots = [
        row("d1", "a", "b", "pro", round=2),
        row("d1", "a", "b", "pro"),
        row("d1", "a", "b", "con", "z", round=2),
    ]
    import_rows(debate, ballots)
    assert [one["winner"] for one in table("debates")] == ["tie"]

    # A later judging with more rounds takes no vote of the first; nor does a round that is no positive number.
    again = [row("d1", "a", "b", "con", repeat=1, round=n) for n in (2, 3)]
    early = row("d2", "a", "b", "pro", round=-1)
    late = [row("d3", "a", "b", winner, judge, round=n) for winner, judge, n in (("con", "j1", 1), ("pro", "j2", 2))]
    printed = import_rows(debate, [row("d1", "a", "b", "pro", round=2), *again, early, *late])
    assert [one["winner"] for one in table("debates")] == ["pro", "pro", "pro"]
    kind = "Judges without a ballot on the whole debate or after its last round, who have no vote on it"
    assert f"{kind}: 1 (the first: 'j1', debate 'd3')." in printed["notes"]

    # The mirrored ballot on the whole debate may be the one after its last round; later judgings are no votes.
    pair = [row("d1", "a", "b", "pro"), row("d1", "a", "b", "con", mirrored=1, round=1)]
    again = [row("d1", "a", "b", "pro", repeat=n, mirrored=mirrored) for n in (1, 2) for mirrored in (0, 1)]
    import_rows(debate, [*pair, *again])
    assert "1 of 1 votes that were cast twice changed" in debate("tournament", "rate", "t").err
    import_rows(debate, ballots)

    lines = Path("t/rows.jsonl").read_text(encoding="utf-8")
    Path("t/rows.jsonl").write_text(lines.replace('"final":false', '"final":true'), encoding="utf-8")
    ran = debate("tournament", "rate", "t")
    assert ran.code == 2 and "a ballot on the debate 'd1' appears twice" in ran.err


def test_a_day_without_hyphens_is_a_date(debate: Run) -> None:
    """It looks like a number of seconds, in 1970, and so does a year alone, which is no time."""
    times = ("20260102", "1767225600", "2026")
    printed = import_rows(debate, [row(f"d{n}", "a", "b", "pro", when=time) for n, time in enumerate(times)])
    assert {one.created for one in read_rows("t").debates} == {
        "2026-01-02T00:00:00.000000Z",
        "2026-01-01T00:00:00.000000Z",
        "",
    }
    assert [one["debate"] for one in table("debates")] == ["d2", "d1", "d0"]
    assert "Times that can't be read, taken as unknown: 1 (the first: '2026', line 4)." in printed["notes"]


def test_an_empty_cell_is_no_name(debate: Run) -> None:
    """What programs write into empty cells is no debate, in which unrelated rows would meet, and no judge or topic."""
    rows = [row("nan", "a", "b", "pro"), row("NaN", "c", "d", "pro"), row("d1", "a", "b", "pro", topic="null")]
    printed = import_rows(debate, [*rows, row("d1", "a", "b", "con", judge="N/A"), row("d1", "a", "b", "con", "")])
    assert [(one.id, one.topic_id, one.winner) for one in read_rows("t").debates] == [("d1", "t1", "pro")]
    assert "Rows without a debate, left out: 2 (the first: line 2)." in printed["notes"]
    assert "Rows without a judge, which cast no vote: 2 (the first: line 5)." in printed["notes"]


def test_swapped_sides_are_read_in_each_form(debate: Run) -> None:
    """Yes and no may be written in many ways; what is neither is taken as no and said."""
    cells = ("Y", "0", "on", "", "maybe")
    printed = import_rows(debate, [row(f"d{n}", "a", "b", "pro", mirrored=cell) for n, cell in enumerate(cells)])

    assert [one.mirrored for one in read_rows("t").ballots] == [True, False, True, False, False]
    assert "`mirrored` that is neither yes nor no, taken as no: 1 (the first: 'maybe', line 6)." in notes(printed)


@for_each(
    [
        ({"winner": "winer"}, "rows.csv has no column `winer`. Did you mean 'winner'?"),
        ({"wnner": "winner"}, "map.yaml: wnner: 'wnner' is not a key here"),
        ({"debate": "topic"}, "debate 't1' has two models for pro: 'a' and 'c' (line 3)"),
        ({"pro": None}, "map.yaml: pro: nothing should be text"),
    ],
    "change",
    "message",
)
def test_a_map_that_does_not_fit_is_refused(change: dict[str, Any], message: str, debate: Run) -> None:
    """What is wrong is said in the words of the file, with exit code 2, and nothing is written."""
    write_rows([row("d1", "a", "b", "pro"), row("d2", "c", "b", "pro")])
    mapped = json.loads(Path("map.yaml").read_text(encoding="utf-8"))
    Path("map.yaml").write_text(json.dumps(mapped | change), encoding="utf-8")

    assert message in refusal(debate)


def test_json_lines_are_read_by_paths(debate: Run) -> None:
    """In JSON lines a column is a path of keys; numbers are ids and times too."""
    lines = [
        {"meta": {"id": n, "at": 1_700_000_000 + n}, "sides": {"pro": "a", "con": "b"}, "by": "j", "win": "pro"}
        for n in range(3)
    ]
    Path("rows.jsonl").write_text("\n".join(map(json.dumps, lines)), encoding="utf-8")
    mapped = {"debate": "meta.id", "created": "meta.at", "pro": "sides.pro", "con": "sides.con", "judge": "by"}
    Path("map.yaml").write_text(json.dumps({**mapped, "winner": "win"}), encoding="utf-8")

    ran = debate("tournament", "import", "rows.jsonl", "--map", "map.yaml", "--to", "t", "--json")

    assert (ran.json["debates"], ran.json["ballots"], ran.json["notes"]) == (3, 3, [])
    assert ratings(debate)["elo"][0]["won"] == 3


def debatebench(debate_id: str, winners: str, **more: Any) -> dict[str, Any]:
    """A line of DebateBench's debates: `winners` has a letter for each judge."""
    names = {"p": "pro", "c": "con", "t": "tie"}
    points = {"p": (8, 6), "c": (5, 7), "t": (6, 6)}
    turns = [
        {"index": n, "speaker": side, "stage": "opening", "content": "some words", "duration_ms": 1500, "cost": 0.25}
        for n, side in enumerate(("con", "pro"))
    ]
    return {
        "transcript": {
            "debate_id": debate_id,
            "topic": {"id": "t001", "motion": "Zoos should close.", "category": "policy"},
            "pro_model_id": "one",
            "con_model_id": "two",
            "turns": turns,
        },
        "judges": [
            {
                "judge_id": f"judge-{n}",
                "winner": names[letter],
                "pro": {"scores": {"clarity": points[letter][0]}},
                "con": {"scores": {"clarity": points[letter][1]}},
            }
            for n, letter in enumerate(winners)
        ],
        "aggregate": {"winner": "pro", "mean_pro": {}, "mean_con": {}},
        "created_at": "2026-01-01T00:00:00Z",
        **more,
    }


def test_debatebench_needs_no_map(debate: Run) -> None:
    """Its lines are read as they are: panels, scores, who spoke first, time and cost."""
    lines = [debatebench("x", "ptt"), debatebench("y", "pcc"), debatebench("z", "")]
    Path("debates_demo.jsonl").write_text("\n".join(map(json.dumps, lines)), encoding="utf-8")

    ran = debate("tournament", "import", "debates_demo.jsonl", "--to", "t", "--json")

    assert (ran.json["debates"], ran.json["ballots"]) == (3, 6)
    assert [(one["winner"], one["first"], one["category"]) for one in table("debates")] == [
        ("pro", "con", "policy"),
        ("con", "con", "policy"),
        ("", "con", "policy"),
    ]
    costs = {one["model"]: (one["wins"], one["usd"], one["usd_per_win"]) for one in table("cost_per_win")}
    assert costs == {"one": ("1", "0.75", "0.75"), "two": ("1", "0.75", "0.75")}
    assert table("dimension_means")[0] == {
        "model": "one",
        "dimension": "clarity",
        "mean_points": "6.333333",
        "samples": "2",
        "pro_mean": "6.333333",
        "con_mean": "",
    }


def test_no_call_gives_money_back(debate: Run) -> None:
    """A cost, a time or a number of tokens below nothing counts as unknown, and so does the sum of its debate."""
    lines = [debatebench("x", "p"), debatebench("y", "c")]
    for turn, changes in zip(
        lines[0]["transcript"]["turns"], ({"cost": -1e14}, {"completion_tokens": -5}), strict=True
    ):
        turn.update(changes)
    Path("debates_demo.jsonl").write_text("\n".join(map(json.dumps, lines)), encoding="utf-8")
    assert debate("tournament", "import", "debates_demo.jsonl", "--to", "t").code == 0
    usage = {row.id: row.usage_by_role for row in read_rows("t").debates}

    assert [usage[name]["con"].cost for name in "xy"] == [None, 0.25]
    assert [usage[name]["pro"].cost for name in "xy"] == [0.25, 0.25] and usage["x"]["pro"].output is None


@for_each(["-1e14", "NaN", "Infinity", "1e308"])
def test_a_stored_cost_that_is_none(cost: str) -> None:
    """A cost below nothing, or of no finite size, is refused where rows are read."""
    text = '{"kind":"debate","id":"d","topic":"t","pro":"x","con":"y","winner":"pro","work":{"pro":{"cost":0.5}}}'
    assert rows.load(text, "rows.jsonl").debates[0].usage_by_role["pro"].cost == 0.5

    with pytest.raises(BadFile, match=r"rows\.jsonl:1: not a row of a tournament"):
        rows.load(text.replace("0.5", cost), "rows.jsonl")


def test_rows_of_an_earlier_version() -> None:
    """Rows in which some keys had other names are read."""
    text = (EARLIER / "zoos.rows.jsonl").read_text(encoding="utf-8")
    text = text.replace('"turn":null', '"turn":2', 1).replace('"refusals":0', '"refusals":1', 1)
    read = rows.load(text, "rows.jsonl")
    assert [ballot.round for ballot in read.ballots] == [2, None, None, None]
    assert read.debates[0].usage_by_role["pro"].declined_turns == 1
    with pytest.raises(BadFile, match=r"not a row of a tournament \('turn': Extra inputs are not permitted\)"):
        rows.load(text.replace('"turn":', '"round":1,"turn":', 1), "rows.jsonl")


@for_each(["//evil.example/x", "../../../../etc/passwd", "debates/d1.html"], "path")
def test_rows_lead_to_no_html_report(path: str) -> None:
    """A file of rows, which may be a stranger's, names no HTML report that the tournament's page would link to."""
    debate = rows.DebateRow(id="d1", topic="t", pro="m1", con="m2", winner="pro", html_report=path)
    assert rows.load(f"{debate.model_dump_json()}\n", "rows.jsonl").debates[0].html_report == ""


def test_other_files_are_refused_in_a_sentence(debate: Run) -> None:
    """A file that is no such thing ends in one plain sentence, and so does a folder that is not a tournament."""
    Path("broken.jsonl").write_text('{"a": 1}\n{"a":', encoding="utf-8")
    Path("other.csv").write_text("a,b\n1,2\n", encoding="utf-8")
    Path("nothing.csv").write_text("\ufeff\n", encoding="utf-8")
    Path("list.json").write_text("[{}]", encoding="utf-8")
    Path("empty").mkdir()

    assert (
        "broken.jsonl:1: no `transcript` and `judges`"
        in debate("tournament", "import", "broken.jsonl", "--to", "t").err
    )
    assert "nothing.csv is empty." in debate("tournament", "import", "nothing.csv", "--to", "t").err
    assert "list.json:1: not valid JSON (it is not" in debate("tournament", "import", "list.json", "--to", "t").err
    assert "other.csv needs a map of its columns" in debate("tournament", "import", "other.csv", "--to", "t").err
    assert "empty is not a tournament" in debate("tournament", "rate", "empty").err


def test_rows_are_bounded(debate: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file with more rows than can be read, or whose rows take more than a file may have, is refused in a sentence;
    so is one with more votes on a debate, each of which is compared with each other."""
    write_rows(row("d", "x", "y", "pro", judge=f"j{n}") for n in range(201))
    assert "the debate 'd' has more than the 200 votes that are allowed" in refusal(debate)

    import_rows(debate, [row(f"d{n}", "a", "b", "pro") for n in range(3)])
    with monkeypatch.context() as patched:
        patched.setattr(rows, "MAX_FILE_SIZE", 100)
        assert "at most 100 are allowed. Try: import a part of the data" in refusal(debate)
    monkeypatch.setattr(rows, "MAX_ROWS", 2)
    assert "rows.csv has more than 2 rows. Try: import a part of it." in refusal(debate)
    assert "t/rows.jsonl has more than 2 debates or ballots." in debate("tournament", "rate", "t").err


RECORD = {
    "transcript": {"debate_id": "d", "topic": {"id": "t"}, "pro_model_id": "p", "con_model_id": "c", "turns": []},
    "judges": [{"judge_id": "j", "winner": "pro", "pro": {"scores": {"x": 1}}, "con": {"scores": {"x": 2}}}],
}
HOSTILE_ROWS = {
    "infinity": ('"turns": []', '"turns": [{"speaker": "pro", "prompt_tokens": Infinity}]'),
    "costs that are too large together": (
        '"turns": []',
        f'"turns": {json.dumps([{"speaker": "pro", "cost": 1e15}] * 1001)}',
    ),
    "turns that are none": ('"turns": []', '"turns": 5'),
    "a list of scores": ('{"x": 1}', "[1, 2]"),
    "scores too large": ('{"x": 1}', '{"x": 1e308}'),
    "half a character": ('"p"', '"\\ud800"'),
}


@pytest.mark.parametrize("row", HOSTILE_ROWS.values(), ids=HOSTILE_ROWS)
def test_hostile_rows_are_reported_or_left_out(debate: Run, here: Path, row: tuple[str, str]) -> None:
    """Values of another type or size than a row has are reported in a sentence or left out, and end no command."""
    text = json.dumps(RECORD)
    assert row[0] in text
    Path("rows.jsonl").write_text(
        text.replace(*row) + "\n" + text.replace(*row).replace('"d"', '"e"'), encoding="utf-8"
    )
    ran = debate("tournament", "import", "rows.jsonl", "--to", "in")

    assert (ran.code, "not valid JSON" in ran.err) in ((0, False), (2, True)), ran.err
    assert ran.code or debate("tournament", "rate", "in").code in (0, 2)


HEADER = "debate,pro,con,judge,winner"
NOT_READ = [
    (f"{HEADER}\nd1,m,n,j,pro\nd2,m,n,j,7,5,con\n", "rows.csv:3: a row of another number of cells"),
    (f"{HEADER}\nd1,m,n,j\n", "rows.csv:2: a row of another number of cells"),
    (f"{HEADER},winner\nd1,m,n,j,pro,con\n", "rows.csv has the column `winner` more than once"),
    (f"{HEADER},all\nd1,m,n,j,pro,{'x' * 131_073}\n", "leave out the column of such long texts"),
    # A quote that is not closed would take the rows after it into one cell.
    (f'{HEADER}\n1,a,b,z,pro\n2,b,a,"z,con\n3,a,b,z,con\n', "rows.csv:3: not valid CSV (unexpected end of data)"),
]


@for_each(NOT_READ, "text", "problem")
def test_cells_that_belong_to_no_column(debate: Run, here: Path, text: str, problem: str) -> None:
    """Nothing is read from a row whose cells may be another column's: a decimal comma would turn a winner round."""
    Path("rows.csv").write_text(text)
    Path("map.yaml").write_text("{debate: debate, pro: pro, con: con, judge: judge, winner: winner}")
    assert problem in refusal(debate)


def test_names_add_no_lines_to_the_ratings(debate: Run, here: Path) -> None:
    """A model whose name holds a line break has one line of each table."""
    import_rows(debate, [row("d1", "one\n1.  winner", "two", "pro"), row("d2", "two", "one\n1.  winner", "con")])
    ran = debate("tournament", "rate", "t", "--min-games", "1")

    assert ran.code == 0 and "one 1. winner" in ran.out and "\n1.  winner" not in ran.out, ran.out
