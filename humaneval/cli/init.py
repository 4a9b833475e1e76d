"""`init`: write the two files that say where the toolkit runs and what a study is like."""

from __future__ import annotations

from pathlib import Path

import click

from humaneval.cli.context import emit, json_option, say
from humaneval.cli.output_files import NamedPath, write_whole
from humaneval.errors import UsageError
from humaneval.resources import bundled
from humaneval.settings import CONFIG_FILE, config_text
from humaneval.text import command

STUDY_FILE = "study.toml"


@click.command()
@click.option(
    "--out",
    "folder",
    type=NamedPath(file_okay=False),
    default=Path(),
    help="Folder to write to. [default: this one]",
)
@json_option
def init(folder: Path, as_json: bool) -> None:
    """Write a commented humaneval.toml and study.toml. Existing files stay as they are."""
    files = {
        CONFIG_FILE: config_text(),
        STUDY_FILE: (bundled("bundled") / STUDY_FILE).read_text(encoding="utf-8"),
    }
    if not folder.is_dir():
        raise UsageError(f"{folder} is not a folder", "Create it first.")
    new = [name for name in files if not (folder / name).exists()]
    for name in new:
        write_whole(folder / name, files[name].encode())
    if as_json:
        emit([{"file": str(folder / name), "written": name in new} for name in files])
        return
    for name in files:
        say(f"{folder / name} {'written' if name in new else 'exists; left as it is'}")
    made = command("study", "create", "NAME", "--from", "FILE", "--file", folder / STUDY_FILE)
    say(f"Next, once {folder / STUDY_FILE} says what you want:")
    say(f"  with a table:  {made}")
    say(f"  with stories:  {command('stories', 'import', 'FILE')}")
