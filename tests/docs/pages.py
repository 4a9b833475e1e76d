"""Runs the commands of a page of the docs as they are printed, in one empty folder, with its servers beside
them."""

from __future__ import annotations

import csv
import os
import re
import shlex
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path

import pytest

from humaneval.stories import bundled_stories
from tests.conftest import ROOT
from tests.forking.program import Program, on_path
from tests.pace import PATIENCE
from tests.ports import free_port

FENCE = re.compile(r"^```(sh background|sh stopped|sh|python)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def story_file(path: Path, split: str) -> Path:
    """Write real stories of `split` to `path` if there are any, else bundled ones."""
    data = Path(os.environ.get("HUMANEVAL_TEST_DATA") or ROOT.parent / "shared" / "data")
    real = data / "stories" / f"{split}.csv"
    if real.exists():
        # Enough for a model of half a minute: masking all of them takes longer than training on them.
        lines = real.read_text(encoding="utf-8").splitlines(keepends=True)
        path.write_text("".join(lines[:1001]), encoding="utf-8")
        return path
    bundled = "train" if split == "valid" else split
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["storyid", "storytitle", *(f"sentence{n}" for n in range(1, 6))])
        writer.writerows([s.id, s.title, *s.sentences] for s in bundled_stories() if s.split == bundled)
    return path


def run_page(page: Path, folder: Path, **sizes: str) -> str:
    """Run every block of `page` in turn in `folder`. Returns what the last block printed.

    Servers are started as people start them. The other commands are forked, for which torch is loaded once.
    A block `sh stopped` comes after Ctrl-C in the terminals of the blocks `sh background` before it.
    What a block exports, the following blocks see. `sizes` replaces the values that the page exports, so that
    a test takes minutes. A block that fails, fails the test with its words.
    """
    forms, market = free_port(), free_port()
    environment = {
        **os.environ,
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
        "PYTHONPATH": str(ROOT),
        "HUMANEVAL_PORT": str(forms),
        "HUMANEVAL_PUBLIC_URL": f"http://localhost:{forms}",
        "HUMANEVAL_MARKET_URL": f"http://127.0.0.1:{market}",
    }
    text = page.read_text(encoding="utf-8")
    for name, value in sizes.items():
        text, found = re.subn(rf"\b(?<=[ ]){name}=\S+", f"{name}={shlex.quote(value)}", text)
        assert found == 1, f"the page does not export {name} once"
    Program("--version", modules=["torch", "transformers"]).wait()
    printed = ""
    servers: list[subprocess.Popen[bytes]] = []
    forked = on_path(folder.with_name(f"{folder.name}-programs"), environment)
    try:
        for kind, block in FENCE.findall(text):
            if kind == "python":
                name = block.partition("\n")[0].removeprefix("# ")
                (folder / name).write_text(block, encoding="utf-8")
            elif kind == "sh background":
                said = folder.with_name(f"{folder.name}-server-{len(servers)}")
                servers.append(_start(block, folder, environment, said))
                if " market " in block:
                    await_port(market)
                elif " up " in block:
                    _await_words("For annotators:", said)
                else:
                    await_port(forms)
            else:
                if kind == "sh stopped":
                    for server in servers:
                        server.send_signal(signal.SIGINT)
                        assert server.wait(PATIENCE) == 0
                printed = _run(block, folder, forked)
    finally:
        for server in servers:
            server.terminate()
        for server in servers:
            server.wait(PATIENCE)
    return printed


def _start(block: str, folder: Path, environment: Mapping[str, str], said: Path) -> subprocess.Popen[bytes]:
    """Start a server of what the page exports so far; what it prints goes into a file."""
    path = shlex.quote(environment["PATH"])
    with said.open("wb") as out:
        return subprocess.Popen(
            ["bash", "-c", f". {_exported(folder)} 2>/dev/null || true\nPATH={path}\nexec {block}"],
            cwd=folder,
            env=environment,
            stdout=out,
        )


def _exported(folder: Path) -> str:
    """The file, quoted for a shell, with what blocks have exported."""
    return shlex.quote(str(folder.with_name(f"{folder.name}-exported")))


def _run(block: str, folder: Path, environment: Mapping[str, str]) -> str:
    exported = _exported(folder)
    script = f"set -euo pipefail\n. {exported} 2>/dev/null || true\n{block}\nexport -p >{exported}"
    done = subprocess.run(
        ["bash", "-c", script], cwd=folder, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, f"{block}\n{done.stdout}\n{done.stderr}"
    return done.stdout


def _await_words(words: str, said: Path) -> None:
    until = time.monotonic() + PATIENCE
    while time.monotonic() < until:
        if words in said.read_text(encoding="utf-8"):
            return
        time.sleep(0.1)
    pytest.fail(f"nothing says {words!r}: {said.read_text(encoding='utf-8')}")


def await_port(port: int) -> None:
    until = time.monotonic() + PATIENCE
    while time.monotonic() < until:
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.1)
    pytest.fail(f"nothing listens on port {port}")
