"""The seal of a report: which journal it was made from, and a digest of the report itself.

A sealed report names the version that made it, the journal as it was then (how many lines, its form, the hash of its
last line, which stands for all before), and its own sha256. That is taken over the exact bytes of the file with the 64
digits of the digest itself written as zeros, whatever the form; the digest is the last such number in the file. So
anybody can check it with a few words of any language, or with `sed` and `sha256sum`.

Where reviewers left ballots beside the journal, a report is made from those too. The seal does not name them: its
digest covers what the report says of them, and `attest` tells a report that was made when they were others.

A seal shows that nothing was changed since it was set, to those who know that it is the one that was set. It is no
signature: whoever changes a report can seal it anew, and `attest` then compares it with what its journal says.
"""

from __future__ import annotations

import hashlib
import re
from typing import NamedTuple

from debate_orchestrator import __version__
from debate_orchestrator.reports.model import ReportModel
from debate_orchestrator.storage.journal import SCHEMA

BLANK = "0" * 64
"""What stands in place of a report's digest while that is taken."""
_VERSION, _SHA = r"(?P<version>[0-9A-Za-z.+!-]{1,60})", "[0-9a-f]{64}"
_COUNTS = r"(?P<lines>[1-9]\d{0,11})", r"(?P<form>[1-9]\d{0,5})"
_SENTENCE = (
    rf"Sealed by debate-orchestrator {_VERSION}\. Journal: {_COUNTS[0]} lines?, form {_COUNTS[1]}, "
    rf"head sha256:(?P<head>{_SHA})\. This report: sha256:(?P<digest>{_SHA}), of its bytes with these 64 digits as "
    r"zeros\."
)
_MEMBERS = (
    rf'  "version": "{_VERSION}",\n'
    rf'  "journal": \{{\n    "lines": {_COUNTS[0]},\n    "form": {_COUNTS[1]},\n'
    rf'    "head": "(?P<head>{_SHA})"\n  \}},\n'
    rf'  "digest": "(?P<digest>{_SHA})"\n\}}\n'
)
MARKDOWN, HTML, JSON = ".md", ".html", ".json"
_BEFORE = {MARKDOWN: "\n---\n\n*", HTML: '<p class="seal">'}
_AFTER = {MARKDOWN: "*\n", HTML: "</p>\n"}
_PLACES = {
    MARKDOWN: re.compile(rf"\n---\n\n\*{_SENTENCE}\*\n\Z".encode()),
    HTML: re.compile(rf'<p class="seal">{_SENTENCE}</p>\n(?!.*<p class="seal">)'.encode(), re.DOTALL),
    JSON: re.compile(rf"\n{_MEMBERS}\Z".encode()),
}
"""Where a form has its seal: in markdown and JSON it ends the file, in HTML it is the last of its kind."""
_TRACES = {
    MARKDOWN: (b"Sealed by debate-orchestrator ", b"head sha256:", b"of its bytes with these 64 digits as zeros"),
    JSON: (b'\n  "document": "debate report"', b'\n  "digest": "'),
}
"""What is left of a seal, or of a report that always had one, though it was damaged in one place."""


class Checksum(NamedTuple):
    """What a report's seal says, and whether it fits."""

    version: str
    """Of the package that made the report."""
    lines: int
    form: int
    """The version of the journal's form."""
    head: str
    """The hash of the journal's last line then."""
    digest: str
    """Of the report, as the seal says."""
    fits: bool
    """Whether that is its digest."""


def checksum_sentence(story: ReportModel) -> str:
    """The seal as forms for people show it, in plain ASCII without any markup, and with the digest blank."""
    lines = f"{story.lines} line{'s' * (story.lines != 1)}"
    return (
        f"Sealed by debate-orchestrator {__version__}. Journal: {lines}, form {SCHEMA}, head sha256:{story.digest}. "
        f"This report: sha256:{BLANK}, of its bytes with these 64 digits as zeros."
    )


def with_checksum(text: str, story: ReportModel, form: str) -> str:
    """A rendered report with its seal. `form` is the ending of its file: markdown has the seal below all else, HTML
    before its body ends, JSON in the last values, which the text has blank."""
    if form in _BEFORE:
        at = text.rfind("</body>") if form == HTML else -1
        at = len(text) if at < 0 else at
        text = f"{text[:at]}{_BEFORE[form]}{checksum_sentence(story)}{_AFTER[form]}{text[at:]}"
    digest = hashlib.sha256(text.encode("utf-8", "backslashreplace")).hexdigest()
    before, _, after = text.rpartition(BLANK)
    return f"{before}{digest}{after}"


def read(data: bytes, form: str) -> Checksum | None:
    """The seal of a report's bytes; None where there is none, or none that can be read."""
    found = _place(data, form)
    if found is None:
        return None
    start, end = found.span("digest")
    digest = hashlib.sha256(data[:start] + BLANK.encode() + data[end:]).hexdigest()
    said = {name: value.decode() for name, value in found.groupdict().items()}
    return Checksum(
        version=said["version"],
        lines=int(said["lines"]),
        form=int(said["form"]),
        head=said["head"],
        digest=said["digest"],
        fits=said["digest"] == digest,
    )


def _place(data: bytes, form: str) -> re.Match[bytes] | None:
    places = list(_PLACES[form].finditer(data))
    return places[-1] if places else None


def made_by(version: str, data: bytes, form: str) -> bytes:
    """A sealed report as it would be if that version had made it and told the same."""
    found = _place(data, form)
    assert found is not None
    (start, end), (first, last) = found.span("version"), found.span("digest")
    blank = data[:start] + version.encode() + data[end:first] + BLANK.encode() + data[last:]
    digest = hashlib.sha256(blank).hexdigest().encode()
    return blank[: (at := blank.rindex(BLANK.encode()))] + digest + blank[at + len(BLANK) :]


def marked(data: bytes, form: str) -> bool:
    """Whether anything is left of a seal, though it can't be read any more."""
    return any(trace in data for trace in _TRACES.get(form, _TRACES[MARKDOWN]))


def without_checksum(data: bytes, form: str) -> bytes:
    """A markdown or HTML report without its seal; as it is where it has none."""
    found = _place(data, form)
    return data if found is None or form == JSON else data[: found.start()] + data[found.end() :]
