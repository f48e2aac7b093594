"""The reply code of a turn, which shows that what decides is its writer's own and no quotation.

A speech may hold a filled ballot, and a judge may repeat it; a page may hold the line that concedes, and a side may
quote it. Neither can hold the reply code of a turn: it follows from a secret of this machine's user, and only the seat
of the turn is shown it, in the last part of its brief. The object that counts has the code first and last, and the
reserved line that counts ends with it.

The secret is made on first use, in the state folder, where only the user can read it. No journal holds it, so no
journal from elsewhere can hold the code of a reply that is yet to come.
"""

from __future__ import annotations

import hmac
import json
import os
import re
import secrets
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import cache
from typing import Any

from debate_orchestrator.core import schedule
from debate_orchestrator.core.phases import Turn
from debate_orchestrator.core.state import DebateState
from debate_orchestrator.core.values import FrozenModel
from debate_orchestrator.storage.files import create
from debate_orchestrator.storage.paths import state_folder
from debate_orchestrator.util import model_spec
from debate_orchestrator.util.data import error_text, read_regular
from debate_orchestrator.util.errors import BadFile

_ABOUT = "the code that stands at the end of the task"
_FIELD, _END_FIELD = "code", "end_code"
_LETTERS = "BCDFGHJKLMNPQRSTVWXZ"
"""No vowels, so that a code is not a word, and no digits, so that it is not a number."""
_LENGTH = 6


class ReplyCode(FrozenModel):
    """The code of a turn, and the names of the fields that hold it: the first of a structured reply, and the last."""

    text: str
    field: str = _FIELD
    end_field: str = _END_FIELD

    @property
    def entry(self) -> str:
        """The first field, written as JSON."""
        return f'"{self.field}": "{self.text}"'

    @property
    def end_entry(self) -> str:
        """The last field, written as JSON."""
        return f'"{self.end_field}": "{self.text}"'

    def is_held_by(self, value: Any) -> bool:
        """Whether an object, or the only object in it, begins and ends with the code."""
        if not isinstance(value, dict) or not value:
            return False
        (first, *_), (*_, last) = value.items(), value.items()
        inner = first[1] if len(value) == 1 else None
        return (self._is_entry(self.field, first) and self._is_entry(self.end_field, last)) or self.is_held_by(inner)

    def is_among_sorted(self, value: Mapping[str, Any]) -> bool:
        """Whether an object whose keys are sorted, as some servers sort them, has both fields of the code. This says
        enough only of a reply that is this object and nothing else."""
        return self.is_among(value) and [*value] == sorted(value)

    def is_among(self, value: Mapping[str, Any]) -> bool:
        """Whether an object has both fields of the code, in any place."""
        fields = (self.field, self.end_field)
        return all(any(self._is_entry(field, entry) for entry in value.items()) for field in fields)

    def missing_end(self, value: Any) -> str:
        """The field that lacks the code where the other end of an object has it; otherwise empty."""
        if not isinstance(value, dict) or not value:
            return ""
        (first, *_), (*_, last) = value.items(), value.items()
        has_first, has_last = self._is_entry(self.field, first), self._is_entry(self.end_field, last)
        return "" if has_first == has_last else self.end_field if has_first else self.field

    def removed_from(self, value: Mapping[str, Any]) -> dict[str, Any]:
        """An object that holds the code, without it."""
        if len(value) == 1:
            return {key: self.removed_from(inner) for key, inner in value.items()}
        fields = (self.field, self.end_field)
        return {key: item for key, item in value.items() if not any(self._is_entry(f, (key, item)) for f in fields)}

    def _is_entry(self, field: str, entry: tuple[str, Any]) -> bool:
        key, item = entry
        is_code = isinstance(item, str) and item.strip(" \t\r\n`'\"").casefold() == self.text.casefold()
        return is_code and plain_key(key) == plain_key(field)


def code_for(debate: DebateState, turn: Turn, spec: str, secret: Callable[[], bytes] | None) -> ReplyCode | None:
    """The code that `spec` has to put into its reply to a turn that is due; None if it needs none. `secret` is called
    only where a code is needed. Without a secret it is some text of the same length, for an estimate."""
    shape = debate.shape(turn)
    if not needs_code(spec) or (shape is None and not turn.speaking):
        return None
    prefix = ""
    while shape and {prefix + _FIELD, prefix + _END_FIELD} & set(shape):
        prefix += "turn_"
    text = _text(debate, turn, secret()) if secret is not None else _LETTERS[:_LENGTH]
    return ReplyCode(field=prefix + _FIELD, end_field=prefix + _END_FIELD, text=text)


def needs_code(spec: str) -> bool:
    """Whether ballots and reserved lines of that spec have to hold a code. Stand-ins and clerks are parts of this
    program, and people fill in forms and are asked before their line counts."""
    return model_spec.occupant_kind(spec) not in ("stand-in", "person", "clerk")


def _text(debate: DebateState, turn: Turn, secret: bytes) -> str:
    """The letters of a turn's code. They depend on all that the turn hears, so that a code read in a journal does not
    fit a copy of that journal with another speech in it."""
    replies = [(other.id, debate.replies[other.id].reply.text) for other in schedule.turns_heard(debate, turn)]
    questions = [entry.text for entry in schedule.questions_put_to(debate, turn)]
    digest = debate.plan.opened_digest
    parts = [debate.opened.nonce, digest, turn.id, replies, questions, debate.changed_issues]
    number = int.from_bytes(hmac.digest(secret, json.dumps(parts).encode(), "sha256"))
    return "".join(_LETTERS[number // len(_LETTERS) ** place % len(_LETTERS)] for place in range(_LENGTH))


def with_code(schema: Mapping[str, Any], code: ReplyCode, *, any_text: bool = False) -> dict[str, Any]:
    """The JSON Schema of a reply with the code of a turn as its first and its last field; with `any_text`, with any
    text for it, so that all turns of a kind have the same."""
    field = {"type": "string"} | ({"description": _ABOUT} if any_text else {"enum": [code.text]})
    properties = {code.field: field, **schema["properties"]} | {code.field: field, code.end_field: field}
    return {**schema, "properties": properties, "required": list(properties)}


def plain_key(key: str) -> str:
    """A key in lower case, without spaces and punctuation."""
    return re.sub(r"[\W_]+", "", key).casefold()


# The secret

_NAME = "reply.key"
_BYTES = 32


def secret() -> bytes:
    """The 32 bytes that later processes read too; this process's own if they can't be kept. Raises BadFile if
    damaged."""
    try:
        return _read()
    except OSError:
        return _of_this_process()


def stored_secret() -> bytes:
    """The 32 bytes that later processes read too. Raises BadFile if they can't be kept, or their file is damaged."""
    try:
        return _read()
    except OSError as error:
        where = f"{error.filename}: " if error.filename else ""
        reason = f"{where}{error_text(error)}"
        problem = f"The secret for the codes of replies can't be kept for the next process ({reason})."
        raise BadFile(problem, hint="set XDG_STATE_HOME to a folder that can be written") from None


def _read() -> bytes:
    folder = state_folder()
    if folder is None:
        raise OSError("no state folder is known")
    path = folder / _NAME
    if not os.path.lexists(path):
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        with suppress(FileExistsError):  # another process has made one meanwhile
            create(path, secrets.token_bytes(_BYTES), mode=0o600)
    data = read_regular(path)
    if len(data) != _BYTES:
        problem = f"{path} does not hold {_BYTES} bytes, so the codes of replies can't be worked out."
        raise BadFile(problem, hint="remove that file, and another is made")
    return data


@cache
def _of_this_process() -> bytes:
    return secrets.token_bytes(_BYTES)
