"""Private reasoning in the tags that models use: not heard, wherever it may stand, and nothing else is lost."""

from __future__ import annotations

import json
import re
from functools import partial

import debates
import pytest
import scripted_debates
from core.folding import many, opened, play_debate, reply, speech_event
from corpus import for_each
from hypothesis import given
from hypothesis import strategies as st

from debate_orchestrator.core import schedule
from debate_orchestrator.core.events import StructuredReplyGiven
from debate_orchestrator.core.fold import apply, fold
from debate_orchestrator.core.private_text import PrivateFilter, public_text
from debate_orchestrator.core.reply import RecordedReading
from debate_orchestrator.core.transcript_entries import entry
from debate_orchestrator.prompting.briefs import citations_to_check
from debate_orchestrator.prompting.replies import parse_reply, parse_structured
from debate_orchestrator.reports.model import build_report
from debate_orchestrator.terminal.display import SpeechView
from debate_orchestrator.util.errors import BadReply
from debate_orchestrator.util.sanitize import sanitize

PAIRS = {
    "think": ("<think>", "</think>"),
    "thinking": ("<thinking>", "</thinking>"),
    "thought": ("<thought>", "</thought>"),
    "reasoning": ("<reasoning>", "</reasoning>"),
    "reflection": ("<reflection>", "</reflection>"),
    "scratchpad": ("<scratchpad>", "</scratchpad>"),
    "seed": ("<seed:think>", "</seed:think>"),
    "capitals": ("<THINK>", "</Think>"),
    "attributes": ('<think effort="high">', "</think>"),
    "spaces": ("< think >", "< / think >"),
    "hidden": ("<thi\u200bnk>", "</think\u2060>"),
    "kimi": ("◁think▷", "◁/think▷"),
    "square": ("[THINK]", "[/THINK]"),
    "harmony": ("<|channel|>analysis<|message|>", "<|end|><|start|>assistant<|channel|>final<|message|>"),
    "harmony, bare": ("<|channel|>analysis<|message|>", "<|channel|>final<|message|>"),
    "harmony, ended": ("<|channel|>commentary to=x<|message|>", "<|end|>"),
    "command": ("<|START_THINKING|>", "<|END_THINKING|>"),
    "begin": ("<|begin_of_thought|>", "<|end_of_thought|>"),
    "analysis": ("<analysis>", "</analysis>"),
    "scratch pad": ("<scratch_pad>", "</scratch_pad>"),
    "monologue": ("<inner_monologue>", "</inner_monologue>"),
    "longcat": ("<longcat_think>", "</longcat_think>"),
    "ant": ("<antThinking>", "</antThinking>"),
    "square, long": ("[THINKING]", "[/THINKING]"),
    "gemma": ("<|channel>thought\n", "<channel|>"),
    "harmony, no message": ("<|channel|>analysis ", "<|end|>"),
    "harmony, json": ("<|channel|>commentary to=x <|constrain|>json<|message|>", "<|channel|>final<|message|>"),
    "apertus": ("<|inner_prefix|>", "<|inner_suffix|>"),
    "solar": ("<|think|>", "<|end|><|begin|>assistant<|content|>"),
}
READ = [PAIRS[name] for name in ("think", "kimi", "square", "harmony", "command")]
tags = st.sampled_from(sorted(PAIRS.values()))


def heard(text: str, turn: str = "1.opening.a") -> str:
    """What others hear of a speech in a format without a tag of its own."""
    debate = apply(fold([opened(1)]), speech_event(turn, text))
    made = entry(debate, schedule.turn(debate, turn))
    assert (debate.reply(schedule.turn(debate, turn)).text, made.words) == (text, len(made.text.split()))
    return made.text


FORMS = [
    ("{0}SECRET{1}So.", "So."), ("\n {0}\nSECRET\n\nSECRET\n{1}\n\nSo.", "So."),
    ("{0}SECRET{1}{0}SECRET{1}So.", "So."), ("So.\n\n{0}SECRET{1}\n\nAnd so.", "So. And so."),
    ("So it\n{0}\nSECRET\n{1}\nis.", "So it is."), ("{0}SECRET ` \" ``` ~~~ <!-- {1}\n\nSo.", "So."),
    ("{0}\n```\nSECRET\n{1}\nSo.", "So."), ("SECRET\n\n```\nSECRET\n{1}\n\nSo.", "So."),
    ("SECRET\n{1}\n\nSo.", "So."), ("SECRET.{1}\n\nSo.", "So."), ("SECRET\n{1}So.", "So."), ("{1}So.", "So."),
    ("So. {0}SECRET{1} And so.", "So. And so."), ("**So.** {0}SECRET\n\nSECRET{1}\n\nAnd so.", "**So.** And so."),
    ("{0}SECRET", ""), ("{0}SECRET\n```\n", ""), ("{0}SECRET{1}\n{0}SECRET", ""), ("{0}\n\n{1}\n\nSo.", "So."),
    ("我们需要SECRET考虑\n{1}你好。", "你好。"), ("开场白\n{0}我们SECRET{1}\nSo.", "开场白 So."),
]  # fmt: skip
"""Speeches with tags in them, and what is heard of each."""


@pytest.mark.parametrize(("left", "right"), [PAIRS["think"], PAIRS["square"], PAIRS["harmony"]])
def test_working_is_not_heard(left: str, right: str) -> None:
    """At the beginning, as a block of its own, left open, or closed alone, reasoning is left out, and nothing else."""
    for text, rest in FORMS:
        assert heard(text.format(left, right)).split() == rest.split(), text


@for_each(PAIRS.values())
def test_the_tags_of_every_model_are_known(row: tuple[str, str]) -> None:
    """Each pair of tags hides what is between them, is closed alone, and is left open. The token that ends any message
    closes none alone."""
    left, right = row
    for text, rest in (
        ("{0}SECRET{1}So.", "So."),
        ("So it\n{0}\nSECRET\n{1}\nis.", "So it is."),
        ("SECRET\n\n```\nSECRET\n{1}\n\nSo.", "So."),
        ("{0}SECRET", ""),
    ):
        if "{0}" in text or right != "<|end|>":
            assert heard(text.format(left, right)).split() == rest.split(), text


MENTIONS = (
    "Models write {0} before they speak, and {1} after it.", "They write `{0}` there, and `{1}` here.",
    "So:\n\n```\n{0}\nHm.\n{1}\n```\n\nAnd so.", "A block ({0}Hm.{1}) within a sentence.",
    "Researcher B: {0} so it goes on.", "He wrote:\n{0} so it goes on.", "> {0}\n> Hm.\n> {1}\n\nSo.",
    "> and so {1}\nThat is not an argument.", "- {1} is how it ends.", "So it says. {1} So it is.",
)  # fmt: skip
"""Tags that open without being closed after a speech, or are within a line, a quotation or code."""


@pytest.mark.parametrize(("left", "right"), [PAIRS["think"], PAIRS["kimi"], PAIRS["square"]])
def test_a_mark_that_is_mentioned_hides_nothing(left: str, right: str) -> None:
    """A tag in code, in a quotation or within a sentence is heard like any other word."""
    for mention in MENTIONS:
        text = f"It is so.\n\n{mention.format(left, right)}"
        assert heard(text) == text, mention
        assert heard(f"{left}Hm.{right}{text}") == text, mention


PLAIN = "So it is and is not (x) [1] 5 < 6 * `code` “so”, a/b <b>so</b> [so](https://x.y) – that"
WORD = st.sampled_from(re.split(" ", PLAIN))
SENTENCE = st.lists(WORD, min_size=1, max_size=6).map(lambda words: f"It says {' '.join(words)} in full.")
PROSE = st.lists(SENTENCE, min_size=1, max_size=4).map("\n\n".join)
WORKING = st.text('ab \n`~"<>|[]_*#-', max_size=60).map("{}SECRET".format)


# Replies


@for_each(READ)
def test_working_alone_is_an_empty_reply(row: tuple[str, str]) -> None:
    """A reply of which nothing would be heard is refused, a speech and a ballot, with what to do about it."""
    left, right = row
    for debate in (fold([opened()]), play_debate(1, until="1.verdict.judge")):
        for text in (f"{left}Hm.{right}", f"{left}Hm.", f"Hm.\n{right}\n"):
            with pytest.raises(BadReply, match=r"outside private reasoning.*write the reply after them"):
                parse_reply(debate, debate.due[0], reply(text), None)


@for_each(READ)
def test_a_ballot_is_read_without_its_working(row: tuple[str, str]) -> None:
    """Working around a structured reply is left out before it is read, and kept verbatim beside it."""
    left, right = row
    debate = play_debate(1, until="1.verdict.judge")
    turn = debate.due[0]
    usual = next(
        event
        for event in debates.play_events(rounds=1)
        if isinstance(event, StructuredReplyGiven) and event.turn_id == turn.id
    )
    for form in (
        "{0}{{Hm.{1}{2}",
        '{0}\n{{"x": 1}}\n{1}\n\n{2}',
        "{0}Hm.{1}\n```json\n{2}\n```",
        "Hm.\n{1}\n{2}",
        "{2}\n\n{0}Hm.{1}",
    ):
        text = form.format(left, right, json.dumps(usual.data, indent=1))
        event = parse_reply(debate, turn, reply(text), None)
        assert isinstance(event, StructuredReplyGiven), form
        assert (event.data, event.reply.text) == (usual.data, text), form


def test_json_that_mentions_a_mark_is_read_whole() -> None:
    """What is within the values of a structured reply is not reasoning around it."""
    for said in ({"x": "<think>Hm.</think>\n\n<think>"}, {"x": "</think>"}, {"<think>": "[THINK]"}):
        assert parse_structured("x", json.dumps(said)) == said
        assert parse_structured("x", f"```json\n{json.dumps(said, indent=2)}\n```") == said


QUOTED = 'A wrote "Costs fall. <think>" first. That is false, and B showed it. A also wrote "the </think> tag".'


@for_each(
    [
        ("<think>SECRET</think>So it is.", "So it is."),
        (" [THINK]SECRET</think>[/THINK]\nSo it is.", "So it is."),
        ("<think>one</think><think>two</think>So it is.", "<think>two</think>So it is."),
        *(
            (words, words)
            for words in (QUOTED, "So it is.\n</think>\nOr not.", "<think>So it is.", "[/THINK]\nSo it is.")
        ),
    ]
)
def test_only_a_pair_that_begins_a_text_of_a_ballot_is_left_out(said: str, stored: str) -> None:
    """Once, when the ballot is read; its changes say so. All other tags are words of its judge, and all show them."""
    debate = play_debate(1, until="1.verdict.judge")
    turn = debate.due[0]
    usual = next(
        event
        for event in debates.play_events(rounds=1)
        if isinstance(event, StructuredReplyGiven) and event.turn_id == turn.id
    )
    text = json.dumps(usual.data | {"justification": said})
    event = parse_reply(debate, turn, reply(text), None)
    assert isinstance(event, StructuredReplyGiven)
    assert event.data["justification"] == stored and event.reply.text == text
    assert ("private reasoning in the texts left out" in event.changes) == (said != stored)
    recorded = event.reply.model_copy(update={"recorded_reading": RecordedReading(data=event.data)})
    again = parse_reply(debate, turn, recorded, None)
    assert isinstance(again, StructuredReplyGiven) and again.data == event.data
    assert " ".join(stored.split()) in " ".join(entry(apply(debate, event), turn).text.split())


@pytest.mark.parametrize(
    "quote", ["We do not [/THINK]\nthis drug is safe.", "<think>We do not</think> say it is\u200b safe."]
)
def test_a_quote_is_shown_as_it_is_looked_up(quote: str) -> None:
    """The clerk, the judge and the report have the same quote, whatever tags are in it."""
    claim = partial(scripted_debates.events, "claim", cast=scripted_debates.FETCHED)
    debate = fold(claim(until="1.argument.a"))
    turn = schedule.turn(debate, "1.argument.a")
    said = {"refused": False, "reason": None, **scripted_debates.evidence(quote=quote)}
    read = parse_reply(debate, turn, reply(json.dumps(said)), None)
    events = claim({turn.id: [read]}, until="1.check.clerk")
    debate, visible = fold(events), sanitize(quote)
    assert citations_to_check(debate, debate.due[0])[0]["quote"] == visible
    assert " ".join(visible.split()) in " ".join(entry(debate, turn).text.split())
    [speech, _] = build_report(scripted_debates.entries(events)).rounds[0].speeches
    assert speech.fields and speech.fields["quote"] == visible


# While it streams


def streamed(pieces: list[str]) -> tuple[SpeechView, str]:
    """A speech that comes in pieces, and all that was ever shown of it."""
    turn = fold([opened()]).due[0]
    speech, seen = SpeechView(turn, "Opening", "", 0.0), ""
    speech.begin(0.0)
    for piece in pieces:
        speech.add_piece(piece)
        seen += " ".join(row.plain for row in speech.rows(80))
    return speech, seen


@many
@given(tags, WORKING, PROSE, PROSE, st.integers(1, 9))
def test_working_is_not_shown_while_it_streams(
    pair: tuple[str, str], working: str, one: str, two: str, size: int
) -> None:
    """In pieces of whatever size, no reasoning is shown, and what is said is shown once and to the end."""
    text = f"{pair[0]}{working}{pair[1]}\n\n{one}\n\n{pair[0]}\n{working}\n{pair[1]}\n\n{two}"
    speech, seen = streamed([text[n : n + size] for n in range(0, len(text), size)])
    assert "SECRET" not in seen
    speech.show_recorded(heard(text))
    lines = [row.plain for row in speech.rows(400)]
    assert "SECRET" not in " ".join(lines)
    assert " ".join(lines).replace("**", "").split()[1:] == f"{one} {two}".split()


@for_each(
    ["a\u00ad\nb", "a\ufeff\u00ad\n", "\u2601\u200d\u200b\u200d\u200d\ufe0f\u2601", "a\u200d\u200b\u200db", "a\r\nb\rc"]
)
def test_what_is_not_seen_streams_as_it_is_read_at_once(text: str) -> None:
    """Of a text that comes in characters the same is shown as of the whole, also where characters are not seen."""
    private = PrivateFilter()
    shown = "".join(map(private.feed, f"{text}\n."))

    assert not private.restarts
    assert shown == public_text(sanitize(f"{text}\n.")).text


@for_each(["<think\nSECRET", '<think\neffort="SECRET\n"', "<|channel|>analysis\nSECRET", "<THINK \n\n SECRET"])
def test_a_tag_that_is_broken_over_lines_is_not_shown(tag: str) -> None:
    """What may be within a tag is held back until the tag ends, also on another line."""
    private = PrivateFilter()
    shown = "".join(map(private.feed, f"{tag}> Hm. SECRET</think>\nSo it is."))

    assert "SECRET" not in shown and not private.restarts


def test_working_without_a_beginning_is_withdrawn() -> None:
    """Where only the end of the reasoning tells what it was, it is replaced by the speech."""
    speech, _ = streamed(["Hm, SEC", "RET.\n</th", "ink>\n\nSo it", " is."])
    assert [row.plain.strip() for row in speech.rows(80)] == ["Opening", "", "So it is."]
    assert speech.words == 3


def test_the_token_that_ends_a_message_hides_nothing() -> None:
    """It is left out at the end. What a model writes on after it, or says of it, is heard."""
    ends = ["<|end|>", "<|end|>\n", "<|end|><|endoftext|>", "<|end|>\n<|assistant|>\n", "<|end|><|end|></s>"]
    ends += ["<seed:eos>", "[e~[", "<|flush|>", "<end_of_turn><eos>", "<turn|>", "</longcat_s>", "[|endofturn|]"]
    ends += ["<｜end▁of▁sentence｜>", "<|END_OF_TURN_TOKEN|>", "<|eom_id|>", " [end of text]"]
    ends += [
        "\n\n[ Prompt: 23.0 t/s | Generation: 8.9 t/s ]\n\nExiting...\n",
        "\n\nToken usage: 2 prompt + 8 completion = 10 total",
    ]
    ends += [
        "\n==========\nPrompt: 2 tokens, 2 tokens-per-sec\nGeneration: 9 tokens, 9 tokens-per-sec\nPeak memory: 5.1 GB"
    ]
    for end in ends:
        assert public_text(f"<|channel|>final<|message|>My case stands.{end}").text == "My case stands."
        assert public_text(f"My case stands.{end}").text == "My case stands."
    for stays in ("It ended: Exiting...", "Exiting...\nNow B.", "Prompt: 12 tokens"):
        assert public_text(stays).text == stays
    for more in ("\n<|user|>\nNow B.", " <|user|> is the template.", "\n```\nThat is it."):
        assert public_text(f"My case stands.<|end|>{more}").text == f"My case stands.<|end|>{more}"


def test_what_a_server_leaves_of_tokens_is_read() -> None:
    """The channels of gpt-oss may have lost their tokens; an answer may have the tag that R1 is trained to write."""
    ends = {"answer>": "</answer>", "response>": "</response>", "|START_RESPONSE|>": "<|END_RESPONSE|>"}
    pairs = [f"<think>SECRET</think>\n<{start}\nMy case.\n{end}" for start, end in ends.items()]
    channels = ("analysisHm, SECRET.assistantfinalMy case.", "assistantfinalMy case.")
    channels += ("analysis. SECRET.assistantfinalMy case.",)
    commands = (
        "Thinking...\nSECRET.\n...done thinking.\n\nMy case.",
        "[Start thinking]\nSECRET.\n[End thinking]\n\nMy case.",
        "Thinking:\nSECRET.\n\n--\n\nMy case.",
        "Here is my thought process: SECRET.\n\nHere is my response:\nMy case.",
    )
    for text in (*channels, *pairs, *commands):
        assert public_text(text).text.strip() == "My case."
    for beginning in ("Thinking...\n", "Thinking:\n", "Here is my thought process: ", "==========\nThinking:\n"):
        assert PrivateFilter().feed(f"{beginning}SECRET.") == ""
    assert public_text("==========\n<think>\nSECRET.").text == ""
    for text in ("analysisWe have to argue.", "Thinking...\nSo.", "Thinking...\r\nSo."):
        assert (public_text(text).text, public_text(text, is_speech=False).text) == (text, "")
    assert public_text("Thinking...\nx\n...done thinking.").text == ""
    spoken = ("<answer> is a tag.", "<answer>A</answer> or <answer>B</answer>", "analysisParalysis: [/INST]")
    for text in ("analysis shows it.\n\nSo I rest.", "[Start thinking](x)\n\n[End thinking](y)", *spoken):
        assert public_text(text).text == text


def test_a_fence_in_working_pairs_with_none_outside() -> None:
    """An unclosed fence in reasoning does not hide the closing tag, nor the code of the speech."""
    speech = "My argument.\n\n```\nns/op 12\n</think>\n```\n\nSo."

    assert heard(f"<think>\nShe wrote:\n```\nx\n</think>\n\n{speech}") == speech
