"""Participant groups."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from sqlalchemy import delete, func, select

from humaneval.market.prolific_standin.database import Work, new_id
from humaneval.market.prolific_standin.refusals import NotFound, Refusal
from humaneval.market.prolific_standin.tables import Group, Member


def make(work: Work, name: object, description: object, participant_ids: object) -> Group:
    """A new group. Raises Refusal."""
    if not isinstance(name, str) or not name.strip():
        raise Refusal({"name": ["This field is required."]})
    group = Group(id=new_id(), name=name, made_at=work.now, deleted=False)
    group.description = description if isinstance(description, str) else None
    work.session.add(group)
    work.session.flush()
    join(work, group.id, ids_in(participant_ids or []))
    return group


def find(work: Work, group_id: str) -> Group:
    """The group with this id. Raises NotFound if there is none, or it was deleted."""
    group = work.session.get(Group, group_id)
    if group is None or group.deleted:
        raise NotFound("Participant group")
    return group


def ids_in(given: object) -> list[str]:
    """Ids of participants. Raises Refusal for anything else."""
    if not isinstance(given, list) or not all(isinstance(each, str) for each in given):
        raise Refusal({"participant_ids": ["This must be a list of texts."]})
    return given


def join(work: Work, group_id: str, participant_ids: Iterable[str]) -> None:
    """Add participants. A member stays one, and a group that is gone takes nobody."""
    if work.session.get(Group, group_id) is None:
        return
    known = {each.participant_id for each in members(work, group_id)}
    for each in dict.fromkeys(participant_ids):
        if each not in known:
            work.session.add(Member(group_id=group_id, participant_id=each, made_at=work.now))
    work.session.flush()


def leave(work: Work, group_id: str, participant_ids: Sequence[str] | None = None) -> None:
    """Take participants out, by default all of them."""
    query = delete(Member).where(Member.group_id == group_id)
    if participant_ids is not None:
        query = query.where(Member.participant_id.in_(participant_ids))
    work.session.execute(query)


def members(work: Work, group_id: str) -> Sequence[Member]:
    """The members of a group, in the order in which they came."""
    return work.session.scalars(
        select(Member).where(Member.group_id == group_id).order_by(Member.number)
    ).all()


def size(work: Work, group_id: str) -> int:
    """How many members a group has."""
    return (
        work.session.scalar(select(func.count()).select_from(Member).where(Member.group_id == group_id)) or 0
    )
