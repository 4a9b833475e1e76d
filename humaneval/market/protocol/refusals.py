"""Refusals: of programs' calls, in the words and codes of Mechanical Turk, and of workers' steps."""

from __future__ import annotations

_PREFIX = "AWS.MechanicalTurk."
_LONGEST = 1000


class RefusedError(Exception):
    """A valid call that is refused and changes nothing. `code` is MTurk's TurkErrorCode."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = _PREFIX + code
        # It may quote what was sent: an amount can have a million digits.
        self.message = f"{message[:_LONGEST]}…" if len(message) > _LONGEST else message


def invalid(message: str) -> RefusedError:
    """A parameter that fits the model but is not valid."""
    return RefusedError("InvalidParameterValue", message)


def no_such_hit(hit_id: str) -> RefusedError:
    """The answer to an unknown HIT id."""
    return RefusedError("HITDoesNotExist", f"Hit {hit_id} does not exist.")


def no_such_assignment(assignment_id: str) -> RefusedError:
    """The answer to an unknown assignment id."""
    return RefusedError("AssignmentDoesNotExist", f"Assignment {assignment_id} does not exist.")


def wrong_assignment_state(allowed: str, assignment_id: str, state: str) -> RefusedError:
    """The answer if an assignment's status does not allow the call.

    The first sentence is the real service's, word for word: programs match on it.
    """
    return RefusedError(
        "InvalidAssignmentState",
        f"This operation can be called with a status of: {allowed} (assignment {assignment_id} is"
        f" {state.capitalize()})",
    )


def wrong_hit_state(allowed: str, state: str) -> RefusedError:
    """The answer if a HIT's status does not allow the call, in the real service's words."""
    return RefusedError(
        "InvalidHITState",
        f"This HIT is currently in the state '{state}'.  This operation can be called with a status of:"
        f" {allowed}",
    )


def insufficient_funds() -> RefusedError:
    """The answer if the account cannot pay, in the real service's words."""
    return RefusedError(
        "InsufficientFunds",
        "This Requester has insufficient funds in their account to complete this transaction.",
    )


class NotPossibleError(Exception):
    """A worker's step that is refused. The message is for the worker, `status` is the page's HTTP status."""

    def __init__(self, message: str, status: int = 409) -> None:
        super().__init__(message)
        self.message = message
        self.status = status
