"""Reviewers: the ballot they are asked for, how it is read and kept, which ballots count, and how they stand beside the
judges in the report."""

from __future__ import annotations

import os
import re
from functools import cache
from pathlib import Path
from typing import Any

import page_reading
import pytest
import reading
from corpus import TextGroup, assert_harmless, for_each, text_groups
from debates import script_of
from hostile_texts import AROUND_MARKS, NASTY, texts
from hypothesis import given
from hypothesis import strategies as st
from reviewers import DIGEST, KINDS, adversarial_entries, ballot_for, entries_of, gather_ballots, review_form
from scripted_debates import section
from waiting import ended

from debate_orchestrator.cli.ballot import form_text
from debate_orchestrator.reports import ballot_filing, markdown, reviewer_ballots
from debate_orchestrator.reports.html.page import render
from debate_orchestrator.reports.model import build_report
from debate_orchestrator.reports.reviewer_agreement import ReviewerReport
from debate_orchestrator.reports.reviewer_ballots import MAX_NAME_LENGTH, MAX_REASON_WORDS, review_texts
from debate_orchestrator.util.data import parse_mapping_with_lines, read_mapping, to_yaml
from debate_orchestrator.util.errors import BadFile
from debate_orchestrator.util.sanitize import one_line

MADE = adversarial_entries(rounds=2)
ASKED = review_form(MADE)
values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=6) | st.integers(), inner, max_size=3),
    max_leaves=8,
)


@for_each(KINDS)
def test_every_format_has_a_ballot(name: str) -> None:
    """In every format there is something to judge, there is a question for it, and a ballot that answers it will do."""
    asked, known = review_form(entries_of(name)), set(review_texts().questions)

    assert asked.problems(ballot_for(asked)) == []
    assert asked.final and {f"{field}_final" for field in asked.final} <= known
    assert {field for shape in asked.rounds.values() for field in shape} <= known


def test_it_asks_what_judges_vote_on() -> None:
    """Rounds are asked about as the judges' ballots are, without the fields that are not counted."""
    assert [list(shape) for shape in ASKED.rounds.values()] == [["scores", "winner"], ["scores", "winner"]]
    assert list(ASKED.final) == ["winner"]
    assert list(review_form(entries_of("panel")).final) == ["scores"]
    assert list(review_form(entries_of("claim")).final) == ["label", "score"]


def test_all_complaints_come_at_once() -> None:
    """Everything that is wrong is told together, each with its key, in the words that judges are told."""
    wrong = ballot_for(ASKED, before="c", reviewer="", date="yesterday", extra=1)
    wrong["rounds"][1]["scores"]["a"]["argument_quality"] = 11
    del wrong["rounds"][2]["winner"]
    said = ASKED.problems(wrong, "ada.yaml: ")

    for key in ("reviewer", "date", "before", "'extra'", "rounds.1.scores.a.argument_quality", "rounds.2.winner"):
        assert [one for one in said if one.startswith(f"ada.yaml: {key}:")], key
    assert "ada.yaml: rounds.1.scores.a.argument_quality: 11 is not a number from 1 to 10." in said
    partly = ballot_for(ASKED, why=None, date="soon")
    partly["rounds"][1]["scores"]["a"]["argument_quality"] = partly["rounds"][2]["scores"] = None
    partly["rounds"][1]["scores"]["b"] = dict.fromkeys(partly["rounds"][1]["scores"]["b"])
    assert ASKED.problems(partly)[0] == (
        "why, rounds.1.scores.a.argument_quality, rounds.1.scores.b, rounds.2.scores: these are blank. "
        "Try: fill them in."
    )


@for_each(["no", "None", "neither", "-"])
def test_a_word_is_no_missing_vote(word: str) -> None:
    """A vote before the debate that names no side is asked for again; it is not filed as none."""
    assert [one for one in ASKED.problems(ballot_for(ASKED) | {"before": word}) if one.startswith("before:")]
    assert not ASKED.problems(ballot_for(ASKED) | {"before": "", "after": None})


@for_each(["", "a\nb", "x" * (MAX_NAME_LENGTH + 1), "ada\u202e", "\u200d", "\ufe0f", "\u0958" * 80])
def test_names_are_names(name: str) -> None:
    """A name is one line, not endless, and hides nothing, also once it is normalized."""
    assert [one for one in ASKED.problems(ballot_for(ASKED, name)) if one.startswith("reviewer:")]


@given(st.sampled_from(list(ballot_for(ASKED))), values)
def test_nothing_hostile_breaks_a_check(key: str, value: Any) -> None:
    """Whatever is in a field, there are complaints about it or there is a ballot of it."""
    made = ballot_for(ASKED) | {key: value}

    if not ASKED.problems(made):
        assert ASKED.ballot(made).reviewer


def test_a_ballot_is_filed_and_found(tmp_path: Path) -> None:
    """What is filed counts, by the name of its file; a draft does not."""
    folder = str(tmp_path / "r.ballots")
    paths = [ballot_filing.file_ballot(folder, ballot_for(ASKED, name)) for name in ("zoe", "ada", "Grace Hopper")]
    ballot_filing.save_draft(folder, ballot_for(ASKED, "bob"))
    found = reviewer_ballots.gather_ballots(folder, MADE)

    assert paths[1] == f"{folder}/ada.yaml"
    assert [one.reviewer for one in found.counted] == ["ada", "Grace Hopper", "zoe"]
    assert found.left_out == ()


def test_every_bad_file_is_reported_whole(tmp_path: Path) -> None:
    """What is no YAML, no ballot, no file or unreadable is reported by file; the others count."""
    ballot_filing.file_ballot(str(tmp_path), ballot_for(ASKED, "ada"))
    (tmp_path / "b.yaml").write_text("a: [", encoding="utf-8")
    (tmp_path / "c.yaml").write_text("why: x\nwhy: y\n", encoding="utf-8")
    (tmp_path / "d.yaml").write_bytes(b"\xff\xfe\x00")
    (tmp_path / "e.yaml").mkdir()
    os.mkfifo(tmp_path / "pipe.yaml")
    (tmp_path / "f.yaml").write_text("ballot: 1\n", encoding="utf-8")
    found = ended(lambda: reviewer_ballots.gather_ballots(str(tmp_path), MADE))

    assert [one.reviewer for one in found.counted] == ["ada"]
    assert {one.partition(":")[0] for one in found.left_out} == {
        f"{name}.yaml" for name in ("b", "c", "d", "e", "f", "pipe")
    }
    assert found.left_out[-1] == ("pipe.yaml: can't be read (a pipe or a device, or a file of the system).")
    assert sum(one.startswith("f.yaml:") for one in found.left_out) > 3
    assert not [one for one in found.left_out if str(tmp_path) in one]


def test_a_ballot_is_never_overwritten(tmp_path: Path) -> None:
    """Who has voted can't be made to have voted otherwise; a draft may be, and is gone once the ballot is filed."""
    ballot_filing.save_draft(str(tmp_path), ballot_for(ASKED, "ada"))
    ballot_filing.save_draft(str(tmp_path), ballot_for(ASKED, "ada", side="b"))
    assert ballot_filing.read_draft(str(tmp_path), "ada", DIGEST)["after"] == "b"
    path = Path(ballot_filing.file_ballot(str(tmp_path), ballot_for(ASKED, "ada")))
    before = path.read_bytes()

    with pytest.raises(BadFile, match="a ballot that 'ada' has handed in"):
        ballot_filing.file_ballot(str(tmp_path), ballot_for(ASKED, "ada", side="b"))
    assert path.read_bytes() == before
    assert [one.name for one in tmp_path.iterdir()] == ["ada.yaml"]

    for same_name in map(reviewer_ballots.normalized_name, ("𝗮𝗱𝗮", "aⓓa")):  # as reports write it
        with pytest.raises(BadFile, match="has handed in"):
            ballot_filing.take_ballot(str(tmp_path), ballot_for(ASKED, same_name))
        assert not ballot_filing.begin_draft(str(tmp_path), ballot_for(ASKED, same_name))
    ballot_filing.file_ballot(str(tmp_path), ballot_for(ASKED, reviewer_ballots.normalized_name("𝗲𝘃𝗲")))
    assert reviewer_ballots.is_filed(str(tmp_path), reviewer_ballots.normalized_name("eⓥe"), ASKED, MADE)
    assert ballot_filing.reviewers_begun(str(tmp_path)) == [("ada", True), ("eve", True)]
    brien = ("O'Brien", "O’Brien", 'O"Brien', "O´Brien", "O\u02bc\u0301Brien", "O\u0313\u0301Brien")
    for names in (brien, ("Zoë", "Zoë\ufe0f"), ("Bob ★", "Bob ☆")):
        first, *others = map(reviewer_ballots.normalized_name, names)
        assert ballot_filing.begin_draft(str(tmp_path), ballot_for(ASKED, first))
        for other in others:
            with pytest.raises(BadFile, match="has begun"):
                ballot_filing.take_ballot(str(tmp_path), ballot_for(ASKED, other))
            assert not ballot_filing.begin_draft(str(tmp_path), ballot_for(ASKED, other))
        ballot_filing.file_ballot(str(tmp_path), ballot_for(ASKED, first))
    earlier = tmp_path / "obrien-8ebd51f8.yaml"  # as it was named before its name was compared as reports write it
    earlier.write_text(to_yaml(ballot_for(ASKED, "O’Brien")), encoding="utf-8")
    assert reviewer_ballots.gather_ballots(str(tmp_path), MADE).left_out == ()


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (f"why: {'x' * 64_000}\n", "can't be read (more than 64,000 bytes)."),
        (f"why: [{'a,' * 2_000}]\n", "not valid YAML: it has more than 2,000 values and keys"),
    ],
)
def test_a_ballot_is_small(tmp_path: Path, text: str, problem: str) -> None:
    """A file in a folder of ballots is read within the limits of a ballot, not within those of a whole setup."""
    (tmp_path / "ada.yaml").write_text(text, encoding="utf-8")
    (said,) = reviewer_ballots.gather_ballots(str(tmp_path), MADE).left_out

    assert said.startswith("ada.yaml") and problem in said
    assert not reviewer_ballots.is_filed(str(tmp_path), "ada", ASKED, MADE)
    assert ballot_filing.reviewers_begun(str(tmp_path)) == []


def test_no_ballot_is_filed_that_could_not_be_read(tmp_path: Path) -> None:
    """A ballot that is too large to count is refused while its reviewer can still shorten it."""
    with pytest.raises(BadFile, match="too large; at most 64,000"):
        ballot_filing.file_ballot(str(tmp_path), ballot_for(ASKED, "ada", why="x" * 64_000))
    assert list(tmp_path.iterdir()) == []


def test_a_folder_of_ballots_is_read_up_to_a_size(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """However many ballots there are, only so many bytes of them are read, which is said."""
    for name in ("ada", "bob", "eve"):
        ballot_filing.file_ballot(str(tmp_path), ballot_for(ASKED, name))
    monkeypatch.setattr(reviewer_ballots, "MAX_FOLDER_SIZE", 2 * (tmp_path / "ada.yaml").stat().st_size)
    found = reviewer_ballots.gather_ballots(str(tmp_path), MADE)

    assert [one.reviewer for one in found.counted] == ["ada", "bob"]
    assert found.left_out == (f"{tmp_path.name}: 3 ballots are too many; the first 2 are read.",)
    assert ballot_filing.reviewers_begun(str(tmp_path)) == [("ada", True), ("bob", True)]


@pytest.mark.parametrize("changes", [{"reviewer": "grace"}, {"before": "b"}], ids=["another name", "another vote"])
def test_a_draft_that_is_not_of_the_ballot_stays(tmp_path: Path, changes: dict[str, str]) -> None:
    """Where the draft in a ballot's place is of another reviewer, or of a review with another vote before, neither is
    lost."""
    ballot = ballot_for(ASKED, "ada")
    draft = tmp_path / "ada.draft.yaml"
    draft.write_text(to_yaml(ballot | changes), encoding="utf-8")
    with pytest.raises(BadFile, match="has begun, and is not finished"):
        ballot_filing.file_ballot(str(tmp_path), ballot)

    assert [path.name for path in tmp_path.iterdir()] == [draft.name]
    if "reviewer" in changes:
        with pytest.raises(BadFile, match="a review by 'grace' has begun"):
            ballot_filing.read_draft(str(tmp_path), "ada", DIGEST)


@given(st.sampled_from(NASTY) | texts | st.text() | AROUND_MARKS)
def test_a_name_is_no_path(name: str) -> None:
    """Whatever a reviewer is called, the file lies in the folder, and its name is plain. Who signs with the name of
    another's files gets other files, and so replaces no draft. What is normalized once stays."""
    stem = reviewer_ballots.stem_of(normalized := reviewer_ballots.normalized_name(name))

    assert set(stem) <= set("abcdefghijklmnopqrstuvwxyz0123456789-_")
    assert 0 < len(stem) <= 50
    assert reviewer_ballots.ballot_path("r.ballots", normalized) == f"r.ballots/{stem}.yaml"
    assert (reviewer_ballots.stem_of(reviewer_ballots.NormalizedName(stem)) == stem) == (normalized == stem)
    assert reviewer_ballots.normalized_name(normalized) == normalized


@pytest.mark.parametrize("name", KINDS)
def test_an_empty_form_lacks_its_answers_alone(name: str, tmp_path: Path) -> None:
    """The form of every format is YAML in which everything is there and nothing is answered, as one sentence says."""
    asked = review_form(entries_of(name))
    (tmp_path / "mine.yaml").write_text(form_text(asked, DIGEST, "r.journal.jsonl", "2026-02-04"), encoding="utf-8")
    form = read_mapping(tmp_path / "mine.yaml")
    (said,) = asked.problems(form, "mine.yaml: ")

    blank = ", ".join(["reviewer", *(["rounds"] if asked.rounds else []), "final", "why"])
    assert said == f"mine.yaml: {blank}: these are blank. Try: fill them in."


def test_a_form_filled_in_will_do() -> None:
    """Who writes after each colon has a ballot."""
    asked = review_form(adversarial_entries(rounds=1))
    text = form_text(asked, DIGEST, "r.journal.jsonl", "2026-02-04", "ada")
    for key, said in (
        ("argument_quality", "7"),
        ("use_of_evidence", "6.5"),
        ("winner", "b"),
        ("why", "So."),
        ("after", "b"),
    ):
        text = re.sub(rf"^( *{key}:)", rf"\1 {said}", text, flags=re.MULTILINE)
    value, _ = parse_mapping_with_lines(text, "mine.yaml")

    assert asked.problems(value) == []
    assert asked.ballot(value).final.winner == "b"


SHORT = review_form(adversarial_entries(rounds=1))


@given(st.sampled_from(NASTY) | texts)
def test_hostile_topics_stay_comments(text: str) -> None:
    """Whatever a topic or a position says, the form asks the same."""
    asked = review_form(adversarial_entries(rounds=1, topic=text, positions=(text, text)))
    value, _ = parse_mapping_with_lines(form_text(asked, DIGEST, "r.journal.jsonl", "2026-02-04"), "mine.yaml")

    assert set(value) == set(ballot_for(SHORT))
    assert value["journal"] == DIGEST


def said(*given: dict[str, object], left_out: tuple[str, ...] = ()) -> ReviewerReport:
    found = build_report(MADE, gather_ballots(ASKED, *given, left_out=left_out)).reviewers
    assert found is not None
    return found


def report(*given: dict[str, object], left_out: tuple[str, ...] = ()) -> str:
    return markdown.render(build_report(MADE, gather_ballots(ASKED, *given, left_out=left_out)))


def test_reviewers_stand_beside_the_judges() -> None:
    """Panel, judges and reviewers have a row each, with rounds, winner, and votes before and after; a page too tells
    what they held and why, and which ballots were not counted."""
    text = section(report(ballot_for(ASKED), ballot_for(ASKED, "bob", side="b", before="a")), "Reviewers")

    by_stand_in = adversarial_entries(rounds=2, cast={"a": ("host",), "b": ("host",), "judge": ("rehearse",)})
    alone = build_report(by_stand_in, gather_ballots(review_form(by_stand_in), ballot_for(review_form(by_stand_in))))
    assert alone.reviewers is not None and alone.reviewers.agreeing is None
    assert [row[0] for row in alone.reviewers.table.rows] == ["“ada”"]
    assert "no verdict counts" in alone.reviewers.agreement[0]
    assert r"| The verdict | computed | A (A 7, B 6) | A (A 7, B 6) | A (narrow) | \- | \- |" in text
    assert r"| Judge | judge | A (A 7, B 6) | A (A 7, B 6) | A | \- | \- |" in text
    assert "| “ada” | reviewer | A (A 7, B 5) | A (A 7, B 5) | A | undecided | A |" in text
    assert "| “bob” | reviewer | B (A 5, B 7) | B (A 5, B 7) | B | A | B |" in text
    given = gather_ballots(ASKED, ballot_for(ASKED, why="It answered."), left_out=("x.yaml: no ballot.",))
    page, other = (page_reading.read(render(build_report(MADE, ballots))) for ballots in (given, None))
    told = ("ada", "It answered.", "1 of 1 reviewer agrees with the verdict on A", "x.yaml: no ballot.")
    assert [part for part in told if part not in page.text] == []
    assert [("h2", "Reviewers") in one.outline for one in (page, other)] == [True, False]


def test_a_reviewer_with_the_name_of_another_row() -> None:
    """Names of reviewers are quoted: none of them is a row, or a finding, of the program."""
    names = ("The verdict", "Agreement”: 5 of 5 reviewers agree with the verdict on B")
    text = section(report(*(ballot_for(ASKED, name) for name in names)), "Reviewers")

    assert text.count("| The verdict |") == 1 and "| “The verdict” | reviewer |" in text
    agreement = "- **“Agreement': 5 of 5 reviewers agree with the verdict on B” (A):** "
    assert "- **“The verdict” (A):** " in text and agreement in text


def test_agreement_is_counted() -> None:
    """How many name the panel's winner, or the side that stands after a concession. Page one says so where one of them
    does not."""
    for side in ("a", "b"):
        model = build_report(MADE, gather_ballots(ASKED, ballot_for(ASKED, "bob", side=side)))
        told = (
            markdown.render(model).partition("## Debate Transcript")[0],
            render(model).partition('id="transcript"')[0],
        )
        assert ["0 of 1 reviewer agrees with the verdict on A (B 1)." in page for page in told] == [side == "b"] * 2
    found = said(ballot_for(ASKED), ballot_for(ASKED, "bob", side="b"), ballot_for(ASKED, "eve"))

    assert (found.count, found.agreeing, found.winners) == (3, 2, {"a": 2, "b": 1})
    assert found.agreement[0] == "2 of 3 reviewers agree with the verdict on A (A 2, B 1)."
    made = adversarial_entries(say=script_of(_1_challenge_b="I CONCEDE THE DEBATE."), rounds=2)
    asked = review_form(made)
    given = (ballot_for(asked, side, side=side) for side in ("a", "b"))
    conceded = build_report(made, gather_ballots(asked, *given)).reviewers
    assert conceded is not None and conceded.agreeing == 1
    assert (
        conceded.agreement[0]
        == "1 of 2 reviewers agrees with the verdict on Consensus, on the position of A (A 1, B 1)."
    )


def test_swing_is_the_reviewers_own() -> None:
    """The side that gained more votes is named as the reviewers' winner; the verdict stands as it was."""
    moved = [
        ballot_for(ASKED, name, side="b", before=before)
        for name, before in (("x", "a"), ("y", "b"), ("z", "undecided"))
    ]
    found = said(*moved, ballot_for(ASKED, "silent", before=None))
    text = report(*moved)

    assert (found.moved, found.gained, found.swing_winner) == (2, {"a": -1, "b": 2}, "b")
    assert found.swing_sentences[0] == "2 of 3 reviewers who voted before and after changed position: 2 to B."
    won_over = "Researcher B won over more reviewers (Researcher A -1, Researcher B +2)"
    assert found.swing_sentences[1].startswith(won_over)
    assert section(text, "Final Verdict") == section(markdown.render(build_report(MADE)), "Final Verdict")


def test_ballots_that_do_not_count_are_reported() -> None:
    """A ballot that is left out is named with the reason, also where no other is there."""
    text = section(
        report(left_out=("old.yaml: journal: got a ballot on another journal; expected this.",)), "Reviewers"
    )

    assert "are not counted:**\n\n- old.yaml: journal: got a ballot on another journal" in text
    assert "| Who |" not in text


@for_each(KINDS)
def test_every_format_shows_its_reviewers(name: str) -> None:
    """Whatever judges vote on, reviewers are beside them, and the tables are as wide as their headers."""
    made = entries_of(name)
    asked = review_form(made)
    found = build_report(made, gather_ballots(asked, ballot_for(asked), ballot_for(asked, "bob", side="b"))).reviewers

    assert found is not None and found.count == 2
    assert {len(row) for row in found.table.rows} == {len(found.table.headers)}
    assert found.agreement and found.swing_sentences


@cache
def usual() -> list[tuple[int, str]]:
    """The headings of a report that a harmless reviewer reviewed."""
    return reading.headings(report(ballot_for(ASKED), left_out=("x",)))


def hostile(n: int, name: str, why: str) -> dict[str, object]:
    """The ballot of a reviewer of such a name, if it can be one, for such a reason."""
    made = ballot_for(ASKED, one_line(name)[:80].strip(), side="b")
    if ASKED.problems(made):
        made = ballot_for(ASKED, f"x{n}")
    return made | ({"why": why} if why.strip() and len(why.split()) <= MAX_REASON_WORDS else {})


def must_be_whole(group: TextGroup) -> None:
    """A report of reviewers who are called and say what was given has its headings and tables and no others."""
    reviewers = [
        hostile(n, name, why) for n, (name, why) in enumerate(zip(group.texts, reversed(group.texts), strict=True))
    ]
    made = report(*reviewers, left_out=group.texts)
    part = section(made, "Reviewers")

    assert reading.headings(made) == usual()
    assert reading.forged(part) == []
    assert [len(table[0]) for table in reading.tables(part)] == [7]
    assert all(len(row) == len(table[0]) for table in reading.tables(part) for row in table)


@pytest.mark.slow
@pytest.mark.parametrize("group", text_groups(NASTY))
def test_hostile_reviewers_leave_the_report_whole(group: TextGroup) -> None:
    """Whatever a name, a reason or a file's name holds, the report has its headings and tables and no others."""
    assert_harmless(must_be_whole, group)


def test_the_debate_to_review_tells_no_votes() -> None:
    """Reviewers read every speech, and no score, winner, advice, judge or model."""
    made = build_report(MADE)
    text = markdown.render_for_review(made)

    assert text.startswith(f"{markdown.REVIEW_PREFIX}\n\n**Topic:** Tabs are better than spaces.")
    for turn in ("1.opening.a", "1.challenge.b", "2.rebuttal.b"):
        assert f"in {turn}." in text
    for secret in ("Verdict", "Winner", "score", "Advice meant", "better argued", "host", "[JUDGE", "prevailed"):
        assert secret.lower() not in text.lower().replace("nobody's votes", "")
