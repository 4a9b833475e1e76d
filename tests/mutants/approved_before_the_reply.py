"""Work that is called approved when the call leaves, whatever the platform then says."""

from collections.abc import Callable, Mapping
from typing import Any

from sqlalchemy import Engine
from sqlalchemy.orm import Session

from humaneval.crowd import approve
from humaneval.crowd.outbox import Intent, perform
from humaneval.store.engine import writing


def early(
    engine: Engine,
    intent: Intent,
    call: Callable[[], Any],
    record: Callable[[Session, Any], Mapping[str, Any]],
) -> Any:
    with writing(engine) as session:
        record(session, None)
    return perform(engine, intent, call, lambda session, result: {})


approve.perform = early
