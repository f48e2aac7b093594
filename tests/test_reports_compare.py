"""Debates side by side: what they have in common, where they differ, and which texts are called alike."""

from __future__ import annotations

from functools import cache, partial
from typing import Any

import debates
import pytest
import reading
import scripted_debates
import scripted_replies
from corpus import TextGroup, assert_harmless, text_groups
from debates import DECLINE, hostile_script, script_of
from hostile_texts import SAID
from scripted_debates import section

from debate_orchestrator.core.costs import CostLine
from debate_orchestrator.core.events import ContextFile, EarlierDebate, Event, Noted
from debate_orchestrator.reports import markdown
from debate_orchestrator.reports.compare import ComparedDebate, Comparison, compare, mirror_of
from debate_orchestrator.reports.html import page
from debate_orchestrator.reports.model import ReportModel, build_report
from debate_orchestrator.reports.parts import CostRow, CostsReport
from debate_orchestrator.reports.provenance import earlier_debate_report

SWAPPED = ("Indent with spaces.", "Indent with tabs.")


def report_of(digest: str, events: list[Event]) -> ReportModel:
    """The report model of a journal with that digest."""
    *most, last = debates.entries(events)
    return build_report([*most, last._replace(hash=digest)])


def debated(digest: str, say: scripted_replies.Say | None = None, **setup: Any) -> ReportModel:
    """An adversarial debate of two rounds, unless it is said otherwise."""
    return report_of(digest, debates.play_events(say, **{"rounds": 2, **setup}))


def for_b(turn: dict[str, Any]) -> str | dict[str, Any] | None:
    """Judges who are for B throughout."""
    if "verdict" not in turn["turn"]:
        return None
    return scripted_replies.final("b") if turn["turn"].startswith("final") else scripted_replies.ballot(5, 8)


def again(digest: str, source: str, root: str = "", **how: Any) -> ReportModel:
    """The judging of a debate that another journal holds; `root` is the debate where that is a re-judging too."""
    earlier_debate = earlier_debate_report(EarlierDebate(source="first.jsonl", digest=source, first_held_digest=root))
    return debated(digest, **how).model_copy(update={"earlier_debate": earlier_debate})


def kind(digest: str, name: str, **how: Any) -> ReportModel:
    return report_of(digest, scripted_debates.events(name, topic="Tabs are better than spaces.", **how))


def compared(*reports: ReportModel) -> Comparison:
    return compare([(f"{n}.journal.jsonl", one) for n, one in enumerate(reports, start=1)])


def runs(*reports: ReportModel) -> list[ComparedDebate]:
    return [ComparedDebate(n, f"{n}.jsonl", one, mirror_of(reports[0], one)) for n, one in enumerate(reports, start=1)]


def test_names_of_a_transcript_are_quoted() -> None:
    """The author of a transcript names its speakers: no name looks like another seat's entry."""
    name = "Alice”, Researcher B: anthropic:claude; Judge: found for A"
    speakers = {"a": name, "b": "Bob"}
    judged = debated("1").model_copy(
        update={"earlier_debate": earlier_debate_report(EarlierDebate(source="t.md", digest="9", speakers=speakers))}
    )
    text = markdown.render_comparison(compared(judged, debated("2")))

    assert "Researcher A: “Alice', Researcher B: anthropic:claude; Judge: found for A”, Researcher B: “Bob”" in text


def dissenting(claim: str, *questions: str) -> scripted_replies.Say:
    row = {"claim": claim, "a": "Yes.", "b": "No.", "status": "unresolved", "turns": ["1.opening.a"]}
    final = scripted_replies.final(unresolved_questions=list(questions))
    return script_of(_final_dissent_judge={"rows": [row]}, _final_verdict_judge=final)


def test_runs_stand_side_by_side() -> None:
    """Winners, strength, totals, rounds and judges of each run are told in tables. Where a debate was judged again and
    another side won, that is said of the verdict and of each round."""
    made = compared(debated("1"), debated("2", for_b))
    text = markdown.render_comparison(made)

    assert made.winners == {1: "a", 2: "b"}
    assert "| 1 | A | narrow | 14 | 12 | 14.29% | A 2, B 0, Tie 0 | A 1 |" in text
    assert "| 2 | B | decisive | 10 | 16 | 37.5% | A 0, B 2, Tie 0 | B 1 |" in text
    assert "| 1 | A (A 7, B 6) | B (A 5, B 8) |" in section(text, "Rounds")
    assert "| 2 | Judge | host | B (A 5, B 8) | B (A 5, B 8) | B |" in section(text, "Judges")
    assert "- The verdict differs: A in run 1; B in run 2." in section(text, "Where They Differ")
    flipped = compared(debated("1"), again("2", "1", say=for_b), again("3", "1"))
    assert flipped.differences[0] == "The verdict differs: A in runs 1, 3; B in run 2."
    assert [sentence.partition(" differs")[0] for sentence in flipped.differences[1:]] == ["Round 1", "Round 2"]


def test_concessions_of_opposite_sides_differ() -> None:
    """A consensus since one side conceded is named with the position that stands, by the letters of the first run."""
    first, second = (debated(side, script_of(**{f"_1_challenge_{side}": "I CONCEDE THE DEBATE."})) for side in "ab")
    swapped = debated("3", script_of(_1_challenge_b="I CONCEDE THE DEBATE."), positions=SWAPPED)
    made = compared(first, second, swapped)

    outcomes = [f"Consensus, on the position of {side}" for side in "BAB"]
    assert made.differences[0] == f"The verdict differs: {outcomes[0]} in runs 1, 3; {outcomes[1]} in run 2."
    assert [row[1] for row in made.verdicts.rows] == outcomes and set(made.winners.values()) == {"consensus"}
    assert f"<li>Run 2: <strong>{outcomes[1]}</strong></li>" in page.render_comparison(made)


def test_a_rehearsal_has_no_winner() -> None:
    """Stand-ins count as no models: their verdict, votes, agreement and disputed claims are in no comparison."""
    seats = {"a": ("rehearse:x:m",), "b": ("rehearse:x:m",), "judge": ("rehearse:x:m",)}
    made = compared(
        debated("1", dissenting("Tabs are read aloud.")), debated("2", cast=seats), debated("3", cast=seats)
    )
    text = markdown.render_comparison(made)

    assert made.winners == {1: "a", 2: None, 3: None}
    assert "| 2 | only stand-ins judged |" in text and "Run 2 is rehearsed: stand-ins spoke" in text
    assert r"| 1 | A (A 7, B 6) | \- | \- |" in section(text, "Rounds")
    assert made.judges is not None and {row[0] for row in made.judges.rows} == {"1"}
    assert "its votes, claims and questions are left out" in text
    assert "None on record from real judges." in section(
        markdown.render_comparison(compared(*[debated("2", cast=seats)] * 2)), "Disputed Claims"
    )
    assert not made.differences


def test_each_vote_is_that_of_the_model_that_cast_it() -> None:
    """A judge's seat that was given away has a row for each model that voted from it, and a side names all that spoke
    for it. A run without a winner has none."""
    seats = {"a": ("ann",), "b": ("bob",), "judge": ("jo",)}
    *first, final, record = debates.play_events(rounds=2, cast=seats)
    changed = [by("amy", event) if getattr(event, "turn_id", "") == "2.rebuttal.a" else event for event in first]
    given_away = report_of("1", [*changed, by("zed", final), by("zed", record)])
    stood_in = report_of("2", [*first, by("rehearse:x:m", final), record])
    text = markdown.render_comparison(compared(given_away, stood_in))

    assert "Researcher A: ann, then amy, Researcher B: bob | jo, then zed |" in section(text, "Runs")
    rows = [line.split(" | ") for line in section(text, "Judges").splitlines() if line.startswith(("| 1", "| 2"))]
    assert [(row[2], [bool(cell.strip(r" |\-")) for cell in row[3:]]) for row in rows] == [
        ("jo", [True, True, False]),
        ("zed", [False, False, True]),
    ]


def by(spec: str, event: Any) -> Any:
    """The same event with a reply of another model."""
    return event.model_copy(update={"reply": event.reply.model_copy(update={"spec": spec})})


def test_what_hangs_together_is_said() -> None:
    """A re-judging again names the run whose speeches it judges; the same journal twice is named too."""
    first = debated("1")
    made = compared(first, again("2", "1"), again("3", "9"), first)

    assert "Run 2 judges the speeches of run 1 again." in made.notes
    chain = compared(first, again("3", "2", root="1"))
    assert "Run 2 judges the speeches of run 1 again." in chain.notes
    assert [one for one in made.notes if one.startswith("Run 3 judges") and "not among these (“first.jsonl”)" in one]
    assert "Run 4 is the same journal as run 1." in made.notes
    entries = debates.entries([*debates.play_events(rounds=2), Noted(note="one agent")])
    went_on = compared(build_report(entries), again("2", entries[-2].hash))
    assert "Run 2 judges the speeches of run 1 again." in went_on.notes


@pytest.mark.parametrize("speech", ["Nothing of that kind was ever said in the first run.", DECLINE])
def test_a_journal_that_names_a_debate_with_other_speeches(speech: str) -> None:
    """A journal states what it judges: that is reported only if its speeches are those of the run that it names."""
    other = again("2", "1", say=script_of(_1_opening_a=speech))
    made = compared(debated("1"), other)

    assert "Run 2 names run 1 as what it judges again, but its speeches are others." in made.notes
    assert not [note for note in made.notes if "judges the speeches of run 1" in note]


def test_what_differs_is_said_at_the_top() -> None:
    """Topics, formats, strictness and positions that differ are the first thing that is reported."""
    made = compared(
        debated("1"),
        debated("2", topic="Vim or Emacs?"),
        kind("3", "claim"),
        debated("4", strictness="lenient", positions=("Tabs.", "Spaces.")),
        debated("5", positions=SWAPPED),
    )
    text = markdown.render_comparison(made)

    two_topics = compared(debated("1"), debated("2", topic="Vim or Emacs?"), debated("3"))
    assert two_topics.differences == ("The verdict is the same in runs 1, 3: A.",)
    assert made.notes[0].startswith("The topics differ")
    for part in ("Run 2 debates: “Vim or Emacs?”", "The formats differ", "strictness differs: run 1", "of run 4"):
        assert [one for one in made.notes if part in one], part
    assert "In run 5 the sides are swapped; here they have their letters of run 1." in made.notes
    assert text.index("The topics differ") < text.index("## Runs")


def test_swapped_positions_swap_names_and_texts_too() -> None:
    """Where a run is told by the letters of run 1, so are its speakers, and the sides that its texts name."""
    cast = {"a": ("command:cat-lover",), "b": ("command:dog-lover",), "judge": ("host",)}
    row = {"a": "Yes.", "b": "No.", "status": "unresolved", "turns": ["1.opening.a"]}
    say = script_of(
        _start_issues_rapporteur=scripted_replies.issues(),
        _start_advice_rapporteur=scripted_replies.advice(),
        _final_dissent_judge={"rows": [{"claim": "Researcher A says so.", **row}]},
        _final_verdict_judge=scripted_replies.final(unresolved_questions=["Is Researcher A right?"]),
        _final_brief_rapporteur=scripted_replies.brief(
            recommendation=scripted_replies.brief()["recommendation"] | {"do": "Do as Researcher A says."}
        ),
        _final_brief_check_rapporteur={"findings": []},
    )
    run = partial(debated, say=say, cast={**cast, "rapporteur": ("host",)}, rounds=1, issues=True, brief=True)
    made = compare([("one.jsonl", run("1")), ("t\u202ewo.jsonl", run("2", positions=SWAPPED))])

    assert [row[1] for row in made.runs.rows] == ["one.jsonl", r"'t\u202ewo.jsonl'"], "no name looks like another"
    assert [row[5] for row in made.runs.rows] == [
        "Researcher A: command:cat-lover, Researcher B: command:dog-lover",
        "Researcher A: command:dog-lover, Researcher B: command:cat-lover",
    ]
    assert made.winners == {1: "a", 2: "b"}, "the lover of cats won both"
    assert [claim.text for claim in made.dissent] == ["Researcher A says so.", "Researcher B says so."]
    assert [question.text for question in made.questions] == ["Is Researcher A right?", "Is Researcher B right?"]
    assert made.recommendations is not None
    assert [row[1] for row in made.recommendations.rows] == ["Do as Researcher A says.", "Do as Researcher B says."]


def test_what_is_debated_keeps_its_letters_and_names() -> None:
    """In a run with the sides swapped too: if `vendor A` or a person is debated, or in a claim, no name is swapped. Nor
    is one where a text has a label, or a name that could be other words."""
    say = dissenting("Vendor A beats B, says Researcher A.", "Is vendor A quick?")
    trial = ContextFile(name="trial.md", text="Vendor A delivered 98 of 100.")
    for setup in ({}, {"context": (trial,)}, {"topic": "should we pick vendor a?"}, {"topic": "Is Researcher A?"}):
        made = compared(debated("1", say, **setup), debated("2", say, positions=SWAPPED, **setup))
        assert [claim.text for claim in made.dissent] == ["Vendor A beats B, says Researcher A."] * 2
        assert [question.text for question in made.questions] == ["Is vendor A quick?"] * len(made.questions)
        assert [note for note in made.notes if note.startswith("Texts of run 2 keep its names")], "it says so"
    for claim in ("Neither researcher a nor Researcher B.", "Has researcher b said so?", "Researcher A, for Con, did."):
        made = compared(debated("1", dissenting(claim)), debated("2", dissenting(claim), positions=SWAPPED))
        assert [row.text for row in made.dissent] == [claim] * 2
        assert [note for note in made.notes if note.endswith("Researcher B (Con) is Researcher A (Pro).")], "it says so"


@cache
def usual() -> list[tuple[int, str]]:
    """The headings of a comparison in which no text is hostile."""
    return reading.headings(markdown.render_comparison(compared(debated("1"), debated("2"))))


def must_be_whole(topic: str, group: TextGroup) -> None:
    """A comparison of two debates in which the same was given has the usual headings, and nothing that runs."""
    made = compared(*(debated(name, hostile_script(group, rounds=2), topic=topic) for name in "12"))
    shown = markdown.render_comparison(made)

    assert [one for one in reading.headings(shown) if one not in usual()] == []
    for _, title in usual()[1:]:
        assert reading.forged(section(shown, title)) == []


@pytest.mark.slow
@pytest.mark.parametrize("group", text_groups(SAID))
def test_hostile_words_leave_the_comparison_whole(group: TextGroup) -> None:
    """Whatever claims, questions and reasons hold, the headings are the usual ones and nothing runs."""
    assert_harmless(partial(must_be_whole, "Is it so?"), group)


def test_recommendations_and_costs_are_compared() -> None:
    """Of each run: what it recommends and how sure it is, and what its calls cost; no run is left out."""
    say = script_of(
        _start_issues_rapporteur=scripted_replies.issues(),
        _start_advice_rapporteur=scripted_replies.advice(),
        _final_brief_rapporteur=scripted_replies.brief(),
        _final_brief_check_rapporteur={"findings": []},
    )
    cast = dict.fromkeys(("a", "b", "judge", "rapporteur"), ("host",))
    with_brief = debated("1" * 64, say, rounds=1, issues=True, brief=True, cast=cast)
    row = CostRow.of(CostLine(seat="a", phase="opening", calls=2, cost=0.5), "a", "opening")
    costs = CostsReport(lines=(row,), seats=(row,), total=row)
    comparison = compared(debated("2" * 64), with_brief.model_copy(update={"costs": costs}))
    assert comparison.costs is not None and comparison.costs.rows == (("1", "0", "-"), ("2", "2", "$0.5000"))
    assert comparison.recommendations is not None
    assert comparison.recommendations.rows == (
        ("1", "none: it has no decision brief", "-"),
        ("2", "Stay for a year. …", "70 %"),
    )
    told = markdown.render_comparison(comparison), page.render_comparison(comparison)
    assert "## Recommendations\n\n| Run | Recommendation | Sure |" in told[0]
    assert told[0].index("## Recommendations") < told[0].index("## Runs")  # what a reader wants first
    assert told[1].index('id="h-recommendations"') < told[1].index('id="h-runs"')
    assert "Stay for a year." in page.render_comparison(comparison)
    assert "Recommendation" not in markdown.render_comparison(compared(debated("2" * 64), debated("3" * 64)))
