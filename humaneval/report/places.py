"""Through which places people came to a study, in the words of a report."""

from __future__ import annotations

from collections.abc import Mapping

from sqlalchemy import select
from sqlalchemy.orm import Session

from humaneval.store.tables import HitRow
from humaneval.study.file import StudyFile
from humaneval.study.money_paid import stand_ins
from humaneval.study.panels import known_panels

PLATFORMS = {
    "production": "Amazon Mechanical Turk",
    "sandbox": "the sandbox of Amazon Mechanical Turk",
    "local": "a self-hosted marketplace",
    "link": "links",
    "csv": "batches that were made from files",
    "prolific": "Prolific",
}
STAND_INS = {"prolific": "a stand-in for Prolific"}
AUDIENCES = {"open": "an open link", "personal": "personal links", "panel": "a panel"}


def places_of(session: Session, study_id: int, settings: StudyFile) -> Mapping[str, str]:
    """Endpoint → the place in words. A stand-in is not called by the service's name, nor a panel a link."""
    hits = select(HitRow.audience).where(HitRow.study_id == study_id, HitRow.endpoint == "link").distinct()
    by_link = [AUDIENCES[each] for each in sorted(session.scalars(hits)) if each in AUDIENCES]
    panel = known_panels().get(settings.link.panel, {}).get("title")
    if panel:
        by_link = [f"the panel {panel}" if each == AUDIENCES["panel"] else each for each in by_link]
    links = {"link": " and ".join(by_link)} if by_link else {}
    played = {each: STAND_INS[each] for each in stand_ins(session, study_id) if each in STAND_INS}
    return {**PLATFORMS, **links, **played}
