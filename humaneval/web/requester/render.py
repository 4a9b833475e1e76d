"""Makes responses of the templates of the requester's pages, and divides long lists into pages."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import cache
from typing import Generic, TypeVar
from urllib.parse import quote

from flask import Response
from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup, escape

from humaneval.crowd.advice import left_out
from humaneval.report.figures.drawing import STYLE
from humaneval.report.phrases import amount, between
from humaneval.text import counted, time_taken
from humaneval.web.messages import root

T = TypeVar("T")
PER_PAGE = 50
ASSETS = {"requester.css": "text/css", "requester.js": "text/javascript"}


@dataclass(frozen=True, slots=True)
class Paged(Generic[T]):
    """One page of a list."""

    number: int
    """From 1."""
    pages: int
    total: int
    size: int = PER_PAGE
    items: Sequence[T] = ()

    @classmethod
    def at(cls, number: int, total: int, size: int = PER_PAGE) -> Paged[T]:
        """Page `number` of a list, or the nearest that there is."""
        pages = max(1, -(-total // size))
        return cls(min(max(number, 1), pages), pages, total, size)

    @property
    def offset(self) -> int:
        return (self.number - 1) * self.size

    def of(self, items: Sequence[T]) -> Paged[T]:
        """The same with its items."""
        return replace(self, items=items)


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=PackageLoader("humaneval.web.requester"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {"moment": _moment, "part": lambda text: quote(str(text), safe="")}
    environment.filters["whole"] = _whole
    environment.globals |= {"amount": amount, "between": between, "counted": counted}
    environment.globals |= {"left_out": left_out, "time_taken": time_taken}
    return environment


def _whole(command: str) -> Markup:
    """A command whose options are not broken over two lines: browsers break after a hyphen."""
    return Markup(" ").join(
        Markup('<span class="option">{}</span>').format(word) if word.startswith("-") else word
        for word in command.split(" ")
    )


def _moment(at: datetime | None) -> Markup:
    """A time as an element, in UTC; a dash if there is none."""
    if at is None:
        return Markup("—")
    at = at.astimezone(UTC)
    written = at.strftime("%Y-%m-%d %H:%M")
    return Markup('<time datetime="{}">{} UTC</time>').format(
        escape(at.isoformat(timespec="seconds")), written
    )


def part(template: str, **values: object) -> Markup:
    """A part of a page that another template makes."""
    return Markup(_environment().get_template(template).render(**values))


def page(template: str, *, status: int = 200, **values: object) -> Response:
    """A page. `home` leads to the first of the requester's pages, from wherever the page is."""
    home = root().removesuffix("../../") or "./"
    html = _environment().get_template(template).render(home=home, **values)
    return Response(html, status=status, mimetype="text/html")


@cache
def asset(name: str) -> str:
    """A file that the pages load; one of ASSETS."""
    environment = _environment()
    if environment.loader is None:
        raise LookupError(name)
    return environment.loader.get_source(environment, name)[0] + (STYLE if name.endswith(".css") else "")
