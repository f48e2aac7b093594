"""The verdict in the words of its format, how the debate was judged, and structured replies as blocks that stay
what they are."""

from __future__ import annotations

from typing import Any

import pytest
import reading
import scripted_replies
from core.folding import absent_judge, play
from corpus import for_each
from debates import entries, play_events, script_of
from debates import report as adversarial
from hostile_texts import SAID
from scripted_debates import events, evidence, label, panel_scores, report, section, shipped_format
from scripted_replies import ballot, final

from debate_orchestrator.core.events import Event
from debate_orchestrator.core.fold import fold
from debate_orchestrator.core.shape import Field, Shape
from debate_orchestrator.engine import rejudge
from debate_orchestrator.reports import markdown
from debate_orchestrator.reports.markdown import MarkdownWriter
from debate_orchestrator.reports.model import build_report
from debate_orchestrator.reports.rich_text import FieldText, plain_text
from debate_orchestrator.reports.verdict_text import earlier_verdict

PASSAGE = "The sky was green that morning, the captain wrote."


def judged(name: Any, script: Any = None, **how: Any) -> str:
    """What is under the section's heading."""
    return section(report(name, script, **how), "How It Was Judged")


def test_a_panel_tells_every_vote() -> None:
    """A row for each judge and round, how many count, and the mean of each criterion by side."""
    say = script_of(_1_verdict_judge_2=ballot(5, 6, rounds=1), _final_verdict_judge_2=final("b"))
    votes, means, _ = reading.tables(section(adversarial(say, rounds=1, judges=2), "How It Was Judged"))

    assert votes == [
        ["Round", "Judge", "Vote", "Counts as"],
        ["1", "Judge 1", "A (A 7, B 6)", "A"],
        ["1", "Judge 2", "B (A 5, B 6)", "B"],
        ["Final", "Judge 1", "A", "A"],
        ["Final", "Judge 2", "B", "B"],
    ]
    assert means == [
        ["Criterion", "Researcher A", "Researcher B"],
        ["Argument quality", "6", "6"],
        ["Use of evidence", "6", "6"],
    ]


def test_a_mirrored_vote_is_told_twice() -> None:
    """Both ballots are side by side, with whether they say the same; how many changed is said."""
    script = {
        "final.verdict.judge-1": {"winner": "a", "probability": 0.75},
        "final.verdict.judge-1.mirrored": {"winner": "b", "probability": 0.75},
        "final.verdict.judge-2": {"winner": "a", "probability": 0.6},
        "final.verdict.judge-2.mirrored": {"winner": "a", "probability": 0.9},
        "final.verdict.judge-3.mirrored": absent_judge("final.verdict.judge-3.mirrored"),
    }
    made = judged("question", script, panel=3, mirror=True)

    assert reading.tables(made)[0] == [
        ["Judge", "Original", "Mirrored", "Stable", "Counts as"],
        ["Judge 1", "A (75%)", "A (75%)", "yes", "A"],
        ["Judge 2", "A (60%)", "B (90%)", "no", "an abstention, since it changed"],
        ["Judge 3", "A (50%)", "no ballot that counts", "-", "absent"],
    ]
    assert "1 of 2 final votes changed when the sides were swapped." in made
    steady = {f"final.verdict.judge{end}": {"winner": "b" if end else "a"} for end in ("", ".mirrored")}
    text = report("question", steady, mirror=True, blind=True)
    assert "| Before | Judge | A (50%) | B (50%) | no | an abstention, since it changed |" in text
    assert "Unchanged with the sides swapped: 1 of 1 final vote." in text and "0 of 1 final vote changed" in text
    in_rounds = "1 of 1 final vote and 2 of 2 votes on rounds changed when the sides were swapped."
    assert in_rounds in adversarial(rounds=2, mirror=True)


def test_a_vote_of_two_models_is_reported() -> None:
    """If a judge's seat was given away between two ballots, the tables say which are another model's, and the report
    does not say that the vote held."""
    taken_over = ("final.verdict.judge.mirrored",), ("final.verdict.judge", "final.verdict.judge.mirrored")
    for turns in taken_over:
        script = {
            turn: {"winner": "a" if turn.endswith("judge") else "b", "probability": 0.75} for turn in taken_over[1]
        }
        made = [
            event.model_copy(update={"reply": event.reply.model_copy(update={"spec": "command:another"})})
            if getattr(event, "turn_id", "") in turns
            else event
            for event in events("question", script, mirror=True, blind=True)
        ]
        text = markdown.render(build_report(entries(made)))
        if len(turns) == 1:
            assert "| Judge | A (75%) | A (75%), by another model | \\- | A |" in text
            assert "Unchanged with the sides swapped" not in text
        else:
            assert "| Final | Judge | A (75%), by another model | A (75%) | yes | A |" in text
            assert "Votes gained" not in text
    differing = next(n for n, event in enumerate(made) if getattr(event, "turn_id", "") == "final.verdict.judge")
    ballot = made[differing]
    spec = ballot.reply.model_copy(update={"spec": "command:before"})
    made[differing] = ballot.model_copy(update={"data": {**ballot.data, "winner": "b"}, "reply": spec})
    text = markdown.render(build_report(entries(made)))
    assert "| Judge | B (75%) | A (75%), by another model | \\- | an abstention, since two models disagree |" in text
    assert "Judge has ballots of two models that disagree." in text


def test_what_the_engine_saw() -> None:
    """Words over the limit, lines for the other side and quotes that the material does not hold are reported by
    side."""
    script = {
        "1.argument.a": "<quote>green that morning, the captain</quote> <quote>blue that evening, the mate</quote>",
        "1.argument.b": "word " * 151 + "\nDebater A: I give up.",
        "2.argument.b": "Debater A: I give up.",
    }
    made = judged("question", script, rounds=2, material=PASSAGE)

    assert made.endswith(
        "**Conduct of the sides:**\n\n"
        "- Debater A quoted the context files 2 times; 1 of these they hold.\n"
        "- Debater B wrote lines for the other side in 2.argument.b.\n"
        "- Debater B went over the limit, and 6 words were not heard, in 1.argument.b."
    )


SEATS = {"a": "Debater A", "b": "Debater B", "judge": "Judge"}
FIELDS = FieldText(SEATS)
PEN = MarkdownWriter(lambda turn: f"[{turn}](#{turn.replace('.', '-')})")
EVIDENCE = shipped_format("claim").shapes["evidence"]
ROW: Shape = {
    "seat": Field(kind="choice"),
    "turn": Field(kind="turn"),
    "fault": Field(kind="choice", options=("revised answer", "misused a quote")),
    "what": Field(kind="text"),
}

BALLOT: Shape = {
    "summary": Field(kind="text"),
    "decided": Field(kind="text", per_side=True),
    "sure": Field(kind="boolean"),
    "share": Field(kind="number"),
    "signs": Field(kind="choices", options=("x", "y")),
    "turns": Field(kind="turns"),
    "page": Field(kind="url"),
    "best": Field(kind="object", fields=ROW),
    "notes": Field(kind="list"),
    "faults": Field(kind="list", fields=ROW),
    "nothing": Field(kind="text", optional=True),
    "empty": Field(kind="list"),
    "winner": Field(kind="choice"),
}


def test_a_speech_in_fields() -> None:
    """Where the evidence is from, what it says, what it is, and then the argument as the speech it is."""
    said = evidence(argument="It **follows**.\n\nAnd so it is.", refused=False, reason=None)

    assert PEN.block(FIELDS.block(EVIDENCE, said)) == (
        "**Evidence:** [https\\://example.org/so](https://example.org/so)\n\n> It is so.\n\n"
        "**Context:**\n\n> A page on it.\n\n**Argument:**\n\n> It **follows**.\n>\n> And so it is."
    )


def test_a_judges_fields() -> None:
    """Each field is a line of a list, each side's on a line of its own; what is empty or told elsewhere is not."""
    row = {"seat": "b", "turn": "1.argument.b", "fault": "misused a quote", "what": "It *says* so."}
    value: dict[str, Any] = {
        "summary": "It *was* close.",
        "decided": {"a": "one", "b": "two"},
        "sure": False,
        "share": 0.5,
        "signs": ["x", "y"],
        "turns": ["1.argument.a", "1.argument.b"],
        "page": "https://example.org/x",
        "best": row,
        "notes": ["first", "second"],
        "faults": [row],
        "nothing": None,
        "empty": [],
        "winner": "a",
    }
    expected = "Debater B, [1.argument.b](#1-argument-b): misused a quote; “It \\*says\\* so.”"

    assert PEN.field_items(FIELDS.item_parts(BALLOT, value, {"winner"})) == [
        "- **Summary:** It was close.",
        "- **Decided, Debater A:** one",
        "- **Decided, Debater B:** two",
        "- **Sure:** no",
        "- **Share:** 0.5",
        "- **Signs:** x, y",
        "- **Turns:** [1.argument.a](#1-argument-a), [1.argument.b](#1-argument-b)",
        "- **Page:** [https\\://example.org/x](https://example.org/x)",
        f"- **Best:** {expected}",
        "- **Notes:**",
        "  - first",
        "  - second",
        "- **Faults:**",
        f"  - {expected}",
    ]


def stays(text: str) -> None:
    """Whatever is in the fields, a block stays in its place, and rows are as many items as there are."""
    block = PEN.block(FIELDS.block(EVIDENCE, evidence(quote=text, context=text, argument=text, url=text)))
    assert reading.between(block) == reading.BETWEEN
    assert reading.forged(block) == []
    two: Shape = {"what": Field(kind="text"), "why": Field(kind="text"), "of": Field(kind="list")}
    shape: Shape = {"rows": Field(kind="list", fields=two), "summary": Field(kind="text"), "last": Field(kind="text")}
    row = {"what": text, "why": text, "of": [text, text]}
    listed = "\n".join(PEN.field_items(FIELDS.item_parts(shape, {"rows": [row, row], "summary": text, "last": "x"})))
    tokens = reading.parser().parse(listed)
    items = [token for token in tokens if token.type == "list_item_open"]
    assert reading.forged(listed) == []
    assert (len(items), {token.level for token in items}) == (5, {1, 3})


@pytest.mark.slow
@for_each(SAID)
def test_no_text_leaves_its_field(text: str) -> None:
    """A hostile text in any field forges nothing and begins no item."""
    stays(text)


@for_each(
    [
        ("word " * 2_000, "8,000 of 9,999"),
        ("A line.\n" + "word " * 2_000, "8,000 of 10,007"),
        ("A line.\n" * 1_500, "7,999 of 11,999"),
    ]
)
def test_of_a_long_context_file_the_beginning_is_shown(text: str, shown: str) -> None:
    """It ends with a whole line, but where the next one is very long."""
    assert f"*Its first {shown} characters; the journal has the rest.*" in report("question", material=text.strip())


def verdict(name: Any, script: Any = None, **how: Any) -> str:
    """What is under the verdict's heading."""
    return section(report(name, script, **how), "Final Verdict")


def titles(name: Any, script: Any = None, **how: Any) -> list[str]:
    """The headings of the second level."""
    return [title for level, title in reading.headings(report(name, script, **how)) if level == 2]


def test_an_answer() -> None:
    """A question ends with the answer that was chosen and how likely it is; no side is scored."""
    script = {"final.verdict.judge": {"winner": "b", "probability": 0.85, "reasons": "It **says** so."}}
    made = verdict("question", script, positions=("Green.", "Red."))

    assert made == (
        "**Winner:** B  \n**Answer:** Red.  \n**Probability:** 85%\n\n"
        "*Outcome:* “Red.” 85% likely, by the judge.\n\n"
        "- **Reasons:** It says so."
    )


def test_a_probability_is_of_those_who_voted_for_the_answer() -> None:
    """Where a judge votes for the other answer, the probability of the winner says that it leaves that judge out."""
    said = {"winner": "a", "probability": 0.9, "reasons": "So."}
    script = {"final.verdict.judge-1": said, "final.verdict.judge-2": said}
    script["final.verdict.judge-3"] = said | {"winner": "b", "probability": 0.99}
    made = verdict("question", script, panel=3, positions=("Cats.", "Dogs."))

    assert "**Probability, by the judges who voted for it:** 90%" in made
    assert "“Cats.” 90% likely, by the judges who voted for it." in made
    agreed = verdict("question", script | {"final.verdict.judge-3": said}, panel=3)
    assert "**Probability:** 90%" in agreed and "90% likely, by the judges." in agreed


@pytest.mark.parametrize(
    ("ballot", "head"),
    [
        (label("misleading", 4), "**Label:** misleading  \n**Score:** 4 / 10"),
        (label("needs more evidence"), "**Label:** needs more evidence  \n**Score:** none"),
    ],
)
def test_a_label(ballot: dict[str, Any], head: str) -> None:
    """A claim ends with its label and its score, if the label has one."""
    assert verdict("claim", {"final.verdict.judge": ballot}).startswith(
        f"{head}\n\n*Outcome:* The claim is judged: {ballot['label']}."
    )


def test_labels_of_a_panel() -> None:
    """A panel's labels are reported with how often each was given; where none is given most, or too few judges gave it,
    none stands, and the report says who is missing."""
    script = {f"final.verdict.judge-{n}": label("misleading", 3 + n) for n in (1, 2)}
    one, two = script, script | {"final.verdict.judge-2": label("supported", 9)}

    assert verdict("claim", one, panel=2).startswith("**Label:** misleading  \n**Score:** 4.5 / 10\n")
    assert " Judges' labels: misleading 2.\n" in verdict("claim", one, panel=2)
    assert "**Judge 1** decided: misleading (4/10)\n" in verdict("claim", one, panel=2)
    assert verdict("claim", two, panel=2).startswith(
        "**Label:** no decision  \n**Score:** none\n\n"
        "*Outcome:* No label stands. No label was given by more judges than any other. "
        "Judges' labels: misleading 1, supported 1.\n"
    )
    absent = script | {"final.verdict.judge-2": absent_judge("final.verdict.judge-2")}
    few = "No label stands. 1 of 2 votes counts, and 2 are needed: Judge 2 cast no ballot that counts. "
    assert f"*Outcome:* {few}" in verdict("claim", absent, panel=2, quorum=2)


def test_a_panel_that_declares_nothing() -> None:
    """Where the winner follows from the scores, each judge's scores are reported, and how they add up."""
    script = {f"final.verdict.judge-{n}": panel_scores(7 + n, 7) for n in (1, 2)} | {
        "final.verdict.judge-3": panel_scores(1, 9)
    }
    made = verdict("panel", script, panel=3)

    assert made.startswith(
        "**Winner:** A  \n**Strength:** narrow  \n**Overall Scores:** Debater A: 6 | Debater B: 7.67\n\n"
        "*Outcome:* “Yes.” Debater A (PRO) won by the judges' votes (narrow), though behind on points. "
        "2 of 3 judges voted for A, 1 for B.\n"
    )
    assert "\n\n**Judge 1** decided: A (A 8, B 7)\n\n| Criterion | Debater A | Debater B |\n" in made
    assert "- The winner has more votes and fewer points; by rule the votes decide.\n" in made
    assert "differ by 21.74% of the larger one, and the lead is the loser's. Decisive is a winner's lead" in made
    assert "A judge's vote is for the side with the better score. A side's score on a ballot is the mean of" in made


@pytest.mark.parametrize(
    ("script", "panel", "quorum", "why"),
    [
        (
            {"final.verdict.judge.mirrored": {"winner": "a"}},
            1,
            1,
            "0 of 1 vote counts, and 1 is needed: Judge changed its vote when the sides were swapped.",
        ),
        (
            {
                "final.verdict.judge-1.mirrored": {"winner": "b"},
                "final.verdict.judge-2": absent_judge("final.verdict.judge-2"),
            },
            2,
            2,
            "1 of 2 votes counts, and 2 are needed: Judge 2 cast no ballot that counts. 1 of 2 judges voted for A.",
        ),
    ],
)
def test_no_decision(script: Any, panel: int, quorum: int, why: str) -> None:
    """Where too few votes count nothing is decided, and the report says whose do not, and why."""
    made = verdict("question", script, panel=panel, quorum=quorum, mirror=True)

    assert made.startswith(f"**Winner:** no decision\n\n*Outcome:* Nothing was decided. {why}\n")


def test_sections_that_a_format_has_no_shape_for() -> None:
    """A report has the sections that its format can fill, and no others."""
    always = ["Final Verdict", "Debate Transcript"]

    assert titles("question") == [*always, "How It Was Judged"]
    assert titles("panel") == [*always, "How It Was Judged"]
    assert titles("claim") == [*always, "How It Was Judged", "Evidence"]
    assert titles("claim", rounds=2, each_round=True) == [
        *always,
        "Per-Round Score Summary",
        "How It Was Judged",
        "Evidence",
    ]
    assert (
        titles("adversarial")[2:6]
        == titles("transcript")[2:6]
        == ["Per-Round Score Summary", "Dissent Record", "Key Unresolved Questions", "Recommended Follow-Up"]
    )


def judged_again(events: list[Event], judge: str = "speaker") -> dict[str, tuple[str, str]] | None:
    """The earlier verdict of these events beside that of another judge, who is for B."""
    opened, _ = rejudge.opened_from_journal(entries(events), "d/old.journal.jsonl", (judge,))
    ballots = (
        scripted_replies.ballot(3, 9, rounds=2),
        scripted_replies.ballot(6, 6, rounds=2),
        scripted_replies.final("b"),
    )
    turns = ("1.verdict.judge", "2.verdict.judge", "final.verdict.judge")
    debate, _ = play(fold([opened]), dict(zip(turns, ballots, strict=True)))
    replies = [
        event.model_copy(update={"reply": event.reply.model_copy(update={"spec": judge})})
        if event.turn_id.endswith(".judge")
        else event
        for event in debate.replies.values()
    ]
    table = earlier_verdict(build_report(entries([opened, *replies])))
    rows = [[plain_text(cell) for cell in row] for row in table.rows] if table else []
    return {what: (earlier, now) for what, earlier, now in rows} if table else None


def test_an_earlier_verdict_is_beside_the_new_one() -> None:
    """The winner, strength and totals are as they were and as they are, and judges are those that voted, of programs
    the names alone. Stand-ins decide nothing, then or now."""
    old = play_events(rounds=2, cast={"a": ("a",), "b": ("b",), "judge": ("command:jo x", "zed")})
    by_stand_in = play_events(rounds=2, cast={"a": ("a",), "b": ("b",), "judge": ("rehearse",)})

    assert judged_again(old) == {
        "Judges": ("command:jo, zed", "speaker"),
        "Winner": ("A", "B"),
        "Strength": ("narrow", "decisive"),
        "Total, Researcher A": ("14", "9"),
        "Total, Researcher B": ("12", "15"),
    }
    now = judged_again(old, "rehearse")
    assert now and [cells[1] for cells in now.values()] == ["rehearse", "not decided", "not decided", "-", "-"]
    conceded = play_events(script_of(_1_opening_a="I CONCEDE THE DEBATE."), rounds=1)
    opened, _ = rejudge.opened_from_journal(entries(conceded), "d/old.journal.jsonl", ("zed",))
    assert opened.earlier_debate is not None
    unnamed = opened.earlier_debate.model_copy(update={"unopposed": None})  # as earlier versions wrote it
    speech = fold(conceded).replies["1.opening.a"]
    report = build_report(entries([opened.model_copy(update={"earlier_debate": unnamed}), speech]))
    assert report.earlier_debate is not None and report.earlier_debate.unopposed == "b"
    table = earlier_verdict(report)
    earlier = {plain_text(what): plain_text(cell) for what, cell, _ in (table.rows if table else ())}
    assert earlier["Winner"] == "Consensus, on the position of B" and earlier["Total, Researcher A"] == "-"
    by_ballots = script_of(_1_verdict_judge=scripted_replies.ballot(3, 9, conceded="a"))
    opened, _ = rejudge.opened_from_journal(entries(play_events(by_ballots, rounds=2)), "d/old.journal.jsonl", ("zed",))
    assert opened.earlier_debate is not None
    before = opened.earlier_debate.model_copy(update={"unopposed": None, "judges": ("x",)})
    table = earlier_verdict(build_report(entries([opened.model_copy(update={"earlier_debate": before})])))
    assert table and [plain_text(row[1]) for row in table.rows][1] == "Consensus, on the position of B"
    assert judged_again(by_stand_in) is None and earlier_verdict(build_report(entries(old))) is None
