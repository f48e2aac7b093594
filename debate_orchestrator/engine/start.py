"""Answers in, the first event out: a setup resolved into everything the debate will ever need.

The format, the material and the digests of the templates go into the journal's first line, so that
the journal tells its story after prompts/ has changed. The nonce and the seed are drawn here, once.
"""

from __future__ import annotations

import os
import secrets

from debate_orchestrator import __version__
from debate_orchestrator.core.events import HEARING, MOST_CONTEXT, Context, Noted, Opened, Reply, Setup
from debate_orchestrator.core.state import DebateState
from debate_orchestrator.formats import loader
from debate_orchestrator.setup.settings import Settings
from debate_orchestrator.storage.journal import SCHEMA
from debate_orchestrator.util.data import read_text
from debate_orchestrator.util.errors import BadFile, BadSettings, complaint


def make_opening(answers: Settings, derived: tuple[Reply, ...] = ()) -> Opened:
    """The event that opens a debate with these answers; `derived` is what a moderator was paid for them.
    BadAnswers where positions are still to be derived, or with every context file that can't be read."""
    if answers.positions is None:
        hint = "Derive them with `debate ask`, or write them out."
        raise BadSettings(complaint("positions", "auto", "two positions by now", hint))
    setup = Setup(
        topic=answers.topic,
        positions=answers.positions,
        rounds=answers.rounds,
        strictness=answers.strictness,
        first=answers.first,
        search=answers.search,
        feedback=answers.feedback,
        context=_context(answers.context),
        mirror=answers.mirror,
        quorum=answers.quorum,
        each_round=answers.each_round,
        blind=answers.blind,
        sources=answers.sources,
    )
    made, templates = loader.load_with_templates(answers.format)
    return Opened(
        schema_version=SCHEMA,
        version=__version__,
        setup=setup,
        format=made,
        prompts=loader.digests(made, templates),
        templates=templates,
        cast=answers.cast,
        max_cost=answers.max_cost,
        patience=answers.patience,
        leader_first=answers.leader_first,
        derived=derived,
        seed=secrets.randbits(32),
        nonce=secrets.token_hex(8),
        hearing=HEARING,
    )


def _context(paths: tuple[str, ...]) -> tuple[Context, ...]:
    wrong: list[str] = []
    made = []
    for path in paths:
        try:
            made.append(Context(name=os.path.basename(path), text=read_text(path, MOST_CONTEXT)))
        except BadFile as error:
            wrong += [f"context: {one}" for one in error.complaints]
    total = sum(len(one.text.encode()) for one in made)
    if total > MOST_CONTEXT:
        wrong.append(complaint("context", f"{total:,} bytes in all", f"at most {MOST_CONTEXT:,}"))
    if wrong:
        raise BadSettings(wrong)
    return tuple(made)


def changed_prompts(debate: DebateState) -> Noted | None:
    """A note for the record where the prompts of this installation are not those that the debate was last
    known to use; None where they are."""
    then, now = debate.opened.prompts, loader.digests(debate.format, debate.opened.templates)
    differing = sorted(name for name in now.keys() | then.keys() if now.get(name) != then.get(name))
    detail = ", ".join(f"{name} {now.get(name, 'gone')[:12]}" for name in differing) or "as it was opened"
    known = [note.detail for note in debate.notes if note.note == "prompts changed"] or ["as it was opened"]
    return None if detail == known[-1] else Noted(note="prompts changed", detail=detail)
