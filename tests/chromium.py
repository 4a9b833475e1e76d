"""One Chromium for all tests of a process: Playwright takes no second one beside it. A plugin.

The browser is the npm package `@sparticuz/chromium`, so that pages look the same on every machine: it brings
the libraries that a bare machine lacks, and a font. It is unpacked once, beside the packages of npm.
HUMANEVAL_TEST_CHROMIUM names another browser.
"""

from __future__ import annotations

import fcntl
import json
import os
import shutil
import subprocess
import sys
import tarfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, BrowserContext, expect, sync_playwright

from humaneval.running.screenshots import find_chromium
from tests.conftest import ROOT, lacking
from tests.pace import PATIENCE

FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
PACKAGE = ROOT / "node_modules" / "@sparticuz" / "chromium"
HOW_TO_GET = "npm ci, or apt-get install chromium"
UNPACK = "process.stdin.pipe(require('zlib').createBrotliDecompress()).pipe(process.stdout)"
FONTS = """<?xml version="1.0"?>
<!DOCTYPE fontconfig SYSTEM "fonts.dtd">
<fontconfig><dir>{0}/fonts</dir><cachedir>{0}/fonts-cache</cachedir></fontconfig>
"""
START = """#!/bin/sh
export LD_LIBRARY_PATH="{0}/lib" FONTCONFIG_FILE="{0}/fonts.conf"
exec "{0}/browser" "$@"
"""

COMMANDS = """#!{0}
import sys
from playwright.sync_api import sync_playwright

options = dict(word.removeprefix("--").partition("=")[::2] for word in sys.argv[1:-1])
width, height = map(int, options["window-size"].split(","))
with sync_playwright() as playwright:
    browser = playwright.chromium.launch(executable_path="{1}", args=["--no-sandbox"])
    dots = float(options["force-device-scale-factor"])
    page = browser.new_page(viewport=dict(width=width, height=height), device_scale_factor=dots)
    page.goto(sys.argv[-1])
    if "dump-dom" in options:
        print(page.content())
    else:
        page.screenshot(path=options["screenshot"])
"""


@pytest.fixture(scope="session")
def chromium_path() -> str:
    """Where the browser is that the tests use."""
    chosen = os.environ.get("HUMANEVAL_TEST_CHROMIUM")
    if chosen:
        return chosen
    if (PACKAGE / "bin").is_dir() and shutil.which("node"):
        return str(_unpacked())
    installed = find_chromium()
    if installed is None:
        lacking("Chromium", HOW_TO_GET)
    return str(installed)


@pytest.fixture
def chromium_on_path(chromium_path: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A Chromium that the toolkit finds: the machine's own, or npm's with the two commands that it lacks."""
    if find_chromium() is not None:
        return
    folder = tmp_path / "with-chromium"
    folder.mkdir()
    program = folder / "chromium"
    program.write_text(COMMANDS.format(sys.executable, chromium_path), encoding="utf-8")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}{os.pathsep}{os.environ['PATH']}")


@pytest.fixture(scope="session")
def _one_chromium(chromium_path: str) -> Iterator[Browser]:
    expect.set_options(timeout=PATIENCE * 1000)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=chromium_path, args=FLAGS, timeout=PATIENCE * 1000
        )
        yield browser
        browser.close()


@pytest.fixture
def chromium(_one_chromium: Browser) -> Iterator[Browser]:
    """One browser for all tests; each test makes profiles of its own, whose pages do not outlive it."""
    others = list(_one_chromium.contexts)
    yield _one_chromium
    for profile in _one_chromium.contexts:
        if profile not in others:
            profile.close()


def profile(browser: Browser, **options: Any) -> BrowserContext:
    """A new profile with these Playwright options, which is patient on a busy machine."""
    made = browser.new_context(**options)
    made.set_default_timeout(PATIENCE * 1000)
    return made


def _unpacked() -> Path:
    """The program that starts the browser of the npm package, unpacked if it is not yet."""
    version = json.loads((PACKAGE / "package.json").read_text(encoding="utf-8"))["version"]
    cache = (ROOT / "node_modules").resolve() / ".cache"  # several checkouts may share it
    folder = cache / f"chromium-{version}"
    start = folder / "chromium"
    cache.mkdir(exist_ok=True)
    with (cache / "chromium.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # one process of the tests unpacks it, the others wait
        if not start.exists():
            _unpack(folder)
            (folder / "fonts.conf").write_text(FONTS.format(folder), encoding="utf-8")
            start.with_suffix(".new").write_text(START.format(folder), encoding="utf-8")
            start.with_suffix(".new").chmod(0o755)
            start.with_suffix(".new").rename(start)
    return start


def _unpack(folder: Path) -> None:
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    browser = folder / "browser"
    with browser.open("wb") as written:
        _decompress(PACKAGE / "bin" / "chromium.br", written.fileno())
    browser.chmod(0o755)
    for archive in ("al2023", "fonts", "swiftshader"):
        unpacked = folder / f"{archive}.tar"
        with unpacked.open("wb") as written:
            _decompress(PACKAGE / "bin" / f"{archive}.tar.br", written.fileno())
        with tarfile.open(unpacked) as files:
            files.extractall(folder, filter="data")
        unpacked.unlink()


def _decompress(packed: Path, written: int) -> None:
    """Node decompresses, for Python has no Brotli."""
    with packed.open("rb") as source:
        subprocess.run(["node", "-e", UNPACK], stdin=source, stdout=written, check=True)
