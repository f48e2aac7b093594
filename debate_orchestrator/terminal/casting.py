"""Who speaks: the models and programs that were found, stand-ins and people as choices, and what each would cost."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from functools import partial
from threading import Thread
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from debate_orchestrator.core.format import Format
from debate_orchestrator.core.phases import CLERK, EVERYBODY, JUDGE, RAPPORTEUR
from debate_orchestrator.core.settings import ESTIMATED, MODERATOR, MOST_JUDGES
from debate_orchestrator.engine import start
from debate_orchestrator.engine.estimate import CostEstimate, estimate
from debate_orchestrator.providers import discovery, pricing, registry
from debate_orchestrator.providers.registry import NO_PERMISSIONS, Permissions
from debate_orchestrator.setup.answers import host_problem, settings_from
from debate_orchestrator.storage.paths import REPORT
from debate_orchestrator.terminal.prompt import Question
from debate_orchestrator.util import model_spec
from debate_orchestrator.util.errors import BadSettings, DebateError
from debate_orchestrator.util.sanitize import one_line
from debate_orchestrator.util.terminal_text import Back

if TYPE_CHECKING:
    from debate_orchestrator.terminal.session import SetupSession

Cast = dict[str, Any]
"""Seat to who fills it, or to a list of judges, as an answers file has it."""
EXAMPLES = {"vendor": "anthropic:MODEL", "local": "ollama:MODEL", "key": "ANTHROPIC_API_KEY", "program": "claude"}
_LISTED = 3
"""Models of one server that are choices; Tab completes the others."""
_PLACEHOLDER = "What is debated, in a sentence of about this length that is still to be written."
T = TypeVar("T")


def in_background(work: Callable[[], T]) -> Future[T]:
    """What `work` will return or raise. A process that ends does not wait for it."""
    coming: Future[T] = Future()

    def run() -> None:
        try:
            coming.set_result(work())
        except BaseException as error:  # it belongs to the caller of `result`
            coming.set_exception(error)

    Thread(target=run, daemon=True).start()
    return coming


class Found(NamedTuple):
    """What can be asked from here."""

    ways: tuple[discovery.Available, ...]
    usual: dict[str, str]
    """Seat to the model that fills it by default; empty without a key."""
    best: dict[str, str]
    """Seat to the model that would be the default with a key."""
    permissions: Permissions = NO_PERMISSIONS

    @property
    def moderator(self) -> str | None:
        return self.usual.get(MODERATOR)

    def ready(self) -> list[tuple[str, str]]:
        """What needs nothing more than its name: installed programs, and models of a server of the user's own."""
        programs = [way for way in self.ways if way.ready and model_spec.kind(way.seat) == model_spec.COMMAND]
        found = [(way.seat, way.about) for way in programs if "PROGRAM" not in way.seat]
        for way in self.ways:
            if way.ready and way.seat == EXAMPLES["local"]:
                found += [(way.seat.replace("MODEL", name), way.about) for name in way.models[:_LISTED]]
        return found

    def anything(self) -> bool:
        """Whether there is anything to call."""
        return bool(self.usual or self.ready() or any(way.ready and way.models for way in self.ways))

    def names(self) -> tuple[str, ...]:
        """Every model that was found or is known, as a cast names it; and how the others begin."""
        names: list[str] = []
        for way in self.ways:
            known = pricing.models(model_spec.kind(way.seat)) if way.seat.endswith(":MODEL") else ()
            names += [f"{model_spec.kind(way.seat)}:{name}" for name in way.models or known]
            names += [] if way.models or known or " " in way.seat else [way.seat]
        return tuple(dict.fromkeys(names))


def look(permissions: Permissions = NO_PERMISSIONS) -> Found:
    """Looks for models and programs. It takes some seconds where a server is slow to answer."""
    ways = in_background(partial(discovery.available, permissions))
    try:
        usual = {seat: discovery.default(seat) for seat in (*EVERYBODY, MODERATOR)}
    except BadSettings:
        usual = {}
    best = {seat: usual.get(seat) or discovery.unlimited(seat) for seat in EVERYBODY}
    return Found(tuple(ways.result()), usual, best, permissions)


def seats(format: Format) -> tuple[str, ...]:
    """The seats of a format for which a person chooses who fills them."""
    return tuple(seat for seat in format.seated if seat != CLERK)


def filled(format: Format, who: Callable[[str], str]) -> Cast:
    """The cast in which `who` tells who fills each seat, with as many judges as the format has."""
    return {
        seat: [who(seat)] * format.panel if seat == JUDGE and format.panel > 1 else who(seat) for seat in seats(format)
    }


def stand_ins(found: Found, format: Format) -> Cast:
    """A cast that rehearses."""
    return filled(format, lambda seat: model_spec.stand_in(found.best[seat]))


def is_free(cast: Mapping[str, Any]) -> bool:
    """Whether no model and no program is called."""
    return not any(map(model_spec.is_called, model_spec.specs_of(cast)))


def in_words(cast: Mapping[str, Any]) -> str:
    """Who fills the seats, in a line: `a and b anthropic:x, judge anthropic:y`."""
    seats_of: dict[str, list[str]] = {}
    for seat, who in cast.items():
        if seat != MODERATOR:
            named = " and ".join(shown(str(spec)) for spec in (who if isinstance(who, list) else [who]))
            seats_of.setdefault(named, []).append(seat)
    return ", ".join(f"{' and '.join(taken)} {named}" for named, taken in seats_of.items())


def shown(spec: str) -> str:
    return one_line(model_spec.public_name(spec))


class Estimates:
    """What a debate would take, each set of answers worked out once, in the background."""

    def __init__(self) -> None:
        self._known: dict[str, Future[CostEstimate | None]] = {}

    def of(self, given: Mapping[str, Any], format: Format, changed: Callable[[], None]) -> Future[CostEstimate | None]:
        """The estimate of a debate with these answers, which name a cast; None where they would not do. `changed` is
        called when it is there."""
        counted = {key: given[key] for key in ESTIMATED if key in given}
        key = json.dumps([format.name, counted], sort_keys=True, default=str)
        if key not in self._known:
            self._known[key] = in_background(lambda: self._worked_out(counted, format))
            self._known[key].add_done_callback(lambda done: changed())
        return self._known[key]

    def _worked_out(self, counted: Mapping[str, Any], format: Format) -> CostEstimate | None:
        positions = {side: f"{side}: {_PLACEHOLDER}" for side in format.sides}
        try:
            given = {**counted, "topic": _PLACEHOLDER, "positions": positions}
            return estimate(start.make_opening(settings_from(given, format, REPORT)))
        except DebateError:
            return None


def cost_line(found: CostEstimate | None, cast: Mapping[str, Any]) -> str:
    """What a cast would take, for the line below a question."""
    if model_spec.is_rehearsal(cast):
        return "a rehearsal: no calls, no cost"
    if is_free(cast):
        return "no model is called: no cost"
    return found.short() if found else ""


class Casting:
    """Asks who fills the seats."""

    def __init__(self, session: SetupSession):
        self._session = session
        self._words = session.words

    def choose(self) -> Cast:
        """The cast that is chosen; a rapporteur that was named stays, but for a rehearsal and where each seat is asked
        for. Raises Back."""
        session, found = self._session, self._session.found()
        standing = session.draft.given.get("cast")
        if not found.anything() and not standing:
            session.prompter.tell("", self._words.said["nobody"].format(**EXAMPLES))
        offered = self._offered(found, standing if isinstance(standing, dict) else None)
        wording = self._words.questions["cast"]
        choices = [(name, wording.choices.get(name, "{cast}").format(cast=about)) for name, about, _ in offered]
        question = Question(
            wording.text,
            (wording.help.format(**EXAMPLES),),
            tuple(choices),
            choices[0][0],
            words=found.names(),
        )
        casts = {name: cast for name, _, cast in offered if cast}
        while True:
            answer = session.put("seat", question, lambda typed: {"cast": casts[typed]} if typed in casts else {})
            try:
                if answer != "seats":
                    stays = isinstance(standing, dict) and RAPPORTEUR in standing and answer != model_spec.REHEARSE
                    named = {RAPPORTEUR: standing[RAPPORTEUR]} if standing and stays else {}
                    return {**named, **(casts.get(answer) or self._for_all(answer))}
                return self._each(found)
            except BadSettings as error:
                session.prompter.tell(*error.complaints)
            except Back:
                continue

    def _offered(self, found: Found, standing: Cast | None) -> list[tuple[str, str, Cast | None]]:
        """Name, meaning and cast of every choice for all seats at once, what was found first."""
        format = self._session.interview.format
        offered: list[tuple[str, str, Cast | None]] = []
        if standing and {*seats(format)} <= set(standing):
            offered.append(("keep", in_words(standing), standing))
        if found.usual:
            usual = filled(format, lambda seat: found.usual[seat])
            offered.append(("usual", in_words(usual), usual))
        offered += [(who, about, filled(format, lambda seat, who=who: who)) for who, about in found.ready()]  # type: ignore[misc]
        return [*offered, (model_spec.REHEARSE, "", stand_ins(found, format)), ("seats", "", None)]

    def _for_all(self, typed: str) -> Cast:
        """A cast of one alone."""
        who = self._checked("cast", typed)
        return filled(self._session.interview.format, lambda seat: who)

    def _checked(self, seat: str, typed: str) -> str:
        """The name that was typed. Raises BadSettings if it is unknown or can't be asked as it is."""
        if not typed:
            raise BadSettings(self._words.said["needed"])
        permissions = self._session.found().permissions
        problems = registry.cast_problems({seat: (typed,)}) or registry.missing({seat: (typed,)}, permissions)
        if problems:
            raise BadSettings([problem.removeprefix("cast: ") for problem in problems])
        kind = model_spec.kind(typed)
        ways = [way for way in self._session.found().ways if model_spec.kind(way.seat) == kind]
        if "@" not in typed and ways and not any(way.ready for way in ways):
            self._session.prompter.tell(f"{shown(typed)}: {ways[0].about}.")
        return typed

    def _each(self, found: Found) -> Cast:
        """One seat after the other; back returns to the one before."""
        cast: Cast = {}
        interview = self._session.interview
        asked = (*seats(interview.format), *([RAPPORTEUR] if self._session.reports() else []))
        at = 0
        while at < len(asked):
            seat = asked[at]
            try:
                before = {other: cast[other] for other in asked[:at]}
                cast = dict(before)
                if seat == RAPPORTEUR:
                    cast |= self.rapporteur(before)
                elif seat == JUDGE:
                    panel = self._panel(found, before)
                    cast[seat] = panel if len(panel) > 1 else panel[0]
                else:
                    cast[seat] = self._one("seat", seat, found, before, who=interview.who(seat), **EXAMPLES)
                at += 1
            except Back:
                if at == 0:
                    raise
                at -= 1
        return cast

    def rapporteur(self, before: Cast) -> Cast:
        """The rapporteur as a part of a cast, beside the seats chosen `before`; empty where it is the judge's model, as
        usual. Raises Back."""
        who = self._one("rapporteur", RAPPORTEUR, self._session.found(), before)
        return {RAPPORTEUR: who} if who else {}

    def _panel(self, found: Found, before: Cast) -> list[str]:
        """One judge or several, beside the seats chosen `before`; back takes the last one away."""
        judges: list[str] = []
        while len(judges) < MOST_JUDGES:
            try:
                if not judges:
                    judges.append(self._one("judge", JUDGE, found, before))
                    continue
                another = self._one(
                    "panel", JUDGE, found, {**before, JUDGE: judges}, judges=", ".join(map(shown, judges))
                )
                if not another:
                    return judges
                judges.append(another)
            except Back:
                if not judges:
                    raise
                judges.pop()
        return judges

    def _one(self, name: str, seat: str, found: Found, before: Cast, **values: str) -> str:
        """Who fills one seat, beside those chosen `before`; empty for the first choice of a question that has one."""
        session, wording = self._session, self._words.questions[name]
        choices = dict(wording.choices)
        none_wanted = next(iter(choices), None)
        choices |= {found.usual[seat]: "as usual"} if seat in found.usual else {}
        choices |= dict(found.ready()) | {model_spec.REHEARSE: "a stand-in, at no cost"}
        choices |= {model_spec.HUMAN: "you, or a person beside you, at this terminal"}
        text, help = wording.text.format(**values), wording.help.format(**values)
        question = Question(text, (help,), tuple(choices.items()), next(iter(choices)), words=found.names())
        while True:
            answer = session.put("rapporteur" if seat == RAPPORTEUR else "seat", question)
            try:
                if answer == none_wanted:
                    return ""
                rehearses = answer == model_spec.REHEARSE
                best = found.best[JUDGE if seat == RAPPORTEUR else seat]
                who = model_spec.stand_in(best) if rehearses else self._checked(seat, answer)
                if problem := host_problem({**before, seat: [*before.get(seat, ()), who]}):
                    raise BadSettings(problem)
                session.recent.add("seat", who)
                return who
            except BadSettings as error:
                session.prompter.tell(*error.complaints)
