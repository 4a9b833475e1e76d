"""What the tests share: the code of a refusal, the account's two sums, a worker who asks for a
qualification."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from typing import Any

import pytest
from botocore.exceptions import ClientError


def refusal(call: Callable[..., Any], **params: Any) -> str:
    """The TurkErrorCode of a refused call, without its prefix; AWS's own code if there is
    none."""
    with pytest.raises(ClientError) as caught:
        call(**params)
    response: dict[str, Any] = dict(caught.value.response)
    code: str = response.get("TurkErrorCode") or response["Error"]["Code"]
    return code.removeprefix("AWS.MechanicalTurk.")


def balances(mturk: Any) -> tuple[Decimal, Decimal]:
    """What is available and what is on hold."""
    reply = mturk.get_account_balance()
    return Decimal(reply["AvailableBalance"]), Decimal(reply["OnHoldBalance"])


def ask(worker: Any, kind: str) -> Any:
    """Request a qualification, as its button does."""
    return worker.post(f"/qualifications/{kind}/ask", csrf=worker.csrf())


def hand_in(worker: Any, kind: str, **answers: str) -> Any:
    """Send a test."""
    return worker.post(f"/qualifications/{kind}/test", csrf=worker.csrf(), **answers)


def score(mturk: Any, kind: str, worker: Any) -> int:
    """The score that a worker holds."""
    found: int = mturk.get_qualification_score(QualificationTypeId=kind, WorkerId=worker.id)["Qualification"][
        "IntegerValue"
    ]
    return found
