"""The keys of HITs and links, their secrets, and Prolific's codes: unguessable, and the same each time.

They follow from a secret of the database and from what they are for. If an older copy of the database is put
back, the same plan has the same keys, and what is up already is found by them.
"""

from __future__ import annotations

import hmac
from base64 import urlsafe_b64encode
from collections import Counter
from collections.abc import Iterable

from sqlalchemy.orm import Session

from humaneval.crowd.prolific.completion_codes import codes_from
from humaneval.crowd.study_at import StudyAtPlatform
from humaneval.store.meta import PLANNING_KEY, stored_secret
from humaneval.store.tables import HitRow


class PlannedKeys:
    """Gives each HIT and link of a study at an endpoint its key."""

    def __init__(self, session: Session, at: StudyAtPlatform, hits: Iterable[HitRow]) -> None:
        self._secret = stored_secret(session, PLANNING_KEY)
        self._place = (at.endpoint, at.name, at.study.design_hash)
        rows: list[int | None] = [None, *session.scalars(at.study.row_ids)]
        self._numbers = {row: number for number, row in enumerate(rows)}
        self._planned = Counter(hit.row_id for hit in hits if not hit.audience)

    def of_hit(self, row_id: int | None) -> str:
        """The key of the next HIT: the first for certain rows, the second, and so on."""
        self._planned[row_id] += 1
        return self._key("hit", str(self._numbers[row_id]), str(self._planned[row_id]))

    def of_link(self, subject: str) -> str:
        """The key of a link. The same subject gives the same key."""
        return self._key("link", subject)

    def signing(self, key: str) -> str:
        """The secret by which our marketplace signs for the HIT with this key."""
        return urlsafe_b64encode(self._digest("sign", key)[:24]).decode()

    def codes(self, key: str) -> dict[str, str]:
        """The completion codes of the Prolific study with this key."""
        return codes_from(lambda outcome: self._digest("code", key, outcome))

    def _key(self, *of: str) -> str:
        # The letter in front: ad-blockers look for "/form/ad…".
        return "f" + urlsafe_b64encode(self._digest(*of)[:18]).decode()

    def _digest(self, *of: str) -> bytes:
        return hmac.digest(self._secret, "\n".join((*self._place, *of)).encode(), "sha256")
