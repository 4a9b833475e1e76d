"""The kinds of faults, and the steps at which they can happen.

A step is an operation of the API, by its own name, or a step of the worker site. These are `accept`,
`return`, `submit` and `work` (the page with the question in it).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from enum import Enum
from typing import TYPE_CHECKING

from humaneval.market.protocol.http import TARGET
from humaneval.market.protocol.shapes import service_model

if TYPE_CHECKING:
    from _typeshed.wsgi import WSGIEnvironment


class Trouble(Enum):
    """What can go wrong with one call."""

    THROTTLED = "refused before anything is done: too many calls"
    UNAVAILABLE = "refused before anything is done: HTTP 503"
    ODD_STATUS = "refused before anything is done: HTTP 505, which clients do not retry by themselves"
    REPLY_LOST = "carried out, then HTTP 500 instead of the reply"
    DROPPED = "carried out, then the connection is closed without a reply"
    EMPTY_PAGE = "a list gives a page without rows, and a NextToken for them"
    REUSED_ID = "an accepted assignment gets the id of one that another worker returned"
    UNSEEN = "the worker's form goes to the marketplace alone, never to the requester's server"


SLOW = "slow"
CLOCK = "clock"
KINDS: Mapping[str, Trouble | None] = {
    **{trouble.name.lower().replace("_", "-"): trouble for trouble in Trouble},
    SLOW: None,
    CLOCK: None,
}
"""The names of faults in a plan. `slow` waits before the call is carried out, `clock` moves the clock."""

SENT_AGAIN = (Trouble.THROTTLED, Trouble.UNAVAILABLE, Trouble.REPLY_LOST, Trouble.DROPPED)
"""The troubles after which AWS's clients repeat a call by themselves."""

TroubleSource = Callable[[str], Trouble | None]
"""Asked before every step, by its name."""

SITE_STEPS = {
    "accept": re.compile(r"POST /hits/[^/]+/accept"),
    "return": re.compile(r"POST /assignments/[^/]+/return"),
    "submit": re.compile(r"POST /mturk/externalSubmit"),
    "work": re.compile(r"GET /assignments/[^/]+"),
}


def step_of(environ: WSGIEnvironment) -> str | None:
    """The name of the step that a request takes; None for requests at which no fault can happen."""
    line = f"{environ['REQUEST_METHOD']} {environ.get('PATH_INFO', '')}"
    target = environ.get("HTTP_X_AMZ_TARGET", "")
    if line == "POST /" and target.startswith(TARGET):
        operation = target.removeprefix(TARGET)
        return operation if operation in service_model().operation_names else None
    return next((step for step, pattern in SITE_STEPS.items() if pattern.fullmatch(line)), None)
