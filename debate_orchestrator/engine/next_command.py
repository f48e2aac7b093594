"""The command that continues a debate, for the messages that tell the user what to do next."""

from __future__ import annotations

from debate_orchestrator.core.state import DebateState, filler
from debate_orchestrator.util import model_spec
from debate_orchestrator.util.commands import command


def next_command(debate: DebateState, journal: str) -> str:
    """The command that takes the turns that are due, for a shell. It is `step` where one of them is the host's: a step
    calls the models beside it too. Since it asks no person, it is `resume` where a person's turn is due as well."""
    specs = {filler(debate, turn.seat) for turn in debate.due}
    steps = model_spec.HOST in specs and model_spec.HUMAN not in specs
    return command("step" if steps else "resume", journal)
