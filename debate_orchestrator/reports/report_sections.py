"""The values that templates of reports get, and sections in words: how it was judged, the evidence, calls and cost."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from fractions import Fraction
from functools import partial
from typing import Any, Literal

from debate_orchestrator.core.phases import CLERK, JUDGE, MIRRORED
from debate_orchestrator.core.verdict import Vote, decided_votes, is_one_judge
from debate_orchestrator.core.visible_text import Quote, quote_result
from debate_orchestrator.reports import citations, decision_brief, provenance, verdict_text, wording
from debate_orchestrator.reports.citations import VERIFIED, Citation, EvidenceReport
from debate_orchestrator.reports.decision_brief import DecisionBriefReport, IssueReport, ReasonReport
from debate_orchestrator.reports.model import ReportModel
from debate_orchestrator.reports.parts import CostRow, CostsReport, TurnReport
from debate_orchestrator.reports.reviewer_agreement import NOTE, ReviewerReport, disagreement
from debate_orchestrator.reports.rich_text import (
    FieldPart,
    FieldText,
    Phrase,
    PhraseTable,
    Section,
    Subsection,
    Writer,
    address,
    as_written,
    cite,
    inline_markdown,
    join,
    name_or_quotation,
    named_turn,
    phrase,
    quotation,
    strong,
    turn,
    turn_links,
    without_empty,
)
from debate_orchestrator.util.numbers import decimals, percent, plural
from debate_orchestrator.util.redact import redact
from debate_orchestrator.util.sanitize import quoted, sanitize

_MAX_FILE_LENGTH = 8_000
"""Characters of a context file that a report shows."""
BEFORE, AFTER = "Before round 1", "After the last round"
_LATE = " (dated later than the topic)"
_FIELDS_WITH_OWN_PLACE = {"scores", "strongest", "weakest", "winner", "justification", "feedback", "faults"}
_FIELDS_WITH_OWN_PLACE |= {"unsupported_claims", "convergence", "conceded", "label", "score", "probability"}
"""Fields of a ballot that have their own place on it, or, as `faults`, in a section of their own."""
_FINAL_WITH_OWN_PLACE = {"scores", "winner", "justification", "converged_on", "strongest_argument", "strength"}
_FINAL_WITH_OWN_PLACE |= {"faults", "label", "score", "probability", "unresolved_questions", "follow_up"}
"""The same of a final ballot."""


def template_values(report: ReportModel, writer: Writer) -> dict[str, Any]:
    """The values for the templates of reports that people read: the report, its sections in words, and the functions
    that write a turn."""
    fields = FieldText(report.seats, {one.id: one.question for one in (report.issues.issues if report.issues else ())})
    rated = {"sources"} if report.evidence is not None else set()
    issue_phrases = [phrase(f"{issue.id}. ", inline_markdown(issue.question)) for issue in own_issues(report)]
    values: dict[str, Any] = {
        "report": report,
        "writer": writer,
        "concession": writer.line(verdict_text.concession(report)),
        "own_issues": writer.items(issue_phrases) if issue_phrases else "",
        "speech_in_fields": partial(_write_structured, report, fields, writer),
        "ballot_items": lambda turn, what: writer.field_items(
            [
                *_ballot_parts(report, turn, what),
                *fields.item_parts(turn.shape, turn.fields, _FIELDS_WITH_OWN_PLACE | rated),
            ]
        ),
        "other_final_fields": lambda turn: writer.field_items(
            fields.item_parts(turn.shape, turn.fields, _FINAL_WITH_OWN_PLACE | rated)
        ),
        "points_table": partial(_points_table, report),
        "ballot_text": partial(_ballot_text, report),
        "quote_results": lambda turn: writer.items(quote_results(turn.quotes)),
        "cited": lambda turn: writer.line(citations.cited_pages(turn.pages)),
    }
    return values if report.transcript_only else values | _decision_values(report, fields, writer)


def _decision_values(report: ReportModel, fields: FieldText, writer: Writer) -> dict[str, Any]:
    """The values for what a bare transcript does not have: the decision, and how it was judged."""
    shown_claims, more_claims = verdict_text.open_claims(report)
    return {
        "mark_text": lambda reason: decision_brief.mark_text(reason, report.dissent or ()),
        "author_note": provenance.author_note(report.run),
        "check_sentences": list(decision_brief.check_sentences(report.shown_decision_brief)),
        "split_first_sentence": decision_brief.split_first_sentence,
        "first_sentence": decision_brief.first_sentence,
        "heading": decision_brief.heading,
        "outcome": verdict_text.outcome(report),
        "strength": list(verdict_text.strength_sentences(report)),
        "judges_reasons": list(verdict_text.judges_reasons(report)),
        "turn_links": lambda turns: writer.line(turn_links(turns, report.turn_places)),
        "open_claims": shown_claims,
        "more_claims": more_claims,
        "weaknesses": list(verdict_text.weaknesses(report)),
        "argued_better": verdict_text.who_argued_better(report),
        "remarks": verdict_text.remarks(report),
        "strength_rule": verdict_text.strength_rule(report),
        "reviewers_differ": disagreement(report.reviewers),
        "sections": dict(_sections(report, fields)),
        "context_files": list(context_files(report)),
    }


def _ballot_text(report: ReportModel, turn: TurnReport) -> str:
    if turn.parsed_ballot is None:
        return "not counted yet"  # a mirrored pair counts once both are in
    return wording.counted_ballot_line(turn.parsed_ballot, report.judging.scales, left_out=turn.left_out)


def _ballot_parts(report: ReportModel, turn: TurnReport, what: str) -> Iterator[FieldPart]:
    """The fields of a ballot on a round, or before the rounds, that have a place of their own, in reading order; `what`
    is the title of the vote."""
    fields, seats = turn.fields or {}, report.seats
    for side in report.names if "strongest" in fields and "weakest" in fields else ():
        for name in ("strongest", "weakest"):
            title = f"{name.capitalize()} argument, {seats[side]}"
            yield FieldPart("line", title, inline_markdown(fields[name][side]))
    if "label" in fields:
        yield FieldPart("line", "Label", as_written(_ballot_text(report, turn)))
    elif "winner" in fields:
        vote = _ballot_text(report, turn) if "probability" in fields else wording.winner_word(fields["winner"])
        why = phrase(". ", inline_markdown(fields["justification"])) if "justification" in fields else ()
        yield FieldPart("line", what, phrase(as_written(vote), why))
    for side in report.names if "feedback" in fields else ():
        yield FieldPart("line", f"Feedback for {seats[side]}", inline_markdown(fields["feedback"][side]))
    if "unsupported_claims" in fields:
        claims = fields["unsupported_claims"]
        items = tuple(phrase(f"{seats[claim['seat']]}: ", inline_markdown(claim["claim"])) for claim in claims)
        kind: Literal["list", "line"] = "list" if claims else "line"
        yield FieldPart(kind, "Claims made without evidence", phrase("none"), items)
    if convergence := fields.get("convergence"):
        if convergence["detected"]:
            moving = seats[convergence["side"]] if convergence["side"] in report.names else "both sides"
            text = f"detected ({', '.join(convergence['criteria'])}), moving: {moving}"
            yield FieldPart("line", "Convergence", phrase(text))
        elif report.rounds_asked != 1:
            yield FieldPart("line", "Convergence", phrase("not detected"))
    if conceded := fields.get("conceded"):
        yield FieldPart("line", "Conceded the whole position", phrase(seats[conceded]))


def _points_table(report: ReportModel, turn: TurnReport) -> PhraseTable:
    """The points that a ballot gives, a row for each criterion, and what they come to."""
    points = (turn.fields or {})["scores"]
    headers = (phrase("Criterion"), *(inline_markdown(report.seats[side]) for side in report.names))
    rows: list[tuple[Phrase, ...]] = [
        (inline_markdown(title), *(phrase(f"{points[side][name]:g}") for side in report.names))
        for name, title in report.format.criteria.items()
    ]
    scores = turn.parsed_ballot.scores if turn.parsed_ballot else {}
    if scores:
        computed = [decimals(scores[side]) if side in scores else "" for side in report.names]
        rows.append((strong("Score, computed"), *map(strong, computed)))
    return PhraseTable(headers, tuple(rows))


def context_files(report: ReportModel) -> Iterator[tuple[str, str, str]]:
    """The context files: name in quotation marks, text, and a note if only its beginning is shown. All of it is
    redacted before it is cut, which could part a secret."""
    for file in report.context_files:
        whole = redact(sanitize(file.text)).strip("\n")
        beginning = whole[:_MAX_FILE_LENGTH]
        lines = beginning.rpartition("\n")[0]  # whole ones, unless the next is very long
        shown = whole if beginning == whole else lines if len(lines) > _MAX_FILE_LENGTH // 2 else beginning
        note = f"Its first {len(shown):,} of {len(whole):,} characters; the journal has the rest."
        yield quoted(file.name), shown, "" if shown == whole else note


def judges_files(report: ReportModel) -> Iterator[tuple[str, str, str]]:
    """The same of the files that judges could read; none where the format keeps them from judges."""
    return context_files(report) if JUDGE in report.rules.context_heard_by else iter(())


def own_issues(report: ReportModel) -> tuple[IssueReport, ...]:
    """The list of issues that the user drew up; empty if a turn drew it up, or there is none."""
    return report.issues.issues if report.issues and report.issues.by == "user" else ()


def _write_structured(report: ReportModel, fields: FieldText, writer: Writer, turn: TurnReport) -> str:
    """A speech in fields, or what a clerk found."""
    assert turn.fields is not None
    if turn.seat != CLERK or "checks" not in turn.shape:
        return writer.block(fields.block(turn.shape, turn.fields))
    return writer.items(clerk_lines(turn, report, fields) or [phrase("Nothing was cited to be looked up.")])


def quote_results(quotes: Iterable[Quote]) -> list[Phrase]:
    """The results for the quotes of a speech, each once, in the report's words."""
    return [phrase(f"{quote_result(quote)}: ", quotation(quote.text)) for quote in dict.fromkeys(quotes)]


def _sections(report: ReportModel, fields: FieldText) -> Iterator[tuple[str, Section]]:
    """The sections on what came of the debate, each with its id on a page, without those that have nothing to say."""
    if report.shown_decision_brief is not None:
        behind = (subsection for subsection in _behind(report, report.shown_decision_brief) if not subsection.is_empty)
        yield "behind-brief", Section("Behind the Decision Brief", tuple(behind))
    if judged := [subsection for subsection in _judging(report, fields) if not subsection.is_empty]:
        about = Subsection(sentences=[as_written(report.format.about)])
        yield "scores", Section("How It Was Judged", (about, *judged))
    if report.reviewers is not None:
        yield "reviewers", Section("Reviewers", tuple(_reviewers(report.reviewers)))
    if report.evidence is not None:
        yield "evidence", Section("Evidence", tuple(_evidence(report, report.evidence)))
    if report.costs is not None:
        yield "costs", Section("Calls and Cost", tuple(_costs(report, report.costs)))
    if (earlier := verdict_text.earlier_verdict(report)) is not None:
        yield "earlier", Section("Earlier Verdict", (Subsection(table=earlier),))


def _behind(report: ReportModel, brief: DecisionBriefReport) -> Iterator[Subsection]:
    better = as_written(verdict_text.result_line(report))
    yield Subsection("Who argued better is another question", sentences=[better], id="h-verdict-why")
    if brief.changed:
        advice = named_turn(brief.advice, "the advice before the debate") if brief.advice in report.turn_places else ()
        before = [phrase("Compare ", advice, ".")] if advice else []
        said = [inline_markdown(brief.changed), *before]
        yield Subsection("What the debate changed, in the rapporteur's words", sentences=said, id="h-changed")
    found = [(problem, problem in brief.unfixed_problems) for problem in brief.problems]
    how = {True: "Left standing although it was sent back: ", False: "Found by the program: "}
    problems = [phrase(how[is_unfixed], as_written(problem)) for problem, is_unfixed in found]
    yield Subsection("What the program found wrong with the brief", items=problems, id="h-findings")
    if brief.found_by_check:
        *_, outcome = decision_brief.check_sentences(brief)
        id = "" if problems else "h-findings"
        yield Subsection("What the check of the brief found", sentences=[phrase(outcome)], id=id)
        yield Subsection(items=[*map(as_written, brief.found_by_check)])
    lines = [_reason_line(report, reason) for reason in brief.why]
    yield Subsection("What the debate made of each reason", items=lines, is_numbered=True)


def _reason_line(report: ReportModel, reason: ReasonReport) -> Phrase:
    name = phrase(quotation(reason.heading), ": ") if reason.heading else ()
    turns = phrase(" (", turn_links(reason.turns, report.turn_places), ")") if reason.turns else ()
    return phrase(name, decision_brief.mark_text(reason, report.dissent or ()), turns, ".")


def _reviewers(reviewers: ReviewerReport) -> Iterator[Subsection]:
    yield Subsection(sentences=[phrase(NOTE)])
    if reviewers.count:
        yield Subsection(table=reviewers.table.phrases())
        yield Subsection(items=[*map(as_written, (*reviewers.agreement, *reviewers.swing_sentences))])
        said = [(f"“{one.reviewer}” ({one.vote}):", one.why) for one in reviewers.reasons]
        yield Subsection(items=[phrase(strong(as_written(who)), " ", inline_markdown(why)) for who, why in said])
    if reviewers.left_out:
        yield Subsection(
            "Ballots beside the journal that are not counted", items=[*map(as_written, reviewers.left_out)]
        )


def _judging(report: ReportModel, fields: FieldText) -> Iterator[Subsection]:
    means, judging = _means(report), report.judging
    about = [
        phrase(strong(as_written(title), ":"), " ", inline_markdown(report.rules.rubric.criteria[name].about))
        for name, title in report.format.criteria.items()
    ]
    yield Subsection("Every vote, and what it counts as", _votes(report))
    yield Subsection(sentences=[*map(phrase, _counts(report))])
    yield Subsection("The mean of what judges gave, by side", means)
    yield Subsection(items=about if means else ())
    yield Subsection("Words of each side; what is longer may look stronger than it is", _words(report))
    conflicts, conduct = [*map(as_written, judging.conflicts)], [*map(phrase, _observed_conduct(report))]
    yield Subsection("Judges tend to favour what is close to their own", items=conflicts)
    yield Subsection("Conduct of the sides", items=[*conduct, *_named_violations(report, fields)])


def _votes(report: ReportModel) -> PhraseTable | None:
    """A row for each vote, where there is more than one judge, or the judge voted twice on one thing."""
    before = [("Before", vote) for vote in report.judging.pre_debate_votes]
    rounds = [(str(round_report.number), vote) for round_report in report.rounds for vote in round_report.votes]
    votes = [*before, *rounds, *(("Final", vote) for vote in report.judging.votes)]
    shown_mirrored = any(vote.shown_mirrored for _, vote in votes)
    if len({vote.judge for _, vote in votes}) < 2 and not shown_mirrored and not before:
        return None
    rows = [_vote_row(report, place if before or rounds else "", vote) for place, vote in votes]
    headers = ("Round", "Judge", "Original" if shown_mirrored else "Vote", "Mirrored", "Stable", "Counts as")
    return without_empty(tuple(map(phrase, headers)), rows, kept_columns=0)


def _vote_row(report: ReportModel, place: str, vote: Vote) -> tuple[Phrase, ...]:
    scales = report.judging.scales
    original, mirrored = (
        cite(as_written(wording.ballot_line(parsed_ballot, scales)), ballot)
        if parsed_ballot
        else phrase("no ballot that counts")
        for parsed_ballot, ballot in ((vote.original, vote.turn_id), (vote.mirrored, vote.turn_id + MIRRORED))
    )
    before = {one.judge: one for one in report.judging.pre_debate_votes}.get(vote.judge, vote)
    if vote.original and is_one_judge(vote) and not is_one_judge(before, vote):
        original = phrase(original, ", by another model")
    stable = "yes" if vote.stable else "no"
    mirrored = phrase(mirrored, "" if is_one_judge(vote) else ", by another model")
    shown_mirrored = (mirrored, phrase(stable if vote.is_cast_both_ways else "-")) if vote.shown_mirrored else ((), ())
    return (
        phrase(place),
        inline_markdown(report.seats[vote.judge]),
        original,
        *shown_mirrored,
        as_written(wording.vote_line(vote)),
    )


def _counts(report: ReportModel) -> Iterator[str]:
    """The quorum, what the mirror changed, and the votes that each side gained where one moved, or they decide."""
    votes, judging = report.judging.votes, report.judging
    if len(votes) > 1:
        what = "Labels" if judging.labelled else "Votes"
        n = sum(vote.label is not None for vote in votes) if judging.labelled else len(decided_votes(votes))
        needed_count = max(1, judging.quorum)
        yield f"{what} that count: {n} of {len(votes)}; at least {needed_count} must, for anything to be decided."
    if mirrored := judging.mirrored_votes:
        everyone = all(vote.is_cast_both_ways or vote.absent for vote in votes)
        voters = "Each judge" if everyone else "Each judge who was not replaced in between"
        how = "in order; their names stayed" if judging.order_only else "in name and order"
        yield f"{voters} also voted on the debate with the sides swapped {how}. A vote that changed is an abstention."
        cast_both_ways = [vote for vote in votes if vote.is_cast_both_ways]
        changed, in_rounds = sum(not vote.stable for vote in cast_both_ways), mirrored - len(cast_both_ways)
        counts = [f"{changed} of {plural(len(cast_both_ways), 'final vote')}"] if cast_both_ways else []
        if in_rounds:
            counts.append(f"{judging.flipped_votes - changed} of {plural(in_rounds, 'vote')} on rounds")
        yield f"{' and '.join(counts)} changed when the sides were swapped."
    swing = report.verdict.swing if report.verdict and not judging.labelled else {}
    if any(swing.values()) or (swing and judging.decided_by_swing):
        gains = ", ".join(f"{report.seats[side]} {n:+d}" for side, n in swing.items())
        decides = " In this format that decides." if judging.decided_by_swing else ""
        yield f"Votes gained by the debate: {gains}.{decides}"


def _means(report: ReportModel) -> PhraseTable | None:
    """The mean of each criterion by side, where the ballots alone don't show it at a glance."""
    judging = report.judging
    weighed = len(set(judging.weights.values())) > 1
    many = len(report.judge_specs) > 1 or judging.mirrored_votes > 0
    if not judging.means or not (many or weighed or not judging.scores_rounds):
        return None
    sides = list(judging.means)
    headers = (
        phrase("Criterion"),
        *([phrase("Weight")] if weighed else []),
        *(inline_markdown(report.seats[s]) for s in sides),
    )
    rows = []
    for name, title in report.format.criteria.items():
        weight = [phrase(decimals(judging.weights[name]))] if weighed else []
        rows.append((inline_markdown(title), *weight, *(phrase(decimals(judging.means[side][name])) for side in sides)))
    return PhraseTable(headers, tuple(rows))


def _words(report: ReportModel) -> PhraseTable | None:
    """The words of each side by round: longer speeches may look stronger than they are."""
    sides = [side for side in report.arguing_sides if any(turn.seat == side for turn in report.turns)]
    rounds = [
        (str(round_report.number), (*round_report.speeches, *round_report.intervention_speeches))
        for round_report in report.rounds
    ]
    rows = []
    for place, turns in ((BEFORE, report.before), *rounds, (AFTER, report.after), ("Total", report.turns)):
        words = [sum(turn.words for turn in turns if turn.seat == side) for side in sides]
        if any(words):
            cells = (phrase(f"{n:,}") for n in words)
            rows.append((strong(place) if place == "Total" else phrase(place), *cells))
    headers = (phrase("Round"), *(inline_markdown(f"{report.seats[side]}, words") for side in sides))
    return PhraseTable(headers, tuple(rows)) if rows else None


def _observed_conduct(report: ReportModel) -> Iterator[str]:
    """Violations of the format's rules by each side, as the engine saw them, and how many of its quotes hold."""
    for side in report.arguing_sides:
        turns, name = [turn for turn in report.turns if turn.seat == side], report.seats[side]
        if lines_for := [turn.id for turn in turns if turn.other_lines]:
            yield f"{name} wrote lines for the other side in {', '.join(lines_for)}."
        if dropped_words := {turn.id: turn.dropped for turn in turns if turn.dropped}:
            words = plural(sum(dropped_words.values()), "word")
            yield f"{name} went over the limit, and {words} were not heard, in {', '.join(dropped_words)}."
        if quotes := [quote for turn in turns for quote in turn.quotes]:
            verified = sum(quote.verified for quote in quotes)
            times = "once" if len(quotes) == 1 else f"{len(quotes)} times"
            yield f"{name} quoted the context files {times}; {verified:,} of these they hold."


def _named_violations(report: ReportModel, fields: FieldText) -> Iterator[Phrase]:
    ballots = [turn for turn in report.turns if turn.is_vote]
    rows = ((ballot, row) for ballot in ballots for row in (ballot.fields or {}).get("faults") or ())
    named = ((ballot.seat, fields.row(ballot.shape["faults"].fields, row)) for ballot, row in rows)
    yield from dict.fromkeys(phrase(f"{report.seats[seat]} names a fault: ", fault) for seat, fault in named)


def _evidence(report: ReportModel, evidence: EvidenceReport) -> Iterator[Subsection]:
    """A table with a row for each page, with what the clerk found and the judges' ratings, and sentences on all of
    them."""
    pages = evidence.citations
    if not pages:
        yield Subsection(sentences=[phrase("Nothing was cited.")])
        return
    rows = [
        (
            turn(citation.turn),
            address(citation.url),
            strong(as_written(citation.state)),
            _page_result(citation, report.as_of),
            _archive_phrase(citation),
            _ratings(report, citation),
        )
        for citation in pages
    ]
    headers = ("Turn", "Page", "Quote", "What was found", "Kept as", "How judges weigh the source")
    verified = sum(citation.state == VERIFIED for citation in pages)
    sentences = [phrase(f"Verified: {verified} of {len(pages)}; {evidence.looked_up_by}.")]
    if report.as_of:
        sentences.append(phrase("The topic binds both sides to what was known as of ", as_written(report.as_of), "."))
    table = without_empty(tuple(map(phrase, headers)), rows, kept_columns=3)
    yield Subsection(
        "What was cited, what was found of it, and what judges think of the source", table, has_long_cells=True
    )
    yield Subsection(sentences=sentences)


def clerk_lines(clerk_turn: TurnReport, report: ReportModel, fields: FieldText) -> list[Phrase]:
    """What a clerk found, in its turn, a line each: the turn that cites, the state, and why."""
    shape = clerk_turn.shape["checks"].fields
    fields_shown = {name: field for name, field in shape.items() if name in ("turn", "state", "why")}
    late = {citation.turn for citation in report.evidence.citations if citation.late} if report.evidence else set()
    rows = (clerk_turn.fields or {}).get("checks") or []
    return [phrase(fields.row(fields_shown, row), _LATE if row.get("turn") in late else "") for row in rows]


def _page_result(citation: Citation, as_of: str | None) -> Phrase:
    parts = [phrase("title ", quotation(citation.title))] if citation.title else []
    if citation.date:
        late = phrase(" (", strong("later than ", as_written(as_of or "")), ")") if citation.late else ()
        parts.append(phrase("dated ", name_or_quotation(citation.date), late))
    if citation.passage:
        alike = f" ({percent(Fraction(str(citation.similarity)))} alike)" if citation.similarity is not None else ""
        parts.append(phrase(f"the nearest passage{alike}: ", quotation(citation.passage)))
    if citation.why:
        parts.append(quotation(citation.why))
    return join("; ", parts)


def _archive_phrase(citation: Citation) -> Phrase:
    parts = [name_or_quotation(citation.archived)] if citation.archived else []
    parts += [phrase("sha256 ", name_or_quotation(citation.sha256[:12]))] if citation.sha256 else []
    return join(", ", parts)


def _ratings(report: ReportModel, citation: Citation) -> Phrase:
    parts = []
    for rating in citation.ratings:
        why = phrase(", ", quotation(rating.why)) if rating.why else ()
        parts.append(phrase(as_written(report.seats[rating.judge]), ": ", as_written(rating.credibility), why))
    return join("; ", parts)


_COLUMNS = ("Seat", "Phase", "Calls", "Input, uncached", "Read from cache", "Written to cache", "Output")


def _costs(report: ReportModel, costs: CostsReport) -> Iterator[Subsection]:
    """A table of the cost, with a row for each seat and phase, and one for all, and notes on its numbers."""
    searched = costs.total.tokens is not None and costs.total.tokens.searches > 0
    headers = (*_COLUMNS, *(("Searches",) if searched else ()), "Cost")
    rows: list[tuple[Phrase, ...]] = []
    for line in costs.lines:
        seat = str(line.seat)
        cells = (report.seats.get(seat, seat.capitalize()), str(line.phase), *_numbers(line, searched=searched))
        rows.append(tuple(map(as_written, cells)))
    rows.append((strong("Total"), (), *map(as_written, _numbers(costs.total, searched=searched))))
    notes = ["Prices are those known when each answer was given."]
    if n := costs.total.calls_unknown:
        notes.append(f"The price of {plural(n, 'call')} is unknown and in none of the sums.")
    if any(line.tokens is None for line in costs.lines):
        notes.append("A dash means that tokens were not counted.")
    if report.run.rehearsed:
        notes.append("A stand-in calls no model and costs nothing.")
    table = PhraseTable(tuple(map(phrase, headers)), tuple(rows))
    yield Subsection(table=table, sentences=[phrase(" ".join(notes))])


def _numbers(line: CostRow, *, searched: bool) -> tuple[str, ...]:
    cells = ["–"] * (5 if searched else 4)
    if line.tokens is not None:
        tokens = line.tokens
        counts = [tokens.input_uncached, tokens.input_cached, tokens.input_cache_writes, tokens.output]
        cells = [f"{n:,}" for n in (*counts, *([tokens.searches] if searched else []))]
    return (f"{line.calls:,}", *cells, money(line))


def money(line: CostRow) -> str:
    """The cost of the calls of a line. An unknown price is unknown, and never 0."""
    if line.usd_known is None:
        return "unknown"
    amount = f"${line.usd_known:.4f}" if line.usd_known else "$0"
    return f"{amount}, and {line.calls_unknown} unknown" if line.calls_unknown else amount
