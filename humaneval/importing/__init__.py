"""Other people's response files: which format a file is, its cells as a table, and that as responses."""

from humaneval.importing.formats import read_sheet
from humaneval.importing.mapping import Mapping, propose
from humaneval.importing.people import are_ours, passing_pseudonyms, pseudonymised
from humaneval.importing.replacing import replaced
from humaneval.importing.responses import Imported, responses
from humaneval.importing.sheet import Options, Sheet

__all__ = [
    "Imported",
    "Mapping",
    "Options",
    "Sheet",
    "are_ours",
    "passing_pseudonyms",
    "propose",
    "pseudonymised",
    "read_sheet",
    "replaced",
    "responses",
]
