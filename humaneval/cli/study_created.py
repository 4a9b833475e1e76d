"""What `study plan` says, for `study create`, which has stored its study by then: no fault of the plan may
hide that."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from humaneval.cli.run import App, say
from humaneval.cli.study_plan import plan_document, tell_plan
from humaneval.errors import HumanEvalError

if TYPE_CHECKING:
    from humaneval.planning.cues import CueScore
    from humaneval.planning.forecast import Outlook
    from humaneval.planning.plan import Plan


def tell_plan_of(app: App, name: str) -> None:
    """Print the plan of study `name` as `study plan` does; where it cannot be made, say so on stderr."""
    try:
        tell_plan(*_planned(app, name))
    except Exception as error:
        say(f"The study is stored, but its plan cannot be made: {_cause(error)}", err=True)
        say(f"  To see more: humaneval study plan {name}", err=True)


def plan_document_of(app: App, name: str) -> dict[str, Any]:
    """What `study plan --json` prints for study `name`; where it cannot be made, `{"plan": None,
    "plan_error": why}`."""
    try:
        return plan_document(*_planned(app, name))
    except Exception as error:
        return {"plan": None, "plan_error": _cause(error)}


def _planned(app: App, name: str) -> tuple[Plan, Outlook, Sequence[CueScore]]:
    from humaneval.planning.forecast import outlook
    from humaneval.study.plan import cues_of, plan_of_study

    planned = plan_of_study(app.study(name))
    return planned, outlook(planned), cues_of(app.study(name))


def _cause(error: Exception) -> str:
    return error.message if isinstance(error, HumanEvalError) else f"{type(error).__name__}: {error}"
