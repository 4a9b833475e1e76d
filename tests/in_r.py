"""R, for tests that hold a figure against another program's; they are left out where it is absent."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

from tests.conftest import lacking
from tests.pace import PATIENCE


def rscript() -> str:
    return shutil.which("Rscript") or lacking("R", "install r-base-core and r-cran-lme4")


def in_r(folder: Path, script: str) -> list[str]:
    """What an R script prints in `folder`, by line."""
    program = rscript()
    (folder / "test.R").write_text(script, encoding="utf-8")
    done = subprocess.run(
        [program, "test.R"], cwd=folder, capture_output=True, encoding="utf-8", timeout=PATIENCE, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()
