"""`stories`: import, list and show."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from humaneval.cli.run import App, console, emit, json_option, say, with_app
from humaneval.errors import InputError, UsageError

if TYPE_CHECKING:
    from humaneval.store.stories import Imported

SHOWN_PROBLEMS = 20


@click.group()
def stories() -> None:
    """Import, list and show stories."""


@stories.command("import")
@click.argument("file", type=click.Path(path_type=Path, exists=True, dir_okay=False), required=False)
@click.option("--bundled", is_flag=True, help="The stories that come with the toolkit, instead of a file.")
@click.option("--split", default="", help="The split to put them in, for example test.")
@click.option("--source", default="", help="Where they come from; the file's name if not given.")
@click.option("--encoding", help="The file's encoding, where it is not recognised.")
@click.option("--map", "mapping", help="Which columns to read: id=A,title=B,sentence1=C,….")
@click.option("--skip-bad", is_flag=True, help="Import the sound stories of a file that has bad ones too.")
@json_option
@with_app
def import_(
    app: App,
    file: Path | None,
    bundled: bool,
    split: str,
    source: str,
    encoding: str | None,
    mapping: str | None,
    skip_bad: bool,
    as_json: bool,
) -> None:
    """Import FILE: CSV with ROCStories or Story Cloze columns, JSONL, or text with a story a line or a paragraph.

    A bad story is reported with its line and the reason, and nothing of the file is imported unless
    --skip-bad.
    """
    from humaneval.store.stories import add_stories
    from humaneval.stories import bundled_stories, parse_mapping, read_stories

    if bundled == (file is not None):
        raise UsageError("name one file, or say --bundled")
    if file is None:
        found = bundled_stories()
        imported = add_stories(app.engine, found)
        if as_json:
            emit(
                {
                    "file": None,
                    "added": imported.added,
                    "already_there": imported.already_there,
                    "other_split": imported.other_split,
                    "skipped": 0,
                    "problems": [],
                }
            )
        else:
            say(f"{counted(imported)}.")
        return
    reading = read_stories(
        file,
        encoding=encoding,
        mapping=parse_mapping(mapping) if mapping else None,
        split=split,
        source=source or file.name,
    )
    for problem in reading.problems[:SHOWN_PROBLEMS]:
        say(str(problem), err=True)
    if len(reading.problems) > SHOWN_PROBLEMS:
        say(f"… and {len(reading.problems) - SHOWN_PROBLEMS} more", err=True)
    if reading.problems and not skip_bad:
        raise InputError(
            f"{len(reading.problems)} of {len(reading.problems) + len(reading.stories)} stories in {file}"
            " cannot be used; nothing was imported",
            "Mend the lines above, or import the others with --skip-bad.",
        )
    imported = add_stories(app.engine, reading.stories)
    if as_json:
        emit(
            {
                "file": str(file),
                "format": reading.format,
                "encoding": reading.encoding,
                "added": imported.added,
                "already_there": imported.already_there,
                "other_split": imported.other_split,
                "skipped": len(reading.problems),
                "problems": [{"line": p.line, "reason": p.reason} for p in reading.problems],
                "notes": list(reading.notes),
            }
        )
        return
    for note in reading.notes:
        say(f"Note: {note}", err=True)
    skipped = f", {len(reading.problems)} skipped" if reading.problems else ""
    say(f"{file} ({reading.format}, {reading.encoding}): {counted(imported)}{skipped}.")


def counted(imported: Imported) -> str:
    """What an import did, in words."""
    other = f" ({imported.other_split} in another split, where they stay)" if imported.other_split else ""
    return f"{imported.added} stories added, {imported.already_there} were there already{other}"


@stories.command("list")
@click.option("--split", help="Only this split.")
@click.option("--first", type=click.IntRange(min=1), default=20, show_default=True, help="How many.")
@json_option
@with_app
def list_(app: App, split: str | None, first: int, as_json: bool) -> None:
    """List stories by id, with split, title and first sentence, and the number in each split."""
    from sqlalchemy import func, select

    from humaneval.infills.generate import select_stories
    from humaneval.store.engine import reading
    from humaneval.store.tables import StoryRow

    with reading(app.engine) as session:
        counts = dict(
            session.execute(
                select(StoryRow.split, func.count()).group_by(StoryRow.split).order_by(StoryRow.split)
            ).all()
        )
    found = select_stories(app.engine, split=split, first=first)
    if as_json:
        emit(
            {
                "splits": counts,
                "stories": [
                    {"id": s.id, "split": s.split, "title": s.title, "sentences": list(s.sentences)}
                    for s in found
                ],
            }
        )
        return
    from rich.table import Table

    table = Table("Id", "Split", "Title", "First sentence", box=None, pad_edge=False, header_style="bold")
    for story in found:
        table.add_row(story.id, story.split or "—", story.title or "—", story.sentences[0])
    if found:
        console().print(table)
    say(
        ", ".join(f"{split or 'no split'}: {n:,}" for split, n in counts.items())
        or "No stories yet: humaneval stories import FILE"
    )


@stories.command()
@click.argument("story_id")
@json_option
@with_app
def show(app: App, story_id: str, as_json: bool) -> None:
    """Show the story STORY_ID with every generator's infills."""
    from sqlalchemy import select

    from humaneval.infills.generate import story_value
    from humaneval.store.engine import reading
    from humaneval.store.tables import GeneratorRow, InfillRow, StoryRow

    with reading(app.engine) as session:
        row = session.scalar(select(StoryRow).where(StoryRow.key == story_id))
        if row is None:
            raise UsageError(f"there is no story {story_id!r}", "`humaneval stories list` shows their ids.")
        story = story_value(row)
        lines = session.execute(
            select(InfillRow.position, GeneratorRow.name, InfillRow.text, InfillRow.status)
            .join(GeneratorRow, GeneratorRow.id == InfillRow.generator_id)
            .where(InfillRow.story_id == row.id)
            .order_by(InfillRow.position, GeneratorRow.id, InfillRow.sample)
        ).all()
    if as_json:
        infills = [{"position": p, "generator": g, "text": t, "status": s} for p, g, t, s in lines]
        emit(
            {
                "id": story.id,
                "title": story.title,
                "split": story.split,
                "source": story.source,
                "sentences": list(story.sentences),
                "infills": infills,
            }
        )
        return
    say(f"{story.id}  {story.title}".rstrip())
    for position, sentence in enumerate(story.sentences, 1):
        say(f"{position}. {sentence}")
        for _, generator, text, status in (line for line in lines if line[0] == position):
            say(f"     {generator}: {text}" + ("" if status == "ok" else f"  [{status}]"))
