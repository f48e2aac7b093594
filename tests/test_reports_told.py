"""A turn is told as others heard it."""

from __future__ import annotations

from core.folding import absent, declined
from tellings import evidence, label, refusal, report, rules, told

from debate_orchestrator.reports.model_turns import TurnReport

PASSAGE = "The sky was green that morning, the captain wrote."


def turn(name: str, script: object, turn_id: str, **how: object) -> TurnReport:
    """One turn of a debate of that format."""
    made = told(name, script, **how)  # type: ignore[arg-type]
    return next(one for one in made.every if one.id == turn_id)


def test_private_working_is_left_out() -> None:
    """What a speaker thinks in private is in no report; the report says that it is left out."""
    script = {"1.argument.a": "<thinking>I know that it is false.</thinking>It was green."}
    made = report("question", script, material=PASSAGE)

    assert turn("question", script, "1.argument.a", material=PASSAGE).text == "It was green."
    assert "I know that it is false" not in made
    assert "Private working of the speakers is left out; it is in the journal." in made


def test_words_over_the_limit_are_counted() -> None:
    """A speech ends where its limit is, and a note says how many words more there are."""
    one = turn("question", {"1.argument.a": "word " * 163}, "1.argument.a")
    made = report("question", {"1.argument.a": "word " * 163})

    assert (one.words, one.dropped, one.most_words) == (150, 13, 150)
    assert "\n\n*Here the limit of 150 words was reached: 13 more, which nobody heard, are in the journal.*\n" in made


def test_quotes_are_marked() -> None:
    """A quote is marked by whether the material holds it; a mark that the speaker makes counts for nothing."""
    said = "<quote>green that morning, the captain</quote> and <v_quote>red that evening, the mate</v_quote>."
    one = turn("question", {"1.argument.a": said}, "1.argument.a", material=PASSAGE)

    assert [quote.verified for quote in one.quotes] == [True, False]
    assert (
        "\\<v_quote>green that morning, the captain\\</v_quote> and \\<u_quote>red that evening, the mate\\</u_quote>."
        in report("question", {"1.argument.a": said}, material=PASSAGE)
    )


def test_lines_for_the_other_side_are_a_fault() -> None:
    """A speech that writes the other side's lines is marked so."""
    script = {"1.argument.a": "It was green.\n\nDebater B: You are right."}

    assert turn("question", script, "1.argument.a").other_lines
    assert "\n\n*It writes lines for the other side, which this format forbids.*\n" in report("question", script)


def test_a_structured_speech_has_its_fields() -> None:
    """A side's evidence is told in fields; its words are those of its texts."""
    script = {"1.argument.a": evidence(quote="One two.", context="Three.", argument="Four five\n\nsix.")}
    one = turn("claim", script, "1.argument.a")

    assert (one.text, one.words, one.votes) == (None, 6, False)
    assert (
        "\n\n**Evidence:** [https://example.org/so](https://example.org/so)\n\n> One two.\n\n**Context:** Three.\n\n"
        "Four five\n\nsix.\n" in report("claim", script)
    )


def test_a_refusal_in_fields() -> None:
    """A side that declines in a structured reply is told with its reason and nothing else."""
    script = {"1.argument.b": refusal("It would do harm.")}
    one = turn("claim", script, "1.argument.b")

    assert (one.declined, one.text, one.ballot) == (True, "It would do harm.", None)
    assert "*Debater B declined to argue. A refusal is no concession.*\n\nIt would do harm.\n" in report(
        "claim", script
    )


def test_a_provider_may_refuse_too() -> None:
    """A refusal of a provider is told in its own words."""
    script = {"1.argument.b": [declined("1.argument.b")]}

    assert turn("claim", script, "1.argument.b").declined
    assert "I DECLINE TO ARGUE THIS POSITION." in report("claim", script)


def test_a_mirrored_ballot_is_told_of_the_sides_as_they_are() -> None:
    """What a judge said of the exchanged debate is told with everybody under their own name."""
    script = {"final.verdict.judge.mirrored": {"winner": "b", "reasons": "Debater A in 1.argument.a was vague."}}
    one = turn("question", script, "final.verdict.judge.mirrored", mirror=True)

    assert one.ballot is not None and one.reading is not None
    assert (one.ballot["winner"], one.reading.winner) == ("a", "a")
    assert one.ballot["reasons"] == "Debater B in 1.argument.b was vague."


def test_who_gave_nothing_that_counts() -> None:
    """A judge or a clerk whose replies would not do is told as absent."""
    script = {
        "1.check.clerk": absent("1.check.clerk"),
        "final.verdict.judge-1": absent("final.verdict.judge-1"),
        "final.verdict.judge-2": label("supported", 9),
    }
    made = report("claim", script, panel=2)

    assert "*Clerk gave no reply that counts.*" in made
    assert "*Judge 1 cast no final ballot that counts.*" in made


def test_private_working_in_fields_is_left_out() -> None:
    """A field of a structured speech is told as it was heard, too."""
    thinking = rules("claim", private="thinking")
    made = report(thinking, {"1.argument.a": evidence(argument="<thinking>Hm.</thinking>It is clear.")})

    assert "\n\nIt is clear.\n" in made
    assert "Hm." not in made
