"""Writes docs/cases.md: which tests stand for which case. Run `python -m tests.docs.write_cases` after adding
one."""

from __future__ import annotations

import re
from collections import defaultdict
from pathlib import Path

from tests.conftest import ROOT

PAGE = ROOT / "docs" / "cases.md"
HEAD = """# Cases

What went wrong for users of other tools, by number: C for collecting answers and paying for them, G for models and generators.
Each has at least one test here that bears its number; what it says is what this toolkit does instead.

| case | tests |
| --- | --- |
"""
_TEST = re.compile(r"^\s*(?:async )?def (test_(?:[CG]\d+_)+\w+)", re.MULTILINE)
_CASE = re.compile(r"[CG]\d+(?=_)")


def cases() -> dict[str, list[tuple[str, Path]]]:
    """For each case the tests that bear its number, with their files."""
    found: dict[str, list[tuple[str, Path]]] = defaultdict(list)
    for path in sorted((ROOT / "tests").rglob("test_*.py")):
        for name in _TEST.findall(path.read_text(encoding="utf-8")):
            head = re.match(r"test_((?:[CG]\d+_)+)", name)
            assert head is not None
            for case in _CASE.findall(head.group(1)):
                found[case].append((name, path.relative_to(ROOT)))
    return found


def page() -> str:
    """The page as it should be."""
    lines = []
    for case, tests in sorted(cases().items(), key=lambda item: (item[0][0], int(item[0][1:]))):
        shown = [f"`{_words(name)}` ({path.relative_to('tests')})" for name, path in tests]
        lines.append(f"| {case} | {'<br>'.join(shown)} |\n")
    return HEAD + "".join(lines)


def _words(name: str) -> str:
    return re.sub(r"^test_(?:[CG]\d+_)+", "", name).replace("_", " ")


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
