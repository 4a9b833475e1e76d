"""What a study costs where it is put up, if everything is approved: by the fees of each platform."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from typing import Any

from sqlalchemy import select
from sqlalchemy.orm import Session

from humaneval.fees import BY_RULE, CENT, reward_fee
from humaneval.store.tables import HitRow, OutboxRow
from humaneval.study.file import StudyFile

PUBLISH = "publish"
"""The outbox operation that puts up a HIT."""
COST = "cost"
"""Where the cost that the platform named stands in its request: for how many places, and the sum."""


def cost_told(places: int, total: Decimal) -> dict[str, Any]:
    """A platform's cost as it is stored with a publication."""
    return {"places": places, "total": str(total)}


def planned_cost(session: Session, study_id: int, settings: StudyFile) -> Decimal | None:
    """Rewards and fees for every place that was put up or is planned. None if a platform has its own fees,
    and was not asked for them."""
    hits = session.scalars(select(HitRow).where(HitRow.study_id == study_id)).all()
    asked = select(OutboxRow.subject, OutboxRow.request).where(
        OutboxRow.study_id == study_id, OutboxRow.operation == PUBLISH
    )
    requests = {row.subject: row.request for row in session.execute(asked)}
    total = Decimal("0.00")
    for hit in hits:
        cost = _of_hit(hit, settings, requests.get(f"hit {hit.id}", {}).get(COST))
        if cost is None:
            return None
        total += cost
    return total


def _of_hit(hit: HitRow, settings: StudyFile, told: Mapping[str, Any] | None) -> Decimal | None:
    reward, places = settings.hit.reward, hit.assignments
    if hit.endpoint in ("link", "csv"):
        return reward * places if settings.link.pay == "elsewhere" else Decimal("0.00")
    if hit.endpoint == "local" or not reward:
        return reward * places
    if hit.endpoint in BY_RULE:
        return places * (reward + reward_fee(reward, places, masters=settings.participants.masters))
    return None if told is None else (Decimal(told["total"]) * places / told["places"]).quantize(CENT)
