"""Countries by the codes of ISO 3166, as locale requirements name them."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from typing import NamedTuple


class Country(NamedTuple):
    """A country or territory of ISO 3166."""

    code: str
    name: str


@cache
def countries() -> tuple[Country, ...]:
    """All countries, by name. The table comes from the time zone database, which is in the public domain."""
    text = files("humaneval.market.protocol").joinpath("countries.txt").read_text(encoding="utf-8")
    return tuple(Country(*line.split("\t")) for line in text.splitlines())


@cache
def country_names() -> Mapping[str, str]:
    """The names of countries, by code."""
    return dict(countries())


def country_name(code: str) -> str:
    """A country's name; the code itself if there is no such country."""
    return country_names().get(code, code)
