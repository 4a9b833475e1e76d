"""`archive`: one zip from which the scores of a study can be recomputed, and a check of such a zip."""

from __future__ import annotations

from pathlib import Path

import click

from humaneval.cli.context import App, emit, json_option, say, with_app
from humaneval.cli.output_files import OUT_FILE, write_whole
from humaneval.errors import UsageError
from humaneval.report.archive import make_archive
from humaneval.report.archive_check import check_archive
from humaneval.store.exports import note_export
from humaneval.text import counted


@click.command()
@click.argument("study", required=False)
@click.option("--out", type=OUT_FILE, help="File to write. [default: STUDY.zip]")
@click.option(
    "--check",
    "checked",
    metavar="FILE",
    type=click.Path(path_type=Path),
    help="Archive to check instead: its hashes, and its scores computed again. Needs no database.",
)
@click.option("--tests", is_flag=True, help="Archive only pilots and answers from the sandbox.")
@json_option
@with_app
def archive(
    app: App, study: str | None, out: Path | None, checked: Path | None, tests: bool, as_json: bool
) -> None:
    """Write one zip from which anyone can recompute the scores of STUDY.

    It holds the responses under pseudonyms, the design, the scores and the infills. With --check, check such
    a zip."""
    if (study is None) == (checked is None):
        raise UsageError("give either a STUDY to archive or --check FILE")
    if checked is not None:
        if out or tests:
            raise UsageError(
                "--check takes no other options", "Leave them out: the archive itself says how it was scored."
            )
        _check(checked, as_json)
        return
    assert study is not None
    path = out or Path(f"{study}.zip")
    opened = app.study(study)
    done = make_archive(opened, tests=tests)
    write_whole(path, done.content)
    note_export(opened.engine, opened.id, "archive", path)
    if as_json:
        facts = {name: value for name, value in done._asdict().items() if name != "content"}
        emit({**facts, "archive": path.resolve()})
        return
    holds = f"{counted(done.files, 'file')}, {counted(done.responses, 'response')}"
    say(f"Archive written to {path.resolve()}: {holds}.")
    say(f"SHA-256 of its manifest, for a paper: {done.sha256}")


def _check(path: Path, as_json: bool) -> None:
    found = check_archive(path)
    if as_json:
        emit({"archive": path.resolve(), **found._asdict()})
        return
    say(
        f"{path}: {counted(found.files, 'file', 'is', 'are')} unchanged, and the"
        f" {counted(found.responses, 'response')} of {found.study} give the same scores.json, byte for byte."
    )
    say(f"SHA-256 of its manifest: {found.sha256}")
