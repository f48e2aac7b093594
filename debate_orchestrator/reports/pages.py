"""Pages that a search returned, as links that are what they seem: titles and addresses come from strangers."""

from __future__ import annotations

from collections.abc import Sequence
from urllib.parse import quote, urlsplit

from debate_orchestrator import speech
from debate_orchestrator.core.events import Found
from debate_orchestrator.reports import markup, phrases
from debate_orchestrator.reports.phrases import Phrase, joined, phrase

LONGEST = 2_000
"""Characters of an address that is still linked, and of a title that is still shown whole."""
_MOST = 20
_SAFE = "/:?=&%@+,~$-._#"
"""What stays as it is in an address. Brackets, quotes and the like are written as percent signs and digits, so
that nothing can end the link, and so is the semicolon, without which there is no entity."""


def cited(found: Sequence[Found]) -> Phrase:
    """The pages that a speech cites, in a sentence, and how many more were found; empty where none was."""
    pages = {one.url: one for one in found}
    quoted = [one for one in pages.values() if one.quote][:_MOST]
    more = len(pages) - len(quoted)
    if not quoted:
        return phrase(f"Pages found by a search, none of them cited: {more}." if more else "")
    besides = f"; {more} more {'was' if more == 1 else 'were'} found" if more else ""
    links = joined(", ", [phrases.found(one.url, one.title) for one in quoted])
    return phrase("Pages cited from a search: ", links, f"{besides}.")


def link(url: str, title: str) -> str:
    """A page as a link with the host it leads to behind it; as plain text where it is no page of the web."""
    named = markup.literal(title[:LONGEST])
    host = host_of(url)
    if host is None:
        return named or markup.literal(url[:LONGEST]) or "a page without an address"
    shown = markup.literal(host)
    address = quote(url, safe=_SAFE, errors="replace")
    return f"[{named}]({address}) ({shown})" if named else f"[{shown}]({address})"


def address(url: str) -> str:
    """An address as a link that shows all of itself; as plain text where it is no page of the web."""
    if host_of(url) is None:
        return markup.plain(url[:LONGEST])
    return f"[{markup.literal(url)}]({quote(url, safe=_SAFE, errors='replace')})"


def host_of(url: str) -> str | None:
    """The host of an address that may be linked."""
    try:
        parts = urlsplit(url)
        host = parts.hostname
    except ValueError:
        return None
    odd = len(url) > LONGEST or url != speech.one_line(url) or "@" in parts.netloc
    return host if parts.scheme in ("http", "https") and host and not odd else None
