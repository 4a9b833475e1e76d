"""Stops verbs that would move money while a difference from the plan is not accepted."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from humaneval.crowd.hit_terms import Difference, told, unaccepted
from humaneval.crowd.plan_differences import open_differences
from humaneval.crowd.published_hits import GONE
from humaneval.crowd.study_at import StudyAtPlatform
from humaneval.errors import PartialError, PlatformError
from humaneval.store.engine import reading
from humaneval.store.tables import DifferenceRow
from humaneval.text import command


def refuse_unaccepted(at: StudyAtPlatform, nothing: str, hits: Collection[int] | None = None) -> None:
    """Raise PlatformError if a HIT, of `hits` or of all, differs from the plan and nobody has accepted it.

    `nothing` says what was not done: "Nothing was approved."
    """
    found = [
        Difference(row.hit.external_id or "", row.what, row.planned, row.there)
        for row in _standing(at, hits)
        if row.what != GONE and row.accepted_at is None
    ]
    if found:
        raise PlatformError(
            f"what is planned is not what is there: {'; '.join(told(found, at.endpoint, at.sign))}",
            f"{nothing} Correct it at {at.endpoint}, or accept it: {to_accept(at)}",
            nothing_done=True,
        )


def refuse_gone_hits(at: StudyAtPlatform, nothing: str, hits: Collection[int]) -> None:
    """Raise PlatformError if the platform lost one of `hits`, even if somebody has accepted that."""
    lost = sorted({row.hit.external_id or "" for row in _standing(at, hits) if row.what == GONE})
    if lost:
        raise PlatformError(
            f"{at.endpoint} no longer has the HIT {', '.join(lost)}",
            f"{nothing} What our server has of its work can be taken in: {to_accept(at, lost=True)}",
            nothing_done=True,
        )


def _standing(at: StudyAtPlatform, hits: Collection[int] | None) -> list[DifferenceRow]:
    """The differences that stand, of `hits` or of all."""
    with reading(at.engine) as session:
        rows = open_differences(session, at.study, at.endpoint)
        return [row for hit, each in rows.items() if hits is None or hit in hits for row in each]


def refuse_differing(at: StudyAtPlatform, differences: Sequence[Difference]) -> None:
    """Raise PartialError, after a verb has done its work, if nobody has accepted one of `differences`."""
    found = [each for each in unaccepted(differences) if each.what != GONE]
    if found:
        raise PartialError(
            f"what is planned is not what is there: {'; '.join(told(found, at.endpoint, at.sign))}",
            f"No money moves before somebody corrects it at {at.endpoint}, or accepts it: {to_accept(at)}",
        )


def to_accept(at: StudyAtPlatform, *, lost: bool = False) -> str:
    """The command with which a person accepts."""
    accepting = "--accept-lost" if lost else "--accept-differences"
    return command("collect", at.name, "--to", at.endpoint, accepting)
