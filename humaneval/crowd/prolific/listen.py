"""Subscribes to Prolific's events: secret, subscription and handshake."""

from __future__ import annotations

from sqlalchemy import Engine

from humaneval.crowd.prolific.events import SECRET, STATUS_CHANGED
from humaneval.crowd.prolific.platform import Prolific
from humaneval.errors import PlatformError, UsageError
from humaneval.store.engine import writing
from humaneval.store.tables import MetaRow

HANDSHAKE = "X-Hook-Secret"


def listen(engine: Engine, platform: Prolific, target: str, *, new_secret: bool = False) -> str:
    """Let changes of submissions be sent to `target`. Returns Prolific's id of the subscription.

    The workspace has one secret for everybody. An existing one is used. `new_secret` makes another: other
    programs of the workspace can check nothing until they have it.
    """
    workspace, hooks = platform.account.workspace, platform.hooks
    there = [] if new_secret else hooks.secrets(workspace)  # no document names the call that lists them
    if there and not any(there):
        raise UsageError(
            "the workspace has a secret for events, which Prolific does not show",
            "Make another with --new-secret. Other programs of the workspace must then get it.",
        )
    secret = next((each for each in there if each), "")
    if not secret:
        secret = hooks.new_secret(workspace)
    with writing(engine) as session:
        session.merge(MetaRow(key=SECRET, value=secret))
    for each in hooks.subscriptions(workspace):
        # One whose answer was lost was never confirmed, and nobody can confirm it any more.
        if each.get("target_url") == target and each.get("event_type") == STATUS_CHANGED:
            hooks.unsubscribe(str(each["id"]))
    made = hooks.subscribe(workspace, STATUS_CHANGED, target)
    if not made.handshake:
        raise PlatformError(f"Prolific sent no {HANDSHAKE} for the subscription {made.id}")
    hooks.confirm(made.id, made.handshake)
    return made.id
