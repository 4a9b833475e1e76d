"""Infills and passages as a folder to publish, with a codebook: the output of `export --infills`.

The licence of the stories often forbids giving them away. Unless they are asked for, the folder holds only
what generators wrote. Anybody who has the stories can rebuild the passages from it, and check them by their
hashes."""

from __future__ import annotations

import json
import shutil
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from sqlalchemy import ColumnElement, Engine, Select, func, select
from sqlalchemy.orm import Session, aliased

from humaneval.csv_text import csv_bytes, csv_lines
from humaneval.domain import SENTENCES
from humaneval.errors import DesignError, InputError
from humaneval.report.codebook import Counts, codebook, sentence_columns
from humaneval.store.engine import reading
from humaneval.store.export_pseudonyms import to_the_second
from humaneval.store.tables import GeneratorRow, InfillRow, PassageRow, RunRow, StoryRow, StudyRow
from humaneval.study.stored import Study

INFILLS = ("story", "position", "sample", "generator", "text", "status", "detail", "infill", "run", "extra")
PASSAGES = ("study", "story", "position", "generator", "role", "infill", "shown_hash")
PAIRS = ("other", "other_infill")
"""Further columns of passages with a second sentence, and that sentence with the stories."""
ALTERNATIVE = "alternative"
STORIES = ("storyid", "storytitle")

TOGETHER = 5_000
"""So many lines are held at once."""
A_PART = {"yield_per": TOGETHER}


def write_release(
    engine: Engine, folder: Path, *, study: Study | None = None, stories: bool = False, excel: bool = False
) -> Counts:
    """Write every infill and passage to `folder`, or those of `study`: its generators, at its stories.

    With `stories`, it also holds the stories' own sentences: in `stories.csv`, in the passages, and as the
    infills of the kind `human`. The folder appears whole or not at all.

    Raises InputError if `folder` holds anything or cannot be written, DesignError if there is nothing to
    write."""
    _refuse_occupied(folder)
    of = study.id if study else None
    generators: set[str] = set()
    names: set[str] = set()
    runs: set[int] = set()
    with _appearing(folder) as part, reading(engine) as session:

        def infills() -> Iterator[Sequence[Any]]:
            for line in session.execute(_infills(of, stories), execution_options=A_PART):
                generators.add(line.generator)
                runs.add(line.run)
                yield tuple(line)

        def passages() -> Iterator[Sequence[Any]]:
            for line in session.execute(_passages(of), execution_options=A_PART):
                names.update(name for name in (line.generator, line.other) if name)
                told = (*padded(line.sentences), *([line.alternative] if pairs else []))
                whole = (*line[: len(PASSAGES)], *([line.other, line.other_infill] if pairs else []))
                yield (*whole, *(told if stories else ()))

        def told() -> Iterator[Sequence[Any]]:
            for story in session.scalars(_stories(of), execution_options=A_PART):
                yield (story.key, story.title, *padded(story.sentences))

        def padded(sentences: Sequence[str]) -> Sequence[str]:
            return (*sentences, *([""] * (most - len(sentences))))

        most = session.scalar(_longest(of)) or SENTENCES
        columns, pairs = sentence_columns(most), session.scalar(_has_pairs(of)) is not None
        heading = (*PASSAGES, *(PAIRS if pairs else ()))
        if stories:
            heading = (*heading, *columns, *([ALTERNATIVE] if pairs else []))
        counts = Counts(
            _write_table(part / "infills.csv", INFILLS, infills(), excel),
            _write_table(part / "passages.csv", heading, passages(), excel),
            len(generators),
            _write_table(part / "stories.csv", (*STORIES, *columns), told(), excel) if stories else 0,
            most,
            pairs,
        )
        if not (counts.infills or counts.passages):
            raise DesignError("there are no infills yet", "`humaneval generate` writes them.")
        facts = json.dumps(_run_facts(session, runs, names), ensure_ascii=False, indent=2) + "\n"
        (part / "runs.json").write_bytes(facts.encode())
        about = codebook(counts, study.name if study else "", stories=stories)
        (part / "codebook.md").write_bytes(about.encode())
    return counts


def _refuse_occupied(folder: Path) -> None:
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise InputError(
            f"{folder} exists already",
            "Name a new folder or an empty one. Nothing was written.",
        )


@contextmanager
def _appearing(folder: Path) -> Iterator[Path]:
    """A folder to write to, which becomes `folder` at the end, or disappears."""
    part = folder.with_name(folder.name + ".part")
    try:
        shutil.rmtree(part, ignore_errors=True)
        part.mkdir(parents=True)
        yield part
        part.replace(folder)
    except OSError as error:
        raise InputError(f"{folder}: {error.strerror or error}", "Nothing was written.") from None
    finally:
        shutil.rmtree(part, ignore_errors=True)


def _write_table(path: Path, names: Sequence[str], lines: Iterable[Sequence[Any]], excel: bool) -> int:
    """Write a table line by line: it may have millions. Returns how many."""
    written = 0
    with path.open("wb") as file:
        file.write(csv_bytes("", excel=excel))
        for written, line in enumerate(csv_lines(names, lines)):  # noqa: B007  # the header is line 0
            file.write(line.encode())
    return written


def _run_facts(session: Session, runs: Collection[int], names: Collection[str]) -> list[dict[str, Any]]:
    """The runs that made the infills shown, and those of humans whose passages are shown."""
    return [
        {
            "run": run.id,
            "generator": name,
            "kind": kind,
            "checkpoint": run.checkpoint,
            "seed": run.seed,
            "settings": run.settings,
            "batch": run.batch,
            "versions": run.versions,
            "hash": run.hash,
            "started": to_the_second(run.created_at),
        }
        for name, kind, run in session.execute(_runs())
        if run.id in runs or (kind == "human" and name in names)
    ]


def _infills(study: int | None, stories: bool) -> Select[*tuple[Any, ...]]:
    query = (
        select(
            StoryRow.key.label("story"),
            InfillRow.position,
            InfillRow.sample,
            GeneratorRow.name.label("generator"),
            InfillRow.text,
            InfillRow.status,
            InfillRow.detail,
            InfillRow.id.label("infill"),
            InfillRow.run_id.label("run"),
            InfillRow.extra,
        )
        .join(GeneratorRow, GeneratorRow.id == InfillRow.generator_id)
        .join(StoryRow, StoryRow.id == InfillRow.story_id)
        .order_by(GeneratorRow.id, StoryRow.id, InfillRow.position, InfillRow.sample)
    )
    if not stories:
        query = query.where(GeneratorRow.kind != "human")
    if study is not None:
        query = query.where(
            InfillRow.generator_id.in_(_in_study(PassageRow.generator_id, study)),
            InfillRow.story_id.in_(_in_study(PassageRow.story_id, study)),
        )
    return query


def _in_study(column: Any, study: int) -> Select[*tuple[Any, ...]]:
    return select(column).where(PassageRow.study_id == study)


def _has_pairs(study: int | None) -> Select[*tuple[Any, ...]]:
    """The id of a passage with a second sentence."""
    query = select(PassageRow.id).where(PassageRow.other_generator_id.is_not(None)).limit(1)
    return query if study is None else query.where(PassageRow.study_id == study)


def _passages(study: int | None) -> Select[*tuple[Any, ...]]:
    other = aliased(GeneratorRow)
    query = (
        select(
            StudyRow.name.label("study"),
            StoryRow.key.label("story"),
            PassageRow.position,
            GeneratorRow.name.label("generator"),
            PassageRow.role,
            PassageRow.infill_id.label("infill"),
            PassageRow.shown_hash,
            PassageRow.sentences,
            other.name.label("other"),
            PassageRow.other_infill_id.label("other_infill"),
            PassageRow.alternative,
        )
        .join(StudyRow, StudyRow.id == PassageRow.study_id)
        .join(StoryRow, StoryRow.id == PassageRow.story_id)
        .join(GeneratorRow, GeneratorRow.id == PassageRow.generator_id)
        .outerjoin(other, other.id == PassageRow.other_generator_id)
        .order_by(PassageRow.study_id, StoryRow.id, PassageRow.position, GeneratorRow.id, other.id)
    )
    return query if study is None else query.where(PassageRow.study_id == study)


def _runs() -> Select[*tuple[Any, ...]]:
    return (
        select(GeneratorRow.name, GeneratorRow.kind, RunRow)
        .join(GeneratorRow, GeneratorRow.id == RunRow.generator_id)
        .order_by(RunRow.id)
    )


def _stories(study: int | None) -> Select[*tuple[Any, ...]]:
    """The stories of the infills or passages."""
    return select(StoryRow).where(_told_of(study)).order_by(StoryRow.id)


def _longest(study: int | None) -> Select[*tuple[Any, ...]]:
    """How many sentences the longest of them has."""
    return select(func.max(func.json_array_length(StoryRow.sentences))).where(_told_of(study))


def _told_of(study: int | None) -> ColumnElement[bool]:
    about = InfillRow.story_id if study is None else PassageRow.story_id
    ids = select(about) if study is None else _in_study(about, study)
    return StoryRow.id.in_(ids)
