"""Numbers as options take them: what is no number at all is refused in plain words, and so is "not a
number"."""

from __future__ import annotations

from math import isfinite
from typing import Any

import click


class Whole(click.IntRange):
    """A whole number between two bounds."""

    name = "whole number"

    def get_metavar(self, param: click.Parameter, ctx: click.Context) -> str:
        return "INTEGER"


class Number(click.FloatRange):
    """A number between two bounds; nan and inf are none."""

    name = "number"

    def get_metavar(self, param: click.Parameter, ctx: click.Context) -> str:
        return "FLOAT"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        number = super().convert(value, param, ctx)
        if not isfinite(number):
            self.fail(f"{value!r} is not a valid number.", param, ctx)
        return number


SHARE = Number(0, 1, min_open=True, max_open=True)
"""More than none and less than all."""
ANNOTATORS = Whole(1, 100_000)
"""As many as a study file may ask for."""
