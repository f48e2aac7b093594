"""The report holds what any seat may have said: written out once in full, and with all seats hostile."""

from __future__ import annotations

import pytest
import reading
from corpus import TextGroup, all_text_groups, assert_harmless
from debates import hostile_script, opened_event, report, report_model
from hostile_texts import SAID

from debate_orchestrator.reports import markdown, markup
from debate_orchestrator.reports.model import ReportModel
from debate_orchestrator.util import sanitize

pytestmark = pytest.mark.slow


JUDGED = "How It Was Judged"
"""The one section that the contents leave out."""


def headings(rounds: int) -> list[tuple[int, str]]:
    """The headings that a report of so many rounds has."""
    made = [(1, "Debate Report"), (2, "Final Verdict"), (2, "Debate Transcript")]
    for n in range(1, rounds + 1):
        phases = ["Opening Statement" if n == 1 else "Constructive", *(["Challenge", "Rebuttal"] if rounds > 1 else [])]
        made += [(3, f"Round {n}"), *((4, f"{phase} — Researcher {side}") for phase in phases for side in "AB")]
        made.append((4, f"Judge Verdict — Round {n}"))
    last = ("Per-Round Score Summary", "Dissent Record", "Key Unresolved Questions", "Recommended Follow-Up")
    return made + [(2, title) for title in (*last, JUDGED)]


def own_tables(model: ReportModel) -> list[list[list[str]]]:
    """The tables that it has, those that are held in speeches among them; hostile cells are left out."""
    rounds = model.rounds_asked
    titles = ["Argument quality", "Use of evidence", *(["Directness of rebuttals"] if rounds > 1 else [])]
    ballot = [["Criterion", "Researcher A", "Researcher B"], *([title, "7", "6"] for title in titles)]
    transcript = []
    for one in model.rounds:
        said = [reading.tables(markup.quote_speech(speech.text or "")) for speech in one.speeches]
        transcript += [*(table for held in said for table in held), ballot]
    summary = [["Round", "Researcher A Score", "Researcher B Score", "Winner"]]
    summary += [[str(n), "7", "6", "A"] for n in range(1, rounds + 1)]
    summary.append(["Total", str(7 * rounds), str(6 * rounds), "A"])
    dissent = [["#", "Disputed Claim", "Status"], ["C1", "", "Unresolved"]]
    names = ("Researcher A", "Researcher B")
    words = [["Round", *(f"{name}, words" for name in names)]]
    words += [[place, "", ""] for place in (*map(str, range(1, rounds + 1)), "Total")]
    return [*transcript, summary, dissent, words]


def must_be_genuine(group: TextGroup, rounds: int = 2, strictness: str = "strict") -> None:
    """A report of a debate in which all said what they were given has its own structure and no other."""
    next_text = group.cycle()
    setup = {"topic": next_text(), "positions": (next_text(), next_text()), "rounds": rounds, "strictness": strictness}
    model = report_model(hostile_script(group, rounds=rounds, strict=strictness == "strict"), **setup)
    made = markdown.render(model)
    found = reading.tables(made)
    for row in found[-2][1:]:
        row[1:2] = [""]
    for row in found[-1][1:]:
        row[1:3] = ["", ""]

    assert reading.headings(made) == headings(rounds)
    assert found == own_tables(model)
    assert [one for one in reading.forged(made) if not one.startswith(("heading_open", "hr", "link to #"))] == []
    assert sum(token.type == "hr" and not token.level for token in reading.every(reading.parsed(made))) == 6
    assert set(reading.links_within(made)) == {
        *("opening-statement--researcher-a", "opening-statement--researcher-b"),
        *(title.lower().replace(" ", "-") for level, title in headings(rounds) if level == 2),
    }
    assert set(reading.links_within(made)) <= set(reading.fragments(made))
    assert made.replace("\u2060", "") == sanitize.sanitize(made)


@pytest.mark.slow
@pytest.mark.parametrize("group", all_text_groups(SAID))
def test_no_speech_forges_a_report(group: TextGroup) -> None:
    """Whatever is said, the headings, rules, tables, rows and links of a report are its own."""
    assert_harmless(must_be_genuine, group)


def test_templates_in_speech_are_text() -> None:
    """What looks like a template or a format string is never one."""
    text = "{{ 7*7 }} {% if x %} {round} {nonce} %(topic)s ${x}"
    made = report(hostile_script(text, rounds=1), topic=text, rounds=1)

    assert reading.visible(made).replace("\u2060", "").replace("\n", "").count(text) == 20
    assert opened_event(topic=text).settings.topic == text
