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
from humaneval.scoring.response_table import read_responses
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
