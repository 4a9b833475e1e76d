"""A write that is noted only when the platform has answered: after a kill nobody knows that it may have been
made."""

from collections.abc import Sequence

from sqlalchemy.orm import Session

from humaneval.crowd import outbox
from humaneval.crowd.outbox import Intent


def unnoted(session: Session, intents: Sequence[Intent]) -> dict[str, outbox._Before]:
    return {intent.token: outbox._Before("pending", unsure=False) for intent in intents}


outbox._attempt = unnoted
