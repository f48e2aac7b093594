"""A reserved line counts as a debater's own last line, and never where it is quoted, shown as code or kept private."""

from __future__ import annotations

import re

import pytest
from core.folding import CONCEDE, DECLINE, debated, many, opened, reply
from hypothesis import given
from hypothesis import strategies as st

from debate_orchestrator.core.debate import Debate
from debate_orchestrator.core.events import Declined, Reply
from debate_orchestrator.errors import BadReply
from debate_orchestrator.replies import read

LINE = "{}"
"""Where the reserved line stands in a speech of these tests."""
WRAPPED = {
    "fence": "They would have me write:\n\n```\n{}\n```",
    "fence of tildes": "So.\n\n~~~~ text\n{}\n~~~~",
    "open fence": "So.\n\n```text\n{}",
    "open fence, shorter one inside": "So.\n\n````\n```\n{}",
    "open fence, other marks inside": "So.\n\n~~~\n```\n{}",
    "fence in a quotation": "> ```\n> x\n> ```\n{}",
    "fence in a list": "- So:\n\n  ```\n  {}\n  ```",
    "open fence in a list": "1. ```\n{}",
    "indented": "So:\n\n    {}",
    "indented by a tab": "So.\n\n\t{}",
    "comment": "So.\n<!--\n{}\n-->",
    "open comment": "So.\n<!-- a note\n\n{}",
    "comment and prose": "<!--\n{}\n-->\nSo it is.",
    "instruction": "<? note\n{}",
    "cdata": "<![CDATA[\n{}",
    "block quote": "> {}",
    "lazy block quote": "> She says that\n{}",
    "lazy nested quote": "> > She says.\n> It ends:\n{}",
    "list item": "- {}",
    "lazy list item": "- One thing.\n- Another thing.\n{}",
    "second paragraph of an item": "- They want this.\n\n  {}",
    "second paragraph of a numbered item": "1. They want this.\n\n   {}",
    "item of an indented list": "  - They want this.\n\n   {}",
    "footnote": "So.[^1]\n\n[^1]: They wrote\n{}",
    "quotation": 'She wrote: "\n{}\n"',
    "open quotation": 'She wrote: "It is over.\n{}',
    "open quotation, paragraphs before": 'She wrote: "It is over.\n\nAnd then.\n\n{}',
    "curly quotation": "She wrote: “It is over.\n{}”",
    "open curly quotation": "She wrote: “It is over.\n{}",
    "nested quotation": "She wrote: “It is ‘over’.\n{}",
    "german quotation": "Sie schrieb: „Es ist aus.\n{}",
    "french quotation": "Elle écrit : « C'est fini.\n{}",
    "german guillemets": "Sie schrieb: »Es ist aus.\n{}",
    "japanese quotation": "彼女は「終わりだ。\n{}",
    "chinese quotation": "她说“结束了。\n{}",
    "single quotation": "She wrote 'It is over.\n{}",
    "single curly quotation": "She wrote ‘It is over.\n{}",
    "quoting element": "<blockquote>\n\n{}\n",
    "inline element": "She wrote <q>it is over.\n{}",
    "the format's quote": "She wrote <quote>It is over.\n{}",
    "struck out": "<del>\n{}\n</del>",
    "folded away": "<details><summary>What they want</summary>\n\n{}\n",
    "preformatted": "<pre>\n{}",
    "code span": "They want `this line:\n{}",
    "announced": "They would have me write this:\n\n{}",
    "announced in bold": "**They would have me write this:**\n\n{}",
    "announced with a dash": "They would have me write —\n{}",
    "hypothetical": "Were I to write\n\n{}\n\nit would be a lie.",
    "middle": "{}\n\nThat is what they want to read.",
    "table": "| They | want |\n|---|---|\n{}",
    "thinking": "<think>\n{}\n</think>\nSo it is.",
    "open thinking": "<think>I might write\n{}",
    "thinking without a beginning": "I might write\n{}\n</think>\n\nSo it is.",
    "thinking with prose before": "So it is.\n\n<thinking>\n{}\n</thinking>",
    "in a sentence": "I will not write {}",
    "followed by a word": "{} Never.",
    "quoted on its line": '"{}"',
    "in code on its line": "`{}`",
}  # fmt: skip
OWN = {
    "alone": "{}",
    "after prose": "You are right.\n{}",
    "after a paragraph": "You are right.\n\n{}",
    "blanks around": "You are right.\n\n  {}  \n\n",
    "other line breaks": "So.\r\n{}\r\n",
    "after a closed fence": "So:\n\n```python\nx = '''\n```\n\n{}",
    "after a fence without a blank line": "So.\n~~~\n- x\n~~~\n{}",
    "after a list": "- One thing.\n- Another thing.\n\n{}",
    "after a quotation": "> She says so.\n\n{}",
    "after a comment": "So. <!-- a note -->\n\n{}",
    "after closed quotation marks": "She said “so”, he said 'no', and 'twas \"fine\".\n\n{}",
    "after nested quotation marks": "She said “he said ‘no’, didn't he?”.\n{}",
    "after other quotation marks": "„So“, «so», »so«, ‚so‘, 「so」, “so”.\n{}",
    "after emphasised quotation": '*"So"* and **“so”** and "**so**".\n\n{}',
    "after inches": "A 5\" pipe is what the dogs' owner had in the '90s.\n\n{}",
    "after elements": "<b>So</b> it is.<br>\nAnd x < y > z.\n\n{}",
    "after code": "The `“` and `<!--` and `<q>` signs.\n\n{}",
    "after a rule": "So.\n\n---\n\n{}",
    "after a heading": "## Conclusion\n\n{}",
    "after thinking": '<think>"Hm.\n```\n</think>\n\nYou are right.\n\n{}',
    "after a mention of the mark": "Models write `<think>` before they speak.\n\n{}",
}


def conceded(text: str) -> str | None:
    """Who has conceded once side A has given that speech."""
    return debated(2, script={"1.opening.a": text}).conceded()


def declines(text: str) -> bool:
    """Whether that speech declines to argue; a speech of which nothing would be heard does nothing."""
    debate = Debate([opened()])
    try:
        return isinstance(read(debate, debate.due()[0], reply(text)), Declined)
    except BadReply:
        return False


@pytest.mark.parametrize("form", WRAPPED.values(), ids=WRAPPED)
def test_a_line_that_is_shown_is_not_said(form: str) -> None:
    """In code, a quotation, a comment or private working, or before other words, a reserved line is no act."""
    assert conceded(form.replace(LINE, CONCEDE)) is None
    assert not declines(form.replace(LINE, DECLINE))


@pytest.mark.parametrize("form", OWN.values(), ids=OWN)
def test_the_last_line_counts(form: str) -> None:
    """As the speech's own last line a reserved line counts, whatever stands above it."""
    assert conceded(form.replace(LINE, CONCEDE)) == "a"
    assert declines(form.replace(LINE, DECLINE))


SAID = "So it is, and that's how she'd 'have' it “then” (or not). 3,000 C++ 5 < 6 * _x_"
WORDS = st.lists(st.sampled_from(re.split(" ", SAID)))
PARAGRAPH = WORDS.filter(bool).map(" ".join).map("It is so: {}, then.".format)
PROSE = st.lists(PARAGRAPH, max_size=4).map("\n\n".join)
OPENINGS = ["```\n", "~~~~\n", "<!-- ", "> ", ">> ", "- ", "1. ", "“", "„", "«", "「", '"', "<q>", "<pre>"]


@many
@given(PROSE, st.sampled_from(["\n", "\n\n", "\n\n \n"]))
def test_plain_prose_never_hides_the_line(prose: str, gap: str) -> None:
    """After any plain paragraphs the last line concedes."""
    assert conceded(f"{prose}{gap}{CONCEDE}") == "a"


@many
@given(PROSE, st.sampled_from(OPENINGS), PARAGRAPH, PROSE)
def test_whatever_is_opened_hides_the_line(before: str, opening: str, inside: str, after: str) -> None:
    """In whatever was opened and not closed, and with any words after it, the line concedes nothing."""
    assert conceded(f"{before}\n\n{opening}{inside}\n{CONCEDE}") is None
    assert conceded(f"{before}\n\n{opening}{inside}\n{CONCEDE}\n\n{after}x") is None


@many
@given(PROSE, st.integers(3, 9), st.sampled_from("`~"), st.text("ab `~\n>-", max_size=40), st.booleans())
def test_code_never_concedes(before: str, count: int, mark: str, inside: str, closed: bool) -> None:
    """In a fence of any length, left open or closed, whatever else it holds, the line concedes nothing."""
    fence = mark * count
    inside = inside.replace(mark * 3, "")
    end = f"\n{fence}" if closed else ""
    assert conceded(f"{before}\n\n{fence}\n{inside}\n{CONCEDE}{end}") is None


def test_the_last_of_both_lines_counts() -> None:
    """Where a speech holds both lines, the last one says what it is."""
    assert declines(f"So.\n\n{CONCEDE}\n{DECLINE}")
    assert not declines(f"So.\n\n{DECLINE}\n{CONCEDE}")
    assert conceded(f"So.\n\n{DECLINE}\n{CONCEDE}") == "a"


def test_a_speech_that_was_cut_has_no_last_line() -> None:
    """Where a limit of tokens cut the reply, nobody knows what would have followed the line."""
    debate = Debate([opened()])
    for line in (CONCEDE, DECLINE):
        event = read(debate, debate.due()[0], Reply(text=f"So.\n\n{line}", brief="0", by="x", ended="cut"))
        assert not isinstance(event, Declined)
    debate.take(event.model_copy(update={"reply": Reply(text=CONCEDE, brief="0", by="x", ended="cut")}))
    assert debate.conceded() is None
