"""Requesters' patterns for workers' answers, each tried in a process of its own.

Some patterns take minutes for one short answer, and would block everything else in this process.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time

MOST_SECONDS = 2
MOST_SECONDS_IN_ALL = 10
"""For one form. No other worker can submit anything meanwhile, and they wait half a minute at most."""

_NOT_FOUND = 3
_SEARCH = f"""
import json, re, sys
expression, flags, text = json.load(sys.stdin)
sys.exit(0 if re.search(expression, text, flags) else {_NOT_FOUND})
"""


class Patterns:
    """The patterns of one form, tried one after the other."""

    def __init__(self) -> None:
        self._until = time.monotonic() + MOST_SECONDS_IN_ALL

    def found(self, expression: str, flags: int, text: str) -> bool:
        """Whether `expression` is found in `text`. True if time runs out: that is not the worker's fault."""
        left = min(MOST_SECONDS, self._until - time.monotonic())
        return left <= 0 or _is_found(expression, flags, text, left)


def _is_found(expression: str, flags: int, text: str, seconds: float) -> bool:
    try:
        search = subprocess.run(
            [sys.executable, "-I", "-S", "-c", _SEARCH],
            input=json.dumps([expression, flags, text]).encode(),
            capture_output=True,
            timeout=seconds,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return True
    return search.returncode != _NOT_FOUND
