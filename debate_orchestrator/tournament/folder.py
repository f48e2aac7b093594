"""A tournament's folder: the resolved spec, from which its schedule follows, and the journals of its debates."""

from __future__ import annotations

import asyncio
import hashlib
import json
import os
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from pydantic_core import to_json

from debate_orchestrator import __version__
from debate_orchestrator.core.events import Event, Opened, Reassigned
from debate_orchestrator.core.phases import JUDGE
from debate_orchestrator.core.values import keys_of_today, under_first_field_names
from debate_orchestrator.formats import loader
from debate_orchestrator.setup.risks import is_read_as_instructions
from debate_orchestrator.storage import running_elsewhere
from debate_orchestrator.storage.files import CHECKSUMS, make_folder, write_atomic, write_new
from debate_orchestrator.storage.journal import JournalWriter
from debate_orchestrator.storage.journal_lines import BEGINNING
from debate_orchestrator.storage.paths import JOURNAL, DebateFiles
from debate_orchestrator.tournament.plan import ScheduledDebate, make_schedule, open_scheduled
from debate_orchestrator.tournament.rows import ROWS
from debate_orchestrator.tournament.spec import (
    MAX_MODELS,
    Participant,
    Topic,
    TournamentSpec,
    check,
    spec_from_values,
)
from debate_orchestrator.tournament.spec_file import read_topics
from debate_orchestrator.util import model_spec
from debate_orchestrator.util.data import (
    MAX_FILE_SIZE,
    error_text,
    is_link,
    must_not_be_too_large,
    name_of,
    open_regular,
    read_text,
    strict_json,
)
from debate_orchestrator.util.errors import FORMER_NAMES, BadFile, BadJournal, BadSettings, short_repr
from debate_orchestrator.util.numbers import plural
from debate_orchestrator.util.redact import redactor

SPEC, DEBATES = running_elsewhere.SPEC, running_elsewhere.DEBATES
IMPORTED = "imported"
"""The key of the spec that says where imported rows come from."""
PAGE, RATINGS, TABLES, PLOTS = "index.html", "ratings.json", "csv", "plots"
"""The files that the report of a tournament adds to its folder."""
_LOCKS = running_elsewhere.LOCK, running_elsewhere.CLUSTER_FILE_LOCK
_PARTS = (SPEC, DEBATES, ROWS, PAGE, RATINGS, TABLES, PLOTS, CHECKSUMS, running_elsewhere.CLUSTER, *_LOCKS)
SCHEMA = 1
FREE_TO_CHANGE = {"max_cost", "limits"}
"""Keys of a spec that may change while a tournament runs: no debate depends on them."""
_FORMAT_KEYS = {"rules", "templates"}
_SCHEDULED = ("settings", "context", "format", "templates", "moderator_replies", "earlier_debate", "seed")
"""The parts of a debate's first event that the schedule decides. The others are random, or say which version of this
program opened it."""
_UNUSABLE_HINT = "move it away, and the whole debate is held again; or restore it from a copy"


class Tournament(NamedTuple):
    folder: str
    spec: TournamentSpec
    schedule: tuple[ScheduledDebate, ...]
    debates: dict[str, ScheduledDebate]
    """The schedule by the ids of its debates."""
    topics: dict[str, Topic]

    @classmethod
    def from_spec(cls, folder: str, spec: TournamentSpec) -> Tournament:
        schedule, topics = make_schedule(spec), {topic.id: topic for topic in spec.topics}
        return cls(folder, spec, schedule, {scheduled.id: scheduled for scheduled in schedule}, topics)

    def journal_path(self, debate_id: str) -> str:
        return os.path.join(self.folder, DEBATES, f"{debate_id}{JOURNAL}")

    def make_opened(self, scheduled: ScheduledDebate) -> Opened:
        return open_scheduled(self.spec, scheduled, self.topics[scheduled.topic_id])

    def must_belong(self, scheduled: ScheduledDebate, events: Sequence[Event], name: str = "") -> None:
        """Raises BadFile unless events are of this debate: they begin with an `Opened` event as the schedule wants it,
        and no model was put into a seat but judges who may judge it. `name` says where they were read, other than in
        the folder."""
        # A journal holds no secrets, also none that this process has learned since the spec was checked.
        opened, expected = events[0], self.make_opened(scheduled).with_text(redactor())
        belongs = isinstance(opened, Opened) and all(
            getattr(opened, name) == getattr(expected, name) for name in _SCHEDULED
        )
        if not belongs or self.has_outsiders(scheduled, events):
            problem = "is the journal of another debate than the schedule's"
            if belongs:
                problem = "gave a seat to a model that the schedule does not let judge that debate"
            raise BadFile(f"{name or name_of(self.journal_path(scheduled.id))} {problem}.", hint=_UNUSABLE_HINT)

    def has_outsiders(self, scheduled: ScheduledDebate, events: Sequence[Event]) -> bool:
        """Whether events put a model into a seat of a debate other than the judges of its panel and its reserve."""
        allowed = {self.spec.model_named(name).spec for name in (*scheduled.judges, *scheduled.reserve)}
        reassignments = [event for event in events if isinstance(event, Reassigned)]
        return any(event.seat != JUDGE or not allowed.issuperset(event.specs) for event in reassignments)


class FileJournals:
    """The journals of a tournament as files in its folder."""

    def __init__(self, tournament: Tournament):
        self._path = tournament.journal_path

    @asynccontextmanager
    async def open(self, debate_id: str, make_opened: Callable[[], Opened]) -> AsyncIterator[JournalWriter]:
        path = self._path(debate_id)
        if is_begun(path):
            journal = await asyncio.to_thread(JournalWriter, path)
        else:
            make_folder(os.path.dirname(path))  # a kill may have left the spec alone, and git keeps no empty folder
            journal = await asyncio.to_thread(JournalWriter.create, path, make_opened())
        with journal:
            yield journal

    def evidence_folder(self, debate_id: str) -> str | None:
        return DebateFiles.of_journal(self._path(debate_id)).evidence


def is_begun(path: str) -> bool:
    """Whether a file holds a complete line: a crash may have left less of its first. Raises BadJournal for a link, a
    pipe and what else can't be read, and for other content, such as the zeros that a power cut leaves."""
    if not os.path.lexists(path):
        return False
    try:
        with open(path, "rb", opener=open_regular) as file:
            must_not_be_too_large(file.fileno())
            line = file.readline()
    except OSError as error:
        raise BadJournal(f"Can't read the journal {name_of(path)} ({error_text(error)}).") from None
    if not line.endswith(b"\n") and line[: len(BEGINNING)] != BEGINNING[: len(line)]:
        raise BadJournal(f"{name_of(path)} is not a debate's journal.", hint=_UNUSABLE_HINT)
    return line.endswith(b"\n")


@contextmanager
def lock(folder: str, *, is_new: bool = False, shared: bool = False) -> Iterator[None]:
    """Keeps a tournament's folder for this process, which runs it or changes its schedule: a second one would hold the
    cap for its own calls alone. With `shared`, others may keep it so too, since workers share the cap. With `is_new`
    the folder may be new or empty. The lock ends with the process. Raises BadFile if another process has it, or the
    folder can't be used."""
    must_hold_no_link(folder)
    if not os.path.lexists(os.path.join(folder, SPEC)):
        if not is_new:
            raise _no_tournament(folder)
        must_be_new(folder)
        make_folder(os.path.realpath(folder))
    problem = f"Another process runs the tournament in {name_of(folder)}, or changes it."
    hint = "wait for it, as it may run in another terminal; or let workers run the debates (`debate worker URL`)"
    with running_elsewhere.lock_folder(folder, problem, hint, shared=shared):
        yield


def create(folder: str, spec: TournamentSpec) -> Tournament:
    """The tournament of a spec in a folder, which is new or empty, or holds the same tournament. A new cap and new
    limits take the place of those before. Raises BadSettings with everything else that differs; BadFile for another
    folder."""
    if os.path.lexists(os.path.join(folder, SPEC)):
        before = load(folder).spec
        kinds = [
            "a rehearsal" if model_spec.is_rehearsal(version.whole_cast) else "real debates"
            for version in (without_added_models(before), spec)
        ]
        if kinds[0] != kinds[1]:
            problem = f"{name_of(folder)} holds {kinds[0]}, and these are {kinds[1]}."
            raise BadSettings(problem, hint="name another folder")
        if changes := list(_differences(before, spec)):
            hint = (
                "name another folder, or undo the change; `debate tournament add` adds a model, and "
                "`debate tournament resume` goes on without the file"
            )
            where = name_of(os.path.join(folder, SPEC))
            raise BadSettings([f"{where} is of another spec than this one.", *changes], hint=hint)
        spec = before.model_copy(update={key: getattr(spec, key) for key in FREE_TO_CHANGE})
        return write(folder, spec)
    must_be_new(folder)
    # Never over anything: another program may have written there meanwhile.
    write_new(os.path.join(folder, SPEC), _spec_text(spec))
    return write(folder, spec)


def default_folder(spec: TournamentSpec) -> str:
    """The folder of a tournament for which the user named none: its tag, which may come from someone else's file, and
    for a rehearsal one beside it, so that the place of the real debates stays free. Raises BadFile for a link, and for
    a folder whose files are read as instructions."""
    folder = f"{spec.tag}{'-rehearsed' if model_spec.is_rehearsal(spec.whole_cast) else ''}"
    if is_link(folder):
        problem = f"The folder would be {folder}, as the tag says, and that is a symbolic link."
        raise BadFile(problem, hint="name another folder")
    if are_reports_read_as_instructions(folder):
        problem = f"The folder would be {folder}, as the tag says, whose files agents read as instructions."
        raise BadFile(problem, hint="name another folder")
    return folder


def are_reports_read_as_instructions(folder: str) -> bool:
    """Whether agents may read the reports in a tournament's folder as instructions, because of its name."""
    return is_read_as_instructions(os.path.join(folder, DEBATES, "debate.md"))


def must_be_new(folder: str) -> None:
    """Raises BadFile unless a folder is not there, or holds nothing but hidden files."""
    try:
        files = sorted(name for name in os.listdir(folder) if not name.startswith("."))
    except FileNotFoundError:
        return
    except (OSError, ValueError) as error:
        raise BadFile(f"Can't use the folder {name_of(folder)} ({error_text(error)}).", hint="name another") from None
    if files:
        problem = f"{name_of(folder)} holds no tournament, but other files such as {name_of(files[0])}."
        raise BadFile(problem, hint="name a new or an empty folder")


def must_hold_no_link(folder: str) -> None:
    """Raises BadFile if a part of a tournament's folder is a symbolic link: files would be written where it leads."""
    for part in linked_parts(folder)[:1]:
        problem = f"{name_of(os.path.join(folder, part))} is a symbolic link, which no part of a tournament may be."
        raise BadFile(problem, hint="put the file or folder itself in its place")


def linked_parts(folder: str) -> list[str]:
    return [name for name in _PARTS if is_link(os.path.join(folder, name))]


def add_model(tournament: Tournament, model: Participant) -> Tournament:
    """The tournament with one more model, which meets all others; what was scheduled before stays as it is.
    Raises BadSettings if the model is there already, can't take part, or is one too many."""
    spec = tournament.spec
    if model.name in [model_there.name for model_there in spec.models]:
        raise BadSettings(f"models: {model.name} takes part already.")
    if len(spec.models) >= MAX_MODELS:
        raise BadSettings(f"models: {len(spec.models) + 1:,} are too many; at most {MAX_MODELS} are allowed.")
    models, added = (*spec.models, model), (*spec.added, model.name)
    pairs = tuple((model.name, other.name) for other in spec.models)
    if problems := check(spec.model_copy(update={"models": models, "pairs": pairs})):
        raise BadSettings(problems)
    return write(tournament.folder, spec.model_copy(update={"models": models, "added": added}))


def load(folder: str) -> Tournament:
    """The tournament in a folder. Raises BadFile if there is none, it was changed by hand, or a part of it is a
    link."""
    must_hold_no_link(folder)
    path = os.path.join(folder, SPEC)
    if not os.path.exists(path):
        raise _no_tournament(folder)
    data = read_json(path)
    if isinstance(data, dict) and "imported" in data:
        raise BadFile(f"{name_of(folder)} holds imported results, and no debates can be run in it.")
    spec = spec_from_data(data, name_of(path))
    return Tournament.from_spec(folder, spec)


def must_stay_in_tournament(folder: str, journal: str, events: Sequence[Event]) -> None:
    """Raises BadSettings if events would make the journal of one of a tournament's debates that of another."""
    tournament, name = load(folder), os.path.basename(os.path.realpath(journal)).removesuffix(JOURNAL)
    if (debate := tournament.debates.get(name)) and tournament.has_outsiders(debate, events):
        problem = f"With other models, {name_of(journal)} would be left out of the tournament in {name_of(folder)}."
        hint = "a judge of its pool who may judge this debate; or resume a copy of the journal, which counts for itself"
        raise BadSettings(problem, hint=hint)


def _no_tournament(folder: str) -> BadFile:
    return BadFile(f"{name_of(folder)} holds no {SPEC}.", hint="`debate tournament run SPEC --to DIR` makes one")


def spec_data(spec: TournamentSpec) -> dict[str, Any]:
    """A spec as plain data that says all that its schedule and debates depend on."""
    return {"schema": SCHEMA, "version": __version__, **spec.model_dump(mode="json", by_alias=True)}


def spec_from_data(data: Any, name: str) -> TournamentSpec:
    """The spec that `spec_data` made; `name` says where it was read. Raises BadFile with every problem if it can't be
    used."""
    if not isinstance(data, dict) or data.get("schema") != SCHEMA:
        schema = data.get("schema") if isinstance(data, dict) else data
        problem = f"{name} has schema {short_repr(schema)}, and this program reads {SCHEMA}."
        raise BadFile(problem, hint="upgrade debate-orchestrator, or restore the file from a copy")
    topics = data.get("topics")
    values = _renamed({key: value for key, value in data.items() if key not in ("schema", "version")})
    values["settings"], limits = _renamed(values.get("settings", {})), values.get("limits", {})
    values["limits"] = {name: _renamed(limit) for name, limit in limits.items()} if isinstance(limits, dict) else limits
    try:
        return spec_from_values(values, read_topics(topics, "")[1] if isinstance(topics, list) else ())
    except BadSettings as error:
        raise BadFile([f"{name}: {problem}" for problem in error.problems], hint="restore it from a copy") from None


def _renamed(value: Any) -> Any:
    """A mapping, which an earlier version may have written, with the keys of today."""
    if not isinstance(value, dict):
        return value
    names = keys_of_today(value, FORMER_NAMES)
    return {names[key]: item for key, item in value.items()}


def spec_from_text(text: str, name: str) -> TournamentSpec:
    """The spec in a text of JSON, as `spec_from_data`."""
    try:
        data = strict_json(text)
    except ValueError:
        raise BadFile(f"{name}: its spec is not JSON.") from None
    return spec_from_data(data, name)


def without_added_models(spec: TournamentSpec) -> TournamentSpec:
    """A spec without the models that were added later."""
    models = tuple(model for model in spec.models if model.name not in spec.added)
    return spec.model_copy(update={"models": models, "added": ()})


def identity(spec: TournamentSpec) -> str:
    """A short name for a tournament: the same for the same debates, whatever is added later, caps and limits."""
    excluded = {*FREE_TO_CHANGE, "prompts", "added"}
    plain = under_first_field_names(without_added_models(spec))
    kept = {key: value for key, value in plain.items() if key not in excluded}
    return hashlib.sha256(to_json(kept)).hexdigest()[:16]


def changed_prompts(spec: TournamentSpec) -> list[str]:
    """The prompts of this installation that are not those with which the tournament began."""
    now = loader.digests(spec.loaded_format, spec.templates)
    return sorted(name for name in now.keys() | spec.prompts.keys() if now.get(name) != spec.prompts.get(name))


def write(folder: str, spec: TournamentSpec) -> Tournament:
    """Writes the spec, and makes the folder of the journals."""
    tournament = Tournament.from_spec(folder, spec)
    make_folder(os.path.join(folder, DEBATES))
    write_atomic(os.path.join(folder, SPEC), _spec_text(spec))
    return tournament


def _spec_text(spec: TournamentSpec) -> str:
    return json.dumps(spec_data(spec), ensure_ascii=False, indent=1) + "\n"


def read_json(path: str) -> Any:
    """The value in a JSON file of a folder. Raises BadFile if the file is missing or is not JSON."""
    try:
        return strict_json(read_text(path, MAX_FILE_SIZE))
    except ValueError as error:
        raise BadFile(f"{name_of(path)} is not valid JSON ({error}).", hint="restore it from a copy") from None


def title(folder: str) -> str:
    """The name of a tournament: its tag, or the name of its folder."""
    tag = _raw_spec(folder).get("tag")
    return tag if isinstance(tag, str) and tag.strip() else os.path.basename(os.path.realpath(folder))


def is_imported(folder: str) -> bool:
    """Whether the results in a folder were imported, so that its rows are not those of its journals."""
    return IMPORTED in _raw_spec(folder)


def _raw_spec(folder: str) -> dict[str, Any]:
    path = os.path.join(folder, SPEC)
    spec = read_json(path) if os.path.exists(path) else None
    return spec if isinstance(spec, dict) else {}


def find_journals(folder: str) -> tuple[list[str], list[str]]:
    """The journals of a tournament, or of any folder of debates, at any depth; a sentence on the folders in it that are
    links, which are not followed, or can't be read; and one on journals that are hidden, or in a hidden folder."""
    if not os.path.isdir(folder):
        is_file = os.path.exists(folder)
        problem = f"{name_of(folder)} is a file, not the folder of a tournament."
        raise BadFile(
            problem if is_file else f"There is no folder {name_of(folder)}.",
            hint="the DIR of `debate tournament run SPEC --to DIR`",
        )
    paths, hidden, left_out, notes = list[str](), list[str](), list[str](), list[str]()
    for folder_path, folders, names in os.walk(folder, onerror=lambda error: left_out.append(str(error.filename))):
        left_out.extend(path for name in folders if is_link(path := os.path.join(folder_path, name)))
        is_hidden = any(part.startswith(".") for part in Path(os.path.relpath(folder_path, folder)).parts)
        for name in names:
            if name.endswith(JOURNAL):
                kind = hidden if is_hidden or name.startswith(".") else paths
                kind.append(str(Path(folder_path, name)))
    for what, why, found in (
        ("folder", "as a symbolic link or since it can't be read", left_out),
        ("journal", "as a hidden file or in a hidden folder", hidden),
    ):
        if found:
            notes.append(f"{plural(len(found), what)} left out, {why} ({name_of(min(found))} is the first).")
    return sorted(paths), notes


def _differences(earlier_spec: TournamentSpec, spec: TournamentSpec) -> Iterator[str]:
    """A sentence for every key that is another than when the tournament began. Other prompts make no other tournament:
    they may come with a newer version of this program, and a run says so. So may another rule for the order."""
    before, now = (
        version.model_dump(mode="json", by_alias=True) for version in (without_added_models(earlier_spec), spec)
    )
    compared = before.keys() - FREE_TO_CHANGE - {"prompts", "order_within_sides"}
    changed = [key for key in before if key in compared and before[key] != now[key]]
    for key in changed:
        if key not in _FORMAT_KEYS:
            yield f"{key}: it was {_quote_value(before[key])} and is {_quote_value(now[key])}."
    if _FORMAT_KEYS.intersection(changed):
        yield "format: its content has changed."


def _quote_value(value: Any) -> str:
    if isinstance(value, list) and value and isinstance(value[0], Mapping):
        value = [item.get("name") or item.get("id") for item in value]
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 100 else f"{text[:100]}..."
