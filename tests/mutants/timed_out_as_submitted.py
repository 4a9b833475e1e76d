"""A submission that is out of time is taken for a submitted one."""

from humaneval.crowd.prolific import sessions

sessions.STATES[sessions.TIMED_OUT] = "submitted"
