"""The participant's side: which studies a participant sees, and how they reserve, start, complete or return
one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from urllib.parse import quote

from sqlalchemy import func, select

from humaneval.market.prolific_standin.completion_codes import find_code
from humaneval.market.prolific_standin.database import Work, new_id
from humaneval.market.prolific_standin.filters import passes
from humaneval.market.prolific_standin.outcomes import NO_CODE, carry_out, set_status
from humaneval.market.prolific_standin.refusals import NotFound, Refusal
from humaneval.market.prolific_standin.studies import places_taken
from humaneval.market.prolific_standin.tables import (
    Member,
    Participant,
    Status,
    Study,
    StudyStatus,
    Submission,
)

PLACEHOLDERS = ("PROLIFIC_PID", "STUDY_ID", "SESSION_ID")
IN_HAND = (Status.RESERVED, Status.ACTIVE)


@dataclass(frozen=True, slots=True)
class Candidate:
    """A participant, as filters ask about one."""

    work: Work
    id: str

    def in_group(self, group_id: str) -> bool:
        """Whether the participant is in a group now."""
        query = select(Member.number).where(Member.group_id == group_id, Member.participant_id == self.id)
        return self.work.session.scalar(query) is not None

    def took_part_in(self, study_id: str) -> bool:
        """Whether the participant has a submission in a study."""
        query = select(Submission.number).join(Study).where(Study.id == study_id)
        return (
            self.work.session.scalar(query.where(Submission.participant_id == self.id).limit(1)) is not None
        )


def known_as(work: Work, name: str, email: str | None = None) -> Participant:
    """The participant of this name, added if nobody has it."""
    found = work.session.scalars(select(Participant).where(Participant.name == name)).first()
    if found is None:
        found = Participant(id=new_id(), name=name, email=email)
        work.session.add(found)
        work.session.flush()
    return found


def offered(work: Work, participant: Participant) -> Sequence[Study]:
    """The studies that this participant may take now, newest first."""
    query = select(Study).where(Study.status == StudyStatus.ACTIVE).order_by(Study.number.desc())
    return [study for study in work.session.scalars(query) if not obstacle(work, study, participant)]


def obstacle(work: Work, study: Study, participant: Participant) -> str:
    """Why this participant cannot reserve a place in a study; empty if nothing is in the way."""
    limits = study.body.get("submissions_config") or {}
    own = limits.get("max_submissions_per_participant", 1)
    at_once = limits.get("max_concurrent_submissions", -1)
    if study.status != StudyStatus.ACTIVE:
        return "This study takes nobody at the moment."
    if not passes(study.body.get("filters") or [], Candidate(work, participant.id)):
        return "This study is not for you."
    if places_taken(work, study) >= study.body["total_available_places"]:
        return "All places of this study are taken."
    if own != -1 and _tried(work, study, participant) >= own:
        return "You have taken part in this study."
    if at_once != -1 and _in_hand(work, study) >= at_once:
        return "Too many people are at this study. Try again in a few minutes."
    return ""


def reserve(work: Work, study: Study, participant: Participant) -> Submission:
    """Hold a place. A participant who holds one already gets the same. Raises Refusal if there is an
    obstacle."""
    query = select(Submission).where(
        Submission.study_number == study.number,
        Submission.participant_id == participant.id,
        Submission.status.in_(IN_HAND),
    )
    held = work.session.scalars(query).first()
    if held is not None:
        return held
    if why := obstacle(work, study, participant):
        raise Refusal(why, 409)
    submission = Submission(
        id=new_id(),
        study=study,
        participant=participant,
        started_at=work.now,
        status=Status.RESERVED,
        expired=False,
        note="",
        reward=0,
    )
    submission.url = _address(work, study)
    work.session.add(submission)
    work.session.flush()
    set_status(work, submission, Status.RESERVED)
    submission.due_at = work.now + work.terms.reserved
    return submission


def start(work: Work, submission: Submission) -> str:
    """Begin the work, and the address that it is at. Starting again leads there again."""
    if submission.status == Status.RESERVED:
        set_status(work, submission, Status.ACTIVE)
        submission.started_at = work.now
        submission.due_at = work.now + timedelta(minutes=submission.study.body["maximum_allowed_time"])
    if submission.status != Status.ACTIVE:
        raise Refusal(f"This work is {submission.status}.", 409)
    values = (submission.participant_id, submission.study.id, submission.id)
    address = submission.url
    for name, value in zip(PLACEHOLDERS, values, strict=True):
        address = address.replace("{{%" + name + "%}}", quote(value, safe=""))
    return address


def complete(work: Work, submission: Submission, text: str | None, *, late: bool = False) -> None:
    """Submit the work with a code, or without one.

    A code that the study does not have is kept, and waits for review: unverified. `late` lets somebody
    submit after the time, as has happened. Submitting again changes nothing.
    """
    if submission.completed_at is not None and submission.status != Status.TIMED_OUT:
        return
    if submission.status != Status.ACTIVE and not (late and submission.status == Status.TIMED_OUT):
        raise Refusal(f"This work is {submission.status}, and cannot be submitted.", 409)
    code = find_code(submission.study.body, text, "participant")
    carry_out(work, submission, text if code is not None else text or NO_CODE, code)


def give_back(work: Work, submission: Submission) -> None:
    """Return the work: before it is submitted, or after that if the researcher asked for it."""
    asked = submission.status == Status.AWAITING_REVIEW and submission.return_requested_at is not None
    if submission.status == Status.RETURNED:
        return
    if submission.status not in IN_HAND and not asked:
        raise Refusal(f"This work is {submission.status}, and cannot be returned.", 409)
    set_status(work, submission, Status.RETURNED)


def own(work: Work, participant: Participant) -> Sequence[Submission]:
    """What this participant took, newest first."""
    query = select(Submission).where(Submission.participant_id == participant.id)
    return work.session.scalars(query.order_by(Submission.number.desc())).all()


def own_one(work: Work, participant: Participant, submission_id: str) -> Submission:
    """A submission of this participant's. Raises NotFound."""
    query = select(Submission).where(
        Submission.id == submission_id, Submission.participant_id == participant.id
    )
    found = work.session.scalars(query).first()
    if found is None:
        raise NotFound("Submission")
    return found


def meant_by(work: Work, participant: Participant, text: str | None) -> Submission | None:
    """Which submission somebody completes who comes back with a code: the address does not say.

    It is the newest that is at work, of a study with that code if there is one; else the newest at all.
    """
    taken = own(work, participant)
    active = [each for each in taken if each.status == Status.ACTIVE]
    fitting = [each for each in active if find_code(each.study.body, text, "participant") is not None]
    return next(iter([*fitting, *active, *taken]), None)


def _tried(work: Work, study: Study, participant: Participant) -> int:
    """How often the participant began. A place that was only reserved does not count: unverified."""
    query = select(func.count()).where(
        Submission.study_number == study.number, Submission.participant_id == participant.id
    )
    return work.session.scalar(query.where(Submission.expired.is_(False))) or 0


def _in_hand(work: Work, study: Study) -> int:
    query = select(func.count()).where(
        Submission.study_number == study.number, Submission.status.in_(IN_HAND)
    )
    return work.session.scalar(query) or 0


def _address(work: Work, study: Study) -> str:
    """Where the next submission leads: with several addresses, the first that has room."""
    if study.body.get("external_study_url"):
        return str(study.body["external_study_url"])
    gone = (Status.TIMED_OUT, Status.RETURNED, Status.REJECTED, Status.SCREENED_OUT)
    for share in study.body["access_details"]:
        query = select(func.count()).where(
            Submission.study_number == study.number,
            Submission.url == share["external_url"],
            Submission.status.not_in(gone),
        )
        if (work.session.scalar(query) or 0) < share["total_allocation"]:
            return str(share["external_url"])
    return str(study.body["access_details"][-1]["external_url"])
