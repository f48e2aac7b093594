"""Short texts on how a debate went: winners, scores and labels as reports and screens write them; and the commands
that continue it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from fractions import Fraction

from debate_orchestrator.core import rapporteur, schedule, tally
from debate_orchestrator.core.events import EndedEarly, Event, IssuesChanged, QuestionAsked, Rejected
from debate_orchestrator.core.format import Format
from debate_orchestrator.core.phases import CONSENSUS, NO_DECISION, TIE, Turn
from debate_orchestrator.core.state import DebateState, spec_in
from debate_orchestrator.core.values import FrozenModel
from debate_orchestrator.core.verdict import ParsedBallot, RoundResult, Verdict, Vote, decided_votes
from debate_orchestrator.core.winner import why_nothing_decided
from debate_orchestrator.util import model_spec
from debate_orchestrator.util.errors import without_hint
from debate_orchestrator.util.messages import and_joined, command
from debate_orchestrator.util.numbers import decimals, part_of, percent, plural
from debate_orchestrator.util.sanitize import count_words, one_line, quoted

SCORES, LABEL, SCORE, PROBABILITY = "scores", "label", "score", "probability"


class VoteScales(FrozenModel):
    """The largest numbers in the votes of a format."""

    max_claim_score: str = ""
    """The most that a claim score may be, as shown: `10`; empty if there is none."""
    max_probability: Fraction = Fraction(1)
    """What means certainty: 1, or 100 where votes give a probability in percent."""

    model_config = {**FrozenModel.model_config, "arbitrary_types_allowed": True}

    def with_scale(self, score: Fraction | None, between: str = "/") -> str:
        """A claim score with the most that there is: `7/10`."""
        if score is None:
            return "none"
        return f"{decimals(score)}{between}{self.max_claim_score}" if self.max_claim_score else decimals(score)

    def label_text(self, label: str | None, score: Fraction | None) -> str:
        """A label with its score: `misleading (4/10)`."""
        text = one_line(label) if label else NO_DECISION
        return text if score is None else f"{text} ({self.with_scale(score)})"

    def probability_text(self, probability: Fraction) -> str:
        """A probability: `85%`."""
        return percent(probability / self.max_probability)


ISSUES_CHANGED = "The user changed the list of issues before round 1."
WINNER_BEHIND = "The winner is behind on points: votes decide, not points."
"""The sentence about such a winner on the screen."""


def scales(format: Format) -> VoteScales:
    fields = [format.shapes[phase.reply] for phase in format.phases() if format.is_vote(phase)]
    scores = [shape[SCORE] for shape in reversed(fields) if SCORE in shape]
    highest = scores[0].max if scores else None
    share = next((shape[PROBABILITY].max for shape in reversed(fields) if PROBABILITY in shape), None)
    return VoteScales(
        max_claim_score="" if highest is None else f"{highest:g}",
        max_probability=Fraction(str(share)) if share else Fraction(1),
    )


def winner_word(winner: str) -> str:
    """A winner as reports write it: A, B, Tie, Consensus, no decision; a label is written unchanged."""
    return winner.upper() if len(winner) == 1 else winner.capitalize() if winner in (TIE, CONSENSUS) else winner


def outcome_word(winner: str, unopposed: str | None) -> str:
    """A winner, and whose position stands if the other side conceded: `Consensus, on the position of B`."""
    stands = f", on the position of {winner_word(unopposed)}" if unopposed else ""
    return f"{winner_word(winner)}{stands}"


def score_line(result: RoundResult) -> list[str]:
    """The scores of a round and its winner: parts of a line, between which the transcript and the screen have bars."""
    scores = [f"{side.upper()}: {decimals(score)}" for side, score in result.scores.items()]
    return [*scores, f"Winner: {round_winner(result)}"]


def round_winner(result: RoundResult) -> str:
    """The winner of a round, and whether it was declared on equal scores."""
    has_equal_scores = result.winner in result.scores and result.leader == TIE
    return winner_word(result.winner) + (" (on equal scores)" if has_equal_scores else "")


def behind_sentence(results: Iterable[RoundResult]) -> str:
    """In which rounds the declared winner has the lower score; empty if that is so in none."""
    behind = [f"round {result.round} to {winner_word(result.winner)}" for result in results if result.winner_is_behind]
    return f"Against the scores: {', '.join(behind)}." if behind else ""


def votes_text(votes: Mapping[str, int]) -> str:
    """Votes by winner: `A 2, B 1`; `none` if there are none."""
    return ", ".join(f"{winner_word(name)} {n}" for name, n in votes.items()) or "none"


def votes_sentence(verdict: Verdict) -> str:
    """The votes of a panel: `2 of 3 judges voted for A, 1 for B.`"""
    counts = [(winner_word(side), n) for side, n in verdict.vote_counts.items()]
    if not counts:
        return f"None of {len(verdict.votes)} judges' votes counts."
    (winner, winner_count), *others = counts
    more = "".join(f", {n} for {name}" for name, n in others)
    return f"{winner_count} of {len(verdict.votes)} judges voted for {winner}{more}."


def is_labelled(votes: Sequence[Vote]) -> bool:
    return any(parsed_ballot.label is not None for vote in votes for parsed_ballot in vote.parsed_ballots)


def named_by(parsed_ballot: ParsedBallot, *, labelled: bool = True) -> str:
    """Whom a ballot is for, or which label, where labels are wanted."""
    return parsed_ballot.label if labelled and parsed_ballot.label else parsed_ballot.winner


def label_by_quorum(label: str | None, votes: Sequence[Vote], quorum: int) -> str | None:
    """A panel's label, if at least `quorum` of its judges gave any label."""
    return label if sum(vote.label is not None for vote in votes) >= max(1, quorum) else None


def ballot_line(parsed_ballot: ParsedBallot, scales: VoteScales) -> str:
    """The content of one ballot: `A (A 7.4, B 6.8)`, `misleading (4/10)`, `B (85%)`."""
    if parsed_ballot.label is not None:
        return scales.label_text(parsed_ballot.label, parsed_ballot.claim_score)
    details = [f"{side.upper()} {decimals(score)}" for side, score in parsed_ballot.scores.items()]
    details += [scales.probability_text(parsed_ballot.probability)] if parsed_ballot.probability is not None else []
    word = winner_word(parsed_ballot.winner)
    return f"{word} ({', '.join(details)})" if details else word


def counted_ballot_line(parsed_ballot: ParsedBallot, scales: VoteScales, *, left_out: bool) -> str:
    """The content of one ballot, and that it does not count if it is left out."""
    return f"{ballot_line(parsed_ballot, scales)}{f', {LEFT_OUT}' if left_out else ''}"


def vote_line(vote: Vote) -> str:
    """The value of a judge's vote."""
    if vote.absent:
        return LEFT_OUT if vote.left_out else "absent"
    if not vote.stable:
        return f"an abstention, since {'it changed' if vote.is_cast_both_ways else 'two models disagree'}"
    if vote.label is not None:
        return one_line(vote.label)
    return "an abstention" if vote.winner == NO_DECISION else winner_word(vote.winner)


def decision_text(verdict: Verdict, scales: VoteScales) -> str:
    """The decision in a few words: `Winner: A (narrow)`, `Verdict: misleading (4/10)`, `Winner: no decision`."""
    if is_labelled(verdict.votes):
        label = label_by_quorum(verdict.label, verdict.votes, verdict.quorum)
        return f"Verdict: {scales.label_text(label, verdict.claim_score if label else None)}"
    details: list[str] = [verdict.strength] if verdict.strength and verdict.strength != verdict.winner else []
    details += ["on equal scores"] if verdict.winner != TIE and "scores are equal" in verdict.remarks else []
    details += [scales.probability_text(verdict.probability)] if verdict.probability is not None else []
    return f"Winner: {winner_word(verdict.winner)}" + (f" ({', '.join(details)})" if details else "")


def decision_sentence(debate: DebateState, verdict: Verdict) -> str:
    """The decision, and whose position stands if one side alone conceded."""
    text, unopposed = decision_text(verdict, scales(debate.format)), tally.unopposed_side(debate)
    if unopposed is None:
        return text
    conceded = names(debate, tally.deciding_conceders(debate))
    return f"{text}. {conceded} conceded, so the position of {debate.format.name_of(unopposed)} stands"


def decision_line(debate: DebateState) -> str:
    """The decision, and the totals if there are any, as the screen shows them, or why stand-ins left none; empty if
    there is no verdict."""
    verdict, why, format = tally.verdict(debate), why_nothing_decided(debate), debate.format
    if verdict is None or why:
        return no_winner(why) if verdict else ""
    line = f"{decision_sentence(debate, verdict)}."
    if not any(SCORES in shape for shape in format.shapes.values()):
        return line
    scored = any(verdict.totals.values())
    totals = " | ".join(f"{format.name_of(side)}: {decimals(score)}" for side, score in verdict.totals.items())
    line = f"{line} {totals if scored else 'No round was scored.'}"
    return f"{line}. {WINNER_BEHIND}" if verdict.winner_is_behind else line


def shortfall(votes: Sequence[Vote], quorum: int, name: Callable[[str], str]) -> str:
    """The reason that votes do not add up to a decision, in a sentence; empty if enough of them count. If judges give
    labels, every label counts, whatever winner it stands for."""
    counting = [vote for vote in votes if vote.label is not None] if is_labelled(votes) else decided_votes(votes)
    needed_count, n = max(1, quorum), len(counting)
    if n >= needed_count:
        return ""
    needed = f"{needed_count} {'is' if needed_count == 1 else 'are'} needed"
    why = "; ".join(f"{name(vote.judge)} {_why_not_counted(vote)}" for vote in votes if vote not in counting)
    return f"{part_of(n, len(votes), 'vote', 'count')}, and {needed}: {why}."


def _why_not_counted(vote: Vote) -> str:
    if vote.left_out:
        return "is a stand-in"
    if vote.absent:
        return "cast no ballot that counts"
    if vote.stable:
        return "abstained"
    return what_changed(vote)


def what_changed(vote: Vote) -> str:
    """The predicate of a judge whose two ballots on a debate do not agree."""
    return (
        "changed its vote when the sides were swapped"
        if vote.is_cast_both_ways
        else "has ballots of two models that disagree"
    )


def user_event_text(debate: DebateState, event: Event) -> str | None:
    """The announcement of a floor question, a changed list of issues or an early end; None for other events."""
    if isinstance(event, QuestionAsked):
        return f"From the floor, to {names(debate, event.to)}: {one_line(event.question)}"
    if isinstance(event, IssuesChanged):
        lines = (f"I{n}. {one_line(issue)}" for n, issue in enumerate(event.issues, start=1))
        return "\n".join([ISSUES_CHANGED, *lines])
    if isinstance(event, EndedEarly):
        return ended_early(debate)
    return None


def ended_early(debate: DebateState) -> str | None:
    """The sentence that says after what a debate was ended early; None if it was not."""
    slot_ids = [slot.id for slot in debate.plan.slots]
    if debate.ended_after not in slot_ids:
        return None
    until, taken = slot_ids.index(debate.ended_after) + 1, {turn.slot_id for turn in schedule.turns_taken(debate)}
    slot = max(debate.plan.slots[:until], key=lambda slot: (slot.id in taken, slot_ids.index(slot.id)))
    where = f" of round {slot.round}" if slot.round else ""
    return f"Ended early, after {slot.phase.title}{where}."


def ended_without_new_ground(debate: DebateState) -> str | None:
    """The sentence that says after which round most judges found no new ground; None if it did not end so."""
    slot_id = schedule.no_new_ground_slot_id(debate)
    slot = next((slot for slot in debate.plan.slots if slot.id == slot_id), None)
    found = "in which no new ground was found"
    return f"The debate ended after round {slot.round}, {found}." if slot else None


LEFT_OUT = "not counted: a stand-in"
FILLER = "What stand-ins wrote in it is filler: its verdict and its advice mean nothing."


def no_winner(why: str) -> str:
    """The sentence that stands in place of a decision that stand-ins made, or on what they said."""
    return f"No winner: {why}."


def filler_in_place(text: str) -> str:
    """The text that a screen shows in place of a stand-in's speech."""
    return f"({plural(count_words(text), 'word')} of filler, which the report has.)"


def missing_reply_text(debate: DebateState, turn: Turn) -> str:
    """The missing part because no reply to a turn could be used, and the reason, in a sentence. The problem may quote
    the reply, so it is left out of a turn that must stay hidden."""
    rejected = debate.rejected_replies(turn.id)
    replies = "the only reply" if len(rejected) == 1 else f"each of the {len(rejected)} replies"
    text = f"No {turn.phase.title.lower()}: {replies} from {debate.format.name_of(turn.seat)} was unusable"
    if rapporteur.is_hidden_advice(debate, turn):
        return f"{text}."
    return f"{text}: {quoted(problems_text(rejected[-1], only_first=True))}"


def problems_text(event: Rejected, *, only_first: bool = False) -> str:
    """Why a reply was rejected, without its turn and without what its writer is to try."""
    problems = event.problems[:1] if only_first else event.problems
    return " ".join(without_hint(problem.removeprefix(f"{event.turn_id}: ")) for problem in problems)


def user_event_sentences(debate: DebateState) -> Iterator[str]:
    """The sentences in a report's head on an early end, a changed list of issues and questions from the floor."""
    if ended := ended_early(debate):
        yield ended
    if debate.changed_issues is not None:
        yield ISSUES_CHANGED
    if count := len(debate.floor_questions):
        yield f"{plural(count, 'question')} {'was' if count == 1 else 'were'} put from the floor."
    yield from unheard_questions(debate)


def unheard_questions(debate: DebateState) -> Iterator[str]:
    """A sentence for each question from the floor that no turn is left to hear."""
    turns = schedule.turns_taken(debate)
    numbers = {question.number for turn in turns for question in schedule.new_questions(debate, turn)}
    hearers = set() if debate.complete else {*schedule.seats_open_to_questions(debate)}
    for number, event in enumerate(debate.floor_questions):
        if number not in numbers and not {*event.to} & hearers:
            yield f"No turn is left to hear the question to {names(debate, event.to)}: {quoted(event.question)}"


def names(debate: DebateState, seats: tuple[str, ...]) -> str:
    return and_joined([debate.format.name_of(seat) for seat in seats])


MAX_LENGTH = 200
"""Characters of a text in a line."""


def shorten(text: str, maximum: int = MAX_LENGTH) -> str:
    """A text that is no longer than it may be, cut between words."""
    if len(text) <= maximum:
        return text
    words = text[:maximum].rpartition(" ")[0]
    return f"{(words or text[:maximum]).rstrip(' ,;:–—-')}…"


# What to do next


def next_command(debate: DebateState, journal: str) -> str:
    """The command that takes the turns that are due, for a shell. It is `step` where one of them is the host's: a step
    calls the models beside it too. Since it asks no person, it is `resume` where a person's turn is due as well."""
    specs = {spec_in(debate, turn.seat) for turn in debate.due}
    uses_step = model_spec.HOST in specs and model_spec.HUMAN not in specs
    return command("step" if uses_step else "resume", journal)


def ask_again_sentence(debate: DebateState, journal: str) -> str:
    """The sentence with the command that asks again for missing parts of a complete debate; empty if there is none."""
    turns = schedule.turns_to_reopen(debate)
    if not turns:
        return ""
    titles = " and ".join(dict.fromkeys(f"the {turn.phase.title.lower()}" for turn in turns))
    others = " ".join(dict.fromkeys(f"--{turn.role} MODEL" for turn in turns))
    return f"`{command('resume', journal)}` asks for {titles} again; with `{others}` it asks another model."
