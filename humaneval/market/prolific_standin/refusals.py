"""What the stand-in refuses, in the shapes in which Prolific's API says so."""

from __future__ import annotations

from typing import Any

Detail = str | list[str] | dict[str, list[str]]

_TITLES = {
    400: "Bad request",
    401: "Authentication failed",
    403: "Not allowed",
    404: "Not found",
    405: "Method not allowed",
    413: "Too large",
    429: "Too many requests",
    500: "Server error",
    503: "Service unavailable",
}


class Refusal(Exception):  # noqa: N818 - it is an answer, no error of ours
    """A call that cannot be carried out. Everything that it did in its transaction is undone."""

    def __init__(self, detail: Detail, status: int = 400, more: str = "") -> None:
        super().__init__(str(detail))
        self.detail, self.status, self.more = detail, status, more


class NotFound(Refusal):
    """What was asked for is not there."""

    def __init__(self, what: str) -> None:
        super().__init__(f"{what} not found.", 404)


def error_body(status: int, detail: Detail, more: str = "") -> dict[str, Any]:
    """The main shape of an error."""
    error = {
        "status": status,
        "error_code": 140000 + status,  # unverified: the real codes are finer
        "title": _TITLES.get(status, "Error"),
        "detail": detail,
        "interactive": False,
    }
    return {"error": {**error, "additional_information": more} if more else error}


def newer_error_body(status: int, detail: Detail) -> dict[str, Any]:
    """The shape of newer endpoints."""
    return {
        "message": _TITLES.get(status, "Error"),
        "detail": detail if isinstance(detail, str) else str(detail),
    }
