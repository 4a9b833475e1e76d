"""A write that is noted only when the platform has answered: after a kill nobody knows that it may have been made."""

from humaneval.crowd import outbox

outbox._attempted = lambda session, intents, times: None
