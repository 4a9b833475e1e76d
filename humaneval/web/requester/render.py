"""Makes a response of a template of the requester's pages."""

from __future__ import annotations

from functools import cache

from flask import Response, abort
from jinja2 import Environment, PackageLoader, StrictUndefined

from humaneval.web.messages import root

ASSETS = {"requester.css": "text/css", "requester.js": "text/javascript"}


@cache
def _environment() -> Environment:
    return Environment(
        loader=PackageLoader("humaneval.web.requester"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )


def page(template: str, *, status: int = 200, **values: object) -> Response:
    """A page. `home` leads to the first of the requester's pages, from wherever the page is."""
    home = root().removesuffix("../../") or "./"
    html = _environment().get_template(template).render(home=home, **values)
    return Response(html, status=status, mimetype="text/html")


def asset(name: str) -> Response:
    """A file that the pages load."""
    if name not in ASSETS:
        abort(404)
    return Response(_asset(name), mimetype=ASSETS[name])


@cache
def _asset(name: str) -> str:
    loader = _environment().loader
    assert loader is not None
    return loader.get_source(_environment(), name)[0]
