"""Runs the cells of the notebook, and writes what they print into it: `python -m tests.docs.notebook`.

As Jupyter does it: what a cell prints is a stream, and its last expression is shown in its own forms.
"""

from __future__ import annotations

import ast
import base64
import io
import json
import os
import tempfile
from contextlib import redirect_stdout
from typing import Any

from tests.conftest import ROOT

NOTEBOOK = ROOT / "docs" / "notebook.ipynb"


def read() -> dict[str, Any]:
    """The notebook as it is stored."""
    found: dict[str, Any] = json.loads(NOTEBOOK.read_text(encoding="utf-8"))
    return found


def run(notebook: dict[str, Any]) -> dict[str, Any]:
    """The notebook with the outputs of a run in the present folder."""
    space: dict[str, Any] = {"__name__": "__main__"}
    count = 0
    cells = []
    for cell in notebook["cells"]:
        if cell["cell_type"] == "code":
            count += 1
            cell = {
                **cell,
                "execution_count": count,
                "outputs": _outputs("".join(cell["source"]), space, count),
            }
        cells.append(cell)
    return {**notebook, "cells": cells}


def _outputs(source: str, space: dict[str, Any], count: int) -> list[dict[str, Any]]:
    """What one cell gives, in the form that notebooks are stored in."""
    tree = ast.parse(source)
    last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    printed = io.StringIO()
    with redirect_stdout(printed):
        exec(compile(tree, f"cell {count}", "exec"), space)
        shown = None
        if isinstance(last, ast.Expr):
            shown = eval(compile(ast.Expression(last.value), f"cell {count}", "eval"), space)
    outputs: list[dict[str, Any]] = []
    if text := printed.getvalue():
        outputs.append({"name": "stdout", "output_type": "stream", "text": _lines(text)})
    if shown is not None:
        outputs.append(
            {
                "data": _forms(shown),
                "execution_count": count,
                "metadata": {},
                "output_type": "execute_result",
            }
        )
    return outputs


def _forms(shown: Any) -> dict[str, Any]:
    forms: dict[str, Any] = {}
    if hasattr(shown, "_repr_png_"):
        forms["image/png"] = base64.b64encode(shown._repr_png_()).decode() + "\n"
    if hasattr(shown, "_repr_html_") and (html := shown._repr_html_()):  # a figure's gives nothing
        forms["text/html"] = _lines(html)
    return {**forms, "text/plain": _lines(repr(shown))}


def _lines(text: str) -> list[str]:
    return text.splitlines(keepends=True)


def text_of(notebook: dict[str, Any]) -> str:
    """The notebook as it is stored in a file."""
    return json.dumps(notebook, indent=1, ensure_ascii=False) + "\n"


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        NOTEBOOK.write_text(text_of(run(read())), encoding="utf-8", newline="\n")
