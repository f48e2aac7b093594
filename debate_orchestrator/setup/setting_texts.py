"""What flags, the sample of an answers file and the block that confirms a setup say of each setting."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from debate_orchestrator.core.phases import JUDGE, RAPPORTEUR

_MODEL = "the model that argues {}, such as anthropic:NAME; `debate models` lists models"


@dataclass(frozen=True)
class SettingText:
    """How a field of `core.settings.Settings` is shown to a user, under its name."""

    help: str
    """For `--help` and the sample of an answers file."""
    sample: str
    """Its value in that sample, as YAML. One that begins with `#` is a comment there."""
    metavar: str = ""
    """What `--help` calls the value of its flag, which is named after the setting. Without one it has a flag only if
    it is true or false."""
    parts: Mapping[str, str] = field(default_factory=dict)
    """For a mapping: each key that has a flag of its own, and the help of that flag."""
    part_flag: str = "--{}"
    """The flag of such a key."""
    label: str = ""
    """Its name in the block that confirms a setup, which shows it where it is not the default; empty for none."""


SETTING_TEXTS = {
    "topic": SettingText(
        "the sentence to debate", "Should this service move from REST to gRPC for internal calls?", "TEXT"
    ),
    "positions": SettingText(
        "what each side argues; auto has it derived from the topic",
        "\n  a: The service should move from REST to gRPC for internal calls."
        "\n  b: The service should keep REST for internal calls.",
        "TEXT",
        {"a": "what side A argues", "b": "what side B argues"},
        "--position-{}",
    ),
    "insist": SettingText("allow 7 or 8 rounds", "# true"),
    "rounds": SettingText("1 to 6, 3 by default; 7 and 8 need --insist (insist: true)", "3", "N"),
    "strictness": SettingText("lenient or strict; strict by default", "strict", "MODE"),
    "output": SettingText(
        "a .md file, or a folder, created if needed; debate-report.md by default", "debate-report.md", "PATH"
    ),
    "format": SettingText("`debate formats` lists them; the path of your own, as ./NAME", "adversarial", "NAME"),
    "first": SettingText("the side that speaks first: a or b", "a", "SIDE"),
    "feedback": SettingText("debaters hear the judge's advice for their next round; they do by default", "true"),
    "context": SettingText("a file that both sides may draw on; may be repeated", "[]", "FILE"),
    "cast": SettingText(
        "the models; by default an agent host takes the turns (`open`), or the best models there are (`run`)",
        "# {a: anthropic:claude-sonnet-5-5, b: anthropic:claude-sonnet-5-5, judge: [anthropic:claude-opus-5-5]}",
        "MODEL",
        {
            "a": _MODEL.format("A"),
            "b": "the model that argues B",
            JUDGE: "the judge; repeat for a panel",
            RAPPORTEUR: "the model that draws up the issues and the decision brief; the first judge's by default",
        },
    ),
    "max_cost": SettingText("US dollars that calls may cost in all; the debate pauses before more", "null", "USD"),
    "search": SettingText("debaters may search the web if their provider can", "false", label="Web search"),
    "retry_for": SettingText(
        "seconds for which a failing turn is retried before a pause; 600 by default", "600", "SECONDS"
    ),
    "share_cache": SettingText(
        "calls that share a prompt cache wait for the first of them: cheaper, and a little slower", "false"
    ),
    "mirror": SettingText(
        "every judge also votes on the debate with the sides exchanged; a vote that flips is no vote",
        "# true",
        label="Mirrored votes",
    ),
    "quorum": SettingText("judges whose votes must count for a decision; more than half by default", "# 2", "N"),
    "blind": SettingText("judges also vote before the first word is said", "# true", label="Blind votes"),
    "each_round": SettingText(
        "judges vote after every round, in formats that leave that open", "# true", label="Votes after every round"
    ),
    "until_dry": SettingText(
        "end the debate after the round in which the judge finds no new ground; rounds: auto does this too",
        "# true",
        label="Until dry",
    ),
    "issues": SettingText(
        "draw up a list of issues before round 1; in a file, also a list of your own, the weightiest first",
        "true",
        label="List of issues",
    ),
    "brief": SettingText("write a decision brief after the verdict", "true", label="Decision brief"),
    "one_agent": SettingText("record that one agent takes every turn", "# true"),
}
"""Every setting that a user may choose, by its name, in the order of an answers file."""
