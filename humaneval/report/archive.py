"""One zip from which the scores of a study can be recomputed without its database: responses, study file,
design, scores, texts for a paper.

The same study in the same state gives the same bytes: files in order of their names, one fixed time, no date.
Floats are kept to `DIGITS` significant digits, because quantiles of scipy 1.15 and 1.17 differ in the
twelfth."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from io import BytesIO
from itertools import groupby
from pathlib import Path
from shutil import copyfileobj
from tempfile import TemporaryDirectory
from typing import Any, BinaryIO, NamedTuple
from zipfile import ZIP_DEFLATED, ZipFile, ZipInfo

import pandas as pd
from sqlalchemy import select
from sqlalchemy.orm import Session, aliased

from humaneval.domain import FEWEST_SENTENCES, MOST_SENTENCES, SENTENCES
from humaneval.errors import InputError
from humaneval.report.archive_document import TOGETHER, document, write_document
from humaneval.report.datasheet import datasheet
from humaneval.report.dossier import dossier
from humaneval.report.infill_release import write_release
from humaneval.report.methods import methods_paragraph
from humaneval.scoring.analysis.analyse import Analysis
from humaneval.scoring.questions.question import DETECT
from humaneval.scoring.response_table import UNSCORED, read_responses, table_lines
from humaneval.store.engine import reading
from humaneval.store.export_pseudonyms import published_columns, to_the_second
from humaneval.store.responses import deleted_forms, forms_set_aside
from humaneval.store.tables import GeneratorRow, PassageRow, RowPassageRow, RowRow, StoryRow, StudyRow
from humaneval.study.asked import with_settings
from humaneval.study.enlarge import stored_additions
from humaneval.study.file import StudyFile
from humaneval.study.scores import Collected, no_responses, own_rules, rule_from
from humaneval.study.stored import Study, length_of_study
from humaneval.text import Answerers

Content = bytes | Path
"""What a file of the archive holds, or the path of a copy, if that is long."""
FORMAT = "humaneval archive 1"
MANIFEST, RESPONSES, STUDY, DESIGN, SCORES, DETAILS, RULES = (
    "MANIFEST.json",
    "responses.csv",
    "study.json",
    "design.json",
    "scores.json",
    "details.json",
    "rule.json",
)
FACTS = ("simulated", "forms_set_aside", "forms_deleted", "responses_deleted", "design_additions")
"""What the document of scores says besides them."""
VERSIONS = "versions.json"
DIGITS, DETAIL_DIGITS = 8, 6
CHUNK = 1024**2
TIME = (1980, 1, 1, 0, 0, 0)
"""The time of every file: the earliest that a zip can hold."""


class Archived(NamedTuple):
    """What was written; `sha256` is that of the manifest, which has the hashes of all other files."""

    study: str
    files: int
    responses: int
    sha256: str
    content: bytes
    """The zip."""


def make_archive(study: Study, *, tests: bool = False) -> Archived:
    """The archive of `study`. Raises InputError if there are no responses, and the errors of
    `humaneval.scoring.scores.score`."""
    with TemporaryDirectory() as folder, own_rules(study.name):
        made = _files(study, Path(folder), tests)
        return Archived(
            study.name,
            len(made.files),
            made.responses,
            str(_about_file(made.files[MANIFEST])["sha256"]),
            zipped(made.files),
        )


class _Made(NamedTuple):
    files: dict[str, Content]
    responses: int


def _files(study: Study, folder: Path, tests: bool) -> _Made:
    """Every file of the archive by its name, including the manifest. What is long stays in `folder`."""
    with reading(study.engine) as session:
        row = session.get_one(StudyRow, study.id)
        made, about = _of_database(session, row, study.settings, tests, folder)
    # From the archived files and not from the database, so that everybody else computes what is written here.
    again = recompute(document(about), folder / RESPONSES)
    known = dossier(study, tests=tests, analysis=again.analysis)
    sheet = datasheet(known)
    software = known.data.repeat.software
    infills = folder / "infills"
    write_release(study.engine, infills, study=study)
    files: dict[str, Content] = {
        **made,
        **{f"infills/{path.name}": path for path in infills.iterdir()},
        SCORES: again.scores,
        DETAILS: again.details,
        VERSIONS: document(dict(software)),
        "datasheet.md": sheet.markdown().encode(),
        "datasheet.json": sheet.json_text().encode(),
        "methods.txt": (methods_paragraph(known.data) + "\n").encode(),
        "methods.tex": (methods_paragraph(known.data, latex=True) + "\n").encode(),
        "README.md": _readme(known.name, software, about).encode(),
    }
    listed = {one: _about_file(files[one]) for one in sorted(files)}
    files[MANIFEST] = document({"format": FORMAT, "study": study.name, "files": listed})
    return _Made(files, about["responses"])


def _opened(content: Content) -> BinaryIO:
    return content.open("rb") if isinstance(content, Path) else BytesIO(content)


def _about_file(content: Content) -> dict[str, Any]:
    hashed, size = hashlib.sha256(), 0
    with _opened(content) as file:
        while part := file.read(CHUNK):
            hashed.update(part)
            size += len(part)
    return {"sha256": hashed.hexdigest(), "bytes": size}


class _OfDatabase(NamedTuple):
    """The files that come from the database as it is, and what is known of the study besides its answers."""

    files: dict[str, Content]
    about: dict[str, Any]


def _of_database(
    session: Session, study: StudyRow, settings: StudyFile, tests: bool, folder: Path
) -> _OfDatabase:
    columns = with_settings(published_columns(session, study), settings)
    if not columns["worker"]:
        raise no_responses(session, study)
    about = _about(session, study, columns, tests)
    responses = folder / RESPONSES
    with responses.open("wb") as file:
        file.writelines(table_lines({name: _column(one) for name, one in columns.items()}, responses))
    del columns
    files: dict[str, Content] = {
        RESPONSES: responses,
        STUDY: document(about),
        "study.toml": study.settings_text.encode(),
        RULES: document(_rules(settings, tests)),
        DESIGN: write_document(folder / DESIGN, _design(session, study)),
    }
    return _OfDatabase(files, about)


def _column(values: list[Any]) -> list[Any] | pd.Series[Any]:
    """A column as it would stand in a frame, which would hold all texts once more."""
    return values if all(isinstance(one, str) for one in values) else pd.Series(values)


class Recomputed(NamedTuple):
    """What follows from responses and settings."""

    analysis: Analysis

    scores: bytes
    details: bytes
    rules: bytes


def recompute(study: bytes, responses: Path) -> Recomputed:
    """The scores and details that follow from the responses and settings of an archive, without a database.

    Raises InputError if these are not the files of an archive, and the errors of
    `humaneval.scoring.scores.score`.
    """
    about = json.loads(study)
    settings, tests = StudyFile.model_validate(about["settings"]), bool(about["tests"])
    sentences = about.get("sentences", SENTENCES)
    if not (type(sentences) is int and FEWEST_SENTENCES <= sentences <= MOST_SENTENCES):
        raise InputError(
            f"{STUDY} says that a story has {str(sentences)[:40]} sentences",
            f"Stories have {FEWEST_SENTENCES} to {MOST_SENTENCES}.",
        )
    # The table is let go before the analysis, which takes as much.
    table = read_responses(responses, without=UNSCORED)
    judged = Collected(table, settings, tests, sentences).judged()
    del table
    found = judged.analysis()
    told = found.to_json()
    details = told.pop("details")
    if "question" not in about["settings"]:  # made when there was one, and nobody named it
        told.pop("question", None)
    facts = {name: about[name] for name in FACTS if name in about}  # older archives know fewer
    return Recomputed(
        found,
        document({**told, **facts}, DIGITS),
        document(details, DETAIL_DIGITS),
        document(_rules(settings, tests)),
    )


def sha256(data: bytes) -> str:
    """The hash in hexadecimal digits."""
    return hashlib.sha256(data).hexdigest()


def zipped(files: Mapping[str, Content]) -> bytes:
    """A zip whose bytes depend on the files alone."""
    out = BytesIO()
    with ZipFile(out, "w") as archive:
        for name in sorted(files):
            entry, content = ZipInfo(name, TIME), files[name]
            entry.compress_type, entry.create_system, entry.external_attr = ZIP_DEFLATED, 3, 0o644 << 16
            with _opened(content) as there, archive.open(entry, "w") as here:
                copyfileobj(there, here, CHUNK)
    return out.getvalue()


def _about(
    session: Session, study: StudyRow, columns: Mapping[str, list[Any]], tests: bool
) -> dict[str, Any]:
    people, workers = set(columns["worker"]), zip(columns["worker"], columns["simulated"], strict=True)
    programs = len({worker for worker, simulated in workers if simulated})
    deleted, sentences = deleted_forms(session, study.id), length_of_study(session, study.id)
    return {
        "study": study.name,
        "settings": study.settings,
        "settings_hash": study.settings_hash,
        "design_hash": study.design_hash,
        "seed": study.seed,
        "created_at": to_the_second(study.created_at),
        "published_at": to_the_second(study.published_at),
        "pilot": study.is_test,
        "simulated": programs > 0,
        "annotators": Answerers(programs, len(people) - programs)._asdict(),
        "tests": tests,
        **({"sentences": sentences} if sentences != SENTENCES else {}),
        "responses": len(columns["worker"]),
        "forms_set_aside": forms_set_aside(session, study),
        "forms_deleted": deleted.forms,
        "responses_deleted": deleted.responses,
        "design_additions": [
            {**each.to_json(), "at": to_the_second(each.at)} for each in stored_additions(session, study.id)
        ],
    }


def _rules(settings: StudyFile, tests: bool) -> list[dict[str, Any]]:
    exclusions = settings.exclusions
    named = [("the study’s own", exclusions), *((one.name, one) for one in exclusions.also)]
    rules = [(name, rule_from(one, tests=tests)) for name, one in named]
    return [{"name": name, "hash": rule.hash, "description": rule.describe()} for name, rule in rules]


def _design(session: Session, study: StudyRow) -> dict[str, Any]:
    other = aliased(GeneratorRow)
    shown = (StoryRow.key, PassageRow.position, GeneratorRow.name, other.name)
    lines = session.execute(
        select(RowRow.ordinal, RowRow.shown_hash, *shown)
        .join(RowPassageRow, RowPassageRow.row_id == RowRow.id)
        .join(PassageRow, PassageRow.id == RowPassageRow.passage_id)
        .join(StoryRow, StoryRow.id == PassageRow.story_id)
        .join(GeneratorRow, GeneratorRow.id == PassageRow.generator_id)
        .outerjoin(other, other.id == PassageRow.other_generator_id)
        .where(RowRow.study_id == study.id)
        .order_by(RowRow.ordinal, RowPassageRow.place),
        execution_options={"yield_per": TOGETHER},
    )
    return {
        "hash": study.design_hash,
        "rows": (
            {
                "row": ordinal,
                "shown_hash": shown,
                "passages": [[part for part in cell if part is not None] for _, _, *cell in cells],
            }
            for (ordinal, shown), cells in groupby(lines, lambda line: line[:2])
        ),
    }


WHAT = {
    RESPONSES: "one line per response, annotators as pseudonyms; the columns of `humaneval export`",
    STUDY: "every setting with its hash, and what is known of the study besides its answers",
    "study.toml": "the study file as it was written",
    "rule.json": "the exclusion rules in words, with their hashes",
    DESIGN: "the forms, each with its passages as story, position, generator",
    SCORES: f"the output of `humaneval score --json`, keys sorted, floats to {DIGITS} significant digits",
    DETAILS: f"everything else that the report says, floats to {DETAIL_DIGITS} digits",
    "infills/": "the sentences of the generators, with a codebook; without the stories' own sentences",
    "datasheet.md": "the Human Evaluation Datasheet; `datasheet.json` is the same for its web form",
    "methods.txt": "a methods paragraph; `methods.tex` is the same for LaTeX",
    VERSIONS: "the software that made this archive",
    MANIFEST: "every file with its size and SHA-256",
}


def _who_marked(about: Mapping[str, Any]) -> str:
    """What people did, of the question that has always been there; the study file says what others ask."""
    if about["settings"].get("question", DETECT) != DETECT:
        return ""
    return " who marked the sentence that they took for a machine's"


def _readme(study: str, software: Mapping[str, str], about: Mapping[str, Any]) -> str:
    versions = ", ".join(f"{name} {version}" for name, version in sorted(software.items()))
    who = Answerers(**about["annotators"])
    simulated = [f"{who}. These numbers say nothing about people.", ""] if who.programs else []
    if who.only_programs:
        simulated = ["The annotators are simulated. These numbers say nothing about people.", ""]
    return "\n".join(
        [
            f"# {study}: a study of machine-written sentences",
            "",
            (
                f"{about['responses']} responses of people{_who_marked(about)}, and all results that"
                " follow from them."
                if not who.only_programs
                else f"{about['responses']} responses of programs, and all results that follow from them."
            ),
            "",
            *simulated,
            "| file | what it is |",
            "| --- | --- |",
            *(f"| `{name}` | {what} |" for name, what in WHAT.items()),
            "",
            "## Recompute the scores",
            "",
            "With the toolkit that made this archive (its version is in the last line):",
            "",
            "    humaneval archive --check THIS.zip",
            "",
            (
                f"This checks every hash and computes `{SCORES}` again from `{RESPONSES}` and `{STUDY}`,"
                " without"
                " a database. The result must be the same, byte for byte; otherwise the command says what"
                " differs."
            ),
            "",
            f"Made with {versions}.",
            "",
        ]
    )
