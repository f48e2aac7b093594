"""`ballot`: people judge a debate that is over, before they see its verdict."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path

import pytest
from conftest import Run
from persons import CTRL_C
from reviewers import ballot_for, review_form
from test_cli_converse import Person

from debate_orchestrator.reports import ballot_filing, reviewer_ballots
from debate_orchestrator.storage.journal import read
from debate_orchestrator.util import resources
from debate_orchestrator.util.data import read_mapping, to_yaml

J = "debate-report.journal.jsonl"
EXAMPLES = resources.folder("examples")
KEYS = ("no", "undecided", "done", "7 6", "5 5", "a", "a", "a", "It answered the other.", "")


@pytest.fixture
def journal(here: Path) -> Path:
    """A finished real debate of one round in the working directory."""
    shutil.copy(EXAMPLES / "friday-deploys" / J, J)
    return here / J


@pytest.fixture
def person(here: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> Person:
    return Person(monkeypatch, capfd)


def ballot(name: str = "ada", **changes: object) -> str:
    """A file with a ballot on the journal here."""
    entries = read(J).entries
    path = f"{name}-filled.yaml"
    side = str(changes.pop("side", "a"))
    made = ballot_for(review_form(entries), name, side=side) | {"journal": entries[-1].hash} | changes
    Path(path).write_text(to_yaml(made), encoding="utf-8")
    return path


def test_without_a_terminal_nothing_is_asked(debate: Run, journal: Path) -> None:
    """In a script the verb names the flags that go without questions, and leaves nothing behind. A paused debate is
    refused, with what it waits for."""
    ran = debate("ballot", J, "--as", "ada")

    assert ran.code == 2
    assert "asks at a terminal" in ran.err and "--form" in ran.err
    assert not Path("debate-report.ballots").exists()

    lines = journal.read_bytes().splitlines(keepends=True)
    journal.write_bytes(b"".join(lines[:-1]))
    ran = debate("ballot", J, "--form")

    assert ran.code == 2 and "not finished (due: final." in ran.err


def test_from_the_form_to_the_report(debate: Run, journal: Path) -> None:
    """A form is printed, taken, filed beside the journal, which stays as it was, and shown in the report. A second
    ballot of the same name is refused, and told what to do."""
    before = journal.read_bytes()
    form = debate("ballot", J, "--form", "--as", "ada")
    Path("mine.yaml").write_text(form.out, encoding="utf-8")
    empty = debate("ballot", J, "--take", "mine.yaml")
    written = debate("ballot", J, "--as", "ada", "--transcript", "read.md")
    # Its votes are read as a judge's: with capitals, and with the names of the sides.
    taken = debate("ballot", J, "--take", ballot(before="Undecided", final={"winner": "Researcher A."}))
    again = debate("report", J)

    assert form.code == 0 and read_mapping("mine.yaml")["reviewer"] == "ada"
    assert empty.code == 2 and "mine.yaml: rounds, final, why: these are blank." in empty.err
    assert f"Next: `debate ballot {J} --as ada`." in written.out
    assert taken.code == 0 and "`debate report debate-report.journal.jsonl`" in taken.out
    assert again.code == 0
    assert "| “ada” | reviewer | A (A 7, B 5) | A | undecided | A |" in Path("debate-report.md").read_text()
    assert journal.read_bytes() == before

    second = debate("ballot", J, "--take", ballot(side="b"))
    assert second.code == 2 and "a ballot that 'ada' has handed in" in second.err
    assert read_mapping("debate-report.ballots/ada.yaml")["after"] == "a"


@pytest.mark.parametrize("before", ["undecided", "b"])
def test_a_form_ends_no_review_that_has_begun(debate: Run, journal: Path, before: str) -> None:
    """Where a review by the name on a form has begun, by the link or at a terminal, the form is refused and the draft
    stays, whatever the form says."""
    folder = "debate-report.ballots"
    review = reviewer_ballots.new_ballot(read(J).entries[-1].hash, "grace", "2026-02-04") | {"before": "undecided"}
    assert ballot_filing.begin_review(folder, review | {ballot_filing.WAS_READ_KEY: True})
    ran = debate("ballot", J, "--take", ballot("grace", before=before))

    assert ran.code == 2 and "a review by 'grace' has begun, and is not finished" in ran.err
    assert os.listdir(folder) == ["grace.draft.yaml"]
    assert ballot_filing.read_draft(folder, "grace", review["journal"])[ballot_filing.WAS_READ_KEY]


def test_a_review_at_the_terminal_replaces_none_by_the_link(
    debate: Run, journal: Path, monkeypatch: pytest.MonkeyPatch, person: Person
) -> None:
    """A review that begins by the link after the same name was given at a terminal, but before its first answer,
    stays."""
    folder, read_draft = "debate-report.ballots", ballot_filing.read_draft

    def begin_meanwhile(*arguments: str) -> object:
        draft = read_draft(*arguments)
        assert ballot_filing.begin_review(folder, {"reviewer": "grace", "before": "b"})
        return draft

    monkeypatch.setattr(ballot_filing, "read_draft", begin_meanwhile)
    ran, _ = person("ballot", J, "--as", "grace", keys=KEYS)

    assert ran.code == 2 and "a review by 'grace' has begun, and is not finished" in ran.err
    assert read_mapping(f"{folder}/grace.draft.yaml") == {"reviewer": "grace", "before": "b"}


def test_what_is_checked_of_a_form(debate: Run, journal: Path) -> None:
    """What was cast on something else is not taken; where it lies beside the journal, the report says so. The name on
    the form and that of the flag must be the same; a form without one takes the flag's. A winner with fewer points is
    remarked on."""
    path = ballot(journal="f" * 64)
    ran = debate("ballot", J, "--take", path)
    Path("debate-report.ballots").mkdir()
    shutil.copy(path, "debate-report.ballots/ada.yaml")
    debate("report", J)

    assert ran.code == 2 and "a ballot on another journal" in ran.err
    assert "a ballot on another journal" in Path("debate-report.md").read_text()

    assert debate("ballot", J, "--take", ballot(), "--as", "bob").code == 2
    path = ballot("x", reviewer=None)
    assert debate("ballot", J, "--take", path, "--as", "bob").code == 0
    assert Path("debate-report.ballots/bob.yaml").exists()

    filled = read_mapping(ballot("eve"))
    filled["rounds"][1]["winner"] = "b"
    Path("odd.yaml").write_text(to_yaml(filled), encoding="utf-8")
    ran = debate("ballot", J, "--take", "odd.yaml")

    assert ran.code == 0
    assert "Round 1: Your scores favour Researcher A, and you name Researcher B the winner." in ran.err


def test_at_a_terminal(person: Person, journal: Path) -> None:
    """The questions end in a ballot beside the journal, and only then in how to see the verdict. Whose ballot is there
    is told so at once. Ctrl-C keeps a draft, names the command that goes on, and that goes on; the draft is gone in the
    end."""
    ran, shown = person("ballot", J, "--as", "ada", keys=KEYS)

    assert ran.code == 0, ran.err
    assert read_mapping("debate-report.ballots/ada.yaml")["why"] == "It answered the other."
    assert "Now you may see the verdict: `debate report" in " ".join(ran.out.split())
    assert "Now you may see the verdict" not in shown

    ran, shown = person("ballot", J, "--as", "ada", keys=KEYS)
    assert ran.code == 2 and "a ballot that 'ada' has handed in" in ran.err
    assert "which position do you hold" not in shown

    left, _ = person("ballot", J, "--as", "eve", keys=(*KEYS[:5], CTRL_C))
    draft = Path("debate-report.ballots/eve.draft.yaml")
    there = draft.exists()
    ran, shown = person("ballot", J, "--as", "eve", keys=("done", "", "", *KEYS[5:]))

    assert left.code == 130 and there
    assert f"Continue with `debate ballot {J} --as eve`" in left.err
    assert ran.code == 0, ran.err
    assert "goes on where you left it" in shown
    assert sorted(os.listdir("debate-report.ballots")) == ["ada.yaml", "eve.yaml"]


def test_a_name_is_asked_where_none_is_given(person: Person, journal: Path) -> None:
    """Without --as the name is asked for; what can't be a name is refused, in one sentence that names the flag."""
    ran, _ = person("ballot", J, keys=("bob", *KEYS))
    bad, _ = person("ballot", J, "--as", "x" * 200, keys=KEYS)
    none, _ = person("ballot", J, "--as", " ", keys=())

    assert ran.code == 0 and Path("debate-report.ballots/bob.yaml").exists()
    assert bad.code == none.code == 2 and "--as" in bad.err
    assert none.err.count("debate: ") == 1 and "debate: --as: ' ' is not a name on one line" in none.err


def test_every_form_of_report_has_the_reviewers(debate: Run, journal: Path) -> None:
    """The page and the JSON tell of reviewers what the markdown does, and `check` knows all of them as unchanged."""
    debate("ballot", J, "--take", ballot("ada", side="b"))
    debate("report", J)
    debate("report", J, "--to", "debate-report.json")
    page, data = Path("debate-report.html").read_text(), json.loads(Path("debate-report.json").read_text())

    assert '<h2 id="h-reviewers">Reviewers</h2>' in page and '<th scope="row">“ada”</th>' in page
    assert (data["reviewers"]["count"], data["reviewers"]["winners"]) == (1, {"b": 1})
    assert [one["reviewer"] for one in data["reviewers"]["reasons"]] == ["ada"]
    assert debate("check", J).code == 0


@pytest.mark.slow
def test_a_report_from_before_a_ballot_is_made_again(debate: Run, journal: Path) -> None:
    """A ballot that is left after the report was made is reported by `check`, as work left, until it is made again."""
    debate("ballot", J, "--take", ballot("ada"))
    debate("report", J)
    debate("report", J, "--to", "debate-report.json")
    debate("ballot", J, "--take", ballot("bob"))
    ran = debate("check", J)
    debate("report", J)
    debate("report", J, "--to", "debate-report.json")

    assert ran.code == 3 and "does not tell of the reviewers' ballots" in ran.out
    commands = f"`debate report {J}` and `debate report {J} --to debate-report.json`"
    assert f"{commands} make its reports again." in ran.err and "JOURNAL" not in ran.out
    assert debate("check", J).code == 0
    made = Path("debate-report.json").read_text(encoding="utf-8")
    Path("debate-report.json").write_text(made.replace("topic", "topik", 1), encoding="utf-8")
    assert f"Next: `debate report {J} --to debate-report.json` makes its reports again." in debate("check", J).err
