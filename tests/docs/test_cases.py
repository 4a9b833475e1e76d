"""The page of cases names every test that bears a case's number, and says what each case is."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.conftest import ROOT
from tests.docs.write_cases import PAGE, page


def test_the_page_of_cases_is_what_the_tests_say() -> None:
    assert PAGE.read_text(encoding="utf-8") == page(), "run `make docs`"


def test_the_page_names_every_test_whose_name_bears_a_number() -> None:
    """Counted here by other means than by the page's own script: line by line, in any case of letters."""
    rows = [line for line in PAGE.read_text(encoding="utf-8").splitlines() if line.startswith("| ")]
    seen = 0
    for path in sorted((ROOT / "tests").rglob("*.py")):
        for line in path.read_text(encoding="utf-8").lower().splitlines():
            line = line.strip().removeprefix("async ")
            if not line.startswith("def test_") or not re.match(
                r"[cgpx]\d", name := line.split("def test_")[1]
            ):
                continue
            words = name.partition("(")[0].split("_")
            cases = [
                word
                for n, word in enumerate(words)
                if all(re.fullmatch(r"[cgpx]\d+", w) for w in words[: n + 1])
            ]
            shown = f"`{' '.join(words[len(cases) :])}` ({path.relative_to(ROOT / 'tests')})"
            for case in cases:
                (row,) = (row for row in rows if row.startswith(f"| {case.upper()} |"))
                assert shown in row.lower()
                seen += 1
    assert seen > 300


@pytest.mark.parametrize("name", ["test_C07_it_holds", "test_c07_it_holds", "test_G01_c07_it_holds"])
def test_a_number_counts_in_upper_and_in_lower_case(name: str, tmp_path: Path) -> None:
    (tmp_path / "test_one.py").write_text(
        f"class TestAll:\n    async def {name}(self): ...\n", encoding="utf-8"
    )
    meanings = {"C07": "It failed."} | ({"G01": "It failed, too."} if "G01" in name else {})
    assert "\n| C07 | It failed. | `it holds` (test_one.py) |\n" in page(tmp_path, meanings)


def test_a_case_without_a_test_and_a_test_without_a_case_are_noticed(tmp_path: Path) -> None:
    (tmp_path / "test_one.py").write_text("def test_c07_it_holds(): ...\n", encoding="utf-8")
    with pytest.raises(KeyError, match="C08"):
        page(tmp_path, {"C07": "It failed.", "C08": "It failed, too."})
    with pytest.raises(KeyError, match="C07"):
        page(tmp_path, {})
