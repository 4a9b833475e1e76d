"""`study create --from`: says what each column of a table was taken for, asks once, and stores it."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import wraps
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import click
from click.core import ParameterSource
from rich.table import Table
from sqlalchemy import Engine

from humaneval.cli.context import App, console, say
from humaneval.errors import DeclinedError, HumanEvalError, InputError, StoreError, UsageError
from humaneval.infills.blanks import select_stories
from humaneval.progress import progress
from humaneval.stories import Problem, read_stories
from humaneval.study.create import Created, refuse_names, refuse_study
from humaneval.study.delete import used_study
from humaneval.study.file import StudyFile
from humaneval.study.from_table import (
    number_of_infills,
    own_generators,
    single_sentences,
    store_table,
    systems_of,
    unfit,
)
from humaneval.study.from_table_columns import recognise, story_columns, taken_out
from humaneval.study.from_table_file import TableFile, read_table_file
from humaneval.study.from_table_roles import (
    Kind,
    Layout,
    map_option,
    parse_roles,
    refuse_layout,
    sentences_hint,
)
from humaneval.study.from_table_rows import (
    NO_POSITION,
    NO_STORY,
    NOT_THE_ORIGINAL,
    OF_A_SYSTEM,
    Contents,
    contents_of,
)
from humaneval.study.from_table_settings import Asked, Settled, settle, shows_rests
from humaneval.study.from_table_stored import refuse_another_table, refuse_stored
from humaneval.text import command, counted, listed, quoted

F = TypeVar("F", bound=Callable[..., Any])

SHOWN_COLUMNS = 250
"""More columns than a table has whose systems can all be compared."""
SHOWN_PROBLEMS = 20
_FILE = click.Path(path_type=Path, exists=True, dir_okay=False)


@dataclass(frozen=True, slots=True)
class Source:
    """The table that a study is made from, and what the command line says about it."""

    file: Path
    stories: Path | None
    roles: tuple[str, ...]
    encoding: str | None
    worksheet: str | None
    yes: bool


def from_options(function: F) -> F:
    """Give a verb --from and what goes with it, as `source`: a Source, or None without --from."""

    @wraps(function)
    def call(*args: Any, **values: Any) -> Any:
        names = ("from_", "stories_file", "roles", "encoding", "worksheet", "yes")
        file, stories, roles, encoding, worksheet, yes = (values.pop(name) for name in names)
        if file is None and (stories or roles or encoding or worksheet or yes):
            raise UsageError(
                "--stories, --map, --encoding, --worksheet and --yes go with --from", "Add --from FILE."
            )
        source = None if file is None else Source(file, stories, roles, encoding, worksheet, yes)
        return function(*args, source=source, **values)

    for option in (
        click.option("--yes", is_flag=True, help="Take the columns of --from as they are recognised."),
        click.option("--worksheet", help="Worksheet of an Excel workbook. [default: the first]"),
        click.option("--encoding", help="Encoding of the table, if it is not recognised."),
        click.option(
            "--map",
            "roles",
            multiple=True,
            metavar="COLUMN=ROLE",
            help="What a column of --from holds: id, title, sentence1 to sentence5, story, before, after,"
            " position, original, system, system:NAME, generator, text, sample or ignore. Repeatable.",
        ),
        click.option(
            "--stories",
            "stories_file",
            type=_FILE,
            help="Story file, if the table of --from names stories only by their ids.",
        ),
        click.option(
            "--from",
            "from_",
            type=_FILE,
            help="Table of stories with a column for each system, or a line for each system's sentence.",
        ),
    ):
        call = option(call)
    return call  # type: ignore[return-value]  # F is the verb as click sees it


class MadeFromTable(NamedTuple):
    """A study made from a table, its settings, and what `--json` says of the table."""

    created: Created
    settings: StudyFile
    document: dict[str, Any]


def make_from_table(app: App, name: str, source: Source, asked: Asked) -> MadeFromTable:
    """Read the table, say what is made of it, ask, and store the study. What is refused changes nothing."""
    table = read_table_file(source.file, encoding=source.encoding, worksheet=source.worksheet)
    layout = recognise(table, parse_roles(source.roles, table.columns))
    _show(table, layout)
    split, rest = str(asked.design.get("split") or ""), shows_rests(asked)
    refuse_layout(table, layout)
    more = _stories_of(source, split)
    known = more if layout.brings_stories or more else select_stories(_with_stories(app, source, layout))
    contents = contents_of(table, layout, known, split=split, rest=rest)
    if not layout.brings_stories and not more:
        _refuse_unknown(source, layout, contents)
    used = _is_used(app, name)  # then no setting can be chosen any more
    told = _notes(contents, _checked(source, contents, asked, name), used=used)
    _tell(told)
    _ask(source.yes, name, source.file)
    engine = app.made_engine
    known = [*select_stories(engine), *more]
    contents = contents_of(table, layout, known, split=split, rest=rest)
    settled = _checked(source, contents, asked, name)
    settings, text = settled.read
    generators = [*own_generators(settings), *systems_of(contents, source.file, rest=rest)]
    refuse_another_table(engine, name, settings, contents, settled.only)
    refuse_study(engine, name, settings)
    refuse_stored(engine, name, generators, settings, contents)
    _tell(note for note in _notes(contents, settled, used=used) if note not in told)
    with progress("Storing the table", number_of_infills(contents, generators), unit="infills") as advance:
        made = store_table(engine, name, settings, text, contents, generators, settled.only, advance)
    if not made.was_there:  # other blanks of these stories were never meant to be filled
        made = replace(made, left_out=replace(made.left_out, lacking=settled.lacking))
    return MadeFromTable(made, settings, _document(source, table, layout, contents, settled))


def _is_used(app: App, name: str) -> bool:
    """Whether there is such a study, and it was published or used."""
    try:
        return used_study(app.engine, name)
    except HumanEvalError:
        return False


def _with_stories(app: App, source: Source, layout: Layout) -> Engine:
    """The database, if the table names stories only by their ids. Raises InputError if there is none."""
    try:
        return app.engine
    except StoreError as error:
        raise InputError(
            f"{source.file} names stories only by their ids, and {error.message}",
            f"Give the file with the stories: --stories FILE.{sentences_hint(layout)}",
        ) from None


def _refuse_unknown(source: Source, layout: Layout, contents: Contents) -> None:
    """Raise InputError, rather than a line for each row, if no story of the table is known."""
    unknown = [problem for problem in contents.problems if NO_STORY in problem.reason]
    if unknown and len(unknown) == len(contents.problems) and not contents.stories:
        raise InputError(
            f"{source.file} names stories only by their ids, and the database has none of them",
            f"Give the file with the stories: --stories FILE.{sentences_hint(layout)}",
        )


def _stories_of(source: Source, split: str) -> Sequence[Any]:
    """The stories of the second file. Raises InputError if any of them cannot be used."""
    if source.stories is None:
        return ()
    try:
        mapping = story_columns(source.stories)
        read = read_stories(source.stories, mapping=mapping, split=split, source=source.stories.name)
    except InputError as error:
        if "--map" not in error.hint:
            raise
        raise InputError(
            error.message, "Call its columns id, title (if there is one) and sentence1 to sentence5."
        ) from None
    refuse(read.problems, "story", source.stories)
    return read.stories


def _checked(source: Source, contents: Contents, asked: Asked, name: str) -> Settled:
    """The study's settings. Raises InputError if a line, a sentence or the whole is refused."""
    refuse(contents.problems, "line", source.file)
    if not contents.blanks or not any(contents.systems.values()):
        raise InputError(
            f"{source.file} has no sentence by any system",
            "Say which column has them: --map COLUMN=system:NAME.",
        )
    settled = settle(contents, asked)
    refuse_names(name, settled.read.settings)
    allow = [str(status) for status in settled.read.settings.design.allow]
    question = settled.read.settings.asked
    if question.rest and single_sentences(contents):
        raise InputError(
            f"{source.file} has one sentence in each cell, and question = {question.name!r} shows people the"
            " rest of a story",
            "Give all sentences from the position to the end in one cell, separated by line feeds. Or ask"
            " another question, such as detect.",
        )
    if found := unfit(contents, source.file, allow, rest=question.rest):
        _tell(_list(found))
        accept = "" if question.rest else f", or accept: {_accept(found)}. The study records that"
        raise InputError(
            f"{counted(len(found), 'sentence')} of systems in {source.file} cannot be shown; nothing was"
            " stored",
            f"Correct the file, or empty the cells (these blanks are then left out for all systems){accept}.",
        )
    return settled


def _accept(found: Sequence[Problem]) -> str:
    statuses = {problem.reason.split(": ")[1].split(" (")[0] for problem in found}
    return " ".join(f"--allow '{status}'" for status in sorted(statuses))


def refuse(problems: Sequence[Problem], noun: str, file: Path) -> None:
    """Raise InputError if there are problems, which are printed. `noun` is what each of them is about."""
    if problems:
        _tell(_list(problems))
        them = "it" if len(problems) == 1 else "them"
        hint = f"Correct {them} in the file, or say with --map COLUMN=ROLE what the columns hold."
        reasons = {problem.reason for problem in problems}
        if reasons == {NO_POSITION}:
            hint = (
                "Add a column `position` with 1 to 5, or `original` with the sentence; or name them:"
                " --map COLUMN=position."
            )
        elif all(OF_A_SYSTEM in reason for reason in reasons):
            column = problems[0].reason.removeprefix("column ").partition(": ")[0]
            hint = (
                f"If {column} is a system and not the original, give it a name of its own:"
                f" {map_option(column, 'system:NAME')}."
                f" If not, correct {them} in the file."
            )
        elif all(f" {NOT_THE_ORIGINAL} " in reason for reason in reasons):
            name = problems[0].reason.partition("the text of ")[2].partition(f" {NOT_THE_ORIGINAL} ")[0]
            hint = (
                f"Lines of {name} are taken for the original sentence. If {name} is a system, give it another"
                f" name in the file. If not, correct {them}."
            )
        number = counted(len(problems), noun, plural="stories" if noun == "story" else "")
        raise InputError(f"{number} of {file} cannot be used; nothing was stored", hint)


def _list(problems: Sequence[Problem]) -> Iterator[str]:
    """A line for each problem, but one for those with the same reason."""
    lines: dict[str, list[Problem]] = {}
    for problem in problems:
        lines.setdefault(problem.reason, []).append(problem)
    for same in list(lines.values())[:SHOWN_PROBLEMS]:
        more = f" (and on {counted(len(same) - 1, 'more line')})" if len(same) > 1 else ""
        yield f"{same[0]}{more}"
    if len(lines) > SHOWN_PROBLEMS:
        yield f"… and {len(lines) - SHOWN_PROBLEMS:,} more"


def _tell(lines: Iterable[str]) -> None:
    for line in lines:
        say(line, err=True)


def _show(table: TableFile, layout: Layout) -> None:
    """Print what each column was taken for."""
    say(f"{table.name}: {counted(len(table.rows), 'line')}. Each column was taken for:", err=True)
    screen = console(err=True)
    shown = Table("Column", "Taken as", "Example", box=None, pad_edge=False, header_style="bold")
    columns, roles = [quoted(name, 40) for name in layout.columns], [str(role) for role in layout.roles]
    left = screen.width - max(map(len, columns)) - max(map(len, roles)) - 4
    for at, (column, role) in enumerate(zip(columns[:SHOWN_COLUMNS], roles, strict=False)):
        shown.add_row(column, role, quoted(_example(table, layout, at), min(max(left, 20), 60)))
    screen.print(shown)
    if len(columns) > SHOWN_COLUMNS:
        say(f"… and {len(columns) - SHOWN_COLUMNS:,} more", err=True)


def _ask(yes: bool, name: str, file: Path) -> None:
    """Ask whether the columns are right and the study is to be made of what was said about the table."""
    if yes:
        return
    if not sys.stdin.isatty():
        raise UsageError(
            "there is no terminal to ask at whether the columns are right; nothing was stored",
            f"If they are: `{_again(name, file)}`. If not, add --map COLUMN=ROLE.",
        )
    if not click.confirm(
        "Make this study? It cannot be changed later; n stores nothing", default=True, err=True
    ):
        raise DeclinedError(
            "Nothing was stored.",
            "Correct the file, or say what a column holds with --map COLUMN=ROLE, for example --map"
            " notes=ignore.",
        )


def _example(table: TableFile, layout: Layout, at: int) -> str:
    """The first cell of a column. A position is shown with the sentence that it takes out: people count from
    0 and from 1."""
    cell = next(iter(table.cells(at)), "")
    row = next((row for row in table.rows if row[at]), None)
    place = taken_out(layout, row) if row and layout.roles[at].kind is Kind.POSITION else None
    return f"{cell}: {row[place]}" if row and place is not None else cell


def _again(name: str, file: Path) -> str:
    """The command of this run with --yes, as a shell takes it."""
    context = click.get_current_context()
    options: list[str] = []
    for parameter in context.command.params:
        given = parameter.name or ""
        typed = context.get_parameter_source(given) is ParameterSource.COMMANDLINE
        if isinstance(parameter, click.Argument) or given == "from_" or not typed:
            continue
        value = context.params[given]
        for one in value if isinstance(value, tuple) else (value,):
            options += [parameter.opts[0]] if one is True else [parameter.opts[0], str(one)]
    return command("study", "create", name, "--from", file, "--yes", *options)


def _notes(contents: Contents, settled: Settled, *, used: bool) -> list[str]:
    """Lines about what there is to know before the study is stored; of one in use, not what was settled."""
    lines = [f"Note: {note}." for note in contents.notes]
    if contents.empty:
        cells = counted(len(contents.empty), "cell has", plural="cells have")
        lines.append(
            f"Note: {cells} no sentence. A blank that one system left empty is left out for all of them:"
        )
        lines += _list(contents.empty)
    if contents.doubtful:
        stories = counted(len(contents.doubtful), "story", plural="stories")
        lines.append(f"Note: {stories} may have other sentences than were found:")
        lines += _list(contents.doubtful)
    in_study = set(settled.read.settings.design.generators)
    if aside := {name for name, entries in contents.systems.items() if entries} - in_study:
        lines.append(f"Note: stored, but not in this study: {listed(sorted(aside))}.")
    return lines if used else [*lines, *settled.said]


def _document(
    source: Source, table: TableFile, layout: Layout, contents: Contents, settled: Settled
) -> dict[str, Any]:
    return {
        "table": {
            "file": str(source.file),
            "columns": [
                {"column": column, "role": str(role.kind), "taken_as": str(role)}
                for column, role in zip(layout.columns, layout.roles, strict=True)
            ],
            "lines": len(table.rows),
            "systems": {name: len(entries) for name, entries in contents.systems.items()},
            "empty": [str(problem) for problem in contents.empty],
            "notes": [*contents.notes, *settled.said],
        }
    }
