"""Other people's response files: which format a file is, its cells as a table, and that as responses."""

from humaneval.foreign.file_kinds import read_sheet
from humaneval.foreign.mapping import Mapping, propose
from humaneval.foreign.pseudonyms import are_ours, passing_pseudonyms, pseudonymised
from humaneval.foreign.reposted import replaced
from humaneval.foreign.responses import Imported, responses
from humaneval.foreign.sheet import Options, Sheet

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
