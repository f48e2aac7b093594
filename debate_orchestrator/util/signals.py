"""The signals that ask this process to end. The command line needs them before it imports asyncio."""

from __future__ import annotations

import signal


def terminating() -> list[signal.Signals]:
    """SIGTERM, and SIGHUP, which a terminal that is closed sends: where the system has it and it is not ignored, as
    `nohup` has it."""
    hangup = [signal.SIGHUP] if hasattr(signal, "SIGHUP") else []
    return [signal.SIGTERM, *(sign for sign in hangup if signal.getsignal(sign) is not signal.SIG_IGN)]
