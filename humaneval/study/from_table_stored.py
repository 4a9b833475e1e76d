"""What the database has under the names of a table's systems: the same sentences are used, others refused."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from sqlalchemy import Engine, exists, select
from sqlalchemy.orm import Session

from humaneval.domain import FROM_TABLE, Blank, Generator, Infill
from humaneval.errors import UsageError
from humaneval.infills.generate import taken_names
from humaneval.infills.rest_of_story import judge_rest
from humaneval.infills.statuses import judge
from humaneval.store.engine import reading
from humaneval.store.tables import GeneratorRow, InfillRow, PassageRow, StoryRow, StudyBlankRow, StudyRow
from humaneval.study.delete import is_used, ways_on
from humaneval.study.file import StudyFile
from humaneval.study.from_table_rows import Contents, Entry, another_name
from humaneval.study.usable_infills import AT_ONCE, SAMPLE, Only
from humaneval.text import command, counted, listed, quoted, shell_words

_Key = tuple[tuple[str, ...], int, int]
"""A blank by what a reader of the story sees: its sentences, the position, and the number of the draw."""


def refuse_another_table(
    engine: Engine, name: str, settings: StudyFile, contents: Contents, only: Only
) -> None:
    """Raise UsageError if study `name` is there and was made from a table that shows something else."""
    with reading(engine) as session:
        study = session.scalar(select(StudyRow).where(StudyRow.name == name))
        if study is None:
            return
        differs = _differences(session, study, settings, contents, only)
        if differs:
            raise UsageError(
                f"study {name!r} was made from another table: {differs}; nothing was stored",
                ways_on(session, study),
            )


def _differences(
    session: Session, study: StudyRow, settings: StudyFile, contents: Contents, only: Only
) -> str:
    """How the table of a stored study differs from this one in what it shows; empty if it does not."""
    before, now = study.settings["design"]["generators"], settings.design.generators
    if set(before) != set(now):
        return f"it shows {listed(sorted(before))}; this one shows {listed(sorted(now))}"
    texts = {blank.story.id: blank.story.sentences for blank in contents.blanks}
    new = {(texts[key], position) for key, positions in only.items() for position in positions}
    old = _blanks_of(session, study) or new  # an older study has no list of its blanks
    gone, more, both = old - new, new - old, old & new
    other = 0
    for system in set(contents.systems) & set(now):
        stored = _stored(session, system)
        for entry in contents.systems[system]:
            key = _key(entry.blank)
            shown = key[:2] in both and entry.blank.sample == SAMPLE
            other += shown and stored.get(key) != _judged(entry, settings.asked.rest)
    told = [
        *([f"{counted(other, 'sentence')} of systems"] if other else []),
        *([f"{counted(len(gone), 'blank')} that only it has"] if gone else []),
        *([f"{counted(len(more), 'blank')} that only this one has"] if more else []),
    ]
    if not told:
        return ""
    example = min(more or gone, default=None)
    where = f", for example sentence {example[1]} of “{quoted(' '.join(example[0]), 60)}”" if example else ""
    return f"they differ in {' and '.join(told)}{where}"


def _blanks_of(session: Session, study: StudyRow) -> set[tuple[tuple[str, ...], int]]:
    """The blanks that a study from a table may show."""
    lines = session.execute(
        select(StoryRow.sentences, StudyBlankRow.position)
        .join(StudyBlankRow, StudyBlankRow.story_id == StoryRow.id)
        .where(StudyBlankRow.study_id == study.id)
    )
    return {(tuple(sentences), position) for sentences, position in lines}


def refuse_stored(
    engine: Engine, name: str, generators: Sequence[Generator], settings: StudyFile, contents: Contents
) -> None:
    """Raise UsageError if what the database has under these names differs from the table, or is lacking."""
    with reading(engine) as session:
        kinds = dict(session.execute(select(GeneratorRow.name, GeneratorRow.kind)).all())
        if unknown := set(settings.design.generators) - set(kinds) - {one.name for one in generators}:
            raise UsageError(
                f"neither the table nor the database has infills by {listed(sorted(unknown))}",
                f"The table has {listed([one.name for one in generators], 20)}.",
            )
        compared = [one for one in generators if one.provenance.kind == kinds.get(one.name) == FROM_TABLE]
        for one in compared:
            stored = _stored(session, one.name)
            _refuse_another(session, name, one.name, contents, stored, settings.asked.rest)
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
    stored: Mapping[_Key, str],
    rest: bool,
) -> None:
    """Raise UsageError if the database has another sentence for a blank than the table."""
    other = [
        (entry, there)
        for entry in contents.systems[system]
        if (there := stored.get(_key(entry.blank))) is not None and there != _judged(entry, rest)
    ]
    if not other:
        return
    entry, text = other[0]
    more = f" (and {counted(len(other) - 1, 'more cell')})" if len(other) > 1 else ""
    raise UsageError(
        f"line {entry.line}, column {entry.column}: the sentence is “{quoted(entry.text, 200)}”, but for this"
        f" blank the database has “{quoted(text, 200)}” by {system}{more}",
        _way_out(session, name, system, contents, entry.blank),
    )


def _judged(entry: Entry, rest: bool) -> str:
    """The text that would be stored."""
    return (judge_rest if rest else judge)(Infill(entry.blank, entry.text)).text


def _key(blank: Blank) -> _Key:
    return blank.story.sentences, blank.position, blank.sample


def _stored(session: Session, name: str) -> dict[_Key, str]:
    """The infills under a name, by blank."""
    lines = session.execute(
        select(StoryRow.sentences, InfillRow.position, InfillRow.sample, InfillRow.text)
        .join(StoryRow, StoryRow.id == InfillRow.story_id)
        .join(GeneratorRow, GeneratorRow.id == InfillRow.generator_id)
        .where(GeneratorRow.name == name),
        execution_options={"yield_per": AT_ONCE},
    )
    return {(tuple(sentences), position, sample): text for sentences, position, sample, text in lines}


def _way_out(session: Session, name: str, system: str, contents: Contents, blank: Blank | None = None) -> str:
    """How to make the study although the name has other infills. Each way works when it is followed.

    `blank` is that of a sentence from an earlier table.
    """
    passages = (
        select(PassageRow.study_id)
        .join(GeneratorRow, GeneratorRow.id == PassageRow.generator_id)
        .where(GeneratorRow.name == system)
    )
    studies = session.scalars(select(StudyRow).where(StudyRow.id.in_(passages)).order_by(StudyRow.id)).all()
    if not studies:
        forget = command("generators", "forget", system)
        return f"No study shows them: delete them with `{forget}`, and run this command again."
    others = f"{_apart(name)} Or call the system something else here: {another_name(contents, system)}."
    of_blank = [one for one in studies if blank is not None and _shows(session, one, blank)]
    if not of_blank or any(is_used(session, one) for one in of_blank):
        return f"Study {(of_blank or studies)[0].name!r} shows {system}, so it stays. {others}"
    shown = of_blank[0].name
    return (
        f"Study {shown!r} shows it, and nobody has seen that study: if this table replaces it, delete it with"
        f" `{command('study', 'delete', shown)}`, and run this command again. {others}"
    )


def _shows(session: Session, study: StudyRow, blank: Blank) -> bool:
    """Whether a study from a table may show a blank."""
    shown = exists().where(
        StudyBlankRow.study_id == study.id,
        StudyBlankRow.position == blank.position,
        StudyBlankRow.story_id == StoryRow.id,
        StoryRow.key == blank.story.id,
    )
    return bool(session.scalar(select(shown)))


def _apart(name: str) -> str:
    """How to keep a study and its names apart from everything that is stored."""
    stem = name.replace(" ", "-")
    names = (f"{stem}-{number}.db" if number > 1 else f"{stem}.db" for number in range(1, 1_000))
    free = next(one for one in names if not Path(one).exists())
    return (
        "Use another database, in which all names are free: run export"
        f" HUMANEVAL_DATABASE={shell_words(free)} and then this command again."
    )
