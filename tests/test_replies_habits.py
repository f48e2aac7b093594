"""How judges write, and how it is read: every habit that has one meaning gives the ballot that is meant."""

from __future__ import annotations

import copy
import dataclasses
import json
from contextlib import nullcontext
from typing import Any

import pytest
import sloppy_judges
from core.folding import ballot_fields, converging, many, opened, plainest_reply, play, play_debate
from corpus import for_each
from hypothesis import given, settings
from hypothesis import strategies as st
from reply_codes import code_of, signed

from debate_orchestrator.core import schedule
from debate_orchestrator.core.events import StructuredReplyGiven
from debate_orchestrator.core.fold import fold
from debate_orchestrator.core.phases import MIRRORED
from debate_orchestrator.core.reply import Reply
from debate_orchestrator.core.shape import Condition, Field, ShapeContext
from debate_orchestrator.core.state import DebateState
from debate_orchestrator.prompting.briefs import brief
from debate_orchestrator.prompting.normalize import SideWords, normalize
from debate_orchestrator.prompting.replies import parse_reply
from debate_orchestrator.util.errors import BadReply

ROUND, FINAL, DISSENT = (
    play_debate(until=turn) for turn in ("1.verdict.judge", "final.verdict.judge", "final.dissent.judge")
)
YES_OR_NO = play(fold([opened().with_settings(positions={"a": "Yes", "b": "Not yet."})]), until="1.verdict.judge")[0]


def read(text: str, debate: DebateState) -> StructuredReplyGiven:
    """The event that a reply to the turn that is due amounts to."""
    event = parse_reply(debate, debate.due[0], Reply(text=text, brief_digest="0" * 64, spec="x"), code_of(debate))
    assert isinstance(event, StructuredReplyGiven)
    return event


def plain(debate: DebateState, **changes: Any) -> dict[str, Any]:
    """A reply exactly as it is asked for, with changes, but for the code."""
    turn = debate.due[0]
    return plainest_reply(debate.shape(turn) or {}, schedule.shape_context(debate, turn)) | changes


def dumped(debate: DebateState, reply: dict[str, Any]) -> str:
    """A reply with the code of the turn that is due, as JSON."""
    return json.dumps(signed(reply, code_of(debate)))


BALLOT = plain(ROUND, **ballot_fields())
VERDICT = plain(FINAL, winner="a", strength="narrow", unresolved_questions=["Who pays?"])
RECORD = {"rows": [{"claim": "x", "a": "y", "b": "z", "status": "unresolved", "turns": ["1.opening.a"]}]}
SCORES = {"argument_quality": 7, "use_of_evidence": 7, "directness_of_rebuttals": 7}

FORMS = {
    "alone": "{}",
    "prose before": "Here is my final ballot, as asked:\n\n{}",
    "prose after": "{}\n\nI hope this helps. Let me know {if you} need more.",
    "a sentence before and after": "My ballot is {} and that is that.",
    "a fence": "```json\n{}\n```",
    "prose, then a fence": "Sure. Here it is:\n```json\n{}\n```",
    "text after a fence": "```json\n{}\n```\nDone :-}",
    "a fence of another language": "```javascript\n{}\n```",
    "a fence on one line": "```{}```",
    "private reasoning": "<think>A said {x}. B is {\"winner\": \"b\"}?</think>\n{}",
    "words of reasoning before it": "Thinking:\nA is better.\n\n{}",
    "other words of reasoning": "Here is my thought process:\nA is better.\n\n{}",
    "a brace that is spoken of": 'It begins with "{" and ends with "}": {}',
    "a quoted ballot before it": 'One ends with "{"winner": "b"}", which I ignore.\n\nMy ballot:\n\n{}',
    "the token that ends a message": "{}<|end|><|endoftext|>",
    "quotations around it": 'This decided it: "Tea costs less."\n\n{}\n\n"Tea costs less" decided it.',
    "a heading and a comma before it": 'Having read all,\nmy ballot on "Tea or coffee?":\n{}',
    "sketches in private reasoning": '<think>It begins with {"code": and {is</think>\n{}',
    "many braces before it": "{x} " * 60 + "\n\nHere is my ballot:\n\n{}",
    "code and quotation marks before it": 'In `if (x) { y(); }`, the "explicit" one.\n\nOn "Tea":\n\n{}',
    "a heading": "## Final winner\n\n{}",
    "an array around it": "[{}]",
    "brackets around it": "({})",
    "a brace too many": "{}}",
}  # fmt: skip
"""How a judge sets its ballot: what is around the JSON object."""

FAULTS = {
    "trailing comma": lambda text: text[:-1] + ",}",
    "trailing comma inside": lambda text: text.replace("}, ", ",}, ", 1),
    "single quotes": lambda text: text.replace('"', "'"),
    "Python literals": lambda text: text.replace("null", "None").replace("false", "False"),
    "keys without quotes": lambda text: text.replace('"winner":', "winner:"),
    "comments": lambda text: text.replace(', "justification"', ', // it\'s clear\n# so\n"justification"'),
    "an escaped underscore": lambda text: text.replace("end_code", r"end\_code").replace("follow_up", r"follow\_up"),
    "a comma that is missing": lambda text: text.replace(', "justification"', '\n"justification"'),
    "a line break in a text": lambda text: text.replace("So it is.", "**Winner:** so\nit is.", 1),
    "a quoted key": lambda text: text.replace("So it is.", r"A wrote \"winner\": \"b\".", 1)[:-1] + ",}",
    "the end of another word": lambda text: text.replace("So it is.", 'A is "the" cowinner: so', 1),
    "a fence and single quotes": lambda text: "Here:\n```json\n" + text.replace('"', "'") + "\n```",
}
"""Faults of punctuation."""


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("debate", [ROUND, FINAL], ids=["ballot", "verdict"])
def test_a_ballot_is_found_in_what_is_said(form: str, debate: DebateState) -> None:
    """Whatever is around a ballot, it is found, and the reply is kept word for word."""
    ballot = BALLOT if debate is ROUND else VERDICT
    text = FORMS[form].replace("{}", dumped(debate, ballot))
    event = read(text, debate)

    assert (event.data, event.reply.text) == (ballot, text)
    assert bool(event.changes) is (form != "alone")


@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.parametrize("debate", [ROUND, FINAL], ids=["ballot", "verdict"])
def test_punctuation_is_repaired(fault: str, debate: DebateState) -> None:
    """A fault of punctuation costs no ballot: winner, scores and words are as they were written."""
    ballot = BALLOT if debate is ROUND else VERDICT
    text = FAULTS[fault](dumped(debate, ballot))
    event = read(text, debate)

    assert event.data.keys() == ballot.keys()
    assert (event.data["winner"], event.data.get("scores")) == (ballot["winner"], ballot.get("scores"))
    assert text == dumped(debate, ballot) or "punctuation of the JSON repaired" in " ".join(event.changes)


@pytest.mark.parametrize("debate", [ROUND, FINAL], ids=["ballot", "verdict"])
def test_quotation_marks_within_a_text_change_no_decision(debate: DebateState) -> None:
    """A text with quotation marks that are not escaped may be read, since every code and key is in its place, and no
    decision is another for it. One that ends early and goes on as a field is asked for again."""
    ballot = BALLOT if debate is ROUND else VERDICT
    text = dumped(debate, ballot)
    found = read(text.replace("So it is.", 'So "it" is.', 1), debate).data
    assert (found["winner"], found.get("scores")) == (ballot["winner"], ballot.get("scores"))
    with pytest.raises(BadReply, match=r"there is no such (?:field|key)"):
        read(text.replace("So it is.", 'So it is", "era": "past', 1), debate)


HABITS: dict[str, tuple[DebateState, dict[str, Any], dict[str, Any]]] = {
    "converged_on without consensus": (FINAL, {"converged_on": "On nothing."}, {"converged_on": None}),
    "an empty converged_on": (FINAL, {"converged_on": ""}, {"converged_on": None}),
    "winner A": (FINAL, {"winner": "A"}, {"winner": "a"}),
    "winner Researcher B": (FINAL, {"winner": "Researcher B"}, {"winner": "b"}),
    "winner Pro": (FINAL, {"winner": "Pro"}, {"winner": "a"}),
    "winner Researcher A (Pro)": (FINAL, {"winner": "Researcher A (Pro)"}, {"winner": "a"}),
    "winner in bold": (FINAL, {"winner": "**Researcher A** (Pro)."}, {"winner": "a"}),
    "winner in brackets": (FINAL, {"winner": '("A")'}, {"winner": "a"}),
    "winner by its position": (FINAL, {"winner": "Bob says so."}, {"winner": "b"}),
    "winner by its position in bold": (FINAL, {"winner": "**Bob says so.**"}, {"winner": "b"}),
    "winner side_b wins": (FINAL, {"winner": "side_b wins"}, {"winner": "b"}),
    "winner Tie": (FINAL, {"winner": "Tie"}, {"winner": "tie", "strength": None}),
    "winner draw": (FINAL, {"winner": "a draw"}, {"winner": "tie", "strength": None}),
    "a list of one winner": (FINAL, {"winner": ["a"]}, {"winner": "a"}),
    "strength in capitals": (FINAL, {"strength": "DECISIVE"}, {"strength": "decisive"}),
    "null for an empty list": (FINAL, {"unresolved_questions": None}, {"unresolved_questions": []}),
    "a text for a list": (FINAL, {"unresolved_questions": "Why?"}, {"unresolved_questions": ["Why?"]}),
    "scores of 10": (ROUND, {"scores": {
        "a": dict.fromkeys(SCORES, "7/10"), "b": dict.fromkeys(SCORES, "6 out of 10")}}, {}),
    "scores as text": (ROUND, {"scores": {"a": dict.fromkeys(SCORES, "7"), "b": dict.fromkeys(SCORES, "6.0")}}, {}),
    "scores by names": (ROUND, {"scores": {
        "Researcher A": {"Argument Quality": 7, "use of evidence": 7, "Directness-of-Rebuttals": 7},
        "CON": dict.fromkeys(SCORES, "6")}}, {}),
    "nobody conceded": (ROUND, {"conceded": "none"}, {"conceded": None}),
    "neither conceded": (ROUND, {"conceded": "Neither"}, {"conceded": None}),
    "detected no": (ROUND, {"convergence": {"detected": "no", "criteria": None, "side": "none"}}, {}),
    "criteria of no convergence": (ROUND, {"convergence": {
        "detected": False, "criteria": ["same claim"], "side": "both"}}, {}),
    "one criterion as a text": (ROUND, {"convergence": {"detected": "Yes", "criteria": "Same Claim", "side": "Both"}},
        converging("both")),
    "null for no claims": (ROUND, {"unsupported_claims": None}, {"unsupported_claims": []}),
    "an unknown turn": (DISSENT, {"rows": [RECORD["rows"][0] | {"turns": ["1.opening.a", "9.opening.a"]}]}, RECORD),
    "turns in one text": (DISSENT, {"rows": [RECORD["rows"][0] | {"turns": "1.Opening.A"}]}, RECORD),
    "unknown turns alone": (DISSENT, {"rows": [RECORD["rows"][0] | {"turns": ["round 1"]}]},
        {"rows": [RECORD["rows"][0] | {"turns": []}]}),
    "one row without a list": (DISSENT, {"rows": RECORD["rows"][0]}, RECORD),
    "status by another spelling": (DISSENT, {"rows": [RECORD["rows"][0] | {"status": "Unresolved."}]}, RECORD),
}  # fmt: skip
"""Habit to the debate in which it is tried, what differs in the reply, and what differs in the ballot that is read."""


@for_each(HABITS)
def test_what_has_one_meaning_is_read(habit: str) -> None:
    """A value that has one meaning is read as that, and the journal has a line for it."""
    debate, written, wanted = HABITS[habit]
    usual = {id(ROUND): BALLOT, id(FINAL): VERDICT, id(DISSENT): RECORD}[id(debate)]
    event = read(dumped(debate, usual | written), debate)

    assert event.data == usual | wanted
    assert event.changes and all(len(change) < 300 for change in event.changes)
    assert habit != "scores by names" or "scores: the key 'CON' read as 'b'" in event.changes


def debating(debate: DebateState, **settings: Any) -> DebateState:
    """The debate as if that had been chosen when it was opened."""
    opened = debate.opened.with_settings(**settings)
    return dataclasses.replace(debate, opened=opened, plan=dataclasses.replace(debate.plan, opened=opened))


@for_each(
    [
        *[("R1", "R1", ""), ("R1", "r1.", ""), ("R3", "Side B", "b"), ("R3", "R2", ""), ("Pro", "Pro", "")],
        *[("Treatment A", "A", ""), ("Treatment B", "B", ""), ("A tram", "Side B", ""), ("a tram", "A", "a")],
        *[("a", "A", ""), ("A wins", "A wins", ""), ("A is better", "A", ""), ("≥", "A?", "")],
        *[("Team B is worse than team A", "Team B", ""), ("Option “A”", "A", ""), ("Vendor-A", "(A)", "")],
        *[("Buy the Pro", "Pro", ""), ("Buy the Pro", "the Pro", ""), ("Buy the Pro", "Researcher A (Pro)", "a")],
        *[("Hire researcher A", "Researcher A", ""), ("Vendor A", "a", "a"), ("Vendor A", "Researcher B", "b")],
        *[("Team A", "Side A", ""), ("Buy one (pros only)", "PRO", ""), ("Team A", "Con", ""), ("B", "A", "")],
        *[("Hire a pro", "A pro", ""), ("Use it", "A pro", ""), ("A variant, not B", "A", ""), ("Buy Pros", "Pro", "")],
        *[("Researchers B and A", "Researcher A", ""), ("Hire researcher A", "Researcher A (Pro)", "a")],
        *[("Buy the iPhone15Pro", "the Pro", ""), ("An iPhone ProMax", "Pro", ""), ("A PROfessional", "Pro", "")],
        *[("Drug a helps more", "A", "a"), ("Drug a helps more than drug c", "A", ""), ("A doesn't ship", "A", "")],
        *[("XSPro", "Pro", ""), ("华为Pro", "Pro", ""), ("IMPROVE Promo icons", "Pro", "a"), ("Both", "Both won", "")],
    ]
)
def test_what_means_both_sides_is_not_read_as_one(row: tuple[str, str, str]) -> None:
    """A word for a side that could be debated, in any form, may mean that: it is asked for again, as a winner and as a
    key. It is the same in all that is debated."""
    debated, written, side = row
    for changes in (
        {"positions": {"a": "The slow one", "b": debated}},
        {"topic": debated, "positions": {"a": "The quick one", "b": "The other"}},
    ):
        debate = debating(FINAL, **changes)
        with nullcontext() if side else pytest.raises(BadReply, match=r"winner: .* is not one of a, b, tie"):
            assert read(dumped(debate, VERDICT | {"winner": written}), debate).data["winner"] == side
        debate = debating(ROUND, **changes)
        other = "a" if side == "b" else "b"
        scores = {written: SCORES, other: dict.fromkeys(SCORES, 6)}
        with nullcontext() if side else pytest.raises(BadReply, match=r"scores"):
            given = BALLOT | {"scores": scores, "winner": side}
            assert read(dumped(debate, given), debate).data["scores"][side] == SCORES


_AHEAD_POINTS = {"1.verdict.judge": (8, 4), f"1.verdict.judge{MIRRORED}": (4, 8)}
_AHEAD_BALLOTS = {turn: ballot_fields(*points, rounds=1) for turn, points in _AHEAD_POINTS.items()}
AHEAD, AHEAD_MIRRORED = (
    play_debate(1, 1, _AHEAD_BALLOTS, until=f"final.verdict.judge{end}", mirror=bool(end)) for end in ("", MIRRORED)
)
"""Before a judge's verdict, with side a ahead on its ballots."""


@for_each(["B", "Con", "side b wins"])
def test_a_short_word_for_the_side_with_fewer_points_is_not_read(written: str) -> None:
    """It may mean what is debated, and is asked for again, on a ballot with scores and after the judge's own ballots. A
    key or a name may contradict the scores, whatever words other fields have."""
    last_due = dataclasses.replace(AHEAD_MIRRORED, due=AHEAD_MIRRORED.due[-1:])  # there b is ahead, and a argues Con
    other = written.replace("B", "A").replace("b", "a")
    for debate, ballot, behind, word in (
        (ROUND, BALLOT, "b", written), (AHEAD, VERDICT, "b", written), (last_due, VERDICT, "a", other)
    ):  # fmt: skip
        claims = {"unsupported_claims": [{"seat": word.removesuffix(" wins"), "claim": "x"}]} if debate is ROUND else {}
        with pytest.raises(BadReply, match=r"winner: the winner has fewer points, and .* may mean what is debated"):
            read(dumped(debate, ballot | claims | {"winner": word}), debate)
        for sure in (behind, f"Researcher {behind.upper()}"):
            assert read(dumped(debate, ballot | claims | {"winner": sure}), debate).data["winner"] == behind


def test_letters_of_swapped_scores_are_not_read() -> None:
    """Letters for the keys of scores that contradict the winner are asked for again."""
    by_letters = {"A": BALLOT["scores"]["b"], "B": BALLOT["scores"]["a"]}
    with pytest.raises(BadReply, match=r"scores: the winner has fewer points, and 'A', 'B' may mean"):
        read(dumped(ROUND, BALLOT | {"scores": by_letters}), ROUND)


def test_a_concession_is_read_from_whole_names() -> None:
    """Who conceded is read from a key or a whole name. A short word, or a position such as `Yes`, which may say whether
    a side conceded, is asked for again; so are words that say who won. `No` says that none did."""
    won = ("B won", "Winner: B", "B wins", "B is the winner")
    short = [(ROUND, written) for written in ("B", "(b)", "side B", "Con", "the Con side", "the winner B", *won)]
    for debate, written in [*short, *((YES_OR_NO, words) for words in ("Yes", "yes", "Not yet.", "not yet"))]:
        with pytest.raises(BadReply, match=r"conceded: .* is not one of a, b, null"):
            read(dumped(debate, BALLOT | {"conceded": written}), debate)
    for written in ("b", "Researcher B", "**researcher b** (Con)"):
        assert read(dumped(ROUND, BALLOT | {"conceded": written}), ROUND).data["conceded"] == "b"
    for written in won:
        assert read(dumped(ROUND, BALLOT | ballot_fields(4, 8, winner=written)), ROUND).data["winner"] == "b"
    assert read(dumped(YES_OR_NO, BALLOT | {"conceded": "No"}), YES_OR_NO).data["conceded"] is None


@for_each(["Neither", "A draw", "They drew a tie", "It ends in ties"])
def test_words_for_no_winner_that_are_debated_are_not_read(position: str) -> None:
    """`Neither`, or `Draw`, may be a position, or say that none won: it is asked for again. The other position and the
    exact key for a tie are read."""
    debate = debating(FINAL, positions={"a": "The Greens", "b": position})
    words = "Neither|Neither won|neither is the winner" if position == "Neither" else "Draw|the draw|Draw won|tied|Tie"
    for winner in words.split("|"):
        with pytest.raises(BadReply, match=r"winner: .* is not one of a, b, tie"):
            read(dumped(debate, VERDICT | {"winner": winner}), debate)
    for winner, changes in (("a", {"winner": "the greens"}), ("tie", {"winner": "tie", "strength": None})):
        assert read(dumped(debate, VERDICT | changes), debate).data["winner"] == winner


def test_the_answer_to_an_issue_is_no_side() -> None:
    """With the positions `Yes` and `No`, `No` for an issue may answer its question: it is asked for again."""
    field = Field(kind="choice", options=("a", "b", "even"), per_issue=True)
    context = ShapeContext(
        sides=("a", "b"), criteria=(), min=1, max=10, rounds=1, strictness="strict", issues=("I1", "I2")
    )
    phrases = {"researcher a": "a", "yes": "a", "researcher b": "b", "no": "b"}
    written = {"issues": {"I1": "No", "I2": "Researcher B"}}
    read_words = SideWords(phrases, positions=("yes", "no"))
    assert normalize({"issues": field}, written, context, read_words).value["issues"] == {"I1": "No", "I2": "b"}


def test_keys_by_other_spellings_and_a_wrapper() -> None:
    """Keys in capitals or with spaces are those that are asked for, and an object around the ballot is left out."""
    own = signed(VERDICT, code_of(FINAL))
    spelled = {key.replace("_", " ").title(): value for key, value in own.items()}

    assert read(json.dumps(spelled), FINAL).data == VERDICT
    wrapped = json.dumps({"final_verdict": own})
    for text in (wrapped, f'It is 5" wide {{so}}:\n{wrapped}', f"{wrapped[:-1]},}}", f"{wrapped[:-2]},}}}}"):
        assert read(text, FINAL).data == VERDICT


TEXT, CODE = dumped(FINAL, VERDICT), code_of(FINAL).text
ASKED_AGAIN = {
    "no winner": dumped(FINAL, {key: value for key, value in VERDICT.items() if key != "winner"}),
    "winner null": dumped(FINAL, VERDICT | {"winner": None}),
    "winner unknown": dumped(FINAL, VERDICT | {"winner": "the better one"}),
    "two winners": dumped(FINAL, VERDICT | {"winner": ["a", "b"]}),
    "either winner": TEXT.replace('"winner": "a"', '"winner": "a" or "b"'),
    "an object for a text": dumped(FINAL, VERDICT | {"justification": {"text": "So it is."}}),
    "an object for an empty field": dumped(FINAL, VERDICT | {"converged_on": {"text": "So it is."}}),
    "an object for a text of a list": dumped(FINAL, VERDICT | {"unresolved_questions": []}).replace(
        "[]", '[{"question": "Why?"}]'
    ),
    "winner twice": TEXT.replace('"winner": "a"', '"winner": "a", "winner": "b"'),
    "winner twice, with a fault": TEXT.replace('"winner": "a"', '"winner": "a", "winner": "b"')[:-1] + ",}",
    "winner spelled twice": dumped(FINAL, VERDICT | {"Winner": "b"}),
    "consensus on nothing": dumped(FINAL, VERDICT | {"winner": "consensus"}),
    "cut off": TEXT[:-1],
    "cut off in a text": TEXT[:-20],
    "cut off in a list": TEXT[: TEXT.index("Who pays?") + 4],
    "a damaged key": TEXT.replace('"winner": "a"', '"wi\nner": "a"').replace(', "just', '"winner": "b", "just', 1),
    "a damaged value": TEXT.replace('"winner": "a",', '"winner":"winner": "b" "a",'),
    "two ballots": TEXT + dumped(FINAL, VERDICT | {"winner": "b"}),
    "two fences": f"```json\n{TEXT}\n```\nor\n```json\n{dumped(FINAL, VERDICT | {'winner': 'b'})}\n```",
    "a quoted ballot before a faulty one": f'A says: {dumped(FINAL, VERDICT | {"winner": "b"})} Mine: {TEXT[:-1]},}}',
    "a quoted ballot in a fence": f"```json\n{dumped(FINAL, VERDICT | {'winner': 'b'})}\n```\nMine: {TEXT[:-1]},}}",
    "a draft in another object": json.dumps({"draft": json.loads(TEXT), "winner": "b"}),
    "a draft in a whole ballot": json.dumps({"draft": json.loads(TEXT)} | VERDICT | {"winner": "b"}),
    "a draft in prose": f'Mine is {{"draft": {TEXT}, "note": "No {{", "winner": "b"}}, then.',
    "a draft in an object with a fault": f'{{"note": "}}", "draft": {TEXT}, "winner": "b",}}',
    "a draft under a key without marks": f'{{winner: "b", draft: {TEXT}, "draft": 1}}',
    "a draft with a fault": f'{{"draft": {TEXT[:-1]},}}, "winner": "b"}}',
    "a draft after a comment": f'{{"winner": "b", "draft": /* before the rebuttal */ {TEXT}}}',
    "a draft in a fence": f'{{"winner": "b", "draft":\n```json\n{TEXT}\n```\n}}',
    "a draft in marks": f"{{'winner': 'b', \"draft\": '{TEXT}'}}",
    "a draft in round brackets": f'{{"winner": "b", "draft": ({TEXT})}}',
    "a draft after an arrow": f'{{"winner" => "b", "draft" => {TEXT}}}',
    "a draft after its key": f'{{winner: b; "draft" {TEXT}}}',
    "a draft far from its key": f'{{"winner": "b", "draft":{" " * 300}{TEXT}}}',
    "a draft beside a code in a text": f'{{"note": "No }} {CODE}", "winner": "b", "idea" {TEXT}}}',
    "a draft in a list": json.dumps({"drafts": [json.loads(TEXT)]}),
    "a draft under its own name": f'So: {{"idea": {TEXT}}}',
    "a draft after a brace in two lines": f'{{"winner": "b", "why": "A list:\n}}", "draft": {TEXT}}}',
    "a draft with a fault after that": f'{{"winner": "b", "why": "A list:\n}}", "draft": {TEXT[:-1]},}}}}',
    "a draft after a brace in other marks": f"{{'winner': 'b', 'why': 'So }}', 'draft': {TEXT}}}",
    "a draft after a brace in inner marks": f'{{"winner": "b", "why": "No "}}" there", "draft" {TEXT}}}',
    "a draft in what is cut off": f'{{"winner": "b", "idea": {TEXT}',
    "a draft after a comment in what is cut off": f'{{"winner": "b", "idea": /* before the rebuttal */ {TEXT}',
    "a draft in a fence in what is cut off": f'{{"winner": "b", "idea":\n```json\n{TEXT}\n```\n',
    "a draft after its key in what is cut off": f"{{'winner': 'b', 'note': 'No {{', 'idea' {TEXT}, 'why': 'It",
    "a draft in a paragraph of what is cut off": f'{{"winner": "b", "draft":\n\n{TEXT}',
    "a draft after a key without marks": f"{{winner: b, draft:\n{TEXT}",
    "a draft behind a brace that is spoken of": (
        f'You asked for "{{", so here it is: {{"why": "A }} alone.", "winner": "b", "idea": {TEXT}, "n": "a {{ more"}}'
    ),
    "a draft after a tag in a text": f'{{"winner": "b", "n": "It is like </think>: it ends.", "idea": {TEXT}}}',
    "a draft after a tag in a ballot with a fault": f"{TEXT[:-1].replace('So it', 'A </think>')},}}\nOnce: {TEXT}",
    "a draft after a comment and a gap": f'{{"winner": "b", "idea": // first\n\n{TEXT}, "n": "A {{ is none."}}',
    "a draft without the first brace": f'"winner": "b", "idea": {TEXT}, "n": "A {{ is none."}}',
    "a draft after a tag and before one": f'{{"winner": "b", "n": "So </think> it", "idea": {TEXT}, "m": "<think>.",}}',
    "a draft in a text in backticks": f'`{{"winner": "b", "n": "My first was this.\n\n{TEXT}\n\nIt changed."}}`',
    "a draft after a mark in a text": f'{{"n": ""}} ends", say I.", "w": "b", "idea": {TEXT}, "m": "A {{"}}',
    "a ballot in a list of prose": f"So [first\n```json\n{TEXT}\n```\n, second]",
    "a ballot behind another and a comma": f'{{"winner": "b"}}, {TEXT}',
    "a ballot around reasoning": TEXT.replace(', "winner"', ', <think>No.</think> "winner"'),
    "a key of two words in a text": TEXT.replace("So it is.", 'It "is" so; follow up: more', 1),
    "a code in a text before a ballot": f"It said {CODE}, and {CODE} again.\n{TEXT}",
    "only prose": "A wins, by a nose.",
    "a negated winner": TEXT.replace('"winner": "a"', '"winner": !a'),
    "a doubtful winner": TEXT.replace('"winner": "a"', '"winner": a?'),
    "a number under another key": dumped(FINAL, VERDICT | {"confidence": 0.8}),
    "an object under another key": dumped(FINAL, VERDICT | {"reasoning": {"a": [1]}}),
    "an extra key": dumped(FINAL, VERDICT | {"confidence": "high"}),
    "a null left out": dumped(FINAL, {key: value for key, value in VERDICT.items() if key != "converged_on"}),
    "a reason for the winner": dumped(FINAL, VERDICT | {"winner_reason": "It was."}),
    "another final winner": dumped(FINAL, VERDICT | {"Final Winner": "b"}),
}  # fmt: skip


@for_each(["(No `<think>` block.)\n{}", "{}\nDone, no </think> needed.", "<think>Mine:\n{}</think>\nSo be it."])
def test_a_tag_beside_a_ballot_is_the_reason(form: str) -> None:
    """A judge whose ballot has its code is not told that this is missing where a tag of reasoning is in the way."""
    for text in (TEXT, f"{TEXT[:-1]},}}"):
        with pytest.raises(BadReply, match=r"a tag of private reasoning stands around or beside the JSON object"):
            read(form.replace("{}", text), FINAL)


@for_each(ASKED_AGAIN.values())
def test_a_winner_is_never_guessed(text: str) -> None:
    """Where a winner is missing or contradictory, or the reply is not whole, it is refused and asked for again."""
    with pytest.raises(BadReply, match="within other braces, and so does not count" if '"draft' in text else None):
        read(text, FINAL)


@for_each([0, 11, -1, "0/10", "11/10", "7/5", "7 or 8", "7-8", "seven", "", None, True, [7, 8], "70%", {"x": 7},
             {"score": 7, "max": 100}, {"score": 7, "scale": "1 to 5"}, {"score": 7, "out_of": "100"},
             {"score": 7, "x": 1}])  # fmt: skip
def test_a_score_is_never_guessed(score: Any) -> None:
    """A score outside the scale, of another scale or without one meaning is asked for again."""
    ballot = copy.deepcopy(BALLOT)
    ballot["scores"]["a"]["use_of_evidence"] = score
    with pytest.raises(BadReply, match=r"scores\.a\.use_of_evidence: .* is not a number from 1 to 10"):
        read(dumped(ROUND, ballot), ROUND)


@for_each(
    [
        ({"conceded_by": "b"}, "conceded"),
        ({"Who conceded?": "b"}, "conceded"),
        ({"conceded_by": "Researcher B"}, ""),
        ({"Final Winner": "b"}, ""),
        ({"final_scores": {"a": dict.fromkeys(SCORES, 5), "b": dict.fromkeys(SCORES, 6)}}, ""),
        ({"convergence_detected": True}, ""),
        ({"convergence_found": {"detected": True, "criteria": ["same claim"], "side": "both"}}, ""),
        ({"scores": {"a": SCORES | {"final_use_of_evidence": 3}, "b": SCORES}}, ""),
        ({"scores": {"a": SCORES, "b": SCORES, "b (revised)": SCORES | {"use_of_evidence": 9}}}, ""),
    ]
)
def test_what_counts_is_not_dropped(row: tuple[dict[str, Any], str]) -> None:
    """A value under a misspelt key of a field that counts is not dropped; a field of another setup is."""
    changes, without = row
    ballot = {name: value for name, value in BALLOT.items() if name != without} | changes
    with pytest.raises(BadReply, match=r"there is no such|is not an object with the keys"):
        read(dumped(ROUND, ballot), ROUND)
    lenient = debating(ROUND, strictness="standard")
    plain_ballot = {name: value for name, value in BALLOT.items() if name != "unsupported_claims"}
    event = read(dumped(lenient, BALLOT | {"dry": False}), lenient)
    left_out = "left out, since this debate does not ask for it"
    assert event.data == plain_ballot
    assert [*event.changes] == [f"dry: False {left_out}", f"unsupported_claims: [] {left_out}"]
    with pytest.raises(BadReply, match="'unsupported_claims', 'x': these 2 are no fields; the fields are scores"):
        read(dumped(lenient, BALLOT | {"unsupported_claims": [plain_ballot], "x": 1}), lenient)
    shape = {"winner": Field(kind="choice", when=Condition(strictness="standard"))}
    asked = schedule.shape_context(ROUND, ROUND.due[0])
    assert normalize(shape, {"winner": "a"}, asked, SideWords()).value == {"winner": "a"}


PIECES = [
    "{", "}", "[", "]", '"', "'", ":", ",", "\\", "\n", "```", "```json\n", "<think>", "</think>", "//", "/*", "#",
]  # fmt: skip
PIECES += ["null", "None", "winner", '"winner": "a"', '"winner": "b"', "7/10", "\x00", "\ud800", "“", TEXT, TEXT[:90]]


@settings(many, deadline=None)
@given(st.lists(st.sampled_from(PIECES) | st.text(max_size=8), max_size=30).map("".join))
def test_hostile_text_is_read_or_refused(text: str) -> None:
    """Whatever a judge wrote, reading it gives a ballot or a refusal, and a ballot has the winner that was written."""
    try:
        event = read(text, FINAL)
    except BadReply:
        return
    assert f'"winner": "{event.data["winner"]}"' in text


@settings(many, deadline=None)
@given(st.integers(0, len(TEXT) - 1), st.sampled_from(["", "}", "]}", '"}', '"]}']), st.sampled_from(PIECES))
def test_a_damaged_ballot_keeps_its_winner(cut: int, end: str, piece: str) -> None:
    """A ballot that is cut off, or has something put into it, is refused or says who it said had won."""
    for text in (TEXT[:cut] + end, TEXT[:cut] + piece + TEXT[cut:]):
        try:
            event = read(text, FINAL)
        except BadReply:
            continue
        assert event.data["winner"] == "a" or '"winner": "b"' in text


@pytest.mark.parametrize("winner", ["a", "b"])
def test_sloppy_judges_are_understood(winner: str) -> None:
    """Whatever habits come together in the replies of a judge, all say who it meant."""
    turns = ("1.verdict.judge", "final.verdict.judge", "final.dissent.judge")
    due = {turn: play_debate(1, until=turn) for turn in turns}
    for n in range(20):
        for turn, debate in due.items():
            asked = brief(debate, debate.due[0], code=code_of(debate)).messages[-1].parts[-1]
            title = debate.format.heading_of(debate.due[0])
            text = sloppy_judges.written(title, winner, n, asked)
            if '"reasoning"' in text:
                with pytest.raises(BadReply, match="'reasoning': there is no such field"):
                    read(text, debate)
                text = sloppy_judges.written(title, winner, n, f"{asked}\n<<< COMPLAINTS")
            ballot = read(text, debate).data
            assert turn == turns[-1] or ballot["winner"] == winner
