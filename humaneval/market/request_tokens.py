"""UniqueRequestToken: the same call is not carried out twice within a day."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta
from typing import Any

from sqlalchemy import delete, select

from humaneval.market.protocol.refusals import RefusedError
from humaneval.market.tables.account import RequestToken
from humaneval.market.tables.database import Transaction

REMEMBERED = timedelta(hours=24)
"""After this the same token does the work again, as it did on Mechanical Turk."""


def refuse_repeat(work: Transaction, operation: str, params: Mapping[str, Any]) -> None:
    """Raises RefusedError if this operation has already succeeded with this token.

    As in the real service, a repeat is an error. Its message names the HIT that the first call made, or the
    first call's request id.
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
    """Keep the token of a call that succeeded, in the transaction of the call itself."""
    token = params.get("UniqueRequestToken")
    if token is not None:
        work.session.execute(delete(RequestToken).where(RequestToken.made_at <= work.now - REMEMBERED))
        work.session.add(RequestToken(operation=operation, token=token, made=made, made_at=work.now))
