"""The section of the study file about who may take part."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, model_validator

from humaneval.study.section import Required, Section, Whole


class QualificationSection(Section):
    """A qualification of your own, by its id at the platform."""

    id: str = Field(pattern="^[A-Za-z0-9]{1,64}$")
    at_least: Whole | None = None
    lacking: bool = False
    endpoint: Literal["", "local", "sandbox", "production", "prolific"] = ""

    @model_validator(mode="after")
    def _one_sense(self) -> QualificationSection:
        if self.lacking and self.at_least is not None:
            raise ValueError("lacking and at_least cannot be used together")
        return self


class ParticipantsSection(Section):
    """Who may take part, as far as the platform can check."""

    countries: tuple[Annotated[str, Field(pattern="^[A-Z]{2}$")], ...] = ()
    min_approved_percent: Whole = Field(0, ge=0, le=100)
    min_approved_hits: Whole = Field(0, ge=0)
    masters: bool = False
    qualifications: tuple[QualificationSection, ...] = ()
    exclude_studies: tuple[Required, ...] = ()
