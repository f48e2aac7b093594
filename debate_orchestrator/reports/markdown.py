"""The report as markdown: a fixed structure, rendered from a story alone."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import cache, partial
from itertools import groupby
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined

from debate_orchestrator.core.phases import JUDGE, fill_label
from debate_orchestrator.reports import compare, markup, reviewers, sections, verdict_text, wording
from debate_orchestrator.reports.compare import Comparison
from debate_orchestrator.reports.judging_text import judging_text
from debate_orchestrator.reports.model import ReportModel
from debate_orchestrator.reports.model_turns import TurnReport
from debate_orchestrator.reports.rich_text import FieldPart, FieldText, Phrase, Table, TextRun
from debate_orchestrator.reports.sections import earlier
from debate_orchestrator.util.numbers import decimals, percent

SHOWN = {"scores", "strongest", "weakest", "winner", "justification", "feedback", "unsupported_claims", "convergence"}
SHOWN |= {"conceded", "label", "score", "probability", "faults"}
"""Fields of a ballot that have their own place on it, or, as faults, in a section of their own."""
SHOWN_LAST = {"scores", "winner", "justification", "converged_on", "strongest_argument", "strength", "faults"}
SHOWN_LAST |= {"label", "score", "probability", "unresolved_questions", "follow_up"}
"""The same of a final ballot."""
BEFORE, AFTER = "Before Round 1", "After the Last Round"
"""Headings over what stands outside the rounds."""
BLIND = "# Debate to Be Reviewed"
"""How the debate begins as reviewers read it."""
COMPARED = "# Debate Comparison"
"""How a comparison begins."""
_ALIKE = (
    "Similar wording: at least {share} of the words that carry content in either of two sentences are in both. That is "
    "no finding that they mean the same; they may say the opposite. A few debates are a few samples: what differs "
    "between them proves nothing of why."
)


def render(story: ReportModel) -> str:
    """The whole report, or the bare transcript where the format has that told, ending in a newline."""
    return _rendered(story, "transcript.md.j2" if story.bare else "report.md.j2")


def render_blind(story: ReportModel) -> str:
    """What the sides said, what the floor asked them and what a clerk found of it, for somebody who is to judge it:
    nobody's votes, scores or verdict, and nobody's model."""
    return _rendered(story, "blind.md.j2", title=BLIND, speeches=_speeches(story))


def render_comparison(made: Comparison) -> str:
    """Some debates side by side."""
    values = {"said": made, "title": COMPARED, "note": _ALIKE.format(share=percent(compare.ALIKE))}
    return _ended(_environment().get_template("comparison.md.j2").render(values))


def _ended(made: str) -> str:
    return made.strip("\n") + "\n"


def _speeches(story: ReportModel) -> list[tuple[str, list[TurnReport]]]:
    """Headings to the turns under them that are no judge's."""
    rounds = [(f"Round {one.number}", (*one.speeches, *one.forced)) for one in story.told]
    parts = [(BEFORE, story.before), *rounds, (AFTER, story.after)]
    kept = [(name, [turn for turn in turns if not turn.seat.startswith(JUDGE)]) for name, turns in parts]
    return [(name, turns) for name, turns in kept if turns]


def _rendered(story: ReportModel, template: str, **more: Any) -> str:
    anchors = _anchors(story)
    pen = MarkdownWriter(partial(_link, story, anchors))
    fields = FieldText(story.seats)
    elsewhere = {"sources"} if story.looked_up is not None else set()
    values: dict[str, Any] = {
        "story": story,
        "filled": fill_label,
        "pen": pen,
        "both": verdict_text.both(story),
        "links": partial(_links, story, anchors),
        "structured": partial(_structured, story, fields, pen),
        "listed": lambda turn: pen.points(fields.points(turn.shape, turn.ballot, SHOWN | elsewhere)),
        "listed_last": lambda turn: pen.points(fields.points(turn.shape, turn.ballot, SHOWN_LAST | elsewhere)),
        "reading": lambda turn: wording.reading_line(turn.reading, story.judging.scales),
        "cited": lambda turn: pen.line(markup.cited(turn.found)),
    }
    if not story.bare:
        values |= {
            "headline": verdict_text.headline(story),
            "outcome": verdict_text.outcome(story),
            "remarks": verdict_text.remarks(story),
            "worked_out": verdict_text.worked_out(story),
            "summary": _summary(story, pen),
            "judged": judging_text(story, fields),
            "before": BEFORE,
            "after": AFTER,
            "ledger": sections.ledger(story),
            "costs": sections.cost_table(story),
            "earlier": earlier(story),
            "reviewers_note": reviewers.NOTE,
        }
    return _ended(_environment().get_template(template).render(values | more))


@cache
def _environment() -> Environment:
    made = Environment(
        loader=PackageLoader("debate_orchestrator", "reports"),
        undefined=StrictUndefined,
        autoescape=False,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters |= {
        "block": markup.block,
        "literal": markup.literal,
        "plain": markup.plain,
        "prose": markup.prose,
        "inline": markup.inline,
        "cell": markup.cell,
        "points": decimals,
        "mark": lambda value: f"{value:g}",
        "winner": wording.winner_word,
        "score_line": wording.score_line,
    }
    return made


def _structured(story: ReportModel, fields: FieldText, pen: MarkdownWriter, turn: TurnReport) -> str:
    """A speech in fields, or what a clerk found."""
    assert turn.ballot is not None
    if turn.seat == sections.CLERK and "checks" in turn.shape:
        return "\n".join(f"- {pen.line(one)}" for one in sections.findings(turn, story, fields)) or sections.NOTHING
    return pen.block(fields.block(turn.shape, turn.ballot))


def _summary(story: ReportModel, pen: MarkdownWriter) -> str:
    """The table of rounds; a rule under each head is as long as the head."""
    table = verdict_text.summary(story)
    heads = [pen.line(head) for head in table.heads]
    return pen.table(table, ["-" * (len(head) + (1 if head.endswith(" Score") else 2)) for head in heads])


def _link(story: ReportModel, anchors: dict[str, str], turn: str) -> str:
    """A link to a turn: `round 1, opening A`."""
    round, name = story.places[turn]
    return f"[{f'round {round}, ' if round else ''}{name}](#{anchors[turn]})"


def _links(story: ReportModel, anchors: dict[str, str], turns: list[str]) -> str:
    """Links to turns, by round: `round 1: opening A, challenge B; round 2: ...`."""
    rounds: dict[int, list[str]] = {}
    for turn in turns:
        round, name = story.places[turn]
        rounds.setdefault(round, []).append(f"[{name}](#{anchors[turn]})")
    named = ((f"round {round}: " if round else "", links) for round, links in sorted(rounds.items()))
    return "; ".join(name + ", ".join(links) for name, links in named)


def _anchors(story: ReportModel) -> dict[str, str]:
    """Turn id to the fragment of its heading, as GitHub numbers headings that recur. The list of headings
    follows the template's order."""
    seen: dict[str, int] = {}
    for title in ("Debate Transcript",) if story.bare else ("Debate Report", "Final Verdict", "Debate Transcript"):
        markup.anchor(title, seen)
    found: dict[str, str] = {}
    if story.before and not story.bare:
        markup.anchor(BEFORE, seen)
    found.update((turn.id, markup.anchor(turn.heading, seen)) for turn in story.before)
    for told in story.told:
        markup.anchor(f"Round {told.number}", seen)
        for turn in (*told.speeches, *told.ballots, *told.forced):
            found[turn.id] = markup.anchor(turn.heading, seen)
    if story.after and not story.bare:
        markup.anchor(AFTER, seen)
    found.update((turn.id, markup.anchor(turn.heading, seen)) for turn in story.after)
    return found


class MarkdownWriter:
    """Writes for one report; `link` makes a turn's id a link to it."""

    def __init__(self, link: Callable[[str], str]):
        self._link = link

    def line(self, said: Phrase) -> str:
        """A phrase, wherever phrases of its kinds may stand."""
        made = []
        for strong, runs in groupby(said, key=lambda run: run.strong):
            text = "".join(map(self._run, runs))
            made.append(f"**{text}**" if strong else text)
        return "".join(made)

    def _run(self, run: TextRun) -> str:
        match run.kind:
            case "literal":
                return markup.literal(run.text)
            case "plain":
                return markup.plain(run.text)
            case "prose":
                return markup.prose(run.text)
            case "cell":
                return markup.cell(run.text)
            case "turn":
                return self._link(run.text)
            case "page":
                return markup.address(run.text)
            case "found":
                return markup.link(run.to, run.text)
        return run.text

    def table(self, table: Table, rule: Sequence[str] = ()) -> str:
        """A table; `rule` stands below its heads, cell for cell."""
        rows = [[self.line(cell) for cell in cells] for cells in (table.heads, *table.rows)]
        lines = [" | ".join(cells) for cells in rows]
        below = f"|{'|'.join(rule)}|" if rule else f"| {' | '.join(['---'] * len(table.heads))} |"
        return "\n".join([f"| {lines[0]} |", below, *(f"| {line} |" for line in lines[1:])])

    def block(self, parts: Iterable[FieldPart]) -> str:
        """A speech in fields, as paragraphs, quotes, lists and the speech itself."""
        return "\n\n".join(map(self._part, parts))

    def _part(self, part: FieldPart) -> str:
        if part.kind == "speech":
            return markup.block(part.text)
        if part.kind == "quote":
            return f"> {self.line(part.said)}"
        named = f"**{markup.literal(part.label)}:**"
        if part.kind == "list":
            return "\n".join([f"{named}\n", *(f"- {self.line(item)}" for item in part.items)])
        return f"{named} {self.line(part.said)}"

    def points(self, parts: Iterable[FieldPart]) -> list[str]:
        """The fields of a judge's reply, as the lines of a list."""
        made = []
        for part in parts:
            named = f"- **{markup.literal(part.label)}:**"
            if part.kind == "list":
                made += [named, *(f"  - {self.line(item)}" for item in part.items)]
            else:
                made.append(f"{named} {self.line(part.said)}")
        return made
