"""A public site holds against visitors who mean harm, and its limits are counted and capped in dollars."""

from __future__ import annotations

import re
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from corpus import for_each
from messages_server import Server
from public_site import HOST, PAID, REHEARSAL, TOPIC, PublicVisitor, rules, visiting_public
from web_visitor import plain

from debate_orchestrator.web.public import site, visitor_limits
from debate_orchestrator.web.public.queue import StartQueue
from debate_orchestrator.web.public.visitor_limits import ALL_COST, DAY_COST, Charge, VisitorLimits


@pytest.fixture
def visitor(here: Path) -> Iterator[PublicVisitor]:
    """A visitor of a site on which stand-ins debate."""
    with visiting_public() as visitor:
        yield visitor


def test_a_damaged_journal_is_not_reported_to_visitors(visitor: PublicVisitor) -> None:
    """The page of a debate whose file was spoilt says no more than that; the owner's log says what is wrong."""
    path = visitor.started()
    visitor.until(path, "Complete")
    (journal,) = Path().glob("*.journal.jsonl")
    journal.write_text(journal.read_text(encoding="utf-8").replace("gRPC", "gRPX", 1), encoding="utf-8")
    answer = visitor.get(path)
    assert answer.status_code == 500 and "until the owner of this site" in answer.text
    assert "line" not in plain(answer.text) and "journal" in visitor.log[-1]
    assert visitor.get("/").status_code == 200


def test_what_is_served_and_what_is_taken(visitor: PublicVisitor) -> None:
    """A public site is guarded as the dashboard is, and has no address of it or of seats. No cookie is set. A form of
    another site or a large one starts nothing."""
    for path in ("/enter?key=0", "/new", "/search?q=x", "/compare", "/debates/x", "/seat/x/a/0"):
        assert visitor.get(path).status_code == 404, path
    for path in ("/d/nothing/", "/static/page.js/"):  # a slash too many would send a visitor on to http
        answer = visitor.get(path)
        assert answer.status_code == 404 and "location" not in answer.headers, path
    assert visitor.get("/", host=f"{HOST}.evil.example").status_code == 421
    home = visitor.get("/")
    assert "set-cookie" not in home.headers and "script-src 'self'" in home.headers["content-security-policy"]
    for headers in ({"origin": "https://evil.example"}, {"sec-fetch-site": "same-site"}):
        assert visitor.start(headers=headers).status_code == 403, headers
    assert visitor.start({"topic": "x" * 20_000}).status_code == 413
    assert not list(Path().iterdir())


def test_a_flood_is_stopped(visitor: PublicVisitor, monkeypatch: pytest.MonkeyPatch) -> None:
    """A visitor who asks too often is told when to come back; others are served meanwhile."""
    monkeypatch.setattr(visitor_limits, "_MAX_REQUESTS", 5)
    codes = [visitor.get("/static/page.css").status_code for _ in range(7)]
    assert codes == [200] * 5 + [429] * 2
    assert 1 <= int(visitor.get("/").headers["retry-after"]) <= 60
    visitor.address = "203.0.113.8"
    assert visitor.get("/").status_code == 200


FORWARDED = b"x-forwarded-for"


@for_each(
    [
        ("1.2.3.4", "1.2.3.4"),
        ("::ffff:1.2.3.4", "1.2.3.4"),
        ("2001:db8::1", "2001:db8::/64"),
        ("8.8.8.8, 1.2.3.4", "1.2.3.4"),
        ("none", "unknown"),
        ("", "203.0.113.7"),
    ]
)
def test_where_a_visitor_comes_from(stated: str, address: str) -> None:
    """What the proxy states last; of IPv6, the network that one customer has."""
    scope = {"client": ("203.0.113.7", 1), "headers": [(FORWARDED, stated.encode())]}
    assert visitor_limits.address(scope) == address


def test_the_key_of_pseudonyms_changes_with_the_day(monkeypatch: pytest.MonkeyPatch) -> None:
    """The same address has another pseudonym on another day, and the same one within a day; counts begin anew."""
    counted, scope, pseudonyms = VisitorLimits(rules(), {}), {"client": ("203.0.113.7", 1), "headers": []}, []
    for day in ("2030-01-01", "2030-01-01", "2030-01-02"):
        monkeypatch.setattr(visitor_limits, "today", lambda day=day: day)
        pseudonyms.append(counted.visitor(scope))
        assert (counted.exceeded_limit({"x": 1}) == "x") == (len(pseudonyms) == 2)
        counted.count("x")
    assert pseudonyms[0] == pseudonyms[1] != pseudonyms[2]


def test_dollars_are_reserved_and_settled(monkeypatch: pytest.MonkeyPatch) -> None:
    """A debate's cap counts until its cost is known, for all debates and for each day until it ends; what it spent on
    earlier days does not count for a day on which it goes on. What costs nothing is always admitted."""
    permitted, earlier = rules(max_cost_in_total=3.0, max_cost_per_day=1.5), Charge(1.25, 1.0, "2030-01-01")
    counted = VisitorLimits(permitted, {"old": earlier})
    monkeypatch.setattr(visitor_limits, "today", lambda: "2030-01-02")
    assert counted.exceeded_limit({}, 1.0) is None
    counted.charge("new", 1.0)
    assert counted.exceeded_limit({}, 1.0) == DAY_COST and counted.exceeded_limit({}) is None
    assert counted.exceeded_limit({}, 1.25, "old") is None and counted.exceeded_limit({}, 1.75, "old") == DAY_COST
    monkeypatch.setattr(visitor_limits, "today", lambda: "2030-01-03")
    assert counted.exceeded_limit({}, 1.0) == DAY_COST, "it still runs on the next day"
    counted.charge("new", 0.25, ended=True)
    assert counted.exceeded_limit({}, 1.0) is None
    counted.charge("old", 2.5, ended=True)
    assert counted.exceeded_limit({}, 1.0) == DAY_COST and counted.exceeded_limit({}, 2.0, "odd") == DAY_COST
    counted.charge("odd", float("nan"))
    assert counted.exceeded_limit({}, 0.01) == DAY_COST
    assert VisitorLimits(permitted, {"old": earlier._replace(total=2.5)}).exceeded_limit({}, 1.0) == ALL_COST


def cheap_offer(max_cost: float) -> dict[str, Any]:
    return PAID | {"cast": dict.fromkeys(("a", "b", "judge"), "anthropic:claude-haiku-4-5"), "max_cost": max_cost}


def a_day_later(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (visitor_limits, site):
        monkeypatch.setattr(module, "today", lambda: "9999-01-01")


def test_money_is_counted_before_a_debate_begins(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What a debate may cost is reserved before its first call, and the next server counts it from the journal: for the
    day on which it goes on, within the limit of that day. It names those that it does not continue."""
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-ant-for-this-test-alone")
    queued: list[str] = []
    monkeypatch.setattr(StartQueue, "add", lambda queue, path: queued.append(path))

    def codes(*offers: str, **limits: float) -> list[int]:
        queued.clear()
        with visiting_public(rules(offers={"one": cheap_offer(0.4), "two": REHEARSAL}, **limits)) as visitor:
            statuses = [visitor.start({**TOPIC, "offer": offer}).status_code for offer in offers]
            named = [line for line in visitor.log if "so it is not continued" in line]
            return [len(queued), len(named), *statuses]

    assert codes("one", "one", "two", max_cost_in_total=0.6) == [2, 0, 303, 503, 303]
    assert codes("one", "two", max_cost_in_total=0.6) == [3, 0, 503, 303]
    assert codes("one", max_cost_in_total=9.0, max_cost_per_day=0.8) == [4, 0, 303]
    assert codes("one", max_cost_in_total=9.0, max_cost_per_day=0.8) == [4, 0, 429]
    a_day_later(monkeypatch)
    assert codes("one", max_cost_in_total=9.0, max_cost_per_day=0.8) == [4, 0, 429], "both may be spent today"
    assert codes("one", max_cost_in_total=9.0, max_cost_per_day=0.7) == [3, 1, 429], "the second one does not fit today"
    assert codes("one", max_cost_in_total=9.0, max_cost_per_day=1.2) == [5, 0, 303]


def test_a_debate_that_stops_over_its_cap_counts_whole(
    here: Path, server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A reply may cost more than is left of a debate's cap. What it cost counts at once against the site's caps, and so
    it does where its journal can't be used later."""
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-ant-for-this-test-alone")
    monkeypatch.setenv("ANTHROPIC_BASE_URL", server.url)
    server.problem = lambda request, n: {"usage": {"output_tokens": 100_000}}
    permitted = rules(offers={"one": cheap_offer(0.1)}, max_cost=0.5)
    with visiting_public(permitted) as visitor:
        visitor.until(visitor.started(), "Try: start a debate with fewer rounds")
        assert visitor.start(TOPIC).status_code == 503
        (spent,) = visitor.site.limits._charges.values()
    assert len(server.requests) == 2 and spent.total > 0.5  # the two turns before the debate are taken at once
    (path,), (charge,) = Path().glob("*.public.journal.jsonl"), site.earlier_charges(0.1).values()
    assert charge.earlier == 0.0
    lines = path.read_bytes().splitlines(keepends=True)
    damaged = {
        b"".join(lines).replace(b'"at":"2', b'"at":"1', 1): spent.total,
        lines[0] + b"".join(lines[2:]): spent.total,
        b"": 2.0,
    }
    for data, least in damaged.items():  # a journal that can't be used counts as surely
        path.write_bytes(data)
        (charge,) = site.earlier_charges(2.0).values()
        assert charge.total >= least and charge.last_day == visitor_limits.today(), data[:99]
    path.write_bytes(b"".join(lines))
    Path("0.public.rehearsed.journal.jsonl").touch()  # it called no model
    names = ["removed-meanwhile.public", *site.debate_list.names()]
    monkeypatch.setattr(site.debate_list, "names", lambda: names)
    a_day_later(monkeypatch)
    assert [charge.earlier for charge in site.earlier_charges(0.1).values()] == [spent.total]


def test_a_form_that_comes_twice_starts_one_debate(here: Path) -> None:
    """A form that comes again while its topic is looked at, and later, leads to the debate that it began. Another
    topic begins another."""
    with visiting_public(rules(screening="sleep 0.3")) as visitor, ThreadPoolExecutor(2) as clicks:
        (submission_id,) = re.findall(r'name="submission_id" value="(\w{32})"', visitor.get("/").text)
        form = {**TOPIC, "submission_id": submission_id}
        twice = [clicks.submit(visitor.start, form) for _ in range(2)]
        addresses = {click.result().headers["location"] for click in twice}
        assert len(addresses) == 1 and visitor.start(form).headers["location"] in addresses
        assert visitor.start({**form, "topic": "Is another good?"}).headers["location"] not in addresses
    assert len(list(Path().glob("*.journal.jsonl"))) == 2
