"""The report as markdown: a fixed structure, rendered from a story alone."""

from __future__ import annotations

from functools import cache, partial
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined

from debate_orchestrator.core.figures import decimals, percent
from debate_orchestrator.core.parts import JUDGE, filled
from debate_orchestrator.reports import costs, ledger, lines, markup, pages, reviewers, verdicts
from debate_orchestrator.reports.comparing import wording
from debate_orchestrator.reports.comparing.comparison import Comparison
from debate_orchestrator.reports.earlier import earlier
from debate_orchestrator.reports.fields import Fields
from debate_orchestrator.reports.judged import judged
from debate_orchestrator.reports.pen import Pen
from debate_orchestrator.reports.story import Story
from debate_orchestrator.reports.told import Told

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


def render(story: Story) -> str:
    """The whole report, or the bare transcript where the format has that told, ending in a newline."""
    return _rendered(story, "transcript.md.j2" if story.bare else "report.md.j2")


def render_blind(story: Story) -> str:
    """What the sides said, what the floor asked them and what a clerk found of it, for somebody who is to judge it:
    nobody's votes, scores or verdict, and nobody's model."""
    return _rendered(story, "blind.md.j2", title=BLIND, speeches=_speeches(story))


def render_comparison(made: Comparison) -> str:
    """Some debates side by side."""
    values = {"said": made, "title": COMPARED, "note": _ALIKE.format(share=percent(wording.ALIKE))}
    return _ended(_environment().get_template("comparing/comparison.md.j2").render(values))


def _ended(made: str) -> str:
    return made.strip("\n") + "\n"


def _speeches(story: Story) -> list[tuple[str, list[Told]]]:
    """Headings to the turns under them that are no judge's."""
    rounds = [(f"Round {one.number}", (*one.speeches, *one.forced)) for one in story.told]
    parts = [(BEFORE, story.before), *rounds, (AFTER, story.after)]
    kept = [(name, [turn for turn in turns if not turn.seat.startswith(JUDGE)]) for name, turns in parts]
    return [(name, turns) for name, turns in kept if turns]


def _rendered(story: Story, template: str, **more: Any) -> str:
    anchors = _anchors(story)
    pen = Pen(partial(_link, story, anchors))
    fields = Fields(story.seats)
    elsewhere = {"sources"} if story.looked_up is not None else set()
    values: dict[str, Any] = {
        "story": story,
        "filled": filled,
        "pen": pen,
        "both": verdicts.both(story),
        "links": partial(_links, story, anchors),
        "structured": partial(_structured, story, fields, pen),
        "listed": lambda turn: pen.points(fields.points(turn.shape, turn.ballot, SHOWN | elsewhere)),
        "listed_last": lambda turn: pen.points(fields.points(turn.shape, turn.ballot, SHOWN_LAST | elsewhere)),
        "reading": lambda turn: lines.reading_line(turn.reading, story.judging.scales),
        "cited": lambda turn: pen.line(pages.cited(turn.found)),
    }
    if not story.bare:
        values |= {
            "headline": verdicts.headline(story),
            "outcome": verdicts.outcome(story),
            "remarks": verdicts.remarks(story),
            "worked_out": verdicts.worked_out(story),
            "summary": _summary(story, pen),
            "judged": judged(story, fields),
            "before": BEFORE,
            "after": AFTER,
            "ledger": ledger.ledger(story),
            "costs": costs.table(story),
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
        "winner": lines.winner_word,
        "score_line": lines.score_line,
    }
    return made


def _structured(story: Story, fields: Fields, pen: Pen, turn: Told) -> str:
    """A speech in fields, or what a clerk found."""
    assert turn.ballot is not None
    if turn.seat == ledger.CLERK and "checks" in turn.shape:
        return "\n".join(f"- {pen.line(one)}" for one in ledger.findings(turn, story, fields)) or ledger.NOTHING
    return pen.block(fields.block(turn.shape, turn.ballot))


def _summary(story: Story, pen: Pen) -> str:
    """The table of rounds; a rule under each head is as long as the head."""
    table = verdicts.summary(story)
    heads = [pen.line(head) for head in table.heads]
    return pen.table(table, ["-" * (len(head) + (1 if head.endswith(" Score") else 2)) for head in heads])


def _link(story: Story, anchors: dict[str, str], turn: str) -> str:
    """A link to a turn: `round 1, opening A`."""
    round, name = story.places[turn]
    return f"[{f'round {round}, ' if round else ''}{name}](#{anchors[turn]})"


def _links(story: Story, anchors: dict[str, str], turns: list[str]) -> str:
    """Links to turns, by round: `round 1: opening A, challenge B; round 2: ...`."""
    rounds: dict[int, list[str]] = {}
    for turn in turns:
        round, name = story.places[turn]
        rounds.setdefault(round, []).append(f"[{name}](#{anchors[turn]})")
    named = ((f"round {round}: " if round else "", links) for round, links in sorted(rounds.items()))
    return "; ".join(name + ", ".join(links) for name, links in named)


def _anchors(story: Story) -> dict[str, str]:
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
