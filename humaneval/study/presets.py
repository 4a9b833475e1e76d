"""Named designs of studies, and the settings of a study file that they replace."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Collection
from pathlib import Path
from typing import Any

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


def preset_over(path: Path | None, preset: str | None, options: Collection[str] = ()) -> str:
    """A sentence about the settings of the file `path` that `preset` replaces; empty if it replaces none.

    `options` are the settings of [design] that the command line replaces in any case.
    """
    if path is None or preset not in PRESETS:
        return ""
    design = tomllib.loads(path.read_text(encoding="utf-8-sig")).get("design", {})
    instead = [
        name if isinstance(value, list) else f"{name} = {json.dumps(value)} (not {json.dumps(design[name])})"
        for name, value in PRESETS[preset]["design"].items()
        if name not in options and design.get(name, value) != value
    ]
    return f"--preset {preset} overrides {path}: {', '.join(instead)}." if instead else ""
