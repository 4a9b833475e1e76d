"""Runs the tests at a good pace, and changes nothing that they test.

A third of the time of a test of the marketplace goes to the disk, which is asked at every commit whether it
has the data, and a seventh to the garbage collector, which looks again and again through what pytest and
torch have loaded; while tests are collected it is off. The small matrices of the tests are ten times slower
where the threads of a process for linear algebra wait for each other and for the other tests. Half of the
time of collecting goes to compiling the tests anew where Python may not keep what it compiled.
"""

from __future__ import annotations

import gc
import os
import shutil
import sys
import time
from collections.abc import Generator
from pathlib import Path

import pytest
from hypothesis import settings

THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
for _name in THREADS:  # before numpy is loaded, which looks only once
    os.environ.setdefault(_name, "1")
gc.disable()  # pytest_collection turns it on
# Whatever the environment says, for the programs that tests start as well.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
sys.dont_write_bytecode = False

MEMORY = Path("/dev/shm")
LONGEST_FIRST = ("mutants", "schedules", "models", "docs", "browser")
"""Folders whose tests come after the slow ones and before the others: all processes end at about one time."""
PATIENCE = 300
"""Seconds after which something that has not happened never will, on a machine that is ten times slower."""
SUMMED, TAKES = 300_000, 0.0082
"""So many numbers, and the seconds of a processor for them where the limits of tests were measured."""
ENOUGH = 4 * 2**30
"""Bytes. The whole suite leaves about 0.6 GiB of files behind until it ends."""


def slowness() -> float:
    """How many times as long the same work takes on this processor, now; at least 1. Limits in seconds of a
    processor are multiplied by it."""
    began = time.thread_time()
    sum(number * number for number in range(SUMMED))
    return max(1.0, (time.thread_time() - began) / TAKES)


def pytest_configure(config: pytest.Config) -> None:
    """Temporary files lie in memory, where there is room and programs may be run from there.

    And no example of Hypothesis fails because the machine is busy, or because other examples were drawn
    before. `make test-long` tries more of them, and other ones each time.
    """
    settings.register_profile("any pace", deadline=None, max_examples=25, derandomize=True)
    settings.register_profile("thorough", deadline=None, max_examples=1000)
    settings.load_profile(config.getoption("--hypothesis-profile") or "any pace")
    if memory_is_roomy():
        os.environ.setdefault("PYTEST_DEBUG_TEMPROOT", str(MEMORY))


def memory_is_roomy() -> bool:
    """Whether files may lie in memory, and programs be run from there."""
    if not (MEMORY.is_dir() and os.access(MEMORY, os.W_OK)):
        return False
    return not os.statvfs(MEMORY).f_flag & os.ST_NOEXEC and shutil.disk_usage(MEMORY).free >= ENOUGH


@pytest.hookimpl(trylast=True)  # when it is known what is left out
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Every process begins with its share of the slow tests: xdist gives each one piece of the list."""
    places = {folder: place for place, folder in enumerate(LONGEST_FIRST)}
    slow = [item for item in items if item.get_closest_marker("slow")]
    rest = [item for item in items if not item.get_closest_marker("slow")]
    rest.sort(key=lambda item: places.get(item.nodeid.partition("/")[2].partition("/")[0], len(places)))
    shares = int(os.environ.get("PYTEST_XDIST_WORKER_COUNT", "1"))
    ends = [len(rest) * share // shares for share in range(shares + 1)]
    items.clear()
    for share in range(shares):
        items += slow[share::shares]
        items += rest[ends[share] : ends[share + 1]]


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """What is loaded by now stays to the end: the collector need not look at it again."""
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.set_threshold(100_000)
        gc.enable()
