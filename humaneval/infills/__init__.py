"""Fills blanks and keeps what was written: the resumable run (`generate`), form and length, the rules of a
generator."""
