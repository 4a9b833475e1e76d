"""What the first bytes of a file say, at every door."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from humaneval.csv_file import Kept, read_csv_file
from humaneval.encodings import NOT_TEXT
from humaneval.errors import InputError
from humaneval.foreign import Options
from humaneval.foreign.document import open_document
from humaneval.resources import bundled
from humaneval.scoring.response_table import read_responses
from humaneval.store.files import SETTINGS, kept_in
from humaneval.stories import read_stories

DOORS: dict[str, Callable[[Path], Any]] = {
    "stories": read_stories,
    "people": lambda path: read_csv_file(path, what="a list of people"),
    "answers": lambda path: open_document(path, Options()).rows,
    "responses": read_responses,
}


@pytest.mark.parametrize("door", DOORS)
@pytest.mark.parametrize("start", NOT_TEXT, ids=lambda start: start[1])
def test_X53_a_file_that_is_no_text_is_named_alike_at_every_door(
    tmp_path: Path, start: tuple[bytes, str, str], door: str
) -> None:
    path = tmp_path / "file"
    path.write_bytes(start[0] + b"\x00\x01 more of it")
    with pytest.raises(InputError) as told:
        DOORS[door](path)
    if door == "answers" and start[0].startswith(b"PK"):  # a workbook is read there
        assert "damaged Excel workbook or zip archive" in told.value.message
    else:
        assert told.value.message.startswith(f"{path} is {start[1]}, not ")
        assert told.value.hint == start[2]


def test_a_row_that_is_kept_has_no_room_to_grow() -> None:
    kept = Kept("table.csv")
    kept.add(1, [str(number) for number in range(9)])
    assert sys.getsizeof(kept.rows[0]) <= sys.getsizeof([None] * 10)


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        (bundled("bundled/study.toml").read_text("utf-8"), True),
        ("# why\r\n\r\n[design]  # so\r\n\r\n# these\r\ngenerators = ['a']\r\n", True),
        ('title = "x"\n[a]\n[b]\n', True),
        ("[section]\n\nSome text, and a = b in it.\n", False),
        ("[link]\n- one\n", False),
        ("# Title\n\n[section]\n\nText.\n", False),
    ],
)
def test_settings_under_any_name_are_told_from_markdown(tmp_path: Path, text: str, kept: bool) -> None:
    (tmp_path / "file.md").write_text(text, encoding="utf-8", newline="")
    assert (kept_in(tmp_path / "file.md") == SETTINGS) is kept
