"""Replay: infills that were made elsewhere, read from a file. This is how people bring the outputs of their
own models.

`generator` fills the blanks, `table` reads the file, and `lines` keeps it. The door is `build`.
"""

from generators.replay.generator import build

__all__ = ["build"]
