"""Options of a generator: the text of `--option NAME=VALUE` as fields of dataclasses."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields
from typing import Any, TypeVar

from humaneval.domain import GeneratorRequest
from humaneval.errors import UsageError

A = TypeVar("A")

_SWITCH = {"on": True, "off": False, "true": True, "false": False, "yes": True, "no": False}
_READ: dict[str, Callable[[str], Any]] = {
    "int": int,
    "float": float,
    "str": str,
    "bool": lambda text: _SWITCH[text.lower()],
}


_WORDS = {"int": "a whole number", "float": "a number", "str": "a text", "bool": "on or off"}


def read_options(request: GeneratorRequest, cls: type[A], *others: type) -> A:
    """The request's options that are fields of the dataclass `cls`; those of `others` are read elsewhere.

    Raises UsageError for an option that no dataclass has, for one of the wrong type, and for what `cls`
    itself refuses.
    """
    names = [field.name for one in (cls, *others) for field in fields(one)]
    request.allow_options(*names)
    found: dict[str, Any] = {}
    for field in fields(cls):  # type: ignore[arg-type]  # a dataclass
        if field.name in request.options:
            text = request.options[field.name]
            try:
                found[field.name] = _READ[str(field.type)](text)
            except (ValueError, KeyError):
                raise UsageError(
                    f"option {field.name} of {request.kind} cannot be {text!r}",
                    f"It is {_WORDS[str(field.type)]}.",
                ) from None
    return cls(**found)


def refuse_unless(right: bool, option: str, range: str) -> None:
    """Raise UsageError if an option is out of its range."""
    if not right:
        raise UsageError(f"option {option} is out of range", f"{option}: {range}.")
