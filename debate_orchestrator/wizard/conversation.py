"""The setup conversation, held with a person: one question after the other, back to any of them, until all is
confirmed and the debate may begin. What is asked, and in which order, is the interview's to say; who fills the seats
is asked last.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from debate_orchestrator.engine import rejudge
from debate_orchestrator.setup.questions import Questionnaire
from debate_orchestrator.setup.risks import Risk
from debate_orchestrator.setup.risks import told as told_risks
from debate_orchestrator.setup.session import Ask, Propose, SetupState, with_answers
from debate_orchestrator.setup.settings import MODERATOR, Settings, settings_from
from debate_orchestrator.storage.paths import DebateFiles
from debate_orchestrator.util import resources
from debate_orchestrator.util.errors import DebateError
from debate_orchestrator.util.sanitize import one_line
from debate_orchestrator.util.terminal_text import Back, Later
from debate_orchestrator.wizard import moderating, saving
from debate_orchestrator.wizard.asking import Question
from debate_orchestrator.wizard.casting import Casting, stand_ins, told
from debate_orchestrator.wizard.hall import Choice, seats
from debate_orchestrator.wizard.putting import put, unaided
from debate_orchestrator.wizard.sitting import Sitting

_BEGIN, _CAST, _FORMAT = "begin", "cast", "format"
_CHANGED_BY = {"positions": "positions_ok"}
"""Answers that are changed at another question than their own."""
Check = Callable[[SetupState], DebateFiles]
"""Tells where a debate's files will lie; a DebateError, with everything, where it could not be opened."""


class Conversation:
    """One conversation; all that it has come to is in the sitting."""

    def __init__(self, sitting: Sitting, check: Check, *, extra: Sequence[Choice] = (), rehearse: bool = False):
        self.sitting, self.check, self.rehearse = sitting, check, rehearse
        self._casting = Casting(sitting, extra)

    def hold(self) -> SetupState:
        """The answers, complete and confirmed. Raises Later, KeyboardInterrupt or EOFError where the person leaves
        before; what was answered is kept."""
        again: str | None = None
        while True:
            key = again or self._next()
            try:
                if key == _BEGIN:
                    self._confirm()
                    return self.sitting.draft
                self._step(key)
                again = None
            except Back:
                again = self._before(key)
            except _Change as change:
                again = change.key
            except DebateError as error:
                self.sitting.complain(error.complaints)
            self.sitting.keep()

    def _next(self) -> str:
        """What comes next: a question, a moderator's turn, who fills the seats, or the last confirmation."""
        now = self.sitting.interview.next(self.sitting.draft)
        if isinstance(now, Ask):
            return now.key
        if isinstance(now, Propose):
            return now.turn
        return _BEGIN if self._seated() else _CAST

    def _seated(self) -> bool:
        """Whether every seat has somebody."""
        return {*seats(self.sitting.interview.rules)} <= set(self.sitting.draft.given.get(_CAST, ()))

    def _step(self, key: str) -> None:
        """Puts a question, or has the moderator's work done."""
        if key.startswith("setup."):
            self._moderate(key)
        elif key == _CAST:
            self._cast()
        elif key == _FORMAT:
            self._reformat()
        else:
            put(self.sitting, key)

    def _before(self, key: str) -> str:
        """The question before that one."""
        trail = self._trail()
        earlier = trail[: trail.index(key)] if key in trail else trail
        if not earlier:
            self.sitting.asker.tell(self.sitting.words.said["first"])
        return earlier[-1] if earlier else key

    def _trail(self) -> list[str]:
        """The questions that are answered, in their order."""
        trail = list(self.sitting.interview.trail(self.sitting.draft))
        return [*trail, _CAST] if self._next() == _BEGIN else trail

    # The steps that are not the interview's

    def _moderate(self, turn: str) -> None:
        sitting = self.sitting
        spec = sitting.moderator()
        while spec is not None:
            if moderating.moderated(
                sitting.draft, spec, sitting.interview, sitting.asker.tell, sitting.keep, sitting.hall().permissions
            ):
                return
            sitting.moderates = sitting.choice("again") == "yes"
            spec = sitting.moderator()
        if turn.startswith("setup.topic"):
            sitting.asker.tell(sitting.words.said["stated"])
            sitting.draft = sitting.interview.as_stated(sitting.draft)
        else:
            unaided(sitting)

    def _cast(self) -> None:
        sitting = self.sitting
        rehearsing = self.rehearse and not self._seated()
        cast = stand_ins(sitting.hall(), sitting.interview.rules) if rehearsing else self._casting.choose()
        moderator = {key: who for key, who in sitting.draft.given.get(_CAST, {}).items() if key == MODERATOR}
        sitting.draft = with_answers(sitting.draft, "user", cast={**cast, **moderator})

    def _reformat(self) -> None:
        """Asks for another format; answers that it does not take are asked for again."""
        sitting = self.sitting
        names = [name for name in resources.format_names() if name != rejudge.FORMAT]
        choices = tuple((name, sitting.interview_of(name).rules.about) for name in names)
        now = sitting.interview.rules.name
        chosen = sitting.one_of(_FORMAT, Question(sitting.words.questions[_FORMAT].text, "", choices, now))
        sitting.complain(sitting.take_up(sitting.kept, with_answers(sitting.draft, "user", format=chosen)))

    # The last confirmation

    def _confirm(self) -> None:
        """Shows what was settled, and has it confirmed. Raises _Change where an answer is to be changed first."""
        sitting = self.sitting
        settled = sitting.draft.given
        while True:
            files, wrong = self._checked()
            shown = settled | ({"output": files.report} if files else {})
            block, _, countdown = sitting.interview.confirmed(shown).rpartition("\n\n")
            sitting.asker.tell(f"\n{block}")
            if wrong:
                sitting.asker.tell("")
                sitting.complain(wrong)
            chosen = self._chosen(possible=not wrong)
            if chosen == "later":
                raise Later
            if chosen == "change":
                raise _Change(self._which())
            if not self._checked()[1]:
                sitting.asker.tell(f"\n{countdown}")
                return

    def _chosen(self, *, possible: bool) -> str:
        sitting = self.sitting
        wording = sitting.words.questions[_BEGIN]
        choices = tuple((value, about) for value, about in wording.choices.items() if possible or value != "yes")
        lines = [wording.help.format(cast=told(sitting.draft.given[_CAST])), sitting.outlook()]
        help = "\n".join(one for one in lines if one)
        return sitting.one_of(_BEGIN, Question(wording.text, help, choices, default="yes" if possible else ""))

    def _checked(self) -> tuple[DebateFiles | None, list[str]]:
        """Where the debate's files will lie, and why it can't be opened, if it can't."""
        try:
            return self.check(self.sitting.draft), []
        except DebateError as error:
            return None, error.complaints

    def _which(self) -> str:
        """The question whose answer is to be changed."""
        sitting = self.sitting
        settled = sitting.draft.given
        keys = [key for key in ("topic", "positions", "rounds", "strictness", "output") if key in settled]
        choices: list[Choice] = [(key, _summary(settled[key])) for key in keys]
        choices += [(_CAST, told(settled[_CAST])), (_FORMAT, sitting.interview.rules.title)]
        chosen = sitting.one_of("change", Question(sitting.words.questions["change"].text, "", tuple(choices)))
        return _CHANGED_BY.get(chosen, chosen)


class _Change(Exception):
    """An answer is to be changed first."""

    def __init__(self, key: str):
        super().__init__(key)
        self.key = key


Agree = Callable[[str, Mapping[str, Any]], None]
"""Is given the name of a file and the answers in it, before anything comes of them; raises where the user does not
agree to what they do."""


def welcome(sitting: Sitting, path: str | None, format_name: str | None, moderator: str | None, agree: Agree) -> None:
    """Says what this is, and takes up the conversation of a file, or one that was left here, or a new one."""
    asker, words = sitting.asker, sitting.words
    asker.tell(words.said["welcome"])
    kept, draft = saving.named(path) if path else _left(sitting) or (saving.fresh(), SetupState())
    agree(path or kept.path, draft.given)
    if format_name:
        draft = with_answers(draft, "flag", format=format_name)
    if moderator:
        cast = draft.given.get(_CAST)
        draft = with_answers(draft, "flag", cast={**(cast if isinstance(cast, dict) else {}), MODERATOR: moderator})
    wrong = sitting.take_up(kept, draft)
    settled = {key: value for key, value in sitting.draft.given.items() if key not in ("insist", _FORMAT)}
    if settled:
        asker.tell("")
        asker.tell(words.said["settled"])
        for key, value in settled.items():
            asker.tell(f"  {key}: {told(value) if key == _CAST else _summary(value)}")
    sitting.complain(wrong)


def settled(draft: SetupState, interview: Questionnaire) -> Settings:
    """The answers of a conversation that has all of them, as a debate uses them."""
    given = {**draft.given, "sources": dict(draft.sources)}
    return settings_from(given, interview.rules, interview.default_output)


def agreed(sitting: Sitting, name: str, risks: Sequence[Risk]) -> bool:
    """Shows what a file does beyond the debate, and asks whether that is wanted."""
    try:
        return sitting.choice("trust", file=one_line(name), what="\n".join(told_risks(risks))) == "yes"
    except Back:
        return False


def _left(sitting: Sitting) -> tuple[saving.Kept, SetupState] | None:
    """The conversation that was left here, if it is to be gone on with."""
    found = saving.left()
    if found is None:
        return None
    kept, draft = found
    topic = draft.given.get("topic") or (draft.talk.heard[-1] if draft.talk.heard else "")
    try:
        chosen = sitting.choice("go_on", "yes", left=f"{one_line(str(topic))} ({kept.path})")
    except Back:
        chosen = "yes"
    return found if chosen == "yes" else None


def _summary(value: object) -> str:
    """An answer in a line."""
    if isinstance(value, dict):
        return " / ".join(one_line(str(one)) for one in value.values())
    return one_line(str(value))
