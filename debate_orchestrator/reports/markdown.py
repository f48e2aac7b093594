"""The report as markdown: a fixed structure, rendered from a story alone."""

from __future__ import annotations

from functools import cache, partial

from jinja2 import Environment, PackageLoader, StrictUndefined

from debate_orchestrator.core.verdict import Remark, decimals, percent
from debate_orchestrator.reports import costs, markup, pages
from debate_orchestrator.reports.earlier import earlier
from debate_orchestrator.reports.story import Story, score_line, winner_word

_REMARKS: dict[Remark, str] = {
    "winner is behind on points": (
        "The declared winner is behind on points: the declaration and the scores disagree, and both stand."
    ),
    "scores are equal": "The totals are equal: the declaration alone decides.",
    "tie declared on unequal scores": "A tie was declared although the totals differ; both stand.",
    "strength differs from the judge's word": (
        "The judge's own word for the strength differs from what the scores give."
    ),
    "concession overrides the declared winner": (
        "A side conceded its whole position; by rule that ends in consensus, whatever was declared."
    ),
    "consensus without a finding": (
        "The judge declared consensus although no round was flagged as converging after an intervention."
    ),
    "judges disagree": "The judges do not agree on the winner.",
}


def render(story: Story) -> str:
    """The whole report, ending in a newline."""
    made = (
        _environment()
        .get_template("report.md.j2")
        .render(
            story=story,
            links=partial(_links, story, _anchors(story)),
            outcome=_outcome(story),
            remarks=[_REMARKS[one] for one in story.verdict.remarks] if story.verdict else [],
            costs=costs.table(story),
            earlier=earlier(story),
        )
    )
    return made.strip("\n") + "\n"


def _outcome(story: Story) -> str:
    """What was decided, in a sentence or two for somebody who reads nothing else."""
    verdict = story.verdict
    if verdict is None:
        return ""
    if verdict.winner in story.positions:
        position = story.positions[verdict.winner].rstrip(".")
        said = f"**{story.seats[verdict.winner]} prevailed**, arguing: {markup.literal(position)}."
    elif verdict.winner == "tie":
        said = "**Neither side prevailed.**"
    else:
        said = "**The sides ended in consensus**" + (f": {_who_conceded(story)}." if story.conceded else ".")
    won = [f"{story.seats[side]} {verdict.rounds_won[side]}" for side in story.positions]
    said += f" Rounds won: {', '.join(won)}, tied {verdict.rounds_won['tie']}."
    if len(story.finals) > 1:
        said += " Judges' votes: " + ", ".join(f"{winner_word(name)} {n}" for name, n in verdict.votes.items()) + "."
    return said


def _who_conceded(story: Story) -> str:
    who = "both researchers" if story.conceded == "both" else story.seats[str(story.conceded)]
    return f"{who} conceded the whole position after {story.completed} judged round{'s' * (story.completed != 1)}"


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
        "prose": markup.prose,
        "cell": markup.cell,
        "points": decimals,
        "percent": percent,
        "mark": lambda value: f"{value:g}",
        "winner": winner_word,
        "score_line": score_line,
        "cited": pages.cited,
    }
    return made


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
    for title in ("Debate Report", "Final Verdict", "Debate Transcript"):
        markup.anchor(title, seen)
    found: dict[str, str] = {}
    found.update((turn.id, markup.anchor(turn.heading, seen)) for turn in story.before)
    for told in story.told:
        markup.anchor(f"Round {told.number}", seen)
        for turn in (*told.speeches, *told.ballots, *told.forced):
            found[turn.id] = markup.anchor(turn.heading, seen)
    found.update((turn.id, markup.anchor(turn.heading, seen)) for turn in story.after)
    return found
