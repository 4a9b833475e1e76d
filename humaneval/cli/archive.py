"""`archive`: one zip from which the scores of a study can be recomputed; and whether such a zip holds what it
says."""

from __future__ import annotations

from pathlib import Path

import click

from humaneval.cli.output_files import OUT_FILE
from humaneval.cli.run import App, emit, json_option, say, with_app
from humaneval.errors import UsageError


@click.command()
@click.argument("study", required=False)
@click.option("--out", type=OUT_FILE, help="Where to write it. [default: STUDY.zip]")
@click.option(
    "--check",
    "checked",
    metavar="FILE",
    type=click.Path(path_type=Path),
    help="Instead: check an archive's hashes and compute its scores again. Needs no database.",
)
@click.option("--tests", is_flag=True, help="Archive pilots and sandbox answers, scored alone.")
@json_option
@with_app
def archive(
    app: App, study: str | None, out: Path | None, checked: Path | None, tests: bool, as_json: bool
) -> None:
    """Write everything that recomputes the scores of STUDY to one zip: responses under pseudonyms, design,
    scores, infills."""
    if (study is None) == (checked is None):
        raise UsageError("name a study to archive, or an archive with --check FILE")
    if checked is not None:
        if out or tests:
            raise UsageError("--check stands alone", "An archive says itself how it was scored.")
        _check(checked, as_json)
        return
    assert study is not None
    from humaneval.report.archive import write_archive

    path = out or Path(f"{study}.zip")
    done = write_archive(app.engine, study, path, tests=tests)
    if as_json:
        emit({**done._asdict(), "archive": path.resolve()})
        return
    say(f"Archive written to {path.resolve()}: {done.files} files, {done.responses:,} responses.")
    say(f"SHA-256 of its manifest, to print in a paper: {done.sha256}")


def _check(path: Path, as_json: bool) -> None:
    from humaneval.report.archive_check import check_archive

    found = check_archive(path)
    if as_json:
        emit({"archive": path.resolve(), **found._asdict()})
        return
    say(
        f"{path}: {found.files} files are as archived, and the {found.responses:,} responses of {found.study}"
        " give scores.json again, byte for byte."
    )
    say(f"SHA-256 of its manifest: {found.sha256}")
