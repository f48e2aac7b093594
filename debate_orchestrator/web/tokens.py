"""What may be opened with which link: one secret of this user's, from which every token is worked out."""

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
    """The tokens of one user. They stay the same after a restart, so that links and open pages do too."""

    def __init__(self, secret: bytes):
        self._secret = secret
        self.desk = self._of("desk")
        """Opens the desk, and is kept in a cookie."""
        self.form = self._of("form")
        """Stands in every form of the desk, so that no other site can send one."""

    def seat(self, debate: str, seat: str) -> str:
        """The token of a seat in the debate whose journal begins with the hash `debate`."""
        return self._of(f"seat {debate} {seat}")

    def review(self, debate: str) -> str:
        """The token with which the debate whose journal begins with that hash is reviewed."""
        return self._of(f"review {debate}")

    def _of(self, purpose: str) -> str:
        return hmac.new(self._secret, purpose.encode(), hashlib.sha256).hexdigest()[:40]


def same(token: str, given: str) -> bool:
    """Whether a token is the one that was given; takes equally long whatever was given."""
    return hmac.compare_digest(token.encode(), given.encode("utf-8", "replace"))


def load() -> Tokens:
    """The tokens of this user; their secret is made on first use. Where it can't be kept, links end with the server."""
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
        write_atomic(path, secret.hex())
        path.chmod(0o600)
    return Tokens(secret)
