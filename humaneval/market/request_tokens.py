"""UniqueRequestToken: a call that was made once is not made again within a day."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta
from typing import Any

from sqlalchemy import delete, select

from humaneval.market.protocol.refusals import RefusedError
from humaneval.market.tables.account import RequestToken
from humaneval.market.tables.database import Transaction

REMEMBERED = timedelta(hours=24)
"""Afterwards the same token does the same work once more, as it did on Mechanical Turk."""


def refuse_repeat(work: Transaction, operation: str, params: Mapping[str, Any]) -> None:
    """Raises RefusedError where this operation has done its work under this token already.

    The real service answered so too: a repeat is an error whose message names the HIT that the first call
    made, or that call's request id.
    """
    token = params.get("UniqueRequestToken")
    if token is None:
        return
    earlier = work.session.scalar(
        select(RequestToken).where(
            RequestToken.operation == operation,
            RequestToken.token == token,
            RequestToken.made_at > work.now - REMEMBERED,
        )
    )
    if earlier is None:
        return
    if operation in ("CreateHIT", "CreateHITWithHITType"):
        raise RefusedError("HitAlreadyExists", f"Hit {earlier.made} already exists.")
    raise RefusedError(
        "DuplicateRequest",
        f'The idempotency token "{token}" has already been processed. Request ID: {earlier.made}',
    )


def remember(work: Transaction, operation: str, params: Mapping[str, Any], made: str) -> None:
    """Keep the token of a call that succeeded, in the same transaction as what it did."""
    token = params.get("UniqueRequestToken")
    if token is not None:
        work.session.execute(delete(RequestToken).where(RequestToken.made_at <= work.now - REMEMBERED))
        work.session.add(RequestToken(operation=operation, token=token, made=made, made_at=work.now))
