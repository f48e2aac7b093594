"""A stranger's tournament, as a spec or as a folder: what it may not do, and what it does only with consent."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
import small_tournaments
from conftest import Run

from debate_orchestrator.storage import running_elsewhere
from debate_orchestrator.storage.journal import JournalWriter
from debate_orchestrator.tournament.journal_rows import read_rows
from debate_orchestrator.tournament.spec import is_shipped
from debate_orchestrator.web.tournaments import names

pytestmark = pytest.mark.usefixtures("few_draws")


@pytest.fixture
def outside(here: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file outside the working folder."""
    path = tmp_path_factory.mktemp("elsewhere") / "key.csv"
    path.write_text("id,motion,category\nPRIVATE-LINE\n", encoding="utf-8")
    return path


PAIR = [small_tournaments.OPUS, small_tournaments.SONNET]
_REHEARSED: dict[Path, bytes] = {}


@pytest.fixture
def rehearsed(debate: Run, here: Path) -> None:
    """A rehearsed tournament in `out`, which is held once for all that ask."""
    if not _REHEARSED:
        small_tournaments.write_spec(models=PAIR)
        assert debate("tournament", "run", "spec.yaml", "--to", "out", "--rehearse", "--no-reports").code == 0
        _REHEARSED.update({path: path.read_bytes() for path in Path().rglob("*") if path.is_file()})
    for path, data in _REHEARSED.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)


def held_in(folder: str) -> list[str]:
    """The debates that count in a folder."""
    return [row.id for row in read_rows(folder).debates]


@pytest.fixture
def frozen(rehearsed: None, here: Path) -> Path:
    """The `tournament.json` of a rehearsed tournament, with nothing agreed to that is in it."""
    for path in Path("out/debates").iterdir():
        path.unlink()
    return here / "out" / "tournament.json"


def change(path: Path, **changes: Any) -> None:
    """Writes other values into a frozen spec."""
    path.write_text(json.dumps(json.loads(path.read_text()) | changes), encoding="utf-8")


def recast(path: Path, one: str, other: str) -> None:
    """Has two other models debate in a frozen spec."""
    change(path, models=[{"name": "one", "spec": one}, {"name": "other", "spec": other}], pairs=[["one", "other"]])


def test_the_order_of_a_format_is_part_of_it(here: Path) -> None:
    """A spec whose seats are in another order does not go by the shipped format: briefs follow the order."""
    spec = small_tournaments.tournament().spec
    reversed_seats = {"seats": dict(reversed(spec.loaded_format.seats.items()))}
    reordered = spec.model_copy(update={"loaded_format": spec.loaded_format.model_copy(update=reversed_seats)})

    assert is_shipped(spec) and not is_shipped(reordered)


@pytest.mark.slow
def test_a_folder_reads_no_file(debate: Run, frozen: Path, outside: Path) -> None:
    """A frozen spec whose settings name a file is refused, and nothing of that file is put anywhere."""
    change(frozen, settings={"context": [str(outside)]})
    ran = debate("tournament", "resume", "out", "--trust")

    assert ran.code == 2 and "context" in ran.err, ran.err
    assert "PRIVATE-LINE" not in ran.err and not list(Path("out/debates").iterdir())


@pytest.mark.slow
@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("settings", {"output": "../../report.md"}),
        ("tag", "../../tag"),
        ("topics", [{"id": "a b", "motion": "x", "category": "x", "position_a": "y", "position_b": "z"}]),
        ("models", [{"name": "../one", "spec": "rehearse:anthropic:x"}, {"name": "b", "spec": "rehearse:openai:x"}]),
    ],
)
def test_a_folder_is_held_to_what_a_file_is_held_to(debate: Run, frozen: Path, key: str, value: Any) -> None:
    """Whatever a spec in a YAML file can't say, the frozen one can't either."""
    change(frozen, **{key: value})
    ran = debate("tournament", "resume", "out", "--trust")

    assert ran.code == 2 and key in ran.err and "Traceback" not in ran.err, ran.err


@pytest.mark.parametrize("verb", ["plan", "run"])
def test_topics_elsewhere_are_not_read_unasked(debate: Run, here: Path, outside: Path, verb: str) -> None:
    """A file of topics outside the working folder is read after consent, and nothing of it is shown before."""
    small_tournaments.write_spec(topics=str(outside))
    refused, trusted = (debate("tournament", verb, "spec.yaml", "--rehearse", *more) for more in ([], ["--trust"]))

    assert refused.code == 2 and "needs your consent" in refused.err and "PRIVATE-LINE" not in refused.err
    assert "topic 1" in trusted.err


def test_a_cap_is_not_written_unasked(debate: Run, frozen: Path) -> None:
    """A new cap is written into a folder from elsewhere after consent to what is in it."""
    recast(frozen, "command:cat", "rehearse:anthropic:claude-opus-5-5")
    before = frozen.read_bytes()
    ran = debate("tournament", "resume", "out", "--max-cost", "5")

    assert ran.code == 2 and "the program cat" in ran.err, ran.err
    assert frozen.read_bytes() == before


def test_a_price_weakens_no_cap(debate: Run, here: Path) -> None:
    """A spec's price below the known one of a model does not count; what the plan expects is the same without it."""
    plans = []
    for first in (PAIR[0], {"spec": PAIR[0], "price": {"input": 1, "output": 0}}):
        small_tournaments.write_spec(models=[first, PAIR[1]])
        plans.append(debate("tournament", "plan", "spec.yaml", "--json").json["usd"])

    assert plans[0] == plans[1] and plans[0]["expected"] > 0


def contents(where: str | Path) -> dict[str, bytes]:
    """The files of a folder, by their names in it, without that of its lock, which holds nothing."""
    files = (path for path in Path(where).rglob("*") if path.is_file() and path.name != running_elsewhere.LOCK)
    return {str(path.relative_to(where)): path.read_bytes() for path in files}


@pytest.mark.parametrize("to", [[], ["--to", "src"]], ids=["tag", "typed"])
def test_a_new_tournament_demands_a_folder_of_its_own(debate: Run, here: Path, to: list[str]) -> None:
    """A folder with other files, which a spec's tag may name, is refused, and nothing in it is changed."""
    folder, file = Path("src" if to else "src-rehearsed"), "main.c"
    Path(folder, file).parent.mkdir(parents=True)
    Path(folder, file).write_text("mine", encoding="utf-8")
    small_tournaments.write_spec(models=PAIR, tag="src")
    ran = debate("tournament", "run", "spec.yaml", "--rehearse", *to)

    assert (
        ran.code == 2
        and f"{folder} holds no tournament, but other files" in ran.err
        and "name a new or an empty folder" in ran.err
    )
    assert contents(folder) == {file: b"mine"}


def test_what_a_tag_may_not_name(debate: Run, here: Path, outside: Path) -> None:
    """A link with the name of the tag is not followed, although the folder that it leads to is empty. A stranger's spec
    puts no reports where agents look for instructions, unless that folder is named here."""
    empty = outside.parent / "empty"
    empty.mkdir()
    Path("src-rehearsed").symlink_to(empty)
    small_tournaments.write_spec(models=PAIR, tag="src")
    ran = debate("tournament", "run", "spec.yaml", "--rehearse")
    assert ran.code == 2 and "symbolic link" in ran.err and not list(empty.iterdir()), ran.err

    small_tournaments.write_spec(models=PAIR, tag="skills")
    refused, planned = (debate("tournament", verb, "spec.yaml") for verb in ("run", "plan"))
    assert refused.code == 2 and "read as instructions" in refused.err and not Path("skills").exists()
    assert planned.code == 0 and "--to DIR" in planned.err
    assert debate("tournament", "run", "spec.yaml", "--rehearse", "--to=skills").code == 0


@pytest.mark.parametrize("part", ["debates", "csv"])
def test_a_folder_leads_nowhere_else(debate: Run, rehearsed: None, outside: Path, part: str) -> None:
    """A tournament's folder with a link for one of its parts is refused by every verb and not listed in the browser,
    and nothing is written where the link leads."""
    assert names() == ["out"]
    Path("out", part).mkdir(exist_ok=True)
    moved = outside.parent / part
    Path("out", part).rename(moved)
    Path("out", part).symlink_to(moved)
    before = contents(outside.parent)
    verbs = (["run", "spec.yaml", "--rehearse", "--to"], ["resume"], ["rate"], ["report"], ["add"])
    for verb in verbs:
        model = ["rehearse:anthropic:claude-opus-4-1"] if verb == ["add"] else []
        ran = debate("tournament", *verb, "out", *model)
        assert ran.code == 2 and f"out/{part} is a symbolic link" in ran.err, (verb, ran.err)

    assert names() == [] and contents(outside.parent) == before


def test_a_journal_is_no_link(debate: Run, frozen: Path, outside: Path) -> None:
    """A link for a journal is neither read nor written; its debate can't be used, and the others are held."""
    plan = debate("tournament", "plan", "spec.yaml", "--rehearse", "--json").json["schedule"]
    Path(f"out/debates/{plan[0]['id']}.journal.jsonl").symlink_to(outside)
    before = outside.read_bytes()
    ran = debate("tournament", "resume", "out")

    assert ran.code == 4 and f"{plan[0]['id']}.journal.jsonl (a symbolic link)" in ran.err, ran.err
    assert "PRIVATE-LINE" not in ran.err and outside.read_bytes() == before
    assert len(list(Path("out/debates").glob("*.html"))) == len(plan) - 1


def test_a_plan_is_written_over_no_file(debate: Run, here: Path) -> None:
    """A file that holds no schedule stays; an earlier schedule is kept aside."""
    Path("mine.txt").write_text("mine", encoding="utf-8")
    small_tournaments.write_spec(models=PAIR)
    small_tournaments.write_spec("more.yaml", topics=2, models=PAIR)
    refused = debate("tournament", "plan", "spec.yaml", "--to", "mine.txt")
    planned = [debate("tournament", "plan", name, "--to", "plan.json") for name in ("spec.yaml", "more.yaml")]

    assert refused.code == 2 and Path("mine.txt").read_text(encoding="utf-8") == "mine", refused.err
    assert [ran.code for ran in planned] == [0, 0] and "kept as plan.edited.json" in planned[1].err
    lengths = [len(json.loads(Path(name).read_text())) for name in ("plan.edited.json", "plan.json")]
    assert lengths[1] == 2 * lengths[0] > 0


def test_pages_that_journals_cite_are_fetched_with_consent(debate: Run, here: Path) -> None:
    """Journals of a folder from elsewhere may cite any page, so a clerk looks none up unasked; a tournament that was
    begun here goes on unasked."""
    small_tournaments.write_spec(models=PAIR, format="claim")
    debate("tournament", "run", "spec.yaml", "--to", "own", "--rehearse", "--no-reports")
    again = debate("tournament", "resume", "own", "--no-reports")
    shutil.copytree("own", "gift")
    resumed = debate("tournament", "resume", "gift", "--no-reports")
    typed = debate("tournament", "run", "spec.yaml", "--to", "gift", "--rehearse", "--no-reports")

    assert "needs your consent" not in again.err
    for asked in (resumed, typed):
        assert asked.code == 2 and "every address that its journals cite" in asked.err, asked.err


@pytest.mark.slow
def test_a_folder_in_the_place_of_another_is_asked_about(debate: Run, here: Path) -> None:
    """What was agreed to of one tournament is not agreed to of another, which takes its place under the same path; a
    cap that changes makes no other tournament."""
    small_tournaments.write_spec("claims.yaml", models=PAIR, format="claim")
    own = debate("tournament", "run", "claims.yaml", "--to", "out", "--rehearse", "--no-reports")
    again = debate("tournament", "resume", "out", "--no-reports", "--max-cost", "40")
    spec = Path("out/tournament.json")
    gift = small_tournaments.tournament("gift", topics=1, models=PAIR, format="claim", tag="gift")
    for scheduled in gift.schedule:
        JournalWriter.create(gift.journal_path(scheduled.id), gift.make_opened(scheduled)).close()
    shutil.rmtree("out")
    shutil.move("gift", "out")
    ran = debate("tournament", "resume", "out", "--no-reports")

    assert (own.code, again.code) == (0, 0) and spec.exists(), own.err + again.err
    assert ran.code == 2 and "every address that its journals cite" in ran.err, ran.err


def test_a_journal_counts_for_its_own_debate_and_once(debate: Run, rehearsed: None) -> None:
    """Rows leave out what a run refuses, a journal under the name of another debate, and copies of a journal."""
    journals = sorted(Path("out/debates").glob("*.journal.jsonl"))
    before = held_in("out")
    shutil.copy(journals[0], journals[1])
    Path("out/debates/copy").mkdir()
    shutil.copy(journals[0], "out/debates/copy")
    rated, after = debate("tournament", "rate", "out"), held_in("out")
    copies = Path("copies")
    copies.mkdir()
    shutil.copy(journals[0], copies / "one.journal.jsonl")
    shutil.copy(journals[0], copies / "two.journal.jsonl")
    counted = debate("tournament", "rate", "copies")

    assert len(after) == len(before) - 1 and set(after) < set(before)
    assert "is the journal of another debate than the schedule's" in rated.err
    assert (
        len(held_in("copies")) == 1 and "copies/two.journal.jsonl is a copy of copies/one.journal.jsonl." in counted.err
    )


def test_rows_hold_numbers_of_a_size(debate: Run, rehearsed: None) -> None:
    """A number beyond what a table holds and adds up is refused."""
    debate_row = {"kind": "debate", "id": "d", "topic": "t", "pro": "x", "con": "y", "winner": "pro"}
    ballot_row = {"kind": "ballot", "debate": "d", "judge": "j", "winner": "pro", "scores": {"x": [1e308, 0]}}
    lines = [json.dumps(row, separators=(",", ":")) for row in (debate_row, ballot_row)]
    Path("out/rows.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")
    change(Path("out/tournament.json"), imported={"notes": []})
    ran = debate("tournament", "report", "out")

    assert ran.code == 2 and "not a row of a tournament" in ran.err, ran.err


def test_a_rehearsal_and_the_debates_themselves_have_a_folder_each(debate: Run, here: Path) -> None:
    """The folder of a rehearsal is not taken for the debates, and says so; without `--to` each has its own."""
    small_tournaments.write_spec(models=PAIR, tag="src")
    assert debate("tournament", "run", "spec.yaml", "--rehearse", "--no-reports").code == 0
    ran = debate("tournament", "run", "spec.yaml", "--to", "src-rehearsed")
    assert ran.code == 2 and "src-rehearsed holds a rehearsal, and these are real debates." in ran.err
    assert not Path("src").exists()
