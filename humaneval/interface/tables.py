"""Response tables from elsewhere: a file that `score --responses` reads, or a frame of a notebook."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from os import PathLike
from pathlib import Path
from typing import Any

import pandas as pd

from humaneval.domain import SENTENCES
from humaneval.errors import HumanEvalError, InputError, UsageError
from humaneval.foreign import (
    Imported,
    are_ours,
    file_pseudonyms,
    propose,
    pseudonymised,
    read_sheet,
    responses,
)
from humaneval.foreign.pseudonyms import PSEUDONYM
from humaneval.foreign.responses import the_study
from humaneval.scoring.asked import COLUMN, LENGTH, has_settings
from humaneval.scoring.columns import of_ratings
from humaneval.scoring.judgments import REQUIRED, YES
from humaneval.scoring.response_table import COLUMNS, read_responses
from humaneval.text import Answerers, alike, command, listed, repeated

NAMED = (*COLUMNS, "row_passages")
"""The columns that scoring reads, in any case."""


@dataclass(frozen=True, slots=True)
class Table:
    """A response table: one row a response, worker ids as pseudonyms."""

    frame: pd.DataFrame
    title: str
    """The study that it names, or the name of its file; empty if it has neither."""
    hash: str
    """SHA-256 of the file, or of the responses of a frame."""
    answerers: Answerers | None = None
    """How many annotators are programs; None if it does not say that any is."""
    manifest: Mapping[str, Any] | None = None
    """How a file was read."""

    def facts(self) -> dict[str, Any]:
        """The fields of `score --json` beside the scores."""
        found: dict[str, Any] = {
            "simulated": self.answerers is not None,
            "forms_set_aside": 0,
            "forms_deleted": 0,
            "responses_deleted": 0,
            "design_additions": [],
        }
        return found if self.manifest is None else {**found, "responses": dict(self.manifest)}


def read_table(file: Path) -> Imported:
    """A response table, checked as `responses import` checks a file; worker ids become the file's pseudonyms.

    Raises InputError for any other file. Errors that an option of `responses import` mends name that verb.
    """
    try:
        sheet = read_sheet(file)
        mapping = propose(sheet, {})
        if lengths := alike(LENGTH, list(map(str, sheet.frame.columns))):
            sheet = sheet.noted(
                f"{listed(lengths)}: no cell has a number, so passages count as {SENTENCES} sentences long"
            )
        study = the_study(sheet) or file.stem
        if sheet.format != "table" or mapping.guessed:
            raise InputError(
                f"{file} is not a response table with worker, story, generator, position and choice",
                f"Make one of it: {command('responses', 'import', file, '--out', 'responses.csv')}",
            )
        worker = mapping.columns["worker"]
        if not are_ours(sheet, worker):
            sheet = pseudonymised(sheet, worker, file_pseudonyms(sheet))
        return responses(sheet, mapping, study=study, same_rows=True)
    except HumanEvalError as error:
        if " --" in f" {error.hint}" and "responses import" not in error.hint:
            reader = command("responses", "import", file, "--out", "responses.csv")
            error.hint = f"`{reader}` reads it with this option. {error.hint}"
        raise


def table_of_file(read: Imported) -> Table:
    """A file that has been read."""
    title = str(read.frame["study"].iloc[0])
    return Table(read.frame, title, read.sheet.sha256, read.answerers, read.manifest())


def table_of_question(file: Path, question: str | None = None) -> Table | None:
    """The table of a file that answers `question`, or that names its question or the length of its stories in
    a column; None if it does neither."""
    if question is None and not _is_told(read_sheet(file).frame):
        return None
    frame = read_responses(file, question=question)
    made = table_of(frame)
    return replace(made, title=made.title or file.stem, hash=hashlib.sha256(file.read_bytes()).hexdigest())


def _is_told(frame: pd.DataFrame) -> bool:
    """Whether a column says what was asked, or how many sentences stories have."""
    names = list(map(str, frame.columns))
    if has_settings(frame.rename(columns=str.lower)):
        return True
    if alike(COLUMN, names) or len(lengths := alike(LENGTH, names)) != 1:
        return bool(alike(COLUMN, names))
    # A column of texts may be called so, too: it is noted. One cell with a number makes it a length.
    return bool(pd.to_numeric(frame[lengths[0]], errors="coerce").notna().any())


def table_of(source: object, question: str | None = None) -> Table:
    """A frame, or the path of a file, which answers `question` if it does not name another. Raises UsageError
    for anything else, and InputError for a frame that is not a response table."""
    if isinstance(source, (str, PathLike)):
        file = Path(source)
        return table_of_question(file, question) or table_of_file(read_table(file))
    if not isinstance(source, pd.DataFrame):
        raise UsageError(
            f"responses come as a pandas DataFrame or the path of a file, not as {type(source).__name__}",
            "Make a frame of them: pandas.DataFrame(rows). A polars one has `to_pandas()`.",
        )
    frame = _named(source)
    _refuse_zero(frame)
    content = pd.util.hash_pandas_object(frame[list(REQUIRED)].astype(str), index=False).to_numpy().tobytes()
    title = ""
    if "study" in frame.columns and frame["study"].nunique() == 1:
        title = str(frame["study"].dropna().iloc[0])
    answers = _pseudonymous(frame, content)
    return Table(answers, title, hashlib.sha256(content).hexdigest(), _answerers(answers))


def _answerers(frame: pd.DataFrame) -> Answerers | None:
    """How many annotators are programs, if the frame says so, as our exports do."""
    if "simulated" not in frame.columns:
        return None
    programs = frame["simulated"].map(lambda cell: str(cell).strip().casefold() in YES)
    some = frame["worker"][programs].nunique()
    return Answerers(some, frame["worker"].nunique() - some) if some else None


def _named(source: pd.DataFrame) -> pd.DataFrame:
    """The frame with our columns in small letters. Raises InputError if one of them is missing."""
    there = [name for name in source.columns if isinstance(name, str)]
    renamed = {}
    for name in NAMED:
        same = alike(name, there)
        if name not in there and len(same) == 1:
            renamed[same[0]] = name
    frame = source.rename(columns=renamed)
    missing = [name for name in REQUIRED if name not in frame.columns]
    if missing:
        shown = ", ".join(map(str, source.columns[:12])) or "none"
        raise InputError(
            f"the frame lacks the columns {', '.join(missing)}",
            f"It has: {shown}. Rename them, for example"
            f' frame.rename(columns={{"…": "{missing[0]}"}}); one row is one answer to one passage.'
            + of_ratings(missing),
        )
    if doubled := repeated(map(str, frame.columns)):
        raise InputError(f"the frame has several columns {listed(doubled)}", "Drop or rename the others.")
    return frame.reset_index(drop=True)


def _refuse_zero(frame: pd.DataFrame) -> None:
    """Sentences that are counted from 0 are an error of their own: every row of it would be a small one."""
    from_zero = []
    for name in ("position", "choice"):
        numbers = pd.to_numeric(frame[name], errors="coerce").dropna()
        if len(numbers) and numbers.min() == 0 and numbers.max() < SENTENCES:
            from_zero.append(name)
    if from_zero:
        named = " and ".join(from_zero)
        raise InputError(
            f"{named} {'count' if len(from_zero) > 1 else 'counts'} sentences from 0, and scores need 1 to"
            f" {SENTENCES}",
            "Add 1: " + "; ".join(f'frame["{name}"] += 1' for name in from_zero),
        )


def _pseudonymous(frame: pd.DataFrame, content: bytes) -> pd.DataFrame:
    """Worker ids are pseudonyms from here on, so that no report gives them away. Ours stay as they are."""
    names = frame["worker"].dropna().astype(str).unique()
    if len(names) and all(PSEUDONYM.fullmatch(name) for name in names):
        return frame
    key = hashlib.sha256(b"pseudonyms within this table\n" + content).digest()
    told = frame["worker"]
    given = {
        one: "w" + hashlib.blake2b(str(one).encode(), key=key, digest_size=6).hexdigest()
        for one in told.dropna().unique()
        if str(one).strip()
    }
    return frame.assign(worker=told.map(lambda one: given.get(one, one)).astype(object))
