"""The rows that every analysis of a tournament reads: one for each debate, and one for each ballot of a judge.

Rows come from a folder of journals (`journal_rows`) or from judged debates made elsewhere (`importing`). In both, pro
is seat a and con is seat b.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from decimal import Decimal
from functools import cached_property
from statistics import fmean
from typing import Annotated, Literal, TypeVar

from pydantic import Field, ValidationError

from debate_orchestrator.core.settings import MAX_COUNT, MAX_TOPIC_LENGTH
from debate_orchestrator.core.values import FrozenModel, formerly
from debate_orchestrator.util.data import MAX_FILE_SIZE
from debate_orchestrator.util.errors import BadFile, short_repr
from debate_orchestrator.util.redact import redact, redact_all
from debate_orchestrator.util.sanitize import quoted

Side = Literal["pro", "con"]
Winner = Literal["pro", "con", "tie"]
SIDES: tuple[Side, Side] = ("pro", "con")
MAX_VOTES, MAX_CRITERIA = 200, 100
"""Votes on one debate, since each is compared with each other; criteria that all ballots of a tournament score."""
MAX_NAME_LENGTH = MAX_TOPIC_LENGTH
"""Characters of the name of a model, a judge, a topic or a category. A topic without a name goes by its motion."""
_Name = Annotated[str, Field(max_length=MAX_NAME_LENGTH)]
MAX_ROWS = 200_000
"""Rows of a file that is imported, one for each judge of each debate; debates or ballots of a tournament's rows."""
ROWS = "rows.jsonl"
"""The file of an imported tournament's rows."""

_Count = Annotated[int, Field(ge=-MAX_COUNT, le=MAX_COUNT)]
MAX_NUMBER = 10**15
"""The largest score, price, time or number of tokens that is read."""
_Number = Annotated[float, Field(ge=-MAX_NUMBER * 1_000, le=MAX_NUMBER * 1_000)]
_Total = Annotated[int, Field(ge=0, le=MAX_NUMBER * 1_000)]
"""SQLite can hold and add up numbers of this size."""
Dollars = Annotated[float, Field(ge=0, le=MAX_NUMBER, allow_inf_nan=False)]
"""US dollars of one debate, or of all debates of a tournament."""


class RoleUsage(FrozenModel):
    """Calls, tokens, cost, time and words used by one side or by the panel, and turns declined."""

    model_config = formerly(declined_turns="refusals")

    calls: _Total = 0
    input: _Total | None = None
    """Tokens of the prompts; None if they were not counted."""
    output: _Total | None = None
    """Tokens of the replies; None if they were not counted."""
    cost: Dollars | None = None
    """US dollars; None if the price of any call is unknown."""
    seconds: _Number | None = None
    """From each request to its reply, added up; None if it was not measured."""
    words: _Total | None = None
    """Words of the speeches; None if they are not known."""
    declined_turns: _Total = 0


class DebateRow(FrozenModel):
    model_config = formerly(usage_by_role="work", html_report="page")

    kind: Literal["debate"] = "debate"
    id: _Name
    created: str = ""
    """UTC, ISO 8601 in one form, so that text sorts by time; empty if it is not known."""
    topic_id: _Name = Field(alias="topic")
    motion: str = ""
    """The sentence that is debated: its debate's `topic`."""
    category: _Name = ""
    pro: _Name | None
    """The model that argues for the topic; None if it is not known."""
    con: _Name | None
    first: Side | None = None
    winner: Winner | None
    """The panel's; consensus counts as a tie, and None is not a decision."""
    complete: bool = True
    rehearsed: bool = False
    """Whether a stand-in spoke in it, in any seat."""
    usage_by_role: dict[Literal["pro", "con", "judge"], RoleUsage] = {}
    html_report: str = ""
    """The path of the debate's HTML report, relative to the folder; empty if there is none. None is read from a file of
    rows, in which it might lead anywhere."""

    @property
    def rated(self) -> bool:
        """Whether ratings may count it and the votes on it: it is complete and decided, no stand-in spoke, and its two
        models are known and different."""
        models = {self.pro, self.con}
        return self.complete and not self.rehearsed and self.winner is not None and len(models - {None}) == 2


class BallotRow(FrozenModel):
    """One ballot of one judge, with the sides as they are."""

    model_config = formerly(round="turn")

    kind: Literal["ballot"] = "ballot"
    debate: str
    judge: _Name
    winner: Winner | None
    """As the judge states it; None if it names none."""
    scores: dict[str, tuple[_Number, _Number]] = {}
    """Criterion to the points of pro and con; empty if sides are not scored."""
    round: _Count | None = None
    """The round after which it was cast, from 1; None for a ballot on the whole debate."""
    final: bool = True
    mirrored: bool = False
    """Whether the judge saw the sides swapped."""
    counted: bool = True
    """Whether it counts: False if the judge said something else when the sides were swapped."""
    overruled: bool = False
    """Whether a side conceded, although this ballot names a winner other than consensus: its winner does not count."""
    judging_number: _Count = Field(default=0, alias="repeat")
    """0 for the panel's own ballot; from 1 for the same debate judged again. Unlike a `repetition`, it is no debate of
    its own."""
    label: _Name | None = None
    claim_score: _Number | None = Field(default=None, alias="score")
    """A single number for the topic itself, such as how well a claim is supported."""

    @property
    def mirror_key(self) -> tuple[object, ...]:
        """The key that a ballot shares with the one of the same judge on the mirrored debate. A judge has one on the
        whole debate, and one on each round."""
        return self.debate, self.judge, "whole" if self.final else self.round, self.judging_number

    @property
    def stated(self) -> tuple[Winner | None, str | None] | None:
        """The winner and the label that it names; None if it abstains."""
        return (self.winner, self.label) if self.winner or self.label else None

    @property
    def is_panel_vote(self) -> bool:
        """Whether it is a panel judge's own vote on the whole debate: one for each, whether or not it was mirrored."""
        return self.final and self.counted and not self.mirrored and self.judging_number == 0

    @property
    def decides(self) -> bool:
        """Whether ratings and tables of votes count its winner."""
        return self.is_panel_vote and self.winner is not None and not self.overruled

    @property
    def lead(self) -> float | None:
        """The mean points of pro minus those of con; None if sides are not scored."""
        if not self.scores:
            return None
        return math.fsum(pro - con for pro, con in self.scores.values()) / len(self.scores)


_Row = TypeVar("_Row", DebateRow, BallotRow)


def _redacted(row: _Row) -> _Row:
    """A row without secrets; the same if it has none."""
    line = row.model_dump_json()
    return row if redact(line) == line else type(row).model_validate(redact_all(row.model_dump()))


class Rows:
    """The rows of one tournament, in the order of (created, id), and sentences on what weakens them. They hold no
    secrets: pictures are made of them, of which none could be taken out. Raises BadFile if two debates have one id, or
    a ballot is on none of the debates."""

    def __init__(self, debates: Iterable[DebateRow], ballots: Iterable[BallotRow], notes: Sequence[str] = ()):
        self.debates = sorted(map(_redacted, debates), key=lambda debate: (debate.created, debate.id))
        self.ballots = list(map(_redacted, ballots))
        self.notes = tuple(map(redact, notes))
        ids = Counter(debate.id for debate in self.debates)
        if (repeated := ids.most_common(1)) and repeated[0][1] > 1:
            problem = f"{repeated[0][1]:,} debates have the id {short_repr(repeated[0][0])}."
            raise BadFile(problem, hint="give each debate an id of its own")
        if unknown := {ballot.debate for ballot in self.ballots} - ids.keys():
            raise BadFile(f"There are ballots on the debate {short_repr(min(unknown))}, but no such debate.")

    @cached_property
    def votes_by_debate(self) -> dict[str, list[BallotRow]]:
        """Debate to the votes of its panel whose winner counts, in the order of judges."""
        panels: dict[str, list[BallotRow]] = {debate.id: [] for debate in self.debates}
        for ballot in self.ballots:
            if ballot.decides:
                panels[ballot.debate].append(ballot)
        for panel in panels.values():
            panel.sort(key=lambda ballot: ballot.judge)
        return panels

    @property
    def merged_ballots(self) -> Iterator[BallotRow]:
        """Each judge's ballots on the debates as they were, with the means of the scores that it gives there and on
        the mirrored ones, whether or not its vote changed. A judge who is absent from one of the two gives none."""
        mirrored = {row.mirror_key: row for row in self.ballots if row.mirrored}
        for row in self.ballots:
            other = mirrored.get(row.mirror_key)
            if other is None:
                yield row if row.counted else row.model_copy(update={"scores": {}, "claim_score": None})
            elif other is not row:
                yield _with_means(row, other)

    def all_notes(self) -> list[str]:
        """`notes`, and what the rows themselves say of how far their verdicts carry."""
        real = [debate for debate in self.debates if not debate.rehearsed]
        real_ids = {debate.id for debate in real}
        ballots = [ballot for ballot in self.ballots if ballot.debate in real_ids and ballot.judging_number == 0]
        rehearsed = _rehearsal_notes(len(self.debates) - len(real), len(self.debates))
        return [*rehearsed, *self.notes, *_completeness_notes(real), *_mirror_notes(ballots)]


def _with_means(*pair: BallotRow) -> BallotRow:
    """The first ballot of a pair, with the means of the scores of both."""
    points = {name: [one.scores[name] for one in pair if name in one.scores] for one in pair for name in one.scores}
    scores = {name: tuple(map(fmean, zip(*both, strict=True))) for name, both in points.items()}
    numbers = [one.claim_score for one in pair if one.claim_score is not None]
    return pair[0].model_copy(update={"scores": scores, "claim_score": fmean(numbers) if numbers else None})


def check_sizes(ballots: Iterable[BallotRow], file_name: str) -> None:
    """Raises BadFile for too many votes in a debate or criteria in the tournament, or a ballot that stands twice."""
    votes: Counter[str] = Counter()
    keys: set[tuple[object, ...]] = set()
    criteria: set[str] = set()
    for ballot in ballots:
        votes[ballot.debate] += ballot.is_panel_vote
        criteria.update(ballot.scores)
        key = (*ballot.mirror_key, ballot.mirrored)
        if votes[ballot.debate] > MAX_VOTES:
            allowed = f"more than the {MAX_VOTES} votes that are allowed"
            raise BadFile(f"{file_name}: the debate {short_repr(ballot.debate)} has {allowed}.")
        if len(criteria) > MAX_CRITERIA:
            problem = f"{file_name} scores more than the {MAX_CRITERIA} different criteria that are allowed."
            raise BadFile(problem, hint="judges who score the same criteria, or the data in several parts")
        if key in keys:
            problem = f"{file_name}: a ballot on the debate {short_repr(ballot.debate)} appears twice."
            raise BadFile(problem, hint="import the data again")
        keys.add(key)


def check_name(what: str, name: str, file_name: str) -> None:
    """Raises BadFile if a name is longer than is allowed: many rows and tables repeat it."""
    if len(name) > MAX_NAME_LENGTH:
        size = f"{len(name):,} characters, and at most {MAX_NAME_LENGTH:,} characters are allowed"
        raise BadFile(f"{file_name}: the {what} {short_repr(name)} has {size}.")


def _rehearsal_notes(rehearsed: int, debates: int) -> Iterator[str]:
    if rehearsed:
        what = "All of this is a rehearsal" if rehearsed == debates else f"{_debates(rehearsed)} rehearsed"
        counts = "count" if 1 < rehearsed < debates else "counts"
        why = "stand-ins spoke in place of models, and what they said is filler"
        yield f"{what} and {counts} in no rating, table or plot: {why}."


def _completeness_notes(debates: Sequence[DebateRow]) -> Iterator[str]:
    if unfinished := sum(not debate.complete for debate in debates):
        yield f"{_debates(unfinished)} not finished and {_is(unfinished)} left out of every rating and win rate."
    if open_ended := sum(debate.complete and debate.winner is None for debate in debates):
        yield f"{_debates(open_ended)} finished without a decision and {_is(open_ended)} left out of every rating."
    if unnamed := sum(None in (debate.pro, debate.con) for debate in debates):
        yield (
            f"{_debates(unnamed)} without a model on at least one side: counted by side and topic, left out of every "
            "rating."
        )
    if alone := sum(debate.pro is not None and debate.pro == debate.con for debate in debates):
        yield (
            f"{_debates(alone)} between a model and itself: counted by side, topic and judge, left out of every rating."
        )
    known, rated = _models(debates), _models(debate for debate in debates if debate.rated)
    if rated and known != rated:
        yield f"Models of which no debate counts in a rating: {', '.join(map(quoted, sorted(known - rated)))}."


def _models(debates: Iterable[DebateRow]) -> set[str]:
    return {model for debate in debates for model in (debate.pro, debate.con) if model is not None}


def _mirror_notes(ballots: Sequence[BallotRow]) -> Iterator[str]:
    """The number of votes that changed when the sides were swapped, and of ballots that make no such pair."""
    cast = {(row.mirror_key, row.mirrored): row for row in ballots if row.final}
    pairs = [(row, cast[key, True]) for (key, mirrored), row in cast.items() if not mirrored and (key, True) in cast]
    cast_twice = [row for row, other in pairs if row.stated is not None and other.stated is not None]
    if cast_twice:
        flipped = sum(not row.counted for row in cast_twice)
        what = f"{flipped} of {len(cast_twice)} votes that were cast twice changed when the sides were swapped"
        yield what + (f" and {_is(flipped)} left out of every rating and vote count." if flipped else ".")
    elif ballots:
        yield "No vote was checked by swapping the sides: how many would change is not known."
    if abstained := sum((row.stated is None) != (other.stated is None) for row, other in pairs):
        yield f"Votes left out since their judge abstained in one of the two ballots: {abstained:,}."
    alone = [row for (key, mirrored), row in cast.items() if (key, not mirrored) not in cast]
    if left_out := sum(row.mirrored or not row.counted for row in alone):
        yield f"Votes left out since their judge cast only one of the two ballots: {left_out:,}."


def _debates(count: int) -> str:
    return f"{count:,} debate{' is' if count == 1 else 's are'}"


def _is(count: int) -> str:
    return "is" if count == 1 else "are"


def panel_winner(votes: Iterable[str | None]) -> Winner | None:
    """The side that more votes name; a tie if they are equal, votes for a tie being ignored; None without a vote."""
    counts = Counter(vote for vote in votes if vote is not None)
    if not counts:
        return None
    return "pro" if counts["pro"] > counts["con"] else "con" if counts["con"] > counts["pro"] else "tie"


def winner_by_scores(scores: Iterable[tuple[float | Decimal, float | Decimal]]) -> Winner | None:
    """The side with the higher mean over the criteria; None without scores. Decimal sums, so that equal is equal."""
    pairs = [(Decimal(str(pro)), Decimal(str(con))) for pro, con in scores]
    if not pairs:
        return None
    pro, con = sum(points for points, _ in pairs), sum(points for _, points in pairs)
    return "pro" if pro > con else "con" if con > pro else "tie"


def mark_flipped(ballots: Sequence[BallotRow]) -> list[BallotRow]:
    """The same ballots, with `counted` false on those whose judge says something else on the mirrored debate."""
    said: dict[tuple[object, ...], set[object]] = defaultdict(set)
    if not any(row.mirrored for row in ballots):
        return list(ballots)
    for row in ballots:
        said[row.mirror_key].add(row.stated)
    flipped = {key for key, said_of_key in said.items() if len(said_of_key) > 1}
    return [row.model_copy(update={"counted": False}) if row.mirror_key in flipped else row for row in ballots]


def dump(rows: Rows) -> str:
    """The rows as JSON lines, which `load` reads back. Raises BadFile if they are too many for a file."""
    text = "".join(f"{row.model_dump_json()}\n" for row in [*rows.debates, *rows.ballots])
    if (size := len(text.encode())) > MAX_FILE_SIZE:
        problem = f"The rows of this tournament take {size:,} bytes; at most {MAX_FILE_SIZE:,} are allowed."
        raise BadFile(problem, hint="import a part of the data")
    return text


def load(text: str, file_name: str, notes: Sequence[str] = ()) -> Rows:
    """The rows that `dump` wrote. Raises BadFile with the first line that is none, and as `Rows` does."""
    debates: list[DebateRow] = []
    ballots: list[BallotRow] = []
    for number, line in enumerate(text.rstrip("\n").split("\n"), start=1):
        try:
            if line.startswith('{"kind":"debate"'):
                debates.append(DebateRow.model_validate_json(line).model_copy(update={"html_report": ""}))
            else:
                ballots.append(BallotRow.model_validate_json(line))
            if max(len(debates), len(ballots)) > MAX_ROWS:
                problem = f"{file_name} has more than {MAX_ROWS:,} debates or ballots."
                raise BadFile(problem, hint="import a part of the data")
        except ValidationError as error:
            first = error.errors(include_url=False, include_input=False)[0]
            key = short_repr(".".join(map(str, first["loc"])))
            problem = f"{file_name}:{number}: not a row of a tournament ({key}: {first['msg']})."
            raise BadFile(problem, hint="import the data again") from None
    check_sizes(ballots, file_name)
    try:
        return Rows(debates, ballots, notes)
    except BadFile as error:
        raise BadFile([f"{file_name}: {problem}" for problem in error.problems]) from None
