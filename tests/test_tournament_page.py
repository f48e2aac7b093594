"""The page of a tournament is one file that loads and runs nothing, whatever models, judges and topics are called; and
names that come from others, on their way into its plots."""

from __future__ import annotations

import base64
import hashlib
import json
import re
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import page_reading
import pytest
from conftest import Run
from hostile_texts import NASTY
from page_reading import Page
from small_tournaments import import_rows, row, write_rows

from debate_orchestrator.tournament.journal_rows import read_rows
from debate_orchestrator.tournament.ratings import rate
from debate_orchestrator.tournament.report import draw, render_page
from debate_orchestrator.tournament.rows import MAX_NAME_LENGTH, BallotRow, DebateRow, Rows
from debate_orchestrator.tournament.tables import all_tables
from debate_orchestrator.util import resources

pytestmark = pytest.mark.usefixtures("few_draws")

LONG = "x" * (MAX_NAME_LENGTH + 1)
MANY = 18
"""Hostile names in one tournament."""


def reported(debate: Run, names: list[str]) -> str:
    """The page of a tournament in which models, judges and topics have these names, each once as pro and as con."""
    numbered = [f"{n:02} {name}" for n, name in enumerate(names)]
    rows = [
        row(
            f"{n} {names[n]}",
            numbered[n],
            numbered[n - 1],
            "pro",
            judge=judge,
            topic=numbered[-n],
            category=numbered[n],
        )
        for n in range(len(names))
        for judge in numbered[:3]
    ]
    import_rows(debate, rows)
    ran = debate("tournament", "report", "t")
    assert ran.code == 0, ran.err
    return Path("t/index.html").read_text(encoding="utf-8")


def shape(page: Page) -> tuple[object, ...]:
    """What no name may change: headings but the first, landmarks, ids, links, elements and their classes."""
    return page.outline, page.landmarks, page.ids, page.links, page.odd, page.classes, page.labels


@pytest.mark.slow
def test_the_page_is_whole_and_loads_nothing(debate: Run) -> None:
    """Its policy permits its own style and pictures within it alone; each plot is in it, with how to read it."""
    text = reported(debate, ["plain"] * 4)

    style = re.search(r"<style>(.*?)</style>", text, re.DOTALL)
    assert style is not None
    digest = base64.b64encode(hashlib.sha256(style[1].encode()).digest()).decode()
    assert f"default-src 'none'; style-src 'sha256-{digest}'; img-src data:" in text
    assert set(re.findall(r'(?:src|href)="(?!#)([^,"]*)', text)) == {"data:image/svg+xml;base64"}
    assert text.count("<img ") == text.count("<figcaption>") == len(list(Path("t/plots").glob("*.svg"))) >= 7
    assert "<script" not in text and " style=" not in text


def test_a_model_without_votes_that_count_is_on_the_leaderboard() -> None:
    """A model all of whose debates were conceded has games and Elo, and neither strength nor rank; it is hidden by its
    games alone. Where there are no votes at all, nothing is ranked."""
    debates = [DebateRow(id=f"d{n}", topic=f"t{n}", pro="a", con="b", winner="pro") for n in range(4)]
    conceded = [DebateRow(id=f"c{n}", topic="t", pro="a", con="w", winner="tie") for n in range(2)]
    votes = [BallotRow(debate=f"d{n}", judge="j", winner="pro") for n in range(4)]

    def board(rows: Rows, minimum: int) -> list[tuple[str, ...]]:
        text = render_page("t", rows, rate(rows), [], [], minimum)
        assert text.count(f"with fewer than {minimum} games not shown") == (minimum > 2)
        return re.findall(r'<tr><td class="figure">(\d*)</td><th scope="row">(\w)', text)

    rows = Rows(debates + conceded, votes)
    assert [sorted(board(rows, minimum)) for minimum in (1, 3)] == [
        [("", "w"), ("1", "a"), ("2", "b")],
        [("1", "a"), ("2", "b")],
    ]
    assert board(Rows(conceded, []), 0) == [("", "a"), ("", "w")]


@pytest.mark.slow
def test_no_name_leaves_its_place(debate: Run) -> None:
    """With hostile names, the page has the outline, ids, links and elements that it has with plain ones, and every plot
    is well-formed and made of shapes and text alone."""
    plain = page_reading.read(reported(debate, ["plain"] * MANY))
    shutil.rmtree("t")

    names = [text[:900] for text in NASTY[:: len(NASTY) // MANY][:MANY]]
    page = page_reading.read(reported(debate, names))

    assert shape(page) == shape(plain)
    drawings = [ElementTree.parse(path).getroot() for path in Path("t/plots").glob("*.svg")]
    assert {part.tag.rpartition("}")[2] for drawing in drawings for part in drawing.iter()} == {
        "svg", "rect", "g", "path", "line", "text",
    }  # fmt: skip


@pytest.mark.slow
def test_only_own_files_are_replaced(debate: Run) -> None:
    """Tables, plots and ratings that were there before or were changed since are moved aside, which a note says. Those
    that this program wrote are replaced, after a report that broke off too, and `SHA256SUMS` lists them as they are."""
    rows = [row(f"d{n}", "a", "b", ("pro", "con")[n % 2], topic=f"t{n}") for n in range(8)]
    import_rows(debate, rows)
    others = ["csv/elo.csv", "plots/elo.svg", "plots/elo.png", "ratings.json", "SHA256SUMS"]
    for name in others:
        Path("t", name).parent.mkdir(exist_ok=True)
        Path("t", name).write_text("mine", encoding="utf-8")
    first = debate("tournament", "report", "t")
    kept = [str(path.relative_to("t")) for path in Path("t").rglob("*.edited*")]

    assert first.code == 0 and len(kept) == len(others) and first.err.count("is kept as") == len(others), first.err
    assert {Path("t", name).read_text(encoding="utf-8") for name in kept} == {"mine"}

    table = Path("t/csv/head_to_head.csv")
    table.write_text(table.read_text(encoding="utf-8") + "my line", encoding="utf-8")
    text = Path("t/rows.jsonl").read_text(encoding="utf-8")
    changed = re.sub(r'("winner": ?)"con"', r'\1"pro"', text)
    Path("t/rows.jsonl").write_text(changed, encoding="utf-8")
    before = Path("t/csv/elo.csv").read_bytes()
    with Path("t/SHA256SUMS").open("a") as sums:
        sums.write("# my words\n")
    second = debate("tournament", "report", "t")

    assert second.code == 0 and "head_to_head.edited.csv" in second.err and second.err.count("is kept as") == 2
    assert Path("t/SHA256SUMS.edited-2").read_text().endswith("# my words\n")
    assert Path("t/csv/elo.csv").read_bytes() != before
    Path("t/rows.jsonl").write_text(text, encoding="utf-8")
    Path("t/csv/declined_turns.csv").unlink()
    Path("t/csv/declined_turns.csv").mkdir()
    assert debate("tournament", "report", "t").code == 2 and Path("t/csv/elo.csv").read_bytes() == before
    Path("t/csv/declined_turns.csv").rmdir()
    Path("t/rows.jsonl").write_text(changed, encoding="utf-8")
    third = debate("tournament", "report", "t")
    assert third.code == 0 and "is kept as" not in third.err, third.err
    head, *lines = Path("t/SHA256SUMS").read_text().splitlines()
    listed = dict(line.split("  ")[::-1] for line in lines)
    assert head.startswith("# ")
    assert {"index.html", "ratings.json", "csv/elo.csv"} <= set(listed)
    for name, digest in listed.items():
        assert hashlib.sha256(Path("t", name).read_bytes()).hexdigest() == digest


@pytest.mark.slow
def test_models_that_no_vote_tells_apart(debate: Run) -> None:
    """Strengths that differ by rounding errors alone look equal: on the axis of their plot, and in figures."""
    pairs = [(pro, con) for pro in "mno" for con in "mno" if pro != con]
    import_rows(
        debate,
        [row(f"{t}{a}{b}", a, b, "con", topic=f"t{t}", judge=j) for t in range(4) for a, b in pairs for j in "jk"],
    )
    assert debate("tournament", "report", "t").code == 0

    page, plot = (Path("t", name).read_text(encoding="utf-8") for name in ("index.html", "plots/strengths.svg"))
    assert ">0.5</text>" in plot and "-0.00" not in page


def test_no_word_is_told_of_what_a_link_leads_to(
    debate: Run, here: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """A journal that is a link is left out, which is reported; a stranger's folder may have one to any file."""
    example, outside = resources.folder("examples") / "friday-deploys", tmp_path_factory.mktemp("elsewhere")
    shutil.copytree(example, "t")
    shutil.copy(example / "debate-report.journal.jsonl", outside / "journal")
    (outside / "key").write_text("PRIVATE-LINE\n", encoding="utf-8")
    for name in ("journal", "key"):
        Path(f"t/{name}.journal.jsonl").symlink_to(outside / name)
    printed = debate("tournament", "report", "t").err

    assert len(read_rows("t").debates) == 1 and "PRIVATE-LINE" not in printed
    assert all(f"{name}.journal.jsonl (a symbolic link)" in printed for name in ("journal", "key")), printed


LEADING = ("", 'name="a" ', 'name="a" content="b>" ')


def test_a_page_of_a_debate_that_was_not_written_here(here: Path) -> None:
    """A debate is linked to its page alone: not to one that was changed, nor along a link."""
    shutil.copytree(resources.folder("examples") / "friday-deploys", "t")
    page = Path("t/debate-report.html")
    assert [debate.html_report for debate in read_rows("t").debates] == ["debate-report.html"]
    whole = page.read_text(encoding="utf-8")
    page.rename("elsewhere.html")
    page.symlink_to(here / "elsewhere.html")
    assert [debate.html_report for debate in read_rows("t").debates] == [""]
    page.unlink()
    page.write_text(whole.replace("<h1", "<h1>Forged</h1><h1", 1), encoding="utf-8")
    assert [debate.html_report for debate in read_rows("t").debates] == [""]
    # a new checksum makes a changed page whole, but not one in which a script would run, or that leads elsewhere
    scripted = re.sub(r"<meta http-equiv[^>]+>", "<script>alert(1)</script>", whole, count=1)
    refresh = "http-equiv='refresh' content='0;url=//x'>"
    leading = [whole.replace("<title", f"<Meta {before}{refresh}<title") for before in LEADING]
    forged = whole.replace("<h1", "<h1>Forged</h1><h1", 1)
    for text, linked in ((forged, "debate-report.html"), *((text, "") for text in (scripted, *leading))):
        start = text.rindex("This report: sha256:") + len("This report: sha256:")
        digest = hashlib.sha256(f"{text[:start]}{'0' * 64}{text[start + 64 :]}".encode()).hexdigest()
        page.write_text(f"{text[:start]}{digest}{text[start + 64 :]}", encoding="utf-8")
        assert [debate.html_report for debate in read_rows("t").debates] == [linked]


def debates(bad: str = "") -> list[dict[str, Any]]:
    """Rows of debates whose models, judges and topics have `bad` in their names."""
    return [
        row(f"d{n}", f"a{bad}", f"b{bad}", ("pro", "con")[n % 2], judge=f"j{bad}", topic=f"t{bad}{n % 3}")
        for n in range(6)
    ]


def strings(value: Any) -> Iterator[str]:
    """Every string in a spec of a plot."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list):
        for inner in [*value, *value.values()] if isinstance(value, dict) else value:
            yield from strings(inner)


@pytest.mark.slow
@pytest.mark.parametrize("bad", ["\ufffe", "\U0010ffff"])
def test_noncharacters_in_names_are_drawn(debate: Run, bad: str) -> None:
    """The library that draws ends the process at a character that XML forbids, so none reaches it."""
    import_rows(debate, debates(bad))
    ran = debate("tournament", "report", "t")

    assert ran.code == 0, ran.err
    drawn = Path("t/plots/topics.svg").read_text(encoding="utf-8")
    assert bad not in drawn and "t\ufffd0" in drawn
    ElementTree.fromstring(drawn)


@pytest.mark.slow
def test_names_that_javascript_has_too_are_drawn(debate: Run) -> None:
    """Models, judges and topics may be called like what every object of JavaScript has."""
    names = ("constructor", "toString", "__proto__", "valueOf")
    votes = [row(f"{a}{b}", a, b, "pro", judge=a, topic=b) for a in names for b in names if a != b]
    import_rows(debate, votes)
    ran = debate("tournament", "report", "t")
    assert ran.code == 0 and "could not be drawn" not in ran.err, ran.err
    assert "“constructor”" in Path("t/plots/elo.svg").read_text(encoding="utf-8")


def test_plots_measure_no_long_text(monkeypatch: pytest.MonkeyPatch) -> None:
    """A name that is too long is cut before it is drawn, and two that begin alike stay two."""
    names = [f"{LONG[:900]}{end}" for end in "ab"]
    found = [DebateRow(id=f"d{n}", topic=names[n % 2], pro=names[0], con=names[1], winner="pro") for n in range(4)]
    ballots = [BallotRow(debate=one.id, judge=judge, winner="pro") for one in found for judge in names]
    rows = Rows(found, ballots)
    ratings, asked = rate(rows), list[dict[str, Any]]()
    monkeypatch.setattr("vl_convert.vegalite_to_svg", lambda spec: asked.append(spec) or "<svg/>")
    monkeypatch.setattr("vl_convert.svg_to_png", lambda svg, scale: b"")
    draw(all_tables(rows, ratings), names)

    assert len(asked) > 5 and max(map(len, strings(asked))) < 250
    head_to_head = next(one for one in asked if "model_a" in json.dumps(one["data"]))
    assert head_to_head["data"]["values"][0]["model_a"] != head_to_head["data"]["values"][0]["model_b"]


@pytest.mark.parametrize("name", ["pro", "topic"])
def test_names_that_are_too_long_are_not_imported(debate: Run, name: str) -> None:
    """One name of a row may not be so long that what is made of it takes minutes; the longest allowed is read."""
    write_rows([row("d1", "a", "b", "pro"), {**row("d2", "a", "b", "con"), name: LONG}])
    ran = debate("tournament", "import", "rows.csv", "--map", "map.yaml", "--to", "t")

    assert ran.code == 2 and f"at most {MAX_NAME_LENGTH:,} characters" in ran.err, ran.err
    assert not Path("t").exists()
    import_rows(debate, [row("d1", "a", "b", "pro"), {**row("d2", "a", "b", "con"), name: LONG[1:]}])


@pytest.mark.slow
def test_tables_and_the_page_are_written_where_a_plot_fails(debate: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """A plot that can't be drawn is reported, and all else is written, without intervals that one debate has not."""
    import_rows(debate, [row("d1", "a", "b", "pro")])

    def fail(_: object) -> str:
        raise ValueError("no")

    monkeypatch.setattr("vl_convert.vegalite_to_svg", fail)
    ran = debate("tournament", "report", "t")

    assert ran.code == 0 and "The plot strengths could not be drawn" in ran.err, ran.err
    assert Path("t/csv/elo.csv").exists() and b"Fitted to 1 vote of 1 judge.</p>" in Path("t/index.html").read_bytes()


def test_a_wrong_path_is_reported_before_what_is_not_installed(
    debate: Run, here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A folder that is no tournament is named also where the libraries that draw are not installed."""
    monkeypatch.setitem(sys.modules, "vl_convert", None)
    ran = debate("tournament", "report", "nowhere")

    assert ran.code == 2
    assert "nowhere" in ran.err and "installed" not in ran.err
