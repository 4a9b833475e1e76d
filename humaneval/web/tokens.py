"""Tokens in addresses and pages: each leads back to one claim, of the person to whom it was given.

If an older copy of the database is put back, ids of claims are given again. So a token names the person, too.
"""

from __future__ import annotations

import hmac
from typing import Any, NamedTuple

from itsdangerous import BadSignature, URLSafeSerializer
from sqlalchemy import func, select
from sqlalchemy.orm import Session

from humaneval.crowd.stored_claim import Work
from humaneval.store.meta import stored_value
from humaneval.store.tables import AssignmentRow

LAST_UNMARKED = "last unmarked claim"
"""Where a database keeps the last claim whose tokens an earlier version made. They name no person."""


class Token(NamedTuple):
    """What a token says: the claim, a keyed hash of its worker's id, and where a HIT's answers go."""

    claim: int
    mark: str
    origin: str = ""


class Tokens:
    """Makes and reads the tokens of one server. Those without a mark lead to no claim after `unmarked`."""

    def __init__(self, signer: URLSafeSerializer, unmarked: int) -> None:
        self._signer, self._unmarked = signer, unmarked

    def made(self, way: str, claim: int, worker: str) -> str:
        """A token that leads back to a claim of `worker`, only by this `way`."""
        return self._signed([claim, self._mark(worker)], salt=way)

    def made_for_hit(self, claim: int, worker: str, origin: str) -> str:
        """The same for the form of a HIT, whose answers go to `origin`."""
        return self._signed([claim, origin, self._mark(worker)])

    def read(self, way: str, token: str) -> Token | None:
        """What a token says; None if we have not signed it for this `way`."""
        try:
            said = self._signer.loads(token, salt=way)
        except BadSignature:
            return None
        claim, mark = said if isinstance(said, list) else (said, "")
        return Token(int(claim), mark)

    def read_for_hit(self, token: str) -> Token | None:
        """The same for the form of a HIT."""
        try:
            claim, origin, *mark = self._signer.loads(token)
        except BadSignature:
            return None
        return Token(claim, mark[0] if mark else "", origin)

    def leads_to(self, token: Token, work: Work) -> bool:
        """Whether the claim with a token's id is the one for which the token was made."""
        if not token.mark:
            return work.id <= self._unmarked
        # Of a worker whose id was purged, all work is long over.
        return work.worker is None or hmac.compare_digest(token.mark, self._mark(work.worker))

    def _mark(self, worker: str) -> str:
        return self._signer.make_signer(salt="worker").get_signature(worker.encode()).decode()

    def _signed(self, said: list[Any], salt: str | None = None) -> str:
        return str(self._signer.dumps(said, salt=salt))


def last_unmarked(session: Session) -> int:
    """The last claim of this database whose tokens named no person, noted at the first start."""
    last = select(func.max(AssignmentRow.id))
    return int(stored_value(session, LAST_UNMARKED, lambda: str(session.scalar(last) or 0)))
