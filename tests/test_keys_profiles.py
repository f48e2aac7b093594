"""Tokens of a profile of the vendor's SDK stay where they belong, as keys of the environment do."""

from __future__ import annotations

import json
import time
from pathlib import Path

import pytest
from conftest import CommandResult, Run
from local_http import listening
from test_keys import SETUP, bare, leaks

__all__ = ["bare"]
REFRESH, ACCESS, IDENTITY = "sk-ant-ort01-refresh-0123", "sk-ant-oat01-access-4567", "eyJhbGciOi.eyJzdWIi89.c2ln-01"
TOKENS = (REFRESH, ACCESS, IDENTITY)
CAST = ("--a=anthropic:m", "--b=anthropic:m", "--judge=anthropic:m")


@pytest.fixture
def profile(bare: None, monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder for profiles, which the SDK reads."""
    monkeypatch.setattr("debate_orchestrator.util.redact._learned", set())
    folder = tmp_path_factory.mktemp("profiles")
    monkeypatch.setenv("ANTHROPIC_CONFIG_DIR", str(folder))
    return folder


def signed_in(profile: Path, *, expired: bool = False, **config: str) -> None:
    """Writes a profile with credentials, as signing in does."""
    auth = {"type": "user_oauth", "client_id": "client"}
    tokens = {
        "access_token": ACCESS,
        "refresh_token": REFRESH,
        "expires_at": int(time.time()) + (-9 if expired else 9999),
    }
    for folder, data in (("configs", {"authentication": auth, **config}), ("credentials", tokens)):
        path = profile / folder / "default.json"
        path.parent.mkdir(parents=True)
        path.write_text(json.dumps(data), encoding="utf-8")
        path.chmod(0o600)


def ran_in_vain(debate: Run) -> CommandResult:
    """What came of a debate that gets no speech; none of the tokens is to be seen."""
    ran = debate("run", *SETUP, *CAST)
    assert ran.code in (3, 4), ran.err
    assert leaks(ran, TOKENS) == []
    return ran


@pytest.mark.parametrize("host", ["localhost.evil.example", "models.example"])
@pytest.mark.parametrize("expired", [False, True])
def test_no_token_in_the_clear(
    debate: Run, profile: Path, monkeypatch: pytest.MonkeyPatch, host: str, expired: bool
) -> None:
    """The address in a profile gets no token over plain http, neither with a request nor to renew it."""
    with listening() as proxy:
        monkeypatch.setenv("http_proxy", proxy.url)
        signed_in(profile, expired=expired, base_url=f"http://{host}:8080")
        ran = ran_in_vain(debate)

    assert proxy.heard == []
    assert "https" in ran.err


@pytest.mark.parametrize("expired", [False, True])
def test_no_token_through_a_proxy(debate: Run, profile: Path, monkeypatch: pytest.MonkeyPatch, expired: bool) -> None:
    """A token for a server on this machine goes through no proxy; without one it gets there."""
    with listening() as proxy, listening() as server:
        server.status = 401
        signed_in(profile, expired=expired, base_url=server.url)
        monkeypatch.setenv("http_proxy", proxy.url)
        ran = ran_in_vain(debate)
        assert proxy.heard == server.heard == []
        assert "NO_PROXY" in ran.err

        for path in Path().glob("r.*"):
            path.unlink()
        monkeypatch.setenv("no_proxy", "127.0.0.1,localhost")
        ran_in_vain(debate)
        assert proxy.heard == []
        assert (REFRESH if expired else ACCESS) in server.said()


def test_an_echo_of_the_refresh_token(debate: Run, profile: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A server that refuses to renew a token, and quotes it, gets it neither onto the screen nor into the journal."""
    with listening() as server:
        server.status = 400
        server.body = json.dumps({"error": "invalid_grant", "error_description": f"no: {REFRESH}"})
        signed_in(profile, expired=True, base_url=server.url)
        ran = ran_in_vain(debate)

    assert REFRESH in server.said()
    assert "WorkloadIdentityError (HTTP 400)" in ran.err


def test_an_echo_of_the_identity_token(debate: Run, profile: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The same of a token that federation reads from a file."""
    file = profile / "identity.jwt"
    file.write_text(IDENTITY, encoding="utf-8")
    monkeypatch.setenv("ANTHROPIC_IDENTITY_TOKEN_FILE", str(file))
    monkeypatch.setenv("ANTHROPIC_FEDERATION_RULE_ID", "rule")
    monkeypatch.setenv("ANTHROPIC_ORGANIZATION_ID", "organization")
    with listening() as server:
        server.status = 400
        server.body = json.dumps({"error": "invalid_grant", "error_description": f"no: {IDENTITY}"})
        monkeypatch.setenv("ANTHROPIC_BASE_URL", server.url)
        ran_in_vain(debate)

    assert IDENTITY in server.said()
