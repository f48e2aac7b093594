"""What may be opened with which link: the key of this server's desk, and the tokens of seats."""

from __future__ import annotations

import hashlib
import hmac
import secrets
from contextlib import suppress

from debate_orchestrator.storage.files import write_atomic
from debate_orchestrator.storage.paths import state_folder
from debate_orchestrator.util.errors import BadFile

_BYTES = 32


class Tokens:
    """The tokens of one server. Those of seats are worked out from the secret of its user, so that links to seats stay
    the same after a restart. Those of the desk are made anew each time: pages that are still open when a server ends
    send them to any program that takes its port."""

    def __init__(self, secret: bytes):
        self._secret = secret
        self.desk = secrets.token_hex(16)
        """Opens the desk. It stands in the addresses of its pages, since a browser sends cookies to every port of a
        host, and so to the servers of other users."""
        self.form = secrets.token_hex(16)
        """Stands in every form of the desk, so that no other site can send one."""

    def seat(self, debate: str, seat: str) -> str:
        """The token of a seat in the debate whose journal begins with the hash `debate`."""
        return self._of(f"seat {debate} {seat}")

    def review(self, debate: str) -> str:
        """The token with which the debate whose journal begins with that hash is reviewed."""
        return self._of(f"review {debate}")

    def reviewer(self, debate: str, stem: str) -> str:
        """The key of one reviewer of that debate. `stem` is the name of the reviewer's files without the ending."""
        return self._of(f"reviewer {debate} {stem}")

    def _of(self, purpose: str) -> str:
        return hmac.new(self._secret, purpose.encode(), hashlib.sha256).hexdigest()[:40]


def same(token: str, given: str) -> bool:
    """Whether a token is the one that was given; takes equally long whatever was given."""
    return hmac.compare_digest(token.encode(), given.encode("utf-8", "replace"))


def load() -> Tokens:
    """Tokens by the secret of this user, which is made on first use. Where it can't be kept, all links end with the
    server."""
    folder = state_folder()
    if folder is None:
        return Tokens(secrets.token_bytes(_BYTES))
    path = folder / "serve.key"
    with suppress(OSError, ValueError):
        if len(secret := bytes.fromhex(path.read_text(encoding="ascii"))) == _BYTES:
            return Tokens(secret)
    secret = secrets.token_bytes(_BYTES)
    with suppress(OSError, BadFile):
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        write_atomic(path, secret.hex(), mode=0o600)
    return Tokens(secret)
