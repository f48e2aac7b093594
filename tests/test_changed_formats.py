"""A journal whose format was changed works as before, or is refused in a clear sentence: it takes nothing else down."""

from __future__ import annotations

import io
import json
import os
import random
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import changed_formats
import debates
import journals
import pytest
import small_tournaments
from conftest import Run
from hypothesis import given, settings
from hypothesis import strategies as st
from public_site import visiting_public
from scripted_debates import entries, events, shipped_format
from web_visitor import visiting

from debate_orchestrator.cli import main
from debate_orchestrator.core import fold as core_fold
from debate_orchestrator.core.shape_rules import MARKS
from debate_orchestrator.engine import library
from debate_orchestrator.reports import decision_brief
from debate_orchestrator.reports.decision_brief import MARK_TEXTS
from debate_orchestrator.reports.model import build_report
from debate_orchestrator.storage import journal_lines
from debate_orchestrator.storage.journal import read
from debate_orchestrator.tournament.journal_rows import read_rows
from debate_orchestrator.util.errors import DamagedJournal, DoesNotFit
from debate_orchestrator.web import debate_list

GOOD, CHANGED = "good.journal.jsonl", "changed.journal.jsonl"
SHIPPED = sorted((Path(__file__).parent.parent / "examples").glob("*/*.journal.jsonl"))
VERBS = (
    ("check", CHANGED),
    ("report", CHANGED),
    ("report", CHANGED, "--to", "told.json"),
    ("replay", CHANGED, "--no-pace"),
    ("compare", GOOD, CHANGED),
    ("compare", GOOD, CHANGED, "--to", "told.html"),
)


@contextmanager
def folder_of_debates() -> Iterator[None]:
    """A new working folder with a good journal in it, and the same in a folder of its own."""
    before = Path.cwd()
    with TemporaryDirectory() as made:
        os.chdir(made)
        try:
            journals.write_journal(Path(GOOD), debates.play_events(rounds=1))
            Path("held").mkdir()
            shutil.copy(GOOD, f"held/{GOOD}")
            yield
        finally:
            os.chdir(before)


def ran(*arguments: str) -> tuple[int, str]:
    """The exit code of a command, and all that it said. An error of this program is raised as it is."""
    said = io.StringIO()
    with redirect_stdout(said), redirect_stderr(said), pytest.raises(SystemExit) as ended:
        main(list(arguments))
    return int(ended.value.code or 0), said.getvalue()


def check_verbs_report() -> None:
    """Every verb reports the changed journal or says what is wrong with it, and always reports the good one beside
    it."""
    for verb in VERBS:
        code, said = ran(*verb)
        assert code in (0, 2, 3) and said.strip(), (verb, code, said[-2_000:])
    rows = {row.name: row for row in debate_list.list_debates()}
    assert set(rows) == {"good", "changed"} and not rows["good"].problem
    assert {"good"} <= {hit.name for hit in debate_list.search("what a says")[0]}
    shutil.copy(CHANGED, f"held/{CHANGED}")
    assert GOOD.partition(".")[0] in {debate.id for debate in read_rows("held").debates}


@pytest.mark.slow
@given(seed=st.integers(0, 2**32), name=st.sampled_from(changed_formats.SHIPPED), changes=st.integers(1, 3))
def test_a_debate_by_a_changed_format(seed: int, name: str, changes: int) -> None:
    """Whatever is changed in a shipped format, a debate that is held by it is reported, or refused in a sentence."""
    made = changed_formats.play_format(name, random.Random(seed), changes)
    if made is None:
        return
    with folder_of_debates():
        journals.write_journal(Path(CHANGED), made)
        check_verbs_report()


@pytest.mark.slow
@given(seed=st.integers(0, 2**32), journal=st.sampled_from(SHIPPED))
@settings(max_examples=settings().max_examples // 2)
def test_a_shipped_journal_with_another_format(seed: int, journal: Path) -> None:
    """A finished debate whose format was changed afterwards, with every hash made again, is reported or refused too."""
    with folder_of_debates():
        Path(CHANGED).write_bytes(changed_formats.with_format(journal.read_bytes(), random.Random(seed)))
        check_verbs_report()


def unscored() -> bytes:
    """A journal of a panel that may leave out its scores, and does."""
    lines = [json.loads(line) for line in _panel().splitlines()]
    lines[0]["event"]["format"]["shapes"]["ballot"]["scores"]["optional"] = True
    for line in lines:
        if "scores" in line["event"].get("data", {}):
            line["event"]["data"]["scores"] = None
    return journals.chained([line["event"] for line in lines])


def _panel() -> bytes:
    with TemporaryDirectory() as made:
        return journals.write_journal(Path(made) / GOOD, events("panel"))


def test_a_vote_without_scores_is_refused_by_its_format() -> None:
    """Scores that a format asks for are always given: a journal whose format says otherwise is refused as it is read,
    in the list, in a search, on a page and on the command line."""
    with folder_of_debates():
        Path(CHANGED).write_bytes(unscored())
        check_verbs_report()
        code, said = ran("check", CHANGED)
        assert (code, "can't depend on a condition" in said) == (2, True), said
        with visiting() as visitor:
            assert "can't depend on a condition" in visitor.text("/")
            assert visitor.get("/debates/changed").status_code < 500
            assert visitor.get("/search?q=says").status_code == 200


def test_a_public_site_starts_beside_a_journal_that_can_not_be_reported(here: Path) -> None:
    """A visitor is shown the other debates."""
    Path("changed.public.journal.jsonl").write_bytes(unscored())
    with visiting_public() as visitor:
        assert visitor.get("/").status_code == 200
        assert "until the owner of this site has looked at it" in visitor.get("/d/changed").text


@pytest.mark.slow
def test_an_event_out_of_turn_ends_no_tournament(here: Path, debate: Run, few_draws: None) -> None:
    """A journal with right hashes and an event in the wrong place is a damaged debate of its tournament, by its name;
    the others are run, rated and told."""
    held = small_tournaments.tournament(topics=1)
    small_tournaments.run_tournament(held)
    path = Path(held.journal_path(held.schedule[0].id))
    data = [json.loads(line)["event"] for line in path.read_bytes().splitlines()]
    path.write_bytes(journals.chained([*data[:2], data[-1], *data[2:]]))

    for verb in ("resume", "rate", "report"):
        done = debate("tournament", verb, "held")
        assert path.name in done.out + done.err and "event that does not fit" in done.out + done.err, (verb, done)
        assert done.code != 2 or verb == "resume", (verb, done)
    assert small_tournaments.statuses(small_tournaments.runner(held)) == ["unusable"] + ["complete"] * (
        len(held.schedule) - 1
    )


def test_what_breaks_a_journal_is_kept_as_its_cause(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An error that was not foreseen is reported in a sentence with the journal's name, and is there for a
    traceback."""
    journals.write_journal(Path(GOOD), debates.play_events(rounds=1))

    def broken(*_: Any) -> Any:
        raise KeyError("scores")

    monkeypatch.setattr(decision_brief, "issues_report", broken)
    with pytest.raises(
        DamagedJournal, match=r"good\.journal\.jsonl can't be read: its format .* \(KeyError\)"
    ) as refused:
        build_report(read(GOOD).entries, journal=GOOD)
    assert isinstance(refused.value.__cause__, KeyError)

    monkeypatch.setattr(journal_lines, "fold", broken)
    with pytest.raises(DamagedJournal, match=r"good\.journal\.jsonl can't be read") as folded:
        journal_lines.state_of_events(GOOD, read(GOOD).events)
    assert isinstance(folded.value.__cause__, KeyError)


def test_an_event_out_of_turn_is_its_cause() -> None:
    """The engine rejects it, since it does not fit; a journal that holds it is damaged."""
    first, *rest = debates.play_events(rounds=1)
    with pytest.raises(DoesNotFit):
        core_fold.fold([first, *rest[1:]])
    with pytest.raises(DamagedJournal, match=r"journal can't be read: it has an event that does not fit\..*not due"):
        build_report(entries([first, *rest[1:]]))


def test_what_a_format_may_leave_out_is_not_reported(here: Path) -> None:
    """Convergence of no side by name is that of both, a claim that only one side holds stands alone, and a final ballot
    without a follow-up says so; a consideration may hold more than the report shows."""
    shapes = shipped_format("adversarial").model_dump()["shapes"]
    shapes["ballot"]["convergence"]["fields"]["side"] |= {"only_if": {}, "optional": True}
    shapes["final"]["follow_up"]["optional"] = True
    del shapes["dissent"]["rows"]["fields"]["b"], shapes["dissent"]["rows"]["fields"]["status"]
    why = shapes["brief"]["why"]["fields"]
    why["source"] = why["heading"]
    del why["dissent_row"]
    script = {
        "1.verdict.judge": {"convergence": {"detected": True, "criteria": ["same claim"], "side": None}},
        "final.dissent.judge": {"rows": [{"claim": "It is green.", "a": "A holds it.", "turns": []}]},
    }
    made = events(shipped_format("adversarial", shapes=shapes), script, issues=True, brief=True)
    journals.write_journal(Path(GOOD), made)

    text, page = library.render(Path(GOOD)), library.render(Path(GOOD), "html")
    for shown in (text, page):
        assert "moving: both" in shown and "A holds it." in shown
    assert "B's Position" not in text and "1 disputed claim." in ran("replay", GOOD, "--no-pace")[1]


def test_every_mark_that_a_format_may_have_can_be_reported() -> None:
    """What a reader is told of a mark is beside the marks that a format may have."""
    assert tuple(MARK_TEXTS) == MARKS
