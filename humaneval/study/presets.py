"""Named designs of studies, and the settings of a study file that they replace."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Mapping
from functools import partial
from pathlib import Path
from typing import Any

from humaneval.encodings import read_toml
from humaneval.errors import SettingsError
from humaneval.limits import read_whole

PRESETS: dict[str, dict[str, dict[str, Any]]] = {
    "acl2020": {
        "design": {
            "generators": ["control", "bert", "sa", "lm-scratch", "lm", "ilm-scratch", "ilm", "human"],
            "annotators": 100,
            "rows_per_annotator": 1,
            "stories": 100,
            "positions": [1, 2, 3, 4, 5],
            "top_up": "never",
        },
        "exclusions": {"missed_control": "annotator"},
    }
}
"""Designs by name. `acl2020`: Donahue, Lee and Liang (2020): 8 generators, 100 annotators, none replaced."""


_PRESET = re.compile(r"# preset: (?P<name>\S+)\n")
_GIVEN = re.compile(r"\n# from the command line: (?P<values>\{.*\})\n*\Z")
_VALUE = r"""\[[^\]]*\]|\"{3}[\s\S]*?\"{3}|"(?:\\.|[^"\\\n])*"|'[^'\n]*'|[^\s#]+"""
"""A value of a study file: a flat list, a text or a number."""


def laid_by(preset: str | None) -> Mapping[str, Mapping[str, Any]]:
    """The settings of `preset`, by section; none for None."""
    if preset is not None and preset not in PRESETS:
        raise SettingsError(f"there is no preset {preset!r}", f"Presets: {', '.join(PRESETS)}.")
    return PRESETS[preset] if preset else {}


def noted(text: str, preset: str | None, overrides: Mapping[str, Mapping[str, Any]]) -> str:
    """The text of a study file with a note of the preset and of what the command line sets."""
    if preset:
        text = f"# preset: {preset}\n{text}"
    if any(overrides.values()):
        text += f"\n# from the command line: {json.dumps(overrides)}\n"
    return text


def lay_over(values: dict[str, Any], layer: Mapping[str, Mapping[str, Any]]) -> None:
    """Put the settings of `layer` over `values`, except into a section that is none: pydantic names it."""
    for section, settings in layer.items():
        if not isinstance(settings, Mapping):  # it stands above all sections
            values[section] = settings
        elif settings and isinstance(values.setdefault(section, {}), dict):
            values[section].update(settings)


def preset_over(path: Path | None, preset: str | None, options: Collection[str] = ()) -> str:
    """A sentence about the settings of the file `path` that `preset` replaces; empty if it replaces none.

    `options` are the settings of [design] that the command line replaces in any case.
    """
    if path is None or preset not in PRESETS:
        return ""
    try:
        design = read_toml(read_whole(path, "utf-8-sig")).get("design")
    except (OSError, ValueError):  # reading the study says what is wrong
        return ""
    if not isinstance(design, dict):
        return ""
    shown = partial(json.dumps, default=str)
    instead = [
        name if isinstance(value, list) else f"{name} = {shown(value)} (not {shown(design[name])})"
        for name, value in PRESETS[preset]["design"].items()
        if name not in options and design.get(name, value) not in (value, [])
    ]
    return f"--preset {preset} overrides {path}: {', '.join(instead)}." if instead else ""


def in_force(text: str) -> str:
    """The text that `noted` gave with what it notes in its place, as a study file that says the same.

    >>> given = noted("[design]\\nannotators = 40  # people\\n", None, {"design": {"annotators": 8}})
    >>> print(in_force(given))
    [design]
    annotators = 8  # people
    """
    preset = _PRESET.match(text)
    laid = {name: dict(values) for name, values in laid_by(preset["name"]).items()} if preset else {}
    given = _GIVEN.search(text)
    for section, values in (json.loads(given["values"]) if given else {}).items():
        laid.setdefault(section, {}).update(values)
    text = _GIVEN.sub("", text)
    for section, values in laid.items():
        text = _with_settings(text, section, {k: v for k, v in values.items() if v is not None})
    return text.rstrip("\n")


def _with_settings(text: str, section: str, values: Mapping[str, Any]) -> str:
    """The text of a study file with settings of one section."""
    header = re.search(rf"(?m)^\[{re.escape(section)}\].*$", text)
    if header is None:
        text = f"{text.rstrip()}\n\n[{section}]"
        header = re.search(rf"(?m)^\[{re.escape(section)}\]$", text)
        assert header is not None  # it was just written
    start = header.end()
    next_one = re.compile(r"(?m)^\[").search(text, start)
    before, inside, after = (
        text[:start],
        text[start : next_one.start() if next_one else None],
        text[next_one.start() if next_one else len(text) :],
    )
    for name, value in values.items():
        said = f"{name} = {json.dumps(value, ensure_ascii=False)}"
        there = next(
            filter(
                None,
                (
                    re.search(rf"(?m)^{mark}{re.escape(name)}\s*=\s*(?:{_VALUE})", inside)
                    for mark in ("", "# ")
                ),
            ),
            None,
        )
        inside = inside[: there.start()] + said + inside[there.end() :] if there else f"\n{said}{inside}"
    return before + inside + after
