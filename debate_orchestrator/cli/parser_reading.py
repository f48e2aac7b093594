"""The verbs for people who read debates afterwards, as the command line has them: `ballot`, `compare`."""

from __future__ import annotations

import argparse
from collections.abc import Callable


def add(verb: Callable[..., argparse.ArgumentParser]) -> None:
    """Adds them."""
    ballot = verb(
        "ballot",
        "reviewing.ballot",
        "judge a finished debate yourself, blind, before you see the verdict; the report shows you beside the judges",
        "debate ballot debate-report.journal.jsonl --as ada",
    )
    ballot.add_argument("journal", metavar="JOURNAL")
    ballot.add_argument("--as", dest="name", metavar="NAME", help="the name you sign with")
    how = ballot.add_mutually_exclusive_group()
    how.add_argument("--form", action="store_true", help="print an empty form to fill in elsewhere; asks nothing")
    how.add_argument("--take", metavar="FILE", help="check a form that was filled in, and file it; - is standard input")
    how.add_argument("--read", metavar="FILE", help="write the debate there as markdown, without anybody's votes")

    compare = verb(
        "compare",
        "comparing.compare",
        "set several debates of one topic, or several judgings of one debate, side by side",
        "debate compare first.journal.jsonl second.journal.jsonl --to comparison.md",
    )
    compare.add_argument("journals", metavar="JOURNAL", nargs="+")
    compare.add_argument("--to", metavar="FILE", help="write it there, as a .md file, instead of printing it")
