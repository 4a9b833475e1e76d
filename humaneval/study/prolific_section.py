"""The section [prolific] of a study file."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import field_validator

from humaneval.study.section import Section


class ProlificSection(Section):
    """Who may take part on Prolific, in Prolific's own words."""

    devices: tuple[Literal["desktop", "tablet", "mobile"], ...] = ()
    filters: tuple[dict[str, Any], ...] = ()

    @field_validator("filters")
    @classmethod
    def _named(cls, filters: tuple[dict[str, Any], ...]) -> tuple[dict[str, Any], ...]:
        if not all(isinstance(each.get("filter_id"), str) for each in filters):
            raise ValueError("each filter needs a filter_id")
        return filters
