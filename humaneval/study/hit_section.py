"""The section [hit] of a study file."""

from __future__ import annotations

from decimal import Decimal
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BeforeValidator, Field

from humaneval.errors import HumanEvalError
from humaneval.fees import money, sign_of
from humaneval.study.section import Printable, Section, Whole, printable, something


def _dollars(value: Any) -> Decimal:
    try:
        return money(str(value))
    except HumanEvalError as error:
        raise ValueError(error.message) from None


Dollars = Annotated[Decimal, BeforeValidator(_dollars), Field(ge=0)]


class HitSection(Section):
    """The HIT as the platform lists it, and what it pays."""

    title: Annotated[str, Field(max_length=128), AfterValidator(printable), AfterValidator(something)] = (
        "Read short stories and find the sentence that a machine wrote"
    )
    description: Annotated[
        str, Field(max_length=2000), AfterValidator(printable), AfterValidator(something)
    ] = "Read a few short stories and mark the sentence that a machine wrote."
    keywords: tuple[Printable, ...] = ()
    reward: Dollars = Decimal("0.80")
    currency: Literal["USD", "GBP", "EUR"] = "USD"
    expected_minutes: float = Field(4, gt=0)
    assignment_minutes: Whole = Field(45, ge=1, le=525_600)
    lifetime_days: float = Field(7, gt=0, le=365)
    auto_approval_days: float = Field(3, ge=0, le=30)

    @property
    def hourly(self) -> Decimal:
        """The hourly wage of an annotator who takes `expected_minutes`."""
        return (self.reward * 60 / Decimal(str(self.expected_minutes))).quantize(Decimal("0.01"))

    @property
    def sign(self) -> str:
        """What stands before an amount."""
        return sign_of(self.currency)

    @property
    def lifetime_seconds(self) -> int:
        """How long the HITs can be found, in seconds."""
        return round(self.lifetime_days * 86_400)
