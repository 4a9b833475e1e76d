"""What `study plan` says, for `study create`, which has stored its study by then: no fault of the plan may hide that."""

from __future__ import annotations

import json
from contextlib import redirect_stdout
from io import StringIO
from typing import Any

import click

from humaneval.cli.context import say
from humaneval.cli.study_plan import plan
from humaneval.errors import HumanEvalError


def tell_plan(name: str) -> None:
    """Print the plan of study `name` as `study plan` does; where it cannot be made, say so on stderr."""
    try:
        click.get_current_context().invoke(plan, name=name)
    except Exception as error:
        say(f"The study is stored, but its plan cannot be made: {_cause(error)}", err=True)
        say(f"  To see more: humaneval study plan {name}", err=True)


def plan_document(name: str) -> dict[str, Any]:
    """What `study plan --json` prints for study `name`; where it cannot be made, `{"plan": None, "plan_error": why}`."""
    heard = StringIO()
    try:
        with redirect_stdout(heard):
            click.get_current_context().invoke(plan, name=name, as_json=True)
        found: dict[str, Any] = json.loads(heard.getvalue())
    except Exception as error:
        return {"plan": None, "plan_error": _cause(error)}
    return found


def _cause(error: Exception) -> str:
    return error.message if isinstance(error, HumanEvalError) else f"{type(error).__name__}: {error}"
