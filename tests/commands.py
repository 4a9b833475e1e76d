"""Runs the command line, in this process or as a program of its own, and says how it went. A plugin."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryFile
from typing import Any, NamedTuple

import pytest
from sqlalchemy import Engine

from humaneval.cli.main import main
from tests.conftest import ROOT
from tests.forking.program import Program, can_be_forked, let_go
from tests.pace import PATIENCE


class Said(NamedTuple):
    """What one command printed, and how it ended."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)


Command = Callable[..., Said]


def pytest_unconfigure() -> None:
    """After the last test no program is started any more."""
    let_go()


@pytest.fixture
def command(capsys: pytest.CaptureFixture[str]) -> Command:
    """Runs `humaneval …` in this process, from the test's own folder."""

    def run(*arguments: str | Path) -> Said:
        with pytest.raises(SystemExit) as end:
            main([str(argument) for argument in arguments])
        out, err = capsys.readouterr()
        code = end.value.code
        return Said(code if isinstance(code, int) else 1, out, err)

    return run


@pytest.fixture
def study(
    sqlite_engine: Engine,
    sqlite_database: str,
    study_factory: Callable[..., object],
    monkeypatch: pytest.MonkeyPatch,
) -> str:
    """The name of a study in the database that commands use."""
    study_factory(sqlite_engine, "study")
    monkeypatch.setenv("HUMANEVAL_DATABASE", sqlite_database)
    return "study"


def program(
    *arguments: str | Path, real: bool = False, memory: int | None = None, **environment: str
) -> subprocess.CompletedProcess[bytes]:
    """Runs `python -m humaneval` as a program of its own: a forked one, unless `real` or the environment asks
    for an interpreter that starts. A forked one gets at most `memory` GiB of addresses."""
    if not real and can_be_forked(environment):
        limits = {"RLIMIT_AS": memory * 2**30} if memory else {}
        with TemporaryFile() as out, TemporaryFile() as err:
            run = Program(*arguments, stdout=out, stderr=err, environment=environment, limits=limits)
            status = run.wait()
            for file in (out, err):
                file.seek(0)
            return subprocess.CompletedProcess(arguments, status, out.read(), err.read())
    paths = os.pathsep.join(filter(None, [environment.pop("PYTHONPATH", ""), str(ROOT)]))
    return subprocess.run(
        [sys.executable, "-m", "humaneval", *arguments],
        capture_output=True,
        env={**os.environ, "PYTHONPATH": paths, **environment},
        check=False,
        timeout=PATIENCE,
    )
