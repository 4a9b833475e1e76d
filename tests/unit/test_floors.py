"""The oldest versions that may be installed have no hole that was known when they were chosen."""

from __future__ import annotations

import re
import tomllib

import pytest
from packaging.version import Version

from tests.conftest import ROOT

SOUND = {
    "filelock": "4.2.1",  # CVE-2026-112906, after CVE-2025-68146 and CVE-2026-22701
    "flask": "3.1.3",  # CVE-2026-27205
    "jinja2": "3.1.6",  # CVE-2025-27516
    "lxml": "6.1",  # CVE-2026-41066
    "pytest": "9.0.3",  # CVE-2025-71176
    "ray": "2.56",  # CVE-2026-57516, after CVE-2025-62593 and CVE-2026-41486
    "urllib3": "2.8",  # CVE-2026-97687 and CVE-2026-97689
    "waitress": "3.0.1",  # CVE-2024-49768 and CVE-2024-49769
    "werkzeug": "3.1.6",  # CVE-2026-27199
}
"""The first version without the holes named."""


@pytest.mark.parametrize("package", SOUND)
def test_no_version_with_a_known_hole_is_admitted(package: str) -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    lines = [
        *project["dependencies"],
        *(one for some in project["optional-dependencies"].values() for one in some),
    ]
    floors = [found[1] for line in lines if (found := re.match(rf"{package}(?:\[\w+\])?>=([\d.]+)", line))]
    assert floors
    assert all(Version(floor) >= Version(SOUND[package]) for floor in floors)
