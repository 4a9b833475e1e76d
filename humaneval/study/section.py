"""What a section of a study file is, and the section [prolific]."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, field_validator


class Section(BaseModel):
    """A section: unknown settings are refused, and nothing changes."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)


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
