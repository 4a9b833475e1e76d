"""Several judgments in one cell, one by one: JSON or Python lists and objects, or text with separators."""

from __future__ import annotations

import ast
import json
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from humaneval.errors import InputError, UsageError
from humaneval.foreign.sheet import at
from humaneval.foreign.unfold import as_text
from humaneval.text import counted, listed

GUESSED = ("|", ";", "\n", "\t", ",", "/", " ")
"""Separators that `auto` tries, in this order: the first that a cell of the column has."""
NAMED = {"space": " ", "tab": "\t", "newline": "\n", "\\t": "\t", "\\n": "\n"}
AUTO, JSON = "auto", "json"


class Parts(NamedTuple):
    """The parts of every cell of a column by their names: places 1, 2, 3, …, or the keys of JSON objects."""

    cells: list[dict[str, str | None]]
    names: tuple[str, ...]
    """All names, in order of appearance; places in order."""
    separator: str
    """Empty if all cells are JSON."""

    @property
    def places(self) -> bool:
        """Whether the parts have places and no names."""
        return _are_places(self.names)


def parts_of(cells: Sequence[str], lines: Sequence[Any], how: str, column: str) -> Parts:
    """Split the cells of a column, given as text with their lines. `how` is a separator, `json` or `auto`.

    A cell that is a JSON or Python list, or a JSON object, is read as such whatever the separator. Raises
    InputError for cells that should be JSON and are not, or hold more than values, UsageError for an empty
    separator.
    """
    separator = NAMED.get(how.strip().casefold(), how)
    if not separator:
        raise UsageError("--separator needs a separator, json or auto", "For example --separator ';'.")
    values = [_listed(cell) for cell in cells]
    words = [cell for cell, value in zip(cells, values, strict=True) if cell and value is None]
    if separator.casefold() == JSON:
        bad = [line for line, cell, value in zip(lines, cells, values, strict=True) if cell and value is None]
        if bad:
            raise InputError(
                f"{counted(len(bad), 'cell', 'is', 'are')} no JSON list or object in {column}: {at(bad)}",
                "Name the separator instead, for example --separator ';'.",
            )
    if separator.casefold() in (AUTO, JSON):
        separator = next((one for one in GUESSED if any(one in cell for cell in words)), "") if words else ""
    found = []
    for cell, value, line in zip(cells, values, lines, strict=True):
        if isinstance(value, (list, dict)):
            found.append(_scalars(value, column, line))
        elif cell:
            texts = cell.strip(separator).split(separator) if separator else [cell]
            found.append({str(place): text.strip() or None for place, text in enumerate(texts, 1)})
        else:
            found.append({})
    names = list(dict.fromkeys(name for one in found for name in one))
    if _are_places(names):
        names.sort(key=int)
    return Parts(found, tuple(names), separator)


def people_in(cell: str, how: str) -> list[str]:
    """The workers that a cell names, in order; `how` is that of the judgments.

    >>> people_in("ann; bob", "auto"), people_in('["ann", "bob"]', ";"), people_in("ann", ";")
    (['ann', 'bob'], ['ann', 'bob'], ['ann'])
    """
    value = _listed(cell)
    if isinstance(value, list):
        return [as_text(one) or "" for one in value]
    separator = NAMED.get(how.strip().casefold(), how)
    if separator.casefold() in (AUTO, JSON):
        # Names have blanks and strokes of their own.
        separator = next((one for one in GUESSED[:5] if one in cell), "")
    texts = cell.strip(separator).split(separator) if separator else [cell]
    return [text.strip() for text in texts]


def number_of(name: str) -> int | None:
    """The number in the name of a part, if it has exactly one.

    >>> number_of("3"), number_of("q12"), number_of("fluency")
    (3, 12, None)
    """
    digits = "".join(one if one.isdecimal() else " " for one in name).split()
    return int(digits[0]) if len(digits) == 1 and _are_places(digits) else None


def _are_places(names: Iterable[str]) -> bool:
    return all(name.isdecimal() and len(name) < 16 for name in names)


def _listed(cell: str) -> list[Any] | dict[str, Any] | None:
    if cell[:1] not in ("[", "{", "("):
        return None
    try:
        value = json.loads(cell)
    except (ValueError, RecursionError):
        try:
            value = ast.literal_eval(cell)
        except (ValueError, SyntaxError, MemoryError, RecursionError):
            return None
    if isinstance(value, tuple):
        value = list(value)
    return value if isinstance(value, (list, dict)) else None


def _scalars(value: list[Any] | dict[str, Any], column: str, line: Any) -> dict[str, str | None]:
    named = (
        {str(key): one for key, one in value.items()}
        if isinstance(value, dict)
        else {str(place): one for place, one in enumerate(value, 1)}
    )
    deep = [name for name, one in named.items() if isinstance(one, (list, dict))]
    if deep:
        raise InputError(
            f"{column} holds lists or objects within a list, from line {line} on: {listed(deep)}",
            f"Name what is in them: --value '{column}.{{}}.KEY', without --separator.",
        )
    return {name: as_text(one) for name, one in named.items()}
