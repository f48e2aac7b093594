"""A reserved line counts as a debater's own last line with the code of its turn, and never where it is quoted, shown
as code or kept private."""

from __future__ import annotations

import re

from core.folding import CONCEDE, DECLINE, many, opened, reply, speech_event
from corpus import for_each
from hypothesis import given
from hypothesis import strategies as st
from reply_codes import code_of

from debate_orchestrator.core import speech_rules, tally
from debate_orchestrator.core.events import Declined, Spoke
from debate_orchestrator.core.fold import apply, fold
from debate_orchestrator.core.reply import Reply
from debate_orchestrator.prompting.replies import parse_reply
from debate_orchestrator.util.errors import BadReply

LINE = "{}"
"""Where the reserved line is in a speech of these tests."""
WRAPPED = {
    "fence": "They would have me write:\n\n```\n{}\n```",
    "open fence": "So.\n\n```text\n{}",
    "open fence with a paragraph": "So.\n\n~~~\nIt is over.\n\n{}",
    "fence in a list": "- So:\n\n  ```\n  {}\n  ```",
    "indented": "So.\n\n    {}",
    "comment": "So.\n<!--\n{}\n-->",
    "open comment": "So.\n\n<!-- They want this.\n\n{}",
    "block quote": "> {}",
    "block quote with a paragraph": "> It is over.\n>\n> {}",
    "list item": "- {}",
    "quotation": 'She wrote: "\n{}\n"',
    "quotation over several lines": "She wrote: “It is over.\n\n{}”",
    "quoted on its line": '"{}"',
    "folded away": "<details><summary>What they want</summary>\n\n{}\n</details>",
    "code span": "They want `this line:\n{}`",
    "announced": "They would have me write this:\n\n{}",
    "hypothetical": "Were I to write\n\n{}\n\nit would be a lie.",
    "hypothetical and last": "**If all of that were true, I would write:**\n\n{}",
    "middle": "{}\n\nThat is what they want to read.",
    "thinking": "<think>\n{}\n</think>\nSo it is.",
    "open thinking": "<think>I might write\n\n{}",
    "thinking that is never closed": "My case stands.\n\n<|channel|>analysis<|message|>Should I?\n\n{}",
    "thinking without a beginning": "I might write\n\n{}\n</think>\n\nSo it is.",
    "open block quote of HTML": "So.\n\n<blockquote>\n\n{}",
    "open code of HTML": "So.\n\n<PRE class='x'>\n\n{}",
    "folded away and open": "So.</details>\n\n<details><summary>What they want</summary>\n\n{}",
    "in a sentence": "I will not write {}",
    "right below prose": "I will not write this.\n{}",
    "closing tag on a line": "My opponent's bot printed this.\n\n</think>\n\n{}",
    "before reasoning": "They would have me write.\n\n{}\n\n<think>\nNever.\n</think>",
}
"""Speeches in which the line decides nothing, even with the code of its turn."""
OPEN_QUOTATIONS = [f"She wrote: {mark}It is over.\n\n{{}}" for mark in '"“„‘‚‹«〝《「‟＂'] + [
    "She wrote: ''It is over.\n\n{}",
    "The dogs’ owner wrote: ‘It’s over.\n\n{}",
    "She wrote: “He «was.\n\n{}",
]
"""Speeches in which a line without a code decides nothing."""
OWN = {
    "alone": "{}",
    "after a paragraph": "You are right.\n\n{}",
    "after a rule of hyphens": "So it is.\n\n---\n\n{}",
    "after a closed fence": "So it is:\n\n```python\nx = '''\n```\n\n{}",
    "after a list": "- One thing.\n- Another thing\n\n{}",
    "after a heading": "## In closing\n\n*You are right* (and [more](x)\n\n{}",
    "after a quotation": "> She says so.\n\n{}",
    "after closed quotation marks": "She said “so”, he said 'no', and it’s \"fine\".\n\n{}",
    "after other quotation marks": "„So“, «so», »so«, ‚so‘, 「so」, “so”.\n\n{}",
    "after closed HTML": "<blockquote>So.</blockquote> `<details>` folds.\n\n{}",
    "after single marks": "The dogs’ owner wrote ‘so’, ‚so‘, ‹so›, “he „was“ so”, ''so''.\n\n{}",
    "after a comment": "So. <!-- a note -->\n\n{}",
    "after thinking": '<think>"Hm.\n```\n</think>\n\nYou are right.\n\n{}',
    "after a mention of the tag": "Models write `<think>` before they speak.\n\n{}",
}


START = fold([opened(2)])


def conceded(text: str) -> str | None:
    """Who has conceded once side A has given that speech."""
    return tally.conceding_side(apply(START, speech_event("1.opening.a", text)))


def declines(text: str) -> bool:
    """Whether that speech declines to argue; a speech of which nothing would be heard does nothing."""
    try:
        return isinstance(parse_reply(START, START.due[0], reply(text), None), Declined)
    except BadReply:
        return False


CODE = code_of(START)


def with_code(text: str, code: str = CODE.text) -> Spoke | Declined | None:
    """What a seat does with that speech that is shown the code of its turn; None if nothing would be heard of it."""
    said = reply(text.replace("CODE", code))
    try:
        event = parse_reply(START, START.due[0], said.model_copy(update={"spec": "host"}), CODE)
    except BadReply:
        return None
    assert isinstance(event, Spoke | Declined)
    return event


def decides(text: str, code: str = CODE.text) -> bool:
    """Whether that speech of such a seat concedes or declines."""
    event = with_code(text, code)
    return isinstance(event, Declined) or (event is not None and event.concedes is True)


def test_a_line_that_is_shown_is_not_said() -> None:
    """In code, a quotation, a comment or private reasoning, or before other words, a reserved line is not an act:
    neither of a seat without a code nor, with the right code, of one that has it."""
    for form in WRAPPED.values():
        assert conceded(form.replace(LINE, CONCEDE)) is None, form
        assert not declines(form.replace(LINE, DECLINE)), form
        for line in (CONCEDE, DECLINE):
            assert not decides(form.replace(LINE, f"{line} [CODE]")), form
    for form in OPEN_QUOTATIONS:
        assert conceded(form.replace(LINE, CONCEDE)) is None, form


def test_lines_for_the_other_side_stop_a_concession_where_they_are_forbidden() -> None:
    """In other formats a speech may sum up what each side said. In a journal without codes they stop it as they did in
    the version that wrote it, which knew fewer of them."""
    said = f"Researcher B: One source.\n\n{CONCEDE}"
    assert decides(f"{said} [CODE]") and conceded(said) is None
    for other in (f"a. {said}", f"1. {said}", said.replace("B:", "B (Con):"), said.replace("B:", "B：")):
        assert conceded(other) == "a", other
    debate = fold([opened(2, rules=START.format.model_copy(update={"forbids": ("other's lines",)}))])
    turn, told = debate.due[0], reply(f"{said} [{code_of(debate).text}]").model_copy(update={"spec": "host"})
    event = parse_reply(debate, turn, told, code_of(debate))
    remark = speech_rules.ignored_line_remark_of(apply(debate, event), turn)
    assert "with lines for the other side never concedes" in remark


def test_the_last_line_counts() -> None:
    """As the speech's own last line a reserved line counts, whatever is above it."""
    for form in OWN.values():
        assert conceded(form.replace(LINE, CONCEDE)) == "a", form
        assert declines(form.replace(LINE, DECLINE)), form


def test_only_the_code_of_the_turn_decides() -> None:
    """A seat that is shown its lines with a code concedes and declines with that code alone, whatever is above."""
    for form in (*OWN.values(), *OPEN_QUOTATIONS):
        for line, kind in ((CONCEDE, Spoke), (DECLINE, Declined)):
            said = form.replace(LINE, f"{line} [CODE]")
            assert decides(said) and isinstance(with_code(said), kind), form
            for wrong in (form.replace(LINE, line), said.replace("[CODE]", "[]"), said.replace("CODE", "BCDFGH")):
                assert not decides(wrong), wrong


def speech_of(event: Spoke | Declined) -> str:
    """What others hear of it, in capitals."""
    return speech_rules.visible_speech(apply(START, event), START.due[0]).text.upper()


@for_each(
    [
        *("**LINE [CODE]**", "_LINE [CODE]_", "LINE [CODE].", "**LINE [CODE].**", " LINE [CODE]  \r\n", "LINE [code]"),
        *("**LINE** [CODE]", "BARE [CODE]", "LINE  [CODE]", "**BARE**.  [CODE].", "SMALL [CODE]", "LINE[CODE]"),
        *("LINE `[CODE]`", "LINE \\[CODE\\]", "**LINE** `[CODE]`", "## LINE [CODE]", "LINE\u00a0[CODE]"),
        *("LINE **[CODE]**\u00a0", "LINE [CODE]\n\n[ Prompt: 23.0 t/s | Generation: 8.9 t/s ]\n\n\nExiting...\n"),
        *("LINE [CODE]<end_of_turn>\n<eos>", "LINE [CODE]<｜end▁of▁sentence｜>", "LINE [CODE]<|END_OF_TURN_TOKEN|>"),
    ]
)
def test_a_code_survives_how_models_write(form: str) -> None:
    """A line with its code may be emphasised as a whole or without the code, have a full stop or none and up to two
    spaces before the code, be a heading, and hold words and code in any case. Nobody hears the code."""
    for line in (CONCEDE, DECLINE):
        said = form.replace("LINE", line).replace("BARE", line.removesuffix(".")).replace("SMALL", line.capitalize())
        said = f"You are right.\n\n{said.replace('[code]', f'[{CODE.text.lower()}]')}"
        assert decides(said), said
        event = with_code(said)
        assert event is not None
        alone = said.removeprefix("You are right.\n\n")
        for before in ("<|channel|>final<|message|>", "[THINK]Hm.[/THINK]", "analysisWe.assistantfinal"):
            assert decides(f"{before}{alone}"), before
        within = said.partition("<")[0].partition("\n\n[")[0]
        answer = with_code(f"<think>\nHm.\n</think>\n<answer>\n{within}\n</answer>")
        assert answer is not None and CODE.text not in speech_of(answer)
        assert CODE.text not in speech_of(event)


@for_each(
    [
        *(
            "> **LINE** [CODE]",
            "I will not say LINE  [CODE]",
            "```\nBARE [CODE]\n```",
            "**LINE [CODE]",
            "LINE   [CODE]",
        ),
        "assistantfinal</think>\n\nLINE [CODE]",
    ]
)
def test_other_forms_of_the_line_with_a_code_decide_nothing(form: str) -> None:
    """A line with its code that is quoted, in a sentence or in code, or in another form, is not an act."""
    for line in (CONCEDE, DECLINE):
        assert not decides(form.replace("LINE", line).replace("BARE", line.removesuffix(".")))


def test_what_is_heard_of_the_line_has_no_code() -> None:
    """The code of a turn is kept in the reply, and in nothing that others hear."""
    for line in (CONCEDE, DECLINE):
        event = with_code(f"So it is [12].\n\n{line} [CODE]")
        assert event is not None and event.reply.text.endswith(f"{line} [{CODE.text}]")
        debate = apply(START, event)
        assert speech_rules.visible_speech(debate, START.due[0]).text == f"So it is [12].\n\n{line}"


def test_a_missing_code_is_noticed() -> None:
    """A line that counts but for its code loses nothing: the speech is one, and what it lacks can be told."""
    around = (
        "So it is.\n\n{}",
        "{} [BCDFGH]",
        "<think>x</think>{}",
        "<answer>{}</answer>",
        "assistantfinal{}",
        "{}<|end|>",
    )
    for form in around:
        event = with_code(form.replace("{}", CONCEDE))
        assert isinstance(event, Spoke) and event.concedes is False
        debate, turn = apply(START, event), START.due[0]
        assert tally.conceding_side(debate) is None
        assert "only with the code of its turn" in speech_rules.ignored_line_remark_of(debate, turn)


SAID = "So it is, and that's how she'd 'have' it “then” (so). 3,000 C++ 5 < 6 * _x_"
WORDS = st.lists(st.sampled_from(re.split(" ", SAID)))
PARAGRAPH = WORDS.filter(bool).map(" ".join).map("It is so: {}, then.".format)
PROSE = st.lists(PARAGRAPH, max_size=4).map("\n\n".join)
OPENINGS = ["```\n", "~~~~\n", "<!-- ", "> ", ">> ", "- ", "“", "„", "«", "「", '"']


@many
@given(PROSE, st.sampled_from(["\n\n", "\n\n \n"]))
def test_plain_prose_never_hides_the_line(prose: str, gap: str) -> None:
    """After any plain paragraphs the last line concedes."""
    assert conceded(f"{prose}{gap}{CONCEDE}") == "a"


@many
@given(PROSE, st.sampled_from(OPENINGS), PARAGRAPH, PROSE)
def test_whatever_is_opened_hides_the_line(before: str, opening: str, inside: str, after: str) -> None:
    """In whatever was opened and not closed, and with any words after it, the line concedes nothing."""
    assert conceded(f"{before}\n\n{opening}{inside}\n{CONCEDE}") is None
    assert conceded(f"{before}\n\n{opening}{inside}\n{CONCEDE}\n\n{after}x") is None


@for_each(
    [
        f'So "it\n{CONCEDE}',
        f"{CONCEDE}\n\nWell argued.",
        f"> {CONCEDE}",
        f"**{CONCEDE}**",
        "I concede the debate",
        f"```\n{CONCEDE}\n```",
        f"They would have me write.\n\n{CONCEDE}\n\n<think> tags would follow. I do not concede.",
    ]
)
def test_a_line_that_does_not_count_is_noticed(text: str) -> None:
    """Where a reserved line stands alone on a line and does not count, that can be told."""
    debate = apply(START, speech_event("1.opening.a", text))
    assert "only as the last line, exactly so" in speech_rules.ignored_line_remark_of(debate, START.due[0])


@for_each(
    ["So.", CONCEDE, f"> {DECLINE}\n\n{CONCEDE}", f"I will not say {CONCEDE}", f"<think>\n{CONCEDE}\n</think>\nSo."]
)
def test_nothing_is_noticed_without_need(text: str) -> None:
    """A line that counts, one within a sentence and one in private reasoning are nothing to tell about."""
    debate = apply(START, speech_event("1.opening.a", text))
    assert speech_rules.ignored_line_remark_of(debate, START.due[0]) == ""


def test_the_last_of_both_lines_counts() -> None:
    """Where a speech holds both lines, the last one says what it is."""
    assert declines(f"So.\n\n{CONCEDE}\n\n{DECLINE}")
    assert not declines(f"So.\n\n{DECLINE}\n\n{CONCEDE}")
    assert conceded(f"So.\n\n{DECLINE}\n\n{CONCEDE}") == "a"


def test_a_speech_that_was_cut_has_no_last_line() -> None:
    """Where a limit of tokens cut the reply, it is not known what would have followed the line."""
    debate = fold([opened()])
    for line in (CONCEDE, DECLINE):
        event = parse_reply(
            debate, debate.due[0], Reply(text=f"So.\n\n{line}", brief_digest="0", spec="x", ended="cut"), None
        )
        assert not isinstance(event, Declined), line
    debate = apply(
        debate, event.model_copy(update={"reply": Reply(text=CONCEDE, brief_digest="0", spec="x", ended="cut")})
    )
    assert tally.conceding_side(debate) is None
