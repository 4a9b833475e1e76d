"""UniqueRequestToken: a call that was made once is not made again."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sqlalchemy import select

from humaneval.market.database import Transaction
from humaneval.market.refusals import RefusedError
from humaneval.market.tables import RequestToken


def refuse_repeat(work: Transaction, operation: str, params: Mapping[str, Any]) -> None:
    """Raises RefusedError where this operation has done its work under this token already.

    The real service answered so too: a repeat is an error whose message names what the first call made.
    """
    token = params.get("UniqueRequestToken")
    if token is None:
        return
    earlier = work.session.scalar(
        select(RequestToken).where(RequestToken.operation == operation, RequestToken.token == token)
    )
    if earlier is None:
        return
    if operation in ("CreateHIT", "CreateHITWithHITType"):
        raise RefusedError("HITAlreadyExists", f"Hit {earlier.made} already exists.")
    raise RefusedError(
        "DuplicateRequest",
        f'The idempotency token "{token}" has already been processed. Request ID: {earlier.made}',
    )


def remember(work: Transaction, operation: str, params: Mapping[str, Any], made: str) -> None:
    """Keep the token of a call that succeeded, in the same transaction as what it did."""
    token = params.get("UniqueRequestToken")
    if token is not None:
        work.session.add(RequestToken(operation=operation, token=token, made=made, made_at=work.now))
