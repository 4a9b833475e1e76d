"""What every test may ask for: a clean environment, no network but loopback, real data and programs where
they are."""

from __future__ import annotations

import os
import socket
from pathlib import Path
from typing import Any, NoReturn

import pytest

from humaneval.text import use_global_options

pytest_plugins = ["tests.pace", "tests.left_out"]
FOR_TESTS = (
    "tests.compiled",
    "tests.migrated",
    "tests.postgres",
    "tests.chromium",
    "tests.fixtures",
    "tests.prolific",
    "tests.commands",
)
"""Plugins that load most of the toolkit."""
pytest.register_assert_rewrite(*FOR_TESTS)  # also where another conftest.py imports one first

ROOT = Path(__file__).resolve().parent.parent
OURS = ("HUMANEVAL_", "AWS_", "DATABASE_URL", "PROLIFIC_")


def pytest_configure(config: pytest.Config) -> None:
    """A process that hands tests out to others runs none, and loads nothing for them."""
    if not config.getoption("numprocesses", None):
        for name in FOR_TESTS:
            config.pluginmanager.import_plugin(name)


def lacking(what: str, how: str) -> NoReturn:
    """Leave a test out for want of something, and say how to get it; tests/left_out.py counts the causes."""
    pytest.skip(f"needs {what}: {how}")


@pytest.fixture(scope="session")
def test_data() -> Path:
    """The folder of real data, which is not part of the project: the test skips where it is absent."""
    folder = Path(os.environ.get("HUMANEVAL_TEST_DATA") or ROOT.parent / "shared" / "data")
    if not folder.is_dir():
        lacking("real data", "set HUMANEVAL_TEST_DATA or put them at ../shared/data")
    return folder


@pytest.fixture(autouse=True)
def _clean_environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """No setting of the person who runs the tests reaches them, and none of their files is written."""
    for name in list(os.environ):
        if name.startswith(OURS) and not name.startswith("HUMANEVAL_TEST_"):
            monkeypatch.delenv(name)
    monkeypatch.setenv("AWS_CONFIG_FILE", str(tmp_path / "no-aws-config"))
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(tmp_path / "no-aws-credentials"))
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    monkeypatch.chdir(tmp_path)
    use_global_options()  # those of the last command in this process


@pytest.fixture(autouse=True)
def _loopback_only(monkeypatch: pytest.MonkeyPatch) -> None:
    """A connection to anywhere but this machine fails the test that makes it."""
    real = socket.socket.connect

    def connect(self: socket.socket, address: Any) -> None:
        if self.family in (socket.AF_INET, socket.AF_INET6) and address[0] not in (
            "127.0.0.1",
            "::1",
            "localhost",
        ):
            raise AssertionError(f"a test tried to reach {address[0]}")
        real(self, address)

    monkeypatch.setattr(socket.socket, "connect", connect)
