"""Parameters that botocore's model does not check far enough: lengths of texts, spans of time, amounts."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from typing import Any

from humaneval.errors import UsageError
from humaneval.fees import money
from humaneval.market.protocol.refusals import invalid

Params = Mapping[str, Any]
Reply = dict[str, Any]

MOST_DOLLARS = Decimal("100000.00")
LONGEST_REASON = 1024
"""Characters of the reason for a block, a rejected request or a revoked qualification."""
YEAR = 365 * 24 * 3600
"""The longest span in seconds, for everything but auto-approval."""


def text(params: Params, name: str, longest: int, *, empty: bool = True) -> str:
    """The text under `name`, at most `longest` characters; "" if it is left out. Raises RefusedError."""
    value: str = params.get(name, "")
    if len(value) > longest:
        raise invalid(f"{name} has {len(value)} characters; it must not be longer than {longest}.")
    if not empty and not value.strip():
        raise invalid(f"{name} must not be empty.")
    return value


def seconds(params: Params, name: str, least: int, most: int) -> int:
    """The whole seconds under `name`, from `least` to `most`. Raises RefusedError."""
    value: int = params[name]
    if not least <= value <= most:
        raise invalid(f"{name} must be from {least} to {most}.")
    return value


def amount(params: Params, name: str) -> int:
    """The dollars under `name`, in cents. Raises RefusedError."""
    try:
        value = money(params[name])
    except UsageError as error:
        raise invalid(f"{name}: {error.message}.") from None
    if value > MOST_DOLLARS:
        raise invalid(f"{name} must be at most {MOST_DOLLARS}.")
    return int(value * 100)
