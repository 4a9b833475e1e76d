"""The last line of a run says what was left out and why, and a CI leaves out only what it may."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import ROOT

TESTS = """
import pytest

def test_passes(): ...

@pytest.mark.skip("needs real data: set HUMANEVAL_TEST_DATA")
def test_of_data(): ...

@pytest.mark.skip("needs a thing: buy one")
def test_of_a_thing(): ...
"""


@pytest.mark.parametrize(
    ("ci", "code", "line"),
    [
        ("", 0, "1 passed; 2 left out: 1 need real data, 1 need a thing"),
        ("true", 1, "1 passed, 1 error; 1 left out: 1 need real data"),
    ],
)
def test_what_is_left_out_is_counted_by_cause(ci: str, code: int, line: str, tmp_path: Path) -> None:
    (tmp_path / "test_three.py").write_text(TESTS, encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-n", "0", "-p", "tests.left_out", str(tmp_path)],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT), "CI": ci},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout.splitlines()[-1]) == (code, line), done.stdout
