"""Finds the files that travel with the package: templates, migrations, bundled stories."""

from __future__ import annotations

from pathlib import Path

_PACKAGE = Path(__file__).resolve().parent


def bundled(name: str) -> Path:
    """The folder or file `name`: inside the package (wheel) or one level up (source tree)."""
    for parent in (_PACKAGE, _PACKAGE.parent):
        if (parent / name).exists():
            return parent / name
    raise FileNotFoundError(f"{name} is missing from the installation of humaneval at {_PACKAGE}")
