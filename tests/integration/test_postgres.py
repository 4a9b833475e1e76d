"""The tests' own PostgreSQL ends with the process that started it, however that ends."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.conftest import ROOT
from tests.pace import PATIENCE

START = """
import sys
from pathlib import Path
from tests.postgres import serving
for url in serving(Path(sys.argv[1])):
    print(url, flush=True)
    sys.stdin.read()
"""


@pytest.mark.parametrize("end", [signal.SIGINT, signal.SIGKILL])
def test_the_server_ends_with_the_process_that_started_it(
    end: signal.Signals, postgres_server: str, tmp_path_factory: pytest.TempPathFactory
) -> None:
    if os.environ.get("HUMANEVAL_TEST_POSTGRES"):
        pytest.skip("needs PostgreSQL of npm: unset HUMANEVAL_TEST_POSTGRES")
    folder = Path(postgres_server.partition("host=")[2]).parent / f"another-{end.name}"
    folder.mkdir(mode=0o755)
    process = subprocess.Popen(
        [sys.executable, "-c", START, str(folder)],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    assert process.stdout is not None
    assert process.stdout.readline().startswith(b"postgresql://postgres@/")
    server = int((folder / "data" / "postmaster.pid").read_text(encoding="utf-8").split()[0])
    process.send_signal(end)
    process.communicate(timeout=PATIENCE)
    until = time.monotonic() + PATIENCE
    while Path(f"/proc/{server}").exists() and "Z" not in _state(server):
        assert time.monotonic() < until, "the server outlives the tests"
        time.sleep(0.02)


def _state(process: int) -> str:
    try:
        return Path(f"/proc/{process}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return "Z"
