"""The wheel: what is in it, and that it works where the source tree is not."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import zipfile
from importlib.util import find_spec
from pathlib import Path
from urllib.request import urlopen

import pytest

from tests.conftest import ROOT, lacking
from tests.pace import PATIENCE

SHIPPED = {
    "humaneval": "humaneval",
    "generators": "generators",
    "hit_templates": "humaneval/hit_templates",
    "migrations": "humaneval/migrations",
}
"""Folder of the source tree → where it lies in the wheel."""
ONE_AFTER_THE_OTHER = """
import gc, os, sys
from humaneval.cli.main import VERBS, main
for target in VERBS.values():
    __import__(target.module)
gc.freeze()
for line in sys.argv[1:]:
    child = os.fork()
    if not child:
        try:
            main(line.split())
        except SystemExit as end:
            sys.stdout.flush()
            os._exit(end.code or 0)
    if os.waitpid(child, 0)[1]:
        sys.exit(f"this failed: {line}")
"""
"""Runs each of its arguments as a command line of its own, from a process that has loaded the verbs once.
They end without taking apart what is loaded, which takes longer than they do."""


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel, built from the source tree without the network."""
    for package in ("build", "hatchling"):
        if find_spec(package) is None:
            lacking(f"the package {package}", "pip install 'humaneval-toolkit[test]'")
    folder = tmp_path_factory.mktemp("wheel")
    command = [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", str(folder), str(ROOT)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=PATIENCE)
    assert done.returncode == 0, done.stdout + done.stderr
    (built,) = folder.glob("*.whl")
    return built


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the wheel installed in it, and nothing else."""
    target = tmp_path_factory.mktemp("installed")
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--no-index", "--no-deps", "--target"]
    done = subprocess.run([*pip, str(target), str(wheel)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return target


def source_files() -> set[str]:
    """Every file that ought to be in the wheel, by its name there."""
    return {
        f"{there}/{path.relative_to(ROOT / here).as_posix()}"
        for here, there in SHIPPED.items()
        for path in (ROOT / here).rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }


def test_the_wheel_has_every_file_of_the_packages_and_nothing_beside_them(wheel: Path) -> None:
    names = {name for name in zipfile.ZipFile(wheel).namelist() if not name.endswith("/")}
    information = {name for name in names if name.partition("/")[0].endswith(".dist-info")}
    assert names - information == source_files()
    assert {name.partition("/")[0] for name in names - information} == {"humaneval", "generators"}
    assert {name.rpartition("/")[2] for name in information} >= {"METADATA", "entry_points.txt", "LICENSE"}


def test_the_wheel_has_what_pages_reports_and_migrations_are_made_of(wheel: Path) -> None:
    names = zipfile.ZipFile(wheel).namelist()
    for folder, ending in (
        ("humaneval/hit_templates", ".html"),
        ("humaneval/hit_templates", ".css"),
        ("humaneval/migrations/versions", ".py"),
        ("humaneval/bundled", ".jsonl"),
        ("humaneval/bundled", ".toml"),
        ("humaneval/bundled", ".csv"),
        ("humaneval/market/templates", ".html"),
        ("humaneval/market/static", ".css"),
        ("humaneval/report/templates", ".html"),
    ):
        assert any(name.startswith(f"{folder}/") and name.endswith(ending) for name in names), folder


def test_the_installed_wheel_runs_from_elsewhere(installed: Path, tmp_path: Path) -> None:
    environment = {**os.environ, "PYTHONPATH": str(installed), "PYTHONWARNINGS": "error"}

    def python(*arguments: str) -> str:
        done = subprocess.run(
            [sys.executable, *arguments],
            cwd=tmp_path,
            env=environment,
            capture_output=True,
            text=True,
            check=False,
            timeout=PATIENCE,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    kinds = json.loads(python("-m", "humaneval", "generators", "list", "--json"))
    files = {kind["kind"]: kind["file"] for kind in kinds}
    assert files["control"] == str(installed / "generators" / "control.py")
    said = python(
        "-c",
        ONE_AFTER_THE_OTHER,
        *("init", "stories import --bundled", "db upgrade", "db check"),
        *("generate --generator control", "generate --generator human"),
        *("study create s --generators control,human --annotators 10", "study preview s --out page.html"),
    )
    assert "Already" in said
    assert "The database is sound.\n" in said
    assert "<fieldset" in (tmp_path / "page.html").read_text(encoding="utf-8")

    market = [sys.executable, "-m", "humaneval", "market", "serve", "--port", "0", "--json"]
    process = subprocess.Popen(market, cwd=tmp_path, env=environment, stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        decoder, text = json.JSONDecoder(), ""
        while True:
            text += process.stdout.readline()
            try:
                document, _ = decoder.raw_decode(text)
                break
            except json.JSONDecodeError:
                assert process.poll() is None, text
        with urlopen(f"{document['worker_site']}signin", timeout=PATIENCE) as response:
            assert b"<form" in response.read()
    finally:
        process.terminate()
        process.communicate()


def test_a_third_partys_package_is_built_installed_listed_checked_and_used(
    installed: Path, tmp_path: Path
) -> None:
    """The package that docs/generators.md shows, word for word."""
    page = (ROOT / "docs" / "generators.md").read_text(encoding="utf-8")
    blocks = re.findall(r"^```(?:python|toml)\n# (\S+)\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)
    assert [name for name, _ in blocks] == ["coin.py", "pyproject.toml"]
    package, target = tmp_path / "package", tmp_path / "target"
    package.mkdir()
    for name, text in blocks:
        (package / name).write_text(text, encoding="utf-8")

    def python(*arguments: object) -> str:
        environment = {**os.environ, "PYTHONPATH": f"{target}{os.pathsep}{installed}"}
        command = [sys.executable, "-m", *map(str, arguments)]
        done = subprocess.run(
            command,
            capture_output=True,
            text=True,
            check=False,
            cwd=tmp_path,
            env=environment,
            timeout=PATIENCE,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    python("build", "--wheel", "--no-isolation", "--outdir", tmp_path / "wheel", package)
    (wheel,) = (tmp_path / "wheel").glob("*.whl")
    python("pip", "install", "--quiet", "--no-index", "--no-deps", "--target", target, wheel)
    assert re.search(r"^coin +humaneval-coin", python("humaneval", "generators", "list"), re.MULTILINE)
    checked = python("humaneval", "generators", "check", "coin")
    assert "fails" not in checked
    assert "It was " in checked
    python("humaneval", "stories", "import", "--bundled")
    said = json.loads(
        python("humaneval", "generate", "--generator", "coin", "--stories", "2", "--split", "", "--json")
    )
    assert said == [{"generator": "coin", "written": {"ok": 10}, "already_there": 0}]
