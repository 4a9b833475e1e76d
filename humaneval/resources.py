"""Finds the files that travel with the package: templates, words, migrations, bundled stories."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

from humaneval.errors import InputError
from humaneval.limits import read_whole
from humaneval.plugins import FAULT, typed

_PACKAGE = Path(__file__).resolve().parent
_TRADITIONAL = frozenset(("hant", "tw", "hk", "mo"))
"""Subtags of Chinese that the words in simplified characters are not for."""


def bundled(name: str) -> Path:
    """The folder or file `name`: inside the package (wheel) or one level up (source tree)."""
    for parent in (_PACKAGE, _PACKAGE.parent):
        if (parent / name).exists():
            return parent / name
    raise FileNotFoundError(f"{name} is missing from the installation of humaneval at {_PACKAGE}")


@cache
def words_in(language: str, mturk: bool = False, question: Path | None = None) -> Mapping[str, str]:
    """The words of the annotators' pages in `language`; none if there is no file for it. With `mturk`, those
    that workers of Mechanical Turk know from there.

    `question` is the folder of a question, whose own words come with those of every page; None: of `detect`.
    Region and script may be missing from the file's name: `de-AT` finds `de.toml`.
    """
    parts = language.lower().split("-")
    if parts[0] == "zh" and not _TRADITIONAL & set(parts):
        parts = ["zh", "hans"]
    found: dict[str, str] = {}
    for folder in (question or bundled("hit_templates/detect"), bundled("hit_templates")):
        files = {path.stem.lower(): path for path in (folder / "words").glob("*.toml")}
        tags = ("-".join(parts[:size]) for size in range(len(parts), 0, -1))
        if path := next((files[tag] for tag in tags if tag in files), None):
            words = _words_of(path)
            there = words.pop("mturk", {})
            found = {**words, **there, **found} if mturk else {**words, **found}
    return found


def _words_of(path: Path) -> dict[str, Any]:
    """The words in a file. Raises InputError if they are none: the file may be another package's."""
    try:
        words = tomllib.loads(read_whole(path))
    except ValueError as error:
        raise InputError(f"{path} is no TOML: {error}", FAULT) from None
    if wrong := [key for key, text in words.items() if not isinstance(text, str) and key != "mturk"]:
        raise InputError(f"{path}: {wrong[0]} is {typed(words[wrong[0]])} instead of str", FAULT)
    return words


def word_languages() -> tuple[str, ...]:
    """The languages that have words."""
    return tuple(sorted(path.stem for path in bundled("hit_templates/words").glob("*.toml")))
