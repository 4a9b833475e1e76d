"""Option types for numbers and amounts, which refuse other text, nan and infinity in plain words."""

from __future__ import annotations

from decimal import Decimal
from math import isfinite
from typing import Any

import click

from humaneval.fees import SIGNS, money


class Whole(click.IntRange):
    """A whole number between two bounds."""

    name = "whole number"

    def get_metavar(self, param: click.Parameter, ctx: click.Context) -> str:
        return "INTEGER"


class Number(click.FloatRange):
    """A number between two bounds; not nan, not infinity."""

    name = "number"

    def get_metavar(self, param: click.Parameter, ctx: click.Context) -> str:
        return "FLOAT"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        number = super().convert(value, param, ctx)
        if not isfinite(number):
            self.fail(f"{value!r} is not a valid number.", param, ctx)
        return number


class Dollars(click.ParamType[Decimal]):
    """An amount of money in whole cents, with or without the sign of its currency."""

    name = "dollars"

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> Decimal:
        """`value` as an amount. The error says what is wrong with it."""
        return money(str(value).strip().lstrip("".join(SIGNS.values())))


SHARE = Number(0, 1, min_open=True, max_open=True)
"""More than 0 and less than 1."""
COUNT = Whole(1, 2**31 - 1)
"""As many as every database counts."""
ANNOTATORS = Whole(1, 100_000)
"""As many annotators as a study file may ask for."""
