"""A report model says how its debate was made and ended, what weakens it, and what it cost."""

from __future__ import annotations

import json
from typing import Any

import pytest
import reading
import scripted_debates
import scripted_replies
from corpus import for_each
from debates import DECLINE, entries, one_agent, opened_event, play_events, report_model, script_of

from debate_orchestrator.core import rapporteur
from debate_orchestrator.core.events import EarlierDebate, Event, Noted, Reassigned, Spoke, StructuredReplyGiven
from debate_orchestrator.core.fold import fold
from debate_orchestrator.core.reply import Usage
from debate_orchestrator.reports import json_report, markdown
from debate_orchestrator.reports.announcements import announcements
from debate_orchestrator.reports.html import page
from debate_orchestrator.reports.model import build_report, summary_line
from debate_orchestrator.reports.verdict_text import judges_reasons


def test_the_summary_line() -> None:
    """A finished debate is confirmed in exactly the promised words."""
    assert summary_line(report_model(), "out/debate-report.md") == (
        "Debate complete. Report written to out/debate-report.md. Winner: A (narrow). 3 rounds completed. "
        "Key unresolved question: “What does it cost in year two?”"
    )


def test_convergence_after_an_intervention_has_its_sentence() -> None:
    """Only convergence right after an intervention is reported as persisting."""
    both = script_of(_1_verdict_judge=scripted_replies.converging(), _2_verdict_judge=scripted_replies.converging())
    apart = script_of(_1_verdict_judge=scripted_replies.converging(), _3_verdict_judge=scripted_replies.converging())

    assert report_model(both).converged_again is not None
    assert [one.converged_again for one in report_model(both).rounds] == [False, True, False]
    assert report_model(apart).converged_again is None
    assert [one.intervened for one in report_model(apart).rounds] == [True, False, True]


def test_where_it_came_from_is_reported() -> None:
    """The report model says who filled the seats, who spoke first, and whether feedback was heard."""
    cast = {"a": ("one",), "b": ("two",), "judge": ("three", "four")}
    one = report_model(cast=cast, feedback=False, rounds=2)

    assert one.provenance == (
        "Complete.",
        "Researcher A: one; Researcher B: two; Judge: three, four.",
        "Researcher A spoke first.",
        "The judge's feedback is kept from the debaters.",
        "No source that the debaters cite was looked up.",
    )
    first = scripted_replies.ballot(winner="A", rounds=2)
    first["scores"] = {"(a)": first["scores"]["a"], "Researcher B": first["scores"]["b"]}
    words = script_of(
        _1_verdict_judge=first, _2_verdict_judge=first, _final_verdict_judge=scripted_replies.final("Pro")
    )
    read = (
        "In ballots, short words were read as sides: “(a)” as Researcher A, “A” as Researcher A, “Pro” as Researcher A."
    )
    assert read in report_model(words, rounds=2).provenance
    con_won = scripted_replies.ballot(6, 7, rounds=2, winner="(con)")
    swapped = scripted_replies.ballot(7, 6, rounds=2, winner="Con")
    position = scripted_replies.final(opened_event().settings.positions["b"])
    words = script_of(
        _1_verdict_judge=con_won,
        _1_verdict_judge_mirrored=swapped,
        _2_verdict_judge_mirrored=swapped | {"winner": "A"},
        _final_verdict_judge_mirrored=position,
    )
    read = (
        "In ballots, short words were read as sides: “(con)” as Researcher B, "
        "“Con” as Researcher B (sides swapped), “A” as Researcher B (sides swapped)."
    )
    assert read in report_model(words, rounds=2, mirror=True).provenance


def test_what_was_noted_is_reported_once() -> None:
    """A degraded debate and changed prompts are disclosed, each once."""
    events = one_agent(play_events(rounds=1))
    events += [Noted(note="prompts changed", detail="shared/turn.md.j2"), Noted(note="one agent")]
    said = build_report(entries(events)).provenance

    degraded = "Degraded: one agent played both sides and the judge, so none of them is independent of the others."
    assert said[1] == degraded
    assert said[-1] == ("The prompts changed on the way, with a newer version of this program.")
    assert len(set(said)) == len(said)
    unheard = build_report(entries(one_agent(play_events(rounds=1, until="1.opening.a"))))
    assert not unheard.degradations


REAL = "anthropic:claude-opus-5-5"
STAND_IN = f"rehearse:{REAL}"
ALL = {"a": (STAND_IN,), "b": ("rehearse",), "judge": (STAND_IN, STAND_IN)}


def test_a_rehearsal_says_so_first() -> None:
    """A rehearsal is reported as one before anything else, in the report, in the closing line and as it runs."""
    events = play_events(rounds=1, cast=ALL)
    one = build_report(entries(events))

    assert one.provenance[:2] == ("Rehearsed: stand-ins spoke, and no model was called.", "Complete.")
    assert summary_line(one, "r.md") == (
        "Debate rehearsed. Report written to r.md. "
        "What stand-ins wrote in it is filler: its verdict and its advice mean nothing."
    )
    assert [line.text for line in announcements(fold(events))][:2] == [
        "Rehearsal: stand-ins speak for Researcher A, Researcher B, Judge 1, Judge 2, and what they say means nothing.",
        "--- ROUND 1 OF 1 ---",
    ]
    # It is decided by who speaks, and not by the cast with which a debate was opened.
    recast = [Reassigned(seat=seat, specs=("host",) * len(specs)) for seat, specs in ALL.items()]
    assert announcements(fold([events[0], *recast]))[0].text == "--- ROUND 1 OF 1 ---"
    assert announcements(fold([*events[:2], *recast]))[0].text.startswith(
        "Rehearsed in part: stand-ins speak for Researcher A, and "
    )


@pytest.mark.parametrize(
    ("cast", "why"),
    [
        (("human", "human", STAND_IN), "only stand-ins judged"),
        ((STAND_IN, STAND_IN, STAND_IN), "only stand-ins judged"),
        ((STAND_IN, "rehearse", "human"), "only stand-ins argued for Researcher A and Researcher B"),
        ((REAL, STAND_IN, REAL), "only stand-ins argued for Researcher B"),
    ],
)
def test_a_debate_in_which_only_stand_ins_judged_or_argued_has_no_winner(cast: tuple[str, ...], why: str) -> None:
    """Where stand-ins alone judged, or argued for a side, every form of the report and the screen says that there is no
    winner, and none shows a headline; so does a re-judging of it by others."""
    seats = {seat: (spec,) for seat, spec in zip(("a", "b", "judge"), cast, strict=True)}
    events = play_events(rounds=1, cast=seats)
    report = build_report(entries(events))
    texts = [markdown.render(report), page.render(report), summary_line(report, None)]

    assert f"**Winner:** none, since {why}" in texts[0]
    data = json.loads(json_report.render(report))
    assert (report.verdict, data["verdict"], data["brief"], data["why_nothing_decided"]) == (None, None, None, why)
    no_brief = "There is no list of issues and no decision brief: they would come from a stand-in."
    assert all((no_brief in text) == ("human" in cast and REAL not in cast) for text in texts[:2])
    assert all(f"No winner: {why}." in text or f"No decision: {why}." in text for text in texts[:2])
    assert "Winner: " not in texts[2] and "Recommendation" not in texts[2]
    assert [line.text for line in announcements(fold(events)) if line.kind == "verdict"] == [f"No winner: {why}."]
    earlier = EarlierDebate(source="x", digest="0" * 64, speakers=dict(zip("ab", cast, strict=False)))
    first, *rest = play_events(rounds=1, cast=dict.fromkeys(seats, (REAL,)))
    again = build_report(entries([first.model_copy(update={"earlier_debate": earlier}), *rest]))
    assert ("only stand-ins argued for " in again.why_nothing_decided) == ("rehearse" in f"{cast[:2]}")
    assert not any(
        word in text for text in texts for word in ("prevailed", "argued better", "leads by", "neither leads")
    )


def judged(
    *winners: str,
    judges: tuple[str, ...],
    by: str = REAL,
    said: dict[str, Any] = {},  # noqa: B006
    rounds: int = 1,
    **setup: Any,
) -> Any:
    """The report of a debate of one round whose judges vote so: A has 9 points to 3 by a stand-in, 3 to 9 by others."""
    finals = {f"_final_verdict_judge_{n}": scripted_replies.final(winner) for n, winner in enumerate(winners, 1)}
    points = [(9, 3) if spec == STAND_IN else (3, 9) for spec in judges]
    ballots = {f"_1_verdict_judge_{n}": scripted_replies.ballot(*two, rounds=rounds) for n, two in enumerate(points, 1)}
    one_seat = {
        name.replace("judge_1", "judge") if len(judges) == 1 else name: v for name, v in (finals | ballots).items()
    }
    cast = {"a": (by,), "b": (REAL,), "judge": judges}
    return build_report(entries(play_events(script_of(**one_seat | said), rounds=rounds, cast=cast, **setup)))


def test_stand_ins_do_not_count_beside_a_real_judge() -> None:
    """Their votes, scores and reasons are left out like those of an absent judge, and a note says so; they fill no
    quorum."""
    two, three = (REAL, STAND_IN), (REAL, STAND_IN, STAND_IN)
    for votes, judges in (("ba", two), ("baa", three)):
        report = judged(*votes, judges=judges)
        assert report.verdict and (report.verdict.winner, report.verdict.vote_counts, report.verdict.totals) == (
            "b",
            {"b": 1},
            {"a": 3, "b": 9},
        )
        assert [vote.absent for vote in report.votes] == 2 * [spec == STAND_IN for spec in judges]
        assert not report.why_nothing_decided and report.judging.means["a"]["argument_quality"] == 3
        assert {reason.turn for reason in judges_reasons(report)} <= {"final.verdict.judge-1"}
        assert any("Not counted, since stand-ins cast them: the votes of Judge 2" in said for said in report.provenance)
        assert "**Judge 2** declared: A, not counted: a stand-in" in markdown.render(report)
        follow_ups = [text.rpartition("follow-up")[2].partition("</section>")[0] for text in (page.render(report),)]
        follow_ups += [markdown.render(report).partition("## Recommended Follow-Up")[2].partition("---")[0]]
        assert [("Judge 1" in text, "Judge 2" in text) for text in follow_ups] == [(True, False)] * 2
    report = judged("b", "b", judges=two, quorum=2)
    assert report.verdict.winner == "no decision"
    assert "1 of 2 votes counts, and 2 are needed: Judge 2 is a stand-in." in markdown.render(report)
    said = {"_final_verdict_judge_1_mirrored": scripted_replies.final("b")}
    report = judged("b", "a", "a", judges=three, said=said, mirror=True)
    assert (report.verdict.winner, report.judging.mirrored_votes) == ("no decision", 2)
    said = {"_1_verdict_judge_1": scripted_replies.ballot(3, 9, conceded="a")}
    report = judged("b", "b", "b", judges=three, said=said, rounds=2)
    assert (report.rounds_completed, report.conceded, report.verdict.winner) == (1, "a", "consensus")
    ended = "The debate ended after round 1, where its judges held Researcher A to have given up."
    assert ended not in report.provenance
    report = judged("b", "b", judges=two, said=said, rounds=2, quorum=2)
    assert report.verdict.winner == "no decision" and ended in report.provenance


@pytest.mark.parametrize(("first", "last"), [(STAND_IN, REAL), (REAL, STAND_IN)])
def test_rounds_that_do_not_count_are_not_in_the_table(first: str, last: str) -> None:
    """A total is the sum of the rounds above it, also where a stand-in had the judge's seat for a part of them. Nor do
    their rulings on issues count."""
    words = {
        f"_{n}_verdict_judge": scripted_replies.ballot(7, 6, rounds=2, issues={"I1": side}, dry=None)
        for n, side in ((1, "a"), (2, "b"))
    }
    cast = {"a": (REAL,), "b": (REAL,), "judge": (first,)}
    events = play_events(script_of(**words), rounds=2, issues=("Which one?",), cast=cast)
    index = next(n for n, event in enumerate(events) if getattr(event, "turn_id", "").startswith("2."))
    given = [
        event.model_copy(update={"reply": event.reply.model_copy(update={"spec": last})})
        if isinstance(event, StructuredReplyGiven) and event.turn_id.partition(".")[2].startswith("verdict.judge")
        else event
        for event in events[index:]
    ]
    events = [*events[:index], Reassigned(seat="judge", specs=(last,)), *given]
    report = build_report(entries(events))
    assert rapporteur.issue_standings(fold(events)) == {"I1": "a" if first == REAL else "b"}
    scores = [line.text for line in announcements(fold(events)) if line.kind == "scores"]
    assert scores[0 if last == REAL else 1] == f"Round {1 if last == REAL else 2}: no ballot counts."
    assert [round_report.result is not None for round_report in report.rounds] == [first == REAL, last == REAL]
    assert "| **Total** | **7** | **6** |" in markdown.render(report)
    assert [vote.absent for vote in report.votes] == [first != REAL, last != REAL, last != REAL]
    assert markdown.render(report).count("*Not counted: a stand-in.*") == (1 if last == REAL else 2)
    turns = json.loads(json_report.render(report))["turns"]
    ballots = {turn["id"]: turn["left_out"] for turn in turns if turn["counted"] is not None}
    assert [*ballots.values()] == [first != REAL, last != REAL, last != REAL]
    assert f"Not counted, since stand-ins alone judged: round {1 if last == REAL else 2}." in report.provenance
    assert report.why_nothing_decided == ("" if last == REAL else "only stand-ins gave the final ballots")


def test_a_concession_stands_whoever_judges() -> None:
    """A speaker who concedes the debate does so also where only stand-ins judge, whose scores then count for nothing; a
    stand-in's concession is filler."""
    said = {"_1_opening_a": "I CONCEDE THE DEBATE."}
    report = judged("b", judges=(STAND_IN,), said=said)
    assert report.verdict and (report.verdict.winner, report.verdict.totals) == ("consensus", {})
    assert "Researcher A conceded the whole position in 1.opening.a." in markdown.render(report)
    panel = markdown.render(judged("b", "b", judges=(STAND_IN, STAND_IN), said=said))
    assert "None of 2 judges' votes counts." in panel and "Votes that count: 0 of 2;" in panel
    filler = judged("b", judges=(STAND_IN,), said=said, by=STAND_IN)
    assert filler.why_nothing_decided == "only stand-ins judged" and (report.unopposed, filler.unopposed) == ("b", None)


def test_refusals_degrade() -> None:
    """A side that declined to argue is named with the number of its turns."""
    one = report_model(script_of(_1_opening_a=DECLINE, _2_rebuttal_a=DECLINE, _2_challenge_b=DECLINE))

    assert [said for said in one.provenance if said.startswith("Degraded")] == [
        "Degraded: Researcher A declined to argue in 2 turns.",
        "Degraded: Researcher B declined to argue in 1 turn.",
    ]


def test_a_change_of_cast_is_reported() -> None:
    """Who spoke for a seat is told from the replies, in order, wherever more than one did."""
    first, *rest = play_events(rounds=2, cast={"a": ("one",), "b": ("two",), "judge": ("three",)})
    own = [one for one in rest if isinstance(one, Spoke) and one.turn_id.endswith(".a")]
    by = ["x", *["y"] * (len(own) - 1)]
    replies = [one.reply.model_copy(update={"spec": who}) for one, who in zip(own, by, strict=True)]
    spoke = [one.model_copy(update={"reply": said}) for one, said in zip(own, replies, strict=True)]
    changed = {event.turn_id: event for event in spoke}
    events = [first, *(changed.get(getattr(event, "turn_id", ""), event) for event in rest)]
    said = build_report(entries(events)).provenance

    assert "Reassigned on the way: Researcher A was x, then y, then one, which has taken no turn." in said
    events[events.index(spoke[-1])] = spoke[-1].model_copy(update={"reply": replies[0]})
    assert any("A was x, then y, then x, then one" in text for text in build_report(entries(events)).provenance)
    assert "Researcher A: y; Researcher B: two; Judge: three." in said
    assert not any("Researcher B was" in one for one in said)


def test_a_seat_is_reported_by_the_time_of_its_replies() -> None:
    """A judge who was replaced between its two ballots on a round is named first, whichever of them came first."""
    events = play_events(rounds=1, mirror=True)
    given = {event.turn_id: event for event in events if isinstance(event, StructuredReplyGiven)}
    first, second = (given[f"1.verdict.judge{suffix}"] for suffix in ("", ".mirrored"))
    former = second.model_copy(update={"reply": second.reply.model_copy(update={"spec": "x"})})
    events[events.index(first)], events[events.index(second)] = former, first

    provenance = build_report(entries(events)).provenance
    assert "Reassigned on the way: Judge was x, then host." in provenance
    assert "Researcher A: host; Researcher B: host; Judge: host." in provenance, "not all turns came as files"


def test_a_seat_is_reported_by_its_last_turn() -> None:
    """A seat that is given away after its last turn keeps the name of the model that spoke, in every form, and if it is
    given to a stand-in that makes no rehearsal; a seat with turns left is said to."""
    cast = {"a": ("one",), "b": ("two",), "judge": ("three",)}
    events = play_events(rounds=1, cast=cast, until="1.verdict.judge")
    report = build_report(entries([*events, Reassigned(seat="a", specs=("four",))]))
    assert report.run.cast["a"] == ("one",) and report.spoken_by["a"] == "one"
    assert "Reassigned on the way: Researcher A was one, then four, which has taken no turn." in report.provenance
    for role, is_rehearsed in (("a", False), ("judge", True)):
        run = build_report(entries([*events, Reassigned(seat=role, specs=("rehearse",))])).run
        assert (run.rehearsed, run.rehearsed_in_part, run.kind) == (
            is_rehearsed,
            is_rehearsed,
            "mixed" if is_rehearsed else "called",
        )
    last = next(n for n, event in enumerate(events[::-1]) if isinstance(event, Spoke))
    ballots = play_events(rounds=1, cast=cast)[len(events) - last :]
    report = build_report(entries([*events[: len(events) - last], Reassigned(seat="a", specs=("rehearse",)), *ballots]))
    assert not report.run.rehearsed and not any("stand-ins" in note for note in report.provenance)


@for_each(
    [
        ("question", {}, "Both spoke at once."),
        ("panel", {}, "Debater A spoke first."),
        ("panel", {"first": "b"}, "Debater B spoke first."),
        ("question-consultancy", {}, "Only Debater A argued, without an opponent."),
        ("question-blind", {}, "Neither side argued: the judge decides without a debate."),
        ("question", {"material": "x"}, "Context files: “passage.txt”."),
    ]
)
def test_who_spoke_and_who_read(name: str, how: dict[str, object], said: str) -> None:
    """Who spoke before whom, and who was given the material, is reported as the format has it."""
    assert said in scripted_debates.report_model(name, **how).provenance  # type: ignore[arg-type]


SECTION = "## Calls and Cost"
USAGE = Usage(uncached_input=1000, cached=20, cache_write_5m=300, cache_write_1h=40, output=5)


def paid(cost: float | None = 0.25, usage: Usage | None = USAGE, **setup: Any) -> list[Event]:
    """The events of a debate whose every answer was paid for."""
    changed = {"usage": usage, "cost": cost, "by_call": True}
    return [
        event.model_copy(update={"reply": event.reply.model_copy(update=changed | {"spec": _by(event.turn_id)})})
        if isinstance(event, Spoke | StructuredReplyGiven)
        else event
        for event in play_events(rounds=1, **setup)
    ]


def _by(turn: str) -> str:
    """Who took a turn: no two seats share a model."""
    return f"command:{turn.rpartition('.')[2]}"


def costs_shown(events: list[Event]) -> str:
    """The report of a debate."""
    return markdown.render(build_report(entries(events)))


def test_it_is_reported() -> None:
    """A row for each seat and phase, their sum, and what the prices are."""
    _, section = costs_shown(paid()).split(f"\n\n{SECTION}\n")

    assert section.replace("\u2060", "") == (
        "\n| Seat | Phase | Calls | Input, uncached | Read from cache | Written to cache | Output | Cost |\n"
        "| --- | --- | --- | --- | --- | --- | --- | --- |\n"
        "| Researcher A | opening | 1 | 1,000 | 20 | 340 | 5 | \\$0.2500 |\n"
        "| Researcher B | opening | 1 | 1,000 | 20 | 340 | 5 | \\$0.2500 |\n"
        "| Judge | verdict | 2 | 2,000 | 40 | 680 | 10 | \\$0.5000 |\n"
        "| Judge | dissent | 1 | 1,000 | 20 | 340 | 5 | \\$0.2500 |\n"
        "| **Total** |  | 5 | 5,000 | 100 | 1,700 | 25 | \\$1.2500 |\n"
        "\nPrices are those known when each answer was given.\n"
    )


def test_the_unknown_is_reported() -> None:
    """An unknown price is unknown in its row and in the sum, and a sentence says so; it is never $0."""
    section = costs_shown(paid(cost=None, usage=None)).partition(f"\n\n{SECTION}\n")[2]
    ((_, *rows),) = reading.tables(section)

    assert {tuple(row[3:]) for row in rows} == {(*["–"] * 4, "unknown")}
    assert "The price of 5 calls is unknown and in none of the sums." in section
    assert "A dash means that tokens were not counted." in section
