"""`publish --to csv`: the files from which a site makes a batch."""

from __future__ import annotations

from pathlib import Path

from humaneval.cli.context import RunOptions, emit, say
from humaneval.cli.output_files import write_whole
from humaneval.crowd.mturk_csv import batch_of
from humaneval.crowd.publish import publish_hits
from humaneval.crowd.publish_plan import plan_hits
from humaneval.crowd.study_at import StudyAtPlatform
from humaneval.errors import UsageError
from humaneval.text import command, counted

LAYOUT, TABLE = "layout.html", "input.csv"


def publish_files(
    at: StudyAtPlatform, public_url: str, folder: Path | None, options: RunOptions, *, top_up: bool
) -> None:
    """Write the layout, and the table with one line for each form without answers."""
    if folder is None:
        raise UsageError("the files of a batch need a folder", "Name one: --out FOLDER")
    for each in (folder, *folder.parents):
        if each.exists() and not each.is_dir():
            raise UsageError(f"{each} is no folder", "Name another with --out.")
    plan = plan_hits(at, static=True, top_up=top_up, dry_run=options.dry_run)
    if options.dry_run:
        if options.as_json:
            emit({"endpoint": at.endpoint, "forms": plan.hits + plan.already_up, "lost_rows": plan.lost_rows})
        else:
            say(f"csv: {counted(plan.hits + plan.already_up, 'form')} in all. Nothing was written.")
        return
    publish_hits(at, public_url=public_url)
    batch = batch_of(at)
    folder.mkdir(parents=True, exist_ok=True)
    # UTF-8 without a mark: a site would take the mark for a part of the first name.
    write_whole(folder / LAYOUT, batch.layout.encode())
    write_whole(folder / TABLE, batch.table.encode())
    files = [str(folder / LAYOUT), str(folder / TABLE)]
    if options.as_json:
        emit({"endpoint": at.endpoint, "forms": batch.forms, "lost_rows": plan.lost_rows, "files": files})
        return
    if plan.lost_rows:
        lost = counted(plan.lost_rows, "form", "was", "were")
        say(f"{lost} lost to excluded annotators; --top-up hands them out again.", err=True)
    say(f"{counted(batch.forms, 'form')} written: {' and '.join(files)}")
    say("Make a project of the layout and a batch of the table, with one assignment for each line.")
    say(f"Then: {command('collect', at.name, '--to', 'csv', '--from', 'RESULTS.csv')}")
