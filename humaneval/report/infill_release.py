"""Infills and passages as a folder to publish, with a codebook: what `export --infills` writes.

The stories themselves are often not ours to give away. Unless they are asked for, the folder holds what
generators wrote, and whoever has the stories can put the passages together again and prove it by their
hashes.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from sqlalchemy import Engine, Select, select

from humaneval.csv_text import csv_bytes, csv_text
from humaneval.domain import Role
from humaneval.errors import DesignError, InputError
from humaneval.store.engine import reading
from humaneval.store.tables import GeneratorRow, InfillRow, PassageRow, RunRow, StoryRow, StudyRow
from humaneval.study.stored import get_study

SENTENCES = ("sentence1", "sentence2", "sentence3", "sentence4", "sentence5")
INFILLS = ("story", "position", "sample", "generator", "text", "status", "detail", "infill", "run", "extra")
PASSAGES = ("study", "story", "position", "generator", "role", "infill", "shown_hash")
STORIES = ("storyid", "storytitle", *SENTENCES)


class Counts(NamedTuple):
    """How many of each the folder holds."""

    infills: int
    passages: int
    generators: int
    stories: int
    """0 where the stories' own sentences are not in it."""


@dataclass(frozen=True)
class _Release:
    infills: Sequence[Sequence[Any]]
    passages: Sequence[Sequence[Any]]
    runs: Sequence[dict[str, Any]]
    stories: Sequence[Sequence[Any]]


def write_release(
    engine: Engine, folder: Path, *, study: str = "", stories: bool = False, excel: bool = False
) -> Counts:
    """Write every infill and passage to `folder`, or those of `study`: its generators, at its stories.

    With `stories` the stories' own sentences are there, too: in `stories.csv`, in the passages, and as the
    infills of the kind `human`. The folder appears whole or not at all.

    Raises InputError where `folder` holds anything or cannot be written, UsageError for an unknown study,
    DesignError where there is nothing to write.
    """
    _refuse_occupied(folder)
    release = _collect(engine, study, stories)
    counts = Counts(
        len(release.infills),
        len(release.passages),
        len({line[3] for line in release.infills}),
        len(release.stories),
    )
    if not (counts.infills or counts.passages):
        raise DesignError("there are no infills yet", "`humaneval generate` writes them.")
    files = {
        "infills.csv": csv_bytes(csv_text(INFILLS, release.infills, excel=excel), excel=excel),
        "passages.csv": csv_bytes(
            csv_text((*PASSAGES, *(SENTENCES if stories else ())), release.passages, excel=excel), excel=excel
        ),
        "runs.json": (json.dumps(release.runs, ensure_ascii=False, indent=2) + "\n").encode(),
        "codebook.md": _codebook(counts, study, stories, excel).encode(),
    }
    if stories:
        files["stories.csv"] = csv_bytes(csv_text(STORIES, release.stories, excel=excel), excel=excel)
    _write(folder, files)
    return counts


def _refuse_occupied(folder: Path) -> None:
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise InputError(
            f"{folder} is there already",
            "Name a folder that is not there, or an empty one; nothing was written.",
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


def _collect(engine: Engine, study: str, stories: bool) -> _Release:
    with reading(engine) as session:
        of_study = get_study(session, study).id if study else None
        infills = session.execute(_infills(of_study, stories)).all()
        passages = session.execute(_passages(of_study)).all()
        runs = session.execute(_runs()).all()
        told = session.scalars(_stories(of_study)).all() if stories else []
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
                "started": run.created_at.isoformat(),
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
    """Those that an infill or a passage is about."""
    about = InfillRow.story_id if study is None else PassageRow.story_id
    ids = select(about) if study is None else _in_study(about, study)
    return select(StoryRow).where(StoryRow.id.in_(ids)).order_by(StoryRow.id)


def _codebook(counts: Counts, study: str, stories: bool, excel: bool) -> str:
    what = f"of the study {study}" if study else "of every study"
    roles = ", ".join(f"`{role}`" for role in Role)
    lines = [
        "# Codebook",
        "",
        (
            f"Sentences written for five-sentence stories with one sentence taken out, {what}:"
            f" {counts.infills} infills, {counts.passages} passages, {counts.generators} generators. No"
            " annotator and no answer is in this folder."
        ),
        "",
        "The CSV files are UTF-8, quoted as RFC 4180 says, one header line, lines ended by a line feed"
        + (
            "; a byte order mark and apostrophes before what a spreadsheet would run as a formula are for"
            " looking at them there."
            if excel
            else "."
        ),
        "",
        *_table(
            "infills.csv",
            "one line a sentence that a generator wrote, or failed to",
            ("story", "the story's id"),
            ("position", "1–5: which sentence was taken out"),
            ("sample", "1 or more: which draw for that blank"),
            ("generator", "the generator's name; `runs.json` says what it was"),
            ("text", "the sentence; empty where nothing could be used"),
            ("status", "`ok`, or what is wrong with it"),
            ("detail", "in words, where the status needs them"),
            ("infill", "this line's number; `passages.csv` refers to it"),
            ("run", "the run that wrote it, in `runs.json`"),
            (
                "extra",
                (
                    "JSON: what the generator says of it, such as `logprob` (natural logarithm, of all its"
                    " tokens) and `raw` (as written, where its form was mended)"
                ),
            ),
        ),
        *_table(
            "passages.csv",
            "one line a passage that people were shown, or would be",
            ("study", "the study's name"),
            (
                "story, position, generator",
                "as above: a passage is the story with that sentence replaced by the infill",
            ),
            ("role", f"of the generator in the study: {roles}"),
            (
                "infill",
                "the line of `infills.csv`"
                + (
                    ""
                    if stories
                    else "; that of a `human` passage is not there, for its sentence is the story's own"
                ),
            ),
            ("shown_hash", "SHA-256 of the five sentences as shown: NFC, UTF-8, joined by line feeds"),
            *([(", ".join(SENTENCES), "the sentences as shown")] if stories else []),
        ),
    ]
    if stories:
        lines += _table(
            "stories.csv",
            "one line a story; `humaneval stories import` reads it",
            ("storyid, storytitle", "its id and title"),
            (", ".join(SENTENCES), "what people wrote"),
        )
        lines += ["The stories may have a licence of their own. See that you may give them away.", ""]
    else:
        lines += [
            "## The stories",
            "",
            (
                "The stories' own sentences are not in this folder. Who has the stories puts a passage"
                " together by replacing the sentence at `position` by the infill; `shown_hash` tells whether"
                " it is the passage that was shown. An infill with the status `same as the original` repeats"
                " the story's sentence."
            ),
            "",
        ]
    lines += [
        "## runs.json",
        "",
        (
            "A list, one entry a run: `generator`, its `kind`, the `checkpoint` with its hash, `seed`, all"
            " `settings`, the shape of the `batch`, the `versions` of what it ran on, the `hash` of all of"
            " these, and when it `started` (UTC)."
        ),
        "",
    ]
    if not excel:
        lines += [
            "## Use it",
            "",
            (
                "`humaneval generate --generator replay --checkpoint infills.csv` brings these infills into"
                " another database that holds the stories, each generator under its name."
            ),
            "",
        ]
    return "\n".join(lines)


def _table(name: str, what: str, *columns: tuple[str, str]) -> Iterable[str]:
    return [
        f"## {name}",
        "",
        f"{what[0].upper()}{what[1:]}.",
        "",
        "| column | meaning |",
        "| --- | --- |",
        *(
            f"| {', '.join(f'`{one}`' for one in names.split(', '))} | {meaning} |"
            for names, meaning in columns
        ),
        "",
    ]
