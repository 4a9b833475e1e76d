"""Submitted work as the service lists it."""

from __future__ import annotations

from typing import Any

from humaneval.crowd.answers import fields_from_xml
from humaneval.crowd.platform import Submission
from humaneval.errors import InputError


def submission_of(work: Any) -> Submission:
    """An assignment as the platform lists it. Answers that cannot be read must not stop all the others."""
    unreadable = ""
    try:
        fields = fields_from_xml(work["Answer"])
    except InputError as error:
        fields, unreadable = {"answer": work["Answer"]}, error.message
    return Submission(
        external_id=work["AssignmentId"],
        worker=work["WorkerId"],
        state=work["AssignmentStatus"].lower(),
        fields=fields,
        accepted_at=work.get("AcceptTime"),
        submitted_at=work.get("SubmitTime"),
        auto_approval_at=work.get("AutoApprovalTime"),
        approved_at=work.get("ApprovalTime"),
        unreadable=unreadable,
    )
