"""Which formats there are, and which of them a file is. Each is a module with NAME, recognise and read."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from types import ModuleType

from humaneval.errors import InputError, UsageError
from humaneval.foreign import appraise, hits_json, qualtrics, toloka
from humaneval.foreign import mturk_batch as mturk
from humaneval.foreign import plain_table as table
from humaneval.foreign import prolific_export as prolific
from humaneval.foreign.document import Document, open_document
from humaneval.foreign.sheet import Options, Sheet

FORMATS: tuple[ModuleType, ...] = (hits_json, qualtrics, toloka, mturk, prolific, appraise, table)
"""In the order in which they are tried; the last takes every table that has names of columns."""

NAMES = tuple(str(module.NAME) for module in FORMATS)


def read_sheet(path: str | Path, options: Options | None = None) -> Sheet:
    """The rows of a file of judgments, in the format that `options` names or the first that fits.

    The file is only read. Raises InputError in one line where it cannot be opened, is no table, is damaged or
    of no format that is known (then with what was tried and why it did not fit); UsageError for a format that
    there is not; PrerequisiteError for a workbook without openpyxl.
    """
    options = options or Options()
    document = open_document(Path(path), options)
    if options.format is not None:
        if options.format not in NAMES:
            raise UsageError(f"there is no format {options.format!r}", f"There are: {', '.join(NAMES)}.")
        module = FORMATS[NAMES.index(options.format)]
        cause = module.recognise(document)
        if cause:
            raise InputError(f"{path} is not of the format {options.format}: {cause}")
        return _read(module, document, options)
    tried = []
    for module in FORMATS:
        cause = module.recognise(document)
        if not cause:
            return _read(module, document, options)
        tried.append(f"{module.NAME}: {cause}")
    raise InputError(f"{path} is of no format that is known here", "Tried were " + "; ".join(tried) + ".")


def _read(module: ModuleType, document: Document, options: Options) -> Sheet:
    sheet: Sheet = module.read(document, options)
    if sheet.frame.empty:
        raise InputError(
            f"{document.path}: nothing is left: " + "; ".join(str(left) for left in sheet.left_out),
            "--all keeps work that was rejected." if not options.rejected else "",
        )
    return replace(sheet, frame=sheet.frame.astype(object))
