"""What a run of a tournament says of the debates that it leaves."""

from __future__ import annotations

from pathlib import Path

import contests

from debate_orchestrator.cli.tournament import running
from debate_orchestrator.tournament.run import DebateStatus, TournamentRun


def test_all_problems_of_a_debate_are_told(here: Path) -> None:
    """The reason why debates are left is told whole, with what to try, and once for all that share it."""
    run = TournamentRun(contests.tournament(topics=1))
    ids = [debate.id for debate in run.tournament.schedule]
    shared = DebateStatus("stopped", why=("The list can't be read.", "A batch is under way. Try: resume later."))
    other = DebateStatus("stopped", why=("The list can't be read.", "Another thing."))
    run.statuses = {**dict.fromkeys(ids, shared), ids[0]: other}
    told = running._left_over(run, len(ids), "all is saved. Go on.").problems

    count = len(ids) - 1
    assert told == [
        f"The list can't be read. A batch is under way. Try: resume later. ({count} debates, such as {ids[1]})",
        f"{ids[0]}: The list can't be read. Another thing.",
        f"{len(ids)} debates left. All is saved. Go on.",
    ]
