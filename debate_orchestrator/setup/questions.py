"""The setup conversation, pure: answers so far in, next question out.

The terminal, the skill and the answers file are three ways to answer the same questions. What needs
language (restating the topic, deriving positions, framing an ambiguous one) is a moderator's turn,
asked for with `Propose` and answered by whoever plays the moderator. A confirmation counts only for a
question that was really put: an answer that comes before its question is refused, and so is an empty
or automatic one. Nothing is assumed. Any earlier answer may be given again: what depended on it is asked
again, and everything else stays.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from debate_orchestrator.core.format import Format
from debate_orchestrator.core.schema import ShapeContext, check, json_schema
from debate_orchestrator.core.settings import Source
from debate_orchestrator.prompting.normalize import normalize
from debate_orchestrator.setup import risks, settings
from debate_orchestrator.setup.session import (
    Ask,
    Propose,
    QuestionTexts,
    Ready,
    SetupState,
    checked_state,
    with_answers,
    with_progress,
    without_answers,
)
from debate_orchestrator.util import sanitize
from debate_orchestrator.util.errors import BadSettings, complaint, short_repr, suggest

_YES = ("yes", "y", "true", "correct", "ok", "accurate")
_NO = ("no", "n", "false", "incorrect")
_AFTER_THE_QUESTION = ("framing", "topic_ok", "positions_ok", "insist")
"""Keys that answer something proposed: taken only once it was put."""
_TOPIC, _POSITIONS = "setup.topic", "setup.positions"
"""Steps that are a moderator's work."""
_NO_TERMS = ShapeContext(sides=("a", "b"), criteria=(), least=0, most=0, rounds=1, strictness="")


class Questionnaire:
    """The questions in the words and the limits of a format."""

    def __init__(self, words: QuestionTexts, rules: Format, default_output: str):
        self.words, self.rules, self.default_output = words, rules, default_output

    # What comes next

    def next(self, draft: SetupState) -> Ask | Propose | Ready:
        """What the conversation needs now."""
        step = next((key for key, done in self._steps(draft) if not done), None)
        if step is None:
            return Ready(show=self.confirmed(draft.given))
        if step == _TOPIC:
            values: dict[str, Any] = {"heard": draft.talk.heard}
            return Propose(name="topic", values=values, json_schema=self._schema("topic"))
        if step == _POSITIONS:
            values = {"topic": draft.given["topic"], "rejected": draft.talk.rejected}
            return Propose(name="positions", values=values, json_schema=self._schema("positions"))
        return self.question(draft, step)

    def trail(self, draft: SetupState) -> tuple[str, ...]:
        """The questions that were answered before the one that comes next, in their order."""
        behind: list[str] = []
        for key, done in self._steps(draft):
            if not done:
                break
            behind.append(key)
        return tuple(behind)

    def _steps(self, draft: SetupState) -> Iterator[tuple[str, bool]]:
        """Every question in its order, and the moderator's work where some is needed; and whether it is done."""
        talk, settled = draft.talk, draft.given
        yield "topic", bool(talk.heard)
        if talk.proposal is None and not talk.topic_ok:
            yield _TOPIC, False
        yield "framing" if (talk.proposal or {}).get("ambiguous") else "topic_ok", talk.topic_ok
        yield "positions", talk.positions is not None
        positions = settled.get("positions", {})
        if talk.positions == "auto" and not positions:
            yield _POSITIONS, False
        if talk.positions == "own":
            yield from ((f"position_{side}", side in positions) for side in self.rules.sides)
        yield "positions_ok", talk.positions_ok
        limits = self.rules.rounds
        if limits.insist > 1:
            yield "rounds", "rounds" in settled
        if settled.get("rounds", 1) > limits.most:
            yield "insist", bool(settled.get("insist"))
        if len(self.rules.rubric.strictness) > 1:
            yield "strictness", "strictness" in settled
        yield "output", "output" in settled

    def question(self, draft: SetupState, key: str) -> Ask:
        """A question as it is put, also once more: one that comes next, or one of the trail."""
        wording, rules = self.words.questions[key], self.rules
        proposal, limits = draft.talk.proposal or {}, rules.rounds
        values: dict[str, Any] = {}
        match key:
            case "framing":
                values = {name: proposal[name] for name in ("recommended", "alternative")}
            case "topic_ok":
                values = {"restated": proposal.get("restated") or draft.given["topic"]}
            case "position_a" | "position_b":
                values = {"who": self.who(key.removeprefix("position_"))}
            case "positions_ok":
                keys = " or ".join(f"position_{side}=..." for side in rules.sides)
                values = {"argued": " ".join(self.argued(draft)), "keys": keys}
            case "rounds":
                values = {"default": limits.default, "most": limits.most, "about": self._about_rounds()}
            case "insist":
                cap = "4 or 5" if limits.most > 4 else limits.most
                values = {"rounds": draft.given["rounds"], "cap": cap}
            case "output":
                values = {"default": self.default_output}
        filled = {name: sanitize.one_line(str(value)).rstrip(".") for name, value in values.items()}
        filled |= {"argued": values["argued"]} if "argued" in values else {}
        choices = {value: about.format(**filled) for value, about in wording.choices.items()}
        if key == "strictness":
            choices = {name: one.about for name, one in rules.rubric.strictness.items()}
        return Ask(
            key=key,
            text=wording.text.format(**filled),
            choices=tuple(choices.items()),
            default=values.get("default") if wording.default else None,
            help=wording.help.format(**filled),
        )

    def said(self, draft: SetupState, key: str) -> str:
        """What stands as the answer to a question, or stood before others were wanted; empty where nothing does."""
        talk, settled = draft.talk, draft.given
        match key:
            case "topic":
                return str(settled.get("topic") or (talk.heard[0] if talk.heard else ""))
            case "framing":
                offered = talk.proposal or {}
                return next((name for name in offered if settled.get("topic") == offered[name]), "")
            case "topic_ok" | "positions_ok" | "insist":
                return "yes" if settled.get(key) or getattr(talk, key, False) else ""
            case "positions":
                return talk.positions or ""
            case "position_a" | "position_b":
                side = key.removeprefix("position_")
                return str(settled.get("positions", {}).get(side) or talk.own.get(side, ""))
        return str(settled.get(key, ""))

    def confirmed(self, settled: dict[str, Any]) -> str:
        """The block that says what was settled."""
        rules, lines = self.rules, []
        for side in rules.sides:
            position = sanitize.one_line(settled["positions"][side])
            lines.append(self.words.side.format(who=self.who(side), position=position))
        shown_values = {
            "topic": settled["topic"],
            "rounds": settled.get("rounds", rules.rounds.default),
            "strictness": settled.get("strictness", tuple(rules.rubric.strictness)[-1]),
            "output": settled["output"],
        }
        flat = {key: sanitize.one_line(str(value)) for key, value in shown_values.items()}
        beyond = "".join(f"\n{line}" for line in (*settings.block_lines(settled, rules), *self.beyond(settled)))
        return self.words.confirmed.format(positions="\n".join(lines), beyond=beyond, **flat)

    def beyond(self, settled: dict[str, Any]) -> list[str]:
        """A line for each thing in a setup that reaches beyond the debate."""
        return [self.words.beyond.format(what=one.said) for one in risks.of_settings(settled)]

    def who(self, side: str) -> str:
        """What a side is called, with what it stands for: `Researcher A (Pro)`."""
        seat = self.rules.seats[side]
        return f"{seat.name} ({seat.side})" if seat.side else seat.name

    def argued(self, draft: SetupState) -> list[str]:
        """Who will argue what, a sentence for each side."""
        positions = draft.given["positions"]
        flat = {side: sanitize.one_line(positions[side]).rstrip(".") for side in self.rules.sides}
        argues = self.words.argues
        said = [argues.format(name=self.rules.name_of(side), position=flat[side]) for side in flat]
        return [one[:-1] if one.endswith(("?.", "!.")) else one for one in said]

    def _about_rounds(self) -> str:
        phases = self.rules.round
        if {"challenge", "rebuttal"} <= {phase.name for phase in phases}:
            return self.words.quick
        titles = dict.fromkeys(phase.title for phase in phases if phase.on is None)
        return self.words.each.format(phases=", ".join(titles))

    def _schema(self, name: str) -> dict[str, Any]:
        return json_schema(self.words.shapes[name], _NO_TERMS)

    def checked(self, draft: SetupState) -> tuple[SetupState, list[str]]:
        """The draft without the answers, written by hand into its file, that would have been refused; and why."""
        wrong: list[str] = []
        draft = checked_state(draft, self.rules.sides)
        if draft.talk.proposal is not None and check(self.words.shapes["topic"], draft.talk.proposal, _NO_TERMS):
            draft = with_progress(draft, proposal=None)
        for key in ("rounds", "strictness"):
            if key in draft.given:
                try:
                    draft = getattr(self, f"_take_{key}")(draft, str(draft.given[key]), draft.sources.get(key, "file"))
                except BadSettings as error:
                    wrong += error.complaints
                    draft = without_answers(draft, key)
        now = self.next(draft)
        put = (*self.trail(draft), now.key if isinstance(now, Ask) else None)
        return draft if draft.talk.asked in put else with_progress(draft, asked=None), wrong

    # Taking answers

    def put(self, draft: SetupState, question: Ask) -> SetupState:
        """The draft once a question was really put to the user."""
        return with_progress(draft, asked=question.key)

    def answer(self, draft: SetupState, key: str, value: str, source: Source = "user") -> SetupState:
        """The draft with one more answer; BadAnswers where it will not do. An earlier answer may be given
        again: what depended on it is asked again, and where it is the same, nothing is."""
        said = value.strip()
        if said.lower() in self.words.automatic:
            hint = "Ask the user, and pass on what they say."
            raise BadSettings(complaint(key, short_repr(value), "an answer that somebody gave", hint))
        take = getattr(self, f"_take_{key}", None)
        if take is None:
            raise BadSettings(
                complaint("answer", f"the key {short_repr(key)}", "one of " + ", ".join(self.words.questions))
            )
        if key in _AFTER_THE_QUESTION and draft.talk.asked != key:
            hint = "Run ask without it, put the question it prints to the user, then answer."
            raise BadSettings(complaint(key, "an answer before its question was put", "the question first", hint))
        if said.lower() == "default" and self.words.questions[key].default:
            said, source = str({"rounds": self.rules.rounds.default, "output": self.default_output}[key]), "default"
        after: SetupState = take(draft, said, source)
        still_put = key != draft.talk.asked and self.next(after) == self.next(draft)
        return after if still_put else with_progress(after, asked=None)

    def proposed(self, draft: SetupState, name: str, value: Any) -> SetupState:
        """The draft with the moderator's work; BadAnswers where it is not in the shape asked for."""
        value, _ = normalize(self.words.shapes[name], value, _NO_TERMS, {})
        wrong = check(self.words.shapes[name], value, _NO_TERMS)
        if wrong:
            raise BadSettings([f"setup.{name}.moderator: {one}" for one in wrong])
        if name == "topic":
            return with_progress(draft, proposal=value)
        positions = {side: sanitize.one_line(value[side]) for side in self.rules.sides}
        if wrong := settings.duplicate_positions(positions):
            raise BadSettings(wrong)
        return with_answers(draft, "derived", positions=positions)

    def as_stated(self, draft: SetupState) -> SetupState:
        """The draft with the topic as the user stated it last, where no moderator restates it; it is still to be
        confirmed."""
        stated = {"ambiguous": False, "restated": sanitize.one_line(draft.talk.heard[-1])}
        return with_progress(draft, proposal={**stated, "recommended": None, "alternative": None})

    def reworded(self, draft: SetupState, said: str) -> SetupState:
        """The draft with the topic in exactly these words of the user's, still to be confirmed."""
        same = said.strip() == (draft.talk.proposal or {}).get("restated")
        return draft if same else self.as_stated(self._correct(draft, said.strip()))

    def _take_topic(self, draft: SetupState, said: str, source: Source) -> SetupState:
        line = settings.message_line("topic", said)
        if draft.talk.heard and line in (self.said(draft, "topic"), draft.talk.heard[-1]):
            return draft
        return with_progress(self._unsettled(draft), heard=(line,))

    def _take_framing(self, draft: SetupState, said: str, source: Source) -> SetupState:
        offered = draft.talk.proposal or {}
        names = {"recommended": "recommended", "1": "recommended", "alternative": "alternative", "2": "alternative"}
        chosen = offered.get(names.get(said.lower(), ""))
        chosen = chosen or next((text for text in offered.values() if isinstance(text, str) and text == said), None)
        if chosen is None:
            return self._correct(draft, said)
        return self._settled(draft, sanitize.one_line(chosen), "derived")

    def _take_topic_ok(self, draft: SetupState, said: str, source: Source) -> SetupState:
        if said.lower() in _YES:
            restated = sanitize.one_line((draft.talk.proposal or {}).get("restated") or draft.given["topic"])
            return self._settled(draft, restated, source if restated == _last(draft) else "derived")
        if said.lower() in _NO:
            return with_progress(self._unsettled(draft), heard=())
        if meant := suggest(said.lower(), (_YES[0], _NO[0])):
            raise BadSettings(complaint("topic_ok", short_repr(said), "yes, no, or the topic in other words", meant))
        return self._correct(draft, said)

    def _settled(self, draft: SetupState, topic: str, source: Source) -> SetupState:
        """The draft with its topic confirmed."""
        if draft.given.get("topic") != topic:
            draft = with_answers(self._unsettled(draft, draft.talk.proposal), source, topic=topic)
        return with_progress(draft, topic_ok=True)

    def _unsettled(self, draft: SetupState, proposal: dict[str, Any] | None = None) -> SetupState:
        """The draft without its topic, and without positions that were derived from it."""
        derived = draft.talk.positions == "auto"
        draft = without_answers(draft, "topic", *(["positions"] if derived else []))
        return with_progress(draft, proposal=proposal, topic_ok=False, positions_ok=False, rejected=())

    def _correct(self, draft: SetupState, said: str) -> SetupState:
        heard = (*draft.talk.heard, settings.message_line("topic", said))
        return with_progress(self._unsettled(draft), heard=heard)

    def _take_positions(self, draft: SetupState, said: str, source: Source) -> SetupState:
        if said.lower() not in ("auto", "own"):
            hint = "Positions of the user's own are given as position_a=... and position_b=..."
            raise BadSettings(complaint("positions", short_repr(said), "auto or own", hint))
        if said.lower() == draft.talk.positions:
            return draft
        return with_progress(self._put_aside(draft), positions=said.lower())

    def _put_aside(self, draft: SetupState) -> SetupState:
        """The draft without its positions; those of the user's own are kept to be offered again."""
        standing, talk = draft.given.get("positions", {}), draft.talk
        own = {**talk.own, **standing} if talk.positions == "own" else talk.own or standing
        return with_progress(without_answers(draft, "positions"), own=own, positions_ok=False)

    def _take_position_a(self, draft: SetupState, said: str, source: Source) -> SetupState:
        return self._position(draft, "a", said, source)

    def _take_position_b(self, draft: SetupState, said: str, source: Source) -> SetupState:
        return self._position(draft, "b", said, source)

    def _position(self, draft: SetupState, side: str, said: str, source: Source) -> SetupState:
        before = draft.given.get("positions", {})
        if before.get(side) == (line := settings.message_line(f"position_{side}", said)):
            return draft
        return with_progress(
            with_answers(draft, source, positions={**before, side: line}), positions="own", positions_ok=False
        )

    def _take_positions_ok(self, draft: SetupState, said: str, source: Source) -> SetupState:
        if said.lower() in _YES:
            if wrong := settings.duplicate_positions(draft.given["positions"]):
                raise BadSettings(wrong)
            return with_progress(draft, positions_ok=True)
        if said.lower() not in _NO:
            hint = "position_a=... or position_b=... changes one."
            raise BadSettings(complaint("positions_ok", short_repr(said), "yes or no", hint))
        refused = draft.given["positions"]
        rejected = (*draft.talk.rejected, refused)
        return with_progress(
            without_answers(draft, "positions"), positions=None, own={}, positions_ok=False, rejected=rejected
        )

    def _take_rounds(self, draft: SetupState, said: str, source: Source) -> SetupState:
        number = settings.rounds(said, self.rules.rounds.insist)
        if number is None:
            raise BadSettings(settings.rounds_complaint(said, self.rules))
        same = draft.given.get("rounds") == number
        return with_answers(draft if same else without_answers(draft, "insist"), source, rounds=number)

    def _take_insist(self, draft: SetupState, said: str, source: Source) -> SetupState:
        if said.lower() in _YES:
            return with_answers(draft, source, insist=True)
        if said.lower() in _NO:
            return without_answers(draft, "rounds", "insist")
        raise BadSettings(complaint("insist", short_repr(said), "yes or no"))

    def _take_strictness(self, draft: SetupState, said: str, source: Source) -> SetupState:
        names = self.rules.rubric.strictness
        if said.lower() not in names:
            raise BadSettings(complaint("strictness", short_repr(said), " or ".join(names)))
        return with_answers(draft, source, strictness=said.lower())

    def _take_output(self, draft: SetupState, said: str, source: Source) -> SetupState:
        return with_answers(draft, source, output=said)


def _last(draft: SetupState) -> str:
    """What the user called the topic last."""
    return sanitize.one_line(draft.talk.heard[-1]) if draft.talk.heard else ""
