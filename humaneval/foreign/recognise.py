"""Which format a response file has. Each format is a module of `humaneval.foreign.formats`."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from types import ModuleType

from humaneval.errors import InputError, UsageError
from humaneval.foreign.document import Document, open_document
from humaneval.foreign.formats import (
    appraise,
    hits_json,
    mturk_batch,
    plain_table,
    prolific_export,
    qualtrics,
    toloka,
)
from humaneval.foreign.sheet import Options, Sheet

FORMATS: tuple[ModuleType, ...] = (
    hits_json,
    qualtrics,
    toloka,
    mturk_batch,
    prolific_export,
    appraise,
    plain_table,
)
"""In the order in which they are tried. The last one takes every table that has column names."""

NAMES = tuple(str(module.NAME) for module in FORMATS)


def read_sheet(path: str | Path, options: Options | None = None) -> Sheet:
    """The rows of a response file, in the format that `options` names or the first that fits.

    Raises InputError if the file cannot be opened, is not a table, is damaged, or has no known format. In the
    last case the error says why each format does not fit. Raises UsageError for an unknown format, and
    PrerequisiteError for a workbook without openpyxl.
    """
    options = options or Options()
    document = open_document(Path(path), options)
    if options.format is not None:
        name = options.format.strip().casefold()
        if name not in NAMES:
            raise UsageError(f"there is no format {options.format!r}", f"Formats: {', '.join(NAMES)}.")
        module = FORMATS[NAMES.index(name)]
        cause = module.recognise(document)
        if cause:
            raise InputError(f"{path} does not have the format {name}: {cause}")
        return _read(module, document, options)
    tried = []
    for module in FORMATS:
        cause = module.recognise(document)
        if not cause:
            return _read(module, document, options)
        tried.append(f"{module.NAME}: {cause}")
    raise InputError(f"{path} has no known format", "Tried: " + "; ".join(tried) + ".")


def _read(module: ModuleType, document: Document, options: Options) -> Sheet:
    sheet: Sheet = module.read(document, options)
    if sheet.frame.empty:
        raise InputError(
            f"{document.path}: no rows are left: " + "; ".join(str(left) for left in sheet.left_out),
            "--all keeps rejected work." if not options.rejected else "",
        )
    return replace(sheet, frame=sheet.frame.astype(object), key=document.key)
