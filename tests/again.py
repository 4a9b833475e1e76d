"""Runs the tests that failed in the last run once more, one at a time, as `make every-test` does.

Of seven thousand tests, most of which drive other programs, one may meet a bad moment of the machine. A test
that fails again has failed. One that passes is named in the last line and has to be mended: it hides a race,
in itself or in the product. More than a few failures are no accident and are not tried again.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

FEW = 3
FAILED = Path("v/cache/lastfailed")


def again(cache: Path) -> int:
    """The exit code for the run whose cache lies in `cache`."""
    try:
        names = sorted(json.loads((cache / FAILED).read_text(encoding="utf-8")))
    except FileNotFoundError:
        return 1
    if not 1 <= len(names) <= FEW:
        return 1
    code = int(pytest.main(["-o", f"cache_dir={cache}", "-n0", *names]))
    if code == 0:
        print(f"{len(names)} failed at first and passed when run again alone: {', '.join(names)}")
    return code


if __name__ == "__main__":
    sys.exit(again(Path(sys.argv[1])))
