"""Files that commands write: what keeps them from being written is told before anything is done."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from humaneval.store.written_files import refuse_place as refuse_place
from humaneval.store.written_files import write_whole as write_whole


class OutFile(click.Path):
    """The name of a file to write. What keeps it from being written is an error before anything is done."""

    def __init__(self) -> None:
        super().__init__(path_type=Path, dir_okay=False)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        path = Path(str(super().convert(value, param, ctx)))
        refuse_place(path)
        return path


OUT_FILE = OutFile()
