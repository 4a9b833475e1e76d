"""How calls travel: their headers, the body of an error, and where workers' answers are sent."""

from __future__ import annotations

TARGET = "MTurkRequesterServiceV20170117."

CONTENT_TYPE = "application/x-amz-json-1.1"

REQUEST_ID = "x-amzn-RequestId"
"""The header with the id that every call has."""


def error_body(kind: str, message: str, code: str = "") -> dict[str, str]:
    """The body of an error answer: its AWS type, its message, and MTurk's own code where there is one."""
    body = {"__type": kind, "message": message, "Message": message}
    return {**body, "TurkErrorCode": code} if code else body


SUBMIT_PATH = "/mturk/externalSubmit"
"""Where a HIT's own form sends its answers."""

NOT_ACCEPTED = "ASSIGNMENT_ID_NOT_AVAILABLE"
"""What stands for an assignment's id in a preview; MTurk's own word."""
