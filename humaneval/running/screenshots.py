"""Takes pictures of pages with the Chromium of this machine."""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from pathlib import Path

from humaneval.errors import PrerequisiteError

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
HOW_TO_GET = "apt-get install chromium"
SECONDS = 60


def find_chromium() -> str | None:
    """The path of an installed Chromium or Chrome, if there is one."""
    return next((path for path in map(shutil.which, NAMES) if path), None)


def screenshot(page: Path, picture: Path, width: int) -> None:
    """Write a PNG of the whole of `page`. Raises PrerequisiteError if there is no Chromium."""
    chromium = find_chromium()
    if chromium is None:
        raise PrerequisiteError(
            "a picture needs Chromium, which is not installed",
            f"{HOW_TO_GET}, or write a .html file instead.",
        )
    with tempfile.TemporaryDirectory() as profile:
        command = [
            chromium,
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            "--hide-scrollbars",
            "--no-first-run",
            "--disable-background-networking",
            f"--user-data-dir={profile}",
            "--force-device-scale-factor=2",
            "--virtual-time-budget=2000",
        ]
        height = _height(command, page, width)
        _run(
            [
                *command,
                f"--window-size={width},{height}",
                f"--screenshot={picture.resolve()}",
                page.resolve().as_uri(),
            ]
        )
    if not picture.exists():
        raise PrerequisiteError(
            "Chromium ran but wrote no picture", "Open the HTML file in a browser and print it instead."
        )


def _height(command: list[str], page: Path, width: int) -> int:
    """The height of the page at this width, which a script in a copy writes into the document."""
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / "measure.html"
        script = (
            "<script>document.documentElement.dataset.height ="
            " Math.ceil(document.body.getBoundingClientRect().height)</script>"
        )
        copy.write_text(
            page.read_text(encoding="utf-8").replace("</body>", f"{script}</body>"), encoding="utf-8"
        )
        done = _run([*command, f"--window-size={width},800", "--dump-dom", copy.as_uri()])
    digits = done.partition('data-height="')[2].partition('"')[0]
    return min(int(digits), 16_000) if digits.isdecimal() else 2400


def _run(command: list[str]) -> str:
    try:
        done = subprocess.run(command, capture_output=True, timeout=SECONDS, check=False)
    except subprocess.TimeoutExpired:
        raise PrerequisiteError(
            f"Chromium took more than {SECONDS} s", "Open the HTML file in a browser and print it instead."
        ) from None
    return done.stdout.decode("utf-8", "replace")
