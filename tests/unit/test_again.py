"""A failed test is run again alone, and only if there are few."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.again import FAILED, FEW, again


def cache_of(folder: Path, *names: str) -> Path:
    (folder / FAILED).parent.mkdir(parents=True)
    (folder / FAILED).write_text(json.dumps(dict.fromkeys(names, True)), encoding="utf-8")
    return folder


@pytest.mark.parametrize("number", [0, FEW + 1])
def test_nothing_runs_again_after_none_or_many_failures(tmp_path: Path, number: int) -> None:
    assert again(cache_of(tmp_path, *(f"no_such_file_{at}.py" for at in range(number)))) == 1


def test_a_run_that_left_no_cache_has_failed(tmp_path: Path) -> None:
    assert again(tmp_path) == 1
