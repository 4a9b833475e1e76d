"""Rows of text from a CSV or TSV file, whatever program saved it, and whether its first row names columns."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from humaneval.csv_text import csv_records, lines_of, unguarded
from humaneval.encodings import decode
from humaneval.errors import InputError
from humaneval.limits import check_cells, read_rows
from humaneval.text import counted, listed

SEPARATORS = ",\t;|"
SHORT, MOST_TEXTS = 32, 100_000
"""Cells of so few characters with the same text are one, of so many texts at a time."""

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
        decoded = decode(read_rows(path), str(path), what=what)
    except OSError as error:
        raise InputError(f"{path}: {error.strerror or error}") from None
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
    start_of_text = text.lstrip("\r\n")[:1_000_000]
    told = start_of_text.partition("\n")[0].strip()
    separator = told[-1] if told.lower().startswith("sep=") and len(told) == 5 else ""
    unread = bool(separator)
    separator = separator or max(SEPARATORS, key=lambda one: _columns(start_of_text, one))
    kept = Kept(name)
    for line, cells in csv_records(lines_of(text), separator, f"{name}, line "):
        if unread and any(cells):  # the line with sep=
            unread = False
        else:
            kept.add(line, cells)
    told = kept.told
    return CsvFile(kept.rows, kept.lines, separator, (told,) if told else ())


class Kept:
    """The rows of a table that are not blank, and their lines. Raises InputError if they are too many."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.rows: list[list[str]] = []
        self.lines: list[int] = []
        self._blank: list[int] = []
        self._widest = 0
        self._texts: dict[str, str] = {}

    def add(self, line: int, cells: Sequence[str]) -> None:
        """Keep a row, unless it is blank."""
        if not any(map(str.strip, cells)):
            if self.rows:
                self._blank.append(line)
            return
        self._widest = max(self._widest, len(cells))
        check_cells(self.name, len(self.rows) + 1, self._widest)
        kept = tuple(map(self._kept, cells))
        self.rows.append(list(kept))  # from a tuple, without room to grow: up to 50 bytes less for each row
        self.lines.append(line)
        if len(self._texts) > MOST_TEXTS:
            self._texts.clear()

    @property
    def told(self) -> str:
        """What there is to say about blank lines between the rows."""
        return blank_lines([line for line in self._blank if line < self.lines[-1]])

    def _kept(self, cell: str) -> str:
        if cell.startswith("'"):
            return unguarded(cell)
        return self._texts.setdefault(cell, cell) if len(cell) <= SHORT else cell


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
