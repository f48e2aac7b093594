"""The command that continues a debate, and the one that asks again for what it lacks."""

from __future__ import annotations

from collections.abc import Iterable

from debate_orchestrator.core import schedule
from debate_orchestrator.core.phases import RAPPORTEUR, Turn
from debate_orchestrator.core.state import DebateState, spec_in
from debate_orchestrator.util import model_spec
from debate_orchestrator.util.messages import command


def next_command(debate: DebateState, journal: str) -> str:
    """The command that takes the turns that are due, for a shell. It is `step` where one of them is the host's: a step
    calls the models beside it too. Since it asks no person, it is `resume` where a person's turn is due as well."""
    specs = {spec_in(debate, turn.seat) for turn in debate.due}
    steps = model_spec.HOST in specs and model_spec.HUMAN not in specs
    return command("step" if steps else "resume", journal)


def asking_again(debate: DebateState, journal: str) -> str:
    """The sentence with the command that asks again for what a complete debate lacks because no reply could be used;
    empty where it lacks nothing."""
    if turns := schedule.asked_again(debate):
        seats = dict.fromkeys(turn.role for turn in turns)
        others = " ".join(f"--{seat} MODEL" for seat in seats)
        return f"`{command('resume', journal)}` asks for {_titles(turns)} again; with `{others}` it asks another model."
    if turns := schedule.unwritten(debate):
        answers = command("answers --from", journal)
        named = f"--{RAPPORTEUR} MODEL"
        missing = _titles(turns)
        return (
            f"It is too late for {missing} in this debate: `{answers}` prints the answers for a new one, to run with "
            f"`{named}`."
        )
    return ""


def _titles(turns: Iterable[Turn]) -> str:
    """What these turns write, as in `the dissent record and the decision brief`."""
    return " and ".join(f"the {title}" for title in dict.fromkeys(turn.phase.title.lower() for turn in turns))
