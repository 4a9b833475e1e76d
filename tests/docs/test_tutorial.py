"""Runs the tutorial as it is printed: on real stories where they are, else on the bundled ones."""

from __future__ import annotations

import csv
import json
import os
import re
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest

from humaneval.stories import bundled_stories
from tests.conftest import ROOT

TUTORIAL = ROOT / "docs" / "tutorial.md"
FENCE = re.compile(r"^```(sh background|sh|python)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def _story_file(folder: Path, split: str) -> Path:
    data = Path(os.environ.get("HUMANEVAL_TEST_DATA") or ROOT.parent / "shared" / "data")
    real = data / "stories" / f"{split}.csv"
    path = folder / f"{split}.csv"
    if real.exists():
        # Enough for a model of half a minute: masking all of them takes longer than training on them.
        lines = real.read_text(encoding="utf-8").splitlines(keepends=True)
        path.write_text("".join(lines[:3001]), encoding="utf-8")
        return path
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["storyid", "storytitle", *(f"sentence{n}" for n in range(1, 6))])
        writer.writerows([s.id, s.title, *s.sentences] for s in bundled_stories() if s.split == split)
    return path


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _await_port(port: int) -> None:
    for _ in range(300):
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.1)
    pytest.fail(f"nothing listens on port {port}")


@pytest.mark.slow
def test_the_tutorial_runs_as_printed(tmp_path: Path) -> None:
    forms, market = _free_port(), _free_port()
    environment = {
        **os.environ,
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
        "PYTHONPATH": str(ROOT),
        "STORIES": str(_story_file(tmp_path, "test")),
        "TRAIN": str(_story_file(tmp_path, "train")),
        "MINUTES": "0.5",
        "N": "20",
        "HUMANEVAL_PORT": str(forms),
        "HUMANEVAL_PUBLIC_URL": f"http://localhost:{forms}",
        "HUMANEVAL_MARKET_URL": f"http://127.0.0.1:{market}",
    }
    folder, servers, printed = tmp_path, [], ""
    ports = iter((market, forms))
    try:
        for kind, block in FENCE.findall(TUTORIAL.read_text(encoding="utf-8")):
            if kind == "python":
                name = block.partition("\n")[0].removeprefix("# ")
                (folder / name).write_text(block, encoding="utf-8")
            elif kind == "sh background":
                servers.append(
                    subprocess.Popen(
                        ["bash", "-c", f"exec {block}"],
                        cwd=folder,
                        env=environment,
                        stdout=subprocess.DEVNULL,
                    )
                )
                _await_port(next(ports))
            else:
                script = f"set -euo pipefail\n{block}\npwd >'{tmp_path}/where'"
                done = subprocess.run(
                    ["bash", "-c", script], cwd=folder, env=environment, capture_output=True, text=True
                )
                assert done.returncode == 0, f"{block}\n{done.stdout}\n{done.stderr}"
                folder = Path((tmp_path / "where").read_text().strip())
                printed = done.stdout
    finally:
        for server in servers:
            server.terminate()
        for server in servers:
            server.wait(timeout=20)
    document = json.loads(printed)
    assert document["annotators"]["collected"] == 40
    generators = {"human", "control", "same-place", "other-place", "lm-scratch", "ilm-scratch"}
    assert {row["generator"] for row in document["scores"]} == generators
    report = (folder / "report.html").read_text(encoding="utf-8")
    assert "simulated" in report.lower()
    assert (folder / "pairs-row-1.html").exists()
