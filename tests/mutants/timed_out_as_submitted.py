"""A submission that is out of time is taken for a submitted one."""

from humaneval.crowd.prolific import submission

submission.STATES[submission.TIMED_OUT] = "submitted"
