"""Generators fill blanks. Each kind has a room or a module with `build`, which pyproject.toml names as an
entry point. Only modules that need torch import it. From Python, the door is `load`."""

from generators.loading import load

__all__ = ["load"]
