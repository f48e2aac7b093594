"""The list of issues and the decision brief in the core: who is asked what, when a debate finds no new ground, and
which marks of a brief the record supports."""

from __future__ import annotations

from typing import Any

from core.folding import (
    ADVERSARIAL,
    Script,
    absent_judge,
    apply,
    ballot_event,
    events,
    fold,
    heard,
    opened,
    play,
    rejected_event,
)
from corpus import for_each

from debate_orchestrator.core import rapporteur, schedule, transcript_entries
from debate_orchestrator.core.reply_check import check
from debate_orchestrator.core.shape import json_schema
from debate_orchestrator.core.state import DebateState

QUESTIONS = ["What does it cost?", "2. Who is on call?", "Can it be undone?"]
ISSUES = {"start.issues.rapporteur": {"cases": ["A small team", "A large team"], "issues": QUESTIONS}}
ROWS: list[dict[str, Any]] = [
    {
        "claim": "It costs more.",
        "a": "No.",
        "b": "Yes.",
        "status": "unresolved",
        "turns": ["1.opening.a", "1.opening.b"],
    },
    {
        "claim": "It can be undone.",
        "a": "Yes.",
        "b": "Yes.",
        "status": "resolved by consensus",
        "turns": ["1.opening.b"],
    },
    {
        "claim": "It saves a day.",
        "a": "Yes.",
        "b": "No.",
        "status": "unresolved",
        "turns": ["2.rebuttal.a", "2.rebuttal.b"],
    },
]
WITH_ANSWER = ("held", "granted", "weakened")
"""The marks that say that the other side answered."""


def reason(mark: str, *turns: str, side: str | None = "a", row: int | None = None) -> dict[str, Any]:
    """A consideration of a brief."""
    words = {"heading": "The point", "consideration": "So it is."}
    return {**words, "side": side, "mark": mark, "turns": list(turns), "dissent_row": row}


def brief(**changes: Any) -> dict[str, Any]:
    """A decision brief that the record supports."""
    cases = [("you are few", "Wait.", 80), ("you are new", "Wait.", 75), ("you are many", "Do it.", 60)]
    rows = [dict(zip(("if", "then", "sure"), case, strict=True)) for case in cases]
    advice = {"do": "Do it.", "sure": 60, "why_not_more": "no one measured it", "sides_with": "b"}
    advice["check_first"] = "the load"
    lists = {"would_change": ["A test that fails.", "A bill."], "do_next": ["Count.", "Look."]}
    lists |= {"objections": [{"heading": "Cost", "text": "It costs."}, {"heading": "Time", "text": "It lasts."}]}
    texts = {"weighing": "The load decides.", "trust": "Nothing was checked.", "changed": "Nothing."}
    marks = [reason("held", "1.challenge.b", "1.rebuttal.a") for _ in range(4)]
    return {"recommendation": advice, "by_case": rows, "why": marks, **texts, **lists, **changes}


def at(turn: str, script: Script | None = None, **setup: Any) -> DebateState:
    """A debate of two rounds with issues and a brief, where that turn is due."""
    first = opened(2, issues=True, brief=True, **setup)
    return play(fold([first]), {**ISSUES, "final.dissent.judge": {"rows": ROWS}, **(script or {})}, until=turn)[0]


def test_the_rapporteur_comes_first_and_last() -> None:
    """The issues and the advice are due together before round 1."""
    played = play(fold([opened(2, issues=True, brief=True)]), {**ISSUES, "final.brief.rapporteur": brief()})[1]
    assert played[0] == ("start.issues.rapporteur", "start.advice.rapporteur")
    assert played[-3:] == [("final.dissent.judge",), ("final.brief.rapporteur",), ("final.brief-check.rapporteur",)]
    plain = play(fold([opened(2)]))[1]
    assert [stage for stage in played if "rapporteur" not in stage[0]] == plain


@for_each(
    [
        ({"brief": True}, ("start.advice.rapporteur",)),
        ({"issues": ("What does it cost?",), "brief": True}, ("start.advice.rapporteur",)),
        ({"issues": True}, ("start.issues.rapporteur",)),
        ({"blind": True, "brief": True}, ("start.blind.judge", "start.advice.rapporteur")),
    ]
)
def test_the_advice_is_due_with_the_phase_before_it(setup: dict[str, Any], first: tuple[str, ...]) -> None:
    """It comes with the brief alone, beside what is due before round 1, and by itself where nothing is."""
    debate, played = play(fold([opened(1, **setup)]), ISSUES)
    assert played[0] == first and played[1] == ("1.opening.a",) and debate.complete


def test_the_advice_is_heard_by_the_rapporteur_alone() -> None:
    """No debater and no judge has it in the transcript, in whatever order the two replies came."""
    debate = fold([opened(2, issues=True, brief=True)])
    for turn in reversed(debate.due):
        for event in events(debate, turn, ISSUES):
            debate = apply(debate, event)
    seen: dict[str, bool] = {}
    while debate.due:
        for turn in debate.due:
            seen[turn.seat] = "start.advice.rapporteur" in heard(debate, turn.id)
        debate = _step(debate)
    assert seen == {"a": False, "b": False, "judge": False, "rapporteur": True}
    early = at("1.opening.a")
    assert rapporteur.is_hidden_advice(early, early.turns["start.advice.rapporteur"])
    assert not rapporteur.is_hidden_advice(debate, debate.turns["start.advice.rapporteur"])


def _step(debate: DebateState) -> DebateState:
    """The debate after what is due now."""
    for event in [event for turn in debate.due for event in events(debate, turn, ISSUES)]:
        debate = apply(debate, event)
    return debate


def test_all_seats_hear_the_issues_by_number() -> None:
    """Debaters and judges have the list in their transcript, numbered by the engine."""
    debate = at("1.opening.a")
    (entry,) = transcript_entries.entries_for(debate, debate.due[0])
    assert "I1. What does it cost?" in entry.text
    listed = rapporteur.issue_list(debate)
    assert listed and listed.issues == {"I1": QUESTIONS[0], "I2": "Who is on call?", "I3": QUESTIONS[2]}


def test_a_ballot_says_something_of_every_issue() -> None:
    """A ballot has exactly the issues of the list, and is refused without one of them or with a word of its own."""
    debate = at("1.verdict.judge")
    turn = debate.due[0]
    shape, terms = debate.shape(turn) or {}, schedule.shape_context(debate, turn)
    assert list(json_schema(shape, terms)["properties"]["issues"]["properties"]) == ["I1", "I2", "I3"]
    (answer,) = events(debate, turn, {})
    assert check(shape, answer.data, terms) == []  # type: ignore[union-attr]
    for wrong in ({"I1": "a", "I2": "b"}, {"I1": "a", "I2": "b", "I3": "won"}):
        assert any("issues" in problem for problem in check(shape, {**answer.data, "issues": wrong}, terms))  # type: ignore[union-attr]


def test_a_list_of_ones_own_asks_no_rapporteur() -> None:
    """The user's questions are the list, and no turn draws up another."""
    debate = fold([opened(1, issues=("What does it cost?",))])
    assert debate.due[0].id == "1.opening.a" and "rapporteur" not in debate.active_seats
    assert schedule.shape_context(debate, debate.due[0]).issues == ("I1",)


def test_the_standing_of_an_issue_is_that_of_the_last_round() -> None:
    """Of a panel the most common word counts; where two are equally common, it is even."""
    words = {
        f"1.verdict.judge-{n}": {"issues": {"I1": side, "I2": "untouched", "I3": other}}
        for n, side, other in ((1, "a", "a"), (2, "a", "b"), (3, "b", "untouched"))
    }
    debate = at("2.constructive.a", words, judges=3)
    assert rapporteur.issue_standings(debate) == {"I1": "a", "I2": "untouched", "I3": "even"}
    assert rapporteur.untouched_issues(debate) == ("I2",)

    seen = {
        f"1.verdict.judge{end}": {"issues": {"I1": "a", "I2": other, "I3": "even"}}
        for end, other in (("", "a"), (".mirrored", "b"))
    }
    both = at("2.constructive.a", seen, mirror=True)
    assert rapporteur.issue_standings(both) == {"I2": "a", "I3": "even"}  # of I1 the judge says A in either order

    mirrored = at("1.verdict.judge", mirror=True)
    ballot = debate.mirror.structured_reply(ADVERSARIAL.shapes["ballot"], {"issues": {"I1": "a", "I2": "even"}})
    assert mirrored.due[1].mirrored and ballot == {"issues": {"I1": "b", "I2": "even"}}


@for_each([((True,), 1), ((True, False), 3), ((True, False, False), 3), ((True, True, False), 1)])
def test_a_debate_without_new_ground_ends_after_its_round(dry: tuple[bool, ...], rounds: int) -> None:
    """With until_no_new_ground the rounds end once most judges find no new ground, and what follows them follows."""
    seats = ["judge"] if len(dry) == 1 else [f"judge-{n}" for n in range(1, len(dry) + 1)]
    script = {f"1.verdict.{seat}": {"dry": word} for seat, word in zip(seats, dry, strict=True)}
    debate, played = play(fold([opened(3, len(dry), until_no_new_ground=True)]), script)
    assert {turn.round for turn in debate.turns.values() if turn.round} == set(range(1, rounds + 1))
    assert debate.complete and played[-1][0].startswith("final.dissent")
    assert (schedule.no_new_ground_slot_id(debate) or "")[:1] == ("1" if rounds == 1 else "")


@for_each(
    [
        (reason("held", "1.challenge.b", "1.rebuttal.a"), ""),
        (reason("held", "1.rebuttal.a"), "where B challenged it"),
        (reason("held", "1.challenge.b", "1.rebuttal.a", row=2), "that is granted"),
        (reason("granted", "1.rebuttal.b"), ""),
        (reason("granted", "1.opening.a"), "no turn of B"),
        (reason("granted", "1.rebuttal.b", row=1), "unresolved"),
        (reason("granted", "1.opening.b"), ""),
        (reason("granted", "1.challenge.a", side="b"), ""),
        (reason("weakened", "1.challenge.b", row=1), ""),
        (reason("weakened", "1.opening.a"), "no turn of B"),
        (reason("not challenged", "2.constructive.a"), ""),
        (reason("not challenged", "2.constructive.b"), "no turn of A"),
        (reason("not challenged", "2.constructive.a", row=2), "disputed"),
        (reason("weakened", "1.challenge.b", row=4), "has 3 rows"),
        (reason("not argued", side=None), ""),
        (reason("not argued", side="a"), "side is null"),
        (reason("not argued", "1.opening.a", side=None), "no turn is cited"),
        (reason("not argued", side=None, row=1), "disputed"),
        (reason("held", "1.challenge.b", "1.rebuttal.a", side=None), "no side is named"),
        (reason("held", "1.rebuttal.a", "2.challenge.b"), "where A answered, after that"),
        (reason("held", "1.opening.b", "1.opening.a", side="a"), "where A answered, after that"),
        (reason("not challenged", "2.rebuttal.a", row=3), ""),
        (reason("not challenged", "1.rebuttal.a", row=3), "disputed"),
    ]
)
def test_a_mark_is_held_against_the_record(case: tuple[dict[str, Any], str]) -> None:
    """A mark must cite a turn of the right side, and no row of the dissent record may say otherwise."""
    row, problem = case
    found = rapporteur.mark_problems(at("final.brief.rapporteur"), row)
    assert (problem in " ".join(found)) if problem else found == []


OPENINGS = ("1.opening.a", "1.opening.b")


@for_each(
    [
        (
            reason("held", *OPENINGS),
            "a challenge of B. The mark can only be: granted or weakened or not challenged.",
        ),
        (reason("weakened", "1.opening.b"), ""),
        (reason("granted", "1.opening.b"), ""),
        (reason("not challenged", "1.opening.a"), ""),
        (reason("not challenged", "1.opening.a", row=1), "disputed"),
        (reason("not challenged", "1.opening.b", side="b"), ""),
        (reason("not challenged", "1.opening.b", side="b", row=1), ""),
        *(
            (reason(mark, *OPENINGS, side="b"), "could answer B. The mark can only be: not challenged.")
            for mark in WITH_ANSWER
        ),
    ]
)
def test_in_one_round_only_the_second_speaker_answers(row: dict[str, Any], problem: str) -> None:
    """No point of the second speaker was challenged, also where a row of the dissent record is about it; a point of
    the first can be granted or weakened, and none is held."""
    first = opened(1, issues=True, brief=True)
    debate = play(fold([first]), {**ISSUES, "final.dissent.judge": {"rows": ROWS[:2]}}, until="final.brief.rapporteur")[
        0
    ]
    found = rapporteur.mark_problems(debate, row)
    assert (problem in " ".join(found)) if problem else found == []


def test_which_marks_are_possible_follows_from_which_turns_could_answer_which() -> None:
    """In one round by the order of the openings; with challenges and rebuttals every mark is."""
    one = play(fold([opened(1, brief=True)]), ISSUES, until="final.brief.rapporteur")[0]
    assert rapporteur.marks_possible(one, "a") == ("granted", "weakened", "not challenged")
    assert rapporteur.marks_possible(one, "b") == ("not challenged",)
    assert rapporteur.marks_possible(at("final.brief.rapporteur"), "b")[0] == "held"


@for_each(
    [
        ({}, ""),
        ({"by_case": brief()["by_case"][:2]}, "at least 3"),
        ({"by_case": [*brief()["by_case"], {"if": "otherwise", "then": "Do it.", "sure": 60}]}, ""),
        ({"by_case": [{"if": "Otherwise.", "then": "Do it.", "sure": 60}, *brief()["by_case"]]}, "leave it out"),
        ({"by_case": [*brief()["by_case"], {"if": "otherwise", "then": "Do it.", "sure": 70}]}, "70 %"),
        ({"by_case": [{**brief()["by_case"][0], "then": "word " * 40}, *brief()["by_case"][1:]]}, "by_case[1].then"),
        ({"trust": "word " * 830}, "write at most 750"),
        ({"why": brief()["why"][:3]}, "at least 4"),
        ({"do_next": ["Count."] * 6}, "at most 5"),
        ({"why": [*brief()["why"][:3], {**reason("held"), "heading": "Late"}]}, "after that. Its heading: “Late”."),
    ]
)
def test_headline_and_table_say_the_same(row: tuple[dict[str, Any], str]) -> None:
    """A row that repeats the recommendation may only be the last, and as sure as the headline."""
    changes, problem = row
    debate = at("final.brief.rapporteur")
    found = rapporteur.quality_problems(debate, debate.due[0], brief(**changes))
    assert (problem in " ".join(found)) if problem else found == []


def test_what_a_brief_was_sent_back_for_is_known() -> None:
    """A reply that is sent back for its quality says so, and what still is wrong in the next one was reported."""
    debate = at("final.brief.rapporteur")
    (turn,) = debate.due
    poor = brief(by_case=brief()["by_case"][:1], why=[*brief()["why"][:3], reason("held"), reason("granted")])
    problems = rapporteur.quality_problems(debate, turn, poor)
    held = "why[4]: it is marked held"
    for earlier, unfixed_count in (
        (f"{held}: cite where B challenged it and where A answered.", 2),
        (f"{held}, and no side is named that put it forward.", 1),
        (f"{held}, and row 2 of the dissent record says that both agree on it: that is granted.", 1),
    ):
        told = tuple(f"{turn.id}: {problem}" for problem in (problems[0], earlier, "why[5]: it is odd."))
        rejected = rejected_event(turn.id).model_copy(update={"problems": told, "could_be_better": True})
        sent_back = apply(debate, rejected)
        assert rapporteur.was_sent_back(sent_back, turn)
        unfixed = rapporteur.unfixed_problems(apply(sent_back, ballot_event(turn.id, poor)))
        assert len(problems) == 3 and unfixed == problems[:unfixed_count]


def test_a_brief_is_written_again_only_if_its_check_finds_a_problem() -> None:
    """Findings make one more turn due, and what is written there is the brief. Without a brief nothing is checked."""
    fault = {"kind": "inversion", "where": "why[1]", "problem": "It is the other way round."}
    script = {"final.brief.rapporteur": brief(), "final.brief-check.rapporteur": {"findings": [fault]}}
    debate = at("final.brief-revised.rapporteur", script)
    debate = apply(debate, ballot_event("final.brief-revised.rapporteur", brief(trust="Now it is right.")))
    written = rapporteur.decision_brief(debate)
    assert written and written.data["trust"] == "Now it is right." and debate.complete

    assert at("", {**script, "final.brief-check.rapporteur": {"findings": []}}).complete
    assert (
        "final.brief-check.rapporteur"
        not in at("", {"final.brief.rapporteur": absent_judge("final.brief.rapporteur")}).turns
    )
