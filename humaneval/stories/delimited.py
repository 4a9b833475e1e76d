"""Stories in a table: ROCStories and Story Cloze CSV, with any common delimiter."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator, Mapping, Sequence

from humaneval.csv_file import blank_lines
from humaneval.csv_text import csv_trouble, lines_of, unguarded
from humaneval.domain import SENTENCES
from humaneval.errors import InputError
from humaneval.limits import LINE, check_cells, check_stories
from humaneval.stories.fields import one_too_many, record_of
from humaneval.stories.headings import Columns, known_names, numbered_sentences, of_responses, resolve
from humaneval.stories.result import Record, Records
from humaneval.text import alike, command, listed, not_among

DELIMITERS = ",;\t|"
HEADER = "storyid,storytitle,sentence1,sentence2,sentence3,sentence4,sentence5"
AGAIN = 2
"""So many times the size of a file is read again after quotation marks that are not closed."""
_QUOTES = "unbalanced quotation marks"
_SEP_LINE = re.compile(r"sep=([,;\t|])", re.IGNORECASE)


class Lines:
    """A file's lines with their ends. The place can be set, to continue after a broken record."""

    def __init__(self, text: str) -> None:
        self.all = list(lines_of(text))
        self.at = 0
        self.room = LINE
        """How many characters more may belong to this record."""

    def __iter__(self) -> Iterator[str]:
        return self

    def __next__(self) -> str:
        if self.at >= len(self.all):
            raise StopIteration
        line = self.all[self.at]
        self.at += 1
        self.room -= len(line)
        if self.room < 0:
            raise csv.Error("a record is too long")
        return line


def delimiter_of(text: str, mapping: Mapping[str, str] | None = None) -> str:
    """The delimiter of a table whose first line names columns of a story; empty for anything else."""
    first = _after_sep_line(text)[1]
    if not first:
        return ""
    scores = {each: known_names(_first_record(first, each), mapping) for each in DELIMITERS}
    delimiter = max(scores, key=lambda each: scores[each])
    score, names = scores[delimiter], _first_record(first, delimiter)
    if score >= 2 or (score == 1 and (mapping or len(names) == 1 or resolve(names).shape)):
        return delimiter
    return ""


def read_table(
    text: str,
    name: str,
    delimiter: str,
    mapping: Mapping[str, str] | None = None,
    wanted: int = SENTENCES,
) -> Records:
    """The records of a table with a header line, of `wanted` sentences each. Missing and unused columns are
    found first."""
    lines = Lines(text)
    lines.at = _after_sep_line(text)[0]
    try:
        header = [cell.strip() for cell in next(_reader(lines, delimiter))]
    except csv.Error as error:
        raise InputError(f"{name}: the header line cannot be read: {csv_trouble(error)}") from None
    check_cells(f"{name}, line {lines.at}", 1, len(header))
    while not header[-1]:  # spreadsheets pad lines with empty cells
        header.pop()
    columns = resolve(header, mapping, wanted)
    check_columns(columns, header, name)
    kind = {"cloze": "Story Cloze CSV", "five": "ROCStories CSV" if wanted == SENTENCES else "CSV"}.get(
        columns.shape, "CSV"
    )
    notes = [f"columns not used: {listed(columns.ignored, 8)}"] if columns.ignored else []
    rows = list(_rows(lines, delimiter, len(header), name))
    blank = [line for line, row, trouble in rows if not trouble and not any(row)]
    rows = [one for one in rows if one[0] not in set(blank)]
    if told := blank_lines([line for line in blank if rows and line < rows[-1][0]]):
        notes.append(told)
    cells = {field: header.index(column) for field, column in columns.of.items()}
    surplus = [header.index(column) for column in columns.surplus]
    from_zero = _counts_from_zero(
        columns, [row[cells["answer"]] for _, row, bad in rows if not bad and "answer" in cells]
    )
    records = []
    for line, row, trouble in rows:
        if trouble:
            records.append(Record(line, trouble=trouble))
            continue
        fields = {field: unguarded(row[at]) for field, at in cells.items()}
        record = record_of(line, fields, columns.shape, from_zero=from_zero, wanted=wanted)
        if surplus and any(row[at].strip() for at in surplus):
            record.trouble = record.trouble or one_too_many(wanted)
        records.append(record)
    return Records(kind, records, delimiter, tuple(notes), numbered_sentences(header))


def check_columns(columns: Columns, names: Sequence[str], file: str) -> None:
    """Raise InputError if the columns do not make stories, with the missing columns and those that exist."""
    there = f"its columns are {listed(names, most=25)}"
    if columns.unknown:
        several = next((one for one in columns.unknown if len(alike(one, names)) > 1), None)
        raise InputError(
            f"{file}: {not_among('column', several, names)}; {there}"
            if several is not None
            else f"{file} has no column {listed(columns.unknown, 8)}; {there}",
            "Correct --map: it takes names as they are in the file.",
        )
    if columns.twice:
        raise InputError(
            f"{file} has the column {listed(columns.twice, 8)} twice", "Rename or delete one of them."
        )
    answers = of_responses(names)
    if columns.shape and not (answers and columns.shape == "text"):
        return
    if answers:
        raise InputError(
            f"{file} looks like a table of responses ({listed(answers, 8)}), not of stories; {there}",
            f"To score responses: {command('score', '--responses', 'FILE')}",
        )
    if set(columns.missing) == {"answer"}:
        raise InputError(
            f"{file} has four sentences and two endings, but no column for the right ending; {there}",
            "Add a column AnswerRightEnding with 1 or 2.",
        )
    extra = f"; unknown: {listed(columns.ignored, most=25)}" if columns.ignored else ""
    there = f"; found: {listed(list(columns.of.values()), most=25)}" if columns.of else ""
    raise InputError(
        f"{file} is missing columns: {listed(columns.missing, 8)}{there}{extra}",
        "Name the columns with the sentences: --map id=COLUMN,sentence1=COLUMN,…,sentence5=COLUMN.",
    )


def _rows(lines: Lines, delimiter: str, width: int, name: str) -> Iterator[tuple[int, list[str], str]]:
    """Each record as its line, its `width` cells and what is wrong with it."""
    reader = _reader(lines, delimiter)
    number, most = 0, LINE + AGAIN * sum(map(len, lines.all))
    while True:
        start, lines.room = lines.at, LINE
        try:
            row = next(reader)
            trouble = _width_trouble(row, width)
        except StopIteration:
            return
        except csv.Error:
            row, trouble = [], _QUOTES
        if trouble:
            plain = lines.all[start].rstrip("\r\n").split(delimiter)
            swallowed = range(start + 1, lines.at)
            if delimiter == "\t" and len(plain) == width:  # many tools write tabs without quoting
                row, trouble = plain, ""
            elif any(_is_whole(lines.all[at], delimiter, width) for at in swallowed):
                trouble = _QUOTES
            if not trouble or trouble == _QUOTES:
                most -= LINE - lines.room
                if most < 0:
                    raise InputError(
                        f"{name}, line {start + 1:,}: {_QUOTES} here and in many other lines",
                        "Save the file as CSV again, with quotation marks around every text that has some.",
                    )
                lines.at = start + 1
                reader = _reader(lines, delimiter)
        number += 1
        check_stories(name, number)
        yield start + 1, row[:width], trouble


def _is_whole(line: str, delimiter: str, width: int) -> bool:
    """Whether a line is a record by itself. A record that runs into it has lost a quotation mark."""
    return len(_first_record(line, delimiter)) == width


def _width_trouble(row: list[str], width: int) -> str:
    """What is wrong with the number of cells in a row. Empty cells at its end do not count."""
    if len(row) == width or not any(row):
        return ""
    if len(row) < width:
        return (
            f"{len(row)} field{'s' * (len(row) > 1)}, but the header has {width}: a sentence or another"
            " field is missing"
        )
    if not any(cell.strip() for cell in row[width:]):
        return ""
    return (
        f"{len(row)} fields, but the header has {width}: a sixth sentence, or a delimiter outside quotation"
        " marks"
    )


def _counts_from_zero(columns: Columns, answers: list[str]) -> bool:
    """Whether the right ending is 0 or 1. Story Cloze's own files use 1 or 2."""
    if columns.of.get("answer", "").lower() == "answerrightending":
        return False
    found = {answer.strip() for answer in answers}
    return "2" not in found or "0" in found


def _reader(lines: Iterator[str], delimiter: str) -> Iterator[list[str]]:
    return csv.reader(lines, delimiter=delimiter, strict=True)


def _first_record(text: str, delimiter: str) -> list[str]:
    try:
        return [cell.strip() for cell in next(_reader(io.StringIO(text, newline=""), delimiter), [])]
    except csv.Error:
        return []


def _after_sep_line(text: str) -> tuple[int, str]:
    """How many lines to skip (Excel's `sep=;`, blank lines), and the text after them."""
    lines = io.StringIO(text[:100_000], newline="")
    passed, at = 0, 0
    for line in lines:
        if line.strip() and not _SEP_LINE.fullmatch(line.strip("\r\n")):
            break
        passed += 1
        at += len(line)
    return passed, text[at : at + 100_000]
