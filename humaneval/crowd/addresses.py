"""What a study has put up, and where people find it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple, TypeVar

from sqlalchemy import select
from sqlalchemy.orm import Session

from humaneval.crowd.link import Invitation
from humaneval.crowd.platform import HIT_GONE, Endpoint, PaidBonus, Platform, Submission
from humaneval.crowd.study_at import StudyAtPlatform
from humaneval.errors import PartialError, PlatformError, UsageError
from humaneval.store.engine import reading
from humaneval.store.tables import HitRow, OutboxRow
from humaneval.study.stored import Study

T = TypeVar("T")

PUBLISH = "publish"
INVITE = "invite"
"""Written down for each link of ours: which person or purpose it is for, as a hash, so that it is made
once."""


class UpHit(NamedTuple):
    """A HIT that is up: our id of it and the platform's."""

    id: int
    external_id: str


def hits_of(session: Session, study: Study, endpoint: str) -> Sequence[HitRow]:
    """Every HIT, or link of ours, that was planned for the study at this endpoint."""
    return session.scalars(
        select(HitRow).where(HitRow.study_id == study.id, HitRow.endpoint == endpoint).order_by(HitRow.id)
    ).all()


def preview_urls(study: Study, endpoint: Endpoint) -> tuple[str, ...]:
    """Where workers find what is up."""
    with reading(study.engine) as session:
        answers = session.scalars(
            select(OutboxRow.answer)
            .where(
                OutboxRow.study_id == study.id,
                OutboxRow.endpoint == endpoint.name,
                OutboxRow.operation == PUBLISH,
            )
            .order_by(OutboxRow.id)
        )
        return tuple(
            dict.fromkeys(endpoint.preview_url.format(type=answer["group"]) for answer in answers if answer)
        )


def is_static(study: Study, endpoint: str) -> bool:
    """Whether the study's pages at this endpoint are static."""
    with reading(study.engine) as session:
        return any(hit.row_id is not None for hit in hits_of(session, study, endpoint))


def links_of(study: Study, endpoint: Endpoint, invitations: Sequence[Invitation]) -> list[str]:
    """The addresses of invitations that are up, in their order."""
    with reading(study.engine) as session:
        rows = session.scalars(
            select(OutboxRow).where(
                OutboxRow.study_id == study.id,
                OutboxRow.endpoint == endpoint.name,
                OutboxRow.operation == INVITE,
            )
        )
        keys = {row.subject: session.get_one(HitRow, row.request["hit"]).key for row in rows}
        return [
            endpoint.preview_url.format(type=keys[f"{study.name}: {invitation.subject}"])
            for invitation in invitations
        ]


def refuse_closed(study: Study, endpoint: str, hits: Sequence[HitRow]) -> None:
    """Raise UsageError where HITs of the study at this endpoint were deleted: then it was closed there, or
    half so."""
    deleted = sum(hit.closed_at is not None for hit in hits)
    if deleted:
        raise UsageError(
            f"study {study.name!r} was closed at {endpoint}: its {deleted} HITs were deleted",
            "What is closed stays so. Another study, of the same stories if you like, asks more people.",
        )


def refuse_elsewhere(at: StudyAtPlatform) -> None:
    """Raise PlatformError where the platform has none of the study's HITs: it is another one of the same name.

    One call as a rule; none where nothing is up. A platform that forgot some of them, and not all, is the
    right one.
    """
    endpoint = at.platform.endpoint
    hits = up(at.study, at.endpoint)
    if not hits or at.platform.knows(hits[-1].external_id):
        return
    with reading(at.engine) as session:
        keys = [session.get_one(HitRow, hit.id).key for hit in hits]
    if at.platform.find(keys):
        return
    right = "HUMANEVAL_MARKET_URL" if endpoint.name == "local" else "AWS_PROFILE"
    raise PlatformError(
        f"{endpoint.name} ({endpoint.api_url}) has none of the {len(hits)} HITs that study {at.name!r} put up:"
        " it is another one, or they were deleted there",
        f"Nothing was changed. Set {right} to where they are; if that is gone for good, make another study.",
        nothing_done=True,
    )


def submitted(platform: Platform, external_id: str) -> list[Submission] | None:
    """Everything submitted at one HIT; None where the platform has it no more."""
    return _unless_gone(lambda: platform.submissions(external_id))


def bonuses_listed(platform: Platform, external_id: str) -> list[PaidBonus] | None:
    """Every bonus at one HIT; None where the platform has it no more. One that was deleted may still be
    listed."""
    return _unless_gone(lambda: platform.bonuses_of(external_id))


def _unless_gone(listing: Callable[[], Iterable[T]]) -> list[T] | None:
    try:
        return list(listing())
    except PlatformError as error:
        if not error.code.endswith(HIT_GONE):
            raise
        return None


def refuse_gone(endpoint: str, gone: Sequence[str], others: str) -> None:
    """Raise PartialError where the platform has some HITs no more; `others`: what became of the rest."""
    if gone:
        raise PartialError(
            f"{endpoint} has no HIT {', '.join(gone)} any more; {others}",
            "A HIT that was deleted keeps no answers; what was collected before is still there.",
        )


def up(study: Study, endpoint: str) -> list[UpHit]:
    """The study's HITs that were put up on this endpoint and not closed, as far as our database knows (see
    `adopt`)."""
    with reading(study.engine) as session:
        return [
            UpHit(hit.id, hit.external_id)
            for hit in hits_of(session, study, endpoint)
            if hit.external_id is not None and hit.closed_at is None
        ]
