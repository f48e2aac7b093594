"""What somebody wrote, made safe to put before anybody else.

Speech is kept verbatim in the journal and tamed on its way out: into a prompt, a report, a terminal.
Whatever a text contains, after `tame` it moves no cursor, hides nothing and reorders nothing; after
`fenced` it can't close the block it stands in.
"""

from __future__ import annotations

import re

# Unicode "Cf" and friends that hide or reorder text: bidi embeddings, overrides and isolates,
# the tags block, interlinear annotation, the byte order mark, soft hyphen, word joiner, blanks.
_HIDDEN = re.compile(
    "[\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180e\u200b\u200e\u200f\u202a-\u202e\u2060-\u206f"
    "\u3164\ufeff\uffa0\ufff0-\ufffb\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e00ff]"
)
_CONTROL = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff]")
_BREAKS = re.compile("\r\n?|[\x85\u2028\u2029]")
LONGEST_ADDRESS = 200
_BETWEEN = r"[\W_]*"
"""What may stand between the letters of a nonce without hiding it: everything that is no letter or digit."""


def tame(text: str) -> str:
    """`text` with line breaks made one kind, and with control and hidden characters made harmless.

    C0 controls become their visible pictures (ESC is shown as ␛), so that a reader sees they were
    there; characters that only hide or reorder text are dropped. Joiners that scripts and emoji need
    are kept.
    """
    text = _BREAKS.sub("\n", text)
    text = _HIDDEN.sub("", text)
    return _CONTROL.sub(_picture, text)


def _picture(found: re.Match[str]) -> str:
    code = ord(found[0])
    if code < 0x20:
        return chr(0x2400 + code)
    return "\u2421" if code == 0x7F else "\ufffd"


def one_line(text: str) -> str:
    """`text`, tamed, on a single line with single spaces."""
    return " ".join(tame(text).split())


def fenced(text: str, nonce: str) -> str:
    """`text`, tamed, and without any trace of the nonce that closes its block, in whatever case and
    whatever stands between its letters, visible or not."""
    pattern = _BETWEEN.join(re.escape(letter) for letter in nonce)
    return re.sub(pattern, "[...]", tame(text), flags=re.IGNORECASE)


def address(url: str) -> str:
    """An address as it may stand in a line: without anything that is no part of one, and not too long."""
    plain = "".join(one if one.isascii() and one.isprintable() and one not in ' <>"' else "%" for one in tame(url))
    return plain if len(plain) <= LONGEST_ADDRESS else f"{plain[:LONGEST_ADDRESS]}..."


def words(text: str) -> int:
    """How many words `text` has, counted between white space."""
    return len(text.split())
