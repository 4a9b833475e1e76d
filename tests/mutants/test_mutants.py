"""The suite kills these mutants. Each is a plugin that breaks one thing; the tests named with it must then
fail."""

from __future__ import annotations

import os
import re
import subprocess
import sys

import pytest

from tests.conftest import ROOT

MARKET, CROWD = "tests/integration/market/", "tests/integration/crowd/"
PROLIFIC = "tests/integration/prolific/"
MUTANTS = {
    "no_token_memory": (f"{MARKET}test_contracts.py", "token"),
    "endless_token_memory": (f"{MARKET}test_contracts.py", "token"),
    "outbox_after_the_call": (f"{CROWD}test_publishing.py", "killed_around and forgotten"),
    "approved_before_the_reply": (f"{CROWD}test_money.py", "approv"),
    "first_page_only": (f"{CROWD}test_collecting.py", "C26"),
    "claim_without_a_lock": (f"{CROWD}test_claims.py", "C39 and sqlite"),
    "story_by_its_id": ("tests/integration/test_from_file_to_study.py", "X23"),
    "bonus_sent_again": (f"{PROLIFIC}test_money.py", "answer_was_lost"),
    "timed_out_as_submitted": (f"{PROLIFIC}test_taking_part.py", "timed_out"),
    "until_a_short_page": ("tests/unit/test_prolific_client.py", "P02"),
    "event_marked_first": (f"{PROLIFIC}test_events.py", "only_with_what_it_changes"),
    "differences_unread": (f"{CROWD}test_as_planned.py", "ends_publishing or stops_money_again"),
}


def suite(path: str, chosen: str, *more: str) -> subprocess.CompletedProcess[str]:
    """Those tests in a process of their own, up to the first that fails."""
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-x",
        "-p",
        "no:cacheprovider",
        path,
        "-k",
        chosen,
        *more,
    ]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    return subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)


@pytest.mark.slow
@pytest.mark.parametrize("mutant", MUTANTS)
def test_the_suite_kills(mutant: str) -> None:
    killed = suite(*MUTANTS[mutant], "-p", f"tests.mutants.{mutant}")
    assert killed.returncode == 1, killed.stdout + killed.stderr
    assert re.search(r"\b1 failed", killed.stdout), killed.stdout


def test_every_mutant_is_tried() -> None:
    modules = {path.stem for path in (ROOT / "tests" / "mutants").glob("*.py")} - {"__init__", "test_mutants"}
    assert modules == set(MUTANTS)
