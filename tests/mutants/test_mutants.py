"""The suite kills these mutants. Each is a plugin that breaks one thing; the tests named with it must then
fail."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator

import pytest

from tests.conftest import ROOT

MARKET, CROWD = "tests/integration/market/", "tests/integration/crowd/"
PROLIFIC = "tests/integration/prolific/"
MUTANTS = {
    "no_token_memory": (f"{MARKET}test_contracts.py", "token"),
    "endless_token_memory": (f"{MARKET}test_contracts.py", "token"),
    "outbox_after_the_call": (f"{CROWD}test_publishing.py", "killed_around and forgotten"),
    "approved_before_the_reply": (f"{CROWD}test_money.py", "nothing_is_called_approved"),
    "first_page_only": (f"{CROWD}test_collecting.py", "C26"),
    "claim_without_a_lock": (f"{CROWD}test_claims.py", "C39 and sqlite"),
    "story_by_its_id": ("tests/integration/test_from_file_to_study.py", "X23"),
    "bonus_sent_again": (f"{PROLIFIC}test_money.py", "answer_was_lost"),
    "paid_by_hand_too": (f"{CROWD}test_paid_elsewhere.py", "at_once_one_is_paid"),
    "timed_out_as_submitted": (f"{PROLIFIC}test_taking_part.py", "timed_out"),
    "until_a_short_page": ("tests/unit/test_prolific_client.py", "P02"),
    "event_marked_first": (f"{PROLIFIC}test_events.py", "only_with_what_it_changes"),
    "differences_unread": (f"{CROWD}test_as_planned.py", "ends_publishing or stops_money_again"),
}


LOADED = """
import gc, json, os, sys
import pytest
import boto3, flask, playwright.sync_api
import humaneval.crowd.approve, humaneval.crowd.bonus, humaneval.crowd.collect, humaneval.market
import humaneval.simulated, humaneval.study.scores, humaneval.web.app
import tests.chromium, tests.commands, tests.compiled, tests.fixtures, tests.postgres, tests.prolific
from tests import migrated
for versions in migrated.KINDS:
    migrated.script(versions)
gc.freeze()
for line in sys.stdin:
    child = os.fork()
    if not child:
        said, *arguments = json.loads(line)
        written = os.open(said, os.O_WRONLY | os.O_CREAT)
        os.dup2(written, 1)
        os.dup2(written, 2)
        status = pytest.main(arguments)
        sys.stdout.flush()
        os._exit(status)  # taking everything loaded apart takes longer than many of the tests
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
"""
"""Runs pytest for each line that it reads, in a process of its own that has loaded most of the toolkit and
made a database by its migrations: that takes longer than the tests."""

Suite = Callable[..., tuple[int, str]]


@pytest.fixture(scope="module")
def suite(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Suite]:
    """Runs tests up to the first that fails. Gives pytest's status and what it said."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    for name in [name for name in environment if name.startswith("PYTEST_XDIST")]:
        del environment[name]
    folder = tmp_path_factory.mktemp("mutants")
    with subprocess.Popen(
        [sys.executable, "-c", LOADED],
        cwd=ROOT,
        env=environment,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as loaded:

        def run(path: str, chosen: str, mutant: str) -> tuple[int, str]:
            assert loaded.stdin is not None
            assert loaded.stdout is not None
            said = folder / mutant
            quietly = ["-q", "-x", "-n", "0", "-p", "no:cacheprovider", "--tb=native", "--assert=plain"]
            command = [str(said), *quietly, path, "-k", chosen, "-p", f"tests.mutants.{mutant}"]
            print(json.dumps(command), file=loaded.stdin, flush=True)
            return int(loaded.stdout.readline()), said.read_text(encoding="utf-8")

        yield run


@pytest.mark.parametrize("mutant", MUTANTS)
def test_the_suite_kills(mutant: str, suite: Suite) -> None:
    status, said = suite(*MUTANTS[mutant], mutant)
    assert status == 1, said
    assert re.search(r"\b1 failed", said), said


def test_every_mutant_is_tried() -> None:
    modules = {path.stem for path in (ROOT / "tests" / "mutants").glob("*.py")} - {"__init__", "test_mutants"}
    assert modules == set(MUTANTS)
