"""Files that commands write: what keeps them from being written is told before anything is done."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from humaneval.store.written_files import refuse_place as refuse_place
from humaneval.store.written_files import write_whole as write_whole


class NamedPath(click.Path):
    """The name of a file or folder. An empty one, as of a variable that is not set, would mean the
    working folder."""

    def __init__(self, *, file_okay: bool = True, dir_okay: bool = True, path_type: type = Path) -> None:
        super().__init__(path_type=path_type, file_okay=file_okay, dir_okay=dir_okay)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        if value == "":
            self.fail("the name is empty.", param, ctx)
        return super().convert(value, param, ctx)


class OutFile(NamedPath):
    """The name of a file to write. What keeps it from being written is an error before anything is done."""

    def __init__(self) -> None:
        super().__init__(dir_okay=False)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        path = Path(str(super().convert(value, param, ctx)))
        refuse_place(path)
        return path


OUT_FILE = OutFile()
