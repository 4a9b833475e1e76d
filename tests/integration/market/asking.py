"""Words the tests share: the code of a refusal, and the account's two sums."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from typing import Any

import pytest
from botocore.exceptions import ClientError


def refusal(call: Callable[..., Any], **params: Any) -> str:
    """The TurkErrorCode that a call is refused with, without its prefix; AWS's own code where there is none."""
    with pytest.raises(ClientError) as caught:
        call(**params)
    response: dict[str, Any] = dict(caught.value.response)
    code: str = response.get("TurkErrorCode") or response["Error"]["Code"]
    return code.removeprefix("AWS.MechanicalTurk.")


def balances(mturk: Any) -> tuple[Decimal, Decimal]:
    """What is available and what is on hold."""
    reply = mturk.get_account_balance()
    return Decimal(reply["AvailableBalance"]), Decimal(reply["OnHoldBalance"])
