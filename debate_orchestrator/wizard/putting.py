"""The interview's questions, put to a person, with what stands already to be edited; and their answers, taken."""

from __future__ import annotations

import os

from debate_orchestrator.setup.session import Ask, SetupState, with_progress
from debate_orchestrator.storage.paths import DebateFiles
from debate_orchestrator.util.errors import BadSettings
from debate_orchestrator.util.sanitize import one_line
from debate_orchestrator.util.terminal_text import Back
from debate_orchestrator.wizard.asking import Question
from debate_orchestrator.wizard.sitting import Leads, Sitting
from debate_orchestrator.wizard.stating import shoulds

_LONG = ("topic", "topic_ok", "framing", "position_a", "position_b")
_FREE = ("topic_ok", "framing")
"""Questions with choices whose answer may be something else."""
_EDIT = "edit"


def put(sitting: Sitting, key: str) -> None:
    """Puts a question of the interview and takes its answer. BadAnswers, or BadFile, where it will not do."""
    interview = sitting.interview
    ask = interview.question(sitting.draft, key)
    sitting.draft = interview.put(sitting.draft, ask)
    question = _question(sitting, ask)
    said = sitting.ask(_kind(key), question, _leads(sitting, ask))
    if said == _EDIT and _EDIT in dict(question.choices):
        _edited(sitting, key)
    elif not said and ask.default is not None and question.default == str(ask.default):
        take(sitting, key, "default")
    else:
        said = said or question.default
        if question.choices and key not in _FREE:
            sitting.must_be_a_choice(question, said)
        take(sitting, key, said)


def _question(sitting: Sitting, ask: Ask) -> Question:
    words, key = sitting.words, ask.key
    choices, help = dict(ask.choices), words.help.get(key, ask.help)
    choices |= words.choices.get(key, {})
    if key == "positions" and sitting.moderator() is None:
        choices["auto"], help = words.unaided["auto"], words.unaided["help"]
    standing = sitting.interview.said(sitting.draft, key)
    prefilled = (key in _LONG and not choices) or key == "output"
    return Question(
        text=_laid_out(sitting, ask),
        help=help,
        choices=tuple(choices.items()),
        default=standing if standing and not prefilled else str(ask.default or ""),
        now=standing if prefilled else "",
        long=key in _LONG,
        path=key == "output",
    )


def _laid_out(sitting: Sitting, ask: Ask) -> str:
    """The question's words; where it tells the positions, each has a line of its own."""
    if ask.key != "positions_ok":
        return ask.text
    argued = sitting.interview.argued(sitting.draft)
    return "\n".join([*argued, ask.text.removeprefix(" ".join(argued)).strip()])


def _kind(key: str) -> str:
    """Under which an answer is remembered."""
    return "position" if key.startswith("position_") else key


def _leads(sitting: Sitting, ask: Ask) -> Leads:
    """What an answer that is typed would change of what the debate takes."""
    if ask.key == "insist":
        return lambda text: {"insist": True}
    if ask.key not in ("rounds", "strictness"):
        return lambda text: {}

    def leads(text: str) -> dict[str, object]:
        try:
            after = sitting.interview.answer(sitting.draft, ask.key, text or str(ask.default or "")).given
        except BadSettings:
            return {}
        return after | {"insist": True} if ask.key == "rounds" else after

    return leads


def take(sitting: Sitting, key: str, said: str) -> None:
    """Takes an answer, as it was typed."""
    interview, draft = sitting.interview, sitting.draft
    if said.lower() in interview.words.automatic:
        raise BadSettings(sitting.words.said["needed"])
    if key == "positions" and said == "auto" and sitting.moderator() is None:
        unaided(sitting)
    elif key.startswith("position_") and sitting.draft.sources.get("positions") != "user":
        kept = said == _plain(sitting, draft).get(key.removeprefix("position_"))
        sitting.draft = interview.answer(draft, key, said, "default" if kept else "user")
    else:
        after = interview.answer(draft, key, said)
        if key == "output":
            _place(sitting, str(after.given["output"]))
        sitting.draft = after
    if said != "default" and (key == "output" or (key in _LONG and key not in _FREE)):
        sitting.lately.add(_kind(key), said)


def unaided(sitting: Sitting) -> None:
    """Offers plain positions to be edited, since nobody derives any."""
    own = _plain(sitting, sitting.draft) | sitting.draft.talk.own
    sitting.draft = sitting.interview.answer(with_progress(sitting.draft, own=own), "positions", "own")
    sitting.asker.tell(sitting.words.said["plain"])


def _plain(sitting: Sitting, draft: SetupState) -> dict[str, str]:
    """Side to the position that anybody could have written."""
    topic = one_line(str(draft.given.get("topic", ""))).rstrip(".")
    asked = shoulds(topic)
    words = sitting.words.plain if asked is None else sitting.words.stated
    values = {"topic": topic} if asked is None else asked._asdict()
    return {side: words[side].format(**values) for side in sitting.interview.rules.sides}


def _place(sitting: Sitting, output: str) -> None:
    """Makes the folder of the output; BadFile where nothing can be written there or something is there already."""
    folder = os.path.dirname(output) if output.endswith(".md") else output
    there = os.path.isdir(os.path.expanduser(folder or os.curdir))
    DebateFiles.of_output(output).must_be_new()
    if not there:
        sitting.asker.tell(sitting.words.said["made"].format(folder=folder))


def _edited(sitting: Sitting, key: str) -> None:
    """Edits what is to be confirmed in place; it is then put to be confirmed again."""
    interview = sitting.interview
    try:
        if key == "topic_ok":
            wording = sitting.words.questions["reword"]
            restated = (sitting.draft.talk.proposal or {}).get("restated") or sitting.draft.given["topic"]
            question = Question(wording.text, wording.help, now=one_line(restated), long=True)
            sitting.draft = interview.reworded(sitting.draft, sitting.ask("topic", question))
            return
        for side in interview.rules.sides:
            position = f"position_{side}"
            question = _question(sitting, interview.question(sitting.draft, position))
            take(sitting, position, sitting.ask("position", question))
    except Back:
        return
