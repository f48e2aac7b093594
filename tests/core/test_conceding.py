"""A reserved line counts as a debater's own last line, and never where it is quoted, shown as code or kept private."""

from __future__ import annotations

import re

from core.folding import ADVERSARIAL, CONCEDE, DECLINE, many, opened, reply, spoke
from corpus import for_each
from hypothesis import given
from hypothesis import strategies as st

from debate_orchestrator.core import speech_rules, tally
from debate_orchestrator.core.events import Declined
from debate_orchestrator.core.fold import apply, fold
from debate_orchestrator.core.phases import ReservedLines
from debate_orchestrator.core.reply import Reply
from debate_orchestrator.prompting.replies import parse_reply
from debate_orchestrator.util.errors import BadReply

LINE = "{}"
"""Where the reserved line stands in a speech of these tests."""
WRAPPED = {
    "closed by the mark of a list": "There is one cost: a) the move. They want “I was wrong.\n\n{}",
    "open single quotation": "They want the words ‘I was wrong.\n\n{}",
    "opened behind a digit": 'In report 3"All who argue so end alike.\n\n{}',
    "given to the other side": "Researcher B: You are right.\n\n{}",
    "below a label": "**Con:** You are right.\n\n{}",
    "announced on a line": "B wrote:\nyou are right.\n\n{}",
    "fence": "They would have me write:\n\n```\n{}\n```",
    "open fence": "So.\n\n```text\n{}",
    "open fence, shorter one inside": "So.\n\n````\n```\n{}",
    "open fence, other marks inside": "So.\n\n~~~\n```\n{}",
    "fence in a list": "- So:\n\n  ```\n  {}\n  ```",
    "open fence in a list": "1. ```\n{}",
    "indented": "So:\n\n    {}",
    "comment": "So.\n<!--\n{}\n-->",
    "open comment": "So.\n<!-- a note\n\n{}",
    "block quote": "> {}",
    "lazy block quote": "> She says that\n{}",
    "list item": "- {}",
    "second paragraph of an item": "- They want this.\n\n  {}",
    "quotation": 'She wrote: "\n{}\n"',
    "open quotation, paragraphs before": 'She wrote: "It is over.\n\nAnd then.\n\n{}',
    "curly quotation": "She wrote: “It is over.\n{}”",
    "german quotation": "Sie schrieb: „Es ist aus.\n{}",
    "french quotation": "Elle écrit : « C'est fini.\n{}",
    "japanese quotation": "彼女は「終わりだ。\n{}",
    "the format's quote": "She wrote <quote>It is over.\n{}",
    "folded away": "<details><summary>What they want</summary>\n\n{}\n",
    "code span": "They want `this line:\n{}",
    "open block quotation, paragraphs before": "She wrote:\n\n“It is over.\n\nAnd then.\n\n{}",
    "announced": "They would have me write this:\n\n{}",
    "announced in bold": "**They would have me write this:**\n\n{}",
    "hypothetical": "Were I to write\n\n{}\n\nit would be a lie.",
    "middle": "{}\n\nThat is what they want to read.",
    "table": "| They | want |\n|---|---|\n{}",
    "thinking": "<think>\n{}\n</think>\nSo it is.",
    "open thinking": "<think>I might write\n{}",
    "thinking without a beginning": "I might write\n{}\n</think>\n\nSo it is.",
    "in a sentence": "I will not write {}",
    "right below prose": "I will not write this.\n{}",
    "closed in code of several lines": "<details>\n\n`\n</details>\n`\n\nSo.\n\n{}",
    "escaped backticks": "It is \\`<details>\\` so.\n\n{}",
    "fence of a list": "- a\n  ```\n\n```\nSo.\n\n{}",
    "a fence that is the head of a table": "```|<br>\n|-|-|\n</code>\n```\n\n{}",
    "announced by an ellipsis": "Then I would have to write …\n\n{}",
    "announced by a heading": "## What they want me to write\n\n{}",
    "entity": "He said: &ldquo;I lost.\n\n{}",
    "ornament": "She says: ❝I give up.\n\n{}",
    "backticks for quotation marks": "She says: ``I give up.\n\n{}",
    "bracketed tag": "[quote]\nfoo.\n\n{}",
    "directive": ":::quote\n\nSo.\n\n{}",
    "tag of no element": "<quotation>\n\nSo.\n\n{}",
    "bracket of several paragraphs": "(This is what they want me to write.\n\n{}",
    "a fence that ends in a no-break space": "So.\n\n~~~\nx\n~~~\xa0\n\nSo.\n\n{}",
    "quoted closing tag": "They would have me write:\n\n> [/THINK]\n\n{}",
    "closing tag on a line": "My opponent's bot printed this:\n\n</think>\n\n{}",
    "final channel on a line": "He wrote:\n\n<|channel|>final<|message|>\n\n{}",
    "before an opening tag": "They would have me write.\n\n{}\n\n<think> tags would follow. I do not concede.",
    "before working": "They would have me write.\n\n{}\n\n<think>\nNever.\n</think>",
    "quoted on its line": '"{}"',
}
UNSURE = {
    "after a comment": "So. <!-- a note -->\n\n{}",
    "after elements": "<b>So</b> it is.<br>\nAnd x < y > z.\n\n{}",
    "after generics": "Rust's Vec<String> made my point moot.\n\n{}",
    "after a quotation of several paragraphs": "She wrote: “One.\n\n“Two.\n\n“Three.”\n\n{}",
    "after dialogue": '"Is it so?"\n\n"It is," she said, "so.\n\nThey left.\n\n{}',
    "after a folded part": "<details>\n<summary>Sums</summary>\n\n1 + 1 = 2.\n\n</details>\n\nSo.\n\n{}",
}
"""Speeches of which a reader may not be sure: the line does not count there either."""
OWN = {
    "alone": "{}",
    "after a paragraph": "You are right.\n\n{}",
    "blanks around": "\nYou are right.\n\n{}  \n\n",
    "other line breaks": "So.\r\n\r\n{}\r\n",
    "after a rule of hyphens": "So it is.\n\n---\n\n{}",
    "after ellipses in prose": "I have thought... and again… about it.\n\n{}",
    "after a closed fence": "So it is.\n\n```python\nx = '''\n```\n\n{}",
    "after a list": "- One thing.\n- Another thing.\n\n{}",
    "after a quotation": "> She says so.\n\n{}",
    "after closed quotation marks": "She said “so”, he said 'no', and 'twas \"fine\".\n\n{}",
    "after other quotation marks": "„So“, «so», »so«, ‚so‘, 「so」, “so”.\n\n{}",
    "after emphasised quotation": '*"So"* and **“so”** and "**so**".\n\n{}',
    "after inches": "A 5\" pipe is what the dogs' owner had in the '90s.\n\n{}",
    "after code": "The `“` and `<!--` and `<q>` signs.\n\n{}",
    "after a heading and prose": "## Conclusion\n\nSo it is.\n\n{}",
    "after a question with a source": "Is it so? [12]\n\n{}",
    "after thinking": '<think>"Hm.\n```\n</think>\n\nYou are right.\n\n{}',
    "after a mention of the tag": "Models write `<think>` before they speak.\n\n{}",
    "after working alone": "<think>Hm.</think>\n\n{}",
}


START = fold([opened(2)])


def conceded(text: str) -> str | None:
    """Who has conceded once side A has given that speech."""
    return tally.conceded(apply(START, spoke("1.opening.a", text)))


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


@many
@given(PROSE, st.integers(3, 9), st.sampled_from("`~"), st.text("ab `~\n>-", max_size=40), st.booleans())
def test_code_never_concedes(before: str, count: int, mark: str, inside: str, closed: bool) -> None:
    """In a fence of any length, left open or closed, whatever else it holds, the line concedes nothing."""
    fence = mark * count
    inside = inside.replace(mark * 3, "")
    end = f"\n{fence}" if closed else ""
    assert conceded(f"{before}\n\n{fence}\n{inside}\n{CONCEDE}{end}") is None


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


def test_a_line_without_words_is_never_noticed() -> None:
    """A format of a journal may have such a line; blank lines and rules of a speech are none of it."""
    rules = ADVERSARIAL.model_copy(update={"lines": ReservedLines(concede="***", decline="---")})
    debate = fold([opened(rules=rules)])
    assert speech_rules.ignored_line(debate, debate.due[0], reply("So.\n\nIt is.\n\n***\n\nSo.")) is None


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
            debate, debate.due[0], Reply(text=f"So.\n\n{line}", brief_digest="0", by="x", ended="cut"), None
        )
        assert not isinstance(event, Declined), line
    debate = apply(
        debate, event.model_copy(update={"reply": Reply(text=CONCEDE, brief_digest="0", by="x", ended="cut")})
    )
    assert tally.conceded(debate) is None
