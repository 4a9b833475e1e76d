"""What strangers wrote commands no terminal."""

from __future__ import annotations

import json

import pytest
from rich.table import Table
from rich.text import Text

from humaneval.cli.context import console, emit, say

WRITTEN = "Ann\x1b]0;x\x07\x1b[2J\x9b\x00\x7f\u202e\r"


def test_neither_lines_nor_documents_nor_tables_print_commands(capsys: pytest.CaptureFixture[str]) -> None:
    say(WRITTEN)
    say(WRITTEN, err=True)
    emit({"name": WRITTEN})
    table = Table("Name", "Word")
    table.add_row(WRITTEN, Text(WRITTEN))
    console().print(table)
    printed, errors = capsys.readouterr()
    assert printed.replace("\n", "").isprintable()
    assert errors.replace("\n", "").isprintable()
    assert printed.count("Ann") == 4


def test_a_document_is_read_back_as_it_was(capsys: pytest.CaptureFixture[str]) -> None:
    emit({"name": WRITTEN, "other": "Jos\u00e9 \u05d0"})
    assert json.loads(capsys.readouterr().out) == {"name": WRITTEN, "other": "Jos\u00e9 \u05d0"}
