"""The setup conversation, pure: answers so far in, next question out.

The terminal, the skill and the answers file are three ways to answer the same questions. What needs
language (restating the topic, deriving positions, framing an ambiguous one) is a moderator's turn,
asked for with `Propose` and answered by whoever plays the moderator. A confirmation counts only for a
question that was really put: an answer that comes before its question is refused, and so is an empty
or automatic one. Nothing is assumed.
"""

from __future__ import annotations

from typing import Any, Literal

from debate_orchestrator import answers, speech
from debate_orchestrator.core.events import Source
from debate_orchestrator.core.rules import Format
from debate_orchestrator.core.shapes import Shape, Terms, check, json_schema
from debate_orchestrator.core.values import Value
from debate_orchestrator.errors import BadAnswers, complaint, shown

_YES = ("yes", "y", "true", "correct", "ok", "accurate")
_NO = ("no", "n", "false", "incorrect")
_AFTER_THE_QUESTION = ("framing", "topic_ok", "positions_ok", "insist")
"""Keys that answer something proposed: taken only once it was put."""


class Wording(Value):
    """One question as prompts/interview.yaml words it."""

    text: str
    help: str = ""
    choices: dict[str, str] = {}
    default: bool = False


class Words(Value):
    """Everything in prompts/interview.yaml."""

    questions: dict[str, Wording]
    automatic: tuple[str, ...]
    confirmed: str
    shapes: dict[str, Shape]


class Talk(Value):
    """What was said on the way, so that the conversation can go on in another process."""

    heard: tuple[str, ...] = ()
    """What the user called the topic, corrections last."""
    proposal: dict[str, Any] | None = None
    """The moderator's restatement or framings of what was heard."""
    topic_ok: bool = False
    positions: Literal["auto", "own"] | None = None
    rejected: tuple[dict[str, str], ...] = ()
    positions_ok: bool = False
    asked: str | None = None
    """The question that was put last."""
    nonce: str = ""
    """What fences speech in the moderator's briefs; drawn by whoever drives the conversation."""


class Draft(Value):
    """The answers so far."""

    given: dict[str, Any] = {}
    """Settled answers, by their key in an answers file."""
    sources: dict[str, Source] = {}
    talk: Talk = Talk()


class Ask(Value):
    """A question for the user."""

    key: str
    text: str
    choices: tuple[tuple[str, str], ...]
    """Value and what it means; empty for a free answer."""
    default: str | int | None
    help: str


class Propose(Value):
    """Work for the moderator: `topic` or `positions`."""

    name: Literal["topic", "positions"]
    values: dict[str, Any]
    """What its brief is made of."""
    json_schema: dict[str, Any]

    @property
    def turn(self) -> str:
        return f"setup.{self.name}.moderator"


class Ready(Value):
    """Nothing is left to ask."""

    show: str


class Interview:
    """The questions in the words and the limits of a format."""

    def __init__(self, words: Words, rules: Format, default_output: str):
        self.words, self.rules, self.default_output = words, rules, default_output

    # What comes next

    def next(self, draft: Draft) -> Ask | Propose | Ready:
        """What the conversation needs now."""
        talk, given = draft.talk, draft.given
        if not talk.heard:
            return self._ask("topic")
        if not talk.topic_ok:
            if talk.proposal is None:
                return self._propose("topic", heard=talk.heard)
            if talk.proposal["ambiguous"]:
                return self._ask("framing", **talk.proposal)
            return self._ask("topic_ok", restated=talk.proposal["restated"])
        positions = given.get("positions", {})
        if talk.positions is None:
            return self._ask("positions")
        if talk.positions == "auto" and not positions:
            return self._propose("positions", topic=given["topic"], rejected=talk.rejected)
        for side in ("a", "b"):
            if side not in positions:
                return self._ask(f"position_{side}")
        if not talk.positions_ok:
            return self._ask("positions_ok", **positions)
        return self._rest(given)

    def _rest(self, given: dict[str, Any]) -> Ask | Ready:
        limits = self.rules.rounds
        if "rounds" not in given:
            return self._ask("rounds", default=limits.default, most=limits.most)
        if given["rounds"] > limits.most and not given.get("insist"):
            return self._ask("insist", rounds=given["rounds"])
        if "strictness" not in given:
            return self._ask("strictness")
        if "output" not in given:
            return self._ask("output", default=self.default_output)
        return Ready(show=self.confirmed(given))

    def confirmed(self, given: dict[str, Any]) -> str:
        """The block that says what was settled."""
        shown_values = {key: given[key] for key in ("topic", "rounds", "strictness", "output")} | given["positions"]
        return self.words.confirmed.format(**{key: speech.one_line(str(v)) for key, v in shown_values.items()})

    def _ask(self, key: str, **values: Any) -> Ask:
        wording = self.words.questions[key]
        filled = {name: speech.one_line(str(value)).rstrip(".") for name, value in values.items()}
        choices = {value: about.format(**filled) for value, about in wording.choices.items()}
        if key == "strictness":
            choices = {name: one.about for name, one in self.rules.rubric.strictness.items()}
        return Ask(
            key=key,
            text=wording.text.format(**filled),
            choices=tuple(choices.items()),
            default=values.get("default") if wording.default else None,
            help=wording.help.format(**filled),
        )

    def _propose(self, name: Literal["topic", "positions"], **values: Any) -> Propose:
        return Propose(name=name, values=values, json_schema=json_schema(self.words.shapes[name], _NO_TERMS))

    def checked(self, draft: Draft) -> tuple[Draft, list[str]]:
        """The draft without the answers, written by hand into its file, that would have been refused; and why."""
        wrong: list[str] = []
        for key in ("rounds", "strictness"):
            if key in draft.given:
                try:
                    draft = getattr(self, f"_take_{key}")(draft, str(draft.given[key]), draft.sources.get(key, "file"))
                except BadAnswers as error:
                    wrong += error.complaints
                    draft = _drop(draft, key)
        return draft, wrong

    # Taking answers

    def put(self, draft: Draft, question: Ask) -> Draft:
        """The draft once a question was really put to the user."""
        return _talk(draft, asked=question.key)

    def answer(self, draft: Draft, key: str, value: str, source: Source = "user") -> Draft:
        """The draft with one more answer; BadAnswers where it will not do. An earlier answer may be given
        again: what depended on it is asked again."""
        said = value.strip()
        if said.lower() in self.words.automatic:
            hint = "Ask the user, and pass on what they say."
            raise BadAnswers(complaint(key, shown(value), "an answer that somebody gave", hint))
        take = getattr(self, f"_take_{key}", None)
        if take is None:
            raise BadAnswers(complaint("answer", f"the key {shown(key)}", "one of " + ", ".join(self.words.questions)))
        if key in _AFTER_THE_QUESTION and draft.talk.asked != key:
            hint = "Run ask without it, put the question it prints to the user, then answer."
            raise BadAnswers(complaint(key, "an answer before its question was put", "the question first", hint))
        if said.lower() == "default" and self.words.questions[key].default:
            said, source = str({"rounds": self.rules.rounds.default, "output": self.default_output}[key]), "default"
        after: Draft = take(draft, said, source)
        still_put = key != draft.talk.asked and self.next(after) == self.next(draft)
        return after if still_put else _talk(after, asked=None)

    def proposed(self, draft: Draft, name: str, value: Any) -> Draft:
        """The draft with the moderator's work; BadAnswers where it is not in the shape asked for."""
        wrong = check(self.words.shapes[name], value, _NO_TERMS)
        if wrong:
            raise BadAnswers([f"setup.{name}.moderator: {one}" for one in wrong])
        if name == "topic":
            return _talk(draft, proposal=value)
        positions = {side: speech.one_line(value[side]) for side in ("a", "b")}
        return _given(draft, "derived", positions=positions)

    def _take_topic(self, draft: Draft, said: str, source: Source) -> Draft:
        line = answers.line("topic", said)
        return _talk(self._afresh(draft), heard=(line,))

    def _take_framing(self, draft: Draft, said: str, source: Source) -> Draft:
        offered = draft.talk.proposal or {}
        names = {"recommended": "recommended", "1": "recommended", "alternative": "alternative", "2": "alternative"}
        chosen = offered.get(names.get(said.lower(), ""))
        chosen = chosen or next((text for text in offered.values() if isinstance(text, str) and text == said), None)
        if chosen is None:
            return self._correct(draft, said)
        return _talk(_given(draft, "derived", topic=speech.one_line(chosen)), topic_ok=True)

    def _take_topic_ok(self, draft: Draft, said: str, source: Source) -> Draft:
        if said.lower() in _YES:
            restated = speech.one_line((draft.talk.proposal or {})["restated"])
            return _talk(_given(draft, "derived", topic=restated), topic_ok=True)
        if said.lower() in _NO:
            return self._afresh(draft)
        return self._correct(draft, said)

    def _afresh(self, draft: Draft) -> Draft:
        given = {key: value for key, value in draft.given.items() if key not in ("topic", "positions")}
        return Draft(given=given, sources=draft.sources, talk=Talk(nonce=draft.talk.nonce))

    def _correct(self, draft: Draft, said: str) -> Draft:
        return _talk(draft, heard=(*draft.talk.heard, answers.line("topic", said)), proposal=None)

    def _take_positions(self, draft: Draft, said: str, source: Source) -> Draft:
        if said.lower() not in ("auto", "own"):
            hint = "Positions of the user's own are given as position_a=... and position_b=..."
            raise BadAnswers(complaint("positions", shown(said), "auto or own", hint))
        return _talk(_drop(draft, "positions"), positions=said.lower(), positions_ok=False)

    def _take_position_a(self, draft: Draft, said: str, source: Source) -> Draft:
        return self._position(draft, "a", said, source)

    def _take_position_b(self, draft: Draft, said: str, source: Source) -> Draft:
        return self._position(draft, "b", said, source)

    def _position(self, draft: Draft, side: str, said: str, source: Source) -> Draft:
        positions = {**draft.given.get("positions", {}), side: answers.line(f"position_{side}", said)}
        return _talk(_given(draft, source, positions=positions), positions="own", positions_ok=False)

    def _take_positions_ok(self, draft: Draft, said: str, source: Source) -> Draft:
        if said.lower() in _YES:
            return _talk(draft, positions_ok=True)
        if said.lower() not in _NO:
            hint = "position_a=... or position_b=... changes one."
            raise BadAnswers(complaint("positions_ok", shown(said), "yes or no", hint))
        refused = draft.given["positions"]
        return _talk(_drop(draft, "positions"), positions=None, rejected=(*draft.talk.rejected, refused))

    def _take_rounds(self, draft: Draft, said: str, source: Source) -> Draft:
        limits = self.rules.rounds
        number = answers.rounds(said, limits.insist)
        if number is None:
            raise BadAnswers(answers.bad_rounds(said, self.rules))
        same = draft.given.get("rounds") == number
        return _given(draft if same else _drop(draft, "insist"), source, rounds=number)

    def _take_insist(self, draft: Draft, said: str, source: Source) -> Draft:
        if said.lower() in _YES:
            return _given(draft, source, insist=True)
        if said.lower() in _NO:
            return _drop(draft, "rounds")
        raise BadAnswers(complaint("insist", shown(said), "yes or no"))

    def _take_strictness(self, draft: Draft, said: str, source: Source) -> Draft:
        names = self.rules.rubric.strictness
        if said.lower() not in names:
            raise BadAnswers(complaint("strictness", shown(said), " or ".join(names)))
        return _given(draft, source, strictness=said.lower())

    def _take_output(self, draft: Draft, said: str, source: Source) -> Draft:
        return _given(draft, source, output=said)


_NO_TERMS = Terms(sides=("a", "b"), criteria=(), least=0, most=0, rounds=1, strictness="")


def _talk(draft: Draft, **changes: Any) -> Draft:
    return draft.model_copy(update={"talk": draft.talk.model_copy(update=changes)})


def _given(draft: Draft, source: Source, **values: Any) -> Draft:
    sources = draft.sources | dict.fromkeys(values, source)
    return draft.model_copy(update={"given": draft.given | values, "sources": sources})


def _drop(draft: Draft, *keys: str) -> Draft:
    return draft.model_copy(update={"given": {key: value for key, value in draft.given.items() if key not in keys}})
