"""What the database has under the names of a table's systems: the same sentences are used, others refused."""

from __future__ import annotations

import shlex
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from sqlalchemy import Engine, select
from sqlalchemy.orm import Session

from humaneval.domain import FROM_TABLE, Blank, Generator, Infill, shown_statuses
from humaneval.errors import UsageError
from humaneval.infills.generate import judge, taken_names
from humaneval.infills.rest import judge_rest
from humaneval.store.engine import reading
from humaneval.store.stories import of_split
from humaneval.store.tables import GeneratorRow, InfillRow, PassageRow, StoryRow, StudyRow
from humaneval.study.file import StudyFile
from humaneval.study.from_table_rows import Contents, Entry, another_name
from humaneval.study.usable_infills import AT_ONCE, SAMPLE
from humaneval.text import command, counted, listed, quoted

_Key = tuple[tuple[str, ...], int, int]
"""A blank by what a reader of the story sees: its sentences, the position, and the number of the draw."""


@dataclass(frozen=True, slots=True)
class _Stored:
    """An infill in the database: its text, and whether a study with these settings may show it."""

    text: str
    usable: bool


def refuse_stored(
    engine: Engine, name: str, generators: Sequence[Generator], settings: StudyFile, contents: Contents
) -> None:
    """Raise UsageError if what the database has under these names would mix with the table, or is lacking."""
    with reading(engine) as session:
        kinds = dict(session.execute(select(GeneratorRow.name, GeneratorRow.kind)).all())
        if unknown := set(settings.design.generators) - set(kinds) - {one.name for one in generators}:
            raise UsageError(
                f"neither the table nor the database has infills by {listed(sorted(unknown))}",
                f"The table has {listed([one.name for one in generators], 20)}.",
            )
        compared = [one for one in generators if one.provenance.kind == kinds.get(one.name) == FROM_TABLE]
        for one in compared:
            _refuse_another(
                session, name, one.name, contents, _stored(session, one.name, settings), settings.asked.rest
            )
        if not session.scalar(select(StudyRow.id).where(StudyRow.name == name)):
            _refuse_more(session, name, settings, contents, kinds)
    if taken := taken_names(engine, [one for one in generators if one not in compared]):
        _refuse_taken(engine, name, taken, settings, contents)


def _refuse_taken(
    engine: Engine, name: str, taken: Sequence[str], settings: StudyFile, contents: Contents
) -> None:
    """Raise UsageError: names of the table are those of other generators."""
    with reading(engine) as session:
        if {settings.design.control, settings.design.human} & {*taken}:
            both = "A name has either single sentences or rests of stories. " if settings.asked.rest else ""
            raise UsageError(f"the database has other infills by {listed(taken)}", both + _apart(name))
        raise UsageError(
            f"the database has infills by {listed(taken)} that are not from a table",
            _way_out(session, name, taken[0], contents),
        )


def _refuse_another(
    session: Session,
    name: str,
    system: str,
    contents: Contents,
    stored: Mapping[_Key, _Stored],
    rest: bool,
) -> None:
    """Raise UsageError if the database has another sentence for a blank than the table."""
    other = [
        (entry, there.text)
        for entry in contents.systems[system]
        if (there := stored.get(_key(entry.blank))) and there.text != _judged(entry, rest)
    ]
    if not other:
        return
    entry, text = other[0]
    more = f" (and {counted(len(other) - 1, 'more cell')})" if len(other) > 1 else ""
    raise UsageError(
        f"line {entry.line}, column {entry.column}: the sentence is “{quoted(entry.text, 200)}”, but for this"
        f" blank the database has “{quoted(text, 200)}” by {system}{more}",
        _way_out(session, name, system, contents),
    )


def _refuse_more(
    session: Session, name: str, settings: StudyFile, contents: Contents, kinds: Mapping[str, str]
) -> None:
    """Raise UsageError if the study would also show blanks that only an earlier table has filled.

    A study shows every blank that all its generators have filled, wherever their infills are from.
    """
    table = {system: {_key(entry.blank) for entry in entries} for system, entries in contents.systems.items()}
    every = {_key(blank) for blank in contents.blanks}
    added: list[set[_Key]] = []
    meant: list[set[_Key]] = []
    for generator in settings.design.generators:
        stored: set[_Key] = set()
        if generator in kinds:
            found = _stored(session, generator, settings)
            stored = {key for key, one in found.items() if one.usable}
        own = table.get(generator, every if generator not in kinds or _is_own(generator, settings) else set())
        added.append(stored | own)
        meant.append(own if generator in table else stored | own)
    wanted = settings.design.positions
    more = {key for key in _in_all(added) - _in_all(meant) if key[1] in wanted}
    if more:
        story, position, _ = min(more)
        told = quoted(" ".join(story), 80)
        raise UsageError(
            f"the study would also show {counted(len(more), 'blank')} of an earlier table, which these"
            f" systems filled there and not in this one: for example sentence {position} of “{told}”",
            _apart(name),
        )


def _in_all(blanks: Sequence[set[_Key]]) -> set[_Key]:
    return blanks[0].intersection(*blanks[1:])


def _is_own(generator: str, settings: StudyFile) -> bool:
    return generator in (settings.design.control, settings.design.human)


def _judged(entry: Entry, rest: bool) -> str:
    """The text that would be stored."""
    return (judge_rest if rest else judge)(Infill(entry.blank, entry.text)).text


def _key(blank: Blank) -> _Key:
    return blank.story.sentences, blank.position, blank.sample


def _stored(session: Session, name: str, settings: StudyFile) -> dict[_Key, _Stored]:
    """The infills under a name for the stories that the study may show."""
    usable: Collection[str] = shown_statuses(settings.design.allow)
    lines = session.execute(
        select(StoryRow.sentences, InfillRow.position, InfillRow.sample, InfillRow.text, InfillRow.status)
        .join(StoryRow, StoryRow.id == InfillRow.story_id)
        .join(GeneratorRow, GeneratorRow.id == InfillRow.generator_id)
        .where(GeneratorRow.name == name, of_split(session, settings.design.split)),
        execution_options={"yield_per": AT_ONCE},
    )
    return {
        (tuple(sentences), position, sample): _Stored(
            text, status in usable and bool(text) and sample == SAMPLE
        )
        for sentences, position, sample, text, status in lines
    }


def _way_out(session: Session, name: str, system: str, contents: Contents) -> str:
    """How to make the study although the name has other infills. Each way works when it is followed."""
    shown = session.scalar(
        select(StudyRow.name)
        .join(PassageRow, PassageRow.study_id == StudyRow.id)
        .join(GeneratorRow, GeneratorRow.id == PassageRow.generator_id)
        .where(GeneratorRow.name == system)
        .limit(1)
    )
    if shown is None:
        forget = command("generators", "forget", system)
        return f"No study shows them: delete them with `{forget}`, and run this command again."
    return (
        f"Study {shown!r} shows it, so it stays: no command removes a study. {_apart(name)} Or call the"
        f" system something else here: {another_name(contents, system)}."
    )


def _apart(name: str) -> str:
    """How to keep a study and its names apart from everything that is stored."""
    stem = name.replace(" ", "-")
    names = (f"{stem}-{number}.db" if number > 1 else f"{stem}.db" for number in range(1, 1_000))
    free = next(one for one in names if not Path(one).exists())
    return (
        "Use another database, in which all names are free: run export"
        f" HUMANEVAL_DATABASE={shlex.quote(free)} and then this command again."
    )
