"""Ratings of a tournament's models: Elo as a plain replay of results, and strengths from votes: a Bradley-Terry model
with ties, fitted by maximum likelihood with a weak prior.

The model is Davidson's (1970). With strengths t in log odds, a judge j votes in a debate of pro p and con c:

    x = exp(r_j) * (t_p - t_c) + side + second_speaker * s + b_j
    P(pro) : P(con) : P(tie) = exp(x / 2) : exp(-x / 2) : v

s is 1 if pro speaks second, -1 if con does, else 0. r_j is the judge's reliability and b_j its bias towards pro, both
with the mean 0 over all judges; v is how common ties are. The prior is normal with mean 0 and the standard deviations
in `_PRIOR`: it keeps the strength of a model that won everything finite, and centers each group of models that no
debate connects to the rest.

Intervals come from a bootstrap over topics: debates of a topic share what makes it easy for a side, so whole topics are
drawn, with replacement, from a fixed seed.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from debate_orchestrator.tournament.rows import BallotRow, DebateRow, Rows
from debate_orchestrator.util.errors import BadFile, BadSettings
from debate_orchestrator.util.numbers import plural
from debate_orchestrator.util.sanitize import quoted

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Ints = NDArray[np.int64]

_PRIOR = {"strength": 2.0, "reliability": 0.5, "bias": 1.0, "effect": 2.0, "ties": 3.0}
"""Standard deviations, in log odds; of reliability, in logs."""
MAX_MODELS, MAX_JUDGES = 500, 500
_OUTCOMES = {"pro": 0, "con": 1, "tie": 2}
_SECOND_SPEAKER = {"con": 1, "pro": -1, None: 0}
"""The first speaker, relative to s of the model above."""
_RESAMPLE_COUNT = 200
_MIN_RESAMPLES = 20
"""Resamples without which there are no intervals."""
_MAX_WORK = 200_000_000
"""The work of all fits to some votes, about half a minute: the cells that evaluations of the likelihood look at."""
_EVALUATION_WORK = 4_000
"""The work of an evaluation besides its cells, in cells."""
_INFORMATION = 0.2
"""The approximate information of a vote on a parameter: the curvature of its log likelihood. Measured in standard
errors, all parameters are alike, and the fit takes few steps."""
CONFIDENCE = 0.95


class _TooMuchWork(Exception):
    """The fits have done `_MAX_WORK`."""


class Interval(NamedTuple):
    """A figure with its interval at `CONFIDENCE`; no interval where there is nothing to draw from."""

    value: float
    low: float | None
    high: float | None


class ModelStrength(NamedTuple):
    """A model's strength in log odds: at no side or order effect, a lead of 1 wins 73 % of the votes that are no
    ties."""

    model: str
    strength: float
    low: float | None
    high: float | None
    rank: int
    """1 + the models of its group whose whole interval is above this one's, so that ranks may be shared."""
    group: int
    """No vote that counts connects models of different groups, so that they can't be compared. From 1."""
    votes: int
    one_sided: bool
    """Whether it won every vote, or lost every vote: its strength is then held by the prior alone."""


class JudgeEffect(NamedTuple):
    """A judge's own biases."""

    judge: str
    votes: int
    bias: Interval
    """Log odds that it adds to pro, against the mean of the judges."""
    reliability: Interval
    """The degree to which its votes follow the strengths, as a factor against the mean of the judges."""


class Fit(NamedTuple):
    """All that the votes say."""

    strengths: tuple[ModelStrength, ...]
    side: Interval | None
    """Log odds that arguing pro adds; None if the votes can't tell it from the strengths."""
    second_speaker: Interval | None
    """Log odds that speaking second adds; None if the votes can't tell it from the rest."""
    ties: Interval
    """Log of v: 0 makes a tie as likely as either win between equals."""
    judges: tuple[JudgeEffect, ...]
    votes: int
    resamples: int
    resampled_unit: str
    """The unit that the bootstrap resamples: `topic`, or `debate` if there is one topic."""
    unit_count: int
    groups: int


class _Votes(NamedTuple):
    """The votes as numbers: equal ones share a cell, of which there are far fewer."""

    models: list[str]
    judges: list[str]
    pro: Ints  # of each cell, as are con, judge and second_speaker
    con: Ints
    judge: Ints
    second_speaker: Ints
    cell: Ints  # of each vote: its cell * 3 + outcome
    unit_of_vote: Ints  # of each vote: what the bootstrap resamples it with
    unit_count: int
    resampled_unit: str

    def counts(self, weights: Floats | None = None) -> Floats:
        """Cells by outcomes: how many votes, each with the weight of its unit."""
        import numpy as np

        of_votes = None if weights is None else weights[self.unit_of_vote]
        counted = np.bincount(self.cell, weights=of_votes, minlength=3 * len(self.pro))
        return counted.reshape(-1, 3).astype(np.float64)


def fit(debates: Sequence[DebateRow], votes: Sequence[BallotRow]) -> Fit | None:
    """The fit to the votes on these debates; None without a vote on a rated one. It needs the extra `tournament`.
    Raises BadFile if there are more than `MAX_MODELS` models or `MAX_JUDGES` judges: each resample fits them all; and
    if a single fit takes more than `_MAX_WORK`. Where all resamples would, fewer are taken."""
    try:
        import numpy as np
        import scipy.optimize  # type: ignore[import-untyped]  # noqa: F401
    except ImportError:
        problem = "Ratings need libraries that are not installed here."
        raise BadSettings(problem, hint="pip install 'debate-orchestrator[tournament]'") from None

    by_id = {debate.id: debate for debate in debates if debate.rated}
    rated_votes = [(by_id[vote.debate], vote) for vote in votes if vote.debate in by_id and vote.winner is not None]
    if not rated_votes:
        return None
    data = _as_numbers(rated_votes)
    model = _Model(data, *_identified(data))
    try:
        best = model.fit(data.counts(), 0.0)
    except _TooMuchWork:
        votes_cast, models = plural(len(rated_votes), "vote"), plural(len(data.models), "model")
        problem = f"Strengths from these {votes_cast} between {models} take too much work; import fewer."
        raise BadFile(problem) from None
    resamples = _bootstrap(data, model, best)
    bounds = np.full((2, model.size), np.nan)
    if len(resamples):
        percents = [50 * (1 - CONFIDENCE), 50 * (1 + CONFIDENCE)]
        usable = ~np.isnan(resamples).all(axis=0)  # no resample may hold a model
        bounds[:, usable] = np.nanpercentile(resamples[:, usable], percents, axis=0)
    figures = [_interval(*column) for column in np.stack([model.centered(best), *bounds], axis=1)]
    side, second_speaker, ties = figures[-3:]
    strengths, groups = _strengths(data, rated_votes, figures)
    votes_by_judge = Counter(vote.judge for _, vote in rated_votes)
    logs, biases = (figures[start : start + len(data.judges)] for start in model.judge_parts)
    reliabilities = [Interval(*(log if log is None else math.exp(log) for log in bounds)) for bounds in logs]  # type: ignore[arg-type]
    return Fit(
        strengths=strengths,
        side=side if model.use_side else None,
        second_speaker=second_speaker if model.use_second_speaker else None,
        ties=ties,
        judges=tuple(
            JudgeEffect(name, votes_by_judge[name], bias, reliability)
            for name, bias, reliability in zip(data.judges, biases, reliabilities, strict=True)
        ),
        votes=len(rated_votes),
        resamples=len(resamples),
        resampled_unit=data.resampled_unit,
        unit_count=data.unit_count,
        groups=groups,
    )


def _as_numbers(rated_votes: Sequence[tuple[DebateRow, BallotRow]]) -> _Votes:
    import numpy as np

    models = sorted({str(name) for debate, _ in rated_votes for name in (debate.pro, debate.con)})
    judges = sorted({vote.judge for _, vote in rated_votes})
    for count, maximum, noun in ((len(models), MAX_MODELS, "models"), (len(judges), MAX_JUDGES, "judges")):
        if count > maximum:
            raise BadFile(f"{count:,} {noun} are too many for strengths from votes; at most {maximum:,} are allowed.")
    by_topic = len({debate.topic_id for debate, _ in rated_votes}) > 1
    model_at, judge_at = ({name: n for n, name in enumerate(names)} for names in (models, judges))
    units: dict[str, int] = {}
    cells: dict[tuple[int, int, int, int], int] = {}
    cell, unit_of_vote = [], []
    for debate, vote in rated_votes:
        key = (
            model_at[str(debate.pro)],
            model_at[str(debate.con)],
            judge_at[vote.judge],
            _SECOND_SPEAKER[debate.first],
        )
        cell.append(cells.setdefault(key, len(cells)) * 3 + _OUTCOMES[str(vote.winner)])
        unit_of_vote.append(units.setdefault(debate.topic_id if by_topic else debate.id, len(units)))
    pro, con, judge, second_speaker = (np.array(column) for column in zip(*cells, strict=True))
    resampled_unit = "topic" if by_topic else "debate"
    columns = (pro, con, judge, second_speaker, np.array(cell), np.array(unit_of_vote))
    return _Votes(models, judges, *columns, len(units), resampled_unit)


def _identified(data: _Votes) -> tuple[bool, bool]:
    """Whether the votes tell the side effect, and that of speaking second, from the strengths and each other: the
    column of such an effect then adds to the rank of the design."""
    import numpy as np
    from scipy.sparse import coo_array  # type: ignore[import-untyped]

    size, cells = len(data.models), np.arange(len(data.pro))
    ones = np.ones(len(cells))
    values = np.concatenate([ones, -ones, ones, data.second_speaker])
    columns = np.concatenate([data.pro, data.con, np.full(len(cells), size), np.full(len(cells), size + 1)])
    design = coo_array((values, (np.tile(cells, 4), columns)), shape=(len(cells), size + 2)).tocsr()
    products = (design.T @ design).toarray()
    strengths, side, all_columns = (
        np.linalg.matrix_rank(products[:end, :end], hermitian=True) for end in (size, size + 1, size + 2)
    )
    both_orders = {-1, 1} <= set(data.second_speaker.tolist())
    return bool(side > strengths), bool(all_columns > side) and both_orders


class _Model:
    """The likelihood of the votes with the prior. Its parameters are the strengths, the reliabilities, the biases, the
    effects of side and order, and the log of v, in one vector."""

    def __init__(self, data: _Votes, use_side: bool, use_second_speaker: bool):
        import numpy as np

        self._data, self.use_side, self.use_second_speaker = data, use_side, use_second_speaker
        self._work = 0
        self._models, self._judges = len(data.models), len(data.judges)
        self.judge_parts = (self._models, self._models + self._judges)
        """The indices of the first reliability and the first bias."""
        self.size = self._models + 2 * self._judges + 3
        names = ["strength"] * self._models + ["reliability"] * self._judges + ["bias"] * self._judges
        self._precision = np.array([_PRIOR[name] for name in [*names, "effect", "effect", "ties"]]) ** -2.0
        votes = data.counts().sum(axis=1)
        of_models = np.bincount(data.pro, votes, self._models) + np.bincount(data.con, votes, self._models)
        of_judges = np.bincount(data.judge, votes, self._judges)
        informed = np.concatenate([of_models, of_judges, of_judges, np.full(3, votes.sum())])
        self._scale = (_INFORMATION * informed + self._precision) ** -0.5

    def centered(self, x: Floats) -> Floats:
        """The parameters, with their means taken from reliabilities and biases."""
        x = x.copy()
        for start in self.judge_parts:
            x[start : start + self._judges] -= x[start : start + self._judges].mean()
        return x

    def fit(self, counts: Floats, start: Floats | float, within: float = 1e-4) -> Floats:
        """The most likely parameters for these counts of cells and outcomes, to about `within` standard errors. Raises
        _TooMuchWork once all fits of this model have done `_MAX_WORK`."""
        from scipy.optimize import minimize

        def scaled_loss(scaled: Floats) -> tuple[float, Floats]:
            self._work += len(counts) + _EVALUATION_WORK
            if self._work > _MAX_WORK:
                raise _TooMuchWork
            loss, gradient = self._loss(self._scale * scaled, counts)
            return loss, self._scale * gradient

        # Not L-BFGS-B, which uses BLAS: for vectors this small, its threads wait longer than they compute.
        options = {"gtol": within, "maxiter": 2_000}
        result = minimize(scaled_loss, start / self._scale, jac=True, method="CG", options=options)
        best: Floats = self._scale * result.x
        return best

    def _loss(self, x: Floats, counts: Floats) -> tuple[float, Floats]:
        """The negative log of likelihood times prior, and its gradient."""
        import numpy as np

        data = self._data
        reliability, bias = np.split(self.centered(x)[self._models : -3], 2)
        factor, strength_gap = np.exp(reliability)[data.judge], x[data.pro] - x[data.con]
        effects = self.use_side * x[-3] + self.use_second_speaker * x[-2] * data.second_speaker
        odds = factor * strength_gap + bias[data.judge] + effects
        for_pro, for_con, tied = counts.T
        votes = for_pro + for_con + tied
        log_total = np.logaddexp(np.logaddexp(odds / 2, -odds / 2), x[-1])
        share = np.exp(np.stack([odds / 2, -odds / 2, np.full_like(odds, x[-1])]) - log_total)
        loss = (votes * log_total - (for_pro - for_con) * odds / 2 - tied * x[-1]).sum()
        slope = (for_pro - for_con - votes * (share[0] - share[1])) / 2

        def total_slope(index: Ints, weights: Floats, size: int) -> Any:
            return np.bincount(index, weights=weights, minlength=size)

        of_models = total_slope(data.pro, slope * factor, self._models)
        of_models -= total_slope(data.con, slope * factor, self._models)
        of_judges = [total_slope(data.judge, part, self._judges) for part in (slope * factor * strength_gap, slope)]
        of_effects = [self.use_side * slope.sum(), self.use_second_speaker * (slope * data.second_speaker).sum()]
        of_ties = (tied - votes * share[2]).sum()
        gradient = np.concatenate([of_models, *(part - part.mean() for part in of_judges), of_effects, [of_ties]])
        return loss + 0.5 * (self._precision * x * x).sum(), self._precision * x - gradient


def _bootstrap(data: _Votes, model: _Model, best: Floats) -> Floats:
    """Parameters by resample: NaN for models and judges without a vote in it; no row if there is one unit, or if
    fewer than `_MIN_RESAMPLES` can be taken."""
    import numpy as np

    random = np.random.default_rng(0)
    resamples = []
    for _ in range(_RESAMPLE_COUNT if data.unit_count > 1 else 0):
        weights = random.multinomial(data.unit_count, np.full(data.unit_count, 1 / data.unit_count)).astype(float)
        counts = data.counts(weights)
        voted = counts.sum(axis=1) > 0
        present = np.zeros(model.size, dtype=bool)
        present[-3:] = True
        for column in (data.pro, data.con, *(start + data.judge for start in model.judge_parts)):
            present[column[voted]] = True
        try:
            likely = model.fit(counts, best, within=0.01)
        except _TooMuchWork:
            break
        resamples.append(np.where(present, model.centered(likely), np.nan))
    return np.array(resamples) if len(resamples) >= _MIN_RESAMPLES else np.empty((0, model.size))


def _interval(value: float, low: float, high: float) -> Interval:
    """A figure with its bounds, which are NaN if there are none."""
    is_known = not math.isnan(low)
    return Interval(float(value), float(low) if is_known else None, float(high) if is_known else None)


def _strengths(
    data: _Votes, rated_votes: Sequence[tuple[DebateRow, BallotRow]], figures: Sequence[Interval]
) -> tuple[tuple[ModelStrength, ...], int]:
    """The models, the strongest of each group first and larger groups first; and how many groups there are."""
    import numpy as np
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components  # type: ignore[import-untyped]

    size = len(data.models)
    met = coo_array((np.ones(len(data.pro)), (data.pro, data.con)), shape=(size, size))
    count, groups = connected_components(met, directed=False)
    numbers = {int(group): n for n, group in enumerate(np.argsort(-np.bincount(groups), kind="stable"), start=1)}
    votes, wins, losses = Counter[str](), Counter[str](), Counter[str]()
    for debate, vote in rated_votes:
        votes.update({str(debate.pro), str(debate.con)})
        if vote.winner != "tie":
            winner, loser = (debate.pro, debate.con) if vote.winner == "pro" else (debate.con, debate.pro)
            wins[str(winner)] += 1
            losses[str(loser)] += 1
    strengths = []
    for n, name in enumerate(data.models):
        value, low, high = figures[n]
        others = [figures[int(other)] for other in np.flatnonzero(groups == groups[n])]
        stronger_count = sum(other.low is not None and high is not None and other.low > high for other in others)
        one_sided = votes[name] in (wins[name], losses[name])
        strengths.append(
            ModelStrength(name, value, low, high, 1 + stronger_count, numbers[int(groups[n])], votes[name], one_sided)
        )
    return tuple(sorted(strengths, key=lambda row: (row.group, -row.strength, row.model))), int(count)


INITIAL, K_FACTOR = 400.0, 32.0
MIN_GAMES = 5
"""Games, which are decided debates, that a model must have played to be shown on a leaderboard."""
_FEW_UNITS = 10
_SCORE = {"pro": 1.0, "con": 0.0, "tie": 0.5}


class EloRow(NamedTuple):
    """A model after its last game."""

    model: str
    rating: float
    games: int
    won: int
    lost: int
    tied: int


class Ratings(NamedTuple):
    """Both ratings, the best first, and sentences on what weakens them."""

    elo: tuple[EloRow, ...]
    fit: Fit | None
    """None if no judge's vote on a rated debate counts."""
    notes: tuple[str, ...]
    why_unranked: str = ""
    """Why no model is ranked; empty if any is."""


def elo(debates: Iterable[DebateRow]) -> tuple[EloRow, ...]:
    """Elo over the panels' winners, by (created, id), from `INITIAL`; what one side gains the other loses."""
    ratings: dict[str, float] = {}
    results: dict[str, list[int]] = {}  # won, lost, tied
    for debate in sorted(debates, key=lambda row: (row.created, row.id)):
        if not debate.rated:
            continue
        pro, con, winner = str(debate.pro), str(debate.con), str(debate.winner)
        before_pro, before_con = ratings.get(pro, INITIAL), ratings.get(con, INITIAL)
        expected = 1 / (1 + 10 ** ((before_con - before_pro) / 400))
        change = K_FACTOR * (_SCORE[winner] - expected)
        ratings[pro], ratings[con] = before_pro + change, before_con - change
        for model, side, other in ((pro, "pro", "con"), (con, "con", "pro")):
            results.setdefault(model, [0, 0, 0])[(side, other, "tie").index(winner)] += 1
    rows = [EloRow(model, rating, sum(results[model]), *results[model]) for model, rating in ratings.items()]
    return tuple(sorted(rows, key=lambda row: (-row.rating, row.model)))


def rate(rows: Rows) -> Ratings:
    """Both ratings; none if no debate can be rated. Raises BadSettings if the extra `tournament` is missing."""
    rated = elo(rows.debates)
    if not rated:
        is_rehearsal = rows.debates and all(debate.rehearsed for debate in rows.debates)
        why = "stand-ins spoke in every debate" if is_rehearsal else "no debate between two models is decided"
        return Ratings((), None, tuple(rows.all_notes()), f"No model is ranked: {why}.")
    votes = [vote for debate in rows.debates for vote in rows.votes_by_debate[debate.id]]
    fitted = fit(rows.debates, votes)
    return Ratings(rated, fitted, (*rows.all_notes(), *_fit_notes(fitted)))


def _fit_notes(fit: Fit | None) -> Iterator[str]:
    if fit is None:
        yield "No judge's vote on these debates counts, so there are no Bradley-Terry strengths."
        return
    if fit.groups > 1:
        yield (
            f"The models fall into {fit.groups} groups that no vote which counts connects. Strengths and ranks "
            "compare models within a group only; so do Elo ratings."
        )
    if fit.side is None:
        needed = "such votes on two models in both seatings, or on models in a ring (a and b, b and c, c and a)"
        yield f"The votes that count can't tell a side effect from the strengths: it takes {needed}."
    if fit.second_speaker is None:
        yield (
            "The effect of speaking second can't be told apart: it takes votes that count on debates in which pro "
            "speaks first and on others in which con does."
        )
    if extreme := [row.model for row in fit.strengths if row.one_sided]:
        models = ", ".join(map(quoted, extreme))
        yield f"Won every vote or lost every vote, so that the prior alone holds their strength: {models}."
    if fit.unit_count < 2:
        yield "The votes that count are on one debate, and so there are no intervals."
    elif fit.resampled_unit == "debate":
        topics = "one topic, or on none that is known"
        yield f"The votes that count are on {topics}: intervals draw debates, and say nothing about other topics."
    elif fit.unit_count < _FEW_UNITS:
        yield f"The votes that count are on {fit.unit_count} topics: intervals drawn from so few are too narrow."
    if fit.unit_count > 1 and fit.resamples < _RESAMPLE_COUNT:
        rough = f"intervals are from {fit.resamples} resamples instead of {_RESAMPLE_COUNT}: their ends are rough"
        yield f"The fit to these votes takes so much work that {rough if fit.resamples else 'there are no intervals'}."


_STRENGTH = ("model", "strength", "low", "high", "rank")
"""A model's strength in `rate --json`."""


def summary_json(ratings: Ratings) -> dict[str, Any]:
    """The ratings as `debate tournament rate --json` prints them."""
    fit = ratings.fit
    return {
        "elo": [row._asdict() for row in ratings.elo],
        "bradley_terry": [_strength(row, _STRENGTH) for row in (fit.strengths if fit else ())],
        "side_effect": fit.side.value if fit and fit.side else None,
        "second_speaker_effect": fit.second_speaker.value if fit and fit.second_speaker else None,
    }


def full_json(ratings: Ratings) -> dict[str, Any]:
    """The same with groups, votes, intervals of all effects, judges and notes, as `ratings.json` has it."""
    fit, data = ratings.fit, {"schema": 1, **summary_json(ratings)}
    if fit is not None:
        effects = {"side_effect": fit.side, "second_speaker_effect": fit.second_speaker, "ties": fit.ties}
        data |= {
            "bradley_terry": [_strength(row, (*_STRENGTH, "group", "votes")) for row in fit.strengths],
            "effects": {name: effect and effect._asdict() for name, effect in effects.items()},
            "judges": [
                {**judge._asdict(), "bias": judge.bias._asdict(), "reliability": judge.reliability._asdict()}
                for judge in fit.judges
            ],
            "intervals": {"confidence": CONFIDENCE, "resamples": fit.resamples, "resampled_unit": fit.resampled_unit},
        }
    return {**data, "notes": list(ratings.notes)}


def _strength(row: ModelStrength, fields: tuple[str, ...]) -> dict[str, Any]:
    return {name: getattr(row, name) for name in fields}
