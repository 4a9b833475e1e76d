"""From rows of cells to a data frame: unique column names, rows of the right length, blank cells as None."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

import pandas as pd

from humaneval.errors import InputError, UsageError
from humaneval.foreign.document import Document
from humaneval.foreign.sheet import Left, Options, Sheet, at
from humaneval.foreign.unfold import as_text
from humaneval.text import counted, listed, not_among, same_name


def framed(
    document: Document,
    format: str,
    *,
    header: Sequence[str] | None = None,
    skip: int = 1,
    may_lack: Iterable[str] = (),
) -> Sheet:
    """The document's rows below the first `skip`. `header` names the columns; by default it is the first row.

    Rows may end early if only columns of `may_lack` are missing. Any other row with more or fewer cells than
    the header is an InputError, or is left out and counted with `skip_bad`. Two columns of one name become
    one if their cells are equal; otherwise the later one becomes `NAME (2)`.
    """
    names, notes = _names(list(header if header is not None else document.header))
    rows, lines = document.rows[skip:], document.lines[skip:]
    if not rows:
        raise InputError(
            f"{document.path} has a header line and no rows", "Perhaps there are no answers yet."
        )
    allowed = set(may_lack)
    early: Counter[str] = Counter()
    good, places, bad = [], [], []
    for cells, line in zip(rows, lines, strict=True):
        missing = names[len(cells) :]
        if (missing and not set(missing) <= allowed) or any(cell.strip() for cell in cells[len(names) :]):
            bad.append(line)
            continue
        if missing:
            early[", ".join(missing)] += 1
        good.append([cell if cell.strip() else None for cell in cells[: len(names)]] + [None] * len(missing))
        places.append(line)
    _check_bad(document, bad, len(names))
    frame = pd.DataFrame(good, columns=names, index=places, dtype=object)
    frame, more = _without_copies(frame)
    return Sheet(
        format,
        frame,
        notes=(
            *document.notes,
            *notes,
            *more,
            *(
                f"{counted(n, 'row', 'ends', 'end')} before the columns {missing}, as is usual in this format"
                for missing, n in early.items()
            ),
        ),
        left_out=(Left("not as many cells as the header", tuple(bad)),) if bad else (),
        sha256=document.sha256,
    )


def from_records(document: Document, format: str, records: Sequence[dict[str, object]]) -> Sheet:
    """A sheet of JSON objects: keys are columns, nested values stay JSON. Raises InputError for none."""
    if not records:
        raise InputError(f"{document.path} contains no answers")
    names = list(dict.fromkeys(name for record in records for name in record))
    rows = [[as_text(record.get(name)) for name in names] for record in records]
    frame = pd.DataFrame(rows, columns=names, index=range(1, len(rows) + 1), dtype=object)
    return Sheet(format, frame, sha256=document.sha256)


def column(frame: pd.DataFrame, name: str, what: str = "") -> str:
    """The column of `frame` called `name`, in any case. Raises UsageError with the list of columns."""
    names = [str(one) for one in frame.columns]
    if (found := same_name(name, names)) is not None:
        return found
    raise UsageError(
        not_among("column", name, names, f" ({what})" if what else ""), f"Columns: {listed(names, 40)}."
    )


def _names(cells: list[str]) -> tuple[list[str], list[str]]:
    while cells and not cells[-1].strip():
        cells.pop()
    names: dict[str, None] = {}
    copies: Counter[str] = Counter()
    nameless = []
    for number, cell in enumerate(cells, 1):
        name = first = cell.strip() or f"column {number}"
        if not cell.strip():
            nameless.append(name)
        while name in names:
            copies[first] += 1
            name = f"{first} ({copies[first] + 1})"
        names[name] = None
    told = f"{counted(len(nameless), 'column', 'has', 'have')} no name, called {listed(nameless)}"
    return [*names], [told] if nameless else []


def _without_copies(frame: pd.DataFrame) -> tuple[pd.DataFrame, list[str]]:
    same: list[str] = []
    different: list[str] = []
    for name in map(str, frame.columns):
        first, _, copy = name.rpartition(" (")
        if first in frame.columns and copy.rstrip(")").isdigit():
            (same if frame[name].equals(frame[first]) else different).append(name)
    notes = []
    if same:
        read = list(dict.fromkeys(name.rpartition(" (")[0] for name in same))
        notes.append(f"of columns with the same name and the same cells, one is read: {listed(read)}")
    if different:
        notes.append(f"columns with the name of another, but different cells, are called {listed(different)}")
    return frame.drop(columns=same), notes


def _check_bad(document: Document, bad: list[int], width: int) -> None:
    options: Options = document.options
    if bad and not options.skip_bad:
        raise InputError(
            f"{document.path}: {counted(len(bad), 'row', 'does', 'do')} not have {width} cells as the header"
            f" does: {at(bad)}",
            "Correct them, or leave them out with --skip-bad.",
        )
