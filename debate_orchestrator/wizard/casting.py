"""Who argues and who judges: what was found from here as choices, stand-ins, or anybody who can be named."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from debate_orchestrator.core.format import Format
from debate_orchestrator.core.phases import JUDGE
from debate_orchestrator.core.settings import MOST_JUDGES
from debate_orchestrator.providers import registry
from debate_orchestrator.setup.settings import MODERATOR
from debate_orchestrator.util import model_spec
from debate_orchestrator.util.errors import BadSettings
from debate_orchestrator.util.sanitize import one_line
from debate_orchestrator.util.terminal_text import Back
from debate_orchestrator.wizard.asking import Question
from debate_orchestrator.wizard.hall import EXAMPLES, Cast, Choice, Hall, filled, seats
from debate_orchestrator.wizard.sitting import Sitting


def told(cast: Mapping[str, Any]) -> str:
    """Who fills the seats, in a line."""
    each = {seat: who if isinstance(who, list) else [who] for seat, who in cast.items() if seat != MODERATOR}
    return ", ".join(f"{seat} {' and '.join(_shown(str(one)) for one in who)}" for seat, who in each.items())


def stand_ins(hall: Hall, rules: Format) -> Cast:
    """A cast that rehearses."""
    return filled(rules, lambda seat: model_spec.stand_in(hall.best[seat]))


class Casting:
    """Asks who fills the seats; `extra` are more choices for a seat."""

    def __init__(self, sitting: Sitting, extra: Sequence[Choice] = ()):
        self._sitting, self._extra = sitting, tuple(extra)
        self._told = False

    def choose(self) -> Cast:
        """The cast that is chosen. Raises Back where the question before is wanted."""
        sitting = self._sitting
        hall, standing = sitting.hall(), sitting.draft.given.get("cast")
        if not hall.anybody() and not self._told:
            self._told = True
            sitting.asker.tell("")
            sitting.asker.tell(sitting.words.said["nobody"].format(**EXAMPLES))
        offered = self._offered(hall, standing if isinstance(standing, dict) else None)
        wording = sitting.words.questions["cast"]
        choices = [(name, wording.choices.get(name, "{cast}").format(cast=about)) for name, about, _ in offered]
        default = choices[0][0] if choices[0][0] in ("keep", "usual") else ""
        help = wording.help.format(**EXAMPLES)
        question = Question(wording.text, help, tuple(choices), default, words=hall.names())
        casts_of = {name: cast for name, _, cast in offered if cast}
        while True:
            said = sitting.ask("seat", question, lambda text: {"cast": casts_of[text]} if text in casts_of else {})
            try:
                return casts_of.get(said or default) or self._named(said, hall)
            except BadSettings as error:
                sitting.complain(error.complaints)
            except _ToTheFirst:
                continue

    def _offered(self, hall: Hall, standing: Cast | None) -> list[tuple[str, str, Cast | None]]:
        """Name, meaning and cast of every choice for all seats at once."""
        rules = self._sitting.interview.rules
        offered: list[tuple[str, str, Cast | None]] = []
        if standing:
            offered.append(("keep", told(standing), standing))
        if hall.usual:
            usual = filled(rules, lambda seat: hall.usual[seat])
            offered.append(("usual", told(usual), usual))
        offered += [(who, about, _all(rules, who)) for who, about in hall.ready()]
        return [*offered, (model_spec.REHEARSE, "", stand_ins(hall, rules)), ("seats", "", None)]

    def _named(self, said: str, hall: Hall) -> Cast:
        """Somebody for each seat, or the one who was named for all of them."""
        if said != "seats":
            return _all(self._sitting.interview.rules, self._checked("cast", said))
        try:
            return self._each(hall)
        except Back:
            raise _ToTheFirst from None

    def _checked(self, seat: str, said: str) -> str:
        """Who was named; BadAnswers where they are unknown or can't be asked as it is."""
        if not said:
            raise BadSettings(self._sitting.words.said["needed"])
        if said not in (value for value, _ in self._extra):
            wrong = registry.complaints({seat: (said,)}) or registry.missing(
                {seat: (said,)}, self._sitting.hall().permissions
            )
            if wrong:
                raise BadSettings([one.removeprefix("cast: ") for one in wrong])
            self._warn(said)
        return said

    def _warn(self, said: str) -> None:
        """Tells why somebody can't be asked from here as it is; they are taken, since that may change."""
        kind = model_spec.kind(said)
        ways = [way for way in self._sitting.hall().ways if model_spec.kind(way.seat) == kind]
        if "@" not in said and ways and not any(way.ready for way in ways):
            self._sitting.asker.tell(f"{_shown(said)}: {ways[0].about}.")

    def _each(self, hall: Hall) -> Cast:
        """One seat after the other; back returns to the one before."""
        cast: Cast = {}
        interview = self._sitting.interview
        asked = seats(interview.rules)
        at = 0
        while at < len(asked):
            seat = asked[at]
            try:
                if seat == JUDGE:
                    panel = self._panel(hall)
                    cast[seat] = panel if len(panel) > 1 else panel[0]
                else:
                    cast[seat] = self._one("seat", seat, hall, who=interview.who(seat), **EXAMPLES)
                at += 1
            except Back:
                if at == 0:
                    raise
                at -= 1
        return cast

    def _panel(self, hall: Hall) -> list[str]:
        """One judge or several; back takes the last one away."""
        judges: list[str] = []
        while len(judges) < MOST_JUDGES:
            try:
                if not judges:
                    judges.append(self._one("judge", JUDGE, hall))
                    continue
                another = self._one("panel", JUDGE, hall, judges=", ".join(map(_shown, judges)))
                if not another:
                    return judges
                judges.append(another)
            except Back:
                if not judges:
                    raise
                judges.pop()
        return judges

    def _one(self, name: str, seat: str, hall: Hall, **values: str) -> str:
        """Who fills one seat; nobody, by default, where it is about one judge more."""
        sitting, wording = self._sitting, self._sitting.words.questions[name]
        choices = {"no": "That is all"} if name == "panel" else {}
        choices |= {hall.usual[seat]: "as usual"} if seat in hall.usual else {}
        choices |= dict(hall.ready()) | dict(self._extra) | {model_spec.REHEARSE: "a stand-in, at no cost"}
        default = next(iter(choices)) if name == "panel" or seat in hall.usual else ""
        text, help = wording.text.format(**values), wording.help.format(**values)
        question = Question(text, help, tuple(choices.items()), default, words=hall.names())
        while True:
            said = sitting.ask("seat", question) or default
            try:
                if name == "panel" and said == "no":
                    return ""
                who = model_spec.stand_in(hall.best[seat]) if said == model_spec.REHEARSE else self._checked(seat, said)
                sitting.lately.add("seat", who)
                return who
            except BadSettings as error:
                sitting.complain(error.complaints)


class _ToTheFirst(Exception):
    """Back from the first seat to the question for all seats."""


def _all(rules: Format, who: str) -> Cast:
    """A cast of one alone."""
    return filled(rules, lambda seat: who)


def _shown(spec: str) -> str:
    return one_line(model_spec.public_name(spec))
