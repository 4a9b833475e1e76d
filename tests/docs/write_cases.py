"""Writes docs/cases.md: what each case means, and which tests stand for it. Run `make docs` after adding
one."""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from tests.conftest import ROOT
from tests.docs.case_meanings import MEANINGS

PAGE = ROOT / "docs" / "cases.md"
HEAD = """# Cases

Each case is a fault. Users of other tools met C, G and P: C is for collecting answers and paying for
them, G for models and generators, P for Prolific and other panels. X is for faults that trying this toolkit
found. A test with such a number in its name shows that this toolkit does not have the fault: `test_C04_…`,
for example, is a test of case C04.

To run all tests of a case: `python -m pytest -k C04`. To add a case, describe it in
`tests/docs/case_meanings.py`, put its number into the names of its tests, and run `make docs`.

| case | what went wrong | what is tested here |
| --- | --- | --- |
"""
_NUMBERS = re.compile(r"test_((?:[CGPX]\d+_)+)(\w+)", re.IGNORECASE)


class CaseTest(NamedTuple):
    """A test that bears the number of at least one case."""

    name: str
    path: Path
    """From tests/ on."""

    @property
    def cases(self) -> list[str]:
        found = _NUMBERS.fullmatch(self.name)
        assert found is not None
        return found.group(1).upper().strip("_").split("_")

    @property
    def sentence(self) -> str:
        found = _NUMBERS.fullmatch(self.name)
        assert found is not None
        return found.group(2).replace("_", " ")


def case_tests(folder: Path) -> Iterator[CaseTest]:
    """Every test below `folder` whose name begins with a case, in upper or lower case."""
    for path in sorted(folder.rglob("test_*.py")):
        text = path.read_text(encoding="utf-8")
        for node in ast.walk(ast.parse(text if _NUMBERS.search(text) else "")):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and _NUMBERS.fullmatch(node.name):
                yield CaseTest(node.name, path.relative_to(folder))


def page(folder: Path = ROOT / "tests", meanings: dict[str, str] = MEANINGS) -> str:
    """The page as it should be. A case without a test, and a test without a case, are errors (KeyError)."""
    found: dict[str, list[CaseTest]] = defaultdict(list)
    for test in case_tests(folder):
        for case in test.cases:
            found[case].append(test)
    if unmatched := found.keys() ^ meanings.keys():
        raise KeyError(f"a meaning without a test, or a test without a meaning: {sorted(unmatched)}")
    lines = []
    for case, tests in sorted(found.items(), key=lambda item: (item[0][0], int(item[0][1:]))):
        shown = "<br>".join(f"`{test.sentence}` ({test.path})" for test in tests)
        lines.append(f"| {case} | {meanings[case]} | {shown} |\n")
    return HEAD + "".join(lines)


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
