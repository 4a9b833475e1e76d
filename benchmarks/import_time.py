"""Seconds until the command line answers, and modules loaded by then; prints one JSON object a line."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time

LINES = (
    "--version",
    "--help",
    "config show",
    "stories list",
    "generators list",
    "score --help",
    "serve --help",
)
REPEATS = 5


def main() -> None:
    """The best of five runs for each command line, in a folder of its own."""
    with tempfile.TemporaryDirectory() as folder:
        for line in LINES:
            command = [sys.executable, "-m", "humaneval", *line.split()]
            seconds = []
            for _ in range(REPEATS):
                start = time.perf_counter()
                subprocess.run(command, cwd=folder, capture_output=True, check=True)
                seconds.append(time.perf_counter() - start)
            traced = subprocess.run(
                [sys.executable, "-X", "importtime", *command[1:]],
                cwd=folder,
                capture_output=True,
                text=True,
                check=True,
            )
            modules = traced.stderr.count("import time:") - 1
            print(
                json.dumps(
                    {
                        "figure": "seconds to answer",
                        "line": line,
                        "seconds": round(min(seconds), 3),
                        "modules": modules,
                    }
                )
            )


if __name__ == "__main__":
    main()
