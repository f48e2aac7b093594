"""A reviewer in the browser: the vote before reading, the debate without votes, the ballot, and then the report."""

from __future__ import annotations

import html
import re
import shutil
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from web_visitor import TOKENS, Visitor, plain, visiting

from debate_orchestrator import read_journal
from debate_orchestrator.core.events import StructuredReplyGiven
from debate_orchestrator.core.fold import fold
from debate_orchestrator.providers import discovery
from debate_orchestrator.reports import ballot_filing
from debate_orchestrator.reports.reviewer_ballots import gather_ballots
from debate_orchestrator.util import resources
from debate_orchestrator.util.errors import BadFile
from debate_orchestrator.web.guard import LinkedDebate

JOURNAL = "debate-report.journal.jsonl"
ANSWERS = {
    "field/rounds/1/scores/a": "7 6",
    "field/rounds/1/scores/b": "5 5",
    "field/rounds/1/winner": "a",
    "field/final/winner": "a",
    "field/why": "It answered the other.",
    "field/after": "a",
}


@pytest.fixture
def reviewer(here: Path) -> Iterator[Visitor]:
    """A visitor who has a link to review a finished debate of one round, and no other."""
    shutil.copy(resources.folder("examples") / "friday-deploys" / JOURNAL, JOURNAL)
    with visiting(enter=False) as visitor:
        yield visitor


@pytest.fixture
def link(reviewer: Visitor) -> str:
    token = TOKENS.review(LinkedDebate("debate-report", read_journal(JOURNAL).entries[0].hash))
    return f"/review/debate-report/{token}"


def send(reviewer: Visitor, link: str, fields: dict[str, str]) -> Any:
    return reviewer.send(link, fields, token=link.partition("?")[0].rpartition("/")[2])


def begun(reviewer: Visitor, link: str, name: str = "ada", before: str = "undecided") -> str:
    """The address of the ballot after the vote before reading."""
    answer = send(reviewer, link, {"action": "begin", "reviewer": name, "seen": "no", "before": before})
    assert answer.status_code == 303, plain(answer.text)
    return str(answer.headers["location"])


def test_a_ballot_from_the_link_to_the_report(reviewer: Visitor, link: str) -> None:
    """Before the vote only topic and positions are shown; before the ballot is filed no ballot, winner or report. The
    ballot is the one that `debate ballot` files, and the report that follows shows it."""
    debate = fold(read_journal(JOURNAL).events)
    votes = [answer.data for answer in debate.replies.values() if isinstance(answer, StructuredReplyGiven)]
    reasons = [str(vote["justification"])[:50] for vote in votes if "justification" in vote]
    assert reasons and debate.replies["1.opening.a"].reply.text[:60] not in reviewer.text(link)

    page = begun(reviewer, link)
    shown = reviewer.text(page)
    assert "Opening" in shown and not [words for words in reasons if words in shown]
    assert reviewer.get(page.replace("?", "/report?")).status_code == 404

    sent = [send(reviewer, page, {"action": "file", **ANSWERS}) for _ in range(2)]
    assert [answer.status_code for answer in sent] == [303, 303], "a form that is sent twice is filed once"
    assert "You have handed in your ballot" in reviewer.text(page)
    (ballot,) = gather_ballots("debate-report.ballots", read_journal(JOURNAL).entries).counted
    assert (ballot.reviewer, ballot.before, ballot.after, ballot.seen) == ("ada", "undecided", "a", False)
    assert ballot.final.winner == "a" and not Path("debate-report.ballots/ada.draft.yaml").exists()
    report = re.search(r'class="primary" href="([^"]+)"', reviewer.get(page).text)
    assert report is not None and "ada" in reviewer.text(html.unescape(report[1]))


def test_what_was_handed_in_stands(reviewer: Visitor, link: str) -> None:
    """The vote before can't be cast again once the debate was shown, and no ballot is taken without it. Missing and
    impossible answers of a ballot are reported at their fields, what was typed stays, and nothing is filed; one that
    was filed is not replaced."""
    unread = send(reviewer, link, {"action": "file", **ANSWERS})
    assert unread.status_code == 422 and "Begin with the vote" in unread.text
    page, again = begun(reviewer, link, before="a"), {"action": "begin", "reviewer": "ada", "seen": "no", "before": "b"}
    for address in (link, page):
        refused = send(reviewer, address, again)
        assert refused.status_code == 422 and "There is a review by ada already" in plain(refused.text)
        assert re.search(r'name="before" value="b"[^>]* checked', refused.text), "what was chosen stays"

    wrong = {"field/rounds/1/scores/a": ("11 6",), "field/final/winner": ("",), "field/why": ("w " * 81, " ")}
    for changed in ({field: text} for field, texts in wrong.items() for text in texts):
        answer = send(reviewer, page, {"action": "file", **ANSWERS, **changed})
        assert answer.status_code == 422 and 'class="problem"' in answer.text
        assert "It answered the other." in answer.text or "field/why" in changed
        assert "An answer is needed here." in answer.text or all(text.strip() for text in changed.values())
    assert not Path("debate-report.ballots/ada.yaml").exists()
    assert send(reviewer, page, {"action": "file", **ANSWERS}).status_code == 303
    refused = send(reviewer, link, again)
    assert refused.status_code == 422 and "sign with another name" in plain(refused.text)
    (ballot,) = gather_ballots("debate-report.ballots", read_journal(JOURNAL).entries).counted
    assert ballot.before == "a"


def test_what_will_not_do_is_said(reviewer: Visitor, link: str) -> None:
    """A vote before that can't be taken keeps nothing."""
    good = {"action": "begin", "reviewer": "ada", "seen": "no", "before": "a"}
    for fields, message in (
        ({"reviewer": ""}, "reviewer:"),
        ({"reviewer": "x" * 100}, "not a name on one line"),
        ({"seen": "maybe"}, "whether you have seen the verdict"),
        ({"before": ""}, "which position you hold"),
        ({"before": "c"}, "before:"),
    ):
        answer = send(reviewer, link, {**good, **fields})
        assert answer.status_code == 422 and message in plain(answer.text), fields
    assert not Path("debate-report.ballots").exists()


def test_a_form_that_comes_back_tells_no_guess_from_another(
    reviewer: Visitor, link: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What was typed is shown as it was, in its field and in what is said about it, be it a key or not."""
    monkeypatch.setenv("DB_PASSWORD", "hunter2hunter")
    begin = {"action": "begin", "reviewer": "ada", "seen": "no", "before": "a"}

    def page(address: str, fields: dict[str, str], guess: str) -> str:
        answer = send(reviewer, address, {name: text.format(guess) for name, text in fields.items()})
        assert answer.status_code == 422 and guess in answer.text, fields
        return re.sub(r'name="submission_id" value="\w{32}"', "", answer.text.replace(guess, ""))

    def must_be_alike(address: str, fields: dict[str, str]) -> None:
        assert page(address, fields, "hunter2hunter") == page(address, fields, "correct-horse"), fields

    must_be_alike(link, {**begin, "before": "{}"})
    must_be_alike(link, {**begin, "reviewer": "{}" + " x" * 40})
    own = begun(reviewer, link)
    must_be_alike(own, {"action": "file", **ANSWERS, "field/why": "{}" + " w" * 81})
    must_be_alike(own, {"action": "file", **ANSWERS, "field/final/winner": "{}" + " w" * 81})
    must_be_alike(own, {"action": "file", **ANSWERS, "field/why": "{}" + "w" * 64_000})

    filed = begun(reviewer, link, "[key]")
    assert send(reviewer, filed, {"action": "file", **ANSWERS}).headers["location"] == filed
    with monkeypatch.context() as full:
        full.setattr(ballot_filing, "MAX_BY_LINK", 2)
        must_be_alike(link, {**begin, "reviewer": "{}"})
    begun(reviewer, link, "[key]!")

    named = begun(reviewer, link, "hunter2hunter")
    assert "Your ballot, hunter2hunter" in reviewer.text(named) and "[key]" not in reviewer.get(named).text
    for _ in range(2):
        assert send(reviewer, named, {"action": "file", **ANSWERS}).headers["location"] == named
        assert "You have handed in your ballot, hunter2hunter" in reviewer.text(named)
    again = send(reviewer, link, {**begin, "reviewer": "hunter2hunter"})
    assert again.status_code == 422 and "There is a review by hunter2hunter already" in again.text
    other = begun(reviewer, link, "hunter2hunter!")
    assert send(reviewer, other, {"action": "file", **ANSWERS}).headers["location"] == other
    ballots = gather_ballots("debate-report.ballots", read_journal(JOURNAL).entries)
    assert (sorted(ballot.reviewer for ballot in ballots.counted), ballots.left_out) == (["[key]"] * 2 + ["[key]!"], ())
    assert dict(ballot_filing.reviewers_begun("debate-report.ballots")) == {"ada": False, "[key]": True, "[key]!": True}
    assert not [path for path in Path("debate-report.ballots").iterdir() if "hunter" in path.name]


def test_forms_that_are_sent_twice(reviewer: Visitor, link: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Who sends the form of the vote before twice gets to the same review both times, and to the ballot that was filed
    if both forms of a ballot come at the same time. The same form with another answer begins no second review."""
    (submission_id,) = re.findall(r'name="submission_id" value="(\w{32})"', reviewer.get(link).text)
    begin = {"action": "begin", "reviewer": "ada", "seen": "no", "before": "a", "submission_id": submission_id}
    with ThreadPoolExecutor(4) as clicks:
        pages = {click.headers.get("location") for click in clicks.map(lambda _: send(reviewer, link, begin), range(4))}
    (page,) = pages
    assert "Your ballot, ada" in reviewer.text(page)
    assert send(reviewer, link, {**begin, "before": "b"}).status_code == 422
    file_ballot = ballot_filing.file_ballot

    def file_twice(folder: str, ballot: dict[str, Any]) -> str:
        file_ballot(folder, ballot)
        return file_ballot(folder, ballot)

    monkeypatch.setattr(ballot_filing, "file_ballot", file_twice)
    assert send(reviewer, page, {"action": "file", **ANSWERS}).headers["location"] == page
    with ThreadPoolExecutor(4) as clicks:
        answers = clicks.map(lambda _: send(reviewer, page, {"action": "file", **ANSWERS}), range(4))
        assert {answer.headers.get("location") for answer in answers} == {page}


def test_a_name_opens_no_review(reviewer: Visitor, link: str) -> None:
    """A reviewer can neither see nor change the review of another whose name is known, before and after the ballot is
    handed in, nor reach the report with it: that takes the key that the other got."""
    ada, bob = begun(reviewer, link, "ada"), begun(reviewer, link, "bob")
    for filed in (False, True):
        if filed:
            assert send(reviewer, ada, {"action": "file", **ANSWERS}).status_code == 303
        before = {path.name: path.read_bytes() for path in Path("debate-report.ballots").iterdir()}
        for query in ("as=ada", "as=ada&key=", bob.partition("?")[2].replace("as=bob", "as=ada")):
            assert "Your name" in reviewer.text(f"{link}?{query}")
            assert reviewer.get(f"{link}/report?{query}").status_code == 404
            stolen = send(reviewer, f"{link}?{query}", {"action": "file", **ANSWERS, "field/final/winner": "b"})
            assert stolen.status_code == 422 and "Begin with the vote" in stolen.text
        assert {path.name: path.read_bytes() for path in Path("debate-report.ballots").iterdir()} == before


def test_a_link_opens_its_review_alone(reviewer: Visitor, link: str, here: Path) -> None:
    """Its token opens no other debate, no seat and not the dashboard; the answer does not tell which debates there
    are. Each page holds a value by which the server shows that it is the same; it has no other way out."""
    for address in (link, begun(reviewer, link)):
        assert reviewer.get(address).status_code == 200
    shutil.copy(resources.folder("examples") / "standing-desks" / JOURNAL, "other.journal.jsonl")
    shutil.copy(JOURNAL, "copy.journal.jsonl")
    token = link.rpartition("/")[2]
    for address in (
        f"/review/other/{token}",
        f"/review/copy/{token}",
        f"/review/none/{token}",
        f"{link[:-1]}x",
        f"/seat/debate-report/a/{token}",
    ):
        assert reviewer.get(address).status_code == 404
    assert reviewer.get("/debates/debate-report").status_code == 401
    unsigned = reviewer.send(link, {"action": "begin", "reviewer": "ada", "seen": "no", "before": "a"}, token="0" * 40)
    assert unsigned.status_code == 403


def test_the_desk_has_the_links_of_reviewers(here: Path) -> None:
    """The page of a finished debate has the link for reviewers. Who has begun a review, here or at a terminal, stands
    there with the link that continues with it."""
    shutil.copy(resources.folder("examples") / "friday-deploys" / JOURNAL, JOURNAL)
    with visiting() as dashboard:
        address = re.findall(r'href="(/review/[^"]+)"', dashboard.get("/debates/debate-report").text)[0]
        assert "Your name" in dashboard.text(address)
        page = begun(dashboard, address, "Ada Lovelace")
        assert "Ada Lovelace : not handed in yet" in dashboard.text("/debates/debate-report")
        own = re.findall(r'href="(/review/[^"]+)"', dashboard.get("/debates/debate-report").text)[1]
        assert html.unescape(own) == page and "Your ballot, Ada Lovelace" in dashboard.text(html.unescape(own))
        assert send(dashboard, page, {"action": "file", **ANSWERS}).status_code == 303
        assert "Ada Lovelace : handed in" in dashboard.text("/debates/debate-report")


@pytest.mark.parametrize("format", ["panel", "question", "claim"])
def test_every_format_can_be_reviewed(here: Path, monkeypatch: pytest.MonkeyPatch, format: str) -> None:
    """The form asks for what the format's judges vote on, and a ballot with an answer to every field is filed. The
    context files are on the page where judges had them."""
    Path("own.md").write_text("The queue is <b>slow</b>.", encoding="utf-8")
    monkeypatch.setattr(discovery, "model_sources", lambda *_: [])
    with visiting() as dashboard:
        dashboard.until(address := dashboard.started(format=format, context="own.md"), "Complete")
        found = re.search(r'href="(/review/[^"]+)"', dashboard.get(address).text)
        assert found is not None
        page = begun(dashboard, found[1])
        reading = dashboard.get(page).text
        assert ("“own.md”</summary>" in reading) == ("&lt;b&gt;slow" in reading) == (format != "question")
        answers = {"action": "file"}
        while (answer := send(dashboard, page, answers)).status_code == 422 and len(answers) < 30:
            answers |= filled_in(answer.text)
        assert answer.status_code == 303, plain(answer.text)[-1500:]
        assert "You have handed in your ballot" in dashboard.text(page)


def filled_in(page: str) -> dict[str, str]:
    """An answer to every field of a form: the first choice, the numbers of its example, or a word."""
    found = {}
    for name, rest in re.findall(
        r'<(?:select|input|textarea) id="(field/[^"]+)"(.*?)(?=<label|</form>)', page, re.DOTALL
    ):
        options = re.findall(r'<option value="([^"]+)"', rest)
        example = re.search(r"as in: ([\d. ]*\d)", rest) or re.search(r"(\d[\d.]*) to \d", rest)
        found[name] = options[0] if options else example[1] if example else "Well argued."
    return found


def test_reviews_that_begin_at_the_same_time_keep_to_the_limit(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of two reviewers who ask for the last place together one gets it."""
    write_new = ballot_filing.write_new

    def write_late(path: str, text: str, **named: Any) -> None:
        monkeypatch.setattr(ballot_filing, "write_new", write_new)
        assert ballot_filing.begin_review("ballots", {"reviewer": "bob"})
        write_new(path, text, **named)

    monkeypatch.setattr(ballot_filing, "MAX_BY_LINK", 1)
    monkeypatch.setattr(ballot_filing, "write_new", write_late)
    with pytest.raises(BadFile, match="have begun, and no more may by this link"):
        ballot_filing.begin_review("ballots", {"reviewer": "ada"})
    assert [path.name for path in Path("ballots").iterdir()] == ["bob.draft.yaml"]
