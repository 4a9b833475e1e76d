"""Rows of text from a CSV or TSV file, whatever program saved it, and whether its first row names columns."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from humaneval.csv_text import csv_trouble, unguarded
from humaneval.encodings import decode
from humaneval.errors import InputError
from humaneval.text import counted, listed

SEPARATORS = ",\t;|"
MOST_COLUMNS = 10_000
"""More than any table of people's answers has: each column costs as much time as all others together."""

_VALUE = re.compile(
    r"\S+@\S+\.\S+|.*<\S+@\S+>|https?://.*"  # an address
    r"|[+(]?\d[\d\s().,/:+-]*"  # a number, a date, a telephone
    r"|(?=(?:\D*\d){3})[\w-]{8,}"  # an id, with three digits
)
_HEADINGS = """
name names firstname givenname forename middlename lastname familyname surname fullname displayname nickname
email emails mail mailaddress emailaddress address contact phone telephone mobile id ids number
person people participant participants participantid worker workers workerid mturkid prolificid prolificpid
annotator annotators annotatorid rater raters raterid user users userid username handle login account
student students studentid subject subjectid respondent language country affiliation institution note notes
comment link vorname nachname adresse telefon nummer nom prenom prénom courriel correo nombre apellido
apellidos nome cognome sobrenome naam voornaam achternaam namn förnamn efternamn navn imię nazwisko
soyad eposta имя фамилия почта 姓名 名前 氏名 邮箱 メール 이름 이메일
"""
"""Usual names of columns in lists of people, without case, punctuation and digits."""
_WORDS = frozenset(_HEADINGS.split())


@dataclass(frozen=True, slots=True)
class CsvFile:
    """The rows that are not blank, the line on which each of them begins, and what there is to say."""

    rows: list[list[str]]
    lines: list[int]
    delimiter: str
    notes: tuple[str, ...] = ()


def read_csv_file(path: Path, *, what: str) -> CsvFile:
    """The rows of a file in UTF-8, UTF-16 or Windows-1252, with cells stripped of white space around them.

    `what` it should be ("a list of people") is for messages. Raises InputError if it cannot be read.
    """
    try:
        data = path.read_bytes()
    except OSError as error:
        raise InputError(f"{path}: {error.strerror or error}") from None
    decoded = decode(data, str(path), what=what)
    found = csv_rows(decoded.text, str(path))
    rows = [[cell.strip() for cell in row] for row in found.rows]
    notes = (decoded.note, *found.notes) if decoded.guessed else found.notes
    return CsvFile(rows, found.lines, found.delimiter, tuple(f"{path}: {note}" for note in notes))


def blank_lines(lines: Sequence[int]) -> str:
    """That the blank lines between the rows of a table are left out; empty without any.

    >>> blank_lines([3])
    '1 blank line left out: 3'
    """
    return f"{counted(len(lines), 'blank line')} left out: {listed(lines)}" if lines else ""


def csv_rows(text: str, name: str) -> CsvFile:
    """The rows of a table with commas, tabs, semicolons or | between its cells, which Excel's `sep=` line may
    name. Raises InputError with the line, in the file `name`, if a quotation mark is not closed."""
    first, _, rest = text.lstrip("\r\n").partition("\n")
    told = first.strip()
    separator = told[-1] if told.lower().startswith("sep=") and len(told) == 5 else ""
    skipped = 0
    if separator:
        text, skipped = rest, 1
    else:
        start_of_text = text.lstrip("\r\n")[:1_000_000]
        separator = max(SEPARATORS, key=lambda one: _columns(start_of_text, one))
    rows, lines, blank, start = [], [], [], 0
    try:
        # newline="": csv itself handles every line end, even the lone carriage return of old Macs.
        reader = csv.reader(io.StringIO(text, newline=""), delimiter=separator, strict=True)
        for cells in reader:
            line, start = start + 1 + skipped, reader.line_num
            if len(cells) > MOST_COLUMNS:
                raise InputError(
                    f"{name}, line {line}: {len(cells):,} cells; at most {MOST_COLUMNS:,} are read"
                )
            if any(cell.strip() for cell in cells):
                rows.append([unguarded(cell) for cell in cells])
                lines.append(line)
            elif rows:
                blank.append(line)
    except csv.Error as error:
        raise InputError(
            f"{name}, line {start + 1 + skipped}: {csv_trouble(error)}",
            "Check the quotation marks in this line.",
        ) from None
    told = blank_lines([line for line in blank if line < lines[-1]])
    return CsvFile(rows, lines, separator, (told,) if told else ())


def has_header(rows: Sequence[Sequence[str]]) -> bool | None:
    """Whether the first row of a list of people names its columns; None if that cannot be told.

    It does not if a cell is an address, a number or an id. Otherwise it does if a cell is a usual name for a
    column that is not below it again, or if all cells below it are addresses, numbers or ids.

    >>> has_header([["E-mail"]]), has_header([["ada@example.org"]]), has_header([["Ada"], ["Ben"]])
    (True, False, None)
    """
    first, *others = rows
    if any(_VALUE.fullmatch(cell.strip()) for cell in first):
        return False
    for place, cell in enumerate(first):
        below = [row[place].strip() for row in others if place < len(row) and row[place].strip()]
        if is_column_word(cell) and cell.strip() not in below:
            return True
        if cell.strip() and below and all(_VALUE.fullmatch(one) for one in below):
            return True
    return None


def is_column_word(cell: str) -> bool:
    """Whether a cell is a usual name for a column in a list of people.

    >>> is_column_word("E-Mail 2"), is_column_word("Ada Lovelace")
    (True, False)
    """
    return re.sub(r"[\W\d_]", "", cell.casefold()) in _WORDS


def _columns(text: str, separator: str) -> int:
    """How many columns the first row has with this separator; a quoted header cell may span lines."""
    try:
        return len(next(csv.reader(io.StringIO(text, newline=""), delimiter=separator), []))
    except csv.Error:
        return 0
