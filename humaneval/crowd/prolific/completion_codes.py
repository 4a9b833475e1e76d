"""Completion codes: how a form can end, and what Prolific then does.

The outcome comes from our own data: a completion code says no more than this.
"""

from __future__ import annotations

from collections.abc import Callable

from sqlalchemy import Engine

from humaneval.crowd.controls import missed_control
from humaneval.crowd.stored_claim import Work
from humaneval.store.engine import connected

COMPLETED, FAILED_CHECK, NO_CONSENT = "COMPLETED", "FAILED_ATTENTION_CHECK", "NO_CONSENT"
SCREENED_OUT = "SCREENED_OUT"
OUTCOMES = {
    COMPLETED: {"action": "MANUALLY_REVIEW"},
    FAILED_CHECK: {"action": "MANUALLY_REVIEW"},
    NO_CONSENT: {"action": "REQUEST_RETURN", "return_reason": "You did not want to take part."},
    SCREENED_OUT: {"action": "REQUEST_RETURN", "return_reason": "There is no form in this study for you."},
}
"""What Prolific does. Nothing is approved or rejected by itself."""
AWAY = (NO_CONSENT, SCREENED_OUT)
"""Outcomes of people who did nothing, and about whom nothing is kept."""
CODE_LETTERS = "ABCDEFGHJKLMNPQRSTUVWXYZ23456789"


def codes_from(digest: Callable[[str], bytes]) -> dict[str, str]:
    """A completion code for each outcome, from a keyed digest of it. Whoever knows the study cannot guess
    them."""
    return {
        outcome: "".join(CODE_LETTERS[byte % len(CODE_LETTERS)] for byte in digest(outcome)[:10])
        for outcome in OUTCOMES
    }


def outcome_of(engine: Engine, work: Work) -> str:
    """The outcome of a form that is answered: whether its control was missed, if the study's rule asks."""
    if work.hit.settings.exclusions.missed_control == "none":
        return COMPLETED
    with connected(engine) as connection:
        missed = missed_control(connection, work.hit.settings, work.row_id, work.answered or {})
    return FAILED_CHECK if missed else COMPLETED


def completion_url(site: str, code: str) -> str:
    """Where a person hands a submission over."""
    return f"{site}/submissions/complete?cc={code}"
