"""Response files from other platforms: recognise the format, read the rows, map them to responses.

This module is the door; `summaries`, `differences` and `reliability` analyse a file as it is."""

from humaneval.foreign.formats.prolific_export import only_counted
from humaneval.foreign.mapping import ColumnMapping, propose
from humaneval.foreign.pseudonyms import are_ours, file_pseudonyms, pseudonymised
from humaneval.foreign.recognise import read_sheet
from humaneval.foreign.reposted import replaced
from humaneval.foreign.responses import Imported, responses
from humaneval.foreign.sheet import Options, Sheet

__all__ = [
    "ColumnMapping",
    "Imported",
    "Options",
    "Sheet",
    "are_ours",
    "file_pseudonyms",
    "only_counted",
    "propose",
    "pseudonymised",
    "read_sheet",
    "replaced",
    "responses",
]
