"""Review policies as CreateHIT takes them. Every parameter is checked once and kept as a plain value."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any, NamedTuple

from humaneval.market.protocol.refusals import invalid
from humaneval.market.protocol.values import YEAR, Params

KNOWN_ANSWERS = "ScoreMyKnownAnswers/2011-09-01"
PLURALITY = "SimplePlurality/2011-09-01"

MOST_BYTES = 65_535
"""As many as a question may have. Each known answer is compared and noted at every submission."""

DEFAULT_MOST = 5
"""The most assignments that a HIT is extended to if known answers are missed."""


class Policies(NamedTuple):
    """The two policies of a HIT, ready to be stored; None for a policy that the HIT does not have."""

    assignment: dict[str, Any] | None
    hit: dict[str, Any] | None


def read_policies(params: Params) -> Policies:
    """The policies in a CreateHIT call. Raises RefusedError, which says what is wrong."""
    assignment, hit = params.get("AssignmentReviewPolicy"), params.get("HITReviewPolicy")
    if len(json.dumps([assignment, hit], ensure_ascii=False).encode()) > MOST_BYTES:
        raise invalid(f"Review policies must not be larger than {MOST_BYTES} bytes in all.")
    return Policies(
        _known_answers(_Given(assignment, "AssignmentReviewPolicy", KNOWN_ANSWERS)) if assignment else None,
        _plurality(_Given(hit, "HITReviewPolicy", PLURALITY)) if hit else None,
    )


def _known_answers(given: _Given) -> dict[str, Any]:
    values = {
        "answers": given.answers("AnswerKey"),
        "approve": given.number("ApproveIfKnownAnswerScoreIsAtLeast", 0, 101),
        "approve_reason": given.text("ApproveReason"),
        "reject": given.number("RejectIfKnownAnswerScoreIsLessThan", 0, 101),
        "reject_reason": given.text("RejectReason"),
        "extend": given.number("ExtendIfKnownAnswerScoreIsLessThan", 0, 101),
        "most": given.number("ExtendMaximumAssignments", 2, 25) or DEFAULT_MOST,
        "seconds": given.number("ExtendMinimumTimeInSeconds", 0, YEAR) or 0,
    }
    given.refuse_others()
    return values


def _plurality(given: _Given) -> dict[str, Any]:
    extends = given.number("ExtendIfHITAgreementScoreIsLessThan", 1, 100)
    values = {
        "questions": given.questions("QuestionIds"),
        "threshold": given.number("QuestionAgreementThreshold", 0, 100, required=True),
        "without_rejected": given.truth("DisregardAssignmentIfRejected"),
        "without_below": given.number("DisregardAssignmentIfKnownAnswerScoreIsLessThan", 0, 101),
        "extend": extends,
        "most": given.number("ExtendMaximumAssignments", 1, 1_000_000, required=extends is not None),
        "seconds": given.number("ExtendMinimumTimeInSeconds", 3600, YEAR, required=extends is not None),
        "approve": given.number("ApproveIfWorkerAgreementScoreIsAtLeast", 0, 101),
        "reject": given.number("RejectIfWorkerAgreementScoreIsLessThan", 0, 101),
        "reject_reason": given.text("RejectReason"),
    }
    given.refuse_others()
    return values


class _Given:
    """The parameters of one policy. They are taken out one by one, so that unknown ones are left over."""

    def __init__(self, policy: Mapping[str, Any], level: str, name: str) -> None:
        self._where = level
        if policy["PolicyName"] != name:
            raise invalid(f"The {level} must be {name}, not {policy['PolicyName']}.")
        self._left: dict[str, Mapping[str, Any]] = {}
        for parameter in policy.get("Parameters", ()):
            key = parameter.get("Key", "")
            if key in self._left:
                raise invalid(f"{level}: {key} is given twice.")
            self._left[key] = parameter

    def number(self, key: str, least: int, most: int, *, required: bool = False) -> int | None:
        """A whole number; None if it is optional and left out."""
        text = self._one(key)
        if text is None and not required:
            return None
        if text is None or not re.fullmatch("[0-9]{1,9}", text) or not least <= int(text) <= most:
            raise invalid(f"{self._where}: {key} must be a whole number from {least} to {most}.")
        return int(text)

    def text(self, key: str) -> str:
        """A text; "" if it is left out."""
        return self._one(key) or ""

    def truth(self, key: str) -> bool:
        """Whether it is true; a parameter that is left out is false."""
        text = (self._one(key) or "false").lower()
        if text not in ("true", "t", "false", "f"):
            raise invalid(f"{self._where}: {key} must be true or false.")
        return text.startswith("t")

    def questions(self, key: str) -> list[str]:
        """Question identifiers, given as several values or as one value with commas."""
        values = self._left.pop(key, {}).get("Values", ())
        found = [part.strip() for value in values for part in value.split(",") if part.strip()]
        if not found or len(set(found)) < len(found):
            raise invalid(f"{self._where}: {key} must name at least one question, and no question twice.")
        return found

    def answers(self, key: str) -> dict[str, list[str]]:
        """The known values of each question."""
        entries = self._left.pop(key, {}).get("MapEntries", ())
        found: dict[str, list[str]] = {}
        for entry in entries:
            if not entry.get("Key") or entry["Key"] in found:
                raise invalid(f"{self._where}: each entry of {key} must have a Key of its own.")
            found[entry["Key"]] = sorted(value.strip() for value in entry.get("Values", ()))
        if not found:
            raise invalid(f"{self._where}: {key} must have at least one entry in MapEntries.")
        return found

    def refuse_others(self) -> None:
        """Raises RefusedError if there is a parameter that the policy does not have."""
        if self._left:
            raise invalid(f"{self._where}: there is no parameter {', '.join(sorted(self._left))}.")

    def _one(self, key: str) -> str | None:
        if key not in self._left:
            return None
        values = self._left.pop(key).get("Values", ())
        if len(values) != 1:
            raise invalid(f"{self._where}: {key} must have exactly one value.")
        only: str = values[0]
        return only.strip()
