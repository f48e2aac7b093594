"""The dashboard's application: which view answers which address."""

from __future__ import annotations

from collections.abc import Iterable

from starlette.exceptions import HTTPException
from starlette.routing import Mount, Route, Router

from debate_orchestrator.web import pages
from debate_orchestrator.web.dashboard import Dashboard
from debate_orchestrator.web.guard import DASHBOARD, Guard, Scope, Tokens, is_same_token
from debate_orchestrator.web.reviewing import Reviews
from debate_orchestrator.web.runs import ServedDebates
from debate_orchestrator.web.seats import Seats
from debate_orchestrator.web.tournaments import Tournaments

_WITHOUT_DASHBOARD_TOKEN = ("/static/", "/seat/", "/review/")
"""Paths that do not need the token of the dashboard: seats and reviews have tokens of their own."""


def create_app(tokens: Tokens, hosts: Iterable[str], served_debates: ServedDebates | None = None) -> Guard:
    """The application for the debates of the working folder. `hosts` are the names under which it is asked for, with
    their ports; `served_debates` are ended with it."""
    served_debates = served_debates or ServedDebates()
    dashboard, seats = Dashboard(tokens, served_debates), Seats(tokens, served_debates)
    reviews, tournaments = Reviews(tokens), Tournaments()
    dashboard_routes = [
        Route("/", dashboard.debates),
        Route("/new", dashboard.new, methods=["GET", "POST"]),
        Route("/search", dashboard.search),
        Route("/compare", dashboard.compare),
        Route("/tournaments", tournaments.list_tournaments),
        Route("/tournaments/{name}", tournaments.tournament),
        Route("/tournaments/{name}/report", tournaments.report),
        Route("/tournaments/{name}/debates/{debate}", tournaments.debate),
        Route("/debates/{name}", dashboard.debate),
        Route("/debates/{name}/stream", dashboard.stream),
        Route("/debates/{name}/report", dashboard.report),
        Route("/debates/{name}/{action}", dashboard.act, methods=["POST"]),
    ]
    routes = [
        Route(f"{DASHBOARD}{{key}}", dashboard.with_slash),
        Mount(f"{DASHBOARD}{{key}}", app=Router(dashboard_routes, redirect_slashes=False)),
        Route("/static/{name}", pages.static_file),
        Route("/review/{name}/{token}", reviews.review, methods=["GET", "POST"]),
        Route("/review/{name}/{token}/report", reviews.report),
        Route("/seat/{name}/{seat}/{token}", seats.seat, methods=["GET", "POST"]),
        Route("/seat/{name}/{seat}/{token}/stream", seats.stream),
        Route("/seat/{name}/{seat}/{token}/report", seats.report),
    ]

    def admit(scope: Scope) -> None:
        if not scope["path"].startswith(_WITHOUT_DASHBOARD_TOKEN) and not is_same_token(
            f"{DASHBOARD}{tokens.dashboard}", pages.dashboard_of(scope)
        ):
            raise HTTPException(401, "Open the dashboard with the link that `debate serve` printed at its start.")

    return Guard(pages.application(routes, pages.failed, served_debates.shutdown), hosts=hosts, admit=admit)
