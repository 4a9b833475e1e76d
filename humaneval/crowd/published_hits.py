"""The HITs and links that a study has put up, and where people find them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from decimal import Decimal
from enum import Enum
from typing import NamedTuple, TypeVar

from sqlalchemy import func, select
from sqlalchemy.orm import Session

from humaneval.crowd.link import Invitation
from humaneval.crowd.platform import CSV, HIT_GONE, LINK, Endpoint, PaidBonus, Platform, Submission
from humaneval.crowd.study_at import StudyAtPlatform
from humaneval.errors import PartialError, PlatformError, UsageError
from humaneval.fees import BY_RULE, shown
from humaneval.store.engine import reading
from humaneval.store.tables import AssignmentRow, DifferenceRow, HitRow, OutboxRow
from humaneval.study.planned_cost import PUBLISH as PUBLISH
from humaneval.study.stored import Study
from humaneval.text import command, counted

T = TypeVar("T")

GONE = "HIT"
"""The difference between a HIT that should be up and a platform that no longer has it."""
INVITE = "invite"
"""Stored for each link, so that it is made only once: a hash of the person or purpose that it is for."""


class UpHit(NamedTuple):
    """A HIT that is up: our id and the platform's id."""

    id: int
    external_id: str


def hits_of(session: Session, study: Study, endpoint: str) -> Sequence[HitRow]:
    """Every HIT or link that was planned for the study at this endpoint, in order."""
    return session.scalars(
        select(HitRow).where(HitRow.study_id == study.id, HitRow.endpoint == endpoint).order_by(HitRow.id)
    ).all()


def published_at(study: Study) -> tuple[str, ...]:
    """The endpoints where the study has a HIT or link that was put up and not closed."""
    with reading(study.engine) as session:
        found = session.scalars(
            select(HitRow.endpoint)
            .where(HitRow.study_id == study.id, HitRow.external_id.is_not(None), HitRow.closed_at.is_(None))
            .order_by(HitRow.id)
        )
        return tuple(dict.fromkeys(found))


def endpoints_of(study: Study) -> tuple[str, ...]:
    """Where the study is up; if nowhere, where it was up; or else where it is planned."""
    with reading(study.engine) as session:
        hits = session.scalars(select(HitRow).where(HitRow.study_id == study.id).order_by(HitRow.id)).all()
    published = [hit for hit in hits if hit.external_id is not None]
    open_ones = [hit for hit in published if hit.closed_at is None]
    return tuple(dict.fromkeys(hit.endpoint for hit in open_ones or published or hits))


def fees_of(study: Study) -> Fees:
    """The taker of fees where the study is up. A marketplace of one's own only writes them down."""
    there = set(endpoints_of(study))
    if "prolific" in there:
        return Fees.PROLIFIC
    return Fees.NOBODY if there.isdisjoint(BY_RULE) else Fees.AMAZON


class Fees(Enum):
    """The platforms that take fees on top of what people get."""

    NOBODY = ""
    AMAZON = "amazon"
    PROLIFIC = "prolific"

    def on_top(self, study: str, fees: Decimal, sign: str) -> str:
        """What comes on top of the rewards, in words; `fees` are those at Mechanical Turk's rates."""
        if self is Fees.PROLIFIC:
            ask = command("publish", study, "--to", "prolific", "--dry-run")
            return f", and Prolific takes fees, which `{ask}` shows"
        return f", and {shown(fees, sign)} fees at Mechanical Turk's rates" if self is Fees.AMAZON else ""


def go_on_command(study: str, endpoint: str, audience: str) -> str:
    """The command that puts up what is planned at an endpoint: of links, for the same `audience`."""
    options = {
        CSV: ["--out", "FOLDER"],
        "personal": ["--people", "FILE", "--out", "FILE"],
        "panel": ["--panel"],
    }
    return command("publish", study, "--to", endpoint, *options.get(audience or endpoint, []))


def more_command(study: str, endpoint: str, audience: str, places: int) -> str:
    """The command that puts up forms that were added. A link takes as many people as it was told to, and a
    personal one is for one person."""
    go_on = go_on_command(study, endpoint, audience)
    return go_on if endpoint != LINK or audience == "personal" else f"{go_on} --places {places}"


def preview_urls(study: Study, endpoint: Endpoint) -> tuple[str, ...]:
    """Where workers find the HITs that are up."""
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


def hits_of_links(
    session: Session, study: Study, endpoint: str, invitations: Sequence[Invitation]
) -> list[HitRow]:
    """The links of invitations that are up, in their order."""
    rows = session.execute(
        select(OutboxRow.subject, OutboxRow.request).where(
            OutboxRow.study_id == study.id,
            OutboxRow.endpoint == endpoint,
            OutboxRow.operation == INVITE,
        )
    )
    hits = {hit.id: hit for hit in hits_of(session, study, endpoint)}
    links = {subject: hits[request["hit"]] for subject, request in rows}
    return [links[f"{study.name}: {each.subject}"] for each in invitations]


def links_of(study: Study, endpoint: Endpoint, invitations: Sequence[Invitation]) -> list[str]:
    """The addresses of invitations that are up, in their order."""
    with reading(study.engine) as session:
        hits = hits_of_links(session, study, endpoint.name, invitations)
        return [endpoint.preview_url.format(type=hit.key) for hit in hits]


def refuse_closed(session: Session, study: Study, endpoint: str) -> None:
    """Raise UsageError if HITs of the study at this endpoint were deleted: closing it there has begun."""
    closed = (HitRow.study_id == study.id, HitRow.endpoint == endpoint, HitRow.closed_at.is_not(None))
    if deleted := session.scalar(select(func.count()).select_from(HitRow).where(*closed)):
        raise UsageError(
            f"study {study.name!r} was closed at {endpoint}, where {counted(deleted, 'HIT', 'was', 'were')}"
            " deleted",
            "A closed study stays closed. To ask more people, make another study of the same stories.",
        )


def refuse_closed_everywhere(study: Study) -> None:
    """Raise UsageError if the study was up, and is closed wherever it was: nobody would get more forms."""
    with reading(study.engine) as session:
        hits = session.scalars(select(HitRow).where(HitRow.study_id == study.id).order_by(HitRow.id)).all()
        closed = {hit.endpoint for hit in hits if hit.closed_at is not None}
        if closed == {hit.endpoint for hit in hits if hit.external_id is not None}:
            for endpoint in closed:
                refuse_closed(session, study, endpoint)


def refuse_elsewhere(at: StudyAtPlatform) -> None:
    """Raise PlatformError if the platform has none of the study's HITs: it is then another platform of that
    name.

    This makes one call as a rule, and none if nothing is up. A platform that still knows some of the HITs is
    the right one. HITs that are known to be gone prove nothing.
    """
    endpoint = at.platform.endpoint
    lost = known_gone(at.study, at.endpoint)
    hits = [hit for hit in up(at.study, at.endpoint) if hit.id not in lost]
    if not hits or at.platform.knows(hits[-1].external_id):
        return
    with reading(at.engine) as session:
        keys = [session.get_one(HitRow, hit.id).key for hit in hits]
    if at.platform.find(keys):
        return
    right = {"local": "HUMANEVAL_MARKET_URL", "prolific": "PROLIFIC_TOKEN"}.get(endpoint.name, "AWS_PROFILE")
    # A person who uses `up` alone has set no address: another `up` has the port now.
    first = (
        f"If its marketplace is not running, start it and try again: `{endpoint.starts}`. Or s"
        if endpoint.starts
        else "S"
    )
    none = "does not have the HIT" if len(hits) == 1 else f"has none of the {len(hits):,} HITs"
    raise PlatformError(
        f"{endpoint.name} ({endpoint.api_url}) {none} of study {at.name!r}:"
        " it is another marketplace or account, or they were deleted there",
        f"Nothing was changed. {first}et {right} to where the HITs are. If they are gone, take in what our"
        f" server has of their work: {command('collect', at.name, '--to', at.endpoint, '--accept-lost')}",
        nothing_done=True,
    )


def submitted(platform: Platform, external_id: str) -> list[Submission] | None:
    """Everything submitted at one HIT; None if the platform no longer has it."""
    return _unless_gone(lambda: platform.submissions(external_id))


def bonuses_listed(platform: Platform, external_id: str) -> list[PaidBonus] | None:
    """Every bonus at one HIT; None if the platform no longer has it. Bonuses of a deleted HIT may still be
    listed."""
    return _unless_gone(lambda: platform.bonuses_of(external_id))


def _unless_gone(listing: Callable[[], Iterable[T]]) -> list[T] | None:
    try:
        return list(listing())
    except PlatformError as error:
        if not error.code.endswith(HIT_GONE):
            raise
        return None


def refuse_gone(at: StudyAtPlatform, gone: Sequence[str], others: str) -> None:
    """Raise PartialError if HITs are gone at the platform, and nobody has accepted it; `others` says what was
    done with the rest."""
    with reading(at.engine) as session:
        accepted = session.scalars(
            select(HitRow.external_id)
            .join(DifferenceRow, DifferenceRow.hit_id == HitRow.id)
            .where(DifferenceRow.study_id == at.id, DifferenceRow.endpoint == at.endpoint)
            .where(DifferenceRow.what == GONE, DifferenceRow.accepted_at.is_not(None))
        ).all()
    gone = [hit for hit in gone if hit not in accepted]
    if gone:
        raise PartialError(
            f"{at.endpoint} no longer has the HIT {', '.join(gone)}; {others}",
            "What was collected before is still here. What our server has of the rest can be taken in:"
            f" {command('collect', at.name, '--to', at.endpoint, '--accept-lost')}",
        )


def known_gone(study: Study, endpoint: str) -> set[int]:
    """The HITs that the platform is known to have lost, by our ids."""
    lost = select(DifferenceRow.hit_id).where(
        DifferenceRow.study_id == study.id,
        DifferenceRow.endpoint == endpoint,
        DifferenceRow.what == GONE,
        DifferenceRow.over_at.is_(None),
    )
    with reading(study.engine) as session:
        return set(session.scalars(lost))


def up(study: Study, endpoint: str) -> list[UpHit]:
    """The study's HITs that are up at this endpoint, as far as our database knows; see `adopt`."""
    with reading(study.engine) as session:
        return [
            UpHit(hit.id, hit.external_id)
            for hit in hits_of(session, study, endpoint)
            if hit.external_id is not None and hit.closed_at is None
        ]


def to_collect(study: Study, endpoint: str) -> list[UpHit]:
    """Those that are up, and closed links with answers that came later: they are always kept."""
    late = select(HitRow.id, HitRow.external_id).where(
        HitRow.study_id == study.id,
        HitRow.endpoint == endpoint,
        HitRow.closed_at.is_not(None),
        select(AssignmentRow.id)
        .where(AssignmentRow.hit_id == HitRow.id, AssignmentRow.state == "answered")
        .exists(),
    )
    found = up(study, endpoint)
    if endpoint == LINK:
        with reading(study.engine) as session:
            found += [UpHit(hit, at or "") for hit, at in session.execute(late.order_by(HitRow.id))]
    return found
