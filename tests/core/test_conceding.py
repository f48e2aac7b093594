"""A reserved line counts as a debater's own last line, and never where it is quoted, shown as code or kept private."""

from __future__ import annotations

import re

from core.folding import CONCEDE, DECLINE, many, opened, reply, speech_event
from corpus import for_each
from hypothesis import given
from hypothesis import strategies as st

from debate_orchestrator.core import speech_rules, tally
from debate_orchestrator.core.events import Declined
from debate_orchestrator.core.fold import apply, fold
from debate_orchestrator.core.reply import Reply
from debate_orchestrator.prompting.replies import parse_reply
from debate_orchestrator.util.errors import BadReply

LINE = "{}"
"""Where the reserved line stands in a speech of these tests."""
WRAPPED = {
    "closed by the mark of a list": "There is one cost: a) the move. They want “I was wrong.\n\n{}",
    "open single quotation": "They want the words ‘I was wrong.\n\n{}",
    "given to the other side": "Researcher B: You are right.\n\n{}",
    "below a label": "**Con:** You are right.\n\n{}",
    "below a heading": "#### Rebuttal - Researcher B\n\nYou are right.\n\n{}",
    "below a heading with a line": "Researcher B\n---\nYou are right.\n\n{}",
    "below a bold line": "**Researcher B (Con)**\n\nYou are right.\n\n{}",
    "below a bold line of a list": "- __Researcher B__\n\nYou are right.\n\n{}",
    "below brackets": "[B - REBUTTAL]\n\nYou are right.\n\n{}",
    "single quotation with an apostrophe": "They want ‘I was wrong. That’s all.\n\n{}",
    "single quotation behind a closed one": "The dogs’ owner wants ‘I was wrong.\n\n{}",
    "straight single quotation": "They want 'I was wrong. That's all.\n\n{}",
    "quotation of TeX": "\\begin{quote}\nI was wrong.\n\n{}",
    "fence": "They would have me write:\n\n```\n{}\n```",
    "open fence": "So.\n\n```text\n{}",
    "fence in a list": "- So:\n\n  ```\n  {}\n  ```",
    "indented": "So:\n\n    {}",
    "comment": "So.\n<!--\n{}\n-->",
    "block quote": "> {}",
    "list item": "- {}",
    "quotation": 'She wrote: "\n{}\n"',
    "curly quotation": "She wrote: “It is over.\n{}”",
    "the format's quote": "She wrote <quote>It is over.\n{}",
    "folded away": "<details><summary>What they want</summary>\n\n{}\n",
    "code span": "They want `this line:\n{}",
    "announced": "They would have me write this:\n\n{}",
    "hypothetical": "Were I to write\n\n{}\n\nit would be a lie.",
    "middle": "{}\n\nThat is what they want to read.",
    "thinking": "<think>\n{}\n</think>\nSo it is.",
    "open thinking": "<think>I might write\n{}",
    "thinking without a beginning": "I might write\n{}\n</think>\n\nSo it is.",
    "in a sentence": "I will not write {}",
    "right below prose": "I will not write this.\n{}",
    "fence of a list": "- a\n  ```\n\n```\nSo.\n\n{}",
    "a fence that is the head of a table": "```|<br>\n|-|-|\n</code>\n```\n\n{}",
    "announced by an ellipsis": "Then I would have to write …\n\n{}",
    "ornament": "She says: ❝I give up.\n\n{}",
    "bracketed tag": "[quote]\nfoo.\n\n{}",
    "directive": ":::quote\n\nSo.\n\n{}",
    "bracket of several paragraphs": "(This is what they want me to write.\n\n{}",
    "quoted closing tag": "They would have me write:\n\n> [/THINK]\n\n{}",
    "closing tag on a line": "My opponent's bot printed this:\n\n</think>\n\n{}",
    "before an opening tag": "They would have me write.\n\n{}\n\n<think> tags would follow. I do not concede.",
    "before working": "They would have me write.\n\n{}\n\n<think>\nNever.\n</think>",
    "quoted on its line": '"{}"',
}
UNSURE = {
    "after a comment": "So. <!-- a note -->\n\n{}",
    "after elements": "<b>So</b> it is.<br>\nAnd x < y > z.\n\n{}",
    "after a quotation of several paragraphs": "She wrote: “One.\n\n“Two.\n\n“Three.”\n\n{}",
}
"""Speeches of which a reader may not be sure: the line does not count there either."""
OWN = {
    "alone": "{}",
    "after a paragraph": "You are right.\n\n{}",
    "after a rule of hyphens": "So it is.\n\n---\n\n{}",
    "after a closed fence": "So it is.\n\n```python\nx = '''\n```\n\n{}",
    "after a list": "- One thing.\n- Another thing.\n\n{}",
    "after a quotation": "> She says so.\n\n{}",
    "after closed quotation marks": "She said “so”, he said 'no', and it’s \"fine\".\n\n{}",
    "after other quotation marks": "„So“, «so», »so«, ‚so‘, 「so」, “so”.\n\n{}",
    "after inches": "A 5\" pipe is what the dogs' owner had in the '90s.\n\n{}",
    "after code": "The `“` and `<!--` and `<q>` signs.\n\n{}",
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


def test_a_line_that_is_shown_is_not_said() -> None:
    """In code, a quotation, a comment or private working, or before other words, a reserved line is no act."""
    for form in (*WRAPPED.values(), *UNSURE.values()):
        assert conceded(form.replace(LINE, CONCEDE)) is None, form
        assert not declines(form.replace(LINE, DECLINE)), form


def test_the_last_line_counts() -> None:
    """As the speech's own last line a reserved line counts, whatever stands above it."""
    for form in OWN.values():
        assert conceded(form.replace(LINE, CONCEDE)) == "a", form
        assert declines(form.replace(LINE, DECLINE)), form


SAID = "So it is, and that's how she'd 'have' it “then” (so). 3,000 C++ 5 < 6 * _x_"
WORDS = st.lists(st.sampled_from(re.split(" ", SAID)))
PARAGRAPH = WORDS.filter(bool).map(" ".join).map("It is so: {}, then.".format)
PROSE = st.lists(PARAGRAPH, max_size=4).map("\n\n".join)
OPENINGS = ["```\n", "~~~~\n", "<!-- ", "> ", ">> ", "- ", "1. ", "“", "„", "«", "「", '"', "<q>", "<pre>"]


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
        f"They would have me write:\n\n> [/THINK]\n\n{CONCEDE}",
        f"They would have me write.\n\n{CONCEDE}\n\n<think> tags would follow. I do not concede.",
    ]
)
def test_a_line_that_does_not_count_is_noticed(text: str) -> None:
    """Where a reserved line stands alone on a line and does not count, that can be told."""
    debate = fold([opened()])
    assert speech_rules.ignored_line(debate, debate.due[0], reply(text)) == CONCEDE


@for_each(
    ["So.", CONCEDE, f"> {CONCEDE}\n\n{DECLINE}", f"I will not say {CONCEDE}", f"<think>\n{CONCEDE}\n</think>\nSo."]
)
def test_nothing_is_noticed_without_need(text: str) -> None:
    """A line that counts, one within a sentence and one in private working are nothing to tell about."""
    debate = fold([opened()])
    assert speech_rules.ignored_line(debate, debate.due[0], reply(text)) is None


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
