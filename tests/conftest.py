"""What every test may ask for."""

from __future__ import annotations

import os
from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def test_data() -> Path:
    """The folder of real data, which is not part of the project: the test skips where it is absent."""
    beside = Path(__file__).resolve().parent.parent.parent / "shared" / "data"
    folder = Path(os.environ.get("HUMANEVAL_TEST_DATA") or beside)
    if not folder.is_dir():
        pytest.skip("real data not found: set HUMANEVAL_TEST_DATA or put it at ../shared/data")
    return folder
