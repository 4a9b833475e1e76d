"""Work that is called approved when the call leaves, whatever the platform then says."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from sqlalchemy import Engine
from sqlalchemy.orm import Session

from humaneval.crowd import approve
from humaneval.crowd.outbox import Intent, perform_each
from humaneval.store.engine import writing


def early(
    engine: Engine,
    intents: Sequence[Intent],
    call: Callable[[Intent], Any],
    record: Callable[[Session, Intent, Any], Mapping[str, Any]],
) -> Iterator[Any]:
    with writing(engine) as session:
        for intent in intents:
            record(session, intent, None)
    return perform_each(engine, intents, call, lambda session, intent, result: {})


approve.perform_each = early
