"""The protocol over HTTP: headers, the body of an error, and the address for workers' answers."""

from __future__ import annotations

TARGET = "MTurkRequesterServiceV20170117."

CONTENT_TYPE = "application/x-amz-json-1.1"

REQUEST_ID = "x-amzn-RequestId"
"""The header with the id of the call."""


def error_body(kind: str, message: str, code: str = "") -> dict[str, str]:
    """The body of an error answer: its AWS type, its message, and MTurk's own code if there is one."""
    body = {"__type": kind, "message": message, "Message": message}
    return {**body, "TurkErrorCode": code} if code else body


SUBMIT_PATH = "/mturk/externalSubmit"
"""The path to which a HIT's own form sends its answers."""

NOT_ACCEPTED = "ASSIGNMENT_ID_NOT_AVAILABLE"
"""The value of assignmentId in a preview, as on MTurk."""
