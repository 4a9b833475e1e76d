"""The workers of a study as its researcher sees them: pseudonyms, what they did, if they are kept out."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Collection, Iterator, Mapping
from datetime import datetime
from decimal import Decimal
from functools import partial
from typing import Any, NamedTuple

from sqlalchemy import func, select
from sqlalchemy.orm import Session

from humaneval.crowd.letter_text import plain_words
from humaneval.crowd.mturk_csv import refuse_by_file
from humaneval.crowd.outbox import TOGETHER, Intent, hold_study, perform
from humaneval.crowd.panels import known_as, panels_id
from humaneval.crowd.participants import COUNTING, allowed_after, readmission, standing_list
from humaneval.crowd.pseudonyms import external_worker_id, worker_row
from humaneval.crowd.published_hits import refuse_elsewhere
from humaneval.crowd.reversible import BLOCK, EXCLUDE, Switch, turn, turned_on, turns_of, worker_subject
from humaneval.crowd.study_at import StudyAtPlatform
from humaneval.errors import PartialError, PlatformError, UsageError
from humaneval.fees import BY_RULE
from humaneval.store.engine import batches, in_turns, reading, writing
from humaneval.store.export_pseudonyms import names_of
from humaneval.store.responses import by_workers
from humaneval.store.tables import AssignmentRow, PaymentRow, StudyRow, WorkerIdentityRow, WorkerRow
from humaneval.study.stored import Study
from humaneval.text import command

_PSEUDONYM = re.compile("w[0-9a-f]{12}")
_ID = re.compile(r"[^\s\x00-\x1f\x7f]{1,128}")
_MTURK_ID = re.compile(r"A[A-Z0-9]{1,63}")
"""What Mechanical Turk's protocol takes for the id of a worker."""


LISTED = 50
"""How many workers are looked up together."""


class WorkerSummary(NamedTuple):
    """One worker of a study."""

    worker: str
    exported_as: str
    """The name of this worker in the study's exports, report and archive."""
    forms: int
    """Forms done, whatever was decided since. Forms only opened, returned or expired do not count."""
    allowed: int
    """How many forms this worker may do. Readmitting a worker who has done them all allows as many again."""
    approved: int
    rejected: int
    excluded_forms: int
    """Forms that do not count, by the study's own rule or because the worker had taken part before."""
    paid: Decimal
    last: datetime | None
    """When the worker last answered."""
    blocked: bool
    on_list: bool
    """On the study's exclusion list."""


def list_workers(study: Study, endpoint: str) -> list[WorkerSummary]:
    """Every worker who has opened a form of the study at this endpoint, in the order of their arrival."""
    with reading(study.engine) as session:
        people = session.execute(
            select(WorkerRow.id, WorkerRow.pseudonym)
            .join(AssignmentRow, AssignmentRow.worker_id == WorkerRow.id)
            .where(AssignmentRow.study_id == study.id, AssignmentRow.endpoint == endpoint)
            .distinct()
            .order_by(WorkerRow.id)
        ).all()
    found: list[WorkerSummary] = []
    for some in batches(people, LISTED):
        with reading(study.engine) as session:
            found += _summaries(session, study, endpoint, {row.id: row.pseudonym for row in some})
    return found


def _summaries(
    session: Session, study: Study, endpoint: str, people: Mapping[int, str]
) -> Iterator[WorkerSummary]:
    """Of these people: their pseudonyms, by our ids."""
    names = names_of(session, session.get_one(StudyRow, study.id))
    done = defaultdict[int, list[AssignmentRow]](list)
    for form in session.scalars(
        select(AssignmentRow).where(by_workers([study.id], list(people), endpoint), COUNTING)
    ):
        done[form.worker_id].append(form)
    payments = (
        select(AssignmentRow.worker_id, PaymentRow.amount)
        .join(AssignmentRow, AssignmentRow.id == PaymentRow.assignment_id)
        .where(AssignmentRow.worker_id.in_(list(people)), PaymentRow.study_id == study.id)
        .where(PaymentRow.endpoint == endpoint, PaymentRow.state == "paid")
    )
    sums = defaultdict[int, Decimal](lambda: Decimal("0.00"))
    for worker_id, amount in session.execute(payments):
        sums[worker_id] += amount
    blocks = turns_of(session, endpoint, BLOCK, [worker_subject(each) for each in people])
    listings = turns_of(session, endpoint, EXCLUDE, [worker_subject(each, study.id) for each in people])
    for worker_id, pseudonym in people.items():
        forms, listed = done[worker_id], listings[worker_subject(worker_id, study.id)]
        yield WorkerSummary(
            worker=pseudonym,
            exported_as=names.worker(pseudonym),
            forms=len(forms),
            allowed=allowed_after(study, listed),
            approved=sum(form.state == "approved" for form in forms),
            rejected=sum(form.state == "rejected" for form in forms),
            excluded_forms=sum(bool(form.excluded) for form in forms),
            paid=sums[worker_id],
            last=max((at for form in forms if (at := form.submitted_at or form.answered_at)), default=None),
            blocked=turned_on(BLOCK, blocks[worker_subject(worker_id)]),
            on_list=turned_on(EXCLUDE, listed),
        )


def find_worker(session: Session, endpoint: str, who: str, *, new: bool = False) -> int:
    """The worker whom a pseudonym, or the platform's own id, names at this endpoint. An id that is known only
    in another case means that worker.

    With `new`, an unknown id is a new worker. Raises UsageError for a worker of another endpoint, or an
    unknown one.
    """
    found = _known(session, endpoint, who)
    if found is None:
        return worker_row(session, endpoint, _as_new(endpoint, who, new)).id
    return found


def _known(session: Session, endpoint: str, who: str) -> int | None:
    query = select(WorkerRow.id, WorkerIdentityRow.endpoint).join(
        WorkerIdentityRow, WorkerIdentityRow.worker_id == WorkerRow.id
    )
    who = who.strip()
    if _PSEUDONYM.fullmatch(who.lower()):
        who = who.lower()
        rows = session.execute(query.where(WorkerRow.pseudonym == who)).all()
        if not rows:
            rows = session.execute(query.where(WorkerRow.pseudonym == _exported(session, who))).all()
        if not rows and (name := pseudonym_in(session, who)):
            purged = session.scalars(select(WorkerRow.id).where(WorkerRow.pseudonym == name)).one()
            external_worker_id(session, purged)  # raises
    else:
        rows = session.execute(query.where(WorkerIdentityRow.external_id == who)).all()
        if not any(row.endpoint == endpoint for row in rows):
            folded = func.lower(WorkerIdentityRow.external_id) == who.lower()
            alike = session.execute(query.where(folded, WorkerIdentityRow.endpoint == endpoint)).all()
            rows = alike if len(alike) == 1 else rows
    here = [row.id for row in rows if row.endpoint == endpoint]
    if here:
        return int(here[0])
    if rows and _PSEUDONYM.fullmatch(who):
        raise UsageError(
            f"{who} is a worker of {rows[0].endpoint}, not of {endpoint}",
            f"Use --to {rows[0].endpoint}.",
        )
    return None


def _as_new(endpoint: str, who: str, new: bool) -> str:
    """The id of a worker who is new here. Raises UsageError if nobody new is wanted, or this is no id."""
    given, form = who.strip(), _ID
    if endpoint in ("local", *BY_RULE):
        given, form = given.upper(), _MTURK_ID
    if new and not _PSEUDONYM.fullmatch(given.lower()) and form.fullmatch(given):
        return given
    raise UsageError(
        f"no worker {panels_id(who.strip())!r} is known at {endpoint}",
        f"`{command('worker', 'list', 'STUDY')}` lists a study's workers.",
    )


def stored_as(at: StudyAtPlatform, who: str) -> str:
    """The name of the person `who` in the database: an id of a panel may be one study's alone."""
    who = who.strip()
    if at.endpoint != "link" or _PSEUDONYM.fullmatch(who.lower()):
        return who
    return known_as(at.settings, at.id, who)


def _people(at: StudyAtPlatform, workers: Collection[str], *, new: bool) -> list[int | str]:
    """Our ids of the workers named, each once. With `new`, an id that nobody here has stays as it is."""
    people: list[int | str] = []
    with reading(at.engine) as session:
        for who in workers:
            found = _known(session, at.endpoint, stored_as(at, who))
            people.append(stored_as(at, _as_new(at.endpoint, who, new)) if found is None else found)
    return list(dict.fromkeys(people))


def pseudonym_in(session: Session, who: str) -> str:
    """The pseudonym that `who` is, or whose name in a study's exports it is. Empty if it is neither."""
    name = who.lower()
    if not _PSEUDONYM.fullmatch(name):
        return ""
    known = session.scalar(select(WorkerRow.pseudonym).where(WorkerRow.pseudonym == name))
    return known or _exported(session, name)


def _exported(session: Session, who: str) -> str:
    """The pseudonym of the worker who has this name in a study's exports; empty if there is none."""
    for study in session.scalars(select(StudyRow)).all():
        names = names_of(session, study)
        took_part = (
            select(WorkerRow.pseudonym)
            .join(AssignmentRow, AssignmentRow.worker_id == WorkerRow.id)
            .where(AssignmentRow.study_id == study.id)
        )
        for pseudonym in session.scalars(took_part.distinct()):
            if names.worker(pseudonym) == who:
                return pseudonym
    return ""


class Turned(NamedTuple):
    """How many workers a command changed, and how many needed no change."""

    now: int
    before: int


def block_workers(
    at: StudyAtPlatform,
    workers: Collection[str],
    *,
    reason: str,
    on: bool = True,
    dry_run: bool = False,
) -> Turned:
    """Block workers from all work of this account, or with `on=False` let them in again. Nothing blocks
    automatically."""
    reason = plain_words("reason", reason, needed=on)

    def act(worker: str) -> None:
        (at.platform.block if on else at.platform.unblock)(worker, reason)

    return _turn_all(at, workers, BLOCK, on, lambda *_: {"reason": reason}, act, dry_run)


def exclude_workers(
    at: StudyAtPlatform,
    workers: Collection[str],
    *,
    on: bool = True,
    dry_run: bool = False,
) -> Turned:
    """Put workers on the study's exclusion list, also workers who are new here; or with `on=False` take them
    off it.

    A worker who is readmitted after all the forms that the study allows may do as many again, with other
    stories. For others it is as if they had never been on the list.
    """

    def act(worker: str) -> None:
        listed = standing_list(at)
        (at.platform.put_on_list if on else at.platform.take_off_list)(listed, worker)

    def request(session: Session, worker_id: int) -> Mapping[str, Any]:
        return {} if on else readmission(session, at.study, at.endpoint, worker_id)

    return _turn_all(at, workers, EXCLUDE, on, request, act, dry_run)


def _turn_all(
    at: StudyAtPlatform,
    workers: Collection[str],
    switch: Switch,
    on: bool,
    request: Callable[[Session, int], Mapping[str, Any]],
    act: Callable[[str], None],
    dry_run: bool,
) -> Turned:
    if on:
        refuse_by_file(at, "workers of a batch are kept out at the site", "Do it there.")
    refuse_elsewhere(at)
    intents: list[tuple[Intent, str]] = []
    people = _people(at, workers, new=on)
    for some in in_turns(people, TOGETHER):
        with writing(at.engine) as session:
            hold_study(session, at.id)
            for who in some:
                worker_id = who if isinstance(who, int) else worker_row(session, at.endpoint, who).id
                about = worker_subject(worker_id, at.id if switch is EXCLUDE else None)
                wanted = request(session, worker_id)
                intent = turn(session, at.study, at.endpoint, switch, about, on=on, request=wanted)
                if intent is not None:
                    intents.append((intent, external_worker_id(session, worker_id)))
            if dry_run:
                session.rollback()
    turned, failed = 0, []
    for intent, worker in () if dry_run else intents:
        try:
            perform(at.engine, intent, partial(act, worker), lambda _, __: {})
            turned += 1
        except PlatformError as error:
            failed.append(error.message)
    if failed:
        raise PartialError(
            f"{turned} of {len(intents)} done: {failed[0]}",
            "Run the command again to try the rest.",
        )
    return Turned(len(intents), len(people) - len(intents))
