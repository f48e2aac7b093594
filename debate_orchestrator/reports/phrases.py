"""Lines of a report as runs of words, each told by whose words they are. What makes a run safe, and how strong words
and links look, is up to the form that writes it down: a report's forms share the values, and never the text."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal, NamedTuple

Kind = Literal["own", "literal", "plain", "prose", "cell", "turn", "page", "found"]


class Run(NamedTuple):
    """Some words of a line."""

    text: str
    kind: Kind = "own"
    """`own`: the report's. Of others: `literal` and `plain` are shown character for character, the second also at the
    start of a line; `prose` and `cell` keep emphasis, code and links, the second also in a table. `turn` is the id of
    a turn that is linked, `page` an address that shows all of itself, `found` the title of a page that is linked."""
    strong: bool = False
    to: str = ""
    """The address of a page that was found; of other words, the turn that they rest on, which a form may link."""


Phrase = tuple[Run, ...]
"""A line. What is empty says nothing."""


def phrase(*parts: str | Phrase) -> Phrase:
    """Parts in a row; plain strings are the report's own words."""
    made: list[Run] = []
    for part in parts:
        made += ([Run(part)] if part else []) if isinstance(part, str) else part
    return tuple(made)


def strong(*parts: str | Phrase) -> Phrase:
    """The same, set off."""
    return tuple(run._replace(strong=True) for run in phrase(*parts))


def joined(between: str, phrases: Iterable[str | Phrase]) -> Phrase:
    """Phrases with the same words between each two."""
    made: list[str | Phrase] = []
    for one in phrases:
        made += [between, one] if made else [one]
    return phrase(*made)


def resting(said: Phrase, turn_id: str | None) -> Phrase:
    """The same with the turn that its words rest on: a number's ballot."""
    return tuple(run._replace(to=turn_id) for run in said) if turn_id else said


def literal(text: str) -> Phrase:
    """Somebody's words, character for character."""
    return _said(text, "literal")


def plain(text: str) -> Phrase:
    """The same at the start of a line."""
    return _said(text, "plain")


def prose(text: str) -> Phrase:
    """Somebody's sentence, with its emphasis, code and links."""
    return _said(text, "prose")


def cell(text: str) -> Phrase:
    """The same in a table."""
    return _said(text, "cell")


def _said(text: str, kind: Kind) -> Phrase:
    return (Run(text, kind),) if text else ()


def turn(turn_id: str) -> Phrase:
    """A link to a turn."""
    return (Run(turn_id, "turn"),)


def page(url: str) -> Phrase:
    """An address that shows all of itself: a link, if it is a page of the web."""
    return (Run(url, "page"),)


def found(url: str, title: str) -> Phrase:
    """A page that a search found: its title, linked if it is one of the web, and the host that it leads to."""
    return (Run(title, "found", to=url),)
