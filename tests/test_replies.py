"""Replies into events: what is taken as it is, and what is refused with every complaint."""

from __future__ import annotations

import json
from typing import Any

import pytest
from core.folding import (
    ADVERSARIAL,
    CONCEDE,
    DECLINE,
    PLAIN,
    ballot_fields,
    make_format,
    opened,
    phase,
    plainest_reply,
    play_debate,
    rejected_event,
)
from corpus import for_each

from debate_orchestrator.core import schedule, tally
from debate_orchestrator.core.events import Declined, Spoke, StructuredReplyGiven
from debate_orchestrator.core.fold import apply, fold
from debate_orchestrator.core.reply import Reply
from debate_orchestrator.core.state import DebateState
from debate_orchestrator.prompting.briefs import brief
from debate_orchestrator.prompting.person_turns import reply_problems, speech_remarks
from debate_orchestrator.prompting.replies import MAX_SIZE, decode, parse_reply, parse_structured
from debate_orchestrator.util.errors import BadReply

SPEECH, BALLOT = play_debate(until="1.opening.b"), play_debate(until="1.verdict.judge")


def reply(text: str) -> Reply:
    return Reply(text=text, brief_digest="0" * 64, spec="host")


def said(text: str, debate: DebateState = SPEECH) -> Spoke | Declined | StructuredReplyGiven:
    """The event that a text amounts to for the turn that is due."""
    return parse_reply(debate, debate.due[0], reply(text), None)


def vote(**changes: Any) -> dict[str, Any]:
    """A ballot for round 1, with changes."""
    turn = BALLOT.due[0]
    return plainest_reply(BALLOT.shape(turn) or {}, schedule.shape_context(BALLOT, turn)) | ballot_fields() | changes


# Bytes


@for_each(
    [
        (b"So.", "So."),
        ("Sø — 試 🙂\n".encode(), "Sø — 試 🙂\n"),
        (b"\xef\xbb\xbfSo.", "So."),
        (b"\tSo.\r\n\x0c\x1b[1m", "\tSo.\r\n\x0c\x1b[1m"),
        (b"x" * MAX_SIZE, "x" * MAX_SIZE),
        (b"So\x01\x07.", "So\x01\x07."),
    ]
)
def test_text_is_taken_to_the_letter(data: bytes, text: str) -> None:
    """UTF-8 of up to the largest size is text as it stands, less a byte order mark."""
    assert decode("1.opening.b", data) == text


@for_each([
    (b"", "the reply is empty"), (b" \n\t\r\n", "the reply is empty"), (b"\xef\xbb\xbf", "the reply is empty"),
    (b"So \xff", "not UTF-8 text .at offset 3"), ("So.".encode("utf-16"), "not UTF-8 text .at offset 0"),
    (b"\xed\xa0\x80", "not UTF-8"), (b"\x89PNG\r\n", "not UTF-8"), (b"x" * (MAX_SIZE + 1), "262,145 bytes"),
    (b"x" * 5_000_000, "5,000,000 bytes"), (b"So\0.", "not text .a NUL byte at offset 2"),
])  # fmt: skip
def test_what_is_no_text(data: bytes, why: str) -> None:
    """What is empty, in another encoding or too long is refused with the turn's id and the reason."""
    with pytest.raises(BadReply, match=rf"^1\.opening\.b: .*{why}"):
        decode("1.opening.b", data)


# Speech


@for_each(["So.", " {} ", "```\nSo.\n```", f"> {DECLINE}", f"I never said: {DECLINE}", CONCEDE, "So\u202e"])
def test_speech_is_taken_as_it_is(text: str) -> None:
    """A speech is kept verbatim, whatever it looks like."""
    event = said(text)
    assert isinstance(event, Spoke)
    assert (event.turn_id, event.reply.text) == ("1.opening.b", text)


@pytest.mark.parametrize("debate", [SPEECH, BALLOT])
@pytest.mark.parametrize("text", ["", " ", "\n\t\n", "\u2003"])
def test_nothing_is_no_reply(text: str, debate: DebateState) -> None:
    """An empty reply is refused for a speech and for a ballot."""
    with pytest.raises(BadReply, match="the reply is empty"):
        said(text, debate)


@pytest.mark.parametrize("text", ["\u202e", "\u200b \ufeff\n", "\U000e0041\U000e007f"])
def test_what_can_not_be_seen_is_no_speech(text: str) -> None:
    """A speech without one visible character is refused."""
    with pytest.raises(BadReply, match="no visible character"):
        said(text)


# Ballots


@for_each(["{}", " \n{}\n ", "```json\n{}\n```", "```\n{}\n```", "\n```json \n{}\n```\n", "```json\r\n{}\r\n```"])
def test_json_may_stand_in_one_fence(form: str) -> None:
    """A ballot is taken as JSON alone or in one code fence, and the reply is kept verbatim."""
    text = form.replace("{}", json.dumps(vote(), indent=1))
    event = said(text, BALLOT)
    assert isinstance(event, StructuredReplyGiven)
    assert (event.data, event.reply.text) == (vote(), text)


@for_each([
    ('{"a": 1, "a": 1}', "'a' appears twice"),
    ('{"x": {"b": 1, "c": 2, "b": 3}}', "'b' appears twice"),
    ('[Infinity, -Infinity]', "Infinity is not JSON"),
    ('{"a": 1e999}', "too large"),
    ("[" * 100_000, "nested too deeply"),
    ("[" * 40 + "]" * 40, "nested more than 32 deep"),
    ("null null", "Extra data"),
])  # fmt: skip
def test_json_is_read_strictly(text: str, why: str) -> None:
    """What a lenient reader would take without a word is refused in one short line."""
    with pytest.raises(BadReply, match=why) as refused:
        parse_structured("1.verdict.judge", text)
    assert [len(one) < 300 and "\n" not in one for one in refused.value.problems] == [True]


@pytest.mark.parametrize(
    "own", ["{'kind': 'x', 'a': 'It is.'}", '{"kind": "x", "a": "It " is."}', "{kind: x, a: It is.}"]
)
def test_a_quoted_object_is_not_read_for_a_faulty_one(own: str) -> None:
    """Where an object without faults is quoted beside one with faults, and both have the same keys, neither counts."""
    quoted = '```json\n{"kind": "x", "a": "It is not."}\n```'
    with pytest.raises(BadReply, match="JSON objects that differ"):
        parse_structured("setup.positions.moderator", f"The topic is:\n{quoted}\n\nThese are mine:\n{own}")
    assert parse_structured("x", f"Here it is, {{as asked}}:\n{quoted}") == {"kind": "x", "a": "It is not."}


def test_every_complaint_comes_at_once() -> None:
    """A ballot that is wrong in three fields is refused with three complaints, each with the turn's id."""
    with pytest.raises(BadReply) as refused:
        said(json.dumps(vote(winner="c", justification="", feedback=1)), BALLOT)
    starts = [one.split(": ")[:2] for one in refused.value.problems]
    assert starts == [["1.verdict.judge", name] for name in ("winner", "justification", "feedback")]


def test_a_judge_can_not_decline() -> None:
    """The line that declines is not a ballot, and in a judge's speech it is speech."""
    with pytest.raises(BadReply):
        said(DECLINE, BALLOT)
    question = ADVERSARIAL.round[0].model_copy(update={"seats": ("judge",)})
    asking = ADVERSARIAL.model_copy(update={"round": (question,)})
    assert isinstance(said(DECLINE, fold([opened(rules=asking)])), Spoke)


def test_half_a_character_is_refused() -> None:
    """Half of a surrogate pair, in a value or in a key, is not a character and is refused."""
    for half in ["\\ud800", "\\uDFFF", "\\udead\\ud83d", "\\ude00\\ud83d", "\ud800"]:
        for place in ['"justification": "{}"', '"{}": 1']:
            with pytest.raises(BadReply, match="half a surrogate pair"):
                parse_structured("1.verdict.judge", "{" + place.replace("{}", half) + "}")


@pytest.mark.parametrize("text", ["So \ud800.", "\x00\x1b[2JSo.", "So\x07 it is."])
def test_a_speech_may_hold_what_no_file_or_screen_can(text: str) -> None:
    """Control characters and half surrogate pairs are no reason to refuse a speech; it can be written down."""
    event = said(text)
    assert isinstance(event, Spoke)
    assert event.reply.text.encode().decode() == text.replace("\ud800", "\ufffd")


# What others would hear of it


def held(**changes: Any) -> DebateState:
    """A debate whose debaters work in private and must say at least three words."""
    least = tuple(
        phase.model_copy(update={"min_words": 3, "max_words": 6}) if phase.reply == "text" else phase
        for phase in ADVERSARIAL.round
    )
    return fold([opened(rules=ADVERSARIAL.model_copy(update={"private_tag": "thinking", "round": least} | changes))])


@pytest.mark.parametrize("text", ["<thinking>All of it.</thinking>", "<thinking>One two three", "so</thinking>\n"])
def test_private_reasoning_alone_is_no_speech(text: str) -> None:
    """A speech of which nothing would be heard is refused, however often, with what to do about it."""
    debate = held()
    for _ in range(3):
        with pytest.raises(BadReply, match=r"outside private reasoning.*close the <thinking> tag"):
            said(text, debate)
        debate = apply(debate, rejected_event("1.opening.a", text))
    assert isinstance(said(f"One two three.{text}" if text.startswith("<") else f"{text}One two three.", debate), Spoke)


def test_a_speech_that_is_too_short_is_asked_for_once_more() -> None:
    """A speech of fewer words than the phase asks for is refused once; whatever comes then is taken. A person is told
    before it is handed in."""
    debate = held()
    assert reply_problems(debate, debate.due[0], brief(debate, debate.due[0]), "One two.") == []
    remark = "It has 2 words, and at least 3 are asked for."
    assert speech_remarks(debate, debate.due[0], "One two.") == [remark]
    assert speech_remarks(debate, debate.due[0], "One two three.") == []
    with pytest.raises(BadReply, match=r"1\.opening\.a: .* 2 words; at least 3 are needed\. Try: make the argument\."):
        said("One two.", debate)
    debate = apply(debate, rejected_event("1.opening.a", "One two."))
    assert isinstance(said("One two.", debate), Spoke)
    assert isinstance(said("One two three.", held()), Spoke)


LINE_BREAKS = "\n" * 250_000


@for_each(
    [
        f"One two {LINE_BREAKS} three.",
        f"One two three. {LINE_BREAKS}",
        f"{LINE_BREAKS} One two three.\n\n{DECLINE}",
        "One two " + "three" * 1_000,
    ]
)
def test_a_speech_of_too_many_characters_is_refused(text: str) -> None:
    """However few its words are: what others would read is held to fifty characters a word, or 2,000."""
    with pytest.raises(BadReply, match=r"1\.opening\.a: the speech has [\d,]+ characters in \d+ words; at most 2,000 "):
        said(text, held())


@pytest.mark.parametrize("line", [DECLINE, CONCEDE])
def test_what_is_said_in_private_is_not_heard(line: str) -> None:
    """The line that declines, or concedes, does neither in private reasoning; said aloud it does."""
    debate = held()
    event = said(f"<thinking>\nI could say\n{line}\n</thinking>\nOne two three.", debate)
    assert isinstance(event, Spoke)
    debate = apply(debate, event)
    assert tally.conceding_side(debate) is None
    unheard = said(f"One two three four five.\n{line}", held())
    assert isinstance(unheard, Spoke), "after the words that are heard it says nothing either"
    aloud = held()
    event = said(f"<thinking>\nNo.\n</thinking>\n{line}", aloud)
    assert isinstance(event, Declined if line == DECLINE else Spoke)
    aloud = apply(aloud, event)
    assert tally.conceding_side(aloud) == ("a" if line == CONCEDE else None)


# Forms that sides fill in

CASE = {"refused": {"kind": "boolean"}, "claim": {"kind": "text", "unless": {"refused": True}}}


def form() -> DebateState:
    """A debate in which a side's form is due."""
    shapes = PLAIN["shapes"] | {"case": CASE}
    return fold([opened(rules=make_format(shapes=shapes, round=[phase("case", "a", "b", reply="case")]))])


def test_a_form_is_taken_as_a_ballot_is() -> None:
    """A side's structured reply is taken in the shape asked for, a refusal in it too, and otherwise refused."""
    for case in ({"refused": False, "claim": "So."}, {"refused": True, "claim": None}):
        event = said(json.dumps(case), form())
        assert isinstance(event, StructuredReplyGiven)
        assert event.data == case
    for text in ("So.", DECLINE, json.dumps({"refused": False, "claim": None})):
        with pytest.raises(BadReply):
            said(text, form())


def test_a_providers_refusal_is_a_sides_own() -> None:
    """Where a provider refuses for a side, the side declines, in a form too; a judge's refusal is not a reply."""
    refused = Reply(text="", brief_digest="0", spec="x", ended="refused")
    for debate in (SPEECH, form()):
        assert isinstance(parse_reply(debate, debate.due[0], refused, None), Declined)
    with pytest.raises(BadReply):
        parse_reply(BALLOT, BALLOT.due[0], refused, None)


@for_each(['"', "'"])
def test_a_comment_hides_no_field(mark: str) -> None:
    """A speech that a judge copies without escaping its marks can't make a comment of the judge's own field."""
    text = """{"why": "It says "so", "winner": "a" # of all", which is wrong.", "winner": "b",\n"more": "1" // ok\n}"""
    with pytest.raises(BadReply):
        parse_structured("x", text.replace('"', mark))
    value = parse_structured("x", text.replace('"so", "winner": "a" # of all"', "so"))
    assert value == {"why": "It says so, which is wrong.", "winner": "b", "more": "1"}


def test_a_backslash_that_is_not_escaped_stays() -> None:
    """LaTeX with one backslash loses no letter, though JSON reads `\\n`, `\\t` and the like as other characters."""
    for written in (
        *(r"uno  \ne due", r"- \tan hour\n- \to", r"$5 more\nand $6", r"It costs $5\nor$6, a\tb"),
        *(r"In R$\nThe A$\nsubject", r"The `$a` is.\nThen `$b`.\textra", r"It says.\neg this\nless than"),
        *(r"So:\ni) It costs $5 a month\nii) It saves $9", r"d) $5\ne) $6", r"It costs $5\ni.e. $6"),
    ):
        assert parse_structured("x", f'{{"why": "{written}"}}') == json.loads(f'{{"why": "{written}"}}')
    for written, read_as in (
        (r"$P \neq NP$, $\beta$, $\frac{1}{2}$", r"$P \neq NP$, $\beta$, $\frac{1}{2}$"),
        (r"$\nu \ne\tau$, \(P\ne NP\) \\neq \\\neq", r"$\nu \ne\tau$, \(P\ne NP\) \neq \\neq"),
        (r"\[P\ne NP\] $$ x \nmid y $$", r"\[P\ne NP\] $$ x \nmid y $$"),
        (r"$0.999... \ne 1$, $f(\tau), p(\nu), a\ne.5$", r"$0.999... \ne 1$, $f(\tau), p(\nu), a\ne.5$"),
        (r"One.\nNot two,\n\nnot three.\tText\r\n", "One.\nNot two,\n\nnot three.\tText\r\n"),
    ):
        assert parse_structured("x", f'{{"why": "{written}"}}') == {"why": read_as}
        assert parse_structured("x", f'{{"why": "{written}",}}') == {"why": read_as}
