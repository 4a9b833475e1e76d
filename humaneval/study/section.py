"""What sections of a study file are made from: the base class, and texts that people can see."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Annotated, Any

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationInfo

from humaneval.text import refused_characters, unshowable

NEW = {"new": True}
"""Context of a study file that is read, unlike settings that are stored: these must stay readable."""


def printable(text: str, info: ValidationInfo) -> str:
    """`text` without white space around it. ValueError if nobody could see all of it."""
    fault = unshowable(text) if info.context == NEW or refused_characters(text) else ""
    if fault:
        raise ValueError(fault)
    return text.strip()


def printable_within(value: Any, info: ValidationInfo) -> Any:
    """The same for every text in a value of a TOML file."""
    if isinstance(value, str):
        return printable(value, info)
    if isinstance(value, dict):
        return {key: printable_within(one, info) for key, one in value.items()}
    return [printable_within(one, info) for one in value] if isinstance(value, list) else value


def texts_within(value: Any) -> Iterator[str]:
    """Every text in a value of a TOML file."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping | list):
        for one in value.values() if isinstance(value, Mapping) else value:
            yield from texts_within(one)


def something(text: str) -> str:
    """`text`, if there is any. ValueError otherwise."""
    if not text:
        raise ValueError("must not be empty")
    return text


def countable(value: int, info: ValidationInfo) -> int:
    """`value`. ValueError if no database could count so far."""
    if info.context == NEW and not -(2**31) <= value < 2**31:
        raise ValueError(f"must be less than {2**31:,}")
    return value


Printable = Annotated[str, AfterValidator(printable)]
Required = Annotated[Printable, AfterValidator(something)]
PrintableWithin = Annotated[dict[str, Any], AfterValidator(printable_within)]
Whole = Annotated[int, Field(strict=True), AfterValidator(countable)]
"""Without true, which pydantic would accept as 1."""


class Section(BaseModel):
    """A section of a study file."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)
