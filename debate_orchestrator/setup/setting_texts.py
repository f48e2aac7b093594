"""The texts of each setting, as `--help`, a sample of an answers file and the block that confirms a setup have them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from debate_orchestrator.core.format import Format
from debate_orchestrator.core.phases import JUDGE, RAPPORTEUR
from debate_orchestrator.core.settings import default_of
from debate_orchestrator.util import sanitize

_SAMPLE_COLUMN = 27
_SAMPLE_HEAD = """\
# Answers for `debate run --answers FILE` (models speak) and `debate open --answers FILE` (an agent host does).
"""
_MODEL = "the model that argues {}, such as anthropic:NAME; `debate models` lists models"


class SettingText(NamedTuple):
    """The texts for a field of `core.settings.Settings`, under its name."""

    help: str
    """For `--help` and the sample of an answers file."""
    sample: str
    """Its value in that sample, as YAML. One that begins with `#` is a comment there."""
    metavar: str = ""
    """The name of its flag's value in `--help`. Without one it has a flag only if it is true or false."""
    parts: Mapping[str, str] = {}
    """For a mapping: each key that has a flag of its own, and the help of that flag."""
    part_flag: str = "--{}"
    caption: str = ""
    """Its name in the block that confirms a setup, which shows it if it is not the default; empty for none."""


SETTING_TEXTS = {
    "topic": SettingText(
        "the sentence to debate", "Should this service move from REST to gRPC for internal calls?", "TEXT"
    ),
    "positions": SettingText(
        'what each side argues, as {a: "...", b: "..."}; auto has it derived from the topic',
        "auto",
        "TEXT",
        {"a": "what side A argues", "b": "what side B argues"},
        "--position-{}",
    ),
    "insist": SettingText("allow more rounds than the usual maximum: 7 or 8 in the format adversarial", "# true"),
    "rounds": SettingText(
        "how many, within the limits of the format; in adversarial 1 to 6, 3 by default, 7 and 8 with `insist`",
        "3",
        "N",
    ),
    "strictness": SettingText(
        "how much evidence the judge demands: lenient or strict; strict by default", "strict", "MODE"
    ),
    "output": SettingText(
        "a .md file, or a folder, created if needed; debate-report.md by default", "debate-report.md", "PATH"
    ),
    "format": SettingText("`debate formats` lists them; the path of your own, as ./NAME", "adversarial", "NAME"),
    "first": SettingText("the side that speaks first: a or b", "a", "SIDE"),
    "feedback": SettingText("debaters hear the judge's feedback in their next round; they do by default", "true"),
    "context": SettingText("a file that both sides may draw on; may be repeated", "[]", "FILE", caption="Context"),
    "cast": SettingText(
        "the models; by default an agent host takes the turns (`open`), or Sonnet-level models argue and an Opus-level "
        "one judges (`run`)",
        "# {a: anthropic:claude-sonnet-5-5, b: anthropic:claude-sonnet-5-5, judge: [anthropic:claude-opus-5-5]}",
        "MODEL",
        {
            "a": _MODEL.format("A"),
            "b": "the model that argues B",
            JUDGE: "the judge; repeat for a panel",
            RAPPORTEUR: "the model that draws up the issues and the decision brief; the first judge's by default",
        },
    ),
    "max_cost": SettingText(
        "the cap on the total cost in US dollars, or none; the debate pauses before it costs more", "null", "USD"
    ),
    "search": SettingText("debaters may search the web if their provider can", "false", caption="Web search"),
    "retry_for": SettingText(
        "seconds for which a failing turn is retried before a pause; 600 by default", "600", "SECONDS"
    ),
    "share_cache": SettingText(
        "calls that share a prompt cache wait for the first of them: cheaper, and a little slower", "false"
    ),
    "mirror": SettingText(
        "every judge also votes on the debate with the sides swapped; a vote that flips does not count",
        "# true",
        caption="Mirrored votes",
    ),
    "quorum": SettingText("judges whose votes must count for a decision; more than half by default", "# 2", "N"),
    "blind": SettingText("judges also cast a pre-debate vote", "# true", caption="Pre-debate votes"),
    "each_round": SettingText(
        "judges also vote after every round, in formats in which that is optional",
        "# true",
        caption="Votes after every round",
    ),
    "until_no_new_ground": SettingText(
        "end the debate after the round in which the judge finds no new ground; rounds: auto does this too",
        "# true",
        caption="Until no new ground",
    ),
    "issues": SettingText(
        "draw up a list of issues before round 1; in a file, also a list of your own, the weightiest first",
        "true",
        caption="List of issues",
    ),
    "brief": SettingText("write a decision brief after the verdict", "true", caption="Decision brief"),
    "one_agent": SettingText("record that one agent takes every turn", "# true"),
}
"""Every setting that a user may choose, by its name, in the order of an answers file."""


def sample() -> str:
    """A commented answers file to start from. It is valid without changes."""
    return _SAMPLE_HEAD + "".join(_sample_lines(name, texts) for name, texts in SETTING_TEXTS.items())


def _sample_lines(name: str, texts: SettingText) -> str:
    prefix, value = ("# ", texts.sample[2:]) if texts.sample.startswith("# ") else ("", texts.sample)
    line = f"{prefix}{name}: {value}"
    if len(line) < _SAMPLE_COLUMN:
        return f"{line.ljust(_SAMPLE_COLUMN)}# {texts.help}\n"
    return f"# {name}: {texts.help}\n{line}\n"


def block_lines(answers: Mapping[str, Any], format: Format) -> list[str]:
    """The lines of the block that confirms a setup for settings that are not the default; topic, positions, rounds,
    strictness and output are in the words of prompts/setup.yaml."""
    lines = []
    for name, texts in SETTING_TEXTS.items():
        value = answers.get(name)
        if texts.caption and value not in (None, [], default_of(name, format)):
            items = "; ".join(map(str, value)) if isinstance(value, list | tuple) else str(value)
            text = "yes" if value is True else "no" if value is False else sanitize.one_line(items)
            lines.append(f"{texts.caption}: {text}")
    return lines
