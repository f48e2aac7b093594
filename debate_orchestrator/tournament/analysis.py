"""Tables on the debates: results by model, side, topic and opponent, scores, order, length, cost and refusals."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator

from debate_orchestrator.tournament.judging import judge_tables
from debate_orchestrator.tournament.ratings import Ratings
from debate_orchestrator.tournament.rows import SIDES, WINNERS, BallotRow, DebateRow, Rows, Side
from debate_orchestrator.tournament.tables import Cell, Table, mean, pearson, rate
from debate_orchestrator.util.numbers import wilson_interval

_RESULTS = ("wins", "losses", "ties")


def all_tables(rows: Rows, ratings: Ratings) -> list[Table]:
    """Every table of a tournament, those without any row included."""
    return [
        *rating_tables(ratings),
        winner_counts(rows),
        model_winrate_by_side(rows),
        head_to_head(rows),
        topic_winrate(rows),
        category_winrate(rows),
        dimension_means(rows),
        score_gaps(rows),
        second_speaker(rows),
        verbosity(rows),
        timing_tokens(rows),
        cost_per_win(rows),
        refusals(rows),
        debates(rows),
        *judge_tables(rows),
    ]


def rating_tables(ratings: Ratings) -> Iterator[Table]:
    """Elo, strengths, and what the fit says of judges."""
    yield Table(
        "elo",
        "Elo",
        "A replay of the results in the order of time, from 400 with K 32. It has no interval, depends on the order, "
        "and says nothing about how sure it is.",
        ("model", "rating", "games", "won", "lost", "tied"),
        tuple(tuple(row) for row in ratings.elo),
    )
    fit = ratings.fit
    yield Table(
        "bradley_terry",
        "Bradley-Terry strengths",
        "Strengths from every judge's vote, in log odds, without what side, order and judge add; 95 % intervals over "
        "topics. Models that the intervals do not separate share a rank.",
        ("rank", "model", "strength", "low", "high", "votes", "group"),
        tuple((one.rank, one.model, *one.strength, one.votes, one.group) for one in (fit.strengths if fit else ())),
    )
    yield Table(
        "judge_effects",
        "What each judge adds",
        "Bias: log odds that a judge adds to pro, against the mean of the judges. Reliability: how strongly its votes "
        "follow the strengths, as a factor; a judge who tosses a coin is near 0.",
        ("judge", "votes", "bias", "bias_low", "bias_high", "reliability", "reliability_low", "reliability_high"),
        tuple((one.judge, one.votes, *one.bias, *one.reliability) for one in (fit.judges if fit else ())),
    )


def winner_counts(rows: Rows) -> Table:
    """How often each side won."""
    counts = Counter(str(debate.winner) for debate in _complete(rows))
    found: list[tuple[Cell, ...]] = [(winner, counts[winner]) for winner in WINNERS]
    if counts["None"]:
        found.append(("no decision", counts["None"]))
    about = (
        "Finished debates by their panel's winner. A side may win more because of the topics, the order or the judges."
    )
    return Table("winner_counts", "Winners", about, ("winner", "count"), tuple(found))


def model_winrate_by_side(rows: Rows) -> Table:
    """Each model's results as pro and as con."""
    counts: dict[str, Counter[tuple[Side, str]]] = defaultdict(Counter)
    for debate in _decided(rows):
        for side, model in zip(SIDES, (debate.pro, debate.con), strict=True):
            if model is not None:
                counts[model][side, _result(debate, side)] += 1
    found = []
    for model, count in sorted(counts.items()):
        sides = [[count[side, result] for result in _RESULTS] for side in SIDES]
        rates = [rate(results[0], sum(results)) for results in sides]
        found.append((model, *sides[0], *sides[1], *rates))
    return Table(
        "model_winrate_by_side",
        "Win rate by side",
        "Whether a model wins as often for a motion as against it. With few debates on a side, a difference may be "
        "chance.",
        (
            "model",
            *(f"{side}_{result}" for side in SIDES for result in _RESULTS),
            *(f"{side}_win_rate" for side in SIDES),
        ),
        tuple(found),
    )


def head_to_head(rows: Rows) -> Table:
    """Each pair of models, whichever argued for the motion."""
    counts: dict[tuple[str, str], Counter[str]] = defaultdict(Counter)
    for debate in rows.debates:
        if debate.rated:
            first, second = sorted((str(debate.pro), str(debate.con)))
            winner = debate.pro if debate.winner == "pro" else debate.con if debate.winner == "con" else None
            counts[first, second]["tie" if winner is None else winner] += 1
            counts[first, second]["total "] += 1
    found = [
        (first, second, count[first], count[second], count["total "] - count[first] - count[second], count["total "])
        for (first, second), count in sorted(counts.items())
    ]
    return Table(
        "head_to_head",
        "Pair by pair",
        "How often each model of a pair won. A model that beats most may still lose to one.",
        ("model_a", "model_b", "a_wins", "b_wins", "ties", "total"),
        tuple(found),
    )


def topic_winrate(rows: Rows) -> Table:
    """Results by topic."""
    counts: dict[str, Counter[str]] = defaultdict(Counter)
    categories: dict[str, str] = {}
    for debate in _decided(rows):
        counts[debate.topic][str(debate.winner)] += 1
        categories[debate.topic] = categories.get(debate.topic) or debate.category
    found = [(topic, *_sides(count), categories[topic]) for topic, count in sorted(counts.items())]
    return Table(
        "topic_winrate",
        "Win rate by topic",
        "Where one side wins nearly always for every model, the topic decides and not the debate; with both sides "
        "argued by every model it adds little to the strengths.",
        ("topic_id", "pro_wins", "con_wins", "ties", "total", "pro_rate", "category"),
        tuple(found),
    )


def category_winrate(rows: Rows) -> Table:
    """Results by category and model."""
    counts: dict[tuple[str, str], Counter[str]] = defaultdict(Counter)
    for debate in _decided(rows):
        for side, model in zip(SIDES, (debate.pro, debate.con), strict=True):
            if model is not None and debate.category:
                counts[debate.category, model][_result(debate, side)] += 1
    found: list[tuple[Cell, ...]] = [
        (*key, *(count[result] for result in _RESULTS), count.total(), count["wins"] / count.total())
        for key, count in sorted(counts.items())
    ]
    return Table(
        "category_winrate",
        "Win rate by category and model",
        "Where a model does better or worse. Categories with few debates say little.",
        ("category", "model", *_RESULTS, "total", "win_rate"),
        tuple(found),
    )


def _sides(count: Counter[str]) -> tuple[Cell, ...]:
    return (*(count[winner] for winner in WINNERS), count.total(), rate(count["pro"], count.total()))


def _panel_means(rows: Rows) -> Iterator[tuple[DebateRow, str, float, float]]:
    """Debate, dimension, and the means of its judges' points for pro and for con."""
    ballots: dict[str, list[BallotRow]] = defaultdict(list)
    for ballot in rows.ballots:
        if ballot.votes and ballot.scores:
            ballots[ballot.debate].append(ballot)
    for debate in rows.debates:
        dimensions = dict.fromkeys(name for ballot in ballots[debate.id] for name in ballot.scores)
        for name in dimensions:
            pairs = [ballot.scores[name] for ballot in ballots[debate.id] if name in ballot.scores]
            pro, con = (sum(column) / len(pairs) for column in zip(*pairs, strict=True))
            yield debate, name, pro, con


def dimension_means(rows: Rows) -> Table:
    """Each model's mean by dimension, over the means of its panels."""
    points: dict[tuple[str, str, Side], list[float]] = defaultdict(list)
    for debate, name, pro, con in _panel_means(rows):
        for side, model, value in ((SIDES[0], debate.pro, pro), (SIDES[1], debate.con, con)):
            if model is not None:
                points[model, name, side].append(value)
    found = []
    for model, name in sorted({(model, name) for model, name, _ in points}):
        pro_points, con_points = points[model, name, "pro"], points[model, name, "con"]
        both = [*pro_points, *con_points]
        found.append((model, name, mean(both), len(both), mean(pro_points), mean(con_points)))
    return Table(
        "dimension_means",
        "Points by dimension",
        "The mean over debates of the mean of the judges. Points are a judge's impression; factuality is perceived "
        "factuality. Judges' scales differ, so compare models that met the same judges.",
        ("model", "dimension", "mean_score", "samples", "pro_mean", "con_mean"),
        tuple(found),
    )


def score_gaps(rows: Rows) -> Table:
    """Pro's lead in each debate, by dimension."""
    found = tuple((debate.id, name, pro, con, pro - con) for debate, name, pro, con in _panel_means(rows))
    about = "The panel's mean points for pro and con in each debate, and pro's lead."
    return Table("score_gaps", "Leads by debate", about, ("debate", "dimension", "mean_pro", "mean_con", "gap"), found)


def second_speaker(rows: Rows) -> Table:
    """How often the second speaker wins, and what speaking second gains in matched debates."""
    won: Counter[str] = Counter()
    for debate in _decided(rows):
        if debate.first is not None:
            won["tie" if debate.winner == "tie" else "first" if debate.winner == debate.first else "second"] += 1
    gains = _gains(rows)
    low, high = wilson_interval(won["second"], won["first"] + won["second"])
    row = (
        won.total(),
        won["first"],
        won["second"],
        won["tie"],
        rate(won["second"], won["first"] + won["second"]),
        low,
        high,
        len(gains),
        mean(gains),
    )
    return Table(
        "second_speaker",
        "Speaking second",
        "The rate is of decided debates, with Wilson's interval at 95 %. Gain: pairs of the same topic, models and "
        "sides, held in both orders: what a side's score was when it spoke second less what it was when it spoke "
        "first.",
        ("debates", "first_wins", "second_wins", "ties", "second_rate", "low", "high", "matched_pairs", "mean_gain"),
        (row,) if won else (),
    )


def _gains(rows: Rows) -> list[float]:
    """For each pair of matched debates: the mean points that a side gained by speaking second."""
    orders: dict[tuple[object, ...], dict[Side, list[float]]] = defaultdict(lambda: {"pro": [], "con": []})
    for vote in (ballot for ballot in rows.ballots if ballot.votes):
        debate = rows.by_id[vote.debate]
        value = _for_pro(vote)
        if debate.first is not None and value is not None:
            orders[debate.topic, debate.pro, debate.con][debate.first].append(value)
    found = []
    for given in orders.values():
        con_first, pro_first = mean(given["con"]), mean(given["pro"])
        if con_first is not None and pro_first is not None:
            found.append(con_first - pro_first)
    return found


def _for_pro(vote: BallotRow) -> float | None:
    """What a vote gives pro: the score of the motion, or half the lead, which is what each side gains of it."""
    if vote.score is not None:
        return vote.score
    return None if vote.lead is None else vote.lead / 2


def verbosity(rows: Rows) -> Table:
    """Whether the longer side wins."""
    leads: dict[str, list[float]] = defaultdict(list)
    for vote in (ballot for ballot in rows.ballots if ballot.votes):
        if vote.lead is not None:
            leads[vote.debate].append(vote.lead)
    found = []
    for measure in ("words", "output"):
        pairs: list[tuple[float, float]] = []
        wins: Counter[bool] = Counter()
        for debate in _decided(rows):
            pro, con = (getattr(debate.work.get(side), measure, None) for side in SIDES)
            if pro is None or con is None:
                continue
            if leads[debate.id]:
                pairs.append((pro - con, mean(leads[debate.id]) or 0.0))
            if debate.winner != "tie" and pro != con:
                wins[(pro > con) == (debate.winner == "pro")] += 1
        if pairs or wins:
            name = "words" if measure == "words" else "output_tokens"
            share = rate(wins[True], wins.total())
            found.append((name, wins.total(), wins[True], share, len(pairs), pearson(pairs)))
    return Table(
        "verbosity",
        "Length and success",
        "How often the longer side won, and Pearson's correlation of the lead in length with the lead in points. It "
        "does not say why: better models may write more.",
        ("measure", "debates", "longer_wins", "longer_win_rate", "scored_debates", "pearson"),
        tuple(found),
    )


def _worked(rows: Rows) -> Iterable[tuple[str, str, DebateRow]]:
    """Role, who filled it, and the debate; the panel is one."""
    for debate in rows.debates:
        for role, name in (("pro", debate.pro), ("con", debate.con), ("judge", "all judges")):
            if name is not None and role in debate.work:
                yield role, name, debate


def timing_tokens(rows: Rows) -> Table:
    """Means by debate of time, tokens and words."""
    measures = ("seconds", "input", "output", "words")
    found: dict[tuple[str, str], dict[str, list[float]]] = defaultdict(lambda: {name: [] for name in measures})
    debates: Counter[tuple[str, str]] = Counter()
    for role, name, debate in _worked(rows):
        debates[name, role] += 1
        for measure in measures:
            value = getattr(debate.work[role], measure)  # type: ignore[index]
            if value is not None:
                found[name, role][measure].append(value)
    return Table(
        "timing_tokens",
        "Time and tokens",
        "Means by debate. Seconds are from request to answer and depend on the provider's load that day.",
        ("model", "role", "debates", "mean_seconds", "mean_input_tokens", "mean_output_tokens", "mean_words"),
        tuple(
            (*key, count, *(mean(found[key][measure]) for measure in measures))
            for key, count in sorted(debates.items())
        ),
    )


def cost_per_win(rows: Rows) -> Table:
    """What each model cost as a debater, in all and for each win."""
    costs: dict[str, list[float]] = defaultdict(list)
    seconds: dict[str, float] = defaultdict(float)
    unknown: Counter[str] = Counter()
    wins: Counter[str] = Counter()
    for role, name, debate in _worked(rows):
        if role == "judge":
            continue
        work = debate.work[role]  # type: ignore[index]
        seconds[name] += work.seconds or 0.0
        wins[name] += debate.complete and debate.winner == role
        if work.cost is None:
            unknown[name] += 1
        else:
            costs[name].append(work.cost)
    found = []
    for name in sorted(wins):
        usd = None if unknown[name] else sum(costs[name])
        per_win = None if usd is None else rate(usd, wins[name])
        time = rate(seconds[name], wins[name]) if seconds[name] else None
        found.append((name, wins[name], usd, unknown[name], per_win, time))
    return Table(
        "cost_per_win",
        "Cost of a win",
        "What a model's own turns cost in US dollars, judges not included. Where any debate is of unknown price, so "
        "is the sum. Cheap wins against weak opponents count as wins.",
        ("model", "wins", "usd", "debates_of_unknown_price", "usd_per_win", "seconds_per_win"),
        tuple(found),
    )


def refusals(rows: Rows) -> Table:
    """How often each model declined to argue, by side."""
    counts: dict[tuple[str, str], list[int]] = defaultdict(lambda: [0, 0, 0])
    for role, name, debate in _worked(rows):
        if role != "judge":
            declined = debate.work[role].refusals  # type: ignore[index]
            counts[name, role][0] += 1
            counts[name, role][1] += declined > 0
            counts[name, role][2] += declined
    found: tuple[tuple[Cell, ...], ...] = tuple((*key, *numbers) for key, numbers in sorted(counts.items()))
    about = "Turns in which a model declined to argue its side. A refusal is no concession; judges were told of it."
    return Table("refusals", "Refusals", about, ("model", "side", "debates", "debates_with_refusal", "turns"), found)


def debates(rows: Rows) -> Table:
    """Every debate."""
    found = tuple(
        (row.id, row.created, row.topic, row.category, row.pro, row.con, row.first, row.winner, row.complete)
        for row in rows.debates
    )
    columns = ("debate", "created", "topic_id", "category", "pro", "con", "first", "winner", "complete")
    return Table("debates", "All debates", "Every debate, finished or not, in the order of time.", columns, found)


def _complete(rows: Rows) -> Iterator[DebateRow]:
    return (debate for debate in rows.debates if debate.complete)


def _decided(rows: Rows) -> Iterator[DebateRow]:
    return (debate for debate in _complete(rows) if debate.winner is not None)


def _result(debate: DebateRow, side: Side) -> str:
    return "ties" if debate.winner == "tie" else "wins" if debate.winner == side else "losses"
