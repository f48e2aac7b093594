"""Where lines of a speech end, which readers of markdown tell differently, changes nothing of what is code."""

from __future__ import annotations

import pytest

from debate_orchestrator.reports import markup
from debate_orchestrator.reports.markup import unescaped

SPANS = {
    "a\n|-|\n`\n<b>\n`": "a\n|-|\n` <b> `",
    "- c ` <script>x</script>\n<x-y>\nx `": "- c ` <script>x</script> <x-y> x `",
    "1. c ` <b>\n  ***\n  x `": "1. c ` <b> *** x `",
    "> c ` x\n> # q\n> y ` a ` <b> ` z": "> c ` x # q y ` a ` <b> ` z",
    "> - c ` <b>\n\t<!-- -->\n\tx `": "> - c ` <b> <!-- --> x `",
    "a ` x\n     > y `\n# q": "a ` x > y `\n\\# q",
}


@pytest.mark.parametrize("blank", ["\xa0", "\u1680", "\u2003", "\u202f", "\u205f", "\u3000"])
@pytest.mark.parametrize("line", ["===", "---", "***", "___"])
def test_a_rule_with_any_blank_is_text(line: str, blank: str) -> None:
    """Some readers take other blanks than those of ASCII for the end of a line that makes a heading or a rule."""
    text = f"- Final Verdict\n{line}{blank}"

    assert markup.block(text) == f"- Final Verdict\n\\{line}{blank}"
    assert unescaped(markup.block(text)) == text
