"""Templates to HTML, with the stylesheet and the pieces of the report's page."""

from __future__ import annotations

from functools import cache
from typing import Any
from urllib.parse import quote

from jinja2 import ChoiceLoader, Environment, PackageLoader, StrictUndefined

from debate_orchestrator.core.costs import CostLine
from debate_orchestrator.reports.html import writer as html
from debate_orchestrator.util import model_spec
from debate_orchestrator.util.numbers import plural

STATIC = {"page.js": "text/javascript; charset=utf-8", "page.css": "text/css; charset=utf-8"}
"""The files that pages load, and their types."""


def render(template: str, **values: Any) -> str:
    """A template of `web/templates` as HTML. Every value is escaped that is not HTML already."""
    return _environment().get_template(template).render(values)


def money(total: CostLine) -> str:
    """What calls have cost, as every page says it; empty before the first call."""
    if not total.calls:
        return ""
    unknown = f"{plural(total.unknown, 'call')} of unknown price"
    if total.unknown == total.calls:
        return unknown
    return f"at least ${total.cost:.2f}, and {unknown}" if total.unknown else f"${total.cost:.2f}"


@cache
def static(name: str) -> str:
    """A file that pages load. The stylesheet is the report's, and below it what only these pages need."""
    environment = _environment()
    assert environment.loader is not None
    own = environment.loader.get_source(environment, f"static/{name}")[0]
    if name != "page.css":
        return own
    return f"{environment.loader.get_source(environment, 'report/page.css')[0]}\n{own}"


@cache
def _environment() -> Environment:
    from jinja2 import PrefixLoader

    shared = PrefixLoader(
        {
            "report": PackageLoader("debate_orchestrator", "reports/html"),
            "static": PackageLoader("debate_orchestrator", "web/static"),
        }
    )
    environment = Environment(
        loader=ChoiceLoader([PackageLoader("debate_orchestrator", "web/templates"), shared]),
        undefined=StrictUndefined,
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {
        "line": html.line,
        "literal": html.literal_html,
        "path": lambda name: quote(name, safe=""),
        "model": model_spec.public_name,
    }
    return environment
