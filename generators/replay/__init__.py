"""Infills that were made elsewhere, read from a file: how people bring the outputs of their own models.

`table` reads the file, `lines` keeps it, and `generator` fills blanks from it. The door is `build`.
"""

from generators.replay.generator import build

__all__ = ["build"]
