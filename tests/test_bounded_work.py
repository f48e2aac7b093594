"""The work that hostile speeches and files take grows with their length, up to a limit, and no faster."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from itertools import count

import linear
import pytest
from core.folding import debated
from corpus import for_each
from counting import calls
from debates import played, told

from debate_orchestrator.core import schedule, speech_rules, visible_text
from debate_orchestrator.core.events import BriefSent, Event, Rejected
from debate_orchestrator.core.fold import fold
from debate_orchestrator.core.reply import Reply
from debate_orchestrator.core.reply_check import check
from debate_orchestrator.core.shape import Field, ShapeContext
from debate_orchestrator.engine import transcript_file
from debate_orchestrator.engine.transcript_file import MAX_MARKERS, MAX_SPEECHES
from debate_orchestrator.host.turns_folder import earlier_briefs
from debate_orchestrator.prompting import json_object
from debate_orchestrator.prompting.briefs import brief, brief_file
from debate_orchestrator.prompting.reply_code import ReplyCode
from debate_orchestrator.reports import markdown, markup
from debate_orchestrator.reports.announcements import announcements
from debate_orchestrator.reports.html import page, writer
from debate_orchestrator.reports.html.writer import HtmlWriter
from debate_orchestrator.util import yaml
from debate_orchestrator.util.errors import MAX_LISTED, BadFile

PROSE = "It was **close**, but `f(x)` decided it; see the note. "


def as_long(piece: str, length: int = 12_000) -> str:
    """A text of that length, made of one piece."""
    return (piece * length)[:length]


@pytest.mark.parametrize("shown", [markup.block, markup.prose, writer.speech, writer.line])
def test_markup_takes_little_work(shown: Callable[[str], object]) -> None:
    """A speech of nothing but markup takes no more than a few times the calls of prose of the same length, in markdown
    and on a page."""
    prose = calls(lambda: shown(as_long(PROSE, 20_000)))

    for piece in ("![", "[", "[a](", "[a", "- a\n", "a|b\n-|-\n", "|a", "1. a\n\n"):
        hostile = as_long(piece, 20_000)
        assert calls(lambda hostile=hostile: shown(hostile)) < 5 * prose, piece


def test_a_report_parses_so_much_and_no_more(monkeypatch: pytest.MonkeyPatch) -> None:
    """Speeches that come after the characters that one report parses are shown as they were written, in each form."""
    assert markup.MAX_PARSED <= 1_000_000
    monkeypatch.setattr(markup, "MAX_PARSED", 50_000)
    numbers = count()

    def say(turn: dict[str, str]) -> str | None:
        return f"**{next(numbers)}** " + "word " * 380 if turn["turn"].endswith((".a", ".b")) else None

    report = told(say, rounds=6)
    many = sum(turn.kind == "speech" for turn in report.turns)
    as_text, as_page = markdown.render(report), page.render(report)

    assert 15 < many - as_text.count("```text") < 26
    assert 15 < many - as_page.count('<pre class="whole">') < 26
    assert "**0** word" in as_text and "<strong>0</strong> word" in as_page
    assert all(f"**{number}** word" in as_text for number in range(many))
    assert f"<code>**{many - 1}** word" in as_page


def test_a_page_parses_a_speech_once() -> None:
    """The speech and the line about it on the flow sheet come from one parse."""
    made, text = HtmlWriter({}, []), as_long(PROSE)

    assert calls(lambda: made.speech(text)) > 1_000
    assert calls(lambda: made.speech(text)) < 10


def test_yaml_of_many_values_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """So many values and keys are read; with more, reading ends there, however many follow."""
    assert yaml.MAX_NODES <= 50_000
    monkeypatch.setattr(yaml, "MAX_NODES", 1_000)

    def read(many: int) -> None:
        with pytest.raises(yaml.InvalidYaml, match="more than 1,000 values and keys"):
            yaml.load(f"topic: [{'a,' * many}]")

    assert len(yaml.load(f"topic: [{'a,' * 997}]")["topic"]) == 997
    assert calls(lambda: read(40_000)) < 1.1 * calls(lambda: read(2_000))


def refusal(text: str) -> list[str]:
    """What is said of a transcript that is refused."""
    with pytest.raises(BadFile) as refused:
        transcript_file.parse(text, "x")
    return refused.value.problems


def test_a_list_of_many_speeches_is_not_looked_through() -> None:
    """A JSON transcript that is too long, or has a speech of too many fields, is refused with that one reason."""
    fields = {f"field {number}": 1 for number in range(5_000)}

    assert refusal(json.dumps([{}] * 5_000))[:-1] == [
        f"x: it has 5,000 speeches. A transcript has at most {MAX_SPEECHES} speeches."
    ]
    assert refusal(json.dumps([fields]))[:-1] == [
        "x: a speech has more than 10 fields. Its fields are: speaker, side, round, phase, text."
    ]


@for_each(["- a\n", "> > ", "| | ", "1. ", "\n\n"])
def test_a_transcript_of_too_many_markers_is_refused(piece: str) -> None:
    """A transcript in markdown of which nearly every character would be a block or a cell is refused before it is
    parsed: the work is not that of parsing."""
    text = "# Topic\n\n### Ann (Pro)\n\nx\n\n### Bo (Con)\n\n" + piece * MAX_MARKERS

    def refuse() -> None:
        assert f"A transcript has at most {MAX_MARKERS:,}." in refusal(text)[0]

    assert calls(refuse) < 5_000


def test_a_report_is_read_back_within_a_budget(monkeypatch: pytest.MonkeyPatch) -> None:
    """A report that was written by a stranger is read back with no more parsing than one report may take."""
    monkeypatch.setattr(markup, "MAX_PARSED", 50_000)
    head = "# Debate Report\n\n**Topic:** x\n**A (Pro):** x\n**B (Con):** y\n\n## Debate Transcript\n\n### Round 1\n\n"

    def document(many: int) -> str:
        speech = as_long(PROSE, 2_000)
        turns = [
            f"#### Opening — {side}\n\n[{side}]\n\n{number} {speech}\n\n" for number in range(many) for side in "AB"
        ]
        return head + "".join(turns)

    short, long = document(14), document(27)
    assert calls(lambda: transcript_file.parse(long, "x")) < 1.6 * calls(lambda: transcript_file.parse(short, "x"))


CODED = ReplyCode(field="code", end_field="end_code", text="BCDFGH")


@for_each(["word ", "<think>x</think>\n", "`<think>` ", "```\n<think>\n```\n"])
def test_many_objects_with_the_code_take_the_work_of_a_few(around: str) -> None:
    """Private working is looked for around the first objects of a reply, and not around each again."""
    own = '{"code": "BCDFGH", "end_code": "BCDFGH"}\n'

    def taken(objects: int) -> int:
        reply = own * objects + as_long(around, 20_000)
        return calls(lambda: json_object.find_with_code(reply, CODED))

    json_object.find_with_code(own + around, CODED)  # patterns with the code are compiled at their first use
    assert json_object._MAX_OWN <= 10
    assert taken(json_object._MAX_OWN) < 1.3 * taken(1) + 1_000


def test_objects_are_repaired_up_to_a_number_of_characters(monkeypatch: pytest.MonkeyPatch) -> None:
    """A repair takes the square of what it repairs, so one reply has a limit for all of its objects. What is beyond it
    has faults, and is told."""
    lengths, repaired = list[int](), json_object._repaired

    def counted(text: str) -> dict[str, object] | None:
        lengths.append(len(text))
        return repaired(text)

    monkeypatch.setattr(json_object, "_repaired", counted)
    damaged = '{code: "BCDFGH", x: "%s", end_code: "BCDFGH"}\n'

    def objects(text: str, many: int) -> str:
        return "".join((damaged % text).replace(", ", "," + " " * n) for n in range(1, many + 1))

    found = json_object.find_with_code(objects("y" * 3_000, 3), CODED)
    assert [value["x"] for value, _ in found.values()] == ["y" * 3_000] * 3
    for text in ("y", "y" * 7_900):
        lengths.clear()
        with pytest.raises(ValueError, match="with faults"):
            json_object.find_with_code(objects(text, 20), CODED)
        assert 0 < sum(lengths) <= 2 * json_object.MAX_REPAIRED_LENGTH and len(lengths) <= 8


def test_unknown_fields_of_a_reply_are_told_up_to_a_number() -> None:
    """The complaint about a reply with many unknown fields names the first twenty, in the reply and in its records."""
    shape = {"a": Field(kind="record", fields={"b": Field(kind="flag")})}
    context = ShapeContext(sides=("a", "b"), criteria=(), least=1, most=10, rounds=1, strictness="strict")
    many = {f"k{n}": n for n in range(1_000)}
    for reply in ({**many, "a": {"b": True, **many}}, {"a": {"b": True, **many}}):
        found = check(shape, reply, context)
        assert len(found) == MAX_LISTED + 1
        assert found[-1] == "the reply: there are more problems than these 20."


@pytest.mark.slow
def test_no_text_is_looked_through_again_and_again() -> None:
    """However long a hostile text is, each function comes to its end: none takes the square of the length."""
    ran = subprocess.run(
        [sys.executable, linear.__file__, *linear.FUNCTIONS], capture_output=True, text=True, check=False
    )

    assert ran.returncode == 0 and ran.stdout.endswith("\ndone\n"), f"{ran.stdout}{ran.stderr}"


@pytest.mark.slow
def test_no_pattern_looks_through_its_own_beginnings_again_and_again() -> None:
    """However long a text of the beginnings of what a pattern finds, the pattern comes to its end."""
    ran = subprocess.run([sys.executable, linear.__file__, "patterns"], capture_output=True, text=True, check=False)

    assert ran.returncode == 0 and ran.stdout.endswith("\ndone\n"), f"{ran.stdout}{ran.stderr}"


def test_keys_of_an_object_are_looked_up_behind_braces() -> None:
    """The keys of an object make no pattern, which would be tried key by key at every place: each takes a few calls.
    Behind a brace, one of many is another object still."""

    def read(many: int, behind: str = "none") -> object:
        return json_object.find_object(json.dumps({f"key {n:05d}": 1 for n in range(many)}) + behind)[0]

    assert calls(lambda: read(2_000, "{" + " a: 1" * 2_000)) < 50_000
    for another in ("{ Key 01999 : 2", "{a: 3, \u201ckey 00007\u201d: 2", "{'key 00000':"):
        with pytest.raises(ValueError, match="objects that differ"):
            read(2_000, another)
    assert read(2, "{'key 00000', key 7: 0") == {"key 00000": 1, "key 00001": 1}
    assert json_object.find_object('{"why?": 1, "so": 2} note {- : x')[0] == {"why?": 1, "so": 2}
    with pytest.raises(ValueError, match="objects that differ"):
        json_object.find_object('{"why?": 1, "so": 2} note {so : x')


@for_each(["alike", "distinct"])
def test_briefs_are_made_again_up_to_a_number(digests: str) -> None:
    """A journal that says of very many briefs that they were sent, and refuses as many replies, takes little more work
    than one with a few. What was really sent last is still known."""
    debate = debated(until="1.verdict.judge")
    (turn,) = debate.due
    reply = Reply(text="x", brief_digest="d", by="human")

    def found(many: int) -> list[str]:
        events: list[Event] = [debate.opened, *(debate.replies[each.id] for each in schedule.turns_taken(debate))]
        events += [Rejected(turn=turn.id, problems=(f"no {n}",), reply=reply, absent=False) for n in range(many)]
        events += [
            BriefSent(turn=turn.id, brief_digest="d" if digests == "alike" else f"{n}", by="human") for n in range(many)
        ]
        asked = brief(fold(events), turn, fold(events).rejected[turn.id][-1])
        sent = BriefSent(turn=turn.id, brief_digest=asked.digest, by="human")
        known, *_ = list(earlier_briefs([*events, sent], turn, "r.json"))
        assert known == brief_file(asked, fold(events), turn, "r.json")
        return [known]

    found(20)  # makes what is kept for all briefs
    assert calls(lambda: found(60)) < 2 * calls(lambda: found(20))


def test_of_a_long_speech_few_words_are_looked_at_one_by_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """However long it is: no more than may be heard."""
    looked: list[str] = []

    class Counted:
        """A pattern that counts what it finds."""

        def finditer(self, text: str) -> Iterator[re.Match[str]]:
            return (looked.append(found[0]) or found for found in re.finditer(r"\S+", text))

    monkeypatch.setattr(visible_text, "_WORD", Counted())
    for length in (10_000, 50_000):
        assert visible_text.cut_to_length("word " * length, 2) == ("word word", length - 2)
    assert len(looked) == 4


@pytest.mark.parametrize("piece", ["word ", "\n", "no\n"])
def test_a_reserved_line_is_looked_for_in_all_lines_at_once(piece: str) -> None:
    """However many lines a speech has, and however long they are."""
    debate = debated(until="1.opening.a")
    (turn, *_) = debate.due

    def look(times: int) -> None:
        reply = Reply(text=piece * times + "\n_i concede,  the debate!\nThe end.", brief_digest="", by="x")
        assert speech_rules.ignored_line(debate, turn, reply) == debate.format.lines.concede

    look(1)
    assert calls(lambda: look(250_000)) <= calls(lambda: look(10))


def test_what_a_speech_says_is_worked_out_when_it_is_given(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever is announced later looks through no speech again."""
    text = "We stay.\n\nI concede the debate\n\nNot at all."
    debate = played(lambda task: text if task["turn"] == "1.opening.a" else None, until="1.rebuttal.a")
    state = fold(debate)
    monkeypatch.setattr(speech_rules, "visible_as_quoted", None)
    monkeypatch.setattr(speech_rules, "without_private_working", None)
    said = [line.text for line in announcements(state)]
    assert 'Researcher A wrote "I CONCEDE THE DEBATE." where it does not count (1.opening.a).' in said
