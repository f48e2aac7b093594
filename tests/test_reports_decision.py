"""Page one says what to do as a sentence about the world, how firm that is, and what weakens it."""

from __future__ import annotations

import re
from dataclasses import replace
from fractions import Fraction

import pytest
from corpus import for_each
from debates import one_agent, play_events, script_of
from debates import report_model as adversarial
from journals import EARLIER
from scripted_debates import entries, events, label, report_model, shipped_format
from scripted_replies import advice, ballot, brief, dissent, final, issues

from debate_orchestrator.core import rapporteur, schedule, tally
from debate_orchestrator.core.events import Event, Spoke, StructuredReplyGiven
from debate_orchestrator.core.fold import fold
from debate_orchestrator.core.phases import NO_DECISION
from debate_orchestrator.core.reply import FoundPage
from debate_orchestrator.reports import decision_brief, markdown, wording
from debate_orchestrator.reports.announcements import announcements
from debate_orchestrator.reports.decision_brief import ReasonReport
from debate_orchestrator.reports.html import page
from debate_orchestrator.reports.model import ReportModel, build_report, summary_line
from debate_orchestrator.reports.parts import DisputedClaim
from debate_orchestrator.reports.provenance import author_note
from debate_orchestrator.reports.rich_text import plain_text
from debate_orchestrator.reports.verdict_text import (
    judges_reasons,
    open_claims,
    outcome,
    remarks,
    score_bar,
    strength_sentences,
    weaknesses,
    who_argued_better,
)
from debate_orchestrator.storage.journal import read
from debate_orchestrator.storage.paths import JOURNAL

CRITERIA = shipped_format("panel").rubric.criteria
CONCEDED = ("start.opening.a", "final.closing.a", "final.closing.b")
MOTION = "A team should use its database as a queue."


def points(a: float, b: float) -> dict[str, object]:
    """A panel's final ballot with the same points for every criterion."""
    return {"scores": {"a": dict.fromkeys(CRITERIA, a), "b": dict.fromkeys(CRITERIA, b)}}


def answer(model: ReportModel) -> str:
    return plain_text(outcome(model))


def earlier(name: str) -> ReportModel:
    """A debate that an earlier version held."""
    return build_report(read(EARLIER / f"{name}{JOURNAL}").entries)


def test_pages_that_found_no_room() -> None:
    """The report names the turns whose pages a long journal left out."""
    lines = read(EARLIER / f"rewrite-in-rust{JOURNAL}").entries
    n, spoke = next((n, line.event) for n, line in enumerate(lines) if isinstance(line.event, Spoke))
    reply = spoke.reply.model_copy(update={"found_pages": (FoundPage(url="https://x.example", quote=""),)})
    lines[n] = lines[n]._replace(event=spoke.model_copy(update={"reply": reply.without_pages()}))
    (note,) = (note for note in build_report(lines).notes if note.kind == "pages dropped")
    assert (note.text, note.turn) == (
        f"The journal had no room for the pages that a search found in {spoke.turn_id}.",
        spoke.turn_id,
    )


LOST = script_of(_final_verdict_judge=final("b"))
NEXT_YEAR = ("We should move.", "We should move, but only next year.")


@for_each(
    [
        (adversarial(rounds=1), "“Indent with tabs.”"),
        (adversarial(LOST, rounds=1), "“Indent with spaces.”"),
        (adversarial(script_of(_final_verdict_judge=final("tie")), rounds=1), "Neither position prevailed."),
        (adversarial(rounds=1, topic=MOTION, positions=(MOTION, "Buy a broker.")), "Yes, narrowly."),
        (adversarial(LOST, rounds=1, topic=MOTION, positions=(MOTION, "Buy a broker.")), "“Buy a broker.”"),
        (adversarial(LOST, rounds=1, topic="Should we move?", positions=NEXT_YEAR), f"“{NEXT_YEAR[1]}”"),
        (
            adversarial(script_of(_2_challenge_b="I CONCEDE THE DEBATE."), rounds=2),
            "Researcher B conceded the whole position in 2.challenge.b."
            " The position of Researcher A stands unopposed: “Indent with tabs.”",
        ),
        (
            report_model("panel", dict.fromkeys(CONCEDED, "I CONCEDE THE DEBATE.")),
            "Debater A conceded the whole position in start.opening.a, final.closing.a. Debater B conceded later,"
            " in final.closing.b. The position of Debater B stands unopposed: “No.”",
        ),
        (adversarial(script_of(_final_verdict_judge=final("consensus")), rounds=1), "“the middle”"),
        (adversarial(rounds=1, topic=MOTION, positions=(MOTION.replace("use", "not use"), "Use it.")), ""),
        (report_model("claim", {"final.verdict.judge": label("misleading", 4)}), "The claim is judged: misleading."),
        (report_model("question", {"final.verdict.judge": {"winner": "b"}}, mirror=False), "“No.”"),
        (adversarial(rounds=2, until="1.rebuttal.a"), "Not decided yet."),
    ]
)
def test_the_answer_is_about_the_world(model: ReportModel, said: str) -> None:
    """The position that won is the answer. Where A argues for the motion as it stands it is yes or no."""
    assert answer(model) == (said or f"“{model.positions['a']}”")


@pytest.mark.parametrize(
    ("topic", "a", "b"),
    [
        ("the queue is  fast", "The queue is fast.", "It is not right that: the queue is fast"),
        ("Should we move?", "We should move.", "We should not move."),
        (
            "Is Vim better than Emacs?",
            'The answer to "Is Vim better than Emacs?" is yes.',
            'The answer to "Is Vim better than Emacs?" is no.',
        ),
    ],
)
def test_the_motion_and_positions_made_of_it_are_a_yes(topic: str, a: str, b: str) -> None:
    """Case, spaces and the last full stop do not count, and what the program itself makes of a topic affirms it. Its
    exact opposite is a no, and nothing else is. What is quoted can't end the quotation."""
    opposite = b.replace('"', "'")

    assert answer(adversarial(rounds=1, topic=topic, positions=(a, b))) == "Yes, narrowly."
    assert answer(adversarial(LOST, rounds=1, topic=topic, positions=(a, b))) == f"No, narrowly. “{opposite}”"
    assert answer(adversarial(LOST, rounds=1, topic=topic, positions=(a, "Otherwise."))) == "“Otherwise.”"


def test_a_brief_that_was_sent_back_says_so() -> None:
    """Page one says that the brief was revised after the check, and that the rest was not checked; what it found is
    listed below the same sentence. A reason that held and is in dispute says both at once, below its number, and what
    the debate changed leads to the advice before it."""
    fault = {"kind": "unclear", "where": "why[2].consideration", "problem": "It's measured <i>nowhere</i>."}
    held = brief()["why"][0] | {"side": "a", "mark": "held", "dissent_row": 1}
    held |= {"turns": ["1.opening.a", "1.challenge.b", "1.rebuttal.a"]}
    script = script_of(
        _start_issues_rapporteur=issues(),
        _start_advice_rapporteur=advice(),
        _final_dissent_judge=dissent(),
        _final_brief_rapporteur=brief(trust="First."),
        _final_brief_check_rapporteur={"findings": [fault]},
        _final_brief_revised_rapporteur=brief(why=[held, *brief()["why"][1:]]),
    )
    cast = {"a": ("host",), "b": ("host",), "judge": ("host",), "rapporteur": ("host",)}
    model = adversarial(script, rounds=2, cast=cast, issues=True, brief=True)
    text, html = markdown.render(model), page.render(model)
    outcome = "The check of the first draft found 1 problem, and the brief was revised."
    outcome += " What of them still stands was not checked."
    assert model.decision_brief and model.decision_brief.found_by_check == (
        f"Reason 2, consideration: {fault['problem']}",
    )
    assert text.count(outcome) == html.count(outcome) == 2 and "It&#39;s measured &lt;i&gt;nowhere" in html
    mark = "Held when it was challenged; still in dispute (C1)"
    assert f"1. “{held['heading']}”: {mark} (round 1: [opening A](#opening" in text
    assert f'<ol class="items"><li>“{held["heading"]}”: {mark} (round 1: <a href="#t-1.opening.a">opening A</a>' in html
    assert f"**Who argued better is another question:** {who_argued_better(model)}." in text
    assert re.search(r'<h3 id="h-verdict-why">Who argued.*</h3>\n<p>.*</p>\s+<div class="why">', html)
    assert "Compare [the advice before the debate](#advice-before-the-debate)." in text
    assert 'Compare <a href="#t-start.advice.rapporteur">the advice before the debate</a>.' in html
    assert f'<a href="#h-findings">{outcome}</a>' in html and 'id="h-findings"' in html
    for told in (text, html):
        assert "Held when it was challenged; still in dispute (C1)." in told
        assert told.rindex(outcome) < told.index("Reason 2, consideration: It")
        assert told.count("a seat of its own that neither argues nor judges") == 1
        assert "(60 % before the debate)" in told
    alone = play_events(script, rounds=2, cast=cast, issues=True, brief=True)
    for told in map(markdown.render, (model, build_report(entries(one_agent(alone))))):
        assert ("a seat of its own" in told) != ("one agent played both sides, the judge and the rapporteur" in told)


def test_a_reason_says_that_its_claim_was_resolved_only_where_that_is_for_it() -> None:
    """Of a weakened reason the dissent record does not say which way the claim was resolved: it may be withdrawn."""
    reason = ReasonReport(consideration="It is so.", side="a", mark="weakened", turns=(), dissent_row=1)
    resolved = DisputedClaim(claim="It is so.", positions={}, status="resolved by consensus", turns=())
    held = reason.model_copy(update={"mark": "held"})

    assert decision_brief.mark_text(reason, (resolved,)) == "Weakened by the other side"
    assert decision_brief.mark_text(held, (resolved,)) == "Held when it was challenged; resolved by consensus (C1)"


def written_by(spec: str, turn: str, played: list[Event]) -> list[Event]:
    """The same events with that author of the reply to a turn."""
    return [
        event.model_copy(update={"reply": event.reply.model_copy(update={"spec": spec})})
        if isinstance(event, StructuredReplyGiven) and event.turn_id == turn
        else event
        for event in played
    ]


def test_what_others_wrote_is_not_the_rapporteurs_nor_the_judges() -> None:
    """A dissent record or a brief that a stand-in wrote beside a real judge does not count, and that is said. Page one
    says how sure the rapporteur was before only where the same one wrote the brief, and what the debate changed only if
    there was advice before it."""
    real, stand_in = "anthropic:claude-opus-5-5", "rehearse"
    weakened = brief()["why"][0] | {"mark": "weakened", "turns": ["1.opening.b", "1.challenge.a"], "dissent_row": 1}
    script = script_of(
        _start_issues_rapporteur=issues(),
        _start_advice_rapporteur=advice(),
        _final_dissent_judge_1=dissent(),
        _final_brief_rapporteur=brief(why=[weakened, *brief()["why"][1:]]),
        _final_brief_check_rapporteur={"findings": []},
    )
    seats = {"a": (real,), "b": (real,), "rapporteur": (real,)}
    for writer, adviser in ((real, real), (stand_in, "openai:gpt-6"), (real, stand_in)):
        cast = seats | {"judge": (writer, real)}
        played = play_events(script, rounds=2, judges=2, cast=cast, issues=True, brief=True)
        played = written_by(adviser, "start.advice.rapporteur", played)
        model, counts = build_report(entries(played)), writer == real
        text, html = markdown.render(model), page.render(model)
        section = text.partition("## Dissent Record")[2].partition("\n## ")[0]
        told = [line.text for line in announcements(fold(played)) if line.kind == "dissent"]
        assert rapporteur.dissent_rows(fold(played)) == (dissent()["rows"] if counts else [])
        assert told == [
            "Dissent record: 1 disputed claim, 1 unresolved." if counts else "The dissent record is filler."
        ]
        assert ("Not counted: a stand-in." in section) == ("It is cheaper." not in section) == (not counts)
        assert ("| Disputed Claim |" in section) == counts
        assert model.shown_decision_brief and model.shown_decision_brief.problems == ()
        assert ("Still in dispute" in html) == ("### Still in Dispute" in text) == counts
        for shown in (text, html):
            assert ("(60 % before the debate)" in shown) == (adviser == real)
            assert ("What the debate changed" in shown) == (adviser != stand_in)


def test_the_last_brief_that_counts_stands() -> None:
    """A stand-in's check and revision of it do not count, and the head names them."""
    script = script_of(
        _start_issues_rapporteur=issues(),
        _start_advice_rapporteur=advice(),
        _final_dissent_judge=dissent(),
        _final_brief_rapporteur=brief(trust="First."),
        _final_brief_check_rapporteur={"findings": [{"kind": "unclear", "where": "trust", "problem": "It is short."}]},
        _final_brief_revised_rapporteur=brief(trust="Second."),
    )
    cast = dict.fromkeys(("a", "b", "judge", "rapporteur"), ("anthropic:claude-opus-5-5",))
    played = play_events(script, rounds=1, cast=cast, issues=True, brief=True)
    titles = {"brief": "Decision Brief", "brief-check": "Check of the Decision Brief"}
    titles["brief-revised"] = "Decision Brief, Revised"
    for phases, trust, problem_count in (
        (["brief"], "Second.", 1),
        (["brief-check"], "Second.", 0),
        (["brief-revised"], "First.", 1),
        (["brief", "brief-revised"], "", 0),
    ):
        written = played
        for phase in phases:
            written = written_by("rehearse", f"final.{phase}.rapporteur", written)
        model = build_report(entries(written))
        shown = model.decision_brief
        assert ((shown.how_far_to_trust, len(shown.found_by_check)) if shown else ("", 0)) == (trust, problem_count)
        for phase, title in titles.items():
            note = f"Not counted, since a stand-in wrote it: {title}."
            assert (note in model.provenance) == (phase in phases)
    assert "Recommendation" not in summary_line(model, None)
    assert "## Decision Brief" not in markdown.render(model) and "% sure" not in page.render(model)


def test_a_debate_without_new_ground_says_why_it_ended() -> None:
    """The head says after which round that was; a debate that had no round left did not end for it. Where it is judged
    again, the last phase is one that was held."""
    ended = "The debate ended after round 1, in which no new ground was found."
    for dry in (1, 2):
        found = {f"_{n}_verdict_judge": ballot(7, 6, rounds=2, dry=n == dry) for n in (1, 2)}
        model = adversarial(script_of(**found), rounds=2, until_no_new_ground=True)
        assert (model.rounds_completed, ended in model.provenance) == (dry, dry == 1)
        assert all((ended in told) == (dry == 1) for told in (markdown.render(model), page.render(model)))
    debate = fold(play_events(script_of(_1_verdict_judge=ballot(7, 6, rounds=2, dry=True)), until_no_new_ground=True))
    again = replace(debate, ended_after=schedule.no_new_ground_slot_id(debate))
    assert wording.ended_early(again) == "Ended early, after Judge Verdict of round 1."


def test_how_firm_it_is() -> None:
    """Strength and a panel's votes are computed and said, and a win on equal scores is called one."""
    level = adversarial(script_of(_1_verdict_judge=ballot(7, 7, rounds=1) | {"winner": "a"}), rounds=1)
    assert level.verdict and level.verdict.decision == "Winner: A (narrow, on equal scores)"
    assert "A: 7 | B: 7 | Winner: A (on equal scores)\n" in markdown.render(level)
    assert "Winner: A (on equal scores) " in page.render(level)
    alone = strength_sentences(adversarial(script_of(_1_verdict_judge=ballot(8, 5, rounds=1)), rounds=1))
    script = {f"final.verdict.judge-{n}": points(*given) for n, given in enumerate(((8, 7), (7, 8), (8, 7)), start=1)}
    panel = strength_sentences(report_model("panel", script, panel=3, mirror=False))

    assert list(alone) == ["Researcher A (Pro) argued better (decisive)."]
    assert list(panel) == ["Debater A (PRO) argued better (narrow).", "2 of 3 judges voted for A, 1 for B."]


def test_a_strip_ends_with_what_it_measures() -> None:
    """Points stand by the most there can be, a probability by what is left of it, a score by its scale."""
    lead = score_bar(adversarial(rounds=2))
    likely = score_bar(
        report_model("question", {"final.verdict.judge": {"winner": "b", "probability": 0.75}}, mirror=False)
    )
    scored = score_bar(report_model("claim", {"final.verdict.judge": label("misleading", 4)}))

    assert lead and likely and scored
    assert (lead.ends, lead.share) == (("A (Pro) 14", "B (Con) 12"), Fraction(14, 26))
    assert lead.text == "A leads by 14.29%; at most 20 points each"
    assert (likely.ends, likely.share) == (("A 25%", "B 75%"), Fraction(1, 4))
    assert (scored.share, scored.ends[0]) == (Fraction(2, 5), "0")


def test_every_judge_of_a_panel_gives_its_reason() -> None:
    """Each judge's own words are there whole, with the ballot that they are from."""
    model = earlier("rewrite-in-rust")
    given = list(judges_reasons(model))

    assert [(one.title, one.turn) for one in given] == [(f"Judge {n}", f"final.verdict.judge-{n}") for n in (1, 2, 3)]
    assert given[0].text == (model.final_ballots[0].fields or {})["decided"]["b"]


def test_open_claims_come_by_id_the_most_disputed_first() -> None:
    """At most two claims are named, unresolved ones first, settled ones never, and the rest is counted."""
    rows = [
        {"claim": f"Claim {n}.", "a": "Yes.", "b": "No.", "status": status, "turns": ["1.opening.a"]}
        for n, status in enumerate(
            ("resolved by consensus", "partially resolved", "unresolved", "partially resolved", "unresolved"), start=1
        )
    ]
    shown, more = open_claims(adversarial(script_of(_final_dissent_judge=dissent() | {"rows": rows}), rounds=1))
    assert [id for id, _ in shown] == ["C3", "C5"]
    assert more == "2 more in the dissent record: 2 partially resolved"


def test_a_first_sentence_ends_in_no_abbreviation() -> None:
    """It is cut between words where it is long, and an ellipsis says that more follows."""
    for text, shown in (
        ("Dr. Smith shows it. But", "Dr. Smith shows it. …"),
        ("Rust wins vs. Go in the U.S. Senate.", "Rust wins vs. Go in the U.S. Senate."),
        ("It is “no.” So it was.", "It is “no.” …"),
        ("word " * 40, f"{'word ' * 27}word…"),
    ):
        assert decision_brief.first_sentence(text) == shown


def test_what_was_not_checked() -> None:
    """Unchecked sources, an unrecorded model and a vote in one presentation alone are said; a mirrored vote is not."""
    assert tuple(weaknesses(adversarial(rounds=1))) == (
        "The turns came as files, from an agent or a person; which model wrote them is not on record.",
        "With one round, Researcher A, who spoke first, could not answer the other side.",
        "No source that the debaters cite was looked up.",
        "No judge also voted with the sides in the other order, which can change a vote.",
    )
    assert not any("which can change" in one for one in weaknesses(adversarial(rounds=1, mirror=True)))
    assert not any("With one round" in one for one in weaknesses(adversarial(rounds=2)))
    given = report_model("question", {}, material="Six people.")
    assert not any("passage.txt" in one for one in weaknesses(given))
    assert '<p class="more"><a href="#h-context">Context files: “passage.txt”.</a></p>' in page.render(given)


@pytest.mark.parametrize("format", ["panel", "question", "claim"])
def test_a_debate_can_be_reported_wherever_it_stopped(format: str) -> None:
    """Between a judge's two ballots of a mirrored vote, as anywhere else, there is a report and a page."""
    happened = entries(events(format, panel=2, mirror=True, blind=True))
    for end in range(1, len(happened) + 1):
        report = build_report(happened[:end])
        assert markdown.render(report) and page.render(report)


def test_no_judge_is_for_a_result_that_is_none() -> None:
    """Where every vote changed with the sides' names, nothing is decided, and no judge is counted for it; nor for a tie
    of votes for either side, which no judge declared. After a concession those who vote for the other side are."""
    cast = {"a": ("one",), "b": ("two",), "judge": ("x", "y", "z")}
    debate = fold(play_events(script_of(_final_verdict_judge=final("a")), rounds=1, mirror=True, cast=cast))
    verdict = tally.verdict(debate)

    assert verdict is not None and verdict.winner == NO_DECISION
    assert decision_brief._judges_for(debate) is None
    scores = {f"_1_verdict_judge_{n}": ballot(7, 6 + n, rounds=1) for n in (1, 2)}
    conceded = {"_1_opening_a": "I CONCEDE THE DEBATE."}
    equal, declared = "The votes are equal and the totals are not", "A tie was declared although the totals differ"
    neither = "The judges saw neither side argue better"
    stands = "The debate ended in consensus, on the position of Researcher B (Con)"
    for winners, more, judges_for, told, remark in (
        (("a", "b"), scores, None, "As many judges voted for Researcher A (Pro) as for Researcher B (Con)", equal),
        (("a", "b", "tie"), scores, None, "As many judges voted for Researcher A (Pro) as for Researcher B (Con)", ""),
        (("tie", "tie"), scores, (2, 2), neither, declared),
        (("a", "b"), conceded, (1, 2), stands, "A side conceded its whole position"),
        (("b", "consensus"), conceded, (2, 2), stands, "A side conceded its whole position"),
    ):
        finals = {f"_final_verdict_judge_{n}": final(winner) for n, winner in enumerate(winners, 1)}
        happened = play_events(script_of(**finals, **more), rounds=1, cast=cast | {"judge": (*"xyz",)[: len(winners)]})
        model = build_report(entries(happened))
        assert decision_brief._judges_for(fold(happened)) == judges_for
        assert who_argued_better(model) == told
        assert any(text.startswith(remark) for text in remarks(model))


def test_a_debate_that_swing_decides_is_told_by_swing() -> None:
    """A tie, and a winner with fewer points, come from votes gained: they are no equal votes, and declared by none."""
    by_swing = shipped_format("adversarial").model_copy(update={"decided_by": "swing"})
    cast = {"a": ("one",), "b": ("two",), "judge": ("x", "y")}
    for before, told in (
        ("a", ("Neither side won by the votes", "The totals differ")),
        ("b", ("Researcher A (Pro) gained more votes (narrow), though behind", "The winner gained more votes")),
    ):
        vote = {"winner": before, "probability": 0.7, "why": "So it seems."}
        said = {f"_1_verdict_judge_{n}": ballot(6, 7, rounds=1) for n in (1, 2)}
        said |= {f"_final_verdict_judge_{n}": final("a") for n in (1, 2)}
        said |= {f"_start_blind_judge_{n}": vote for n in (1, 2)}
        opened, *others = play_events(script_of(**said), rounds=1, cast=cast, blind=True)
        happened = [opened.model_copy(update={"format": by_swing}), *others]
        model = build_report(entries(happened))
        on_screen = wording.decision_line(fold(happened))
        assert ("The winner is behind on points: votes decide, not points." in on_screen) == (before == "b")
        assert who_argued_better(model).startswith(told[0])
        assert remarks(model)[0].startswith(told[1])


@pytest.mark.parametrize(
    ("spec", "note"),
    [
        ("human", ""),
        ("host", ""),
        ("replay:x.jsonl", ""),
        ("x:y", " It is the same model as the judge."),
        ("command:x", " It is the same program as the judge."),
    ],
)
def test_a_rapporteur_shares_a_judges_model_only_where_one_answers(spec: str, note: str) -> None:
    """People, hosts and recordings do not tell which model answers."""
    cast = {"a": ("openai:gpt-5",), "b": ("openai:gpt-5",), "judge": (spec,), "rapporteur": (spec,)}
    assert author_note(adversarial(rounds=1, cast=cast, brief=True).run).endswith(f"after the debate.{note}")
