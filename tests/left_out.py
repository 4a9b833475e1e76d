"""Counts what was left out by its cause, in the last line of a run; a plugin.

With CI=true only real data, R, root and pg_dump may be wanting. A test that is left out for another cause
fails.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Generator
from typing import TypeVar

import pytest
from _pytest.terminal import TerminalReporter

DATA, R, ROOT_USER, PG_DUMP = "real data", "R", "root", "pg_dump"
Report = TypeVar("Report", pytest.TestReport, pytest.CollectReport)
MAY_BE_WANTING = (DATA, R, ROOT_USER, PG_DUMP)


def cause(report: pytest.TestReport | pytest.CollectReport) -> str:
    """What a test that was left out lacks: `real data` of "needs real data: set …"."""
    reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else str(report.longrepr)
    return reason.removeprefix("Skipped: ").partition(":")[0].removeprefix("needs ")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport() -> Generator[None, pytest.TestReport, pytest.TestReport]:
    return _strict((yield))


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report() -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
    return _strict((yield))


def _strict(report: Report) -> Report:
    if report.skipped and os.environ.get("CI") == "true" and cause(report) not in MAY_BE_WANTING:
        report.outcome = "failed"
        report.longrepr = f"left out, and with CI=true it may not be: needs {cause(report)}"
    return report


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_sessionfinish(session: pytest.Session) -> Generator[None, None, None]:
    """The line comes after everything that pytest itself says."""
    yield
    reporter = session.config.pluginmanager.get_plugin("terminalreporter")
    if isinstance(reporter, TerminalReporter) and not hasattr(session.config, "workerinput"):
        reporter.write_line(summary(reporter))


def summary(reporter: TerminalReporter) -> str:
    """For example "4018 passed; 86 left out: 83 need real data, 3 need root"."""
    done = {name: len(reporter.stats.get(name, [])) for name in ("passed", "failed", "error")}
    counts = [f"{number} {name}" for name, number in done.items() if number or name == "passed"]
    wanting = Counter(cause(report) for report in reporter.stats.get("skipped", []))
    causes = [f"{number} need {what}" for what, number in wanting.most_common()]
    left_out = f"{wanting.total()} left out" + (f": {', '.join(causes)}" if causes else "")
    return f"{', '.join(counts)}; {left_out}"
