"""Strengths from votes: a Bradley-Terry model with ties, fitted by maximum likelihood with a weak prior.

The model is Davidson's (1970). With strengths t in log odds, a judge j votes in a debate of pro p and con c:

    x = exp(r_j) * (t_p - t_c) + side + second * s + b_j        s: 1 if pro speaks second, -1 if con does, else 0
    P(pro) : P(con) : P(tie) = exp(x / 2) : exp(-x / 2) : v

r_j is the judge's reliability, b_j its bias towards pro, v how common ties are. Reliabilities and biases have mean 0:
they tell judges apart, and leave the common part to strengths and side effect.

The prior is normal with mean 0 and the standard deviations in `_PRIOR`. It matters where data says little: it keeps the
strength of a model that won everything finite, and centers each group of models that no debate connects to the rest.

Intervals come from a bootstrap over topics: debates of a topic share what makes it easy for a side, so whole topics are
drawn, with replacement, from a fixed seed.
"""

from __future__ import annotations

import math
import os
from collections import defaultdict
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from debate_orchestrator.tournament.rows import BallotRow, DebateRow
from debate_orchestrator.util.errors import BadFile, BadSettings

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Ints = NDArray[np.int64]

_PRIOR = {"strength": 2.0, "reliability": 0.5, "bias": 1.0, "effect": 2.0, "ties": 3.0}
"""Standard deviations, in log odds; of reliability, in logs."""
MAX_MODELS, MAX_JUDGES = 500, 500
_OUTCOMES = {"pro": 0, "con": 1, "tie": 2}
_DRAWS = 200
"""Draws of the bootstrap."""
_MAX_STEPS, _STEPS_OF_A_DRAW = 2_000, 300
"""Steps of the fit, and of a draw, which begins where the fit has ended."""
CONFIDENCE = 0.95
_BLAS_THREADS = "OPENBLAS_NUM_THREADS"
_INFORMATION = 0.2
"""What a vote tells of a parameter, about: the curvature of its log likelihood. Measured in standard errors, all
parameters are alike, and the fit takes few steps."""


class Interval(NamedTuple):
    """A figure with its interval at `CONFIDENCE`; no interval where there is nothing to draw from."""

    value: float
    low: float | None
    high: float | None


class Strength(NamedTuple):
    """A model's strength in log odds: a lead of 1 wins 73 % of decided votes, at no side or order effect."""

    model: str
    strength: float
    low: float | None
    high: float | None
    rank: int
    """1 + the models of its group whose whole interval is above this one's, so that ranks may be shared."""
    group: int
    """Models of different groups never met, directly or through others, and can't be compared. From 1."""
    votes: int
    one_sided: bool
    """Whether it won every vote, or lost every vote: its strength is then held by the prior alone."""


class Judge(NamedTuple):
    """What a judge adds of its own."""

    judge: str
    votes: int
    bias: Interval
    """Log odds that it adds to pro, against the mean of the judges."""
    reliability: Interval
    """How strongly its votes follow the strengths, as a factor against the mean of the judges."""


class Fit(NamedTuple):
    """All that the votes say."""

    strengths: tuple[Strength, ...]
    side: Interval | None
    """Log odds that arguing pro adds; None where the schedule can't tell it from the strengths."""
    second: Interval | None
    """Log odds that speaking second adds; None where the schedule can't tell it from the rest."""
    ties: Interval
    """Log of v: 0 makes a tie as likely as either win between equals."""
    judges: tuple[Judge, ...]
    votes: int
    draws: int
    drawn_by: str
    """What the bootstrap draws: `topic`, or `debate` where there is one topic."""
    clusters: int
    groups: int


class _Votes(NamedTuple):
    """The votes as numbers: equal ones share a cell, of which there are far fewer."""

    models: list[str]
    judges: list[str]
    pro: Ints  # of each cell, as are con, judge and second
    con: Ints
    judge: Ints
    second: Floats
    cell: Ints  # of each vote: its cell * 3 + outcome
    cluster: Ints  # of each vote
    clusters: int
    drawn_by: str

    def counts(self, weights: Floats | None = None) -> Floats:
        """Cells by outcomes: how many votes, each with the weight of its cluster."""
        import numpy as np

        of_votes = None if weights is None else weights[self.cluster]
        counted = np.bincount(self.cell, weights=of_votes, minlength=3 * len(self.pro))
        return counted.reshape(-1, 3).astype(np.float64)


def fit(debates: Sequence[DebateRow], votes: Sequence[BallotRow], seed: int = 0) -> Fit | None:
    """The fit to the votes on these debates; None without a vote between known models. Needs the extra `tournament`.

    BadFile if there are more than `MAX_MODELS` models or `MAX_JUDGES` judges: each draw fits them all.
    """
    _need_libraries()
    import numpy as np

    data = _as_numbers(debates, votes)
    if data is None:
        return None
    groups = _groups(data)
    use_side, use_second = _identified(data)
    layout = _Layout(len(data.models), len(data.judges), use_side, use_second)
    counts = data.counts()
    best = layout.fit(data, counts, np.zeros(layout.size))
    draws = _bootstrap(data, layout, best, seed)
    return _summary(data, layout, counts, groups, best, draws)


def _need_libraries() -> None:
    """Raises BadSettings where the extra is not installed."""
    # BLAS takes the number of its threads from the environment when it is loaded. For vectors this small they wait for
    # each other far longer than they compute, and spin while they wait.
    before = os.environ.get(_BLAS_THREADS)
    os.environ.setdefault(_BLAS_THREADS, "1")
    try:
        import numpy  # noqa: F401
        import scipy.optimize  # type: ignore[import-untyped]  # noqa: F401
    except ImportError:
        problem = "Ratings need libraries that are not installed here."
        raise BadSettings(problem, hint="pip install 'debate-orchestrator[tournament]'") from None
    finally:
        if before is None:
            del os.environ[_BLAS_THREADS]


def _as_numbers(debates: Sequence[DebateRow], votes: Sequence[BallotRow]) -> _Votes | None:
    import numpy as np

    of = {debate.id: debate for debate in debates if debate.votes_are_usable}
    used = [(of[vote.debate], vote) for vote in votes if vote.debate in of and vote.winner is not None]
    models = sorted({str(name) for debate, _ in used for name in (debate.pro, debate.con)})
    if len(models) < 2:
        return None
    judges = sorted({vote.judge for _, vote in used})
    for count, maximum, what in ((len(models), MAX_MODELS, "models"), (len(judges), MAX_JUDGES, "judges")):
        if count > maximum:
            raise BadFile(f"{count:,} {what} are too many for strengths from votes; at most {maximum:,} are allowed.")
    topics = {topic: n for n, topic in enumerate(dict.fromkeys(debate.topic for debate, _ in used))}
    drawn_by = "topic" if len(topics) > 1 else "debate"
    if drawn_by == "debate":
        topics = {name: n for n, name in enumerate(dict.fromkeys(debate.id for debate, _ in used))}
    model_at, judge_at = ({name: n for n, name in enumerate(names)} for names in (models, judges))
    cells: dict[tuple[int, int, int, int], int] = {}
    cell, cluster = [], []
    for debate, vote in used:
        second = {"con": 1, "pro": -1, None: 0}[debate.first]
        key = (model_at[str(debate.pro)], model_at[str(debate.con)], judge_at[vote.judge], second)
        cell.append(cells.setdefault(key, len(cells)) * 3 + _OUTCOMES[str(vote.winner)])
        cluster.append(topics[debate.topic if drawn_by == "topic" else debate.id])
    pro, con, judge, seconds = (np.array(column) for column in zip(*cells, strict=True))
    return _Votes(
        models, judges, pro, con, judge, seconds.astype(float), np.array(cell), np.array(cluster), len(topics), drawn_by
    )


def _groups(data: _Votes) -> Ints:
    """Model to the number of its group, from 0: the models that debates connect."""
    import numpy as np
    from scipy.sparse import coo_array  # type: ignore[import-untyped]
    from scipy.sparse.csgraph import connected_components  # type: ignore[import-untyped]

    size = len(data.models)
    graph = coo_array((np.ones(len(data.pro)), (data.pro, data.con)), shape=(size, size))
    labels: Ints = connected_components(graph, directed=False)[1]
    return labels


def _identified(data: _Votes) -> tuple[bool, bool]:
    """Whether the schedule tells the side effect, and that of speaking second, from the strengths and each other.

    Around a cycle of debates the strengths cancel out, and only the two effects remain, which tells whether they can be
    estimated. They are counted in whole numbers, in one walk through the debates.
    """
    remainders = _around_cycles(data)
    either_way = {-1.0, 1.0} <= set(data.second.tolist())
    if (known := next((pair for pair in remainders if pair[0]), None)) is None:
        return False, either_way and any(second for _, second in remainders)
    return True, either_way and any(known[0] * second != known[1] * side for side, second in remainders)


def _around_cycles(data: _Votes) -> set[tuple[int, int]]:
    """How often each effect counts, side and second, around the cycles of debates that a walk meets."""
    debates: defaultdict[int, set[tuple[int, int, int]]] = defaultdict(set)
    for pro, con, second in zip(data.pro.tolist(), data.con.tolist(), data.second.astype(int).tolist(), strict=True):
        debates[pro].add((con, 1, second))
        debates[con].add((pro, -1, -second))
    effects: dict[int, tuple[int, int]] = {}
    remainders = set()
    for begin in list(debates):
        effects.setdefault(begin, (0, 0))
        waiting = [begin]
        while waiting:
            model = waiting.pop()
            for other, side, second in debates.pop(model, ()):
                there = effects[model][0] + side, effects[model][1] + second
                if other not in effects:
                    effects[other] = there
                    waiting.append(other)
                remainders.add((there[0] - effects[other][0], there[1] - effects[other][1]))
    return remainders


class _Layout(NamedTuple):
    """Where each parameter stands in the vector that is optimised."""

    models: int
    judges: int
    use_side: bool
    use_second: bool

    @property
    def size(self) -> int:
        return self.models + 2 * self.judges + 3

    def centered(self, x: Floats) -> tuple[Floats, Floats]:
        """Reliabilities and biases, less their means."""
        reliability = x[self.models : self.models + self.judges]
        bias = x[self.models + self.judges : -3]
        return reliability - reliability.mean(), bias - bias.mean()

    def _deviations(self) -> Floats:
        import numpy as np

        names = ["strength"] * self.models + ["reliability"] * self.judges + ["bias"] * self.judges
        return np.array([_PRIOR[name] for name in [*names, "effect", "effect", "ties"]])

    def fit(
        self, data: _Votes, counts: Floats, start: Floats, within: float = 1e-4, maximum: int = _MAX_STEPS
    ) -> Floats:
        """The most likely parameters, `within` so many standard errors unless that takes more than `maximum` steps."""
        from scipy.optimize import minimize

        precision = self._deviations() ** -2.0
        scale = (_INFORMATION * self._votes(data, counts) + precision) ** -0.5

        def loss(scaled: Floats) -> tuple[float, Floats]:
            value, gradient = self._loss(scale * scaled, data, counts, precision)
            return value, scale * gradient

        found = minimize(loss, start / scale, jac=True, method="CG", options={"gtol": within, "maxiter": maximum})
        best: Floats = scale * found.x
        return best

    def _votes(self, data: _Votes, counts: Floats) -> Floats:
        """How many votes bear on each parameter."""
        import numpy as np

        of_cell = counts.sum(axis=1)
        models = np.bincount(data.pro, weights=of_cell, minlength=self.models)
        models += np.bincount(data.con, weights=of_cell, minlength=self.models)
        judges = np.bincount(data.judge, weights=of_cell, minlength=self.judges)
        return np.concatenate([models, judges, judges, np.full(3, of_cell.sum())])

    def _loss(self, x: Floats, data: _Votes, counts: Floats, precision: Floats) -> tuple[float, Floats]:
        """The negative log of likelihood times prior, and its gradient."""
        import numpy as np

        reliability, bias = self.centered(x)
        lead = x[data.pro] - x[data.con]
        factor = np.exp(reliability)[data.judge]
        odds = factor * lead + self.use_side * x[-3] + self.use_second * x[-2] * data.second + bias[data.judge]
        for_pro, for_con, tied = counts.T
        votes = for_pro + for_con + tied
        top = np.maximum(np.abs(odds) / 2, x[-1])
        pro, con, tie = np.exp(odds / 2 - top), np.exp(-odds / 2 - top), np.exp(x[-1] - top)
        total = pro + con + tie
        chosen = (for_pro - for_con) * odds / 2 + tied * x[-1]
        loss = float((votes * (top + np.log(total)) - chosen).sum()) + 0.5 * float((precision * x * x).sum())
        slope = (for_pro - for_con - votes * (pro - con) / total) / 2
        by_judge = [np.bincount(data.judge, weights=w, minlength=self.judges) for w in (slope * factor * lead, slope)]
        gradient = np.concatenate(
            [
                np.bincount(data.pro, weights=slope * factor, minlength=self.models)
                - np.bincount(data.con, weights=slope * factor, minlength=self.models),
                *(part - part.mean() for part in by_judge),
                [
                    self.use_side * slope.sum(),
                    self.use_second * (slope * data.second).sum(),
                    (tied - votes * tie / total).sum(),
                ],
            ]
        )
        return loss, precision * x - gradient


def _bootstrap(data: _Votes, layout: _Layout, best: Floats, seed: int) -> Floats:
    """Parameters by draw: NaN for models and judges without a vote in it; no row where there is one cluster."""
    import numpy as np

    if data.clusters < 2:
        return np.empty((0, layout.size))
    random = np.random.default_rng(seed)
    found = []
    for _ in range(_DRAWS):
        weights = random.multinomial(data.clusters, np.full(data.clusters, 1 / data.clusters)).astype(float)
        counts = data.counts(weights)
        x = layout.fit(data, counts, best, within=0.01, maximum=_STEPS_OF_A_DRAW)
        x[layout.models : -3] = np.concatenate(layout.centered(x))
        seen = counts.sum(axis=1) > 0
        absent = np.ones(layout.size, dtype=bool)
        absent[-3:] = False
        absent[data.pro[seen]] = absent[data.con[seen]] = False
        absent[layout.models + data.judge[seen]] = absent[layout.models + layout.judges + data.judge[seen]] = False
        found.append(np.where(absent, np.nan, x))
    return np.array(found)


def _summary(data: _Votes, layout: _Layout, counts: Floats, groups: Ints, best: Floats, draws: Floats) -> Fit:
    import numpy as np

    best = best.copy()
    best[layout.models : -3] = np.concatenate(layout.centered(best))
    low, high = _bounds(draws) if len(draws) else (np.full(layout.size, np.nan),) * 2
    figures = np.stack([best, low, high], axis=1)

    votes = np.bincount(data.judge, weights=counts.sum(axis=1), minlength=layout.judges)
    reliabilities, biases = np.split(figures[layout.models : -3], 2)
    side, second, ties = map(_interval, figures[-3:])
    return Fit(
        strengths=_strengths(data, counts, groups, figures[: layout.models]),
        side=side if layout.use_side else None,
        second=second if layout.use_second else None,
        ties=ties,
        judges=tuple(
            Judge(name, int(votes[n]), _interval(biases[n]), _interval(np.exp(reliabilities[n])))
            for n, name in enumerate(data.judges)
        ),
        votes=int(counts.sum()),
        draws=len(draws),
        drawn_by=data.drawn_by,
        clusters=data.clusters,
        groups=int(groups.max()) + 1,
    )


def _interval(figures: Floats) -> Interval:
    """A figure with its bounds, which are NaN where there are none."""
    value, *bounds = (None if math.isnan(figure) else float(figure) for figure in figures)
    return Interval(value or 0.0, *bounds)


def _bounds(draws: Floats) -> Any:
    """The ends of the percentile interval of each parameter."""
    import warnings

    import numpy as np

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # a model that no draw holds
        return np.nanpercentile(draws, [50 * (1 - CONFIDENCE), 50 * (1 + CONFIDENCE)], axis=0)


def _strengths(data: _Votes, counts: Floats, groups: Ints, figures: Floats) -> tuple[Strength, ...]:
    """The models, the strongest of each group first; larger groups first. `figures` has value, low and high."""
    import numpy as np

    size = len(data.models)
    other = data.pro != data.con
    debaters = np.concatenate([data.pro[other], data.con[other]])
    for_pro, for_con, tied = counts[other].T
    won = np.bincount(debaters, weights=np.concatenate([for_pro, for_con]), minlength=size)
    lost = np.bincount(debaters, weights=np.concatenate([for_con, for_pro]), minlength=size)
    votes = won + lost + np.bincount(debaters, weights=np.concatenate([tied, tied]), minlength=size)
    votes += np.bincount(data.pro[~other], weights=counts[~other].sum(axis=1), minlength=size)
    _, low, high = figures.T
    ranks = 1 + ((groups == groups[:, None]) & (low > high[:, None])).sum(axis=1)
    numbers = np.empty(groups.max() + 1, dtype=int)
    numbers[np.argsort(-np.bincount(groups), kind="stable")] = np.arange(1, len(numbers) + 1)
    found = [
        Strength(
            model=name,
            strength=interval.value,
            low=interval.low,
            high=interval.high,
            rank=int(ranks[n]),
            group=int(numbers[groups[n]]),
            votes=int(votes[n]),
            one_sided=bool(votes[n]) and bool(votes[n] in (won[n], lost[n])),
        )
        for n, (name, interval) in enumerate(zip(data.models, map(_interval, figures), strict=True))
    ]
    return tuple(sorted(found, key=lambda one: (one.group, -one.strength, one.model)))
