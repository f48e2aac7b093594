"""Addresses of databases: read whole, and shown without their passwords."""

from __future__ import annotations

import pytest

from debate_orchestrator.tournament.cluster.database import shown_address
from debate_orchestrator.util.errors import BadSettings
from debate_orchestrator.util.redact import redact

conninfo = pytest.importorskip("psycopg.conninfo")


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("postgresql://ada:pass?word@db.example/x", "postgresql://ada@db.example/x"),
        ("postgresql://ada:1234#5678@db.example/x", "postgresql://ada@db.example/x"),
        ("postgres://ada:pass%40word@db.example:5433/x", "postgresql://ada@db.example:5433/x"),
        ("postgresql://ada:password@[::1]:5433/x", "postgresql://ada@[::1]:5433/x"),
        ("postgresql://one:1,two:2/x?target_session_attrs=any", "postgresql://one:1,two:2/x?target_session_attrs=any"),
        ("postgresql://one,two/x", "postgresql://one,two/x"),
        ("postgresql://db/x?sslmode=verify-full&password=password", "postgresql://db/x?sslmode=verify-full"),
        ("postgresql://db/x?sslkey=k&sslpassword=password", "postgresql://db/x?sslkey=k"),
        ("postgresql:///x?host=/run/socket&user=ada", "postgresql://ada@%2Frun%2Fsocket/x"),
        ("postgresql://db", "postgresql://db/"),
    ],
)
def test_an_address_is_shown_without_its_passwords(url: str, expected: str) -> None:
    """All else is shown, so that a command with the address that is shown reaches the same database the same way."""
    assert shown_address(url) == expected

    said, kept = (conninfo.conninfo_to_dict(address) for address in (url, expected))
    lost = {name for name in said if said[name] != kept.get(name)}
    assert lost <= {"password", "sslpassword", "port"} and said.get("port", "").strip(",") == kept.get(
        "port", ""
    ).strip(",")


@pytest.mark.parametrize("address", ["ada:hunter22@secret@db/x", "ada:1234/secret@db/x", "ada:hunter22/secret@db/x"])
def test_a_password_that_ends_too_early_is_not_shown(address: str) -> None:
    """With an @ or a / in a password the rest of it would be taken for a host or a database: it is refused untold."""
    with pytest.raises(BadSettings, match="%40 for @ and %2F for /") as refused:
        shown_address(f"postgresql://{address}")
    assert not [part for part in ("hunter22", "1234", "secret") if part in str(refused.value)]


@pytest.mark.parametrize("url", ["mysql://db/x", "postgresql://db/x?nothing=1", "postgresql://ada:pass%zz@db/x", "db"])
def test_what_is_no_address_is_told(url: str) -> None:
    """The error says what an address looks like, and quotes nothing of this one."""
    with pytest.raises(BadSettings, match="postgresql://USER@HOST/DATABASE") as refused:
        shown_address(url)
    assert url not in str(refused.value) and "pass%" not in str(refused.value)


def test_a_password_of_an_address_is_redacted() -> None:
    """What the database or its library says is quoted without the password, even one with characters of addresses."""
    shown_address("postgresql://ada:correct?horse#staple@db/x")
    assert redact("no entry for correct?horse#staple") == "no entry for [key]"
