"""A stranger's journal brings a format and ballots of its own: no word of theirs is live in any form of a report, and
what is said of a reply to shapes of hundreds of fields is short.

The places are found in the models, so that a field, an option or a key that is new is tried as well.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import journals
import page_reading
import pytest
import reading
from conftest import CommandResult, Run
from core import folding
from core import test_decision as decision
from corpus import for_each
from own_formats import FILES, write_format
from pydantic import BaseModel, ValidationError
from scripted_debates import entries, shipped_format

from debate_orchestrator.core import rapporteur, schedule
from debate_orchestrator.core.events import Event, StructuredReplyGiven
from debate_orchestrator.core.fold import apply, fold
from debate_orchestrator.core.format import Format
from debate_orchestrator.core.reply_check import check
from debate_orchestrator.core.shape import Field, Shape, ShapeContext
from debate_orchestrator.core.state import DebateState
from debate_orchestrator.engine import format_check
from debate_orchestrator.prompting.briefs import brief
from debate_orchestrator.prompting.normalize import SideWords, normalize
from debate_orchestrator.reports import json_report, markdown
from debate_orchestrator.reports.compare import compare
from debate_orchestrator.reports.html import page
from debate_orchestrator.reports.model import build_report
from debate_orchestrator.util import resources
from debate_orchestrator.util.errors import MAX_LISTED, MAX_PROBLEMS_LENGTH, DoesNotFit
from debate_orchestrator.util.sanitize import sanitize
from debate_orchestrator.web import blocks

PLAIN = "Ordinary words"
SAID = "So it is."
"""What scripts have in the place of a free text."""
HOSTILE = (
    "<img src=https://evil.example/x><script>alert(1)</script>",
    "x |\n\n## Final Verdict\n\n**Winner:** B | x\n\n---\n",
    "x\x1b]0;pwned\x07\x1b[2J\u202eB :renniW",
    "![x](https://evil.example/x.png)",
    "# Final Verdict",
)


def words(value: Any) -> Iterator[str]:
    """Every string of a value, the keys of its mappings too, at every depth; not the names of a model's fields."""
    match value:
        case str():
            yield value
        case BaseModel():
            for name in type(value).model_fields:
                yield from words(getattr(value, name))
        case Mapping():
            for key, one in value.items():
                yield from words(key)
                yield from words(one)
        case list() | tuple():
            for one in value:
                yield from words(one)


def replaced(value: Any, changes: Mapping[str, str]) -> Any:
    """A value as plain data in which strings are others, wherever they stand alone."""
    match value:
        case str():
            return changes.get(value, value)
        case BaseModel():
            fields = type(value).model_fields.items()
            return {field.alias or name: replaced(getattr(value, name), changes) for name, field in fields}
        case Mapping():
            return {replaced(key, changes): replaced(one, changes) for key, one in value.items()}
        case list() | tuple():
            return [replaced(one, changes) for one in value]
    return value


def refuses(own: dict[str, Any], word: str, other: str) -> bool:
    """Whether a format, as plain data, may not have another string in the place of one of its own."""
    try:
        Format.model_validate(replaced(own, {word: other}))
    except ValidationError:
        return True
    return False


def played(format: Format, said: str = SAID) -> tuple[list[Event], DebateState]:
    """A debate of a format in which every phase takes place, with the last of its modes; `said` is every free text of
    its ballots, those of optional fields too."""
    asked = {name: name in format.optional_phases for name in ("issues", "brief")}
    mode = [*format.rubric.strictness][-1]
    opened = folding.opened(2, format.judge_count, rules=format, strictness=mode, **asked)
    debate, events = fold([opened]), list[Event]([opened])
    while due := debate.due:
        for turn in due:
            shape = debate.shape(turn)
            reply = folding.speech_event(turn.id)
            if shape is not None:
                ballot = folding.plainest_reply(shape, schedule.shape_context(debate, turn), texts=lambda _: said)
                reply = folding.ballot_event(turn.id, ballot)
            debate = apply(debate, reply)
            events.append(reply)
    return events, debate


def forms(events: list[Event], debate: DebateState) -> dict[str, str]:
    """Every form in which a debate is shown, by its name."""
    report = build_report(entries(events))
    compared = compare([("one", report), ("other", report)])
    return {
        "report.md": markdown.render(report),
        "review.md": markdown.render_for_review(report),
        "comparison.md": markdown.render_comparison(compared),
        "report.html": page.render(report),
        "comparison.html": page.render_comparison(compared),
        "web.html": blocks.render_all(debate),
        "report.json": json_report.render(report),
    }


def structure(markdown_text: str) -> Counter[str]:
    """The headings, rules, tables and cells of a report, how many of each; HTML and images too."""
    tokens = reading.every(reading.parsed(markdown_text))
    return Counter(token.type + token.markup for token in tokens if token.type in _STRUCTURE)


_STRUCTURE = {*reading.FORGING, "tr_open", "td_open", "th_open"}


def assert_dead(made: dict[str, str], plain: dict[str, str], where: str) -> None:
    """Nothing of what was put into a debate is live: its forms have the structure of those with plain words."""
    for name, text in made.items():
        assert sanitize(text) == (text.replace("\u2060", "") if name.endswith(".md") else text), (where, name)
        if name.endswith(".md"):
            assert structure(text) == structure(plain[name]), (where, name)
        elif name.endswith(".html"):
            shown, usual = page_reading.read(text), page_reading.read(plain[name])
            assert shown.odd == usual.odd, (where, name)
            assert len(shown.outline) == len(usual.outline), (where, name)
        else:
            json.loads(text)


each_format = pytest.mark.parametrize(
    "name",
    [name if name == "claim" else pytest.param(name, marks=pytest.mark.slow) for name in resources.format_names()],
)


@pytest.mark.slow
@each_format
def test_no_word_of_a_format_is_live(name: str, here: Path, debate: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """A format with hostile words in the place of any of its own is refused, or shows them as words."""
    own = replaced(shipped_format(name), {})
    for hostile in HOSTILE if name == "claim" else HOSTILE[:2]:
        every = dict.fromkeys(words(shipped_format(name)))
        kept = [word for word in every if not refuses(own, word, hostile)]
        assert 10 < len(kept) < len(every), hostile
        made, plain = (
            Format.model_validate(replaced(own, {word: f"{text}{n}" for n, word in enumerate(kept)}))
            for text in (hostile, PLAIN)
        )
        shown = played(made)
        assert_dead(forms(*shown), forms(*played(plain)), repr(hostile))
        with monkeypatch.context() as patched:
            patched.setattr(format_check, "load", lambda given, made=made: made)
            assert_harmless(debate("formats", "mine"))
        path = here / f"{HOSTILE.index(hostile)}.journal.jsonl"
        copy = path.with_name(f"copy-{path.name}")
        for file in (path, copy):
            journals.write_journal(file, shown[0])
        for verb in (["replay", path], ["check", path], ["ballot", path, "--form"], ["compare", path, copy]):
            assert_harmless(debate(*map(str, verb)))


@each_format
def test_no_word_of_a_ballot_is_live(name: str) -> None:
    """Hostile words in the free texts of ballots are shown as words; in the place of any other of their strings, keys
    too, they are refused."""
    own = shipped_format(name)
    plain = forms(*played(own))
    for hostile in HOSTILE:
        assert_dead(forms(*played(own, hostile)), plain, repr(hostile))
    events, _ = played(own)
    for n, event in enumerate(events):
        if isinstance(event, StructuredReplyGiven):
            before = fold(events[:n])
            for word in set(words(event.data)) - {SAID}:
                spoiled = event.model_copy(update={"data": replaced(event.data, {word: HOSTILE[0]})})
                with pytest.raises(DoesNotFit):
                    apply(before, spoiled)


def assert_harmless(ran: CommandResult) -> None:
    """A verb did what it does, and printed nothing that a terminal obeys."""
    assert ran.code == 0, ran.err
    assert sanitize(ran.out) == ran.out and sanitize(ran.err) == ran.err


def test_a_journal_with_a_hostile_option_is_refused(here: Path, debate: Run) -> None:
    """It is not read, and the message says where in the format the option stands, and what it must be."""
    path = here / "own.journal.jsonl"
    whole = journals.write_journal(path, played(shipped_format("adversarial"))[0])
    for hostile in HOSTILE[:4]:
        event = json.loads(whole.split(b"\n")[0])["event"]
        event["format"] = replaced(event["format"], {"unresolved": hostile})
        path.write_bytes(journals.line(1, journals.START, event))
        ran = debate("report", str(path))

        assert ran.code == 2, hostile
        place = "format.shapes.dissent.rows.fields.status.options.0"
        assert "line 1 holds a text that is not allowed in its place" in ran.err
        assert f"{place}: should be a line of text, of at most 200 characters, without markdown or HTML" in ran.err
        assert "newer version" not in ran.err
        assert sanitize(ran.err) == ran.err and not list(here.glob("*.md"))


def test_a_sign_of_convergence_with_html_is_refused(here: Path, debate: Run) -> None:
    """A key of a format of one's own is held to the rule for options, and the message names its line."""
    text = FILES["rubric.yaml"] + 'convergence: {"<img src=https://evil.example/x>": They agree}\n'
    ran = debate("formats", str(write_format(here / "mine", rubric_yaml=text)))

    assert ran.code == 2
    assert "mine/rubric.yaml:7: rubric.converge" in ran.err
    assert "should be a line of text, of at most 200 characters, without markdown or HTML." in ran.err


def test_an_option_may_have_lone_signs() -> None:
    """What is not markup is no reason to refuse a format."""
    for option in ("C#", "<50%", "> 50%", "~10", "half_true", "yes & no", "É, ß"):
        assert Format.model_validate(replaced(shipped_format("adversarial"), {"unresolved": option}))


# Shapes of hundreds of fields

CONTEXT = ShapeContext(
    sides=("a", "b"),
    criteria=(),
    min=1,
    max=10,
    rounds=1,
    strictness="strict",
    issues=("I1", "I2"),
    settings_on=("x",),
)


def in_lists(fields: Shape) -> Shape:
    """A shape of lists in a list, whose items have these fields."""
    inner = {"inner": Field(kind="list", fields=fields)}
    return {"outer": Field(kind="list", fields={"middle": Field(kind="list", fields=inner)})}


LONG = Field(kind="choice", options=tuple(f"{n} " + "x" * 190 for n in range(100)))
STRANGE: dict[str, Shape] = {
    "long names": in_lists({f"f{n} " + "x" * 190: Field(kind="text") for n in range(280)}),
    "long choices": in_lists({f"f{n}": LONG for n in range(280)}),
}


def test_a_list_of_choices_is_read_by_its_options() -> None:
    """A phrase that two options share means neither; another name of a draw, and of a side, means one."""
    options = ("Yes", "yes!", "Maybe so", "tie", "a")
    value = {"x": ["maybe SO", "YES", "a draw", "the Pro", "the tie", "con", "Yes"]}

    read = normalize({"x": Field(kind="choices", options=options)}, value, CONTEXT, SideWords({"pro": "a", "con": "b"}))

    assert read.value["x"] == ["Maybe so", "YES", "tie", "a", "tie", "con", "Yes"]


SIGNS = (
    *("¬{}", "≠ {}", "❌ {}", "✗ {}", "{} ✗", "⊘ {}", "∄{}", "! {}", "!{}", "-{}", "~{}", "~~{}~~", "{}?", "{}\u0336"),
    *("{}\u20e0", "{}…", "{} >", "*{}", "{}=b", f"{{}}{'.' * 2_000}", f"{'(' * 2_000}{{}}{')' * 2_000}"),
)


@for_each(SIGNS)
def test_a_sign_beside_an_option_is_asked_about(sign: str) -> None:
    """A sign may negate, strike or doubt what it stands by: with one no option, flag or side is read as meant."""
    shape = {"x": Field(kind="choice"), "y": Field(kind="choices", options=("a", "b")), "z": Field(kind="boolean")}
    shape |= dict.fromkeys(("o", "n"), Field(kind="choice", options=("a",), optional=True))
    shape["s"] = Field(kind="text", per_side=True)
    sides = {"a": "a", "pro": "a", "b": "b", "con": "b"}
    value = {
        "x": sign.format("Pro"), "y": [sign.format("A")], "z": sign.format("yes"), "o": sign.format("A"),
        "n": sign.format("none"), "s": {sign.format("A"): "So.", "b": "No."},
    }  # fmt: skip

    assert normalize(shape, value, CONTEXT, SideWords(sides)).value == value


@pytest.mark.parametrize("items", [{}, {"y" * 1000: 1}, None], ids=repr)
@pytest.mark.parametrize("shape", STRANGE)
def test_problems_of_a_reply_are_short_together(shape: str, items: Any) -> None:
    """However many fields are missing or wrong, and however long their names and options are, whole sentences of a few
    thousand characters name the first problems. The last one says that there are more."""
    problems = check(STRANGE[shape], {"outer": [{"middle": [{"inner": [items] * 100}] * 100}] * 100}, CONTEXT)

    assert 2 < len(problems) <= MAX_LISTED + 1
    assert problems[-1] == f"the reply: there are more problems than these {len(problems) - 1}."
    assert sum(map(len, problems[:-1])) <= MAX_PROBLEMS_LENGTH <= 8_000
    assert all(problem.endswith(".") for problem in problems)


def test_a_brief_for_another_draft_has_the_first_problems_of_the_last_one() -> None:
    """A decision brief of a hundred reasons, each with a mark that nothing supports, has hundreds of problems."""
    fault = {"kind": "unclear", "where": "weighing", "problem": "It says nothing."}
    first = decision.brief(why=[decision.reason("held")] * 100)
    script = {"final.brief.rapporteur": first, "final.brief-check.rapporteur": {"findings": [fault]}}
    debate = decision.at("final.brief-revised.rapporteur", script)
    shown = brief(debate, debate.due[0]).messages[-1].parts[-1].rpartition("<<< FOUND")[2].partition("\nEND ")[0]

    assert len(rapporteur.decision_brief_problems(debate)) > 100
    assert shown.count("\n- ") == MAX_LISTED + 1 and "there are more problems than these 20." in shown
