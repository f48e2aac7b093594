"""A format looked over whole before anybody debates by it: its data, its templates, and debates played by stand-ins.

`drafts` says what is wrong with the data as such. Here is said what makes no debate, with everything that is
wrong with the templates, all at once and each with its file and line.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from string import Formatter

from debate_orchestrator.core.format import Format
from debate_orchestrator.core.phases import JUDGE, MOST_ROUNDS, OUTCOMES, Phase
from debate_orchestrator.core.schema import Condition, Field
from debate_orchestrator.core.state import DebateState
from debate_orchestrator.formats import loader, source
from debate_orchestrator.formats.validation import Keys
from debate_orchestrator.prompting import briefs, rendering, templates
from debate_orchestrator.util.errors import BadFormat, complaint, short_repr

_ANY_FORMAT = "adversarial"
"""The format whose briefs tell which names there are while the one looked over is none yet."""
_FILLED = {"round": ("round", "rounds"), "intervention": ("round",)}
"""Labels in which something is filled in, with what."""

_ALWAYS = ("scores", "winner", "rows")
"""Fields without which a reply is not what it is."""

Odd = tuple[Keys, str, str]
"""Keys, what came, what was expected."""


def load(given: str) -> Format:
    """The format of that name or in that folder. A user's own is looked over whole: BadFormat with everything that
    is wrong with it."""
    if source.is_path(given):
        wrong = find_mistakes(given)
        if wrong:
            raise BadFormat(wrong)
    return loader.load(given)


def find_mistakes(given: str) -> list[str]:
    """Everything that is wrong with a format, by file and line. BadFormat where there is none, BadFile where its
    format.yaml is no YAML."""
    from debate_orchestrator.engine import dry_run  # loads reports, which shipped formats need not be shown in

    draft = source.read_source(given)
    wrong = [*draft.complaints]
    own = loader.carried_templates(draft)
    if draft.shipped:
        own |= _shipped_texts(draft)
    proofread = _proofread(draft, own)
    homes = {f"{'prompts/' * one.shipped}formats/{one.name}/": f"{one.told}/" for one in draft.folders}
    if draft.shipped:
        homes[f"formats/{draft.name}/"] = f"{draft.folders[0].told}/"
    proofread = [_at_home(one, homes) for one in proofread]
    if draft.made is not None:
        odd = [complaint(draft.where(keys), got, wanted) for keys, got, wanted in _odd(draft.made)]
        wrong += odd
        if not wrong:
            tried = dry_run.find_problems(draft.made, loader.carried_templates(draft), draft.where)
            wrong += _unsaid([_at_home(one, homes) for one in tried], proofread)
    return sorted(dict.fromkeys([*wrong, *proofread]), key=_file_and_line)


def _unsaid(tried: list[str], proofread: list[str]) -> list[str]:
    """What came out when a format was tried, less what follows from what its templates were found to lack."""
    files = {_file_and_line(one)[0] for one in proofread}
    said = ("prompts/shared/",) if files else ()
    return [one for one in tried if _file_and_line(one)[0] not in files and not one.startswith(said)]


def _at_home(said: str, homes: dict[str, str]) -> str:
    """A complaint with the path under which the user knows a template."""
    for home, told in homes.items():
        if said.startswith(home):
            return told + said.removeprefix(home)
    return said


def _file_and_line(said: str) -> tuple[str, int]:
    found = re.match(r"(.*?):(\d+)(?:: |$)", said)
    return (found[1], int(found[2])) if found else (said, 0)


def _shipped_texts(draft: source.FormatSource) -> dict[str, str]:
    """The templates in a shipped format's folder, by their path."""
    home = draft.folders[0]
    return {f"formats/{home.name}/{path.name}": path.read_text("utf-8") for path in home.path.glob("*.j2")}


def _proofread(draft: source.FormatSource, own: dict[str, str]) -> list[str]:
    """What is wrong with the templates, those with inherited names among them, without rendering any."""
    from debate_orchestrator.engine import dry_run

    sample = draft.made or loader.load(_ANY_FORMAT)
    debate = DebateState([dry_run.opened(sample, {})])
    if debate.complete:  # nothing is due in one round
        debate = DebateState([dry_run.opened(loader.load(_ANY_FORMAT), {})])
    names = briefs.names(debate)
    speaking = [one for role, one in names.items() if role != JUDGE or JUDGE in sample.seated]
    system = f"formats/{draft.name}/{source.SYSTEM}"
    roots = {system: templates.EntryTemplate(speaking, draft.where(()))}
    for keys, phase in source.phases(draft.data):
        file, seats = phase.get("template") or phase.get("name"), phase.get("seats")
        path = f"formats/{file if '/' in str(file) else f'{draft.name}/{file}'}{source.ENDING}"
        if isinstance(seats, list):
            roles = {JUDGE if seat == JUDGE else "debater" for seat in seats}
            kinds = roots.setdefault(path, templates.EntryTemplate([], draft.where(keys))).kinds
            kinds += [one for role, one in names.items() if role in roles and one not in kinds]
    return rendering.check_templates(own, roots)


def _odd(made: Format) -> Iterator[Odd]:
    """What a format may say, and no debate can go by."""
    limits = made.rounds
    if not 1 <= limits.default <= limits.most <= limits.insist <= MOST_ROUNDS:
        got = f"default {limits.default}, most {limits.most}, insist {limits.insist}"
        yield ("rounds",), got, f"1 or more, each at least the one before, and at most {MOST_ROUNDS}"
    if not made.phases():
        yield ("round",), "no phases", "one at least"
    for group, phases in (("before", made.before), ("round", made.round), ("after", made.after)):
        for n, phase in enumerate(phases):
            yield from (((group, n, *keys), got, wanted) for keys, got, wanted in _odd_phase(made, phase))
    for name, criterion in made.rubric.criteria.items():
        yield from _odd_when(made, criterion.when, ("rubric", "criteria", name, "when"))
    for name, shape in made.shapes.items():
        for key in (key for key in _ALWAYS if key in shape):
            odd = _odd_field(key, shape[key], made.sides)
            yield from ((("shapes", name, key, *keys), got, wanted) for keys, got, wanted in odd)
    yield from _odd_words(made)


def _odd_field(name: str, field: Field, sides: Sequence[str]) -> Iterator[Odd]:
    """A field that means something to the engine, and is not what that takes."""
    winners = (*sides, *OUTCOMES)
    if name == "winner" and (strangers := [one for one in field.of if one not in winners]):
        yield ("of",), short_repr(strangers[0]), f"only {', '.join(winners)}"
    if field.optional or field.only_if or field.when != Condition():
        key = "optional" if field.optional else "only_if" if field.only_if else "when"
        yield (key,), f"{name!r} on a condition", "one that is always filled in"


def _odd_phase(made: Format, phase: Phase) -> Iterator[Odd]:
    if len(set(phase.seats)) < len(phase.seats):
        yield ("seats",), f"{', '.join(phase.seats)}", "each seat once"
    if phase.words and phase.most_words and phase.words > phase.most_words:
        yield ("words",), str(phase.words), f"at most {phase.most_words}, since no more are heard (most_words)"
    if phase.on and (JUDGE in phase.seats or phase.reply != "text"):
        yield ("on",), f"{phase.on} for a turn of a judge's, or with a shape", "a speech of the sides"
    if JUDGE in phase.seats and len(phase.seats) > 1 and phase.reply != "text":
        yield ("seats",), f"{', '.join(phase.seats)} for one shape", "judges alone in the seats of a vote"
    for key in ("title", "tag"):
        yield from _odd_line((key,), getattr(phase, key))
    yield from _odd_when(made, phase.when, ("when",))


def _odd_when(made: Format, when: Condition, keys: Keys) -> Iterator[Odd]:
    modes = made.rubric.strictness
    if when.strictness is not None and when.strictness not in modes:
        yield (*keys, "strictness"), short_repr(when.strictness), " or ".join(modes)
    for key in ("round", "rounds_at_least"):
        number = getattr(when, key)
        if isinstance(number, int) and not 1 <= number <= made.rounds.insist:
            yield (*keys, key), str(number), f"1 to {made.rounds.insist}, the most rounds there may be"


def _odd_words(made: Format) -> Iterator[Odd]:
    """What is said word for word, and would not be understood."""
    for seat, about in made.seats.items():
        for key in ("name", "tag"):
            yield from _odd_line(("seats", seat, key), getattr(about, key))
    for key in ("concede", "decline"):
        yield from _odd_line(("lines", key), getattr(made.lines, key))
    if made.lines.concede == made.lines.decline:
        yield ("lines", "decline"), short_repr(made.lines.decline), "another line than the one that concedes"
    for label, names in _FILLED.items():
        said = getattr(made.labels, label)
        try:
            holes = [(name, spec, how) for _, name, spec, how in Formatter().parse(said) if name is not None]
        except ValueError as error:
            yield (
                ("labels", label),
                f"{short_repr(said)} ({error})",
                "braces in pairs, doubled where they are meant as such",
            )
            continue
        if wrong := [name for name, spec, how in holes if name not in names or spec or how]:
            yield ("labels", label), f"{{{wrong[0]}}}", f"only {' and '.join(f'{{{name}}}' for name in names)}"


def _odd_line(keys: Keys, said: str) -> Iterator[Odd]:
    if not said.strip() or said != said.strip() or len(said.splitlines()) != 1 or not said.isprintable():
        yield keys, short_repr(said), "a line of text, with nothing around it"
