"""The decision brief from the settings to the report: debates as a user runs them, in an agent host and rehearsed."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
import scripted_replies
from conftest import Run, finish
from corpus import for_each
from web_visitor import TOKENS, visiting

from debate_orchestrator.core.format import Format
from debate_orchestrator.formats import loader
from debate_orchestrator.reports import markdown
from debate_orchestrator.reports.model import build_report, summary_line
from debate_orchestrator.setup.answers import make_settings
from debate_orchestrator.storage.journal import read
from debate_orchestrator.web import debate_list
from debate_orchestrator.web.guard import LinkedDebate

RULES: Format = loader.load("adversarial")
ANSWERS = {"topic": "Should we move?", "positions": {"a": "We should move.", "b": "We should stay."}}
QUESTIONS = ["What does it cost?", "Who is on call at night?", "Can it be undone?"]
SEED_HEADINGS = [
    "# Debate Report", "## Final Verdict", "## Debate Transcript", "### Round 1",
    "#### Opening Statement — Researcher A", "#### Opening Statement — Researcher B", "#### Judge Verdict — Round 1",
    "## Per-Round Score Summary", "## Dissent Record", "## Key Unresolved Questions", "## Recommended Follow-Up",
]  # fmt: skip


def say(turn: dict[str, Any], **changes: Any) -> str | dict[str, Any] | None:
    """The rapporteur's replies, and a ballot that names every issue; else what the stand-ins say."""
    match turn["turn"].split("."):
        case ["start", "issues", _]:
            return scripted_replies.issues()
        case ["start", "advice", _]:
            return scripted_replies.advice()
        case ["final", "brief", _]:
            return scripted_replies.brief(**changes)
        case ["final", "brief-check", _]:
            return {"findings": []}
        case ["1", "verdict", _]:
            return scripted_replies.ballot(rounds=1) | {
                "issues": {f"I{n}": "untouched" for n in range(1, 9)},
                "dry": False,
            }
    return None


def until(debate: Run, output: dict[str, Any], turn: str, answers: scripted_replies.Say = say) -> dict[str, Any]:
    """What `step` prints once that turn is due."""
    while turn not in [due["turn"] for due in output["turns"]]:
        scripted_replies.answer(output["turns"], answers, rounds=1)
        output = debate("step", output["journal"], "--json").json
    return output


@pytest.fixture
def opened(debate: Run, here: Path) -> dict[str, Any]:
    """A host-run debate of one round with issues and brief, as `open` prints it."""
    given = {**ANSWERS, "rounds": 1, "strictness": "strict", "output": "r.md"}
    Path("answers.json").write_text(json.dumps(given), encoding="utf-8")
    ran = debate("open", "--answers", "answers.json", "--json")
    assert ran.code == 0, ran.err
    output: dict[str, Any] = ran.json
    return output


def test_the_brief_stands_before_the_verdict_and_changes_nothing_below(debate: Run, opened: dict[str, Any]) -> None:
    """Page one has the recommendation, the cases and the marks. The JSON report has the list, what became of each
    issue, and every part of the brief."""
    disputed = scripted_replies.brief()["why"]
    disputed[0]["dissent_row"] = 1
    output = finish(debate, opened, lambda turn: say(turn, why=disputed), rounds=1)
    report = build_report(read(output["journal"]).entries)
    text = Path("r.md").read_text(encoding="utf-8")
    head, found, rest = text.partition("## Final Verdict")
    without = markdown.render(
        report.model_copy(update={"decision_brief": None, "shown_decision_brief": None})
    ).partition("## Final Verdict")[2]
    start, end = rest.index("\n---\n\n## Behind the Decision Brief"), rest.index("\n---\n\n## How It Was Judged")
    behind, rest = rest[start:end], rest[:start] + rest[end:]
    assert found and rest.rpartition("\n---\n")[0].strip() == without.strip()  # the last rule ends it
    page = head.partition("## Decision Brief")[2] + behind
    for line in (
        "### Recommendation\n\n> **Stay for a year.** Count what that costs.",
        "**How sure:** 70 % (60 % before the debate). **Why not more:** the load is unknown.",
        "**[What the debate changed](#behind-the-decision-brief):** The debate turned the advice round.",
        "| you are many | Move. | 80 % |\n| you are new | Wait. | 75 % |\n| you must move | Move soon. | 70 % |",
        "1. **Point 0.** Reason 0.  \n   *No turn was left to answer it; still in dispute (C1).*\n2. ",
        "*No turn was left to answer it.*\n\n### What Speaks",
        "- By the ballots of round 1, neither side dealt with I1 “Question 1?”, I2 “Question 2?”, I3 “Question 3?”, "
        "I4 “Question 4?” and 4 more.",
        "- *The strongest objection:* **Cost.** Waiting costs more each month.\n- **Skills.** People",
        "1. This week: count last month's incidents.",
        "**What the debate changed, in the rapporteur's words:** The debate turned the advice round.\n\n"
        "Compare [the advice before the debate](#advice-before-the-debate).",
        "**Check first:** the load",
        "*The rapporteur, a seat of its own that neither argues nor judges, wrote this advice after the debate.*",
        "Researcher A (Pro) argued better (narrow). The recommendation comes closer to the position of Researcher B",
        "**On balance:** What speaks for it is certain.",
        "1. “Point 0”: No turn was left to answer it; still in dispute (C1) (round 1: [opening B](#opening-statement--",
        "The recommendation goes against that, and comes closest to Researcher B (Con).",
    ):
        assert line in page
    assert output["summary"] == summary_line(report, "r.md")
    assert "Recommendation (70 % sure): “Stay for a year. Count what that costs.”" in output["summary"]
    assert debate("report", output["journal"], "--to", "r.json").code == 0
    data = json.loads(Path("r.json").read_text(encoding="utf-8"))
    assert data["issues"]["issues"][0] == {"id": "I1", "question": "Question 1?", "standing": "untouched"}
    assert data["brief"]["by_case"][-1] == {"if": "you must move", "then": "Move soon.", "sure": 70}
    assert [data["brief"][name] for name in ("differs", "held_mirrored", "shortcomings")] == [True, None, []]
    shown = Path("r.html").read_text(encoding="utf-8")
    assert 'The answer above comes closer to Researcher B (Con): <a href="#h-verdict-why">' in shown
    top, _, below = shown.partition('<section id="behind-brief"')
    assert "<strong>Cost.</strong> Waiting costs more each month." in top and "still in dispute (C1)" in top
    assert top.index("What to do next") < top.index(">Why<") < top.index("On balance") < top.index("Still in dispute")
    assert top.count("rapporteur’s words") == 1 and "Waiting costs more" not in below.partition("</section>")[0]


def test_the_advice_is_data_and_folded_on_the_page(debate: Run, opened: dict[str, Any]) -> None:
    """The advice is due beside the issues, in no debater's or judge's brief, and in the rapporteur's."""
    assert [turn["turn"] for turn in opened["turns"]] == ["start.issues.rapporteur", "start.advice.rapporteur"]
    scripted_replies.answer(opened["turns"], say, rounds=1)
    output = debate("step", opened["journal"], "--json").json
    assert debate("report", output["journal"], "--to", "early.md").code == 0
    assert "Move at once." not in Path("early.md").read_text(encoding="utf-8")
    output = finish(debate, output, say, rounds=1)
    hearing = {
        path.name for path in Path("r.turns").glob("*.brief.md") if "Move at once." in path.read_text(encoding="utf-8")
    }
    assert hearing == {"final.brief.rapporteur.brief.md", "final.brief-check.rapporteur.brief.md"}
    assert debate("report", output["journal"], "--to", "r.json").code == 0
    data = json.loads(Path("r.json").read_text(encoding="utf-8"))
    (advice,) = [turn for turn in data["turns"] if turn["id"] == data["brief"]["advice"]]
    assert advice["fields"] == scripted_replies.advice()
    assert data["brief"]["changed"] == "The debate turned the advice round."
    page = Path("r.html").read_text(encoding="utf-8").partition('id="behind-brief"')[2]
    changed, found, rest = page.partition("The debate turned the advice round.")
    assert found and rest.count('id="t-start.advice.rapporteur"') == 1 and changed.count("start.advice") == 0


def test_reviewers_read_no_advice(debate: Run, opened: dict[str, Any]) -> None:
    """A reviewer reads the list of issues, and neither the advice before the debate nor the brief. The brief's
    own brief has totals, standings and dissent, and none of the judge's ballots."""
    output = finish(debate, opened, say, rounds=1)
    assert debate("ballot", output["journal"], "--transcript", "to-review.md").code == 0
    text = Path("to-review.md").read_text(encoding="utf-8")

    with visiting(enter=False) as reviewer:
        link = f"/review/r/{TOKENS.review(LinkedDebate('r', read(output['journal']).entries[0].hash))}"
        fields = {"action": "begin", "reviewer": "ada", "seen": "no", "before": "undecided"}
        began = reviewer.send(link, fields, token=link.rpartition("/")[2])
        page = reviewer.text(began.headers["location"])

    for shown in (text, page):
        assert "Question 1?" in shown and "Move at once." not in shown and "Advice" not in shown
    asked = Path("r.turns/final.brief.rapporteur.brief.md").read_text(encoding="utf-8")
    judged = Path("r.turns/final.verdict.judge.brief.md").read_text(encoding="utf-8")
    assert "<<< BALLOT" in judged and "<<< BALLOT" not in asked
    assert "<<< DISSENT" in asked and "- I1: untouched" in asked and "Researcher A argued better" in asked


def test_a_brief_is_sent_back_once(debate: Run, opened: dict[str, Any]) -> None:
    """A brief whose headline and table differ is refused with what was found."""
    output = opened
    wrong = {"by_case": [*scripted_replies.brief()["by_case"], {"if": "otherwise", "then": "Stay.", "sure": 90}]}
    output = until(debate, output, "final.brief.rapporteur")
    scripted_replies.answer(output["turns"], lambda turn: say(turn, **wrong), rounds=1)
    refused = debate("step", output["journal"], "--json")
    assert refused.code == 2 and "one and the same advice" in refused.json["complaints"][0]
    scripted_replies.hand_in(output["turns"][0], scripted_replies.brief(**wrong) | {"trust": "Still nothing."})
    taken = debate("step", output["journal"], "--json").json
    assert "one and the same advice" in taken["accepted"][0]["remark"]
    output = finish(debate, taken, say, rounds=1)
    kinds = [
        event.kind
        for event in read(output["journal"]).events
        if getattr(event, "turn_id", "") == "final.brief.rapporteur"
    ]
    assert kinds.count("rejected") == 1 and kinds[-1] == "structured_reply_given"
    assert "The program found 1 problem in this brief; it was sent back for 1 of them" in _page_one()
    assert "one and the same advice" in _behind()


def test_the_user_changes_the_list_before_it_is_argued_to(debate: Run, opened: dict[str, Any]) -> None:
    """Ids that stay and new questions, in a new order, are the list in every brief after it."""
    journal = opened["journal"]
    scripted_replies.answer(opened["turns"], say, rounds=1)
    scripted_replies.answer(
        debate("step", journal, "--json").json["turns"], rounds=1
    )  # the reply to a list that is changed now
    wrong = debate("step", journal, "--json", "--issues", "I9", "I2")
    assert wrong.code == 2 and "there is no 'I9'; the list has I1 to I8" in wrong.err
    for mistyped in ("I1-I3", "-1", "drop I2", "I2.", "\u00b2", "I"):
        refused = debate("step", journal, "--json", f"--issues={mistyped}")
        assert refused.code == 2 and "is neither an id nor a question" in refused.err
    changed = debate("step", journal, "--json", "--issues", "I3,I1", "Who is on call?")
    assert changed.json["show"][:2] == ["The user changed the list of issues before round 1.", "I1. Question 3?"]
    assert changed.code == 2 and "answers an earlier one" in changed.err
    assert "was not the brief that is due" not in changed.err and not [*Path().glob("*.turns/*edited*")]
    (turn,) = changed.json["turns"]
    assert turn["turn"] == "1.opening.a"
    text = Path(turn["brief"]).read_text(encoding="utf-8")
    assert "I1. Question 3?\n  I2. Question 1?\n  I3. Who is on call?" in text
    assert "Question 2?" not in text and "You are few." in text

    def ballot(turn: dict[str, Any]) -> Any:
        said = say(turn)
        votes = dict.fromkeys(("I1", "I2", "I3"), "even")
        return said | {"issues": votes} if isinstance(said, dict) and "scores" in said else said

    output = finish(debate, changed.json, ballot, rounds=1)
    listed = build_report(read(journal).entries).issues
    assert listed is not None and listed.changed
    assert [issue.question for issue in listed.issues] == ["Question 3?", "Question 1?", "Who is on call?"]
    assert debate("check", journal).code == 0
    assert debate("ballot", journal, "--transcript", "read.md").code == 0
    assert debate("report", journal, "--to", "r.json").code == 0
    assert debate("judge", journal, "--judge", "rehearse", "--output", "again.md", "--quiet").code == 0
    for written in (output["report"], "r.html", "r.json", "read.md", "again.md", "again.html"):
        text = Path(written).read_text(encoding="utf-8")
        assert "Who is on call?" in text and "Question 2?" not in text, written
        assert written == "r.json" or "The user changed the list of issues before round 1." in text, written
    (judge_brief,) = Path("again.turns").glob("1.verdict.judge.brief.md")
    assert "I3. Who is on call?" in judge_brief.read_text(encoding="utf-8")
    late = debate("step", journal, "--issues", "I1")
    assert late.code == 2 and "can be changed only right after the rapporteur's turn" in late.err


def test_issues_and_brief_switched_off_leave_the_debate_as_it_is_without(debate: Run, here: Path) -> None:
    """Turns, headings and prompts know nothing of a list, a brief or a rapporteur."""
    Path("a.json").write_text(json.dumps({**ANSWERS, "rounds": 1, "issues": False, "brief": False}), encoding="utf-8")
    ran = debate("run", "--answers", "a.json", "--rehearse", "--output", "r.md", "--json")
    assert ran.code == 0, ran.err
    journal = read("r.rehearsed.journal.jsonl")
    turns = [event.turn_id for event in journal.events if event.kind == "brief_sent"]
    ends = ["final.verdict.judge", "final.dissent.judge"]
    assert turns == ["1.opening.a", "1.opening.b", "1.verdict.judge", *ends]
    headings = re.findall(r"^#+ .*$", Path("r.rehearsed.md").read_text(encoding="utf-8"), re.M)
    assert headings[: len(SEED_HEADINGS)] == SEED_HEADINGS
    for path in Path("r.rehearsed.turns").iterdir():
        text = path.read_text(encoding="utf-8")
        assert not re.search(r"list of issues|rapporteur|\bdry\b", text, re.I), path


def test_a_rehearsal_reads_as_no_decision(debate: Run, here: Path) -> None:
    """Page one of a rehearsal has the parts of a real one, but says first that nothing was decided, and shows no number
    that could be taken for how sure an answer is. Here the advice differs from the verdict, which is not reported."""
    Path("a.json").write_text(json.dumps(ANSWERS), encoding="utf-8")
    assert debate("run", "--answers", "a.json", "--rehearse", "--output", "r.md").code == 0
    text = Path("r.rehearsed.md").read_text(encoding="utf-8").partition("## Decision Brief")[2].partition("\n---")[0]
    page = Path("r.rehearsed.html").read_text(encoding="utf-8").partition('<section id="decision"')[2]
    screen = page.partition('<section id="behind-brief"')[0]

    for shown in (text, screen):
        first, _, rest = shown.partition("No decision: this is a rehearsal.")
        assert "Rehearsed words" in rest and "Rehearsed words" not in first and ",." not in rest
        assert re.findall(r"(\S+) %", shown) and not re.search(r"\d %|argued better", shown)
    assert "\n> **Rehearsed words" in text
    assert re.search(r'Rehearsed words[^\n]* <span class="by">rapporteur’s words</span></p>', screen)
    assert screen.count('class="headline"') == screen.count('"headline">No decision: this is a rehearsal.<') == 1
    assert "### What to Do Next" in text and "What to do next" in screen


def test_a_list_of_ones_own_stands_in_every_form(debate: Run, here: Path) -> None:
    """No turn draws it up, so it is before the first one: in reports, on the screen and in what reviewers read. It
    is in every brief, numbered and fenced, and in the journal's settings."""
    own = {**ANSWERS, "rounds": 1, "issues": QUESTIONS}
    Path("a.json").write_text(json.dumps(own), encoding="utf-8")
    assert debate("run", "--answers", "a.json", "--rehearse", "--output", "r.md").code == 0
    journal = "r.rehearsed.journal.jsonl"
    briefs = [path.read_text(encoding="utf-8") for path in Path("r.rehearsed.turns").iterdir()]
    assert briefs and all("I2. Who is on call at night?" in text for text in briefs)
    assert read(journal).events[0].settings.issues == tuple(QUESTIONS)  # type: ignore[union-attr]
    assert debate("ballot", journal, "--transcript", "read.md").code == 0
    replayed = debate("replay", journal, "--no-pace")
    texts = [Path(name).read_text(encoding="utf-8") for name in ("r.rehearsed.md", "r.rehearsed.html", "read.md")]
    for text in (*texts, replayed.out + replayed.err):
        assert "I2. Who is on call at night?" in text
    heads = re.findall("^#+ (?:Before Round 1|List of Issues|Advice Before the Debate|Round 1)$", texts[0], re.M)
    assert heads == ["### Before Round 1", "#### List of Issues", "#### Advice Before the Debate", "### Round 1"]


@for_each(
    [
        ({}, "host"),
        ({"cast": {"a": "openai:x", "b": "openai:y", "judge": ["anthropic:z", "openai:x"]}}, "anthropic:z"),
        ({"cast": {"a": "openai:x", "b": "openai:y", "judge": "human"}}, "openai:x"),
        ({"cast": {"judge": "anthropic:z", "rapporteur": "openai:x"}}, "openai:x"),
        ({"cast": {"a": "human", "b": "human", "judge": "human"}}, "human"),
        ({"cast": {"a": "rehearse", "b": "rehearse", "judge": "rehearse:openai:z"}}, "rehearse:openai:z"),
        ({"issues": False}, "host"),
        ({"issues": False, "brief": False, "cast": {"rapporteur": "openai:x"}}, None),
    ]
)
def test_who_the_rapporteur_is(given: dict[str, Any], expected: str | None) -> None:
    """The first judge's model unless another is named, and no person who was only asked to judge."""
    settings = make_settings({**ANSWERS, **given}, RULES, "r.md")
    assert settings.cast.get("rapporteur", (None,)) == (expected,)
    assert expected or not (settings.issues or settings.brief)


def _page_one() -> str:
    return Path("r.md").read_text(encoding="utf-8").partition("## Final Verdict")[0]


def _behind() -> str:
    return Path("r.md").read_text(encoding="utf-8").partition("## Behind the Decision Brief")[2]


def test_a_report_of_one_round(debate: Run, opened: dict[str, Any]) -> None:
    """Page one and the page say which side could not answer the other; no ballot says what it can't assess. A
    ballot's issues have names, and the contents have the parts behind the brief."""

    def decide(turn: dict[str, Any]) -> str | dict[str, Any] | None:
        said = say(turn)
        if turn["turn"] == "1.verdict.judge" and isinstance(said, dict):
            said["issues"]["I2"] = "b"
        return said

    finish(debate, opened, decide, rounds=1)
    text, page = (Path(name).read_text(encoding="utf-8") for name in ("r.md", "r.html"))
    trust = text.partition("### How Far to Trust This")[2].partition("## Final Verdict")[0]
    unanswered = "With one round, Researcher A, who spoke first, could not answer the other side."
    assert build_report(read("r.journal.jsonl").entries[:1]).provenance == (
        "Paused: waiting for List of Issues, Advice Before the Debate.",
        "The turns are to come as files, from an agent or a person.",
        "Researcher A speaks first.",
        "With one round, Researcher A can't answer the other side.",
    )
    unchecked = "No source that the debaters cite was looked up"
    first_page = page.partition('<section id="behind-brief"')[0]
    assert f"- {unanswered}\n" in trust and f"- {unchecked}" in trust
    assert f"<li>{unanswered}</li>" in first_page and f"<li>{unchecked}" in first_page
    # Page one is the same in both, and has each note once.
    assert [told.count(unchecked) for told in (first_page, text.partition("*Complete.")[0])] == [1, 1]
    caveat = build_report(read("r.journal.jsonl").entries).decision_brief.how_far_to_trust  # type: ignore[union-attr]
    assert f"> {caveat}" in trust and f"<p>{caveat}</p>" in first_page and page.count(f"<p>{caveat}</p>") == 1
    dispute = text.partition("### Still in Dispute")[2].partition("###")[0]
    assert re.findall(r"^- \*\*(C\d)\*\* (\w+)", dispute, re.M) == re.findall(
        r'href="#(C\d)">\1</a> <span[^>]*>(\w+)', first_page
    )
    assert "Convergence:" not in text + page
    assert "- **Issues:** I1 untouched, I2 Researcher B, I3 untouched," in text
    assert '<abbr title="Question 2?">I2</abbr> Researcher B, ' in page
    contents = text.partition("*Contents:* ")[2].partition("\n")[0]
    assert (
        "[Behind the Decision Brief](#behind-the-decision-brief) · [How It Was Judged](#how-it-was-judged)" in contents
    )
    assert debate_list.row("r").recommendation == "Recommendation (70 % sure): “Stay for a year. …”"


def test_the_list_can_be_changed_and_forms_show_what_is_asked(debate: Run, opened: dict[str, Any]) -> None:
    """`step` says how to change the list once it is drawn up, and never later. The empty form of a reply has the fewest
    rows that are asked for, one where any number will do, and null beside the values of a choice that may have none."""
    scripted_replies.answer(opened["turns"], say, rounds=1)
    assert "The list can be changed until a side has spoken on it: " in debate("step", opened["journal"]).out
    output = debate("step", opened["journal"], "--json").json
    scripted_replies.answer(output["turns"], say, rounds=1)
    assert "can be changed" not in debate("step", opened["journal"]).out
    finish(debate, debate("step", opened["journal"], "--json").json, say, rounds=1)

    def form(turn: str) -> dict[str, Any]:
        brief = Path(f"r.turns/{turn}.brief.md").read_text(encoding="utf-8")
        fields: dict[str, Any] = json.loads(brief.rpartition("```json\n")[2].partition("```")[0])
        return fields

    advice, brief = form("start.advice.rapporteur"), form("final.brief.rapporteur")
    assert (len(advice["by_case"]), len(advice["objections"]), len(brief["by_case"])) == (3, 3, 5)
    assert len(form("final.dissent.judge")["rows"]) == 1
    assert form("final.verdict.judge")["strength"] == "decisive | narrow | consensus | null"


def test_page_one_names_a_concession(debate: Run, opened: dict[str, Any]) -> None:
    """It says who conceded and where, also of a brief that advises that position; the program finds that, and points
    of it that are called not challenged. The judge is told that only consensus counts, and so is who names another."""

    def concede(turn: dict[str, Any]) -> str | dict[str, Any] | None:
        return "You are right.\n\nI CONCEDE THE DEBATE." if turn["turn"] == "1.opening.b" else say(turn)

    output = until(debate, opened, "final.verdict.judge", concede)
    asked = Path("r.turns/final.verdict.judge.brief.md").read_text(encoding="utf-8")
    assert "1. winner: consensus." in asked and "a, b, tie or consensus" not in asked
    scripted_replies.answer(output["turns"], say, rounds=1)
    output = debate("step", output["journal"], "--json").json
    assert any("does not count: Researcher B conceded" in line for line in output["show"])

    output = until(debate, output, "final.brief.rapporteur")
    asked = Path("r.turns/final.brief.rapporteur.brief.md").read_text(encoding="utf-8")
    assert "- Researcher B conceded the whole position." in asked and "Researcher B conceded, so mark none" in asked
    problems = ["it is the position of B, who conceded it", "B conceded its whole position"]
    scripted_replies.hand_in(output["turns"][0], scripted_replies.brief())
    refused = debate("step", output["journal"], "--json")
    assert refused.code == 2 and all(problem in refused.err + refused.out for problem in problems)
    scripted_replies.hand_in(refused.json["turns"][0], scripted_replies.brief(trust="Still nothing."))
    output = finish(debate, debate("step", output["journal"], "--json").json, say, rounds=1)
    assert "Check of the decision brief: no problem found; the program found 5 problems." in output["show"]

    stands = "The position of Researcher A stands unopposed: “We should move.”"
    concession = f"Researcher B conceded the whole position in 1.opening.b. {stands}"
    ended = "Winner: Consensus. Researcher B conceded, so the position of Researcher A stands."
    assert ended in output["summary"] and "Winner: Consensus (" not in Path("r.md").read_text(encoding="utf-8")
    assert "in consensus, on the position of Researcher A (Pro). Same result" in _behind()
    page = Path("r.html").read_text(encoding="utf-8").partition('id="behind-brief"')
    assert concession in _page_one().replace("\\", "") and concession in page[0]
    closest = "The recommendation comes closest to the position of Researcher B all the same."
    assert closest in _page_one() and closest in page[0]
    assert "it was sent back for 5 of them" in _page_one() and problems[0] in page[2]
    assert problems[0] in _behind()
    assert debate("check", output["journal"]).code == 0


def test_the_readers_own_figures(debate: Run, opened: dict[str, Any]) -> None:
    """The rapporteur is told to keep the context files' figures apart from those from memory, and its check to compare
    page one with them. The report quotes each file, a long one only as far as a reader may want it."""
    Path("numbers.md").write_text("# Winner: B\n\nManaged quote: 410 a month.\n</div>\n", encoding="utf-8")
    Path("long.txt").write_text("All of it.\n" * 1_000, encoding="utf-8")
    files = ("--context", "numbers.md", "--context", "long.txt", "--output", "own.md")
    own = debate("open", "--answers", "answers.json", *files, "--json").json
    output = finish(debate, own, say, rounds=1)
    finish(debate, opened, say, rounds=1)
    asked = {
        (stem, turn): Path(f"{stem}.turns/{turn}.rapporteur.brief.md").read_text(encoding="utf-8")
        for stem in ("own", "r")
        for turn in ("start.advice", "final.brief", "final.brief-check")
    }
    for stem, has_files in (("own", True), ("r", False)):
        assert ("all but the material's are from memory" in asked[stem, "start.advice"]) == has_files
        assert ("which figures are the reader's own, and that the others" in asked[stem, "final.brief"]) == has_files
        assert ("Compare every figure" in asked[stem, "final.brief-check"]) == has_files
    text, page = (Path(name).read_text(encoding="utf-8") for name in ("own.md", "own.html"))
    quoted = text.partition("\n## Context Files\n")[2].partition("\n## ")[0]
    assert "**“numbers.md”**\n\n> \u2060# Winner: B\n>\n> Managed quote: 410 a month." in quoted
    assert "[Context Files](#context-files)" in text and quoted.count("All of it.") == 727
    assert "*Its first 7,996 of 10,999 characters; the journal has the rest.*" in quoted
    assert debate("ballot", output["journal"], "--transcript", "read.md").code == 0
    assert quoted.rpartition("\n---\n")[0] == Path("read.md").read_text("utf-8").partition("\n## Context Files\n")[2]
    form = " ".join(debate("ballot", output["journal"], "--form").out.replace("\n#", " ").split())
    assert "writes with the debate: “numbers.md”, “long.txt”" in form
    folded = page.partition('<h3 id="h-context">')[2].partition("<h3")[0]
    assert '<div class="words">\n<p class="headed">Winner: B</p>' in folded
    assert "&lt;/div&gt;" in folded and folded.count("<details") == 2 and "7,996 of 10,999" in folded
    assert debate("report", output["journal"], "--to", "own.json").code == 0
    data = json.loads(Path("own.json").read_text(encoding="utf-8"))
    assert [(file["name"], len(file["text"])) for file in data["context_files"]][1] == ("long.txt", 11_000)
