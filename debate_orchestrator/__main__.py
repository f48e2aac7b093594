"""`python -m debate_orchestrator` is `debate`."""

from __future__ import annotations

from debate_orchestrator.cli import main

if __name__ == "__main__":
    main()
