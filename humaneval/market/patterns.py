"""Requesters' patterns on workers' answers, each tried in a process of its own.

Some patterns take minutes for one short answer, and nothing else of this process would run meanwhile.
"""

from __future__ import annotations

import json
import subprocess
import sys

MOST_SECONDS = 2

_NOT_FOUND = 3
_SEARCH = f"""
import json, re, sys
expression, flags, text = json.load(sys.stdin)
sys.exit(0 if re.search(expression, text, flags) else {_NOT_FOUND})
"""


def is_found(expression: str, flags: int, text: str) -> bool:
    """Whether `expression` is found in `text`; also where two seconds do not tell, for that is not the worker's fault."""
    try:
        search = subprocess.run(
            [sys.executable, "-I", "-S", "-c", _SEARCH],
            input=json.dumps([expression, flags, text]).encode(),
            capture_output=True,
            timeout=MOST_SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return True
    return search.returncode != _NOT_FOUND
