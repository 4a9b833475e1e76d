"""`stories`: import, list and show stories."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import click
from rich.table import Table
from sqlalchemy import func, select

from humaneval.cli.context import App, console, emit, json_option, say, with_app
from humaneval.cli.numbers import COUNT
from humaneval.domain import FEWEST_SENTENCES, MOST_SENTENCES
from humaneval.errors import InputError, UsageError
from humaneval.infills.blanks import select_stories, story_value
from humaneval.store.engine import reading
from humaneval.store.stories import Imported, add_stories
from humaneval.store.tables import GeneratorRow, InfillRow, StoryRow
from humaneval.stories import Problem, Reading, bundled_stories, parse_mapping, read_stories
from humaneval.text import command, counted, doubts, listed, unshowable

SHOWN_PROBLEMS = 20
_COUNTED = re.compile(r"(\d+) sentences, not \d+")


@click.group()
def stories() -> None:
    """Import, list and show stories."""


@stories.command("import")
@click.argument("file", type=click.Path(path_type=Path, exists=True, dir_okay=False), required=False)
@click.option("--bundled", is_flag=True, help="Import the stories that come with the toolkit, not a file.")
@click.option(
    "--split", default="", help="Split to put the stories in, for example test. [default: the file's]"
)
@click.option("--source", default="", help="Source of the stories. [default: the file's name]")
@click.option("--encoding", help="Encoding of the file, if it is not recognised.")
@click.option("--map", "mapping", help="Columns to read: id=A,title=B,sentence1=C,….")
@click.option(
    "--sentences",
    type=click.IntRange(FEWEST_SENTENCES, MOST_SENTENCES),
    help="Number of sentences of each story. [default: 5, or as many as all have]",
)
@click.option("--skip-bad", is_flag=True, help="Import the sound stories of a file that also has bad ones.")
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
    sentences: int | None,
    skip_bad: bool,
    as_json: bool,
) -> None:
    """Import stories from FILE, or the bundled ones.

    FILE is CSV with ROCStories or Story Cloze columns, JSONL, or text with one story in each line or
    paragraph. Every bad story is reported with its line and the reason. Unless --skip-bad is given, nothing
    is imported then.
    """
    if bundled == (file is not None):
        raise UsageError("name one file, or say --bundled")
    for option, text in (("--split", split), ("--source", source)):
        if fault := unshowable(text):
            raise UsageError(f"{option} {fault}", "Type it again: invisible characters come from copying.")
    if file is None:
        if encoding or mapping or skip_bad or sentences:
            raise UsageError(
                "--encoding, --map, --sentences and --skip-bad go with a file", "Leave them out."
            )
        found = [
            replace(story, split=split or story.split, source=source or story.source)
            for story in bundled_stories()
        ]
        _tell_bundled(add_stories(app.made_engine, found), as_json)
        return
    read = read_stories(
        file,
        encoding=encoding,
        mapping=parse_mapping(mapping) if mapping else None,
        split=split,
        source=source or file.name,
        sentences=sentences or 0,
    )
    _refuse_bad(file, read, skip_bad)
    _tell(file, read, add_stories(app.made_engine, read.stories), as_json)


def _refuse_bad(file: Path, read: Reading, skip_bad: bool) -> None:
    """List the bad stories. Raises InputError if there are any, unless they are to be skipped."""
    _list_problems(read.problems)
    if read.problems and not skip_bad:
        raise InputError(
            f"{len(read.problems)} of {len(read.problems) + len(read.stories)} stories in {file}"
            " cannot be used; nothing was imported",
            f"Correct the lines above, or import the others with --skip-bad.{_other_length(read.problems)}",
        )


def _other_length(problems: Sequence[Problem]) -> str:
    """What to say if all that is wrong is how many sentences stories have."""
    counts = {found[1] if (found := _COUNTED.match(one.reason)) else "" for one in problems}
    number = counts.pop() if len(counts) == 1 else ""
    if not number or not FEWEST_SENTENCES <= int(number) <= MOST_SENTENCES:
        return ""
    return f" If every story has {number} sentences: --sentences {number}."


def _list_problems(problems: Sequence[Problem]) -> None:
    for problem in problems[:SHOWN_PROBLEMS]:
        say(str(problem), err=True)
    if len(problems) > SHOWN_PROBLEMS:
        say(f"… and {len(problems) - SHOWN_PROBLEMS:,} more", err=True)


def _tell_bundled(imported: Imported, as_json: bool) -> None:
    if as_json:
        emit({"file": None, **_numbers(imported), "skipped": 0, "problems": []})
    else:
        say(f"{_counted(imported)}.")


def _tell(file: Path, read: Reading, imported: Imported, as_json: bool) -> None:
    if as_json:
        emit(
            {
                "file": str(file),
                "format": read.format,
                "encoding": read.encoding,
                **_numbers(imported),
                "skipped": len(read.problems),
                "problems": [{"line": p.line, "reason": p.reason} for p in read.problems],
                "doubtful": [{"line": p.line, "reason": p.reason} for p in read.doubtful],
                "notes": list(read.notes),
            }
        )
        return
    for note in read.notes:
        say(f"Note: {note}", err=True)
    if read.doubtful:
        say(
            f"Note: {counted(len(read.doubtful), 'story', plural='stories')} may have"
            f" other sentences than were found; `{command('stories', 'show', 'ID')}` shows them:",
            err=True,
        )
        _list_problems(read.doubtful)
    skipped = f", {len(read.problems)} skipped" if read.problems else ""
    say(f"{file} ({read.format}, {read.encoding}): {_counted(imported)}{skipped}.")


def _numbers(imported: Imported) -> dict[str, int]:
    return {
        "added": imported.added,
        "already_there": imported.already_there,
        "other_split": imported.other_split,
    }


def _counted(imported: Imported) -> str:
    """What an import did, in words."""
    other = f" ({imported.other_split} in another split, where they stay)" if imported.other_split else ""
    added = counted(imported.added, "story", plural="stories")
    return f"{added} added, {imported.already_there} existed already{other}"


@stories.command("list")
@click.option("--split", help="Split to list. [default: all]")
@click.option("--first", type=COUNT, default=20, show_default=True, help="Number of stories to list.")
@json_option
@with_app
def list_(app: App, split: str | None, first: int, as_json: bool) -> None:
    """List stories with split, title and first sentence, and count each split."""

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

    table = Table("Id", "Split", "Title", "First sentence", box=None, pad_edge=False, header_style="bold")
    for story in found:
        table.add_row(story.id, story.split or "—", story.title or "—", story.sentences[0])
    if found:
        console().print(table)
    say(
        ", ".join(f"{split or 'no split'}: {n:,}" for split, n in counts.items())
        or f"No stories yet: {command('stories', 'import', 'FILE')}"
    )


@stories.command()
@click.argument("story_id")
@json_option
@with_app
def show(app: App, story_id: str, as_json: bool) -> None:
    """Show the story STORY_ID with every generator's infills."""

    with reading(app.engine) as session:
        row = session.scalar(select(StoryRow).where(StoryRow.key == story_id))
        if row is None:
            raise UsageError(
                f"there is no story {story_id!r}", f"`{command('stories', 'list')}` shows their ids."
            )
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
            unclear = doubts(text, story.language) if text != sentence else ()
            remark = f"one sentence or two at: {listed(unclear)}" if unclear else ""
            said = remark if status == "ok" else status
            say(f"     {generator}: {text}" + (f"  [{said}]" if said else ""))
