"""A reserved line counts as a debater's own last line, and never where it is quoted, shown as code or kept private."""

from __future__ import annotations

import re
import sys
import unicodedata

from core.folding import ADVERSARIAL, CONCEDE, DECLINE, many, opened, reply, spoke
from corpus import for_each
from hypothesis import given
from hypothesis import strategies as st

from debate_orchestrator.core import speech_rules, tally
from debate_orchestrator.core.events import Declined
from debate_orchestrator.core.fold import apply, fold
from debate_orchestrator.core.phases import ReservedLines
from debate_orchestrator.core.reply import Reply
from debate_orchestrator.core.reserved_line import ends_with_line
from debate_orchestrator.prompting.replies import parse_reply
from debate_orchestrator.util.errors import BadReply

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
    "a quotation of several paragraphs, open in this one": "“It is over.\n\n“And then.\n{}",
    "open block quotation, paragraphs before": "She wrote:\n\n“It is over.\n\nAnd then.\n\n{}",
    "other quotations inside an open one": "She wrote: “It is over.\n\nHe said ‘no’ to it.\n\n{}",
    "open element, paragraphs before": "<div hidden>\n\nIt is over.\n\n{}",
    "open element in capitals": "<BLOCKQUOTE>\n\n{}",
    "announced": "They would have me write this:\n\n{}",
    "announced in bold": "**They would have me write this:**\n\n{}",
    "announced with two hyphens": "They would have me write --\n{}",
    "announced with hyphens, close": "They would have me write--\n\n{}",
    "announced with a hyphen": "They would have me write -\n{}",
    "announced with a bar": "They would have me write ―\n{}",
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
    "right below prose": "I will not write this.\n{}",
    "below a line that is not blank": "She says so.\n\u00a0\n{}",
    "indented by two": "She says so.\n\n  {}",
    "a sign in an attribute": '<details title="a<b">\n\nSo.\n\n{}',
    "a closing sign in an attribute": '<div title=">">\n\nSo.\n\n{}',
    "closed in a comment": "<details>\n\n<!-- </details> -->\n\nSo.\n\n{}",
    "closed by an escaped tag": "<details>\n\n\\</details>\n\nSo.\n\n{}",
    "closed in indented code": "<details>\n\n     </details>\n\nSo.\n\n{}",
    "closed in an attribute": '<details>\n\n<a title="</details>">x</a>\n\nSo.\n\n{}',
    "closed in an attribute that runs on": '<div title="></div>" hidden>So.\n\n{}',
    "closed in code of several lines": "<details>\n\n`\n</details>\n`\n\nSo.\n\n{}",
    "closed in a table": "<details><table></details></table>\n\nSo.\n\n{}",
    "open tag": '<div title="So.\n\n{}',
    "tag of several lines": "<details\n\n open\n\nSo.\n\n{}",
    "element closed by its own tag": "<details/>So.\n\n{}",
    "code below a tag": "<div></div>\n```\n\n```\n{}",
    "code below a tag and a blank line": "<div></div>\n```\nSo.\n\n```\n\n{}",
    "no code behind a tag": "<p>`<details>`</p>\n\nSo.\n\n{}",
    "escaped backticks": "It is \\`<details>\\` so.\n\n{}",
    "code span in an attribute": "<a title=\"`\"> <details> <b title=\"`\">x</b></a>\n\nSo.\n\n{}",
    "fence of a list": "- a\n  ```\n\n```\nSo.\n\n{}",
    "fences of a list and of none": "- a\n  ```\n\nSo.\n\n  ```\n\n{}",
    "table without bars": "Word | Meaning\n--- | ---\n{}",
    "hard break": "The line I will never write is:\\\n{}",
    "announced in an element": "<b>The reserved line is:</b>\n\n{}",
    "announced in brackets": "(The reserved line reads:)\n\n{}",
    "announced by a small colon": "She wrote﹕\n\n{}",
    "announced by an arabic comma": "She wrote،\n\n{}",
    "announced by an ellipsis": "Then I would have to write …\n\n{}",
    "announced by full stops": "Then I would have to write...\n\n{}",
    "announced by an arrow": "The reserved line ->\n\n{}",
    "announced by a heading": "## What they want me to write\n\n{}",
    "announced above a rule": "They want me to write\n\n---\n\n{}",
    "announced above code": "They want me to write:\n\n```\n```\n\n{}",
    "wide colon": "He wrote：“I was wrong.\n\n{}",
    "lines behind the colon": "He wrote:" + "\n" * 9 + "“I was wrong.\n\n{}",
    "blanks behind the colon": "He wrote:" + "\u00a0" * 9 + "“I was wrong.\n\n{}",
    "bold behind the colon": "**He wrote:** “I was wrong.\n\n“And so.\n\n{}",
    "ornament": "She says: ❝I give up.\n\n{}",
    "double prime": "She says: ″I give up.\n\n{}",
    "two single marks": "She says: ''I give up.\n\n{}",
    "entity": "He said: &ldquo;I lost.\n\n{}",
    "backticks for quotation marks": "She says: ``I give up.\n\n{}",
    "definition": "Term\n:   shown below.\n\n  {}",
    "item of another list": "– first.\n{}",
    "wide quotation": "＞ he said.\n{}",
    "bracketed tag": "[quote]\nfoo.\n\n{}",
    "directive": ":::quote\n\nSo.\n\n{}",
    "tag of no element": "<quotation>\n\nSo.\n\n{}",
    "struck out within a line": "It is <s>so.\n\n{}",
    "glued tag": "So<details>it is.\n\n{}",
    "bracket": "(What they want me to write is\n{}",
    "bracket of several paragraphs": "(This is what they want me to write.\n\n{}",
    "a fence that ends in a no-break space": "So.\n\n~~~\nx\n~~~\u00a0\n\nSo.\n\n{}",
    "a fence that ends in a wide space": "So.\n\n```\nx\n```\u3000\n\n{}",
    "a line of a no-break space below": "So.\n\n{}\n\u00a0",
    "closing tag around a comment": "<details>\n\n</det<!-- x -->ails>\n\nSo.\n\n{}",
    "closing tag before a comment": "<details>\n\n</details<!-- x -->>\n\nSo.\n\n{}",
    "closed in code of a list": "<details>\n\n-     </details>\n\nSo.\n\n{}",
    "closed in code of a quotation": "<details>\n\n>     </details>\n\nSo.\n\n{}",
    "closed in an address": "<details>\n\n[x](</details>) so.\n\n{}",
    "closed in an address on its line": "So <q>it [is](</q>) so.\n\n{}",
    "closed in an address of several lines": "<q>\n\n[x](\n</q>\n) so.\n\n{}",
    "closed in a title": '<details>\n\n[x](/u "</details>") so.\n\n{}',
    "closed in a title on its line": 'So <q>it is [x](/u "</q>") so.\n\n{}',
    "closed in a definition": "<details>\n\n[x]: </details>\n\nSo.\n\n{}",
    "closed in a definition of two lines": "<q>\n\n[x]:\n</q>\n\nSo.\n\n{}",
    "closed beside an image": "<details>\n\n![</details>](x) so.\n\n{}",
    "closed beside an image on its line": "So <q>it is ![</q>](x) so.\n\n{}",
    "closed in a cell that is left out": "<details>\n\n| a |\n|---|\n| x | </details> |\n\nSo.\n\n{}",
    "closed in a cell of its row": "| a |\n|---|\n| <q>x | </q> |\n\nSo.\n\n{}",
    "closed in an address behind an escaped tag": 'See [<q>\\<br b="]("></q>) so.\n\n{}',
    "odd tag behind a comment": "<!-- x --><quotation>\n\nSo.\n\n{}",
    "closed in a list below": "<q>\n\n- x\n</q>\n\nSo.\n\n{}",
    "struck out from the end of a line": "Here it ends. <s>\n\n{}",
    "struck out right behind a word": "Here it ends<s>\n\n“So.”\n\n{}",
    "quoted from the end of a line": "Here it ends. <q>\n\n{}",
    "a cut tag behind a comment": "<!-- x -->So it is.<x.\n\n{}",
    "a cut tag behind an element": "<div></div>So it is.<x.\n\n{}",
    "a type that is an element behind a comment": "<!-- x -->::<table>.\n\n{}",
    "an element at the end of HTML": "<script></script><a href='x'>\n\nSo.\n\n{}",
    "a fence that is the head of a table": "```|<br>\n|-|-|\n</code>\n```\n\n{}",
    "a list of quotations": "Sie schrieb: „So“ und „ist es.\n\n{}",
    "a list of other quotations": 'She wrote: “so”, then "it is.\n\n{}',
    "quoted closing tag": "They would have me write:\n\n> [/THINK]\n\n{}",
    "quoted closing tag and quoted words": "They would have me write:\n\n> [/THINK]\n> So it is.\n\n{}",
    "indented closing tag": "They would have me write:\n\n    </think>\n\n{}",
    "closing tag on a line": "My opponent's bot printed this:\n\n</think>\n\n{}",
    "final channel on a line": "He wrote:\n\n<|channel|>final<|message|>\n\n{}",
    "closing tag of a tag in a sentence": "The <think> mark is there, and this:\n\n</think>\n\n{}",
    "before an opening tag": "They would have me write.\n\n{}\n\n<think> tags would follow. I do not concede.",
    "before working": "They would have me write.\n\n{}\n\n<think>\nNever.\n</think>",
    "quoted on its line": '"{}"',
    "in code on its line": "`{}`",
}  # fmt: skip
OWN = {
    "alone": "{}",
    "after a paragraph": "You are right.\n\n{}",
    "blanks around": "\nYou are right.\n\n{}  \n\n",
    "other line breaks": "So.\r\n\r\n{}\r\n",
    "after a rule of hyphens": "So it is.\n\n---\n\n{}",
    "after a spaced rule": "So it is.\n\n- - -\n\n{}",
    "after ellipses in prose": "I have thought... and again… about it.\n\n{}",
    "after a closed fence": "So it is.\n\n```python\nx = '''\n```\n\n{}",
    "after a fence without a blank line": "So.\n~~~\n- x\n~~~\n\n{}",
    "after a list": "- One thing.\n- Another thing.\n\n{}",
    "after a quotation": "> She says so.\n\n{}",
    "after a comment": "So. <!-- a note -->\n\n{}",
    "after closed quotation marks": "She said “so”, he said 'no', and 'twas \"fine\".\n\n{}",
    "after nested quotation marks": "She said “he said ‘no’, didn't he?”.\n\n{}",
    "after other quotation marks": "„So“, «so», »so«, ‚so‘, 「so」, “so”.\n\n{}",
    "after emphasised quotation": '*"So"* and **“so”** and "**so**".\n\n{}',
    "after inches": "A 5\" pipe is what the dogs' owner had in the '90s.\n\n{}",
    "after elements": "<b>So</b> it is.<br>\nAnd x < y > z.\n\n{}",
    "after code": "The `“` and `<!--` and `<q>` signs.\n\n{}",
    "after a rule": "So.\n\n---\n\n{}",
    "after a heading and prose": "## Conclusion\n\nSo it is.\n\n{}",
    "after a question with a source": "Is it so? [12]\n\n{}",
    "after thinking": '<think>"Hm.\n```\n</think>\n\nYou are right.\n\n{}',
    "after a mention of the tag": "Models write `<think>` before they speak.\n\n{}",
    "after generics": "Rust's Vec<String> made my point moot.\n\n{}",
    "right below generics": "Rust's Vec<String> and HashMap<K, Vec<T>> made my point moot.\n\n{}",
    "after types named like elements": "A Vec<Option> is a List<object>, and Vec::<a> is Box<Map>.\n\n{}",
    "after comparisons": "It holds for x <y> z and for a <b> c.\n\n{}",
    "after a quotation of several paragraphs": "She wrote: “One.\n\n“Two.\n\n“Three.”\n\n{}",
    "right below such a quotation": "She wrote: “One.\n\n“Two.\n\n“Three.”\n\n{}",
    "after such a straight quotation": 'She wrote: "One.\n\n"Two.\n\n"Three."\n\n{}',
    "after such a nested quotation": "She wrote: “‘One.\n\n“‘Two.’”\n\n{}",
    "after an unfinished quotation of such paragraphs": "“One.\n\n“Two.\n\n{}",
    "after a long quotation that ends": "She wrote: “It is over.\n\nAnd then.”\n\n{}",
    "after dialogue": '"Is it so?"\n\n"It is," she said, "so.\n\nThey left.\n\n{}',
    "after a folded part": "<details>\n<summary>Sums</summary>\n\n1 + 1 = 2.\n\n</details>\n\nSo.\n\n{}",
    "after a folded part of one paragraph": "<details>\n<summary>Sums (all)</summary>\n1 + 1 = 2.\n</details>\n\n{}",
    "after elements in one another": "<div>\n<div>\n\nSo.\n\n</div></div>\n\n{}",
    "after a bracket beside an element": "The <b>so</b> (it is) [1] is <i>(so)</i>.\n\n{}",
    "after working without a beginning": "Hm. Is it so?\n</think>\n\nYou are right.\n\n{}",
    "after working alone": "<think>Hm.</think>\n\n{}",
    "after a stray mark in a fence's paragraph": 'A "so.\n```\nx\n```\n\n{}',
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
    for form in WRAPPED.values():
        assert conceded(form.replace(LINE, CONCEDE)) is None, form
        assert not declines(form.replace(LINE, DECLINE)), form


def test_no_bracket_of_unicode_is_left_open() -> None:
    """Whatever opens a quotation or a bracket in any script, the line below it does not count while it is open."""
    openings = [chr(n) for n in range(sys.maxunicode) if unicodedata.category(chr(n)) in ("Ps", "Pi")]
    counted = [mark for mark in openings if ends_with_line(f"She wrote: {mark}So it is.\n\n{CONCEDE}", CONCEDE)]
    pairs = [mark + chr(ord(mark) + 1) for mark in openings if unicodedata.category(chr(ord(mark) + 1)) == "Pe"]
    closed = [pair for pair in pairs if ends_with_line(f"She wrote: {pair[0]}so{pair[1]}.\n\n{CONCEDE}", CONCEDE)]

    assert len(openings) > 70 and counted == []
    assert len(pairs) > 60 and closed == pairs


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


SLIPS = [*"\"'“”„‟‘’‚«»‹›「」『』《》", "<T>", "<String>", "<i>"]
REALISTIC = [
    "He's 5'10\" tall, in '90s jeans; 'twas the dogs' owner's idea, rock 'n' roll.",
    "A `Vec<String>` is no Vec<&str>, HashMap<K, V> or std::vector<std::map<int, Object>>, and f::<T>() < x > y.",
    "“Is it so?” she asked.\n\n“It is,” he said. “It’s the ‘market’.”",
    "“One thing.\n\n“Another thing.\n\n“The last thing.”",
    'She said: "One thing.\n\n"Another \'thing\'."',
    '❝So it is❞ 🗨️ 👩‍💻 “👍” and "👎".',
    "Elle dit : « C’est l’été », puis ‹ oui ›.",
    "»So ist es«, sagte er; „so ist’s“, sagte sie, ‚wirklich‘.",
    "彼女は「そうだ『はい』」と《题》言った。",
    "Set `x = \"` and `it's` in code: `<q>`.",
    "- A 3\" pipe\n- Users' <kbd>Ctrl</kbd> keys\n\nSo it is.",
    "Use git commit -m <message> with O'Neill's \"so-called\" fix.",
]


@many
@given(st.lists(st.sampled_from(REALISTIC), min_size=1, max_size=5).map("\n\n".join))
def test_realistic_prose_never_hides_the_line(prose: str) -> None:
    """Apostrophes, inches, generics, code, dialogue and the quotation marks of any language never hide the line."""
    assert conceded(f"{prose}\n\n{CONCEDE}") == "a"
    assert declines(f"{prose}\n\n{DECLINE}")


@many
@given(PROSE, PARAGRAPH, st.sampled_from(SLIPS), st.integers(0, 8), st.sampled_from(["{} ", " {}", "{}"]), PROSE)
def test_a_slip_ends_with_its_paragraph(before: str, text: str, slip: str, at: int, form: str, after: str) -> None:
    """One mark too many, anywhere in an earlier paragraph of plain words, takes nothing from the line."""
    words = text.replace(":", "").split()
    at = max(at, 1) if "<" in slip else at  # at the beginning of a line any tag opens something
    words.insert(min(at, len(words)), form.format(slip))
    paragraphs = [one for one in (before, " ".join(words), after) if one]
    assert conceded("\n\n".join([*paragraphs, CONCEDE])) == "a"


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


def test_a_speech_full_of_tags_concedes_nothing() -> None:
    """Of a speech with more tags than are looked at, the last line does not count."""
    for tag in ("<b>x</b>", "<b>", "<x>", "</b>\n", "x<b> "):
        assert not ends_with_line(f"😀 {tag * 20_000}So.\n\n{CONCEDE}", CONCEDE), tag
