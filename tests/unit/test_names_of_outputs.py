"""`--out` of every command: an empty name, or that of a folder, is one line, and nothing is written."""

from __future__ import annotations

import os
from pathlib import Path

import click
import pytest
from sqlalchemy import Engine

from humaneval.cli.main import cli
from humaneval.cli.output_files import NamedPath, refuse_place
from humaneval.errors import InputError
from humaneval.store.engine import reading
from humaneval.store.exports import exports_of, note_export


def outs(group: click.Group, *path: str) -> list[tuple[tuple[str, ...], click.Option]]:
    """Every option `--out`, after the words that call its command."""
    context, found = click.Context(group), []
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        if isinstance(command, click.Group):
            found += outs(command, *path, name)
        elif command is not None:
            found += [
                ((*path, name), option)
                for option in command.params
                if isinstance(option, click.Option) and "--out" in option.opts
            ]
    return found


def test_no_command_writes_to_an_empty_name() -> None:
    found = outs(cli)
    assert len(found) > 10
    for path, option in found:
        if path == ("train",):  # its folder must be empty or its own
            continue
        assert isinstance(option.type, NamedPath), path
        with pytest.raises(click.BadParameter, match="the name is empty"):
            option.type.convert("", option, None)


@pytest.mark.parametrize("name", [".", "/", "./"])
def test_a_folder_is_no_name_of_a_file(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InputError, match="is a folder"):
        refuse_place(Path(name))
    assert not os.listdir(tmp_path)


def test_a_name_that_is_not_in_utf_8_is_noted_as_it_can_be_read(
    sqlite_engine: Engine, study: str, tmp_path: Path
) -> None:
    place = tmp_path / os.fsdecode(b"ann\xe9.csv")
    place.write_text("1")
    note_export(sqlite_engine, 1, "responses", place)
    with reading(sqlite_engine) as session:
        (line,) = exports_of(session, 1)
    assert line.endswith(r"/ann\xe9.csv")
