"""A key that is in any place of a journal, of imported rows, or of a tournament is in nothing that is made of them: no
file, no page, no line that is printed; nor if it was not known where they were written."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

import pytest
import small_tournaments
from conftest import STATED, CommandResult, Run
from debates import play_events
from journals import write_journal
from small_tournaments import row, write_rows
from web_visitor import visiting

from debate_orchestrator.reports import ballot_filing
from debate_orchestrator.storage.files import redacted_bytes, write_atomic, write_new
from debate_orchestrator.tournament.spec_file import parse_spec
from debate_orchestrator.util import redact
from debate_orchestrator.util.data import read_mapping
from debate_orchestrator.util.errors import BadFile, BadSettings
from debate_orchestrator.util.redact import Redactor

pytestmark = pytest.mark.usefixtures("few_draws", "no_models")

KEY = "skzz9-4f5e6d7c8b9a0q"


def holds_key(text: str) -> bool:
    return Redactor([KEY])(text) != text


def files() -> dict[Path, str]:
    """The text of every file."""
    paths = [path for path in Path().rglob("*") if path.is_file()]
    return {path: path.read_bytes().decode("utf-8", "replace") for path in paths}


def keyed_rows() -> None:
    """Rows in which every name has the key; the winner of one can't be read, which a note tells."""
    names = [f"{n} {KEY}" for n in range(3)]
    rows = [
        row(f"d{n} {KEY}", names[n], names[n - 1], "pro", judge=f"{judge} {KEY}", topic=f"t{n} {KEY}", category=KEY)
        for n in range(3)
        for judge in range(2)
    ]
    write_rows([*rows, row("d9", *names[:2], "", judge=KEY)])


def run_all(debate: Run) -> list[CommandResult]:
    """The verbs that make something of journals and rows."""
    journals = ("r1.rehearsed.journal.jsonl", "r2.rehearsed.journal.jsonl")
    ran = [debate("compare", *journals, *flags) for flags in ((), ("--json",), ("--to=c.md",), ("--to=c.html",))]
    ran += [debate("report", journals[0], *flags) for flags in ((), ("--json",), ("--to=j.json",))]
    ran += [debate(verb, journals[0], *flags) for verb in ("check", "replay") for flags in ((), ("--json",))]
    ran += [debate("tournament", "import", "rows.csv", "--map=map.yaml", "--to=new", "--json")]
    for name in ("old", "new"):
        ran += [debate("tournament", verb, name, *flags) for verb in ("rate", "report") for flags in ((), ("--json",))]
    ran += [debate("probe", f"--judge=anthropic:{KEY}"), debate("ballot", journals[0], "--form")]
    ran += [debate("ballot", journals[0], "--transcript", "read.md")]
    ran += [debate("answers", "--from", journals[0])]
    return ran


@pytest.mark.slow
def test_a_key_in_any_place_is_in_nothing_that_is_made(debate: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """Journals and an imported tournament that were written where it was not a key are reported, compared, rated,
    imported again and served."""
    for name in ("r1", "r2"):
        cast = [f"--{seat}=anthropic:{KEY}" for seat in ("a", "b", "judge")]
        assert (
            debate(
                "run", *STATED, f"--topic=Is {KEY} safe?", "--rounds=1", "--rehearse", *cast, f"--output={name}.md"
            ).code
            == 0
        )
    speech = f"It is {KEY} indeed."
    said = play_events(lambda turn: speech if turn["seat"] in "ab" else None, rounds=1)
    write_journal(Path("said.journal.jsonl"), said)
    keyed_rows()
    assert debate("tournament", "import", "rows.csv", "--map=map.yaml", "--to=old").code == 0
    spec = Path("old/tournament.json")
    spec.write_text(spec.read_text().replace('"notes": [', f'"notes": ["A note on {KEY}.", '), encoding="utf-8")
    before = files()
    assert sum(map(holds_key, before.values())) >= 6

    monkeypatch.setenv("DEBATE_KEY_X", KEY)
    ran = run_all(debate)
    with visiting() as visitor:
        addresses = [
            "/", "/compare?debate=r1.rehearsed&debate=r2.rehearsed", f"/search?q={KEY[-6:]}", "/search?q=indeed",
            "/tournaments", "/tournaments/old", "/tournaments/old/report", f"/tournaments/old?model=1+{KEY}",
            "/debates/r1.rehearsed", "/debates/r1.rehearsed/report",
        ]  # fmt: skip
        answers = {address: visitor.get(address) for address in addresses}

    assert "<mark>" not in answers[f"/search?q={KEY[-6:]}"].text and "<mark>" in answers["/search?q=indeed"].text
    assert [one for one in ran if holds_key(one.out + one.err)] == []
    assert [address for address, answer in answers.items() if holds_key(f"{answer.headers}{answer.text}")] == []
    written = {path: text for path, text in files().items() if text != before.get(path)}
    assert [path for path, text in written.items() if holds_key(f"{path} {text}")] == []


def test_files_stay_what_they_are(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """JSON and YAML without the key that stood in them can be read; a text that is written again is the same file."""
    monkeypatch.setenv("DEBATE_KEY_X", KEY)
    write_new("a.json", f'{{"a": "{KEY}"}}\n')
    write_new("a.yaml", f"# By {KEY}.\n\ntopic: {KEY}\nrounds: 2\n{KEY}: yes\n")
    write_new("a.jsonl", f'{{"a": "{KEY}"}}\n{{"b": 2}}\n')

    assert Path("a.json").read_text(encoding="utf-8") == '{"a": "[key]"}\n'
    assert Path("a.jsonl").read_text(encoding="utf-8") == '{"a": "[key]"}\n{"b": 2}\n'
    assert Path("a.yaml").read_text(encoding="utf-8").startswith("# By [key].\n")
    assert read_mapping("a.yaml") == {"topic": "[key]", "rounds": 2, "[key]": "yes"}
    ours = redacted_bytes("a.txt", KEY)
    assert write_atomic("a.txt", KEY) is None
    assert write_atomic("a.txt", f"other {KEY}", is_ours=ours.__eq__) is None


def test_a_draft_is_kept_as_typed(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A visitor's draft does not tell which guess is a key; the ballot that is filed has none, nor has its name."""
    monkeypatch.setenv("DEBATE_KEY_X", KEY)
    value = {"reviewer": f"Ann {KEY}", "reason": KEY}

    assert ballot_filing.begin_review("r.ballots", value)
    draft = Path(ballot_filing.save_draft("r.ballots", value))
    assert read_mapping(str(draft)) == value
    ballot = ballot_filing.file_ballot("r.ballots", value)
    assert read_mapping(ballot) == {"reviewer": "Ann [key]", "reason": "[key]"}
    assert [path.name for path in Path("r.ballots").iterdir()] == [Path(ballot).name] and not holds_key(ballot)

    for there, state in enumerate(("/proc/none", here / "damaged")):  # a name with a key is refused, if all are
        monkeypatch.setenv("XDG_STATE_HOME", str(state))
        if there:
            (state / "debate-orchestrator").mkdir(parents=True)
            (state / "debate-orchestrator" / "reply.key").write_bytes(b"x")
        begun = list[bool | None]()
        for name in ("Bob", f"Bob {KEY}"):
            with suppress(BadFile):
                begun.append(ballot_filing.begin_review("r.ballots", value | {"reviewer": f"{name} {there}"}))
        assert begun == ([] if there else [True, True])


def test_a_spec_with_a_key_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """It would be written into a tournament's folder without the key, and no debate would then be the schedule's."""
    monkeypatch.setenv("DEBATE_KEY_X", KEY)
    topics = [{"id": f"t-{KEY}", "motion": f"Motion {KEY} holds.", "category": "c"}]
    models = [{"name": KEY, "spec": small_tournaments.OPUS}, small_tournaments.SONNET]

    with pytest.raises(BadSettings) as caught:
        parse_spec({**small_tournaments.spec_data(), "topics": topics, "models": models})
    assert [problem.partition(": ")[0] for problem in caught.value.problems] == [
        "models[0].name",
        *(f"topics[0].{key}" for key in ("id", "motion", "position_a", "position_b")),
        "pairs[0][0]",
    ]
    assert not holds_key(str(caught.value)) and "unset the variable" in str(caught.value)


def test_a_journal_belongs_to_its_debate_without_a_secret(here: Path) -> None:
    """A secret that is learned while debates are held is in no journal; a debate stays the one of the schedule."""
    held = small_tournaments.tournament()
    scheduled = held.schedule[0]
    redact.add_secret("Motion 0 holds.")

    opened = held.make_opened(scheduled).with_text(redact.redact)
    assert "[key]" in opened.settings.topic
    held.must_belong(scheduled, [opened])
