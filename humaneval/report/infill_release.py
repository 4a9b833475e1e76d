"""Infills and passages as a folder to publish, with a codebook: the output of `export --infills`.

The licence of the stories often forbids giving them away. Unless they are asked for, the folder holds only
what generators wrote. Anybody who has the stories can rebuild the passages from it, and check them by their
hashes."""

from __future__ import annotations

import json
import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sqlalchemy import Engine, Select, select

from humaneval.csv_text import csv_bytes, csv_text
from humaneval.errors import DesignError, InputError
from humaneval.report.codebook import SENTENCES, Counts, codebook
from humaneval.store.engine import reading
from humaneval.store.published import to_the_second
from humaneval.store.tables import GeneratorRow, InfillRow, PassageRow, RunRow, StoryRow, StudyRow
from humaneval.study.stored import Study

INFILLS = ("story", "position", "sample", "generator", "text", "status", "detail", "infill", "run", "extra")
PASSAGES = ("study", "story", "position", "generator", "role", "infill", "shown_hash")
STORIES = ("storyid", "storytitle", *SENTENCES)


@dataclass(frozen=True)
class _Release:
    infills: Sequence[Sequence[Any]]
    passages: Sequence[Sequence[Any]]
    runs: Sequence[dict[str, Any]]
    stories: Sequence[Sequence[Any]]


def write_release(
    engine: Engine, folder: Path, *, study: Study | None = None, stories: bool = False, excel: bool = False
) -> Counts:
    """Write every infill and passage to `folder`, or those of `study`: its generators, at its stories.

    With `stories`, it also holds the stories' own sentences: in `stories.csv`, in the passages, and as the
    infills of the kind `human`. The folder appears whole or not at all.

    Raises InputError if `folder` holds anything or cannot be written, DesignError if there is nothing to
    write."""
    _refuse_occupied(folder)
    release = _collect(engine, study.id if study else None, stories)
    counts = Counts(
        len(release.infills),
        len(release.passages),
        len({line[3] for line in release.infills}),
        len(release.stories),
    )
    if not (counts.infills or counts.passages):
        raise DesignError("there are no infills yet", "`humaneval generate` writes them.")
    files = {
        "infills.csv": csv_bytes(csv_text(INFILLS, release.infills), excel=excel),
        "passages.csv": csv_bytes(
            csv_text((*PASSAGES, *(SENTENCES if stories else ())), release.passages), excel=excel
        ),
        "runs.json": (json.dumps(release.runs, ensure_ascii=False, indent=2) + "\n").encode(),
        "codebook.md": codebook(counts, study.name if study else "", stories=stories).encode(),
    }
    if stories:
        files["stories.csv"] = csv_bytes(csv_text(STORIES, release.stories), excel=excel)
    _write(folder, files)
    return counts


def _refuse_occupied(folder: Path) -> None:
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise InputError(
            f"{folder} exists already",
            "Name a new folder or an empty one. Nothing was written.",
        )


def _write(folder: Path, files: dict[str, bytes]) -> None:
    part = folder.with_name(folder.name + ".part")
    try:
        shutil.rmtree(part, ignore_errors=True)
        part.mkdir(parents=True)
        for name, content in files.items():
            (part / name).write_bytes(content)
        part.replace(folder)
    except OSError as error:
        shutil.rmtree(part, ignore_errors=True)
        raise InputError(f"{folder}: {error.strerror or error}", "Nothing was written.") from None


def _collect(engine: Engine, study: int | None, stories: bool) -> _Release:
    with reading(engine) as session:
        infills = session.execute(_infills(study, stories)).all()
        passages = session.execute(_passages(study)).all()
        runs = session.execute(_runs()).all()
        told = session.scalars(_stories(study)).all() if stories else []
    shown = {line.run for line in infills}
    names = {line.generator for line in passages}
    return _Release(
        [tuple(line) for line in infills],
        [(*line[:-1], *(line.sentences if stories else ())) for line in passages],
        [
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
            for name, kind, run in runs
            if run.id in shown or (kind == "human" and name in names)
        ],
        [(story.key, story.title, *(getattr(story, name) for name in SENTENCES)) for story in told],
    )


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


def _passages(study: int | None) -> Select[*tuple[Any, ...]]:
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
        )
        .join(StudyRow, StudyRow.id == PassageRow.study_id)
        .join(StoryRow, StoryRow.id == PassageRow.story_id)
        .join(GeneratorRow, GeneratorRow.id == PassageRow.generator_id)
        .order_by(PassageRow.study_id, StoryRow.id, PassageRow.position, GeneratorRow.id)
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
    about = InfillRow.story_id if study is None else PassageRow.story_id
    ids = select(about) if study is None else _in_study(about, study)
    return select(StoryRow).where(StoryRow.id.in_(ids)).order_by(StoryRow.id)
