"""The notebook and the page about Python: they run as they stand, and show what they give."""

from __future__ import annotations

import contextlib
import io
import re
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Engine

import humaneval as he
from humaneval.interface.scores import Scores
from tests.answered import answer
from tests.conftest import ROOT
from tests.docs.notebook import read, run
from tests.unit.test_report import Outline, responses

PAGE = ROOT / "docs" / "python.md"


def texts(notebook: dict[str, Any]) -> list[Any]:
    """What the cells show, without pictures, which follow the fonts of matplotlib."""
    shown = []
    for cell in notebook["cells"]:
        for output in cell.get("outputs", []):
            data = output.get("data", {"stream": output.get("text")})
            shown.append(
                {form: "".join(lines) for form, lines in data.items() if not form.startswith("image/")}
            )
    return shown


def test_the_notebook_shows_what_its_cells_give(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    stored = read()
    assert texts(run(stored)) == texts(stored), "python -m tests.docs.notebook"
    assert (tmp_path / "report.html").is_file()


def test_the_notebook_is_one_that_jupyter_opens() -> None:
    stored = read()
    assert (stored["nbformat"], stored["nbformat_minor"]) == (4, 5)
    names = [cell["id"] for cell in stored["cells"]]
    assert len(names) == len(set(names))
    for cell in stored["cells"]:
        assert cell["cell_type"] in ("code", "markdown")
        assert ("outputs" in cell) == (cell["cell_type"] == "code")
        for output in cell.get("outputs", []):
            if html := "".join(output.get("data", {}).get("text/html", [])):
                Outline(html)
    assert any("image/png" in out.get("data", {}) for c in stored["cells"] for out in c.get("outputs", []))


def test_every_example_of_the_page_runs(
    sqlite_database: str, sqlite_engine: Engine, study_factory: Any, tmp_path: Path
) -> None:
    study_factory(sqlite_engine, "mine")
    answer(sqlite_engine, "mine")
    responses(("control", "lm", "ilm", "human")).to_csv(tmp_path / "responses.csv", index=False)
    assert Path(sqlite_database.removeprefix("sqlite:///")) == tmp_path / "humaneval.db"
    space: dict[str, Any] = {}
    blocks = re.findall(r"^```python\n(.*?)^```$", PAGE.read_text(encoding="utf-8"), re.M | re.S)
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        for block in blocks:
            exec(compile(block, str(PAGE), "exec"), space)
    assert len(blocks) >= 6
    assert isinstance(space["scores"], Scores)
    assert {"scores.pdf", "report.html", "tables.tex"} <= {path.name for path in tmp_path.iterdir()}
    assert 'frame["choice"] += 1' in printed.getvalue()


def test_the_page_names_everything_that_there_is() -> None:
    text = PAGE.read_text(encoding="utf-8")
    for name in set(he.__all__) - {"__version__", "SettingsError", "Database", "StoredStudy"}:
        if name not in ("Scores", "StudyPlan"):
            assert f"he.{name}" in text, name
    for kind in (he.Scores, he.StudyPlan):
        names = {name for name in vars(kind) if not name.startswith("_")}
        inner = {"table", "analysis", "facts", "files", "computed", "plan", "outlook", "lines"}
        for name in names - inner:
            assert f".{name}" in text, name
